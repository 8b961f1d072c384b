//! Look-up of opcodes in the generated table (`generated::opcodes`), which has one row per opcode.
//!
//! The reader checks the minimum length of every instruction by its row, and `validate` checks the
//! operands. An opcode without a row is refused where it is reached.

use super::generated::opcodes::TABLE;
pub(crate) use super::generated::opcodes::op;
pub(crate) use super::grammar::Row;

/// Returns the row of an opcode.
#[inline]
pub(crate) fn row(number: u16) -> Option<&'static Row> {
    if (number as usize) < CORE {
        core_row(number as usize)
    } else {
        TABLE.binary_search_by_key(&number, |r| r.number).ok().map(|i| &TABLE[i])
    }
}

/// Returns the row of an opcode of core SPIR-V.
pub(crate) const fn core_row(number: usize) -> Option<&'static Row> {
    match INDEX[number] {
        0 => None,
        i => Some(&TABLE[i as usize - 1]),
    }
}

/// Returns the opcode's name, for messages.
pub(crate) fn name(number: u16) -> &'static str {
    row(number).map_or("Op?", |r| r.name)
}

/// Returns the message for an instruction that is not implemented.
pub(crate) fn not_implemented(number: u16) -> String {
    match row(number).and_then(|r| r.capabilities.first()) {
        Some(capability) => format!("not implemented (capability {capability:?})"),
        None => "not implemented".to_owned(),
    }
}

/// Upper bound of the opcodes of core SPIR-V, which are few enough for tables by number.
pub(crate) const CORE: usize = 404;

/// Row number plus one of the core opcodes; 0 if an opcode has no row.
static INDEX: [u16; CORE] = index();

const fn index() -> [u16; CORE] {
    let mut table = [0; CORE];
    let mut i = 0;
    while i < TABLE.len() {
        let number = TABLE[i].number as usize;
        if number < table.len() {
            table[number] = i as u16 + 1;
        }
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_indexed() {
        assert!(TABLE.windows(2).all(|w| w[0].number < w[1].number));
        assert!(TABLE.iter().all(|r| row(r.number).is_some_and(|x| x.name == r.name)));
        assert!(row(9).is_none());
        assert_eq!(name(op::OpLoad), "OpLoad");
        assert!(row(op::OpLoad).is_some_and(|r| r.has == (true, true) && r.least == 3));
    }
}

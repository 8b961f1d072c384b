//! The command table: all rows.

#![forbid(unsafe_code)]

use super::*;
use crate::ffi::table::{CommandRow, Need};

/// All tables.
pub const TABLES: [&[CommandRow]; 13] = [
    instance::COMMANDS,
    physical_device::COMMANDS,
    device::COMMANDS,
    resource::COMMANDS,
    descriptor::COMMANDS,
    pipeline::COMMANDS,
    render_pass::COMMANDS,
    sync::COMMANDS,
    command_buffer::COMMANDS,
    cmd_state::COMMANDS,
    cmd_draw::COMMANDS,
    cmd_transfer::COMMANDS,
    WSI,
];

/// Window system commands.
const WSI: &[CommandRow] = crate::wsi::COMMANDS;

/// Where a name is: table, row, number among the row's names.
type Place = Option<(u8, u8, u8)>;

/// More than twice as many as there are names.
const SLOTS: usize = 2048;

/// Names by their hash, in the next free slot. Made by the compiler: a table made at run time touches more memory than all that an instance needs
/// before its first device.
static INDEX: [Place; SLOTS] = index();

const fn index() -> [Place; SLOTS] {
    let mut slots = [None; SLOTS];
    let (mut count, mut table) = (0, 0);
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            let names = TABLES[table][row].names;
            let mut number = 0;
            while number < names.len() {
                let mut slot = slot_of(names[number].0);
                while slots[slot].is_some() {
                    slot = (slot + 1) % SLOTS;
                }
                slots[slot] = Some((table as u8, row as u8, number as u8));
                (count, number) = (count + 1, number + 1);
            }
            row += 1;
        }
        assert!(row <= 256, "a row's number is a byte");
        table += 1;
    }
    assert!(count <= SLOTS / 2, "a search ends at a free slot, soon");
    slots
}

/// The slot where the search for a name begins: FNV-1a.
const fn slot_of(name: &str) -> usize {
    let (bytes, mut hash, mut i) = (name.as_bytes(), 0x811c_9dc5u32, 0);
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    (hash ^ hash >> 16) as usize % SLOTS
}

/// Finds a row by any of its names.
pub fn find(name: &str) -> Option<(&'static CommandRow, Need)> {
    let mut slot = slot_of(name);
    while let Some((table, row, number)) = INDEX[slot] {
        let row = &TABLES[usize::from(table)][usize::from(row)];
        let (known, need) = row.names[usize::from(number)];
        if known == name {
            return Some((row, need));
        }
        slot = (slot + 1) % SLOTS;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_well_formed() {
        let mut seen = std::collections::HashSet::new();
        for row in TABLES.into_iter().flatten() {
            assert!(!row.names.is_empty());
            for (name, need) in row.names {
                assert!(name.starts_with("vk"), "{name}");
                let (found, with) = find(name).expect("a row");
                assert!(core::ptr::eq(found.names, row.names) && with == *need, "{name}");
                assert!(seen.insert(*name), "{name} has two rows");
                if let Need::Extension(extension) = need {
                    assert!(extension.starts_with("VK_"), "{name}: {extension}");
                }
            }
        }
        for unknown in ["", "vk", "vkCreateInstance2", "vkCreateInstanc", "vkcreateinstance"] {
            assert!(find(unknown).is_none(), "{unknown}");
        }
    }
}

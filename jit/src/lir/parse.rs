//! Reads the text form of a function, as `print` writes it.
//!
//! Values and blocks are numbered in the order of the text, whatever their names (`v12`, `b3`) are.
//! A function that was read prints as a text that is read as an equal function.

#![forbid(unsafe_code)]

use super::op::{ImmKind, OperationRow, ROWS, Results, VariadicRule};
use super::{Access, Args, Block, BlockData, Def, Effect, Elem, Function, Imm, Inst, InstData, SlotData};
use super::{Target, Type, Value, ValueData};
use base::text::{FromText, Tree};
use cranelift_entity::EntityRef;
use std::collections::HashMap;

/// Reads a function. Lines that begin with `;` are comments.
///
/// # Errors
/// Returns a message with the number of the line that cannot be read.
pub fn parse(text: &str) -> Result<Function, String> {
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with(';'));
    let lines: Vec<(usize, &str)> = lines.collect();
    let mut parser = Parser::default();
    // Operands may name blocks and values that are defined later, so these are defined first.
    for step in [Parser::define, Parser::fill] {
        for &(number, line) in &lines {
            step(&mut parser, line).map_err(|message| format!("line {}: {message}: {line}", number + 1))?;
        }
    }
    Ok(parser.func)
}

type Parsed<T> = Result<T, &'static str>;

#[derive(Default)]
struct Parser<'a> {
    func: Function,
    values: HashMap<&'a str, Value>,
    blocks: HashMap<&'a str, Block>,
    constants: HashMap<(Type, Vec<u64>), Value>,
    /// Number of instructions whose operands have been read.
    filled: usize,
    /// Block of the instructions whose operands are read next.
    block: Option<Block>,
}

impl<'a> Parser<'a> {
    /// Reads what a line defines: a slot, a block with its parameters, or an instruction's results.
    fn define(&mut self, line: &'a str) -> Parsed<()> {
        if line.starts_with("slot") {
            return self.slot(line);
        }
        if is_block(line) {
            return self.block(line);
        }
        let (results, rest) = results(line)?;
        let (row, _) = operation(rest)?;
        let block = *self.func.layout.last().ok_or("an instruction outside of blocks")?;
        let first = Value::new(self.func.values.len());
        let count = results.len() as u8;
        let data = InstData { op: row.op, ty: Type::B, args: Args::new(), imm: Imm::None, first, count };
        let inst = self.func.insts.push(data);
        self.func.blocks[block].insts.push(inst);
        results.into_iter().try_for_each(|(name, ty)| self.value(name, ty, Def::Inst(inst)).map(drop))
    }

    fn slot(&mut self, line: &str) -> Parsed<()> {
        let (_, rest) = line.split_once(": ").ok_or("expected a size")?;
        let (bytes, align) = rest.split_once(" bytes, aligned to ").ok_or("expected a size and an alignment")?;
        let align: u64 = align.parse().map_err(|_| "expected a number")?;
        let bytes = bytes.parse().map_err(|_| "expected a number")?;
        if !align.is_power_of_two() {
            return Err("an alignment is a power of two");
        }
        self.func.slots.push(SlotData { bytes, align: align.trailing_zeros() as u8 });
        Ok(())
    }

    fn block(&mut self, line: &'a str) -> Parsed<()> {
        let mut text = Cursor(line);
        let name = text.word();
        let block = self.func.blocks.push(BlockData::default());
        self.func.layout.push(block);
        if self.blocks.insert(name, block).is_some() {
            return Err("a block is defined twice");
        }
        if text.eat("(") {
            while !text.eat(")") {
                let (name, ty) = (text.word(), text.eat(": ").then(|| type_of(text.word())).ok_or("expected a type")??);
                let param = self.value(name, ty, Def::Param(block))?;
                self.func.blocks[block].params.push(param);
                text.eat(", ");
            }
        }
        let data = &mut self.func.blocks[block];
        (data.cold, data.fast_path) = (text.eat(" cold"), text.eat(" extra"));
        if text.0 == ":" { Ok(()) } else { Err("expected the end of a block's line") }
    }

    fn value(&mut self, name: &'a str, ty: Type, def: Def) -> Parsed<Value> {
        let value = self.func.values.push(ValueData { ty, def });
        if self.values.insert(name, value).is_some() { Err("a value is defined twice") } else { Ok(value) }
    }

    /// Reads operands, immediate and edges of an instruction.
    fn fill(&mut self, line: &'a str) -> Parsed<()> {
        if line.starts_with("slot") {
            return Ok(());
        }
        if is_block(line) {
            self.block = self.blocks.get(Cursor(line).word()).copied();
            return Ok(());
        }
        let (results, rest) = results(line)?;
        let (row, rest) = operation(rest)?;
        let mut text = Cursor(rest);
        let suffix = match row.imm {
            ImmKind::Int => Imm::Int(text.suffix()?),
            ImmKind::Float => Imm::Float(text.suffix()?),
            ImmKind::Rmw => Imm::Rmw(text.suffix()?),
            _ => Imm::None,
        };
        let ty = match (row.results, results.first()) {
            (Results::T, Some(result)) => result.1,
            _ if text.eat(".") => type_of(text.word())?,
            _ => Type::B,
        };
        let args = self.operands(&mut text)?;
        if args.len() < row.args.len() {
            return Err("expected another operand");
        }
        // A gather has as many components as results, a scatter as operands of type T.
        let is_scatter = row.variadic == VariadicRule::Count;
        let components = if is_scatter { args.len() - row.args.len() } else { results.len() };
        let imm = match row.imm {
            ImmKind::None | ImmKind::Int | ImmKind::Float | ImmKind::Rmw => suffix,
            kind => self.immediate(&mut text, kind, components)?,
        };
        let inst = Inst::new(self.filled);
        self.filled += 1;
        let data = &mut self.func.insts[inst];
        (data.ty, data.args, data.imm) = (ty, args, imm);
        if row.effect == Effect::Control {
            self.edges(&mut text)?;
        }
        if text.0.is_empty() { Ok(()) } else { Err("expected the end of the line") }
    }

    fn operands(&mut self, text: &mut Cursor<'a>) -> Parsed<Args> {
        let mut args = Args::new();
        loop {
            // An immediate or an edge may follow.
            let rest = text.0.strip_prefix(if args.is_empty() { " " } else { ", " }).unwrap_or("");
            if !is_operand(rest) {
                return Ok(args);
            }
            text.0 = rest;
            args.push(self.operand(text)?);
        }
    }

    fn operand(&mut self, text: &mut Cursor<'a>) -> Parsed<Value> {
        if text.0.starts_with('v') {
            return self.values.get(text.word()).copied().ok_or("no such value");
        }
        let (list, rest) = match text.0.strip_prefix('{') {
            Some(rest) => rest.split_once("}:").ok_or("expected the type of lanes")?,
            None => text.0.split_once(':').ok_or("expected the type of a constant")?,
        };
        let single = !text.0.starts_with('{');
        text.0 = rest;
        let ty = type_of(text.word())?;
        let lanes = list.split(", ").map(|bits| bits_of(bits, ty.elem)).collect::<Parsed<Vec<u64>>>()?;
        if !single && lanes.len() != ty.lanes() {
            return Err("another number of lanes");
        }
        let func = &mut self.func;
        Ok(*self.constants.entry((ty, lanes.clone())).or_insert_with(|| {
            let def = if single { Def::Const(lanes[0]) } else { Def::Lanes(func.lists.push(lanes.into())) };
            func.values.push(ValueData { ty, def })
        }))
    }

    fn immediate(&mut self, text: &mut Cursor<'a>, kind: ImmKind, components: usize) -> Parsed<Imm> {
        if !text.eat(" ") {
            return Err("expected an immediate");
        }
        match kind {
            ImmKind::Lane => text.read::<[u8; 1]>().map(|[lane]| Imm::Lane(lane)),
            ImmKind::Pattern => Ok(Imm::Pattern(self.func.lists.push(text.read::<Vec<u64>>()?.into()))),
            ImmKind::Slot => {
                let slot = text.word().strip_prefix("slot").and_then(|n| n.parse().ok()).ok_or("expected a slot")?;
                text.eat(" ");
                Ok(Imm::Slot(super::Slot(slot), text.offset()?))
            }
            _ => {
                let offset = text.offset()?;
                text.eat(" ");
                let mut access = Access { offset, ..Access::new(text.read()?) };
                access.readonly = text.eat(" readonly");
                access.guarded = text.eat(" guarded");
                access.aligned = text.eat(" aligned");
                Ok(if kind == ImmKind::Gather { Imm::Gather(access, components as u8) } else { Imm::Access(access) })
            }
        }
    }

    fn edges(&mut self, text: &mut Cursor<'a>) -> Parsed<()> {
        let block = self.block.ok_or("an instruction outside of blocks")?;
        let mut separator = " -> ";
        while text.eat(separator) {
            let target = *self.blocks.get(text.word()).ok_or("no such block")?;
            let mut args = Args::new();
            if text.eat("(") {
                while !text.eat(")") {
                    args.push(self.operand(text)?);
                    text.eat(", ");
                }
            }
            self.func.blocks[block].targets.push(Target { block: target, args });
            separator = ", ";
        }
        Ok(())
    }
}

fn is_block(line: &str) -> bool {
    line.ends_with(':') && line.starts_with('b')
}

/// Returns true if a text begins with a value, or with a constant and its type.
fn is_operand(text: &str) -> bool {
    let end = text.find([' ', ',', ':']).map(|end| text.as_bytes()[end]);
    text.starts_with(['v', '{']) || end == Some(b':')
}

/// Takes the results off an instruction.
fn results(line: &str) -> Parsed<(Vec<(&str, Type)>, &str)> {
    let Some((results, rest)) = line.split_once(" = ") else { return Ok((Vec::new(), line)) };
    let result = |text: &'_ str| -> Parsed<(usize, Type)> {
        let (name, ty) = text.split_once(": ").ok_or("expected a type")?;
        Ok((name.len(), type_of(ty)?))
    };
    let results = results.split(", ").map(|text| result(text).map(|(end, ty)| (&text[..end], ty)));
    Ok((results.collect::<Parsed<_>>()?, rest))
}

/// Takes the name of an operation off a text.
fn operation(text: &str) -> Parsed<(&'static OperationRow, &str)> {
    let mut text = Cursor(text);
    let name = text.word();
    let row = ROWS.iter().find(|row| row.name == name).ok_or("not an operation")?;
    Ok((row, text.0))
}

fn type_of(name: &str) -> Parsed<Type> {
    let all = Elem::ALL.into_iter().flat_map(|elem| [1, 2].into_iter().chain(Type::LANES).map(move |n| elem.by(n)));
    all.into_iter().find(|ty| ty.to_string() == name).ok_or("not a type")
}

/// Reads the bits of a lane, which is a float if it is written as one.
fn bits_of(text: &str, elem: Elem) -> Parsed<u64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).map_err(|_| "expected the bits of a constant");
    }
    match elem {
        Elem::F32 => text.parse().map(|x: f32| u64::from(x.to_bits())).map_err(|_| "expected a float"),
        Elem::F64 => text.parse().map(|x: f64| x.to_bits()).map_err(|_| "expected a float"),
        _ => text.parse().map_err(|_| "expected a number"),
    }
}

/// The rest of a line.
struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    /// Takes a text, if the line goes on with it.
    fn eat(&mut self, text: &str) -> bool {
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Takes letters, digits and underscores.
    fn word(&mut self) -> &'a str {
        let end = self.0.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        word
    }

    fn read<T: FromText>(&mut self) -> Parsed<T> {
        let (tree, rest) = Tree::parse(self.0).ok_or("expected a value")?;
        self.0 = rest;
        T::from_text(&tree).ok_or("the value does not have the expected type")
    }

    /// Takes a part of an operation's name, behind a point.
    fn suffix<T: FromText>(&mut self) -> Parsed<T> {
        if self.eat(".") { self.read() } else { Err("expected a part of the name") }
    }

    /// Takes a number with its sign.
    fn offset(&mut self) -> Parsed<i32> {
        self.eat("+");
        self.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_line() {
        let text = "b0(v0: i32):\n  v1: i32 = iadd v0, v9\n  return\n";
        assert_eq!(parse(text).err().as_deref(), Some("line 2: no such value: v1: i32 = iadd v0, v9"));
        for text in ["v0: i32 = iadd", "b0:\n  foo", "b0:\n  jump -> b1", "b0(v0: q):", "b0:\nb0:"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

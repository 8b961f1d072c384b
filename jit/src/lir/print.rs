//! Text form of a function: `Display` of [`Function`]. [`super::parse()`] reads it. Equal functions
//! give equal texts.

#![forbid(unsafe_code)]

use super::{Block, Def, Elem, Function, Imm, Inst, Target, Type, Value};
use std::fmt::{self, Display, Formatter};

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (slot, data) in self.slots.iter() {
            writeln!(f, "{slot}: {} bytes, aligned to {}", data.bytes, 1u64 << data.align)?;
        }
        self.layout.iter().try_for_each(|&block| self.print_block(f, block))
    }
}

impl Function {
    fn print_block(&self, f: &mut Formatter<'_>, block: Block) -> fmt::Result {
        let data = &self.blocks[block];
        write!(f, "{block}")?;
        for (i, &param) in data.params.iter().enumerate() {
            write!(f, "{}{param}: {}", if i == 0 { "(" } else { ", " }, self.ty(param))?;
        }
        if !data.params.is_empty() {
            write!(f, ")")?;
        }
        writeln!(f, "{}{}:", if data.cold { " cold" } else { "" }, if data.fast_path { " extra" } else { "" })?;
        for &inst in &data.insts {
            self.print_inst(f, inst)?;
            if self.insts[inst].op.row().effect == super::Effect::Control {
                for (i, target) in data.targets.iter().enumerate() {
                    write!(f, "{}", if i == 0 { " -> " } else { ", " })?;
                    self.print_target(f, target)?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn print_inst(&self, f: &mut Formatter<'_>, inst: Inst) -> fmt::Result {
        let data = &self.insts[inst];
        write!(f, "  ")?;
        for (i, v) in data.results().enumerate() {
            write!(f, "{}{v}: {}", if i == 0 { "" } else { ", " }, self.ty(v))?;
        }
        if data.count > 0 {
            write!(f, " = ")?;
        }
        write!(f, "{}", data.op.row().name)?;
        match data.imm {
            Imm::Int(cond) => write!(f, ".{cond:?}")?,
            Imm::Float(cond) => write!(f, ".{cond:?}")?,
            Imm::Rmw(kind) => write!(f, ".{kind:?}")?,
            _ => {}
        }
        // T is printed if no result and no operand shows it.
        if data.op.row().results != super::op::Results::T && data.ty != Type::B {
            write!(f, ".{}", data.ty)?;
        }
        for (i, &v) in data.args.iter().enumerate() {
            write!(f, "{}", if i == 0 { " " } else { ", " })?;
            self.print_value(f, v)?;
        }
        match data.imm {
            Imm::Lane(lane) => write!(f, " [{lane}]")?,
            Imm::Pattern(list) => write!(f, " {:?}", self.lists[list])?,
            Imm::Access(access) | Imm::Gather(access, _) => {
                write!(f, " {:+} {:?}", access.offset, access.reason)?;
                for (flag, name) in
                    [(access.readonly, " readonly"), (access.guarded, " guarded"), (access.aligned, " aligned")]
                {
                    if flag {
                        write!(f, "{name}")?;
                    }
                }
            }
            Imm::Slot(slot, offset) => write!(f, " {slot} {offset:+}")?,
            Imm::None | Imm::Int(_) | Imm::Float(_) | Imm::Rmw(_) => {}
        }
        Ok(())
    }

    fn print_target(&self, f: &mut Formatter<'_>, target: &Target) -> fmt::Result {
        write!(f, "{}", target.block)?;
        for (i, &v) in target.args.iter().enumerate() {
            write!(f, "{}", if i == 0 { "(" } else { ", " })?;
            self.print_value(f, v)?;
        }
        if target.args.is_empty() { Ok(()) } else { write!(f, ")") }
    }

    /// Prints a value as its number, and a constant as its bits.
    fn print_value(&self, f: &mut Formatter<'_>, v: Value) -> fmt::Result {
        let ty = self.ty(v);
        match self.values[v].def {
            Def::Const(bits) => print_bits(f, ty.elem, bits)?,
            Def::Lanes(list) => {
                for (i, &bits) in self.lists[list].iter().enumerate() {
                    write!(f, "{}", if i == 0 { "{" } else { ", " })?;
                    print_bits(f, ty.elem, bits)?;
                }
                write!(f, "}}")?;
            }
            Def::Inst(_) | Def::Param(_) | Def::Alias(_) => return write!(f, "{v}"),
        }
        write!(f, ":{ty}")
    }
}

fn print_bits(f: &mut Formatter<'_>, elem: Elem, bits: u64) -> fmt::Result {
    match elem {
        // A NaN is written as its bits, because it may have any payload.
        Elem::F32 if !f32::from_bits(bits as u32).is_nan() => write!(f, "{:?}", f32::from_bits(bits as u32)),
        Elem::F64 if !f64::from_bits(bits).is_nan() => write!(f, "{:?}", f64::from_bits(bits)),
        Elem::F16 | Elem::F32 | Elem::F64 => write!(f, "{bits:#x}"),
        _ if bits < 1 << 16 => write!(f, "{bits}"),
        _ => write!(f, "{bits:#x}"),
    }
}

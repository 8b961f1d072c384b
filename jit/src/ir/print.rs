//! Text form of a shader: `Display` of [`Shader`]. [`super::parse()`] reads it.

use super::{Inst, Node, Op, Region, Shader, Term, Ty, Value};
use std::fmt::{self, Debug, Display, Formatter};

impl Display for Ty {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ty::B1 => "b1",
            Ty::I8 => "i8",
            Ty::I16 => "i16",
            Ty::I32 => "i32",
            Ty::I64 => "i64",
            Ty::F16 => "f16",
            Ty::F32 => "f32",
            Ty::F64 => "f64",
            Ty::Buf => "buf",
            Ty::Img => "img",
            Ty::Smp => "smp",
        })
    }
}

impl Display for Shader {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?} {:?}", self.stage_info, self.name)?;
        for (i, slot) in self.inputs.iter().enumerate() {
            writeln!(f, "  in {i}: {slot:?}")?;
        }
        for (i, slot) in self.outputs.iter().enumerate() {
            writeln!(f, "  out {i}: {slot:?}")?;
        }
        for (i, placement) in self.placements.iter().enumerate() {
            writeln!(f, "  placement {i}: {placement:?}")?;
        }
        if let Some(capture) = &self.capture {
            writeln!(f, "  capture: {capture:?}")?;
        }
        for (flag, name) in [(self.side_effects, "side_effects"), (self.uses_subgroup, "uses_subgroup")] {
            if flag {
                writeln!(f, "  {name}")?;
            }
        }
        for (var, data) in self.vars.iter() {
            writeln!(f, "  {var}: {}[{}] {:?}", data.ty, data.len, data.name)?;
        }
        writeln!(f, "{}: {{", self.root.label)?;
        Printer { shader: self }.region(f, &self.root.body, 1)?;
        writeln!(f, "}}")
    }
}

struct Printer<'a> {
    shader: &'a Shader,
}

impl Printer<'_> {
    fn region(&self, f: &mut Formatter<'_>, region: &Region, depth: usize) -> fmt::Result {
        for node in &region.nodes {
            self.node(f, node, depth)?;
        }
        indent(f, depth)?;
        match &region.term {
            Term::Yield(args) => writeln!(f, "yield{}", List(args)),
            Term::Break(label, args) => writeln!(f, "break {label}{}", List(args)),
            Term::Unreachable => writeln!(f, "unreachable"),
        }
    }

    fn node(&self, f: &mut Formatter<'_>, node: &Node, depth: usize) -> fmt::Result {
        if let Node::Inst(inst) = node {
            return self.inst(f, *inst, depth);
        }
        indent(f, depth)?;
        match node {
            Node::Inst(_) => {}
            Node::If(n) => {
                self.defs(f, &n.results)?;
                writeln!(f, "if {} {{", n.cond)?;
                self.region(f, &n.then, depth + 1)?;
                indent(f, depth)?;
                writeln!(f, "}} else {{")?;
                self.region(f, &n.else_, depth + 1)?;
            }
            Node::Loop(n) => {
                self.defs(f, &n.results)?;
                write!(f, "loop {}(", n.label)?;
                for (i, (&param, init)) in n.params.iter().zip(&n.inits).enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{param}: {} = {init}", self.shader.ty(param))?;
                }
                writeln!(f, ") {{")?;
                self.region(f, &n.body, depth + 1)?;
            }
            Node::Scope(n) => {
                self.defs(f, &n.results)?;
                writeln!(f, "scope {} {{", n.label)?;
                self.region(f, &n.body, depth + 1)?;
            }
        }
        indent(f, depth)?;
        writeln!(f, "}}")
    }

    fn inst(&self, f: &mut Formatter<'_>, inst: Inst, depth: usize) -> fmt::Result {
        let data = &self.shader.insts[inst];
        indent(f, depth)?;
        let results: Vec<Value> = data.results().collect();
        self.defs(f, &results)?;
        match &data.op {
            Op::Const(bits) => match self.shader.ty(data.first_result) {
                Ty::F32 => write!(f, "const {:?} ({bits:#x})", f32::from_bits(*bits as u32))?,
                Ty::F64 => write!(f, "const {:?} ({bits:#x})", f64::from_bits(*bits))?,
                Ty::I32 => write!(f, "const {}", *bits as i32)?,
                _ => write!(f, "const {bits:#x}")?,
            },
            op => write!(f, "{:?}", name(op))?,
        }
        write!(f, "{}", List(&data.args))?;
        write!(f, "{}", data.float)?;
        if data.source != 0 {
            write!(f, "  ; %{}", data.source)?;
        }
        writeln!(f)
    }

    fn defs(&self, f: &mut Formatter<'_>, values: &[Value]) -> fmt::Result {
        for (i, &value) in values.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{value}: {}", self.shader.ty(value))?;
        }
        if values.is_empty() { Ok(()) } else { write!(f, " = ") }
    }
}

/// Returns the text of an operation other than a constant. Members of a family stand without the
/// family's name.
pub fn name(op: &Op) -> &dyn Debug {
    match op {
        Op::Unary(op) => op,
        Op::Binary(op) => op,
        Op::Cmp(op) => op,
        Op::Convert(op) => op,
        Op::Builtin(builtin) => builtin,
        op => op,
    }
}

/// Writes ` a, b, c` with a leading blank, or nothing.
struct List<'a>(&'a [Value]);

impl Display for List<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, value) in self.0.iter().enumerate() {
            write!(f, "{}{value}", if i == 0 { " " } else { ", " })?;
        }
        Ok(())
    }
}

fn indent(f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
    write!(f, "{:1$}", "", depth * 2)
}

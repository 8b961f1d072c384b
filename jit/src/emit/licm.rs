//! Loop-invariant code: uniform pure operations on constants, push constants, descriptors and
//! workgroup numbers are emitted before the loop over chunks, once per call or once per workgroup
//! ([`HoistLevel`]).
//!
//! Their values dominate everything, so across barriers they need no slots. Code before the loops
//! is emitted together with the body: the blocks of the levels stay open until the end.

use crate::ir::{Builtin, Inst, Node, Op, Region, Shader, Space, Value, ValueDef};
use crate::passes::{Divergence, Shape};
use cranelift_entity::SecondaryMap;

/// Upper bound of the number of hoisted values, because each of them takes a register or a place in
/// the frame in every chunk.
const MAX_HOISTED: usize = 64;

/// Place where a value is computed; the variants are ordered from the earliest to the latest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoistLevel {
    /// The value is computed once per call.
    Call,
    /// The value is computed once per workgroup.
    Workgroup,
    /// The value is computed at its instruction, in every chunk.
    #[default]
    Chunk,
}

/// The levels of a shader's values.
#[derive(Default)]
pub struct HoistLevels {
    levels: SecondaryMap<Value, HoistLevel>,
    count: usize,
    /// True if every invocation reaches the current instruction. A load may then be hoisted: the
    /// program does it anyway, and not through a stale descriptor.
    always_reached: bool,
}

impl HoistLevels {
    /// Computes the levels of a shader's values; in a shader without workgroups nothing is hoisted.
    pub fn compute(shader: &Shader, div: &Divergence) -> HoistLevels {
        let mut out = HoistLevels { levels: SecondaryMap::new(), count: 0, always_reached: true };
        if shader.stage().has_workgroups() {
            out.region(shader, div, &shader.root.body);
        }
        out
    }

    fn region(&mut self, shader: &Shader, div: &Divergence, region: &Region) {
        for node in &region.nodes {
            let Node::Inst(inst) = node else {
                self.always_reached = false;
                match node {
                    Node::Inst(_) => {}
                    Node::If(n) => [&n.then, &n.else_].into_iter().for_each(|r| self.region(shader, div, r)),
                    Node::Loop(n) => self.region(shader, div, &n.body),
                    Node::Scope(n) => self.region(shader, div, &n.body),
                }
                continue;
            };
            let level = self.find_level(shader, div, *inst);
            if level != HoistLevel::Chunk && self.count != MAX_HOISTED {
                self.count += 1;
                shader.insts[*inst].results().for_each(|v| self.levels[v] = level);
            }
        }
    }

    fn find_level(&self, shader: &Shader, div: &Divergence, inst: Inst) -> HoistLevel {
        let data = &shader.insts[inst];
        if data.result_count == 0 || data.results().any(|v| div.shape[v] != Shape::Uniform) {
            return HoistLevel::Chunk;
        }
        let own = match &data.op {
            Op::Builtin(Builtin::WorkgroupId(_)) => HoistLevel::Workgroup,
            Op::Builtin(Builtin::NumWorkgroups(_)) => HoistLevel::Call,
            Op::BufferDesc { .. } | Op::ImageDesc { .. } | Op::SamplerDesc { .. } => HoistLevel::Call,
            Op::StructureDesc { .. } | Op::BufferSize => HoistLevel::Call,
            Op::Load(Space::Push, flags) if !flags.volatile => HoistLevel::Call,
            Op::Load(Space::Buffer, flags) if self.always_reached && flags.readonly && !flags.volatile => {
                HoistLevel::Call
            }
            Op::Unary(_) | Op::Binary(_) | Op::Cmp(_) | Op::Convert(_) | Op::Select | Op::Fma => HoistLevel::Call,
            _ => HoistLevel::Chunk,
        };
        data.args.iter().fold(own, |level, &v| level.max(self.value_level(shader, v)))
    }

    fn value_level(&self, shader: &Shader, v: Value) -> HoistLevel {
        match shader.values[v].def {
            ValueDef::Inst(inst, _) if matches!(shader.insts[inst].op, Op::Const(_)) => HoistLevel::Call,
            _ => self.levels[v],
        }
    }

    /// Returns the level at which a value is computed.
    pub fn level(&self, v: Value) -> HoistLevel {
        self.levels[v]
    }
}

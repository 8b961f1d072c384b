//! Which stages emission cannot refuse: most, and that is seen at a glance. Their LIR can wait for the thread that makes the code, while whoever
//! creates the pipeline goes on.
//!
//! Invariant: what can end emission with another error than an internal one is asked for here.

#![forbid(unsafe_code)]

use crate::ir::{
    HEAP_DATA, InstData, Node, Op, RESOURCE_HEAP, Region, SAMPLER_HEAP, SAMPLER_HEAP_DATA, Shader, Subgroup, Ty,
};
use base::abi::BatchKind;
use base::shader::{PipelineLayoutInfo, Side};

/// Most instructions, by chunks of eight lanes: with any operation of a lane at a time far from the limit on machine instructions.
const INSTRUCTIONS: usize = 8192;
/// Most bytes of private arrays of a lane: with the most chunks of a workgroup far from the limit on scratch memory.
const ARRAYS: u64 = 4096;

/// Deepest nesting that any thread has the stack to drop.
const DEPTH: usize = 64;

/// Nothing of the stage can be refused any more.
pub fn is_certain(shader: &Shader, layout: &PipelineLayoutInfo, lanes: u32) -> bool {
    if shader.insts.len() * lanes.max(8) as usize > 8 * INSTRUCTIONS {
        return false;
    }
    let mut bytes = 0;
    for var in shader.vars.values() {
        if matches!(var.ty, Ty::Buf | Ty::Img | Ty::Smp) {
            return false;
        }
        bytes += 8 * u64::from(var.len);
    }
    bytes <= ARRAYS
        && depth(&shader.root.body) <= DEPTH
        && shader.insts.values().all(|data| can_be_emitted(shader, layout, data))
}

fn can_be_emitted(shader: &Shader, layout: &PipelineLayoutInfo, data: &InstData) -> bool {
    let stage = shader.stage();
    let words = || data.results().all(|v| matches!(shader.ty(v), Ty::I32 | Ty::F32));
    let by_op = match &data.op {
        Op::BufferDesc { set, binding } | Op::ImageDesc { set, binding } | Op::SamplerDesc { set, binding } => {
            matches!(*set, RESOURCE_HEAP | SAMPLER_HEAP | HEAP_DATA | SAMPLER_HEAP_DATA)
                || layout.find(*set, *binding).is_some()
        }
        Op::Builtin(builtin) => stage.reads(builtin.family()),
        Op::LoadInput(..) => matches!(stage.row().inputs, Side::Attributes | Side::Vertices | Side::Interpolated),
        Op::StoreOutput(_) => matches!(stage.row().outputs, Side::Vertices | Side::Fragments),
        Op::LoadVertex(_) | Op::StoreVertex(_) | Op::StoreVertexCount => false,
        Op::Sample(_) | Op::ImageFetch { .. } | Op::ImageAtomic { .. } => words(),
        Op::Ddx { .. } | Op::Ddy { .. } => stage.has_quads() && words(),
        Op::Subgroup(Subgroup::QuadBroadcast) => false,
        Op::Barrier => stage.row().batch == BatchKind::Workgroup,
        Op::Demote | Op::IsHelper => stage.has_quads(),
        _ => true,
    };
    by_op && data.float.is_default()
}

/// Regions in each other.
fn depth(region: &Region) -> usize {
    let of = |node: &Node| match node {
        Node::Inst(_) => 0,
        Node::If(n) => depth(&n.then).max(depth(&n.else_)),
        Node::Loop(n) => depth(&n.body),
        Node::Scope(n) => depth(&n.body),
    };
    1 + region.nodes.iter().map(of).max().unwrap_or(0)
}

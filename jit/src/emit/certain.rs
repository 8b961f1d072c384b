//! Infallible emission: a quick test for stages that emission cannot refuse, which are most. Their
//! LIR can be made later by the thread that makes the code, while the application goes on after
//! pipeline creation.
//!
//! Invariant: this test covers everything that can end emission with an error other than an
//! internal one.

#![forbid(unsafe_code)]

use crate::ir::{
    HEAP_DATA, InstData, Node, Op, RESOURCE_HEAP, Region, SAMPLER_HEAP, SAMPLER_HEAP_DATA, Shader, Subgroup, Ty,
};
use base::abi::BatchKind;
use base::shader::{PipelineLayoutInfo, Side};

/// Upper bound of the instructions, scaled by the number of 8-lane chunks. Even if every operation
/// is emitted lane by lane, the result stays far below the limit on machine instructions.
const INSTRUCTIONS: usize = 8192;
/// Upper bound of the bytes of private arrays per lane. Even with the most chunks of a workgroup
/// they stay far below the limit on scratch memory.
const ARRAYS: u64 = 4096;

/// Upper bound of the nesting depth; every thread has enough stack to drop regions of this depth.
const DEPTH: usize = 64;

/// Returns true if no part of the stage can be refused by emission.
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

/// Returns the depth to which regions are nested.
fn depth(region: &Region) -> usize {
    let of = |node: &Node| match node {
        Node::Inst(_) => 0,
        Node::If(n) => depth(&n.then).max(depth(&n.else_)),
        Node::Loop(n) => depth(&n.body),
        Node::Scope(n) => depth(&n.body),
    };
    1 + region.nodes.iter().map(of).max().unwrap_or(0)
}

//! Infallible emission: a quick test for stages that emission cannot refuse, which are most. Their
//! LIR can be made later by the thread that makes the code, while the application goes on after
//! pipeline creation.
//!
//! Invariant: this test covers everything that can end emission with an error, because a deferred
//! error is a lost device. What an operation contributes is in its row ([`EmissionRule`],
//! [`StageRule`](crate::ir::StageRule)); a test emits each row in each stage.

#![forbid(unsafe_code)]

use crate::ir::{
    EmissionRule, HEAP_DATA, InstData, Node, Op, RESOURCE_HEAP, Region, SAMPLER_HEAP, SAMPLER_HEAP_DATA, Shader, Ty,
};
use base::shader::{DescriptorKind, PipelineLayoutInfo};

/// Upper bound of the instructions, scaled by the number of 8-lane chunks. Even if every operation
/// is emitted lane by lane, the result stays far below the limit on machine instructions.
const INSTRUCTIONS: usize = 8192;
/// Upper bound of the bytes of private arrays per lane. Even with the most chunks of a workgroup
/// they stay far below the limit on scratch memory.
const ARRAYS: u64 = 4096;

/// Upper bound of the nesting depth; every thread has enough stack to drop regions of this depth.
const DEPTH: usize = 64;

/// Returns true if emission cannot refuse any part of the stage, so that it can be deferred.
pub fn can_defer(shader: &Shader, layout: &PipelineLayoutInfo, lanes: u32) -> bool {
    let mut bytes = 0;
    for var in shader.vars.values() {
        if matches!(var.ty, Ty::Buf | Ty::Img | Ty::Smp) {
            return false;
        }
        bytes += 8 * u64::from(var.len);
    }
    let instructions = 8 * INSTRUCTIONS / lanes.max(8) as usize;
    bytes <= ARRAYS
        && depth(&shader.root.body) <= DEPTH
        && shader.live_insts().enumerate().all(|(i, data)| i < instructions && is_infallible(shader, layout, data))
}

/// Returns true if emission cannot refuse an instruction, as the row of its operation says.
fn is_infallible(shader: &Shader, layout: &PipelineLayoutInfo, data: &InstData) -> bool {
    let emitted = match data.op.info().emission {
        EmissionRule::Infallible => true,
        EmissionRule::Binding => is_bound(layout, &data.op),
        EmissionRule::Words => data.results().all(|v| matches!(shader.ty(v), Ty::I32 | Ty::F32)),
        EmissionRule::Fallible => false,
    };
    emitted && data.op.is_of_stage(shader.stage()) && data.float.is_default()
}

/// Returns true if the descriptor that an operation reads is in a heap or in the layout. An inline
/// uniform block is a buffer only.
fn is_bound(layout: &PipelineLayoutInfo, op: &Op) -> bool {
    let (set, binding, buffer) = match *op {
        Op::BufferDesc { set, binding } => (set, binding, true),
        Op::ImageDesc { set, binding } | Op::SamplerDesc { set, binding } | Op::StructureDesc { set, binding } => {
            (set, binding, false)
        }
        _ => return false,
    };
    matches!(set, RESOURCE_HEAP | SAMPLER_HEAP | HEAP_DATA | SAMPLER_HEAP_DATA)
        || layout.find(set, binding).is_some_and(|found| buffer || found.kind != DescriptorKind::InlineUniformBlock)
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

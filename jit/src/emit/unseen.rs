//! Compute and fragment stages that cannot tell how many lanes a chunk has: no operation on subgroups, nothing that comes in the order of lanes where others may
//! see it (several atomics, and in fragment stages any write to memory), no neighbours but those of a quad. Their better code may have twice as many, where the machine's vectors do.
//!
//! What else could tell is a race: an invocation that reads what another one of its workgroup writes, without a barrier in between. Such programs
//! have no meaning, and no promise.

#![forbid(unsafe_code)]

use crate::ir::{Builtin, MemFlags, Node, Op, Region, Shader, Value, ValueDef};
use crate::lir;
use base::shader::Stage;
use cranelift_entity::SecondaryMap;

/// Lanes of a chunk whose words fill a vector of 512 bits.
pub const MORE_LANES: u32 = 16;

/// Capabilities that let nobody see subgroups: of numbers, of memory, of indices, of descriptors, of images, of what fragments are given.
const BLIND: &[std::ops::RangeInclusive<u32>] = &[
    0..=3,
    9..=11,
    22..=22,
    25..=57,
    4427..=4430,
    4433..=4436,
    4439..=4439,
    4441..=4442,
    4448..=4450,
    4464..=4468,
    5254..=5254,
    5301..=5312,
    5345..=5347,
    5379..=5379,
    5629..=5629,
    6016..=6019,
    6029..=6029,
];

/// Has a module only such capabilities?
pub fn is_blind(capabilities: &[u32]) -> bool {
    capabilities.iter().all(|c| BLIND.iter().any(|range| range.contains(c)))
}

/// Is the stage, of a module that [`is_blind`], such a one, and do chunks of [`MORE_LANES`] fit its workgroups?
pub fn may_have_more_lanes(shader: &Shader, lanes: u32) -> bool {
    let whole = match shader.stage() {
        Stage::Compute => shader.payload.workgroup().is_some_and(|w| w.invocations() % u64::from(MORE_LANES) == 0),
        // Batches are padded.
        Stage::Fragment => !shader.side_effects,
        _ => false,
    };
    // One that is done once comes in the order of invocations, however many a chunk has. (What nobody reads is better kept back: `deferred`.)
    let alone = shader.stage() == Stage::Compute && atomics(shader, &shader.root.body) <= 1 && reads_atomics(shader);
    whole && lanes < MORE_LANES && shader.insts.values().all(|data| is_unseeing(&data.op, alone))
}

/// Is LIR with more lanes less work than as much with fewer, which is done twice? By a good part: what lies side by side for eight may not for sixteen, and
/// is then loaded lane by lane.
pub fn is_worth_it(few: &lir::Function, more: &lir::Function) -> bool {
    20 * work(more) < 29 * work(few)
}

/// How often a loop goes round that is inside of another, as far as this is concerned.
const ROUNDS: u64 = 8;
/// Loops inside of each other that are told apart.
const DEPTH: u32 = 8;

/// Instructions that run in the wide tier, roughly: one for each vector, or several for each lane.
pub fn work(function: &lir::Function) -> u64 {
    let depths = depths(function);
    let blocks = function.layout.iter().zip(depths).filter(|(b, _)| !function.blocks[**b].cold);
    let work = blocks.map(|(&b, depth)| {
        let insts = function.blocks[b].insts.iter().map(|&i| instructions(&function.insts[i]));
        insts.sum::<u64>().saturating_mul(ROUNDS.pow(depth.min(DEPTH)))
    });
    work.fold(0, u64::saturating_add)
}

/// How many loops each block of the layout is in. What a jump back spans is one.
fn depths(function: &lir::Function) -> Vec<u32> {
    let mut places = SecondaryMap::new();
    function.layout.iter().enumerate().for_each(|(i, &b)| places[b] = i);
    let mut changes = vec![0i32; function.layout.len() + 1];
    let mut headers = vec![0; function.layout.len()];
    for (i, &block) in function.layout.iter().enumerate() {
        for target in &function.blocks[block].targets {
            let to = places[target.block];
            // Of several jumps to one place the last.
            if to <= i {
                headers[to] = headers[to].max(i + 1);
            }
        }
    }
    for (first, &end) in headers.iter().enumerate().filter(|(_, end)| **end != 0) {
        changes[first] += 1;
        changes[end] -= 1;
    }
    let mut depth = 0;
    changes[..function.layout.len()]
        .iter()
        .map(|change| {
            depth += change;
            depth as u32
        })
        .collect()
}

fn instructions(data: &lir::InstData) -> u64 {
    let lanes = data.ty.lanes() as u64;
    let long = data.ty.elem == lir::Elem::I64;
    match data.op {
        lir::Op::Gather => 3 * lanes,
        lir::Op::Scatter => 4 * lanes,
        lir::Op::Build | lir::Op::ExtractAt => lanes,
        lir::Op::Sdiv | lir::Op::Udiv | lir::Op::Srem | lir::Op::Urem if long => 10 * lanes,
        lir::Op::Call => 20,
        _ => 1,
    }
}

/// Is what atomics give an operand of anything?
fn reads_atomics(shader: &Shader) -> bool {
    let from_atomic = |v: &Value| match shader.values[*v].def {
        ValueDef::Inst(inst, _) => matches!(shader.insts[inst].op, Op::Atomic(..)),
        ValueDef::Region => false,
    };
    shader.insts.values().any(|data| data.args.iter().any(from_atomic))
}

/// How often atomics stand in a region; in a loop that is more than once.
fn atomics(shader: &Shader, region: &Region) -> usize {
    let of = |node: &Node| match node {
        Node::Inst(inst) => usize::from(matches!(shader.insts[*inst].op, Op::Atomic(..))),
        Node::Loop(n) => 2 * atomics(shader, &n.body),
        Node::If(n) => atomics(shader, &n.then) + atomics(shader, &n.else_),
        Node::Scope(n) => atomics(shader, &n.body),
    };
    region.nodes.iter().map(of).fold(0, usize::saturating_add)
}

/// Can no result of an operation, and no effect, depend on how many lanes there are? `alone`: there is not more than one atomic.
fn is_unseeing(op: &Op, alone: bool) -> bool {
    match op {
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Cmp(_)
        | Op::Convert(_)
        | Op::Const(_)
        | Op::Select
        | Op::Fma
        | Op::Ldexp
        | Op::Frexp
        | Op::IAddCarry
        | Op::ISubBorrow
        | Op::BitfieldInsert
        | Op::BitfieldSExtract
        | Op::BitfieldUExtract
        | Op::VarLoad(_)
        | Op::VarStore(_)
        | Op::BufferDesc { .. }
        | Op::BufferSize
        | Op::ImageDesc { .. }
        | Op::SamplerDesc { .. }
        // By parts of eight lanes.
        | Op::Sample(_)
        | Op::ImageFetch { .. }
        | Op::ImageResident { .. }
        | Op::ImageStore { .. }
        | Op::ImageQuery(_)
        | Op::LoadInput(..)
        | Op::StoreOutput(_)
        | Op::Ddx { .. }
        | Op::Ddy { .. }
        | Op::Demote
        | Op::IsHelper
        | Op::Load(_, MemFlags { volatile: false, .. })
        | Op::Store(_, MemFlags { volatile: false, .. })
        | Op::Barrier
        | Op::MemoryBarrier => true,
        Op::Atomic(..) => alone,
        Op::Builtin(builtin) => matches!(
            builtin,
            Builtin::LocalInvocationIndex
                | Builtin::LocalInvocationId(_)
                | Builtin::WorkgroupId(_)
                | Builtin::NumWorkgroups(_)
                | Builtin::GlobalInvocationId(_)
                | Builtin::DeviceIndex
                | Builtin::ViewIndex
                | Builtin::FragCoord(_)
                | Builtin::FrontFacing
                | Builtin::PointCoord(_)
                | Builtin::SampleId
                | Builtin::SamplePosition(_)
                | Builtin::SampleMaskIn
                | Builtin::HelperInvocation
                | Builtin::PrimitiveId
                | Builtin::Layer
                | Builtin::ViewportIndex
        ),
        Op::Load(..)
        | Op::Store(..)
        | Op::ImageAtomic { .. }
        | Op::LoadVertex(_)
        | Op::StoreVertex(_)
        | Op::StoreVertexCount
        | Op::Subgroup(_)
        | Op::Clock => false,
    }
}

//! Lane-count invariance: subgroup-size-agnostic compute and fragment stages, whose results do not
//! depend on the number of lanes of a chunk. All their operations are
//! [invariant](LaneCountRule::Invariant). That excludes:
//!
//! * operations on subgroups,
//! * effects that happen observably in the order of lanes (several atomics, and in fragment stages
//!   any write to memory),
//! * accesses to other lanes except those of a quad.
//!
//! Their optimised code may have twice as many lanes, if the machine's vectors do.
//!
//! The only other way to observe the number is a data race: an invocation reads memory that another
//! invocation of its workgroup writes, without a barrier in between. Vulkan gives such programs no
//! defined result.

#![forbid(unsafe_code)]

use crate::ir::{LaneCountRule, Node, Op, Region, Shader, Value, ValueDef};
use crate::lir;
use crate::spirv::is_subgroup_visible;
use base::shader::Stage;
use cranelift_entity::SecondaryMap;

/// Number of lanes of a chunk whose words fill a vector of 512 bits.
pub const MORE_LANES: u32 = 16;

/// Returns true if none of a module's capabilities exposes subgroups.
pub fn exposes_no_subgroups(capabilities: &[u32]) -> bool {
    !capabilities.iter().any(|&c| is_subgroup_visible(c))
}

/// Returns true if the stage, of a module that [`exposes_no_subgroups`], is subgroup-size-agnostic
/// and chunks of [`MORE_LANES`] fit its workgroups.
pub fn may_have_more_lanes(shader: &Shader, lanes: u32) -> bool {
    let whole = match shader.stage() {
        Stage::Compute => shader.stage_info.workgroup().is_some_and(|w| w.invocations() % u64::from(MORE_LANES) == 0),
        // Batches are padded to whole chunks.
        Stage::Fragment => !shader.side_effects,
        _ => false,
    };
    // A single atomic is executed in the order of invocations, whatever the number of lanes. An
    // atomic whose result is unused is better deferred (`deferred`).
    let alone = shader.stage() == Stage::Compute && atomics(shader, &shader.root.body) <= 1 && reads_atomics(shader);
    let is_invariant = |op: &Op| match op.info().lane_count {
        LaneCountRule::Invariant => true,
        LaneCountRule::InvariantAlone => alone,
        LaneCountRule::Dependent => false,
    };
    whole && lanes < MORE_LANES && shader.live_insts().all(|data| is_invariant(&data.op))
}

/// Returns true if LIR with more lanes is considerably less work than twice that with fewer lanes.
/// The margin is needed because lanes that lie side by side in groups of eight may not do so in
/// groups of sixteen, and are then loaded one by one.
pub fn is_worth_it(few: &lir::Function, more: &lir::Function) -> bool {
    20 * work(more) < 29 * work(few)
}

/// Assumed number of iterations of a loop, per level of nesting.
const ROUNDS: u64 = 8;
/// Upper bound of the nesting depth that is distinguished.
const DEPTH: u32 = 8;

/// Estimates the number of instructions that run in the wide tier: one per vector, or several per
/// lane.
pub fn work(function: &lir::Function) -> u64 {
    let depths = depths(function);
    let blocks = function.layout.iter().zip(depths).filter(|(b, _)| !function.blocks[**b].cold);
    let work = blocks.map(|(&b, depth)| {
        let insts = function.blocks[b].insts.iter().map(|&i| instructions(&function.insts[i]));
        insts.sum::<u64>().saturating_mul(ROUNDS.pow(depth.min(DEPTH)))
    });
    work.fold(0, u64::saturating_add)
}

/// Returns the number of loops that contain each block of the layout. A loop is the range that a
/// backward jump spans.
fn depths(function: &lir::Function) -> Vec<u32> {
    let mut places = SecondaryMap::new();
    function.layout.iter().enumerate().for_each(|(i, &b)| places[b] = i);
    let mut changes = vec![0i32; function.layout.len() + 1];
    let mut headers = vec![0; function.layout.len()];
    for (i, &block) in function.layout.iter().enumerate() {
        for target in &function.blocks[block].targets {
            let to = places[target.block];
            // Among several jumps to one block, the last one ends the loop.
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

/// Returns true if the result of an atomic is an operand of any instruction.
fn reads_atomics(shader: &Shader) -> bool {
    let from_atomic = |v: &Value| match shader.values[*v].def {
        ValueDef::Inst(inst, _) => matches!(shader.insts[inst].op, Op::Atomic(..)),
        ValueDef::Region => false,
    };
    shader.live_insts().any(|data| data.args.iter().any(from_atomic))
}

/// Counts the atomics in a region; one in a loop counts twice, as more than one.
fn atomics(shader: &Shader, region: &Region) -> usize {
    let of = |node: &Node| match node {
        Node::Inst(inst) => usize::from(matches!(shader.insts[*inst].op, Op::Atomic(..))),
        Node::Loop(n) => 2 * atomics(shader, &n.body),
        Node::If(n) => atomics(shader, &n.then) + atomics(shader, &n.else_),
        Node::Scope(n) => atomics(shader, &n.body),
    };
    region.nodes.iter().map(of).fold(0, usize::saturating_add)
}

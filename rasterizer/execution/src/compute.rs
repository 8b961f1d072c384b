//! Dispatches: workgroups in batches over the pool.
//!
//! One worker runs a whole workgroup; a call of generated code runs the workgroups of a batch one
//! after the other.

use crate::stage::{StageMemory, aborted};
use crate::worker_pool::{CostHint, RunningCommand, WorkerPool, WorkerScratch};
use base::abi::{ComputeBatch, ShaderContext};
use base::shader::{CompiledStage, WorkgroupInfo};
use std::sync::Arc;

/// Number of batches per thread into which a dispatch is cut, so that work sharing can balance
/// uneven groups.
const BATCHES_PER_THREAD: u64 = 16;
/// Largest number of workgroups per batch.
const MAX_GROUPS_PER_BATCH: u64 = 64;
/// Number of batches between two checks of the abort flag outside of them: a dispatch of 2^64
/// workgroups must end when the device is lost.
const ROUND: u64 = 1 << 20;

/// One dispatch.
#[derive(Clone)]
pub struct Dispatch {
    /// Identity for reports of running work.
    pub running: RunningCommand,
    /// Stage that each invocation runs.
    pub stage: CompiledStage,
    /// Context; the icd sets its `num_workgroups`.
    pub context: Arc<ShaderContext>,
    /// First workgroup (vkCmdDispatchBase).
    pub base: [u32; 3],
    /// Number of workgroups per dimension.
    pub groups: [u32; 3],
}

/// Runs all workgroups, and returns the number of their invocations. Stops early when the context's
/// abort flag is set, and returns 0 then.
pub fn dispatch<S: WorkerScratch + AsMut<StageMemory>>(pool: &WorkerPool<S>, d: &Dispatch) -> u64 {
    // The product saturates, because a dispatch of so many workgroups never ends.
    let total = d.groups.iter().fold(1u64, |product, &n| product.saturating_mul(u64::from(n)));
    let Some(workgroup) = d.stage.info.stage_info.workgroup().filter(|_| total != 0) else { return 0 };
    let per_batch = (total / (pool.threads() as u64 * BATCHES_PER_THREAD)).clamp(1, MAX_GROUPS_PER_BATCH);
    let batches = total.div_ceil(per_batch);
    // Tier-up sometimes replaces code; the dispatch then has another key.
    let cost_hint = CostHint::keyed((Arc::as_ptr(&d.stage.code).cast::<()>() as usize, total));
    for start in (0..batches).step_by(ROUND as usize) {
        pool.for_each((batches - start).min(ROUND) as usize, cost_hint, |worker, scratch, i| {
            worker.set_running(d.running);
            let first = (start + i as u64) * per_batch;
            run_groups(d, workgroup, scratch.as_mut(), first, first.saturating_add(per_batch).min(total));
        });
        if aborted(&d.context) {
            return 0;
        }
    }
    total.saturating_mul(workgroup.invocations())
}

fn run_groups(d: &Dispatch, workgroup: &WorkgroupInfo, memory: &mut StageMemory, first: u64, end: u64) {
    if aborted(&d.context) {
        return;
    }
    let header = memory.header(&d.stage);
    let shared = memory.shared.ensure(workgroup.shared_bytes as usize);
    let [width, height, _] = d.groups;
    let (row, slice) = (u64::from(width), u64::from(width) * u64::from(height));
    let position = [first % row, first / row % u64::from(height), first / slice];
    let mut batch = ComputeBatch {
        header,
        base: d.base,
        groups: [width, height],
        first: position.map(|at| at as u32),
        count: (end - first) as u32,
        _pad: 0,
        shared,
    };
    // SAFETY: the icd guarantees that stage and context belong together and live until the dispatch
    // ends. Scratch and shared memory have the sizes that the stage requires, and only this worker
    // uses them.
    unsafe { d.stage.run(&d.context, (&raw mut batch).cast()) };
}

#[cfg(test)]
mod tests;

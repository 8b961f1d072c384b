//! The mesh dispatch list: mesh workgroups that a draw requests, or the workgroups of its task
//! stage.
//!
//! Task workgroups run before their draw is cut into chunks, as many at a time as fit
//! [`TASK_BYTES`] of memory. The memory stays until the mesh workgroups have read their payloads.
//! The number and the contents of chunks must not depend on how many mesh workgroups one task
//! requests.

use crate::api::{Draw, statistic};
use base::abi::{ComputeBatch, MeshBatch};
use base::shader::{CompiledStage, TaskInfo, WORKGROUP_HEADER_BYTES};
use execution::{AlignedBuf, CostHint, RunningCommand, StageMemory, WorkerPool, WorkerScratch, aborted};
use parking_lot::Mutex;

/// Number of bytes of task workgroups that are kept together, unless a single one takes more.
const TASK_BYTES: u64 = 1 << 20;
/// Largest number of task workgroups that are kept together, so that the sum of their requests fits
/// 32 bits.
const MAX_TASKS: u64 = 1023;
/// Largest number of mesh workgroups that a task gets: `maxMeshWorkGroupTotalCount`. Tasks that
/// request more are counted.
const MAX_MESH_WORKGROUPS: u64 = 1 << 22;
const _: () = assert!(MAX_TASKS * MAX_MESH_WORKGROUPS <= u32::MAX as u64);
/// Number of task workgroups of a call.
const TASKS_PER_CALL: usize = 16;

/// Mesh workgroups that are requested together.
#[derive(Clone, Copy, Debug)]
pub struct MeshDispatch {
    /// Number of the first workgroup.
    first: u32,
    /// Number of workgroups.
    count: u32,
    /// `NumWorkgroups`.
    pub groups: [u32; 3],
    /// The task that requests them, or 0.
    task: usize,
}

impl MeshDispatch {
    /// Returns one more than the number of the last workgroup.
    pub fn end(&self) -> u32 {
        self.first + self.count
    }

    /// Returns the position of a workgroup with a number.
    pub fn position(&self, number: u32) -> [u32; 3] {
        let (at, [width, height, _]) = (number - self.first, self.groups);
        [at % width, at / width % height, at / width / height]
    }
}

/// Requested mesh workgroups in the order of their numbers.
#[derive(Default)]
pub struct MeshDispatchList {
    sets: Vec<MeshDispatch>,
    total: u32,
    /// Memory of tasks, with `words` words for each.
    tasks: AlignedBuf,
    words: usize,
    count: usize,
    /// Number of tasks that requested more workgroups than they get.
    excessive: u32,
}

/// Returns the number of workgroups, saturated.
fn product(groups: [u32; 3]) -> u64 {
    groups.iter().fold(1, |product, &n| product.saturating_mul(u64::from(n)))
}

impl MeshDispatchList {
    /// Lists the workgroups that a draw without a task stage requests.
    pub fn from_draw(groups: [u32; 3]) -> MeshDispatchList {
        let mut list = MeshDispatchList::default();
        list.push(groups, u64::from(u32::MAX), 0);
        list
    }

    /// Lists the workgroups that `count` of a draw's task workgroups request, from number `first`
    /// on.
    pub fn from_tasks<S: WorkerScratch + AsMut<StageMemory>>(
        (pool, running): (&WorkerPool<S>, RunningCommand),
        draw: &Draw,
        (stage, info): (&CompiledStage, &TaskInfo),
        first: u64,
        count: u64,
    ) -> MeshDispatchList {
        let (count, words) = (count as usize, info.group.workgroup_stride() as usize / 4);
        let mut list = MeshDispatchList { words, count, ..MeshDispatchList::default() };
        let memory = list.tasks.words(count * words);
        let calls: Vec<_> = memory.chunks_mut(TASKS_PER_CALL * words).map(Mutex::new).collect();
        let cost_hint = CostHint::keyed((std::sync::Arc::as_ptr(&stage.code).cast::<()>() as usize, count));
        pool.for_each(calls.len(), cost_hint, |worker, scratch, i| {
            worker.set_running(running);
            let tasks = &mut **calls[i].lock();
            run(draw, stage, scratch.as_mut(), first + (i * TASKS_PER_CALL) as u64, (tasks.len() / words, tasks));
        });
        drop(calls);
        if aborted(&draw.context) {
            return MeshDispatchList::default();
        }
        draw.queries.count(statistic::TASK_INVOCATIONS, count as u64 * info.group.invocations());
        for task in 0..count {
            let head = &list.tasks.as_words(count * words)[task * words..];
            list.push([head[0], head[1], head[2]], MAX_MESH_WORKGROUPS, task);
        }
        list
    }

    fn push(&mut self, groups: [u32; 3], max: u64, task: usize) {
        let requested = product(groups);
        self.excessive += u32::from(requested > max);
        let count = requested.min(max) as u32;
        if count != 0 {
            self.sets.push(MeshDispatch { first: self.total, count, groups, task });
            self.total += count;
        }
    }

    /// Returns the number of workgroups.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Returns the number of tasks that requested more than [`MAX_MESH_WORKGROUPS`] and get so
    /// many.
    pub fn excessive(&self) -> u32 {
        self.excessive
    }

    /// Returns the number of bytes that are kept.
    pub fn bytes(&self) -> usize {
        4 * self.count * self.words + size_of_val(&*self.sets)
    }

    /// Returns the set to which a workgroup belongs.
    pub fn dispatch_of(&self, number: u32) -> Option<&MeshDispatch> {
        self.sets.get(self.sets.partition_point(|set| set.end() <= number))
    }

    /// Returns the words of a task's payload for its mesh workgroups, with the rest of its memory.
    pub fn payload(&self, set: &MeshDispatch) -> &[u32] {
        let all = self.tasks.as_words(self.count * self.words);
        all.get(set.task * self.words + WORKGROUP_HEADER_BYTES as usize / 4..(set.task + 1) * self.words)
            .unwrap_or_default()
    }
}

/// Returns how many of the remaining task workgroups run together.
pub fn tasks_per_batch(info: &TaskInfo, left: u64) -> u64 {
    (TASK_BYTES / u64::from(info.group.workgroup_stride())).clamp(1, MAX_TASKS).min(left)
}

/// Runs task workgroups, from number `first` on.
fn run(draw: &Draw, stage: &CompiledStage, memory: &mut StageMemory, first: u64, (count, tasks): (usize, &mut [u32])) {
    if aborted(&draw.context) {
        return;
    }
    // Values that the stage does not write are the same every time, and request nothing.
    tasks.fill(0);
    let [width, height, _] = draw.groups;
    let (row, slice) = (u64::from(width), u64::from(width) * u64::from(height));
    let position = [first % row, first / row % u64::from(height), first / slice];
    let mut batch = MeshBatch {
        groups: ComputeBatch {
            header: memory.header(stage),
            base: [0; 3],
            groups: [width, height],
            first: position.map(|at| at as u32),
            count: count as u32,
            _pad: 0,
            shared: tasks.as_mut_ptr().cast(),
        },
        num_workgroups: draw.groups,
        _pad: 0,
    };
    // SAFETY: there is memory for as many workgroups as the stage's facts say. The icd guarantees
    // that stage and context match.
    unsafe { stage.run(&draw.context, (&raw mut batch).cast()) };
}

//! The mesh dispatch list: mesh workgroups that a draw requests, or the workgroups of its task
//! stage.
//!
//! Task workgroups run before their draw is cut into chunks, as many at a time as fit
//! [`TASK_BYTES`] of memory. The memory stays until the mesh workgroups have read their payloads.
//! The number and the contents of chunks must not depend on how many mesh workgroups one task
//! requests.

use crate::api::{Draw, statistic};
use base::abi::{ComputeBatch, MeshBatch};
use base::shader::{CompiledStage, GROUP_HEAD, TaskFacts};
use execution::{AlignedBuf, Effort, Pool, Running, Scratch, StageMemory, aborted};
use parking_lot::Mutex;

/// Number of bytes of task workgroups that are kept together, unless a single one takes more.
const TASK_BYTES: u64 = 1 << 20;
/// Largest number of task workgroups that are kept together, so that the sum of their requests fits
/// 32 bits.
const MOST_TASKS: u64 = 1023;
/// Largest number of mesh workgroups that a task gets: `maxMeshWorkGroupTotalCount`. Tasks that
/// request more are counted.
const MOST_ASKED: u64 = 1 << 22;
const _: () = assert!(MOST_TASKS * MOST_ASKED <= u32::MAX as u64);
/// Number of task workgroups of a call.
const CALL_TASKS: usize = 16;

/// Mesh workgroups that are requested together.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// Number of the first workgroup.
    first: u32,
    /// Number of workgroups.
    count: u32,
    /// `NumWorkgroups`.
    pub groups: [u32; 3],
    /// The task that requests them, or 0.
    task: usize,
}

impl Set {
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
pub struct Asked {
    sets: Vec<Set>,
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

impl Asked {
    /// Lists the workgroups that a draw without a task stage requests.
    pub fn by_draw(groups: [u32; 3]) -> Asked {
        let mut asked = Asked::default();
        asked.push(groups, u64::from(u32::MAX), 0);
        asked
    }

    /// Lists the workgroups that `count` of a draw's task workgroups request, from number `first`
    /// on.
    pub fn by_tasks<S: Scratch + AsMut<StageMemory>>(
        (pool, running): (&Pool<S>, Running),
        draw: &Draw,
        (stage, facts): (&CompiledStage, &TaskFacts),
        first: u64,
        count: u64,
    ) -> Asked {
        let (count, words) = (count as usize, facts.group.group_bytes() as usize / 4);
        let mut asked = Asked { words, count, ..Asked::default() };
        let memory = asked.tasks.words(count * words);
        let calls: Vec<_> = memory.chunks_mut(CALL_TASKS * words).map(Mutex::new).collect();
        let effort = Effort::like((std::sync::Arc::as_ptr(&stage.code).cast::<()>() as usize, count));
        pool.for_each(calls.len(), effort, |worker, scratch, i| {
            worker.runs(running);
            let tasks = &mut **calls[i].lock();
            run(draw, stage, scratch.as_mut(), first + (i * CALL_TASKS) as u64, (tasks.len() / words, tasks));
        });
        drop(calls);
        if aborted(&draw.context) {
            return Asked::default();
        }
        draw.queries.count(statistic::TASK_INVOCATIONS, count as u64 * facts.group.invocations());
        for task in 0..count {
            let head = &asked.tasks.as_words(count * words)[task * words..];
            asked.push([head[0], head[1], head[2]], MOST_ASKED, task);
        }
        asked
    }

    fn push(&mut self, groups: [u32; 3], most: u64, task: usize) {
        let asked = product(groups);
        self.excessive += u32::from(asked > most);
        let count = asked.min(most) as u32;
        if count != 0 {
            self.sets.push(Set { first: self.total, count, groups, task });
            self.total += count;
        }
    }

    /// Returns the number of workgroups.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Returns the number of tasks that requested more than [`MOST_ASKED`] and get so many.
    pub fn excessive(&self) -> u32 {
        self.excessive
    }

    /// Returns the number of bytes that are kept.
    pub fn bytes(&self) -> usize {
        4 * self.count * self.words + size_of_val(&*self.sets)
    }

    /// Returns the set to which a workgroup belongs.
    pub fn set_of(&self, number: u32) -> Option<&Set> {
        self.sets.get(self.sets.partition_point(|set| set.end() <= number))
    }

    /// Returns the words of a task's payload for its mesh workgroups, with the rest of its memory.
    pub fn payload(&self, set: &Set) -> &[u32] {
        let all = self.tasks.as_words(self.count * self.words);
        all.get(set.task * self.words + GROUP_HEAD as usize / 4..(set.task + 1) * self.words).unwrap_or_default()
    }
}

/// Returns how many of the remaining task workgroups run together.
pub fn together(facts: &TaskFacts, left: u64) -> u64 {
    (TASK_BYTES / u64::from(facts.group.group_bytes())).clamp(1, MOST_TASKS).min(left)
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

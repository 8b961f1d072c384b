//! Mesh workgroups that are asked for: by a draw, or by the workgroups of its task stage.
//!
//! Task workgroups run before the chunks of their draw are cut, as many at a time as [`TASK_BYTES`] hold of their memory, which stays until the mesh workgroups
//! have read their payloads: how many chunks there are, and what is in which, must not depend on how much becomes of one task.

use crate::api::Running;
use crate::api::{Draw, statistic};
use crate::mem::AlignedBuf;
use crate::pool::{Effort, Pool, Scratch};
use crate::stage::{StageMemory, aborted};
use base::abi::{ComputeBatch, MeshBatch};
use base::shader::{CompiledStage, GROUP_HEAD, TaskFacts};
use parking_lot::Mutex;

/// Bytes of task workgroups that are kept together, unless one alone takes more.
const TASK_BYTES: u64 = 1 << 20;
/// Task workgroups that are kept together: what all of them ask for is a number of 32 bits.
const MOST_TASKS: u64 = 1023;
/// A task gets no more mesh workgroups: `maxMeshWorkGroupTotalCount`. Who asks for more is counted.
const MOST_ASKED: u64 = 1 << 22;
const _: () = assert!(MOST_TASKS * MOST_ASKED <= u32::MAX as u64);
/// Task workgroups of a call.
const CALL_TASKS: usize = 16;

/// Mesh workgroups that are asked for together.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// Number of the first one.
    first: u32,
    /// How many there are.
    count: u32,
    /// `NumWorkgroups`.
    pub groups: [u32; 3],
    /// The task that asks, or 0.
    task: usize,
}

impl Set {
    /// Number behind the last one's.
    pub fn end(&self) -> u32 {
        self.first + self.count
    }

    /// The position of a workgroup of a number.
    pub fn position(&self, number: u32) -> [u32; 3] {
        let (at, [width, height, _]) = (number - self.first, self.groups);
        [at % width, at / width % height, at / width / height]
    }
}

/// Mesh workgroups in their order, which is the order of their numbers.
#[derive(Default)]
pub struct Asked {
    sets: Vec<Set>,
    total: u32,
    /// Memory of tasks, so many words each.
    tasks: AlignedBuf,
    words: usize,
    count: usize,
    /// Tasks that asked for more than they get.
    excessive: u32,
}

/// How many workgroups these are.
fn product(groups: [u32; 3]) -> u64 {
    groups.iter().fold(1, |product, &n| product.saturating_mul(u64::from(n)))
}

impl Asked {
    /// What a draw without a task stage asks for.
    pub fn by_draw(groups: [u32; 3]) -> Asked {
        let mut asked = Asked::default();
        asked.push(groups, u64::from(u32::MAX), 0);
        asked
    }

    /// What `count` of a draw's task workgroups ask for, from number `first` on.
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

    /// How many there are.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Tasks that asked for more than [`MOST_ASKED`] and get so many.
    pub fn excessive(&self) -> u32 {
        self.excessive
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        4 * self.count * self.words + size_of_val(&*self.sets)
    }

    /// What a workgroup belongs to.
    pub fn set_of(&self, number: u32) -> Option<&Set> {
        self.sets.get(self.sets.partition_point(|set| set.end() <= number))
    }

    /// Words of what a task has left for its mesh workgroups, and what follows that in its memory.
    pub fn payload(&self, set: &Set) -> &[u32] {
        let all = self.tasks.as_words(self.count * self.words);
        all.get(set.task * self.words + GROUP_HEAD as usize / 4..(set.task + 1) * self.words).unwrap_or_default()
    }
}

/// How many of the task workgroups that are left run together.
pub fn together(facts: &TaskFacts, left: u64) -> u64 {
    (TASK_BYTES / u64::from(facts.group.group_bytes())).clamp(1, MOST_TASKS).min(left)
}

/// Runs task workgroups, from number `first` on.
fn run(draw: &Draw, stage: &CompiledStage, memory: &mut StageMemory, first: u64, (count, tasks): (usize, &mut [u32])) {
    if aborted(&draw.context) {
        return;
    }
    // What the stage leaves out is the same every time, and asks for nothing.
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
    // SAFETY: there is memory for as many workgroups as the stage's facts say; the icd vouches for stage and context.
    unsafe { stage.run(&draw.context, (&raw mut batch).cast()) };
}

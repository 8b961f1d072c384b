//! Dispatches: ids, memory, abort.

use super::*;
use crate::only_stages::OnlyStages;
use base::abi::{BatchHeader, StageFn};
use base::shader::{StageCode, StageInterface, StageSpecificInfo};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use test_support::stage::{context, context_with, stage};

static SUM: AtomicU64 = AtomicU64::new(0);

/// Counts the positions of a batch, and writes workgroup memory.
#[base::code_fn]
unsafe extern "code" fn positions(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the stage is called with a `ComputeBatch`, and 16 bytes of shared and of scratch
    // memory.
    unsafe {
        let b = &mut *batch.cast::<ComputeBatch>();
        let (scratch, shared) = (b.header.scratch.cast::<u32>(), b.shared.cast::<u32>());
        assert!(b.count >= 1 && b.count <= 64);
        let [mut x, mut y, mut z] = b.first;
        for _ in 0..b.count {
            let id: [u32; 3] = core::array::from_fn(|i| b.base[i] + [x, y, z][i]);
            let [idx, idy, idz] = id.map(u64::from);
            SUM.fetch_add(idx + 100 * idy + 10_000 * idz, Ordering::Relaxed);
            x += 1;
            (x, y) = if x == b.groups[0] { (0, y + 1) } else { (x, y) };
            (y, z) = if y == b.groups[1] { (0, z + 1) } else { (y, z) };
        }
        (*scratch, *shared) = (77, 77);
    }
}

/// A stage function with 16 bytes of private memory.
struct WithScratch(StageFn);

impl StageCode for WithScratch {
    unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader) {
        // SAFETY: context and batch are valid, as `StageCode::run` requires.
        unsafe { (self.0)(context, batch) }
    }

    fn scratch_bytes(&self) -> usize {
        16
    }
}

#[test]
fn every_workgroup_runs_once() {
    let workgroup = WorkgroupInfo { local_size: [4, 1, 1], shared_bytes: 16, reserved_bytes: 0 };
    let mut s = stage(StageSpecificInfo::Compute(workgroup), positions, 4, StageInterface::default());
    s.code = Arc::new(WithScratch(positions));
    let d = Dispatch {
        running: RunningCommand::default(),
        stage: s,
        context: context(),
        base: [1, 0, 2],
        groups: [7, 5, 3],
    };
    for threads in [1, 3] {
        SUM.store(0, Ordering::Relaxed);
        let invocations = dispatch(&WorkerPool::<OnlyStages>::new(threads), &d);
        let mut want = 0;
        for (x, y, z) in (1..8).flat_map(|x| (0..5).flat_map(move |y| (2..5).map(move |z| (x, y, z)))) {
            want += x + 100 * y + 10_000 * z;
        }
        assert_eq!(SUM.load(Ordering::Relaxed), want);
        assert_eq!(invocations, 7 * 5 * 3 * 4);
    }
}

#[base::code_fn]
unsafe extern "code" fn slow(_: *const ShaderContext, _: *mut BatchHeader) {
    std::thread::sleep(std::time::Duration::from_millis(1));
}

#[test]
fn abort_ends_a_dispatch_that_never_would() {
    static ABORT: AtomicU32 = AtomicU32::new(0);
    let s = stage(StageSpecificInfo::Compute(WorkgroupInfo::default()), slow, 4, StageInterface::default());
    let groups = [u32::MAX; 3];
    let d =
        Dispatch { running: RunningCommand::default(), stage: s, context: context_with(&ABORT), base: [0; 3], groups };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            ABORT.store(1, Ordering::Relaxed);
        });
        assert_eq!(dispatch(&WorkerPool::<OnlyStages>::new(2), &d), 0);
    });
}

#[test]
fn a_pool_starts_no_thread_until_it_works() {
    let pool = WorkerPool::<OnlyStages>::new(4);
    let s = stage(StageSpecificInfo::Compute(WorkgroupInfo::default()), slow, 4, StageInterface::default());
    let d =
        Dispatch { running: RunningCommand::default(), stage: s, context: context(), base: [0; 3], groups: [0, 1, 1] };
    dispatch(&pool, &d);
    assert!(!pool.work_sharing().started());
    assert_eq!(pool.work_sharing().pool().map(rayon::ThreadPool::current_num_threads), Some(4));
}

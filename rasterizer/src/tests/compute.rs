//! Dispatches: ids, barriers, workgroup memory, abort.

use super::*;
use std::sync::atomic::{AtomicU64, Ordering};

static SUM: AtomicU64 = AtomicU64::new(0);

/// Three barrier-separated regions that count through scratch and shared memory.
unsafe extern "C" fn barriers(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: called with a `ComputeBatch`, 16 bytes of shared and scratch memory.
    unsafe {
        let b = &mut *batch.cast::<ComputeBatch>();
        let (resume, shared) = (b.header.scratch.cast::<u32>(), b.shared.cast::<u32>());
        if *resume == 0 {
            assert_eq!(*shared, 0, "zero_shared");
        }
        *shared += 1;
        *resume += 1;
        b.pending = u32::from(*resume < 3);
        if b.pending == 0 {
            assert_eq!(*shared, 3);
            let [x, y, z] = b.workgroup_id.map(u64::from);
            SUM.fetch_add(x + 100 * y + 10_000 * z, Ordering::Relaxed);
            *shared = 77;
        }
    }
}

#[test]
fn every_workgroup_runs_once_through_its_barriers() {
    let workgroup = WorkgroupFacts { local_size: [4, 1, 1], shared_bytes: 16, zero_shared: true };
    let mut s = stage(Payload::Compute(workgroup), barriers, 4, StageInterface::default());
    (s.facts.scratch_bytes, s.facts.has_barriers) = (16, true);
    let statistics: Arc<[AtomicU64; 11]> = Arc::default();
    let queries = QuerySinks { occlusion: None, statistics: Some(statistics.clone()) };
    let d = Dispatch { stage: s, context: context(), base: [1, 0, 2], groups: [7, 5, 3], queries };
    for threads in [1, 3] {
        SUM.store(0, Ordering::Relaxed);
        Engine::new(threads).dispatch(&d);
        let mut want = 0;
        for (x, y, z) in (1..8).flat_map(|x| (0..5).flat_map(move |y| (2..5).map(move |z| (x, y, z)))) {
            want += x + 100 * y + 10_000 * z;
        }
        assert_eq!(SUM.load(Ordering::Relaxed), want);
    }
    assert_eq!(statistics[10].load(Ordering::Relaxed), 2 * 7 * 5 * 3 * 4);
}

unsafe extern "C" fn endless(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: called with a `ComputeBatch`.
    unsafe { (*batch.cast::<ComputeBatch>()).pending = 1 };
}

#[test]
fn abort_ends_a_dispatch_that_never_would() {
    static ABORT: AtomicU32 = AtomicU32::new(0);
    let s = stage(Payload::Compute(WorkgroupFacts::default()), endless, 4, StageInterface::default());
    let groups = [1000, 1, 1];
    let d = Dispatch { stage: s, context: context_with(&ABORT), base: [0; 3], groups, queries: QuerySinks::default() };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            ABORT.store(1, Ordering::Relaxed);
        });
        Engine::new(2).dispatch(&d);
    });
}

#[test]
fn an_engine_starts_no_thread_until_it_works() {
    let engine = Engine::new(4);
    let s = stage(Payload::Compute(WorkgroupFacts::default()), endless, 4, StageInterface::default());
    let d = Dispatch { stage: s, context: context(), base: [0; 3], groups: [0, 1, 1], queries: QuerySinks::default() };
    engine.dispatch(&d);
    assert!(!engine.started());
    assert_eq!(engine.pool().map(rayon::ThreadPool::current_num_threads), Some(4));
}

//! Tests with several owners of work at a time.

use super::*;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::thread::scope;

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn every_item_is_taken_once_by_two_owners_at_a_time() {
    let work_sharing = WorkSharingPool::new(3);
    scope(|threads| {
        for call in [HelperPolicy::Immediately, HelperPolicy::AfterWakeLatency, HelperPolicy::Never] {
            let work_sharing = &work_sharing;
            threads.spawn(move || {
                for items in [0, 1, 2, 7, 5000] {
                    let taken: Vec<AtomicU64> = (0..items).map(|_| AtomicU64::new(0)).collect();
                    work_sharing.for_each(items, call, &|items| {
                        items.for_each(|i| _ = taken[i as usize].fetch_add(1, Ordering::Relaxed));
                    });
                    assert!(taken.iter().all(|n| n.load(Ordering::Relaxed) == 1), "{items} items, {call:?}");
                }
            });
        }
    });
    let jobs = work_sharing.jobs.lock();
    assert!(jobs.open.is_empty() && jobs.called <= 3);
}

#[test]
fn endless_work_does_not_delay_other_work() {
    let work_sharing = WorkSharingPool::new(3);
    let (inside, end) = (AtomicUsize::new(0), AtomicBool::new(false));
    scope(|threads| {
        // Two pieces of endless work share all helpers.
        let endless = || {
            work_sharing.for_each(64, HelperPolicy::Immediately, &|items| {
                for _ in items {
                    inside.fetch_add(1, Ordering::AcqRel);
                    while !end.load(Ordering::Acquire) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            });
        };
        threads.spawn(endless);
        wait_until("its helpers come", || inside.load(Ordering::Acquire) == 3);
        threads.spawn(endless);
        wait_until("the second begins", || inside.load(Ordering::Acquire) >= 4);
        for _ in 0..2000 {
            let done = AtomicUsize::new(0);
            work_sharing.for_each(8, HelperPolicy::Immediately, &|items| {
                items.for_each(|_| _ = done.fetch_add(1, Ordering::Relaxed))
            });
            assert_eq!(done.into_inner(), 8);
        }
        assert!(work_sharing.jobs.lock().called <= 3, "who does not come is not called again");
        end.store(true, Ordering::Release);
    });
}

#[test]
fn helpers_move_to_later_work_and_return() {
    let work_sharing = WorkSharingPool::new(4);
    let (end, both) = (AtomicBool::new(false), Barrier::new(2));
    scope(|threads| {
        threads.spawn(|| {
            work_sharing.for_each(u64::MAX, HelperPolicy::Immediately, &|items| {
                items.take_while(|_| !end.load(Ordering::Acquire)).for_each(|_| std::hint::spin_loop());
            });
        });
        let helpers =
            || work_sharing.jobs.lock().open.iter().map(|job| job.quota.helpers.load(Ordering::Relaxed)).sum::<usize>();
        wait_until("all help the only one", || helpers() == 3);
        // The two items wait for each other, so one of the helpers must leave its current work.
        work_sharing.for_each(2, HelperPolicy::Immediately, &|items| items.for_each(|_| _ = both.wait()));
        wait_until("and is back", || helpers() == 3);
        end.store(true, Ordering::Release);
    });
}

#[test]
fn shares() {
    let shares = |threads, max_helpers: &[usize]| {
        let job = |&max_helpers: &usize| {
            let (helpers, share, exhausted) = Default::default();
            with_scoped_closure(&|_: &HelperQuota| (), |scope| {
                Arc::new(Job {
                    closure: scope.shared().clone(),
                    quota: HelperQuota { max_helpers, helpers, share, exhausted },
                })
            })
        };
        let mut jobs = JobQueue { open: max_helpers.iter().map(job).collect(), threads, called: 1 };
        jobs.redistribute();
        let called = jobs.calls_to_make();
        (jobs.open.iter().map(|job| job.quota.share.load(Ordering::Relaxed)).collect::<Vec<_>>(), called)
    };
    assert_eq!(shares(8, &[100]), (vec![7], 6), "one has been called already");
    assert_eq!(shares(8, &[3]), (vec![3], 2));
    assert_eq!(shares(8, &[100, 100]), (vec![3, 3], 5));
    assert_eq!(shares(9, &[100, 1]), (vec![1, 6], 6), "what one has no use for is the other's");
    assert_eq!(shares(2, &[5, 5]), (vec![0, 0], 0), "owners are threads too");
    assert_eq!(shares(1, &[5, 5, 5]), (vec![0, 0, 0], 0));
}

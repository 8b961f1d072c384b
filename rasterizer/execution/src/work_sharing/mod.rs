//! The work-sharing pool: threads that the first work starts, and that help several owners of work
//! at a time, because a device has several queues.
//!
//! Items are distributed by an atomic counter, in order ([`WorkSharingPool::for_each`]). An owner
//! takes part in its work and never waits for a helper to begin. Helpers join when they can, and
//! the work ends with the last helper that has joined. An endless piece of work therefore occupies
//! its helpers, and delays no other work.
//!
//! Helpers are redistributed whenever a piece of work begins or ends. There are as many as threads,
//! less one for each owner of work. Each piece of work gets the same number, or fewer if it cannot
//! use more. A helper in excess leaves after its item. `rayon` provides the threads, and runs jobs
//! for which no thread waits.

mod scoped_closure;

use parking_lot::Mutex;
use scoped_closure::{ScopedClosure, with_scoped_closure};
use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Wake latency: the time from waking another thread until it works. Shorter work finishes sooner
/// on one thread.
pub const WAKE_LATENCY: Duration = Duration::from_micros(20);

/// The time at which helpers are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelperPolicy {
    /// Helpers are never called.
    Never,
    /// Helpers are called at once.
    Immediately,
    /// Helpers are called once the work has taken longer than [`WAKE_LATENCY`].
    AfterWakeLatency,
}

/// A work-sharing pool. Creating one starts no thread.
pub struct WorkSharingPool {
    threads: usize,
    /// `None` inside means that the system granted no thread.
    pool: OnceLock<Option<rayon::ThreadPool>>,
    jobs: Arc<Mutex<JobQueue>>,
}

/// Pieces of work for which helpers have been called.
struct JobQueue {
    open: Vec<Arc<Job>>,
    /// Number of the pool's threads.
    threads: usize,
    /// Number of helpers that have been called and have not joined.
    called: usize,
}

struct Job {
    closure: Arc<ScopedClosure<HelperQuota>>,
    quota: HelperQuota,
}

/// Numbers of helpers that a piece of work has and may have. Both change under the lock of
/// [`JobQueue`].
struct HelperQuota {
    /// Largest useful number of helpers; more would find nothing to do.
    max_helpers: usize,
    helpers: AtomicUsize,
    share: AtomicUsize,
    /// There are no items left to begin.
    exhausted: AtomicBool,
}

impl HelperQuota {
    /// Returns true if there is a helper in excess.
    fn has_excess(&self) -> bool {
        self.helpers.load(Ordering::Relaxed) > self.share.load(Ordering::Relaxed)
    }

    /// Returns the number of missing helpers.
    fn missing(&self) -> usize {
        self.share.load(Ordering::Relaxed).saturating_sub(self.helpers.load(Ordering::Relaxed))
    }

    fn useful_helpers(&self) -> usize {
        if self.exhausted.load(Ordering::Relaxed) { 0 } else { self.max_helpers }
    }
}

impl JobQueue {
    /// Redistributes the helpers.
    fn redistribute(&mut self) {
        let mut left = self.threads.saturating_sub(self.open.len());
        // Work that can use few helpers leaves more for the rest, so it is served first.
        self.open.sort_by_key(|job| job.quota.useful_helpers());
        for (job, sharers) in self.open.iter().zip((1..=self.open.len()).rev()) {
            let share = (left / sharers).min(job.quota.useful_helpers());
            job.quota.share.store(share, Ordering::Relaxed);
            left -= share;
        }
    }

    /// Returns how many helpers are to be called, and counts them as called.
    fn calls_to_make(&mut self) -> usize {
        let missing = self.open.iter().map(|job| job.quota.missing()).sum::<usize>();
        let calls = missing.saturating_sub(self.called);
        self.called += calls;
        calls
    }

    /// Returns the work that misses the most helpers, and counts the caller as one of them.
    fn join_neediest(&mut self) -> Option<Arc<Job>> {
        let job = self.open.iter().max_by_key(|job| job.quota.missing()).filter(|job| job.quota.missing() > 0)?;
        job.quota.helpers.fetch_add(1, Ordering::Relaxed);
        Some(job.clone())
    }
}

/// Joins pieces of work that miss helpers until there are none; a called helper runs this.
fn run_helper(jobs: &Mutex<JobQueue>) {
    let mut state = jobs.lock();
    state.called -= 1;
    while let Some(job) = state.join_neediest() {
        drop(state);
        job.closure.call(&job.quota);
        state = jobs.lock();
        job.quota.helpers.fetch_sub(1, Ordering::Relaxed);
        if job.quota.exhausted.load(Ordering::Relaxed) {
            state.redistribute();
        }
    }
}

/// A piece of work for which helpers are called; dropping it stops the calls.
struct OpenJob<'t> {
    work_sharing: &'t WorkSharingPool,
    job: Arc<Job>,
}

impl Drop for OpenJob<'_> {
    fn drop(&mut self) {
        let mut jobs = self.work_sharing.jobs.lock();
        jobs.open.retain(|job| !Arc::ptr_eq(job, &self.job));
        if jobs.open.is_empty() {
            return;
        }
        jobs.redistribute();
        let calls = jobs.calls_to_make();
        drop(jobs);
        self.work_sharing.call(calls);
    }
}

/// The items that one thread takes of a piece of work, until none is left or the thread is needed
/// elsewhere.
pub struct Items<'a> {
    next: &'a AtomicU64,
    end: u64,
    role: Role<'a>,
}

enum Role<'a> {
    Owner,
    /// The owner, while it has not called helpers yet.
    SoleOwner(Instant, &'a dyn Fn()),
    Helper(&'a HelperQuota),
}

impl Iterator for Items<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        match self.role {
            Role::Owner => {}
            Role::SoleOwner(began, call) => {
                let taken = self.next.load(Ordering::Relaxed);
                if taken > 0 && taken < self.end && began.elapsed() > WAKE_LATENCY {
                    self.role = Role::Owner;
                    call();
                }
            }
            Role::Helper(quota) if quota.has_excess() => return None,
            Role::Helper(_) => {}
        }
        let item = self.next.fetch_add(1, Ordering::Relaxed);
        if item < self.end {
            return Some(item);
        }
        if let Role::Helper(quota) = self.role {
            quota.exhausted.store(true, Ordering::Relaxed);
        }
        None
    }
}

/// Starts a thread that starts half of the others, and so on, so that the caller waits for one
/// start, however many there are. Threads that the system does not grant are left out.
///
/// # Errors
/// The system does not grant even the first thread.
fn start(mut threads: Vec<rayon::ThreadBuilder>) -> std::io::Result<()> {
    let Some(first) = threads.pop() else { return Ok(()) };
    let name = format!("grus-worker-{}", first.index());
    let run = move || {
        while !threads.is_empty() && start(threads.split_off(threads.len() / 2)).is_ok() {}
        first.run();
    };
    base::thread::spawn(&name, base::thread::STACK, run).map(drop)
}

impl WorkSharingPool {
    /// Makes a pool of `threads` threads; 0 takes the count from affinity and cgroup quota.
    pub fn new(threads: usize) -> WorkSharingPool {
        let threads =
            if threads == 0 { std::thread::available_parallelism().map_or(1, |n| n.get()) } else { threads.min(1024) };
        let jobs = JobQueue { open: Vec::new(), threads, called: 0 };
        WorkSharingPool { threads, pool: OnceLock::new(), jobs: Arc::new(Mutex::new(jobs)) }
    }

    /// Returns the number of threads, of which each owner of work counts as one.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns true if the threads have been started.
    pub fn started(&self) -> bool {
        self.pool.get().is_some()
    }

    /// Returns the threads, for jobs for which no thread waits; starts them. `None` means that the
    /// system grants no thread, so that the caller does its work itself.
    pub fn pool(&self) -> Option<&rayon::ThreadPool> {
        let started = self.pool.get_or_init(|| {
            let mut waiting = Vec::with_capacity(self.threads);
            let wait = |thread| {
                waiting.push(thread);
                Ok(())
            };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).spawn_handler(wait).build().ok()?;
            start(waiting).ok().map(|()| pool)
        });
        started.as_ref()
    }

    /// Runs `part` on this thread, and on helpers when they are called, each with its own items;
    /// together they get all items below `items`. Returns how long this thread's part took, if
    /// there are helpers to call. A panic of any thread resumes here.
    pub fn for_each(&self, items: u64, call: HelperPolicy, part: &(dyn Fn(Items<'_>) + Sync)) -> Option<Duration> {
        let next = AtomicU64::new(0);
        let max_helpers = (self.threads as u64 - 1).min(items.saturating_sub(1)) as usize;
        if call == HelperPolicy::Never || max_helpers == 0 || self.pool().is_none() {
            part(Items { next: &next, end: items, role: Role::Owner });
            return None;
        }
        let began = Instant::now();
        let help = |quota: &HelperQuota| part(Items { next: &next, end: items, role: Role::Helper(quota) });
        with_scoped_closure(&help, |scope| {
            let open = OnceCell::new();
            let call_now = || {
                open.get_or_init(|| self.open(scope.shared().clone(), max_helpers));
            };
            if call == HelperPolicy::Immediately {
                call_now();
            }
            let role = if call == HelperPolicy::Immediately { Role::Owner } else { Role::SoleOwner(began, &call_now) };
            part(Items { next: &next, end: items, role });
            Some(began.elapsed())
        })
    }

    fn open(&self, closure: Arc<ScopedClosure<HelperQuota>>, max_helpers: usize) -> OpenJob<'_> {
        let (helpers, share, exhausted) = Default::default();
        let job = Arc::new(Job { closure, quota: HelperQuota { max_helpers, helpers, share, exhausted } });
        let mut jobs = self.jobs.lock();
        jobs.open.push(job.clone());
        jobs.redistribute();
        let calls = jobs.calls_to_make();
        drop(jobs);
        self.call(calls);
        OpenJob { work_sharing: self, job }
    }

    fn call(&self, calls: usize) {
        let Some(pool) = self.pool() else { return };
        for _ in 0..calls {
            let jobs = self.jobs.clone();
            pool.spawn(move || run_helper(&jobs));
        }
    }
}

#[cfg(test)]
mod tests;

//! The device's compiler: it knows the living stages and has their code made.
//!
//! A stage is found in the application's cache, or among the living stages of the device: one with
//! the same key has the same code, which may still be in production. Otherwise the stage is
//! prepared on the calling thread, which finds all of its errors. Its code is then made on the
//! pool, in the order of creation. Jobs refer to stages weakly: a stage that is dropped before its
//! turn costs nothing.
//!
//! A prepared stage takes some hundred kilobytes. If too many wait, the creating thread makes code
//! itself.
//!
//! Better code for long-running stages is made outside the pool, because the pool's threads are
//! busy at that time with the draw or dispatch that needs the code. The threads are started when
//! there is such work, and end when there is none. A shader whose better code would take long to
//! make keeps the quick code. Between two steps the threads read the stage's token, which the end
//! of the stage or of the device cancels, so that no waiter waits longer than one step.

#![forbid(unsafe_code)]

use super::compile::{StageKey, StageRequest};
use super::identifier::{Identifier, IdentifierIndex};
use super::pipeline_cache::PipelineCache;
use super::recent_modules::RecentModules;
use super::tiered::{Policy, StageOwner, TieredCode};
use super::warm_up;
use crate::fallible;
use crate::ffi::messages::Messages;
use crate::os::condvar::Condvar;
use crate::os::heap_trim::note_compile_step;
use ash::vk;
use execution::work_sharing::WorkSharingPool;
use jit::cancel::CancelToken;
use jit::error::Error;
use parking_lot::Mutex;
use rasterizer::Engine;
use rayon::ThreadPool;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// Number of jobs that may wait, per thread of the pool.
const WAITING_PER_THREAD: usize = 16;

/// Number of threads of the pool per thread that makes better code.
const POOL_THREADS_PER_IMPROVER: usize = 4;

/// Least memory that compiling takes, in bytes per word of SPIR-V. It is requested before the
/// compile begins.
const COMPILER_BYTES: usize = 256;

/// Origin of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeOrigin {
    /// The application's pipeline cache.
    Cache,
    /// Another pipeline of the device.
    Shared,
    /// Compiled for this request.
    Compiled,
}

/// Reason why there is no stage.
#[derive(Debug)]
pub enum CompileError {
    /// The stage is not cached, and the application forbids compiling.
    CompileRequired,
    /// The system has no memory for a compile.
    OutOfMemory,
    /// The shader has this error.
    Shader(Error),
}

/// The compiler of a device.
pub struct Compiler {
    messages: Arc<Messages>,
    engine: Arc<Engine>,
    policy: Policy,
    modules: RecentModules,
    live_stages: Mutex<LiveStages>,
    jobs: Mutex<Jobs>,
    finished: Condvar,
    /// Cancelled when the device ends; the parent of the tokens of all stages.
    token: CancelToken,
    /// Cancelled when the warm-up is of no more use: if a real stage is to be compiled, or if
    /// stages are likely to come from a cache.
    warm_up_token: CancelToken,
    /// True if requests do not share the stages of the device.
    is_unshared: AtomicBool,
}

/// Stages of the device that are in use.
#[derive(Default)]
struct LiveStages {
    by_key: HashMap<StageKey, Weak<TieredCode>>,
    identifiers: IdentifierIndex,
}

impl LiveStages {
    fn get(&self, key: &StageKey) -> Option<Arc<TieredCode>> {
        self.by_key.get(key).and_then(Weak::upgrade)
    }
}

#[derive(Default)]
struct Jobs {
    /// Number of jobs that were given to the pool and are not finished.
    spawned: usize,
    /// Stages to be improved. The two fields below are the number of threads that improve stages,
    /// and the threads that are not joined yet.
    queue: VecDeque<Weak<TieredCode>>,
    improving: usize,
    threads: Vec<base::thread::JoinHandle<()>>,
}

impl Compiler {
    /// Creates a compiler that uses the engine's pool; starts no thread.
    pub fn new(messages: Arc<Messages>, engine: Arc<Engine>, policy: Policy) -> Arc<Compiler> {
        let token = CancelToken::new();
        Arc::new(Compiler {
            messages,
            engine,
            policy,
            modules: RecentModules::default(),
            live_stages: Mutex::default(),
            jobs: Mutex::default(),
            finished: Condvar::new(),
            warm_up_token: token.child(),
            token,
            is_unshared: AtomicBool::new(false),
        })
    }

    /// Returns the threads of the device.
    fn work_sharing(&self) -> &WorkSharingPool {
        self.engine.pool().work_sharing()
    }

    /// Returns the compiler as its stages refer to it.
    fn owner(self: &Arc<Self>) -> Arc<dyn StageOwner> {
        self.clone()
    }

    /// Returns the stage for a request; its code may still be in production.
    ///
    /// # Errors
    /// The reasons are those of [`CompileError`].
    pub fn stage(
        self: &Arc<Self>,
        request: StageRequest,
        cache: Option<&PipelineCache>,
        only_cached: bool,
    ) -> Result<(Arc<TieredCode>, CodeOrigin), CompileError> {
        let key = request.key();
        let mut request = Some(request);
        let load = |bytes: &[u8]| {
            // Code of another processor leaves the request, which is then compiled.
            let blob = jit::load_stored(bytes)?;
            TieredCode::stored(&self.owner(), key.clone(), request.take()?, &blob).map(|code| self.register(code))
        };
        if let Some(code) = cache.and_then(|c| c.find(&key, load)) {
            return Ok((code, CodeOrigin::Cache));
        }
        let (code, origin) = match self.live_stage(&key) {
            Some(code) => (code, CodeOrigin::Shared),
            None if only_cached => return Err(CompileError::CompileRequired),
            None => {
                let request = request
                    .ok_or_else(|| CompileError::Shader(Error::internal("a cached stage could not be loaded")))?;
                // The compiler's own tables cannot report failed allocations, so memory is checked
                // in advance.
                fallible::available(request.words.len() * COMPILER_BYTES).map_err(|_| CompileError::OutOfMemory)?;
                self.warm_up();
                let module = self.modules.parse(&request.words, request.is_validated);
                let prepared = module.and_then(|module| request.prepare(&module));
                note_compile_step();
                let prepared = prepared.map_err(CompileError::Shader)?;
                for deviation in prepared.deviations() {
                    let severity = vk::DebugUtilsMessageSeverityFlagsEXT::WARNING;
                    let message = format!("{:?} shader, entry point \"{}\": {deviation}", request.stage, request.entry);
                    self.messages.report(severity, "GRUS-deviation", &message, None);
                }
                let code = self.register(TieredCode::new(&self.owner(), key, request, prepared));
                self.generate(&code);
                (code, CodeOrigin::Compiled)
            }
        };
        if let Some(cache) = cache {
            cache.insert(&code);
        }
        Ok((code, origin))
    }

    /// Returns the stage with this key, if it is in use and may be shared.
    pub fn live_stage(&self, key: &StageKey) -> Option<Arc<TieredCode>> {
        if self.is_unshared.load(Ordering::Relaxed) { None } else { self.live_stages.lock().get(key) }
    }

    /// Returns the stage of a request with this key and this stored code, which belongs to the key.
    /// `None` means that the code is damaged or of another processor, or that there is no
    /// executable memory.
    pub fn stored_stage(
        self: &Arc<Self>,
        key: StageKey,
        request: StageRequest,
        code: &[u8],
    ) -> Option<Arc<TieredCode>> {
        if let Some(code) = self.live_stage(&key) {
            return Some(code);
        }
        let code = TieredCode::stored(&self.owner(), key, request, &jit::load_stored(code)?)?;
        Some(self.register(code))
    }

    /// Makes every request have a stage of its own (`disableInternalCache`).
    pub fn disable_sharing(&self) {
        self.is_unshared.store(true, Ordering::Relaxed);
    }

    /// Returns the words of the module with this identifier, if a stage of it is in use and may be
    /// shared.
    pub fn words(&self, identifier: &Identifier) -> Option<Arc<[u32]>> {
        if self.is_unshared.load(Ordering::Relaxed) {
            return None;
        }
        let LiveStages { by_key, identifiers } = &mut *self.live_stages.lock();
        identifiers.find(identifier, by_key.keys().map(StageKey::words))
    }

    /// Registers a stage and returns it, or returns the stage of another thread that was faster.
    fn register(&self, code: Arc<TieredCode>) -> Arc<TieredCode> {
        if self.is_unshared.load(Ordering::Relaxed) {
            return code;
        }
        let mut live_stages = self.live_stages.lock();
        if let Some(first) = live_stages.get(code.key()) {
            drop(live_stages);
            return first;
        }
        live_stages.identifiers.insert(code.key().words());
        live_stages.by_key.insert(code.key().clone(), Arc::downgrade(&code));
        code
    }

    /// Starts the warm-up of the compiler ([`warm_up`]), because an object was created that only
    /// pipelines need. Does nothing if stages are likely to be stored ones.
    pub fn expect_stages(self: &Arc<Self>) {
        if !self.warm_up_token.is_cancelled() {
            self.warm_up();
        }
    }

    /// Notes that there is a cache with stages: a warm-up that has begun may end.
    pub fn expect_stored_stages(&self) {
        self.warm_up_token.cancel();
    }

    /// Starts the warm-up of the compiler on the pool, once in a process, while this thread goes
    /// on.
    fn warm_up(self: &Arc<Self>) {
        static DONE: AtomicBool = AtomicBool::new(false);
        if DONE.load(Ordering::Relaxed) || self.work_sharing().threads() < 2 || DONE.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(pool) = self.work_sharing().pool() {
            let (tier, token) = (self.policy.first(), self.warm_up_token.clone());
            self.spawn(pool, move || warm_up::warm_up(tier, &token));
        }
    }

    /// Schedules the generation of a stage's code.
    fn generate(self: &Arc<Self>, code: &Arc<TieredCode>) {
        self.warm_up_token.cancel();
        let full = self.jobs.lock().spawned >= WAITING_PER_THREAD * self.work_sharing().threads();
        let Some(pool) = (if full { None } else { self.work_sharing().pool() }) else {
            return code.generate();
        };
        let code = Arc::downgrade(code);
        self.spawn(pool, move || {
            if let Some(code) = code.upgrade() {
                code.generate();
            }
        });
    }

    fn improve_all(&self) {
        loop {
            let next = {
                let mut jobs = self.jobs.lock();
                let next = if self.token.is_cancelled() { None } else { jobs.queue.pop_front() };
                jobs.improving -= usize::from(next.is_none());
                next
            };
            let Some(next) = next else { return };
            let improved = TieredCode::improve(&next);
            note_compile_step();
            if let Err(message) = improved {
                let severity = vk::DebugUtilsMessageSeverityFlagsEXT::WARNING;
                let message = format!("a shader stays on the quick tier: {message}");
                self.messages.report(severity, "GRUS-internal", &message, None);
            }
        }
    }

    fn spawn(self: &Arc<Self>, pool: &ThreadPool, job: impl FnOnce() + Send + 'static) {
        self.jobs.lock().spawned += 1;
        let compiler = self.clone();
        pool.spawn(move || {
            // A panic would end the process. The stage's own state informs waiting threads of a
            // failure.
            let _ = catch_unwind(AssertUnwindSafe(job));
            note_compile_step();
            let mut jobs = compiler.jobs.lock();
            jobs.spawned -= 1;
            if jobs.spawned == 0 {
                compiler.finished.notify_all();
            }
        });
    }

    /// Waits for running jobs and lets no further one begin. The device's pipelines are destroyed,
    /// so jobs that have not begun have no stage.
    pub fn stop(&self) {
        let mut jobs = self.jobs.lock();
        self.token.cancel();
        while jobs.spawned != 0 {
            self.finished.wait(&mut jobs);
        }
        let threads = std::mem::take(&mut jobs.threads);
        drop(jobs);
        for thread in threads {
            // A thread that panicked has nothing left to report.
            let _ = thread.join();
        }
    }
}

impl StageOwner for Compiler {
    fn policy(&self) -> Policy {
        self.policy
    }

    fn cancel_token(&self) -> &CancelToken {
        &self.token
    }

    fn tier_up(self: Arc<Self>, code: Weak<TieredCode>) {
        let mut jobs = self.jobs.lock();
        if self.token.is_cancelled() {
            return;
        }
        jobs.queue.push_back(code);
        if jobs.improving >= (self.work_sharing().threads() / POOL_THREADS_PER_IMPROVER).max(1) {
            return;
        }
        let compiler = self.clone();
        let thread = base::thread::spawn("grus-compiler", base::thread::STACK, move || compiler.improve_all());
        // Without a thread the stage keeps the quick code until the next request.
        if let Ok(thread) = thread {
            jobs.improving += 1;
            jobs.threads.retain(|t| !t.is_finished());
            jobs.threads.push(thread);
        }
    }

    fn remove_dropped_stage(&self, key: &StageKey) {
        let by_key = &mut self.live_stages.lock().by_key;
        if by_key.get(key).is_some_and(|code| code.strong_count() == 0) {
            by_key.remove(key);
        }
    }
}

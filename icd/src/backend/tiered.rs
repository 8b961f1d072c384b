//! The lifecycle of a stage's code: its first compile, and its replacement by better tiers
//! ([`jit::tier`]).
//!
//! Creating a pipeline leaves a job here ([`jit::Prepared`]: the shader can no longer be refused,
//! only its code is missing). A thread of the pool does the job, or the first thread that needs the
//! code ([`TieredCode::ready`]). While there is a better tier, the code measures the time it runs.
//! When that exceeds the tier-up threshold ([`jit::tier::Row::patience`]), the compiler is asked
//! for better code, once, and installs it between two batches. Threads that run the old code
//! continue, because all code lives as long as the stage.
//!
//! A fragment stage whose code was replaced is hot. For such a stage there is code with epilogues
//! too (`base::epilogue`). A draw with the matching state requests it, the same threads make it,
//! and no draw waits for it but takes the general path meanwhile. It belongs to no better tier, but
//! is the last tier's code with another end, and is not stored.
//!
//! Invariant: every tier's code has the same facts (interface, scratch memory), so that calls of
//! one dispatch may use code of different tiers. The use of the memory is private to a call: in a
//! subgroup-size-agnostic stage, better code has more lanes in a chunk (`jit::emit::lane_count`).

use super::compile::{Key, StageRequest};
use crate::os::condvar::Condvar;
use base::abi::{BatchHeader, ShaderContext, StageFn};
use base::epilogue::Epilogue;
use base::shader::{CompiledStage, StageCode, StageFacts};
use jit::Prepared;
use jit::code::{CodeBlob, LoadedCode};
use jit::tier::{COUNT, ROWS, Tier};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

/// The tiers that are used, as `GRUS_TIER` selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The first tier at first, better ones when they pay.
    #[default]
    Auto,
    /// One tier only.
    Only(Tier),
}

impl Policy {
    /// Reads the policy from the environment.
    pub fn from_env() -> Policy {
        let name = std::env::var("GRUS_TIER").unwrap_or_default();
        Tier::named(&name).map_or(Policy::Auto, Policy::Only)
    }

    /// Returns the tier of the first code.
    pub fn first(self) -> Tier {
        match self {
            Policy::Auto => Tier::FIRST,
            Policy::Only(tier) => tier,
        }
    }

    /// Returns true if code is replaced when it has run long enough.
    pub fn improves(self) -> bool {
        self == Policy::Auto
    }
}

/// The owner of stages, which has them compiled and improved.
pub trait Owner: Send + Sync {
    /// Returns the tiers that are used.
    fn policy(&self) -> Policy;
    /// Has better code made.
    fn improve(self: Arc<Self>, code: Weak<TieredCode>);
    /// Forgets a stage that is being dropped.
    fn forget(&self, key: &Key);
}

/// A stage and its code.
pub struct TieredCode {
    this: Weak<TieredCode>,
    key: Key,
    request: StageRequest,
    /// All properties of the stage except its code.
    facts: StageFacts,
    owner: Weak<dyn Owner>,
    /// The best function so far; null until there is one.
    entry: AtomicPtr<()>,
    /// Largest number of bytes of stack that any of the functions so far takes.
    frame: AtomicU32,
    /// Bytes of scratch memory that a batch takes, equal for all functions.
    scratch: AtomicU32,
    /// Nanoseconds that the best code may still run before tier-up; 0 or less if the time is not
    /// measured.
    patience: AtomicI64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    phase: Phase,
    /// Code by tier.
    codes: [Option<LoadedCode>; COUNT],
    /// Code with the epilogues that were requested.
    epilogues: Vec<(Epilogue, WithEpilogue)>,
}

/// Largest number of epilogues of a stage; a program with more changes its state too often to
/// profit.
const EPILOGUES: usize = 4;

/// State of the code with an epilogue.
enum WithEpilogue {
    /// The code is to be made.
    Wanted,
    /// The code could not be made.
    Refused,
    /// The code, which lives as long as the stage.
    Ready(Arc<LoadedCode>),
}

impl State {
    /// Returns the best code so far.
    fn best(&self) -> Option<(Tier, &LoadedCode)> {
        ROWS.iter().zip(&self.codes).rev().find_map(|(row, code)| Some((row.tier, code.as_ref()?)))
    }
}

enum Phase {
    Waiting(Box<Prepared>),
    Running,
    Ready,
    Failed(String),
}

impl TieredCode {
    /// Makes a stage whose code is still to be compiled.
    pub fn new(owner: Weak<dyn Owner>, key: Key, request: StageRequest, prepared: Prepared) -> Arc<TieredCode> {
        let facts = prepared.facts().clone();
        Self::with_phase(owner, key, request, facts, Phase::Waiting(Box::new(prepared)))
    }

    /// Makes a stage from a pipeline cache's bytes; `None` unless they are intact and of this build
    /// and processor.
    pub fn stored(owner: Weak<dyn Owner>, key: Key, request: StageRequest, bytes: &[u8]) -> Option<Arc<TieredCode>> {
        let blob = jit::stored(bytes)?;
        let code = Self::with_phase(owner, key, request, blob.facts.clone(), Phase::Running);
        code.install(&blob).ok()?;
        Some(code)
    }

    fn with_phase(
        owner: Weak<dyn Owner>,
        key: Key,
        request: StageRequest,
        facts: StageFacts,
        phase: Phase,
    ) -> Arc<TieredCode> {
        Arc::new_cyclic(|this| TieredCode {
            this: this.clone(),
            key,
            request,
            facts,
            owner: owner.clone(),
            entry: AtomicPtr::default(),
            frame: AtomicU32::new(0),
            scratch: AtomicU32::new(0),
            patience: AtomicI64::new(0),
            state: Mutex::new(State { phase, codes: Default::default(), epilogues: Vec::new() }),
            changed: Condvar::new(),
        })
    }

    /// Returns the stage for the rasterizer.
    pub fn stage(self: &Arc<Self>) -> CompiledStage {
        CompiledStage { facts: self.facts.clone(), code: self.clone() }
    }

    /// Returns the request that the stage was compiled for.
    pub fn request(&self) -> &StageRequest {
        &self.request
    }

    /// Returns the tiers that make the stage's code.
    pub fn policy(&self) -> Policy {
        self.owner.upgrade().map_or(Policy::default(), |owner| owner.policy())
    }

    /// Returns the key that the stage was compiled for.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Ensures that there is code: waits for the thread that makes it, or makes it here if none has
    /// begun.
    ///
    /// # Errors
    /// A message of an internal error, because all other errors are found at creation.
    pub fn ready(&self) -> Result<(), String> {
        if !self.entry.load(Ordering::Acquire).is_null() {
            return Ok(());
        }
        let mut state = self.state.lock();
        loop {
            match &state.phase {
                Phase::Ready => return Ok(()),
                Phase::Failed(message) => return Err(message.clone()),
                Phase::Running => self.changed.wait(&mut state),
                Phase::Waiting(_) => {
                    let Phase::Waiting(prepared) = std::mem::replace(&mut state.phase, Phase::Running) else {
                        continue;
                    };
                    drop(state);
                    self.generate(*prepared);
                    state = self.state.lock();
                }
            }
        }
    }

    /// Compiles the stage if no thread has begun.
    pub fn generate_if_waiting(&self) {
        let mut state = self.state.lock();
        if !matches!(state.phase, Phase::Waiting(_)) {
            return;
        }
        if let Phase::Waiting(prepared) = std::mem::replace(&mut state.phase, Phase::Running) {
            drop(state);
            self.generate(*prepared);
        }
    }

    fn generate(&self, prepared: Prepared) {
        let tier = self.owner.upgrade().map_or(Tier::FIRST, |owner| owner.policy().first());
        let made = prepared.generate(tier).map_err(|e| e.to_string());
        if let Err(message) = made.and_then(|blob| self.install(&blob)) {
            self.state.lock().phase = Phase::Failed(message);
        }
        self.changed.notify_all();
    }

    /// Makes and installs better code, if there can be any, as long as it is `wanted`.
    ///
    /// # Errors
    /// A message of an internal error.
    pub fn upgrade(&self, wanted: &dyn Fn() -> bool) -> Result<(), String> {
        let Some(than) = self.tier() else { return Ok(()) };
        if than.better().next().is_none() {
            return self.make_epilogues(None, wanted);
        }
        let room = self.scratch.load(Ordering::Relaxed);
        let Some(blob) = self.request.improve(than, room, wanted).map_err(|e| e.to_string())? else { return Ok(()) };
        if blob.facts != self.facts || blob.scratch != room {
            return Err("the tiers disagree about a stage".into());
        }
        self.install(&blob)
    }

    /// Makes code with the requested epilogues, by the given tier or by the best.
    fn make_epilogues(&self, tier: Option<Tier>, wanted: &dyn Fn() -> bool) -> Result<(), String> {
        let next = || {
            let state = self.state.lock();
            state.epilogues.iter().find(|(_, code)| matches!(code, WithEpilogue::Wanted)).map(|(epilogue, _)| *epilogue)
        };
        while let Some(epilogue) = next() {
            let blob = self.request.with_epilogue(&epilogue, tier, wanted).map_err(|e| e.to_string());
            let code = blob.as_ref().ok().and_then(|blob| blob.as_ref()?.load());
            let code = code.map_or(WithEpilogue::Refused, |code| WithEpilogue::Ready(Arc::new(code)));
            let mut state = self.state.lock();
            if let Some((_, made)) = state.epilogues.iter_mut().find(|(other, _)| *other == epilogue) {
                *made = code;
            }
            drop(state);
            blob?;
        }
        Ok(())
    }

    /// Loads code and installs it.
    fn install(&self, blob: &CodeBlob) -> Result<(), String> {
        let code = blob.load().ok_or("no executable memory")?;
        let entry = code.entry() as *mut ();
        // These are stored before the entry, which publishes them.
        self.frame.fetch_max(code.frame(), Ordering::Relaxed);
        self.scratch.store(code.scratch(), Ordering::Relaxed);
        let improve = self.owner.upgrade().is_some_and(|owner| owner.policy().improves());
        let next = blob.tier.better().next().filter(|_| improve);
        let patience = next.map_or(0, |t| blob.code.len() as i64 * t.row().patience[usize::from(blob.facts.has_loops)]);
        let mut state = self.state.lock();
        self.patience.store(patience, Ordering::Relaxed);
        state.codes[blob.tier as usize] = Some(code);
        // The code stays in `state` as long as `self`, because it is never removed.
        self.entry.store(entry, Ordering::Release);
        state.phase = Phase::Ready;
        Ok(())
    }

    /// Returns the stored form of the best code so far; waits for the first. `None` means that
    /// there will be no code.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        self.ready().ok()?;
        let state = self.state.lock();
        let (_, code) = state.best()?;
        Some(CodeBlob::of(self.facts.clone(), code).to_bytes())
    }

    /// Returns the tier of the code that runs; `None` while there is no code.
    pub fn tier(&self) -> Option<Tier> {
        self.state.lock().best().map(|(tier, _)| tier)
    }

    /// Counts running time of code that may be improved.
    #[cold]
    fn ran(&self, ns: i64) {
        let left = self.patience.fetch_sub(ns, Ordering::Relaxed);
        if left > 0
            && left <= ns
            && let Some(owner) = self.owner.upgrade()
        {
            owner.improve(self.this.clone());
        }
    }
}

impl StageCode for TieredCode {
    unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader) {
        let entry = self.entry.load(Ordering::Acquire);
        if entry.is_null() {
            return;
        }
        // SAFETY: only `install` stores another value than null: a function of this type that lives
        // as long as `self`.
        let function = unsafe { core::mem::transmute::<*mut (), StageFn>(entry) };
        let frame = self.frame.load(Ordering::Relaxed);
        if self.patience.load(Ordering::Relaxed) <= 0 {
            // SAFETY: `context` and `batch` fulfil the requirements of `StageFn`, as this
            // function's contract demands; the frame is that of the largest function that `entry`
            // ever held.
            return unsafe { jit::code::call(function, frame, context, batch) };
        }
        let began = Instant::now();
        // SAFETY: `context` and `batch` fulfil the requirements of `StageFn`, as this function's
        // contract demands; the frame is that of the largest function that `entry` ever held.
        unsafe { jit::code::call(function, frame, context, batch) };
        self.ran(i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX).max(1));
    }

    fn scratch_bytes(&self) -> usize {
        self.scratch.load(Ordering::Relaxed) as usize
    }

    fn with_epilogue(&self, epilogue: &Epilogue) -> Option<Arc<dyn StageCode>> {
        let owner = self.owner.upgrade()?;
        let mut state = self.state.lock();
        if let Some((_, code)) = state.epilogues.iter().find(|(other, _)| other == epilogue) {
            let WithEpilogue::Ready(code) = code else { return None };
            return Some(code.clone());
        }
        // If only one tier is used, the calling thread makes all of its code.
        let only = match owner.policy() {
            Policy::Only(tier) => Some(tier),
            Policy::Auto => None,
        };
        let hot = state.best().is_some_and(|(tier, _)| tier != Tier::FIRST);
        if state.epilogues.len() >= EPILOGUES || !(hot || only.is_some()) {
            return None;
        }
        state.epilogues.push((*epilogue, WithEpilogue::Wanted));
        drop(state);
        let Some(tier) = only else {
            owner.improve(self.this.clone());
            return None;
        };
        // A failure is an internal error; the draw then takes the general path.
        let _ = self.make_epilogues(Some(tier), &|| true);
        let state = self.state.lock();
        let (_, WithEpilogue::Ready(code)) = state.epilogues.iter().find(|(other, _)| other == epilogue)? else {
            return None;
        };
        Some(code.clone())
    }
}

impl Drop for TieredCode {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.upgrade() {
            owner.forget(&self.key);
        }
    }
}

//! The lifecycle of a stage's code: its first compile, and its replacement by better tiers
//! ([`jit::tier`]).
//!
//! Creating a pipeline leaves a job here ([`jit::Prepared`]: the shader can no longer be refused,
//! only its code is missing). A thread of the pool does the job, or the first thread that needs the
//! code ([`TieredCode::ready`]). While there is a better tier, the code measures the time it runs.
//! When that exceeds the tier-up threshold ([`jit::tier::TierRow::tier_up_threshold`]), the
//! compiler is asked for better code, once, and installs it between two batches. Threads that run
//! the old code continue, because all code lives as long as the stage.
//!
//! A fragment stage whose code was replaced is hot. For such a stage there is code with epilogues
//! too (`base::epilogue`). A draw with the matching state requests it, the same threads make it,
//! and no draw waits for it but takes the general path meanwhile. It belongs to no better tier, but
//! is the last tier's code with another end, and is not stored.
//!
//! Invariant: every tier's code has the same facts (interface, scratch memory), so that calls of
//! one dispatch may use code of different tiers. The use of the memory is private to a call: in a
//! subgroup-size-agnostic stage, better code has more lanes in a chunk (`jit::emit::lane_count`).

use super::compile::{StageKey, StageRequest};
use crate::os::condvar::Condvar;
use base::abi::{BatchHeader, ShaderContext, StageFn};
use base::epilogue::Epilogue;
use base::shader::{CompiledStage, ShaderInfo, StageCode};
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
        Tier::from_name(&name).map_or(Policy::Auto, Policy::Only)
    }

    /// Returns the tier of the first code.
    pub fn first(self) -> Tier {
        match self {
            Policy::Auto => Tier::FIRST,
            Policy::Only(tier) => tier,
        }
    }

    /// Returns true if code is replaced when it has run long enough.
    pub fn tiers_up(self) -> bool {
        self == Policy::Auto
    }
}

/// The owner of stages, which has them compiled and improved.
pub trait StageOwner: Send + Sync {
    /// Returns the tiers that are used.
    fn policy(&self) -> Policy;
    /// Has better code made.
    fn tier_up(self: Arc<Self>, code: Weak<TieredCode>);
    /// Forgets a stage that is being dropped.
    fn remove_dropped_stage(&self, key: &StageKey);
}

/// A stage and its code.
pub struct TieredCode {
    this: Weak<TieredCode>,
    key: StageKey,
    request: StageRequest,
    /// All properties of the stage except its code.
    info: ShaderInfo,
    owner: Weak<dyn StageOwner>,
    /// The best function so far; null until there is one.
    entry: AtomicPtr<()>,
    /// Largest number of bytes of stack that any of the functions so far takes.
    frame: AtomicU32,
    /// Bytes of scratch memory that a batch takes, equal for all functions.
    scratch: AtomicU32,
    /// Nanoseconds that the best code may still run before tier-up; 0 or less if the time is not
    /// measured.
    tier_up_threshold: AtomicI64,
    state: Mutex<StageState>,
    changed: Condvar,
}

struct StageState {
    phase: Phase,
    /// Code by tier.
    codes: [Option<LoadedCode>; COUNT],
    /// Code with the epilogues that were requested.
    epilogues: Vec<(Epilogue, EpilogueState)>,
}

/// Largest number of epilogues of a stage; a program with more changes its state too often to
/// profit.
const EPILOGUES: usize = 4;

/// State of the code with an epilogue.
enum EpilogueState {
    /// The code is to be made.
    Requested,
    /// The code could not be made.
    Failed,
    /// The code, which lives as long as the stage.
    Ready(Arc<LoadedCode>),
}

impl StageState {
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
    pub fn new(
        owner: Weak<dyn StageOwner>,
        key: StageKey,
        request: StageRequest,
        prepared: Prepared,
    ) -> Arc<TieredCode> {
        let info = prepared.info().clone();
        Self::with_phase(owner, key, request, info, Phase::Waiting(Box::new(prepared)))
    }

    /// Makes a stage from stored code; `None` if there is no executable memory.
    pub fn stored(
        owner: Weak<dyn StageOwner>,
        key: StageKey,
        request: StageRequest,
        blob: &CodeBlob,
    ) -> Option<Arc<TieredCode>> {
        let code = Self::with_phase(owner, key, request, blob.info.clone(), Phase::Running);
        code.install(blob).ok()?;
        Some(code)
    }

    fn with_phase(
        owner: Weak<dyn StageOwner>,
        key: StageKey,
        request: StageRequest,
        info: ShaderInfo,
        phase: Phase,
    ) -> Arc<TieredCode> {
        Arc::new_cyclic(|this| TieredCode {
            this: this.clone(),
            key,
            request,
            info,
            owner: owner.clone(),
            entry: AtomicPtr::default(),
            frame: AtomicU32::new(0),
            scratch: AtomicU32::new(0),
            tier_up_threshold: AtomicI64::new(0),
            state: Mutex::new(StageState { phase, codes: Default::default(), epilogues: Vec::new() }),
            changed: Condvar::new(),
        })
    }

    /// Returns the stage for the rasterizer.
    pub fn stage(self: &Arc<Self>) -> CompiledStage {
        CompiledStage { info: self.info.clone(), code: self.clone() }
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
    pub fn key(&self) -> &StageKey {
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

    /// Makes and installs better code, if there can be any, as long as `is_needed` returns true.
    ///
    /// # Errors
    /// A message of an internal error.
    pub fn upgrade(&self, is_needed: &dyn Fn() -> bool) -> Result<(), String> {
        let Some(than) = self.tier() else { return Ok(()) };
        if than.better_tiers().next().is_none() {
            return self.make_epilogues(None, is_needed);
        }
        let scratch_limit = self.scratch.load(Ordering::Relaxed);
        let Some(blob) = self.request.tier_up(than, scratch_limit, is_needed).map_err(|e| e.to_string())? else {
            return Ok(());
        };
        if blob.info != self.info || blob.scratch != scratch_limit {
            return Err("the tiers disagree about a stage".into());
        }
        self.install(&blob)
    }

    /// Makes code with the requested epilogues, by the given tier or by the best.
    fn make_epilogues(&self, tier: Option<Tier>, is_needed: &dyn Fn() -> bool) -> Result<(), String> {
        let next = || {
            let state = self.state.lock();
            state
                .epilogues
                .iter()
                .find(|(_, code)| matches!(code, EpilogueState::Requested))
                .map(|(epilogue, _)| *epilogue)
        };
        while let Some(epilogue) = next() {
            let blob = self.request.with_epilogue(&epilogue, tier, is_needed).map_err(|e| e.to_string());
            let code = blob.as_ref().ok().and_then(|blob| blob.as_ref()?.load());
            let code = code.map_or(EpilogueState::Failed, |code| EpilogueState::Ready(Arc::new(code)));
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
        let tier_up = self.owner.upgrade().is_some_and(|owner| owner.policy().tiers_up());
        let next = blob.tier.better_tiers().next().filter(|_| tier_up);
        let tier_up_threshold =
            next.map_or(0, |t| blob.code.len() as i64 * t.row().tier_up_threshold[usize::from(blob.info.has_loops)]);
        let mut state = self.state.lock();
        self.tier_up_threshold.store(tier_up_threshold, Ordering::Relaxed);
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
        Some(CodeBlob::from_loaded(self.info.clone(), code).to_bytes())
    }

    /// Returns the stored form of the code that is made first, which is the same for all equal
    /// requests; waits for it. `None` means that there will be no code.
    pub fn first_bytes(&self) -> Option<Vec<u8>> {
        self.ready().ok()?;
        let first = self.policy().first();
        if let Some(code) = &self.state.lock().codes[first as usize] {
            return Some(CodeBlob::from_loaded(self.info.clone(), code).to_bytes());
        }
        // The stage came from stored code of another tier.
        let blob = self.request.prepare_again().and_then(|prepared| prepared.generate(first)).ok()?;
        Some(blob.to_bytes())
    }

    /// Returns the tier of the code that runs; `None` while there is no code.
    pub fn tier(&self) -> Option<Tier> {
        self.state.lock().best().map(|(tier, _)| tier)
    }

    /// Counts running time of code that may be improved.
    #[cold]
    fn add_running_time(&self, ns: i64) {
        let left = self.tier_up_threshold.fetch_sub(ns, Ordering::Relaxed);
        if left > 0
            && left <= ns
            && let Some(owner) = self.owner.upgrade()
        {
            owner.tier_up(self.this.clone());
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
        if self.tier_up_threshold.load(Ordering::Relaxed) <= 0 {
            // SAFETY: `context` and `batch` fulfil the requirements of `StageFn`, as this
            // function's contract demands; the frame is that of the largest function that `entry`
            // ever held.
            return unsafe { jit::code::call(function, frame, context, batch) };
        }
        let began = Instant::now();
        // SAFETY: `context` and `batch` fulfil the requirements of `StageFn`, as this function's
        // contract demands; the frame is that of the largest function that `entry` ever held.
        unsafe { jit::code::call(function, frame, context, batch) };
        self.add_running_time(i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX).max(1));
    }

    fn scratch_bytes(&self) -> usize {
        self.scratch.load(Ordering::Relaxed) as usize
    }

    fn with_epilogue(&self, epilogue: &Epilogue) -> Option<Arc<dyn StageCode>> {
        let owner = self.owner.upgrade()?;
        let mut state = self.state.lock();
        if let Some((_, code)) = state.epilogues.iter().find(|(other, _)| other == epilogue) {
            let EpilogueState::Ready(code) = code else { return None };
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
        state.epilogues.push((*epilogue, EpilogueState::Requested));
        drop(state);
        let Some(tier) = only else {
            owner.tier_up(self.this.clone());
            return None;
        };
        // A failure is an internal error; the draw then takes the general path.
        let _ = self.make_epilogues(Some(tier), &|| true);
        let state = self.state.lock();
        let (_, EpilogueState::Ready(code)) = state.epilogues.iter().find(|(other, _)| other == epilogue)? else {
            return None;
        };
        Some(code.clone())
    }
}

impl Drop for TieredCode {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.upgrade() {
            owner.remove_dropped_stage(&self.key);
        }
    }
}

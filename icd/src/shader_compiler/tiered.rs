//! A shader and its code. [`ShaderState`] has the states of its life; this module makes the
//! transitions, publishes the code to the threads that run it, and measures how long it runs.
//!
//! Creating a pipeline leaves a prepared shader here: it can no longer be refused, only its code is
//! missing. A thread of the pool makes the code, or the first thread that needs it
//! ([`TieredCode::ready`]). While there is a better tier, the code measures the time it runs. When
//! that exceeds the tier-up threshold ([`jit::tier::TierRow::tier_up_threshold`]), the compiler is
//! asked for better code, once, and installs it between two batches. Threads that run the old code
//! continue, because all code lives as long as the shader.
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
use super::shader_state::{EpilogueAnswer, Improvement, ShaderState};
use crate::os::condvar::Condvar;
use base::abi::{BatchHeader, ShaderContext, StageFn};
use base::epilogue::Epilogue;
use base::shader::{CompiledStage, ShaderInfo, StageCode};
use jit::cancel::CancelToken;
use jit::code::{CodeBlob, LoadedCode};
use jit::tier::Tier;
use jit::{Prepared, PreparedIr};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};
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

    /// Returns the only tier that is used.
    pub fn only(self) -> Option<Tier> {
        match self {
            Policy::Auto => None,
            Policy::Only(tier) => Some(tier),
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
    /// Returns the token that is cancelled when no stage is compiled any more.
    fn cancel_token(&self) -> &CancelToken;
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
    published: PublishedCode,
    state: Mutex<ShaderState>,
    changed: Condvar,
    /// Token of the threads that make better code, cancelled when the stage ends. The first of
    /// these threads creates it.
    token: OnceLock<CancelToken>,
}

/// The part of the state that calls read without a lock.
#[derive(Default)]
struct PublishedCode {
    /// The function that runs; null until there is one.
    entry: AtomicPtr<()>,
    /// Largest number of bytes of stack that any of the functions so far takes.
    frame: AtomicU32,
    /// Bytes of scratch memory that a batch takes, equal for all functions.
    scratch: AtomicU32,
    /// Nanoseconds that the code may still run before tier-up; 0 or less if the time is not
    /// measured.
    tier_up_threshold: AtomicI64,
}

impl PublishedCode {
    /// Publishes code, which lives as long as the stage.
    fn publish(&self, code: &LoadedCode, tier_up_threshold: i64) {
        // These are stored before the entry, which publishes them.
        self.frame.fetch_max(code.frame(), Ordering::Relaxed);
        self.scratch.store(code.scratch(), Ordering::Relaxed);
        self.tier_up_threshold.store(tier_up_threshold, Ordering::Relaxed);
        self.entry.store(code.entry() as *mut (), Ordering::Release);
    }
}

/// Returns the running time in nanoseconds after which better code is made for this code, or `None`
/// if nothing replaces it.
fn tier_up_threshold(blob: &CodeBlob, policy: Policy) -> Option<i64> {
    let next = if policy.tiers_up() { blob.tier.better_tiers().next()? } else { return None };
    Some(blob.code.len() as i64 * next.row().tier_up_threshold[usize::from(blob.info.has_loops)])
}

/// The duty of the thread that makes the first code: when it is dropped without code, after a panic
/// too, the stage has failed. Waiting threads are woken in any case.
struct Generation<'a>(&'a TieredCode);

impl Drop for Generation<'_> {
    fn drop(&mut self) {
        self.0.state.lock().fail("panic while making code".into());
        self.0.changed.notify_all();
    }
}

impl TieredCode {
    /// Makes a stage whose code is still to be compiled.
    pub fn new(
        owner: &Arc<dyn StageOwner>,
        key: StageKey,
        request: StageRequest,
        prepared: Prepared,
    ) -> Arc<TieredCode> {
        let info = prepared.info().clone();
        let state = ShaderState::Prepared(Box::new(prepared));
        Self::with_state(owner, key, request, info, state, PublishedCode::default())
    }

    /// Makes a stage from stored code; `None` if there is no executable memory.
    pub fn stored(
        owner: &Arc<dyn StageOwner>,
        key: StageKey,
        request: StageRequest,
        blob: &CodeBlob,
    ) -> Option<Arc<TieredCode>> {
        let (code, tier_up_threshold) = (blob.load()?, tier_up_threshold(blob, owner.policy()));
        let published = PublishedCode::default();
        published.publish(&code, tier_up_threshold.unwrap_or(0));
        let state = ShaderState::with_code(code, tier_up_threshold.is_none());
        Some(Self::with_state(owner, key, request, blob.info.clone(), state, published))
    }

    #[inline]
    fn with_state(
        owner: &Arc<dyn StageOwner>,
        key: StageKey,
        request: StageRequest,
        info: ShaderInfo,
        state: ShaderState,
        published: PublishedCode,
    ) -> Arc<TieredCode> {
        Arc::new_cyclic(|this| TieredCode {
            this: this.clone(),
            key,
            request,
            info,
            owner: Arc::downgrade(owner),
            published,
            state: Mutex::new(state),
            changed: Condvar::new(),
            token: OnceLock::new(),
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
        if !self.published.entry.load(Ordering::Acquire).is_null() {
            return Ok(());
        }
        let mut state = self.state.lock();
        loop {
            match &*state {
                ShaderState::Quick(_) | ShaderState::Best(_) => return Ok(()),
                ShaderState::Failed(message) => return Err(message.clone()),
                ShaderState::Generating => self.changed.wait(&mut state),
                ShaderState::Prepared(_) => MutexGuard::unlocked(&mut state, || self.generate()),
            }
        }
    }

    /// Makes the first code, unless a thread has begun to do so.
    pub fn generate(&self) {
        let Some(prepared) = self.state.lock().begin() else { return };
        let _duty = Generation(self);
        let made = prepared.generate(self.policy().first()).map_err(|e| e.to_string());
        if let Err(message) = made.and_then(|blob| self.install(&blob)) {
            self.state.lock().fail(message);
        }
    }

    /// Makes the code that remains to be made of a stage that has code: better code, or code with
    /// the requested epilogues. All of it starts from one prepared form. The stage is not kept
    /// alive: its end cancels the work, which then ends at the next step.
    ///
    /// # Errors
    /// A message of an internal error; the stage keeps the code that it has.
    pub fn improve(this: &Weak<TieredCode>) -> Result<(), String> {
        let Some(code) = this.upgrade() else { return Ok(()) };
        let Some(owner) = code.owner.upgrade() else { return Ok(()) };
        let Some(first) = code.state.lock().next_improvement() else { return Ok(()) };
        let token = code.token.get_or_init(|| owner.cancel_token().child()).clone();
        let (request, only) = (code.request.clone(), owner.policy().only());
        drop((code, owner));
        let improve = |ir: &PreparedIr| {
            let (mut next, mut result) = (Some(first), Ok(()));
            while let Some(improvement) = next {
                let made = match improvement {
                    Improvement::TierUp(than, scratch_limit) => ir.tier_up(than, scratch_limit, &token),
                    Improvement::Epilogue(epilogue) => ir.with_epilogue(&epilogue, only, &token),
                };
                let Some(code) = this.upgrade() else { break };
                let (installed, goes_on) = code.install_improvement(improvement, made.map_err(|e| e.to_string()));
                result = result.and(installed);
                next = if goes_on { code.state.lock().next_improvement() } else { None };
            }
            Ok(result)
        };
        request.with_prepared_ir(improve).map_err(|e| e.to_string())?
    }

    /// Installs the result of an improvement. Returns the failure that is to be reported, and
    /// whether more can be made of the stage.
    fn install_improvement(
        &self,
        improvement: Improvement,
        made: Result<Option<CodeBlob>, String>,
    ) -> (Result<(), String>, bool) {
        match improvement {
            Improvement::TierUp(_, scratch_limit) => {
                let installed = made.and_then(|blob| {
                    let Some(blob) = blob else { return Ok(false) };
                    if blob.info != self.info || blob.scratch != scratch_limit {
                        return Err("the tiers disagree about a stage".into());
                    }
                    self.install(&blob).map(|()| true)
                });
                // No better tier accepts the stage if there is no code.
                let goes_on = installed == Ok(true);
                (installed.map(drop), goes_on)
            }
            Improvement::Epilogue(epilogue) => {
                let code = made.as_ref().ok().and_then(|blob| blob.as_ref()?.load());
                self.state.lock().install_epilogue(&epilogue, code);
                (made.map(drop), true)
            }
        }
    }

    /// Loads code, installs and publishes it.
    fn install(&self, blob: &CodeBlob) -> Result<(), String> {
        let code = blob.load().ok_or("no executable memory")?;
        let tier_up_threshold = tier_up_threshold(blob, self.policy());
        if let Some(code) = self.state.lock().install(code, tier_up_threshold.is_none()) {
            self.published.publish(code, tier_up_threshold.unwrap_or(0));
        }
        Ok(())
    }

    /// Returns the stored form of the code that runs; waits for the first. `None` means that there
    /// will be no code.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        self.ready().ok()?;
        let state = self.state.lock();
        Some(CodeBlob::from_loaded(self.info.clone(), state.code()?).to_bytes())
    }

    /// Returns the stored form of the code that is made first, which is the same for all equal
    /// requests; waits for it. `None` means that there will be no code.
    pub fn first_bytes(&self) -> Option<Vec<u8>> {
        self.ready().ok()?;
        let first = self.policy().first();
        if let Some(code) = self.state.lock().code_of(first) {
            return Some(CodeBlob::from_loaded(self.info.clone(), code).to_bytes());
        }
        // The stage came from stored code of another tier.
        let blob = self.request.with_prepared_ir(|ir| ir.generate(first)).ok()?;
        Some(blob.to_bytes())
    }

    /// Returns the tier of the code that runs; `None` while there is no code.
    #[cfg(test)]
    pub fn tier(&self) -> Option<Tier> {
        self.state.lock().code().map(LoadedCode::tier)
    }

    /// Counts running time of code that may be improved.
    #[cold]
    fn add_running_time(&self, ns: i64) {
        let left = self.published.tier_up_threshold.fetch_sub(ns, Ordering::Relaxed);
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
        let entry = self.published.entry.load(Ordering::Acquire);
        if entry.is_null() {
            return;
        }
        // SAFETY: only `PublishedCode::publish` stores another value than null: a function of this
        // type that lives as long as `self`, because a state never loses code.
        let function = unsafe { core::mem::transmute::<*mut (), StageFn>(entry) };
        let frame = self.published.frame.load(Ordering::Relaxed);
        if self.published.tier_up_threshold.load(Ordering::Relaxed) <= 0 {
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
        self.published.scratch.load(Ordering::Relaxed) as usize
    }

    fn with_epilogue(&self, epilogue: &Epilogue) -> Option<Arc<dyn StageCode>> {
        let owner = self.owner.upgrade()?;
        let answer = self.state.lock().epilogue(epilogue);
        match answer {
            EpilogueAnswer::Ready(code) => return Some(code),
            EpilogueAnswer::Unavailable => return None,
            EpilogueAnswer::Requested => {}
        }
        // If only one tier is used, the calling thread makes all of its code.
        if owner.policy().only().is_none() {
            owner.tier_up(self.this.clone());
            return None;
        }
        // A failure is an internal error; the draw then takes the general path.
        let _ = TieredCode::improve(&self.this);
        match self.state.lock().epilogue(epilogue) {
            EpilogueAnswer::Ready(code) => Some(code),
            EpilogueAnswer::Requested | EpilogueAnswer::Unavailable => None,
        }
    }
}

impl Drop for TieredCode {
    fn drop(&mut self) {
        if let Some(token) = self.token.get() {
            token.cancel();
        }
        if let Some(owner) = self.owner.upgrade() {
            owner.remove_dropped_stage(&self.key);
        }
    }
}

//! The code of a stage in its life: being made, and made again by better tiers ([`jit::tier`]).
//!
//! Creating a pipeline leaves a job here ([`jit::Prepared`]: nothing can be wrong with the shader any more, only code is missing).
//! A thread of the pool does it, or whoever needs the code first: [`TieredCode::ready`]. While there is a better tier the code measures
//! the time it runs; when that is so long that better code pays ([`jit::tier::Row::patience`]), the compiler is asked for it,
//! once, and puts it in place between two batches. Who runs the old code meanwhile goes on: all of it stays until the stage goes.
//!
//! A fragment stage whose code was made again is hot. Of such a one there is code with epilogues too (`base::epilogue`), each asked for by a draw with that state, made by the same threads and never
//! waited for: the draw goes the general way meanwhile. It is no better tier's, but the last one's with another end, and is not stored.
//!
//! Invariant: every tier's code has the same facts (interface, scratch memory), so that the calls of one dispatch may take turns. How the memory is used is a call's
//! own affair: where nobody can tell, better code has more lanes to a chunk (`jit::emit::unseen`).

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

/// `GRUS_TIER`: which tiers are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The first one first, better ones when they pay.
    #[default]
    Auto,
    /// One only.
    Only(Tier),
}

impl Policy {
    /// From the environment.
    pub fn from_env() -> Policy {
        let name = std::env::var("GRUS_TIER").unwrap_or_default();
        Tier::named(&name).map_or(Policy::Auto, Policy::Only)
    }

    /// The tier of the first code.
    pub fn first(self) -> Tier {
        match self {
            Policy::Auto => Tier::FIRST,
            Policy::Only(tier) => tier,
        }
    }

    /// Code is replaced when it runs long enough.
    pub fn improves(self) -> bool {
        self == Policy::Auto
    }
}

/// Who has stages made and improved, as a stage sees it.
pub trait Owner: Send + Sync {
    /// Which tiers are used.
    fn policy(&self) -> Policy;
    /// Has better code made.
    fn improve(self: Arc<Self>, code: Weak<TieredCode>);
    /// A stage is gone.
    fn forget(&self, key: &Key);
}

/// A stage and its code.
pub struct TieredCode {
    this: Weak<TieredCode>,
    key: Key,
    request: StageRequest,
    /// Everything about the stage but code.
    facts: StageFacts,
    owner: Weak<dyn Owner>,
    /// The best function so far; null until there is one.
    entry: AtomicPtr<()>,
    /// Bytes of stack that any of the functions so far takes.
    frame: AtomicU32,
    /// Bytes of scratch memory that a batch takes; the same of all of them.
    scratch: AtomicU32,
    /// Nanoseconds that the best code so far may still run; not above 0: nobody wants to know.
    patience: AtomicI64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    phase: Phase,
    /// By tier.
    codes: [Option<LoadedCode>; COUNT],
    /// Those that were asked for.
    epilogues: Vec<(Epilogue, WithEpilogue)>,
}

/// Most epilogues of a stage: who has more changes them all the time.
const EPILOGUES: usize = 4;

/// Code with an epilogue.
enum WithEpilogue {
    /// To be made.
    Wanted,
    /// There is none.
    Refused,
    /// It is there as long as the stage.
    Ready(Arc<LoadedCode>),
}

impl State {
    /// The best code so far.
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
    /// A stage whose code is still to be made.
    pub fn new(owner: Weak<dyn Owner>, key: Key, request: StageRequest, prepared: Prepared) -> Arc<TieredCode> {
        let facts = prepared.facts().clone();
        Self::with_phase(owner, key, request, facts, Phase::Waiting(Box::new(prepared)))
    }

    /// A stage from a pipeline cache's bytes; `None` unless they are intact, of this build and machine.
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

    /// The stage as the rasterizer wants it.
    pub fn stage(self: &Arc<Self>) -> CompiledStage {
        CompiledStage { facts: self.facts.clone(), code: self.clone() }
    }

    /// What was asked for.
    pub fn request(&self) -> &StageRequest {
        &self.request
    }

    /// Which tiers make its code.
    pub fn policy(&self) -> Policy {
        self.owner.upgrade().map_or(Policy::default(), |owner| owner.policy())
    }

    /// The key it was compiled for.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Makes sure that there is code: waits for who makes it, or makes it here when nobody has begun.
    ///
    /// # Errors
    /// A message; an internal error, as everything else was found at creation.
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

    /// Does the job, if it is still to be done.
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

    /// Better code, if there can be any, as long as it is `wanted`.
    ///
    /// # Errors
    /// A message; internal errors.
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

    /// Code with the epilogues that are wanted, by one tier or the best.
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

    /// Loads code and puts it in place.
    fn install(&self, blob: &CodeBlob) -> Result<(), String> {
        let code = blob.load().ok_or("no executable memory")?;
        let entry = code.entry() as *mut ();
        // Before the entry, which publishes it.
        self.frame.fetch_max(code.frame(), Ordering::Relaxed);
        self.scratch.store(code.scratch(), Ordering::Relaxed);
        let improve = self.owner.upgrade().is_some_and(|owner| owner.policy().improves());
        let next = blob.tier.better().next().filter(|_| improve);
        let patience = next.map_or(0, |t| blob.code.len() as i64 * t.row().patience[usize::from(blob.facts.has_loops)]);
        let mut state = self.state.lock();
        self.patience.store(patience, Ordering::Relaxed);
        state.codes[blob.tier as usize] = Some(code);
        // The code stays in `state` as long as `self`; nothing takes it out again.
        self.entry.store(entry, Ordering::Release);
        state.phase = Phase::Ready;
        Ok(())
    }

    /// The stored form of the best code so far; waits for the first. `None` when there will be none.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        self.ready().ok()?;
        let state = self.state.lock();
        let (_, code) = state.best()?;
        Some(CodeBlob::of(self.facts.clone(), code).to_bytes())
    }

    /// Which tier runs; `None` while there is no code.
    pub fn tier(&self) -> Option<Tier> {
        self.state.lock().best().map(|(tier, _)| tier)
    }

    /// Counts time that code ran to which there may be better.
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
        // SAFETY: only `install` stores another value than null: a function of this type that lives as long as `self`.
        let function = unsafe { core::mem::transmute::<*mut (), StageFn>(entry) };
        let frame = self.frame.load(Ordering::Relaxed);
        if self.patience.load(Ordering::Relaxed) <= 0 {
            // SAFETY: the caller's promise; the frame is that of the largest function that `entry` ever held.
            return unsafe { jit::code::call(function, frame, context, batch) };
        }
        let began = Instant::now();
        // SAFETY: as above.
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
        // With one tier alone, all of its code is made by who wants it.
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
        // What is missing is an internal error, which goes the general way.
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

//! The states of a shader, which is a stage of a module with its specialization and layout, and the
//! transitions between them.
//!
//! | state | the shader has | next | made by |
//! |---|---|---|---|
//! | `Prepared` | IR or LIR that nothing can refuse | `Generating` | a pool thread or a draw |
//! | `Generating` | no code yet | `Quick`, `Best`, `Failed` | the same thread |
//! | `Quick` | code that better code may replace | `Best` | a thread of the compiler |
//! | `Best` | code that nothing replaces, epilogues | | a thread of the compiler |
//! | `Failed` | the message of an internal error | | |
//!
//! A module is parsed ([`super::recent_modules`]) before there is a shader of it, and a shader
//! begins as `Prepared`, because its creation reports the errors of the application. With stored
//! code it begins as `Quick`, or as `Best` if the code is of a better tier. If only one tier is
//! used, all code is `Best`.
//!
//! Invariants:
//! - [`TieredCode`](super::tiered::TieredCode) owns the state. What it publishes for calls without
//!   a lock (the entry of the code and its sizes) changes only together with the state.
//! - [`ShaderState::begin`] gives the prepared form to one thread. That thread leaves `Generating`
//!   in any case, after a panic too, so that waiting threads end.
//! - A thread that needs code makes it itself if no other thread has begun. It never waits for a
//!   job that has not begun.
//! - Code is never removed before the shader ends: threads may run it.
//! - A failure is reported once: `Failed` by the draw or dispatch that needs the code, which loses
//!   the device; a failure to replace code by the thread that tried it, and the shader keeps its
//!   state.
//! - The end of a shader cancels the token of its compiles
//!   ([`CancelToken`](jit::cancel::CancelToken)). A thread that makes better code holds no
//!   reference to the shader and reads the token between two steps.

#![forbid(unsafe_code)]

use base::epilogue::Epilogue;
use jit::Prepared;
use jit::code::LoadedCode;
use jit::tier::Tier;
use std::sync::Arc;

/// State of a shader.
pub enum ShaderState {
    /// No thread makes the code yet.
    Prepared(Box<Prepared>),
    /// A thread makes the first code.
    Generating,
    /// Code of the first tier runs, and better code may replace it.
    Quick(LoadedCode),
    /// Code runs that is not replaced. The box keeps the other states small, which most shaders
    /// never leave.
    Best(Box<BestCode>),
    /// There is no code, because of an internal error with this message.
    Failed(String),
}

/// The last code of a shader.
pub struct BestCode {
    code: LoadedCode,
    /// The code that ran before, which threads may still run.
    replaced: Option<LoadedCode>,
    /// Code with the epilogues that were requested.
    epilogues: Vec<(Epilogue, EpilogueState)>,
}

/// Largest number of epilogues of a shader; a program with more changes its state too often to
/// profit.
const EPILOGUES: usize = 4;

/// State of the code with an epilogue.
enum EpilogueState {
    /// The code is to be made.
    Requested,
    /// A thread makes the code.
    Generating,
    /// The code could not be made.
    Failed,
    /// The code, which lives as long as the shader.
    Ready(Arc<LoadedCode>),
}

/// Code that remains to be made of a shader that has code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Improvement {
    /// Code that replaces the code of this tier, for this number of bytes of scratch memory.
    TierUp(Tier, u32),
    /// Code with this epilogue.
    Epilogue(Epilogue),
}

/// Answer to a request for code with an epilogue.
pub enum EpilogueAnswer {
    /// The code.
    Ready(Arc<LoadedCode>),
    /// There is no code yet, and the caller has to see that it is made.
    Requested,
    /// There is no code; another thread makes it, or none will.
    Unavailable,
}

impl ShaderState {
    /// Returns the state of a shader whose first code is this. `is_last` says that nothing replaces
    /// the code.
    pub fn with_code(code: LoadedCode, is_last: bool) -> ShaderState {
        if is_last {
            ShaderState::Best(Box::new(BestCode { code, replaced: None, epilogues: Vec::new() }))
        } else {
            ShaderState::Quick(code)
        }
    }

    /// Takes the prepared form; the caller makes the code of it. Returns it to one caller only.
    pub fn begin(&mut self) -> Option<Box<Prepared>> {
        match std::mem::replace(self, ShaderState::Generating) {
            ShaderState::Prepared(prepared) => Some(prepared),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Adds code: the first, or code that replaces it. `is_last` says that nothing replaces the
    /// code. Returns the code that runs from now on, or `None` if the shader has its last code
    /// already.
    pub fn install(&mut self, code: LoadedCode, is_last: bool) -> Option<&LoadedCode> {
        if matches!(self, ShaderState::Best(_)) {
            return None;
        }
        *self = match std::mem::replace(self, ShaderState::Generating) {
            ShaderState::Quick(quick) => {
                ShaderState::Best(Box::new(BestCode { code, replaced: Some(quick), epilogues: Vec::new() }))
            }
            _ => ShaderState::with_code(code, is_last),
        };
        self.code()
    }

    /// Ends the generation of the first code without code. Changes no other state.
    pub fn fail(&mut self, message: String) {
        if matches!(self, ShaderState::Generating) {
            *self = ShaderState::Failed(message);
        }
    }

    /// Returns the code that runs.
    pub fn code(&self) -> Option<&LoadedCode> {
        match self {
            ShaderState::Quick(code) => Some(code),
            ShaderState::Best(best) => Some(&best.code),
            ShaderState::Prepared(_) | ShaderState::Generating | ShaderState::Failed(_) => None,
        }
    }

    /// Returns the code of a tier: the code that runs, or the code that it has replaced.
    pub fn code_of(&self, tier: Tier) -> Option<&LoadedCode> {
        let replaced = match self {
            ShaderState::Best(best) => best.replaced.as_ref(),
            _ => None,
        };
        [self.code(), replaced].into_iter().flatten().find(|code| code.tier() == tier)
    }

    /// Returns what remains to be made; the caller makes it. Each epilogue is returned once.
    pub fn next_improvement(&mut self) -> Option<Improvement> {
        match self {
            ShaderState::Quick(code) => Some(Improvement::TierUp(code.tier(), code.scratch())),
            ShaderState::Best(best) => {
                let requested = |(_, state): &&mut (Epilogue, EpilogueState)| matches!(state, EpilogueState::Requested);
                let (epilogue, state) = best.epilogues.iter_mut().find(requested)?;
                *state = EpilogueState::Generating;
                Some(Improvement::Epilogue(*epilogue))
            }
            ShaderState::Prepared(_) | ShaderState::Generating | ShaderState::Failed(_) => None,
        }
    }

    /// Returns the code with an epilogue, or notes the request. Only `Best` code has epilogues.
    pub fn epilogue(&mut self, epilogue: &Epilogue) -> EpilogueAnswer {
        let ShaderState::Best(best) = self else { return EpilogueAnswer::Unavailable };
        match best.epilogues.iter().find(|(other, _)| other == epilogue) {
            Some((_, EpilogueState::Ready(code))) => EpilogueAnswer::Ready(code.clone()),
            None if best.epilogues.len() < EPILOGUES => {
                best.epilogues.push((*epilogue, EpilogueState::Requested));
                EpilogueAnswer::Requested
            }
            _ => EpilogueAnswer::Unavailable,
        }
    }

    /// Ends the generation of code with an epilogue; `None` means that there is none.
    pub fn install_epilogue(&mut self, epilogue: &Epilogue, code: Option<LoadedCode>) {
        if let ShaderState::Best(best) = self
            && let Some((_, state)) = best.epilogues.iter_mut().find(|(other, _)| other == epilogue)
        {
            *state = code.map_or(EpilogueState::Failed, |code| EpilogueState::Ready(Arc::new(code)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compile::StageRequest;
    use super::*;
    use base::shader::Stage;
    use jit::spirv::{Module, Specialization};

    fn prepared() -> Prepared {
        let (words, _) = include_bytes!("../../tests/data/triangle.vert.spv").as_chunks();
        let request = StageRequest {
            words: words.iter().map(|word| u32::from_le_bytes(*word)).collect(),
            stage: Stage::Vertex,
            entry: "main".into(),
            specialization: Specialization::default(),
            layout: Arc::default(),
            is_validated: false,
        };
        let module = Module::parse_shared(request.words.clone()).expect("a module");
        request.prepare(&module).expect("a stage")
    }

    fn code(tier: Tier) -> LoadedCode {
        prepared().generate(tier).expect("code").load().expect("executable memory")
    }

    fn epilogue(number: u16) -> Epilogue {
        Epilogue { swap: false, blend: None, slots: [Some(number), None, None, None] }
    }

    #[test]
    fn one_thread_gets_the_prepared_form_and_ends_with_code_or_a_failure() {
        let mut state = ShaderState::Prepared(Box::new(prepared()));
        assert!(state.begin().is_some() && state.begin().is_none());
        state.fail("first".into());
        state.fail("second".into());
        assert!(matches!(&state, ShaderState::Failed(message) if message == "first"));
        assert!(state.begin().is_none() && state.next_improvement().is_none() && state.code().is_none());
    }

    #[test]
    fn code_is_replaced_once_and_never_removed() {
        let mut state = ShaderState::Generating;
        assert!(state.install(code(Tier::Quick), false).is_some());
        state.fail("too late".into());
        let scratch = state.code().map(LoadedCode::scratch).expect("code");
        assert_eq!(state.next_improvement(), Some(Improvement::TierUp(Tier::Quick, scratch)));
        assert!(matches!(state.epilogue(&epilogue(0)), EpilogueAnswer::Unavailable), "it is not hot");
        assert_eq!(state.install(code(Tier::Full), true).map(LoadedCode::tier), Some(Tier::Full));
        assert!(state.install(code(Tier::Full), true).is_none(), "the last code is installed");
        assert!(state.code_of(Tier::Quick).is_some() && state.code_of(Tier::Full).is_some());
        assert!(state.code_of(Tier::Wide).is_none() && state.next_improvement().is_none());
    }

    #[test]
    fn each_epilogue_is_made_once() {
        let mut state = ShaderState::Generating;
        state.install(code(Tier::Full), true);
        for number in 0..EPILOGUES as u16 {
            assert!(matches!(state.epilogue(&epilogue(number)), EpilogueAnswer::Requested));
            assert!(matches!(state.epilogue(&epilogue(number)), EpilogueAnswer::Unavailable), "it is not made");
        }
        assert!(matches!(state.epilogue(&epilogue(EPILOGUES as u16)), EpilogueAnswer::Unavailable), "too many");
        for number in 0..EPILOGUES as u16 {
            assert_eq!(state.next_improvement(), Some(Improvement::Epilogue(epilogue(number))));
        }
        assert_eq!(state.next_improvement(), None);
        state.install_epilogue(&epilogue(1), Some(code(Tier::Full)));
        state.install_epilogue(&epilogue(2), None);
        let ready = |number| matches!(state.epilogue(&epilogue(number)), EpilogueAnswer::Ready(_));
        assert_eq!([0, 1, 2, 3].map(ready), [false, true, false, false]);
    }
}

//! The wide back end, which makes machine code from LIR with vectors of 256 bits, for processors
//! with AVX2 and the extensions of its generation. With AVX-512 ([`VectorLevel`]) it uses vectors
//! of 512 bits, 32 vector registers and mask registers.
//!
//! * `isel` selects instructions: data with virtual registers ([`inst`]), most of them rows of a
//!   [`table`].
//! * `alloc` runs regalloc2, which finds registers and the moves between them. `frame` lays out the
//!   stack for spilled registers and for those that live across rare calls.
//! * `encode` makes the bytes of instructions; `assemble` joins them, with the constants (`pool`)
//!   behind them.
//!
//! A function whose compilation would take too long is refused as a whole ([`RegallocCost`]), as is
//! every function on an unsupported processor; another tier then compiles it. This module has no
//! unsafe code, and relies only on the fact that [`lir::verify`] accepts a function.

#![forbid(unsafe_code)]

mod alloc;
mod assemble;
mod encode;
mod frame;
mod inst;
mod isel;
mod pool;
mod table;

use crate::backend::{MachineCode, Text, Texts, guarded};
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::host;
use crate::lir;
use crate::regalloc_cost::RegallocCost;

/// A set of processor features that generated code relies on; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VectorLevel {
    /// AVX2 and the extensions of its generation: x86-64-v3.
    Avx2,
    /// AVX-512: x86-64-v4.
    Avx512,
}

impl VectorLevel {
    /// All levels in ascending order.
    pub const ALL: [VectorLevel; 2] = [VectorLevel::Avx2, VectorLevel::Avx512];

    /// Returns the highest level that this processor supports.
    pub fn for_host() -> Option<VectorLevel> {
        let mut levels = VectorLevel::ALL.into_iter().zip(FEATURES);
        let has = |features: &[&str]| features.iter().all(|name| host::has(name));
        let count = levels.by_ref().take_while(|(_, features)| has(features)).count();
        VectorLevel::ALL[..count].last().copied()
    }
}

/// Settings of code generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Registers are allocated carefully, and optional fast-path blocks are made; otherwise
    /// registers are allocated in one pass without those blocks.
    pub optimise: bool,
    /// Upper bound of the cost. Allocation in one pass takes time in proportion to the function.
    pub limit: Option<RegallocCost>,
    /// Highest level that may be used. Allocation in one pass cannot restrict operands to the lower
    /// registers, which some instructions of AVX-512 require.
    pub max_level: VectorLevel,
}

/// Features that each level requires beside those of the levels before it.
const FEATURES: [&[&str]; 2] = [
    &["has_avx2", "has_fma", "has_bmi1", "has_bmi2", "has_lzcnt", "has_popcnt", "has_f16c"],
    &["has_avx512f", "has_avx512cd", "has_avx512dq", "has_avx512bw", "has_avx512vl"],
];

/// Returns true if this processor can run the code.
pub fn is_available() -> bool {
    VectorLevel::for_host().is_some()
}

/// Returns true if there are vectors of 512 bits.
pub fn has_large_vectors() -> bool {
    VectorLevel::for_host() == Some(VectorLevel::Avx512)
}

/// Makes the code of a function. Returns `None` if the processor cannot run it, if it would take
/// too long ([`Settings::limit`]), or if the token is cancelled.
///
/// # Errors
/// Limit: the frame is too large, or there is no memory for a stack. Otherwise Internal, because
/// nothing here depends on an application's mistakes.
pub fn code(
    lir: &lir::Function,
    settings: &Settings,
    token: &CancelToken,
    texts: Texts<'_>,
) -> Result<Option<MachineCode>> {
    let Some(level) = VectorLevel::for_host() else { return Ok(None) };
    guarded(|| code_on_this_stack(lir, settings, level.min(settings.max_level), token, texts))
}

/// Largest number of instructions of a function whose registers are checked if compiles are
/// verified, because the checker's time grows with the square.
const MAX_CHECKED_INSTS: usize = 6000;

fn code_on_this_stack(
    lir: &lir::Function,
    settings: &Settings,
    level: VectorLevel,
    token: &CancelToken,
    texts: Texts<'_>,
) -> Result<Option<MachineCode>> {
    let beyond = |insts: usize| settings.limit.is_some_and(|limit| insts > limit.insts);
    if beyond(lir.insts.len()) || token.is_cancelled() {
        return Ok(None);
    }
    let code = isel::select(lir, level, settings.optimise)?;
    let flow = alloc::RegallocInput::of(&code);
    if beyond(flow.len()) || token.is_cancelled() {
        return Ok(None);
    }
    if let Some(limit) = settings.limit
        && (!flow.cost().within(limit) || token.is_cancelled())
    {
        return Ok(None);
    }
    let output = alloc::allocate(&flow, settings.optimise)?;
    if cfg!(test) || lir::safety::is_verification_enabled() && flow.len() <= MAX_CHECKED_INSTS {
        alloc::check(&flow, &output)?;
    }
    if let Some(texts) = texts {
        let description = "The instructions as they are selected, with numbers for the registers";
        texts.push(Text { name: "Instructions", description, text: code.to_string() });
    }
    assemble::assemble(&code, &flow, &output).map(Some)
}

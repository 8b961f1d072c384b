//! The wide tier: from LIR to machine code with vectors of 256 bits, for processors with AVX2 and what came with it; and with those of 512 bits, 32
//! registers and mask registers where there is AVX-512 ([`Level`]).
//!
//! * `isel` selects instructions: data with virtual registers ([`inst`]), most of them rows of a [`table`].
//! * `alloc` has regalloc2 find registers, which says what must be moved; `frame` is the stack that takes what does not fit,
//!   and what lives across calls that are rare.
//! * `encode` makes bytes, `assemble` puts them together, with constants behind them (`pool`).
//!
//! A function that would take too long is refused as a whole ([`Cost`]), as is every one on another processor: another tier takes it. Nothing here is
//! unsafe, and nothing depends on more of a function than that [`lir::verify`] accepts it.

#![forbid(unsafe_code)]

mod alloc;
mod assemble;
mod encode;
mod frame;
mod inst;
mod isel;
mod pool;
mod table;

use crate::backend::{MachineCode, Text, Texts, Wanted, guarded};
use crate::cost::Cost;
use crate::error::Result;
use crate::host;
use crate::lir;

/// What a processor has, and code takes for granted; each level has what those before it have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// AVX2 and what came with it: x86-64-v3.
    Avx2,
    /// AVX-512: x86-64-v4.
    Avx512,
}

impl Level {
    /// All of them, the least first.
    pub const ALL: [Level; 2] = [Level::Avx2, Level::Avx512];

    /// The greatest that this processor has.
    pub fn here() -> Option<Level> {
        let mut levels = Level::ALL.into_iter().zip(FEATURES);
        let has = |features: &[&str]| features.iter().all(|name| host::has(name));
        let count = levels.by_ref().take_while(|(_, features)| has(features)).count();
        Level::ALL[..count].last().copied()
    }
}

/// How code is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Registers are found with care, and it has what is extra; else in one pass.
    pub optimise: bool,
    /// What it may cost. Without care it takes time in proportion to the function.
    pub limit: Option<Cost>,
    /// The most that it may use of what the processor has. Registers from one pass can't be limited to the lower ones, as AVX-512's instructions ask for.
    pub most: Level,
}

/// What each level takes for granted beside those before it.
const FEATURES: [&[&str]; 2] = [
    &["has_avx2", "has_fma", "has_bmi1", "has_bmi2", "has_lzcnt", "has_popcnt", "has_f16c"],
    &["has_avx512f", "has_avx512cd", "has_avx512dq", "has_avx512bw", "has_avx512vl"],
];

/// Can this processor run the code?
pub fn is_available() -> bool {
    Level::here().is_some()
}

/// Are there vectors of 512 bits?
pub fn has_large_vectors() -> bool {
    Level::here() == Some(Level::Avx512)
}

/// Code of a function. `None` where the processor can't run it, when it would take too long ([`Settings::limit`]), and when `wanted` says that nobody
/// wants it any more.
///
/// # Errors
/// Limit for a frame beyond all bounds or without memory for a stack, else Internal: nothing here depends on what an application may
/// get wrong.
pub fn code(
    lir: &lir::Function,
    settings: &Settings,
    wanted: Wanted<'_>,
    texts: Texts<'_>,
) -> Result<Option<MachineCode>> {
    let Some(level) = Level::here() else { return Ok(None) };
    guarded(|| code_here(lir, settings, level.min(settings.most), wanted, texts))
}

fn code_here(
    lir: &lir::Function,
    settings: &Settings,
    level: Level,
    wanted: Wanted<'_>,
    texts: Texts<'_>,
) -> Result<Option<MachineCode>> {
    let beyond = |insts: usize| settings.limit.is_some_and(|limit| insts > limit.insts);
    if beyond(lir.insts.len()) || !wanted() {
        return Ok(None);
    }
    let code = isel::select(lir, level, settings.optimise)?;
    let flow = alloc::Flow::of(&code);
    if beyond(flow.len()) || !wanted() {
        return Ok(None);
    }
    if let Some(limit) = settings.limit
        && (!flow.cost().within(limit) || !wanted())
    {
        return Ok(None);
    }
    let output = alloc::allocate(&flow, settings.optimise)?;
    if cfg!(test) || lir::safety::is_wanted() {
        alloc::check(&flow, &output)?;
    }
    if let Some(texts) = texts {
        let description = "The instructions as they are selected, with numbers for the registers";
        texts.push(Text { name: "Instructions", description, text: code.to_string() });
    }
    assemble::assemble(&code, &flow, &output).map(Some)
}

//! The wide tier: from LIR to machine code with vectors of 256 bits, for processors with AVX2 and what came with it.
//!
//! * `isel` selects instructions: data with virtual registers ([`inst`]), most of them rows of a [`table`].
//! * `alloc` has regalloc2 find registers, which says what must be moved; `frame` is the stack that takes what does not fit.
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

/// How code is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Registers are found with care, and it has what is extra; else in one pass.
    pub optimise: bool,
    /// What it may cost. Without care it takes time in proportion to the function.
    pub limit: Option<Cost>,
}

/// What this tier's code takes for granted.
const FEATURES: [&str; 7] = ["has_avx2", "has_fma", "has_bmi1", "has_bmi2", "has_lzcnt", "has_popcnt", "has_f16c"];

/// Can this processor run the code?
pub fn is_available() -> bool {
    FEATURES.iter().all(|name| host::has(name))
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
    if !is_available() {
        return Ok(None);
    }
    guarded(|| code_here(lir, settings, wanted, texts))
}

fn code_here(
    lir: &lir::Function,
    settings: &Settings,
    wanted: Wanted<'_>,
    texts: Texts<'_>,
) -> Result<Option<MachineCode>> {
    let beyond = |insts: usize| settings.limit.is_some_and(|limit| insts > limit.insts);
    if beyond(lir.insts.len()) || !wanted() {
        return Ok(None);
    }
    let code = isel::select(lir, settings.optimise)?;
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
    #[cfg(test)]
    alloc::check(&flow, &output)?;
    if let Some(texts) = texts {
        let description = "The instructions as they are selected, with numbers for the registers";
        texts.push(Text { name: "Instructions", description, text: code.to_string() });
    }
    assemble::assemble(&code, &flow, &output).map(Some)
}

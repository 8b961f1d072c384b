//! The tiers of effort for a stage's code, in the order of compile time. All give the same bits.
//!
//! A row has the back ends with their settings and cost limits ([`Backend`]), and the running time
//! of the first tier's code after which the tier is tried. The best tier is tried first, then
//! those before it if that one does not accept the function
//! (`icd/src/shader_compiler/tiered.rs`). Code of a better tier is final: no function is compiled a
//! third time.

#![forbid(unsafe_code)]

use crate::backend::{MachineCode, Text, Texts};
use crate::cancel::CancelToken;
use crate::cranelift::{self, Step};
use crate::error::{Error, Result};
use crate::lir;
use crate::regalloc_cost::RegallocCost;
use crate::wide;

/// A tier: a row of [`ROWS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// No optimisation, single-pass register allocation: made in a third of the time.
    Quick,
    /// Optimised code, less than half as large. Only for functions where that takes bounded time
    /// ([`RegallocCost`]).
    Full,
    /// Optimised code with vectors of 256 bits or more, where the processor has them.
    Wide,
}

/// A back end and its settings.
#[derive(Clone, Copy, Debug)]
pub enum Backend {
    /// The back end [`crate::cranelift`].
    Cranelift(cranelift::Settings),
    /// The back end [`crate::wide`].
    Wide(wide::Settings),
}

impl Backend {
    /// Makes a function's code; see [`Tier::code`].
    ///
    /// # Errors
    /// The errors of [`Tier::code`].
    pub fn code(&self, lir: &lir::Function, token: &CancelToken) -> Result<Option<MachineCode>> {
        self.code_with_texts(lir, token, None)
    }
    /// Makes a function's code and, if requested, texts that describe it.
    ///
    /// # Errors
    /// The errors of [`Tier::code`].
    fn code_with_texts(
        &self,
        lir: &lir::Function,
        token: &CancelToken,
        texts: Texts<'_>,
    ) -> Result<Option<MachineCode>> {
        match self {
            Backend::Cranelift(settings) => cranelift::code(lir, settings, token, texts),
            Backend::Wide(settings) => wide::code(lir, settings, token, texts),
        }
    }
    /// Returns the upper bound of the cost of compilation.
    pub fn limit(&self) -> Option<RegallocCost> {
        match self {
            Backend::Cranelift(settings) => settings.limit,
            Backend::Wide(settings) => settings.limit,
        }
    }
    /// Returns the back end with another limit; `None` removes the limit.
    pub fn limited(&self, limit: Option<RegallocCost>) -> Backend {
        match *self {
            Backend::Cranelift(settings) => Backend::Cranelift(cranelift::Settings { limit, ..settings }),
            Backend::Wide(settings) => Backend::Wide(wide::Settings { limit, ..settings }),
        }
    }
    /// Returns the back end once for each processor level up to its own that this processor
    /// supports, because lower levels make the code of other processors.
    pub fn levels(&self) -> Vec<Backend> {
        match *self {
            Backend::Cranelift(_) => vec![*self],
            Backend::Wide(settings) => {
                let levels = wide::VectorLevel::ALL
                    .into_iter()
                    .filter(|&level| level <= settings.max_level && Some(level) <= wide::VectorLevel::for_host());
                levels.map(|max_level| Backend::Wide(wide::Settings { max_level, ..settings })).collect()
            }
        }
    }
    /// Returns true if the back end makes code for this processor.
    pub fn is_available(&self) -> bool {
        match self {
            Backend::Cranelift(_) => true,
            Backend::Wide(_) => wide::is_available(),
        }
    }
}

/// Properties of a tier.
pub struct TierRow {
    /// The tier.
    pub tier: Tier,
    /// Name of the tier, which `GRUS_TIER` accepts to use it alone.
    pub name: &'static str,
    /// Back ends of the tier; the first one that makes code for this processor is used.
    pub backends: &'static [Backend],
    /// Tier-up threshold: nanoseconds of running time per byte of the existing code, without and
    /// with loops. The first tier's is 0, because it is compiled at once.
    pub tier_up_threshold: [i64; 2],
}

impl TierRow {
    /// Returns the back ends that make code for this processor.
    pub fn available(&self) -> impl Iterator<Item = &'static Backend> {
        self.backends.iter().filter(|backend| backend.is_available())
    }
    /// Returns the back end that the tier uses on this processor.
    pub fn backend(&self) -> Option<&'static Backend> {
        self.available().next()
    }
}

/// Number of tiers.
pub const COUNT: usize = 3;

/// All tiers in ascending order. The first one accepts every function.
pub static ROWS: [TierRow; COUNT] = [
    TierRow {
        tier: Tier::Quick,
        name: "quick",
        backends: &[
            Backend::Wide(wide::Settings { optimise: false, limit: None, max_level: wide::VectorLevel::Avx2 }),
            Backend::Cranelift(cranelift::Settings { optimise: false, code: Step::SinglePass, limit: None }),
        ],
        tier_up_threshold: [0, 0],
    },
    // Better code costs about 500 ns per byte of Cranelift's quick code to make, or 80 ns per byte
    // of the wide back end's quick code by itself. It saves little of straight code's time (the
    // demo's scene: 0 to 15 %) and most of a loop's (the demo's compute step: 60 %).
    TierRow {
        tier: Tier::Full,
        name: "full",
        backends: &[Backend::Cranelift(cranelift::Settings {
            optimise: true,
            code: Step::Backtracking,
            limit: Some(RegallocCost::LIMIT),
        })],
        tier_up_threshold: [3000, 100],
    },
    TierRow {
        tier: Tier::Wide,
        name: "wide",
        backends: &[Backend::Wide(wide::Settings {
            optimise: true,
            limit: Some(RegallocCost::LIMIT),
            max_level: wide::VectorLevel::Avx512,
        })],
        tier_up_threshold: [3000, 100],
    },
];

impl Tier {
    /// All tiers, in the order of [`ROWS`].
    pub const ALL: [Tier; COUNT] = [Tier::Quick, Tier::Full, Tier::Wide];

    /// The tier that is compiled first.
    pub const FIRST: Tier = Tier::Quick;

    /// Returns the row of the tier.
    pub fn row(self) -> &'static TierRow {
        &ROWS[self as usize]
    }
    /// Returns the tier with a name.
    pub fn from_name(name: &str) -> Option<Tier> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.tier)
    }
    /// Returns the tier with a number, which is its index in [`ROWS`].
    pub fn from_number(number: u32) -> Option<Tier> {
        ROWS.get(number as usize).map(|row| row.tier)
    }
    /// Returns the tiers that are tried when this tier's code has run for long, the best one first.
    /// Only the first tier has any.
    pub fn better_tiers(self) -> impl Iterator<Item = Tier> {
        let rows = ROWS.iter().rev().filter(|row| row.backend().is_some());
        rows.map(|row| row.tier).filter(move |&tier| self == Tier::FIRST && tier != self)
    }
    /// Returns this tier and those before it in the list, the best one first.
    fn this_and_lower(self) -> impl Iterator<Item = Tier> {
        ROWS.iter().rev().map(|row| row.tier).filter(move |&tier| tier <= self)
    }

    /// Makes a function's code. Returns `None` if the tier does not accept the function, or if the
    /// token is cancelled.
    ///
    /// # Errors
    /// Limit: the frame is too large, or there is no memory. Otherwise Internal, because nothing
    /// depends on an application's mistakes.
    pub fn code(self, lir: &lir::Function, token: &CancelToken) -> Result<Option<MachineCode>> {
        self.row().backend().map_or(Ok(None), |backend| backend.code(lir, token))
    }

    /// Makes a function's code as [`generate`] does for this tier, with texts that describe it.
    ///
    /// # Errors
    /// The errors of [`Tier::code`].
    pub fn described(self, lir: &lir::Function) -> Result<(MachineCode, Tier, Vec<Text>)> {
        for tier in self.this_and_lower() {
            let mut texts = Vec::new();
            let Some(backend) = tier.row().backend() else { continue };
            if let Some(code) = backend.code_with_texts(lir, &CancelToken::NEVER, Some(&mut texts))? {
                return Ok((code, tier, texts));
            }
        }
        Err(Error::internal("no tier takes a function"))
    }
}

/// Makes a function's code with this tier, or with the best one before it that accepts the
/// function.
///
/// # Errors
/// The errors of [`Tier::code`].
pub fn generate(lir: &lir::Function, tier: Tier) -> Result<(MachineCode, Tier)> {
    for tier in tier.this_and_lower() {
        if let Some(code) = tier.code(lir, &CancelToken::NEVER)? {
            return Ok((code, tier));
        }
    }
    Err(Error::internal("no tier takes a function"))
}

/// Makes a function's code with the best tier that accepts the function, if there is a better one
/// than `than`, unless the token is cancelled.
///
/// # Errors
/// The errors of [`Tier::code`].
pub fn tier_up(lir: &lir::Function, than: Tier, token: &CancelToken) -> Result<Option<(MachineCode, Tier)>> {
    for tier in than.better_tiers() {
        if let Some(code) = tier.code(lir, token)? {
            return Ok(Some((code, tier)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_tier_order() {
        for (i, row) in ROWS.iter().enumerate() {
            assert_eq!((row.tier as usize, Tier::ALL[i]), (i, row.tier));
            assert_eq!((Tier::from_number(i as u32), Tier::from_name(row.name)), (Some(row.tier), Some(row.tier)));
            // The first tier is compiled at once, whatever it costs.
            assert_eq!(i == 0, row.tier_up_threshold == [0, 0]);
            assert!(row.backends.iter().all(|backend| (i == 0) == backend.limit().is_none()));
            // Every processor has the first two tiers.
            assert_eq!(i < 2, row.backends.iter().any(|backend| matches!(backend, Backend::Cranelift(_))));
            assert!(i == 0 || row.tier.better_tiers().next().is_none(), "what is made again is final");
        }
        assert!(Tier::FIRST.better_tiers().is_sorted_by(|a, b| a > b));
        assert_eq!(Tier::FIRST, ROWS[0].tier);
        assert_eq!(Tier::from_number(ROWS.len() as u32), None);
    }
}

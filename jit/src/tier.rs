//! How much work goes into a stage's code: a list of tiers, quickly made code first. All give the same bits.
//!
//! A row says who makes the code ([`Backend`], with its settings and the bound on its time), and how long the first tier's code
//! has run when it is tried: the best tier first, then those before it, where that one will not take the function (`icd/src/backend/tiered.rs`). What one of
//! them made is final: nothing is compiled a third time.

#![forbid(unsafe_code)]

use crate::backend::{MachineCode, Text, Texts, Wanted};
use crate::cost::Cost;
use crate::cranelift::{self, Step};
use crate::error::{Error, Result};
use crate::lir;
use crate::wide;

/// A tier: a row of [`ROWS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// No optimisation, single-pass register allocation: made in a third of the time.
    Quick,
    /// Optimised; less than half the code. Only where that takes bounded time ([`Cost`]).
    Full,
    /// The same with vectors of 256 bits, or more, where the processor has them.
    Wide,
}

/// Who makes code, and how.
#[derive(Clone, Copy, Debug)]
pub enum Backend {
    /// [`crate::cranelift`].
    Cranelift(cranelift::Settings),
    /// [`crate::wide`].
    Wide(wide::Settings),
}

impl Backend {
    /// A function's code; see [`Tier::code`].
    ///
    /// # Errors
    /// As [`Tier::code`].
    pub fn code(&self, lir: &lir::Function, wanted: Wanted<'_>) -> Result<Option<MachineCode>> {
        self.code_and(lir, wanted, None)
    }
    /// The same code, and texts.
    ///
    /// # Errors
    /// As [`Tier::code`].
    fn code_and(&self, lir: &lir::Function, wanted: Wanted<'_>, texts: Texts<'_>) -> Result<Option<MachineCode>> {
        match self {
            Backend::Cranelift(settings) => cranelift::code(lir, settings, wanted, texts),
            Backend::Wide(settings) => wide::code(lir, settings, wanted, texts),
        }
    }
    /// What code may cost.
    pub fn limit(&self) -> Option<Cost> {
        match self {
            Backend::Cranelift(settings) => settings.limit,
            Backend::Wide(settings) => settings.limit,
        }
    }
    /// The same at another cost; at any.
    pub fn limited(&self, limit: Option<Cost>) -> Backend {
        match *self {
            Backend::Cranelift(settings) => Backend::Cranelift(cranelift::Settings { limit, ..settings }),
            Backend::Wide(settings) => Backend::Wide(wide::Settings { limit, ..settings }),
        }
    }
    /// The same, and it with less than this processor has, as it makes code for others.
    pub fn levels(&self) -> Vec<Backend> {
        match *self {
            Backend::Cranelift(_) => vec![*self],
            Backend::Wide(settings) => {
                let levels = wide::Level::ALL
                    .into_iter()
                    .filter(|&level| level <= settings.most && Some(level) <= wide::Level::here());
                levels.map(|most| Backend::Wide(wide::Settings { most, ..settings })).collect()
            }
        }
    }
    /// Does it make code for this processor?
    pub fn is_available(&self) -> bool {
        match self {
            Backend::Cranelift(_) => true,
            Backend::Wide(_) => wide::is_available(),
        }
    }
}

/// See the module.
pub struct Row {
    /// Which tier.
    pub tier: Tier,
    /// `GRUS_TIER` of who wants it alone.
    pub name: &'static str,
    /// Who makes its code: the first one that does so for this processor.
    pub backends: &'static [Backend],
    /// When it is tried: nanoseconds of running time per byte of the code until then, without and with loops. The first one is tried at once.
    pub patience: [i64; 2],
}

impl Row {
    /// Those that make code for this processor.
    pub fn available(&self) -> impl Iterator<Item = &'static Backend> {
        self.backends.iter().filter(|backend| backend.is_available())
    }
    /// Who makes its code here.
    pub fn backend(&self) -> Option<&'static Backend> {
        self.available().next()
    }
}

/// Number of tiers.
pub const COUNT: usize = 3;

/// All tiers, the better ones behind. The first one takes every function.
pub static ROWS: [Row; COUNT] = [
    Row {
        tier: Tier::Quick,
        name: "quick",
        backends: &[
            Backend::Wide(wide::Settings { optimise: false, limit: None, most: wide::Level::Avx2 }),
            Backend::Cranelift(cranelift::Settings { optimise: false, code: Step::SinglePass, limit: None }),
        ],
        patience: [0, 0],
    },
    // Better code costs about 500 ns per byte of Cranelift's quick code to make, 80 of the wide back end's by itself; it saves little of straight code's time (the demo's scene: 0 to 15 %)
    // and most of a loop's (the demo's compute step: 60 %).
    Row {
        tier: Tier::Full,
        name: "full",
        backends: &[Backend::Cranelift(cranelift::Settings {
            optimise: true,
            code: Step::Backtracking,
            limit: Some(Cost::LIMIT),
        })],
        patience: [3000, 100],
    },
    Row {
        tier: Tier::Wide,
        name: "wide",
        backends: &[Backend::Wide(wide::Settings {
            optimise: true,
            limit: Some(Cost::LIMIT),
            most: wide::Level::Avx512,
        })],
        patience: [3000, 100],
    },
];

impl Tier {
    /// All of them, in the list's order.
    pub const ALL: [Tier; COUNT] = [Tier::Quick, Tier::Full, Tier::Wide];

    /// What is made first.
    pub const FIRST: Tier = Tier::Quick;

    /// Its row.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
    /// The tier of a name.
    pub fn named(name: &str) -> Option<Tier> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.tier)
    }
    /// The tier of a number, its place in the list.
    pub fn numbered(number: u32) -> Option<Tier> {
        ROWS.get(number as usize).map(|row| row.tier)
    }
    /// Those that are tried when its code has run for long, the best one first: none but behind the first tier.
    pub fn better(self) -> impl Iterator<Item = Tier> {
        let rows = ROWS.iter().rev().filter(|row| row.backend().is_some());
        rows.map(|row| row.tier).filter(move |&tier| self == Tier::FIRST && tier != self)
    }
    /// Those before it in the list and itself, the best one first.
    fn at_most(self) -> impl Iterator<Item = Tier> {
        ROWS.iter().rev().map(|row| row.tier).filter(move |&tier| tier <= self)
    }

    /// A function's code. `None` when the tier will not take it, and when nobody wants it any more.
    ///
    /// # Errors
    /// Limit for a frame beyond all bounds or without memory, else Internal: nothing depends on what an application may get wrong.
    pub fn code(self, lir: &lir::Function, wanted: Wanted<'_>) -> Result<Option<MachineCode>> {
        self.row().backend().map_or(Ok(None), |backend| backend.code(lir, wanted))
    }

    /// A function's code as [`generate`] with this tier makes it, and what it is made of.
    ///
    /// # Errors
    /// As [`Tier::code`].
    pub fn described(self, lir: &lir::Function) -> Result<(MachineCode, Tier, Vec<Text>)> {
        for tier in self.at_most() {
            let mut texts = Vec::new();
            let Some(backend) = tier.row().backend() else { continue };
            if let Some(code) = backend.code_and(lir, &|| true, Some(&mut texts))? {
                return Ok((code, tier, texts));
            }
        }
        Err(Error::internal("no tier takes a function"))
    }
}

/// A function's code by this tier, or the best one before it that takes the function.
///
/// # Errors
/// As [`Tier::code`].
pub fn generate(lir: &lir::Function, tier: Tier) -> Result<(MachineCode, Tier)> {
    for tier in tier.at_most() {
        if let Some(code) = tier.code(lir, &|| true)? {
            return Ok((code, tier));
        }
    }
    Err(Error::internal("no tier takes a function"))
}

/// A function's code by the best tier that takes the function, if there is a better one than this, and as long as it is wanted.
///
/// # Errors
/// As [`Tier::code`].
pub fn improve(lir: &lir::Function, than: Tier, wanted: Wanted<'_>) -> Result<Option<(MachineCode, Tier)>> {
    for tier in than.better() {
        if let Some(code) = tier.code(lir, wanted)? {
            return Ok(Some((code, tier)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_the_order_of_the_tiers() {
        for (i, row) in ROWS.iter().enumerate() {
            assert_eq!((row.tier as usize, Tier::ALL[i]), (i, row.tier));
            assert_eq!((Tier::numbered(i as u32), Tier::named(row.name)), (Some(row.tier), Some(row.tier)));
            // The first one is made at once, whatever it costs.
            assert_eq!(i == 0, row.patience == [0, 0]);
            assert!(row.backends.iter().all(|backend| (i == 0) == backend.limit().is_none()));
            // Every processor has it.
            assert_eq!(i < 2, row.backends.iter().any(|backend| matches!(backend, Backend::Cranelift(_))));
            assert!(i == 0 || row.tier.better().next().is_none(), "what is made again is final");
        }
        assert!(Tier::FIRST.better().is_sorted_by(|a, b| a > b));
        assert_eq!(Tier::FIRST, ROWS[0].tier);
        assert_eq!(Tier::numbered(ROWS.len() as u32), None);
    }
}

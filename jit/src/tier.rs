//! How much work goes into a stage's code: a list of tiers, quickly made code first. All give the same bits.
//!
//! A row says who makes the code ([`Backend`], with its settings and the bound on its time), and how long the code of the tiers before it
//! has run when it is tried. The icd goes up the list stage by stage (`icd/src/backend/tiered.rs`); a tier that will not take a function is passed over.

#![forbid(unsafe_code)]

use crate::backend::{MachineCode, Wanted};
use crate::cranelift::{self, Cost, Step};
use crate::error::{Error, Result};
use crate::lir;

/// A tier: a row of [`ROWS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// No optimisation, single-pass register allocation: made in about half the time.
    Quick,
    /// Optimised; less than half the code. Only where that takes bounded time ([`Cost`]).
    Full,
}

/// Who makes code, and how.
pub enum Backend {
    /// [`crate::cranelift`].
    Cranelift(cranelift::Settings),
}

/// See the module.
pub struct Row {
    /// Which tier.
    pub tier: Tier,
    /// `GRUS_TIER` of who wants it alone.
    pub name: &'static str,
    /// Who makes its code.
    pub backend: Backend,
    /// When it is tried: nanoseconds of running time per byte of the code until then, without and with loops. The first one is tried at once.
    pub patience: [i64; 2],
}

/// Number of tiers.
pub const COUNT: usize = 2;

/// All tiers, in the order in which they are tried. The first one takes every function.
pub static ROWS: [Row; COUNT] = [
    Row {
        tier: Tier::Quick,
        name: "quick",
        backend: Backend::Cranelift(cranelift::Settings { optimise: false, code: Step::SinglePass, limit: None }),
        patience: [0, 0],
    },
    // Better code costs about 500 ns per byte of quick code to make; it saves little of straight code's time (the demo's scene: 0 to 15 %)
    // and most of a loop's (the demo's compute step: 60 %).
    Row {
        tier: Tier::Full,
        name: "full",
        backend: Backend::Cranelift(cranelift::Settings {
            optimise: true,
            code: Step::Backtracking,
            limit: Some(Cost::LIMIT),
        }),
        patience: [3000, 100],
    },
];

impl Tier {
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
    /// Those behind it in the list.
    pub fn better(self) -> impl Iterator<Item = Tier> {
        ROWS.iter().map(|row| row.tier).filter(move |&tier| tier > self)
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
        match &self.row().backend {
            Backend::Cranelift(settings) => cranelift::code(lir, settings, wanted),
        }
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

/// A function's code by the first tier behind this one that takes the function, if there is one, and as long as it is wanted.
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
            assert_eq!(row.tier as usize, i);
            assert_eq!((Tier::numbered(i as u32), Tier::named(row.name)), (Some(row.tier), Some(row.tier)));
            // The first one is made at once, whatever it costs.
            assert_eq!(i == 0, row.patience == [0, 0]);
            let Backend::Cranelift(settings) = &row.backend;
            assert_eq!(i == 0, settings.limit.is_none());
        }
        assert_eq!(Tier::FIRST, ROWS[0].tier);
        assert_eq!(Tier::numbered(ROWS.len() as u32), None);
    }
}

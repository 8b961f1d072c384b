//! Portion K of N of all cases, chosen by a hash of the case's name. A case therefore stays in its
//! portion regardless of the other listed cases, their order, and the versions of this program and
//! of the CTS.
//!
//! The function [`hash`] never changes, because ledgers of many years and machines are combined by
//! it. Case `c` is in portion K/N if `hash(c) % N == K - 1`. The N portions of one N are therefore
//! disjoint and complete. If N divides M, K/M is a part of ((K - 1) % N + 1)/N.

use crate::fnv::fnv1a;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Largest N. Coverage is computed over the residues, see [`super::ledger::cover`].
pub const FINEST: u64 = 1 << 20;

/// Returns the FNV-1a hash, mixed so that all bits depend on all bytes. It is part of the contract,
/// because `--portion` must always choose the same cases.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut h = fnv1a(bytes);
    h ^= h >> 33;
    h = h.wrapping_mul(0xff51_afd7_ed55_8ccd);
    h ^ (h >> 33)
}

/// Portion `part` of `of`, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Portion {
    /// Number of this portion, from 1.
    pub part: u64,
    /// Number of portions.
    pub of: u64,
}

impl Portion {
    /// The portion that contains all cases.
    pub const ALL: Portion = Portion { part: 1, of: 1 };

    /// Parses `K/N` or `today/N`. The latter is the portion of the current day (UTC), which changes
    /// daily until all N portions have been used.
    pub fn parse(text: &str) -> Result<Self, String> {
        let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86400);
        Self::parse_on(text, days)
    }

    /// Parses a portion as [`Self::parse`] does for a given day, counted from 1970-01-01.
    fn parse_on(text: &str, day: u64) -> Result<Self, String> {
        match text.split_once('/') {
            Some(("today" | "day", of)) => {
                let Portion { of, .. } = Self::exact(&format!("1/{of}"))?;
                Ok(Self { part: day % of + 1, of })
            }
            _ => Self::exact(text),
        }
    }

    /// Parses `K/N`.
    pub fn exact(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        let inside = parsed.filter(|&(part, of)| (1..=FINEST).contains(&of) && (1..=of).contains(&part));
        let wrong =
            || format!("{text:?} is no portion: expected K/N with K from 1 to N and N up to {FINEST}, or today/N");
        inside.map(|(part, of)| Portion { part, of }).ok_or_else(wrong)
    }

    /// Returns true if a case is in this portion.
    pub fn contains_case(self, name: &str) -> bool {
        hash(name.as_bytes()) % self.of == self.part - 1
    }

    /// Returns true if all cases of another portion are in this one, which follows from the numbers
    /// alone.
    pub fn contains(self, other: Portion) -> bool {
        other.of.is_multiple_of(self.of) && (other.part - 1) % self.of == self.part - 1
    }

    /// Returns true if a case can be in both portions.
    pub fn meets(self, other: Portion) -> bool {
        // There is a hash with both residues if and only if the residues agree modulo the greatest
        // common divisor.
        let common = gcd(self.of, other.of);
        (self.part - 1) % common == (other.part - 1) % common
    }
}

impl fmt::Display for Portion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.part, self.of))
    }
}

/// Returns the greatest common divisor.
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(of: u64) -> Vec<Portion> {
        (1..=of).map(|part| Portion { part, of }).collect()
    }

    #[test]
    fn portions_cover_every_case_once() {
        let names: Vec<String> = (0..2000).map(|i| format!("dEQP-VK.group{}.case_{i}", i % 7)).collect();
        for of in [1, 2, 3, 10, 16] {
            for name in &names {
                assert_eq!(all(of).iter().filter(|part| part.contains_case(name)).count(), 1, "{name}");
            }
        }
        for part in all(10) {
            let held = names.iter().filter(|name| part.contains_case(name)).count();
            assert!((140..260).contains(&held), "part {} holds {held} of 2000", part.part);
        }
    }

    #[test]
    fn portions_never_change() {
        // Ledgers are combined by these values, so lines may be added here but not changed.
        let shares = [
            ("dEQP-VK.api.smoke.triangle", 16, 8),
            ("dEQP-VK.api.smoke.triangle", 1000, 592),
            ("dEQP-VK.info.device", 16, 1),
            ("dEQP-VK.glsl.loops.generic.for_constant_iterations.basic_highp_float_vertex", 16, 4),
            ("dEQP-VK.spirv_assembly.instruction.compute.opnop.all", 16, 11),
            ("", 16, 3),
        ];
        assert_eq!(hash(b"dEQP-VK.api.smoke.triangle"), 0xf7ea_4366_c7d7_f417);
        let found = shares.map(|(name, of, _)| {
            (
                name,
                of,
                all(of).into_iter().find(|portion| portion.contains_case(name)).map_or(0, |portion| portion.part),
            )
        });
        assert_eq!(found, shares);
    }

    #[test]
    fn finer_portions_are_pieces_of_coarser_ones() {
        let names: Vec<String> = (0..500).map(|i| format!("g.case_{i}")).collect();
        for (a, b) in [(2, 4), (3, 12), (5, 5), (4, 6), (1, 9), (16, 48)] {
            for (coarse, fine) in all(a).into_iter().flat_map(|x| all(b).into_iter().map(move |y| (x, y))) {
                let inside =
                    names.iter().filter(|name| fine.contains_case(name)).all(|name| coarse.contains_case(name));
                let common = names.iter().any(|name| fine.contains_case(name) && coarse.contains_case(name));
                assert_eq!((coarse.contains(fine), coarse.meets(fine)), (inside, common), "{coarse} {fine}");
            }
        }
    }

    #[test]
    fn every_day_has_another_portion_and_wrong_ones_are_refused() {
        let parts: Vec<u64> = (20_000..20_016).map(|day| Portion::parse_on("today/16", day).unwrap().part).collect();
        assert_eq!(parts, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
        assert_eq!(Portion::parse_on("day/7", 20_000), Ok(Portion { part: 2, of: 7 }));
        assert_eq!(Portion::parse("3/16").map(|portion| portion.to_string()).as_deref(), Ok("3/16"));
        for wrong in ["0/4", "5/4", "4", "a/b", "1/0", "today", "today/0", "-1/4", "1/9999999"] {
            assert!(Portion::parse(wrong).is_err(), "{wrong}");
        }
    }
}

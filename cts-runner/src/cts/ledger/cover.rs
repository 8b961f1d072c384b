//! Finds runs that together contain every case once, and the cases that they leave out.
//!
//! Portions of different N combine exactly if one N divides the other. A residue `r` modulo M, the
//! least common multiple of all N that occur, stands for portion (r + 1)/M. Coarse runs are taken
//! before fine ones, and late before early ones. A run is taken only if it meets no run that was
//! taken before.

use super::super::portion::{FINEST, Portion, gcd};
use std::collections::BTreeSet;
use std::fmt;

/// A range of portions that no run contains.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Gap {
    /// First portion of the range.
    pub first: u64,
    /// Last portion of the range.
    pub last: u64,
    /// Number N of portions.
    pub of: u64,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last - self.first {
            0 => write!(f, "{}/{}", self.first, self.of),
            _ => write!(f, "{}-{}/{}", self.first, self.last, self.of),
        }
    }
}

/// Coverage of a set of runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cover {
    /// Indices of the runs that count, no two of which have a case in common.
    pub bases: Vec<usize>,
    /// Portions that no run contains.
    pub gaps: Vec<Gap>,
}

/// Returns the best cover by some portions, which are ordered from earliest to latest.
pub fn cover(portions: &[Portion]) -> Cover {
    let sizes: BTreeSet<u64> = portions.iter().map(|portion| portion.of).collect();
    let candidates = sizes.iter().map(|&size| bases(portions, size));
    let share = |bases: &Vec<usize>| bases.iter().map(|&at| 1.0 / portions[at].of as f64).sum::<f64>();
    // Among equal candidates, the first and therefore coarsest one is kept.
    let better = |best: Vec<usize>, next: Vec<usize>| if share(&next) > share(&best) + 1e-9 { next } else { best };
    let bases = candidates.reduce(better).unwrap_or_default();
    let gaps = gaps(&bases.iter().map(|&at| portions[at]).collect::<Vec<_>>());
    Cover { bases, gaps }
}

/// Returns runs that do not meet. Runs with N = `size` come first, then coarse before fine and late
/// before early.
fn bases(portions: &[Portion], size: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..portions.len()).rev().collect();
    order.sort_by_key(|&at| (portions[at].of != size, portions[at].of));
    let (mut taken, mut modulus) = (Vec::new(), 1);
    for at in order {
        let common = lcm(modulus, portions[at].of);
        let meets = |&other: &usize| portions[at].meets(portions[other]);
        if let Some(common) = common.filter(|_| !taken.iter().any(meets)) {
            modulus = common;
            taken.push(at);
        }
    }
    taken
}

/// Returns the least common multiple; `None` if there would be too many residues.
fn lcm(a: u64, b: u64) -> Option<u64> {
    Some(a / gcd(a, b) * b).filter(|&multiple| multiple <= FINEST)
}

/// Returns what portions that do not meet leave out, as the coarsest possible portions.
fn gaps(portions: &[Portion]) -> Vec<Gap> {
    let modulus = portions.iter().try_fold(1, |modulus, portion| lcm(modulus, portion.of)).unwrap_or(1);
    let mut open = vec![true; modulus as usize];
    let steps = |first: u64, of: u64| (first..modulus).step_by(of as usize).map(|at| at as usize);
    for portion in portions {
        steps(portion.part - 1, portion.of).for_each(|at| open[at] = false);
    }
    let mut sizes: BTreeSet<u64> = portions.iter().map(|portion| portion.of).collect();
    sizes.insert(modulus);
    let mut gaps: Vec<Gap> = Vec::new();
    for of in sizes {
        for first in 0..of {
            if !steps(first, of).all(|at| open[at]) {
                continue;
            }
            steps(first, of).for_each(|at| open[at] = false);
            match gaps.last_mut().filter(|gap| gap.of == of && gap.last == first) {
                Some(gap) => gap.last += 1,
                None => gaps.push(Gap { first: first + 1, last: first + 1, of }),
            }
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn portions(texts: &[&str]) -> Vec<Portion> {
        texts.iter().map(|text| Portion::parse(text).unwrap()).collect()
    }

    fn bases_and_gaps(texts: &[&str]) -> (Vec<String>, String) {
        let portions = portions(texts);
        let cover = cover(&portions);
        let mut bases: Vec<String> = cover.bases.iter().map(|&at| portions[at].to_string()).collect();
        bases.sort();
        (bases, cover.gaps.iter().map(Gap::to_string).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn gaps_are_as_coarse_as_possible() {
        assert_eq!(bases_and_gaps(&[]).1, "1/1");
        assert_eq!(bases_and_gaps(&["1/1"]).1, "");
        assert_eq!(bases_and_gaps(&["1/16", "2/16", "5/16"]).1, "3-4/16 6-16/16");
        assert_eq!(bases_and_gaps(&["1/2", "2/4"]).1, "4/4");
        assert_eq!(bases_and_gaps(&["1/2", "2/4", "8/8"]).1, "4/8");
        assert_eq!(bases_and_gaps(&["7/2000"]).1, "1-6/2000 8-2000/2000");
        assert_eq!(
            bases_and_gaps(&["1/2", "2/4", "4/4"]),
            (vec!["1/2".into(), "2/4".into(), "4/4".into()], String::new())
        );
    }

    #[test]
    fn portions_inside_coarser_ones_count_once() {
        assert_eq!(bases_and_gaps(&["1/16", "1/2", "17/32", "2/2"]), (vec!["1/2".into(), "2/2".into()], String::new()));
        // The later of two runs of one portion counts.
        assert_eq!(cover(&portions(&["1/2", "2/2", "1/2"])).bases, [2, 1]);
        // Portions that overlap without containing each other do not combine, so the larger share
        // counts.
        assert_eq!(bases_and_gaps(&["1/3", "1/16", "2/16", "3/16", "4/16", "5/16", "6/16"]).0.len(), 6);
        assert_eq!(bases_and_gaps(&["1/3", "1/16"]).0, ["1/3"]);
        assert_eq!(bases_and_gaps(&["1/4", "2/6"]), (vec!["1/4".into(), "2/6".into()], "3/4 4/6 6/6".into()));
    }

    #[test]
    fn bases_and_gaps_hold_every_residue_once() {
        for seed in 0..300_u64 {
            let draw = |i: u64| super::super::super::portion::hash(&[seed as u8, (seed >> 8) as u8, i as u8]);
            let of = |i: u64| [1, 2, 3, 4, 6, 8, 12, 16][(draw(i) % 8) as usize];
            let drawn: Vec<Portion> =
                (0..1 + seed % 9).map(|i| Portion { part: 1 + draw(i + 50) % of(i), of: of(i) }).collect();
            let cover = cover(&drawn);
            for residue in 0..48 {
                let held = cover.bases.iter().filter(|&&at| residue % drawn[at].of == drawn[at].part - 1).count();
                let inside = |gap: &&Gap| (gap.first..=gap.last).contains(&(residue % gap.of + 1));
                assert_eq!(held + cover.gaps.iter().filter(inside).count(), 1, "{drawn:?} {residue}");
            }
        }
    }
}

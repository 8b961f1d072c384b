//! How an affine value grows over the lanes of a chunk: a constant for each bit of the lane's number, of which the set ones are added up.
//!
//! `l * s` is `s << b` for bit `b`; of `l / 4` the lowest two bits have nothing, of `l % 4` all others. Rows and columns of tiles are such
//! values, and what is computed from them by sums, differences and constant factors; so what they address lies at places known beforehand.

/// Bits of a lane's number: up to 64 lanes.
const BITS: usize = 6;

/// See the module. Bits that no lane has are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Steps([i32; BITS]);

impl Steps {
    /// `stride` from each of `lanes` lanes to the next.
    pub fn even(stride: i32, lanes: u32) -> Steps {
        let bit = |b: usize| if lanes >> b > 1 { stride.wrapping_shl(b as u32) } else { 0 };
        Steps(std::array::from_fn(bit))
    }

    /// What `offset` says of each of `lanes` lanes, if it can be said this way; of lane 0 it says 0.
    pub fn new(lanes: u32, offset: impl Fn(u32) -> i32) -> Option<Steps> {
        let steps = Steps(std::array::from_fn(|b| if lanes >> b > 1 { offset(1 << b) } else { 0 }));
        (0..lanes).all(|lane| steps.at(lane as usize) == offset(lane)).then_some(steps)
    }

    /// What lane `lane` has beyond lane 0.
    pub fn at(self, lane: usize) -> i32 {
        let set = self.0.iter().enumerate().filter(|(b, _)| lane >> b & 1 != 0);
        set.fold(0i32, |sum, (_, step)| sum.wrapping_add(*step))
    }

    /// All lanes have the same.
    pub fn is_none(self) -> bool {
        self == Steps::default()
    }

    /// Is it `stride` from each lane to the next?
    pub fn is_even(self, stride: i32, lanes: u32) -> bool {
        self == Steps::even(stride, lanes)
    }

    /// How far apart two lanes are at most.
    pub fn reach(self) -> u64 {
        self.0.iter().map(|step| u64::from(step.unsigned_abs())).sum()
    }

    /// The steps of the operands' sums, differences and products.
    pub fn map2(self, other: Steps, f: impl Fn(i32, i32) -> i32) -> Steps {
        Steps(std::array::from_fn(|b| f(self.0[b], other.0[b])))
    }

    /// The steps of a multiple.
    pub fn map(self, f: impl Fn(i32) -> i32) -> Steps {
        Steps(self.0.map(f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns() {
        let even = Steps::even(3, 8);
        assert_eq!((0..8).map(|l| even.at(l)).collect::<Vec<_>>(), [0, 3, 6, 9, 12, 15, 18, 21]);
        assert!(even.is_even(3, 8) && !even.is_even(3, 16) && !even.is_even(4, 8));
        assert_eq!(even.reach(), 21);
        let row = Steps::new(8, |l| (l / 4) as i32 * -100).expect("a step per bit");
        let column = Steps::new(8, |l| (l % 4) as i32).expect("a step per bit");
        let both = row.map2(column, i32::wrapping_add);
        assert_eq!((0..8).map(|l| both.at(l)).collect::<Vec<_>>(), [0, 1, 2, 3, -100, -99, -98, -97]);
        assert_eq!(both.reach(), 103);
        assert_eq!(Steps::new(8, |l| (l / 3) as i32), None);
        assert!(Steps::new(1, |_| 0).is_some_and(Steps::is_none));
        for lanes in [1, 2, 4, 8, 16, 32, 64] {
            assert_eq!(Steps::new(lanes, |l| l as i32 * -7), Some(Steps::even(-7, lanes)));
        }
        // Wrapping all the way.
        let wide = Steps::even(i32::MAX, 8);
        assert!((0..8).all(|l| wide.at(l) == i32::MAX.wrapping_mul(l as i32)));
    }
}

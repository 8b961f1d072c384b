//! Steps of an affine value over the lanes of a chunk: a constant for each bit of the lane's
//! number; those of the set bits are added.
//!
//! `l * s` has the step `s << b` for bit `b`; `l / 4` has no steps for the lowest two bits, `l % 4`
//! none for all others. Rows and columns of tiles are such values, and so are sums, differences and
//! constant multiples of them. The addresses that they form are therefore at offsets known at
//! compile time.

/// Number of bits of a lane's number, for up to 64 lanes.
const BITS: usize = 6;

/// Step of each bit of the lane's number. Bits that no lane has are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Steps([i32; BITS]);

impl Steps {
    /// Returns the steps of values that grow by `stride` from each of `lanes` lanes to the next.
    pub fn even(stride: i32, lanes: u32) -> Steps {
        let bit = |b: usize| if lanes >> b > 1 { stride.wrapping_shl(b as u32) } else { 0 };
        Steps(std::array::from_fn(bit))
    }

    /// Returns steps that equal `offset` for each of `lanes` lanes, or `None` if there are none.
    /// `offset(0)` must be 0.
    pub fn new(lanes: u32, offset: impl Fn(u32) -> i32) -> Option<Steps> {
        let steps = Steps(std::array::from_fn(|b| if lanes >> b > 1 { offset(1 << b) } else { 0 }));
        (0..lanes).all(|lane| steps.at(lane as usize) == offset(lane)).then_some(steps)
    }

    /// Returns the difference between lane `lane` and lane 0.
    pub fn at(self, lane: usize) -> i32 {
        let set = self.0.iter().enumerate().filter(|(b, _)| lane >> b & 1 != 0);
        set.fold(0i32, |sum, (_, step)| sum.wrapping_add(*step))
    }

    /// Returns true if all lanes have the same value.
    pub fn is_none(self) -> bool {
        self == Steps::default()
    }

    /// Returns true if the value grows by `stride` from each lane to the next.
    pub fn is_even(self, stride: i32, lanes: u32) -> bool {
        self == Steps::even(stride, lanes)
    }

    /// Returns an upper bound of the difference between any two lanes.
    pub fn reach(self) -> u64 {
        self.0.iter().map(|step| u64::from(step.unsigned_abs())).sum()
    }

    /// Combines the steps of two values bit by bit, for their sum or difference.
    pub fn map2(self, other: Steps, f: impl Fn(i32, i32) -> i32) -> Steps {
        Steps(std::array::from_fn(|b| f(self.0[b], other.0[b])))
    }

    /// Maps each step, for a multiple of the value.
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
        // The sums wrap around.
        let wide = Steps::even(i32::MAX, 8);
        assert!((0..8).all(|l| wide.at(l) == i32::MAX.wrapping_mul(l as i32)));
    }
}

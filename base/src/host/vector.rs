//! Eight lanes as one value, for kernels in which arrays of lanes would not stay vectors.
//!
//! An array of lanes that is joined after a branch, or carried around a loop, becomes a register
//! per lane. A value of these types always stays one vector (or two halves of one). Such values are
//! made and used only in functions of their level ([`multiversion!`](crate::multiversion)).
//!
//! Their operations are the processor's, and give the same bits on every level. Comparisons give
//! all ones or 0 in each lane. [`Floats::min`] and [`Floats::max`] give the second operand if an
//! operand is not a number.

#![forbid(unsafe_code)]

use crate::abi::MAX_LANES;
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Sub};

/// A vector of eight 32-bit integers.
pub trait Ints:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
{
    /// The vector type of the same lanes as floats.
    type Floats: Floats<Ints = Self>;
    /// Returns a vector with `value` in all lanes.
    fn splat(value: u32) -> Self;
    /// Makes a vector of an array.
    fn from_array(lanes: [u32; MAX_LANES]) -> Self;
    /// Returns the lanes as an array.
    fn to_array(self) -> [u32; MAX_LANES];
    /// Shifts left; all shifts are by less than 32, and fastest by constants.
    fn shl(self, by: u32) -> Self;
    /// Shifts right, filling with zeros.
    fn shr(self, by: u32) -> Self;
    /// Shifts right, filling with sign bits.
    fn sar(self, by: u32) -> Self;
    /// Returns the smaller of each two lanes, as signed numbers.
    fn min(self, other: Self) -> Self;
    /// Returns the greater of each two lanes, as signed numbers.
    fn max(self, other: Self) -> Self;
    /// Returns the smaller of each two lanes, as unsigned numbers.
    fn min_unsigned(self, other: Self) -> Self;
    /// Returns all ones in lanes that are equal.
    fn equal(self, other: Self) -> Self;
    /// Returns all ones in lanes of `self` that are greater, as signed numbers.
    fn greater(self, other: Self) -> Self;
    /// Returns `yes` in the lanes of `self` that are all ones, and `no` in those that are 0.
    fn select(self, yes: Self, no: Self) -> Self;
    /// Returns the least of each four lanes, as signed numbers, in all four.
    fn min_of_quad(self) -> Self;
    /// Returns lane `at & 7` in all lanes.
    fn broadcast_lane(self, at: u32) -> Self;
    /// Returns, in each lane, lane `at & 3` of its four lanes.
    fn shuffle_in_quad(self, at: Self) -> Self;
    /// Returns, in each lane, byte `at` of the sixteen bytes of its four lanes; `at` must be below
    /// 16 (otherwise the result is arbitrary).
    fn shuffle_bytes(self, at: Self) -> Self;
    /// Returns, for each four lanes, the even lanes of both vectors, and the odd ones.
    fn unzip(self, other: Self) -> [Self; 2];
    /// Returns the uppermost bits of the lanes.
    fn movemask(self) -> u32;
    /// Converts the signed numbers to floats.
    fn to_floats(self) -> Self::Floats;
    /// Reinterprets the bits as floats.
    fn as_floats(self) -> Self::Floats;
    /// Returns `table[lane & 255]`.
    fn lookup(self, table: &[u32; 256]) -> Self;
    /// Returns `table[lane]`, or the last entry for lanes beyond it.
    fn lookup_in<const N: usize>(self, table: &[u32; N]) -> Self;

    /// Applies [`half_to_f32`](crate::format::float::half_to_f32) to all lanes, whose upper halves
    /// must be 0.
    #[inline(always)]
    fn half_to_f32(self) -> Self {
        let sign = (self & Self::splat(0x8000)).shl(16);
        let magnitude = self & Self::splat(0x7fff);
        let shifted = magnitude.shl(13);
        let normal = shifted + Self::splat(112 << 23);
        let min = Self::splat(0x3880_0000);
        let denormal = ((min | shifted).as_floats() - min.as_floats()).bits();
        let special = shifted | Self::splat(0x7f80_0000);
        let finite = Self::splat(0x400).greater(magnitude).select(denormal, normal);
        sign | magnitude.greater(Self::splat(0x7bff)).select(special, finite)
    }

    /// Converts the lower and the upper halves of the lanes from binary16 to floats; not-a-number
    /// may become quiet.
    #[inline(always)]
    fn halves_to_f32(self) -> [Self; 2] {
        [(self & Self::splat(0xffff)).half_to_f32(), self.shr(16).half_to_f32()]
    }

    /// Returns true if every half of a lane, as a binary16, is a number.
    #[inline(always)]
    fn halves_are_numbers(self) -> bool {
        let lower = (self & Self::splat(0x7fff)).greater(Self::splat(0x7c00));
        let upper = (self & Self::splat(0x7fff_0000)).greater(Self::splat(0x7c00_0000));
        (lower | upper).movemask() == 0
    }

    /// Returns all ones in the lanes in `mask`, and 0 in the others.
    #[inline(always)]
    fn from_mask(mask: u32) -> Self {
        let bits = Self::from_array([1, 2, 4, 8, 16, 32, 64, 128]);
        (Self::splat(mask) & bits).equal(bits)
    }
}

/// A vector of eight floats.
pub trait Floats: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    /// The vector type of the same lanes as integers.
    type Ints: Ints<Floats = Self>;
    /// Returns a vector with `value` in all lanes.
    fn splat(value: f32) -> Self;
    /// Returns `if self < other { self } else { other }`.
    fn min(self, other: Self) -> Self;
    /// Returns `if self > other { self } else { other }`.
    fn max(self, other: Self) -> Self;
    /// Returns `self * by + and`, with one rounding.
    fn mul_add(self, by: Self, and: Self) -> Self;
    /// Returns `self * by + and` if the product is exact, so that one rounding and two give the
    /// same result.
    #[inline(always)]
    fn mul_add_exact_product(self, by: Self, and: Self) -> Self {
        self * by + and
    }
    /// Rounds down to an integer.
    fn floor(self) -> Self;
    /// Rounds up to an integer.
    fn ceil(self) -> Self;
    /// Rounds to the nearest integer, with ties to even.
    fn round(self) -> Self;
    /// Returns the square root.
    fn sqrt(self) -> Self;
    /// Returns all ones in lanes that are greater.
    fn greater(self, other: Self) -> Self::Ints;
    /// Returns all ones in lanes that are greater or equal.
    fn greater_or_equal(self, other: Self) -> Self::Ints;
    /// Truncates to integers; the result is arbitrary for numbers that do not fit.
    fn truncate_to_int(self) -> Self::Ints;
    /// Reinterprets the bits as integers.
    fn bits(self) -> Self::Ints;
    /// Returns lane `N` of each four lanes, in all four.
    fn broadcast_in_quad<const N: i32>(self) -> Self;
    /// Returns `self / 255.0`, for 0 and for positive numbers up to 2^100.
    #[inline(always)]
    fn div_255(self) -> Self {
        self / Self::splat(255.0)
    }
}

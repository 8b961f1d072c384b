//! The encodings of bfloat16 and of floats of 8 bits.

#![forbid(unsafe_code)]

/// Format of a small float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SmallFloat {
    /// The upper half of a binary32 number.
    BFloat16,
    /// 4 bits of exponent, 3 of fraction; no infinities, one NaN per sign.
    E4M3,
    /// 5 bits of exponent, 2 of fraction: the upper half of a binary16 number.
    E5M2,
}

impl SmallFloat {
    /// Returns the format with the width and the encoding of an OpTypeFloat.
    pub fn of(bits: u32, encoding: u32) -> Option<SmallFloat> {
        match (bits, encoding) {
            (16, 0) => Some(SmallFloat::BFloat16),
            (8, 4214) => Some(SmallFloat::E4M3),
            (8, 4215) => Some(SmallFloat::E5M2),
            _ => None,
        }
    }

    /// Returns the width in bits.
    pub fn bits(self) -> u32 {
        if self == SmallFloat::BFloat16 { 16 } else { 8 }
    }

    /// Returns the number of bits of the fraction, and the exponent of the smallest normal number.
    fn format(self) -> (i32, i32) {
        match self {
            SmallFloat::BFloat16 => (7, -126),
            SmallFloat::E4M3 => (3, -6),
            SmallFloat::E5M2 => (2, -14),
        }
    }

    /// Returns the bits of infinity, or of NaN if the format has no infinity.
    fn beyond(self) -> u64 {
        match self {
            SmallFloat::BFloat16 => 0x7f80,
            SmallFloat::E4M3 => 0x7f,
            SmallFloat::E5M2 => 0x7c,
        }
    }

    /// Returns the value of a constant.
    pub fn value(self, bits: u64) -> f64 {
        let (fraction, least) = self.format();
        let magnitude = bits & ((1 << (self.bits() - 1)) - 1);
        let value = if magnitude >= self.beyond() {
            if magnitude == self.beyond() && self != SmallFloat::E4M3 { f64::INFINITY } else { f64::NAN }
        } else {
            let (field, steps) = ((magnitude >> fraction) as i32, magnitude & ((1 << fraction) - 1));
            let steps = if field == 0 { steps } else { steps | 1 << fraction };
            steps as f64 * 2f64.powi(field.max(1) - 1 + least - fraction)
        };
        if magnitude == bits { value } else { -value }
    }

    /// Returns the bits of the number nearest to a constant.
    pub fn nearest(self, x: f64) -> u64 {
        let (fraction, least) = self.format();
        let sign = u64::from(x.is_sign_negative()) << (self.bits() - 1);
        let x = x.abs();
        if x.is_nan() {
            return sign | self.beyond() | 1 << (fraction - 1);
        }
        let exponent = ((x.to_bits() >> 52) as i32 - 1023).max(least);
        let unit = 2f64.powi(exponent - fraction);
        let rounded = (x / unit).round_ties_even() * unit;
        if rounded > f64::from(self.largest()) {
            return sign | self.beyond();
        }
        // A carry increments the exponent.
        sign | (((exponent - least) as u64) << fraction).wrapping_add((rounded / unit) as u64)
    }

    /// Returns the largest finite number.
    pub fn largest(self) -> f32 {
        match self {
            SmallFloat::BFloat16 => f32::from_bits(0x7f7f_0000),
            SmallFloat::E4M3 => 448.0,
            SmallFloat::E5M2 => 57344.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SmallFloat::{self, BFloat16, E4M3, E5M2};

    /// Checks that every value has its own bits, and that a value in the middle of two gets the
    /// even ones.
    #[test]
    fn every_number_round_trips() {
        for small in [BFloat16, E4M3, E5M2] {
            let count = 1u64 << (small.bits() - 1);
            for bits in 0..count {
                let x = small.value(bits);
                if x.is_nan() {
                    assert!(small.value(small.nearest(x)).is_nan());
                    continue;
                }
                let sign = count;
                assert_eq!((small.nearest(x), small.nearest(-x)), (bits, bits | sign), "{small:?} {bits:x}");
                let next = small.value(bits + 1);
                if bits + 1 < count && next.is_finite() {
                    let even = bits + (bits & 1);
                    assert_eq!(small.nearest(f64::midpoint(x, next)), even, "{small:?} {bits:x}");
                }
            }
        }
        assert_eq!([447.0, 464.0, 465.0].map(|x| E4M3.nearest(x)), [0x7e, 0x7e, 0x7f]);
        assert_eq!([61439.0, 61440.0, f64::INFINITY].map(|x| E5M2.nearest(x)), [0x7b, 0x7c, 0x7c]);
        assert_eq!(SmallFloat::of(16, 1), None);
    }
}

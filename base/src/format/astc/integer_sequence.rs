//! Sequences of integers, which encode weights and colours. The numbers of a range have some bits
//! below a trit or a quint, of which five or three are packed together. Tables give the values of
//! the numbers (specification: "Integer Sequence Encoding", "Endpoint Unquantization", "Weight
//! Unquantization").

#![forbid(unsafe_code)]

/// The scaling to the whole range of a number that has a digit of base 3 or 5 above its bits. It is
/// the digit times a factor, plus the bits except the lowest at these positions (negative: to the
/// right).
type Scale = (u32, &'static [i32]);

/// A range of numbers: `0..radix << bits`.
#[derive(Clone, Copy)]
pub struct SequenceRange {
    /// Base of the digit: 1 (no digit), 3 or 5.
    radix: u8,
    bits: u8,
    colour: Scale,
    weight: Scale,
}

const fn range(radix: u8, bits: u8, colour: Scale, weight: Scale) -> SequenceRange {
    SequenceRange { radix, bits, colour, weight }
}

const fn plain(bits: u8) -> SequenceRange {
    range(1, bits, (0, &[]), (0, &[]))
}

/// All ranges, the smallest first. Weights use one of the first twelve, and colours one from
/// [`FIRST_COLOUR`] on.
pub const RANGES: [SequenceRange; 21] = [
    plain(1),
    range(3, 0, (0, &[]), (0, &[])),
    plain(2),
    range(5, 0, (0, &[]), (0, &[])),
    range(3, 1, (204, &[]), (50, &[])),
    plain(3),
    range(5, 1, (113, &[]), (28, &[])),
    range(3, 2, (93, &[8, 4, 2, 1]), (23, &[6, 2, 0])),
    plain(4),
    range(5, 2, (54, &[8, 3, 2]), (13, &[6, 1])),
    range(3, 3, (44, &[7, 2, 0]), (11, &[5, 0])),
    plain(5),
    range(5, 3, (26, &[7, 1, -1]), (0, &[])),
    range(3, 4, (22, &[6, 0]), (0, &[])),
    plain(6),
    range(5, 4, (13, &[6, -1]), (0, &[])),
    range(3, 5, (11, &[5, -2]), (0, &[])),
    plain(7),
    range(5, 5, (6, &[5, -3]), (0, &[])),
    range(3, 6, (5, &[4, -4]), (0, &[])),
    plain(8),
];

/// Index of the smallest range of colours.
pub const FIRST_COLOUR: usize = 4;

impl SequenceRange {
    /// Returns the number of bits of a sequence of `count` numbers.
    pub const fn size(&self, count: u32) -> u32 {
        let digits = match self.radix {
            1 => 0,
            3 => (8 * count).div_ceil(5),
            _ => (7 * count).div_ceil(3),
        };
        digits + count * self.bits as u32
    }

    /// Returns the value of a number in `0..1 << width`.
    const fn scaled(&self, number: u32, width: u32, (factor, places): Scale) -> u32 {
        let bits = self.bits as i32;
        if self.radix == 1 {
            let (mut all, mut at) = (0, width as i32 - bits);
            while at > -bits {
                all |= shifted(number, at);
                at -= bits;
            }
            return all;
        }
        // There is one bit more than at the end; the bit below the lowest is dropped.
        let (digit, ones) = (number >> bits, (1 << (width + 1)) - 1);
        let upper = (number & ((1 << bits) - 1)) >> 1;
        let (mut sum, mut i) = (digit * factor, 0);
        while i < places.len() {
            sum += shifted(upper, places[i]);
            i += 1;
        }
        let inverted = if number & 1 == 1 { ones } else { 0 };
        inverted & 1 << (width - 1) | (sum ^ inverted) >> 2
    }
}

const fn shifted(number: u32, places: i32) -> u32 {
    if places >= 0 { number << places } else { number >> -places }
}

/// Values in 0..=255 of the numbers of a range as colours, from [`FIRST_COLOUR`] on.
pub static COLOURS: [[u8; 256]; RANGES.len() - FIRST_COLOUR] = {
    let mut all = [[0; 256]; RANGES.len() - FIRST_COLOUR];
    let mut r = 0;
    while r < all.len() {
        let range = RANGES[FIRST_COLOUR + r];
        let mut number = 0;
        while number < (range.radix as usize) << range.bits {
            all[r][number] = range.scaled(number as u32, 8, range.colour) as u8;
            number += 1;
        }
        r += 1;
    }
    all
};

/// Values in 0..=64 of the numbers of a range as weights.
pub static WEIGHTS: [[u8; 32]; 12] = {
    let mut all = [[0; 32]; 12];
    let mut r = 0;
    while r < all.len() {
        let range = RANGES[r];
        let mut number = 0;
        while number < (range.radix as usize) << range.bits {
            let weight = match (range.radix, range.bits) {
                (3, 0) => [0, 32, 63][number],
                (5, 0) => [0, 16, 32, 47, 63][number],
                _ => range.scaled(number as u32, 6, range.weight),
            };
            all[r][number] = (weight + (weight > 32) as u32) as u8;
            number += 1;
        }
        r += 1;
    }
    all
};

/// The digits of five trits that are packed in 8 bits.
static TRITS: [[u8; 5]; 256] = {
    let mut all = [[0; 5]; 256];
    let mut packed = 0;
    while packed < 256 {
        let t = packed as u8;
        let (c, t3, t4) = if t >> 2 & 7 == 7 {
            (t >> 3 & 0x1c | t & 3, 2, 2)
        } else if t >> 5 & 3 == 3 {
            (t & 0x1f, t >> 7, 2)
        } else {
            (t & 0x1f, t >> 5 & 3, t >> 7)
        };
        let [t0, t1, t2] = if c & 3 == 3 {
            [c >> 2 & 2 | c >> 2 & !(c >> 3) & 1, c >> 4, 2]
        } else if c >> 2 & 3 == 3 {
            [c & 3, 2, 2]
        } else {
            [c & 2 | c & !(c >> 1) & 1, c >> 2 & 3, c >> 4]
        };
        all[packed] = [t0, t1, t2, t3, t4];
        packed += 1;
    }
    all
};

/// The digits of three quints that are packed in 7 bits.
static QUINTS: [[u8; 3]; 128] = {
    let mut all = [[0; 3]; 128];
    let mut packed = 0;
    while packed < 128 {
        let q = packed as u8;
        let marked = q >> 1 & 3 == 3;
        all[packed] = if marked && q >> 5 == 0 {
            let low = if q & 1 == 1 { 0 } else { q >> 3 & 3 };
            [4, 4, q << 2 & 4 | low]
        } else {
            let (c, q2) = if marked { (q & 0x18 | (!q >> 5 & 3) << 1 | q & 1, 4) } else { (q & 0x1f, q >> 5) };
            if c & 7 == 5 { [c >> 3, 4, q2] } else { [c & 7, c >> 3, q2] }
        };
        packed += 1;
    }
    all
};

/// Largest number of values of a sequence.
pub const MAX_COUNT: usize = 64;
/// Memory for the values and for the rest of the last group of digits; its length is a power of
/// two.
pub type SequenceValues = [u8; 128];

/// Returns the values, by a range's table, of the first `count` numbers (at most [`MAX_COUNT`]) in
/// `stream`. Bits after the sequence are ignored.
pub fn unpack<const N: usize>(range: &SequenceRange, table: &[u8; N], stream: u128, count: usize) -> SequenceValues {
    let mut out = [0; 128];
    let (bits, count) = (u32::from(range.bits), count.min(MAX_COUNT));
    let mask = (1 << bits) - 1;
    let size = range.size(count as u32);
    let mut rest = if size < 128 { stream & ((1 << size) - 1) } else { stream };
    let value = |digit: u8, low: u64| table[(usize::from(digit) << bits | (low & mask) as usize) % N];
    match range.radix {
        1 => {
            for out in &mut out[..count] {
                *out = value(0, rest as u64);
                rest >>= bits;
            }
        }
        3 => {
            // The bits of one number each lie below the first, third, fourth, ... of the packed
            // bits.
            for out in out.as_chunks_mut::<5>().0.iter_mut().take(count.div_ceil(5)) {
                let b = rest as u64;
                let packed = b >> bits & 3
                    | (b >> (2 * bits) & 0xc)
                    | (b >> (3 * bits) & 0x10)
                    | (b >> (4 * bits) & 0x60)
                    | (b >> (5 * bits) & 0x80);
                let lows = [b, b >> (bits + 2), b >> (2 * bits + 4), b >> (3 * bits + 5), b >> (4 * bits + 7)];
                let digits = &TRITS[packed as usize % 256];
                for i in 0..5 {
                    out[i] = value(digits[i], lows[i]);
                }
                rest >>= 5 * bits + 8;
            }
        }
        _ => {
            for out in out.as_chunks_mut::<3>().0.iter_mut().take(count.div_ceil(3)) {
                let b = rest as u64;
                let packed = b >> bits & 7 | (b >> (2 * bits) & 0x18) | (b >> (3 * bits) & 0x60);
                let lows = [b, b >> (bits + 3), b >> (2 * bits + 5)];
                let digits = &QUINTS[packed as usize % 128];
                for i in 0..3 {
                    out[i] = value(digits[i], lows[i]);
                }
                rest >>= 3 * bits + 7;
            }
        }
    }
    out
}

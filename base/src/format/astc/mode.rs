//! The properties of a block's weights for all values of its first bits (specification: "Block
//! Mode"), and the range that is left to its colours ("Data Size Determination").

#![forbid(unsafe_code)]

use super::integer_sequence::{FIRST_COLOUR, MAX_COUNT, RANGES};

/// The layout of the weights of a block.
#[derive(Clone, Copy)]
pub struct BlockMode {
    /// Width of the grid.
    pub width: u8,
    /// Height of the grid.
    pub height: u8,
    /// Number of planes of weights: 1 or 2.
    pub planes: u8,
    /// Index in [`RANGES`].
    pub range: u8,
    /// Number of bits of all weights, 24 to 96; 0 for reserved modes and for those with other
    /// sizes.
    pub bits: u8,
}

const ILLEGAL: BlockMode = BlockMode { width: 0, height: 0, planes: 1, range: 0, bits: 0 };

/// Modes by the first 11 bits of a block.
pub static MODES: [BlockMode; 2048] = {
    let mut all = [ILLEGAL; 2048];
    let mut i = 0;
    while i < 2048 {
        all[i] = mode(i as u32);
        i += 1;
    }
    all
};

const fn mode(bits: u32) -> BlockMode {
    let (a, b, seventh) = (bits >> 5 & 3, bits >> 7 & 3, bits >> 7 & 1);
    let mut precise = bits >> 9 & 1;
    let mut planes = (bits >> 10 & 1) + 1;
    let [width, height, range] = if bits & 3 != 0 {
        let range = bits >> 4 & 1 | (bits & 3) << 1;
        let [width, height] = match bits >> 2 & 3 {
            0 => [b + 4, a + 2],
            1 => [b + 8, a + 2],
            2 => [a + 2, b + 8],
            _ if b < 2 => [a + 2, seventh + 6],
            _ => [seventh + 2, a + 2],
        };
        [width, height, range]
    } else {
        let range = bits >> 4 & 1 | (bits >> 2 & 3) << 1;
        let [width, height] = match b {
            0 => [12, a + 2],
            1 => [a + 2, 12],
            2 => {
                let height = (bits >> 9 & 3) + 6;
                (precise, planes) = (0, 1);
                [a + 6, height]
            }
            _ if a == 0 => [6, 10],
            _ if a == 1 => [10, 6],
            _ => return ILLEGAL,
        };
        [width, height, range]
    };
    if range < 2 {
        return ILLEGAL;
    }
    let (range, count) = ((range - 2 + 6 * precise) as usize, width * height * planes);
    let bits = RANGES[range].size(count);
    if count > MAX_COUNT as u32 || bits < 24 || bits > 96 {
        return ILLEGAL;
    }
    BlockMode { width: width as u8, height: height as u8, planes: planes as u8, range: range as u8, bits: bits as u8 }
}

/// Largest number of values that the colours of a block have.
const MAX_COLOURS: usize = 18;

/// The greatest range in which sequences of a number of pairs fit a number of bits, counted from
/// the first range of colours, plus 1; 0 if there is none.
static COLOUR_RANGES: [[u8; 128]; MAX_COLOURS / 2 + 1] = {
    let mut all = [[0; 128]; MAX_COLOURS / 2 + 1];
    let mut pairs = 1;
    while pairs < all.len() {
        let mut bits = 0;
        while bits < 128 {
            let mut range = FIRST_COLOUR;
            while range < RANGES.len() {
                if RANGES[range].size(2 * pairs as u32) as usize <= bits {
                    all[pairs][bits] = (range - FIRST_COLOUR + 1) as u8;
                }
                range += 1;
            }
            bits += 1;
        }
        pairs += 1;
    }
    all
};

/// Returns the range of `count` colour values (an even number) in `bits` bits, counted from the
/// first range of colours; `None` if that is illegal.
pub fn colour_range(count: u32, bits: u32) -> Option<usize> {
    let range = *COLOUR_RANGES.get(count as usize / 2)?.get(bits as usize)?;
    usize::from(range).checked_sub(1)
}

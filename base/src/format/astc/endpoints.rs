//! Ends of the lines on which colours lie: the meaning of the numbers of a partition
//! (specification: "Endpoint Interpretation").

#![forbid(unsafe_code)]

/// A colour: numbers of 8 bits, or of 12 if they are logarithms.
pub type Colour = [i32; 4];

/// Two colours between which a partition's colours lie.
#[derive(Clone, Copy, Debug, Default)]
pub struct Endpoints {
    /// Colours of weight 0 and of weight 64.
    pub colours: [Colour; 2],
    /// Flags of components that are logarithms (HDR): those of the colour, and alpha.
    pub logarithms: [bool; 2],
}

/// The value 1.0 as a logarithm.
const ONE: i32 = 0x780;

/// Returns how many numbers a mode takes.
pub const fn numbers(mode: u32) -> u32 {
    2 * (mode >> 2) + 2
}

/// Returns true if the colour of a mode is given in logarithms (HDR).
pub const fn is_hdr(mode: u32) -> bool {
    matches!(mode, 2 | 3 | 7 | 11 | 14 | 15)
}

/// Returns the ends that a mode (0..=15) makes of its numbers; further numbers are ignored.
pub fn endpoints(mode: u32, v: [u8; 8]) -> Endpoints {
    let v = v.map(i32::from);
    let grey = |l: i32, alpha: i32| [l, l, l, alpha];
    let scaled = |alpha: i32| [(v[0] * v[3]) >> 8, (v[1] * v[3]) >> 8, (v[2] * v[3]) >> 8, alpha];
    let colours = match mode {
        0 => [grey(v[0], 255), grey(v[1], 255)],
        1 => {
            let low = v[0] >> 2 | v[1] & 0xc0;
            [grey(low, 255), grey((low + (v[1] & 0x3f)).min(255), 255)]
        }
        2 | 3 => luminance(mode, v[0], v[1]).map(|l| grey(l, ONE)),
        4 => [grey(v[0], v[2]), grey(v[1], v[3])],
        5 => {
            let ([l, by], [alpha, alpha_by]) = (bit_transfer_signed(v[0], v[1]), bit_transfer_signed(v[2], v[3]));
            [grey(l, alpha), grey(l + by, alpha + alpha_by)].map(to_bytes)
        }
        6 => [scaled(255), [v[0], v[1], v[2], 255]],
        7 => scaled_logarithms(v),
        8 => direct([v[0], v[2], v[4], 255], [v[1], v[3], v[5], 255]),
        9 => offsets([
            bit_transfer_signed(v[0], v[1]),
            bit_transfer_signed(v[2], v[3]),
            bit_transfer_signed(v[4], v[5]),
            [255, 0],
        ]),
        10 => [scaled(v[4]), [v[0], v[1], v[2], v[5]]],
        11 => logarithms(v, [ONE; 2]),
        12 => direct([v[0], v[2], v[4], v[6]], [v[1], v[3], v[5], v[7]]),
        13 => offsets([
            bit_transfer_signed(v[0], v[1]),
            bit_transfer_signed(v[2], v[3]),
            bit_transfer_signed(v[4], v[5]),
            bit_transfer_signed(v[6], v[7]),
        ]),
        14 => logarithms(v, [v[6], v[7]]),
        _ => logarithms(v, alpha_logarithms(v[6], v[7])),
    };
    Endpoints { colours, logarithms: [is_hdr(mode), is_hdr(mode) && mode != 14] }
}

/// Implements `bit_transfer_signed`: returns a base of 8 bits, one of which comes from the offset's
/// number, and an offset of 6 bits.
fn bit_transfer_signed(base: i32, by: i32) -> [i32; 2] {
    let six = by >> 1 & 0x3f;
    [base >> 1 | by & 0x80, (six ^ 0x20) - 0x20]
}

fn to_bytes(colour: Colour) -> Colour {
    colour.map(|c| c.clamp(0, 255))
}

/// Implements `blue_contract`.
fn blue_contract([r, g, b, a]: Colour) -> Colour {
    [(r + b) >> 1, (g + b) >> 1, b, a]
}

fn sum([r, g, b, _]: Colour) -> i32 {
    r + g + b
}

/// Returns two colours; they are contracted if they are in the other order.
fn direct(first: Colour, second: Colour) -> [Colour; 2] {
    if sum(second) >= sum(first) { [first, second] } else { [blue_contract(second), blue_contract(first)] }
}

/// Returns a colour, and the sum of it and an offset.
fn offsets(components: [[i32; 2]; 4]) -> [Colour; 2] {
    let (first, by) = (components.map(|c| c[0]), components.map(|c| c[1]));
    let second = components.map(|c| c[0] + c[1]);
    if sum(by) >= 0 { [first, second].map(to_bytes) } else { [second, first].map(blue_contract).map(to_bytes) }
}

/// Returns the ends of modes 2 and 3: grey, of a large or of a small range.
fn luminance(mode: u32, v0: i32, v1: i32) -> [i32; 2] {
    match (mode, v0 & 0x80 != 0) {
        (2, _) if v1 >= v0 => [v0 << 4, v1 << 4],
        (2, _) => [(v1 << 4) + 8, (v0 << 4) - 8],
        (_, coarse) => {
            let (shift, mask) = if coarse { (2, 0xe0) } else { (1, 0xf0) };
            let low = (v1 & mask) << 4 | (v0 & 0x7f) << shift;
            [low, (low + ((v1 & !mask & 0xff) << shift)).min(0xfff)]
        }
    }
}

fn bit(number: i32, at: u32) -> i32 {
    number >> at & 1
}

/// The target of a bit that belongs to different numbers in different modes: the modes (as a mask),
/// the index of the bit, the number, and the position in the number.
type BitPlacement = (u32, usize, usize, u32);

fn place_bits<const N: usize>(mode: u32, bits: &[i32], places: &[BitPlacement], numbers: &mut [i32; N]) {
    for &(modes, which, number, place) in places {
        if modes >> mode & 1 == 1 {
            numbers[number] |= bits[which] << place;
        }
    }
}

/// Bits of mode 7, whose numbers are red, green, blue and scale.
const PLACES_7: &[BitPlacement] = &[
    (0x30, 0, 1, 6),
    (0x0a, 0, 0, 8),
    (0x05, 0, 0, 9),
    (0x3a, 1, 1, 5),
    (0x05, 1, 0, 8),
    (0x30, 2, 2, 6),
    (0x0f, 2, 0, 7),
    (0x3a, 3, 2, 5),
    (0x04, 3, 0, 6),
    (0x01, 3, 0, 10),
    (0x04, 4, 3, 7),
    (0x3b, 4, 0, 6),
    (0x2d, 5, 3, 6),
    (0x10, 5, 0, 7),
    (0x02, 5, 0, 10),
    (0x3d, 6, 3, 5),
    (0x02, 6, 0, 9),
];

/// Returns the ends of mode 7: a colour, and one that is darker by the scale in all components.
fn scaled_logarithms(v: [i32; 8]) -> [Colour; 2] {
    let all = v[0] >> 6 & 3 | bit(v[1], 7) << 2 | bit(v[2], 7) << 3;
    let (major, mode) = match all {
        15 => (0, 5),
        12.. => (all & 3, 4),
        _ => (all >> 2, all & 3),
    };
    let mut numbers = [v[0] & 0x3f, v[1] & 0x1f, v[2] & 0x1f, v[3] & 0x1f];
    let bits = [(v[1], 6), (v[1], 5), (v[2], 6), (v[2], 5), (v[3], 7), (v[3], 6), (v[3], 5)].map(|(v, at)| bit(v, at));
    place_bits(mode as u32, &bits, PLACES_7, &mut numbers);
    let [red, green, blue, scale] = numbers.map(|n| n << [1, 1, 2, 3, 4, 5][mode as usize]);
    let mut colour = if mode == 5 { [red, green, blue] } else { [red, red - green, red - blue] };
    colour.swap(0, major as usize);
    [scale, 0].map(|by| {
        let [r, g, b] = colour.map(|c| (c - by).clamp(0, 0xfff));
        [r, g, b, ONE]
    })
}

/// Bits of mode 11, whose numbers are a, b0, b1 and c.
const PLACES_11: &[BitPlacement] = &[
    (0xa4, 0, 0, 9),
    (0x5b, 0, 1, 6),
    (0xa0, 1, 0, 10),
    (0x04, 1, 3, 6),
    (0x5b, 1, 2, 6),
    (0x08, 2, 0, 9),
    (0xc0, 2, 0, 11),
    (0x20, 2, 3, 7),
    (0x12, 2, 1, 7),
    (0xe8, 3, 3, 6),
    (0x12, 3, 2, 7),
    (0x50, 4, 0, 9),
    (0x50, 5, 0, 10),
];

/// Returns the ends of mode 11, and the colours of modes 14 and 15.
fn logarithms(v: [i32; 8], alpha: [i32; 2]) -> [Colour; 2] {
    let major = bit(v[4], 7) | bit(v[5], 7) << 1;
    if major == 3 {
        return [0, 1].map(|i| [v[i] << 4, v[2 + i] << 4, (v[4 + i] & 0x7f) << 5, alpha[i]]);
    }
    let mode = bit(v[1], 7) | bit(v[2], 7) << 1 | bit(v[3], 7) << 2;
    let mut numbers = [v[0] | (v[1] & 0x40) << 2, v[2] & 0x3f, v[3] & 0x3f, v[1] & 0x3f];
    let bits = [(v[2], 6), (v[3], 6), (v[4], 6), (v[5], 6), (v[4], 5), (v[5], 5)].map(|(v, at)| bit(v, at));
    place_bits(mode as u32, &bits, PLACES_11, &mut numbers);
    let unused = 32 - [7, 6, 7, 6, 5, 6, 5, 6][mode as usize];
    let shift = (mode >> 1) ^ 3;
    let ([a, b0, b1, c], [d0, d1]) =
        (numbers.map(|n| n << shift), [v[4], v[5]].map(|d| d << unused >> unused << shift));
    let colours = [[a - c, a - b0 - c - d0, a - b1 - c - d1], [a, a - b0, a - b1]];
    [0, 1].map(|i| {
        let mut colour = colours[i].map(|n: i32| n.clamp(0, 0xfff));
        colour.swap(0, major as usize);
        [colour[0], colour[1], colour[2], alpha[i]]
    })
}

/// Returns the alpha of mode 15.
fn alpha_logarithms(v6: i32, v7: i32) -> [i32; 2] {
    let mode = bit(v6, 7) | bit(v7, 7) << 1;
    let (first, by) = (v6 & 0x7f, v7 & 0x7f);
    if mode == 3 {
        return [first << 5, by << 5];
    }
    let first = (first | by << (mode + 1) & 0x780) << (4 - mode);
    let sign = 0x20 >> mode;
    let by = ((by & 0x3f >> mode ^ sign) - sign) << (4 - mode);
    [first, (first + by).clamp(0, 0xfff)]
}

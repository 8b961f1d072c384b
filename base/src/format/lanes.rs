//! Unpacking and packing of the texels of all lanes at once: the conversions of `pack`, as loops
//! over lanes.
//!
//! Texels are stored as words: word `w` of lane `i`'s texel is `words[w][i]`, little-endian, with
//! unused bits 0. Unpacked texels are component first, `texels[c][i]`. No channel of a usable
//! format crosses a word.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

pub use super::Lanes;
use super::float::pack_shared_exponent;
pub use super::row::row;
use super::row::{FormatRow, UNORM8, encode, mask};
use super::{ChannelType, srgb};
use crate::abi::MAX_LANES;
use crate::host::{Floats, Host, Ints};

/// The texel kinds that filters know: [`FormatRow::four`]. All but [`NarrowTexel`] have four
/// components.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilterTexel {
    /// Unsigned normalised bytes; the array has the byte of each component.
    Unorm([usize; 4]),
    /// Unsigned normalised bytes as integers; filtered values are divided by 255. The array has the
    /// byte of each component.
    Integers([usize; 4]),
    /// Unsigned normalised bytes with sRGB colours, whose alpha is the last byte. The array has the
    /// byte of each component.
    Srgb([usize; 4]),
    /// Halves, in order.
    Half,
    /// Unsigned floats of 11, 11 and 10 bits, in order, and an alpha of 1.
    Packed,
    /// Fewer than four components.
    Narrow(NarrowTexel),
}

/// Texels of one or two unsigned normalised components, in order, each in the uppermost bits of a
/// byte or of two. Missing green and blue are 0, and alpha is 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NarrowTexel {
    /// Number of components.
    pub components: usize,
    /// Number of bits of each component, at least 8.
    pub bits: u8,
    /// True if 8-bit components are read as integers, so that filtered values are divided by 255.
    pub raw: bool,
}

impl NarrowTexel {
    /// Returns the number of bytes of a component.
    #[inline(always)]
    pub const fn component_bytes(self) -> usize {
        if self.bits == 8 { 1 } else { 2 }
    }

    /// Returns the number of bytes of a texel.
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        self.components * self.component_bytes()
    }
}

impl FilterTexel {
    /// Returns true if the four components are one word.
    #[inline(always)]
    pub const fn is_word(self) -> bool {
        matches!(self, FilterTexel::Unorm(_) | FilterTexel::Integers(_) | FilterTexel::Srgb(_) | FilterTexel::Packed)
    }

    /// Returns the number of words of a texel.
    #[inline(always)]
    pub const fn words(self) -> usize {
        if matches!(self, FilterTexel::Half) { 2 } else { 1 }
    }

    /// Returns the kind with unsigned normalised components as integers (`raw`) or as values.
    #[inline(always)]
    #[must_use]
    pub const fn raw(self, raw: bool) -> FilterTexel {
        match self {
            FilterTexel::Unorm(at) | FilterTexel::Integers(at) if raw => FilterTexel::Integers(at),
            FilterTexel::Unorm(at) | FilterTexel::Integers(at) => FilterTexel::Unorm(at),
            FilterTexel::Narrow(few) => FilterTexel::Narrow(NarrowTexel { raw: raw && few.bits == 8, ..few }),
            other => other,
        }
    }
}

/// Applies [`f32_to_half`](super::float::f32_to_half) to all lanes, which are bits of floats.
#[inline(always)]
pub fn to_half<I: Ints>(bits: I) -> I {
    let sign = bits.shr(16) & I::splat(0x8000);
    let magnitude = bits & I::splat(0x7fff_ffff);
    let half = I::splat(0x3f00_0000);
    let denormal = (magnitude.as_floats() + half.as_floats()).bits() - half;
    let odd = magnitude.shr(13) & I::splat(1);
    let normal = (magnitude - I::splat((112 << 23) - 0xfff) + odd).shr(13);
    let finite = I::splat(0x3880_0000).greater(magnitude).select(denormal, normal);
    let nan = magnitude.greater(I::splat(0x7f80_0000)) & I::splat(0x0200);
    sign | magnitude.greater(I::splat(0x477f_ffff)).select(I::splat(0x7c00) | nan, finite)
}

/// Applies [`decode`](super::row::decode) to all lanes.
#[inline(always)]
fn decode<I: Ints>(ty: ChannelType, bits: u8, raw: I) -> I {
    let unused = 32 - u32::from(bits);
    let signed = || raw.shl(unused).sar(unused);
    let float = I::Floats::splat;
    let value = match ty {
        ChannelType::Uint => return raw,
        ChannelType::Sint => return signed(),
        ChannelType::Sfloat if bits == 32 => return raw,
        ChannelType::Sfloat => return raw.half_to_f32(),
        // The format is a half without a sign and with fewer mantissa bits.
        ChannelType::Ufloat => return raw.shl(15 - u32::from(bits)).half_to_f32(),
        ChannelType::Srgb => return raw.lookup(&srgb::DECODE),
        ChannelType::Unorm if bits == 8 => {
            let raw = raw.to_floats();
            raw.mul_add_exact_product(float(UNORM8[0]), raw * float(UNORM8[1]))
        }
        ChannelType::Unorm => raw.to_floats() / float(mask(bits) as f32),
        ChannelType::Snorm => (signed().to_floats() / float(mask(bits - 1) as f32)).max(float(-1.0)),
        ChannelType::Uscaled => raw.to_floats(),
        ChannelType::Sscaled => signed().to_floats(),
    };
    value.bits()
}

impl<const I: usize> FormatRow<I> {
    /// Returns the kind of the row's texels, if filters know it; with `raw`, unsigned normalised
    /// ones are integers.
    pub const fn four(raw: bool) -> Option<FilterTexel> {
        if Self::is_packed() {
            return Some(FilterTexel::Packed);
        }
        if let Some(few) = Self::few() {
            return Some(FilterTexel::Narrow(few).raw(raw));
        }
        let (mut at, mut unorm, mut srgb, mut half) = ([0; 4], Self::BYTES == 4, Self::BYTES == 4, Self::BYTES == 8);
        let mut c = 0;
        while c < 4 {
            let Some(channel) = Self::channel(c) else { return None };
            let channel = Self::INFO.channels[channel];
            let bytes = channel.bits == 8 && channel.shift % 8 == 0;
            unorm &= bytes && matches!(channel.ty, ChannelType::Unorm);
            srgb &= bytes && if c < 3 { matches!(channel.ty, ChannelType::Srgb) } else { channel.shift == 24 };
            half &= matches!(channel.ty, ChannelType::Sfloat) && channel.shift as usize == 16 * c;
            at[c] = channel.shift as usize / 8;
            c += 1;
        }
        match (unorm, srgb, half) {
            (true, ..) => Some(FilterTexel::Unorm(at).raw(raw)),
            (_, true, _) => Some(FilterTexel::Srgb(at)),
            (.., true) => Some(FilterTexel::Half),
            _ => None,
        }
    }

    /// Returns the description of [`FilterTexel::Narrow`], if the row is of that kind.
    const fn few() -> Option<NarrowTexel> {
        let few = NarrowTexel {
            components: Self::INFO.channel_count as usize,
            bits: Self::INFO.channels[0].bits,
            raw: false,
        };
        if few.components > 2 || few.bits < 8 || Self::BYTES == 0 || Self::BYTES != few.bytes() {
            return None;
        }
        let mut c = 0;
        while c < few.components {
            let channel = Self::INFO.channels[c];
            let unorm = matches!(channel.ty, ChannelType::Unorm) && channel.bits == few.bits;
            let end = 8 * few.component_bytes() * (c + 1);
            let lies = channel.shift as usize + few.bits as usize == end;
            if !unorm || !lies || !matches!(Self::component(c), Some(component) if component == c) {
                return None;
            }
            c += 1;
        }
        Some(few)
    }

    /// Returns true if the row is of kind [`FilterTexel::Packed`].
    const fn is_packed() -> bool {
        let mut packed = !Self::SHARED_EXPONENT && Self::INFO.channel_count == 3;
        let mut c = 0;
        while packed && c < 3 {
            let Some(channel) = Self::channel(c) else { return false };
            let channel = Self::INFO.channels[channel];
            packed = matches!(channel.ty, ChannelType::Ufloat) && channel.shift as usize == 11 * c;
            c += 1;
        }
        packed && Self::BYTES == 4
    }

    /// Flags of the components that are channels; the others are the same in every texel.
    pub const HAS: [bool; 4] = [
        Self::channel(0).is_some(),
        Self::channel(1).is_some(),
        Self::channel(2).is_some(),
        Self::channel(3).is_some(),
    ];

    /// Returns the channel of a component.
    const fn channel(component: usize) -> Option<usize> {
        let mut channel = 0;
        while channel < 4 {
            if matches!(Self::component(channel), Some(c) if c == component) {
                return Some(channel);
            }
            channel += 1;
        }
        None
    }

    /// Returns component `C` of the texels of all lanes; with `RAW`, if [`Self::RAW`] is set, as an
    /// integer. With `QUIET`, not-a-number may become quiet.
    #[inline(always)]
    pub fn component_lanes<V: Ints, const C: usize, const RAW: bool, const QUIET: bool>(words: &[V; 4]) -> V {
        if Self::SHARED_EXPONENT && C < 3 {
            let mantissa = words[0].shr(9 * C as u32) & V::splat(511);
            let scale = (words[0].shr(27) + V::splat(127 - 24)).shl(23);
            return (mantissa.to_floats() * scale.as_floats()).bits();
        }
        let Some(channel) = (const { Self::channel(C) }).filter(|_| !Self::SHARED_EXPONENT) else {
            let raw = RAW && Self::RAW && C == 3;
            return V::splat(if raw { Self::SCALE.to_bits() } else { const { Self::EMPTY[C] } });
        };
        let channel = Self::INFO.channels[channel];
        let (word, shift) = (usize::from(channel.shift) / 32, u32::from(channel.shift) % 32);
        if QUIET && matches!((channel.ty, channel.bits), (ChannelType::Sfloat, 16)) {
            return words[word].halves_to_f32()[shift as usize / 16];
        }
        let raw = words[word].shr(shift);
        // No channel lies above the uppermost one.
        let raw = if shift + u32::from(channel.bits) < 32 { raw & V::splat(mask(channel.bits)) } else { raw };
        if RAW && Self::RAW { raw.to_floats().bits() } else { decode(channel.ty, channel.bits, raw) }
    }

    /// True if each of the channels is a binary16.
    const HALVES: bool = {
        let mut halves = Self::INFO.channel_count > 0;
        let mut c = 0;
        while c < Self::INFO.channel_count as usize {
            let channel = Self::INFO.channels[c];
            halves &= matches!(channel.ty, ChannelType::Sfloat) && channel.bits == 16;
            c += 1;
        }
        halves
    };

    /// Returns true if `QUIET` makes [`Self::component_lanes`] faster and gives the same bits.
    #[inline(always)]
    pub fn is_quiet<V: Ints>(words: &[V; 4]) -> bool {
        Self::HALVES && words[0].halves_are_numbers() && (Self::BYTES <= 4 || words[1].halves_are_numbers())
    }

    /// Returns the texels of all lanes.
    #[inline(always)]
    pub fn unpack_lanes<V: Ints>(words: &[V; 4]) -> [V; 4] {
        [
            Self::component_lanes::<V, 0, false, false>(words),
            Self::component_lanes::<V, 1, false, false>(words),
            Self::component_lanes::<V, 2, false, false>(words),
            Self::component_lanes::<V, 3, false, false>(words),
        ]
    }

    /// True if there are only unsigned normalised channels of 8 bits.
    const RAW: bool = {
        let mut raw = Self::INFO.channel_count > 0;
        let mut c = 0;
        while c < Self::INFO.channel_count as usize {
            let channel = Self::INFO.channels[c];
            raw &= matches!(channel.ty, ChannelType::Unorm) && channel.bits == 8;
            c += 1;
        }
        raw
    };

    /// Divisor of raw components.
    const SCALE: f32 = 255.0;

    #[inline(always)]
    fn write_lanes<const C: usize>(texels: &Lanes, words: &mut Lanes) {
        let channel = const { Self::INFO.channels[C] };
        let Some(component) = (const { Self::component(C) }) else { return };
        let (word, shift) = (channel.shift as usize / 32, channel.shift % 32);
        for i in 0..MAX_LANES {
            words[word][i] |= encode(channel.ty, channel.bits, texels[component][i]) << shift;
        }
    }

    /// Returns the words of the texels of all lanes.
    #[inline(always)]
    pub fn pack_lanes(texels: &Lanes) -> Lanes {
        let mut words = [[0; MAX_LANES]; 4];
        if Self::SHARED_EXPONENT {
            for i in 0..MAX_LANES {
                words[0][i] = pack_shared_exponent([0, 1, 2].map(|c: usize| f32::from_bits(texels[c][i])));
            }
            return words;
        }
        Self::write_lanes::<0>(texels, &mut words);
        Self::write_lanes::<1>(texels, &mut words);
        Self::write_lanes::<2>(texels, &mut words);
        Self::write_lanes::<3>(texels, &mut words);
        words
    }
}

crate::multiversion! {
    /// Converts words to texels by [`FormatRow::unpack_lanes`]; does nothing for a row without
    /// conversions.
    pub(super) unsafe fn unpack [const I: usize] [I] (words: &Lanes, texels: &mut Lanes) {
        if FormatRow::<I>::BYTES != 0 {
            let of = <H as Host>::Ints::from_array;
            let [r, g, b, a] = FormatRow::<I>::unpack_lanes(&[of(words[0]), of(words[1]), of(words[2]), of(words[3])]);
            *texels = [r.to_array(), g.to_array(), b.to_array(), a.to_array()];
        }
    }
    /// Converts texels to words by [`FormatRow::pack_lanes`].
    pub(super) unsafe fn pack [const I: usize] [I] (texels: &Lanes, words: &mut Lanes) {
        if FormatRow::<I>::BYTES != 0 {
            *words = FormatRow::<I>::pack_lanes(texels);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, TABLE, kernels};
    use crate::host::{Portable, SimdLevel};
    use crate::random::Rng;

    fn same_texel(a: u32, b: u32) -> bool {
        a == b || f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
    }

    crate::multiversion! {
        unsafe fn to_half_here(bits: &[u32; MAX_LANES], out: &mut [u32; MAX_LANES]) {
            *out = to_half(<H as Host>::Ints::from_array(*bits)).to_array();
        }
    }

    #[test]
    fn halves_of_lanes_are_those_of_one() {
        let mut rng = Rng(0x4a1f);
        for round in 0..100_000u32 {
            // Values are around the ends of the ranges, or have any bits.
            let end = [0, 0x3880_0000, 0x477f_e000, 0x4780_0000, 0x7f80_0000][round as usize % 5];
            let bits: [u32; MAX_LANES] = std::array::from_fn(|i| match i % 4 {
                0 => rng.next(),
                _ => (end + rng.next() % 0x8000 - 0x4000 * u32::from(end > 0)) | rng.next() & 0x8000_0000,
            });
            for level in SimdLevel::all_supported() {
                let mut out = [0; MAX_LANES];
                // SAFETY: the host has the level.
                unsafe { to_half_here(level)(&bits, &mut out) };
                assert_eq!(
                    out,
                    bits.map(|b| super::super::float::f32_to_half(f32::from_bits(b))),
                    "{level:?} {bits:x?}"
                );
            }
        }
    }

    /// Compares conversions of random texels of a row in lanes with those one by one.
    fn check<const I: usize>() {
        let one = kernels(Format(I as u16));
        assert_eq!(one.bytes, FormatRow::<I>::BYTES);
        let mut rng = Rng(0x1357_9bdf_0246_8ace + I as u64);
        for round in 0..4000 {
            let mut words: Lanes = std::array::from_fn(|_| std::array::from_fn(|_| rng.next()));
            let mut blocks = [[0u8; 16]; MAX_LANES];
            for i in 0..MAX_LANES {
                for w in 0..4 {
                    blocks[i][4 * w..4 * w + 4].copy_from_slice(&words[w][i].to_le_bytes());
                }
                blocks[i][one.bytes..].fill(0);
                for w in 0..4 {
                    let at = &blocks[i][4 * w..4 * w + 4];
                    words[w][i] = u32::from_le_bytes([at[0], at[1], at[2], at[3]]);
                }
            }
            let texels =
                FormatRow::<I>::unpack_lanes(&words.map(<Portable as Host>::Ints::from_array)).map(Ints::to_array);
            for i in 0..MAX_LANES {
                let want = (one.unpack_one)(&blocks[i]);
                for c in 0..4 {
                    assert!(same_texel(texels[c][i], want[c]), "{} {:x?} {want:x?}", TABLE[I].name, blocks[i]);
                }
            }
            // Values have any bits, are floats around the normalised and the half range, or are
            // special values.
            let special =
                [0, 1, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x4780_0000, 0x477f_f000, 0x3880_0000];
            let value = |rng: &mut Rng| match round % 4 {
                0 => rng.next(),
                1 => (rng.next() as f32 / 2f32.powi(30) - 1.5).to_bits(),
                2 => (rng.next() & 0x8fff_ffff) + 0x3800_0000,
                _ => special[rng.next() as usize % special.len()],
            };
            let texels: Lanes = std::array::from_fn(|_| std::array::from_fn(|_| value(&mut rng)));
            let words = FormatRow::<I>::pack_lanes(&texels);
            for i in 0..MAX_LANES {
                let want = (one.pack_one)([texels[0][i], texels[1][i], texels[2][i], texels[3][i]]);
                for w in 0..4 {
                    assert_eq!(words[w][i].to_le_bytes(), want[4 * w..4 * w + 4], "{} {texels:x?}", TABLE[I].name);
                }
            }
        }
    }

    crate::multiversion! {
        unsafe fn encode(x: &[u32; MAX_LANES], codes: &mut [u32; MAX_LANES]) {
            *codes = srgb::linear_lanes_to_srgb(<H as Host>::Ints::from_array(*x).as_floats()).to_array();
        }
        unsafe fn decode(codes: &[u32; MAX_LANES], x: &mut [u32; MAX_LANES]) {
            *x = srgb::srgb_lanes_to_linear(<H as Host>::Ints::from_array(*codes)).bits().to_array();
        }
    }

    #[test]
    fn srgb_lanes_are_single_values() {
        for level in SimdLevel::all_supported() {
            let mut out = [0; MAX_LANES];
            for first in (0..u32::MAX - 40_009).step_by(40_009) {
                // Some values are around the thresholds.
                let near = srgb::THRESHOLD[first as usize % 255].to_bits();
                let x =
                    core::array::from_fn(|i| if i < 4 { first.wrapping_add(i as u32) } else { near + i as u32 - 6 });
                // SAFETY: the host has the level.
                unsafe { encode(level)(&x, &mut out) };
                assert_eq!(out, x.map(|x| u32::from(srgb::linear_to_srgb(f32::from_bits(x)))), "{level:?} {x:x?}");
            }
            for first in (0..256).step_by(MAX_LANES) {
                let codes = core::array::from_fn(|i| first + i as u32);
                // SAFETY: the host has the level.
                unsafe { decode(level)(&codes, &mut out) };
                assert_eq!(out, codes.map(|code| srgb::srgb_to_linear(code as u8).to_bits()), "{level:?}");
            }
        }
    }

    #[test]
    fn lanes_convert_as_single_texels_do() {
        check::<{ row("R8_UNORM") }>();
        check::<{ row("R8G8_SNORM") }>();
        check::<{ row("R8G8B8A8_UNORM") }>();
        check::<{ row("B8G8R8A8_SRGB") }>();
        check::<{ row("R8G8B8A8_SINT") }>();
        check::<{ row("R16_UNORM") }>();
        check::<{ row("R16G16_SFLOAT") }>();
        check::<{ row("R16G16B16A16_UINT") }>();
        check::<{ row("R16G16B16A16_SNORM") }>();
        check::<{ row("R32_SFLOAT") }>();
        check::<{ row("R32G32_SINT") }>();
        check::<{ row("R32G32B32A32_SFLOAT") }>();
        check::<{ row("R10X6G10X6_UNORM_2PACK16") }>();
        check::<{ row("R12X4G12X4B12X4A12X4_UNORM_4PACK16") }>();
        check::<{ row("R5G6B5_UNORM_PACK16") }>();
        check::<{ row("A2B10G10R10_UNORM_PACK32") }>();
        check::<{ row("A2R10G10B10_UINT_PACK32") }>();
        check::<{ row("B10G11R11_UFLOAT_PACK32") }>();
        check::<{ row("E5B9G9R9_UFLOAT_PACK32") }>();
        check::<{ row("X8_D24_UNORM_PACK32") }>();
    }

    #[test]
    fn unorm8_is_the_division() {
        for raw in 0..256u32 {
            assert_eq!(crate::format::row::unorm8(raw).to_bits(), (raw as f32 / 255.0).to_bits(), "{raw}");
        }
    }
}

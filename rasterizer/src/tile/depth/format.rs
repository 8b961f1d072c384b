//! Storage formats of depth.

/// The storage format of depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthFormat {
    /// 16-bit normalised depth.
    D16,
    /// 24-bit normalised depth in the low bits of 32.
    D24,
    /// 32-bit float depth.
    F32,
}

impl DepthFormat {
    /// Returns the storage of a format by the width of its depth channel; `None` if it has none.
    pub fn from_format(format: base::format::Format) -> Option<DepthFormat> {
        let info = format.info();
        let channels = &info.channels[..usize::from(info.channel_count)];
        let depth = channels.iter().find(|c| c.name == base::format::ChannelName::D)?;
        match depth.bits {
            16 => Some(DepthFormat::D16),
            24 => Some(DepthFormat::D24),
            32 => Some(DepthFormat::F32),
            _ => None,
        }
    }

    /// Returns the least resolvable difference for the depth bias; `None` for float depth.
    pub fn unit(self) -> Option<f32> {
        match self {
            DepthFormat::D16 => Some(1.0 / 65536.0),
            DepthFormat::D24 => Some(1.0 / 16_777_216.0),
            DepthFormat::F32 => None,
        }
    }

    /// Returns the stored bits of a depth.
    pub fn encode(self, z: f32) -> u32 {
        match self {
            DepthFormat::D16 => u32::from(D16::quantize(z)),
            DepthFormat::D24 => D24::quantize(z),
            DepthFormat::F32 => z.to_bits(),
        }
    }

    /// Returns the depth that stored bits represent.
    #[inline(always)]
    pub fn value(self, raw: u32) -> f32 {
        match self {
            DepthFormat::D16 => D16::value(raw as u16),
            DepthFormat::D24 => D24::value(raw),
            DepthFormat::F32 => f32::from_bits(raw),
        }
    }

    /// Widens `low..=high` by `count` texels from `p` on; the range becomes not-a-number if a texel
    /// is.
    ///
    /// # Safety
    /// The texels are readable and aligned, and no thread writes them.
    pub unsafe fn row_range(self, p: *const u8, count: usize, low: &mut f32, high: &mut f32) {
        // SAFETY: the texels are readable and aligned (`# Safety`).
        unsafe {
            match self {
                DepthFormat::D16 => range_of::<D16>(p.cast(), count, low, high),
                DepthFormat::D24 => range_of::<D24>(p.cast(), count, low, high),
                DepthFormat::F32 => range_of::<F32>(p.cast(), count, low, high),
            }
        }
    }

    /// Returns the number of bytes of a texel.
    #[cfg(test)]
    pub fn bytes(self) -> usize {
        if self == DepthFormat::D16 { 2 } else { 4 }
    }
}

/// A stored depth format.
pub trait DepthTexel {
    type Raw: Copy + PartialOrd + Default;
    fn quantize(z: f32) -> Self::Raw;
    /// Clears the bits that have no meaning, in which a copy may have left anything.
    #[inline(always)]
    fn known(raw: Self::Raw) -> Self::Raw {
        raw
    }
    fn value(raw: Self::Raw) -> f32;
}

pub struct D16;
pub struct D24;
pub struct F32;

/// Widens a range of depths by texels of a format (see [`DepthFormat::row_range`]).
///
/// # Safety
/// The texels are readable and aligned, and no thread writes them.
#[inline(always)]
unsafe fn range_of<T: DepthTexel>(p: *const T::Raw, count: usize, low: &mut f32, high: &mut f32) {
    for i in 0..count {
        // SAFETY: the texels are readable and aligned (`# Safety`).
        let value = T::value(unsafe { *p.add(i) });
        // The comparisons are written so that not-a-number stays.
        *low = if *low <= value { *low } else { value };
        *high = if *high >= value { *high } else { value };
    }
}

/// Adding 1.5 * 2^52 to a number leaves the nearest integer in the low bits of the sum.
pub const NEAREST: f64 = 6_755_399_441_055_744.0;

/// Returns the nearest integer to `z * max`, with ties to even; the product is exact in f64.
/// Not-a-number gives 0.
#[inline(always)]
fn nearest(z: f32, max: f64) -> u32 {
    let z = if z > 0.0 { z } else { 0.0 };
    let z = if z < 1.0 { z } else { 1.0 };
    (f64::from(z) * max + NEAREST).to_bits() as u32
}

impl DepthTexel for D16 {
    type Raw = u16;
    #[inline(always)]
    fn quantize(z: f32) -> u16 {
        nearest(z, 65535.0) as u16
    }
    #[inline(always)]
    fn value(raw: u16) -> f32 {
        f32::from(raw) / 65535.0
    }
}
impl DepthTexel for D24 {
    type Raw = u32;
    #[inline(always)]
    fn quantize(z: f32) -> u32 {
        nearest(z, 16_777_215.0)
    }
    #[inline(always)]
    fn known(raw: u32) -> u32 {
        raw & 0xff_ffff
    }
    #[inline(always)]
    fn value(raw: u32) -> f32 {
        (f64::from(D24::known(raw)) / 16_777_215.0) as f32
    }
}
impl DepthTexel for F32 {
    type Raw = f32;
    #[inline(always)]
    fn quantize(z: f32) -> f32 {
        z
    }
    #[inline(always)]
    fn value(raw: f32) -> f32 {
        raw
    }
}

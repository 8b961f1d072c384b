//! How depth is stored.

/// Storage of depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthFormat {
    /// 16-bit normalised.
    D16,
    /// 24-bit normalised in the low bits of 32.
    D24,
    /// 32-bit float.
    F32,
}

impl DepthFormat {
    /// By the depth channel's width.
    pub fn of(format: base::format::Format) -> Option<DepthFormat> {
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

    /// Least resolvable difference for the depth bias; `None` for float.
    pub fn unit(self) -> Option<f32> {
        match self {
            DepthFormat::D16 => Some(1.0 / 65536.0),
            DepthFormat::D24 => Some(1.0 / 16_777_216.0),
            DepthFormat::F32 => None,
        }
    }

    /// Stored bits of a depth.
    pub fn encode(self, z: f32) -> u32 {
        match self {
            DepthFormat::D16 => u32::from(D16::quantize(z)),
            DepthFormat::D24 => D24::quantize(z),
            DepthFormat::F32 => z.to_bits(),
        }
    }

    /// What stored bits are worth.
    #[inline(always)]
    pub fn value(self, raw: u32) -> f32 {
        match self {
            DepthFormat::D16 => D16::value(raw as u16),
            DepthFormat::D24 => D24::value(raw),
            DepthFormat::F32 => f32::from_bits(raw),
        }
    }

    /// Widens `low..=high` by `count` texels from `p` on; to nothing when one is not a number.
    ///
    /// # Safety
    /// The texels are readable, aligned, and nobody writes them.
    pub unsafe fn row_range(self, p: *const u8, count: usize, low: &mut f32, high: &mut f32) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                DepthFormat::D16 => range_of::<D16>(p.cast(), count, low, high),
                DepthFormat::D24 => range_of::<D24>(p.cast(), count, low, high),
                DepthFormat::F32 => range_of::<F32>(p.cast(), count, low, high),
            }
        }
    }

    /// Bytes of a texel.
    #[cfg(test)]
    pub fn bytes(self) -> usize {
        if self == DepthFormat::D16 { 2 } else { 4 }
    }
}

/// One stored depth format.
pub trait Texel {
    type Raw: Copy + PartialOrd + Default;
    fn quantize(z: f32) -> Self::Raw;
    /// Without bits that mean nothing: a copy may have left anything there.
    #[inline(always)]
    fn known(raw: Self::Raw) -> Self::Raw {
        raw
    }
    fn value(raw: Self::Raw) -> f32;
}

pub struct D16;
pub struct D24;
pub struct F32;

/// See [`DepthFormat::row_range`].
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn range_of<T: Texel>(p: *const T::Raw, count: usize, low: &mut f32, high: &mut f32) {
    for i in 0..count {
        // SAFETY: the caller's promise.
        let value = T::value(unsafe { *p.add(i) });
        // Written so that not-a-number stays.
        *low = if *low <= value { *low } else { value };
        *high = if *high >= value { *high } else { value };
    }
}

/// 1.5 * 2^52 leaves the nearest integer in the low bits of a sum.
pub const NEAREST: f64 = 6_755_399_441_055_744.0;

/// Nearest integer to `z * max`, ties to even; the product is exact in f64. Not-a-number gives 0.
#[inline(always)]
fn nearest(z: f32, max: f64) -> u32 {
    let z = if z > 0.0 { z } else { 0.0 };
    let z = if z < 1.0 { z } else { 1.0 };
    (f64::from(z) * max + NEAREST).to_bits() as u32
}

impl Texel for D16 {
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
impl Texel for D24 {
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
impl Texel for F32 {
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

//! Children of a node that are hit, packed in the order in which they are to be visited.

#[cfg(target_arch = "aarch64")]
use base::host::Neon;
use base::host::Portable;
#[cfg(target_arch = "x86_64")]
use base::host::{Avx2, Avx512, Sse41};
use base::host::{Floats, Host, Ints};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// Children with their distances; those behind the first `count` have no meaning.
pub struct Packed {
    /// The children's words, the first one to be visited last.
    pub children: [u32; 8],
    /// Bits of the distances.
    pub distances: [u32; 8],
    /// Number of children.
    pub count: u32,
}

/// Packing on the hosts of a level.
pub trait Pack: Host {
    /// Packs the children whose far distance is at least the near one. Bits `3 * i..3 * i + 3` of
    /// `order` have the slot of the child at place `i`.
    fn pack(near: Self::Floats, far: Self::Floats, children: Self::Ints, order: u32) -> Packed;
}

/// Packs one child after the other.
#[inline(always)]
fn pack_each<H: Host>(near: H::Floats, far: H::Floats, children: H::Ints, order: u32) -> Packed {
    let hit = far.greater_or_equal(near).movemask();
    let (from, near) = (children.to_array(), near.bits().to_array());
    let mut packed = Packed { children: [0; 8], distances: [0; 8], count: 0 };
    for place in 0..8 {
        let slot = (order >> (3 * place) & 7) as usize;
        let at = packed.count as usize & 7;
        (packed.children[at], packed.distances[at]) = (from[slot], near[slot]);
        packed.count += hit >> slot & 1;
    }
    packed
}

impl Pack for Portable {
    #[inline(always)]
    fn pack(near: Self::Floats, far: Self::Floats, children: Self::Ints, order: u32) -> Packed {
        pack_each::<Self>(near, far, children, order)
    }
}

#[cfg(target_arch = "aarch64")]
impl Pack for Neon {
    #[inline(always)]
    fn pack(near: Self::Floats, far: Self::Floats, children: Self::Ints, order: u32) -> Packed {
        pack_each::<Self>(near, far, children, order)
    }
}

#[cfg(target_arch = "x86_64")]
impl Pack for Sse41 {
    #[inline(always)]
    fn pack(near: Self::Floats, far: Self::Floats, children: Self::Ints, order: u32) -> Packed {
        pack_each::<Self>(near, far, children, order)
    }
}

/// Places of the ones of each number of eight bits, in ascending order.
#[cfg(target_arch = "x86_64")]
static PLACES: [[u8; 8]; 256] = {
    let mut places = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if mask >> bit & 1 != 0 {
                places[mask][count] = bit as u8;
                count += 1;
            }
            bit += 1;
        }
        mask += 1;
    }
    places
};

/// Returns vectors of distances and children in the order.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ordered(near: [u32; 8], far: [u32; 8], children: [u32; 8], order: u32) -> [__m256i; 3] {
    // SAFETY: the host has AVX2, because only its levels with AVX2 call this function; any bits of
    // a vector are valid.
    unsafe {
        let shifts = _mm256_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21);
        let slots = _mm256_srlv_epi32(_mm256_set1_epi32(order as i32), shifts);
        // Without a closure, which the compiler may separate from the features of its level.
        let [near, far, children] = core::mem::transmute::<[[u32; 8]; 3], [__m256i; 3]>([near, far, children]);
        [
            _mm256_permutevar8x32_epi32(near, slots),
            _mm256_permutevar8x32_epi32(far, slots),
            _mm256_permutevar8x32_epi32(children, slots),
        ]
    }
}

#[cfg(target_arch = "x86_64")]
impl Pack for Avx2 {
    #[inline(always)]
    fn pack(near: Self::Floats, far: Self::Floats, children: Self::Ints, order: u32) -> Packed {
        let [near, far, children] = ordered(near.bits().to_array(), far.bits().to_array(), children.to_array(), order);
        // SAFETY: the host has AVX2, because `Host` requires the level; a row of the table has the
        // eight bytes that are read; any bits of a vector are valid.
        unsafe {
            let hit = _mm256_cmp_ps::<_CMP_GE_OQ>(_mm256_castsi256_ps(far), _mm256_castsi256_ps(near));
            let mask = _mm256_movemask_ps(hit) as u32 & 0xff;
            let places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(PLACES[mask as usize].as_ptr().cast()));
            let packed =
                |lanes: __m256i| core::mem::transmute::<__m256i, [u32; 8]>(_mm256_permutevar8x32_epi32(lanes, places));
            Packed { children: packed(children), distances: packed(near), count: mask.count_ones() }
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Pack for Avx512 {
    #[inline(always)]
    fn pack(near: Self::Floats, far: Self::Floats, children: Self::Ints, order: u32) -> Packed {
        let [near, far, children] = ordered(near.bits().to_array(), far.bits().to_array(), children.to_array(), order);
        // SAFETY: the host has AVX-512, because `Host` requires the level; any bits of a vector are
        // valid.
        unsafe {
            let hit = _mm256_cmp_ps_mask::<_CMP_GE_OQ>(_mm256_castsi256_ps(far), _mm256_castsi256_ps(near));
            let packed =
                |lanes: __m256i| core::mem::transmute::<__m256i, [u32; 8]>(_mm256_maskz_compress_epi32(hit, lanes));
            Packed { children: packed(children), distances: packed(near), count: u32::from(hit).count_ones() }
        }
    }
}

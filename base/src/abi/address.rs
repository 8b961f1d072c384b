//! Address spaces: the table with which generated code checks a physical pointer in a few
//! instructions.
//!
//! All device memory of a heap lies in one reserved range of host addresses, which is cut into
//! granules. A table has a byte per granule, which is not 0 if the granule has live memory. An
//! access is checked by its first byte. It may end after the last live granule, because at least
//! [`ADDRESS_TAIL`] bytes after every live granule are readable and writable. They belong to no
//! allocation, so such a load reads any value and such a store reaches no memory. The allocation
//! that is accessed is not checked, as on any device without protection between buffers.

#![forbid(unsafe_code)]

use super::layout::layout;

/// Number of bytes per granule, as a power of two.
pub const ADDRESS_GRANULE_BITS: u32 = 16;

/// Number of bytes after live memory that may be accessed. No access that is checked by its first
/// byte is larger.
pub const ADDRESS_TAIL: usize = 64;

/// Readable zeros.
#[repr(C, align(64))]
struct Zeros([u8; ADDRESS_TAIL]);

static ZEROS: Zeros = Zeros([0; ADDRESS_TAIL]);

/// The addresses of a heap's device memory, as the module header describes. An address is live if
/// `live[min((address - base) >> ADDRESS_GRANULE_BITS, last)]` is not 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AddressSpace {
    /// Address of the first granule.
    pub base: u64,
    /// Index of the last granule, which is never live.
    pub last: u64,
    /// One byte per granule, which is not 0 if the granule is live; written while shaders run.
    pub live: *const u8,
    /// Number of granules from each granule to the end of its allocation, the granule included; 0
    /// if it belongs to none.
    pub runs: *const u32,
    /// Address of [`ADDRESS_TAIL`] zeros, which a load from an address that is not live reads.
    pub zeros: *const u8,
}

layout!(AddressSpace { base, last, live, runs, zeros });

impl AddressSpace {
    /// The space in which no address is live.
    pub const EMPTY: AddressSpace = AddressSpace {
        base: 0,
        last: 0,
        live: ZEROS.0.as_ptr(),
        runs: ZEROS.0.as_ptr().cast(),
        zeros: ZEROS.0.as_ptr(),
    };

    /// Makes the space of `granules` granules from `base`, the last of which is never live.
    ///
    /// `live` must have a readable byte and `runs` a readable number per granule as long as a
    /// shader may use the space.
    pub fn new(base: *const u8, granules: usize, live: *const u8, runs: *const u32) -> AddressSpace {
        AddressSpace { base: base as u64, last: granules.saturating_sub(1) as u64, live, runs, zeros: ZEROS.0.as_ptr() }
    }
}

//! Where device addresses may point: what lets generated code check a physical pointer in a handful of instructions.
//!
//! All device memory of a heap lies in one reserved range of host addresses, cut into granules; a table says of each granule whether
//! memory is alive there. An access is checked by its first byte. It may end behind the last live granule, since at least [`ADDRESS_TAIL`] bytes behind every
//! live granule can be read and written: they belong to no allocation, so such a load reads any value and such a store reaches no memory.
//! Which allocation is hit is not checked, as on any device without protection between buffers.

#![forbid(unsafe_code)]

use super::layout::layout;

/// Bytes per granule, as a power of two.
pub const ADDRESS_GRANULE_BITS: u32 = 16;

/// Bytes behind live memory that may be touched: no access that is checked by its first byte has more.
pub const ADDRESS_TAIL: usize = 64;

/// Readable zeros.
#[repr(C, align(64))]
struct Zeros([u8; ADDRESS_TAIL]);

static ZEROS: Zeros = Zeros([0; ADDRESS_TAIL]);

/// See the module header. An address is live when `live[min((address - base) >> ADDRESS_GRANULE_BITS, last)]` is not 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AddressSpace {
    /// Address of the first granule.
    pub base: u64,
    /// Index of the last granule, which is never live.
    pub last: u64,
    /// A byte per granule, written while shaders run.
    pub live: *const u8,
    /// By granule: how many follow of the same allocation, itself among them; 0 where there is none.
    pub runs: *const u32,
    /// [`ADDRESS_TAIL`] zeros: what a load from anywhere else reads.
    pub zeros: *const u8,
}

layout!(AddressSpace { base, last, live, runs, zeros });

impl AddressSpace {
    /// No address is live.
    pub const EMPTY: AddressSpace = AddressSpace {
        base: 0,
        last: 0,
        live: ZEROS.0.as_ptr(),
        runs: ZEROS.0.as_ptr().cast(),
        zeros: ZEROS.0.as_ptr(),
    };

    /// The space of granules from `base`, the last of which is never live.
    ///
    /// `live` and `runs` must have a readable byte, and number, per granule as long as a shader may use the space.
    pub fn new(base: *const u8, granules: usize, live: *const u8, runs: *const u32) -> AddressSpace {
        AddressSpace { base: base as u64, last: granules.saturating_sub(1) as u64, live, runs, zeros: ZEROS.0.as_ptr() }
    }
}

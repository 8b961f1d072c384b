//! The version of everything on which generated code relies; code that was made for another version
//! does not fit.

#![forbid(unsafe_code)]

use super::address::{ADDRESS_GRANULE_BITS, ADDRESS_TAIL};
use super::context::ShaderContext;
use super::descriptor::{
    AccelerationStructureDescriptor, BufferDescriptor, DESCRIPTOR_SIZE, ImageDescriptor, SET_HEADER, SetHeader,
};
use super::image::{ImageArgs, KERNEL_ATOMIC, KERNEL_FETCH, KERNEL_SAMPLE, KERNEL_STORE};
use super::layout::{Hash, Layout};
use super::ray_query::{RAY_COMMITTED, RAY_QUERY_ALIGN, RAY_QUERY_BYTES, RayArguments, RayGetter};
use super::slots::SlotLayout;
use super::stage::{BatchKind, RectangleBatch};

/// Version of the interface. It is a hash of every helper, and of every struct, enumeration and
/// array order from which generated code takes offsets or numbers. (The layout of a type includes
/// that of the types to which it points.)
pub const VERSION: u64 = {
    let mut hash = Hash::new("grus abi");
    let mut i = 0;
    while i < BatchKind::ALL.len() {
        hash = hash.number(BatchKind::ALL[i].layout());
        i += 1;
    }
    let slots = SlotLayout::new(5, 8);
    hash.number(ShaderContext::HASH)
        .number(RectangleBatch::HASH)
        .number(SetHeader::HASH)
        .number(BufferDescriptor::HASH)
        .number(ImageDescriptor::HASH)
        .number(AccelerationStructureDescriptor::HASH)
        .number(RayArguments::HASH)
        .number(RayGetter::HASH)
        .number(RAY_QUERY_BYTES as u64)
        .number(RAY_QUERY_ALIGN as u64)
        .number(RAY_COMMITTED as u64)
        .number(ImageArgs::HASH)
        .number(DESCRIPTOR_SIZE as u64)
        .number(SET_HEADER as u64)
        .number(crate::deferred_atomics::DEFERRED_BYTES as u64)
        .number(ADDRESS_GRANULE_BITS as u64)
        .number(ADDRESS_TAIL as u64)
        .number(KERNEL_FETCH as u64)
        .number(KERNEL_STORE as u64)
        .number(KERNEL_ATOMIC as u64)
        .number(KERNEL_SAMPLE as u64)
        .number(crate::shader::FrameInfo::GROUP as u64)
        .number(slots.word(19, 3) as u64)
        .number(slots.word(10, 4) as u64)
        .finish()
};

#[cfg(test)]
mod tests {
    use super::super::helper::{ArgumentKind, HELPERS, Helper, HelperRow, HelperTable, hash_of_helpers};
    use super::*;

    #[test]
    fn changed_helper_row_changes_version() {
        // The table is in the context, and the context is in the version; `layout` tests that
        // layouts are passed on.
        assert_eq!(HelperTable::HASH, hash_of_helpers(HELPERS));
        let row = |change: &dyn Fn(&mut HelperRow)| {
            let mut rows = HELPERS.to_vec();
            change(&mut rows[1]);
            hash_of_helpers(&rows)
        };
        let others = [
            row(&|r| r.name = "fma_f16"),
            row(&|r| r.signature = "a: *const f64"),
            row(&|r| r.arguments = &[ArgumentKind::Word]),
            row(&|r| r.offset += 8),
            hash_of_helpers(&HELPERS[..1]),
            hash_of_helpers(&[HELPERS[1], HELPERS[0]]),
        ];
        assert!(others.iter().all(|&other| other != HelperTable::HASH));
        assert_eq!(row(&|_| ()), HelperTable::HASH);
    }

    #[test]
    fn helper_rows_are_in_table_order() {
        assert_eq!(Helper::FmaF32.row().name, "fma_f32");
        assert_eq!(Helper::ImageDivergent.row().arguments, [ArgumentKind::Pointer; 3]);
        assert_eq!(Helper::FmaF32.row().arguments[4], ArgumentKind::Word);
        assert!(HELPERS.iter().enumerate().all(|(i, row)| row.offset == 8 * i));
        assert_eq!(size_of::<HelperTable>(), 8 * HELPERS.len());
    }
}

//! Descriptors as they are laid out in descriptor set memory.
//!
//! Every descriptor of every type is 16 bytes, so that a binding's array stride is constant and
//! mutable descriptor types cost nothing. A slot that was never written holds the null descriptor
//! of its type, never a null pointer. Generated code dereferences descriptors without a check; a
//! null descriptor's range or extents are 0.

use super::image::{ImageView, Sampler};
use super::layout::layout;

/// Size and array stride of one descriptor, in bytes.
pub const DESCRIPTOR_SIZE: usize = 16;

/// Number of bytes after the address of a buffer descriptor that may be accessed whatever its range
/// is, because inactive lanes of a gather read there.
pub const BUFFER_BYTES: u64 = 16;

/// The header in the memory of a descriptor set, at [`SET_HEADER`] from its address.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SetHeader {
    /// Number of descriptors of the set's variable-count binding; for an inline uniform block, the
    /// number of bytes.
    pub variable_count: u32,
    _pad: [u32; 3],
}

impl SetHeader {
    /// Makes a header.
    pub fn new(variable_count: u32) -> SetHeader {
        SetHeader { variable_count, _pad: [0; 3] }
    }
}

/// Byte offset of [`SetHeader`] from a set's address, which is negative.
pub const SET_HEADER: i32 = -(size_of::<SetHeader>() as i32);

/// A descriptor of a uniform or storage buffer. Dynamic ones are resolved into
/// [`super::ShaderContext::dynamic_buffers`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BufferDescriptor {
    /// First byte of the bound range, which is never null. At least [`BUFFER_BYTES`] bytes after it
    /// are readable and writable.
    pub address: *mut u8,
    /// Number of bytes of the bound range; 0 for a null descriptor. An access is in bounds if
    /// `offset + size <= range`.
    pub range: u64,
}

/// A descriptor of a sampled image, storage image, combined image sampler, sampler, input
/// attachment or texel buffer.
///
/// A texel buffer view is an [`ImageView`] with `dim == Dim::Buffer`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ImageDescriptor {
    /// View, which is never null (the null view has extents 0), except in a pure sampler
    /// descriptor, where it is not read.
    pub view: *const ImageView,
    /// Sampler, which is never null in a descriptor that has one.
    pub sampler: *const Sampler,
}

/// A descriptor of an acceleration structure. Descriptor buffers and heaps have the same bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AccelerationStructureDescriptor {
    /// Device address of the structure; 0 for none. Helpers accept any number.
    pub address: u64,
}

// SAFETY: a descriptor is two plain values. The icd keeps the memory at its addresses alive while a
// submission can use it.
unsafe impl Send for BufferDescriptor {}
// SAFETY: shared reads only copy the addresses, and the icd keeps their memory alive while a
// submission can use it.
unsafe impl Sync for BufferDescriptor {}
// SAFETY: a descriptor is two addresses. The icd keeps the memory there alive while a submission
// can use it.
unsafe impl Send for ImageDescriptor {}
// SAFETY: shared reads only copy the addresses, and the icd keeps their memory alive while a
// submission can use it.
unsafe impl Sync for ImageDescriptor {}

const _: () = assert!(size_of::<BufferDescriptor>() == DESCRIPTOR_SIZE);
const _: () = assert!(size_of::<SetHeader>() == DESCRIPTOR_SIZE);
const _: () = assert!(size_of::<ImageDescriptor>() == DESCRIPTOR_SIZE);

layout!(SetHeader { variable_count, _pad });
layout!(BufferDescriptor { address, range });
layout!(ImageDescriptor { view, sampler });
layout!(AccelerationStructureDescriptor { address });

//! Descriptors as they lie in descriptor set memory.
//!
//! Every descriptor of every type is 16 bytes, so that a binding's array stride is constant and mutable
//! descriptor types cost nothing. A slot that was never written holds the null descriptor of its type (never a
//! null pointer): generated code dereferences without a check, and a null descriptor's range or extents are 0.

use super::image::{ImageView, Sampler};
use super::layout::layout;

/// Size and array stride of one descriptor, in bytes.
pub const DESCRIPTOR_SIZE: usize = 16;

/// Bytes behind the address of a buffer's descriptor that may be touched whatever its range is: lanes of a gather that are not active read there.
pub const BUFFER_BYTES: u64 = 16;

/// What lies right before the memory of a descriptor set, at [`SET_HEADER`] from its address.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SetHeader {
    /// Descriptors (bytes of an inline uniform block) of the set's binding of variable count.
    pub variable_count: u32,
    _pad: [u32; 3],
}

impl SetHeader {
    /// A header.
    pub fn new(variable_count: u32) -> SetHeader {
        SetHeader { variable_count, _pad: [0; 3] }
    }
}

/// Offset of [`SetHeader`] from a set's address.
pub const SET_HEADER: i32 = -(size_of::<SetHeader>() as i32);

/// Uniform buffer, storage buffer. Dynamic ones are resolved into [`super::ShaderContext::dynamic_buffers`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BufferDescriptor {
    /// First byte of the bound range. Never null; at least [`BUFFER_BYTES`] bytes are readable and writable behind it.
    pub address: *mut u8,
    /// Bytes of the bound range; an access is in bounds when `offset + size <= range`. 0 for a null descriptor.
    pub range: u64,
}

/// Sampled image, storage image, combined image sampler, sampler, input attachment, texel buffers.
///
/// A texel buffer view is an [`ImageView`] with `dim == Dim::Buffer`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ImageDescriptor {
    /// Never null (the null view has extents 0), except in a pure sampler descriptor, where it is not read.
    pub view: *const ImageView,
    /// Never null in a descriptor that has a sampler.
    pub sampler: *const Sampler,
}

// SAFETY: descriptors are plain addresses; the icd keeps what they point to alive while a submission can use it.
unsafe impl Send for BufferDescriptor {}
// SAFETY: as above; shared reads only copy the addresses.
unsafe impl Sync for BufferDescriptor {}
// SAFETY: as for `BufferDescriptor`.
unsafe impl Send for ImageDescriptor {}
// SAFETY: as for `BufferDescriptor`.
unsafe impl Sync for ImageDescriptor {}

const _: () = assert!(size_of::<BufferDescriptor>() == DESCRIPTOR_SIZE);
const _: () = assert!(size_of::<SetHeader>() == DESCRIPTOR_SIZE);
const _: () = assert!(size_of::<ImageDescriptor>() == DESCRIPTOR_SIZE);

layout!(SetHeader { variable_count, _pad });
layout!(BufferDescriptor { address, range });
layout!(ImageDescriptor { view, sampler });

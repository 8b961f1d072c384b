//! Memory of descriptor sets: plain bytes that shaders read while the application may update other
//! parts of them.
//!
//! The set's header ([`SetHeader`]) precedes the descriptors. No access leaves the memory.

use crate::fallible;
use ash::vk;
use base::abi::{BufferDescriptor, DESCRIPTOR_SIZE, ImageDescriptor, SetHeader};

/// The memory of a descriptor set.
pub struct SetMemory {
    words: *mut [[u64; 2]],
}
// SAFETY: the memory is written by updates, which the application synchronises, and read through
// raw pointers.
unsafe impl Send for SetMemory {}
// SAFETY: the memory is written by updates, which the application synchronises, and read through
// raw pointers.
unsafe impl Sync for SetMemory {}

/// A type that a slot of the memory can be read as, whatever its bytes are.
///
/// # Safety
/// The type is plain data of [`DESCRIPTOR_SIZE`] bytes, aligned to 8 at most, and every combination
/// of bytes is a valid value.
pub unsafe trait Descriptor: Copy {}
// SAFETY: the type is an address and a number.
unsafe impl Descriptor for BufferDescriptor {}
// SAFETY: the type is two addresses.
unsafe impl Descriptor for ImageDescriptor {}
// SAFETY: the type is two numbers.
unsafe impl Descriptor for [u64; 2] {}

/// Size of the header in descriptors.
const HEADER: usize = size_of::<SetHeader>() / DESCRIPTOR_SIZE;

impl SetMemory {
    /// Makes zeroed memory of at least `bytes` bytes for descriptors.
    pub fn new(bytes: usize, header: SetHeader) -> Result<SetMemory, vk::Result> {
        let count = HEADER.checked_add(bytes.div_ceil(DESCRIPTOR_SIZE).max(1));
        let words = fallible::filled([0u64; 2], count.ok_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY)?)?;
        let memory = SetMemory { words: Box::into_raw(words.into_boxed_slice()) };
        // SAFETY: the memory begins with space for the header and is aligned to 8.
        unsafe { memory.words.cast::<SetHeader>().write(header) };
        Ok(memory)
    }

    fn first(&self) -> *mut u8 {
        self.words.cast::<u8>().wrapping_add(HEADER * DESCRIPTOR_SIZE)
    }

    fn bytes(&self) -> usize {
        (self.words.len() - HEADER) * DESCRIPTOR_SIZE
    }

    /// Returns the address of the first descriptor, for `ShaderContext::sets`.
    pub fn base(&self) -> *const u8 {
        self.first()
    }

    /// Writes `bytes` at an offset; does nothing if they do not fit the memory.
    pub fn write_bytes(&self, offset: usize, bytes: &[u8]) {
        if offset.checked_add(bytes.len()).is_some_and(|end| end <= self.bytes()) {
            // SAFETY: the range was checked; the application synchronises updates with use.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.first().add(offset), bytes.len()) };
        }
    }

    /// Returns a copy of `count` bytes at an offset, or nothing if they are not all inside.
    pub fn read_bytes(&self, offset: usize, count: usize) -> Vec<u8> {
        match offset.checked_add(count) {
            Some(end) if end <= self.bytes() => {
                // SAFETY: the range was checked.
                unsafe { std::slice::from_raw_parts(self.first().add(offset), count) }.to_vec()
            }
            _ => Vec::new(),
        }
    }

    fn slot(&self, offset: usize) -> Option<*mut u8> {
        let inside = offset.is_multiple_of(8) && offset.checked_add(DESCRIPTOR_SIZE)? <= self.bytes();
        inside.then(|| self.first().wrapping_add(offset))
    }

    /// Writes a descriptor; does nothing if the offset is invalid.
    pub fn write<T: Descriptor>(&self, offset: usize, value: T) {
        const { assert!(size_of::<T>() == DESCRIPTOR_SIZE && align_of::<T>() <= 8) };
        if let Some(slot) = self.slot(offset) {
            // SAFETY: `slot` is inside the memory and aligned to 8.
            unsafe { slot.cast::<T>().write(value) };
        }
    }

    /// Reads a descriptor; returns `None` if the offset is invalid.
    pub fn read<T: Descriptor>(&self, offset: usize) -> Option<T> {
        const { assert!(size_of::<T>() == DESCRIPTOR_SIZE && align_of::<T>() <= 8) };
        // SAFETY: the slot is inside the memory and aligned to 8; any bytes are a `T`.
        self.slot(offset).map(|slot| unsafe { slot.cast::<T>().read() })
    }

    /// Copies as many bytes as both memories have.
    pub fn copy_all(&self, from: &SetMemory) {
        let bytes = self.bytes().min(from.bytes());
        // SAFETY: both ranges are inside their sets; they may overlap if a set is copied to itself.
        unsafe { std::ptr::copy(from.first(), self.first(), bytes) };
    }
}

impl Drop for SetMemory {
    fn drop(&mut self) {
        // SAFETY: `Box::into_raw` made the pointer in `new`.
        drop(unsafe { Box::from_raw(self.words) });
    }
}

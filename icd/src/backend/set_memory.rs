//! Memory of descriptor sets: plain bytes that shaders read while the application may update other parts of them.
//!
//! Before the descriptors lies the set's header ([`SetHeader`]). Nothing outside of the memory is ever touched.

use crate::fallible;
use ash::vk;
use base::abi::{BufferDescriptor, DESCRIPTOR_SIZE, ImageDescriptor, SetHeader};

/// See the module.
pub struct SetMemory {
    words: *mut [[u64; 2]],
}
// SAFETY: written by updates the application synchronises, read through raw pointers.
unsafe impl Send for SetMemory {}
// SAFETY: as above.
unsafe impl Sync for SetMemory {}

/// What a slot of the memory can be read as, whatever is in it.
///
/// # Safety
/// Plain data of [`DESCRIPTOR_SIZE`] bytes, aligned to 8 at most, any bytes of which are a value.
pub unsafe trait Descriptor: Copy {}
// SAFETY: an address and a number.
unsafe impl Descriptor for BufferDescriptor {}
// SAFETY: two addresses.
unsafe impl Descriptor for ImageDescriptor {}
// SAFETY: two numbers.
unsafe impl Descriptor for [u64; 2] {}

/// Descriptors that the header takes.
const HEADER: usize = size_of::<SetHeader>() / DESCRIPTOR_SIZE;

impl SetMemory {
    /// Zeroed.
    pub fn new(bytes: usize, header: SetHeader) -> Result<SetMemory, vk::Result> {
        let count = HEADER.checked_add(bytes.div_ceil(DESCRIPTOR_SIZE).max(1));
        let words = fallible::filled([0u64; 2], count.ok_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY)?)?;
        let memory = SetMemory { words: Box::into_raw(words.into_boxed_slice()) };
        // SAFETY: the memory begins with the header's place; it is aligned to 8.
        unsafe { memory.words.cast::<SetHeader>().write(header) };
        Ok(memory)
    }

    fn first(&self) -> *mut u8 {
        self.words.cast::<u8>().wrapping_add(HEADER * DESCRIPTOR_SIZE)
    }

    fn bytes(&self) -> usize {
        (self.words.len() - HEADER) * DESCRIPTOR_SIZE
    }

    /// The first descriptor; what `ShaderContext::sets` gets.
    pub fn base(&self) -> *const u8 {
        self.first()
    }

    /// Writes `bytes` at an offset; outside of the memory nothing happens.
    pub fn write_bytes(&self, offset: usize, bytes: &[u8]) {
        if offset.checked_add(bytes.len()).is_some_and(|end| end <= self.bytes()) {
            // SAFETY: inside the set's memory; the application synchronises updates with use.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.first().add(offset), bytes.len()) };
        }
    }

    /// A copy of `count` bytes at an offset; none when they are not all inside.
    pub fn read_bytes(&self, offset: usize, count: usize) -> Vec<u8> {
        match offset.checked_add(count) {
            Some(end) if end <= self.bytes() => {
                // SAFETY: inside the set's memory.
                unsafe { std::slice::from_raw_parts(self.first().add(offset), count) }.to_vec()
            }
            _ => Vec::new(),
        }
    }

    fn slot(&self, offset: usize) -> Option<*mut u8> {
        let inside = offset.is_multiple_of(8) && offset.checked_add(DESCRIPTOR_SIZE)? <= self.bytes();
        inside.then(|| self.first().wrapping_add(offset))
    }

    /// Writes a descriptor.
    pub fn write<T: Descriptor>(&self, offset: usize, value: T) {
        const { assert!(size_of::<T>() == DESCRIPTOR_SIZE && align_of::<T>() <= 8) };
        if let Some(slot) = self.slot(offset) {
            // SAFETY: inside the memory and aligned to 8.
            unsafe { slot.cast::<T>().write(value) };
        }
    }

    /// Reads a descriptor.
    pub fn read<T: Descriptor>(&self, offset: usize) -> Option<T> {
        const { assert!(size_of::<T>() == DESCRIPTOR_SIZE && align_of::<T>() <= 8) };
        // SAFETY: inside the memory and aligned to 8; any bytes are a `T`.
        self.slot(offset).map(|slot| unsafe { slot.cast::<T>().read() })
    }

    /// Copies all that there is room for.
    pub fn copy_all(&self, from: &SetMemory) {
        let bytes = self.bytes().min(from.bytes());
        // SAFETY: both ranges are inside their sets; one that is copied to itself may overlap.
        unsafe { std::ptr::copy(from.first(), self.first(), bytes) };
    }
}

impl Drop for SetMemory {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` in `new`.
        drop(unsafe { Box::from_raw(self.words) });
    }
}

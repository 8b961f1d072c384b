//! Buffers and buffer views.

use super::memory::{Binding, Heap};
use super::sparse::SparseRange;
use crate::os::arena::AddressRequest;
use ash::vk;
use base::abi;
use base::format::Format;
use base::mem::MemoryRange;
use std::sync::{Arc, OnceLock};

/// Upper bound of the size of a buffer in bytes, exclusive.
pub const MAX_BUFFER_SIZE: u64 = 1 << 47;

/// Alignment of the memory of buffers.
pub const MEMORY_ALIGNMENT: u64 = 64;
/// Alignment of the offset of an acceleration structure in its buffer, and of its address.
pub const STRUCTURE_ALIGNMENT: u64 = 256;

/// Object behind a `VkBuffer`. Its device address is the host address of its first byte.
pub struct Buffer {
    /// Size in bytes.
    pub size: u64,
    /// True if the buffer was created with VK_BUFFER_CREATE_SPARSE_BINDING_BIT.
    pub is_sparse: bool,
    /// Alignment of the buffer's memory, unless the buffer is sparse.
    pub alignment: u64,
    /// Addresses that the create info requests.
    addresses: AddressRequest,
    binding: OnceLock<Binding>,
}

impl Buffer {
    /// Creates an unbound buffer; `opaque` is its opaque capture address, or 0.
    pub fn new(info: &vk::BufferCreateInfo<'_>, opaque: u64) -> Buffer {
        let is_sparse = info.flags.contains(vk::BufferCreateFlags::SPARSE_BINDING);
        use vk::BufferCreateFlags as Flags;
        let again = Flags::DEVICE_ADDRESS_CAPTURE_REPLAY | Flags::DESCRIPTOR_BUFFER_CAPTURE_REPLAY_EXT;
        let again = info.flags.intersects(again);
        let addresses = AddressRequest::from_capture(again, opaque);
        // The addresses of a micromap's input have this alignment, too.
        let has_structures = info.usage.intersects(
            vk::BufferUsageFlags::ACCELERATION_STRUCTURE_STORAGE_KHR
                | vk::BufferUsageFlags::MICROMAP_STORAGE_EXT
                | vk::BufferUsageFlags::MICROMAP_BUILD_INPUT_READ_ONLY_EXT,
        );
        let alignment = if has_structures { STRUCTURE_ALIGNMENT } else { MEMORY_ALIGNMENT };
        Buffer { size: info.size, is_sparse, alignment, addresses, binding: OnceLock::new() }
    }

    /// Gives a sparse buffer its addresses, once. Fails as [`Heap::sparse`] does.
    pub fn reserve_addresses(&self, heap: &Arc<Heap>) -> Result<(), vk::Result> {
        self.set(Binding::sparse(heap, self.size, self.addresses)?)
    }

    /// Returns the addresses of a sparse buffer.
    pub fn sparse(&self) -> Option<Arc<SparseRange>> {
        self.binding.get()?.as_sparse()
    }

    /// Implements `vkBindBufferMemory`; refuses a second binding. Fails with
    /// VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS if the buffer requests other addresses.
    pub fn bind(&self, memory: Arc<super::memory::Memory>, offset: u64) -> Result<(), vk::Result> {
        let binding = Binding::new(memory, offset, self.size)?;
        match self.addresses {
            AddressRequest::Exact(address) if binding.range().is_none_or(|range| range.address as u64 != address) => {
                Err(self.addresses.failure())
            }
            _ => self.set(binding),
        }
    }

    fn set(&self, binding: Binding) -> Result<(), vk::Result> {
        self.binding.set(binding).map_err(|_| vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
    }

    /// Ends the binding to memory because the buffer's handle is destroyed. Commands that are
    /// executed later find no bytes.
    pub fn end(&self) {
        self.binding.get().into_iter().for_each(Binding::end);
    }

    /// Returns all bytes of the buffer: none before it is bound, and none after [`Buffer::end`].
    pub fn memory(&self) -> MemoryRange {
        self.binding.get().and_then(Binding::range).unwrap_or(MemoryRange::NULL)
    }

    /// Returns the part of `[offset, offset + size)` that is inside the buffer (`VK_WHOLE_SIZE`: to
    /// the end).
    pub fn range(&self, offset: u64, size: u64) -> MemoryRange {
        self.memory().slice(offset, size)
    }

    /// Returns exactly `size` bytes at `offset`, or nothing.
    pub fn exact(&self, offset: u64, size: u64) -> Option<MemoryRange> {
        self.memory().exact(offset, size).filter(|range| range.size != 0)
    }

    /// Returns the descriptor of a range, or the null descriptor if no byte of it is inside.
    pub fn descriptor(&self, offset: u64, size: u64) -> Option<abi::BufferDescriptor> {
        let range = self.range(offset, size);
        let described = !range.address.is_null() && has_guaranteed_bytes(range.address, self.size - offset);
        described.then_some(abi::BufferDescriptor { address: range.address, range: range.size })
    }
}

/// Returns true if [`abi::BUFFER_BYTES`] bytes, which a descriptor guarantees, can be accessed at
/// an address with `left` bytes of its buffer behind it. Imported memory of the application ends at
/// a multiple of this number. Only an address that is not a multiple, which valid usage excludes,
/// can therefore have fewer bytes.
pub fn has_guaranteed_bytes(address: *const u8, left: u64) -> bool {
    left >= abi::BUFFER_BYTES || (address as u64).is_multiple_of(abi::BUFFER_BYTES)
}

/// Object behind a `VkBufferView`.
pub struct BufferView {
    /// The view as shaders see it.
    pub view: Box<abi::ImageView>,
}

impl BufferView {
    /// Creates a view of a bound buffer.
    pub fn new(buffer: &Buffer, format: Format, offset: u64, size: u64) -> BufferView {
        let range = buffer.range(offset, size);
        let mut view = texture::buffer_view(range, format);
        if let (Some(sparse), true) = (buffer.sparse(), view.texels > 0) {
            texture::set_residency(&mut view, sparse.piece().residency(offset));
        }
        BufferView { view: Box::new(view) }
    }
}

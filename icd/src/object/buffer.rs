//! Buffers and buffer views.

use super::memory::Binding;
use ash::vk;
use base::abi;
use base::format::Format;
use std::sync::{Arc, OnceLock};

/// `VkBuffer`. Its device address is the host address of its first byte.
pub struct Buffer {
    /// Bytes.
    pub size: u64,
    binding: OnceLock<Binding>,
}

/// A checked range of a buffer's memory.
#[derive(Clone, Copy)]
pub struct Range {
    /// First byte.
    pub address: *mut u8,
    /// Bytes.
    pub size: u64,
}

impl Buffer {
    /// An unbound buffer.
    pub fn new(info: &vk::BufferCreateInfo<'_>) -> Buffer {
        Buffer { size: info.size, binding: OnceLock::new() }
    }

    /// `vkBindBufferMemory`; a second one is refused.
    pub fn bind(&self, memory: Arc<super::memory::Memory>, offset: u64) -> Result<(), vk::Result> {
        let binding = Binding::new(memory, offset, self.size)?;
        self.binding.set(binding).map_err(|_| vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
    }

    /// First byte; null before binding.
    pub fn address(&self) -> *mut u8 {
        self.binding.get().map_or(std::ptr::null_mut(), Binding::address)
    }

    /// The part of `[offset, offset + size)` that is inside the buffer (`VK_WHOLE_SIZE`: to the end).
    pub fn range(&self, offset: u64, size: u64) -> Range {
        let address = self.address();
        if address.is_null() || offset >= self.size {
            return Range { address: std::ptr::null_mut(), size: 0 };
        }
        Range { address: address.wrapping_add(offset as usize), size: size.min(self.size - offset) }
    }

    /// Exactly `size` bytes at `offset`, or nothing.
    pub fn exact(&self, offset: u64, size: u64) -> Option<Range> {
        let range = self.range(offset, size);
        (range.size == size && size != 0).then_some(range)
    }

    /// The descriptor of a range; the null descriptor when nothing of it is inside.
    pub fn descriptor(&self, offset: u64, size: u64) -> Option<abi::BufferDescriptor> {
        let range = self.range(offset, size);
        (!range.address.is_null()).then_some(abi::BufferDescriptor { address: range.address, range: range.size })
    }
}

/// `VkBufferView`.
pub struct BufferView {
    /// As shaders see it.
    pub view: Box<abi::ImageView>,
    /// Kept alive by the view.
    _buffer: Arc<Buffer>,
}

impl BufferView {
    /// A view of a bound buffer.
    pub fn new(buffer: Arc<Buffer>, format: Format, offset: u64, size: u64) -> BufferView {
        let range = buffer.range(offset, size);
        let view = rasterizer::sample::buffer_view(range.address, range.size, format);
        BufferView { view: Box::new(view), _buffer: buffer }
    }
}

//! Descriptor pools and sets.
//!
//! The variable count precedes a set's descriptors, for generated code (`base::abi::SetHeader`).
//! There is a descriptor for every possible index: the elements, and a null descriptor behind a
//! variable count and in place of an empty binding (`descriptor::Binding::bytes`).

use super::buffer::has_guaranteed_bytes;
use super::descriptor::{Binding, SetLayout};
use crate::ffi::allocator::Callbacks;
use crate::ffi::handle::Owned;
use crate::shader_compiler::set_memory::SetMemory;
use ash::vk::{self, Handle};
use base::abi::{BufferDescriptor, DESCRIPTOR_SIZE, ImageDescriptor, SetHeader};
use base::shader::DescriptorKind;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use texture::{default_sampler, null_view, zero_page};

/// Object behind a `VkDescriptorSet`.
pub struct DescriptorSet {
    /// Layout of the set.
    pub layout: Arc<SetLayout>,
    memory: SetMemory,
    variable_count: u32,
}

impl DescriptorSet {
    /// Creates a set that is filled with null descriptors and immutable samplers.
    pub fn new(layout: Arc<SetLayout>, variable_count: u32) -> Result<DescriptorSet, vk::Result> {
        let own_count = layout.bindings.last().map_or(0, |last| last.count_in_set(variable_count));
        let memory = SetMemory::new(layout.size_with_variable_count(variable_count), SetHeader::new(own_count))?;
        let set = DescriptorSet { layout, memory, variable_count };
        for binding in &set.layout.bindings {
            set.fill(binding);
        }
        Ok(set)
    }

    /// Returns the number of elements of a binding of the set's layout.
    pub fn count(&self, binding: &Binding) -> u32 {
        binding.count_in_set(self.variable_count)
    }

    /// Returns the bytes of the descriptors.
    pub fn memory(&self) -> &SetMemory {
        &self.memory
    }

    /// Copies all descriptors of a set with the same layout. Push descriptors that are not pushed
    /// again keep their values.
    pub fn copy_all(&self, from: &DescriptorSet) {
        self.memory.copy_all(&from.memory);
    }

    /// Writes the null descriptor of the binding's type, or its immutable sampler, to every element
    /// and behind them.
    fn fill(&self, binding: &Binding) {
        let (offset, stride) = (binding.offset as usize, binding.stride());
        let count = self.count(binding) as usize;
        let null = usize::from(binding.is_variable() || count == 0);
        for element in 0..count + null {
            let at = offset + element * stride;
            match binding.kind {
                DescriptorKind::InlineUniformBlock => return,
                DescriptorKind::UniformBuffer | DescriptorKind::StorageBuffer => self.memory.write(at, null_buffer()),
                DescriptorKind::UniformBufferDynamic | DescriptorKind::StorageBufferDynamic => {
                    self.write_dynamic(at, null_buffer(), 0)
                }
                DescriptorKind::AccelerationStructure => self.memory.write(at, [0u64; 2]),
                // The descriptor has no bytes in bounds as a buffer, and is the null view as an
                // image.
                DescriptorKind::Mutable if binding.may_be_buffer => {
                    let view = std::ptr::from_ref(null_view()).cast_mut().cast();
                    self.memory.write(at, BufferDescriptor { address: view, range: 0 });
                }
                _ => {
                    let sampler = binding
                        .immutable_samplers
                        .get(element)
                        .filter(|_| element < count)
                        .map_or(&raw const *default_sampler(), |s| &raw const *s.sampler);
                    self.memory.write(at, ImageDescriptor { view: null_view(), sampler });
                }
            }
        }
    }

    /// Writes a dynamic buffer: its descriptor, and the number of bytes from the descriptor's
    /// address to the end of the buffer.
    pub fn write_dynamic(&self, offset: usize, descriptor: BufferDescriptor, bytes_to_end: u64) {
        self.memory.write(offset, descriptor);
        self.memory.write(offset + DESCRIPTOR_SIZE, [bytes_to_end, 0]);
    }

    /// Returns the dynamic buffer at a byte offset, with a dynamic offset added and clipped at the
    /// buffer's end.
    pub fn dynamic(&self, offset: usize, dynamic_offset: u32) -> BufferDescriptor {
        let (Some(d), Some([end, _])) =
            (self.memory.read::<BufferDescriptor>(offset), self.memory.read::<[u64; 2]>(offset + DESCRIPTOR_SIZE))
        else {
            return null_buffer();
        };
        let left = end.saturating_sub(u64::from(dynamic_offset));
        let address = d.address.wrapping_add(dynamic_offset as usize);
        if left == 0 || !has_guaranteed_bytes(address, left) {
            return null_buffer();
        }
        BufferDescriptor { address, range: d.range.min(left) }
    }
}

/// Returns the null buffer descriptor, which has no bytes in bounds.
pub fn null_buffer() -> BufferDescriptor {
    BufferDescriptor { address: zero_page(), range: 0 }
}

/// Object behind a `VkDescriptorPool`.
pub struct DescriptorPool {
    max_sets: u32,
    /// Allocator of the sets' handles.
    memory: Option<Callbacks>,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    /// Handles of the sets, by number.
    sets: HashMap<u64, Owned<DescriptorSet>>,
}

impl DescriptorPool {
    /// Creates a pool.
    pub fn new(max_sets: u32, memory: Option<Callbacks>) -> DescriptorPool {
        DescriptorPool { max_sets, memory, state: Mutex::default() }
    }

    /// Allocates a set, which the pool owns.
    ///
    /// Sets have memory of their own, so that the descriptors in the pool's sizes are not counted:
    /// an allocation beyond them may fail, and programs exist that do not expect it.
    ///
    /// # Errors
    /// VK_ERROR_OUT_OF_POOL_MEMORY if the pool has `maxSets` sets, VK_ERROR_OUT_OF_HOST_MEMORY.
    pub fn allocate(
        &self,
        layout: Arc<SetLayout>,
        variable_count: Option<u32>,
    ) -> Result<vk::DescriptorSet, vk::Result> {
        let mut state = self.state.lock();
        if state.sets.len() as u32 >= self.max_sets {
            return Err(vk::Result::ERROR_OUT_OF_POOL_MEMORY);
        }
        let set = Arc::new(DescriptorSet::new(layout, variable_count.unwrap_or(0))?);
        let reserved = base::alloc::without_reserve(|| state.sets.try_reserve(1));
        reserved.map_err(|_| vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
        let set = Owned::new(set, self.memory)?;
        let handle = set.get();
        state.sets.insert(handle.as_raw(), set);
        Ok(handle)
    }

    /// Implements `vkFreeDescriptorSets`.
    pub fn free(&self, set: vk::DescriptorSet) {
        let owned = self.state.lock().sets.remove(&set.as_raw());
        drop(owned);
    }

    /// Implements `vkResetDescriptorPool`, and the destruction of the pool.
    pub fn reset(&self) {
        let sets = std::mem::take(&mut self.state.lock().sets);
        drop(sets);
    }
}

//! Descriptor buffers: sets that the driver makes of the buffers' bytes when they are first used
//! after a barrier.
//!
//! Between two dependencies no descriptor in use may change, so a set is valid until the next
//! dependency, or until other offsets are set. It owns the objects to which its descriptors refer,
//! because an application may destroy a view whose descriptor is still present but not used.

#![forbid(unsafe_code)]

use crate::command::transfer;
use crate::device::Device;
use crate::object::descriptor::{Binding, SetLayout};
use crate::object::descriptor_buffer::PackedDescriptor;
use crate::object::descriptor_pool::{DescriptorSet, null_buffer};
use crate::object::descriptor_update::structure_descriptor;
use crate::object::image::ImageView;
use crate::object::sampler::Sampler;
use base::abi::{self, BufferDescriptor, DESCRIPTOR_SIZE, ImageDescriptor};
use base::alloc::{OutOfMemory, or_unwind};
use base::format::TABLE;
use base::mem::MemoryRange;
use base::shader::DescriptorKind;
use std::sync::Arc;
use texture::{buffer_view, default_sampler, null_view};

/// A materialized descriptor set: a set made of a buffer's bytes.
pub(super) struct MaterializedSet {
    /// The descriptor set of the driver.
    pub set: DescriptorSet,
    views: Vec<Arc<ImageView>>,
    samplers: Vec<Arc<Sampler>>,
    #[allow(clippy::vec_box, reason = "descriptors have their addresses")]
    texels: Vec<Box<abi::ImageView>>,
}

impl MaterializedSet {
    /// Makes a set of a layout from the bytes at an address. Unwinds the thread, which is the
    /// queue's worker, if there is no memory.
    pub fn new(device: &Device, layout: &Arc<SetLayout>, address: u64) -> MaterializedSet {
        let most = layout.bindings.last().map_or(0, |last| last.count);
        // A buffer may end before the last element of a variable binding does.
        let memory = device.heap.live_prefix(address, layout.size_with_variable_count(most) as u64);
        let memory = memory.unwrap_or(MemoryRange::NULL);
        let room = |b: &Binding| memory.size.saturating_sub(b.offset.into()) / b.stride() as u64;
        let count = layout.bindings.last().map_or(0, |last| room(last).min(last.count.into()) as u32);
        let set = or_unwind(DescriptorSet::new(layout.clone(), count).map_err(|_| OutOfMemory));
        let mut materialized = MaterializedSet { set, views: Vec::new(), samplers: Vec::new(), texels: Vec::new() };
        for b in &layout.bindings {
            let count = room(b).min(b.count_in_set(count).into()) as u32;
            if b.kind == DescriptorKind::InlineUniformBlock {
                let bytes = transfer::bytes(memory.slice(b.offset.into(), count.into()));
                materialized.set.memory().write_bytes(b.offset as usize, &bytes);
                continue;
            }
            for element in 0..count {
                let at = b.offset as usize + element as usize * b.stride();
                let bytes = transfer::parameters(memory.slice(at as u64, DESCRIPTOR_SIZE as u64));
                materialized.write(device, b, element, at, PackedDescriptor::from_bytes(bytes));
            }
        }
        materialized
    }

    fn write(&mut self, device: &Device, b: &Binding, element: u32, at: usize, packed: PackedDescriptor) {
        use DescriptorKind as K;
        let is = |kind: &K| packed.is(*kind);
        const BUFFERS: [K; 2] = [K::UniformBuffer, K::StorageBuffer];
        const TEXELS: [K; 2] = [K::UniformTexelBuffer, K::StorageTexelBuffer];
        const IMAGES: [K; 5] =
            [K::Sampler, K::CombinedImageSampler, K::SampledImage, K::StorageImage, K::InputAttachment];
        let takes = |kinds: &[K]| {
            let written = kinds.iter().copied().find(is);
            written
                .filter(|kind| b.kind == K::Mutable || kinds.contains(&b.kind) && (kinds.len() == 2 || *kind == b.kind))
        };
        if takes(&[K::AccelerationStructure]).is_some() {
            let (address, ..) = packed.as_buffer();
            self.set.memory().write(at, structure_descriptor(address));
        } else if takes(&BUFFERS).is_some() {
            let (address, range, _) = packed.as_buffer();
            self.set.memory().write(at, buffer(device, address, range));
        } else if takes(&TEXELS).is_some() {
            let (address, range, format) = packed.as_buffer();
            let BufferDescriptor { address, range } = buffer(device, address, range);
            if range > 0 && usize::from(format.0) < TABLE.len() {
                let view = Box::new(buffer_view(MemoryRange { address, size: range }, format));
                self.set.memory().write(at, ImageDescriptor { view: &raw const *view, sampler: default_sampler() });
                self.texels.push(view);
            }
        } else if let Some(kind) = takes(&IMAGES) {
            let (view, sampler) = packed.as_image();
            self.image(device, b, (element, at), (kind, view, sampler));
        }
    }

    fn image(
        &mut self,
        device: &Device,
        b: &Binding,
        (element, at): (u32, usize),
        (kind, view, sampler): (DescriptorKind, u64, u64),
    ) {
        let mut descriptor = ImageDescriptor { view: null_view(), sampler: default_sampler() };
        let seen = |view: &Arc<ImageView>| kind != DescriptorKind::Sampler && view.has_memory();
        if let Some(view) = device.descriptor_names.view(view).filter(seen) {
            descriptor.view = match kind {
                DescriptorKind::StorageImage => std::ptr::from_ref(view.storage()),
                _ => std::ptr::from_ref(view.view()),
            };
            self.views.push(view);
        }
        if let Some(immutable) = b.immutable_samplers.get(element as usize) {
            descriptor.sampler = &raw const *immutable.sampler;
        } else if let Some(sampler) = device.descriptor_names.sampler(sampler) {
            descriptor.sampler = &raw const *sampler.sampler;
            self.samplers.push(sampler);
        }
        self.set.memory().write(at, descriptor);
    }
}

/// Returns the live part of a buffer.
fn buffer(device: &Device, address: u64, range: u64) -> BufferDescriptor {
    let alive = device.heap.live_prefix_for_descriptor(address, range);
    alive.map_or_else(null_buffer, |alive| BufferDescriptor { address: alive.address, range: alive.size })
}

//! Sparse resources: the memory requirements of their images, and vkQueueBindSparse, whose bindings
//! are ordinary work of the queue.

use super::resource::image_of;
use super::sync::{operations, submit};
use crate::caps::formats::sparse_properties;
use crate::device::fault::Cause;
use crate::device::queue::{QueueRef, Submission, Work};
use crate::fallible;
use crate::ffi::handle::{dispatchable, get, optional};
use crate::ffi::pointer::{find, slice, write_each};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, V1_0, V1_1, V1_3, ext, row};
use crate::object::buffer::Buffer;
use crate::object::image::Image;
use crate::object::memory::Memory;
use crate::object::semaphore::{Fence, Semaphore};
use crate::object::sparse::{SPARSE_BLOCK, SparseBind, SparseRange};
use ash::vk;
use std::sync::Arc;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, queue_bind_sparse as vk::PFN_vkQueueBindSparse, vkQueueBindSparse: V1_0),
    row!(
        Device,
        get_image_sparse_memory_requirements as vk::PFN_vkGetImageSparseMemoryRequirements,
        vkGetImageSparseMemoryRequirements: V1_0
    ),
    row!(
        Device,
        get_image_sparse_memory_requirements2 as vk::PFN_vkGetImageSparseMemoryRequirements2,
        vkGetImageSparseMemoryRequirements2: V1_1,
        vkGetImageSparseMemoryRequirements2KHR: ext("VK_KHR_get_memory_requirements2")
    ),
    row!(
        Device,
        get_device_image_sparse_memory_requirements as vk::PFN_vkGetDeviceImageSparseMemoryRequirements,
        vkGetDeviceImageSparseMemoryRequirements: V1_3,
        vkGetDeviceImageSparseMemoryRequirementsKHR: ext("VK_KHR_maintenance4")
    ),
];

/// Returns the requirements of each plane of an image with residency.
fn sparse_requirements(image: &Image) -> impl Iterator<Item = vk::SparseImageMemoryRequirements> {
    image.layout.planes().iter().filter_map(|plane| {
        let residency = plane.residency?;
        Some(vk::SparseImageMemoryRequirements {
            format_properties: sparse_properties(plane.aspect, plane.format, residency.cell),
            image_mip_tail_first_lod: residency.mip_tail_level,
            image_mip_tail_size: residency.mip_tail_size,
            image_mip_tail_offset: residency.mip_tail_offset,
            image_mip_tail_stride: plane.layer_stride,
        })
    })
}

/// Bindings of one batch, in order.
#[derive(Default)]
struct SparseBindList {
    list: Vec<SparseBind>,
    /// Message about a bind that is invalid.
    invalid_usage: Option<&'static str>,
}

impl SparseBindList {
    fn push(&mut self, bind: SparseBind) -> Result<(), vk::Result> {
        if bind.granules().is_none() {
            self.invalid_usage =
                Some("vkQueueBindSparse: a binding is not of whole blocks, or not inside of its resource");
            return Ok(());
        }
        fallible::push(&mut self.list, bind)
    }

    /// Appends bindings of ranges of a buffer, or of an image as bytes.
    ///
    /// # Safety
    /// Handles are live or null.
    unsafe fn opaque(
        &mut self,
        range: Option<Arc<SparseRange>>,
        binds: &[vk::SparseMemoryBind],
    ) -> Result<(), vk::Result> {
        let Some(range) = range else {
            self.invalid_usage = Some("vkQueueBindSparse: a resource was not created to be sparse");
            return Ok(());
        };
        for bind in binds {
            // SAFETY: the handle is live or null, as the `# Safety` section requires.
            let memory = unsafe { optional::<Memory>(bind.memory) }.map(|memory| (memory, bind.memory_offset));
            // Images have no metadata to bind.
            if !bind.flags.contains(vk::SparseMemoryBindFlags::METADATA) {
                self.push(SparseBind { range: range.clone(), offset: bind.resource_offset, bytes: bind.size, memory })?;
            }
        }
        Ok(())
    }

    /// Appends bindings of boxes of an image's blocks, whose memory is consecutive, row by row,
    /// then slice by slice.
    ///
    /// # Safety
    /// Handles are live or null.
    unsafe fn blocks(&mut self, image: &Image, binds: &[vk::SparseImageMemoryBind]) -> Result<(), vk::Result> {
        for bind in binds {
            let plane = image.layout.plane_of(bind.subresource.aspect_mask.as_raw());
            let (Some(range), Some(residency)) = (image.sparse(), image.layout.planes()[plane].residency) else {
                self.invalid_usage = Some("vkQueueBindSparse: an image was not created for sparse residency");
                return Ok(());
            };
            // SAFETY: the handle is live or null, as the `# Safety` section requires.
            let memory = unsafe { optional::<Memory>(bind.memory) };
            let (level, layer) = (bind.subresource.mip_level, bind.subresource.array_layer);
            let offset = [bind.offset.x, bind.offset.y, bind.offset.z].map(|at| at.max(0) as u32);
            let extent = [bind.extent.width, bind.extent.height, bind.extent.depth];
            let first = [0, 1, 2].map(|i| offset[i] / residency.cell[i]);
            let count = [0, 1, 2]
                .map(|i| offset[i].saturating_add(extent[i]).div_ceil(residency.cell[i]).saturating_sub(first[i]));
            let row_bytes = u64::from(count[0]) * SPARSE_BLOCK;
            for row in 0..u64::from(count[1]) * u64::from(count[2]) {
                let (y, z) = ((row % u64::from(count[1])) as u32, (row / u64::from(count[1])) as u32);
                let last = [first[0] + count[0].max(1) - 1, first[1] + y, first[2] + z];
                let cell = |at| image.layout.cell(plane, level, layer, at);
                let at = cell(last).and(cell([first[0], last[1], last[2]]));
                let Some(at) = at else {
                    self.invalid_usage =
                        Some("vkQueueBindSparse: a binding is of blocks that the image's level has not");
                    break;
                };
                let memory = memory.clone().map(|memory| (memory, bind.memory_offset + row * row_bytes));
                self.push(SparseBind { range: range.clone(), offset: at, bytes: row_bytes, memory })?;
            }
        }
        Ok(())
    }

    fn work(self) -> Work {
        Box::new(move |device, queue| {
            if let Some(invalid_usage) = self.invalid_usage {
                device.report_invalid_usage(invalid_usage);
            }
            let suits = |bind: &SparseBind| bind.memory.as_ref().is_none_or(|(memory, _)| memory.supports_sparse());
            if !self.list.iter().all(suits) {
                device.report_invalid_usage(
                    "vkQueueBindSparse: memory is of a type that memoryTypeBits of the resource excludes: its pages are moved, which takes time",
                );
            }
            for bind in self.list {
                if bind.execute().is_err() {
                    let why = "vkQueueBindSparse: memory cannot be bound: it has no such range, is of another type, or the system gives no more mappings";
                    return queue.lose(device, Cause::Memory, why);
                }
            }
        })
    }
}

/// Returns the bindings of one batch.
///
/// # Safety
/// `info` is valid, and its handles are live.
unsafe fn binds_of(info: &vk::BindSparseInfo<'_>) -> Result<SparseBindList, vk::Result> {
    let mut binds = SparseBindList::default();
    // SAFETY: `info` is valid and its handles are live, as the `# Safety` section requires.
    unsafe {
        for buffer in slice(info.p_buffer_binds, info.buffer_bind_count) {
            binds.opaque(get::<Buffer>(buffer.buffer).sparse(), slice(buffer.p_binds, buffer.bind_count))?;
        }
        for image in slice(info.p_image_opaque_binds, info.image_opaque_bind_count) {
            binds.opaque(get::<Image>(image.image).sparse(), slice(image.p_binds, image.bind_count))?;
        }
        for image in slice(info.p_image_binds, info.image_bind_count) {
            binds.blocks(get::<Image>(image.image), slice(image.p_binds, image.bind_count))?;
        }
    }
    Ok(binds)
}

shims! {
    fn queue_bind_sparse(queue: vk::Queue, count: u32, infos: *const vk::BindSparseInfo<'_>, fence: vk::Fence) -> VkResult {
        let at = dispatchable::<QueueRef>(queue);
        let submissions = slice(infos, count).iter().map(|s| {
            let timeline = find::<vk::TimelineSemaphoreSubmitInfo<'_>>(s.p_next);
            let wait_values = timeline.map_or(&[][..], |t| slice(t.p_wait_semaphore_values, t.wait_semaphore_value_count));
            let signal_values = timeline.map_or(&[][..], |t| slice(t.p_signal_semaphore_values, t.signal_semaphore_value_count));
            let mut work = Vec::new();
            fallible::push(&mut work, binds_of(s)?.work())?;
            Ok(Submission {
                waits: operations(slice(s.p_wait_semaphores, s.wait_semaphore_count), wait_values, Semaphore::wait)?,
                work,
                signals: operations(slice(s.p_signal_semaphores, s.signal_semaphore_count), signal_values, Semaphore::signal)?,
                fence: None,
            })
        });
        submit(at, fallible::try_collect(submissions)?, optional::<Fence>(fence).map(|fence| fence.signal()))
    }

    fn get_image_sparse_memory_requirements(_device: vk::Device, image: vk::Image, count: *mut u32, out: *mut vk::SparseImageMemoryRequirements) {
        write_each(sparse_requirements(get::<Image>(image)), count, out, |out, requirements| *out = requirements);
    }

    fn get_image_sparse_memory_requirements2(
        _device: vk::Device,
        info: *const vk::ImageSparseMemoryRequirementsInfo2<'_>,
        count: *mut u32,
        out: *mut vk::SparseImageMemoryRequirements2<'_>,
    ) {
        let requirements = sparse_requirements(get::<Image>((*info).image));
        write_each(requirements, count, out, |out, requirements| out.memory_requirements = requirements);
    }

    fn get_device_image_sparse_memory_requirements(
        _device: vk::Device,
        info: *const vk::DeviceImageMemoryRequirements<'_>,
        count: *mut u32,
        out: *mut vk::SparseImageMemoryRequirements2<'_>,
    ) {
        let image = image_of(&*(*info).p_create_info).ok();
        let requirements = image.iter().flat_map(sparse_requirements);
        write_each(requirements, count, out, |out, requirements| out.memory_requirements = requirements);
    }
}

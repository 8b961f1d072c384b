//! Submissions that run once, barriers and uploads.

use super::error::{Context, Result};
use super::gpu::Gpu;
use super::memory::{Buffer, Image};
use ash::vk;
use std::time::{Duration, Instant};

/// Time limit of a submission, after which the harness reports an error.
pub(super) const SUBMIT_TIMEOUT: Duration = Duration::from_secs(300);

impl Gpu {
    /// Records a command buffer, submits it and waits for its fence. Returns the time from
    /// submission to fence.
    pub fn run(&self, record: impl FnOnce(&ash::Device, vk::CommandBuffer)) -> Result<Duration> {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
        // SAFETY: the pool is used by one thread at a time (`Gpu` is not `Sync`).
        let buffers = unsafe { self.device.allocate_command_buffers(&info) }.context("vkAllocateCommandBuffers")?;
        let result = self.record_and_wait(buffers[0], record);
        // SAFETY: the submission has ended, or the device is lost.
        unsafe { self.device.free_command_buffers(self.pool, &buffers) };
        result
    }

    fn record_and_wait(
        &self,
        cmd: vk::CommandBuffer,
        record: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<Duration> {
        let d = &self.device;
        let begin = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: `cmd` is new and recorded by this thread alone.
        unsafe { d.begin_command_buffer(cmd, &begin) }.context("vkBeginCommandBuffer")?;
        record(d, cmd);
        // SAFETY: `cmd` is in the recording state and only this thread uses it.
        unsafe { d.end_command_buffer(cmd) }.context("vkEndCommandBuffer")?;
        // SAFETY: `device` is alive.
        let fence = unsafe { d.create_fence(&vk::FenceCreateInfo::default(), None) }.context("vkCreateFence")?;
        let buffers = [cmd];
        let submit = [vk::SubmitInfo::default().command_buffers(&buffers)];
        let start = Instant::now();
        // SAFETY: queue, command buffer and fence are alive and used by this thread alone.
        let waited = unsafe {
            d.queue_submit(self.queue, &submit, fence).context("vkQueueSubmit").and_then(|()| {
                d.wait_for_fences(&[fence], true, SUBMIT_TIMEOUT.as_nanos() as u64).context("vkWaitForFences")
            })
        };
        let time = start.elapsed();
        if waited.is_err() {
            // SAFETY: `device` is alive and only this thread uses its queue. The wait ends all use
            // of the objects that are destroyed next; on a lost device it returns at once.
            let _ = unsafe { d.device_wait_idle() };
        }
        // SAFETY: the fence is no longer in use.
        unsafe { d.destroy_fence(fence, None) };
        waited.map(|()| time)
    }

    /// Fills all levels of an image from a buffer and leaves the image in `layout`. The buffer
    /// holds the levels one after the other, each with all its layers.
    pub fn upload(&self, buffer: &Buffer, image: &Image, texel: u64, layout: vk::ImageLayout) -> Result<()> {
        let mut offset = 0;
        let mut regions = Vec::new();
        for level in 0..image.desc.levels {
            let extent = image.level_extent(level);
            regions.push(
                vk::BufferImageCopy::default()
                    .buffer_offset(offset)
                    .image_subresource(image.layers_of(level))
                    .image_extent(extent),
            );
            let texels = u64::from(extent.width) * u64::from(extent.height) * u64::from(extent.depth);
            offset += texels * u64::from(image.desc.layers) * texel;
        }
        let full = image.full_range();
        let to = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
        self.run(|d, cmd| {
            image_barrier(d, cmd, image, full, vk::ImageLayout::UNDEFINED, to);
            // SAFETY: the regions lie inside buffer and image; the image is in the layout `to`.
            unsafe { d.cmd_copy_buffer_to_image(cmd, buffer.handle, image.handle, to, &regions) };
            image_barrier(d, cmd, image, full, to, layout);
        })?;
        Ok(())
    }

    /// Copies level 0 of an image, which is in `layout`, into a new mapped buffer.
    pub fn read_image(&self, image: &Image, texel: usize, layout: vk::ImageLayout) -> Result<Buffer> {
        let [width, height, depth] = image.desc.extent.map(|n| n as usize);
        let size = width * height * depth * image.desc.layers as usize * texel;
        let buffer = self.buffer(size, vk::BufferUsageFlags::TRANSFER_DST)?;
        let region =
            vk::BufferImageCopy::default().image_subresource(image.layers_of(0)).image_extent(image.level_extent(0));
        let from = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
        self.run(|d, cmd| {
            image_barrier(d, cmd, image, image.full_range(), layout, from);
            // SAFETY: the buffer has the size of the region; the image is in the layout `from`.
            unsafe { d.cmd_copy_image_to_buffer(cmd, image.handle, from, buffer.handle, &[region]) };
            memory_barrier(d, cmd);
        })?;
        Ok(buffer)
    }
}

/// Records a barrier that orders all earlier commands before all later commands and host reads. It
/// is as wide as possible because tests need order, not speed.
pub fn memory_barrier(d: &ash::Device, cmd: vk::CommandBuffer) {
    let barrier = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
        .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE | vk::AccessFlags::HOST_READ);
    let all = vk::PipelineStageFlags::ALL_COMMANDS;
    let flags = vk::DependencyFlags::empty();
    // SAFETY: `cmd` is being recorded outside a render pass.
    unsafe { d.cmd_pipeline_barrier(cmd, all, all | vk::PipelineStageFlags::HOST, flags, &[barrier], &[], &[]) }
}

/// Records a full barrier that moves a range of an image to another layout.
pub fn image_barrier(
    d: &ash::Device,
    cmd: vk::CommandBuffer,
    image: &Image,
    range: vk::ImageSubresourceRange,
    from: vk::ImageLayout,
    to: vk::ImageLayout,
) {
    let barrier = vk::ImageMemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
        .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
        .old_layout(from)
        .new_layout(to)
        .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
        .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
        .image(image.handle)
        .subresource_range(range);
    let all = vk::PipelineStageFlags::ALL_COMMANDS;
    // SAFETY: `cmd` is being recorded outside a render pass and the image is alive.
    unsafe { d.cmd_pipeline_barrier(cmd, all, all, vk::DependencyFlags::empty(), &[], &[], &[barrier]) }
}

//! Command buffers that are recorded once and submitted many times.

use super::error::{Context, Result};
use super::gpu::Gpu;
use super::submit::SUBMIT_TIMEOUT;
use ash::vk;
use std::time::{Duration, Instant};

/// A recorded command buffer. It lives as long as the [`Gpu`]. Objects that it uses must live as
/// long as it is submitted.
#[derive(Clone, Copy)]
pub struct Recorded {
    cmd: vk::CommandBuffer,
    usage: vk::CommandBufferUsageFlags,
}

impl Gpu {
    /// Records a command buffer for [`Self::submit`]. Consecutive submissions overlap unless it
    /// ends with a barrier.
    pub fn record(&self, record: impl FnOnce(&ash::Device, vk::CommandBuffer)) -> Result<Recorded> {
        self.record_for(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE, record)
    }

    /// Records a command buffer as [`Self::record`] does. Its submissions wait for each other, as
    /// generated commands require.
    pub fn record_exclusive(&self, record: impl FnOnce(&ash::Device, vk::CommandBuffer)) -> Result<Recorded> {
        self.record_for(vk::CommandBufferUsageFlags::empty(), record)
    }

    fn record_for(
        &self,
        usage: vk::CommandBufferUsageFlags,
        record: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<Recorded> {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
        // SAFETY: the pool is used by one thread at a time (`Gpu` is not `Sync`).
        let cmd = unsafe { self.device.allocate_command_buffers(&info) }.context("vkAllocateCommandBuffers")?[0];
        let begin = vk::CommandBufferBeginInfo::default().flags(usage);
        // SAFETY: `cmd` is new and recorded by this thread alone.
        unsafe { self.device.begin_command_buffer(cmd, &begin) }.context("vkBeginCommandBuffer")?;
        record(&self.device, cmd);
        // SAFETY: `cmd` is in the recording state and only this thread uses it.
        unsafe { self.device.end_command_buffer(cmd) }.context("vkEndCommandBuffer")?;
        Ok(Recorded { cmd, usage })
    }

    /// Submits a command buffer `times` times and waits for its fence. It is one submission unless
    /// the submissions have to wait for each other. Returns the time of submission and wait.
    pub fn submit(&self, recorded: &Recorded, times: u32) -> Result<Duration> {
        if recorded.usage.contains(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE) {
            return self.submit_together(recorded, times);
        }
        (0..times).map(|_| self.submit_together(recorded, 1)).sum()
    }

    fn submit_together(&self, recorded: &Recorded, times: u32) -> Result<Duration> {
        let d = &self.device;
        // SAFETY: `device` is alive.
        let fence = unsafe { d.create_fence(&vk::FenceCreateInfo::default(), None) }.context("vkCreateFence")?;
        let buffers = vec![recorded.cmd; times as usize];
        let submit = [vk::SubmitInfo::default().command_buffers(&buffers)];
        let start = Instant::now();
        // SAFETY: queue, command buffer and fence are alive and only this thread uses them. A
        // command buffer is pending more than once only if it has `SIMULTANEOUS_USE`.
        let waited = unsafe {
            d.queue_submit(self.queue, &submit, fence).context("vkQueueSubmit").and_then(|()| {
                d.wait_for_fences(&[fence], true, SUBMIT_TIMEOUT.as_nanos() as u64).context("vkWaitForFences")
            })
        };
        let time = start.elapsed();
        if waited.is_err() {
            // SAFETY: `device` is alive and only this thread uses its queue. The wait ends all use
            // of the fence before it is destroyed; on a lost device it returns at once.
            let _ = unsafe { d.device_wait_idle() };
        }
        // SAFETY: the fence is no longer in use.
        unsafe { d.destroy_fence(fence, None) };
        waited.map(|()| time)
    }
}

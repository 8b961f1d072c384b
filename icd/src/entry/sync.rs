//! Fences, semaphores, events, submission.

use super::external::export_attributes;
use super::memory_of;
use crate::command::CommandBuffer;
use crate::command::execute::Executor;
use crate::device::Device;
use crate::device::queue::{QueueRef, Submission, Work};
use crate::fallible;
use crate::ffi::handle::{self, dispatchable, get, optional};
use crate::ffi::pointer::{find, slice};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, V1_0, V1_2, V1_3, ext, row};
use crate::object::payload::{Payload, Signal, wait_for};
use crate::object::semaphore::{Fence, Semaphore};
use crate::object::sync::Event;
use ash::vk;
use std::sync::Arc;

type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, queue_submit as vk::PFN_vkQueueSubmit, vkQueueSubmit: V1_0),
    row!(
        Device,
        queue_submit2 as vk::PFN_vkQueueSubmit2,
        vkQueueSubmit2: V1_3,
        vkQueueSubmit2KHR: ext("VK_KHR_synchronization2")
    ),
    row!(Device, queue_wait_idle as vk::PFN_vkQueueWaitIdle, vkQueueWaitIdle: V1_0),
    row!(Device, create_fence as vk::PFN_vkCreateFence, vkCreateFence: V1_0),
    row!(Device, destroy_fence as vk::PFN_vkDestroyFence, vkDestroyFence: V1_0),
    row!(Device, reset_fences as vk::PFN_vkResetFences, vkResetFences: V1_0),
    row!(Device, get_fence_status as vk::PFN_vkGetFenceStatus, vkGetFenceStatus: V1_0),
    row!(Device, wait_for_fences as vk::PFN_vkWaitForFences, vkWaitForFences: V1_0),
    row!(Device, create_semaphore as vk::PFN_vkCreateSemaphore, vkCreateSemaphore: V1_0),
    row!(Device, destroy_semaphore as vk::PFN_vkDestroySemaphore, vkDestroySemaphore: V1_0),
    row!(
        Device,
        get_semaphore_counter_value as vk::PFN_vkGetSemaphoreCounterValue,
        vkGetSemaphoreCounterValue: V1_2,
        vkGetSemaphoreCounterValueKHR: ext("VK_KHR_timeline_semaphore")
    ),
    row!(
        Device,
        wait_semaphores as vk::PFN_vkWaitSemaphores,
        vkWaitSemaphores: V1_2,
        vkWaitSemaphoresKHR: ext("VK_KHR_timeline_semaphore")
    ),
    row!(
        Device,
        signal_semaphore as vk::PFN_vkSignalSemaphore,
        vkSignalSemaphore: V1_2,
        vkSignalSemaphoreKHR: ext("VK_KHR_timeline_semaphore")
    ),
    row!(Device, create_event as vk::PFN_vkCreateEvent, vkCreateEvent: V1_0),
    row!(Device, destroy_event as vk::PFN_vkDestroyEvent, vkDestroyEvent: V1_0),
    row!(Device, get_event_status as vk::PFN_vkGetEventStatus, vkGetEventStatus: V1_0),
    row!(Device, set_event as vk::PFN_vkSetEvent, vkSetEvent: V1_0),
    row!(Device, reset_event as vk::PFN_vkResetEvent, vkResetEvent: V1_0),
];

/// Returns operations on semaphores with timeline values (missing values are 0).
///
/// # Safety
/// The handles are live.
pub(super) unsafe fn operations<T>(
    semaphores: &[vk::Semaphore],
    values: &[u64],
    operation: fn(&Semaphore, u64) -> T,
) -> Result<Vec<T>, vk::Result> {
    let one = |(i, s): (usize, &vk::Semaphore)| {
        // SAFETY: the handle is live, as the `# Safety` section demands.
        operation(unsafe { get::<Semaphore>(*s) }, values.get(i).copied().unwrap_or(0))
    };
    fallible::collect(semaphores.iter().enumerate().map(one))
}

/// Returns operations of the newer submission structures.
///
/// # Safety
/// The handles are live.
unsafe fn operations_of<T>(
    infos: &[vk::SemaphoreSubmitInfo<'_>],
    operation: fn(&Semaphore, u64) -> T,
) -> Result<Vec<T>, vk::Result> {
    // SAFETY: the handles are live, as the `# Safety` section demands.
    fallible::collect(infos.iter().map(|i| operation(unsafe { get::<Semaphore>(i.semaphore) }, i.value)))
}

/// Returns the work of a command buffer.
///
/// # Safety
/// The handle is live.
unsafe fn commands(buffer: vk::CommandBuffer) -> Work {
    // SAFETY: the handle is live, as the `# Safety` section demands.
    let list = unsafe { dispatchable::<CommandBuffer>(buffer) }.list();
    Box::new(move |device, queue| Executor::new(device, queue).run(&list))
}

/// Appends submissions to the queue; the last one signals the fence.
pub(super) fn submit(at: &QueueRef, mut submissions: Vec<Submission>, fence: Option<Signal>) -> Result<(), vk::Result> {
    if fence.is_some() {
        if submissions.is_empty() {
            fallible::push(&mut submissions, Submission::default())?;
        }
        if let Some(last) = submissions.last_mut() {
            last.fence = fence;
        }
    }
    fallible::check()?;
    at.queue.submit(&at.device()?, submissions)
}

shims! {
    fn queue_submit(queue: vk::Queue, count: u32, submits: *const vk::SubmitInfo<'_>, fence: vk::Fence) -> VkResult {
        let at = dispatchable::<QueueRef>(queue);
        let submissions = slice(submits, count).iter().map(|s| {
            let timeline = find::<vk::TimelineSemaphoreSubmitInfo<'_>>(s.p_next);
            let wait_values = timeline.map_or(&[][..], |t| slice(t.p_wait_semaphore_values, t.wait_semaphore_value_count));
            let signal_values = timeline.map_or(&[][..], |t| slice(t.p_signal_semaphore_values, t.signal_semaphore_value_count));
            Ok(Submission {
                waits: operations(slice(s.p_wait_semaphores, s.wait_semaphore_count), wait_values, Semaphore::wait)?,
                work: fallible::collect(slice(s.p_command_buffers, s.command_buffer_count).iter().map(|c| commands(*c)))?,
                signals: operations(slice(s.p_signal_semaphores, s.signal_semaphore_count), signal_values, Semaphore::signal)?,
                fence: None,
            })
        });
        submit(at, fallible::try_collect(submissions)?, optional::<Fence>(fence).map(|fence| fence.signal()))
    }

    fn queue_submit2(queue: vk::Queue, count: u32, submits: *const vk::SubmitInfo2<'_>, fence: vk::Fence) -> VkResult {
        let at = dispatchable::<QueueRef>(queue);
        let submissions = slice(submits, count).iter().map(|s| Ok(Submission {
            waits: operations_of(slice(s.p_wait_semaphore_infos, s.wait_semaphore_info_count), Semaphore::wait)?,
            work: fallible::collect(slice(s.p_command_buffer_infos, s.command_buffer_info_count).iter().map(|c| commands(c.command_buffer)))?,
            signals: operations_of(slice(s.p_signal_semaphore_infos, s.signal_semaphore_info_count), Semaphore::signal)?,
            fence: None,
        }));
        submit(at, fallible::try_collect(submissions)?, optional::<Fence>(fence).map(|fence| fence.signal()))
    }

    fn queue_wait_idle(queue: vk::Queue) -> VkResult {
        let at = dispatchable::<QueueRef>(queue);
        let device = at.device()?;
        at.queue.wait_idle(&device)
    }

    fn create_fence(device: vk::Device, info: *const vk::FenceCreateInfo<'_>, allocator: Allocator<'_>, fence: *mut vk::Fence) -> VkResult {
        let shared = export_attributes(dispatchable::<Device>(device), "vkCreateFence", (*info).p_next)?;
        *fence = handle::create(Arc::new(Fence::new((*info).flags.contains(vk::FenceCreateFlags::SIGNALED), shared.as_ref())?), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_fence(device: vk::Device, fence: vk::Fence, allocator: Allocator<'_>) {
        handle::destroy::<Fence>(fence, memory_of(device, allocator));
    }

    fn reset_fences(device: vk::Device, count: u32, fences: *const vk::Fence) -> VkResult {
        let device = dispatchable::<Device>(device);
        slice(fences, count).iter().for_each(|f| get::<Fence>(*f).reset(&device.sync));
        Ok(())
    }

    fn get_fence_status(device: vk::Device, fence: vk::Fence) -> VkResult {
        let (fence, sync) = (get::<Fence>(fence).payload(), &dispatchable::<Device>(device).sync);
        match wait_for(sync, 0, &[&fence], || fence.value() != 0) {
            vk::Result::SUCCESS => Ok(()),
            vk::Result::TIMEOUT => Err(vk::Result::NOT_READY),
            lost => Err(lost),
        }
    }

    fn wait_for_fences(device: vk::Device, count: u32, fences: *const vk::Fence, wait_all: vk::Bool32, timeout: u64) -> VkResult {
        let device = dispatchable::<Device>(device);
        let fences: Vec<Arc<Payload>> = fallible::collect(slice(fences, count).iter().map(|f| get::<Fence>(*f).payload()))?;
        let payloads: Vec<&Payload> = fallible::collect(fences.iter().map(|f| &**f))?;
        let is_signaled = |payload: &&Payload| payload.value() != 0;
        let ready = || if wait_all != 0 { payloads.iter().all(is_signaled) } else { payloads.iter().any(is_signaled) };
        match wait_for(&device.sync, timeout, &payloads, ready) {
            vk::Result::SUCCESS => Ok(()),
            other => Err(other),
        }
    }

    fn create_semaphore(
        device: vk::Device,
        info: *const vk::SemaphoreCreateInfo<'_>,
        allocator: Allocator<'_>,
        semaphore: *mut vk::Semaphore,
    ) -> VkResult {
        let shared = export_attributes(dispatchable::<Device>(device), "vkCreateSemaphore", (*info).p_next)?;
        let kind = find::<vk::SemaphoreTypeCreateInfo<'_>>((*info).p_next);
        let timeline = kind.is_some_and(|k| k.semaphore_type == vk::SemaphoreType::TIMELINE);
        let initial = if timeline { kind.map_or(0, |k| k.initial_value) } else { 0 };
        *semaphore = handle::create(Arc::new(Semaphore::new(timeline, initial, shared.as_ref())?), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_semaphore(device: vk::Device, semaphore: vk::Semaphore, allocator: Allocator<'_>) {
        handle::destroy::<Semaphore>(semaphore, memory_of(device, allocator));
    }

    fn get_semaphore_counter_value(device: vk::Device, semaphore: vk::Semaphore, value: *mut u64) -> VkResult {
        dispatchable::<Device>(device).sync.check()?;
        *value = get::<Semaphore>(semaphore).value();
        Ok(())
    }

    fn wait_semaphores(device: vk::Device, info: *const vk::SemaphoreWaitInfo<'_>, timeout: u64) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let (semaphores, values) = (slice(info.p_semaphores, info.semaphore_count), slice(info.p_values, info.semaphore_count));
        let owned: Vec<Arc<Payload>> = fallible::collect(semaphores.iter().map(|s| get::<Semaphore>(*s).payload()))?;
        let payloads: Vec<&Payload> = fallible::collect(owned.iter().map(|p| &**p))?;
        let reached = |(payload, value): (&&Payload, &u64)| payload.value() >= *value;
        let any = info.flags.contains(vk::SemaphoreWaitFlags::ANY);
        let ready = || {
            let mut all = payloads.iter().zip(values);
            if any { all.any(reached) } else { all.all(reached) }
        };
        match wait_for(&device.sync, timeout, &payloads, ready) {
            vk::Result::SUCCESS => Ok(()),
            other => Err(other),
        }
    }

    fn signal_semaphore(device: vk::Device, info: *const vk::SemaphoreSignalInfo<'_>) -> VkResult {
        let info = &*info;
        get::<Semaphore>(info.semaphore).payload().set(&dispatchable::<Device>(device).sync, info.value);
        Ok(())
    }

    fn create_event(device: vk::Device, _info: *const vk::EventCreateInfo<'_>, allocator: Allocator<'_>, event: *mut vk::Event) -> VkResult {
        *event = handle::create(Arc::new(Event::default()), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_event(device: vk::Device, event: vk::Event, allocator: Allocator<'_>) {
        handle::destroy::<Event>(event, memory_of(device, allocator));
    }

    fn get_event_status(device: vk::Device, event: vk::Event) -> VkResult {
        dispatchable::<Device>(device).sync.check()?;
        Err(if get::<Event>(event).is_set() { vk::Result::EVENT_SET } else { vk::Result::EVENT_RESET })
    }

    fn set_event(device: vk::Device, event: vk::Event) -> VkResult {
        get::<Event>(event).set(&dispatchable::<Device>(device).sync, true);
        Ok(())
    }

    fn reset_event(device: vk::Device, event: vk::Event) -> VkResult {
        get::<Event>(event).set(&dispatchable::<Device>(device).sync, false);
        Ok(())
    }
}

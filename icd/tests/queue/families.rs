//! Tests of queues of several families: they run concurrently, and synchronise by semaphores.

use crate::common::{Context, entry, layers, range, spirv};
use crate::pipeline::{Set, compute, record_dispatch};
use ash::vk;

const FAMILIES: u32 = 3;

/// Creates a device with all queues of all families, and returns the first queue of each.
fn context() -> (Context, [vk::Queue; FAMILIES as usize]) {
    let entry = entry();
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: valid usage.
    unsafe {
        let instance = entry.create_instance(&info, None).expect("instance");
        let physical = instance.enumerate_physical_devices().expect("devices")[0];
        let families = instance.get_physical_device_queue_family_properties(physical);
        assert_eq!(families.len(), FAMILIES as usize);
        let priorities = [1.0; 16];
        let queues: Vec<_> = (0..)
            .zip(&families)
            .map(|(family, properties)| {
                let priorities = &priorities[..properties.queue_count as usize];
                vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(priorities)
            })
            .collect();
        let mut timeline = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut timeline);
        let device = instance.create_device(physical, &info, None).expect("device");
        let mut all = Vec::new();
        for (family, properties) in (0..).zip(&families) {
            all.extend((0..properties.queue_count).map(|index| device.get_device_queue(family, index)));
            let info = vk::DeviceQueueInfo2::default().queue_family_index(family);
            assert_eq!(device.get_device_queue2(&info), device.get_device_queue(family, 0));
        }
        let count = all.len();
        all.sort_unstable_by_key(|queue| vk::Handle::as_raw(*queue));
        all.dedup();
        assert!(all.len() == count && !all.contains(&vk::Queue::null()), "each has a handle of its own");
        let queue = [0, 1, 2].map(|family| device.get_device_queue(family, 0));
        let pool = device.create_command_pool(&Default::default(), None).expect("pool");
        (Context { entry, instance, physical, device, queue: queue[0], pool }, queue)
    }
}

/// Records a command buffer of a family's pool; the caller destroys the pool.
fn record(c: &Context, family: u32, with: impl FnOnce(vk::CommandBuffer)) -> (vk::CommandPool, vk::CommandBuffer) {
    let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
    // SAFETY: valid usage.
    unsafe {
        let pool = c.device.create_command_pool(&info, None).expect("pool");
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let buffer = c.device.allocate_command_buffers(&info).expect("command buffer")[0];
        c.device.begin_command_buffer(buffer, &Default::default()).expect("begin");
        with(buffer);
        c.device.end_command_buffer(buffer).expect("end");
        (pool, buffer)
    }
}

/// Checks the way in which an engine fills a texture: uploaded on the transfer queue, then owned by
/// the graphics queue, which is submitted first.
#[test]
fn a_texture_is_uploaded_by_the_transfer_queue_and_used_by_another() {
    let (c, [graphics, _, transfer]) = context();
    let d = &c.device;
    let image = c.image(vk::Format::R32_UINT, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    let (mut from, to) = (c.buffer(64 * 64 * 4), c.buffer(64 * 64 * 4));
    from.fill_words(|i| i * 7 + 1);
    let region = [vk::BufferImageCopy::default()
        .image_subresource(layers(vk::ImageAspectFlags::COLOR, 0))
        .image_extent(vk::Extent3D { width: 64, height: 64, depth: 1 })];
    use vk::{AccessFlags as Access, ImageLayout as Layout, PipelineStageFlags as Stage};
    let barrier = |b, families: [u32; 2], layouts: [Layout; 2], access: [Access; 2], stages: [Stage; 2]| {
        let barrier = vk::ImageMemoryBarrier::default()
            .image(image.image)
            .subresource_range(range(vk::ImageAspectFlags::COLOR, 1))
            .old_layout(layouts[0])
            .new_layout(layouts[1])
            .src_queue_family_index(families[0])
            .dst_queue_family_index(families[1])
            .src_access_mask(access[0])
            .dst_access_mask(access[1]);
        // SAFETY: valid usage.
        unsafe { d.cmd_pipeline_barrier(b, stages[0], stages[1], Default::default(), &[], &[], &[barrier]) };
    };
    let (none, source, target) = (Access::empty(), Layout::TRANSFER_SRC_OPTIMAL, Layout::TRANSFER_DST_OPTIMAL);
    let own = [vk::QUEUE_FAMILY_IGNORED; 2];
    let (first, upload) = record(&c, 2, |b| {
        let stages = [Stage::TOP_OF_PIPE, Stage::TRANSFER];
        barrier(b, own, [Layout::UNDEFINED, target], [none, Access::TRANSFER_WRITE], stages);
        // SAFETY: valid usage.
        unsafe { d.cmd_copy_buffer_to_image(b, from.buffer, image.image, target, &region) };
        let stages = [Stage::TRANSFER, Stage::BOTTOM_OF_PIPE];
        barrier(b, [2, 0], [target, source], [Access::TRANSFER_WRITE, none], stages);
    });
    let (second, read) = record(&c, 0, |b| {
        let stages = [Stage::TRANSFER, Stage::TRANSFER];
        barrier(b, [2, 0], [target, source], [none, Access::TRANSFER_READ], stages);
        // SAFETY: valid usage.
        unsafe { d.cmd_copy_image_to_buffer(b, image.image, source, to.buffer, &region) };
    });
    // SAFETY: valid usage.
    unsafe {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let semaphore = [d.create_semaphore(&vk::SemaphoreCreateInfo::default().push_next(&mut kind), None).unwrap()];
        let (values, buffers) = ([1], [read]);
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&values);
        let submit = vk::SubmitInfo::default().wait_semaphores(&semaphore).wait_dst_stage_mask(&[Stage::TRANSFER]);
        d.queue_submit(graphics, &[submit.command_buffers(&buffers).push_next(&mut timeline)], vk::Fence::null())
            .unwrap();
        let buffers = [upload];
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&values);
        let submit = vk::SubmitInfo::default().signal_semaphores(&semaphore).command_buffers(&buffers);
        d.queue_submit(transfer, &[submit.push_next(&mut timeline)], vk::Fence::null()).unwrap();
        d.device_wait_idle().unwrap();
        assert_eq!(to.words(), from.words());
        d.destroy_semaphore(semaphore[0], None);
        [first, second].iter().for_each(|pool| d.destroy_command_pool(*pool, None));
    }
    c.free_image(image);
    c.free(from);
    c.free(to);
}

/// Checks that dispatches and large copies on other queues complete while a dispatch, which ends on
/// request, takes all threads.
#[test]
fn an_endless_dispatch_does_not_block_other_queues() {
    const STOP: u32 = 12345;
    const BYTES: u64 = 8 << 20;
    let (c, [graphics, async_compute, transfer]) = context();
    let d = &c.device;
    let kinds = [(vk::DescriptorType::STORAGE_BUFFER, 1), (vk::DescriptorType::UNIFORM_BUFFER, 1)];
    let (spinning, squaring) = (Set::new(&c, &kinds[..1]), Set::new(&c, &kinds));
    let (mut flag, mut data, mut zero, copy) = (c.buffer(64), c.buffer(BYTES), c.buffer(64), c.buffer(BYTES));
    flag.fill_words(|_| 0);
    data.fill_words(|i| i);
    zero.fill_words(|_| 0);
    spinning.buffers(&c, 0, kinds[0].0, &[(flag.buffer, 0, vk::WHOLE_SIZE)]);
    squaring.buffers(&c, 0, kinds[0].0, &[(copy.buffer, 0, vk::WHOLE_SIZE)]);
    squaring.buffers(&c, 1, kinds[1].0, &[(zero.buffer, 0, vk::WHOLE_SIZE)]);
    let cache = vk::PipelineCache::null();
    let spin = compute(&c, cache, spinning.layout, &spirv(include_bytes!("../data/spin.comp.spv")), &[]);
    let square = compute(&c, cache, squaring.layout, &spirv(include_bytes!("../data/square.comp.spv")), &[64, 3]);
    let endless = record(&c, 0, |b| record_dispatch(&c, b, &spinning, spin, &[], 64));
    let copying = record(&c, 2, |b| {
        let region = vk::BufferCopy { src_offset: 0, dst_offset: 0, size: BYTES };
        // SAFETY: valid usage.
        unsafe { d.cmd_copy_buffer(b, data.buffer, copy.buffer, &[region]) };
    });
    let computing = record(&c, 1, |b| record_dispatch(&c, b, &squaring, square, &0u32.to_le_bytes(), 4096));
    let submit = |queue, buffer, fence| {
        let buffers = [buffer];
        // SAFETY: valid usage.
        unsafe { d.queue_submit(queue, &[vk::SubmitInfo::default().command_buffers(&buffers)], fence) }.unwrap();
    };
    // SAFETY: valid usage.
    unsafe {
        let fences = [0; 2].map(|_| d.create_fence(&Default::default(), None).unwrap());
        submit(graphics, endless.1, fences[0]);
        // The dispatch has begun.
        while (flag.pointer.cast::<u32>().add(1)).read_volatile() == 0 {
            std::thread::yield_now();
        }
        for (queue, buffer) in [(transfer, copying.1), (async_compute, computing.1)] {
            submit(queue, buffer, fences[1]);
            d.wait_for_fences(&fences[1..], true, 20_000_000_000).expect("done beside the endless one");
            d.reset_fences(&fences[1..]).unwrap();
            d.queue_wait_idle(queue).unwrap();
        }
        assert_eq!(d.get_fence_status(fences[0]), Ok(false), "it has not ended");
        flag.pointer.cast::<u32>().write_volatile(STOP);
        d.wait_for_fences(&fences[..1], true, 20_000_000_000).expect("it was told to end");
        let copied = copy.words();
        let expected = |i: u32| if i < 64 * 4096 { (i / 64 * 64 + 63 - i % 64) * 3 } else { i };
        assert!((0..).zip(&copied).all(|(i, &word)| word == expected(i)));
        fences.iter().for_each(|fence| d.destroy_fence(*fence, None));
        [spin, square].iter().for_each(|pipeline| d.destroy_pipeline(*pipeline, None));
        [endless.0, copying.0, computing.0].iter().for_each(|pool| d.destroy_command_pool(*pool, None));
    }
    spinning.destroy(&c);
    squaring.destroy(&c);
    [flag, data, zero, copy].into_iter().for_each(|buffer| c.free(buffer));
}

//! Tests of sparse resources: their requirements, and the effects of vkQueueBindSparse.

use crate::common::Context;
use ash::vk;

const BLOCK: u64 = 1 << 16;

/// Index of the only memory type that sparse resources support; other resources support it too.
const TYPE: u32 = 1;

fn memory(context: &Context, blocks: u64) -> (vk::DeviceMemory, *mut u32) {
    let info = vk::MemoryAllocateInfo::default().allocation_size(blocks * BLOCK).memory_type_index(TYPE);
    // SAFETY: valid usage.
    unsafe {
        let memory = context.device.allocate_memory(&info, None).expect("memory");
        let all = context.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).expect("mapped");
        (memory, all.cast())
    }
}

fn buffer(context: &Context, blocks: u64, flags: vk::BufferCreateFlags) -> vk::Buffer {
    let usage = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
    let flags = flags | vk::BufferCreateFlags::SPARSE_BINDING;
    let info = vk::BufferCreateInfo::default().size(blocks * BLOCK).usage(usage).flags(flags);
    // SAFETY: valid usage.
    unsafe {
        let buffer = context.device.create_buffer(&info, None).expect("buffer");
        let needs = context.device.get_buffer_memory_requirements(buffer);
        assert_eq!((needs.alignment, needs.size, needs.memory_type_bits), (BLOCK, blocks * BLOCK, 1 << TYPE));
        buffer
    }
}

/// Returns a binding of blocks of a resource from the first on to an offset in a memory; null
/// unbinds.
fn bind(first: u64, count: u64, memory: vk::DeviceMemory, at: u64) -> vk::SparseMemoryBind {
    vk::SparseMemoryBind::default()
        .resource_offset(first * BLOCK)
        .size(count * BLOCK)
        .memory(memory)
        .memory_offset(at * BLOCK)
}

/// Binds and waits for the fence.
fn submit(context: &Context, info: vk::BindSparseInfo<'_>) -> Result<(), vk::Result> {
    // SAFETY: valid usage.
    unsafe {
        let fence = context.device.create_fence(&Default::default(), None)?;
        context.device.queue_bind_sparse(context.queue, &[info], fence)?;
        let result = context.device.wait_for_fences(&[fence], true, 60_000_000_000);
        context.device.destroy_fence(fence, None);
        result
    }
}

fn bind_buffer(context: &Context, buffer: vk::Buffer, binds: &[vk::SparseMemoryBind]) {
    let info = [vk::SparseBufferMemoryBindInfo::default().buffer(buffer).binds(binds)];
    submit(context, vk::BindSparseInfo::default().buffer_binds(&info)).expect("bound");
}

#[test]
fn a_sparse_buffer_has_the_bytes_of_its_memory() {
    let context = Context::new(&[], &[]);
    let d = &context.device;
    let aliased = vk::BufferCreateFlags::SPARSE_RESIDENCY | vk::BufferCreateFlags::SPARSE_ALIASED;
    let (memory, words) = memory(&context, 3);
    let [one, other] = [4, 2].map(|blocks| buffer(&context, blocks, aliased));
    // SAFETY: the block is inside the mapped memory.
    let word = |block: u64| unsafe { *words.add((block * BLOCK / 4) as usize) };
    bind_buffer(&context, one, &[bind(0, 1, memory, 2), bind(2, 2, memory, 0)]);
    bind_buffer(&context, other, &[bind(0, 2, memory, 1)]);
    // SAFETY: valid usage.
    unsafe {
        let fill = |block: u64, value| {
            context.run(|c| d.cmd_fill_buffer(c, one, block * BLOCK, BLOCK, value)).expect("filled");
        };
        (0..4).for_each(|block| fill(block, 10 + block as u32));
        assert_eq!([0, 1, 2].map(word), [12, 13, 10], "the second block has no memory");
        // The memory is accessed through another buffer, and copied from there to the first.
        let copy = vk::BufferCopy { src_offset: BLOCK, dst_offset: 2 * BLOCK, size: 4 };
        context.run(|c| d.cmd_copy_buffer(c, other, one, &[copy])).expect("copied");
        assert_eq!([0, 1, 2].map(word), [10, 13, 10]);
        // The blocks are bound to another offset, and unbound.
        bind_buffer(&context, one, &[bind(0, 1, memory, 1), bind(2, 1, vk::DeviceMemory::null(), 0)]);
        (0..3).for_each(|block| fill(block, 20 + block as u32));
        assert_eq!([0, 1, 2].map(word), [10, 20, 10]);
        // The memory is freed before the buffers that are bound to it, which are not used any more.
        d.free_memory(memory, None);
        d.destroy_buffer(one, None);
        d.destroy_buffer(other, None);
    }
}

/// Checks a binding that waits for a value of a timeline, which the host signals, and signals
/// another.
#[test]
fn bindings_wait_and_signal() {
    let context = super::timeline_context();
    let d = &context.device;
    let timeline = ash::khr::timeline_semaphore::Device::new(&context.instance, d);
    let (memory, words) = memory(&context, 1);
    let sparse = buffer(&context, 1, vk::BufferCreateFlags::empty());
    // SAFETY: valid usage.
    unsafe {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let semaphore = d.create_semaphore(&vk::SemaphoreCreateInfo::default().push_next(&mut kind), None).unwrap();
        let (semaphores, waits, signals) = ([semaphore], [2], [3]);
        let mut values =
            vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&waits).signal_semaphore_values(&signals);
        let binds = [bind(0, 1, memory, 0)];
        let info = [vk::SparseBufferMemoryBindInfo::default().buffer(sparse).binds(&binds)];
        let mut group = vk::DeviceGroupBindSparseInfo::default();
        let info = vk::BindSparseInfo::default()
            .wait_semaphores(&semaphores)
            .buffer_binds(&info)
            .signal_semaphores(&semaphores)
            .push_next(&mut group)
            .push_next(&mut values);
        let fence = d.create_fence(&Default::default(), None).unwrap();
        d.queue_bind_sparse(context.queue, &[info], fence).unwrap();
        assert_eq!(d.wait_for_fences(&[fence], true, 20_000_000), Err(vk::Result::TIMEOUT));
        let signal = vk::SemaphoreSignalInfo::default().semaphore(semaphore).value(2);
        timeline.signal_semaphore(&signal).unwrap();
        d.wait_for_fences(&[fence], true, u64::MAX).unwrap();
        assert_eq!(timeline.get_semaphore_counter_value(semaphore), Ok(3));
        context.run(|c| d.cmd_fill_buffer(c, sparse, 0, vk::WHOLE_SIZE, 7)).unwrap();
        assert_eq!(*words.add(BLOCK as usize / 4 - 1), 7);
        d.destroy_fence(fence, None);
        d.destroy_semaphore(semaphore, None);
        d.destroy_buffer(sparse, None);
        d.free_memory(memory, None);
    }
}

/// Checks bindings in any order and of any size against a list of the expected contents.
#[test]
fn any_bindings_show_the_right_blocks() {
    const BLOCKS: u64 = 24;
    let context = Context::new(&[], &[]);
    let d = &context.device;
    let memories = [0, 1].map(|number| {
        let (memory, words) = memory(&context, BLOCKS);
        // SAFETY: the block is inside the mapped memory.
        (0..BLOCKS).for_each(|i| unsafe { *words.add((i * BLOCK / 4) as usize) = (100 * number + i) as u32 });
        memory
    });
    let sparse = buffer(&context, BLOCKS, vk::BufferCreateFlags::SPARSE_RESIDENCY);
    let mut bound = [None; BLOCKS as usize];
    let mut rng = base::random::Rng(0x5eed_5a55_0dd5_0001);
    let read = context.buffer(BLOCKS * 4);
    for _ in 0..40 {
        let binds: Vec<vk::SparseMemoryBind> = (0..1 + rng.below(5))
            .map(|_| {
                let first = u64::from(rng.below(BLOCKS as u32));
                let count = 1 + u64::from(rng.below((BLOCKS - first) as u32));
                let at = u64::from(rng.below((BLOCKS - count + 1) as u32));
                let which = rng.below(3) as usize;
                for i in 0..count {
                    bound[(first + i) as usize] = (which < 2).then(|| (100 * which as u64 + at + i) as u32);
                }
                bind(first, count, memories.get(which).copied().unwrap_or_default(), at)
            })
            .collect();
        bind_buffer(&context, sparse, &binds);
        let word = |i| vk::BufferCopy { src_offset: i * BLOCK, dst_offset: i * 4, size: 4 };
        let words: Vec<_> = (0..BLOCKS).map(word).collect();
        // SAFETY: valid usage.
        context.run(|c| unsafe { d.cmd_copy_buffer(c, sparse, read.buffer, &words) }).expect("copied");
        for (i, (got, want)) in read.words().into_iter().zip(bound).enumerate() {
            assert!(want.is_none_or(|want| want == got), "block {i}: {got} and not {want:?}");
        }
    }
    context.free(read);
    // SAFETY: valid usage.
    unsafe {
        d.destroy_buffer(sparse, None);
        memories.iter().for_each(|&memory| d.free_memory(memory, None));
    }
}

/// Checks an image that is bound as a whole, to non-consecutive pieces of a memory.
#[test]
fn a_bound_sparse_image_behaves_like_others() {
    let context = Context::new(&[], &[]);
    let d = &context.device;
    let (side, format) = (200, vk::Format::R8G8B8A8_UNORM);
    let info = vk::ImageCreateInfo::default()
        .flags(vk::ImageCreateFlags::SPARSE_BINDING)
        .image_type(vk::ImageType::TYPE_2D)
        .format(format)
        .extent(vk::Extent3D { width: side, height: side, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .usage(vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST);
    // SAFETY: valid usage.
    unsafe {
        let image = d.create_image(&info, None).expect("image");
        let needs = d.get_image_memory_requirements(image);
        assert_eq!((needs.alignment, needs.memory_type_bits), (BLOCK, 1 << TYPE));
        let blocks = needs.size / BLOCK;
        let (memory, _) = memory(&context, 2 * blocks);
        let binds: Vec<_> = (0..blocks).map(|i| bind(i, 1, memory, 2 * (blocks - 1 - i))).collect();
        let opaque = [vk::SparseImageOpaqueMemoryBindInfo::default().image(image).binds(&binds)];
        submit(&context, vk::BindSparseInfo::default().image_opaque_binds(&opaque)).expect("bound");
        let mut buffers = [0, 1].map(|_| context.buffer(u64::from(side * side * 4)));
        buffers[0].fill_words(|i| i.wrapping_mul(0x9e37_79b9));
        let region = crate::common::info::region(vk::ImageAspectFlags::COLOR, [side; 2]);
        let general = vk::ImageLayout::GENERAL;
        context
            .run(|c| {
                d.cmd_copy_buffer_to_image(c, buffers[0].buffer, image, general, &[region]);
                d.cmd_copy_image_to_buffer(c, image, general, buffers[1].buffer, &[region]);
            })
            .expect("copied");
        assert!(buffers[0].bytes() == buffers[1].bytes());
        buffers.into_iter().for_each(|buffer| context.free(buffer));
        d.destroy_image(image, None);
        d.free_memory(memory, None);
    }
}

/// Checks that depth and stencil have blocks of their own shapes, which are bound separately.
#[test]
fn planes_are_bound_one_by_one() {
    use vk::ImageAspectFlags as Aspects;
    let context = Context::new(&[], &[]);
    let d = &context.device;
    let info = vk::ImageCreateInfo::default()
        .flags(vk::ImageCreateFlags::SPARSE_BINDING | vk::ImageCreateFlags::SPARSE_RESIDENCY)
        .image_type(vk::ImageType::TYPE_2D)
        .format(vk::Format::D24_UNORM_S8_UINT)
        .extent(vk::Extent3D { width: 300, height: 260, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .usage(vk::ImageUsageFlags::TRANSFER_DST);
    // SAFETY: valid usage.
    unsafe {
        let image = d.create_image(&info, None).expect("image");
        let reported = d.get_image_sparse_memory_requirements(image);
        let shape = |r: &vk::SparseImageMemoryRequirements| {
            let p = r.format_properties;
            (p.aspect_mask, p.image_granularity.width, p.image_granularity.height, r.image_mip_tail_first_lod)
        };
        let shapes: Vec<_> = reported.iter().map(shape).collect();
        assert_eq!(shapes, [(Aspects::DEPTH, 128, 128, 1), (Aspects::STENCIL, 256, 256, 1)]);
        let (memory, words) = memory(&context, 2);
        let block = |aspect, at, [width, height]: [u32; 2], number| {
            vk::SparseImageMemoryBind::default()
                .subresource(vk::ImageSubresource::default().aspect_mask(aspect))
                .offset(vk::Offset3D { x: at, y: at, z: 0 })
                .extent(vk::Extent3D { width, height, depth: 1 })
                .memory(memory)
                .memory_offset(number * BLOCK)
        };
        let binds = [block(Aspects::DEPTH, 128, [128; 2], 0), block(Aspects::STENCIL, 256, [44, 4], 1)];
        let images = [vk::SparseImageMemoryBindInfo::default().image(image).binds(&binds)];
        submit(&context, vk::BindSparseInfo::default().image_binds(&images)).expect("bound");
        let range = vk::ImageSubresourceRange::default().level_count(1).layer_count(1);
        let range = [range.aspect_mask(Aspects::DEPTH | Aspects::STENCIL)];
        let value = vk::ClearDepthStencilValue { depth: 1.0, stencil: 0xab };
        let general = vk::ImageLayout::GENERAL;
        context.run(|c| d.cmd_clear_depth_stencil_image(c, image, general, &value, &range)).expect("cleared");
        assert!((0..BLOCK as usize / 4).all(|i| *words.add(i) == 0xff_ffff));
        let stencil = words.cast::<u8>().add(BLOCK as usize);
        for (x, y) in (0..256).flat_map(|y| (0..256).map(move |x| (x, y))) {
            assert_eq!(*stencil.add(256 * y + x), if x < 44 && y < 4 { 0xab } else { 0 }, "{x} {y}");
        }
        d.destroy_image(image, None);
        d.free_memory(memory, None);
    }
}

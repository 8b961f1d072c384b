//! Random arguments of commands: regions, sparse binds, imports, ranges of descriptors, stored
//! blobs, sequences of generated commands, builds and copies of acceleration structures, and
//! indirect parameters that a second thread changes while they are read. For all of them a call
//! gives an error or a result, the device may be lost, and no byte changes outside of the resources
//! that a command names.
//!
//! `GRUS_API_FUZZ=n` sets the number of rounds of each test (without it each takes about a second);
//! `GRUS_API_FUZZ_SEED=s` sets the first seed.

#[path = "api_fuzz/acceleration_structures.rs"]
mod acceleration_structures;
#[path = "common/binaries.rs"]
mod binaries;
#[path = "api_fuzz/blobs.rs"]
mod blobs;
mod common;
#[path = "common/generated.rs"]
mod generated;
#[path = "api_fuzz/generated_commands.rs"]
mod generated_commands;
#[path = "common/pipeline.rs"]
mod pipeline;

use ash::vk;
use base::random::XorshiftStar as Rng;
use binaries::Commands;
use common::info::{Triangles, area};
use common::{Context, Image, spirv};
use generated::{Functions, Sequences, Token, Type};
use pipeline::{GENERAL, RGBA8, Set, compute, module, record_dispatch, render, render_context};
#[cfg(unix)]
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use vk::DescriptorType as D;

/// Value of the bytes between the resources.
const MARK: u8 = 0xa5;
/// Number of bytes before, between and behind the resources.
const MARGIN: u64 = 1 << 16;
/// Size of a buffer in bytes.
const BUFFER: u64 = 4096;
const SIDE: u32 = 16;
/// Time of one test without the variable.
const SHORT: Duration = Duration::from_millis(1000);

/// Calls a test with one generator after the other, until the time or the number of rounds is over.
fn rounds(mut round: impl FnMut(u64, &mut Rng)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (count, first) = (number("GRUS_API_FUZZ"), number("GRUS_API_FUZZ_SEED").unwrap_or(1));
    let began = Instant::now();
    for seed in first.. {
        match count {
            Some(count) if seed - first >= count => return,
            None if began.elapsed() > SHORT => return,
            _ => round(seed, &mut Rng::new(seed)),
        }
    }
}

/// Returns a number that is usually inside of a length, and otherwise at its end or beyond all
/// bounds.
fn near(rng: &mut Rng, length: u64) -> u64 {
    match rng.below(10) {
        0..=5 => rng.below(length as usize + 1) as u64,
        6 => length.wrapping_sub(rng.below(9) as u64),
        7 => length.wrapping_add(rng.below(9) as u64),
        8 => rng.pick(&[0, 1, 4, 1 << 16, 1 << 31, 1 << 32, 1 << 63, u64::MAX - 3, u64::MAX]),
        _ => rng.next(),
    }
}

fn word(rng: &mut Rng, length: u32) -> u32 {
    near(rng, length.into()) as u32
}

/// One piece of memory with resources and marks between them.
struct Guarded {
    c: Context,
    memory: vk::DeviceMemory,
    bytes: *mut u8,
    size: u64,
    /// Ranges of the resources: offset and size in bytes.
    inside: Vec<(u64, u64)>,
    buffers: Vec<vk::Buffer>,
    images: Vec<Image>,
}

impl Guarded {
    fn new(c: Context, buffers: usize, formats: &[vk::Format]) -> Guarded {
        let d = &c.device;
        let (mut inside, mut at) = (Vec::new(), MARGIN);
        // SAFETY: the usage is valid in all calls of this block.
        unsafe {
            let buffers: Vec<_> = (0..buffers)
                .map(|_| {
                    let info =
                        vk::BufferCreateInfo::default().size(BUFFER).usage(vk::BufferUsageFlags::from_raw(0x1ff));
                    inside.push((at, BUFFER));
                    at += BUFFER + MARGIN;
                    d.create_buffer(&info, None).unwrap()
                })
                .collect();
            let infos = formats.iter().map(|&format| {
                let usage = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
                let info = vk::ImageCreateInfo::default()
                    .image_type(vk::ImageType::TYPE_2D)
                    .format(format)
                    .extent(vk::Extent3D { width: SIDE, height: SIDE, depth: 1 })
                    .mip_levels(2)
                    .array_layers(2)
                    .samples(vk::SampleCountFlags::TYPE_1)
                    .usage(usage);
                d.create_image(&info, None).unwrap()
            });
            let handles: Vec<_> = infos.collect();
            for &image in &handles {
                let needs = d.get_image_memory_requirements(image);
                at = at.next_multiple_of(needs.alignment);
                inside.push((at, needs.size));
                at += needs.size + MARGIN;
            }
            let (memory, bytes) = c.memory(at);
            let places: Vec<u64> = inside.iter().map(|p| p.0).collect();
            for (&buffer, &at) in buffers.iter().zip(&places) {
                d.bind_buffer_memory(buffer, memory, at).unwrap();
            }
            for (&image, &at) in handles.iter().zip(&places[buffers.len()..]) {
                d.bind_image_memory(image, memory, at).unwrap();
            }
            std::slice::from_raw_parts_mut(bytes, at as usize).fill(MARK);
            let images = handles
                .into_iter()
                .map(|image| Image {
                    image,
                    memory: vk::DeviceMemory::null(),
                    view: vk::ImageView::null(),
                    extent: [SIDE; 2],
                    aspect: vk::ImageAspectFlags::COLOR,
                })
                .collect();
            Guarded { c, memory, bytes, size: at, inside, buffers, images }
        }
    }

    /// Fails if a byte outside of the resources has changed.
    fn check(&self, what: &str) {
        // SAFETY: the memory is mapped, and nothing executes.
        let all = unsafe { std::slice::from_raw_parts(self.bytes, self.size as usize) };
        let mut from = 0;
        for &(at, bytes) in self.inside.iter().chain([&(self.size, 0)]) {
            let wrong = all[from..at as usize].iter().position(|&b| b != MARK);
            assert!(wrong.is_none(), "{what}: byte {} was written, which is in no resource", from + wrong.unwrap_or(0));
            from = (at + bytes) as usize;
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let d = &self.c.device;
        // SAFETY: the objects are not in use any more.
        unsafe {
            let _ = d.device_wait_idle();
            self.buffers.iter().for_each(|&b| d.destroy_buffer(b, None));
            self.images.iter().for_each(|i| d.destroy_image(i.image, None));
            d.free_memory(self.memory, None);
        }
    }
}

fn subresource(rng: &mut Rng) -> vk::ImageSubresourceLayers {
    vk::ImageSubresourceLayers {
        aspect_mask: vk::ImageAspectFlags::COLOR,
        mip_level: if rng.chance(90) { rng.below(2) as u32 } else { word(rng, 2) },
        base_array_layer: if rng.chance(90) { rng.below(2) as u32 } else { word(rng, 2) },
        layer_count: if rng.chance(90) { 1 } else { word(rng, 2) },
    }
}

fn offset(rng: &mut Rng) -> vk::Offset3D {
    let z = if rng.chance(90) { 0 } else { word(rng, 1) as i32 };
    vk::Offset3D { x: word(rng, SIDE) as i32, y: word(rng, SIDE) as i32, z }
}

fn extent(rng: &mut Rng) -> vk::Extent3D {
    let depth = if rng.chance(90) { 1 } else { word(rng, 1) };
    vk::Extent3D { width: word(rng, SIDE), height: word(rng, SIDE), depth }
}

#[test]
fn regions_of_transfers_stay_inside() {
    let formats = [RGBA8, vk::Format::R32G32B32A32_SFLOAT, vk::Format::R8_UNORM, vk::Format::BC1_RGBA_UNORM_BLOCK];
    let mut guarded = Guarded::new(Context::new(&[], &[]), 2, &formats);
    rounds(|seed, rng| {
        let (c, d) = (&guarded.c, &guarded.c.device);
        let [from, to] = [(); 2].map(|()| guarded.buffers[rng.below(2)]);
        let [source, target] = [(); 2].map(|()| guarded.images[rng.below(formats.len())].image);
        let kind = rng.below(8);
        // SAFETY: all handles are valid; the regions are random, which the test is about.
        let result = c.run(|b| unsafe {
            match kind {
                0 => {
                    let region = vk::BufferCopy {
                        src_offset: near(rng, BUFFER),
                        dst_offset: near(rng, BUFFER),
                        size: near(rng, BUFFER),
                    };
                    d.cmd_copy_buffer(b, from, to, &[region]);
                }
                1 | 2 => {
                    let region = vk::BufferImageCopy {
                        buffer_offset: near(rng, BUFFER),
                        buffer_row_length: word(rng, SIDE),
                        buffer_image_height: word(rng, SIDE),
                        image_subresource: subresource(rng),
                        image_offset: offset(rng),
                        image_extent: extent(rng),
                    };
                    if kind == 1 {
                        d.cmd_copy_buffer_to_image(b, from, target, GENERAL, &[region]);
                    } else {
                        d.cmd_copy_image_to_buffer(b, source, GENERAL, to, &[region]);
                    }
                }
                3 => {
                    let region = vk::ImageCopy {
                        src_subresource: subresource(rng),
                        src_offset: offset(rng),
                        dst_subresource: subresource(rng),
                        dst_offset: offset(rng),
                        extent: extent(rng),
                    };
                    d.cmd_copy_image(b, source, GENERAL, target, GENERAL, &[region]);
                }
                4 => {
                    let region = vk::ImageBlit {
                        src_subresource: subresource(rng),
                        src_offsets: [offset(rng), offset(rng)],
                        dst_subresource: subresource(rng),
                        dst_offsets: [offset(rng), offset(rng)],
                    };
                    let filter = rng.pick(&[vk::Filter::NEAREST, vk::Filter::LINEAR]);
                    d.cmd_blit_image(b, source, GENERAL, target, GENERAL, &[region], filter);
                }
                5 => d.cmd_fill_buffer(b, to, near(rng, BUFFER), near(rng, BUFFER), 0x1234_5678),
                6 => {
                    let bytes = vec![7u8; 4 * (1 + rng.below(64))];
                    d.cmd_update_buffer(b, to, near(rng, BUFFER), &bytes);
                }
                _ => {
                    let range = vk::ImageSubresourceRange {
                        aspect_mask: vk::ImageAspectFlags::COLOR,
                        base_mip_level: word(rng, 2),
                        level_count: word(rng, 2),
                        base_array_layer: word(rng, 2),
                        layer_count: word(rng, 2),
                    };
                    d.cmd_clear_color_image(b, target, GENERAL, &vk::ClearColorValue { uint32: [3; 4] }, &[range]);
                }
            }
        });
        guarded.check(&format!("seed {seed}, {kind}: {result:?}"));
        // SAFETY: nothing executes.
        unsafe { c.device.reset_command_pool(c.pool, vk::CommandPoolResetFlags::empty()) }.expect("reset");
        if result == Err(vk::Result::ERROR_DEVICE_LOST) {
            guarded = Guarded::new(Context::new(&[], &[]), 2, &formats);
        }
    });
}

#[test]
fn sparse_binds_reach_only_their_memory() {
    const BLOCK: u64 = 1 << 16;
    const BLOCKS: u64 = 4;
    /// The only memory type that sparse resources support.
    const TYPE: u32 = 1;
    let mut guarded = Guarded::new(Context::new(&[], &[]), 1, &[]);
    rounds(|seed, rng| {
        let (c, d) = (&guarded.c, &guarded.c.device);
        // SAFETY: all handles are valid; the binds are random, which the test is about.
        unsafe {
            let info = vk::MemoryAllocateInfo::default().allocation_size(BLOCKS * BLOCK).memory_type_index(TYPE);
            let memory = d.allocate_memory(&info, None).expect("memory");
            let flags = vk::BufferCreateFlags::SPARSE_BINDING
                | vk::BufferCreateFlags::SPARSE_RESIDENCY
                | vk::BufferCreateFlags::SPARSE_ALIASED;
            let usage = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
            let info = vk::BufferCreateInfo::default().size(BLOCKS * BLOCK).usage(usage).flags(flags);
            let buffer = d.create_buffer(&info, None).expect("a buffer");
            let place = |rng: &mut Rng| match rng.chance(70) {
                true => rng.below(BLOCKS as usize + 1) as u64 * BLOCK,
                false => near(rng, BLOCKS * BLOCK),
            };
            let binds: Vec<_> = (0..1 + rng.below(3))
                .map(|_| {
                    let memory = if rng.chance(80) { memory } else { vk::DeviceMemory::null() };
                    vk::SparseMemoryBind::default()
                        .resource_offset(place(rng))
                        .size(place(rng))
                        .memory(memory)
                        .memory_offset(place(rng))
                })
                .collect();
            let bound = [vk::SparseBufferMemoryBindInfo::default().buffer(buffer).binds(&binds)];
            let info = vk::BindSparseInfo::default().buffer_binds(&bound);
            let fence = d.create_fence(&Default::default(), None).expect("a fence");
            let mut result = d.queue_bind_sparse(c.queue, &[info], fence);
            if result.is_ok() {
                result = d.wait_for_fences(&[fence], true, 60_000_000_000);
            }
            if result.is_ok() {
                result = c.run(|b| {
                    d.cmd_fill_buffer(b, buffer, 0, vk::WHOLE_SIZE, 0x5555_5555);
                    let region = vk::BufferCopy { src_offset: 0, dst_offset: 0, size: BUFFER };
                    d.cmd_copy_buffer(b, buffer, guarded.buffers[0], &[region]);
                });
            }
            d.destroy_fence(fence, None);
            d.destroy_buffer(buffer, None);
            d.free_memory(memory, None);
            guarded.check(&format!("seed {seed}, {binds:?}: {result:?}"));
            d.reset_command_pool(c.pool, vk::CommandPoolResetFlags::empty()).expect("reset");
            if result == Err(vk::Result::ERROR_DEVICE_LOST) {
                guarded = Guarded::new(Context::new(&[], &[]), 1, &[]);
            }
        }
    });
}

#[test]
#[cfg(unix)] // Windows has no file descriptors.
fn imports_of_any_file_take_no_others_memory() {
    const EXTENSIONS: [&std::ffi::CStr; 2] = [c"VK_KHR_external_memory_fd", c"VK_EXT_external_memory_dma_buf"];
    let guarded = Guarded::new(Context::new(&[], &EXTENSIONS), 1, &[]);
    let (c, d) = (&guarded.c, &guarded.c.device);
    rounds(|seed, rng| {
        // SAFETY: the descriptors are those of this function, and all handles are valid.
        unsafe {
            let flags = libc::MFD_ALLOW_SEALING | if rng.chance(10) { libc::MFD_HUGETLB } else { 0 };
            let fd = libc::memfd_create(c"fuzz".as_ptr(), flags);
            if fd < 0 {
                return;
            }
            let file = OwnedFd::from_raw_fd(fd);
            let size = near(rng, 1 << 17).min(1 << 22);
            let _ = libc::ftruncate(fd, size as libc::off_t);
            let seals = rng.pick(&[0, libc::F_SEAL_SHRINK, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW, libc::F_SEAL_GROW]);
            libc::fcntl(fd, libc::F_ADD_SEALS, seals);
            let handle = rng
                .pick(&[vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD, vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT]);
            let given = libc::dup(file.as_raw_fd());
            let mut import = vk::ImportMemoryFdInfoKHR::default().handle_type(handle).fd(given);
            let requested = if rng.chance(50) { size } else { near(rng, size) };
            let info = vk::MemoryAllocateInfo::default()
                .allocation_size(requested)
                .memory_type_index(rng.below(3) as u32)
                .push_next(&mut import);
            let Ok(memory) = d.allocate_memory(&info, None) else {
                libc::close(given);
                return guarded.check(&format!("seed {seed}"));
            };
            // A file that can still shrink has to be refused.
            let _ = libc::ftruncate(fd, 0);
            let usage = vk::BufferUsageFlags::TRANSFER_DST;
            let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(handle);
            let info =
                vk::BufferCreateInfo::default().size(requested.clamp(1, 1 << 22)).usage(usage).push_next(&mut external);
            let buffer = d.create_buffer(&info, None).expect("a buffer");
            if d.bind_buffer_memory(buffer, memory, near(rng, 1 << 12) & !0xff).is_ok() {
                let _ = c.run(|b| d.cmd_fill_buffer(b, buffer, 0, vk::WHOLE_SIZE, 0x7777_7777));
            }
            if let Ok(at) = d.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) {
                at.cast::<u8>().write_volatile(1);
                at.cast::<u8>().add(requested as usize - 1).write_volatile(1);
            }
            d.destroy_buffer(buffer, None);
            d.free_memory(memory, None);
            d.reset_command_pool(c.pool, vk::CommandPoolResetFlags::empty()).expect("reset");
            guarded.check(&format!("seed {seed}: {size} bytes, {requested} asked, seals {seals}"));
        }
    });
}

#[test]
fn ranges_of_descriptors_bound_what_shaders_reach() {
    let guarded = Guarded::new(render_context(&[], true), 3, &[]);
    let c = &guarded.c;
    let types = [
        (D::STORAGE_BUFFER, 1),
        (D::STORAGE_BUFFER, 1),
        (D::STORAGE_BUFFER, 1),
        (D::UNIFORM_BUFFER, 1),
        (D::UNIFORM_TEXEL_BUFFER, 1),
        (D::STORAGE_TEXEL_BUFFER, 1),
        (D::STORAGE_IMAGE, 1),
        (D::SAMPLED_IMAGE, 1),
    ];
    let words = spirv(include_bytes!("data/bounds.comp.spv"));
    let set = Set::new(c, &types);
    let pipelines = [0, 1, 2, 3].map(|mode| compute(c, vk::PipelineCache::null(), set.layout, &words, &[mode]));
    rounds(|seed, rng| {
        let range = |rng: &mut Rng| match rng.below(3) {
            0 => vk::WHOLE_SIZE,
            1 => near(rng, BUFFER),
            _ => rng.below(BUFFER as usize) as u64,
        };
        let mut shown = Vec::new();
        for (binding, &(ty, _)) in (0..4).zip(&types) {
            let place = (guarded.buffers[rng.below(3)], near(rng, BUFFER), range(rng));
            set.buffers(c, binding, ty, &[place]);
            shown.push((place.1, place.2));
        }
        for at in 0..(guarded.size / 4) as usize {
            // SAFETY: the memory is mapped, and nothing executes.
            let inside = guarded.inside.iter().any(|&(from, bytes)| (from..from + bytes).contains(&(4 * at as u64)));
            if inside && at % 16 == rng.below(16) {
                // SAFETY: the memory is mapped, the offset is inside of it, and nothing executes.
                unsafe { guarded.bytes.cast::<u32>().add(at).write(word(rng, BUFFER as u32 / 4)) };
            }
        }
        let pipeline = pipelines[rng.below(pipelines.len())];
        let result = c.run(|b| record_dispatch(c, b, &set, pipeline, &[0; 16], 1));
        guarded.check(&format!("seed {seed}, {shown:?}: {result:?}"));
        // SAFETY: nothing executes.
        unsafe { c.device.reset_command_pool(c.pool, vk::CommandPoolResetFlags::empty()) }.expect("reset");
    });
    // SAFETY: the pipelines are not in use any more.
    pipelines.iter().for_each(|&p| unsafe { c.device.destroy_pipeline(p, None) });
    set.destroy(c);
}

/// Checks parameters that change while they are read. The buffers are 0 for a shader's results, 1
/// for its indices and vertices, and 2 for parameters; all of them change.
#[test]
fn parameters_may_change_while_they_are_read() {
    let guarded = Guarded::new(render_context(&[], true), 3, &[]);
    let (c, d) = (&guarded.c, &guarded.c.device);
    let storage = (D::STORAGE_BUFFER, 1);
    let words = spirv(include_bytes!("data/bounds.comp.spv"));
    let types = [storage, storage, storage, (D::UNIFORM_BUFFER, 1), (D::UNIFORM_TEXEL_BUFFER, 1)];
    let set = Set::new(
        c,
        &[&types[..], &[(D::STORAGE_TEXEL_BUFFER, 1), (D::STORAGE_IMAGE, 1), (D::SAMPLED_IMAGE, 1)]].concat(),
    );
    let [out, data, parameters] = guarded.buffers[..] else { panic!("three buffers") };
    for (binding, buffer) in [(0, out), (1, data), (2, out)] {
        set.buffers(c, binding, D::STORAGE_BUFFER, &[(buffer, 0, BUFFER)]);
    }
    set.buffers(c, 3, D::UNIFORM_BUFFER, &[(data, 0, 256)]);
    let dispatched = compute(c, vk::PipelineCache::null(), set.layout, &words, &[1]);
    let [v, f] = [
        module(c, &spirv(include_bytes!("data/attribute.vert.spv"))),
        module(c, &spirv(include_bytes!("data/red.frag.spv"))),
    ];
    let attributes = [(vk::Format::R32G32_SFLOAT, 0)];
    let triangles =
        Triangles { side: Some(SIDE), stride: 8, attributes: &attributes, ..Triangles::new(v, f, set.layout) };
    let drawn = triangles.create(d).expect("a pipeline");
    let target = c.image(RGBA8, [SIDE, SIDE], vk::SampleCountFlags::TYPE_1, 1);
    let (stop, seed) = (AtomicBool::new(false), AtomicU32::new(1));
    let at = |place: u64, i: u64| {
        // SAFETY: the word is in a buffer whose memory is mapped as long as the test runs, and all
        // accesses are atomic.
        unsafe { AtomicU32::from_ptr(guarded.bytes.add((guarded.inside[place as usize].0 + 4 * i) as usize).cast()) }
    };
    struct Shared<T>(T);
    // SAFETY: the closure reads addresses, which do not change, and writes atomically.
    unsafe impl<T> Sync for Shared<T> {}
    let at = Shared(at);
    let at = &at;
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let at = &at.0;
            let mut rng = Rng::new(7);
            while !stop.load(Ordering::Relaxed) {
                rng = Rng::new(u64::from(seed.load(Ordering::Relaxed)) << 20 ^ rng.next());
                for _ in 0..256 {
                    // The numbers of groups, vertices and instances are usually low, so that a
                    // round ends.
                    let count = if rng.chance(95) { rng.below(5) as u32 } else { word(&mut rng, 64) & 0x3f };
                    at(2, rng.below(16) as u64).store(count, Ordering::Relaxed);
                    let offset = word(&mut rng, BUFFER as u32 / 4);
                    at(2, 16 + rng.below(BUFFER as usize / 4 - 16) as u64).store(offset & 7, Ordering::Relaxed);
                    at(1, rng.below(BUFFER as usize / 4) as u64).store(offset, Ordering::Relaxed);
                }
            }
        });
        rounds(|number, rng| {
            seed.store(number as u32, Ordering::Relaxed);
            let kind = rng.below(5);
            let place = 4 * rng.below(16) as u64;
            let draw = |b| {
                // SAFETY: all handles are valid; the parameters are random, which the test is
                // about.
                unsafe {
                    d.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, drawn);
                    d.cmd_bind_vertex_buffers(b, 0, &[data], &[near(rng, BUFFER)]);
                    d.cmd_bind_index_buffer(b, data, near(rng, BUFFER) & !3, vk::IndexType::UINT32);
                    match kind {
                        1 => d.cmd_draw_indirect(b, parameters, place, 1 + rng.below(4) as u32, 16),
                        2 => d.cmd_draw_indexed_indirect(b, parameters, place, 1 + rng.below(4) as u32, 20),
                        3 => {
                            d.cmd_draw_indirect_count(b, parameters, place, parameters, 4 * rng.below(16) as u64, 8, 16)
                        }
                        _ => d.cmd_draw_indexed_indirect_count(b, parameters, place, parameters, 4, 8, 20),
                    }
                }
            };
            let result = match kind {
                0 => c.run(|b| {
                    // SAFETY: all handles are valid; the parameters are random, which the test is
                    // about.
                    unsafe {
                        d.cmd_bind_pipeline(b, vk::PipelineBindPoint::COMPUTE, dispatched);
                        d.cmd_bind_descriptor_sets(b, vk::PipelineBindPoint::COMPUTE, set.layout, 0, &[set.set], &[]);
                        d.cmd_dispatch_indirect(b, parameters, place);
                    }
                }),
                _ => render(c, &target, area(SIDE), draw),
            };
            guarded.check(&format!("seed {number}, {kind}: {result:?}"));
            // SAFETY: nothing executes.
            unsafe { d.reset_command_pool(c.pool, vk::CommandPoolResetFlags::empty()) }.expect("reset");
        });
        stop.store(true, Ordering::Relaxed);
    });
    // SAFETY: the objects are not in use any more.
    unsafe {
        [v, f].into_iter().for_each(|m| d.destroy_shader_module(m, None));
        [drawn, dispatched].into_iter().for_each(|p| d.destroy_pipeline(p, None));
    }
    set.destroy(c);
    c.free_image(target);
}

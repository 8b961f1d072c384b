//! Tests of descriptor heaps: every source of a mapping, binaries of shader objects, invalid bytes
//! that are a null descriptor, and a million unused descriptors.

#[path = "common/binaries.rs"]
mod binaries;
mod common;
#[path = "common/heaps.rs"]
mod heaps;
use ash::ext::shader_object::Device as Objects;
use ash::vk::{self, Handle};
use binaries::{CAPTURE_DATA, Commands, Info};
use common::{Context, Image, range, spirv};
use heaps::{DESCRIPTOR_HEAP, HEAP_USAGE, HeapFeatures};
use std::ffi::c_void;
use std::time::{Duration, Instant};

/// VkHostAddressRangeEXT.
#[repr(C)]
struct HostRange(*mut c_void, usize);

/// VkResourceDescriptorInfoEXT.
#[repr(C)]
struct Resource(i32, *const c_void, vk::DescriptorType, *const c_void);

/// VkTexelBufferDescriptorInfoEXT.
#[repr(C)]
struct Texels(i32, *const c_void, vk::Format, [u64; 2]);

/// VkImageDescriptorInfoEXT.
#[repr(C)]
struct ImageInfo<'a>(i32, *const c_void, *const vk::ImageViewCreateInfo<'a>, vk::ImageLayout);

/// VkBindHeapInfoEXT.
#[repr(C)]
struct Bind(i32, *const c_void, [u64; 4]);

/// VkPushDataInfoEXT.
#[repr(C)]
struct Push(i32, *const c_void, u32, *const c_void, usize);

/// VkDescriptorSetAndBindingMappingEXT.
#[repr(C)]
#[derive(Clone, Copy)]
struct Mapping {
    s_type: i32,
    p_next: *const c_void,
    set_first_count_mask: [u32; 4],
    source: i32,
    /// Words of the source's data, two in each number.
    data: [u64; 7],
}

/// VkShaderDescriptorSetAndBindingMappingInfoEXT.
#[repr(C)]
struct Mappings(i32, *const c_void, u32, *const Mapping);

/// Returns a mapping of all kinds of resources at a binding.
fn mapping(set: u32, binding: u32, source: i32, words: &[u32]) -> Mapping {
    let word = |i: usize| u64::from(words.get(i).copied().unwrap_or(0));
    let data = std::array::from_fn(|i| word(2 * i) | word(2 * i + 1) << 32);
    let s_type = 1_000_135_005;
    Mapping { s_type, p_next: std::ptr::null(), set_first_count_mask: [set, binding, 1, 0xff], source, data }
}

/// VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT.
const OBJECT_DESCRIPTOR_HEAP: u32 = 1 << 10;

const CONSTANT: i32 = 0;
const PUSH_INDEX: i32 = 1;
const INDIRECT_INDEX: i32 = 2;
const INDIRECT_ARRAY: i32 = 3;
const HEAP_DATA: i32 = 4;
const PUSH_DATA: i32 = 5;
const PUSH_ADDRESS: i32 = 6;
const INDIRECT_ADDRESS: i32 = 7;

/// Memory that shaders access by its address.
struct Memory {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    address: u64,
    words: &'static mut [u32],
}

struct Test {
    c: Context,
}

impl Test {
    fn new() -> Test {
        let mut heap = HeapFeatures::enabled();
        let mut core = vk::PhysicalDeviceVulkan12Features::default()
            .buffer_device_address(true)
            .runtime_descriptor_array(true)
            .shader_storage_buffer_array_non_uniform_indexing(true);
        let mut robust = vk::PhysicalDeviceRobustness2FeaturesEXT::default()
            .null_descriptor(true)
            .robust_buffer_access2(true)
            .robust_image_access2(true);
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .features(vk::PhysicalDeviceFeatures::default().robust_buffer_access(true));
        let extensions =
            [c"VK_EXT_descriptor_heap", c"VK_EXT_robustness2", c"VK_KHR_pipeline_binary", c"VK_EXT_shader_object"];
        let mut binaries = binaries::enabled();
        let mut objects = vk::PhysicalDeviceShaderObjectFeaturesEXT::default().shader_object(true);
        let chain: &mut [&mut dyn common::Chain] =
            &mut [&mut heap, &mut core, &mut robust, &mut features, &mut binaries, &mut objects];
        let c = Context::with(&[], &extensions, chain);
        Test { c }
    }

    /// Returns a command of the extension.
    fn command<T: Copy>(&self, name: &std::ffi::CStr) -> T {
        // SAFETY: the device is live, and the caller gives the command's type.
        unsafe {
            let f = self.c.instance.get_device_proc_addr(self.c.device.handle(), name.as_ptr()).expect("command");
            std::mem::transmute_copy(&f)
        }
    }

    fn memory(&self, size: u64) -> Memory {
        let d = &self.c.device;
        let usage = vk::BufferUsageFlags::from_raw(0x1ff) | HEAP_USAGE | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        // SAFETY: valid usage; the memory lives until the test's device is destroyed, or `free`.
        unsafe {
            let buffer = d.create_buffer(&info, None).expect("buffer");
            let size = d.get_buffer_memory_requirements(buffer).size;
            let info = vk::MemoryAllocateInfo::default().allocation_size(size).push_next(&mut flags);
            let memory = d.allocate_memory(&info, None).expect("memory");
            d.bind_buffer_memory(buffer, memory, 0).expect("bind");
            let pointer = d.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).expect("map");
            let words = std::slice::from_raw_parts_mut(pointer.cast(), size as usize / 4);
            let address = d.get_buffer_device_address(&vk::BufferDeviceAddressInfo::default().buffer(buffer));
            Memory { buffer, memory, address, words }
        }
    }

    fn free(&self, memory: Memory) {
        // SAFETY: the memory is not in use.
        unsafe {
            self.c.device.destroy_buffer(memory.buffer, None);
            self.c.device.free_memory(memory.memory, None);
        }
    }

    fn write(&self, heap: &mut Memory, offset: usize, ty: vk::DescriptorType, data: *const c_void) {
        type Write = unsafe extern "system" fn(vk::Device, u32, *const Resource, *const HostRange) -> vk::Result;
        let write: Write = self.command(c"vkWriteResourceDescriptorsEXT");
        let to = HostRange((&raw mut heap.words[offset / 4]).cast(), 16);
        let info = Resource(1_000_135_002, std::ptr::null(), ty, data);
        // SAFETY: valid usage.
        unsafe { write(self.c.device.handle(), 1, &info, &to) }.result().expect("written");
    }

    fn write_buffer(&self, heap: &mut Memory, offset: usize, address: u64, size: u64) {
        self.write(heap, offset, vk::DescriptorType::STORAGE_BUFFER, (&raw const *&[address, size]).cast());
    }

    fn write_image(&self, heap: &mut Memory, offset: usize, ty: vk::DescriptorType, image: &Image) {
        let view = vk::ImageViewCreateInfo::default()
            .image(image.image)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(vk::Format::R32_UINT)
            .subresource_range(range(vk::ImageAspectFlags::COLOR, 1));
        let info = ImageInfo(1_000_135_001, std::ptr::null(), &view, vk::ImageLayout::GENERAL);
        self.write(heap, offset, ty, (&raw const info).cast());
    }

    fn write_sampler(&self, heap: &mut Memory, offset: usize, info: &vk::SamplerCreateInfo<'_>) {
        type Write = unsafe extern "system" fn(
            vk::Device,
            u32,
            *const vk::SamplerCreateInfo<'_>,
            *const HostRange,
        ) -> vk::Result;
        let write: Write = self.command(c"vkWriteSamplerDescriptorsEXT");
        let to = HostRange((&raw mut heap.words[offset / 4]).cast(), 16);
        // SAFETY: valid usage.
        unsafe { write(self.c.device.handle(), 1, info, &to) }.result().expect("written");
    }

    fn pipeline(&self, code: &[u32], mappings: &[Mapping]) -> vk::Pipeline {
        let d = &self.c.device;
        let info = Mappings(1_000_135_006, std::ptr::null(), mappings.len() as u32, mappings.as_ptr());
        // SAFETY: valid usage.
        unsafe {
            let module =
                d.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(code), None).expect("module");
            let mut stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            stage.p_next = (&raw const info).cast();
            let flags = vk::PipelineCreateFlags2CreateInfoKHR::default().flags(DESCRIPTOR_HEAP | CAPTURE_DATA);
            let mut info = vk::ComputePipelineCreateInfo::default().stage(stage);
            info.p_next = (&raw const flags).cast();
            let pipelines = d.create_compute_pipelines(vk::PipelineCache::null(), &[info], None).expect("pipeline");
            d.destroy_shader_module(module, None);
            pipelines[0]
        }
    }

    /// Makes a pipeline of the stored binary of another one, without module and mappings.
    fn pipeline_of_binary(&self, pipeline: vk::Pipeline) -> vk::Pipeline {
        let (d, commands) = (&self.c.device, Commands::new(&self.c));
        let stored = commands.take(commands.of_pipeline(pipeline).expect("binaries"));
        // SAFETY: the pipeline is not in use.
        unsafe { d.destroy_pipeline(pipeline, None) };
        let stored: Vec<_> = stored.iter().map(|(key, data)| (*key, &data[..])).collect();
        let (result, list) = commands.of_data(&stored);
        assert_eq!(result, vk::Result::SUCCESS);
        let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE).name(c"main");
        let mut flags = vk::PipelineCreateFlags2CreateInfoKHR::default().flags(DESCRIPTOR_HEAP);
        let mut info = Info::new(&list);
        let info = vk::ComputePipelineCreateInfo::default().stage(stage).push_next(&mut flags).push_next(&mut info);
        // SAFETY: valid usage.
        let made = unsafe { d.create_compute_pipelines(vk::PipelineCache::null(), &[info], None) };
        list.into_iter().for_each(|binary| commands.destroy(binary));
        made.expect("pipeline")[0]
    }

    fn bind(&self, b: vk::CommandBuffer, name: &std::ffi::CStr, heap: &Memory) {
        let bind: unsafe extern "system" fn(vk::CommandBuffer, *const Bind) = self.command(name);
        let size = heap.words.len() as u64 * 4;
        let info = Bind(1_000_135_003, std::ptr::null(), [heap.address, size, 0, 0]);
        // SAFETY: valid usage.
        unsafe { bind(b, &info) };
    }

    fn push(&self, b: vk::CommandBuffer, words: &[u32]) {
        let push: unsafe extern "system" fn(vk::CommandBuffer, *const Push) = self.command(c"vkCmdPushDataEXT");
        let info = Push(1_000_135_004, std::ptr::null(), 0, words.as_ptr().cast(), 4 * words.len());
        // SAFETY: valid usage.
        unsafe { push(b, &info) };
    }

    /// Dispatches a pipeline and waits.
    fn run(&self, pipeline: vk::Pipeline, heaps: (&Memory, &Memory), push: &[u32], groups: &[u32]) {
        // SAFETY: valid usage.
        let bind = |b| unsafe { self.c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::COMPUTE, pipeline) };
        self.run_bound(&bind, heaps, push, groups);
    }

    /// Dispatches what a function binds, and waits.
    fn run_bound(
        &self,
        bind: &dyn Fn(vk::CommandBuffer),
        (resources, samplers): (&Memory, &Memory),
        push: &[u32],
        groups: &[u32],
    ) {
        let d = &self.c.device;
        let barrier = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::SHADER_WRITE)
            .dst_access_mask(vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE);
        let compute = vk::PipelineStageFlags::COMPUTE_SHADER;
        self.c
            .run(|b| {
                self.bind(b, c"vkCmdBindSamplerHeapEXT", samplers);
                self.bind(b, c"vkCmdBindResourceHeapEXT", resources);
                self.push(b, push);
                bind(b);
                // SAFETY: valid usage.
                unsafe {
                    for &groups in groups {
                        d.cmd_dispatch(b, groups, 1, 1);
                        let none = vk::DependencyFlags::empty();
                        d.cmd_pipeline_barrier(b, compute, compute, none, &[barrier], &[], &[]);
                    }
                }
            })
            .expect("run");
    }
}

fn halves(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

/// Resources that the shader of `heap.comp` accesses.
struct Scene {
    test: Test,
    resources: Memory,
    samplers: Memory,
    data: Memory,
    out: Memory,
    image: Image,
    push: Vec<u32>,
    embedded: vk::SamplerCreateInfo<'static>,
}

/// Byte offset in the heap of the first descriptor that is not a buffer's, and of data.
const IMAGES: u32 = 512;
const BLOCK: usize = 640;
const BYTES: usize = 1280;

impl Scene {
    fn new() -> Scene {
        let test = Test::new();
        let (mut resources, mut samplers) = (test.memory(4096), test.memory(4096));
        let (data, out) = (test.memory(8192), test.memory(4096));
        (0..).zip(&mut *data.words).for_each(|(i, word)| *word = i);
        for i in 0..8 {
            test.write_buffer(&mut resources, 64 * i, data.address + 256 * i as u64, 16 + 4 * i as u64);
        }
        test.write_buffer(&mut resources, BLOCK, data.address + 4096, 16);
        resources.words[BYTES / 4..][..4].copy_from_slice(&[7, 8, 9, 10]);
        let texels = Texels(1_000_135_000, std::ptr::null(), vk::Format::R32_UINT, [data.address + 2048, 16]);
        let texels_at = IMAGES as usize + 3 * 16;
        test.write(&mut resources, texels_at, vk::DescriptorType::UNIFORM_TEXEL_BUFFER, (&raw const texels).cast());
        let image = test.c.image(vk::Format::R32_UINT, [4, 4], vk::SampleCountFlags::TYPE_1, 1);
        test.write_image(&mut resources, IMAGES as usize + 4 * 16, vk::DescriptorType::STORAGE_IMAGE, &image);
        test.write_image(&mut resources, IMAGES as usize + 5 * 16, vk::DescriptorType::SAMPLED_IMAGE, &image);
        let repeat = vk::SamplerCreateInfo::default().max_lod(1.0);
        test.write_sampler(&mut samplers, 32, &repeat);
        let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
        let embedded = repeat.address_mode_u(edge).address_mode_v(edge);
        // Indices of the images, and the address of a block.
        let table = test.memory(256);
        table.words[..2].copy_from_slice(&[4, 5]);
        table.words[8..10].copy_from_slice(&halves(data.address + 4096 + 64));
        let mut push = vec![0; 16];
        push[0..2].copy_from_slice(&halves(out.address));
        push[2..4].copy_from_slice(&halves(table.address));
        push[4..6].copy_from_slice(&[3, 256]);
        push[6..8].copy_from_slice(&halves(data.address + 4096 + 32));
        push[8..12].copy_from_slice(&[70, 71, 72, 73]);
        push[12] = 5 | 2 << 20;
        let mut scene = Scene { test, resources, samplers, data, out, image, push, embedded };
        scene.fill_image();
        scene
    }

    fn fill_image(&mut self) {
        (0..16).for_each(|i| self.out.words[i] = 100 + i as u32);
        let d = &self.test.c.device;
        let (image, from) = (&self.image, self.out.buffer);
        let barrier = vk::ImageMemoryBarrier::default()
            .image(image.image)
            .new_layout(vk::ImageLayout::GENERAL)
            .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE)
            .subresource_range(range(vk::ImageAspectFlags::COLOR, 1));
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        self.test
            .c
            .run(|b| {
                // SAFETY: valid usage.
                unsafe {
                    d.cmd_pipeline_barrier(b, all, all, vk::DependencyFlags::empty(), &[], &[], &[barrier]);
                    let region = common::region(image);
                    d.cmd_copy_buffer_to_image(b, from, image.image, vk::ImageLayout::GENERAL, &[region]);
                }
            })
            .expect("run");
    }

    /// Makes a pipeline with mappings of everything, a given mapping of the block, and optionally
    /// an embedded sampler for the sampled image.
    fn pipeline(&self, block: (i32, &[u32]), embed: bool) -> vk::Pipeline {
        let mappings = mappings(block, embed.then_some(&self.embedded));
        self.test.pipeline(&spirv(include_bytes!("data/heap.comp.spv")), &mappings)
    }

    /// Runs eight invocations, destroys the pipeline, and returns their results.
    fn answers(&mut self, pipeline: vk::Pipeline) -> Vec<[u32; 8]> {
        self.out.words.fill(0xdead);
        self.test.run(pipeline, (&self.resources, &self.samplers), &self.push, &[1]);
        // SAFETY: the pipeline is not in use any more.
        unsafe { self.test.c.device.destroy_pipeline(pipeline, None) };
        self.out.words.as_chunks::<8>().0[..8].to_vec()
    }

    /// Runs eight invocations of a shader object, and returns their results.
    fn answers_of_object(&mut self, objects: &Objects, shader: vk::ShaderEXT) -> Vec<[u32; 8]> {
        self.out.words.fill(0xdead);
        let stage = [vk::ShaderStageFlags::COMPUTE];
        // SAFETY: valid usage.
        let bind = |b| unsafe { objects.cmd_bind_shaders(b, &stage, &[shader]) };
        self.test.run_bound(&bind, (&self.resources, &self.samplers), &self.push, &[1]);
        self.out.words.as_chunks::<8>().0[..8].to_vec()
    }
}

/// Returns mappings of everything: a given one of the block, and one of the sampled image, which
/// may embed a sampler.
fn mappings((source, block): (i32, &[u32]), embedded: Option<&vk::SamplerCreateInfo<'_>>) -> [Mapping; 7] {
    let [low, high] = embedded.map_or([0; 2], |sampler| halves((&raw const *sampler) as u64));
    [
        mapping(0, 0, PUSH_ADDRESS, &[0]),
        mapping(1, 0, CONSTANT, &[0, 64]),
        mapping(1, 100, source, block),
        mapping(1, 101, PUSH_INDEX, &[IMAGES, 16, 16, 0]),
        mapping(1, 102, INDIRECT_INDEX, &[IMAGES, 8, 0, 16, 0]),
        mapping(1, 103, PUSH_INDEX, &[IMAGES, 48, 16, 0, low, high, 1, 0, 0, 16, 0]),
        mapping(1, 104, INDIRECT_ARRAY, &[IMAGES, 8, 4, 16]),
    ]
}

/// Mapping of a uniform block by a descriptor.
const DESCRIPTOR: (i32, &[u32]) = (CONSTANT, &[BLOCK as u32, 0]);

#[test]
fn every_mapping_source_finds_its_resource() {
    let mut scene = Scene::new();
    let blocks: [(i32, &[u32], u32); 5] = [
        (DESCRIPTOR.0, DESCRIPTOR.1, 1024 + 2),
        (HEAP_DATA, &[1024, 20], 9),
        (PUSH_DATA, &[32], 72),
        (PUSH_ADDRESS, &[24], 1024 + 8 + 2),
        (INDIRECT_ADDRESS, &[8, 32], 1024 + 16 + 2),
    ];
    for (source, block, found) in blocks {
        for (embed, by_binary) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut pipeline = scene.pipeline((source, block), embed);
            if by_binary {
                pipeline = scene.test.pipeline_of_binary(pipeline);
            }
            for (i, own) in (0..).zip(scene.answers(pipeline)) {
                let (outside, sampled) = (if i < 4 { i } else { 0 }, if embed { 107 } else { 106 });
                let texel = 512 + (i & 3);
                let image = 104 + (i & 3);
                assert_eq!(
                    own,
                    [64 * i + 1, 4 + i, outside, found, texel, image, sampled, image - 4],
                    "{source}, {embed}, {by_binary}, {i}"
                );
            }
        }
    }
}

/// Checks that the binary of a shader object contains its mappings and embedded samplers: objects
/// that differ only in their sampler have different binaries, an object is restored without
/// mappings, and other mappings are refused.
#[test]
fn binaries_of_shader_objects_contain_mappings_and_samplers() {
    let mut scene = Scene::new();
    let objects = Objects::new(&scene.test.c.instance, &scene.test.c.device);
    let code = spirv(include_bytes!("data/heap.comp.spv"));
    // SAFETY: the words are initialized.
    let words = unsafe { code.align_to::<u8>().1 };
    let create = |code: (vk::ShaderCodeTypeEXT, &[u8]), mappings: &[Mapping]| {
        let chain = Mappings(1_000_135_006, std::ptr::null(), mappings.len() as u32, mappings.as_ptr());
        let mut info = vk::ShaderCreateInfoEXT::default()
            .flags(vk::ShaderCreateFlagsEXT::from_raw(OBJECT_DESCRIPTOR_HEAP))
            .stage(vk::ShaderStageFlags::COMPUTE)
            .code_type(code.0)
            .code(code.1)
            .name(c"main");
        if !mappings.is_empty() {
            info.p_next = (&raw const chain).cast();
        }
        // SAFETY: valid usage.
        unsafe { objects.create_shaders(&[info], None) }.map(|made| made[0]).map_err(|(_, result)| result)
    };
    // Texels 7 and 6 are those at the edge and at the other side of the image.
    let repeat = vk::SamplerCreateInfo::default().max_lod(1.0);
    let embedded = [scene.embedded, repeat];
    let all = embedded.map(|sampler| {
        let mappings = mappings(DESCRIPTOR, Some(&sampler));
        let shader = create((vk::ShaderCodeTypeEXT::SPIRV, words), &mappings).expect("an object");
        // SAFETY: valid usage; the object is destroyed after its binary was queried.
        unsafe {
            let binary = objects.get_shader_binary_data(shader).expect("a binary");
            objects.destroy_shader(shader, None);
            binary
        }
    });
    assert_ne!(all[0], all[1]);
    for ((binary, sampler), sampled) in all.iter().zip(&embedded).zip([107, 106]) {
        let binary = (vk::ShaderCodeTypeEXT::BINARY, &binary[..]);
        for mappings in [&[][..], &mappings(DESCRIPTOR, Some(sampler))] {
            let shader = create(binary, mappings).expect("an object of the binary");
            let answers = scene.answers_of_object(&objects, shader);
            assert!(answers.iter().all(|own| own[6] == sampled), "{answers:?}");
            // SAFETY: valid usage.
            let again = unsafe { objects.get_shader_binary_data(shader) }.expect("a binary");
            assert!(again == binary.1, "the binary of a binary's object differs");
            // SAFETY: the object is not in use.
            unsafe { objects.destroy_shader(shader, None) };
        }
        let other = repeat.min_lod(0.5);
        let incompatible = Err(vk::Result::INCOMPATIBLE_SHADER_BINARY_EXT);
        assert_eq!(create(binary, &mappings(DESCRIPTOR, Some(&other))), incompatible);
        assert_eq!(create(binary, &mappings((PUSH_DATA, &[32]), Some(sampler))), incompatible);
    }
}

#[test]
fn garbage_is_a_null_descriptor() {
    let mut scene = Scene::new();
    let gone = scene.test.memory(1 << 20);
    let freed = gone.address;
    scene.test.free(gone);
    let image = scene.test.c.image(vk::Format::R32_UINT, [4, 4], vk::SampleCountFlags::TYPE_1, 1);
    scene.test.write_image(&mut scene.resources, 2048, vk::DescriptorType::SAMPLED_IMAGE, &image);
    let stale = [scene.resources.words[512], scene.resources.words[513], 0, 0];
    assert_ne!(stale, [0; 4]);
    scene.test.c.free_image(image);
    let mut random = 1u32;
    let random = std::array::from_fn(|_| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        random
    });
    let [low, high] = halves(freed);
    let dead = [low, high, u32::MAX, u32::MAX];
    for garbage in [[0; 4], [0xcccc_cccc; 4], [u32::MAX; 4], [1, 0, 0, 0], random, stale, dead] {
        scene.resources.words.as_chunks_mut::<4>().0.fill(garbage);
        scene.samplers.words.as_chunks_mut::<4>().0.fill(garbage);
        for embed in [false, true] {
            let pipeline = scene.pipeline(DESCRIPTOR, embed);
            assert_eq!(scene.answers(pipeline), [[0; 8]; 8], "{garbage:x?}");
        }
    }
    // An unallocated range is cut at the end of the memory, and is not a fault.
    let [low, high] = halves(scene.data.address);
    scene.resources.words.as_chunks_mut::<4>().0.fill([low, high, u32::MAX, u32::MAX]);
    let pipeline = scene.pipeline(DESCRIPTOR, true);
    let answers = scene.answers(pipeline);
    assert!(answers.iter().all(|own| own[0] == 1 && own[1] >= 2048 && own[1] < 65536 && own[3] == 2), "{answers:?}");
}

/// Checks that equal descriptions give equal bits, and different ones different bits.
#[test]
fn equal_descriptions_are_equal_bits() {
    let mut scene = Scene::new();
    let image = &scene.image;
    let ty = [vk::DescriptorType::SAMPLED_IMAGE, vk::DescriptorType::SAMPLED_IMAGE, vk::DescriptorType::STORAGE_IMAGE];
    for (i, ty) in ty.into_iter().enumerate() {
        scene.test.write_image(&mut scene.resources, 2048 + 16 * i, ty, image);
    }
    let bits = |memory: &Memory, i: usize| [memory.words[512 + 4 * i], memory.words[513 + 4 * i]];
    assert_eq!(bits(&scene.resources, 0), bits(&scene.resources, 1));
    assert_ne!(bits(&scene.resources, 0), bits(&scene.resources, 2));
    for (i, lod) in [1.0, 1.0, 2.0].into_iter().enumerate() {
        let info = vk::SamplerCreateInfo::default().max_lod(lod);
        scene.test.write_sampler(&mut scene.samplers, 2048 + 16 * i, &info);
    }
    assert_eq!(bits(&scene.samplers, 0), bits(&scene.samplers, 1));
    assert_ne!(bits(&scene.samplers, 0), bits(&scene.samplers, 2));
    assert!(!scene.image.image.is_null());
}

/// Checks that a dependency costs nothing for descriptors that are not used after it.
#[test]
fn a_million_unused_descriptors_are_harmless() {
    const COUNT: usize = 1 << 20;
    const USED: usize = 1 << 14;
    let test = Test::new();
    let (mut heap, samplers) = (test.memory(16 * COUNT as u64), test.memory(4096));
    let (data, out) = (test.memory(16 * USED as u64), test.memory(4 * USED as u64));
    (0..).zip(&mut *data.words).for_each(|(i, word)| *word = i);
    for i in 0..COUNT {
        let place = (i * 7919) % USED;
        if i < USED {
            test.write_buffer(&mut heap, 16 * i, data.address + 16 * place as u64, 16);
        } else {
            heap.words.copy_within(0..4, 4 * i);
        }
    }
    let mappings = [mapping(0, 0, PUSH_ADDRESS, &[0]), mapping(1, 0, CONSTANT, &[0, 16])];
    let pipeline = test.pipeline(&spirv(include_bytes!("data/heap_many.comp.spv")), &mappings);
    let push = halves(out.address);
    test.run(pipeline, (&heap, &samplers), &push, &[USED as u32 / 64]);
    for i in 0..USED {
        assert_eq!(out.words[i], 4 * ((i * 7919) % USED) as u32);
    }
    let began = Instant::now();
    test.run(pipeline, (&heap, &samplers), &push, &[1; 1000]);
    let took = began.elapsed();
    println!("1000 dispatches of 64 invocations with a barrier behind each: {took:?}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    // SAFETY: the pipeline is not in use any more.
    unsafe { test.c.device.destroy_pipeline(pipeline, None) };
}

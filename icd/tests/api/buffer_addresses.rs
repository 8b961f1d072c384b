//! Tests of buffer device addresses: lists through pointers in memory, and addresses without
//! memory.

use crate::common::{Buffer, Context, spirv};
use crate::pipeline::{Set, compute, run};
use crate::{common, pipeline};
use ash::vk;

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;

fn context() -> Context {
    let mut features = vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(true);
    let extensions = [c"VK_KHR_buffer_device_address", c"VK_KHR_device_group"];
    let instance = [c"VK_KHR_get_physical_device_properties2", c"VK_KHR_device_group_creation"];
    Context::with(&instance, &extensions, &mut [&mut features])
}

fn address(c: &Context, buffer: &Buffer) -> u64 {
    let functions = ash::khr::buffer_device_address::Device::new(&c.instance, &c.device);
    // SAFETY: the usage is valid, except that the buffer was not created for it, which the driver
    // permits.
    unsafe { functions.get_buffer_device_address(&vk::BufferDeviceAddressInfo::default().buffer(buffer.buffer)) }
}

/// Size of a node of `list.comp` in bytes: the next node, a value, and two other nodes.
const NODE: u64 = 32;

#[test]
fn lists_through_forward_pointers() {
    let c = context();
    let set = Set::new(&c, &[(STORAGE, 1)]);
    let result = c.buffer(64);
    set.buffers(&c, 0, STORAGE, &[(result.buffer, 0, vk::WHOLE_SIZE)]);
    let count = 7u64;
    let mut nodes = c.buffer(count * NODE);
    let base = address(&c, &nodes);
    // The next node of node n is n + 1; the other two are n + 2 and n + 3, cyclically. The last
    // node points to itself.
    let links = |n: u64| {
        if n == count - 1 { [n; 3] } else { [(n + 1) % count, (n + 2) % count, (n + 3) % count] }
    };
    for n in 0..count {
        let [next, first, second] = links(n).map(|to| base + to * NODE);
        let bytes = [next.to_le_bytes(), (n + 10).to_le_bytes(), first.to_le_bytes(), second.to_le_bytes()].concat();
        nodes.bytes_mut()[(n * NODE) as usize..][..NODE as usize].copy_from_slice(&bytes);
    }
    let steps = 5u32;
    let push = [&base.to_le_bytes()[..], &steps.to_le_bytes(), &[0; 4]].concat();
    let words = spirv(include_bytes!("../data/list.comp.spv"));
    let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &words, &[]);
    run(&c, &set, pipeline, &push).unwrap();
    for (lane, got) in (0u32..).zip(result.words()) {
        let (mut node, mut sum) = (0, 0u32);
        for k in 0..steps + (lane & 3) {
            sum = sum.wrapping_mul(31).wrapping_add(node as u32 + 10);
            let [next, first, second] = links(node);
            let to = if lane & 1 == 0 { next } else { [first, second][k as usize & 1] };
            if to == node {
                break;
            }
            node = to;
        }
        assert_eq!(got, sum, "lane {lane}");
    }
    c.free(nodes);
    c.free(result);
    set.destroy(&c);
}

/// Checks null, wild, freed and host addresses: loads give zero, stores are dropped, and the
/// process and the device live.
#[test]
fn addresses_that_point_nowhere() {
    let c = context();
    let set = Set::new(&c, &[(STORAGE, 1), (STORAGE, 1)]);
    let (result, mut addresses) = (c.buffer(64), c.buffer(128));
    set.buffers(&c, 0, STORAGE, &[(result.buffer, 0, vk::WHOLE_SIZE)]);
    set.buffers(&c, 1, STORAGE, &[(addresses.buffer, 0, vk::WHOLE_SIZE)]);
    let mut alive = c.buffer(256);
    let freed = c.buffer(1 << 20);
    let (good, dead) = (address(&c, &alive), address(&c, &freed));
    c.free(freed);
    let host = Box::new([0x5555_5555u32; 16]);
    let function = lists_through_forward_pointers as fn() as usize as u64;
    let wild = [
        good,
        0,
        4,
        u64::MAX,
        u64::MAX - 63,
        dead,
        dead + (1 << 19),
        (&raw const *host) as u64,
        function,
        1 << 47,
        1 << 63,
        !0 << 47,
        good ^ 1 << 46,
        good.wrapping_add(1 << 40),
        good.wrapping_sub(1 << 40),
        good + 64,
    ];
    let is_good = |lane: usize| lane == 0 || lane == 15;
    for (lane, bytes) in addresses.bytes_mut().as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *bytes = wild[lane].to_le_bytes();
    }
    let words = spirv(include_bytes!("../data/wild.comp.spv"));
    for mode in 0..6u32 {
        alive.fill_words(|_| 0x77);
        let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &words, &[mode]);
        run(&c, &set, pipeline, &[]).unwrap_or_else(|e| panic!("mode {mode}: {e}"));
        for (lane, got) in result.words().into_iter().enumerate() {
            let expected = match mode {
                1 | 4 | 5 => 0,
                _ if is_good(lane) => 0x77,
                _ => 0,
            };
            assert_eq!(got, expected, "mode {mode}, address {:#x}", wild[lane]);
        }
        let identity = |i: usize| if i.is_multiple_of(5) { 1f32.to_bits() } else { 0 };
        for (i, word) in alive.words().into_iter().enumerate() {
            let expected = match (mode, i) {
                (1, 0 | 16) => 7,
                (2, 0 | 16) => 0x78,
                (4, 0..32) => identity(i % 16),
                _ => 0x77,
            };
            assert_eq!(word, expected, "mode {mode}, word {i}");
        }
        assert!(host.iter().all(|&w| w == 0x5555_5555));
    }
    c.free(alive);
    c.free(addresses);
    c.free(result);
    set.destroy(&c);
}

/// Checks accesses of every kind that begin at the last bytes of live memory, and some that begin
/// right behind or before it. The process lives, and no other allocation changes.
#[test]
fn accesses_that_end_behind_live_memory() {
    let mut addressed = vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(true);
    let mut atomics = vk::PhysicalDeviceShaderAtomicInt64Features::default().shader_buffer_int64_atomics(true);
    let mut bytes = vk::PhysicalDevice8BitStorageFeatures::default().storage_buffer8_bit_access(true);
    let mut small = vk::PhysicalDeviceShaderFloat16Int8Features::default().shader_int8(true);
    let mut scalar = vk::PhysicalDeviceScalarBlockLayoutFeatures::default().scalar_block_layout(true);
    let features = vk::PhysicalDeviceFeatures::default().shader_int64(true);
    let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
    let chain: &mut [&mut dyn common::Chain] =
        &mut [&mut features, &mut addressed, &mut atomics, &mut bytes, &mut small, &mut scalar];
    let c = Context::with(&[], &[c"VK_KHR_buffer_device_address"], chain);
    let set = Set::new(&c, &[(STORAGE, 1), (STORAGE, 1)]);
    let (result, mut addresses) = (c.buffer(256), c.buffer(512));
    set.buffers(&c, 0, STORAGE, &[(result.buffer, 0, vk::WHOLE_SIZE)]);
    set.buffers(&c, 1, STORAGE, &[(addresses.buffer, 0, vk::WHOLE_SIZE)]);
    // The sizes are whole granules, so that the last live byte is the allocation's.
    const BYTES: u64 = 3 << 16;
    let all = [(); 3].map(|()| c.buffer(BYTES));
    let words = spirv(include_bytes!("../data/edge.comp.spv"));
    let mut run_at = |number: usize, mode: u32| {
        let first = address(&c, &all[number]);
        let near = (0..48u64).map(|i| first + BYTES - 40 + i).chain((0..16).map(|i| first - 8 + i));
        for (bytes, address) in addresses.bytes_mut().as_chunks_mut::<8>().0.iter_mut().zip(near) {
            *bytes = address.to_le_bytes();
        }
        let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &words, &[mode]);
        run(&c, &set, pipeline, &[]).unwrap_or_else(|e| panic!("mode {mode}: {e}"));
    };
    for number in 0..all.len() {
        for mode in 0..14 {
            run_at(number, mode);
            let untouched = all[number + 1..].iter().all(|other| other.words().iter().all(|&word| word == 0));
            assert!(untouched, "mode {mode} of buffer {number}");
        }
    }
    // These are stores that are far apart.
    (0..all.len()).for_each(|number| run_at(number, 14));
    all.into_iter().for_each(|buffer| c.free(buffer));
    c.free(addresses);
    c.free(result);
    set.destroy(&c);
}

/// Creates a buffer that can be a descriptor buffer, and returns it with its address.
fn descriptor_memory(c: &Context, size: u64) -> (Buffer, u64) {
    let usage = vk::BufferUsageFlags::RESOURCE_DESCRIPTOR_BUFFER_EXT
        | vk::BufferUsageFlags::STORAGE_BUFFER
        | vk::BufferUsageFlags::UNIFORM_BUFFER
        | vk::BufferUsageFlags::TRANSFER_DST;
    let buffer = c.addressed_buffer(size, usage);
    let at = address(c, &buffer);
    (buffer, at)
}

/// Runs `square.comp` with descriptors in a buffer: a storage buffer and a uniform buffer.
struct InBuffer<'a> {
    c: &'a Context,
    functions: ash::ext::descriptor_buffer::Device,
    set: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
}

impl InBuffer<'_> {
    fn new(c: &Context) -> InBuffer<'_> {
        let functions = ash::ext::descriptor_buffer::Device::new(&c.instance, &c.device);
        let binding = |(binding, ty)| {
            let binding = vk::DescriptorSetLayoutBinding::default().binding(binding).descriptor_type(ty);
            binding.descriptor_count(1).stage_flags(vk::ShaderStageFlags::COMPUTE)
        };
        let bindings = [(0, STORAGE), (1, vk::DescriptorType::UNIFORM_BUFFER)].map(binding);
        let flags = vk::DescriptorSetLayoutCreateFlags::DESCRIPTOR_BUFFER_EXT;
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings).flags(flags);
        // SAFETY: valid usage.
        unsafe {
            let set = c.device.create_descriptor_set_layout(&info, None).unwrap();
            let (sets, range) = ([set], vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE));
            let ranges = [range.size(4)];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&ranges);
            let layout = c.device.create_pipeline_layout(&info, None).unwrap();
            let module = pipeline::module(c, &spirv(include_bytes!("../data/square.comp.spv")));
            let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE);
            let info = vk::ComputePipelineCreateInfo::default().stage(stage.module(module).name(c"main"));
            let info = info.layout(layout).flags(vk::PipelineCreateFlags::DESCRIPTOR_BUFFER_EXT);
            let pipelines = c.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None).unwrap();
            c.device.destroy_shader_module(module, None);
            InBuffer { c, functions, set, layout, pipeline: pipelines[0] }
        }
    }

    fn descriptor(&self, ty: vk::DescriptorType, address: u64, range: u64) -> [u8; 16] {
        let info = vk::DescriptorAddressInfoEXT::default().address(address).range(range);
        let data = match ty {
            STORAGE => vk::DescriptorDataEXT { p_storage_buffer: &info },
            _ => vk::DescriptorDataEXT { p_uniform_buffer: &info },
        };
        let mut bytes = [0; 16];
        // SAFETY: valid usage.
        unsafe {
            self.functions.get_descriptor(&vk::DescriptorGetInfoEXT { ty, data, ..Default::default() }, &mut bytes)
        };
        bytes
    }

    /// Returns the offset of a binding in a set.
    fn offset(&self, binding: u32) -> usize {
        // SAFETY: valid usage.
        unsafe { self.functions.get_descriptor_set_layout_binding_offset(self.set, binding) as usize }
    }

    fn record(&self, b: vk::CommandBuffer, buffer: u64, offset: u64) {
        let (point, usage) = (vk::PipelineBindPoint::COMPUTE, vk::BufferUsageFlags::RESOURCE_DESCRIPTOR_BUFFER_EXT);
        let info = vk::DescriptorBufferBindingInfoEXT::default().address(buffer).usage(usage);
        // SAFETY: valid usage.
        unsafe {
            self.functions.cmd_bind_descriptor_buffers(b, &[info]);
            self.functions.cmd_set_descriptor_buffer_offsets(b, point, self.layout, 0, &[0], &[offset]);
            self.c.device.cmd_bind_pipeline(b, point, self.pipeline);
            self.c.device.cmd_push_constants(b, self.layout, vk::ShaderStageFlags::COMPUTE, 0, &5u32.to_le_bytes());
            self.c.device.cmd_dispatch(b, 1, 1, 1);
        }
    }
}

#[test]
fn descriptors_in_buffers_change_behind_barriers_and_garbage_is_null() {
    let mut addresses = vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(true);
    let mut buffers = vk::PhysicalDeviceDescriptorBufferFeaturesEXT::default().descriptor_buffer(true);
    let extensions = [c"VK_EXT_descriptor_buffer", c"VK_KHR_buffer_device_address"];
    let c = Context::with(&[], &extensions, &mut [&mut addresses, &mut buffers]);
    let t = InBuffer::new(&c);
    let (mut data, data_at) = descriptor_memory(&c, 2 * 256);
    let (mut uniform, uniform_at) = descriptor_memory(&c, 16);
    let (mut descriptors, descriptors_at) = descriptor_memory(&c, 4096);
    uniform.fill_words(|_| 1000);
    const START: usize = 256;
    let halves = [0, 256].map(|offset| t.descriptor(STORAGE, data_at + offset, 256));
    let uniform_descriptor = t.descriptor(vk::DescriptorType::UNIFORM_BUFFER, uniform_at, 16);
    let storage_offset = START + t.offset(0);
    let (before, after) = (|i: u32| i * 7, |i: u32| (i / 64 * 64 + 63 - i % 64) * 7 * 3 + 1005);
    data.fill_words(before);
    descriptors.bytes_mut().fill(0xcc);
    descriptors.bytes_mut()[storage_offset..][..16].copy_from_slice(&halves[0]);
    descriptors.bytes_mut()[START + t.offset(1)..][..16].copy_from_slice(&uniform_descriptor);
    c.run(|b| {
        t.record(b, descriptors_at, START as u64);
        let stages = [vk::PipelineStageFlags::COMPUTE_SHADER, vk::PipelineStageFlags::TRANSFER];
        let read = vk::AccessFlags::MEMORY_READ;
        let barrier =
            vk::MemoryBarrier::default().src_access_mask(vk::AccessFlags::TRANSFER_WRITE).dst_access_mask(read);
        let none = vk::DependencyFlags::empty();
        // SAFETY: valid usage.
        unsafe {
            c.device.cmd_pipeline_barrier(b, stages[0], stages[1], none, &[], &[], &[]);
            c.device.cmd_update_buffer(b, descriptors.buffer, storage_offset as u64, &halves[1]);
            c.device.cmd_pipeline_barrier(
                b,
                stages[1],
                vk::PipelineStageFlags::ALL_COMMANDS,
                none,
                &[barrier],
                &[],
                &[],
            );
            c.device.cmd_dispatch(b, 1, 1, 1);
        }
    })
    .unwrap();
    let done: Vec<u32> = (0..128).map(after).collect();
    assert_eq!(data.words()[..128], done, "each half once");

    // Bytes that are no descriptor, and a descriptor of no memory, count as null: nothing is
    // written, and the device lives.
    let mut nowhere = halves[0];
    nowhere[5] ^= 0x3f;
    let beyond = t.descriptor(STORAGE, 0x10, 1 << 40);
    for garbage in [[0; 16], [0xcc; 16], [0xff; 16], nowhere, beyond, uniform_descriptor.map(|byte| byte ^ 0x80)] {
        descriptors.bytes_mut()[storage_offset..][..16].copy_from_slice(&garbage);
        c.run(|b| t.record(b, descriptors_at, START as u64)).unwrap();
        c.run(|b| t.record(b, 0x1000, START as u64)).unwrap();
        assert_eq!(data.words()[..128], done);
    }
    // SAFETY: valid usage.
    unsafe {
        c.device.destroy_pipeline(t.pipeline, None);
        c.device.destroy_pipeline_layout(t.layout, None);
        c.device.destroy_descriptor_set_layout(t.set, None);
    }
    [data, uniform, descriptors].into_iter().for_each(|buffer| c.free(buffer));
}

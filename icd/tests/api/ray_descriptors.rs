//! Tests of descriptors of acceleration structures that are not in descriptor sets: those in
//! descriptor buffers, those in descriptor heaps, and pushed ones, with ray queries and with ray
//! tracing pipelines. One of four descriptors is a null descriptor.

use crate::common::{Buffer, spirv};
use crate::generated::{command, tagged};
use crate::heaps::{DESCRIPTOR_HEAP, HEAP_USAGE, HeapFeatures};
use crate::pipeline::module;
use crate::rays::{Device, NONE, Pipeline, Primitives, Scene, Stages, UNUSED, general, triangles};
use ash::vk;
use std::ffi::{CStr, c_void};
use vulkan_grus::caps::newer;

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const STRUCTURE: vk::DescriptorType = vk::DescriptorType::ACCELERATION_STRUCTURE_KHR;
/// Number of structures in binding 1.
const COUNT: u32 = 4;
/// Number of cells with a triangle of the two scenes.
const CELLS: [u32; 2] = [9, 3];
/// Number of cells that rays go through.
const WIDTH: u32 = 6;

/// Byte offsets of the descriptors in a heap, and their distance.
const HEAP_STRUCTURES: u64 = 256;
const HEAP_STRIDE: u64 = 64;

/// Place of the descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    DescriptorBuffer,
    /// A heap at constant offsets.
    Heap,
    /// A heap at an offset that the shader record of the ray generation shader has. The results
    /// have no descriptor, but their address is in the record.
    HeapByRecord,
    Pushed,
}

/// Creates a device with all of these places.
pub fn device() -> Device {
    const EXTENSIONS: [&CStr; 5] = [
        c"VK_KHR_ray_query",
        c"VK_EXT_descriptor_buffer",
        c"VK_EXT_descriptor_heap",
        c"VK_KHR_push_descriptor",
        c"VK_EXT_robustness2",
    ];
    let mut queries = vk::PhysicalDeviceRayQueryFeaturesKHR::default().ray_query(true);
    let mut buffers = vk::PhysicalDeviceDescriptorBufferFeaturesEXT::default().descriptor_buffer(true);
    let mut heaps = HeapFeatures::enabled();
    let mut robust = vk::PhysicalDeviceRobustness2FeaturesEXT::default().null_descriptor(true);
    Device::with(&EXTENSIONS, &mut [&mut queries, &mut buffers, &mut heaps, &mut robust])
}

/// Returns the mapping of a binding of set 0; `words` are the first ones of the source's data.
pub fn mapping(binding: u32, source: i32, words: [u32; 4]) -> newer::DescriptorSetAndBindingMappingEXT<'static> {
    let pair = |i: usize| u64::from(words[i]) | u64::from(words[i + 1]) << 32;
    newer::DescriptorSetAndBindingMappingEXT {
        first_binding: binding,
        binding_count: 1,
        resource_mask: 0x7fff_ffff,
        source,
        source_data: [pair(0), pair(2), 0, 0, 0, 0, 0],
        ..tagged()
    }
}

/// The descriptors of a test: the results in binding 0, structures in binding 1.
struct Descriptors<'a> {
    d: &'a Device,
    place: Place,
    structures: [vk::AccelerationStructureKHR; COUNT as usize],
    set_layout: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    memory: Buffer,
}

impl<'a> Descriptors<'a> {
    /// Makes descriptors of the first scene, of nothing, of the second scene, and of the first one.
    fn new(d: &'a Device, place: Place, [first, second]: &[Scene; 2]) -> Descriptors<'a> {
        let structures =
            [Device::top(first), vk::AccelerationStructureKHR::null(), Device::top(second), Device::top(first)];
        let addresses = [first.address, 0, second.address, first.address];
        let (flags, usage) = match place {
            Place::DescriptorBuffer => (
                vk::DescriptorSetLayoutCreateFlags::DESCRIPTOR_BUFFER_EXT,
                vk::BufferUsageFlags::RESOURCE_DESCRIPTOR_BUFFER_EXT,
            ),
            Place::Pushed => {
                (vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR, vk::BufferUsageFlags::STORAGE_BUFFER)
            }
            Place::Heap | Place::HeapByRecord => (vk::DescriptorSetLayoutCreateFlags::empty(), HEAP_USAGE),
        };
        let memory = d.c.addressed_buffer(4096, usage);
        let (mut set_layout, mut layout) = Default::default();
        if !matches!(place, Place::Heap | Place::HeapByRecord) {
            (set_layout, layout) = layouts(d, flags);
        }
        let mut made = Descriptors { d, place, structures, set_layout, layout, memory };
        match place {
            Place::DescriptorBuffer => made.fill_buffer(addresses),
            Place::Heap | Place::HeapByRecord => made.fill_heap(addresses),
            Place::Pushed => {}
        }
        made
    }

    fn destroy(self) {
        // SAFETY: nothing uses the layouts any more; null is valid.
        unsafe {
            self.d.c.device.destroy_pipeline_layout(self.layout, None);
            self.d.c.device.destroy_descriptor_set_layout(self.set_layout, None);
        }
        self.d.c.free(self.memory);
    }

    fn fill_buffer(&mut self, addresses: [u64; COUNT as usize]) {
        let d = self.d;
        let functions = ash::ext::descriptor_buffer::Device::new(&d.c.instance, &d.c.device);
        let mut sizes = vk::PhysicalDeviceDescriptorBufferPropertiesEXT::default();
        let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut sizes);
        let results = vk::DescriptorAddressInfoEXT::default().address(d.c.address(&d.out)).range(d.out.size);
        // SAFETY: valid usage.
        unsafe {
            d.c.instance.get_physical_device_properties2(d.c.physical, &mut all);
            let [first, second] =
                [0, 1].map(|n| functions.get_descriptor_set_layout_binding_offset(self.set_layout, n) as usize);
            let mut write = |at: usize, size: usize, ty, data| {
                let info = vk::DescriptorGetInfoEXT { ty, data, ..Default::default() };
                functions.get_descriptor(&info, &mut self.memory.bytes_mut()[at..][..size]);
            };
            let data = vk::DescriptorDataEXT { p_storage_buffer: &results };
            write(first, sizes.storage_buffer_descriptor_size, STORAGE, data);
            let size = sizes.acceleration_structure_descriptor_size;
            for (i, acceleration_structure) in addresses.into_iter().enumerate() {
                write(second + i * size, size, STRUCTURE, vk::DescriptorDataEXT { acceleration_structure });
            }
        }
    }

    fn fill_heap(&mut self, addresses: [u64; COUNT as usize]) {
        let d = self.d;
        let write = command!(d.c, c"vkWriteResourceDescriptorsEXT" as newer::PFN_vkWriteResourceDescriptorsEXT);
        let results = newer::DeviceAddressRangeKHR { address: d.c.address(&d.out), size: d.out.size };
        let ranges = addresses.map(|address| newer::DeviceAddressRangeKHR { address, size: 256 });
        let structures = ranges.iter().enumerate().map(|(i, range)| {
            let at = HEAP_STRUCTURES + i as u64 * HEAP_STRIDE;
            (at, STRUCTURE, if range.address == 0 { std::ptr::null() } else { range as *const _ })
        });
        for (at, ty, range) in std::iter::once((0, STORAGE, &raw const results)).chain(structures) {
            let info = newer::ResourceDescriptorInfoEXT { ty, data: range.cast(), ..tagged() };
            let to = &mut self.memory.bytes_mut()[at as usize..][..HEAP_STRIDE as usize];
            let to = newer::HostAddressRangeEXT { address: to.as_mut_ptr().cast(), size: to.len() };
            // SAFETY: valid usage.
            unsafe { write(d.c.device.handle(), 1, &info, &to) }.result().expect("written");
        }
    }

    /// Binds or pushes the descriptors.
    fn bind(&self, b: vk::CommandBuffer, point: vk::PipelineBindPoint) {
        let (c, address) = (&self.d.c, self.d.c.address(&self.memory));
        match self.place {
            Place::DescriptorBuffer => {
                let functions = ash::ext::descriptor_buffer::Device::new(&c.instance, &c.device);
                let usage = vk::BufferUsageFlags::RESOURCE_DESCRIPTOR_BUFFER_EXT;
                let bound = vk::DescriptorBufferBindingInfoEXT::default().address(address).usage(usage);
                // SAFETY: valid usage.
                unsafe {
                    functions.cmd_bind_descriptor_buffers(b, &[bound]);
                    functions.cmd_set_descriptor_buffer_offsets(b, point, self.layout, 0, &[0], &[0]);
                }
            }
            Place::Heap | Place::HeapByRecord => {
                let bind = command!(self.d.c, c"vkCmdBindResourceHeapEXT" as newer::PFN_vkCmdBindResourceHeapEXT);
                let heap_range = newer::DeviceAddressRangeKHR { address, size: self.memory.size };
                // SAFETY: valid usage.
                unsafe { bind(b, &newer::BindHeapInfoEXT { heap_range, ..tagged() }) };
            }
            Place::Pushed => {
                let functions = ash::khr::push_descriptor::Device::new(&c.instance, &c.device);
                let results =
                    [vk::DescriptorBufferInfo { buffer: self.d.out.buffer, offset: 0, range: vk::WHOLE_SIZE }];
                let mut list =
                    vk::WriteDescriptorSetAccelerationStructureKHR::default().acceleration_structures(&self.structures);
                let write = vk::WriteDescriptorSet::default();
                let mut structures = write.dst_binding(1).descriptor_type(STRUCTURE).push_next(&mut list);
                structures.descriptor_count = COUNT;
                let writes = [write.descriptor_type(STORAGE).buffer_info(&results), structures];
                // SAFETY: valid usage.
                unsafe { functions.cmd_push_descriptor_set(b, point, self.layout, 0, &writes) };
            }
        }
    }

    /// Calls a function with the flags of pipelines and the chain of their stages.
    fn describe<T>(&self, call: impl FnOnce(vk::PipelineCreateFlags2CreateInfoKHR<'_>, *const c_void) -> T) -> T {
        let (structures, stride) = (HEAP_STRUCTURES as u32, HEAP_STRIDE as u32);
        let mappings = match self.place {
            // The record has the number 2, and at offset 8 the address of the results.
            Place::HeapByRecord => [mapping(0, 10, [8, 0, 0, 0]), mapping(1, 8, [structures - 2 * 32, 0, 32, stride])],
            _ => [mapping(0, 0, [0; 4]), mapping(1, 0, [structures, stride, 0, 0])],
        };
        let chained = newer::ShaderDescriptorSetAndBindingMappingInfoEXT {
            mapping_count: 2,
            p_mappings: mappings.as_ptr(),
            ..tagged()
        };
        let flags = vk::PipelineCreateFlags2CreateInfoKHR::default();
        match self.place {
            Place::DescriptorBuffer => {
                call(flags.flags(vk::PipelineCreateFlags2KHR::DESCRIPTOR_BUFFER_EXT), std::ptr::null())
            }
            Place::Heap | Place::HeapByRecord => call(flags.flags(DESCRIPTOR_HEAP), (&raw const chained).cast()),
            Place::Pushed => call(flags, std::ptr::null()),
        }
    }

    fn compute(&self) -> vk::Pipeline {
        let c = &self.d.c;
        let module = module(c, &spirv(bytes!("ray_query_arrays.comp")));
        self.describe(|mut flags, chain| {
            let mut stage = vk::PipelineShaderStageCreateInfo::default().stage(Stages::COMPUTE);
            stage = stage.module(module).name(c"main");
            stage.p_next = chain;
            let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(self.layout).push_next(&mut flags);
            // SAFETY: valid usage.
            unsafe {
                let made = c.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
                c.device.destroy_shader_module(module, None);
                made.expect("pipeline")[0]
            }
        })
    }

    fn rays(&self) -> Pipeline {
        let stages: [(Stages, &[u8]); 3] = [
            (Stages::RAYGEN_KHR, bytes!("ray_scenes.rgen")),
            (Stages::MISS_KHR, bytes!("rays.rmiss")),
            (Stages::CLOSEST_HIT_KHR, bytes!("rays.rchit")),
        ];
        let groups = [general(0), general(1), triangles(2, UNUSED)];
        let none = vk::PipelineCreateFlags::empty();
        let pipeline = self.d.describe(&stages, &groups, none, &[], |mut info| {
            self.describe(|mut flags, chain| {
                // SAFETY: `info` has this number of stages.
                let mut stages =
                    unsafe { core::slice::from_raw_parts(info.p_stages, info.stage_count as usize) }.to_vec();
                stages.iter_mut().for_each(|stage| stage.p_next = chain);
                (info.p_stages, info.layout) = (stages.as_ptr(), self.layout);
                self.d.create(&info.push_next(&mut flags)).expect("pipeline")
            })
        });
        Pipeline { pipeline, handles: self.d.handles(pipeline, groups.len()) }
    }
}

/// Makes a set layout of both bindings, and a pipeline layout of it.
fn layouts(d: &Device, flags: vk::DescriptorSetLayoutCreateFlags) -> (vk::DescriptorSetLayout, vk::PipelineLayout) {
    let bindings = [(0, STORAGE, 1), (1, STRUCTURE, COUNT)].map(|(binding, ty, count)| {
        vk::DescriptorSetLayoutBinding::default()
            .binding(binding)
            .descriptor_type(ty)
            .descriptor_count(count)
            .stage_flags(Stages::ALL)
    });
    let info = vk::DescriptorSetLayoutCreateInfo::default().flags(flags).bindings(&bindings);
    // SAFETY: valid usage.
    unsafe {
        let set_layout = d.c.device.create_descriptor_set_layout(&info, None).expect("set layout");
        let list = [set_layout];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&list);
        (set_layout, d.c.device.create_pipeline_layout(&info, None).expect("layout"))
    }
}

/// Returns two scenes that differ by their number of cells.
fn scenes(d: &Device) -> [Scene; 2] {
    CELLS.map(|cells| d.scene(&[Primitives::Triangles { cells, layers: 1, flags: vk::GeometryFlagsKHR::OPAQUE }]))
}

/// Returns true if the structure of this number has a triangle in a cell.
fn is_hit(number: u32, cell: u32) -> bool {
    match number {
        1 => false,
        2 => cell < CELLS[1],
        _ => cell < CELLS[0],
    }
}

#[test]
fn ray_queries_read_structures_of_every_place() {
    let mut d = device();
    let scenes = scenes(&d);
    for place in [Place::DescriptorBuffer, Place::Heap, Place::Pushed] {
        d.out.fill_words(|_| 0x7777);
        let descriptors = Descriptors::new(&d, place, &scenes);
        let pipeline = descriptors.compute();
        let done = d.c.run(|b| {
            let point = vk::PipelineBindPoint::COMPUTE;
            // SAFETY: valid usage.
            unsafe {
                d.c.device.cmd_bind_pipeline(b, point, pipeline);
                descriptors.bind(b, point);
                d.c.device.cmd_dispatch(b, 1, 1, 1);
            }
        });
        done.expect("run");
        for (i, result) in (0..).zip(d.results(8 * WIDTH)) {
            // Queries with an even sum of their number and the invocation's are not initialized.
            let initialized = (i + i % 3) % 2 == 1;
            let expected = match (initialized, is_hit(i % COUNT, i / 8)) {
                (false, _) => [0; 4],
                (true, false) => [0, 0, 0, 100f32.to_bits()],
                (true, true) => [0, 1, 3, 1f32.to_bits()],
            };
            assert_eq!(result, expected, "{place:?}, invocation {i}");
        }
        // SAFETY: nothing uses the pipeline any more.
        unsafe { d.c.device.destroy_pipeline(pipeline, None) };
        descriptors.destroy();
    }
    scenes.into_iter().for_each(|scene| d.free_scene(scene));
    d.destroy();
}

#[test]
fn pipelines_read_structures_of_every_place() {
    let mut d = device();
    let scenes = scenes(&d);
    for place in [Place::DescriptorBuffer, Place::Heap, Place::HeapByRecord, Place::Pushed] {
        d.out.fill_words(|_| 0x7777);
        let descriptors = Descriptors::new(&d, place, &scenes);
        let pipeline = descriptors.rays();
        let handles = &pipeline.handles;
        let mut tables = [d.table(&[(handles[0], 2)]), d.table(&[(handles[1], 50)]), d.table(&[(handles[2], 60)])];
        tables[0].bytes_mut()[32 + 8..][..8].copy_from_slice(&d.c.address(&d.out).to_le_bytes());
        let [generation, miss, hit] = [0, 1, 2].map(|i| d.region(&tables[i]));
        let done = d.c.run(|b| {
            let point = vk::PipelineBindPoint::RAY_TRACING_KHR;
            // SAFETY: valid usage.
            unsafe {
                d.c.device.cmd_bind_pipeline(b, point, pipeline.pipeline);
                descriptors.bind(b, point);
                d.pipelines.cmd_trace_rays(b, &generation, &miss, &hit, &NONE, COUNT * WIDTH, 1, 1);
            }
        });
        done.expect("traced");
        for (i, result) in (0..).zip(d.results(COUNT * WIDTH)) {
            let cell = i / COUNT;
            let expected = if is_hit(i % COUNT, cell) { [0x100 + cell, i, 16, 60] } else { [0x8000, i, 0, 50] };
            assert_eq!(result, expected, "{place:?}, launch {i}");
        }
        tables.into_iter().for_each(|table| d.c.free(table));
        d.free_pipeline(pipeline);
        descriptors.destroy();
    }
    scenes.into_iter().for_each(|scene| d.free_scene(scene));
    d.destroy();
}

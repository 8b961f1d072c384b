//! Test of accelerationStructureCaptureReplay and
//! rayTracingPipelineShaderGroupHandleCaptureReplay: a launch that has the addresses of structures
//! and the handles of shader groups of one process gives the same results in another process.

use super::common::{Buffer, Context};
use super::rays::{Device, NONE, Pipeline, Primitives, Stages, UNUSED, general, push, triangles};
use super::{PART, child, opaque};
use ash::vk;

const NAME: &str = "ray_tracing::launches_are_the_same_in_another_process";
const STAGES: [(Stages, &[u8]); 3] = [
    (Stages::RAYGEN_KHR, include_bytes!("../data/rays.rgen.spv")),
    (Stages::MISS_KHR, include_bytes!("../data/rays.rmiss.spv")),
    (Stages::CLOSEST_HIT_KHR, include_bytes!("../data/rays.rchit.spv")),
];
/// Number of words of 64 bits of a handle, and of the addresses of a structure: of its memory, of
/// its buffer, and its own.
const HANDLE: usize = 4;
const STRUCTURE: usize = 3;

fn device() -> Device {
    let mut structures = vk::PhysicalDeviceAccelerationStructureFeaturesKHR::default()
        .acceleration_structure(true)
        .acceleration_structure_capture_replay(true)
        .acceleration_structure_host_commands(true);
    let mut rays = vk::PhysicalDeviceRayTracingPipelineFeaturesKHR::default()
        .ray_tracing_pipeline(true)
        .ray_tracing_pipeline_shader_group_handle_capture_replay(true);
    let mut v12 = vk::PhysicalDeviceVulkan12Features::default()
        .buffer_device_address(true)
        .buffer_device_address_capture_replay(true);
    let extensions =
        [c"VK_KHR_acceleration_structure", c"VK_KHR_deferred_host_operations", c"VK_KHR_ray_tracing_pipeline"];
    Device::of(Context::with(&[c"VK_EXT_debug_utils"], &extensions, &mut [&mut structures, &mut rays, &mut v12]))
}

/// Makes a buffer for a structure, at the addresses of a capture (zeros: at any).
fn storage(c: &Context, size: u64, captured: &[u64]) -> Buffer {
    use vk::MemoryAllocateFlags as Flags;
    let mut again = vk::BufferOpaqueCaptureAddressCreateInfo::default().opaque_capture_address(captured[1]);
    let info = vk::BufferCreateInfo::default()
        .flags(vk::BufferCreateFlags::DEVICE_ADDRESS_CAPTURE_REPLAY)
        .size(size)
        .usage(vk::BufferUsageFlags::ACCELERATION_STRUCTURE_STORAGE_KHR | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS)
        .push_next(&mut again);
    let mut flags =
        vk::MemoryAllocateFlagsInfo::default().flags(Flags::DEVICE_ADDRESS | Flags::DEVICE_ADDRESS_CAPTURE_REPLAY);
    let mut at = vk::MemoryOpaqueCaptureAddressAllocateInfo::default().opaque_capture_address(captured[0]);
    // SAFETY: valid usage.
    unsafe {
        let buffer = c.device.create_buffer(&info, None).expect("buffer");
        let size = c.device.get_buffer_memory_requirements(buffer).size;
        let info = vk::MemoryAllocateInfo::default().allocation_size(size).push_next(&mut flags).push_next(&mut at);
        let memory = c.device.allocate_memory(&info, None).expect("memory");
        c.device.bind_buffer_memory(buffer, memory, 0).expect("bind");
        let pointer = c.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).expect("map").cast();
        Buffer { buffer, memory, pointer, size }
    }
}

/// Creates a structure at the addresses of a capture, and returns its buffer too.
fn structure(
    d: &Device,
    ty: vk::AccelerationStructureTypeKHR,
    size: u64,
    captured: &[u64],
) -> (Buffer, vk::AccelerationStructureKHR) {
    let buffer = storage(&d.c, size, captured);
    let info = vk::AccelerationStructureCreateInfoKHR::default()
        .create_flags(vk::AccelerationStructureCreateFlagsKHR::DEVICE_ADDRESS_CAPTURE_REPLAY)
        .buffer(buffer.buffer)
        .size(size)
        .ty(ty)
        .device_address(captured[2]);
    // SAFETY: valid usage.
    let structure = unsafe { d.structures.create_acceleration_structure(&info, None) };
    (buffer, structure.expect("structure"))
}

/// Returns the addresses that a structure is created again with.
fn addresses(d: &Device, buffer: &Buffer, structure: vk::AccelerationStructureKHR) -> [u64; STRUCTURE] {
    let memory = vk::DeviceMemoryOpaqueCaptureAddressInfo::default().memory(buffer.memory);
    let info = vk::AccelerationStructureDeviceAddressInfoKHR::default().acceleration_structure(structure);
    // SAFETY: valid usage.
    unsafe {
        [
            d.c.device.get_device_memory_opaque_capture_address(&memory),
            opaque(&d.c, buffer.buffer),
            d.structures.get_acceleration_structure_device_address(&info),
        ]
    }
}

/// Creates a pipeline whose groups have the handles of a capture, if there is one. Returns its
/// handles.
fn pipeline(d: &Device, captured: Option<&[[u8; 32]]>) -> Pipeline {
    let mut groups = [general(0), general(1), triangles(2, UNUSED)];
    for (group, handle) in groups.iter_mut().zip(captured.unwrap_or_default()) {
        group.p_shader_group_capture_replay_handle = handle.as_ptr().cast();
    }
    let flags = vk::PipelineCreateFlags::RAY_TRACING_SHADER_GROUP_HANDLE_CAPTURE_REPLAY_KHR;
    let pipeline = d.try_pipeline(&STAGES, &groups, flags, &[]).expect("pipeline");
    // SAFETY: valid usage.
    let replayed = unsafe {
        d.pipelines.get_ray_tracing_capture_replay_shader_group_handles(pipeline, 0, 3, 3 * 32).expect("handles")
    };
    let handles: Vec<[u8; 32]> = replayed.as_chunks().0.to_vec();
    assert!(captured.is_none_or(|captured| captured == handles));
    assert!(captured.is_none_or(|captured| captured == d.handles(pipeline, 3)));
    Pipeline { pipeline, handles }
}

/// Captures a launch, or replays it with captured numbers. Returns the numbers and the results.
fn launch(captured: Option<&[u64]>) -> (Vec<u64>, Vec<[u32; 4]>) {
    let mut d = device();
    // None of these allocations conflicts.
    let others: Vec<_> = (0..captured.map_or(0, |_| 20)).map(|i| d.c.memory(100_000 << (i % 3)).0).collect();
    let zeros = [0; 2 * STRUCTURE];
    let mut structures = captured.unwrap_or(&zeros)[..2 * STRUCTURE].chunks(STRUCTURE);
    let triangles = Primitives::Triangles { cells: 5, layers: 1, flags: vk::GeometryFlagsKHR::OPAQUE };
    let scene =
        d.scene_in(&[triangles], |ty, size| structure(&d, ty, size, structures.next().expect("two structures")));
    let both = scene.buffers.iter().zip(&scene.structures);
    let mut numbers: Vec<u64> = both.flat_map(|(buffer, structure)| addresses(&d, buffer, *structure)).collect();
    let handles: Option<Vec<[u8; 32]>> = captured.map(|captured| {
        let bytes: Vec<u8> = captured[2 * STRUCTURE..].iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.as_chunks().0.to_vec()
    });
    let pipeline = pipeline(&d, handles.as_deref());
    let words = pipeline.handles.iter().flat_map(|handle| handle.as_chunks().0.iter().copied().map(u64::from_le_bytes));
    numbers.extend(words);
    assert_eq!(numbers.len(), 2 * STRUCTURE + 3 * HANDLE);
    assert!(captured.is_none_or(|captured| captured == numbers), "{captured:?}, {numbers:?}");
    // The launch has only captured numbers.
    let push = push(&scene, 0, 0);
    let [generation, miss, hit] = *pipeline.handles.as_array().expect("three handles");
    let tables = [d.table(&[(generation, 0)]), d.table(&[(miss, 50)]), d.table(&[(hit, 60)])];
    let [generation, miss, hit] = [0, 1, 2].map(|i| d.region(&tables[i]));
    let results = d.trace(&pipeline, push, [generation, miss, hit, NONE], [7, 1]);
    tables.into_iter().for_each(|table| d.c.free(table));
    d.free_pipeline(pipeline);
    d.free_scene(scene);
    // SAFETY: valid usage.
    others.into_iter().for_each(|memory| unsafe { d.c.device.free_memory(memory, None) });
    d.destroy();
    (numbers, results)
}

#[test]
fn launches_are_the_same_in_another_process() {
    let Ok(captured) = std::env::var(PART) else {
        let captured = child(NAME, "");
        let numbers = captured.split_once("] [").expect("two lists").0.trim_start_matches('[');
        assert_eq!(child(NAME, numbers), captured);
        return;
    };
    let numbers: Vec<u64> = captured.split(", ").filter_map(|number| number.parse().ok()).collect();
    let (numbers, results) = launch(if captured.is_empty() { None } else { Some(&numbers) });
    for (i, result) in (0..).zip(&results) {
        let expected = if i < 5 { [0x100 + i, i, 16, 60] } else { [0x8000, i, 0, 50] };
        assert_eq!(*result, expected);
    }
    println!("\naddresses {numbers:?} {results:?}");
}

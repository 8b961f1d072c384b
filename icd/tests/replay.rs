//! Tests of bufferDeviceAddressCaptureReplay, descriptorBufferCaptureReplay and the features of ray
//! tracing with the same purpose: captured objects have the same addresses, and the same
//! descriptors, in another process.

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
#[path = "replay/ray_tracing.rs"]
mod ray_tracing;
#[path = "common/rays.rs"]
mod rays;
use ash::vk;
use common::Context;
use std::process::Command;

const NAME: &str = "addresses_are_the_same_in_another_process";
/// Variable with the data that the child replays; empty if it captures.
const PART: &str = "GRUS_TEST_CAPTURED";
const SIZE: u64 = 300_000;

fn context() -> Context {
    let mut features = vk::PhysicalDeviceBufferDeviceAddressFeatures::default()
        .buffer_device_address(true)
        .buffer_device_address_capture_replay(true);
    let mut sparse = vk::PhysicalDeviceFeatures2::default();
    sparse.features.sparse_binding = vk::TRUE;
    Context::with(&[], &[], &mut [&mut features, &mut sparse])
}

/// Allocates memory of the capture, at an address if one is given.
fn memory(c: &Context, opaque: u64) -> Result<vk::DeviceMemory, vk::Result> {
    use vk::MemoryAllocateFlags as Flags;
    let mut flags =
        vk::MemoryAllocateFlagsInfo::default().flags(Flags::DEVICE_ADDRESS | Flags::DEVICE_ADDRESS_CAPTURE_REPLAY);
    let mut again = vk::MemoryOpaqueCaptureAddressAllocateInfo::default().opaque_capture_address(opaque);
    let info = vk::MemoryAllocateInfo::default().allocation_size(SIZE).push_next(&mut flags).push_next(&mut again);
    // SAFETY: valid usage.
    unsafe { c.device.allocate_memory(&info, None) }
}

/// Makes a buffer of the capture without memory.
fn buffer(c: &Context, sparse: bool, opaque: u64) -> Result<vk::Buffer, vk::Result> {
    use vk::BufferCreateFlags as Flags;
    let kind = if sparse { Flags::SPARSE_BINDING } else { Flags::empty() };
    let mut again = vk::BufferOpaqueCaptureAddressCreateInfo::default().opaque_capture_address(opaque);
    let info = vk::BufferCreateInfo::default()
        .flags(Flags::DEVICE_ADDRESS_CAPTURE_REPLAY | kind)
        .size(65_536)
        .usage(vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS)
        .push_next(&mut again);
    // SAFETY: valid usage.
    unsafe { c.device.create_buffer(&info, None) }
}

fn opaque(c: &Context, buffer: vk::Buffer) -> u64 {
    // SAFETY: valid usage.
    unsafe { c.device.get_buffer_opaque_capture_address(&vk::BufferDeviceAddressInfo::default().buffer(buffer)) }
}

fn address(c: &Context, buffer: vk::Buffer) -> u64 {
    // SAFETY: valid usage.
    unsafe { c.device.get_buffer_device_address(&vk::BufferDeviceAddressInfo::default().buffer(buffer)) }
}

/// Makes objects at the addresses of a capture (zeros: at any) and returns the opaque addresses of
/// memory, of a buffer in it, and of a sparse buffer.
fn objects(c: &Context, captured: [u64; 3]) -> Result<[u64; 3], vk::Result> {
    let memory = memory(c, captured[0])?;
    let bound = buffer(c, false, captured[1])?;
    let sparse = buffer(c, true, captured[2])?;
    // SAFETY: valid usage.
    unsafe {
        c.device.bind_buffer_memory(bound, memory, 4096)?;
        let info = vk::DeviceMemoryOpaqueCaptureAddressInfo::default().memory(memory);
        let all = [c.device.get_device_memory_opaque_capture_address(&info), opaque(c, bound), opaque(c, sparse)];
        assert_eq!(all.map(|address| address != 0), [true; 3]);
        // The memory is accessible.
        let pointer = c.device.map_memory(memory, 0, vk::WHOLE_SIZE, Default::default())?.cast::<u8>();
        std::slice::from_raw_parts_mut(pointer, SIZE as usize).fill(7);
        c.device.unmap_memory(memory);
        let addresses = [bound, sparse].map(|buffer| address(c, buffer));
        println!("\naddresses {addresses:?} {all:?}");
        [bound, sparse].into_iter().for_each(|buffer| c.device.destroy_buffer(buffer, None));
        c.device.free_memory(memory, None);
        Ok(all)
    }
}

/// Runs a test in a child that captures, or replays the capture of another child behind allocations
/// of its own.
fn child(test: &str, captured: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", test, "--nocapture"]).env(PART, captured).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said.lines().find_map(|line| line.strip_prefix("addresses ")).expect("addresses").to_owned()
}

#[test]
fn addresses_are_the_same_in_another_process() {
    let Ok(captured) = std::env::var(PART) else {
        let captured = child(NAME, "");
        let opaque = captured.split_once("] [").expect("two lists").1.trim_end_matches(']');
        assert_eq!(child(NAME, opaque), captured);
        return;
    };
    let c = context();
    if captured.is_empty() {
        objects(&c, [0; 3]).expect("objects");
        return;
    }
    // None of these allocations conflicts.
    let (others, _mapped): (Vec<_>, Vec<_>) = (0..20).map(|i| c.memory(100_000 << (i % 3))).unzip();
    let captured: Vec<u64> = captured.split(", ").map(|number| number.parse().expect("a number")).collect();
    let captured = [captured[0], captured[1], captured[2]];
    assert_eq!(objects(&c, captured), Ok(captured));
    // SAFETY: valid usage.
    others.into_iter().for_each(|memory| unsafe { c.device.free_memory(memory, None) });
}

#[test]
fn unavailable_addresses_are_refused() {
    let c = context();
    let invalid = vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS;
    let captured = objects(&c, [0; 3]).expect("objects");
    assert_eq!(objects(&c, captured), Ok(captured), "in the same process");
    let taken = memory(&c, captured[0]).expect("memory");
    for wrong in [captured[0], captured[0] + 1, captured[0] - 65_536, 1, u64::MAX] {
        assert_eq!(memory(&c, wrong).err(), Some(invalid), "{wrong:#x}");
        assert_eq!(buffer(&c, true, wrong).err(), Some(invalid), "{wrong:#x}");
    }
    // The buffer has an address that differs from where it is bound.
    let elsewhere = buffer(&c, false, captured[1]).expect("buffer");
    // SAFETY: valid usage, except for the first binding.
    unsafe {
        assert_eq!(c.device.bind_buffer_memory(elsewhere, taken, 8192), Err(invalid));
        assert_eq!(c.device.bind_buffer_memory(elsewhere, taken, 4096), Ok(()));
        c.device.destroy_buffer(elsewhere, None);
        c.device.free_memory(taken, None);
    }
}

/// A sampler, and a view of an image.
#[derive(Debug)]
struct Sampled {
    view: vk::ImageView,
    sampler: vk::Sampler,
}

/// Makes the objects with the data of a capture, if there is one. The image's memory is the test's,
/// not the capture's.
fn sampled(c: &Context, captured: Option<[[u8; 8]; 2]>) -> Result<Sampled, vk::Result> {
    let image = c.image(vk::Format::R8G8B8A8_UNORM, [4, 4], vk::SampleCountFlags::TYPE_1, 1);
    let data = |i: usize| {
        let data = captured.as_ref().map_or(std::ptr::null(), |captured| captured[i].as_ptr());
        vk::OpaqueCaptureDescriptorDataCreateInfoEXT {
            opaque_capture_descriptor_data: data.cast(),
            ..Default::default()
        }
    };
    let (mut of_view, mut of_sampler) = (data(0), data(1));
    let mut info = vk::ImageViewCreateInfo::default()
        .flags(vk::ImageViewCreateFlags::DESCRIPTOR_BUFFER_CAPTURE_REPLAY_EXT)
        .image(image.image)
        .view_type(vk::ImageViewType::TYPE_2D)
        .format(vk::Format::R8G8B8A8_UNORM)
        .subresource_range(common::range(vk::ImageAspectFlags::COLOR, 1));
    let mut sampler =
        vk::SamplerCreateInfo::default().flags(vk::SamplerCreateFlags::DESCRIPTOR_BUFFER_CAPTURE_REPLAY_EXT);
    if captured.is_some() {
        info = info.push_next(&mut of_view);
        sampler = sampler.push_next(&mut of_sampler);
    }
    // SAFETY: valid usage.
    unsafe {
        let view = c.device.create_image_view(&info, None)?;
        Ok(Sampled { view, sampler: c.device.create_sampler(&sampler, None)? })
    }
}

/// Returns the capture data of the objects, and their descriptor.
fn descriptor(c: &Context, of: &Sampled) -> ([[u8; 8]; 2], [u8; 16]) {
    let functions = ash::ext::descriptor_buffer::Device::new(&c.instance, &c.device);
    let info = vk::DescriptorImageInfo::default().image_view(of.view).sampler(of.sampler);
    let data = vk::DescriptorDataEXT { p_combined_image_sampler: &info };
    let ty = vk::DescriptorType::COMBINED_IMAGE_SAMPLER;
    let (mut captured, mut bytes) = ([[0; 8]; 2], [0; 16]);
    let view = vk::ImageViewCaptureDescriptorDataInfoEXT::default().image_view(of.view);
    let sampler = vk::SamplerCaptureDescriptorDataInfoEXT::default().sampler(of.sampler);
    // SAFETY: valid usage.
    unsafe {
        functions.get_image_view_opaque_capture_descriptor_data(&view, &mut captured[0]).expect("data");
        functions.get_sampler_opaque_capture_descriptor_data(&sampler, &mut captured[1]).expect("data");
        functions.get_descriptor(&vk::DescriptorGetInfoEXT { ty, data, ..Default::default() }, &mut bytes);
    }
    (captured, bytes)
}

#[test]
fn descriptors_are_the_same_in_another_process() {
    const NAME: &str = "descriptors_are_the_same_in_another_process";
    let Ok(captured) = std::env::var(PART) else {
        let said = child(NAME, "");
        assert_eq!(child(NAME, said.split_once(' ').expect("two").0), said);
        return;
    };
    let mut features = vk::PhysicalDeviceDescriptorBufferFeaturesEXT::default()
        .descriptor_buffer(true)
        .descriptor_buffer_capture_replay(true);
    let c = Context::with(&[], &[c"VK_EXT_descriptor_buffer"], &mut [&mut features]);
    let number = |text: &str| text.parse::<u64>().expect("a number").to_le_bytes();
    let names = captured.split_once(',').map(|(view, sampler)| [number(view), number(sampler)]);
    // Handles differ from those in the capture.
    let _others: Vec<_> = (0..names.map_or(0, |_| 3)).map(|_| c.buffer(64)).collect();
    let first = if names.is_none() { sampled(&c, None).ok() } else { None };
    let object = sampled(&c, names).expect("objects");
    let (captured, bytes) = descriptor(&c, &object);
    if let Some(first) = first {
        let (names, other) = descriptor(&c, &first);
        assert!(names.iter().zip(captured).all(|(a, b)| *a != b) && other != bytes);
    }
    assert!(names.is_none_or(|names| names == captured));
    assert_eq!(sampled(&c, Some(captured)).err(), Some(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS), "taken");
    let [view, sampler] = captured.map(u64::from_le_bytes);
    println!("\naddresses {view},{sampler} {bytes:?}");
    // SAFETY: valid usage.
    unsafe {
        c.device.destroy_image_view(object.view, None);
        c.device.destroy_sampler(object.sampler, None);
    }
    let again = sampled(&c, Some(captured)).expect("its name is free again");
    assert_eq!(descriptor(&c, &again), (captured, bytes));
}

//! bufferDeviceAddressCaptureReplay: what was captured in one process has the same addresses in another.

mod common;
use ash::vk;
use common::Context;
use std::process::Command;

const NAME: &str = "addresses_are_the_same_in_another_process";
/// What the child captured or replays.
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

/// Memory of the capture, at an address if one is given.
fn memory(c: &Context, opaque: u64) -> Result<vk::DeviceMemory, vk::Result> {
    use vk::MemoryAllocateFlags as Flags;
    let mut flags =
        vk::MemoryAllocateFlagsInfo::default().flags(Flags::DEVICE_ADDRESS | Flags::DEVICE_ADDRESS_CAPTURE_REPLAY);
    let mut again = vk::MemoryOpaqueCaptureAddressAllocateInfo::default().opaque_capture_address(opaque);
    let info = vk::MemoryAllocateInfo::default().allocation_size(SIZE).push_next(&mut flags).push_next(&mut again);
    // SAFETY: valid usage.
    unsafe { c.device.allocate_memory(&info, None) }
}

/// A buffer of the capture, bound to nothing.
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

/// Objects at the addresses of a capture (zeros: at any): the opaque addresses of memory, of a buffer in it, and of a sparse buffer.
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
        // The memory is there.
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

/// In a child: captures, or replays what another child has captured behind allocations of its own.
fn child(captured: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", NAME, "--nocapture"]).env(PART, captured).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said.lines().find_map(|line| line.strip_prefix("addresses ")).expect("addresses").to_owned()
}

#[test]
fn addresses_are_the_same_in_another_process() {
    let Ok(captured) = std::env::var(PART) else {
        let captured = child("");
        let opaque = captured.split_once("] [").expect("two lists").1.trim_end_matches(']');
        assert_eq!(child(opaque), captured);
        return;
    };
    let c = context();
    if captured.is_empty() {
        objects(&c, [0; 3]).expect("objects");
        return;
    }
    // Nothing of this is in the way.
    let (others, _mapped): (Vec<_>, Vec<_>) = (0..20).map(|i| c.memory(100_000 << (i % 3))).unzip();
    let captured: Vec<u64> = captured.split(", ").map(|number| number.parse().expect("a number")).collect();
    let captured = [captured[0], captured[1], captured[2]];
    assert_eq!(objects(&c, captured), Ok(captured));
    // SAFETY: valid usage.
    others.into_iter().for_each(|memory| unsafe { c.device.free_memory(memory, None) });
}

#[test]
fn addresses_that_cannot_be_had_are_refused() {
    let c = context();
    let invalid = vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS;
    let captured = objects(&c, [0; 3]).expect("objects");
    assert_eq!(objects(&c, captured), Ok(captured), "in the same process");
    let taken = memory(&c, captured[0]).expect("memory");
    for wrong in [captured[0], captured[0] + 1, captured[0] - 65_536, 1, u64::MAX] {
        assert_eq!(memory(&c, wrong).err(), Some(invalid), "{wrong:#x}");
        assert_eq!(buffer(&c, true, wrong).err(), Some(invalid), "{wrong:#x}");
    }
    // A buffer that has to lie elsewhere than where it is bound.
    let elsewhere = buffer(&c, false, captured[1]).expect("buffer");
    // SAFETY: valid usage, but for the second one.
    unsafe {
        assert_eq!(c.device.bind_buffer_memory(elsewhere, taken, 8192), Err(invalid));
        assert_eq!(c.device.bind_buffer_memory(elsewhere, taken, 4096), Ok(()));
        c.device.destroy_buffer(elsewhere, None);
        c.device.free_memory(taken, None);
    }
}

//! Buffer device addresses: lists through pointers in memory, and addresses that point nowhere.

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
use ash::vk;
use common::{Buffer, Context, spirv};
use pipeline::{Set, compute, run};

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;

fn context() -> Context {
    let mut features = vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(true);
    let extensions = [c"VK_KHR_buffer_device_address", c"VK_KHR_device_group"];
    let instance = [c"VK_KHR_get_physical_device_properties2", c"VK_KHR_device_group_creation"];
    Context::with(&instance, &extensions, &mut [&mut features])
}

fn address(c: &Context, buffer: &Buffer) -> u64 {
    let functions = ash::khr::buffer_device_address::Device::new(&c.instance, &c.device);
    // SAFETY: valid usage, but that the buffer was not made for it: the driver does not care.
    unsafe { functions.get_buffer_device_address(&vk::BufferDeviceAddressInfo::default().buffer(buffer.buffer)) }
}

/// Bytes of a node of `list.comp`: next, value, two others.
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
    // Node n: next is n + 1, others are n + 2 and n + 3, around; the last points to itself.
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
    let words = spirv(include_bytes!("data/list.comp.spv"));
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

/// Null, wild, freed and host addresses: loads give zero, writes vanish, the process and the device live.
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
    let words = spirv(include_bytes!("data/wild.comp.spv"));
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

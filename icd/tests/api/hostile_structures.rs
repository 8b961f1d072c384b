//! Tests of acceleration structures whose input, memory or references are not what a valid
//! application gives: nothing crashes or hangs, and what is intact is still found.

use crate::acceleration_structures::{
    BOTTOM, Device, Geometry, MISS, PLACES, Place, Structure, TOP, Tracer, address_at, count, create_at, hit, instance,
    instances, triangles, vertices,
};
use crate::common::Buffer;
use crate::pipeline::Messenger;
use ash::vk::{self, Handle};
use base::random::XorshiftStar as Rng;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Offset of the reference in an instance of a built structure, which follows its header.
const REFERENCE: usize = 128 + 26 * 4;
/// Longest time that a launch of 16 rays may take, whatever the structures contain.
const LONGEST: Duration = Duration::from_secs(20);

/// A bottom-level structure of eight triangles, and a top-level structure with one instance of it.
struct World {
    input: Buffer,
    list: Buffer,
    bottom: Structure,
    top: Structure,
}

fn on_queue(d: &Device, buffer: &Buffer) -> vk::DeviceOrHostAddressConstKHR {
    address_at(Place::Queue, d, buffer)
}

impl World {
    fn new(d: &Device) -> World {
        let input = d.buffer_of(&vertices(8, 0.0));
        let bottom = d.built(Place::Queue, BOTTOM, &triangles(on_queue(d, &input), 8), count(8));
        let list = d.buffer_of(&instance(d.address(&bottom)));
        let top = d.built(Place::Queue, TOP, &instances(on_queue(d, &list)), count(1));
        World { input, list, bottom, top }
    }

    fn free(self, d: &Device) {
        d.free(self.top);
        d.free(self.bottom);
        [self.input, self.list].into_iter().for_each(|buffer| d.c.free(buffer));
    }
}

fn all_hits() -> [[u32; 4]; 16] {
    std::array::from_fn(|i| if i < 8 { hit(i) } else { MISS })
}

/// An address may lie before its buffer if the offset of the range leads into the buffer. The
/// specification requires an address of a buffer, but tests of the CTS use such addresses.
#[test]
fn offsets_lead_into_a_buffer_from_before_it() {
    let d = Device::new();
    // The buffer is the first one of the device: nothing lies before it.
    let input = d.buffer_of(&vertices(20, 0.0));
    for place in PLACES {
        // SAFETY: both members are addresses.
        let address = unsafe { address_at(place, &d, &input).device_address };
        let geometry = |before: u64| {
            let device_address = address - before;
            triangles(vk::DeviceOrHostAddressConstKHR { device_address }, 420)
        };
        let expected = d.built(place, BOTTOM, &geometry(0), count(20));
        let ranges = [
            (36 * 400, count(20).primitive_offset(36 * 400)),
            (36 * 400, count(20).first_vertex(3 * 400)),
            (36 * 400, count(20).primitive_offset(36 * 100).first_vertex(3 * 300)),
        ];
        for (before, range) in ranges {
            let structure = d.built(place, BOTTOM, &geometry(before), range);
            assert!(structure.bytes() == expected.bytes(), "{place:?} {range:?}");
            d.free(structure);
        }
        d.free(expected);
    }
    d.c.free(input);
}

/// Structures are not made at addresses that are not aligned or are 0. Builds refuse structures at
/// addresses without memory.
#[test]
fn structures_at_addresses_without_memory_are_refused() {
    let d = Device::new();
    let messenger = Messenger::new(&d.c);
    let input = d.buffer_of(&vertices(8, 0.0));
    let geometry = triangles(on_queue(&d, &input), 8);
    let size = d.sizes(BOTTOM, &geometry, 8).acceleration_structure_size;
    let buffer = d.buffer(256 + size);
    for address in [d.buffer_address(&buffer) + 8, 0] {
        assert_eq!(create_at(&d, BOTTOM, address, size), Err(vk::Result::ERROR_UNKNOWN), "{address:#x}");
    }
    messenger.take();
    let nowhere = Structure { buffer, structure: create_at(&d, BOTTOM, 0x1000, size).expect("a structure") };
    d.build(Place::Queue, BOTTOM, &geometry, count(8), None, &nowhere);
    assert_eq!(messenger.take().len(), 1);
    drop(messenger);
    d.free(nowhere);
    d.c.free(input);
}

#[test]
fn triangles_without_finite_vertices_are_not_hit() {
    let d = Device::new();
    let tracer = Tracer::new(&d);
    // One word of the triangles 1, 3, 4 and 5; triangle 6 has three equal vertices, and triangle 7
    // lies on a line.
    let damage = [(1, 0, f32::NAN), (3, 5, f32::INFINITY), (4, 7, f32::NEG_INFINITY), (5, 8, -f32::NAN)];
    for place in PLACES {
        for fast_build in [false, true] {
            let mut input = d.buffer_of(&vertices(8, 0.0));
            let mut write = |triangle: usize, word: usize, value: f32| {
                input.bytes_mut()[36 * triangle + 4 * word..][..4].copy_from_slice(&value.to_le_bytes());
            };
            damage.into_iter().for_each(|(triangle, word, value)| write(triangle, word, value));
            (0..9).for_each(|word| write(6, word, [6.25, 0.25, 1.5][word % 3]));
            (0..9).for_each(|word| write(7, word, [7.0 + word as f32 / 3.0, 0.25, 1.75][word % 3]));
            let geometry = triangles(address_at(place, &d, &input), 8);
            let size = d.sizes(BOTTOM, &geometry, 8).acceleration_structure_size;
            let bottom = d.structure(BOTTOM, size);
            d.build_with(place, BOTTOM, (&geometry, count(8)), fast_build, &bottom);
            let reference = if place == Place::Host { bottom.structure.as_raw() } else { d.address(&bottom) };
            let list = d.buffer_of(&instance(reference));
            let top = d.built(place, TOP, &instances(address_at(place, &d, &list)), count(1));
            let found = tracer.trace(&d, d.address(&top));
            for (i, found) in found.into_iter().enumerate() {
                assert_eq!(found, if [0, 2].contains(&i) { hit(i) } else { MISS }, "{place:?} {fast_build} {i}");
            }
            d.free(top);
            d.free(bottom);
            [input, list].into_iter().for_each(|buffer| d.c.free(buffer));
        }
    }
    tracer.free(&d);
}

#[test]
fn instances_with_odd_transforms_are_built_and_not_hit() {
    let d = Device::new();
    let tracer = Tracer::new(&d);
    let world = World::new(&d);
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, f32::MAX, f32::MIN_POSITIVE, -1e-45] {
        // The second instance is whole and the first one has a damaged scale and translation.
        let mut list = d.buffer_of(&[instance(d.address(&world.bottom)), instance(d.address(&world.bottom))].concat());
        for at in [0, 12] {
            list.bytes_mut()[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let top = d.built(Place::Queue, TOP, &instances(on_queue(&d, &list)), count(2));
        for (i, found) in tracer.trace(&d, d.address(&top)).into_iter().enumerate().skip(1) {
            assert_eq!(found, all_hits()[i], "{value} {i}");
        }
        d.free(top);
        d.c.free(list);
    }
    world.free(&d);
    tracer.free(&d);
}

#[test]
fn structures_that_refer_to_themselves_are_not_entered() {
    let d = Device::new();
    let tracer = Tracer::new(&d);
    let mut world = World::new(&d);
    let own = d.address(&world.top);
    assert_eq!(tracer.trace(&d, own), all_hits());
    for wrong in [own, own + 256, d.address(&world.bottom) + 8, 1, u64::MAX, 0] {
        world.top.buffer.bytes_mut()[REFERENCE..REFERENCE + 8].copy_from_slice(&wrong.to_le_bytes());
        assert_eq!(tracer.trace(&d, own), [MISS; 16], "{wrong:#x}");
    }
    // A build with such instances; and what is traced need not be a top-level structure.
    let list = d.buffer_of(&instance(own));
    let cycle = d.built(Place::Queue, TOP, &instances(on_queue(&d, &list)), count(1));
    for address in [d.address(&cycle), d.address(&world.bottom), own + 256, 0, 8, u64::MAX] {
        assert_eq!(tracer.trace(&d, address), [MISS; 16], "{address:#x}");
    }
    d.free(cycle);
    d.c.free(list);
    world.free(&d);
    tracer.free(&d);
}

#[test]
fn rays_pass_structures_without_memory() {
    let d = Device::new();
    let tracer = Tracer::new(&d);
    let World { input, list, bottom, top } = World::new(&d);
    let address = d.address(&top);
    assert_eq!(tracer.trace(&d, address), all_hits());
    let free = |structure: &Structure| {
        // SAFETY: the memory is freed before the structure, which the driver has to survive.
        unsafe {
            d.c.device.destroy_buffer(structure.buffer.buffer, None);
            d.c.device.free_memory(structure.buffer.memory, None);
        }
    };
    free(&bottom);
    assert_eq!(tracer.trace(&d, address), [MISS; 16], "the instance's structure has no memory");
    free(&top);
    assert_eq!(tracer.trace(&d, address), [MISS; 16], "the top-level structure has no memory");
    for structure in [bottom, top] {
        // SAFETY: nothing uses the structure any more.
        unsafe { d.f.destroy_acceleration_structure(structure.structure, None) };
    }
    [input, list].into_iter().for_each(|buffer| d.c.free(buffer));
    tracer.free(&d);
}

/// Changes a word of bytes: to a number that is near to it, or to any.
fn damage(rng: &mut Rng, bytes: &mut [u8]) {
    let at = rng.below(bytes.len() / 4) * 4;
    let old = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let new = match rng.below(6) {
        0 => old ^ 1 << rng.below(32),
        1 => old.wrapping_add(1),
        2 => old.wrapping_sub(1),
        3 => rng.pick(&[0, !0, 1 << 31, 1 << 30, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f7f_ffff]),
        _ => rng.next() as u32,
    };
    bytes[at..at + 4].copy_from_slice(&new.to_le_bytes());
}

#[test]
fn rays_through_overwritten_structures_end() {
    let d = Device::new();
    let tracer = Tracer::new(&d);
    // Enough triangles for inner nodes of two levels.
    let input = d.buffer_of(&vertices(200, 0.0));
    let mut bottom = d.built(Place::Queue, BOTTOM, &triangles(on_queue(&d, &input), 200), count(200));
    let list = d.buffer_of(&vec![instance(d.address(&bottom)); 20].concat());
    let mut top = d.built(Place::Queue, TOP, &instances(on_queue(&d, &list)), count(20));
    let (whole_bottom, whole_top, address) = (bottom.bytes().to_vec(), top.bytes().to_vec(), d.address(&top));
    let rounds = std::env::var("GRUS_API_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    for seed in 1..=rounds {
        let mut rng = Rng::new(seed);
        for _ in 0..1 + rng.below(8) {
            match rng.below(2) {
                0 => damage(&mut rng, bottom.buffer.bytes_mut()),
                _ => damage(&mut rng, top.buffer.bytes_mut()),
            }
        }
        let began = Instant::now();
        tracer.trace(&d, address);
        assert!(began.elapsed() < LONGEST, "seed {seed}");
        // Copies and updates read the same bytes.
        if seed % 8 == 0 {
            d.property(Place::Queue, &top, vk::QueryType::ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR);
            let geometry = triangles(on_queue(&d, &input), 200);
            d.build(Place::Queue, BOTTOM, &geometry, count(200), Some(&bottom), &bottom);
            d.build(Place::Queue, TOP, &instances(on_queue(&d, &list)), count(20), Some(&top), &top);
            tracer.trace(&d, address);
        }
        bottom.buffer.bytes_mut().copy_from_slice(&whole_bottom);
        top.buffer.bytes_mut().copy_from_slice(&whole_top);
    }
    assert_eq!(tracer.trace(&d, address)[0], [1, 0, 5, 1.0f32.to_bits()], "intact bytes are found again");
    d.free(top);
    d.free(bottom);
    [input, list].into_iter().for_each(|buffer| d.c.free(buffer));
    tracer.free(&d);
}

/// The words of a structure that another thread changes.
struct Words(*const AtomicU32, usize);
// SAFETY: the words are atomic, and the memory outlives the thread.
unsafe impl Send for Words {}

impl Words {
    fn of(structure: &Structure) -> Words {
        Words(structure.buffer.pointer.cast(), structure.buffer.size as usize / 4)
    }

    /// Changes and restores words until the flag is set.
    fn disturb(self, stop: &AtomicBool) {
        // SAFETY: the memory has these words and outlives the thread.
        let words = unsafe { std::slice::from_raw_parts(self.0, self.1) };
        let mut rng = Rng::new(7);
        while !stop.load(Ordering::Relaxed) {
            let word = &words[rng.below(words.len())];
            let old = word.load(Ordering::Relaxed);
            word.store(if rng.below(2) == 0 { old ^ 1 << rng.below(32) } else { rng.next() as u32 }, Ordering::Relaxed);
            word.store(old, Ordering::Relaxed);
        }
    }
}

#[test]
fn structures_change_while_they_are_used() {
    let d = Device::new();
    let tracer = Tracer::new(&d);
    let world = World::new(&d);
    let (address, geometry) = (d.address(&world.top), triangles(on_queue(&d, &world.input), 8));
    let data = d.buffer(1 << 16);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for structure in [&world.bottom, &world.top] {
            let words = Words::of(structure);
            let stop = &stop;
            scope.spawn(move || words.disturb(stop));
        }
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(500) {
            tracer.trace(&d, address);
            d.build(Place::Queue, BOTTOM, &geometry, count(8), Some(&world.bottom), &world.bottom);
            d.serialize(Place::Queue, &world.top, &data);
            d.build(Place::Queue, BOTTOM, &geometry, count(8), None, &world.bottom);
            d.build(Place::Queue, TOP, &instances(on_queue(&d, &world.list)), count(1), None, &world.top);
        }
        stop.store(true, Ordering::Relaxed);
    });
    // A build does not depend on what was there.
    d.build(Place::Queue, BOTTOM, &geometry, count(8), None, &world.bottom);
    d.build(Place::Queue, TOP, &instances(on_queue(&d, &world.list)), count(1), None, &world.top);
    assert_eq!(tracer.trace(&d, address), all_hits());
    d.c.free(data);
    world.free(&d);
    tracer.free(&d);
}

#[test]
fn indirect_builds_have_any_words() {
    let d = Device::new();
    let messenger = Messenger::new(&d.c);
    let input = d.buffer_of(&vertices(64, 0.0));
    let geometry = triangles(on_queue(&d, &input), 64);
    let structure = d.structure(BOTTOM, d.sizes(BOTTOM, &geometry, 64).acceleration_structure_size);
    let build = |address: u64, stride: u32, max: u32, geometry: &Geometry| {
        let info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
            .ty(BOTTOM)
            .geometries(std::slice::from_ref(geometry))
            .dst_acceleration_structure(structure.structure);
        // SAFETY: the addresses and words are those of the test, and there is no scratch memory.
        let record = |b| unsafe {
            d.f.cmd_build_acceleration_structures_indirect(b, &[info], &[address], &[stride], &[&[max]]);
        };
        d.c.run(record).expect("the device is not lost");
    };
    for address in [0, 1, 0x1000, u64::MAX - 3] {
        build(address, 16, 64, &geometry);
    }
    assert_eq!(messenger.take().len(), 4, "there are no ranges");
    let mut rng = Rng::new(1);
    for _ in 0..200 {
        let words: [u32; 4] = std::array::from_fn(|_| match rng.below(4) {
            0 => rng.next() as u32,
            1 => rng.pick(&[0, 1, 63, 64, 65, 1 << 24, 1 << 29, 1 << 31, !0]),
            _ => rng.below(100) as u32,
        });
        let ranges = d.buffer_of(&words.map(u32::to_le_bytes).concat());
        let strides = [0, 4, 16, !0];
        let mut any = geometry;
        any.geometry.triangles.vertex_stride = rng.pick(&[0, 4, 12, 1 << 20, u64::from(u32::MAX)]);
        any.geometry.triangles.max_vertex = rng.pick(&[0, 5, 191, 1 << 20, u32::MAX]);
        build(d.buffer_address(&ranges), rng.pick(&strides), rng.pick(&[0, 1, 64]), &any);
        d.c.free(ranges);
    }
    messenger.take();
    build(0, 0, 64, &geometry);
    assert_eq!(messenger.take().len(), 1, "the device still works");
    drop(messenger);
    d.free(structure);
    d.c.free(input);
}

#[test]
fn buffers_may_be_destroyed_while_the_queue_runs() {
    let d = Device::new();
    let c = &d.c;
    for round in 0..20 {
        let world = World::new(&d);
        let geometry = triangles(on_queue(&d, &world.input), 8);
        let info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
            .ty(BOTTOM)
            .geometries(std::slice::from_ref(&geometry))
            .dst_acceleration_structure(world.bottom.structure);
        let commands = [c.record(|b| {
            for _ in 0..200 {
                // SAFETY: valid usage, apart from the missing scratch memory.
                unsafe { d.f.cmd_build_acceleration_structures(b, &[info], &[&[count(8)]]) };
            }
        })];
        let submit = vk::SubmitInfo::default().command_buffers(&commands);
        // SAFETY: the objects are destroyed too early, which the driver has to survive.
        unsafe {
            c.device.queue_submit(c.queue, &[submit], vk::Fence::null()).expect("submitted");
            std::thread::sleep(Duration::from_micros(10 * round));
            d.f.destroy_acceleration_structure(world.bottom.structure, None);
            c.device.destroy_buffer(world.bottom.buffer.buffer, None);
            c.device.free_memory(world.bottom.buffer.memory, None);
            c.device.destroy_buffer(world.input.buffer, None);
            c.device.free_memory(world.input.memory, None);
            c.device.device_wait_idle().expect("the device is not lost");
            c.device.free_command_buffers(c.pool, &commands);
        }
        d.free(world.top);
        c.free(world.list);
    }
}

#[test]
fn serialized_data_has_any_bytes() {
    let d = Device::new();
    let tracer = Tracer::new(&d);
    let world = World::new(&d);
    let messenger = Messenger::new(&d.c);
    for (kind, structure) in [(BOTTOM, &world.bottom), (TOP, &world.top)] {
        let size = d.property(Place::Queue, structure, vk::QueryType::ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR);
        let mut data = d.buffer(size);
        d.serialize(Place::Queue, structure, &data);
        let whole = data.bytes().to_vec();
        let target = d.structure(kind, structure.buffer.size);
        let (mut loaded, mut refused) = (0, 0);
        for seed in 1..=300 {
            let mut rng = Rng::new(seed);
            (0..1 + rng.below(3)).for_each(|_| damage(&mut rng, data.bytes_mut()));
            for place in PLACES {
                match d.deserialize(place, &data, &target) {
                    Ok(()) => loaded += 1,
                    Err(error) => {
                        assert_eq!(error, vk::Result::ERROR_UNKNOWN, "seed {seed}, {place:?}");
                        refused += 1;
                    }
                }
                tracer.trace(&d, d.address(&target));
            }
            data.bytes_mut().copy_from_slice(&whole);
        }
        assert!(loaded > 0 && refused > 0, "{loaded} {refused}");
        d.deserialize(Place::Queue, &data, &target).expect("loaded");
        if kind == TOP {
            assert_eq!(tracer.trace(&d, d.address(&target)), all_hits());
        }
        d.free(target);
        d.c.free(data);
    }
    drop(messenger);
    world.free(&d);
    tracer.free(&d);
}

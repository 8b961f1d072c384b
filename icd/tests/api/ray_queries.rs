//! Tests of ray queries (VK_KHR_ray_query) with descriptors of acceleration structures: what is
//! read from candidates and from committed intersections, queries that have ended or were never
//! initialized, arrays of queries and of structures.

use crate::acceleration_structures::{
    BOTTOM, Device, Geometry, Place, Structure, TOP, address_at, count, instance, instances, triangles, vertices,
};
use crate::common::Buffer;
use crate::pipeline::{Set, compute, run};
use ash::vk;

const QUEUE: Place = Place::Queue;
const KIND: vk::DescriptorType = vk::DescriptorType::ACCELERATION_STRUCTURE_KHR;
const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;

/// Number of triangles, which ray `i` hits at `z = i / 4`.
const TRIANGLES: u32 = 8;

/// Structures, and the buffers that they were built from.
struct World {
    inputs: Vec<Buffer>,
    structures: Vec<Structure>,
}

impl World {
    fn new() -> World {
        World { inputs: Vec::new(), structures: Vec::new() }
    }

    /// Builds a structure of data, and returns its number.
    fn build(
        &mut self,
        d: &Device,
        kind: vk::AccelerationStructureTypeKHR,
        data: &[u8],
        (primitives, geometry): (u32, impl Fn(vk::DeviceOrHostAddressConstKHR) -> Geometry),
    ) -> usize {
        let input = d.buffer_of(data);
        self.structures.push(d.built(QUEUE, kind, &geometry(address_at(QUEUE, d, &input)), count(primitives)));
        self.inputs.push(input);
        self.structures.len() - 1
    }

    fn build_triangles(&mut self, d: &Device) -> u64 {
        let data = vertices(TRIANGLES, 0.0);
        let number = self.build(d, BOTTOM, &data, (TRIANGLES, |address| triangles(address, TRIANGLES)));
        d.address(&self.structures[number])
    }

    fn build_top(&mut self, d: &Device, list: &[Vec<u8>]) -> vk::AccelerationStructureKHR {
        let number = self.build(d, TOP, &list.concat(), (list.len() as u32, instances));
        self.structures[number].structure
    }

    fn free(self, d: &Device) {
        self.structures.into_iter().for_each(|structure| d.free(structure));
        self.inputs.into_iter().for_each(|input| d.c.free(input));
    }
}

/// Returns a geometry of boxes.
fn boxes(data: vk::DeviceOrHostAddressConstKHR) -> Geometry {
    let data = vk::AccelerationStructureGeometryAabbsDataKHR::default().data(data).stride(24);
    Geometry::default()
        .geometry_type(vk::GeometryTypeKHR::AABBS)
        .geometry(vk::AccelerationStructureGeometryDataKHR { aabbs: data })
}

/// Returns an instance moved by `z`, with a custom index and the shader binding table offset 3.
fn moved(reference: u64, z: f32, custom_index: u32) -> Vec<u8> {
    let mut bytes = instance(reference);
    bytes[44..48].copy_from_slice(&z.to_le_bytes());
    bytes[48..52].copy_from_slice(&(0xff00_0000 | custom_index).to_le_bytes());
    bytes[52..56].copy_from_slice(&3u32.to_le_bytes());
    bytes
}

/// Runs a shader with a buffer of words in binding 0 and structures in binding 1, and returns the
/// words.
pub fn dispatch(d: &Device, shader: &[u32], words: u64, structures: &[vk::AccelerationStructureKHR]) -> Vec<u32> {
    let set = Set::new(&d.c, &[(STORAGE, 1), (KIND, structures.len() as u32)]);
    let out = d.c.buffer(4 * words);
    set.buffers(&d.c, 0, STORAGE, &[(out.buffer, 0, vk::WHOLE_SIZE)]);
    let mut list = vk::WriteDescriptorSetAccelerationStructureKHR::default().acceleration_structures(structures);
    let mut write =
        vk::WriteDescriptorSet::default().dst_set(set.set).dst_binding(1).descriptor_type(KIND).push_next(&mut list);
    write.descriptor_count = structures.len() as u32;
    // SAFETY: valid usage.
    unsafe { d.c.device.update_descriptor_sets(&[write], &[]) };
    let pipeline = compute(&d.c, vk::PipelineCache::null(), set.layout, shader, &[]);
    run(&d.c, &set, pipeline, &[]).expect("run");
    let result = out.words();
    d.c.free(out);
    set.destroy(&d.c);
    result
}

/// A word that a shader is expected to write.
#[derive(Clone, Copy, Debug)]
enum Word {
    Number(u32),
    /// A float, almost.
    Float(f32),
    Any,
}

impl Word {
    fn is(self, bits: u32) -> bool {
        match self {
            Word::Number(number) => number == bits,
            Word::Float(value) => (f32::from_bits(bits) - value).abs() <= 1e-5 * value.abs().max(1.0),
            Word::Any => true,
        }
    }
}

#[test]
fn getters_of_candidates_and_committed_intersections() {
    let d = Device::new();
    let mut world = World::new();
    let bottom = world.build_triangles(&d);
    let planes: Vec<u8> = [0.0f32, 0.0, 20.0, 16.0, 1.0, 21.0].into_iter().flat_map(f32::to_le_bytes).collect();
    let number = world.build(&d, BOTTOM, &planes, (1, boxes));
    let box_reference = d.address(&world.structures[number]);
    let top = world.build_top(&d, &[instance(bottom), moved(bottom, 10.0, 7), moved(box_reference, 0.0, 9)]);
    let got = dispatch(&d, &shader!("ray_getters.comp"), 1600, &[top]);
    for (i, got) in (0u32..).zip(got.chunks(100)) {
        use Word::{Any, Float, Number};
        let x = i as f32 + 0.25;
        let (origin, direction) = ([x, 0.25, -1.0], [0.0, 0.0, 2.0]);
        let mut want = vec![Number(0), Float(100.0)];
        if i < TRIANGLES {
            let t = (0.25 * i as f32 + 11.0) / 2.0;
            want.extend([Number(1), Number(3), Number(0), Number(i), Float(t), Float(0.25), Float(0.25), Number(0)]);
            // The box lies behind the committed intersection, so it need not be a candidate.
            // The first instance's triangle of ray 0 is at the interval's beginning, which does not
            // belong to it.
            let candidates = if i == 0 { 1 } else { 2 };
            want.extend([Number(candidates), Any, Number(1), Number(7), Number(i), Float(t)]);
            want.extend([x, 0.25, -11.0].map(Float));
            want.extend(direction.map(Float));
            for z in [10.0, -10.0] {
                want.extend([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, z].map(Float));
            }
        } else {
            want.extend([Number(0), Number(1), Number(0)]);
        }
        want.extend([Float(0.5), Number(2)]);
        want.extend(origin.into_iter().chain(direction).map(Float));
        want.push(Number(0));
        for (at, (want, &bits)) in want.iter().zip(got).enumerate() {
            assert!(want.is(bits), "ray {i}, word {at}: {bits:#x} ({}), not {want:?}", f32::from_bits(bits));
        }
    }
    world.free(&d);
}

#[test]
fn arrays_of_queries_and_structures() {
    let d = Device::new();
    let mut world = World::new();
    let bottom = world.build_triangles(&d);
    let [first, second] = [5, 6].map(|custom_index| world.build_top(&d, &[moved(bottom, 0.0, custom_index)]));
    // Its only instance refers to nothing.
    let empty = world.build_top(&d, &[moved(0, 0.0, 8)]);
    let got = dispatch(&d, &shader!("ray_query_arrays.comp"), 4 * 48, &[first, empty, second, first]);
    for (i, got) in (0u32..).zip(got.chunks(4)) {
        let initialized = (i + i % 3) % 2 == 1;
        let hit = [1.0 + 0.25 * (i / 8) as f32, 0.0][usize::from(i % 4 == 1)].to_bits();
        let want = match (initialized, i % 4) {
            (false, _) => [0; 4],
            (true, 1) => [0, 0, 0, 100f32.to_bits()],
            (true, scene) => [0, 1, if scene == 2 { 6 } else { 5 }, hit],
        };
        assert_eq!(got, want, "invocation {i}");
    }
    world.free(&d);
}

/// Runs the other tests again in processes of their own, because the tier is read from the
/// environment once per process.
#[test]
fn the_same_in_every_tier() {
    const CHILD: &str = "GRUS_TEST_RAY_QUERIES";
    if std::env::var_os(CHILD).is_some() {
        return;
    }
    for tier in ["quick", "wide", "full"] {
        let mut command = std::process::Command::new(std::env::current_exe().expect("this binary"));
        let output = command.arg("ray_queries::").env(CHILD, "1").env("GRUS_TIER", tier).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("3 passed"), "{tier}: {said}");
    }
}

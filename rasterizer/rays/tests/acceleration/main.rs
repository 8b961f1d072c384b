//! Tests: builds, traversal, copies, and bytes that are not those of a structure.

#![forbid(unsafe_code)]

mod builds;
mod copies;
mod flags;
mod micromaps;
mod motion;
mod robustness;
mod spheres;
mod traversal;

use base::format::Format;
use base::mem::DeviceMemory;
use base::random::Rng;
use rays::*;
use std::sync::atomic::AtomicU32;
use test_support::guard::{Guarded, Side};

/// Three vertices.
type Triangle = [[f32; 3]; 3];

const IDENTITY: [f32; 12] = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];

/// Structures that are found by their addresses.
#[derive(Default)]
struct Live(Vec<DeviceMemory>);

impl LiveStructures for Live {
    fn find(&self, reference: u64) -> Option<LiveStructure> {
        let memory = self.0.iter().find(|memory| memory.address() == reference)?;
        Some(LiveStructure { address: reference, memory: *memory })
    }
}

fn input<'a>(geometries: &'a [Geometry<'a>], quality: Quality, structures: &'a Live) -> BuildInput<'a> {
    BuildInput { contents: geometries[0].contents(), geometries, quality, flags: 0, structures }
}

/// Builds a structure in memory of exactly the size that is required.
fn build(input: &BuildInput, threads: HelperThreads, level: HostLevel) -> (Guarded, Header) {
    let size = build_sizes(input.contents, input.primitives()).structure;
    let size = size + u64::from(input.micromaps()) * MICROMAP_ADDRESS_BYTES;
    let memory = Guarded::new(size as usize, Side::Behind);
    let workers = Workers { threads, level, ..Workers::default() };
    let header = Builder::default().build(memory.memory(), input, &workers).expect("a structure");
    assert!(header.size <= size);
    (memory, header)
}

fn bytes(memory: &Guarded, size: u64) -> Vec<u8> {
    let mut bytes = vec![0; size as usize];
    assert!(memory.memory().read(0, &mut bytes));
    bytes
}

fn triangles(vertices: &Guarded, count: usize) -> Geometry<'static> {
    let data = Triangles {
        vertices: vertices.memory(),
        stride: 12,
        format: Format::from_vk(106).expect("R32G32B32_SFLOAT"),
        indices: vertices.memory(),
        index_type: IndexType::None,
        transform: None,
        micromap: None,
        motion: None,
    };
    Geometry { data: GeometryData::Triangles(data), primitives: count as u32, opaque: true }
}

/// Builds a structure of triangles.
fn bottom(list: &[Triangle], quality: Quality) -> (Guarded, Header) {
    let vertices = Guarded::of(list, Side::Behind);
    build(&input(&[triangles(&vertices, list.len())], quality, &Live::default()), None, HostLevel::detect())
}

/// Builds a structure of boxes.
fn bottom_of_boxes(list: &[[f32; 6]], quality: Quality) -> (Guarded, Header) {
    let memory = Guarded::of(list, Side::Behind);
    let data = GeometryData::Aabbs(Aabbs { boxes: memory.memory(), stride: 24 });
    let geometry = Geometry { data, primitives: list.len() as u32, opaque: true };
    build(&input(&[geometry], quality, &Live::default()), None, HostLevel::detect())
}

/// An instance of the tests.
#[derive(Clone, Copy)]
struct Instance {
    transform: [f32; 12],
    custom_index: u32,
    mask: u32,
    sbt_offset: u32,
    flags: u32,
    reference: u64,
}

impl Instance {
    fn new(of: &Guarded) -> Instance {
        let reference = of.memory().address();
        Instance { transform: IDENTITY, custom_index: 0, mask: 0xff, sbt_offset: 0, flags: 0, reference }
    }

    fn words(&self) -> [u32; 16] {
        let mut words = [0; 16];
        words[..12].copy_from_slice(&self.transform.map(f32::to_bits));
        words[12] = self.custom_index | self.mask << 24;
        words[13] = self.sbt_offset | self.flags << 24;
        (words[14], words[15]) = (self.reference as u32, (self.reference >> 32) as u32);
        words
    }
}

/// A top-level structure and those to which it refers.
struct World {
    top: Guarded,
    header: Header,
    live: Live,
    abort: AtomicU32,
}

impl World {
    fn new(bottoms: &[&Guarded], instances: &[Instance], quality: Quality) -> World {
        let live = Live(bottoms.iter().map(|bottom| bottom.memory()).collect());
        let words: Vec<[u32; 16]> = instances.iter().map(Instance::words).collect();
        let memory = Guarded::of(&words, Side::Behind);
        let data = GeometryData::Instances(Instances::Array(memory.memory()));
        let geometry = Geometry { data, primitives: instances.len() as u32, opaque: false };
        let (top, header) = build(&input(&[geometry], quality, &live), None, HostLevel::detect());
        World { top, header, live, abort: AtomicU32::new(0) }
    }

    /// Makes a world of one instance.
    fn of(bottom: &Guarded) -> World {
        World::new(&[bottom], &[Instance::new(bottom)], Quality::FastTrace)
    }

    fn scene(&self, level: HostLevel) -> Scene<'_> {
        Scene { structures: &self.live, abort: &self.abort, level }
    }

    fn begin(&self, flags: u32, mask: u32, ray: &Ray) -> Traversal {
        let mut state = Traversal::ENDED;
        state.begin(&TopLevel::open(self.top.memory()), flags, mask, ray);
        state
    }

    /// Returns the closest hit; candidates are confirmed.
    fn closest(&self, level: HostLevel, flags: u32, ray: &Ray) -> Hit {
        let mut state = self.begin(flags, 0xff, ray);
        while state.proceed(&self.scene(level)) {
            state.confirm_intersection();
        }
        *state.committed()
    }

    /// Returns all candidates in their order.
    fn candidates(&self, flags: u32, ray: &Ray) -> Vec<Hit> {
        let mut state = self.begin(flags | ray_flags::NO_OPAQUE, 0xff, ray);
        let mut all = Vec::new();
        while state.proceed(&self.scene(HostLevel::detect())) {
            all.push(*state.candidate());
        }
        assert_eq!(state.committed().kind, HitKind::None);
        all
    }
}

fn random_point(rng: &mut Rng, size: f32) -> [f32; 3] {
    [rng.unit() * size, rng.unit() * size, rng.unit() * size]
}

/// Makes triangles of several sizes in a cube.
fn soup(rng: &mut Rng, count: usize, size: f32) -> Vec<Triangle> {
    let mut list = Vec::new();
    for _ in 0..count {
        let corner = random_point(rng, size);
        let extent = size * if rng.below(10) == 0 { 0.5 } else { 0.05 };
        list.push([0, 1, 2].map(|_| {
            let by = random_point(rng, extent);
            [0, 1, 2].map(|axis| corner[axis] + by[axis])
        }));
    }
    list
}

/// Makes a ray from a random point of a larger cube to one inside.
fn random_ray(rng: &mut Rng, size: f32) -> Ray {
    let (origin, target) = (random_point(rng, 2.0 * size), random_point(rng, size));
    Ray { origin, t_min: 0.0, direction: [0, 1, 2].map(|axis| target[axis] - origin[axis]), t_max: 1e30 }
}

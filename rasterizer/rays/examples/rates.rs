//! Prints rates of builds and rays for a generated scene of 262,144 triangles on one thread, and of
//! builds on two.
//!
//! `cargo run --release -p grus-rays --example rates` (`GRUS_CPU=v3` and `v2` select lower
//! processor levels). With the argument `builds` no rays are traced; an argument such as
//! `"primary 8"` selects one measurement of rays.

use base::format::Format;
use base::mem::{DeviceMemory, MemoryRange};
use base::random::Rng;
use rays::*;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

/// Number of repetitions of each measurement, of which the fastest counts.
const REPETITIONS: usize = 7;
/// Width and height of the image whose rays are traced.
const SIZE: usize = 512;

/// Memory aligned as buffers of structures are.
struct Memory(Vec<Line>);

#[derive(Clone, Copy)]
#[repr(align(256))]
struct Line(#[expect(dead_code, reason = "it is only accessed as device memory")] [u8; 256]);

impl Memory {
    fn new(bytes: usize) -> Memory {
        Memory(vec![Line([0; 256]); bytes.div_ceil(256)])
    }

    fn of_words(words: &[u32]) -> Memory {
        let memory = Memory::new(words.len() * 4);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.device().write(0, &bytes);
        memory
    }

    fn device(&self) -> DeviceMemory {
        let range = MemoryRange { address: self.0.as_ptr() as *mut u8, size: self.0.len() as u64 * 256 };
        // SAFETY: the vector is not resized, and lives longer than the uses in this program.
        unsafe { DeviceMemory::new(range) }
    }
}

/// Structures that are found by their addresses.
struct Live(Vec<DeviceMemory>);

impl LiveStructures for Live {
    fn find(&self, reference: u64) -> Option<LiveStructure> {
        let memory = self.0.iter().find(|memory| memory.address() == reference)?;
        Some(LiveStructure { address: reference, memory: *memory })
    }
}

/// Appends a grid of triangles whose points are given by a function of two numbers in 0..=1.
fn grid(triangles: &mut Vec<[[f32; 3]; 3]>, size: usize, point: impl Fn(f32, f32) -> [f32; 3]) {
    let at = |x: usize, y: usize| point(x as f32 / size as f32, y as f32 / size as f32);
    for y in 0..size {
        for x in 0..size {
            let corners = [at(x, y), at(x + 1, y), at(x, y + 1), at(x + 1, y + 1)];
            triangles.push([corners[0], corners[1], corners[2]]);
            triangles.push([corners[2], corners[1], corners[3]]);
        }
    }
}

/// Makes a hall with uneven walls that contains spheres of several sizes.
fn scene() -> Vec<[[f32; 3]; 3]> {
    let mut triangles = Vec::new();
    for side in 0..6 {
        grid(&mut triangles, 104, |u, v| {
            let height = 0.2 * (u * 40.0).sin() * (v * 30.0).cos();
            let (u, v) = (u * 20.0 - 10.0, v * 20.0 - 10.0);
            let w = if side % 2 == 0 { height - 10.0 } else { height + 10.0 };
            match side / 2 {
                0 => [u, v, w],
                1 => [w, u, v],
                _ => [v, w, u],
            }
        });
    }
    let mut rng = Rng(7);
    while triangles.len() + 2048 <= 1 << 18 {
        let centre = [0, 1, 2].map(|_| rng.unit() * 8.0);
        let radius = 0.2 + (rng.unit() + 1.0) * 0.6;
        grid(&mut triangles, 32, |u, v| {
            let (longitude, latitude) = (u * core::f32::consts::TAU, v * core::f32::consts::PI);
            let (x, z) = (longitude.cos() * latitude.sin(), longitude.sin() * latitude.sin());
            [centre[0] + radius * x, centre[1] + radius * latitude.cos(), centre[2] + radius * z]
        });
    }
    while triangles.len() < 1 << 18 {
        let corner = [0, 1, 2].map(|_| rng.unit() * 8.0);
        triangles.push([0, 1, 2].map(|_| [0, 1, 2].map(|axis| corner[axis] + rng.unit() * 0.3)));
    }
    triangles
}

/// Returns the measurement of rays that an argument selects.
fn selected() -> Option<String> {
    std::env::args().nth(1).filter(|argument| argument != "builds")
}

/// Returns the time of a run.
fn timed(mut run: impl FnMut()) -> Duration {
    let began = Instant::now();
    run();
    began.elapsed()
}

/// Returns the shortest time of several runs, which other programs have disturbed least.
fn fastest(mut run: impl FnMut()) -> Duration {
    (0..REPETITIONS).map(|_| timed(&mut run)).min().unwrap_or_default()
}

/// Prints the time of builds of a few of the triangles.
fn small_builds(input: &BuildInput, bottom: &Memory, data: Triangles) {
    const BUILDS: usize = 100;
    let (mut builder, workers) = (Builder::default(), Workers::default());
    for count in [1, 10, 100, 1000] {
        let geometries = [Geometry { data: GeometryData::Triangles(data), primitives: count, opaque: true }];
        for quality in [Quality::FastBuild, Quality::FastTrace] {
            let input = BuildInput { geometries: &geometries, quality, ..*input };
            let time = fastest(|| {
                (0..BUILDS).for_each(|_| _ = builder.build(bottom.device(), &input, &workers).expect("a structure"));
            });
            println!("{count:5} triangles, {quality:?}: {:.2} us", time.as_secs_f64() * 1e6 / BUILDS as f64);
        }
    }
}

/// Returns a number that depends on the bytes of a structure.
fn hash(memory: DeviceMemory, size: u64) -> u64 {
    let mut bytes = vec![0; size as usize];
    assert!(memory.read(0, &mut bytes));
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn report(name: &str, count: usize, time: Duration, unit: &str) {
    println!("{name:24} {:8.2} {unit} ({:.2} ms)", count as f64 / time.as_secs_f64() / 1e6, time.as_secs_f64() * 1e3);
}

/// Traces rays, `together` at a time, and replaces `hits` by the closest hits (or any hits, for
/// shadows). The vector keeps its memory, because new pages would take a part of the time.
fn trace(scene: &Scene, top: DeviceMemory, flags: u32, (rays, hits): (&[Ray], &mut Vec<Hit>), together: usize) {
    let top = TopLevel::open(top);
    let mut states = [Traversal::ENDED; 16];
    hits.clear();
    for rays in rays.chunks(together) {
        for (state, ray) in states.iter_mut().zip(rays) {
            state.begin(&top, flags, 0xff, ray);
        }
        let mut running = states.each_mut().map(Some);
        Traversal::proceed_all(&mut running[..rays.len()], scene);
        hits.extend(states[..rays.len()].iter().map(|state| *state.committed()));
    }
}

fn normal(hit: &Hit) -> [f32; 3] {
    let [a, b, c] = hit.vertices;
    let (e, f) = ([0, 1, 2].map(|i| b[i] - a[i]), [0, 1, 2].map(|i| c[i] - a[i]));
    let n = [e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]];
    let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(1e-20);
    n.map(|value| value / length)
}

fn primary_rays() -> Vec<Ray> {
    let mut rays = Vec::new();
    // Blocks of 8 by 8 pixels, as tiles of an image are traced.
    for block in 0..SIZE * SIZE / 64 {
        for pixel in 0..64 {
            let x = block % (SIZE / 8) * 8 + pixel % 8;
            let y = block / (SIZE / 8) * 8 + pixel / 8;
            let [u, v] = [x, y].map(|i| i as f32 / SIZE as f32 * 2.0 - 1.0);
            rays.push(Ray { origin: [0.5, 0.3, -9.0], t_min: 0.0, direction: [u, v, 1.0], t_max: 1e30 });
        }
    }
    rays
}

/// Directions of rays that begin at hits of others.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    /// Rays to points of a lamp, which end there, given by its centre and half its size.
    Lamp([f32; 3], f32),
    /// Rays in random directions, whose distribution is that of the cosine.
    Diffuse,
}

fn secondary_rays(primary: &[Ray], hits: &[Hit], rng: &mut Rng, next: Next) -> Vec<Ray> {
    let mut rays = Vec::new();
    for (ray, hit) in primary.iter().zip(hits).filter(|(_, hit)| hit.kind == HitKind::Triangle) {
        let mut n = normal(hit);
        let facing: f32 = (0..3).map(|i| n[i] * ray.direction[i]).sum();
        if facing > 0.0 {
            n = n.map(|value| -value);
        }
        let origin = [0, 1, 2].map(|i| ray.origin[i] + ray.direction[i] * hit.t + n[i] * 1e-3);
        let direction = match next {
            Next::Lamp(centre, size) => {
                let point = [rng.unit(), 0.0, rng.unit()];
                [0, 1, 2].map(|i| centre[i] + size * point[i] - origin[i])
            }
            Next::Diffuse => {
                let mut random = [rng.unit(), rng.unit(), rng.unit()];
                while random.iter().map(|x| x * x).sum::<f32>() > 1.0 {
                    random = [rng.unit(), rng.unit(), rng.unit()];
                }
                let length = random.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
                [0, 1, 2].map(|i| n[i] + random[i] / length)
            }
        };
        rays.push(Ray { origin, t_min: 0.0, direction, t_max: if next == Next::Diffuse { 1e30 } else { 1.0 } });
    }
    rays
}

fn main() {
    let triangles = scene();
    let words: Vec<u32> = triangles.as_flattened().as_flattened().iter().map(|value| value.to_bits()).collect();
    let vertices = Memory::of_words(&words);
    let indices = Memory::of_words(&(0..triangles.len() as u32 * 3).collect::<Vec<_>>());
    let data = Triangles {
        vertices: vertices.device(),
        stride: 12,
        format: Format::from_vk(106).expect("a format"),
        indices: indices.device(),
        index_type: IndexType::Uint32,
        transform: None,
        micromap: None,
        motion: None,
    };
    let count = triangles.len();
    let geometry = Geometry { data: GeometryData::Triangles(data), primitives: count as u32, opaque: true };
    let (geometries, nothing) = ([geometry], Live(Vec::new()));
    let mut input = BuildInput {
        contents: Contents::Triangles,
        geometries: &geometries,
        quality: Quality::FastTrace,
        flags: 0,
        structures: &nothing,
    };
    let bottom = Memory::new(build_sizes(Contents::Triangles, count as u32).structure as usize);
    let (mut builder, workers) = (Builder::default(), Workers::default());
    let with_rays = std::env::args().all(|argument| argument != "builds");
    println!("{count} triangles, {:?}", HostLevel::detect());
    for (name, quality) in [("fast build", Quality::FastBuild), ("build", Quality::FastTrace)] {
        input.quality = quality;
        let mut header = None;
        let is_selected = selected().is_some();
        if is_selected && quality == Quality::FastBuild {
            continue;
        }
        let mut build = || header = builder.build(bottom.device(), &input, &workers).ok();
        let time = if is_selected { timed(&mut build) } else { fastest(build) };
        report(name, count, time, "Mtri/s");
        let header = header.expect("a structure");
        println!(
            "             {} nodes, {} leaves, depth {}, {} bytes of {}, hash {:016x}",
            header.nodes,
            header.leaves,
            header.depth,
            header.size,
            build_sizes(Contents::Triangles, count as u32).structure,
            hash(bottom.device(), header.size)
        );
        if with_rays {
            rates(&bottom);
        }
    }
    if selected().is_some() {
        return;
    }
    let time = fastest(|| _ = update(bottom.device(), bottom.device(), &input, &workers).expect("a structure"));
    report("refit", count, time, "Mtri/s");
    let other = Memory::new(bottom.0.len() * 256);
    let time = fastest(|| _ = copy_structure(other.device(), bottom.device()).expect("a structure"));
    report("compaction", count, time, "Mtri/s");
    small_builds(&input, &bottom, data);
    let pool = execution::work_sharing::WorkSharingPool::new(2);
    let workers = Workers { threads: Some(&pool), ..Workers::default() };
    for (name, quality) in [("fast build", Quality::FastBuild), ("build", Quality::FastTrace)] {
        input.quality = quality;
        let time = fastest(|| _ = builder.build(bottom.device(), &input, &workers).expect("a structure"));
        report(&format!("{name}, two threads"), count, time, "Mtri/s");
    }
    let time = fastest(|| _ = update(bottom.device(), bottom.device(), &input, &workers).expect("a structure"));
    report("refit, two threads", count, time, "Mtri/s");
}

fn rates(bottom: &Memory) {
    let live = Live(vec![bottom.device()]);
    let address = bottom.device().address();
    let mut instance = [0u32; 16];
    for i in 0..3 {
        instance[5 * i] = 1f32.to_bits();
    }
    (instance[12], instance[14], instance[15]) = (0xff << 24, address as u32, (address >> 32) as u32);
    let instances = Memory::of_words(&instance);
    let data = GeometryData::Instances(Instances::Array(instances.device()));
    let geometries = [Geometry { data, primitives: 1, opaque: false }];
    let input = BuildInput {
        contents: Contents::Instances,
        geometries: &geometries,
        quality: Quality::FastTrace,
        flags: 0,
        structures: &live,
    };
    let top = Memory::new(build_sizes(Contents::Instances, 1).structure as usize);
    Builder::default().build(top.device(), &input, &Workers::default()).expect("a structure");
    let abort = AtomicU32::new(0);
    let scene = Scene { structures: &live, abort: &abort, level: HostLevel::detect() };
    let measure = |name: &str, flags: u32, rays: &[Ray]| {
        let mut hits = Vec::new();
        for together in [1, 8, 16] {
            let title = format!("{name} {together}");
            if selected().is_some_and(|filter| filter != title) {
                continue;
            }
            let time = fastest(|| trace(&scene, top.device(), flags, (rays, &mut hits), together));
            report(&title, rays.len(), time, "Mrays/s");
        }
        if hits.is_empty() && name == "primary" {
            trace(&scene, top.device(), flags, (rays, &mut hits), 16);
        }
        hits
    };
    let rays = primary_rays();
    let hits = measure("primary", 0, &rays);
    let mut rng = Rng(3);
    for (name, size) in [("shadow", 0.0), ("soft shadow", 1.0)] {
        let shadow = secondary_rays(&rays, &hits, &mut rng, Next::Lamp([2.0, 7.0, -3.0], size));
        let found = measure(name, ray_flags::TERMINATE_ON_FIRST_HIT, &shadow);
        let shaded = found.iter().filter(|hit| hit.kind == HitKind::Triangle).count();
        println!("             {shaded} of {} rays hit", found.len());
    }
    let diffuse = secondary_rays(&rays, &hits, &mut rng, Next::Diffuse);
    let found = measure("diffuse", 0, &diffuse);
    let (sum, hit) = found.iter().fold((0.0, 0), |(sum, hit), found| match found.kind {
        HitKind::Triangle => (sum + f64::from(found.t), hit + 1),
        _ => (sum, hit),
    });
    if found.is_empty() {
        return;
    }
    println!("             {} of {} diffuse rays hit, at {:.4}", hit, diffuse.len(), sum / f64::from(hit));
}

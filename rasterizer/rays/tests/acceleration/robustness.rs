//! Bytes that are not those of a structure: traversal stays inside of them and ends.

use super::*;
use execution::work_sharing::WorkSharingPool;
use std::sync::atomic::Ordering;

/// Overwrites words of a structure behind its header, or in it.
fn damage(rng: &mut Rng, memory: &Guarded, size: u64, in_header: bool) {
    for _ in 0..1 + rng.below(200) {
        let end = if in_header { 128 } else { size as u32 };
        let offset = u64::from(rng.below(end / 4) * 4);
        let word = match rng.below(5) {
            0 => 0x8000_0000 | rng.below(64),
            1 => rng.below(64),
            2 => !0,
            3 => rng.unit().to_bits(),
            _ => rng.next(),
        };
        memory.memory().write(offset, &word.to_le_bytes());
    }
}

#[test]
fn traversal_of_arbitrary_bytes_ends_inside_of_them() {
    let mut rng = Rng(77);
    let list = soup(&mut rng, 60, 1.0);
    let boxes: Vec<[f32; 6]> = list.iter().map(|[a, b, _]| [a[0], a[1], a[2], b[0], b[1], b[2]]).collect();
    for round in 0..300 {
        let (memory, header) = match round % 3 {
            0 => bottom_of_boxes(&boxes, Quality::FastBuild),
            _ => bottom(&list, Quality::FastTrace),
        };
        // The memory ends with the structure, so that an access beyond it faults.
        let memory = Guarded::of(&bytes(&memory, header.size), Side::Behind);
        let instances = [Instance::new(&memory); 9];
        let world = World::new(&[&memory], &instances, Quality::FastTrace);
        let top = Guarded::of(&bytes(&world.top, world.header.size), Side::Behind);
        let world = World { top, ..world };
        damage(&mut rng, &memory, header.size, round % 7 == 0);
        if round % 2 == 0 {
            damage(&mut rng, &world.top, world.header.size, round % 5 == 0);
        }
        for _ in 0..10 {
            let ray = random_ray(&mut rng, 1.0);
            world.closest(HostLevel::detect(), 0, &ray);
            let mut packet = [world.begin(0, 0xff, &ray); 8];
            Traversal::proceed_all(&mut packet.each_mut().map(Some), &world.scene(HostLevel::detect()));
            let mut state = world.begin(ray_flags::NO_OPAQUE, 0xff, &ray);
            let mut calls = 0;
            while calls < 10_000 && state.proceed(&world.scene(HostLevel::detect())) {
                calls += 1;
                let candidate = *state.candidate();
                state.object_to_world(&candidate);
            }
        }
    }
}

#[test]
fn copies_and_updates_of_arbitrary_bytes_stay_inside() {
    let mut rng = Rng(78);
    let list = soup(&mut rng, 60, 1.0);
    let vertices = Guarded::of(&list, Side::Behind);
    let live = Live::default();
    let geometries = [triangles(&vertices, list.len())];
    let input = input(&geometries, Quality::FastTrace, &live);
    let version = Version::new([1; 16]);
    for round in 0..200 {
        let (memory, header) = bottom(&list, Quality::FastTrace);
        let memory = Guarded::of(&bytes(&memory, header.size), Side::Behind);
        damage(&mut rng, &memory, header.size, round % 2 == 0);
        let target = Guarded::new(header.size as usize + 64, Side::Behind);
        let _ = update(target.memory(), memory.memory(), &input, &Workers::default());
        let _ = copy_structure(target.memory(), memory.memory());
        let _ = serialize(target.memory(), memory.memory(), &version);
        let _ = deserialize(memory.memory(), target.memory(), &version, &live);
        serialized_sizes(memory.memory());
    }
}

/// A tree whose children refer to nodes again and again would take forever.
#[test]
fn trees_without_an_end_are_given_up() {
    let list = soup(&mut Rng(5), 4000, 1.0);
    let (memory, header) = bottom(&list, Quality::FastTrace);
    for node in 0..u64::from(header.nodes) {
        for slot in 0..8 {
            let offset = header.nodes_offset + node * 256;
            for axis in 0..3 {
                memory.memory().write(offset + axis * 32 + slot * 4, &(-9f32).to_le_bytes());
                memory.memory().write(offset + (axis + 3) * 32 + slot * 4, &9f32.to_le_bytes());
            }
            let child = 1 + (node * 8 + slot) % u64::from(header.nodes - 1);
            memory.memory().write(offset + 6 * 32 + slot * 4, &(child as u32).to_le_bytes());
        }
    }
    let ray = Ray { origin: [0.0; 3], t_min: 0.0, direction: [0.0, 0.0, 1.0], t_max: 10.0 };
    assert_eq!(World::of(&memory).closest(HostLevel::detect(), 0, &ray).kind, HitKind::None);
}

/// The stack has room for groups of children where there is none for each child.
#[test]
fn deep_trees_with_many_hits_are_traversed_completely() {
    // All triangles lie on the ray's way, so that every child of every node is hit.
    let list: Vec<Triangle> = (0..20_000)
        .map(|i| {
            let z = 1.0 + i as f32 * 0.01;
            [[-1.0, -1.0, z], [1.0, -1.0, z], [0.0, 2.0, z]]
        })
        .collect();
    for quality in [Quality::FastTrace, Quality::FastBuild] {
        let (memory, _) = bottom(&list, quality);
        let instances: Vec<Instance> = (0..40).map(|_| Instance::new(&memory)).collect();
        let ray = Ray { origin: [0.0; 3], t_min: 0.0, direction: [0.0, 0.0, 1.0], t_max: 1e30 };
        let hits = World::new(&[&memory], &instances, quality).candidates(0, &ray);
        assert_eq!(hits.len(), 40 * list.len());
    }
}

/// Sets the abort flag while instances are read.
struct Aborting<'a>(&'a AtomicU32);

impl LiveStructures for Aborting<'_> {
    fn find(&self, _: u64) -> Option<LiveStructure> {
        self.0.store(1, Ordering::Relaxed);
        None
    }
}

#[test]
fn builds_and_updates_end_when_the_flag_is_set_meanwhile() {
    let bottom = bottom(&soup(&mut Rng(5), 10, 1.0), Quality::FastTrace).0;
    let world = World::new(&[&bottom], &[Instance::new(&bottom); 10_000], Quality::FastTrace);
    let words = vec![Instance::new(&bottom).words(); 10_000];
    let memory = Guarded::of(&words, Side::Behind);
    let data = GeometryData::Instances(Instances::Array(memory.memory()));
    let geometries = [Geometry { data, primitives: 10_000, opaque: false }];
    let abort = AtomicU32::new(0);
    let aborting = Aborting(&abort);
    let pool = WorkSharingPool::new(2);
    for threads in [None, Some(&pool)] {
        let workers = Workers { threads, abort: &abort, ..Workers::default() };
        for quality in [Quality::FastTrace, Quality::FastBuild] {
            abort.store(0, Ordering::Relaxed);
            let input = BuildInput { structures: &aborting, ..input(&geometries, quality, &world.live) };
            let target = world.top.memory();
            assert_eq!(Builder::default().build(target, &input, &workers), Err(BuildError::Aborted));
            let memory = Guarded::new(build_sizes(Contents::Instances, 10_000).structure as usize, Side::Behind);
            let built = BuildInput { structures: &world.live, ..input };
            Builder::default().build(memory.memory(), &built, &Workers::default()).expect("a structure");
            abort.store(0, Ordering::Relaxed);
            assert_eq!(update(memory.memory(), memory.memory(), &input, &workers), Err(BuildError::Aborted));
        }
    }
}

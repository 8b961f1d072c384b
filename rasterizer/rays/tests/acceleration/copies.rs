//! Updates, compaction and serialization.

use super::*;

#[test]
fn updates_hit_what_rebuilds_hit() {
    let mut rng = Rng(6);
    let mut list = soup(&mut rng, 3000, 5.0);
    let vertices = Guarded::of(&list, Side::Behind);
    let live = Live::default();
    let geometries = [triangles(&vertices, list.len())];
    let first = input(&geometries, Quality::FastTrace, &live);
    let (source, header) = build(&first, None, HostLevel::detect());
    for triangle in &mut list {
        let by = random_point(&mut rng, 1.0);
        triangle.iter_mut().for_each(|vertex| (0..3).for_each(|axis| vertex[axis] += by[axis]));
    }
    let moved = Guarded::of(&list, Side::Behind);
    let geometries = [triangles(&moved, list.len())];
    let second = input(&geometries, Quality::FastTrace, &live);
    let (rebuilt, rebuilt_header) = build(&second, None, HostLevel::detect());
    let target = Guarded::new(header.size as usize, Side::Behind);
    let pool = execution::work_sharing::WorkSharingPool::new(4);
    let updated =
        update(target.memory(), source.memory(), &second, &Workers { threads: Some(&pool), ..Workers::default() })
            .expect("an update");
    assert_eq!(updated.bounds, rebuilt_header.bounds);
    // In place, and on one thread, the bytes are the same.
    for level in HostLevel::all() {
        let workers = Workers { level, ..Workers::default() };
        update(source.memory(), source.memory(), &second, &workers).expect("an update");
        assert!(bytes(&source, header.size) == bytes(&target, header.size), "{level:?}");
    }
    let worlds = [World::of(&target), World::of(&rebuilt)];
    for _ in 0..1000 {
        let ray = random_ray(&mut rng, 5.0);
        let [a, b] = worlds.each_ref().map(|world| world.closest(HostLevel::detect(), 0, &ray));
        assert_eq!(a, b);
    }
}

#[test]
fn updates_move_instances_and_boxes() {
    let mut rng = Rng(9);
    let (memory, _) = bottom(&soup(&mut rng, 100, 1.0), Quality::FastTrace);
    let mut instances = vec![Instance::new(&memory); 50];
    let place = |instances: &mut [Instance], rng: &mut Rng| {
        instances.iter_mut().for_each(|one| [3, 7, 11].iter().for_each(|&at| one.transform[at] = rng.unit() * 9.0));
    };
    place(&mut instances, &mut rng);
    let world = World::new(&[&memory], &instances, Quality::FastTrace);
    place(&mut instances, &mut rng);
    let rebuilt = World::new(&[&memory], &instances, Quality::FastTrace);
    let words: Vec<[u32; 16]> = instances.iter().map(Instance::words).collect();
    let words = Guarded::of(&words, Side::Behind);
    let data = GeometryData::Instances(Instances::Array(words.memory()));
    let geometries = [Geometry { data, primitives: 50, opaque: false }];
    update(
        world.top.memory(),
        world.top.memory(),
        &input(&geometries, Quality::FastTrace, &world.live),
        &Workers::default(),
    )
    .expect("an update");
    for _ in 0..500 {
        let ray = random_ray(&mut rng, 9.0);
        assert_eq!(world.closest(HostLevel::detect(), 0, &ray), rebuilt.closest(HostLevel::detect(), 0, &ray));
    }
    let boxes = [[0.0f32, 0.0, 0.0, 1.0, 1.0, 1.0]];
    let (structure, _) = bottom_of_boxes(&boxes, Quality::FastTrace);
    let moved = Guarded::of(&[[5.0f32, 0.0, 0.0, 6.0, 1.0, 1.0]], Side::Behind);
    let data = GeometryData::Aabbs(Aabbs { boxes: moved.memory(), stride: 24 });
    let geometries = [Geometry { data, primitives: 1, opaque: true }];
    let live = Live::default();
    update(structure.memory(), structure.memory(), &input(&geometries, Quality::FastTrace, &live), &Workers::default())
        .expect("an update");
    let ray = Ray { origin: [5.5, 0.5, -1.0], t_min: 0.0, direction: [0.0, 0.0, 1.0], t_max: 10.0 };
    assert_eq!(World::of(&structure).candidates(0, &ray).len(), 1);
}

#[test]
fn an_update_of_something_else_is_refused() {
    let list = soup(&mut Rng(1), 20, 1.0);
    let (memory, header) = bottom(&list, Quality::FastTrace);
    let vertices = Guarded::of(&list, Side::Behind);
    let live = Live::default();
    let geometries = [triangles(&vertices, 19)];
    let other = input(&geometries, Quality::FastTrace, &live);
    assert_eq!(update(memory.memory(), memory.memory(), &other, &Workers::default()), Err(BuildError::InvalidSource));
    let small = Guarded::new(header.size as usize - 64, Side::Behind);
    let geometries = [triangles(&vertices, 20)];
    let same = input(&geometries, Quality::FastTrace, &live);
    assert_eq!(update(small.memory(), memory.memory(), &same, &Workers::default()), Err(BuildError::TargetTooSmall));
}

#[test]
fn compaction_saves_memory() {
    let list = soup(&mut Rng(14), 5000, 3.0);
    let (memory, header) = bottom(&list, Quality::FastTrace);
    let compacted = compacted_size(memory.memory());
    let built = build_sizes(Contents::Triangles, 5000).structure;
    assert!(compacted == header.size && compacted * 10 < built * 7, "{compacted} of {built}");
    let copy = Guarded::new(compacted as usize, Side::Behind);
    assert_eq!(copy_structure(copy.memory(), memory.memory()), Ok(header));
    let [a, b] = [World::of(&copy), World::of(&memory)];
    let mut rng = Rng(15);
    for _ in 0..200 {
        let ray = random_ray(&mut rng, 3.0);
        assert_eq!(a.closest(HostLevel::detect(), 0, &ray), b.closest(HostLevel::detect(), 0, &ray));
    }
}

#[test]
fn serialized_structures_load_with_new_references() {
    let mut rng = Rng(41);
    let (bottom_memory, bottom_header) = bottom(&soup(&mut rng, 300, 1.0), Quality::FastTrace);
    let mut instances = vec![Instance::new(&bottom_memory); 5];
    instances[1].reference = 0;
    instances.iter_mut().for_each(|one| one.transform[3] = rng.unit() * 4.0);
    let world = World::new(&[&bottom_memory], &instances, Quality::FastTrace);
    let version = Version::new([7; 16]);
    let store = |structure: &Guarded| {
        let sizes = serialized_sizes(structure.memory());
        let data = Guarded::new(sizes.size as usize, Side::Behind);
        serialize(data.memory(), structure.memory(), &version).expect("data");
        let small = Guarded::new(sizes.size as usize - 8, Side::Behind);
        assert_eq!(serialize(small.memory(), structure.memory(), &version), Err(BuildError::TargetTooSmall));
        (data, sizes)
    };
    let (bottom_data, bottom_sizes) = store(&bottom_memory);
    let (top_data, top_sizes) = store(&world.top);
    assert_eq!((bottom_sizes.handles, top_sizes.handles), (0, 4));
    let new_bottom = Guarded::new(bottom_header.size as usize, Side::Behind);
    let new_top = Guarded::new(world.header.size as usize, Side::Behind);
    let live = Live(vec![new_bottom.memory()]);
    deserialize(new_bottom.memory(), bottom_data.memory(), &version, &live).expect("a structure");
    assert!(bytes(&new_bottom, bottom_header.size) == bytes(&bottom_memory, bottom_header.size));
    for handle in 0..4 {
        let (old, new) = (bottom_memory.memory().address(), new_bottom.memory().address());
        let mut bytes = [0; 8];
        assert!(top_data.memory().read(56 + handle * 8, &mut bytes) && u64::from_le_bytes(bytes) == old);
        assert!(top_data.memory().write(56 + handle * 8, &new.to_le_bytes()));
    }
    let header = deserialize(new_top.memory(), top_data.memory(), &version, &live).expect("a structure");
    let loaded = World { top: new_top, header, live, abort: AtomicU32::new(0) };
    for _ in 0..300 {
        let ray = random_ray(&mut rng, 4.0);
        assert_eq!(world.closest(HostLevel::detect(), 0, &ray), loaded.closest(HostLevel::detect(), 0, &ray));
    }
    // Data of another version, and truncated data, are refused.
    let other = Version::new([8; 16]);
    let target = Guarded::new(bottom_header.size as usize, Side::Behind);
    let load = |version, data| deserialize(target.memory(), data, version, &loaded.live);
    assert_eq!(load(&other, bottom_data.memory()), Err(BuildError::InvalidSource));
    let cut = bottom_data.memory().slice(0, bottom_sizes.size - 64);
    assert_eq!(load(&version, cut), Err(BuildError::InvalidSource));
    assert!(bottom_data.memory().write(48, &u64::MAX.to_le_bytes()));
    assert_eq!(load(&version, bottom_data.memory()), Err(BuildError::InvalidSource));
}

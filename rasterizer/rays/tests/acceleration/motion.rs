//! Structures with motion: triangles and instances at the time of a ray, against structures without
//! motion that are built of what they are at that time.

use super::*;

const QUALITIES: [Quality; 2] = [Quality::FastTrace, Quality::FastBuild];

/// Times of rays, with the ends.
const TIMES: [f32; 5] = [0.0, 0.25, 0.3, 0.7, 1.0];

/// Returns the value at a time, by the rule of the specification.
fn between(start: f32, end: f32, time: f32) -> f32 {
    let value = start * (1.0 - time) + end * time;
    value.clamp(start.min(end), start.max(end))
}

fn triangles_between(start: &[Triangle], end: &[Triangle], time: f32) -> Vec<Triangle> {
    let pairs = start.iter().zip(end);
    pairs.map(|(a, b)| [0, 1, 2].map(|i| [0, 1, 2].map(|axis| between(a[i][axis], b[i][axis], time)))).collect()
}

fn moving(start: &Guarded, end: &Guarded, count: usize) -> Geometry<'static> {
    let geometry = triangles(start, count);
    let GeometryData::Triangles(data) = geometry.data else { unreachable!("a geometry of triangles") };
    Geometry { data: GeometryData::Triangles(Triangles { motion: Some(end.memory()), ..data }), ..geometry }
}

/// Builds a structure of triangles that move, and of some that do not, in this order.
fn bottom_in_motion(start: &[Triangle], end: &[Triangle], still: &[Triangle], quality: Quality) -> (Guarded, Header) {
    let [start_memory, end_memory] = [start, end].map(|list| Guarded::of(list, Side::Behind));
    let mut geometries = vec![moving(&start_memory, &end_memory, start.len())];
    let still_memory = Guarded::of(if still.is_empty() { start } else { still }, Side::Behind);
    if !still.is_empty() {
        geometries.push(triangles(&still_memory, still.len()));
    }
    build(&input(&geometries, quality, &Live::default()), None, HostLevel::detect())
}

/// Moves every vertex by up to a distance.
fn moved(rng: &mut Rng, list: &[Triangle], distance: f32) -> Vec<Triangle> {
    let mut list = list.to_vec();
    for triangle in &mut list {
        let by = random_point(rng, distance);
        triangle.iter_mut().for_each(|vertex| (0..3).for_each(|axis| vertex[axis] += by[axis]));
    }
    list
}

/// Returns the closest hit at a time, of a ray on its own.
fn closest_at(world: &World, level: HostLevel, ray: &Ray, time: f32) -> Hit {
    let mut state = Traversal::ENDED;
    state.begin_at(&TopLevel::open(world.top.memory()), 0, 0xff, ray, time);
    while state.proceed(&world.scene(level)) {
        state.confirm_intersection();
    }
    *state.committed()
}

/// An instance of the tests, as `VkAccelerationStructureMotionInstanceNV`.
#[derive(Clone, Copy)]
struct Mover {
    ty: u32,
    transforms: [[f32; 16]; 2],
    instance: Instance,
}

impl Mover {
    fn words(&self) -> [u32; 40] {
        let common = &self.instance.words()[12..];
        let mut data: Vec<u32> = Vec::new();
        let lengths = [[12, 0], [12, 12], [16, 16]];
        for (transform, length) in self.transforms.iter().zip(lengths[self.ty as usize % 3]) {
            data.extend(transform[..length].iter().map(|value| value.to_bits()));
        }
        data.extend(common);
        let mut words = [0; 40];
        words[0] = self.ty;
        words[2..][..data.len()].copy_from_slice(&data);
        words
    }
}

fn padded(rows: [f32; 12]) -> [f32; 16] {
    core::array::from_fn(|i| rows.get(i).copied().unwrap_or(0.0))
}

fn moving_world(bottoms: &[&Guarded], movers: &[Mover], quality: Quality) -> World {
    let live = Live(bottoms.iter().map(|bottom| bottom.memory()).collect());
    let words: Vec<[u32; 40]> = movers.iter().map(Mover::words).collect();
    let memory = Guarded::of(&words, Side::Behind);
    // The last instance has 152 bytes.
    let array = memory.memory().slice(0, memory.memory().len() - 8);
    let data = GeometryData::MotionInstances(Instances::Array(array));
    let geometry = Geometry { data, primitives: movers.len() as u32, opaque: false };
    let (top, header) = build(&input(&[geometry], quality, &live), None, HostLevel::detect());
    World { top, header, live, abort: AtomicU32::new(0) }
}

fn still(of: &Guarded) -> Mover {
    Mover { ty: 0, transforms: [padded(IDENTITY); 2], instance: Instance::new(of) }
}

#[test]
fn triangles_are_hit_where_they_are_at_the_time() {
    let mut rng = Rng(91);
    for (count, size, distance) in [(1, 1.0, 1.0), (7, 2.0, 0.5), (300, 5.0, 2.0), (5000, 9.0, 0.3)] {
        let start = soup(&mut rng, count, size);
        let (end, resting) = (moved(&mut rng, &start, distance), soup(&mut rng, count / 2, size));
        let worlds = QUALITIES.map(|quality| {
            let (memory, header) = bottom_in_motion(&start, &end, &resting, quality);
            assert_eq!(header.contents, Contents::MotionTriangles);
            (moving_world(&[&memory], &[still(&memory)], quality), memory)
        });
        for time in TIMES {
            let now = triangles_between(&start, &end, time);
            let memories = [&now, &resting].map(|list| Guarded::of(list, Side::Behind));
            let mut geometries = vec![triangles(&memories[0], now.len())];
            if !resting.is_empty() {
                geometries.push(triangles(&memories[1], resting.len()));
            }
            let live = Live::default();
            let (want, _) = build(&input(&geometries, Quality::FastTrace, &live), None, HostLevel::detect());
            let resting_world = World::of(&want);
            let mut hits = 0;
            for _ in 0..300 {
                let ray = random_ray(&mut rng, size);
                let found = closest_at(&worlds[0].0, HostLevel::detect(), &ray, time);
                assert_eq!(found, closest_at(&worlds[1].0, HostLevel::detect(), &ray, time), "both trees");
                for level in HostLevel::all() {
                    assert_eq!(found, closest_at(&worlds[0].0, level, &ray, time), "{level:?}");
                }
                let wanted = resting_world.closest(HostLevel::detect(), 0, &ray);
                // Boxes have margins that depend on the bounds of the structure, which are those of
                // all times. A distance is at least that of the triangle's box.
                assert!(same_triangle(&found, &wanted), "{ray:?} at {time}: {found:?} {wanted:?}");
                hits += u32::from(found.kind == HitKind::Triangle);
            }
            assert!(count < 300 || hits > 50, "{hits}");
        }
    }
}

/// Returns true if two hits are of the same triangle in the same place.
fn same_triangle(a: &Hit, b: &Hit) -> bool {
    let near = |a: f32, b: f32| (a - b).abs() <= 1e-5 * b.abs().max(1e-3);
    let same = (a.kind, a.geometry, a.primitive, a.vertices, a.front_facing, a.barycentrics)
        == (b.kind, b.geometry, b.primitive, b.vertices, b.front_facing, b.barycentrics);
    same && near(a.t, b.t)
}

/// Returns the hits of rays at a time in a world with motion, and in one without that has the same
/// instances as they are at that time.
fn compare_with_resting(world: &World, bottoms: &[&Guarded], movers: &[Mover], rng: &mut Rng, size: f32) -> u32 {
    let mut hits = 0;
    for time in TIMES {
        let top = TopLevel::open(world.top.memory());
        let mut instances = Vec::new();
        for (i, mover) in movers.iter().enumerate() {
            let values = top.instance(i as u32, time).expect("an instance");
            assert_eq!(values.custom_index, mover.instance.custom_index);
            instances.push(Instance { transform: values.object_to_world, ..mover.instance });
        }
        let resting = World::new(bottoms, &instances, Quality::FastTrace);
        for _ in 0..200 {
            let ray = random_ray(rng, size);
            let [found, wanted] =
                [closest_at(world, HostLevel::detect(), &ray, time), resting.closest(HostLevel::detect(), 0, &ray)];
            assert!(same_triangle(&found, &wanted), "{ray:?} at {time}: {found:?} {wanted:?}");
            assert_eq!((found.instance, found.custom_index), (wanted.instance, wanted.custom_index));
            if found.kind != HitKind::None {
                let mut state = Traversal::ENDED;
                state.begin_at(&top, 0, 0xff, &ray, time);
                let own = instances[found.instance as usize].transform;
                assert_eq!(state.object_to_world(&found), own);
                hits += 1;
            }
        }
    }
    hits
}

#[test]
fn matrices_are_interpolated_by_components() {
    let mut rng = Rng(92);
    let (memory, _) = bottom(&soup(&mut rng, 200, 1.0), Quality::FastTrace);
    let mut movers = vec![still(&memory); 30];
    for (i, mover) in movers.iter_mut().enumerate() {
        mover.ty = i as u32 % 2;
        mover.instance.custom_index = i as u32 * 3;
        for transform in &mut mover.transforms {
            transform[..12].iter_mut().for_each(|value| *value += rng.float(-0.4, 0.4));
            [3, 7, 11].iter().for_each(|&at| transform[at] = rng.unit() * 6.0);
        }
    }
    for quality in QUALITIES {
        let world = moving_world(&[&memory], &movers, quality);
        for (i, mover) in movers.iter().enumerate() {
            for time in TIMES {
                let values = TopLevel::open(world.top.memory()).instance(i as u32, time).expect("an instance");
                let [start, end] = mover.transforms;
                let end = if mover.ty == 0 { start } else { end };
                let want: [f32; 12] = core::array::from_fn(|i| between(start[i], end[i], time));
                assert_eq!(values.object_to_world, want, "{i} at {time}");
            }
        }
        assert!(compare_with_resting(&world, &[&memory], &movers, &mut rng, 6.0) > 200);
    }
}

/// Makes an SRT decomposition with a scale about 1.
fn random_srt(rng: &mut Rng, size: f32) -> [f32; 16] {
    let mut values: [f32; 16] = core::array::from_fn(|_| rng.float(-0.5, 0.5));
    [0, 4, 7].iter().for_each(|&scale| values[scale] += 1.0);
    [13, 14, 15].iter().for_each(|&translation| values[translation] = rng.unit() * size);
    values
}

/// Returns the transform of an SRT decomposition: T R S.
fn srt_matrix(values: &[f32; 16]) -> [f64; 12] {
    let [sx, a, b, pvx, sy, c, pvy, sz, pvz, qx, qy, qz, qw, tx, ty, tz] = values.map(f64::from);
    let length = (qx * qx + qy * qy + qz * qz + qw * qw).sqrt();
    let (axis, w) = ([qx / length, qy / length, qz / length], qw / length);
    let cross =
        |u: [f64; 3], v: [f64; 3]| [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let rotate = |v: [f64; 3]| {
        let once = cross(axis, v);
        let inner = [0, 1, 2].map(|i| once[i] + w * v[i]);
        let twice = cross(axis, inner);
        [0, 1, 2].map(|i| v[i] + 2.0 * twice[i])
    };
    let columns = [[sx, 0.0, 0.0], [a, sy, 0.0], [b, c, sz], [pvx, pvy, pvz]].map(rotate);
    core::array::from_fn(|i| columns[i % 4][i / 4] + if i % 4 == 3 { [tx, ty, tz][i / 4] } else { 0.0 })
}

#[test]
fn srt_decompositions_are_interpolated_and_rotate() {
    let mut rng = Rng(93);
    let (memory, _) = bottom(&soup(&mut rng, 200, 1.0), Quality::FastTrace);
    let mut movers = vec![Mover { ty: 2, ..still(&memory) }; 30];
    for (i, mover) in movers.iter_mut().enumerate() {
        mover.instance.custom_index = i as u32;
        mover.transforms = [(); 2].map(|()| random_srt(&mut rng, 6.0));
        if i % 4 == 0 {
            let rotation: [f32; 4] = core::array::from_fn(|q| mover.transforms[0][9 + q]);
            mover.transforms[1][9..13].copy_from_slice(&rotation);
        }
    }
    for quality in QUALITIES {
        let world = moving_world(&[&memory], &movers, quality);
        for (i, mover) in movers.iter().enumerate() {
            for time in TIMES {
                let values = TopLevel::open(world.top.memory()).instance(i as u32, time).expect("an instance");
                let [start, end] = mover.transforms;
                let now = core::array::from_fn(|i| between(start[i], end[i], time));
                for (value, want) in values.object_to_world.into_iter().zip(srt_matrix(&now)) {
                    assert!((f64::from(value) - want).abs() < 1e-5, "{value} {want}");
                }
            }
        }
        assert!(compare_with_resting(&world, &[&memory], &movers, &mut rng, 6.0) > 200);
    }
}

struct Memories(Vec<DeviceMemory>);
impl AddressSpace for Memories {
    fn memory(&self, address: u64, size: u64) -> Option<DeviceMemory> {
        self.0.iter().copied().find(|memory| memory.address() == address && memory.len() == size)
    }
}

#[test]
fn pointers_have_the_type_in_their_lowest_bits() {
    let mut rng = Rng(94);
    let (memory, _) = bottom(&soup(&mut rng, 50, 1.0), Quality::FastTrace);
    let mut movers = vec![still(&memory); 12];
    for (i, mover) in movers.iter_mut().enumerate() {
        mover.ty = i as u32 % 3;
        mover.transforms = [(); 2].map(|()| match i % 3 {
            2 => random_srt(&mut rng, 5.0),
            _ => padded(core::array::from_fn(|i| IDENTITY[i] + rng.float(-0.3, 0.3))),
        });
    }
    let world = moving_world(&[&memory], &movers, Quality::FastTrace);
    let lengths = [16, 28, 36];
    // Memory of a structure begins at a multiple of 16.
    let words: Vec<Guarded> =
        movers.iter().map(|one| Guarded::of(&one.words()[2..][..lengths[one.ty as usize]], Side::Behind)).collect();
    let addresses = movers.iter().zip(&words).map(|(one, words)| words.memory().address() | u64::from(one.ty));
    let mut addresses: Vec<u64> = addresses.collect();
    let space = Memories(words.iter().map(Guarded::memory).collect());
    let live = Live(vec![memory.memory()]);
    for unknown in [false, true] {
        addresses[5] |= if unknown { 7 } else { 0 };
        let list = Guarded::of(&addresses, Side::Behind);
        let data = GeometryData::MotionInstances(Instances::Pointers(list.memory(), &space));
        let geometry = [Geometry { data, primitives: 12, opaque: false }];
        let (top, header) = build(&input(&geometry, Quality::FastTrace, &live), None, HostLevel::detect());
        assert_eq!(header.active, if unknown { 11 } else { 12 });
        assert_eq!(bytes(&top, header.size) == bytes(&world.top, world.header.size), !unknown);
    }
}

#[test]
fn updates_of_motion_hit_what_rebuilds_hit() {
    let mut rng = Rng(95);
    let start = soup(&mut rng, 2000, 4.0);
    let end = moved(&mut rng, &start, 1.0);
    let (source, header) = bottom_in_motion(&start, &end, &[], Quality::FastTrace);
    let [start, end] = [moved(&mut rng, &start, 1.0), moved(&mut rng, &end, 2.0)];
    let (rebuilt, rebuilt_header) = bottom_in_motion(&start, &end, &[], Quality::FastTrace);
    let memories = [&start, &end].map(|list| Guarded::of(list, Side::Behind));
    let (geometries, live) = ([moving(&memories[0], &memories[1], start.len())], Live::default());
    let second = input(&geometries, Quality::FastTrace, &live);
    let pool = execution::work_sharing::WorkSharingPool::new(4);
    let target = Guarded::new(header.size as usize, Side::Behind);
    let workers = Workers { threads: Some(&pool), ..Workers::default() };
    let updated = update(target.memory(), source.memory(), &second, &workers).expect("an update");
    assert_eq!(updated.bounds, rebuilt_header.bounds);
    update(source.memory(), source.memory(), &second, &Workers::default()).expect("an update");
    assert!(bytes(&source, header.size) == bytes(&target, header.size));
    // Instances change their transforms, and the way in which they move.
    let mut movers = vec![still(&target); 20];
    let world = moving_world(&[&target], &movers, Quality::FastTrace);
    movers.iter_mut().enumerate().for_each(|(i, mover)| {
        mover.ty = i as u32 % 3;
        mover.transforms = [(); 2].map(|()| match i % 3 {
            2 => random_srt(&mut rng, 9.0),
            _ => padded(core::array::from_fn(|i| IDENTITY[i] + rng.float(-3.0, 3.0))),
        });
    });
    let words: Vec<[u32; 40]> = movers.iter().map(Mover::words).collect();
    let words = Guarded::of(&words, Side::Behind);
    let data = GeometryData::MotionInstances(Instances::Array(words.memory()));
    let geometries = [Geometry { data, primitives: 20, opaque: false }];
    let top = world.top.memory();
    update(top, top, &input(&geometries, Quality::FastTrace, &world.live), &Workers::default()).expect("an update");
    // What does not move is no update of it.
    let resting = GeometryData::Instances(Instances::Array(words.memory()));
    let geometries = [Geometry { data: resting, primitives: 20, opaque: false }];
    let resting = update(top, top, &input(&geometries, Quality::FastTrace, &world.live), &Workers::default());
    assert_eq!(resting, Err(BuildError::InvalidSource));
    let other = moving_world(&[&rebuilt], &referring_to(&movers, &rebuilt), Quality::FastBuild);
    for i in 0..500 {
        let (ray, time) = (random_ray(&mut rng, 9.0), TIMES[i % 5]);
        let [a, b] = [&world, &other].map(|world| closest_at(world, HostLevel::detect(), &ray, time));
        assert_eq!(a, b);
    }
}

/// Returns the same instances of another structure.
fn referring_to(movers: &[Mover], to: &Guarded) -> Vec<Mover> {
    let reference = to.memory().address();
    movers.iter().map(|one| Mover { instance: Instance { reference, ..one.instance }, ..*one }).collect()
}

#[test]
fn serialized_motion_is_loaded_with_new_references() {
    let mut rng = Rng(96);
    let start = soup(&mut rng, 100, 1.0);
    let end = moved(&mut rng, &start, 1.0);
    let (old, header) = bottom_in_motion(&start, &end, &[], Quality::FastTrace);
    let mut movers = vec![Mover { ty: 1, ..still(&old) }; 7];
    movers.iter_mut().for_each(|one| one.transforms[1][3] = rng.unit() * 4.0);
    movers[2].instance.reference = 0;
    let world = moving_world(&[&old], &movers, Quality::FastTrace);
    let version = Version::new([7; 16]);
    let sizes = serialized_sizes(world.top.memory());
    assert_eq!(sizes.handles, 6);
    let data = Guarded::new(sizes.size as usize, Side::Behind);
    serialize(data.memory(), world.top.memory(), &version).expect("data");
    let new = Guarded::new(header.size as usize, Side::Behind);
    copy_structure(new.memory(), old.memory()).expect("a copy");
    for handle in 0..6 {
        assert!(data.memory().write(56 + handle * 8, &new.memory().address().to_le_bytes()));
    }
    let (top, live) = (Guarded::new(world.header.size as usize, Side::Behind), Live(vec![new.memory()]));
    let header = deserialize(top.memory(), data.memory(), &version, &live).expect("a structure");
    let loaded = World { top, header, live, abort: AtomicU32::new(0) };
    for i in 0..300 {
        let (ray, time) = (random_ray(&mut rng, 4.0), TIMES[i % 5]);
        let [a, b] = [&world, &loaded].map(|world| closest_at(world, HostLevel::detect(), &ray, time));
        assert_eq!(a, b);
    }
}

/// Rays that begin together find what each finds on its own, at its own time.
#[test]
fn rays_of_several_times_take_turns() {
    let mut rng = Rng(97);
    let start = soup(&mut rng, 500, 3.0);
    let end = moved(&mut rng, &start, 1.0);
    let (memory, _) = bottom_in_motion(&start, &end, &[], Quality::FastTrace);
    let (spheres, _) = bottom_of_boxes(&[[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]], Quality::FastTrace);
    let mut movers = vec![Mover { ty: 1, ..still(&memory) }, still(&memory), Mover { ty: 1, ..still(&spheres) }];
    movers[0].transforms[1][7] = 2.0;
    movers[2].transforms[1][3] = 2.0;
    let world = moving_world(&[&memory, &spheres], &movers, Quality::FastTrace);
    for level in HostLevel::all() {
        for _ in 0..50 {
            let ray = random_ray(&mut rng, 3.0);
            let times: [f32; 20] = core::array::from_fn(|i| i as f32 / 19.0);
            let mut together = times.map(|time| {
                let mut state = Traversal::ENDED;
                state.begin_at(&TopLevel::open(world.top.memory()), 0, 0xff, &ray, time);
                state
            });
            while Traversal::proceed_all(&mut together.each_mut().map(Some), &world.scene(level)) != 0 {}
            for (state, time) in together.iter().zip(times) {
                assert_eq!(*state.committed(), closest_at(&world, level, &ray, time));
            }
        }
    }
}

#[test]
fn other_times_are_the_nearest_valid_ones() {
    let start = [[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0f32]]];
    let end = start.map(|triangle| triangle.map(|[x, y, z]| [x + 4.0, y, z]));
    let (memory, _) = bottom_in_motion(&start, &end, &[], Quality::FastTrace);
    let world = moving_world(&[&memory], &[still(&memory)], Quality::FastTrace);
    let resting = World::of(&memory);
    let at = |x: f32| Ray { origin: [x + 0.25, 0.25, -1.0], t_min: 0.0, direction: [0.0, 0.0, 1.0], t_max: 9.0 };
    let is_hit = |world: &World, x: f32, time| closest_at(world, HostLevel::detect(), &at(x), time).kind;
    for (time, x) in [
        (-1.0, 0.0),
        (f32::NAN, 0.0),
        (f32::NEG_INFINITY, 0.0),
        (-0.0, 0.0),
        (0.5, 2.0),
        (1.5, 4.0),
        (f32::INFINITY, 4.0),
    ] {
        for other in [0.0, 2.0, 4.0] {
            let want = if other == x { HitKind::Triangle } else { HitKind::None };
            assert_eq!(is_hit(&world, other, time), want, "{time} at {other}");
            // The time counts in a structure of triangles that move, wherever its instance is.
            assert_eq!(is_hit(&resting, other, time), want, "{time} at {other}");
        }
    }
    // A ray without a time is one of the time 0.
    assert_eq!(world.closest(HostLevel::detect(), 0, &at(0.0)).kind, HitKind::Triangle);
}

#[test]
fn odd_motion_is_not_hit_and_ends() {
    let mut rng = Rng(98);
    let start = soup(&mut rng, 60, 1.0);
    let mut end = moved(&mut rng, &start, 0.5);
    (end[0][1][2], end[1][0][0], end[2][2][1]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
    let (memory, header) = bottom_in_motion(&start, &end, &[], Quality::FastTrace);
    assert_eq!(header.active, 59);
    let mut movers = vec![Mover { ty: 2, ..still(&memory) }; 9];
    movers.iter_mut().for_each(|one| one.transforms = [(); 2].map(|()| random_srt(&mut rng, 1.0)));
    // The rotations of a half turn have a quaternion of 0 between them.
    movers[0].transforms[1] = movers[0].transforms[0];
    (0..4).for_each(|q| movers[0].transforms[1][9 + q] = -movers[0].transforms[0][9 + q]);
    movers[1].transforms[0][3] = f32::NAN;
    movers[2].transforms[1][5] = f32::INFINITY;
    movers[3].transforms = [[0.0; 16]; 2];
    let world = moving_world(&[&memory], &movers, Quality::FastTrace);
    for round in 0..200 {
        for i in 0..10 {
            let (ray, time) = (random_ray(&mut rng, 1.0), [0.5, 0.2, 1.0][i % 3]);
            let hit = closest_at(&world, HostLevel::detect(), &ray, time);
            assert!(round != 0 || hit.kind == HitKind::None || ![1, 2].contains(&hit.primitive), "infinite");
            assert!(round != 0 || hit.kind == HitKind::None || hit.instance != 3, "a quaternion of 0");
            assert!(round != 0 || hit.kind == HitKind::None || hit.instance != 0 || time != 0.5, "between half turns");
        }
        for structure in [&memory, &world.top] {
            let size = if round % 5 == 0 { 128 } else { structure.memory().len() as u32 };
            let offset = u64::from(rng.below(size / 4) * 4);
            let word = if round % 3 == 0 { rng.below(64) } else { rng.next() };
            structure.memory().write(offset, &word.to_le_bytes());
        }
    }
}

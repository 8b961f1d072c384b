//! Hits against a direct computation, and hits that do not depend on the tree or the processor.

use super::*;

const QUALITIES: [Quality; 2] = [Quality::FastTrace, Quality::FastBuild];

/// Result of one triangle in 64 bits: the distance, or whether the ray is too close to an edge to
/// decide.
enum Direct {
    Miss,
    Unclear,
    Hit(f64),
}

fn direct([a, b, c]: &Triangle, ray: &Ray) -> Direct {
    let sub = |p: &[f32; 3], q: &[f32; 3]| [0, 1, 2].map(|i| f64::from(p[i]) - f64::from(q[i]));
    let cross =
        |p: [f64; 3], q: [f64; 3]| [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
    let dot = |p: [f64; 3], q: [f64; 3]| p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
    let d = ray.direction.map(f64::from);
    let [e, f, s] = [sub(b, a), sub(c, a), sub(&ray.origin, a)];
    let p = cross(d, f);
    let determinant = dot(e, p);
    let q = cross(s, e);
    let [u, v] = [dot(s, p) / determinant, dot(d, q) / determinant];
    let (w, t) = (1.0 - u - v, dot(f, q) / determinant);
    let inside = u.min(v).min(w);
    if !inside.is_finite() || inside < -1e-3 {
        return if inside.is_finite() { Direct::Miss } else { Direct::Unclear };
    }
    let at_end = (t - f64::from(ray.t_min)).abs().min((t - f64::from(ray.t_max)).abs()) < 1e-4;
    match inside < 1e-3 || at_end {
        true => Direct::Unclear,
        false if t > f64::from(ray.t_min) && t < f64::from(ray.t_max) => Direct::Hit(t),
        false => Direct::Miss,
    }
}

#[test]
fn closest_hits_are_those_of_brute_force() {
    let mut rng = Rng(21);
    let mut decided = 0;
    for (count, size) in [(1, 1.0), (4, 1.0), (5, 2.0), (37, 10.0), (500, 100.0), (3000, 1.0)] {
        let list = soup(&mut rng, count, size);
        let worlds = QUALITIES.map(|quality| bottom(&list, quality));
        let worlds = worlds.each_ref().map(|(memory, _)| World::of(memory));
        for _ in 0..400 {
            let mut ray = random_ray(&mut rng, size);
            (ray.t_min, ray.t_max) = (rng.float(0.0, 0.5), rng.float(0.5, 3.0));
            let found = worlds[0].closest(HostLevel::detect(), 0, &ray);
            assert_eq!(found, worlds[1].closest(HostLevel::detect(), 0, &ray), "both trees");
            for level in HostLevel::all() {
                assert_eq!(found, worlds[0].closest(level, 0, &ray), "{level:?}");
            }
            let (mut closest, mut unclear) = (f64::INFINITY, f64::INFINITY);
            for triangle in &list {
                match direct(triangle, &ray) {
                    Direct::Miss => {}
                    Direct::Unclear => unclear = 0.0,
                    Direct::Hit(t) => closest = closest.min(t),
                }
            }
            if unclear > 0.0 {
                decided += 1;
                assert_eq!(found.kind == HitKind::Triangle, closest.is_finite(), "{count} {ray:?}");
                let difference = (f64::from(found.t) - closest).abs();
                assert!(closest.is_infinite() || difference < 1e-4, "{found:?} {closest}");
            }
        }
    }
    assert!(decided > 1000, "{decided}");
}

#[test]
fn all_candidates_are_the_same_in_every_tree() {
    let mut rng = Rng(8);
    let list = soup(&mut rng, 2000, 4.0);
    let structures = QUALITIES.map(|quality| bottom(&list, quality));
    let worlds = structures.each_ref().map(|(memory, _)| World::of(memory));
    let mut all = 0;
    for _ in 0..500 {
        let ray = random_ray(&mut rng, 4.0);
        let sets = worlds.each_ref().map(|world| {
            let mut set: Vec<_> =
                world.candidates(0, &ray).iter().map(|hit| (hit.primitive, hit.t.to_bits())).collect();
            set.sort_unstable();
            set
        });
        assert_eq!(sets[0], sets[1]);
        assert!(sets[0].windows(2).all(|pair| pair[0].0 != pair[1].0), "one call for each primitive");
        all += sets[0].len();
    }
    assert!(all > 1000, "{all}");
}

/// A height field over a grid, as triangles with shared vertices.
fn field(rng: &mut Rng, size: usize, scale: f32) -> (Vec<Triangle>, Vec<[f32; 3]>) {
    let row = size + 1;
    let points: Vec<[f32; 3]> = (0..row * row)
        .map(|i| {
            let [x, y] = [i % row, i / row].map(|at| at as f32 + rng.unit() * 0.2);
            [x * scale, y * scale, rng.unit() * 0.2 * scale]
        })
        .collect();
    let mut list = Vec::new();
    for i in 0..size * size {
        let at = i / size * row + i % size;
        // Windings differ on purpose.
        list.push([points[at], points[at + 1], points[at + row]]);
        list.push(match rng.below(2) {
            0 => [points[at + row], points[at + 1], points[at + row + 1]],
            _ => [points[at + 1], points[at + row], points[at + row + 1]],
        });
    }
    (list, points)
}

#[test]
fn rays_through_edges_and_vertices_hit_exactly_once() {
    let mut rng = Rng(17);
    for scale in [1.0, 1e-12, 1e12, 1.0 / 3.0] {
        let (list, points) = field(&mut rng, 12, scale);
        let (memory, _) = bottom(&list, Quality::FastTrace);
        let world = World::of(&memory);
        for _ in 0..3000 {
            let column = [1 + rng.below(10) as usize, 1 + rng.below(10) as usize];
            let at = column[1] * 13 + column[0];
            let (a, b) = (points[at], points[at + rng.pick(&[1, 13, 12])]);
            let anywhere = rng.float(0.0, 1.0);
            let along = rng.pick(&[0.0, 0.5, anywhere]);
            let target = [0, 1, 2].map(|axis| a[axis] + along * (b[axis] - a[axis]));
            let above = 10.0 * scale;
            let origin = match rng.below(2) {
                // Rays along an axis pass exactly through a vertex.
                0 => [target[0], target[1], above],
                _ => [target[0] + rng.unit() * scale, target[1] + rng.unit() * scale, above],
            };
            let direction = [0, 1, 2].map(|axis| target[axis] - origin[axis]);
            let ray = Ray { origin, t_min: 0.0, direction, t_max: 3.0 };
            let hits = world.candidates(0, &ray);
            assert_eq!(hits.len(), 1, "{scale} {ray:?} {hits:?}");
        }
    }
}

#[test]
fn degenerate_and_extreme_coordinates_are_handled() {
    let mut rng = Rng(4);
    let extremes = [0.0, -0.0, 1e-45, 1e-38, 1e-20, 1.0, 1e20, 3e38, -3e38, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let value = |rng: &mut Rng| if rng.below(3) == 0 { rng.pick(&extremes) } else { rng.unit() };
    for _ in 0..60 {
        let list: Vec<Triangle> =
            (0..40).map(|_| [0, 1, 2].map(|_| [value(&mut rng), value(&mut rng), value(&mut rng)])).collect();
        let structures = QUALITIES.map(|quality| bottom(&list, quality));
        let worlds = structures.each_ref().map(|(memory, _)| World::of(memory));
        for _ in 0..40 {
            let mut point = || [value(&mut rng), value(&mut rng), value(&mut rng)];
            let (origin, direction) = (point(), point());
            let ray = Ray { origin, t_min: 0.0, direction, t_max: f32::INFINITY };
            let found = worlds[0].closest(HostLevel::detect(), 0, &ray);
            assert_eq!(found, worlds[1].closest(HostLevel::detect(), 0, &ray));
            HostLevel::all().for_each(|level| assert_eq!(found, worlds[0].closest(level, 0, &ray)));
            assert!(found.kind == HitKind::None || found.t >= 0.0 && ray.is_valid());
        }
    }
    // Degenerate triangles are never hit, not even by a ray through them.
    let (memory, _) = bottom(&[[[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [2.0, 0.0, 1.0]]], Quality::FastTrace);
    let ray = Ray { origin: [1.0, 0.0, 0.0], t_min: 0.0, direction: [0.0, 0.0, 1.0], t_max: 10.0 };
    assert_eq!(World::of(&memory).closest(HostLevel::detect(), 0, &ray).kind, HitKind::None);
}

#[test]
fn ties_go_to_the_lowest_primitive() {
    let triangle = [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]];
    let ray = Ray { origin: [0.25, 0.25, 0.0], t_min: 0.0, direction: [0.0, 0.0, 1.0], t_max: 10.0 };
    for quality in QUALITIES {
        let (memory, _) = bottom(&[triangle; 100], quality);
        let instances = [Instance::new(&memory); 3];
        let hit = World::new(&[&memory], &instances, quality).closest(HostLevel::detect(), 0, &ray);
        assert_eq!((hit.instance, hit.primitive, hit.t), (0, 0, 1.0));
    }
    // The ends of the interval do not belong to it.
    let (memory, _) = bottom(&[triangle], Quality::FastTrace);
    let world = World::of(&memory);
    for (t_min, t_max, kind) in [(1.0, 2.0, HitKind::None), (0.0, 1.0, HitKind::None), (0.5, 1.5, HitKind::Triangle)] {
        assert_eq!(world.closest(HostLevel::detect(), 0, &Ray { t_min, t_max, ..ray }).kind, kind);
    }
}

/// Hits of instances are those of transformed triangles, and of both trees of many instances.
#[test]
fn instances_are_transformed() {
    let mut rng = Rng(31);
    let (memory, _) = bottom(&soup(&mut rng, 200, 1.0), Quality::FastTrace);
    let mut instances = Vec::new();
    for i in 0..300 {
        let mut instance = Instance::new(&memory);
        instance.transform = core::array::from_fn(|at| match at % 4 {
            3 => rng.unit() * 20.0,
            column => rng.unit() + if column == at / 4 { 2.0 } else { 0.0 },
        });
        (instance.custom_index, instance.sbt_offset) = (i * 3, i * 5);
        instances.push(instance);
    }
    let worlds = QUALITIES.map(|quality| World::new(&[&memory], &instances, quality));
    let single = World::of(&memory);
    let mut hits = 0;
    for _ in 0..1000 {
        let ray = random_ray(&mut rng, 20.0);
        let found = worlds[0].closest(HostLevel::detect(), 0, &ray);
        assert_eq!(found, worlds[1].closest(HostLevel::detect(), 0, &ray));
        if found.kind == HitKind::None {
            continue;
        }
        hits += 1;
        assert_eq!((found.custom_index, found.sbt_offset), (found.instance * 3, found.instance * 5));
        let mut state = worlds[0].begin(0, 0xff, &ray);
        assert!(!state.proceed(&worlds[0].scene(HostLevel::detect())));
        assert_eq!(state.object_to_world(&found), instances[found.instance as usize].transform);
        let (origin, direction) = (state.object_ray_origin(&found), state.object_ray_direction(&found));
        let object = single.closest(HostLevel::detect(), 0, &Ray { origin, direction, ..ray });
        assert_eq!(object.primitive, found.primitive);
        assert!((object.t - found.t).abs() < 1e-4, "{object:?} {found:?}");
    }
    assert!(hits > 100, "{hits}");
}

#[test]
fn boxes_are_candidates_including_their_faces() {
    let mut rng = Rng(12);
    let list: Vec<[f32; 6]> = (0..300)
        .map(|_| {
            let (corner, size) = (random_point(&mut rng, 5.0), random_point(&mut rng, 1.0).map(f32::abs));
            [corner[0], corner[1], corner[2], corner[0] + size[0], corner[1] + size[1], corner[2] + size[2]]
        })
        .chain([[f32::NEG_INFINITY, 4.0, f32::NEG_INFINITY, f32::INFINITY, 4.0, f32::INFINITY]])
        .collect();
    let worlds = QUALITIES.map(|quality| bottom_of_boxes(&list, quality));
    let worlds = worlds.each_ref().map(|(memory, _)| World::of(memory));
    for _ in 0..300 {
        let ray = random_ray(&mut rng, 5.0);
        let expected: Vec<u32> = (0..list.len() as u32)
            .filter(|&i| {
                let (mut near, mut far) = (0f64, 1e30f64);
                for axis in 0..3 {
                    let at = |k: usize| {
                        (f64::from(list[i as usize][k]) - f64::from(ray.origin[axis])) / f64::from(ray.direction[axis])
                    };
                    (near, far) = (near.max(at(axis).min(at(axis + 3))), far.min(at(axis).max(at(axis + 3))));
                }
                near <= far
            })
            .collect();
        for world in &worlds {
            let mut found: Vec<u32> = world.candidates(0, &ray).iter().map(|hit| hit.primitive).collect();
            found.sort_unstable();
            assert_eq!(found, expected);
        }
    }
    // A ray in the plane of a face, and one that begins and ends on faces.
    let (memory, _) = bottom_of_boxes(&[[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]], Quality::FastTrace);
    let world = World::of(&memory);
    let ray = Ray { origin: [0.0, 1.0, -1.0], t_min: 1.0, direction: [0.0, 0.0, 1.0], t_max: 1.0 };
    assert_eq!(world.candidates(0, &ray).len(), 1);
    assert_eq!(world.candidates(0, &Ray { t_min: 2.5, t_max: 3.0, ..ray }).len(), 0);
    let mut state = world.begin(0, 0xff, &Ray { t_min: 0.0, t_max: 5.0, ..ray });
    assert!(state.proceed(&world.scene(HostLevel::detect())) && state.candidate().opaque == 1);
    assert!(!state.generate_intersection(5.5) && !state.generate_intersection(-1.0));
    assert!(state.generate_intersection(1.5) && !state.generate_intersection(1.75) && state.t_max() == 1.5);
    assert!(!state.proceed(&world.scene(HostLevel::detect())) && state.committed().kind == HitKind::Aabb);
}

/// Rays that are traced together have the candidates that each has on its own, in the same order
/// on all levels.
#[test]
fn rays_that_take_turns_do_not_influence_each_other() {
    let mut rng = Rng(41);
    let (memory, _) = bottom(&soup(&mut rng, 2000, 3.0), Quality::FastTrace);
    let instances = [Instance::new(&memory), Instance { flags: 8, ..Instance::new(&memory) }];
    let world = World::new(&[&memory], &instances, Quality::FastTrace);
    let rays: Vec<(Ray, u32)> = (0..32)
        .map(|i| {
            (
                random_ray(&mut rng, 3.0),
                if i == 5 { 0 } else { rng.pick(&[0, ray_flags::NO_OPAQUE, ray_flags::TERMINATE_ON_FIRST_HIT]) },
            )
        })
        .collect();
    let found = compare_together(&world, &rays);
    assert!(found.iter().any(|found| found.len() > 3));
}

/// Rays that go about the same way walk together, also through instances of which some see them in
/// other octants.
#[test]
fn rays_that_walk_together_find_what_each_finds() {
    let mut rng = Rng(43);
    let (memory, _) = bottom(&soup(&mut rng, 3000, 3.0), Quality::FastTrace);
    let (boxes, _) = bottom_of_boxes(&[[-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]], Quality::FastTrace);
    let mut instances = vec![Instance::new(&memory), Instance { flags: 8, ..Instance::new(&memory) }];
    instances.extend((0..8).map(|i| Instance {
        transform: core::array::from_fn(|at| if at % 4 == 3 { rng.unit() * 3.0 } else { rng.unit() }),
        flags: rng.pick(&[0, 4, 8]),
        ..Instance::new(if i == 0 { &boxes } else { &memory })
    }));
    let (mut candidates, mut hits) = (0, 0);
    for count in [1, 2, 10] {
        let world = World::new(&[&memory, &boxes], &instances[..count], Quality::FastTrace);
        for round in 0..60 {
            let ray = random_ray(&mut rng, 3.0);
            let flags = rng.pick(&[0, ray_flags::NO_OPAQUE, ray_flags::OPAQUE, ray_flags::TERMINATE_ON_FIRST_HIT]);
            let width = rng.pick(&[0.0, 0.001, 0.01, 0.05]);
            let rays: Vec<(Ray, u32)> = (0..32)
                .map(|_| {
                    let mut ray = ray;
                    let axis = rng.below(3) as usize;
                    ray.direction[axis] += width * rng.unit();
                    ray.origin[(axis + 1) % 3] += width * rng.unit();
                    if round % 8 == 0 {
                        ray.direction[round / 8 % 3] = 0.0;
                    }
                    (ray, flags)
                })
                .collect();
            let found = compare_together(&world, &rays);
            candidates += found.iter().map(|found| found.len() - 1).sum::<usize>();
            hits += found.iter().filter(|found| found.last().is_some_and(|hit| hit.kind != HitKind::None)).count();
        }
    }
    assert!(candidates > 5000 && hits > 1000, "{candidates} {hits}");
}

/// Boxes are candidates of rays that walk together, if these are decided about at once.
#[test]
fn rays_that_walk_together_find_the_boxes_that_each_finds() {
    let mut rng = Rng(44);
    let list: Vec<[f32; 6]> = (0..500)
        .map(|_| {
            let (at, size) = ([(); 3].map(|()| rng.unit() * 3.0), 0.1 + 0.3 * rng.unit().abs());
            core::array::from_fn(|i| if i < 3 { at[i] - size } else { at[i - 3] + size })
        })
        .collect();
    let (boxes, _) = bottom_of_boxes(&list, Quality::FastTrace);
    let turned = core::array::from_fn(|at| if at % 4 == 3 { 0.5 } else { rng.unit() });
    let instances = [Instance::new(&boxes), Instance { transform: turned, ..Instance::new(&boxes) }];
    let mut candidates = 0;
    for count in [1, 2] {
        let world = World::new(&[&boxes], &instances[..count], Quality::FastTrace);
        for round in 0..40 {
            let mut ray = random_ray(&mut rng, 3.0);
            ray.direction[round % 3] *= (round % 8).min(1) as f32;
            let flags = rng.pick(&[0, ray_flags::TERMINATE_ON_FIRST_HIT]);
            let rays: Vec<(Ray, u32)> = (0..32)
                .map(|_| {
                    let direction = ray.direction.map(|value| value * (1.0 + 0.02 * rng.unit()));
                    (Ray { direction, ..ray }, flags)
                })
                .collect();
            candidates += compare_together(&world, &rays).iter().map(|found| found.len() - 1).sum::<usize>();
        }
    }
    assert!(candidates > 3000, "{candidates}");
}

/// The rays that share a decision depend neither on the level nor on what the thread has traced
/// before, if it forgets its packets. Shaders see them in subgroup operations.
#[test]
fn decisions_are_shared_by_the_same_rays_on_all_levels() {
    let mut rng = Rng(45);
    let (memory, _) = bottom(&soup(&mut rng, 3000, 3.0), Quality::FastTrace);
    let turned = core::array::from_fn(|at| if at % 4 == 3 { 0.5 } else { rng.unit() });
    let instances = [Instance::new(&memory), Instance { transform: turned, ..Instance::new(&memory) }];
    let world = World::new(&[&memory], &instances, Quality::FastTrace);
    let rounds: Vec<Vec<Ray>> = (0..40)
        .map(|round| {
            let (ray, width) = (random_ray(&mut rng, 3.0), [0.01, 0.1, 0.3, 2.0][round % 4]);
            let near = |rng: &mut Rng| Ray { direction: ray.direction.map(|value| value + width * rng.unit()), ..ray };
            (0..32).map(|_| near(&mut rng)).collect()
        })
        .collect();
    let trace = |level: HostLevel, decisions: &mut Vec<(Vec<u32>, Vec<u32>)>| {
        for rays in &rounds {
            let mut states: Vec<Traversal> =
                rays.iter().map(|ray| world.begin(ray_flags::NO_OPAQUE, 0xff, ray)).collect();
            let mut all: Vec<Option<&mut Traversal>> = states.iter_mut().map(Some).collect();
            let mut decide = |positions: &[u32], states: &mut [Option<&mut Traversal>]| {
                let mut primitives = Vec::new();
                for state in states.iter_mut().flatten() {
                    primitives.push(state.candidate().primitive);
                    if state.candidate().primitive.is_multiple_of(3) {
                        state.confirm_intersection();
                    }
                }
                decisions.push((positions.to_vec(), primitives));
            };
            Traversal::proceed_and_decide(&mut all, &world.scene(level), &mut decide);
        }
    };
    let mut expected = Vec::new();
    Traversal::forget_packets();
    trace(HostLevel::detect(), &mut expected);
    assert!(expected.iter().any(|(rays, _)| rays.len() > 8), "no decision of a wide packet");
    for level in HostLevel::all() {
        // The thread has counted the packets of the runs before.
        let mut found = Vec::new();
        Traversal::forget_packets();
        trace(level, &mut found);
        assert!(found == expected, "{level:?}: {} and {} decisions", found.len(), expected.len());
    }
}

/// Returns the bits of rays that have a candidate.
fn has_candidate(rays: &[Option<&mut Traversal>]) -> u32 {
    let has_one = rays.iter().map(|ray| ray.as_ref().is_some_and(|ray| ray.candidate().kind != HitKind::None));
    has_one.enumerate().fold(0, |bits, (i, has_one)| bits | u32::from(has_one) << i)
}

/// Proceeds with rays on their own, and together on all levels, and compares their candidates and
/// hits; returns those of each ray. Some candidates are confirmed.
fn compare_together(world: &World, rays: &[(Ray, u32)]) -> Vec<Vec<Hit>> {
    let begin = || -> Vec<Traversal> { rays.iter().map(|(ray, flags)| world.begin(*flags, 0xff, ray)).collect() };
    let decide = |state: &mut Traversal, found: &mut Vec<Hit>| {
        found.push(*state.candidate());
        let candidate = *state.candidate();
        match candidate.kind {
            HitKind::Aabb => _ = state.generate_intersection(candidate.t + 0.1 * (candidate.primitive % 5) as f32),
            _ if candidate.primitive.is_multiple_of(3) => state.confirm_intersection(),
            _ => {}
        }
    };
    let mut expected = vec![Vec::new(); rays.len()];
    for (state, found) in begin().iter_mut().zip(&mut expected) {
        while state.proceed(&world.scene(HostLevel::detect())) {
            decide(state, found);
        }
        found.push(*state.committed());
    }
    let ways = [(1, false), (5, false), (32, false), (32, true)];
    for (level, (together, at_once)) in HostLevel::all().flat_map(|level| ways.map(|way| (level, way))) {
        let (mut states, mut found) = (begin(), vec![Vec::new(); rays.len()]);
        for (states, found) in states.chunks_mut(together).zip(found.chunks_mut(together)) {
            let mut all: Vec<Option<&mut Traversal>> = states.iter_mut().map(Some).collect();
            loop {
                let mut now = |positions: &[u32], states: &mut [Option<&mut Traversal>]| {
                    for (&i, state) in positions.iter().zip(states) {
                        decide(state.as_mut().expect("a ray"), &mut found[i as usize]);
                    }
                };
                let scene = &world.scene(level);
                let candidates = if at_once {
                    Traversal::proceed_and_decide(&mut all, scene, &mut now);
                    has_candidate(&all)
                } else {
                    Traversal::proceed_all(&mut all, scene)
                };
                if candidates == 0 {
                    break;
                }
                for (i, state) in all.iter_mut().enumerate().filter(|(i, _)| candidates >> i & 1 != 0) {
                    decide(state.as_mut().expect("a ray"), &mut found[i]);
                }
            }
            states.iter().zip(found).for_each(|(state, found)| found.push(*state.committed()));
        }
        assert!(found == expected, "{level:?} {together} {at_once}");
    }
    expected
}

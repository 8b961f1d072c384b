//! Spheres and linear swept spheres: hits against a direct computation, chains, indices, hostile
//! input, updates.

use super::*;
use rays::HEADER_BYTES;

const QUALITIES: [Quality; 2] = [Quality::FastTrace, Quality::FastBuild];

/// Centre and radius.
type Ball = [f32; 4];

/// Memory of spheres and of indices of 32 bits.
struct Input {
    balls: Guarded,
    indices: Guarded,
    has_indices: bool,
}

impl Input {
    fn new(balls: &[Ball], indices: &[u32]) -> Input {
        let has_indices = !indices.is_empty();
        let indices = if has_indices { indices } else { &[0] };
        Input { balls: Guarded::of(balls, Side::Behind), indices: Guarded::of(indices, Side::Behind), has_indices }
    }

    fn spheres(&self) -> Spheres {
        let balls = self.balls.memory();
        Spheres {
            vertices: balls,
            stride: 16,
            format: Format::from_vk(106).expect("R32G32B32_SFLOAT"),
            radii: balls.slice(12, balls.len() - 12),
            radius_stride: 16,
            radius_format: Format::from_vk(100).expect("R32_SFLOAT"),
            indices: self.indices.memory(),
            index_type: if self.has_indices { IndexType::Uint32 } else { IndexType::None },
            index_stride: 4,
        }
    }

    fn geometry(&self, primitives: usize, swept: Option<(Indexing, Caps)>) -> Geometry<'static> {
        let data = match swept {
            None => GeometryData::Spheres(self.spheres()),
            Some((indexing, caps)) => GeometryData::SweptSpheres(SweptSpheres { ends: self.spheres(), indexing, caps }),
        };
        Geometry { data, primitives: primitives as u32, opaque: true }
    }
}

/// Builds a structure of spheres, or of swept ones.
fn structure(input: &Input, count: usize, swept: Option<(Indexing, Caps)>, quality: Quality) -> (Guarded, Header) {
    let geometries = [input.geometry(count, swept)];
    build(&super::input(&geometries, quality, &Live::default()), None, HostLevel::detect())
}

fn random_ball(rng: &mut Rng, size: f32, radius: f32) -> Ball {
    let [x, y, z] = random_point(rng, size);
    [x, y, z, rng.float(0.0, radius)]
}

/// Returns where a ray enters a sphere, by the quadratic formula.
fn sphere_entry(ball: [f64; 4], ray: &Ray) -> Option<f64> {
    let d = ray.direction.map(f64::from);
    let o = [0, 1, 2].map(|axis| f64::from(ray.origin[axis]) - ball[axis]);
    let dot = |p: [f64; 3], q: [f64; 3]| p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
    let (a, b, c) = (dot(d, d), dot(o, d), dot(o, o) - ball[3] * ball[3]);
    let root = b * b - a * c;
    (root > 0.0).then(|| (-b - root.sqrt()) / a)
}

/// Returns the entry into the hull of two spheres, which is the first entry into the spheres
/// between them, and the position of that sphere. The entry is a convex function of the position
/// where there is one, so that a search of ever smaller steps finds it.
fn hull_entry(ends: [Ball; 2], ray: &Ray) -> Option<(f64, f64)> {
    let [first, last] = ends.map(|end| end.map(f64::from));
    let between = |u: f64| [0, 1, 2, 3].map(|i| first[i] + u * (last[i] - first[i]));
    let (mut best, mut centre, mut step) = (None, 0.5, 0.5 / 1024.0);
    for count in [1024, 128, 128, 128, 128] {
        let mut found = best;
        for i in -count..=count {
            let u = (centre + f64::from(i) * step).clamp(0.0, 1.0);
            if let Some(t) = sphere_entry(between(u), ray)
                && found.is_none_or(|(other, _)| t < other)
            {
                found = Some((t, u));
            }
        }
        best = found;
        centre = best?.1;
        step /= 32.0;
    }
    best
}

#[test]
fn spheres_are_hit_where_the_formula_says() {
    let mut rng = Rng(61);
    for (count, size, radius) in [(1, 1.0, 1.0), (5, 2.0, 1.0), (400, 10.0, 1.0), (3000, 1000.0, 30.0)] {
        let balls: Vec<Ball> = (0..count).map(|_| random_ball(&mut rng, size, radius)).collect();
        let input = Input::new(&balls, &[]);
        let structures = QUALITIES.map(|quality| structure(&input, count, None, quality));
        let worlds = structures.each_ref().map(|(memory, _)| World::of(memory));
        let mut hits = 0;
        for _ in 0..500 {
            let ray = random_ray(&mut rng, size);
            let found = worlds[0].closest(HostLevel::detect(), 0, &ray);
            assert_eq!(found, worlds[1].closest(HostLevel::detect(), 0, &ray), "both trees");
            HostLevel::all().for_each(|level| assert_eq!(found, worlds[0].closest(level, 0, &ray), "{level:?}"));
            let entries = balls.iter().enumerate();
            let entries = entries.filter_map(|(i, ball)| Some((sphere_entry(ball.map(f64::from), &ray)?, i)));
            let closest = entries.filter(|(t, _)| *t >= 0.0).min_by(|a, b| a.0.total_cmp(&b.0));
            let Some((t, primitive)) = closest else {
                assert_eq!(found.kind, HitKind::None, "{ray:?}");
                continue;
            };
            hits += 1;
            assert_eq!((found.kind, found.primitive as usize), (HitKind::Sphere, primitive), "{ray:?}");
            assert!((f64::from(found.t) - t).abs() <= 1e-6 * t.max(1e-3), "{} {t}", found.t);
            let [x, y, z, radius] = balls[primitive];
            assert_eq!((found.vertices[0], found.vertices[2][0], found.barycentrics[0]), ([x, y, z], radius, 0.0));
        }
        assert!(hits > 50, "{hits} of {count}");
    }
}

#[test]
fn swept_spheres_are_hit_where_the_hull_begins() {
    let mut rng = Rng(62);
    let both = Some((Indexing::List, Caps::Chained));
    let mut hits = [0; 4];
    for round in 0..400 {
        let size = rng.pick(&[1.0, 50.0]);
        let mut ends = [random_ball(&mut rng, size, size), random_ball(&mut rng, size, size)];
        match round % 8 {
            0 => ends[1][3] = ends[0][3],
            1 => ends[0][3] = 0.0,
            2 => ends[1] = [ends[0][0], ends[0][1], ends[0][2], ends[1][3]],
            3 => ends[1] = ends[0],
            _ => {}
        }
        let input = Input::new(&ends, &[]);
        let world = structure(&input, 1, both, Quality::FastTrace);
        let open = structure(&input, 1, Some((Indexing::List, Caps::None)), Quality::FastTrace);
        let (world, open) = (World::of(&world.0), World::of(&open.0));
        for _ in 0..20 {
            let ray = random_ray(&mut rng, size);
            let found = world.closest(HostLevel::detect(), 0, &ray);
            let without_caps = open.closest(HostLevel::detect(), 0, &ray);
            let Some((t, u)) = hull_entry(ends, &ray).filter(|(t, _)| *t >= 0.0) else {
                assert_eq!(found.kind, HitKind::None, "{ends:?} {ray:?}");
                assert_eq!(without_caps.kind, HitKind::None, "{ends:?} {ray:?}");
                hits[0] += 1;
                continue;
            };
            assert_eq!(found.kind, HitKind::Lss, "{ends:?} {ray:?} {t} {u}");
            assert!((f64::from(found.t) - t).abs() <= 1e-6 * t.max(1e-3), "{ends:?} {ray:?} {} {t}", found.t);
            let [own, _] = found.barycentrics;
            // The position of equal spheres has no meaning.
            assert!((f64::from(own) - u).abs() < 1e-3 || ends[0] == ends[1], "{ends:?} {ray:?} {own} {u}");
            let is_between = own > 0.0 && own < 1.0;
            assert_eq!(without_caps.kind == HitKind::Lss, is_between, "{ends:?} {ray:?} {own}");
            hits[1 + usize::from(is_between) + usize::from(own == 1.0) * 2] += 1;
        }
    }
    assert!(hits.iter().all(|&count| count > 300), "{hits:?}");
}

/// Makes a chain that turns as hair does, and more, with its indices.
fn chain(rng: &mut Rng, length: usize) -> Vec<Ball> {
    let mut at = [0.0; 3];
    (0..length)
        .map(|_| {
            let by = random_point(rng, 1.0);
            at = [0, 1, 2].map(|axis| at[axis] + by[axis]);
            [at[0], at[1], at[2], rng.float(0.05, 0.6)]
        })
        .collect()
}

/// A ray that hits the hull of two neighbours of a chain hits the chain no later, though only the
/// first primitive has a cap at its beginning.
#[test]
fn chains_have_no_gaps() {
    let mut rng = Rng(63);
    let mut hits = 0;
    for _ in 0..20 {
        let balls = chain(&mut rng, 24);
        let indices: Vec<u32> = (0..23).collect();
        let input = Input::new(&balls, &indices);
        let (memory, _) = structure(&input, 23, Some((Indexing::Successive, Caps::Chained)), Quality::FastTrace);
        let world = World::of(&memory);
        for _ in 0..100 {
            // Rays through joints, from outside of the chain.
            let joint = rng.pick(&balls);
            let way = random_point(&mut rng, 1.0);
            let origin = [0, 1, 2].map(|axis| joint[axis] + 100.0 * way[axis]);
            let beside = random_point(&mut rng, joint[3]);
            let direction = [0, 1, 2].map(|axis| joint[axis] + beside[axis] - origin[axis]);
            let ray = Ray { origin, t_min: 0.0, direction, t_max: 1e30 };
            let entries = balls.windows(2).filter_map(|pair| hull_entry([pair[0], pair[1]], &ray));
            let closest = entries.map(|(t, _)| t).fold(f64::INFINITY, f64::min);
            let found = world.closest(HostLevel::detect(), 0, &ray);
            if closest < 0.0 {
                continue;
            }
            if closest.is_finite() {
                hits += 1;
                assert_eq!(found.kind, HitKind::Lss, "{ray:?}");
                assert!((f64::from(found.t) - closest).abs() < 1e-6, "{ray:?} {} {closest}", found.t);
            } else {
                assert_eq!(found.kind, HitKind::None, "{ray:?}");
            }
        }
    }
    assert!(hits > 1000, "{hits}");
}

/// Returns the primitives that rays down the third axis hit, at these places.
fn hit_at(world: &World, places: &[[f32; 2]]) -> Vec<Option<u32>> {
    let hit = |&[x, y]: &[f32; 2]| {
        let ray = Ray { origin: [x, y, 10.0], t_min: 0.0, direction: [0.0, 0.0, -1.0], t_max: 100.0 };
        let found = world.closest(HostLevel::detect(), 0, &ray);
        (found.kind != HitKind::None).then_some(found.primitive)
    };
    places.iter().map(hit).collect()
}

#[test]
fn indices_name_the_ends_and_the_caps() {
    let balls: Vec<Ball> = (0..6).map(|i| [4.0 * i as f32, 0.0, 0.0, 1.0]).collect();
    let places: Vec<[f32; 2]> = (-1..=11).map(|i| [2.0 * i as f32 + 0.5, 0.0]).collect();
    let hits = |indices: &[u32], count: usize, indexing, caps| {
        let input = Input::new(&balls, indices);
        let (memory, header) = structure(&input, count, Some((indexing, caps)), Quality::FastTrace);
        assert_eq!(header.active, count as u32);
        hit_at(&World::of(&memory), &places)
    };
    let (none, some) = (None, Some);
    // The ends are at the places 0, 4, 8 and so on, and reach 1 beyond.
    let list = hits(&[], 3, Indexing::List, Caps::Chained);
    let expected = [0, 0, 0, 9, 1, 1, 1, 9, 2, 2, 2, 9];
    let of = |numbers: &[u32]| -> Vec<Option<u32>> {
        numbers.iter().map(|&number| if number == 9 { none } else { some(number) }).collect()
    };
    assert_eq!(list[1..], of(&expected)[..]);
    assert_eq!(list[0], none);
    let caps = hits(&[5, 4, 0, 2], 2, Indexing::List, Caps::Chained);
    assert_eq!(caps[1..], of(&[1, 1, 1, 1, 1, 9, 9, 9, 0, 0, 0, 9])[..]);
    let open = hits(&[0, 1, 3], 3, Indexing::Successive, Caps::None);
    assert_eq!(open[1..], of(&[0, 0, 1, 1, 9, 9, 2, 2, 9, 9, 9, 9])[..]);
    let chained = hits(&[0, 1, 3], 3, Indexing::Successive, Caps::Chained);
    assert_eq!(chained[1..], of(&[0, 0, 1, 1, 1, 9, 2, 2, 2, 9, 9, 9])[..]);
    // A ray along the chain hits the cap of the first primitive alone.
    let input = Input::new(&balls, &[0, 1, 3]);
    let (memory, _) = structure(&input, 3, Some((Indexing::Successive, Caps::Chained)), Quality::FastTrace);
    let along = Ray { origin: [-9.0, 0.0, 0.0], t_min: 0.0, direction: [1.0, 0.0, 0.0], t_max: 100.0 };
    let candidates = World::of(&memory).candidates(0, &along);
    let mut found: Vec<_> = candidates.iter().map(|hit| (hit.primitive, hit.t, hit.barycentrics[0])).collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    assert_eq!(found, [(0, 8.0, 0.0), (2, 20.0, 0.0)]);
}

#[test]
fn other_formats_and_strides_are_read() {
    let mut bytes = vec![0u8; 200];
    for i in 0..4 {
        // Two halves of coordinates at 10 i, one of a radius at 100 + 6 i, an index at 150 + 5 i.
        let half = |value: u16| value.to_le_bytes();
        bytes[10 * i..][..2].copy_from_slice(&half([0x0000, 0x4400, 0x4800, 0x4a00][i]));
        bytes[100 + 6 * i..][..2].copy_from_slice(&half(0x3c00));
        bytes[150 + 5 * i..][..2].copy_from_slice(&[3 - i as u8, 0]);
    }
    let memory = Guarded::of(&bytes, Side::Behind);
    let spheres = Spheres {
        vertices: memory.memory(),
        stride: 10,
        format: Format::from_vk(83).expect("R16G16_SFLOAT"),
        radii: memory.memory().slice(100, 50),
        radius_stride: 6,
        radius_format: Format::from_vk(76).expect("R16_SFLOAT"),
        indices: memory.memory().slice(150, 50),
        index_type: IndexType::Uint16,
        index_stride: 5,
    };
    let geometry = Geometry { data: GeometryData::Spheres(spheres), primitives: 4, opaque: true };
    let (memory, _) = build(&input(&[geometry], Quality::FastTrace, &Live::default()), None, HostLevel::detect());
    let found = hit_at(&World::of(&memory), &[[0.0, 0.0], [4.0, 0.0], [8.0, 0.0], [12.0, 0.0], [2.0, 0.0]]);
    assert_eq!(found, [Some(3), Some(2), Some(1), Some(0), None]);
}

#[test]
fn origins_inside_and_flags_are_obeyed() {
    let input = Input::new(&[[0.0, 0.0, 0.0, 2.0]], &[]);
    let (memory, _) = structure(&input, 1, None, Quality::FastTrace);
    let world = World::of(&memory);
    let ray = |z: f32| Ray { origin: [0.0, 0.0, z], t_min: 0.0, direction: [0.0, 0.0, -1.0], t_max: 100.0 };
    let kind = |flags, ray: &Ray| world.closest(HostLevel::detect(), flags, ray).kind;
    assert_eq!(kind(0, &ray(5.0)), HitKind::Sphere);
    assert_eq!(kind(0, &ray(1.0)), HitKind::None, "inside");
    assert_eq!(kind(0, &ray(-5.0)), HitKind::None, "behind");
    // The ends of the interval belong to it.
    for (t_min, t_max, expected) in
        [(3.0, 9.0, HitKind::Sphere), (0.0, 3.0, HitKind::Sphere), (3.1, 9.0, HitKind::None), (0.0, 2.9, HitKind::None)]
    {
        assert_eq!(kind(0, &Ray { t_min, t_max, ..ray(5.0) }), expected, "{t_min} {t_max}");
    }
    assert_eq!(kind(ray_flags::SKIP_TRIANGLES, &ray(5.0)), HitKind::None);
    assert_eq!(kind(ray_flags::SKIP_AABBS, &ray(5.0)), HitKind::Sphere);
    assert_eq!(kind(ray_flags::CULL_OPAQUE, &ray(5.0)), HitKind::None);
    let faces = ray_flags::CULL_BACK_FACING_TRIANGLES | ray_flags::CULL_FRONT_FACING_TRIANGLES;
    assert_eq!(kind(faces, &ray(5.0)), HitKind::Sphere, "spheres have no faces");
    assert_eq!(world.candidates(0, &ray(5.0)).len(), 1, "one candidate for each primitive");
}

#[test]
fn ties_go_to_the_lowest_sphere() {
    let input = Input::new(&[[0.0, 0.0, 0.0, 1.0]; 50], &[]);
    let ray = Ray { origin: [0.25, 0.25, 5.0], t_min: 0.0, direction: [0.0, 0.0, -1.0], t_max: 100.0 };
    for quality in QUALITIES {
        let (memory, _) = structure(&input, 50, None, quality);
        let world = World::new(&[&memory], &[Instance::new(&memory); 3], quality);
        for flags in [0, ray_flags::NO_OPAQUE] {
            let hit = world.closest(HostLevel::detect(), flags, &ray);
            assert_eq!((hit.instance, hit.primitive), (0, 0));
        }
    }
}

#[test]
fn hostile_spheres_are_inactive_or_harmless() {
    let mut rng = Rng(64);
    let extremes = [0.0, -0.0, -1.0, 1e-45, 1e-38, 1e20, 3e38, -3e38, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let value = |rng: &mut Rng| if rng.below(3) == 0 { rng.pick(&extremes) } else { rng.unit() };
    for round in 0..100 {
        let balls: Vec<Ball> = (0..40).map(|_| [(); 4].map(|()| value(&mut rng))).collect();
        let indices: Vec<u32> =
            (0..80).map(|_| if rng.below(8) == 0 { rng.next() | 0x8000_0000 } else { rng.below(45) }).collect();
        let input = Input::new(&balls, &indices);
        let kinds = [
            None,
            Some((Indexing::List, Caps::Chained)),
            Some((Indexing::Successive, Caps::Chained)),
            Some((Indexing::Successive, Caps::None)),
        ];
        let swept = kinds[round % 4];
        let structures = QUALITIES.map(|quality| structure(&input, 40, swept, quality));
        let worlds = structures.each_ref().map(|(memory, _)| World::of(memory));
        for _ in 0..40 {
            let mut point = || [(); 3].map(|()| value(&mut rng));
            let (origin, direction) = (point(), point());
            let ray = Ray { origin, t_min: 0.0, direction, t_max: f32::INFINITY };
            let found = worlds[0].closest(HostLevel::detect(), 0, &ray);
            assert_eq!(found, worlds[1].closest(HostLevel::detect(), 0, &ray));
            HostLevel::all().for_each(|level| assert_eq!(found, worlds[0].closest(level, 0, &ray)));
            assert!(found.kind == HitKind::None || found.t >= 0.0 && ray.is_valid());
            assert!(found.kind == HitKind::None || found.vertices.as_flattened().iter().all(|x| x.is_finite()));
        }
    }
    // Primitives without an extent, of a negative one, and beyond the memory.
    let down = [[0.0, 0.0], [3.0, 0.0]];
    for (balls, indices, active) in [
        ([[0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0]], [0, 1], 1),
        ([[0.0, 0.0, 0.0, -1.0], [3.0, 0.0, 0.0, 1.0]], [0, 1], 0),
        ([[0.0, 0.0, 0.0, f32::NAN], [3.0, 0.0, 0.0, 1.0]], [0, 1], 0),
        ([[0.0, 0.0, 0.0, 1.0], [3.0, 0.0, 0.0, f32::INFINITY]], [0, 1], 1),
        ([[0.0, 0.0, 0.0, 1.0], [3.0, 0.0, 0.0, 1.0]], [0, 2], 0),
        ([[0.0, 0.0, 0.0, 1.0], [3.0, 0.0, 0.0, 1.0]], [0, u32::MAX], 0),
    ] {
        let input = Input::new(&balls, &indices);
        let (memory, header) = structure(&input, 1, Some((Indexing::List, Caps::Chained)), Quality::FastTrace);
        assert_eq!(header.active, active, "{balls:?}");
        assert_eq!(hit_at(&World::of(&memory), &down), [None, None], "{balls:?}");
    }
}

#[test]
fn updates_move_spheres() {
    let mut rng = Rng(65);
    for swept in [None, Some((Indexing::List, Caps::Chained)), Some((Indexing::Successive, Caps::Chained))] {
        let mut balls = chain(&mut rng, 401);
        let indices: Vec<u32> = (0..400).collect();
        let input = Input::new(&balls, &indices);
        let count = if swept.is_some_and(|(indexing, _)| indexing == Indexing::List) { 200 } else { 400 };
        let geometries = [input.geometry(count, swept)];
        let live = Live::default();
        let request = super::input(&geometries, Quality::FastTrace, &live);
        let (memory, header) = build(&request, None, HostLevel::detect());
        for (i, ball) in (0..).zip(&mut balls) {
            ball[0] += rng.unit();
            ball[3] *= 1.5;
            input.balls.memory().write(16 * i, ball.map(f32::to_le_bytes).as_flattened());
        }
        let updated = update(memory.memory(), memory.memory(), &request, &Workers::default()).expect("an update");
        let (fresh, expected) = structure(&input, count, swept, Quality::FastTrace);
        assert_eq!((updated.bounds, updated.active), (expected.bounds, header.active));
        let worlds = [World::of(&memory), World::of(&fresh)];
        for _ in 0..300 {
            let ray = random_ray(&mut rng, 10.0);
            let found = worlds.each_ref().map(|world| world.closest(HostLevel::detect(), 0, &ray));
            assert_eq!(found[0], found[1]);
        }
    }
}

#[test]
fn arbitrary_bytes_in_leaves_are_harmless() {
    let mut rng = Rng(66);
    for round in 0..60 {
        let balls = chain(&mut rng, 41);
        let indices: Vec<u32> = (0..40).collect();
        let swept = (round % 2 == 0).then_some((Indexing::Successive, Caps::Chained));
        let (memory, header) = structure(&Input::new(&balls, &indices), 40, swept, Quality::FastTrace);
        let memory = Guarded::of(&bytes(&memory, header.size), Side::Behind);
        let world = World::of(&memory);
        for _ in 0..rng.below(300) {
            let offset = HEADER_BYTES + u64::from(rng.below((header.size - HEADER_BYTES) as u32 / 4)) * 4;
            let word = if rng.below(2) == 0 { rng.next() } else { rng.unit().to_bits() };
            memory.memory().write(offset, &word.to_le_bytes());
        }
        for _ in 0..20 {
            let ray = random_ray(&mut rng, 4.0);
            let found = HostLevel::all().map(|level| world.closest(level, 0, &ray));
            let all: Vec<String> = found.map(|hit| format!("{hit:?}")).collect();
            assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
        }
    }
}

//! Sizes, and bytes that do not depend on threads or processor levels.

use super::*;
use execution::work_sharing::WorkSharingPool;

const QUALITIES: [Quality; 2] = [Quality::FastTrace, Quality::FastBuild];

#[test]
fn bytes_depend_on_neither_threads_nor_levels() {
    let mut rng = Rng(11);
    let mut list = soup(&mut rng, 70_000, 100.0);
    for _ in 0..5 {
        let i = rng.below(70_000) as usize;
        list[i][1][2] = f32::NAN;
    }
    let vertices = Guarded::of(&list, Side::Behind);
    let live = Live::default();
    for quality in QUALITIES {
        let geometries = [triangles(&vertices, list.len())];
        let input = input(&geometries, quality, &live);
        let (expected, header) = build(&input, None, HostLevel::detect());
        assert!(header.active < header.primitives && header.active >= header.primitives - 5);
        let expected = bytes(&expected, header.size);
        for threads in [1, 2, 8] {
            let pool = WorkSharingPool::new(threads);
            let (memory, header) = build(&input, Some(&pool), HostLevel::detect());
            assert!(bytes(&memory, header.size) == expected, "{quality:?} {threads}");
        }
        for level in HostLevel::all() {
            let (memory, header) = build(&input, None, level);
            assert!(bytes(&memory, header.size) == expected, "{quality:?} {level:?}");
        }
    }
}

/// Bytes are the same on x86-64 and AArch64; this hash was computed on the former.
#[test]
fn bytes_are_those_of_every_machine() {
    use std::hash::Hasher;
    let mut rng = Rng(5);
    let hashes = QUALITIES.map(|quality| {
        let (memory, header) = bottom(&soup(&mut rng, 3000, 10.0), quality);
        let mut hasher = base::hash::WordHasher::default();
        bytes(&memory, header.size).chunks(8).for_each(|chunk| {
            hasher.write_u64(u64::from_le_bytes(chunk.try_into().expect("sizes are multiples of 8")));
        });
        hasher.finish()
    });
    assert_eq!(hashes, HASHES, "{hashes:#x?}");
}

const HASHES: [u64; 2] = [14_598_535_426_161_496_449, 16_032_777_934_579_519_700];

#[test]
fn sizes_are_upper_bounds() {
    let mut rng = Rng(3);
    for count in (1..40).chain([100, 1000, 9999]) {
        let mut scenes = [soup(&mut rng, count, 1.0), vec![[[1.0, 2.0, 3.0]; 3]; count], Vec::new()];
        // Distances that double make a path of single primitives the best tree.
        scenes[2] = (0..count)
            .map(|i| {
                let x = if i % 2 == 0 { 2f32.powi((i % 120) as i32) } else { 0.0 };
                [[x, 0.0, 0.0], [x, 1.0, 0.0], [x, 0.0, 1.0]]
            })
            .collect();
        for (i, scene) in scenes.iter().enumerate() {
            for quality in QUALITIES {
                let (_, header) = bottom(scene, quality);
                assert_eq!(header.active as usize, count, "{i} {quality:?}");
                assert!(header.leaves as usize <= count.div_ceil(2) && header.depth <= 31, "{i} {quality:?}");
            }
            let (instanced, _) = bottom(&scene[..1], Quality::FastTrace);
            let mut instance = Instance::new(&instanced);
            let instances: Vec<Instance> = (0..count.min(200))
                .map(|k| {
                    instance.transform[3] = scene[k][0][0];
                    instance
                })
                .collect();
            for quality in QUALITIES {
                World::new(&[&instanced], &instances, quality);
            }
        }
    }
}

#[test]
fn a_target_that_is_too_small_is_refused() {
    let vertices = Guarded::of(&soup(&mut Rng(1), 10, 1.0), Side::Behind);
    let live = Live::default();
    let geometries = [triangles(&vertices, 10)];
    let input = input(&geometries, Quality::FastTrace, &live);
    let memory = Guarded::new(build_sizes(Contents::Triangles, 10).structure as usize - 64, Side::Behind);
    let result = Builder::default().build(memory.memory(), &input, &Workers::default());
    assert_eq!(result, Err(BuildError::TargetTooSmall));
}

#[test]
fn structures_without_primitives_are_empty() {
    let not_a_number = [[[f32::NAN; 3]; 3]; 3];
    let (memory, header) = bottom(&not_a_number, Quality::FastTrace);
    assert_eq!((header.active, header.nodes, header.bounds.is_empty()), (0, 0, true));
    let ray = Ray { origin: [0.0; 3], t_min: 0.0, direction: [0.0, 0.0, 1.0], t_max: 1.0 };
    assert_eq!(World::of(&memory).closest(HostLevel::detect(), 0, &ray).kind, HitKind::None);
    let mut null = Instance::new(&memory);
    null.reference = 0;
    let world = World::new(&[&memory], &[null], Quality::FastBuild);
    assert_eq!((world.header.active, world.closest(HostLevel::detect(), 0, &ray).kind), (0, HitKind::None));
}

/// Vertices of other formats, with strides, offsets, indices of every type and a transform give the
/// triangles that floats without indices give.
#[test]
fn every_kind_of_input_is_read() {
    let half = |value: f32| base::format::float::f32_to_half(value) as u16;
    let corners = [[0.0f32, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]];
    let halves: Vec<[u16; 4]> = corners.map(|[x, y, z]| [half(x), half(y), half(z), 0]).to_vec();
    let floats: Vec<[f32; 5]> = corners.map(|[x, y, z]| [x, y, z, 9.0, 9.0]).to_vec();
    let doubles: Vec<[f64; 3]> = corners.map(|corner| corner.map(f64::from)).to_vec();
    let (halves, floats) = (Guarded::of(&halves, Side::Behind), Guarded::of(&floats, Side::Behind));
    let doubles = Guarded::of(&doubles, Side::Behind);
    let indices_of = [
        (IndexType::Uint8, Guarded::of(&[9u8, 9, 9, 0, 1, 2, 2, 1, 3], Side::Behind), 3),
        (IndexType::Uint16, Guarded::of(&[9u16, 9, 9, 0, 1, 2, 2, 1, 3], Side::Behind), 6),
        (IndexType::Uint32, Guarded::of(&[9u32, 9, 9, 0, 1, 2, 2, 1, 3], Side::Behind), 12),
    ];
    let mut transform = IDENTITY;
    (transform[11], transform[0]) = (5.0, 2.0);
    let ray = Ray { origin: [1.8, 0.9, 0.0], t_min: 0.0, direction: [0.0, 0.0, 1.0], t_max: 100.0 };
    let mut found = Vec::new();
    let kinds = [(&halves, 97, 8), (&floats, 106, 20), (&floats, 109, 20), (&doubles, 118, 24), (&doubles, 121, 24)];
    for (vertices, format, stride) in kinds {
        for (index_type, indices, offset) in &indices_of {
            let data = Triangles {
                vertices: vertices.memory(),
                stride,
                format: Format::from_vk(format).expect("a format"),
                indices: indices.memory().slice(*offset, u64::MAX),
                index_type: *index_type,
                transform: Some(transform),
                micromap: None,
                motion: None,
            };
            let data = GeometryData::Triangles(data);
            let geometry = Geometry { data, primitives: 2, opaque: true };
            let live = Live::default();
            let (memory, header) = build(&input(&[geometry], Quality::FastTrace, &live), None, HostLevel::detect());
            assert_eq!(header.active, 2);
            found.push(World::of(&memory).closest(HostLevel::detect(), 0, &ray));
        }
    }
    assert_eq!((found[0].kind, found[0].primitive, found[0].vertices[2]), (HitKind::Triangle, 1, [2.0, 1.0, 7.0]));
    assert!(found.iter().all(|hit| *hit == found[0]), "{found:?}");
    // Primitives beyond the indices are inactive.
    let (index_type, indices, _) = &indices_of[1];
    let data = Triangles {
        vertices: floats.memory(),
        stride: 20,
        format: Format::from_vk(106).expect("a format"),
        indices: indices.memory(),
        index_type: *index_type,
        transform: None,
        micromap: None,
        motion: None,
    };
    let geometry = Geometry { data: GeometryData::Triangles(data), primitives: 1000, opaque: true };
    let live = Live::default();
    let (_, header) = build(&input(&[geometry], Quality::FastTrace, &live), None, HostLevel::detect());
    assert_eq!(header.active, 2);
}

struct Memories(Vec<DeviceMemory>);
impl AddressSpace for Memories {
    fn memory(&self, address: u64, size: u64) -> Option<DeviceMemory> {
        self.0.iter().copied().find(|memory| memory.address() == address && memory.len() >= size)
    }
}

#[test]
fn arrays_of_pointers_are_arrays_of_instances() {
    let (memory, _) = bottom(&soup(&mut Rng(2), 50, 1.0), Quality::FastTrace);
    let mut instance = Instance::new(&memory);
    let mut instances = Vec::new();
    for i in 0..20 {
        instance.transform[3] = i as f32 * 3.0;
        instances.push(instance);
    }
    let world = World::new(&[&memory], &instances, Quality::FastTrace);
    let words: Vec<Guarded> = instances.iter().map(|one| Guarded::of(&one.words(), Side::Behind)).collect();
    let mut addresses: Vec<u64> = words.iter().map(|one| one.memory().address()).collect();
    let space = Memories(words.iter().map(Guarded::memory).collect());
    let live = Live(vec![memory.memory()]);
    for missing in [false, true] {
        addresses[7] = if missing { 0x1234 } else { addresses[7] };
        let list = Guarded::of(&addresses, Side::Behind);
        let data = GeometryData::Instances(Instances::Pointers(list.memory(), &space));
        let geometry = [Geometry { data, primitives: 20, opaque: false }];
        let (top, header) = build(&input(&geometry, Quality::FastTrace, &live), None, HostLevel::detect());
        assert_eq!(header.active, if missing { 19 } else { 20 });
        assert_eq!(bytes(&top, header.size) == bytes(&world.top, world.header.size), !missing);
    }
}

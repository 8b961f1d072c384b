//! Opacity micromaps: states, special indices, flags, and bytes that are not those of a micromap.

use super::*;
use execution::work_sharing::WorkSharingPool;
use instance_flags::{
    DISABLE_OPACITY_MICROMAPS, FORCE_NO_OPAQUE, FORCE_OPACITY_MICROMAP_2_STATE as TWO_STATES, FORCE_OPAQUE,
};
use rays::ray_flags::*;
use std::sync::atomic::Ordering;

/// Result of a ray that meets a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    Nothing,
    Candidate,
    Committed,
}
use Seen::*;

/// Makes a micromap of triangles with offsets of their states, levels and formats.
fn micromap(triangles: &[(u32, u16, u16)], states: &[u8]) -> Guarded {
    let words: Vec<[u32; 2]> =
        triangles.iter().map(|&(offset, level, format)| [offset, u32::from(level) | u32::from(format) << 16]).collect();
    let usages = triangles.iter().map(|&(_, level, format)| MicromapUsage {
        count: 1,
        level: level.into(),
        format: format.into(),
    });
    let [words, states] = [Guarded::of(&words, Side::Behind), Guarded::of(states, Side::Behind)];
    let memory = Guarded::new(micromap_size(usages) as usize, Side::Behind);
    let input = MicromapInput {
        triangles: words.memory(),
        stride: 8,
        count: triangles.len() as u32,
        states: states.memory(),
        flags: 0,
    };
    let header = build_micromap(memory.memory(), &input, &Workers::default()).expect("a micromap");
    assert_eq!(header.size, memory.memory().len());
    memory
}

/// A triangle at distance 1 with the weights of its second and third vertex as coordinates.
const TRIANGLE: Triangle = [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]];

fn structure_of(micromap: Option<TrianglesMicromap>, opaque: bool) -> (Guarded, Header) {
    let vertices = Guarded::of(&[TRIANGLE], Side::Behind);
    let mut geometry = triangles(&vertices, 1);
    geometry.opaque = opaque;
    if let GeometryData::Triangles(triangles) = &mut geometry.data {
        triangles.micromap = micromap;
    }
    build(&input(&[geometry], Quality::FastTrace, &Live::default()), None, HostLevel::detect())
}

fn of_index(micromap: &Guarded, indices: &Guarded, index_type: IndexType) -> TrianglesMicromap {
    TrianglesMicromap {
        address: micromap.memory().address(),
        indices: indices.memory(),
        index_type,
        stride: 0,
        base: 0,
    }
}

/// Returns what a ray through a point sees of a structure.
fn see(live: &[&Guarded], instance: u32, flags: u32, [x, y]: [f32; 2]) -> Seen {
    let instance = Instance { flags: instance, ..Instance::new(live[0]) };
    let world = World::new(live, &[instance], Quality::FastTrace);
    let ray = Ray { origin: [x, y, 0.0], t_min: 0.0, direction: [0.0, 0.0, 1.0], t_max: 10.0 };
    let mut state = world.begin(flags, 0xff, &ray);
    if state.proceed(&world.scene(HostLevel::detect())) {
        assert!(!state.proceed(&world.scene(HostLevel::detect())));
        return Candidate;
    }
    if state.committed().kind == HitKind::Triangle { Committed } else { Nothing }
}

/// The centres of the four parts of a triangle.
const PARTS: [[f32; 2]; 4] =
    [[1.0 / 6.0, 1.0 / 6.0], [2.0 / 6.0, 2.0 / 6.0], [4.0 / 6.0, 1.0 / 6.0], [1.0 / 6.0, 4.0 / 6.0]];

#[test]
fn states_and_flags_decide_what_is_seen() {
    // The states 0, 1, 2 and 3 in this order.
    let four_states = micromap(&[(0, 1, 2)], &[0b11_10_01_00]);
    let indices = Guarded::of(&[0u32], Side::Behind);
    let with_micromap = Some(of_index(&four_states, &indices, IndexType::Uint32));
    let cases = [
        (0, 0, [Nothing, Committed, Candidate, Candidate]),
        (0, FORCE_OPACITY_MICROMAP_2_STATE, [Nothing, Committed, Nothing, Committed]),
        (TWO_STATES, 0, [Nothing, Committed, Nothing, Committed]),
        (TWO_STATES, NO_OPAQUE, [Nothing, Candidate, Nothing, Candidate]),
        (FORCE_OPAQUE, 0, [Nothing, Committed, Committed, Committed]),
        (FORCE_NO_OPAQUE, 0, [Nothing, Candidate, Candidate, Candidate]),
        (0, OPAQUE, [Nothing, Committed, Committed, Committed]),
        (0, CULL_OPAQUE, [Nothing, Nothing, Candidate, Candidate]),
        (0, CULL_NO_OPAQUE, [Nothing, Committed, Nothing, Nothing]),
    ];
    for opaque in [false, true] {
        let (structure, _) = structure_of(with_micromap, opaque);
        let live = [&structure, &four_states];
        for (instance, flags, seen) in cases {
            assert_eq!(PARTS.map(|part| see(&live, instance, flags, part)), seen, "{instance:x} {flags:x}");
        }
        let by_geometry = if opaque { Committed } else { Candidate };
        let disabled = PARTS.map(|part| see(&live, DISABLE_OPACITY_MICROMAPS | TWO_STATES, 0, part));
        assert_eq!(disabled, [by_geometry; 4]);
        let culled = see(&live, DISABLE_OPACITY_MICROMAPS, if opaque { CULL_OPAQUE } else { CULL_NO_OPAQUE }, PARTS[0]);
        assert_eq!(culled, Nothing);
        // The geometry decides if the micromap is destroyed.
        assert_eq!(PARTS.map(|part| see(&live[..1], 0, 0, part)), [by_geometry; 4]);
    }
}

#[test]
fn special_indices_of_each_type_need_no_micromap() {
    let none = Guarded::new(0, Side::Behind);
    let seen = [Nothing, Committed, Candidate, Candidate];
    for (special, seen) in (1u32..).zip(seen) {
        let index = special.wrapping_neg().to_le_bytes();
        for (index_type, bytes) in [(IndexType::Uint8, 1), (IndexType::Uint16, 2), (IndexType::Uint32, 4)] {
            let indices = Guarded::of(&index[..bytes], Side::Behind);
            let with = TrianglesMicromap { address: 0, base: 7, ..of_index(&none, &indices, index_type) };
            let (structure, _) = structure_of(Some(with), false);
            assert_eq!(see(&[&structure], 0, 0, PARTS[0]), seen, "{index_type:?} -{special}");
        }
    }
}

#[test]
fn indices_select_triangles_of_a_micromap() {
    // One opaque and one transparent triangle of a state each.
    let two = micromap(&[(0, 0, 1), (1, 0, 1), (0, 0, 1)], &[1, 0]);
    let indices = Guarded::of(&[0u8, 0, 1, 0xfb], Side::Behind);
    let with = |index_type, offset, base| TrianglesMicromap {
        indices: indices.memory().slice(offset, u64::MAX),
        base,
        ..of_index(&two, &indices, index_type)
    };
    let cases = [
        (IndexType::Uint8, 0, 0, Committed),
        (IndexType::Uint8, 0, 1, Nothing),
        (IndexType::Uint8, 2, 0, Nothing),
        (IndexType::Uint16, 0, 1, Nothing),
        (IndexType::None, 9, 1, Nothing),
        (IndexType::None, 9, 2, Committed),
        // Triangles that do not exist, and indices that are not in memory.
        (IndexType::Uint8, 0, 3, Candidate),
        (IndexType::Uint8, 3, u32::MAX, Candidate),
        (IndexType::Uint32, 0, 0, Candidate),
        (IndexType::Uint8, 9, 0, Candidate),
        (IndexType::None, 9, u32::MAX, Candidate),
    ];
    for (index_type, offset, base, seen) in cases {
        let (structure, _) = structure_of(Some(with(index_type, offset, base)), false);
        assert_eq!(see(&[&structure, &two], 0, 0, PARTS[0]), seen, "{index_type:?} {offset} {base}");
    }
}

#[test]
fn updates_and_copies_keep_references() {
    let [opaque, transparent] = [1, 0].map(|state| micromap(&[(0, 0, 1)], &[state]));
    let indices = Guarded::of(&[0u8], Side::Behind);
    let (structure, header) = structure_of(Some(of_index(&opaque, &indices, IndexType::Uint8)), false);
    let live = [&structure, &opaque, &transparent];
    assert_eq!(see(&live, 0, 0, PARTS[0]), Committed);
    let vertices = Guarded::of(&[TRIANGLE], Side::Behind);
    let mut geometry = triangles(&vertices, 1);
    if let GeometryData::Triangles(triangles) = &mut geometry.data {
        triangles.micromap = Some(of_index(&transparent, &indices, IndexType::Uint8));
    }
    let none = Live::default();
    update(structure.memory(), structure.memory(), &input(&[geometry], Quality::FastTrace, &none), &Workers::default())
        .expect("an update");
    assert_eq!(see(&live, 0, 0, PARTS[0]), Nothing);

    // The serialized structure has the address of its micromap in a block.
    let version = Version::new([3; 16]);
    let sizes = serialized_sizes(structure.memory());
    assert_eq!((sizes.handles, sizes.size), (0, 56 + 16 + 8 + header.size));
    let data = Guarded::new(sizes.size as usize, Side::Behind);
    serialize(data.memory(), structure.memory(), &version).expect("data");
    let mut words = [0; 32];
    assert!(data.memory().read(48, &mut words));
    let words: Vec<u64> = words.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    assert_eq!(words, [0xffff_ffff_0000_0001, 0, 1, transparent.memory().address()]);
    data.memory().write(72, &opaque.memory().address().to_le_bytes());
    let copy = Guarded::new(header.size as usize, Side::Behind);
    let known = Live(vec![opaque.memory()]);
    deserialize(copy.memory(), data.memory(), &version, &known).expect("a structure");
    assert_eq!(see(&[&copy, &opaque, &transparent], 0, 0, PARTS[0]), Committed);

    // Micromaps are copied and serialized as structures are.
    let sizes = serialized_sizes(opaque.memory());
    let data = Guarded::new(sizes.size as usize, Side::Behind);
    serialize(data.memory(), opaque.memory(), &version).expect("data");
    deserialize(transparent.memory(), data.memory(), &version, &none).expect("a micromap");
    let size = compacted_size(opaque.memory());
    assert!(bytes(&transparent, size) == bytes(&opaque, size));
}

#[test]
fn arbitrary_bytes_of_micromaps_are_not_left() {
    let mut rng = Rng(21);
    let states: Vec<u8> = (0..300).map(|_| rng.next() as u8).collect();
    let indices = Guarded::of(&[1u32], Side::Behind);
    for round in 0..200 {
        let memory = micromap(&[(0, 4, 2), (64, 5, 1)], &states);
        let (structure, header) = structure_of(Some(of_index(&memory, &indices, IndexType::Uint32)), false);
        let structure = Guarded::of(&bytes(&structure, header.size), Side::Behind);
        let end = if round % 2 == 0 { 64 } else { memory.memory().len() as u32 };
        for _ in 0..3 {
            let word = [0, 1, 0xffff, !0, 0x0c00_0000, rng.next()][rng.below(6) as usize];
            memory.memory().write(u64::from(rng.below(end / 4) * 4), &word.to_le_bytes());
        }
        if round % 3 == 0 {
            let offset = 2 + rng.below(46);
            structure.memory().write(header.leaves_offset + u64::from(offset * 4), &rng.next().to_le_bytes());
        }
        for _ in 0..20 {
            see(&[&structure, &memory], 0, 0, [rng.unit(), rng.unit()]);
        }
    }
    // An instance that refers to a micromap, and a micromap that is a structure of triangles.
    let memory = micromap(&[(0, 4, 2)], &states);
    assert_eq!(see(&[&memory], 0, 0, PARTS[0]), Nothing);
    let (other, _) = structure_of(None, true);
    let (structure, _) = structure_of(Some(of_index(&other, &indices, IndexType::Uint32)), true);
    assert_eq!(see(&[&structure, &other], 0, 0, PARTS[0]), Committed);
}

#[test]
fn triangles_without_their_states_have_none() {
    let words = Guarded::of(&[[0u32, 4 | 2 << 16], [0, 13 | 1 << 16], [0, 3 << 16], [u32::MAX, 1 << 16]], Side::Behind);
    let states = Guarded::of(&[0u8; 4], Side::Behind);
    let mut input = MicromapInput { triangles: words.memory(), stride: 8, count: 6, states: states.memory(), flags: 0 };
    let memory = Guarded::new(128 + 6 * 8, Side::Behind);
    build_micromap(memory.memory(), &input, &Workers::default()).expect("a micromap");
    let indices = Guarded::of(&[0u8, 1, 2, 3, 4, 5, 6], Side::Behind);
    for offset in 0..7 {
        let with = TrianglesMicromap {
            indices: indices.memory().slice(offset, u64::MAX),
            ..of_index(&memory, &indices, IndexType::Uint8)
        };
        let (structure, _) = structure_of(Some(with), false);
        assert_eq!(see(&[&structure, &memory], 0, 0, PARTS[1]), Candidate, "{offset}");
    }
    input.count = 7;
    assert_eq!(build_micromap(memory.memory(), &input, &Workers::default()), Err(BuildError::TargetTooSmall));
}

/// Returns triangles of levels 0 to 5 and both formats, with the size of their states.
fn many_triangles(count: u32) -> (Vec<[u32; 2]>, u32) {
    let mut end = 0;
    let mut words = Vec::new();
    for i in 0..count {
        let (level, format) = (i % 6, 1 + i / 6 % 2);
        words.push([end, level | format << 16]);
        end += ((format << (2 * level)) as u64).div_ceil(8) as u32;
    }
    (words, end)
}

#[test]
fn micromaps_do_not_depend_on_threads() {
    let mut rng = Rng(4);
    let (words, end) = many_triangles(5000);
    let states: Vec<u8> = (0..end).map(|_| rng.next() as u8).collect();
    let (words, states) = (Guarded::of(&words, Side::Behind), Guarded::of(&states, Side::Behind));
    let input = MicromapInput { triangles: words.memory(), stride: 8, count: 5000, states: states.memory(), flags: 0 };
    let (size, abort) = (128 + 5000 * 8 + u64::from(end), AtomicU32::new(0));
    let built = [0, 1, 2, 8].map(|threads| {
        let pool = WorkSharingPool::new(threads);
        let threads = (threads > 0).then_some(&pool);
        let memory = Guarded::new(size as usize, Side::Behind);
        let workers = Workers { threads, abort: &abort, ..Workers::default() };
        abort.store(1, Ordering::Relaxed);
        assert_eq!(build_micromap(memory.memory(), &input, &workers), Err(BuildError::Aborted));
        abort.store(0, Ordering::Relaxed);
        assert_eq!(build_micromap(memory.memory(), &input, &workers).map(|header| header.size), Ok(size));
        bytes(&memory, size)
    });
    // States follow the triangles in the order of the input.
    assert!(built[0][128 + 5000 * 8..] == bytes(&states, end.into()));
    assert!(built.iter().all(|bytes| *bytes == built[0]));
}

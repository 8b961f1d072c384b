//! Flags of rays, instances and geometries.

use super::*;
use rays::ray_flags::*;

/// Makes a world with a triangle at distance 1, whose front the ray sees, and one at distance 2,
/// whose back it sees. The former is opaque, if the flags of the instance do not say otherwise.
fn world(flags: u32, mask: u32) -> (Guarded, World) {
    let front: Triangle = [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]];
    let back: Triangle = [[0.0, 0.0, 2.0], [1.0, 0.0, 2.0], [0.0, 1.0, 2.0]];
    let vertices = [Guarded::of(&[front], Side::Behind), Guarded::of(&[back], Side::Behind)];
    let mut geometries = [triangles(&vertices[0], 1), triangles(&vertices[1], 1)];
    geometries[1].opaque = false;
    let live = Live::default();
    let (memory, _) = build(&input(&geometries, Quality::FastTrace, &live), None, HostLevel::detect());
    let instance = Instance { flags, mask, ..Instance::new(&memory) };
    let world = World::new(&[&memory], &[instance], Quality::FastTrace);
    (memory, world)
}

const RAY: Ray = Ray { origin: [0.25, 0.25, 0.0], t_min: 0.0, direction: [0.0, 0.0, 1.0], t_max: 10.0 };

/// Returns the geometries that are candidates, and the one that is committed without a decision.
fn seen(instance_flags: u32, flags: u32) -> (Vec<u32>, Option<u32>) {
    let (_memory, world) = world(instance_flags, 0xff);
    let mut state = world.begin(flags, 0xff, &RAY);
    let mut candidates = Vec::new();
    while state.proceed(&world.scene(HostLevel::detect())) {
        candidates.push(state.candidate().geometry);
    }
    let committed = state.committed();
    (candidates, (committed.kind == HitKind::Triangle).then_some(committed.geometry))
}

#[test]
fn flags_decide_what_is_seen() {
    let both = || vec![0, 1];
    let cases = [
        (0, 0, vec![], Some(0)),
        (0, OPAQUE, vec![], Some(0)),
        (0, NO_OPAQUE, both(), None),
        (0, CULL_OPAQUE, vec![1], None),
        (0, CULL_NO_OPAQUE, vec![], Some(0)),
        (0, CULL_BACK_FACING_TRIANGLES, vec![], Some(0)),
        (0, CULL_FRONT_FACING_TRIANGLES, vec![1], None),
        (0, CULL_FRONT_FACING_TRIANGLES | OPAQUE, vec![], Some(1)),
        (0, SKIP_TRIANGLES, vec![], None),
        (0, SKIP_AABBS, vec![], Some(0)),
        (0, TERMINATE_ON_FIRST_HIT, vec![], Some(0)),
        (instance_flags::FORCE_OPAQUE, 0, vec![], Some(0)),
        (instance_flags::FORCE_NO_OPAQUE, 0, both(), None),
        (instance_flags::FORCE_NO_OPAQUE, OPAQUE, vec![], Some(0)),
        (instance_flags::FORCE_OPAQUE, NO_OPAQUE, both(), None),
        (instance_flags::FORCE_OPAQUE, CULL_OPAQUE, vec![], None),
        (instance_flags::TRIANGLE_FLIP_FACING, CULL_BACK_FACING_TRIANGLES, vec![1], None),
        (instance_flags::TRIANGLE_FACING_CULL_DISABLE, CULL_FRONT_FACING_TRIANGLES, vec![], Some(0)),
    ];
    for (instance, flags, candidates, committed) in cases {
        // Candidates behind the committed hit may or may not be seen, depending on the tree.
        let (found, hit) = seen(instance, flags);
        let in_order: Vec<u32> = found.iter().copied().filter(|&one| hit.is_none_or(|hit| one < hit)).collect();
        assert_eq!((in_order, hit), (candidates, committed), "{instance:x} {flags:x}");
    }
}

#[test]
fn masks_select_instances() {
    let (_memory, world) = world(0, 0x0f);
    for (mask, kind) in [(0xf0, HitKind::None), (0xf1, HitKind::Triangle), (0x1f0, HitKind::None)] {
        let mut state = world.begin(OPAQUE, mask, &RAY);
        assert!(!state.proceed(&world.scene(HostLevel::detect())));
        assert_eq!(state.committed().kind, kind, "{mask:x}");
    }
}

#[test]
fn facing_is_that_of_the_specification() {
    let (_memory, world) = world(0, 0xff);
    let hits = world.candidates(0, &RAY);
    let facing: Vec<(u32, u32)> = hits.iter().map(|hit| (hit.geometry, hit.front_facing)).collect();
    assert_eq!(facing, [(0, 1), (1, 0)]);
    let from_behind = Ray { origin: [0.25, 0.25, 3.0], direction: [0.0, 0.0, -1.0], ..RAY };
    let mut facing: Vec<(u32, u32)> =
        world.candidates(0, &from_behind).iter().map(|hit| (hit.geometry, hit.front_facing)).collect();
    facing.sort_unstable();
    assert_eq!(facing, [(0, 0), (1, 1)]);
    assert_eq!(hits[0].barycentrics, [0.25, 0.25]);
}

#[test]
fn a_query_ends_when_it_is_told_to() {
    let (_memory, world) = world(0, 0xff);
    let scene = world.scene(HostLevel::detect());
    let mut ended = Traversal::ENDED;
    assert!(!ended.proceed(&scene));
    let mut state = world.begin(NO_OPAQUE | TERMINATE_ON_FIRST_HIT, 0xff, &RAY);
    assert!(state.proceed(&scene));
    state.confirm_intersection();
    assert!(!state.proceed(&scene) && state.committed().kind == HitKind::Triangle);
    let mut state = world.begin(NO_OPAQUE, 0xff, &RAY);
    assert!(state.proceed(&scene));
    state.terminate();
    assert!(!state.proceed(&scene) && state.committed().kind == HitKind::None);
    world.abort.store(1, std::sync::atomic::Ordering::Relaxed);
    let mut state = world.begin(NO_OPAQUE, 0xff, &RAY);
    assert!(!state.proceed(&scene));
}

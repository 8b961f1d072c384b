//! Tests of the properties that the specification demands of every division.

use super::spacing::{Coordinate, Division, ONE, Spacing};
use super::{Domain, TessellationLevels, TessellationMode, TessellationPattern};
use base::random::XorshiftStar as Rng;
use std::collections::{BTreeMap, BTreeSet};

const SPACINGS: [Spacing; 3] = [Spacing::Equal, Spacing::FractionalEven, Spacing::FractionalOdd];
type Point = [Coordinate; 2];

fn made(mode: TessellationMode, levels: &TessellationLevels) -> TessellationPattern {
    let mut pattern = TessellationPattern::default();
    pattern.make(mode, levels);
    pattern
}

fn mode(domain: Domain, spacing: Spacing) -> TessellationMode {
    TessellationMode { domain, spacing, positive: true, points: false }
}

/// Returns all modes of areas with levels: the minimal ones, pairs, then random ones.
fn divisions() -> impl Iterator<Item = (TessellationMode, TessellationLevels)> {
    let mut rng = Rng::new(7);
    let mut any = move || [0.5, 1.0, 1.5, 2.0, 2.7, 3.0, 4.0, 5.2, 7.0, 17.3, 63.5, 64.0, 80.0][rng.below(13)];
    let some = [1.0, 1.2, 2.0, 3.0].into_iter().flat_map(|a| [1.0, 2.0, 3.5].map(|b| (a, b)));
    let mut levels: Vec<_> = some.map(|(a, b)| TessellationLevels { outer: [a; 4], inner: [b, a] }).collect();
    levels.extend((0..200).map(|_| TessellationLevels { outer: [0; 4].map(|_| any()), inner: [any(), any()] }));
    let modes = [Domain::Triangles, Domain::Quads].into_iter().flat_map(|d| SPACINGS.map(|s| mode(d, s)));
    modes.flat_map(move |m| levels.clone().into_iter().map(move |l| (m, l)))
}

fn triangles(pattern: &TessellationPattern) -> Vec<[Point; 3]> {
    let point = |&i: &u32| pattern.vertices[i as usize];
    pattern.primitives.as_chunks::<3>().0.iter().map(|corners| corners.each_ref().map(point)).collect()
}

/// Returns twice the signed area.
fn area(t: &[Point; 3]) -> i64 {
    let [a, b, c] = t.map(|p| p.map(i64::from));
    (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
}

fn whole(domain: Domain) -> i64 {
    let one = i64::from(ONE);
    if domain == Domain::Quads { 2 * one * one } else { one * one }
}

/// Tests that triangles neither overlap nor leave gaps. No triangle is turned, and their areas add
/// up to the domain's. Every side lies between two triangles or on the rim, which is divided as the
/// outer levels demand.
#[test]
fn triangles_cover_the_domain_once() {
    for (mode, levels) in divisions() {
        let pattern = made(mode, &levels);
        let all = triangles(&pattern);
        let what = format!("{mode:?} {levels:?}");
        assert!(all.iter().all(|t| area(t) >= 0), "{what}");
        assert_eq!(all.iter().map(area).sum::<i64>(), whole(mode.domain), "{what}");
        let mut sides = BTreeMap::<(u32, u32), i32>::new();
        for corners in pattern.primitives.as_chunks::<3>().0 {
            for i in 0..3 {
                let (a, b) = (corners[i], corners[(i + 1) % 3]);
                *sides.entry((a.min(b), a.max(b))).or_default() += if a < b { 1 } else { -1 };
            }
        }
        let rim = sides.values().filter(|&&n| n != 0).count() as u32;
        let outer = &levels.outer[..mode.domain.outer_levels()];
        assert_eq!(rim, outer.iter().map(|&l| Division::new(l, mode.spacing).segments).sum::<u32>(), "{what}");
        let used: BTreeSet<_> = pattern.primitives.iter().collect();
        assert_eq!(used.len(), pattern.vertices.len(), "{what}: a vertex of no triangle");
    }
}

/// Returns true if a point lies on an edge of the domain, where a coordinate is 0 or 1.
fn on_edge(domain: Domain, edge: usize, [u, v]: Point) -> bool {
    match (domain, edge) {
        (_, 0) => u == 0,
        (_, 1) => v == 0,
        (Domain::Triangles, _) => u + v == ONE,
        (_, 2) => u == ONE,
        _ => v == ONE,
    }
}

fn sorted(triangles: impl IntoIterator<Item = [Point; 3]>) -> Vec<[Point; 3]> {
    let mut all: Vec<_> = triangles.into_iter().collect();
    all.iter_mut().for_each(|t| t.sort_unstable());
    all.sort_unstable();
    all
}

/// Tests rules 2 and 4: an outer edge has the vertices of its own level. (A test of the division
/// covers rule 3, symmetry.)
#[test]
fn an_outer_edge_is_its_own_levels() {
    for (mode, levels) in divisions() {
        let pattern = made(mode, &levels);
        for edge in 0..mode.domain.outer_levels() {
            let along =
                |[u, v]: Point| if edge % 2 == 0 && !(mode.domain == Domain::Triangles && edge == 2) { v } else { u };
            let division = Division::new(levels.outer[edge], mode.spacing);
            let expected: BTreeSet<_> = division.vertices().collect();
            let on = pattern.vertices.iter().filter(|&&p| on_edge(mode.domain, edge, p));
            let found: BTreeSet<_> = on.map(|&p| along(p)).collect();
            assert_eq!(found, expected, "{mode:?} {levels:?}, edge {edge}");
        }
    }
}

/// Tests rules 6 and 5: triangles inside do not depend on outer levels, and no triangles depend on
/// the orientation.
#[test]
fn the_inside_is_of_the_inner_levels() {
    for (mode, levels) in divisions().filter(|(_, l)| l.inner.iter().all(|&i| i > 2.0) || l.inner == [1.0; 2]) {
        let inside = |outer: [f32; 4]| {
            let pattern = made(mode, &TessellationLevels { outer, ..levels });
            let rim = |p: Point| (0..mode.domain.outer_levels()).any(|e| on_edge(mode.domain, e, p));
            sorted(triangles(&pattern).into_iter().filter(|t| !t.iter().any(|&p| rim(p))))
        };
        assert_eq!(inside(levels.outer), inside([3.0, 9.5, 1.0, 4.0]), "{mode:?} {levels:?}");
        assert_eq!(inside(levels.outer), inside([1.0; 4]), "{mode:?} {levels:?}");
        let turned = triangles(&made(TessellationMode { positive: false, ..mode }, &levels));
        assert!(turned.iter().all(|t| area(t) <= 0));
        assert_eq!(sorted(turned), sorted(triangles(&made(mode, &levels))), "{mode:?} {levels:?}");
    }
}

/// Triangles of a grid lie between two rings around its middle; one at a corner does not have all
/// of its vertices in one ring.
#[test]
fn rings_have_mitred_corners() {
    let levels = TessellationLevels { outer: [8.0; 4], inner: [8.0; 2] };
    let ring = |p: Point| p.map(|x| x.min(ONE - x) / (ONE / 8)).into_iter().min();
    for t in triangles(&made(mode(Domain::Quads, Spacing::Equal), &levels)) {
        assert!(t.iter().any(|&p| ring(p) != ring(t[0])), "{t:?}");
    }
}

/// The specification leaves diagonals open. These are those of the images of the CTS
/// (`shader_object.misc.tessellation_modes.{one.equal,one.odd,two.odd}` and
/// `shader_object.tessellation.*.spacing_fractional_odd`): of a rectangle that is not divided, of
/// the middle one of three by three, and of the ones at its edges.
#[test]
fn diagonals_are_those_of_other_drivers() {
    let made_with = |level: f32| {
        let levels = TessellationLevels { outer: [level; 4], inner: [level; 2] };
        triangles(&made(mode(Domain::Quads, Spacing::Equal), &levels))
    };
    let has =
        |all: &[[Point; 3]], ends: [Point; 2]| all.iter().filter(|t| ends.iter().all(|end| t.contains(end))).count();
    assert_eq!(has(&made_with(1.0), [[ONE, 0], [0, ONE]]), 2);
    let all = made_with(3.0);
    let (low, high) = (Division::new(3.0, Spacing::Equal).vertex(1), Division::new(3.0, Spacing::Equal).vertex(2));
    assert_eq!(has(&all, [[high, low], [low, high]]), 2);
    for (outer, inner) in
        [([low, 0], [high, low]), ([ONE, low], [high, high]), ([high, ONE], [low, high]), ([0, high], [low, low])]
    {
        assert_eq!(has(&all, [outer, inner]), 2, "{outer:?} {inner:?}");
    }
}

/// Tests rule 7: the triangles at an edge depend on its own levels.
#[test]
fn the_triangles_at_an_edge_are_of_its_levels() {
    for (mode, levels) in divisions().filter(|(_, l)| l.inner.iter().all(|&i| i > 2.0)) {
        let at = |edge: usize, outer: [f32; 4]| {
            let touches = |t: &[Point; 3]| t.iter().filter(|&&p| on_edge(mode.domain, edge, p)).count() >= 2;
            sorted(triangles(&made(mode, &TessellationLevels { outer, ..levels })).into_iter().filter(touches))
        };
        for edge in 0..mode.domain.outer_levels() {
            let mut other = [5.0, 2.5, 11.0, 1.0];
            other[edge] = levels.outer[edge];
            assert_eq!(at(edge, levels.outer), at(edge, other), "{mode:?} {levels:?}, edge {edge}");
        }
    }
}

#[test]
fn the_numbers_of_primitives_are_the_specifications() {
    let equal = |domain, outer, inner| made(mode(domain, Spacing::Equal), &TessellationLevels { outer, inner });
    let count = |domain, outer, inner| equal(domain, outer, inner).primitives.len() / 3;
    assert_eq!(count(Domain::Triangles, [1.0; 4], [1.0; 2]), 1);
    assert_eq!(count(Domain::Triangles, [1.0; 4], [2.0; 2]), 3);
    assert_eq!(count(Domain::Triangles, [2.0; 4], [1.0; 2]), 6);
    assert_eq!(count(Domain::Triangles, [5.0; 4], [5.0; 2]), 37);
    assert_eq!(count(Domain::Triangles, [64.0; 4], [64.0; 2]), 6 * 32 * 32);
    assert_eq!(count(Domain::Quads, [1.0; 4], [1.0; 2]), 2);
    assert_eq!(count(Domain::Quads, [1.0; 4], [2.0, 1.0]), 4);
    assert_eq!(count(Domain::Quads, [64.0; 4], [64.0; 2]), 2 * 64 * 64);
    assert_eq!(count(Domain::Quads, [7.0, 4.0, 7.0, 4.0], [4.0, 7.0]), 2 * 28);
    let lines = equal(Domain::Isolines, [4.0, 3.0, 0.0, 0.0], [0.0; 2]);
    assert_eq!((lines.primitives.len() / 2, lines.vertices.len()), (12, 16));
    assert_eq!(lines.vertices.last(), Some(&[ONE, ONE / 4 * 3]));
    for level in [0.0, -1.0, f32::NAN] {
        assert_eq!(equal(Domain::Quads, [1.0, 1.0, level, 1.0], [3.0; 2]), TessellationPattern::default());
        assert_eq!(count(Domain::Triangles, [1.0, 1.0, 1.0, level], [1.0; 2]), 1, "a level that is not looked at");
    }
}

#[test]
fn points_are_the_vertices() {
    for (mode, levels) in divisions() {
        let areas = made(mode, &levels);
        let points = made(TessellationMode { points: true, ..mode }, &levels);
        assert_eq!(points.vertices, areas.vertices);
        assert_eq!(points.primitives, (0..areas.vertices.len() as u32).collect::<Vec<_>>());
    }
}

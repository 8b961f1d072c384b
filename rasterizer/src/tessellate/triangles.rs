//! The division of the triangle into rings of concentric triangles.
//!
//! Corners are named by the coordinate that is 1 there. Rings are visited in the order w → u → v →
//! w, which is positive in (u, v). The edges therefore come as v = 0, w = 0, u = 0. A ring begins
//! where the perpendiculars on two edges, through their `r`-th vertices at `t` from the corner,
//! meet: at (1 - 4t/3, 2t/3, 2t/3).

#![forbid(unsafe_code)]

use super::spacing::{Coordinate, Division, ONE, Spacing};
use super::strip::ChainVertex;
use super::{TessellationLevels, TessellationPattern};

/// Outer levels in the order in which edges are visited.
const EDGES: [usize; 3] = [1, 2, 0];

/// Returns a point of edge `edge` by its coordinates at the corners where the edge begins and ends;
/// the third coordinate is the rest.
fn point(edge: usize, begin: Coordinate, end: Coordinate) -> [Coordinate; 2] {
    let rest = ONE - begin - end;
    match edge {
        0 => [end, rest],
        1 => [begin, end],
        _ => [rest, begin],
    }
}

/// Divides the triangle; see [`TessellationPattern::make`].
pub fn divide(pattern: &mut TessellationPattern, spacing: Spacing, levels: &TessellationLevels) {
    let outer = EDGES.map(|i| Division::new(levels.outer[i], spacing));
    let inner = Division::new(levels.inner[0], spacing);
    if inner.segments == 1 && outer.iter().all(|d| d.segments == 1) {
        pattern.vertices.extend([[0, 0], [ONE, 0], [0, ONE]]);
        pattern.primitives.extend([0, 1, 2]);
        return;
    }
    let inner = inner.closed(spacing);
    let mut around = outermost(pattern, &outer);
    for number in 1..=inner.segments / 2 {
        let next = ring(pattern, inner, number);
        for (outside, inside) in around.iter().zip(&next) {
            pattern.strip(outside, inside);
        }
        around = next;
    }
    if inner.segments % 2 == 1 {
        pattern.primitives.extend(around.map(|edge| edge[0].1));
    }
}

/// Makes the vertices of a closed ring. `edge` returns the positions along an edge and its vertices
/// up to the next corner, which is the next edge's first.
fn closed(
    pattern: &mut TessellationPattern,
    mut edge: impl FnMut(usize) -> Vec<(Coordinate, [Coordinate; 2])>,
    ends: [Coordinate; 3],
) -> [Vec<ChainVertex>; 3] {
    let mut chains: [Vec<ChainVertex>; 3] =
        [0, 1, 2].map(|e| edge(e).into_iter().map(|(along, at)| (along, pattern.vertex(at))).collect());
    for e in 0..3 {
        let corner = chains[(e + 1) % 3][0].1;
        chains[e].push((ends[e], corner));
    }
    chains
}

fn outermost(pattern: &mut TessellationPattern, divisions: &[Division; 3]) -> [Vec<ChainVertex>; 3] {
    let edge = |e: usize| {
        let division: Division = divisions[e];
        (0..division.segments).map(|i| division.vertex(i)).map(|x| (x, point(e, ONE - x, x))).collect()
    };
    closed(pattern, edge, [ONE; 3])
}

/// Makes ring `number` of an inner division: the vertices `number` to `segments - number` of its
/// edges.
fn ring(pattern: &mut TessellationPattern, division: Division, number: u32) -> [Vec<ChainVertex>; 3] {
    let last = division.segments - number;
    if number == last {
        let centre = pattern.vertex([ONE / 3; 2]);
        return [0; 3].map(|_| vec![(ONE / 2, centre)]);
    }
    let third = (division.vertex(number) + 1) / 3;
    let edge = |e: usize| {
        let vertex = |i: u32| {
            let along = division.vertex(i);
            // The corner's own place is the same for both of its edges.
            let end = if i == number { 2 * third } else { along - third };
            (along, point(e, ONE - 2 * third - end, end))
        };
        (number..last).map(vertex).collect()
    };
    closed(pattern, edge, [division.vertex(last); 3])
}

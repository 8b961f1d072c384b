//! The division of the rectangle: a grid inside, and strips between its rim and the edges.
//!
//! The edges are visited in the order v = 0, u = 1, v = 1, u = 0, which is positive in (u, v).

#![forbid(unsafe_code)]

use super::spacing::{Coordinate, Division, ONE, Spacing};
use super::strip::ChainVertex;
use super::{TessellationLevels, TessellationPattern};

/// Outer levels in the order in which edges are visited.
const EDGES: [usize; 4] = [1, 2, 3, 0];

/// Returns the point of an edge at a distance along it.
fn point(edge: usize, along: Coordinate) -> [Coordinate; 2] {
    match edge {
        0 => [along, 0],
        1 => [ONE, along],
        2 => [ONE - along, ONE],
        _ => [0, ONE - along],
    }
}

/// Divides the rectangle; see [`TessellationPattern::make`].
pub fn divide(pattern: &mut TessellationPattern, spacing: Spacing, levels: &TessellationLevels) {
    let outer = EDGES.map(|i| Division::new(levels.outer[i], spacing));
    let inner = levels.inner.map(|level| Division::new(level, spacing));
    if outer.iter().chain(&inner).all(|d| d.segments == 1) {
        pattern.vertices.extend([[0, 0], [ONE, 0], [ONE, ONE], [0, ONE]]);
        pattern.primitives.extend([0, 1, 3, 1, 2, 3]);
        return;
    }
    // If both inner levels are minimal, nothing lies between their outermost vertices and the
    // edges; if one is, an inner vertex must not be on an edge.
    let min = inner.iter().all(|d| d.segments == 1);
    let inner = inner.map(|division| if min { division.closed(spacing) } else { division.at_least_two(spacing) });
    let grid = InnerGrid::new(pattern, inner);
    let first = pattern.vertices.len() as u32;
    let mut next = first;
    for (edge, division) in outer.into_iter().enumerate() {
        let begin = next;
        let places = division.vertices().take(division.segments as usize);
        pattern.vertices.extend(places.map(|along| point(edge, along)));
        next = pattern.vertices.len() as u32;
        let corner = if edge == 3 { first } else { next };
        let numbers = (begin..next).chain([corner]);
        let outside: Vec<ChainVertex> = division.vertices().zip(numbers).collect();
        pattern.strip(&outside, &grid.rim(edge));
    }
}

/// The vertices inside, row by row.
struct InnerGrid {
    divisions: [Division; 2],
    first: u32,
}

impl InnerGrid {
    /// Makes the grid's vertices and the triangles of its rectangles.
    fn new(pattern: &mut TessellationPattern, divisions: [Division; 2]) -> InnerGrid {
        let grid = InnerGrid { divisions, first: pattern.vertices.len() as u32 };
        let [columns, rows] = divisions.map(|d| d.segments);
        // The columns are computed once, because there are many rows.
        let along: Vec<Coordinate> = (1..columns).map(|i| divisions[0].vertex(i)).collect();
        for j in 1..rows {
            let v = divisions[1].vertex(j);
            pattern.vertices.extend(along.iter().map(|&u| [u, v]));
        }
        for j in 1..rows - 1 {
            for i in 1..columns - 1 {
                let [a, b, c, d] = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map(|at| grid.number(at));
                // Diagonals run towards the middle, so that rings around it have mitred corners.
                // That of the middle itself is the one of a rectangle that is not divided.
                let is_middle = [2 * i + 1, 2 * j + 1] == [columns, rows];
                if !is_middle && (2 * i + 1 < columns) == (2 * j + 1 < rows) {
                    pattern.primitives.extend([a, b, c, a, c, d]);
                } else {
                    pattern.primitives.extend([a, b, d, b, c, d]);
                }
            }
        }
        grid
    }

    fn number(&self, [i, j]: [u32; 2]) -> u32 {
        self.first + (j - 1) * (self.divisions[0].segments - 1) + i - 1
    }

    /// Returns the vertices that face an edge, in the edge's direction.
    fn rim(&self, edge: usize) -> Vec<ChainVertex> {
        let [columns, rows] = self.divisions.map(|d| d.segments);
        let division = self.divisions[edge % 2];
        (1..division.segments)
            .map(|i| {
                let back = division.segments - i;
                let at = [[i, 1], [columns - 1, i], [back, rows - 1], [1, back]][edge];
                (division.vertex(i), self.number(at))
            })
            .collect()
    }
}

//! Outcodes and screen positions of shaded vertices, a chunk of lanes at a time.
//!
//! The stage leaves its outputs as `[chunk][slot][lane]`, so the positions of a chunk are four
//! rows, which are processed by loops over lanes. Vertices that name another viewport are projected
//! again one by one (see [`project`]).

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::plan::FrontDraw;
use super::stream::{Batch, ShadedVertices};
use super::viewport::{Projected, Transform, code};
use crate::prim::{ScreenVertex, transposed};
use crate::stages::{Linkage, NO_SLOT};

/// A shaded vertex, ready for assembly. (Clipping reads clip coordinates from the stage's outputs:
/// [`position`].)
#[derive(Clone, Copy, Debug, Default)]
pub struct ProjectedVertex {
    /// Projection, unless [`code::UNPROJECTED`].
    pub screen: ScreenVertex,
    /// Outcodes (see [`code`]).
    pub codes: u32,
    /// Viewport of `screen` and `codes`.
    pub viewport: u32,
}

/// Projects the vertices of a batch; they stay for further batches of the same vertices.
#[inline(always)]
pub fn finish(draw: FrontDraw<'_>, batch: &Batch<'_>, out: &mut Vec<ProjectedVertex>) {
    if batch.same_vertices {
        return;
    }
    let (linkage, shaded, count) = (draw.linkage(), batch.shaded, batch.vertices);
    let first = draw.plan.viewports.first().filter(|_| linkage.viewport == NO_SLOT);
    match (first, shaded.layout.lanes(), batch.written) {
        (Some(transform), _, Some(made)) => listed::<8>(linkage, transform, shaded, out, (made, count)),
        (Some(transform), 8, _) => chunks::<8, true>(linkage, transform, shaded, out, count),
        (Some(transform), 4, _) => chunks::<4, true>(linkage, transform, shaded, out, count),
        (Some(transform), ..) => chunks::<8, false>(linkage, transform, shaded, out, count),
        _ => {
            out.clear();
            out.extend((0..count).map(|v| single(draw, shaded, v)));
        }
    }
}

/// Makes space for `count` vertices at once, because each push would check the capacity. Old values
/// stay in the space.
#[inline(always)]
fn reserve_vertices(out: &mut Vec<ProjectedVertex>, count: usize) -> &mut [ProjectedVertex] {
    if out.len() < count {
        out.resize(count, ProjectedVertex::default());
    }
    &mut out[..count]
}

/// Projects the `made` ones of `count` vertices.
#[inline(always)]
fn listed<const N: usize>(
    linkage: &Linkage,
    transform: &Transform,
    shaded: ShadedVertices<'_>,
    out: &mut Vec<ProjectedVertex>,
    (made, count): (&[u32], usize),
) {
    let distant = !linkage.clip.is_empty() || !linkage.cull.is_empty();
    let out = reserve_vertices(out, count);
    for numbers in made.chunks(N) {
        let bases: [usize; N] = core::array::from_fn(|i| shaded.base(numbers[i.min(numbers.len() - 1)] as usize));
        let mut p = [[0f32; N]; 4];
        for (row, &slot) in p.iter_mut().zip(&linkage.position).filter(|(_, slot)| **slot != NO_SLOT) {
            for i in 0..N {
                row[i] = f32::from_bits(shaded.slot(bases[i], slot));
            }
        }
        let vertices = vertices(&transform.lanes(&p));
        for (i, &number) in numbers.iter().enumerate().take(N) {
            let to = &mut out[number as usize];
            *to = vertices[i];
            if distant {
                to.codes |= distances(linkage, shaded, number as usize);
            }
        }
    }
}

/// Converts lanes to vertices, four at a time.
#[inline(always)]
fn vertices<const N: usize>(lanes: &Projected<N>) -> [ProjectedVertex; N] {
    let mut to = [ProjectedVertex::default(); N];
    for first in (0..N / 4 * 4).step_by(4) {
        let mut rows = [[0; 4]; 4];
        for k in 0..4 {
            let i = first + k;
            (rows[0][k], rows[1][k]) = (lanes.x[i] as u32, lanes.y[i] as u32);
            (rows[2][k], rows[3][k]) = (lanes.z[i].to_bits(), lanes.inv_w[i].to_bits());
        }
        for (k, words) in transposed(rows).into_iter().enumerate() {
            to[first + k] =
                ProjectedVertex { screen: ScreenVertex::from_words(words), codes: lanes.codes[first + k], viewport: 0 };
        }
    }
    to
}

/// Projects vertices in chunks of lanes;
/// `ROWS` means that the vertices are stored in chunks of `N`.
#[inline(always)]
fn chunks<const N: usize, const ROWS: bool>(
    linkage: &Linkage,
    transform: &Transform,
    shaded: ShadedVertices<'_>,
    out: &mut Vec<ProjectedVertex>,
    count: usize,
) {
    let distant = !linkage.clip.is_empty() || !linkage.cull.is_empty();
    let out = reserve_vertices(out, count.next_multiple_of(N));
    for (chunk, to) in out.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        let first = chunk * N;
        let mut p = [[0f32; N]; 4];
        for (row, &slot) in p.iter_mut().zip(&linkage.position) {
            if slot != NO_SLOT && !ROWS {
                for i in 0..N {
                    row[i] = f32::from_bits(shaded.get((first + i).min(count - 1), slot));
                }
            } else if slot != NO_SLOT {
                let words = shaded.row(first, slot);
                for i in 0..N {
                    row[i] = f32::from_bits(words[i]);
                }
            }
        }
        *to = vertices(&transform.lanes(&p));
        if distant {
            for i in 0..N {
                let v = if ROWS { first + i } else { (first + i).min(count - 1) };
                to[i].codes |= distances(linkage, shaded, v);
            }
        }
    }
}

/// Returns the outcodes of the user's clip and cull distances.
#[inline(always)]
fn distances(linkage: &Linkage, shaded: ShadedVertices<'_>, v: usize) -> u32 {
    let negative = |slots: &[u16]| {
        slots.iter().enumerate().fold(0u32, |bits, (i, &s)| {
            let d = f32::from_bits(shaded.get(v, s));
            bits | u32::from(d.is_nan() || d < 0.0) << i
        })
    };
    negative(&linkage.clip) << code::USER_SHIFT | negative(&linkage.cull) << code::CULL_SHIFT
}

/// Returns the clip coordinates of a vertex.
pub fn position(linkage: &Linkage, shaded: ShadedVertices<'_>, v: usize) -> [f32; 4] {
    let mut position = [0f32; 4];
    for (p, &slot) in position.iter_mut().zip(&linkage.position) {
        *p = shaded.float(v, slot, 0.0);
    }
    position
}

/// Returns the outcodes and the projection of a vertex under the viewport that it names.
fn single(draw: FrontDraw<'_>, shaded: ShadedVertices<'_>, v: usize) -> ProjectedVertex {
    let linkage = draw.linkage();
    let viewport = if linkage.viewport == NO_SLOT { 0 } else { shaded.get(v, linkage.viewport) };
    project(draw, position(linkage, shaded, v), viewport, distances(linkage, shaded, v))
}

/// Projects a vertex at clip coordinates under a viewport. If the viewport does not exist, the
/// vertex stays unprojected and is marked to be dropped.
pub fn project(draw: FrontDraw<'_>, position: [f32; 4], viewport: u32, distances: u32) -> ProjectedVertex {
    let Some(transform) = draw.plan.viewports.get(viewport as usize) else {
        return ProjectedVertex { codes: code::NAN | code::UNPROJECTED, viewport, ..ProjectedVertex::default() };
    };
    let lanes = transform.lanes(&position.map(|p| [p]));
    ProjectedVertex {
        screen: ScreenVertex { x: lanes.x[0], y: lanes.y[0], z: lanes.z[0], inv_w: lanes.inv_w[0] },
        codes: lanes.codes[0] | distances,
        viewport,
    }
}

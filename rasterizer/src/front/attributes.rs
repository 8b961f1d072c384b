//! Attribute rows: the values of a primitive's vertices in the form that its fragments interpolate.

#![forbid(unsafe_code)]

use super::setup::{HalfRectangle, PrimitiveCommon};
use super::stream::ShadedVertices;
use super::vertex_order::OrderedVertices;
use crate::api::TopologyClass;
use crate::prim::{AttributeRowWriter, ChunkOutput, transposed};
use crate::stages::{InputLink, LinkSource, Linkage, NO_SLOT};
use base::shader::Interpolation;

/// Returns true if the flat inputs of fragments have the same value in both provoking vertices.
#[inline(always)]
pub fn flat_agree(linkage: &Linkage, shaded: ShadedVertices<'_>, provoking: [u32; 2]) -> bool {
    linkage.links.iter().filter(|link| link.slot != NO_SLOT && !link.is_interpolated()).all(|link| {
        (link.slot..link.slot + link.count).all(|slot| {
            let [first, second] = provoking.map(|vertex| shaded.get(vertex as usize, slot));
            first == second
        })
    })
}

/// The source of the values of a piece's attributes.
#[derive(Clone, Copy)]
pub enum AttributeValues<'a> {
    /// The primitive's vertices.
    Vertices,
    /// The primitive's vertices, combined by the weights of a clipped piece.
    Weighted(&'a ClipWeights),
    /// The corners of a rectangle.
    Half(&'a HalfRectangle),
}

/// Weights of the original vertices at the corners of a clipped piece: (clip space, screen space).
pub type ClipWeights = [([f32; 3], [f32; 3]); 3];

/// The sources of the rows of a primitive that are not interpolated outputs.
#[derive(Clone, Copy)]
struct RowSources<'a> {
    shaded: ShadedVertices<'a>,
    records: Option<ShadedVertices<'a>>,
    ordered: OrderedVertices,
    /// The provoking vertex.
    provoking: u32,
    /// The number with which the primitive was assembled.
    number: u32,
    /// Number of corners of the piece.
    corners: usize,
    /// Weights of a clipped piece.
    weights: Option<&'a ClipWeights>,
}

/// A whole triangle whose first vertex provokes.
#[derive(Clone, Copy)]
pub struct WholeTriangle<'a> {
    /// The vertices' outputs, and the records of primitives.
    pub sources: (ShadedVertices<'a>, Option<ShadedVertices<'a>>),
    /// Local vertex numbers.
    pub ids: [u32; 3],
    /// The number with which it was assembled.
    pub number: u32,
    /// True if the provoking vertex is the last one in the order of the specification.
    pub provoking_last: bool,
}

impl<'a> WholeTriangle<'a> {
    #[inline(always)]
    fn row_sources(&self) -> RowSources<'a> {
        let (shaded, records) = self.sources;
        RowSources {
            shaded,
            records,
            ordered: OrderedVertices::new(self.ids, TopologyClass::Triangle, self.provoking_last),
            provoking: self.ids[0],
            number: self.number,
            corners: 3,
            weights: None,
        }
    }
}

/// Appends the `[a0, d1, d2]` rows of a primitive.
#[inline(always)]
pub fn attributes(
    linkage: &Linkage,
    (shaded, records): (ShadedVertices<'_>, Option<ShadedVertices<'_>>),
    common: &PrimitiveCommon,
    values: AttributeValues<'_>,
    out: &mut ChunkOutput,
) {
    let mut to = out.rows(linkage.rows);
    let weights = if let AttributeValues::Weighted(weights) = values { Some(weights) } else { None };
    let sources = RowSources {
        shaded,
        records,
        ordered: common.ordered,
        provoking: common.provoking,
        number: common.number,
        corners: common.corners,
        weights,
    };
    if let (3, AttributeValues::Vertices) = (common.corners, values) {
        return vertex_rows(linkage, &sources, common.vertices, &mut to);
    }
    for link in &linkage.links {
        if !link.is_interpolated() {
            other_rows(link, &sources, &mut to);
            continue;
        }
        for slot in link.slot..link.slot + link.count {
            let of = |vertex: u32| f32::from_bits(shaded.get(vertex as usize, slot));
            to.push_one(match values {
                AttributeValues::Half(half) => half.row(of),
                AttributeValues::Vertices | AttributeValues::Weighted(_) => {
                    differences(common.vertices.map(of), common.corners, link.interpolation, weights)
                }
            });
        }
    }
}

/// Appends the rows of a whole triangle.
#[inline(always)]
pub fn triangle_rows(linkage: &Linkage, triangle: &WholeTriangle<'_>, to: &mut AttributeRowWriter<'_>) {
    vertex_rows(linkage, &triangle.row_sources(), triangle.ids, to);
}

/// Appends the rows of a triangle with these corners.
#[inline(always)]
fn vertex_rows(linkage: &Linkage, sources: &RowSources<'_>, ids: [u32; 3], to: &mut AttributeRowWriter<'_>) {
    let ([first, second, third], shaded) = (ids, sources.shaded);
    let (first, second) = (shaded.base(first as usize), shaded.base(second as usize));
    let (third, step) = (shaded.base(third as usize), shaded.layout.slot(1));
    for link in &linkage.links {
        let count = usize::from(link.count);
        if !link.is_interpolated() || count == 0 {
            other_rows(link, sources, to);
            continue;
        }
        let (a, b) = (shaded.column(first, link.slot, count), shaded.column(second, link.slot, count));
        let c = shaded.column(third, link.slot, count);
        let (b, c) = (&b[..a.len()], &c[..a.len()]);
        for at in (0..a.len()).step_by(step) {
            let (a, b, c) = (f32::from_bits(a[at]), f32::from_bits(b[at]), f32::from_bits(c[at]));
            to.push_one([a.to_bits(), (b - a).to_bits(), (c - a).to_bits()]);
        }
    }
}

/// Values of vertices by vertex, for [`VertexValues::rows`]; a worker keeps them. In the stage's
/// outputs, a vertex has a few words of many rows, and several triangles share it.
#[derive(Default)]
pub struct VertexValues {
    /// Values of the vertices, `groups` for each: up to four interpolated slots of a link.
    words: Vec<[u32; 4]>,
    groups: usize,
    /// True if the values are those of the current batch.
    ready: bool,
}

impl VertexValues {
    /// Invalidates the values before another batch.
    pub fn invalidate(&mut self) {
        self.ready = false;
    }

    /// Makes the values of so many vertices unless they exist; returns false if vertices are not in
    /// chunks of eight.
    #[inline(always)]
    pub fn ready(&mut self, linkage: &Linkage, shaded: ShadedVertices<'_>, vertices: usize) -> bool {
        if !self.ready && vertices != 0 && shaded.layout.lanes() == 8 {
            self.make(linkage, shaded, vertices);
        }
        self.ready
    }

    #[inline(never)]
    fn make(&mut self, linkage: &Linkage, shaded: ShadedVertices<'_>, vertices: usize) {
        let four = |link: &InputLink| if link.is_interpolated() { usize::from(link.count).div_ceil(4) } else { 0 };
        self.groups = linkage.links.iter().map(four).sum();
        let chunks = vertices.div_ceil(8);
        self.words.clear();
        self.words.resize(8 * chunks * self.groups, [0; 4]);
        let mut group = 0;
        for link in linkage.links.iter().filter(|link| link.is_interpolated()) {
            for first in (0..link.count).step_by(4) {
                for chunk in 0..chunks {
                    let mut rows = [[0; 8]; 4];
                    for (row, slot) in rows.iter_mut().zip(first..link.count) {
                        row.copy_from_slice(shaded.row(8 * chunk, link.slot + slot));
                    }
                    for half in 0..2 {
                        let mut four = [[0; 4]; 4];
                        for (four, row) in four.iter_mut().zip(&rows) {
                            four.copy_from_slice(&row[4 * half..4 * half + 4]);
                        }
                        for (k, words) in transposed(four).into_iter().enumerate() {
                            self.words[(8 * chunk + 4 * half + k) * self.groups + group] = words;
                        }
                    }
                }
                group += 1;
            }
        }
        self.ready = true;
    }

    /// Appends the rows of a whole triangle, as [`triangle_rows`] does.
    #[inline(always)]
    pub fn rows(&self, linkage: &Linkage, triangle: &WholeTriangle<'_>, to: &mut AttributeRowWriter<'_>) {
        let [first, second, third] = triangle.ids.map(|id| id as usize * self.groups);
        let mut group = 0;
        for link in &linkage.links {
            if link.is_interpolated() {
                let mut left = usize::from(link.count);
                while left != 0 {
                    let (a, b) = (self.words[first + group], self.words[second + group]);
                    let c = self.words[third + group];
                    let (mut d1, mut d2) = ([0; 4], [0; 4]);
                    for k in 0..4 {
                        let (a, b, c) = (f32::from_bits(a[k]), f32::from_bits(b[k]), f32::from_bits(c[k]));
                        (d1[k], d2[k]) = ((b - a).to_bits(), (c - a).to_bits());
                    }
                    to.push_four([a, d1, d2], left);
                    (group, left) = (group + 1, left.saturating_sub(4));
                }
            } else {
                other_rows(link, &triangle.row_sources(), to);
            }
        }
    }
}

/// Appends the rows of a link that interpolates no outputs: flat and missing ones, and barycentric
/// coordinates.
#[inline(always)]
fn other_rows(link: &InputLink, sources: &RowSources<'_>, to: &mut AttributeRowWriter<'_>) {
    let (of, at) = match (link.source, sources.records) {
        (LinkSource::Barycentric, _) => {
            for vertex in link.slot..link.slot + link.count {
                to.push_one(barycentric_row(
                    sources.ordered,
                    vertex,
                    link.interpolation,
                    sources.corners,
                    sources.weights,
                ));
            }
            return;
        }
        (LinkSource::Primitive, Some(records)) => (records, records.base(sources.number as usize)),
        (LinkSource::Vertex(vertex), _) => (sources.shaded, sources.shaded.base(sources.ordered.get(vertex) as usize)),
        _ => (sources.shaded, sources.shaded.base(sources.provoking as usize)),
    };
    for n in 0..link.count {
        to.push_one([if link.slot == NO_SLOT { 0 } else { of.slot(at, link.slot + n) }, 0, 0]);
    }
}

/// Returns the row of a barycentric coordinate, which is interpolated as outputs are. Arguments are
/// values, because a writer whose address is passed to a function would not stay in registers.
#[inline(never)]
fn barycentric_row(
    ordered: OrderedVertices,
    vertex: u16,
    interpolation: Interpolation,
    corners: usize,
    weights: Option<&ClipWeights>,
) -> [u32; 3] {
    differences(ordered.coordinate(vertex), corners, interpolation, weights)
}

/// Returns `[a0, d1, d2]` of a value of up to three corners.
#[cold]
fn differences(v: [f32; 3], corners: usize, interpolation: Interpolation, weights: Option<&ClipWeights>) -> [u32; 3] {
    let [a, b, c] = weights.map_or(v, |weights| weighted(v, weights, interpolation, corners));
    let d1 = if corners > 1 { b - a } else { 0.0 };
    let d2 = if corners > 2 { c - a } else { 0.0 };
    [a.to_bits(), d1.to_bits(), d2.to_bits()]
}

/// Returns the values at the corners of a clipped piece.
fn weighted(v: [f32; 3], weights: &ClipWeights, interpolation: Interpolation, corners: usize) -> [f32; 3] {
    let at = |k: usize| {
        let w = if interpolation == Interpolation::Linear { weights[k].1 } else { weights[k].0 };
        (0..corners).map(|i| w[i] * v[i]).sum::<f32>()
    };
    [at(0), at(1), at(2)]
}

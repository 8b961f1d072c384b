//! Setup: from screen vertices to edges, attributes and bins.
//!
//! An edge is `a*x + b*y + c >= 0` in fixed point; the top-left rule is folded into `c`.

#![forbid(unsafe_code)]

use super::bins::bin;
use super::planes::{PlaneSource, Planes};
use super::vertex_order::OrderedVertices;
use crate::api::ConservativeMode;
use crate::prim::{ChunkOutput, EdgeFunction, Prim, SUBPIXEL, ScreenVertex, TileGrid, fixed, intersect, pixels};
use base::abi::FragmentPrimitive;
use base::limits::SUBPIXEL_BITS;

/// Corners of the covered convex shape, in fixed point.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    corners: [[i32; 2]; 4],
    len: usize,
}

impl Outline {
    /// Makes the outline of a triangle.
    pub fn triangle(v: &[ScreenVertex; 3]) -> Outline {
        let third = [v[2].x, v[2].y];
        Outline { corners: [[v[0].x, v[0].y], [v[1].x, v[1].y], third, third], len: 3 }
    }

    /// Makes the rectangle of a line of `width` pixels ("strict" line rasterization), with `margin`
    /// pixels added on all sides. Returns `None` for a line of no length.
    #[inline(always)]
    pub fn line(v: &[ScreenVertex; 2], width: f32, margin: f64) -> Option<Outline> {
        let (dx, dy) = (f64::from(v[1].x - v[0].x), f64::from(v[1].y - v[0].y));
        let length = (dx * dx + dy * dy).sqrt();
        if length == 0.0 {
            return None;
        }
        let corners = line_corners([v[0].x, v[0].y], [v[1].x, v[1].y], (f64::from(width) * 0.5, margin), length);
        Some(Outline { corners, len: 4 })
    }

    /// The outline of nothing: all corners are at the framebuffer's origin.
    pub const POINT: Outline = Outline { corners: [[0; 2]; 4], len: 4 };

    /// Makes the square of a point.
    pub fn point(v: &ScreenVertex, size: f32) -> Outline {
        let side = fixed(size).max(1);
        let (x0, y0) = (v.x - side / 2, v.y - side / 2);
        Outline::rectangle([x0, y0, x0 + side, y0 + side])
    }

    /// Makes a rectangle with these extremes. Its corners turn clockwise.
    #[inline(always)]
    pub fn rectangle([x0, y0, x1, y1]: [i32; 4]) -> Outline {
        Outline { corners: [[x0, y0], [x1, y0], [x1, y1], [x0, y1]], len: 4 }
    }

    /// Returns least x, least y, greatest x and greatest y. (Unused corners repeat a used one.)
    #[inline(always)]
    pub fn extremes(&self) -> [i32; 4] {
        let [p, q, r, s] = self.corners;
        let min = |i: usize| p[i].min(q[i]).min(r[i].min(s[i]));
        let max = |i: usize| p[i].max(q[i]).max(r[i].max(s[i]));
        [min(0), min(1), max(0), max(1)]
    }

    /// Returns the pixels whose samples can be inside: x0, y0, x1, y1; empty ranges are possible.
    #[inline(always)]
    pub fn bounds(&self, bounding: Bounding) -> [i32; 4] {
        let [x0, y0, x1, y1] = self.extremes();
        [bounding.first(x0), bounding.first(y0), bounding.end(x1), bounding.end(y1)]
    }

    /// Returns the half planes of the outline.
    #[inline(always)]
    pub fn edges(&self) -> ShapeEdges {
        self.edges_turning(self.area() < 0, None)
    }

    /// Returns the doubled area, which is negative if the corners turn counter-clockwise (on a
    /// y-down screen).
    #[inline(always)]
    fn area(&self) -> i64 {
        let wide = |v: i32| i64::from(v);
        let c = &self.corners[..self.len];
        let mut area = 0;
        for (i, p) in c.iter().enumerate() {
            let q = c[(i + 1) % self.len];
            area += wide(p[0]) * wide(q[1]) - wide(q[0]) * wide(p[1]);
        }
        area
    }

    /// Returns the half planes of corners that are known to turn counter-clockwise (on a y-down
    /// screen), or clockwise. With the pixels of a rectangle, returns only those that are
    /// [`ShapeEdges::cutting`].
    #[inline(always)]
    pub fn edges_turning(&self, counter_clockwise: bool, cut: Option<[i32; 4]>) -> ShapeEdges {
        let sign = if counter_clockwise { -1 } else { 1 };
        if self.len == 3 { self.edges_of::<3>(sign, cut) } else { self.edges_of::<4>(sign, cut) }
    }

    /// Returns the half planes, moved outwards by a number of units along each axis of their
    /// normals. Points on the lines of those that move outwards are inside, and others outside.
    pub fn moved_edges(&self, distance: i32) -> ShapeEdges {
        let sign = if self.area() < 0 { -1 } else { 1 };
        let mut edges = ShapeEdges::NONE;
        for i in 0..self.len {
            let edge = self.half_plane([i, (i + 1) % self.len], sign);
            let extent = i64::from(edge.a).abs() + i64::from(edge.b).abs();
            let c = edge.c + extent * i64::from(distance) - i64::from(distance < 0);
            edges.put(EdgeFunction { c, ..edge }, true);
        }
        edges
    }

    /// Returns the half plane of the side between two corners. Points on the line are inside.
    #[inline(always)]
    fn half_plane(&self, [from, to]: [usize; 2], sign: i32) -> EdgeFunction {
        let (p, q) = (self.corners[from], self.corners[to]);
        let wide = |v: i32| i64::from(v);
        let (a, b) = (sign * (p[1] - q[1]), sign * (q[0] - p[0]));
        EdgeFunction { a, b, c: -(wide(a) * wide(p[0]) + wide(b) * wide(p[1])) }
    }

    #[inline(always)]
    fn edges_of<const N: usize>(&self, sign: i32, cut: Option<[i32; 4]>) -> ShapeEdges {
        let mut edges = ShapeEdges { edges: [EdgeFunction::default(); 4], count: 0 };
        for i in 0..N {
            let EdgeFunction { a, b, c } = self.half_plane([i, (i + 1) % N], sign);
            let top_left = a > 0 || (a == 0 && b > 0);
            let edge = EdgeFunction { a, b, c: c - i64::from(!top_left) };
            // Edges are selected while they are in registers: loading as a whole what was just
            // stored in parts would wait.
            edges.put(edge, cut.is_none_or(|rect| edge.excludes(rect)));
        }
        edges
    }
}

/// Returns the corners of a line's rectangle, given half of its width, the margin on all sides, and
/// its length, which is not 0.
#[inline(always)]
pub fn line_corners([x0, y0]: [i32; 2], [x1, y1]: [i32; 2], (half, margin): (f64, f64), length: f64) -> [[i32; 2]; 4] {
    let (dx, dy) = (f64::from(x1.wrapping_sub(x0)), f64::from(y1.wrapping_sub(y0)));
    let half = (half + margin) * f64::from(SUBPIXEL) / length;
    let (nx, ny) = (-dy * half, dx * half);
    let longer = margin * f64::from(SUBPIXEL) / length;
    let (lx, ly) = (dx * longer, dy * longer);
    let corner = |x: i32, y: i32, end: f64, sign: f64| {
        [nearest(f64::from(x) + end * lx + sign * nx), nearest(f64::from(y) + end * ly + sign * ny)]
    };
    [corner(x0, y0, -1.0, 1.0), corner(x1, y1, 1.0, 1.0), corner(x1, y1, 1.0, -1.0), corner(x0, y0, -1.0, -1.0)]
}

/// Returns the nearest integer, the upper one of two; the result has no meaning unless the
/// magnitude of `c` is less than 2³¹.
#[inline(always)]
fn nearest(c: f64) -> i32 {
    // This sum has no bits after the binary point, and its low bits are those of the integer.
    // Vector instructions have no saturating conversion.
    const SHIFT: f64 = (1u64 << 52 | 1u64 << 51) as f64;
    ((c + 0.5).floor() + SHIFT).to_bits() as i32
}

/// The conversion from fixed-point extremes to the pixels whose samples can be between them.
#[derive(Clone, Copy)]
pub struct Bounding {
    /// Offset of the lower ends before they lose their fraction; `high` is that of the upper ends.
    low: i32,
    high: i32,
}

impl Bounding {
    /// Bounding for samples at the centres only.
    pub const CENTRES: Bounding = Bounding { low: SUBPIXEL / 2 - 1, high: -SUBPIXEL / 2 };
    /// Bounding for samples anywhere in a pixel.
    const ANYWHERE: Bounding = Bounding { low: 0, high: 0 };

    /// Returns the bounding of a conservative mode: the pixels that touch a rectangle, or those in
    /// its interior.
    pub fn conservative(mode: ConservativeMode) -> Bounding {
        match mode {
            ConservativeMode::Disabled => Bounding::ANYWHERE,
            ConservativeMode::Overestimate { extra } => Bounding { low: -1 - extra, high: extra },
            ConservativeMode::Underestimate => Bounding { low: SUBPIXEL, high: -SUBPIXEL - 1 },
        }
    }

    /// Returns the bounding for the samples of a render pass.
    #[inline(always)]
    pub fn new(grid: &TileGrid) -> Bounding {
        if grid.samples > 1 { Bounding::ANYWHERE } else { Bounding::CENTRES }
    }

    /// Returns the first pixel along an axis.
    #[inline(always)]
    pub fn first(self, min: i32) -> i32 {
        (min + self.low) >> SUBPIXEL_BITS
    }

    /// Returns one more than the last pixel along an axis.
    #[inline(always)]
    pub fn end(self, max: i32) -> i32 {
        ((max + self.high) >> SUBPIXEL_BITS) + 1
    }
}

/// The half planes of a shape.
#[derive(Clone, Copy, Debug)]
pub struct ShapeEdges {
    /// Half planes in the order of the corners.
    pub edges: [EdgeFunction; 4],
    /// Number of half planes.
    pub count: u32,
}

impl ShapeEdges {
    /// The edges of a shape whose pixels are known, which needs none.
    pub const NONE: ShapeEdges = ShapeEdges { edges: [EdgeFunction { a: 0, b: 0, c: 0 }; 4], count: 0 };

    /// Returns the edges that exclude the centre of a pixel of a rectangle; the others need not be
    /// tested there. Returns all edges if there is no rectangle ([`cut`]).
    #[inline(always)]
    pub fn cutting(self, cut: Option<[i32; 4]>) -> ShapeEdges {
        let Some(rect) = cut else { return self };
        let mut cutting = ShapeEdges { edges: [EdgeFunction::default(); 4], count: 0 };
        for edge in &self.edges[..self.count as usize] {
            cutting.put(*edge, edge.excludes(rect));
        }
        cutting
    }

    /// Copies the edges of a primitive.
    pub fn copied(all: &[EdgeFunction]) -> ShapeEdges {
        let mut edges = ShapeEdges::NONE;
        all.iter().take(4).for_each(|&edge| edges.put(edge, true));
        edges
    }

    /// Appends an edge, which is at most the fourth, if `counts` is set.
    #[inline(always)]
    fn put(&mut self, edge: EdgeFunction, counts: bool) {
        self.edges[self.count as usize & 3] = edge;
        self.count += u32::from(counts);
    }
}

/// Returns the pixels of a rectangle, if edges are only tested at pixel centres.
#[inline(always)]
pub fn cut(grid: &TileGrid, rect: [i32; 4]) -> Option<[i32; 4]> {
    (grid.samples == 1).then_some(rect)
}

/// Values that all pieces of an assembled primitive share.
#[derive(Clone, Copy, Debug)]
pub struct PrimitiveCommon {
    /// Local vertex numbers, provoking vertex first.
    pub vertices: [u32; 3],
    /// Number of vertices that count: 1 for a point, 2 for a line, 3 for a triangle.
    pub corners: usize,
    /// `PrimitiveId`.
    pub primitive_id: u32,
    /// Number with which the primitive was assembled: its `PrimitiveId`, or the number of its
    /// record.
    pub number: u32,
    /// Layer of the framebuffer.
    pub layer: u32,
    /// Index of the viewport.
    pub viewport: u32,
    /// True if the primitive is front-facing.
    pub front: bool,
    /// Provoking vertex of the whole primitive (differs from `vertices[0]` for polygon modes line
    /// and point).
    pub provoking: u32,
    /// Vertices of the whole primitive in the order of the specification.
    pub ordered: OrderedVertices,
}

/// A triangle that is half of a rectangle ([`super::rectangle`]), whose corners are numbered `x | y
/// << 1`: 1 is right and below.
#[derive(Clone, Copy, Debug)]
pub struct HalfRectangle {
    /// Vertices by the corner at which they are.
    vertices: [u32; 4],
    /// The corner without a vertex.
    missing: usize,
    /// Extremes x0, y0, x1, y1 of the rectangle.
    extremes: [i32; 4],
    depth: f32,
    inv_w: f32,
}

impl HalfRectangle {
    /// Returns `None` if the triangle is not such a half.
    #[inline(always)]
    pub fn new(ids: [u32; 3], screen: &[ScreenVertex; 3], area: f64) -> Option<HalfRectangle> {
        let extremes @ [x0, y0, x1, y1] = Outline::triangle(screen).extremes();
        if area.abs() != f64::from(x1 - x0) * f64::from(y1 - y0) {
            return None;
        }
        let [ScreenVertex { z: depth, inv_w, .. }, ..] = screen[0..] else { return None };
        let (mut vertices, mut seen) = ([0; 4], 0);
        for (id, at) in ids.into_iter().zip(screen) {
            let apart = (at.x != x0 && at.x != x1) || (at.y != y0 && at.y != y1);
            if apart || (at.z.to_bits(), at.inv_w.to_bits()) != (depth.to_bits(), inv_w.to_bits()) {
                return None;
            }
            let corner = usize::from(at.x == x1) | usize::from(at.y == y1) << 1;
            vertices[corner] = id;
            seen |= 1u32 << corner;
        }
        let missing = (!seen).trailing_zeros() as usize;
        (seen.count_ones() == 3).then_some(HalfRectangle { vertices, missing, extremes, depth, inv_w })
    }

    /// Returns the planes of the half: barycentric 1 grows to the right, 2 downwards.
    #[inline(always)]
    pub fn planes(&self) -> Planes {
        let [x0, y0, x1, y1] = self.extremes;
        let at = |x, y| ScreenVertex { x, y, z: self.depth, inv_w: self.inv_w };
        Planes::triangle(&[at(x0, y0), at(x1, y0), at(x0, y1)], f64::from(x1 - x0) * f64::from(y1 - y0))
    }

    /// Returns a value at the upper left corner, and its increments to the right and downwards.
    #[inline(always)]
    pub fn row(&self, value: impl Fn(u32) -> f32) -> [u32; 3] {
        // `map` is avoided, because it may become a call.
        let [left, right, below, last] = self.vertices;
        row_of(self.missing as u32, [value(left), value(right), value(below), value(last)])
    }
}

/// Returns a value of a half as the value at the upper left corner, and its increments to the right
/// and downwards. The value at the missing corner is ignored.
#[inline(always)]
pub fn row_of(missing: u32, [left, right, below, last]: [f32; 4]) -> [u32; 3] {
    let made = (f64::from(right) + f64::from(below) - f64::from(last)) as f32;
    let first = if missing == 0 { made } else { left };
    let across = if missing < 2 { last - below } else { right - left };
    let down = if missing & 1 == 0 { last - right } else { below - left };
    [first.to_bits(), across.to_bits(), down.to_bits()]
}

/// The pixels of a piece.
#[derive(Clone, Copy, Debug)]
pub struct PiecePixels {
    /// Pixels that the piece may touch: x0, y0, x1, y1, not empty.
    pub rect: [i32; 4],
    /// Pixel to which its planes are relative.
    pub origin: [i32; 2],
}

impl PiecePixels {
    /// Returns `None` if an outline touches no sample inside of `limit`.
    #[inline(always)]
    pub fn new(grid: &TileGrid, limit: [i32; 4], outline: &Outline) -> Option<PiecePixels> {
        PiecePixels::within(limit, outline.bounds(Bounding::new(grid)))
    }

    /// Makes the place of a shape whose coverage is that of pixel centres, whatever the samples;
    /// `None` if it touches none inside of `limit`.
    pub fn centres(limit: [i32; 4], outline: &Outline) -> Option<PiecePixels> {
        PiecePixels::within(limit, outline.bounds(Bounding::CENTRES))
    }

    /// Returns [`Prim::pixels`] of a shape here; `None` if it covers nothing.
    #[inline(always)]
    pub fn pixels(&self, grid: &TileGrid, edges: &ShapeEdges) -> Option<u32> {
        if grid.samples > 1 {
            return Some(0);
        }
        pixels(&edges.edges[..edges.count as usize], self.rect)
    }

    /// Makes the place of the pixels of `bounds` inside of `limit`; `None` if there are none.
    #[inline(always)]
    pub fn within(limit: [i32; 4], bounds: [i32; 4]) -> Option<PiecePixels> {
        let rect = intersect(limit, bounds);
        (rect[0] < rect[2] && rect[1] < rect[3]).then_some(PiecePixels { rect, origin: PiecePixels::origin_of(bounds) })
    }

    /// Returns the pixel to which the planes of a shape with these bounds are relative. It does not
    /// depend on the scissored rectangle, because the scissor must not change a bit of depth and
    /// attributes.
    #[inline(always)]
    pub fn origin_of(bounds: [i32; 4]) -> [i32; 2] {
        [bounds[0].max(0), bounds[1].max(0)]
    }
}

/// A piece that is ready to be emitted.
#[derive(Clone, Copy)]
pub struct PrimitivePiece<'a> {
    /// Pixels that it may touch.
    pub place: PiecePixels,
    /// Edges that determine which of the pixels it covers, unless `pixels` does.
    pub edges: ShapeEdges,
    /// Covered pixels, if they are known: [`Prim::pixels`].
    pub pixels: u32,
    /// Values that it shares with the whole primitive.
    pub common: &'a PrimitiveCommon,
    /// Range to which fragment depth is clamped.
    pub depth_range: [f32; 2],
    /// Size and upper left corner of a point.
    pub sprite: Option<(f32, [f32; 2])>,
}

/// A primitive whose fields are not set yet.
pub const UNSET_PRIM: Prim = Prim {
    shade: FragmentPrimitive {
        b1: [0.0; 3],
        b2: [0.0; 3],
        inv_w: [0.0; 3],
        inv_w1: 0.0,
        inv_w2: 0.0,
        z: [0.0; 3],
        origin: [0; 2],
        attributes: core::ptr::null(),
        front_facing: 0,
        primitive_id: 0,
        layer: 0,
        viewport_index: 0,
        point_origin: [0.0; 2],
        point_inv_size: 0.0,
        affine: 0,
    },
    first_edge: 0,
    edge_count: 0,
    pixels: 0,
    sides: [0; 4],
    depth_range: [0.0; 2],
};

/// Appends a primitive and bins it; its attributes are appended next.
#[inline(always)]
pub fn emit(out: &mut ChunkOutput, grid: &TileGrid, piece: PrimitivePiece<'_>, planes: &impl PlaneSource) {
    let PrimitivePiece { place: PiecePixels { rect, origin }, edges, pixels, common, depth_range, sprite } = piece;
    // The fields are written one by one to their final location: see `PlaneSource`.
    out.prims.push(UNSET_PRIM);
    let Some(prim) = out.prims.last_mut() else { return };
    let shade = &mut prim.shade;
    planes.write(shade);
    (shade.origin[0], shade.origin[1]) = (origin[0], origin[1]);
    shade.front_facing = u32::from(common.front);
    (shade.primitive_id, shade.layer, shade.viewport_index) = (common.primitive_id, common.layer, common.viewport);
    if let Some((size, at)) = sprite {
        (shade.point_origin, shade.point_inv_size) = (at, 1.0 / size);
    }
    shade.attributes = core::ptr::without_provenance(out.attributes.len());
    for (to, end) in prim.sides.iter_mut().zip(rect) {
        *to = end as u16;
    }
    (prim.depth_range[0], prim.depth_range[1]) = (depth_range[0], depth_range[1]);
    (prim.pixels, prim.first_edge, prim.edge_count) = (pixels as u16, out.edges.len() as u32, 0);
    if pixels != 0 {
        return bin(out, grid, rect, &[], common.layer);
    }
    prim.edge_count = edges.count as u16;
    let edges = &edges.edges[..edges.count as usize];
    out.edges.extend(edges.iter().map(|edge| EdgeFunction { a: edge.a, b: edge.b, c: edge.c }));
    bin(out, grid, rect, edges, common.layer);
}

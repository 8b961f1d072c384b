//! The conversion of assembled primitives to clipped, culled and set-up pieces.

#![forbid(unsafe_code)]

use super::attributes::{AttributeValues, ClipWeights, attributes};
use super::clip::{ClipVertex, MAX_POLYGON, Polygon, clip_segment};
use super::plan::FrontDraw;
use super::planes::{PlaneSource, Planes, doubled_area};
use super::project::{self, ProjectedVertex};
use super::setup::{self, Bounding, HalfRectangle, Outline, PiecePixels, PrimitiveCommon, ShapeEdges, cut};
use super::stream::{Batch, ShadedVertices};
use super::vertex_order::OrderedVertices;
use super::viewport::{Transform, code};
use crate::api::{ConservativeMode, LineMode, PolygonMode, TopologyClass};
use crate::prim::{BresenhamLine, ChunkOutput, LinePrim, SUBPIXEL, ScreenVertex, StipplePhase, TileGrid, counted};
use crate::stages::NO_SLOT;
use base::host::SimdLevel;
use base::limits::{LINE_WIDTH_RANGE, POINT_SIZE_RANGE};
use core::slice::from_ref;

/// Bit of the cull mode that culls front faces; `CULL_BACK` culls back faces.
pub const CULL_FRONT: u32 = 1;
pub const CULL_BACK: u32 = 2;

/// Values of a primitive that do not come from its vertices.
pub struct PrimitiveValues {
    pub primitive_id: u32,
    layer: Option<u32>,
    viewport: Option<u32>,
}

/// The state that turns the primitives of a chunk into [`crate::prim::Prim`]s.
pub struct PrimitiveBuilder<'a> {
    /// The host's processor level, at which the code runs.
    pub level: SimdLevel,
    pub draw: FrontDraw<'a>,
    pub grid: &'a TileGrid,
    pub shaded: ShadedVertices<'a>,
    /// Records of primitives: [`Batch::records`].
    pub records: Option<ShadedVertices<'a>>,
    pub vertices: &'a [ProjectedVertex],
    /// Number of vertices; 0 if most of them were not written.
    pub count: usize,
    pub out: &'a mut ChunkOutput,
    /// Number of primitives that left clipping.
    pub leaving: u64,
    /// Stipple counter.
    pub phase: StipplePhase,
}

impl PrimitiveBuilder<'_> {
    /// Sets up all primitives of a batch whose lines are stippled; `first` means that the batch is
    /// the first of its chunk.
    pub fn set_up_stippled_lines(&mut self, batch: &Batch<'_>, first: bool) {
        let state = &*self.draw.draw.state;
        let Some(stipple) = state.line_stipple else { return };
        let (mode, width, strip) = (state.line_mode, self.line_width(), self.draw.plan.topology.is_line_strip());
        // A chunk that begins inside of a strip continues from the chunk before it.
        self.phase = if first { StipplePhase { value: 0, continued: true } } else { self.out.phase };
        for (i, primitive) in batch.primitives.iter().enumerate() {
            let &(ids, id) = primitive;
            let begins = match batch.begins {
                Some(begins) => begins[i],
                None => self.draw.plan.segments.binary_search_by_key(&id, |s| s.base).is_ok(),
            };
            if !strip || begins {
                self.phase = StipplePhase::NONE;
            }
            self.set_up_one_by_one(from_ref(primitive));
            let [a, b] = [ids[0], ids[1]].map(|i| &self.vertices[i as usize]);
            if (a.codes | b.codes) & code::UNPROJECTED == 0 {
                self.phase.advance(counted(&[a.screen, b.screen], mode, width), stipple);
            }
        }
        self.out.phase = self.phase;
    }

    pub fn line_width(&self) -> f32 {
        self.draw.draw.state.line_width.clamp(LINE_WIDTH_RANGE[0], LINE_WIDTH_RANGE[1])
    }

    /// Sets up one primitive, with the provoking vertex first; a line has its ends in order.
    #[inline(always)]
    pub fn set_up_primitive(&mut self, ids: [u32; 3], number: u32) {
        let class = self.draw.plan.topology.class();
        let corners = match class {
            TopologyClass::Point => 1,
            TopologyClass::Line => 2,
            TopologyClass::Triangle => 3,
        };
        let vertices = self.vertices;
        let mut v = ids.map(|i| &vertices[i as usize]);
        let first = usize::from(class == TopologyClass::Line && self.draw.draw.state.provoking_last);
        let own = self.own(number);
        let (provoking, viewport) = (ids[first], own.viewport.unwrap_or(v[first].viewport));
        let mut moved = [ProjectedVertex::default(); 3];
        if self.draw.linkage().viewport != NO_SLOT || own.viewport.is_some() {
            for ((vertex, moved), &id) in v[..corners].iter_mut().zip(&mut moved).zip(&ids) {
                if vertex.viewport != viewport {
                    let distances = vertex.codes & (code::USER | code::CULL);
                    *moved = project::project(self.draw, self.position(id), viewport, distances);
                    *vertex = moved;
                }
            }
        }
        let all = v[..corners].iter().fold(u32::MAX, |a, v| a & v.codes);
        let any = v[..corners].iter().fold(0, |a, v| a | v.codes);
        if all & (code::REJECT | code::CULL) != 0 || any & code::NAN != 0 {
            return;
        }
        let layer = self.layer_of_all().unwrap_or_else(|| self.layer(&own, provoking));
        if layer >= self.grid.layers {
            return;
        }
        let primitive_id = own.primitive_id;
        let ordered = OrderedVertices::new(ids, class, self.draw.draw.state.provoking_last);
        let common = PrimitiveCommon {
            vertices: ids,
            corners,
            primitive_id,
            number,
            layer,
            viewport,
            front: true,
            provoking,
            ordered,
        };
        match class {
            TopologyClass::Point => self.point(v[0], common, None),
            TopologyClass::Line => self.line([v[0], v[1]], any, common, None),
            TopologyClass::Triangle => self.triangle(v, any, common),
        }
    }

    /// Returns the clip coordinates of a vertex.
    fn position(&self, id: u32) -> [f32; 4] {
        project::position(self.draw.linkage(), self.shaded, id as usize)
    }

    /// Returns the values of a primitive that do not come from its vertices.
    #[inline(always)]
    pub fn own(&self, number: u32) -> PrimitiveValues {
        let (Some(records), Some(mesh)) = (self.records, &self.draw.linkage().mesh) else {
            return PrimitiveValues { primitive_id: number, layer: None, viewport: None };
        };
        let word = |slot: u16| (slot != NO_SLOT).then(|| records.get(number as usize, slot));
        let primitive_id = word(mesh.primitive_id).unwrap_or(number);
        PrimitiveValues { primitive_id, layer: word(mesh.layer), viewport: word(mesh.viewport) }
    }

    /// Returns the layer that a primitive selects.
    #[inline(always)]
    pub fn layer(&self, own: &PrimitiveValues, provoking: u32) -> u32 {
        match (own.layer, self.draw.linkage().layer) {
            (Some(layer), _) => layer,
            (None, NO_SLOT) => self.draw.draw.context.view_index,
            (None, slot) => self.shaded.get(provoking as usize, slot),
        }
    }

    /// Returns the layer of all primitives, if primitives do not select one. They do not select one
    /// of a pass that has only one: Vulkan leaves other layers undefined, and OpenGL ignores the
    /// selection then, on which programs rely that zink translates.
    pub fn layer_of_all(&self) -> Option<u32> {
        let linkage = self.draw.linkage();
        let own = linkage.mesh.as_ref().is_some_and(|mesh| mesh.layer != NO_SLOT);
        match linkage.layer == NO_SLOT && !own {
            true => Some(self.draw.draw.context.view_index),
            false => (self.grid.layers == 1).then_some(0),
        }
    }

    fn bounds(&self, screen: &[ScreenVertex; 3]) -> [i32; 4] {
        Outline::triangle(screen).bounds(Bounding::new(self.grid))
    }

    fn transform(&self, common: &PrimitiveCommon) -> &Transform {
        &self.draw.plan.viewports[common.viewport as usize]
    }

    /// Returns the pixels that a primitive may touch: x0, y0, x1, y1.
    #[inline(always)]
    pub fn view_rect(&self, common: &PrimitiveCommon) -> [i32; 4] {
        self.transform(common).view_rect
    }

    /// Biases the depth of pieces of a polygon; `slope` is the polygon's.
    pub fn bias(&self, planes: &mut Planes, slope: f32) {
        if let Some(bias) = self.draw.draw.state.depth_bias {
            planes.bias(bias, self.draw.plan.depth_unit, slope);
        }
    }

    /// Returns the planes of a whole triangle with its depth biased.
    #[inline(always)]
    pub fn biased(&self, mut planes: Planes) -> Planes {
        if self.draw.draw.state.depth_bias.is_some() {
            let slope = planes.slope();
            self.bias(&mut planes, slope);
        }
        planes
    }

    #[inline(always)]
    fn triangle(&mut self, v: [&ProjectedVertex; 3], any: u32, common: PrimitiveCommon) {
        if any & (code::CLIP | code::UNPROJECTED) == 0 {
            self.leaving += 1;
            let screen = [v[0].screen, v[1].screen, v[2].screen];
            let area = doubled_area(&screen);
            if let Some(common) = self.facing(area, common) {
                match self.draw.draw.state.polygon_mode {
                    PolygonMode::Fill => self.fill(&screen, area, (self.bounds(&screen), 0), &common, None),
                    _ => self.unfilled(v, any, common, slope_of(&screen)),
                }
            }
            return;
        }
        let polygon = self.clipped(any, &common);
        if polygon.len < 3 {
            return;
        }
        self.leaving += 1;
        let Some(screens) = self.projected(&polygon, &common) else { return };
        let area = (2..polygon.len).map(|i| doubled_area(&[screens[0], screens[i - 1], screens[i]])).sum::<f64>();
        let Some(common) = self.facing(area, common) else { return };
        if self.draw.draw.state.polygon_mode != PolygonMode::Fill {
            return self.unfilled(v, any, common, slope_of(&[screens[0], screens[1], screens[2]]));
        }
        for i in 2..polygon.len {
            let corners = [0, i - 1, i];
            let screen = corners.map(|c| screens[c]);
            let weights: ClipWeights = corners.map(|c| (polygon.v[c].weights, polygon.v[c].screen));
            self.fill(&screen, doubled_area(&screen), (self.bounds(&screen), 0), &common, Some(&weights));
        }
    }

    /// Returns the triangle cut by the planes that its outcodes name.
    fn clipped(&self, any: u32, common: &PrimitiveCommon) -> Polygon {
        let mut polygon = Polygon::triangle(common.vertices.map(|id| self.position(id)));
        let transform = self.transform(common);
        if any & code::BEHIND != 0 {
            // This keeps 1/w finite; the other planes alone only give w >= 0.
            polygon.clip(|c| c.position[3] - 1e-9);
        }
        if any & code::NEAR != 0 {
            polygon.clip(|c| transform.near_distance(&c.position));
        }
        if any & code::FAR != 0 {
            polygon.clip(|c| c.position[3] - c.position[2]);
        }
        for i in 0..4 {
            // A vertex behind the eye has no meaningful guard code, so all four planes are visited
            // then.
            if any & (1 << (8 + i) | code::BEHIND) != 0 {
                polygon.clip(|c| transform.guard_distance(i, &c.position));
            }
        }
        self.for_user_planes(any, common, |d| polygon.clip(|c| dot(d, c.weights)));
        polygon
    }

    /// Calls `f` with the original vertices' distances for every user plane outside of which some
    /// vertex lies.
    fn for_user_planes(&self, any: u32, common: &PrimitiveCommon, mut f: impl FnMut([f32; 3])) {
        for (i, &slot) in self.draw.linkage().clip.iter().enumerate() {
            if any & (1 << (code::USER_SHIFT as usize + i)) != 0 {
                f(common.vertices.map(|v| f32::from_bits(self.shaded.get(v as usize, slot))));
            }
        }
    }

    fn projected(&self, polygon: &Polygon, common: &PrimitiveCommon) -> Option<[ScreenVertex; MAX_POLYGON]> {
        let mut screens = [ScreenVertex::default(); MAX_POLYGON];
        for (screen, v) in screens.iter_mut().zip(&polygon.v[..polygon.len]) {
            *screen = self.transform(common).project(&v.position)?;
        }
        Some(screens)
    }

    /// Returns true if a primitive faces front. The specification's area is -area/2: a
    /// counter-clockwise front face has negative `area` here (y points down).
    #[inline(always)]
    pub fn faces_front(&self, area: f64) -> bool {
        if self.draw.draw.state.front_clockwise { area > 0.0 } else { area < 0.0 }
    }

    /// Decides the facing; returns `None` if the primitive is culled.
    fn facing(&self, area: f64, mut common: PrimitiveCommon) -> Option<PrimitiveCommon> {
        common.front = self.faces_front(area);
        let culled = if common.front { CULL_FRONT } else { CULL_BACK };
        (self.draw.draw.state.cull_mode & culled == 0).then_some(common)
    }

    /// Sets up a triangle with a doubled area, which can touch samples in the pixels of
    /// `bounds`. `known` is the pixels that it covers ([`crate::prim::Prim::pixels`]), or 0.
    #[inline(always)]
    pub fn fill(
        &mut self,
        screen: &[ScreenVertex; 3],
        area: f64,
        (bounds, known): ([i32; 4], u32),
        common: &PrimitiveCommon,
        weights: Option<&ClipWeights>,
    ) {
        // Of a clipped polygon, other pieces touch what one without area touches.
        if area == 0.0 && weights.is_some() {
            return;
        }
        let Some(shape) = self.shape(screen, area, (bounds, known), common) else { return };
        // If only depth and distance are interpolated, which are constant in a half, its planes are
        // those of any triangle.
        let half = if weights.is_none() && self.draw.linkage().has_half_rows {
            HalfRectangle::new(common.vertices, screen, area)
        } else {
            None
        };
        let planes = self.biased(match half {
            Some(half) => half.planes(),
            // The fragments of a triangle without area have the values of the provoking vertex.
            None if area == 0.0 => Planes::point(&screen[0]),
            None => Planes::triangle(screen, area),
        });
        let values = match (&half, weights) {
            (Some(half), _) => AttributeValues::Half(half),
            (None, Some(weights)) => AttributeValues::Weighted(weights),
            (None, None) => AttributeValues::Vertices,
        };
        self.emit(shape, &planes.relative(shape.0.origin), common, None, values);
        self.inner_edges(|| Outline::triangle(screen));
    }

    /// Returns the pixels of a triangle, for [`PrimitiveBuilder::fill`]; `None` if there are none.
    #[inline(always)]
    pub fn shape(
        &self,
        screen: &[ScreenVertex; 3],
        area: f64,
        (bounds, known): ([i32; 4], u32),
        common: &PrimitiveCommon,
    ) -> Option<(PiecePixels, ShapeEdges, u32)> {
        if self.conservative() != ConservativeMode::Disabled {
            return self.conservative_shape(&Outline::triangle(screen), self.view_rect(common));
        }
        if area == 0.0 {
            return None;
        }
        let place = PiecePixels::within(self.view_rect(common), bounds)?;
        if known != 0 {
            return Some((place, ShapeEdges::NONE, known));
        }
        let edges = Outline::triangle(screen).edges_turning(area < 0.0, cut(self.grid, place.rect));
        Some((place, edges, place.pixels(self.grid, &edges)?))
    }

    /// Sets up a polygon in the modes line and point: its own edges and vertices, clipped one by
    /// one.
    fn unfilled(&mut self, v: [&ProjectedVertex; 3], any: u32, common: PrimitiveCommon, slope: f32) {
        for i in 0..3 {
            let j = (i + 1) % 3;
            let ids = common.vertices;
            let ordered = common.ordered.of_piece([i, j, j]);
            let mut piece = PrimitiveCommon { vertices: [ids[i], ids[j], ids[j]], ordered, ..common };
            if self.draw.draw.state.polygon_mode == PolygonMode::Line {
                piece.corners = 2;
                self.line([v[i], v[j]], any, piece, Some(slope));
            } else {
                piece.vertices = [ids[i]; 3];
                piece.corners = 1;
                self.point(v[i], piece, Some(slope));
            }
        }
    }

    #[inline(always)]
    fn line(&mut self, v: [&ProjectedVertex; 2], any: u32, common: PrimitiveCommon, slope: Option<f32>) {
        if any & (code::REJECT | code::GUARD | code::UNPROJECTED) != 0 {
            return self.clipped_line(v, any, &common, slope);
        }
        let ends = [v[0].screen, v[1].screen];
        self.segment(&ends, &ends, &common, slope, AttributeValues::Vertices);
    }

    /// Sets up a line that must be clipped, or that may not be visible.
    #[inline(never)]
    fn clipped_line(&mut self, v: [&ProjectedVertex; 2], any: u32, common: &PrimitiveCommon, slope: Option<f32>) {
        let [from, to, _] = common.vertices.map(|id| self.position(id));
        let mut ends = [ClipVertex::corner(0, from), ClipVertex::corner(1, to)];
        let transform = self.transform(common);
        let mut visible = true;
        if any & code::BEHIND != 0 {
            visible = visible && clip_segment(&mut ends, |c| c.position[3] - 1e-9);
        }
        for i in 0..4 {
            visible = visible && clip_segment(&mut ends, |c| Transform::view_distance(i, &c.position));
            visible = visible && clip_segment(&mut ends, |c| transform.guard_distance(i, &c.position));
        }
        if any & code::NEAR != 0 {
            visible = visible && clip_segment(&mut ends, |c| transform.near_distance(&c.position));
        }
        if any & code::FAR != 0 {
            visible = visible && clip_segment(&mut ends, |c| c.position[3] - c.position[2]);
        }
        self.for_user_planes(any, common, |d| {
            visible = visible && clip_segment(&mut ends, |c| dot(d, c.weights));
        });
        let [from, to] = &ends;
        let (Some(a), Some(b)) = (transform.project(&from.position), transform.project(&to.position)) else { return };
        if !visible {
            return;
        }
        // Distances along the line count from its position before clipping, if that is on the
        // screen.
        let on_screen = |v: &ProjectedVertex| v.codes & code::UNPROJECTED == 0;
        let whole = [(v[0], a), (v[1], b)].map(|(v, clipped)| if on_screen(v) { v.screen } else { clipped });
        let weights: ClipWeights = [0, 1, 1].map(|i| (ends[i].weights, ends[i].screen));
        self.segment(&[a, b], &whole, common, slope, AttributeValues::Weighted(&weights));
    }

    /// Sets up the remaining part of a `whole` line.
    #[inline(always)]
    fn segment(
        &mut self,
        ends: &[ScreenVertex; 2],
        whole: &[ScreenVertex; 2],
        common: &PrimitiveCommon,
        slope: Option<f32>,
        values: AttributeValues<'_>,
    ) {
        self.leaving += u64::from(slope.is_none());
        let limit = self.transform(common).scissor_rect;
        let Some((place, edges, extra)) = self.line_shape(ends, whole, limit) else { return };
        let edges = edges.cutting(cut(self.grid, place.rect));
        // A line that covers no pixel gets no primitive; special lines compute their pixels
        // themselves.
        let Some(pixels) = (if extra.is_some() { Some(0) } else { place.pixels(self.grid, &edges) }) else { return };
        let mut planes = Planes::line(ends);
        if let Some(slope) = slope {
            self.bias(&mut planes, slope);
        }
        self.emit((place, edges, pixels), &planes.relative(place.origin), common, None, values);
        let width = self.line_width();
        self.inner_edges(|| Outline::line(ends, width, 0.0).unwrap_or(Outline::POINT));
        self.out.lines.extend(extra);
    }

    /// Returns where a line draws, by the rules of its mode, and the data that tiles need for
    /// special lines; `None` if it touches nothing.
    #[inline(always)]
    fn line_shape(
        &self,
        ends: &[ScreenVertex; 2],
        whole: &[ScreenVertex; 2],
        limit: [i32; 4],
    ) -> Option<(PiecePixels, ShapeEdges, Option<LinePrim>)> {
        let (state, width) = (&*self.draw.draw.state, self.line_width());
        let rectangle = || LinePrim::rectangle(whole, width, self.phase);
        Some(match state.line_mode {
            LineMode::Rectangular => {
                let outline = Outline::line(ends, width, 0.0)?;
                if self.conservative() != ConservativeMode::Disabled && state.line_stipple.is_none() {
                    let (place, edges, _) = self.conservative_shape(&outline, limit)?;
                    return Some((place, edges, None));
                }
                let place = PiecePixels::new(self.grid, limit, &outline)?;
                (place, outline.edges(), state.line_stipple.map(|_| rectangle()))
            }
            // Half a pixel is added on all sides, because the square of any pixel in this margin
            // can overlap the rectangle.
            LineMode::Smooth => {
                let outline = Outline::line(ends, width, 0.5)?;
                (PiecePixels::centres(limit, &outline)?, outline.edges(), Some(rectangle()))
            }
            LineMode::Bresenham => {
                let diamonds = BresenhamLine::new(ends, width)?;
                let place = PiecePixels::within(limit, diamonds.bounds)?;
                let whole = BresenhamLine::new(whole, width).unwrap_or(diamonds);
                let edges = ShapeEdges { edges: diamonds.edges, count: 2 };
                (place, edges, Some(LinePrim::diamonds(&whole, self.phase)))
            }
        })
    }

    fn point(&mut self, v: &ProjectedVertex, common: PrimitiveCommon, slope: Option<f32>) {
        if v.codes & (code::REJECT | code::UNPROJECTED) != 0 {
            return;
        }
        self.leaving += u64::from(slope.is_none());
        let size = self.shaded.float(common.vertices[0] as usize, self.draw.linkage().point_size, 1.0);
        let size = if size.is_nan() { 1.0 } else { size.clamp(POINT_SIZE_RANGE[0], POINT_SIZE_RANGE[1]) };
        let mut planes = Planes::point(&v.screen);
        if let Some(slope) = slope {
            self.bias(&mut planes, slope);
        }
        let corner = |c: i32| c as f32 / SUBPIXEL as f32 - size * 0.5;
        let sprite = (size, [corner(v.screen.x), corner(v.screen.y)]);
        let outline = Outline::point(&v.screen, size);
        let limit = self.transform(&common).scissor_rect;
        let Some(shape) = self.point_shape(&outline, limit) else { return };
        let planes = planes.relative(shape.0.origin);
        self.emit(shape, &planes, &common, Some(sprite), AttributeValues::Vertices);
        self.inner_edges(|| outline);
    }

    /// Returns the pixels of a point; `None` if there are none.
    fn point_shape(&self, outline: &Outline, limit: [i32; 4]) -> Option<(PiecePixels, ShapeEdges, u32)> {
        if self.conservative() != ConservativeMode::Disabled {
            return self.conservative_shape(outline, limit);
        }
        let place = PiecePixels::new(self.grid, limit, outline)?;
        let edges = outline.edges().cutting(cut(self.grid, place.rect));
        Some((place, edges, place.pixels(self.grid, &edges)?))
    }

    /// Appends a piece with its attributes.
    #[inline(always)]
    pub fn emit(
        &mut self,
        (place, edges, pixels): (PiecePixels, ShapeEdges, u32),
        planes: &impl PlaneSource,
        common: &PrimitiveCommon,
        sprite: Option<(f32, [f32; 2])>,
        values: AttributeValues<'_>,
    ) {
        let depth_range = self.transform(common).depth_range;
        let piece = setup::PrimitivePiece { place, edges, pixels, common, depth_range, sprite };
        setup::emit(self.out, self.grid, piece, planes);
        let shaded = (self.shaded, self.records);
        attributes(self.draw.linkage(), shaded, common, values, self.out);
    }
}

/// Returns the greatest depth slope of a triangle; 0 for one without area.
fn slope_of(screen: &[ScreenVertex; 3]) -> f32 {
    let area = doubled_area(screen);
    if area == 0.0 { 0.0 } else { Planes::triangle(screen, area).slope() }
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    // A weight of zero must not spread an infinite distance.
    (0..3).map(|i| if b[i] == 0.0 { 0.0 } else { a[i] * b[i] }).sum()
}

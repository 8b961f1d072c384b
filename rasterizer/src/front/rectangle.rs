//! Two triangles in a row that are one rectangle: what interfaces, glyphs, sprites and particles are made of.
//!
//! Where both triangles say the same of every pixel, they are set up as one primitive whose outline is the rectangle's. Nothing is shaded twice along the
//! diagonal then, and no pixel is asked on which side it lies. The first triangle's planes hold for all of it, so its pixels keep their bits; those of
//! the second one may differ from its own planes' in the last place. Which triangles go together depends on the draw alone ([`super::link::Pairs`]).

#![forbid(unsafe_code)]

use super::link::Linkage;
use super::primitive::Builder;
use super::setup::{Outline, Place, Planes};
use super::stream::{Assembled, Shaded};
use crate::prim::Screen;
use crate::stage::NO_SLOT;
use base::shader::Interpolation;

/// Corners of a rectangle are numbered `x | y << 1`, 1 is right and below: opposite ones differ in both.
const OPPOSITE: usize = 3;

/// Vertices by the corner they are at. Of a triangle, one is missing.
#[derive(Clone, Copy)]
struct Corners {
    vertices: [u32; 4],
    missing: usize,
}

impl Corners {
    /// Of a triangle with these extremes: `None` unless each vertex is at another corner.
    #[inline(always)]
    fn new(ids: [u32; 3], screen: &[Screen; 3], [x0, y0, x1, y1]: [i32; 4]) -> Option<Corners> {
        let (mut vertices, mut seen) = ([0; 4], 0);
        for (id, at) in ids.into_iter().zip(screen) {
            if (at.x != x0 && at.x != x1) || (at.y != y0 && at.y != y1) {
                return None;
            }
            let corner = usize::from(at.x == x1) | usize::from(at.y == y1) << 1;
            vertices[corner] = id;
            seen |= 1u32 << corner;
        }
        (seen.count_ones() == 3).then_some(Corners { vertices, missing: (!seen).trailing_zeros() as usize })
    }
}

/// Two triangles that share a diagonal, as the values of an attribute are compared.
struct Pair {
    first: Corners,
    second: Corners,
}

impl Pair {
    /// Is a value in every corner that of the first triangle's plane?
    #[inline(always)]
    fn is_affine(&self, value: impl Fn(u32) -> u32) -> bool {
        let missing = self.first.missing;
        let at = |corners: &Corners, corner: usize| value(corners.vertices[corner & 3]);
        let number = |bits: u32| f64::from(f32::from_bits(bits));
        let diagonal = [missing ^ 1, missing ^ 2];
        let ends = diagonal.map(|corner| at(&self.first, corner));
        // Not-a-number is nothing's sum.
        ends == diagonal.map(|corner| at(&self.second, corner))
            && number(at(&self.first, missing ^ OPPOSITE)) + number(at(&self.second, missing))
                == number(ends[0]) + number(ends[1])
    }

    /// Have the inputs of fragments such values, and the flat ones the same one in both provoking vertices?
    #[inline(always)]
    fn agrees(&self, linkage: &Linkage, shaded: Shaded<'_>, provoking: [u32; 2]) -> bool {
        linkage.links.iter().filter(|link| link.slot != NO_SLOT).all(|link| {
            (link.slot..link.slot + link.count).all(|slot| {
                let value = |vertex: u32| shaded.get(vertex as usize, slot);
                match link.interpolation {
                    Interpolation::Flat => value(provoking[0]) == value(provoking[1]),
                    Interpolation::Smooth | Interpolation::Linear => self.is_affine(value),
                }
            })
        })
    }
}

impl Builder<'_> {
    /// Sets both triangles up as one, if they are a rectangle at one depth and distance; they are turned alike, unclipped, and half as large as the
    /// rectangle around each. `bounds` are the first one's.
    #[inline(always)]
    pub fn rectangle(&mut self, pair: [Assembled; 2], area: f64, bounds: [i32; 4], layer: u32) -> bool {
        let [(ids, number), (others, _)] = pair;
        let screens = [ids, others].map(|ids| ids.map(|id| self.vertices[id as usize].screen));
        let [screen, other] = &screens;
        let depth = |at: &Screen| (at.z.to_bits(), at.inv_w.to_bits());
        if screen[1..].iter().chain(other).any(|at| depth(at) != depth(&screen[0])) {
            return false;
        }
        let extremes = Outline::triangle(screen).extremes();
        let corners = (Corners::new(ids, screen, extremes), Corners::new(others, other, extremes));
        let (Some(first), Some(second)) = corners else { return false };
        if first.missing ^ second.missing != OPPOSITE {
            return false;
        }
        let linkage = &*self.draw.plan.linkage;
        if !(Pair { first, second }).agrees(linkage, self.shaded, [ids[0], others[0]]) {
            return false;
        }
        self.leaving += 2;
        let common = self.common_of(ids, number, layer, area);
        let Some(place) = Place::within(self.view_rect(&common), bounds) else { return true };
        let edges = Outline::rectangle(extremes).edges_turning(false);
        let Some(pixels) = place.pixels(self.grid, &edges) else { return true };
        let mut planes = Planes::triangle(screen, area);
        self.bias(&mut planes, 0.0);
        self.emit((place, edges, pixels), &planes, &common, None, None);
        true
    }
}

//! Computations that blocks of primitives share: the pixels that small shapes cover, and planes, as
//! lanes.
//!
//! A primitive's planes take some eighty operations, each of which would wait for an earlier one;
//! across a block's primitives they are independent. They are written once ([`super::planes`]): a
//! loop over lanes of the same function gives the same bits.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::planes::{PlaneSource, Planes};
use crate::prim::{GROUP, PrimLanes, SUBPIXEL, ScreenVertex, transposed};
use base::abi::FragmentPrimitive;

/// Number of primitives of a block.
pub const BLOCK: usize = 64;

/// The planes of a block's primitives of `C` corners, and the other words of their records; a
/// worker keeps them. Planes are computed by groups, up to the last primitive.
pub struct PlaneLanes<const C: usize, const GROUPS: usize = { BLOCK / GROUP }>([PlaneGroup<C>; GROUPS]);

impl<const C: usize, const GROUPS: usize> Default for PlaneLanes<C, GROUPS> {
    fn default() -> Self {
        PlaneLanes(core::array::from_fn(|_| PlaneGroup::default()))
    }
}

/// Returns the words of a group's corners (fixed point, depth, distance), transposed.
#[inline(always)]
fn columns(corners: &[ScreenVertex; GROUP]) -> [[u32; GROUP]; 4] {
    let [a, b, c, d, e, f, g, h] = corners;
    let low = transposed([a.words(), b.words(), c.words(), d.words()]);
    let high = transposed([e.words(), f.words(), g.words(), h.words()]);
    let mut columns = [[0; GROUP]; 4];
    for (k, column) in columns.iter_mut().enumerate() {
        column[..4].copy_from_slice(&low[k]);
        column[4..].copy_from_slice(&high[k]);
    }
    columns
}

/// The planes of a group of primitives.
struct PlaneGroup<const C: usize> {
    /// Corners of the primitives.
    corners: [[ScreenVertex; GROUP]; C],
    /// Records of the primitives, of which [`super::planes::RelativePlanes`] and its origin are
    /// computed here.
    prims: PrimLanes,
}

impl<const C: usize> Default for PlaneGroup<C> {
    fn default() -> Self {
        PlaneGroup { corners: [[ScreenVertex::default(); GROUP]; C], prims: PrimLanes::default() }
    }
}

/// Rows of [`PrimLanes`], by field.
mod row {
    use crate::prim::word_of;
    pub const B1: usize = word_of!(shade.b1);
    pub const B2: usize = word_of!(shade.b2);
    pub const INV_W: usize = word_of!(shade.inv_w);
    pub const INV_W1: usize = word_of!(shade.inv_w1);
    pub const INV_W2: usize = word_of!(shade.inv_w2);
    pub const Z: usize = word_of!(shade.z);
    pub const ORIGIN: usize = word_of!(shade.origin);
    pub const AFFINE: usize = word_of!(shade.affine);
}

impl<const C: usize, const GROUPS: usize> PlaneLanes<C, GROUPS> {
    /// Sets the corners and the origin of primitive `number` of the block.
    #[inline(always)]
    pub fn put(&mut self, number: usize, corners: [&ScreenVertex; C], origin: [i32; 2]) {
        let (group, i) = (&mut self.0[number / GROUP % GROUPS], number % GROUP);
        for (k, corner) in corners.into_iter().enumerate() {
            group.corners[k][i] = *corner;
        }
        for (k, origin) in origin.into_iter().enumerate() {
            group.prims.0[row::ORIGIN + k][i] = origin as u32;
        }
    }

    /// Computes the planes of the first `count` primitives. (Corners after them may be
    /// not-a-number.)
    #[inline(always)]
    pub fn make(&mut self, count: usize, planes: impl Fn(&[ScreenVertex; C]) -> Planes) {
        for PlaneGroup { corners, prims } in self.0.iter_mut().take(count.div_ceil(GROUP)) {
            let mut words = [[[0; GROUP]; 4]; C];
            for k in 0..C {
                words[k] = columns(&corners[k]);
            }
            // (These are separate variables, so that the compiler knows that they do not overlap.)
            let [mut b1, mut b2, mut distance, mut depth] = [[[0u32; GROUP]; 3]; 4];
            let [mut distance1, mut distance2, mut affine] = [[0u32; GROUP]; 3];
            let origin = [prims.0[row::ORIGIN], prims.0[row::ORIGIN + 1]];
            for i in 0..GROUP {
                let corner = |k: usize| {
                    let [x, y, z, inv_w] = &words[k];
                    let (z, inv_w) = (f32::from_bits(z[i]), f32::from_bits(inv_w[i]));
                    ScreenVertex { x: x[i] as i32, y: y[i] as i32, z, inv_w }
                };
                let of = planes(&core::array::from_fn(corner)).relative([origin[0][i] as i32, origin[1][i] as i32]);
                for k in 0..3 {
                    (b1[k][i], b2[k][i]) = (of.b1[k].to_bits(), of.b2[k].to_bits());
                    (distance[k][i], depth[k][i]) = (of.inv_w[k].to_bits(), of.z[k].to_bits());
                }
                (distance1[i], distance2[i]) = (of.inv_w1.to_bits(), of.inv_w2.to_bits());
                affine[i] = of.affine;
            }
            for (first, rows) in [(row::B1, b1), (row::B2, b2), (row::INV_W, distance), (row::Z, depth)] {
                for (k, row) in rows.into_iter().enumerate() {
                    prims.0[first + k] = row;
                }
            }
            for (at, row) in [(row::INV_W1, distance1), (row::INV_W2, distance2), (row::AFFINE, affine)] {
                prims.0[at] = row;
            }
        }
    }

    /// Returns the records of the group that begins with primitive `number`.
    #[inline(always)]
    pub fn prims(&mut self, number: usize) -> &mut PrimLanes {
        &mut self.0[number / GROUP % GROUPS].prims
    }

    /// Returns the planes of primitive `number`.
    #[inline(always)]
    pub fn get(&self, number: usize) -> PlaneLane<'_> {
        PlaneLane { prims: &self.0[number / GROUP % GROUPS].prims, lane: number % GROUP }
    }
}

/// The planes of a primitive of a group.
pub struct PlaneLane<'a> {
    pub prims: &'a PrimLanes,
    pub lane: usize,
}

impl PlaneSource for PlaneLane<'_> {
    #[inline(always)]
    fn write(&self, to: &mut FragmentPrimitive) {
        let (PrimLanes(rows), i) = (self.prims, self.lane % GROUP);
        let float = |row: usize| f32::from_bits(rows[row][i]);
        for k in 0..3 {
            (to.b1[k], to.b2[k]) = (float(row::B1 + k), float(row::B2 + k));
            (to.inv_w[k], to.z[k]) = (float(row::INV_W + k), float(row::Z + k));
        }
        (to.inv_w1, to.inv_w2, to.affine) = (float(row::INV_W1), float(row::INV_W2), rows[row::AFFINE][i]);
    }
}

/// Convex shapes of `C` corners, in fixed point.
pub struct ShapeLanes<const C: usize> {
    pub x: [[i32; BLOCK]; C],
    pub y: [[i32; BLOCK]; C],
    /// Orientation: -1 if the corners turn counter-clockwise (on a y-down screen), 0 if clockwise.
    pub turned: [i32; BLOCK],
}

impl<const C: usize> Default for ShapeLanes<C> {
    fn default() -> Self {
        ShapeLanes { x: [[0; BLOCK]; C], y: [[0; BLOCK]; C], turned: [0; BLOCK] }
    }
}

impl<const C: usize> ShapeLanes<C> {
    /// Computes which pixels are covered at their centres, as [`crate::prim::Prim::pixels`], for
    /// the part of `bounds` (x0, y0, x1, y1) inside of `limit`. The result is only meaningful if
    /// that part is at most 4×4.
    #[inline(always)]
    pub fn cover(&self, bounds: &[[i32; BLOCK]; 4], limit: [i32; 4], pixels: &mut [u32; BLOCK]) {
        let [left, top, right, bottom] = bounds;
        // `at` is the value of the edges at the first pixel, and the others are what a pixel adds.
        // All of them are small if the shape is.
        let (mut at, mut across, mut down) = ([[0i32; BLOCK]; C], [[0i32; BLOCK]; C], [[0i32; BLOCK]; C]);
        for k in 0..C {
            let (px, py) = (&self.x[k], &self.y[k]);
            let (qx, qy) = (&self.x[(k + 1) % C], &self.y[(k + 1) % C]);
            for i in 0..BLOCK {
                let turned = self.turned[i];
                let signed = |v: i32| (v ^ turned).wrapping_sub(turned);
                let (a, b) = (signed(py[i].wrapping_sub(qy[i])), signed(qx[i].wrapping_sub(px[i])));
                let top_left = (a > 0) | (a == 0) & (b > 0);
                let centre =
                    |first: i32, limit: i32| first.max(limit).wrapping_mul(SUBPIXEL).wrapping_add(SUBPIXEL / 2);
                let dx = centre(left[i], limit[0]).wrapping_sub(px[i]);
                let dy = centre(top[i], limit[1]).wrapping_sub(py[i]);
                let e = a.wrapping_mul(dx).wrapping_add(b.wrapping_mul(dy));
                at[k][i] = e.wrapping_sub(i32::from(!top_left));
                (across[k][i], down[k][i]) = (a.wrapping_mul(SUBPIXEL), b.wrapping_mul(SUBPIXEL));
            }
        }
        let mut inside = [0u32; BLOCK];
        for row in 0..4 {
            for i in 0..BLOCK {
                let mut e: [i32; C] = core::array::from_fn(|k| at[k][i]);
                let mut nibble = 0;
                for column in 0..4 {
                    nibble |= (!e.iter().fold(0, |signs, e| signs | e) as u32 >> 31) << column;
                    for k in 0..C {
                        e[k] = e[k].wrapping_add(across[k][i]);
                    }
                }
                inside[i] |= nibble << (4 * row);
                for k in 0..C {
                    at[k][i] = at[k][i].wrapping_add(down[k][i]);
                }
            }
        }
        for i in 0..BLOCK {
            let width = right[i].min(limit[2]).wrapping_sub(left[i].max(limit[0])) as u32 & 7;
            let height = bottom[i].min(limit[3]).wrapping_sub(top[i].max(limit[1])) as u32 & 7;
            let columns = (0x1111 << width) - 0x1111;
            let rows = (1 << (4 * height)) - 1;
            pixels[i] = inside[i] & columns & rows;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::planes::doubled_area;
    use crate::front::setup::{Bounding, Outline, PiecePixels};
    use crate::prim::{SMALL, TileGrid};
    use base::random::Rng;

    const GRID: TileGrid = TileGrid { tiles: [2, 2], layers: 1, samples: 1 };

    /// Returns corners near each other; sometimes all distances are 1.
    fn corners(random: &mut Rng) -> [ScreenVertex; 3] {
        let at = [0; 2].map(|_| random.below(120 * SUBPIXEL as u32) as i32 - 2560);
        let affine = random.below(3) == 0;
        [0; 3].map(|_| ScreenVertex {
            x: at[0] + random.below(900) as i32,
            y: at[1] + random.below(900) as i32,
            z: random.float(0.0, 1.0),
            inv_w: if affine { 1.0 } else { random.float(0.1, 4.0) },
        })
    }

    /// Returns the words of the planes of a source.
    fn words(planes: &impl PlaneSource) -> [u32; 15] {
        let mut prim = crate::front::setup::UNSET_PRIM;
        planes.write(&mut prim.shade);
        let shade = &prim.shade;
        let planes = [shade.b1, shade.b2, shade.inv_w, shade.z];
        core::array::from_fn(|i| match i {
            12 => shade.inv_w1.to_bits(),
            13 => shade.inv_w2.to_bits(),
            14 => shade.affine,
            _ => planes[i / 3][i % 3].to_bits(),
        })
    }

    #[test]
    fn lanes_have_the_bits_of_single_planes() {
        let mut random = Rng(5);
        let (mut triangles, mut lines) = (PlaneLanes::<3>::default(), PlaneLanes::<2>::default());
        for count in (1..=BLOCK).chain(1..=BLOCK) {
            let all: Vec<[ScreenVertex; 3]> = (0..count).map(|_| corners(&mut random)).collect();
            let origin = |number: usize| [number as i32 * 3, 200 - number as i32];
            for (number, corners) in all.iter().enumerate() {
                triangles.put(number, corners.each_ref(), origin(number));
                lines.put(number, [&corners[0], &corners[1]], origin(number));
            }
            let triangle = |corners: &[ScreenVertex; 3]| Planes::triangle(corners, doubled_area(corners));
            triangles.make(count, triangle);
            lines.make(count, Planes::line);
            for (number, corners) in all.iter().enumerate() {
                if doubled_area(corners) != 0.0 {
                    let want = triangle(corners).relative(origin(number));
                    assert_eq!(words(&triangles.get(number)), words(&want), "{corners:?}");
                }
                let want = Planes::line(&[corners[0], corners[1]]).relative(origin(number));
                assert_eq!(words(&lines.get(number)), words(&want), "{corners:?}");
            }
        }
    }

    #[test]
    fn lanes_cover_what_edges_do() {
        let mut random = Rng(9);
        let (mut shapes, limit) = (ShapeLanes::<3>::default(), [3, 2, 100, 90]);
        let (mut bounds, mut pixels, mut covered) = ([[0; BLOCK]; 4], [0; BLOCK], 0);
        for _ in 0..200 {
            let all = [0; BLOCK].map(|_| corners(&mut random));
            for (i, corners) in all.iter().enumerate() {
                for (k, corner) in corners.iter().enumerate() {
                    (shapes.x[k][i], shapes.y[k][i]) = (corner.x, corner.y);
                }
                shapes.turned[i] = if doubled_area(corners) < 0.0 { -1 } else { 0 };
                for (row, end) in bounds.iter_mut().zip(Outline::triangle(corners).bounds(Bounding::CENTRES)) {
                    row[i] = end;
                }
            }
            shapes.cover(&bounds, limit, &mut pixels);
            for (i, corners) in all.iter().enumerate() {
                let of = bounds.each_ref().map(|row| row[i]);
                let small = of[2] - of[0] <= SMALL && of[3] - of[1] <= SMALL;
                let Some(place) = PiecePixels::within(limit, of).filter(|_| small && doubled_area(corners) != 0.0)
                else {
                    continue;
                };
                let want = place.pixels(&GRID, &Outline::triangle(corners).edges()).unwrap_or(0);
                assert_eq!(pixels[i], want, "{corners:?}");
                covered += u32::from(want != 0);
            }
        }
        assert!(covered > 1000, "{covered}");
    }
}

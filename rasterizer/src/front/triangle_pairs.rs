//! Pairs of triangles, as lanes, and which of them are rectangles ([`super::rectangle`]).

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::primitive_lanes::PlaneLanes;
use super::setup::row_of;
use super::stream::ShadedVertices;
use crate::prim::GROUP;
use crate::stages::{Linkage, NO_SLOT};

/// Pairs of triangles that may be rectangles, as lanes; a worker keeps them.
#[derive(Default)]
pub struct TrianglePairLanes {
    /// Fixed-point x of the corners of both triangles.
    pub x: [[[i32; GROUP]; 3]; 2],
    pub y: [[[i32; GROUP]; 3]; 2],
    /// Position of slot 0 of the vertices.
    pub bases: [[[u32; GROUP]; 3]; 2],
    /// Depth and distance of the pairs, as words.
    pub level: [[u32; GROUP]; 2],
    /// Least x, least y, greatest x and greatest y of the first triangle.
    pub extremes: [[i32; GROUP]; 4],
    /// Position of slot 0 of the vertex at each corner of the rectangle (`x | y << 1`: 1 is right
    /// and below), if there is one.
    pub at: [[[u32; GROUP]; 4]; 2],
    /// The corner without a vertex.
    pub missing: [[u32; GROUP]; 2],
    /// All ones if the pair is a rectangle.
    pub whole: [u32; GROUP],
    /// Values `[a0, d1, d2]` of each attribute row.
    pub rows: Vec<[[u32; GROUP]; 3]>,
    pub planes: PlaneLanes<3, 1>,
}

/// Returns all ones if the condition holds, else 0.
#[inline(always)]
pub fn mask(condition: bool) -> u32 {
    u32::from(condition).wrapping_neg()
}

impl TrianglePairLanes {
    /// Determines which pairs are rectangles, by their corners.
    #[inline(always)]
    pub fn measure(&mut self) {
        let mut ends = [[[0; GROUP]; 4]; 2];
        let mut whole = [u32::MAX; GROUP];
        for half in 0..2 {
            let (x, y, bases) = (self.x[half], self.y[half], self.bases[half]);
            let [mut left, mut top, mut right, mut bottom] = [[0; GROUP]; 4];
            for i in 0..GROUP {
                (left[i], right[i]) = (x[0][i].min(x[1][i]).min(x[2][i]), x[0][i].max(x[1][i]).max(x[2][i]));
                (top[i], bottom[i]) = (y[0][i].min(y[1][i]).min(y[2][i]), y[0][i].max(y[1][i]).max(y[2][i]));
            }
            let mut corners = [[0; GROUP]; 3];
            for k in 0..3 {
                for i in 0..GROUP {
                    let (at_right, at_bottom) = (mask(x[k][i] == right[i]), mask(y[k][i] == bottom[i]));
                    whole[i] &= (at_right | mask(x[k][i] == left[i])) & (at_bottom | mask(y[k][i] == top[i]));
                    corners[k][i] = at_right & 1 | at_bottom & 2;
                }
            }
            let [a, b, c] = corners;
            let mut missing = [0; GROUP];
            for i in 0..GROUP {
                whole[i] &= !(mask(a[i] == b[i]) | mask(a[i] == c[i]) | mask(b[i] == c[i]));
                missing[i] = 6u32.wrapping_sub(a[i] + b[i] + c[i]);
            }
            for (number, at) in (0..).zip(&mut self.at[half]) {
                let mut base = [0; GROUP];
                for i in 0..GROUP {
                    let (second, third) = (mask(b[i] == number), mask(c[i] == number));
                    base[i] = bases[1][i] & second | bases[2][i] & third | bases[0][i] & !(second | third);
                }
                *at = base;
            }
            self.missing[half] = missing;
            ends[half] = [left, top, right, bottom];
        }
        for i in 0..GROUP {
            whole[i] &= mask(self.missing[0][i] ^ self.missing[1][i] == 3);
        }
        for end in 0..4 {
            for i in 0..GROUP {
                whole[i] &= mask(ends[0][end][i] == ends[1][end][i]);
            }
        }
        (self.whole, self.extremes) = (whole, ends[0]);
    }

    /// Computes the attribute rows of the first `count` pairs; pairs whose halves have different
    /// rows are not rectangles.
    #[inline(always)]
    pub fn attributes(
        &mut self,
        count: usize,
        linkage: &Linkage,
        shaded: ShadedVertices<'_>,
        provoking: &[u32; GROUP],
    ) {
        self.rows.clear();
        for link in &linkage.links {
            for slot in (0..link.count).map(|n| link.slot.wrapping_add(n)) {
                let mut row = [[0; GROUP]; 3];
                if link.is_interpolated() {
                    let mut values = [[[0f32; GROUP]; 4]; 2];
                    for (values, at) in values.iter_mut().flatten().zip(self.at.iter().flatten()) {
                        for i in 0..count {
                            values[i] = f32::from_bits(shaded.slot(at[i] as usize, slot));
                        }
                    }
                    let mut made = [[[0; GROUP]; 3]; 2];
                    for half in 0..2 {
                        let (missing, [left, right, below, last]) = (self.missing[half], values[half]);
                        let [mut first, mut across, mut down] = [[0; GROUP]; 3];
                        for i in 0..GROUP {
                            let row = row_of(missing[i], [left[i], right[i], below[i], last[i]]);
                            (first[i], across[i], down[i]) = (row[0], row[1], row[2]);
                        }
                        made[half] = [first, across, down];
                    }
                    for k in 0..3 {
                        for i in 0..GROUP {
                            self.whole[i] &= mask(made[0][k][i] == made[1][k][i]);
                        }
                    }
                    row = made[0];
                } else if link.slot != NO_SLOT {
                    for i in 0..count {
                        row[0][i] = shaded.get(provoking[i] as usize, slot);
                    }
                }
                self.rows.push(row);
            }
        }
    }
}

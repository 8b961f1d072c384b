//! The scalar definition of sampling, in f64: the oracle against which the sampling kernels are
//! tested.
//!
//! It follows the specification's chapter "Image Operations" formula by formula and shares no code
//! with the kernels. Only tests use it (also those of dependent crates, hence it is public), so it
//! may use the host's logarithm.

#![forbid(unsafe_code)]

use crate::abi::{Dim, Sampler};

/// An image as the oracle sees it.
pub struct OracleImage<'a> {
    /// Dimensionality of the image.
    pub dim: Dim,
    /// True if the view is an array view.
    pub arrayed: bool,
    /// Size of each level in texels.
    pub extents: &'a [[u32; 3]],
    /// Number of layers (6 × cubes).
    pub layers: u32,
    /// Function that returns the texel of (level, layer, coordinates).
    pub fetch: &'a dyn Fn(usize, u32, [u32; 3]) -> [f64; 4],
    /// Border colour in which components that the format lacks are already replaced.
    pub border: [f64; 4],
}

/// A result, and the distance of the nearest decision (of a nearest filter or level) from its
/// threshold. If the distance is tiny, another precision may decide differently.
#[derive(Clone, Copy, Debug)]
pub struct OracleSample {
    /// Four components of the result.
    pub texel: [f64; 4],
    /// Distance from the threshold, in texels or levels.
    pub margin: f64,
}

/// Reference and `VkCompareOp` of a depth comparison.
pub type Compare = Option<(f64, u32)>;

fn wrap(i: i64, size: i64, mode: u32) -> Option<i64> {
    let mirror = |n: i64| if n >= 0 { n } else { -(1 + n) };
    match mode {
        0 => Some(i.rem_euclid(size)),
        1 => Some((size - 1) - mirror(i.rem_euclid(2 * size) - size)),
        2 => Some(i.clamp(0, size - 1)),
        3 => (0..size).contains(&i).then_some(i),
        _ => Some(mirror(i).clamp(0, size - 1)),
    }
}

/// Returns the face, s and t of a direction.
pub fn cube_face(r: [f64; 3]) -> (u32, f64, f64) {
    let [x, y, z] = r;
    let [ax, ay, az] = r.map(f64::abs);
    let (face, sc, tc, major) = if az >= ax && az >= ay {
        if z >= 0.0 { (4, x, -y, az) } else { (5, -x, -y, az) }
    } else if ay >= ax {
        if y >= 0.0 { (2, x, z, ay) } else { (3, x, -z, ay) }
    } else if x >= 0.0 {
        (0, -z, -y, ax)
    } else {
        (1, z, -y, ax)
    };
    (face, 0.5 * sc / major + 0.5, 0.5 * tc / major + 0.5)
}

fn cube_direction(face: u32, s: f64, t: f64) -> [f64; 3] {
    let (sc, tc) = (2.0 * s - 1.0, 2.0 * t - 1.0);
    match face {
        0 => [1.0, -tc, -sc],
        1 => [-1.0, -tc, sc],
        2 => [sc, 1.0, tc],
        3 => [sc, -1.0, -tc],
        4 => [sc, -tc, 1.0],
        _ => [-sc, -tc, -1.0],
    }
}

impl OracleImage<'_> {
    fn axes(&self) -> usize {
        match self.dim {
            Dim::D1 | Dim::Buffer => 1,
            Dim::D2 | Dim::Cube => 2,
            Dim::D3 => 3,
        }
    }

    fn layer(&self, coord: [f64; 4]) -> u32 {
        let (axis, count) = match self.dim {
            Dim::D1 | Dim::Buffer => (1, self.layers),
            Dim::D2 | Dim::D3 => (2, self.layers),
            Dim::Cube => (3, self.layers / 6),
        };
        if !self.arrayed || self.dim == Dim::D3 {
            return 0;
        }
        coord[axis].round_ties_even().clamp(0.0, f64::from(count - 1)) as u32
    }

    /// Returns the texel at unwrapped (i, j, k), or the border where the address mode selects it.
    fn texel(&self, s: &Sampler, level: usize, layer: u32, ijk: [i64; 3], compare: Compare) -> [f64; 4] {
        let extent = self.extents[level];
        let mut at = [0; 3];
        let mut inside = true;
        for c in 0..self.axes() {
            match wrap(ijk[c], i64::from(extent[c]), s.address_mode[c]) {
                Some(i) => at[c] = i as u32,
                None => inside = false,
            }
        }
        let t = if inside { (self.fetch)(level, layer, at) } else { self.border };
        compared(t, compare)
    }

    /// Returns a texel at most one step outside of a cube face, or `None` at a corner.
    fn cube_texel(&self, level: usize, base: u32, face: u32, [i, j]: [i64; 2], compare: Compare) -> Option<[f64; 4]> {
        let size = i64::from(self.extents[level][0]);
        let outside = |v: i64| v < 0 || v >= size;
        let at = |layer: u32, i: i64, j: i64| compared((self.fetch)(level, layer, [i as u32, j as u32, 0]), compare);
        if outside(i) && outside(j) {
            return None;
        }
        if !outside(i) && !outside(j) {
            return Some(at(base + face, i, j));
        }
        // The point is just beyond the edge, beside the texel's centre.
        let centre = |v: i64| {
            let u = (v as f64 + 0.5) / size as f64;
            if v < 0 {
                -1e-9
            } else if v >= size {
                1.0 + 1e-9
            } else {
                u
            }
        };
        let (face, s, t) = cube_face(cube_direction(face, centre(i), centre(j)));
        let index = |u: f64| ((u * size as f64).floor() as i64).clamp(0, size - 1);
        Some(at(base + face, index(s), index(t)))
    }

    /// Returns the 2^n footprint (x fastest), with weights and margin.
    fn footprint(
        &self,
        s: &Sampler,
        level: usize,
        coord: [f64; 4],
        offset: [i64; 3],
        linear: bool,
        compare: Compare,
    ) -> (Vec<[f64; 4]>, Vec<f64>, f64) {
        let extent = self.extents[level];
        let (mut uvw, mut base) = ([coord[0], coord[1], coord[2]], self.layer(coord));
        let mut face = 0;
        if self.dim == Dim::Cube {
            let (f, u, v) = cube_face(uvw);
            (face, uvw, base) = (f, [u, v, 0.0], base * 6);
        }
        let (mut first, mut weight, mut margin) = ([0i64; 3], vec![0.0; self.axes()], f64::INFINITY);
        for c in 0..self.axes() {
            let scaled = if s.unnormalized != 0 { uvw[c] } else { uvw[c] * f64::from(extent[c]) };
            let u = if linear { scaled - 0.5 } else { scaled };
            first[c] = u.floor() as i64 + offset[c];
            weight[c] = u - u.floor();
            if !linear {
                margin = margin.min((scaled - scaled.round()).abs());
            }
        }
        let count = if linear { 1usize << self.axes() } else { 1 };
        let mut texels: Vec<Option<[f64; 4]>> = (0..count)
            .map(|n| {
                let at: [i64; 3] = std::array::from_fn(|c| first[c] + (n >> c & 1) as i64);
                if self.dim != Dim::Cube {
                    return Some(self.texel(s, level, base, at, compare));
                }
                let last = i64::from(extent[0]) - 1;
                let at = if linear { [at[0], at[1]] } else { [at[0].clamp(0, last), at[1].clamp(0, last)] };
                self.cube_texel(level, base, face, at, compare)
            })
            .collect();
        if let Some(hole) = texels.iter().position(Option::is_none) {
            let others: Vec<_> = texels.iter().flatten().copied().collect();
            let mean = std::array::from_fn(|c| others.iter().map(|t| t[c]).sum::<f64>() / others.len() as f64);
            texels[hole] = Some(mean);
        }
        (texels.into_iter().flatten().collect(), weight, margin)
    }

    /// Returns the filtered sample of one level.
    pub fn level(
        &self,
        s: &Sampler,
        level: usize,
        coord: [f64; 4],
        offset: [i64; 3],
        linear: bool,
        compare: Compare,
    ) -> OracleSample {
        let (texels, weight, margin) = self.footprint(s, level, coord, offset, linear, compare);
        let mut result: Option<[f64; 4]> = None;
        for (n, t) in texels.iter().enumerate() {
            let w: f64 = weight
                .iter()
                .enumerate()
                .filter(|_| linear)
                .map(|(c, w)| if n >> c & 1 == 1 { *w } else { 1.0 - w })
                .product();
            result = match (s.reduction, result) {
                (0, r) => {
                    let r = r.unwrap_or_default();
                    Some(std::array::from_fn(|c| r[c] + t[c] * w))
                }
                _ if w == 0.0 => result,
                (_, None) => Some(*t),
                (1, Some(r)) => Some(std::array::from_fn(|c| r[c].min(t[c]))),
                (_, Some(r)) => Some(std::array::from_fn(|c| r[c].max(t[c]))),
            };
        }
        OracleSample { texel: result.unwrap_or_default(), margin }
    }

    /// Applies the whole filter at a given λ (already clamped): levels, magnification or
    /// minification.
    pub fn sample(
        &self,
        s: &Sampler,
        coord: [f64; 4],
        offset: [i64; 3],
        lambda: f64,
        compare: Compare,
    ) -> OracleSample {
        let linear = if lambda <= 0.0 { s.mag_filter } else { s.min_filter } == 1;
        let last = (self.extents.len() - 1) as f64;
        let d = lambda.clamp(0.0, last);
        let mut margin = if s.mag_filter == s.min_filter { f64::INFINITY } else { lambda.abs() };
        if s.mipmap_mode == 0 {
            let nearest = (d + 0.5).ceil() - 1.0;
            if d > 0.0 && d < last {
                margin = margin.min((d - d.floor() - 0.5).abs());
            }
            let one = self.level(s, nearest.max(0.0) as usize, coord, offset, linear, compare);
            return OracleSample { margin: margin.min(one.margin), ..one };
        }
        let (high, low) = (d.floor(), (d.floor() + 1.0).min(last));
        let a = self.level(s, high as usize, coord, offset, linear, compare);
        let b = self.level(s, low as usize, coord, offset, linear, compare);
        let w = d - high;
        let texel = std::array::from_fn(|c| match s.reduction {
            0 => a.texel[c] * (1.0 - w) + b.texel[c] * w,
            _ if w == 0.0 => a.texel[c],
            1 => a.texel[c].min(b.texel[c]),
            _ => a.texel[c].max(b.texel[c]),
        });
        if s.reduction != 0 {
            margin = margin.min((d - d.round()).abs());
        }
        OracleSample { texel, margin: margin.min(a.margin).min(b.margin) }
    }

    /// Implements `OpImageGather`, with a component of the texel (before any swizzle).
    pub fn gather(
        &self,
        s: &Sampler,
        coord: [f64; 4],
        offset: [i64; 3],
        component: usize,
        compare: Compare,
    ) -> ([f64; 4], f64) {
        let (t, w, _) = self.footprint(s, 0, coord, offset, true, compare);
        let margin = w.iter().map(|w| w.min(1.0 - w)).fold(f64::INFINITY, f64::min);
        ([t[2][component], t[3][component], t[1][component], t[0][component]], margin)
    }

    /// Returns λ_base of derivatives in x and y of the coordinates (of the face's coordinates, for
    /// cubes).
    pub fn lambda_base(&self, derivatives: [[f64; 3]; 2]) -> f64 {
        let extent = self.extents[0];
        let rho =
            derivatives.map(|d| (0..self.axes()).map(|c| (d[c] * f64::from(extent[c])).powi(2)).sum::<f64>().sqrt());
        rho[0].max(rho[1]).log2()
    }

    /// Returns an anisotropic sample of a 2D image, by the specification's example implementation.
    pub fn anisotropic(&self, s: &Sampler, coord: [f64; 4], derivatives: [[f64; 3]; 2]) -> OracleSample {
        let extent = self.extents[0];
        let rho = derivatives.map(|d| (0..2).map(|c| (d[c] * f64::from(extent[c])).powi(2)).sum::<f64>().sqrt());
        let (max, min) = (rho[0].max(rho[1]), rho[0].min(rho[1]));
        let ratio = max / min;
        let n = ratio.ceil().min(f64::from(s.max_anisotropy)).max(1.0);
        let lambda = (max / n).log2().clamp(f64::from(s.min_lod), f64::from(s.max_lod));
        let axis = derivatives[usize::from(rho[1] > rho[0])];
        let mut sum = [0.0; 4];
        let mut margin =
            if ratio < f64::from(s.max_anisotropy) { (ratio - ratio.round()).abs() } else { f64::INFINITY };
        margin = margin.min((rho[0] - rho[1]).abs() / max);
        for i in 1..=n as u32 {
            let at = if n > 1.0 { f64::from(i) / (n + 1.0) - 0.5 } else { 0.0 };
            let probe = [coord[0] + axis[0] * at, coord[1] + axis[1] * at, coord[2], coord[3]];
            let one = self.sample(s, probe, [0; 3], lambda, None);
            margin = margin.min(one.margin);
            sum = std::array::from_fn(|c| sum[c] + one.texel[c] / n);
        }
        OracleSample { texel: sum, margin }
    }
}

fn compared(t: [f64; 4], compare: Compare) -> [f64; 4] {
    let Some((reference, op)) = compare else { return t };
    let pass = match op {
        0 => false,
        1 => reference < t[0],
        2 => reference == t[0],
        3 => reference <= t[0],
        4 => reference > t[0],
        5 => reference != t[0],
        6 => reference >= t[0],
        _ => true,
    };
    [f64::from(u8::from(pass)), 0.0, 0.0, 1.0]
}

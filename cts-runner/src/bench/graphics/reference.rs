//! CPU reference implementations of functions that the shaders compute.

/// Returns the integer noise of `hash.glsl`.
pub fn hash(x: u32) -> u32 {
    let x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    let x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// Returns [`hash`] as a float in 0..1.
pub fn unit(x: u32) -> f32 {
    (hash(x) >> 8) as f32 / 16_777_216.0
}

/// Returns `abs(fract(x) * 2 - 1)`.
pub fn wave(x: f32) -> f32 {
    ((x - x.floor()) * 2.0 - 1.0).abs()
}

/// Returns the dot product.
pub fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the cross product.
pub fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns the vector scaled to length 1.
pub fn normalize(v: [f32; 3]) -> [f32; 3] {
    let length = dot(v, v).sqrt();
    v.map(|x| x / length)
}

/// Interpolates linearly from `a` at 0 to `b` at 1.
pub fn mix(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

/// Handling of texture coordinates outside the texture.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wrap {
    /// The texture repeats.
    Repeat,
    /// The coordinate is clamped to the edge texel.
    Clamp,
}

/// One level of a texture of floats.
#[derive(Clone)]
pub struct Level {
    /// Width in texels.
    pub width: usize,
    /// Height in texels.
    pub height: usize,
    /// Texels row by row.
    pub texels: Vec<[f32; 4]>,
}

impl Level {
    /// Creates a level from a function that returns each texel.
    pub fn new(width: usize, height: usize, texel: impl Fn(usize, usize) -> [f32; 4]) -> Self {
        let texels = (0..width * height).map(|i| texel(i % width, i / width)).collect();
        Self { width, height, texels }
    }

    /// Returns a texel.
    pub fn texel(&self, x: i64, y: i64, wrap: Wrap) -> [f32; 4] {
        let at = |i: i64, size: usize| match wrap {
            Wrap::Repeat => i.rem_euclid(size as i64) as usize,
            Wrap::Clamp => i.clamp(0, size as i64 - 1) as usize,
        };
        self.texels[at(y, self.height) * self.width + at(x, self.width)]
    }

    /// Returns the texel that contains a coordinate.
    pub fn nearest(&self, u: f64, v: f64, wrap: Wrap) -> [f32; 4] {
        self.texel((u * self.width as f64).floor() as i64, (v * self.height as f64).floor() as i64, wrap)
    }

    /// Interpolates linearly between the four texels around a coordinate.
    pub fn bilinear(&self, u: f64, v: f64, wrap: Wrap) -> [f32; 4] {
        let (x, y) = (u * self.width as f64 - 0.5, v * self.height as f64 - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let (s, t) = ((x - left) as f32, (y - top) as f32);
        let (left, top) = (left as i64, top as i64);
        let [a, b] = [top, top + 1].map(|y| {
            let (a, b) = (self.texel(left, y, wrap), self.texel(left + 1, y, wrap));
            lerp(a, b, s)
        });
        lerp(a, b, t)
    }
}

/// Applies [`mix`] to each component.
pub fn lerp(a: [f32; 4], b: [f32; 4], t: f32) -> [f32; 4] {
    std::array::from_fn(|i| mix(a[i], b[i], t))
}

/// Adds each component.
pub fn add(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    std::array::from_fn(|i| a[i] + b[i])
}

/// Multiplies each component by a factor.
pub fn scale(a: [f32; 4], factor: f32) -> [f32; 4] {
    a.map(|x| x * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_filter_equals_texels_at_their_centres() {
        let level = Level::new(4, 2, |x, y| [x as f32, y as f32, 0.0, 1.0]);
        assert_eq!(level.bilinear(1.5 / 4.0, 0.25, Wrap::Clamp), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(level.bilinear(2.0 / 4.0, 0.5, Wrap::Clamp), [1.5, 0.5, 0.0, 1.0]);
        assert_eq!(level.bilinear(0.0, 0.25, Wrap::Clamp)[0], 0.0);
        assert_eq!(level.bilinear(0.0, 0.25, Wrap::Repeat)[0], 1.5);
        assert_eq!(level.nearest(0.99, 0.5, Wrap::Repeat), [3.0, 1.0, 0.0, 1.0]);
    }
}

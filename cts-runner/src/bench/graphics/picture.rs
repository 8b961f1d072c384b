//! Reads a target back and compares it with the expected content.

use super::super::figure::CheckError;
use crate::vk::{Gpu, Image};
use ash::vk;

/// A picture with 8 bits per component.
pub struct Picture {
    /// Width in pixels.
    pub width: usize,
    /// Pixels row by row.
    pub pixels: Vec<[u8; 4]>,
}

/// Limits of the allowed difference.
#[derive(Clone, Copy)]
pub struct Tolerance {
    /// Maximum difference of a component, in 1/255.
    pub component: f32,
    /// Share of the pixels that may differ by more.
    pub outliers: f64,
}

impl Tolerance {
    /// Returns a tolerance without outliers.
    pub fn without_outliers(component: f32) -> Self {
        Self { component, outliers: 0.0 }
    }
}

impl Picture {
    /// Reads an image of four bytes per texel that a pass left in `TRANSFER_SRC_OPTIMAL`.
    pub fn read(gpu: &Gpu, image: &Image) -> Result<Self, CheckError> {
        let buffer = gpu.read_image(image, 4, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?;
        let pixels = buffer.read().into_iter().map(u32::to_le_bytes).collect();
        Ok(Self { width: image.desc.extent[0] as usize, pixels })
    }

    /// Returns a pixel.
    pub fn at(&self, x: usize, y: usize) -> [u8; 4] {
        self.pixels[y * self.width + x]
    }

    /// Checks that every pixel has its expected value.
    pub fn exact(&self, expected: impl Fn(usize, usize) -> [u8; 4]) -> Result<(), CheckError> {
        for (i, &pixel) in self.pixels.iter().enumerate() {
            let (x, y) = (i % self.width, i / self.width);
            let expected = expected(x, y);
            if pixel != expected {
                return Err(CheckError::Output(format!("pixel ({x}, {y}) is {pixel:?}, not {expected:?}")));
            }
        }
        Ok(())
    }

    /// Checks that pixels of a raster with distance `step` are near their expected values (in
    /// 0..1).
    pub fn near(
        &self,
        step: usize,
        tolerance: Tolerance,
        expected: impl Fn(usize, usize) -> [f32; 4],
    ) -> Result<(), CheckError> {
        let height = self.pixels.len() / self.width.max(1);
        let places = (0..height).step_by(step).flat_map(|y| (0..self.width).step_by(step).map(move |x| (x, y)));
        self.near_at(places, tolerance, expected)
    }

    /// Checks that the pixels at these positions are near their expected values (in 0..1).
    pub fn near_at(
        &self,
        places: impl Iterator<Item = (usize, usize)>,
        tolerance: Tolerance,
        expected: impl Fn(usize, usize) -> [f32; 4],
    ) -> Result<(), CheckError> {
        let (mut seen, mut far, mut first) = (0usize, 0usize, None);
        for (x, y) in places {
            let (pixel, expected) = (self.at(x, y), expected(x, y).map(|v| v * 255.0));
            seen += 1;
            let off = |(&p, e): (&u8, &f32)| e.is_nan() || (f32::from(p) - e).abs() > tolerance.component;
            if pixel.iter().zip(&expected).any(off) {
                far += 1;
                first.get_or_insert_with(|| format!("pixel ({x}, {y}) is {pixel:?}, not about {expected:.1?}"));
            }
        }
        match first {
            Some(first) if far as f64 > tolerance.outliers * seen as f64 => {
                Err(CheckError::Output(format!("{far} of {seen} pixels are off; {first}")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of pixels that do not have this colour.
    pub fn count_other(&self, color: [u8; 4]) -> usize {
        self.pixels.iter().filter(|&&p| p != color).count()
    }
}

/// Checks that a count lies in a range.
pub fn within(what: &str, count: usize, range: std::ops::RangeInclusive<usize>) -> Result<(), CheckError> {
    if range.contains(&count) {
        return Ok(());
    }
    Err(CheckError::Output(format!("{count} {what}, not {} to {}", range.start(), range.end())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Picture {
        Picture { width: 2, pixels: vec![[0, 0, 0, 255], [10, 0, 0, 255], [20, 0, 0, 255], [30, 0, 0, 255]] }
    }

    #[test]
    fn exact_names_the_first_difference() {
        assert!(picture().exact(|x, y| [(x * 10 + y * 20) as u8, 0, 0, 255]).is_ok());
        let Err(CheckError::Output(what)) = picture().exact(|_, _| [0, 0, 0, 255]) else { panic!("a difference") };
        assert_eq!(what, "pixel (1, 0) is [10, 0, 0, 255], not [0, 0, 0, 255]");
    }

    #[test]
    fn near_counts_outliers() {
        let expected = |x: usize, y: usize| [(x * 10 + y * 20 + 1) as f32 / 255.0, 0.0, 0.0, 1.0];
        assert!(picture().near(1, Tolerance::without_outliers(1.01), expected).is_ok());
        assert!(picture().near(1, Tolerance::without_outliers(0.5), expected).is_err());
        let one_off = |x: usize, y: usize| if (x, y) == (0, 0) { [1.0; 4] } else { expected(x, y) };
        assert!(picture().near(1, Tolerance { component: 1.01, outliers: 0.25 }, one_off).is_ok());
        assert!(picture().near(1, Tolerance { component: 1.01, outliers: 0.24 }, one_off).is_err());
        assert_eq!(picture().count_other([0, 0, 0, 255]), 3);
        assert!(within("pixels", 3, 1..=3).is_ok() && within("pixels", 4, 1..=3).is_err());
    }
}

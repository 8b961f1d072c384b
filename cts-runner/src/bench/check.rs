//! Shared parts of output checks: random inputs, and comparisons that name the first difference.

use super::figure::CheckError;

/// xorshift32 generator, which gives the same inputs on every machine.
#[derive(Clone)]
pub struct Random(u32);

impl Random {
    /// Creates a generator. The seed must not be 0.
    pub fn new(seed: u32) -> Self {
        Self(seed.max(1))
    }

    /// Returns the next word.
    pub fn word(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// Returns a float in `low..high`, which is a multiple of 2⁻²⁴ of the range.
    pub fn float(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.word() >> 8) as f32 / 16_777_216.0)
    }

    /// Returns `count` words.
    pub fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.word()).collect()
    }

    /// Returns `count` floats in `low..high`.
    pub fn floats(&mut self, count: usize, low: f32, high: f32) -> Vec<f32> {
        (0..count).map(|_| self.float(low, high)).collect()
    }
}

/// Reinterprets words as floats.
pub fn as_floats(words: &[u32]) -> Vec<f32> {
    words.iter().map(|&w| f32::from_bits(w)).collect()
}

/// Checks that all words are equal.
pub fn equal(actual: &[u32], expected: &[u32]) -> Result<(), CheckError> {
    same_length(actual.len(), expected.len())?;
    match actual.iter().zip(expected).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(i) => Err(CheckError::Output(format!("word {i} is {:#010x}, not {:#010x}", actual[i], expected[i]))),
    }
}

/// Checks that all floats differ by at most `tolerance`, times the magnitude of the expected value
/// if that is above 1.
pub fn close(actual: &[f32], expected: &[f32], tolerance: f32) -> Result<(), CheckError> {
    same_length(actual.len(), expected.len())?;
    // A NaN is not close to any value.
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= tolerance * b.abs().max(1.0);
    match actual.iter().zip(expected).position(|pair| !near(pair)) {
        None => Ok(()),
        Some(i) => Err(CheckError::Output(format!("float {i} is {}, not {}", actual[i], expected[i]))),
    }
}

fn same_length(actual: usize, expected: usize) -> Result<(), CheckError> {
    if actual == expected { Ok(()) } else { Err(CheckError::Output(format!("{actual} values, not {expected}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_found_and_named() {
        assert!(equal(&[1, 2, 3], &[1, 2, 3]).is_ok());
        let Err(CheckError::Output(what)) = equal(&[1, 2, 3], &[1, 5, 3]) else { panic!("a difference") };
        assert_eq!(what, "word 1 is 0x00000002, not 0x00000005");
        assert!(equal(&[1], &[1, 2]).is_err());
    }

    #[test]
    fn tolerance_is_relative_above_one_and_nan_is_far() {
        assert!(close(&[100.05], &[100.0], 1e-3).is_ok());
        assert!(close(&[100.2], &[100.0], 1e-3).is_err());
        assert!(close(&[0.0005], &[0.0], 1e-3).is_ok());
        assert!(close(&[f32::NAN], &[0.0], 1e-3).is_err());
    }
}

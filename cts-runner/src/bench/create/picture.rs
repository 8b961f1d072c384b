//! The contact sheet with the picture of each module of the family, 16×16 pixels each, and the
//! picture of the ray tracing pipeline of `rays/pipeline-20` behind them.
//!
//! It is recorded from one driver and confirmed by others (`cts-runner/tests/bench.rs` compares
//! them). Drivers may round differently, so a picture may differ slightly everywhere and strongly
//! in a few pixels.

use super::fixture::{PICTURE, SIDE};
use crate::bench::figure::CheckError;
use crate::vk::{Error, Result};
use std::path::Path;

const EXPECTED: &[u8] = include_bytes!("expected.png");
/// Number of pictures in a row of the sheet.
const COLUMNS: usize = 10;
/// Difference of a channel that is allowed everywhere.
const NEAR: u8 = 4;
/// Share of pixels that may differ by more, because drivers may place edges differently.
const EDGES: f32 = 0.06;

/// Checks that a picture is the expected one.
pub fn check(picture: &[u8], index: usize) -> std::result::Result<(), CheckError> {
    let sheet = sheet(EXPECTED)?;
    let expected =
        sheet.get(index).ok_or_else(|| CheckError::Output("the contact sheet has no such picture".into()))?;
    compare(picture, expected)
}

fn compare(actual: &[u8], expected: &[u8]) -> std::result::Result<(), CheckError> {
    let far = |a: &[u8], b: &[u8]| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > NEAR);
    let pixels = || actual.chunks_exact(4).zip(expected.chunks_exact(4));
    let count = pixels().filter(|(a, b)| far(a, b)).count();
    if actual.len() == expected.len() && count as f32 <= EDGES * (SIDE * SIDE) as f32 {
        return Ok(());
    }
    let first = pixels().position(|(a, b)| far(a, b)).unwrap_or(0);
    let at = first * 4..first * 4 + 4;
    let (x, y) = (first as u32 % SIDE, first as u32 / SIDE);
    let (is, should) = (actual.get(at.clone()), expected.get(at));
    Err(CheckError::Output(format!(
        "{count} of {} pixels differ, first ({x}, {y}): {is:?}, not {should:?}",
        SIDE * SIDE
    )))
}

/// Returns the pictures of a sheet.
pub fn sheet(png: &[u8]) -> Result<Vec<Vec<u8>>> {
    let failed = |e: png::DecodingError| Error::Io("expected.png".into(), std::io::Error::other(e));
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().map_err(failed)?;
    let mut pixels = vec![0; reader.output_buffer_size().unwrap_or(0)];
    let info = reader.next_frame(&mut pixels).map_err(failed)?;
    let pitch = info.width as usize * 4;
    let count = (info.height / SIDE) as usize * COLUMNS;
    Ok((0..count).map(|i| (0..PICTURE).map(|byte| pixels[place(i, byte, pitch)]).collect()).collect())
}

/// Returns the index on the sheet of a byte of picture `i`.
fn place(i: usize, byte: usize, pitch: usize) -> usize {
    let row = SIDE as usize * 4;
    let (x, y) = (i % COLUMNS * row + byte % row, i / COLUMNS * SIDE as usize + byte / row);
    y * pitch + x
}

/// Writes a sheet as a PNG file.
pub fn write_sheet(path: &Path, pictures: &[Vec<u8>]) -> Result<()> {
    let (width, rows) = (COLUMNS * SIDE as usize, pictures.len().div_ceil(COLUMNS));
    let mut pixels = vec![0; width * 4 * rows * SIDE as usize];
    for (i, picture) in pictures.iter().enumerate() {
        picture.iter().enumerate().for_each(|(byte, &value)| pixels[place(i, byte, width * 4)] = value);
    }
    let file = std::fs::File::create(path).map_err(|e| Error::Io(path.into(), e))?;
    let mut encoder = png::Encoder::new(file, width as u32, rows as u32 * SIDE);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut w| w.write_image_data(&pixels));
    written.map_err(|e| Error::Io(path.into(), std::io::Error::other(e)))
}

#[cfg(test)]
mod tests {
    use super::super::modules::MODULES;
    use super::*;

    #[test]
    fn few_pixels_may_differ_much_and_all_a_little() {
        let expected = vec![100u8; PICTURE];
        let mut actual = vec![103u8; PICTURE];
        actual[..4 * 10].fill(255);
        assert!(compare(&actual, &expected).is_ok());
        actual[..4 * 20].fill(255);
        assert!(compare(&actual, &expected).is_err());
        assert!(compare(&[105; PICTURE], &expected).is_err());
        assert!(compare(&[], &expected).is_err());
    }

    #[test]
    fn the_sheet_has_every_module_and_none_is_blank_by_mistake() {
        let pictures = sheet(EXPECTED).expect("a sheet");
        assert!(pictures.len() > MODULES.len());
        for (module, picture) in MODULES.iter().zip(&pictures) {
            let first = &picture[..4];
            let plain = picture.chunks_exact(4).all(|p| p == first);
            assert_eq!(plain, module.plain, "{} is {}", module.name, if plain { "plain" } else { "not plain" });
        }
    }
}

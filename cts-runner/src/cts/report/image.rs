//! Converts images of a log to PNG in base64, which a page can embed. deqp usually logs PNG files
//! already. A deqp without libpng logs rows of pixels.

use crate::cts::qpa::Image;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the image as a PNG in base64; `None` if the data do not match their description.
pub fn png(image: &Image) -> Option<String> {
    if image.png {
        // Only the alphabet is checked, so that the page cannot contain any other text.
        let sound = image.base64.bytes().all(|c| c == b'=' || LETTERS.contains(&c));
        return (sound && !image.base64.is_empty()).then(|| image.base64.clone());
    }
    let pixels = decode(&image.base64)?;
    let size = u64::from(image.width) * u64::from(image.height) * u64::from(image.channels);
    if size == 0 || size != pixels.len() as u64 {
        return None;
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, image.width, image.height);
    encoder.set_color(if image.channels == 3 { png::ColorType::Rgb } else { png::ColorType::Rgba });
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(&pixels).ok()?;
    writer.finish().ok()?;
    Some(encode(&file))
}

fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.chunks(4) {
        let mut bits = 0;
        for i in 0..4 {
            let value = chunk.get(i).map_or(Some(0), |c| LETTERS.iter().position(|l| l == c));
            bits = bits << 6 | value? as u32;
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..chunk.len().max(1)]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_there_and_back() {
        assert_eq!(encode(b"Man"), "TWFu");
        assert_eq!(encode(b"Ma"), "TWE=");
        assert_eq!(encode(b"M"), "TQ==");
        for length in 0..40_u8 {
            let bytes: Vec<u8> = (0..length).map(|i| i.wrapping_mul(37)).collect();
            assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
        assert_eq!(decode("a?bc"), None);
    }

    #[test]
    fn rows_of_pixels_become_a_png() {
        let pixels = [1_u8, 2, 3, 4, 5, 6];
        let image = |base64: String, png| Image { title: String::new(), width: 2, height: 1, channels: 3, png, base64 };
        let file = decode(&png(&image(encode(&pixels), false)).unwrap()).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut read = vec![0; 6];
        reader.next_frame(&mut read).unwrap();
        assert_eq!(read, pixels);
        assert_eq!(png(&image(encode(&pixels[..5]), false)), None, "a pixel is missing");
        assert_eq!(png(&image("\"><script>".into(), true)), None);
        assert_eq!(png(&image("iVBO".into(), true)).as_deref(), Some("iVBO"));
    }
}

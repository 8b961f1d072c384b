//! Rows of texels between memory and unpacked form, for the transfers that look at values.

#![forbid(unsafe_code)]

use base::format::{self, ChannelType, Format};
use base::mem::DeviceMemory;

/// A texel: bits of f32 or integers, by the format's class.
pub type Texel = [u32; 4];

/// A reader or writer of rows of one format, with its byte buffer.
pub struct Rows {
    format: Format,
    bytes_per_texel: usize,
    bytes: Vec<u8>,
}

impl Rows {
    /// For a colour format. (Only [`Rows::read_blocks`] reads block-compressed formats; nothing writes them.)
    pub fn new(format: Format) -> Rows {
        Rows { format, bytes_per_texel: usize::from(format.info().block_bytes), bytes: Vec::new() }
    }

    /// Unpacks `out.len()` texels at `offset`; texels outside the memory read as zero.
    pub fn read(&mut self, memory: DeviceMemory, offset: u64, out: &mut [Texel]) {
        self.bytes.resize(out.len() * self.bytes_per_texel, 0);
        if !memory.read(offset, &mut self.bytes) {
            out.fill([0; 4]);
            return;
        }
        format::unpack_row(self.format, &self.bytes, out);
    }

    /// Decodes the texels from column `first` on of row `y % 4` of the row of 4×4 blocks at `offset` (block-compressed formats).
    pub fn read_blocks(&mut self, memory: DeviceMemory, offset: u64, first: u32, y: u32, out: &mut [Texel]) {
        let mut decoded = (u32::MAX, [[0; 4]; 16]);
        for (x, texel) in (first..).zip(out) {
            if decoded.0 != x / 4 {
                let mut block = [0; 16];
                let at = offset + u64::from(x / 4) * self.bytes_per_texel as u64;
                memory.read(at, &mut block[..self.bytes_per_texel]);
                decoded = (x / 4, format::decode_block(self.format, &block));
            }
            *texel = decoded.1[(y % 4 * 4 + x % 4) as usize];
        }
    }

    /// Packs texels to `offset`.
    pub fn write(&mut self, memory: DeviceMemory, offset: u64, texels: &[Texel]) {
        self.bytes.resize(texels.len() * self.bytes_per_texel, 0);
        format::pack_row(self.format, texels, &mut self.bytes);
        memory.write(offset, &self.bytes);
    }
}

/// Clamps an integer texel from one integer class to what the destination can hold (spec: Image Format Conversions).
pub fn clamp_integer(texel: Texel, src: Format, dst: Format) -> Texel {
    let signed = |f: Format| f.info().channels[0].ty == ChannelType::Sint;
    let info = dst.info();
    let mut out = texel;
    for channel in &info.channels[..usize::from(info.channel_count)] {
        let Some(i) = channel_index(channel.name) else { continue };
        let value = if signed(src) { i64::from(texel[i] as i32) } else { i64::from(texel[i]) };
        let bits = u32::from(channel.bits);
        let (low, high) =
            if signed(dst) { (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1) } else { (0, (1i64 << bits) - 1) };
        out[i] = value.clamp(low, high) as u32;
    }
    out
}

fn channel_index(name: format::ChannelName) -> Option<usize> {
    use format::ChannelName::{A, B, G, R};
    [R, G, B, A].iter().position(|&n| n == name)
}

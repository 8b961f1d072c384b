//! Rows of texels between memory and unpacked form, for the transfers that operate on values.

#![forbid(unsafe_code)]

use super::conversion::{self, RowConversion};
use super::kernels;
use base::format::{self, ChannelType, Format};
use base::mem::DeviceMemory;
use std::ops::Range;

pub use base::format::Texel;

/// Conversion between the texels of a format and words.
#[derive(Clone, Copy, Debug)]
enum RowCoding {
    /// A conversion of rows, after an exchange of the first and third byte if `swapped`.
    Row { conversion: RowConversion, swapped: bool },
    /// The format's kernels, with four words per texel.
    Lanes,
}

impl RowCoding {
    /// Returns the coding with the fewest words, and their number.
    fn from_format(format: Format) -> (RowCoding, usize) {
        use ChannelType::{Sfloat, Sint, Srgb, Uint, Unorm};
        let info = format.info();
        let channels = &info.channels[..usize::from(info.channel_count)];
        let row = [
            (RowConversion::Unorm8, Unorm, 8),
            (RowConversion::Srgb, Srgb, 8),
            (RowConversion::Half, Sfloat, 16),
            (RowConversion::Words, Sfloat, 32),
            (RowConversion::Words, Uint, 32),
            (RowConversion::Words, Sint, 32),
        ]
        .into_iter()
        .find(|&(_, ty, bits)| channels.iter().take(3).all(|c| c.ty == ty && c.bits == bits))
        .map(|(conversion, ..)| conversion);
        match (row, order(format), channels.len()) {
            (Some(RowConversion::Srgb), _, 1..=3) | (_, _, 3) => (RowCoding::Lanes, 4),
            (Some(conversion), Some(order), components) if order == ComponentOrder::Rgba || info.block_bytes == 4 => {
                (RowCoding::Row { conversion, swapped: order == ComponentOrder::Bgra }, components)
            }
            _ => (RowCoding::Lanes, 4),
        }
    }
}

/// Order in memory of components of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentOrder {
    /// The order of their names.
    Rgba,
    /// The order with the first and third of four components exchanged.
    Bgra,
}

/// Returns the order of a format's components; `None` if it is neither.
pub fn order(format: Format) -> Option<ComponentOrder> {
    use format::ChannelName::{A, B, G, R};
    let info = format.info();
    let channels = &info.channels[..usize::from(info.channel_count)];
    let ordered = |names: &[format::ChannelName]| {
        let mut all = (0u8..).zip(channels).zip(names);
        all.all(|((i, c), &name)| c.name == name && c.bits == channels[0].bits && c.shift == i * c.bits)
    };
    match channels.len() {
        1..=4 if ordered(&[R, G, B, A]) => Some(ComponentOrder::Rgba),
        4 if ordered(&[B, G, R, A]) => Some(ComponentOrder::Bgra),
        _ => None,
    }
}

/// Returns the number of words of a texel in a conversion from one format to another.
pub fn components(src: Format, dst: Format) -> usize {
    let (a, b) = (RowCoding::from_format(src).1, RowCoding::from_format(dst).1);
    if a == b { a } else { 4 }
}

/// A reader or writer of rows of one format, with its byte buffer. A row is the words of its
/// texels.
pub struct RowCodec {
    format: Format,
    coding: RowCoding,
    components: usize,
    bytes_per_texel: usize,
    bytes: Vec<u8>,
    /// The decoded blocks of a row of blocks: its offset and their range; `blocks` has their
    /// texels, block by block.
    decoded: Option<(u64, Range<u32>)>,
    blocks: Vec<Texel>,
}

impl RowCodec {
    /// Makes a reader or writer for a colour format and texels of as many words as [`components`]
    /// returns. (Only [`RowCodec::read_blocks`] reads block-compressed formats; nothing writes
    /// them.)
    pub fn new(format: Format, components: usize) -> RowCodec {
        let coding =
            Some(RowCoding::from_format(format)).filter(|c| c.1 == components).map_or(RowCoding::Lanes, |c| c.0);
        RowCodec {
            format,
            coding,
            components,
            bytes_per_texel: usize::from(format.info().block_bytes),
            bytes: Vec::new(),
            decoded: None,
            blocks: Vec::new(),
        }
    }

    /// Unpacks texels from `offset` on; those outside the memory read as zero.
    pub fn read(&mut self, memory: DeviceMemory, offset: u64, out: &mut [u32]) {
        self.bytes.resize(out.len() / self.components * self.bytes_per_texel, 0);
        if memory.read(offset, &mut self.bytes) {
            unpack(self.format, self.coding, &mut self.bytes, out);
        } else {
            out.fill(0);
        }
    }

    /// Returns the bytes of texels from `offset` on whose four components are 8-bit unsigned
    /// normalised ones, in the order of their words; `None` for other formats.
    pub fn read_unorm8(&mut self, memory: DeviceMemory, offset: u64, texels: usize) -> Option<&[u8]> {
        let RowCoding::Row { conversion: RowConversion::Unorm8, swapped } = self.coding else { return None };
        if self.components != 4 {
            return None;
        }
        self.bytes.resize(4 * texels, 0);
        if !memory.read(offset, &mut self.bytes) {
            self.bytes.fill(0);
        }
        if swapped {
            conversion::swap_bytes(&mut self.bytes);
        }
        Some(&self.bytes)
    }

    /// Unpacks texels; overwrites the bytes.
    pub fn unpack(&self, bytes: &mut [u8], out: &mut [u32]) {
        unpack(self.format, self.coding, bytes, out);
    }

    /// Decodes texels of block-compressed formats, with four words per texel: those from column
    /// `first` on of row `y` of the row of blocks at `offset`; `y` may count from any row of
    /// blocks. Blocks are decoded once for consecutive rows.
    pub fn read_blocks(&mut self, memory: DeviceMemory, offset: u64, first: u32, y: u32, out: &mut [u32]) {
        let (width, height) = self.format.info().block;
        let (width, size) = (u32::from(width), usize::from(width) * usize::from(height));
        let texels = out.as_chunks_mut::<4>().0;
        let columns = first / width..(first + texels.len() as u32).div_ceil(width);
        let key = (offset, columns.clone());
        if self.decoded.as_ref() != Some(&key) {
            self.blocks.resize(columns.len() * size, [0; 4]);
            for (column, texels) in columns.clone().zip(self.blocks.chunks_exact_mut(size)) {
                let mut block = [0; 16];
                let at = offset + u64::from(column) * self.bytes_per_texel as u64;
                memory.read(at, &mut block[..self.bytes_per_texel]);
                format::decode_block(self.format, &block, texels);
            }
            self.decoded = Some(key);
        }
        let row = y % u32::from(height) * width;
        for (x, texel) in (first..).zip(texels) {
            *texel = self.blocks[(x / width - columns.start) as usize * size + (row + x % width) as usize];
        }
    }

    /// Packs texels to `offset`.
    pub fn write(&mut self, memory: DeviceMemory, offset: u64, words: &[u32]) {
        self.bytes.resize(words.len() / self.components * self.bytes_per_texel, 0);
        match self.coding {
            RowCoding::Row { conversion, .. } => conversion.pack(words, &mut self.bytes),
            RowCoding::Lanes => conversion::pack(format::kernels(self.format), words.as_chunks().0, &mut self.bytes),
        }
        self.write_bytes(memory, offset);
    }

    /// Writes the interpolation between two rows of floats.
    pub fn write_between(
        &mut self,
        memory: DeviceMemory,
        offset: u64,
        [a, b]: [&[u32]; 2],
        weight: f32,
        scratch: &mut [u32],
    ) {
        if let RowCoding::Row { conversion: RowConversion::Unorm8, .. } = self.coding {
            self.bytes.resize(a.len() / self.components * self.bytes_per_texel, 0);
            kernels::lerp_to_unorm8(a, b, weight, &mut self.bytes);
            self.write_bytes(memory, offset);
        } else {
            kernels::lerp_rows(a, b, weight, scratch);
            self.write(memory, offset, scratch);
        }
    }

    fn write_bytes(&mut self, memory: DeviceMemory, offset: u64) {
        if let RowCoding::Row { swapped: true, .. } = self.coding {
            conversion::swap_bytes(&mut self.bytes);
        }
        memory.write(offset, &self.bytes);
    }
}

fn unpack(format: Format, coding: RowCoding, bytes: &mut [u8], out: &mut [u32]) {
    match coding {
        RowCoding::Row { conversion, swapped } => {
            if swapped {
                conversion::swap_bytes(bytes);
            }
            conversion.unpack(bytes, out);
        }
        RowCoding::Lanes => conversion::unpack(format::kernels(format), bytes, out.as_chunks_mut().0),
    }
}

/// Returns true if all channels are of this type and 8 bits wide.
pub fn is_bytes_of(format: Format, ty: ChannelType) -> bool {
    let info = format.info();
    let channels = &info.channels[..usize::from(info.channel_count)];
    info.block == (1, 1) && channels.iter().all(|c| c.bits == 8 && c.ty == ty)
}

/// Clamps an integer texel from one integer class to the range of the destination (specification:
/// Image Format Conversions).
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

//! Rows of texels between memory and unpacked form, for the transfers that look at values.

#![forbid(unsafe_code)]

use super::kernels::{self, Conversion};
use base::format::{self, ChannelType, Format};
use base::mem::DeviceMemory;

pub use base::format::Texel;

/// How the texels of a format become words, and back.
#[derive(Clone, Copy, Debug)]
enum Coding {
    /// By a conversion of rows, after the first and third byte were exchanged.
    Row(Conversion, bool),
    /// By the format's kernels.
    Lanes,
}

impl Coding {
    fn of(format: Format) -> Coding {
        let channels = &format.info().channels[..usize::from(format.info().channel_count)];
        let row = [
            (Conversion::Unorm8, ChannelType::Unorm, 8),
            (Conversion::Half, ChannelType::Sfloat, 16),
            (Conversion::Words, ChannelType::Sfloat, 32),
            (Conversion::Words, ChannelType::Uint, 32),
            (Conversion::Words, ChannelType::Sint, 32),
        ]
        .into_iter()
        .find(|&(_, ty, bits)| channels.iter().all(|c| c.ty == ty && c.bits == bits));
        match (row, order(format)) {
            (Some((conversion, ..)), Some(Order::Rgba)) => Coding::Row(conversion, false),
            (Some((Conversion::Unorm8, ..)), Some(Order::Bgra)) => Coding::Row(Conversion::Unorm8, true),
            _ => Coding::Lanes,
        }
    }
}

/// The order of four components of one size in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they are called.
    Rgba,
    /// The first and third exchanged.
    Bgra,
}

/// The order of a format's components; `None` for any other.
pub fn order(format: Format) -> Option<Order> {
    use format::ChannelName::{A, B, G, R};
    let info = format.info();
    let at = |i: usize| (info.channel_count == 4).then_some(info.channels[i]).filter(|c| usize::from(c.shift) == i * usize::from(c.bits));
    let names = [at(0)?, at(1)?, at(2)?, at(3)?].map(|c| c.name);
    [(Order::Rgba, [R, G, B, A]), (Order::Bgra, [B, G, R, A])].into_iter().find(|&(_, n)| n == names).map(|(o, _)| o)
}

/// A reader or writer of rows of one format, with its byte buffer.
pub struct Rows {
    format: Format,
    coding: Coding,
    bytes_per_texel: usize,
    bytes: Vec<u8>,
}

impl Rows {
    /// For a colour format. (Only [`Rows::read_blocks`] reads block-compressed formats; nothing writes them.)
    pub fn new(format: Format) -> Rows {
        let bytes_per_texel = usize::from(format.info().block_bytes);
        Rows { format, coding: Coding::of(format), bytes_per_texel, bytes: Vec::new() }
    }

    /// Unpacks `out.len()` texels at `offset`; texels outside the memory read as zero.
    pub fn read(&mut self, memory: DeviceMemory, offset: u64, out: &mut [Texel]) {
        self.bytes.resize(out.len() * self.bytes_per_texel, 0);
        if !memory.read(offset, &mut self.bytes) {
            out.fill([0; 4]);
            return;
        }
        unpack(self.format, self.coding, &mut self.bytes, out);
    }

    /// Unpacks texels; the bytes have no meaning any more.
    pub fn unpack(&self, bytes: &mut [u8], out: &mut [Texel]) {
        unpack(self.format, self.coding, bytes, out);
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
        match self.coding {
            Coding::Row(conversion, _) => conversion.pack(texels, &mut self.bytes),
            Coding::Lanes => kernels::pack(format::kernels(self.format), texels, &mut self.bytes),
        }
        self.write_bytes(memory, offset);
    }

    /// Writes what lies between two rows of floats.
    pub fn write_between(&mut self, memory: DeviceMemory, offset: u64, rows: [&[Texel]; 2], weight: f32, scratch: &mut [Texel]) {
        if let Coding::Row(Conversion::Unorm8, _) = self.coding {
            self.bytes.resize(rows[0].len() * self.bytes_per_texel, 0);
            kernels::lerp_to_unorm8(rows[0], rows[1], weight, &mut self.bytes);
            self.write_bytes(memory, offset);
        } else {
            kernels::lerp_rows(rows[0], rows[1], weight, scratch);
            self.write(memory, offset, scratch);
        }
    }

    fn write_bytes(&mut self, memory: DeviceMemory, offset: u64) {
        if let Coding::Row(_, true) = self.coding {
            kernels::swap_bytes(&mut self.bytes);
        }
        memory.write(offset, &self.bytes);
    }
}

fn unpack(format: Format, coding: Coding, bytes: &mut [u8], out: &mut [Texel]) {
    match coding {
        Coding::Row(conversion, swapped) => {
            if swapped {
                kernels::swap_bytes(bytes);
            }
            conversion.unpack(bytes, out);
        }
        Coding::Lanes => kernels::unpack(format::kernels(format), bytes, out),
    }
}

/// Are all channels of this type, 8 bits wide?
pub fn is_bytes_of(format: Format, ty: ChannelType) -> bool {
    let info = format.info();
    let channels = &info.channels[..usize::from(info.channel_count)];
    info.block == (1, 1) && channels.iter().all(|c| c.bits == 8 && c.ty == ty)
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

//! Blits with the nearest filter: copies bytes by a table of columns, once for rows that repeat.
//! Texels are converted to another format after the selection. Between images of one format their
//! bytes do not change.

#![forbid(unsafe_code)]

use super::super::conversion;
use super::super::kernels::Columns;
use super::super::rows::HelperThreads;
use super::super::texel::{RowCodec, clamp_integer, components, is_bytes_of, order};
use super::job::{BlitJob, BlitRow, rebased};
use base::format::{ChannelType, Format};

/// Conversion of the selected texels.
enum TexelConversion {
    /// The bytes do not change.
    Nothing,
    /// The order of four bytes changes.
    Swap,
    /// The texels are unpacked and packed.
    Texels,
}

impl TexelConversion {
    fn between(src: Format, dst: Format) -> TexelConversion {
        if src == dst {
            return TexelConversion::Nothing;
        }
        let bytes = |f: Format| f.info().block_bytes;
        let same = |ty| bytes(src) == bytes(dst) && is_bytes_of(src, ty) && is_bytes_of(dst, ty);
        match (order(src), order(dst)) {
            (Some(a), Some(b)) if same(ChannelType::Unorm) => {
                if a == b {
                    TexelConversion::Nothing
                } else {
                    TexelConversion::Swap
                }
            }
            _ => TexelConversion::Texels,
        }
    }
}

/// Blits without a filter. Depth and stencil are not `color`: their texels are copied as words
/// without interpretation.
pub fn blit(threads: HelperThreads, job: &BlitJob, color: bool) {
    let (src, dst) = (job.src.format(), job.dst.format());
    let convert = if color { TexelConversion::between(src, dst) } else { TexelConversion::Nothing };
    if matches!(convert, TexelConversion::Nothing) && job.src.texel() != job.dst.texel() {
        return;
    }
    let (first, taps) = rebased(&job.x.taps);
    let columns = Columns::new(taps.map(|tap| tap.first).collect());
    let clamp = color && src.is_integer();
    job.rows(
        threads,
        || SelectedRow::new(job, first, &columns),
        |taken, row| {
            let from = [job.z.taps[row.z as usize].first, job.y.taps[row.y as usize].first];
            taken.row((row.layer, from), &convert, clamp);
            taken.write(row, &convert);
        },
    );
}

/// A row of selected texels in the destination's form.
struct SelectedRow<'a> {
    job: &'a BlitJob<'a>,
    first: u32,
    /// Source texels, relative to `first`.
    columns: &'a Columns,
    /// The columns are all source texels, in order.
    all: bool,
    /// Layer and [z, y] of the source row.
    key: Option<(u32, [u32; 2])>,
    source: Vec<u8>,
    bytes: Vec<u8>,
    /// Words of an unpacked texel.
    components: usize,
    words: Vec<u32>,
    decoded: Vec<u32>,
    reader: RowCodec,
    writer: RowCodec,
}

impl<'a> SelectedRow<'a> {
    fn new(job: &'a BlitJob<'a>, first: u32, columns: &'a Columns) -> SelectedRow<'a> {
        let (src, dst) = (job.src.format(), job.dst.format());
        // Integers are clamped in all four components.
        let components = if src.is_integer() { 4 } else { components(src, dst) };
        SelectedRow {
            job,
            first,
            columns,
            all: (0..).zip(columns.all()).all(|(i, &column)| i == column),
            key: None,
            source: Vec::new(),
            bytes: Vec::new(),
            components,
            words: Vec::new(),
            decoded: Vec::new(),
            reader: RowCodec::new(src, components),
            writer: RowCodec::new(dst, components),
        }
    }

    fn row(&mut self, key: (u32, [u32; 2]), convert: &TexelConversion, clamp: bool) {
        if self.key == Some(key) {
            return;
        }
        self.key = Some(key);
        let (layer, [z, y]) = key;
        let offset = |x| self.job.src_row(layer, [z, y, x]);
        let src_format = self.job.src.format();
        if src_format.is_compressed() {
            self.decoded.resize(self.columns.texels() * 4, 0);
            self.reader.read_blocks(self.job.src.memory, offset(0), self.first, y, &mut self.decoded);
            let decoded = self.decoded.as_chunks::<4>().0;
            self.words.clear();
            self.words.extend(self.columns.all().iter().flat_map(|&column| decoded[column as usize]));
            return;
        }
        let texel = self.job.src.texel() as usize;
        self.source.resize(self.columns.texels() * texel, 0);
        self.job.src.memory.read(offset(self.first), &mut self.source);
        if self.all {
            std::mem::swap(&mut self.source, &mut self.bytes);
        } else {
            self.bytes.resize(self.columns.all().len() * texel, 0);
            take(&self.source, texel, self.columns, &mut self.bytes);
        }
        match convert {
            TexelConversion::Nothing => {}
            TexelConversion::Swap => conversion::swap_bytes(&mut self.bytes),
            TexelConversion::Texels => {
                self.words.resize(self.columns.all().len() * self.components, 0);
                self.reader.unpack(&mut self.bytes, &mut self.words);
                if clamp {
                    let dst_format = self.job.dst.format();
                    let texels = self.words.as_chunks_mut::<4>().0;
                    texels.iter_mut().for_each(|t| *t = clamp_integer(*t, src_format, dst_format));
                }
            }
        }
    }

    fn write(&mut self, row: BlitRow, convert: &TexelConversion) {
        let (memory, offset) = (self.job.dst.memory, self.job.dst_row(row));
        match convert {
            TexelConversion::Texels => self.writer.write(memory, offset, &self.words),
            TexelConversion::Nothing | TexelConversion::Swap => drop(memory.write(offset, &self.bytes)),
        }
    }
}

/// Selects texels of `texel` bytes.
fn take(from: &[u8], texel: usize, columns: &Columns, to: &mut [u8]) {
    fn copy_columns<const B: usize>(from: &[u8], columns: &[u32], to: &mut [u8]) {
        let from = from.as_chunks::<B>().0;
        for (to, &column) in to.as_chunks_mut::<B>().0.iter_mut().zip(columns) {
            *to = from[column as usize];
        }
    }
    match texel {
        1 => copy_columns::<1>(from, columns.all(), to),
        2 => copy_columns::<2>(from, columns.all(), to),
        3 => copy_columns::<3>(from, columns.all(), to),
        4 => columns.select_words(from, to),
        6 => copy_columns::<6>(from, columns.all(), to),
        8 => copy_columns::<8>(from, columns.all(), to),
        12 => copy_columns::<12>(from, columns.all(), to),
        16 => copy_columns::<16>(from, columns.all(), to),
        // No format has another size.
        _ => {}
    }
}

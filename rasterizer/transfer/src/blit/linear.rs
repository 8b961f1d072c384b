//! Blits with a linear filter, by rows. A source row is unpacked and filtered along x once, and
//! kept while destination rows need it. Interpolation between two such rows is one loop over words,
//! which also packs. Halving four 8-bit components, the step of a mip chain, is one kernel from
//! bytes to bytes.
//!
//! The order of operations is x, y, z, each `a · (1 - w) + b · w`, on every path.

#![forbid(unsafe_code)]

use super::super::kernels::{self, RowTaps, Tap};
use super::super::rows::HelperThreads;
use super::super::texel::{RowCodec, components, is_bytes_of, order};
use super::job::{BlitJob, BlitRow, rebased};
use base::format::{ChannelType, Format};

/// Number of destination texels that are filtered at a time, so that their source stays in the
/// first-level cache.
const STRIP: usize = 256;

/// A part of all rows.
struct Strip {
    /// Source texel to which the taps are relative.
    first: u32,
    taps: RowTaps,
}

impl Strip {
    fn all(taps: &[Tap], length: usize) -> Vec<Strip> {
        let strip = |taps: &[Tap]| {
            let (first, taps) = rebased(taps);
            Strip { first, taps: RowTaps::new(taps.collect()) }
        };
        taps.chunks(length).map(strip).collect()
    }
}

/// Blits with a linear filter.
pub fn blit(threads: HelperThreads, job: &BlitJob) {
    let (first, taps) = rebased(&job.x.taps);
    let halve = RowTaps::new(taps.collect()).halve();
    let four = |format: Format| format.info().channel_count == 4 && is_bytes_of(format, ChannelType::Unorm);
    let order = |format: Format| order(format).filter(|_| four(format));
    let orders = if halve { order(job.src.format()).zip(order(job.dst.format())) } else { None };
    let bytes = 4 * job.x.taps.len() as u64;
    // (Blocks are decoded by whole rows.)
    let length = if job.src.format().is_compressed() { job.x.taps.len().max(1) } else { STRIP };
    let strips = Strip::all(&job.x.taps, length);
    let scratch = || FilteredRows::new(job, &strips);
    job.rows(threads, scratch, |filtered, row| {
        let (z, y) = (job.z.taps[row.z as usize], job.y.taps[row.y as usize]);
        match orders {
            Some((src, dst)) if z.weight == 0.0 && y.weight == 0.5 => {
                let rows = [y.first, y.second].map(|y| job.src_row(row.layer, [z.first, y, first]));
                let to = job.dst_row(row);
                kernels::quarter_of_unorm8(job.src.memory, rows, job.dst.memory, to, bytes, src != dst);
            }
            _ => filtered.row(row, z, y),
        }
    });
}

/// Source rows that are filtered along x: those for the current destination row, and earlier ones.
struct FilteredRows<'a> {
    job: &'a BlitJob<'a>,
    strips: &'a [Strip],
    /// Words of a texel.
    components: usize,
    /// Words of a row.
    words: usize,
    reader: RowCodec,
    writer: RowCodec,
    /// (layer, z, y) of each kept row.
    keys: [Option<(u32, u32, u32)>; 4],
    rows: [Vec<u32>; 4],
    unpacked: Vec<u32>,
    planes: [Vec<u32>; 2],
    out: Vec<u32>,
}

impl<'a> FilteredRows<'a> {
    fn new(job: &'a BlitJob<'a>, strips: &'a [Strip]) -> FilteredRows<'a> {
        let components = components(job.src.format(), job.dst.format());
        FilteredRows {
            job,
            strips,
            components,
            words: components * job.x.taps.len(),
            reader: RowCodec::new(job.src.format(), components),
            writer: RowCodec::new(job.dst.format(), components),
            keys: [None; 4],
            rows: Default::default(),
            unpacked: Vec::new(),
            planes: Default::default(),
            out: Vec::new(),
        }
    }

    /// Returns the indices of the rows with these keys. A missing row replaces one that is not
    /// among them.
    fn kept(&mut self, wanted: [(u32, u32, u32); 4]) -> [usize; 4] {
        wanted.map(|key| {
            if let Some(i) = self.keys.iter().position(|&k| k == Some(key)) {
                return i;
            }
            // If one of the four rows is missing, at least one place is free.
            let free = |k: &Option<_>| k.is_none_or(|k| !wanted.contains(&k));
            let i = self.keys.iter().position(free).unwrap_or(0);
            self.keys[i] = Some(key);
            self.filter(i, key);
            i
        })
    }

    fn filter(&mut self, i: usize, (layer, z, y): (u32, u32, u32)) {
        let (job, memory, components) = (self.job, self.job.src.memory, self.components);
        self.rows[i].resize(self.words, 0);
        let mut out = self.rows[i].as_mut_slice();
        for Strip { first, taps } in self.strips {
            let (these, rest) = out.split_at_mut(taps.len() * components);
            out = rest;
            let offset = |x: u32| job.src_row(layer, [z, y, x]);
            if taps.takes_unorm8()
                && let Some(bytes) = self.reader.read_unorm8(memory, offset(*first), taps.texels())
            {
                taps.filter_unorm8(bytes, these);
                continue;
            }
            self.unpacked.resize(taps.texels() * components, 0);
            if job.src.format().is_compressed() {
                self.reader.read_blocks(memory, offset(0), *first, y, &mut self.unpacked);
            } else {
                self.reader.read(memory, offset(*first), &mut self.unpacked);
            }
            taps.filter(components, &self.unpacked, these);
        }
    }

    fn row(&mut self, row: BlitRow, z: Tap, y: Tap) {
        let far = if z.weight == 0.0 { z.first } else { z.second };
        let key = |z, y| (row.layer, z, y);
        let kept = self.kept([key(z.first, y.first), key(z.first, y.second), key(far, y.first), key(far, y.second)]);
        let (memory, offset) = (self.job.dst.memory, self.job.dst_row(row));
        self.out.resize(self.words, 0);
        let at = |i: usize| self.rows[kept[i]].as_slice();
        if z.weight == 0.0 {
            return self.writer.write_between(memory, offset, [at(0), at(1)], y.weight, &mut self.out);
        }
        for (plane, first) in self.planes.iter_mut().zip([0, 2]) {
            plane.resize(self.words, 0);
            kernels::lerp_rows(at(first), at(first + 1), y.weight, plane);
        }
        let [near, far] = &self.planes;
        self.writer.write_between(memory, offset, [near, far], z.weight, &mut self.out);
    }
}

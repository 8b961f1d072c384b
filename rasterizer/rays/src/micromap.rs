//! Opacity micromaps: their sizes, builds, and the state of a point of a triangle.
//!
//! A micromap is a structure whose leaves are its triangles, so copies and serialization are those
//! of any structure. The word of a triangle has the offset of its states behind the list of
//! triangles, the subdivision level and the format. Its bytes may be anything at any time, as those
//! of any structure: what does not lie inside of them has no state.

#![forbid(unsafe_code)]

use crate::build::BuildError;
use crate::copy::header;
use crate::input::FIRST_SPECIAL_INDEX;
use crate::layout::{Bounds, Contents, HEADER_BYTES, Header, INDEX, MICROMAP_TRIANGLE_BYTES};
use crate::parallel::{WorkError, Workers};
use base::mem::DeviceMemory;
use core::ops::Range;

/// Highest subdivision level of a triangle.
pub const MAX_SUBDIVISION_LEVEL: u32 = 12;
/// Largest number of triangles of a micromap.
pub const MAX_MICROMAP_TRIANGLES: u32 = INDEX;

/// Opacity of a point. The numbers are those of formats with four states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opacity {
    /// There is no hit.
    Transparent,
    /// The triangle is opaque.
    Opaque,
    /// A shader decides; with two states there is no hit.
    UnknownTransparent,
    /// A shader decides; with two states the triangle is opaque.
    UnknownOpaque,
}

impl Opacity {
    fn of_bits(bits: u32) -> Opacity {
        match bits & 3 {
            0 => Opacity::Transparent,
            1 => Opacity::Opaque,
            2 => Opacity::UnknownTransparent,
            _ => Opacity::UnknownOpaque,
        }
    }

    /// Returns the opacity that a special index has (`VkOpacityMicromapSpecialIndexEXT`).
    pub fn of_special_index(index: u32) -> Option<Opacity> {
        (index >= FIRST_SPECIAL_INDEX).then(|| Opacity::of_bits(!index))
    }

    /// Returns the opacity as formats with two states have it.
    pub fn with_two_states(self) -> Opacity {
        match self {
            Opacity::Transparent | Opacity::UnknownTransparent => Opacity::Transparent,
            Opacity::Opaque | Opacity::UnknownOpaque => Opacity::Opaque,
        }
    }
}

/// Subdivision level and format of a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Subdivision {
    level: u32,
    /// Number of bits of a state, which is also the number of the format.
    bits: u32,
}

impl Subdivision {
    /// Makes a subdivision; `None` if there is no such level or format.
    fn new(level: u32, format: u32) -> Option<Subdivision> {
        (level <= MAX_SUBDIVISION_LEVEL && matches!(format, 1 | 2)).then_some(Subdivision { level, bits: format })
    }

    /// Returns the number of bytes of all states.
    fn bytes(self) -> u64 {
        (u64::from(self.bits) << (2 * self.level)).div_ceil(8)
    }
}

/// Triangles of a micromap with the same subdivision (`VkMicromapUsageEXT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MicromapUsage {
    /// Number of triangles.
    pub count: u32,
    /// Subdivision level.
    pub level: u32,
    /// Format (`VkOpacityMicromapFormatEXT`).
    pub format: u32,
}

/// Returns the number of bytes of a micromap.
pub fn micromap_size(usages: impl IntoIterator<Item = MicromapUsage>) -> u64 {
    let of_usage = |usage: MicromapUsage| {
        let states = Subdivision::new(usage.level, usage.format).map_or(0, Subdivision::bytes);
        u64::from(usage.count) * (MICROMAP_TRIANGLE_BYTES + states)
    };
    usages.into_iter().map(of_usage).fold(HEADER_BYTES, u64::saturating_add)
}

/// The input of a micromap's build.
#[derive(Clone, Copy, Debug)]
pub struct MicromapInput {
    /// Memory from the first triangle on (`VkMicromapTriangleEXT`).
    pub triangles: DeviceMemory,
    /// Number of bytes between triangles.
    pub stride: u64,
    /// Number of triangles.
    pub count: u32,
    /// Memory of the states.
    pub states: DeviceMemory,
    /// Flags that the header keeps.
    pub flags: u32,
}

impl MicromapInput {
    /// Reads a triangle: the offset of its states, and their subdivision. `None` if it is not in
    /// memory, or there is no such subdivision.
    fn triangle(&self, index: u32) -> Option<(u64, Subdivision)> {
        let mut bytes = [0; 8];
        if !self.triangles.read(u64::from(index).checked_mul(self.stride)?, &mut bytes) {
            return None;
        }
        let [a, b, c, d, level, high_level, format, high_format] = bytes;
        let level = u16::from_le_bytes([level, high_level]);
        let format = u16::from_le_bytes([format, high_format]);
        let offset = u32::from_le_bytes([a, b, c, d]);
        Some((offset.into(), Subdivision::new(level.into(), format.into())?))
    }
}

impl MicromapInput {
    /// Returns the number of bytes of the states of up to `count` triangles that are in memory.
    fn bytes_of_states(&self, first: u32, count: u32) -> u64 {
        let bytes = |index: u32| {
            let (offset, subdivision) = self.triangle(index)?;
            let bytes = subdivision.bytes();
            offset.checked_add(bytes).filter(|&end| end <= self.states.len()).map(|_| bytes)
        };
        (first..self.count.min(first + count)).filter_map(bytes).sum()
    }

    /// Writes the triangles of a chunk, and their states, of which the first one in the target is
    /// at `states`. States of the highest level take long, so the abort flag is read at each
    /// triangle.
    fn build_chunk(&self, target: DeviceMemory, states: u64, chunk: Chunk, workers: &Workers) -> Result<(), WorkError> {
        let Chunk { first, states: Range { start: mut at, end } } = chunk;
        for index in first..self.count.min(first + CHUNK) {
            workers.check()?;
            let mut word = 0;
            if let Some((offset, subdivision)) = self.triangle(index) {
                let bytes = subdivision.bytes();
                if bytes <= end - at && target.copy_from(at, self.states, offset, bytes) {
                    word = triangle_word(at - states, subdivision);
                    at += bytes;
                }
            }
            target.write(HEADER_BYTES + u64::from(index) * MICROMAP_TRIANGLE_BYTES, &word.to_le_bytes());
        }
        Ok(())
    }
}

/// The word of a triangle: the offset of its states, the level and the format.
fn triangle_word(offset: u64, subdivision: Subdivision) -> u64 {
    offset | u64::from(subdivision.level) << 48 | u64::from(subdivision.bits) << 56
}

/// Number of triangles that one item of work reads.
const CHUNK: u32 = 512;

/// Triangles that one item of work builds, and the place of their states in the target.
struct Chunk {
    first: u32,
    states: Range<u64>,
}

/// Builds a micromap at the beginning of `target`, and returns its header. A triangle whose states
/// are not in memory, or do not fit because there are others than [`micromap_size`] was told, has
/// no states.
///
/// The places of states depend on the sizes of those before them. All triangles are therefore read
/// twice: to add up the sizes of each chunk, and to copy the states into the chunk's own part of
/// the target, which is not left even if the triangles have changed meanwhile.
///
/// # Errors
/// The target is too small for the list of triangles, there are too many triangles, there is no
/// memory, or the work was aborted.
pub fn build_micromap(target: DeviceMemory, input: &MicromapInput, workers: &Workers) -> Result<Header, BuildError> {
    let states = HEADER_BYTES + u64::from(input.count) * MICROMAP_TRIANGLE_BYTES;
    if target.len() < states || input.count > MAX_MICROMAP_TRIANGLES {
        return Err(BuildError::TargetTooSmall);
    }
    let starts = base::alloc::collect((0..input.count.div_ceil(CHUNK)).map(|chunk| chunk * CHUNK))?;
    let sizes = workers.map(base::alloc::to_vec(&starts)?, |first| Ok(input.bytes_of_states(first, CHUNK)))?;
    let mut end = states;
    let chunks = base::alloc::collect(starts.iter().zip(sizes).map(|(&first, bytes)| {
        let begin = end;
        end = end.saturating_add(bytes).min(target.len());
        Chunk { first, states: begin..end }
    }))?;
    workers.map(chunks, |chunk| input.build_chunk(target, states, chunk, workers))?;
    let header = Header {
        contents: Contents::Micromap,
        flags: input.flags,
        size: end,
        primitives: input.count,
        active: input.count,
        nodes: 0,
        leaves: input.count,
        micromaps: 0,
        nodes_offset: HEADER_BYTES,
        leaves_offset: HEADER_BYTES,
        depth: 0,
        bounds: Bounds::EMPTY,
    };
    target.write(0, &header.encode());
    Ok(header)
}

/// A micromap whose header was read.
#[derive(Clone, Copy)]
pub struct MicromapView {
    memory: DeviceMemory,
    triangles: u32,
    /// Offsets of the list of triangles, and of the states behind it.
    offsets: [u64; 2],
}

impl MicromapView {
    /// Reads the header in front of `memory`; `None` if it does not describe a micromap that lies
    /// inside the memory.
    #[inline]
    pub fn open(memory: DeviceMemory) -> Option<MicromapView> {
        let header = header(memory).filter(|header| header.contents == Contents::Micromap)?;
        let offsets = [header.leaves_offset, header.leaves_end()];
        Some(MicromapView { memory: memory.slice(0, header.size), triangles: header.leaves, offsets })
    }

    /// Returns the opacity of a triangle at a point, given by the weights of the second and third
    /// vertex; `None` if there is none.
    #[inline]
    pub fn opacity_at(&self, triangle: u32, barycentrics: [f32; 2]) -> Option<Opacity> {
        let ([triangles, states], mut word, mut byte) = (self.offsets, [0; 8], [0]);
        let known = triangle < self.triangles
            && self.memory.read(triangles + u64::from(triangle) * MICROMAP_TRIANGLE_BYTES, &mut word);
        if !known {
            return None;
        }
        let word = u64::from_le_bytes(word);
        let subdivision = Subdivision::new(((word >> 48) & 0xff) as u32, (word >> 56) as u32)?;
        let bit = state_index(subdivision.level, barycentrics) * subdivision.bits;
        let offset = states.checked_add(word & ((1 << 48) - 1))?.checked_add(u64::from(bit / 8))?;
        let mask = (1 << subdivision.bits) - 1;
        self.memory.read(offset, &mut byte).then(|| Opacity::of_bits(u32::from(byte[0]) >> (bit % 8) & mask))
    }
}

/// Returns the index of the small triangle at a point, given by the weights of the second and third
/// vertex, along the curve of the specification. The curve goes through the part at the first
/// vertex, the middle, the part at the second vertex and the part at the third one. In the middle
/// and in the last part, the first two vertices change places.
fn state_index(level: u32, barycentrics: [f32; 2]) -> u32 {
    let parts = 1u32 << level;
    let [u, v] = barycentrics.map(|weight| weight.clamp(0.0, 1.0) * parts as f32);
    // A weight that is not a number is 0 here.
    let [column, row] = [u, v].map(|weight| (weight as u32).min(parts - 1));
    let is_inverted = (u - column as f32) + (v - row as f32) >= 1.0 && column + row + 1 < parts;
    let column = column.min(parts - 1 - row);
    let rest = parts - 1 - column - row - u32::from(is_inverted);
    let [mut first, mut second, mut third] = [rest, column, row];
    let mut index = 0;
    for bit in (0..level).rev() {
        let [at_first, at_second, at_third] = [first, second, third].map(|weight| weight >> bit & 1 != 0);
        let part = match (at_first, at_second, at_third) {
            (_, _, true) => 3,
            (_, true, _) => 2,
            (true, ..) => 0,
            _ => 1,
        };
        if part == 1 {
            // In the middle triangle, weights go in the opposite direction.
            [first, second, third] = [!first, !second, !third];
        }
        if part & 1 != 0 {
            core::mem::swap(&mut first, &mut second);
        }
        index = index << 2 | part;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_on_the_curve_share_a_vertex() {
        for level in 0..=5 {
            let parts = 1u32 << level;
            // The centres of the small triangles, in thirds of their size.
            let mut centres = vec![None; 1 << (2 * level)];
            for row in 0..parts {
                for column in 0..parts - row {
                    let halves = if column + row + 1 < parts { &[1, 2][..] } else { &[1] };
                    for third in halves {
                        let centre = [3 * column + third, 3 * row + third];
                        let weights = centre.map(|value| value as f32 / (3 * parts) as f32);
                        let index = state_index(level, weights);
                        assert!(level == 0 || index >> 2 == state_index(level - 1, weights), "level {level}");
                        let slot = &mut centres[index as usize];
                        assert_eq!(slot.replace(centre), None, "level {level}");
                    }
                }
            }
            let centres: Vec<[u32; 2]> = centres.into_iter().map(|centre| centre.expect("a triangle")).collect();
            for pair in centres.windows(2) {
                let [x, y] = [0, 1].map(|axis| pair[0][axis].abs_diff(pair[1][axis]));
                assert!(x <= 3 && y <= 3, "level {level}: {pair:?}");
            }
            assert!(centres[0] == [1, 1], "the curve begins at the first vertex");
            assert!(centres[centres.len() - 1] == [1, 3 * parts - 2], "the curve ends at the third vertex");
        }
    }

    #[test]
    fn the_curve_is_that_of_the_specification() {
        // The order of the specification's figure for two levels, by sixths of the weights.
        let level_1 = [[1, 1], [2, 2], [4, 1], [1, 4]];
        for (index, centre) in level_1.into_iter().enumerate() {
            assert_eq!(state_index(1, centre.map(|value| value as f32 / 6.0)), index as u32);
        }
    }

    #[test]
    fn points_outside_of_the_triangle_have_an_index() {
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 0.0, 0.5, 1.0, 2.0];
        for level in 0..=MAX_SUBDIVISION_LEVEL {
            for u in odd {
                for v in odd {
                    assert!(state_index(level, [u, v]) < 1 << (2 * level), "{level} {u} {v}");
                }
            }
        }
    }
}

//! Instances: their words in a structure, their bounds, and the structures to which they refer.

#![forbid(unsafe_code)]

use crate::input::{InstanceWords, transform_point};
use crate::layout::{Bounds, Header, INSTANCE_BYTES};
use crate::view::View;
use base::mem::DeviceMemory;

/// Words of an instance in a top-level structure: the transform from object to world and its
/// inverse by rows (12 words each), custom index and mask, shader binding table offset and flags,
/// and the address of the bottom-level structure. The remaining words are 0.
pub type InstanceRecord = [u32; INSTANCE_BYTES as usize / 4];

/// First word of the transform from object to world.
pub const OBJECT_TO_WORLD: usize = 0;
/// First word of the transform from world to object.
pub const WORLD_TO_OBJECT: usize = 12;
/// Word of the custom index, with the mask in its upper 8 bits.
pub const CUSTOM_INDEX_AND_MASK: usize = 24;
/// Word of the shader binding table offset, with the flags in its upper 8 bits.
pub const SBT_OFFSET_AND_FLAGS: usize = 25;
/// First of the two words of the bottom-level structure's address; 0 in an inactive instance.
pub const REFERENCE: usize = 26;

/// A structure that is alive.
#[derive(Clone, Copy, Debug)]
pub struct LiveStructure {
    /// Address by which instances refer to it from now on.
    pub address: u64,
    /// The structure's memory.
    pub memory: DeviceMemory,
}

/// The structures of a device that are alive.
pub trait LiveStructures: Sync {
    /// Returns the structure to which an instance refers: by its address or, in builds on the host,
    /// by its handle.
    fn find(&self, reference: u64) -> Option<LiveStructure>;
}

/// Values of an instance in a structure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstanceValues {
    /// Custom index.
    pub custom_index: u32,
    /// Shader binding table record offset.
    pub sbt_offset: u32,
    /// Transform from object to world, by rows.
    pub object_to_world: [f32; 12],
    /// Transform from world to object, by rows.
    pub world_to_object: [f32; 12],
}

/// Returns the values of an instance's record.
pub fn values(record: &InstanceRecord) -> InstanceValues {
    InstanceValues {
        custom_index: record[CUSTOM_INDEX_AND_MASK] & 0xff_ffff,
        sbt_offset: record[SBT_OFFSET_AND_FLAGS] & 0xff_ffff,
        object_to_world: transform(record, OBJECT_TO_WORLD),
        world_to_object: transform(record, WORLD_TO_OBJECT),
    }
}

/// An instance of a build.
pub struct BuiltInstance {
    /// Words of the instance; all are 0 if it is inactive.
    pub record: InstanceRecord,
    /// Bounds in the world; `None` if it is inactive.
    pub bounds: Option<Bounds>,
}

/// Returns the reference of an instance's record.
pub fn reference(record: &InstanceRecord) -> u64 {
    u64::from(record[REFERENCE]) | u64::from(record[REFERENCE + 1]) << 32
}

/// Returns the 12 words of a transform as floats.
#[inline(always)]
pub fn transform(record: &InstanceRecord, first: usize) -> [f32; 12] {
    let mut rows = [0.0; 12];
    for (i, value) in rows.iter_mut().enumerate() {
        *value = f32::from_bits(record[(first + i) & 31]);
    }
    rows
}

/// Returns the words of the address of the live structure to which an instance refers, and its
/// bounds; `None` if there is none.
pub fn find_structure([low, high]: [u32; 2], structures: &dyn LiveStructures) -> Option<([u32; 2], Bounds)> {
    let reference = Some(u64::from(low) | u64::from(high) << 32).filter(|&reference| reference != 0)?;
    let found = structures.find(reference)?;
    let bounds = View::open(found.memory).map_or(Bounds::EMPTY, |(_, header): (_, Header)| header.bounds);
    Some(([found.address as u32, (found.address >> 32) as u32], bounds))
}

/// Makes the record and the bounds of an instance. It is inactive if it refers to no live
/// structure.
pub fn build_instance(words: Option<InstanceWords>, structures: &dyn LiveStructures) -> BuiltInstance {
    let inactive = BuiltInstance { record: [0; 32], bounds: None };
    let Some(words) = words else { return inactive };
    let Some((address, object)) = find_structure([words[14], words[15]], structures) else { return inactive };
    let object_to_world: [f32; 12] = core::array::from_fn(|i| f32::from_bits(words[i]));
    let mut record = [0; 32];
    record[..12].copy_from_slice(&words[..12]);
    record[WORLD_TO_OBJECT..][..12].copy_from_slice(&inverse(&object_to_world).map(f32::to_bits));
    record[CUSTOM_INDEX_AND_MASK] = words[12];
    record[SBT_OFFSET_AND_FLAGS] = words[13];
    record[REFERENCE..][..2].copy_from_slice(&address);
    BuiltInstance { record, bounds: Some(world_bounds(&object_to_world, &object)) }
}

/// Returns the inverse of an affine transform; infinite or not numbers if there is none.
pub fn inverse(rows: &[f32; 12]) -> [f32; 12] {
    let m = |row: usize, column: usize| f64::from(rows[4 * row + column]);
    let cofactor = |row: usize, column: usize| {
        let [a, b] = [(row + 1) % 3, (row + 2) % 3];
        let [c, d] = [(column + 1) % 3, (column + 2) % 3];
        m(a, c) * m(b, d) - m(a, d) * m(b, c)
    };
    let determinant = m(0, 0) * cofactor(0, 0) + m(0, 1) * cofactor(0, 1) + m(0, 2) * cofactor(0, 2);
    let mut inverse = [0.0; 12];
    for row in 0..3 {
        let linear = [0, 1, 2].map(|column| cofactor(column, row) / determinant);
        let translation = linear[0] * m(0, 3) + linear[1] * m(1, 3) + linear[2] * m(2, 3);
        for (column, value) in linear.into_iter().enumerate() {
            inverse[4 * row + column] = value as f32;
        }
        inverse[4 * row + 3] = -translation as f32;
    }
    inverse
}

/// Relative margin of an instance's bounds: its ray is transformed with rounding errors of some
/// units of 2^-24.
pub const MARGIN: f64 = 1.0 / (1 << 20) as f64;

/// Returns bounds in the world of what has bounds in object space. They have a margin for the
/// rounding of transformed rays.
pub fn world_bounds(rows: &[f32; 12], object: &Bounds) -> Bounds {
    if object.is_empty() {
        return Bounds::EMPTY;
    }
    let mut world = Bounds::EMPTY;
    for row in 0..3 {
        let [a, b, c, translation] = [0, 1, 2, 3].map(|column| f64::from(rows[4 * row + column]));
        let (mut min, mut max, mut magnitude) = (translation, translation, translation.abs());
        for (factor, axis) in [a, b, c].into_iter().zip(0..3) {
            let [low, high] = [object.min[axis], object.max[axis]].map(|bound| factor * f64::from(bound));
            let [low, high] = if factor == 0.0 { [0.0; 2] } else { [low, high] };
            min += if low < high { low } else { high };
            max += if low < high { high } else { low };
            magnitude += if low.abs() > high.abs() { low.abs() } else { high.abs() };
        }
        let margin = magnitude * MARGIN;
        world.min[row] = finite((min - margin) as f32);
        world.max[row] = finite((max + margin) as f32);
    }
    let is_number = |value: &f32| !value.is_nan();
    if world.min.iter().chain(&world.max).all(is_number) { world } else { Bounds::EMPTY }
}

/// Returns the nearest finite number.
pub fn finite(value: f32) -> f32 {
    value.clamp(-f32::MAX, f32::MAX)
}

/// Returns the translation of an instance, with numbers only.
pub fn position(record: &InstanceRecord) -> [f32; 3] {
    let rows = transform(record, OBJECT_TO_WORLD);
    transform_point(&rows, [0.0; 3]).map(|value| if value.is_nan() { 0.0 } else { finite(value) })
}

//! Instances of structures with motion (VK_NV_ray_tracing_motion_blur): their words in a structure,
//! their bounds, and their transforms at a time.
//!
//! Values between both ends are interpolated by components, and limited to the range between the
//! ends, so that they lie inside of bounds around both, and what does not move has the same bits at
//! every time.

#![forbid(unsafe_code)]

use crate::input::{GeometryData, InstanceMotion, MotionInstanceWords};
use crate::instance::{
    CUSTOM_INDEX_AND_MASK, InstanceRecord, LiveStructures, MARGIN, OBJECT_TO_WORLD, REFERENCE, WORLD_TO_OBJECT,
    build_instance, find_structure, finite, inverse, position, world_bounds,
};
use crate::layout::{Bounds, Contents, INSTANCE_BYTES, MOTION_INSTANCE_BYTES, bytes_of};
use crate::vec4::F32x4;
use crate::view::View;
use base::mem::DeviceMemory;

/// Words of an instance of a structure with motion: the transforms at the times 0 and 1 (16 words
/// each), what an [`InstanceRecord`] has behind its transforms, and 1 for an SRT decomposition or 0
/// for matrices. The remaining words are 0.
pub type MotionRecord = [u32; MOTION_INSTANCE_BYTES as usize / 4];

/// First word of the transform at the time 1.
const END: usize = 16;
/// First of the words that are those of an [`InstanceRecord`] from [`CUSTOM_INDEX_AND_MASK`] on.
const COMMON: usize = 32;
/// Word that is 1 for an SRT decomposition.
const IS_SRT: usize = 36;

/// Offset of the reference in an instance of a structure with motion.
pub const MOTION_REFERENCE: usize = COMMON + REFERENCE - CUSTOM_INDEX_AND_MASK;

/// Returns the values at a time between those at the times 0 and 1.
#[inline(always)]
pub fn interpolate(start: F32x4, end: F32x4, time: f32) -> F32x4 {
    let value = start * F32x4::splat(1.0 - time) + end * F32x4::splat(time);
    value.max(start.min(end)).min(end.max(start))
}

/// Returns the time of an instruction as traversals use it: the nearest one from 0 to 1, and 0 for
/// what is no number. Other times than those from 0 to 1 are not valid.
#[inline(always)]
pub fn valid_time(time: f32) -> f32 {
    let time = if time > 0.0 { time } else { 0.0 };
    if time < 1.0 { time } else { 1.0 }
}

/// The values of an SRT decomposition (`VkSRTDataNV`), relative to its rotation.
struct Srt {
    /// Scale, shear and pivot, by rows.
    before: [[f64; 4]; 3],
    /// Quaternion.
    rotation: [f64; 4],
    /// Translation behind the rotation.
    translation: [f64; 3],
}

impl Srt {
    fn new(values: &[f32; 16]) -> Srt {
        let [sx, a, b, pvx, sy, c, pvy, sz, pvz, qx, qy, qz, qw, tx, ty, tz] = values.map(f64::from);
        let before = [[sx, a, b, pvx], [0.0, sy, c, pvy], [0.0, 0.0, sz, pvz]];
        Srt { before, rotation: [qx, qy, qz, qw], translation: [tx, ty, tz] }
    }

    /// Returns the transform by rows. The rotation is that of the normalized quaternion; the values
    /// are no numbers if the quaternion is 0.
    fn rows(&self) -> [f32; 12] {
        let [x, y, z, w] = self.rotation;
        let twice = 2.0 / (x * x + y * y + z * z + w * w);
        let rotation = [
            [1.0 - twice * (y * y + z * z), twice * (x * y - z * w), twice * (x * z + y * w)],
            [twice * (x * y + z * w), 1.0 - twice * (x * x + z * z), twice * (y * z - x * w)],
            [twice * (x * z - y * w), twice * (y * z + x * w), 1.0 - twice * (x * x + y * y)],
        ];
        core::array::from_fn(|i| {
            let ([a, b, c], column) = (rotation[i / 4], i % 4);
            let linear = a * self.before[0][column] + b * self.before[1][column] + c * self.before[2][column];
            (if column == 3 { linear + self.translation[i / 4] } else { linear }) as f32
        })
    }

    /// Returns the greatest distance from the pivot to a corner of a box, before the rotation.
    fn radius(&self, object: &Bounds) -> f64 {
        (0..8).fold(0.0, |radius: f64, corner| {
            let point = [0, 1, 2].map(|axis| f64::from([object.min, object.max][corner >> axis & 1][axis]));
            let square = self.before.iter().fold(0.0, |square, [a, b, c, pivot]| {
                let value = a * point[0] + b * point[1] + c * point[2] + pivot;
                square + value * value
            });
            // Not a maximum, so that what is no number remains.
            let distance = square.sqrt();
            if radius >= distance { radius } else { distance }
        })
    }
}

/// Returns the 16 values of an instance's transform at a time.
fn values(record: &MotionRecord, time: f32) -> [f32; 16] {
    let four = |first: usize| F32x4::from_bits([0, 1, 2, 3].map(|i| record[first + i]));
    let rows = [0, 4, 8, 12].map(|row| interpolate(four(row), four(END + row), time).to_array());
    core::array::from_fn(|i| rows[i / 4][i % 4])
}

/// Returns the transform of an instance at a time, from object to world, by rows.
fn object_to_world(record: &MotionRecord, time: f32) -> [f32; 12] {
    let values = values(record, time);
    if record[IS_SRT] != 0 { Srt::new(&values).rows() } else { core::array::from_fn(|i| values[i]) }
}

/// Returns the instance at a time as one of a structure without motion.
#[inline(never)]
pub fn record_at(motion: &MotionRecord, time: f32) -> InstanceRecord {
    let rows = object_to_world(motion, time);
    let mut record = [0; INSTANCE_BYTES as usize / 4];
    record[OBJECT_TO_WORLD..][..12].copy_from_slice(&rows.map(f32::to_bits));
    record[WORLD_TO_OBJECT..][..12].copy_from_slice(&inverse(&rows).map(f32::to_bits));
    record[CUSTOM_INDEX_AND_MASK..][..4].copy_from_slice(&motion[COMMON..][..4]);
    record
}

/// Returns an instance of a top-level structure at a time.
pub fn instance_at(top: &View, index: u32, time: f32) -> Option<InstanceRecord> {
    top.instance(index).or_else(|| top.motion_instance(index).map(|motion| record_at(&motion, time)))
}

/// Returns bounds in the world around an instance at all times. The points of one whose rotation
/// does not change move along lines. Others stay in a sphere around the pivot, which moves along
/// a line.
fn motion_bounds(record: &MotionRecord, object: &Bounds) -> Bounds {
    const ROTATION: core::ops::Range<usize> = 9..13;
    let is_straight = record[IS_SRT] == 0 || record[ROTATION] == record[END..][ROTATION];
    if is_straight || object.is_empty() {
        let [start, end] = [0.0, 1.0].map(|time| world_bounds(&object_to_world(record, time), object));
        return start.union(end);
    }
    let [start, end] = [0.0, 1.0].map(|time| Srt::new(&values(record, time)));
    let [a, b] = [start.radius(object), end.radius(object)];
    let radius = if a >= b { a } else { b };
    let mut world = Bounds::EMPTY;
    for axis in 0..3 {
        let (a, b) = (start.translation[axis], end.translation[axis]);
        let margin = (radius + a.abs() + b.abs()) * MARGIN;
        world.min[axis] = finite((a.min(b) - radius - margin) as f32);
        world.max[axis] = finite((a.max(b) + radius + margin) as f32);
    }
    if world.min.iter().chain(&world.max).any(|value| value.is_nan()) { Bounds::EMPTY } else { world }
}

/// Makes the record of an instance, and its bounds if it is active.
fn build_motion_instance(
    source: Option<MotionInstanceWords>,
    structures: &dyn LiveStructures,
) -> (MotionRecord, Option<Bounds>) {
    let mut record = [0; MOTION_INSTANCE_BYTES as usize / 4];
    let Some(MotionInstanceWords { motion, words }) = source else { return (record, None) };
    let [start, end, common] = motion.layout();
    let length = if motion == InstanceMotion::Srt { 16 } else { 12 };
    let found = find_structure([words[common + 2], words[common + 3]], structures);
    let Some((address, object)) = found else { return (record, None) };
    record[..length].copy_from_slice(&words[start..][..length]);
    record[END..][..length].copy_from_slice(&words[end..][..length]);
    record[COMMON..][..2].copy_from_slice(&words[common..][..2]);
    record[MOTION_REFERENCE..][..2].copy_from_slice(&address);
    record[IS_SRT] = u32::from(motion == InstanceMotion::Srt);
    (record, Some(motion_bounds(&record, &object)))
}

/// An instance that was written into a structure.
pub struct WrittenInstance {
    /// Bounds in the world; `None` if it is inactive.
    pub bounds: Option<Bounds>,
    /// Translation, at the time 0 if it moves.
    pub position: [f32; 3],
}

/// Writes the instance with an index in a geometry to the place of a number in a structure.
#[inline(never)]
pub fn write_instance(
    target: DeviceMemory,
    number: u32,
    (data, index): (&GeometryData, u32),
    structures: &dyn LiveStructures,
) -> WrittenInstance {
    let at = |contents: Contents| crate::layout::HEADER_BYTES + u64::from(number) * contents.leaf_bytes();
    match data {
        GeometryData::Instances(instances) => {
            let built = build_instance(instances.read(index), structures);
            target.write(at(Contents::Instances), &bytes_of::<32, 128>(&built.record));
            WrittenInstance { bounds: built.bounds, position: position(&built.record) }
        }
        GeometryData::MotionInstances(instances) => {
            let (record, bounds) = build_motion_instance(instances.read_motion(index), structures);
            target.write(at(Contents::MotionInstances), &bytes_of::<48, 192>(&record));
            WrittenInstance { bounds, position: position(&record_at(&record, 0.0)) }
        }
        // Primitives are no instances.
        _ => WrittenInstance { bounds: None, position: [0.0; 3] },
    }
}

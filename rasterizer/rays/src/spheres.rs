//! Spheres and linear swept spheres: how they are read, and the bounds around them.
//!
//! A linear swept sphere is the convex hull of two spheres, the ends. A sphere is one whose ends
//! are equal. All input is device memory, as in `input`.

#![forbid(unsafe_code)]

use crate::input::{Caps, Decoder, Indexing, Spheres, SweptSpheres};
use crate::layout::{Bounds, FIRST_CAP, LAST_CAP};
use crate::vec4::F32x4;
use base::format::{TexelKernels, kernels};

/// A sphere or a swept sphere that is active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweptSphere {
    /// Centre and radius of both ends.
    pub ends: [[f32; 4]; 2],
    /// The ends that can be hit ([`FIRST_CAP`], [`LAST_CAP`]).
    pub caps: u32,
}

impl SweptSphere {
    /// Returns true if all coordinates and radii are finite, so that the primitive can be hit.
    pub fn is_finite(&self) -> bool {
        self.ends.as_flattened().iter().all(|value| value.is_finite())
    }

    /// Returns the bounds by which the primitive is sorted into the tree. A primitive that cannot
    /// be hit, because it is infinite, is active all the same: an update may move it.
    pub fn bounds(&self) -> Bounds {
        if !self.is_finite() {
            return Bounds { min: [0.0; 3], max: [0.0; 3] };
        }
        let [first, last] = self.ends.map(|[x, y, z, radius]| {
            let (min, max) = extent(F32x4::from_array([x, y, z, 0.0]), F32x4::splat(radius));
            let ([x, y, z, _], [to_x, to_y, to_z, _]) = (min.to_array(), max.to_array());
            Bounds { min: [x, y, z], max: [to_x, to_y, to_z] }
        });
        Bounds::EMPTY.union(first).union(last)
    }
}

/// Relative size of the margin of bounds, which is greater than the rounding of their computation.
const MARGIN: f32 = 1.0 / (1 << 22) as f32;

/// Returns lower and upper bounds of spheres in an axis of each lane. They are finite.
#[inline(always)]
pub fn extent(centre: F32x4, radius: F32x4) -> (F32x4, F32x4) {
    let (zero, max) = (F32x4::splat(0.0), F32x4::splat(f32::MAX));
    let margin = (centre.abs() + radius) * F32x4::splat(MARGIN);
    ((centre - radius - margin).max(zero - max), (centre + radius + margin).min(max))
}

/// Reads the primitives of one geometry.
#[derive(Clone, Copy)]
pub struct SphereReader {
    spheres: Spheres,
    decoder: Decoder,
    radius_kernels: &'static TexelKernels,
    /// The ends of swept spheres; `None` for spheres.
    swept: Option<(Indexing, Caps)>,
}

impl SphereReader {
    /// Makes a reader of spheres.
    pub fn of_spheres(spheres: &Spheres) -> SphereReader {
        SphereReader {
            spheres: *spheres,
            decoder: Decoder::new(spheres.format),
            radius_kernels: kernels(spheres.radius_format),
            swept: None,
        }
    }

    /// Makes a reader of swept spheres.
    pub fn of_swept_spheres(swept: &SweptSpheres) -> SphereReader {
        SphereReader { swept: Some((swept.indexing, swept.caps)), ..SphereReader::of_spheres(&swept.ends) }
    }

    /// Returns a primitive; `None` if it is inactive or not in memory. A negative radius makes it
    /// inactive, as one that is not a number does.
    pub fn read(&self, primitive: u32) -> Option<SweptSphere> {
        let at = u64::from(primitive);
        let Some((indexing, caps)) = self.swept else {
            let sphere = self.sphere(self.index(at)?)?;
            return Some(SweptSphere { ends: [sphere; 2], caps: FIRST_CAP | LAST_CAP });
        };
        let [first, last] = match indexing {
            Indexing::List => [self.index(2 * at)?, self.index(2 * at + 1)?],
            Indexing::Successive => {
                let first = self.index(at)?;
                [first, first + 1]
            }
        };
        let continues = || {
            let before = at.checked_sub(1).and_then(|before| self.index(before));
            indexing == Indexing::Successive && before.is_some_and(|before| before + 1 == first)
        };
        let caps = match caps {
            Caps::None => 0,
            Caps::Chained if continues() => LAST_CAP,
            Caps::Chained => FIRST_CAP | LAST_CAP,
        };
        Some(SweptSphere { ends: [self.sphere(first)?, self.sphere(last)?], caps })
    }

    /// Returns an index by its position; `None` if it is not in memory.
    fn index(&self, at: u64) -> Option<u64> {
        let Spheres { indices, index_type, index_stride, .. } = self.spheres;
        index_type.read(indices, index_stride, at)
    }

    /// Returns centre and radius of a sphere.
    fn sphere(&self, index: u64) -> Option<[f32; 4]> {
        let Spheres { vertices, stride, radii, radius_stride, .. } = self.spheres;
        let [x, y, z] = self.decoder.decode(vertices, index.checked_mul(stride)?)?;
        let mut block = [0; 16];
        let bytes = block.get_mut(..self.radius_kernels.bytes)?;
        let is_in_memory = !bytes.is_empty() && radii.read(index.checked_mul(radius_stride)?, bytes);
        let radius = f32::from_bits((self.radius_kernels.unpack_one)(&block)[0]);
        let is_active = is_in_memory && radius >= 0.0 && ![x, y, z].iter().any(|value| value.is_nan());
        is_active.then_some([x, y, z, radius])
    }
}

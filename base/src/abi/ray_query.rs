//! Ray queries, as generated code and the helpers that perform their operations share them.
//!
//! Generated code owns the memory of ray queries and knows nothing about its contents. It notes
//! itself which queries are initialized, and passes only these to other helpers than
//! `ray_query_initialize`. Helpers work on up to [`MAX_RAY_LANES`] lanes; arrays of results are
//! `[component][lane]`.

#![forbid(unsafe_code)]

use super::layout::layout;
use crate::text::FromText;

/// Largest number of lanes of a call of a helper of ray queries. It is that of the widest
/// functions, because rays that proceed together can be traversed as one packet.
pub const MAX_RAY_LANES: usize = 16;

/// Number of bytes of a ray query.
pub const RAY_QUERY_BYTES: usize = 1024;

/// Alignment of a ray query, in bytes.
pub const RAY_QUERY_ALIGN: usize = 64;

/// Number of components of the largest result of a getter, which is a matrix of 4 columns of 3
/// rows.
pub const MAX_RAY_COMPONENTS: usize = 12;

/// Arguments of `OpRayQueryInitializeKHR` except the query, for each lane.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RayArguments {
    /// Addresses of the top-level structures; 0 for none.
    pub structure: [u64; MAX_RAY_LANES],
    /// Flags of the rays.
    pub flags: [u32; MAX_RAY_LANES],
    /// Masks of the instances that rays can hit.
    pub cull_mask: [u32; MAX_RAY_LANES],
    /// Origins by component.
    pub origin: [[f32; MAX_RAY_LANES]; 3],
    /// Starts of the rays' intervals.
    pub t_min: [f32; MAX_RAY_LANES],
    /// Directions by component.
    pub direction: [[f32; MAX_RAY_LANES]; 3],
    /// Ends of the rays' intervals.
    pub t_max: [f32; MAX_RAY_LANES],
}

macro_rules! ray_getters {
    ($($(#[$doc:meta])* $getter:ident $components:literal;)*) => {
        /// A value that an instruction `OpRayQueryGet…KHR` reads from a ray query.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
        #[repr(u32)]
        pub enum RayGetter {
            $($(#[$doc])* $getter,)*
        }

        impl RayGetter {
            /// All getters, in the order of their numbers.
            pub const ALL: &[RayGetter] = &[$(RayGetter::$getter),*];

            /// Returns the number of 32-bit components of the result.
            pub const fn components(self) -> usize {
                match self {
                    $(RayGetter::$getter => $components,)*
                }
            }
        }

        layout!(enum RayGetter { $($getter),* });
    };
}

ray_getters! {
    /// Kind of the intersection, in the encoding of the candidate's or the committed one's kinds.
    IntersectionType 1;
    /// Start of the ray's interval.
    RayTMin 1;
    /// Flags of the ray.
    RayFlags 1;
    /// Distance of the intersection.
    IntersectionT 1;
    /// Custom index of the instance.
    InstanceCustomIndex 1;
    /// Index of the instance.
    InstanceId 1;
    /// Shader binding table record offset of the instance.
    InstanceShaderBindingTableRecordOffset 1;
    /// Index of the geometry.
    GeometryIndex 1;
    /// Index of the primitive.
    PrimitiveIndex 1;
    /// Barycentric coordinates of the triangle's second and third vertex.
    Barycentrics 2;
    /// 1 if the ray hits the front of the triangle, 0 otherwise.
    FrontFace 1;
    /// 1 if the candidate's box is opaque, 0 otherwise.
    CandidateAabbOpaque 1;
    /// Direction of the ray in the space of the instance.
    ObjectRayDirection 3;
    /// Origin of the ray in the space of the instance.
    ObjectRayOrigin 3;
    /// Direction of the ray.
    WorldRayDirection 3;
    /// Origin of the ray.
    WorldRayOrigin 3;
    /// Transform of the instance from object to world, by columns of 3 components.
    ObjectToWorld 12;
    /// Transform of the instance from world to object, by columns of 3 components.
    WorldToObject 12;
    /// Positions of the triangle's vertices, by vertex.
    TriangleVertexPositions 9;
    /// Mask of the instances that the ray can hit.
    CullMask 1;
    /// 1 if the intersection is with a sphere, 0 otherwise.
    IsSphere 1;
    /// 1 if the intersection is with a linear swept sphere, 0 otherwise.
    IsLss 1;
    /// Centre of the sphere in the space of the instance.
    SpherePosition 3;
    /// Radius of the sphere.
    SphereRadius 1;
    /// Centres of the swept sphere's first and last position.
    LssPositions 6;
    /// Radii of the swept sphere at its first and last position.
    LssRadii 2;
    /// Position of the hit on a swept sphere: from 0 at the first end to 1 at the last one.
    LssHitValue 1;
}

/// Bit of a getter's word that selects the committed intersection; the candidate's is read without
/// it.
pub const RAY_COMMITTED: u32 = 1 << 16;

impl RayGetter {
    /// Returns the number of elements of the array that is the result; 1 if it is none.
    pub const fn elements(self) -> usize {
        match self {
            RayGetter::TriangleVertexPositions => 3,
            RayGetter::LssPositions | RayGetter::LssRadii => 2,
            _ => 1,
        }
    }

    /// Returns the word that the helper takes.
    pub const fn word(self, committed: bool) -> u32 {
        self as u32 | if committed { RAY_COMMITTED } else { 0 }
    }

    /// Returns the getter and whether the committed intersection is selected; `None` for a word
    /// that [`RayGetter::word`] does not return.
    pub fn from_word(word: u32) -> Option<(RayGetter, bool)> {
        let getter = *Self::ALL.get((word & !RAY_COMMITTED) as usize)?;
        Some((getter, word & RAY_COMMITTED != 0))
    }
}

const _: () = assert!(RAY_QUERY_BYTES.is_multiple_of(RAY_QUERY_ALIGN));

layout!(RayArguments { structure, flags, cull_mask, origin, t_min, direction, t_max });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_getters_round_trip() {
        for (i, &getter) in RayGetter::ALL.iter().enumerate() {
            assert_eq!(getter as usize, i);
            assert!((1..=MAX_RAY_COMPONENTS).contains(&getter.components()));
            for committed in [false, true] {
                assert_eq!(RayGetter::from_word(getter.word(committed)), Some((getter, committed)));
            }
        }
        assert_eq!(RayGetter::from_word(RayGetter::ALL.len() as u32), None);
        assert_eq!(RayGetter::from_word(u32::MAX), None);
    }
}

//! Intersections that a traversal has found, and the flags that decide about them.

#![forbid(unsafe_code)]

/// Flags of a ray (`RayFlags` of SPIR-V).
pub mod ray_flags {
    #![allow(missing_docs, reason = "names and values are those of SPIR-V's RayFlags")]
    pub const OPAQUE: u32 = 0x1;
    pub const NO_OPAQUE: u32 = 0x2;
    pub const TERMINATE_ON_FIRST_HIT: u32 = 0x4;
    pub const SKIP_CLOSEST_HIT_SHADER: u32 = 0x8;
    pub const CULL_BACK_FACING_TRIANGLES: u32 = 0x10;
    pub const CULL_FRONT_FACING_TRIANGLES: u32 = 0x20;
    pub const CULL_OPAQUE: u32 = 0x40;
    pub const CULL_NO_OPAQUE: u32 = 0x80;
    pub const SKIP_TRIANGLES: u32 = 0x100;
    pub const SKIP_AABBS: u32 = 0x200;
    pub const FORCE_OPACITY_MICROMAP_2_STATE: u32 = 0x400;
}

/// Flags of an instance (`VkGeometryInstanceFlagBitsKHR`).
pub mod instance_flags {
    #![allow(missing_docs, reason = "names and values are those of VkGeometryInstanceFlagBitsKHR")]
    pub const TRIANGLE_FACING_CULL_DISABLE: u32 = 0x1;
    pub const TRIANGLE_FLIP_FACING: u32 = 0x2;
    pub const FORCE_OPAQUE: u32 = 0x4;
    pub const FORCE_NO_OPAQUE: u32 = 0x8;
    pub const FORCE_OPACITY_MICROMAP_2_STATE: u32 = 0x10;
    pub const DISABLE_OPACITY_MICROMAPS: u32 = 0x20;
}

/// Kind of an intersection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum HitKind {
    /// There is none.
    None,
    /// A triangle.
    Triangle,
    /// A sphere.
    Sphere,
    /// A linear swept sphere.
    Lss,
    /// A box as a candidate, or the intersection that a shader has generated in it.
    Aabb,
}

/// An intersection.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Hit {
    /// Kind of the intersection.
    pub kind: HitKind,
    /// Distance; that of a candidate box has no meaning.
    pub t: f32,
    /// Weights of a triangle's second and third vertex. The first one is also the position of the
    /// hit on a swept sphere: 0 and 1 on its ends, and between them otherwise.
    pub barycentrics: [f32; 2],
    /// 1 if the front of a triangle is hit.
    pub front_facing: u32,
    /// 1 if no shader decides about it.
    pub opaque: u32,
    /// Index of the instance in the top-level structure.
    pub instance: u32,
    /// Custom index of the instance, 24 bits.
    pub custom_index: u32,
    /// Shader binding table record offset of the instance, 24 bits.
    pub sbt_offset: u32,
    /// Index of the geometry.
    pub geometry: u32,
    /// Index of the primitive in its geometry.
    pub primitive: u32,
    /// Vertices of a triangle in object space, or the centres of the ends of a sphere, with their
    /// radii in the third one.
    pub vertices: [[f32; 3]; 3],
}

impl Hit {
    /// No intersection.
    pub const NONE: Hit = Hit {
        kind: HitKind::None,
        t: 0.0,
        barycentrics: [0.0; 2],
        front_facing: 0,
        opaque: 0,
        instance: 0,
        custom_index: 0,
        sbt_offset: 0,
        geometry: 0,
        primitive: 0,
        vertices: [[0.0; 3]; 3],
    };

    /// Returns what decides between hits at the same distance: the lowest one wins.
    pub fn order(&self) -> (u32, u32, u32) {
        (self.instance, self.geometry, self.primitive)
    }
}

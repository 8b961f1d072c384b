//! Values that the stages of ray tracing read, and the operands with which they suspend
//! invocations. Numbers are those of SPIR-V.

#![forbid(unsafe_code)]

use crate::text::FromText;

/// Stages that read a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RayStages {
    /// All stages of ray tracing.
    All,
    /// Stages that a ray runs: any-hit, closest-hit, intersection, miss.
    Ray,
    /// Stages of a primitive: any-hit, closest-hit, intersection.
    Primitive,
    /// Stages of an intersection: any-hit, closest-hit.
    Hit,
}

/// Type of a value's words as shaders declare them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RayWordType {
    /// An integer of 32 bits.
    Uint,
    /// A float of 32 bits.
    Float,
    /// A boolean, whose word is 1 or 0.
    Bool,
}

macro_rules! ray_values {
    ($($(#[$doc:meta])* $name:ident { $builtin:expr, $words:literal $ty:ident $stages:ident })*) => {
        /// A value of a ray, its launch or its intersection, which is an input of stages.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, FromText)]
        pub enum RayValue {
            $($(#[$doc])* $name,)*
        }

        impl RayValue {
            /// All values.
            pub const ALL: &'static [RayValue] = &[$(RayValue::$name),*];

            /// Returns the value of SPIR-V's `BuiltIn`; `None` for what is no built-in of SPIR-V.
            pub const fn builtin(self) -> Option<u32> {
                match self {
                    $(RayValue::$name => $builtin,)*
                }
            }

            /// Returns the number of words of the value.
            pub const fn words(self) -> u32 {
                match self {
                    $(RayValue::$name => $words,)*
                }
            }

            /// Returns the type of the value's words.
            pub const fn word_type(self) -> RayWordType {
                match self {
                    $(RayValue::$name => RayWordType::$ty,)*
                }
            }

            /// Returns the stages that read the value.
            pub const fn stages(self) -> RayStages {
                match self {
                    $(RayValue::$name => RayStages::$stages,)*
                }
            }
        }
    };
}

ray_values! {
    /// PrimitiveId: index of the primitive in its geometry.
    PrimitiveId { Some(7), 1 Uint Primitive }
    /// InstanceId: index of the instance in the top-level structure.
    InstanceId { Some(6), 1 Uint Primitive }
    /// LaunchIdKHR.
    LaunchId { Some(5319), 3 Uint All }
    /// LaunchSizeKHR.
    LaunchSize { Some(5320), 3 Uint All }
    /// WorldRayOriginKHR.
    WorldRayOrigin { Some(5321), 3 Float Ray }
    /// WorldRayDirectionKHR.
    WorldRayDirection { Some(5322), 3 Float Ray }
    /// ObjectRayOriginKHR.
    ObjectRayOrigin { Some(5323), 3 Float Primitive }
    /// ObjectRayDirectionKHR.
    ObjectRayDirection { Some(5324), 3 Float Primitive }
    /// RayTminKHR.
    RayTmin { Some(5325), 1 Float Ray }
    /// RayTmaxKHR when the invocation begins: in stages of an intersection its distance, else the
    /// end of the ray's remaining interval.
    RayTmax { Some(5326), 1 Float Ray }
    /// InstanceCustomIndexKHR.
    InstanceCustomIndex { Some(5327), 1 Uint Primitive }
    /// ObjectToWorldKHR: four columns of three components.
    ObjectToWorld { Some(5330), 12 Float Primitive }
    /// WorldToObjectKHR: four columns of three components.
    WorldToObject { Some(5331), 12 Float Primitive }
    /// HitKindKHR.
    HitKind { Some(5333), 1 Uint Hit }
    /// HitTriangleVertexPositionsKHR: three vertices of three components, in object space.
    HitTriangleVertexPositions { Some(5335), 9 Float Hit }
    /// HitIsSphereNV.
    HitIsSphere { Some(5359), 1 Bool Hit }
    /// HitIsLSSNV.
    HitIsLss { Some(5360), 1 Bool Hit }
    /// HitSpherePositionNV: centre of the sphere, in object space.
    HitSpherePosition { Some(5361), 3 Float Hit }
    /// HitSphereRadiusNV.
    HitSphereRadius { Some(5420), 1 Float Hit }
    /// HitLSSPositionsNV: centres of the first and of the last sphere, in object space.
    HitLssPositions { Some(5396), 6 Float Hit }
    /// HitLSSRadiiNV: radii of the first and of the last sphere.
    HitLssRadii { Some(5421), 2 Float Hit }
    /// IncomingRayFlagsKHR.
    IncomingRayFlags { Some(5351), 1 Uint Ray }
    /// RayGeometryIndexKHR.
    RayGeometryIndex { Some(5352), 1 Uint Primitive }
    /// CullMaskKHR.
    CullMask { Some(6021), 1 Uint Ray }
    /// CurrentRayTimeNV: the time of the ray, as its instruction has it.
    CurrentRayTime { Some(5334), 1 Float Ray }
    /// Words of the variable of class HitAttributeKHR.
    HitAttribute { None, 8 Uint Hit }
    /// Device address of the data in the shader binding table's record (class
    /// ShaderRecordBufferKHR), the low word first.
    ShaderRecord { None, 2 Uint All }
    /// Device address of the data of the first record in the table of miss shaders, and number of
    /// bytes from record to record; of each the low word first.
    MissRecords { None, 4 Uint All }
    /// Address and stride in the table of hit groups, as [`RayValue::MissRecords`] has them.
    HitRecords { None, 4 Uint All }
}

impl RayValue {
    /// Returns the value that is this built-in of SPIR-V.
    pub fn of_builtin(number: u32) -> Option<RayValue> {
        Self::ALL.iter().copied().find(|value| value.builtin() == Some(number))
    }
}

/// A word of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, FromText)]
pub struct RayWord {
    /// The value.
    pub value: RayValue,
    /// Number of the word in the value.
    pub word: u8,
}

macro_rules! operands {
    ($($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            #[repr(u32)]
            pub enum $name {
                $($(#[$word_doc])* $word,)*
            }

            impl $name {
                /// Number of the operands.
                pub const COUNT: u32 = [$($name::$word),*].len() as u32;
            }
        )*
    };
}

operands! {
    /// Operands of [`SuspendReason::TraceRay`], which the words of the payload follow.
    ///
    /// [`SuspendReason::TraceRay`]: super::SuspendReason::TraceRay
    TraceRayOperand {
        /// Low word of the structure's address.
        StructureLow
        /// High word of the structure's address.
        StructureHigh
        /// `RayFlags`.
        Flags
        /// Mask of instances, of which the low 8 bits count.
        CullMask
        /// Offset of the hit group's record, of which the low 4 bits count.
        SbtOffset
        /// Stride of the geometries' records, of which the low 4 bits count.
        SbtStride
        /// Index of the miss shader's record, of which the low 16 bits count.
        MissIndex
        /// Origin, x.
        OriginX
        /// Origin, y.
        OriginY
        /// Origin, z.
        OriginZ
        /// Start of the ray's interval.
        TMin
        /// Direction, x.
        DirectionX
        /// Direction, y.
        DirectionY
        /// Direction, z.
        DirectionZ
        /// End of the ray's interval.
        TMax
        /// Time, which is 0 unless an instruction has another one.
        Time
    }
    /// Operands of [`SuspendReason::ExecuteCallable`], which the words of the data follow.
    ///
    /// [`SuspendReason::ExecuteCallable`]: super::SuspendReason::ExecuteCallable
    ExecuteCallableOperand {
        /// Index of the callable shader's record.
        Index
    }
    /// Last operands of [`SuspendReason::ReportIntersection`], which follow the words of the hit
    /// attribute. They become the results: the end of the ray's remaining interval, and 1 if the
    /// intersection was accepted, else 0.
    ///
    /// [`SuspendReason::ReportIntersection`]: super::SuspendReason::ReportIntersection
    ReportIntersectionOperand {
        /// Distance.
        T
        /// Hit kind.
        Kind
    }
    /// Operands of [`SuspendReason::Reorder`].
    ///
    /// [`SuspendReason::Reorder`]: super::SuspendReason::Reorder
    ReorderOperand {
        /// `HitObjectKind`; empty without a hit object.
        Kind
        /// Index of the hit object's record.
        RecordIndex
        /// Hint, of which the lowest bits count.
        Hint
        /// Number of the bits.
        Bits
    }
    /// Operands of [`SuspendReason::ReadInstance`].
    ///
    /// [`SuspendReason::ReadInstance`]: super::SuspendReason::ReadInstance
    ReadInstanceOperand {
        /// Low word of the structure's address.
        StructureLow
        /// High word of the structure's address.
        StructureHigh
        /// Index of the instance.
        Instance
        /// Time, at which transforms of moving instances are read.
        Time
    }
}

/// First word of a value among the results of [`SuspendReason::ReadInstance`].
///
/// [`SuspendReason::ReadInstance`]: super::SuspendReason::ReadInstance
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum InstanceWord {
    /// Custom index.
    CustomIndex = 0,
    /// Shader binding table record offset.
    SbtOffset = 1,
    /// Transform of the instance, by columns.
    ObjectToWorld = 2,
    /// Transform to the instance, by columns.
    WorldToObject = 14,
}

impl InstanceWord {
    /// Number of all words.
    pub const COUNT: u32 = 26;
}

/// Returns the 4 columns of 3 components, as shaders read them, of a transform that is given by
/// rows.
pub fn matrix_columns(rows: &[f32; 12]) -> [f32; 12] {
    core::array::from_fn(|i| rows[i % 3 * 4 + i / 3])
}

/// Returns the rows of a transform that is given by its columns ([`matrix_columns`]).
pub fn matrix_rows(columns: &[f32; 12]) -> [f32; 12] {
    core::array::from_fn(|i| columns[i % 4 * 3 + i / 4])
}

/// `HitKindBackFacingTriangleKHR` and `HitKindFrontFacingTriangleKHR`.
pub const TRIANGLE_HIT_KINDS: [u32; 2] = [0xff, 0xfe];
/// `HitKindSpherePrimitiveNV`. No specification has a number; those from 128 on are not reported by
/// intersection shaders.
pub const SPHERE_HIT_KIND: u32 = 0xfd;
/// `HitKindLssPrimitiveNV`, with a number that was chosen as that of [`SPHERE_HIT_KIND`].
pub const LSS_HIT_KIND: u32 = 0xfc;

/// Number of words that describe the built-in primitive of a hit: the three vertices of a triangle,
/// or the centres of up to two spheres and, from [`RADIUS_WORD`] on, their radii.
pub const PRIMITIVE_WORDS: u32 = RayValue::HitTriangleVertexPositions.words();
/// Number of the first radius among the words of a primitive ([`PRIMITIVE_WORDS`]).
pub const RADIUS_WORD: u32 = 6;

impl RayValue {
    /// Returns the number of elements of the array that shaders declare; 1 for any other value.
    pub const fn elements(self) -> u32 {
        match self {
            RayValue::HitTriangleVertexPositions => 3,
            RayValue::HitLssPositions | RayValue::HitLssRadii => 2,
            _ => 1,
        }
    }

    /// Returns the number of the value's first word among the words of a primitive
    /// ([`PRIMITIVE_WORDS`]); `None` if it is no part of them.
    pub const fn word_of_primitive(self) -> Option<u32> {
        match self {
            RayValue::HitTriangleVertexPositions | RayValue::HitSpherePosition | RayValue::HitLssPositions => Some(0),
            RayValue::HitSphereRadius | RayValue::HitLssRadii => Some(RADIUS_WORD),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_rows_again() {
        let rows = core::array::from_fn(|i| i as f32);
        let columns = matrix_columns(&rows);
        assert_eq!(columns, [0.0, 4.0, 8.0, 1.0, 5.0, 9.0, 2.0, 6.0, 10.0, 3.0, 7.0, 11.0]);
        assert_eq!(matrix_rows(&columns), rows);
    }

    #[test]
    fn values_are_found_by_builtin() {
        for &value in RayValue::ALL {
            assert!(value.builtin().is_none_or(|number| RayValue::of_builtin(number) == Some(value)), "{value:?}");
            let end = value.word_of_primitive().map_or(0, |first| first + value.words());
            assert!(end <= PRIMITIVE_WORDS, "{value:?}");
        }
        assert_eq!(TraceRayOperand::COUNT, TraceRayOperand::Time as u32 + 1);
    }
}

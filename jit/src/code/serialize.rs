//! Serialisation of facts: for each type, one list of fields serves for writing and reading.

#![forbid(unsafe_code)]

use crate::spirv::Specialization;
use base::abi::Sampler;
use base::shader::{
    BuiltinSlot, Capture, Captured, Domain, EmbeddedSampler, FragmentInfo, FrameInfo, GeometryInfo, HeapIndex,
    HeapMapping, HeapPlace, InputPrimitive, Interpolation, MappingSource, MeshInfo, MeshPrimitive, OutputPlacement,
    OutputPrimitive, RayValue, RayWord, Records, ShaderInfo, Slot, SlotKind, SlotType, Spacing, StageInterface,
    StageSpecificInfo, SuspendReason, SuspensionPoint, TaskInfo, TessellationControlInfo, TessellationInfo,
    VertexOrder, WorkgroupInfo,
};
use std::sync::Arc;

/// A type that can be written to and read from bytes.
pub trait Serialize: Sized {
    /// Appends the value to `to`.
    fn write(&self, to: &mut Vec<u8>);
    /// Reads a value and advances `from` behind it; returns `None` if the bytes are not a value.
    fn read(from: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($ty:ident)*) => {
        $(impl Serialize for $ty {
            fn write(&self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }
            fn read(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some($ty::from_le_bytes(*bytes))
            }
        })*
    };
}

/// Implements [`Serialize`] for structs: all fields in the order of the list.
macro_rules! fields {
    ($($name:ident { $($field:ident),* $(,)? })*) => {
        $(impl Serialize for $name {
            fn write(&self, to: &mut Vec<u8>) {
                let $name { $($field),* } = self;
                $($field.write(to);)*
            }
            fn read(from: &mut &[u8]) -> Option<Self> {
                $(let $field = Serialize::read(from)?;)*
                Some($name { $($field),* })
            }
        })*
    };
}

/// Implements [`Serialize`] for enumerations: the number of the variant, followed by its contents.
macro_rules! variants {
    ($($name:ident { $($number:literal $variant:ident $(($of:ident))? $({ $($field:ident),* })?)* })*) => {
        $(impl Serialize for $name {
            fn write(&self, to: &mut Vec<u8>) {
                match self {
                    $($name::$variant $(($of))? $({ $($field),* })? => {
                        u8::write(&$number, to);
                        $($of.write(to);)?
                        $($($field.write(to);)*)?
                    })*
                }
            }
            fn read(from: &mut &[u8]) -> Option<Self> {
                Some(match u8::read(from)? {
                    $($number => {
                        $(let $of = Serialize::read(from)?;)?
                        $($(let $field = Serialize::read(from)?;)*)?
                        $name::$variant $(($of))? $({ $($field),* })?
                    })*
                    _ => return None,
                })
            }
        })*
    };
}

numbers! { u8 u32 u64 f32 }

fields! {
    ShaderInfo { stage_info, lanes, interface, capture, side_effects, has_loops, draw_parameters, frame }
    FrameInfo { words, inputs, queries, points }
    SuspensionPoint { reason, operands, results, is_last }
    FragmentInfo {
        kills,
        early_fragment_tests,
        writes_depth,
        depth_greater,
        depth_less,
        writes_stencil,
        writes_sample_mask,
        sample_shading,
        reads_input_attachments,
        reads_primitive_id,
        reads_fully_covered,
        reads_centroids,
        reads_sample_mask,
        post_depth_coverage,
        ordered,
        flat,
    }
    GeometryInfo { input, output, max_vertices, invocations }
    TessellationControlInfo { patch, modes }
    TessellationInfo { domain, spacing, order, points, vertices }
    WorkgroupInfo { local_size, shared_bytes, reserved_bytes }
    TaskInfo { group, payload_bytes }
    MeshInfo { group, payload_bytes, output, max_vertices, max_primitives, vertices, primitives }
    Records { first, stride }
    StageInterface { inputs, outputs, placements }
    OutputPlacement { offset, stride }
    Capture { strides, streams, outputs }
    Captured { buffer, offset, slot, words }
    Slot { kind, ty, interpolation }
    RayWord { value, word }
    HeapMapping { set, first_binding, binding_count, resource_mask, source }
    HeapPlace { offset, array_stride, index, index_stride }
    EmbeddedSampler { set, index }
    Specialization { entries, subgroup_size, patch_vertices, view_index_from_device_index }
    Sampler {
        class,
        mag_filter,
        min_filter,
        mipmap_mode,
        address_mode,
        lod_bias,
        min_lod,
        max_lod,
        max_anisotropy,
        compare_enable,
        compare_op,
        border_color,
        border_is_int,
        unnormalized,
        reduction,
        non_seamless,
    }
}

variants! {
    StageSpecificInfo {
        0 Vertex
        1 Fragment(info)
        2 Compute(info)
        3 Geometry(info)
        4 TessellationControl(info)
        5 TessellationEvaluation(info)
        6 Task(info)
        7 Mesh(info)
        8 RayGeneration
        9 AnyHit
        10 ClosestHit
        11 Miss
        12 Intersection
        13 Callable
    }
    SuspendReason {
        0 Barrier
        1 ExecuteCallable
        2 TraceRay
        3 ReportIntersection
        4 TraceHitObject
        5 ExecuteHitObject
        6 Reorder
        7 ReadInstance
    }
    Domain { 0 Triangles 1 Quads 2 Isolines }
    Spacing { 0 Equal 1 FractionalEven 2 FractionalOdd }
    VertexOrder { 0 Clockwise 1 CounterClockwise }
    InputPrimitive { 0 Points 1 Lines 2 LinesAdjacency 3 Triangles 4 TrianglesAdjacency }
    OutputPrimitive { 0 Points 1 LineStrip 2 TriangleStrip }
    MeshPrimitive { 0 Points 1 Lines 2 Triangles }
    SlotKind { 0 User { location, component, index } 1 Builtin(slot) }
    SlotType { 0 Float 1 Sint 2 Uint }
    Interpolation { 0 Smooth 1 Linear 2 Flat }
    MappingSource {
        0 Heap { resource, embedded, sampler, combined }
        1 HeapData { offset, push }
        2 PushData(offset)
        3 PushAddress(offset)
        4 IndirectAddress { push, offset }
        5 RecordData(offset)
        6 RecordAddress(offset)
    }
    HeapIndex { 0 None 1 Push(offset) 2 Indirect { push, offset } 3 IndirectArray { push, offset } 4 Record(offset) }
    BuiltinSlot {
        0 Position(component)
        1 PointSize
        2 ClipDistance(i)
        3 CullDistance(i)
        4 Layer
        5 ViewportIndex
        6 FragDepth
        7 FragStencilRef
        8 SampleMask
        9 PrimitiveId
        10 VertexMark
        11 TessLevelOuter(i)
        12 TessLevelInner(i)
        13 CullPrimitive
        14 PrimitiveIndex(i)
        15 Ray(word)
        16 BaryCoord(component)
        17 BaryCoordNoPersp(component)
        18 ShadingRate
    }
    RayValue {
        0 PrimitiveId
        1 InstanceId
        2 LaunchId
        3 LaunchSize
        4 WorldRayOrigin
        5 WorldRayDirection
        6 ObjectRayOrigin
        7 ObjectRayDirection
        8 RayTmin
        9 RayTmax
        10 InstanceCustomIndex
        11 ObjectToWorld
        12 WorldToObject
        13 HitKind
        14 HitTriangleVertexPositions
        15 IncomingRayFlags
        16 RayGeometryIndex
        17 CullMask
        18 HitAttribute
        19 ShaderRecord
        20 MissRecords
        21 HitRecords
        22 HitIsSphere
        23 HitIsLss
        24 HitSpherePosition
        25 HitSphereRadius
        26 HitLssPositions
        27 HitLssRadii
        28 CurrentRayTime
    }
}

impl Serialize for bool {
    fn write(&self, to: &mut Vec<u8>) {
        u8::from(*self).write(to);
    }
    fn read(from: &mut &[u8]) -> Option<Self> {
        match u8::read(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<const N: usize> Serialize for [u32; N] {
    fn write(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|n| n.write(to));
    }
    fn read(from: &mut &[u8]) -> Option<Self> {
        let mut all = [0; N];
        for n in &mut all {
            *n = u32::read(from)?;
        }
        Some(all)
    }
}

impl<T: Serialize> Serialize for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        (self.len() as u32).write(to);
        self.iter().for_each(|item| item.write(to));
    }
    fn read(from: &mut &[u8]) -> Option<Self> {
        (0..u32::read(from)?).map(|_| T::read(from)).collect()
    }
}

impl<A: Serialize, B: Serialize> Serialize for (A, B) {
    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
        self.1.write(to);
    }
    fn read(from: &mut &[u8]) -> Option<Self> {
        Some((A::read(from)?, B::read(from)?))
    }
}

impl Serialize for String {
    fn write(&self, to: &mut Vec<u8>) {
        write_bytes(self.as_bytes(), to);
    }
    fn read(from: &mut &[u8]) -> Option<Self> {
        str::from_utf8(read_bytes(from)?).ok().map(str::to_owned)
    }
}

impl<T: Serialize> Serialize for Option<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.is_some().write(to);
        if let Some(item) = self {
            item.write(to);
        }
    }
    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(if bool::read(from)? { Some(T::read(from)?) } else { None })
    }
}

impl<T: Serialize> Serialize for Arc<T> {
    fn write(&self, to: &mut Vec<u8>) {
        T::write(self, to);
    }
    fn read(from: &mut &[u8]) -> Option<Self> {
        T::read(from).map(Arc::new)
    }
}

/// Writes the length as a u32, followed by the bytes.
pub fn write_bytes(bytes: &[u8], to: &mut Vec<u8>) {
    (bytes.len() as u32).write(to);
    to.extend(bytes);
}

/// Reads bytes that [`write_bytes`] has written; returns `None` if there are too few.
pub fn read_bytes<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = u32::read(from)? as usize;
    let (bytes, rest) = from.split_at_checked(len)?;
    *from = rest;
    Some(bytes)
}

//! The slots of a stage: its inputs and outputs, 32 bits each.

#![forbid(unsafe_code)]

use super::ray::RayWord;
use crate::text::FromText;

/// Built-in variables that cross a stage boundary through slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, FromText)]
pub enum BuiltinSlot {
    /// Position.xyzw by component.
    Position(u8),
    /// PointSize.
    PointSize,
    /// ClipDistance\[i\].
    ClipDistance(u8),
    /// CullDistance\[i\].
    CullDistance(u8),
    /// Layer (integer bits).
    Layer,
    /// ViewportIndex (integer bits).
    ViewportIndex,
    /// PrimitiveShadingRateKHR (integer bits).
    ShadingRate,
    /// TessLevelOuter\[i\].
    TessLevelOuter(u8),
    /// TessLevelInner\[i\].
    TessLevelInner(u8),
    /// PrimitiveId of a primitive that a stage makes.
    PrimitiveId,
    /// Mark of a vertex that a stage makes: see [`super::VertexMark`]. (This is not a built-in of
    /// SPIR-V.)
    VertexMark,
    /// CullPrimitiveEXT.
    CullPrimitive,
    /// PrimitivePointIndicesEXT, PrimitiveLineIndicesEXT or PrimitiveTriangleIndicesEXT by
    /// component: the vertices of a mesh's primitive.
    PrimitiveIndex(u8),
    /// FragDepth.
    FragDepth,
    /// FragStencilRefEXT.
    FragStencilRef,
    /// SampleMask\[0\] as output.
    SampleMask,
    /// BaryCoordKHR by component: the weight of that vertex of the primitive.
    BaryCoord(u8),
    /// BaryCoordNoPerspKHR by component.
    BaryCoordNoPersp(u8),
    /// Word of a value of ray tracing.
    Ray(RayWord),
}

/// The source or destination of the 32 bits of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, FromText)]
pub enum SlotKind {
    /// A user variable: location, component 0..=3, and for fragment outputs the dual-source index.
    /// A variable of a whole patch or of a mesh's primitive has the index
    /// [`SlotKind::NOT_PER_VERTEX`], and an element of a fragment input that is `PerVertexKHR` has
    /// [`SlotKind::FIRST_VERTEX`] plus the number of its vertex.
    User {
        /// The decoration `Location`.
        location: u32,
        /// The decoration `Component` (0..=3).
        component: u8,
        /// The decoration `Index` (dual-source blending).
        index: u8,
    },
    /// A built-in variable.
    Builtin(BuiltinSlot),
}

impl SlotKind {
    /// The index of variables that are `Patch` or `PerPrimitiveEXT`, and thus not values of a
    /// vertex.
    pub const NOT_PER_VERTEX: u8 = 1;
    /// The index of the value of a primitive's vertex 0, in the order of the specification
    /// ("Barycentric Interpolation"). Those of the vertices 1 and 2 follow.
    pub const FIRST_VERTEX: u8 = 2;
}

/// The location of an output slot in the memory of a patch, or in the record of a mesh's vertex or
/// primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub struct OutputPlacement {
    /// Number of bytes from the patch's first byte, for vertex 0, or from the record's. (A number
    /// of 16 bits takes two bytes in a patch, and a word in a record.)
    pub offset: u32,
    /// Number of bytes from vertex to vertex, or from record to record; 0 for values of a whole
    /// patch.
    pub stride: u32,
}

/// The interpolation of a fragment input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, FromText)]
pub enum Interpolation {
    /// Perspective-correct interpolation (also used for slots that are not fragment inputs).
    Smooth,
    /// Interpolation in screen space (NoPerspective).
    Linear,
    /// No interpolation (Flat): raw bits of the provoking vertex.
    Flat,
}

/// The numeric class of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, FromText)]
pub enum SlotType {
    /// Bits of a 32-bit float.
    Float,
    /// Bits of a signed integer.
    Sint,
    /// Bits of an unsigned integer.
    Uint,
}

/// One 32-bit slot of a stage's inputs or outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub struct Slot {
    /// Source or destination of the slot.
    pub kind: SlotKind,
    /// Numeric class of the slot.
    pub ty: SlotType,
    /// Interpolation, for fragment inputs only.
    pub interpolation: Interpolation,
}

/// The slots of a stage in batch order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageInterface {
    /// Inputs that the stage reads (vertex: attributes; fragment: varyings).
    pub inputs: Vec<Slot>,
    /// Outputs that the stage writes.
    pub outputs: Vec<Slot>,
    /// Locations of the outputs, for a stage whose outputs are the memory of a workgroup.
    pub placements: Vec<OutputPlacement>,
}

impl StageInterface {
    /// Returns the index of an output slot.
    pub fn output(&self, kind: SlotKind) -> Option<usize> {
        self.outputs.iter().position(|s| s.kind == kind)
    }
}

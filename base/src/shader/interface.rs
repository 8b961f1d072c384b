//! The slots of a stage: what it is given and gives, 32 bits each.

#![forbid(unsafe_code)]

/// Built-in variables that cross a stage boundary through slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// TessLevelOuter\[i\].
    TessLevelOuter(u8),
    /// TessLevelInner\[i\].
    TessLevelInner(u8),
    /// PrimitiveId of a primitive that a stage makes.
    PrimitiveId,
    /// What else a stage says of a vertex that it makes: see [`super::VertexMark`]. (No built-in of SPIR-V's.)
    VertexMark,
    /// CullPrimitiveEXT.
    CullPrimitive,
    /// PrimitivePointIndicesEXT, PrimitiveLineIndicesEXT, PrimitiveTriangleIndicesEXT by component: the vertices of a mesh's primitive.
    Corner(u8),
    /// FragDepth.
    FragDepth,
    /// FragStencilRefEXT.
    FragStencilRef,
    /// SampleMask\[0\] output.
    SampleMask,
}

/// Where the 32 bits of a slot come from or go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SlotKind {
    /// A user variable: location, component 0..=3, and for fragment outputs the dual-source index. What a patch or a mesh's primitive has once
    /// has [`SlotKind::ONCE`] there.
    User {
        /// `Location`.
        location: u32,
        /// `Component` (0..=3).
        component: u8,
        /// `Index` (dual-source blending).
        index: u8,
    },
    /// A built-in.
    Builtin(BuiltinSlot),
}

impl SlotKind {
    /// The index of variables that are `Patch` or `PerPrimitiveEXT`: no vertex's.
    pub const ONCE: u8 = 1;
}

/// Where an output slot lies in the memory of a patch, or in the record of a mesh's vertex or primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PatchPlace {
    /// Bytes from the patch's first one, for vertex 0; from the record's. (Of 16 bits the two bytes of such a number in a patch, a word in a record.)
    pub offset: u32,
    /// Bytes from vertex to vertex, or from record to record; 0 for what the patch has once.
    pub stride: u32,
}

/// How a fragment input is interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interpolation {
    /// Perspective-correct (also: not a fragment input).
    Smooth,
    /// NoPerspective.
    Linear,
    /// Flat: raw bits of the provoking vertex.
    Flat,
}

/// Numeric class of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SlotType {
    /// 32-bit float bits.
    Float,
    /// Signed integer bits.
    Sint,
    /// Unsigned integer bits.
    Uint,
}

/// One 32-bit slot of a stage's inputs or outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Source or destination.
    pub kind: SlotKind,
    /// Numeric class.
    pub ty: SlotType,
    /// Fragment inputs only.
    pub interpolation: Interpolation,
}

/// Slots in batch order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageInterface {
    /// Inputs that the stage reads (vertex: attributes; fragment: varyings).
    pub inputs: Vec<Slot>,
    /// Outputs that the stage writes.
    pub outputs: Vec<Slot>,
    /// Of a stage whose outputs are the memory of a workgroup: their places.
    pub places: Vec<PatchPlace>,
}

impl StageInterface {
    /// Index of an output slot.
    pub fn output(&self, kind: SlotKind) -> Option<usize> {
        self.outputs.iter().position(|s| s.kind == kind)
    }
}

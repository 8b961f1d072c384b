//! The connections between the interfaces of stages: sources of inputs, slots of built-in outputs,
//! runs of fragment inputs.
//!
//! They are computed once for a list of stages; a draw never searches an interface.

use super::list::{StageList, Tessellation};
use crate::shading_rate::ShadingRate;
use base::abi::{InputSource, SlotLayout};
use base::shader::{
    BuiltinSlot, Interpolation, OutputPlacement, Records, ShaderInfo, SlotKind, StageInterface, WorkgroupInfo,
};
use smallvec::SmallVec;

/// Slot number that means that an interface has no such slot.
pub const NO_SLOT: u16 = u16::MAX;

/// The values that a run of fragment inputs has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkSource {
    /// Outputs of the vertices: interpolated ones, or flat ones of the provoking vertex.
    Vertices,
    /// Flat outputs of the vertex with this number, in the order of the specification
    /// ("Barycentric Interpolation").
    Vertex(u8),
    /// Words of the primitive's record.
    Primitive,
    /// Barycentric coordinates, whose slots are the numbers of vertices in that order.
    Barycentric,
}

/// The source of a run of fragment inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputLink {
    /// Slot of the first input in its source, with the next slots for the others; or [`NO_SLOT`] if
    /// all read 0.
    pub slot: u16,
    /// Number of inputs.
    pub count: u16,
    /// The interpolation that gives the fragment's value.
    pub interpolation: Interpolation,
    /// The values to which slots refer.
    pub source: LinkSource,
}

impl InputLink {
    /// Returns true if outputs of the vertices are interpolated.
    #[inline(always)]
    pub fn is_interpolated(&self) -> bool {
        self.slot != NO_SLOT && self.interpolation != Interpolation::Flat && self.source == LinkSource::Vertices
    }

    /// Returns true if values depend on the order of the vertices.
    fn depends_on_order(&self) -> bool {
        matches!(self.source, LinkSource::Vertex(_) | LinkSource::Barycentric)
    }
}

/// Connections of a stage that makes primitives of other primitives with the stage before it, and
/// with setup.
#[derive(Clone, Debug)]
pub struct GeometryLink {
    /// Sources by input slot.
    pub sources: Vec<InputSource>,
    /// Layout of the stage's outputs.
    pub outputs: SlotLayout,
    /// Slot of PrimitiveId.
    pub primitive_id: u16,
    /// Slot of the mark, which ends strips and selects streams.
    pub mark: u16,
}

/// Connections of the tessellation stages with the vertex stage, each other, and the tessellator.
#[derive(Clone, Debug)]
pub struct TessellationLink {
    /// Sources by input slot of the control stage.
    pub control_sources: Vec<InputSource>,
    /// Number of bytes from one patch to the next in the control stage's output.
    pub patch_bytes: u32,
    /// Byte offsets in a patch of the outer levels that are written.
    pub outer: [Option<u32>; 4],
    /// Byte offsets in a patch of the inner levels that are written.
    pub inner: [Option<u32>; 2],
    /// Sources by input slot of the evaluation stage.
    pub sources: Vec<InputSource>,
    /// Layout of the outputs of the evaluation stage.
    pub outputs: SlotLayout,
}

/// Connections of a mesh stage with setup; slots are words of records.
#[derive(Clone, Debug)]
pub struct MeshLink {
    /// Word of PrimitiveId.
    pub primitive_id: u16,
    /// Word of Layer.
    pub layer: u16,
    /// Word of ViewportIndex.
    pub viewport: u16,
    /// Word of CullPrimitiveEXT.
    pub cull: u16,
    /// Words of the indices of a primitive's vertices.
    pub corners: [u16; 3],
}

/// The connections between the stages of a draw and setup. They depend only on the stages.
#[derive(Clone, Debug)]
pub struct Linkage {
    /// Layout of the inputs of the vertex stage.
    pub inputs: SlotLayout,
    /// Layout of the outputs of the vertex stage.
    pub outputs: SlotLayout,
    /// Connections of the tessellation stages, if there are any.
    pub tessellation: Option<TessellationLink>,
    /// Connections of the geometry stage, if there is one.
    pub geometry: Option<GeometryLink>,
    /// Connections of the mesh stage, if there is one; no vertex stage precedes it.
    pub mesh: Option<MeshLink>,
    /// Slots of the position, by component.
    pub position: [u16; 4],
    /// Slot of PointSize.
    pub point_size: u16,
    /// Slot of Layer.
    pub layer: u16,
    /// Slot of ViewportIndex.
    pub viewport: u16,
    /// Slots of ClipDistance.
    pub clip: Vec<u16>,
    /// Slots of CullDistance.
    pub cull: Vec<u16>,
    /// Fragment inputs in slot order.
    pub links: Vec<InputLink>,
    /// Number of attribute rows of a primitive.
    pub rows: usize,
    /// The row with PrimitiveShadingRateKHR, behind those of the fragment inputs, if the stage
    /// before the rasterizer writes it.
    pub rate_row: Option<usize>,
    /// True if a triangle that is half of a rectangle has the rows of the rectangle: some rows are
    /// interpolated, and none depends on the order of the vertices.
    pub has_half_rows: bool,
    /// True if the fragment stage reads whether a primitive contains a pixel: the half planes for
    /// that lie behind the rows (`front::conservative`).
    pub has_inner_edges: bool,
    pairs: RectanglePairs,
    has_fragment_side_effects: bool,
}

/// The pairs of consecutive triangles that may be set up as one rectangle. Which pairs these are
/// must not depend on chunks and batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RectanglePairs {
    /// No triangles may be paired: fragments know their triangle's number or have values of it, or
    /// batches of patches end anywhere.
    None,
    /// A triangle with an even number in the draw and the next one.
    Numbered,
    /// The first two triangles of a strip that a geometry stage has made.
    FirstOfStrip,
}

/// Returns the slot of an output of a stage before the rasterizer, or the word in the record for a
/// mesh stage.
fn word(interface: &StageInterface, kind: SlotKind) -> u16 {
    interface.output(kind).map_or(NO_SLOT, |i| word_at(interface, i))
}

/// Returns the slot of an output with this index, or its word in the record, as [`word`] does.
fn word_at(interface: &StageInterface, i: usize) -> u16 {
    interface.placements.get(i).map_or(i, |place| place.offset as usize / 4) as u16
}

fn builtin(interface: &StageInterface, slot: BuiltinSlot) -> u16 {
    word(interface, SlotKind::Builtin(slot))
}

/// Returns true if a mesh stores this output in the records of primitives.
fn is_of_primitive(slot: BuiltinSlot) -> bool {
    matches!(slot, BuiltinSlot::Layer | BuiltinSlot::ViewportIndex | BuiltinSlot::PrimitiveId)
}

impl Linkage {
    /// Returns the triangles that may become one rectangle in a pass with this number of samples,
    /// and at this shading rate. With several samples, a pixel on the diagonal has a fragment of
    /// each triangle, and so have fragments of several pixels. A shader with side effects is
    /// executed for both.
    pub fn pairs(&self, samples: u32, rate: &ShadingRate) -> RectanglePairs {
        let both = (samples > 1 || *rate != ShadingRate::PIXEL) && self.has_fragment_side_effects;
        if both { RectanglePairs::None } else { self.pairs }
    }

    /// Links the interfaces of stages.
    pub(super) fn new(stages: &StageList) -> Linkage {
        let first = &stages.first().info;
        let tessellation = stages.tessellation();
        let before_geometry = tessellation.map_or(first, |stages| &stages.evaluation.info);
        let vertex = &*stages.before_rasterizer().info.interface;
        let mesh = stages.mesh().map(|(stage, _)| MeshLink::new(&stage.info.interface));
        let outputs = vertex.outputs.iter().enumerate();
        // Most of the built-in outputs that are looked up below do not exist.
        let builtins: SmallVec<[(BuiltinSlot, u16); 8]> = outputs
            .filter_map(|(i, slot)| match slot.kind {
                SlotKind::Builtin(builtin) => Some((builtin, word_at(vertex, i))),
                _ => None,
            })
            .collect();
        let builtin = |slot| builtins.iter().find(|(other, _)| *other == slot).map_or(NO_SLOT, |(_, word)| *word);
        // Values that a mesh stores per primitive are not values of a vertex.
        let of_vertex = |slot| if mesh.is_none() || !is_of_primitive(slot) { builtin(slot) } else { NO_SLOT };
        let distances = |make: fn(u8) -> BuiltinSlot| {
            (0..8).map(|i| builtin(make(i))).filter(|&s| s != NO_SLOT).collect::<Vec<_>>()
        };
        let rate_source = if mesh.is_some() { LinkSource::Primitive } else { LinkSource::Vertices };
        let rate = Some(builtin(BuiltinSlot::ShadingRate)).filter(|&slot| slot != NO_SLOT);
        let rate = rate.map(|slot| (slot, Interpolation::Flat, rate_source));
        let links = stages.fragment().map_or_else(Vec::new, |fragment| {
            let inputs = fragment.info.interface.inputs.iter().map(|input| {
                let (slot, source) = source_of(vertex, mesh.is_some(), input.kind);
                (slot, input.interpolation, source)
            });
            runs(inputs.chain(rate))
        });
        let ordered = links.iter().any(InputLink::depends_on_order);
        let fragment = stages.fragment().and_then(|fragment| fragment.info.stage_info.fragment());
        let reads_primitive_id = fragment.is_some_and(|info| info.reads_primitive_id);
        Linkage {
            inputs: SlotLayout::new(first.interface.inputs.len(), first.lanes),
            outputs: SlotLayout::new(first.interface.outputs.len(), first.lanes),
            tessellation: tessellation.map(|stages| TessellationLink::new(first, &stages)),
            geometry: stages.geometry().map(|(stage, _)| GeometryLink::new(before_geometry, &stage.info)),
            position: core::array::from_fn(|i| builtin(BuiltinSlot::Position(i as u8))),
            point_size: builtin(BuiltinSlot::PointSize),
            layer: of_vertex(BuiltinSlot::Layer),
            viewport: of_vertex(BuiltinSlot::ViewportIndex),
            clip: distances(BuiltinSlot::ClipDistance),
            cull: distances(BuiltinSlot::CullDistance),
            rows: links.iter().map(|link| usize::from(link.count)).sum(),
            rate_row: rate.and(stages.fragment()).map(|fragment| fragment.info.interface.inputs.len()),
            has_inner_edges: fragment.is_some_and(|info| info.reads_fully_covered),
            has_half_rows: !ordered && links.iter().any(InputLink::is_interpolated),
            links,
            pairs: match stages.geometry() {
                _ if reads_primitive_id || ordered || mesh.is_some() => RectanglePairs::None,
                Some(_) => RectanglePairs::FirstOfStrip,
                None if tessellation.is_some() => RectanglePairs::None,
                None => RectanglePairs::Numbered,
            },
            has_fragment_side_effects: stages.fragment().is_some_and(|fragment| fragment.info.side_effects),
            mesh,
        }
    }
}

/// Returns the slot and the source of a fragment input behind a stage before the rasterizer.
fn source_of(before: &StageInterface, is_mesh: bool, kind: SlotKind) -> (u16, LinkSource) {
    match kind {
        SlotKind::User { index: SlotKind::NOT_PER_VERTEX, .. } if is_mesh => {
            (word(before, kind), LinkSource::Primitive)
        }
        SlotKind::User { location, component, index } if index >= SlotKind::FIRST_VERTEX => {
            let output = SlotKind::User { location, component, index: 0 };
            (word(before, output), LinkSource::Vertex(index - SlotKind::FIRST_VERTEX))
        }
        SlotKind::Builtin(BuiltinSlot::BaryCoord(vertex) | BuiltinSlot::BaryCoordNoPersp(vertex)) => {
            (vertex.into(), LinkSource::Barycentric)
        }
        _ => (word(before, kind), LinkSource::Vertices),
    }
}

/// Returns the sources of a stage's inputs among vertices in the layout `[chunk][slot][lane]`.
fn vertex_sources(before: &ShaderInfo, stage: &ShaderInfo) -> Vec<InputSource> {
    let layout = SlotLayout::new(before.interface.outputs.len(), before.lanes);
    let source = |kind: SlotKind| match before.interface.output(kind) {
        Some(slot) => InputSource { offset: layout.slot_bytes(slot) as u32, mask: u32::MAX, stride: 0 },
        None => InputSource::default(),
    };
    stage.interface.inputs.iter().map(|slot| source(slot.kind)).collect()
}

impl TessellationLink {
    fn new(before: &ShaderInfo, stages: &Tessellation<'_>) -> TessellationLink {
        let (control, evaluation) = (&stages.control.info, &stages.evaluation.info);
        let place = |kind: SlotKind| {
            control.interface.output(kind).and_then(|slot| control.interface.placements.get(slot)).copied()
        };
        let level = |slot: BuiltinSlot| place(SlotKind::Builtin(slot)).map(|place| place.offset);
        let source = |kind: SlotKind| match place(kind) {
            Some(OutputPlacement { offset, stride }) => InputSource { offset, mask: u32::MAX, stride },
            None => InputSource::default(),
        };
        TessellationLink {
            control_sources: vertex_sources(before, control),
            patch_bytes: control.stage_info.workgroup().map_or(16, WorkgroupInfo::workgroup_stride),
            outer: core::array::from_fn(|i| level(BuiltinSlot::TessLevelOuter(i as u8))),
            inner: core::array::from_fn(|i| level(BuiltinSlot::TessLevelInner(i as u8))),
            sources: evaluation.interface.inputs.iter().map(|slot| source(slot.kind)).collect(),
            outputs: SlotLayout::new(evaluation.interface.outputs.len(), evaluation.lanes),
        }
    }
}

impl MeshLink {
    fn new(interface: &StageInterface) -> MeshLink {
        MeshLink {
            primitive_id: builtin(interface, BuiltinSlot::PrimitiveId),
            layer: builtin(interface, BuiltinSlot::Layer),
            viewport: builtin(interface, BuiltinSlot::ViewportIndex),
            cull: builtin(interface, BuiltinSlot::CullPrimitive),
            corners: core::array::from_fn(|i| builtin(interface, BuiltinSlot::PrimitiveIndex(i as u8))),
        }
    }

    /// Returns the layout of records, which are stored one after the other.
    pub fn layout(records: Records) -> SlotLayout {
        SlotLayout::new(records.stride as usize / 4, 1)
    }
}

impl GeometryLink {
    /// Makes the connections of a stage after another one.
    fn new(before: &ShaderInfo, stage: &ShaderInfo) -> GeometryLink {
        GeometryLink {
            sources: vertex_sources(before, stage),
            outputs: SlotLayout::new(stage.interface.outputs.len(), stage.lanes),
            primitive_id: builtin(&stage.interface, BuiltinSlot::PrimitiveId),
            mark: builtin(&stage.interface, BuiltinSlot::VertexMark),
        }
    }
}

impl InputLink {
    /// Returns true if an input from a slot extends the run.
    fn goes_on_with(&self, slot: u16, interpolation: Interpolation, source: LinkSource) -> bool {
        let next = if slot == NO_SLOT { Some(self.slot) } else { self.slot.checked_add(self.count) };
        (self.interpolation, self.source) == (interpolation, source) && next == Some(slot)
    }
}

/// Merges inputs that come from consecutive slots in the same way into links.
fn runs(inputs: impl Iterator<Item = (u16, Interpolation, LinkSource)>) -> Vec<InputLink> {
    let mut links: Vec<InputLink> = Vec::new();
    for (slot, interpolation, source) in inputs {
        match links.last_mut().filter(|last| last.goes_on_with(slot, interpolation, source)) {
            Some(last) => last.count += 1,
            None => links.push(InputLink { slot, count: 1, interpolation, source }),
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_of_consecutive_slots_and_one_interpolation() {
        use Interpolation::{Flat, Smooth};
        use LinkSource::{Primitive, Vertex, Vertices};
        let inputs =
            [(4, Smooth), (5, Smooth), (7, Smooth), (8, Flat), (NO_SLOT, Flat), (NO_SLOT, Flat), (0, Flat), (1, Flat)];
        let of_vertices = |(slot, interpolation)| (slot, interpolation, Vertices);
        let link = |slot, count, interpolation| InputLink { slot, count, interpolation, source: Vertices };
        let want = [link(4, 2, Smooth), link(7, 1, Smooth), link(8, 1, Flat), link(NO_SLOT, 2, Flat), link(0, 2, Flat)];
        assert_eq!(runs(inputs.into_iter().map(of_vertices)), want);
        let apart = [(4, Flat, Vertices), (5, Flat, Primitive), (6, Flat, Vertex(0)), (7, Flat, Vertex(1))];
        assert_eq!(runs(apart.into_iter()).len(), apart.len(), "each has another source");
        let none = [(NO_SLOT - 1, Flat), (NO_SLOT, Flat)];
        assert_eq!(runs(none.into_iter().map(of_vertices)).len(), 2, "no slot is behind no slot");
    }
}

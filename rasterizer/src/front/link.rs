//! The front end's view of a (stages, state) pair: vertex fetch plan, built-in slots, fragment
//! input links.
//!
//! It is computed once per pair and shared by its draws; a draw never searches an interface.

#![forbid(unsafe_code)]

use crate::api::{DrawState, GraphicsStages, VertexAttribute};
use crate::stages::NO_SLOT;
use crate::stages::Tessellation;
use base::abi::{InputSource, SlotLayout};
use base::format::{Channel, ChannelName, ChannelType, Format};
use base::shader::{
    BuiltinSlot, Interpolation, PatchPlace, Records, SlotKind, StageFacts, StageInterface, WorkgroupFacts,
};

/// The conversion of an element to 32-bit components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchKind {
    /// `n` 32-bit channels in R, G, B, A order, which are copied.
    Raw32(u8),
    /// Four 8-bit unsigned normalised channels in R, G, B, A order.
    Unorm8x4,
    /// Any other format.
    Generic,
}

/// One vertex attribute that the vertex stage reads.
#[derive(Clone, Copy, Debug)]
pub struct AttributeFetch {
    /// Binding number.
    pub binding: u32,
    /// Number of bytes between elements.
    pub stride: u32,
    /// Instance divisor; `None` means that the attribute is per vertex.
    pub divisor: Option<u32>,
    /// Byte offset in the element.
    pub offset: u32,
    /// Format of the attribute in memory.
    pub format: Format,
    /// Number of bytes of an element.
    pub bytes: u32,
    /// Conversion to the stage's components.
    pub kind: FetchKind,
    /// Input slot by component, or [`NO_SLOT`].
    pub slots: [u16; 4],
}

/// The source of a run of fragment inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Vertex output slot of the first input, with the next slots for the others; or [`NO_SLOT`] if
    /// all read 0.
    pub slot: u16,
    /// Number of inputs.
    pub count: u16,
    /// The interpolation that gives the fragment's value.
    pub interpolation: Interpolation,
    /// True if the slots are in the primitive's record and not in a vertex.
    pub of_primitive: bool,
}

impl Link {
    /// Returns true if the source exists and is not flat.
    #[inline(always)]
    pub fn is_interpolated(&self) -> bool {
        self.slot != NO_SLOT && self.interpolation != Interpolation::Flat
    }
}

/// Connections of a stage that makes primitives of other primitives with the stage before it, and
/// with setup.
#[derive(Debug)]
pub struct Made {
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
#[derive(Debug)]
pub struct Tessellated {
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
#[derive(Debug)]
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

/// The connections between the stages of a draw and setup.
#[derive(Debug)]
pub struct Linkage {
    /// Attributes to fetch.
    pub fetch: Vec<AttributeFetch>,
    /// Vertex input slots that no attribute feeds, and that are zeroed.
    pub unfed: Vec<u16>,
    /// Layout of the inputs of the vertex stage.
    pub inputs: SlotLayout,
    /// Layout of the outputs of the vertex stage.
    pub outputs: SlotLayout,
    /// Connections of the tessellation stages, if there are any.
    pub tessellated: Option<Tessellated>,
    /// Connections of the geometry stage, if there is one.
    pub made: Option<Made>,
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
    pub links: Vec<Link>,
    /// Number of attribute rows of a primitive.
    pub rows: usize,
    /// True if some of the rows are interpolated.
    pub interpolates: bool,
    /// The triangles that may become one rectangle.
    pub pairs: Pairs,
}

/// The pairs of consecutive triangles that may be set up as one rectangle. Which pairs these are
/// must not depend on chunks and batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// No triangles may be paired: fragments know their triangle's number or have values of it, or
    /// batches of patches end anywhere.
    None,
    /// A triangle with an even number in the draw and the next one.
    Numbered,
    /// The first two triangles of a strip that a geometry stage has made.
    OfStrips,
}

/// Returns the slot of an output of a stage before the rasterizer, or the word in the record for a
/// mesh stage.
fn word(interface: &StageInterface, kind: SlotKind) -> u16 {
    let at = |i: usize| interface.places.get(i).map_or(i, |place| place.offset as usize / 4);
    interface.output(kind).map_or(NO_SLOT, |i| at(i) as u16)
}

fn builtin(interface: &StageInterface, slot: BuiltinSlot) -> u16 {
    word(interface, SlotKind::Builtin(slot))
}

/// Returns true if a mesh stores this output in the records of primitives.
fn is_of_primitive(slot: BuiltinSlot) -> bool {
    matches!(slot, BuiltinSlot::Layer | BuiltinSlot::ViewportIndex | BuiltinSlot::PrimitiveId)
}

impl Linkage {
    /// Links the stages under a state.
    pub fn new(stages: &GraphicsStages, state: &DrawState) -> Linkage {
        let first = &stages.first().facts;
        let tessellation = stages.tessellation();
        let before_geometry = tessellation.map_or(first, |stages| &stages.evaluation.facts);
        let (fetch, unfed) = fetch_plan(&first.interface, state);
        let vertex = &*stages.before_rasterizer().facts.interface;
        let mesh = stages.mesh().map(|(stage, _)| MeshLink::new(&stage.facts.interface));
        // Values that a mesh stores per primitive are not values of a vertex.
        let of_vertex = |slot| if mesh.is_none() || !is_of_primitive(slot) { builtin(vertex, slot) } else { NO_SLOT };
        let distances = |make: fn(u8) -> BuiltinSlot| {
            (0..8).map(|i| builtin(vertex, make(i))).filter(|&s| s != NO_SLOT).collect::<Vec<_>>()
        };
        let links = stages.fragment().map_or_else(Vec::new, |fragment| {
            let once = |kind| mesh.is_some() && matches!(kind, SlotKind::User { index: SlotKind::ONCE, .. });
            let inputs = fragment.facts.interface.inputs.iter();
            runs(inputs.map(|s| (word(vertex, s.kind), s.interpolation, once(s.kind))))
        });
        let fragment = stages.fragment().and_then(|fragment| fragment.facts.payload.fragment());
        let reads_primitive_id = fragment.is_some_and(|facts| facts.reads_primitive_id);
        Linkage {
            fetch,
            unfed,
            inputs: SlotLayout::new(first.interface.inputs.len(), first.lanes),
            outputs: SlotLayout::new(first.interface.outputs.len(), first.lanes),
            tessellated: tessellation.map(|stages| Tessellated::new(first, &stages)),
            made: stages.geometry().map(|(stage, _)| Made::new(before_geometry, &stage.facts)),
            position: core::array::from_fn(|i| builtin(vertex, BuiltinSlot::Position(i as u8))),
            point_size: builtin(vertex, BuiltinSlot::PointSize),
            layer: of_vertex(BuiltinSlot::Layer),
            viewport: of_vertex(BuiltinSlot::ViewportIndex),
            clip: distances(BuiltinSlot::ClipDistance),
            cull: distances(BuiltinSlot::CullDistance),
            rows: links.iter().map(|link| usize::from(link.count)).sum(),
            interpolates: links.iter().any(Link::is_interpolated),
            links,
            pairs: match stages.geometry() {
                _ if reads_primitive_id || mesh.is_some() => Pairs::None,
                Some(_) => Pairs::OfStrips,
                None if tessellation.is_some() => Pairs::None,
                None => Pairs::Numbered,
            },
            mesh,
        }
    }
}

/// Returns the sources of a stage's inputs among vertices in the layout `[chunk][slot][lane]`.
fn vertex_sources(before: &StageFacts, stage: &StageFacts) -> Vec<InputSource> {
    let layout = SlotLayout::new(before.interface.outputs.len(), before.lanes);
    let source = |kind: SlotKind| match before.interface.output(kind) {
        Some(slot) => InputSource { offset: layout.slot_bytes(slot) as u32, mask: u32::MAX, stride: 0 },
        None => InputSource::default(),
    };
    stage.interface.inputs.iter().map(|slot| source(slot.kind)).collect()
}

impl Tessellated {
    fn new(before: &StageFacts, stages: &Tessellation<'_>) -> Tessellated {
        let (control, evaluation) = (&stages.control.facts, &stages.evaluation.facts);
        let place = |kind: SlotKind| {
            control.interface.output(kind).and_then(|slot| control.interface.places.get(slot)).copied()
        };
        let level = |slot: BuiltinSlot| place(SlotKind::Builtin(slot)).map(|place| place.offset);
        let source = |kind: SlotKind| match place(kind) {
            Some(PatchPlace { offset, stride }) => InputSource { offset, mask: u32::MAX, stride },
            None => InputSource::default(),
        };
        Tessellated {
            control_sources: vertex_sources(before, control),
            patch_bytes: control.payload.workgroup().map_or(16, WorkgroupFacts::group_bytes),
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
            corners: core::array::from_fn(|i| builtin(interface, BuiltinSlot::Corner(i as u8))),
        }
    }

    /// Returns the layout of records, which are stored one after the other.
    pub fn layout(records: Records) -> SlotLayout {
        SlotLayout::new(records.stride as usize / 4, 1)
    }
}

impl Made {
    /// Makes the connections of a stage after another one.
    fn new(before: &StageFacts, stage: &StageFacts) -> Made {
        Made {
            sources: vertex_sources(before, stage),
            outputs: SlotLayout::new(stage.interface.outputs.len(), stage.lanes),
            primitive_id: builtin(&stage.interface, BuiltinSlot::PrimitiveId),
            mark: builtin(&stage.interface, BuiltinSlot::VertexMark),
        }
    }
}

impl Link {
    /// Returns true if an input from a slot extends the run.
    fn goes_on_with(&self, slot: u16, interpolation: Interpolation, of_primitive: bool) -> bool {
        let next = if slot == NO_SLOT { Some(self.slot) } else { self.slot.checked_add(self.count) };
        (self.interpolation, self.of_primitive) == (interpolation, of_primitive) && next == Some(slot)
    }
}

/// Merges inputs that come from consecutive slots in the same way into links.
fn runs(inputs: impl Iterator<Item = (u16, Interpolation, bool)>) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    for (slot, interpolation, of_primitive) in inputs {
        match links.last_mut().filter(|last| last.goes_on_with(slot, interpolation, of_primitive)) {
            Some(last) => last.count += 1,
            None => links.push(Link { slot, count: 1, interpolation, of_primitive }),
        }
    }
    links
}

fn fetch_plan(vertex: &StageInterface, state: &DrawState) -> (Vec<AttributeFetch>, Vec<u16>) {
    let mut fetch: Vec<AttributeFetch> = Vec::new();
    let mut unfed = Vec::new();
    for (i, slot) in vertex.inputs.iter().enumerate() {
        let SlotKind::User { location, component, .. } = slot.kind else {
            unfed.push(i as u16);
            continue;
        };
        let attribute = state.attributes.iter().find_map(|a| element_at(a, location).map(|element| (a, element)));
        let binding = attribute
            .and_then(|(a, element)| state.bindings.iter().find(|b| b.binding == a.binding).map(|b| (a, element, b)));
        let Some((a, Element { offset, bytes, kind }, b)) = binding else {
            unfed.push(i as u16);
            continue;
        };
        let found = fetch.iter().position(|f| f.binding == a.binding && f.offset == offset && f.format == a.format);
        let index = found.unwrap_or_else(|| {
            fetch.push(AttributeFetch {
                binding: a.binding,
                stride: b.stride,
                divisor: b.per_instance.then_some(b.divisor),
                offset,
                format: a.format,
                bytes,
                kind,
                slots: [NO_SLOT; 4],
            });
            fetch.len() - 1
        });
        let place = &mut fetch[index].slots[usize::from(component.min(3))];
        if *place == NO_SLOT {
            *place = i as u16;
        } else {
            // Two locations read the same element, so it is fetched once more.
            let mut again = fetch[index];
            again.slots = [NO_SLOT; 4];
            again.slots[usize::from(component.min(3))] = i as u16;
            fetch.push(again);
        }
    }
    (fetch, unfed)
}

/// The part of memory that is fetched for a location.
#[derive(Debug, PartialEq, Eq)]
struct Element {
    offset: u32,
    bytes: u32,
    kind: FetchKind,
}

/// Returns the element with which an attribute feeds a location. A 64-bit attribute is fetched as
/// words, two per component; after its fourth word it continues in the next location.
fn element_at(a: &VertexAttribute, location: u32) -> Option<Element> {
    let info = a.format.info();
    if info.channels[0].bits != 64 {
        let bytes = u32::from(info.block_bytes);
        return (a.location == location).then(|| Element { offset: a.offset, bytes, kind: fetch_kind(a.format) });
    }
    let first = location.checked_sub(a.location)?.checked_mul(4)?;
    let words = (2 * u32::from(info.channel_count)).checked_sub(first).filter(|&words| words != 0)?.min(4);
    let offset = a.offset.saturating_add(4 * first);
    Some(Element { offset, bytes: 4 * words, kind: FetchKind::Raw32(words as u8) })
}

fn fetch_kind(format: Format) -> FetchKind {
    let info = format.info();
    let channels = &info.channels[..usize::from(info.channel_count)];
    const ORDER: [ChannelName; 4] = [ChannelName::R, ChannelName::G, ChannelName::B, ChannelName::A];
    let in_order = |bits: u8, test: fn(&Channel) -> bool| {
        let place = |(i, c): (usize, &Channel)| {
            c.name == ORDER[i] && c.bits == bits && usize::from(c.shift) == i * usize::from(bits) && test(c)
        };
        !channels.is_empty() && channels.iter().enumerate().all(place)
    };
    if in_order(32, |c| matches!(c.ty, ChannelType::Sfloat | ChannelType::Uint | ChannelType::Sint)) {
        FetchKind::Raw32(info.channel_count)
    } else if channels.len() == 4 && in_order(8, |c| c.ty == ChannelType::Unorm) {
        FetchKind::Unorm8x4
    } else {
        FetchKind::Generic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_64_bits_are_words_of_one_or_two_locations() {
        let attribute = |number: u32| {
            let format = Format::from_vk(number).expect("a format");
            VertexAttribute { location: 3, binding: 0, format, offset: 8 }
        };
        let raw = |offset, words| Some(Element { offset, bytes: 4 * u32::from(words), kind: FetchKind::Raw32(words) });
        // The formats are R64_SFLOAT, R64G64_UINT, R64G64B64_SINT, R64G64B64A64_SFLOAT and
        // R32G32_SFLOAT.
        let wide = [(112, 2, 0), (113, 4, 0), (117, 4, 2), (121, 4, 4)];
        for (format, low, high) in wide {
            let a = attribute(format);
            assert_eq!(element_at(&a, 3), raw(8, low), "{format}");
            assert_eq!(element_at(&a, 4), raw(24, high).filter(|_| high != 0), "{format}");
            assert!(element_at(&a, 2).is_none() && element_at(&a, 5).is_none() && element_at(&a, u32::MAX).is_none());
        }
        let narrow = attribute(103);
        assert_eq!((element_at(&narrow, 3), element_at(&narrow, 4)), (raw(8, 2), None));
    }

    #[test]
    fn runs_are_of_consecutive_slots_and_one_interpolation() {
        use Interpolation::{Flat, Smooth};
        let inputs =
            [(4, Smooth), (5, Smooth), (7, Smooth), (8, Flat), (NO_SLOT, Flat), (NO_SLOT, Flat), (0, Flat), (1, Flat)];
        let of_vertices = |(slot, interpolation)| (slot, interpolation, false);
        let link = |slot, count, interpolation| Link { slot, count, interpolation, of_primitive: false };
        let want = [link(4, 2, Smooth), link(7, 1, Smooth), link(8, 1, Flat), link(NO_SLOT, 2, Flat), link(0, 2, Flat)];
        assert_eq!(runs(inputs.into_iter().map(of_vertices)), want);
        assert_eq!(
            runs([(4, Flat, false), (5, Flat, true)].into_iter()).len(),
            2,
            "one of a vertex, one of a primitive"
        );
        let none = [(NO_SLOT - 1, Flat), (NO_SLOT, Flat)];
        assert_eq!(runs(none.into_iter().map(of_vertices)).len(), 2, "no slot is behind no slot");
    }
}

//! What a (stages, state) pair means to the front end: vertex fetch plan, built-in slots, fragment input links.
//!
//! Computed once per pair and shared by its draws; a draw never searches an interface.

#![forbid(unsafe_code)]

use crate::api::{DrawState, GraphicsStages, VertexAttribute};
use crate::stage::NO_SLOT;
use crate::stages::Tessellation;
use base::abi::{InputSource, SlotLayout};
use base::format::{Channel, ChannelName, ChannelType, Format};
use base::shader::{
    BuiltinSlot, Interpolation, PatchPlace, Records, SlotKind, StageFacts, StageInterface, WorkgroupFacts,
};

/// How an element becomes 32-bit components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchKind {
    /// `n` 32-bit channels in R, G, B, A order: copied.
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
    /// Bytes between elements.
    pub stride: u32,
    /// `None`: per vertex; otherwise the instance divisor.
    pub divisor: Option<u32>,
    /// Byte offset in the element.
    pub offset: u32,
    /// Format of the attribute in memory.
    pub format: Format,
    /// Bytes of an element.
    pub bytes: u32,
    /// What the stage wants of it.
    pub kind: FetchKind,
    /// Input slot by component, or [`NO_SLOT`].
    pub slots: [u16; 4],
}

/// Source of a run of fragment inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Vertex output slot of the first one, the next slots are of the others; or [`NO_SLOT`]: all read 0.
    pub slot: u16,
    /// How many.
    pub count: u16,
    /// How it becomes the fragment's value.
    pub interpolation: Interpolation,
    /// The slots are of the primitive's record, not of a vertex.
    pub of_primitive: bool,
}

impl Link {
    /// Not flat, and there.
    #[inline(always)]
    pub fn is_interpolated(&self) -> bool {
        self.slot != NO_SLOT && self.interpolation != Interpolation::Flat
    }
}

/// What connects a stage that makes primitives of others with the one before it, and with setup.
#[derive(Debug)]
pub struct Made {
    /// By input slot.
    pub sources: Vec<InputSource>,
    /// Its outputs.
    pub outputs: SlotLayout,
    /// Slot of PrimitiveId.
    pub primitive_id: u16,
    /// Slot of what else is said of a vertex.
    pub mark: u16,
}

/// What connects the tessellation stages with the vertex stage, each other, and the tessellator.
#[derive(Debug)]
pub struct Tessellated {
    /// By input slot of the control stage.
    pub control_sources: Vec<InputSource>,
    /// Bytes from a patch to the next in what it makes.
    pub patch_bytes: u32,
    /// Byte offsets in a patch of the outer levels, where they are written.
    pub outer: [Option<u32>; 4],
    /// Of the inner levels.
    pub inner: [Option<u32>; 2],
    /// By input slot of the evaluation stage.
    pub sources: Vec<InputSource>,
    /// Outputs of the evaluation stage.
    pub outputs: SlotLayout,
}

/// What connects a mesh stage with setup: slots are words of records.
#[derive(Debug)]
pub struct MeshLink {
    /// PrimitiveId.
    pub primitive_id: u16,
    /// Layer.
    pub layer: u16,
    /// ViewportIndex.
    pub viewport: u16,
    /// CullPrimitiveEXT.
    pub cull: u16,
    /// Vertices of a primitive.
    pub corners: [u16; 3],
}

/// See the module.
#[derive(Debug)]
pub struct Linkage {
    /// Attributes to fetch.
    pub fetch: Vec<AttributeFetch>,
    /// Vertex input slots that no attribute feeds (zeroed).
    pub unfed: Vec<u16>,
    /// Inputs of the vertex stage.
    pub inputs: SlotLayout,
    /// Outputs of the vertex stage.
    pub outputs: SlotLayout,
    /// Of tessellation stages.
    pub tessellated: Option<Tessellated>,
    /// Of a geometry stage.
    pub made: Option<Made>,
    /// Of a mesh stage, which has no other before it.
    pub mesh: Option<MeshLink>,
    /// Position by component.
    pub position: [u16; 4],
    /// PointSize.
    pub point_size: u16,
    /// Slot of Layer.
    pub layer: u16,
    /// ViewportIndex.
    pub viewport: u16,
    /// ClipDistance slots.
    pub clip: Vec<u16>,
    /// CullDistance slots.
    pub cull: Vec<u16>,
    /// Fragment inputs in slot order.
    pub links: Vec<Link>,
    /// Attribute rows of a primitive.
    pub rows: usize,
    /// Some of them are interpolated.
    pub interpolates: bool,
    /// Which triangles may become one rectangle.
    pub pairs: Pairs,
}

/// Which two triangles that come one after the other may be set up as one rectangle: what they are must not depend on chunks and batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// None: fragments know their triangle's number, or have values of it, or batches of patches are cut anywhere.
    None,
    /// One of an even number, as the draw has them, and the next one.
    Numbered,
    /// The first two of a strip that a geometry stage has made.
    OfStrips,
}

/// An output of a stage before the rasterizer: its slot, of a mesh stage its word in the record.
fn word(interface: &StageInterface, kind: SlotKind) -> u16 {
    let at = |i: usize| interface.places.get(i).map_or(i, |place| place.offset as usize / 4);
    interface.output(kind).map_or(NO_SLOT, |i| at(i) as u16)
}

fn builtin(interface: &StageInterface, slot: BuiltinSlot) -> u16 {
    word(interface, SlotKind::Builtin(slot))
}

/// A mesh has it in the records of primitives.
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
        // What a mesh's primitives have is no vertex'.
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

/// Where a stage finds its inputs among vertices of `[chunk][slot][lane]`.
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

    /// How records lie: one behind the other.
    pub fn layout(records: Records) -> SlotLayout {
        SlotLayout::new(records.stride as usize / 4, 1)
    }
}

impl Made {
    /// Of a stage behind another one.
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
    /// Is an input from a slot one more of the run?
    fn goes_on_with(&self, slot: u16, interpolation: Interpolation, of_primitive: bool) -> bool {
        let next = if slot == NO_SLOT { Some(self.slot) } else { self.slot.checked_add(self.count) };
        (self.interpolation, self.of_primitive) == (interpolation, of_primitive) && next == Some(slot)
    }
}

/// Inputs that come from consecutive slots in the same way, as one link.
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
            // Two locations read the same element: fetch it once more.
            let mut again = fetch[index];
            again.slots = [NO_SLOT; 4];
            again.slots[usize::from(component.min(3))] = i as u16;
            fetch.push(again);
        }
    }
    (fetch, unfed)
}

/// What is fetched for a location.
#[derive(Debug, PartialEq, Eq)]
struct Element {
    offset: u32,
    bytes: u32,
    kind: FetchKind,
}

/// What an attribute feeds a location with. One of 64 bits is fetched as words, two a component; behind its fourth word it goes on in the
/// next location.
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
        // R64_SFLOAT, R64G64_UINT, R64G64B64_SINT, R64G64B64A64_SFLOAT; R32G32_SFLOAT.
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

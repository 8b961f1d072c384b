//! The connection of vertex attributes with the inputs of the vertex stage.
//!
//! It depends on the vertex stage and the vertex input state, is computed once per pair, and is
//! shared by its draws.

#![forbid(unsafe_code)]

use crate::api::{DrawState, VertexAttribute};
use crate::stages::NO_SLOT;
use base::format::{Channel, ChannelName, ChannelType, Format};
use base::shader::{SlotKind, StageInterface};

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

/// The attributes that a vertex stage reads.
#[derive(Debug)]
pub struct FetchPlan {
    /// Attributes to fetch.
    pub fetch: Vec<AttributeFetch>,
    /// Vertex input slots that no attribute feeds, and that are zeroed.
    pub unfed: Vec<u16>,
}

impl FetchPlan {
    /// Plans the fetch of a vertex stage's inputs under a vertex input state.
    pub fn new(vertex: &StageInterface, state: &DrawState) -> FetchPlan {
        let mut fetch: Vec<AttributeFetch> = Vec::new();
        let mut unfed = Vec::new();
        for (i, slot) in vertex.inputs.iter().enumerate() {
            let SlotKind::User { location, component, .. } = slot.kind else {
                unfed.push(i as u16);
                continue;
            };
            let attribute = state.attributes.iter().find_map(|a| element_at(a, location).map(|element| (a, element)));
            let binding = attribute.and_then(|(a, element)| {
                state.bindings.iter().find(|b| b.binding == a.binding).map(|b| (a, element, b))
            });
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
        FetchPlan { fetch, unfed }
    }
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
}

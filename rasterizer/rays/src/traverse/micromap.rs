//! Micromaps of triangles that a ray hits.

#![forbid(unsafe_code)]

use super::hit::{instance_flags, ray_flags};
use super::state::{Scene, Traversal};
use super::triangle::TriangleHits;
use crate::layout::{GEOMETRY_INDEX, OPAQUE, triangle_row};
use crate::micromap::{MicromapView, Opacity};
use crate::view::TriangleLeaf;

/// Lanes of a leaf that are hit, and those that are opaque.
#[derive(Clone, Copy)]
pub struct Lanes {
    /// Lanes that are hit and not culled by their opacity.
    pub hit: u32,
    /// Lanes that are opaque.
    pub opaque: u32,
}

/// Decides with their micromaps about lanes of a leaf that are hit.
#[inline(never)]
pub fn decide(state: &Traversal, scene: &Scene, leaf: TriangleLeaf, hits: &TriangleHits) -> Lanes {
    let geometries = leaf.words(triangle_row::GEOMETRY);
    let words = leaf.words(triangle_row::MICROMAP);
    let two_states = state.flags & ray_flags::FORCE_OPACITY_MICROMAP_2_STATE != 0
        || state.instance_sbt_and_flags >> 24 & instance_flags::FORCE_OPACITY_MICROMAP_2_STATE != 0;
    let (mut lanes, mut last) = (Lanes { hit: 0, opaque: 0 }, None);
    for lane in (0..4).filter(|lane| hits.lanes >> lane & 1 != 0) {
        let geometry = geometries[lane];
        let opacity = opacity(state, scene, &mut last, geometry, words[lane], [hits.u[lane], hits.v[lane]]);
        let opacity = if two_states { opacity.map(Opacity::with_two_states) } else { opacity };
        let by_geometry = match opacity {
            None => geometry & OPAQUE != 0,
            Some(Opacity::Transparent) => continue,
            Some(Opacity::Opaque) => true,
            Some(Opacity::UnknownTransparent | Opacity::UnknownOpaque) => false,
        };
        let opaque = by_geometry && state.rules.by_geometry != 0 || state.rules.opaque != 0;
        let culling = if opaque { ray_flags::CULL_OPAQUE } else { ray_flags::CULL_NO_OPAQUE };
        lanes.hit |= u32::from(state.flags & culling == 0) << lane;
        lanes.opaque |= u32::from(opaque) << lane;
    }
    lanes
}

/// The micromap of the lane before: its address, and its view if there is one.
type Last = Option<(u64, Option<MicromapView>)>;

/// Returns the opacity that a micromap word gives a point; `None` if the geometry decides. Lanes of
/// a leaf almost always have one micromap, which is looked up once.
fn opacity(
    state: &Traversal,
    scene: &Scene,
    last: &mut Last,
    geometry: u32,
    word: u32,
    barycentrics: [f32; 2],
) -> Option<Opacity> {
    let triangle = word.checked_sub(1)?;
    if let Some(opacity) = Opacity::of_special_index(word) {
        return Some(opacity);
    }
    let address = state.walk.view().micromap(geometry & GEOMETRY_INDEX);
    let view = match *last {
        Some((known, view)) if known == address => view,
        _ => {
            let micromap = if address == 0 { None } else { scene.structures.find(address) };
            let view = micromap.and_then(|micromap| MicromapView::open(micromap.memory));
            *last = Some((address, view));
            view
        }
    };
    view?.opacity_at(triangle, barycentrics)
}

//! The choice of the views that generated code reads and writes itself, and their rows
//! ([`TexelRows`]).

#![forbid(unsafe_code)]

use base::abi::{Dim, ImageView, TexelKind, TexelRows};
use base::format::Format;

/// Texel kinds of the formats (of planes).
const KINDS: &[(TexelKind, &[&str])] = &[
    (TexelKind::Unorm8, &["R8G8B8A8_UNORM", "A8B8G8R8_UNORM_PACK32"]),
    (TexelKind::Float, &["R32_SFLOAT", "D32_SFLOAT"]),
    (TexelKind::Word, &["R32_UINT", "R32_SINT"]),
    (TexelKind::Words, &["R32G32B32A32_SFLOAT", "R32G32B32A32_UINT", "R32G32B32A32_SINT"]),
];

/// Returns the rows of a view that is otherwise complete. There are none if the view has a
/// component mapping, several samples or no level 0, or if level 0 is not in one piece.
pub fn rows_of(view: &ImageView) -> TexelRows {
    find(view).unwrap_or(TexelRows::NONE)
}

fn find(view: &ImageView) -> Option<TexelRows> {
    let name = Format(view.format as u16).info().name;
    let (kind, _) = KINDS.iter().find(|(_, names)| names.contains(&name))?;
    let level = &view.level[0];
    let plain = view.swizzle == [0, 1, 2, 3] && view.min_lod as u32 == 0 && level.cell == 0 && view.levels > 0;
    if !plain || view.samples > 1 || (view.samples == 0 && view.dim != Dim::Buffer) {
        return None;
    }
    let row_pitch = u32::try_from(level.row_pitch).ok()?;
    let (height, slices, row_pitch, slice_pitch) = match (view.dim, view.arrayed != 0) {
        (Dim::Buffer, _) | (Dim::D1, false) => (1, 1, 0, 0),
        (Dim::D1, true) => (view.layers, 1, u32::try_from(view.layer_stride).ok()?, 0),
        (Dim::D2, false) => (level.height, 1, row_pitch, 0),
        (Dim::D2, true) | (Dim::Cube, _) => (level.height, view.layers, row_pitch, view.layer_stride),
        (Dim::D3, _) => (level.height, level.depth, row_pitch, level.slice_pitch),
    };
    if u64::from(row_pitch) * u64::from(height) > u64::from(u32::MAX) {
        return None;
    }
    let eights = level.width.saturating_sub(7);
    let base = view.base.wrapping_add(level.offset as usize);
    Some(TexelRows { base, slice_pitch, row_pitch, kind: *kind, width: level.width, height, slices, eights })
}

//! Tests that the draws whose fragments are shaded in the order of primitives are those that read
//! an attachment that they write, and no others.

use super::*;
use crate::tile::{FragmentOrder, RenderPass, TilePlan, TileState};

#[test]
fn only_draws_that_read_what_they_write_are_ordered() {
    let (color, depth) = (Image::new(R32F, 16, 16, 1, 1), Image::new(D32F, 16, 16, 1, 1));
    let of = |[color, depth_stencil]: [bool; 2]| AttachmentLoops { color, depth_stencil };
    let all = [[false, false], [false, true], [true, false], [true, true]];
    for (inputs, loops) in all.into_iter().flat_map(|inputs| all.map(|loops| (inputs, loops))) {
        for (writes, reads_inputs) in all.into_iter().flat_map(|writes| [false, true].map(|reads| (writes, reads))) {
            let info = FragmentInfo { reads_input_attachments: reads_inputs, ..FragmentInfo::default() };
            let stages = stages(vertex_stage(), Some(fragment_stage(fs_color, &[], info)));
            let pass = RenderPass::new(&RenderTargets { inputs: of(inputs), ..targets(&color, Some(&depth)) });
            let mut state = DrawState { loops: of(loops), ..state(Topology::TriangleList, 16, 16) };
            state.pixel.blend[0].write_mask = if writes[0] { 15 } else { 0 };
            (state.pixel.depth_test, state.pixel.depth_write) = (true, writes[1]);
            let is_ordered = |state: &DrawState| {
                let state = TileState::new(state, Topology::TriangleList, &pass);
                TilePlan::new(&stages, &state, &pass).order == FragmentOrder::Primitives
            };
            let reads = |i: usize| loops[i] || reads_inputs && inputs[i];
            let want = (0..2).any(|i| reads(i) && writes[i]);
            assert_eq!(is_ordered(&state), want, "{inputs:?} {loops:?} {writes:?} {reads_inputs}");
            // The flags of VK_EXT_rasterization_order_attachment_access order all draws that may
            // read an attachment.
            state.ordered = true;
            assert_eq!(is_ordered(&state), reads_inputs || loops != [false; 2]);
        }
    }
}

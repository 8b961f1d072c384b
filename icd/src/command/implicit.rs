//! The implicit images that rendering needs, as far as they are known while it is recorded.

#![forbid(unsafe_code)]

use super::{BeginRenderPass, BeginRendering};
use crate::object::image::ImageView;
use crate::object::implicit::{ImplicitDesc, check_memory};
use ash::vk;
use std::sync::Arc;

/// Returns the number of layers of the framebuffer; with multiview, up to the last view's.
pub fn layers_of(layers: u32, view_mask: u32) -> u32 {
    if view_mask != 0 { 32 - view_mask.leading_zeros() } else { layers }
}

/// Returns the implicit images of the attachments with one sample, each view once.
fn implicit_descs<'a>(
    views: impl Iterator<Item = &'a Arc<ImageView>>,
    samples: u32,
    area: &vk::Rect2D,
    layers: u32,
) -> impl Iterator<Item = ImplicitDesc<'a>> {
    let mut known: Vec<*const ImageView> = Vec::new();
    let axis = |at: i32, size: u32, most: u32| (i64::from(at) + i64::from(size)).clamp(0, most.into()) as u32;
    let end = move |view: &ImageView| {
        let [width, height, _] = view.extent();
        [axis(area.offset.x, area.extent.width, width), axis(area.offset.y, area.extent.height, height)]
    };
    let end = views.filter(move |view| view.samples() < samples).map(move |view| (view, end(view)));
    end.filter_map(move |(view, end)| {
        let new = !known.contains(&Arc::as_ptr(view));
        known.push(Arc::as_ptr(view));
        new.then_some(ImplicitDesc { view, samples, end, layers })
    })
}

impl BeginRendering {
    /// Returns VK_ERROR_OUT_OF_DEVICE_MEMORY if there is no memory for the samples of its
    /// attachments.
    pub fn check_memory(&self) -> Result<(), vk::Result> {
        let Some(samples) = self.multisampled else { return Ok(()) };
        let attachments = self.colors.iter().flatten().chain(&self.depth).chain(&self.stencil);
        let layers = layers_of(self.layer_count, self.view_mask);
        check_memory(implicit_descs(attachments.map(|a| &a.view), samples, &self.area, layers))
    }
}

impl BeginRenderPass {
    /// Returns VK_ERROR_OUT_OF_DEVICE_MEMORY if there is no memory for the samples of a subpass's
    /// attachments.
    pub fn check_memory(&self) -> Result<(), vk::Result> {
        self.render_pass.subpasses.iter().try_for_each(|subpass| {
            let Some(samples) = subpass.multisampled else { return Ok(()) };
            let views = subpass.targets().filter_map(|a| self.views.get(a as usize));
            check_memory(implicit_descs(
                views,
                samples,
                &self.area,
                layers_of(self.framebuffer.layers, subpass.view_mask),
            ))
        })
    }
}

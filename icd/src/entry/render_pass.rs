//! Render passes (both versions of the create info) and framebuffers.

use super::memory_of;
use crate::fallible;
use crate::ffi::handle::{self, share};
use crate::ffi::pointer::{find, slice};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, V1_0, V1_2, V1_4, ext, row};
use crate::object::image::ImageView;
use crate::object::render_pass::{AttachmentInfo, Framebuffer, RenderPass, Subpass};
use ash::vk;
use std::sync::Arc;

type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, create_render_pass as vk::PFN_vkCreateRenderPass, vkCreateRenderPass: V1_0),
    row!(
        Device,
        create_render_pass2 as vk::PFN_vkCreateRenderPass2,
        vkCreateRenderPass2: V1_2,
        vkCreateRenderPass2KHR: ext("VK_KHR_create_renderpass2")
    ),
    row!(Device, destroy_render_pass as vk::PFN_vkDestroyRenderPass, vkDestroyRenderPass: V1_0),
    row!(Device, create_framebuffer as vk::PFN_vkCreateFramebuffer, vkCreateFramebuffer: V1_0),
    row!(Device, destroy_framebuffer as vk::PFN_vkDestroyFramebuffer, vkDestroyFramebuffer: V1_0),
    row!(Device, get_render_area_granularity as vk::PFN_vkGetRenderAreaGranularity, vkGetRenderAreaGranularity: V1_0),
    row!(
        Device,
        get_rendering_area_granularity as vk::PFN_vkGetRenderingAreaGranularityKHR,
        vkGetRenderingAreaGranularity: V1_4, vkGetRenderingAreaGranularityKHR: ext("VK_KHR_maintenance5")
    ),
];

fn used(attachment: u32) -> Option<u32> {
    (attachment != vk::ATTACHMENT_UNUSED).then_some(attachment)
}

/// Decodes a subpass.
///
/// # Safety
/// `d` is valid.
unsafe fn subpass(d: &vk::SubpassDescription<'_>) -> Subpass {
    // SAFETY: `d` is valid, as the `# Safety` section demands; there are as many resolve
    // attachments as colour attachments.
    unsafe {
        let list = |p: *const vk::AttachmentReference, n: u32| {
            slice(p, n).iter().map(|r| used(r.attachment)).collect::<Vec<_>>()
        };
        Subpass {
            inputs: list(d.p_input_attachments, d.input_attachment_count).into_iter().flatten().collect(),
            colors: list(d.p_color_attachments, d.color_attachment_count),
            resolves: list(d.p_resolve_attachments, d.color_attachment_count),
            depth_stencil: d.p_depth_stencil_attachment.as_ref().and_then(|r| used(r.attachment)),
            ..Subpass::default()
        }
    }
}

/// Decodes a subpass of the newer version.
///
/// # Safety
/// `d` is valid with its chain.
unsafe fn subpass2(d: &vk::SubpassDescription2<'_>) -> Subpass {
    // SAFETY: `d` is valid with its chain, as the `# Safety` section demands.
    unsafe {
        let list = |p: *const vk::AttachmentReference2<'_>, n: u32| {
            slice(p, n).iter().map(|r| used(r.attachment)).collect::<Vec<_>>()
        };
        let multisampled = find::<vk::MultisampledRenderToSingleSampledInfoEXT<'_>>(d.p_next);
        let depth_stencil = find::<vk::SubpassDescriptionDepthStencilResolve<'_>>(d.p_next);
        let rate = find::<vk::FragmentShadingRateAttachmentInfoKHR<'_>>(d.p_next);
        let resolve = depth_stencil.and_then(|r| used(r.p_depth_stencil_resolve_attachment.as_ref()?.attachment));
        Subpass {
            inputs: list(d.p_input_attachments, d.input_attachment_count).into_iter().flatten().collect(),
            colors: list(d.p_color_attachments, d.color_attachment_count),
            resolves: list(d.p_resolve_attachments, d.color_attachment_count),
            depth_stencil: d.p_depth_stencil_attachment.as_ref().and_then(|r| used(r.attachment)),
            depth_stencil_resolve: resolve,
            shading_rate: rate.and_then(|r| used(r.p_fragment_shading_rate_attachment.as_ref()?.attachment)),
            multisampled: multisampled.and_then(samples),
            resolve_modes: depth_stencil.map(|r| (r.depth_resolve_mode, r.stencil_resolve_mode)).unwrap_or_default(),
            view_mask: d.view_mask,
        }
    }
}

/// Returns the number of samples with which attachments of one sample are rendered, if that is
/// enabled.
pub fn samples(info: &vk::MultisampledRenderToSingleSampledInfoEXT<'_>) -> Option<u32> {
    (info.multisampled_render_to_single_sampled_enable != 0).then_some(info.rasterization_samples.as_raw())
}

fn attachment(
    [load_op, stencil_load_op]: [vk::AttachmentLoadOp; 2],
    [store_op, stencil_store_op]: [vk::AttachmentStoreOp; 2],
) -> AttachmentInfo {
    AttachmentInfo { load_op, stencil_load_op, store_op, stencil_store_op, first_use: None, last_use: 0 }
}

shims! {
    fn create_render_pass(
        device: vk::Device,
        info: *const vk::RenderPassCreateInfo<'_>,
        allocator: Allocator<'_>,
        render_pass: *mut vk::RenderPass,
    ) -> VkResult {
        let info = &*info;
        fallible::available(info.attachment_count as usize * size_of::<AttachmentInfo>())?;
        let attachments = slice(info.p_attachments, info.attachment_count);
        let ops = |a: &vk::AttachmentDescription| {
            attachment([a.load_op, a.stencil_load_op], [a.store_op, a.stencil_store_op])
        };
        let attachments = attachments.iter().map(ops).collect();
        let mut subpasses: Vec<Subpass> = slice(info.p_subpasses, info.subpass_count).iter().map(|d| subpass(d)).collect();
        if let Some(multiview) = find::<vk::RenderPassMultiviewCreateInfo<'_>>(info.p_next) {
            let masks = slice(multiview.p_view_masks, multiview.subpass_count);
            subpasses.iter_mut().zip(masks).for_each(|(s, mask)| s.view_mask = *mask);
        }
        *render_pass = handle::create(Arc::new(RenderPass::new(attachments, subpasses)), memory_of(device, allocator))?;
        Ok(())
    }

    fn create_render_pass2(
        device: vk::Device,
        info: *const vk::RenderPassCreateInfo2<'_>,
        allocator: Allocator<'_>,
        render_pass: *mut vk::RenderPass,
    ) -> VkResult {
        let info = &*info;
        fallible::available(info.attachment_count as usize * size_of::<AttachmentInfo>())?;
        let attachments = slice(info.p_attachments, info.attachment_count);
        let ops = |a: &vk::AttachmentDescription2<'_>| {
            attachment([a.load_op, a.stencil_load_op], [a.store_op, a.stencil_store_op])
        };
        let attachments = attachments.iter().map(ops).collect();
        let subpasses = slice(info.p_subpasses, info.subpass_count).iter().map(|d| subpass2(d)).collect();
        *render_pass = handle::create(Arc::new(RenderPass::new(attachments, subpasses)), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_render_pass(device: vk::Device, render_pass: vk::RenderPass, allocator: Allocator<'_>) {
        handle::destroy::<RenderPass>(render_pass, memory_of(device, allocator));
    }

    fn create_framebuffer(
        device: vk::Device,
        info: *const vk::FramebufferCreateInfo<'_>,
        allocator: Allocator<'_>,
        framebuffer: *mut vk::Framebuffer,
    ) -> VkResult {
        let info = &*info;
        let imageless = info.flags.contains(vk::FramebufferCreateFlags::IMAGELESS);
        let views = if imageless { &[][..] } else { slice(info.p_attachments, info.attachment_count) };
        let views = fallible::collect(views.iter().map(|v| share::<ImageView>(*v)))?;
        let object = Framebuffer { views, layers: info.layers.max(1) };
        *framebuffer = handle::create(Arc::new(object), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_framebuffer(device: vk::Device, framebuffer: vk::Framebuffer, allocator: Allocator<'_>) {
        handle::destroy::<Framebuffer>(framebuffer, memory_of(device, allocator));
    }

    fn get_render_area_granularity(_device: vk::Device, _render_pass: vk::RenderPass, granularity: *mut vk::Extent2D) {
        *granularity = vk::Extent2D { width: 1, height: 1 };
    }

    fn get_rendering_area_granularity(
        _device: vk::Device,
        _info: *const vk::RenderingAreaInfoKHR<'_>,
        granularity: *mut vk::Extent2D,
    ) {
        *granularity = vk::Extent2D { width: 1, height: 1 };
    }
}

//! Render passes (both versions of the create info are converted to one form) and framebuffers.

use super::image::ImageView;
use ash::vk;
use rasterizer::api::AttachmentLoops;
use std::sync::Arc;

/// An attachment of a render pass.
#[derive(Clone, Copy)]
pub struct AttachmentInfo {
    /// Load operation of colour or depth.
    pub load_op: vk::AttachmentLoadOp,
    /// Load operation of stencil.
    pub stencil_load_op: vk::AttachmentLoadOp,
    /// Store operation of colour or depth.
    pub store_op: vk::AttachmentStoreOp,
    /// Store operation of stencil.
    pub stencil_store_op: vk::AttachmentStoreOp,
    /// First subpass that uses the attachment.
    pub first_use: Option<usize>,
    /// Last subpass that uses the attachment.
    pub last_use: usize,
}

/// A subpass. Attachment references are indices into the render pass's attachments.
#[derive(Clone, Default)]
pub struct Subpass {
    /// Input attachments. Descriptors determine which of them is read.
    pub inputs: Vec<u32>,
    /// Colour attachments by number.
    pub colors: Vec<Option<u32>>,
    /// Resolve targets by colour attachment number.
    pub resolves: Vec<Option<u32>>,
    /// Depth/stencil attachment.
    pub depth_stencil: Option<u32>,
    /// Target of a depth/stencil resolve.
    pub depth_stencil_resolve: Option<u32>,
    /// Shading rate attachment.
    pub shading_rate: Option<u32>,
    /// Resolve modes of depth and stencil, also if samples are resolved to the depth/stencil
    /// attachment itself.
    pub resolve_modes: (vk::ResolveModeFlags, vk::ResolveModeFlags),
    /// The number rasterizationSamples of `VkMultisampledRenderToSingleSampledInfoEXT`, if it is
    /// enabled.
    pub multisampled: Option<u32>,
    /// Mask of the views to which its draws are broadcast; 0 without multiview.
    pub view_mask: u32,
}

impl Subpass {
    /// Returns the attachments that are rendered to.
    pub fn targets(&self) -> impl Iterator<Item = u32> {
        self.colors.iter().chain([&self.depth_stencil]).flatten().copied()
    }

    /// Returns which of the rendered attachments are input attachments too.
    pub fn own_inputs(&self) -> AttachmentLoops {
        let is_input = |attachment: &Option<u32>| attachment.is_some_and(|a| self.inputs.contains(&a));
        AttachmentLoops { color: self.colors.iter().any(is_input), depth_stencil: is_input(&self.depth_stencil) }
    }

    /// Returns every attachment to which the subpass refers.
    fn attachments(&self) -> impl Iterator<Item = u32> {
        let options = self.colors.iter().chain(&self.resolves).chain([&self.depth_stencil]).flatten().copied();
        options.chain(self.depth_stencil_resolve).chain(self.shading_rate).chain(self.inputs.iter().copied())
    }
    fn uses(&self, attachment: u32) -> bool {
        self.attachments().any(|a| a == attachment)
    }
}

/// Object behind a `VkRenderPass`.
pub struct RenderPass {
    /// Attachments in the order of VkRenderPassCreateInfo, to which subpasses refer.
    pub attachments: Vec<AttachmentInfo>,
    /// Subpasses in order of execution.
    pub subpasses: Vec<Subpass>,
}

impl RenderPass {
    /// Joins attachments and subpasses: finds first uses, and drops references outside the list.
    pub fn new(mut attachments: Vec<AttachmentInfo>, mut subpasses: Vec<Subpass>) -> RenderPass {
        let count = attachments.len() as u32;
        for (number, subpass) in subpasses.iter_mut().enumerate() {
            subpass.inputs.retain(|&a| a < count);
            let lists = subpass.colors.iter_mut().chain(&mut subpass.resolves).chain([&mut subpass.depth_stencil]);
            lists.for_each(|a| *a = a.filter(|&a| a < count));
            for a in [&mut subpass.depth_stencil_resolve, &mut subpass.shading_rate] {
                *a = a.filter(|&a| a < count);
            }
            for a in subpass.attachments() {
                attachments[a as usize].first_use.get_or_insert(number);
                attachments[a as usize].last_use = number;
            }
        }
        RenderPass { attachments, subpasses }
    }

    /// Returns true if a subpass has the attachment as its shading rate attachment, so that a texel
    /// is for several pixels.
    pub fn is_shading_rate(&self, attachment: u32) -> bool {
        self.subpasses.iter().any(|subpass| subpass.shading_rate == Some(attachment))
    }

    /// Returns the views for which subpass `number` is the first to use an attachment, with
    /// multiview.
    pub fn first_use_views(&self, attachment: u32, number: usize) -> u32 {
        let before = self.subpasses[..number].iter().filter(|s| s.uses(attachment));
        !before.fold(0, |seen, s| seen | s.view_mask)
    }
}

/// Object behind a `VkFramebuffer`.
pub struct Framebuffer {
    /// Attachments; empty for imageless framebuffers.
    pub views: Vec<Arc<ImageView>>,
    /// Number of layers of the framebuffer.
    pub layers: u32,
}

//! The structures of a `VkGraphicsPipelineCreateInfo`, as far as they are there and not ignored.

use ash::vk;
use base::pixel::SampleLocations;
use rasterizer::api::{AttachmentLoops, DepthBias};

/// See the module. What chains to a structure stands beside it.
#[derive(Clone, Copy, Default)]
#[allow(missing_docs, reason = "the specification's names")]
pub struct CreateInfo<'a> {
    /// Nothing is rasterized, whatever a command buffer says: structures of fragments may be ignored ones, and are not here.
    pub discards: bool,
    pub vertex_input: Option<VertexInput<'a>>,
    pub input_assembly: Option<&'a vk::PipelineInputAssemblyStateCreateInfo<'a>>,
    pub tessellation: Option<&'a vk::PipelineTessellationStateCreateInfo<'a>>,
    /// Of `VkPipelineTessellationDomainOriginStateCreateInfo`.
    pub lower_left: Option<bool>,
    pub viewport: Option<ViewportState<'a>>,
    pub rasterization: Option<&'a vk::PipelineRasterizationStateCreateInfo<'a>>,
    /// With its representation.
    pub depth_bias: Option<DepthBias>,
    /// depthClipEnable, where its structure is there.
    pub depth_clip: Option<bool>,
    /// Of `VkPipelineViewportDepthClipControlCreateInfoEXT`.
    pub negative_one_to_one: Option<bool>,
    /// Of `VkPipelineRasterizationProvokingVertexStateCreateInfoEXT`.
    pub provoking_last: Option<bool>,
    /// Of `VkPipelineRasterizationStateStreamCreateInfoEXT`.
    pub rasterization_stream: Option<u32>,
    pub line: Option<&'a vk::PipelineRasterizationLineStateCreateInfoKHR<'a>>,
    pub multisample: Option<&'a vk::PipelineMultisampleStateCreateInfo<'a>>,
    /// The first word.
    pub sample_mask: Option<u32>,
    /// sampleLocationsEnable of `VkPipelineSampleLocationsStateCreateInfoEXT`, and the locations where they are not ignored.
    pub sample_locations: Option<(bool, SampleLocations)>,
    pub depth_stencil: Option<&'a vk::PipelineDepthStencilStateCreateInfo<'a>>,
    pub color_blend: Option<&'a vk::PipelineColorBlendStateCreateInfo<'a>>,
    pub attachments: Option<BlendAttachments<'a>>,
    /// `VkPipelineRenderingCreateInfo`, with dynamic rendering.
    pub rendering: Option<RenderingFormats<'a>>,
    /// Of `VkRenderingAttachmentLocationInfo`, with dynamic rendering.
    pub locations: Option<&'a [u32]>,
    /// Of the pipeline's flags, where there is one.
    pub loops: Option<AttachmentLoops>,
    /// Of `VkPipelineColorWriteCreateInfoEXT`.
    pub write_enables: Option<&'a [vk::Bool32]>,
}

/// pAttachments of `VkPipelineColorBlendStateCreateInfo`.
#[derive(Clone, Copy)]
pub struct BlendAttachments<'a> {
    /// They.
    pub list: &'a [vk::PipelineColorBlendAttachmentState],
    /// What their advanced blend operations share.
    pub advanced: Option<&'a vk::PipelineColorBlendAdvancedStateCreateInfoEXT<'a>>,
}

/// `VkPipelineVertexInputStateCreateInfo`.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the specification's names")]
pub struct VertexInput<'a> {
    pub bindings: &'a [vk::VertexInputBindingDescription],
    pub attributes: &'a [vk::VertexInputAttributeDescription],
    pub divisors: &'a [vk::VertexInputBindingDivisorDescriptionKHR],
}

/// `VkPipelineRenderingCreateInfo`; without it there are no attachments.
#[derive(Clone, Copy, Default)]
#[allow(missing_docs, reason = "the specification's names")]
pub struct RenderingFormats<'a> {
    pub colors: &'a [vk::Format],
    pub depth: vk::Format,
    pub stencil: vk::Format,
}

/// `VkPipelineViewportStateCreateInfo`; what is dynamic is empty.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the specification's names")]
pub struct ViewportState<'a> {
    pub viewports: &'a [vk::Viewport],
    pub scissors: &'a [vk::Rect2D],
}

//! The structures of a `VkGraphicsPipelineCreateInfo` that are present and not ignored.

use ash::vk;
use base::pixel::SampleLocations;
use rasterizer::api::{AttachmentLoops, DepthBias};

/// Structures of a create info. Members of chained structures stand beside the structure that they
/// extend.
#[derive(Clone, Copy, Default)]
#[allow(missing_docs, reason = "the specification's names")]
pub struct CreateInfo<'a> {
    pub vertex_input: Option<VertexInput<'a>>,
    pub input_assembly: Option<&'a vk::PipelineInputAssemblyStateCreateInfo<'a>>,
    pub tessellation: Option<&'a vk::PipelineTessellationStateCreateInfo<'a>>,
    /// Domain origin of `VkPipelineTessellationDomainOriginStateCreateInfo`.
    pub lower_left: Option<bool>,
    pub viewport: Option<ViewportState<'a>>,
    pub rasterization: Option<&'a vk::PipelineRasterizationStateCreateInfo<'a>>,
    /// Depth bias with its representation.
    pub depth_bias: Option<DepthBias>,
    /// Value of depthClipEnable, if its structure is present.
    pub depth_clip: Option<bool>,
    /// Value of negativeOneToOne in `VkPipelineViewportDepthClipControlCreateInfoEXT`.
    pub negative_one_to_one: Option<bool>,
    /// True if `VkPipelineRasterizationProvokingVertexStateCreateInfoEXT` selects the last vertex.
    pub provoking_last: Option<bool>,
    pub conservative: Option<&'a vk::PipelineRasterizationConservativeStateCreateInfoEXT<'a>>,
    pub shading_rate: Option<&'a vk::PipelineFragmentShadingRateStateCreateInfoKHR<'a>>,
    /// Stream of `VkPipelineRasterizationStateStreamCreateInfoEXT`.
    pub rasterization_stream: Option<u32>,
    pub line: Option<&'a vk::PipelineRasterizationLineStateCreateInfoKHR<'a>>,
    pub multisample: Option<&'a vk::PipelineMultisampleStateCreateInfo<'a>>,
    /// First word of the sample mask.
    pub sample_mask: Option<u32>,
    /// Value of sampleLocationsEnable in `VkPipelineSampleLocationsStateCreateInfoEXT`, and the
    /// locations unless they are ignored.
    pub sample_locations: Option<(bool, SampleLocations)>,
    pub depth_stencil: Option<&'a vk::PipelineDepthStencilStateCreateInfo<'a>>,
    pub color_blend: Option<&'a vk::PipelineColorBlendStateCreateInfo<'a>>,
    pub attachments: Option<BlendAttachments<'a>>,
    /// Formats of `VkPipelineRenderingCreateInfo`, with dynamic rendering.
    pub rendering: Option<RenderingFormats<'a>>,
    /// Locations of `VkRenderingAttachmentLocationInfo`, with dynamic rendering.
    pub locations: Option<&'a [u32]>,
    /// Feedback loops of the pipeline's flags, if there are any.
    pub loops: Option<AttachmentLoops>,
    /// Write enables of `VkPipelineColorWriteCreateInfoEXT`.
    pub write_enables: Option<&'a [vk::Bool32]>,
}

/// Attachments of `VkPipelineColorBlendStateCreateInfo`.
#[derive(Clone, Copy)]
pub struct BlendAttachments<'a> {
    /// Blend states of the attachments.
    pub list: &'a [vk::PipelineColorBlendAttachmentState],
    /// Parameters that their advanced blend operations share.
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

/// Contents of `VkPipelineRenderingCreateInfo`; without it there are no attachments.
#[derive(Clone, Copy, Default)]
#[allow(missing_docs, reason = "the specification's names")]
pub struct RenderingFormats<'a> {
    pub colors: &'a [vk::Format],
    pub depth: vk::Format,
    pub stencil: vk::Format,
}

/// Contents of `VkPipelineViewportStateCreateInfo`; dynamic lists are empty.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the specification's names")]
pub struct ViewportState<'a> {
    pub viewports: &'a [vk::Viewport],
    pub scissors: &'a [vk::Rect2D],
}

//! Graphics pipeline libraries: the four parts of a pipeline, and their link.

use super::draw::Pass;
use super::error::Result;
use super::gpu::Gpu;
use super::graphics::{Constants, PipelineDesc, Target, blend_state, stage_info, whole};
use ash::vk;

/// Stage of a part, its SPIR-V and its specialization constants.
type PartStage<'a> = (vk::ShaderStageFlags, &'a [u32], &'a [(u32, u32)]);

/// A part of a pipeline of a vertex and a fragment stage that reads no vertex buffer.
#[derive(Clone, Copy)]
pub enum LibraryPart<'a> {
    /// The vertex input interface with a topology.
    VertexInput(vk::PrimitiveTopology),
    /// The pre-rasterization stages: SPIR-V of a vertex stage, and its specialization constants.
    PreRasterization(&'a [u32], &'a [(u32, u32)]),
    /// The fragment stage: SPIR-V, and its specialization constants.
    Fragment(&'a [u32], &'a [(u32, u32)]),
    /// The fragment output interface: source and destination factor of blending, or no blending.
    FragmentOutput(Option<(vk::BlendFactor, vk::BlendFactor)>),
}

impl LibraryPart<'_> {
    fn subset(self) -> vk::GraphicsPipelineLibraryFlagsEXT {
        match self {
            Self::VertexInput(_) => vk::GraphicsPipelineLibraryFlagsEXT::VERTEX_INPUT_INTERFACE,
            Self::PreRasterization(..) => vk::GraphicsPipelineLibraryFlagsEXT::PRE_RASTERIZATION_SHADERS,
            Self::Fragment(..) => vk::GraphicsPipelineLibraryFlagsEXT::FRAGMENT_SHADER,
            Self::FragmentOutput(_) => vk::GraphicsPipelineLibraryFlagsEXT::FRAGMENT_OUTPUT_INTERFACE,
        }
    }

    /// Returns the stage of the part with its SPIR-V and constants.
    fn stage(&self) -> Option<PartStage<'_>> {
        match self {
            Self::PreRasterization(code, constants) => Some((vk::ShaderStageFlags::VERTEX, code, constants)),
            Self::Fragment(code, constants) => Some((vk::ShaderStageFlags::FRAGMENT, code, constants)),
            Self::VertexInput(_) | Self::FragmentOutput(_) => None,
        }
    }
}

impl Gpu {
    /// Makes a pipeline library with one part, for a pass without depth.
    pub fn library(&self, pass: &Pass, layout: vk::PipelineLayout, part: LibraryPart<'_>) -> Result<vk::Pipeline> {
        let (stage, code, constants) = part.stage().unwrap_or_default();
        let constants = Constants::new(constants);
        let special = constants.info();
        let module = if code.is_empty() { vk::ShaderModule::null() } else { self.module(code)? };
        let stages = [stage_info(stage, module, &special)];
        let (viewport, scissor) = whole(pass.extent);
        // The state of the other parts is ignored.
        let (topology, blend) = match part {
            LibraryPart::VertexInput(topology) => (topology, None),
            LibraryPart::FragmentOutput(factors) => (vk::PrimitiveTopology::default(), factors),
            _ => Default::default(),
        };
        self.pipeline(&PipelineDesc {
            topology,
            viewports: &[viewport],
            scissors: &[scissor],
            blend: &[blend_state(blend)],
            flags: vk::PipelineCreateFlags::LIBRARY_KHR,
            subset: Some(part.subset()),
            ..PipelineDesc::new(&stages[..usize::from(!code.is_empty())], layout, Target::Subpass(pass.handle, 0))
        })
    }

    /// Links the parts of a pipeline without optimization at link time.
    pub fn link(&self, parts: &[vk::Pipeline], layout: vk::PipelineLayout) -> Result<vk::Pipeline> {
        let mut libraries = vk::PipelineLibraryCreateInfoKHR::default().libraries(parts);
        let info = vk::GraphicsPipelineCreateInfo::default().layout(layout).push_next(&mut libraries);
        // SAFETY: `info` and what it points to are valid.
        let made = unsafe { self.device.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None) };
        self.keep_pipeline(made, "vkCreateGraphicsPipelines")
    }
}

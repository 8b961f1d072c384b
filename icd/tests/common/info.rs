//! Descriptions of objects, and a pipeline of triangles, for code that is not linked with the
//! driver.

#![allow(dead_code, reason = "each test file uses a part")]

use ash::vk;
#[allow(unused_imports, reason = "each test file uses a part")]
pub use cts_runner::vk::spirv_words as spirv;
use cts_runner::vk::{PipelineDesc, Target, blend_state, stage_info};

pub const RGBA8: vk::Format = vk::Format::R8G8B8A8_UNORM;

pub fn range(aspect: vk::ImageAspectFlags, levels: u32) -> vk::ImageSubresourceRange {
    vk::ImageSubresourceRange {
        aspect_mask: aspect,
        base_mip_level: 0,
        level_count: levels,
        base_array_layer: 0,
        layer_count: 1,
    }
}

pub fn layers(aspect: vk::ImageAspectFlags, level: u32) -> vk::ImageSubresourceLayers {
    vk::ImageSubresourceLayers { aspect_mask: aspect, mip_level: level, base_array_layer: 0, layer_count: 1 }
}

/// Returns the region of a copy between a buffer and an image's first level.
pub fn region(aspect: vk::ImageAspectFlags, [width, height]: [u32; 2]) -> vk::BufferImageCopy {
    vk::BufferImageCopy::default().image_subresource(layers(aspect, 0)).image_extent(vk::Extent3D {
        width,
        height,
        depth: 1,
    })
}

/// Returns a square area from the corner.
pub fn area(side: u32) -> vk::Rect2D {
    vk::Rect2D { offset: vk::Offset2D::default(), extent: vk::Extent2D { width: side, height: side } }
}

/// Returns a square viewport from the corner.
pub fn viewport(side: u32) -> vk::Viewport {
    vk::Viewport { x: 0.0, y: 0.0, width: side as f32, height: side as f32, min_depth: 0.0, max_depth: 1.0 }
}

/// Returns a swapchain for a surface without restrictions.
pub fn swapchain(
    surface: vk::SurfaceKHR,
    format: vk::SurfaceFormatKHR,
    images: u32,
    side: u32,
    usage: vk::ImageUsageFlags,
) -> vk::SwapchainCreateInfoKHR<'static> {
    vk::SwapchainCreateInfoKHR::default()
        .surface(surface)
        .min_image_count(images)
        .image_format(format.format)
        .image_color_space(format.color_space)
        .image_extent(area(side).extent)
        .image_array_layers(1)
        .image_usage(usage)
        .pre_transform(vk::SurfaceTransformFlagsKHR::IDENTITY)
        .composite_alpha(vk::CompositeAlphaFlagsKHR::OPAQUE)
        .present_mode(vk::PresentModeKHR::FIFO)
}

/// A pipeline that draws triangles over one RGBA8 target.
#[derive(Clone, Copy)]
pub struct Triangles<'a> {
    pub vertex: vk::ShaderModule,
    /// Control and evaluation stages, for patches of three vertices.
    pub tessellation: Option<[vk::ShaderModule; 2]>,
    /// A task stage, if there is one, and a mesh stage, which replace the vertex stage.
    pub mesh: Option<(Option<vk::ShaderModule>, vk::ShaderModule)>,
    pub geometry: Option<vk::ShaderModule>,
    pub fragment: vk::ShaderModule,
    pub layout: vk::PipelineLayout,
    /// Render pass; null for dynamic rendering.
    pub pass: vk::RenderPass,
    pub subpass: u32,
    pub samples: vk::SampleCountFlags,
    pub sample_mask: u32,
    /// Number of bytes of a vertex in binding 0; 0 for no binding.
    pub stride: u32,
    /// Format and offset by location.
    pub attributes: &'a [(vk::Format, u32)],
    /// Side of viewport and scissor; `None` if they are dynamic.
    pub side: Option<u32>,
    /// States that are dynamic, besides viewport and scissor.
    pub dynamic: &'a [vk::DynamicState],
    /// Structure that extends the state of rasterization.
    pub rasterization: Option<&'a dyn vk::ExtendsPipelineRasterizationStateCreateInfo>,
    /// Flags of 64 bits, if there are any.
    pub flags: Option<vk::PipelineCreateFlags2KHR>,
    /// Structure that extends the create info.
    pub next: Option<&'a dyn vk::ExtendsGraphicsPipelineCreateInfo>,
}

impl Triangles<'_> {
    pub fn new(vertex: vk::ShaderModule, fragment: vk::ShaderModule, layout: vk::PipelineLayout) -> Triangles<'static> {
        let samples = vk::SampleCountFlags::TYPE_1;
        let pass = vk::RenderPass::null();
        Triangles {
            vertex,
            tessellation: None,
            mesh: None,
            geometry: None,
            fragment,
            layout,
            pass,
            subpass: 0,
            samples,
            sample_mask: !0,
            stride: 0,
            attributes: &[],
            side: None,
            dynamic: &[],
            rasterization: None,
            flags: None,
            next: None,
        }
    }

    pub fn create(&self, d: &ash::Device) -> Result<vk::Pipeline, vk::Result> {
        let [control, evaluation] = self.tessellation.map_or([None; 2], |both| both.map(Some));
        let (task, mesh) = self.mesh.map_or((None, None), |(task, mesh)| (task, Some(mesh)));
        let stages = [
            (vk::ShaderStageFlags::VERTEX, self.mesh.is_none().then_some(self.vertex)),
            (vk::ShaderStageFlags::TASK_EXT, task),
            (vk::ShaderStageFlags::MESH_EXT, mesh),
            (vk::ShaderStageFlags::TESSELLATION_CONTROL, control),
            (vk::ShaderStageFlags::TESSELLATION_EVALUATION, evaluation),
            (vk::ShaderStageFlags::GEOMETRY, self.geometry),
            (vk::ShaderStageFlags::FRAGMENT, Some(self.fragment)),
        ];
        let none = vk::SpecializationInfo::default();
        let stages: Vec<_> =
            stages.into_iter().filter_map(|(kind, module)| Some(stage_info(kind, module?, &none))).collect();
        let input_rate = vk::VertexInputRate::VERTEX;
        let bindings = [vk::VertexInputBindingDescription { binding: 0, stride: self.stride, input_rate }];
        let attribute = |(location, &(format, offset))| vk::VertexInputAttributeDescription {
            location,
            binding: 0,
            format,
            offset,
        };
        let attributes: Vec<_> = (0..).zip(self.attributes).map(attribute).collect();
        let (bindings, attributes) =
            if self.stride > 0 { (&bindings[..], &attributes[..]) } else { (&[][..], &[][..]) };
        let (topology, patch_points) = match self.tessellation {
            Some(_) => (vk::PrimitiveTopology::PATCH_LIST, 3),
            None => (vk::PrimitiveTopology::TRIANGLE_LIST, 0),
        };
        let mut dynamic = self.dynamic.to_vec();
        if self.side.is_none() {
            dynamic.extend([vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR]);
        }
        let formats = [RGBA8];
        let target = match self.pass == vk::RenderPass::null() {
            true => Target::Formats(&formats),
            false => Target::Subpass(self.pass, self.subpass),
        };
        let (viewports, scissors) = self.side.map(|side| (viewport(side), area(side))).unzip();
        PipelineDesc {
            bindings,
            attributes,
            topology,
            patch_points,
            viewports: viewports.as_slice(),
            scissors: scissors.as_slice(),
            rasterization: self.rasterization,
            samples: self.samples,
            sample_mask: self.sample_mask,
            blend: &[blend_state(None)],
            dynamic: &dynamic,
            flags2: self.flags,
            next: self.next,
            ..PipelineDesc::new(&stages, self.layout, target)
        }
        .create(d)
    }
}

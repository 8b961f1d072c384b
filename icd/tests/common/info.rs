//! Descriptions of objects, and a pipeline of triangles, for code that is not linked with the
//! driver.

#![allow(dead_code, reason = "each test file uses a part")]

use ash::vk;

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

/// Returns the SPIR-V words of a committed file.
pub fn spirv(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
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
    /// Chain of structures of the rasterization state, which is valid.
    pub rasterization: *const std::ffi::c_void,
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
            rasterization: std::ptr::null(),
        }
    }

    pub fn create(&self, d: &ash::Device) -> Result<vk::Pipeline, vk::Result> {
        self.create_with(d, std::ptr::null())
    }

    /// Creates the pipeline with this chain of structures, which is valid.
    pub fn create_with(&self, d: &ash::Device, chain: *const std::ffi::c_void) -> Result<vk::Pipeline, vk::Result> {
        let stage =
            |stage, module| vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module).name(c"main");
        let first = match self.mesh {
            None => vec![(vk::ShaderStageFlags::VERTEX, self.vertex)],
            Some((task, mesh)) => {
                let task = task.into_iter().map(|module| (vk::ShaderStageFlags::TASK_EXT, module));
                task.chain([(vk::ShaderStageFlags::MESH_EXT, mesh)]).collect()
            }
        };
        let stages: Vec<_> = first
            .into_iter()
            .chain(self.tessellation.into_iter().flat_map(|[control, evaluation]| {
                [
                    (vk::ShaderStageFlags::TESSELLATION_CONTROL, control),
                    (vk::ShaderStageFlags::TESSELLATION_EVALUATION, evaluation),
                ]
            }))
            .chain(self.geometry.map(|module| (vk::ShaderStageFlags::GEOMETRY, module)))
            .chain([(vk::ShaderStageFlags::FRAGMENT, self.fragment)])
            .map(|(kind, module)| stage(kind, module))
            .collect();
        let input_rate = vk::VertexInputRate::VERTEX;
        let bindings = [vk::VertexInputBindingDescription { binding: 0, stride: self.stride, input_rate }];
        let attribute = |(location, &(format, offset))| vk::VertexInputAttributeDescription {
            location,
            binding: 0,
            format,
            offset,
        };
        let attributes: Vec<_> = (0..).zip(self.attributes).map(attribute).collect();
        let mut input = vk::PipelineVertexInputStateCreateInfo::default();
        if self.stride > 0 {
            input = input.vertex_binding_descriptions(&bindings).vertex_attribute_descriptions(&attributes);
        }
        let topology = match self.tessellation {
            Some(_) => vk::PrimitiveTopology::PATCH_LIST,
            None => vk::PrimitiveTopology::TRIANGLE_LIST,
        };
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology);
        let patches = vk::PipelineTessellationStateCreateInfo::default().patch_control_points(3);
        let (viewports, scissors) = ([viewport(self.side.unwrap_or(0))], [area(self.side.unwrap_or(0))]);
        let viewport = match self.side {
            Some(_) => vk::PipelineViewportStateCreateInfo::default().viewports(&viewports).scissors(&scissors),
            None => vk::PipelineViewportStateCreateInfo::default().viewport_count(1).scissor_count(1),
        };
        let mut rasterization = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        rasterization.p_next = self.rasterization;
        let mask = [self.sample_mask];
        let multisample =
            vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(self.samples).sample_mask(&mask);
        let blends = [vk::PipelineColorBlendAttachmentState::default().color_write_mask(vk::ColorComponentFlags::RGBA)];
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blends);
        let states: &[_] =
            if self.side.is_some() { &[] } else { &[vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR] };
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(states);
        let formats = [RGBA8];
        let mut rendering = vk::PipelineRenderingCreateInfo::default().color_attachment_formats(&formats);
        let mut info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .tessellation_state(&patches)
            .viewport_state(&viewport)
            .rasterization_state(&rasterization)
            .multisample_state(&multisample)
            .color_blend_state(&blend)
            .dynamic_state(&dynamic)
            .layout(self.layout)
            .render_pass(self.pass)
            .subpass(self.subpass);
        info.p_next = chain;
        if self.pass == vk::RenderPass::null() {
            info = info.push_next(&mut rendering);
        }
        // SAFETY: valid usage.
        let made = unsafe { d.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None) };
        made.map(|list| list[0]).map_err(|(_, error)| error)
    }
}

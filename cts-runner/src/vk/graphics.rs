//! The description of a graphics pipeline, from which the harness, its benchmarks and the tests of
//! the driver create theirs.

use ash::vk;
use std::ffi::{CStr, c_void};

/// The size of fragments that are pixels.
pub(super) const PIXEL: vk::Extent2D = vk::Extent2D { width: 1, height: 1 };

/// Name of the entry point of all shaders of the harness.
const ENTRY: &CStr = c"main";

/// Attachments that a pipeline draws to.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    /// A subpass of a render pass, by its index.
    Subpass(vk::RenderPass, u32),
    /// Colour attachments of dynamic rendering with these formats.
    Formats(&'a [vk::Format]),
}

/// All state of a graphics pipeline. [`PipelineDesc::new`] gives each field its default value.
#[derive(Clone, Copy)]
pub struct PipelineDesc<'a> {
    /// Stages of the pipeline, in any order.
    pub stages: &'a [vk::PipelineShaderStageCreateInfo<'a>],
    /// Layout of descriptor sets and push constants.
    pub layout: vk::PipelineLayout,
    /// Attachments that the pipeline draws to.
    pub target: Target<'a>,
    /// Vertex buffer bindings; none by default.
    pub bindings: &'a [vk::VertexInputBindingDescription],
    /// Vertex attributes of the bindings; none by default.
    pub attributes: &'a [vk::VertexInputAttributeDescription],
    /// Primitive topology of the vertices; a list of triangles by default.
    pub topology: vk::PrimitiveTopology,
    /// True if the largest index restarts a strip.
    pub restart: bool,
    /// Number of control points of a patch; 0 without tessellation.
    pub patch_points: u32,
    /// Structure that extends the state of tessellation.
    pub tessellation: Option<&'a dyn vk::ExtendsPipelineTessellationStateCreateInfo>,
    /// Viewports. If the list is empty, there is one whose value is dynamic.
    pub viewports: &'a [vk::Viewport],
    /// Scissors, in the number of the viewports.
    pub scissors: &'a [vk::Rect2D],
    /// Mode of polygons; they are filled by default.
    pub polygon_mode: vk::PolygonMode,
    /// Faces that are not drawn (none by default), and the winding of front faces
    /// (counter-clockwise by default).
    pub faces: (vk::CullModeFlags, vk::FrontFace),
    /// True if no primitive is rasterized.
    pub discard: bool,
    /// Structure that extends the state of rasterization.
    pub rasterization: Option<&'a dyn vk::ExtendsPipelineRasterizationStateCreateInfo>,
    /// Number of samples of a pixel; 1 by default.
    pub samples: vk::SampleCountFlags,
    /// Bits of the samples that are written; all by default.
    pub sample_mask: u32,
    /// Compare operation of the depth test, and whether depth is written; `None`, the default,
    /// disables both.
    pub depth: Option<(vk::CompareOp, bool)>,
    /// Blend state of each colour attachment; none by default.
    pub blend: &'a [vk::PipelineColorBlendAttachmentState],
    /// Constants of blending.
    pub blend_constants: [f32; 4],
    /// Structure that extends the state of blending.
    pub blending: Option<&'a dyn vk::ExtendsPipelineColorBlendStateCreateInfo>,
    /// Size of fragments in pixels; one pixel by default.
    pub fragment_size: vk::Extent2D,
    /// State whose values commands set.
    pub dynamic: &'a [vk::DynamicState],
    /// Flags of the creation.
    pub flags: vk::PipelineCreateFlags,
    /// Flags of 64 bits, which replace [`PipelineDesc::flags`] if they are there.
    pub flags2: Option<vk::PipelineCreateFlags2KHR>,
    /// Parts of a graphics pipeline library that the pipeline has; `None` for a complete pipeline.
    pub subset: Option<vk::GraphicsPipelineLibraryFlagsEXT>,
    /// Libraries that bring the other parts; none by default.
    pub libraries: &'a [vk::Pipeline],
    /// Structure that extends the create info, and may point to others. The first structure of the
    /// create info's chain points to it.
    pub next: Option<&'a dyn vk::ExtendsGraphicsPipelineCreateInfo>,
    /// Cache of the creation; none by default.
    pub cache: vk::PipelineCache,
}

impl<'a> PipelineDesc<'a> {
    /// Returns the description of a pipeline that draws a list of triangles without vertex buffers,
    /// depth test and blending, whose viewport and scissor commands set.
    pub fn new(
        stages: &'a [vk::PipelineShaderStageCreateInfo<'a>],
        layout: vk::PipelineLayout,
        target: Target<'a>,
    ) -> PipelineDesc<'a> {
        PipelineDesc {
            stages,
            layout,
            target,
            bindings: &[],
            attributes: &[],
            topology: vk::PrimitiveTopology::TRIANGLE_LIST,
            restart: false,
            patch_points: 0,
            tessellation: None,
            viewports: &[],
            scissors: &[],
            polygon_mode: vk::PolygonMode::FILL,
            faces: (vk::CullModeFlags::NONE, vk::FrontFace::COUNTER_CLOCKWISE),
            discard: false,
            rasterization: None,
            samples: vk::SampleCountFlags::TYPE_1,
            sample_mask: !0,
            depth: None,
            blend: &[],
            blend_constants: [0.0; 4],
            blending: None,
            fragment_size: PIXEL,
            dynamic: &[],
            flags: vk::PipelineCreateFlags::empty(),
            flags2: None,
            subset: None,
            libraries: &[],
            next: None,
            cache: vk::PipelineCache::null(),
        }
    }

    /// Calls a function with the create info of the pipeline.
    pub fn describe<T>(&self, call: impl FnOnce(vk::GraphicsPipelineCreateInfo<'_>) -> T) -> T {
        let input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(self.bindings)
            .vertex_attribute_descriptions(self.attributes);
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(self.topology)
            .primitive_restart_enable(self.restart);
        let mut tessellation =
            vk::PipelineTessellationStateCreateInfo::default().patch_control_points(self.patch_points);
        tessellation.p_next = self.tessellation.map_or(std::ptr::null(), |next| (&raw const *next).cast());
        let viewport = self.viewport_state();
        let rasterization = self.rasterization_state();
        let mask = [self.sample_mask];
        let samples =
            vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(self.samples).sample_mask(&mask);
        let (compare, write) = self.depth.unwrap_or((vk::CompareOp::ALWAYS, false));
        let depth = vk::PipelineDepthStencilStateCreateInfo::default()
            .depth_test_enable(self.depth.is_some())
            .depth_write_enable(write)
            .depth_compare_op(compare);
        let mut blend = vk::PipelineColorBlendStateCreateInfo::default()
            .attachments(self.blend)
            .blend_constants(self.blend_constants);
        blend.p_next = self.blending.map_or(std::ptr::null(), |next| (&raw const *next).cast());
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(self.dynamic);
        let mut info = vk::GraphicsPipelineCreateInfo::default()
            .flags(self.flags)
            .stages(self.stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&rasterization)
            .multisample_state(&samples)
            .depth_stencil_state(&depth)
            .color_blend_state(&blend)
            .dynamic_state(&dynamic)
            .layout(self.layout);
        if self.patch_points > 0 {
            info = info.tessellation_state(&tessellation);
        }
        self.with_chain(info, call)
    }

    /// Calls a function with the create info and the structures that extend it.
    fn with_chain<T>(
        &self,
        info: vk::GraphicsPipelineCreateInfo<'_>,
        call: impl FnOnce(vk::GraphicsPipelineCreateInfo<'_>) -> T,
    ) -> T {
        let mut rendering = vk::PipelineRenderingCreateInfo::default();
        let mut flags = vk::PipelineCreateFlags2CreateInfoKHR::default().flags(self.flags2.unwrap_or_default());
        let mut subset = vk::GraphicsPipelineLibraryCreateInfoEXT::default().flags(self.subset.unwrap_or_default());
        let mut libraries = vk::PipelineLibraryCreateInfoKHR::default().libraries(self.libraries);
        let mut rate = vk::PipelineFragmentShadingRateStateCreateInfoKHR::default().fragment_size(self.fragment_size);
        // The structures live shorter than those to which the create info points already.
        let mut info: vk::GraphicsPipelineCreateInfo<'_> = info;
        info.p_next = self.next.map_or(std::ptr::null(), |next| (&raw const *next).cast::<c_void>());
        info = match self.target {
            Target::Subpass(pass, subpass) => info.render_pass(pass).subpass(subpass),
            Target::Formats(formats) => {
                rendering = rendering.color_attachment_formats(formats);
                info.push_next(&mut rendering)
            }
        };
        if self.fragment_size != PIXEL {
            info = info.push_next(&mut rate);
        }
        if self.flags2.is_some() {
            info = info.push_next(&mut flags);
        }
        if self.subset.is_some() {
            info = info.push_next(&mut subset);
        }
        if !self.libraries.is_empty() {
            info = info.push_next(&mut libraries);
        }
        call(info)
    }

    fn viewport_state(&self) -> vk::PipelineViewportStateCreateInfo<'a> {
        let state = vk::PipelineViewportStateCreateInfo::default();
        match self.viewports {
            [] => state.viewport_count(1).scissor_count(1),
            viewports => state.viewports(viewports).scissors(self.scissors),
        }
    }

    fn rasterization_state(&self) -> vk::PipelineRasterizationStateCreateInfo<'a> {
        let mut state = vk::PipelineRasterizationStateCreateInfo::default()
            .polygon_mode(self.polygon_mode)
            .cull_mode(self.faces.0)
            .front_face(self.faces.1)
            .rasterizer_discard_enable(self.discard)
            .line_width(1.0);
        state.p_next = self.rasterization.map_or(std::ptr::null(), |next| (&raw const *next).cast());
        state
    }

    /// Creates the pipeline, which the caller destroys.
    ///
    /// # Errors
    /// The result of `vkCreateGraphicsPipelines`, if it is an error.
    pub fn create(&self, device: &ash::Device) -> Result<vk::Pipeline, vk::Result> {
        self.describe(|info| {
            // SAFETY: `info` and all to which it points are valid as long as the description is.
            let made = unsafe { device.create_graphics_pipelines(self.cache, &[info], None) };
            made.map(|list| list[0]).map_err(|(_, error)| error)
        })
    }
}

/// Returns a stage whose entry point is `main`.
pub fn stage_info<'a>(
    stage: vk::ShaderStageFlags,
    module: vk::ShaderModule,
    special: &'a vk::SpecializationInfo<'a>,
) -> vk::PipelineShaderStageCreateInfo<'a> {
    let info = vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module).name(ENTRY);
    if special.map_entry_count == 0 { info } else { info.specialization_info(special) }
}

/// Returns the state of an attachment of which all components are written, with source and
/// destination factors of both colour and alpha blending (`ADD`); `None` disables blending.
pub fn blend_state(blend: Option<(vk::BlendFactor, vk::BlendFactor)>) -> vk::PipelineColorBlendAttachmentState {
    let state = vk::PipelineColorBlendAttachmentState::default().color_write_mask(vk::ColorComponentFlags::RGBA);
    match blend {
        None => state,
        Some((src, dst)) => state
            .blend_enable(true)
            .src_color_blend_factor(src)
            .dst_color_blend_factor(dst)
            .src_alpha_blend_factor(src)
            .dst_alpha_blend_factor(dst),
    }
}

/// Returns the viewport and the scissor of a whole target.
pub fn whole(extent: vk::Extent2D) -> (vk::Viewport, vk::Rect2D) {
    let vk::Extent2D { width, height } = extent;
    let viewport = vk::Viewport::default().width(width as f32).height(height as f32).max_depth(1.0);
    (viewport, vk::Rect2D::default().extent(extent))
}

/// Specialization constants of 32 bits in the form of `VkSpecializationInfo`.
pub struct Constants {
    entries: Vec<vk::SpecializationMapEntry>,
    data: Vec<u8>,
}

impl Constants {
    /// Makes the form of pairs `(constant_id, value)`.
    pub fn new(constants: &[(u32, u32)]) -> Self {
        let entries = (0..)
            .zip(constants)
            .map(|(i, &(id, _))| vk::SpecializationMapEntry::default().constant_id(id).offset(i * 4).size(4))
            .collect();
        let data = constants.iter().flat_map(|(_, value)| value.to_ne_bytes()).collect();
        Self { entries, data }
    }

    /// Returns the structure of the constants.
    pub fn info(&self) -> vk::SpecializationInfo<'_> {
        vk::SpecializationInfo::default().map_entries(&self.entries).data(&self.data)
    }
}

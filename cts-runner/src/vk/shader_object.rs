//! Shader objects (`VK_EXT_shader_object`): creation, binding, and the state that draws with them
//! need.
//!
//! Invariant, as of [`Recorder`]: the objects given to a method were made by the same [`Gpu`] and
//! live as long as the command buffer can be submitted.

use super::error::{Context, Error, Result};
use super::generated_api::INDIRECT_BINDABLE_SHADER;
use super::gpu::{Gpu, Owned};
use super::graphics::{Constants, blend_state};
use super::memory::Image;
use super::recorder::Recorder;
use super::submit::image_barrier;
use ash::ext::shader_object::Device as ShaderObjects;
use ash::vk;

/// Data of a shader object, aligned as `vkCreateShadersEXT` requires.
pub struct ShaderBinary {
    words: Vec<u128>,
    size: usize,
}

impl ShaderBinary {
    /// Copies the bytes to aligned memory.
    pub fn new(bytes: &[u8]) -> Self {
        let word = |chunk: &[u8]| {
            let mut word = [0; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(word)
        };
        Self { words: bytes.chunks(16).map(word).collect(), size: bytes.len() }
    }
}

/// Code from which a shader object is made.
#[derive(Clone, Copy)]
pub enum ObjectCode<'a> {
    /// SPIR-V.
    Spirv(&'a [u32]),
    /// Data of an object with the same description.
    Binary(&'a ShaderBinary),
}

/// Parameters from which a shader object is made. Its entry point is `main`.
#[derive(Clone, Copy)]
pub struct ObjectDesc<'a> {
    /// Stage of the shader.
    pub stage: vk::ShaderStageFlags,
    /// Stages that may follow.
    pub next: vk::ShaderStageFlags,
    /// Code of the shader.
    pub code: ObjectCode<'a>,
    /// Specialization constants as pairs `(constant_id, value)`.
    pub constants: &'a [(u32, u32)],
    /// Layout of descriptor set 0.
    pub set: vk::DescriptorSetLayout,
    /// Number of bytes of push constants, and the stages of their range.
    pub push: (u32, vk::ShaderStageFlags),
    /// True if generated commands may use the object.
    pub indirect: bool,
}

/// State of a draw. The rest has the values of a pipeline without depth, several samples or logic
/// operations.
#[derive(Clone, Copy)]
pub struct DrawState<'a> {
    /// Topology of the vertices.
    pub topology: vk::PrimitiveTopology,
    /// Number of control points of a patch; 0 without tessellation.
    pub patch_points: u32,
    /// Vertex buffer bindings.
    pub bindings: &'a [vk::VertexInputBindingDescription2EXT<'a>],
    /// Vertex attributes.
    pub attributes: &'a [vk::VertexInputAttributeDescription2EXT<'a>],
    /// Size of viewport and scissor in pixels.
    pub extent: vk::Extent2D,
}

impl DrawState<'_> {
    /// Returns the state of draws without vertex buffers and patches.
    pub fn new(topology: vk::PrimitiveTopology, extent: vk::Extent2D) -> Self {
        Self { topology, patch_points: 0, bindings: &[], attributes: &[], extent }
    }
}

impl Gpu {
    /// Returns the commands of shader objects, or an error if the device lacks them.
    pub fn shader_objects(&self) -> Result<&ShaderObjects> {
        self.objects.as_ref().ok_or_else(|| Error::Missing("shaderObject".into()))
    }

    /// Returns the stages of draws that the device has. Draws with shader objects need each of them
    /// to be bound, with or without a shader.
    fn draw_stages(&self) -> Vec<vk::ShaderStageFlags> {
        use vk::ShaderStageFlags as S;
        let tessellates = self.features.tessellation_shader == vk::TRUE;
        let stages = [
            (S::VERTEX, true),
            (S::TESSELLATION_CONTROL, tessellates),
            (S::TESSELLATION_EVALUATION, tessellates),
            (S::GEOMETRY, self.features.geometry_shader == vk::TRUE),
            (S::TASK_EXT, self.optional.mesh_shader),
            (S::MESH_EXT, self.optional.mesh_shader),
            (S::FRAGMENT, true),
        ];
        stages.into_iter().filter(|(_, has)| *has).map(|(stage, _)| stage).collect()
    }

    /// Makes shader objects with one call.
    pub fn shaders(&self, descs: &[ObjectDesc<'_>]) -> Result<Vec<vk::ShaderEXT>> {
        let constants: Vec<_> = descs.iter().map(|desc| Constants::new(desc.constants)).collect();
        let special: Vec<_> = constants.iter().map(Constants::info).collect();
        let ranges: Vec<_> =
            descs.iter().map(|d| [vk::PushConstantRange::default().stage_flags(d.push.1).size(d.push.0)]).collect();
        let info = |(i, desc): (usize, &ObjectDesc<'_>)| {
            let mut info = vk::ShaderCreateInfoEXT::default()
                .stage(desc.stage)
                .next_stage(desc.next)
                .name(c"main")
                .set_layouts(std::slice::from_ref(&descs[i].set));
            if desc.push.0 > 0 {
                info = info.push_constant_ranges(&ranges[i]);
            }
            if !desc.constants.is_empty() {
                info = info.specialization_info(&special[i]);
            }
            if desc.indirect {
                info = info.flags(INDIRECT_BINDABLE_SHADER);
            }
            (info.code_type, info.code_size, info.p_code) = match desc.code {
                ObjectCode::Spirv(words) => (vk::ShaderCodeTypeEXT::SPIRV, size_of_val(words), words.as_ptr().cast()),
                ObjectCode::Binary(data) => (vk::ShaderCodeTypeEXT::BINARY, data.size, data.words.as_ptr().cast()),
            };
            info
        };
        let infos: Vec<_> = descs.iter().enumerate().map(info).collect();
        // SAFETY: the infos and what they point to are valid; the driver checks whether the code
        // is.
        let made = unsafe { self.shader_objects()?.create_shaders(&infos, None) };
        let (shaders, code) = match made {
            Ok(shaders) => (shaders, vk::Result::SUCCESS),
            Err((shaders, code)) => (shaders, code),
        };
        let living = shaders.iter().filter(|shader| **shader != vk::ShaderEXT::null());
        living.for_each(|shader| self.own(Owned::Shader(*shader)));
        if code == vk::Result::SUCCESS { Ok(shaders) } else { Err(Error::Vulkan("vkCreateShadersEXT", code)) }
    }

    /// Returns the data of a shader object.
    pub fn shader_binary(&self, shader: vk::ShaderEXT) -> Result<Vec<u8>> {
        // SAFETY: the shader is alive.
        unsafe { self.shader_objects()?.get_shader_binary_data(shader) }.context("vkGetShaderBinaryDataEXT")
    }
}

/// Rendering without a render pass, which shader objects need.
impl Recorder<'_> {
    /// Begins rendering to an image, which is cleared.
    pub fn begin_rendering(self, image: &Image, clear: [f32; 4]) {
        let layout = vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
        image_barrier(self.d, self.cmd, image, image.full_range(), vk::ImageLayout::UNDEFINED, layout);
        let colors = [vk::RenderingAttachmentInfo::default()
            .image_view(image.view)
            .image_layout(layout)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)
            .clear_value(vk::ClearValue { color: vk::ClearColorValue { float32: clear } })];
        let [width, height, _] = image.desc.extent;
        let info = vk::RenderingInfo::default()
            .render_area(vk::Rect2D::default().extent(vk::Extent2D { width, height }))
            .layer_count(1)
            .color_attachments(&colors);
        // SAFETY: the view is alive and in the layout; the feature is enabled (module invariant).
        unsafe { self.d.cmd_begin_rendering(self.cmd, &info) }
    }

    /// Ends rendering and leaves the image in `TRANSFER_SRC_OPTIMAL`.
    pub fn end_rendering(self, image: &Image) {
        // SAFETY: [`Self::begin_rendering`] has begun rendering.
        unsafe { self.d.cmd_end_rendering(self.cmd) }
        let (from, to) = (vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL, vk::ImageLayout::TRANSFER_SRC_OPTIMAL);
        image_barrier(self.d, self.cmd, image, image.full_range(), from, to);
    }
}

/// Shader objects and their state.
impl Recorder<'_> {
    /// Binds shaders to these stages.
    pub fn bind_shaders(self, objects: &ShaderObjects, stages: &[vk::ShaderStageFlags], shaders: &[vk::ShaderEXT]) {
        // SAFETY: the shaders are alive and belong to these stages (module invariant).
        unsafe { objects.cmd_bind_shaders(self.cmd, stages, shaders) }
    }

    /// Binds no shader to all stages of draws, and sets all state that draws with shader objects
    /// need: no culling, no blending, one sample, all components written.
    pub fn reset_state(self, gpu: &Gpu, objects: &ShaderObjects, state: &DrawState<'_>) {
        let cmd = self.cmd;
        let stages = gpu.draw_stages();
        self.bind_shaders(objects, &stages, &vec![vk::ShaderEXT::null(); stages.len()]);
        let vk::Extent2D { width, height } = state.extent;
        let viewports = [vk::Viewport::default().width(width as f32).height(height as f32).max_depth(1.0)];
        let scissors = [vk::Rect2D::default().extent(state.extent)];
        let one = vk::SampleCountFlags::TYPE_1;
        // SAFETY: `cmd` is being recorded on a device that has the commands.
        unsafe {
            objects.cmd_set_vertex_input(cmd, state.bindings, state.attributes);
            objects.cmd_set_primitive_topology(cmd, state.topology);
            objects.cmd_set_primitive_restart_enable(cmd, false);
            if state.patch_points > 0 {
                objects.cmd_set_patch_control_points(cmd, state.patch_points);
                objects.cmd_set_tessellation_domain_origin(cmd, vk::TessellationDomainOrigin::UPPER_LEFT);
            }
            objects.cmd_set_viewport_with_count(cmd, &viewports);
            objects.cmd_set_scissor_with_count(cmd, &scissors);
            objects.cmd_set_rasterizer_discard_enable(cmd, false);
            objects.cmd_set_polygon_mode(cmd, vk::PolygonMode::FILL);
            objects.cmd_set_rasterization_samples(cmd, one);
            objects.cmd_set_sample_mask(cmd, one, &[!0]);
            objects.cmd_set_alpha_to_coverage_enable(cmd, false);
            objects.cmd_set_alpha_to_one_enable(cmd, false);
            objects.cmd_set_depth_clamp_enable(cmd, false);
            objects.cmd_set_depth_bias_enable(cmd, false);
            objects.cmd_set_depth_test_enable(cmd, false);
            objects.cmd_set_depth_write_enable(cmd, false);
            objects.cmd_set_depth_bounds_test_enable(cmd, false);
            objects.cmd_set_stencil_test_enable(cmd, false);
            objects.cmd_set_logic_op_enable(cmd, false);
            if gpu.optional.transform_feedback {
                objects.cmd_set_rasterization_stream(cmd, 0);
            }
        }
        self.faces(objects, vk::CullModeFlags::NONE, vk::FrontFace::COUNTER_CLOCKWISE);
        self.blending(objects, None, vk::ColorComponentFlags::RGBA);
    }

    /// Sets which faces are not drawn, and the winding of front faces.
    pub fn faces(self, objects: &ShaderObjects, cull: vk::CullModeFlags, front: vk::FrontFace) {
        // SAFETY: `cmd` is being recorded on a device that has the commands.
        unsafe {
            objects.cmd_set_cull_mode(self.cmd, cull);
            objects.cmd_set_front_face(self.cmd, front);
        }
    }

    /// Sets source and destination factor (`ADD`), or no blending, and the components that are
    /// written, of colour attachment 0.
    pub fn blending(
        self,
        objects: &ShaderObjects,
        factors: Option<(vk::BlendFactor, vk::BlendFactor)>,
        mask: vk::ColorComponentFlags,
    ) {
        let state = blend_state(factors);
        let equation = vk::ColorBlendEquationEXT::default()
            .src_color_blend_factor(state.src_color_blend_factor)
            .dst_color_blend_factor(state.dst_color_blend_factor)
            .src_alpha_blend_factor(state.src_alpha_blend_factor)
            .dst_alpha_blend_factor(state.dst_alpha_blend_factor);
        // SAFETY: `cmd` is being recorded on a device that has the commands.
        unsafe {
            objects.cmd_set_color_blend_enable(self.cmd, 0, &[state.blend_enable]);
            objects.cmd_set_color_blend_equation(self.cmd, 0, &[equation]);
            objects.cmd_set_color_write_mask(self.cmd, 0, &[mask]);
        }
    }
}

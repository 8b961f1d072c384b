//! Render passes and graphics pipelines of more shapes than [`super::GraphicsDesc`]: several
//! attachments, samples, resolves, several vertex streams, and an optional fragment stage.
//!
//! Idea: a [`Pass`] is a render pass with its framebuffer and clear values. A [`Program`] is a
//! pipeline with its layout and one descriptor set. A [`super::Recorder`] takes both. Each pass
//! waits for all earlier commands, and all later commands wait for it, so callers need no barriers
//! between passes.

use super::error::{Context, Result};
use super::generated_api::INDIRECT_BINDABLE_PIPELINE;
use super::gpu::{Gpu, Owned};
use super::graphics::{Constants, PIXEL, PipelineDesc, Target, blend_state, stage_info, whole};
use super::memory::Image;
use super::pipeline::{Binding, Resource};
use ash::vk;

/// Purpose of an attachment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The next colour attachment.
    Color,
    /// The depth attachment.
    Depth,
    /// The target to which the next colour attachment is resolved.
    Resolve,
}

/// An attachment of a [`Pass`]. It is either cleared or its old content is undefined.
#[derive(Clone, Copy)]
pub struct Attachment {
    /// Image of the attachment, which is used as a whole.
    pub image: Image,
    /// Purpose of the attachment.
    pub role: Role,
    /// Value to which the attachment is cleared; `None` leaves the old content undefined.
    pub clear: Option<vk::ClearValue>,
    /// True if the content is kept after the pass.
    pub store: bool,
    /// Image layout after the pass.
    pub leave: vk::ImageLayout,
}

impl Attachment {
    /// Returns a cleared colour attachment from which commands copy after the pass.
    pub fn color(image: Image, clear: [f32; 4]) -> Self {
        let clear = Some(vk::ClearValue { color: vk::ClearColorValue { float32: clear } });
        Self { image, role: Role::Color, clear, store: true, leave: vk::ImageLayout::TRANSFER_SRC_OPTIMAL }
    }

    /// Returns a colour attachment of which the pass writes every pixel and which is sampled
    /// afterwards.
    pub fn texture(image: Image) -> Self {
        let leave = vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL;
        Self { image, role: Role::Color, clear: None, store: true, leave }
    }

    /// Returns a depth attachment that is cleared to 1 and is not needed after the pass.
    pub fn depth(image: Image) -> Self {
        let depth_stencil = vk::ClearDepthStencilValue { depth: 1.0, stencil: 0 };
        let leave = vk::ImageLayout::DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
        Self { image, role: Role::Depth, clear: Some(vk::ClearValue { depth_stencil }), store: false, leave }
    }

    /// Returns the resolve target of a multisampled colour attachment, from which commands copy
    /// after the pass.
    pub fn resolve(image: Image) -> Self {
        let leave = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
        Self { image, role: Role::Resolve, clear: None, store: true, leave }
    }

    fn layout(&self) -> vk::ImageLayout {
        match self.role {
            Role::Depth => vk::ImageLayout::DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
            Role::Color | Role::Resolve => vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL,
        }
    }

    fn description(&self) -> vk::AttachmentDescription {
        let load = if self.clear.is_some() { vk::AttachmentLoadOp::CLEAR } else { vk::AttachmentLoadOp::DONT_CARE };
        let store = if self.store { vk::AttachmentStoreOp::STORE } else { vk::AttachmentStoreOp::DONT_CARE };
        vk::AttachmentDescription::default()
            .format(self.image.desc.format)
            .samples(self.image.samples)
            .load_op(load)
            .store_op(store)
            .stencil_load_op(vk::AttachmentLoadOp::DONT_CARE)
            .stencil_store_op(vk::AttachmentStoreOp::DONT_CARE)
            .final_layout(self.leave)
    }
}

/// A render pass of one subpass, its framebuffer and its clear values.
#[derive(Clone)]
pub struct Pass {
    /// Vulkan handle of the render pass.
    pub handle: vk::RenderPass,
    /// Framebuffer that holds the attachments.
    pub framebuffer: vk::Framebuffer,
    /// Size of the framebuffer in pixels, all of which is the render area.
    pub extent: vk::Extent2D,
    /// Clear values, one per attachment.
    pub clears: Vec<vk::ClearValue>,
    colors: usize,
    samples: vk::SampleCountFlags,
}

/// Layout of a vertex buffer.
#[derive(Clone, Copy)]
pub struct Stream<'a> {
    /// Number of bytes from one element to the next.
    pub stride: u32,
    /// True if the buffer has one element per instance instead of one per vertex.
    pub per_instance: bool,
    /// Format and offset of each attribute. Locations are counted over all streams.
    pub attributes: &'a [(vk::Format, u32)],
}

/// Parameters from which a [`Program`] is made. The viewport is the whole framebuffer of the pass.
#[derive(Clone, Copy)]
pub struct ProgramDesc<'a> {
    /// SPIR-V of the vertex shader; empty if there is a mesh shader.
    pub vertex: &'a [u32],
    /// SPIR-V of the tessellation control and evaluation shaders, in this order.
    pub tessellation: Option<[&'a [u32]; 2]>,
    /// Number of control points of a patch; 0 without tessellation.
    pub patch_points: u32,
    /// SPIR-V of the geometry shader; empty for none.
    pub geometry: &'a [u32],
    /// SPIR-V of the task shader; empty for none.
    pub task: &'a [u32],
    /// SPIR-V of the mesh shader; empty for none.
    pub mesh: &'a [u32],
    /// SPIR-V of the fragment shader; empty for none.
    pub fragment: &'a [u32],
    /// Specialisation constants of all stages, as pairs `(constant_id, value)`.
    pub constants: &'a [(u32, u32)],
    /// Resources of descriptor set 0, whose binding numbers are the indices.
    pub resources: &'a [Resource],
    /// Array of descriptors in the binding after `resources`; empty if there is none.
    pub array: &'a [Resource],
    /// Number of bytes of push constants.
    pub push: u32,
    /// Vertex buffers, in the order of their bindings.
    pub streams: &'a [Stream<'a>],
    /// Primitive topology of the vertices.
    pub topology: vk::PrimitiveTopology,
    /// Compare operation of the depth test, and whether depth is written; `None` disables both.
    pub depth: Option<(vk::CompareOp, bool)>,
    /// Source and destination factor of colour and alpha (`ADD`) in all attachments; `None`
    /// disables blending.
    pub blend: Option<(vk::BlendFactor, vk::BlendFactor)>,
    /// Components that are written in all colour attachments.
    pub mask: vk::ColorComponentFlags,
    /// Faces that are not drawn, and the winding of front faces.
    pub faces: (vk::CullModeFlags, vk::FrontFace),
    /// State that is set while commands are recorded.
    pub dynamic: &'a [vk::DynamicState],
    /// Size of fragments in pixels. One that is larger than a pixel needs
    /// [`Optional::shading_rate`](super::Optional::shading_rate).
    pub fragment_size: vk::Extent2D,
    /// True if generated commands may use the pipeline.
    pub indirect: bool,
    /// True if no primitive is rasterized.
    pub discard: bool,
}

impl Default for ProgramDesc<'_> {
    fn default() -> Self {
        Self {
            vertex: &[],
            tessellation: None,
            patch_points: 0,
            geometry: &[],
            task: &[],
            mesh: &[],
            fragment: &[],
            constants: &[],
            resources: &[],
            array: &[],
            push: 0,
            streams: &[],
            topology: vk::PrimitiveTopology::TRIANGLE_LIST,
            depth: None,
            blend: None,
            mask: vk::ColorComponentFlags::RGBA,
            faces: (vk::CullModeFlags::NONE, vk::FrontFace::COUNTER_CLOCKWISE),
            dynamic: &[],
            fragment_size: PIXEL,
            indirect: false,
            discard: false,
        }
    }
}

/// A graphics pipeline, its layout and its descriptor set.
#[derive(Clone, Copy)]
pub struct Program {
    /// Vulkan handle of the pipeline.
    pub pipeline: vk::Pipeline,
    /// Pipeline layout that the descriptor set and push constants use.
    pub layout: vk::PipelineLayout,
    /// Descriptor set 0, if the program has resources.
    pub set: Option<vk::DescriptorSet>,
    /// Layout of descriptor set 0, which may have no bindings.
    pub set_layout: vk::DescriptorSetLayout,
}

/// Shader stages that can access the push constants and descriptors of a [`Program`].
pub(super) const STAGES: vk::ShaderStageFlags =
    vk::ShaderStageFlags::from_raw(vk::ShaderStageFlags::VERTEX.as_raw() | vk::ShaderStageFlags::FRAGMENT.as_raw());

impl Gpu {
    /// Makes a render pass with these attachments and its framebuffer, which has as many layers as
    /// the first attachment.
    pub fn pass(&self, attachments: &[Attachment]) -> Result<Pass> {
        let handle = self.pass_handle(attachments)?;
        let [width, height, _] = attachments.first().map_or([0; 3], |a| a.image.desc.extent);
        let layers = attachments.first().map_or(1, |a| a.image.desc.layers);
        let views: Vec<_> = attachments.iter().map(|a| a.image.view).collect();
        let info = vk::FramebufferCreateInfo::default()
            .render_pass(handle)
            .attachments(&views)
            .width(width)
            .height(height)
            .layers(layers);
        // SAFETY: the views match the attachments of the pass.
        let framebuffer = unsafe { self.device.create_framebuffer(&info, None) }.context("vkCreateFramebuffer")?;
        self.own(Owned::Framebuffer(framebuffer));
        let clears = attachments.iter().map(|a| a.clear.unwrap_or_default()).collect();
        let colors = attachments.iter().filter(|a| a.role == Role::Color).count();
        let drawn = attachments.iter().find(|a| a.role != Role::Resolve);
        let samples = drawn.map_or(vk::SampleCountFlags::TYPE_1, |a| a.image.samples);
        Ok(Pass { handle, framebuffer, extent: vk::Extent2D { width, height }, clears, colors, samples })
    }

    fn pass_handle(&self, attachments: &[Attachment]) -> Result<vk::RenderPass> {
        let descriptions: Vec<_> = attachments.iter().map(Attachment::description).collect();
        let of = |role: Role| -> Vec<vk::AttachmentReference> {
            let with_index = attachments.iter().zip(0u32..).filter(|(a, _)| a.role == role);
            with_index.map(|(a, attachment)| vk::AttachmentReference { attachment, layout: a.layout() }).collect()
        };
        let (colors, resolves, depths) = (of(Role::Color), of(Role::Resolve), of(Role::Depth));
        let mut subpass = vk::SubpassDescription::default()
            .pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS)
            .color_attachments(&colors);
        if !resolves.is_empty() {
            subpass = subpass.resolve_attachments(&resolves);
        }
        if let Some(depth) = depths.first() {
            subpass = subpass.depth_stencil_attachment(depth);
        }
        let subpasses = [subpass];
        let dependencies = [edge(vk::SUBPASS_EXTERNAL, 0), edge(0, vk::SUBPASS_EXTERNAL)];
        let info = vk::RenderPassCreateInfo::default()
            .attachments(&descriptions)
            .subpasses(&subpasses)
            .dependencies(&dependencies);
        // SAFETY: `info` and what it points to are valid.
        let pass = unsafe { self.device.create_render_pass(&info, None) }.context("vkCreateRenderPass")?;
        self.own(Owned::RenderPass(pass));
        Ok(pass)
    }

    /// Makes a pipeline that differs from that of `program` and shares its layout and descriptor
    /// set. The description has the same resources and push constants.
    pub fn program_like(&self, pass: &Pass, program: &Program, desc: &ProgramDesc<'_>) -> Result<Program> {
        Ok(Program { pipeline: self.program_pipeline(pass, desc, program.layout)?, ..*program })
    }

    /// Makes a pipeline for a pass, with its layout and descriptor set.
    pub fn program(&self, pass: &Pass, desc: &ProgramDesc<'_>) -> Result<Program> {
        let bindings = bindings(desc.resources, desc.array);
        let kinds: Vec<_> = bindings.iter().map(|b| (b.index, b.resource.kind())).collect();
        let immutable = |b: &Binding| match b.resource {
            Resource::Converted(_, sampler) => Some((b.index, [sampler])),
            _ => None,
        };
        let samplers: Vec<_> = bindings.iter().filter_map(immutable).collect();
        let set_layout = self.set_layout_with(&kinds, STAGES, &samplers)?;
        let layout = self.pipeline_layout(set_layout, desc.push, STAGES)?;
        let set = if bindings.is_empty() { None } else { Some(self.descriptor_set(set_layout, &bindings)?) };
        let pipeline = self.program_pipeline(pass, desc, layout)?;
        Ok(Program { pipeline, layout, set, set_layout })
    }

    /// Returns a program that shares the pipeline of `program` and has a descriptor set of its own.
    pub fn with_resources(&self, program: &Program, resources: &[Resource]) -> Result<Program> {
        let set = Some(self.descriptor_set(program.set_layout, &bindings(resources, &[]))?);
        Ok(Program { set, ..*program })
    }

    fn program_pipeline(
        &self,
        pass: &Pass,
        desc: &ProgramDesc<'_>,
        layout: vk::PipelineLayout,
    ) -> Result<vk::Pipeline> {
        let constants = Constants::new(desc.constants);
        let special = constants.info();
        let [control, evaluation] = desc.tessellation.unwrap_or_default();
        let all = [
            (vk::ShaderStageFlags::VERTEX, desc.vertex),
            (vk::ShaderStageFlags::TESSELLATION_CONTROL, control),
            (vk::ShaderStageFlags::TESSELLATION_EVALUATION, evaluation),
            (vk::ShaderStageFlags::GEOMETRY, desc.geometry),
            (vk::ShaderStageFlags::TASK_EXT, desc.task),
            (vk::ShaderStageFlags::MESH_EXT, desc.mesh),
            (vk::ShaderStageFlags::FRAGMENT, desc.fragment),
        ];
        let there = all.into_iter().filter(|(_, words)| !words.is_empty());
        let stages: Vec<_> =
            there.map(|(stage, words)| Ok(stage_info(stage, self.module(words)?, &special))).collect::<Result<_>>()?;
        let (bindings, attributes) = vertex_input(desc.streams);
        let (viewport, scissor) = whole(pass.extent);
        self.pipeline(&PipelineDesc {
            bindings: &bindings,
            attributes: &attributes,
            topology: desc.topology,
            patch_points: desc.patch_points,
            viewports: &[viewport],
            scissors: &[scissor],
            faces: desc.faces,
            discard: desc.discard,
            samples: pass.samples,
            depth: desc.depth,
            blend: &vec![blend_state(desc.blend).color_write_mask(desc.mask); pass.colors],
            dynamic: desc.dynamic,
            fragment_size: desc.fragment_size,
            flags2: desc.indirect.then_some(INDIRECT_BINDABLE_PIPELINE),
            ..PipelineDesc::new(&stages, layout, Target::Subpass(pass.handle, 0))
        })
    }
}

/// Returns a binding for each resource, and one more binding for the array.
pub fn bindings(resources: &[Resource], array: &[Resource]) -> Vec<Binding> {
    let single = resources.iter().zip(0..).map(|(&resource, index)| Binding { index, resource });
    single.chain(array.iter().map(|&resource| Binding { index: resources.len() as u32, resource })).collect()
}

/// Returns a dependency that orders all commands of `src` before all commands of `dst`.
fn edge(src: u32, dst: u32) -> vk::SubpassDependency {
    let stages = |subpass| match subpass {
        vk::SUBPASS_EXTERNAL => vk::PipelineStageFlags::ALL_COMMANDS,
        _ => vk::PipelineStageFlags::ALL_GRAPHICS,
    };
    vk::SubpassDependency::default()
        .src_subpass(src)
        .dst_subpass(dst)
        .src_stage_mask(stages(src))
        .dst_stage_mask(stages(dst))
        .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
        .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
}

fn vertex_input(
    streams: &[Stream<'_>],
) -> (Vec<vk::VertexInputBindingDescription>, Vec<vk::VertexInputAttributeDescription>) {
    let rate = |s: &Stream<'_>| match s.per_instance {
        true => vk::VertexInputRate::INSTANCE,
        false => vk::VertexInputRate::VERTEX,
    };
    let bindings = streams.iter().zip(0..).map(|(s, binding)| {
        vk::VertexInputBindingDescription::default().binding(binding).stride(s.stride).input_rate(rate(s))
    });
    let all = streams.iter().zip(0..).flat_map(|(s, binding)| s.attributes.iter().map(move |a| (binding, a)));
    let attributes = all.zip(0..).map(|((binding, &(format, offset)), location)| vk::VertexInputAttributeDescription {
        location,
        binding,
        format,
        offset,
    });
    (bindings.collect(), attributes.collect())
}

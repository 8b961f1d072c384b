//! Render passes and graphics pipelines of more shapes than [`super::GraphicsDesc`]: several attachments, samples, resolves,
//! several vertex streams, a fragment stage or none.
//!
//! Idea: a [`Pass`] is a render pass with its framebuffer and clear values, a [`Program`] a pipeline with its layout and one
//! descriptor set; both are what a [`super::Recorder`] takes. Each pass waits for everything before it and is waited for by
//! everything after it, so that callers need no barriers between passes.

use super::error::{Context, Result};
use super::gpu::{Gpu, Owned};
use super::memory::Image;
use super::pipeline::{Binding, Constants, PipelineDesc, Resource, blend_state, stage_info};
use ash::vk;

/// What an attachment is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The next colour attachment.
    Color,
    /// The depth attachment.
    Depth,
    /// What the next colour attachment is resolved to.
    Resolve,
}

/// An attachment of a [`Pass`]. It is cleared or its old content is lost.
#[derive(Clone, Copy)]
pub struct Attachment {
    /// The image; all of it is used.
    pub image: Image,
    /// What for.
    pub role: Role,
    /// What it is cleared to.
    pub clear: Option<vk::ClearValue>,
    /// Whether its content is kept.
    pub store: bool,
    /// The layout after the pass.
    pub leave: vk::ImageLayout,
}

impl Attachment {
    /// A cleared colour attachment that is copied from afterwards.
    pub fn color(image: Image, clear: [f32; 4]) -> Self {
        let clear = Some(vk::ClearValue { color: vk::ClearColorValue { float32: clear } });
        Self { image, role: Role::Color, clear, store: true, leave: vk::ImageLayout::TRANSFER_SRC_OPTIMAL }
    }

    /// A colour attachment of which every pixel is written and which is sampled afterwards.
    pub fn texture(image: Image) -> Self {
        let leave = vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL;
        Self { image, role: Role::Color, clear: None, store: true, leave }
    }

    /// A depth attachment, cleared to 1, which is not needed afterwards.
    pub fn depth(image: Image) -> Self {
        let depth_stencil = vk::ClearDepthStencilValue { depth: 1.0, stencil: 0 };
        let leave = vk::ImageLayout::DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
        Self { image, role: Role::Depth, clear: Some(vk::ClearValue { depth_stencil }), store: false, leave }
    }

    /// What a multisampled colour attachment is resolved to; copied from afterwards.
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
    /// The render pass.
    pub handle: vk::RenderPass,
    /// The framebuffer.
    pub framebuffer: vk::Framebuffer,
    /// Size of the framebuffer; all of it is the render area.
    pub extent: vk::Extent2D,
    /// One value per attachment.
    pub clears: Vec<vk::ClearValue>,
    colors: usize,
    samples: vk::SampleCountFlags,
}

/// A vertex buffer's layout.
#[derive(Clone, Copy)]
pub struct Stream<'a> {
    /// Bytes from one element to the next.
    pub stride: u32,
    /// One element per instance instead of per vertex.
    pub per_instance: bool,
    /// Format and offset of each attribute; locations are counted over all streams.
    pub attributes: &'a [(vk::Format, u32)],
}

/// What a [`Program`] is made from. The viewport is the whole framebuffer of the pass.
#[derive(Clone, Copy)]
pub struct ProgramDesc<'a> {
    /// SPIR-V of the vertex shader; empty where there is a mesh shader.
    pub vertex: &'a [u32],
    /// SPIR-V of the tessellation shaders: control, evaluation.
    pub tessellation: Option<[&'a [u32]; 2]>,
    /// Control points of a patch; 0 without tessellation.
    pub patch_points: u32,
    /// SPIR-V of the geometry shader; empty for none.
    pub geometry: &'a [u32],
    /// SPIR-V of the task shader; empty for none.
    pub task: &'a [u32],
    /// SPIR-V of the mesh shader; empty for none.
    pub mesh: &'a [u32],
    /// SPIR-V of the fragment shader; empty for none.
    pub fragment: &'a [u32],
    /// Specialisation constants of all, `(constant_id, value)`.
    pub constants: &'a [(u32, u32)],
    /// Set 0: the binding is the index.
    pub resources: &'a [Resource],
    /// An array of descriptors in the binding after those; none when it is empty.
    pub array: &'a [Resource],
    /// Bytes of push constants.
    pub push: u32,
    /// Vertex buffers.
    pub streams: &'a [Stream<'a>],
    /// How vertices make primitives.
    pub topology: vk::PrimitiveTopology,
    /// Depth test, and whether depth is written; none for neither.
    pub depth: Option<(vk::CompareOp, bool)>,
    /// Source and destination factor of colour and alpha (`ADD`) in all attachments; none for no blending.
    pub blend: Option<(vk::BlendFactor, vk::BlendFactor)>,
    /// The scissor is set while recording.
    pub dynamic_scissor: bool,
    /// Nothing is rasterized.
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
            dynamic_scissor: false,
            discard: false,
        }
    }
}

/// A graphics pipeline, its layout and its descriptor set.
#[derive(Clone, Copy)]
pub struct Program {
    /// The pipeline.
    pub pipeline: vk::Pipeline,
    /// Its layout.
    pub layout: vk::PipelineLayout,
    /// Set 0, when there are resources.
    pub set: Option<vk::DescriptorSet>,
    set_layout: vk::DescriptorSetLayout,
}

/// The stages that push constants and descriptors of a [`Program`] are for.
pub(super) const STAGES: vk::ShaderStageFlags =
    vk::ShaderStageFlags::from_raw(vk::ShaderStageFlags::VERTEX.as_raw() | vk::ShaderStageFlags::FRAGMENT.as_raw());

impl Gpu {
    /// Makes a render pass with these attachments and its framebuffer, of as many layers as the first one has.
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
        let framebuffer = unsafe { self.device.create_framebuffer(&info, None) }.of("vkCreateFramebuffer")?;
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
        let pass = unsafe { self.device.create_render_pass(&info, None) }.of("vkCreateRenderPass")?;
        self.own(Owned::RenderPass(pass));
        Ok(pass)
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

    /// The same pipeline with a descriptor set of its own.
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
        self.pipeline(&PipelineDesc {
            stages: &stages,
            layout,
            render_pass: pass.handle,
            bindings: &bindings,
            attributes: &attributes,
            topology: desc.topology,
            patch_points: desc.patch_points,
            cull: vk::CullModeFlags::NONE,
            discard: desc.discard,
            samples: pass.samples,
            depth: desc.depth,
            blend: &vec![blend_state(desc.blend); pass.colors],
            dynamic: if desc.dynamic_scissor { &[vk::DynamicState::SCISSOR] } else { &[] },
            extent: pass.extent,
            cache: vk::PipelineCache::null(),
        })
    }
}

/// A binding for each resource, and one more for the array.
pub fn bindings(resources: &[Resource], array: &[Resource]) -> Vec<Binding> {
    let single = resources.iter().zip(0..).map(|(&resource, index)| Binding { index, resource });
    single.chain(array.iter().map(|&resource| Binding { index: resources.len() as u32, resource })).collect()
}

/// Everything of one side before everything of the other.
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

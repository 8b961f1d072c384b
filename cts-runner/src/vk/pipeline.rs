//! Makes descriptor sets and pipelines from short descriptions.

use super::error::{Context, Result};
use super::gpu::{Gpu, Owned};
use super::graphics::{Constants, PipelineDesc, Target, blend_state, stage_info, whole};
use super::memory::{Buffer, Image};
use ash::vk;
use std::ffi::CStr;

/// Object that a descriptor refers to.
#[derive(Clone, Copy)]
pub enum Resource {
    /// A whole storage buffer.
    Storage(vk::Buffer),
    /// A whole uniform buffer.
    Uniform(vk::Buffer),
    /// A part of a uniform buffer with this number of bytes, which begins at a dynamic offset.
    UniformDynamic(vk::Buffer, u64),
    /// A combined image and sampler, in `SHADER_READ_ONLY_OPTIMAL`.
    Texture(vk::ImageView, vk::Sampler),
    /// A combined image and sampler with a Y'CbCr conversion. The sampler is part of the set
    /// layout.
    Converted(vk::ImageView, vk::Sampler),
    /// A sampled image, in `SHADER_READ_ONLY_OPTIMAL`.
    Sampled(vk::ImageView),
    /// A sampler.
    Sampler(vk::Sampler),
    /// A storage image, in `GENERAL`.
    StorageImage(vk::ImageView),
    /// A uniform texel buffer.
    UniformTexel(vk::BufferView),
    /// A storage texel buffer.
    StorageTexel(vk::BufferView),
    /// A top-level acceleration structure.
    Structure(vk::AccelerationStructureKHR),
}

/// One binding of a descriptor set.
#[derive(Clone, Copy)]
pub struct Binding {
    /// Binding number.
    pub index: u32,
    /// Object that the descriptor refers to.
    pub resource: Resource,
}

impl Resource {
    /// Returns the descriptor type.
    pub fn kind(&self) -> vk::DescriptorType {
        match self {
            Resource::Storage(_) => vk::DescriptorType::STORAGE_BUFFER,
            Resource::Uniform(_) => vk::DescriptorType::UNIFORM_BUFFER,
            Resource::UniformDynamic(..) => vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
            Resource::Texture(..) | Resource::Converted(..) => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
            Resource::Sampled(_) => vk::DescriptorType::SAMPLED_IMAGE,
            Resource::Sampler(_) => vk::DescriptorType::SAMPLER,
            Resource::StorageImage(_) => vk::DescriptorType::STORAGE_IMAGE,
            Resource::UniformTexel(_) => vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
            Resource::StorageTexel(_) => vk::DescriptorType::STORAGE_TEXEL_BUFFER,
            Resource::Structure(_) => vk::DescriptorType::ACCELERATION_STRUCTURE_KHR,
        }
    }

    fn buffer_info(&self) -> vk::DescriptorBufferInfo {
        match *self {
            Resource::Storage(b) | Resource::Uniform(b) => {
                vk::DescriptorBufferInfo::default().buffer(b).range(vk::WHOLE_SIZE)
            }
            Resource::UniformDynamic(b, range) => vk::DescriptorBufferInfo::default().buffer(b).range(range),
            _ => vk::DescriptorBufferInfo::default(),
        }
    }

    fn image_info(&self) -> vk::DescriptorImageInfo {
        let info = vk::DescriptorImageInfo::default().image_layout(vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL);
        match *self {
            Resource::Texture(view, sampler) | Resource::Converted(view, sampler) => {
                info.image_view(view).sampler(sampler)
            }
            Resource::Sampled(view) => info.image_view(view),
            Resource::Sampler(sampler) => info.sampler(sampler),
            Resource::StorageImage(view) => info.image_view(view).image_layout(vk::ImageLayout::GENERAL),
            _ => info,
        }
    }

    fn structure_info(&self) -> vk::AccelerationStructureKHR {
        match *self {
            Resource::Structure(s) => s,
            _ => vk::AccelerationStructureKHR::null(),
        }
    }

    fn texel_info(&self) -> vk::BufferView {
        match *self {
            Resource::UniformTexel(v) | Resource::StorageTexel(v) => v,
            _ => vk::BufferView::null(),
        }
    }
}

/// A shader of a pipeline, with its specialisation constants as 32-bit words.
#[derive(Clone, Copy)]
pub struct ShaderStage<'a> {
    /// Shader module, whose entry point is `main`.
    pub module: vk::ShaderModule,
    /// Specialisation constants as pairs `(constant_id, value)`.
    pub constants: &'a [(u32, u32)],
}

/// A graphics pipeline with one vertex layout, one colour and one depth attachment, and a viewport
/// of the whole target.
#[derive(Clone, Copy)]
pub struct GraphicsDesc<'a> {
    /// Optional task shader.
    pub task: Option<ShaderStage<'a>>,
    /// Mesh shader, if the pipeline has no vertex shader.
    pub mesh: Option<ShaderStage<'a>>,
    /// Vertex shader; `None` if there is a mesh shader.
    pub vertex: Option<ShaderStage<'a>>,
    /// Tessellation control and evaluation shaders, in this order.
    pub tessellation: Option<[ShaderStage<'a>; 2]>,
    /// Number of control points of a patch; 0 without tessellation.
    pub patch_points: u32,
    /// Optional geometry shader.
    pub geometry: Option<ShaderStage<'a>>,
    /// Fragment shader.
    pub fragment: ShaderStage<'a>,
    /// Layout of descriptor sets and push constants.
    pub layout: vk::PipelineLayout,
    /// Render pass, of which subpass 0 is used.
    pub render_pass: vk::RenderPass,
    /// Vertex buffer bindings.
    pub bindings: &'a [vk::VertexInputBindingDescription],
    /// Vertex attributes of the bindings.
    pub attributes: &'a [vk::VertexInputAttributeDescription],
    /// Primitive topology of the vertices.
    pub topology: vk::PrimitiveTopology,
    /// Cull mode. Front faces are counter-clockwise.
    pub cull: vk::CullModeFlags,
    /// True if the depth test (`LESS_OR_EQUAL`) is enabled.
    pub depth_test: bool,
    /// True if depth is written.
    pub depth_write: bool,
    /// Source and destination factor of both colour and alpha blending (`ADD`); `None` disables
    /// blending.
    pub blend: Option<(vk::BlendFactor, vk::BlendFactor)>,
    /// Size of the render area in pixels.
    pub extent: vk::Extent2D,
}

/// A pipeline stage without specialisation.
#[derive(Clone, Copy)]
pub struct EntryPoint<'a> {
    /// Shader stage of the entry point.
    pub stage: vk::ShaderStageFlags,
    /// Module that contains the entry point.
    pub module: vk::ShaderModule,
    /// Name of the entry point.
    pub name: &'a CStr,
}

impl EntryPoint<'_> {
    fn info(&self) -> vk::PipelineShaderStageCreateInfo<'_> {
        vk::PipelineShaderStageCreateInfo::default().stage(self.stage).module(self.module).name(self.name)
    }
}

/// A graphics pipeline with any combination of stages.
#[derive(Clone, Copy)]
pub struct StagesDesc<'a> {
    /// Stages of the pipeline, in any order.
    pub stages: &'a [EntryPoint<'a>],
    /// Layout of descriptor sets and push constants.
    pub layout: vk::PipelineLayout,
    /// Render pass, of which subpass 0 is used.
    pub render_pass: vk::RenderPass,
    /// For each colour attachment of the subpass, whether the pipeline writes it.
    pub colors: &'a [bool],
    /// Vertex buffer bindings.
    pub bindings: &'a [vk::VertexInputBindingDescription],
    /// Vertex attributes of the bindings.
    pub attributes: &'a [vk::VertexInputAttributeDescription],
    /// Primitive topology of the vertices.
    pub topology: vk::PrimitiveTopology,
    /// Number of control points of a patch; 0 without tessellation.
    pub patch_points: u32,
    /// Size of the render area in pixels.
    pub extent: vk::Extent2D,
}

impl Gpu {
    /// Makes a shader module.
    pub fn module(&self, code: &[u32]) -> Result<vk::ShaderModule> {
        let info = vk::ShaderModuleCreateInfo::default().code(code);
        // SAFETY: `info` is valid, and the driver checks whether the SPIR-V is valid.
        let module = unsafe { self.device.create_shader_module(&info, None) }.context("vkCreateShaderModule")?;
        self.own(Owned::Module(module));
        Ok(module)
    }

    /// Makes a descriptor-set layout with one descriptor for each given type. A binding that occurs
    /// several times is an array.
    pub fn set_layout(
        &self,
        kinds: &[(u32, vk::DescriptorType)],
        stages: vk::ShaderStageFlags,
    ) -> Result<vk::DescriptorSetLayout> {
        self.set_layout_with(kinds, stages, &[])
    }

    /// Makes a descriptor-set layout as [`Self::set_layout`] does, with immutable samplers in some
    /// bindings.
    pub fn set_layout_with(
        &self,
        kinds: &[(u32, vk::DescriptorType)],
        stages: vk::ShaderStageFlags,
        samplers: &[(u32, [vk::Sampler; 1])],
    ) -> Result<vk::DescriptorSetLayout> {
        let mut bindings: Vec<vk::DescriptorSetLayoutBinding<'_>> = Vec::new();
        for &(index, kind) in kinds {
            let new =
                vk::DescriptorSetLayoutBinding::default().binding(index).descriptor_type(kind).stage_flags(stages);
            match bindings.iter_mut().find(|b| b.binding == index) {
                Some(array) => array.descriptor_count += 1,
                None => bindings.push(new.descriptor_count(1)),
            }
        }
        for binding in &mut bindings {
            if let Some((_, sampler)) = samplers.iter().find(|(index, _)| *index == binding.binding) {
                *binding = binding.immutable_samplers(sampler);
            }
        }
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: `info` is valid.
        let layout =
            unsafe { self.device.create_descriptor_set_layout(&info, None) }.context("vkCreateDescriptorSetLayout")?;
        self.own(Owned::SetLayout(layout));
        Ok(layout)
    }

    /// Makes a pipeline layout of one set and a push-constant range that starts at 0.
    pub fn pipeline_layout(
        &self,
        set: vk::DescriptorSetLayout,
        push_bytes: u32,
        stages: vk::ShaderStageFlags,
    ) -> Result<vk::PipelineLayout> {
        self.pipeline_layout_of(&[set], push_bytes, stages)
    }

    /// Makes a pipeline layout as [`Self::pipeline_layout`] does, with any number of sets.
    pub fn pipeline_layout_of(
        &self,
        sets: &[vk::DescriptorSetLayout],
        push_bytes: u32,
        stages: vk::ShaderStageFlags,
    ) -> Result<vk::PipelineLayout> {
        let ranges = [vk::PushConstantRange::default().stage_flags(stages).size(push_bytes)];
        let mut info = vk::PipelineLayoutCreateInfo::default().set_layouts(sets);
        if push_bytes > 0 {
            info = info.push_constant_ranges(&ranges);
        }
        // SAFETY: `info` is valid.
        let layout = unsafe { self.device.create_pipeline_layout(&info, None) }.context("vkCreatePipelineLayout")?;
        self.own(Owned::PipelineLayout(layout));
        Ok(layout)
    }

    /// Makes a descriptor set with its own pool and writes it. Bindings with the same number are
    /// the elements of an array, in order.
    pub fn descriptor_set(&self, layout: vk::DescriptorSetLayout, bindings: &[Binding]) -> Result<vk::DescriptorSet> {
        // A descriptor with a conversion may count as one descriptor per plane.
        let planes = |b: &Binding| if matches!(b.resource, Resource::Converted(..)) { 3 } else { 1 };
        let sizes: Vec<_> = bindings
            .iter()
            .map(|b| vk::DescriptorPoolSize::default().ty(b.resource.kind()).descriptor_count(planes(b)))
            .collect();
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
        // SAFETY: `info` is valid.
        let pool = unsafe { self.device.create_descriptor_pool(&info, None) }.context("vkCreateDescriptorPool")?;
        self.own(Owned::DescriptorPool(pool));
        let layouts = [layout];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        // SAFETY: the pool was created with capacity for this set.
        let set = unsafe { self.device.allocate_descriptor_sets(&info) }.context("vkAllocateDescriptorSets")?[0];
        for (i, binding) in bindings.iter().enumerate() {
            let element = bindings[..i].iter().filter(|b| b.index == binding.index).count();
            self.write_descriptor(set, binding, element as u32);
        }
        Ok(set)
    }

    fn write_descriptor(&self, set: vk::DescriptorSet, binding: &Binding, element: u32) {
        let buffers = [binding.resource.buffer_info()];
        let images = [binding.resource.image_info()];
        let texels = [binding.resource.texel_info()];
        let structures = [binding.resource.structure_info()];
        let mut chained =
            vk::WriteDescriptorSetAccelerationStructureKHR::default().acceleration_structures(&structures);
        let write = vk::WriteDescriptorSet::default()
            .dst_set(set)
            .dst_binding(binding.index)
            .dst_array_element(element)
            .descriptor_type(binding.resource.kind())
            .descriptor_count(1);
        let write = match binding.resource {
            Resource::Storage(_) | Resource::Uniform(_) | Resource::UniformDynamic(..) => write.buffer_info(&buffers),
            Resource::UniformTexel(_) | Resource::StorageTexel(_) => write.texel_buffer_view(&texels),
            Resource::Structure(_) => write.push_next(&mut chained),
            _ => write.image_info(&images),
        };
        // SAFETY: the set is new and not in use. The write has the type with which the layout was
        // made.
        unsafe { self.device.update_descriptor_sets(&[write], &[]) }
    }

    /// Makes a compute pipeline.
    pub fn compute_pipeline(&self, stage: ShaderStage<'_>, layout: vk::PipelineLayout) -> Result<vk::Pipeline> {
        let constants = Constants::new(stage.constants);
        let special = constants.info();
        let info = vk::ComputePipelineCreateInfo::default()
            .stage(stage_info(vk::ShaderStageFlags::COMPUTE, stage.module, &special))
            .layout(layout);
        // SAFETY: `info` and what it points to are valid.
        let made = unsafe { self.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None) };
        self.keep_pipeline(made, "vkCreateComputePipelines")
    }

    /// Makes a graphics pipeline.
    pub fn graphics_pipeline(&self, desc: &GraphicsDesc<'_>) -> Result<vk::Pipeline> {
        let shaders = [
            (vk::ShaderStageFlags::TASK_EXT, desc.task),
            (vk::ShaderStageFlags::MESH_EXT, desc.mesh),
            (vk::ShaderStageFlags::VERTEX, desc.vertex),
            (vk::ShaderStageFlags::TESSELLATION_CONTROL, desc.tessellation.map(|[control, _]| control)),
            (vk::ShaderStageFlags::TESSELLATION_EVALUATION, desc.tessellation.map(|[_, evaluation]| evaluation)),
            (vk::ShaderStageFlags::GEOMETRY, desc.geometry),
            (vk::ShaderStageFlags::FRAGMENT, Some(desc.fragment)),
        ];
        let shaders: Vec<_> = shaders.into_iter().filter_map(|(stage, shader)| Some((stage, shader?))).collect();
        let constants: Vec<_> = shaders.iter().map(|(_, shader)| Constants::new(shader.constants)).collect();
        let special: Vec<_> = constants.iter().map(Constants::info).collect();
        let stages: Vec<_> = shaders
            .iter()
            .zip(&special)
            .map(|(&(stage, shader), info)| stage_info(stage, shader.module, info))
            .collect();
        let (viewport, scissor) = whole(desc.extent);
        self.pipeline(&PipelineDesc {
            bindings: desc.bindings,
            attributes: desc.attributes,
            topology: desc.topology,
            patch_points: desc.patch_points,
            viewports: &[viewport],
            scissors: &[scissor],
            faces: (desc.cull, vk::FrontFace::COUNTER_CLOCKWISE),
            depth: desc.depth_test.then_some((vk::CompareOp::LESS_OR_EQUAL, desc.depth_write)),
            blend: &[blend_state(desc.blend)],
            ..PipelineDesc::new(&stages, desc.layout, Target::Subpass(desc.render_pass, 0))
        })
    }

    /// Makes a graphics pipeline from a full description.
    pub(super) fn pipeline(&self, desc: &PipelineDesc<'_>) -> Result<vk::Pipeline> {
        let pipeline = desc.create(&self.device).context("vkCreateGraphicsPipelines")?;
        self.own(Owned::Pipeline(pipeline));
        Ok(pipeline)
    }

    /// Makes a pipeline cache from data that [`Self::pipeline_cache_data`] returned, or an empty
    /// one.
    pub fn pipeline_cache(&self, data: &[u8]) -> Result<vk::PipelineCache> {
        let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
        // SAFETY: `info` is valid; the driver checks the data's header.
        let cache = unsafe { self.device.create_pipeline_cache(&info, None) }.context("vkCreatePipelineCache")?;
        self.own(Owned::PipelineCache(cache));
        Ok(cache)
    }

    /// Returns the data of a pipeline cache.
    pub fn pipeline_cache_data(&self, cache: vk::PipelineCache) -> Result<Vec<u8>> {
        // SAFETY: the cache is alive.
        unsafe { self.device.get_pipeline_cache_data(cache) }.context("vkGetPipelineCacheData")
    }

    /// Makes a compute pipeline with a pipeline cache.
    pub fn compute_pipeline_in(
        &self,
        stage: EntryPoint<'_>,
        layout: vk::PipelineLayout,
        cache: vk::PipelineCache,
    ) -> Result<vk::Pipeline> {
        let info = vk::ComputePipelineCreateInfo::default().stage(stage.info()).layout(layout);
        // SAFETY: `info` and what it points to are valid.
        let made = unsafe { self.device.create_compute_pipelines(cache, &[info], None) };
        self.keep_pipeline(made, "vkCreateComputePipelines")
    }

    /// Makes a graphics pipeline of any stages with a pipeline cache. It has no depth test, no
    /// blending and a fixed viewport.
    pub fn stages_pipeline_in(&self, desc: &StagesDesc<'_>, cache: vk::PipelineCache) -> Result<vk::Pipeline> {
        let stages: Vec<_> = desc.stages.iter().map(EntryPoint::info).collect();
        let (viewport, scissor) = whole(desc.extent);
        self.pipeline(&PipelineDesc {
            bindings: desc.bindings,
            attributes: desc.attributes,
            topology: desc.topology,
            patch_points: desc.patch_points,
            viewports: &[viewport],
            scissors: &[scissor],
            blend: &desc.colors.iter().map(|&written| write_state(written)).collect::<Vec<_>>(),
            cache,
            ..PipelineDesc::new(&stages, desc.layout, Target::Subpass(desc.render_pass, 0))
        })
    }

    /// Takes the only pipeline of the result of a creation.
    pub(super) fn keep_pipeline(
        &self,
        made: std::result::Result<Vec<vk::Pipeline>, (Vec<vk::Pipeline>, vk::Result)>,
        command: &'static str,
    ) -> Result<vk::Pipeline> {
        let pipeline = made.map_err(|(_, code)| code).context(command)?[0];
        self.own(Owned::Pipeline(pipeline));
        Ok(pipeline)
    }

    /// Makes a render pass that clears colour and depth and leaves colour in
    /// `TRANSFER_SRC_OPTIMAL`, with its framebuffer.
    pub fn render_target(&self, color: &Image, depth: &Image) -> Result<(vk::RenderPass, vk::Framebuffer)> {
        let attachment = |image: &Image, store, layout| {
            vk::AttachmentDescription::default()
                .format(image.desc.format)
                .samples(vk::SampleCountFlags::TYPE_1)
                .load_op(vk::AttachmentLoadOp::CLEAR)
                .store_op(store)
                .stencil_load_op(vk::AttachmentLoadOp::DONT_CARE)
                .stencil_store_op(vk::AttachmentStoreOp::DONT_CARE)
                .final_layout(layout)
        };
        let depth_layout = vk::ImageLayout::DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
        let attachments = [
            attachment(color, vk::AttachmentStoreOp::STORE, vk::ImageLayout::TRANSFER_SRC_OPTIMAL),
            attachment(depth, vk::AttachmentStoreOp::DONT_CARE, depth_layout),
        ];
        let color_refs = [vk::AttachmentReference { attachment: 0, layout: vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL }];
        let depth_ref = vk::AttachmentReference { attachment: 1, layout: depth_layout };
        let subpasses = [vk::SubpassDescription::default()
            .pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS)
            .color_attachments(&color_refs)
            .depth_stencil_attachment(&depth_ref)];
        let (all, drawing) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::PipelineStageFlags::ALL_GRAPHICS);
        let edge = |src, src_stages, dst, dst_stages| {
            vk::SubpassDependency::default()
                .src_subpass(src)
                .dst_subpass(dst)
                .src_stage_mask(src_stages)
                .dst_stage_mask(dst_stages)
                .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
                .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
        };
        let dependencies = [edge(vk::SUBPASS_EXTERNAL, all, 0, drawing), edge(0, drawing, vk::SUBPASS_EXTERNAL, all)];
        let info = vk::RenderPassCreateInfo::default()
            .attachments(&attachments)
            .subpasses(&subpasses)
            .dependencies(&dependencies);
        // SAFETY: `info` and what it points to are valid.
        let pass = unsafe { self.device.create_render_pass(&info, None) }.context("vkCreateRenderPass")?;
        self.own(Owned::RenderPass(pass));
        let views = [color.view, depth.view];
        let info = vk::FramebufferCreateInfo::default()
            .render_pass(pass)
            .attachments(&views)
            .width(color.desc.extent[0])
            .height(color.desc.extent[1])
            .layers(1);
        // SAFETY: the views match the attachments of the pass.
        let framebuffer = unsafe { self.device.create_framebuffer(&info, None) }.context("vkCreateFramebuffer")?;
        self.own(Owned::Framebuffer(framebuffer));
        Ok((pass, framebuffer))
    }

    /// Makes a render pass that clears one colour attachment and leaves it in
    /// `TRANSFER_SRC_OPTIMAL`, with its framebuffer.
    pub fn color_target(&self, color: &Image) -> Result<(vk::RenderPass, vk::Framebuffer)> {
        let attachments = [vk::AttachmentDescription::default()
            .format(color.desc.format)
            .samples(vk::SampleCountFlags::TYPE_1)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)
            .stencil_load_op(vk::AttachmentLoadOp::DONT_CARE)
            .stencil_store_op(vk::AttachmentStoreOp::DONT_CARE)
            .final_layout(vk::ImageLayout::TRANSFER_SRC_OPTIMAL)];
        let refs = [vk::AttachmentReference { attachment: 0, layout: vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL }];
        let subpasses = [vk::SubpassDescription::default()
            .pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS)
            .color_attachments(&refs)];
        let info = vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpasses);
        // SAFETY: `info` and what it points to are valid.
        let pass = unsafe { self.device.create_render_pass(&info, None) }.context("vkCreateRenderPass")?;
        self.own(Owned::RenderPass(pass));
        let views = [color.view];
        let info = vk::FramebufferCreateInfo::default()
            .render_pass(pass)
            .attachments(&views)
            .width(color.desc.extent[0])
            .height(color.desc.extent[1])
            .layers(1);
        // SAFETY: the view matches the attachment of the pass.
        let framebuffer = unsafe { self.device.create_framebuffer(&info, None) }.context("vkCreateFramebuffer")?;
        self.own(Owned::Framebuffer(framebuffer));
        Ok((pass, framebuffer))
    }

    /// Makes a buffer with the given usage that holds `words`.
    pub fn buffer_with(&self, words: &[u32], usage: vk::BufferUsageFlags) -> Result<Buffer> {
        let buffer = self.buffer(size_of_val(words), usage)?;
        buffer.write(0, words);
        Ok(buffer)
    }
}

fn write_state(written: bool) -> vk::PipelineColorBlendAttachmentState {
    if written { blend_state(None) } else { vk::PipelineColorBlendAttachmentState::default() }
}

/// Converts the bytes of a file to SPIR-V words.
pub fn spirv_words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

//! Runs a shader on a driver, either as a compute stage on words or as a draw of a small picture.

use super::shader::{Compare, Input, Random, Shader};
use crate::vk::raw as vk;
use crate::vk::{
    Api, Binding, Buffer, Gpu, GpuOptions, GraphicsDesc, Image, ImageDesc, Manifest, Resource, Result, ShaderStage,
    memory_barrier,
};
use std::path::Path;

const GROUPS: u32 = 16;
const WORDS: usize = 4096;
const TARGET: u32 = 64;
const VERTICES: u32 = 96;
/// Number of workgroups of a draw with a mesh stage. They are workgroups of its task stage, if it
/// has one.
const MESH_GROUPS: [u32; 3] = [4, 2, 1];

/// A driver and its devices without and with mesh stages, which are made again after an error.
pub struct Driver {
    api: Api,
    gpus: [Option<Gpu>; 2],
    /// Vulkan version that the device reports; 0 before a device was made.
    pub api_version: u32,
}

impl Driver {
    /// Opens a driver without the loader.
    ///
    /// # Errors
    /// Returns an error if the driver cannot be opened.
    pub fn open(icd: &Path) -> Result<Self> {
        Ok(Self { api: Api::open_icd(&Manifest::read(icd)?)?, gpus: [None, None], api_version: 0 })
    }

    /// Runs a shader and returns its output.
    ///
    /// # Errors
    /// Returns the errors of the driver.
    pub fn run(&mut self, shader: &Shader, input: &[u32]) -> Result<Vec<u32>> {
        let kind = usize::from(shader.has_meshes());
        let gpu = match self.gpus[kind].take() {
            Some(gpu) => gpu,
            None if shader.has_meshes() => Gpu::new(&self.api, &GpuOptions::everything())?,
            None => Gpu::new(&self.api, &options())?,
        };
        self.api_version = gpu.properties.api_version;
        let mark = gpu.mark();
        let result = if shader.modules.len() == 1 { compute(&gpu, shader, input) } else { draw(&gpu, shader, input) };
        gpu.release_to(mark);
        if result.is_ok() {
            self.gpus[kind] = Some(gpu);
        }
        result
    }

    /// Returns true if the driver has the stages of a shader.
    pub fn knows(&mut self, shader: &Shader) -> bool {
        if !shader.has_meshes() {
            return true;
        }
        if self.gpus[1].is_none() {
            self.gpus[1] = Gpu::new(&self.api, &GpuOptions::everything()).ok();
        }
        self.gpus[1].as_ref().is_some_and(|gpu| gpu.optional.mesh_shader)
    }
}

fn options() -> GpuOptions {
    let features = vk::PhysicalDeviceFeatures::default()
        .geometry_shader(true)
        .tessellation_shader(true)
        .shader_image_gather_extended(true)
        .shader_storage_image_extended_formats(true)
        .fragment_stores_and_atomics(true)
        .shader_float64(true);
    GpuOptions { api_version: vk::API_VERSION_1_1, features, ..GpuOptions::default() }
}

/// Resources of a shader's binding classes, including the storage images whose content is output as
/// well.
struct Resources {
    bindings: Vec<Binding>,
    written: Vec<Image>,
    texels: Vec<Buffer>,
}

impl Resources {
    fn new(gpu: &Gpu, shader: &Shader) -> Result<Self> {
        let mut random = Random(0x5EED_1234);
        let mut made = Self { bindings: Vec::new(), written: Vec::new(), texels: Vec::new() };
        let block = random.words(Input::Float(-1.0, 1.0), 64);
        let uniform = gpu.buffer_with(&block, vk::BufferUsageFlags::UNIFORM_BUFFER)?;
        made.bind(2, Resource::Uniform(uniform.handle));
        if shader.binds("textures") {
            made.add_textures(gpu, &mut random)?;
        }
        if shader.binds("images") {
            made.add_images(gpu)?;
        }
        if shader.binds("texels") {
            let colors =
                gpu.buffer_with(&random.words(Input::Uint, 1024), vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER)?;
            let numbers = gpu.buffer(WORDS, vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER)?;
            made.bind(17, Resource::UniformTexel(gpu.texel_view(&colors, vk::Format::R8G8B8A8_UNORM)?));
            made.bind(18, Resource::StorageTexel(gpu.texel_view(&numbers, vk::Format::R32_UINT)?));
            made.texels.push(numbers);
        }
        Ok(made)
    }

    fn bind(&mut self, index: u32, resource: Resource) {
        self.bindings.push(Binding { index, resource });
    }

    fn add_textures(&mut self, gpu: &Gpu, random: &mut Random) -> Result<()> {
        use vk::{Format as F, ImageViewType as V};
        let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
        let linear = vk::SamplerCreateInfo::default()
            .mag_filter(vk::Filter::LINEAR)
            .min_filter(vk::Filter::LINEAR)
            .mipmap_mode(vk::SamplerMipmapMode::LINEAR)
            .address_mode_v(vk::SamplerAddressMode::MIRRORED_REPEAT)
            .address_mode_w(vk::SamplerAddressMode::CLAMP_TO_EDGE)
            .max_lod(vk::LOD_CLAMP_NONE);
        let nearest = vk::SamplerCreateInfo::default().max_lod(vk::LOD_CLAMP_NONE);
        let compare = linear
            .address_mode_u(vk::SamplerAddressMode::CLAMP_TO_EDGE)
            .address_mode_v(vk::SamplerAddressMode::CLAMP_TO_EDGE)
            .compare_enable(true)
            .compare_op(vk::CompareOp::LESS);
        let (linear, nearest, compare) = (gpu.sampler(&linear)?, gpu.sampler(&nearest)?, gpu.sampler(&compare)?);
        let rgba = F::R8G8B8A8_UNORM;
        // Columns are binding, view, format, extent, layers, levels and sampler. Depth is compared
        // unfiltered, because filtering it is optional.
        let rows = [
            (3, V::TYPE_1D, rgba, [16, 1, 1], 1, 1, linear),
            (4, V::TYPE_2D, rgba, [16, 16, 1], 1, 5, linear),
            (5, V::TYPE_3D, rgba, [8, 8, 8], 1, 1, linear),
            (6, V::CUBE, rgba, [8, 8, 1], 6, 1, nearest),
            (7, V::TYPE_1D_ARRAY, rgba, [16, 1, 1], 4, 1, linear),
            (8, V::TYPE_2D_ARRAY, rgba, [16, 16, 1], 4, 1, linear),
            (10, V::TYPE_2D, F::D16_UNORM, [16, 16, 1], 1, 1, compare),
            (11, V::TYPE_2D, F::R32_UINT, [16, 16, 1], 1, 1, nearest),
            (12, V::TYPE_2D, rgba, [16, 16, 1], 1, 1, linear),
        ];
        for (index, view, format, extent, layers, levels, sampler) in rows {
            let texel = if format == F::D16_UNORM { 2 } else { 4 };
            let image = gpu.image(&ImageDesc { view, format, extent, layers, levels, usage })?;
            let content = random.words(Input::Uint, 2048);
            let staging = gpu.buffer_with(&content, vk::BufferUsageFlags::TRANSFER_SRC)?;
            gpu.upload(&staging, &image, texel, vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL)?;
            let separate = index == 12;
            let both = Resource::Texture(image.view, sampler);
            self.bind(index, if separate { Resource::Sampled(image.view) } else { both });
        }
        self.bind(13, Resource::Sampler(linear));
        Ok(())
    }

    fn add_images(&mut self, gpu: &Gpu) -> Result<()> {
        use vk::{Format as F, ImageUsageFlags as U, ImageViewType as V};
        let usage = U::STORAGE | U::TRANSFER_DST | U::TRANSFER_SRC;
        let rows = [
            (14, V::TYPE_2D, F::R8G8B8A8_UNORM, [32, 32, 1]),
            (15, V::TYPE_2D, F::R32_UINT, [32, 32, 1]),
            (16, V::TYPE_3D, F::R32_SFLOAT, [8, 8, 8]),
        ];
        for (index, view, format, extent) in rows {
            let image = gpu.image(&ImageDesc { view, format, extent, layers: 1, levels: 1, usage })?;
            let zero = gpu.buffer(4096, vk::BufferUsageFlags::TRANSFER_SRC)?;
            gpu.upload(&zero, &image, 4, vk::ImageLayout::GENERAL)?;
            self.bind(index, Resource::StorageImage(image.view));
            self.written.push(image);
        }
        Ok(())
    }

    /// Returns the words that the shader stored. Image content is converted to floats if the
    /// outputs are compared as floats. Content of texel buffers always is.
    fn stored(&self, gpu: &Gpu, shader: &Shader) -> Result<Vec<u32>> {
        let mut words = Vec::new();
        for image in &self.written {
            let content = gpu.read_image(image, 4, vk::ImageLayout::GENERAL)?.read();
            let as_float = matches!(shader.compare, Compare::Float(_));
            match image.desc.format {
                vk::Format::R8G8B8A8_UNORM if as_float => {
                    let channels = content.iter().flat_map(|w| w.to_le_bytes());
                    words.extend(channels.map(|c| (f32::from(c) / 255.0).to_bits()));
                }
                // The values are small integers, so comparing them as floats is exact.
                vk::Format::R32_UINT if as_float => words.extend(content.iter().map(|w| (*w as f32).to_bits())),
                _ => words.extend(content),
            }
        }
        for buffer in &self.texels {
            words.extend(buffer.read().iter().map(|w| (*w as f32).to_bits()));
        }
        Ok(words)
    }
}

fn push_bytes(shader: &Shader) -> Vec<u8> {
    shader.push.iter().flat_map(|w| w.to_ne_bytes()).collect()
}

fn compute(gpu: &Gpu, shader: &Shader, input: &[u32]) -> Result<Vec<u32>> {
    let mut resources = Resources::new(gpu, shader)?;
    let source = gpu.buffer_with(input, vk::BufferUsageFlags::STORAGE_BUFFER)?;
    let out = gpu.buffer(WORDS * 4, vk::BufferUsageFlags::STORAGE_BUFFER)?;
    resources.bind(0, Resource::Storage(source.handle));
    resources.bind(1, Resource::Storage(out.handle));
    let stage = vk::ShaderStageFlags::COMPUTE;
    let kinds: Vec<_> = resources.bindings.iter().map(|b| (b.index, b.resource.kind())).collect();
    let set_layout = gpu.set_layout(&kinds, stage)?;
    let set = gpu.descriptor_set(set_layout, &resources.bindings)?;
    let push = push_bytes(shader);
    let layout = gpu.pipeline_layout(set_layout, push.len() as u32, stage)?;
    let module = gpu.module(&shader.modules[0])?;
    let pipeline = gpu.compute_pipeline(ShaderStage { module, constants: &shader.spec }, layout)?;
    gpu.run(|d, cmd| {
        // SAFETY: all handles are alive. The set matches the layout and covers all resources of the
        // shader.
        unsafe {
            d.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::COMPUTE, pipeline);
            d.cmd_bind_descriptor_sets(cmd, vk::PipelineBindPoint::COMPUTE, layout, 0, &[set], &[]);
            if !push.is_empty() {
                d.cmd_push_constants(cmd, layout, stage, 0, &push);
            }
            d.cmd_dispatch(cmd, GROUPS, 1, 1);
        }
        memory_barrier(d, cmd);
    })?;
    let mut words = out.read();
    words.extend(resources.stored(gpu, shader)?);
    Ok(words)
}

fn unspecialised(module: vk::ShaderModule) -> ShaderStage<'static> {
    ShaderStage { module, constants: &[] }
}

fn draw(gpu: &Gpu, shader: &Shader, input: &[u32]) -> Result<Vec<u32>> {
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    let color = gpu.image(&ImageDesc::d2(vk::Format::R8G8B8A8_UNORM, TARGET, TARGET, usage))?;
    let depth_usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
    let depth = gpu.image(&ImageDesc::d2(vk::Format::D16_UNORM, TARGET, TARGET, depth_usage))?;
    let (render_pass, framebuffer) = gpu.render_target(&color, &depth)?;
    let resources = Resources::new(gpu, shader)?;
    let module = |stage: &str| {
        let words = shader.stages.iter().zip(&shader.modules).find(|(s, _)| **s == stage).map(|(_, words)| words);
        words.map(|words| gpu.module(words)).transpose()
    };
    let (control, evaluation, geometry) = (module("tesc")?, module("tese")?, module("geom")?);
    let (task, mesh, vertex) = (module("task")?, module("mesh")?, module("vert")?);
    let mut stages = vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::FRAGMENT;
    if mesh.is_some() {
        stages |= vk::ShaderStageFlags::TASK_EXT | vk::ShaderStageFlags::MESH_EXT;
    }
    if geometry.is_some() {
        stages |= vk::ShaderStageFlags::GEOMETRY;
    }
    if control.is_some() {
        stages |= vk::ShaderStageFlags::TESSELLATION_CONTROL | vk::ShaderStageFlags::TESSELLATION_EVALUATION;
    }
    let kinds: Vec<_> = resources.bindings.iter().map(|b| (b.index, b.resource.kind())).collect();
    let set_layout = gpu.set_layout(&kinds, stages)?;
    let set = gpu.descriptor_set(set_layout, &resources.bindings)?;
    let layout = gpu.pipeline_layout(set_layout, 0, stages)?;
    let vertices = gpu.buffer_with(input, vk::BufferUsageFlags::VERTEX_BUFFER)?;
    let rate = vk::VertexInputRate::VERTEX;
    let bindings = [vk::VertexInputBindingDescription { binding: 0, stride: 32, input_rate: rate }];
    let format = vk::Format::R32G32B32A32_SFLOAT;
    let attributes =
        [0, 1].map(|i| vk::VertexInputAttributeDescription { location: i, binding: 0, format, offset: i * 16 });
    let extent = vk::Extent2D { width: TARGET, height: TARGET };
    let pipeline = gpu.graphics_pipeline(&GraphicsDesc {
        task: task.map(unspecialised),
        mesh: mesh.map(unspecialised),
        vertex: vertex.map(unspecialised),
        tessellation: control.zip(evaluation).map(|(control, evaluation)| [control, evaluation].map(unspecialised)),
        patch_points: shader.patch,
        geometry: geometry.map(unspecialised),
        fragment: ShaderStage { module: module("frag")?.expect("a fragment stage"), constants: &shader.spec },
        layout,
        render_pass,
        bindings: &bindings,
        attributes: &attributes,
        topology: shader.topology,
        cull: vk::CullModeFlags::NONE,
        depth_test: true,
        depth_write: true,
        blend: None,
        extent,
    })?;
    let depth_clear = vk::ClearDepthStencilValue { depth: 1.0, stencil: 0 };
    let clears = [vk::ClearValue::default(), vk::ClearValue { depth_stencil: depth_clear }];
    let begin = vk::RenderPassBeginInfo::default()
        .render_pass(render_pass)
        .framebuffer(framebuffer)
        .render_area(vk::Rect2D::default().extent(extent))
        .clear_values(&clears);
    let meshes = ash::ext::mesh_shader::Device::new(&gpu.instance, &gpu.device);
    gpu.run(|d, cmd| {
        // SAFETY: all handles are alive, the set matches the layout, and the vertex buffer holds
        // the vertices of the draw.
        unsafe {
            d.cmd_begin_render_pass(cmd, &begin, vk::SubpassContents::INLINE);
            d.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            d.cmd_bind_descriptor_sets(cmd, vk::PipelineBindPoint::GRAPHICS, layout, 0, &[set], &[]);
            d.cmd_bind_vertex_buffers(cmd, 0, &[vertices.handle], &[0]);
            match mesh {
                Some(_) => meshes.cmd_draw_mesh_tasks(cmd, MESH_GROUPS[0], MESH_GROUPS[1], MESH_GROUPS[2]),
                None => d.cmd_draw(cmd, VERTICES, 1, 0, 0),
            }
            d.cmd_end_render_pass(cmd);
        }
    })?;
    Ok(gpu.read_image(&color, 4, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?.read())
}

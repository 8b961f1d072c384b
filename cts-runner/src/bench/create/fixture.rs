//! Environment of a pipeline of the family: layouts, resources with fixed content, and a target of
//! 16×16 pixels.
//!
//! The shaders follow conventions. A fragment shader gets `uv` at location 0 and writes a colour. A
//! vertex, tessellation or geometry shader places 256 points on the pixels and passes on a colour.
//! A compute shader writes 256 packed colours to binding 0. Every pipeline therefore produces one
//! picture, which can be compared.

use super::reflect::Interface;
use crate::bench::figure::SetupError;
use crate::vk::{
    Binding, Buffer, DrawState, EntryPoint, Error, Gpu, Image, ImageDesc, ObjectCode, ObjectDesc, Resource,
    ShaderBinary, StagesDesc, memory_barrier,
};
use ash::vk;

/// Width and height of the picture in pixels.
pub const SIDE: u32 = 16;
/// Number of bytes of the picture.
pub const PICTURE: usize = (SIDE * SIDE * 4) as usize;

type Stage = vk::ShaderStageFlags;

/// Stages of a pipeline and the parameters of its draw.
pub struct Program {
    /// Stages in order, with their SPIR-V.
    pub stages: Vec<(Stage, Vec<u32>)>,
    /// Topology of a graphics pipeline.
    pub topology: vk::PrimitiveTopology,
    /// Number of vertices that are drawn.
    pub vertices: u32,
}

impl Program {
    fn is_compute(&self) -> bool {
        self.stages.iter().any(|(stage, _)| *stage == Stage::COMPUTE)
    }

    fn all_stages(&self) -> Stage {
        self.stages.iter().fold(Stage::empty(), |all, (stage, _)| all | *stage)
    }
}

/// All objects that a pipeline needs, except the pipeline itself.
pub struct PipelineFixture<'a> {
    gpu: &'a Gpu,
    program: &'a Program,
    set_layout: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    set: vk::DescriptorSet,
    push: bool,
    output: Buffer,
    inputs: Vec<(u32, u32)>,
    vertices: Option<Buffer>,
    target: Option<(Image, vk::RenderPass, vk::Framebuffer)>,
}

const PUSH_BYTES: u32 = 64;
const UNIFORM_BYTES: usize = 16 << 10;
const STORAGE_BYTES: usize = 64 << 10;
/// Number of bytes between vertices. All attributes overlap in one vec4 at the offset of their
/// location.
const STRIDE: u32 = 64;

/// Returns floats in 0..1 without short repetitions, which are fractional parts of multiples of the
/// golden ratio.
fn pattern(bytes: usize) -> Vec<u32> {
    (0..bytes / 4).map(|i| (((i as u32).wrapping_mul(0x9e37_79b9) >> 8) as f32 / 16_777_216.0).to_bits()).collect()
}

impl<'a> PipelineFixture<'a> {
    /// Makes all objects except the pipeline. Returns an error if the device lacks a stage of the
    /// program.
    pub fn new(gpu: &'a Gpu, program: &'a Program) -> Result<Self, SetupError> {
        check_stages(gpu, program)?;
        let mut interface = Interface::default();
        for (_, code) in &program.stages {
            interface.join(&Interface::from_module(code));
        }
        let inputs = program.stages.iter().find(|(stage, _)| *stage == Stage::VERTEX);
        let inputs = inputs.map(|(_, code)| Interface::from_module(code).inputs).unwrap_or_default();
        let output = gpu.buffer(PICTURE, vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::TRANSFER_DST)?;
        let set_layout = gpu.set_layout(&interface.descriptors, program.all_stages())?;
        let bindings = bindings(gpu, program, &interface, &output)?;
        let set = gpu.descriptor_set(set_layout, &bindings)?;
        let push_bytes = if interface.push { PUSH_BYTES } else { 0 };
        let layout = gpu.pipeline_layout(set_layout, push_bytes, program.all_stages())?;
        let vertices = match inputs.is_empty() {
            true => None,
            false => {
                Some(gpu.buffer_with(&pattern((STRIDE * SIDE * SIDE) as usize), vk::BufferUsageFlags::VERTEX_BUFFER)?)
            }
        };
        let target = if program.is_compute() { None } else { Some(target(gpu)?) };
        Ok(Self { gpu, program, set_layout, layout, set, push: interface.push, output, inputs, vertices, target })
    }

    /// Makes the shader modules and the pipeline. This is the part that is timed.
    pub fn pipeline(&self, cache: vk::PipelineCache) -> Result<vk::Pipeline, Error> {
        let make = |&(stage, ref code): &(Stage, Vec<u32>)| {
            Ok(EntryPoint { stage, module: self.gpu.module(code)?, name: c"main" })
        };
        let stages = self.program.stages.iter().map(make).collect::<Result<Vec<_>, Error>>()?;
        let Some((_, render_pass, _)) = self.target else {
            return self.gpu.compute_pipeline_in(stages[0], self.layout, cache);
        };
        let attributes: Vec<_> = self.attributes().collect();
        let bindings = [vk::VertexInputBindingDescription::default().stride(STRIDE)];
        let desc = StagesDesc {
            stages: &stages,
            layout: self.layout,
            render_pass,
            colors: &[true],
            bindings: if attributes.is_empty() { &[] } else { &bindings },
            attributes: &attributes,
            topology: self.program.topology,
            patch_points: self.patch_points(),
            extent: vk::Extent2D { width: SIDE, height: SIDE },
        };
        self.gpu.stages_pipeline_in(&desc, cache)
    }

    /// Returns the attributes of the vertex stage.
    fn attributes(&self) -> impl Iterator<Item = vk::VertexInputAttributeDescription> {
        self.inputs.iter().map(|&(location, components)| {
            let format = match components {
                1 => vk::Format::R32_SFLOAT,
                2 => vk::Format::R32G32_SFLOAT,
                3 => vk::Format::R32G32B32_SFLOAT,
                _ => vk::Format::R32G32B32A32_SFLOAT,
            };
            vk::VertexInputAttributeDescription { location, binding: 0, format, offset: location * 16 }
        })
    }

    /// Returns the number of control points of a patch; 0 without tessellation.
    fn patch_points(&self) -> u32 {
        if self.program.topology == vk::PrimitiveTopology::PATCH_LIST { 4 } else { 0 }
    }

    /// Uses the pipeline once and returns the picture.
    pub fn picture(&self, pipeline: vk::Pipeline) -> Result<Vec<u8>, Error> {
        self.gpu.run(|d, cmd| match &self.target {
            None => self.record_dispatch(d, cmd, pipeline),
            Some((image, pass, framebuffer)) => {
                self.record_draw(d, cmd, pipeline, *pass, *framebuffer);
                self.record_copy(d, cmd, image);
            }
        })?;
        Ok(self.output.read_bytes())
    }

    /// Makes the shader objects of all stages with one call, from SPIR-V or from their binaries.
    /// This is the part that is timed.
    pub fn shaders(&self, binaries: &[ShaderBinary]) -> Result<Vec<vk::ShaderEXT>, Error> {
        let stages = &self.program.stages;
        let following = |i: usize| stages.get(i + 1).map_or(Stage::empty(), |(stage, _)| *stage);
        let push = if self.push { PUSH_BYTES } else { 0 };
        let desc = |(i, (stage, code)): (usize, &'a (Stage, Vec<u32>))| ObjectDesc {
            stage: *stage,
            next: following(i),
            code: binaries.get(i).map_or(ObjectCode::Spirv(code), ObjectCode::Binary),
            constants: &[],
            set: self.set_layout,
            push: (push, self.program.all_stages()),
            indirect: false,
        };
        let descs: Vec<_> = stages.iter().enumerate().map(desc).collect();
        self.gpu.shaders(&descs)
    }

    /// Uses shader objects once and returns the picture.
    pub fn picture_of_shaders(&self, shaders: &[vk::ShaderEXT]) -> Result<Vec<u8>, Error> {
        let commands = self.gpu.shader_objects()?;
        let stages: Vec<_> = self.program.stages.iter().map(|(stage, _)| *stage).collect();
        self.gpu.once(|r| match &self.target {
            None => {
                r.bind_shaders(commands, &stages, shaders);
                r.with(|d, cmd| self.record_group(d, cmd));
            }
            Some((image, _, _)) => {
                let attributes: Vec<_> = self.attributes().map(dynamic_attribute).collect();
                let binding = [vk::VertexInputBindingDescription2EXT::default().stride(STRIDE).divisor(1)];
                let state = DrawState {
                    patch_points: self.patch_points(),
                    bindings: if attributes.is_empty() { &[] } else { &binding },
                    attributes: &attributes,
                    ..DrawState::new(self.program.topology, vk::Extent2D { width: SIDE, height: SIDE })
                };
                r.begin_rendering(image, [0.0; 4]);
                r.reset_state(self.gpu, commands, &state);
                r.bind_shaders(commands, &stages, shaders);
                r.with(|d, cmd| self.record_vertices(d, cmd));
                r.end_rendering(image);
                r.with(|d, cmd| self.record_copy(d, cmd, image));
            }
        })?;
        Ok(self.output.read_bytes())
    }

    fn bind(&self, d: &ash::Device, cmd: vk::CommandBuffer, point: vk::PipelineBindPoint) {
        // SAFETY: `cmd` is being recorded. Set and push constants were made for this layout.
        unsafe {
            d.cmd_bind_descriptor_sets(cmd, point, self.layout, 0, &[self.set], &[]);
            if self.push {
                let bytes: Vec<u8> = pattern(PUSH_BYTES as usize).iter().flat_map(|w| w.to_ne_bytes()).collect();
                d.cmd_push_constants(cmd, self.layout, self.program.all_stages(), 0, &bytes);
            }
        }
    }

    fn record_dispatch(&self, d: &ash::Device, cmd: vk::CommandBuffer, pipeline: vk::Pipeline) {
        // SAFETY: `cmd` is being recorded and the pipeline is alive.
        unsafe { d.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::COMPUTE, pipeline) };
        self.record_group(d, cmd);
    }

    /// Records a dispatch of one workgroup, of which the stage is bound.
    fn record_group(&self, d: &ash::Device, cmd: vk::CommandBuffer) {
        self.bind(d, cmd, vk::PipelineBindPoint::COMPUTE);
        // SAFETY: `cmd` is being recorded and everything that the stage uses is bound.
        unsafe { d.cmd_dispatch(cmd, 1, 1, 1) };
        memory_barrier(d, cmd);
    }

    fn record_draw(
        &self,
        d: &ash::Device,
        cmd: vk::CommandBuffer,
        pipeline: vk::Pipeline,
        pass: vk::RenderPass,
        framebuffer: vk::Framebuffer,
    ) {
        let clear = [vk::ClearValue::default()];
        let area = vk::Rect2D::default().extent(vk::Extent2D { width: SIDE, height: SIDE });
        let begin = vk::RenderPassBeginInfo::default()
            .render_pass(pass)
            .framebuffer(framebuffer)
            .render_area(area)
            .clear_values(&clear);
        // SAFETY: `cmd` is being recorded; the framebuffer belongs to the pass.
        unsafe {
            d.cmd_begin_render_pass(cmd, &begin, vk::SubpassContents::INLINE);
            d.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
        }
        self.record_vertices(d, cmd);
        // SAFETY: `cmd` is being recorded inside the pass.
        unsafe { d.cmd_end_render_pass(cmd) };
    }

    /// Records the draw, of which the stages are bound.
    fn record_vertices(&self, d: &ash::Device, cmd: vk::CommandBuffer) {
        self.bind(d, cmd, vk::PipelineBindPoint::GRAPHICS);
        // SAFETY: `cmd` is being recorded inside a pass. The vertex buffer holds as many vertices
        // as are drawn.
        unsafe {
            if let Some(vertices) = &self.vertices {
                d.cmd_bind_vertex_buffers(cmd, 0, &[vertices.handle], &[0]);
            }
            d.cmd_draw(cmd, self.program.vertices, 1, 0, 0);
        }
    }

    fn record_copy(&self, d: &ash::Device, cmd: vk::CommandBuffer, image: &Image) {
        memory_barrier(d, cmd);
        let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
        let region =
            vk::BufferImageCopy::default().image_subresource(image.layers_of(0)).image_extent(image.level_extent(0));
        // SAFETY: the buffer holds the picture; the render pass left the image in this layout.
        unsafe { d.cmd_copy_image_to_buffer(cmd, image.handle, layout, self.output.handle, &[region]) };
        memory_barrier(d, cmd);
    }
}

/// Returns an attribute in the form of `vkCmdSetVertexInputEXT`.
fn dynamic_attribute(a: vk::VertexInputAttributeDescription) -> vk::VertexInputAttributeDescription2EXT<'static> {
    vk::VertexInputAttributeDescription2EXT::default()
        .location(a.location)
        .binding(a.binding)
        .format(a.format)
        .offset(a.offset)
}

fn check_stages(gpu: &Gpu, program: &Program) -> Result<(), SetupError> {
    let missing = |feature: vk::Bool32| feature == vk::FALSE;
    let all = program.all_stages();
    if all.contains(Stage::TESSELLATION_CONTROL) && missing(gpu.features.tessellation_shader) {
        return Err(SetupError::Unsupported("tessellationShader".into()));
    }
    if all.contains(Stage::GEOMETRY) && missing(gpu.features.geometry_shader) {
        return Err(SetupError::Unsupported("geometryShader".into()));
    }
    Ok(())
}

fn target(gpu: &Gpu) -> Result<(Image, vk::RenderPass, vk::Framebuffer), Error> {
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    let image = gpu.image(&ImageDesc::d2(vk::Format::R8G8B8A8_UNORM, SIDE, SIDE, usage))?;
    let (pass, framebuffer) = gpu.color_target(&image)?;
    Ok((image, pass, framebuffer))
}

fn bindings(gpu: &Gpu, program: &Program, interface: &Interface, output: &Buffer) -> Result<Vec<Binding>, SetupError> {
    use vk::DescriptorType as D;
    let make = |&(index, kind): &(u32, D)| {
        let resource = match kind {
            D::STORAGE_BUFFER if index == 0 && program.is_compute() => Resource::Storage(output.handle),
            D::STORAGE_BUFFER => Resource::Storage(
                gpu.buffer_with(&pattern(STORAGE_BYTES), vk::BufferUsageFlags::STORAGE_BUFFER)?.handle,
            ),
            D::UNIFORM_BUFFER => Resource::Uniform(
                gpu.buffer_with(&pattern(UNIFORM_BYTES), vk::BufferUsageFlags::UNIFORM_BUFFER)?.handle,
            ),
            D::COMBINED_IMAGE_SAMPLER => texture(gpu)?,
            other => return Err(SetupError::Unsupported(format!("{other:?} in this family"))),
        };
        Ok(Binding { index, resource })
    };
    interface.descriptors.iter().map(make).collect()
}

/// Makes a smooth texture of 64×64 texels with a repeating bilinear sampler.
fn texture(gpu: &Gpu) -> Result<Resource, Error> {
    const N: u32 = 64;
    let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
    let image = gpu.image(&ImageDesc::d2(vk::Format::R8G8B8A8_UNORM, N, N, usage))?;
    // The content are triangle waves, which are continuous across the edges, so that repetition
    // shows no seam.
    let wave = |v: u32| (v % N).min(N - v % N) * 255 / (N / 2);
    let texel = |i: u32| {
        let (x, y) = (i % N, i / N);
        wave(x) | wave(y * 2) << 8 | wave(x + y) << 16 | (128 + wave(x + 3 * y) / 2) << 24
    };
    let words: Vec<u32> = (0..N * N).map(texel).collect();
    let staging = gpu.buffer_with(&words, vk::BufferUsageFlags::TRANSFER_SRC)?;
    gpu.upload(&staging, &image, 4, vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL)?;
    let info = vk::SamplerCreateInfo::default().mag_filter(vk::Filter::LINEAR).min_filter(vk::Filter::LINEAR);
    Ok(Resource::Texture(image.view, gpu.sampler(&info)?))
}

//! Environment of a pipeline of any module: layouts, small resources of every kind, and a target of
//! 4×4 pixels.
//!
//! Every number in a buffer is 1 (`interface.rs`), and images are cleared.

use super::interface::{Descriptor, DescriptorContent, Interface, Number, Slots};
use super::module::{ImageType, spirv};
use crate::bench::figure::SetupError;
use crate::vk::{
    Attachment, Binding, Buffer, EntryPoint, Error, Gpu, Image, ImageDesc, Pass, Resource, StagesDesc, image_barrier,
    memory_barrier, spirv_words,
};
use ash::vk;

type Result<T> = std::result::Result<T, SetupError>;

/// A stage of a pipeline.
pub struct Stage {
    /// Vulkan stage.
    pub stage: vk::ShaderStageFlags,
    /// SPIR-V of the module.
    pub code: Vec<u32>,
    /// Name of the entry point.
    pub name: std::ffi::CString,
    /// Requirements of the entry point.
    pub interface: Interface,
}

/// Width and height of the target in pixels.
const SIDE: u32 = 4;
/// Number of bytes of a texel buffer.
const TEXEL_BYTES: usize = 4096;
/// Number of bytes of an attribute, which is the widest format of one location.
const ATTRIBUTE: usize = 32;
const VERTICES: u32 = 3;

/// All objects that a pipeline needs, except the pipeline itself.
pub struct PipelineFixture<'a> {
    gpu: &'a Gpu,
    stages: &'a [Stage],
    layout: vk::PipelineLayout,
    sets: Vec<(u32, vk::DescriptorSet)>,
    push: Vec<u8>,
    attributes: Vec<vk::VertexInputAttributeDescription>,
    vertices: [Buffer; 2],
    pass: Option<Pass>,
    /// For each attachment, whether it is written.
    written: Vec<bool>,
}

impl<'a> PipelineFixture<'a> {
    /// Makes all objects except the pipeline.
    pub fn new(gpu: &'a Gpu, stages: &'a [Stage]) -> Result<Self> {
        let mut all = Interface::default();
        stages.iter().try_for_each(|s| all.join(&s.interface)).map_err(SetupError::Unsupported)?;
        let flags = stages.iter().fold(vk::ShaderStageFlags::empty(), |flags, s| flags | s.stage);
        let (layout, sets) = layouts(gpu, &all, flags)?;
        let of = |stage| stages.iter().find(|s| s.stage == stage).map(|s| &s.interface);
        let attributes = of(vk::ShaderStageFlags::VERTEX).map(|i| attributes(gpu, &i.inputs)).transpose()?;
        let words = |word: u32| vec![word; ATTRIBUTE / 4 * VERTICES as usize];
        let vertices = |word| gpu.buffer_with(&words(word), vk::BufferUsageFlags::VERTEX_BUFFER);
        let vertices = [vertices(1.0f32.to_bits())?, vertices(1)?];
        let outputs = of(vk::ShaderStageFlags::FRAGMENT).map(|i| &i.outputs);
        let pass = outputs.map(|outputs| target(gpu, outputs)).transpose()?;
        let at = |location| outputs.is_some_and(|o| o.range((location, 0)..=(location, 3)).next().is_some());
        let written = (0..).map(at).take(pass.as_ref().map_or(0, |p| p.clears.len())).collect();
        let push = all.push;
        Ok(Self {
            gpu,
            stages,
            layout,
            sets,
            push,
            attributes: attributes.unwrap_or_default(),
            vertices,
            pass,
            written,
        })
    }

    /// Makes the shader modules and the pipeline. This is the part that is timed.
    pub fn pipeline(&self) -> std::result::Result<vk::Pipeline, Error> {
        let make = |s: &'a Stage| Ok(EntryPoint { stage: s.stage, module: self.gpu.module(&s.code)?, name: &s.name });
        let stages = self.stages.iter().map(make).collect::<std::result::Result<Vec<_>, Error>>()?;
        let Some(pass) = &self.pass else {
            return self.gpu.compute_pipeline_in(stages[0], self.layout, vk::PipelineCache::null());
        };
        let stride = ATTRIBUTE as u32;
        let binding = |binding| vk::VertexInputBindingDescription { binding, stride, ..Default::default() };
        let bindings = [binding(0), binding(1)];
        let desc = StagesDesc {
            stages: &stages,
            layout: self.layout,
            render_pass: pass.handle,
            colors: &self.written,
            bindings: if self.attributes.is_empty() { &[] } else { &bindings },
            attributes: &self.attributes,
            topology: vk::PrimitiveTopology::TRIANGLE_LIST,
            patch_points: 0,
            extent: pass.extent,
        };
        self.gpu.stages_pipeline_in(&desc, vk::PipelineCache::null())
    }

    /// Uses the pipeline once, with one workgroup or one triangle.
    pub fn run(&self, pipeline: vk::Pipeline) -> std::result::Result<(), Error> {
        let done = self.gpu.run(|d, cmd| match &self.pass {
            None => {
                self.bind(d, cmd, pipeline, vk::PipelineBindPoint::COMPUTE);
                // SAFETY: `cmd` is being recorded and everything that the pipeline uses is bound.
                unsafe { d.cmd_dispatch(cmd, 1, 1, 1) };
                memory_barrier(d, cmd);
            }
            Some(pass) => self.draw(d, cmd, pipeline, pass),
        });
        done.map(|_| ())
    }

    fn bind(&self, d: &ash::Device, cmd: vk::CommandBuffer, pipeline: vk::Pipeline, point: vk::PipelineBindPoint) {
        let stages = self.stages.iter().fold(vk::ShaderStageFlags::empty(), |flags, s| flags | s.stage);
        // SAFETY: `cmd` is being recorded. Pipeline, sets and push constants were made for this
        // layout.
        unsafe {
            d.cmd_bind_pipeline(cmd, point, pipeline);
            for &(number, set) in &self.sets {
                d.cmd_bind_descriptor_sets(cmd, point, self.layout, number, &[set], &[]);
            }
            if !self.push.is_empty() {
                d.cmd_push_constants(cmd, self.layout, stages, 0, &self.push);
            }
        }
    }

    fn draw(&self, d: &ash::Device, cmd: vk::CommandBuffer, pipeline: vk::Pipeline, pass: &Pass) {
        let begin = vk::RenderPassBeginInfo::default()
            .render_pass(pass.handle)
            .framebuffer(pass.framebuffer)
            .render_area(vk::Rect2D::default().extent(pass.extent))
            .clear_values(&pass.clears);
        // SAFETY: `cmd` is being recorded. The framebuffer belongs to the pass, and the vertex
        // buffers hold all vertices of the draw.
        unsafe {
            d.cmd_begin_render_pass(cmd, &begin, vk::SubpassContents::INLINE);
            self.bind(d, cmd, pipeline, vk::PipelineBindPoint::GRAPHICS);
            d.cmd_bind_vertex_buffers(cmd, 0, &self.vertices.map(|b| b.handle), &[0, 0]);
            d.cmd_draw(cmd, VERTICES, 1, 0, 0);
            d.cmd_end_render_pass(cmd);
        }
    }
}

/// Makes the pipeline layout and the sets that have descriptors.
fn layouts(
    gpu: &Gpu,
    all: &Interface,
    stages: vk::ShaderStageFlags,
) -> Result<(vk::PipelineLayout, Vec<(u32, vk::DescriptorSet)>)> {
    let limits = &gpu.properties.limits;
    let count = all.descriptors.last().map_or(0, |d| d.place.0 + 1);
    let push = all.push.len() as u32;
    if count > limits.max_bound_descriptor_sets || push > limits.max_push_constants_size {
        return Err(SetupError::Unsupported(format!("{count} sets, {push} bytes of push constants")));
    }
    let (mut layouts, mut sets) = (Vec::new(), Vec::new());
    for number in 0..count {
        let mut bindings = Vec::new();
        for descriptor in all.descriptors.iter().filter(|d| d.place.0 == number) {
            let resource = resource(gpu, descriptor)?;
            let binding = Binding { index: descriptor.place.1, resource };
            bindings.extend(std::iter::repeat_n(binding, descriptor.count as usize));
        }
        let kinds: Vec<_> = bindings.iter().map(|b| (b.index, b.resource.kind())).collect();
        let layout = gpu.set_layout(&kinds, stages)?;
        layouts.push(layout);
        if !bindings.is_empty() {
            sets.push((number, gpu.descriptor_set(layout, &bindings)?));
        }
    }
    Ok((gpu.pipeline_layout_of(&layouts, push, stages)?, sets))
}

fn resource(gpu: &Gpu, descriptor: &Descriptor) -> Result<Resource> {
    Ok(match &descriptor.kind {
        DescriptorContent::Uniform(content) => {
            Resource::Uniform(buffer(gpu, content, vk::BufferUsageFlags::UNIFORM_BUFFER)?.handle)
        }
        DescriptorContent::Storage(content) => {
            Resource::Storage(buffer(gpu, content, vk::BufferUsageFlags::STORAGE_BUFFER)?.handle)
        }
        DescriptorContent::Sampler => Resource::Sampler(sampler(gpu, descriptor.compared)?),
        &DescriptorContent::Image(image, _, texel) if image.dim == spirv::DIM_BUFFER => {
            let format = texel_format(image, texel, vk::Format::R32G32B32A32_SFLOAT)?;
            let usage = match image.sampled {
                1 => vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER,
                _ => vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER,
            };
            let view = gpu.texel_view(&gpu.buffer(TEXEL_BYTES, usage)?, format)?;
            if image.sampled == 1 { Resource::UniformTexel(view) } else { Resource::StorageTexel(view) }
        }
        &DescriptorContent::Image(image, has_sampler, texel) => {
            let view = image_of(gpu, image, texel, descriptor.compared)?.view;
            match (image.sampled, has_sampler) {
                (1, true) => Resource::Texture(view, sampler(gpu, descriptor.compared)?),
                (1, false) => Resource::Sampled(view),
                _ => Resource::StorageImage(view),
            }
        }
    })
}

fn buffer(gpu: &Gpu, content: &[u8], usage: vk::BufferUsageFlags) -> Result<Buffer> {
    Ok(gpu.buffer_with(&spirv_words(content), usage)?)
}

fn sampler(gpu: &Gpu, compared: bool) -> Result<vk::Sampler> {
    let info = vk::SamplerCreateInfo::default().compare_enable(compared).compare_op(vk::CompareOp::LESS_OR_EQUAL);
    Ok(gpu.sampler(&info)?)
}

/// Makes a small image that is cleared and in the layout that descriptors use.
fn image_of(gpu: &Gpu, image: ImageType, texel: Number, compared: bool) -> Result<Image> {
    use vk::{FormatFeatureFlags as F, ImageUsageFlags as U, ImageViewType as V};
    let is_depth = image.sampled == 1 && (image.depth == 1 || compared);
    let format =
        if is_depth { vk::Format::D32_SFLOAT } else { texel_format(image, texel, vk::Format::R8G8B8A8_UNORM)? };
    let (usage, feature) =
        if image.sampled == 1 { (U::SAMPLED, F::SAMPLED_IMAGE) } else { (U::STORAGE, F::STORAGE_IMAGE) };
    if !gpu.optimal_features(format).contains(feature) {
        return Err(SetupError::Unsupported(format!("{format:?} as {feature:?}")));
    }
    let (view, extent, layers) = match (image.dim, image.arrayed) {
        (spirv::DIM_1D, false) => (V::TYPE_1D, [SIDE, 1, 1], 1),
        (spirv::DIM_1D, true) => (V::TYPE_1D_ARRAY, [SIDE, 1, 1], 2),
        (spirv::DIM_3D, _) => (V::TYPE_3D, [SIDE; 3], 1),
        (spirv::DIM_CUBE, false) => (V::CUBE, [SIDE, SIDE, 1], 6),
        (spirv::DIM_CUBE, true) => (V::CUBE_ARRAY, [SIDE, SIDE, 1], 12),
        (_, false) => (V::TYPE_2D, [SIDE, SIDE, 1], 1),
        (_, true) => (V::TYPE_2D_ARRAY, [SIDE, SIDE, 1], 2),
    };
    let desc = ImageDesc { view, format, extent, layers, levels: 1, usage: usage | U::TRANSFER_DST };
    let samples = if image.multisampled { vk::SampleCountFlags::TYPE_4 } else { vk::SampleCountFlags::TYPE_1 };
    let made = gpu.image_of_samples(&desc, samples)?;
    let last = if image.sampled == 1 { vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL } else { vk::ImageLayout::GENERAL };
    gpu.run(|d, cmd| clear(d, cmd, &made, last))?;
    Ok(made)
}

fn clear(d: &ash::Device, cmd: vk::CommandBuffer, image: &Image, last: vk::ImageLayout) {
    let (range, to) = (image.full_range(), vk::ImageLayout::TRANSFER_DST_OPTIMAL);
    image_barrier(d, cmd, image, range, vk::ImageLayout::UNDEFINED, to);
    // SAFETY: `cmd` is being recorded, and the image is in the layout that the clear names.
    unsafe {
        match image.aspect() {
            vk::ImageAspectFlags::COLOR => {
                d.cmd_clear_color_image(cmd, image.handle, to, &Default::default(), &[range])
            }
            _ => d.cmd_clear_depth_stencil_image(cmd, image.handle, to, &Default::default(), &[range]),
        }
    }
    image_barrier(d, cmd, image, range, to, last);
}

/// Formats by the value of SPIR-V's `ImageFormat`, from 1.
const IMAGE_FORMATS: [vk::Format; 39] = {
    use vk::Format as F;
    [
        F::R32G32B32A32_SFLOAT,
        F::R16G16B16A16_SFLOAT,
        F::R32_SFLOAT,
        F::R8G8B8A8_UNORM,
        F::R8G8B8A8_SNORM,
        F::R32G32_SFLOAT,
        F::R16G16_SFLOAT,
        F::B10G11R11_UFLOAT_PACK32,
        F::R16_SFLOAT,
        F::R16G16B16A16_UNORM,
        F::A2B10G10R10_UNORM_PACK32,
        F::R16G16_UNORM,
        F::R8G8_UNORM,
        F::R16_UNORM,
        F::R8_UNORM,
        F::R16G16B16A16_SNORM,
        F::R16G16_SNORM,
        F::R8G8_SNORM,
        F::R16_SNORM,
        F::R8_SNORM,
        F::R32G32B32A32_SINT,
        F::R16G16B16A16_SINT,
        F::R8G8B8A8_SINT,
        F::R32_SINT,
        F::R32G32_SINT,
        F::R16G16_SINT,
        F::R8G8_SINT,
        F::R16_SINT,
        F::R8_SINT,
        F::R32G32B32A32_UINT,
        F::R16G16B16A16_UINT,
        F::R8G8B8A8_UINT,
        F::R32_UINT,
        F::A2B10G10R10_UINT_PACK32,
        F::R32G32_UINT,
        F::R16G16_UINT,
        F::R8G8_UINT,
        F::R16_UINT,
        F::R8_UINT,
    ]
};

/// Returns the format that an image declares, or else a format for its texels.
fn texel_format(image: ImageType, texel: Number, float: vk::Format) -> Result<vk::Format> {
    match (image.format, texel) {
        (0, Number::Float(32)) => Ok(float),
        (0, Number::Signed(32)) => Ok(vk::Format::R8G8B8A8_SINT),
        (0, Number::Unsigned(32)) => Ok(vk::Format::R8G8B8A8_UINT),
        (number, _) => {
            let format = IMAGE_FORMATS.get((number as usize).wrapping_sub(1)).copied();
            format.ok_or_else(|| SetupError::Unsupported(format!("image format {number} of {texel:?}")))
        }
    }
}

/// Returns the attributes of every location, with floats in buffer 0 and integers in buffer 1.
fn attributes(gpu: &Gpu, inputs: &Slots) -> Result<Vec<vk::VertexInputAttributeDescription>> {
    let of = |(&(location, component), &(number, count)): (&(u32, u32), &(Number, u32))| {
        let format = attribute_format(number, component + count)?;
        // SAFETY: `physical` belongs to `instance`; the command is a query without preconditions.
        let properties = unsafe { gpu.instance.get_physical_device_format_properties(gpu.physical, format) };
        if !properties.buffer_features.contains(vk::FormatFeatureFlags::VERTEX_BUFFER) {
            return Err(SetupError::Unsupported(format!("{format:?} as an attribute")));
        }
        let binding = u32::from(!matches!(number, Number::Float(_)));
        Ok(vk::VertexInputAttributeDescription { location, binding, format, offset: 0 })
    };
    let mut all = inputs.iter().map(of).collect::<Result<Vec<_>>>()?;
    // Several inputs may share a location, each with some components. The format of the last one
    // has all of them.
    all.reverse();
    all.dedup_by_key(|a| a.location);
    Ok(all)
}

fn attribute_format(number: Number, components: u32) -> Result<vk::Format> {
    use vk::Format as F;
    let all = match number {
        Number::Float(16 | 32) => [F::R32_SFLOAT, F::R32G32_SFLOAT, F::R32G32B32_SFLOAT, F::R32G32B32A32_SFLOAT],
        Number::Float(64) => [F::R64_SFLOAT, F::R64G64_SFLOAT, F::R64G64B64_SFLOAT, F::R64G64B64A64_SFLOAT],
        Number::Signed(8 | 16 | 32) => [F::R32_SINT, F::R32G32_SINT, F::R32G32B32_SINT, F::R32G32B32A32_SINT],
        Number::Unsigned(8 | 16 | 32) => [F::R32_UINT, F::R32G32_UINT, F::R32G32B32_UINT, F::R32G32B32A32_UINT],
        _ => return Err(SetupError::Unsupported(format!("{number:?} as an attribute"))),
    };
    Ok(all[(components.clamp(1, 4) - 1) as usize])
}

/// Makes a pass with an attachment for every location up to the last one.
fn target(gpu: &Gpu, outputs: &Slots) -> Result<Pass> {
    let count = outputs.keys().last().map_or(1, |&(location, _)| location + 1);
    if count > gpu.properties.limits.max_color_attachments {
        return Err(SetupError::Unsupported(format!("{count} attachments")));
    }
    let attachment = |location: u32| {
        let number = outputs.range((location, 0)..=(location, 3)).next().map(|(_, &(number, _))| number);
        let format = match number {
            Some(Number::Signed(_)) => vk::Format::R32G32B32A32_SINT,
            Some(Number::Unsigned(_)) => vk::Format::R32G32B32A32_UINT,
            Some(Number::Float(_)) | None => vk::Format::R8G8B8A8_UNORM,
        };
        let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
        Ok(Attachment::color(gpu.image(&ImageDesc::d2(format, SIDE, SIDE, usage))?, [0.0; 4]))
    };
    let attachments = (0..count).map(attachment).collect::<std::result::Result<Vec<_>, Error>>()?;
    Ok(gpu.pass(&attachments)?)
}

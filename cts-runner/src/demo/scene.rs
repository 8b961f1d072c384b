//! The scene of the demo: a galaxy of simulated bodies over a ring of columns in the grass, drawn
//! by a table of draws.

use super::meshes::{self, FLOATS_PER_VERTEX, Mesh, Meshes, height};
use super::textures;
use crate::vk::{
    Binding, Buffer, Error, Gpu, GraphicsDesc, Image, ImageDesc, Resource, Result, ShaderStage, memory_barrier,
};
use ash::vk;
use libm::{cosf, sinf};
use std::time::{Duration, Instant};

/// Number of bodies of the simulation.
pub const BODIES: u32 = 65536;
/// Number of tiles of 256 bodies that act on each body per step.
pub const TILES: u32 = 1;
const GROUP: u32 = 256;
const TIME_STEP: f32 = 0.012;
const DUST_DRAWS: u32 = 4;
/// Number of blades of grass. `BLADE_TRIANGLES` is the number of triangles of each (`grass.geom`).
const BLADES: u32 = 11_000;
const BLADE_TRIANGLES: u64 = 3;

const COLOR_FORMAT: vk::Format = vk::Format::R8G8B8A8_SRGB;

/// Pipelines, in the order in which they are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pipe {
    Sky,
    Solid,
    Body,
    Glass,
    Dust,
    /// Pipeline of the grass, which exists only if the device has a geometry stage.
    Grass,
}

/// Source of the instances of a draw.
#[derive(Clone, Copy)]
enum Instances {
    /// Static instances: first, count.
    Placed(u32, u32),
    /// Bodies of the simulation: first, count.
    Bodies(u32, u32),
    /// Number of blades of grass, which are vertices and not instances.
    Blades(u32),
}

/// One draw call.
struct Draw {
    pipe: Pipe,
    material: usize,
    /// Mesh of the draw. `None` means that the vertex shader makes the vertices (3 for the sky, 4
    /// for a sprite) or the geometry shader (of each blade).
    mesh: Option<Mesh>,
    instances: Instances,
    /// Push constants: tint (rgb, emission), scale, variation, shine, spin.
    push: [f32; 8],
}

/// All objects that the frames use.
pub struct Scene {
    pipelines: Vec<vk::Pipeline>,
    step: vk::Pipeline,
    step_layout: vk::PipelineLayout,
    step_sets: [vk::DescriptorSet; 2],
    layout: vk::PipelineLayout,
    /// Stages that access the constants of the frame and of a draw.
    stages: vk::ShaderStageFlags,
    materials: Vec<vk::DescriptorSet>,
    uniforms: Buffer,
    positions: [Buffer; 2],
    velocities: Buffer,
    placed: Buffer,
    blades: Buffer,
    vertices: Buffer,
    indices: Buffer,
    draws: Vec<Draw>,
    color: Image,
    pass: vk::RenderPass,
    framebuffer: vk::Framebuffer,
    /// Name and creation time of each pipeline.
    pub creation: Vec<(&'static str, Duration)>,
}

/// Times of one frame.
#[derive(Clone, Copy, Default)]
pub struct FrameTime {
    /// Time of the simulation step, from submission to fence.
    pub compute: Duration,
    /// Time of the scene, from submission to fence.
    pub scene: Duration,
    /// Time of the whole frame including recording.
    pub total: Duration,
}

macro_rules! spirv {
    ($name:literal) => {
        &crate::vk::spirv_words(include_bytes!(concat!("shaders/", $name, ".spv")))
    };
}

impl Scene {
    /// Makes all resources and pipelines for a target of this size.
    pub fn new(gpu: &Gpu, width: u32, height: u32) -> Result<Self> {
        let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
        let color = gpu.image(&ImageDesc::d2(COLOR_FORMAT, width, height, usage))?;
        let depth_usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
        let depth = gpu.image(&ImageDesc::d2(depth_format(gpu)?, width, height, depth_usage))?;
        let (pass, framebuffer) = gpu.render_target(&color, &depth)?;

        let uniforms = gpu.buffer(128, vk::BufferUsageFlags::UNIFORM_BUFFER)?;
        let kinds = [(0, vk::DescriptorType::UNIFORM_BUFFER), (1, vk::DescriptorType::COMBINED_IMAGE_SAMPLER)];
        let stages = scene_stages(gpu);
        let set_layout = gpu.set_layout(&kinds, stages)?;
        let layout = gpu.pipeline_layout(set_layout, 32, stages)?;
        let sampler = gpu.sampler(
            &vk::SamplerCreateInfo::default()
                .mag_filter(vk::Filter::LINEAR)
                .min_filter(vk::Filter::LINEAR)
                .mipmap_mode(vk::SamplerMipmapMode::LINEAR)
                .max_lod(vk::LOD_CLAMP_NONE),
        )?;
        let mut materials = Vec::new();
        for material in 0..textures::MATERIALS {
            let image = textures::make(gpu, material)?;
            let bindings = [
                Binding { index: 0, resource: Resource::Uniform(uniforms.handle) },
                Binding { index: 1, resource: Resource::Texture(image.view, sampler) },
            ];
            materials.push(gpu.descriptor_set(set_layout, &bindings)?);
        }

        let (meshes, placed, mut draws) = contents();
        let blades = meshes::grass(BLADES as usize);
        if gpu.features.geometry_shader == vk::FALSE {
            draws.retain(|draw| draw.pipe != Pipe::Grass);
        }
        let vertex_words: Vec<u32> = meshes.vertices.iter().map(|v| v.to_bits()).collect();
        let placed_words: Vec<u32> = placed.iter().map(|v| v.to_bits()).collect();
        let simulation = Simulation::new(gpu)?;
        let mut creation = Vec::new();
        let pipelines = graphics_pipelines(gpu, layout, pass, vk::Extent2D { width, height }, &mut creation)?;
        let module = gpu.module(spirv!("step.comp"))?;
        let start = Instant::now();
        let step = gpu.compute_pipeline(ShaderStage { module, constants: &[(0, TILES)] }, simulation.layout)?;
        creation.push(("n-body step (compute)", start.elapsed()));
        Ok(Self {
            pipelines,
            step,
            step_layout: simulation.layout,
            step_sets: simulation.sets,
            layout,
            stages,
            materials,
            uniforms,
            positions: simulation.positions,
            velocities: simulation.velocities,
            placed: gpu.buffer_with(&placed_words, vk::BufferUsageFlags::VERTEX_BUFFER)?,
            blades: gpu.buffer_with(
                &blades.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
                vk::BufferUsageFlags::VERTEX_BUFFER,
            )?,
            vertices: gpu.buffer_with(&vertex_words, vk::BufferUsageFlags::VERTEX_BUFFER)?,
            indices: gpu.buffer_with(&meshes.indices, vk::BufferUsageFlags::INDEX_BUFFER)?,
            draws,
            color,
            pass,
            framebuffer,
            creation,
        })
    }

    /// Returns the number of draw calls of a frame.
    pub fn draw_calls(&self) -> usize {
        self.draws.len()
    }

    /// Returns the number of triangles of a frame.
    pub fn triangles(&self) -> u64 {
        self.draws
            .iter()
            .map(|draw| {
                let (Instances::Placed(_, count) | Instances::Bodies(_, count) | Instances::Blades(count)) =
                    draw.instances;
                let each = match (draw.mesh, draw.pipe) {
                    (Some(mesh), _) => meshes::triangles(mesh.count),
                    (None, Pipe::Dust) => 2,
                    (None, Pipe::Grass) => BLADE_TRIANGLES,
                    (None, _) => 1,
                };
                each * u64::from(count)
            })
            .sum()
    }

    /// Simulates and draws frame `index`.
    pub fn frame(&self, gpu: &Gpu, index: u32) -> Result<FrameTime> {
        let start = Instant::now();
        self.uniforms.write_f32(0, &frame_uniforms(index as f32 * TIME_STEP, &self.color.desc.extent));
        let source = (index & 1) as usize;
        let compute = gpu.run(|d, cmd| self.record_step(d, cmd, source, index))?;
        let scene = gpu.run(|d, cmd| self.record_scene(d, cmd, &self.positions[source ^ 1]))?;
        Ok(FrameTime { compute, scene, total: start.elapsed() })
    }

    /// Returns the picture as RGBA bytes.
    pub fn picture(&self, gpu: &Gpu) -> Result<Vec<u8>> {
        Ok(gpu.read_image(&self.color, 4, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?.read_bytes())
    }

    /// Returns the positions of the bodies after `frames` frames, as words.
    pub fn bodies(&self, frames: u32) -> Vec<u32> {
        self.positions[(frames & 1) as usize].read()
    }

    fn record_step(&self, d: &ash::Device, cmd: vk::CommandBuffer, source: usize, index: u32) {
        let groups = BODIES / GROUP;
        let push = [TIME_STEP.to_bits(), (index * 29) % groups];
        // SAFETY: all handles are alive, `cmd` is being recorded, and the set matches the layout.
        unsafe {
            d.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::COMPUTE, self.step);
            let sets = [self.step_sets[source]];
            d.cmd_bind_descriptor_sets(cmd, vk::PipelineBindPoint::COMPUTE, self.step_layout, 0, &sets, &[]);
            let bytes: Vec<u8> = push.iter().flat_map(|w| w.to_ne_bytes()).collect();
            d.cmd_push_constants(cmd, self.step_layout, vk::ShaderStageFlags::COMPUTE, 0, &bytes);
            d.cmd_dispatch(cmd, groups, 1, 1);
        }
        memory_barrier(d, cmd);
    }

    fn record_scene(&self, d: &ash::Device, cmd: vk::CommandBuffer, positions: &Buffer) {
        let [width, height, _] = self.color.desc.extent;
        let area = vk::Rect2D::default().extent(vk::Extent2D { width, height });
        let depth = vk::ClearDepthStencilValue { depth: 1.0, stencil: 0 };
        let clears = [vk::ClearValue::default(), vk::ClearValue { depth_stencil: depth }];
        let begin = vk::RenderPassBeginInfo::default()
            .render_pass(self.pass)
            .framebuffer(self.framebuffer)
            .render_area(area)
            .clear_values(&clears);
        // SAFETY: all handles are alive and `cmd` is being recorded. `record_draw` runs inside the
        // render pass with the index buffer bound.
        unsafe {
            d.cmd_begin_render_pass(cmd, &begin, vk::SubpassContents::INLINE);
            d.cmd_bind_index_buffer(cmd, self.indices.handle, 0, vk::IndexType::UINT32);
            for draw in &self.draws {
                self.record_draw(d, cmd, draw, positions);
            }
            d.cmd_end_render_pass(cmd);
        }
    }

    /// Records one draw inside the render pass.
    ///
    /// # Safety
    /// `cmd` is inside the scene's render pass with the scene's index buffer bound.
    unsafe fn record_draw(&self, d: &ash::Device, cmd: vk::CommandBuffer, draw: &Draw, positions: &Buffer) {
        let graphics = vk::PipelineBindPoint::GRAPHICS;
        let (buffer, first, count) = match draw.instances {
            Instances::Placed(first, count) => (self.placed.handle, first, count),
            Instances::Bodies(first, count) => (positions.handle, first, count),
            Instances::Blades(count) => (self.blades.handle, 0, count),
        };
        let buffers = [self.vertices.handle, buffer, self.velocities.handle];
        let offset = u64::from(first) * 16;
        let speed_offset = if draw.pipe == Pipe::Dust { offset } else { 0 };
        let push: Vec<u8> = draw.push.iter().flat_map(|v| v.to_ne_bytes()).collect();
        // SAFETY: `cmd` is inside the render pass (`# Safety`), all handles are alive, and the
        // vertex buffers hold all data that the draw fetches.
        unsafe {
            d.cmd_bind_pipeline(cmd, graphics, self.pipelines[draw.pipe as usize]);
            d.cmd_bind_descriptor_sets(cmd, graphics, self.layout, 0, &[self.materials[draw.material]], &[]);
            d.cmd_bind_vertex_buffers(cmd, 0, &buffers, &[0, offset, speed_offset]);
            d.cmd_push_constants(cmd, self.layout, self.stages, 0, &push);
            match (draw.mesh, draw.pipe) {
                (Some(mesh), _) => d.cmd_draw_indexed(cmd, mesh.count, count, mesh.first, 0, 0),
                (None, Pipe::Dust) => d.cmd_draw(cmd, 4, count, 0, 0),
                (None, Pipe::Grass) => d.cmd_draw(cmd, count, 1, 0, 0),
                (None, _) => d.cmd_draw(cmd, 3, 1, 0, 0),
            }
        }
    }
}

/// Buffers and descriptor sets of the simulation. The positions alternate between two buffers.
struct Simulation {
    positions: [Buffer; 2],
    velocities: Buffer,
    layout: vk::PipelineLayout,
    sets: [vk::DescriptorSet; 2],
}

impl Simulation {
    fn new(gpu: &Gpu) -> Result<Self> {
        let (start, speed) = meshes::galaxy(BODIES as usize);
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::VERTEX_BUFFER;
        let make = |values: &[f32]| -> Result<Buffer> {
            let buffer = gpu.buffer(values.len() * 4, usage)?;
            buffer.write_f32(0, values);
            Ok(buffer)
        };
        let positions = [make(&start)?, make(&start)?];
        let velocities = make(&speed)?;
        let kinds = [0, 1, 2].map(|i| (i, vk::DescriptorType::STORAGE_BUFFER));
        let set_layout = gpu.set_layout(&kinds, vk::ShaderStageFlags::COMPUTE)?;
        let layout = gpu.pipeline_layout(set_layout, 8, vk::ShaderStageFlags::COMPUTE)?;
        let set = |source: usize| {
            let buffers = [positions[source], positions[source ^ 1], velocities];
            let bindings: Vec<_> =
                (0..3).map(|i| Binding { index: i as u32, resource: Resource::Storage(buffers[i].handle) }).collect();
            gpu.descriptor_set(set_layout, &bindings)
        };
        let sets = [set(0)?, set(1)?];
        Ok(Self { positions, velocities, layout, sets })
    }
}

/// Returns the stages that the scene's shaders have on a device.
fn scene_stages(gpu: &Gpu) -> vk::ShaderStageFlags {
    use vk::ShaderStageFlags as Stages;
    let geometry = if gpu.features.geometry_shader == vk::TRUE { Stages::GEOMETRY } else { Stages::empty() };
    Stages::VERTEX | Stages::FRAGMENT | geometry
}

fn depth_format(gpu: &Gpu) -> Result<vk::Format> {
    let usable = |f: &vk::Format| gpu.optimal_features(*f).contains(vk::FormatFeatureFlags::DEPTH_STENCIL_ATTACHMENT);
    let formats = [vk::Format::D32_SFLOAT, vk::Format::X8_D24_UNORM_PACK32, vk::Format::D16_UNORM];
    formats.into_iter().find(usable).ok_or_else(|| Error::Missing("a depth format".into()))
}

/// Makes the pipelines in the order of [`Pipe`], if the device has their stages.
fn graphics_pipelines(
    gpu: &Gpu,
    layout: vk::PipelineLayout,
    render_pass: vk::RenderPass,
    extent: vk::Extent2D,
    creation: &mut Vec<(&'static str, Duration)>,
) -> Result<Vec<vk::Pipeline>> {
    use vk::VertexInputRate as Rate;
    let binding = |binding, stride, input_rate| vk::VertexInputBindingDescription { binding, stride, input_rate };
    let attribute =
        |location, binding, format, offset| vk::VertexInputAttributeDescription { location, binding, format, offset };
    let bindings = [
        binding(0, FLOATS_PER_VERTEX as u32 * 4, Rate::VERTEX),
        binding(1, 16, Rate::INSTANCE),
        binding(2, 16, Rate::INSTANCE),
    ];
    let attributes = [
        attribute(0, 0, vk::Format::R32G32B32_SFLOAT, 0),
        attribute(1, 0, vk::Format::R32G32B32_SFLOAT, 12),
        attribute(2, 0, vk::Format::R32G32_SFLOAT, 24),
        attribute(3, 1, vk::Format::R32G32B32A32_SFLOAT, 0),
        attribute(4, 2, vk::Format::R32G32B32A32_SFLOAT, 0),
    ];
    let sky = [gpu.module(spirv!("sky.vert"))?, gpu.module(spirv!("sky.frag"))?];
    let solid = [gpu.module(spirv!("solid.vert"))?, gpu.module(spirv!("solid.frag"))?];
    let glass = [solid[0], gpu.module(spirv!("glass.frag"))?];
    let dust = [gpu.module(spirv!("dust.vert"))?, gpu.module(spirv!("dust.frag"))?];
    let base = |[vertex, fragment]: [vk::ShaderModule; 2], constants| GraphicsDesc {
        task: None,
        mesh: None,
        vertex: Some(ShaderStage { module: vertex, constants }),
        tessellation: None,
        patch_points: 0,
        geometry: None,
        fragment: ShaderStage { module: fragment, constants: &[] },
        layout,
        render_pass,
        bindings: &bindings[..2],
        attributes: &attributes[..4],
        topology: vk::PrimitiveTopology::TRIANGLE_LIST,
        cull: vk::CullModeFlags::BACK,
        depth_test: true,
        depth_write: true,
        blend: None,
        extent,
    };
    use vk::BlendFactor as B;
    let none = vk::CullModeFlags::NONE;
    let mut descriptions = vec![
        ("sky", GraphicsDesc { bindings: &[], attributes: &[], depth_write: false, cull: none, ..base(sky, &[]) }),
        ("solid", base(solid, &[(0, 0)])),
        ("solid on bodies", base(solid, &[(0, 1)])),
        (
            "glass (alpha blended)",
            GraphicsDesc {
                depth_write: false,
                blend: Some((B::SRC_ALPHA, B::ONE_MINUS_SRC_ALPHA)),
                ..base(glass, &[(0, 1)])
            },
        ),
        (
            "dust (additive)",
            GraphicsDesc {
                bindings: &bindings[1..],
                attributes: &attributes[3..],
                topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
                depth_write: false,
                cull: none,
                blend: Some((B::ONE, B::ONE)),
                ..base(dust, &[])
            },
        ),
    ];
    let root = [attribute(0, 1, vk::Format::R32G32B32A32_SFLOAT, 0)];
    let points = [binding(1, 16, Rate::VERTEX)];
    if gpu.features.geometry_shader == vk::TRUE {
        let blade = ShaderStage { module: gpu.module(spirv!("grass.geom"))?, constants: &[] };
        let stages = [gpu.module(spirv!("grass.vert"))?, solid[1]];
        descriptions.push((
            "grass (geometry)",
            GraphicsDesc {
                geometry: Some(blade),
                bindings: &points,
                attributes: &root,
                topology: vk::PrimitiveTopology::POINT_LIST,
                cull: none,
                ..base(stages, &[])
            },
        ));
    }
    let mut pipelines = Vec::new();
    for (name, description) in &descriptions {
        let start = Instant::now();
        pipelines.push(gpu.graphics_pipeline(description)?);
        creation.push((name, start.elapsed()));
    }
    Ok(pipelines)
}

/// Returns the meshes, the static instances (xyz, angle) and the table of draws.
fn contents() -> (Meshes, Vec<f32>, Vec<Draw>) {
    const ROCK: usize = 0;
    const MARBLE: usize = 1;
    const GAS: usize = 2;
    const LAVA: usize = 3;
    const ICE: usize = 4;
    let mut meshes = Meshes::default();
    let terrain = meshes.terrain(160, 96.0);
    let column = meshes.column(72, 24);
    let ball = meshes.sphere(32, 18, |_| 1.0);
    let torus = meshes.torus(40, 16, 0.28);
    let boulder = meshes.sphere(32, 16, |d| {
        0.8 + 0.16 * sinf(d[0] * 5.0 + 1.0) * cosf(d[1] * 4.0) + 0.10 * sinf(d[2] * 9.0) * cosf(d[0] * 7.0)
    });
    let mut placed = vec![0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0];
    const COLUMNS: u32 = 26;
    for i in 0..COLUMNS {
        let angle = std::f32::consts::TAU * (i as f32 + 0.5) / COLUMNS as f32;
        let (x, z) = (14.0 * cosf(angle), 14.0 * sinf(angle));
        placed.extend([x, height(x, z) - 0.1, z, angle]);
    }
    let placed_draw = |pipe, material, mesh, first, count, push| Draw {
        pipe,
        material,
        mesh: Some(mesh),
        instances: Instances::Placed(first, count),
        push,
    };
    let riding = |pipe, material, mesh, first, count, push| Draw {
        pipe,
        material,
        mesh: Some(mesh),
        instances: Instances::Bodies(first, count),
        push,
    };
    let white = [1.0, 1.0, 1.0, 0.0];
    let push = |tint: [f32; 4], scale, variation, shine, spin| {
        [tint[0], tint[1], tint[2], tint[3], scale, variation, shine, spin]
    };
    let no_mesh = |pipe, instances, push| Draw { pipe, material: ROCK, mesh: None, instances, push };
    let mut draws = vec![
        placed_draw(Pipe::Solid, ROCK, terrain, 0, 1, push(white, 1.0, 0.0, 0.05, 0.0)),
        placed_draw(Pipe::Solid, MARBLE, column, 2, COLUMNS, push(white, 4.6, 0.12, 0.35, 0.0)),
        placed_draw(Pipe::Solid, GAS, ball, 1, 1, push([1.6, 1.0, 0.55, 7.0], 0.55, 0.0, 0.0, 0.0)),
        riding(Pipe::Body, GAS, ball, 1000, 36, push(white, 0.24, 0.5, 0.4, 9.0)),
        riding(Pipe::Body, LAVA, ball, 2000, 40, push([1.0, 1.0, 1.0, 0.25], 0.18, 0.4, 0.2, 12.0)),
        riding(Pipe::Body, ICE, ball, 3000, 40, push(white, 0.17, 0.5, 0.9, 10.0)),
        riding(Pipe::Body, MARBLE, torus, 4000, 36, push([1.0, 0.85, 0.6, 0.0], 0.20, 0.4, 1.0, 25.0)),
        riding(Pipe::Body, ROCK, boulder, 5000, 48, push([1.1, 1.0, 0.9, 0.0], 0.17, 0.6, 0.1, 16.0)),
        Draw {
            material: ICE,
            ..no_mesh(Pipe::Grass, Instances::Blades(BLADES), push([0.42, 0.95, 0.40, 0.22], 0.62, 0.5, 0.15, 5.0))
        },
        no_mesh(Pipe::Sky, Instances::Placed(0, 1), push(white, 1.0, 0.0, 0.0, 0.0)),
    ];
    let each = BODIES / DUST_DRAWS;
    for i in 0..DUST_DRAWS {
        let bright = push([0.20, 0.20, 0.20, 0.0], 0.018, 3.2, 0.0, 0.0);
        draws.push(no_mesh(Pipe::Dust, Instances::Bodies(i * each, each), bright));
    }
    draws.push(riding(Pipe::Glass, ICE, ball, 7000, 24, push([0.45, 0.75, 1.0, 0.9], 0.42, 0.3, 1.5, 6.0)));
    (meshes, placed, draws)
}

/// Returns the uniform block of `scene.glsl` at a time. The camera slowly circles the galaxy.
fn frame_uniforms(time: f32, extent: &[u32; 3]) -> [f32; 32] {
    let aspect = extent[0] as f32 / extent[1] as f32;
    let (tan_half, near, far) = (0.46f32, 0.1f32, 200.0f32);
    let angle = 0.9 + time * 0.35;
    let eye = [18.6 * cosf(angle), 6.4, 18.6 * sinf(angle)];
    let target = [0.0, 4.1, 0.0];
    let forward = unit([target[0] - eye[0], target[1] - eye[1], target[2] - eye[2]]);
    let right = unit([-forward[2], 0.0, forward[0]]);
    let up = [
        right[1] * forward[2] - right[2] * forward[1],
        right[2] * forward[0] - right[0] * forward[2],
        right[0] * forward[1] - right[1] * forward[0],
    ];
    let dot = |a: [f32; 3], b: [f32; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    // The values are rows of clip = projection * view, with y down and depth 0..1 as in Vulkan.
    let row = |axis: [f32; 3], scale: f32| [axis[0] * scale, axis[1] * scale, axis[2] * scale, -dot(axis, eye) * scale];
    let depth = far / (far - near);
    let z = row(forward, depth);
    let rows = [
        row(right, 1.0 / (tan_half * aspect)),
        row(up, -1.0 / tan_half),
        [z[0], z[1], z[2], z[3] - near * depth],
        row(forward, 1.0),
    ];
    let mut out = [0.0; 32];
    for column in 0..4 {
        for (i, row) in rows.iter().enumerate() {
            out[column * 4 + i] = row[column];
        }
    }
    let tail = [[eye[0], eye[1], eye[2], time], [right[0], right[1], right[2], tan_half * aspect]];
    out[16..24].copy_from_slice(tail.as_flattened());
    out[24..28].copy_from_slice(&[up[0], up[1], up[2], tan_half]);
    out[28..32].copy_from_slice(&[0.0, 5.0, 0.0, 95.0]);
    out
}

fn unit(v: [f32; 3]) -> [f32; 3] {
    let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    v.map(|x| x / length)
}

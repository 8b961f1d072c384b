//! Runs one shader on the driver under test and on the reference, and compares.

use crate::support;
use cts_runner::vk::raw as vk;
use cts_runner::vk::{
    Api, Binding, Buffer, Gpu, GpuOptions, GraphicsDesc, Image, ImageDesc, Manifest, Resource, Result, ShaderStage,
    memory_barrier, spirv_words,
};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

const GROUPS: u32 = 16;
const WORDS: usize = 4096;
const TARGET: u32 = 64;
const VERTICES: u32 = 96;
/// Workgroups of a draw with a mesh stage: of its task stage, if it has one.
const MESH_GROUPS: [u32; 3] = [4, 2, 1];

/// How input words are made.
#[derive(Clone, Copy)]
enum Input {
    Uint,
    Float(f32, f32),
}

/// How output words are compared.
#[derive(Clone, Copy)]
enum Compare {
    Exact,
    Float(f32),
    Bytes(u8),
}

/// A shader (or those of a draw, in the pipeline's order) and its directives.
pub struct Shader {
    name: String,
    modules: Vec<Vec<u32>>,
    input: Input,
    compare: Compare,
    outliers: f64,
    topology: vk::PrimitiveTopology,
    /// Control points of a patch.
    patch: u32,
    stages: Vec<&'static str>,
    resources: Vec<String>,
    push: Vec<u32>,
    spec: Vec<(u32, u32)>,
    subgroups: bool,
}

/// Where the shaders are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/glsl")
}

/// All GLSL sources of a folder.
pub fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of the shaders");
    const STAGES: [&str; 8] = ["comp", "vert", "tesc", "tese", "geom", "task", "mesh", "frag"];
    let is_source = |p: &PathBuf| p.extension().is_some_and(|e| STAGES.iter().any(|s| e == *s));
    entries.flatten().map(|e| e.path()).filter(is_source).collect()
}

impl Shader {
    /// Reads a shader's directives and its SPIR-V.
    pub fn read(name: &str) -> Self {
        let compute = folder().join(format!("{name}.comp"));
        let has = |stage: &&str| folder().join(format!("{name}.{stage}")).exists();
        let drawing = ["task", "mesh", "vert", "tesc", "tese", "geom", "frag"].into_iter();
        let stages: Vec<&str> = if compute.exists() { vec!["comp"] } else { drawing.filter(has).collect() };
        let module = |stage: &&str| {
            spirv_words(&std::fs::read(folder().join(format!("{name}.{stage}.spv"))).expect("committed SPIR-V"))
        };
        let mut shader = Self {
            name: name.into(),
            modules: stages.iter().map(module).collect(),
            input: Input::Uint,
            compare: Compare::Exact,
            outliers: 0.0,
            topology: vk::PrimitiveTopology::TRIANGLE_LIST,
            patch: 0,
            stages: stages.clone(),
            resources: Vec::new(),
            push: Vec::new(),
            spec: Vec::new(),
            subgroups: false,
        };
        let last = stages.last().expect("a stage");
        let text = std::fs::read_to_string(folder().join(format!("{name}.{last}"))).expect("the source");
        for line in text.lines().filter_map(|l| l.strip_prefix("//! ")) {
            shader.directive(&line.split_whitespace().collect::<Vec<_>>());
        }
        shader
    }

    fn directive(&mut self, words: &[&str]) {
        let number = |text: &str| text.parse::<f32>().expect("a number");
        match *words {
            ["input", "uint"] => self.input = Input::Uint,
            ["input", "float", low, high] => self.input = Input::Float(number(low), number(high)),
            ["output", "uint"] => self.compare = Compare::Exact,
            ["output", "float", tolerance] => self.compare = Compare::Float(number(tolerance)),
            ["output", "bytes", tolerance] => self.compare = Compare::Bytes(tolerance.parse().expect("a byte")),
            ["outliers", share] => self.outliers = share.parse().expect("a share"),
            ["patch", points] => {
                self.topology = vk::PrimitiveTopology::PATCH_LIST;
                self.patch = points.parse().expect("control points");
            }
            ["topology", name] => self.topology = topology(name),
            ["bind", ref names @ ..] => self.resources = names.iter().map(|n| n.to_string()).collect(),
            ["push", ref values @ ..] => self.push = values.iter().map(|v| v.parse().expect("a word")).collect(),
            ["spec", ref pairs @ ..] => {
                let pair = |p: &&str| p.split_once('=').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                self.spec = pairs.iter().map(|p| pair(p).expect("ID=VALUE")).collect();
            }
            ["api", "1.1"] => self.subgroups = true,
            // Which only the compiler has to know.
            ["api", "1.2"] => {}
            _ => panic!("{}: unknown directive {words:?}", self.name),
        }
    }

    /// The same at every run.
    fn random_input(&self) -> Vec<u32> {
        let seed = self.name.bytes().fold(0x1234_5678u32, |h, b| (h ^ u32::from(b)).wrapping_mul(16_777_619));
        Random(seed | 1).words(self.input, WORDS)
    }

    fn has_meshes(&self) -> bool {
        self.stages.contains(&"mesh")
    }

    fn binds(&self, class: &str) -> bool {
        self.resources.iter().any(|r| r == class)
    }
}

/// A topology by its name in the specification.
fn topology(name: &str) -> vk::PrimitiveTopology {
    match name {
        "points" => vk::PrimitiveTopology::POINT_LIST,
        "line_strip_with_adjacency" => vk::PrimitiveTopology::LINE_STRIP_WITH_ADJACENCY,
        "triangle_strip_with_adjacency" => vk::PrimitiveTopology::TRIANGLE_STRIP_WITH_ADJACENCY,
        _ => panic!("unknown topology {name}"),
    }
}

/// xorshift32.
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    fn float(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.next() >> 8) as f32 / 16_777_216.0)
    }

    fn words(&mut self, input: Input, count: usize) -> Vec<u32> {
        let mut word = || match input {
            Input::Uint => self.next(),
            Input::Float(low, high) => self.float(low, high).to_bits(),
        };
        (0..count).map(|_| word()).collect()
    }
}

/// A driver and the devices on it, without and with mesh stages; made anew after an error.
struct Driver {
    api: Api,
    gpus: [Option<Gpu>; 2],
    api_version: u32,
}

impl Driver {
    fn open(icd: &Path) -> Result<Self> {
        Ok(Self { api: Api::open_icd(&Manifest::read(icd)?)?, gpus: [None, None], api_version: 0 })
    }

    fn run(&mut self, shader: &Shader, input: &[u32]) -> Result<Vec<u32>> {
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

    /// Does it have the stages of a shader?
    fn knows(&mut self, shader: &Shader) -> bool {
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
        .fragment_stores_and_atomics(true);
    GpuOptions { api_version: vk::API_VERSION_1_1, features, ..GpuOptions::default() }
}

/// FNV-1a of what a driver computes for each shader of the folder, by name.
#[allow(dead_code, reason = "one of the two test binaries uses it")]
pub fn hashes(icd: &Path) -> Vec<(String, u64)> {
    let mut driver = Driver::open(icd).expect("the driver opens");
    let is_stage = |p: &&PathBuf| p.extension().is_some_and(|e| e == "comp" || e == "frag");
    let name = |p: &PathBuf| p.file_stem().and_then(|n| n.to_str()).expect("a name").to_owned();
    let mut names: Vec<String> = sources(&folder()).iter().filter(is_stage).map(name).collect();
    names.sort();
    let hash = |name: String| {
        let shader = Shader::read(&name);
        let output = driver.run(&shader, &shader.random_input()).unwrap_or_else(|e| panic!("{name}: {e}"));
        (name, fnv1a(output.iter().flat_map(|w| w.to_le_bytes())))
    };
    names.into_iter().map(hash).collect()
}

fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

type Pair = std::result::Result<[Driver; 2], String>;

/// The driver under test and the reference.
static DRIVERS: LazyLock<std::result::Result<Mutex<[Driver; 2]>, String>> =
    LazyLock::new(|| open_pair().map(Mutex::new));

fn open_pair() -> Pair {
    let reference = Driver::open(&support::reference()?).map_err(|e| e.to_string())?;
    Ok([Driver::open(&support::driver()).expect("the driver under test opens"), reference])
}

/// Runs a shader on both drivers and compares the outputs.
#[allow(dead_code, reason = "one of the two test binaries uses it")]
pub fn run_on_both(shader: &Shader) {
    let drivers = match &*DRIVERS {
        Ok(drivers) => drivers,
        Err(why) => return support::skip(why),
    };
    // A failed test poisons the lock; each run leaves the drivers usable.
    let mut drivers = drivers.lock().unwrap_or_else(PoisonError::into_inner);
    let input = shader.random_input();
    let [tested, reference] = &mut *drivers;
    if !reference.knows(shader) {
        // Older than these stages. Its hash (`hashes.rs`) stands alone.
        let output = tested.run(shader, &input).unwrap_or_else(|e| panic!("{}: {e}", shader.name));
        return assert!(output.iter().any(|w| *w != 0), "{}: nothing is drawn", shader.name);
    }
    let expected = reference.run(shader, &input).unwrap_or_else(|e| panic!("{} on the reference: {e}", shader.name));
    let actual = tested.run(shader, &input);
    if shader.subgroups && tested.api_version < vk::API_VERSION_1_1 {
        // What a device does not advertise it refuses; only a device of Vulkan 1.1 has subgroup operations.
        return assert!(actual.is_err(), "{} is accepted by a device of Vulkan 1.0", shader.name);
    }
    let actual = actual.unwrap_or_else(|e| panic!("{}: {e}", shader.name));
    compare(shader, &expected, &actual);
}

fn compare(shader: &Shader, expected: &[u32], actual: &[u32]) {
    assert_eq!(expected.len(), actual.len());
    assert!(expected.iter().any(|w| *w != 0), "{}: the reference wrote nothing", shader.name);
    let pairs = expected.iter().zip(actual).enumerate();
    let bad: Vec<_> = pairs.filter(|(_, (e, a))| !close(shader.compare, **e, **a)).collect();
    let allowed = (shader.outliers * expected.len() as f64) as usize;
    let show = |w: u32| format!("{w:#010x} ({})", f32::from_bits(w));
    let lines: Vec<String> = bad
        .iter()
        .take(8)
        .map(|(i, (e, a))| format!("  word {i}: expected {}, got {}", show(**e), show(**a)))
        .collect();
    assert!(
        bad.len() <= allowed,
        "{}: {} of {} words differ ({allowed} may)\n{}",
        shader.name,
        bad.len(),
        expected.len(),
        lines.join("\n")
    );
}

fn close(compare: Compare, expected: u32, actual: u32) -> bool {
    match compare {
        Compare::Exact => expected == actual,
        Compare::Bytes(tolerance) => {
            let pairs = expected.to_le_bytes().into_iter().zip(actual.to_le_bytes());
            pairs.into_iter().all(|(e, a)| e.abs_diff(a) <= tolerance || (e ^ a == 0x80 && e & 0x7f == 0))
        }
        Compare::Float(tolerance) => {
            let (e, a) = (f32::from_bits(expected), f32::from_bits(actual));
            e == a || e.is_nan() && a.is_nan() || (e - a).abs() <= tolerance * e.abs().max(1.0)
        }
    }
}

/// The resources of a shader's binding classes, with the storage images whose content is output too.
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
        // Binding, view, format, extent, layers, levels, sampler. Depth is compared unfiltered: filtering it is optional.
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

    /// What the shader stored: integer images and texel buffers as they are, others as floats.
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
                // Small integers, so that comparing them as floats is exact.
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
        // SAFETY: all handles are alive, the set matches the layout and covers what the shader uses.
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
        // SAFETY: all handles are alive, the set matches the layout, the vertex buffer holds the vertices drawn.
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

//! A device that runs any stage. Everything that a stage can reach lies in one small piece of
//! memory with marks in between, which show a write outside of buffers and images.

use super::common::info::{Triangles, area};
use super::common::{Context, Image, spirv};
use super::pipeline::{GENERAL, Messenger, RGBA8, module, render, render_context};
use ash::vk;
use base::random::XorshiftStar as Rng;
use base::shader::{DescriptorKind as K, PipelineLayoutInfo, Stage};
use std::collections::HashMap;
use vk::DescriptorType as D;

const SIDE: u32 = 8;
/// Number of descriptors of a binding.
const COUNT: u32 = 4;
const MARK: u8 = 0xa5;
/// Distance between buffers in bytes, followed by their size: one of 256 bytes in each kilobyte,
/// some of them writable.
const SLICE: u64 = 1024;
const SLICE_USED: u64 = 256;
const WRITABLE: u64 = 16;
const SLICES: u64 = 24;
/// Number of bytes before and behind everything.
const MARGIN: u64 = 1 << 16;
/// Unit of live memory in bytes. [`EDGE`] is the size of the memory for pointers: whole granules,
/// so that its end is that of live memory.
const GRANULE: u64 = 1 << base::abi::ADDRESS_GRANULE_BITS;
const EDGE: u64 = 2 * GRANULE;
const FORMATS: [vk::Format; 3] = [RGBA8, vk::Format::R32_UINT, vk::Format::R32G32B32A32_SFLOAT];

/// Result of running a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RunResult {
    /// There is no pipeline.
    Refused(vk::Result),
    /// The module has too many sets, or unsuitable ones: a limit of the harness.
    Skipped,
    Ran,
    /// The module took too long, and the device is lost.
    Lost,
}

/// A stage to be run.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    pub words: &'a [u32],
    pub stage: Stage,
    pub entry: &'a str,
    pub layout: &'a PipelineLayoutInfo,
    /// Specialization constants 0, 1, …: the bytes of each.
    pub constants: &'a [(u32, Vec<u8>)],
    /// Number that rotates the choice of images.
    pub turn: u32,
    /// Types of images that the shader declares, by set and binding.
    pub views: &'a HashMap<(u32, u32), ViewType>,
    /// Subgroup size that a compute stage requests.
    pub lanes: Option<u32>,
    /// Seed of addresses near the ends of live memory in buffers and push constants, if any.
    pub edges: Option<u64>,
}

/// Dimension, arrayed, multisampled, as SPIR-V has them.
pub type ViewType = (u32, bool, bool);

/// A device with the resources that stages can reach.
pub struct GuardedDevice {
    /// This field is dropped before its instance.
    messenger: Messenger,
    c: Context,
    memory: vk::DeviceMemory,
    bytes: *mut u8,
    size: u64,
    buffer: vk::Buffer,
    /// Texel buffers for reading and for writing.
    texels: [vk::BufferView; 2],
    images: Vec<vk::Image>,
    views: Vec<(ViewType, vk::ImageView)>,
    samplers: [vk::Sampler; 2],
    /// Writable ranges: offset and size in bytes.
    writable: Vec<(u64, u64)>,
    /// Memory for pointers. [`GuardedDevice::ends`] has the first and last addresses of it and of
    /// all other memory, where live memory begins and ends.
    target_of_pointers: (vk::DeviceMemory, vk::Buffer),
    ends: Vec<u64>,
    target: Image,
    /// Other stages of a draw.
    vertex: Vec<u32>,
    control: Vec<u32>,
    evaluation: Vec<u32>,
    fragment: Vec<u32>,
    /// Mesh stage that a task stage launches.
    mesh: Vec<u32>,
}

impl GuardedDevice {
    pub fn new() -> GuardedDevice {
        let c = render_context(&[c"VK_EXT_debug_utils"], true);
        let messenger = Messenger::new(&c);
        let target = c.image(RGBA8, [SIDE, SIDE], vk::SampleCountFlags::TYPE_1, 1);
        let images = images(&c);
        let (size, places) = places(&c, &images);
        let (memory, bytes) = c.memory(size);
        let mut writable: Vec<_> = (0..SLICES).map(|i| (MARGIN + i * SLICE, SLICE_USED)).collect();
        let d = &c.device;
        // SAFETY: the usage is valid in all calls of this block.
        unsafe {
            let info =
                vk::BufferCreateInfo::default().size(SLICES * SLICE).usage(vk::BufferUsageFlags::from_raw(0x1ff));
            let buffer = d.create_buffer(&info, None).unwrap();
            d.bind_buffer_memory(buffer, memory, MARGIN).unwrap();
            for (image, &(at, bytes)) in images.iter().zip(&places) {
                d.bind_image_memory(image.0, memory, at).unwrap();
                writable.push((at, bytes));
            }
            let views = images.iter().flat_map(|image| views(&c, image)).collect();
            let texels = [WRITABLE, 3].map(|slice| {
                let info = vk::BufferViewCreateInfo::default()
                    .buffer(buffer)
                    .format(vk::Format::R32_UINT)
                    .offset(slice * SLICE)
                    .range(SLICE_USED);
                d.create_buffer_view(&info, None).unwrap()
            });
            let sampler = vk::SamplerCreateInfo::default().max_lod(4.0);
            let samplers = [
                d.create_sampler(&sampler, None).unwrap(),
                d.create_sampler(
                    &sampler
                        .mag_filter(vk::Filter::LINEAR)
                        .min_filter(vk::Filter::LINEAR)
                        .mipmap_mode(vk::SamplerMipmapMode::LINEAR)
                        .address_mode_u(vk::SamplerAddressMode::CLAMP_TO_BORDER)
                        .compare_enable(true)
                        .compare_op(vk::CompareOp::LESS),
                    None,
                )
                .unwrap(),
            ];
            let images = images.into_iter().map(|image| image.0).collect();
            let target_of_pointers = c.memory(EDGE).0;
            let info = vk::BufferCreateInfo::default().size(EDGE).usage(vk::BufferUsageFlags::from_raw(0x1ff));
            let aimed_at = d.create_buffer(&info, None).unwrap();
            d.bind_buffer_memory(aimed_at, target_of_pointers, 0).unwrap();
            let address = |buffer| d.get_buffer_device_address(&vk::BufferDeviceAddressInfo::default().buffer(buffer));
            let (first, own) = (address(aimed_at), address(buffer) - MARGIN);
            let end = own + size.next_multiple_of(GRANULE);
            let ends = vec![first + EDGE, first + EDGE, first + EDGE, first, own, end];
            let vertex = spirv(include_bytes!("../data/full.vert.spv"));
            let control = spirv(include_bytes!("../data/few.tesc.spv"));
            let evaluation = spirv(include_bytes!("../data/flat.tese.spv"));
            let fragment = spirv(include_bytes!("../data/red.frag.spv"));
            let mesh = spirv(include_bytes!("../data/few.mesh.spv"));
            GuardedDevice {
                c,
                messenger,
                memory,
                bytes,
                size,
                buffer,
                texels,
                images,
                views,
                samplers,
                writable,
                target_of_pointers: (target_of_pointers, aimed_at),
                ends,
                target,
                vertex,
                control,
                evaluation,
                fragment,
                mesh,
            }
        }
    }

    fn memory(&mut self) -> &mut [u8] {
        // SAFETY: the memory is mapped, and nothing executes.
        unsafe { std::slice::from_raw_parts_mut(self.bytes, self.size as usize) }
    }

    /// Restores the initial contents, which are always the same.
    fn reset(&mut self) {
        let writable = std::mem::take(&mut self.writable);
        let all = self.memory();
        all.fill(MARK);
        for &(at, bytes) in &writable {
            let words = all[at as usize..(at + bytes) as usize].as_chunks_mut::<4>().0;
            for (i, word) in words.iter_mut().enumerate() {
                *word = if i % 3 == 2 { (i as f32 * 0.37 - 9.0).to_bits() } else { i as u32 % 61 }.to_le_bytes();
            }
        }
        self.writable = writable;
    }

    /// Returns an address near an end of live memory, usually such that an access begins inside of
    /// it and ends outside.
    fn edge(&self, rng: &mut Rng) -> u64 {
        let offset = if rng.chance(75) { -(rng.below(48) as i64) } else { rng.below(128) as i64 - 64 };
        rng.pick(&self.ends).wrapping_add_signed(offset)
    }

    /// Replaces half of the buffers' contents by addresses.
    fn draw_edges(&mut self, seed: u64) {
        let mut rng = Rng::new(seed);
        for slice in 0..SLICES {
            for at in (0..SLICE_USED).step_by(8).filter(|_| rng.chance(50)).collect::<Vec<_>>() {
                let (place, address) = ((MARGIN + slice * SLICE + at) as usize, self.edge(&mut rng));
                self.memory()[place..place + 8].copy_from_slice(&address.to_le_bytes());
            }
        }
    }

    /// Returns the push constants.
    fn constants(&self, program: &Program<'_>) -> [u8; 128] {
        let mut bytes = [3; 128];
        if let Some(seed) = program.edges {
            let mut rng = Rng::new(seed ^ 1);
            for place in bytes.as_chunks_mut::<8>().0 {
                *place = self.edge(&mut rng).to_le_bytes();
            }
        }
        bytes
    }

    /// Returns the first byte outside of the writable ranges that has changed, if any.
    fn damage(&mut self) -> Option<usize> {
        let mut writable = self.writable.clone();
        writable.sort_unstable();
        writable.push((self.size, 0));
        let all = self.memory();
        let mut from = 0;
        for (at, bytes) in writable {
            if let Some(i) = all[from..at as usize].iter().position(|&b| b != MARK) {
                return Some(from + i);
            }
            from = (at + bytes) as usize;
        }
        None
    }

    /// Runs a stage. Returns its end and the memory, and the picture of a fragment stage.
    pub fn run(&mut self, program: &Program<'_>) -> (RunResult, Vec<u8>) {
        if program.layout.sets.len() > 8 || program.layout.sets.iter().flatten().count() > 64 {
            return (RunResult::Skipped, Vec::new());
        }
        self.reset();
        program.edges.into_iter().for_each(|seed| self.draw_edges(seed));
        let sets = self.sets(program);
        let result = self.attempt(program, &sets);
        let messages = self.messenger.take();
        // Nor may the verifier of compiles (`GRUS_VERIFY`) have found anything.
        assert!(messages.iter().all(|m| !m.contains("panic") && !m.contains("LIR: ")), "{messages:?}");
        let end = match result {
            // The limit may pass just when the work ends; the device is lost then, too.
            Ok(()) if messages.iter().any(|m| m.contains("TIMEOUT")) => RunResult::Lost,
            Ok(()) => RunResult::Ran,
            Err((_, vk::Result::ERROR_DEVICE_LOST)) => {
                assert!(messages.iter().any(|m| m.contains("TIMEOUT")), "{messages:?}");
                RunResult::Lost
            }
            Err((false, result)) => {
                assert!(!messages.is_empty(), "{result} without a message");
                RunResult::Refused(result)
            }
            Err((true, result)) => panic!("{result} of the queue: {messages:?}"),
        };
        // Pointers may point to any live memory, so damage is not checked for them.
        if let Some(at) = self.damage().filter(|_| program.edges.is_none()) {
            panic!("byte {at} of the memory was written, which is in no buffer and no image");
        }
        sets.destroy(&self.c);
        let mut contents = Vec::new();
        if end == RunResult::Ran {
            contents = self.memory().to_vec();
            if program.stage == Stage::Fragment {
                contents.extend(self.c.read_image(&self.target, 4));
            }
        }
        (end, contents)
    }

    /// Creates and runs a pipeline. Returns the error, and whether there was a pipeline.
    fn attempt(&self, program: &Program<'_>, sets: &Sets) -> Result<(), (bool, vk::Result)> {
        let (c, d) = (&self.c, &self.c.device);
        let pipeline = self.pipeline(program, sets.layout).map_err(|e| (false, e))?;
        let graphics = program.stage != Stage::Compute;
        let point = if graphics { vk::PipelineBindPoint::GRAPHICS } else { vk::PipelineBindPoint::COMPUTE };
        let constants = self.constants(program);
        let bind = |b| {
            // SAFETY: valid usage.
            unsafe {
                d.cmd_bind_pipeline(b, point, pipeline);
                for (n, set) in (0..).zip(&sets.sets) {
                    d.cmd_bind_descriptor_sets(b, point, sets.layout, n, &[*set], &[]);
                }
                d.cmd_push_constants(b, sets.layout, vk::ShaderStageFlags::ALL, 0, &constants);
            }
        };
        let result = if graphics {
            render(c, &self.target, area(SIDE), |b| {
                bind(b);
                // SAFETY: valid usage.
                unsafe {
                    if matches!(program.stage, Stage::Task | Stage::Mesh) {
                        let functions = ash::ext::mesh_shader::Device::new(&c.instance, d);
                        return functions.cmd_draw_mesh_tasks(b, 2, 1, 1);
                    }
                    d.cmd_bind_vertex_buffers(b, 0, &[self.buffer], &[0]);
                    d.cmd_draw(b, 6, 1, 0, 0);
                }
            })
        } else {
            c.run(|b| {
                bind(b);
                // SAFETY: valid usage.
                unsafe { d.cmd_dispatch(b, 1, 1, 1) };
            })
        };
        // SAFETY: the objects are not in use any more.
        unsafe {
            let _ = d.device_wait_idle();
            let _ = d.reset_command_pool(c.pool, vk::CommandPoolResetFlags::RELEASE_RESOURCES);
            d.destroy_pipeline(pipeline, None);
        }
        result.map_err(|e| (true, e))
    }

    fn pipeline(&self, program: &Program<'_>, layout: vk::PipelineLayout) -> Result<vk::Pipeline, vk::Result> {
        let (c, d) = (&self.c, &self.c.device);
        // SAFETY: the usage is valid, except for the words.
        let made = unsafe { d.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(program.words), None) }?;
        let result = match program.stage {
            Stage::Compute => {
                let (entries, data) = map(program.constants);
                let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
                let name = std::ffi::CString::new(program.entry).unwrap_or_default();
                let mut size = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default()
                    .required_subgroup_size(program.lanes.unwrap_or_default());
                let mut stage = vk::PipelineShaderStageCreateInfo::default()
                    .stage(vk::ShaderStageFlags::COMPUTE)
                    .module(made)
                    .name(&name)
                    .specialization_info(&specialization);
                if program.lanes.is_some() {
                    stage = stage.push_next(&mut size);
                }
                let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout);
                // SAFETY: the handles are live; only the words of the module may be invalid.
                let list = unsafe { d.create_compute_pipelines(vk::PipelineCache::null(), &[info], None) };
                list.map(|list| list[0]).map_err(|(_, error)| error)
            }
            stage => {
                let vertex = stage == Stage::Vertex;
                // The other stages are complete modules.
                let others = [&self.vertex, &self.fragment, &self.control, &self.evaluation, &self.mesh]
                    .map(|words| module(c, words));
                let tessellation = match stage {
                    Stage::TessellationControl => Some([made, others[3]]),
                    Stage::TessellationEvaluation => Some([others[2], made]),
                    _ => None,
                };
                let v = if vertex { made } else { others[0] };
                let f = if stage == Stage::Fragment { made } else { others[1] };
                let attributes = [(vk::Format::R32G32B32A32_SFLOAT, 0); 4];
                let triangles = Triangles {
                    side: Some(SIDE),
                    stride: 16,
                    attributes: &attributes[..if vertex { 4 } else { 0 }],
                    tessellation,
                    geometry: (stage == Stage::Geometry).then_some(made),
                    mesh: match stage {
                        Stage::Mesh => Some((None, made)),
                        Stage::Task => Some((Some(made), others[4])),
                        _ => None,
                    },
                    ..Triangles::new(v, f, layout)
                };
                let result = triangles.create(d);
                // SAFETY: the modules are not in use any more.
                others.iter().for_each(|&other| unsafe { d.destroy_shader_module(other, None) });
                result
            }
        };
        // SAFETY: the module is not in use any more.
        unsafe { d.destroy_shader_module(made, None) };
        result
    }

    /// Creates sets that have an object in every descriptor.
    fn sets(&self, program: &Program<'_>) -> Sets {
        let d = &self.c.device;
        let all = program.layout.sets.iter().flatten().count().max(1) as u32;
        let types: Vec<_> = [
            D::STORAGE_BUFFER,
            D::UNIFORM_BUFFER,
            D::COMBINED_IMAGE_SAMPLER,
            D::SAMPLED_IMAGE,
            D::SAMPLER,
            D::STORAGE_IMAGE,
            D::UNIFORM_TEXEL_BUFFER,
            D::STORAGE_TEXEL_BUFFER,
            D::INPUT_ATTACHMENT,
        ]
        .map(|ty| vk::DescriptorPoolSize { ty, descriptor_count: all * COUNT })
        .into();
        // SAFETY: the usage is valid in all calls of this block.
        unsafe {
            let layouts: Vec<_> = program
                .layout
                .sets
                .iter()
                .map(|set| {
                    let bindings: Vec<_> = set
                        .iter()
                        .map(|b| {
                            vk::DescriptorSetLayoutBinding::default()
                                .binding(b.binding)
                                .descriptor_type(kind(b.kind))
                                .descriptor_count(COUNT)
                                .stage_flags(vk::ShaderStageFlags::ALL)
                        })
                        .collect();
                    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
                    d.create_descriptor_set_layout(&info, None).unwrap()
                })
                .collect();
            let range = [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::ALL, offset: 0, size: 128 }];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts).push_constant_ranges(&range);
            let layout = d.create_pipeline_layout(&info, None).unwrap();
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(8).pool_sizes(&types);
            let pool = d.create_descriptor_pool(&info, None).unwrap();
            let mut sets = Vec::new();
            if !layouts.is_empty() {
                let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
                sets = d.allocate_descriptor_sets(&info).unwrap();
            }
            for ((number, &set), bindings) in (0..).zip(&sets).zip(&program.layout.sets) {
                for b in bindings {
                    let wanted = program.views.get(&(number, b.binding));
                    let views: Vec<_> = self.views.iter().filter(|v| wanted.is_none_or(|w| v.0 == *w)).collect();
                    for i in 0..COUNT {
                        let n = b.binding.wrapping_add(i).wrapping_add(program.turn) as usize;
                        let view = views.get(n % views.len().max(1)).map_or(vk::ImageView::null(), |v| v.1);
                        self.write(set, (b.binding, i), kind(b.kind), (view, self.samplers[n / 3 % 2]));
                    }
                }
            }
            Sets { layouts, layout, pool, sets }
        }
    }

    fn write(
        &self,
        set: vk::DescriptorSet,
        (binding, element): (u32, u32),
        ty: D,
        (image_view, sampler): (vk::ImageView, vk::Sampler),
    ) {
        let n = binding.wrapping_add(element);
        let slice = match ty {
            D::STORAGE_BUFFER => u64::from(n) % WRITABLE,
            _ => WRITABLE + u64::from(n) % (SLICES - WRITABLE),
        };
        let buffer = [vk::DescriptorBufferInfo { buffer: self.buffer, offset: slice * SLICE, range: SLICE_USED }];
        let image = [vk::DescriptorImageInfo { sampler, image_view, image_layout: GENERAL }];
        let texels = [self.texels[usize::from(ty == D::STORAGE_TEXEL_BUFFER)]];
        let write = vk::WriteDescriptorSet::default()
            .dst_set(set)
            .dst_binding(binding)
            .dst_array_element(element)
            .descriptor_type(ty);
        let write = match ty {
            D::STORAGE_BUFFER | D::UNIFORM_BUFFER => write.buffer_info(&buffer),
            D::UNIFORM_TEXEL_BUFFER | D::STORAGE_TEXEL_BUFFER => write.texel_buffer_view(&texels),
            _ => write.image_info(&image),
        };
        // SAFETY: valid usage.
        unsafe { self.c.device.update_descriptor_sets(&[write], &[]) };
    }
}

impl Drop for GuardedDevice {
    fn drop(&mut self) {
        let d = &self.c.device;
        // SAFETY: the objects are not in use any more.
        unsafe {
            let _ = d.device_wait_idle();
            self.views.iter().for_each(|v| d.destroy_image_view(v.1, None));
            self.texels.iter().for_each(|&v| d.destroy_buffer_view(v, None));
            self.images.iter().for_each(|&i| d.destroy_image(i, None));
            self.samplers.iter().for_each(|&s| d.destroy_sampler(s, None));
            d.destroy_buffer(self.buffer, None);
            d.free_memory(self.memory, None);
            d.destroy_buffer(self.target_of_pointers.1, None);
            d.free_memory(self.target_of_pointers.0, None);
            d.destroy_image_view(self.target.view, None);
            d.destroy_image(self.target.image, None);
            d.free_memory(self.target.memory, None);
        }
    }
}

struct Sets {
    layouts: Vec<vk::DescriptorSetLayout>,
    layout: vk::PipelineLayout,
    pool: vk::DescriptorPool,
    sets: Vec<vk::DescriptorSet>,
}

impl Sets {
    fn destroy(self, c: &Context) {
        // SAFETY: the objects are not in use any more.
        unsafe {
            c.device.destroy_descriptor_pool(self.pool, None);
            c.device.destroy_pipeline_layout(self.layout, None);
            self.layouts.iter().for_each(|&l| c.device.destroy_descriptor_set_layout(l, None));
        }
    }
}

fn kind(kind: K) -> D {
    match kind {
        K::StorageBuffer => D::STORAGE_BUFFER,
        K::UniformBuffer => D::UNIFORM_BUFFER,
        K::CombinedImageSampler => D::COMBINED_IMAGE_SAMPLER,
        K::SampledImage => D::SAMPLED_IMAGE,
        K::Sampler => D::SAMPLER,
        K::StorageImage => D::STORAGE_IMAGE,
        K::UniformTexelBuffer => D::UNIFORM_TEXEL_BUFFER,
        K::StorageTexelBuffer => D::STORAGE_TEXEL_BUFFER,
        _ => D::INPUT_ATTACHMENT,
    }
}

fn map(constants: &[(u32, Vec<u8>)]) -> (Vec<vk::SpecializationMapEntry>, Vec<u8>) {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    for (constant_id, bytes) in constants {
        let offset = data.len() as u32;
        entries.push(vk::SpecializationMapEntry { constant_id: *constant_id, offset, size: bytes.len() });
        data.extend_from_slice(bytes);
    }
    (entries, data)
}

/// Returns random values for specialization constants.
pub fn constants(rng: &mut Rng) -> Vec<(u32, Vec<u8>)> {
    let value = |rng: &mut Rng| {
        let bits: u64 = rng.pick(&[0, 1, 2, 3, 8, 64, 0xffff_ffff, 0x8000_0000, 0x7fc0_0000, 0x1_0000_0001]);
        bits.to_le_bytes()[..rng.pick(&[4, 4, 4, 1, 2, 8])].to_vec()
    };
    if rng.chance(60) { Vec::new() } else { (0..4).map(|id| (id, value(rng))).collect() }
}

type Kinds = &'static [(vk::ImageViewType, u32, ViewType)];

/// Creates images of every dimension and some formats; returns them with the views that each can
/// have.
fn images(c: &Context) -> Vec<(vk::Image, vk::Format, Kinds)> {
    use vk::ImageViewType as V;
    const D1: Kinds = &[(V::TYPE_1D, 1, (0, false, false)), (V::TYPE_1D_ARRAY, 2, (0, true, false))];
    const D2: Kinds = &[
        (V::TYPE_2D, 1, (1, false, false)),
        (V::TYPE_2D_ARRAY, 6, (1, true, false)),
        (V::CUBE, 6, (3, false, false)),
        (V::CUBE_ARRAY, 6, (3, true, false)),
        (V::TYPE_2D, 1, (6, false, false)),
    ];
    const D3: Kinds = &[(V::TYPE_3D, 1, (2, false, false))];
    const MS: Kinds =
        &[(V::TYPE_2D, 1, (1, false, true)), (V::TYPE_2D_ARRAY, 1, (1, true, true)), (V::TYPE_2D, 1, (6, false, true))];
    let none = vk::ImageCreateFlags::empty();
    type Shape = (vk::ImageType, [u32; 3], [u32; 3], vk::ImageCreateFlags, Kinds);
    let shapes: [Shape; 4] = [
        (vk::ImageType::TYPE_1D, [SIDE, 1, 1], [2, 2, 1], none, D1),
        (vk::ImageType::TYPE_2D, [SIDE, SIDE, 1], [2, 6, 1], vk::ImageCreateFlags::CUBE_COMPATIBLE, D2),
        (vk::ImageType::TYPE_3D, [4, 4, 4], [2, 1, 1], none, D3),
        (vk::ImageType::TYPE_2D, [SIDE, SIDE, 1], [1, 1, 4], none, MS),
    ];
    let usage = vk::ImageUsageFlags::SAMPLED
        | vk::ImageUsageFlags::STORAGE
        | vk::ImageUsageFlags::TRANSFER_DST
        | vk::ImageUsageFlags::INPUT_ATTACHMENT;
    let all = FORMATS.into_iter().flat_map(|format| shapes.map(|shape| (format, shape)));
    all.map(|(format, (ty, [width, height, depth], [levels, layers, samples], flags, kinds))| {
        let info = vk::ImageCreateInfo::default()
            .flags(flags)
            .image_type(ty)
            .format(format)
            .extent(vk::Extent3D { width, height, depth })
            .mip_levels(levels)
            .array_layers(layers)
            .samples(vk::SampleCountFlags::from_raw(samples))
            .usage(usage);
        // SAFETY: valid usage.
        (unsafe { c.device.create_image(&info, None) }.unwrap(), format, kinds)
    })
    .collect()
}

fn views<'a>(
    c: &'a Context,
    (image, format, kinds): &'a (vk::Image, vk::Format, Kinds),
) -> impl Iterator<Item = (ViewType, vk::ImageView)> + 'a {
    kinds.iter().map(|&(ty, layer_count, says)| {
        let info = vk::ImageViewCreateInfo::default().image(*image).view_type(ty).format(*format).subresource_range(
            vk::ImageSubresourceRange {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                base_mip_level: 0,
                level_count: vk::REMAINING_MIP_LEVELS,
                base_array_layer: 0,
                layer_count,
            },
        );
        // SAFETY: valid usage.
        (says, unsafe { c.device.create_image_view(&info, None) }.unwrap())
    })
}

/// Returns the types of images that a module's variables declare.
pub fn views_of(words: &[u32], list: &[(usize, usize)]) -> HashMap<(u32, u32), ViewType> {
    let (mut places, mut types, mut out) = (HashMap::<u32, [u32; 2]>::new(), HashMap::new(), HashMap::new());
    for &(at, len) in list {
        match (words[at] & 0xffff, &words[at + 1..at + len]) {
            (71, &[id, 34, set]) => places.entry(id).or_default()[0] = set,
            (71, &[id, 33, binding]) => places.entry(id).or_default()[1] = binding,
            (25, &[id, _, dim, _, arrayed, samples, ..]) => {
                types.insert(id, (dim, arrayed != 0, samples != 0));
            }
            // These are types that contain images: sampled images, arrays, pointers.
            (27..=29, &[id, of, ..]) | (32, &[id, _, of]) => {
                if let Some(&image) = types.get(&of) {
                    types.insert(id, image);
                }
            }
            (59, &[ty, id, ..]) => {
                if let (Some(&[set, binding]), Some(&image)) = (places.get(&id), types.get(&ty)) {
                    out.insert((set, binding), image);
                }
            }
            _ => {}
        }
    }
    out
}

/// Returns the size of the memory, and the ranges of the images behind the buffers, with marks in
/// between.
fn places(c: &Context, images: &[(vk::Image, vk::Format, Kinds)]) -> (u64, Vec<(u64, u64)>) {
    let mut at = MARGIN + SLICES * SLICE;
    let places = images
        .iter()
        .map(|image| {
            // SAFETY: valid usage.
            let r = unsafe { c.device.get_image_memory_requirements(image.0) };
            let place = (at + 256).next_multiple_of(r.alignment);
            at = place + r.size;
            (place, r.size)
        })
        .collect();
    (at + MARGIN, places)
}

//! Tests of VK_EXT_graphics_pipeline_library: pixels of linked pipelines, parts that do not fit,
//! independent sets, lifetimes, feedback.

use crate::binaries::{self, CAPTURE_DATA, Commands};
use crate::common::{Buffer, Chain, Context, Image, info};
use crate::pipeline::{AREA, Messenger, RGBA8, module, render};
use ash::vk;
use cts_runner::vk::{PipelineDesc, Target, stage_info};
use std::ffi::CStr;
use std::slice;
use std::time::{Duration, Instant};

type Subsets = vk::GraphicsPipelineLibraryFlagsEXT;
type Flags = vk::PipelineCreateFlags;

const SUBSETS: [Subsets; 4] = [
    Subsets::VERTEX_INPUT_INTERFACE,
    Subsets::PRE_RASTERIZATION_SHADERS,
    Subsets::FRAGMENT_SHADER,
    Subsets::FRAGMENT_OUTPUT_INTERFACE,
];
const ALL: Subsets = Subsets::from_raw(15);
const GRAPHICS: vk::PipelineBindPoint = vk::PipelineBindPoint::GRAPHICS;

fn context(instance: &[&CStr]) -> Context {
    context_with(instance, &[], &mut [])
}

/// Creates a device with libraries, and with these extensions and features.
fn context_with(instance: &[&CStr], more: &[&'static CStr], features: &mut [&mut dyn Chain]) -> Context {
    let mut rendering =
        vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true).pipeline_creation_cache_control(true);
    let mut libraries = vk::PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT::default().graphics_pipeline_library(true);
    let mut all: Vec<&mut dyn Chain> = vec![&mut rendering, &mut libraries];
    all.extend(features.iter_mut().map(|feature| &mut **feature as &mut dyn Chain));
    let extensions = [c"VK_KHR_pipeline_library", c"VK_EXT_graphics_pipeline_library", c"VK_KHR_dynamic_rendering"];
    Context::with(instance, &[&extensions[..], more].concat(), &mut all)
}

/// A create info: what it has itself, and its libraries.
struct Part<'a> {
    subsets: Subsets,
    libraries: &'a [vk::Pipeline],
    flags: Flags,
    layout: vk::PipelineLayout,
    cache: vk::PipelineCache,
}

/// Modules of the stages.
#[derive(Clone, Copy)]
struct Modules {
    vertex: vk::ShaderModule,
    fragment: vk::ShaderModule,
    /// True if the vertex stage reads a position and a colour from binding 0.
    attributes: bool,
}

impl Modules {
    fn new(c: &Context, vertex: &[u32], fragment: &[u32], attributes: bool) -> Modules {
        Modules { vertex: module(c, vertex), fragment: module(c, fragment), attributes }
    }

    fn destroy(self, c: &Context) {
        // SAFETY: valid usage.
        unsafe { [self.vertex, self.fragment].iter().for_each(|module| c.device.destroy_shader_module(*module, None)) };
    }

    /// Creates the part. State of other subsets has values that would change the pixels; it is
    /// ignored.
    fn create(self, c: &Context, part: &Part<'_>) -> Result<vk::Pipeline, vk::Result> {
        self.create_with_feedback(c, part).0
    }

    fn create_with_feedback(
        self,
        c: &Context,
        part: &Part<'_>,
    ) -> (Result<vk::Pipeline, vk::Result>, vk::PipelineCreationFeedback) {
        let has = |subset| part.subsets.contains(subset);
        let [input, pre_rasterization, shader, output] = SUBSETS.map(has);
        let none = vk::SpecializationInfo::default();
        let stages: Vec<_> = [
            (pre_rasterization, vk::ShaderStageFlags::VERTEX, self.vertex),
            (shader, vk::ShaderStageFlags::FRAGMENT, self.fragment),
        ]
        .into_iter()
        .filter(|(own, ..)| *own)
        .map(|(_, kind, module)| stage_info(kind, module, &none))
        .collect();
        let attribute =
            |location, format, offset| vk::VertexInputAttributeDescription { location, binding: 0, format, offset };
        let read = usize::from(input && self.attributes);
        let mask = if output { vk::ColorComponentFlags::RGBA } else { vk::ColorComponentFlags::empty() };
        let blend = vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(mask)
            .blend_enable(self.attributes)
            .src_color_blend_factor(vk::BlendFactor::CONSTANT_COLOR)
            .src_alpha_blend_factor(vk::BlendFactor::ONE)
            .dst_alpha_blend_factor(vk::BlendFactor::ONE);
        let side = if pre_rasterization { 64 } else { 1 };
        let mut feedback = vk::PipelineCreationFeedback::default();
        let mut feedbacks = vec![vk::PipelineCreationFeedback::default(); stages.len()];
        let answer = vk::PipelineCreationFeedbackCreateInfo::default()
            .pipeline_creation_feedback(&mut feedback)
            .pipeline_stage_creation_feedbacks(&mut feedbacks);
        let desc = PipelineDesc {
            bindings: &[vk::VertexInputBindingDescription::default().stride(24)][..read],
            attributes: &[attribute(0, vk::Format::R32G32_SFLOAT, 0), attribute(1, vk::Format::R32G32B32A32_SFLOAT, 8)]
                [..2 * read],
            topology: if input { vk::PrimitiveTopology::TRIANGLE_STRIP } else { vk::PrimitiveTopology::POINT_LIST },
            viewports: &[info::viewport(side)],
            scissors: &[info::area(side)],
            faces: match pre_rasterization {
                true => (vk::CullModeFlags::BACK, vk::FrontFace::CLOCKWISE),
                false => (vk::CullModeFlags::FRONT_AND_BACK, vk::FrontFace::CLOCKWISE),
            },
            discard: !pre_rasterization,
            blend: &[blend],
            blend_constants: if output { [1.0, 0.5, 0.25, 1.0] } else { [0.0; 4] },
            flags: part.flags,
            // A create info without parts or libraries is a complete pipeline.
            subset: (part.subsets != ALL && !part.subsets.is_empty()).then_some(part.subsets),
            libraries: part.libraries,
            next: Some(&answer),
            ..PipelineDesc::new(&stages, part.layout, Target::Formats(if output { &[RGBA8] } else { &[] }))
        };
        let made = desc.describe(|info| {
            // SAFETY: valid usage, apart from the parts of some tests.
            let made = unsafe { c.device.create_graphics_pipelines(part.cache, &[info], None) };
            made.map(|list| list[0]).map_err(|(list, error)| {
                assert_eq!(list[0], vk::Pipeline::null());
                error
            })
        });
        (made, feedback)
    }
}

/// Vertices of two triangles, the second of which has the other orientation and would add its
/// alpha, and a colour that the blend constants change.
fn vertices(c: &Context) -> Buffer {
    let corners = [[-1.0f32, -1.0], [1.0, -1.0], [-1.0, 1.0], [-0.5, -0.25]];
    let words: Vec<u32> =
        corners.iter().flat_map(|at| at.iter().chain(&[1.0, 1.0, 1.0, 0.5])).map(|v| v.to_bits()).collect();
    let mut buffer = c.buffer(4 * words.len() as u64);
    buffer.fill_words(|i| words[i as usize]);
    buffer
}

fn draw(c: &Context, target: &Image, pipeline: vk::Pipeline, vertices: &Buffer) -> Vec<u8> {
    // SAFETY: valid usage.
    render(c, target, AREA, |b| unsafe {
        c.device.cmd_bind_pipeline(b, GRAPHICS, pipeline);
        c.device.cmd_bind_vertex_buffers(b, 0, &[vertices.buffer], &[0]);
        c.device.cmd_draw(b, 4, 1, 0, 0);
    })
    .expect("draw");
    c.read_image(target, 4)
}

fn destroy(c: &Context, pipelines: &[vk::Pipeline]) {
    // SAFETY: the pipelines are not in use.
    pipelines.iter().for_each(|&pipeline| unsafe { c.device.destroy_pipeline(pipeline, None) });
}

fn triangle(c: &Context) -> Modules {
    Modules::new(c, &shader!("triangle.vert"), &shader!("triangle.frag"), true)
}

fn empty_layout(c: &Context) -> vk::PipelineLayout {
    // SAFETY: valid usage.
    unsafe { c.device.create_pipeline_layout(&Default::default(), None) }.expect("layout")
}

/// Returns all ways to divide the four subsets among parts.
fn partitions() -> Vec<Vec<Subsets>> {
    let mut all: Vec<Vec<Subsets>> = vec![Vec::new()];
    for subset in SUBSETS {
        all = all
            .iter()
            .flat_map(|parts| {
                (0..=parts.len()).map(move |i| {
                    let mut parts = parts.clone();
                    match parts.get_mut(i) {
                        Some(part) => *part |= subset,
                        None => parts.push(subset),
                    }
                    parts
                })
            })
            .collect();
    }
    all
}

/// Checks that every division into libraries draws what the monolithic pipeline draws: with all
/// parts from libraries, with one part in the last create info, and with a library of libraries.
/// Libraries and modules are destroyed before the draw.
#[test]
fn linked_pipelines_draw_what_monolithic_ones_draw() {
    let c = context(&[]);
    let target = c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    let vertices = vertices(&c);
    let (layout, cache) = (empty_layout(&c), vk::PipelineCache::null());
    let modules = triangle(&c);
    let whole = Part { subsets: ALL, libraries: &[], flags: Flags::empty(), layout, cache };
    let monolithic = modules.create(&c, &whole).expect("a pipeline");
    let want = draw(&c, &target, monolithic, &vertices);
    let texels = want.as_chunks::<4>().0;
    let [drawn, cleared] = [[255, 128, 64, 128], [0; 4]].map(|value| texels.iter().filter(|t| **t == value).count());
    assert!(drawn > 1000 && cleared > 1000 && drawn + cleared == 4096, "{drawn} + {cleared}");
    destroy(&c, &[monolithic]);

    let partitions = partitions();
    assert_eq!(partitions.len(), 15);
    let optimized = [Flags::RETAIN_LINK_TIME_OPTIMIZATION_INFO_EXT, Flags::LINK_TIME_OPTIMIZATION_EXT];
    for (parts, [retain, link]) in
        partitions.iter().flat_map(|parts| [[Flags::empty(); 2], optimized].map(|flags| (parts, flags)))
    {
        let library = |subsets: Subsets, libraries: &[vk::Pipeline]| {
            let flags = Flags::LIBRARY_KHR | retain;
            modules.create(&c, &Part { subsets, libraries, flags, layout, cache }).expect("a library")
        };
        let (first, rest) = parts.split_first().expect("a part");
        let rest: Vec<_> = rest.iter().map(|&subsets| library(subsets, &[])).collect();
        let mut linked = Vec::new();
        // One part is in the create info that links.
        linked.push(Part { subsets: *first, libraries: &rest, flags: link, layout, cache });
        // All parts are libraries, except of a complete one, which is no library.
        let all: Vec<_> =
            if rest.is_empty() { Vec::new() } else { rest.iter().copied().chain([library(*first, &[])]).collect() };
        // A library is made of libraries.
        let [tail @ .., head] = &all[..] else {
            let pipeline = modules.create(&c, &linked[0]).expect("linked");
            assert_eq!(draw(&c, &target, pipeline, &vertices), want, "{parts:?}");
            destroy(&c, &[pipeline]);
            continue;
        };
        let nested = if tail.len() > 1 { vec![library(Subsets::empty(), tail), *head] } else { all.clone() };
        for libraries in [&all, &nested] {
            linked.push(Part { subsets: Subsets::empty(), libraries, flags: link, layout, cache });
        }
        let pipelines: Vec<_> = linked.iter().map(|part| modules.create(&c, part).expect("linked")).collect();
        destroy(&c, &all);
        if tail.len() > 1 {
            destroy(&c, &nested[..1]);
        }
        for (i, &pipeline) in pipelines.iter().enumerate() {
            assert_eq!(draw(&c, &target, pipeline, &vertices), want, "{i} of {parts:?}");
        }
        destroy(&c, &pipelines);
    }
    modules.destroy(&c);
    // SAFETY: valid usage.
    unsafe { c.device.destroy_pipeline_layout(layout, None) };
    c.free_image(target);
    c.free(vertices);
}

/// Checks that links of parts that are missing, repeated, or of other kinds are refused with a
/// message, and that a library cannot be bound.
#[test]
fn parts_that_are_no_pipeline_are_refused() {
    let c = context(&[c"VK_EXT_debug_utils"]);
    let messenger = Messenger::new(&c);
    let (layout, cache) = (empty_layout(&c), vk::PipelineCache::null());
    let modules = triangle(&c);
    let library = |subsets| {
        let part = Part { subsets, libraries: &[], flags: Flags::LIBRARY_KHR, layout, cache };
        modules.create(&c, &part).expect("a library")
    };
    let libraries = SUBSETS.map(library);
    let twice = library(SUBSETS[1] | SUBSETS[2]);
    let whole = Part { subsets: ALL, libraries: &[], flags: Flags::empty(), layout, cache };
    let monolithic = modules.create(&c, &whole).expect("a pipeline");
    let [input, pre_rasterization, shader, output] = libraries;
    let cases: [(&[vk::Pipeline], Subsets, Flags, &str); 10] = [
        (&[pre_rasterization, shader, output], Subsets::empty(), Flags::empty(), "no part has"),
        (&[input, shader, output], Subsets::empty(), Flags::empty(), "no part has"),
        (&[input, pre_rasterization, output], Subsets::empty(), Flags::empty(), "no part has"),
        (&[input, pre_rasterization, shader], Subsets::empty(), Flags::empty(), "no part has"),
        (&[], SUBSETS[1], Flags::empty(), "no part has"),
        (&[input, pre_rasterization, shader, output, shader], Subsets::empty(), Flags::empty(), "several parts have"),
        (&[input, pre_rasterization, twice, output], Subsets::empty(), Flags::empty(), "several parts have"),
        (&[input, pre_rasterization, shader, output], SUBSETS[3], Flags::empty(), "several parts have"),
        (&[shader, shader], Subsets::empty(), Flags::LIBRARY_KHR, "several parts have"),
        (&[input, pre_rasterization, shader, output, monolithic], Subsets::empty(), Flags::empty(), "not a library"),
    ];
    for (libraries, subsets, flags, message) in cases {
        let refused = modules.create(&c, &Part { subsets, libraries, flags, layout, cache });
        assert_eq!(refused, Err(vk::Result::ERROR_INVALID_SHADER_NV), "{message}");
        let messages = messenger.take();
        assert!(messages.len() == 1 && messages[0].contains(message), "{message}: {messages:?}");
    }
    // SAFETY: only the library is not a pipeline that can be bound.
    unsafe {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(c.pool).command_buffer_count(1);
        let b = c.device.allocate_command_buffers(&info).expect("a command buffer")[0];
        c.device.begin_command_buffer(b, &Default::default()).expect("recording");
        c.device.cmd_bind_pipeline(b, GRAPHICS, shader);
        assert!(c.device.end_command_buffer(b).is_err());
    }
    destroy(&c, &libraries);
    destroy(&c, &[twice, monolithic]);
    modules.destroy(&c);
    // SAFETY: valid usage.
    unsafe { c.device.destroy_pipeline_layout(layout, None) };
}

/// Makes a set layout of dynamic buffers: binding, type, count.
fn set_layout(c: &Context, bindings: &[(u32, vk::DescriptorType, u32)]) -> vk::DescriptorSetLayout {
    let bindings: Vec<_> = bindings
        .iter()
        .map(|&(binding, ty, count)| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(binding)
                .descriptor_type(ty)
                .descriptor_count(count)
                .stage_flags(vk::ShaderStageFlags::ALL_GRAPHICS)
        })
        .collect();
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    // SAFETY: valid usage.
    unsafe { c.device.create_descriptor_set_layout(&info, None) }.expect("set layout")
}

fn independent_layout(c: &Context, sets: &[vk::DescriptorSetLayout]) -> vk::PipelineLayout {
    let info = vk::PipelineLayoutCreateInfo::default()
        .flags(vk::PipelineLayoutCreateFlags::INDEPENDENT_SETS_EXT)
        .set_layouts(sets);
    // SAFETY: valid usage.
    unsafe { c.device.create_pipeline_layout(&info, None) }.expect("layout")
}

/// Checks stages whose libraries know only their own sets, all of which have dynamic buffers. The
/// layouts of the libraries are destroyed before the link, and the layout of the link is complete,
/// or absent.
#[test]
fn independent_sets_have_dynamic_buffers() {
    const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC;
    const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER_DYNAMIC;
    let c = context(&[]);
    let bindings: [&[(u32, vk::DescriptorType, u32)]; 4] =
        [&[(0, UNIFORM, 1), (1, UNIFORM, 1)], &[(0, STORAGE, 1)], &[(3, STORAGE, 1)], &[(2, UNIFORM, 2)]];
    let layouts = bindings.map(|list| set_layout(&c, list));
    let none = vk::DescriptorSetLayout::null();
    let whole = independent_layout(&c, &layouts);
    let modules = Modules::new(&c, &shader!("independent.vert"), &shader!("independent.frag"), false);
    let cache = vk::PipelineCache::null();
    let library = |subsets, sets: &[vk::DescriptorSetLayout]| {
        let layout = independent_layout(&c, sets);
        let part = Part { subsets, libraries: &[], flags: Flags::LIBRARY_KHR, layout, cache };
        let library = modules.create(&c, &part).expect("a library");
        // SAFETY: valid usage.
        unsafe { c.device.destroy_pipeline_layout(layout, None) };
        library
    };
    let libraries = [
        library(SUBSETS[0] | SUBSETS[1], &[layouts[0], none, layouts[2]]),
        library(SUBSETS[2] | SUBSETS[3], &[none, layouts[1], none, layouts[3]]),
    ];
    // The driver takes the union of the libraries' layouts if there is no layout.
    let pipelines = [whole, vk::PipelineLayout::null()].map(|layout| {
        let part = Part { subsets: Subsets::empty(), libraries: &libraries, flags: Flags::empty(), layout, cache };
        modules.create(&c, &part).expect("linked")
    });
    destroy(&c, &libraries);
    modules.destroy(&c);

    let mut data = c.buffer(1 << 12);
    data.fill_words(|i| i / 64 + 1);
    let sizes = [UNIFORM, STORAGE].map(|ty| vk::DescriptorPoolSize { ty, descriptor_count: 8 });
    let target = c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    let vertices = vertices(&c);
    // SAFETY: valid usage.
    unsafe {
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(4).pool_sizes(&sizes);
        let pool = c.device.create_descriptor_pool(&info, None).expect("pool");
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        let sets = c.device.allocate_descriptor_sets(&info).expect("sets");
        for (&set, bindings) in sets.iter().zip(bindings) {
            for &(binding, ty, count) in bindings {
                let buffer = vk::DescriptorBufferInfo { buffer: data.buffer, offset: 0, range: 16 };
                let list = vec![buffer; count as usize];
                let write = vk::WriteDescriptorSet::default()
                    .dst_set(set)
                    .dst_binding(binding)
                    .descriptor_type(ty)
                    .buffer_info(&list);
                c.device.update_descriptor_sets(&[write], &[]);
            }
        }
        // Blocks of 256 bytes, whose words are their numbers, from 1 on.
        let offsets = [1, 2, 7, 4, 5, 8].map(|block: u32| 256 * block);
        for pipeline in pipelines {
            render(&c, &target, AREA, |b| {
                c.device.cmd_bind_pipeline(b, GRAPHICS, pipeline);
                c.device.cmd_bind_vertex_buffers(b, 0, slice::from_ref(&vertices.buffer), &[0]);
                c.device.cmd_bind_descriptor_sets(b, GRAPHICS, whole, 0, &sets, &offsets);
                c.device.cmd_draw(b, 3, 1, 0, 0);
            })
            .expect("draw");
            let want = [2 + 3, 5, 8 + 6, 9];
            let texels = c.read_image(&target, 4);
            assert!(texels.as_chunks::<4>().0.iter().all(|texel| *texel == want), "{:?}", &texels[..4]);
        }
        destroy(&c, &pipelines);
        c.device.destroy_descriptor_pool(pool, None);
        c.device.destroy_pipeline_layout(whole, None);
        layouts.iter().for_each(|&layout| c.device.destroy_descriptor_set_layout(layout, None));
    }
    c.free_image(target);
    c.free(vertices);
    c.free(data);
}

/// Checks that libraries are compiled and cached as pipelines are, and that a link never compiles.
#[test]
fn only_stages_are_compiled_and_cached() {
    use vk::PipelineCreationFeedbackFlags as F;
    let c = context(&[]);
    let layout = empty_layout(&c);
    let modules = triangle(&c);
    // SAFETY: valid usage.
    let cache = unsafe { c.device.create_pipeline_cache(&Default::default(), None) }.expect("cache");
    let create = |subsets, libraries: &[vk::Pipeline], flags| {
        modules.create_with_feedback(&c, &Part { subsets, libraries, flags, layout, cache })
    };
    let strict = Flags::FAIL_ON_PIPELINE_COMPILE_REQUIRED;
    let hit = F::VALID | F::APPLICATION_PIPELINE_CACHE_HIT;
    let mut libraries = Vec::new();
    for (subsets, is_compiled) in SUBSETS.into_iter().zip([false, true, true, false]) {
        let (refused, _) = create(subsets, &[], Flags::LIBRARY_KHR | strict);
        match refused {
            Ok(library) => destroy(&c, &[library]),
            Err(error) => assert_eq!((error, is_compiled), (vk::Result::PIPELINE_COMPILE_REQUIRED, true)),
        }
        assert_eq!(refused.is_err(), is_compiled, "{subsets:?}");
        let (first, feedback) = create(subsets, &[], Flags::LIBRARY_KHR);
        assert_eq!(feedback.flags, F::VALID, "{subsets:?}");
        let (again, feedback) = create(subsets, &[], Flags::LIBRARY_KHR | strict);
        assert_eq!(feedback.flags, if is_compiled { hit } else { F::VALID }, "{subsets:?}");
        destroy(&c, &[first.expect("a library")]);
        libraries.push(again.expect("a cached library"));
    }
    let (linked, feedback) = create(Subsets::empty(), &libraries, strict);
    assert_eq!(feedback.flags, F::VALID);
    destroy(&c, &libraries);
    destroy(&c, &[linked.expect("a pipeline")]);
    modules.destroy(&c);
    // SAFETY: valid usage.
    unsafe {
        c.device.destroy_pipeline_cache(cache, None);
        c.device.destroy_pipeline_layout(layout, None);
    }
}

/// Checks that linking four libraries, which makes no code, takes at most 20 microseconds.
#[test]
fn fast_links_are_fast() {
    let c = context(&[]);
    let (layout, cache) = (empty_layout(&c), vk::PipelineCache::null());
    let modules = triangle(&c);
    let libraries = SUBSETS.map(|subsets| {
        let part = Part { subsets, libraries: &[], flags: Flags::LIBRARY_KHR, layout, cache };
        modules.create(&c, &part).expect("a library")
    });
    let link = |_| {
        let part = Part { subsets: Subsets::empty(), libraries: &libraries, flags: Flags::empty(), layout, cache };
        let began = Instant::now();
        let pipeline = modules.create(&c, &part).expect("linked");
        let time = began.elapsed();
        destroy(&c, &[pipeline]);
        time
    };
    let best = (0..1000).map(link).min().expect("a time");
    assert!(best <= Duration::from_micros(20), "{best:?}");
    println!("a fast link takes {best:?}");
    destroy(&c, &libraries);
    modules.destroy(&c);
    // SAFETY: valid usage.
    unsafe { c.device.destroy_pipeline_layout(layout, None) };
}

/// Checks that the key of a pipeline that is only linked depends on the stages of its libraries,
/// and that its binaries are those of its libraries' stages.
#[test]
fn keys_and_binaries_of_links_include_those_of_libraries() {
    let c = context_with(&[], &[c"VK_KHR_pipeline_binary"], &mut [&mut binaries::enabled()]);
    let commands = Commands::new(&c);
    let (layout, cache) = (empty_layout(&c), vk::PipelineCache::null());
    let modules = triangle(&c);
    let red = Modules { fragment: module(&c, &shader!("red.frag")), ..modules };
    let library = |modules: Modules, subsets| {
        let part = Part { subsets, libraries: &[], flags: Flags::LIBRARY_KHR, layout, cache };
        modules.create(&c, &part).expect("a library")
    };
    let [input, pre_rasterization, shader, output] = SUBSETS.map(|subsets| library(modules, subsets));
    let red_shader = library(red, SUBSETS[2]);
    let stored = |shader| {
        let libraries = [input, pre_rasterization, shader, output];
        let mut linked = vk::PipelineLibraryCreateInfoKHR::default().libraries(&libraries);
        let mut flags = vk::PipelineCreateFlags2CreateInfoKHR::default().flags(CAPTURE_DATA);
        let info =
            vk::GraphicsPipelineCreateInfo::default().layout(layout).push_next(&mut linked).push_next(&mut flags);
        let described = commands.take(commands.of_info(&info).expect("binaries of live stages"));
        // SAFETY: valid usage.
        let pipeline = unsafe { c.device.create_graphics_pipelines(cache, &[info], None) }.expect("linked")[0];
        let captured = commands.take(commands.of_pipeline(pipeline).expect("binaries"));
        assert_eq!(described.len(), 2, "a binary for each stage");
        assert!(described == captured, "the pipeline that is described has the same binaries");
        destroy(&c, &[pipeline]);
        (commands.key(&info), captured)
    };
    let [(key, list), (again, _), (other_key, other)] = [shader, shader, red_shader].map(stored);
    assert!(key == again && key != other_key);
    assert!(list[0] == other[0] && list[1] != other[1], "only the fragment stage differs");
    destroy(&c, &[input, pre_rasterization, shader, output, red_shader]);
    // SAFETY: the objects are not in use.
    unsafe {
        c.device.destroy_shader_module(red.fragment, None);
        c.device.destroy_pipeline_layout(layout, None);
    }
    modules.destroy(&c);
}

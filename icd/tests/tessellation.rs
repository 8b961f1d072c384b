//! Tests of the tessellation stages: patches that are dropped, numbers of patches, dynamic counts
//! of control points and domain origin, statistics, refusals.
//!
//! The results of the stages are compared with another driver's in `cts-runner/tests/glsl.rs`, for
//! all tiers and numbers of threads in `hashes.rs`.

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
use ash::vk;
use common::{Context, info, spirv};
use cts_runner::vk::{PipelineDesc, Target, blend_state};
use pipeline::Messenger;

macro_rules! shader {
    ($name:literal) => {
        spirv(include_bytes!(concat!("data/", $name, ".spv")))
    };
}

const SIDE: u32 = 16;
const FORMAT: vk::Format = vk::Format::R32_UINT;

/// Patches that are drawn onto cells of numbers.
#[derive(Clone)]
struct Drawing {
    control: Option<Vec<u32>>,
    evaluation: Vec<u32>,
    fragment: Vec<u32>,
    patch: u32,
    vertices: u32,
    instances: u32,
    lower_left: bool,
    cull: vk::CullModeFlags,
    dynamic: bool,
}

impl Drawing {
    fn new() -> Drawing {
        Drawing {
            control: Some(shader!("patches.tesc")),
            evaluation: shader!("patches.tese"),
            fragment: shader!("number.frag"),
            patch: 1,
            vertices: 16,
            instances: 1,
            lower_left: false,
            cull: vk::CullModeFlags::NONE,
            dynamic: false,
        }
    }
}

fn context(instance: &[&std::ffi::CStr]) -> Context {
    let features = vk::PhysicalDeviceFeatures::default().tessellation_shader(true).pipeline_statistics_query(true);
    let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
    let mut points = vk::PhysicalDeviceExtendedDynamicState2FeaturesEXT::default()
        .extended_dynamic_state2_patch_control_points(true);
    let mut origin = vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT::default()
        .extended_dynamic_state3_tessellation_domain_origin(true);
    let extensions = [c"VK_EXT_extended_dynamic_state2", c"VK_EXT_extended_dynamic_state3"];
    Context::with(instance, &extensions, &mut [&mut features, &mut rendering, &mut points, &mut origin])
}

fn origin(lower_left: bool) -> vk::TessellationDomainOrigin {
    if lower_left { vk::TessellationDomainOrigin::LOWER_LEFT } else { vk::TessellationDomainOrigin::UPPER_LEFT }
}

fn create(c: &Context, drawing: &Drawing, layout: vk::PipelineLayout) -> Result<vk::Pipeline, vk::Result> {
    use vk::ShaderStageFlags as S;
    let vertex = shader!("cells.vert");
    let mut stages = vec![(S::VERTEX, &vertex), (S::TESSELLATION_EVALUATION, &drawing.evaluation)];
    stages.push((S::FRAGMENT, &drawing.fragment));
    stages.extend(drawing.control.iter().map(|control| (S::TESSELLATION_CONTROL, control)));
    let code: Vec<_> = stages.iter().map(|&(stage, words)| (stage, &words[..])).collect();
    let dynamic = [vk::DynamicState::PATCH_CONTROL_POINTS_EXT, vk::DynamicState::TESSELLATION_DOMAIN_ORIGIN_EXT];
    // Dynamic state has other static values here.
    let (patch_points, lower_left) =
        if drawing.dynamic { (31, !drawing.lower_left) } else { (drawing.patch, drawing.lower_left) };
    let desc = PipelineDesc {
        topology: vk::PrimitiveTopology::PATCH_LIST,
        patch_points,
        tessellation: Some(
            &vk::PipelineTessellationDomainOriginStateCreateInfo::default().domain_origin(origin(lower_left)),
        ),
        viewports: &[info::viewport(SIDE)],
        scissors: &[info::area(SIDE)],
        faces: (drawing.cull, vk::FrontFace::COUNTER_CLOCKWISE),
        blend: &[blend_state(None).color_write_mask(vk::ColorComponentFlags::R)],
        dynamic: if drawing.dynamic { &dynamic } else { &[] },
        ..PipelineDesc::new(&[], layout, Target::Formats(&[FORMAT]))
    };
    pipeline::create(c, &code, desc)
}

/// Draws and returns the numbers by row and column; and the counts of vertex invocations, clipping
/// invocations, patches, and evaluation invocations.
fn draw(c: &Context, drawing: &Drawing) -> (Vec<u32>, [u64; 4]) {
    use vk::QueryPipelineStatisticFlags as Q;
    let counted = Q::VERTEX_SHADER_INVOCATIONS
        | Q::CLIPPING_INVOCATIONS
        | Q::TESSELLATION_CONTROL_SHADER_PATCHES
        | Q::TESSELLATION_EVALUATION_SHADER_INVOCATIONS;
    let dynamic2 = ash::ext::extended_dynamic_state2::Device::new(&c.instance, &c.device);
    let dynamic3 = ash::ext::extended_dynamic_state3::Device::new(&c.instance, &c.device);
    let d = &c.device;
    // SAFETY: valid usage.
    unsafe {
        let layout = d.create_pipeline_layout(&Default::default(), None).expect("layout");
        let pipeline = create(c, drawing, layout).expect("pipeline");
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(FORMAT)
            .extent(vk::Extent3D { width: SIDE, height: SIDE, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC);
        let image = d.create_image(&info, None).expect("image");
        let (memory, _) = c.memory(d.get_image_memory_requirements(image).size);
        d.bind_image_memory(image, memory, 0).expect("bind");
        let range = vk::ImageSubresourceRange { layer_count: 1, ..info::range(vk::ImageAspectFlags::COLOR, 1) };
        let info = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(vk::ImageViewType::TYPE_2D_ARRAY)
            .format(FORMAT)
            .subresource_range(range);
        let view = d.create_image_view(&info, None).expect("view");
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::PIPELINE_STATISTICS)
            .query_count(1)
            .pipeline_statistics(counted);
        let queries = d.create_query_pool(&info, None).expect("queries");
        let buffer = c.buffer(u64::from(4 * SIDE * SIDE));
        let attachments = [vk::RenderingAttachmentInfo::default()
            .image_view(view)
            .image_layout(vk::ImageLayout::GENERAL)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)];
        let info =
            vk::RenderingInfo::default().render_area(info::area(SIDE)).layer_count(1).color_attachments(&attachments);
        let to_general = vk::ImageMemoryBarrier::default()
            .dst_access_mask(vk::AccessFlags::COLOR_ATTACHMENT_WRITE)
            .new_layout(vk::ImageLayout::GENERAL)
            .image(image)
            .subresource_range(range);
        let drawn = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::COLOR_ATTACHMENT_WRITE)
            .dst_access_mask(vk::AccessFlags::TRANSFER_READ);
        let copy = vk::BufferImageCopy::default()
            .image_subresource(vk::ImageSubresourceLayers {
                layer_count: 1,
                ..info::layers(vk::ImageAspectFlags::COLOR, 0)
            })
            .image_extent(vk::Extent3D { width: SIDE, height: SIDE, depth: 1 });
        use vk::PipelineStageFlags as P;
        let record = |b| {
            let none = vk::DependencyFlags::empty();
            d.cmd_reset_query_pool(b, queries, 0, 1);
            d.cmd_pipeline_barrier(b, P::TOP_OF_PIPE, P::COLOR_ATTACHMENT_OUTPUT, none, &[], &[], &[to_general]);
            d.cmd_begin_rendering(b, &info);
            d.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
            d.cmd_begin_query(b, queries, 0, vk::QueryControlFlags::empty());
            if drawing.dynamic {
                dynamic2.cmd_set_patch_control_points(b, drawing.patch);
                dynamic3.cmd_set_tessellation_domain_origin(b, origin(drawing.lower_left));
            }
            d.cmd_draw(b, drawing.vertices, drawing.instances, 0, 0);
            d.cmd_end_query(b, queries, 0);
            d.cmd_end_rendering(b);
            d.cmd_pipeline_barrier(b, P::COLOR_ATTACHMENT_OUTPUT, P::TRANSFER, none, &[drawn], &[], &[]);
            d.cmd_copy_image_to_buffer(b, image, vk::ImageLayout::GENERAL, buffer.buffer, &[copy]);
        };
        c.run(record).expect("a drawing");
        let mut counts = [[0u64; 4]];
        d.get_query_pool_results(queries, 0, &mut counts, vk::QueryResultFlags::TYPE_64).expect("statistics");
        let numbers = buffer.words();
        c.free(buffer);
        d.destroy_query_pool(queries, None);
        d.destroy_image_view(view, None);
        d.destroy_image(image, None);
        d.free_memory(memory, None);
        d.destroy_pipeline(pipeline, None);
        d.destroy_pipeline_layout(layout, None);
        (numbers, counts[0])
    }
}

/// Returns the cell of a texel in the 4×4 grid.
fn cell(texel: usize) -> u32 {
    let (x, y) = (texel as u32 % SIDE, texel as u32 / SIDE % SIDE);
    y / 4 * 4 + x / 4
}

#[test]
fn patches_without_levels_are_dropped() {
    let c = context(&[]);
    let (numbers, counts) = draw(&c, &Drawing::new());
    for (texel, &number) in numbers.iter().enumerate() {
        let dropped = matches!(cell(texel), 5 | 6);
        assert_eq!(number, if dropped { 0 } else { cell(texel) + 1 }, "texel {texel}");
    }
    assert_eq!(counts, [16, 14 * 32, 16, 14 * 25]);
}

/// Checks a patch with the largest number of per-patch components.
#[test]
fn patches_have_the_maximum_of_components() {
    let c = context(&[]);
    // SAFETY: valid usage.
    let limits = unsafe { c.instance.get_physical_device_properties(c.physical) }.limits;
    assert_eq!(limits.max_tessellation_control_per_patch_output_components, 128);
    let (control, evaluation) = (Some(shader!("most_patch.tesc")), shader!("most_patch.tese"));
    let (numbers, _) = draw(&c, &Drawing { control, evaluation, ..Drawing::new() });
    for (texel, &number) in numbers.iter().enumerate() {
        let word = |i: u32| i * (cell(texel) + 1);
        let want = (0..128).fold(0u32, |n, i| n.wrapping_mul(31).wrapping_add(word(i)));
        assert_eq!(number, want.wrapping_add(1), "texel {texel}");
    }
}

/// Checks more patches than chunks and calls have; the last one of a cell is visible.
#[test]
fn patches_are_drawn_in_their_order() {
    let c = context(&[]);
    for (patch, dynamic) in [(1, false), (3, true), (32, false), (32, true)] {
        let (patches, instances) = (1000, 2);
        let vertices = patches * patch + (patch - 1).min(2);
        let (numbers, counts) = draw(&c, &Drawing { patch, dynamic, vertices, instances, ..Drawing::new() });
        for (texel, &number) in numbers.iter().enumerate() {
            // The first vertex of a patch is on the cell; the number is that of its last vertex.
            let last = (0..patches).rev().find(|p| p * patch % 16 == cell(texel) && !matches!(p, 5 | 6));
            assert_eq!(number, last.map_or(0, |p| p * patch + patch), "texel {texel}, patches of {patch}");
        }
        let all = u64::from(patches * instances);
        assert_eq!(counts[1..], [(all - 4) * 32, all, (all - 4) * 25], "patches of {patch}");
    }
}

/// Checks chunks with as many patches as were small until then, which then become 8,192 triangles
/// each: all of them would take 700 MB.
#[test]
fn patches_of_many_triangles_take_bounded_memory() {
    let c = context(&[]);
    let (small, large) = (20_000, 300);
    let before = common::peak();
    let dense = Drawing { control: Some(shader!("dense.tesc")), vertices: small + large, ..Drawing::new() };
    let (numbers, counts) = draw(&c, &dense);
    for (texel, &number) in numbers.iter().enumerate() {
        let last = (0..small + large).rev().find(|n| n % 16 == cell(texel)).expect("one of them");
        assert_eq!(number, last + 1, "texel {texel}");
    }
    let [all, small, large] = [small + large, small, large].map(u64::from);
    assert_eq!(counts, [all, 2 * small + 8192 * large, all, 4 * small + 65 * 65 * large]);
    assert!(common::peak() - before < 300 << 20, "{} MiB", (common::peak() - before) >> 20);
}

#[test]
fn fragments_see_the_numbers_of_patches() {
    let c = context(&[]);
    let (numbers, _) = draw(&c, &Drawing { fragment: shader!("primitive.frag"), ..Drawing::new() });
    for (texel, &number) in numbers.iter().enumerate() {
        let dropped = matches!(cell(texel), 5 | 6);
        assert_eq!(number, if dropped { 0 } else { cell(texel) + 1 }, "texel {texel}");
    }
}

/// Checks that `VertexOrderCw` is clockwise in the domain, and that the other origin inverts it.
#[test]
fn the_origin_turns_triangles() {
    let c = context(&[]);
    for (lower_left, dynamic) in [(false, false), (true, false), (false, true), (true, true)] {
        let seen = |cull| {
            let (numbers, _) = draw(&c, &Drawing { lower_left, dynamic, cull, ..Drawing::new() });
            numbers.iter().filter(|&&n| n != 0).count() as u32
        };
        // Counter-clockwise faces are front faces.
        let whole = SIDE * SIDE / 16 * 14;
        let want = if lower_left { [whole, 0] } else { [0, whole] };
        assert_eq!([seen(vk::CullModeFlags::BACK), seen(vk::CullModeFlags::FRONT)], want, "{lower_left} {dynamic}");
    }
}

/// Returns the position of an execution mode's number.
fn mode(words: &[u32], mode: u32) -> usize {
    let mut at = 5;
    loop {
        let (length, opcode) = (words[at] >> 16, words[at] & 0xffff);
        if opcode == 16 && words[at + 2] == mode {
            return at + 2;
        }
        at += length as usize;
    }
}

const OUTPUT_VERTICES: u32 = 26;

/// Removes the mode `OutputVertices` and returns it.
fn without_vertices(words: &mut Vec<u32>) -> Vec<u32> {
    let at = mode(words, OUTPUT_VERTICES);
    words.drain(at - 2..at + 2).collect()
}

/// Checks that `OutputVertices` may be in either stage, or in both.
#[test]
fn either_stage_says_how_many_vertices_a_patch_has() {
    let c = context(&[c"VK_EXT_debug_utils"]);
    let messenger = Messenger::new(&c);
    let (mut control, mut evaluation) = (shader!("patches.tesc"), shader!("patches.tese"));
    let mut said = without_vertices(&mut control);
    let nobody = Drawing { control: Some(control.clone()), ..Drawing::new() };
    // The mode is moved to the evaluation stage's function, before its first mode.
    let at = mode(&evaluation, 24) - 2;
    said[1] = evaluation[at + 1];
    evaluation.splice(at..at, said);
    let want = draw(&c, &Drawing::new());
    let both = Drawing { evaluation, ..Drawing::new() };
    assert_eq!(draw(&c, &both), want);
    let other = Drawing { control: Some(control), ..both };
    assert_eq!(draw(&c, &other), want);
    // More than 32 vertices, and no mode at all.
    // SAFETY: valid usage.
    let layout = unsafe { c.device.create_pipeline_layout(&Default::default(), None) }.expect("layout");
    let mut many = other;
    let at = mode(&many.evaluation, OUTPUT_VERTICES);
    many.evaluation[at + 1] = 33;
    assert_eq!(messenger.take(), Vec::<String>::new());
    for (drawing, word) in [(many, "33"), (nobody, "OutputVertices")] {
        assert!(create(&c, &drawing, layout).is_err(), "{word}");
        let messages = messenger.take();
        assert!(messages.iter().any(|m| m.contains(word)), "{messages:?}");
    }
    // SAFETY: valid usage.
    unsafe { c.device.destroy_pipeline_layout(layout, None) };
}

#[test]
fn invalid_tessellation_stages_are_refused() {
    const QUADS: u32 = 24;
    const SPACING_EQUAL: u32 = 1;
    let c = context(&[c"VK_EXT_debug_utils"]);
    let messenger = Messenger::new(&c);
    // SAFETY: valid usage.
    let layout = unsafe { c.device.create_pipeline_layout(&Default::default(), None) }.expect("layout");
    let refused = |drawing: Drawing, word: &str| {
        assert!(create(&c, &drawing, layout).is_err(), "{word}");
        let messages = messenger.take();
        assert!(messages.iter().any(|m| m.contains(word)), "{messages:?}");
    };
    for vertices in [0, 33, u32::MAX] {
        let mut control = shader!("patches.tesc");
        let at = mode(&control, OUTPUT_VERTICES);
        control[at + 1] = vertices;
        refused(Drawing { control: Some(control), ..Drawing::new() }, "TessellationControl");
    }
    let mut evaluation = shader!("patches.tese");
    let at = mode(&evaluation, QUADS);
    evaluation[at] = SPACING_EQUAL;
    refused(Drawing { evaluation, ..Drawing::new() }, "Isolines");
    refused(Drawing { control: None, ..Drawing::new() }, "without the other");
    // SAFETY: valid usage.
    unsafe { c.device.destroy_pipeline_layout(layout, None) };
}

//! Tests of the stages that make primitives: the geometry stage here, task and mesh stages in
//! `mesh`. They cover layers, viewports, numbers of primitives, provoking vertices, statistics,
//! refusals and memory.
//!
//! The results of the stages are compared with another driver's in `cts-runner/tests/glsl.rs`, for
//! all tiers and numbers of threads in `hashes.rs`.

mod common;
#[path = "geometry/mesh.rs"]
mod mesh;
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

/// Points that a geometry stage turns into primitives on layers of numbers.
struct Drawing {
    vertex: Vec<u32>,
    geometry: Vec<u32>,
    fragment: Vec<u32>,
    layers: u32,
    viewports: Vec<vk::Viewport>,
    last_provokes: bool,
    points: u32,
    instances: u32,
}

impl Drawing {
    fn new(geometry: Vec<u32>) -> Drawing {
        Drawing {
            vertex: shader!("cells.vert"),
            geometry,
            fragment: shader!("number.frag"),
            layers: 1,
            viewports: vec![info::viewport(SIDE)],
            last_provokes: false,
            points: 16,
            instances: 1,
        }
    }
}

fn context(instance: &[&std::ffi::CStr]) -> Context {
    let features = vk::PhysicalDeviceFeatures::default()
        .geometry_shader(true)
        .multi_viewport(true)
        .shader_tessellation_and_geometry_point_size(true)
        .large_points(true)
        .vertex_pipeline_stores_and_atomics(true)
        .pipeline_statistics_query(true);
    let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
    let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default().provoking_vertex_last(true);
    let extensions = [c"VK_EXT_provoking_vertex"];
    Context::with(instance, &extensions, &mut [&mut features, &mut rendering, &mut provoking])
}

fn create(c: &Context, drawing: &Drawing, layout: vk::PipelineLayout) -> Result<vk::Pipeline, vk::Result> {
    use vk::ShaderStageFlags as S;
    let stages = [(S::VERTEX, &drawing.vertex), (S::GEOMETRY, &drawing.geometry), (S::FRAGMENT, &drawing.fragment)];
    let code = stages.map(|(stage, words)| (stage, &words[..]));
    let mode = match drawing.last_provokes {
        true => vk::ProvokingVertexModeEXT::LAST_VERTEX,
        false => vk::ProvokingVertexModeEXT::FIRST_VERTEX,
    };
    let desc = PipelineDesc {
        topology: vk::PrimitiveTopology::POINT_LIST,
        viewports: &drawing.viewports,
        scissors: &vec![info::area(SIDE); drawing.viewports.len()],
        rasterization: Some(
            &vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default().provoking_vertex_mode(mode),
        ),
        blend: &[blend_state(None).color_write_mask(vk::ColorComponentFlags::R)],
        ..PipelineDesc::new(&[], layout, Target::Formats(&[FORMAT]))
    };
    pipeline::create(c, &code, desc)
}

/// Draws and returns the numbers by layer, row and column; and the counts of vertex invocations,
/// geometry invocations, primitives of the geometry stage, and clipping invocations.
fn draw(c: &Context, drawing: &Drawing) -> (Vec<u32>, [u64; 4]) {
    use vk::QueryPipelineStatisticFlags as Q;
    let counted = Q::VERTEX_SHADER_INVOCATIONS
        | Q::GEOMETRY_SHADER_INVOCATIONS
        | Q::GEOMETRY_SHADER_PRIMITIVES
        | Q::CLIPPING_INVOCATIONS;
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
            .array_layers(drawing.layers)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC);
        let image = d.create_image(&info, None).expect("image");
        let (memory, _) = c.memory(d.get_image_memory_requirements(image).size);
        d.bind_image_memory(image, memory, 0).expect("bind");
        let range =
            vk::ImageSubresourceRange { layer_count: drawing.layers, ..info::range(vk::ImageAspectFlags::COLOR, 1) };
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
        let buffer = c.buffer(u64::from(4 * SIDE * SIDE * drawing.layers));
        let attachments = [vk::RenderingAttachmentInfo::default()
            .image_view(view)
            .image_layout(vk::ImageLayout::GENERAL)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)];
        let info = vk::RenderingInfo::default()
            .render_area(info::area(SIDE))
            .layer_count(drawing.layers)
            .color_attachments(&attachments);
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
                layer_count: drawing.layers,
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
            d.cmd_draw(b, drawing.points, drawing.instances, 0, 0);
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
fn invocations_draw_to_layers() {
    let c = context(&[]);
    let (numbers, counts) = draw(&c, &Drawing { layers: 3, ..Drawing::new(shader!("layers.geom")) });
    let layer = (SIDE * SIDE) as usize;
    for (texel, &number) in numbers.iter().enumerate() {
        assert_eq!(number, cell(texel) + 1000 * (texel / layer) as u32 + 1, "texel {texel}");
    }
    assert_eq!(counts, [16, 48, 96, 96]);
    // Primitives of a layer that does not exist are dropped.
    let (numbers, _) = draw(&c, &Drawing { layers: 2, ..Drawing::new(shader!("layers.geom")) });
    assert!(numbers.iter().enumerate().all(|(i, &n)| n == cell(i) + 1000 * (i / layer) as u32 + 1));
}

#[test]
fn primitives_choose_viewports_or_are_none() {
    let c = context(&[]);
    let half = SIDE as f32 / 2.0;
    let quarter = |i: u32| vk::Viewport {
        x: (i % 2) as f32 * half,
        y: (i / 2) as f32 * half,
        width: half,
        height: half,
        min_depth: 0.0,
        max_depth: 1.0,
    };
    let viewports = (0..4).map(quarter).collect();
    let (numbers, counts) = draw(&c, &Drawing { viewports, ..Drawing::new(shader!("viewports.geom")) });
    let drawn = |i: &u32| i % 6 != 5;
    for (texel, &number) in numbers.iter().enumerate() {
        let (x, y) = (texel as u32 % SIDE, texel as u32 / SIDE);
        let viewport = y / (SIDE / 2) * 2 + x / (SIDE / 2);
        let last = (0..16).filter(drawn).filter(|i| i % 4 == viewport).max().expect("some");
        assert_eq!(number, last + 1, "texel {texel}");
    }
    let made = 2 * (0..16).filter(drawn).count() as u64;
    assert_eq!(counts, [16, 16, made, made]);
}

/// Checks more primitives than a batch, a call and a chunk have, in their order.
#[test]
fn fragments_see_the_numbers_that_primitives_are_given() {
    let c = context(&[]);
    let (points, instances) = (5003, 3);
    let drawing =
        Drawing { fragment: shader!("primitive.frag"), points, instances, ..Drawing::new(shader!("primitives.geom")) };
    let (numbers, counts) = draw(&c, &drawing);
    for (texel, &number) in numbers.iter().enumerate() {
        let last = (0..points).rev().find(|point| point % 16 == cell(texel)).expect("some");
        assert_eq!(number, last * 4 + 3 + 1, "texel {texel}");
    }
    let invocations = u64::from(points * instances);
    assert_eq!(counts, [invocations, 4 * invocations, 8 * invocations, 8 * invocations]);
}

#[test]
fn the_first_or_the_last_vertex_of_what_is_made_provokes() {
    let c = context(&[]);
    for last_provokes in [false, true] {
        let strip = Drawing { points: 1, last_provokes, ..Drawing::new(shader!("strip.geom")) };
        let (numbers, _) = draw(&c, &strip);
        let at = |x: u32, y: u32| numbers[(y * SIDE + x) as usize];
        let want = if last_provokes { [2, 3] } else { [0, 1] };
        assert_eq!([at(1, 1), at(14, 14)], want.map(|n| n + 1), "triangles, last: {last_provokes}");

        let lines = Drawing { points: 1, last_provokes, ..Drawing::new(shader!("line_strips.geom")) };
        let (numbers, counts) = draw(&c, &lines);
        for strip in 0..4 {
            let row = &numbers[(4 * strip * SIDE) as usize..][..SIDE as usize];
            let number = |end: u32| 10 * strip + end + u32::from(last_provokes) + 1;
            assert!(row[..8].iter().all(|&n| n == number(0)), "{row:?}");
            assert!(row[8..].iter().all(|&n| n == number(1)), "{row:?}");
        }
        assert_eq!(counts, [1, 4, 8, 8]);
    }
}

#[test]
fn points_have_the_size_of_the_stage() {
    let c = context(&[]);
    let drawing = Drawing { vertex: shader!("sized.vert"), ..Drawing::new(shader!("sizes.geom")) };
    let (numbers, _) = draw(&c, &drawing);
    for (texel, &number) in numbers.iter().enumerate() {
        let (x, y) = (texel as u32 % 4, texel as u32 / SIDE % 4);
        let point = cell(texel);
        let inside = point == 5 || ((1..3).contains(&x) && (1..3).contains(&y));
        assert_eq!(number, if inside { point + 1 } else { 0 }, "texel {texel}");
    }
}

/// Checks amplification of a primitive to thousands, of which rounds hold only some at a time: all
/// of them would take 400 MB.
#[test]
fn amplification_takes_bounded_memory() {
    let c = context(&[]);
    let before = common::peak();
    let points = 128;
    let (numbers, counts) = draw(&c, &Drawing { points, ..Drawing::new(shader!("many.geom")) });
    assert!(numbers.iter().all(|&n| n == points * 32));
    let made = u64::from(points) * 32 * 254;
    assert_eq!(counts, [u64::from(points), u64::from(points) * 32, made, made]);
    assert!(common::peak() - before < 250 << 20, "{} MiB", (common::peak() - before) >> 20);
}

/// Checks a primitive with the largest allowed number of vertices.
#[test]
fn an_invocation_makes_the_maximum_of_vertices() {
    let c = context(&[]);
    // SAFETY: valid usage.
    let limits = unsafe { c.instance.get_physical_device_properties(c.physical) }.limits;
    assert_eq!(limits.max_geometry_output_vertices, 1024);
    let mut geometry = shader!("most.geom");
    let at = literal(&geometry, OUTPUT_VERTICES);
    geometry[at] = limits.max_geometry_output_vertices;
    let (numbers, counts) = draw(&c, &Drawing { layers: 4, points: 1, ..Drawing::new(geometry) });
    assert!(numbers.iter().zip(0..).all(|(&n, i)| n == 3 * i + 1), "{numbers:?}");
    assert_eq!(counts, [1, 1, 1024, 1024]);
}

/// Number of the execution mode OutputVertices.
const OUTPUT_VERTICES: u32 = 26;

/// Returns the position of the literal of an execution mode.
fn literal(words: &[u32], mode: u32) -> usize {
    let mut at = 5;
    loop {
        let (length, opcode) = (words[at] >> 16, words[at] & 0xffff);
        if opcode == 16 && words[at + 2] == mode {
            return at + 3;
        }
        at += length as usize;
    }
}

#[test]
fn shaders_beyond_the_limits_are_refused() {
    const INVOCATIONS: u32 = 0;
    let c = context(&[c"VK_EXT_debug_utils"]);
    let messenger = Messenger::new(&c);
    // SAFETY: valid usage.
    let layout = unsafe { c.device.create_pipeline_layout(&Default::default(), None) }.expect("layout");
    // SAFETY: valid usage.
    let limits = unsafe { c.instance.get_physical_device_properties(c.physical) }.limits;
    let rows = [
        (OUTPUT_VERTICES, limits.max_geometry_output_vertices + 1),
        (OUTPUT_VERTICES, u32::MAX),
        (OUTPUT_VERTICES, 0),
        (INVOCATIONS, limits.max_geometry_shader_invocations + 1),
        (INVOCATIONS, 0),
    ];
    for (mode, value) in rows {
        let mut drawing = Drawing::new(shader!("layers.geom"));
        let at = literal(&drawing.geometry, mode);
        drawing.geometry[at] = value;
        assert!(create(&c, &drawing, layout).is_err(), "{mode} {value}");
        let messages = messenger.take();
        assert!(messages.iter().any(|m| m.contains("Geometry shader module")), "{messages:?}");
    }
    // SAFETY: valid usage.
    unsafe { c.device.destroy_pipeline_layout(layout, None) };
}

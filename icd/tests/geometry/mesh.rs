//! Tests of the task and mesh stages: drawing, per-primitive outputs, indirect draws, queries,
//! refusals, memory; and equal bits for all tiers and numbers of threads.

use crate::common::{Buffer, Context, info, peak, spirv};
use crate::pipeline::{self, Messenger};
use crate::{FORMAT, SIDE, cell, literal};
use ash::vk;
use cts_runner::vk::{PipelineDesc, Target, blend_state};

macro_rules! shader {
    ($name:literal) => {
        spirv(include_bytes!(concat!("../data/", $name, ".spv")))
    };
}

/// Meshes that are drawn onto layers of numbers.
struct Meshes {
    task: Option<Vec<u32>>,
    mesh: Vec<u32>,
    fragment: Vec<u32>,
    /// Value of specialisation constant 0 of the mesh stage.
    constant: u32,
    layers: u32,
    viewports: Vec<vk::Viewport>,
    last_provokes: bool,
}

impl Meshes {
    fn new(mesh: Vec<u32>) -> Meshes {
        Meshes {
            task: None,
            mesh,
            fragment: shader!("mesh_number.frag"),
            constant: 0,
            layers: 1,
            viewports: vec![info::viewport(SIDE)],
            last_provokes: false,
        }
    }
}

fn context(instance: &[&std::ffi::CStr]) -> Context {
    let features = vk::PhysicalDeviceFeatures::default()
        .multi_viewport(true)
        .multi_draw_indirect(true)
        .large_points(true)
        .pipeline_statistics_query(true);
    let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
    let mut of_11 = vk::PhysicalDeviceVulkan11Features::default().shader_draw_parameters(true);
    let mut of_12 = vk::PhysicalDeviceVulkan12Features::default().draw_indirect_count(true);
    let mut of_13 = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true).maintenance4(true);
    let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default().provoking_vertex_last(true);
    let mut conditional = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default().conditional_rendering(true);
    let mut mesh = vk::PhysicalDeviceMeshShaderFeaturesEXT::default()
        .task_shader(true)
        .mesh_shader(true)
        .mesh_shader_queries(true);
    let extensions = [c"VK_EXT_mesh_shader", c"VK_EXT_provoking_vertex", c"VK_EXT_conditional_rendering"];
    Context::with(
        instance,
        &extensions,
        &mut [&mut features, &mut of_11, &mut of_12, &mut of_13, &mut provoking, &mut conditional, &mut mesh],
    )
}

fn create(c: &Context, meshes: &Meshes, layout: vk::PipelineLayout) -> Result<vk::Pipeline, vk::Result> {
    use vk::ShaderStageFlags as S;
    let task = meshes.task.iter().map(|words| (S::TASK_EXT, words));
    let stages = task.chain([(S::MESH_EXT, &meshes.mesh), (S::FRAGMENT, &meshes.fragment)]);
    let code: Vec<_> = stages.map(|(stage, words)| (stage, &words[..])).collect();
    let mode = match meshes.last_provokes {
        true => vk::ProvokingVertexModeEXT::LAST_VERTEX,
        false => vk::ProvokingVertexModeEXT::FIRST_VERTEX,
    };
    let desc = PipelineDesc {
        viewports: &meshes.viewports,
        scissors: &vec![info::area(SIDE); meshes.viewports.len()],
        rasterization: Some(
            &vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default().provoking_vertex_mode(mode),
        ),
        blend: &[blend_state(None).color_write_mask(vk::ColorComponentFlags::R)],
        ..PipelineDesc::new(&[], layout, Target::Formats(&[FORMAT]))
    };
    pipeline::with_stages(c, &code, &[(0, meshes.constant)], |stages| {
        PipelineDesc { stages, ..desc }.describe(|mut info| {
            // With a mesh stage these are ignored, for any pointers.
            info.p_vertex_input_state = std::ptr::dangling();
            info.p_input_assembly_state = std::ptr::dangling();
            // SAFETY: valid usage.
            let made = unsafe { c.device.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None) };
            made.map(|list| list[0]).map_err(|(_, error)| error)
        })
    })
}

/// Results of queries.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    task_invocations: u64,
    mesh_invocations: u64,
    clipping_invocations: u64,
    generated: u64,
}

type Functions = ash::ext::mesh_shader::Device;

/// Draws with the commands of `record` and returns the numbers by layer, row and column.
fn draw(c: &Context, meshes: &Meshes, record: impl Fn(&Functions, vk::CommandBuffer)) -> (Vec<u32>, Counts) {
    use vk::QueryPipelineStatisticFlags as Q;
    let statistics = Q::TASK_SHADER_INVOCATIONS_EXT | Q::MESH_SHADER_INVOCATIONS_EXT | Q::CLIPPING_INVOCATIONS;
    let functions = Functions::new(&c.instance, &c.device);
    let d = &c.device;
    // SAFETY: valid usage.
    unsafe {
        let layout = d.create_pipeline_layout(&Default::default(), None).expect("layout");
        let pipeline = create(c, meshes, layout).expect("pipeline");
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(FORMAT)
            .extent(vk::Extent3D { width: SIDE, height: SIDE, depth: 1 })
            .mip_levels(1)
            .array_layers(meshes.layers)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC);
        let image = d.create_image(&info, None).expect("image");
        let (memory, _) = c.memory(d.get_image_memory_requirements(image).size);
        d.bind_image_memory(image, memory, 0).expect("bind");
        let range =
            vk::ImageSubresourceRange { layer_count: meshes.layers, ..info::range(vk::ImageAspectFlags::COLOR, 1) };
        let info = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(vk::ImageViewType::TYPE_2D_ARRAY)
            .format(FORMAT)
            .subresource_range(range);
        let view = d.create_image_view(&info, None).expect("view");
        let pool = |query_type, statistics| {
            let info = vk::QueryPoolCreateInfo::default().query_type(query_type).query_count(1);
            d.create_query_pool(&info.pipeline_statistics(statistics), None).expect("queries")
        };
        let counted = pool(vk::QueryType::PIPELINE_STATISTICS, statistics);
        let generated = pool(vk::QueryType::MESH_PRIMITIVES_GENERATED_EXT, Q::empty());
        let buffer = c.buffer(u64::from(4 * SIDE * SIDE * meshes.layers));
        let attachments = [vk::RenderingAttachmentInfo::default()
            .image_view(view)
            .image_layout(vk::ImageLayout::GENERAL)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)];
        let info = vk::RenderingInfo::default()
            .render_area(info::area(SIDE))
            .layer_count(meshes.layers)
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
                layer_count: meshes.layers,
                ..info::layers(vk::ImageAspectFlags::COLOR, 0)
            })
            .image_extent(vk::Extent3D { width: SIDE, height: SIDE, depth: 1 });
        use vk::PipelineStageFlags as P;
        let all = |b| {
            let none = vk::DependencyFlags::empty();
            for queries in [counted, generated] {
                d.cmd_reset_query_pool(b, queries, 0, 1);
            }
            d.cmd_pipeline_barrier(b, P::TOP_OF_PIPE, P::COLOR_ATTACHMENT_OUTPUT, none, &[], &[], &[to_general]);
            d.cmd_begin_rendering(b, &info);
            d.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
            for queries in [counted, generated] {
                d.cmd_begin_query(b, queries, 0, vk::QueryControlFlags::empty());
            }
            record(&functions, b);
            for queries in [counted, generated] {
                d.cmd_end_query(b, queries, 0);
            }
            d.cmd_end_rendering(b);
            d.cmd_pipeline_barrier(b, P::COLOR_ATTACHMENT_OUTPUT, P::TRANSFER, none, &[drawn], &[], &[]);
            d.cmd_copy_image_to_buffer(b, image, vk::ImageLayout::GENERAL, buffer.buffer, &[copy]);
        };
        c.run(all).expect("a drawing");
        let (mut three, mut one) = ([[0u64; 3]; 1], [0u64; 1]);
        d.get_query_pool_results(counted, 0, &mut three, vk::QueryResultFlags::TYPE_64).expect("statistics");
        d.get_query_pool_results(generated, 0, &mut one, vk::QueryResultFlags::TYPE_64).expect("primitives");
        let [clipping_invocations, task_invocations, mesh_invocations] = three[0];
        let numbers = buffer.words();
        c.free(buffer);
        d.destroy_query_pool(counted, None);
        d.destroy_query_pool(generated, None);
        d.destroy_image_view(view, None);
        d.destroy_image(image, None);
        d.free_memory(memory, None);
        d.destroy_pipeline(pipeline, None);
        d.destroy_pipeline_layout(layout, None);
        (numbers, Counts { task_invocations, mesh_invocations, clipping_invocations, generated: one[0] })
    }
}

/// Makes one draw.
fn draw_groups(c: &Context, meshes: &Meshes, [x, y, z]: [u32; 3]) -> (Vec<u32>, Counts) {
    // SAFETY: valid usage.
    draw(c, meshes, |functions, b| unsafe { functions.cmd_draw_mesh_tasks(b, x, y, z) })
}

/// Returns which of a cell's two triangles a texel belongs to: the second one has the lower right
/// corner. Returns `None` on the diagonal, which goes through pixel centres, so that the rule for
/// edges decides.
fn second(texel: usize) -> Option<u32> {
    let (x, y) = (texel as u32 % SIDE % 4, texel as u32 / SIDE % SIDE % 4);
    (x + y != 3).then_some(u32::from(x + y > 3))
}

/// Returns the texels whose numbers are not those of the cells' triangles.
fn wrong(numbers: &[u32], number: impl Fn(usize, u32) -> u32) -> Vec<(usize, u32)> {
    let texels = numbers.iter().copied().enumerate();
    let right = |(texel, n): (usize, u32)| match second(texel) {
        Some(second) => n == number(texel, second),
        None => n == number(texel, 0) || n == number(texel, 1),
    };
    texels.filter(|&texel| !right(texel)).collect()
}

#[test]
fn workgroups_draw_primitives_with_numbers_of_their_own() {
    let c = context(&[]);
    let (numbers, counts) = draw_groups(&c, &Meshes::new(shader!("mesh_cells.mesh")), [4, 4, 1]);
    assert_eq!(wrong(&numbers, |texel, second| cell(texel) + 20 * second + 1), []);
    // A third primitive is culled.
    let want = Counts { mesh_invocations: 256, clipping_invocations: 32, generated: 32, ..Counts::default() };
    assert_eq!(counts, want);
    let layered = Meshes { constant: 1, layers: 3, ..Meshes::new(shader!("mesh_cells.mesh")) };
    // Primitives of a layer that does not exist are dropped.
    let (numbers, _) = draw_groups(&c, &layered, [4, 4, 4]);
    let layer = |texel: usize| 100 * (texel / (SIDE * SIDE) as usize) as u32;
    assert_eq!(wrong(&numbers, |texel, second| layer(texel) + cell(texel) + 20 * second + 1), []);
    for groups in [[0, 4, 1], [4, 0, 1], [4, 4, 0]] {
        let (numbers, counts) = draw_groups(&c, &Meshes::new(shader!("mesh_cells.mesh")), groups);
        assert!(numbers.iter().all(|&n| n == 0) && counts == Counts::default(), "{groups:?} {counts:?}");
    }
}

/// Checks the largest number of workgroups along each side: the last one of each cell is visible.
#[test]
fn sides_of_draws_are_as_long_as_they_may_be() {
    let c = context(&[]);
    let mut limits = vk::PhysicalDeviceMeshShaderPropertiesEXT::default();
    let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut limits);
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_properties2(c.physical, &mut all) };
    assert_eq!(limits.max_mesh_work_group_count, limits.max_task_work_group_count);
    for (side, most) in limits.max_mesh_work_group_count.into_iter().enumerate().take(2) {
        let mut groups = [1; 3];
        groups[side] = most;
        let (numbers, _) = draw_groups(&c, &Meshes::new(shader!("mesh_cells.mesh")), groups);
        assert_eq!(wrong(&numbers, |texel, second| most - 16 + cell(texel) + 20 * second + 1), []);
    }
}

#[test]
fn draws_come_from_buffers() {
    let c = context(&[]);
    let mut indirect = c.buffer(64);
    // Among records of four words, the second one draws the first two rows, and the third one
    // nothing.
    let words = [4, 4, 1, 0, 4, 2, 1, 0, 4, 0, 1, 0, 1, 1, 1, 0];
    indirect.fill_words(|i| words[i as usize]);
    let mut counter = c.buffer(16);
    counter.fill_words(|i| [0, 2, 9, 0][i as usize]);
    let meshes = Meshes::new(shader!("mesh_cells.mesh"));
    let of_draws = |draws: u32| {
        move |texel: usize, second: u32| {
            let last = match (draws, cell(texel)) {
                (4.., 0) => 3,
                (2.., 0..8) => 1,
                _ => 0,
            };
            1000 * last + cell(texel) + 20 * second + 1
        }
    };
    for draws in [1, 2, 3, 4] {
        // SAFETY: valid usage.
        let (numbers, _) = draw(&c, &meshes, |functions, b| unsafe {
            functions.cmd_draw_mesh_tasks_indirect(b, indirect.buffer, 0, draws, 16);
        });
        assert_eq!(wrong(&numbers, of_draws(draws)), [], "{draws} draws");
    }
    for (at, draws) in [(4, 2), (8, 4)] {
        // SAFETY: valid usage.
        let (numbers, _) = draw(&c, &meshes, |functions, b| unsafe {
            functions.cmd_draw_mesh_tasks_indirect_count(b, indirect.buffer, 0, counter.buffer, at, 4, 16);
        });
        assert_eq!(wrong(&numbers, of_draws(draws)), [], "{draws} counted draws");
    }
    conditional(&c, &meshes, &counter);
    c.free(indirect);
    c.free(counter);
}

/// Checks that a word of 0 discards draws of meshes.
fn conditional(c: &Context, meshes: &Meshes, words: &Buffer) {
    let rendering = ash::ext::conditional_rendering::Device::new(&c.instance, &c.device);
    for (offset, drawn) in [(0, false), (4, true)] {
        let info = vk::ConditionalRenderingBeginInfoEXT::default().buffer(words.buffer).offset(offset);
        // SAFETY: valid usage.
        let (numbers, _) = draw(c, meshes, |functions, b| unsafe {
            (rendering.fp().cmd_begin_conditional_rendering_ext)(b, &info);
            functions.cmd_draw_mesh_tasks(b, 4, 4, 1);
            (rendering.fp().cmd_end_conditional_rendering_ext)(b);
        });
        assert_eq!(numbers.iter().all(|&n| n != 0), drawn);
        assert_eq!(numbers.iter().any(|&n| n != 0), drawn);
    }
}

#[test]
fn lines_and_points_have_numbers_of_their_vertices() {
    let c = context(&[]);
    for last_provokes in [false, true] {
        let lines =
            Meshes { fragment: shader!("number.frag"), last_provokes, ..Meshes::new(shader!("mesh_lines.mesh")) };
        let (numbers, counts) = draw_groups(&c, &lines, [1, 1, 1]);
        for (texel, &number) in numbers.iter().enumerate() {
            assert_eq!(number, texel as u32 / SIDE * 2 + u32::from(last_provokes) + 1, "texel {texel}");
        }
        assert_eq!(counts.generated, 16);
    }
    let lines = Meshes { fragment: shader!("primitive.frag"), ..Meshes::new(shader!("mesh_lines.mesh")) };
    let (numbers, _) = draw_groups(&c, &lines, [1, 1, 1]);
    assert!(numbers.iter().enumerate().all(|(texel, &n)| n == texel as u32 / SIDE * 7 + 1), "{numbers:?}");
    // Each quarter of the picture has the points of a column.
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
    let points = Meshes { fragment: shader!("number.frag"), viewports, ..Meshes::new(shader!("mesh_points.mesh")) };
    let (numbers, counts) = draw_groups(&c, &points, [1, 1, 1]);
    assert_eq!(counts.generated, 16);
    for point in 0..16 {
        let texels = || numbers.iter().enumerate().filter(|&(_, &n)| n == point + 1).map(|(texel, _)| texel as u32);
        assert_eq!(texels().count(), if point == 5 { 4 } else { 1 }, "point {point}: {numbers:?}");
        let quarter = |texel: u32| texel / SIDE / (SIDE / 2) * 2 + texel % SIDE / (SIDE / 2);
        assert!(texels().all(|texel| quarter(texel) == point % 4), "point {point}: {numbers:?}");
    }
}

#[test]
fn tasks_ask_for_meshes_and_give_them_a_payload() {
    let c = context(&[]);
    let meshes = Meshes { task: Some(shader!("mesh_tasks.task")), ..Meshes::new(shader!("mesh_tasks.mesh")) };
    let (numbers, counts) = draw_groups(&c, &meshes, [4, 3, 1]);
    let number = |texel: usize, _| {
        let (column, row) = (cell(texel) % 4, cell(texel) / 4);
        if column == 2 || row == column { 0 } else { 300 + 20 + column + 1 }
    };
    assert_eq!(wrong(&numbers, number), []);
    // There are three columns of three tasks, each of which requests three by three meshes.
    let groups = 3 * 3 * 9;
    let want = Counts {
        task_invocations: 48,
        mesh_invocations: 4 * groups,
        clipping_invocations: 2 * groups,
        generated: 2 * groups,
    };
    assert_eq!(counts, want);
}

/// Checks tasks that request thousands of meshes, of whose primitives rounds hold only some at a
/// time: all of them would take 300 MB.
#[test]
fn amplification_by_tasks_takes_bounded_memory() {
    let c = context(&[]);
    let before = peak();
    let meshes = Meshes { task: Some(shader!("mesh_many.task")), ..Meshes::new(shader!("mesh_many.mesh")) };
    let (numbers, counts) = draw_groups(&c, &meshes, [4, 1, 1]);
    let last = |texel: usize| (texel as u32 / SIDE / 4 * 300 + 299) * 3 + 2 + 1;
    assert!(numbers.iter().enumerate().all(|(texel, &n)| n == last(texel)), "{numbers:?}");
    let groups = 4 * 900;
    let want = Counts {
        task_invocations: 4,
        mesh_invocations: 64 * groups,
        clipping_invocations: 256 * groups,
        generated: 256 * groups,
    };
    assert_eq!(counts, want);
    assert!(peak() - before < 200 << 20, "{} MiB", (peak() - before) >> 20);
}

/// Checks that tasks get at most the largest number of meshes, and that the excess is reported to
/// the application.
#[test]
fn task_counts_beyond_the_limit_are_reported() {
    let c = context(&[c"VK_EXT_debug_utils"]);
    let messenger = Messenger::new(&c);
    let meshes = Meshes { task: Some(shader!("mesh_excess.task")), ..Meshes::new(shader!("mesh_excess.mesh")) };
    let (_, counts) = draw_groups(&c, &meshes, [2, 1, 1]);
    assert_eq!((counts.task_invocations, counts.mesh_invocations), (2, 1 + (1 << 22)));
    let messages = messenger.take();
    assert!(
        messages.len() == 1
            && messages[0].contains("1 task workgroups")
            && messages[0].contains("maxMeshWorkGroupTotalCount"),
        "{messages:?}"
    );
    draw_groups(&c, &meshes, [1, 1, 1]);
    assert_eq!(messenger.take(), [""; 0]);
}

#[test]
fn meshes_beyond_the_limits_are_refused() {
    const OUTPUT_VERTICES: u32 = 26;
    const OUTPUT_PRIMITIVES: u32 = 5270;
    let c = context(&[c"VK_EXT_debug_utils"]);
    let messenger = Messenger::new(&c);
    // SAFETY: valid usage.
    let layout = unsafe { c.device.create_pipeline_layout(&Default::default(), None) }.expect("layout");
    for (mode, value) in [(OUTPUT_VERTICES, 257), (OUTPUT_PRIMITIVES, 257), (OUTPUT_PRIMITIVES, u32::MAX)] {
        let mut meshes = Meshes::new(shader!("mesh_cells.mesh"));
        let at = literal(&meshes.mesh, mode);
        meshes.mesh[at] = value;
        assert!(create(&c, &meshes, layout).is_err(), "{mode} {value}");
        let messages = messenger.take();
        assert!(messages.iter().any(|m| m.contains("Mesh shader module")), "{messages:?}");
    }
    // SAFETY: valid usage.
    unsafe { c.device.destroy_pipeline_layout(layout, None) };
}

/// Variable of the children that draw: threads and tier are read from the environment, once per
/// process.
const CHILD: &str = "GRUS_TEST_MESHES";

#[test]
fn meshes_are_the_same_bits_for_all_threads_and_tiers() {
    let drawings = || {
        let c = context(&[]);
        let tasks = Meshes { task: Some(shader!("mesh_tasks.task")), ..Meshes::new(shader!("mesh_tasks.mesh")) };
        let many = Meshes { task: Some(shader!("mesh_many.task")), ..Meshes::new(shader!("mesh_many.mesh")) };
        let cells = Meshes::new(shader!("mesh_cells.mesh"));
        let numbers = [(&tasks, [4, 3, 1]), (&many, [2, 1, 1]), (&cells, [4, 4, 60])];
        numbers.map(|(meshes, groups)| format!("{:?}", draw_groups(&c, meshes, groups))).join("\n")
    };
    if std::env::var_os(CHILD).is_some() {
        return println!(
            "drawn {:016x}",
            drawings().bytes().fold(0u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
        );
    }
    let mut all = std::collections::BTreeSet::new();
    for (threads, tier) in [("1", "quick"), ("2", "full"), ("8", "wide"), ("8", "quick"), ("1", "wide")] {
        let mut command = std::process::Command::new(std::env::current_exe().expect("this binary"));
        command.args(["--exact", "mesh::meshes_are_the_same_bits_for_all_threads_and_tiers", "--nocapture"]);
        command.env(CHILD, "1").env("GRUS_THREADS", threads).env("GRUS_TIER", tier);
        let output = command.output().expect("a child");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.split("drawn ").nth(1).map(|rest| rest[..16].to_owned());
        all.insert(
            line.unwrap_or_else(|| panic!("{threads} {tier}: {text}{}", String::from_utf8_lossy(&output.stderr))),
        );
    }
    assert_eq!(all.len(), 1, "{all:?}");
}

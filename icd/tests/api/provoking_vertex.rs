//! Tests of the order of a primitive's vertices and of the provoking vertex, in every stage that
//! can observe them: the geometry stage's inputs, transform feedback, flat fragment inputs, and
//! fragment inputs of each vertex (VK_KHR_fragment_shader_barycentric). They cover all topologies,
//! both provoking modes, with and without primitive restart, and primitives that the tessellation
//! and geometry stages make.

use crate::common::{Buffer, Context, info};
use crate::pipeline::{Set, create};
use ash::vk;
use cts_runner::vk::{PipelineDesc, Target};
use std::collections::BTreeSet;
use vk::PrimitiveTopology as T;

const FILL: vk::PolygonMode = vk::PolygonMode::FILL;

/// Value of a word that nothing wrote.
const UNTOUCHED: u32 = 0;

/// Vertices of consecutive primitives, each in the order in which a geometry stage receives them.
type Order = &'static [&'static [u32]];

/// Vertex counts and primitives of every topology with the first and with the last vertex
/// provoking. They follow the equations of the specification ("Primitive Topologies"). The second
/// mode rotates these so that the provoking vertex is "the last non-adjacency vertex in the list of
/// vertices used by a primitive" (`VkProvokingVertexModeEXT`).
#[rustfmt::skip]
static ORDERS: &[(T, u32, Order, Order)] = &[
    (T::POINT_LIST, 2, &[&[0], &[1]], &[&[0], &[1]]),
    (T::LINE_LIST, 5, &[&[0, 1], &[2, 3]], &[&[0, 1], &[2, 3]]),
    (T::LINE_STRIP, 4, &[&[0, 1], &[1, 2], &[2, 3]], &[&[0, 1], &[1, 2], &[2, 3]]),
    (T::TRIANGLE_LIST, 8, &[&[0, 1, 2], &[3, 4, 5]], &[&[0, 1, 2], &[3, 4, 5]]),
    (T::TRIANGLE_STRIP, 6,
        &[&[0, 1, 2], &[1, 3, 2], &[2, 3, 4], &[3, 5, 4]],
        &[&[0, 1, 2], &[2, 1, 3], &[2, 3, 4], &[4, 3, 5]]),
    (T::TRIANGLE_FAN, 5, &[&[1, 2, 0], &[2, 3, 0], &[3, 4, 0]], &[&[0, 1, 2], &[0, 2, 3], &[0, 3, 4]]),
    (T::LINE_LIST_WITH_ADJACENCY, 9, &[&[0, 1, 2, 3], &[4, 5, 6, 7]], &[&[0, 1, 2, 3], &[4, 5, 6, 7]]),
    (T::LINE_STRIP_WITH_ADJACENCY, 6,
        &[&[0, 1, 2, 3], &[1, 2, 3, 4], &[2, 3, 4, 5]],
        &[&[0, 1, 2, 3], &[1, 2, 3, 4], &[2, 3, 4, 5]]),
    (T::TRIANGLE_LIST_WITH_ADJACENCY, 13,
        &[&[0, 1, 2, 3, 4, 5], &[6, 7, 8, 9, 10, 11]],
        &[&[0, 1, 2, 3, 4, 5], &[6, 7, 8, 9, 10, 11]]),
    (T::TRIANGLE_STRIP_WITH_ADJACENCY, 7, &[&[0, 1, 2, 5, 4, 3]], &[&[0, 1, 2, 5, 4, 3]]),
    (T::TRIANGLE_STRIP_WITH_ADJACENCY, 8,
        &[&[0, 1, 2, 6, 4, 3], &[2, 5, 6, 7, 4, 0]],
        &[&[0, 1, 2, 6, 4, 3], &[4, 0, 2, 5, 6, 7]]),
    (T::TRIANGLE_STRIP_WITH_ADJACENCY, 12,
        &[&[0, 1, 2, 6, 4, 3], &[2, 5, 6, 8, 4, 0], &[4, 2, 6, 10, 8, 7], &[6, 9, 10, 11, 8, 4]],
        &[&[0, 1, 2, 6, 4, 3], &[4, 0, 2, 5, 6, 8], &[4, 2, 6, 10, 8, 7], &[8, 4, 6, 9, 10, 11]]),
];

/// Returns the vertices of a primitive without those of adjacency.
fn own(received: &[u32]) -> Vec<u32> {
    match *received {
        [_, b, c, _] => vec![b, c],
        [a, _, b, _, c, _] => vec![a, b, c],
        ref all => all.to_vec(),
    }
}

/// Returns the module of the geometry stage that captures the primitives that it receives of a
/// topology.
fn receiver(topology: T) -> Vec<u32> {
    match topology {
        T::POINT_LIST => shader!("provoking_points.geom"),
        T::LINE_LIST | T::LINE_STRIP => shader!("provoking_lines.geom"),
        T::LINE_LIST_WITH_ADJACENCY | T::LINE_STRIP_WITH_ADJACENCY => shader!("provoking_lines_adjacency.geom"),
        T::TRIANGLE_LIST | T::TRIANGLE_STRIP | T::TRIANGLE_FAN => shader!("provoking_triangles.geom"),
        _ => shader!("provoking_triangles_adjacency.geom"),
    }
}

/// Stages and state of a draw.
struct Drawing {
    stages: Vec<(vk::ShaderStageFlags, Vec<u32>)>,
    topology: T,
    last: bool,
    mode: vk::PolygonMode,
}

struct Scene {
    c: Context,
    feedback: ash::ext::transform_feedback::Device,
    set: Set,
    seen: Buffer,
    captured: Buffer,
    indices: Buffer,
}

impl Scene {
    fn new() -> Scene {
        let mut feedback = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default()
            .provoking_vertex_last(true)
            .transform_feedback_preserves_provoking_vertex(true);
        let mut restart = vk::PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT::default()
            .primitive_topology_list_restart(true)
            .primitive_topology_patch_list_restart(true);
        let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
        let mut barycentric =
            vk::PhysicalDeviceFragmentShaderBarycentricFeaturesKHR::default().fragment_shader_barycentric(true);
        let features = vk::PhysicalDeviceFeatures::default()
            .fill_mode_non_solid(true)
            .sample_rate_shading(true)
            .geometry_shader(true)
            .tessellation_shader(true)
            .fragment_stores_and_atomics(true)
            .shader_tessellation_and_geometry_point_size(true)
            .large_points(true);
        let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
        let extensions = [
            c"VK_EXT_transform_feedback",
            c"VK_EXT_provoking_vertex",
            c"VK_EXT_primitive_topology_list_restart",
            c"VK_KHR_fragment_shader_barycentric",
        ];
        let c = Context::with(
            &[],
            &extensions,
            &mut [&mut features, &mut feedback, &mut provoking, &mut restart, &mut rendering, &mut barycentric],
        );
        let feedback = ash::ext::transform_feedback::Device::new(&c.instance, &c.device);
        let storage = vk::DescriptorType::STORAGE_BUFFER;
        let set = Set::new(&c, &[(storage, 1)]);
        let seen = c.buffer(4 * 1024);
        set.buffers(&c, 0, storage, &[(seen.buffer, 0, vk::WHOLE_SIZE)]);
        let (captured, indices) = (capture_buffer(&c, 4 * 1024), c.buffer(256));
        Scene { c, feedback, set, seen, captured, indices }
    }

    fn pipeline(&self, drawing: &Drawing, restart: bool) -> vk::Pipeline {
        let c = &self.c;
        let code: Vec<_> = drawing.stages.iter().map(|(stage, words)| (*stage, &words[..])).collect();
        let mode = match drawing.last {
            true => vk::ProvokingVertexModeEXT::LAST_VERTEX,
            false => vk::ProvokingVertexModeEXT::FIRST_VERTEX,
        };
        let desc = PipelineDesc {
            topology: drawing.topology,
            restart,
            patch_points: 1,
            viewports: &[info::viewport(64)],
            scissors: &[info::area(64)],
            polygon_mode: drawing.mode,
            rasterization: Some(
                &vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default().provoking_vertex_mode(mode),
            ),
            ..PipelineDesc::new(&[], self.set.layout, Target::Formats(&[]))
        };
        create(c, &code, desc).expect("pipeline")
    }

    /// Draws vertices, or two runs of vertices from the numbers 0 and 20 on with a restart index
    /// between them. Returns the words that transform feedback captured and those that the fragment
    /// stage stored.
    fn draw(&mut self, drawing: &Drawing, count: u32, restart: bool) -> (Vec<u32>, Vec<u32>) {
        self.seen.fill_words(|_| UNTOUCHED);
        self.captured.fill_words(|_| u32::MAX);
        let list: Vec<u32> = (0..count).chain([u32::MAX]).chain(20..20 + count).collect();
        self.indices.fill_words(|i| list.get(i as usize).copied().unwrap_or(0));
        let pipeline = self.pipeline(drawing, restart);
        let Scene { c, feedback, set, captured, indices, .. } = &*self;
        let (d, functions) = (&c.device, feedback.fp());
        let info = vk::RenderingInfo::default().render_area(info::area(64)).layer_count(1);
        let point = vk::PipelineBindPoint::GRAPHICS;
        // SAFETY: valid usage.
        c.run(|b| unsafe {
            d.cmd_begin_rendering(b, &info);
            d.cmd_bind_pipeline(b, point, pipeline);
            d.cmd_bind_descriptor_sets(b, point, set.layout, 0, &[set.set], &[]);
            let null = std::ptr::null();
            (functions.cmd_bind_transform_feedback_buffers_ext)(b, 0, 1, &captured.buffer, &0, null);
            (functions.cmd_begin_transform_feedback_ext)(b, 0, 0, std::ptr::null(), null);
            if restart {
                d.cmd_bind_index_buffer(b, indices.buffer, 0, vk::IndexType::UINT32);
                d.cmd_draw_indexed(b, list.len() as u32, 1, 0, 0, 0);
            } else {
                d.cmd_draw(b, count, 1, 0, 0);
            }
            (functions.cmd_end_transform_feedback_ext)(b, 0, 0, std::ptr::null(), null);
            d.cmd_end_rendering(b);
        })
        .expect("executed");
        // SAFETY: the device is idle.
        unsafe { d.destroy_pipeline(pipeline, None) };
        let words = self.captured.words().into_iter().take_while(|&word| word != u32::MAX).collect();
        (words, self.seen.words())
    }

    fn free(self) {
        self.set.destroy(&self.c);
        [self.seen, self.captured, self.indices].into_iter().for_each(|buffer| self.c.free(buffer));
    }
}

/// Creates a buffer for transform feedback with its own mapped memory.
fn capture_buffer(c: &Context, size: u64) -> Buffer {
    let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
    let info = vk::BufferCreateInfo::default().size(size).usage(usage);
    // SAFETY: valid usage.
    unsafe {
        let buffer = c.device.create_buffer(&info, None).expect("buffer");
        let (memory, pointer) = c.memory(c.device.get_buffer_memory_requirements(buffer).size);
        c.device.bind_buffer_memory(buffer, memory, 0).expect("bind");
        Buffer { buffer, memory, pointer, size }
    }
}

/// Returns the primitives of a draw: those of a table once, or twice with the second run's numbers
/// after a restart.
fn expected(order: Order, restart: bool) -> Vec<Vec<u32>> {
    let runs: &[u32] = if restart { &[0, 20] } else { &[0] };
    runs.iter().flat_map(|from| order.iter().map(move |p| p.iter().map(|v| v + from).collect())).collect()
}

/// Returns the numbers that the fragment stage stored, in the order of their places.
fn stored(seen: &[u32]) -> Vec<u32> {
    seen.iter().filter(|&&word| word != UNTOUCHED).map(|word| word - 1).collect()
}

#[test]
fn topologies_give_stages_the_order_of_the_specification() {
    use vk::ShaderStageFlags as S;
    let mut scene = Scene::new();
    for &(topology, count, first, last) in ORDERS {
        for (last, order) in [(false, first), (true, last)] {
            for restart in [false, true] {
                let what = format!("{topology:?} of {count}, last: {last}, restart: {restart}");
                let want = expected(order, restart);
                let stages = vec![(S::VERTEX, shader!("provoking.vert")), (S::GEOMETRY, receiver(topology))];
                let (received, _) = scene.draw(&Drawing { stages, topology, last, mode: FILL }, count, restart);
                assert_eq!(received, want.concat(), "a geometry stage, {what}");
                let stages =
                    vec![(S::VERTEX, shader!("provoking_capture.vert")), (S::FRAGMENT, shader!("provoking.frag"))];
                let (captured, seen) = scene.draw(&Drawing { stages, topology, last, mode: FILL }, count, restart);
                let want: Vec<_> = want.iter().map(|primitive| own(primitive)).collect();
                assert_eq!(captured, want.concat(), "transform feedback, {what}");
                let provoking = |v: &Vec<u32>| if last { v[v.len() - 1] } else { v[0] };
                assert_eq!(stored(&seen), want.iter().map(provoking).collect::<Vec<_>>(), "flat inputs, {what}");
                let stages =
                    vec![(S::VERTEX, shader!("provoking.vert")), (S::FRAGMENT, shader!("provoking_vertices.frag"))];
                let (_, seen) = scene.draw(&Drawing { stages, topology, last, mode: FILL }, count, restart);
                let three = want.iter().flat_map(|v| [v[0], *v.get(1).unwrap_or(&v[0]), v[v.len() - 1]]);
                assert_eq!(stored(&seen), three.collect::<Vec<_>>(), "inputs of each vertex, {what}");
            }
        }
    }
    scene.free();
}

/// Checks that strips of a geometry stage follow the equations of the specification, each strip
/// from its own first vertex on.
#[test]
fn strips_that_a_geometry_stage_makes_have_the_order_of_the_specification() {
    use vk::ShaderStageFlags as S;
    let mut scene = Scene::new();
    let modules = [
        (shader!("provoking_line_strip.geom"), T::LINE_STRIP),
        (shader!("provoking_triangle_strip.geom"), T::TRIANGLE_STRIP),
    ];
    for (module, output) in modules {
        let table = ORDERS.iter().find(|(topology, ..)| *topology == output).expect("a topology of the table");
        for (last, order) in [(false, table.2), (true, table.3)] {
            // These are the primitives of the table that strips of five and of four vertices
            // contain.
            let strip = |from: u32, count: u32| -> Vec<Vec<u32>> {
                let fit = order.iter().filter(|primitive| primitive.iter().all(|&v| v < count));
                let mut strip: Vec<Vec<u32>> = fit.map(|p| p.iter().map(|v| v + from).collect()).collect();
                if output == T::LINE_STRIP && count == 5 {
                    strip.push(vec![from + 3, from + 4]);
                }
                strip
            };
            let want: Vec<_> = [0, 10].into_iter().flat_map(|n| [strip(n, 5), strip(n + 5, 4)].concat()).collect();
            let stages = vec![
                (S::VERTEX, shader!("provoking.vert")),
                (S::GEOMETRY, module.clone()),
                (S::FRAGMENT, shader!("provoking.frag")),
            ];
            let drawing = Drawing { stages, topology: T::POINT_LIST, last, mode: FILL };
            let (captured, seen) = scene.draw(&drawing, 2, false);
            assert_eq!(captured, want.concat(), "transform feedback, {output:?}, last: {last}");
            // The number of a primitive is also that of its provoking vertex.
            let provoking: BTreeSet<u32> = want.iter().map(|v| if last { v[v.len() - 1] } else { v[0] }).collect();
            let places: BTreeSet<u32> = (0..).zip(&seen).filter(|(_, w)| **w != UNTOUCHED).map(|(i, _)| i).collect();
            assert_eq!(places, provoking, "numbers of primitives, {output:?}, last: {last}");
            assert_eq!(stored(&seen), provoking.into_iter().collect::<Vec<_>>(), "{output:?}, last: {last}");
        }
    }
    scene.free();
}

/// Checks that all observers agree on the provoking vertex of a tessellated primitive, which may be
/// any vertex. A geometry stage must receive the primitives in the captured orientation.
#[test]
fn tessellated_primitives_have_one_order_in_every_stage() {
    use vk::ShaderStageFlags as S;
    let mut scene = Scene::new();
    let domains = [
        (3, shader!("provoking_capture_triangles.tese"), shader!("provoking_triangles.tese")),
        (3, shader!("provoking_capture_quads.tese"), shader!("provoking_quads.tese")),
        (2, shader!("provoking_capture_isolines.tese"), shader!("provoking_isolines.tese")),
    ];
    for (corners, captures, plain) in domains {
        let control = [(S::VERTEX, shader!("provoking.vert")), (S::TESSELLATION_CONTROL, shader!("provoking.tesc"))];
        // The primitives are rotated so that the lowest vertex is first, which keeps their
        // orientation.
        let turned = |words: &[u32]| -> Vec<Vec<u32>> {
            let primitives = words.chunks(corners).map(|primitive| {
                let mut primitive = primitive.to_vec();
                if corners == 3 {
                    let least = (0..3).min_by_key(|&i| primitive[i]).expect("three");
                    primitive.rotate_left(least);
                }
                primitive
            });
            primitives.collect()
        };
        let mut all = Vec::new();
        for last in [false, true] {
            let own = [(S::TESSELLATION_EVALUATION, captures.clone()), (S::FRAGMENT, shader!("provoking_number.frag"))];
            let stages = control.iter().cloned().chain(own).collect();
            let (captured, seen) = scene.draw(&Drawing { stages, topology: T::PATCH_LIST, last, mode: FILL }, 1, false);
            assert!(captured.len() >= 6 * corners, "{captured:?}");
            let provoking = |v: &[u32]| if last { v[v.len() - 1] } else { v[0] };
            let want: BTreeSet<u32> = captured.chunks(corners).map(provoking).collect();
            assert_eq!(stored(&seen), want.into_iter().collect::<Vec<_>>(), "{corners} corners, last: {last}");
            all.push(turned(&captured));
            let receiver = receiver(if corners == 3 { T::TRIANGLE_LIST } else { T::LINE_LIST });
            let own = [(S::TESSELLATION_EVALUATION, plain.clone()), (S::GEOMETRY, receiver)];
            let stages = control.iter().cloned().chain(own).collect();
            let (received, _) = scene.draw(&Drawing { stages, topology: T::PATCH_LIST, last, mode: FILL }, 1, false);
            all.push(turned(&received));
        }
        assert!(all.iter().all(|primitives| *primitives == all[0]), "{corners} corners: {all:?}");
    }
    scene.free();
}

/// Checks that barycentric coordinates are the weights with which the rasterizer interpolates the
/// values of the vertices: of whole and clipped triangles, halves of rectangles, lines and points,
/// and of triangles that are drawn as lines and points.
#[test]
fn barycentric_coordinates_weight_the_values_of_the_vertices() {
    use vk::{PolygonMode as M, ShaderStageFlags as S};
    let mut scene = Scene::new();
    let drawings = [
        (T::TRIANGLE_LIST, M::FILL),
        (T::TRIANGLE_LIST, M::LINE),
        (T::TRIANGLE_LIST, M::POINT),
        (T::LINE_LIST, M::FILL),
        (T::POINT_LIST, M::FILL),
    ];
    for (topology, mode) in drawings {
        for last in [false, true] {
            let stages = vec![(S::VERTEX, shader!("barycentric.vert")), (S::FRAGMENT, shader!("barycentric.frag"))];
            let (_, seen) = scene.draw(&Drawing { stages, topology, last, mode }, 12, false);
            assert!(seen[0] > 100, "{topology:?} {mode:?}: {} fragments", seen[0]);
            assert_eq!(seen[1], 0, "{topology:?} {mode:?} last {last}: of {} fragments", seen[0]);
        }
    }
    scene.free();
}

//! Tests of transform feedback: captured bits, counters, draws of captured vertices, queries.

use crate::common::{Buffer, Context, info};
use crate::pipeline::create;
use ash::vk;
use cts_runner::vk::{PipelineDesc, Target};

const CAPTURE: &[u8] = include_bytes!("../../../jit/tests/data/capture.vert.spv");
const NUMBERED: &[u8] = include_bytes!("../data/numbered.vert.spv");
const STREAMS: &[u8] = include_bytes!("../data/streams.geom.spv");
/// `XfbStride` of the buffers of `CAPTURE`.
const STRIDES: [u32; 4] = [52, 40, 12, 12];
const UNTOUCHED: u32 = 0xaaaa_aaaa;

/// Returns the outputs of `capture.vert` for a vertex, as words of its buffers.
fn captured(vertex: u32, instance: u32) -> [Vec<u32>; 4] {
    let (v, i) = (vertex as f32, instance as f32);
    let words = |floats: &[f32]| floats.iter().map(|f| f.to_bits()).collect::<Vec<_>>();
    let mut first = words(&[v, i, 0.5, 1.0, 1.0 + v]);
    first.extend([1000 * instance + vertex, UNTOUCHED]);
    first.extend(words(&[v, 0.25, i, 0.75]));
    first.extend([vertex.wrapping_neg(), instance]);
    let halves = |d: f64| [d.to_bits() as u32, (d.to_bits() >> 32) as u32];
    let mut second = vec![UNTOUCHED; 2];
    second.extend([halves(f64::from(vertex) / 3.0), halves(f64::from(i))].concat());
    second.extend(words(&[v, 1.0, 2.0, i]));
    let piece = |floats: &[f32]| [vec![UNTOUCHED], words(floats)].concat();
    [first, second, piece(&[v + 100.0, i]), piece(&[i, v + 200.0])]
}

/// Returns `streams.geom` with a position of that stream, which goes to no buffer.
fn with_position_of(stream: u32, mut words: Vec<u32>) -> Vec<u32> {
    const OP_DECORATE: u32 = 71;
    let [stream_of, buffer, stride] = [29, 36, 37];
    let find = |words: &[u32], wanted: &dyn Fn(&[u32]) -> bool| {
        let mut at = 5;
        while !(words[at] & 0xffff == OP_DECORATE && wanted(&words[at + 1..])) {
            at += (words[at] >> 16) as usize;
        }
        at
    };
    let at = find(&words, &|rest| rest[1..3] == [stream_of, 1]);
    words[at + 3] = stream;
    let position = words[at + 1];
    for decoration in [buffer, stride] {
        let at = find(&words, &|rest| rest[..2] == [position, decoration]);
        words.drain(at..at + 4);
    }
    words
}

/// Returns the contents of buffers that have these vertices from byte `at` on.
fn holding(sizes: [u64; 4], at: [u32; 4], vertices: &[(u32, u32)]) -> [Vec<u32>; 4] {
    let mut buffers = sizes.map(|bytes| vec![UNTOUCHED; bytes as usize / 4]);
    for (n, &(vertex, instance)) in vertices.iter().enumerate() {
        for (b, words) in captured(vertex, instance).into_iter().enumerate() {
            let first = at[b] as usize / 4 + n * words.len();
            buffers[b][first..first + words.len()].copy_from_slice(&words);
        }
    }
    buffers
}

/// The commands, which ash has as pointers only.
struct Functions(ash::ext::transform_feedback::Device);

impl Functions {
    unsafe fn bind(&self, b: vk::CommandBuffer, buffers: &[vk::Buffer], offsets: &[u64]) {
        let f = self.0.fp().cmd_bind_transform_feedback_buffers_ext;
        // SAFETY: the caller's arguments fulfil the valid usage of the command.
        unsafe { f(b, 0, buffers.len() as u32, buffers.as_ptr(), offsets.as_ptr(), std::ptr::null()) };
    }

    unsafe fn begin(&self, b: vk::CommandBuffer, counters: &[vk::Buffer], offsets: &[u64]) {
        let (p, q) = pointers(counters, offsets);
        // SAFETY: the caller's arguments fulfil the valid usage of the command.
        unsafe { (self.0.fp().cmd_begin_transform_feedback_ext)(b, 0, counters.len() as u32, p, q) };
    }

    unsafe fn end(&self, b: vk::CommandBuffer, counters: &[vk::Buffer], offsets: &[u64]) {
        let (p, q) = pointers(counters, offsets);
        // SAFETY: the caller's arguments fulfil the valid usage of the command.
        unsafe { (self.0.fp().cmd_end_transform_feedback_ext)(b, 0, counters.len() as u32, p, q) };
    }

    unsafe fn begin_query(&self, b: vk::CommandBuffer, pool: vk::QueryPool, query: u32, stream: u32) {
        // SAFETY: the caller's arguments fulfil the valid usage of the command.
        unsafe { (self.0.fp().cmd_begin_query_indexed_ext)(b, pool, query, vk::QueryControlFlags::empty(), stream) };
    }

    unsafe fn end_query(&self, b: vk::CommandBuffer, pool: vk::QueryPool, query: u32, stream: u32) {
        // SAFETY: the caller's arguments fulfil the valid usage of the command.
        unsafe { (self.0.fp().cmd_end_query_indexed_ext)(b, pool, query, stream) };
    }
}

/// Returns pointers to the lists, or null for empty ones.
fn pointers(counters: &[vk::Buffer], offsets: &[u64]) -> (*const vk::Buffer, *const u64) {
    if counters.is_empty() { (std::ptr::null(), std::ptr::null()) } else { (counters.as_ptr(), offsets.as_ptr()) }
}

struct Scene {
    c: Context,
    feedback: Functions,
    layout: vk::PipelineLayout,
    pass: vk::RenderPass,
    framebuffer: vk::Framebuffer,
    pipelines: Vec<vk::Pipeline>,
}

impl Scene {
    fn new() -> Scene {
        let mut feedback =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true).geometry_streams(true);
        let mut generated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default()
            .primitives_generated_query(true)
            .primitives_generated_query_with_non_zero_streams(true)
            .primitives_generated_query_with_rasterizer_discard(true);
        let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default()
            .provoking_vertex_last(true)
            .transform_feedback_preserves_provoking_vertex(true);
        let mut dynamic = vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT::default()
            .extended_dynamic_state3_rasterization_stream(true);
        let features = vk::PhysicalDeviceFeatures::default()
            .shader_float64(true)
            .large_points(true)
            .geometry_shader(true)
            .occlusion_query_precise(true)
            .pipeline_statistics_query(true)
            .inherited_queries(true);
        let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
        let extensions = [
            c"VK_EXT_transform_feedback",
            c"VK_EXT_primitives_generated_query",
            c"VK_EXT_provoking_vertex",
            c"VK_EXT_extended_dynamic_state3",
        ];
        let c = Context::with(
            &[],
            &extensions,
            &mut [&mut features, &mut feedback, &mut generated, &mut provoking, &mut dynamic],
        );
        let functions = Functions(ash::ext::transform_feedback::Device::new(&c.instance, &c.device));
        // SAFETY: valid usage.
        unsafe {
            let layout = c.device.create_pipeline_layout(&Default::default(), None).expect("layout");
            let subpass = [vk::SubpassDescription::default()];
            let stage = vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT;
            let dependency = vk::SubpassDependency::default()
                .src_stage_mask(stage)
                .dst_stage_mask(stage | vk::PipelineStageFlags::DRAW_INDIRECT)
                .src_access_mask(vk::AccessFlags::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT)
                .dst_access_mask(
                    vk::AccessFlags::TRANSFORM_FEEDBACK_COUNTER_READ_EXT | vk::AccessFlags::INDIRECT_COMMAND_READ,
                );
            let dependencies = [dependency];
            let info = vk::RenderPassCreateInfo::default().subpasses(&subpass).dependencies(&dependencies);
            let pass = c.device.create_render_pass(&info, None).expect("render pass");
            let info = vk::FramebufferCreateInfo::default().render_pass(pass).width(64).height(64).layers(1);
            let framebuffer = c.device.create_framebuffer(&info, None).expect("framebuffer");
            Scene { c, feedback: functions, layout, pass, framebuffer, pipelines: Vec::new() }
        }
    }

    /// Makes a pipeline of `capture.vert` alone, which rasterizes nothing.
    fn pipeline(&mut self, topology: vk::PrimitiveTopology, restart: bool, last: bool) -> vk::Pipeline {
        let vertex = info::spirv(CAPTURE);
        let mode =
            if last { vk::ProvokingVertexModeEXT::LAST_VERTEX } else { vk::ProvokingVertexModeEXT::FIRST_VERTEX };
        let desc = PipelineDesc {
            topology,
            restart,
            discard: true,
            rasterization: Some(
                &vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default().provoking_vertex_mode(mode),
            ),
            ..PipelineDesc::new(&[], self.layout, Target::Subpass(self.pass, 0))
        };
        let made = create(&self.c, &[(vk::ShaderStageFlags::VERTEX, &vertex)], desc).expect("pipeline");
        self.pipelines.push(made);
        made
    }

    /// Makes a pipeline of `streams.geom` that rasterizes a stream, which is dynamic or not.
    fn streams(&mut self, stream: u32, dynamic: bool) -> vk::Pipeline {
        use vk::ShaderStageFlags as S;
        let words = [(S::VERTEX, info::spirv(NUMBERED)), (S::GEOMETRY, with_position_of(stream, info::spirv(STREAMS)))];
        let code = words.each_ref().map(|(stage, words)| (*stage, &words[..]));
        // If the stream is dynamic, the static value differs.
        let select = vk::PipelineRasterizationStateStreamCreateInfoEXT::default().rasterization_stream(if dynamic {
            (stream + 1) % 4
        } else {
            stream
        });
        let desc = PipelineDesc {
            topology: vk::PrimitiveTopology::POINT_LIST,
            viewports: &[info::viewport(64)],
            scissors: &[info::area(64)],
            rasterization: Some(&select),
            dynamic: if dynamic { &[vk::DynamicState::RASTERIZATION_STREAM_EXT] } else { &[] },
            ..PipelineDesc::new(&[], self.layout, Target::Subpass(self.pass, 0))
        };
        let made = create(&self.c, &code, desc).expect("pipeline");
        self.pipelines.push(made);
        made
    }

    fn render(&self, with: impl FnOnce(vk::CommandBuffer)) {
        self.render_with(|_| (), with, |_| ());
    }

    /// Records commands before, in and after a render pass.
    fn render_with(
        &self,
        before: impl FnOnce(vk::CommandBuffer),
        with: impl FnOnce(vk::CommandBuffer),
        after: impl FnOnce(vk::CommandBuffer),
    ) {
        let info = vk::RenderPassBeginInfo::default()
            .render_pass(self.pass)
            .framebuffer(self.framebuffer)
            .render_area(info::area(64));
        let run = self.c.run(|b| {
            before(b);
            // SAFETY: valid usage.
            unsafe {
                self.c.device.cmd_begin_render_pass(b, &info, vk::SubpassContents::INLINE);
                with(b);
                self.c.device.cmd_end_render_pass(b);
            }
            after(b);
        });
        run.expect("executed");
    }

    /// Makes buffers of these sizes, filled with `UNTOUCHED`.
    fn buffers(&self, sizes: [u64; 4]) -> [Buffer; 4] {
        sizes.map(|bytes| {
            let mut buffer = self.buffer(bytes);
            buffer.fill_words(|_| UNTOUCHED);
            buffer
        })
    }

    fn buffer(&self, bytes: u64) -> Buffer {
        let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT
            | vk::BufferUsageFlags::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT
            | vk::BufferUsageFlags::INDIRECT_BUFFER
            | vk::BufferUsageFlags::INDEX_BUFFER
            | vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo::default().size(bytes).usage(usage);
        // SAFETY: valid usage.
        unsafe {
            let buffer = self.c.device.create_buffer(&info, None).expect("buffer");
            let requirements = self.c.device.get_buffer_memory_requirements(buffer);
            let (memory, pointer) = self.c.memory(requirements.size);
            self.c.device.bind_buffer_memory(buffer, memory, 0).expect("bind");
            Buffer { buffer, memory, pointer, size: bytes }
        }
    }

    /// Binds buffers at offsets.
    fn bind(&self, b: vk::CommandBuffer, buffers: &[Buffer], offsets: &[u64]) {
        let handles: Vec<_> = buffers.iter().map(|b| b.buffer).collect();
        // SAFETY: valid usage.
        unsafe { self.feedback.bind(b, &handles, offsets) };
    }

    /// Begins transform feedback with counters that are consecutive in a buffer.
    fn begin(&self, b: vk::CommandBuffer, counters: Option<&Buffer>) {
        let handles: Vec<_> = counters.into_iter().flat_map(|c| [c.buffer; 4]).collect();
        // SAFETY: valid usage.
        unsafe { self.feedback.begin(b, &handles, &[0, 4, 8, 12]) };
    }

    fn end(&self, b: vk::CommandBuffer, counters: Option<&Buffer>) {
        let handles: Vec<_> = counters.into_iter().flat_map(|c| [c.buffer; 4]).collect();
        // SAFETY: valid usage.
        unsafe { self.feedback.end(b, &handles, &[0, 4, 8, 12]) };
    }

    fn use_pipeline(&self, b: vk::CommandBuffer, pipeline: vk::Pipeline) {
        // SAFETY: valid usage.
        unsafe { self.c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline) };
    }

    /// Makes written counters visible to later commands.
    fn counter_barrier(&self, b: vk::CommandBuffer) {
        let barrier = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT)
            .dst_access_mask(
                vk::AccessFlags::TRANSFORM_FEEDBACK_COUNTER_READ_EXT | vk::AccessFlags::INDIRECT_COMMAND_READ,
            );
        let stage = vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT;
        // SAFETY: valid usage.
        unsafe {
            self.c.device.cmd_pipeline_barrier(
                b,
                stage,
                stage | vk::PipelineStageFlags::DRAW_INDIRECT,
                Default::default(),
                &[barrier],
                &[],
                &[],
            )
        };
    }

    fn free(&self, buffers: impl IntoIterator<Item = Buffer>) {
        buffers.into_iter().for_each(|b| self.c.free(b));
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // SAFETY: the device is idle.
        unsafe {
            self.pipelines.drain(..).for_each(|p| self.c.device.destroy_pipeline(p, None));
            self.c.device.destroy_framebuffer(self.framebuffer, None);
            self.c.device.destroy_render_pass(self.pass, None);
            self.c.device.destroy_pipeline_layout(self.layout, None);
        }
    }
}

fn assert_words(buffers: &[Buffer; 4], want: &[Vec<u32>; 4], what: &str) {
    for (b, (buffer, want)) in buffers.iter().zip(want).enumerate() {
        let got = buffer.words();
        let at = got.iter().zip(want).position(|(a, b)| a != b);
        assert!(at.is_none() && got.len() == want.len(), "{what}: buffer {b} differs at word {at:?}");
    }
}

/// Checks interleaved and separate buffers, 64 bits, arrays, matrices, blocks and arrays of blocks,
/// in every topology.
#[test]
fn outputs_of_every_kind_are_captured() {
    use vk::PrimitiveTopology as T;
    let mut s = Scene::new();
    let sizes = [4000, 3000, 1000, 1000];
    #[rustfmt::skip]
    let cases: [(T, bool, &[u32]); 6] = [
        (T::POINT_LIST, false, &[5, 6, 7, 8, 9]),
        (T::LINE_STRIP, false, &[5, 6, 6, 7, 7, 8, 8, 9]),
        (T::TRIANGLE_LIST, false, &[5, 6, 7]),
        (T::TRIANGLE_STRIP, false, &[5, 6, 7, 6, 8, 7, 7, 8, 9]),
        (T::TRIANGLE_STRIP, true, &[5, 6, 7, 7, 6, 8, 7, 8, 9]),
        (T::TRIANGLE_FAN, true, &[5, 6, 7, 5, 7, 8, 5, 8, 9]),
    ];
    for (topology, last, vertices) in cases {
        let pipeline = s.pipeline(topology, false, last);
        let (buffers, counters) = (s.buffers(sizes), s.buffer(16));
        s.render(|b| {
            s.use_pipeline(b, pipeline);
            s.bind(b, &buffers, &[0, 8, 4, 0]);
            s.begin(b, None);
            // SAFETY: valid usage.
            unsafe { s.c.device.cmd_draw(b, 5, 2, 5, 3) };
            s.end(b, Some(&counters));
        });
        let all: Vec<_> = [3, 4].into_iter().flat_map(|i| vertices.iter().map(move |&v| (v, i))).collect();
        assert_words(&buffers, &holding(sizes, [0, 8, 4, 0], &all), &format!("{topology:?} {last}"));
        let bytes = STRIDES.map(|stride| stride * all.len() as u32);
        assert_eq!(counters.words(), bytes, "counted from the binding's offset");
        s.free(buffers.into_iter().chain([counters]));
    }
}

/// Checks that a counter gives the start of the next capture, which is the binding's offset without
/// one. Vertices that are drawn in between are not captured.
#[test]
fn captures_are_paused_and_resumed() {
    let mut s = Scene::new();
    let pipeline = s.pipeline(vk::PrimitiveTopology::LINE_LIST, false, false);
    let sizes = [52 * 12, 40 * 12, 12 * 12, 12 * 12];
    let (buffers, counters) = (s.buffers(sizes), s.buffer(16));
    let draw = |b, count, first| {
        // SAFETY: valid usage.
        unsafe { s.c.device.cmd_draw(b, count, 1, first, 0) };
    };
    s.render(|b| {
        s.use_pipeline(b, pipeline);
        s.bind(b, &buffers, &[0; 4]);
        s.begin(b, None);
        draw(b, 5, 10);
        s.end(b, Some(&counters));
        draw(b, 4, 50);
        s.counter_barrier(b);
        s.begin(b, Some(&counters));
        draw(b, 2, 20);
        draw(b, 2, 30);
        s.end(b, Some(&counters));
    });
    let first = [10, 11, 12, 13, 20, 21, 30, 31].map(|v| (v, 0));
    assert_words(&buffers, &holding(sizes, [0; 4], &first), "resumed");
    assert_eq!(counters.words(), STRIDES.map(|stride| stride * 8));
    // This is another submission; four of six vertices fit.
    s.render(|b| {
        s.use_pipeline(b, pipeline);
        s.bind(b, &buffers, &[0; 4]);
        s.begin(b, Some(&counters));
        draw(b, 6, 40);
        s.end(b, Some(&counters));
    });
    let all: Vec<_> = first.into_iter().chain([40, 41, 42, 43].map(|v| (v, 0))).collect();
    assert_words(&buffers, &holding(sizes, [0; 4], &all), "resumed and full");
    assert_eq!(counters.words(), STRIDES.map(|stride| stride * 12));
    // Only one buffer has a counter that is read: the others begin again.
    let handles = [counters.buffer, vk::Buffer::null()];
    let anew = s.buffers(sizes);
    s.render_with(
        // SAFETY: valid usage.
        |b| unsafe { s.c.device.cmd_fill_buffer(b, counters.buffer, 0, 4, 104) },
        |b| {
            s.use_pipeline(b, pipeline);
            s.bind(b, &anew, &[0; 4]);
            // SAFETY: valid usage.
            unsafe { s.feedback.begin(b, &handles, &[0, 0]) };
            draw(b, 2, 7);
            s.end(b, None);
        },
        |_| (),
    );
    assert_words(&anew, &holding(sizes, [104, 0, 0, 0], &[(7, 0), (8, 0)]), "one counter");
    s.free(buffers.into_iter().chain(anew).chain([counters]));
}

/// Checks a draw of as many vertices as a counter gives, and a counter without captured vertices.
#[test]
fn draws_by_byte_count() {
    let mut s = Scene::new();
    let pipeline = s.pipeline(vk::PrimitiveTopology::POINT_LIST, false, false);
    let sizes = [52 * 40, 40 * 40, 12 * 40, 12 * 40];
    let (buffers, again, counters) = (s.buffers(sizes), s.buffers(sizes), s.buffer(16));
    let byte_count = |b, offset, minus| {
        // SAFETY: valid usage.
        unsafe { (s.feedback.0.fp().cmd_draw_indirect_byte_count_ext)(b, 2, 5, counters.buffer, offset, minus, 40) };
    };
    s.render(|b| {
        s.use_pipeline(b, pipeline);
        s.bind(b, &buffers, &[0; 4]);
        s.begin(b, None);
        // SAFETY: valid usage.
        unsafe { s.c.device.cmd_draw(b, 7, 1, 3, 0) };
        s.end(b, Some(&counters));
        s.counter_barrier(b);
        s.bind(b, &again, &[0; 4]);
        s.begin(b, None);
        // Seven vertices of 40 bytes; all but 44 bytes of them; a negative number.
        byte_count(b, 4, 0);
        byte_count(b, 4, 44);
        byte_count(b, 4, 1000);
        s.end(b, None);
    });
    let vertices: Vec<_> =
        [7, 5].into_iter().flat_map(|n| [5, 6].into_iter().flat_map(move |i| (0..n).map(move |v| (v, i)))).collect();
    assert_words(&again, &holding(sizes, [0; 4], &vertices), "by byte count");
    s.free(buffers.into_iter().chain(again).chain([counters]));
}

fn results(c: &Context, pool: vk::QueryPool, first: u32, values: usize) -> Vec<u64> {
    let mut got = vec![0u64; values + 1];
    let flags = vk::QueryResultFlags::WITH_AVAILABILITY | vk::QueryResultFlags::WAIT | vk::QueryResultFlags::TYPE_64;
    // The functions of ash request one value per query.
    let call = c.device.fp_v1_0().get_query_pool_results;
    let bytes = size_of_val(&*got);
    // SAFETY: valid usage.
    unsafe { call(c.device.handle(), pool, first, 1, bytes, got.as_mut_ptr().cast(), bytes as u64, flags) }
        .result()
        .expect("results");
    assert_eq!(got.pop(), Some(1), "available");
    got
}

/// Checks written, needed and generated primitives, with restarts and instances; copies of results;
/// resets.
#[test]
fn queries_count_primitives() {
    let mut s = Scene::new();
    let pipeline = s.pipeline(vk::PrimitiveTopology::TRIANGLE_STRIP, true, false);
    // Four triangles fit into the second buffer.
    let sizes = [52 * 30, 40 * 14, 12 * 30, 12 * 30];
    let (buffers, mut indices, copy) = (s.buffers(sizes), s.buffer(2 * 12), s.buffer(40));
    let list = [0u16, 1, 2, 3, 0xffff, 4, 5, 6, 7, 0xffff, 8, 9];
    let bytes: Vec<u8> = list.iter().flat_map(|i| i.to_le_bytes()).collect();
    indices.bytes_mut().copy_from_slice(&bytes);
    let d = &s.c.device;
    // SAFETY: valid usage.
    let pools =
        [vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, vk::QueryType::PRIMITIVES_GENERATED_EXT].map(|ty| unsafe {
            d.create_query_pool(&vk::QueryPoolCreateInfo::default().query_type(ty).query_count(3), None)
                .expect("query pool")
        });
    let [feedback, generated] = pools;
    // SAFETY: valid usage.
    s.render_with(
        |b| unsafe {
            pools.iter().for_each(|&pool| d.cmd_reset_query_pool(b, pool, 0, 3));
            // A query without draws.
            d.cmd_begin_query(b, feedback, 2, Default::default());
            d.cmd_end_query(b, feedback, 2);
        },
        |b| unsafe {
            s.use_pipeline(b, pipeline);
            d.cmd_bind_index_buffer(b, indices.buffer, 0, vk::IndexType::UINT16);
            s.bind(b, &buffers, &[0; 4]);
            d.cmd_begin_query(b, generated, 0, Default::default());
            s.feedback.begin_query(b, feedback, 0, 0);
            d.cmd_draw_indexed(b, 12, 1, 0, 0, 0);
            s.begin(b, None);
            d.cmd_draw_indexed(b, 12, 2, 0, 0, 0);
            s.end(b, None);
            s.feedback.end_query(b, feedback, 0, 0);
            // Another query counts a draw without capturing.
            s.feedback.begin_query(b, feedback, 1, 0);
            d.cmd_draw(b, 5, 1, 0, 0);
            s.feedback.end_query(b, feedback, 1, 0);
            d.cmd_end_query(b, generated, 0);
        },
        |b| unsafe {
            let flags = vk::QueryResultFlags::WITH_AVAILABILITY | vk::QueryResultFlags::WAIT;
            d.cmd_copy_query_pool_results(b, feedback, 0, 2, copy.buffer, 0, 12, flags);
            d.cmd_copy_query_pool_results(
                b,
                generated,
                0,
                1,
                copy.buffer,
                24,
                16,
                flags | vk::QueryResultFlags::TYPE_64,
            );
        },
    );
    assert_eq!(results(&s.c, feedback, 0, 2), [4, 8]);
    assert_eq!(results(&s.c, feedback, 1, 2), [0, 0], "not active");
    assert_eq!(results(&s.c, feedback, 2, 2), [0, 0]);
    assert_eq!(results(&s.c, generated, 0, 1), [4 + 8 + 3]);
    assert_eq!(copy.words(), [4, 8, 1, 0, 0, 1, 15, 0, 1, 0]);
    let strip = |a: u32| [a, a + 1, a + 2, a + 1, a + 3, a + 2];
    let vertices: Vec<_> = [strip(0), strip(4)].concat().into_iter().map(|v| (v, 0)).collect();
    assert_words(&buffers, &holding(sizes, [0; 4], &vertices), "what fits");
    // SAFETY: the device is idle.
    unsafe { pools.iter().for_each(|&pool| d.destroy_query_pool(pool, None)) };
    s.free(buffers.into_iter().chain([indices, copy]));
}

/// Returns the counts of queries of every kind for two draws, which secondary command buffers make
/// or not, and the words that the first one captures.
fn counted(s: &Scene, pipeline: vk::Pipeline, below: bool) -> (Vec<Vec<u64>>, Vec<Vec<u32>>) {
    use vk::QueryPipelineStatisticFlags as Q;
    let statistics = Q::VERTEX_SHADER_INVOCATIONS | Q::GEOMETRY_SHADER_PRIMITIVES | Q::CLIPPING_INVOCATIONS;
    let d = &s.c.device;
    let types = [
        (vk::QueryType::OCCLUSION, 1, vk::QueryControlFlags::PRECISE),
        (vk::QueryType::PIPELINE_STATISTICS, 3, vk::QueryControlFlags::empty()),
        (vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, 2, vk::QueryControlFlags::empty()),
        (vk::QueryType::PRIMITIVES_GENERATED_EXT, 1, vk::QueryControlFlags::empty()),
    ];
    let pools = types.map(|(ty, ..)| {
        let info = vk::QueryPoolCreateInfo::default().query_type(ty).query_count(1);
        let bits = if ty == vk::QueryType::PIPELINE_STATISTICS { statistics } else { Q::empty() };
        // SAFETY: valid usage.
        unsafe { d.create_query_pool(&info.pipeline_statistics(bits), None).expect("query pool") }
    });
    let buffers = s.buffers([1 << 12; 4]);
    let draw = |b, captures: bool| {
        s.use_pipeline(b, pipeline);
        if captures {
            s.bind(b, &buffers, &[0; 4]);
            s.begin(b, None);
        }
        // SAFETY: valid usage.
        unsafe { d.cmd_draw(b, 8, 1, 0, 0) };
        if captures {
            s.end(b, None);
        }
    };
    let info = vk::CommandBufferAllocateInfo::default()
        .command_pool(s.c.pool)
        .level(vk::CommandBufferLevel::SECONDARY)
        .command_buffer_count(2);
    let inheritance = vk::CommandBufferInheritanceInfo::default()
        .render_pass(s.pass)
        .framebuffer(s.framebuffer)
        .occlusion_query_enable(true)
        .query_flags(vk::QueryControlFlags::PRECISE)
        .pipeline_statistics(statistics);
    let begin = vk::CommandBufferBeginInfo::default()
        .flags(vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE)
        .inheritance_info(&inheritance);
    // SAFETY: valid usage.
    let secondary = unsafe { d.allocate_command_buffers(&info).expect("command buffers") };
    for (&b, captures) in secondary.iter().zip([true, false]) {
        // SAFETY: valid usage.
        unsafe {
            d.begin_command_buffer(b, &begin).expect("begin");
            draw(b, captures);
            d.end_command_buffer(b).expect("end");
        }
    }
    let info =
        vk::RenderPassBeginInfo::default().render_pass(s.pass).framebuffer(s.framebuffer).render_area(info::area(64));
    let contents = if below { vk::SubpassContents::SECONDARY_COMMAND_BUFFERS } else { vk::SubpassContents::INLINE };
    // SAFETY: valid usage.
    let run = s.c.run(|b| unsafe {
        for (&pool, (_, _, flags)) in pools.iter().zip(types) {
            d.cmd_reset_query_pool(b, pool, 0, 1);
            d.cmd_begin_query(b, pool, 0, flags);
        }
        d.cmd_begin_render_pass(b, &info, contents);
        if below {
            d.cmd_execute_commands(b, &secondary);
        } else {
            draw(b, true);
            draw(b, false);
        }
        d.cmd_end_render_pass(b);
        pools.iter().for_each(|&pool| d.cmd_end_query(b, pool, 0));
    });
    run.expect("executed");
    let counts = pools.iter().zip(types).map(|(&pool, (_, values, _))| results(&s.c, pool, 0, values)).collect();
    let words = buffers.iter().map(Buffer::words).collect();
    // SAFETY: the device is idle.
    unsafe {
        d.free_command_buffers(s.c.pool, &secondary);
        pools.iter().for_each(|&pool| d.destroy_query_pool(pool, None));
    }
    s.free(buffers);
    (counts, words)
}

#[test]
fn secondary_command_buffers_count_in_the_queries_of_the_one_above() {
    let mut s = Scene::new();
    let pipeline = s.streams(0, false);
    let inline = counted(&s, pipeline, false);
    let [occlusion, statistics, feedback, generated] = &inline.0[..] else { unreachable!() };
    assert_eq!(statistics[0], 16, "vertices of both");
    assert_eq!(generated[0], 2 * feedback[0], "one of two is captured");
    assert!(occlusion[0] != 0 && feedback[0] != 0 && feedback[0] == feedback[1], "{:?}", inline.0);
    assert_eq!(counted(&s, pipeline, true), inline);
}

/// Checks that every stream has its own buffers, which end separately, counters and strips, and
/// that any stream can be rasterized.
#[test]
fn streams_are_captured_counted_and_rasterized() {
    const POINTS: u32 = 300;
    /// Number of triangles of the third stream that fit.
    const FIT: usize = 100;
    let mut s = Scene::new();
    let (mut want, mut odd) = ([vec![], vec![], vec![], vec![]], 0);
    for (n, i) in (0..POINTS).flat_map(|n| [(n, 0), (n, 1)]) {
        odd += u64::from(n % 2);
        for k in [0, 1, 2, 1, 3, 2] {
            want[0].extend([n, i, k, UNTOUCHED]);
            if want[3].len() < FIT * 3 {
                want[1].extend([UNTOUCHED, n, k]);
                want[3].push(i);
            }
            want[2].extend((n % 2 == 1).then_some(100 * n + 10 * i + k));
        }
    }
    let written = [0, 1, 2, 3].map(|b| (want[b].len() * 4) as u32);
    let all = u64::from(POINTS * 2 * 2);
    want[1].resize(want[1].len() + 60, UNTOUCHED);
    let sizes = [0, 1, 2, 3].map(|b| want[b].len() as u64 * 4);
    for (stream, dynamic) in [(0, false), (1, false), (2, false), (3, false), (0, true), (3, true)] {
        let pipeline = s.streams(stream, dynamic);
        let (buffers, counters) = (s.buffers(sizes), s.buffer(16));
        let d = &s.c.device;
        let types = [
            vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT,
            vk::QueryType::PRIMITIVES_GENERATED_EXT,
            vk::QueryType::OCCLUSION,
        ];
        // SAFETY: valid usage.
        let pools = types.map(|ty| unsafe {
            d.create_query_pool(&vk::QueryPoolCreateInfo::default().query_type(ty).query_count(4), None)
                .expect("query pool")
        });
        let [feedback, generated, occlusion] = pools;
        let select = ash::ext::extended_dynamic_state3::Device::new(&s.c.instance, d);
        s.render_with(
            // SAFETY: valid usage.
            |b| unsafe { pools.iter().for_each(|&pool| d.cmd_reset_query_pool(b, pool, 0, 4)) },
            // SAFETY: valid usage.
            |b| unsafe {
                s.use_pipeline(b, pipeline);
                if dynamic {
                    select.cmd_set_rasterization_stream(b, stream);
                }
                s.bind(b, &buffers, &[0; 4]);
                d.cmd_begin_query(b, occlusion, 0, vk::QueryControlFlags::PRECISE);
                (0..4).for_each(|n| s.feedback.begin_query(b, feedback, n, n));
                (0..4).for_each(|n| s.feedback.begin_query(b, generated, 3 - n, n));
                s.begin(b, None);
                d.cmd_draw(b, POINTS, 1, 0, 0);
                s.end(b, Some(&counters));
                (0..4).for_each(|n| s.feedback.end_query(b, feedback, n, n));
                (0..4).for_each(|n| s.feedback.end_query(b, generated, 3 - n, n));
                d.cmd_end_query(b, occlusion, 0);
            },
            |_| (),
        );
        let what = format!("stream {stream}, dynamic: {dynamic}");
        assert_words(&buffers, &want, &what);
        assert_eq!(counters.words(), written, "{what}");
        let made = [all, all, all, 2 * odd];
        for n in 0..4 {
            let fit = if n == 2 { FIT as u64 } else { made[n as usize] };
            assert_eq!(results(&s.c, feedback, n, 2), [fit, made[n as usize]], "{what}: {n}");
            assert_eq!(results(&s.c, generated, 3 - n, 1), [made[n as usize]], "{what}: {n}");
        }
        let columns = u64::from(4 * (stream + 1));
        assert_eq!(results(&s.c, occlusion, 0, 1), [made[stream as usize] / 2 * 64 * columns], "{what}");
        // SAFETY: the device is idle.
        unsafe { pools.iter().for_each(|&pool| d.destroy_query_pool(pool, None)) };
        s.free(buffers.into_iter().chain([counters]));
    }
}

/// Checks draws of more than one round of the rasterizer's work, with unordered indices, and a pass
/// with several captures.
#[test]
fn large_draws_keep_their_order() {
    let mut s = Scene::new();
    let pipeline = s.pipeline(vk::PrimitiveTopology::TRIANGLE_LIST, false, false);
    let count = 120_000u32;
    let sizes = STRIDES.map(|stride| u64::from(stride * 2 * count));
    let (buffers, mut indices) = (s.buffers(sizes), s.buffer(4 * u64::from(count)));
    let index = |i: u32| i.wrapping_mul(2_654_435_761) >> 12;
    indices.fill_words(index);
    s.render(|b| {
        s.use_pipeline(b, pipeline);
        s.bind(b, &buffers, &[0; 4]);
        s.begin(b, None);
        // SAFETY: valid usage.
        unsafe {
            s.c.device.cmd_bind_index_buffer(b, indices.buffer, 0, vk::IndexType::UINT32);
            s.c.device.cmd_draw_indexed(b, count, 1, 0, 0, 0);
            s.c.device.cmd_draw(b, count, 1, 17, 9);
        }
        s.end(b, None);
    });
    let vertices: Vec<_> = (0..count).map(|i| (index(i), 0)).chain((0..count).map(|i| (17 + i, 9))).collect();
    assert_words(&buffers, &holding(sizes, [0; 4], &vertices), "large");
    s.free(buffers.into_iter().chain([indices]));
}

/// Runs the other tests again in processes of their own, because threads and tier are read from the
/// environment once per process.
#[test]
fn the_same_with_any_number_of_threads_and_in_every_tier() {
    const CHILD: &str = "GRUS_TEST_FEEDBACK";
    if std::env::var_os(CHILD).is_some() {
        return;
    }
    for (threads, tier) in [("1", "quick"), ("2", "wide"), ("8", "full"), ("8", "quick"), ("1", "wide")] {
        let mut command = std::process::Command::new(std::env::current_exe().expect("this binary"));
        command.arg("transform_feedback::").env(CHILD, "1").env("GRUS_THREADS", threads).env("GRUS_TIER", tier);
        let output = command.output().expect("runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("8 passed"), "{threads} {tier}: {said}");
    }
}

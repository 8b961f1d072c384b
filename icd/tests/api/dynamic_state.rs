//! Tests of pipelines with only dynamic state, several draws in one command, draws that depend on a
//! word in memory, and clocks and memory of newer extensions.

use crate::common::{Buffer, Context, Image, info};
use crate::pipeline;
use crate::pipeline::module;
use ash::vk;

const SIDE: u32 = 64;
/// Number of bytes of a vertex: an unused word, a position, a colour.
const STRIDE: u32 = 28;

/// A device, a target, two triangles that cover the left and the right half, and a pipeline with
/// only dynamic state.
struct Scene {
    c: Context,
    target: Image,
    vertices: Buffer,
    words: Buffer,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
    state3: ash::ext::extended_dynamic_state3::Device,
    input: ash::ext::vertex_input_dynamic_state::Device,
    writes: ash::ext::color_write_enable::Device,
    multi: ash::ext::multi_draw::Device,
    conditional: ash::ext::conditional_rendering::Device,
}

const DYNAMIC: &[vk::DynamicState] = &[
    vk::DynamicState::VERTEX_INPUT_EXT,
    vk::DynamicState::VIEWPORT_WITH_COUNT,
    vk::DynamicState::SCISSOR_WITH_COUNT,
    vk::DynamicState::DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT,
    vk::DynamicState::DEPTH_CLAMP_ENABLE_EXT,
    vk::DynamicState::DEPTH_CLIP_ENABLE_EXT,
    vk::DynamicState::RASTERIZER_DISCARD_ENABLE,
    vk::DynamicState::POLYGON_MODE_EXT,
    vk::DynamicState::PROVOKING_VERTEX_MODE_EXT,
    vk::DynamicState::CULL_MODE,
    vk::DynamicState::FRONT_FACE,
    vk::DynamicState::DEPTH_BIAS_ENABLE,
    vk::DynamicState::DEPTH_BIAS,
    vk::DynamicState::LINE_WIDTH,
    vk::DynamicState::RASTERIZATION_SAMPLES_EXT,
    vk::DynamicState::SAMPLE_MASK_EXT,
    vk::DynamicState::ALPHA_TO_COVERAGE_ENABLE_EXT,
    vk::DynamicState::ALPHA_TO_ONE_ENABLE_EXT,
    vk::DynamicState::LOGIC_OP_ENABLE_EXT,
    vk::DynamicState::LOGIC_OP_EXT,
    vk::DynamicState::COLOR_BLEND_ENABLE_EXT,
    vk::DynamicState::COLOR_BLEND_EQUATION_EXT,
    vk::DynamicState::COLOR_WRITE_MASK_EXT,
    vk::DynamicState::COLOR_WRITE_ENABLE_EXT,
    vk::DynamicState::BLEND_CONSTANTS,
];

/// Makes a pipeline that has only shaders, topology and the target's format.
fn all_dynamic(c: &Context, layout: vk::PipelineLayout) -> vk::Pipeline {
    let words = |bytes: &[u8]| info::spirv(bytes);
    let vertex = module(c, &words(include_bytes!("../data/triangle.vert.spv")));
    let fragment = module(c, &words(include_bytes!("../data/triangle.frag.spv")));
    let stage = |stage, module| vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module).name(c"main");
    let stages = [stage(vk::ShaderStageFlags::VERTEX, vertex), stage(vk::ShaderStageFlags::FRAGMENT, fragment)];
    let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(vk::PrimitiveTopology::TRIANGLE_LIST);
    let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(DYNAMIC);
    let formats = [vk::Format::R8G8B8A8_UNORM];
    let mut rendering = vk::PipelineRenderingCreateInfo::default().color_attachment_formats(&formats);
    let info = vk::GraphicsPipelineCreateInfo::default()
        .stages(&stages)
        .input_assembly_state(&assembly)
        .dynamic_state(&dynamic)
        .layout(layout)
        .push_next(&mut rendering);
    // SAFETY: valid usage; missing state is dynamic.
    unsafe {
        let made = c.device.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None);
        c.device.destroy_shader_module(vertex, None);
        c.device.destroy_shader_module(fragment, None);
        made.map_err(|(_, error)| error).expect("pipeline")[0]
    }
}

/// Returns the two halves in two colours, as (x, y, colour).
fn corners() -> Vec<(f32, f32, [f32; 4])> {
    let (red, green) = ([1.0, 0.0, 0.0, 0.5], [0.0, 1.0, 0.0, 0.5]);
    let left = [(-1.0, -3.0), (-1.0, 3.0), (0.0, 0.0)];
    let right = [(0.0, 0.0), (1.0, -3.0), (1.0, 3.0)];
    left.iter().map(|&(x, y)| (x, y, red)).chain(right.iter().map(|&(x, y)| (x, y, green))).collect()
}

impl Scene {
    fn new() -> Scene {
        let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
        let mut state3 = vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT::default()
            .extended_dynamic_state3_depth_clamp_enable(true)
            .extended_dynamic_state3_depth_clip_enable(true)
            .extended_dynamic_state3_depth_clip_negative_one_to_one(true)
            .extended_dynamic_state3_provoking_vertex_mode(true)
            .extended_dynamic_state3_polygon_mode(true)
            .extended_dynamic_state3_rasterization_samples(true)
            .extended_dynamic_state3_sample_mask(true)
            .extended_dynamic_state3_alpha_to_coverage_enable(true)
            .extended_dynamic_state3_alpha_to_one_enable(true)
            .extended_dynamic_state3_logic_op_enable(true)
            .extended_dynamic_state3_color_blend_enable(true)
            .extended_dynamic_state3_color_blend_equation(true)
            .extended_dynamic_state3_color_write_mask(true);
        let mut state2 =
            vk::PhysicalDeviceExtendedDynamicState2FeaturesEXT::default().extended_dynamic_state2_logic_op(true);
        let mut input =
            vk::PhysicalDeviceVertexInputDynamicStateFeaturesEXT::default().vertex_input_dynamic_state(true);
        let mut writes = vk::PhysicalDeviceColorWriteEnableFeaturesEXT::default().color_write_enable(true);
        let mut multi = vk::PhysicalDeviceMultiDrawFeaturesEXT::default().multi_draw(true);
        let mut condition = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default().conditional_rendering(true);
        let extensions = [
            c"VK_KHR_dynamic_rendering",
            c"VK_EXT_extended_dynamic_state2",
            c"VK_EXT_extended_dynamic_state3",
            c"VK_EXT_depth_clip_enable",
            c"VK_EXT_depth_clip_control",
            c"VK_EXT_provoking_vertex",
            c"VK_EXT_vertex_input_dynamic_state",
            c"VK_EXT_color_write_enable",
            c"VK_EXT_multi_draw",
            c"VK_EXT_conditional_rendering",
            c"VK_KHR_maintenance5",
            c"VK_KHR_maintenance9",
        ];
        let c = Context::with(
            &[],
            &extensions,
            &mut [
                &mut rendering,
                &mut state2,
                &mut state3,
                &mut input,
                &mut writes,
                &mut multi,
                &mut condition,
                &mut Maintenance9::enabled(),
            ],
        );
        let target = c.image(vk::Format::R8G8B8A8_UNORM, [SIDE; 2], vk::SampleCountFlags::TYPE_1, 1);
        let mut vertices = c.buffer(u64::from(6 * STRIDE));
        let all: Vec<f32> = corners().iter().flat_map(|&(x, y, [r, g, b, a])| [0.0, x, y, r, g, b, a]).collect();
        vertices.fill_words(|i| all[i as usize].to_bits());
        let words = c.buffer(64);
        // SAFETY: valid usage.
        let layout =
            unsafe { c.device.create_pipeline_layout(&vk::PipelineLayoutCreateInfo::default(), None) }.unwrap();
        let pipeline = all_dynamic(&c, layout);
        Scene {
            state3: ash::ext::extended_dynamic_state3::Device::new(&c.instance, &c.device),
            input: ash::ext::vertex_input_dynamic_state::Device::new(&c.instance, &c.device),
            writes: ash::ext::color_write_enable::Device::new(&c.instance, &c.device),
            multi: ash::ext::multi_draw::Device::new(&c.instance, &c.device),
            conditional: ash::ext::conditional_rendering::Device::new(&c.instance, &c.device),
            c,
            target,
            vertices,
            words,
            layout,
            pipeline,
        }
    }

    /// Sets all state to usual values.
    fn usual(&self, b: vk::CommandBuffer) {
        let (d, s3) = (&self.c.device, &self.state3);
        let logic = ash::ext::extended_dynamic_state2::Device::new(&self.c.instance, d);
        let equation = vk::ColorBlendEquationEXT::default()
            .src_color_blend_factor(vk::BlendFactor::SRC_ALPHA)
            .dst_color_blend_factor(vk::BlendFactor::ONE)
            .src_alpha_blend_factor(vk::BlendFactor::ONE);
        // SAFETY: valid usage.
        unsafe {
            d.cmd_set_viewport_with_count(b, &[info::viewport(SIDE)]);
            d.cmd_set_scissor_with_count(b, &[info::area(SIDE)]);
            d.cmd_set_rasterizer_discard_enable(b, false);
            d.cmd_set_cull_mode(b, vk::CullModeFlags::NONE);
            d.cmd_set_front_face(b, vk::FrontFace::COUNTER_CLOCKWISE);
            d.cmd_set_depth_bias_enable(b, false);
            d.cmd_set_depth_bias(b, 0.0, 0.0, 0.0);
            d.cmd_set_line_width(b, 1.0);
            d.cmd_set_blend_constants(b, &[0.0; 4]);
            s3.cmd_set_depth_clip_negative_one_to_one(b, false);
            s3.cmd_set_depth_clamp_enable(b, false);
            s3.cmd_set_depth_clip_enable(b, true);
            s3.cmd_set_polygon_mode(b, vk::PolygonMode::FILL);
            s3.cmd_set_provoking_vertex_mode(b, vk::ProvokingVertexModeEXT::FIRST_VERTEX);
            s3.cmd_set_rasterization_samples(b, vk::SampleCountFlags::TYPE_1);
            s3.cmd_set_sample_mask(b, vk::SampleCountFlags::TYPE_1, &[!0]);
            s3.cmd_set_alpha_to_coverage_enable(b, false);
            s3.cmd_set_alpha_to_one_enable(b, false);
            s3.cmd_set_logic_op_enable(b, false);
            logic.cmd_set_logic_op(b, vk::LogicOp::COPY);
            s3.cmd_set_color_blend_enable(b, 0, &[vk::FALSE]);
            s3.cmd_set_color_blend_equation(b, 0, &[equation]);
            s3.cmd_set_color_write_mask(b, 0, &[vk::ColorComponentFlags::RGBA]);
            (self.writes.fp().cmd_set_color_write_enable_ext)(b, 1, &vk::TRUE);
        }
        self.input(b, STRIDE);
    }

    fn input(&self, b: vk::CommandBuffer, stride: u32) {
        let binding = vk::VertexInputBindingDescription2EXT::default()
            .binding(3)
            .stride(stride)
            .input_rate(vk::VertexInputRate::VERTEX)
            .divisor(1);
        let attribute = |location, format, offset| {
            let a = vk::VertexInputAttributeDescription2EXT::default().location(location).binding(3);
            a.format(format).offset(offset)
        };
        let attributes =
            [attribute(0, vk::Format::R32G32_SFLOAT, 4), attribute(1, vk::Format::R32G32B32A32_SFLOAT, 12)];
        // SAFETY: valid usage.
        unsafe { self.input.cmd_set_vertex_input(b, &[binding], &attributes) };
    }

    /// Returns the middle pixels of the left and the right half after these commands over black.
    fn halves(&self, with: impl FnOnce(vk::CommandBuffer)) -> [[u8; 4]; 2] {
        let area = info::area(SIDE);
        let drawn = pipeline::render(&self.c, &self.target, area, |b| {
            // SAFETY: valid usage.
            unsafe {
                self.c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, self.pipeline);
                self.c.device.cmd_bind_vertex_buffers(b, 3, &[self.vertices.buffer], &[0]);
            }
            self.usual(b);
            with(b);
        });
        assert_eq!(drawn, Ok(()));
        let bytes = self.c.read_image(&self.target, 4);
        let texel = |x: u32| bytes.as_chunks::<4>().0[(SIDE / 2 * SIDE + x) as usize];
        [texel(SIDE / 4), texel(SIDE / 4 * 3)]
    }

    fn draw(&self, b: vk::CommandBuffer) {
        // SAFETY: valid usage.
        unsafe { self.c.device.cmd_draw(b, 6, 1, 0, 0) };
    }

    fn destroy(self) {
        // SAFETY: valid usage.
        unsafe {
            self.c.device.destroy_pipeline(self.pipeline, None);
            self.c.device.destroy_pipeline_layout(self.layout, None);
        }
        self.c.free(self.vertices);
        self.c.free(self.words);
        self.c.free_image(self.target);
    }
}

const RED: [u8; 4] = [255, 0, 0, 128];
const GREEN: [u8; 4] = [0, 255, 0, 128];
const NOTHING: [u8; 4] = [0; 4];

#[test]
fn everything_is_dynamic() {
    let s = Scene::new();
    let (d, s3) = (&s.c.device, &s.state3);
    assert_eq!(s.halves(|b| s.draw(b)), [RED, GREEN]);
    let blended = s.halves(|b| unsafe {
        // SAFETY: valid usage.
        s3.cmd_set_color_blend_enable(b, 0, &[vk::TRUE]);
        s.draw(b);
    });
    assert_eq!(blended, [[128, 0, 0, 128], [0, 128, 0, 128]]);
    let alpha = s.halves(|b| unsafe {
        // SAFETY: valid usage.
        s3.cmd_set_color_write_mask(b, 0, &[vk::ColorComponentFlags::B | vk::ColorComponentFlags::A]);
        s.draw(b);
    });
    assert_eq!(alpha, [[0, 0, 0, 128]; 2]);
    let unwritten = s.halves(|b| unsafe {
        // SAFETY: valid usage.
        (s.writes.fp().cmd_set_color_write_enable_ext)(b, 1, &vk::FALSE);
        s.draw(b);
    });
    assert_eq!(unwritten, [NOTHING; 2]);
    let inverted = s.halves(|b| unsafe {
        // SAFETY: valid usage.
        let logic = ash::ext::extended_dynamic_state2::Device::new(&s.c.instance, d);
        logic.cmd_set_logic_op(b, vk::LogicOp::COPY_INVERTED);
        s3.cmd_set_logic_op_enable(b, true);
        s.draw(b);
    });
    assert_eq!(inverted, [[0, 255, 255, 127], [255, 0, 255, 127]]);
    let masked = s.halves(|b| unsafe {
        // SAFETY: valid usage.
        s3.cmd_set_sample_mask(b, vk::SampleCountFlags::TYPE_1, &[0]);
        s.draw(b);
    });
    assert_eq!(masked, [NOTHING; 2]);
    let edges = s.halves(|b| unsafe {
        // SAFETY: valid usage.
        s3.cmd_set_polygon_mode(b, vk::PolygonMode::LINE);
        s.draw(b);
    });
    assert_eq!(edges, [NOTHING; 2], "the middles lie inside");
    s.destroy();
}

#[test]
fn strides_of_the_vertex_input_are_used() {
    let s = Scene::new();
    let none = s.halves(|b| {
        s.input(b, 0);
        s.draw(b);
    });
    assert_eq!(none, [NOTHING; 2], "all vertices are the first");
    s.destroy();
}

#[test]
fn many_draws_of_one_command() {
    let mut s = Scene::new();
    let draws = |list: &[(u32, u32)]| -> Vec<vk::MultiDrawInfoEXT> {
        let draw = |&(first_vertex, vertex_count): &(u32, u32)| vk::MultiDrawInfoEXT { first_vertex, vertex_count };
        list.iter().map(draw).collect()
    };
    // SAFETY: valid usage.
    unsafe {
        let multi = |list: &[vk::MultiDrawInfoEXT]| s.halves(|b| multi_draw(&s, b, list));
        assert_eq!(multi(&draws(&[(3, 3), (0, 3)])), [RED, GREEN]);
        assert_eq!(multi(&draws(&[(3, 3), (0, 0)])), [NOTHING, GREEN]);
        assert_eq!(multi(&[]), [NOTHING; 2]);
    }
    s.words.fill_words(|i| i % 3);
    let indexed = |vertex_offset: Option<&i32>| {
        let draw = |vertex_offset| vk::MultiDrawIndexedInfoEXT { first_index: 3, index_count: 3, vertex_offset };
        let list = [draw(0), draw(3)];
        s.halves(|b| {
            let offset = vertex_offset.map_or(std::ptr::null(), std::ptr::from_ref);
            let stride = size_of::<vk::MultiDrawIndexedInfoEXT>() as u32;
            // SAFETY: valid usage.
            unsafe {
                s.c.device.cmd_bind_index_buffer(b, s.words.buffer, 0, vk::IndexType::UINT32);
                (s.multi.fp().cmd_draw_multi_indexed_ext)(b, 2, list.as_ptr(), 1, 0, stride, offset);
            }
        })
    };
    assert_eq!(indexed(None), [RED, GREEN]);
    assert_eq!(indexed(Some(&3)), [NOTHING, GREEN], "one offset for all");
    s.destroy();
}

/// Draws a list of draws.
///
/// # Safety
/// A rendering instance is active.
unsafe fn multi_draw(s: &Scene, b: vk::CommandBuffer, list: &[vk::MultiDrawInfoEXT]) {
    let stride = size_of::<vk::MultiDrawInfoEXT>() as u32;
    // SAFETY: valid usage.
    unsafe { (s.multi.fp().cmd_draw_multi_ext)(b, list.len() as u32, list.as_ptr(), 1, 0, stride) };
}

#[test]
fn conditional_rendering_follows_a_word_in_memory() {
    let mut s = Scene::new();
    s.words.fill_words(|i| i);
    let when = |offset: u64, flags: vk::ConditionalRenderingFlagsEXT| {
        s.halves(|b| {
            let begin =
                vk::ConditionalRenderingBeginInfoEXT::default().buffer(s.words.buffer).offset(offset).flags(flags);
            // SAFETY: valid usage.
            unsafe {
                (s.conditional.fp().cmd_begin_conditional_rendering_ext)(b, &begin);
                s.c.device.cmd_draw(b, 3, 1, 0, 0);
                (s.conditional.fp().cmd_end_conditional_rendering_ext)(b);
                s.c.device.cmd_draw(b, 3, 1, 3, 0);
            }
        })
    };
    let (usual, inverted) = (vk::ConditionalRenderingFlagsEXT::empty(), vk::ConditionalRenderingFlagsEXT::INVERTED);
    assert_eq!(when(0, usual), [NOTHING, GREEN]);
    assert_eq!(when(4, usual), [RED, GREEN]);
    assert_eq!(when(0, inverted), [RED, GREEN]);
    assert_eq!(when(8, inverted), [NOTHING, GREEN]);
    s.destroy();
}

/// Checks VK_KHR_maintenance5: an index buffer with a size reads zeros behind it; an image's layout
/// can be queried without the image.
#[test]
fn maintenance_5() {
    let s = Scene::new();
    let maintenance = ash::khr::maintenance5::Device::new(&s.c.instance, &s.c.device);
    let info = vk::ImageCreateInfo::default()
        .image_type(vk::ImageType::TYPE_2D)
        .format(vk::Format::A8_UNORM_KHR)
        .extent(vk::Extent3D { width: 5, height: 7, depth: 1 })
        .mip_levels(2)
        .array_layers(3)
        .samples(vk::SampleCountFlags::TYPE_1)
        .tiling(vk::ImageTiling::LINEAR)
        .usage(vk::ImageUsageFlags::TRANSFER_DST);
    let subresource = vk::ImageSubresource { aspect_mask: vk::ImageAspectFlags::COLOR, mip_level: 1, array_layer: 2 };
    let second = vk::ImageSubresource2KHR::default().image_subresource(subresource);
    // SAFETY: valid usage.
    unsafe {
        let image = s.c.device.create_image(&info, None).unwrap();
        let expected = s.c.device.get_image_subresource_layout(image, subresource);
        assert!(expected.row_pitch >= 2 && expected.size >= 2 * 3 && expected.array_pitch >= 5 * 7);
        let parts = |l: vk::SubresourceLayout| (l.offset, l.size, l.row_pitch, l.array_pitch, l.depth_pitch);
        let mut layouts = [vk::SubresourceLayout2KHR::default(); 2];
        maintenance.get_image_subresource_layout2(image, &second, &mut layouts[0]);
        let question = vk::DeviceImageSubresourceInfoKHR::default().create_info(&info).subresource(&second);
        maintenance.get_device_image_subresource_layout(&question, &mut layouts[1]);
        assert_eq!(layouts.map(|l| parts(l.subresource_layout)), [parts(expected); 2]);
        s.c.device.destroy_image(image, None);
    }
    let mut s = s;
    s.words.fill_words(|i| 3 + i % 3);
    let indexed = |size: u64| {
        s.halves(|b| {
            // SAFETY: valid usage.
            unsafe {
                let words = s.words.buffer;
                (maintenance.fp().cmd_bind_index_buffer2_khr)(b, words, 0, size, vk::IndexType::UINT32);
                s.c.device.cmd_draw_indexed(b, 3, 1, 0, 0, 0);
            }
        })
    };
    assert_eq!(indexed(vk::WHOLE_SIZE), [NOTHING, GREEN]);
    assert_eq!(indexed(12), [NOTHING, GREEN]);
    assert_ne!(indexed(8), [NOTHING, GREEN], "the third index is not there");
    s.destroy();
}

/// The clocks of the system, after the device's.
#[cfg(unix)]
const TIME_DOMAINS: [vk::TimeDomainKHR; 3] =
    [vk::TimeDomainKHR::DEVICE, vk::TimeDomainKHR::CLOCK_MONOTONIC, vk::TimeDomainKHR::CLOCK_MONOTONIC_RAW];
#[cfg(windows)]
const TIME_DOMAINS: [vk::TimeDomainKHR; 2] = [vk::TimeDomainKHR::DEVICE, vk::TimeDomainKHR::QUERY_PERFORMANCE_COUNTER];

/// Returns the unit of the second clock.
#[cfg(unix)]
fn nanoseconds_of_tick() -> f64 {
    1.0
}

/// Returns the unit of the second clock.
#[cfg(windows)]
fn nanoseconds_of_tick() -> f64 {
    let mut frequency = 0;
    // SAFETY: the call writes the number of ticks in a second.
    unsafe { windows_sys::Win32::System::Performance::QueryPerformanceFrequency(&raw mut frequency) };
    1e9 / frequency as f64
}

#[test]
fn memory_and_clocks() {
    let c = Context::new(&[], &[c"VK_KHR_map_memory2", c"VK_EXT_memory_budget", c"VK_KHR_calibrated_timestamps"]);
    let other = Context::new(&[], &[]);
    let budget = |c: &Context| {
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut out = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        // SAFETY: valid usage.
        unsafe { c.instance.get_physical_device_memory_properties2(c.physical, &mut out) };
        let size = out.memory_properties.memory_heaps[0].size;
        assert!(budget.heap_budget[0] > 0 && budget.heap_budget[0] <= size && budget.heap_budget[1..] == [0; 15]);
        budget.heap_usage[0]
    };
    // This is more than the process's other tests free meanwhile; usage is the process's, for every
    // instance.
    const BYTES: u64 = 256 << 20;
    let before = [budget(&c), budget(&other)];
    let buffer = c.buffer(BYTES);
    let most = before[0].max(before[1]) + BYTES / 2;
    assert!(budget(&c) > most && budget(&other) > most, "{before:?}");
    let map = ash::khr::map_memory2::Device::new(&c.instance, &c.device);
    let info = vk::MemoryMapInfoKHR::default().memory(buffer.memory).offset(64).size(vk::WHOLE_SIZE);
    // SAFETY: valid usage.
    unsafe {
        let mut pointer = std::ptr::null_mut();
        assert_eq!((map.fp().map_memory2_khr)(c.device.handle(), &info, &mut pointer), vk::Result::SUCCESS);
        assert_eq!(pointer, buffer.pointer.add(64).cast());
        let unmap = vk::MemoryUnmapInfoKHR::default().memory(buffer.memory);
        assert_eq!((map.fp().unmap_memory2_khr)(c.device.handle(), &unmap), vk::Result::SUCCESS);
        let domains = ash::khr::calibrated_timestamps::Instance::new(&c.entry, &c.instance);
        let domains = domains.get_physical_device_calibrateable_time_domains(c.physical).unwrap();
        let clocks = ash::khr::calibrated_timestamps::Device::new(&c.instance, &c.device);
        let infos: Vec<_> =
            domains.iter().map(|&domain| vk::CalibratedTimestampInfoKHR::default().time_domain(domain)).collect();
        let (times, deviation) = clocks.get_calibrated_timestamps(&infos).unwrap();
        assert_eq!(domains, TIME_DOMAINS);
        // The performance counter of Windows has a unit of its own; the device's clock counts
        // nanoseconds, as the monotonic clock of Linux does.
        let nanoseconds = times[1] as f64 * nanoseconds_of_tick();
        assert!(
            (times[0] as f64 - nanoseconds).abs() <= deviation as f64 + nanoseconds_of_tick(),
            "{times:?} ± {deviation}"
        );
    }
    c.free(buffer);
}

/// `VkPhysicalDeviceMaintenance9FeaturesKHR` and `VkQueueFamilyOwnershipTransferPropertiesKHR`,
/// which are newer than ash.
#[repr(C)]
struct Maintenance9 {
    s_type: vk::StructureType,
    p_next: *const std::ffi::c_void,
    value: u32,
}

// SAFETY: it has the tag and the layout of the feature's structure.
unsafe impl vk::ExtendsDeviceCreateInfo for Maintenance9 {}

impl Maintenance9 {
    fn tagged(s_type: i32, value: u32) -> Maintenance9 {
        Maintenance9 { s_type: vk::StructureType::from_raw(s_type), p_next: std::ptr::null(), value }
    }
    fn enabled() -> Maintenance9 {
        Maintenance9::tagged(1_000_584_000, 1)
    }
    fn transfers() -> Maintenance9 {
        Maintenance9::tagged(1_000_584_002, 0)
    }
}

/// Checks VK_KHR_maintenance9: attributes without a source are zeros, queries are created reset,
/// and a device may have no queue.
#[test]
fn maintenance_9() {
    let s = Scene::new();
    let attributes = [vk::VertexInputAttributeDescription2EXT::default()
        .location(0)
        .binding(3)
        .format(vk::Format::R32G32_SFLOAT)
        .offset(4)];
    let binding = vk::VertexInputBindingDescription2EXT::default()
        .binding(3)
        .stride(STRIDE)
        .input_rate(vk::VertexInputRate::VERTEX)
        .divisor(1);
    let drawn = s.halves(|b| {
        // SAFETY: valid usage.
        unsafe {
            s.c.device.cmd_draw(b, 6, 1, 0, 0);
            s.input.cmd_set_vertex_input(b, &[binding], &attributes);
            s.c.device.cmd_draw(b, 3, 1, 0, 0);
        }
    });
    assert_eq!(drawn, [[0; 4], GREEN]);
    // VK_QUERY_POOL_CREATE_RESET_BIT_KHR.
    let info = vk::QueryPoolCreateInfo::default()
        .flags(vk::QueryPoolCreateFlags::from_raw(1))
        .query_type(vk::QueryType::OCCLUSION)
        .query_count(2);
    // SAFETY: valid usage.
    unsafe {
        let pool = s.c.device.create_query_pool(&info, None).unwrap();
        let flags = vk::QueryResultFlags::WITH_AVAILABILITY;
        let mut results = [[7u32; 2]; 2];
        assert_eq!(s.c.device.get_query_pool_results(pool, 0, &mut results, flags), Err(vk::Result::NOT_READY));
        assert_eq!(results.map(|[_, available]| available), [0; 2]);
        s.halves(|b| {
            s.c.device.cmd_begin_query(b, pool, 1, vk::QueryControlFlags::PRECISE);
            s.c.device.cmd_draw(b, 3, 1, 0, 0);
            s.c.device.cmd_end_query(b, pool, 1);
        });
        let mut results = [[7u32; 2]; 1];
        assert_eq!(s.c.device.get_query_pool_results(pool, 1, &mut results, flags), Ok(()));
        assert!(results[0][0] > 1000 && results[0][1] == 1, "{results:?}");
        s.c.device.destroy_query_pool(pool, None);
        let mut transfers = Maintenance9::transfers();
        let mut family = vk::QueueFamilyProperties2 { p_next: (&raw mut transfers).cast(), ..Default::default() };
        s.c.instance.get_physical_device_queue_family_properties2(s.c.physical, std::slice::from_mut(&mut family));
        assert_eq!(transfers.value, 0b111, "of all families");
        let (mut enabled, names) = (Maintenance9::enabled(), [c"VK_KHR_maintenance9".as_ptr()]);
        let info = vk::DeviceCreateInfo::default().enabled_extension_names(&names).push_next(&mut enabled);
        let device = s.c.instance.create_device(s.c.physical, &info, None).expect("a device without queues");
        let module = module_of(&device);
        device.destroy_shader_module(module, None);
        device.destroy_device(None);
    }
    s.destroy();
}

/// Makes a shader module, which a device without queues must support.
fn module_of(device: &ash::Device) -> vk::ShaderModule {
    let words = info::spirv(include_bytes!("../data/triangle.vert.spv"));
    // SAFETY: valid usage.
    unsafe { device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&words), None) }.unwrap()
}

//! Tests of the advanced blend operations: every one with every overlap, premultiplied or not,
//! compared with the specification's tables in double precision.

use crate::common;
use crate::common::{Context, Image, info};
use crate::pipeline::{GENERAL, create};
use ash::vk;
use cts_runner::vk::{PipelineDesc, Target};

/// Number of operations, in the order of their values from VK_BLEND_OP_ZERO_EXT on.
const OPERATIONS: i32 = 46;
const OVERLAPS: [vk::BlendOverlapEXT; 3] =
    [vk::BlendOverlapEXT::UNCORRELATED, vk::BlendOverlapEXT::DISJOINT, vk::BlendOverlapEXT::CONJOINT];
/// Number of sources, which are columns, and of destination colours, which are rows.
const SIDE: u32 = 12;
const FLOAT: vk::Format = vk::Format::R32G32B32A32_SFLOAT;

type Color = [f64; 4];

/// Returns well-formed colours. They are dyadic, so that dividing by alpha is exact.
fn colors(shift: usize) -> Vec<Color> {
    const BASE: [f64; 7] = [0.0, 0.125, 0.25, 0.5, 0.625, 0.75, 1.0];
    let color = |i: usize| {
        let alpha = [1.0, 0.75, 0.375, 0.0][i % 4];
        let base = |c: usize| BASE[(i * (2 + shift) + c * (3 + shift) + shift) % BASE.len()] * alpha;
        [base(0), base(1), base(2), alpha]
    };
    (0..SIDE as usize).map(color).collect()
}

fn operation(number: i32) -> vk::BlendOp {
    vk::BlendOp::from_raw(vk::BlendOp::ZERO_EXT.as_raw() + number)
}

/// Returns f of a component.
fn separable(op: i32, s: f64, d: f64) -> f64 {
    match op {
        1 | 3 | 5 | 9 => s,
        2 | 4 | 6 | 10 => d,
        12 => s * d,
        13 => s + d - s * d,
        14 if d <= 0.5 => 2.0 * s * d,
        19 if s <= 0.5 => 2.0 * s * d,
        14 | 19 => 1.0 - 2.0 * (1.0 - s) * (1.0 - d),
        15 => s.min(d),
        16 => s.max(d),
        20 if s <= 0.5 => d - (1.0 - 2.0 * s) * d * (1.0 - d),
        20 if d <= 0.25 => d + (2.0 * s - 1.0) * d * ((16.0 * d - 12.0) * d + 3.0),
        20 => d + (2.0 * s - 1.0) * (d.sqrt() - d),
        21 => (d - s).abs(),
        22 => s + d - 2.0 * s * d,
        23 => 1.0 - d,
        24 => s * (1.0 - d),
        25 => (s + d).min(1.0),
        26 => (s + d - 1.0).max(0.0),
        27 if s <= 0.0 => 0.0,
        27 if s < 0.5 => 1.0 - ((1.0 - d) / (2.0 * s)).min(1.0),
        27 if s < 1.0 => (d / (2.0 * (1.0 - s))).min(1.0),
        27 => 1.0,
        28 => (2.0 * s + d - 1.0).clamp(0.0, 1.0),
        29 if 2.0 * s - 1.0 > d => {
            if s < 0.5 {
                0.0
            } else {
                2.0 * s - 1.0
            }
        }
        29 => {
            if s < 0.5 * d {
                2.0 * s
            } else {
                d
            }
        }
        30 => {
            if s + d < 1.0 {
                0.0
            } else {
                1.0
            }
        }
        _ => 0.0,
    }
}

fn dodge(s: f64, d: f64) -> f64 {
    if d <= 0.0 {
        0.0
    } else if s < 1.0 {
        (d / (1.0 - s)).min(1.0)
    } else {
        1.0
    }
}

fn burn(s: f64, d: f64) -> f64 {
    if d >= 1.0 {
        1.0
    } else if s > 0.0 {
        1.0 - ((1.0 - d) / s).min(1.0)
    } else {
        0.0
    }
}

type Rgb = [f64; 3];

fn extremes(c: Rgb) -> (f64, f64) {
    (c[0].min(c[1]).min(c[2]), c[0].max(c[1]).max(c[2]))
}

fn lum(c: Rgb) -> f64 {
    0.30 * c[0] + 0.59 * c[1] + 0.11 * c[2]
}

fn set_lum(base: Rgb, of: Rgb) -> Rgb {
    let mut color = base.map(|c| c + lum(of) - lum(base));
    let (l, (least, most)) = (lum(color), extremes(color));
    if least < 0.0 {
        color = color.map(|c| l + (c - l) * l / (l - least));
    }
    if most > 1.0 {
        color = color.map(|c| l + (c - l) * (1.0 - l) / (most - l));
    }
    color
}

fn set_lum_sat(base: Rgb, sat: Rgb, of: Rgb) -> Rgb {
    let ((least, most), (low, high)) = (extremes(base), extremes(sat));
    let scaled = |c: f64| if most > least { (c - least) * (high - low) / (most - least) } else { 0.0 };
    set_lum(base.map(scaled), of)
}

fn f(op: i32, s: Rgb, d: Rgb) -> Rgb {
    let each = |f: &dyn Fn(f64, f64) -> f64| [f(s[0], d[0]), f(s[1], d[1]), f(s[2], d[2])];
    match op {
        17 => each(&dodge),
        18 => each(&burn),
        31 => set_lum_sat(s, d, d),
        32 => set_lum_sat(d, s, d),
        33 => set_lum(s, d),
        34 => set_lum(d, s),
        _ => each(&|s, d| separable(op, s, d)),
    }
}

/// Returns X, Y, Z of an operation.
fn terms(op: i32) -> Rgb {
    match op {
        0 => [0.0, 0.0, 0.0],
        1 | 10 => [1.0, 1.0, 0.0],
        2 | 9 | 23 | 24 => [1.0, 0.0, 1.0],
        5 | 6 => [1.0, 0.0, 0.0],
        7 => [0.0, 1.0, 0.0],
        8 => [0.0, 0.0, 1.0],
        11 => [0.0, 1.0, 1.0],
        _ => [1.0, 1.0, 1.0],
    }
}

fn additional(op: i32, s: Color, d: Color) -> Color {
    let ([_, _, _, sa], [_, _, _, da]) = (s, d);
    let rgb = |f: &dyn Fn(f64, f64) -> f64, a: f64| [f(s[0], d[0]), f(s[1], d[1]), f(s[2], d[2]), a];
    let sum = (sa + da).min(1.0);
    match op {
        35 => rgb(&|s, d| s + d, sa + da),
        36 => rgb(&|s, d| (s + d).min(1.0), sum),
        37 => rgb(&|s, d| (s + d).min(sum), sum),
        38 => rgb(&|s, d| (sum - ((sa - s) + (da - d))).max(0.0), sum),
        39 => rgb(&|s, d| d - s, da - sa),
        40 => rgb(&|s, d| (d - s).max(0.0), (da - sa).max(0.0)),
        41 => rgb(&|s, d| da / 2.0 + 2.0 * (d - da / 2.0) * (s - sa / 2.0), da),
        42 => rgb(&|_, d| sa * (1.0 - d) + (1.0 - sa) * d, sa + da - sa * da),
        43 => [s[0], d[1], d[2], da],
        44 => [d[0], s[1], d[2], da],
        _ => [d[0], d[1], s[2], da],
    }
}

/// Parameters of an advanced blend operation.
#[derive(Clone, Copy, Debug)]
struct Mode {
    op: i32,
    overlap: vk::BlendOverlapEXT,
    src_premultiplied: bool,
    dst_premultiplied: bool,
    clamp: bool,
}

impl Mode {
    fn all() -> Vec<Mode> {
        let mode = |i: i32| Mode {
            op: i / 12,
            overlap: OVERLAPS[i as usize % 3],
            src_premultiplied: i / 3 % 2 == 0,
            dst_premultiplied: i / 6 % 2 == 0,
            clamp: i % 5 == 0,
        };
        (0..12 * OPERATIONS).map(mode).collect()
    }

    fn vulkan(&self) -> vk::ColorBlendAdvancedEXT {
        vk::ColorBlendAdvancedEXT {
            advanced_blend_op: operation(self.op),
            src_premultiplied: self.src_premultiplied.into(),
            dst_premultiplied: self.dst_premultiplied.into(),
            blend_overlap: self.overlap,
            clamp_results: self.clamp.into(),
        }
    }

    /// Returns the blended colour; `None` if it is ill-formed.
    fn blend(&self, s: Color, d: Color) -> Option<Color> {
        let base = |premultiplied: bool, [r, g, b, a]: Color| -> Rgb {
            [r, g, b].map(|c| {
                if !premultiplied {
                    c
                } else if a == 0.0 {
                    0.0
                } else {
                    c / a
                }
            })
        };
        let (sa, da) = (s[3], d[3]);
        let result = if self.op < 35 {
            let p = match self.overlap {
                vk::BlendOverlapEXT::UNCORRELATED => [sa * da, sa * (1.0 - da), da * (1.0 - sa)],
                vk::BlendOverlapEXT::CONJOINT => [sa.min(da), (sa - da).max(0.0), (da - sa).max(0.0)],
                _ => [(sa + da - 1.0).max(0.0), sa.min(1.0 - da), da.min(1.0 - sa)],
            };
            let (s, d) = (base(self.src_premultiplied, s), base(self.dst_premultiplied, d));
            let ([x, y, z], f) = (terms(self.op), f(self.op, s, d));
            let component = |c: usize| f[c] * p[0] + y * s[c] * p[1] + z * d[c] * p[2];
            [component(0), component(1), component(2), x * p[0] + y * p[1] + z * p[2]]
        } else {
            let whole = |premultiplied: bool, [r, g, b, a]: Color| {
                if premultiplied { [r, g, b, a] } else { [r * a, g * a, b * a, a] }
            };
            additional(self.op, whole(self.src_premultiplied, s), whole(self.dst_premultiplied, d))
        };
        let [r, g, b, a] = result;
        if a < 0.0 || a == 0.0 && [r, g, b] != [0.0; 3] {
            return None;
        }
        let result = if self.dst_premultiplied || a == 0.0 { result } else { [r / a, g / a, b / a, a] };
        Some(if self.clamp { result.map(|c| c.clamp(0.0, 1.0)) } else { result })
    }
}

fn context() -> Context {
    let mut rendering = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
    let mut state3 = vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT::default()
        .extended_dynamic_state3_color_blend_advanced(true)
        .extended_dynamic_state3_color_blend_equation(true);
    let mut blend =
        vk::PhysicalDeviceBlendOperationAdvancedFeaturesEXT::default().advanced_blend_coherent_operations(true);
    let features = vk::PhysicalDeviceFeatures::default().independent_blend(true);
    let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
    Context::with(
        &[],
        &[c"VK_EXT_extended_dynamic_state3", c"VK_EXT_blend_operation_advanced"],
        &mut [&mut features, &mut rendering, &mut state3, &mut blend],
    )
}

/// Makes a pipeline that draws columns of the sources over two attachments, which use `modes`: as
/// dynamic state, or with the pipeline.
fn pipeline(c: &Context, layout: vk::PipelineLayout, format: vk::Format, modes: Option<[Mode; 2]>) -> vk::Pipeline {
    use vk::ShaderStageFlags as S;
    let code = [(S::VERTEX, shader!("triangle.vert")), (S::FRAGMENT, shader!("two_targets.frag"))];
    let code = code.each_ref().map(|(stage, words)| (*stage, &words[..]));
    let attribute =
        |location, format, offset| vk::VertexInputAttributeDescription { location, binding: 0, format, offset };
    let attachment = |op: vk::BlendOp| {
        vk::PipelineColorBlendAttachmentState::default()
            .blend_enable(true)
            .color_blend_op(op)
            .alpha_blend_op(op)
            .color_write_mask(vk::ColorComponentFlags::RGBA)
    };
    let ops = modes.map_or([vk::BlendOp::ADD; 2], |modes| modes.map(|mode| operation(mode.op)));
    let advanced = modes.map(|[mode, _]| {
        vk::PipelineColorBlendAdvancedStateCreateInfoEXT::default()
            .src_premultiplied(mode.src_premultiplied)
            .dst_premultiplied(mode.dst_premultiplied)
            .blend_overlap(mode.overlap)
    });
    let formats = [format; 2];
    let desc = PipelineDesc {
        bindings: &[vk::VertexInputBindingDescription::default().stride(24)],
        attributes: &[attribute(0, vk::Format::R32G32_SFLOAT, 0), attribute(1, FLOAT, 8)],
        viewports: &[info::viewport(SIDE)],
        scissors: &[info::area(SIDE)],
        blend: &ops.map(attachment),
        blending: advanced.as_ref().map(|advanced| advanced as _),
        dynamic: if modes.is_none() { &[vk::DynamicState::COLOR_BLEND_ADVANCED_EXT] } else { &[] },
        ..PipelineDesc::new(&[], layout, Target::Formats(&formats))
    };
    create(c, &code, desc).expect("pipeline")
}

/// Returns the sources as columns of two triangles each.
fn columns(sources: &[Color]) -> Vec<u32> {
    let mut words = Vec::new();
    for (i, color) in sources.iter().enumerate() {
        let x = |i: usize| 2.0 * i as f32 / SIDE as f32 - 1.0;
        let (left, right) = (x(i), x(i + 1));
        for [x, y] in [[left, -1.0], [right, -1.0], [left, 1.0], [left, 1.0], [right, -1.0], [right, 1.0]] {
            words.extend([x, y].map(f32::to_bits));
            words.extend(color.map(|c| (c as f32).to_bits()));
        }
    }
    words
}

/// Draws the sources over rows of `texels` (those of one attachment) once for each number below
/// `draws`, and returns both attachments' texels of all draws.
fn blended(
    c: &Context,
    targets: &[Image; 2],
    sources: &[Color],
    texels: &[u8],
    draws: usize,
    before: impl Fn(vk::CommandBuffer, usize),
) -> Vec<u8> {
    let (words, d) = (columns(sources), &c.device);
    let mut vertices = c.buffer(4 * words.len() as u64);
    vertices.fill_words(|i| words[i as usize]);
    let mut there = c.buffer(texels.len() as u64);
    there.bytes_mut().copy_from_slice(texels);
    let result = c.buffer((2 * draws * texels.len()) as u64);
    let attachments = [0, 1].map(|i: usize| {
        vk::RenderingAttachmentInfo::default()
            .image_view(targets[i].view)
            .image_layout(GENERAL)
            .load_op(vk::AttachmentLoadOp::LOAD)
            .store_op(vk::AttachmentStoreOp::STORE)
    });
    let rendering =
        vk::RenderingInfo::default().render_area(info::area(SIDE)).layer_count(1).color_attachments(&attachments);
    let done = c.run(|b| {
        // SAFETY: valid usage.
        unsafe { d.cmd_bind_vertex_buffers(b, 0, &[vertices.buffer], &[0]) };
        for number in 0..draws {
            for target in targets {
                let region = common::region(target);
                // SAFETY: valid usage.
                unsafe { d.cmd_copy_buffer_to_image(b, there.buffer, target.image, GENERAL, &[region]) };
            }
            before(b, number);
            // SAFETY: valid usage.
            unsafe {
                d.cmd_begin_rendering(b, &rendering);
                d.cmd_draw(b, 6 * SIDE, 1, 0, 0);
                d.cmd_end_rendering(b);
            }
            for (i, target) in targets.iter().enumerate() {
                let region = common::region(target).buffer_offset(((2 * number + i) * texels.len()) as u64);
                // SAFETY: valid usage.
                unsafe { d.cmd_copy_image_to_buffer(b, target.image, GENERAL, result.buffer, &[region]) };
            }
        }
    });
    assert_eq!(done, Ok(()));
    let bytes = result.bytes().to_vec();
    [vertices, there, result].into_iter().for_each(|buffer| c.free(buffer));
    bytes
}

/// Compares an attachment's colours with the results of a mode for the sources and rows.
fn compare(mode: &Mode, got: &[Color], (sources, rows): (&[Color], &[Color]), unorm: bool) -> usize {
    let mut compared = 0;
    for (i, got) in got.iter().enumerate() {
        let (s, d) = (sources[i % SIDE as usize], rows[i / SIDE as usize]);
        let Some(mut want) = mode.blend(s, d) else { continue };
        if unorm {
            want = want.map(|c| c.clamp(0.0, 1.0));
        }
        let near = if unorm { 0.5 / 255.0 + 1e-4 } else { 1e-5 };
        let close = (0..4).all(|c| (got[c] - want[c]).abs() <= near * want[c].abs().max(1.0));
        assert!(close, "{mode:?} {s:?} over {d:?}: {got:?}, not {want:?}");
        compared += 1;
    }
    compared
}

#[test]
fn every_operation_as_dynamic_state() {
    let c = context();
    let state3 = ash::ext::extended_dynamic_state3::Device::new(&c.instance, &c.device);
    // SAFETY: valid usage.
    let layout = unsafe { c.device.create_pipeline_layout(&Default::default(), None) }.expect("layout");
    let pipeline = pipeline(&c, layout, FLOAT, None);
    let targets = [0, 1].map(|_| c.image(FLOAT, [SIDE; 2], vk::SampleCountFlags::TYPE_1, 1));
    let (sources, rows, modes) = (colors(0), colors(1), Mode::all());
    let texels: Vec<u8> = rows
        .iter()
        .flat_map(|row| [*row; SIDE as usize])
        .flatten()
        .flat_map(|component| (component as f32).to_le_bytes())
        .collect();
    // The second attachment uses another operation.
    let second = |i: usize| &modes[(i + 5 * 12 + 7) % modes.len()];
    // SAFETY: valid usage.
    let bytes = blended(&c, &targets, &sources, &texels, modes.len(), |b, i| unsafe {
        c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
        state3.cmd_set_color_blend_advanced(b, 0, &[modes[i].vulkan(), second(i).vulkan()]);
    });
    let components = bytes.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)));
    let got: Vec<Color> = components.collect::<Vec<_>>().as_chunks::<4>().0.to_vec();
    let mut compared = 0;
    for (i, both) in got.chunks(2 * (SIDE * SIDE) as usize).enumerate() {
        let (one, two) = both.split_at((SIDE * SIDE) as usize);
        compared += compare(&modes[i], one, (&sources, &rows), false);
        compared += compare(second(i), two, (&sources, &rows), false);
    }
    assert!(compared > got.len() * 9 / 10, "{compared} of {}", got.len());
    targets.into_iter().for_each(|target| c.free_image(target));
    // SAFETY: valid usage.
    unsafe {
        c.device.destroy_pipeline(pipeline, None);
        c.device.destroy_pipeline_layout(layout, None);
    }
}

#[test]
fn every_operation_of_pipelines_over_bytes() {
    let c = context();
    // SAFETY: valid usage.
    let layout = unsafe { c.device.create_pipeline_layout(&Default::default(), None) }.expect("layout");
    let targets = [0, 1].map(|_| c.image(info::RGBA8, [SIDE; 2], vk::SampleCountFlags::TYPE_1, 1));
    let byte = |component: f64| (component * 255.0).round() as u8;
    let rows: Vec<[u8; 4]> = colors(1).iter().map(|row| row.map(byte)).collect();
    let texels: Vec<u8> = rows.iter().flat_map(|row| [*row; SIDE as usize]).flatten().collect();
    let rows: Vec<Color> = rows.iter().map(|row| row.map(|byte| f64::from(byte) / 255.0)).collect();
    // The sources are only slightly premultiplied, because the quotient of bytes by alpha depends
    // on single steps.
    let sources = colors(0);
    let modes = |op: i32| {
        let overlap = OVERLAPS[op as usize % 3];
        let mode = Mode { op, overlap, src_premultiplied: op % 2 == 0, dst_premultiplied: op % 3 == 0, clamp: false };
        [mode, Mode { op: (op + 17) % OPERATIONS, ..mode }]
    };
    let pipelines: Vec<_> = (0..OPERATIONS).map(|op| pipeline(&c, layout, info::RGBA8, Some(modes(op)))).collect();
    // SAFETY: valid usage.
    let bytes = blended(&c, &targets, &sources, &texels, pipelines.len(), |b, i| unsafe {
        c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipelines[i]);
    });
    let got: Vec<Color> =
        bytes.as_chunks::<4>().0.iter().map(|texel| texel.map(|byte| f64::from(byte) / 255.0)).collect();
    let mut compared = 0;
    for (i, got) in got.chunks((SIDE * SIDE) as usize).enumerate() {
        let mode = &modes(i as i32 / 2)[i % 2];
        // A sum close to 1 depends on the format's precision.
        if mode.op != 30 {
            compared += compare(mode, got, (&sources, &rows), true);
        }
    }
    assert!(compared > got.len() * 8 / 10, "{compared} of {}", got.len());
    targets.into_iter().for_each(|target| c.free_image(target));
    // SAFETY: valid usage.
    unsafe {
        pipelines.into_iter().for_each(|pipeline| c.device.destroy_pipeline(pipeline, None));
        c.device.destroy_pipeline_layout(layout, None);
    }
}

//! Tests that the application's floating-point environment affects no result.
//!
//! Flush-to-zero, rounding modes and unmasked exceptions on the calling thread, from the creation
//! of the instance on, change no bit; and each call leaves them unchanged.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
use ash::vk;
use base::fp;
use common::{Context, layers, range, region, spirv};
use core::ffi::c_void;
use pipeline::{AREA, GENERAL, RGBA8, Set, compute, graphics, render, render_context};
use std::sync::Mutex;

/// Names and control bits of the tested environments.
#[cfg(target_arch = "aarch64")]
const HOSTILE: [(&str, fp::Control); 6] = [
    ("flush to zero", 1 << 24),
    ("one NaN", 1 << 25),
    ("round up", 1 << 22),
    ("round down", 2 << 22),
    ("round to zero", 3 << 22),
    ("alternative halves, flush to zero, round up, one NaN", 7 << 24 | 1 << 22),
];

/// Names and control bits of the tested environments.
#[cfg(target_arch = "x86_64")]
const HOSTILE: [(&str, fp::Control); 7] = [
    ("flush to zero, denormals are zero", fp::DEFAULT | 0x8040),
    ("round down", fp::DEFAULT | 0x2000),
    ("round up", fp::DEFAULT | 0x4000),
    ("round to zero", fp::DEFAULT | 0x6000),
    ("all exceptions unmasked", 0),
    ("division by zero, invalid and overflow unmasked", fp::DEFAULT & !0x680),
    ("flush to zero, round up, all exceptions unmasked", 0x8040 | 0x4000),
];

/// The environment under test, which no step may change.
struct Caller(fp::Control);

impl Caller {
    fn check(&self, after: &str) {
        let now = fp::control() & !fp::FLAGS;
        if now != self.0 {
            fp::set_control(fp::DEFAULT);
            panic!("{after} left {now:#x} instead of {:#x}", self.0);
        }
    }
}

/// Control bits that callbacks saw.
static SEEN: Mutex<Vec<fp::Control>> = Mutex::new(Vec::new());

unsafe extern "system" fn callback(
    _: vk::DebugUtilsMessageSeverityFlagsEXT,
    _: vk::DebugUtilsMessageTypeFlagsEXT,
    _: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    _: *mut c_void,
) -> vk::Bool32 {
    SEEN.lock().expect("no panic").push(fp::control() & !fp::FLAGS);
    vk::FALSE
}

/// Returns the results of everything that computes, under the given environment. The test itself
/// has no float arithmetic.
fn suite(caller: &Caller) -> Vec<(&'static str, Vec<u8>)> {
    let c = render_context(&[c"VK_EXT_debug_utils"], false);
    caller.check("creation");
    let mut results = vec![("compute", programs(&c, caller)), ("formats", formats(&c, caller))];
    results.push(("drawing", drawing(&c, caller)));
    results.push(("callbacks", callbacks(&c, caller)));
    drop(c);
    caller.check("destruction");
    results
}

fn programs(c: &Context, caller: &Caller) -> Vec<u8> {
    let set = Set::new(c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
    let mut data = c.buffer(64 * 16 * 4);
    // Floats of all sizes, including denormals.
    data.fill_words(|i| i.wrapping_mul(0x9e37_79b9) & 0xbfff_ffff);
    set.buffers(c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(data.buffer, 0, vk::WHOLE_SIZE)]);
    caller.check("updating descriptors");
    let words = spirv(include_bytes!("data/environment.comp.spv"));
    let tiny = 0x00a3_5a3au32;
    let pipeline = compute(c, vk::PipelineCache::null(), set.layout, &words, &[tiny, 0x4040_0001, 7]);
    caller.check("creating a compute pipeline");
    pipeline::run(c, &set, pipeline, &[]).expect("dispatch");
    caller.check("a dispatch");
    data.bytes().to_vec()
}

/// Returns the results of clears with float colours, blits with filters and conversions, and copies
/// of them.
fn formats(c: &Context, caller: &Caller) -> Vec<u8> {
    let d = &c.device;
    let formats = [
        (RGBA8, 4),
        (vk::Format::R8G8B8A8_SRGB, 4),
        (vk::Format::A2B10G10R10_UNORM_PACK32, 4),
        (vk::Format::B10G11R11_UFLOAT_PACK32, 4),
        (vk::Format::R16G16B16A16_SFLOAT, 8),
        (vk::Format::R32G32B32A32_SFLOAT, 16),
    ];
    let mut bytes = Vec::new();
    let mut source = c.buffer(16 * 16 * 4);
    source.fill_words(|i| i.wrapping_mul(0x9e37_79b9));
    let from = c.image(RGBA8, [16, 16], vk::SampleCountFlags::TYPE_1, 1);
    for (format, texel) in formats {
        let image = c.image(format, [11, 13], vk::SampleCountFlags::TYPE_1, 1);
        let color = vk::ClearColorValue { float32: [0.3, 0.7, 1.3, 1e-7] };
        let corners = |x, y| [vk::Offset3D::default(), vk::Offset3D { x, y, z: 1 }];
        let blit = vk::ImageBlit {
            src_subresource: layers(from.aspect, 0),
            src_offsets: corners(16, 16),
            dst_subresource: layers(image.aspect, 0),
            dst_offsets: corners(11, 13),
        };
        for blits in [false, true] {
            // SAFETY: valid usage.
            c.run(|b| unsafe {
                d.cmd_clear_color_image(b, image.image, GENERAL, &color, &[range(image.aspect, 1)]);
                if blits {
                    d.cmd_copy_buffer_to_image(b, source.buffer, from.image, GENERAL, &[region(&from)]);
                    let filter = vk::Filter::LINEAR;
                    d.cmd_blit_image(b, from.image, GENERAL, image.image, GENERAL, &[blit], filter);
                }
            })
            .expect("clear and blit");
            bytes.extend(c.read_image(&image, texel));
            caller.check("a clear or blit");
        }
    }
    let depth = c.image(vk::Format::D16_UNORM, [8, 8], vk::SampleCountFlags::TYPE_1, 1);
    let value = vk::ClearDepthStencilValue { depth: 0.3, stencil: 0 };
    // SAFETY: valid usage.
    c.run(|b| unsafe {
        d.cmd_clear_depth_stencil_image(b, depth.image, GENERAL, &value, &[range(depth.aspect, 1)]);
    })
    .expect("clear");
    bytes.extend(c.read_image(&depth, 2));
    caller.check("a depth clear");
    bytes
}

fn drawing(c: &Context, caller: &Caller) -> Vec<u8> {
    let d = &c.device;
    let set = Set::new(c, &[(vk::DescriptorType::COMBINED_IMAGE_SAMPLER, 1)]);
    let mut source = c.buffer(16 * 16 * 4);
    source.fill_words(|i| i.wrapping_mul(0x9e37_79b9));
    let texture = c.image(RGBA8, [16, 16], vk::SampleCountFlags::TYPE_1, 1);
    // SAFETY: valid usage.
    c.run(|b| unsafe { d.cmd_copy_buffer_to_image(b, source.buffer, texture.image, GENERAL, &[region(&texture)]) })
        .expect("upload");
    let info = vk::SamplerCreateInfo::default()
        .mag_filter(vk::Filter::LINEAR)
        .min_filter(vk::Filter::LINEAR)
        .mip_lod_bias(0.3)
        .max_lod(0.7);
    // SAFETY: valid usage.
    let sampler = unsafe { d.create_sampler(&info, None) }.expect("sampler");
    set.images(c, 0, vk::DescriptorType::COMBINED_IMAGE_SAMPLER, &[(texture.view, sampler)]);
    let vertex = spirv(include_bytes!("data/environment.vert.spv"));
    let colors = graphics(c, &vertex, &spirv(include_bytes!("data/triangle.frag.spv")), set.layout, false);
    let textured = graphics(c, &vertex, &spirv(include_bytes!("data/texture.frag.spv")), set.layout, false);
    caller.check("creating graphics pipelines");
    let target = c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    let mut bytes = Vec::new();
    for pipeline in [colors, textured] {
        render(c, &target, AREA, |b| {
            let point = vk::PipelineBindPoint::GRAPHICS;
            let clear = vk::ClearAttachment {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                color_attachment: 0,
                clear_value: vk::ClearValue { color: vk::ClearColorValue { float32: [0.1, 0.3, 0.7, 1.0] } },
            };
            let rect = vk::ClearRect { rect: AREA, base_array_layer: 0, layer_count: 1 };
            // SAFETY: valid usage.
            unsafe {
                d.cmd_clear_attachments(b, &[clear], &[rect]);
                d.cmd_bind_descriptor_sets(b, point, set.layout, 0, &[set.set], &[]);
                d.cmd_bind_pipeline(b, point, pipeline);
                d.cmd_set_blend_constants(b, &[0.1, 0.2, 0.3, 0.4]);
                d.cmd_set_depth_bias(b, 0.1, 0.2, 0.3);
                d.cmd_draw(b, 3, 1, 0, 0);
            }
            caller.check("recording");
        })
        .expect("draw");
        bytes.extend(c.read_image(&target, 4));
        caller.check("a draw");
    }
    // SAFETY: the sampler is not in use any more.
    unsafe { d.destroy_sampler(sampler, None) };
    bytes
}

/// Returns one byte that says whether a callback of the application ran in the application's
/// environment.
fn callbacks(c: &Context, caller: &Caller) -> Vec<u8> {
    let functions = ash::ext::debug_utils::Instance::new(&c.entry, &c.instance);
    let severity = vk::DebugUtilsMessageSeverityFlagsEXT::ERROR;
    let ty = vk::DebugUtilsMessageTypeFlagsEXT::GENERAL;
    let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(severity)
        .message_type(ty)
        .pfn_user_callback(Some(callback));
    let data = vk::DebugUtilsMessengerCallbackDataEXT::default().message(c"hello");
    // SAFETY: valid usage.
    unsafe {
        let messenger = functions.create_debug_utils_messenger(&info, None).expect("messenger");
        functions.submit_debug_utils_message(severity, ty, &data);
        functions.destroy_debug_utils_messenger(messenger, None);
    }
    caller.check("a callback");
    let seen = std::mem::take(&mut *SEEN.lock().expect("no panic"));
    vec![u8::from(seen == [caller.0]), 0]
}

#[test]
fn hostile_environments_change_nothing() {
    fp::set_control(fp::DEFAULT);
    let expected = suite(&Caller(fp::DEFAULT));
    for (name, bytes) in &expected {
        assert!(bytes.iter().any(|b| *b != bytes[0]), "{name} gives something");
    }
    for (environment, control) in HOSTILE {
        fp::set_control(control);
        let results = suite(&Caller(control));
        fp::set_control(fp::DEFAULT);
        for ((name, expected), (_, bytes)) in expected.iter().zip(&results) {
            let different = expected.iter().zip(bytes).filter(|(a, b)| a != b).count();
            assert_eq!((bytes.len(), different), (expected.len(), 0), "{name} with {environment}");
        }
    }
}

//! Tests of float arithmetic with the options of applications: atomics, rounding modes, denormals,
//! signs of zeros; and of 64-bit integers in images.

use crate::common::{Context, Image, range, spirv};
use crate::pipeline::{GENERAL, Set, compute, run};
use ash::vk;

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const IMAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_IMAGE;

/// Runs a shader on eight pairs of floats and returns the six words that it gives for each.
fn words_of_pairs(c: &Context, code: &[u32], pairs: [[f32; 2]; 8]) -> Vec<[u32; 6]> {
    let set = Set::new(c, &[(STORAGE, 1), (STORAGE, 1)]);
    let (mut input, output) = (c.buffer(64), c.buffer(192));
    input.fill_words(|i| pairs[i as usize / 2][i as usize % 2].to_bits());
    set.buffers(c, 0, STORAGE, &[(input.buffer, 0, 64)]);
    set.buffers(c, 1, STORAGE, &[(output.buffer, 0, 192)]);
    let pipeline = compute(c, vk::PipelineCache::null(), set.layout, code, &[]);
    run(c, &set, pipeline, &[]).expect("run");
    let words = output.words();
    set.destroy(c);
    c.free(input);
    c.free(output);
    words.chunks_exact(6).map(|w| w.try_into().expect("six words")).collect()
}

#[test]
fn fast_math_is_what_is_allowed() {
    let mut feature = vk::PhysicalDeviceShaderFloatControls2FeaturesKHR::default().shader_float_controls2(true);
    let c = Context::with(&[], &[c"VK_KHR_shader_float_controls2"], &mut [&mut feature]);
    let code = spirv(include_bytes!("../data/fast_math.comp.spv"));
    let near = 1.0 + 1.0 / 4096.0;
    let pairs = [
        [0.0, -0.0],
        [-0.0, 0.0],
        [-1.0, 3.0],
        [near, near],
        [f32::NAN, 2.0],
        [-2.5, 0.5],
        [-0.0, -0.0],
        [1e-40, -0.0],
    ];
    let words = words_of_pairs(&c, &code, pairs);
    let bits = |x: f32| x.to_bits();
    for (word, [a, b]) in words.iter().zip(pairs) {
        let zeros = a == 0.0 && b == 0.0;
        let least = if zeros { -0.0 } else { a.min(b) };
        let most = if zeros && (a.is_sign_positive() || b.is_sign_positive()) { 0.0 } else { a.max(b) };
        assert_eq!(word[..2], [bits(least), bits(most)], "{a} {b}");
        if !a.is_nan() {
            assert_eq!(word[3], bits(a.fract().copysign(a)), "{a}");
            assert_eq!(word[4], bits(a * b - 1.0), "{a} {b}");
        }
    }
    assert_eq!(words[0][2] << 1, 0, "either zero");
    // A fused operation keeps the bits that the product's rounding loses.
    assert_eq!(words[3][5], bits(near.mul_add(near, -1.0)));
    assert_ne!(words[3][5], words[3][4]);
}

#[test]
fn modes_hold_for_their_width() {
    let c = Context::new(&[], &[]);
    let code = spirv(include_bytes!("../data/float_modes.comp.spv"));
    let least = f32::MIN_POSITIVE;
    let pairs = [
        [1.0, -1e-30],
        [f32::MAX, f32::MAX],
        [2.0, 3.0],
        [least, 0.75],
        [1e-40, 1e-40],
        [-1.0, 1e-20],
        [1.0 + f32::EPSILON, 1.0 + f32::EPSILON],
        [65519.0, -3.0],
    ];
    let words = words_of_pairs(&c, &code, pairs);
    let f = |i: usize, n: usize| f32::from_bits(words[i][n]);
    let double = |i: usize| f64::from_bits(u64::from(words[i][4]) | u64::from(words[i][5]) << 32);
    let below = |x: f32| f32::from_bits(x.to_bits() - 1);
    assert_eq!((f(0, 0), f(1, 0), f(5, 0)), (below(1.0), f32::MAX, below(-1.0)), "sums");
    assert_eq!((f(1, 1), f(3, 1), f(4, 1)), (f32::MAX, 0.0, 0.0), "products");
    assert_eq!(f(6, 1), 1.0 + 2.0 * f32::EPSILON);
    assert_eq!((f(2, 2), f(7, 2)), (0.666_666_6, below(-21839.668)), "quotients");
    assert_eq!((f(4, 0).to_bits(), f(3, 0)), (0, 0.75));
    // Halves are truncated too; 65519 would round up beyond the largest half.
    assert_eq!((f(7, 3), f(0, 3)), (65504.0, 1.0));
    // The operands have no denormals; binary64 is unaffected.
    assert_eq!((double(0), double(4), double(2)), (1.0 + f64::from(-1e-30f32), 0.0, 5.0));
}

/// Makes a cleared image that can be stored to.
fn image(c: &Context, format: vk::Format) -> Image {
    let image = c.image(format, [4, 4], vk::SampleCountFlags::TYPE_1, 1);
    let range = range(vk::ImageAspectFlags::COLOR, 1);
    let barrier = vk::ImageMemoryBarrier::default()
        .image(image.image)
        .subresource_range(range)
        .old_layout(vk::ImageLayout::UNDEFINED)
        .new_layout(GENERAL)
        .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE);
    let color = vk::ClearColorValue { uint32: [0; 4] };
    let (all, none) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::DependencyFlags::empty());
    // SAFETY: valid usage.
    c.run(|b| unsafe {
        c.device.cmd_pipeline_barrier(b, all, all, none, &[], &[], &[barrier]);
        c.device.cmd_clear_color_image(b, image.image, GENERAL, &color, &[range]);
    })
    .expect("run");
    image
}

#[test]
fn atomics_of_floats_and_of_long_texels() {
    let mut add = vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT::default()
        .shader_buffer_float32_atomics(true)
        .shader_buffer_float32_atomic_add(true)
        .shader_buffer_float64_atomic_add(true)
        .shader_shared_float32_atomic_add(true)
        .shader_image_float32_atomic_add(true);
    let mut more = vk::PhysicalDeviceShaderAtomicFloat2FeaturesEXT::default()
        .shader_buffer_float16_atomic_add(true)
        .shader_buffer_float16_atomic_min_max(true)
        .shader_buffer_float32_atomic_min_max(true);
    let mut long = vk::PhysicalDeviceShaderImageAtomicInt64FeaturesEXT::default().shader_image_int64_atomics(true);
    let extensions =
        [c"VK_EXT_shader_atomic_float", c"VK_EXT_shader_atomic_float2", c"VK_EXT_shader_image_atomic_int64"];
    let c = Context::with(&[], &extensions, &mut [&mut add, &mut more, &mut long]);
    let set = Set::new(&c, &[(STORAGE, 1), (IMAGE, 1), (IMAGE, 1), (STORAGE, 1)]);
    let (mut sums, result) = (c.buffer(32), c.buffer(24));
    sums.fill_words(|_| 0);
    let (floats, longs) = (image(&c, vk::Format::R32_SFLOAT), image(&c, vk::Format::R64_UINT));
    set.buffers(&c, 0, STORAGE, &[(sums.buffer, 0, 32)]);
    set.images(&c, 1, IMAGE, &[(floats.view, vk::Sampler::null())]);
    set.images(&c, 2, IMAGE, &[(longs.view, vk::Sampler::null())]);
    set.buffers(&c, 3, STORAGE, &[(result.buffer, 0, 24)]);
    let code = spirv(include_bytes!("../data/float_atomics.comp.spv"));
    let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &code, &[]);
    run(&c, &set, pipeline, &[]).expect("run");
    let bytes = sums.bytes();
    let float = |at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let double = f64::from_le_bytes(bytes[16..24].try_into().expect("8 bytes"));
    assert_eq!([0, 4, 8, 12].map(float), [2016.0, -63.0, 15.75, 7.5]);
    assert_eq!(double, 252.0);
    // 64 and -63 in binary16.
    assert_eq!(bytes[24..28], [0x00, 0x54, 0xe0, 0xd3]);
    let bytes = result.bytes();
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    assert_eq!((long(0), long(8)), (63 << 33, 0x1122_3344_5566_7788 + 5 + 64 * 0x1_0000_0001));
    let words = result.words();
    assert_eq!([words[4], words[5]].map(f32::from_bits), [32.0, 1024.0]);
    // The texels in memory order: a copy moves all 64 bits.
    let texels = c.read_image(&longs, 8);
    assert_eq!(texels[..8], 0x1122_3344_5566_7788u64.to_le_bytes());
    assert_eq!(texels[8 * (2 * 4 + 1)..][..8], 5u64.to_le_bytes());
    set.destroy(&c);
    for buffer in [sums, result] {
        c.free(buffer);
    }
    c.free_image(floats);
    c.free_image(longs);
}

#[test]
fn atomics_of_vectors_of_halves() {
    let c = Context::new(&[], &[c"VK_NV_shader_atomic_float16_vector"]);
    let set = Set::new(&c, &[(STORAGE, 1), (IMAGE, 1), (IMAGE, 1), (STORAGE, 1)]);
    let (mut sums, result) = (c.buffer(32), c.buffer(28));
    sums.fill_words(|_| 0);
    let (two, four) = (image(&c, vk::Format::R16G16_SFLOAT), image(&c, vk::Format::R16G16B16A16_SFLOAT));
    set.buffers(&c, 0, STORAGE, &[(sums.buffer, 0, 32)]);
    set.images(&c, 1, IMAGE, &[(two.view, vk::Sampler::null())]);
    set.images(&c, 2, IMAGE, &[(four.view, vk::Sampler::null())]);
    set.buffers(&c, 3, STORAGE, &[(result.buffer, 0, 28)]);
    let code = spirv(include_bytes!("../data/half_vectors.comp.spv"));
    let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &code, &[]);
    run(&c, &set, pipeline, &[]).expect("run");
    let halves =
        |bytes: &[u8]| -> Vec<u16> { bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect() };
    // These and all numbers below are in binary16.
    let [one, second, third, fourth] = [0x3c00, 0x4000, 0x4200, 0x4400];
    let minus = |x: u16| x | 0x8000;
    let after = halves(sums.bytes());
    assert_eq!(after[..3], [0, 0x67e0, minus(0x5000)], "before, sums");
    assert_eq!(after[3..7], [minus(0x53e0), 0, 0, minus(one)], "least");
    assert_eq!(after[7..11], [0, 0x53e0, one, 0], "most");
    assert_eq!(after[11..14], [0x4780, 0x8000, 0], "last, after");
    let out = halves(result.bytes());
    assert_eq!(out[..4], [0x5000, 0x5400, minus(0x5400), 0x5800], "32, 64, -64, 128");
    // Results of the odd invocations: 32 times 1, 2 and 0.25, and -1024.
    assert_eq!(out[4..8], [0x5000, 0x5400, 0x4800, minus(0x6400)]);
    assert_eq!((out[8], out[9], out[10]), (0, 0, 64));
    let texels = halves(&c.read_image(&two, 4));
    assert_eq!(texels[..2], [0x4500, 0x4600]);
    assert_eq!(texels[8..12], [0x5000, minus(0x63c0), 0x5000, minus(0x6400)]);
    assert_eq!(texels[16..20], [minus(0x53c0), 0, minus(0x53e0), 0]);
    let texels = halves(&c.read_image(&four, 8));
    assert_eq!(texels[16..24], [0x5000, 0x5400, 0x4800, minus(0x63c0), one, second, third, fourth]);
    assert_eq!(texels[32..40], [0, 0x53c0, one, 0, 0, 0x53e0, one, 0]);
    assert!(texels[..16].iter().all(|&x| x == 0), "outside");
    set.destroy(&c);
    for buffer in [sums, result] {
        c.free(buffer);
    }
    c.free_image(two);
    c.free_image(four);
}

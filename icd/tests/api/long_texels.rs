//! Tests of texels of one to four integers of 64 bits, in texel buffers and storage images without
//! a format in the shader.

use crate::common::{Buffer, Context, Image, image_info, range};
use crate::pipeline::{GENERAL, Set, compute, run};
use ash::vk;

const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_TEXEL_BUFFER;
const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_TEXEL_BUFFER;
const IMAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_IMAGE;

/// Numbers that the shader adds to the components.
const MORE: [u64; 4] = [0x1_0000_0001, 0x2_0000_0002, 0x3_0000_0003, 0x4_0000_0004];

/// Number of texels that the buffers have, of eight that the shader requests.
const TEXELS: u64 = 6;

/// Makes a buffer of this size with a view of a format.
fn texel_buffer(c: &Context, format: vk::Format, size: u64) -> (Buffer, vk::BufferView) {
    let usage = vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER | vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER;
    let info = vk::BufferCreateInfo::default().size(size).usage(usage);
    // SAFETY: valid usage.
    unsafe {
        let buffer = c.device.create_buffer(&info, None).expect("buffer");
        let (memory, pointer) = c.memory(c.device.get_buffer_memory_requirements(buffer).size);
        c.device.bind_buffer_memory(buffer, memory, 0).expect("bind");
        let info = vk::BufferViewCreateInfo::default().buffer(buffer).format(format).range(size);
        (Buffer { buffer, memory, pointer, size }, c.device.create_buffer_view(&info, None).expect("view"))
    }
}

/// Makes an image in the general layout, with four by two texels.
fn storage_image(c: &Context, format: vk::Format) -> Image {
    let usage = vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_SRC;
    let image = c.image_of(&image_info(format, [4, 2], usage), vk::ImageAspectFlags::COLOR);
    let barrier = vk::ImageMemoryBarrier::default()
        .image(image.image)
        .subresource_range(range(image.aspect, 1))
        .new_layout(GENERAL);
    let all = vk::PipelineStageFlags::ALL_COMMANDS;
    // SAFETY: valid usage.
    c.run(|b| unsafe {
        c.device.cmd_pipeline_barrier(b, all, all, vk::DependencyFlags::empty(), &[], &[], &[barrier]);
    })
    .expect("run");
    image
}

fn longs(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect()
}

/// Returns the bits of component `c` of texel `i`, all of them different and some of them high.
fn bits(i: usize, c: usize) -> u64 {
    0x8123_4567_89ab_cdef_u64.rotate_left(8 * c as u32) ^ (i as u64) << 40 ^ i as u64
}

/// Runs the shader from a buffer of `source`, with `n` words of 64 bits per texel and this many
/// texels. The shader writes to a buffer of `stored` with this many bytes and an image of `target`,
/// which `look` then examines.
fn through_shader(
    (source, n, texels): (vk::Format, usize, u64),
    (stored, bytes): (vk::Format, u64),
    target: vk::Format,
    look: impl FnOnce(&Context, &Buffer, &Image),
) {
    let mut long = vk::PhysicalDeviceShaderImageAtomicInt64FeaturesEXT::default().shader_image_int64_atomics(true);
    let c = Context::with(&[], &[c"VK_EXT_shader_image_atomic_int64"], &mut [&mut long]);
    let set = Set::new(&c, &[(UNIFORM, 1), (STORAGE, 1), (IMAGE, 1)]);
    let (mut input, input_view) = texel_buffer(&c, source, texels * n as u64 * 8);
    let (mut output, output_view) = texel_buffer(&c, stored, bytes);
    for (i, word) in input.bytes_mut().as_chunks_mut().0.iter_mut().enumerate() {
        *word = bits(i / n, i % n).to_le_bytes();
    }
    output.bytes_mut().fill(0xee);
    let image = storage_image(&c, target);
    set.texels(&c, 0, UNIFORM, &[input_view]);
    set.texels(&c, 1, STORAGE, &[output_view]);
    set.images(&c, 2, IMAGE, &[(image.view, vk::Sampler::null())]);
    let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &shader!("long_texels.comp"), &[]);
    run(&c, &set, pipeline, &[]).expect("run");
    look(&c, &output, &image);
    // SAFETY: valid usage.
    unsafe {
        [input_view, output_view].iter().for_each(|&view| c.device.destroy_buffer_view(view, None));
    }
    set.destroy(&c);
    c.free(input);
    c.free(output);
    c.free_image(image);
}

/// Checks texels with the first `source` of four components through the shader, to formats of
/// `target` components.
fn check(source: (vk::Format, usize), target: (vk::Format, usize)) {
    let ((from, n), (to, m)) = (source, target);
    // A component that a format does not have is 0, or 1 for alpha. Outside a buffer it is 0, and 1
    // if the format has no alpha.
    let absent = |c: usize| u64::from(c == 3);
    let fetched = |i: usize, c: usize| match c < n {
        true if i < TEXELS as usize => bits(i, c),
        true => 0,
        false => absent(c),
    };
    let stored = |i: usize, c: usize| fetched(i, c).wrapping_add(MORE[c]);
    through_shader((from, n, TEXELS), (to, TEXELS * m as u64 * 8), to, |c, output, image| {
        let texels = longs(output.bytes());
        for (i, texel) in texels.chunks_exact(m).enumerate() {
            let want: Vec<u64> = (0..m).map(|c| stored(i, c)).collect();
            assert_eq!(texel, want, "{from:?} {to:?} {i}");
        }
        let texels = longs(&c.read_image(image, m as u64 * 8));
        for (i, texel) in texels.chunks_exact(m).enumerate() {
            let read = |c: usize| if i < TEXELS as usize { stored(i, c) } else { 0 };
            let want: Vec<u64> = (0..m).map(|c| read(c).wrapping_add(MORE[c])).collect();
            assert_eq!(texel, want, "{from:?} {to:?} {i}, image");
        }
    });
}

#[test]
fn texels_of_any_number_of_long_integers() {
    let (one, two) = ((vk::Format::R64_SINT, 1), (vk::Format::R64G64_SINT, 2));
    let (three, four) = ((vk::Format::R64G64B64_SINT, 3), (vk::Format::R64G64B64A64_SINT, 4));
    [(one, one), (two, two), (three, four), (four, four), (four, two), (one, four)]
        .into_iter()
        .for_each(|(source, target)| check(source, target));
}

/// Checks a view of words where the shader declares 64-bit integers. This is invalid usage, but
/// must not show other texels.
#[test]
fn texels_of_words_have_no_high_words() {
    let four = vk::Format::R64G64B64A64_SINT;
    through_shader((four, 4, 8), (vk::Format::R32_UINT, 8 * 4), four, |c, _, image| {
        for (i, texel) in longs(&c.read_image(image, 32)).chunks_exact(4).enumerate() {
            let word = bits(i, 0).wrapping_add(MORE[0]) as u32;
            let want = [u64::from(word) + MORE[0], MORE[1], MORE[2], 1 + MORE[3]];
            assert_eq!(texel, want, "{i}");
        }
    });
}

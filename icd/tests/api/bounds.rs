//! Tests of accesses outside of bound resources: no memory around them is written, and reads give
//! zero or contents of the resource itself, with robustBufferAccess on and off.

use crate::common;
use crate::common::{Buffer, Context, Image};
use crate::pipeline::{AREA, GENERAL, Messenger, RGBA8, Set, compute, graphics, render, render_context, run};
use ash::vk;

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER;
const TEXELS: vk::DescriptorType = vk::DescriptorType::UNIFORM_TEXEL_BUFFER;
const STORAGE_TEXELS: vk::DescriptorType = vk::DescriptorType::STORAGE_TEXEL_BUFFER;
const IMAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_IMAGE;
const SAMPLED: vk::DescriptorType = vk::DescriptorType::SAMPLED_IMAGE;
const COMBINED: vk::DescriptorType = vk::DescriptorType::COMBINED_IMAGE_SAMPLER;
const SAMPLER: vk::DescriptorType = vk::DescriptorType::SAMPLER;

/// Value of the bytes around every resource.
const GUARD: u8 = 0xa5;
/// Number of elements of every resource: words, texels along an axis of 16 × 16, …
const ELEMENTS: u32 = 16;
/// Indices that are tried: inside, just outside, far outside, negative, and such that byte offsets
/// wrap.
const INDICES: [u32; 16] = [
    0,
    3,
    15,
    16,
    17,
    18,
    63,
    64,
    4096,
    1 << 20,
    (1 << 30) - 1,
    1 << 30,
    i32::MAX as u32,
    1 << 31,
    u32::MAX - 15,
    u32::MAX - 1,
];

/// Memory with a resource in the middle of guard bytes.
struct Guarded {
    memory: vk::DeviceMemory,
    pointer: *mut u8,
    size: usize,
    inside: std::ops::Range<usize>,
}

impl Guarded {
    const AROUND: usize = 8192;

    fn new(c: &Context, bytes: usize) -> Guarded {
        let size = bytes + 2 * Self::AROUND;
        let (memory, pointer) = c.memory(size as u64);
        let mut guarded = Guarded { memory, pointer, size, inside: Self::AROUND..Self::AROUND + bytes };
        guarded.bytes().fill(GUARD);
        guarded
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the memory is mapped, and the device is idle when the tests read it.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.size) }
    }

    /// Sets word i of the resource to i + 1.
    fn count(&mut self) {
        let inside = self.inside.clone();
        for (i, word) in (1u32..).zip(self.bytes()[inside].as_chunks_mut::<4>().0) {
            *word = i.to_le_bytes();
        }
    }

    fn words(&mut self) -> Vec<u32> {
        let inside = self.inside.clone();
        self.bytes()[inside].as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
    }

    fn check(&mut self, what: &str) {
        let inside = self.inside.clone();
        for (i, &byte) in self.bytes().iter().enumerate() {
            assert!(
                inside.contains(&i) || byte == GUARD,
                "{what}: byte {} from its start",
                i as i64 - inside.start as i64
            );
        }
    }
}

/// Makes a buffer whose first 64 bytes are bound; the guard begins behind them, inside the buffer.
fn guarded_buffer(c: &Context) -> (vk::Buffer, Guarded) {
    let mut guarded = Guarded::new(c, 64);
    guarded.count();
    let info = vk::BufferCreateInfo::default().size(4096).usage(vk::BufferUsageFlags::from_raw(0x1ff));
    // SAFETY: valid usage.
    unsafe {
        let buffer = c.device.create_buffer(&info, None).unwrap();
        c.device.bind_buffer_memory(buffer, guarded.memory, Guarded::AROUND as u64).unwrap();
        (buffer, guarded)
    }
}

/// Makes a 16 × 16 image of words.
fn guarded_image(c: &Context) -> (vk::Image, vk::ImageView, Guarded) {
    let usage = vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::SAMPLED;
    let info = vk::ImageCreateInfo::default()
        .image_type(vk::ImageType::TYPE_2D)
        .format(vk::Format::R32_UINT)
        .extent(vk::Extent3D { width: ELEMENTS, height: ELEMENTS, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .tiling(vk::ImageTiling::LINEAR)
        .usage(usage);
    // SAFETY: valid usage.
    unsafe {
        let image = c.device.create_image(&info, None).unwrap();
        let mut guarded = Guarded::new(c, c.device.get_image_memory_requirements(image).size as usize);
        guarded.count();
        c.device.bind_image_memory(image, guarded.memory, Guarded::AROUND as u64).unwrap();
        let info = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(vk::Format::R32_UINT)
            .subresource_range(common::range(vk::ImageAspectFlags::COLOR, 1));
        (image, c.device.create_image_view(&info, None).unwrap(), guarded)
    }
}

fn view(c: &Context, buffer: vk::Buffer) -> vk::BufferView {
    let info = vk::BufferViewCreateInfo::default().buffer(buffer).format(vk::Format::R32_UINT).range(64);
    // SAFETY: valid usage.
    unsafe { c.device.create_buffer_view(&info, None) }.unwrap()
}

/// Makes the result and index buffers, bindings 0 and 1.
fn result_and_indices(c: &Context, set: &Set) -> (Buffer, Buffer) {
    let (result, mut indices) = (c.buffer(64), c.buffer(64));
    indices.fill_words(|i| INDICES[i as usize]);
    set.buffers(c, 0, STORAGE, &[(result.buffer, 0, vk::WHOLE_SIZE)]);
    set.buffers(c, 1, STORAGE, &[(indices.buffer, 0, vk::WHOLE_SIZE)]);
    (result, indices)
}

/// A mode of `bounds.comp`, with the elements that its resource has: index < limit reads
/// `value(index)`.
struct Mode {
    name: &'static str,
    limit: u32,
    /// Number of bytes of an element.
    stride: u32,
    value: fn(u32) -> u32,
    writes: bool,
    /// True if reads out of range give zero; otherwise they give any contents of the resource.
    zero: bool,
}

const fn reads(name: &'static str, limit: u32, stride: u32, value: fn(u32) -> u32, zero: bool) -> Mode {
    Mode { name, limit, stride, value, writes: false, zero }
}

const fn writes(name: &'static str) -> Mode {
    Mode { name, limit: 0, stride: 1, value: |_| 0, writes: true, zero: false }
}

const MODES: [Mode; 20] = [
    reads("storage buffer load", ELEMENTS, 4, |i| i + 1, true),
    writes("storage buffer store"),
    writes("storage buffer atomic"),
    reads("uniform buffer load", 4, 16, |i| 4 * i + 1, true),
    reads("texel buffer fetch", ELEMENTS, 1, |i| i + 1, true),
    reads("storage texel buffer load", ELEMENTS, 1, |i| i + 1, true),
    writes("storage texel buffer store"),
    writes("storage texel buffer atomic"),
    reads("image load, x", ELEMENTS, 1, |i| i + 1, true),
    reads("image load, y", ELEMENTS, 1, |i| 16 * i + 1, true),
    writes("image store"),
    writes("image atomic"),
    reads("fetch, x", ELEMENTS, 1, |i| 16 + i + 1, true),
    reads("fetch, level", 1, 1, |_| 16 + 1 + 1, false),
    reads("push constants", 4, 4, |i| i + 1, true),
    writes("shared store"),
    reads("shared load", ELEMENTS, 4, |i| i + 1, true),
    reads("storage buffer load of a vector", 4, 16, |i| 4 * i + 4, true),
    writes("storage buffer store of a vector"),
    reads("private array", ELEMENTS, 1, |i| i + 1, false),
];

#[test]
fn accesses_out_of_bounds() {
    for robust in [false, true] {
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .features(vk::PhysicalDeviceFeatures::default().robust_buffer_access(robust));
        let c = Context::with(&[c"VK_KHR_get_physical_device_properties2"], &[], &mut [&mut features]);
        let types = [STORAGE, STORAGE, STORAGE, UNIFORM, TEXELS, STORAGE_TEXELS, IMAGE, SAMPLED].map(|ty| (ty, 1));
        let set = Set::new(&c, &types);
        let (result, _indices) = result_and_indices(&c, &set);
        let ((buffer, mut data), (image, image_view, mut texels)) = (guarded_buffer(&c), guarded_image(&c));
        let buffer_view = view(&c, buffer);
        set.buffers(&c, 2, STORAGE, &[(buffer, 0, 64)]);
        set.buffers(&c, 3, UNIFORM, &[(buffer, 0, 64)]);
        set.texels(&c, 4, TEXELS, &[buffer_view]);
        set.texels(&c, 5, STORAGE_TEXELS, &[buffer_view]);
        set.images(&c, 6, IMAGE, &[(image_view, vk::Sampler::null())]);
        set.images(&c, 7, SAMPLED, &[(image_view, vk::Sampler::null())]);
        let push: Vec<u8> = (1..5u32).flat_map(u32::to_le_bytes).collect();
        let pipeline = |mode: usize, index: u32| {
            compute(&c, vk::PipelineCache::null(), set.layout, &shader!("bounds.comp"), &[mode as u32, index])
        };
        for (number, mode) in MODES.iter().enumerate() {
            // Every index at once, then each one as a constant in the shader.
            for constant in [None, Some(2), Some(16), Some(20), Some(4096), Some(0x7fff_ffff), Some(0x8000_0000)] {
                data.count();
                texels.count();
                let what = format!("{}, {constant:x?}, robust {robust}", mode.name);
                run(&c, &set, pipeline(number, constant.unwrap_or(u32::MAX)), &push).expect(&what);
                data.check(&what);
                texels.check(&what);
                for (lane, got) in result.words().into_iter().enumerate() {
                    check_read(mode, lane, constant.unwrap_or(INDICES[lane]), got, &what);
                }
                if mode.writes {
                    // Inside elements must be written, so that the test does not pass because
                    // nothing is done.
                    let changed = (1..).zip(data.words()).chain((1..).zip(texels.words())).any(|(i, word)| word != i);
                    let reached = matches!(constant, None | Some(2)) && mode.name != "shared store";
                    assert!(changed || !reached, "{what}");
                } else {
                    let untouched = (1..).zip(data.words()).all(|(i, word)| word == i);
                    assert!(untouched && (1..).zip(texels.words()).all(|(i, word)| word == i), "{what}");
                }
            }
        }
        // SAFETY: valid usage.
        unsafe {
            c.device.destroy_buffer_view(buffer_view, None);
            c.device.destroy_buffer(buffer, None);
            c.device.destroy_image_view(image_view, None);
            c.device.destroy_image(image, None);
        }
        set.destroy(&c);
    }
}

fn check_read(mode: &Mode, lane: usize, index: u32, got: u32, what: &str) {
    if mode.name == "shared store" {
        // Only stores out of range are made; each invocation finds its own word (byte offsets of
        // 2^32 are word 0 again).
        return assert!(got == lane as u32 + 1 || (lane == 0 && got == 0xdead), "{what}: {got:#x}");
    }
    if mode.writes {
        return;
    }
    let of_resource = |word: u32| (0..mode.limit).any(|i| (mode.value)(i) == word);
    // Offsets into buffers do not wrap; those into push constants and workgroup memory may.
    let own = matches!(mode.name, "push constants" | "shared load");
    let wraps = own && u64::from(index) * u64::from(mode.stride) > u64::from(u32::MAX);
    let ok = match index {
        i if i < mode.limit => got == (mode.value)(i),
        _ if mode.zero && !wraps => got == 0,
        _ => got == 0 || of_resource(got),
    };
    assert!(ok, "{what}, index {index:#x}: {got:#x}");
}

/// Checks descriptor indices out of range that are constant, uniform or varying: they select an
/// element of the array, or nothing, but never a neighbouring binding.
#[test]
fn descriptor_indices_out_of_range() {
    let mut indexing = vk::PhysicalDeviceDescriptorIndexingFeatures::default()
        .shader_storage_buffer_array_non_uniform_indexing(true)
        .shader_uniform_buffer_array_non_uniform_indexing(true)
        .shader_sampled_image_array_non_uniform_indexing(true)
        .shader_storage_image_array_non_uniform_indexing(true)
        .shader_storage_texel_buffer_array_non_uniform_indexing(true)
        .shader_storage_texel_buffer_array_dynamic_indexing(true)
        .runtime_descriptor_array(true);
    let c = Context::with(
        &[c"VK_KHR_get_physical_device_properties2"],
        &[c"VK_EXT_descriptor_indexing", c"VK_KHR_maintenance3"],
        &mut [&mut indexing],
    );
    let arrays = [STORAGE, UNIFORM, IMAGE, COMBINED, SAMPLED, SAMPLER, STORAGE_TEXELS];
    let mut types = vec![(STORAGE, 1), (STORAGE, 1)];
    types.extend(arrays.map(|ty| (ty, 4)));
    // This binding is directly behind the last array.
    types.push((STORAGE_TEXELS, 1));
    let set = Set::new(&c, &types);
    let (result, _indices) = result_and_indices(&c, &set);
    let mut buffers: Vec<Buffer> = (0..5).map(|_| c.buffer(64)).collect();
    let mut images: Vec<_> = (0..5).map(|_| guarded_image(&c)).collect();
    let views: Vec<vk::BufferView> = buffers.iter().map(|b| view(&c, b.buffer)).collect();
    let info = vk::SamplerCreateInfo::default();
    // SAFETY: valid usage.
    let samplers: Vec<_> = (0..4).map(|_| unsafe { c.device.create_sampler(&info, None) }.unwrap()).collect();
    let four: Vec<_> = buffers[..4].iter().map(|b| (b.buffer, 0, 64)).collect();
    set.buffers(&c, 2, STORAGE, &four);
    set.buffers(&c, 3, UNIFORM, &four);
    let four: Vec<_> = images[..4].iter().zip(&samplers).map(|(image, &sampler)| (image.1, sampler)).collect();
    [(4, IMAGE), (5, COMBINED), (6, SAMPLED), (7, SAMPLER)].iter().for_each(|&(b, ty)| set.images(&c, b, ty, &four));
    set.texels(&c, 8, STORAGE_TEXELS, &views[..4]);
    set.texels(&c, 9, STORAGE_TEXELS, &views[4..]);
    let first_words = |buffers: &mut [Buffer], images: &mut [(vk::Image, vk::ImageView, Guarded)]| -> Vec<u32> {
        buffers.iter().map(|b| b.words()[0]).chain(images.iter_mut().map(|i| i.2.words()[0])).collect()
    };
    for mode in 0..13 {
        for constant in [u32::MAX, 0, 3, 4, 5, 1000, 0x7fff_ffff, 0xffff_fffe] {
            for (i, b) in (100..).zip(&mut buffers) {
                b.fill_words(|_| i);
            }
            for (i, image) in (100u32..).zip(&mut images) {
                let inside = image.2.inside.clone();
                image.2.bytes()[inside].as_chunks_mut::<4>().0.iter_mut().for_each(|w| *w = i.to_le_bytes());
            }
            let what = format!("mode {mode}, index {constant:#x}");
            let pipeline =
                compute(&c, vk::PipelineCache::null(), set.layout, &shader!("arrays.comp"), &[mode, constant]);
            run(&c, &set, pipeline, &[]).expect(&what);
            let writes = matches!(mode, 2 | 7 | 12);
            for (lane, got) in result.words().into_iter().enumerate() {
                let index = if constant == u32::MAX { INDICES[lane] } else { constant };
                // Modes with one index for all take another word of the list.
                let exact = !matches!(mode, 0 | 3 | 5 | 10) || constant != u32::MAX;
                let ok = if writes {
                    got == 0
                } else if index < 4 && exact {
                    got == 100 + index
                } else {
                    got == 0 || (100..104).contains(&got)
                };
                assert!(ok, "{what}, lane {lane}, index {index:#x}: {got:#x}");
            }
            let after = first_words(&mut buffers, &mut images);
            assert_eq!((after[4], after[9]), (104, 104), "{what}: {after:?}");
            assert!(after.iter().all(|w| *w == 7 || (100..=104).contains(w)), "{what}: {after:?}");
            images.iter_mut().for_each(|image| image.2.check(&what));
        }
    }
    // SAFETY: valid usage.
    unsafe {
        views.into_iter().for_each(|v| c.device.destroy_buffer_view(v, None));
        samplers.into_iter().for_each(|s| c.device.destroy_sampler(s, None));
        for (image, view, _) in images {
            c.device.destroy_image_view(view, None);
            c.device.destroy_image(image, None);
        }
    }
    set.destroy(&c);
}

/// Checks indices beyond the vertex buffer, indices beyond the index buffer, and base vertices that
/// wrap: no vertex comes from other memory.
#[test]
fn vertices_out_of_range() {
    for robust in [false, true] {
        let c = render_context(&[], robust);
        let set = Set::new(&c, &[(STORAGE, 1)]);
        let target = c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
        let pipeline = graphics(&c, &shader!("attribute.vert"), &shader!("red.frag"), set.layout, true);
        // The first three vertices are one point; any of the following ones in memory would cover
        // the target.
        let mut vertices = c.buffer(4096);
        let corners = [[-1.0f32, -1.0], [3.0, -1.0], [-1.0, 3.0]];
        vertices.fill_words(|i| if i < 6 { 0 } else { corners[(i as usize - 6) / 2 % 3][i as usize % 2].to_bits() });
        let mut indices = c.buffer(4096);
        for (name, index, count, vertex_offset) in [
            ("inside", [0, 1, 2], 3, 0),
            ("behind", [600, 601, 602], 3, 0),
            ("far", [u32::MAX - 1, 1 << 31, 1 << 29], 3, 0),
            ("base vertex", [0, 1, 2], 3, i32::MIN),
            ("wrapping", [8, 7, 6], 3, -9),
            ("behind the index buffer", [0, 0, 0], 30_000, 0),
        ] {
            indices.fill_words(|i| index[i as usize % 3]);
            render(&c, &target, AREA, |b| {
                // SAFETY: valid usage except for the values of indices.
                unsafe {
                    c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
                    // Only 24 bytes of the buffer are behind the offset, without the point's
                    // copies.
                    c.device.cmd_bind_vertex_buffers(b, 0, &[vertices.buffer], &[0]);
                    c.device.cmd_bind_index_buffer(b, indices.buffer, 0, vk::IndexType::UINT32);
                    c.device.cmd_draw_indexed(b, count, 1, 0, vertex_offset, 0);
                }
            })
            .unwrap_or_else(|e| panic!("{name}: {e}"));
            let pixels = c.read_image(&target, 4);
            assert!(pixels.iter().all(|&b| b == 0), "{name}, robust {robust}");
        }
        // A draw with indices inside the buffer covers the whole target, which proves that
        // the test can fail.
        indices.fill_words(|i| 3 + i);
        render(&c, &target, AREA, |b| {
            // SAFETY: valid usage.
            unsafe {
                c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
                c.device.cmd_bind_vertex_buffers(b, 0, &[vertices.buffer], &[0]);
                c.device.cmd_bind_index_buffer(b, indices.buffer, 0, vk::IndexType::UINT32);
                c.device.cmd_draw_indexed(b, 3, 1, 0, 0, 0);
            }
        })
        .unwrap();
        assert_eq!(c.read_image(&target, 4)[..4], [255, 0, 0, 255]);
        // SAFETY: valid usage.
        unsafe { c.device.destroy_pipeline(pipeline, None) };
        c.free(vertices);
        c.free(indices);
        c.free_image(target);
        set.destroy(&c);
    }
}

/// Checks that transfers and render areas that reach outside do the inside part and are reported;
/// valid ones are not reported.
#[test]
fn regions_out_of_range_are_reported() {
    let c = render_context(&[c"VK_EXT_debug_utils"], false);
    let messenger = Messenger::new(&c);
    let (a, b) = (c.buffer(256), c.buffer(256));
    let image: Image = c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    let reported = |needle: &str| {
        let messages = messenger.take();
        assert!(messages.len() == 1 && messages[0].contains(needle), "{needle}: {messages:?}");
    };
    let copy = |offset: u64, size: u64| {
        let region = vk::BufferCopy { src_offset: 0, dst_offset: offset, size };
        // SAFETY: valid usage except for the regions.
        c.run(|cmd| unsafe { c.device.cmd_copy_buffer(cmd, a.buffer, b.buffer, &[region]) }).unwrap();
    };
    copy(0, 256);
    assert_eq!(messenger.take(), [""; 0]);
    copy(1, 256);
    reported("vkCmdCopyBuffer");
    // SAFETY: valid usage.
    c.run(|cmd| unsafe { c.device.cmd_fill_buffer(cmd, a.buffer, 128, 256, 7) }).unwrap();
    reported("vkCmdFillBuffer");
    assert_eq!((a.words()[31], a.words()[32], a.words()[63]), (0, 7, 7));

    let upload = |x: i32, width: u32, height: u32| {
        let region = vk::BufferImageCopy {
            image_offset: vk::Offset3D { x, y: 0, z: 0 },
            image_extent: vk::Extent3D { width, height, depth: 1 },
            ..common::region(&image)
        };
        // SAFETY: valid usage.
        c.run(|cmd| unsafe { c.device.cmd_copy_buffer_to_image(cmd, a.buffer, image.image, GENERAL, &[region]) })
            .unwrap();
    };
    upload(0, 8, 8);
    upload(63, 1, 64);
    assert_eq!(messenger.take(), [""; 0]);
    upload(60, 8, 1);
    reported("vkCmdCopyBufferToImage: region 0");
    // The region fits the image but not the buffer.
    upload(0, 8, 9);
    reported("vkCmdCopyBufferToImage: region 0");

    let layers = common::layers(image.aspect, 1);
    let blit = vk::ImageBlit { src_subresource: layers, dst_subresource: layers, ..Default::default() };
    // SAFETY: valid usage.
    c.run(|cmd| unsafe {
        c.device.cmd_blit_image(cmd, image.image, GENERAL, image.image, GENERAL, &[blit], vk::Filter::NEAREST)
    })
    .unwrap();
    reported("vkCmdBlitImage");
    let ranges = [vk::ImageSubresourceRange { layer_count: 2, ..common::range(image.aspect, 1) }];
    let red = vk::ClearColorValue { float32: [1.0, 0.0, 0.0, 1.0] };
    // SAFETY: valid usage.
    c.run(|cmd| unsafe { c.device.cmd_clear_color_image(cmd, image.image, GENERAL, &red, &ranges) }).unwrap();
    reported("vkCmdClearColorImage");
    assert_eq!(c.read_image(&image, 4)[..4], [255, 0, 0, 255]);

    render(&c, &image, AREA, |_| ()).unwrap();
    assert_eq!(messenger.take(), [""; 0]);
    let area = vk::Rect2D { offset: vk::Offset2D { x: 32, y: -8 }, extent: vk::Extent2D { width: 64, height: 16 } };
    // SAFETY: valid usage.
    c.run(|cmd| unsafe {
        c.device.cmd_clear_color_image(cmd, image.image, GENERAL, &red, &[common::range(image.aspect, 1)])
    })
    .unwrap();
    render(&c, &image, area, |_| ()).unwrap();
    reported("render area");
    let pixels = c.read_image(&image, 4);
    let is_cleared = |x: usize, y: usize| pixels[4 * (64 * y + x)] == 0;
    assert!(is_cleared(32, 0) && is_cleared(63, 7) && !is_cleared(31, 0) && !is_cleared(32, 8));

    // SAFETY: valid usage.
    c.run(|cmd| unsafe { c.device.cmd_dispatch(cmd, 1, 1, 1) }).unwrap();
    reported("neither a pipeline nor a shader object is bound");
    c.free(a);
    c.free(b);
    c.free_image(image);
}

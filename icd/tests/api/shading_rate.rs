//! Tests of VK_KHR_fragment_shading_rate: the size of fragments, their positions and derivatives,
//! and the coverage of pixels, which stays that of fragments of one pixel.

use crate::common::info::{RGBA8, Triangles, area};
use crate::common::{Buffer, Context, Image, image_info, region};
use crate::pipeline::{GENERAL, Set, module};
use ash::vk;
use std::collections::BTreeSet;
use vk::FragmentShadingRateCombinerOpKHR as Combiner;

const SIDE: u32 = 64;
/// Pixels of a texel of the attachment.
const TEXEL: u32 = 8;
/// Words of the sizes 1×1, 1×2, 1×4, 2×1, ….
const WORDS: [u8; 9] = [0, 1, 2, 4, 5, 6, 8, 9, 10];
/// Corners of a triangle that covers its pixels partly.
const CORNERS: [[f32; 2]; 3] = [[-0.97, -0.95], [0.93, -0.8], [-0.7, 0.96]];
const NO_RATE: (u32, [Combiner; 2]) = (0, [Combiner::KEEP; 2]);

/// Returns width and height of a word's size.
fn extent(word: u32) -> [u32; 2] {
    [1 << (word >> 2 & 3), 1 << (word & 3)]
}

fn combined(combiner: Combiner, a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
    std::array::from_fn(|axis| match combiner {
        Combiner::KEEP => a[axis],
        Combiner::REPLACE => b[axis],
        Combiner::MIN => a[axis].min(b[axis]),
        Combiner::MAX => a[axis].max(b[axis]),
        _ => (a[axis] * b[axis]).min(4),
    })
}

/// Returns the word of an attachment's texel.
fn texel(x: u32, y: u32) -> u8 {
    WORDS[(x + 2 * y) as usize % WORDS.len()]
}

struct Fixture {
    c: Context,
    rate: ash::khr::fragment_shading_rate::Device,
    target: Image,
    /// A multisampled target, which is resolved to the other one.
    samples: Image,
    attachment: Image,
    vertices: Buffer,
    count: Buffer,
    set: Set,
    modules: Vec<vk::ShaderModule>,
}

impl Fixture {
    fn new() -> Fixture {
        let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
        let mut rates = vk::PhysicalDeviceFragmentShadingRateFeaturesKHR::default()
            .pipeline_fragment_shading_rate(true)
            .primitive_fragment_shading_rate(true)
            .attachment_fragment_shading_rate(true);
        let features = vk::PhysicalDeviceFeatures::default().fragment_stores_and_atomics(true);
        let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
        let extensions = [c"VK_KHR_fragment_shading_rate", c"VK_KHR_dynamic_rendering"];
        let c = Context::with(&[], &extensions, &mut [&mut features, &mut rendering, &mut rates]);
        let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
        let color = image_info(RGBA8, [SIDE; 2], usage);
        let target = c.image_of(&color, vk::ImageAspectFlags::COLOR);
        let samples = c.image_of(&color.samples(vk::SampleCountFlags::TYPE_4), vk::ImageAspectFlags::COLOR);
        let usage = vk::ImageUsageFlags::FRAGMENT_SHADING_RATE_ATTACHMENT_KHR | vk::ImageUsageFlags::TRANSFER_DST;
        let info = image_info(vk::Format::R8_UINT, [SIDE / TEXEL; 2], usage);
        let attachment = c.image_of(&info, vk::ImageAspectFlags::COLOR);
        let mut texels = c.buffer(64);
        for (i, byte) in texels.bytes_mut().iter_mut().enumerate() {
            *byte = texel(i as u32 % 8, i as u32 / 8);
        }
        // SAFETY: valid usage.
        c.run(|b| unsafe {
            c.device.cmd_copy_buffer_to_image(b, texels.buffer, attachment.image, GENERAL, &[region(&attachment)]);
        })
        .expect("copied");
        c.free(texels);
        let set = Set::new(&c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
        let count = c.buffer(4);
        set.buffers(&c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(count.buffer, 0, 4)]);
        let mut vertices = c.buffer(24);
        vertices.fill_words(|i| CORNERS.as_flattened()[i as usize].to_bits());
        let code = [
            shader!("place.vert"),
            shader!("shading_rate.vert"),
            shader!("shading_rate.frag"),
            shader!("shading_rate_count.frag"),
        ];
        let modules = code.iter().map(|code| module(&c, code)).collect();
        let rate = ash::khr::fragment_shading_rate::Device::new(&c.instance, &c.device);
        Fixture { c, rate, target, samples, attachment, vertices, count, set, modules }
    }

    fn pipeline(&self, [vertex, fragment]: [usize; 2], samples: vk::SampleCountFlags) -> vk::Pipeline {
        let triangles = Triangles {
            side: Some(SIDE),
            stride: 8,
            attributes: &[(vk::Format::R32G32_SFLOAT, 0)],
            dynamic: &[vk::DynamicState::FRAGMENT_SHADING_RATE_KHR],
            samples,
            ..Triangles::new(self.modules[vertex], self.modules[fragment], self.set.layout)
        };
        triangles.create(&self.c.device).expect("pipeline")
    }

    /// Draws the triangle and returns the texels; resolved ones of a multisampled target.
    fn draw(
        &self,
        pipeline: vk::Pipeline,
        (size, combiners): (u32, [Combiner; 2]),
        push: [i32; 2],
        (attached, multisampled): (bool, bool),
    ) -> Vec<[u8; 4]> {
        let d = &self.c.device;
        let mut color = vk::RenderingAttachmentInfo::default()
            .image_view(if multisampled { self.samples.view } else { self.target.view })
            .image_layout(GENERAL)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE);
        if multisampled {
            color = color.resolve_mode(vk::ResolveModeFlags::AVERAGE).resolve_image_layout(GENERAL);
            color = color.resolve_image_view(self.target.view);
        }
        let colors = [color];
        let mut rate = vk::RenderingFragmentShadingRateAttachmentInfoKHR::default()
            .image_view(if attached { self.attachment.view } else { vk::ImageView::null() })
            .image_layout(GENERAL)
            .shading_rate_attachment_texel_size(vk::Extent2D { width: TEXEL, height: TEXEL });
        let info = vk::RenderingInfo::default().render_area(area(SIDE)).layer_count(1).color_attachments(&colors);
        let info = info.push_next(&mut rate);
        let rendering = ash::khr::dynamic_rendering::Device::new(&self.c.instance, d);
        let push: Vec<u8> = push.iter().flat_map(|word| word.to_le_bytes()).collect();
        let [width, height] = extent(size);
        let point = vk::PipelineBindPoint::GRAPHICS;
        // SAFETY: valid usage.
        self.c
            .run(|b| unsafe {
                rendering.cmd_begin_rendering(b, &info);
                d.cmd_bind_pipeline(b, point, pipeline);
                d.cmd_bind_descriptor_sets(b, point, self.set.layout, 0, &[self.set.set], &[]);
                d.cmd_push_constants(b, self.set.layout, vk::ShaderStageFlags::ALL, 0, &push);
                d.cmd_bind_vertex_buffers(b, 0, &[self.vertices.buffer], &[0]);
                (self.rate.fp().cmd_set_fragment_shading_rate_khr)(b, &vk::Extent2D { width, height }, &combiners);
                d.cmd_draw(b, 3, 1, 0, 0);
                rendering.cmd_end_rendering(b);
            })
            .expect("drawn");
        self.c.read_image(&self.target, 4).as_chunks::<4>().0.to_vec()
    }

    fn destroy(self, pipelines: &[vk::Pipeline]) {
        let Fixture { c, target, samples, attachment, vertices, count, set, modules, .. } = self;
        // SAFETY: the device is idle.
        unsafe {
            pipelines.iter().for_each(|&pipeline| c.device.destroy_pipeline(pipeline, None));
            modules.into_iter().for_each(|module| c.device.destroy_shader_module(module, None));
        }
        set.destroy(&c);
        [vertices, count].into_iter().for_each(|buffer| c.free(buffer));
        [target, samples, attachment].into_iter().for_each(|image| c.free_image(image));
    }
}

/// Returns the texel that `shading_rate.frag` writes in a pixel whose fragment has a size.
fn expected(x: u32, y: u32, [width, height]: [u32; 2], discards: bool) -> [u8; 4] {
    let at = [(x, width), (y, height)].map(|(c, side)| 2 * (c / side * side) + side);
    if discards && (at[0] / 8 + at[1] / 8) % 2 != 0 {
        return [0; 4];
    }
    let word = width.ilog2() << 2 | height.ilog2();
    [at[0], at[1], word, 16 * width + height].map(|n| n as u8)
}

#[test]
fn fragments_have_the_size_that_pipeline_primitive_and_attachment_combine_to() {
    let f = Fixture::new();
    let one = vk::SampleCountFlags::TYPE_1;
    let pipelines = [f.pipeline([0, 2], one), f.pipeline([1, 2], one)];
    let covered: Vec<bool> =
        f.draw(pipelines[0], NO_RATE, [0; 2], (false, false)).iter().map(|texel| texel[3] != 0).collect();
    let count = covered.iter().filter(|covered| **covered).count();
    assert!((1000..2000).contains(&count), "{count} pixels");
    let all = [Combiner::KEEP, Combiner::REPLACE, Combiner::MIN, Combiner::MAX, Combiner::MUL];
    let mut sizes = BTreeSet::new();
    for (size, primitive, attached) in
        [(5, 0, false), (4, 5, false), (1, 8, true), (10, 6, true), (0, 9, true), (5, 1, true)]
    {
        for combiners in all.iter().flat_map(|&a| all.map(|b| [a, b])) {
            let writes = primitive != 0;
            for discards in [false, true] {
                let push = [primitive as i32, i32::from(discards)];
                let texels = f.draw(pipelines[usize::from(writes)], (size, combiners), push, (attached, false));
                for (i, got) in texels.iter().enumerate() {
                    let (x, y) = (i as u32 % SIDE, i as u32 / SIDE);
                    let attachment = if attached { texel(x / TEXEL, y / TEXEL) } else { 0 };
                    let own = combined(combiners[0], extent(size), extent(primitive));
                    let own = combined(combiners[1], own, extent(attachment.into()));
                    sizes.insert(own);
                    let want = if covered[i] { expected(x, y, own, discards) } else { [0; 4] };
                    assert_eq!(*got, want, "{size} {primitive} {attached} {combiners:?}, pixel {x}, {y}");
                }
            }
        }
    }
    assert_eq!(sizes.len(), WORDS.len());
    f.destroy(&pipelines);
}

/// Checks that samples are covered as by fragments of one pixel, and that each fragment is one
/// invocation.
#[test]
fn coverage_does_not_depend_on_the_size() {
    let f = Fixture::new();
    let four = vk::SampleCountFlags::TYPE_4;
    let pipelines =
        [f.pipeline([0, 2], four), f.pipeline([0, 3], four), f.pipeline([0, 3], vk::SampleCountFlags::TYPE_1)];
    let samples = |word: u32| -> Vec<u32> {
        let [width, height] = extent(word);
        let whole = 16 * width + height;
        let texels = f.draw(pipelines[0], (word, NO_RATE.1), [0; 2], (false, true));
        texels.iter().map(|texel| (u32::from(texel[3]) * 8 + whole) / (2 * whole)).collect()
    };
    let want = samples(0);
    assert_eq!(BTreeSet::from_iter(want.iter().copied()), BTreeSet::from([0, 1, 2, 3, 4]));
    for &word in &WORDS {
        assert_eq!(samples(word.into()), want, "{word}");
        for (pipeline, multisampled) in [(pipelines[1], true), (pipelines[2], false)] {
            // SAFETY: the device is idle.
            unsafe { f.count.pointer.cast::<u32>().write(0) };
            let texels = f.draw(pipeline, (word.into(), NO_RATE.1), [0; 2], (false, multisampled));
            let [width, height] = extent(word.into());
            let pixels = texels.iter().zip(0..).filter(|(texel, _)| texel[3] != 0);
            let fragments: BTreeSet<_> = pixels.map(|(_, i)| (i % SIDE / width, i / SIDE / height)).collect();
            assert_eq!(f.count.words()[0], fragments.len() as u32, "{word} {multisampled}");
        }
    }
    f.destroy(&pipelines);
}

/// Checks that centroids of fragments that are covered in part lie in the triangle and in the
/// fragment.
#[test]
fn centroids_of_fragments_lie_in_the_primitive() {
    let f = Fixture::new();
    let pipeline = f.pipeline([0, 3], vk::SampleCountFlags::TYPE_1);
    let cross = |p: [f32; 2], q: [f32; 2], r: [f32; 2]| (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1]);
    for word in WORDS {
        let [width, height] = extent(word.into());
        let texels = f.draw(pipeline, (word.into(), NO_RATE.1), [0; 2], (false, false));
        for (texel, i) in texels.iter().zip(0..).filter(|(texel, _)| texel[3] != 0) {
            let (x, y) = (i % SIDE, i / SIDE);
            let at = [0, 1].map(|axis| f32::from(texel[axis]) / 127.5 - 1.0);
            // Texels have steps of 1/128 of the square's half side.
            let [a, b, c] = CORNERS;
            let inside = [(a, b), (b, c), (c, a)].iter().all(|&(from, to)| cross(from, to, at) > -0.02);
            assert!(inside, "{word}: {at:?} of {x}, {y}");
            for (axis, (pixel, side)) in [(x, width), (y, height)].into_iter().enumerate() {
                let first = (pixel / side * side) as f32;
                let place = (at[axis] + 1.0) * SIDE as f32 / 2.0;
                assert!(place > first - 0.3 && place < first + side as f32 + 0.3, "{word}: {place} of {x}, {y}");
            }
        }
    }
    f.destroy(&[pipeline]);
}

#[test]
fn all_sizes_are_enumerated_in_order() {
    let c = Context::new(&[c"VK_KHR_get_physical_device_properties2"], &[c"VK_KHR_fragment_shading_rate"]);
    let rates = ash::khr::fragment_shading_rate::Instance::new(&c.entry, &c.instance);
    let get = rates.fp().get_physical_device_fragment_shading_rates_khr;
    let mut list = [vk::PhysicalDeviceFragmentShadingRateKHR::default(); 10];
    let mut count = 10;
    // SAFETY: valid usage.
    unsafe { get(c.physical, &mut count, list.as_mut_ptr()) }.result().expect("rates");
    let list = &list[..count as usize];
    let sizes: Vec<_> = list.iter().map(|rate| [rate.fragment_size.width, rate.fragment_size.height]).collect();
    let want: Vec<_> = [4, 2, 1].iter().flat_map(|&width| [4, 2, 1].map(|height| [width, height])).collect();
    assert_eq!(sizes, want);
    count = 3;
    // SAFETY: valid usage.
    let result =
        unsafe { get(c.physical, &mut count, [vk::PhysicalDeviceFragmentShadingRateKHR::default(); 3].as_mut_ptr()) };
    assert_eq!((result, count), (vk::Result::INCOMPLETE, 3));
    for rate in list {
        let pixel = rate.fragment_size == vk::Extent2D { width: 1, height: 1 };
        assert_eq!(rate.sample_counts.as_raw(), if pixel { !0 } else { 31 }, "{rate:?}");
    }
}

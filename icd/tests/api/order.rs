//! Fragments of one pixel, one after the other in the order of primitives: what an interlock promises.

use crate::common::{Context, spirv};
use crate::pipeline::{AREA, RGBA8, Set, graphics, render};
use ash::vk;

const STORAGE_BUFFER: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
/// Triangles over the same three pixels.
const TRIANGLES: u32 = 200;

#[test]
fn interlocked_sections_of_a_pixel_are_in_the_order_of_primitives() {
    let features = vk::PhysicalDeviceFeatures::default().fragment_stores_and_atomics(true);
    let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
    let mut interlock =
        vk::PhysicalDeviceFragmentShaderInterlockFeaturesEXT::default().fragment_shader_pixel_interlock(true);
    let extensions = [c"VK_EXT_fragment_shader_interlock", c"VK_KHR_dynamic_rendering"];
    let c = Context::with(&[], &extensions, &mut [&mut features, &mut rendering, &mut interlock]);
    let target = c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    let set = Set::new(&c, &[(STORAGE_BUFFER, 1)]);
    let buffer = c.buffer(64 * 4);
    set.buffers(&c, 0, STORAGE_BUFFER, &[(buffer.buffer, 0, vk::WHOLE_SIZE)]);
    let vertex = spirv(include_bytes!("../data/ordered.vert.spv"));
    let fragment = spirv(include_bytes!("../data/ordered.frag.spv"));
    let pipeline = graphics(&c, &vertex, &fragment, set.layout, false);
    let drawn = render(&c, &target, AREA, |b| {
        // SAFETY: valid usage.
        unsafe {
            c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
            c.device.cmd_bind_descriptor_sets(b, vk::PipelineBindPoint::GRAPHICS, set.layout, 0, &[set.set], &[]);
            c.device.cmd_draw(b, 3, TRIANGLES, 0, 0);
        }
    });
    drawn.expect("drawn");
    let all = (0..TRIANGLES).fold(0u32, |n, number| n.wrapping_mul(5).wrapping_add(number + 1));
    let covered = [(6, 6), (7, 6), (6, 7)].map(|(x, y)| x + 8 * y);
    for (i, word) in buffer.words().into_iter().enumerate() {
        assert_eq!(word, if covered.contains(&i) { all } else { 0 }, "{i}");
    }
    // SAFETY: not in use any more.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    set.destroy(&c);
    c.free(buffer);
    c.free_image(target);
}

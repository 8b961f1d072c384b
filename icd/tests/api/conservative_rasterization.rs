//! Tests of VK_EXT_conservative_rasterization: the pixels of triangles in each mode, and
//! FullyCoveredEXT, compared with geometry in integers.

use crate::common::info::{RGBA8, Triangles, area};
use crate::common::{Context, image_info};
use crate::pipeline::{Set, module, render};
use ash::vk;

const SIDE: u32 = 64;
/// Corners of triangles in 1/256 of a pixel: two with sides on the borders of pixels, one that is
/// thinner than a pixel, and one without area.
const TRIANGLES: [[[i64; 2]; 3]; 4] = [
    [[512, 512], [2560, 512], [512, 2560]],
    [[8192, 1024], [15000, 3333], [9000, 15500]],
    [[700, 9000], [6000, 15000], [6100, 15000]],
    [[3000, 4000], [3500, 5000], [4000, 6000]],
];

fn cross(p: [i64; 2], q: [i64; 2], r: [i64; 2]) -> i64 {
    (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1])
}

fn square(x: i64, y: i64, grow: i64) -> [[i64; 2]; 4] {
    let [x0, y0, x1, y1] = [256 * x - grow, 256 * y - grow, 256 * x + 256 + grow, 256 * y + 256 + grow];
    [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]
}

/// Returns true if a triangle and a square have a point in common, by separating axes.
fn touches(triangle: &[[i64; 2]; 3], square: &[[i64; 2]; 4]) -> bool {
    let normals = (0..3).map(|i| (triangle[i], triangle[(i + 1) % 3])).map(|(p, q)| [p[1] - q[1], q[0] - p[0]]);
    normals.chain([[1, 0], [0, 1]]).all(|n| {
        let along = |p: &[i64; 2]| p[0] * n[0] + p[1] * n[1];
        let (low, high) = (triangle.iter().map(along).min(), triangle.iter().map(along).max());
        let (first, last) = (square.iter().map(along).min(), square.iter().map(along).max());
        low <= last && first <= high
    })
}

/// Returns true if a square lies in the interior of a triangle.
fn contains([a, b, c]: [[i64; 2]; 3], square: &[[i64; 2]; 4]) -> bool {
    let sign = cross(a, b, c).signum();
    square.iter().all(|&p| [(a, b), (b, c), (c, a)].iter().all(|&(from, to)| cross(from, to, p) * sign > 0))
}

#[test]
fn modes_cover_pixels_that_triangles_touch_or_contain() {
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
    let extensions = [c"VK_EXT_conservative_rasterization", c"VK_KHR_dynamic_rendering"];
    let c = Context::with(&[], &extensions, &mut [&mut rendering]);
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    let target = c.image_of(&image_info(RGBA8, [SIDE; 2], usage), vk::ImageAspectFlags::COLOR);
    let set = Set::new(&c, &[]);
    let modules = [module(&c, &shader!("attribute.vert")), module(&c, &shader!("fully_covered.frag"))];
    let mut vertices = c.buffer(24);
    use vk::ConservativeRasterizationModeEXT as Mode;
    for triangle in &TRIANGLES {
        let corners = triangle.map(|corner| corner.map(|c| c as f32 / (128.0 * SIDE as f32) - 1.0));
        vertices.fill_words(|i| corners.as_flattened()[i as usize].to_bits());
        for (mode, extra) in [(Mode::OVERESTIMATE, 0), (Mode::OVERESTIMATE, 128), (Mode::UNDERESTIMATE, 0)] {
            let state = vk::PipelineRasterizationConservativeStateCreateInfoEXT::default()
                .conservative_rasterization_mode(mode)
                .extra_primitive_overestimation_size(extra as f32 / 256.0);
            let pipeline = Triangles {
                side: Some(SIDE),
                stride: 8,
                attributes: &[(vk::Format::R32G32_SFLOAT, 0)],
                rasterization: Some(&state),
                ..Triangles::new(modules[0], modules[1], set.layout)
            };
            let pipeline = pipeline.create(&c.device).expect("pipeline");
            // SAFETY: valid usage.
            render(&c, &target, area(SIDE), |b| unsafe {
                c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
                c.device.cmd_bind_vertex_buffers(b, 0, &[vertices.buffer], &[0]);
                c.device.cmd_draw(b, 3, 1, 0, 0);
            })
            .expect("drawn");
            let texels = c.read_image(&target, 4);
            for (i, texel) in texels.as_chunks::<4>().0.iter().enumerate() {
                let (x, y) = (i as i64 % i64::from(SIDE), i as i64 / i64::from(SIDE));
                let inside = contains(*triangle, &square(x, y, 0));
                let covered = match mode {
                    Mode::UNDERESTIMATE => inside,
                    _ => touches(triangle, &square(x, y, extra)),
                };
                let want = [255 * u8::from(covered && !inside), 255 * u8::from(inside), 0, 255 * u8::from(covered)];
                assert_eq!(*texel, want, "{triangle:?}, {mode:?} {extra}, pixel {x}, {y}");
            }
            // SAFETY: the device is idle.
            unsafe { c.device.destroy_pipeline(pipeline, None) };
        }
    }
    // SAFETY: the device is idle.
    modules.into_iter().for_each(|module| unsafe { c.device.destroy_shader_module(module, None) });
    set.destroy(&c);
    c.free(vertices);
    c.free_image(target);
}

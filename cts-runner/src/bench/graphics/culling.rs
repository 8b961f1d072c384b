//! Draws that depend on results of the device. Compute shaders find the lights of each tile of
//! 16×16 pixels and the visible objects. Indirect draws draw these objects, and a fragment adds the
//! lights of its tile.

use super::super::check::Random;
use super::super::figure::{Amount, Unit};
use super::super::kernel::{Kernel, storage, storage_of};
use super::super::recording::{Recording, SetupResult, need, need_limit};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::reference::hash;
use super::target::{SIZE, Target};
use crate::vk::{Gpu, ProgramDesc, Recorder, Resource};
use ash::vk;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[Spec::quick("graphics/light-culling", Family::Graphics, culled)];

const LIGHTS: u32 = 512;
const OBJECTS: u32 = 4096;
/// Number of indirect draws. An object uses the mesh of its number modulo this value.
const MESHES: u32 = 64;
/// Number of tiles in a row and in a column. `LIST` is the maximum number of lights of a tile.
const TILES: u32 = 64;
const LIST: u32 = 64;

struct Light {
    middle: [f32; 2],
    radius: f32,
    color: u32,
}

fn lights() -> Vec<Light> {
    let mut random = Random::new(53);
    let light = |i: u32| Light {
        middle: [random.float(0.0, 1024.0), random.float(0.0, 1024.0)],
        radius: random.float(24.0, 64.0),
        color: hash(i + 1000),
    };
    (0..LIGHTS).map(light).collect()
}

/// Returns the objects: corner in pixels, size, depth. About four in nine are visible.
fn objects() -> Vec<[f32; 4]> {
    let mut random = Random::new(59);
    let mut at = || (random.word() % 1536) as f32 - 256.0;
    // 1237 is coprime to the number of objects, so each gets a different depth, in a mixed order.
    let object = |i: u32| [at(), at(), (24 + i % 5 * 8) as f32, (i * 1237 % OBJECTS + 1) as f32 / 8192.0];
    (0..OBJECTS).map(object).collect()
}

/// Returns the draws before culling: four vertices, no instances, and the start of each mesh's
/// list.
fn draws() -> Vec<u32> {
    (0..MESHES).flat_map(|mesh| [4, 0, 0, mesh * (OBJECTS / MESHES)]).collect()
}

fn culled(gpu: &Gpu) -> SetupResult {
    need(gpu.features.multi_draw_indirect, "multiDrawIndirect")?;
    need(gpu.features.draw_indirect_first_instance, "drawIndirectFirstInstance")?;
    need_limit(gpu.properties.limits.max_draw_indirect_count >= MESHES, "maxDrawIndirectCount")?;
    let (lights, objects) = (lights(), objects());
    let light_words = |l: &Light| [l.middle[0].to_bits(), l.middle[1].to_bits(), l.radius.to_bits(), l.color];
    let light_buffer = storage_of(gpu, &lights.iter().flat_map(light_words).collect::<Vec<_>>())?;
    let object_buffer = storage_of(gpu, &objects.iter().flatten().map(|v| v.to_bits()).collect::<Vec<_>>())?;
    let lists = storage(gpu, (TILES * TILES * (LIST + 1)) as usize * 4)?;
    let visible = storage(gpu, OBJECTS as usize * 4)?;
    let template = gpu.buffer_with(&draws(), vk::BufferUsageFlags::TRANSFER_SRC)?;
    let usage = vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::INDIRECT_BUFFER;
    let commands = gpu.buffer(template.size, usage | vk::BufferUsageFlags::TRANSFER_DST)?;
    let [l, o, t, v, c] = [light_buffer, object_buffer, lists, visible, commands].map(|b| Resource::Storage(b.handle));
    let light_kernel = Kernel::new(gpu, &spirv!("graphics/cull_lights.comp"), &[l, t], 1)?;
    let object_kernel = Kernel::new(gpu, &spirv!("graphics/cull_objects.comp"), &[o, c, v], 0)?;
    let target = Target::deep(gpu, [0.0, 0.0, 0.0, 1.0])?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/culled.vert"),
            fragment: &spirv!("graphics/culled.frag"),
            resources: &[o, v, l, t],
            topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
            depth: Some((vk::CompareOp::LESS, true)),
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.copy_buffer(&template, &commands, &[vk::BufferCopy::default().size(template.size as u64)]);
        r.barrier();
        r.with(|d, cmd| {
            light_kernel.dispatch(d, cmd, &[LIGHTS], [TILES, TILES, 1]);
            object_kernel.dispatch(d, cmd, &[], [OBJECTS / 64, 1, 1]);
        });
        r.barrier();
        r.begin(&target.pass);
        r.bind(&program);
        r.draw_indirect(&commands, MESHES);
        r.end();
    };
    let color = target.color;
    Recording::make(gpu, Amount::new(SIZE * SIZE, Unit::Pixel), record, move |gpu| {
        let nearest = nearest(&objects);
        // Lights are summed in an unspecified order.
        Picture::read(gpu, &color)?.near(3, Tolerance::without_outliers(1.5), |x, y| {
            nearest[y * SIZE as usize + x].map_or([0.0, 0.0, 0.0, 1.0], |object| lit(&lights, object, x, y))
        })
    })
}

/// Returns the nearest object at each pixel.
fn nearest(objects: &[[f32; 4]]) -> Vec<Option<u32>> {
    let mut pixels = vec![(1.0f32, None); (SIZE * SIZE) as usize];
    for (&[x, y, size, depth], i) in objects.iter().zip(0..) {
        let range = |from: f32| from.max(0.0) as usize..(from + size).clamp(0.0, SIZE as f32) as usize;
        for at in range(y).flat_map(|y| range(x).map(move |x| y * SIZE as usize + x)) {
            if depth < pixels[at].0 {
                pixels[at] = (depth, Some(i));
            }
        }
    }
    pixels.into_iter().map(|p| p.1).collect()
}

/// Returns the colour that `culled.frag` computes for an object, summed over all lights.
fn lit(lights: &[Light], object: u32, x: usize, y: usize) -> [f32; 4] {
    let unpacked = |color: u32| color.to_le_bytes().map(|c| f32::from(c) / 255.0);
    let (pixel, mut sum) = ([x as f32 + 0.5, y as f32 + 0.5], [0.1; 3]);
    for light in lights {
        let off: [f32; 2] = std::array::from_fn(|i| pixel[i] - light.middle[i]);
        let reach = (1.0 - (off[0] * off[0] + off[1] * off[1]).sqrt() / light.radius).max(0.0);
        let color = unpacked(light.color);
        sum = std::array::from_fn(|i| sum[i] + color[i] * reach * reach);
    }
    let [r, g, b, _] = unpacked(hash(object));
    [(r * sum[0]).min(1.0), (g * sum[1]).min(1.0), (b * sum[2]).min(1.0), 1.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tile_has_more_lights_than_its_list_holds() {
        let lights = lights();
        let reaches = |tile: [u32; 2], light: &&Light| {
            let off: [f32; 2] = std::array::from_fn(|i| {
                let least = (tile[i] * 16) as f32;
                light.middle[i] - light.middle[i].clamp(least, least + 16.0)
            });
            off[0] * off[0] + off[1] * off[1] < light.radius * light.radius
        };
        let most =
            (0..TILES * TILES).map(|t| lights.iter().filter(|l| reaches([t % TILES, t / TILES], l)).count()).max();
        assert!(most > Some(4) && most <= Some(LIST as usize), "{most:?}");
    }
}

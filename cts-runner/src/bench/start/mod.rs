//! Family `start`: time that a program spends before its first frame, and memory that the driver
//! takes.

use super::create::{self, MODULES};
use super::figure::{CheckError, Figure, SetupError};
use super::process::peak_memory;
use super::workload::{Family, Fresh, FreshError, Make, Spec};
use crate::vk::{Error, Gpu, ImageDesc, image_barrier, memory_barrier};
use ash::vk;
use std::time::Instant;

/// Workloads of the family.
pub const SPECS: &[Spec] = &[
    Spec { name: "start/trivial", family: Family::Start, quick: true, make: Make::Fresh(trivial) },
    Spec { name: "start/heavy", family: Family::Start, quick: false, make: Make::Fresh(heavy) },
];

/// Measures instance, device and first pixel: the time of each step, and the time since the
/// driver's library was opened.
fn trivial(fresh: &Fresh<'_>) -> Result<Vec<Figure>, FreshError> {
    let start = Instant::now();
    let info = vk::InstanceCreateInfo::default();
    // SAFETY: `info` is valid.
    let instance = unsafe { fresh.api.entry.create_instance(&info, None) };
    let instance = instance.map_err(|code| Error::Vulkan("vkCreateInstance", code))?;
    let made = start.elapsed();
    // SAFETY: no object of the instance is alive.
    unsafe { instance.destroy_instance(None) };
    let start = Instant::now();
    let gpu = Gpu::new(fresh.api, &fresh.options)?;
    let device = start.elapsed();
    let solid = MODULES.iter().find(|m| m.name == "solid");
    let solid = solid.ok_or_else(|| Error::Missing("the module that draws one colour".into()))?;
    let picture = create::draw(&gpu, solid).map_err(FreshError::Make)?;
    let pixel = start.elapsed();
    if picture[..4] != [51, 102, 153, 255] {
        return Err(CheckError::Output(format!("the first pixel is {:?}", &picture[..4])).into());
    }
    let peak = peak_memory();
    fresh.close(gpu)?;
    Ok(vec![
        Figure::seconds("open", fresh.opened),
        Figure::seconds("instance", made),
        Figure::seconds("device", device),
        Figure::seconds("first-pixel", pixel),
        Figure::bytes("memory", peak),
    ])
}

/// Width and height of the heavy program's render targets in pixels.
const SIDE: u32 = 2048;
/// Number of render targets.
const TARGETS: usize = 8;
/// Number of bytes of a buffer.
const BUFFER: usize = 16 << 20;
const BUFFERS: usize = 8;

/// Measures a program that keeps all pipelines of the create family alive, with 128 MiB of images
/// and as much of buffers, all of them touched.
fn heavy(fresh: &Fresh<'_>) -> Result<Vec<Figure>, FreshError> {
    let start = Instant::now();
    let gpu = Gpu::new(fresh.api, &fresh.options)?;
    for module in MODULES {
        match create::draw(&gpu, module) {
            Ok(_) | Err(SetupError::Unsupported(_)) => {}
            Err(error) => return Err(FreshError::Make(error)),
        }
    }
    let usage =
        vk::ImageUsageFlags::TRANSFER_DST | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::COLOR_ATTACHMENT;
    for _ in 0..TARGETS {
        let image = gpu.image(&ImageDesc::d2(vk::Format::R8G8B8A8_UNORM, SIDE, SIDE, usage))?;
        let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
        let clear = vk::ClearColorValue { float32: [0.5; 4] };
        gpu.run(|d, cmd| {
            image_barrier(d, cmd, &image, image.full_range(), vk::ImageLayout::UNDEFINED, layout);
            // SAFETY: the image has the layout and the usage that the clear needs.
            unsafe { d.cmd_clear_color_image(cmd, image.handle, layout, &clear, &[image.full_range()]) };
        })?;
    }
    for i in 0..BUFFERS {
        let buffer = gpu.buffer(BUFFER, vk::BufferUsageFlags::TRANSFER_DST)?;
        gpu.run(|d, cmd| {
            // SAFETY: the buffer has the usage that the fill needs.
            unsafe { d.cmd_fill_buffer(cmd, buffer.handle, 0, vk::WHOLE_SIZE, i as u32) };
            memory_barrier(d, cmd);
        })?;
    }
    let time = start.elapsed();
    let peak = peak_memory();
    fresh.close(gpu)?;
    Ok(vec![Figure::seconds("time", time), Figure::bytes("memory", peak)])
}

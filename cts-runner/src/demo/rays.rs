//! `demo --rays`: traces a scene with a ray tracing pipeline, and reports a picture and figures.

use super::ray_scene::RayScene;
use super::{Options, ms, write_png};
use crate::fnv::fnv1a;
use crate::vk::{Gpu, GpuOptions, Result};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Results of a run.
#[derive(Clone, Debug)]
pub struct RaysReport {
    /// Name of the device.
    pub device: String,
    /// Milliseconds for instance, device, structures and pipeline.
    pub start_ms: f64,
    /// Milliseconds of the creation of the pipeline and its tables.
    pub pipeline_ms: f64,
    /// Milliseconds of the builds of all structures.
    pub build_ms: f64,
    /// Milliseconds of the first frame, which includes late work of the driver.
    pub first_frame_ms: f64,
    /// Median milliseconds of a frame.
    pub frame_ms: f64,
    /// Number of triangles of all instances.
    pub triangles: u64,
    /// Number of frames that were traced.
    pub frames: u32,
    /// Number of rays of all frames.
    pub rays: u64,
    /// Million rays per second, of all frames but the first.
    pub mrays_s: f64,
    /// FNV-1a hash of the picture, for comparing runs.
    pub picture_hash: u64,
    /// Number of messages of the validation layer.
    pub validation_messages: usize,
}

/// Runs the demo.
///
/// # Safety
/// No other thread may exist yet, as [`crate::driver::Target::open`] requires.
pub unsafe fn run(options: &Options) -> Result<RaysReport> {
    // SAFETY: no other thread exists, which the `# Safety` section of this function requires.
    let api = unsafe { options.target.open()? };
    let (width, height) = options.size;
    let start = Instant::now();
    let gpu = Gpu::new(&api, &GpuOptions { validation: options.validation, ..GpuOptions::everything() })?;
    let scene = RayScene::new(&gpu, width, height)?;
    let start_ms = ms(start.elapsed());
    let frames = options.frames.max(1);
    let bar = if options.progress { ProgressBar::new(frames.into()) } else { ProgressBar::hidden() };
    let mut times = Vec::new();
    for index in 0..frames {
        times.push(scene.frame(&gpu, index)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let (picture, rays) = scene.picture(frames);
    if let Some(path) = &options.out {
        write_png(path, width, height, &picture)?;
    }
    // The first frame is reported separately, unless it is the only one.
    let steady = if times.len() > 1 { &times[1..] } else { &times[..] };
    let per_frame = rays as f64 / f64::from(frames);
    let mut sorted = steady.to_vec();
    sorted.sort();
    Ok(RaysReport {
        device: gpu.name(),
        start_ms,
        pipeline_ms: ms(scene.creation),
        build_ms: ms(scene.build),
        first_frame_ms: ms(times[0]),
        frame_ms: ms(sorted[sorted.len() / 2]),
        triangles: scene.triangles,
        frames,
        rays,
        mrays_s: per_frame * steady.len() as f64 / steady.iter().sum::<Duration>().as_secs_f64() / 1e6,
        picture_hash: fnv1a(&picture),
        validation_messages: gpu.validation_messages(),
    })
}

impl RaysReport {
    /// Returns the report as JSON.
    pub fn json(&self) -> Value {
        json!({
            "device": self.device,
            "start_ms": self.start_ms,
            "pipeline_ms": self.pipeline_ms,
            "build_ms": self.build_ms,
            "first_frame_ms": self.first_frame_ms,
            "frame_ms": self.frame_ms,
            "triangles": self.triangles,
            "frames": self.frames,
            "rays": self.rays,
            "mrays_s": self.mrays_s,
            "picture_fnv1a": format!("{:016x}", self.picture_hash),
            "validation_messages": self.validation_messages,
        })
    }

    /// Prints the report as text.
    pub fn print(&self) {
        println!("device            {}", self.device);
        println!("start             {:8.2} ms  (instance, device, structures, pipeline)", self.start_ms);
        println!("  pipeline        {:8.2} ms", self.pipeline_ms);
        println!("  builds          {:8.2} ms  ({} triangles)", self.build_ms, self.triangles);
        println!("first frame       {:8.2} ms", self.first_frame_ms);
        println!("frame             {:8.2} ms  (median of {})", self.frame_ms, self.frames);
        println!("throughput        {:8.2} Mrays/s  ({} rays)", self.mrays_s, self.rays);
        println!("picture           {:016x}", self.picture_hash);
    }
}

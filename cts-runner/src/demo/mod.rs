//! The demo: runs a compute pass and draws a scene on any driver, and reports a picture and
//! figures.
//!
//! Every frame simulates one step, waits, draws and waits again. The two times are wall-clock times
//! from submission to fence and can be compared between drivers. Late compilation by a driver
//! affects the first frame, which is reported separately from the median.

mod meshes;
mod ray_scene;
pub mod rays;
mod scene;
mod textures;

pub use scene::{BODIES, TILES};

use crate::driver::Target;
use crate::fnv::fnv1a;
use crate::vk::{Error, Gpu, GpuOptions, Result};
use ash::vk;
use indicatif::{ProgressBar, ProgressStyle};
use scene::{FrameTime, Scene};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The driver and how to open it.
    pub target: Target,
    /// Number of frames.
    pub frames: u32,
    /// Width and height of the picture in pixels.
    pub size: (u32, u32),
    /// Path for the picture of the last frame.
    pub out: Option<PathBuf>,
    /// Enables the validation layer. Any message makes the run fail.
    pub validation: bool,
    /// Shows a progress bar.
    pub progress: bool,
}

impl Default for Options {
    fn default() -> Self {
        let out = Some("demo.png".into());
        Self { target: Target::default(), frames: 60, size: (1280, 720), out, validation: false, progress: true }
    }
}

/// Results of a run.
#[derive(Clone, Debug)]
pub struct DemoReport {
    /// Name of the device.
    pub device: String,
    /// Name of the library that was opened.
    pub opened: String,
    /// API version of the device: major, minor, patch.
    pub api_version: (u32, u32, u32),
    /// Milliseconds for instance, device, images, buffers and pipelines.
    pub start_ms: f64,
    /// Name and creation time in milliseconds of each pipeline.
    pub pipelines_ms: Vec<(&'static str, f64)>,
    /// Milliseconds of the first frame, which includes late work of the driver.
    pub first_frame_ms: f64,
    /// Median milliseconds of a whole frame.
    pub frame_ms: f64,
    /// Median milliseconds of a simulation step.
    pub compute_ms: f64,
    /// Median milliseconds of the scene.
    pub scene_ms: f64,
    /// Number of triangles of a frame.
    pub triangles: u64,
    /// Number of draw calls of a frame.
    pub draws: usize,
    /// Number of frames that were drawn.
    pub frames: u32,
    /// Number of pixels of the target.
    pub pixels: u64,
    /// FNV-1a hash of the last picture, for comparing runs.
    pub picture_hash: u64,
    /// FNV-1a hash of the bodies after the last step.
    pub bodies_hash: u64,
    /// Number of messages of the validation layer.
    pub validation_messages: usize,
}

/// Runs the demo.
///
/// # Safety
/// No other thread may exist yet, as [`Target::open`] requires.
pub unsafe fn run(options: &Options) -> Result<DemoReport> {
    // SAFETY: no other thread exists, which the `# Safety` section of this function requires.
    let api = unsafe { options.target.open()? };
    let (width, height) = options.size;
    let start = Instant::now();
    // The scene has grass only if there is a geometry stage.
    let features = vk::PhysicalDeviceFeatures::default().geometry_shader(true);
    let gpu = Gpu::new(&api, &GpuOptions { features, validation: options.validation, ..GpuOptions::default() })?;
    let scene = Scene::new(&gpu, width, height)?;
    let start_ms = ms(start.elapsed());
    let bar = if options.progress { ProgressBar::new(options.frames.into()) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} frames, {eta} left") {
        bar.set_style(style);
    }
    let mut times = Vec::new();
    for index in 0..options.frames.max(1) {
        times.push(scene.frame(&gpu, index)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let picture = scene.picture(&gpu)?;
    if let Some(path) = &options.out {
        write_png(path, width, height, &picture)?;
    }
    let body_bytes: Vec<u8> = scene.bodies(times.len() as u32).iter().flat_map(|w| w.to_le_bytes()).collect();
    // The first frame is reported separately, unless it is the only one.
    let steady = if times.len() > 1 { &times[1..] } else { &times[..] };
    let version = gpu.properties.api_version;
    Ok(DemoReport {
        device: gpu.name(),
        opened: api.name.clone(),
        api_version: (vk::api_version_major(version), vk::api_version_minor(version), vk::api_version_patch(version)),
        start_ms,
        pipelines_ms: scene.creation.iter().map(|&(name, time)| (name, ms(time))).collect(),
        first_frame_ms: ms(times[0].total),
        frame_ms: median(steady, |t| t.total),
        compute_ms: median(steady, |t| t.compute),
        scene_ms: median(steady, |t| t.scene),
        triangles: scene.triangles(),
        draws: scene.draw_calls(),
        frames: times.len() as u32,
        pixels: u64::from(width) * u64::from(height),
        picture_hash: fnv1a(&picture),
        bodies_hash: fnv1a(&body_bytes),
        validation_messages: gpu.validation_messages(),
    })
}

impl DemoReport {
    /// Returns the creation time of all pipelines in milliseconds.
    pub fn pipeline_ms(&self) -> f64 {
        self.pipelines_ms.iter().map(|p| p.1).sum()
    }

    /// Returns the milliseconds of the pipelines plus the first frame minus a usual frame. This is
    /// the cost of the driver's compilation, whether early or late.
    pub fn first_use_ms(&self) -> f64 {
        self.pipeline_ms() + (self.first_frame_ms - self.frame_ms).max(0.0)
    }

    /// Returns the million triangles per second of the scene.
    pub fn mtri_s(&self) -> f64 {
        self.triangles as f64 / self.scene_ms / 1e3
    }

    /// Returns the million pixels of the target per second of the scene.
    pub fn mpixel_s(&self) -> f64 {
        self.pixels as f64 / self.scene_ms / 1e3
    }

    /// Returns the report as JSON.
    pub fn json(&self) -> Value {
        let pipelines: Vec<Value> =
            self.pipelines_ms.iter().map(|(name, ms)| json!({ "name": name, "ms": ms })).collect();
        let (major, minor, patch) = self.api_version;
        json!({
            "device": self.device,
            "opened": self.opened,
            "api_version": format!("{major}.{minor}.{patch}"),
            "start_ms": self.start_ms,
            "pipelines": pipelines,
            "pipelines_ms": self.pipeline_ms(),
            "first_use_ms": self.first_use_ms(),
            "first_frame_ms": self.first_frame_ms,
            "frame_ms": self.frame_ms,
            "compute_ms": self.compute_ms,
            "scene_ms": self.scene_ms,
            "frames": self.frames,
            "draws": self.draws,
            "triangles": self.triangles,
            "bodies": BODIES,
            "mtri_s": self.mtri_s(),
            "mpixel_s": self.mpixel_s(),
            "picture_fnv1a": format!("{:016x}", self.picture_hash),
            "bodies_fnv1a": format!("{:016x}", self.bodies_hash),
            "validation_messages": self.validation_messages,
        })
    }

    /// Prints the report as text.
    pub fn print(&self) {
        let (major, minor, patch) = self.api_version;
        println!("device            {} (Vulkan {major}.{minor}.{patch}, {})", self.device, self.opened);
        println!("start             {:8.2} ms  (instance, device, textures, pipelines)", self.start_ms);
        println!("pipelines         {:8.2} ms", self.pipeline_ms());
        for (name, ms) in &self.pipelines_ms {
            println!("  {ms:8.2} ms  {name}");
        }
        println!("first frame       {:8.2} ms", self.first_frame_ms);
        println!("frame             {:8.2} ms  (median of {})", self.frame_ms, self.frames);
        let interactions = f64::from(BODIES) * f64::from(TILES * 256);
        let rate = interactions / self.compute_ms / 1e6;
        println!("  compute         {:8.2} ms  ({BODIES} bodies, {rate:.2} G interactions/s)", self.compute_ms);
        println!("  scene           {:8.2} ms  ({} draws, {} triangles)", self.scene_ms, self.draws, self.triangles);
        println!("throughput        {:8.2} Mtri/s, {:.2} Mpixel/s", self.mtri_s(), self.mpixel_s());
        println!("picture           {:016x}", self.picture_hash);
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(times: &[FrameTime], part: impl Fn(&FrameTime) -> Duration) -> f64 {
    let mut sorted: Vec<f64> = times.iter().map(|t| ms(part(t))).collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Writes RGBA bytes as an opaque PNG.
fn write_png(path: &Path, width: u32, height: u32, rgba: &[u8]) -> Result<()> {
    let rgb: Vec<u8> = rgba.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
    let file = std::fs::File::create(path).map_err(|e| Error::Io(path.into(), e))?;
    let mut encoder = png::Encoder::new(std::io::BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut w| w.write_image_data(&rgb));
    written.map_err(|e| Error::Io(path.into(), std::io::Error::other(e)))
}

//! Benchmarks that print rates. Run them by `cargo test --release -p grus-rasterizer -- --ignored
//! --nocapture --test-threads 1`.

use super::*;
use std::time::Instant;

/// Fragment stage of almost no cost.
#[base::code_fn]
unsafe extern "code" fn fs_constant(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the stage is called with a `FragmentBatch` of 4 output slots and 8 lanes.
    unsafe {
        let b = &mut *batch.cast::<FragmentBatch>();
        let words = (b.count as usize * 4).next_multiple_of(8) * 4;
        core::slice::from_raw_parts_mut(b.outputs, words).fill(0.5f32.to_bits());
    }
}

/// Returns the processor time of this thread in nanoseconds, so that a busy machine does not affect
/// it; `None` if the system does not report it.
fn cpu_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn rate(name: &str, unit: &str, amount: f64, mut f: impl FnMut()) {
    f();
    let (mut wall, mut cpu) = (f64::MAX, f64::MAX);
    for _ in 0..5 {
        let (start, start_cpu) = (Instant::now(), cpu_time());
        f();
        wall = wall.min(start.elapsed().as_secs_f64());
        if let (Some(a), Some(b)) = (start_cpu, cpu_time()) {
            cpu = cpu.min((b - a) * 1e-9);
        }
    }
    println!("{name:40} {:9.2} M{unit}/s wall {:9.2} of this thread's time", amount / wall / 1e6, amount / cpu / 1e6);
}

#[test]
#[ignore = "prints rates; run in release"]
fn rates() {
    let (w, h) = (1920, 1080);
    let color = Image::new(RGBA8, w, h, 1, 1);
    let depth = Image::new(D32F, w, h, 1, 1);
    let (color4, depth4) = (Image::new(RGBA8, w, h, 4, 1), Image::new(D32F, w, h, 4, 1));
    let quad = [v(-1.0, -1.0, 0.5, WHITE), v(1.0, -1.0, 0.5, WHITE), v(-1.0, 1.0, 0.5, WHITE), v(1.0, 1.0, 0.5, WHITE)];
    let fragment = || Some(fragment_stage(fs_constant, &[], FragmentInfo::default()));
    let pixels = f64::from(w * h);
    let opaque = state(Topology::TriangleStrip, w, h);
    let mut tested = opaque.clone();
    (tested.pixel.depth_test, tested.pixel.depth_write) = (true, true);
    tested.pixel.depth_compare = CompareOp::Always;
    let mut blended = opaque.clone();
    blended.pixel.blend[0] = SRC_ALPHA;
    let mut hidden = tested.clone();
    hidden.pixel.depth_compare = CompareOp::Never;
    for threads in [1, 2] {
        let engine = Engine::new(threads);
        let go = |color: &Image, depth: Option<&Image>, d: &Draw| {
            let mut p = engine.begin_rendering(targets(color, depth));
            p.draw(d.clone());
            p.end();
        };
        println!("{threads} thread(s)");
        let fill = |s: &DrawState| draw_with(fragment(), s.clone(), &quad);
        rate("fill opaque", "px", pixels, || go(&color, None, &fill(&opaque)));
        rate("fill src-alpha", "px", pixels, || go(&color, None, &fill(&blended)));
        rate("fill depth always+write", "px", pixels, || go(&color, Some(&depth), &fill(&tested)));
        rate("depth only", "px", pixels, || {
            go(&color, Some(&depth), &draw_with(None, tested.clone(), &quad));
        });
        rate("depth rejected", "px", pixels, || go(&color, Some(&depth), &fill(&hidden)));
        rate("fill 4x opaque", "px", pixels, || go(&color4, None, &fill(&opaque)));
        rate("fill 4x depth", "px", pixels, || go(&color4, Some(&depth4), &fill(&tested)));
        let engine = Engine::new(threads);
        let mut p = engine.begin_rendering(targets(&color, None));
        rate("clear", "px", pixels, || p.clear_color(0, [0; 4], [0, 0, w, h], 0, 1));
        // The scene is an indexed grid of small triangles.
        let n = 300u32;
        let mut grid = Vec::new();
        for i in 0..n * n {
            let at = |k: u32| k as f32 / (n - 1) as f32 * 2.0 - 1.0;
            grid.push(v(at(i % n), at(i / n), 0.5, WHITE));
        }
        let mut indices: Vec<u32> = Vec::new();
        for (j, i) in (0..n - 1).flat_map(|j| (0..n - 1).map(move |i| (j, i))) {
            let a = j * n + i;
            indices.extend([a, a + 1, a + n, a + n, a + 1, a + n + 1]);
        }
        let triangles = f64::from(indices.len() as u32 / 3);
        for (name, culled) in [("small triangles (12 px)", 0), ("culled triangles", 3)] {
            let mut s = tested.clone();
            (s.topology, s.cull_mode) = (Topology::TriangleList, culled);
            let mut d = draw_with(fragment(), s, &grid);
            let range = range_of(&indices);
            d.index_buffer = Some(IndexBuffer { range, before: 0, index_bytes: 4, restart: None });
            d.counts.count = indices.len() as u32;
            rate(name, "tri", triangles, || go(&color, Some(&depth), &d));
        }
        let s = Arc::new(state(Topology::TriangleStrip, 64, 64));
        let small = Image::new(RGBA8, 64, 64, 1, 1);
        let stages = stages(vertex_stage(), fragment());
        let mut d = draw_with(None, opaque.clone(), &quad);
        (d.state, d.stages) = (s, stages);
        rate("draws of 64x64 px, one pass", "draw", 1000.0, || {
            let mut p = engine.begin_rendering(targets(&small, None));
            (0..1000).for_each(|_| _ = p.draw(d.clone()));
            p.end();
        });
    }
}

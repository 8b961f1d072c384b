//! A program that traces rays with the published `wgpu` crate: acceleration structures, and ray
//! queries in a compute and in a fragment stage.
//!
//! The scene has 250,632 triangles in a bottom-level structure with two instances. Some of the
//! results are compared with those of a test of each triangle here. Rays through a compacted copy
//! of the structure must have the same hits. The program writes all hits and the picture to the
//! file that its argument names, and prints figures.

mod wgpu_common;

use std::error::Error;
use std::time::{Duration, Instant};
use wgpu::util::{BufferInitDescriptor, DeviceExt};
use wgpu::*;
use wgpu_common::{adapter, entry, read, wait};

/// Number of squares of the ground along each side.
const GROUND: u32 = 354;
const RAYS: u32 = 1 << 17;
const SIZE: u32 = 256;
const COLOR: TextureFormat = TextureFormat::Rgba8Unorm;
/// Number of times that builds and dispatches are timed.
const TIMES: usize = 3;
/// Number of rays, and of pixels, that are compared.
const COMPARED: usize = 48;
/// Number of those that may differ, since they may pass within a rounding error of an edge.
const OUTLIERS: usize = 1;

type Point = [f32; 3];
/// Rows of a matrix.
type Place = [f32; 12];

const PLACES: [Place; 2] = [
    [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    [0.24, 0.0, 0.18, 1.0, 0.0, 0.5, 0.0, 1.5, -0.18, 0.0, 0.24, -0.5],
];

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args_os().nth(1).ok_or("usage: wgpu_rays FILE")?;
    let adapter = adapter()?;
    if !adapter.features().contains(Features::EXPERIMENTAL_RAY_QUERY) {
        return Err("the adapter lacks EXPERIMENTAL_RAY_QUERY".into());
    }
    let (device, queue) = wait(adapter.request_device(&DeviceDescriptor {
        required_features: Features::EXPERIMENTAL_RAY_QUERY,
        required_limits: Limits::default().using_minimum_supported_acceleration_structure_values(),
        // SAFETY: the program uses ray queries as their documentation describes.
        experimental_features: unsafe { ExperimentalFeatures::enabled() },
        ..DeviceDescriptor::default()
    }))?;
    let mesh = Mesh::new();
    let scene = Scene::new(&device, &queue, &mesh)?;
    let module = device.create_shader_module(include_wgsl!("wgpu_rays.wgsl"));
    let rays = rays();
    let hits = scene.trace(&device, &queue, &module, &rays)?;
    let compacted = scene.compacted(&device, &queue)?;
    drop(scene);
    if compacted.trace(&device, &queue, &module, &rays)? != hits {
        return Err("rays through the compacted structure have other hits".into());
    }
    let picture = compacted.draw(&device, &queue, &module)?;
    compare(&mesh, &rays, &hits, &picture)?;
    let mut bytes: Vec<u8> = hits.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
    bytes.extend(picture);
    std::fs::write(out, bytes)?;
    Ok(())
}

/// Returns a number in 0..1 that depends on `n` alone.
fn unit(n: u32) -> f32 {
    let n = (n ^ 61 ^ n >> 16).wrapping_mul(9);
    let n = (n ^ n >> 4).wrapping_mul(0x27d4_eb2d);
    ((n ^ n >> 15) >> 8) as f32 / 16_777_216.0
}

/// Uneven ground of squares of two triangles each.
struct Mesh {
    positions: Vec<Point>,
    triangles: Vec<[u32; 3]>,
}

impl Mesh {
    fn new() -> Self {
        let row = GROUND + 1;
        let point = |i: u32| {
            let [x, z] = [i % row, i / row].map(|n| (n as f32 / GROUND as f32 - 0.5) * 8.0);
            let hills = 0.06 * ((x * x - 3.0).abs() + (z * x - 1.0).abs());
            [x, hills + 0.03 * unit(i), z]
        };
        let square = |i: u32| {
            let a = i / GROUND * row + i % GROUND;
            [[a, a + row, a + 1], [a + row + 1, a + 1, a + row]]
        };
        let triangles = (0..GROUND * GROUND).flat_map(square).collect();
        Self { positions: (0..row * row).map(point).collect(), triangles }
    }

    /// Returns distance, instance and primitive of the closest hit of a ray, by a test of each
    /// triangle of each instance in double precision.
    fn closest(&self, origin: [f64; 3], direction: [f64; 3], most: f64) -> Option<(f64, usize, usize)> {
        let mut closest = None;
        let mut most = most;
        for (instance, place) in PLACES.iter().enumerate() {
            let world: Vec<[f64; 3]> = self.positions.iter().map(|p| placed(place, p)).collect();
            for (primitive, corners) in self.triangles.iter().enumerate() {
                let distance = distance(origin, direction, corners.map(|i| world[i as usize]));
                if let Some(distance) = distance.filter(|&d| d > 0.0 && d < most) {
                    most = distance;
                    closest = Some((distance, instance, primitive));
                }
            }
        }
        closest
    }
}

fn placed(place: &Place, point: &Point) -> [f64; 3] {
    let row = |i: usize| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|j| f64::from(place[4 * i + j]));
        a * f64::from(point[0]) + b * f64::from(point[1]) + c * f64::from(point[2]) + d
    };
    [row(0), row(1), row(2)]
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the distance at which a line meets a triangle (Möller and Trumbore).
fn distance(origin: [f64; 3], direction: [f64; 3], [a, b, c]: [[f64; 3]; 3]) -> Option<f64> {
    let (ab, ac) = (minus(b, a), minus(c, a));
    let p = cross(direction, ac);
    let determinant = dot(ab, p);
    let from = minus(origin, a);
    let u = dot(from, p) / determinant;
    let q = cross(from, ab);
    let v = dot(direction, q) / determinant;
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0).then(|| dot(ac, q) / determinant)
}

/// A ray: origin and least distance, direction and greatest distance.
type Ray = [f32; 8];

/// Returns rays from above in many directions, some of which hit nothing.
fn rays() -> Vec<Ray> {
    let ray = |i: u32| {
        let at = |k: u32| unit(i * 8 + k) * 2.0 - 1.0;
        [4.0 * at(0), 3.0 + at(1), 4.0 * at(2), 0.0, at(3), at(4) - 0.8, at(5), 1000.0]
    };
    (0..RAYS).map(ray).collect()
}

fn words<const N: usize>(rows: &[[f32; N]]) -> Vec<u8> {
    rows.iter().flatten().flat_map(|x| x.to_le_bytes()).collect()
}

/// Flags of both structures.
const FLAGS: AccelerationStructureFlags =
    AccelerationStructureFlags::PREFER_FAST_TRACE.union(AccelerationStructureFlags::ALLOW_COMPACTION);
const UPDATE_MODE: AccelerationStructureUpdateMode = AccelerationStructureUpdateMode::Build;

/// The structures of the scene.
struct Scene {
    blas: Blas,
    tlas: Tlas,
}

impl Scene {
    /// Makes and builds the structures, and prints the time.
    fn new(device: &Device, queue: &Queue, mesh: &Mesh) -> Result<Self, Box<dyn Error>> {
        let usage = BufferUsages::BLAS_INPUT;
        let vertices = words(&mesh.positions);
        let indices: Vec<u8> = mesh.triangles.iter().flatten().flat_map(|i| i.to_le_bytes()).collect();
        let vertices = device.create_buffer_init(&BufferInitDescriptor { label: None, contents: &vertices, usage });
        let indices = device.create_buffer_init(&BufferInitDescriptor { label: None, contents: &indices, usage });
        let size = BlasTriangleGeometrySizeDescriptor {
            vertex_format: VertexFormat::Float32x3,
            vertex_count: mesh.positions.len() as u32,
            index_format: Some(IndexFormat::Uint32),
            index_count: Some(mesh.triangles.len() as u32 * 3),
            flags: AccelerationStructureGeometryFlags::OPAQUE,
        };
        let blas = device.create_blas(
            &CreateBlasDescriptor { label: None, flags: FLAGS, update_mode: UPDATE_MODE },
            BlasGeometrySizeDescriptors::Triangles { descriptors: vec![size.clone()] },
        );
        let scene = Self::of(device, blas);
        let time = shortest(|| {
            let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
            let geometry = BlasTriangleGeometry {
                size: &size,
                vertex_buffer: &vertices,
                first_vertex: 0,
                vertex_stride: 12,
                index_buffer: Some(&indices),
                first_index: Some(0),
                transform_buffer: None,
                transform_buffer_offset: None,
            };
            let geometry = BlasGeometries::TriangleGeometries(vec![geometry]);
            let build = BlasBuildEntry { blas: &scene.blas, geometry };
            encoder.build_acceleration_structures([&build], [&scene.tlas]);
            finish(device, queue, encoder)
        })?;
        print("build", mesh.triangles.len(), "Mtri/s", time);
        Ok(scene)
    }

    /// Makes the instances of a structure, which are not built.
    fn of(device: &Device, blas: Blas) -> Self {
        let mut tlas = device.create_tlas(&CreateTlasDescriptor {
            label: None,
            max_instances: PLACES.len() as u32,
            flags: FLAGS,
            update_mode: UPDATE_MODE,
        });
        for (i, place) in PLACES.into_iter().enumerate() {
            tlas[i] = Some(TlasInstance::new(&blas, place, i as u32, 0xff));
        }
        Self { blas, tlas }
    }

    /// Makes the scene of a compacted copy of the structure, and prints the time of the copy and of
    /// the build of the instances.
    fn compacted(&self, device: &Device, queue: &Queue) -> Result<Self, Box<dyn Error>> {
        self.blas.prepare_compaction_async(|_| ());
        device.poll(PollType::wait_indefinitely())?;
        if !self.blas.ready_for_compaction() {
            return Err("the structure cannot be compacted".into());
        }
        let start = Instant::now();
        let copy = Self::of(device, queue.compact_blas(&self.blas));
        let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
        encoder.build_acceleration_structures([], [&copy.tlas]);
        finish(device, queue, encoder)?;
        print("compact", (GROUND * GROUND * 2) as usize, "Mtri/s", start.elapsed());
        Ok(copy)
    }

    /// Traces rays in a compute stage, and prints the time.
    fn trace(
        &self,
        device: &Device,
        queue: &Queue,
        module: &ShaderModule,
        rays: &[Ray],
    ) -> Result<Vec<[f32; 4]>, Box<dyn Error>> {
        let contents = &words(rays);
        let rays =
            device.create_buffer_init(&BufferInitDescriptor { label: None, contents, usage: BufferUsages::STORAGE });
        let size = u64::from(RAYS) * 16;
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        let hits = device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
        let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: None,
            layout: None,
            module,
            entry_point: Some("trace"),
            compilation_options: PipelineCompilationOptions::default(),
            cache: None,
        });
        let group = device.create_bind_group(&BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[
                entry(0, self.tlas.as_binding()),
                entry(1, rays.as_entire_binding()),
                entry(2, hits.as_entire_binding()),
            ],
        });
        let time = shortest(|| {
            let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(RAYS / 64, 1, 1);
            drop(pass);
            finish(device, queue, encoder)
        })?;
        print("trace", RAYS as usize, "Mrays/s", time);
        let bytes = read(device, queue, size, |encoder, to| encoder.copy_buffer_to_buffer(&hits, 0, to, 0, size))?;
        let floats: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        Ok(floats.chunks_exact(4).map(|v| [v[0], v[1], v[2], v[3]]).collect())
    }

    /// Draws a picture whose fragment stage traces rays, and prints the time.
    fn draw(&self, device: &Device, queue: &Queue, module: &ShaderModule) -> Result<Vec<u8>, Box<dyn Error>> {
        let target = device.create_texture(&TextureDescriptor {
            label: None,
            size: Extent3d { width: SIZE, height: SIZE, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: TextureDimension::D2,
            format: COLOR,
            usage: TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = target.create_view(&TextureViewDescriptor::default());
        let options = PipelineCompilationOptions::default();
        let pipeline = device.create_render_pipeline(&RenderPipelineDescriptor {
            label: None,
            layout: None,
            vertex: VertexState {
                module,
                entry_point: Some("whole"),
                compilation_options: options.clone(),
                buffers: &[],
            },
            primitive: PrimitiveState::default(),
            depth_stencil: None,
            multisample: MultisampleState::default(),
            fragment: Some(FragmentState {
                module,
                entry_point: Some("shade"),
                compilation_options: options,
                targets: &[Some(COLOR.into())],
            }),
            multiview_mask: None,
            cache: None,
        });
        let group = device.create_bind_group(&BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[entry(0, self.tlas.as_binding())],
        });
        let time = shortest(|| {
            let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
            let ops = Operations { load: LoadOp::Clear(Color::RED), store: StoreOp::Store };
            let attachment = RenderPassColorAttachment { view: &view, depth_slice: None, resolve_target: None, ops };
            let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
                color_attachments: &[Some(attachment)],
                ..Default::default()
            });
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.draw(0..3, 0..1);
            drop(pass);
            finish(device, queue, encoder)
        })?;
        print("draw", 2 * (SIZE * SIZE) as usize, "Mrays/s", time);
        read(device, queue, u64::from(SIZE * SIZE) * 4, |encoder, to| {
            let layout = TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(SIZE * 4), rows_per_image: None };
            let to = TexelCopyBufferInfo { buffer: to, layout };
            encoder.copy_texture_to_buffer(target.as_image_copy(), to, target.size());
        })
    }
}

/// Submits commands and waits for their end. Returns the time of both.
fn finish(device: &Device, queue: &Queue, encoder: CommandEncoder) -> Result<Duration, PollError> {
    let commands = encoder.finish();
    let start = Instant::now();
    queue.submit([commands]);
    device.poll(PollType::wait_indefinitely())?;
    Ok(start.elapsed())
}

/// Returns the shortest of several times.
fn shortest(mut timed: impl FnMut() -> Result<Duration, PollError>) -> Result<Duration, PollError> {
    let times = (0..TIMES).map(|_| timed()).collect::<Result<Vec<_>, _>>()?;
    Ok(times.into_iter().min().unwrap_or_default())
}

fn print(what: &str, amount: usize, unit: &str, time: Duration) {
    println!("{what:7} {:9.3} ms {:9.3} {unit}", time.as_secs_f64() * 1e3, amount as f64 / time.as_secs_f64() / 1e6);
}

/// Compares some hits and pixels with those that are computed here.
fn compare(mesh: &Mesh, rays: &[Ray], hits: &[[f32; 4]], picture: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut different = Vec::new();
    let mut found = 0;
    for i in (0..rays.len()).step_by(rays.len() / COMPARED) {
        let at = |k: usize| f64::from(rays[i][k]);
        let expected = mesh.closest([at(0), at(1), at(2)], [at(4), at(5), at(6)], at(7));
        found += usize::from(expected.is_some());
        let [t, instance, primitive, _] = hits[i];
        let equal = match expected {
            None => t == -1.0,
            // The neighbour of a triangle may be hit at the same distance on their common edge.
            Some((distance, _, _)) if (f64::from(t) - distance).abs() > 1e-4 * distance => false,
            Some((_, i, p)) => instance == i as f32 && (primitive - p as f32).abs() <= 2.0 * GROUND as f32 + 1.0,
        };
        if !equal {
            different.push(format!("ray {i}: {:?}, expected {expected:?}", hits[i]));
        }
    }
    if found < COMPARED / 2 || found == COMPARED {
        return Err(format!("{found} of {COMPARED} rays hit, so the scene is not a good one").into());
    }
    let (mut lit, mut dark) = (0, 0);
    // The step is odd, so all columns occur.
    for i in (0..(SIZE * SIZE) as usize).step_by(((SIZE * SIZE) as usize / COMPARED) | 1) {
        let [x, y] = [i as u32 % SIZE, i as u32 / SIZE].map(|n| ((f64::from(n) + 0.5) / 256.0 - 0.5) * 7.0);
        let expected = match mesh.closest([x, 8.0, y], [0.0, -1.0, 0.0], 20.0) {
            None => [0, 0, 255, 255],
            Some((t, ..)) => match mesh.closest([x, 8.0 - t + 0.001, y], [0.8, 0.6, 0.0], 30.0) {
                None => [255; 4],
                Some(_) => [0, 0, 0, 255],
            },
        };
        lit += usize::from(expected == [255; 4]);
        dark += usize::from(expected == [0, 0, 0, 255]);
        let pixel = &picture[4 * i..4 * i + 4];
        if pixel != expected {
            different.push(format!("pixel {i}: {pixel:?}, expected {expected:?}"));
        }
    }
    if lit == 0 || dark == 0 {
        return Err(format!("{lit} lit and {dark} dark pixels, so the scene is not a good one").into());
    }
    println!("{} of {} differ from the test of each triangle", different.len(), 2 * COMPARED);
    if different.len() > 2 * OUTLIERS { Err(different.join("\n").into()) } else { Ok(()) }
}

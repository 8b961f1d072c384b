//! Many objects: instances of a mesh in one draw, and draws that differ by a dynamic uniform
//! offset.

use super::super::check::Random;
use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance, within};
use super::reference::{cross, hash};
use super::target::{SIZE, Target, float_vertices, packed};
use crate::vk::{Gpu, ProgramDesc, Recorder, Resource, Stream};
use ash::vk;

const FAMILY: Family = Family::Graphics;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[
    Spec::quick("graphics/instances", FAMILY, instances),
    Spec::quick("graphics/dynamic-uniforms", FAMILY, dynamic_uniforms),
];

/// Number of instances in a row and in a column.
const SIDE: u32 = 100;
/// Half the edge of a cube, in pixels.
const HALF: f32 = 3.5;

/// An instance: its rotation as a quaternion, its position and its colour.
struct Instance {
    turn: [f32; 4],
    middle: [f32; 2],
    color: [u8; 4],
}

fn scene() -> Vec<Instance> {
    let mut random = Random::new(3);
    let instance = |i: u32| {
        let q: [f32; 4] = std::array::from_fn(|_| random.float(-1.0, 1.0));
        let length = q.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-3);
        let at = |n: u32| (n * 10 + 17) as f32 + 0.5;
        let [r, g, b, _] = hash(i).to_le_bytes();
        Instance {
            turn: q.map(|x| x / length),
            middle: [at(i % SIDE), at(i / SIDE)],
            color: [r | 64, g | 64, b | 64, 255],
        }
    };
    (0..SIDE * SIDE).map(instance).collect()
}

/// Returns positions and normals of the 36 vertices of a cube.
fn cube() -> Vec<f32> {
    let mut vertices = Vec::new();
    for face in 0..6 {
        let (axis, sign) = (face % 3, if face < 3 { 1.0 } else { -1.0 });
        for (s, t) in [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)] {
            let mut position = [0.0; 3];
            (position[axis], position[(axis + 1) % 3], position[(axis + 2) % 3]) = (sign * HALF, s * HALF, t * HALF);
            let mut normal = [0.0; 3];
            normal[axis] = sign;
            vertices.extend(position.iter().chain(&normal));
        }
    }
    vertices
}

/// Function `turned` of `instance.vert`.
fn turned(q: [f32; 4], v: [f32; 3]) -> [f32; 3] {
    let axis = [q[0], q[1], q[2]];
    let inner = cross(axis, v);
    let outer = cross(axis, std::array::from_fn(|i| inner[i] + q[3] * v[i]));
    std::array::from_fn(|i| v[i] + 2.0 * outer[i])
}

fn instances(gpu: &Gpu) -> SetupResult {
    let target = Target::deep(gpu, [0.0; 4])?;
    let scene = scene();
    let vertices = float_vertices(gpu, &cube())?;
    let mut words = Vec::new();
    for i in &scene {
        words.extend(i.turn.iter().chain(&i.middle).map(|v| v.to_bits()));
        words.push(packed(i.color));
    }
    let each = gpu.buffer_with(&words, vk::BufferUsageFlags::VERTEX_BUFFER)?;
    let (f2, f3, f4) = (vk::Format::R32G32_SFLOAT, vk::Format::R32G32B32_SFLOAT, vk::Format::R32G32B32A32_SFLOAT);
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/instance.vert"),
            fragment: &spirv!("graphics/flat.frag"),
            streams: &[
                Stream { stride: 24, per_instance: false, attributes: &[(f3, 0), (f3, 12)] },
                Stream {
                    stride: 28,
                    per_instance: true,
                    attributes: &[(f4, 0), (f2, 16), (vk::Format::R8G8B8A8_UNORM, 24)],
                },
            ],
            depth: Some((vk::CompareOp::LESS, true)),
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.vertices(&[vertices, each]);
        r.draw(36, SIDE * SIDE);
        r.end();
    };
    let color = target.color;
    let amount = Amount::new(12 * SIDE * SIDE, Unit::Triangle);
    Recording::make(gpu, amount, record, move |gpu| {
        let picture = Picture::read(gpu, &color)?;
        let places = scene.iter().map(|i| (i.middle[0] as usize, i.middle[1] as usize));
        // Neighbouring cubes overlap but do not reach each other's centres. An edge may run through
        // a centre.
        picture.near_at(places, Tolerance { component: 2.0, outliers: 0.01 }, |x, y| {
            middle_of(&scene[(y - 17) / 10 * SIDE as usize + (x - 17) / 10])
        })?;
        // The shadow of a cube has between one and √3 times the area of a face. Neighbouring
        // shadows may overlap slightly.
        let face = (4.0 * HALF * HALF) as usize * scene.len();
        within("covered pixels", picture.count_other([0; 4]), face * 115 / 100..=face * 173 / 100)
    })
}

/// Returns the colour in the centre of an instance, which is that of the face most directed at the
/// eye.
fn middle_of(instance: &Instance) -> [f32; 4] {
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let facing = axes.map(|a| turned(instance.turn, a)[2].abs()).into_iter().fold(0.0, f32::max);
    let [r, g, b, _] = instance.color.map(|c| f32::from(c) / 255.0 * (0.5 + 0.5 * facing));
    [r, g, b, 1.0]
}

const DRAWS: u32 = 5_000;
/// Number of rectangles in a row, and their size including the gap between them.
const ROW: u32 = 72;
const STEP: u32 = 14;

fn dynamic_uniforms(gpu: &Gpu) -> SetupResult {
    let target = Target::flat(gpu, [0.0, 0.0, 0.0, 1.0])?;
    let stride = (gpu.properties.limits.min_uniform_buffer_offset_alignment as usize).max(32);
    let color_of = |i: u32| (hash(i) | 0xff00_0000).to_le_bytes();
    let buffer = gpu.buffer(stride * DRAWS as usize, vk::BufferUsageFlags::UNIFORM_BUFFER)?;
    for i in 0..DRAWS {
        let at = [i % ROW, i / ROW].map(|n| (n * STEP + 1) as f32);
        let size = (STEP - 1) as f32;
        let color = color_of(i).map(|c| f32::from(c) / 255.0);
        buffer.write_f32(i as usize * stride, &[at[0], at[1], size, size, color[0], color[1], color[2], color[3]]);
    }
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/dynamic.vert"),
            fragment: &spirv!("graphics/dynamic.frag"),
            resources: &[Resource::UniformDynamic(buffer.handle, 32)],
            topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind_pipeline(&program);
        for i in 0..DRAWS {
            r.offsets(&program, &[i * stride as u32]);
            r.draw(4, 1);
        }
        r.end();
    };
    let expected = move |x: usize, y: usize| {
        let (x, y) = (x as u32, y as u32);
        let index = y / STEP * ROW + x / STEP;
        let inside = x % STEP >= 1 && y % STEP >= 1 && x / STEP < ROW && index < DRAWS && x < SIZE;
        if inside { color_of(index) } else { [0, 0, 0, 255] }
    };
    let color = target.color;
    Recording::make(gpu, Amount::new(DRAWS, Unit::Draw), record, move |gpu| Picture::read(gpu, &color)?.exact(expected))
}

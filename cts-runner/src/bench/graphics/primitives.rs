//! Stages that generate primitives: terrain with displacement and curves by tessellation, and
//! particles, shadow volumes and a cube shadow map by geometry shaders.

use super::super::check::{Random, as_floats};
use super::super::figure::{Amount, CheckError, Unit};
use super::super::recording::{Recording, SetupResult, need, need_format};
use super::super::workload::{Family, Spec, spirv};
use super::geometry::{SPRITES, compare_sprites, sprites};
use super::picture::{Picture, Tolerance, within};
use super::reference::{hash, normalize};
use super::target::{DEPTH, SIZE, Target, float_vertices};
use crate::vk::{Attachment, Gpu, Image, ImageDesc, ProgramDesc, Recorder, Stream};
use ash::vk;

const FAMILY: Family = Family::Graphics;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[
    Spec::quick("graphics/terrain-patches", FAMILY, terrain_factors),
    Spec::full("graphics/terrain-isotropic", FAMILY, terrain_isotropic),
    Spec::full("graphics/terrain-64-levels", FAMILY, terrain_64_levels),
    Spec::quick("graphics/curve-patches", FAMILY, curves),
    Spec::quick("graphics/particle-squares", FAMILY, particles),
    Spec::quick("graphics/shadow-volumes", FAMILY, volumes),
    Spec::quick("graphics/cube-shadow-map", FAMILY, cube_shadow),
];

const TWO: Stream<'_> = Stream { stride: 8, per_instance: false, attributes: &[(vk::Format::R32G32_SFLOAT, 0)] };
const THREE: Stream<'_> = Stream { stride: 12, per_instance: false, attributes: &[(vk::Format::R32G32B32_SFLOAT, 0)] };

fn need_tessellation(gpu: &Gpu) -> Result<(), super::super::figure::SetupError> {
    need(gpu.features.tessellation_shader, "tessellationShader")
}

fn need_geometry(gpu: &Gpu) -> Result<(), super::super::figure::SetupError> {
    need(gpu.features.geometry_shader, "geometryShader")
}

/// Number of patches per side. `PATCH` is the size of a patch in pixels.
const PATCHES: u32 = 16;
const PATCH: u32 = SIZE / PATCHES;
/// Number of patches of a draw. It keeps the tessellated vertices of a draw within 2¹⁶, beyond
/// which lavapipe draws wrong results.
const PER_DRAW: usize = 8;

/// Tessellation levels of a terrain's patches.
enum Levels {
    /// Each edge has a factor of its own (`terrain.tesc`).
    Factors,
    /// All edges have this level (`terrain_level.tesc`).
    Same(u32),
}

impl Levels {
    /// Returns the number of triangles of a patch.
    fn triangles(&self, corners: [[u32; 2]; 4]) -> u32 {
        match self {
            Levels::Factors => triangles_of_factors(corners),
            Levels::Same(level) => 2 * level * level,
        }
    }
}

fn terrain_factors(gpu: &Gpu) -> SetupResult {
    terrain(gpu, &Levels::Factors)
}

fn terrain_isotropic(gpu: &Gpu) -> SetupResult {
    terrain(gpu, &Levels::Same(16))
}

fn terrain_64_levels(gpu: &Gpu) -> SetupResult {
    terrain(gpu, &Levels::Same(64))
}

fn terrain(gpu: &Gpu, levels: &Levels) -> SetupResult {
    need_tessellation(gpu)?;
    let target = Target::deep(gpu, [0.0; 4])?;
    let origins = (0..PATCHES * PATCHES).map(|i| [i % PATCHES, i / PATCHES].map(|c| c * PATCH));
    let corners = |[x, y]: [u32; 2]| [[x, y], [x + PATCH, y], [x, y + PATCH], [x + PATCH, y + PATCH]];
    let triangles: u32 = origins.clone().map(|origin| levels.triangles(corners(origin))).sum();
    let positions: Vec<f32> = origins.flat_map(corners).flatten().map(|c| c as f32).collect();
    let vertices = float_vertices(gpu, &positions)?;
    let (factors, level) = (spirv!("graphics/terrain.tesc"), spirv!("graphics/terrain_level.tesc"));
    let (control, constants): (&[u32], &[_]) = match levels {
        Levels::Factors => (&factors, &[]),
        Levels::Same(level_of_all) => (&level, &[(0, *level_of_all)]),
    };
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/terrain.vert"),
            tessellation: Some([control, &spirv!("graphics/terrain.tese")]),
            patch_points: 4,
            constants,
            fragment: &spirv!("graphics/smooth.frag"),
            streams: &[TWO],
            topology: vk::PrimitiveTopology::PATCH_LIST,
            depth: Some((vk::CompareOp::LESS, true)),
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.vertices(&[vertices]);
        (0..PATCHES * PATCHES).step_by(PER_DRAW).for_each(|i| r.draw_range(4 * i, 4 * PER_DRAW as u32));
        r.end();
    };
    let color = target.color;
    Recording::make(gpu, Amount::new(triangles, Unit::Triangle), record, move |gpu| {
        // Colours are interpolated in triangles of up to eight pixels.
        Picture::read(gpu, &color)?.near(1, Tolerance::without_outliers(4.0), terrain_color)
    })
}

/// Returns the number of triangles of a patch with the levels of `terrain.tesc`.
fn triangles_of_factors(corners: [[u32; 2]; 4]) -> u32 {
    let factor = |a: usize, b: usize| {
        let ([x, y], along) = (corners[a], if corners[b][0] > corners[a][0] { 0x10_0000 } else { 0 });
        8 << (hash(x + y * 1024 + along) & 3)
    };
    let [left, top, right, bottom] = [factor(0, 2), factor(0, 1), factor(1, 3), factor(2, 3)];
    let (across, down): (u32, u32) = (u32::max(top, bottom), u32::max(left, right));
    let ring = left + right + 2 * (down - 2) + top + bottom + 2 * (across - 2);
    2 * (across - 2) * (down - 2) + ring
}

/// Returns the colour that `terrain.tese` computes at the centre of a pixel.
fn terrain_color(x: usize, y: usize) -> [f32; 4] {
    let [x, y] = [x, y].map(|c| c as f32 + 0.5);
    let (a, b) = ((x + y) * 0.03, y * 0.017 - x * 0.011);
    let slope = |first: f32, second: f32| -(first * a.cos() + second * b.cos());
    let normal = normalize([slope(0.5, -0.25), slope(0.5, 0.4), 1.0]).map(|n| n * 0.5 + 0.5);
    [0.5 + 0.25 * a.sin() + 0.25 * b.sin(), normal[0], normal[1], normal[2]]
}

/// Number of curves per side, each in a square of 64 pixels.
const CURVES: u32 = 16;
const LINES: u32 = 4;
const PIECES: u32 = 64;
/// Number of curves of a draw, which is limited for the same reason as `PER_DRAW`.
const CURVES_PER_DRAW: usize = 128;
/// Number of times that each curve is drawn.
const TIMES: u32 = 8;

fn curves(gpu: &Gpu) -> SetupResult {
    need_tessellation(gpu)?;
    let target = Target::flat(gpu, [0.0; 4])?;
    let mut random = Random::new(3);
    let points: Vec<[f32; 2]> = (0..CURVES * CURVES * 4)
        .map(|i| {
            let cell = [i / 4 % CURVES, i / 4 / CURVES].map(|c| (c * 64) as f32);
            cell.map(|c| c + random.float(6.0, 50.0))
        })
        .collect();
    let vertices = float_vertices(gpu, points.as_flattened())?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/curves.vert"),
            tessellation: Some([&spirv!("graphics/curves.tesc"), &spirv!("graphics/curves.tese")]),
            patch_points: 4,
            fragment: &spirv!("graphics/flat.frag"),
            streams: &[TWO],
            topology: vk::PrimitiveTopology::PATCH_LIST,
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.vertices(&[vertices]);
        for i in (0..CURVES * CURVES)
            .step_by(CURVES_PER_DRAW)
            .cycle()
            .take((TIMES * CURVES * CURVES) as usize / CURVES_PER_DRAW)
        {
            r.draw_range(4 * i, 4 * CURVES_PER_DRAW as u32);
        }
        r.end();
    };
    let color = target.color;
    let amount = Amount::new(CURVES * CURVES * LINES * PIECES * TIMES, Unit::Element);
    Recording::make(gpu, amount, record, move |gpu| compare_curves(&Picture::read(gpu, &color)?, &points))
}

/// Checks that pixels along the curves have the colours of the curves, and that no other pixels
/// have.
fn compare_curves(picture: &Picture, points: &[[f32; 2]]) -> Result<(), CheckError> {
    let size = SIZE as i32;
    let mut near = vec![None; (SIZE * SIZE) as usize];
    for (curve, points) in points.chunks_exact(4).enumerate() {
        let color = (hash((curve % CURVES_PER_DRAW) as u32) | 0xff80_8080).to_le_bytes();
        for (line, step) in (0..LINES).flat_map(|line| (0..=4 * PIECES).map(move |step| (line, step))) {
            let t = step as f32 / (4 * PIECES) as f32;
            let weights = [(1.0 - t).powi(3), 3.0 * (1.0 - t).powi(2) * t, 3.0 * (1.0 - t) * t * t, t.powi(3)];
            let at = |axis: usize| (0..4).map(|k| points[k][axis] * weights[k]).sum::<f32>();
            let (x, y) = (at(0) as i32, (at(1) + (2 * line) as f32) as i32);
            let mut found = false;
            for (dx, dy) in (-2..=2).flat_map(|dy| (-2..=2).map(move |dx| (dx, dy))) {
                let (x, y) = ((x + dx).clamp(0, size - 1) as usize, (y + dy).clamp(0, size - 1) as usize);
                near[y * SIZE as usize + x] = Some(color);
                found |= picture.at(x, y) == color;
            }
            if !found {
                return Err(CheckError::Output(format!("no line of curve {curve} near ({x}, {y})")));
            }
        }
    }
    let lines = |(&pixel, &near): (&[u8; 4], &Option<[u8; 4]>)| pixel == [0; 4] || near == Some(pixel);
    match picture.pixels.iter().zip(&near).position(|pair| !lines(pair)) {
        None => Ok(()),
        Some(i) => {
            Err(CheckError::Output(format!("pixel {i} is {:?}, not {:?} or nothing", picture.pixels[i], near[i])))
        }
    }
}

fn particles(gpu: &Gpu) -> SetupResult {
    need_geometry(gpu)?;
    let target = Target::flat(gpu, [0.0; 4])?;
    let sprites = sprites();
    let floats: Vec<f32> = sprites.iter().flatten().map(|&v| v as f32).collect();
    let vertices = float_vertices(gpu, &floats)?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/particles.vert"),
            geometry: &spirv!("graphics/particles.geom"),
            fragment: &spirv!("graphics/particles.frag"),
            streams: &[THREE],
            topology: vk::PrimitiveTopology::POINT_LIST,
            blend: Some((vk::BlendFactor::ONE, vk::BlendFactor::ONE)),
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.vertices(&[vertices]);
        r.draw(SPRITES, 1);
        r.end();
    };
    let color = target.color;
    Recording::make(gpu, Amount::new(2 * SPRITES, Unit::Triangle), record, move |gpu| {
        compare_sprites(gpu, &color, &sprites)
    })
}

/// Number of meshes, with 16 in a row.
const MESHES: u32 = 256;
/// Number of times that the triangles of an octahedron are divided into four.
const CUTS: u32 = 3;

fn volumes(gpu: &Gpu) -> SetupResult {
    need_geometry(gpu)?;
    let target = Target::flat(gpu, [0.0; 4])?;
    let (positions, indices) = ball();
    let vertices = float_vertices(gpu, positions.as_flattened())?;
    let count = indices.len() as u32;
    let indices = gpu.buffer_with(&indices, vk::BufferUsageFlags::INDEX_BUFFER)?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/volume.vert"),
            geometry: &spirv!("graphics/volume.geom"),
            fragment: &spirv!("graphics/volume.frag"),
            streams: &[THREE],
            topology: vk::PrimitiveTopology::TRIANGLE_LIST_WITH_ADJACENCY,
            blend: Some((vk::BlendFactor::ONE, vk::BlendFactor::ONE)),
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.vertices(&[vertices]);
        r.indices(&indices, vk::IndexType::UINT32);
        r.draw_indexed(count, 0, 0, MESHES);
        r.end();
    };
    let color = target.color;
    Recording::make(gpu, Amount::new(count / 6 * MESHES, Unit::Triangle), record, move |gpu| {
        // A ray through a closed volume crosses as many front faces as back faces.
        let picture = Picture::read(gpu, &color)?;
        let open = picture.pixels.iter().position(|[front, back, ..]| front != back);
        if let Some(i) = open {
            return Err(CheckError::Output(format!("pixel {i} sees {:?} front and back faces", picture.pixels[i])));
        }
        // A ball and its shadow have a radius of 24 pixels and a length of 57 pixels. Some occlude
        // others.
        within("pixels in volumes", picture.count_other([0; 4]), 920_000..=960_000)
    })
}

/// Returns a closed mesh of triangles on a ball of radius 1, and its indices with the adjacent
/// vertices.
fn ball() -> (Vec<[f32; 3]>, Vec<u32>) {
    let axis = |i: usize, sign: f32| [0, 1, 2].map(|k| if k == i { sign } else { 0.0 });
    let mut triangles: Vec<[[f32; 3]; 3]> = (0..8)
        .map(|octant: u32| {
            let sign = |i: u32| if octant >> i & 1 == 1 { -1.0 } else { 1.0 };
            let [a, b, c] = [axis(0, sign(0)), axis(1, sign(1)), axis(2, sign(2))];
            if octant.count_ones().is_multiple_of(2) { [a, b, c] } else { [a, c, b] }
        })
        .collect();
    for _ in 0..CUTS {
        let middle = |a: [f32; 3], b: [f32; 3]| normalize([a[0] + b[0], a[1] + b[1], a[2] + b[2]]);
        let cut = |[a, b, c]: [[f32; 3]; 3]| {
            let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
            [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        };
        triangles = triangles.into_iter().flat_map(cut).collect();
    }
    let mut positions: Vec<[f32; 3]> = Vec::new();
    let mut number = |p: [f32; 3]| {
        let known = positions.iter().position(|&q| q == p);
        known.unwrap_or_else(|| {
            positions.push(p);
            positions.len() - 1
        }) as u32
    };
    let corners: Vec<[u32; 3]> = triangles.into_iter().map(|t| t.map(&mut number)).collect();
    // Vertex opposite an edge, indexed by the edge in the direction of its own triangle.
    let opposite: std::collections::HashMap<[u32; 2], u32> =
        corners.iter().flat_map(|&[a, b, c]| [([a, b], c), ([b, c], a), ([c, a], b)]).collect();
    let beside = |&[a, b, c]: &[u32; 3]| [a, opposite[&[b, a]], b, opposite[&[c, b]], c, opposite[&[a, c]]];
    let indices = corners.iter().flat_map(beside).collect();
    (positions, indices)
}

/// Number of texels per side of a face.
const FACE: u32 = 512;
const BOXES: usize = 2000;

/// A box, given by its lower and its upper corner.
type Bounds = [[f32; 3]; 2];

fn cube_shadow(gpu: &Gpu) -> SetupResult {
    need_geometry(gpu)?;
    need_format(gpu, DEPTH, vk::FormatFeatureFlags::DEPTH_STENCIL_ATTACHMENT)?;
    let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    let flat = ImageDesc::d2(DEPTH, FACE, FACE, usage);
    let image = gpu.image(&ImageDesc { view: vk::ImageViewType::TYPE_2D_ARRAY, layers: 6, ..flat })?;
    let leave = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
    let pass = gpu.pass(&[Attachment { store: true, leave, ..Attachment::depth(image) }])?;
    let boxes = boxes();
    let triangles: Vec<[f32; 3]> = boxes.iter().flat_map(box_triangles).collect();
    let vertices = float_vertices(gpu, triangles.as_flattened())?;
    let program = gpu.program(
        &pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/cube_shadow.vert"),
            geometry: &spirv!("graphics/cube_shadow.geom"),
            streams: &[THREE],
            depth: Some((vk::CompareOp::LESS, true)),
            ..Default::default()
        },
    )?;
    let count = triangles.len() as u32;
    let record = |r: Recorder<'_>| {
        r.begin(&pass);
        r.bind(&program);
        r.vertices(&[vertices]);
        r.draw(count, 1);
        r.end();
    };
    Recording::make(gpu, Amount::new(count / 3, Unit::Triangle), record, move |gpu| compare_cube(gpu, &image, &boxes))
}

/// Returns boxes around the origin, none of which is close to it.
fn boxes() -> Vec<Bounds> {
    let mut random = Random::new(17);
    let mut one = || {
        let way = normalize([0; 3].map(|_| random.float(-1.0, 1.0) + 0.001));
        let distance = random.float(3.0, 12.0);
        let half = [0; 3].map(|_| random.float(0.05, 0.4));
        [0, 1].map(|end| [0, 1, 2].map(|k| way[k] * distance + if end == 0 { -half[k] } else { half[k] }))
    };
    (0..BOXES).map(|_| one()).collect()
}

fn box_triangles(bounds: &Bounds) -> Vec<[f32; 3]> {
    let corner = |bits: usize| [0, 1, 2].map(|k| bounds[bits >> k & 1][k]);
    let side = |axis: usize, end: usize| {
        let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
        let first = end << axis;
        [0, u, v, u | v, v, u].map(|bits| corner(first | bits))
    };
    (0..3).flat_map(|axis| [side(axis, 0), side(axis, 1)].concat()).collect()
}

/// Checks that depths are those of the nearest boxes, except at the edges of boxes.
fn compare_cube(gpu: &Gpu, image: &Image, boxes: &[Bounds]) -> Result<(), CheckError> {
    const STEP: u32 = 16;
    let depths = as_floats(&gpu.read_image(image, 4, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?.read());
    let (mut seen, mut far, mut first) = (0, 0, None);
    for face in 0..6 {
        for (x, y) in (0..FACE / STEP).flat_map(|j| (0..FACE / STEP).map(move |i| (i * STEP + 7, j * STEP + 3))) {
            let [s, t] = [x, y].map(|c| (c as f32 + 0.5) / (FACE / 2) as f32 - 1.0);
            let sign = if face % 2 == 0 { 1.0 } else { -1.0 };
            let way = match face / 2 {
                0 => [sign, s, t],
                1 => [t, sign, s],
                _ => [s, t, sign],
            };
            let along = boxes.iter().filter_map(|bounds| entry(bounds, way)).fold(f32::INFINITY, f32::min);
            let want = if along <= 16.0 { (along - 0.5) * (16.0 / 15.5) / along } else { 1.0 };
            let got = depths[((face * FACE + y) * FACE + x) as usize];
            seen += 1;
            if (got - want).abs() > 1e-4 {
                far += 1;
                first.get_or_insert(format!("face {face}, texel ({x}, {y}) is {got}, not {want}"));
            }
        }
    }
    match first {
        Some(first) if far * 200 > seen => Err(CheckError::Output(format!("{far} of {seen} depths are off; {first}"))),
        _ => Ok(()),
    }
}

/// Returns the distance at which a ray from the origin enters a box.
fn entry(bounds: &Bounds, way: [f32; 3]) -> Option<f32> {
    let (mut near, mut far) = (0.0f32, f32::INFINITY);
    for k in 0..3 {
        let [a, b] = [bounds[0][k] / way[k], bounds[1][k] / way[k]];
        (near, far) = (near.max(a.min(b)), far.min(a.max(b)));
    }
    (near < far).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::super::reference::{cross, dot};
    use super::*;

    #[test]
    fn the_mesh_is_closed_and_turns_outwards() {
        let (positions, indices) = ball();
        assert_eq!((positions.len(), indices.len()), (258, 512 * 6));
        for t in indices.chunks_exact(6) {
            let [a, b, c] = [t[0], t[2], t[4]].map(|i| positions[i as usize]);
            let edge = |to: [f32; 3]| [0, 1, 2].map(|k| to[k] - a[k]);
            assert!(dot(cross(edge(b), edge(c)), a) > 0.0);
            assert!(t.iter().enumerate().all(|(i, v)| !t[..i].contains(v)));
        }
    }

    #[test]
    fn boxes_have_twelve_triangles() {
        let bounds = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]];
        let all = box_triangles(&bounds);
        assert_eq!(all.len(), 36);
        let area = all.chunks_exact(3).map(|t| {
            let edge = |i: usize| [0, 1, 2].map(|k| t[i][k] - t[0][k]);
            let c = cross(edge(1), edge(2));
            dot(c, c).sqrt() / 2.0
        });
        assert_eq!(area.sum::<f32>(), 22.0);
        assert_eq!(entry(&bounds, [0.5, 1.0, 1.5]), Some(2.0));
        assert_eq!(entry(&bounds, [1.0, -1.0, 1.0]), None);
    }
}

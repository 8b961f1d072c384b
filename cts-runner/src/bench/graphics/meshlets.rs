//! Meshlets: a task stage removes meshlets that are not visible, and a mesh stage makes the
//! triangles of the others.

use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult, need};
use super::super::workload::{Family, Spec, spirv};
use super::picture::Picture;
use super::reference::hash;
use super::target::Target;
use crate::vk::{Gpu, ProgramDesc, Recorder};

/// Workloads of this module.
pub const SPECS: &[Spec] = &[Spec::quick("graphics/meshlets", Family::Graphics, meshlets)];

/// Number of meshlets in a row of a layer. A task workgroup examines `TASK` of them.
const ROW: u32 = 64;
const TASK: u32 = 32;
const LAYERS: u32 = 4;
/// Number of cells in a row of a meshlet, each with two triangles.
const CELLS: u32 = 8;
/// Width of a cell in sixteenths of a pixel. The grid begins at 1/16.
const CELL: u32 = 46;
/// Number of meshlets in a row that begin inside the picture.
const SEEN: u32 = (16 * 1024 - 1_u32).div_ceil(CELLS * CELL);

fn meshlets(gpu: &Gpu) -> SetupResult {
    need(gpu.optional.mesh_shader.into(), "meshShader")?;
    let target = Target::flat(gpu, [0.0; 4])?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            task: &spirv!("graphics/meshlets.task"),
            mesh: &spirv!("graphics/meshlets.mesh"),
            fragment: &spirv!("graphics/meshlets.frag"),
            ..Default::default()
        },
    )?;
    let functions = ash::ext::mesh_shader::Device::new(&gpu.instance, &gpu.device);
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.draw_mesh_tasks(&functions, [ROW * ROW / TASK, LAYERS, 1]);
        r.end();
    };
    let color = target.color;
    let amount = Amount::new(LAYERS * SEEN * SEEN * 2 * CELLS * CELLS, Unit::Triangle);
    Recording::make(gpu, amount, record, move |gpu| Picture::read(gpu, &color)?.exact(last_layer))
}

/// Returns the colour of the last layer. A cell has a triangle at its top left and another one,
/// which owns the pixels on their common edge by the top-left rule.
fn last_layer(x: usize, y: usize) -> [u8; 4] {
    let [x, y] = [x, y].map(|n| n as u32 * 16 + 8 - 1);
    let other = u32::from(x % CELL + y % CELL >= CELL);
    let triangle = 2 * (y / CELL * ROW * CELLS + x / CELL) + other;
    (hash(triangle + (LAYERS - 1) * 0x10_0000) | 0xff00_0000).to_le_bytes()
}

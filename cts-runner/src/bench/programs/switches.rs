//! 10,000 draws that change their program and their state each: shader objects with dynamic state,
//! pipelines, and pipelines with dynamic state.

use super::squares::{self, CLEAR, EXTENT, Grid, PROGRAMS, STAGES, VERTICES, program_of, variants_of};
use crate::bench::figure::{Amount, Unit};
use crate::bench::recording::{Recording, SetupResult, need};
use crate::bench::workload::{Family, Spec};
use crate::vk::raw as vk;
use crate::vk::{DrawState, Gpu, Image, Pass, Program, ProgramDesc, Recorder};

/// Workloads of this module.
pub const SPECS: &[Spec] = &[
    Spec::quick("programs/draws-shaders", Family::Programs, with_shaders),
    Spec::quick("programs/draws-pipelines", Family::Programs, with_pipelines),
    Spec::full("programs/draws-dynamic", Family::Programs, with_dynamic_state),
];

const GRID: Grid = Grid { count: 10_000, row: 100, step: 10 };

/// State in which the programs differ.
struct State {
    cull: vk::CullModeFlags,
    front: vk::FrontFace,
    blend: Option<(vk::BlendFactor, vk::BlendFactor)>,
    mask: vk::ColorComponentFlags,
}

/// Returns the state of a program.
fn state_of(program: u32) -> State {
    let bit = |i: u32| program >> i & 1 == 1;
    let all = vk::ColorComponentFlags::RGBA;
    State {
        cull: if bit(0) { vk::CullModeFlags::BACK } else { vk::CullModeFlags::NONE },
        front: if bit(1) { vk::FrontFace::CLOCKWISE } else { vk::FrontFace::COUNTER_CLOCKWISE },
        blend: bit(2).then_some((vk::BlendFactor::ONE, vk::BlendFactor::ONE)),
        mask: if bit(3) { all & !vk::ColorComponentFlags::R } else { all },
    }
}

/// Returns the colour that is left of a written one. A square is clockwise, and the sum of black
/// and a colour is the colour.
fn shown(program: u32, [r, g, b, a]: [u8; 4]) -> [u8; 4] {
    let state = state_of(program);
    let culled = state.cull == vk::CullModeFlags::BACK && state.front == vk::FrontFace::COUNTER_CLOCKWISE;
    let red = if state.mask.contains(vk::ColorComponentFlags::R) { r } else { 0 };
    if culled { [0, 0, 0, 255] } else { [red, g, b, a] }
}

fn recording(gpu: &Gpu, color: Image, record: impl FnOnce(Recorder<'_>)) -> SetupResult {
    let amount = Amount::new(GRID.count, Unit::Draw);
    Recording::make(gpu, amount, record, move |gpu| GRID.check(gpu, &color, program_of, shown))
}

fn with_shaders(gpu: &Gpu) -> SetupResult {
    let commands = gpu.shader_objects()?;
    let target = squares::target(gpu)?;
    let (layout, set) = squares::layout(gpu)?;
    let [vertex, fragment] = squares::objects(gpu, set, false)?;
    let state = DrawState::new(vk::PrimitiveTopology::TRIANGLE_STRIP, EXTENT);
    let record = |r: Recorder<'_>| {
        r.begin_rendering(&target.color, CLEAR);
        r.reset_state(gpu, commands, &state);
        for draw in 0..GRID.count {
            let program = program_of(draw);
            let [v, f] = variants_of(program).map(|variant| variant as usize);
            r.bind_shaders(commands, &STAGES, &[vertex[v], fragment[f]]);
            let state = state_of(program);
            r.faces(commands, state.cull, state.front);
            r.blending(commands, state.blend, state.mask);
            r.push_for(layout, &GRID.push(draw));
            r.draw(VERTICES, 1);
        }
        r.end_rendering(&target.color);
    };
    recording(gpu, target.color, record)
}

/// Draws with pipelines. `own` sets the state of a draw that its pipeline does not have.
fn draws(r: Recorder<'_>, pass: &Pass, programs: &[Program], own: impl Fn(Recorder<'_>, u32)) {
    r.begin(pass);
    for draw in 0..GRID.count {
        let program = program_of(draw);
        r.bind_pipeline(&programs[program as usize]);
        own(r, program);
        r.push(&programs[0], &GRID.push(draw));
        r.draw(VERTICES, 1);
    }
    r.end();
}

fn with_pipelines(gpu: &Gpu) -> SetupResult {
    let target = squares::target(gpu)?;
    let programs = squares::pipelines(gpu, &target, PROGRAMS, |program, desc| {
        let State { cull, front, blend, mask } = state_of(program);
        ProgramDesc { faces: (cull, front), blend, mask, ..desc }
    })?;
    recording(gpu, target.color, |r| draws(r, &target.pass, &programs, |_, _| ()))
}

fn with_dynamic_state(gpu: &Gpu) -> SetupResult {
    // The commands of the state are the same for pipelines and shader objects.
    let commands = gpu.shader_objects()?;
    need(gpu.optional.programs.dynamic_blend.into(), "extendedDynamicState3")?;
    const DYNAMIC: &[vk::DynamicState] = &[
        vk::DynamicState::CULL_MODE,
        vk::DynamicState::FRONT_FACE,
        vk::DynamicState::COLOR_BLEND_ENABLE_EXT,
        vk::DynamicState::COLOR_BLEND_EQUATION_EXT,
        vk::DynamicState::COLOR_WRITE_MASK_EXT,
    ];
    let target = squares::target(gpu)?;
    let programs = squares::pipelines(gpu, &target, PROGRAMS, |_, desc| ProgramDesc { dynamic: DYNAMIC, ..desc })?;
    let own = |r: Recorder<'_>, program: u32| {
        let state = state_of(program);
        r.faces(commands, state.cull, state.front);
        r.blending(commands, state.blend, state.mask);
    };
    recording(gpu, target.color, |r| draws(r, &target.pass, &programs, own))
}

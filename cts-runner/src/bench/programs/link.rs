//! Links of four pipeline libraries without optimization: the time of a link, and of the first link
//! and draw of a combination.
//!
//! The picture of every combination must be that of a pipeline that was created as a whole.

use super::squares::{PUSH, modules};
use crate::bench::graphics::{Picture, Target};
use crate::bench::recording::need;
use crate::bench::stats::median;
use crate::bench::workload::{Family, Fresh, FreshError, Make, Spec};
use crate::bench::{CheckError, Figure};
use crate::vk::raw as vk;
use crate::vk::{Error, Gpu, LibraryPart, Program, ProgramDesc};
use std::time::{Duration, Instant};

/// Workloads of this module.
pub const SPECS: &[Spec] =
    &[Spec { name: "programs/link", family: Family::Programs, quick: true, make: Make::Fresh(link) }];

const TOPOLOGIES: [vk::PrimitiveTopology; 2] =
    [vk::PrimitiveTopology::TRIANGLE_LIST, vk::PrimitiveTopology::TRIANGLE_STRIP];
const BLENDS: [Option<(vk::BlendFactor, vk::BlendFactor)>; 2] =
    [None, Some((vk::BlendFactor::ONE, vk::BlendFactor::ONE))];
/// Number of variants of each shader stage.
const VARIANTS: u32 = 4;
/// Number of combinations of one part of each kind.
const COMBINATIONS: usize = 2 * 2 * (VARIANTS * VARIANTS) as usize;
/// Number of times that each combination is linked for the time of a link.
const REPEATS: usize = 16;
/// Width and height of the target in pixels.
const SIDE: u32 = 64;

/// Push constants of the draws: a square of half the target's width. The shaders divide by 1024.
const SQUARE: [u32; 4] = [256f32.to_bits(), 128f32.to_bits(), 512f32.to_bits(), 0xff12_3456];

/// Choice of one part of each kind.
#[derive(Clone, Copy)]
struct Combination {
    topology: usize,
    vertex: usize,
    fragment: usize,
    blend: usize,
}

impl Combination {
    /// Makes a pipeline with all parts. It shares the layout of `like`, or has a layout of its own.
    fn whole(self, gpu: &Gpu, target: &Target, like: Option<&Program>) -> Result<Program, Error> {
        let [vertex, fragment] = modules();
        let desc = ProgramDesc {
            vertex: &vertex,
            fragment: &fragment,
            constants: &[(0, self.vertex as u32), (1, self.fragment as u32)],
            push: PUSH,
            topology: TOPOLOGIES[self.topology],
            blend: BLENDS[self.blend],
            ..Default::default()
        };
        match like {
            Some(program) => gpu.program_like(&target.pass, program, &desc),
            None => gpu.program(&target.pass, &desc),
        }
    }
}

fn combinations() -> impl Iterator<Item = Combination> {
    let of = |i: usize| Combination { topology: i & 1, blend: i >> 1 & 1, vertex: i >> 2 & 3, fragment: i >> 4 };
    (0..COMBINATIONS).map(of)
}

/// The libraries, and what their pipelines have in common.
struct Libraries {
    target: Target,
    program: Program,
    inputs: Vec<vk::Pipeline>,
    vertex: Vec<vk::Pipeline>,
    fragment: Vec<vk::Pipeline>,
    outputs: Vec<vk::Pipeline>,
}

impl Libraries {
    fn new(gpu: &Gpu) -> Result<Self, Error> {
        let target = Target::square(gpu, SIDE, [0.0, 0.25, 0.0, 1.0])?;
        let program = Combination { topology: 0, vertex: 0, fragment: 0, blend: 0 }.whole(gpu, &target, None)?;
        let [vertex, fragment] = modules();
        let one = |part: LibraryPart<'_>| gpu.library(&target.pass, program.layout, part);
        let inputs =
            TOPOLOGIES.iter().map(|topology| one(LibraryPart::VertexInput(*topology))).collect::<Result<_, _>>()?;
        let outputs = BLENDS.iter().map(|blend| one(LibraryPart::FragmentOutput(*blend))).collect::<Result<_, _>>()?;
        let vertex_of = |variant| one(LibraryPart::PreRasterization(&vertex, &[(0, variant)]));
        let fragment_of = |variant| one(LibraryPart::Fragment(&fragment, &[(1, variant)]));
        let vertex = (0..VARIANTS).map(vertex_of).collect::<Result<_, _>>()?;
        let fragment = (0..VARIANTS).map(fragment_of).collect::<Result<_, _>>()?;
        Ok(Self { target, program, inputs, vertex, fragment, outputs })
    }

    fn link(&self, gpu: &Gpu, c: Combination) -> Result<vk::Pipeline, Error> {
        let parts = [self.inputs[c.topology], self.vertex[c.vertex], self.fragment[c.fragment], self.outputs[c.blend]];
        gpu.link(&parts, self.program.layout)
    }

    /// Draws with a pipeline.
    fn draw(&self, gpu: &Gpu, pipeline: vk::Pipeline) -> Result<(), Error> {
        let program = Program { pipeline, ..self.program };
        gpu.once(|r| {
            r.begin(&self.target.pass);
            r.bind_pipeline(&program);
            r.push(&program, &SQUARE);
            r.draw(4, 1);
            r.end();
        })
    }

    fn picture(&self, gpu: &Gpu, pipeline: vk::Pipeline) -> Result<Vec<[u8; 4]>, CheckError> {
        self.draw(gpu, pipeline)?;
        Ok(Picture::read(gpu, &self.target.color)?.pixels)
    }
}

fn link(fresh: &Fresh<'_>) -> Result<Vec<Figure>, FreshError> {
    let gpu = Gpu::new(fresh.api, &fresh.options)?;
    need(gpu.optional.programs.pipeline_library.into(), "graphicsPipelineLibrary").map_err(FreshError::Make)?;
    let libraries = Libraries::new(&gpu)?;
    let mut first = Vec::new();
    let mut pictures = Vec::new();
    for combination in combinations() {
        let mark = gpu.mark();
        let start = Instant::now();
        let pipeline = libraries.link(&gpu, combination)?;
        libraries.draw(&gpu, pipeline)?;
        first.push(start.elapsed().as_secs_f64());
        pictures.push(libraries.picture(&gpu, pipeline)?);
        gpu.release_to(mark);
    }
    let mut links = Vec::new();
    for _ in 0..REPEATS {
        let mark = gpu.mark();
        for combination in combinations() {
            let start = Instant::now();
            libraries.link(&gpu, combination)?;
            links.push(start.elapsed().as_secs_f64());
        }
        gpu.release_to(mark);
    }
    for (i, (combination, picture)) in combinations().zip(&pictures).enumerate() {
        let whole = combination.whole(&gpu, &libraries.target, Some(&libraries.program))?;
        if libraries.picture(&gpu, whole.pipeline)? != *picture {
            return Err(CheckError::Output(format!("combination {i} draws other pixels than its pipeline")).into());
        }
        if pictures[..i].contains(picture) {
            return Err(CheckError::Output(format!("combination {i} draws the picture of another one")).into());
        }
    }
    fresh.close(gpu)?;
    let figure = |name, times: &mut [f64]| Figure::seconds(name, Duration::from_secs_f64(median(times)));
    Ok(vec![figure("time", &mut links), figure("first-use", &mut first)])
}

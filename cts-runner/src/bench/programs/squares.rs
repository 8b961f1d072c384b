//! The picture of the family: a grid of squares, of which each is a draw with its own push
//! constants and one of 64 programs.

use crate::bench::graphics::{Picture, SIZE, Target, hash};
use crate::bench::{CheckError, workload::spirv};
use crate::vk::raw as vk;
use crate::vk::{Error, Gpu, ObjectCode, ObjectDesc, Program, ProgramDesc};

/// Number of variants of each stage.
pub const VARIANTS: u32 = 8;
/// Number of programs, which are the combinations of variants.
pub const PROGRAMS: u32 = VARIANTS * VARIANTS;
/// Number of bytes of push constants.
pub const PUSH: u32 = 16;
/// Number of vertices of a square, which is a triangle strip.
pub const VERTICES: u32 = 4;
/// Colour to which the target is cleared.
pub const CLEAR: [f32; 4] = [0.0, 0.0, 0.0, 1.0];
/// Stages of a square's program.
pub const STAGES: [vk::ShaderStageFlags; 2] = [vk::ShaderStageFlags::VERTEX, vk::ShaderStageFlags::FRAGMENT];

/// Returns the SPIR-V of the vertex and the fragment stage.
pub fn modules() -> [Vec<u32>; 2] {
    [spirv!("programs/square.vert"), spirv!("programs/square.frag")]
}

/// Returns the program of a draw. Both stages differ from those of the draw before.
pub fn program_of(draw: u32) -> u32 {
    draw % VARIANTS + VARIANTS * ((draw / VARIANTS + draw) % VARIANTS)
}

/// Returns the variants of the vertex and of the fragment stage of a program.
pub fn variants_of(program: u32) -> [u32; 2] {
    [program % VARIANTS, program / VARIANTS]
}

/// Returns the specialization constants of a program.
pub fn constants_of(program: u32) -> [(u32, u32); 2] {
    let [vertex, fragment] = variants_of(program);
    [(0, vertex), (1, fragment)]
}

/// A grid of squares over the target.
#[derive(Clone, Copy)]
pub struct Grid {
    /// Number of squares, and of squares in a row.
    pub count: u32,
    /// Number of squares in a row.
    pub row: u32,
    /// Distance of squares in pixels. A square is one pixel smaller.
    pub step: u32,
}

impl Grid {
    /// Returns the push constants of a square: its corner, its size and its colour.
    pub fn push(self, square: u32) -> [u32; 4] {
        let float = |n: u32| (n as f32).to_bits();
        let corner = [square % self.row, square / self.row].map(|n| float(n * self.step + 1));
        [corner[0], corner[1], float(self.step - 1), color_of(square)]
    }

    /// Checks the picture. `shown` returns the colour that the program of a square leaves of the
    /// colour that its stages write.
    pub fn check(
        self,
        gpu: &Gpu,
        target: &crate::vk::Image,
        program: impl Fn(u32) -> u32,
        shown: impl Fn(u32, [u8; 4]) -> [u8; 4],
    ) -> Result<(), CheckError> {
        Picture::read(gpu, target)?.exact(|x, y| {
            let (x, y) = (x as u32, y as u32);
            let square = y / self.step * self.row + x / self.step;
            let inside = x % self.step >= 1 && y % self.step >= 1 && x / self.step < self.row && square < self.count;
            let [vertex, fragment] = variants_of(program(square));
            let written = (color_of(square) ^ vertex << 8 ^ fragment << 16).to_le_bytes();
            if inside { shown(program(square), written) } else { CLEAR.map(|c| (c * 255.0) as u8) }
        })
    }
}

/// Returns the colour of a square before its stages change it.
fn color_of(square: u32) -> u32 {
    hash(square) | 0xff00_0000
}

/// Makes the target of the squares.
pub fn target(gpu: &Gpu) -> Result<Target, Error> {
    Target::flat(gpu, CLEAR)
}

/// Size of the target.
pub const EXTENT: vk::Extent2D = vk::Extent2D { width: SIZE, height: SIZE };

/// Makes the pipeline of each program. `state` changes the description of a program.
pub fn pipelines(
    gpu: &Gpu,
    target: &Target,
    count: u32,
    state: impl Fn(u32, ProgramDesc<'static>) -> ProgramDesc<'static>,
) -> Result<Vec<Program>, Error> {
    let [vertex, fragment] = modules();
    let mut programs: Vec<Program> = Vec::new();
    for program in 0..count {
        let constants = constants_of(program);
        let desc =
            state(program, ProgramDesc { topology: vk::PrimitiveTopology::TRIANGLE_STRIP, ..Default::default() });
        let desc = ProgramDesc { vertex: &vertex, fragment: &fragment, constants: &constants, push: PUSH, ..desc };
        programs.push(match programs.first() {
            None => gpu.program(&target.pass, &desc)?,
            Some(first) => gpu.program_like(&target.pass, first, &desc)?,
        });
    }
    Ok(programs)
}

/// Makes the shader objects of all variants: those of the vertex stage, then those of the fragment
/// stage.
pub fn objects(gpu: &Gpu, set: vk::DescriptorSetLayout, indirect: bool) -> Result<[Vec<vk::ShaderEXT>; 2], Error> {
    let modules = modules();
    let constants: Vec<_> = (0..VARIANTS).map(|variant| [(0, variant), (1, variant)]).collect();
    let push = (PUSH, STAGES[0] | STAGES[1]);
    let of = |index: usize| {
        let desc = |constants| ObjectDesc {
            stage: STAGES[index],
            next: STAGES.get(index + 1).copied().unwrap_or_default(),
            code: ObjectCode::Spirv(&modules[index]),
            constants,
            set,
            push,
            indirect,
        };
        gpu.shaders(&constants.iter().map(|constants| desc(&constants[..])).collect::<Vec<_>>())
    };
    Ok([of(0)?, of(1)?])
}

/// Makes the pipeline layout of shader objects, and the layout of its empty descriptor set.
pub fn layout(gpu: &Gpu) -> Result<(vk::PipelineLayout, vk::DescriptorSetLayout), Error> {
    let stages = STAGES[0] | STAGES[1];
    let set = gpu.set_layout(&[], stages)?;
    Ok((gpu.pipeline_layout(set, PUSH, stages)?, set))
}

//! Emission: makes LIR ([`crate::lir`]), from which the back ends make machine code, from IR.
//!
//! There is one function per stage, `extern "code" fn(&ShaderContext, &mut Batch)`. It loops over
//! the batch's chunks of `lanes` invocations. The modules form layers. Methods of a layer call
//! those of the layers below, and circles stay within six files
//! (`cts-runner/tests/dependencies.rs`):
//!
//! * `stage`, `workgroup`, `rectangle_loop`: the function and its loops.
//! * `control`: the structured control flow. `barrier` and `invocation` emit the suspension points.
//! * this module: the table that dispatches an instruction to its family; `sample_batching` and
//!   `sample_hoisting` emit samples before their place.
//! * The families of operations, which do not call each other's families: `alu`, `bits` and
//!   `float`; `memory`, `contiguous`, `strided`, `load_vectorizer`, `subdword` and `global`;
//!   `atomic` and `deferred_atomics`; `descriptor` and `heap`; `image` and `texels`; `interface`,
//!   `vertices` and `patches`; `fragment`, `inputs` and `rectangle`; `subgroup`; `array`;
//!   `ray_query`.
//! * `operand`: the machine forms of values. `suspend` keeps them across suspension points, and
//!   emits values that are computed again through a function that `stage` gives it.
//! * The parts that own state and that everything may use: `lane_state` (the lanes and the exec
//!   mask), `effect_lanes` (the lanes that may write), `function_frame` (arguments and blocks),
//!   `chunk_frame` and `invocation_frame` (values that wait), `ssa_variable` and `variable_pool`,
//!   `kernel_rows`, `helper_call`, `value_rep`.
//!
//! A machine value is uniform, affine or varying ([`value_rep::ValueRep`]), as `passes::divergence`
//! found.
//!
//! Invariants:
//!
//! * Offsets of shared structs come from `offset_of!`.
//! * Code has no relocation, because helpers are called through the context.
//! * No instruction can trap.
//! * No result has bits that depend on the CPU's features.

#![forbid(unsafe_code)]

mod alu;
mod array;
mod atomic;
mod barrier;
mod bits;
mod chunk_frame;
mod contiguous;
mod control;
mod deferred_atomics;
mod descriptor;
mod effect_lanes;
mod element_run;
mod epilogue;
mod float;
mod fragment;
mod function_frame;
mod global;
mod heap;
mod helper_call;
mod image;
mod infallible;
mod inputs;
mod interface;
mod invocation;
mod invocation_frame;
mod kernel_rows;
pub mod lane_count;
mod lane_state;
mod licm;
mod load_vectorizer;
mod memory;
mod memory_poison;
mod operand;
mod patches;
mod ray_query;
mod rectangle;
mod rectangle_loop;
mod region_info;
mod sample_batching;
mod sample_hoisting;
mod ssa_variable;
mod stage;
mod strided;
mod subdword;
mod subgroup;
mod suspend;
#[cfg(test)]
mod tests;
mod texels;
mod value_rep;
mod variable_pool;
mod vertices;
mod workgroup;

use crate::budget;
use crate::error::{Error, Result};
use crate::ir::{Inst, InstData, Op, SampleInfo, Shader, Value};
use crate::lir::{self, Block, Slot};
use crate::passes::{Divergence, Suspension};
use base::abi::{BatchKind, KERNEL_FETCH, KERNEL_RESIDENT, TexelKind};
use base::epilogue::Epilogue;
use base::shader::{FrameInfo, InvocationEnd, PipelineLayoutInfo};
use cranelift_entity::SecondaryMap;
pub use infallible::can_defer;
use licm::HoistLevel;
use value_rep::ValueRep;

/// Parameters of emission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EmitOptions {
    /// Number of lanes of a chunk: 4 or 8; also 16, 32 or 64 for stages that take no vertices.
    pub lanes: u32,
    /// Number of lanes of a row of the batch's slots: equal to `lanes`, or smaller if a chunk
    /// consists of several rows.
    pub row_lanes: u32,
}

impl EmitOptions {
    /// Returns the options for chunks that consist of one row.
    pub fn with_lanes(lanes: u32) -> EmitOptions {
        EmitOptions { lanes, row_lanes: lanes }
    }
}

impl Default for EmitOptions {
    fn default() -> Self {
        EmitOptions::with_lanes(8)
    }
}

/// A stage as LIR, which any back end can take.
pub struct Emission {
    /// The function.
    pub lir: lir::Function,
    /// Size of the scratch memory; see [`base::shader::StageCode::scratch_bytes`].
    pub scratch_bytes: u32,
}

/// Upper bound of the scratch bytes of a stage.
const MAX_SCRATCH: u64 = 64 << 20;

/// State of one function's emission.
struct Emitter<'a> {
    b: lir::Builder,
    shader: &'a Shader,
    div: &'a Divergence,
    region_infos: region_info::RegionInfos<'a>,
    hoist_levels: licm::HoistLevels,
    vectorized_loads: load_vectorizer::VectorizedLoads,
    layout: &'a PipelineLayoutInfo,
    /// The lanes and the exec mask.
    lanes: lane_state::LaneState,
    /// Further limits of the lanes with side effects.
    effects: effect_lanes::EffectLanes,
    value_reps: SecondaryMap<Value, Option<ValueRep>>,
    targets: Vec<control::BreakTarget>,
    suspension: suspend::SuspensionState,
    variables: variable_pool::VariablePool,
    /// The arguments and blocks of the function, and the current chunk.
    function: function_frame::FunctionFrame,
    /// Private arrays, with the byte offset of each in scratch memory (or in the frame's arrays).
    arrays: array::Arrays,
    /// First byte of the chunk's input and output slots.
    slots: interface::StageSlots,
    fragment: Option<fragment::FragmentState>,
    /// State of a stage that takes rectangles.
    rectangles: Option<rectangle::RectangleState>,
    primitives: Option<vertices::PrimitiveState>,
    inputs: inputs::InterpolatedInputs,
    hoisted_samples: sample_hoisting::HoistedSamples,
    deferred: Option<deferred_atomics::DeferrableAtomics>,
    sample_batches: sample_batching::SampleBatches,
    image_args: Option<image::KernelArguments>,
    /// Number of accesses emitted so far that need no kernel.
    texels: usize,
    lane_rows: Option<Slot>,
    ray_query_slots: Option<ray_query::RayQuerySlots>,
    poison: Option<memory_poison::MemoryPoison>,
}

/// Returns the frame of an invocation, if the stage's batches have frames. It is the same for all
/// code of the stage.
///
/// # Errors
/// The errors of [`Suspension::analyze`].
pub fn frame(shader: &Shader) -> Result<Option<FrameInfo>> {
    match shader.stage().row().batch {
        BatchKind::Invocations => Ok(Some(Suspension::analyze(shader, &|_| false)?.frame().clone())),
        BatchKind::Vertices | BatchKind::Patches | BatchKind::Domain | BatchKind::Primitives => Ok(None),
        BatchKind::Quads | BatchKind::Mesh | BatchKind::Workgroup => Ok(None),
    }
}

/// Emits a stage. It is the last step that can refuse a shader.
///
/// # Errors
/// Unsupported: an operation that this emitter does not implement. Limit: too much private memory.
/// Internal: everything else.
pub fn build(
    shader: &Shader,
    div: &Divergence,
    layout: &PipelineLayoutInfo,
    options: &EmitOptions,
) -> Result<Emission> {
    let vertices = !matches!(
        shader.stage().row().batch,
        BatchKind::Quads | BatchKind::Workgroup | BatchKind::Mesh | BatchKind::Invocations
    );
    if !matches!((options.lanes, vertices), (4 | 8, _) | (16 | 32 | 64, false)) {
        return Err(Error::internal(format!("{:?} stages have no chunks of {} lanes", shader.stage(), options.lanes)));
    }
    let function = |poison| stage::function(shader, div, layout, options, None, poison);
    finished(shader, layout, false, with_memory_poison(function)?)
}

/// Emits a fragment stage that takes rectangles and writes its colours itself; returns `None` if
/// the shader cannot be one.
///
/// # Errors
/// The errors of [`build`].
pub fn build_with_epilogue(
    shader: &Shader,
    div: &Divergence,
    layout: &PipelineLayoutInfo,
    options: &EmitOptions,
    epilogue: &Epilogue,
) -> Result<Option<Emission>> {
    let rectangles = rectangle::RectangleState::try_new(shader, options.lanes, epilogue);
    let function = |r| finished(shader, layout, true, stage::function(shader, div, layout, options, Some(r), None)?);
    rectangles.map(function).transpose()
}

/// Emits a function, a second time with poison if `GRUS_POISON` asks for it, because only a first
/// emission shows the size of the scratch memory.
fn with_memory_poison(
    function: impl Fn(Option<memory_poison::MemoryPoison>) -> Result<(lir::Function, u64)>,
) -> Result<(lir::Function, u64)> {
    let plain = function(None)?;
    match memory_poison::pattern() {
        Some(pattern) => function(Some(memory_poison::MemoryPoison { pattern, scratch: plain.1.min(MAX_SCRATCH) })),
        None => Ok(plain),
    }
}

/// Checks the form of an emission, and proves that every memory access stays within the object that
/// it claims to access ([`lir::safety`]).
///
/// # Errors
/// A message about the first violation.
pub fn verify(
    emission: &Emission,
    shader: &Shader,
    layout: &PipelineLayoutInfo,
    rectangles: bool,
) -> std::result::Result<(), String> {
    lir::verify(&emission.lir)?;
    let workgroup = shader.stage_info.workgroup();
    let stage_layout = lir::safety::StageLayout {
        batch: shader.stage().row().batch,
        rectangles,
        scratch: emission.scratch_bytes.into(),
        shared: workgroup.map_or(0, |workgroup| workgroup.shared_bytes.into()),
        workgroup_stride: workgroup
            .filter(|_| shader.stage().has_workgroup_outputs())
            .map(|workgroup| workgroup.workgroup_stride().into()),
        inputs: shader.inputs.len() as u64,
        frame_words: frame(shader).map_err(|e| e.to_string())?.map_or(0, |frame| frame.words),
        layout,
    };
    lir::safety::verify(&emission.lir, &stage_layout)
}

fn finished(
    shader: &Shader,
    layout: &PipelineLayoutInfo,
    rectangles: bool,
    (lir, scratch): (lir::Function, u64),
) -> Result<Emission> {
    if scratch > MAX_SCRATCH {
        return Err(Error::limit(format!("{scratch} bytes of private memory")));
    }
    if std::env::var_os("GRUS_LIR").is_some() {
        eprintln!("{lir}");
    }
    let emission = Emission { lir, scratch_bytes: scratch as u32 };
    if lir::safety::is_verification_enabled() {
        let wrong = |e| Error::internal(format!("LIR: {e}\n{}", emission.lir));
        verify(&emission, shader, layout, rectangles).map_err(wrong)?;
    }
    Ok(emission)
}

impl Emitter<'_> {
    /// Emits one instruction in the block of its invariance level.
    fn inst(&mut self, inst: Inst) -> Result<()> {
        if self.sample_batches.is_done(inst) {
            return Ok(());
        }
        let level = self.shader.insts[inst].results().next().map_or(HoistLevel::Chunk, |v| self.hoist_levels.level(v));
        match (level, self.function.workgroup_block()) {
            (HoistLevel::Call, Some(_)) => self.inst_in(self.function.entry_block(), inst),
            (HoistLevel::Workgroup, Some(block)) => self.inst_in(block, inst),
            _ => self.inst_here(inst),
        }
    }

    /// Emits one instruction at the end of another block.
    fn inst_in(&mut self, block: Block, inst: Inst) -> Result<()> {
        let (here, full) = (self.b.current(), self.lanes.is_full());
        self.b.resume_block(block);
        self.lanes.set_full(true);
        self.inst_here(inst)?;
        debug_assert_eq!(self.b.current(), block, "what is made early needs no other block");
        self.lanes.set_full(full);
        self.b.resume_block(here);
        Ok(())
    }

    /// Emits one instruction in the current block.
    fn inst_here(&mut self, inst: Inst) -> Result<()> {
        let shader = self.shader;
        let data = &shader.insts[inst];
        let at = |r: Result<()>| r.map_err(|e| e.with_id(data.source));
        at(budget::lir(self.b.weight()))?;
        if !data.float.is_default() {
            return at(Err(Error::unsupported(format!("arithmetic with{}", data.float))));
        }
        at(match &data.op {
            // Constants are materialised at each use.
            Op::Const(_) => Ok(()),
            Op::VarLoad(var) => self.var_load(*var, data),
            Op::VarStore(var) => self.var_store(*var, data),
            Op::BufferDesc { set, binding }
            | Op::ImageDesc { set, binding }
            | Op::SamplerDesc { set, binding }
            | Op::StructureDesc { set, binding } => self.descriptor(*set, *binding, data),
            Op::Load(space, flags) => self.load(*space, *flags, inst, data),
            Op::Store(space, _) => self.store(*space, data),
            Op::Atomic(space, op) => self.atomic(*space, *op, data),
            Op::BufferSize => self.buffer_size(data),
            Op::LoadInput(slot, at) => self.load_input(*slot, *at, data),
            Op::StoreOutput(slot) => self.store_output(*slot, data),
            Op::LoadVertex(slot) => self.load_vertex(*slot, data),
            Op::StoreVertex(slot) => self.store_vertex(*slot, data),
            Op::StoreVertexCount => self.store_vertex_count(data),
            Op::Builtin(builtin) => self.builtin(*builtin, data),
            Op::Sample(info) => self.sampled(info, inst, data),
            Op::ImageFetch { coords, level, sample, kind } => {
                self.image_fetch(KERNEL_FETCH, [*coords, u8::from(*level), u8::from(*sample)], *kind, data)
            }
            Op::ImageResident { coords, level, sample } => {
                let counts = [*coords, u8::from(*level), u8::from(*sample)];
                self.image_fetch(KERNEL_RESIDENT, counts, TexelKind::None, data)
            }
            Op::ImageStore { coords, sample, kind } => self.image_store(*coords, *sample, *kind, data),
            Op::ImageAtomic { op, coords, sample } => self.image_atomic(*op, *coords, *sample, data),
            Op::ImageQuery(query) => self.image_query(*query, data),
            Op::Ddx { fine } => {
                self.derivative(data, if *fine { [[1, 1, 3, 3], [0, 0, 2, 2]] } else { [[1; 4], [0; 4]] })
            }
            Op::Ddy { fine } => {
                self.derivative(data, if *fine { [[2, 3, 2, 3], [0, 1, 0, 1]] } else { [[2; 4], [0; 4]] })
            }
            Op::Subgroup(op) => self.subgroup(*op, data),
            Op::Barrier => self.barrier(inst),
            Op::ExecuteCallable
            | Op::TraceRay
            | Op::ReportIntersection
            | Op::TraceHitObject
            | Op::ExecuteHitObject
            | Op::Reorder
            | Op::ReadInstance => Err(Error::internal("a call of a shader outside of a region")),
            Op::TerminateRay => self.set_end(InvocationEnd::Terminated),
            Op::IgnoreIntersection => self.set_end(InvocationEnd::Ignored),
            // One chunk runs on one thread, and workgroups that share memory synchronise through
            // locked operations; a fence is therefore enough.
            Op::MemoryBarrier => {
                self.b.fence();
                Ok(())
            }
            Op::Demote => self.demote(),
            Op::IsHelper => self.is_helper(data),
            Op::Clock => self.clock(data),
            Op::RayQuery(var, op) => self.ray_query(*var, *op, data),
            Op::Unary(op) => self.alu(data, |e| e.unary(*op, data)),
            Op::Binary(op) => self.alu(data, |e| e.binary(*op, data)),
            Op::Cmp(op) => self.alu(data, |e| e.compare(*op, data)),
            Op::Convert(op) => self.alu(data, |e| e.convert(*op, data)),
            Op::Select => self.alu(data, |e| e.select(data)),
            Op::Fma => self.alu(data, |e| e.fma(data)),
            Op::Ldexp => self.alu(data, |e| e.ldexp(data)),
            Op::Frexp => self.alu(data, |e| e.frexp(data)),
            Op::IAddCarry | Op::ISubBorrow => self.alu(data, |e| e.carry(data)),
            Op::BitfieldInsert | Op::BitfieldSExtract | Op::BitfieldUExtract => self.alu(data, |e| e.bitfield(data)),
        })
    }

    /// Emits `Op::Sample`, or defines the results of a sample that was taken with others.
    fn sampled(&mut self, info: &SampleInfo, inst: Inst, data: &InstData) -> Result<()> {
        if self.take_hoisted_sample(inst)? || self.take_batched_sample(inst)? {
            return Ok(());
        }
        self.sample(info, data)
    }
}

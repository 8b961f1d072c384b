//! The whole path of a stage: from SPIR-V to IR and through the passes ([`prepare`]), then by
//! divergence analysis and LIR to code ([`Prepared::generate`]). The second part takes most of the
//! time and may run on another thread.
//!
//! [`prepare`] reports every error of a stage. If emission may still refuse the stage
//! ([`emit::can_defer`]), `prepare` therefore emits it too.

#![forbid(unsafe_code)]

use crate::backend::{CancelToken, MachineCode};
use crate::code::CodeBlob;
use crate::emit::{self, Emission, EmitOptions, lane_count};
use crate::error::{Error, Result};
use crate::host;
use crate::ir::{Builtin, Node, Op, Region, Shader};
use crate::passes;
use crate::spirv::{self, Accept, Deviation, Module, Specialization};
use crate::tier::{self, Tier};
use crate::wide;
use base::epilogue::Epilogue;
use base::shader::{PipelineLayoutInfo, ShaderInfo, Stage, StageInterface};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A request to compile one stage.
pub struct CompileRequest<'a> {
    /// The parsed module.
    pub module: &'a Module,
    /// Stage of the entry point.
    pub stage: Stage,
    /// Entry point name.
    pub entry: &'a str,
    /// Specialisation constants, and the size of subgroups.
    pub specialization: &'a Specialization,
    /// Layout of the descriptors.
    pub layout: &'a PipelineLayoutInfo,
    /// Capabilities that the device advertises.
    pub accept: &'a Accept,
}

/// A stage without its code, which can no longer be refused.
pub struct Prepared {
    body: Body,
    info: ShaderInfo,
    deviations: Vec<Deviation>,
}

/// State of a prepared stage.
enum Body {
    /// IR after all passes; no later step can refuse it.
    Ir(Box<EmissionInput>),
    /// LIR, from which only code remains to be made.
    Lir(Emission),
}

/// Input of emission, which may run on any thread.
struct EmissionInput {
    shader: Shader,
    layout: PipelineLayoutInfo,
    stack: usize,
    /// True if no capability of the module exposes the number of lanes ([`emit::lane_count`]).
    exposes_no_subgroups: bool,
}

/// The LIR of a stage.
struct Emissions {
    default_emission: Emission,
    /// LIR with more lanes for the wide tier alone, if that is better.
    more_lanes: Option<Emission>,
}

impl Body {
    /// Returns true if the stage may have code with more lanes per chunk on this machine.
    fn may_have_more_lanes(&self, lanes: u32) -> bool {
        match self {
            Body::Lir(_) => false,
            Body::Ir(stage) => {
                stage.exposes_no_subgroups
                    && wide::has_large_vectors()
                    && lane_count::may_have_more_lanes(&stage.shader, lanes)
            }
        }
    }

    /// Emits the stage. Also returns the number of bytes of scratch memory that its code is given,
    /// which is enough for any code of the stage, including that with more lanes.
    fn emissions(self, lanes: u32, tier: Tier) -> Result<(Emissions, u32)> {
        let may = self.may_have_more_lanes(lanes);
        let emissions = match self {
            Body::Lir(default_emission) => Emissions { default_emission, more_lanes: None },
            Body::Ir(stage) => {
                let EmissionInput { shader, layout, stack, .. } = *stage;
                on_stack(stack, || emissions(&shader, &layout, lanes, may && tier == Tier::Wide))?
            }
        };
        let times = if may { lane_count::MORE_LANES / lanes } else { 1 };
        let scratch_limit = emissions.default_emission.scratch_bytes.saturating_mul(times);
        Ok((emissions, scratch_limit))
    }
}

/// Emits a stage with the usual number of lanes and, if `more` is set and it is worth it, with more
/// lanes.
fn emissions(shader: &Shader, layout: &PipelineLayoutInfo, lanes: u32, more: bool) -> Result<Emissions> {
    let default_emission = emission(shader, layout, EmitOptions::with_lanes(lanes))?;
    // If the emission with more lanes exceeds a limit, it is left out.
    let options = EmitOptions { lanes: lane_count::MORE_LANES, row_lanes: lanes };
    let more_lanes = if more { emission(shader, layout, options).ok() } else { None };
    let more_lanes = more_lanes.filter(|large| lane_count::is_worth_it(&default_emission.lir, &large.lir));
    Ok(Emissions { default_emission, more_lanes })
}

impl Prepared {
    /// Returns all facts about the stage, which is everything but the code.
    pub fn info(&self) -> &ShaderInfo {
        &self.info
    }

    /// Returns the accepted deviations of the module from the specification.
    pub fn deviations(&self) -> &[Deviation] {
        &self.deviations
    }

    /// Makes the code with this tier, or with an earlier tier if this one would take unbounded
    /// time.
    ///
    /// # Errors
    /// The errors of [`tier::generate`].
    pub fn generate(self, tier: Tier) -> Result<CodeBlob> {
        let (lanes, info) = (self.info.lanes, self.info);
        let (Emissions { default_emission, more_lanes }, scratch_limit) = self.body.emissions(lanes, tier)?;
        if let Some(code) = with_more_lanes(more_lanes, scratch_limit, &|| true)? {
            return Ok(with_code(info, code, scratch_limit, Tier::Wide));
        }
        let (code, tier) = tier::generate(&default_emission.lir, tier)?;
        Ok(with_code(info, code, scratch_limit, tier))
    }

    /// Makes better code than that of this tier, if that takes bounded time. `is_needed` is called
    /// between the steps and ends the work when it returns false. The code is given as much scratch
    /// memory as the current code: `scratch_limit` bytes.
    ///
    /// # Errors
    /// The errors of [`tier::tier_up`]. Internal: the code needs more scratch memory than that.
    pub fn tier_up(self, than: Tier, scratch_limit: u32, is_needed: CancelToken<'_>) -> Result<Option<CodeBlob>> {
        let (lanes, info) = (self.info.lanes, self.info);
        let Some(best) = than.better_tiers().next() else { return Ok(None) };
        let (Emissions { default_emission, more_lanes }, _) = self.body.emissions(lanes, best)?;
        if default_emission.scratch_bytes > scratch_limit {
            return Err(Error::internal("the tiers disagree about scratch memory"));
        }
        if let Some(code) = with_more_lanes(more_lanes, scratch_limit, is_needed)? {
            return Ok(Some(with_code(info, code, scratch_limit, Tier::Wide)));
        }
        let code = tier::tier_up(&default_emission.lir, than, is_needed)?;
        Ok(code.map(|(code, tier)| with_code(info, code, scratch_limit, tier)))
    }
}

/// Makes code of the wide tier with more lanes per chunk, if at most `scratch_limit` bytes of
/// scratch memory are enough for it.
fn with_more_lanes(
    emission: Option<Emission>,
    scratch_limit: u32,
    is_needed: CancelToken<'_>,
) -> Result<Option<MachineCode>> {
    match emission.filter(|emission| emission.scratch_bytes <= scratch_limit) {
        Some(emission) => Tier::Wide.code(&emission.lir, is_needed),
        None => Ok(None),
    }
}

/// Makes code of a fragment stage that takes rectangles and writes its colours itself.
///
/// The code is made with the given tier, or with the best one while `is_needed` returns true. The
/// result is `None` if the stage cannot be of this kind, or if that is not worth it.
///
/// # Errors
/// The errors of [`prepare`] and [`tier::generate`]; for a stage that has been prepared, internal
/// ones only.
pub fn with_epilogue(
    request: &CompileRequest<'_>,
    epilogue: &Epilogue,
    tier: Option<Tier>,
    is_needed: CancelToken<'_>,
) -> Result<Option<CodeBlob>> {
    let default_lanes = request.specialization.subgroup_size;
    let (info, emissions) = on_stack(request.module.stack(), || {
        let shader = optimize(request)?;
        let build = |lanes| {
            let divergence = passes::divergence(&shader, lanes);
            emit::build_with_epilogue(&shader, &divergence, request.layout, &EmitOptions::with_lanes(lanes), epilogue)
        };
        let Some(few) = build(default_lanes)? else { return Ok((info(&shader, request)?, None)) };
        let more = tier.is_none_or(|tier| tier == Tier::Wide)
            && wide::has_large_vectors()
            && default_lanes < lane_count::MORE_LANES
            && lane_count::exposes_no_subgroups(request.module.capabilities());
        let more_lanes = if more { build(lane_count::MORE_LANES).ok().flatten() } else { None };
        let more_lanes = more_lanes.filter(|large| lane_count::is_worth_it(&few.lir, &large.lir));
        Ok((info(&shader, request)?, Some(Emissions { default_emission: few, more_lanes })))
    })?;
    let Some(Emissions { default_emission, more_lanes }) = emissions.filter(|_| is_needed()) else { return Ok(None) };
    // This code has scratch memory of its own, which it shares with no other code.
    let scratch = more_lanes.as_ref().map_or(0, |large| large.scratch_bytes);
    if let Some(code) = with_more_lanes(more_lanes, scratch, is_needed)? {
        return Ok(Some(with_code(info, code, scratch, Tier::Wide)));
    }
    let code = match tier {
        Some(tier) => Some(tier::generate(&default_emission.lir, tier)?),
        None => tier::tier_up(&default_emission.lir, Tier::FIRST, is_needed)?,
    };
    Ok(code.map(|(code, tier)| with_code(info, code, default_emission.scratch_bytes, tier)))
}

fn with_code(info: ShaderInfo, code: MachineCode, scratch: u32, tier: Tier) -> CodeBlob {
    CodeBlob { info, code: code.bytes, frame: code.frame, scratch, tier, cpu_features: host::cpu_features() }
}

/// Compiles one stage.
///
/// # Errors
/// The errors of [`prepare`] and [`tier::generate`].
pub fn compile(request: &CompileRequest<'_>, tier: Tier) -> Result<CodeBlob> {
    prepare(request)?.generate(tier)
}

/// Compiles one stage up to the point where only code generation is left.
///
/// # Errors
/// All kinds of [`crate::error::ErrorKind`], which say whose fault the error is. A panic inside is
/// an Internal error.
pub fn prepare(request: &CompileRequest<'_>) -> Result<Prepared> {
    let stack = request.module.stack();
    on_stack(stack, || {
        let shader = optimize(request)?;
        let (info, lanes) = (info(&shader, request)?, request.specialization.subgroup_size);
        let can_defer = emit::can_defer(&shader, request.layout, lanes);
        let exposes_no_subgroups = lane_count::exposes_no_subgroups(request.module.capabilities());
        let body = match can_defer {
            true => Body::Ir(Box::new(EmissionInput {
                shader,
                layout: request.layout.clone(),
                stack,
                exposes_no_subgroups,
            })),
            false => Body::Lir(emission(&shader, request.layout, EmitOptions::with_lanes(lanes))?),
        };
        Ok(Prepared { body, info, deviations: request.module.deviations() })
    })
}

/// Results of [`prepare`] as readable text and LIR, before code exists.
pub struct CompileDescription {
    /// Properties of the stage.
    pub info: ShaderInfo,
    /// LIR of the stage, and the size of its scratch memory.
    pub emission: Emission,
    /// LIR with more lanes per chunk, if the wide tier uses that.
    pub more_lanes: Option<Emission>,
    /// The IR after all passes.
    pub ir: String,
    /// Number of instructions in the IR.
    pub ir_instructions: usize,
}

/// Compiles one stage like [`prepare`], and returns its IR and LIR.
///
/// # Errors
/// The errors of [`prepare`].
pub fn describe(request: &CompileRequest<'_>) -> Result<CompileDescription> {
    on_stack(request.module.stack(), || {
        let shader = optimize(request)?;
        let (ir, ir_instructions) = (shader.to_string(), shader.live_insts().count());
        let info = info(&shader, request)?;
        let stack = request.module.stack();
        let exposes_no_subgroups = lane_count::exposes_no_subgroups(request.module.capabilities());
        let body =
            Body::Ir(Box::new(EmissionInput { shader, layout: request.layout.clone(), stack, exposes_no_subgroups }));
        let (Emissions { default_emission: emission, more_lanes }, scratch_limit) =
            body.emissions(info.lanes, Tier::Wide)?;
        let more_lanes = more_lanes.filter(|large| large.scratch_bytes <= scratch_limit);
        Ok(CompileDescription { info, emission, more_lanes, ir, ir_instructions })
    })
}

impl CompileDescription {
    /// Returns the LIR from which a tier makes code.
    pub fn emission_of(&self, tier: Tier) -> &Emission {
        self.more_lanes.as_ref().filter(|_| tier == Tier::Wide).unwrap_or(&self.emission)
    }
}

/// Runs a function with enough stack for the trees of regions that are made and walked in it. Trees
/// that any thread can drop may be dropped elsewhere too.
fn on_stack<T>(stack: usize, f: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(|| base::stack::with(stack, f))) {
        Ok(Ok(made)) => made,
        Ok(Err(e)) => Err(Error::no_stack(e)),
        Err(_) => Err(Error::internal("panic while compiling")),
    }
}

/// Returns true if a region contains a loop after the passes.
fn has_loops(region: &Region) -> bool {
    region.nodes.iter().any(|node| match node {
        Node::Inst(_) => false,
        Node::Loop(_) => true,
        Node::If(n) => has_loops(&n.then) || has_loops(&n.else_),
        Node::Scope(n) => has_loops(&n.body),
    })
}

/// Translates a module to IR and runs all passes.
fn optimize(request: &CompileRequest<'_>) -> Result<Shader> {
    let mut shader = spirv::translate(
        request.module,
        request.stage,
        request.entry,
        request.specialization,
        request.layout,
        request.accept,
    )?;
    passes::run(&mut shader, &passes::PassOptions::default())?;
    Ok(shader)
}

/// Returns the facts about a stage that are known without its code.
fn info(shader: &Shader, request: &CompileRequest<'_>) -> Result<ShaderInfo> {
    let (mut draw_parameters, mut reads_primitive_id, mut reads_sample_mask) = (false, false, false);
    for data in shader.live_insts() {
        draw_parameters |= data.op.info().per_draw;
        if let Op::Builtin(builtin) = data.op {
            reads_primitive_id |= builtin == Builtin::PrimitiveId;
            reads_sample_mask |= builtin == Builtin::SampleMaskIn;
        }
    }
    let mut stage_info = shader.stage_info;
    if let Some(info) = stage_info.fragment_mut() {
        info.flat = passes::is_flat(shader);
        (info.reads_primitive_id, info.reads_sample_mask) = (reads_primitive_id, reads_sample_mask);
    }
    let [inputs, outputs] = [&shader.inputs, &shader.outputs].map(Vec::clone);
    Ok(ShaderInfo {
        stage_info,
        lanes: request.specialization.subgroup_size,
        interface: Arc::new(StageInterface { inputs, outputs, placements: shader.placements.clone() }),
        capture: shader.capture.clone().map(Arc::new),
        side_effects: shader.side_effects,
        has_loops: has_loops(&shader.root.body),
        draw_parameters,
        frame: emit::frame(shader)?.map(Arc::new),
    })
}

/// Emits LIR from IR.
fn emission(shader: &Shader, layout: &PipelineLayoutInfo, options: EmitOptions) -> Result<Emission> {
    let divergence = passes::divergence(shader, options.lanes);
    emit::build(shader, &divergence, layout, &options)
}

/// Reads the stored form of a stage; returns `None` unless it is intact, of this build, and for
/// this CPU.
pub fn load_stored(bytes: &[u8]) -> Option<CodeBlob> {
    CodeBlob::from_bytes(bytes, host::cpu_features())
}

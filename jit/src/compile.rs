//! The whole path of a stage: from SPIR-V to IR and through the passes ([`prepare`]), then by
//! divergence analysis and LIR to code ([`Prepared::generate`]). The second part takes most of the
//! time and may run on another thread. All other code of the stage starts from the same IR, which
//! [`with_prepared_ir`] makes again: code of a better tier, code with epilogues, descriptions.
//!
//! [`prepare`] reports every error of a stage. If emission may still refuse the stage
//! ([`emit::can_defer`]), `prepare` therefore emits it too.

#![forbid(unsafe_code)]

use crate::backend::MachineCode;
use crate::cancel::CancelToken;
use crate::code::CodeBlob;
use crate::emit::{self, Emission, EmitOptions, lane_count};
use crate::error::{Error, Result};
use crate::host;
use crate::ir::{Builtin, InterpolateAt, Node, Op, Region, Shader};
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
    deviations: Vec<Deviation>,
}

/// State of a prepared stage.
enum Body {
    /// IR after all passes; no later step can refuse it.
    Ir(Box<PreparedIr>),
    /// LIR, from which only code remains to be made.
    Lir(Box<ShaderInfo>, Emission),
}

/// The IR of a stage after all passes, with what emission needs besides: the form from which all
/// code of the stage is made.
pub struct PreparedIr {
    shader: Shader,
    info: ShaderInfo,
    layout: PipelineLayoutInfo,
    stack: usize,
    /// True if emission cannot refuse the stage ([`emit::can_defer`]).
    is_infallible: bool,
    /// True if no capability of the module exposes the number of lanes ([`emit::lane_count`]).
    exposes_no_subgroups: bool,
}

/// The LIR of a stage.
struct Emissions {
    default_emission: Emission,
    /// LIR with more lanes for the wide tier alone, if that is better.
    more_lanes: Option<Emission>,
    /// Number of bytes of scratch memory that the code is given, which is enough for any code of
    /// the stage, including that with more lanes.
    scratch_limit: u32,
}

impl Emissions {
    /// Makes the code with this tier, or with an earlier tier if this one would take unbounded
    /// time.
    fn generate(self, info: ShaderInfo, tier: Tier) -> Result<CodeBlob> {
        let Emissions { default_emission, more_lanes, scratch_limit } = self;
        if let Some(code) = with_more_lanes(more_lanes, scratch_limit, &CancelToken::NEVER)? {
            return Ok(with_code(info, code, scratch_limit, Tier::Wide));
        }
        let (code, tier) = tier::generate(&default_emission.lir, tier)?;
        Ok(with_code(info, code, scratch_limit, tier))
    }
}

impl PreparedIr {
    /// Translates a stage and runs all passes. The caller provides the stack that the module
    /// needs, for this function and for all others.
    fn new(request: &CompileRequest<'_>) -> Result<PreparedIr> {
        let shader = optimize(request)?;
        let (info, layout) = (info(&shader, request)?, request.layout);
        let is_infallible = emit::can_defer(&shader, layout, info.lanes);
        let exposes_no_subgroups = lane_count::exposes_no_subgroups(request.module.capabilities());
        let (layout, stack) = (layout.clone(), request.module.stack());
        Ok(PreparedIr { shader, info, layout, stack, is_infallible, exposes_no_subgroups })
    }

    /// Returns all facts about the stage, which is everything but the code.
    pub fn info(&self) -> &ShaderInfo {
        &self.info
    }

    /// Returns true if the stage may have code with more lanes per chunk on this machine.
    fn may_have_more_lanes(&self) -> bool {
        self.is_infallible
            && self.exposes_no_subgroups
            && wide::has_large_vectors()
            && lane_count::may_have_more_lanes(&self.shader, self.info.lanes)
    }

    /// Emits LIR with this number of lanes per chunk.
    fn emission(&self, options: EmitOptions) -> Result<Emission> {
        let divergence = passes::divergence(&self.shader, options.lanes);
        emit::build(&self.shader, &divergence, &self.layout, &options)
    }

    /// Emits LIR with the usual number of lanes and, for the wide tier and if it is worth it, with
    /// more lanes.
    fn emissions(&self, tier: Tier) -> Result<Emissions> {
        let (lanes, may) = (self.info.lanes, self.may_have_more_lanes());
        let default_emission = self.emission(EmitOptions::with_lanes(lanes))?;
        // If the emission with more lanes exceeds a limit, it is left out.
        let options = EmitOptions { lanes: lane_count::MORE_LANES, row_lanes: lanes };
        let more_lanes = if may && tier == Tier::Wide { self.emission(options).ok() } else { None };
        let more_lanes = more_lanes.filter(|large| lane_count::is_worth_it(&default_emission.lir, &large.lir));
        let times = if may { lane_count::MORE_LANES / lanes } else { 1 };
        let scratch_limit = default_emission.scratch_bytes.saturating_mul(times);
        Ok(Emissions { default_emission, more_lanes, scratch_limit })
    }

    /// Emits LIR and drops the IR, so that there are never all three of IR, LIR and code.
    fn into_emissions(self, tier: Tier) -> Result<(ShaderInfo, Emissions)> {
        let emissions = on_stack(self.stack, || self.emissions(tier))?;
        Ok((self.info, emissions))
    }

    /// Makes the code with this tier, or with an earlier tier if this one would take unbounded
    /// time.
    ///
    /// # Errors
    /// The errors of [`tier::generate`].
    pub fn generate(&self, tier: Tier) -> Result<CodeBlob> {
        self.emissions(tier)?.generate(self.info.clone(), tier)
    }

    /// Makes better code than that of this tier, if that takes bounded time, unless the token is
    /// cancelled. The code is given as much scratch memory as the current code: `scratch_limit`
    /// bytes.
    ///
    /// # Errors
    /// The errors of [`tier::tier_up`]. Internal: the code needs more scratch memory than that.
    pub fn tier_up(&self, than: Tier, scratch_limit: u32, token: &CancelToken) -> Result<Option<CodeBlob>> {
        let Some(best) = than.better_tiers().next().filter(|_| !token.is_cancelled()) else { return Ok(None) };
        let Emissions { default_emission, more_lanes, .. } = self.emissions(best)?;
        if default_emission.scratch_bytes > scratch_limit {
            return Err(Error::internal("the tiers disagree about scratch memory"));
        }
        if let Some(code) = with_more_lanes(more_lanes, scratch_limit, token)? {
            return Ok(Some(with_code(self.info.clone(), code, scratch_limit, Tier::Wide)));
        }
        let code = tier::tier_up(&default_emission.lir, than, token)?;
        Ok(code.map(|(code, tier)| with_code(self.info.clone(), code, scratch_limit, tier)))
    }

    /// Makes code of a fragment stage that takes rectangles and writes its colours itself.
    ///
    /// The code is made with the given tier, or with the best one unless the token is cancelled.
    /// The result is `None` if the stage cannot be of this kind, or if that is not worth it.
    ///
    /// # Errors
    /// The errors of [`tier::generate`].
    pub fn with_epilogue(
        &self,
        epilogue: &Epilogue,
        tier: Option<Tier>,
        token: &CancelToken,
    ) -> Result<Option<CodeBlob>> {
        let lanes = self.info.lanes;
        let build = |lanes| {
            let divergence = passes::divergence(&self.shader, lanes);
            emit::build_with_epilogue(
                &self.shader,
                &divergence,
                &self.layout,
                &EmitOptions::with_lanes(lanes),
                epilogue,
            )
        };
        let Some(few) = build(lanes)? else { return Ok(None) };
        let more = tier.is_none_or(|tier| tier == Tier::Wide)
            && wide::has_large_vectors()
            && lanes < lane_count::MORE_LANES
            && self.exposes_no_subgroups;
        let more_lanes = if more { build(lane_count::MORE_LANES).ok().flatten() } else { None };
        let more_lanes = more_lanes.filter(|large| lane_count::is_worth_it(&few.lir, &large.lir));
        if token.is_cancelled() {
            return Ok(None);
        }
        // This code has scratch memory of its own, which it shares with no other code.
        let scratch = more_lanes.as_ref().map_or(0, |large| large.scratch_bytes);
        if let Some(code) = with_more_lanes(more_lanes, scratch, token)? {
            return Ok(Some(with_code(self.info.clone(), code, scratch, Tier::Wide)));
        }
        let code = match tier {
            Some(tier) => Some(tier::generate(&few.lir, tier)?),
            None => tier::tier_up(&few.lir, Tier::FIRST, token)?,
        };
        Ok(code.map(|(code, tier)| with_code(self.info.clone(), code, few.scratch_bytes, tier)))
    }

    /// Returns the IR and LIR of the stage.
    ///
    /// # Errors
    /// The errors of emission.
    pub fn describe(&self) -> Result<CompileDescription> {
        let (ir, ir_instructions) = (self.shader.to_string(), self.shader.live_insts().count());
        let Emissions { default_emission: emission, more_lanes, scratch_limit } = self.emissions(Tier::Wide)?;
        let more_lanes = more_lanes.filter(|large| large.scratch_bytes <= scratch_limit);
        Ok(CompileDescription { info: self.info.clone(), emission, more_lanes, ir, ir_instructions })
    }
}

impl Prepared {
    /// Returns all facts about the stage, which is everything but the code.
    pub fn info(&self) -> &ShaderInfo {
        match &self.body {
            Body::Ir(ir) => &ir.info,
            Body::Lir(info, _) => info,
        }
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
        match self.body {
            Body::Ir(ir) => {
                let (info, emissions) = ir.into_emissions(tier)?;
                emissions.generate(info, tier)
            }
            Body::Lir(info, default_emission) => {
                let scratch_limit = default_emission.scratch_bytes;
                Emissions { default_emission, more_lanes: None, scratch_limit }.generate(*info, tier)
            }
        }
    }
}

/// Makes code of the wide tier with more lanes per chunk, if at most `scratch_limit` bytes of
/// scratch memory are enough for it.
fn with_more_lanes(emission: Option<Emission>, scratch_limit: u32, token: &CancelToken) -> Result<Option<MachineCode>> {
    match emission.filter(|emission| emission.scratch_bytes <= scratch_limit) {
        Some(emission) => Tier::Wide.code(&emission.lir, token),
        None => Ok(None),
    }
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
    on_stack(request.module.stack(), || {
        let ir = PreparedIr::new(request)?;
        let body = if ir.is_infallible {
            Body::Ir(Box::new(ir))
        } else {
            let emission = ir.emission(EmitOptions::with_lanes(ir.info.lanes))?;
            Body::Lir(Box::new(ir.info), emission)
        };
        Ok(Prepared { body, deviations: request.module.deviations() })
    })
}

/// Prepares a stage again and passes its IR to `f`, which makes more code of it. The IR does not
/// leave this function, because it may be nested so deeply that only the stack on which `f` runs
/// is large enough to drop it.
///
/// # Errors
/// The errors of `f`, and for a stage that has not been prepared before those of [`prepare`].
pub fn with_prepared_ir<T>(request: &CompileRequest<'_>, f: impl FnOnce(&PreparedIr) -> Result<T>) -> Result<T> {
    on_stack(request.module.stack(), || f(&PreparedIr::new(request)?))
}

/// A prepared stage as readable text and LIR ([`PreparedIr::describe`]).
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
    let (mut draw_parameters, mut reads_primitive_id) = (false, false);
    let (mut reads_sample_mask, mut reads_fully_covered, mut reads_centroids) = (false, false, false);
    for data in shader.live_insts() {
        draw_parameters |= data.op.info().per_draw;
        reads_centroids |= matches!(data.op, Op::LoadInput(_, InterpolateAt::Centroid));
        if let Op::Builtin(builtin) = data.op {
            reads_primitive_id |= builtin == Builtin::PrimitiveId;
            reads_sample_mask |= builtin == Builtin::SampleMaskIn;
            reads_fully_covered |= builtin == Builtin::FullyCovered;
        }
    }
    let mut stage_info = shader.stage_info;
    if let Some(info) = stage_info.fragment_mut() {
        info.flat = passes::is_flat(shader);
        (info.reads_primitive_id, info.reads_sample_mask) = (reads_primitive_id, reads_sample_mask);
        (info.reads_fully_covered, info.reads_centroids) = (reads_fully_covered, reads_centroids);
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

/// Reads the stored form of a stage; returns `None` unless it is intact, of this build, and for
/// this CPU.
pub fn load_stored(bytes: &[u8]) -> Option<CodeBlob> {
    CodeBlob::from_bytes(bytes, host::cpu_features())
}

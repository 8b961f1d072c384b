//! The whole path of a stage: from SPIR-V to IR and through the passes ([`prepare`]), then by
//! divergence analysis and LIR to code ([`Prepared::generate`]). The second part takes most of the
//! time and may run on another thread.
//!
//! [`prepare`] reports every error of a stage. If emission may still refuse the stage
//! ([`emit::can_defer`]), `prepare` therefore emits it too.

#![forbid(unsafe_code)]

use crate::backend::{MachineCode, Wanted};
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
use base::shader::{PipelineLayoutInfo, Stage, StageFacts, StageInterface};
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
    facts: StageFacts,
    deviations: Vec<Deviation>,
}

/// State of a prepared stage.
enum Body {
    /// IR after all passes; no later step can refuse it.
    Ir(Box<Unemitted>),
    /// LIR, from which only code remains to be made.
    Lir(Emission),
}

/// Input of emission, which may run on any thread.
struct Unemitted {
    shader: Shader,
    layout: PipelineLayoutInfo,
    stack: usize,
    /// True if no capability of the module exposes the number of lanes ([`emit::lane_count`]).
    exposes_no_subgroups: bool,
}

/// The LIR of a stage.
struct Emissions {
    usual: Emission,
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
            Body::Lir(usual) => Emissions { usual, more_lanes: None },
            Body::Ir(stage) => {
                let Unemitted { shader, layout, stack, .. } = *stage;
                on_stack(stack, || emissions(&shader, &layout, lanes, may && tier == Tier::Wide))?
            }
        };
        let times = if may { lane_count::MORE_LANES / lanes } else { 1 };
        let room = emissions.usual.scratch_bytes.saturating_mul(times);
        Ok((emissions, room))
    }
}

/// Emits a stage with the usual number of lanes and, if `more` is set and it is worth it, with more
/// lanes.
fn emissions(shader: &Shader, layout: &PipelineLayoutInfo, lanes: u32, more: bool) -> Result<Emissions> {
    let usual = emission(shader, layout, EmitOptions::of(lanes))?;
    // If the emission with more lanes exceeds a limit, it is left out.
    let options = EmitOptions { lanes: lane_count::MORE_LANES, row_lanes: lanes };
    let more_lanes = if more { emission(shader, layout, options).ok() } else { None };
    let more_lanes = more_lanes.filter(|large| lane_count::is_worth_it(&usual.lir, &large.lir));
    Ok(Emissions { usual, more_lanes })
}

impl Prepared {
    /// Returns all facts about the stage, which is everything but the code.
    pub fn facts(&self) -> &StageFacts {
        &self.facts
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
        let (lanes, facts) = (self.facts.lanes, self.facts);
        let (Emissions { usual, more_lanes }, room) = self.body.emissions(lanes, tier)?;
        if let Some(code) = with_more_lanes(more_lanes, room, &|| true)? {
            return Ok(with_code(facts, code, room, Tier::Wide));
        }
        let (code, tier) = tier::generate(&usual.lir, tier)?;
        Ok(with_code(facts, code, room, tier))
    }

    /// Makes better code than that of this tier, if that takes bounded time. `wanted` is called
    /// between the steps and ends the work when it returns false. The code is given as much scratch
    /// memory as the current code: `room` bytes.
    ///
    /// # Errors
    /// The errors of [`tier::improve`]. Internal: the code needs more scratch memory than that.
    pub fn improve(self, than: Tier, room: u32, wanted: Wanted<'_>) -> Result<Option<CodeBlob>> {
        let (lanes, facts) = (self.facts.lanes, self.facts);
        let Some(best) = than.better().next() else { return Ok(None) };
        let (Emissions { usual, more_lanes }, _) = self.body.emissions(lanes, best)?;
        if usual.scratch_bytes > room {
            return Err(Error::internal("the tiers disagree about scratch memory"));
        }
        if let Some(code) = with_more_lanes(more_lanes, room, wanted)? {
            return Ok(Some(with_code(facts, code, room, Tier::Wide)));
        }
        let code = tier::improve(&usual.lir, than, wanted)?;
        Ok(code.map(|(code, tier)| with_code(facts, code, room, tier)))
    }
}

/// Makes code of the wide tier with more lanes per chunk, if at most `room` bytes of scratch memory
/// are enough for it.
fn with_more_lanes(emission: Option<Emission>, room: u32, wanted: Wanted<'_>) -> Result<Option<MachineCode>> {
    match emission.filter(|emission| emission.scratch_bytes <= room) {
        Some(emission) => Tier::Wide.code(&emission.lir, wanted),
        None => Ok(None),
    }
}

/// Makes code of a fragment stage that takes rectangles and writes its colours itself.
///
/// The code is made with the given tier, or with the best one while `wanted` returns true. The
/// result is `None` if the stage cannot be of this kind, or if that is not worth it.
///
/// # Errors
/// The errors of [`prepare`] and [`tier::generate`]; for a stage that has been prepared, internal
/// ones only.
pub fn with_epilogue(
    request: &CompileRequest<'_>,
    epilogue: &Epilogue,
    tier: Option<Tier>,
    wanted: Wanted<'_>,
) -> Result<Option<CodeBlob>> {
    let usual = request.specialization.subgroup_size;
    let (facts, emissions) = on_stack(request.module.stack(), || {
        let shader = optimised(request)?;
        let build = |lanes| {
            let divergence = passes::divergence(&shader, lanes);
            emit::build_with_epilogue(&shader, &divergence, request.layout, &EmitOptions::of(lanes), epilogue)
        };
        let Some(few) = build(usual)? else { return Ok((facts(&shader, request), None)) };
        let more = tier.is_none_or(|tier| tier == Tier::Wide)
            && wide::has_large_vectors()
            && usual < lane_count::MORE_LANES
            && lane_count::exposes_no_subgroups(request.module.capabilities());
        let more_lanes = if more { build(lane_count::MORE_LANES).ok().flatten() } else { None };
        let more_lanes = more_lanes.filter(|large| lane_count::is_worth_it(&few.lir, &large.lir));
        Ok((facts(&shader, request), Some(Emissions { usual: few, more_lanes })))
    })?;
    let Some(Emissions { usual, more_lanes }) = emissions.filter(|_| wanted()) else { return Ok(None) };
    // This code has scratch memory of its own, which it shares with no other code.
    let scratch = more_lanes.as_ref().map_or(0, |large| large.scratch_bytes);
    if let Some(code) = with_more_lanes(more_lanes, scratch, wanted)? {
        return Ok(Some(with_code(facts, code, scratch, Tier::Wide)));
    }
    let code = match tier {
        Some(tier) => Some(tier::generate(&usual.lir, tier)?),
        None => tier::improve(&usual.lir, Tier::FIRST, wanted)?,
    };
    Ok(code.map(|(code, tier)| with_code(facts, code, usual.scratch_bytes, tier)))
}

fn with_code(facts: StageFacts, code: MachineCode, scratch: u32, tier: Tier) -> CodeBlob {
    CodeBlob { facts, code: code.bytes, frame: code.frame, scratch, tier, cpu_features: host::cpu_features() }
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
        let shader = optimised(request)?;
        let (facts, lanes) = (facts(&shader, request), request.specialization.subgroup_size);
        let can_defer = emit::can_defer(&shader, request.layout, lanes);
        let exposes_no_subgroups = lane_count::exposes_no_subgroups(request.module.capabilities());
        let body = match can_defer {
            true => {
                Body::Ir(Box::new(Unemitted { shader, layout: request.layout.clone(), stack, exposes_no_subgroups }))
            }
            false => Body::Lir(emission(&shader, request.layout, EmitOptions::of(lanes))?),
        };
        Ok(Prepared { body, facts, deviations: request.module.deviations() })
    })
}

/// Results of [`prepare`] as readable text and LIR, before code exists.
pub struct Described {
    /// Facts about the stage.
    pub facts: StageFacts,
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
pub fn describe(request: &CompileRequest<'_>) -> Result<Described> {
    on_stack(request.module.stack(), || {
        let shader = optimised(request)?;
        let (ir, ir_instructions) = (shader.to_string(), count_instructions(&shader.root.body));
        let facts = facts(&shader, request);
        let stack = request.module.stack();
        let exposes_no_subgroups = lane_count::exposes_no_subgroups(request.module.capabilities());
        let body =
            Body::Ir(Box::new(Unemitted { shader, layout: request.layout.clone(), stack, exposes_no_subgroups }));
        let (Emissions { usual: emission, more_lanes }, room) = body.emissions(facts.lanes, Tier::Wide)?;
        let more_lanes = more_lanes.filter(|large| large.scratch_bytes <= room);
        Ok(Described { facts, emission, more_lanes, ir, ir_instructions })
    })
}

impl Described {
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

/// Returns the number of instructions of a region, including nested ones.
fn count_instructions(region: &Region) -> usize {
    let of = |node: &Node| match node {
        Node::Inst(_) => 1,
        Node::Loop(n) => count_instructions(&n.body),
        Node::If(n) => count_instructions(&n.then) + count_instructions(&n.else_),
        Node::Scope(n) => count_instructions(&n.body),
    };
    region.nodes.iter().map(of).sum()
}

/// Translates a module to IR and runs all passes.
fn optimised(request: &CompileRequest<'_>) -> Result<Shader> {
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
fn facts(shader: &Shader, request: &CompileRequest<'_>) -> StageFacts {
    let (mut draw_parameters, mut reads_primitive_id, mut reads_sample_mask) = (false, false, false);
    for data in shader.insts.values() {
        draw_parameters |= data.op.info().per_draw;
        if let Op::Builtin(builtin) = data.op {
            reads_primitive_id |= builtin == Builtin::PrimitiveId;
            reads_sample_mask |= builtin == Builtin::SampleMaskIn;
        }
    }
    let mut payload = shader.payload;
    if let Some(facts) = payload.fragment_mut() {
        facts.flat = passes::is_flat(shader);
        (facts.reads_primitive_id, facts.reads_sample_mask) = (reads_primitive_id, reads_sample_mask);
    }
    let [inputs, outputs] = [&shader.inputs, &shader.outputs].map(Vec::clone);
    StageFacts {
        payload,
        lanes: request.specialization.subgroup_size,
        interface: Arc::new(StageInterface { inputs, outputs, places: shader.places.clone() }),
        capture: shader.capture.clone().map(Arc::new),
        side_effects: shader.side_effects,
        has_loops: has_loops(&shader.root.body),
        draw_parameters,
    }
}

/// Emits LIR from IR.
fn emission(shader: &Shader, layout: &PipelineLayoutInfo, options: EmitOptions) -> Result<Emission> {
    let divergence = passes::divergence(shader, options.lanes);
    emit::build(shader, &divergence, layout, &options)
}

/// Reads the stored form of a stage; returns `None` unless it is intact, of this build, and for
/// this CPU.
pub fn stored(bytes: &[u8]) -> Option<CodeBlob> {
    CodeBlob::from_bytes(bytes, host::cpu_features())
}

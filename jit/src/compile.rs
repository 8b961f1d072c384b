//! The whole road of a stage: SPIR-V → IR → passes ([`prepare`]), and from there by divergence and LIR to code ([`Prepared::generate`]), which is
//! most of the time and can be somebody else's.
//!
//! Whoever prepares a stage is told what is wrong with it. So where emission may still refuse it ([`emit::is_certain`]), it is done there and then.

#![forbid(unsafe_code)]

use crate::backend::{MachineCode, Wanted};
use crate::code::CodeBlob;
use crate::emit::{self, Emission, EmitOptions, unseen};
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

/// What to compile.
pub struct CompileRequest<'a> {
    /// Parsed module.
    pub module: &'a Module,
    /// Stage.
    pub stage: Stage,
    /// Entry point name.
    pub entry: &'a str,
    /// Specialisation constants, and the size of subgroups.
    pub specialization: &'a Specialization,
    /// Where descriptors lie.
    pub layout: &'a PipelineLayoutInfo,
    /// Capabilities the device advertises.
    pub accept: &'a Accept,
}

/// A stage that nothing can be wrong with any more, without its code.
pub struct Prepared {
    body: Body,
    facts: StageFacts,
    deviations: Vec<Deviation>,
}

/// How far a stage has come.
enum Body {
    /// All passes are done, and nothing that is left can fail.
    Ir(Box<Unemitted>),
    /// Only code is missing.
    Lir(Emission),
}

/// What emission takes, in any thread.
struct Unemitted {
    shader: Shader,
    layout: PipelineLayoutInfo,
    stack: usize,
    /// Nothing of the module sees how many lanes there are ([`emit::unseen`]).
    blind: bool,
}

/// A stage's LIR.
struct Emissions {
    usual: Emission,
    /// For the wide tier alone, where it is better.
    more_lanes: Option<Emission>,
}

impl Body {
    /// May the stage have code with more lanes to a chunk on this machine?
    fn may_have_more_lanes(&self, lanes: u32) -> bool {
        match self {
            Body::Lir(_) => false,
            Body::Ir(stage) => {
                stage.blind && wide::has_large_vectors() && unseen::may_have_more_lanes(&stage.shader, lanes)
            }
        }
    }

    /// And bytes of scratch memory that code is given: any of the stage's may run, with more lanes too.
    fn emissions(self, lanes: u32, tier: Tier) -> Result<(Emissions, u32)> {
        let may = self.may_have_more_lanes(lanes);
        let emissions = match self {
            Body::Lir(usual) => Emissions { usual, more_lanes: None },
            Body::Ir(stage) => {
                let Unemitted { shader, layout, stack, .. } = *stage;
                on_stack(stack, || emissions(&shader, &layout, lanes, may && tier == Tier::Wide))?
            }
        };
        let times = if may { unseen::MORE_LANES / lanes } else { 1 };
        let room = emissions.usual.scratch_bytes.saturating_mul(times);
        Ok((emissions, room))
    }
}

/// Both, if more lanes are worth it.
fn emissions(shader: &Shader, layout: &PipelineLayoutInfo, lanes: u32, more: bool) -> Result<Emissions> {
    let usual = emission(shader, layout, EmitOptions::of(lanes))?;
    // What is beyond a limit there is not here.
    let options = EmitOptions { lanes: unseen::MORE_LANES, row_lanes: lanes };
    let more_lanes = if more { emission(shader, layout, options).ok() } else { None };
    let more_lanes = more_lanes.filter(|large| unseen::is_worth_it(&usual.lir, &large.lir));
    Ok(Emissions { usual, more_lanes })
}

impl Prepared {
    /// Everything about the stage but the code.
    pub fn facts(&self) -> &StageFacts {
        &self.facts
    }

    /// What the module does against the specification and was accepted all the same.
    pub fn deviations(&self) -> &[Deviation] {
        &self.deviations
    }

    /// Makes the code: by this tier, or by one before it where that would take unbounded time.
    ///
    /// # Errors
    /// As [`tier::generate`].
    pub fn generate(self, tier: Tier) -> Result<CodeBlob> {
        let (lanes, facts) = (self.facts.lanes, self.facts);
        let (Emissions { usual, more_lanes }, room) = self.body.emissions(lanes, tier)?;
        if let Some(code) = with_more_lanes(more_lanes, room, &|| true)? {
            return Ok(with_code(facts, code, room, Tier::Wide));
        }
        let (code, tier) = tier::generate(&usual.lir, tier)?;
        Ok(with_code(facts, code, room, tier))
    }

    /// Makes better code than this tier's, if that takes bounded time and as long as `wanted` says so, which is asked between the steps. It is
    /// given `room` bytes of scratch memory, as the code so far is.
    ///
    /// # Errors
    /// As [`tier::improve`]; Internal when that is too little.
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

/// Code of the wide tier with more lanes to a chunk, where there is room for what they keep.
fn with_more_lanes(emission: Option<Emission>, room: u32, wanted: Wanted<'_>) -> Result<Option<MachineCode>> {
    match emission.filter(|emission| emission.scratch_bytes <= room) {
        Some(emission) => Tier::Wide.code(&emission.lir, wanted),
        None => Ok(None),
    }
}

/// Makes code of a fragment stage that takes rectangles and writes its colours itself: by a tier, or the best one, as long as it is `wanted`. `None` where the stage can't be such a one, or that is not
/// worth it.
///
/// # Errors
/// As [`prepare`] and [`tier::generate`]: of a stage that has been prepared, internal ones.
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
            && usual < unseen::MORE_LANES
            && unseen::is_blind(request.module.capabilities());
        let more_lanes = if more { build(unseen::MORE_LANES).ok().flatten() } else { None };
        let more_lanes = more_lanes.filter(|large| unseen::is_worth_it(&few.lir, &large.lir));
        Ok((facts(&shader, request), Some(Emissions { usual: few, more_lanes })))
    })?;
    let Some(Emissions { usual, more_lanes }) = emissions.filter(|_| wanted()) else { return Ok(None) };
    // Its scratch memory is nobody else's.
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
/// As [`prepare`].
pub fn compile(request: &CompileRequest<'_>, tier: Tier) -> Result<CodeBlob> {
    prepare(request)?.generate(tier)
}

/// Brings one stage to where only code generation is left.
///
/// # Errors
/// By whose fault: see [`crate::error::ErrorKind`]. A panic inside is an Internal error.
pub fn prepare(request: &CompileRequest<'_>) -> Result<Prepared> {
    let stack = request.module.stack();
    on_stack(stack, || {
        let shader = optimised(request)?;
        let (facts, lanes) = (facts(&shader, request), request.specialization.subgroup_size);
        let certain = emit::is_certain(&shader, request.layout, lanes);
        let blind = unseen::is_blind(request.module.capabilities());
        let body = match certain {
            true => Body::Ir(Box::new(Unemitted { shader, layout: request.layout.clone(), stack, blind })),
            false => Body::Lir(emission(&shader, request.layout, EmitOptions::of(lanes))?),
        };
        Ok(Prepared { body, facts, deviations: request.module.deviations() })
    })
}

/// [`prepare`] for people: what becomes of a stage before there is code.
pub struct Described {
    /// What is known of the stage.
    pub facts: StageFacts,
    /// Its LIR, and how much private memory that takes.
    pub emission: Emission,
    /// The same with more lanes to a chunk, where the wide tier has that.
    pub more_lanes: Option<Emission>,
    /// Its IR after all passes.
    pub ir: String,
    /// Instructions in there.
    pub ir_instructions: usize,
}

/// As [`prepare`], with texts.
///
/// # Errors
/// As [`prepare`].
pub fn describe(request: &CompileRequest<'_>) -> Result<Described> {
    on_stack(request.module.stack(), || {
        let shader = optimised(request)?;
        let (ir, ir_instructions) = (shader.to_string(), count_instructions(&shader.root.body));
        let facts = facts(&shader, request);
        let stack = request.module.stack();
        let blind = unseen::is_blind(request.module.capabilities());
        let body = Body::Ir(Box::new(Unemitted { shader, layout: request.layout.clone(), stack, blind }));
        let (Emissions { usual: emission, more_lanes }, room) = body.emissions(facts.lanes, Tier::Wide)?;
        let more_lanes = more_lanes.filter(|large| large.scratch_bytes <= room);
        Ok(Described { facts, emission, more_lanes, ir, ir_instructions })
    })
}

impl Described {
    /// What a tier makes code of.
    pub fn emission_of(&self, tier: Tier) -> &Emission {
        self.more_lanes.as_ref().filter(|_| tier == Tier::Wide).unwrap_or(&self.emission)
    }
}

/// Trees of regions are made and walked in here; those that any thread can drop are dropped elsewhere too.
fn on_stack<T>(stack: usize, f: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(|| base::stack::with(stack, f))) {
        Ok(Ok(made)) => made,
        Ok(Err(e)) => Err(Error::no_stack(e)),
        Err(_) => Err(Error::internal("panic while compiling")),
    }
}

/// A loop that is still one after the passes.
fn has_loops(region: &Region) -> bool {
    region.nodes.iter().any(|node| match node {
        Node::Inst(_) => false,
        Node::Loop(_) => true,
        Node::If(n) => has_loops(&n.then) || has_loops(&n.else_),
        Node::Scope(n) => has_loops(&n.body),
    })
}

/// Instructions of a region and those inside of it.
fn count_instructions(region: &Region) -> usize {
    let of = |node: &Node| match node {
        Node::Inst(_) => 1,
        Node::Loop(n) => count_instructions(&n.body),
        Node::If(n) => count_instructions(&n.then) + count_instructions(&n.else_),
        Node::Scope(n) => count_instructions(&n.body),
    };
    region.nodes.iter().map(of).sum()
}

/// The IR after all passes.
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

/// What is known of a stage without its code.
fn facts(shader: &Shader, request: &CompileRequest<'_>) -> StageFacts {
    let (mut draw_parameters, mut reads_primitive_id, mut reads_sample_mask) = (false, false, false);
    for data in shader.insts.values() {
        if let Op::Builtin(builtin) = data.op {
            draw_parameters |= builtin.is_of_draw();
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

/// From IR to LIR.
fn emission(shader: &Shader, layout: &PipelineLayoutInfo, options: EmitOptions) -> Result<Emission> {
    let divergence = passes::divergence(shader, options.lanes);
    emit::build(shader, &divergence, layout, &options)
}

/// The stored form of a stage; `None` unless it is intact, of this build, and for this CPU.
pub fn stored(bytes: &[u8]) -> Option<CodeBlob> {
    CodeBlob::from_bytes(bytes, host::cpu_features())
}

//! The whole road of a stage: SPIR-V → IR → passes → divergence → LIR ([`prepare`]), and from there to code
//! ([`Prepared::generate`]), which is most of the time and can be somebody else's.

#![forbid(unsafe_code)]

use crate::backend::{MachineCode, Wanted};
use crate::code::CodeBlob;
use crate::emit::{self, EmitOptions};
use crate::error::{Error, Result};
use crate::host;
use crate::ir::{Builtin, Node, Op, Region, Shader};
use crate::lir;
use crate::passes;
use crate::spirv::{self, Accept, Module, Specialization};
use crate::tier::{self, Tier};
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
    lir: lir::Function,
    facts: StageFacts,
}

impl Prepared {
    /// Everything about the stage but the code.
    pub fn facts(&self) -> &StageFacts {
        &self.facts
    }

    /// Makes the code: by this tier, or by one before it where that would take unbounded time.
    ///
    /// # Errors
    /// As [`tier::generate`].
    pub fn generate(self, tier: Tier) -> Result<CodeBlob> {
        let (code, tier) = tier::generate(&self.lir, tier)?;
        Ok(with_code(self.facts, code, tier))
    }

    /// Makes better code than this tier's, if that takes bounded time and as long as `wanted` says so, which is asked between the steps.
    ///
    /// # Errors
    /// As [`tier::improve`].
    pub fn improve(self, than: Tier, wanted: Wanted<'_>) -> Result<Option<CodeBlob>> {
        let code = tier::improve(&self.lir, than, wanted)?;
        Ok(code.map(|(code, tier)| with_code(self.facts, code, tier)))
    }
}

fn with_code(facts: StageFacts, code: MachineCode, tier: Tier) -> CodeBlob {
    CodeBlob { facts, code: code.bytes, frame: code.frame, tier, cpu_features: host::cpu_features() }
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
    on_stack(request, || emitted(optimised(request)?, request))
}

/// [`prepare`] for people: what becomes of a stage before there is code.
pub struct Described {
    /// The stage.
    pub prepared: Prepared,
    /// Its IR after all passes.
    pub ir: String,
    /// Instructions in there.
    pub ir_instructions: usize,
}

impl Described {
    /// The LIR.
    pub fn lir(&self) -> &lir::Function {
        &self.prepared.lir
    }
}

/// As [`prepare`], with texts.
///
/// # Errors
/// As [`prepare`].
pub fn describe(request: &CompileRequest<'_>) -> Result<Described> {
    on_stack(request, || {
        let shader = optimised(request)?;
        let (ir, ir_instructions) = (shader.to_string(), count_instructions(&shader.root.body));
        Ok(Described { prepared: emitted(shader, request)?, ir, ir_instructions })
    })
}

/// Trees of regions are made, walked and dropped in here, and nowhere else.
fn on_stack<T>(request: &CompileRequest<'_>, f: impl FnOnce() -> Result<T>) -> Result<T> {
    let stack = request.module.stack();
    match catch_unwind(AssertUnwindSafe(|| base::stack::with(stack, f))) {
        Ok(Ok(made)) => made,
        Ok(Err(e)) => Err(Error::limit(e.to_string())),
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

/// From IR to LIR.
fn emitted(mut shader: Shader, request: &CompileRequest<'_>) -> Result<Prepared> {
    let flat = passes::is_flat(&shader);
    let (mut draw_parameters, mut reads_primitive_id, mut reads_sample_mask) = (false, false, false);
    for data in shader.insts.values() {
        if let Op::Builtin(builtin) = data.op {
            draw_parameters |= builtin.is_of_draw();
            reads_primitive_id |= builtin == Builtin::PrimitiveId;
            reads_sample_mask |= builtin == Builtin::SampleMaskIn;
        }
    }
    if let Some(facts) = shader.payload.fragment_mut() {
        (facts.flat, facts.reads_primitive_id, facts.reads_sample_mask) = (flat, reads_primitive_id, reads_sample_mask);
    }
    let lanes = request.specialization.subgroup_size;
    let divergence = passes::divergence(&shader, lanes);
    let emission = emit::build(&shader, &divergence, request.layout, &EmitOptions { lanes })?;
    let facts = StageFacts {
        payload: shader.payload,
        lanes,
        interface: Arc::new(StageInterface { inputs: shader.inputs, outputs: shader.outputs, places: shader.places }),
        capture: shader.capture.map(Arc::new),
        side_effects: shader.side_effects,
        scratch_bytes: emission.scratch_bytes,
        has_loops: has_loops(&shader.root.body),
        draw_parameters,
    };
    Ok(Prepared { lir: emission.lir, facts })
}

/// The stored form of a stage; `None` unless it is intact, of this build, and for this CPU.
pub fn stored(bytes: &[u8]) -> Option<CodeBlob> {
    CodeBlob::from_bytes(bytes, host::cpu_features())
}

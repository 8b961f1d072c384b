//! Machine code from LIR.

use super::cost::cost_of;
use super::isa::{self, Step};
use super::pinning::{pin, unpin};
use super::place::{not_compiled, place};
use super::translate;
use crate::backend::{MachineCode, Text, Texts, guarded};
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::lir;
use crate::regalloc_cost::RegallocCost;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::dominator_tree::DominatorTree;
use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::Function;
use cranelift_codegen::loop_analysis::LoopAnalysis;

/// Settings of code generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Cranelift's IR is optimised first, and optional fast-path blocks are made.
    pub optimise: bool,
    /// Step that allocates registers.
    pub code: Step,
    /// Upper bound of the cost. Without a limit, compilation takes time in proportion to the
    /// function.
    pub limit: Option<RegallocCost>,
}

/// Deepest nesting of loops in code that is optimised. Cranelift looks at all loops around an
/// instruction, for each instruction. Levels are counted up to 254.
const MAX_LOOP_DEPTH: usize = 64;

/// Makes the code of a function. Returns `None` if that would take too long ([`Settings::limit`]),
/// or if the token is cancelled.
///
/// # Errors
/// Limit: the frame is too large. Memory: there is no memory for a stack or for the code. Otherwise
/// Internal, because nothing here depends on an application's mistakes.
pub fn code(
    lir: &lir::Function,
    settings: &Settings,
    token: &CancelToken,
    texts: Texts<'_>,
) -> Result<Option<MachineCode>> {
    guarded(|| {
        let function = translate(lir, settings.optimise, settings.code)?;
        if std::env::var_os("GRUS_CLIF").is_some() {
            eprintln!("{}", function.display());
        }
        code_of(function, settings, token, texts)
    })
}

/// Makes the code of a function in Cranelift's IR.
pub(super) fn code_of(
    function: Function,
    settings: &Settings,
    token: &CancelToken,
    texts: Texts<'_>,
) -> Result<Option<MachineCode>> {
    if settings.limit.is_some_and(|limit| function.dfg.num_insts() > limit.insts) || token.is_cancelled() {
        return Ok(None);
    }
    let mut context = Context::for_function(function);
    if settings.limit.is_some() && loop_depth(&context.func) > MAX_LOOP_DEPTH {
        return Ok(None);
    }
    if settings.optimise {
        let isa = isa::target(Step::Optimise)?;
        let pins = pin(&mut context.func);
        context.optimize(&**isa, &mut ControlPlane::default()).map_err(not_compiled)?;
        unpin(&mut context.func, pins);
        if token.is_cancelled() {
            return Ok(None);
        }
    }
    // Optimisation moves instructions to their first uses, so the live ranges are known only now.
    if let Some(limit) = settings.limit
        && (!cost_of(&context.func).within(limit) || token.is_cancelled())
    {
        return Ok(None);
    }
    finish(context, settings.code, texts).map(Some)
}

/// Deepest nesting of loops.
fn loop_depth(function: &Function) -> usize {
    let flow = ControlFlowGraph::with_function(function);
    let dominators = DominatorTree::with_function(function, &flow);
    let mut loops = LoopAnalysis::new();
    loops.compute(function, &flow, &dominators);
    function.layout.blocks().map(|block| loops.loop_level(block).level()).max().unwrap_or(0)
}

/// Makes machine code of optimised IR.
fn finish(mut context: Context, step: Step, texts: Texts<'_>) -> Result<MachineCode> {
    let isa = isa::target(step)?;
    context.set_disasm(texts.is_some());
    let ir = texts.is_some().then(|| context.func.display().to_string());
    let (code, frame) = place(&mut context, isa)?;
    if let Some(texts) = texts {
        let description = "Cranelift's IR, after its optimisation where the tier has one";
        texts.extend(ir.map(|text| Text { name: "Cranelift IR", description, text }));
        let description = "The instructions with their registers, before jumps are shortened";
        let assembly = context.compiled_code().and_then(|made| made.vcode.clone());
        texts.extend(assembly.map(|text| Text { name: "Assembly", description, text }));
    }
    Ok(MachineCode { bytes: code.into(), frame })
}

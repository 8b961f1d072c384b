//! From Cranelift's IR to machine code, by either tier.

use super::cost::Cost;
use super::isa::{self, Step};
use crate::error::{Error, Result};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::{CodegenError, CodegenResult, Context};

/// How much work code generation puts into a function. Both tiers give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// No optimisation, single-pass register allocation: made in about half the time.
    Quick,
    /// Optimised; less than half the code. Only where that takes bounded time ([`Cost`]).
    Full,
}

/// Machine code of a stage.
#[derive(Clone, Debug)]
pub struct MachineCode {
    /// Entry at offset 0, no relocations.
    pub bytes: Vec<u8>,
    /// Bytes of stack that it takes, its return address included. The registers' spills are most of it: one place per value in the
    /// quick tier.
    pub frame: u32,
}

/// Largest frame of generated code: address space that a thread may have to find in the middle of a draw. The quick tier takes up to 64 bytes
/// for an instruction of the IR, so that one of the front end's full length (2^21) fits by half; a call of `pow` takes about 360.
const MAX_FRAME: u32 = 256 << 20;

/// What the caller of the frame pushes, and the saved frame pointer.
const FRAME_HEAD: u32 = 16;

/// Stack for code generation. Cranelift is not recursive in what it compiles.
const GENERATE_STACK: usize = 768 << 10;

/// The quick tier's code.
///
/// # Errors
/// Limit for a frame beyond all bounds or without memory for a stack, else Internal: nothing here depends on what an application may
/// get wrong.
pub fn quick(function: Function) -> Result<MachineCode> {
    generate(Context::for_function(function), Step::SinglePass)
}

/// The full tier's code. `None` when that would take too long ([`Cost`]), and when `wanted`, which is asked between the steps,
/// says that nobody wants it any more.
///
/// # Errors
/// As [`quick`].
pub fn full(function: &Function, limit: Cost, wanted: &dyn Fn() -> bool) -> Result<Option<MachineCode>> {
    if function.dfg.num_insts() > limit.insts || !wanted() {
        return Ok(None);
    }
    let mut context = Context::for_function(function.clone());
    let isa = isa::target(Step::Optimise)?;
    guarded(|| context.optimize(&**isa, &mut ControlPlane::default()))?;
    // Optimisation moves instructions to where they are used first: what is live where is known only now.
    if !wanted() || !Cost::of(&context.func).within(limit) || !wanted() {
        return Ok(None);
    }
    generate(context, Step::Backtracking).map(Some)
}

/// Runs a part of Cranelift, with the stack it may want. A panic in there is a compiler bug, not the end of the process.
fn guarded(f: impl FnOnce() -> CodegenResult<()>) -> Result<()> {
    let f = std::panic::AssertUnwindSafe(f);
    match std::panic::catch_unwind(|| base::stack::with(GENERATE_STACK, f)) {
        Ok(Err(e)) => Err(Error::limit(e.to_string())),
        Ok(Ok(result)) => result.map_err(|e| match e {
            CodegenError::CodeTooLarge | CodegenError::ImplLimitExceeded => Error::limit("code is too large"),
            e => Error::internal(format!("Cranelift: {e:?}")),
        }),
        Err(_) => Err(Error::internal("Cranelift panicked")),
    }
}

/// Machine code of a function.
fn generate(mut context: Context, step: Step) -> Result<MachineCode> {
    let isa = isa::target(step)?;
    guarded(|| context.compile(&**isa, &mut ControlPlane::default()).map(|_| ()).map_err(|e| e.inner))?;
    let compiled = context.compiled_code().ok_or_else(|| Error::internal("Cranelift gave no code"))?;
    if !compiled.buffer.relocs().is_empty() {
        return Err(Error::internal("emitted code has relocations"));
    }
    let frame = compiled.buffer.frame_layout().map(|f| f.frame_to_fp_offset.saturating_add(FRAME_HEAD));
    let frame = frame.ok_or_else(|| Error::internal("Cranelift gave no frame layout"))?;
    if frame > MAX_FRAME {
        return Err(Error::limit(format!("a frame of {frame} bytes")));
    }
    Ok(MachineCode { bytes: compiled.code_buffer().to_vec(), frame })
}

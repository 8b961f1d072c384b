//! Compilation of a function into executable memory, by a `cranelift_jit` module of its own.
//!
//! A module lives for one function and is dropped with the names and ranges that it records. What
//! stays is the code, which frees its memory by itself ([`CodeSlot`]). The module shares the target
//! ([`super::isa`]), so that making one takes no more than some empty tables.

use crate::backend::MAX_FRAME;
use crate::code::memory::{CodeSlot, ExecutableCode};
use crate::error::{Error, ErrorKind, Result};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::{CodegenError, Context};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Module, ModuleError};

/// Bytes of the return address and the saved frame pointer.
const FRAME_HEAD: u32 = 16;

/// Compiles the function of a context. Returns its code in executable memory, and the number of
/// bytes of stack that the code takes.
///
/// # Errors
/// Limit: the code or the frame is too large. Memory: there is no executable memory. Otherwise
/// Internal.
pub fn place(context: &mut Context, target: &OwnedTargetIsa) -> Result<(ExecutableCode, u32)> {
    let slot = CodeSlot::default();
    // Code calls no function of a library, so that none has a name.
    let mut builder = JITBuilder::with_isa(target.clone(), Box::new(|_| String::new()));
    builder.memory_provider(Box::new(slot.clone()));
    let mut module = JITModule::new(builder);
    let function = module.declare_anonymous_function(&context.func.signature).map_err(not_placed)?;
    module.define_function(function, context).map_err(not_placed)?;
    let frame = checked_frame(context)?;
    module.finalize_definitions().map_err(not_placed)?;
    let code = slot.take().ok_or_else(|| Error::internal("Cranelift gave no code"))?;
    Ok((code, frame))
}

/// Checks compiled code, and returns the size of its frame. Must be called before the code is
/// finalized, which would look for the names in its relocations among the symbols of the process.
fn checked_frame(context: &Context) -> Result<u32> {
    let made = context.compiled_code().ok_or_else(|| Error::internal("Cranelift gave no code"))?;
    if !made.buffer.relocs().is_empty() {
        return Err(Error::internal("emitted code has relocations"));
    }
    let frame = made.buffer.frame_layout().map(|f| f.frame_to_fp_offset.saturating_add(FRAME_HEAD));
    let frame = frame.ok_or_else(|| Error::internal("Cranelift gave no frame layout"))?;
    if frame > MAX_FRAME {
        return Err(Error::limit(format!("a frame of {frame} bytes")));
    }
    Ok(frame)
}

/// Returns the error for a function that was not compiled or placed.
fn not_placed(e: ModuleError) -> Error {
    match e {
        ModuleError::Compilation(e) => not_compiled(e),
        ModuleError::Allocation { err } => Error::new(ErrorKind::Memory, format!("executable memory: {err}")),
        e => Error::internal(format!("Cranelift: {e:?}")),
    }
}

/// Returns the error for a function that was not compiled.
pub fn not_compiled(e: CodegenError) -> Error {
    match e {
        CodegenError::CodeTooLarge | CodegenError::ImplLimitExceeded => Error::limit("code is too large"),
        e => Error::internal(format!("Cranelift: {e:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cranelift::isa::{self, Step};
    use cranelift_codegen::ir::{
        AbiParam, ExtFuncData, ExternalName, Function, InstBuilder, LibCall, Signature, UserFuncName, types,
    };
    use cranelift_codegen::isa::CallConv;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    /// Compiles a function that doubles a number, or calls a function of the C library with it.
    fn placed(calls: bool) -> Result<(ExecutableCode, u32)> {
        let target = isa::target(Step::SinglePass)?;
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.push(AbiParam::new(types::F64));
        signature.returns.push(AbiParam::new(types::F64));
        let mut function = Function::with_name_signature(UserFuncName::default(), signature.clone());
        let mut buffers = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut function, &mut buffers);
        let block = builder.create_block();
        builder.append_block_params_for_function_params(block);
        builder.switch_to_block(block);
        let number = builder.block_params(block)[0];
        let result = if calls {
            let signature = builder.import_signature(signature);
            let name = ExternalName::LibCall(LibCall::FloorF64);
            let data = ExtFuncData { name, signature, colocated: false, patchable: false };
            let callee = builder.import_function(data);
            let call = builder.ins().call(callee, &[number]);
            builder.inst_results(call)[0]
        } else {
            builder.ins().fadd(number, number)
        };
        builder.ins().return_(&[result]);
        builder.seal_all_blocks();
        builder.finalize(target.frontend_config());
        place(&mut Context::for_function(function), target)
    }

    #[test]
    fn code_with_relocations_is_refused() {
        let (code, frame) = placed(false).expect("code");
        assert!(!code.bytes().is_empty() && frame >= FRAME_HEAD);
        let error = placed(true).expect_err("a call of the C library");
        assert_eq!((error.kind, &*error.message), (ErrorKind::Internal, "emitted code has relocations"));
    }
}

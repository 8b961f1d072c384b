//! Functions and their types, calls, returns; entry points.

use super::super::module::{End, Function, Module};
use super::super::opcodes::op;
use super::broken;
use crate::error::{Error, Result};

pub(super) fn check(m: &Module) -> Result<()> {
    entry_points(m)?;
    m.functions.iter().try_for_each(|f| signature(m, f))?;
    m.functions.iter().try_for_each(|f| body(m, f))
}

fn entry_points(m: &Module) -> Result<()> {
    if m.entry_points().is_empty() {
        return Err(Error::invalid("there is no entry point"));
    }
    for e in m.entry_points() {
        let broken = |rule: String| Err(Error::invalid(rule).at((op::OpEntryPoint, "OpEntryPoint"), e.function));
        let Some(f) = m.function(e.function) else { return broken("is no function".into()) };
        if !m.functions[f].params.is_empty() {
            return broken("has parameters".into());
        }
        for &id in &e.interface {
            let found = m.def_inst(id).filter(|inst| m.globals.contains(inst)).map(|inst| m.view(inst).op);
            if found != Some(op::OpVariable) && found != Some(op::OpUntypedVariableKHR) {
                return broken(format!("%{id} of its interface is no global variable"));
            }
        }
    }
    for &(function, inst) in &m.execution_modes {
        if !m.entry_points().iter().any(|e| e.function == function) {
            return broken(m.view(inst), format!("%{function} is no entry point"));
        }
    }
    Ok(())
}

/// A function is what its type says.
fn signature(m: &Module, f: &Function) -> Result<()> {
    let head = m.view(f.insts.start);
    let Some([result, params @ ..]) = m.declared(head.arg(1)?, op::OpTypeFunction) else {
        return broken(head, "its type is no function's");
    };
    if *result != f.result_ty {
        return broken(head, "gives back another type than its type says");
    }
    if params.len() != f.params.len() {
        return broken(head, "has not as many parameters as its type says");
    }
    for (&id, &ty) in f.params.iter().zip(params) {
        if m.def(id)?.ty != ty {
            return broken(m.def(id)?, "is of another type than the function's type says");
        }
    }
    Ok(())
}

/// Returns and calls.
fn body(m: &Module, f: &Function) -> Result<()> {
    let void = m.declared(f.result_ty, op::OpTypeVoid).is_some();
    for block in &f.blocks {
        let end = m.view(block.end_inst);
        match block.end {
            End::Return if !void => return broken(end, "in a function that gives back a value"),
            End::ReturnValue(id) if void || m.def(id)?.ty != f.result_ty => {
                return broken(end, "gives back another type than the function");
            }
            _ => {}
        }
        for inst in block.body.clone() {
            if m.view(inst).op == op::OpFunctionCall {
                call(m, inst)?;
            }
        }
    }
    Ok(())
}

fn call(m: &Module, inst: u32) -> Result<()> {
    let v = m.view(inst);
    let Some(callee) = m.function(v.args[0]).map(|n| &m.functions[n]) else { return broken(v, "calls no function") };
    if callee.result_ty != v.ty || callee.params.len() != v.args.len() - 1 {
        return broken(v, "calls a function of another type");
    }
    for (&param, &arg) in callee.params.iter().zip(&v.args[1..]) {
        if m.def(param)?.ty != m.def(arg)?.ty {
            return broken(v, format!("%{arg} is not of the parameter's type"));
        }
    }
    Ok(())
}

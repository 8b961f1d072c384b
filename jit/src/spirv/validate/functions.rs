//! Checks of functions and their types, calls, returns, entry points, and functions of the elements
//! of cooperative matrices.

use super::super::module::{End, Function, Module, View};
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

/// Checks that a function agrees with its type.
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

/// Checks returns and calls.
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
            match m.view(inst).op {
                op::OpFunctionCall => call(m, inst)?,
                op::OpCooperativeMatrixPerElementOpNV => per_element(m, inst)?,
                op::OpCooperativeMatrixReduceNV => reduction(m, inst)?,
                op::OpCooperativeMatrixConvertNV | op::OpCooperativeMatrixTransposeNV => conversion(m, inst)?,
                _ => {}
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

/// Returns component type, scope, rows, columns and use of a value that is a cooperative matrix.
fn matrix<'m>(m: &'m Module, v: View<'_>, ty: u32) -> Result<&'m [u32]> {
    m.declared(ty, op::OpTypeCooperativeMatrixKHR).ok_or(()).or_else(|()| broken(v, "is of no cooperative matrix"))
}

/// Checks a function that is called for elements: its result and the types of its parameters.
fn callback(m: &Module, v: View<'_>, function: u32, result: u32, params: &[u32]) -> Result<()> {
    let Some(callee) = m.function(function).map(|n| &m.functions[n]) else { return broken(v, "calls no function") };
    if callee.result_ty != result || callee.params.len() != params.len() {
        return broken(v, "calls a function of another type");
    }
    for (&param, &ty) in callee.params.iter().zip(params) {
        let own = m.def(param)?.ty;
        let word = ty == 0 && matches!(m.declared(own, op::OpTypeInt), Some([32, _]));
        if own != ty && !word {
            return broken(v, "calls a function with parameters of other types");
        }
    }
    Ok(())
}

/// Checks a function of row, column, the element, and further operands; for operands that are
/// matrices, it takes their elements.
fn per_element(m: &Module, inst: u32) -> Result<()> {
    let v = m.view(inst);
    if m.def(v.args[0])?.ty != v.ty {
        return broken(v, "gives a matrix of another type");
    }
    let element = matrix(m, v, v.ty)?[0];
    let mut params = vec![0, 0, element];
    for &id in &v.args[2..] {
        let ty = m.def(id)?.ty;
        params.push(m.declared(ty, op::OpTypeCooperativeMatrixKHR).map_or(ty, |matrix| matrix[0]));
    }
    callback(m, v, v.args[1], element, &params)
}

/// Numbers of the uses as an accumulator and as B.
const ACCUMULATOR: u32 = 2;
const B: u32 = 1;

/// Returns the use, unless it is specialised.
fn usage(m: &Module, matrix: &[u32]) -> Option<u32> {
    m.def(matrix[4]).ok().filter(|v| v.op == op::OpConstant).map(|v| v.args[0])
}

fn reduction(m: &Module, inst: u32) -> Result<()> {
    let v = m.view(inst);
    let (from, to) = (matrix(m, v, m.def(v.args[0])?.ty)?, matrix(m, v, v.ty)?);
    if from[0] != to[0] || from[1] != to[1] {
        return broken(v, "gives a matrix of another component type or scope");
    }
    if [from, to].iter().any(|matrix| usage(m, matrix).is_some_and(|u| u != ACCUMULATOR)) {
        return broken(v, "is of a matrix that is no accumulator");
    }
    if !matches!(v.args[1], 1..=4) {
        return broken(v, format!("mode {:#x}", v.args[1]));
    }
    callback(m, v, v.args[2], to[0], &[to[0], to[0]])
}

/// Checks a conversion from an accumulator to another use, or to the same use.
fn conversion(m: &Module, inst: u32) -> Result<()> {
    let v = m.view(inst);
    let (from, to) = (matrix(m, v, m.def(v.args[0])?.ty)?, matrix(m, v, v.ty)?);
    let transposes = v.op == op::OpCooperativeMatrixTransposeNV;
    if from[0] != to[0] && !transposes {
        return broken(v, "gives a matrix of another component type");
    }
    let (of, wanted) = (usage(m, from), usage(m, to));
    let known = of.zip(wanted);
    if known.is_some_and(|(of, wanted)| of != wanted && of != ACCUMULATOR) {
        return broken(v, "is of a matrix that is no accumulator");
    }
    if transposes && wanted.is_some_and(|u| u != B) {
        return broken(v, "gives a matrix of another use");
    }
    Ok(())
}

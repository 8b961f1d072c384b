//! Checks of pointers and their pointees: variables, loads, stores, access chains. Untyped pointers
//! are not checked.

use super::super::module::{Module, View};
use super::super::opcodes::op;
use super::broken;
use crate::error::Result;

pub(super) fn check(m: &Module) -> Result<()> {
    for inst in 0..m.instructions() {
        let v = m.view(inst);
        match v.op {
            op::OpVariable => variable(m, v)?,
            op::OpLoad => moved(m, v, v.ty)?,
            op::OpStore => moved(m, v, m.def(v.args[1])?.ty)?,
            op::OpAccessChain | op::OpInBoundsAccessChain => chain(m, v, 1)?,
            op::OpPtrAccessChain | op::OpInBoundsPtrAccessChain => chain(m, v, 2)?,
            op::OpRawAccessChainNV => raw_chain(m, v)?,
            op::OpTypeStruct | op::OpTypeArray | op::OpTypeRuntimeArray => {
                let members = if v.op == op::OpTypeStruct { v.args } else { &v.args[..1] };
                if members.iter().any(|&id| m.declared(id, op::OpTypeVoid).is_some()) {
                    return broken(v, "is made of void");
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks a load or a store of something of that type.
fn moved(m: &Module, v: View<'_>, ty: u32) -> Result<()> {
    match pointer(m, v, v.args[0])? {
        Some((_, to)) if to != ty => broken(v, "is of another type than what the pointer points to"),
        _ => Ok(()),
    }
}

/// Returns the storage class and the pointee type; `None` for an untyped pointer.
fn pointer(m: &Module, v: View<'_>, id: u32) -> Result<Option<(u32, u32)>> {
    pointer_type(m, v, m.def(id)?.ty)
}

fn pointer_type(m: &Module, v: View<'_>, ty: u32) -> Result<Option<(u32, u32)>> {
    let Ok(t) = m.def(ty) else { return broken(v, "operand is no pointer") };
    match t.op {
        op::OpTypePointer => Ok(Some((t.args[0], t.args[1]))),
        op::OpTypeUntypedPointerKHR => Ok(None),
        _ => broken(v, "operand is no pointer"),
    }
}

const FUNCTION: u32 = super::super::class::FUNCTION;
/// Storage classes of buffers.
const BUFFERS: [u32; 3] = {
    use super::super::class::{PHYSICAL_STORAGE_BUFFER, STORAGE_BUFFER, UNIFORM};
    [UNIFORM, STORAGE_BUFFER, PHYSICAL_STORAGE_BUFFER]
};

fn variable(m: &Module, v: View<'_>) -> Result<()> {
    let Some((class, _)) = pointer_type(m, v, v.ty)? else { return broken(v, "is of a type that is no pointer") };
    if class != v.args[0] {
        return broken(v, "is of another storage class than its type");
    }
    let local = m.def_inst(v.result).is_some_and(|inst| !m.globals.contains(&inst));
    if local != (class == FUNCTION) {
        return broken(v, "has a storage class that cannot be here");
    }
    Ok(())
}

/// Checks a raw access chain, of which only the storage class is related to its base.
fn raw_chain(m: &Module, v: View<'_>) -> Result<()> {
    match (pointer(m, v, v.args[0])?, pointer_type(m, v, v.ty)?) {
        (Some((class, _)), Some((to_class, _))) if class == to_class && BUFFERS.contains(&class) => Ok(()),
        _ => broken(v, "is of another storage class than its base, or of none of buffers"),
    }
}

/// Checks an access chain, whose indices begin at operand `first`.
fn chain(m: &Module, v: View<'_>, first: usize) -> Result<()> {
    let Some((class, mut ty)) = pointer(m, v, v.args[0])? else { return Ok(()) };
    let Some((to_class, to)) = pointer_type(m, v, v.ty)? else { return Ok(()) };
    if class != to_class {
        return broken(v, "is of another storage class than its base");
    }
    for &index in &v.args[first..] {
        let t = m.def(ty)?;
        ty = match t.op {
            op::OpTypeVector | op::OpTypeMatrix | op::OpTypeArray | op::OpTypeRuntimeArray => t.args[0],
            op::OpTypeStruct => {
                let i = m.def(index)?;
                let integer = i.op == op::OpConstant && m.declared(i.ty, op::OpTypeInt).is_some();
                let n = if integer { i.args.first().copied() } else { None };
                match n.and_then(|n| t.args.get(n as usize)) {
                    Some(&member) => member,
                    None => return broken(v, format!("%{index} is no constant that is a member's number")),
                }
            }
            // Types of extensions have parts of their own, which are not checked.
            _ if t.op > 4400 => return Ok(()),
            _ => return broken(v, "goes into something without parts"),
        };
    }
    if ty == to { Ok(()) } else { broken(v, "points to another type than its indices lead to") }
}

//! Memory layouts: the module's decorations, or a natural layout of the driver's own (workgroup
//! memory, and memory that stages keep there).

use super::deco;
use super::module::NO_MEMBER;
use super::types::{Spec, Type};
use super::value::{DriverLayout, Memory};
use crate::error::{Error, Result};
use crate::ir::Ty;

/// A scalar in memory.
#[derive(Clone, Copy)]
pub(crate) struct MemLeaf {
    pub offset: u32,
    pub ty: Ty,
}

/// Returns the type that a scalar has in memory. `driver_layout` is the driver's layout, if
/// decorations give none. Booleans (never in buffers) are 32 bits wide.
pub(crate) fn memory_scalar(s: &Spec<'_>, ty: u32, driver_layout: Option<DriverLayout>) -> Result<Ty> {
    Ok(match (s.scalar(ty)?, driver_layout) {
        (Ty::B1, _) => Ty::I32,
        (Ty::I16, Some(DriverLayout::Words)) => Ty::I32,
        (Ty::F16, Some(DriverLayout::Words)) => Ty::F32,
        (t, _) => t,
    })
}

pub(crate) fn push_memory_leaves(s: &Spec<'_>, m: &Memory, ty: u32, at: u32, out: &mut Vec<MemLeaf>) -> Result<()> {
    let step = |i: u32, stride: u32| at.wrapping_add(i.wrapping_mul(stride));
    match s.ty(ty)? {
        &Type::Vector { elem, n } => {
            let ty = memory_scalar(s, elem, m.driver_layout)?;
            let stride = m.comp_stride.unwrap_or(ty.bytes());
            out.extend((0..n).map(|i| MemLeaf { offset: step(i, stride), ty }));
        }
        &Type::Matrix { col, n } => {
            let (elem, _) = s.vector(col)?;
            let size = memory_scalar(s, elem, m.driver_layout)?.bytes();
            let (stride, comp_stride) = match m.matrix {
                Some((stride, true)) => (size, Some(stride)),
                Some((stride, false)) => (stride, None),
                None => (natural(s, col, m.driver_layout.unwrap_or(DriverLayout::Packed))?.0, None),
            };
            for i in 0..n {
                push_memory_leaves(s, &Memory { comp_stride, ..*m }, col, step(i, stride), out)?;
            }
        }
        &Type::Array { elem, len } => {
            let stride = m.stride.map_or_else(|| array_stride(s, ty, elem, m.driver_layout), Ok)?;
            for i in 0..len {
                push_memory_leaves(s, &Memory { stride: None, ..*m }, elem, step(i, stride), out)?;
            }
        }
        Type::Struct(members) => {
            for (i, &member) in (0..).zip(members) {
                let offset = m
                    .driver_layout
                    .map_or_else(|| member_offset(s, ty, i), |driver_layout| natural_member(s, ty, i, driver_layout))?;
                let matrix = member_matrix(s, ty, i);
                push_memory_leaves(
                    s,
                    &Memory { matrix, comp_stride: None, ..*m },
                    member,
                    at.wrapping_add(offset),
                    out,
                )?;
            }
        }
        Type::RuntimeArray { .. } => return Err(Error::invalid("load or store of a runtime array")),
        _ => out.push(MemLeaf { offset: at, ty: memory_scalar(s, ty, m.driver_layout)? }),
    }
    Ok(())
}

/// Returns a decoration's number, which is a literal or a constant.
fn number(s: &Spec<'_>, ty: u32, member: u32, [literal, id]: [u32; 2]) -> Result<Option<u32>> {
    if let Some(number) = s.m.decoration_value(ty, member, literal) {
        return Ok(Some(number));
    }
    let Some(id) = s.m.decoration_value(ty, member, id) else { return Ok(None) };
    let number = u32::try_from(s.constant_bits(id)?);
    number.map(Some).map_err(|_| Error::limit("offset beyond 4 GiB").with_id(ty))
}

pub(crate) fn member_offset(s: &Spec<'_>, ty: u32, member: u32) -> Result<u32> {
    number(s, ty, member, [deco::OFFSET, deco::OFFSET_ID])?
        .ok_or_else(|| Error::invalid("member without Offset").with_id(ty))
}

pub(crate) fn member_matrix(s: &Spec<'_>, ty: u32, member: u32) -> Option<(u32, bool)> {
    let stride = s.m.decoration_value(ty, member, deco::MATRIX_STRIDE)?;
    Some((stride, s.m.decoration(ty, member, deco::ROW_MAJOR).is_some()))
}

pub(crate) fn array_stride(s: &Spec<'_>, ty: u32, elem: u32, driver_layout: Option<DriverLayout>) -> Result<u32> {
    if let Some(driver_layout) = driver_layout {
        let (size, align) = natural(s, elem, driver_layout)?;
        return Ok(size.next_multiple_of(align));
    }
    number(s, ty, NO_MEMBER, [deco::ARRAY_STRIDE, deco::ARRAY_STRIDE_ID])?
        .ok_or_else(|| Error::invalid("array without ArrayStride").with_id(ty))
}

/// Returns the size of a type that decorations lay out; `matrix` is what [`member_matrix`] returns.
pub(crate) fn explicit_size(s: &Spec<'_>, ty: u32, matrix: Option<(u32, bool)>) -> Result<u32> {
    let too_large = || Error::limit("type is too large").with_id(ty);
    // Distance from the first byte of the first of `n` parts to the end of the last one.
    let strided = |stride: u32, n: u32, last: u32| {
        stride.checked_mul(n.saturating_sub(1)).and_then(|at| at.checked_add(last)).ok_or_else(too_large)
    };
    match s.ty(ty)? {
        &Type::Matrix { col, n } => {
            let (elem, rows) = s.vector(col)?;
            let bytes = s.scalar(elem)?.bytes();
            match matrix {
                Some((stride, true)) => strided(stride, rows, n * bytes),
                Some((stride, false)) => strided(stride, n, rows * bytes),
                None => Err(Error::invalid("matrix without MatrixStride").with_id(ty)),
            }
        }
        &Type::Array { elem, len } => strided(array_stride(s, ty, elem, None)?, len, explicit_size(s, elem, matrix)?),
        Type::Struct(members) => (0..).zip(members).try_fold(0, |most, (i, &member)| {
            let size = explicit_size(s, member, member_matrix(s, ty, i))?;
            let end = member_offset(s, ty, i)?.checked_add(size).ok_or_else(too_large)?;
            Ok(end.max(most))
        }),
        _ => {
            let (elem, n) = s.vector(ty)?;
            Ok(n * memory_scalar(s, elem, None)?.bytes())
        }
    }
}

pub(crate) fn natural_member(s: &Spec<'_>, ty: u32, member: u32, driver_layout: DriverLayout) -> Result<u32> {
    let Type::Struct(members) = s.ty(ty)? else { return Err(Error::invalid("not a structure")) };
    let mut at = 0u32;
    for (i, &m) in members.iter().enumerate() {
        let (size, align) = natural(s, m, driver_layout)?;
        at = at.next_multiple_of(align);
        if i == member as usize {
            break;
        }
        at = at.checked_add(size).ok_or_else(|| Error::limit("type is too large"))?;
    }
    Ok(at)
}

/// Returns the size and alignment in the driver's own layout.
pub(crate) fn natural(s: &Spec<'_>, ty: u32, driver_layout: DriverLayout) -> Result<(u32, u32)> {
    // This bounds every product below.
    if s.leaves(ty)? > 1 << 24 {
        return Err(Error::limit("type is too large").with_id(ty));
    }
    Ok(match s.ty(ty)? {
        &Type::Vector { elem: part, n } | &Type::Matrix { col: part, n } | &Type::Array { elem: part, len: n } => {
            let (size, align) = natural(s, part, driver_layout)?;
            let total = size.next_multiple_of(align).checked_mul(n);
            (total.ok_or_else(|| Error::limit("type is too large").with_id(ty))?, align)
        }
        Type::Struct(members) => {
            let (mut at, mut most) = (0u32, 1);
            for &m in members {
                let (size, align) = natural(s, m, driver_layout)?;
                at = at.next_multiple_of(align).checked_add(size).ok_or_else(|| Error::limit("type is too large"))?;
                most = most.max(align);
            }
            (at.next_multiple_of(most), most)
        }
        _ => {
            let bytes = memory_scalar(s, ty, Some(driver_layout))?.bytes();
            (bytes, bytes)
        }
    })
}

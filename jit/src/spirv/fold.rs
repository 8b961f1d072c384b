//! Constant evaluation for OpSpecConstantOp. It has the semantics of `ir::inst`, so that a
//! specialised module has the same meaning as one with literal constants.

use super::alu::{self, Rule};
use super::encoding::SmallFloat;
use super::module::View;
use super::opcodes::op;
use super::types::{Spec, Type, mask, sign_extend};
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, FloatFlags, Op, Ty, Unary, eval, modes};

/// Evaluates an OpSpecConstantOp; returns `None` if this file does not support its operation on
/// constants.
pub(crate) fn spec_constant_op(s: &Spec<'_>, v: View<'_>) -> Result<Option<Vec<u64>>> {
    let inner = u16::try_from(v.arg(0)?).map_err(|_| Error::invalid("opcode of a specialisation constant"))?;
    let ids = &v.args[1..];
    let leaves =
        |i: usize| ids.get(i).ok_or_else(|| Error::invalid("operand missing")).and_then(|&id| s.constant_leaves(id));
    let total = s.flat_leaves(v.ty)?;
    let result = match inner {
        op::OpCooperativeMatrixLengthKHR => {
            let matrix = ids.first().and_then(|ty| s.cooperative.get(ty));
            matrix.map(|matrix| vec![matrix.length().into()])
        }
        op::OpCompositeExtract => {
            let path = ids.get(1..).unwrap_or(&[]);
            let base = s.constant(*ids.first().unwrap_or(&0)).ok_or_else(|| Error::invalid("not a constant"))?;
            let (_, at) = s.walk(base.ty(), path)?;
            leaves(0)?.get(at..at + total).map(<[u64]>::to_vec)
        }
        op::OpCompositeInsert => {
            let (object, mut whole) = (leaves(0)?, leaves(1)?.to_vec());
            let (_, at) = s.walk(v.ty, ids.get(2..).unwrap_or(&[]))?;
            if let Some(part) = whole.get_mut(at..at + object.len()) {
                part.copy_from_slice(&object);
            }
            Some(whole)
        }
        op::OpVectorShuffle => {
            let both: Vec<u64> = leaves(0)?.iter().chain(leaves(1)?.iter()).copied().collect();
            Some(ids.get(2..).unwrap_or(&[]).iter().map(|&i| both.get(i as usize).copied().unwrap_or(0)).collect())
        }
        op::OpSelect => {
            let (c, a, b) = (leaves(0)?, leaves(1)?, leaves(2)?);
            let pick = |i: usize| if c.get(i).or(c.first()).is_some_and(|&c| c != 0) { a.get(i) } else { b.get(i) };
            (0..total).map(|i| pick(i).copied()).collect()
        }
        op::OpQuantizeToF16 => Some(leaves(0)?.iter().map(|&b| quantize(b as u32).into()).collect()),
        _ => {
            let Some(rule) = alu::rule(inner) else {
                return Err(Error::unsupported("operation of a specialisation constant")
                    .at((inner, super::opcodes::name(inner)), v.result));
            };
            let operand_ty = |i: usize| ids.get(i).and_then(|&id| s.constant(id)).map(|c| c.ty());
            let width = |ty: Option<u32>| ty.map_or(32, |ty| scalar_bits(s, ty));
            let (from, to) = (width(operand_ty(0)), scalar_bits(s, v.ty));
            let a = leaves(0)?;
            let b = if ids.len() > 1 { leaves(1)? } else { a.clone() };
            let small = |ty: Option<u32>| ty.and_then(|ty| small_float(s, ty));
            let small = (small(operand_ty(0)), small(Some(v.ty)));
            let eval = |i: usize| match rule {
                Rule::Cvt(Convert::FToF) if small != (None, None) => {
                    let a = *a.get(i)?;
                    let x = match small.0 {
                        Some(small) => small.value(a),
                        None => eval::to_f64(float(from)?, a),
                    };
                    match small.1 {
                        Some(small) => Some(small.nearest(x)),
                        None => Some(eval::eval(&Op::Convert(Convert::FToF), Ty::F64, float(to)?, &[x.to_bits()])?[0]),
                    }
                }
                Rule::Cvt(Convert::FToF) => float_to_float(s, *a.get(i)?, float(from)?, float(to)?),
                _ => scalar(rule, *a.get(i)?, *b.get(i)?, from, to),
            };
            (0..total).map(eval).collect()
        }
    };
    match result {
        Some(bits) if bits.len() == total => Ok(Some(bits)),
        _ => {
            Err(Error::invalid("operation of a specialisation constant")
                .at((inner, super::opcodes::name(inner)), v.result))
        }
    }
}

fn scalar_bits(s: &Spec<'_>, ty: u32) -> u32 {
    let elem = s.vector(ty).map_or(ty, |(e, _)| e);
    match s.ty(elem) {
        Ok(&Type::Int { bits, .. } | &Type::Float { bits }) => bits,
        _ => 1,
    }
}

/// Returns the small float format of a type's components, if they have one.
fn small_float(s: &Spec<'_>, ty: u32) -> Option<SmallFloat> {
    let elem = s.vector(ty).map_or(ty, |(e, _)| e);
    match s.ty(elem) {
        Ok(&Type::Small(small)) => Some(small),
        _ => None,
    }
}

/// Evaluates one scalar of an elementwise rule with operands of `from` bits and a result of `to`
/// bits.
fn scalar(rule: Rule, a: u64, b: u64, from: u32, to: u32) -> Option<u64> {
    let (sa, sb) = (sign_extend(a, from) as i64, sign_extend(b, from) as i64);
    let m = mask(from);
    let bits = match rule {
        Rule::Un(Unary::INeg) => a.wrapping_neg(),
        Rule::Un(Unary::Not) => !a,
        Rule::Bin(op) => binary(op, a, b, sa, sb)?,
        Rule::Shift(op) => {
            let n = (b as u32) & (from - 1);
            match op {
                Binary::Shl => a << n,
                Binary::LShr => a >> n,
                _ => (sa >> n) as u64,
            }
        }
        Rule::Cmp(c) => u64::from(compare(c, a & m, b & m, sa, sb)?),
        Rule::CmpRev(c) => u64::from(compare(c, b & m, a & m, sb, sa)?),
        Rule::Cvt(Convert::UToU) => a & m,
        Rule::Cvt(Convert::SToS) => sa as u64,
        Rule::Cvt(Convert::Bitcast) if from == to => a,
        _ => return None,
    };
    Some(bits & mask(to))
}

/// Evaluates a conversion under the entry point's modes: the mode of the operand's type flushes it,
/// that of the result's type does the rest.
fn float_to_float(s: &Spec<'_>, a: u64, from: Ty, to: Ty) -> Option<u64> {
    let flush = s.float.flags(from).changes().without(FloatFlags::ROUND_ZERO);
    let one = eval::eval(&Op::Convert(Convert::FToF), Ty::F64, from, &[1f64.to_bits()])?[0];
    let a = modes::eval_under(flush, &Op::Binary(Binary::FMul), from, from, &[a, one])?[0];
    Some(modes::eval_under(s.float.flags(to), &Op::Convert(Convert::FToF), from, to, &[a])?[0])
}

/// Returns the float type with this many bits.
fn float(bits: u32) -> Option<Ty> {
    [Ty::F16, Ty::F32, Ty::F64].into_iter().find(|ty| ty.bytes() * 8 == bits)
}

fn binary(op: Binary, a: u64, b: u64, sa: i64, sb: i64) -> Option<u64> {
    Some(match op {
        Binary::IAdd => a.wrapping_add(b),
        Binary::ISub => a.wrapping_sub(b),
        Binary::IMul => a.wrapping_mul(b),
        Binary::UDiv => a.checked_div(b).unwrap_or(u64::MAX),
        Binary::UMod => a.checked_rem(b).unwrap_or(a),
        Binary::SDiv => {
            if sb == 0 {
                u64::MAX
            } else {
                sa.wrapping_div(sb) as u64
            }
        }
        Binary::SRem => {
            if sb == 0 {
                a
            } else {
                sa.wrapping_rem(sb) as u64
            }
        }
        Binary::SMod => match sb {
            0 => a,
            _ => {
                let r = sa.wrapping_rem(sb);
                (if r != 0 && (r < 0) != (sb < 0) { r + sb } else { r }) as u64
            }
        },
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        _ => return None,
    })
}

fn compare(c: Cmp, a: u64, b: u64, sa: i64, sb: i64) -> Option<bool> {
    Some(match c {
        Cmp::IEq => a == b,
        Cmp::INe => a != b,
        Cmp::SLt => sa < sb,
        Cmp::SLe => sa <= sb,
        Cmp::ULt => a < b,
        Cmp::ULe => a <= b,
        _ => return None,
    })
}

/// Evaluates OpQuantizeToF16 on the bits of an f32: rounds to nearest even; numbers too small for a
/// normalized half become zero.
pub(crate) fn quantize(bits: u32) -> u32 {
    let (sign, a) = (bits & 0x8000_0000, bits & 0x7fff_ffff);
    let magnitude = if a > 0x7f80_0000 {
        0x7fc0_0000
    } else if a >= 0x3880_0000 {
        let r = (a + 0xfff + ((a >> 13) & 1)) & !0x1fff;
        if r >= 0x4780_0000 { 0x7f80_0000 } else { r }
    } else {
        0
    };
    sign | magnitude
}

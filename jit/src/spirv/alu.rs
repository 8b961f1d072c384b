//! Elementwise operations: one row per opcode, and the checks and loops that they share.

use super::opcodes::op;
use crate::ir::{Binary, Cmp, Convert, Unary};

/// Mapping of an opcode to an IR operation on each component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Un(Unary),
    Bin(Binary),
    /// Shift, whose amount may have another width than the base.
    Shift(Binary),
    Cmp(Cmp),
    /// Comparison with exchanged operands: a > b is b < a.
    CmpRev(Cmp),
    Cvt(Convert),
}

use Rule::{Bin, CmpRev, Cvt, Shift, Un};

static RULES: &[(u16, Rule)] = &[
    (op::OpConvertFToU, Cvt(Convert::FToU)),
    (op::OpConvertFToS, Cvt(Convert::FToS)),
    (op::OpConvertSToF, Cvt(Convert::SToF)),
    (op::OpConvertUToF, Cvt(Convert::UToF)),
    (op::OpUConvert, Cvt(Convert::UToU)),
    (op::OpSConvert, Cvt(Convert::SToS)),
    (op::OpFConvert, Cvt(Convert::FToF)),
    (op::OpBitcast, Cvt(Convert::Bitcast)),
    (op::OpSNegate, Un(Unary::INeg)),
    (op::OpFNegate, Un(Unary::FNeg)),
    (op::OpIAdd, Bin(Binary::IAdd)),
    (op::OpFAdd, Bin(Binary::FAdd)),
    (op::OpISub, Bin(Binary::ISub)),
    (op::OpFSub, Bin(Binary::FSub)),
    (op::OpIMul, Bin(Binary::IMul)),
    (op::OpFMul, Bin(Binary::FMul)),
    (op::OpUDiv, Bin(Binary::UDiv)),
    (op::OpSDiv, Bin(Binary::SDiv)),
    (op::OpFDiv, Bin(Binary::FDiv)),
    (op::OpUMod, Bin(Binary::UMod)),
    (op::OpSRem, Bin(Binary::SRem)),
    (op::OpSMod, Bin(Binary::SMod)),
    (op::OpFRem, Bin(Binary::FRem)),
    (op::OpFMod, Bin(Binary::FMod)),
    (op::OpLogicalEqual, Rule::Cmp(Cmp::IEq)),
    (op::OpLogicalNotEqual, Rule::Cmp(Cmp::INe)),
    (op::OpLogicalOr, Bin(Binary::Or)),
    (op::OpLogicalAnd, Bin(Binary::And)),
    (op::OpLogicalNot, Un(Unary::Not)),
    (op::OpIEqual, Rule::Cmp(Cmp::IEq)),
    (op::OpINotEqual, Rule::Cmp(Cmp::INe)),
    (op::OpUGreaterThan, CmpRev(Cmp::ULt)),
    (op::OpSGreaterThan, CmpRev(Cmp::SLt)),
    (op::OpUGreaterThanEqual, CmpRev(Cmp::ULe)),
    (op::OpSGreaterThanEqual, CmpRev(Cmp::SLe)),
    (op::OpULessThan, Rule::Cmp(Cmp::ULt)),
    (op::OpSLessThan, Rule::Cmp(Cmp::SLt)),
    (op::OpULessThanEqual, Rule::Cmp(Cmp::ULe)),
    (op::OpSLessThanEqual, Rule::Cmp(Cmp::SLe)),
    (op::OpFOrdEqual, Rule::Cmp(Cmp::FOrdEq)),
    (op::OpFUnordEqual, Rule::Cmp(Cmp::FUnoEq)),
    (op::OpFOrdNotEqual, Rule::Cmp(Cmp::FOrdNe)),
    (op::OpFUnordNotEqual, Rule::Cmp(Cmp::FUnoNe)),
    (op::OpFOrdLessThan, Rule::Cmp(Cmp::FOrdLt)),
    (op::OpFUnordLessThan, Rule::Cmp(Cmp::FUnoLt)),
    (op::OpFOrdGreaterThan, CmpRev(Cmp::FOrdLt)),
    (op::OpFUnordGreaterThan, CmpRev(Cmp::FUnoLt)),
    (op::OpFOrdLessThanEqual, Rule::Cmp(Cmp::FOrdLe)),
    (op::OpFUnordLessThanEqual, Rule::Cmp(Cmp::FUnoLe)),
    (op::OpFOrdGreaterThanEqual, CmpRev(Cmp::FOrdLe)),
    (op::OpFUnordGreaterThanEqual, CmpRev(Cmp::FUnoLe)),
    (op::OpShiftRightLogical, Shift(Binary::LShr)),
    (op::OpShiftRightArithmetic, Shift(Binary::AShr)),
    (op::OpShiftLeftLogical, Shift(Binary::Shl)),
    (op::OpBitwiseOr, Bin(Binary::Or)),
    (op::OpBitwiseXor, Bin(Binary::Xor)),
    (op::OpBitwiseAnd, Bin(Binary::And)),
    (op::OpNot, Un(Unary::Not)),
    (op::OpBitReverse, Un(Unary::BitReverse)),
];

/// Returns the rule of an elementwise opcode.
pub(crate) fn rule(number: u16) -> Option<Rule> {
    RULES.binary_search_by_key(&number, |r| r.0).ok().map(|i| RULES[i].1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn rules_are_sorted() {
        assert!(super::RULES.windows(2).all(|w| w[0].0 < w[1].0));
    }
}

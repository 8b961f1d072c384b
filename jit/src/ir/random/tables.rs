//! The operations that programs pick from.

use crate::ir::{Binary, Cmp, Unary};

/// I32 to I32.
pub const INT_UNARY: [Unary; 7] =
    [Unary::INeg, Unary::Not, Unary::BitReverse, Unary::BitCount, Unary::FindLsb, Unary::FindSMsb, Unary::FindUMsb];
/// Exact F32 to F32.
pub const FLOAT_UNARY: [Unary; 7] =
    [Unary::FNeg, Unary::FAbs, Unary::Floor, Unary::Ceil, Unary::Trunc, Unary::RoundEven, Unary::Sqrt];
/// Expanded by `lower_math`.
pub const TRANSCENDENTAL: [Unary; 17] = [
    Unary::InverseSqrt,
    Unary::Sin,
    Unary::Cos,
    Unary::Tan,
    Unary::Asin,
    Unary::Acos,
    Unary::Atan,
    Unary::Sinh,
    Unary::Cosh,
    Unary::Tanh,
    Unary::Asinh,
    Unary::Acosh,
    Unary::Atanh,
    Unary::Exp,
    Unary::Log,
    Unary::Exp2,
    Unary::Log2,
];
/// I32.
pub const INT_BINARY: [Binary; 20] = [
    Binary::IAdd,
    Binary::ISub,
    Binary::IMul,
    Binary::SDiv,
    Binary::UDiv,
    Binary::SRem,
    Binary::SMod,
    Binary::UMod,
    Binary::SMulHi,
    Binary::UMulHi,
    Binary::And,
    Binary::Or,
    Binary::Xor,
    Binary::Shl,
    Binary::LShr,
    Binary::AShr,
    Binary::SMin,
    Binary::UMin,
    Binary::SMax,
    Binary::UMax,
];
/// F32, exact.
pub const FLOAT_BINARY: [Binary; 6] =
    [Binary::FAdd, Binary::FSub, Binary::FMul, Binary::FDiv, Binary::FMin, Binary::FMax];
/// B1.
pub const BOOL_BINARY: [Binary; 3] = [Binary::And, Binary::Or, Binary::Xor];
/// I32 to B1.
pub const INT_CMP: [Cmp; 6] = [Cmp::IEq, Cmp::INe, Cmp::SLt, Cmp::SLe, Cmp::ULt, Cmp::ULe];
/// F32 to B1.
pub const FLOAT_CMP: [Cmp; 8] =
    [Cmp::FOrdEq, Cmp::FOrdNe, Cmp::FOrdLt, Cmp::FOrdLe, Cmp::FUnoEq, Cmp::FUnoNe, Cmp::FUnoLt, Cmp::FUnoLe];

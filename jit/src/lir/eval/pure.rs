//! Operations without effects, on all lanes of their operands.

#![forbid(unsafe_code)]

use super::{Bits, scalar};
use crate::lir::{Elem, Function, Imm, InstData, Op, Type};
use smallvec::smallvec;

/// Returns the result of an operation that is [`Effect::Pure`](crate::lir::Effect) and not an
/// address. This function defines the meaning of LIR. `types` are the types of the operands.
///
/// # Panics
/// Panics for other operations, and for instructions that verification rejects.
pub fn pure(func: &Function, data: &InstData, types: &[Type], args: &[Bits]) -> Bits {
    let ty = data.ty;
    let lanes = ty.lanes();
    let each = |f: &dyn Fn(usize) -> u64| -> Bits { (0..lanes).map(f).collect() };
    match data.op {
        Op::Iadd
        | Op::Isub
        | Op::Imul
        | Op::And
        | Op::Or
        | Op::Xor
        | Op::AndNot
        | Op::Smin
        | Op::Smax
        | Op::Umin
        | Op::Umax
        | Op::SmulHigh
        | Op::UmulHigh
        | Op::Sdiv
        | Op::Udiv
        | Op::Srem
        | Op::Urem
        | Op::ShlV
        | Op::LshrV
        | Op::AshrV => each(&|l| scalar::int(data.op, ty.elem, args[0][l], args[1][l])),
        Op::Shl | Op::Lshr | Op::Ashr => each(&|l| scalar::int(data.op, ty.elem, args[0][l], args[1][0])),
        Op::Ineg | Op::Not | Op::Clz | Op::Ctz | Op::Popcnt | Op::BitReverse => {
            each(&|l| scalar::int(data.op, ty.elem, args[0][l], 0))
        }
        Op::Fadd
        | Op::Fsub
        | Op::Fmul
        | Op::Fdiv
        | Op::Fma
        | Op::Fneg
        | Op::Fabs
        | Op::Sqrt
        | Op::Floor
        | Op::Ceil
        | Op::Trunc
        | Op::Nearest => each(&|l| {
            let operand = |i: usize| args.get(i).map_or(0, |a| a[l]);
            scalar::floats(data.op, ty.elem, [operand(0), operand(1), operand(2)])
        }),
        Op::Icmp | Op::Fcmp => each(&|l| {
            u64::from(match data.imm {
                Imm::Int(cond) => scalar::int_cond(cond, ty.elem, args[0][l], args[1][l]),
                Imm::Float(cond) => scalar::float_cond(cond, ty.elem, args[0][l], args[1][l]),
                _ => panic!("a comparison without condition"),
            })
        }),
        Op::Select => each(&|l| {
            let cond = if types[0].is_vector() { args[0][l] } else { args[0][0] };
            if cond != 0 { args[1][l] } else { args[2][l] }
        }),
        Op::Sext
        | Op::Zext
        | Op::Narrow
        | Op::Fwiden
        | Op::Fnarrow
        | Op::HalfToFloat
        | Op::FloatToHalf
        | Op::SintToFloat
        | Op::UintToFloat
        | Op::FloatToSint
        | Op::FloatToUint => each(&|l| scalar::convert(data.op, types[0].elem, ty.elem, args[0][l])),
        Op::Bitcast => recast(types[0].elem, ty.elem, &args[0]),
        Op::Splat => each(&|_| args[0][0]),
        Op::Extract => smallvec![args[0][lane(data)]],
        Op::Insert => {
            let mut out = args[0].clone();
            out[lane(data)] = args[1][0];
            out
        }
        Op::Build => each(&|l| args[l][0]),
        Op::Shuffle => {
            let Imm::Pattern(list) = data.imm else { panic!("a shuffle without pattern") };
            let pick = |&l: &u64| if (l as usize) < lanes { args[0][l as usize] } else { args[1][l as usize - lanes] };
            func.lists[list].iter().map(pick).collect()
        }
        Op::ExtractAt => smallvec![args[0][args[1][0] as usize % lanes]],
        Op::Permute => each(&|l| args[0][args[1][l] as usize % lanes]),
        Op::Any => smallvec![u64::from(args[0].contains(&1))],
        Op::All => smallvec![u64::from(!args[0].contains(&0))],
        Op::MaskBits => smallvec![args[0].iter().enumerate().fold(0, |bits, (l, b)| bits | b << l)],
        Op::BitsMask => each(&|l| args[0][0] >> l & 1),
        Op::Load
        | Op::LoadU8
        | Op::LoadU16
        | Op::Store
        | Op::Gather
        | Op::Scatter
        | Op::AtomicRmw
        | Op::AtomicCas
        | Op::AtomicLoad
        | Op::Fence
        | Op::StackAddress
        | Op::Call
        | Op::Jump
        | Op::Branch
        | Op::BranchTable
        | Op::Return => panic!("{:?} has effects", data.op),
    }
}

fn lane(data: &InstData) -> usize {
    match data.imm {
        Imm::Lane(lane) => usize::from(lane),
        _ => panic!("{:?} without lane", data.op),
    }
}

/// Reinterprets the bits as lanes of another width.
fn recast(from: Elem, to: Elem, lanes: &Bits) -> Bits {
    let (a, b) = (from.bits() as usize / 8, to.bits() as usize / 8);
    let bytes: Vec<u8> = lanes.iter().flat_map(|l| l.to_le_bytes().into_iter().take(a)).collect();
    let lane = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    bytes.chunks(b).map(lane).collect()
}

//! Subgroup and quad operations.

use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::value::Flat;
use crate::error::{Error, Result};
use crate::ir::{Binary, Builtin, Cmp, Convert, Op, Scan, Subgroup, Ty, Unary, Value};

/// Operations of OpGroupNonUniformIAdd to LogicalXor, in the order of their numbers.
static GROUP_ARITHMETIC: [Binary; 16] = [
    Binary::IAdd,
    Binary::FAdd,
    Binary::IMul,
    Binary::FMul,
    Binary::SMin,
    Binary::UMin,
    Binary::FMin,
    Binary::SMax,
    Binary::UMax,
    Binary::FMax,
    Binary::And,
    Binary::Or,
    Binary::Xor,
    Binary::And,
    Binary::Or,
    Binary::Xor,
];

/// Number of the scope of a subgroup.
pub(super) const SCOPE_SUBGROUP: u64 = 3;

impl Translator<'_> {
    /// Translates subgroup and quad operations of both generations.
    pub fn subgroup_op(&mut self, v: View<'_>) -> Result<()> {
        self.b.shader.uses_subgroup = true;
        if v.op == op::OpGroupNonUniformPartitionEXT {
            let flat = self.partition(v)?;
            return self.result(v, flat);
        }
        // The operations of SPIR-V 1.3, and rotation, begin with a scope.
        let scoped = v.op <= op::OpGroupNonUniformQuadSwap || v.op == op::OpGroupNonUniformRotateKHR;
        let v = if !scoped {
            v
        } else {
            if self.s.constant_bits(v.arg(0)?)? != SCOPE_SUBGROUP {
                return Err(Error::unsupported("scope other than Subgroup"));
            }
            View { args: &v.args[1..], ..v }
        };
        let vote = |t: &mut Self, op: Subgroup| -> Result<Flat> {
            let x = t.operand1(v, 0)?;
            Ok(Flat::from_slice(&[t.b.val(Op::Subgroup(op), &[x], Ty::B1)]))
        };
        let flat = match v.op {
            op::OpGroupNonUniformElect => Flat::from_slice(&[self.b.val(Op::Subgroup(Subgroup::Elect), &[], Ty::B1)]),
            op::OpGroupNonUniformAll | op::OpSubgroupAllKHR => vote(self, Subgroup::All)?,
            op::OpGroupNonUniformAny | op::OpSubgroupAnyKHR => vote(self, Subgroup::Any)?,
            op::OpGroupNonUniformAllEqual | op::OpSubgroupAllEqualKHR => {
                let x = self.operand(v, 0)?;
                let mut all = self.b.bool(true);
                for &x in &x {
                    let same = self.b.val(Op::Subgroup(Subgroup::AllEqual), &[x], Ty::B1);
                    all = self.b.bin(Binary::And, all, same);
                }
                Flat::from_slice(&[all])
            }
            op::OpGroupNonUniformBroadcast => {
                let (x, from) = (self.operand(v, 0)?, self.operand1(v, 1)?);
                self.each_lane(Subgroup::Broadcast, &x, Some(from))
            }
            op::OpGroupNonUniformBroadcastFirst | op::OpSubgroupFirstInvocationKHR => {
                let x = self.operand(v, 0)?;
                self.each_lane(Subgroup::BroadcastFirst, &x, None)
            }
            op::OpGroupNonUniformBallot | op::OpSubgroupBallotKHR => {
                let x = self.operand1(v, 0)?;
                let words = self.ballot(x);
                self.four_words(words)
            }
            op::OpGroupNonUniformInverseBallot..=op::OpGroupNonUniformBallotFindMSB => self.ballot_op(v)?,
            op::OpGroupNonUniformShuffle | op::OpSubgroupReadInvocationKHR => {
                let (x, from) = (self.operand(v, 0)?, self.operand1(v, 1)?);
                self.each_lane(Subgroup::Shuffle, &x, Some(from))
            }
            op::OpGroupNonUniformShuffleXor..=op::OpGroupNonUniformShuffleDown => {
                let op = match v.op {
                    op::OpGroupNonUniformShuffleXor => Binary::Xor,
                    op::OpGroupNonUniformShuffleUp => Binary::ISub,
                    _ => Binary::IAdd,
                };
                let (x, by, lane) = (self.operand(v, 0)?, self.operand1(v, 1)?, self.b.lane());
                let from = self.b.bin(op, lane, by);
                self.each_lane(Subgroup::Shuffle, &x, Some(from))
            }
            op::OpGroupNonUniformRotateKHR => self.rotate(v)?,
            op::OpGroupNonUniformQuadAllKHR | op::OpGroupNonUniformQuadAnyKHR => self.quad_vote(v)?,
            op::OpGroupNonUniformIAdd..=op::OpGroupNonUniformLogicalXor => self.group_arithmetic(v)?,
            op::OpGroupNonUniformQuadBroadcast => {
                let x = self.operand(v, 0)?;
                match self.s.constant_bits(v.arg(1)?) {
                    Ok(i) => {
                        let i = self.b.i32(i as u32 & 3);
                        self.each_lane(Subgroup::QuadBroadcast, &x, Some(i))
                    }
                    // SPIR-V 1.5 allows any dynamically uniform index.
                    Err(_) => {
                        let (i, lane) = (self.operand1(v, 1)?, self.b.lane());
                        let (zero, two) = (self.b.i32(0), self.b.i32(2));
                        let lane = self.b.val(Op::BitfieldInsert, &[lane, i, zero, two], Ty::I32);
                        self.each_lane(Subgroup::Shuffle, &x, Some(lane))
                    }
                }
            }
            op::OpGroupNonUniformQuadSwap => {
                let x = self.operand(v, 0)?;
                let op = match self.s.constant_bits(v.arg(1)?)? {
                    0 => Subgroup::QuadSwapHorizontal,
                    1 => Subgroup::QuadSwapVertical,
                    2 => Subgroup::QuadSwapDiagonal,
                    _ => return Err(Error::invalid("direction of a quad swap")),
                };
                self.each_lane(op, &x, None)
            }
            _ => return Err(Error::unsupported("not implemented")),
        };
        self.result(v, flat)
    }

    /// Applies the operation to each component.
    fn each_lane(&mut self, op: Subgroup, x: &[Value], extra: Option<Value>) -> Flat {
        let one = |&x: &Value| {
            let args: Flat = std::iter::once(x).chain(extra).collect();
            self.b.val(Op::Subgroup(op), &args, self.b.ty(x))
        };
        x.iter().map(one).collect()
    }

    /// Returns the values of the lanes `delta` further on, around the subgroup or a cluster of it.
    fn rotate(&mut self, v: View<'_>) -> Result<Flat> {
        let (x, delta, lane) = (self.operand(v, 0)?, self.operand1(v, 1)?, self.b.lane());
        let one = self.b.i32(1);
        let size = match v.args.get(2) {
            None => self.b.val(Op::Builtin(Builtin::SubgroupSize), &[], Ty::I32),
            Some(&id) => match self.s.constant_bits(id)? {
                size if size.is_power_of_two() && size <= 128 => self.b.i32(size as u32),
                _ => return Err(Error::invalid("cluster size")),
            },
        };
        // The lower bits of the lane's number rotate and the upper ones stay.
        let low = self.b.bin(Binary::ISub, size, one);
        let turned = self.b.bin(Binary::IAdd, lane, delta);
        let differs = self.b.bin(Binary::Xor, turned, lane);
        let differs = self.b.bin(Binary::And, differs, low);
        let from = self.b.bin(Binary::Xor, lane, differs);
        Ok(self.each_lane(Subgroup::Shuffle, &x, Some(from)))
    }

    /// Translates reductions and scans; booleans are handled as words.
    fn group_arithmetic(&mut self, v: View<'_>) -> Result<Flat> {
        let op = GROUP_ARITHMETIC[usize::from(v.op - op::OpGroupNonUniformIAdd)];
        let scan = match v.arg(0)? {
            0 => Scan::Reduce,
            1 => Scan::Inclusive,
            2 => Scan::Exclusive,
            3 => {
                let size = self.s.constant_bits(v.arg(2)?)?;
                if !size.is_power_of_two() || size > 128 {
                    return Err(Error::invalid("cluster size"));
                }
                Scan::Cluster(size as u8)
            }
            part @ 6..=8 => return self.partitioned(v, op, part),
            _ => return Err(Error::unsupported("group operation")),
        };
        let logical = v.op >= op::OpGroupNonUniformLogicalAnd;
        let x = self.operand(v, 1)?;
        let mut out = Flat::new();
        for &x in &x {
            let ty = self.b.ty(x);
            if logical != (ty == Ty::B1) {
                return Err(Error::invalid("group operation on a value of this type"));
            }
            let x = if logical { self.b.cvt(Convert::BToI, x, Ty::I32) } else { x };
            let joined = self.b.val(Op::Subgroup(Subgroup::Arithmetic(op, scan)), &[x], self.b.ty(x));
            let zero = self.b.i32(0);
            out.push(if logical { self.b.cmp(Cmp::INe, joined, zero) } else { joined });
        }
        Ok(out)
    }

    /// Returns whether all or any of a quad's active lanes have true, from two ballots.
    pub fn quad_vote(&mut self, v: View<'_>) -> Result<Flat> {
        let x = self.operand1(v, 0)?;
        let all = v.op == op::OpGroupNonUniformQuadAllKHR;
        // All of them have true if none has false.
        let asked = if all { self.b.un(Unary::Not, x) } else { x };
        let words = self.ballot(asked);
        let lane = self.b.lane();
        let word = self.word_of(&words, lane);
        let (zero, three, fifteen) = (self.b.i32(0), self.b.i32(!3), self.b.i32(15));
        let first = self.b.bin(Binary::And, lane, three);
        let quad = self.b.bin(Binary::LShr, word, first);
        let quad = self.b.bin(Binary::And, quad, fifteen);
        let some = self.b.cmp(if all { Cmp::IEq } else { Cmp::INe }, quad, zero);
        Ok(Flat::from_slice(&[some]))
    }

    /// Translates operations on a ballot's four words.
    pub fn ballot_op(&mut self, v: View<'_>) -> Result<Flat> {
        let count = v.op == op::OpGroupNonUniformBallotBitCount;
        let words = self.operand(v, usize::from(count))?;
        if words.len() != 4 || words.iter().any(|&w| self.b.ty(w) != Ty::I32) {
            return Err(Error::invalid("ballot is not four words"));
        }
        let r = match v.op {
            op::OpGroupNonUniformInverseBallot | op::OpGroupNonUniformBallotBitExtract => {
                let bit = if v.op == op::OpGroupNonUniformInverseBallot { self.b.lane() } else { self.operand1(v, 1)? };
                let (word, one) = (self.word_of(&words, bit), self.b.i32(1));
                let word = self.b.bin(Binary::LShr, word, bit);
                let word = self.b.bin(Binary::And, word, one);
                self.b.bit_to_bool(word)
            }
            op::OpGroupNonUniformBallotBitCount => self.count_bits(v.arg(0)?, &words)?,
            find => self.find_bit(&words, find == op::OpGroupNonUniformBallotFindLSB),
        };
        Ok(Flat::from_slice(&[r]))
    }
}

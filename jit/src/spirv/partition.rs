//! Partitions of a subgroup (SPV_EXT_shader_subgroup_partitioned): which lanes have one's own value, and reductions and scans of such
//! lanes, in the order of their numbers.

use super::body::Translator;
use super::module::View;
use super::value::Flat;
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, Op, Subgroup, Ty, Value, eval};

/// PartitionedInclusiveScan, PartitionedExclusiveScan.
const INCLUSIVE: u32 = 7;
const EXCLUSIVE: u32 = 8;

impl Translator<'_> {
    fn active_lanes(&mut self) -> Flat {
        let yes = self.b.bool(true);
        self.ballot(yes)
    }

    fn of_lane(&mut self, x: Value, lane: u32) -> Value {
        let lane = self.b.i32(lane);
        self.b.val(Op::Subgroup(Subgroup::Shuffle), &[x, lane], self.b.ty(x))
    }

    /// OpGroupNonUniformPartitionEXT. A NaN's lane is with none but itself.
    pub fn partition(&mut self, v: View<'_>) -> Result<Flat> {
        let x = self.operand(v, 0)?;
        let mut words: Flat = (0..self.ballot_words()).map(|word| self.own_bits(word)[0]).collect();
        for lane in 0..self.s.lanes {
            let mut same = self.b.bool(true);
            for &x in &x {
                let other = self.of_lane(x, lane);
                let cmp = if self.b.ty(x).is_float() { Cmp::FOrdEq } else { Cmp::IEq };
                let equal = self.b.cmp(cmp, x, other);
                same = self.b.bin(Binary::And, same, equal);
            }
            let (bit, none) = (self.b.i32(1 << (lane % 32)), self.b.i32(0));
            let bit = self.b.select(same, bit, none);
            let word = &mut words[lane as usize / 32];
            *word = self.b.bin(Binary::Or, *word, bit);
        }
        let active = self.active_lanes();
        let words = words.iter().zip(&active).map(|(&word, &active)| self.b.bin(Binary::And, word, active));
        let words = words.collect();
        Ok(self.four_words(words))
    }

    /// Group operation `part`, behind which stand the value and the lanes to join.
    pub fn partitioned(&mut self, v: View<'_>, op: Binary, part: u32) -> Result<Flat> {
        let (x, ballot) = (self.operand(v, 1)?, self.operand(v, 2)?);
        if ballot.len() != 4 {
            return Err(Error::invalid("ballot is not four words"));
        }
        let mut lanes = self.active_lanes();
        for (word, (lanes, &wanted)) in (0..).zip(lanes.iter_mut().zip(&ballot)) {
            *lanes = self.b.bin(Binary::And, wanted, *lanes);
            if part != 6 {
                let [own, mut before] = self.own_bits(word);
                if part == INCLUSIVE {
                    before = self.b.bin(Binary::Or, before, own);
                }
                *lanes = self.b.bin(Binary::And, *lanes, before);
            }
        }
        x.iter().map(|&x| self.join_lanes(op, x, &lanes, part == EXCLUSIVE)).collect()
    }

    /// The values of those lanes joined; of none the identity.
    fn join_lanes(&mut self, op: Binary, x: Value, lanes: &[Value], exclusive: bool) -> Result<Value> {
        let logical = self.b.ty(x) == Ty::B1;
        let x = if logical { self.b.cvt(Convert::BToI, x, Ty::I32) } else { x };
        let ty = self.b.ty(x);
        let first = if exclusive { eval::exclusive_first(op, ty) } else { eval::identity(op, ty) };
        let mut all = self.b.konst(ty, first.ok_or_else(|| Error::invalid("group operation on a value of this type"))?);
        for lane in 0..self.s.lanes {
            let bit = self.b.i32(1 << (lane % 32));
            let bit = self.b.bin(Binary::And, lanes[lane as usize / 32], bit);
            let hit = self.bit_to_bool(bit);
            let other = self.of_lane(x, lane);
            let joined = self.b.bin(op, all, other);
            all = self.b.select(hit, joined, all);
        }
        Ok(if logical { self.bit_to_bool(all) } else { all })
    }
}

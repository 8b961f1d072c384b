//! Partitions of a subgroup (SPV_EXT_shader_subgroup_partitioned): the lanes with the lane's own
//! value, and reductions and scans of such lanes, in the order of their numbers.

use super::module::View;
use super::translator::Translator;
use super::value::Flat;
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, Op, Region, Subgroup, Term, Ty, Value, Var, eval};

/// Group operations PartitionedInclusiveScan and PartitionedExclusiveScan.
const INCLUSIVE: u32 = 7;
const EXCLUSIVE: u32 = 8;
/// Largest number of lanes that are visited without a loop.
const UNROLLED: u32 = 8;

impl Translator<'_> {
    fn active_lanes(&mut self) -> Flat {
        let yes = self.b.bool(true);
        self.ballot(yes)
    }

    fn of_lane(&mut self, x: Value, lane: Value) -> Value {
        // A constant lane makes a shuffle that needs no memory.
        let op = if self.constant(lane) { Subgroup::Shuffle } else { Subgroup::Broadcast };
        self.b.val(Op::Subgroup(op), &[x, lane], self.b.ty(x))
    }

    fn constant(&self, v: Value) -> bool {
        self.b.shader.as_const(v).is_some()
    }

    /// Changes values once for every lane, in the order of the lanes: by a loop if there are many.
    fn each_lane_of(
        &mut self,
        values: &mut [Value],
        mut step: impl FnMut(&mut Self, Value, &mut [Value]) -> Result<()>,
    ) -> Result<()> {
        if self.s.lanes <= UNROLLED {
            return (0..self.s.lanes).try_for_each(|lane| {
                let lane = self.b.i32(lane);
                step(self, lane, values)
            });
        }
        let vars: Vec<Var> = values.iter().map(|&v| self.b.var(self.b.ty(v), 1, "lanes")).collect();
        let counter = self.b.var(Ty::I32, 1, "lane");
        let zero = self.b.i32(0);
        self.b.store_var(counter, None, zero);
        vars.iter().zip(&*values).for_each(|(&var, &v)| self.b.store_var(var, None, v));
        let label = self.b.shader.new_label();
        self.b.push_region();
        let lane = self.b.load_var(counter, None);
        values.iter_mut().zip(&vars).for_each(|(v, &var)| *v = self.b.load_var(var, None));
        step(self, lane, values)?;
        vars.iter().zip(&*values).for_each(|(&var, &v)| self.b.store_var(var, None, v));
        let (one, lanes) = (self.b.i32(1), self.b.i32(self.s.lanes));
        let next = self.b.bin(Binary::IAdd, lane, one);
        self.b.store_var(counter, None, next);
        let end = self.b.cmp(Cmp::IEq, next, lanes);
        let leave = Region { nodes: Vec::new(), term: Term::Break(label, Vec::new()) };
        let stay = Region { nodes: Vec::new(), term: Term::Yield(Vec::new()) };
        self.b.if_(end, leave, stay);
        let body = self.b.pop_region(Term::Yield(Vec::new()));
        self.b.loop_(label, body);
        values.iter_mut().zip(&vars).for_each(|(v, &var)| *v = self.b.load_var(var, None));
        Ok(())
    }

    /// Returns the bit of a lane in its word.
    fn bit_of(&mut self, lane: Value) -> Value {
        let one = self.b.i32(1);
        self.b.bin(Binary::Shl, one, lane)
    }

    /// Returns whether a lane belongs to this word.
    fn in_word(&mut self, lane: Value, word: u32) -> Value {
        let (shift, word) = (self.b.i32(5), self.b.i32(word));
        let which = self.b.bin(Binary::LShr, lane, shift);
        self.b.cmp(Cmp::IEq, which, word)
    }

    /// Translates OpGroupNonUniformPartitionEXT. A lane with a NaN is alone in its partition.
    pub fn partition(&mut self, v: View<'_>) -> Result<Flat> {
        let x = self.operand(v, 0)?;
        let mut words: Flat = (0..self.ballot_words()).map(|word| self.own_bits(word)[0]).collect();
        self.each_lane_of(&mut words, |t, lane, words| {
            let mut same = t.b.bool(true);
            for &x in &x {
                let other = t.of_lane(x, lane);
                let cmp = if t.b.ty(x).is_float() { Cmp::FOrdEq } else { Cmp::IEq };
                let equal = t.b.cmp(cmp, x, other);
                same = t.b.bin(Binary::And, same, equal);
            }
            let (bit, none, many) = (t.bit_of(lane), t.b.i32(0), words.len() > 1);
            for (n, word) in (0..).zip(words) {
                let mut here = same;
                if many {
                    let own = t.in_word(lane, n);
                    here = t.b.bin(Binary::And, same, own);
                }
                let bit = t.b.select(here, bit, none);
                *word = t.b.bin(Binary::Or, *word, bit);
            }
            Ok(())
        })?;
        let active = self.active_lanes();
        let words = words.iter().zip(&active).map(|(&word, &active)| self.b.bin(Binary::And, word, active));
        let words = words.collect();
        Ok(self.four_words(words))
    }

    /// Translates the group operation `part`, behind which are the value and the ballot of the
    /// lanes to combine.
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
        self.join_lanes(op, &x, &lanes, part == EXCLUSIVE)
    }

    /// Combines the values of those lanes, component by component; without lanes, the result is the
    /// identity.
    fn join_lanes(&mut self, op: Binary, x: &[Value], lanes: &[Value], exclusive: bool) -> Result<Flat> {
        let Some(&first) = x.first() else { return Ok(Flat::new()) };
        let logical = self.b.ty(first) == Ty::B1;
        let x: Flat = x.iter().map(|&x| if logical { self.b.cvt(Convert::BToI, x, Ty::I32) } else { x }).collect();
        let ty = self.b.ty(x[0]);
        let first = if exclusive { eval::exclusive_first(op, ty) } else { eval::identity(op, ty) };
        let first = self.b.konst(ty, first.ok_or_else(|| Error::invalid("group operation on a value of this type"))?);
        let mut all: Flat = x.iter().map(|_| first).collect();
        self.each_lane_of(&mut all, |t, lane, all| {
            let (bit, mut word) = (t.bit_of(lane), lanes[0]);
            for (n, &other) in (1..).zip(&lanes[1..]) {
                let here = t.in_word(lane, n);
                word = t.b.select(here, other, word);
            }
            let bit = t.b.bin(Binary::And, word, bit);
            let hit = t.b.bit_to_bool(bit);
            for (all, &x) in all.iter_mut().zip(&x) {
                let other = t.of_lane(x, lane);
                let joined = t.b.bin(op, *all, other);
                *all = t.b.select(hit, joined, *all);
            }
            Ok(())
        })?;
        Ok(all.iter().map(|&all| if logical { self.b.bit_to_bool(all) } else { all }).collect())
    }
}

//! Ballots and masks of lanes: a bit per lane of the subgroup, 32 in each word.
//!
//! Words that have no lanes are not computed; among the four words that an application sees, they
//! are 0.

use super::builtin;
use super::translator::Translator;
use super::value::Flat;
use crate::error::{Error, Result};
use crate::ir::{Binary, Builtin, Cmp, Op, Subgroup, Ty, Unary, Value};

/// Number of lanes of a word.
const PER_WORD: u32 = 32;

impl Translator<'_> {
    /// Returns the number of words that have lanes.
    pub fn ballot_words(&self) -> u32 {
        self.s.lanes.div_ceil(PER_WORD)
    }

    /// Returns the mask of the active lanes in which `x` is true.
    pub fn ballot(&mut self, x: Value) -> Flat {
        let words = 0..self.ballot_words() as u8;
        words.map(|word| self.b.val(Op::Subgroup(Subgroup::Ballot(word)), &[x], Ty::I32)).collect()
    }

    /// Returns the four words that an application sees, of which those without lanes are 0.
    pub fn four_words(&mut self, mut words: Flat) -> Flat {
        words.resize(4, self.b.i32(0));
        words
    }

    /// Returns a word with the bit of the lane itself, and one with the bits of the lanes before
    /// it.
    pub fn own_bits(&mut self, word: u32) -> [Value; 2] {
        let (lane, one) = (self.b.lane(), self.b.i32(1));
        let own = self.b.bin(Binary::Shl, one, lane);
        let before = self.b.bin(Binary::ISub, own, one);
        if self.ballot_words() == 1 {
            return [own, before];
        }
        let [word, none, all, five] = [word, 0, u32::MAX, PER_WORD.ilog2()].map(|c| self.b.i32(c));
        let own_word = self.b.bin(Binary::LShr, lane, five);
        let here = self.b.cmp(Cmp::IEq, own_word, word);
        let behind = self.b.cmp(Cmp::ULt, word, own_word);
        let elsewhere = self.b.select(behind, all, none);
        [self.b.select(here, own, none), self.b.select(here, before, elsewhere)]
    }

    /// Returns a word of SubgroupEqMask or one of its variants.
    pub fn subgroup_mask(&mut self, number: u32, word: u32) -> Value {
        self.b.shader.uses_subgroup = true;
        if word >= self.ballot_words() {
            return self.b.i32(0);
        }
        let [eq, lt] = self.own_bits(word);
        let (le, ones) = (self.b.bin(Binary::Or, lt, eq), self.b.i32(u32::MAX));
        let above = match number {
            builtin::SUBGROUP_EQ_MASK => return eq,
            builtin::SUBGROUP_LT_MASK => return lt,
            builtin::SUBGROUP_LE_MASK => return le,
            builtin::SUBGROUP_GE_MASK => self.b.bin(Binary::Xor, lt, ones),
            _ => self.b.bin(Binary::Xor, le, ones),
        };
        let all = self.subgroup_lanes();
        self.b.bin(Binary::And, above, all)
    }

    /// Returns the bits of the lanes of the subgroup in a word, which are the same for all words.
    fn subgroup_lanes(&mut self) -> Value {
        self.b.shader.uses_subgroup = true;
        let ones = self.b.i32(u32::MAX);
        if self.s.lanes > PER_WORD {
            return ones;
        }
        let size = self.b.val(Op::Builtin(Builtin::SubgroupSize), &[], Ty::I32);
        let n = self.b.i32(PER_WORD);
        let by = self.b.bin(Binary::ISub, n, size);
        self.b.bin(Binary::LShr, ones, by)
    }

    /// Returns the word that contains a lane.
    pub fn word_of(&mut self, words: &[Value], lane: Value) -> Value {
        if let &[word] = words {
            return word;
        }
        let five = self.b.i32(PER_WORD.ilog2());
        let which = self.b.bin(Binary::LShr, lane, five);
        self.b.pick(words, which)
    }

    /// Returns the number of ones in a ballot, among all lanes, the lanes up to the own one, or the
    /// lanes before it.
    pub fn count_bits(&mut self, operation: u32, words: &[Value]) -> Result<Value> {
        let mut sum = None;
        for (word, &bits) in (0..self.ballot_words()).zip(words) {
            let lanes = match operation {
                0 => self.subgroup_lanes(),
                1 => {
                    let [own, before] = self.own_bits(word);
                    self.b.bin(Binary::Or, before, own)
                }
                2 => self.own_bits(word)[1],
                _ => return Err(Error::unsupported("group operation")),
            };
            let bits = self.b.bin(Binary::And, bits, lanes);
            let n = self.b.un(Unary::BitCount, bits);
            sum = Some(match sum {
                Some(sum) => self.b.bin(Binary::IAdd, sum, n),
                None => n,
            });
        }
        sum.ok_or_else(|| Error::internal("a subgroup without lanes"))
    }

    /// Returns the number of the lowest or highest one.
    pub fn find_bit(&mut self, words: &[Value], lowest: bool) -> Value {
        let (op, lanes) = (if lowest { Unary::FindLsb } else { Unary::FindUMsb }, self.subgroup_lanes());
        let mut found = None;
        for (word, &bits) in (0..self.ballot_words()).zip(words) {
            let bits = self.b.bin(Binary::And, bits, lanes);
            let at = self.b.un(op, bits);
            let Some(before) = found else {
                found = Some(at);
                continue;
            };
            let (first, none) = (self.b.i32(word * PER_WORD), self.b.i32(u32::MAX));
            let at = self.b.bin(Binary::IAdd, at, first);
            // It is -1 for a word without ones.
            let here = if lowest { self.b.cmp(Cmp::IEq, before, none) } else { self.b.bit_to_bool(bits) };
            found = Some(self.b.select(here, at, before));
        }
        found.unwrap_or(lanes)
    }
}

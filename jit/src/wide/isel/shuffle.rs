//! Shuffles by constant patterns.
//!
//! A register of the result is seen as words, or as bytes for narrower lanes, each of which comes
//! from a word or byte of an operand's register ([`SourceElement`]). Patterns that one or two
//! instructions can make are tried first; others are assembled source by source.

use super::{InstructionSelector, Parts, QUARTER, Rm, malformed};
use crate::error::Result;
use crate::lir::{self, Imm, InstData};
use crate::wide::inst::Size;
use crate::wide::table::Vex;
use regalloc2::VReg;
use smallvec::SmallVec;

/// The index of a source register, and a word (or byte) in it.
type SourceElement = (usize, usize);

/// An instruction's operands and immediate, and its result.
type EmittedShuffle = (Vex, VReg, VReg, u8, VReg);

/// Registers of the operands, and the instructions made from them so far.
struct Sources {
    values: SmallVec<[(lir::Value, usize); 8]>,
    made: SmallVec<[EmittedShuffle; 4]>,
    size: Size,
}

/// Words of a register of 128 bits.
const FOUR: usize = 4;

impl InstructionSelector<'_> {
    pub(super) fn shuffle(&mut self, data: &InstData) -> Result<Parts> {
        let Imm::Pattern(list) = data.imm else { return Err(malformed(data)) };
        let (lir, ty) = (self.lir, data.ty);
        let pattern = &lir.lists[list];
        let (lanes, per) = (ty.lanes(), self.b.per_part(ty));
        let parts = self.b.part_count(ty);
        let mut sources = Sources { values: SmallVec::new(), made: SmallVec::new(), size: self.b.size(ty) };
        // A register that occurs twice is one source.
        let mut numbers: SmallVec<[usize; 8]> = SmallVec::new();
        for (value, part) in data.args.iter().flat_map(|&v| (0..parts).map(move |p| (v, p))) {
            let found = sources.values.iter().position(|&(v, p)| (v, p) == (value, part));
            numbers.push(found.unwrap_or(sources.values.len()));
            if found.is_none() {
                sources.values.push((value, part));
            }
        }
        let unit = (ty.lane_bytes() as usize).min(4);
        let units = ty.lane_bytes() as usize / unit;
        let result = ty.elem.by(pattern.len());
        let place = |l: u64| {
            let (operand, lane) = (l as usize / lanes, l as usize % lanes);
            (numbers[operand * parts + lane / per], lane % per * units)
        };
        Ok(pattern
            .chunks(self.b.per_part(result))
            .map(|chunk| {
                let places: SmallVec<[SourceElement; 64]> = chunk
                    .iter()
                    .flat_map(|&l| {
                        let (part, first) = place(l);
                        (0..units).map(move |i| (part, first + i))
                    })
                    .collect();
                if unit == 4 {
                    self.shuffle_words(&mut sources, &places)
                } else {
                    self.shuffle_narrow(&mut sources, &places, unit)
                }
            })
            .collect())
    }

    fn source_reg(&mut self, sources: &Sources, number: usize) -> VReg {
        let (v, part) = sources.values[number];
        self.lane_reg(v, part)
    }

    /// Returns 128 bits of a source, in memory if the source is a deferred load.
    fn quarter_of(&mut self, sources: &Sources, number: usize, quarter: usize) -> Rm {
        let (v, part) = sources.values[number];
        let at = self.source(v, self.b.part * part + QUARTER * quarter);
        if let Some(at) = at.filter(|_| self.lir.ty(v).bytes() as usize >= QUARTER) {
            return at;
        }
        let reg = self.lane_reg(v, part);
        Rm::Reg(self.b.quarter(reg, quarter))
    }

    /// Makes an instruction once for all registers of the result.
    fn once(&mut self, sources: &mut Sources, op: Vex, a: VReg, b: VReg, imm: u8) -> VReg {
        if let Some(&(.., made)) = sources.made.iter().find(|m| (m.0, m.1, m.2, m.3) == (op, a, b, imm)) {
            return made;
        }
        let made = self.b.two_imm(op, true, a, b, imm);
        sources.made.push((op, a, b, imm, made));
        made
    }

    fn shuffle_words(&mut self, sources: &mut Sources, places: &[SourceElement]) -> VReg {
        let first = places[0].0;
        if places.iter().enumerate().all(|(i, &p)| p == (first, i)) {
            return self.source_reg(sources, first);
        }
        match places.len() {
            ..=FOUR => self.shuffle_four(sources, places),
            8 if sources.size < Size::W512 => self.shuffle_eight(sources, places),
            _ => self.shuffle_large(sources, places),
        }
    }

    /// Makes four words from quarters of sources.
    fn shuffle_four(&mut self, sources: &Sources, places: &[SourceElement]) -> VReg {
        let quarters: SmallVec<[SourceElement; 4]> =
            places.iter().map(|&(s, w)| (4 * s + w / FOUR, w % FOUR)).collect();
        let mut used: SmallVec<[usize; 4]> = quarters.iter().map(|q| q.0).collect();
        used.sort_unstable();
        used.dedup();
        let rm = |e: &mut Self, quarter: usize| e.quarter_of(sources, quarter / 4, quarter % 4);
        if let [only] = used[..] {
            let order: SmallVec<[usize; 4]> = quarters.iter().map(|q| q.1).collect();
            let at = rm(self, only);
            return match at {
                Rm::Reg(v) if order.iter().enumerate().all(|(i, &w)| i == w) => v,
                at if order.iter().enumerate().all(|(i, &w)| i == w) => self.b.one(Vex::Vmovups, false, at),
                at => self.b.one_imm(Vex::Vpshufd, false, at, immediate(&order)),
            };
        }
        let regs: SmallVec<[(usize, VReg); 4]> = used
            .iter()
            .map(|&quarter| {
                let at = rm(self, quarter);
                (quarter, self.b.in_register(false, at))
            })
            .collect();
        if let [(s, a), (t, b)] = regs[..]
            && let Some((op, swap, imm)) = in_lane(&quarters, s, t)
        {
            let (a, b) = if swap { (b, a) } else { (a, b) };
            return self.b.two_imm(op, false, a, b, imm);
        }
        self.assemble_words(false, &quarters, &regs, |e, reg, order| {
            e.b.one_imm(Vex::Vpshufd, false, reg, immediate(order))
        })
    }

    /// Moves each source's words to their places, then blends them.
    fn assemble_words(
        &mut self,
        w: bool,
        places: &[SourceElement],
        sources: &[(usize, VReg)],
        permute: impl Fn(&mut Self, VReg, &[usize]) -> VReg,
    ) -> VReg {
        let mut all = None;
        for &(source, reg) in sources {
            let own = |p: &SourceElement| p.0 == source;
            let order: SmallVec<[usize; 8]> =
                places.iter().enumerate().map(|(i, p)| if own(p) { p.1 } else { i }).collect();
            let placed = if order.iter().enumerate().all(|(i, &w)| i == w) { reg } else { permute(self, reg, &order) };
            let words = places.iter().enumerate().fold(0, |bits, (i, p)| bits | u8::from(own(p)) << i);
            all = Some(match all {
                None => placed,
                Some(before) => self.b.two_imm(Vex::Vblendps, w, before, placed, words),
            });
        }
        all.unwrap_or_else(|| unreachable!("a shuffle of nothing"))
    }

    fn shuffle_eight(&mut self, sources: &mut Sources, places: &[SourceElement]) -> VReg {
        let mut used: SmallVec<[usize; 8]> = places.iter().map(|p| p.0).collect();
        used.sort_unstable();
        used.dedup();
        if let Some(v) = self.broadcast(sources, Size::W256, places) {
            return v;
        }
        if let Some(v) = self.two_halves(sources, places) {
            return v;
        }
        let order: SmallVec<[usize; 8]> = places.iter().map(|p| p.1).collect();
        match used[..] {
            [only] => {
                let reg = self.source_reg(sources, only);
                self.permute_eight(reg, &order)
            }
            [s, t] => {
                let (a, b) = (self.source_reg(sources, s), self.source_reg(sources, t));
                if let Some((op, swap, imm)) = both_lanes(places, s, t) {
                    let (a, b) = if swap { (b, a) } else { (a, b) };
                    return self.once(sources, op, a, b, imm);
                }
                // Exchanging the middle quarters may give a pattern that one instruction makes.
                let exchanged: SmallVec<[SourceElement; 8]> =
                    [0, 1, 4, 5, 2, 3, 6, 7].iter().map(|&i| places[i]).collect();
                if let Some((op, swap, imm)) = both_lanes(&exchanged, s, t) {
                    let (a, b) = if swap { (b, a) } else { (a, b) };
                    let both = self.once(sources, op, a, b, imm);
                    return self.b.one_imm(Vex::Vpermq, true, both, 0xd8);
                }
                if let Some((first, high)) = interleaved(places) {
                    let (a, b) = if first == s { (a, b) } else { (b, a) };
                    let (low_half, high_half) =
                        (self.once(sources, Vex::Vunpcklps, a, b, 0), self.once(sources, Vex::Vunpckhps, a, b, 0));
                    return self.once(sources, Vex::Vperm2f128, low_half, high_half, if high { 0x31 } else { 0x20 });
                }
                if self.b.avx512 {
                    return self.permute_two(Size::W256, places, s, [a, b]);
                }
                self.assemble_words(true, places, &[(s, a), (t, b)], |e, reg, order| e.permute_eight(reg, order))
            }
            _ => {
                let regs: SmallVec<[(usize, VReg); 8]> =
                    used.iter().map(|&s| (s, self.source_reg(sources, s))).collect();
                self.assemble_words(true, places, &regs, |e, reg, order| e.permute_eight(reg, order))
            }
        }
    }

    /// Makes words from two registers by an instruction that accepts any pattern.
    fn permute_two(&mut self, w: Size, places: &[SourceElement], first: usize, [a, b]: [VReg; 2]) -> VReg {
        let number = |p: &SourceElement| if p.0 == first { p.1 } else { p.1 + w.bytes() / 4 };
        let mut numbers: Vec<u8> = places.iter().flat_map(|p| (number(p) as u32).to_le_bytes()).collect();
        numbers.resize(w.bytes(), 0);
        let numbers = self.b.bytes(&numbers);
        let numbers = self.b.in_register(w, numbers);
        self.b.three(Vex::Vpermt2ps, w, [a, numbers], b, 0)
    }

    /// Makes up to sixteen words with registers of 512 bits.
    fn shuffle_large(&mut self, sources: &mut Sources, places: &[SourceElement]) -> VReg {
        let w = Size::W512;
        if let Some(v) = self.broadcast(sources, w, places) {
            return v;
        }
        let mut used: SmallVec<[usize; 8]> = places.iter().map(|p| p.0).collect();
        used.sort_unstable();
        used.dedup();
        let regs: SmallVec<[VReg; 8]> = used.iter().map(|&s| self.source_reg(sources, s)).collect();
        let quarters = |(s, t): (usize, usize)| whole_quarters(places, s, t);
        match (&used[..], &regs[..]) {
            (&[s], &[a]) => {
                let order: SmallVec<[usize; 16]> = places.iter().map(|p| p.1).collect();
                let alike =
                    order.iter().enumerate().all(|(i, &at)| at / FOUR == i / FOUR && at % FOUR == order[i % FOUR]);
                if alike {
                    return self.b.one_imm(Vex::Vpshufd, w, a, immediate(&order[..FOUR]));
                }
                if let Some(imm) = quarters((s, s)) {
                    return self.b.two_imm(Vex::Vshuff64x2, w, a, a, imm);
                }
                let mut numbers: Vec<u8> = order.iter().flat_map(|&at| (at as u32).to_le_bytes()).collect();
                numbers.resize(w.bytes(), 0);
                let numbers = self.b.bytes(&numbers);
                let numbers = self.b.in_register(w, numbers);
                self.b.two(Vex::Vpermps, w, numbers, a)
            }
            (&[s, t], &[a, b]) => {
                if let Some((op, swap, imm)) = all_lanes(places, s, t) {
                    let (a, b) = if swap { (b, a) } else { (a, b) };
                    return self.b.two_imm(op, w, a, b, imm);
                }
                for ((s, a), (t, b)) in [((s, a), (t, b)), ((t, b), (s, a))] {
                    if let Some(imm) = quarters((s, t)) {
                        return match imm {
                            0x44 => self.b.two_imm(Vex::Vinsertf64x4, w, a, b, 1),
                            imm => self.b.two_imm(Vex::Vshuff64x2, w, a, b, imm),
                        };
                    }
                }
                self.permute_two(w, places, s, [a, b])
            }
            _ => {
                // The first two sources are combined, then the result with each of the others.
                let two = |p: &SourceElement| if p.0 == used[0] || p.0 == used[1] { *p } else { (used[0], 0) };
                let begun: SmallVec<[SourceElement; 16]> = places.iter().map(two).collect();
                let mut all = self.permute_two(w, &begun, used[0], [regs[0], regs[1]]);
                for (&source, &reg) in used.iter().zip(&regs).skip(2) {
                    let own = |(i, p): (usize, &SourceElement)| if p.0 == source { *p } else { (usize::MAX, i) };
                    let placed: SmallVec<[SourceElement; 16]> = places.iter().enumerate().map(own).collect();
                    all = self.permute_two(w, &placed, usize::MAX, [all, reg]);
                }
                all
            }
        }
    }

    /// Makes one word in all places.
    fn broadcast(&mut self, sources: &Sources, w: Size, places: &[SourceElement]) -> Option<VReg> {
        let (source, word) = places[0];
        if places.iter().any(|&p| p != (source, word)) {
            return None;
        }
        let (v, part) = sources.values[source];
        if let Some(at) = self.source(v, self.b.part * part + 4 * word) {
            return Some(self.b.one(Vex::Vbroadcastss, w, at));
        }
        let reg = self.lane_reg(v, part);
        if word == 0 {
            return Some(self.b.one(Vex::Vbroadcastss, w, reg));
        }
        let number = self.b.words_reg(w, word as u32);
        Some(self.b.two(Vex::Vpermps, w, number, reg))
    }

    /// Makes a register from whole halves of sources.
    fn two_halves(&mut self, sources: &mut Sources, places: &[SourceElement]) -> Option<VReg> {
        let half = |places: &[SourceElement]| {
            let (source, word) = places[0];
            let whole = word % FOUR == 0 && places.iter().enumerate().all(|(i, &p)| p == (source, word + i));
            whole.then_some((source, word / FOUR == 1))
        };
        let (low, high) = places.split_at(FOUR);
        let ((s, upper_s), (t, upper_t)) = (half(low)?, half(high)?);
        if (s, upper_s) == (t, upper_t)
            && let at @ (Rm::At { .. } | Rm::Pool(..)) = self.quarter_of(sources, s, upper_s.into())
        {
            return Some(self.b.one(Vex::Vbroadcastf128, true, at));
        }
        if !upper_s && !upper_t {
            let low = self.source_reg(sources, s);
            let high = self.quarter_of(sources, t, 0);
            return Some(self.b.join(low, high));
        }
        let (a, b) = (self.source_reg(sources, s), self.source_reg(sources, t));
        let imm = u8::from(upper_s) | (2 + u8::from(upper_t)) << 4;
        Some(self.once(sources, Vex::Vperm2f128, a, b, imm))
    }

    /// Permutes the words of one register.
    fn permute_eight(&mut self, reg: VReg, order: &[usize]) -> VReg {
        let (low, high) = order.split_at(FOUR);
        if low.iter().zip(high).all(|(&l, &h)| l < FOUR && h == l + FOUR) {
            return self.b.one_imm(Vex::Vpshufd, true, reg, immediate(low));
        }
        if order.chunks(2).all(|pair| pair[0] % 2 == 0 && pair[1] == pair[0] + 1) {
            let imm = order.chunks(2).enumerate().fold(0, |imm, (i, pair)| imm | (pair[0] as u8 / 2) << (2 * i));
            return self.b.one_imm(Vex::Vpermq, true, reg, imm);
        }
        let numbers: Vec<u8> = order.iter().flat_map(|&w| (w as u32).to_le_bytes()).collect();
        let numbers = self.b.bytes(&numbers);
        let numbers = self.b.in_register(true, numbers);
        self.b.two(Vex::Vpermps, true, numbers, reg)
    }

    /// Shuffles lanes of 8 or 16 bits: moves bytes of each source to their places, with zeros
    /// elsewhere, and combines them.
    fn shuffle_narrow(&mut self, sources: &mut Sources, places: &[SourceElement], unit: usize) -> VReg {
        let first = places[0].0;
        if places.iter().enumerate().all(|(i, &p)| p == (first, i)) {
            return self.source_reg(sources, first);
        }
        let bytes: SmallVec<[SourceElement; 64]> =
            places.iter().flat_map(|&(s, l)| (0..unit).map(move |i| (s, l * unit + i))).collect();
        // A result of 128 bits is made from quarters of sources; a larger one from sources whose
        // quarters are rotated.
        let w = self.b.size_of(bytes.len());
        let w = if w.is_wide() { w.max(sources.size) } else { w };
        let count = w.max(sources.size).bytes() / QUARTER;
        let mut used: SmallVec<[usize; 8]> = bytes.iter().map(|b| b.0).collect();
        used.sort_unstable();
        used.dedup();
        let mut all: Option<VReg> = None;
        for source in used {
            let reg = self.source_reg(sources, source);
            for by in 0..count {
                let own: Vec<u8> = (0..w.bytes())
                    .map(|i| match bytes.get(i) {
                        Some(&(s, b)) if s == source && b / QUARTER == (i / QUARTER + by) % count => {
                            (b % QUARTER) as u8
                        }
                        _ => 0x80,
                    })
                    .collect();
                if own.iter().all(|&b| b == 0x80) {
                    continue;
                }
                let from = match (by, w) {
                    (0, _) => reg,
                    (_, Size::W128) => self.b.quarter(reg, by),
                    (_, Size::W256) => self.b.one_imm(Vex::Vpermq, w, reg, 0x4e),
                    (_, Size::W512) => {
                        let order: [usize; 4] = std::array::from_fn(|i| (i + by) % 4);
                        self.b.two_imm(Vex::Vshuff64x2, w, reg, reg, immediate(&order))
                    }
                };
                let own = self.b.bytes(&own);
                let placed = self.b.two(Vex::Vpshufb, w, from, own);
                all = Some(match all {
                    None => placed,
                    Some(before) => self.b.two(Vex::Vpor, w, before, placed),
                });
            }
        }
        all.unwrap_or_else(|| unreachable!("a shuffle of nothing"))
    }
}

/// Returns four word numbers as an instruction's immediate.
fn immediate(order: &[usize]) -> u8 {
    order.iter().enumerate().fold(0, |imm, (i, &w)| imm | ((w % FOUR) as u8) << (2 * i))
}

/// Returns the instruction that makes four words from two registers of four, whether the operands
/// are exchanged, and its immediate. Fewer than four words may be requested.
fn in_lane(places: &[SourceElement], s: usize, t: usize) -> Option<(Vex, bool, u8)> {
    let is = |want: [SourceElement; 4]| places.iter().zip(want).all(|(&p, w)| p == w);
    for (swap, a, b) in [(false, s, t), (true, t, s)] {
        if is([(a, 0), (b, 0), (a, 1), (b, 1)]) {
            return Some((Vex::Vunpcklps, swap, 0));
        }
        if is([(a, 2), (b, 2), (a, 3), (b, 3)]) {
            return Some((Vex::Vunpckhps, swap, 0));
        }
        if is([(a, 0), (a, 1), (b, 0), (b, 1)]) {
            return Some((Vex::Vunpcklpd, swap, 0));
        }
        if is([(a, 2), (a, 3), (b, 2), (b, 3)]) {
            return Some((Vex::Vunpckhpd, swap, 0));
        }
        if places.iter().enumerate().all(|(i, p)| p.0 == if i < 2 { a } else { b }) {
            let order: SmallVec<[usize; 4]> = places.iter().map(|p| p.1).collect();
            return Some((Vex::Vshufps, swap, immediate(&order)));
        }
        // The instruction's first operand supplies the upper words.
        let from = places[0].1;
        let run = places.iter().enumerate().all(|(i, &p)| {
            let at = from + i;
            p == if at < FOUR { (b, at) } else { (a, at - FOUR) }
        });
        if run {
            return Some((Vex::Vpalignr, swap, 4 * from as u8));
        }
    }
    let own = places.iter().enumerate().all(|(i, p)| p.1 == i);
    let second = places.iter().enumerate().fold(0, |bits, (i, p)| bits | u8::from(p.0 == t) << i);
    own.then_some((Vex::Vblendps, false, second))
}

/// Returns the instruction that makes eight words, with the same pattern in both halves.
fn both_lanes(places: &[SourceElement], s: usize, t: usize) -> Option<(Vex, bool, u8)> {
    let (low, high) = places.split_at(FOUR);
    let own = places.iter().enumerate().all(|(i, p)| p.1 == i);
    if own {
        let second = places.iter().enumerate().fold(0, |bits, (i, p)| bits | u8::from(p.0 == t) << i);
        return Some((Vex::Vblendps, false, second));
    }
    let alike = low.iter().zip(high).all(|(&(a, l), &(b, h))| a == b && l < FOUR && h == l + FOUR);
    if alike { in_lane(low, s, t).filter(|found| found.0 != Vex::Vblendps) } else { None }
}

/// Returns the instruction that makes sixteen words, with the same pattern in all quarters.
fn all_lanes(places: &[SourceElement], s: usize, t: usize) -> Option<(Vex, bool, u8)> {
    let alike = |(i, &(source, word)): (usize, &SourceElement)| {
        let (first, at) = places[i % FOUR];
        source == first && at < FOUR && word == at + i / FOUR * FOUR
    };
    if !places.iter().enumerate().all(alike) {
        return None;
    }
    in_lane(&places[..FOUR], s, t).filter(|found| found.0 != Vex::Vblendps)
}

/// Returns the immediate that moves whole quarters, two of one register and then two of another.
fn whole_quarters(places: &[SourceElement], s: usize, t: usize) -> Option<u8> {
    let mut order = [0; 4];
    for (i, quarter) in places.chunks(FOUR).enumerate() {
        let (source, word) = quarter[0];
        let whole = word % FOUR == 0 && quarter.iter().enumerate().all(|(at, &p)| p == (source, word + at));
        if !whole || source != if i < 2 { s } else { t } {
            return None;
        }
        order[i] = word / FOUR;
    }
    Some(immediate(&order))
}

/// Recognises words of two registers in turns: returns the first register, and whether they are the
/// upper words.
fn interleaved(places: &[SourceElement]) -> Option<(usize, bool)> {
    let (first, start) = places[0];
    let second = places[1].0;
    let turns = places.iter().enumerate().all(|(i, &p)| p == (if i % 2 == 0 { first } else { second }, start + i / 2));
    (turns && start % FOUR == 0 && first != second).then_some((first, start == FOUR))
}

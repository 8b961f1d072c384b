//! Operations on lanes and masks.

use super::{Lower, Parts, malformed, part_count, part_type, per_part};
use crate::error::Result;
use crate::lir::{self, Elem, Imm, InstData, Op};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value, types};
use smallvec::{SmallVec, smallvec};

impl Lower<'_> {
    pub(super) fn vector(&mut self, data: &InstData) -> Result<Parts> {
        let ty = data.ty;
        let mask = ty.elem == Elem::B;
        Ok(match (data.op, data.imm) {
            (Op::Splat, _) => {
                let c = self.scalar(data.args[0]);
                let c = if mask { self.truth_to_word(c) } else { c };
                let v = self.ins().splat(part_type(ty), c);
                smallvec![v; part_count(ty)]
            }
            (Op::Extract, Imm::Lane(lane)) => {
                let parts = self.get(data.args[0]);
                let c = self.lane(ty, &parts, lane.into());
                // A condition can use the word directly.
                let truth = mask && self.wanted.as_truth(data.first);
                smallvec![if truth { self.word_to_truth(c) } else { c }]
            }
            (Op::Insert, Imm::Lane(lane)) => {
                let (mut parts, c) = (self.get(data.args[0]), self.scalar(data.args[1]));
                let c = if mask { self.truth_to_word(c) } else { c };
                let (part, lane) = (usize::from(lane) / per_part(ty), usize::from(lane) % per_part(ty));
                parts[part] = self.ins().insertlane(parts[part], c, lane as u8);
                parts
            }
            (Op::Build, _) => {
                let lanes: SmallVec<[Value; 16]> = data
                    .args
                    .iter()
                    .map(|&v| {
                        let c = self.scalar(v);
                        if mask { self.truth_to_word(c) } else { c }
                    })
                    .collect();
                self.assemble(ty, &lanes)
            }
            (Op::Shuffle, Imm::Pattern(list)) => {
                let lir = self.lir;
                self.shuffle(data, &lir.lists[list])
            }
            (Op::ExtractAt, _) => {
                let (parts, lane) = (self.get(data.args[0]), self.scalar(data.args[1]));
                let address = self.spread(&parts);
                let c = self.read_lane(ty, address, lane);
                smallvec![if mask { self.word_to_truth(c) } else { c }]
            }
            (Op::Permute, _) => {
                let (parts, indices) = (self.get(data.args[0]), self.get(data.args[1]));
                let address = self.spread(&parts);
                let index_type = self.lir.ty(data.args[1]);
                let lanes: SmallVec<[Value; 16]> = (0..ty.lanes())
                    .map(|l| {
                        let index = self.lane(index_type, &indices, l);
                        self.read_lane(ty, address, index)
                    })
                    .collect();
                self.assemble(ty, &lanes)
            }
            (Op::Any, _) => {
                let all = self.join(data, |e, a, b| e.ins().bor(a, b));
                smallvec![self.ins().vany_true(all)]
            }
            (Op::All, _) => {
                let all = self.join(data, |e, a, b| e.ins().band(a, b));
                smallvec![self.ins().vall_true(all)]
            }
            (Op::MaskBits, _) => smallvec![self.mask_bits(data)],
            (Op::BitsMask, _) => self.bits_mask(data),
            _ => return Err(malformed(data)),
        })
    }

    /// Converts 0 or 1 to 0 or all ones.
    fn truth_to_word(&mut self, c: Value) -> Value {
        let wide = self.ins().uextend(types::I32, c);
        self.ins().ineg(wide)
    }

    /// Converts 0 or all ones to 0 or 1.
    fn word_to_truth(&mut self, c: Value) -> Value {
        let c = self.ins().ireduce(types::I8, c);
        let one = self.constant(lir::Type::B, 1);
        self.ins().band(c, one)
    }

    fn join(&mut self, data: &InstData, f: impl Fn(&mut Self, Value, Value) -> Value) -> Value {
        let parts = self.get(data.args[0]);
        let mut all = parts[0];
        for &part in &parts[1..] {
            all = f(self, all, part);
        }
        all
    }

    fn mask_bits(&mut self, data: &InstData) -> Value {
        let parts = self.get(data.args[0]);
        let mut bits = self.ins().vhigh_bits(types::I32, parts[0]);
        for (i, &part) in parts.iter().enumerate().skip(1) {
            let more = self.ins().vhigh_bits(types::I32, part);
            let by = self.constant(lir::Type::I32, 4 * i as u64);
            let more = self.ins().ishl(more, by);
            bits = self.ins().bor(bits, more);
        }
        bits
    }

    fn bits_mask(&mut self, data: &InstData) -> Parts {
        let bits = self.scalar(data.args[0]);
        let bits = self.ins().splat(types::I32X4, bits);
        (0..part_count(data.ty))
            .map(|i| {
                let own = self.words([0, 1, 2, 3].map(|l| 1 << (4 * i + l)));
                let on = self.ins().band(bits, own);
                self.ins().icmp(IntCC::Equal, on, own)
            })
            .collect()
    }

    /// Stores parts to the buffer where lanes are looked up, and returns its address.
    fn spread(&mut self, parts: &Parts) -> Value {
        let (builder, bytes) = (&mut self.builder, 16 * parts.len() as u32);
        let slot = *self.lane_buffers.entry(bytes).or_insert_with(|| {
            builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4))
        });
        let address = self.ins().stack_addr(types::I64, slot, 0);
        for (i, &part) in parts.iter().enumerate() {
            self.ins().store(MemFlagsData::new().with_notrap(), part, address, 16 * i as i32);
        }
        address
    }

    /// Loads the lane with a given number; for a mask its word.
    fn read_lane(&mut self, ty: lir::Type, address: Value, lane: Value) -> Value {
        let last = self.constant(lir::Type::I32, ty.lanes() as u64 - 1);
        let lane = self.ins().band(lane, last);
        let lane = self.ins().uextend(types::I64, lane);
        let bytes = self.constant(lir::Type::I64, ty.lane_bytes().into());
        let offset = self.ins().imul(lane, bytes);
        let address = self.ins().iadd(address, offset);
        let machine = if ty.elem == Elem::B { types::I32 } else { part_type(ty.scalar()) };
        self.ins().load(machine, MemFlagsData::new().with_notrap(), address, 0)
    }

    fn shuffle(&mut self, data: &InstData, pattern: &[u64]) -> Parts {
        let ty = data.ty;
        let result = ty.elem.by(pattern.len());
        let mut sources: SmallVec<[Value; 8]> = SmallVec::new();
        data.args.iter().for_each(|&v| sources.extend_from_slice(&self.get(v)));
        let typed = self.wanted.as_type(data.first);
        let (per, lanes) = (per_part(ty), ty.lanes());
        // A vector of narrow lanes may not fill a part.
        let place = |l: u64| {
            let (operand, lane) = (l as usize / lanes, l as usize % lanes);
            (operand * part_count(ty) + lane / per, lane % per)
        };
        pattern
            .chunks(per_part(result))
            .map(|chunk| {
                let places: SmallVec<[(usize, usize); 16]> = chunk.iter().map(|&l| place(l)).collect();
                let part = self.shuffle_part(ty, &sources, &places);
                if typed { self.bitcast(part_type(ty), part) } else { part }
            })
            .collect()
    }

    /// Makes a part whose lanes are given as (part, lane) of the sources.
    fn shuffle_part(&mut self, ty: lir::Type, sources: &[Value], places: &[(usize, usize)]) -> Value {
        let bytes = ty.lane_bytes() as usize;
        let first = places[0].0;
        if places.iter().enumerate().all(|(i, &p)| p == (first, i)) {
            return sources[first];
        }
        let mut used: SmallVec<[usize; 8]> = SmallVec::new();
        for &(part, _) in places {
            if !used.iter().any(|&u| sources[u] == sources[part]) {
                used.push(part);
            }
        }
        // The lanes of the first two sources are combined, then those of each further source are
        // inserted.
        let mut all = self.as_bytes(sources[used[0]]);
        for (step, &next) in used.iter().skip(1).chain(used.iter().take(usize::from(used.len() == 1))).enumerate() {
            let other = self.as_bytes(sources[next]);
            let pattern: [u8; 16] = std::array::from_fn(|i| {
                let (lane, byte) = (i / bytes, i % bytes);
                let from = match places.get(lane) {
                    Some(&(part, from)) if sources[part] == sources[used[0]] && step == 0 => from,
                    Some(&(part, from)) if sources[part] == sources[next] => 16 / bytes + from,
                    // These lanes are present already, come later, or are unused.
                    _ => lane,
                };
                (from * bytes + byte) as u8
            });
            all = self.shuffle_bytes(all, other, pattern);
        }
        all
    }

    /// Returns a part as I8X16, made once per block.
    fn as_bytes(&mut self, part: Value) -> Value {
        if self.machine_type(part) == types::I8X16 {
            return part;
        }
        match self.bytes.get(&part) {
            Some(&(block, bytes)) if block == self.current => return bytes,
            _ => {}
        }
        let bytes = self.bitcast(types::I8X16, part);
        self.bytes.insert(part, (self.current, bytes));
        bytes
    }

    /// Shuffles bytes of two parts, where the second part's bytes start at 16; the result is I8X16.
    pub(super) fn shuffle_bytes(&mut self, a: Value, b: Value, pattern: [u8; 16]) -> Value {
        let (a, b) = (self.as_bytes(a), self.as_bytes(b));
        let imm = self.builder.func.dfg.immediates.push(pattern.as_slice().into());
        self.ins().shuffle(a, b, imm)
    }

    /// Shuffles words of two parts, where the second part's words start at 4; the result has the
    /// first part's type.
    pub(super) fn shuffle_words(&mut self, a: Value, b: Value, words: [u8; 4]) -> Value {
        let ty = self.machine_type(a);
        let pattern = std::array::from_fn(|i| words[i / 4] * 4 + i as u8 % 4);
        let bytes = self.shuffle_bytes(a, b, pattern);
        self.bitcast(ty, bytes)
    }
}

//! Memory accesses and calls.

use super::{Lower, Parts, malformed, part_count, part_type};
use crate::error::Result;
use crate::lir::{self, Access, AccessReason, Imm, InstData, Op, Rmw};
use cranelift_codegen::ir::{AbiParam, AtomicRmwOp, InstBuilder, MemFlagsData, Signature, Type, Value, types};
use cranelift_codegen::isa::CallConv;
use smallvec::{SmallVec, smallvec};

/// Returns the flags of an access. Accesses never fault, because they go to the driver's own
/// structs or to checked memory.
fn flags(access: Access) -> MemFlagsData {
    let mut flags = MemFlagsData::new();
    flags.set_notrap();
    if access.readonly {
        flags.set_readonly();
        // A load that may move is executed as soon as its operands are known, even on paths that do
        // not reach it.
        if !access.guarded {
            flags.set_can_move();
        }
    }
    if access.aligned {
        flags.set_aligned();
    }
    flags
}

/// Returns the integer type that holds a vector smaller than a part.
fn small(ty: lir::Type) -> Option<Type> {
    match (ty.is_vector(), ty.bytes()) {
        (true, 4) => Some(types::I32),
        (true, 8) => Some(types::I64),
        _ => None,
    }
}

/// True if the machine only lets loads overtake earlier stores and keeps all other accesses in
/// order.
const KEEPS_ORDER: bool = cfg!(target_arch = "x86_64");

impl Lower<'_> {
    /// Emits an operation with effects that stays in the block.
    pub(super) fn access(&mut self, data: &InstData) -> Result<()> {
        let (ty, plain) = (data.ty, flags(Access::new(AccessReason::Checked)));
        let machine = part_type(ty);
        let args: SmallVec<[Parts; 4]> = data.args.iter().map(|&v| self.in_memory(v)).collect();
        let arg = |i: usize| args[i][0];
        let result: Parts = match (data.op, data.imm) {
            (Op::Load, Imm::Access(access)) => self.load(ty, access, arg(0)),
            (Op::LoadU8, Imm::Access(a)) => smallvec![self.ins().uload8(machine, flags(a), arg(0), a.offset)],
            (Op::LoadU16, Imm::Access(a)) => smallvec![self.ins().uload16(machine, flags(a), arg(0), a.offset)],
            (Op::Store, Imm::Access(access)) => {
                self.store(ty, access, arg(0), &args[1]);
                Parts::new()
            }
            (Op::Gather, Imm::Gather(access, count)) => {
                let components = self.gather(data, access, count.into(), &args);
                for (v, parts) in data.results().zip(components) {
                    self.parts[v] = parts.into_iter().map(|part| self.turn(part)).collect();
                }
                return Ok(());
            }
            (Op::Scatter, Imm::Gather(access, _)) => {
                self.scatter(data, access, &args);
                Parts::new()
            }
            (Op::AtomicRmw, Imm::Rmw(kind)) => {
                smallvec![self.ins().atomic_rmw(machine, plain, rmw(kind), arg(0), arg(1))]
            }
            (Op::AtomicCas, _) => smallvec![self.ins().atomic_cas(plain, arg(0), arg(1), arg(2))],
            (Op::AtomicLoad, _) => smallvec![self.ins().atomic_load(machine, plain, arg(0))],
            (Op::Fence, _) => {
                // No access is moved or forwarded across it. The machine lets only loads overtake
                // earlier stores, which Vulkan allows, because it does not require sequential
                // consistency.
                if KEEPS_ORDER {
                    self.ins().sequence_point();
                } else {
                    self.ins().fence();
                }
                Parts::new()
            }
            (Op::Call, _) => {
                let operands: SmallVec<[Value; 8]> = args[1..].iter().map(|a| a[0]).collect();
                self.call(arg(0), &operands);
                Parts::new()
            }
            _ => return Err(malformed(data)),
        };
        if data.count != 0 {
            self.parts[data.first] = result.into_iter().map(|part| self.turn(part)).collect();
        }
        Ok(())
    }

    fn load(&mut self, ty: lir::Type, access: Access, address: Value) -> Parts {
        let (machine, flags) = (part_type(ty), flags(access));
        if let Some(word) = small(ty) {
            let c = self.ins().load(word, flags, address, access.offset);
            let lanes = if word == types::I32 { types::I32X4 } else { types::I64X2 };
            let v = self.ins().scalar_to_vector(lanes, c);
            return smallvec![self.bitcast(machine, v)];
        }
        let at = |i: usize| access.offset + 16 * i as i32;
        (0..part_count(ty)).map(|i| self.ins().load(machine, flags, address, at(i))).collect()
    }

    fn store(&mut self, ty: lir::Type, access: Access, address: Value, value: &Parts) {
        let flags = flags(access);
        if let Some(word) = small(ty) {
            let lanes = if word == types::I32 { types::I32X4 } else { types::I64X2 };
            let v = self.bitcast(lanes, value[0]);
            let c = self.ins().extractlane(v, 0);
            self.ins().store(flags, c, address, access.offset);
            return;
        }
        for (i, &part) in value.iter().enumerate() {
            self.ins().store(flags, part, address, access.offset + 16 * i as i32);
        }
    }

    /// Emits a gather. Inactive lanes read at the base address, and their results are masked.
    fn gather(&mut self, data: &InstData, access: Access, count: usize, args: &[Parts]) -> Vec<Parts> {
        let ty = data.ty;
        let (mask, base) = (&args[0], args[1][0]);
        let offsets: Parts = args[2].iter().zip(mask).map(|(&o, &m)| self.ins().band(o, m)).collect();
        let word = lir::Elem::I32.by(ty.lanes());
        let addresses: SmallVec<[Value; 16]> = (0..ty.lanes())
            .map(|lane| {
                let offset = self.lane(word, &offsets, lane);
                let offset = self.ins().uextend(types::I64, offset);
                self.ins().iadd(base, offset)
            })
            .collect();
        let bytes = ty.lane_bytes() as usize * count;
        let loaded = match ty.lane_bytes() {
            4 => self.gather_words(ty, &addresses, count, access),
            1 | 2 if matches!(bytes, 4 | 8) && ty.lanes() <= 8 => {
                let words = self.gather_words(word, &addresses, bytes / 4, access);
                (0..count).map(|i| smallvec![self.part_of_words(ty, &words, i)]).collect()
            }
            _ => (0..count).map(|i| self.gather_component(ty, &addresses, i, access)).collect(),
        };
        let mask = self.mask_for(ty, mask.clone());
        let machine = part_type(ty);
        loaded
            .into_iter()
            .map(|parts| {
                let masked = parts.into_iter().zip(&mask).map(|(part, &m)| {
                    let (part, m) = (self.bitcast(types::I32X4, part), self.bitcast(types::I32X4, m));
                    let part = self.ins().band(part, m);
                    self.bitcast(machine, part)
                });
                masked.collect()
            })
            .collect()
    }

    fn gather_component(&mut self, ty: lir::Type, addresses: &[Value], i: usize, access: Access) -> Parts {
        let at = access.offset + (i as u32 * ty.lane_bytes()) as i32;
        let scalar = part_type(ty.scalar());
        let lanes: SmallVec<[Value; 16]> =
            addresses.iter().map(|&a| self.ins().load(scalar, flags(access), a, at)).collect();
        self.assemble(ty, &lanes)
    }

    /// Gathers components of 32 bits: two or four components as one load, which are then
    /// transposed.
    fn gather_words(&mut self, ty: lir::Type, addresses: &[Value], count: usize, access: Access) -> Vec<Parts> {
        let (machine, flags, at) = (part_type(ty), flags(access), access.offset);
        let four = ty.elem.by(4);
        let mut out = vec![Parts::new(); count];
        for group in addresses.chunks(4) {
            let components: Parts = match count {
                4 => {
                    let rows = [0, 1, 2, 3].map(|l| self.ins().load(machine, flags, group[l], at));
                    self.transpose(rows).into_iter().collect()
                }
                2 | 3 => {
                    let halves: Parts = group.iter().map(|&a| self.ins().load(types::I64, flags, a, at)).collect();
                    let pairs = [0, 2].map(|i| {
                        let v = self.ins().scalar_to_vector(types::I64X2, halves[i]);
                        self.ins().insertlane(v, halves[i + 1], 1)
                    });
                    let [x, y] = [[0, 2, 4, 6], [1, 3, 5, 7]].map(|w| self.shuffle_words(pairs[0], pairs[1], w));
                    let mut components: Parts = smallvec![self.bitcast(machine, x), self.bitcast(machine, y)];
                    if count == 3 {
                        components.push(self.gather_component(four, group, 2, access)[0]);
                    }
                    components
                }
                _ => self.gather_component(four, group, 0, access),
            };
            out.iter_mut().zip(components).for_each(|(list, c)| list.push(c));
        }
        out
    }

    /// Extracts a narrow component from words that hold several.
    fn part_of_words(&mut self, ty: lir::Type, words: &[Parts], i: usize) -> Value {
        let bytes = ty.lane_bytes() as usize;
        let (word, first) = (i * bytes / 4, i * bytes % 4);
        let parts = &words[word];
        let pattern: [u8; 16] = std::array::from_fn(|at| {
            // Bytes behind the lanes have no meaning.
            let lane = at / bytes % ty.lanes();
            (4 * lane + first + at % bytes) as u8
        });
        let all = self.shuffle_bytes(parts[0], parts[parts.len() - 1], pattern);
        self.bitcast(part_type(ty), all)
    }

    /// Transposes 4×4 words.
    fn transpose(&mut self, rows: [Value; 4]) -> [Value; 4] {
        let ty = self.machine_type(rows[0]);
        let words = |words: [u8; 4]| std::array::from_fn(|i| words[i / 4] * 4 + i as u8 % 4);
        let [a, b, c, d] = rows;
        let [ab_low, cd_low] = [(a, b), (c, d)].map(|(x, y)| self.shuffle_bytes(x, y, words([0, 4, 1, 5])));
        let [ab_high, cd_high] = [(a, b), (c, d)].map(|(x, y)| self.shuffle_bytes(x, y, words([2, 6, 3, 7])));
        [
            self.shuffle_bytes(ab_low, cd_low, words([0, 1, 4, 5])),
            self.shuffle_bytes(ab_low, cd_low, words([2, 3, 6, 7])),
            self.shuffle_bytes(ab_high, cd_high, words([0, 1, 4, 5])),
            self.shuffle_bytes(ab_high, cd_high, words([2, 3, 6, 7])),
        ]
        .map(|column| self.bitcast(ty, column))
    }

    /// Emits a scatter. Inactive lanes write to the sink.
    fn scatter(&mut self, data: &InstData, access: Access, args: &[Parts]) {
        let ty = data.ty;
        // The sink is accessed without the offset.
        let (base, sink) = match access.offset {
            0 => (args[1][0], args[3][0]),
            offset => (self.ins().iadd_imm_s(args[1][0], i64::from(offset)), args[3][0]),
        };
        let word = lir::Elem::I32.by(ty.lanes());
        for lane in 0..ty.lanes() {
            let active = self.lane(ty.mask(), &args[0], lane);
            let offset = self.lane(word, &args[2], lane);
            let offset = self.ins().uextend(types::I64, offset);
            let address = self.ins().iadd(base, offset);
            let address = self.ins().select(active, address, sink);
            for (i, value) in args[4..].iter().enumerate() {
                let c = self.lane(ty, value, lane);
                let at = (i as u32 * ty.lane_bytes()) as i32;
                self.ins().store(flags(access), c, address, at);
            }
        }
    }

    fn call(&mut self, function: Value, args: &[Value]) {
        let types: SmallVec<[Type; 8]> = args.iter().map(|&c| self.machine_type(c)).collect();
        let builder = &mut self.builder;
        let signature = *self.signatures.entry(types).or_insert_with_key(|types| {
            let mut signature = Signature::new(CallConv::SystemV);
            signature.params.extend(types.iter().map(|&t| AbiParam::new(t)));
            builder.import_signature(signature)
        });
        self.ins().call_indirect(signature, function, args);
    }
}

fn rmw(kind: Rmw) -> AtomicRmwOp {
    match kind {
        Rmw::Exchange => AtomicRmwOp::Xchg,
        Rmw::Add => AtomicRmwOp::Add,
        Rmw::Sub => AtomicRmwOp::Sub,
        Rmw::And => AtomicRmwOp::And,
        Rmw::Or => AtomicRmwOp::Or,
        Rmw::Xor => AtomicRmwOp::Xor,
        Rmw::Smin => AtomicRmwOp::Smin,
        Rmw::Umin => AtomicRmwOp::Umin,
        Rmw::Smax => AtomicRmwOp::Smax,
        Rmw::Umax => AtomicRmwOp::Umax,
    }
}

//! Builders for instructions and for their operands from values.

use super::{InstructionSelector, MAX_REGISTER_BYTES, Parts, QUARTER, Rm, in_vector};
use crate::lir::{self, Def, Elem, Imm, Op, Type};
use crate::wide::inst::{Inst, MASK, Masked, Mem, Op as M, Size, VEX_VECTORS};
use crate::wide::table::{OperandEncoding, Tuple, Vex};
use regalloc2::{Operand, OperandConstraint, RegClass, VReg};

/// Bytes of a constant in a register.
struct Bytes {
    bytes: [u8; MAX_REGISTER_BYTES],
    len: usize,
}

impl Bytes {
    /// Returns the first `bytes` bytes if all that follow repeat them.
    fn repeated(&self, bytes: usize) -> Option<&[u8]> {
        let (first, rest) = self.bytes[..self.len].split_at(bytes);
        rest.chunks(bytes).all(|chunk| chunk == first).then_some(first)
    }
}

impl InstructionSelector<'_> {
    pub(super) fn new_reg(&mut self, class: RegClass) -> VReg {
        self.code.vregs += 1;
        VReg::new(self.code.vregs - 1, class)
    }
    pub(super) fn new_vector(&mut self) -> VReg {
        self.new_reg(RegClass::Float)
    }
    pub(super) fn new_mask(&mut self) -> VReg {
        self.new_reg(MASK)
    }
    pub(super) fn new_int(&mut self) -> VReg {
        self.new_reg(RegClass::Int)
    }

    /// Appends an instruction; the operand that may be memory comes last.
    pub(super) fn push(&mut self, op: M, size: impl Into<Size>, imm: i64, operands: &[Operand], rm: Option<Rm>) {
        self.push_masked(op, size.into(), imm, operands, rm, Masked::No);
    }

    /// Appends an instruction with a mask, which is the last of the given operands.
    pub(super) fn push_masked(
        &mut self,
        op: M,
        size: Size,
        imm: i64,
        operands: &[Operand],
        rm: Option<Rm>,
        masked: Masked,
    ) {
        let (first, row) = (self.code.operands.len(), row_of(op));
        self.code.operands.extend_from_slice(operands);
        let (rm, broadcast) = match rm {
            Some(Rm::Repeated(bytes)) => {
                let (constant, broadcast) = self.repeated(op, size, bytes);
                (Some(constant), broadcast)
            }
            rm => (rm, false),
        };
        let mem = match rm {
            None | Some(Rm::Repeated(_)) => Mem::None,
            Some(Rm::Reg(v)) => {
                let register = row.is_some_and(|row| row.shape.takes_registers_only());
                self.code.operands.push(if register { Operand::reg_use(v) } else { Operand::any_use(v) });
                Mem::None
            }
            Some(Rm::Pool(number, offset)) => Mem::Pool(number, offset),
            Some(Rm::At { base, index, disp }) => {
                self.code.operands.extend(base.map(Operand::reg_use));
                self.code.operands.extend(index.map(|(i, _)| Operand::reg_use(i)));
                let scale = index.map_or(0, |(_, scale)| scale);
                Mem::At { base: base.is_some(), index: index.is_some(), scale, disp }
            }
        };
        if self.avx512 && row.is_some_and(|row| row.evex.is_none()) {
            self.code.operands[first..].iter_mut().for_each(|operand| *operand = restrict_to_vex(*operand));
        }
        self.code.large |= size == Size::W512;
        let operands = (first as u32, (self.code.operands.len() - first) as u8);
        self.out.push(Inst { op, size, masked, broadcast, imm, mem, operands });
    }

    /// Places a constant in the pool for an instruction and returns whether it is one broadcast
    /// lane. Broadcasts are used with 512 bits only, where the instruction needs EVEX anyway.
    fn repeated(&mut self, op: M, size: Size, bytes: u64) -> (Rm, bool) {
        let all = bytes.to_le_bytes();
        let tuple = row_of(op).and_then(|row| row.evex).map(|evex| evex.tuple);
        match tuple {
            Some(Tuple::Full(4)) if size == Size::W512 && all[..4] == all[4..] => (self.bytes(&all[..4]), true),
            Some(Tuple::Full(8)) if size == Size::W512 => (self.bytes(&all), true),
            _ => {
                let all: Vec<u8> = all.into_iter().cycle().take(size.bytes()).collect();
                (self.bytes(&all), false)
            }
        }
    }

    /// Appends an instruction whose last register is the base of its memory operand and is read
    /// until the instruction ends.
    pub(super) fn push_at_end(&mut self, op: M, operands: &[Operand]) {
        self.push(op, false, 0, operands, None);
        if let Some(inst) = self.out.last_mut() {
            inst.mem = Mem::At { base: true, index: false, scale: 0, disp: 0 };
        }
    }

    // Builders for vector instructions. `w` is the size, or whether it is 256 rather than 128 bits.

    /// Makes op a, b.
    pub(super) fn two(&mut self, op: Vex, w: impl Into<Size>, a: VReg, b: impl Into<Rm>) -> VReg {
        self.two_imm(op, w, a, b, 0)
    }
    /// Makes op a, b, imm.
    pub(super) fn two_imm(&mut self, op: Vex, w: impl Into<Size>, a: VReg, b: impl Into<Rm>, imm: u8) -> VReg {
        let to = self.new_vector();
        self.push(M::Vex(op), w, imm.into(), &[Operand::reg_def(to), Operand::reg_use(a)], Some(b.into()));
        to
    }
    /// Makes op a, b, c, imm with the result in the register of the first operand.
    pub(super) fn three(&mut self, op: Vex, w: impl Into<Size>, [a, b]: [VReg; 2], c: impl Into<Rm>, imm: u8) -> VReg {
        let to = self.new_vector();
        let operands = [Operand::reg_reuse_def(to, 1), Operand::reg_use(a), Operand::reg_use(b)];
        self.push(M::Vex(op), w, imm.into(), &operands, Some(c.into()));
        to
    }
    /// Makes op a.
    pub(super) fn one(&mut self, op: Vex, w: impl Into<Size>, a: impl Into<Rm>) -> VReg {
        self.one_imm(op, w, a, 0)
    }
    /// Makes op a, imm.
    pub(super) fn one_imm(&mut self, op: Vex, w: impl Into<Size>, a: impl Into<Rm>, imm: u8) -> VReg {
        let (w, to) = (w.into(), self.new_vector());
        let a = match (op.row().shape, a.into()) {
            // The instruction takes registers only, but the operand may be a constant.
            (OperandEncoding::Vm(_), a) => Rm::Reg(self.in_register(w, a)),
            (_, a) => a,
        };
        let operands = [Operand::reg_def(to)];
        match a {
            Rm::Reg(v) if matches!(op.row().shape, OperandEncoding::Vm(_) | OperandEncoding::Mr) => {
                self.push(M::Vex(op), w, imm.into(), &[operands[0], Operand::reg_use(v)], None);
            }
            a => self.push(M::Vex(op), w, imm.into(), &operands, Some(a)),
        }
        to
    }
    /// Makes op a, imm with the result in a general register.
    pub(super) fn one_int(&mut self, op: Vex, w: impl Into<Size>, a: impl Into<Rm>, imm: u8) -> VReg {
        let (w, to) = (w.into(), self.new_int());
        match (op.row().shape, a.into()) {
            (OperandEncoding::Mr, a) => {
                let a = self.in_register(w, a);
                self.push(M::Vex(op), w, imm.into(), &[Operand::reg_def(to), Operand::reg_use(a)], None);
            }
            (_, a) => self.push(M::Vex(op), w, imm.into(), &[Operand::reg_def(to)], Some(a)),
        }
        to
    }
    /// Makes mask ? yes : no, by vectors or mask registers depending on the operation.
    pub(super) fn blend(&mut self, op: Vex, w: impl Into<Size>, mask: VReg, yes: impl Into<Rm>, no: VReg) -> VReg {
        let to = self.new_vector();
        let operands = [Operand::reg_def(to), Operand::reg_use(no), Operand::reg_use(mask)];
        let masked = if mask.class() == MASK { Masked::Own } else { Masked::No };
        self.push_masked(M::Vex(op), w.into(), 0, &operands, Some(yes.into()), masked);
        to
    }
    /// Makes op a in the lanes of a mask register, and 0 elsewhere.
    pub(super) fn one_masked(&mut self, op: Vex, w: Size, mask: VReg, a: impl Into<Rm>) -> VReg {
        let to = self.new_vector();
        let operands = [Operand::reg_def(to), Operand::reg_use(mask)];
        self.push_masked(M::Vex(op), w, 0, &operands, Some(a.into()), Masked::Zero);
        to
    }
    /// Makes op a, b in the lanes of a mask register, and `other` elsewhere.
    pub(super) fn two_masked(&mut self, op: Vex, w: Size, mask: VReg, a: VReg, b: impl Into<Rm>, other: VReg) -> VReg {
        let to = self.new_vector();
        let uses = [Operand::reg_use(a), Operand::reg_use(other), Operand::reg_use(mask)];
        let operands = [Operand::reg_reuse_def(to, 2), uses[0], uses[1], uses[2]];
        self.push_masked(M::Vex(op), w, 0, &operands, Some(b.into()), Masked::Keep);
        to
    }
    /// Stores a register: op memory, a.
    pub(super) fn put(&mut self, op: Vex, w: impl Into<Size>, a: VReg, to: Rm, imm: u8) {
        self.push(M::Vex(op), w, imm.into(), &[Operand::reg_use(a)], Some(to));
    }
    pub(super) fn zero(&mut self) -> VReg {
        let to = self.new_vector();
        self.push(M::Zero, false, 0, &[Operand::reg_def(to)], None);
        to
    }
    pub(super) fn ones(&mut self, w: Size) -> VReg {
        let to = self.new_vector();
        self.push(M::Ones, w.max(Size::W256), 0, &[Operand::reg_def(to)], None);
        to
    }
    /// Brings an operand into a register.
    pub(super) fn in_register(&mut self, w: impl Into<Size>, a: Rm) -> VReg {
        let w = w.into();
        match a {
            Rm::Reg(v) => v,
            Rm::Repeated(bytes) if w == Size::W512 => {
                let all = bytes.to_le_bytes();
                let (op, one) =
                    if all[..4] == all[4..] { (Vex::Vbroadcastss, &all[..4]) } else { (Vex::Vbroadcastsd, &all[..]) };
                let one = self.bytes(one);
                self.one(op, w, one)
            }
            a => self.one(Vex::Vmovups, w, a),
        }
    }
    /// Returns a constant of one word in all lanes, as an operand.
    pub(super) fn words(&mut self, word: u32) -> Rm {
        Rm::Repeated(u64::from(word) << 32 | u64::from(word))
    }
    /// Returns a constant that repeats the same 1, 2, 4 or 8 bytes.
    pub(super) fn repeat(&mut self, bytes: &[u8]) -> Rm {
        Rm::Repeated(
            std::array::from_fn::<u8, 8, _>(|i| bytes[i % bytes.len()])
                .into_iter()
                .rev()
                .fold(0, |all, b| all << 8 | u64::from(b)),
        )
    }
    /// Returns a constant with the same 128 bits in each quarter.
    pub(super) fn repeat_quarter(&mut self, w: Size, bytes: &[u8; QUARTER]) -> Rm {
        let all: Vec<u8> = bytes.iter().copied().cycle().take(w.bytes()).collect();
        self.bytes(&all)
    }
    /// Returns a constant in the pool.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Rm {
        Rm::Pool(self.code.pool.add(bytes), 0)
    }
    /// Returns 128 bits of a register; the last quarter is remembered, because consecutive lanes
    /// are often taken from it.
    pub(super) fn quarter(&mut self, a: VReg, number: usize) -> VReg {
        if number == 0 {
            return a;
        }
        match self.quarter {
            Some((of, which, quarter)) if (of, which) == (a, number) => quarter,
            _ => {
                let w = if number == 1 { Size::W256 } else { Size::W512 };
                let quarter = self.one_imm(Vex::Vextractf128, w, a, number as u8);
                self.quarter = Some((a, number, quarter));
                quarter
            }
        }
    }
    /// Returns the upper 128 bits of 256.
    pub(super) fn upper(&mut self, a: VReg) -> VReg {
        self.quarter(a, 1)
    }
    /// Joins two halves into 256 bits.
    pub(super) fn join(&mut self, low: VReg, high: impl Into<Rm>) -> VReg {
        self.two_imm(Vex::Vinsertf128, true, low, high, 1)
    }
    /// Joins pieces of at least 8 bytes into whole registers.
    pub(super) fn join_all(&mut self, pieces: Parts, bytes: usize) -> Parts {
        let (mut pieces, mut bytes) = (pieces, bytes);
        while bytes < self.part && pieces.len() > 1 {
            let both = pieces.chunks(2).map(|pair| match (pair, bytes) {
                (&[low, high], 8) => self.two(Vex::Vunpcklpd, false, low, high),
                (&[low, high], 16) => self.join(low, high),
                (&[low, high], _) => self.two_imm(Vex::Vinsertf64x4, Size::W512, low, high, 1),
                (one, _) => one[0],
            });
            pieces = both.collect();
            bytes *= 2;
        }
        pieces
    }

    // Builders for instructions on general registers. `w` selects 64 bits.

    /// Makes an operation that overwrites its first operand.
    pub(super) fn int_two(&mut self, op: M, w: bool, a: VReg, b: impl Into<Rm>) -> VReg {
        let to = self.new_int();
        self.push(op, w, 0, &[Operand::reg_reuse_def(to, 1), Operand::reg_use(a)], Some(b.into()));
        to
    }
    /// Makes an operation with an immediate that overwrites its operand.
    pub(super) fn int_imm(&mut self, op: M, w: bool, a: VReg, imm: i64) -> VReg {
        let to = self.new_int();
        self.push(op, w, imm, &[Operand::reg_reuse_def(to, 1), Operand::reg_use(a)], None);
        to
    }
    /// Makes an operation of one operand, which it does not overwrite.
    pub(super) fn int_one(&mut self, op: M, w: bool, a: impl Into<Rm>) -> VReg {
        self.int_one_imm(op, w, a, 0)
    }
    /// Makes an operation of one operand and an immediate, which does not overwrite its operand.
    pub(super) fn int_one_imm(&mut self, op: M, w: bool, a: impl Into<Rm>, imm: i64) -> VReg {
        let to = self.new_int();
        self.push(op, w, imm, &[Operand::reg_def(to)], Some(a.into()));
        to
    }
    /// Makes a constant in a general register.
    pub(super) fn int(&mut self, bits: u64) -> VReg {
        let to = self.new_int();
        self.push(M::MovImm, false, bits as i64, &[Operand::reg_def(to)], None);
        to
    }

    /// Returns a register of a value.
    pub(super) fn reg(&mut self, v: lir::Value, part: usize) -> VReg {
        if let Some(&reg) = self.parts[v].get(part) {
            return reg;
        }
        let ty = self.lir.ty(v);
        if self.is_constant(v) {
            return self.constant(v, part);
        }
        if let Some(at) = self.deferred(v) {
            let parts = self.load_parts(ty, at);
            self.parts[v] = parts;
            return self.parts[v][part];
        }
        self.materialize(v);
        self.parts[v][part]
    }

    /// Returns all registers of a value.
    pub(super) fn regs(&mut self, v: lir::Value) -> Parts {
        (0..self.part_count(self.lir.ty(v))).map(|i| self.reg(v, i)).collect()
    }

    /// Returns a register of a value or its place in memory: of vectors a whole register's bytes,
    /// of scalars their own bytes.
    pub(super) fn rm(&mut self, v: lir::Value, part: usize) -> Rm {
        if let Some(&reg) = self.parts[v].get(part) {
            return Rm::Reg(reg);
        }
        let ty = self.lir.ty(v);
        if self.is_constant(v) && in_vector(ty) && !self.in_masks(ty) {
            let all = self.constant_bytes(v, part);
            return match all.repeated(8.min(all.len)) {
                Some(eight) if all.len == MAX_REGISTER_BYTES => self.repeat(&eight[..8]),
                _ => self.bytes(&all.bytes[..all.len]),
            };
        }
        let whole = match ty.is_vector() {
            true => ty.bytes() >= 16,
            false => matches!(ty.elem, Elem::I32 | Elem::I64 | Elem::F32 | Elem::F64),
        };
        match self.deferred(v) {
            Some(at) if whole => at.plus(self.part * part),
            _ => Rm::Reg(self.reg(v, part)),
        }
    }

    /// Returns the place in memory of a value that is a deferred load, from a byte on.
    pub(super) fn source(&mut self, v: lir::Value, byte: usize) -> Option<Rm> {
        if !self.parts[v].is_empty() {
            return None;
        }
        self.deferred(v).map(|at| at.plus(byte))
    }

    pub(super) fn is_constant(&self, v: lir::Value) -> bool {
        matches!(self.lir.values[v].def, Def::Const(_) | Def::Lanes(_))
    }

    /// Returns true for a constant without NaNs among its lanes, with which no float operation has
    /// to choose between two NaNs.
    pub(super) fn is_number(&self, v: lir::Value) -> bool {
        let elem = self.lir.ty(v).elem;
        let infinity = if elem == Elem::F64 { f64::INFINITY.to_bits() } else { f32::INFINITY.to_bits().into() };
        let magnitude = elem.mask() >> 1;
        self.lir.constant_lanes(v).is_some_and(|lanes| lanes.iter().all(|bits| bits & magnitude <= infinity))
    }

    /// Returns the address of a load that is made where it is used.
    fn deferred(&mut self, v: lir::Value) -> Option<Rm> {
        let Def::Inst(inst) = self.lir.values[v].def else { return None };
        let data = &self.lir.insts[inst];
        match (data.op, data.imm) {
            (Op::Load, Imm::Access(access)) if self.use_analysis.sunk[inst] => {
                Some(self.address(data.args[0], access.offset))
            }
            _ => None,
        }
    }

    /// Makes a deferred comparison or sum as an ordinary value.
    fn materialize(&mut self, v: lir::Value) {
        let Some(data) = self.lir.definition(v) else { unreachable!("a value that is nowhere") };
        let made = self.pure(data);
        let Ok(parts) = made else { unreachable!("an operation that is not what it was taken for") };
        self.parts[v] = parts;
    }

    fn constant_bytes(&self, v: lir::Value, part: usize) -> Bytes {
        let ty = self.lir.ty(v);
        let lane = ty.lane_bytes() as usize;
        let lanes = self.lir.constant_lanes(v).unwrap_or_default();
        let mask = ty.elem == Elem::B && ty.is_vector();
        let mut bytes = [0; MAX_REGISTER_BYTES];
        let own = lanes.iter().skip(part * self.part / lane);
        for (place, &bits) in bytes.chunks_mut(lane).zip(own) {
            let bits = if mask { bits.wrapping_neg() } else { bits };
            place.copy_from_slice(&bits.to_le_bytes()[..lane]);
        }
        let len = if ty.is_vector() { self.size(ty).bytes() } else { lane };
        if ty.is_vector() && lanes.len() * lane < len {
            // Lanes beyond the vector repeat its own, which makes the constant simplest.
            let own = lanes.len() * lane;
            (own..len).for_each(|i| bytes[i] = bytes[i % own]);
        }
        Bytes { bytes, len }
    }

    fn constant(&mut self, v: lir::Value, part: usize) -> VReg {
        let ty = self.lir.ty(v);
        if !in_vector(ty) {
            let bits = self.lir.constant(v).unwrap_or_default();
            return self.int(bits & ty.elem.mask());
        }
        if self.in_masks(ty) {
            return self.constant_mask(v, part);
        }
        let all = self.constant_bytes(v, part);
        self.vector_constant(&all)
    }

    fn vector_constant(&mut self, all: &Bytes) -> VReg {
        let w = match all.len {
            ..=16 => Size::W128,
            32 => Size::W256,
            _ => Size::W512,
        };
        if all.repeated(1) == Some(&[0]) {
            return self.zero();
        }
        if all.len >= 16 && all.repeated(1) == Some(&[0xff]) {
            return self.ones(w);
        }
        let (op, bytes) = match (all.len, all.repeated(4.min(all.len)), all.repeated(8.min(all.len))) {
            (4, ..) => (Vex::VmovssLoad, &all.bytes[..4]),
            (8, ..) => (Vex::VmovsdLoad, &all.bytes[..8]),
            (_, Some(four), _) => (Vex::Vbroadcastss, four),
            (_, _, Some(eight)) => (if w.is_wide() { Vex::Vbroadcastsd } else { Vex::Vmovddup }, eight),
            _ => (Vex::Vmovups, &all.bytes[..all.len]),
        };
        let at = self.bytes(bytes);
        self.one(op, w, at)
    }

    /// Returns a register with a constant word in all lanes.
    pub(super) fn words_reg(&mut self, w: Size, word: u32) -> VReg {
        let mut bytes = [0; MAX_REGISTER_BYTES];
        bytes.chunks_mut(4).for_each(|chunk| chunk.copy_from_slice(&word.to_le_bytes()));
        self.vector_constant(&Bytes { bytes, len: w.bytes() })
    }

    /// Returns a constant as an immediate of 32 bits that is sign-extended to the type's size.
    pub(super) fn imm(&self, v: lir::Value) -> Option<i64> {
        let ty: Type = self.lir.ty(v);
        let bits = self.lir.constant(v).filter(|_| !in_vector(ty))?;
        let unused = 64 - ty.elem.bits();
        let signed = if ty.elem == Elem::B { bits as i64 } else { ((bits << unused) as i64) >> unused };
        i32::try_from(signed).ok().map(i64::from)
    }

    // Iteration over the registers of values.

    /// Applies a function to each register of one operand.
    pub(super) fn each_one(&mut self, v: lir::Value, f: impl Fn(&mut Self, Rm) -> VReg) -> Parts {
        (0..self.part_count(self.lir.ty(v)))
            .map(|i| {
                let a = self.rm(v, i);
                f(self, a)
            })
            .collect()
    }

    /// Applies a function to each pair of registers of two operands.
    pub(super) fn each_two(&mut self, a: lir::Value, b: lir::Value, f: impl Fn(&mut Self, VReg, Rm) -> VReg) -> Parts {
        self.each_two_numbered(a, b, |e, _, a, b| f(e, a, b))
    }

    /// Applies a function to each pair of registers of two operands, and to their index.
    pub(super) fn each_two_numbered(
        &mut self,
        a: lir::Value,
        b: lir::Value,
        f: impl Fn(&mut Self, usize, VReg, Rm) -> VReg,
    ) -> Parts {
        (0..self.part_count(self.lir.ty(a)))
            .map(|i| {
                let (a, b) = (self.reg(a, i), self.rm(b, i));
                f(self, i, a, b)
            })
            .collect()
    }

    /// Applies a function to each pair of registers of two operands, which may be exchanged except
    /// for the choice between two NaNs. A constant without NaNs comes second.
    pub(super) fn each_constant_second(
        &mut self,
        a: lir::Value,
        b: lir::Value,
        f: impl Fn(&mut Self, VReg, Rm) -> VReg,
    ) -> Parts {
        let (a, b) = if self.is_number(a) { (b, a) } else { (a, b) };
        self.each_two(a, b, f)
    }

    /// Applies a function to each pair of registers of two operands, which may be exchanged. An
    /// operand that may be memory comes second.
    pub(super) fn each_commuted(
        &mut self,
        a: lir::Value,
        b: lir::Value,
        f: impl Fn(&mut Self, VReg, Rm) -> VReg,
    ) -> Parts {
        let memory = |e: &Self, v| e.is_constant(v) || e.parts[v].is_empty();
        let (a, b) = if memory(self, a) && !memory(self, b) { (b, a) } else { (a, b) };
        self.each_two(a, b, f)
    }
}

/// Returns the table's row of an instruction that has one.
fn row_of(op: M) -> Option<&'static crate::wide::table::EncodingRow> {
    match op {
        M::Vex(vex) => Some(vex.row()),
        _ => None,
    }
}

/// Restricts an operand to the registers that exist without AVX-512, because instructions without
/// EVEX cannot encode others.
fn restrict_to_vex(operand: Operand) -> Operand {
    let free = matches!(operand.constraint(), OperandConstraint::Any | OperandConstraint::Reg);
    if operand.class() != RegClass::Float || !free {
        return operand;
    }
    let limit = OperandConstraint::Limit(usize::from(VEX_VECTORS));
    Operand::new(operand.vreg(), limit, operand.kind(), operand.pos())
}

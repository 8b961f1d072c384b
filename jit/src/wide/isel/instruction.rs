//! Making instructions, and their operands out of values.

use super::{Lower, PART, Parts, Rm, in_vector, part_count, wide};
use crate::lir::{self, Def, Elem, Imm, Op, Type};
use crate::wide::inst::{Inst, Mem, Op as M};
use crate::wide::table::{Shape, Vex};
use regalloc2::{Operand, RegClass, VReg};

/// Bytes of a constant's register.
struct Bytes {
    bytes: [u8; PART],
    len: usize,
}

impl Bytes {
    /// The first so many, if all that follow are the same.
    fn repeated(&self, bytes: usize) -> Option<&[u8]> {
        let (first, rest) = self.bytes[..self.len].split_at(bytes);
        rest.chunks(bytes).all(|chunk| chunk == first).then_some(first)
    }
}

impl Lower<'_> {
    pub(super) fn new_reg(&mut self, class: RegClass) -> VReg {
        self.code.vregs += 1;
        VReg::new(self.code.vregs - 1, class)
    }
    pub(super) fn new_vector(&mut self) -> VReg {
        self.new_reg(RegClass::Float)
    }
    pub(super) fn new_int(&mut self) -> VReg {
        self.new_reg(RegClass::Int)
    }

    /// An instruction; the operand that may be memory comes last.
    pub(super) fn push(&mut self, op: M, wide: bool, imm: i64, operands: &[Operand], rm: Option<Rm>) {
        let first = self.code.operands.len();
        self.code.operands.extend_from_slice(operands);
        let mem = match rm {
            None => Mem::None,
            Some(Rm::Reg(v)) => {
                let register = matches!(op, M::Vex(vex) if vex.row().shape == Shape::RmReg);
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
        let operands = (first as u32, (self.code.operands.len() - first) as u8);
        self.out.push(Inst { op, wide, imm, mem, operands });
    }

    /// An instruction whose last register is the base of its memory operand, and is read until the instruction ends.
    pub(super) fn push_at_end(&mut self, op: M, operands: &[Operand]) {
        self.push(op, false, 0, operands, None);
        if let Some(inst) = self.out.last_mut() {
            inst.mem = Mem::At { base: true, index: false, scale: 0, disp: 0 };
        }
    }

    // Vectors. `w`: 256 bits.

    /// op a, b.
    pub(super) fn two(&mut self, op: Vex, w: bool, a: VReg, b: impl Into<Rm>) -> VReg {
        self.two_imm(op, w, a, b, 0)
    }
    /// op a, b, imm.
    pub(super) fn two_imm(&mut self, op: Vex, w: bool, a: VReg, b: impl Into<Rm>, imm: u8) -> VReg {
        let to = self.new_vector();
        self.push(M::Vex(op), w, imm.into(), &[Operand::reg_def(to), Operand::reg_use(a)], Some(b.into()));
        to
    }
    /// op a.
    pub(super) fn one(&mut self, op: Vex, w: bool, a: impl Into<Rm>) -> VReg {
        self.one_imm(op, w, a, 0)
    }
    /// op a, imm.
    pub(super) fn one_imm(&mut self, op: Vex, w: bool, a: impl Into<Rm>, imm: u8) -> VReg {
        let to = self.new_vector();
        let a = match (op.row().shape, a.into()) {
            // Registers only, though a constant may come.
            (Shape::Vm(_), a) => Rm::Reg(self.in_register(w, a)),
            (_, a) => a,
        };
        let operands = [Operand::reg_def(to)];
        match a {
            Rm::Reg(v) if matches!(op.row().shape, Shape::Vm(_) | Shape::Mr) => {
                self.push(M::Vex(op), w, imm.into(), &[operands[0], Operand::reg_use(v)], None);
            }
            a => self.push(M::Vex(op), w, imm.into(), &operands, Some(a)),
        }
        to
    }
    /// op a, imm: to a general register.
    pub(super) fn one_int(&mut self, op: Vex, w: bool, a: impl Into<Rm>, imm: u8) -> VReg {
        let to = self.new_int();
        match (op.row().shape, a.into()) {
            (Shape::Mr, a) => {
                let a = self.in_register(w, a);
                self.push(M::Vex(op), w, imm.into(), &[Operand::reg_def(to), Operand::reg_use(a)], None);
            }
            (_, a) => self.push(M::Vex(op), w, imm.into(), &[Operand::reg_def(to)], Some(a)),
        }
        to
    }
    /// mask ? yes : no.
    pub(super) fn blend(&mut self, op: Vex, w: bool, mask: VReg, yes: impl Into<Rm>, no: VReg) -> VReg {
        let to = self.new_vector();
        let operands = [Operand::reg_def(to), Operand::reg_use(no), Operand::reg_use(mask)];
        self.push(M::Vex(op), w, 0, &operands, Some(yes.into()));
        to
    }
    /// Stores a register: op memory, a.
    pub(super) fn put(&mut self, op: Vex, w: bool, a: VReg, to: Rm, imm: u8) {
        self.push(M::Vex(op), w, imm.into(), &[Operand::reg_use(a)], Some(to));
    }
    pub(super) fn zero(&mut self) -> VReg {
        let to = self.new_vector();
        self.push(M::Zero, false, 0, &[Operand::reg_def(to)], None);
        to
    }
    pub(super) fn ones(&mut self) -> VReg {
        let to = self.new_vector();
        self.push(M::Ones, true, 0, &[Operand::reg_def(to)], None);
        to
    }
    /// An operand that must be a register.
    pub(super) fn in_register(&mut self, w: bool, a: Rm) -> VReg {
        match a {
            Rm::Reg(v) => v,
            a => self.one(Vex::Vmovups, w, a),
        }
    }
    /// A constant of one word in all lanes, as an operand.
    pub(super) fn words(&mut self, w: bool, word: u32) -> Rm {
        self.repeat(w, &word.to_le_bytes())
    }
    /// A constant of the same bytes again and again.
    pub(super) fn repeat(&mut self, w: bool, bytes: &[u8]) -> Rm {
        let len = if w { PART } else { PART / 2 };
        let all: Vec<u8> = bytes.iter().copied().cycle().take(len).collect();
        self.bytes(&all)
    }
    /// A constant.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Rm {
        Rm::Pool(self.code.pool.add(bytes), 0)
    }
    /// The upper 128 bits: of one register several times running, as lane after lane is taken, once.
    pub(super) fn upper(&mut self, a: VReg) -> VReg {
        match self.half {
            Some((of, half)) if of == a => half,
            _ => {
                let half = self.one_imm(Vex::Vextractf128, true, a, 1);
                self.half = Some((a, half));
                half
            }
        }
    }
    /// 256 bits of two halves.
    pub(super) fn join(&mut self, low: VReg, high: impl Into<Rm>) -> VReg {
        self.two_imm(Vex::Vinsertf128, true, low, high, 1)
    }

    // General registers. `w`: 64 bits.

    /// An operation that changes its first operand.
    pub(super) fn int_two(&mut self, op: M, w: bool, a: VReg, b: impl Into<Rm>) -> VReg {
        let to = self.new_int();
        self.push(op, w, 0, &[Operand::reg_reuse_def(to, 1), Operand::reg_use(a)], Some(b.into()));
        to
    }
    /// The same with an immediate.
    pub(super) fn int_imm(&mut self, op: M, w: bool, a: VReg, imm: i64) -> VReg {
        let to = self.new_int();
        self.push(op, w, imm, &[Operand::reg_reuse_def(to, 1), Operand::reg_use(a)], None);
        to
    }
    /// An operation of one operand that is left as it is.
    pub(super) fn int_one(&mut self, op: M, w: bool, a: impl Into<Rm>) -> VReg {
        self.int_one_imm(op, w, a, 0)
    }
    /// The same with an immediate.
    pub(super) fn int_one_imm(&mut self, op: M, w: bool, a: impl Into<Rm>, imm: i64) -> VReg {
        let to = self.new_int();
        self.push(op, w, imm, &[Operand::reg_def(to)], Some(a.into()));
        to
    }
    /// A number.
    pub(super) fn int(&mut self, bits: u64) -> VReg {
        let to = self.new_int();
        self.push(M::MovImm, false, bits as i64, &[Operand::reg_def(to)], None);
        to
    }

    // Operands.

    /// A register of a value.
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
        self.make_now(v);
        self.parts[v][part]
    }

    /// All registers of a value.
    pub(super) fn regs(&mut self, v: lir::Value) -> Parts {
        (0..part_count(self.lir.ty(v))).map(|i| self.reg(v, i)).collect()
    }

    /// A register of a value, or where it is in memory: of vectors whole registers, of scalars what they have.
    pub(super) fn rm(&mut self, v: lir::Value, part: usize) -> Rm {
        if let Some(&reg) = self.parts[v].get(part) {
            return Rm::Reg(reg);
        }
        let ty = self.lir.ty(v);
        if self.is_constant(v) && in_vector(ty) {
            let Bytes { bytes, len } = self.constant_bytes(v, part);
            return self.bytes(&bytes[..len]);
        }
        let whole = match ty.is_vector() {
            true => ty.bytes() >= 16,
            false => matches!(ty.elem, Elem::I32 | Elem::I64 | Elem::F32 | Elem::F64),
        };
        match self.deferred(v) {
            Some(at) if whole => at.plus(PART * part),
            _ => Rm::Reg(self.reg(v, part)),
        }
    }

    /// Where a value is in memory that is a load made here, from a byte on.
    pub(super) fn source(&mut self, v: lir::Value, byte: usize) -> Option<Rm> {
        if !self.parts[v].is_empty() {
            return None;
        }
        self.deferred(v).map(|at| at.plus(byte))
    }

    pub(super) fn is_constant(&self, v: lir::Value) -> bool {
        matches!(self.lir.values[v].def, Def::Const(_) | Def::Lanes(_))
    }

    /// A constant without NaNs among its lanes: then no operation of floats has to choose between it and another NaN.
    pub(super) fn is_number(&self, v: lir::Value) -> bool {
        let elem = self.lir.ty(v).elem;
        let infinity = if elem == Elem::F64 { f64::INFINITY.to_bits() } else { f32::INFINITY.to_bits().into() };
        let magnitude = elem.mask() >> 1;
        self.lir.constant_lanes(v).is_some_and(|lanes| lanes.iter().all(|bits| bits & magnitude <= infinity))
    }

    /// The address of a load that is made where it is used.
    fn deferred(&mut self, v: lir::Value) -> Option<Rm> {
        let Def::Inst(inst) = self.lir.values[v].def else { return None };
        let data = &self.lir.insts[inst];
        match (data.op, data.imm) {
            (Op::Load, Imm::Access(access)) if self.facts.later[inst] => {
                Some(self.address(data.args[0], access.offset))
            }
            _ => None,
        }
    }

    /// A comparison or a sum that was to be made where it is used, as a value after all.
    fn make_now(&mut self, v: lir::Value) {
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
        let mut bytes = [0; PART];
        let own = lanes.iter().skip(part * PART / lane);
        for (place, &bits) in bytes.chunks_mut(lane).zip(own) {
            let bits = if mask { bits.wrapping_neg() } else { bits };
            place.copy_from_slice(&bits.to_le_bytes()[..lane]);
        }
        let len = match ty.is_vector() {
            true if wide(ty) => PART,
            true => PART / 2,
            false => lane,
        };
        if ty.is_vector() && lanes.len() * lane < len {
            // Lanes that nobody has: what makes the constant simplest.
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
        let all = self.constant_bytes(v, part);
        self.vector_constant(&all)
    }

    fn vector_constant(&mut self, all: &Bytes) -> VReg {
        let w = all.len == PART;
        if all.repeated(1) == Some(&[0]) {
            return self.zero();
        }
        if all.len >= 16 && all.repeated(1) == Some(&[0xff]) {
            return self.ones();
        }
        let (op, bytes) = match (all.len, all.repeated(4.min(all.len)), all.repeated(8.min(all.len))) {
            (4, ..) => (Vex::VmovssLoad, &all.bytes[..4]),
            (8, ..) => (Vex::VmovsdLoad, &all.bytes[..8]),
            (_, Some(four), _) => (Vex::Vbroadcastss, four),
            (_, _, Some(eight)) => (if w { Vex::Vbroadcastsd } else { Vex::Vmovddup }, eight),
            _ => (Vex::Vmovups, &all.bytes[..all.len]),
        };
        let at = self.bytes(bytes);
        self.one(op, w, at)
    }

    /// A register of a constant of one word in all lanes.
    pub(super) fn words_reg(&mut self, w: bool, word: u32) -> VReg {
        let mut bytes = [0; PART];
        bytes.chunks_mut(4).for_each(|chunk| chunk.copy_from_slice(&word.to_le_bytes()));
        self.vector_constant(&Bytes { bytes, len: if w { PART } else { PART / 2 } })
    }

    /// A constant as an immediate of 32 bits that is extended to as many as the type has.
    pub(super) fn imm(&self, v: lir::Value) -> Option<i64> {
        let ty: Type = self.lir.ty(v);
        let bits = self.lir.constant(v).filter(|_| !in_vector(ty))?;
        let unused = 64 - ty.elem.bits();
        let signed = if ty.elem == Elem::B { bits as i64 } else { ((bits << unused) as i64) >> unused };
        i32::try_from(signed).ok().map(i64::from)
    }

    // Ways through the parts.

    /// Part by part, of one operand.
    pub(super) fn each_one(&mut self, v: lir::Value, f: impl Fn(&mut Self, Rm) -> VReg) -> Parts {
        (0..part_count(self.lir.ty(v)))
            .map(|i| {
                let a = self.rm(v, i);
                f(self, a)
            })
            .collect()
    }

    /// Part by part, of two operands.
    pub(super) fn each_two(&mut self, a: lir::Value, b: lir::Value, f: impl Fn(&mut Self, VReg, Rm) -> VReg) -> Parts {
        (0..part_count(self.lir.ty(a)))
            .map(|i| {
                let (a, b) = (self.reg(a, i), self.rm(b, i));
                f(self, a, b)
            })
            .collect()
    }

    /// The same where the operands may be exchanged but for which of two NaNs they give: a number that is known comes second.
    pub(super) fn each_constant_second(
        &mut self,
        a: lir::Value,
        b: lir::Value,
        f: impl Fn(&mut Self, VReg, Rm) -> VReg,
    ) -> Parts {
        let (a, b) = if self.is_number(a) { (b, a) } else { (a, b) };
        self.each_two(a, b, f)
    }

    /// The same where the operands may be exchanged: what may be memory comes second.
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

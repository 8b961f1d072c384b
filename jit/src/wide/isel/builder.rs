//! Builder of machine instructions: registers, constants, and the forms of instructions. It knows
//! no values of LIR.

use super::{MAX_REGISTER_BYTES, Parts, QUARTER, Rm, in_vector};
use crate::error::{Error, Result};
use crate::lir::{Elem, Type};
use crate::wide::inst::{Cc, Code, Inst, MASK, Masked, Mem, Op as M, Size, VEX_VECTORS};
use crate::wide::table::{OperandEncoding, Tuple, Vex};
use regalloc2::{Operand, OperandConstraint, RegClass, VReg};

/// Bytes of a constant in a register.
pub(super) struct Bytes {
    pub bytes: [u8; MAX_REGISTER_BYTES],
    pub len: usize,
}

impl Bytes {
    /// Returns the first `bytes` bytes if all that follow repeat them.
    pub(super) fn repeated(&self, bytes: usize) -> Option<&[u8]> {
        let (first, rest) = self.bytes[..self.len].split_at(bytes);
        rest.chunks(bytes).all(|chunk| chunk == first).then_some(first)
    }
}

/// Builder of the instructions of a function.
pub(super) struct InstructionBuilder {
    pub code: Code,
    /// Instructions of the current block.
    out: Vec<Inst>,
    /// The register whose 128 bits were taken last in this block, the number of that quarter, and
    /// the register that holds it.
    quarter: Option<(VReg, usize, VReg)>,
    /// AVX-512 may be used.
    pub avx512: bool,
    /// Bytes of a register, and its size.
    pub part: usize,
    whole: Size,
}

impl InstructionBuilder {
    /// Creates a builder whose frame begins with `frame` bytes that are reserved.
    pub(super) fn new(avx512: bool, frame: u32) -> InstructionBuilder {
        let whole = if avx512 { Size::W512 } else { Size::W256 };
        InstructionBuilder {
            code: Code { frame, avx512, ..Code::default() },
            out: Vec::new(),
            quarter: None,
            avx512,
            part: whole.bytes(),
            whole,
        }
    }

    /// Begins a block, or an edge between blocks, where no quarter of a register has been taken.
    pub(super) fn begin_block(&mut self) {
        self.quarter = None;
    }

    /// Removes and returns the instructions of the current block.
    pub(super) fn take_insts(&mut self) -> Vec<Inst> {
        std::mem::take(&mut self.out)
    }

    // Sizes and classes of registers.

    /// Returns the size of the registers of a value.
    pub(super) fn size(&self, ty: Type) -> Size {
        self.size_of(ty.bytes() as usize)
    }

    /// Returns the size of registers for a number of bytes in total.
    pub(super) fn size_of(&self, bytes: usize) -> Size {
        match bytes {
            ..=16 => Size::W128,
            17..=32 => Size::W256,
            _ => self.whole,
        }
    }

    /// Returns the number of registers of a value.
    pub(super) fn part_count(&self, ty: Type) -> usize {
        if ty.is_vector() { (ty.bytes() as usize).div_ceil(self.part) } else { 1 }
    }

    /// Returns the number of lanes in a register.
    pub(super) fn per_part(&self, ty: Type) -> usize {
        (self.part / ty.lane_bytes() as usize).min(ty.lanes())
    }

    /// Returns true if values of a type are in mask registers.
    pub(super) fn in_masks(&self, ty: Type) -> bool {
        self.avx512 && ty.is_vector() && ty.elem == Elem::B
    }

    /// Returns the class of registers that hold values of a type.
    pub(super) fn class(&self, ty: Type) -> RegClass {
        match in_vector(ty) {
            _ if self.in_masks(ty) => MASK,
            true => RegClass::Float,
            false => RegClass::Int,
        }
    }

    /// Reserves bytes of the frame and returns their offset.
    pub(super) fn reserve(&mut self, bytes: u32, align: u8) -> Result<i32> {
        let too_large = || Error::limit("a frame is too large");
        let start = self.code.frame.checked_next_multiple_of(1 << align).ok_or_else(too_large)?;
        let end = start.checked_add(bytes).filter(|&end| end < 1 << 30).ok_or_else(too_large)?;
        self.code.frame = end;
        self.code.align = self.code.align.max(align);
        Ok(start as i32)
    }

    // Registers and instructions.

    /// Returns a new register of a class.
    pub(super) fn new_reg(&mut self, class: RegClass) -> VReg {
        self.code.vregs += 1;
        VReg::new(self.code.vregs - 1, class)
    }

    /// Returns a new vector register.
    pub(super) fn new_vector(&mut self) -> VReg {
        self.new_reg(RegClass::Float)
    }

    /// Returns a new mask register.
    pub(super) fn new_mask(&mut self) -> VReg {
        self.new_reg(MASK)
    }

    /// Returns a new general register.
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

    // Forms of vector instructions. `w` is the size, or whether it is 256 rather than 128 bits.

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

    /// Makes a vector of zeros.
    pub(super) fn zero(&mut self) -> VReg {
        let to = self.new_vector();
        self.push(M::Zero, false, 0, &[Operand::reg_def(to)], None);
        to
    }

    /// Makes a vector of ones.
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

    // Mask registers.

    /// Makes a mask from another.
    pub(super) fn mask_one(&mut self, op: Vex, a: VReg, imm: u8) -> VReg {
        let to = self.new_mask();
        self.push(M::Vex(op), false, imm.into(), &[Operand::reg_def(to)], Some(Rm::Reg(a)));
        to
    }

    /// Makes a mask from two others.
    pub(super) fn mask_two(&mut self, op: Vex, a: VReg, b: VReg) -> VReg {
        let to = self.new_mask();
        self.push(M::Vex(op), false, 0, &[Operand::reg_def(to), Operand::reg_use(a)], Some(Rm::Reg(b)));
        to
    }

    /// Makes a mask by a comparison.
    pub(super) fn compare_two(&mut self, op: Vex, w: Size, a: VReg, b: Rm, imm: u8) -> VReg {
        let to = self.new_mask();
        self.push(M::Vex(op), w, imm.into(), &[Operand::reg_def(to), Operand::reg_use(a)], Some(b));
        to
    }

    /// Makes a mask by a comparison that is restricted to the lanes of another mask.
    pub(super) fn compare_masked(&mut self, op: Vex, w: Size, a: VReg, b: Rm, imm: u8, mask: VReg) -> VReg {
        let to = self.new_mask();
        let operands = [Operand::reg_def(to), Operand::reg_use(a), Operand::reg_use(mask)];
        self.push_masked(M::Vex(op), w, imm.into(), &operands, Some(b), Masked::Own);
        to
    }

    // Forms of instructions on general registers. `w` selects 64 bits.

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

    /// Makes the address of a memory operand.
    pub(super) fn lea(&mut self, w: bool, address: Rm) -> VReg {
        let to = self.new_int();
        self.push(M::Lea, w, 0, &[Operand::reg_def(to)], Some(address));
        to
    }

    /// Extends a number of 8 or 16 bits in a register to 32 bits; others are unchanged.
    pub(super) fn extend(&mut self, elem: Elem, a: VReg, signed: bool) -> VReg {
        match (elem, signed) {
            (Elem::I8, false) => self.int_one(M::Movzx8, false, a),
            (Elem::I8, true) => self.int_one(M::Movsx8, false, a),
            (Elem::I16 | Elem::F16, false) => self.int_one(M::Movzx16, false, a),
            (Elem::I16 | Elem::F16, true) => self.int_one(M::Movsx16, false, a),
            _ => a,
        }
    }

    /// Sets the flags so that the returned condition holds if `v` is not 0.
    pub(super) fn test(&mut self, v: VReg) -> Cc {
        self.push(M::Test, false, 0, &[Operand::reg_use(v)], Some(Rm::Reg(v)));
        Cc::Ne
    }

    /// Makes a truth value from a condition of the flags.
    pub(super) fn truth(&mut self, cc: Cc) -> VReg {
        let to = self.new_int();
        self.push(M::Set(cc), false, 0, &[Operand::reg_def(to)], None);
        to
    }

    // Vectors of constants, and comparisons with them.

    /// Returns a vector register with a constant.
    pub(super) fn vector_constant(&mut self, all: &Bytes) -> VReg {
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

    /// Returns a constant with the highest bit of every lane set.
    pub(super) fn signs(&mut self, elem: Elem) -> Rm {
        let bytes = elem.bits() as usize / 8;
        self.repeat(&(1u64 << (elem.bits() - 1)).to_le_bytes()[..bytes])
    }

    /// Computes the mask of a > b.
    pub(super) fn greater(&mut self, elem: Elem, unsigned: bool, w: Size, a: VReg, b: Rm) -> VReg {
        let op = by_width(elem, [Vex::Vpcmpgtb, Vex::Vpcmpgtw, Vex::Vpcmpgtd, Vex::Vpcmpgtq]);
        if !unsigned {
            return self.two(op, w, a, b);
        }
        // Flipping the sign bits turns the unsigned comparison into a signed one.
        let sign = self.signs(elem);
        let b = self.in_register(w, b);
        let [a, b] = [a, b].map(|v| self.two(Vex::Vpxor, w, v, sign));
        self.two(op, w, a, b)
    }
}

/// Selects an instruction by the bytes of a lane: 1, 2, 4 or 8.
pub(super) fn by_width(elem: Elem, ops: [Vex; 4]) -> Vex {
    ops[(elem.bits() / 8).trailing_zeros() as usize]
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

//! Encodes instructions whose registers are known.

#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;

use super::frame::Frame;
use super::inst::{Alu, Cc, Inst, Loop, MASK, Masked, Mem, Op, RAX, RBP, RDX, RSP, Size, VEX_VECTORS};
use super::table::{EncodingRow, Evex, OperandEncoding, Tuple, Vex, Width};
use regalloc2::{Allocation, RegClass};

/// Machine code under construction.
#[derive(Default)]
pub struct Buffer {
    /// Bytes that have been emitted.
    pub bytes: Vec<u8>,
    /// Displacements to constants: position, number of the constant, offset in it, and number of
    /// the instruction's bytes behind the displacement.
    pub constants: Vec<(usize, u32, u32, u8)>,
    /// Displacements to blocks: position and block.
    pub jumps: Vec<(usize, usize)>,
}

/// A register or memory.
#[derive(Clone, Copy, Debug)]
enum RmOperand {
    Register(u8),
    Memory { base: u8, index: Option<(u8, u8)>, disp: i32 },
    Constant(u32, u32),
}

impl RmOperand {
    /// Returns the high bits of the index and base registers.
    fn high(self) -> (bool, bool) {
        match self {
            RmOperand::Register(r) => (false, r > 7),
            RmOperand::Memory { base, index, .. } => (index.is_some_and(|(i, _)| i > 7), base > 7),
            RmOperand::Constant(..) => (false, false),
        }
    }
}

/// Operands of a vector instruction, with known registers, which its row does not determine.
#[derive(Clone, Copy, Debug)]
struct EncodingOperands {
    size: Size,
    reg: u8,
    vvvv: u8,
    place: RmOperand,
    imm: Option<u8>,
    /// Number of the mask register; 0 for no mask.
    mask: u8,
    /// Lanes that are not in the mask become 0.
    zero: bool,
    broadcast: bool,
}

impl EncodingOperands {
    fn new(size: Size, reg: u8, vvvv: u8, place: RmOperand, imm: Option<u8>) -> EncodingOperands {
        EncodingOperands { size, reg, vvvv, place, imm, mask: 0, zero: false, broadcast: false }
    }
    /// Returns true if only EVEX can encode the operands.
    fn needs_evex(&self) -> bool {
        let high = |r: u8| r >= VEX_VECTORS;
        let place = matches!(self.place, RmOperand::Register(r) if high(r));
        self.size == Size::W512 || self.mask != 0 || self.broadcast || high(self.reg) || high(self.vvvv) || place
    }
    /// Returns the number of bytes of the memory operand, the unit of its 8-bit displacement.
    fn unit(&self, tuple: Tuple) -> i32 {
        let vector = self.size.bytes() as i32;
        match tuple {
            Tuple::Full(lane) | Tuple::Part(_, lane) if self.broadcast => lane.into(),
            Tuple::Full(_) | Tuple::Whole => vector,
            Tuple::Part(by, _) => vector / i32::from(by),
            Tuple::Bytes(bytes) => bytes.into(),
            Tuple::General => {
                if self.size.is_wide() {
                    8
                } else {
                    4
                }
            }
            Tuple::Dup => {
                if self.size.is_wide() {
                    vector
                } else {
                    8
                }
            }
        }
    }
}

/// Prefixes of an instruction on general registers, and the properties that select them.
#[derive(Clone, Copy, Default)]
struct LegacyPrefixes {
    /// Legacy prefixes: 66, F2, F3 or F0.
    prefixes: &'static [u8],
    /// The operation has 64 bits.
    wide: bool,
    /// The register, or the one in rm, has 8 bits.
    byte: bool,
}

/// The prefix for operands of 16 bits.
const OPERAND_SIZE_PREFIX: &[u8] = &[0x66];

/// Returns the number of a register.
fn number(a: Allocation) -> u8 {
    match a.as_reg() {
        Some(preg) => preg.hw_enc() as u8,
        None => unreachable!("an operand that must be a register is none"),
    }
}

impl Buffer {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn modrm(&mut self, reg: u8, place: RmOperand, tail: u8) {
        self.modrm_by(reg, place, tail, 1);
    }

    /// Emits ModRM, SIB and the displacement; a displacement of 8 bits counts in units of `unit`
    /// bytes.
    fn modrm_by(&mut self, reg: u8, place: RmOperand, tail: u8, unit: i32) {
        let reg = (reg & 7) << 3;
        match place {
            RmOperand::Register(r) => self.bytes.push(0xc0 | reg | r & 7),
            RmOperand::Constant(constant, offset) => {
                self.bytes.push(reg | 5);
                self.constants.push((self.bytes.len(), constant, offset, tail));
                self.put(&[0; 4]);
            }
            RmOperand::Memory { base, index, disp } => {
                // rbp and r13 as a base always have a displacement.
                let short = if disp % unit == 0 { i8::try_from(disp / unit).ok() } else { None };
                let (mode, length, disp) = match (disp, short) {
                    (0, _) if base & 7 != RBP => (0, 0, 0),
                    (_, Some(short)) => (0x40, 1, short.into()),
                    _ => (0x80, 4, disp),
                };
                match index {
                    Some((index, scale)) => self.put(&[mode | reg | 4, scale << 6 | (index & 7) << 3 | base & 7]),
                    None if base & 7 == RSP => self.put(&[mode | reg | 4, 0x24]),
                    None => self.bytes.push(mode | reg | base & 7),
                }
                self.put(&disp.to_le_bytes()[..length]);
            }
        }
    }

    /// Emits an instruction on general registers.
    fn legacy(&mut self, head: LegacyPrefixes, opcode: &[u8], reg: u8, place: RmOperand, imm: &[u8]) {
        self.put(head.prefixes);
        let (x, b) = place.high();
        let bits = u8::from(head.wide) << 3 | u8::from(reg > 7) << 2 | u8::from(x) << 1 | u8::from(b);
        let low = matches!(place, RmOperand::Register(4..=7)) || (4..=7).contains(&reg);
        if bits != 0 || head.byte && low {
            self.bytes.push(0x40 | bits);
        }
        self.put(opcode);
        self.modrm(reg, place, imm.len() as u8);
        self.put(imm);
    }

    /// Emits an instruction on vectors or masks in the shortest encoding.
    fn vector(&mut self, row: &EncodingRow, form: EncodingOperands) {
        match row.evex {
            Some(evex) if !row.has_vex() || form.needs_evex() => self.evex(row, evex, form),
            _ => self.vex(row, form),
        }
    }

    fn vex(&mut self, row: &EncodingRow, form: EncodingOperands) {
        let EncodingOperands { size, reg, vvvv, place, imm, .. } = form;
        let wide = size.is_wide();
        let (w, l) = match row.width {
            Width::L(w) => (w, wide),
            Width::Fixed(l, w) => (w, l),
            Width::W | Width::None | Width::NoneW => (wide, false),
        };
        debug_assert!(row.has_vex() && !form.needs_evex(), "{row:?} {form:?}");
        let (x, b) = place.high();
        let last = (!vvvv & 15) << 3 | u8::from(l) << 2 | row.prefix;
        let r = u8::from(reg < 8) << 7;
        if row.map == 1 && !w && !x && !b {
            self.put(&[0xc5, r | last]);
        } else {
            self.put(&[0xc4, r | u8::from(!x) << 6 | u8::from(!b) << 5 | row.map, u8::from(w) << 7 | last]);
        }
        self.bytes.push(row.opcode);
        self.modrm(reg, place, imm.is_some().into());
        self.bytes.extend(imm);
    }

    fn evex(&mut self, row: &EncodingRow, evex: Evex, form: EncodingOperands) {
        let EncodingOperands { size, reg, vvvv, place, imm, mask, zero, broadcast } = form;
        let (w, length) = match row.width {
            Width::W | Width::NoneW => (size.is_wide(), 0),
            Width::L(_) | Width::Fixed(..) | Width::None => (evex.w, size as u8),
        };
        // A register has its highest bit where memory has the high bit of its index.
        let (x, b) = match place {
            RmOperand::Register(r) => (r & 16 != 0, r & 8 != 0),
            place => place.high(),
        };
        let not = |bit: bool, at: u8| u8::from(!bit) << at;
        self.put(&[
            0x62,
            not(reg & 8 != 0, 7) | not(x, 6) | not(b, 5) | not(reg & 16 != 0, 4) | row.map,
            u8::from(w) << 7 | (!vvvv & 15) << 3 | 4 | row.prefix,
            u8::from(zero) << 7 | length << 5 | u8::from(broadcast) << 4 | not(vvvv & 16 != 0, 3) | mask,
            row.opcode,
        ]);
        self.modrm_by(reg, place, imm.is_some().into(), form.unit(evex.tuple));
        self.bytes.extend(imm);
    }

    /// Returns the operand that may be memory; its registers begin at `at`.
    fn place(&self, inst: &Inst, a: &[Allocation], at: usize, frame: &Frame) -> RmOperand {
        match inst.mem {
            Mem::None => self.allocated(a[at], frame),
            Mem::At { base, index, scale, disp } => {
                let index = index.then(|| (number(a[at + usize::from(base)]), scale));
                RmOperand::Memory { base: if base { number(a[at]) } else { RSP }, index, disp }
            }
            Mem::Pool(constant, offset) => RmOperand::Constant(constant, offset),
        }
    }

    fn allocated(&self, a: Allocation, frame: &Frame) -> RmOperand {
        match a.as_stack() {
            Some(slot) => RmOperand::Memory { base: RSP, index: None, disp: frame.spill(slot) },
            None => RmOperand::Register(number(a)),
        }
    }

    /// Emits moves that register allocation asks for, or their inverses; none is from memory to
    /// memory.
    pub fn edits(&mut self, moves: &[(Allocation, Allocation)], back: bool, frame: &Frame) {
        for &(from, to) in moves {
            let (from, to) = if back { (to, from) } else { (from, to) };
            self.edit(from, to, frame);
        }
    }

    fn edit(&mut self, from: Allocation, to: Allocation, frame: &Frame) {
        if from == to {
            return;
        }
        let register = |a: Allocation| a.as_reg();
        let Some(class) = register(from).or(register(to)) else { unreachable!("a move between places on the stack") };
        let (from, to) = (self.allocated(from, frame), self.allocated(to, frame));
        let form = |reg, place| EncodingOperands::new(frame.size, reg, 0, place, None);
        let wide = LegacyPrefixes { wide: true, ..LegacyPrefixes::default() };
        match (from, to, class.class()) {
            (from, RmOperand::Register(to), RegClass::Float) => self.vector(Vex::Vmovups.row(), form(to, from)),
            (RmOperand::Register(from), to, RegClass::Float) => self.vector(Vex::VmovupsStore.row(), form(from, to)),
            (from, RmOperand::Register(to), MASK) => self.vector(Vex::Kmovq.row(), form(to, from)),
            (RmOperand::Register(from), to, MASK) => self.vector(Vex::KmovqStore.row(), form(from, to)),
            (from, RmOperand::Register(to), RegClass::Int) => self.legacy(wide, &[0x8b], to, from, &[]),
            (RmOperand::Register(from), to, RegClass::Int) => self.legacy(wide, &[0x89], from, to, &[]),
            _ => unreachable!("a move between places on the stack"),
        }
    }

    /// Emits an instruction that is not a control transfer.
    pub fn inst(&mut self, inst: &Inst, a: &[Allocation], frame: &Frame) {
        let head = LegacyPrefixes { wide: inst.size.is_wide(), ..LegacyPrefixes::default() };
        let imm = inst.imm as i32;
        let rm = |at: usize| self.place(inst, a, at, frame);
        match inst.op {
            Op::Vex(vex) => self.vex_inst(vex.row(), inst, a, frame),
            Op::Zero => {
                let r = number(a[0]);
                self.vector(Vex::Vxorps.row(), EncodingOperands::new(Size::W128, r, r, RmOperand::Register(r), None));
            }
            Op::Ones => {
                let r = number(a[0]);
                let form = EncodingOperands::new(inst.size, r, r, RmOperand::Register(r), None);
                if form.needs_evex() {
                    self.vector(Vex::Vpternlogd.row(), EncodingOperands { imm: Some(0xff), ..form });
                } else {
                    self.vector(Vex::Vpcmpeqd.row(), form);
                }
            }
            Op::NoLanes | Op::AllLanes => {
                let r = number(a[0]);
                let op = if inst.op == Op::NoLanes { Vex::Kxorw } else { Vex::Kxnorw };
                self.vector(op.row(), EncodingOperands::new(Size::W128, r, r, RmOperand::Register(r), None));
            }
            Op::Alu(Alu::Cmp) => {
                let place = rm(1);
                self.legacy(head, &[0x3b], number(a[0]), place, &[]);
            }
            Op::Alu(alu) => {
                let place = rm(2);
                self.legacy(head, &[alu as u8 * 8 + 3], number(a[0]), place, &[]);
            }
            Op::AluImm(alu) => {
                let place = rm(0);
                match i8::try_from(imm) {
                    Ok(byte) => self.legacy(head, &[0x83], alu as u8, place, &byte.to_le_bytes()),
                    Err(_) => self.legacy(head, &[0x81], alu as u8, place, &imm.to_le_bytes()),
                }
            }
            Op::Test => {
                let place = rm(1);
                self.legacy(head, &[0x85], number(a[0]), place, &[]);
            }
            Op::Mov => {
                let place = rm(1);
                self.legacy(head, &[0x8b], number(a[0]), place, &[]);
            }
            Op::MovImm => self.mov_imm(number(a[0]), inst.imm),
            Op::Movzx8 | Op::Movsx8 => {
                let place = rm(1);
                let opcode = if inst.op == Op::Movzx8 { 0xb6 } else { 0xbe };
                self.legacy(LegacyPrefixes { byte: true, ..head }, &[0x0f, opcode], number(a[0]), place, &[]);
            }
            Op::Movzx16 | Op::Movsx16 => {
                let place = rm(1);
                let opcode = if inst.op == Op::Movzx16 { 0xb7 } else { 0xbf };
                self.legacy(head, &[0x0f, opcode], number(a[0]), place, &[]);
            }
            Op::Movsx32 => {
                let place = rm(1);
                self.legacy(LegacyPrefixes { wide: true, ..head }, &[0x63], number(a[0]), place, &[]);
            }
            Op::Store(bytes) => {
                let place = rm(1);
                let head = LegacyPrefixes { wide: bytes == 8, byte: bytes == 1, prefixes: short(bytes) };
                self.legacy(head, &[0x88 | u8::from(bytes != 1)], number(a[0]), place, &[]);
            }
            Op::StoreImm(bytes) => {
                let place = rm(0);
                let head = LegacyPrefixes { wide: bytes == 8, byte: bytes == 1, prefixes: short(bytes) };
                self.legacy(head, &[0xc6 | u8::from(bytes != 1)], 0, place, &imm.to_le_bytes()[..bytes.min(4).into()]);
            }
            Op::Lea => {
                let place = rm(1);
                self.legacy(head, &[0x8d], number(a[0]), place, &[]);
            }
            Op::Shift(shift) => {
                self.legacy(head, &[0xc1], shift as u8, RmOperand::Register(number(a[0])), &[imm as u8]);
            }
            Op::Imul => {
                let place = rm(2);
                self.legacy(head, &[0x0f, 0xaf], number(a[0]), place, &[]);
            }
            Op::ImulImm => {
                let place = rm(1);
                self.legacy(head, &[0x69], number(a[0]), place, &imm.to_le_bytes());
            }
            Op::Neg => self.legacy(head, &[0xf7], 3, RmOperand::Register(number(a[0])), &[]),
            Op::Not => self.legacy(head, &[0xf7], 2, RmOperand::Register(number(a[0])), &[]),
            Op::Bswap => {
                let r = number(a[0]);
                self.bytes.push(0x40 | u8::from(inst.size.is_wide()) << 3 | u8::from(r > 7));
                self.put(&[0x0f, 0xc8 | r & 7]);
            }
            Op::Lzcnt | Op::Tzcnt | Op::Popcnt => {
                let place = rm(1);
                let opcode = match inst.op {
                    Op::Lzcnt => 0xbd,
                    Op::Tzcnt => 0xbc,
                    _ => 0xb8,
                };
                self.legacy(LegacyPrefixes { prefixes: &[0xf3], ..head }, &[0x0f, opcode], number(a[0]), place, &[]);
            }
            Op::MulHigh(signed) => {
                let place = rm(2);
                self.legacy(head, &[0xf7], if signed { 5 } else { 4 }, place, &[]);
            }
            Op::Div(signed) => {
                let place = rm(3);
                if signed {
                    self.put(if inst.size.is_wide() { &[0x48, 0x99] } else { &[0x99] });
                } else {
                    self.legacy(LegacyPrefixes::default(), &[0x31], RDX, RmOperand::Register(RDX), &[]);
                }
                self.legacy(head, &[0xf7], if signed { 7 } else { 6 }, place, &[]);
            }
            Op::Set(cc) => {
                let r = number(a[0]);
                let byte = LegacyPrefixes { byte: true, ..LegacyPrefixes::default() };
                self.legacy(byte, &[0x0f, 0x90 | cc as u8], 0, RmOperand::Register(r), &[]);
                self.legacy(byte, &[0x0f, 0xb6], r, RmOperand::Register(r), &[]);
            }
            Op::Cmov(cc) => {
                let place = rm(2);
                self.legacy(head, &[0x0f, 0x40 | cc as u8], number(a[0]), place, &[]);
            }
            Op::LockXadd(bytes) => {
                let place = rm(2);
                self.legacy(locked(bytes), &[0x0f, 0xc1], number(a[0]), place, &[]);
            }
            Op::Xchg(bytes) => {
                let place = rm(2);
                let head = LegacyPrefixes { wide: bytes == 8, byte: false, prefixes: short(bytes) };
                self.legacy(head, &[0x87], number(a[0]), place, &[]);
            }
            Op::LockCmpxchg(bytes) => {
                let place = rm(3);
                self.legacy(locked(bytes), &[0x0f, 0xb1], number(a[2]), place, &[]);
            }
            Op::LockAlu(bytes, alu) => {
                let place = rm(1);
                self.legacy(locked(bytes), &[alu as u8 * 8 + 1], number(a[0]), place, &[]);
            }
            Op::RmwLoop(bytes, operation) => {
                let place = rm(3);
                self.rmw_loop(bytes, operation, number(a[1]), number(a[2]), place);
            }
            Op::Params => {}
            Op::Call | Op::RareCall => {
                self.vzeroupper();
                let function = number(a[0]);
                self.legacy(LegacyPrefixes::default(), &[0xff], 2, RmOperand::Register(function), &[]);
            }
            Op::Jump | Op::Branch(_) | Op::Table | Op::Return => unreachable!("the end of a block"),
        }
    }

    fn vex_inst(&mut self, row: &EncodingRow, inst: &Inst, a: &[Allocation], frame: &Frame) {
        let imm = row.imm.then_some(inst.imm as u8);
        let masked = inst.masked.operands();
        let rm = |at: usize| self.place(inst, a, at + masked, frame);
        let memory = inst.mem != Mem::None;
        // `others` is the number of operands that the shape takes before the mask's operands.
        let (reg, vvvv, place, imm, others) = match row.shape {
            OperandEncoding::Rvm | OperandEncoding::RvmReg => (number(a[0]), number(a[1]), rm(2), imm, 2),
            OperandEncoding::Rm | OperandEncoding::RmReg => (number(a[0]), 0, rm(1), imm, 1),
            OperandEncoding::Test | OperandEncoding::TestReg => (number(a[0]), 0, rm(1), imm, 1),
            OperandEncoding::Mr if memory => (number(a[0]), 0, rm(1), imm, 1),
            OperandEncoding::Mr => (number(a[1]), 0, RmOperand::Register(number(a[0])), imm, 2),
            OperandEncoding::Vm(digit) => (digit, number(a[0]), rm(1), imm, 1),
            OperandEncoding::Rvim => (number(a[0]), number(a[1]), rm(3), Some(number(a[2]) << 4), 3),
            OperandEncoding::Rmv => (number(a[0]), number(a[1]), rm(2), imm, 2),
            OperandEncoding::Fma => (number(a[0]), number(a[2]), rm(3), imm, 3),
        };
        let mask = if masked == 0 { 0 } else { number(a[others + masked - 1]) };
        let (zero, broadcast) = (inst.masked == Masked::Zero, inst.broadcast);
        self.vector(
            row,
            EncodingOperands { mask, zero, broadcast, ..EncodingOperands::new(inst.size, reg, vvvv, place, imm) },
        );
    }

    fn mov_imm(&mut self, r: u8, imm: i64) {
        let high = u8::from(r > 7);
        if let Ok(word) = u32::try_from(imm) {
            if high != 0 {
                self.bytes.push(0x41);
            }
            self.bytes.push(0xb8 | r & 7);
            self.put(&word.to_le_bytes());
        } else if let Ok(word) = i32::try_from(imm) {
            self.put(&[0x48 | high, 0xc7, 0xc0 | r & 7]);
            self.put(&word.to_le_bytes());
        } else {
            self.put(&[0x48 | high, 0xb8 | r & 7]);
            self.put(&imm.to_le_bytes());
        }
    }

    /// Emits an atomic loop: rax holds the old value, and `cmpxchg` tries to replace it with the
    /// result of the operation.
    fn rmw_loop(&mut self, bytes: u8, operation: Loop, temp: u8, operand: u8, place: RmOperand) {
        let wide = LegacyPrefixes { wide: true, ..LegacyPrefixes::default() };
        match bytes {
            2 => self.legacy(LegacyPrefixes::default(), &[0x0f, 0xb7], RAX, place, &[]),
            _ => {
                self.legacy(LegacyPrefixes { wide: bytes == 8, ..LegacyPrefixes::default() }, &[0x8b], RAX, place, &[])
            }
        }
        let again = self.bytes.len();
        let mut unchanged = None;
        let new = match operation {
            Loop::Alu(alu) => {
                self.legacy(wide, &[0x8b], temp, RmOperand::Register(RAX), &[]);
                self.legacy(wide, &[alu as u8 * 8 + 3], temp, RmOperand::Register(operand), &[]);
                temp
            }
            // A value that would not change is not written, since no other thread can observe the
            // difference.
            Loop::Choose(cc) => {
                let sized = LegacyPrefixes { wide: bytes == 8, byte: false, prefixes: short(bytes) };
                self.legacy(sized, &[0x3b], operand, RmOperand::Register(RAX), &[]);
                self.put(&[0x70 | cc as u8 ^ 1, 0]);
                unchanged = Some(self.bytes.len());
                operand
            }
        };
        self.legacy(locked(bytes), &[0x0f, 0xb1], new, place, &[]);
        let back = again as i64 - (self.bytes.len() as i64 + 2);
        self.put(&[0x75, back as u8]);
        if let Some(from) = unchanged {
            self.bytes[from - 1] = (self.bytes.len() - from) as u8;
        }
    }

    /// Emits `vzeroupper`, which clears the upper halves of vectors, so that SSE code elsewhere is
    /// not slowed down.
    pub fn vzeroupper(&mut self) {
        self.put(&[0xc5, 0xf8, 0x77]);
    }

    /// Jumps to a block.
    pub fn jump(&mut self, to: usize) {
        self.bytes.push(0xe9);
        self.jumps.push((self.bytes.len(), to));
        self.put(&[0; 4]);
    }

    /// Jumps to a block if the condition holds.
    pub fn branch(&mut self, cc: Cc, to: usize) {
        self.put(&[0x0f, 0x80 | cc as u8]);
        self.jumps.push((self.bytes.len(), to));
        self.put(&[0; 4]);
    }

    /// Jumps to the block that the index selects, or to the last one. The table of distances, which
    /// are relative to the table itself, lies behind the code.
    pub fn table(&mut self, a: &[Allocation], targets: &[usize], tables: &mut Vec<(usize, Vec<usize>)>) {
        let [index, address, distance] = [0, 1, 2].map(|i| number(a[i]));
        let Some((&default, blocks)) = targets.split_last() else { unreachable!("a table of nothing") };
        let wide = LegacyPrefixes { wide: true, ..LegacyPrefixes::default() };
        self.legacy(LegacyPrefixes::default(), &[0x8b], distance, RmOperand::Register(index), &[]);
        self.legacy(
            LegacyPrefixes::default(),
            &[0x81],
            Alu::Cmp as u8,
            RmOperand::Register(distance),
            &(blocks.len() as u32).to_le_bytes(),
        );
        self.branch(Cc::Ae, default);
        self.put(&[0x48 | u8::from(address > 7) << 2, 0x8d, (address & 7) << 3 | 5]);
        tables.push((self.bytes.len(), blocks.to_vec()));
        self.put(&[0; 4]);
        let entry = RmOperand::Memory { base: address, index: Some((distance, 2)), disp: 0 };
        self.legacy(wide, &[0x63], distance, entry, &[]);
        self.legacy(wide, &[0x03], distance, RmOperand::Register(address), &[]);
        self.legacy(LegacyPrefixes::default(), &[0xff], 4, RmOperand::Register(distance), &[]);
    }

    /// Emits the prologue: sets rbp to rsp, and pushes the saved registers behind it.
    pub fn enter(&mut self, frame: &Frame) {
        let wide = LegacyPrefixes { wide: true, ..LegacyPrefixes::default() };
        self.bytes.push(0x55);
        self.legacy(wide, &[0x8b], RBP, RmOperand::Register(RSP), &[]);
        for &r in &frame.saved {
            if r > 7 {
                self.bytes.push(0x41);
            }
            self.bytes.push(0x50 | r & 7);
        }
        let mut left = frame.bytes;
        if left >= PAGE {
            // Touches the stack page by page, so that no access skips the guard page.
            self.mov_imm(RAX, i64::from(left / PAGE));
            let again = self.bytes.len();
            self.legacy(wide, &[0x81], Alu::Sub as u8, RmOperand::Register(RSP), &PAGE.to_le_bytes());
            self.legacy(wide, &[0x85], RSP, RmOperand::Memory { base: RSP, index: None, disp: 0 }, &[]);
            self.legacy(LegacyPrefixes::default(), &[0x83], Alu::Sub as u8, RmOperand::Register(RAX), &[1]);
            let back = again as i64 - (self.bytes.len() as i64 + 2);
            self.put(&[0x75, back as u8]);
            left %= PAGE;
        }
        self.legacy(wide, &[0x81], Alu::Sub as u8, RmOperand::Register(RSP), &left.to_le_bytes());
        let align = -(1i32 << frame.align);
        self.legacy(wide, &[0x81], Alu::And as u8, RmOperand::Register(RSP), &align.to_le_bytes());
    }

    /// Emits the epilogue, which returns to the caller.
    pub fn leave(&mut self, frame: &Frame) {
        self.vzeroupper();
        let saved = RmOperand::Memory { base: RBP, index: None, disp: -8 * frame.saved.len() as i32 };
        self.legacy(LegacyPrefixes { wide: true, ..LegacyPrefixes::default() }, &[0x8d], RSP, saved, &[]);
        for &r in frame.saved.iter().rev() {
            if r > 7 {
                self.bytes.push(0x41);
            }
            self.bytes.push(0x58 | r & 7);
        }
        self.put(&[0x5d, 0xc3]);
    }
}

const PAGE: u32 = 4096;

fn short(bytes: u8) -> &'static [u8] {
    if bytes == 2 { OPERAND_SIZE_PREFIX } else { &[] }
}

fn locked(bytes: u8) -> LegacyPrefixes {
    LegacyPrefixes { wide: bytes == 8, byte: false, prefixes: if bytes == 2 { &[0xf0, 0x66] } else { &[0xf0] } }
}

//! The VEX- and EVEX-encoded instructions, one row each: prefix, opcode map, W, opcode, and the
//! places of the operands ([`OperandEncoding`]).
//!
//! Most have both encodings. EVEX reaches registers above 15, masks and 512 bits; VEX is shorter
//! and is used where none of these is needed.

#![forbid(unsafe_code)]

/// Fields that encode the operands, in the order of an instruction's operand list. The last operand
/// that is not a result may be memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandEncoding {
    /// Result in reg, operands in vvvv and rm.
    Rvm,
    /// [`OperandEncoding::Rvm`] whose rm is a register.
    RvmReg,
    /// Result in reg, operand in rm.
    Rm,
    /// [`OperandEncoding::Rm`] whose rm is a register.
    RmReg,
    /// Result (or memory) in rm, operand in reg.
    Mr,
    /// Result in vvvv, operand in rm; reg is part of the opcode.
    Vm(u8),
    /// Result in reg, operands in vvvv, in the immediate's high bits, and in rm.
    Rvim,
    /// Result in reg; operands in vvvv and rm, with a shift amount in vvvv.
    Rmv,
    /// Result in reg, which is also the first operand; the other operands in vvvv and rm.
    Fma,
    /// No result; operands in reg and rm.
    Test,
    /// [`OperandEncoding::Test`] whose rm is a register.
    TestReg,
}

impl OperandEncoding {
    /// Returns true if rm cannot be memory.
    pub fn takes_registers_only(self) -> bool {
        matches!(self, OperandEncoding::RvmReg | OperandEncoding::RmReg | OperandEncoding::TestReg)
    }
}

/// Encoding of an instruction's width, and whether VEX encodes the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// VEX.L selects 256 bits; VEX.W is the flag.
    L(bool),
    /// VEX.W selects 64 bits of a general register.
    W,
    /// The width selects nothing; VEX.L and VEX.W are the flags. Mask instructions have this form.
    Fixed(bool, bool),
    /// There is only an EVEX encoding.
    None,
    /// There is only an EVEX encoding, whose EVEX.W selects 64 bits of a general register.
    NoneW,
}

/// Size of the memory operand of an EVEX-encoded instruction, the unit of its 8-bit displacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuple {
    /// The whole vector, or one broadcast lane of the given number of bytes.
    Full(u8),
    /// The whole vector.
    Whole,
    /// A half, a quarter or an eighth of the vector, because the lanes in registers are 2, 4 or 8
    /// times as wide. The second value is the number of bytes of a broadcast lane, or 0 if there is
    /// no broadcast.
    Part(u8, u8),
    /// A fixed number of bytes.
    Bytes(u8),
    /// The size of the general register.
    General,
    /// 8 bytes for vectors of 128 bits, else the whole vector.
    Dup,
}

/// Properties of an EVEX encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evex {
    /// EVEX.W.
    pub w: bool,
    /// Size of the memory operand.
    pub tuple: Tuple,
}

impl Evex {
    const fn of(w: bool, tuple: Tuple) -> Option<Evex> {
        Some(Evex { w, tuple })
    }
}

/// Encoding of an instruction.
#[derive(Debug)]
pub struct EncodingRow {
    /// Name in assembly language, with a suffix that distinguishes rows of one name.
    #[cfg(test)]
    pub name: &'static str,
    /// VEX.pp.
    pub prefix: u8,
    /// VEX.mmmmm.
    pub map: u8,
    /// L and W.
    pub width: Width,
    /// EVEX encoding, if there is one.
    pub evex: Option<Evex>,
    /// Opcode byte.
    pub opcode: u8,
    /// Places of the operands.
    pub shape: OperandEncoding,
    /// An immediate byte follows.
    pub imm: bool,
}

impl EncodingRow {
    /// Returns true if VEX encodes the instruction.
    pub fn has_vex(&self) -> bool {
        !matches!(self.width, Width::None | Width::NoneW)
    }
}

/// Prefixes: none, 66, F3, F2.
const NP: u8 = 0;
const P66: u8 = 1;
const PF3: u8 = 2;
const PF2: u8 = 3;
/// Width by L, with a W of 0 or 1; width by W.
const W0: Width = Width::L(false);
const W1: Width = Width::L(true);
const G: Width = Width::W;
/// Fixed L, then fixed W.
const L0W0: Width = Width::Fixed(false, false);
const L0W1: Width = Width::Fixed(false, true);
const L1W0: Width = Width::Fixed(true, false);
const L1W1: Width = Width::Fixed(true, true);
/// EVEX only, without and with a width by W.
const EV: Width = Width::None;
const EG: Width = Width::NoneW;
/// No EVEX encoding.
const NO: Option<Evex> = None;
/// A whole vector or a broadcast lane: of 4 bytes, of 8 bytes.
const F4: Option<Evex> = Evex::of(false, Tuple::Full(4));
const F8: Option<Evex> = Evex::of(true, Tuple::Full(8));
/// A whole vector, by W.
const M0: Option<Evex> = Evex::of(false, Tuple::Whole);
const M1: Option<Evex> = Evex::of(true, Tuple::Whole);
/// Half a vector, with and without a broadcast lane of 4 bytes; a quarter; an eighth.
const H4: Option<Evex> = Evex::of(false, Tuple::Part(2, 4));
const H0: Option<Evex> = Evex::of(false, Tuple::Part(2, 0));
const Q0: Option<Evex> = Evex::of(false, Tuple::Part(4, 0));
const E0: Option<Evex> = Evex::of(false, Tuple::Part(8, 0));
/// Scalars of 1, 2, 4 and 8 bytes; two scalars of 4 bytes; a general register.
const S1: Option<Evex> = Evex::of(false, Tuple::Bytes(1));
const S2: Option<Evex> = Evex::of(false, Tuple::Bytes(2));
const S4: Option<Evex> = Evex::of(false, Tuple::Bytes(4));
const S8: Option<Evex> = Evex::of(true, Tuple::Bytes(8));
const P0: Option<Evex> = Evex::of(false, Tuple::Bytes(8));
const SG: Option<Evex> = Evex::of(false, Tuple::General);
/// 128 bits by W; 256 bits; the operand of `vmovddup`.
const X0: Option<Evex> = Evex::of(false, Tuple::Bytes(16));
const X1: Option<Evex> = Evex::of(true, Tuple::Bytes(16));
const Y1: Option<Evex> = Evex::of(true, Tuple::Bytes(32));
const D8: Option<Evex> = Evex::of(true, Tuple::Dup);
/// Column of instructions that have an immediate operand; [`O`] is that of all others.
const I: bool = true;
const O: bool = false;

macro_rules! rows {
    ($($op:ident $prefix:ident $map:literal $width:ident $evex:ident $opcode:literal $shape:expr, $imm:ident;)*) => {
        /// An instruction, which indexes [`ROWS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the processor's manual has them")]
        pub enum Vex { $($op,)* }

        /// The encodings of all instructions, in the order of [`Vex`].
        pub const ROWS: &[EncodingRow] = {
            #[allow(clippy::enum_glob_use, reason = "a column of the table")]
            use OperandEncoding::*;
            &[$(EncodingRow {
                #[cfg(test)]
                name: stringify!($op),
                prefix: $prefix,
                map: $map,
                width: $width,
                evex: $evex,
                opcode: $opcode,
                shape: $shape,
                imm: $imm,
            },)*]
        };
    };
}

impl Vex {
    /// Returns the encoding of the instruction.
    pub fn row(self) -> &'static EncodingRow {
        &ROWS[self as usize]
    }
}

rows! {
    // Floats.
    Vaddps NP 1 W0 F4 0x58 Rvm, O;
    Vaddpd P66 1 W0 F8 0x58 Rvm, O;
    Vaddss PF3 1 W0 S4 0x58 Rvm, O;
    Vaddsd PF2 1 W0 S8 0x58 Rvm, O;
    Vmulps NP 1 W0 F4 0x59 Rvm, O;
    Vmulpd P66 1 W0 F8 0x59 Rvm, O;
    Vmulss PF3 1 W0 S4 0x59 Rvm, O;
    Vmulsd PF2 1 W0 S8 0x59 Rvm, O;
    Vsubps NP 1 W0 F4 0x5c Rvm, O;
    Vsubpd P66 1 W0 F8 0x5c Rvm, O;
    Vsubss PF3 1 W0 S4 0x5c Rvm, O;
    Vsubsd PF2 1 W0 S8 0x5c Rvm, O;
    Vminps NP 1 W0 F4 0x5d Rvm, O;
    Vminpd P66 1 W0 F8 0x5d Rvm, O;
    Vdivps NP 1 W0 F4 0x5e Rvm, O;
    Vdivpd P66 1 W0 F8 0x5e Rvm, O;
    Vdivss PF3 1 W0 S4 0x5e Rvm, O;
    Vdivsd PF2 1 W0 S8 0x5e Rvm, O;
    Vmaxps NP 1 W0 F4 0x5f Rvm, O;
    Vmaxpd P66 1 W0 F8 0x5f Rvm, O;
    Vsqrtps NP 1 W0 F4 0x51 Rm, O;
    Vsqrtpd P66 1 W0 F8 0x51 Rm, O;
    Vsqrtss PF3 1 W0 S4 0x51 Rvm, O;
    Vsqrtsd PF2 1 W0 S8 0x51 Rvm, O;
    Vandps NP 1 W0 F4 0x54 Rvm, O;
    Vorps NP 1 W0 F4 0x56 Rvm, O;
    Vxorps NP 1 W0 F4 0x57 Rvm, O;
    Vcmpps NP 1 W0 NO 0xc2 Rvm, I;
    Vcmppd P66 1 W0 NO 0xc2 Rvm, I;
    Vcmpss PF3 1 W0 NO 0xc2 Rvm, I;
    Vcmpsd PF2 1 W0 NO 0xc2 Rvm, I;
    Vucomiss NP 1 W0 S4 0x2e Test, O;
    Vucomisd P66 1 W0 S8 0x2e Test, O;
    Vtestps P66 2 W0 NO 0x0e Test, O;
    Vroundps P66 3 W0 F4 0x08 Rm, I;
    Vroundpd P66 3 W0 F8 0x09 Rm, I;
    Vroundss P66 3 W0 S4 0x0a Rvm, I;
    Vroundsd P66 3 W0 S8 0x0b Rvm, I;
    Vfmadd213ps P66 2 W0 F4 0xa8 Fma, O;
    Vfmadd213pd P66 2 W1 F8 0xa8 Fma, O;
    Vfmadd213ss P66 2 W0 S4 0xa9 Fma, O;
    Vfmadd213sd P66 2 W1 S8 0xa9 Fma, O;
    Vfmadd231ps P66 2 W0 F4 0xb8 Fma, O;
    Vfmadd231pd P66 2 W1 F8 0xb8 Fma, O;
    Vfmadd231ss P66 2 W0 S4 0xb9 Fma, O;
    Vfmadd231sd P66 2 W1 S8 0xb9 Fma, O;
    // Conversions.
    Vcvtdq2ps NP 1 W0 F4 0x5b Rm, O;
    Vcvttps2dq PF3 1 W0 F4 0x5b Rm, O;
    Vcvtdq2pd PF3 1 W0 H4 0xe6 Rm, O;
    Vcvttpd2dq P66 1 W0 F8 0xe6 Rm, O;
    Vcvtps2pd NP 1 W0 H4 0x5a Rm, O;
    Vcvtpd2ps P66 1 W0 F8 0x5a Rm, O;
    Vcvtph2ps P66 2 W0 H0 0x13 Rm, O;
    Vcvtps2ph P66 3 W0 H0 0x1d Mr, I;
    Vcvtss2sd PF3 1 W0 S4 0x5a Rvm, O;
    Vcvtsd2ss PF2 1 W0 S8 0x5a Rvm, O;
    Vcvtsi2ss PF3 1 G SG 0x2a Rvm, O;
    Vcvtsi2sd PF2 1 G SG 0x2a Rvm, O;
    Vcvttss2si PF3 1 G S4 0x2c Rm, O;
    Vcvttsd2si PF2 1 G S8 0x2c Rm, O;
    Vpmovsxbw P66 2 W0 H0 0x20 Rm, O;
    Vpmovsxbd P66 2 W0 Q0 0x21 Rm, O;
    Vpmovsxbq P66 2 W0 E0 0x22 Rm, O;
    Vpmovsxwd P66 2 W0 H0 0x23 Rm, O;
    Vpmovsxwq P66 2 W0 Q0 0x24 Rm, O;
    Vpmovsxdq P66 2 W0 H0 0x25 Rm, O;
    Vpmovzxbw P66 2 W0 H0 0x30 Rm, O;
    Vpmovzxbd P66 2 W0 Q0 0x31 Rm, O;
    Vpmovzxbq P66 2 W0 E0 0x32 Rm, O;
    Vpmovzxwd P66 2 W0 H0 0x33 Rm, O;
    Vpmovzxwq P66 2 W0 Q0 0x34 Rm, O;
    Vpmovzxdq P66 2 W0 H0 0x35 Rm, O;
    // Integers.
    Vpaddb P66 1 W0 M0 0xfc Rvm, O;
    Vpaddw P66 1 W0 M0 0xfd Rvm, O;
    Vpaddd P66 1 W0 F4 0xfe Rvm, O;
    Vpaddq P66 1 W0 F8 0xd4 Rvm, O;
    Vpsubb P66 1 W0 M0 0xf8 Rvm, O;
    Vpsubw P66 1 W0 M0 0xf9 Rvm, O;
    Vpsubd P66 1 W0 F4 0xfa Rvm, O;
    Vpsubq P66 1 W0 F8 0xfb Rvm, O;
    Vpmullw P66 1 W0 M0 0xd5 Rvm, O;
    Vpmulld P66 2 W0 F4 0x40 Rvm, O;
    Vpmuludq P66 1 W0 F8 0xf4 Rvm, O;
    Vpmuldq P66 2 W0 F8 0x28 Rvm, O;
    Vpmaddwd P66 1 W0 M0 0xf5 Rvm, O;
    Vpmaddubsw P66 2 W0 M0 0x04 Rvm, O;
    Vpsadbw P66 1 W0 M0 0xf6 Rvm, O;
    Vpand P66 1 W0 F4 0xdb Rvm, O;
    Vpandn P66 1 W0 F4 0xdf Rvm, O;
    Vpor P66 1 W0 F4 0xeb Rvm, O;
    Vpxor P66 1 W0 F4 0xef Rvm, O;
    Vpminsb P66 2 W0 M0 0x38 Rvm, O;
    Vpminsw P66 1 W0 M0 0xea Rvm, O;
    Vpminsd P66 2 W0 F4 0x39 Rvm, O;
    Vpminub P66 1 W0 M0 0xda Rvm, O;
    Vpminuw P66 2 W0 M0 0x3a Rvm, O;
    Vpminud P66 2 W0 F4 0x3b Rvm, O;
    Vpmaxsb P66 2 W0 M0 0x3c Rvm, O;
    Vpmaxsw P66 1 W0 M0 0xee Rvm, O;
    Vpmaxsd P66 2 W0 F4 0x3d Rvm, O;
    Vpmaxub P66 1 W0 M0 0xde Rvm, O;
    Vpmaxuw P66 2 W0 M0 0x3e Rvm, O;
    Vpmaxud P66 2 W0 F4 0x3f Rvm, O;
    Vpcmpeqb P66 1 W0 NO 0x74 Rvm, O;
    Vpcmpeqw P66 1 W0 NO 0x75 Rvm, O;
    Vpcmpeqd P66 1 W0 NO 0x76 Rvm, O;
    Vpcmpeqq P66 2 W0 NO 0x29 Rvm, O;
    Vpcmpgtb P66 1 W0 NO 0x64 Rvm, O;
    Vpcmpgtw P66 1 W0 NO 0x65 Rvm, O;
    Vpcmpgtd P66 1 W0 NO 0x66 Rvm, O;
    Vpcmpgtq P66 2 W0 NO 0x37 Rvm, O;
    // Shifts by an immediate, by the low quadword of an operand of 128 bits, lane by lane.
    VpsrlwImm P66 1 W0 M0 0x71 Vm(2), I;
    VpsrawImm P66 1 W0 M0 0x71 Vm(4), I;
    VpsllwImm P66 1 W0 M0 0x71 Vm(6), I;
    VpsrldImm P66 1 W0 F4 0x72 Vm(2), I;
    VpsradImm P66 1 W0 F4 0x72 Vm(4), I;
    VpslldImm P66 1 W0 F4 0x72 Vm(6), I;
    VpsrlqImm P66 1 W0 F8 0x73 Vm(2), I;
    VpsllqImm P66 1 W0 F8 0x73 Vm(6), I;
    VpsrldqImm P66 1 W0 M0 0x73 Vm(3), I;
    Vpsrlw P66 1 W0 X0 0xd1 Rvm, O;
    Vpsrld P66 1 W0 X0 0xd2 Rvm, O;
    Vpsrlq P66 1 W0 X1 0xd3 Rvm, O;
    Vpsraw P66 1 W0 X0 0xe1 Rvm, O;
    Vpsrad P66 1 W0 X0 0xe2 Rvm, O;
    Vpsllw P66 1 W0 X0 0xf1 Rvm, O;
    Vpslld P66 1 W0 X0 0xf2 Rvm, O;
    Vpsllq P66 1 W0 X1 0xf3 Rvm, O;
    Vpsrlvd P66 2 W0 F4 0x45 Rvm, O;
    Vpsrlvq P66 2 W1 F8 0x45 Rvm, O;
    Vpsravd P66 2 W0 F4 0x46 Rvm, O;
    Vpsllvd P66 2 W0 F4 0x47 Rvm, O;
    Vpsllvq P66 2 W1 F8 0x47 Rvm, O;
    // Lanes.
    Vpshufb P66 2 W0 M0 0x00 Rvm, O;
    Vpshufd P66 1 W0 F4 0x70 Rm, I;
    Vshufps NP 1 W0 F4 0xc6 Rvm, I;
    Vunpcklps NP 1 W0 F4 0x14 Rvm, O;
    Vunpckhps NP 1 W0 F4 0x15 Rvm, O;
    Vunpcklpd P66 1 W0 F8 0x14 Rvm, O;
    Vunpckhpd P66 1 W0 F8 0x15 Rvm, O;
    Vpacksswb P66 1 W0 M0 0x63 Rvm, O;
    Vpackuswb P66 1 W0 M0 0x67 Rvm, O;
    Vpackssdw P66 1 W0 F4 0x6b Rvm, O;
    Vpackusdw P66 2 W0 F4 0x2b Rvm, O;
    Vpalignr P66 3 W0 M0 0x0f Rvm, I;
    Vblendps P66 3 W0 NO 0x0c Rvm, I;
    Vpblendw P66 3 W0 NO 0x0e Rvm, I;
    Vblendvps P66 3 W0 NO 0x4a Rvim, O;
    Vblendvpd P66 3 W0 NO 0x4b Rvim, O;
    Vpblendvb P66 3 W0 NO 0x4c Rvim, O;
    Vpermps P66 2 W0 F4 0x16 Rvm, O;
    Vpermilps P66 2 W0 F4 0x0c Rvm, O;
    Vpermq P66 3 W1 F8 0x00 Rm, I;
    Vperm2f128 P66 3 W0 NO 0x06 Rvm, I;
    Vinsertf128 P66 3 W0 X0 0x18 Rvm, I;
    Vextractf128 P66 3 W0 X0 0x19 Mr, I;
    Vbroadcastss P66 2 W0 S4 0x18 Rm, O;
    Vbroadcastsd P66 2 W0 S8 0x19 Rm, O;
    Vbroadcastf128 P66 2 W0 X0 0x1a Rm, O;
    Vpbroadcastb P66 2 W0 S1 0x78 Rm, O;
    Vpbroadcastw P66 2 W0 S2 0x79 Rm, O;
    Vpbroadcastd P66 2 W0 S4 0x58 Rm, O;
    Vpbroadcastq P66 2 W0 S8 0x59 Rm, O;
    Vmovddup PF2 1 W0 D8 0x12 Rm, O;
    Vinsertps P66 3 W0 S4 0x21 Rvm, I;
    Vpinsrb P66 3 W0 S1 0x20 Rvm, I;
    Vpinsrw P66 1 W0 S2 0xc4 Rvm, I;
    Vpinsrd P66 3 W0 S4 0x22 Rvm, I;
    Vpinsrq P66 3 W1 S8 0x22 Rvm, I;
    Vpextrb P66 3 W0 S1 0x14 Mr, I;
    Vpextrw P66 3 W0 S2 0x15 Mr, I;
    Vpextrd P66 3 W0 S4 0x16 Mr, I;
    Vpextrq P66 3 W1 S8 0x16 Mr, I;
    Vmovmskps NP 1 W0 NO 0x50 RmReg, O;
    // Moves.
    Vmovups NP 1 W0 M0 0x10 Rm, O;
    VmovupsStore NP 1 W0 M0 0x11 Mr, O;
    VmovssLoad PF3 1 W0 S4 0x10 Rm, O;
    VmovssStore PF3 1 W0 S4 0x11 Mr, O;
    VmovsdLoad PF2 1 W0 S8 0x10 Rm, O;
    VmovsdStore PF2 1 W0 S8 0x11 Mr, O;
    VmovhpsLoad NP 1 W0 P0 0x16 Rvm, O;
    VmovhpsStore NP 1 W0 P0 0x17 Mr, O;
    VmovdTo P66 1 W0 S4 0x6e Rm, O;
    VmovqTo P66 1 W1 S8 0x6e Rm, O;
    VmovdFrom P66 1 W0 S4 0x7e Mr, O;
    VmovqFrom P66 1 W1 S8 0x7e Mr, O;
    // General registers.
    Andn NP 2 G NO 0xf2 Rvm, O;
    Shlx P66 2 G NO 0xf7 Rmv, O;
    Sarx PF3 2 G NO 0xf7 Rmv, O;
    Shrx PF2 2 G NO 0xf7 Rmv, O;

    // AVX-512: comparisons to masks, and selections by masks.
    KVcmpps NP 1 EV F4 0xc2 Rvm, I;
    KVcmppd P66 1 EV F8 0xc2 Rvm, I;
    KVcmpss PF3 1 EV S4 0xc2 Rvm, I;
    KVcmpsd PF2 1 EV S8 0xc2 Rvm, I;
    Vpcmpb P66 3 EV M0 0x3f Rvm, I;
    Vpcmpub P66 3 EV M0 0x3e Rvm, I;
    Vpcmpw P66 3 EV M1 0x3f Rvm, I;
    Vpcmpuw P66 3 EV M1 0x3e Rvm, I;
    Vpcmpd P66 3 EV F4 0x1f Rvm, I;
    Vpcmpud P66 3 EV F4 0x1e Rvm, I;
    Vpcmpq P66 3 EV F8 0x1f Rvm, I;
    Vpcmpuq P66 3 EV F8 0x1e Rvm, I;
    Vptestmd P66 2 EV F4 0x27 Rvm, O;
    Vpmovd2m PF3 2 EV M0 0x39 RmReg, O;
    Vpmovm2b PF3 2 EV M0 0x28 RmReg, O;
    Vpmovm2w PF3 2 EV M1 0x28 RmReg, O;
    Vpmovm2d PF3 2 EV M0 0x38 RmReg, O;
    Vpmovm2q PF3 2 EV M1 0x38 RmReg, O;
    Vblendmps P66 2 EV F4 0x65 Rvm, O;
    Vblendmpd P66 2 EV F8 0x65 Rvm, O;
    Vpblendmb P66 2 EV M0 0x66 Rvm, O;
    Vpblendmw P66 2 EV M1 0x66 Rvm, O;
    Vmovupd P66 1 W0 M1 0x10 Rm, O;
    Vmovdqu8 PF2 1 EV M0 0x6f Rm, O;
    Vmovdqu16 PF2 1 EV M1 0x6f Rm, O;
    // Masks.
    Kandw NP 1 L1W0 NO 0x41 RvmReg, O;
    Kandnw NP 1 L1W0 NO 0x42 RvmReg, O;
    Korw NP 1 L1W0 NO 0x45 RvmReg, O;
    Kxnorw NP 1 L1W0 NO 0x46 RvmReg, O;
    Kxorw NP 1 L1W0 NO 0x47 RvmReg, O;
    Kunpckbw P66 1 L1W0 NO 0x4b RvmReg, O;
    Kunpckwd NP 1 L1W0 NO 0x4b RvmReg, O;
    Kunpckdq NP 1 L1W1 NO 0x4b RvmReg, O;
    Knotw NP 1 L0W0 NO 0x44 RmReg, O;
    Kortestb P66 1 L0W0 NO 0x98 TestReg, O;
    Kortestw NP 1 L0W0 NO 0x98 TestReg, O;
    Kshiftrw P66 3 L0W1 NO 0x30 RmReg, I;
    Kshiftrd P66 3 L0W0 NO 0x31 RmReg, I;
    Kshiftrq P66 3 L0W1 NO 0x31 RmReg, I;
    Kmovq NP 1 L0W1 NO 0x90 Rm, O;
    KmovqStore NP 1 L0W1 NO 0x91 Mr, O;
    KmovqTo PF2 1 L0W1 NO 0x92 RmReg, O;
    KmovbFrom P66 1 L0W0 NO 0x93 RmReg, O;
    KmovwFrom NP 1 L0W0 NO 0x93 RmReg, O;
    // AVX-512: operations that take several instructions without it.
    Vpternlogd P66 3 EV F4 0x25 Fma, I;
    Vpternlogq P66 3 EV F8 0x25 Fma, I;
    Vpmullq P66 2 EV F8 0x40 Rvm, O;
    Vpminsq P66 2 EV F8 0x39 Rvm, O;
    Vpminuq P66 2 EV F8 0x3b Rvm, O;
    Vpmaxsq P66 2 EV F8 0x3d Rvm, O;
    Vpmaxuq P66 2 EV F8 0x3f Rvm, O;
    VpsraqImm P66 1 EV F8 0x72 Vm(4), I;
    Vpsraq P66 1 EV X1 0xe2 Rvm, O;
    Vpsravq P66 2 EV F8 0x46 Rvm, O;
    Vpsrlvw P66 2 EV M1 0x10 Rvm, O;
    Vpsravw P66 2 EV M1 0x11 Rvm, O;
    Vpsllvw P66 2 EV M1 0x12 Rvm, O;
    VproldImm P66 1 EV F4 0x72 Vm(1), I;
    VprolqImm P66 1 EV F8 0x72 Vm(1), I;
    Vplzcntd P66 2 EV F4 0x44 Rm, O;
    Vplzcntq P66 2 EV F8 0x44 Rm, O;
    Vcvtudq2ps PF2 1 EV F4 0x7a Rm, O;
    Vcvtudq2pd PF3 1 EV H4 0x7a Rm, O;
    Vcvtqq2ps NP 1 EV F8 0x5b Rm, O;
    Vcvtqq2pd PF3 1 EV F8 0xe6 Rm, O;
    Vcvtuqq2ps PF2 1 EV F8 0x7a Rm, O;
    Vcvtuqq2pd PF3 1 EV F8 0x7a Rm, O;
    Vcvttps2udq NP 1 EV F4 0x78 Rm, O;
    Vcvttpd2udq NP 1 EV F8 0x78 Rm, O;
    Vcvttps2qq P66 1 EV H4 0x7a Rm, O;
    Vcvttpd2qq P66 1 EV F8 0x7a Rm, O;
    Vcvttps2uqq P66 1 EV H4 0x78 Rm, O;
    Vcvttpd2uqq P66 1 EV F8 0x78 Rm, O;
    Vcvtusi2ss PF3 1 EG SG 0x7b Rvm, O;
    Vcvtusi2sd PF2 1 EG SG 0x7b Rvm, O;
    Vpmovwb PF3 2 EV H0 0x30 Mr, O;
    Vpmovdb PF3 2 EV Q0 0x31 Mr, O;
    Vpmovdw PF3 2 EV H0 0x33 Mr, O;
    Vpmovqb PF3 2 EV E0 0x32 Mr, O;
    Vpmovqw PF3 2 EV Q0 0x34 Mr, O;
    Vpmovqd PF3 2 EV H0 0x35 Mr, O;
    VpbroadcastbGpr P66 2 EV M0 0x7a RmReg, O;
    VpbroadcastwGpr P66 2 EV M0 0x7b RmReg, O;
    VpbroadcastdGpr P66 2 EV M0 0x7c RmReg, O;
    VpbroadcastqGpr P66 2 EV M1 0x7c RmReg, O;
    Vpermt2ps P66 2 EV F4 0x7f Fma, O;
    Vpermi2ps P66 2 EV F4 0x77 Fma, O;
    Vshuff64x2 P66 3 EV F8 0x23 Rvm, I;
    Vinsertf64x4 P66 3 EV Y1 0x1a Rvm, I;
    Vextractf64x4 P66 3 EV Y1 0x1b Mr, I;
}

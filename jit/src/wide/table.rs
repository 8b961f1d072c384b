//! The VEX-encoded instructions, one row each: prefix, opcode map, W, opcode, and where the operands stand ([`Shape`]).

#![forbid(unsafe_code)]

/// Where operands stand, in the order of an instruction's operand list. The last one but for results may be memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Result in reg, operands in vvvv and rm.
    Rvm,
    /// Result in reg, operand in rm.
    Rm,
    /// The same; rm is a register.
    RmReg,
    /// Result (or memory) in rm, operand in reg.
    Mr,
    /// Result in vvvv, operand in rm; reg is part of the opcode.
    Vm(u8),
    /// Result in reg, operands in vvvv, in the immediate's high bits, and in rm.
    Rvim,
    /// Result in reg; operands in vvvv and rm, the amount in vvvv.
    Rmv,
    /// Result in reg, which is the first operand; the others in vvvv and rm.
    Fma,
    /// No result; operands in reg and rm.
    Test,
}

/// What an instruction's width decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// VEX.L: 256 bits; W is this.
    L(bool),
    /// VEX.W: 64 bits of a general register.
    W,
}

/// What is known of an instruction.
#[derive(Debug)]
pub struct Row {
    /// As assemblers call it, and what tells it from others of that name.
    #[cfg(test)]
    pub name: &'static str,
    /// VEX.pp.
    pub prefix: u8,
    /// VEX.mmmmm.
    pub map: u8,
    /// L and W.
    pub width: Width,
    /// The byte.
    pub opcode: u8,
    /// Operands.
    pub shape: Shape,
    /// An immediate byte follows.
    pub imm: bool,
}

/// No prefix, 66, F3, F2.
const NP: u8 = 0;
const P66: u8 = 1;
const PF3: u8 = 2;
const PF2: u8 = 3;
/// W of 0, of 1.
const W0: Width = Width::L(false);
const W1: Width = Width::L(true);
const G: Width = Width::W;
/// With an immediate, without.
const I: bool = true;
const O: bool = false;

macro_rules! rows {
    ($($op:ident $prefix:ident $map:literal $width:ident $opcode:literal $shape:expr, $imm:ident;)*) => {
        /// An instruction: a row of [`ROWS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the processor's manual has them")]
        pub enum Vex { $($op,)* }

        /// All of them, in the order of [`Vex`].
        pub const ROWS: &[Row] = {
            #[allow(clippy::enum_glob_use, reason = "a column of the table")]
            use Shape::*;
            &[$(Row {
                #[cfg(test)]
                name: stringify!($op),
                prefix: $prefix,
                map: $map,
                width: $width,
                opcode: $opcode,
                shape: $shape,
                imm: $imm,
            },)*]
        };
    };
}

impl Vex {
    /// Its row.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

rows! {
    // Floats.
    Vaddps NP 1 W0 0x58 Rvm, O;
    Vaddpd P66 1 W0 0x58 Rvm, O;
    Vaddss PF3 1 W0 0x58 Rvm, O;
    Vaddsd PF2 1 W0 0x58 Rvm, O;
    Vmulps NP 1 W0 0x59 Rvm, O;
    Vmulpd P66 1 W0 0x59 Rvm, O;
    Vmulss PF3 1 W0 0x59 Rvm, O;
    Vmulsd PF2 1 W0 0x59 Rvm, O;
    Vsubps NP 1 W0 0x5c Rvm, O;
    Vsubpd P66 1 W0 0x5c Rvm, O;
    Vsubss PF3 1 W0 0x5c Rvm, O;
    Vsubsd PF2 1 W0 0x5c Rvm, O;
    Vminps NP 1 W0 0x5d Rvm, O;
    Vminpd P66 1 W0 0x5d Rvm, O;
    Vdivps NP 1 W0 0x5e Rvm, O;
    Vdivpd P66 1 W0 0x5e Rvm, O;
    Vdivss PF3 1 W0 0x5e Rvm, O;
    Vdivsd PF2 1 W0 0x5e Rvm, O;
    Vmaxps NP 1 W0 0x5f Rvm, O;
    Vmaxpd P66 1 W0 0x5f Rvm, O;
    Vsqrtps NP 1 W0 0x51 Rm, O;
    Vsqrtpd P66 1 W0 0x51 Rm, O;
    Vsqrtss PF3 1 W0 0x51 Rvm, O;
    Vsqrtsd PF2 1 W0 0x51 Rvm, O;
    Vandps NP 1 W0 0x54 Rvm, O;
    Vorps NP 1 W0 0x56 Rvm, O;
    Vxorps NP 1 W0 0x57 Rvm, O;
    Vcmpps NP 1 W0 0xc2 Rvm, I;
    Vcmppd P66 1 W0 0xc2 Rvm, I;
    Vcmpss PF3 1 W0 0xc2 Rvm, I;
    Vcmpsd PF2 1 W0 0xc2 Rvm, I;
    Vucomiss NP 1 W0 0x2e Test, O;
    Vucomisd P66 1 W0 0x2e Test, O;
    Vtestps P66 2 W0 0x0e Test, O;
    Vroundps P66 3 W0 0x08 Rm, I;
    Vroundpd P66 3 W0 0x09 Rm, I;
    Vroundss P66 3 W0 0x0a Rvm, I;
    Vroundsd P66 3 W0 0x0b Rvm, I;
    Vfmadd213ps P66 2 W0 0xa8 Fma, O;
    Vfmadd213pd P66 2 W1 0xa8 Fma, O;
    Vfmadd213ss P66 2 W0 0xa9 Fma, O;
    Vfmadd213sd P66 2 W1 0xa9 Fma, O;
    Vfmadd231ps P66 2 W0 0xb8 Fma, O;
    Vfmadd231pd P66 2 W1 0xb8 Fma, O;
    Vfmadd231ss P66 2 W0 0xb9 Fma, O;
    Vfmadd231sd P66 2 W1 0xb9 Fma, O;
    // Conversions.
    Vcvtdq2ps NP 1 W0 0x5b Rm, O;
    Vcvttps2dq PF3 1 W0 0x5b Rm, O;
    Vcvtdq2pd PF3 1 W0 0xe6 Rm, O;
    Vcvttpd2dq P66 1 W0 0xe6 Rm, O;
    Vcvtps2pd NP 1 W0 0x5a Rm, O;
    Vcvtpd2ps P66 1 W0 0x5a Rm, O;
    Vcvtph2ps P66 2 W0 0x13 Rm, O;
    Vcvtps2ph P66 3 W0 0x1d Mr, I;
    Vcvtss2sd PF3 1 W0 0x5a Rvm, O;
    Vcvtsd2ss PF2 1 W0 0x5a Rvm, O;
    Vcvtsi2ss PF3 1 G 0x2a Rvm, O;
    Vcvtsi2sd PF2 1 G 0x2a Rvm, O;
    Vcvttss2si PF3 1 G 0x2c Rm, O;
    Vcvttsd2si PF2 1 G 0x2c Rm, O;
    Vpmovsxbw P66 2 W0 0x20 Rm, O;
    Vpmovsxbd P66 2 W0 0x21 Rm, O;
    Vpmovsxbq P66 2 W0 0x22 Rm, O;
    Vpmovsxwd P66 2 W0 0x23 Rm, O;
    Vpmovsxwq P66 2 W0 0x24 Rm, O;
    Vpmovsxdq P66 2 W0 0x25 Rm, O;
    Vpmovzxbw P66 2 W0 0x30 Rm, O;
    Vpmovzxbd P66 2 W0 0x31 Rm, O;
    Vpmovzxbq P66 2 W0 0x32 Rm, O;
    Vpmovzxwd P66 2 W0 0x33 Rm, O;
    Vpmovzxwq P66 2 W0 0x34 Rm, O;
    Vpmovzxdq P66 2 W0 0x35 Rm, O;
    // Integers.
    Vpaddb P66 1 W0 0xfc Rvm, O;
    Vpaddw P66 1 W0 0xfd Rvm, O;
    Vpaddd P66 1 W0 0xfe Rvm, O;
    Vpaddq P66 1 W0 0xd4 Rvm, O;
    Vpsubb P66 1 W0 0xf8 Rvm, O;
    Vpsubw P66 1 W0 0xf9 Rvm, O;
    Vpsubd P66 1 W0 0xfa Rvm, O;
    Vpsubq P66 1 W0 0xfb Rvm, O;
    Vpmullw P66 1 W0 0xd5 Rvm, O;
    Vpmulld P66 2 W0 0x40 Rvm, O;
    Vpmuludq P66 1 W0 0xf4 Rvm, O;
    Vpmuldq P66 2 W0 0x28 Rvm, O;
    Vpmaddwd P66 1 W0 0xf5 Rvm, O;
    Vpmaddubsw P66 2 W0 0x04 Rvm, O;
    Vpsadbw P66 1 W0 0xf6 Rvm, O;
    Vpand P66 1 W0 0xdb Rvm, O;
    Vpandn P66 1 W0 0xdf Rvm, O;
    Vpor P66 1 W0 0xeb Rvm, O;
    Vpxor P66 1 W0 0xef Rvm, O;
    Vpminsb P66 2 W0 0x38 Rvm, O;
    Vpminsw P66 1 W0 0xea Rvm, O;
    Vpminsd P66 2 W0 0x39 Rvm, O;
    Vpminub P66 1 W0 0xda Rvm, O;
    Vpminuw P66 2 W0 0x3a Rvm, O;
    Vpminud P66 2 W0 0x3b Rvm, O;
    Vpmaxsb P66 2 W0 0x3c Rvm, O;
    Vpmaxsw P66 1 W0 0xee Rvm, O;
    Vpmaxsd P66 2 W0 0x3d Rvm, O;
    Vpmaxub P66 1 W0 0xde Rvm, O;
    Vpmaxuw P66 2 W0 0x3e Rvm, O;
    Vpmaxud P66 2 W0 0x3f Rvm, O;
    Vpcmpeqb P66 1 W0 0x74 Rvm, O;
    Vpcmpeqw P66 1 W0 0x75 Rvm, O;
    Vpcmpeqd P66 1 W0 0x76 Rvm, O;
    Vpcmpeqq P66 2 W0 0x29 Rvm, O;
    Vpcmpgtb P66 1 W0 0x64 Rvm, O;
    Vpcmpgtw P66 1 W0 0x65 Rvm, O;
    Vpcmpgtd P66 1 W0 0x66 Rvm, O;
    Vpcmpgtq P66 2 W0 0x37 Rvm, O;
    // Shifts by an immediate, by the low quadword of an operand of 128 bits, lane by lane.
    VpsrlwImm P66 1 W0 0x71 Vm(2), I;
    VpsrawImm P66 1 W0 0x71 Vm(4), I;
    VpsllwImm P66 1 W0 0x71 Vm(6), I;
    VpsrldImm P66 1 W0 0x72 Vm(2), I;
    VpsradImm P66 1 W0 0x72 Vm(4), I;
    VpslldImm P66 1 W0 0x72 Vm(6), I;
    VpsrlqImm P66 1 W0 0x73 Vm(2), I;
    VpsllqImm P66 1 W0 0x73 Vm(6), I;
    VpsrldqImm P66 1 W0 0x73 Vm(3), I;
    Vpsrlw P66 1 W0 0xd1 Rvm, O;
    Vpsrld P66 1 W0 0xd2 Rvm, O;
    Vpsrlq P66 1 W0 0xd3 Rvm, O;
    Vpsraw P66 1 W0 0xe1 Rvm, O;
    Vpsrad P66 1 W0 0xe2 Rvm, O;
    Vpsllw P66 1 W0 0xf1 Rvm, O;
    Vpslld P66 1 W0 0xf2 Rvm, O;
    Vpsllq P66 1 W0 0xf3 Rvm, O;
    Vpsrlvd P66 2 W0 0x45 Rvm, O;
    Vpsrlvq P66 2 W1 0x45 Rvm, O;
    Vpsravd P66 2 W0 0x46 Rvm, O;
    Vpsllvd P66 2 W0 0x47 Rvm, O;
    Vpsllvq P66 2 W1 0x47 Rvm, O;
    // Lanes.
    Vpshufb P66 2 W0 0x00 Rvm, O;
    Vpshufd P66 1 W0 0x70 Rm, I;
    Vshufps NP 1 W0 0xc6 Rvm, I;
    Vunpcklps NP 1 W0 0x14 Rvm, O;
    Vunpckhps NP 1 W0 0x15 Rvm, O;
    Vunpcklpd P66 1 W0 0x14 Rvm, O;
    Vunpckhpd P66 1 W0 0x15 Rvm, O;
    Vpacksswb P66 1 W0 0x63 Rvm, O;
    Vpackuswb P66 1 W0 0x67 Rvm, O;
    Vpackssdw P66 1 W0 0x6b Rvm, O;
    Vpackusdw P66 2 W0 0x2b Rvm, O;
    Vpalignr P66 3 W0 0x0f Rvm, I;
    Vblendps P66 3 W0 0x0c Rvm, I;
    Vpblendw P66 3 W0 0x0e Rvm, I;
    Vblendvps P66 3 W0 0x4a Rvim, O;
    Vblendvpd P66 3 W0 0x4b Rvim, O;
    Vpblendvb P66 3 W0 0x4c Rvim, O;
    Vpermps P66 2 W0 0x16 Rvm, O;
    Vpermilps P66 2 W0 0x0c Rvm, O;
    Vpermq P66 3 W1 0x00 Rm, I;
    Vperm2f128 P66 3 W0 0x06 Rvm, I;
    Vinsertf128 P66 3 W0 0x18 Rvm, I;
    Vextractf128 P66 3 W0 0x19 Mr, I;
    Vbroadcastss P66 2 W0 0x18 Rm, O;
    Vbroadcastsd P66 2 W0 0x19 Rm, O;
    Vbroadcastf128 P66 2 W0 0x1a Rm, O;
    Vpbroadcastb P66 2 W0 0x78 Rm, O;
    Vpbroadcastw P66 2 W0 0x79 Rm, O;
    Vpbroadcastd P66 2 W0 0x58 Rm, O;
    Vpbroadcastq P66 2 W0 0x59 Rm, O;
    Vmovddup PF2 1 W0 0x12 Rm, O;
    Vinsertps P66 3 W0 0x21 Rvm, I;
    Vpinsrb P66 3 W0 0x20 Rvm, I;
    Vpinsrw P66 1 W0 0xc4 Rvm, I;
    Vpinsrd P66 3 W0 0x22 Rvm, I;
    Vpinsrq P66 3 W1 0x22 Rvm, I;
    Vpextrb P66 3 W0 0x14 Mr, I;
    Vpextrw P66 3 W0 0x15 Mr, I;
    Vpextrd P66 3 W0 0x16 Mr, I;
    Vpextrq P66 3 W1 0x16 Mr, I;
    Vmovmskps NP 1 W0 0x50 RmReg, O;
    // Moves.
    Vmovups NP 1 W0 0x10 Rm, O;
    VmovupsStore NP 1 W0 0x11 Mr, O;
    VmovssLoad PF3 1 W0 0x10 Rm, O;
    VmovssStore PF3 1 W0 0x11 Mr, O;
    VmovsdLoad PF2 1 W0 0x10 Rm, O;
    VmovsdStore PF2 1 W0 0x11 Mr, O;
    VmovhpsLoad NP 1 W0 0x16 Rvm, O;
    VmovhpsStore NP 1 W0 0x17 Mr, O;
    VmovdTo P66 1 W0 0x6e Rm, O;
    VmovqTo P66 1 W1 0x6e Rm, O;
    VmovdFrom P66 1 W0 0x7e Mr, O;
    VmovqFrom P66 1 W1 0x7e Mr, O;
    // General registers.
    Andn NP 2 G 0xf2 Rvm, O;
    Shlx P66 2 G 0xf7 Rmv, O;
    Sarx PF3 2 G 0xf7 Rmv, O;
    Shrx PF2 2 G 0xf7 Rmv, O;
}

//! Tests that encode every row of the table with registers and memory of all kinds, in both
//! encodings, and compare with iced-x86's decoder.

use super::{Buffer, EncodingOperands, RmOperand};
use crate::wide::inst::{MASKS, Size, VECTORS, VEX_VECTORS};
use crate::wide::table::{EncodingRow, OperandEncoding, ROWS, Tuple, Width};
use iced_x86::{Decoder, DecoderOptions, EncodingKind, Instruction, OpKind, Register};

/// Returns the mnemonic of a row without the suffix that distinguishes rows of one name.
fn mnemonic(row: &EncodingRow, evex: bool) -> String {
    let suffixes = ["Imm", "Load", "Store", "To", "From", "Gpr"];
    let name = suffixes.iter().find_map(|s| row.name.strip_suffix(s)).unwrap_or(row.name);
    let name = name.strip_prefix("KV").map_or(name.to_owned(), |rest| format!("V{rest}")).to_lowercase();
    if !evex {
        return name;
    }
    // EVEX has other names for these instructions.
    match &name[..] {
        "vpand" | "vpandn" | "vpor" | "vpxor" => name + "d",
        "vinsertf128" | "vextractf128" | "vbroadcastf128" => name.replace("f128", "f32x4"),
        "vroundps" | "vroundpd" | "vroundss" | "vroundsd" => name.replace("vround", "vrndscale"),
        _ => name,
    }
}

/// Returns the numbers of the register operands in an assembler's order.
fn registers(instruction: &Instruction) -> Vec<usize> {
    let operands = (0..instruction.op_count()).filter(|&i| instruction.op_kind(i) == OpKind::Register);
    operands.map(|i| instruction.op_register(i).number()).collect()
}

/// Returns the register numbers that the row predicts, in the order of [`registers`].
fn expected(row: &EncodingRow, form: &EncodingOperands) -> Vec<usize> {
    let (reg, vvvv) = (form.reg, form.vvvv);
    let rm = match form.place {
        RmOperand::Register(r) => Some(r),
        RmOperand::Memory { .. } | RmOperand::Constant(..) => None,
    };
    let own = match row.shape {
        OperandEncoding::Rvm | OperandEncoding::RvmReg | OperandEncoding::Fma => vec![Some(reg), Some(vvvv), rm],
        OperandEncoding::Rm | OperandEncoding::RmReg | OperandEncoding::Test | OperandEncoding::TestReg => {
            vec![Some(reg), rm]
        }
        OperandEncoding::Mr => vec![rm, Some(reg)],
        OperandEncoding::Vm(_) => vec![Some(vvvv), rm],
        OperandEncoding::Rvim => vec![Some(reg), Some(vvvv), rm, form.imm.map(|imm| imm >> 4)],
        OperandEncoding::Rmv => vec![Some(reg), rm, Some(vvvv)],
    };
    own.into_iter().flatten().map(usize::from).collect()
}

fn uses_vvvv(row: &EncodingRow) -> bool {
    use OperandEncoding::*;
    matches!(row.shape, Rvm | RvmReg | Fma | Vm(_) | Rvim | Rmv)
}

fn check(row: &EncodingRow, form: EncodingOperands, evex: bool) {
    let imm = row.imm.then_some(0x50).or((row.shape == OperandEncoding::Rvim).then_some(0xb0));
    let form = EncodingOperands { imm, vvvv: if uses_vvvv(row) { form.vvvv } else { 0 }, ..form };
    let mut buffer = Buffer::default();
    let encoded = match row.shape {
        OperandEncoding::Vm(digit) => EncodingOperands { reg: digit, ..form },
        _ => form,
    };
    match row.evex.filter(|_| evex) {
        Some(evex) => buffer.evex(row, evex, encoded),
        None => buffer.vex(row, encoded),
    }
    let mut decoder = Decoder::with_ip(64, &buffer.bytes, 0, DecoderOptions::NONE);
    let decoded = decoder.decode();
    let what = format!("{} {form:?} {:x?}: {decoded:?}", row.name, buffer.bytes);
    assert_eq!(decoded.len(), buffer.bytes.len(), "{what}");
    assert_eq!(decoded.code().encoding(), if evex { EncodingKind::EVEX } else { EncodingKind::VEX }, "{what}");
    assert_eq!(format!("{:?}", decoded.mnemonic()).to_lowercase(), mnemonic(row, evex), "{what}");
    assert_eq!(registers(&decoded), expected(row, &form), "{what}");
    // The size is that of the widest register; in some instructions only memory has that size.
    let register = |i| (decoded.op_kind(i) == OpKind::Register).then(|| decoded.op_register(i));
    let size = |r: Register| match row.width {
        Width::W | Width::NoneW => Size::from(r.is_gpr64()),
        _ if r.is_zmm() => Size::W512,
        _ => Size::from(r.is_ymm()),
    };
    let widest = (0..decoded.op_count()).filter_map(register).map(size).max();
    let memory = !matches!(form.place, RmOperand::Register(_));
    let fixed = matches!(row.width, Width::Fixed(..));
    assert!(widest == Some(form.size) || widest < Some(form.size) && memory || fixed, "{what}");
    let mask = decoded.op_mask();
    assert_eq!(if mask == Register::None { 0 } else { mask.number() as u8 }, form.mask, "{what}");
    assert_eq!((decoded.zeroing_masking(), decoded.is_broadcast()), (form.zero, form.broadcast), "{what}");
    if let RmOperand::Memory { base, index, disp } = form.place {
        assert_eq!(decoded.memory_base().number(), usize::from(base), "{what}");
        let number = (decoded.memory_index() != Register::None).then(|| decoded.memory_index().number() as u8);
        assert_eq!(number, index.map(|(i, _)| i), "{what}");
        assert_eq!(decoded.memory_index_scale(), index.map_or(1, |(_, scale)| 1 << scale), "{what}");
        assert_eq!(decoded.memory_displacement64() as i32, disp, "{what}");
        if let Some(Tuple::Full(_) | Tuple::Whole) = row.evex.map(|evex| evex.tuple).filter(|_| evex && !form.broadcast)
        {
            assert_eq!(decoded.memory_size().size(), form.size.bytes(), "{what}");
        }
    }
    if let RmOperand::Constant(..) = form.place {
        assert!(decoded.is_ip_rel_memory_operand(), "{what}");
        let [(at, .., behind)] = buffer.constants[..] else { panic!("{what}: a constant is missing") };
        assert_eq!(at + 4 + usize::from(behind), buffer.bytes.len(), "{what}");
    }
}

/// Instructions that have no form with a register, or none with memory.
const ONLY_MEMORY: [&str; 5] = ["VmovhpsLoad", "VmovhpsStore", "Vbroadcastf128", "KmovqStore", "VmovupsStore"];
/// Moves that have three operands when there is no memory operand.
const SCALAR_MOVES: [&str; 4] = ["VmovssLoad", "VmovssStore", "VmovsdLoad", "VmovsdStore"];

/// Returns the widths that an instruction has.
fn sizes(row: &EncodingRow, evex: bool) -> Vec<Size> {
    use Size::*;
    let large = ["Vpermps", "Vpermq", "Vperm2f128", "Vinsertf128", "Vextractf128", "Vbroadcastsd", "Vbroadcastf128"];
    let name = mnemonic(row, false);
    let scalar = (name.ends_with("ss") || name.ends_with("sd")) && !name.starts_with("vbroadcast");
    let starts = ["vpinsr", "vpextr", "vmovhps", "vmovd", "vmovq", "vinsertps"];
    let vectors = ["vmovddup", "vmovdqu8", "vmovdqu16"];
    let small = scalar || starts.iter().any(|s| name.starts_with(s)) && !vectors.contains(&&name[..]);
    let sizes: &[Size] = match row.width {
        Width::W | Width::NoneW => return vec![W128, W256],
        Width::Fixed(..) => return vec![W128],
        _ if ["Vinsertf64x4", "Vextractf64x4"].contains(&row.name) => &[W512],
        _ if large.contains(&row.name) || row.name == "Vshuff64x2" => &[W256, W512],
        _ if small => &[W128],
        _ => &[W128, W256, W512],
    };
    sizes.iter().copied().filter(|&size| evex || size < W512).collect()
}

fn places() -> Vec<RmOperand> {
    let memory = |base, index, disp| RmOperand::Memory { base, index, disp };
    let memories = [0, 4, 5, 12, 13].into_iter().flat_map(|base| {
        let indices = [None, Some((1, 0)), Some((9, 3))];
        indices.into_iter().flat_map(move |index| [0, 8, -200, 64, -8192, 8128].map(|disp| memory(base, index, disp)))
    });
    memories.chain([RmOperand::Constant(0, 0)]).collect()
}

fn check_all(
    row: &EncodingRow,
    evex: bool,
    numbers: &[[u8; 2]],
    registers: &[u8],
    change: impl Fn(EncodingOperands) -> Vec<EncodingOperands>,
) {
    let places = places();
    for size in sizes(row, evex) {
        for &[reg, vvvv] in numbers {
            let all = |place| {
                change(EncodingOperands::new(size, reg, vvvv, place, None))
                    .into_iter()
                    .for_each(|form| check(row, form, evex))
            };
            let low = |&&r: &&u8| r < limit(row, evex);
            if !ONLY_MEMORY.contains(&row.name) && !SCALAR_MOVES.contains(&row.name) {
                registers.iter().filter(low).for_each(|&r| all(RmOperand::Register(r)));
            }
            // VEX's shifts by an immediate exist only with registers.
            if !row.shape.takes_registers_only() && (evex || !matches!(row.shape, OperandEncoding::Vm(_))) {
                places.iter().for_each(|&place| all(place));
            }
        }
    }
}

/// Returns the number of registers available to all operands; where they are of several kinds, the
/// least number.
fn limit(row: &EncodingRow, evex: bool) -> u8 {
    let masks = matches!(row.width, Width::Fixed(..)) || row.name.starts_with("Vpmovm2");
    match (masks, evex) {
        (true, _) => MASKS,
        _ if row.shape == OperandEncoding::Mr && row.name.starts_with("Vpextr") || row.name.ends_with("Gpr") => {
            VEX_VECTORS
        }
        _ if matches!(row.width, Width::W | Width::NoneW) => VEX_VECTORS,
        _ if ["VmovdTo", "VmovdFrom", "VmovqTo", "VmovqFrom"].contains(&row.name) => VEX_VECTORS,
        _ if row.name.starts_with("Vpinsr") => VEX_VECTORS,
        (_, true) => VECTORS,
        (_, false) => VEX_VECTORS,
    }
}

/// Returns the number of registers available to reg, which holds the result.
fn result_limit(row: &EncodingRow, evex: bool) -> u8 {
    let compares = ["KVcmp", "Vpcmp", "Vptest", "Vpmovd2m"].iter().any(|start| row.name.starts_with(start));
    match row.width {
        Width::None if compares => MASKS,
        Width::Fixed(..) => MASKS,
        Width::W | Width::NoneW => VEX_VECTORS,
        _ if evex => VECTORS,
        _ => VEX_VECTORS,
    }
}

#[test]
fn every_row_decodes_to_its_name() {
    for row in ROWS.iter().filter(|row| row.has_vex()) {
        let mut numbers = vec![[0, 1], [9, 14], [3, 11], [15, 2]];
        numbers.iter_mut().flatten().for_each(|n| *n %= limit(row, false).min(result_limit(row, false)));
        check_all(row, false, &numbers, &[2, 7, 13], |form| vec![form]);
    }
}

/// Tests the EVEX encodings, also with a mask and with one broadcast lane of memory where the row
/// allows them.
#[test]
fn every_evex_row_decodes_to_its_name() {
    for (row, evex) in ROWS.iter().filter_map(|row| row.evex.map(|evex| (row, evex))) {
        let limits = [result_limit(row, true), if uses_vvvv(row) { VECTORS } else { 1 }];
        let numbers =
            [[0, 1], [9, 14], [19, 27], [31, 2], [7, 16]].map(|[a, b]: [u8; 2]| [a % limits[0], b % limits[1]]);
        let lane = match evex.tuple {
            Tuple::Full(lane) | Tuple::Part(_, lane) => lane,
            _ => 0,
        };
        let never = ["Vpsadbw", "VpsrldqImm", "Vpmovm2", "Vpmovd2m", "Vucomis", "VmovupsStore"];
        let masked = matches!(evex.tuple, Tuple::Full(_) | Tuple::Whole)
            && row.shape != OperandEncoding::RmReg
            && !never.iter().any(|start| row.name.starts_with(start));
        let makes_mask = limits[0] == MASKS;
        check_all(row, true, &numbers, &[2, 7, 13, 16, 23, 31], |form| {
            let mut forms = vec![form];
            if lane != 0 && !matches!(form.place, RmOperand::Register(_)) {
                forms.push(EncodingOperands { broadcast: true, ..form });
            }
            if masked {
                forms.push(EncodingOperands { mask: 3, ..form });
                if !makes_mask {
                    forms.push(EncodingOperands { mask: 7, zero: true, ..form });
                }
            }
            forms
        });
    }
}

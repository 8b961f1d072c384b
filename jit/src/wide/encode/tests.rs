//! Every row of the table with registers and memory of all kinds, against iced-x86's decoder.

use super::{Buffer, Place};
use crate::wide::table::{ROWS, Row, Shape, Width};
use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind, Register};

/// Without what tells rows of one name apart.
fn mnemonic(row: &Row) -> String {
    let suffixes = ["Imm", "Load", "Store", "To", "From"];
    let name = suffixes.iter().find_map(|s| row.name.strip_suffix(s)).unwrap_or(row.name);
    name.to_lowercase()
}

/// Numbers of the operands that are registers, in an assembler's order.
fn registers(instruction: &Instruction) -> Vec<usize> {
    let operands = (0..instruction.op_count()).filter(|&i| instruction.op_kind(i) == OpKind::Register);
    operands.map(|i| instruction.op_register(i).number()).collect()
}

/// The same as the row says.
fn expected(row: &Row, reg: u8, vvvv: u8, place: Place, imm: u8) -> Vec<usize> {
    let rm = match place {
        Place::Register(r) => Some(r),
        Place::Memory { .. } | Place::Constant(..) => None,
    };
    let own = match row.shape {
        Shape::Rvm | Shape::Fma => vec![Some(reg), Some(vvvv), rm],
        Shape::Rm | Shape::RmReg | Shape::Test => vec![Some(reg), rm],
        Shape::Mr => vec![rm, Some(reg)],
        Shape::Vm(_) => vec![Some(vvvv), rm],
        Shape::Rvim => vec![Some(reg), Some(vvvv), rm, Some(imm >> 4)],
        Shape::Rmv => vec![Some(reg), rm, Some(vvvv)],
    };
    own.into_iter().flatten().map(usize::from).collect()
}

fn check(row: &Row, wide: bool, [reg, vvvv]: [u8; 2], place: Place) {
    let imm = row.imm.then_some(0x50).or((row.shape == Shape::Rvim).then_some(0xb0));
    let digit = match row.shape {
        Shape::Vm(digit) => digit,
        _ => reg,
    };
    let uses_vvvv = matches!(row.shape, Shape::Rvm | Shape::Fma | Shape::Vm(_) | Shape::Rvim | Shape::Rmv);
    let mut buffer = Buffer::default();
    buffer.vex(row, wide, digit, if uses_vvvv { vvvv } else { 0 }, place, imm);
    let mut decoder = Decoder::with_ip(64, &buffer.bytes, 0, DecoderOptions::NONE);
    let decoded = decoder.decode();
    let what = format!("{} {place:?} {:x?}: {decoded:?}", row.name, buffer.bytes);
    assert_eq!(decoded.len(), buffer.bytes.len(), "{what}");
    assert_eq!(format!("{:?}", decoded.mnemonic()).to_lowercase(), mnemonic(row), "{what}");
    assert_eq!(registers(&decoded), expected(row, reg, vvvv, place, imm.unwrap_or(0)), "{what}");
    let large = |r: Register| if row.width == Width::W { r.is_gpr64() } else { r.is_ymm() };
    let any = (0..decoded.op_count()).any(|i| decoded.op_kind(i) == OpKind::Register && large(decoded.op_register(i)));
    // Memory is what is wide in some.
    assert!(any == wide || wide && !matches!(place, Place::Register(_)), "{what}");
    if let Place::Memory { base, index, disp } = place {
        assert_eq!(decoded.memory_base().number(), usize::from(base), "{what}");
        let number = (decoded.memory_index() != Register::None).then(|| decoded.memory_index().number() as u8);
        assert_eq!(number, index.map(|(i, _)| i), "{what}");
        assert_eq!(decoded.memory_index_scale(), index.map_or(1, |(_, scale)| 1 << scale), "{what}");
        assert_eq!(decoded.memory_displacement64() as i32, disp, "{what}");
    }
    if let Place::Constant(..) = place {
        assert!(decoded.is_ip_rel_memory_operand(), "{what}");
        let [(at, .., behind)] = buffer.constants[..] else { panic!("{what}: a constant is missing") };
        assert_eq!(at + 4 + usize::from(behind), buffer.bytes.len(), "{what}");
    }
}

#[test]
fn every_row_is_what_its_name_says() {
    let memory = |base, index, disp| Place::Memory { base, index, disp };
    let memories = [0, 4, 5, 12, 13].into_iter().flat_map(|base| {
        let indices = [None, Some((1, 0)), Some((9, 3))];
        indices.into_iter().flat_map(move |index| [0, 8, -200].map(|disp| memory(base, index, disp)))
    });
    let places: Vec<Place> = memories.chain([Place::Constant(0, 0)]).collect();
    // What has no form with a register, or none with memory.
    let only_memory = ["VmovhpsLoad", "VmovhpsStore", "Vbroadcastf128"];
    // With three operands there.
    let scalar_moves = ["VmovssLoad", "VmovssStore", "VmovsdLoad", "VmovsdStore"];
    // Of 256 bits only; of 128 bits only.
    let large = ["Vpermps", "Vpermq", "Vperm2f128", "Vinsertf128", "Vextractf128", "Vbroadcastsd", "Vbroadcastf128"];
    let small = |row: &Row| {
        let name = mnemonic(row);
        let scalar = (name.ends_with("ss") || name.ends_with("sd")) && !name.starts_with("vbroadcast");
        let starts = ["vpinsr", "vpextr", "vmovhps", "vmovd", "vmovq", "vinsertps"];
        scalar || starts.iter().any(|s| name.starts_with(s)) && name != "vmovddup"
    };
    for row in ROWS {
        let widths: &[bool] = match row.width {
            Width::W => &[false, true],
            Width::L(_) if large.contains(&row.name) => &[true],
            Width::L(_) if small(row) => &[false],
            Width::L(_) => &[false, true],
        };
        for &wide in widths {
            for numbers in [[0, 1], [9, 14], [3, 11], [15, 2]] {
                if !only_memory.contains(&row.name) && !scalar_moves.contains(&row.name) {
                    [2, 7, 13].into_iter().for_each(|r| check(row, wide, numbers, Place::Register(r)));
                }
                let takes_memory = row.shape != Shape::RmReg && !matches!(row.shape, Shape::Vm(_));
                if takes_memory {
                    places.iter().for_each(|&place| check(row, wide, numbers, place));
                }
            }
        }
    }
}

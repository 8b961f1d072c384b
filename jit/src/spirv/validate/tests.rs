//! Tests with one module per rule: a module that breaks the rule is refused for this reason, the
//! intact module is accepted.

use super::super::module::Module;

/// Returns the instructions of a small compute module: void main, a struct with one float, and a
/// function `float twice(float)` that is called.
fn module() -> Vec<Vec<u32>> {
    let text = |s: &str| -> Vec<u32> {
        let mut bytes = s.as_bytes().to_vec();
        bytes.resize((s.len() / 4 + 1) * 4, 0);
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    };
    let i = |op: u32, args: &[u32]| [&[(args.len() as u32 + 1) << 16 | op], args].concat();
    vec![
        i(17, &[1]),
        i(14, &[0, 1]),
        i(15, &[&[5, 1][..], &text("main"), &[20]].concat()),
        i(16, &[1, 17, 1, 1, 1]),
        i(5, &[&[1][..], &text("main")].concat()),
        i(71, &[10, 2]),
        i(72, &[10, 0, 35, 0]),
        i(71, &[20, 34, 0]),
        i(71, &[20, 33, 0]),
        i(19, &[2]),
        i(33, &[3, 2]),
        i(22, &[4, 32]),
        i(33, &[5, 4, 4]),
        i(33, &[56, 4]),
        i(20, &[6]),
        i(21, &[7, 32, 0]),
        i(43, &[7, 8, 0]),
        i(41, &[6, 9]),
        i(30, &[10, 4]),
        i(32, &[11, 12, 10]),
        i(32, &[12, 12, 4]),
        i(43, &[4, 13, 0]),
        i(32, &[14, 7, 4]),
        i(59, &[11, 20, 12]),
        i(54, &[2, 1, 0, 3]),
        i(248, &[30]),
        i(59, &[14, 31, 7]),
        i(65, &[12, 32, 20, 8]),
        i(61, &[4, 33, 32]),
        i(57, &[4, 34, 50, 33]),
        i(247, &[37, 0]),
        i(250, &[9, 36, 37]),
        i(248, &[36]),
        i(129, &[4, 38, 34, 13]),
        i(249, &[37]),
        i(248, &[37]),
        i(245, &[4, 39, 38, 36, 34, 30]),
        i(62, &[32, 39]),
        i(253, &[]),
        i(56, &[]),
        i(54, &[4, 50, 0, 5]),
        i(55, &[4, 51]),
        i(248, &[52]),
        i(129, &[4, 53, 51, 51]),
        i(254, &[53]),
        i(56, &[]),
    ]
}

fn verdict(insts: &[Vec<u32>]) -> String {
    let words = [&[0x0723_0203, 0x1_0300, 0, 60, 0][..], &insts.concat()].concat();
    Module::parse(&words).err().map_or_else(String::new, |e| e.to_string())
}

/// Replaces the instruction that begins with these words (without its length) and returns the
/// verdict on the module.
fn with(find: &[u32], new: &[&[u32]]) -> String {
    let mut insts = module();
    let at =
        insts.iter().position(|w| w[0] & 0xffff == find[0] && w[1..].starts_with(&find[1..])).expect("instruction");
    let new = new.iter().map(|w| [&[(w.len() as u32) << 16 | w[0]], &w[1..]].concat());
    insts.splice(at..=at, new);
    verdict(&insts)
}

#[test]
fn the_module_is_valid() {
    assert_eq!(verdict(&module()), "");
}

#[test]
fn broken_rules_are_reported() {
    for (find, new, want) in [
        // operands
        (&[19][..], &[&[19, 2, 2][..]][..], "too many operands"),
        (&[21, 7], &[&[21, 7, 32, 2]], "operand 1 is 2"),
        (&[61], &[&[61, 4, 33, 32, 2]], "too few"),
        (&[61], &[&[61, 4, 33, 32, 0x800]], "mask 0x800"),
        (&[14], &[&[14, 0, 9]], "MemoryModel 9"),
        (&[59, 11], &[&[59, 11, 20, 77]], "StorageClass 77"),
        (&[61], &[&[61, 4, 33, 32], &[349, 7, 55, 8, 9, 8]], "GroupOperation 9"),
        (&[43, 4], &[&[43, 4, 13, 0], &[52, 7, 55, 128, 8, 8, 8]], "too many operands"),
        (&[43, 4], &[&[43, 4, 13, 0], &[52, 7, 55, 128, 8]], "too few operands"),
        // layout
        (&[17], &[&[14, 0, 1]], "2 OpMemoryModel"),
        (&[14], &[], "0 OpMemoryModel"),
        (&[22], &[&[22, 4, 32], &[71, 4, 42]], "must precede"),
        (&[22], &[&[22, 4, 32], &[129, 4, 55, 13, 13]], "outside of functions"),
        (&[61], &[&[61, 4, 33, 32], &[20, 55]], "stands in a function"),
        (&[61], &[&[61, 4, 33, 32], &[59, 14, 55, 7]], "variables stand first"),
        (&[245], &[&[129, 4, 55, 13, 13], &[245, 4, 39, 38, 36, 34, 30]], "phis stand first"),
        // ids
        (&[129, 4, 53], &[&[129, 4, 53, 51, 59]], "%59 is not defined"),
        (&[5], &[&[5, 59, 0]], "%59 is not defined"),
        (&[61], &[&[61, 4, 33, 34]], "before its definition"),
        (&[129, 4, 53], &[&[129, 4, 53, 51, 4]], "%4 is no Value"),
        (&[129, 4, 53], &[&[129, 13, 53, 51, 51]], "%13 is no Type"),
        (&[57], &[&[57, 4, 34, 13, 33]], "%13 is no Function"),
        (&[22], &[&[22, 4, 32], &[30, 55, 12]], "before its definition"),
        (&[61], &[&[61, 4, 33, 32], &[5056, 7, 55, 4]], "%4 is no Value"),
        (&[43, 4], &[&[43, 4, 13, 0], &[4456, 55, 13, 8, 8, 8, 8]], "%13 is no Type"),
        // decorations
        (&[71, 10], &[&[71, 4, 2]], "Block: cannot be put there"),
        (&[71, 10], &[&[71, 10, 2, 7]], "Block: wrong number of operands"),
        (&[72], &[&[72, 10, 1, 35, 0]], "no such member"),
        (&[72], &[&[72, 4, 0, 35, 0]], "no structure"),
        (&[72], &[&[71, 10, 7, 16]], "MatrixStride: cannot be put there"),
        (&[71, 20, 34], &[&[71, 13, 34, 0]], "DescriptorSet: cannot be put there"),
        // functions
        (&[15], &[], "no entry point"),
        (&[15], &[&[15, 5, 50, 0]], "has parameters"),
        (&[15], &[&[15, 5, 1, 0, 13]], "%13 of its interface"),
        (&[16], &[&[16, 50, 17, 1, 1, 1]], "%50 is no entry point"),
        (&[54, 2], &[&[54, 2, 1, 0, 5]], "another type than its type says"),
        (&[54, 2], &[&[54, 2, 1, 0, 4]], "is no function's"),
        (&[54, 4], &[&[54, 4, 50, 0, 56]], "as many parameters"),
        (&[55], &[&[55, 7, 51]], "than the function's type says"),
        (&[254], &[&[253]], "gives back a value"),
        (&[254], &[&[254, 8]], "another type than the function"),
        (&[57], &[&[57, 4, 34, 50]], "function of another type"),
        (&[57], &[&[57, 4, 34, 50, 8]], "%8 is not of the parameter's type"),
        // memory
        (&[59, 11], &[&[59, 14, 20, 12]], "another storage class than its type"),
        (&[59, 14], &[&[59, 11, 31, 12]], "storage class that cannot be here"),
        (&[61], &[&[61, 4, 33, 32], &[61, 7, 57, 32]], "than what the pointer points to"),
        (&[61], &[&[61, 4, 33, 13]], "no pointer"),
        (&[62], &[&[62, 32, 8]], "than what the pointer points to"),
        (&[65], &[&[65, 14, 32, 20, 8]], "another storage class than its base"),
        (&[65], &[&[65, 12, 32, 20, 13]], "no constant that is"),
        (&[65], &[&[65, 12, 32, 20, 8, 8]], "without parts"),
        (&[65], &[&[65, 12, 32, 20]], "points to another type"),
        (&[30], &[&[30, 10, 2]], "made of void"),
        // dominance
        (&[62], &[&[62, 32, 38]], "does not dominate"),
        (&[129, 4, 53], &[&[129, 4, 53, 51, 33]], "another function"),
        (&[245], &[&[245, 4, 39, 38, 36]], "those that branch here"),
        (&[245], &[&[245, 4, 39, 38, 36, 34, 36]], "those that branch here"),
        (&[245], &[&[245, 4, 39, 38, 36, 38, 30]], "does not dominate"),
        (&[249], &[&[249, 30]], "first block of its function"),
        (&[247], &[&[247, 30, 0]], "header of a construct that does not dominate %30"),
        (
            &[129, 4, 38],
            &[&[129, 4, 38, 34, 13], &[246, 30, 37, 0]],
            "header of a construct that does not dominate %30",
        ),
    ] {
        let said = with(find, new);
        assert!(said.contains(want), "{find:?} → {new:?}: {said:?}, not {want:?}");
    }
}

#[test]
fn blocks_must_follow_their_dominators() {
    let mut insts = module();
    let at = |insts: &[Vec<u32>], label: u32| insts.iter().position(|w| w[..] == [2 << 16 | 248, label]).unwrap();
    let (then, merge) = (at(&insts, 36), at(&insts, 37));
    // The block that follows the merge block is moved before it.
    let end = insts.iter().position(|w| w[0] & 0xffff == 253).unwrap();
    insts[end] = vec![2 << 16 | 249, 40];
    let tail: Vec<Vec<u32>> = vec![vec![2 << 16 | 248, 40], vec![1 << 16 | 253]];
    let mut good = insts.clone();
    good.splice(end + 1..end + 1, tail.clone());
    assert_eq!(verdict(&good), "");
    insts.splice(merge..merge, tail);
    assert!(then < merge && verdict(&insts).contains("before one that dominates it"), "{}", verdict(&insts));
}

/// Returns the position of the `n`th instruction of an opcode in a module's words.
fn instruction(words: &[u32], opcode: u32, n: usize) -> usize {
    let mut at = 5;
    let mut met = 0;
    while words[at] & 0xffff != opcode || met < n {
        met += usize::from(words[at] & 0xffff == opcode);
        at += (words[at] >> 16) as usize;
    }
    at
}

#[test]
fn matrix_functions_match_their_instructions() {
    const REDUCE: u32 = 5366;
    const EACH: u32 = 5369;
    const TRANSPOSE: u32 = 5390;
    let bytes = include_bytes!("../../../tests/data/cooperative2.comp.spv");
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect();
    assert!(Module::parse(&words).is_ok());
    let word = |opcode: u32, n: usize, i: usize| words[instruction(&words, opcode, n) + i];
    // The last reduction is of integers, the first of floats.
    let last = count(&words, REDUCE) - 1;
    let changes = [
        ("mode 0x5", REDUCE, 0, 4, 5),
        ("mode 0x0", REDUCE, 0, 4, 0),
        ("another type", REDUCE, 0, 5, word(REDUCE, last, 5)),
        ("another type", REDUCE, 0, 5, word(EACH, 0, 4)),
        ("is no Function", REDUCE, 0, 5, word(REDUCE, 0, 3)),
        ("another component type", REDUCE, last, 3, word(REDUCE, 0, 3)),
        ("another type", EACH, 0, 4, word(REDUCE, 0, 5)),
        ("parameters of other types", EACH, 0, 5, word(EACH, 0, 6)),
        ("another use", TRANSPOSE, 0, 1, word(REDUCE, 0, 1)),
    ];
    for (reason, opcode, n, i, value) in changes {
        let mut words = words.clone();
        let at = instruction(&words, opcode, n) + i;
        words[at] = value;
        let error = Module::parse(&words).err().unwrap_or_else(|| panic!("{reason}: taken")).to_string();
        assert!(error.contains(reason), "{reason}: {error}");
    }
}

fn count(words: &[u32], opcode: u32) -> usize {
    let mut at = 5;
    let mut met = 0;
    while at < words.len() {
        met += usize::from(words[at] & 0xffff == opcode);
        at += (words[at] >> 16) as usize;
    }
    met
}

#[test]
fn debug_information_may_follow_a_block() {
    let text = |s: &str| -> Vec<u32> {
        let bytes: Vec<u8> = s.bytes().chain(std::iter::repeat_n(0, 4 - s.len() % 4)).collect();
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    };
    let instruction = |op: u32, args: &[u32]| [&[(args.len() as u32 + 1) << 16 | op], args].concat();
    // DXC ends a function with DebugNoScope; an instruction with semantics may not appear there.
    for (set, number, want) in [("NonSemantic.Shader.DebugInfo.100", 24, ""), ("GLSL.std.450", 31, "outside a block")] {
        let mut insts = module();
        insts.insert(1, instruction(11, &[&[57][..], &text(set)].concat()));
        let end = insts.iter().position(|w| w[0] & 0xffff == 56).expect("the end of a function");
        let args: &[u32] = if want.is_empty() { &[2, 58, 57, number] } else { &[4, 58, 57, number, 13] };
        insts.insert(end, instruction(12, args));
        let said = verdict(&insts);
        assert!(if want.is_empty() { said.is_empty() } else { said.contains(want) }, "{set}: {said}");
    }
}

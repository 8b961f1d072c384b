//! Tests of loads of words that have several elements each, and of vectors that are side by side:
//! in range as a whole, at both ends and outside.

use crate::emit_common::*;
use jit::ir::*;
use jit_test_support::interp;
use jit_test_support::ir_random::Rng;

/// Number of words of the buffer that is read.
const WORDS: u32 = 151;
/// Limit that is outside every buffer, and whose offset does not wrap.
const LIMIT: u32 = 1 << 20;

fn memory_of(rng: &mut Rng, base: u32) -> interp::Memory {
    let data = words((0..WORDS).map(|_| rng.next() as u32));
    memory(vec![data, words([base, 1, 2, 3]), words([7; 32 * 16])])
}

/// Returns the first element's number: near both ends of this many elements, and far away.
fn base(rng: &mut Rng, elements: u32) -> u32 {
    let near = rng.below(9) as u32;
    match rng.below(8) {
        0 => near,
        1 => elements - 1 - near,
        2 => near.wrapping_sub(9),
        3 => 0x7fff_fffc + near,
        4 => 0x3fff_fffc + near,
        _ => rng.below(elements as usize) as u32,
    }
}

/// Builds loads of the elements `base + lane * by[0] + lane / 4 * by[1]` of each lane; each word
/// has `1 << shift` elements.
fn packed(by: [u32; 2], shift: u32, plus: u32, masked: bool) -> Shader {
    shader([32, 1, 1], |b| {
        let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let [zero, two, four] = [0, 2, 4].map(|c| b.u32(c));
        let base = get(b, 1, zero, Ty::I32);
        let group = b.binary(Binary::LShr, lane, two);
        let mut element = base;
        for (v, by) in [(lane, by[0]), (group, by[1])] {
            let by = b.u32(by);
            let more = b.binary(Binary::IMul, v, by);
            element = b.binary(Binary::IAdd, element, more);
        }
        let body = |b: &mut Builder<'_>| {
            let [shift, limit, plus] = [shift, LIMIT, plus].map(|c| b.u32(c));
            let word = b.binary(Binary::LShr, element, shift);
            let word = b.binary(Binary::Bound, word, limit);
            let at = b.binary(Binary::IMul, word, four);
            let at = b.binary(Binary::IAdd, at, plus);
            let buffer = b.buffer(0, 0);
            let value = b.op(Op::Load(Space::Buffer, FLAGS), &[buffer, at], Ty::F32);
            put(b, 2, lane, value);
            Term::default()
        };
        if masked {
            let active = b.cmp(Cmp::INe, group, two);
            b.if_(active, &[], body, |_| Term::default());
        } else {
            body(b);
        }
    })
}

#[test]
fn unpacked_elements_match_their_words() {
    let mut rng = Rng::new(41);
    for case in 0..60 {
        let by = [[1, 0], [4, 1], [2, 0], [1, 3], [3, 0], [0, 5], [1, u32::MAX], [40, 0]][rng.below(8)];
        let shift = 1 + rng.below(3) as u32;
        let s = packed(by, shift, 4 * rng.below(3) as u32, case % 3 == 0);
        let memories: Vec<_> = (0..8)
            .map(|_| {
                let base = base(&mut rng, WORDS << shift);
                memory_of(&mut rng, base)
            })
            .collect();
        check_all(&s, &memories, [1, 1, 1]);
    }
}

/// Checks that an index may be a value without operands.
#[test]
fn window_index_may_be_a_builtin() {
    let s = shader([3, 8, 1], |b| {
        let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let column = b.builtin(Builtin::LocalInvocationId(0), Ty::I32);
        let [limit, four] = [LIMIT, 4].map(|c| b.u32(c));
        let index = b.binary(Binary::Bound, column, limit);
        let at = b.binary(Binary::IMul, index, four);
        let buffer = b.buffer(0, 0);
        let value = b.op(Op::Load(Space::Buffer, FLAGS), &[buffer, at], Ty::F32);
        put(b, 2, lane, value);
    });
    check(&s, &memory_of(&mut Rng::new(43), 0), [1, 1, 1]);
}

/// Builds loads of vectors of `n` components at `(base + lane * many + k) * n` words, for each k of
/// the list.
fn vectors(n: u32, many: u32, list: &[u32], masked: bool) -> Shader {
    shader([32, 1, 1], |b| {
        let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let zero = b.u32(0);
        let base = get(b, 1, zero, Ty::I32);
        let many = b.u32(many);
        let own = b.binary(Binary::IMul, lane, many);
        let root = b.binary(Binary::IAdd, base, own);
        let body = |b: &mut Builder<'_>| {
            let mut loaded = Vec::new();
            for &k in list {
                let [k, limit, bytes] = [k, LIMIT, 4 * n].map(|c| b.u32(c));
                let index = b.binary(Binary::IAdd, root, k);
                let index = b.binary(Binary::Bound, index, limit);
                let at = b.binary(Binary::IMul, index, bytes);
                let buffer = b.buffer(0, 0);
                let inst = b.inst(Op::Load(Space::Buffer, FLAGS), &[buffer, at], &vec![Ty::I32; n as usize]);
                loaded.extend(b.shader.insts[inst].results());
            }
            for (i, value) in (0..).zip(loaded) {
                let i = b.u32(32 * i);
                let to = b.binary(Binary::IAdd, lane, i);
                put(b, 2, to, value);
            }
            Term::default()
        };
        if masked {
            let five = b.u32(5);
            let active = b.cmp(Cmp::ULt, five, lane);
            b.if_(active, &[], body, |_| Term::default());
        } else {
            body(b);
        }
    })
}

#[test]
fn adjacent_vectors_are_checked_separately() {
    let mut rng = Rng::new(42);
    let lists: [(u32, &[u32]); 8] = [
        (2, &[0, 1]),
        (2, &[1, 0, 1]),
        (4, &[0, 1, 2, 3]),
        (4, &[2, 0, 3]),
        (4, &[0, 1]),
        (3, &[0, 1, 2]),
        (1, &[0, 1]),
        (8, &[0, 4, 1, 5]),
    ];
    for case in 0..48 {
        let (many, list) = lists[case % lists.len()];
        let n = [2, 4][case / lists.len() % 2];
        let s = vectors(n, many, list, case % 5 == 0);
        let memories: Vec<_> = (0..6)
            .map(|_| {
                let base = base(&mut rng, WORDS / n);
                memory_of(&mut rng, base)
            })
            .collect();
        check_all(&s, &memories, [1, 1, 1]);
    }
}

//! Loads of neighbours, and atomics of lanes that meet.

mod emit_common;

use base::abi::AtomicOp;
use emit_common::*;
use jit::ir::random::Rng;
use jit::ir::*;

/// Loads of a buffer or of workgroup memory at `(index of the lane + k) * scale + plus`, summed up by position.
struct Loads {
    space: Space,
    /// The index is loaded, or the lane's number times this.
    step: Option<u32>,
    /// What is added to the index of each load, and to its offset.
    words: Vec<(u32, u32)>,
    scale: u32,
    bound: Option<u64>,
    masked: bool,
}

const WORDS: u32 = 61;

fn loads(l: &Loads) -> Shader {
    let mut s = shader([24, 1, 1], |b| {
        let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let own = get(b, 0, lane, Ty::I32);
        if l.space == Space::Shared {
            for i in 0..WORDS.div_ceil(24) {
                let more = b.u32(24 * i);
                let index = b.binary(Binary::IAdd, lane, more);
                let value = get(b, 1, index, Ty::I32);
                let at = byte_offset(b, index);
                b.inst(Op::Store(Space::Shared, FLAGS), &[at, value], &[]);
            }
            b.inst(Op::Barrier, &[], &[]);
        }
        let root = match l.step {
            Some(step) => {
                let step = b.u32(step);
                b.binary(Binary::IMul, lane, step)
            }
            None => own,
        };
        let body = |b: &mut Builder<'_>| {
            let mut loaded = Vec::new();
            for (i, &(k, plus)) in l.words.iter().enumerate() {
                let (k, plus, scale) = (b.u32(k), b.u32(plus), b.u32(l.scale));
                let mut index = b.binary(Binary::IAdd, root, k);
                if let Some(bound) = l.bound {
                    let bound = b.u32(bound as u32);
                    index = b.binary(Binary::Bound, index, bound);
                }
                let scaled = b.binary(Binary::IMul, index, scale);
                let at = b.binary(Binary::IAdd, scaled, plus);
                let value = match l.space {
                    Space::Shared => b.op(Op::Load(Space::Shared, FLAGS), &[at], Ty::I32),
                    _ => {
                        let buffer = b.buffer(0, 1);
                        b.op(Op::Load(Space::Buffer, FLAGS), &[buffer, at], Ty::I32)
                    }
                };
                let (many, i) = (b.u32(l.words.len() as u32), b.u32(i as u32));
                let row = b.binary(Binary::IMul, lane, many);
                let place = b.binary(Binary::IAdd, row, i);
                loaded.push((place, value));
            }
            // A store ends a group.
            for (place, value) in loaded {
                put(b, 2, place, value);
            }
            Term::default()
        };
        if !l.masked {
            body(b);
            return;
        }
        let five = b.u32(5);
        let odd = b.binary(Binary::And, own, five);
        let zero = b.u32(0);
        let active = b.cmp(Cmp::INe, odd, zero);
        b.if_(active, &[], body, |_| Term::default());
    });
    if l.space == Space::Shared {
        s.workgroup_mut().expect("workgroups").shared_bytes = 4 * WORDS;
    }
    s
}

/// Each word is in range by itself: the interpreter looks at each load.
#[test]
fn neighbours_are_in_range_by_themselves() {
    let mut rng = Rng::new(7);
    for case in 0..60u32 {
        let count = 2 + rng.below(6);
        // Ascending neighbours mostly, others in between.
        let words = (0..count as u32).map(|i| match rng.below(6) {
            0 => (rng.below(40) as u32, 4 * rng.below(4) as u32),
            1 => (0, 4 * i),
            _ => (i, 0),
        });
        let l = Loads {
            words: words.collect(),
            space: if case % 3 == 0 { Space::Shared } else { Space::Buffer },
            step: [None, Some(2), Some(4), Some(1), Some(3)][rng.below(5)],
            scale: [4, 4, 4, 16, 1][rng.below(5)],
            // A limit lies outside of every buffer.
            bound: [None, Some(1 << 20), Some(0x1000_0001)][rng.below(3)],
            masked: rng.below(2) == 0,
        };
        let s = loads(&l);
        // Indices around both ends, and far away.
        let edge = [0, 1, u32::MAX, u32::MAX - 2, WORDS - 4, WORDS - 1, WORDS, 0x3fff_ffff, 0x8000_0000];
        let mut index = || match rng.below(3) {
            0 => edge[rng.below(edge.len())],
            _ => rng.below(WORDS as usize - 4) as u32,
        };
        let inside = case % 4 == 1;
        let indices: Vec<u32> = (0..24).map(|i| if inside { i * 2 } else { index() }).collect();
        let data: Vec<u32> = (0..WORDS).map(|i| 1000 + i).collect();
        check(&s, &memory(vec![words_of(&indices), words_of(&data), words_of(&[7; 24 * 8])]), [1, 1, 1]);
    }
}

fn words_of(list: &[u32]) -> Vec<u8> {
    words(list.iter().copied())
}

/// Lanes that meet at one address find what those before them left, whether all are active, some, or none.
#[test]
fn atomics_at_one_address_are_in_lane_order() {
    use AtomicOp::*;
    for op in [Add, Sub, SMin, UMin, SMax, UMax, And, Or, Xor, Exchange] {
        for space in [Space::Buffer, Space::Shared] {
            for (case, mask) in [u32::MAX, 0x5a_3c0f, 0x80_0000, 0].into_iter().enumerate() {
                for (at, seen) in [(8u32, true), (8, false), (4 * 14, true), (u32::MAX - 3, true)] {
                    let s = atomics(op, space, at, seen);
                    let mut rng = Rng::new(op as u64 + 1);
                    let values: Vec<u32> = (0..24).map(|_| rng.next() as u32 >> (8 * case)).collect();
                    let active: Vec<u32> = (0..24).map(|i| mask >> i & 1).collect();
                    let target: Vec<u32> = (0..14).map(|_| rng.next() as u32).collect();
                    let buffers = [&values[..], &target, &[9; 24], &active].map(words_of);
                    check(&s, &memory(buffers.to_vec()), [1, 1, 1]);
                }
            }
        }
    }
}

fn atomics(op: AtomicOp, space: Space, at: u32, seen: bool) -> Shader {
    let mut s = shader([24, 1, 1], |b| {
        let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let (value, active) = (get(b, 0, lane, Ty::I32), get(b, 3, lane, Ty::I32));
        let buffer = b.buffer(0, 1);
        let own = byte_offset(b, lane);
        if space == Space::Shared {
            let v = b.load(buffer, own, Ty::I32);
            b.inst(Op::Store(Space::Shared, FLAGS), &[own, v], &[]);
            b.inst(Op::Barrier, &[], &[]);
        }
        let (at, zero) = (b.u32(at), b.u32(0));
        let active = b.cmp(Cmp::INe, active, zero);
        b.if_(
            active,
            &[],
            |b| {
                let args = if space == Space::Buffer { vec![buffer, at, value] } else { vec![at, value] };
                let old = b.op(Op::Atomic(space, op), &args, Ty::I32);
                if seen {
                    put(b, 2, lane, old);
                }
                Term::default()
            },
            |_| Term::default(),
        );
        if space == Space::Shared {
            b.inst(Op::Barrier, &[], &[]);
            let v = b.op(Op::Load(Space::Shared, FLAGS), &[own], Ty::I32);
            b.store(buffer, own, v);
        }
    });
    s.workgroup_mut().expect("workgroups").shared_bytes = 4 * 14;
    s
}

/// Shifts and masks of what counts with the lanes: the same for a chunk, a step each, or anything, by the bits that are left.
#[test]
fn bits_of_places_and_counters() {
    for local_size in [[32, 1, 1], [16, 2, 1], [24, 1, 1], [12, 2, 1]] {
        for (start, step, scale) in
            [(0u32, 32u32, 1u32), (0, 12, 4), (8, 48, 1), (3, 16, 1), (0, 64, 3), (0, 8, 0x2000_0000)]
        {
            let s = shader(local_size, |b| {
                let place = b.builtin(Builtin::LocalInvocationId(0), Ty::I32);
                let index = b.builtin(Builtin::GlobalInvocationId(0), Ty::I32);
                let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
                let (zero, rounds) = (b.u32(0), b.u32(3));
                for source in [place, index, lane] {
                    let (start, scale) = (b.u32(start), b.u32(scale));
                    let scaled = b.binary(Binary::IMul, source, scale);
                    let first = b.binary(Binary::IAdd, scaled, start);
                    b.loop_(&[first, zero], &[], |b, label, p| {
                        let more = b.cmp(Cmp::ULt, p[1], rounds);
                        b.if_(more, &[], |_| Term::default(), |_| Term::Break(label, vec![]));
                        let mut hash = zero;
                        for (op, constant) in [
                            (Binary::LShr, 1u32),
                            (Binary::LShr, 2),
                            (Binary::LShr, 3),
                            (Binary::LShr, 5),
                            (Binary::LShr, 31),
                            (Binary::And, 3),
                            (Binary::And, 7),
                            (Binary::And, 15),
                            (Binary::And, 28),
                            (Binary::And, 8),
                            (Binary::And, 0xffff_fff8),
                        ] {
                            let constant = b.u32(constant);
                            let bits = b.binary(op, p[0], constant);
                            let many = b.u32(31);
                            hash = b.binary(Binary::IMul, hash, many);
                            hash = b.binary(Binary::IAdd, hash, bits);
                        }
                        let row = b.u32(64);
                        let row = b.binary(Binary::IMul, p[1], row);
                        let at = b.binary(Binary::IAdd, row, lane);
                        let old = get(b, 0, at, Ty::I32);
                        let new = b.binary(Binary::IAdd, old, hash);
                        put(b, 0, at, new);
                        let (step, one) = (b.u32(step), b.u32(1));
                        let next = b.binary(Binary::IAdd, p[0], step);
                        let round = b.binary(Binary::IAdd, p[1], one);
                        Term::Yield(vec![next, round])
                    });
                }
            });
            check(&s, &memory(vec![words_of(&[5; 3 * 64])]), [2, 1, 1]);
        }
    }
}

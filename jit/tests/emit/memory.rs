//! Tests of loads of neighbouring elements, and of atomics of lanes with equal addresses.

use crate::emit_common::*;
use base::abi::AtomicOp;
use jit::ir::*;
use jit_test_support::ir_random::Rng;

/// Loads of a buffer or of workgroup memory at `(index of the lane + k) * scale + plus`, summed up
/// by position.
struct Loads {
    ty: Ty,
    space: Space,
    /// Multiple of the lane's number that is the index; `None` if the index is loaded.
    step: Option<u32>,
    /// Amounts that are added to the index of each load, and to its offset.
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
                let mut value = match l.space {
                    Space::Shared => b.op(Op::Load(Space::Shared, FLAGS), &[at], l.ty),
                    _ => {
                        let buffer = b.buffer(0, 1);
                        b.op(Op::Load(Space::Buffer, FLAGS), &[buffer, at], l.ty)
                    }
                };
                if l.ty != Ty::I32 {
                    value = b.convert(Convert::UToU, value, Ty::I32);
                }
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

/// Checks that each word is in range by itself: the interpreter examines each load.
#[test]
fn vectorized_loads_check_each_element() {
    let mut rng = Rng::new(7);
    for case in 0..120u32 {
        let ty = [Ty::I32, Ty::I8, Ty::I16][case as usize / 2 % 3];
        let bytes = ty.bytes();
        let count = 2 + rng.below(6);
        // Mostly ascending neighbours, with others in between.
        let word = |i: u32, rng: &mut Rng| match rng.below(6) {
            0 => (rng.below(40) as u32, bytes * rng.below(4) as u32),
            1 => (0, bytes * i),
            _ => (i, 0),
        };
        let words = (0..count as u32).map(|i| word(i, &mut rng)).collect();
        let scale = [bytes, bytes, bytes, 4 * bytes, 1][rng.below(5)];
        let l = Loads {
            ty,
            words,
            space: if case % 3 == 0 { Space::Shared } else { Space::Buffer },
            step: [None, Some(2), Some(4), Some(1), Some(3)][rng.below(5)],
            scale,
            // A limit is outside every buffer, and its offset does not wrap.
            bound: [None, Some(1 << 20), Some(u64::from(0x4000_0000 / scale + 1))][rng.below(3)],
            masked: rng.below(2) == 0,
        };
        let s = loads(&l);
        // Indices around both ends, and far away.
        let end = 4 * WORDS / bytes;
        let edge = [0, 1, u32::MAX, u32::MAX - 2, end - 4, end - 1, end, 0x3fff_ffff, 0x8000_0000];
        let mut index = || match rng.below(3) {
            0 => edge[rng.below(edge.len())],
            _ => rng.below(end as usize - 4) as u32,
        };
        let inside = case % 4 == 1;
        let indices: Vec<u32> = (0..24).map(|i| if inside { i * 2 } else { index() }).collect();
        let data: Vec<u32> = (0..WORDS).map(|i| 0x0301_0501 * (1000 + i)).collect();
        check(&s, &memory(vec![words_of(&indices), words_of(&data), words_of(&[7; 24 * 8])]), [1, 1, 1]);
    }
}

fn words_of(list: &[u32]) -> Vec<u8> {
    words(list.iter().copied())
}

/// Masks of the active invocations out of 24.
const MASKS: [u32; 4] = [u32::MAX, 0x5a_3c0f, 0x80_0000, 0];

/// Checks that lanes at one address, or at a few, see the results of the lanes before them, if all,
/// some or no lanes are active.
#[test]
fn atomics_are_in_lane_order() {
    use AtomicOp::*;
    let all = [Add, Sub, SMin, UMin, SMax, UMax, And, Or, Xor, Exchange];
    for (op, ty) in all.into_iter().flat_map(|op| [(op, Ty::I32), (op, Ty::I64)]) {
        for space in [Space::Buffer, Space::Shared] {
            let places = [(8u32, true), (8, false), (4 * 14, true), (u32::MAX - 3, true)];
            for ((at, seen), apart) in places.into_iter().flat_map(|p| [(p, false), (p, true)]) {
                let s = atomics(ty, op, space, at, seen, apart);
                let memories = MASKS.into_iter().enumerate().map(|(case, mask)| {
                    let mut rng = Rng::new(op as u64 + 1);
                    let values: Vec<u32> = (0..48).map(|_| rng.next() as u32 >> (8 * case)).collect();
                    let active: Vec<u32> = (0..24).map(|i| mask >> i & 1).collect();
                    let target: Vec<u32> = (0..14).map(|_| rng.next() as u32).collect();
                    memory([&values[..], &target, &[9; 48], &active].map(words_of).to_vec())
                });
                check_all(&s, &memories.collect::<Vec<_>>(), [1, 1, 1]);
            }
        }
    }
}

/// Returns a number of a float type: small ones, so that sums are rounded but their order matters,
/// zeros of both signs and infinities.
fn float(rng: &mut Rng, ty: Ty) -> Vec<u8> {
    let value = match rng.below(12) {
        0 => 0.0,
        1 => -0.0,
        2 => f64::INFINITY,
        3 => 1.0 / 3.0,
        n => (rng.below(1 << 20) as f64 - 500_000.0) * 2f64.powi(-3 * n as i32),
    };
    let bits = eval::eval(&Op::Convert(Convert::FToF), Ty::F64, ty, &[value.to_bits()]).expect("a conversion")[0];
    bits.to_le_bytes()[..ty.bytes() as usize].to_vec()
}

/// Checks that operations on floats are done in the order of the lanes, at one address and at
/// several.
#[test]
fn float_atomics_are_in_lane_order() {
    use AtomicOp::*;
    for (op, ty) in
        [FAdd, FMin, FMax, Exchange].into_iter().flat_map(|op| [Ty::F16, Ty::F32, Ty::F64].map(|ty| (op, ty)))
    {
        for space in [Space::Buffer, Space::Shared] {
            for (at, seen) in [(8u32, true), (8, false), (4 * 14, true), (u32::MAX - 3, true)] {
                // One address for all, or a few for some lanes each.
                for apart in [false, true] {
                    let s = atomics(ty, op, space, at, seen, apart);
                    let memories = MASKS.map(|mask| {
                        let mut rng = Rng::new(op as u64 + 1);
                        let mut values = |n: usize| (0..n).flat_map(|_| float(&mut rng, ty)).collect::<Vec<u8>>();
                        let (values, target) = (values(24), values(56 / ty.bytes() as usize));
                        let active = words((0..24).map(|i| mask >> i & 1));
                        memory(vec![values, target, vec![9; 48 * 4], active])
                    });
                    check_all(&s, &memories, [1, 1, 1]);
                }
            }
        }
    }
}

/// Builds an atomic. With `apart`, every lane uses one of three neighbours.
fn atomics(ty: Ty, op: AtomicOp, space: Space, at: u32, seen: bool, apart: bool) -> Shader {
    let mut s = shader([24, 1, 1], |b| {
        let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let active = get(b, 3, lane, Ty::I32);
        let bytes = b.u32(ty.bytes());
        let element = b.binary(Binary::IMul, lane, bytes);
        let [values, buffer, found] = [0, 1, 2].map(|binding| b.buffer(0, binding));
        let value = b.load(values, element, ty);
        let own = byte_offset(b, lane);
        if space == Space::Shared {
            let v = b.load(buffer, own, Ty::I32);
            b.inst(Op::Store(Space::Shared, FLAGS), &[own, v], &[]);
            b.inst(Op::Barrier, &[], &[]);
        }
        let (mut at, zero) = (b.u32(at), b.u32(0));
        if apart {
            let three = b.u32(3);
            let place = b.binary(Binary::UMod, lane, three);
            let place = b.binary(Binary::IMul, place, bytes);
            at = b.binary(Binary::IAdd, at, place);
        }
        let active = b.cmp(Cmp::INe, active, zero);
        b.if_(
            active,
            &[],
            |b| {
                let args = if space == Space::Buffer { vec![buffer, at, value] } else { vec![at, value] };
                let old = b.op(Op::Atomic(space, op), &args, ty);
                if seen {
                    b.store(found, element, old);
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

/// Context of an atomic.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Around {
    Nothing,
    /// Inside a condition.
    Condition,
    LoadBefore,
    LoadBehind,
    StoreBehind,
    Fence,
    /// The result of the atomic is used.
    Result,
    /// Another operation, on other cells.
    Other,
    OneCell,
}

/// Builds a shader in which every invocation, of several workgroups, changes a cell that the first
/// buffer names.
fn counting(op: AtomicOp, around: Around) -> Shader {
    shader([64, 1, 1], |b| {
        let index = b.builtin(Builtin::GlobalInvocationId(0), Ty::I32);
        let own = byte_offset(b, index);
        let [places, cells, out] = [0, 1, 2].map(|binding| b.buffer(0, binding));
        let (place, zero) = (b.load(places, own, Ty::I32), b.u32(0));
        let mut at = byte_offset(b, place);
        if around == Around::OneCell {
            at = zero;
        }
        let mut value = index;
        if around == Around::LoadBefore {
            value = b.load(cells, zero, Ty::I32);
            value = b.binary(Binary::And, value, zero);
            value = b.binary(Binary::IAdd, value, index);
        }
        let atomic = |b: &mut Builder<'_>, op| b.op(Op::Atomic(Space::Buffer, op), &[cells, at, value], Ty::I32);
        match around {
            Around::Condition => {
                let odd = b.u32(1);
                let odd = b.binary(Binary::And, index, odd);
                let odd = b.cmp(Cmp::INe, odd, zero);
                b.if_(
                    odd,
                    &[],
                    |b| {
                        atomic(b, op);
                        Term::default()
                    },
                    |_| Term::default(),
                );
            }
            _ => {
                let old = atomic(b, op);
                if around == Around::Result {
                    b.store(out, own, old);
                }
            }
        }
        match around {
            Around::LoadBehind => {
                let seen = b.load(places, zero, Ty::I32);
                let seen = b.binary(Binary::And, seen, zero);
                b.store(out, own, seen);
            }
            Around::StoreBehind => b.store(out, own, index),
            Around::Fence => {
                b.inst(Op::MemoryBarrier, &[], &[]);
            }
            Around::Other => {
                let other = if op == AtomicOp::Add { AtomicOp::Sub } else { AtomicOp::Add };
                b.op(Op::Atomic(Space::Buffer, other), &[out, at, value], Ty::I32);
            }
            _ => {}
        }
    })
}

#[test]
fn unobservable_atomics_are_deferred() {
    use Around::*;
    for op in base::deferred_atomics::OPERATIONS {
        for (around, kept) in [
            (Nothing, true),
            (Condition, true),
            (LoadBefore, true),
            (LoadBehind, false),
            (StoreBehind, false),
            (Fence, false),
            (Result, false),
            (Other, false),
            (OneCell, false),
        ] {
            let s = counting(op, around);
            for cells in [7usize, 700] {
                let mut rng = Rng::new(cells as u64);
                let places = (0..256).map(|_| rng.below(cells + 3) as u32).collect::<Vec<_>>();
                let target = (0..cells).map(|_| rng.next() as u32 >> 8).collect::<Vec<_>>();
                TABLES_BEGUN.set(0);
                check(&s, &memory(vec![words(places), words(target), words(vec![0; 256])]), [4, 1, 1]);
                assert_eq!(TABLES_BEGUN.get() != 0, kept, "{op:?} {around:?}");
            }
        }
    }
}

/// Checks shifts and masks of affine values, which are uniform, affine or varying depending on the
/// bits that are left.
#[test]
fn positions_and_counters_have_known_bits() {
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

/// Elements of an array that lanes access.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// All lanes access this element.
    Element(u32),
    /// Consecutive lanes access elements this far apart.
    Steps(u32),
    /// Each lane accesses an index of its own.
    Scattered,
}

/// A copy of `n` elements per lane from one space to another.
#[derive(Clone, Copy, Debug)]
struct Copy {
    ty: Ty,
    n: usize,
    from: Space,
    to: Space,
    source: Place,
    target: Place,
    /// Bytes that are added to all offsets: a multiple of the element's size.
    plus: u32,
    masked: bool,
}

/// Number of bytes of the memory that copies read and write.
const COPIED: u32 = 24 * 16 + 5;
/// Number of invocations.
const COPIERS: u32 = 24;

fn copies(c: Copy) -> Shader {
    let mut s = shader([COPIERS, 1, 1], |b| {
        let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let own = get(b, 0, lane, Ty::I32);
        if c.from == Space::Shared {
            for i in 0..(COPIED / 4).div_ceil(COPIERS) {
                let more = b.u32(COPIERS * i);
                let index = b.binary(Binary::IAdd, lane, more);
                let value = get(b, 1, index, Ty::I32);
                let at = byte_offset(b, index);
                b.inst(Op::Store(Space::Shared, FLAGS), &[at, value], &[]);
            }
            b.inst(Op::Barrier, &[], &[]);
        }
        let offset = |b: &mut Builder<'_>, place: Place| {
            let index = match place {
                Place::Element(i) => b.u32(i),
                Place::Steps(step) => {
                    let step = b.u32(step);
                    b.binary(Binary::IMul, lane, step)
                }
                Place::Scattered => own,
            };
            let (bytes, plus) = (b.u32(c.ty.bytes()), b.u32(c.plus));
            let scaled = b.binary(Binary::IMul, index, bytes);
            b.binary(Binary::IAdd, scaled, plus)
        };
        let body = |b: &mut Builder<'_>| {
            let flags = MemFlags { align: c.ty.bytes() as u8, ..FLAGS };
            let at = offset(b, c.source);
            let args = match c.from {
                Space::Buffer => vec![b.buffer(0, 1), at],
                _ => vec![at],
            };
            let inst = b.inst(Op::Load(c.from, flags), &args, &vec![c.ty; c.n]);
            let values: Vec<Value> = b.shader.insts[inst].results().collect();
            let at = offset(b, c.target);
            let mut args = match c.to {
                Space::Buffer => vec![b.buffer(0, 2), at],
                _ => vec![at],
            };
            args.extend(values);
            b.inst(Op::Store(c.to, flags), &args, &[]);
            Term::default()
        };
        if c.masked {
            let five = b.u32(5);
            let odd = b.binary(Binary::And, own, five);
            let zero = b.u32(0);
            let active = b.cmp(Cmp::INe, odd, zero);
            b.if_(active, &[], body, |_| Term::default());
        } else {
            body(b);
        }
        if c.to == Space::Shared {
            b.inst(Op::Barrier, &[], &[]);
            for i in 0..(COPIED / 4).div_ceil(COPIERS) {
                let more = b.u32(COPIERS * i);
                let index = b.binary(Binary::IAdd, lane, more);
                let at = byte_offset(b, index);
                let value = b.op(Op::Load(Space::Shared, FLAGS), &[at], Ty::I32);
                put(b, 2, index, value);
            }
        }
    });
    if [c.from, c.to].contains(&Space::Shared) {
        s.workgroup_mut().expect("workgroups").shared_bytes = COPIED;
    }
    s
}

/// Checks copies of elements of every size from and to every space, at offsets of every shape: the
/// interpreter executes one lane after the other.
#[test]
fn elements_of_every_size_are_copied() {
    let mut rng = Rng::new(11);
    for case in 0..280usize {
        let ty = [Ty::I8, Ty::I16, Ty::F16, Ty::I32, Ty::I64, Ty::F64, Ty::F32][case % 7];
        let n = 1 + case / 7 % 4;
        let place = |rng: &mut Rng| match rng.below(4) {
            0 => Place::Element(rng.below(40) as u32),
            1 => Place::Scattered,
            _ => Place::Steps([n as u32, n as u32, 1, 2, 5][rng.below(5)]),
        };
        let from = [Space::Buffer, Space::Buffer, Space::Shared, Space::Push][rng.below(4)];
        let copy = Copy {
            ty,
            n,
            from,
            to: if from != Space::Shared && rng.below(3) == 0 { Space::Shared } else { Space::Buffer },
            source: place(&mut rng),
            target: place(&mut rng),
            plus: [0, 0, 1, 3, u32::MAX][rng.below(5)].min(COPIED).wrapping_mul(ty.bytes()),
            masked: rng.below(3) == 0,
        };
        let s = copies(copy);
        // Indices inside, around the end, and far away.
        let last = COPIED / ty.bytes();
        let index = |rng: &mut Rng| match rng.below(4) {
            0 => [0, last - 1, last, last + 1, u32::MAX, 0x1000_0000][rng.below(6)],
            _ => rng.below(last as usize) as u32,
        };
        let indices: Vec<u32> = (0..COPIERS).map(|_| index(&mut rng)).collect();
        let bytes = |rng: &mut Rng| (0..COPIED).map(|_| rng.next() as u8).collect::<Vec<u8>>();
        let mut memory = memory(vec![words(indices), bytes(&mut rng), bytes(&mut rng)]);
        memory.push = (0..base::limits::MAX_PUSH_CONSTANTS).map(|_| rng.next() as u8).collect();
        let after = std::panic::catch_unwind(|| check(&s, &memory, [1, 1, 1]));
        let after = after.unwrap_or_else(|_| panic!("case {case}: {copy:?}"));
        if copy.plus == 0 && matches!(copy.target, Place::Steps(_)) && !copy.masked {
            assert_ne!(after[2], memory.buffers[2].1, "case {case}: {copy:?} copies nothing");
        }
    }
}

/// Checks private arrays of every type, at uniform and varying indices; also with barriers in
/// between.
#[test]
fn private_arrays_of_every_type() {
    for ty in [Ty::I8, Ty::I16, Ty::F16, Ty::I32, Ty::F32, Ty::I64, Ty::F64] {
        for (len, barrier) in [(3, false), (7, true), (40, false), (5, true)] {
            let s = shader([COPIERS, 1, 1], |b| {
                let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
                let own = get(b, 0, lane, Ty::I32);
                let var = b.var(ty, len, "array");
                let other = b.var(ty, 2, "behind");
                let flags = MemFlags { align: ty.bytes() as u8, ..FLAGS };
                let bytes = b.u32(ty.bytes());
                let at = b.binary(Binary::IMul, lane, bytes);
                let from = b.buffer(0, 1);
                let value = b.op(Op::Load(Space::Buffer, flags), &[from, at], ty);
                let (zero, one) = (b.u32(0), b.u32(1));
                let never = b.var_load(other, Some(one));
                b.var_store(var, Some(own), value);
                b.var_store(var, Some(zero), value);
                if barrier {
                    b.inst(Op::Barrier, &[], &[]);
                }
                let index = b.binary(Binary::IAdd, own, one);
                let [x, y] = [own, index].map(|i| b.var_load(var, Some(i)));
                let to = b.buffer(0, 2);
                let three = b.u32(3 * ty.bytes());
                let at = b.binary(Binary::IMul, lane, three);
                b.inst(Op::Store(Space::Buffer, flags), &[to, at, x, y, never], &[]);
            });
            let mut rng = Rng::new(u64::from(len));
            let indices: Vec<u32> = (0..COPIERS).map(|_| rng.below(len as usize + 3) as u32).collect();
            let data: Vec<u8> = (0..COPIERS * ty.bytes()).map(|_| 1 + rng.below(100) as u8).collect();
            let memory = memory(vec![words(indices), data, vec![0xcc; (COPIERS * 3 * ty.bytes()) as usize]]);
            let after = check(&s, &memory, [1, 1, 1]);
            assert!(after[2].iter().any(|&b| b != 0) && after[2].iter().all(|&b| b != 0xcc), "{ty:?}");
        }
    }
}

/// Checks that a load vector behind its bounds check stays there, also if it is invariant in a
/// loop: optimization must not make it read out of bounds.
#[test]
fn load_in_loop_stays_behind_its_check() {
    const READ_ONLY: MemFlags = MemFlags { readonly: true, volatile: false, align: 4 };
    let s = shader([8, 1, 1], |b| {
        let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let zero = b.u32(0);
        let (count, far) = (get(b, 0, zero, Ty::I32), b.u32(1));
        let far = get(b, 0, far, Ty::I32);
        let index = b.binary(Binary::IAdd, far, lane);
        let at = byte_offset(b, index);
        let sum = b.loop_(&[zero, zero], &[Ty::I32], |b, label, p| {
            let more = b.cmp(Cmp::ULt, p[0], count);
            let done = b.unary(Unary::Not, more);
            b.break_if(done, label, &[p[1]]);
            let buffer = b.buffer(0, 1);
            let value = b.op(Op::Load(Space::Buffer, READ_ONLY), &[buffer, at], Ty::I32);
            let one = b.u32(1);
            let (next, sum) = (b.binary(Binary::IAdd, p[0], one), b.binary(Binary::IAdd, p[1], value));
            Term::Yield(vec![next, sum])
        });
        put(b, 2, lane, sum[0]);
    });
    let buffers = |count, far| memory(vec![words([count, far]), words(0..16), words([7; 8])]);
    for (count, far, want) in [(3, 1, [3, 6, 9, 12, 15, 18, 21, 24]), (3, 1 << 28, [0; 8]), (0, 0x0fff_ffff, [0; 8])] {
        assert_eq!(as_words(&run_memory(&s, &buffers(count, far), 8, [1; 3])[2]), want, "{count} {far:#x}");
    }
}

//! Tests of loads and stores at rows and columns of tiles, whose lanes have constant offsets that
//! are not adjacent.

use crate::emit_common::*;
use jit::ir::*;
use jit_test_support::ir_random::Rng;

/// A copy of a tile: the elements of every invocation, from one pattern of offsets to another.
#[derive(Clone, Debug)]
struct Tile {
    size: [u32; 3],
    ty: Ty,
    n: u32,
    /// True if loads, and true if stores, access workgroup memory.
    shared: [bool; 2],
    from: Pattern,
    to: Pattern,
    /// True if each element is a separate load, adjacent to the others.
    apart: bool,
    masked: bool,
}

/// An offset in bytes: the position times `by`, the quotient and remainder of the number by `1 <<
/// shift` times `tile`, and `plus`.
#[derive(Clone, Debug)]
struct Pattern {
    by: [i32; 3],
    shift: u32,
    tile: [i32; 2],
    plus: i32,
    bound: bool,
}

/// Size in bytes of source and target.
const BYTES: u32 = 2048;

fn flags(ty: Ty) -> MemFlags {
    MemFlags { align: ty.bytes() as u8, ..FLAGS }
}

fn offset(b: &mut Builder<'_>, p: &Pattern) -> Value {
    let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
    let mut sum = b.u32(p.plus as u32);
    let mut add = |b: &mut Builder<'_>, v: Value, by: i32| {
        let by = b.u32(by as u32);
        let product = b.binary(Binary::IMul, v, by);
        sum = b.binary(Binary::IAdd, sum, product);
    };
    for (c, by) in (0..).zip(p.by) {
        let place = b.builtin(Builtin::LocalInvocationId(c), Ty::I32);
        add(b, place, by);
    }
    let (shift, mask) = (b.u32(p.shift), b.u32((1 << p.shift) - 1));
    let (row, column) = (b.binary(Binary::LShr, index, shift), b.binary(Binary::And, index, mask));
    add(b, row, p.tile[0]);
    add(b, column, p.tile[1]);
    if p.bound {
        let bound = b.u32(0x4400_0001);
        sum = b.binary(Binary::Bound, sum, bound);
    }
    sum
}

fn copy(t: &Tile) -> Shader {
    let mut s = shader(t.size, |b| {
        let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let (four, total) = (b.u32(4), t.size.iter().product::<u32>());
        if t.shared[0] {
            for i in 0..(BYTES / 4).div_ceil(total) {
                let more = b.u32(total * i);
                let index = b.binary(Binary::IAdd, lane, more);
                let value = get(b, 0, index, Ty::I32);
                let at = b.binary(Binary::IMul, index, four);
                b.inst(Op::Store(Space::Shared, FLAGS), &[at, value], &[]);
            }
            b.inst(Op::Barrier, &[], &[]);
        }
        let types = vec![t.ty; t.n as usize];
        let body = |b: &mut Builder<'_>| {
            let (from, to) = (offset(b, &t.from), offset(b, &t.to));
            let source = b.buffer(0, 0);
            let load = |b: &mut Builder<'_>, at: Value, types: &[Ty]| {
                let space = if t.shared[0] { Space::Shared } else { Space::Buffer };
                let args = if t.shared[0] { vec![at] } else { vec![source, at] };
                let inst = b.inst(Op::Load(space, flags(t.ty)), &args, types);
                b.shader.insts[inst].results().collect::<Vec<Value>>()
            };
            let values = if t.apart {
                let mut values = Vec::new();
                for i in 0..t.n {
                    let more = b.u32(i * t.ty.bytes());
                    let at = b.binary(Binary::IAdd, from, more);
                    values.extend(load(b, at, &types[..1]));
                }
                values
            } else {
                load(b, from, &types)
            };
            let target = b.buffer(0, 1);
            let (space, mut args) = match t.shared[1] {
                true => (Space::Shared, vec![to]),
                false => (Space::Buffer, vec![target, to]),
            };
            args.extend(values);
            b.inst(Op::Store(space, flags(t.ty)), &args, &[]);
            Term::default()
        };
        if t.masked {
            let wanted = get(b, 2, lane, Ty::I32);
            let zero = b.u32(0);
            let active = b.cmp(Cmp::INe, wanted, zero);
            b.if_(active, &[], body, |_| Term::default());
        } else {
            body(b);
        }
        if t.shared[1] {
            b.inst(Op::Barrier, &[], &[]);
            for i in 0..(BYTES / 4).div_ceil(total) {
                let more = b.u32(total * i);
                let index = b.binary(Binary::IAdd, lane, more);
                let at = b.binary(Binary::IMul, index, four);
                let value = b.op(Op::Load(Space::Shared, FLAGS), &[at], Ty::I32);
                put(b, 1, index, value);
            }
        }
    });
    let workgroup = s.workgroup_mut().expect("workgroups");
    workgroup.shared_bytes = BYTES;
    s
}

#[test]
fn tile_copies_match_the_interpreter() {
    let mut rng = Rng::new(23);
    let sizes = [
        [4, 4, 1],
        [2, 8, 2],
        [8, 4, 1],
        [32, 1, 1],
        [4, 2, 3],
        [12, 1, 1],
        [1, 4, 4],
        [2, 2, 8],
        [3, 8, 1],
        [4, 6, 2],
    ];
    let mut copied = 0;
    for case in 0..240 {
        let ty = [Ty::I32, Ty::I32, Ty::F32, Ty::I8, Ty::I16, Ty::I64][rng.below(6)];
        let n = [1, 1, 2, 3, 4][rng.below(5)];
        let unit = ty.bytes() as i32;
        let pattern = |rng: &mut Rng| {
            let step = |rng: &mut Rng| [0, 0, 1, 2, 4, -1, -4, 5, 17, 33][rng.below(10)] * unit * [1, n][rng.below(2)];
            let by = std::array::from_fn(|_| if rng.below(2) == 0 { step(rng) } else { 0 });
            Pattern {
                by,
                shift: 1 + rng.below(3) as u32,
                tile: std::array::from_fn(|_| if rng.below(3) != 0 { step(rng) } else { 0 }),
                // The offset is in the middle, near the ends or outside.
                plus: [1024, 1024, 1024, 0, 8, -8, BYTES as i32 - 16, 0x3fff_fff8][rng.below(8)],
                bound: rng.below(3) == 0,
            }
        };
        let (from, to) = (pattern(&mut rng), pattern(&mut rng));
        let t = Tile {
            size: sizes[case % sizes.len()],
            ty,
            n: n as u32,
            shared: [rng.below(3) == 0, rng.below(4) == 0],
            from,
            to,
            apart: rng.below(2) == 0,
            masked: rng.below(3) == 0,
        };
        // Loads of words that other invocations store have no defined order, so they are avoided.
        let t = Tile { shared: [t.shared[0] && !t.shared[1], t.shared[1]], ..t };
        let s = copy(&t);
        let mut bytes = || (0..BYTES).map(|_| 1 + (rng.next() % 255) as u8).collect::<Vec<u8>>();
        let (source, target) = (bytes(), bytes());
        let wanted = words((0..64).map(|i| u32::from(i % 8 != 5 || case % 2 == 0)));
        let memory = memory(vec![source, target.clone(), wanted]);
        let after = std::panic::catch_unwind(|| check(&s, &memory, [1, 1, 1]));
        let after = after.unwrap_or_else(|_| panic!("case {case}: {t:?}"));
        copied += u32::from(!t.shared[1] && after[1] != target);
    }
    assert!(copied > 80, "{copied} copies");
}

//! Compute modules that grow with a number, made to find steps of compilation that take more than
//! proportional time or memory.
//!
//! There is one storage buffer (set 0, binding 0) of floats; each invocation reads and writes the
//! element of its global index.

const MAIN: u32 = 1;
const VOID: u32 = 2;
const BOOL: u32 = 3;
const FUNCTION: u32 = 4;
const F32: u32 = 5;
const U32: u32 = 6;
const EXT: u32 = 7;
const V3: u32 = 8;
const ARRAY: u32 = 9;
const BLOCK: u32 = 10;
const BLOCK_PTR: u32 = 11;
const BUFFER: u32 = 12;
const F32_PTR: u32 = 13;
const V3_PTR: u32 = 14;
const ID: u32 = 15;
const ZERO: u32 = 16;
const ONE: u32 = 17;
const TWO: u32 = 18;
const STEP: u32 = 19;
const LENGTH: u32 = 20;
const LARGE: u32 = 21;
const NULL: u32 = 22;
const LEAF: u32 = 23;
const PRIVATE_PTR: u32 = 24;
const STRUCT: u32 = 25;
const VARIABLE: u32 = 26;
const FIRST: u32 = 100;

/// Number of scalars of the large composite.
const LEAVES: u32 = 1 << 14;

/// The construct whose number or size grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A chain of arithmetic.
    Straight,
    /// Values that are all live at once.
    Wide,
    /// A chain of sines of sines.
    Sin,
    /// Ifs one after another, with one phi.
    Ifs,
    /// Ifs one after another, with 64 phis.
    IfMany,
    /// Loops one after another.
    Loops,
    /// One loop whose phis pass values on, by one position in each round.
    Shift,
    /// Cases of a switch with a phi behind it.
    Switch,
    /// Cases of a switch that fall into each other, with a store in each.
    SwitchFall,
    /// Copies of a large composite.
    CopyObject,
    /// Insertions into a large composite.
    Insert,
    /// Extractions from a large composite.
    Extract,
    /// Nested Ifs, with one phi.
    Nest,
    /// Constants that are added up.
    Constants,
    /// Members of one structure, each stored and loaded.
    Members,
    /// Private variables, each stored and loaded.
    Variables,
    /// Variables of the function, each stored and loaded.
    Locals,
    /// Functions that are called once.
    Functions,
    /// Names and decorations.
    Names,
    /// Functions that call the next one `n` times, ten levels.
    Calls,
    /// Array types, each with its pointer and a variable.
    Types,
    /// Matrices that are multiplied.
    Matrices,
    /// Access chains, four levels deep, with a load and a store each.
    Chains,
    /// Members of a buffer's block, each decorated, named and loaded.
    Block,
    /// Elements of a constant array.
    ConstantArray,
    /// Texels that are read and written.
    Images,
    /// Arithmetic and conversions of 8, 16 and 64 bits.
    Widths,
    /// Cooperative matrices of 16×16 that are multiplied.
    Cooperative,
    /// Reductions over the subgroup.
    Subgroups,
    /// Barriers one after another, with something live over each.
    Barriers,
    /// Loops inside of loops, with a barrier in each.
    BarrierLoops,
    /// Structures of two of the previous structure, `n` levels.
    Doubled,
    /// A constant array of 2 to the `n` elements, inside an array of as many elements.
    Huge,
}

pub const KINDS: [Kind; 30] = [
    Kind::Straight,
    Kind::Wide,
    Kind::Sin,
    Kind::Ifs,
    Kind::IfMany,
    Kind::Loops,
    Kind::Shift,
    Kind::Switch,
    Kind::SwitchFall,
    Kind::CopyObject,
    Kind::Insert,
    Kind::Extract,
    Kind::Nest,
    Kind::Constants,
    Kind::Members,
    Kind::Variables,
    Kind::Locals,
    Kind::Functions,
    Kind::Names,
    Kind::Types,
    Kind::Matrices,
    Kind::Chains,
    Kind::Block,
    Kind::ConstantArray,
    Kind::Images,
    Kind::Widths,
    Kind::Cooperative,
    Kind::Subgroups,
    Kind::Barriers,
    Kind::BarrierLoops,
];

struct Asm {
    words: Vec<u32>,
    next: u32,
}

impl Asm {
    fn i(&mut self, op: u32, args: &[u32]) {
        self.words.push((args.len() as u32 + 1) << 16 | op);
        self.words.extend_from_slice(args);
    }
    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }
    /// Adds an instruction with result type and result.
    fn r(&mut self, op: u32, ty: u32, args: &[u32]) -> u32 {
        let id = self.id();
        self.i(op, &[&[ty, id], args].concat());
        id
    }
    fn label(&mut self) -> u32 {
        let id = self.id();
        self.i(248, &[id]);
        id
    }
}

/// Returns the module of a kind and size.
pub fn module(kind: Kind, n: u32) -> Vec<u32> {
    let mut a = Asm { words: Vec::new(), next: FIRST };
    let text = |s: &str| -> Vec<u32> {
        let mut bytes = s.as_bytes().to_vec();
        bytes.resize((s.len() / 4 + 1) * 4, 0);
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    };
    a.i(17, &[1]);
    let (capabilities, extension): (&[u32], _) = match kind {
        Kind::Subgroups => (&[61, 63], None),
        // Float16, Float64, Int64, Int16, Int8.
        Kind::Widths => (&[9, 10, 11, 22, 39], None),
        // VulkanMemoryModel, CooperativeMatrixKHR.
        Kind::Cooperative => (&[5345, 6022], Some("SPV_KHR_cooperative_matrix")),
        _ => (&[], None),
    };
    capabilities.iter().for_each(|&c| a.i(17, &[c]));
    extension.iter().for_each(|name| a.i(10, &text(name)));
    a.i(11, &[&[EXT][..], &text("GLSL.std.450")].concat());
    a.i(14, &[0, if kind == Kind::Cooperative { 3 } else { 1 }]);
    a.i(15, &[&[5, MAIN][..], &text("main"), &[ID]].concat());
    a.i(16, &[MAIN, 17, 64, 1, 1]);
    if kind == Kind::Names {
        (0..n).for_each(|_| a.i(5, &[&[MAIN][..], &text("a name that is not short")].concat()));
        (0..n).for_each(|i| a.i(71, &[STEP + (i & 1), 0]));
    }
    if kind == Kind::Block {
        (0..n).for_each(|i| a.i(6, &[&[STRUCT, i][..], &text("member")].concat()));
        (0..n).for_each(|i| a.i(72, &[STRUCT, i, 35, 4 * i]));
        [&[STRUCT, 2][..], &[VARIABLE, 34, 0], &[VARIABLE, 33, 1]].iter().for_each(|d| a.i(71, d));
    }
    if kind == Kind::Images {
        [&[VARIABLE, 34, 5][..], &[VARIABLE, 33, 0]].iter().for_each(|d| a.i(71, d));
    }
    for decoration in [&[ARRAY, 6, 4][..], &[BLOCK, 2], &[BUFFER, 34, 0], &[BUFFER, 33, 0], &[ID, 11, 28]] {
        a.i(71, decoration);
    }
    a.i(72, &[BLOCK, 0, 35, 0]);
    a.i(19, &[VOID]);
    a.i(20, &[BOOL]);
    a.i(33, &[FUNCTION, VOID]);
    a.i(22, &[F32, 32]);
    a.i(21, &[U32, 32, 0]);
    a.i(23, &[V3, U32, 3]);
    a.i(29, &[ARRAY, F32]);
    a.i(30, &[BLOCK, ARRAY]);
    a.i(32, &[BLOCK_PTR, 12, BLOCK]);
    a.i(59, &[BLOCK_PTR, BUFFER, 12]);
    a.i(32, &[F32_PTR, 12, F32]);
    a.i(32, &[V3_PTR, 1, V3]);
    a.i(59, &[V3_PTR, ID, 1]);
    a.i(43, &[U32, ZERO, 0]);
    a.i(43, &[F32, ONE, 1.5f32.to_bits()]);
    a.i(43, &[F32, TWO, 2.25f32.to_bits()]);
    a.i(43, &[U32, STEP, 1 << 16]);
    a.i(43, &[U32, LENGTH, LEAVES]);
    a.i(28, &[LARGE, F32, LENGTH]);
    a.i(46, &[LARGE, NULL]);
    a.i(33, &[LEAF, F32, F32]);
    let mut list = globals(&mut a, kind, n);
    a.i(54, &[VOID, MAIN, 0, FUNCTION]);
    let label = a.label();
    if kind == Kind::Locals {
        list = (0..n).map(|_| a.r(59, PRIVATE_PTR, &[7])).collect();
    }
    let g = a.r(61, V3, &[ID]);
    let x = a.r(81, U32, &[g, 0]);
    let p = a.r(65, F32_PTR, &[BUFFER, ZERO, x]);
    let v = a.r(61, F32, &[p]);
    let result = match kind {
        Kind::Constants => list.iter().fold(v, |v, &c| a.r(129, F32, &[v, c])),
        Kind::Members => stored(&mut a, &list, true, v),
        Kind::Variables | Kind::Locals => stored(&mut a, &list, false, v),
        Kind::Functions => list.iter().fold(v, |v, &f| a.r(57, F32, &[f, v])),
        Kind::Types => list.chunks(2).fold(v, |v, pair| {
            let place = a.r(65, PRIVATE_PTR, &[pair[1], x]);
            a.i(62, &[place, v]);
            let loaded = a.r(61, F32, &[place]);
            a.r(129, F32, &[v, loaded])
        }),
        Kind::Block => list.iter().fold(v, |v, &i| {
            let place = a.r(65, F32_PTR, &[VARIABLE, i]);
            let loaded = a.r(61, F32, &[place]);
            a.r(129, F32, &[v, loaded])
        }),
        _ => body(&mut a, kind, n, Start { label, x, p, v }, &list),
    };
    a.i(62, &[p, result]);
    a.i(253, &[]);
    a.i(56, &[]);
    if kind == Kind::Calls {
        callees(&mut a, n);
    }
    if kind == Kind::Functions {
        list.iter().for_each(|&f| leaf(&mut a, f));
    }
    let mut words = vec![0x0723_0203, 0x0001_0300, 0, a.next + 1, 0];
    words.append(&mut a.words);
    words
}

/// Adds the globals that a kind needs before its function and returns them: constants, variables,
/// members' numbers, or ids of functions to come.
fn globals(a: &mut Asm, kind: Kind, n: u32) -> Vec<u32> {
    match kind {
        Kind::Constants => (0..n).map(|i| a.r(43, F32, &[(i as f32).to_bits()])).collect(),
        Kind::Members => {
            let members: Vec<u32> = [&[STRUCT][..], &vec![F32; n as usize]].concat();
            a.i(30, &members);
            a.i(32, &[PRIVATE_PTR, 6, F32]);
            let pointer = a.id();
            a.i(32, &[pointer, 6, STRUCT]);
            a.i(59, &[pointer, VARIABLE, 6]);
            (0..n).map(|i| a.r(43, U32, &[i])).collect()
        }
        Kind::Variables => {
            a.i(32, &[PRIVATE_PTR, 6, F32]);
            (0..n).map(|_| a.r(59, PRIVATE_PTR, &[6])).collect()
        }
        Kind::Locals => {
            a.i(32, &[PRIVATE_PTR, 7, F32]);
            Vec::new()
        }
        Kind::Functions => (0..n).map(|_| a.id()).collect(),
        _ => more_globals(a, kind, n),
    }
}

/// Adds globals as [`globals`] does, for the other kinds.
fn more_globals(a: &mut Asm, kind: Kind, n: u32) -> Vec<u32> {
    let variable = |a: &mut Asm, class: u32, ty: u32| {
        let pointer = a.id();
        a.i(32, &[pointer, class, ty]);
        a.i(59, &[pointer, VARIABLE, class]);
    };
    match kind {
        Kind::Types => {
            a.i(32, &[PRIVATE_PTR, 6, F32]);
            let list = (0..n).flat_map(|i| {
                let (length, array, pointer) = (a.r(43, U32, &[2 + i % 7]), a.id(), a.id());
                a.i(28, &[array, F32, length]);
                a.i(32, &[pointer, 6, array]);
                [array, a.r(59, pointer, &[6])]
            });
            list.collect()
        }
        Kind::Matrices => {
            let (vector, matrix) = (a.id(), a.id());
            a.i(23, &[vector, F32, 4]);
            a.i(24, &[matrix, vector, 4]);
            a.i(46, &[matrix, VARIABLE]);
            vec![vector, matrix]
        }
        Kind::Chains => {
            let four = a.r(43, U32, &[4]);
            let mut ty = F32;
            for _ in 0..2 {
                let (array, structure) = (a.id(), a.id());
                a.i(28, &[array, ty, four]);
                a.i(30, &[structure, array]);
                ty = structure;
            }
            a.i(32, &[PRIVATE_PTR, 6, F32]);
            variable(a, 6, ty);
            Vec::new()
        }
        Kind::Block => {
            let members: Vec<u32> = [&[STRUCT][..], &vec![F32; n as usize]].concat();
            a.i(30, &members);
            variable(a, 12, STRUCT);
            (0..n).map(|i| a.r(43, U32, &[i])).collect()
        }
        Kind::ConstantArray => {
            let (length, array) = (a.r(43, U32, &[n]), a.id());
            a.i(28, &[array, F32, length]);
            let values: Vec<u32> = (0..n).map(|i| a.r(43, F32, &[(i as f32).to_bits()])).collect();
            let constant = a.r(44, array, &values);
            a.i(32, &[PRIVATE_PTR, 6, F32]);
            let pointer = a.id();
            a.i(32, &[pointer, 6, array]);
            a.i(59, &[pointer, VARIABLE, 6, constant]);
            Vec::new()
        }
        Kind::Images => {
            // 2D, a storage image of R32f.
            a.i(25, &[STRUCT, F32, 1, 0, 0, 0, 2, 3]);
            variable(a, 0, STRUCT);
            let (v2, v4) = (a.id(), a.id());
            a.i(23, &[v2, U32, 2]);
            a.i(23, &[v4, F32, 4]);
            vec![v2, v4]
        }
        Kind::Widths => {
            let list = [(22, 16), (22, 64), (21, 64), (21, 8), (21, 16)].map(|(op, bits)| {
                let id = a.id();
                if op == 22 {
                    a.i(op, &[id, bits])
                } else {
                    a.i(op, &[id, bits, 1])
                }
                id
            });
            list.into()
        }
        Kind::Cooperative => {
            let [scope, side, first, second, sum] = [3, 16, 0, 1, 2].map(|n| a.r(43, U32, &[n]));
            let list = [first, second, sum].map(|usage| {
                let id = a.id();
                a.i(4456, &[id, F32, scope, side, side, usage]);
                id
            });
            list.into()
        }
        Kind::Subgroups | Kind::Barriers | Kind::BarrierLoops => {
            vec![a.r(43, U32, &[3]), a.r(43, U32, &[2]), a.r(43, U32, &[0x108])]
        }
        Kind::Doubled => {
            let mut ty = F32;
            for _ in 0..n {
                let structure = a.id();
                a.i(30, &[structure, ty, ty]);
                ty = structure;
            }
            variable(a, 6, ty);
            vec![ty]
        }
        Kind::Huge => {
            let length = a.r(43, U32, &[1 << n]);
            let (array, outer) = (a.id(), a.id());
            a.i(28, &[array, F32, length]);
            a.i(28, &[outer, array, length]);
            let null = a.r(46, outer, &[]);
            vec![outer, null]
        }
        _ => Vec::new(),
    }
}

/// Stores to all variables, or members of one, and adds up the loaded values.
fn stored(a: &mut Asm, list: &[u32], members: bool, v: u32) -> u32 {
    let places: Vec<u32> =
        list.iter().map(|&i| if members { a.r(65, PRIVATE_PTR, &[VARIABLE, i]) } else { i }).collect();
    for (k, &place) in places.iter().enumerate() {
        let new = a.r(133, F32, &[v, if k % 2 == 0 { ONE } else { TWO }]);
        a.i(62, &[place, new]);
    }
    places.iter().fold(v, |v, &place| {
        let loaded = a.r(61, F32, &[place]);
        a.r(129, F32, &[v, loaded])
    })
}

struct Start {
    label: u32,
    x: u32,
    p: u32,
    v: u32,
}

fn body(a: &mut Asm, kind: Kind, n: u32, s: Start, list: &[u32]) -> u32 {
    let Start { label, x, p, v } = s;
    match kind {
        Kind::Straight => (0..n).fold(v, |v, i| a.r(129 + (i & 1) * 4, F32, &[v, if i % 3 == 0 { TWO } else { ONE }])),
        Kind::Wide => {
            let mut list = vec![v];
            (0..n).for_each(|i| list.push(a.r(133, F32, &[v, list[i as usize]])));
            list.iter().rev().fold(v, |v, &n| a.r(129, F32, &[v, n]))
        }
        Kind::Sin => (0..n).fold(v, |v, _| a.r(12, F32, &[EXT, 13, v])),
        Kind::Ifs => ifs(a, n, label, vec![v])[0],
        Kind::IfMany => {
            let first = (0..64).map(|_| a.r(133, F32, &[v, v])).collect();
            ifs(a, n, label, first).iter().fold(v, |v, &n| a.r(129, F32, &[v, n]))
        }
        Kind::Loops => (0..n).fold((v, label), |(v, before), _| looped(a, before, x, &[v])).0,
        Kind::Shift => {
            let first: Vec<u32> = (0..n).map(|i| if i == 0 { v } else { ONE }).collect();
            looped(a, label, x, &first).0
        }
        Kind::Switch => switch(a, n, (label, x), v, None),
        Kind::SwitchFall => switch(a, n, (label, x), v, Some(p)),
        Kind::CopyObject => {
            let last = (0..n).fold(NULL, |c, _| a.r(83, LARGE, &[c]));
            let e = a.r(81, F32, &[last, 5]);
            a.r(129, F32, &[v, e])
        }
        Kind::Insert => {
            let last = (0..n).fold(NULL, |c, i| a.r(82, LARGE, &[v, c, i % LEAVES]));
            let e = a.r(81, F32, &[last, 5]);
            a.r(129, F32, &[v, e])
        }
        Kind::Extract => (0..n).fold(v, |v, i| {
            let e = a.r(81, F32, &[NULL, i % LEAVES]);
            if i % 64 == 0 { a.r(129, F32, &[v, e]) } else { v }
        }),
        Kind::Nest => nest(a, n, label, v),
        Kind::Names => v,
        Kind::Calls => a.r(57, F32, &[FIRST - 10, v]),
        Kind::Matrices => {
            let [vector, matrix] = [list[0], list[1]];
            let column = a.r(80, vector, &[v, ONE, TWO, v]);
            let first = a.r(147, matrix, &[column, column]);
            let last = (0..n).fold(first, |m, _| a.r(146, matrix, &[m, first]));
            a.r(81, F32, &[last, 1, 2])
        }
        Kind::Chains => (0..n).fold(v, |v, i| {
            let index = if i % 2 == 0 { ZERO } else { x };
            let place = a.r(65, PRIVATE_PTR, &[VARIABLE, ZERO, index, ZERO, index]);
            a.i(62, &[place, v]);
            let loaded = a.r(61, F32, &[place]);
            a.r(129, F32, &[v, loaded])
        }),
        Kind::ConstantArray => {
            let place = a.r(65, PRIVATE_PTR, &[VARIABLE, x]);
            let loaded = a.r(61, F32, &[place]);
            a.r(129, F32, &[v, loaded])
        }
        Kind::Images => {
            let [v2, v4] = [list[0], list[1]];
            let image = a.r(61, STRUCT, &[VARIABLE]);
            let at = a.r(80, v2, &[x, ZERO]);
            (0..n).fold(v, |v, _| {
                let texel = a.r(98, v4, &[image, at]);
                let red = a.r(81, F32, &[texel, 0]);
                let sum = a.r(129, F32, &[v, red]);
                let new = a.r(80, v4, &[sum, sum, sum, sum]);
                a.i(99, &[image, at, new]);
                sum
            })
        }
        Kind::Widths => (0..n).fold(v, |v, _| {
            let [half, double, long, byte, short] = [0, 1, 2, 3, 4].map(|i| list[i]);
            let h = a.r(115, half, &[v]);
            let h = a.r(129, half, &[h, h]);
            let d = a.r(115, double, &[h]);
            let d = a.r(133, double, &[d, d]);
            let l = a.r(110, long, &[d]);
            let l = a.r(132, long, &[l, l]);
            let b = a.r(114, byte, &[l]);
            let b = a.r(128, byte, &[b, b]);
            let s = a.r(114, short, &[b]);
            let s = a.r(128, short, &[s, s]);
            a.r(111, F32, &[s])
        }),
        Kind::Cooperative => {
            let [first, second, sum] = [0, 1, 2].map(|i| a.r(80, list[i], &[v]));
            let last = (0..n).fold(sum, |sum, _| a.r(4459, list[2], &[first, second, sum]));
            a.r(81, F32, &[last, 0])
        }
        Kind::Subgroups => (0..n).fold(v, |v, _| a.r(350, F32, &[list[0], 0, v])),
        Kind::Barriers => (0..n).fold(v, |v, _| {
            barrier(a, list);
            a.r(133, F32, &[v, TWO])
        }),
        Kind::BarrierLoops => barrier_loops(a, n, (label, x), v, list),
        Kind::Doubled => {
            let loaded = a.r(61, list[0], &[VARIABLE]);
            let copy = a.r(83, list[0], &[loaded]);
            let part = a.r(81, F32, &[&[copy][..], &vec![0; n as usize]].concat());
            a.r(129, F32, &[v, part])
        }
        Kind::Huge => {
            let part = a.r(81, F32, &[list[1], 1, 2]);
            a.r(129, F32, &[v, part])
        }
        Kind::Constants
        | Kind::Members
        | Kind::Variables
        | Kind::Locals
        | Kind::Functions
        | Kind::Types
        | Kind::Block => {
            unreachable!("made of globals")
        }
    }
}

/// Adds a barrier of the workgroup.
fn barrier(a: &mut Asm, list: &[u32]) {
    a.i(224, &[list[1], list[1], list[2]]);
}

/// Adds nested loops, each up to `x`, with a barrier before the next one.
fn barrier_loops(a: &mut Asm, n: u32, (label, x): (u32, u32), v: u32, list: &[u32]) -> u32 {
    let (mut before, mut v, mut open) = (label, v, Vec::new());
    for _ in 0..n {
        let [header, test, body, next, merge, phi, i, more, result] = [(); 9].map(|()| a.id());
        a.i(249, &[header]);
        a.i(248, &[header]);
        a.i(245, &[F32, phi, v, before, result, next]);
        a.i(245, &[U32, i, ZERO, before, more, next]);
        a.i(246, &[merge, next, 0]);
        a.i(249, &[test]);
        a.i(248, &[test]);
        let c = a.r(176, BOOL, &[i, x]);
        a.i(250, &[c, body, merge]);
        a.i(248, &[body]);
        barrier(a, list);
        open.push([header, next, merge, phi, i, more, result]);
        (before, v) = (body, phi);
    }
    for [header, next, merge, phi, i, more, result] in open.into_iter().rev() {
        let inner = a.r(133, F32, &[v, TWO]);
        a.i(249, &[next]);
        a.i(248, &[next]);
        a.i(129, &[F32, result, inner, phi]);
        a.i(128, &[U32, more, i, STEP]);
        a.i(249, &[header]);
        a.i(248, &[merge]);
        v = phi;
    }
    v
}

/// Adds nested Ifs.
fn nest(a: &mut Asm, n: u32, mut label: u32, mut v: u32) -> u32 {
    let mut open = Vec::new();
    for _ in 0..n {
        let (then, merge) = (a.id(), a.id());
        let c = a.r(184, BOOL, &[v, ONE]);
        a.i(247, &[merge, 0]);
        a.i(250, &[c, then, merge]);
        a.i(248, &[then]);
        open.push((v, label, merge));
        v = a.r(133, F32, &[v, TWO]);
        label = then;
    }
    for (before, header, merge) in open.into_iter().rev() {
        a.i(249, &[merge]);
        a.i(248, &[merge]);
        v = a.r(245, F32, &[before, header, v, label]);
        label = merge;
    }
    v
}

/// Adds Ifs with all values as phis.
fn ifs(a: &mut Asm, n: u32, mut label: u32, mut values: Vec<u32>) -> Vec<u32> {
    for i in 0..n {
        let (then, merge) = (a.id(), a.id());
        let c = a.r(184, BOOL, &[values[i as usize % values.len()], ONE]);
        a.i(247, &[merge, 0]);
        a.i(250, &[c, then, merge]);
        a.i(248, &[then]);
        let new: Vec<u32> = values.iter().map(|&v| a.r(133, F32, &[v, TWO])).collect();
        a.i(249, &[merge]);
        a.i(248, &[merge]);
        values = values.iter().zip(&new).map(|(&old, &new)| a.r(245, F32, &[old, label, new, then])).collect();
        label = merge;
    }
    values
}

/// Adds a loop up to `x` whose phis each take the previous one, the first one twice the last.
/// Returns the first phi and the block behind the loop.
fn looped(a: &mut Asm, before: u32, x: u32, first: &[u32]) -> (u32, u32) {
    let (header, test, next, merge, body) = (a.id(), a.id(), a.id(), a.id(), a.id());
    let phis: Vec<u32> = first.iter().map(|_| a.id()).collect();
    let (i, more, twice) = (a.id(), a.id(), a.id());
    a.i(249, &[header]);
    a.i(248, &[header]);
    for (k, (&phi, &first)) in phis.iter().zip(first).enumerate() {
        a.i(245, &[F32, phi, first, before, if k == 0 { twice } else { phis[k - 1] }, next]);
    }
    a.i(245, &[U32, i, ZERO, before, more, next]);
    a.i(246, &[merge, next, 0]);
    a.i(249, &[test]);
    a.i(248, &[test]);
    let c = a.r(176, BOOL, &[i, x]);
    a.i(250, &[c, body, merge]);
    a.i(248, &[body]);
    a.i(249, &[next]);
    a.i(248, &[next]);
    a.i(133, &[F32, twice, phis[phis.len() - 1], TWO]);
    a.i(128, &[U32, more, i, STEP]);
    a.i(249, &[header]);
    a.i(248, &[merge]);
    (phis[0], merge)
}

/// Adds a switch whose cases end, or store to the pointer and fall into the next one.
fn switch(a: &mut Asm, n: u32, (label, x): (u32, u32), v: u32, falls: Option<u32>) -> u32 {
    let cases: Vec<u32> = (0..n).map(|_| a.id()).collect();
    let merge = a.id();
    a.i(247, &[merge, 0]);
    let pairs: Vec<u32> = cases.iter().zip(0..).flat_map(|(&case, i)| [i * 3, case]).collect();
    a.i(251, &[&[x, merge][..], &pairs].concat());
    let mut phi = vec![v, label];
    for (i, &case) in cases.iter().enumerate() {
        a.i(248, &[case]);
        let new = a.r(133, F32, &[v, if i % 2 == 0 { ONE } else { TWO }]);
        phi.extend([new, case]);
        match falls {
            Some(p) => {
                a.i(62, &[p, new]);
                a.i(249, &[cases.get(i + 1).copied().unwrap_or(merge)]);
            }
            None => a.i(249, &[merge]),
        }
    }
    a.i(248, &[merge]);
    if falls.is_some() { v } else { a.r(245, F32, &phi) }
}

/// Adds a function of one multiplication.
fn leaf(a: &mut Asm, f: u32) {
    a.i(54, &[F32, f, 0, LEAF]);
    let v = a.id();
    a.i(55, &[F32, v]);
    a.label();
    let r = a.r(133, F32, &[v, TWO]);
    a.i(254, &[r]);
    a.i(56, &[]);
}

fn callees(a: &mut Asm, n: u32) {
    for level in 0..10 {
        a.i(54, &[F32, FIRST - 10 + level, 0, LEAF]);
        let v = a.id();
        a.i(55, &[F32, v]);
        a.label();
        let r = match level {
            9 => a.r(133, F32, &[v, ONE]),
            _ => (0..n).fold(v, |v, _| a.r(57, F32, &[FIRST - 9 + level, v])),
        };
        a.i(254, &[r]);
        a.i(56, &[]);
    }
}

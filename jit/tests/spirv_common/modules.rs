//! Modules that strain stacks, written word by word: compute shaders over `float data[]` (set 0,
//! binding 0), with a workgroup of 64.
#![allow(dead_code, reason = "each test binary uses a part")]

const MAIN: u32 = 1;
const VOID: u32 = 2;
const BOOL: u32 = 3;
const FUNCTION: u32 = 4;
const FLOAT: u32 = 5;
const UINT: u32 = 6;
const GLSL: u32 = 7;
const BUFFER: u32 = 13;
const POINTER: u32 = 14;
const INVOCATION: u32 = 15;
const UINT3: u32 = 16;
/// First id of the constants 0u to 9u.
const UINTS: u32 = 20;

struct Asm {
    words: Vec<u32>,
    next: u32,
}

impl Asm {
    /// Creates a module with the types and variables that all modules have.
    fn new() -> Asm {
        let mut a = Asm { words: Vec::new(), next: 100 };
        a.op(17, &[1]);
        let name: Vec<u32> =
            b"GLSL.std.450\0\0\0\0".chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
        a.op(11, &[&[GLSL], &name[..]].concat());
        a.op(14, &[0, 1]);
        a.op(15, &[5, MAIN, 0x6e69_616d, 0, INVOCATION]);
        a.op(16, &[MAIN, 17, 64, 1, 1]);
        for decoration in [&[10, 6, 4][..], &[11, 2], &[BUFFER, 34, 0], &[BUFFER, 33, 0], &[INVOCATION, 11, 28]] {
            a.op(71, decoration);
        }
        a.op(72, &[11, 0, 35, 0]);
        a.op(19, &[VOID]);
        a.op(20, &[BOOL]);
        a.op(33, &[FUNCTION, VOID]);
        a.op(22, &[FLOAT, 32]);
        a.op(21, &[UINT, 32, 0]);
        a.op(23, &[UINT3, UINT, 3]);
        a.op(29, &[10, FLOAT]);
        a.op(30, &[11, 10]);
        a.op(32, &[12, 12, 11]);
        a.op(59, &[12, BUFFER, 12]);
        a.op(32, &[POINTER, 12, FLOAT]);
        a.op(32, &[17, 1, UINT3]);
        a.op(59, &[17, INVOCATION, 1]);
        (0..10).for_each(|n| a.op(43, &[UINT, UINTS + n, n]));
        a
    }

    fn op(&mut self, op: u32, args: &[u32]) {
        self.words.push((args.len() as u32 + 1) << 16 | op);
        self.words.extend(args);
    }

    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Adds an instruction with a result.
    fn val(&mut self, op: u32, ty: u32, args: &[u32]) -> u32 {
        let id = self.id();
        self.op(op, &[&[ty, id], args].concat());
        id
    }

    /// Begins `main` and returns its first label, the invocation's number, the pointer to its
    /// element, and the element.
    fn main(&mut self) -> [u32; 4] {
        self.op(54, &[VOID, MAIN, 0, FUNCTION]);
        let label = self.label();
        let all = self.val(61, UINT3, &[INVOCATION]);
        let x = self.val(81, UINT, &[all, 0]);
        let place = self.val(65, POINTER, &[BUFFER, UINTS, x]);
        let value = self.val(61, FLOAT, &[place]);
        [label, x, place, value]
    }

    fn label(&mut self) -> u32 {
        let label = self.id();
        self.op(248, &[label]);
        label
    }

    fn finish(mut self, place: u32, value: u32) -> Vec<u32> {
        self.op(62, &[place, value]);
        self.op(253, &[]);
        self.op(56, &[]);
        [&[0x0723_0203, 0x0001_0300, 0, self.next + 1, 0], &self.words[..]].concat()
    }
}

/// Returns a module with `n` times `v = pow(v, v)`; the quick tier's frame grows with `n`.
pub fn chain(n: u32) -> Vec<u32> {
    let mut a = Asm::new();
    let [_, _, place, mut v] = a.main();
    for _ in 0..n {
        v = a.val(12, FLOAT, &[GLSL, 26, v, v]);
    }
    a.finish(place, v)
}

/// Returns a module with `n` values that are all live at once; [`wide_result`] computes its result.
pub fn wide(n: u32) -> Vec<u32> {
    let mut a = Asm::new();
    let [_, _, place, v] = a.main();
    let mut values = vec![a.val(124, UINT, &[v])];
    while values.len() < n as usize {
        let last = values[values.len() - 1];
        values.push(a.val(132, UINT, &[last, UINTS + 9]));
    }
    let mut sum = UINTS;
    for value in values.into_iter().rev() {
        let mixed = a.val(198, UINT, &[sum, value]);
        sum = a.val(132, UINT, &[mixed, UINTS + 5]);
    }
    let bits = a.val(124, FLOAT, &[sum]);
    a.finish(place, bits)
}

/// Returns the result of [`wide`] for a word.
pub fn wide_result(n: u32, word: u32) -> u32 {
    let mut values = vec![word];
    (1..n as usize).for_each(|i| values.push(values[i - 1].wrapping_mul(9)));
    values.into_iter().rev().fold(0, |sum: u32, value| (sum ^ value).wrapping_mul(5))
}

/// Returns a module with `n` nested selections, the i-th of which is taken from `x > i % 10` on;
/// the innermost adds 1.
pub fn nest(n: u32) -> Vec<u32> {
    let mut a = Asm::new();
    let [_, x, place, v] = a.main();
    let merges: Vec<u32> = (0..n)
        .map(|i| {
            let taken = a.val(172, BOOL, &[x, UINTS + i % 10]);
            let (then, merge) = (a.id(), a.id());
            a.op(247, &[merge, 0]);
            a.op(250, &[taken, then, merge]);
            a.op(248, &[then]);
            merge
        })
        .collect();
    let one = a.val(112, FLOAT, &[UINTS + 1]);
    let sum = a.val(129, FLOAT, &[v, one]);
    a.op(62, &[place, sum]);
    for merge in merges.into_iter().rev() {
        a.op(249, &[merge]);
        a.op(248, &[merge]);
    }
    let last = a.val(61, FLOAT, &[place]);
    a.finish(place, last)
}

/// Returns a module with `times` copies of private arrays of `len` elements to and fro, as a whole;
/// one element of each is the invocation's.
pub fn copies(len: u32, times: u32) -> Vec<u32> {
    let mut a = Asm::new();
    let n = a.val(43, UINT, &[len]);
    let array = a.id();
    a.op(28, &[array, FLOAT, n]);
    let pointer = a.id();
    a.op(32, &[pointer, 6, array]);
    let element = a.id();
    a.op(32, &[element, 6, FLOAT]);
    let vars = [(); 2].map(|()| a.val(59, pointer, &[6]));
    let [_, x, place, v] = a.main();
    let at = a.val(65, element, &[vars[0], x]);
    a.op(62, &[at, v]);
    for i in 0..times as usize {
        let all = a.val(61, array, &[vars[i % 2]]);
        a.op(62, &[vars[(i + 1) % 2], all]);
    }
    let at = a.val(65, element, &[vars[times as usize % 2], x]);
    let v = a.val(61, FLOAT, &[at]);
    a.finish(place, v)
}

/// Returns a module that tests the semantics of large array values; [`arrays_result`] computes its
/// result.
pub fn arrays(len: u32) -> Vec<u32> {
    let mut a = Asm::new();
    let n = a.val(43, UINT, &[len]);
    let array = a.id();
    a.op(28, &[array, FLOAT, n]);
    let pointer = a.id();
    a.op(32, &[pointer, 6, array]);
    let element = a.id();
    a.op(32, &[element, 6, FLOAT]);
    let [va, vb, vc, vd] = [(); 4].map(|()| a.val(59, pointer, &[6]));
    let [start, x, place, v] = a.main();
    let at = |a: &mut Asm, var| a.val(65, element, &[var, x]);
    // This is loaded before the variable is written again.
    let a_x = at(&mut a, va);
    a.op(62, &[a_x, v]);
    let s = a.val(61, array, &[va]);
    let twice = a.val(129, FLOAT, &[v, v]);
    a.op(62, &[a_x, twice]);
    a.op(62, &[vb, s]);
    a.op(63, &[vc, va]);
    let t = a.val(61, array, &[vc]);
    let e = a.val(81, FLOAT, &[s, 3]);
    // Three rounds of (p, q) = (q, p).
    let [header, body, cont, merge] = [(); 4].map(|()| a.id());
    let [i, next, p, q] = [(); 4].map(|()| a.id());
    a.op(249, &[header]);
    a.op(248, &[header]);
    a.op(245, &[UINT, i, UINTS, start, next, cont]);
    a.op(245, &[array, p, s, start, q, cont]);
    a.op(245, &[array, q, t, start, p, cont]);
    let more = a.val(176, BOOL, &[i, UINTS + 3]);
    a.op(246, &[merge, cont, 0]);
    a.op(250, &[more, body, merge]);
    a.op(248, &[body]);
    a.op(249, &[cont]);
    a.op(248, &[cont]);
    a.op(128, &[UINT, next, i, UINTS + 1]);
    a.op(249, &[header]);
    a.op(248, &[merge]);
    a.op(62, &[vd, p]);
    // Digits.
    let mut sum = e;
    let ten = a.val(112, FLOAT, &[UINTS + 9]);
    for var in [vd, vc, vb] {
        let at = at(&mut a, var);
        let x = a.val(61, FLOAT, &[at]);
        let shifted = a.val(133, FLOAT, &[sum, ten]);
        sum = a.val(129, FLOAT, &[shifted, x]);
    }
    a.finish(place, sum)
}

/// Returns the result of [`arrays`] with `v` for invocation `x`.
pub fn arrays_result(x: u32, v: f32) -> f32 {
    let e = if x == 3 { v } else { 0.0 };
    // d after an odd number of swaps, c, b.
    [2.0 * v, 2.0 * v, v].into_iter().fold(e, |sum, digit| sum * 9.0 + digit)
}

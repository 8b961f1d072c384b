//! Modules with cooperative and long vectors, and fused multiply-adds.

use super::asm::{Asm, F32, Scalar, Ty, U32};
use super::special::Special;

pub const CASES: &[Special] = &[
    ("cooperative vectors", super::asm::COMPUTE, cooperative_vectors),
    ("long vectors", super::asm::COMPUTE, long_vectors),
    ("fused multiply-adds", super::asm::COMPUTE, fused),
];

const HALF: Ty = Ty::new(Scalar::Float(16), 1);

/// Adds each instruction of SPV_NV_cooperative_vector, on arrays of storage buffers.
fn cooperative_vectors(a: &mut Asm) {
    a.capabilities.extend([9, 5394, 5435, 5345]);
    a.memory_model = [0, 3];
    a.extensions.insert("SPV_NV_cooperative_vector");
    let (half, single, word) = (a.ty(HALF), a.ty(F32), a.ty(U32));
    let array = a.fresh(29, false, &[word]);
    a.decorate(&[array, 6, 4]);
    let block = a.fresh(30, false, &[array]);
    a.decorate(&[block, 2]);
    a.member(&[block, 0, 35, 0]);
    let pointer = a.pointer(12, array);
    let zero = a.u(0);
    let buffers = [0, 1].map(|_| a.bound(12, block, 0));
    let [from, to] = buffers.map(|buffer| a.r(65, pointer, &[buffer, zero]));
    let (rows, columns, offset) = (a.u(9), a.u(6), a.value(U32));
    let [left, right] = [(half, columns), (half, rows)].map(|(of, n)| a.global(5288, false, &[of, n]));
    let x = a.r(5302, left, &[from, offset]);
    let flag = a.ty(super::asm::BOOL);
    let not = a.global(42, true, &[flag]);
    let (of, layout) = (a.u(0), a.u(3));
    let product = a.r(5289, right, &[x, of, from, offset, of, rows, columns, layout, not]);
    let biased = a.r(5292, right, &[x, of, from, offset, of, from, offset, of, rows, columns, layout, not]);
    let sum = a.r(129, right, &[product, biased]);
    a.i(5303, &[to, offset, sum]);
    a.i(5290, &[to, offset, sum, x, layout, of]);
    a.i(5291, &[to, offset, sum]);
    let of = a.global(5288, false, &[single, columns]);
    let wide = a.r(115, of, &[x]);
    let element = a.r(77, single, &[wide, offset]);
    a.keep(F32, element);
}

/// Adds vectors of more than four components, and of one. The first ones are also written to an
/// image, whose texels have fewer components.
fn long_vectors(a: &mut Asm) {
    a.capabilities.insert(5425);
    a.extensions.insert("SPV_EXT_long_vector");
    let (single, n) = (a.ty(F32), a.u(300));
    let x = a.value(F32);
    // A storage image of RGBA32F in two dimensions.
    let image = a.global(25, false, &[single, 1, 0, 0, 0, 2, 1]);
    let variable = a.bound(0, image, 5);
    let at = a.value(Ty::new(Scalar::Int(32), 2));
    let image = a.r(61, image, &[variable]);
    for length in [7, 1] {
        let vector = a.global(23, false, &[single, length]);
        let all = a.r(80, vector, &vec![x; length as usize]);
        let sum = a.r(129, vector, &[all, all]);
        let last = a.r(81, single, &[sum, length - 1]);
        a.keep(F32, last);
        if length > 4 {
            a.i(99, &[image, at, sum]);
        }
    }
    let long = a.global(5288, false, &[single, n]);
    let all = a.r(80, long, &vec![x; 300]);
    let (at, product) = (a.value(U32), a.r(142, long, &[all, x]));
    let element = a.r(77, single, &[product, at]);
    a.keep(F32, element);
}

/// Adds the instruction of SPV_KHR_fma.
fn fused(a: &mut Asm) {
    a.capabilities.insert(6030);
    a.extensions.insert("SPV_KHR_fma");
    for ty in [F32, Ty::new(Scalar::Float(32), 3)] {
        let (of, x, y) = (a.ty(ty), a.value(ty), a.value(ty));
        let sum = a.r(4427, of, &[x, y, x]);
        a.keep(ty, sum);
    }
}

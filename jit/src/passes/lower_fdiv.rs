//! Turns divisions into products where no float flag forbids it, because a division takes as long
//! as a dozen products.
//!
//! * A divisor of several divisions is inverted once (vectors that are normalised, perspective).
//!   `x * (1 / y)` is within 1.5 ULP of the quotient; Vulkan allows 2.5 (environment for SPIR-V,
//!   "Precision of Individual Operations").
//! * A constant's reciprocal is two numbers: the nearest one towards zero and the rest.
//!   `x * first + x * rest` is then the quotient, rounded once except in the rarest cases
//!   (Brisebarre, Muller, Raina: Accelerating Correctly Rounded Floating-Point Division when the
//!   Divisor Is Known in Advance, 2004). Both have the same sign, so that infinities work.
//!
//! Only binary32 is lowered.

use super::util::{for_each_inst, rewrite_insts};
use crate::ir::{Binary, Inst, InstData, Node, Op, Shader, Ty, Value};
use cranelift_entity::SecondaryMap;
use smallvec::smallvec;

/// Runs the pass. It may make a reciprocal several times, which `cse` merges.
pub fn lower_fdiv(shader: &mut Shader) {
    let mut root = std::mem::take(&mut shader.root.body);
    let mut divisions: SecondaryMap<Value, u32> = SecondaryMap::new();
    let mut any = false;
    for_each_inst(&root, &mut |inst| {
        let data = &shader.insts[inst];
        if is_free(shader, data) {
            divisions[data.args[1]] += 1;
            any = true;
        }
    });
    if any {
        rewrite_insts(&mut root, &mut |inst, out| {
            if is_free(shader, &shader.insts[inst]) {
                multiply(shader, inst, &divisions, out);
            }
            out.push(Node::Inst(inst));
        });
    }
    shader.root.body = root;
}

/// Returns true if the instruction is a division that may be replaced.
fn is_free(shader: &Shader, data: &InstData) -> bool {
    data.op == Op::Binary(Binary::FDiv) && data.float.is_empty() && shader.ty(data.first_result) == Ty::F32
}

fn multiply(shader: &mut Shader, inst: Inst, divisions: &SecondaryMap<Value, u32>, out: &mut Vec<Node>) {
    let data = &shader.insts[inst];
    let (x, y, source) = (data.args[0], data.args[1], data.source);
    let mut push = |shader: &mut Shader, op, args: &[Value]| {
        let inst = shader.inst(op, args, &[Ty::F32], source);
        out.push(Node::Inst(inst));
        shader.insts[inst].first_result
    };
    if let Some(bits) = shader.as_const(y) {
        let Some(parts) = reciprocal(f32::from_bits(bits as u32)) else { return };
        let [first, rest] = parts.map(|part| push(shader, Op::Const(part.to_bits().into()), &[]));
        let rest = push(shader, Op::Binary(Binary::FMul), &[x, rest]);
        (shader.insts[inst].op, shader.insts[inst].args) = (Op::Fma, smallvec![x, first, rest]);
    } else if divisions[y] > 1 && shader.as_const(x).is_none() {
        let one = push(shader, Op::Const(1f32.to_bits().into()), &[]);
        let inverse = push(shader, Op::Binary(Binary::FDiv), &[one, y]);
        (shader.insts[inst].op, shader.insts[inst].args) = (Op::Binary(Binary::FMul), smallvec![x, inverse]);
    }
}

/// Returns two numbers whose sum is a constant's reciprocal. `None` if one of them or a product may
/// be denormal where the quotient is not, and for powers of two, which `fold` handles.
fn reciprocal(c: f32) -> Option<[f32; 2]> {
    // For exponents from -30 to 30 the rest is above 2^-79.
    let exponent = c.to_bits() >> 23 & 0xff;
    if !(127 - 30..127 + 30).contains(&exponent) || c.to_bits() & 0x7f_ffff == 0 {
        return None;
    }
    let whole = 1.0 / f64::from(c);
    // Rounds towards zero.
    let first = whole as f32;
    let first = if f64::from(first).abs() > whole.abs() { f32::from_bits(first.to_bits() - 1) } else { first };
    Some([first, (whole - f64::from(first)) as f32])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, FloatFlags};
    use crate::passes::{cse, dce, fold};
    use base::random::Rng;
    use base::shader::Stage;

    fn count(shader: &Shader, op: &Op) -> usize {
        let mut count = 0;
        for_each_inst(&shader.root.body, &mut |inst| {
            count += usize::from(shader.insts[inst].op == *op);
        });
        count
    }

    /// Builds a shader that divides three numbers by a fourth one, or by a constant.
    fn divided(float: FloatFlags, by: Option<f32>) -> Shader {
        let mut shader = Shader::new(Stage::Compute, "test");
        let mut b = Builder::new(&mut shader);
        let buffer = b.buffer(0, 0);
        let at = [0, 4, 8, 12].map(|at| b.i32(at));
        let [x, y, z, w] = [0, 1, 2, 3].map(|i| b.load(buffer, at[i], Ty::F32));
        let by = by.map_or(w, |by| b.f32(by));
        b.float = float;
        for (i, v) in [x, y, z].into_iter().enumerate() {
            let quotient = b.binary(Binary::FDiv, v, by);
            b.store(buffer, at[i], quotient);
        }
        b.finish();
        lower_fdiv(&mut shader);
        fold(&mut shader);
        cse(&mut shader);
        dce(&mut shader);
        shader
    }

    #[test]
    fn shared_divisor_is_inverted_once() {
        let shader = divided(FloatFlags::NONE, None);
        let found = [Binary::FDiv, Binary::FMul].map(|op| count(&shader, &Op::Binary(op)));
        assert_eq!(found, [1, 3], "{shader}");
        for flag in [FloatFlags::NO_CONTRACTION, FloatFlags::NO_RECIPROCAL, FloatFlags::KEEP_INFINITY] {
            let shader = divided(flag, None);
            assert_eq!(count(&shader, &Op::Binary(Binary::FDiv)), 3, "{flag} {shader}");
        }
    }

    #[test]
    fn division_by_constant_becomes_multiplication() {
        let shader = divided(FloatFlags::NONE, Some(3.0));
        let found = [Op::Binary(Binary::FDiv), Op::Binary(Binary::FMul), Op::Fma].map(|op| count(&shader, &op));
        assert_eq!(found, [0, 3, 3], "{shader}");
        let shader = divided(FloatFlags::NO_RECIPROCAL, Some(3.0));
        assert_eq!(count(&shader, &Op::Binary(Binary::FDiv)), 3, "{shader}");
    }

    /// Checks that products with constants are the quotients of IEEE 754, including infinities,
    /// zeros and their signs.
    #[test]
    fn constants_divide_exactly() {
        let mut rng = Rng(0x0d1f_1de5_0000_0001);
        let mut some = vec![3.0, 5.0, 7.0, 10.0, -41.0, 255.0, 289.0, 65535.0, 0.1, 1e-6, 3.0e7];
        some.extend((0..500).map(|_| rng.float(0.001, 1000.0)));
        let mut differ = 0;
        for c in some {
            let [first, rest] = reciprocal(c).expect("an ordinary number");
            let by = |x: f32| base::fused::FusedMulAdd::fused_mul_add(x, first, x * rest);
            for n in 0..2000 {
                let x = if n % 2 == 0 { n as f32 * c } else { f32::from_bits(rng.next()) };
                // Denormal results are rounded twice.
                if x.is_nan() || x != 0.0 && !(1e-20..1e30).contains(&x.abs()) && !x.is_infinite() {
                    continue;
                }
                differ += u32::from((x / c).to_bits() != by(x).to_bits());
            }
            for x in [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY] {
                assert_eq!((x / c).to_bits(), by(x).to_bits(), "{x} / {c}");
            }
        }
        assert_eq!(differ, 0);
        assert_eq!([0.0, f32::INFINITY, f32::NAN, 1e-12, 1e12, 4.0].map(reciprocal), [None; 6]);
    }
}

//! Expands transcendental operations into the polynomials of [`super::math`].
//!
//! An expansion is a straight line of nodes in place of the instruction. The instruction itself
//! becomes the last operation of its expansion, so no value is renamed.

use super::math;
use crate::budget;
use crate::error::Error;
use crate::ir::{Binary, Builder, FloatFlags, Inst, Meaning, Node, Op, Region, Shader, Ty, Unary, Value};

/// Expands every transcendental instruction.
///
/// # Errors
/// Returns an Unsupported error for halves, which `lower_f16` makes binary32, and for binary64
/// except the inverse square root: SPIR-V's GLSL.std.450 allows the others for 16 and 32 bits only.
/// Returns a Limit error if there are so many that the shader becomes too large.
pub fn lower_math(shader: &mut Shader) -> Result<(), Error> {
    if !shader.insts.values().any(|data| is_transcendental(&data.op)) {
        return Ok(());
    }
    let mut body = std::mem::take(&mut shader.root.body);
    let result = lower_region(shader, &mut body);
    shader.root.body = body;
    result
}

fn is_transcendental(op: &Op) -> bool {
    op.info().meaning == Meaning::Expanded
}

fn lower_region(shader: &mut Shader, region: &mut Region) -> Result<(), Error> {
    let mut out = Vec::with_capacity(region.nodes.len());
    for mut node in std::mem::take(&mut region.nodes) {
        match &mut node {
            Node::Inst(inst) if is_transcendental(&shader.insts[*inst].op) => {
                expand(shader, *inst, &mut out)?;
                budget::ir(shader).map_err(|e| e.with_id(shader.insts[*inst].source))?;
                continue;
            }
            Node::Inst(_) => {}
            Node::If(n) => {
                lower_region(shader, &mut n.then)?;
                lower_region(shader, &mut n.else_)?;
            }
            Node::Loop(n) => lower_region(shader, &mut n.body)?,
            Node::Scope(n) => lower_region(shader, &mut n.body)?,
        }
        out.push(node);
    }
    region.nodes = out;
    Ok(())
}

type Expansion<'a> = fn(&mut Builder<'a>, Value) -> Value;

/// Returns the expansion of a unary operation. A test checks that each row with
/// [`Meaning::Expanded`] has one.
fn unary_expansion<'a>(op: Unary) -> Option<Expansion<'a>> {
    Some(match op {
        Unary::InverseSqrt => inverse_sqrt,
        Unary::Sin => math::sin,
        Unary::Cos => math::cos,
        Unary::Tan => math::tan,
        Unary::Asin => math::asin,
        Unary::Acos => math::acos,
        Unary::Atan => math::atan,
        Unary::Sinh => math::sinh,
        Unary::Cosh => math::cosh,
        Unary::Tanh => math::tanh,
        Unary::Asinh => math::asinh,
        Unary::Acosh => math::acosh,
        Unary::Atanh => math::atanh,
        Unary::Exp => math::exp,
        Unary::Log => math::log,
        Unary::Exp2 => math::exp2,
        Unary::Log2 => math::log2,
        _ => return None,
    })
}

fn inverse_sqrt(b: &mut Builder<'_>, x: Value) -> Value {
    let root = b.unary(Unary::Sqrt, x);
    let one = match b.shader.ty(x) {
        Ty::F64 => b.constant(Ty::F64, 1f64.to_bits()),
        _ => b.f32(1.0),
    };
    b.binary(Binary::FDiv, one, root)
}

/// Expands `Binary::Pow`. Most exponents in shaders are small constants.
fn power(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let ty = b.shader.ty(y);
    let known = b.shader.as_const(y).map(|bits| crate::ir::eval::to_f64(ty, bits) as f32);
    match known.and_then(math::half_exponent) {
        // An expansion must end with an operation.
        Some(2) => {
            let one = b.f32(1.0);
            b.binary(Binary::FMul, x, one)
        }
        Some(half_exponent) => math::power(b, x, half_exponent),
        None => math::pow(b, x, y),
    }
}

/// Appends the expansion of `inst` to `out`, ending with `inst` itself.
fn expand(shader: &mut Shader, inst: Inst, out: &mut Vec<Node>) -> Result<(), Error> {
    let data = shader.insts[inst].clone();
    let ty = shader.ty(data.result());
    if ty != Ty::F32 && (ty, &data.op) != (Ty::F64, &Op::Unary(Unary::InverseSqrt)) {
        return Err(Error::unsupported(format!("a transcendental function of {ty}")).with_id(data.source));
    }
    let mut b = Builder::new(shader);
    b.source = data.source;
    // Contraction would change the rounding of the polynomials, which contain an fma where one is
    // wanted.
    b.float = data.float | FloatFlags::NO_CONTRACTION;
    b.nodes = std::mem::take(out);
    let x = data.args[0];
    let r = match data.op {
        Op::Unary(u) => unary_expansion(u).map(|function| function(&mut b, x)),
        Op::Binary(Binary::Pow) => Some(power(&mut b, x, data.args[1])),
        Op::Binary(Binary::Atan2) => Some(math::atan2(&mut b, x, data.args[1])),
        _ => None,
    };
    if r.is_none() {
        return Err(Error::internal(format!("{:?} has no expansion", data.op)).with_id(data.source));
    }
    *out = b.nodes;
    // The last operation of the expansion moves into `inst`.
    let Some(Node::Inst(last)) = out.pop() else {
        return Err(Error::internal("empty expansion").with_id(data.source));
    };
    let last = shader.insts[last].clone();
    let target = &mut shader.insts[inst];
    target.op = last.op;
    target.args = last.args;
    target.float = last.float;
    out.push(Node::Inst(inst));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::math::{self, Eval};
    use super::lower_math;
    use crate::ir::{Builder, Meaning, Op, Shader, Ty, verify};
    use base::shader::Stage;

    #[test]
    fn operations_marked_expanded_are_expanded() {
        for op in Op::examples().into_iter().filter(|op| op.info().meaning == Meaning::Expanded) {
            let mut shader = Shader::new(Stage::Compute, "test");
            let mut b = Builder::new(&mut shader);
            let (args, results) = (op.info().signature.instances().into_iter())
                .find(|(args, _)| args.iter().all(|&ty| ty == Ty::F32))
                .expect("a form of 32 bits");
            let args: Vec<_> = args.iter().map(|_| b.f32(0.5)).collect();
            b.inst(op.clone(), &args, &results);
            b.finish();
            lower_math(&mut shader).unwrap_or_else(|e| panic!("{op:?}: {e}"));
            verify(&shader).unwrap_or_else(|e| panic!("{op:?}: {e}"));
            assert!(shader.insts.values().all(|data| data.op.info().meaning == Meaning::Exact), "{op:?}\n{shader}");
        }
    }

    /// Returns the distance from the exact result in units of the last place of binary32, aware of
    /// denormals.
    fn ulp(got: f32, exact: f64) -> f64 {
        if exact.is_nan() {
            return if got.is_nan() { 0.0 } else { f64::INFINITY };
        }
        if (exact as f32) == got {
            return 0.0;
        }
        if got.is_nan() {
            return f64::INFINITY;
        }
        if got.is_infinite() || (exact as f32).is_infinite() {
            // One step beyond the largest finite number counts as one ULP.
            let clamp = |v: f64| v.clamp(-3.402_823_669_209_385e38, 3.402_823_669_209_385e38);
            return (clamp(f64::from(got)) - clamp(exact)).abs() / 2f64.powi(104);
        }
        let exponent = exact.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor() as i32;
        (f64::from(got) - exact).abs() / 2f64.powi(exponent - 23)
    }

    /// Returns `n` points evenly spread over lo..=hi, and as many spread over the exponents there.
    fn points(lo: f32, hi: f32, n: u32) -> impl Iterator<Item = f32> {
        let linear = (0..=n).map(move |i| lo + (hi - lo) * (i as f32 / n as f32));
        let mut random = base::random::Rng(0x9e37_79b9_7f4a_7c15);
        let bits = (0..n).map(move |_| f32::from_bits(random.next_u64() as u32));
        linear.chain(bits).filter(move |x| *x >= lo && *x <= hi)
    }

    /// Checks the worst error over the points; `bound` gives the allowed error for x.
    fn check(name: &str, lo: f32, hi: f32, got: fn(f32) -> f32, exact: fn(f64) -> f64, bound: impl Fn(f64) -> f64) {
        let mut worst = (0.0, 0.0);
        for x in points(lo, hi, 200_000) {
            let error = ulp(got(x), exact(f64::from(x)));
            if error > worst.0 {
                worst = (error, x);
            }
            assert!(error <= bound(f64::from(x)), "{name}({x:e}) = {:e}: {error} ULP", got(x));
        }
        println!("{name} on [{lo}, {hi}]: worst {:.2} ULP at {:e}", worst.0, worst.1);
    }

    fn check_abs(name: &str, lo: f32, hi: f32, got: fn(f32) -> f32, exact: fn(f64) -> f64, bound: f64) {
        let mut worst = 0f64;
        for x in points(lo, hi, 200_000) {
            let error = (f64::from(got(x)) - exact(f64::from(x))).abs();
            worst = worst.max(error);
            assert!(error <= bound, "{name}({x:e}) = {:e}: absolute error {error:e}", got(x));
        }
        println!("{name} on [{lo}, {hi}]: worst absolute error {worst:e}");
    }

    #[test]
    fn exp_and_log_are_inside_the_precision_table() {
        check("exp", -110.0, 89.5, |x| math::exp(&mut Eval, x), f64::exp, |x| 3.0 + 2.0 * x.abs());
        check("exp near 0", -5.0, 5.0, |x| math::exp(&mut Eval, x), f64::exp, |_| 2.0);
        check("exp2", -155.0, 129.0, |x| math::exp2(&mut Eval, x), f64::exp2, |_| 2.0);
        for (lo, hi) in [(1e-45, 0.5), (2.0, f32::MAX)] {
            check("log", lo, hi, |x| math::log(&mut Eval, x), f64::ln, |_| 3.0);
            check("log2", lo, hi, |x| math::log2(&mut Eval, x), f64::log2, |_| 3.0);
        }
        check_abs("log", 0.5, 2.0, |x| math::log(&mut Eval, x), f64::ln, 2f64.powi(-21));
        check_abs("log2", 0.5, 2.0, |x| math::log2(&mut Eval, x), f64::log2, 2f64.powi(-21));
    }

    #[test]
    fn special_values_of_exp_log_and_pow() {
        let e = &mut Eval;
        assert_eq!(math::exp2(e, f32::INFINITY), f32::INFINITY);
        assert_eq!(math::exp2(e, f32::NEG_INFINITY), 0.0);
        assert!(math::exp(e, f32::NAN).is_nan() && math::exp2(e, f32::NAN).is_nan());
        assert_eq!(math::log2(e, 0.0), f32::NEG_INFINITY);
        assert_eq!(math::log(e, f32::INFINITY), f32::INFINITY);
        assert!(math::log(e, -1.0).is_nan());
        for k in -149..128 {
            assert_eq!(math::log2(e, 2f64.powi(k) as f32), k as f32);
            assert_eq!(math::exp2(e, k as f32), 2f64.powi(k) as f32);
        }
        assert_eq!(math::pow(e, 0.0, 0.0), 1.0);
        assert_eq!(math::pow(e, 0.0, 2.0), 0.0);
        assert_eq!(math::pow(e, 0.0, -1.0), f32::INFINITY);
        assert_eq!(math::pow(e, 1.0, 1e30), 1.0);
        assert_eq!(math::pow(e, 2.0, 1000.0), f32::INFINITY);
        assert_eq!(math::pow(e, 2.0, -1000.0), 0.0);
        assert_eq!(math::pow(e, 2.0, 10.0), 1024.0);
        assert!(math::pow(e, -2.0, 0.5).is_nan());
        for x in points(0.01, 100.0, 20_000) {
            for y in [-7.5f32, -2.0, -0.5, 0.5, 1.0 / 2.2, 2.0, 2.4, 7.25] {
                let error = ulp(math::pow(e, x, y), f64::from(x).powf(f64::from(y)));
                assert!(error <= 16.0, "pow({x}, {y}): {error} ULP");
            }
        }
    }

    #[test]
    fn powers_by_squaring_are_inside_the_precision_table() {
        for n in 1..=128u32 {
            let y = n as f32 * 0.5;
            assert_eq!(math::half_exponent(y), Some(n));
            for x in points(0.01, 100.0, 2_000) {
                let exact = f64::from(x).powf(f64::from(y));
                let error = ulp(math::power(&mut Eval, x, n), exact);
                // The bound of exp2(y * log2(x)), both within the table: 3 ULP of the logarithm
                // times y, and 3 + 2|x| of the power.
                let product = f64::from(y) * f64::from(x).log2();
                let bound = 3.0 + 2.0 * product.abs();
                assert!(error <= bound.max(0.5 * f64::from(y)), "{x}^{y}: {error} ULP of {bound}");
            }
            assert_eq!(math::power(&mut Eval, 0.0, n), 0.0);
            assert_eq!(math::power(&mut Eval, 1.0, n), 1.0);
            assert_eq!(math::power(&mut Eval, f32::INFINITY, n), f32::INFINITY);
            assert!(math::power(&mut Eval, f32::NAN, n).is_nan());
        }
        for y in [0.0, -0.0, -1.0, 0.25, 2.2, 64.5, 1e30, f32::NAN, f32::INFINITY] {
            assert_eq!(math::half_exponent(y), None, "{y}");
        }
    }

    #[test]
    fn trigonometry_is_inside_the_precision_table() {
        let pi = std::f32::consts::PI;
        // The table requires 2^-11 in [-pi, pi]; graphics programs rely on much more, also far
        // outside.
        check_abs("sin", -pi, pi, |x| math::sin(&mut Eval, x), f64::sin, 2f64.powi(-22));
        check_abs("cos", -pi, pi, |x| math::cos(&mut Eval, x), f64::cos, 2f64.powi(-22));
        check_abs("sin", -1e5, 1e5, |x| math::sin(&mut Eval, x), f64::sin, 2f64.powi(-21));
        check_abs("cos", -1e5, 1e5, |x| math::cos(&mut Eval, x), f64::cos, 2f64.powi(-21));
        check("tan", -1.5, 1.5, |x| math::tan(&mut Eval, x), f64::tan, |_| 8.0);
        check("asin", -1.0, 1.0, |x| math::asin(&mut Eval, x), f64::asin, |_| 8.0);
        check_abs("acos", -1.0, 1.0, |x| math::acos(&mut Eval, x), f64::acos, 2f64.powi(-21));
        check("atan", -1e30, 1e30, |x| math::atan(&mut Eval, x), f64::atan, |_| 8.0);
        let huge = math::sin(&mut Eval, 1e30);
        assert!(huge.abs() <= 1.0);
        assert!(math::sin(&mut Eval, f32::INFINITY).is_nan());
        assert_eq!(math::sin(&mut Eval, -0.0), 0.0);
    }

    #[test]
    fn atan2_covers_the_quadrants() {
        let values = [0.0f32, -0.0, 1e-40, -1e-40, 1e-3, -1e-3, 1.0, -1.0, 0.7, 5.0, -5.0, 1e38, -3e38];
        for y in values.into_iter().chain([f32::INFINITY, f32::NEG_INFINITY]) {
            for x in values.into_iter().chain([f32::INFINITY, f32::NEG_INFINITY]) {
                if x.is_infinite() != y.is_infinite() || (x.abs() < 1e-30 && y.abs() < 1e-30 && x != 0.0 && y != 0.0) {
                    continue;
                }
                let got = math::atan2(&mut Eval, y, x);
                let exact = f64::from(y).atan2(f64::from(x));
                assert!((f64::from(got) - exact).abs() < 1e-6, "atan2({y:e}, {x:e}) = {got:e}, not {exact:e}");
            }
        }
    }

    #[test]
    fn atan2_of_an_infinity_is_exact() {
        for y in [0.0f32, -0.0, 1.0, -1.0, 3e38, -3e38, 1e-40] {
            let got = math::atan2(&mut Eval, y, f32::INFINITY);
            assert_eq!(got.to_bits(), 0f32.copysign(y).to_bits(), "atan2({y:e}, inf)");
            let got = math::atan2(&mut Eval, y, f32::NEG_INFINITY);
            assert_eq!(got, std::f32::consts::PI.copysign(y), "atan2({y:e}, -inf)");
        }
    }

    #[test]
    fn hyperbolic_functions_are_accurate() {
        // They overflow where e^x does: dEQP-VK.glsl.builtin.precision.{sinh,cosh}.highp accepts
        // nothing else.
        assert_eq!([89.0, -89.0].map(|x| math::sinh(&mut Eval, x)), [f32::INFINITY, f32::NEG_INFINITY]);
        assert_eq!([89.0, -89.0].map(|x| math::cosh(&mut Eval, x)), [f32::INFINITY; 2]);
        check("sinh", -88.7, 88.7, |x| math::sinh(&mut Eval, x), f64::sinh, |x| 4.0 + 2.0 * x.abs());
        check("cosh", -88.7, 88.7, |x| math::cosh(&mut Eval, x), f64::cosh, |x| 4.0 + 2.0 * x.abs());
        check("tanh", -50.0, 50.0, |x| math::tanh(&mut Eval, x), f64::tanh, |_| 8.0);
        check("asinh", -1e30, 1e30, |x| math::asinh(&mut Eval, x), f64::asinh, |_| 8.0);
        check("acosh", 1.5, 1e30, |x| math::acosh(&mut Eval, x), f64::acosh, |_| 8.0);
        check("atanh", -0.9999, 0.9999, |x| math::atanh(&mut Eval, x), f64::atanh, |_| 8.0);
    }
}

//! Warm-up of code generation: makes the code of a small function that has what most functions
//! have. Afterwards the code generator's pages are in memory and its tables are initialised, before
//! the first shader needs them. (`icd/src/shader_compiler/warm_up.rs` decides when it runs.)

#![forbid(unsafe_code)]

use crate::cancel::CancelToken;
use crate::lir::{Access, AccessReason, Builder, Elem, FloatCond, Function, Type};
use crate::tier::Tier;

/// Makes the code of a tier once and discards it.
pub fn warm_up(tier: Tier) {
    // An error is ignored, because it would occur again and be reported when real code is made.
    let _ = tier.code(&function(), &CancelToken::NEVER);
}

/// Returns a function with loads, floats, integers, a comparison, a loop, a call and stores.
fn function() -> Function {
    let mut b = Builder::new(&[Type::I64, Type::I64]);
    let [context, batch] = [0, 1].map(|i| b.params(b.current())[i]);
    let at = |offset| Access { offset, aligned: true, ..Access::new(AccessReason::Caller) };
    let (floats, ints) = (Elem::F32.by(8), Elem::I32.by(8));
    let (x, y) = (b.load(floats, at(0), context), b.load(floats, at(32), context));
    let (body, end) = (b.create_block(), b.create_block());
    let (count, sum) = (b.append_param(body, Type::I64), b.append_param(body, floats));
    let zero = b.iconst(Type::I64, 0);
    b.jump(body, &[zero, x]);
    b.enter_loop(body);
    let product = b.fmul(sum, y);
    let next = b.fadd(product, x);
    let less = b.fcmp(FloatCond::Lt, next, y);
    let next = b.select(less, next, sum);
    let bits = b.bitcast(ints, next);
    let bits = b.iadd(bits, bits);
    let bits = b.and(bits, bits);
    b.store(at(0), bits, batch);
    let one = b.iconst(Type::I64, 1);
    let count = b.iadd(count, one);
    let root = b.sqrt(next);
    let any = b.any(less);
    b.branch(any, body, &[count, root], end, &[]);
    b.seal_block(body);
    b.seal_block(end);
    b.switch_to_block(end);
    let helper = b.load(Type::I64, at(64), context);
    b.call(helper, &[context, batch]);
    b.store(at(32), y, batch);
    b.return_();
    b.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier::ROWS;

    #[test]
    fn every_tier_warms_up() {
        let function = function();
        crate::lir::verify(&function).expect("a function");
        for (row, backend) in ROWS.iter().flat_map(|row| row.available().map(move |backend| (row, backend))) {
            let code = backend.code(&function, &CancelToken::NEVER).expect("it is small").expect("it is wanted");
            assert!(code.bytes.len() > 64, "{}", row.name);
        }
    }
}

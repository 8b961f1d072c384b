//! Constants come last in sums of 32-bit integers: `(x + 1) * 4 + y` is `(x * 4 + y) + 4`, wrapping or not.
//!
//! So what differs by constants only, as the elements of a tile that one invocation has, is computed once (`cse`), and can be seen to be
//! side by side in memory (`emit/neighbours.rs`). The sums without constants are new instructions; what nobody uses any more is left to `dce`.

use super::util::{Consts, rewrite_insts};
use crate::ir::{Binary, Inst, Node, Op, Shader, Ty, Value, ValueDef};
use smallvec::smallvec;

/// Runs the pass.
pub fn sums(shader: &mut Shader) {
    let mut consts = Consts::new(shader);
    let mut root = std::mem::take(&mut shader.root.body);
    rewrite_insts(&mut root, &mut |inst, out| {
        if let Some((op, [a, b], constant)) = without_constants(shader, inst) {
            let source = shader.insts[inst].source;
            let sum = shader.inst(Op::Binary(op), &[a, b], &[Ty::I32], source);
            out.push(Node::Inst(sum));
            let constant = consts.get(shader, Ty::I32, constant.into());
            let args = smallvec![shader.insts[sum].first_result, constant];
            let data = &mut shader.insts[inst];
            (data.op, data.args) = (Op::Binary(Binary::IAdd), args);
        }
        out.push(Node::Inst(inst));
    });
    shader.root.body = root;
    consts.finish(shader);
}

/// A value as a sum of another and a constant.
fn split(shader: &Shader, v: Value) -> (Value, u32) {
    if let ValueDef::Inst(inst, 0) = shader.values[v].def
        && let data = &shader.insts[inst]
        && data.op == Op::Binary(Binary::IAdd)
        && let Some(constant) = shader.as_const(data.args[1])
    {
        return (data.args[0], constant as u32);
    }
    (v, 0)
}

/// What an instruction computes of operands without constants, and the constant that is then missing; none when there is none.
fn without_constants(shader: &Shader, inst: Inst) -> Option<(Binary, [Value; 2], u32)> {
    let data = &shader.insts[inst];
    let Op::Binary(op) = data.op else { return None };
    if shader.ty(data.first_result) != Ty::I32 || data.args.iter().all(|&v| split(shader, v).1 == 0) {
        return None;
    }
    let ([a, b], right) = ([data.args[0], data.args[1]], shader.as_const(data.args[1]).map(|bits| bits as u32));
    let ((x, c), (y, d)) = (split(shader, a), split(shader, b));
    match (op, right) {
        (Binary::IAdd, None) => Some((op, [x, y], c.wrapping_add(d))),
        (Binary::ISub, None) => Some((op, [x, y], c.wrapping_sub(d))),
        (Binary::IMul, Some(factor)) => Some((op, [x, b], c.wrapping_mul(factor))),
        (Binary::Shl, Some(by)) => Some((op, [x, b], c.wrapping_shl(by))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, Builtin, Space, Term};
    use crate::passes::{cse, dce, fold};
    use base::shader::Stage;

    /// Four elements of a row of a tile: what is computed for the first is enough for all.
    #[test]
    fn neighbours_in_a_tile_differ_by_a_constant() {
        let mut shader = Shader::new(Stage::Compute, "test");
        shader.workgroup_mut().expect("workgroups").local_size = [16, 16, 1];
        let mut b = Builder::new(&mut shader);
        let (x, y) =
            (b.builtin(Builtin::LocalInvocationId(0), Ty::I32), b.builtin(Builtin::LocalInvocationId(1), Ty::I32));
        let (four, stride, width) = (b.u32(4), b.u32(2), b.u32(260));
        let column = b.binary(Binary::IMul, x, four);
        for i in 0..4 {
            let i = b.u32(i);
            let at = b.binary(Binary::IAdd, column, i);
            let at = b.binary(Binary::Shl, at, stride);
            let row = b.binary(Binary::IAdd, y, i);
            let row = b.binary(Binary::IMul, row, width);
            let at = b.binary(Binary::ISub, row, at);
            let flags = crate::ir::MemFlags { readonly: false, volatile: false, align: 4 };
            b.inst(Op::Store(Space::Shared, flags), &[at, x], &[]);
        }
        b.finish();
        shader.root.body.term = Term::default();
        let count = |shader: &Shader| {
            let is = |node: &&Node| matches!(node, Node::Inst(i) if matches!(shader.insts[*i].op, Op::Binary(_)));
            shader.root.body.nodes.iter().filter(is).count()
        };
        fold(&mut shader);
        cse(&mut shader);
        dce(&mut shader);
        let before = count(&shader);
        for pass in [sums, fold, cse, dce] {
            pass(&mut shader);
        }
        // A column, two products and their difference; then a constant each.
        assert_eq!((before, count(&shader)), (19, 7), "{shader}");
    }
}

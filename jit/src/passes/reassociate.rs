//! Reassociates sums of 32-bit integers from which addresses and indices are computed, so that
//! constants come last: `(x + 1) * 4 + y` becomes `(x * 4 + y) + 4`, wrapping or not.
//!
//! Values that differ only by constants, such as the elements of a tile that one invocation has,
//! are then computed once (`cse`). They can also be recognised as neighbours in memory
//! (`emit/load_vectorizer.rs`). Other sums stay as they are: a rotation is a shift to the left and
//! one to the right of one value. The sums without constants are new instructions; `dce` removes
//! those without a use.

use super::util::{ConstantPool, rewrite_insts};
use crate::ir::{Binary, Inst, Node, Op, Shader, Space, Ty, Value, ValueDef};
use cranelift_entity::EntitySet;
use smallvec::smallvec;

/// Runs the pass.
pub fn reassociate(shader: &mut Shader) {
    let address_values = address_values(shader);
    let mut constants = ConstantPool::new(shader);
    let mut root = std::mem::take(&mut shader.root.body);
    rewrite_insts(&mut root, &mut |inst, out| {
        if address_values.contains(shader.insts[inst].first_result)
            && let Some((op, [a, b], constant)) = without_constants(shader, inst)
        {
            let source = shader.insts[inst].source;
            let sum = shader.inst(Op::Binary(op), &[a, b], &[Ty::I32], source);
            out.push(Node::Inst(sum));
            let constant = constants.get(shader, Ty::I32, constant.into());
            let args = smallvec![shader.insts[sum].first_result, constant];
            let data = &mut shader.insts[inst];
            (data.op, data.args) = (Op::Binary(Binary::IAdd), args);
        }
        out.push(Node::Inst(inst));
    });
    shader.root.body = root;
    constants.finish(shader);
}

/// Returns the integers from which addresses in memory and indices of arrays are computed.
fn address_values(shader: &Shader) -> EntitySet<Value> {
    let mut found = EntitySet::with_capacity(shader.values.len());
    let mut todo: Vec<Value> = Vec::new();
    for data in shader.insts.values() {
        let address_values = match data.op {
            Op::Load(space, _) | Op::Store(space, _) | Op::Atomic(space, _) => {
                let at = usize::from(space == Space::Buffer);
                data.args.get(at..at + 1)
            }
            Op::VarLoad(_) => Some(&data.args[..]),
            Op::VarStore(_) => data.args.split_last().map(|(_, index)| index),
            _ => None,
        };
        todo.extend_from_slice(address_values.unwrap_or_default());
    }
    while let Some(v) = todo.pop() {
        if let ValueDef::Inst(inst, 0) = shader.values[v].def
            && let data = &shader.insts[inst]
            && let Op::Binary(Binary::IAdd | Binary::ISub | Binary::IMul | Binary::Shl | Binary::Bound)
            | Op::Convert(_)
            | Op::Select = data.op
            && found.insert(v)
        {
            todo.extend_from_slice(&data.args);
        }
    }
    found
}

/// Splits a value into a sum of another value and a constant.
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

/// Returns the operation of an instruction on operands without constants, and the constant that
/// remains to be added. `None` if there is no constant.
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

    /// Checks that a sum that is only stored, and is no address, stays as it is.
    #[test]
    fn sums_without_address_use_are_unchanged() {
        let mut shader = Shader::new(Stage::Compute, "test");
        let mut b = Builder::new(&mut shader);
        let (x, zero, one, by) = (b.builtin(Builtin::LocalInvocationIndex, Ty::I32), b.u32(0), b.u32(1), b.u32(7));
        let sum = b.binary(Binary::IAdd, x, one);
        let rotated = b.binary(Binary::Shl, sum, by);
        let flags = crate::ir::MemFlags { readonly: false, volatile: false, align: 4 };
        b.inst(Op::Store(Space::Shared, flags), &[zero, rotated], &[]);
        b.finish();
        shader.root.body.term = Term::default();
        let before = shader.to_string();
        reassociate(&mut shader);
        assert_eq!(shader.to_string(), before);
    }

    /// Stores four elements of a row of a tile, whose addresses differ by constants only.
    #[test]
    fn adjacent_tile_addresses_differ_by_constant() {
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
        for pass in [reassociate, fold, cse, dce] {
            pass(&mut shader);
        }
        // A column, two products and their difference; then one sum with a constant each.
        assert_eq!((before, count(&shader)), (19, 7), "{shader}");
    }
}

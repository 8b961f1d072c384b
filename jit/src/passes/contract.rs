//! Fused multiply-add, decided once for all back ends.
//!
//! An FMul whose only use is one FAdd or FSub becomes an Fma with it, if the float flags of both
//! allow it. If both operands of an addition are multiplications, the left one is fused.
//!
//! Only binary32 is contracted, because hosts without the instruction have a helper for that width.

use super::util::rewrite_insts;
use crate::ir::{Binary, FloatFlags, Inst, Node, Op, Region, Shader, Term, Ty, Unary, Value, ValueDef};
use cranelift_entity::SecondaryMap;
use smallvec::smallvec;

/// Runs the pass. It leaves the fused multiplications in place, dead.
pub fn contract(shader: &mut Shader) {
    let mut root = std::mem::take(&mut shader.root.body);
    let mut pass = Contract { uses: SecondaryMap::with_capacity(shader.values.len()), shader };
    pass.count(&root);
    rewrite_insts(&mut root, &mut |inst, out| {
        pass.inst(inst, out);
        out.push(Node::Inst(inst));
    });
    shader.root.body = root;
}

struct Contract<'a> {
    shader: &'a mut Shader,
    uses: SecondaryMap<Value, u32>,
}

impl Contract<'_> {
    fn count(&mut self, region: &Region) {
        for node in &region.nodes {
            match node {
                Node::Inst(inst) => {
                    for &arg in &self.shader.insts[*inst].args {
                        self.uses[arg] += 1;
                    }
                }
                Node::If(n) => {
                    self.count(&n.then);
                    self.count(&n.else_);
                }
                Node::Loop(n) => {
                    self.add(&n.inits);
                    self.count(&n.body);
                }
                Node::Scope(n) => self.count(&n.body),
            }
        }
        if let Term::Yield(args) | Term::Break(_, args) = &region.term {
            self.add(args);
        }
    }

    fn add(&mut self, values: &[Value]) {
        for &v in values {
            self.uses[v] += 1;
        }
    }

    /// Returns the factors and the flags of a value that may be fused into its user, whose flags
    /// are `float`.
    fn factors(&self, v: Value, float: FloatFlags) -> Option<(Value, Value, FloatFlags)> {
        let ValueDef::Inst(inst, 0) = self.shader.values[v].def else { return None };
        let data = &self.shader.insts[inst];
        let fusible = data.op == Op::Binary(Binary::FMul) && float.may_contract(data.float) && self.uses[v] == 1;
        fusible.then(|| (data.args[0], data.args[1], data.float))
    }

    fn inst(&mut self, inst: Inst, out: &mut Vec<Node>) {
        let data = &self.shader.insts[inst];
        let Op::Binary(op @ (Binary::FAdd | Binary::FSub)) = data.op else { return };
        if self.shader.ty(data.first_result) != Ty::F32 {
            return;
        }
        let (left, right, source, float) = (data.args[0], data.args[1], data.source, data.float);
        let subtract = op == Binary::FSub;
        let (args, factor) = if let Some((a, b, flags)) = self.factors(left, float) {
            let addend = if subtract { self.negate(right, source, out) } else { right };
            (smallvec![a, b, addend], flags)
        } else if let Some((a, b, flags)) = self.factors(right, float) {
            let a = if subtract { self.negate(a, source, out) } else { a };
            (smallvec![a, b, left], flags)
        } else {
            return;
        };
        let data = &mut self.shader.insts[inst];
        data.op = Op::Fma;
        data.args = args;
        data.float |= factor;
    }

    fn negate(&mut self, v: Value, source: u32, out: &mut Vec<Node>) -> Value {
        let ty = self.shader.ty(v);
        let inst = self.shader.inst(Op::Unary(Unary::FNeg), &[v], &[ty], source);
        out.push(Node::Inst(inst));
        self.shader.insts[inst].first_result
    }
}

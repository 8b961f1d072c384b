//! If-conversion: small Ifs without effects become selects, which are cheaper than a branch and
//! much cheaper than masks.

use super::util::Renames;
use crate::ir::{CostClass, Effects, Inst, Node, Op, Region, Shader, Term, Value};

/// Largest number of instructions that are executed unconditionally (both arms together).
const MAX_INSTS: usize = 8;
/// Largest number of selects.
const MAX_RESULTS: usize = 6;

/// Runs the pass.
pub fn opt_if_conversion(shader: &mut Shader) {
    let mut root = std::mem::take(&mut shader.root.body);
    IfConversion { shader, renames: Renames::default() }.region(&mut root);
    shader.root.body = root;
}

struct IfConversion<'a> {
    shader: &'a mut Shader,
    renames: Renames,
}

impl IfConversion<'_> {
    fn region(&mut self, region: &mut Region) {
        let mut out = Vec::with_capacity(region.nodes.len());
        for mut node in std::mem::take(&mut region.nodes) {
            match &mut node {
                Node::Inst(inst) => self.renames.apply(&mut self.shader.insts[*inst].args),
                Node::If(n) => {
                    n.cond = self.renames.resolve(n.cond);
                    self.region(&mut n.then);
                    self.region(&mut n.else_);
                    if let (Some(a), Some(b)) = (self.cost(&n.then), self.cost(&n.else_))
                        && a + b <= MAX_INSTS
                        && n.results.len() <= MAX_RESULTS
                    {
                        out.append(&mut n.then.nodes);
                        out.append(&mut n.else_.nodes);
                        if let (Term::Yield(a), Term::Yield(b)) = (&n.then.term, &n.else_.term) {
                            for ((&result, &a), &b) in n.results.iter().zip(a).zip(b) {
                                let value = if a == b { a } else { self.select(n.cond, a, b, &mut out) };
                                self.renames.set(result, value);
                            }
                        }
                        continue;
                    }
                }
                Node::Loop(n) => {
                    self.renames.apply(&mut n.inits);
                    self.region(&mut n.body);
                }
                Node::Scope(n) => self.region(&mut n.body),
            }
            out.push(node);
        }
        region.nodes = out;
        if let Term::Yield(args) | Term::Break(_, args) = &mut region.term {
            self.renames.apply(args);
        }
    }

    fn select(&mut self, cond: Value, a: Value, b: Value, out: &mut Vec<Node>) -> Value {
        let ty = self.shader.ty(a);
        let inst = self.shader.inst(Op::Select, &[cond, a, b], &[ty], 0);
        out.push(Node::Inst(inst));
        self.shader.insts[inst].first_result
    }

    /// Returns the number of instructions of an arm, or `None` if it must not be executed
    /// unconditionally.
    fn cost(&self, arm: &Region) -> Option<usize> {
        if !matches!(arm.term, Term::Yield(_)) || arm.nodes.len() > MAX_INSTS {
            return None;
        }
        arm.nodes.iter().all(|n| matches!(n, Node::Inst(i) if self.cheap(*i))).then_some(arm.nodes.len())
    }

    fn cheap(&self, inst: Inst) -> bool {
        let info = self.shader.insts[inst].op.info();
        info.cost == CostClass::Cheap && info.effects == Effects::NONE
    }
}

//! Bodies of functions: the walk of the entry point's tree, which inlines calls, makes regions of
//! control flow, and sets phis.

use super::deco;
use super::flow::BlockIx;
use super::module::{NO_MEMBER, View};
use super::opcodes::op;
use super::structure::{Case, FunctionTree, Node, Term as TreeTerm, Tree};
use super::translator::{Frame, Translator};
use super::types::Type;
use super::value::{Flat, Slot, Val};
use crate::budget;
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, FloatFlags, Label, Op, Term, Ty, Value};
use base::shader::Stage;

/// The FPRoundingMode that rounds to the nearest even number.
const RTE: u32 = 0;

impl<'a> Translator<'a> {
    /// Translates a function's body into the current region, and returns its result.
    pub fn inline(&mut self, number: usize, args: &[Val]) -> Result<Option<Val>> {
        let (a, m) = (self.a, self.m);
        let f = &m.functions[number];
        let Some(tree) = &a.trees[number] else { return Err(Error::internal("function was not analysed")) };
        if args.len() != f.params.len() {
            return Err(Error::invalid("wrong number of arguments").with_id(f.id));
        }
        self.steps += 1;
        // A second inlining must not see the ids of the first one.
        for inst in f.insts.clone() {
            self.forget(m.view(inst).result);
            self.steps += 1;
        }
        for (&param, arg) in f.params.iter().zip(args) {
            self.set(param, arg.clone())?;
        }
        let labels = tree
            .label_used
            .iter()
            .map(|&used| if used { self.b.shader.new_label() } else { self.b.shader.root.label })
            .collect();
        let flags = (0..tree.flags).map(|_| self.b.var(Ty::B1, 1, "")).collect();
        self.frames.push(Frame { function: number, labels, flags, ret: Slot::None });
        let result =
            self.inlined_body(number, tree).and_then(|()| tree.direct_return.map(|id| self.get(id)).transpose());
        let frame = self.frames.pop();
        match (result?, frame) {
            (Some(val), _) => Ok(Some(val)),
            (None, Some(Frame { ret: slot @ Slot::Stored(..), .. })) => Ok(Some(self.load_slot(&slot))),
            (None, Some(Frame { ret: Slot::Val(val), .. })) => Ok(Some(val)),
            _ if *self.s.ty(f.result_ty)? == Type::Void => Ok(None),
            // No return is reachable, so the value is never used.
            _ => self.null(f.result_ty).map(Some),
        }
    }

    fn inlined_body(&mut self, number: usize, tree: &'a FunctionTree) -> Result<()> {
        if tree.label_used[tree.ret as usize] || tree.body.term != TreeTerm::Yield {
            let body = self.region(number, &tree.body)?;
            let label = self.label(tree.ret);
            // An unused label is represented by the root's label. A scope with its own label keeps
            // the following nodes in a region that yields.
            let label = if label == self.b.shader.root.label { self.b.shader.new_label() } else { label };
            self.b.scope(label, body);
            return Ok(());
        }
        self.nodes(number, &tree.body)
    }

    fn label(&self, label: u32) -> Label {
        self.frames.last().and_then(|f| f.labels.get(label as usize).copied()).unwrap_or(self.b.shader.root.label)
    }

    fn region(&mut self, f: usize, t: &'a Tree) -> Result<crate::ir::Region> {
        self.b.push_region();
        self.nodes(f, t)?;
        let term = match t.term {
            TreeTerm::Yield => Term::Yield(Vec::new()),
            TreeTerm::Break(label) => Term::Break(self.label(label), Vec::new()),
            TreeTerm::Unreachable => Term::Unreachable,
            TreeTerm::Tasks(inst) => {
                let v = self.m.view(inst);
                self.emit_tasks(v).map_err(|e| e.at(v.opcode(), 0))?;
                Term::Break(self.b.shader.root.label, Vec::new())
            }
            TreeTerm::IgnoreIntersection => self.end_any_hit(Op::IgnoreIntersection)?,
            TreeTerm::TerminateRay => self.end_any_hit(Op::TerminateRay)?,
            TreeTerm::Kill => {
                self.b.emit(Op::Demote, &[], &[]);
                self.b.shader.fragment_mut()?.kills = true;
                Term::Break(self.b.shader.root.label, Vec::new())
            }
        };
        Ok(self.b.pop_region(term))
    }

    fn nodes(&mut self, f: usize, t: &'a Tree) -> Result<()> {
        for node in &t.nodes {
            match node {
                Node::Block(b) => self.block(f, *b)?,
                Node::Moves { from, to } => self.moves(f, *from, *to)?,
                Node::If { cond, then, else_ } => {
                    let cond = self.scalar(*cond)?;
                    let then = self.region(f, then)?;
                    let else_ = self.region(f, else_)?;
                    self.b.if_(cond, then, else_);
                }
                Node::Loop { label, body } => {
                    let body = self.region(f, body)?;
                    let label = self.fresh_if_unused(*label);
                    self.b.loop_(label, body);
                }
                Node::Scope { label, body } => {
                    let body = self.region(f, body)?;
                    let label = self.label(*label);
                    self.b.scope(label, body);
                }
                Node::Switch { selector, cases } => self.switch(f, *selector, cases)?,
                Node::SetFlag(flag) => {
                    let one = self.b.bool(true);
                    self.store_flag(*flag, one);
                }
                Node::Return(id) => {
                    let val = self.get(*id)?;
                    let mut slot = self.frames.last_mut().map_or(Slot::None, |f| std::mem::take(&mut f.ret));
                    self.hand_over(&mut slot, self.type_of(*id)?, val)?;
                    if let Some(frame) = self.frames.last_mut() {
                        frame.ret = slot;
                    }
                }
            }
            self.check_fault()?;
        }
        Ok(())
    }

    /// Returns a label for a loop. A loop without breaks needs a new label of its own.
    fn fresh_if_unused(&mut self, label: u32) -> Label {
        let label = self.label(label);
        if label == self.b.shader.root.label { self.b.shader.new_label() } else { label }
    }

    fn store_flag(&mut self, flag: u32, v: Value) {
        let var = self.frames.last().and_then(|f| f.flags.get(flag as usize).copied());
        if let Some(var) = var {
            self.b.store_var(var, None, v);
        }
    }

    fn switch(&mut self, f: usize, selector: u32, cases: &'a [Case]) -> Result<()> {
        let sel = self.scalar(selector)?;
        let (yes, no) = (self.b.bool(true), self.b.bool(false));
        for case in cases {
            if let Some(flag) = case.flag {
                self.store_flag(flag, no);
            }
        }
        // The condition of each case is computed where it is needed. If all were computed before
        // the first case, all would be live through all bodies.
        let mut matched = no;
        let default = cases.iter().position(|c| c.default).unwrap_or(0);
        for (i, case) in cases.iter().enumerate() {
            let trivial = case.body.nodes.is_empty() && case.body.term == TreeTerm::Yield;
            let matches = if case.default {
                // The literals of the default case are not distinguished from it.
                let later = cases[i + 1..].iter().flat_map(|c| &c.literals);
                let any = self.matches(sel, matched, later);
                if any == no { yes } else { self.b.un(crate::ir::Unary::Not, any) }
            } else {
                self.matches(sel, no, case.literals.iter())
            };
            if i < default {
                matched = if matched == no { matches } else { self.b.bin(Binary::Or, matched, matches) };
            }
            if trivial && case.entry.is_none() {
                continue;
            }
            let cond = match case.flag.and_then(|flag| self.frames.last()?.flags.get(flag as usize).copied()) {
                Some(var) => {
                    let fell = self.b.load_var(var, None);
                    self.b.bin(Binary::Or, matches, fell)
                }
                None => matches,
            };
            self.b.push_region();
            if let Some((from, to)) = case.entry {
                self.b.push_region();
                self.moves(f, from, to)?;
                let moves = self.b.pop_region(Term::default());
                self.b.if_(matches, moves, crate::ir::Region::default());
            }
            let body = self.region(f, &case.body)?;
            self.b.append(body);
            let (nodes, term) = self.b.pop_parts();
            self.b.if_(cond, crate::ir::Region { nodes, term }, crate::ir::Region::default());
            self.check_fault()?;
        }
        Ok(())
    }

    /// Returns `before`, or that the selector is one of the literals.
    fn matches<'l>(&mut self, sel: Value, before: Value, literals: impl Iterator<Item = &'l u64>) -> Value {
        let ty = self.b.ty(sel);
        let no = self.b.bool(false);
        literals.fold(before, |cond, &bits| {
            let literal = self.b.konst(ty, bits);
            let eq = self.b.cmp(Cmp::IEq, sel, literal);
            if cond == no { eq } else { self.b.bin(Binary::Or, cond, eq) }
        })
    }

    /// Sets the phis of `to` when control comes from `from`. All values are read before any is
    /// written.
    fn moves(&mut self, f: usize, from: BlockIx, to: BlockIx) -> Result<()> {
        let m = self.m;
        let blocks = &m.functions[f].blocks;
        let label = blocks[from as usize].label;
        let mut taken = Vec::new();
        for inst in blocks[to as usize].body.clone() {
            let v = m.view(inst);
            if v.op != op::OpPhi {
                continue;
            }
            let id = self.phi_operand(v, label);
            let id =
                id.ok_or_else(|| Error::invalid("phi has no operand for a predecessor").at(v.opcode(), v.result))?;
            let val = self.get(id).and_then(|val| self.normal(val)).map_err(|e| e.at(v.opcode(), v.result))?;
            taken.push((v, val));
        }
        let kept = taken.iter().filter(|(_, val)| matches!(val, Val::Kept(_))).count();
        if kept > 1 {
            for (_, val) in &mut taken {
                *val = self.read_kept(std::mem::replace(val, Val::Flat(Flat::new())))?;
            }
        }
        for (v, val) in taken {
            let key = v.result;
            let mut slot = self.phi_slot(key)?;
            self.hand_over(&mut slot, v.ty, val).map_err(|e| e.at(v.opcode(), v.result))?;
            self.set_phi_slot(key, slot);
        }
        Ok(())
    }

    fn block(&mut self, f: usize, b: BlockIx) -> Result<()> {
        let m = self.m;
        let block = &m.functions[f].blocks[b as usize];
        if block.has_phi {
            let phis: Vec<View<'_>> = block.body.clone().map(|i| m.view(i)).filter(|v| v.op == op::OpPhi).collect();
            for v in phis {
                let slot = self.phi_slot(v.result)?;
                let val = match &slot {
                    Slot::Stored(..) => self.load_slot(&slot),
                    Slot::Val(val) => val.clone(),
                    // No predecessor is reachable.
                    Slot::None => self.null(v.ty)?,
                };
                self.set_phi_slot(v.result, slot);
                self.set(v.result, val)?;
            }
        }
        for inst in block.body.clone() {
            let v = m.view(inst);
            self.steps += 1;
            if self.steps > budget::TRANSLATED {
                return Err(Error::limit("shader is too large with all calls inlined").at(v.opcode(), v.result));
            }
            budget::ir(&self.b.shader).map_err(|e| e.at(v.opcode(), v.result))?;
            self.b.source = if v.result != 0 { v.result } else { v.args.first().copied().unwrap_or(0) };
            if v.result != 0 {
                if m.decorated(v.result, deco::NO_CONTRACTION) {
                    self.b.float = FloatFlags::NO_CONTRACTION;
                }
                self.b.nearest = m.decoration_value(v.result, NO_MEMBER, deco::FP_ROUNDING_MODE) == Some(RTE);
                self.b.fast = m.decoration_value(v.result, NO_MEMBER, deco::FP_FAST_MATH_MODE);
            }
            self.instruction(v).map_err(|e| e.at(v.opcode(), v.result))?;
            (self.b.float, self.b.fast, self.b.nearest) = (FloatFlags::NONE, None, false);
            self.check_fault().map_err(|e| e.at(v.opcode(), v.result))?;
        }
        Ok(())
    }

    /// Translates the function of the entry point.
    pub fn entry_point(&mut self, root: usize) -> Result<()> {
        if self.stage == Stage::Intersection {
            self.load_t_max();
        }
        if self.stage != Stage::AnyHit {
            return self.inline(root, &[]).map(drop);
        }
        // Outputs are stored behind the scope, whichever way it is left.
        let end = self.b.shader.new_label();
        self.ray.end = Some(end);
        self.b.push_region();
        let inlined = self.inline(root, &[]);
        let body = self.b.pop_region(Term::default());
        self.b.scope(end, body);
        inlined.map(drop)
    }
}

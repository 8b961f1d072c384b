//! CFG simplification: brings control flow into its simplest structured form. Fewer breaks mean
//! fewer masks in generated code.
//!
//! * An If with a constant condition becomes its arm; nodes behind a node that never completes are
//!   removed.
//! * Where falling out of a region already leaves scope `L` (*tail position*), a break to `L`
//!   becomes a yield. To bring breaks there, `if c { …; break L } rest` becomes
//!   `if c { … } else { rest }`, up to a nesting limit.
//! * A scope at the end of a scope's body shares its label; a scope that no break leaves is spliced
//!   into its parent.
//! * A loop without a back edge becomes a scope.
//!
//! The pass works before and after mem2reg, because results are kept right by renaming.

use super::util::Renames;
use crate::ir::{If, Label, Loop, Node, Region, Scope, Shader, Term, Ty, Value};
use cranelift_entity::EntityRef;

/// Deepest nesting that moving code into arms may create.
const MAX_DEPTH: u32 = 120;

/// Runs the pass.
pub fn simplify_cfg(shader: &mut Shader) {
    let mut root = std::mem::take(&mut shader.root.body);
    let labels = shader.labels as usize;
    let mut pass = SimplifyCfg {
        renames: Renames::default(),
        alias: (0..labels).map(Label::new).collect(),
        breaks: vec![0; labels],
        types: vec![Vec::new(); labels],
        shader,
    };
    let label = pass.shader.root.label;
    pass.region(&mut root, Some(label), 0);
    shader.root.body = root;
}

struct SimplifyCfg<'a> {
    shader: &'a mut Shader,
    renames: Renames,
    /// Label into which each label was merged.
    alias: Vec<Label>,
    /// Number of breaks to each label in the finished part.
    breaks: Vec<u32>,
    /// Result types of each label.
    types: Vec<Vec<Ty>>,
}

impl SimplifyCfg<'_> {
    /// Simplifies a region. `tail` is the scope whose results a Yield of this region gives.
    fn region(&mut self, region: &mut Region, tail: Option<Label>, depth: u32) {
        let mut todo = std::mem::take(&mut region.nodes);
        todo.reverse();
        let mut out = Vec::with_capacity(todo.len());
        let mut finished = false;
        while let Some(node) = todo.pop() {
            match node {
                Node::Inst(inst) => {
                    self.renames.apply(&mut self.shader.insts[inst].args);
                    out.push(Node::Inst(inst));
                }
                Node::If(n) => self.if_(*n, region, &mut todo, &mut out, tail, depth),
                Node::Scope(n) => finished |= self.scope(*n, region, &mut todo, &mut out, tail, depth),
                Node::Loop(n) => finished |= self.loop_(*n, region, &mut todo, &mut out, depth),
            }
        }
        region.nodes = out;
        if !finished {
            self.term(&mut region.term, tail);
        }
    }

    fn term(&mut self, term: &mut Term, tail: Option<Label>) {
        match term {
            Term::Yield(args) => self.renames.apply(args),
            Term::Break(label, args) => {
                self.renames.apply(args);
                *label = self.alias[label.index()];
                if Some(*label) == tail {
                    *term = Term::Yield(std::mem::take(args));
                } else {
                    self.breaks[label.index()] += 1;
                }
            }
            Term::Unreachable => {}
        }
    }

    fn is_break_to(&self, term: &Term, tail: Option<Label>) -> bool {
        matches!(term, Term::Break(label, _) if Some(self.alias[label.index()]) == tail)
    }

    /// Returns true if the region yields exactly these values.
    fn yields(&self, term: &Term, results: &[Value]) -> bool {
        match term {
            Term::Yield(args) => {
                args.len() == results.len() && args.iter().zip(results).all(|(&a, &r)| self.renames.resolve(a) == r)
            }
            _ => false,
        }
    }

    fn if_(
        &mut self,
        mut n: If,
        region: &mut Region,
        todo: &mut Vec<Node>,
        out: &mut Vec<Node>,
        tail: Option<Label>,
        depth: u32,
    ) {
        n.cond = self.renames.resolve(n.cond);
        if let Some(cond) = self.shader.as_const(n.cond) {
            let arm = if cond != 0 { n.then } else { n.else_ };
            self.splice(arm, &n.results, region, todo);
            return;
        }
        if tail.is_some() && depth < MAX_DEPTH {
            self.bring_to_tail(&mut n, region, todo, tail);
        }
        let in_tail = todo.is_empty() && self.yields(&region.term, &n.results);
        let arm_tail = if in_tail { tail } else { None };
        self.region(&mut n.then, arm_tail, depth + 1);
        self.region(&mut n.else_, arm_tail, depth + 1);
        if !matches!(n.then.term, Term::Yield(_)) && !matches!(n.else_.term, Term::Yield(_)) {
            todo.clear();
            region.term = Term::Unreachable;
            n.results.clear();
        }
        out.push(Node::If(Box::new(n)));
    }

    /// Makes an If with a break to `tail` the last node of its region, whose yield passes the If's
    /// results.
    fn bring_to_tail(&mut self, n: &mut If, region: &mut Region, todo: &mut Vec<Node>, tail: Option<Label>) {
        let then_breaks = self.is_break_to(&n.then.term, tail);
        let else_breaks = self.is_break_to(&n.else_.term, tail);
        if !then_breaks && !else_breaks {
            return;
        }
        // The arm that continues behind the If, if there is one, takes in the rest of the region.
        let going_on = match (&n.then.term, &n.else_.term) {
            (Term::Yield(_), _) => Some(&mut n.then),
            (_, Term::Yield(_)) => Some(&mut n.else_),
            _ => None,
        };
        let rest_term = std::mem::replace(&mut region.term, Term::Unreachable);
        let mut rest = std::mem::take(todo);
        if let Some(arm) = going_on {
            if let Term::Yield(args) = std::mem::replace(&mut arm.term, rest_term) {
                for (&result, arg) in n.results.iter().zip(args) {
                    self.renames.set(result, arg);
                }
            }
            rest.reverse();
            arm.nodes.append(&mut rest);
        }
        let types = tail.map_or(&[][..], |l| &self.types[l.index()]);
        n.results = types.iter().map(|&ty| self.shader.region_value(ty)).collect();
        for arm in [&mut n.then, &mut n.else_] {
            if let Term::Break(label, args) = &mut arm.term
                && Some(self.alias[label.index()]) == tail
            {
                arm.term = Term::Yield(std::mem::take(args));
            }
        }
        region.term = Term::Yield(n.results.clone());
    }

    /// Puts a region's nodes (not yet processed) in place of the node that held it.
    fn splice(&mut self, mut arm: Region, results: &[Value], region: &mut Region, todo: &mut Vec<Node>) {
        match arm.term {
            Term::Yield(args) => {
                for (&result, arg) in results.iter().zip(args) {
                    self.renames.set(result, arg);
                }
            }
            term => {
                todo.clear();
                region.term = term;
            }
        }
        arm.nodes.reverse();
        todo.append(&mut arm.nodes);
    }

    /// Simplifies a scope and returns true if the region's term is final.
    fn scope(
        &mut self,
        mut n: Scope,
        region: &mut Region,
        todo: &mut Vec<Node>,
        out: &mut Vec<Node>,
        tail: Option<Label>,
        depth: u32,
    ) -> bool {
        if let Some(tail) = tail
            && todo.is_empty()
            && self.yields(&region.term, &n.results)
        {
            self.alias[n.label.index()] = tail;
            region.term = n.body.term;
            *todo = n.body.nodes;
            todo.reverse();
            return false;
        }
        self.types[n.label.index()] = n.results.iter().map(|&r| self.shader.ty(r)).collect();
        self.region(&mut n.body, Some(n.label), depth + 1);
        if self.breaks[n.label.index()] > 0 {
            out.push(Node::Scope(Box::new(n)));
            return false;
        }
        out.append(&mut n.body.nodes);
        match n.body.term {
            Term::Yield(args) => {
                for (result, arg) in n.results.into_iter().zip(args) {
                    self.renames.set(result, arg);
                }
                false
            }
            term => {
                todo.clear();
                region.term = term;
                true
            }
        }
    }

    /// Simplifies a loop and returns true if the region's term is final.
    fn loop_(
        &mut self,
        mut n: Loop,
        region: &mut Region,
        todo: &mut Vec<Node>,
        out: &mut Vec<Node>,
        depth: u32,
    ) -> bool {
        self.renames.apply(&mut n.inits);
        self.types[n.label.index()] = n.results.iter().map(|&r| self.shader.ty(r)).collect();
        self.region(&mut n.body, None, depth + 1);
        let endless = self.breaks[n.label.index()] == 0;
        if !matches!(n.body.term, Term::Yield(_)) {
            // The body runs once. Breaks to the loop stay; inner uses of the params are renamed by
            // the next walk.
            self.rename_now(&n.params, &n.inits, &mut n.body);
            if endless {
                out.append(&mut n.body.nodes);
                todo.clear();
                region.term = n.body.term;
                return true;
            }
            out.push(Node::Scope(Box::new(Scope { label: n.label, body: n.body, results: n.results })));
            return false;
        }
        if endless {
            n.results.clear();
            todo.clear();
            region.term = Term::Unreachable;
        }
        out.push(Node::Loop(Box::new(n)));
        endless
    }

    /// Renames values in a region that has been processed already.
    fn rename_now(&mut self, from: &[Value], to: &[Value], body: &mut Region) {
        if from.is_empty() {
            return;
        }
        for (&f, &t) in from.iter().zip(to) {
            self.renames.set(f, t);
        }
        self.rename_region(body);
    }

    fn rename_region(&mut self, region: &mut Region) {
        for node in &mut region.nodes {
            match node {
                Node::Inst(inst) => self.renames.apply(&mut self.shader.insts[*inst].args),
                Node::If(n) => {
                    n.cond = self.renames.resolve(n.cond);
                    self.rename_region(&mut n.then);
                    self.rename_region(&mut n.else_);
                }
                Node::Loop(n) => {
                    self.renames.apply(&mut n.inits);
                    self.rename_region(&mut n.body);
                }
                Node::Scope(n) => self.rename_region(&mut n.body),
            }
        }
        if let Term::Yield(args) | Term::Break(_, args) = &mut region.term {
            self.renames.apply(args);
        }
    }
}

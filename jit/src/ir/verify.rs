//! Checks of structure, types and visibility, on which every pass may rely and which it must keep.
//!
//! * Each value is defined at most once, and before each use in the same region or a region around
//!   it.
//! * Yields and breaks give as many values, of the same types, as their target's results or params.
//! * Breaks name an enclosing label; each label is used by one node.
//! * Operands and results fit the operation's row ([`super::Signature`]).
//! * Float flags contradict neither each other nor the types.

use super::{If, Inst, Label, Loop, Node, Region, Scope, Shader, Term, Ty, Value};
use cranelift_entity::{EntityRef, SecondaryMap};

/// Checks a shader; the error names the value, label or instruction that breaks a rule.
pub fn verify(shader: &Shader) -> Result<(), String> {
    let mut v = Verifier {
        shader,
        visible: SecondaryMap::new(),
        defined: SecondaryMap::new(),
        placed: SecondaryMap::new(),
        labels: vec![false; shader.labels as usize],
        open: Vec::new(),
    };
    if !shader.root.results.is_empty() {
        return Err("the root scope has results".to_owned());
    }
    v.scope(&shader.root)
}

struct Verifier<'a> {
    shader: &'a Shader,
    visible: SecondaryMap<Value, bool>,
    defined: SecondaryMap<Value, bool>,
    placed: SecondaryMap<Inst, bool>,
    labels: Vec<bool>,
    /// Enclosing break targets with their result types.
    open: Vec<(Label, &'a [Value])>,
}

type Check = Result<(), String>;

impl<'a> Verifier<'a> {
    fn define(&mut self, value: Value, log: &mut Vec<Value>) -> Check {
        if value.index() >= self.shader.values.len() {
            return Err(format!("{value} does not exist"));
        }
        if std::mem::replace(&mut self.defined[value], true) {
            return Err(format!("{value} is defined twice"));
        }
        self.visible[value] = true;
        log.push(value);
        Ok(())
    }

    fn use_(&self, value: Value, what: &dyn Fn() -> String) -> Result<Ty, String> {
        if value.index() >= self.shader.values.len() || !self.visible[value] {
            return Err(format!("{}: {value} is not visible here", what()));
        }
        Ok(self.shader.ty(value))
    }

    fn flow(&self, args: &[Value], targets: &[Value], what: &dyn Fn() -> String) -> Check {
        if args.len() != targets.len() {
            return Err(format!("{}: {} values for {} targets", what(), args.len(), targets.len()));
        }
        for (&arg, &target) in args.iter().zip(targets) {
            let ty = self.use_(arg, what)?;
            if ty != self.shader.ty(target) {
                return Err(format!("{}: {arg} is {ty}, {target} is {}", what(), self.shader.ty(target)));
            }
        }
        Ok(())
    }

    /// Checks a region. `yields` are the values that a Yield of this region defines.
    fn region(&mut self, region: &'a Region, yields: &[Value], mut log: Vec<Value>) -> Check {
        for node in &region.nodes {
            self.node(node, &mut log)?;
        }
        match &region.term {
            Term::Yield(args) => self.flow(args, yields, &|| "yield".to_owned())?,
            Term::Break(label, args) => match self.open.iter().rev().find(|o| o.0 == *label) {
                Some(&(_, results)) => self.flow(args, results, &|| format!("break {label}"))?,
                None => return Err(format!("break {label}: not inside it")),
            },
            Term::Unreachable => {}
        }
        for value in log {
            self.visible[value] = false;
        }
        Ok(())
    }

    fn node(&mut self, node: &'a Node, log: &mut Vec<Value>) -> Check {
        match node {
            Node::Inst(inst) => self.inst(*inst, log),
            Node::If(n) => {
                self.if_(n)?;
                n.results.iter().try_for_each(|&r| self.define(r, log))
            }
            Node::Loop(n) => {
                self.loop_(n)?;
                n.results.iter().try_for_each(|&r| self.define(r, log))
            }
            Node::Scope(n) => {
                self.scope(n)?;
                n.results.iter().try_for_each(|&r| self.define(r, log))
            }
        }
    }

    fn if_(&mut self, n: &'a If) -> Check {
        if self.use_(n.cond, &|| "if".to_owned())? != Ty::B1 {
            return Err(format!("if: {} is not a boolean", n.cond));
        }
        self.region(&n.then, &n.results, Vec::new())?;
        self.region(&n.else_, &n.results, Vec::new())
    }

    fn loop_(&mut self, n: &'a Loop) -> Check {
        self.enter(n.label, &n.results)?;
        self.flow(&n.inits, &n.params, &|| format!("loop {}", n.label))?;
        let mut log = Vec::new();
        n.params.iter().try_for_each(|&p| self.define(p, &mut log))?;
        self.region(&n.body, &n.params, log)?;
        self.open.pop();
        Ok(())
    }

    fn scope(&mut self, n: &'a Scope) -> Check {
        self.enter(n.label, &n.results)?;
        self.region(&n.body, &n.results, Vec::new())?;
        self.open.pop();
        Ok(())
    }

    fn enter(&mut self, label: Label, results: &'a [Value]) -> Check {
        match self.labels.get_mut(label.index()) {
            None => return Err(format!("{label} was never given out")),
            Some(used) if *used => return Err(format!("{label} is used twice")),
            Some(used) => *used = true,
        }
        self.open.push((label, results));
        Ok(())
    }

    fn inst(&mut self, inst: Inst, log: &mut Vec<Value>) -> Check {
        if inst.index() >= self.shader.insts.len() || std::mem::replace(&mut self.placed[inst], true) {
            return Err(format!("{inst} does not exist or is placed twice"));
        }
        let data = &self.shader.insts[inst];
        let what = || format!("{inst} {:?} (%{})", data.op, data.source);
        let args = data.args.iter().map(|&a| self.use_(a, &what)).collect::<Result<Vec<Ty>, _>>()?;
        for result in data.results() {
            self.define(result, log)?;
        }
        let results: Vec<Ty> = data.results().map(|r| self.shader.ty(r)).collect();
        if !data.op.fits(self.shader, &args, &results) {
            return Err(format!("{}: wrong types {args:?} -> {results:?}", what()));
        }
        if !data.float.is_empty() && !self.shader.has_float(inst) {
            return Err(format!("{}: float flags without a float", what()));
        }
        if !data.float.is_consistent() {
            return Err(format!("{}: contradictory float flags{}", what(), data.float));
        }
        Ok(())
    }
}

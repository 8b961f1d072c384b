//! Full unrolling of small loops with a constant trip count.
//!
//! The trip count is found by simulating the loop on constants: params with constant first values,
//! and everything computed from them. An If with an unknown condition is followed both ways. If an
//! iteration certainly does not continue, the loop becomes that many copies of its body in a Scope
//! with the loop's label. `fold` and `simplify_cfg` do the rest.

use crate::ir::{If, Inst, Label, Loop, Node, Op, Region, Scope, Shader, Term, Value, eval};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// Largest number of iterations.
const MAX_TRIPS: usize = 32;
/// Largest number of resulting instructions.
const MAX_INSTS: usize = 256;
/// Largest number of resulting instructions of loops that index private arrays, because unrolling
/// may remove the arrays.
const MAX_INSTS_ARRAYS: usize = 1024;
/// Largest number of instructions that unrolling may add to a shader.
const MAX_ADDED: usize = 1 << 17;

/// Runs the pass and returns true if a loop was unrolled.
pub fn unroll(shader: &mut Shader) -> bool {
    let mut root = std::mem::take(&mut shader.root.body);
    let mut pass = Unroll {
        known: SecondaryMap::with_capacity(shader.values.len()),
        map: SecondaryMap::new(),
        labels: SecondaryMap::new(),
        break_outcomes: Vec::new(),
        any: false,
        max_insts: shader.insts.len() + MAX_ADDED,
        shader,
    };
    pass.region(&mut root);
    let any = pass.any;
    shader.root.body = root;
    any
}

struct Unroll<'a> {
    shader: &'a mut Shader,
    /// Bits of a value in the iteration that is simulated, if they are known.
    known: SecondaryMap<Value, Option<u64>>,
    /// Copy of each value in the current copy of the body.
    map: SecondaryMap<Value, Option<Value>>,
    /// Copy of each label in the current copy of the body.
    labels: SecondaryMap<Label, Option<Label>>,
    /// Labels open in the simulation, with what is known of their results if they were reached by
    /// exactly one break.
    break_outcomes: Vec<(Label, BreakOutcome)>,
    any: bool,
    /// Number of instructions of the shader beyond which no loop is unrolled.
    max_insts: usize,
}

enum BreakOutcome {
    None,
    One(Vec<Option<u64>>),
    Many,
}

impl Unroll<'_> {
    /// Unrolls the loops of a region, inner ones first.
    fn region(&mut self, region: &mut Region) {
        for node in &mut region.nodes {
            match node {
                Node::Inst(_) => {}
                Node::If(n) => {
                    self.region(&mut n.then);
                    self.region(&mut n.else_);
                }
                Node::Scope(n) => self.region(&mut n.body),
                Node::Loop(n) => {
                    self.region(&mut n.body);
                    if let Some(trips) = self.trips(n) {
                        *node = self.copies(n, trips);
                        self.any = true;
                    }
                }
            }
        }
    }

    /// Returns how many times the body begins, if that is constant and small.
    fn trips(&mut self, n: &Loop) -> Option<usize> {
        let constant = |v: &Value| self.shader.as_const(*v);
        if !n.inits.iter().any(|v| constant(v).is_some()) {
            return None;
        }
        let mut size = Size::default();
        size.region(self.shader, &n.body);
        let limit = if size.arrays { MAX_INSTS_ARRAYS } else { MAX_INSTS };
        if size.insts > limit || size.suspends || self.shader.insts.len() > self.max_insts {
            return None;
        }
        let mut carried: Vec<Option<u64>> = n.inits.iter().map(constant).collect();
        for trip in 1..=MAX_TRIPS.min(limit / size.insts.max(1)) {
            for (&param, bits) in n.params.iter().zip(&carried) {
                self.known[param] = *bits;
            }
            if !self.run(&n.body) {
                return Some(trip);
            }
            let Term::Yield(args) = &n.body.term else { return Some(trip) };
            carried = args.iter().map(|&a| self.value(a)).collect();
            // If no known value is carried, the trip count cannot be constant.
            if carried.iter().all(Option::is_none) {
                return None;
            }
        }
        None
    }

    fn value(&self, v: Value) -> Option<u64> {
        self.known[v].or_else(|| self.shader.as_const(v))
    }

    fn assign(&mut self, targets: &[Value], values: &[Option<u64>]) {
        for (i, &target) in targets.iter().enumerate() {
            self.known[target] = values.get(i).copied().flatten();
        }
    }

    /// Simulates a region and returns true if it may yield.
    fn run(&mut self, region: &Region) -> bool {
        for node in &region.nodes {
            let goes_on = match node {
                Node::Inst(inst) => {
                    self.run_inst(*inst);
                    true
                }
                Node::If(n) => self.run_if(n),
                Node::Scope(n) => {
                    self.break_outcomes.push((n.label, BreakOutcome::None));
                    let yields = self.run(&n.body);
                    let hit = self.break_outcomes.pop().map_or(BreakOutcome::Many, |h| h.1);
                    match (hit, &n.body.term) {
                        (BreakOutcome::None, Term::Yield(args)) if yields => {
                            let values: Vec<_> = args.iter().map(|&a| self.value(a)).collect();
                            self.assign(&n.results, &values);
                            true
                        }
                        (BreakOutcome::None, _) => false,
                        (BreakOutcome::One(values), _) if !yields => {
                            self.assign(&n.results, &values);
                            true
                        }
                        _ => {
                            self.assign(&n.results, &[]);
                            true
                        }
                    }
                }
                Node::Loop(n) => {
                    self.assign(&n.params, &[]);
                    self.break_outcomes.push((n.label, BreakOutcome::None));
                    self.run(&n.body);
                    let hit = self.break_outcomes.pop().map_or(BreakOutcome::Many, |h| h.1);
                    self.assign(&n.results, &[]);
                    !matches!(hit, BreakOutcome::None)
                }
            };
            if !goes_on {
                return false;
            }
        }
        if let Term::Break(label, args) = &region.term
            && let Some(i) = self.break_outcomes.iter().rposition(|h| h.0 == *label)
        {
            let values = args.iter().map(|&a| self.value(a)).collect();
            self.break_outcomes[i].1 = if matches!(self.break_outcomes[i].1, BreakOutcome::None) {
                BreakOutcome::One(values)
            } else {
                BreakOutcome::Many
            };
        }
        matches!(region.term, Term::Yield(_))
    }

    fn run_if(&mut self, n: &If) -> bool {
        if let Some(cond) = self.value(n.cond) {
            let arm = if cond != 0 { &n.then } else { &n.else_ };
            let yields = self.run(arm);
            if let Term::Yield(args) = &arm.term {
                let values: Vec<_> = args.iter().map(|&a| self.value(a)).collect();
                self.assign(&n.results, &values);
            }
            return yields;
        }
        let then = self.run(&n.then);
        let else_ = self.run(&n.else_);
        self.assign(&n.results, &[]);
        then || else_
    }

    fn run_inst(&mut self, inst: Inst) {
        let data = &self.shader.insts[inst];
        let mut args: SmallVec<[u64; 4]> = SmallVec::new();
        args.extend(data.args.iter().map_while(|&a| self.value(a)));
        let mut results = None;
        if args.len() == data.args.len() {
            results = eval::fold(self.shader, data, &args);
        }
        for (i, result) in data.results().enumerate() {
            self.known[result] = results.and_then(|r| r.get(i).copied());
        }
    }

    /// Returns a scope with `trips` copies of the loop's body.
    fn copies(&mut self, n: &Loop, trips: usize) -> Node {
        let mut body = Region::default();
        let mut carried = n.inits.clone();
        for trip in 1..=trips {
            for (&param, &value) in n.params.iter().zip(&carried) {
                self.map[param] = Some(value);
            }
            let mut copy = self.copy(&n.body);
            body.nodes.append(&mut copy.nodes);
            match copy.term {
                Term::Yield(args) if trip < trips => carried = args,
                // The simulation has shown that the last copy is left before its end.
                Term::Yield(_) => body.term = Term::Unreachable,
                term => body.term = term,
            }
        }
        Node::Scope(Box::new(Scope { label: n.label, body, results: n.results.clone() }))
    }

    fn mapped(&self, v: Value) -> Value {
        self.map[v].unwrap_or(v)
    }

    fn mapped_list(&self, list: &[Value]) -> Vec<Value> {
        list.iter().map(|&v| self.mapped(v)).collect()
    }

    fn fresh(&mut self, list: &[Value]) -> Vec<Value> {
        list.iter()
            .map(|&v| {
                let ty = self.shader.ty(v);
                let new = self.shader.region_value(ty);
                self.map[v] = Some(new);
                new
            })
            .collect()
    }

    fn fresh_label(&mut self, label: Label) -> Label {
        let new = self.shader.new_label();
        self.labels[label] = Some(new);
        new
    }

    fn copy(&mut self, region: &Region) -> Region {
        let nodes = region.nodes.iter().map(|node| self.copy_node(node)).collect();
        let term = match &region.term {
            Term::Yield(args) => Term::Yield(self.mapped_list(args)),
            Term::Break(label, args) => Term::Break(self.labels[*label].unwrap_or(*label), self.mapped_list(args)),
            Term::Unreachable => Term::Unreachable,
        };
        Region { nodes, term }
    }

    fn copy_node(&mut self, node: &Node) -> Node {
        match node {
            Node::Inst(inst) => Node::Inst(self.copy_inst(*inst)),
            Node::If(n) => {
                let cond = self.mapped(n.cond);
                let (then, else_) = (self.copy(&n.then), self.copy(&n.else_));
                Node::If(Box::new(If { cond, then, else_, results: self.fresh(&n.results) }))
            }
            Node::Scope(n) => {
                let label = self.fresh_label(n.label);
                let body = self.copy(&n.body);
                Node::Scope(Box::new(Scope { label, body, results: self.fresh(&n.results) }))
            }
            Node::Loop(n) => {
                let label = self.fresh_label(n.label);
                let inits = self.mapped_list(&n.inits);
                let params = self.fresh(&n.params);
                let body = self.copy(&n.body);
                Node::Loop(Box::new(Loop { label, params, inits, body, results: self.fresh(&n.results) }))
            }
        }
    }

    fn copy_inst(&mut self, inst: Inst) -> Inst {
        let mut data = self.shader.insts[inst].clone();
        data.args.iter_mut().for_each(|arg| *arg = self.mapped(*arg));
        let types: SmallVec<[crate::ir::Ty; 4]> = data.results().map(|r| self.shader.ty(r)).collect();
        let new = self.shader.inst(data.op.clone(), &data.args, &types, data.source);
        self.shader.insts[new].float = data.float;
        for (old, new) in data.results().zip(self.shader.insts[new].results()) {
            self.map[old] = Some(new);
        }
        new
    }
}

#[derive(Default)]
struct Size {
    insts: usize,
    arrays: bool,
    suspends: bool,
}

impl Size {
    fn inst(&mut self, shader: &Shader, op: &Op) {
        self.suspends |= op.suspends().is_some();
        if let Op::VarLoad(var) | Op::VarStore(var) | Op::RayQuery(var, _) = *op {
            self.arrays |= shader.vars[var].len > 1;
        }
        // Constants cost nothing, however often they occur.
        self.insts -= usize::from(matches!(op, Op::Const(_)));
    }

    fn region(&mut self, shader: &Shader, region: &Region) {
        for node in &region.nodes {
            self.insts += 1;
            match node {
                Node::Inst(inst) => self.inst(shader, &shader.insts[*inst].op),
                Node::If(n) => {
                    self.region(shader, &n.then);
                    self.region(shader, &n.else_);
                }
                Node::Loop(n) => self.region(shader, &n.body),
                Node::Scope(n) => self.region(shader, &n.body),
            }
        }
    }
}

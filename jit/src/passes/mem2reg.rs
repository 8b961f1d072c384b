//! Turns single-element variables into SSA values.
//!
//! This is the classic construction, read off the structure. Control flow merges in results of If,
//! Loop and Scope and loops in params of Loop. There a variable needs a value exactly if it was
//! stored on the way and is live there. Two walks:
//!
//! 1. Backwards: for each structured node, which variables are live behind it and which are stored
//!    in it. One pass suffices, because a back edge makes nothing live at a loop header that is not
//!    live there already. Inside the loop those variables count as live throughout.
//! 2. Forwards: the current value of each variable, with an undo log instead of copies.
//!
//! Both walks identify nodes by their number in program order. Reading a variable that was never
//! stored gives 0.

use super::util::{ConstantPool, Renames};
use crate::ir::{If, Label, Loop, Node, Op, Region, Scope, Shader, Term, Value, Var};
use cranelift_entity::{EntityRef, SecondaryMap};

/// Runs the pass.
pub fn mem2reg(shader: &mut Shader) {
    let vars: Vec<Var> = shader.vars.iter().filter(|(_, data)| data.len == 1).map(|(var, _)| var).collect();
    if vars.is_empty() {
        return;
    }
    let mut index = SecondaryMap::with_default(u32::MAX);
    for (i, &var) in vars.iter().enumerate() {
        index[var] = i as u32;
    }
    let mut root = std::mem::take(&mut shader.root.body);
    let count = structured_nodes(&root);
    let mut liveness = Liveness {
        shader,
        index: &index,
        node_liveness: vec![NodeLiveness::default(); count],
        next: count,
        behind: vec![VarSet::default(); shader.labels as usize],
    };
    // Nothing is live behind the root.
    liveness.behind[shader.root.label.index()] = VarSet::new(vars.len());
    liveness.region(&root, &mut VarSet::new(vars.len()), &mut VarSet::new(vars.len()));
    let node_liveness = liveness.node_liveness;
    let constants = ConstantPool::new(shader);
    let mut depth = SecondaryMap::with_default(0);
    depth.resize(shader.values.len());
    let mut promote = Promote {
        index: &index,
        vars: &vars,
        node_liveness,
        next: 0,
        current: vec![None; vars.len()],
        log: Vec::new(),
        depth,
        carried: vec![0; vars.len()],
        targets: vec![Vec::new(); shader.labels as usize],
        renames: Renames::default(),
        constants,
        shader,
    };
    promote.region(&mut root, &[], 0);
    let constants = promote.constants;
    shader.root.body = root;
    constants.finish(shader);
}

fn structured_nodes(region: &Region) -> usize {
    let inner = |node: &Node| match node {
        Node::Inst(_) => 0,
        Node::If(n) => 1 + structured_nodes(&n.then) + structured_nodes(&n.else_),
        Node::Loop(n) => 1 + structured_nodes(&n.body),
        Node::Scope(n) => 1 + structured_nodes(&n.body),
    };
    region.nodes.iter().map(inner).sum()
}

/// A set of variables, by their dense index.
#[derive(Clone, Default)]
struct VarSet(Vec<u64>);

impl VarSet {
    fn new(len: usize) -> Self {
        VarSet(vec![0; len.div_ceil(64)])
    }
    fn insert(&mut self, i: u32) {
        self.0[i as usize / 64] |= 1 << (i % 64);
    }
    fn remove(&mut self, i: u32) {
        self.0[i as usize / 64] &= !(1 << (i % 64));
    }
    fn contains(&self, i: u32) -> bool {
        self.0[i as usize / 64] >> (i % 64) & 1 == 1
    }
    fn union(&mut self, other: &VarSet) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }
    fn clear(&mut self) {
        self.0.fill(0);
    }
    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            let mut bits = bits;
            std::iter::from_fn(move || {
                if bits == 0 {
                    return None;
                }
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                Some(word as u32 * 64 + bit)
            })
        })
    }
}

/// Facts about a structured node. They are lists and not sets, because there may be many nodes and
/// many variables.
#[derive(Clone, Default)]
struct NodeLiveness {
    /// Variables stored inside, in ascending order, each with whether it is live behind the node,
    /// not counting enclosing back edges.
    stored: Vec<(u32, bool)>,
    /// The variables of `stored` that are live at the header, for loops.
    header: Vec<u32>,
}

struct Liveness<'a> {
    shader: &'a Shader,
    index: &'a SecondaryMap<Var, u32>,
    node_liveness: Vec<NodeLiveness>,
    next: usize,
    /// Variables that are live behind each open label.
    behind: Vec<VarSet>,
}

impl Liveness<'_> {
    /// Walks a region backwards. On entry, `live` holds the variables that are live where the
    /// region yields; on return, those that are live at its start. Adds stored variables to
    /// `stored`.
    fn region(&mut self, region: &Region, live: &mut VarSet, stored: &mut VarSet) {
        match &region.term {
            Term::Yield(_) => {}
            Term::Break(label, _) => live.clone_from(&self.behind[label.index()]),
            Term::Unreachable => live.clear(),
        }
        for node in region.nodes.iter().rev() {
            if let Node::Inst(inst) = node {
                match self.shader.insts[*inst].op {
                    Op::VarLoad(var) if self.index[var] != u32::MAX => live.insert(self.index[var]),
                    Op::VarStore(var) if self.index[var] != u32::MAX => {
                        live.remove(self.index[var]);
                        stored.insert(self.index[var]);
                    }
                    _ => {}
                }
                continue;
            }
            let behind = live.clone();
            let mut inside = VarSet(vec![0; live.0.len()]);
            match node {
                Node::Inst(_) => {}
                Node::If(n) => {
                    let mut other = live.clone();
                    self.region(&n.else_, &mut other, &mut inside);
                    self.region(&n.then, live, &mut inside);
                    live.union(&other);
                }
                Node::Scope(n) => {
                    self.behind[n.label.index()].clone_from(live);
                    self.region(&n.body, live, &mut inside);
                    self.behind[n.label.index()] = VarSet::default();
                }
                Node::Loop(n) => {
                    self.behind[n.label.index()].clone_from(live);
                    live.clear();
                    self.region(&n.body, live, &mut inside);
                    self.behind[n.label.index()] = VarSet::default();
                }
            }
            stored.union(&inside);
            let header = match node {
                Node::Loop(_) => inside.iter().filter(|&v| live.contains(v)).collect(),
                _ => Vec::new(),
            };
            self.next -= 1;
            self.node_liveness[self.next] =
                NodeLiveness { stored: inside.iter().map(|v| (v, behind.contains(v))).collect(), header };
        }
    }
}

struct Promote<'a> {
    shader: &'a mut Shader,
    index: &'a SecondaryMap<Var, u32>,
    vars: &'a [Var],
    node_liveness: Vec<NodeLiveness>,
    next: usize,
    current: Vec<Option<Value>>,
    log: Vec<(u32, Option<Value>)>,
    /// Nesting depth of a value's region.
    depth: SecondaryMap<Value, u32>,
    /// Number of enclosing loops at whose header the variable is live.
    carried: Vec<u32>,
    /// Variables whose values a break to the label passes.
    targets: Vec<Vec<u32>>,
    renames: Renames,
    constants: ConstantPool,
}

impl Promote<'_> {
    fn set(&mut self, var: u32, value: Option<Value>) {
        self.log.push((var, self.current[var as usize]));
        self.current[var as usize] = value;
    }

    fn undo(&mut self, mark: usize) {
        for (var, old) in self.log.drain(mark..).rev() {
            self.current[var as usize] = old;
        }
    }

    fn value(&mut self, var: u32, value: Option<Value>) -> Value {
        value.unwrap_or_else(|| {
            let ty = self.shader.vars[self.vars[var as usize]].ty;
            self.constants.get(self.shader, ty, 0)
        })
    }

    fn pass_values(&mut self, vars: &[u32], args: &mut Vec<Value>) {
        for &var in vars {
            let value = self.value(var, self.current[var as usize]);
            args.push(value);
        }
    }

    /// Appends a new result or param for each variable.
    fn fresh(&mut self, vars: &[u32], list: &mut Vec<Value>, depth: u32) {
        for &var in vars {
            let ty = self.shader.vars[self.vars[var as usize]].ty;
            let value = self.shader.region_value(ty);
            self.depth[value] = depth;
            list.push(value);
            self.set(var, Some(value));
        }
    }

    /// Rewrites a region. `yields` are the variables whose values the region's yield passes.
    fn region(&mut self, region: &mut Region, yields: &[u32], depth: u32) {
        let mut nodes = std::mem::take(&mut region.nodes);
        nodes.retain_mut(|node| match node {
            Node::Inst(inst) => self.inst(*inst, depth),
            Node::If(n) => {
                self.if_(n, depth);
                true
            }
            Node::Loop(n) => {
                self.loop_(n, depth);
                true
            }
            Node::Scope(n) => {
                self.scope(n, depth);
                true
            }
        });
        region.nodes = nodes;
        match &mut region.term {
            Term::Yield(args) => {
                self.renames.apply(args);
                self.pass_values(yields, args);
            }
            Term::Break(label, args) => {
                self.renames.apply(args);
                let vars = std::mem::take(&mut self.targets[label.index()]);
                self.pass_values(&vars, args);
                self.targets[label.index()] = vars;
            }
            Term::Unreachable => {}
        }
    }

    /// Returns false if the instruction is removed.
    fn inst(&mut self, inst: crate::ir::Inst, depth: u32) -> bool {
        let data = &mut self.shader.insts[inst];
        self.renames.apply(&mut data.args);
        match data.op {
            Op::VarLoad(var) if self.index[var] != u32::MAX => {
                let result = data.first_result;
                let var = self.index[var];
                let value = self.value(var, self.current[var as usize]);
                self.renames.set(result, value);
                false
            }
            Op::VarStore(var) if self.index[var] != u32::MAX => {
                let value = data.args[0];
                self.set(self.index[var], Some(value));
                false
            }
            _ => {
                for result in data.results() {
                    self.depth[result] = depth;
                }
                true
            }
        }
    }

    /// Returns the number of the next structured node, and the variables stored in it that are live
    /// behind it.
    fn enter(&mut self) -> (usize, Vec<u32>) {
        let id = self.next;
        self.next += 1;
        let needed = |&(v, live): &(u32, bool)| (live || self.carried[v as usize] > 0).then_some(v);
        (id, self.node_liveness[id].stored.iter().filter_map(needed).collect())
    }

    fn if_(&mut self, n: &mut If, depth: u32) {
        n.cond = self.renames.resolve(n.cond);
        let (_, needed) = self.enter();
        for &result in &n.results {
            self.depth[result] = depth;
        }
        let mut arm = |arm: &mut Region| {
            let mark = self.log.len();
            self.region(arm, &[], depth + 1);
            let values: Vec<Option<Value>> = needed.iter().map(|&v| self.current[v as usize]).collect();
            self.undo(mark);
            values
        };
        let then_values = arm(&mut n.then);
        let else_values = arm(&mut n.else_);
        let both = (matches!(n.then.term, Term::Yield(_)), matches!(n.else_.term, Term::Yield(_)));
        for ((&var, t), e) in needed.iter().zip(then_values).zip(else_values) {
            let same = match both {
                (true, true) if t == e => Some(t),
                (true, true) => None,
                (true, false) => Some(t),
                (false, true) => Some(e),
                (false, false) => continue,
            };
            if let Some(value) = same
                && value.is_none_or(|v| self.depth[v] <= depth)
            {
                self.set(var, value);
                continue;
            }
            for (term, value) in [(&mut n.then.term, t), (&mut n.else_.term, e)] {
                if let Term::Yield(args) = term {
                    args.push(self.value(var, value));
                }
            }
            self.fresh(&[var], &mut n.results, depth);
        }
    }

    fn scope(&mut self, n: &mut Scope, depth: u32) {
        let (_, needed) = self.enter();
        let mark = self.log.len();
        self.open(n.label, &needed);
        self.region(&mut n.body, &needed, depth + 1);
        self.undo(mark);
        for &result in &n.results {
            self.depth[result] = depth;
        }
        self.fresh(&needed, &mut n.results, depth);
    }

    fn loop_(&mut self, n: &mut Loop, depth: u32) {
        let (id, needed) = self.enter();
        self.renames.apply(&mut n.inits);
        let header = std::mem::take(&mut self.node_liveness[id].header);
        header.iter().for_each(|&v| self.carried[v as usize] += 1);
        let stored = std::mem::take(&mut self.node_liveness[id].stored);
        let carried: Vec<u32> = stored.iter().map(|s| s.0).filter(|&v| self.carried[v as usize] > 0).collect();
        self.pass_values(&carried, &mut n.inits);
        let mark = self.log.len();
        for &param in &n.params {
            self.depth[param] = depth + 1;
        }
        self.fresh(&carried, &mut n.params, depth + 1);
        self.open(n.label, &needed);
        self.region(&mut n.body, &carried, depth + 1);
        header.iter().for_each(|&v| self.carried[v as usize] -= 1);
        self.undo(mark);
        for &result in &n.results {
            self.depth[result] = depth;
        }
        self.fresh(&needed, &mut n.results, depth);
    }

    fn open(&mut self, label: Label, needed: &[u32]) {
        self.targets[label.index()] = needed.to_vec();
    }
}

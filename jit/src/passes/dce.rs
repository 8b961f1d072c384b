//! Dead code elimination, including params and results that are not needed.
//!
//! First, a param or result into which only one value flows (beside itself) is replaced by that
//! value, if it is visible there. Then liveness is marked over a graph of values and *tokens*.
//! There is one token per structured node, which means "whether and how this node runs matters":
//!
//! * An effect makes the tokens of all nodes around it live; a result makes its node's token live.
//! * An If's token makes its condition live.
//! * A label's token makes the tokens of all nodes between a break to it and the label live.
//!
//! Nodes with dead tokens are removed, including loops; a loop that can never be left stays.

use super::util::Renames;
use crate::ir::{Inst, Label, Node, Op, Region, Shader, Term, Value, ValueDef, Var};
use cranelift_entity::{EntityRef, SecondaryMap};

/// Runs the pass.
pub fn dce(shader: &mut Shader) {
    let mut root = std::mem::take(&mut shader.root.body);
    let mut g = Graph::new(shader);
    g.open_label(shader.root.label, 0, &[]);
    g.tokens.push(Token { parent: 0, broke_to: u32::MAX, is_loop: false, left: true });
    g.region(&root, 0, YieldFlow::None);
    let values = shader.values.len();
    let nodes = values + g.tokens.len();
    let incoming = Edges::new(nodes, &g.edges);
    let mut live = Live {
        renames: g.merge_redundant(&incoming),
        graph: &g,
        incoming: &incoming,
        live: vec![false; nodes],
        effect: vec![false; g.tokens.len()],
        todo: Vec::new(),
    };
    live.mark();
    let (live, renames) = (live.live, live.renames);
    let Graph { targets, loaded, .. } = g;
    let mut sweep = Sweep { live, renames, targets, loaded, values, next: 1, shader };
    sweep.region(&mut root, &[]);
    shader.root.body = root;
}

/// Values into which a region's yield flows.
#[derive(Clone, Copy)]
enum YieldFlow<'a> {
    None,
    To(&'a [Value]),
}

struct Token {
    parent: u32,
    /// Token of the label that the last break inside led to: it has edges to all tokens from here
    /// to there.
    broke_to: u32,
    is_loop: bool,
    /// True if a break leads out of the node.
    left: bool,
}

/// Compressed adjacency lists.
struct Edges {
    first: Vec<u32>,
    to: Vec<u32>,
}

impl Edges {
    fn new(nodes: usize, edges: &[(u32, u32)]) -> Self {
        let mut first = vec![0u32; nodes + 1];
        for &(from, _) in edges {
            first[from as usize + 1] += 1;
        }
        for i in 0..nodes {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut to = vec![0; edges.len()];
        for &(from, target) in edges {
            to[next[from as usize] as usize] = target;
            next[from as usize] += 1;
        }
        Edges { first, to }
    }
    fn of(&self, node: u32) -> &[u32] {
        &self.to[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

struct Graph<'a> {
    shader: &'a Shader,
    /// Positions in program order: where each value is defined and, for region values, where the
    /// node begins.
    values: SecondaryMap<Value, Position>,
    region_values: Vec<Value>,
    position: u32,
    tokens: Vec<Token>,
    /// Edges from a value or a token (tokens are numbered behind all values) to the nodes that it
    /// needs.
    edges: Vec<(u32, u32)>,
    /// Token and results of each label.
    targets: Vec<(u32, Vec<Value>)>,
    effects: Vec<(Inst, u32)>,
    loaded: SecondaryMap<Var, bool>,
}

#[derive(Clone, Copy, Default)]
struct Position {
    defined: u32,
    node: u32,
}

impl<'a> Graph<'a> {
    fn new(shader: &'a Shader) -> Self {
        let mut values = SecondaryMap::with_capacity(shader.values.len());
        values.resize(shader.values.len());
        Graph {
            shader,
            values,
            region_values: Vec::new(),
            position: 0,
            tokens: Vec::new(),
            edges: Vec::new(),
            targets: vec![(0, Vec::new()); shader.labels as usize],
            effects: Vec::new(),
            loaded: SecondaryMap::new(),
        }
    }

    fn token_node(&self, token: u32) -> u32 {
        self.shader.values.len() as u32 + token
    }

    fn open_label(&mut self, label: Label, token: u32, results: &[Value]) {
        self.targets[label.index()] = (token, results.to_vec());
    }

    fn flow(&mut self, targets: &[Value], args: &[Value]) {
        self.edges.extend(targets.iter().zip(args).map(|(t, a)| (t.as_u32(), a.as_u32())));
    }

    fn define(&mut self, values: &[Value], node: u32, token: Option<u32>) {
        self.position += 1;
        for &value in values {
            self.values[value] = Position { defined: self.position, node };
            self.region_values.push(value);
            if let Some(token) = token {
                self.edges.push((value.as_u32(), self.token_node(token)));
            }
        }
    }

    fn region(&mut self, region: &Region, token: u32, yields: YieldFlow<'_>) {
        for node in &region.nodes {
            match node {
                Node::Inst(inst) => self.inst(*inst, token),
                Node::If(n) => {
                    let (start, own) = self.enter(token, false);
                    self.edges.push((self.token_node(own), n.cond.as_u32()));
                    self.region(&n.then, own, YieldFlow::To(&n.results));
                    self.region(&n.else_, own, YieldFlow::To(&n.results));
                    self.define(&n.results, start, Some(own));
                }
                Node::Scope(n) => {
                    let (start, own) = self.enter(token, false);
                    self.open_label(n.label, own, &n.results);
                    self.region(&n.body, own, YieldFlow::To(&n.results));
                    self.define(&n.results, start, Some(own));
                }
                Node::Loop(n) => {
                    let (start, own) = self.enter(token, true);
                    self.open_label(n.label, own, &n.results);
                    self.flow(&n.params, &n.inits);
                    self.define(&n.params, start, None);
                    self.region(&n.body, own, YieldFlow::To(&n.params));
                    self.define(&n.results, start, Some(own));
                }
            }
        }
        match &region.term {
            Term::Yield(args) => {
                if let YieldFlow::To(targets) = yields {
                    self.flow(targets, args);
                }
            }
            Term::Break(label, args) => self.break_(*label, args, token),
            Term::Unreachable => {}
        }
    }

    fn enter(&mut self, parent: u32, is_loop: bool) -> (u32, u32) {
        self.position += 1;
        self.tokens.push(Token { parent, broke_to: u32::MAX, is_loop, left: false });
        (self.position, self.tokens.len() as u32 - 1)
    }

    fn break_(&mut self, label: Label, args: &[Value], mut token: u32) {
        let (target, results) = std::mem::take(&mut self.targets[label.index()]);
        self.flow(&results, args);
        while token != target && self.tokens[token as usize].broke_to != target {
            self.tokens[token as usize].left = true;
            self.tokens[token as usize].broke_to = target;
            self.edges.push((self.token_node(target), self.token_node(token)));
            token = self.tokens[token as usize].parent;
        }
        self.tokens[target as usize].left = true;
        self.targets[label.index()] = (target, results);
    }

    fn inst(&mut self, inst: Inst, token: u32) {
        self.position += 1;
        let data = &self.shader.insts[inst];
        for result in data.results() {
            self.values[result] = Position { defined: self.position, node: self.position };
        }
        if data.op.effects().is_kept() {
            self.effects.push((inst, token));
        }
        if let Op::VarLoad(var) = data.op {
            self.loaded[var] = true;
        }
    }

    /// Finds region values with one incoming value that is visible where they are defined, and
    /// returns their replacements.
    fn merge_redundant(&self, incoming: &Edges) -> Renames {
        let mut renames = Renames::default();
        let values = self.shader.values.len() as u32;
        // Values settle from the inside outwards; a few rounds settle chains through nested loops.
        for _ in 0..4 {
            let mut changed = false;
            for &value in self.region_values.iter().rev() {
                if renames.resolve(value) != value {
                    continue;
                }
                let mut sources = incoming
                    .of(value.as_u32())
                    .iter()
                    .filter(|&&to| to < values)
                    .map(|&to| renames.resolve(Value::from_u32(to)))
                    .filter(|&v| v != value);
                let Some(first) = sources.next() else { continue };
                if sources.all(|v| v == first) && self.values[first].defined < self.values[value].node {
                    renames.set(value, first);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        renames
    }
}

struct Live<'a> {
    graph: &'a Graph<'a>,
    incoming: &'a Edges,
    renames: Renames,
    live: Vec<bool>,
    /// True for tokens with an effect inside.
    effect: Vec<bool>,
    todo: Vec<u32>,
}

impl Live<'_> {
    fn need(&mut self, node: u32) {
        if !std::mem::replace(&mut self.live[node as usize], true) {
            self.todo.push(node);
        }
    }

    fn need_value(&mut self, value: Value) {
        self.need(self.renames.resolve(value).as_u32());
    }

    fn effect(&mut self, mut token: u32) {
        while !std::mem::replace(&mut self.effect[token as usize], true) {
            self.need(self.graph.token_node(token));
            token = self.graph.tokens[token as usize].parent;
        }
    }

    fn mark(&mut self) {
        let graph = self.graph;
        self.effect(0);
        for &(inst, token) in &graph.effects {
            let data = &graph.shader.insts[inst];
            if matches!(data.op, Op::VarStore(var) if !graph.loaded[var]) {
                continue;
            }
            self.effect(token);
            data.args.iter().for_each(|&a| self.need_value(a));
        }
        for (i, token) in graph.tokens.iter().enumerate() {
            if token.is_loop && !token.left {
                self.effect(i as u32);
            }
        }
        let values = graph.shader.values.len() as u32;
        let incoming = self.incoming;
        while let Some(node) = self.todo.pop() {
            if node < values
                && let ValueDef::Inst(inst, _) = graph.shader.values[Value::from_u32(node)].def
            {
                graph.shader.insts[inst].args.iter().for_each(|&a| self.need_value(a));
                continue;
            }
            for &to in incoming.of(node) {
                if to < values { self.need_value(Value::from_u32(to)) } else { self.need(to) }
            }
        }
    }
}

struct Sweep<'a> {
    shader: &'a mut Shader,
    live: Vec<bool>,
    renames: Renames,
    targets: Vec<(u32, Vec<Value>)>,
    loaded: SecondaryMap<Var, bool>,
    /// Number of values, which is where tokens begin in `live`.
    values: usize,
    /// Next token, in the order of [`Graph`].
    next: usize,
}

impl Sweep<'_> {
    fn keeps(&self, value: Value) -> bool {
        self.live[value.index()] && self.renames.resolve(value) == value
    }

    fn filter(&self, args: &mut Vec<Value>, targets: &[Value]) {
        let mut i = 0;
        args.retain_mut(|arg| {
            *arg = self.renames.resolve(*arg);
            i += 1;
            targets.get(i - 1).is_some_and(|&t| self.keeps(t))
        });
    }

    fn region(&mut self, region: &mut Region, yields: &[Value]) {
        let mut nodes = std::mem::take(&mut region.nodes);
        nodes.retain_mut(|node| self.node(node));
        region.nodes = nodes;
        match &mut region.term {
            Term::Yield(args) => self.filter(args, yields),
            Term::Break(label, args) => self.filter(args, &self.targets[label.index()].1),
            Term::Unreachable => {}
        }
    }

    fn node(&mut self, node: &mut Node) -> bool {
        let token = self.next;
        self.next += usize::from(!matches!(node, Node::Inst(_)));
        let alive = self.live.get(self.values + token).copied().unwrap_or(false);
        match node {
            Node::Inst(inst) => self.inst(*inst),
            Node::If(n) => {
                let results = n.results.clone();
                n.cond = self.renames.resolve(n.cond);
                self.region(&mut n.then, &results);
                self.region(&mut n.else_, &results);
                n.results.retain(|&r| self.keeps(r));
                alive
            }
            Node::Scope(n) => {
                let results = n.results.clone();
                self.region(&mut n.body, &results);
                n.results.retain(|&r| self.keeps(r));
                alive
            }
            Node::Loop(n) => {
                let params = n.params.clone();
                self.filter(&mut n.inits, &params);
                self.region(&mut n.body, &params);
                n.params.retain(|&p| self.keeps(p));
                n.results.retain(|&r| self.keeps(r));
                alive
            }
        }
    }

    fn inst(&mut self, inst: Inst) -> bool {
        self.renames.apply(&mut self.shader.insts[inst].args);
        let data = &self.shader.insts[inst];
        if let Op::VarStore(var) = data.op {
            return self.loaded[var];
        }
        data.op.effects().is_kept() || data.results().any(|r| self.live[r.index()])
    }
}

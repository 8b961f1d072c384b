//! Control flow of a function as far as ids need it: what is used is defined in a block that dominates the use (2.16.1), blocks stand behind
//! their dominators, a phi has a value for each predecessor. Constructs are the structuriser's matter (`structure`).

use super::super::module::{Block, BlockIx, End, Function, Module, View};
use super::super::opcodes::op;
use super::broken;
use super::ids::each_id;
use crate::error::{Error, Result};

const NONE: u32 = u32::MAX;

pub(super) fn check(m: &Module) -> Result<()> {
    // In one block, what is defined before its use dominates it.
    if let Some(f) = m.functions.iter().find(|f| f.blocks.is_empty()) {
        return Err(Error::invalid("function without a body").with_id(f.id));
    }
    let mut homes = Homes { of: Vec::new() };
    for (number, f) in m.functions.iter().enumerate().filter(|(_, f)| f.blocks.len() > 1) {
        homes.of.resize(m.def_count(), (NONE, 0));
        homes.note(m, f, number as u32);
        function(m, number, &homes)?;
    }
    Ok(())
}

/// By definition number: function and block (that a parameter counts for the first of), of functions with several; nothing for labels and globals.
struct Homes {
    of: Vec<(u32, BlockIx)>,
}

impl Homes {
    fn note(&mut self, m: &Module, f: &Function, number: u32) {
        let mut set = |id: u32, block: usize| {
            if let Some(n) = m.dense(id) {
                self.of[n] = (number, block as BlockIx);
            }
        };
        f.params.iter().for_each(|&id| set(id, 0));
        for (n, block) in f.blocks.iter().enumerate() {
            for inst in block.body.clone() {
                let v = m.view(inst);
                if v.result != 0 {
                    set(v.result, n);
                }
            }
        }
    }
}

fn function(m: &Module, number: usize, homes: &Homes) -> Result<()> {
    let f = &m.functions[number];
    let flow = Flow::new(m, f)?;
    for (n, block) in f.blocks.iter().enumerate() {
        let n = n as BlockIx;
        if flow.reached(n) && flow.dominator[n as usize] > n {
            return Err(Error::invalid("block stands before one that dominates it").with_id(block.label));
        }
        for inst in block.body.start..=block.end_inst {
            let v = m.view(inst);
            if v.op == op::OpPhi {
                phi(m, f, v, n, number as u32, &flow, homes)?;
                continue;
            }
            each_id(m, v, &mut |id| used(m, v, id, n, number as u32, &flow, homes))?;
        }
    }
    Ok(())
}

/// A use of an id in a block.
fn used(m: &Module, v: View<'_>, id: u32, at: BlockIx, number: u32, flow: &Flow, homes: &Homes) -> Result<()> {
    let Some(n) = m.dense(id) else { return Ok(()) };
    let (function, block) = homes.of[n];
    if function != number || !flow.reached(at) || flow.dominates(block, at) {
        return Ok(());
    }
    broken(v, format!("%{id} is defined in a block that does not dominate its use"))
}

fn phi(m: &Module, f: &Function, v: View<'_>, at: BlockIx, number: u32, flow: &Flow, homes: &Homes) -> Result<()> {
    let block = |label: u32| m.block_of(&f.blocks, label).unwrap_or(NONE);
    let mut from: Vec<BlockIx> = v.args.chunks_exact(2).map(|pair| block(pair[1])).collect();
    for (pair, &from) in v.args.chunks_exact(2).zip(&from) {
        used(m, v, pair[0], from, number, flow, homes)?;
    }
    from.sort_unstable();
    if from == flow.before(at) { Ok(()) } else { broken(v, "its blocks are not those that branch here, each once") }
}

/// Predecessors and dominators.
pub(in crate::spirv) struct Flow {
    /// Predecessors of block b: `before[starts[b]..starts[b + 1]]`, each once, in their order.
    starts: Vec<u32>,
    before: Vec<BlockIx>,
    /// Successors likewise.
    next_starts: Vec<u32>,
    next: Vec<BlockIx>,
    /// Immediate dominator; of what cannot be reached NONE, of the first block itself.
    dominator: Vec<BlockIx>,
    /// Interval in a walk of the dominators' tree.
    interval: Vec<(u32, u32)>,
}

impl Flow {
    /// Of a function with blocks.
    ///
    /// # Errors
    /// Invalid, when something branches to the first block.
    pub fn new(m: &Module, f: &Function) -> Result<Flow> {
        let count = f.blocks.len();
        let mut edges = Vec::new();
        for (n, block) in f.blocks.iter().enumerate() {
            successors(m, f, block, &mut |to| edges.push((to, n as BlockIx)))?;
        }
        if let Some(&(_, from)) = edges.iter().find(|e| e.0 == 0) {
            let label = f.blocks[from as usize].label;
            return Err(Error::invalid("branches to the first block of its function").with_id(label));
        }
        let (starts, before) = grouped(count, &edges);
        let back: Vec<(u32, u32)> = edges.iter().map(|&(to, from)| (from, to)).collect();
        let (next_starts, next) = grouped(count, &back);
        let (dominator, order) = Dominators::of(count, (&next_starts, &next), (&starts, &before));
        let interval = intervals(&dominator, &order);
        Ok(Flow { starts, before, next_starts, next, dominator, interval })
    }

    /// Predecessors of a block.
    pub fn before(&self, b: BlockIx) -> &[BlockIx] {
        &self.before[self.starts[b as usize] as usize..self.starts[b as usize + 1] as usize]
    }

    /// The block can be reached.
    pub fn reached(&self, b: BlockIx) -> bool {
        self.dominator.get(b as usize).is_some_and(|&d| d != NONE)
    }

    /// Every way to `b` leads through `a`.
    pub fn dominates(&self, a: BlockIx, b: BlockIx) -> bool {
        let (a, b) = (self.interval[a as usize], self.interval[b as usize]);
        a.0 <= b.0 && b.1 <= a.1 && a.1 != 0
    }

    /// Immediate dominator of a block that can be reached.
    pub fn dominator(&self, b: BlockIx) -> BlockIx {
        self.dominator[b as usize]
    }

    /// Blocks that can be reached, each behind those it leads to, loops aside.
    pub fn postorder(&self) -> Vec<BlockIx> {
        let mut met = vec![false; self.dominator.len()];
        let mut stack = vec![(0, self.next_starts[0])];
        let mut order = Vec::new();
        met[0] = true;
        while let Some((b, at)) = stack.last_mut() {
            if *at == self.next_starts[*b as usize + 1] {
                order.push(*b);
                stack.pop();
                continue;
            }
            let to = self.next[*at as usize];
            *at += 1;
            if !std::mem::replace(&mut met[to as usize], true) {
                stack.push((to, self.next_starts[to as usize]));
            }
        }
        order
    }
}

/// Calls `f` with every target of a block's end.
pub(in crate::spirv) fn successors(m: &Module, f: &Function, block: &Block, to: &mut dyn FnMut(BlockIx)) -> Result<()> {
    match block.end {
        End::Branch(b) => to(b),
        End::Cond(_, a, b) => {
            to(a);
            to(b);
        }
        End::Switch(selector) => {
            let v = m.view(block.end_inst);
            each_id(m, v, &mut |id| {
                if id != selector
                    && let Some(b) = m.block_of(&f.blocks, id)
                {
                    to(b);
                }
                Ok(())
            })?;
        }
        End::Return | End::ReturnValue(_) | End::Kill | End::Unreachable | End::Unsupported => {}
    }
    Ok(())
}

/// Pairs (key, value) as lists by key, without repetitions of neighbours.
fn grouped(count: usize, pairs: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
    let mut sorted = pairs.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut starts = vec![0; count + 1];
    sorted.iter().for_each(|p| starts[p.0 as usize + 1] += 1);
    (0..count).for_each(|i| starts[i + 1] += starts[i]);
    (starts, sorted.into_iter().map(|p| p.1).collect())
}

/// Immediate dominators (Lengauer and Tarjan: A Fast Algorithm for Finding Dominators in a Flowgraph, the simple form), which take
/// O(m log n) whatever the graph; and the blocks that can be reached, in the order of a walk. Inside, blocks are numbers of that walk.
struct Dominators {
    /// Block by number.
    order: Vec<BlockIx>,
    number: Vec<u32>,
    parent: Vec<u32>,
    semi: Vec<u32>,
    /// Forest of what was linked: ancestor, and the number of least `semi` on the way to it.
    ancestor: Vec<u32>,
    least: Vec<u32>,
}

impl Dominators {
    fn of(
        blocks: usize,
        (next_starts, next): (&[u32], &[BlockIx]),
        (starts, before): (&[u32], &[BlockIx]),
    ) -> (Vec<BlockIx>, Vec<BlockIx>) {
        let mut d = Dominators::walk(blocks, next_starts, next);
        let count = d.order.len();
        let mut above = vec![0u32; count];
        let mut buckets = vec![Vec::new(); count];
        for w in (1..count as u32).rev() {
            let b = d.order[w as usize] as usize;
            for &p in &before[starts[b] as usize..starts[b + 1] as usize] {
                let p = d.number[p as usize];
                if p != NONE {
                    let u = d.evaluate(p);
                    d.semi[w as usize] = d.semi[w as usize].min(d.semi[u as usize]);
                }
            }
            buckets[d.semi[w as usize] as usize].push(w);
            let parent = d.parent[w as usize];
            d.ancestor[w as usize] = parent;
            for v in std::mem::take(&mut buckets[parent as usize]) {
                let u = d.evaluate(v);
                above[v as usize] = if d.semi[u as usize] < d.semi[v as usize] { u } else { parent };
            }
        }
        let mut dominator = vec![NONE; blocks];
        dominator[0] = 0;
        for w in 1..count {
            if above[w] != d.semi[w] {
                above[w] = above[above[w] as usize];
            }
            dominator[d.order[w] as usize] = d.order[above[w] as usize];
        }
        (dominator, d.order)
    }

    /// A walk depth first.
    fn walk(blocks: usize, starts: &[u32], next: &[BlockIx]) -> Dominators {
        let (mut order, mut number, mut parent) = (vec![0], vec![NONE; blocks], vec![0]);
        number[0] = 0;
        let mut stack = vec![(0, starts[0])];
        while let Some((b, at)) = stack.last_mut() {
            let b = *b;
            if *at == starts[b as usize + 1] {
                stack.pop();
                continue;
            }
            let to = next[*at as usize];
            *at += 1;
            if number[to as usize] == NONE {
                number[to as usize] = order.len() as u32;
                order.push(to);
                parent.push(number[b as usize]);
                stack.push((to, starts[to as usize]));
            }
        }
        let all: Vec<u32> = (0..order.len() as u32).collect();
        Dominators { ancestor: vec![NONE; order.len()], semi: all.clone(), least: all, order, number, parent }
    }

    /// The number of least `semi` among those linked above `v`; the way there is made short.
    fn evaluate(&mut self, v: u32) -> u32 {
        let mut way = Vec::new();
        let mut at = v;
        while self.ancestor[at as usize] != NONE && self.ancestor[self.ancestor[at as usize] as usize] != NONE {
            way.push(at);
            at = self.ancestor[at as usize];
        }
        for &w in way.iter().rev() {
            let up = self.ancestor[w as usize];
            if self.semi[self.least[up as usize] as usize] < self.semi[self.least[w as usize] as usize] {
                self.least[w as usize] = self.least[up as usize];
            }
            self.ancestor[w as usize] = self.ancestor[up as usize];
        }
        self.least[v as usize]
    }
}

/// First and last time of every block in a walk of the dominators' tree; (0, 0) for what cannot be reached.
fn intervals(dominator: &[BlockIx], order: &[BlockIx]) -> Vec<(u32, u32)> {
    let below: Vec<(u32, u32)> = order.iter().filter(|&&b| b != 0).map(|&b| (dominator[b as usize], b)).collect();
    let (starts, next) = grouped(dominator.len(), &below);
    let mut out = vec![(0, 0); dominator.len()];
    let mut stack = vec![(0, starts[0])];
    let mut clock = 1;
    out[0].0 = clock;
    while let Some((b, at)) = stack.last_mut() {
        let b = *b as usize;
        clock += 1;
        if *at == starts[b + 1] {
            out[b].1 = clock;
            stack.pop();
            continue;
        }
        let to = next[*at as usize];
        *at += 1;
        out[to as usize].0 = clock;
        stack.push((to, starts[to as usize]));
    }
    out
}

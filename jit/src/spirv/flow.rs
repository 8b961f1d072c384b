//! The control flow graph of a function: predecessors, successors, dominators.

/// Number of a block in its function.
pub(crate) type BlockIx = u32;

const NONE: u32 = u32::MAX;

/// Predecessors, successors and dominators of blocks.
#[derive(Clone, Debug)]
pub(crate) struct FlowGraph {
    /// Start of each block's predecessors: `before[starts[b]..starts[b + 1]]` has each once, in
    /// their order.
    starts: Vec<u32>,
    before: Vec<BlockIx>,
    /// Start of each block's successors in `next`.
    next_starts: Vec<u32>,
    next: Vec<BlockIx>,
    /// Immediate dominator: NONE for blocks that cannot be reached, the block itself for the first
    /// block.
    dominator: Vec<BlockIx>,
    /// Interval of times in a walk of the dominator tree.
    interval: Vec<(u32, u32)>,
}

impl FlowGraph {
    /// Builds the graph of this many blocks, at least one, from edges (to, from); no edge leads to
    /// the first block.
    pub fn from_edges(blocks: usize, edges: &[(BlockIx, BlockIx)]) -> FlowGraph {
        let (starts, before) = grouped(blocks, edges);
        let back: Vec<_> = edges.iter().map(|&(to, from)| (from, to)).collect();
        let (next_starts, next) = grouped(blocks, &back);
        let (dominator, order) = Dominators::of(blocks, (&next_starts, &next), (&starts, &before));
        let interval = intervals(&dominator, &order);
        FlowGraph { starts, before, next_starts, next, dominator, interval }
    }

    /// Returns the predecessors of a block.
    pub fn predecessors(&self, b: BlockIx) -> &[BlockIx] {
        &self.before[self.starts[b as usize] as usize..self.starts[b as usize + 1] as usize]
    }

    /// Returns the successors of a block.
    pub fn successors(&self, b: BlockIx) -> &[BlockIx] {
        &self.next[self.next_starts[b as usize] as usize..self.next_starts[b as usize + 1] as usize]
    }

    /// Returns true if the block can be reached.
    pub fn is_reachable(&self, b: BlockIx) -> bool {
        self.dominator.get(b as usize).is_some_and(|&d| d != NONE)
    }

    /// Returns true if every path to `b` leads through `a`.
    pub fn dominates(&self, a: BlockIx, b: BlockIx) -> bool {
        let (a, b) = (self.interval[a as usize], self.interval[b as usize]);
        a.0 <= b.0 && b.1 <= a.1 && a.1 != 0
    }

    /// Returns the immediate dominator of a block that can be reached.
    pub fn dominator(&self, b: BlockIx) -> BlockIx {
        self.dominator[b as usize]
    }

    /// Returns the blocks that can be reached, each behind those it leads to, except along back
    /// edges.
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

/// Groups pairs (key, value) into sorted lists by key, without duplicates.
fn grouped(count: usize, pairs: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
    let mut sorted = pairs.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut starts = vec![0; count + 1];
    sorted.iter().for_each(|p| starts[p.0 as usize + 1] += 1);
    (0..count).for_each(|i| starts[i + 1] += starts[i]);
    (starts, sorted.into_iter().map(|p| p.1).collect())
}

/// Immediate dominators (Lengauer and Tarjan: A Fast Algorithm for Finding Dominators in a
/// Flowgraph, the simple form). They take O(m log n) for any graph. The struct also has the blocks
/// that can be reached, in the order of a walk; inside it, blocks are numbered in this order.
struct Dominators {
    /// Block of each number.
    order: Vec<BlockIx>,
    number: Vec<u32>,
    parent: Vec<u32>,
    semi: Vec<u32>,
    /// Forest of linked blocks: the ancestor, and the number with the smallest `semi` on the path
    /// to it.
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

    /// Walks the graph depth first.
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

    /// Returns the number with the smallest `semi` among those linked above `v`, and compresses the
    /// path there.
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

/// Returns the first and last time of every block in a walk of the dominator tree; (0, 0) for
/// blocks that cannot be reached.
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

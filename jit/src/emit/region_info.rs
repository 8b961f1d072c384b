//! Facts about regions that decide how control flow is emitted, computed for all regions by one
//! walk.
//!
//! A region is identified by its address: the shader is borrowed and not moved while it is emitted.

use crate::ir::{CostClass, Label, Node, Op, Region, Shader, Term, Value};
use crate::passes::Divergence;
use base::hash::WordMap;
use base::shader::FrameLayout;
use cranelift_entity::SecondaryMap;

/// Number of instructions from which it pays to branch over a divergent arm if no lane is active in
/// it.
const SKIP_FROM: usize = 8;

/// Facts about a region and everything nested in it.
#[derive(Clone, Copy, Debug)]
struct RegionInfo {
    /// True if some lanes can leave for a label outside of the node of the region, or be suspended
    /// on their own, while others continue.
    escapes: bool,
    /// Number of instructions, up to [`SKIP_FROM`]; a loop, an effect or a call alone has that
    /// weight.
    weight: usize,
}

/// Facts about the regions of a shader.
pub struct RegionInfos<'a> {
    shader: &'a Shader,
    regions: WordMap<*const Region, RegionInfo>,
    used: SecondaryMap<Value, bool>,
}

impl<'a> RegionInfos<'a> {
    /// Walks a shader and collects the facts.
    pub fn new(shader: &'a Shader, div: &Divergence) -> RegionInfos<'a> {
        let used = SecondaryMap::new();
        let mut walk = RegionWalk { shader, div, labels: SecondaryMap::new(), regions: WordMap::default(), used };
        walk.labels[shader.root.label] = 0;
        walk.region(&shader.root.body, 0, 1);
        RegionInfos { shader, regions: walk.regions, used: walk.used }
    }

    /// Returns true if the value is an operand of any instruction.
    pub fn is_used(&self, v: Value) -> bool {
        self.used[v]
    }

    fn region_info(&self, region: &Region) -> RegionInfo {
        // Every region of the shader was walked; any other region gets the conservative answers.
        let unknown = RegionInfo { escapes: true, weight: SKIP_FROM };
        self.regions.get(&core::ptr::from_ref(region)).copied().unwrap_or(unknown)
    }

    /// Returns true if some lanes can leave the region (an arm, or the body of a label) for a label
    /// outside of its node, or be suspended on their own, while others continue. Breaks to labels
    /// that are not divergent do not count: they take all active lanes along, so that no lane
    /// reaches the region's end after such a break.
    pub fn escapes(&self, region: &Region) -> bool {
        self.region_info(region).escapes
    }

    /// Returns true if a branch around the region pays: it is large, or has effects, calls or
    /// loops.
    pub fn worth_skipping(&self, region: &Region) -> bool {
        self.region_info(region).weight >= SKIP_FROM
    }

    /// Returns true if a branch around the rest of a region pays; see
    /// [`RegionInfos::worth_skipping`].
    pub fn nodes_worth_skipping(&self, nodes: &[Node]) -> bool {
        let mut weight = 0;
        nodes.iter().any(|node| {
            weight += match node {
                Node::Inst(i) => inst_weight(&self.shader.insts[*i].op),
                Node::If(n) => self.region_info(&n.then).weight + self.region_info(&n.else_).weight,
                Node::Loop(_) => SKIP_FROM,
                Node::Scope(n) => self.region_info(&n.body).weight,
            };
            weight >= SKIP_FROM
        })
    }
}

struct RegionWalk<'a> {
    shader: &'a Shader,
    div: &'a Divergence,
    /// Number of labels that enclose each label.
    labels: SecondaryMap<Label, u32>,
    regions: WordMap<*const Region, RegionInfo>,
    used: SecondaryMap<Value, bool>,
}

impl RegionWalk<'_> {
    fn mark_used(&mut self, values: &[Value]) {
        values.iter().for_each(|&v| self.used[v] = true);
    }

    /// Visits a region of a node that `outside` labels enclose; `inside` labels enclose the
    /// contents of the region. Returns the facts, and the number of the outermost label that a
    /// divergent break leaves for.
    fn region(&mut self, region: &Region, outside: u32, inside: u32) -> (RegionInfo, u32) {
        let mut all = RegionInfo { escapes: false, weight: 0 };
        let mut outermost = u32::MAX;
        let mut join = |(fact, label): (RegionInfo, u32)| {
            all.weight = (all.weight + fact.weight).min(SKIP_FROM);
            outermost = outermost.min(label);
        };
        for node in &region.nodes {
            match node {
                Node::Inst(i) => {
                    self.mark_used(&self.shader.insts[*i].args);
                    let op = &self.shader.insts[*i].op;
                    // A lane that is suspended on its own leaves all labels.
                    let leaves = op.suspends().is_some_and(|why| why.frame_layout() == FrameLayout::Invocation);
                    let label = if leaves { 0 } else { u32::MAX };
                    join((RegionInfo { escapes: false, weight: inst_weight(op) }, label));
                }
                Node::If(n) => {
                    self.mark_used(&[n.cond]);
                    join(self.region(&n.then, inside, inside));
                    join(self.region(&n.else_, inside, inside));
                }
                Node::Loop(n) => {
                    self.mark_used(&n.inits);
                    self.labels[n.label] = inside;
                    let (body, label) = self.region(&n.body, inside, inside + 1);
                    join((RegionInfo { weight: SKIP_FROM, ..body }, label));
                }
                Node::Scope(n) => {
                    self.labels[n.label] = inside;
                    join(self.region(&n.body, inside, inside + 1));
                }
            }
        }
        if let Term::Break(_, values) | Term::Yield(values) = &region.term {
            self.mark_used(values);
        }
        if let Term::Break(label, _) = &region.term
            && self.div.is_divergent_label(*label)
        {
            outermost = outermost.min(self.labels[*label]);
        }
        all.escapes = outermost < outside;
        self.regions.insert(core::ptr::from_ref(region), all);
        (all, outermost)
    }
}

/// Returns the weight of an instruction.
fn inst_weight(op: &Op) -> usize {
    match op.info().cost {
        CostClass::Cheap | CostClass::Expensive => 1,
        CostClass::Call => SKIP_FROM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse;
    use crate::passes::divergence;
    use jit_test_support::ir_random::{Options, compute_shader};

    /// Returns a region and all regions nested in it.
    fn regions(region: &Region) -> Vec<&Region> {
        let inner = region.nodes.iter().flat_map(|node| match node {
            Node::Inst(_) => Vec::new(),
            Node::If(n) => [regions(&n.then), regions(&n.else_)].concat(),
            Node::Loop(n) => regions(&n.body),
            Node::Scope(n) => regions(&n.body),
        });
        std::iter::once(region).chain(inner).collect()
    }

    fn labels(region: &Region) -> Vec<Label> {
        let of = |node: &Node| match node {
            Node::Loop(n) => Some(n.label),
            Node::Scope(n) => Some(n.label),
            _ => None,
        };
        regions(region).iter().flat_map(|r| r.nodes.iter().filter_map(of)).collect()
    }

    /// Evaluates the definition of [`RegionInfos::escapes`] directly, without the walk.
    fn escapes(region: &Region, own: Option<Label>, div: &Divergence) -> bool {
        let inside = labels(region);
        regions(region).iter().any(|r| match &r.term {
            Term::Break(label, _) => div.is_divergent_label(*label) && Some(*label) != own && !inside.contains(label),
            _ => false,
        })
    }

    #[test]
    fn walk_agrees_with_the_definition() {
        let mut counts = [[0u32; 2]; 2];
        for seed in 0..200 {
            let options = Options { results: seed % 2 == 0, size: 80, ..Options::default() };
            let shader = parse(&compute_shader(seed, options).shader.to_string()).expect("IR");
            let div = divergence(&shader, 8);
            let region_infos = RegionInfos::new(&shader, &div);
            for region in regions(&shader.root.body) {
                let all = regions(region);
                let insts = all.iter().flat_map(|r| &r.nodes).filter_map(|n| match n {
                    Node::Inst(i) => Some(&shader.insts[*i].op),
                    _ => None,
                });
                let ops: Vec<&Op> = insts.collect();
                let loops = all.iter().flat_map(|r| &r.nodes).any(|n| matches!(n, Node::Loop(_)));
                let heavy = loops || ops.len() >= SKIP_FROM || ops.iter().any(|op| inst_weight(op) > 1);
                assert_eq!(region_infos.worth_skipping(region), heavy);
                assert_eq!(region_infos.nodes_worth_skipping(&region.nodes), heavy);
                counts[0][usize::from(heavy)] += 1;
                for node in &region.nodes {
                    let bodies: &[(&Region, Option<Label>)] = match node {
                        Node::Inst(_) => &[],
                        Node::If(n) => &[(&n.then, None), (&n.else_, None)],
                        Node::Loop(n) => &[(&n.body, Some(n.label))],
                        Node::Scope(n) => &[(&n.body, Some(n.label))],
                    };
                    for (body, own) in bodies {
                        let want = escapes(body, *own, &div);
                        assert_eq!(region_infos.escapes(body), want, "seed {seed}\n{shader}");
                        counts[1][usize::from(want)] += 1;
                    }
                }
            }
        }
        assert!(counts.iter().flatten().all(|&n| n > 50), "{counts:?}");
    }
}

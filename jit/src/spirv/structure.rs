//! The structuriser, which converts blocks with merge instructions to a tree of labelled scopes,
//! loops, ifs and switches.
//!
//! While a region is built, every block that ends an enclosing construct is an *exit*: a merge
//! block, a continue target, a loop header inside its continue construct, or another case of the
//! switch. A branch to an exit breaks to its label. Any other target is placed where it is first
//! reached, each block once, so the tree is linear in the function. A branch to the label that
//! follows the region anyway (`tail`) is a plain yield. A scope is omitted if nothing breaks out of
//! it. If arms of a selection meet before its merge block, that block is an exit too (`joins`).
//!
//! A switch is a chain of ifs on exclusive conditions. A case follows the one that falls into it,
//! and falling through sets the flag of the next case.

use super::flow::BlockIx;
use super::module::{Block, End, Function, Merge, Module};
use super::types::{Spec, Type};
use super::validate::dominance::flow;
use crate::error::{Error, Result};
use std::collections::HashMap;

/// A region of the tree.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub nodes: Vec<Node>,
    pub term: Term,
}

/// Terminator of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Term {
    #[default]
    Yield,
    Break(u32),
    Kill,
    /// The region ends with this OpEmitMeshTasksEXT instruction.
    Tasks(u32),
    /// The region ends with OpIgnoreIntersectionKHR.
    IgnoreIntersection,
    /// The region ends with OpTerminateRayKHR.
    TerminateRay,
    Unreachable,
}

/// A node of a region. Labels and flags are numbered per function.
#[derive(Debug)]
pub(crate) enum Node {
    /// The instructions of a block.
    Block(BlockIx),
    /// Assignments to the phis of a block, from one predecessor.
    Moves {
        from: BlockIx,
        to: BlockIx,
    },
    If {
        cond: u32,
        then: Tree,
        else_: Tree,
    },
    Loop {
        label: u32,
        body: Tree,
    },
    Scope {
        label: u32,
        body: Tree,
    },
    Switch {
        selector: u32,
        cases: Vec<Case>,
    },
    /// Sets the flag of the next case, because control falls into it.
    SetFlag(u32),
    /// Sets the function's result.
    Return(u32),
}

/// A case of a switch.
#[derive(Debug)]
pub(crate) struct Case {
    pub literals: Vec<u64>,
    pub default: bool,
    /// Flag that is set when an earlier case falls into this one.
    pub flag: Option<u32>,
    /// Phi assignments for an entry from the switch itself.
    pub entry: Option<(BlockIx, BlockIx)>,
    pub body: Tree,
}

/// Tree of a function.
#[derive(Debug)]
pub(crate) struct FunctionTree {
    pub body: Tree,
    /// For each label, true if some region breaks to it.
    pub label_used: Vec<bool>,
    pub flags: u32,
    /// Label that returns break to.
    pub ret: u32,
    /// Value of the only OpReturnValue, if it is at the end of the body.
    pub direct_return: Option<u32>,
    /// Deepest nesting of nodes.
    pub depth: u32,
}

#[derive(Clone, Copy)]
enum Exit {
    Label(u32),
    /// Merge block of a switch, which ends the current case.
    CaseEnd(usize),
    /// Another case of a switch.
    Case(usize, u32),
}

/// A switch whose cases are being built.
struct OpenSwitch {
    label: u32,
    current: u32,
    /// Pairs of cases of which the first falls into the second. `flags` has the flag of each case
    /// that another one falls into.
    falls: Vec<(u32, u32)>,
    flags: Vec<Option<u32>>,
}

struct Structurer<'a> {
    s: &'a Spec<'a>,
    m: &'a Module,
    blocks: &'a [Block],
    exits: Vec<Option<Exit>>,
    placed: Vec<bool>,
    label_used: Vec<bool>,
    switches: Vec<OpenSwitch>,
    flags: u32,
    returns: u32,
    depth: u32,
    ret: u32,
    /// Blocks where arms meet, by the block that dominates them.
    joins: HashMap<BlockIx, Vec<BlockIx>>,
}

/// Returns the blocks that several branches of one selection lead to although they are not merge
/// blocks. They are listed by the selection's header, each after those that lead to it.
fn joins(m: &Module, f: &Function) -> Result<HashMap<BlockIx, Vec<BlockIx>>> {
    let mut found = HashMap::<BlockIx, Vec<BlockIx>>::new();
    if f.blocks.len() == 1 {
        return Ok(found);
    }
    let flow = flow(m, f)?;
    let mut expected = vec![false; f.blocks.len()];
    for (n, block) in f.blocks.iter().enumerate() {
        if matches!(block.end, End::Switch(_)) {
            flow.successors(n as BlockIx).iter().for_each(|&to| expected[to as usize] = true);
        }
        match block.merge {
            Merge::None => {}
            Merge::Selection(merge) => expected[merge as usize] = true,
            Merge::Loop { merge, cont } => {
                expected[merge as usize] = true;
                expected[cont as usize] = true;
            }
        }
    }
    let may_join = |b: &BlockIx| {
        let header = matches!(f.blocks[*b as usize].merge, Merge::Loop { .. });
        !expected[*b as usize] && flow.predecessors(*b).len() > if header { 2 } else { 1 }
    };
    let candidates: Vec<BlockIx> = (0..f.blocks.len() as BlockIx).filter(may_join).collect();
    if candidates.is_empty() {
        return Ok(found);
    }
    let order = flow.postorder();
    for b in order.into_iter().rev().filter(|b| candidates.binary_search(b).is_ok()) {
        if flow.predecessors(b).iter().filter(|&&p| flow.is_reachable(p) && !flow.dominates(b, p)).count() > 1 {
            found.entry(flow.dominator(b)).or_default().push(b);
        }
    }
    Ok(found)
}

/// Structurises one function.
pub(crate) fn structure(s: &Spec<'_>, f: &Function) -> Result<FunctionTree> {
    let n = f.blocks.len();
    if n == 0 {
        return Err(Error::unsupported("function has no body (linkage)").with_id(f.id));
    }
    let mut st = Structurer {
        s,
        m: s.m,
        blocks: &f.blocks,
        exits: vec![None; n],
        placed: vec![false; n],
        label_used: Vec::new(),
        switches: Vec::new(),
        flags: 0,
        returns: 0,
        depth: 0,
        ret: 0,
        joins: joins(s.m, f)?,
    };
    st.ret = st.label();
    let ret = st.ret;
    let mut body = st.region(0, false, ret)?;
    let mut direct_return = None;
    if let (1, false, Some(&Node::Return(id))) = (st.returns, st.label_used[ret as usize], body.nodes.last()) {
        direct_return = Some(id);
        body.nodes.pop();
    }
    let depth = body.depth();
    Ok(FunctionTree { body, label_used: st.label_used, flags: st.flags, ret, direct_return, depth })
}

impl Tree {
    /// Calls `f` with every block once.
    pub fn each_block(&self, f: &mut dyn FnMut(BlockIx)) {
        for node in &self.nodes {
            match node {
                Node::Block(b) => f(*b),
                Node::If { then, else_, .. } => {
                    then.each_block(f);
                    else_.each_block(f);
                }
                Node::Loop { body, .. } | Node::Scope { body, .. } => body.each_block(f),
                Node::Switch { cases, .. } => cases.iter().for_each(|case| case.body.each_block(f)),
                Node::Moves { .. } | Node::SetFlag(_) | Node::Return(_) => {}
            }
        }
    }

    /// Returns the nesting of IR nodes inside, which the structuriser has bounded.
    fn depth(&self) -> u32 {
        let node = |n: &Node| match n {
            Node::If { then, else_, .. } => 1 + then.depth().max(else_.depth()),
            Node::Loop { body, .. } | Node::Scope { body, .. } => 1 + body.depth(),
            Node::Switch { cases, .. } => 2 + cases.iter().map(|c| c.body.depth()).max().unwrap_or(0),
            _ => 0,
        };
        self.nodes.iter().map(node).max().unwrap_or(0)
    }
}

impl Structurer<'_> {
    fn label(&mut self) -> u32 {
        self.label_used.push(false);
        self.label_used.len() as u32 - 1
    }

    fn used(&self, label: u32) -> bool {
        self.label_used[label as usize]
    }

    fn has_phi(&self, b: BlockIx) -> bool {
        self.blocks[b as usize].has_phi
    }

    fn fail(&self, b: BlockIx, message: &str) -> Error {
        let v = self.m.view(self.blocks[b as usize].end_inst);
        Error::invalid(message).at(v.opcode(), self.blocks[b as usize].label)
    }

    /// Makes `block` an exit while `f` runs.
    fn with_exit<T>(&mut self, block: BlockIx, exit: Exit, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = self.exits[block as usize].replace(exit);
        let result = f(self);
        self.exits[block as usize] = before;
        result
    }

    /// Returns the label that a branch to the block breaks to, and the flag that it sets.
    fn exit(&mut self, to: BlockIx) -> Option<(u32, Option<u32>)> {
        match self.exits[to as usize]? {
            Exit::Label(label) => Some((label, None)),
            Exit::CaseEnd(s) => Some((self.switches[s].label, None)),
            Exit::Case(s, case) => {
                let sw = &mut self.switches[s];
                sw.falls.push((sw.current, case));
                let flag = *sw.flags[case as usize].get_or_insert_with(|| {
                    self.flags += 1;
                    self.flags - 1
                });
                Some((sw.label, Some(flag)))
            }
        }
    }

    /// Wraps a region in a scope if something breaks to its label.
    fn scoped(&self, label: u32, body: Tree) -> Tree {
        if self.used(label) { Tree { nodes: vec![Node::Scope { label, body }], term: Term::Yield } } else { body }
    }

    /// Appends the branch `from → to` at the end of `t`. Returns the block that continues the
    /// region, if the branch does not leave it.
    fn goto(&mut self, from: BlockIx, to: BlockIx, tail: u32, t: &mut Tree) -> Option<BlockIx> {
        if self.has_phi(to) {
            t.nodes.push(Node::Moves { from, to });
        }
        let Some((label, flag)) = self.exit(to) else { return Some(to) };
        if let Some(flag) = flag {
            t.nodes.push(Node::SetFlag(flag));
        }
        t.term = self.leave(label, tail);
        None
    }

    fn leave(&mut self, label: u32, tail: u32) -> Term {
        if label == tail {
            return Term::Yield;
        }
        self.label_used[label as usize] = true;
        Term::Break(label)
    }

    /// Builds the region that begins with the branch `from → to`.
    fn arm(&mut self, from: BlockIx, to: BlockIx, tail: u32) -> Result<Tree> {
        let mut t = Tree::default();
        if let Some(next) = self.goto(from, to, tail, &mut t) {
            let rest = self.region(next, false, tail)?;
            t.nodes.extend(rest.nodes);
            t.term = rest.term;
        }
        Ok(t)
    }

    /// Places blocks from `b` on until the region ends. With `opened`, `b` is a loop header whose
    /// loop is already open.
    fn region(&mut self, b: BlockIx, opened: bool, tail: u32) -> Result<Tree> {
        self.depth += 1;
        if self.depth > self.m.nesting().regions {
            return Err(Error::limit("control flow is nested too deeply").with_id(self.blocks[b as usize].label));
        }
        let mut t = Tree::default();
        let mut next = Some((b, opened));
        while let Some((b, opened)) = next {
            next = self.step(b, opened, tail, &mut t)?.map(|b| (b, false));
        }
        self.depth -= 1;
        Ok(t)
    }

    /// Places one block or loop. Returns the block that follows in this region.
    fn step(&mut self, b: BlockIx, opened: bool, tail: u32, t: &mut Tree) -> Result<Option<BlockIx>> {
        let block = &self.blocks[b as usize];
        if let (Merge::Loop { merge, cont }, false) = (block.merge, opened) {
            return self.loop_(b, (merge, cont), tail, t);
        }
        if std::mem::replace(&mut self.placed[b as usize], true) {
            return Err(self.fail(b, "block is reached in a way that structured control flow does not allow"));
        }
        t.nodes.push(Node::Block(b));
        match block.end {
            End::Branch(to) => return Ok(self.goto(b, to, tail, t)),
            End::Cond(_, x, y) if x == y => match block.merge {
                Merge::Selection(merge) => return self.straight(b, x, merge, tail, t),
                _ => return Ok(self.goto(b, x, tail, t)),
            },
            End::Cond(cond, x, y) => match block.merge {
                Merge::Selection(merge) => return self.selection(b, cond, (x, y), (merge, tail), t),
                _ => return self.branch(b, cond, (x, y), tail, t),
            },
            End::Switch(selector) => return self.switch(b, selector, tail, t),
            End::Return => {
                self.returns += 1;
                t.term = self.leave(self.ret, tail);
            }
            End::ReturnValue(id) => {
                self.returns += 1;
                t.nodes.push(Node::Return(id));
                t.term = self.leave(self.ret, tail);
            }
            End::Kill => t.term = Term::Kill,
            End::Tasks => t.term = Term::Tasks(block.end_inst),
            End::IgnoreIntersection => t.term = Term::IgnoreIntersection,
            End::TerminateRay => t.term = Term::TerminateRay,
            // The block may be reached all the same, because the module is not trusted. It ends as
            // by a return, so that its effects are the same in all tiers.
            End::Unreachable => {
                self.returns += 1;
                t.term = self.leave(self.ret, tail);
            }
            End::Unsupported => {
                let v = self.m.view(block.end_inst);
                return Err(Error::unsupported("not implemented").at(v.opcode(), block.label));
            }
        }
        Ok(None)
    }

    fn selection(
        &mut self,
        b: BlockIx,
        cond: u32,
        (x, y): (BlockIx, BlockIx),
        (merge, tail): (BlockIx, u32),
        t: &mut Tree,
    ) -> Result<Option<BlockIx>> {
        let label = self.label();
        let body = self.with_exit(merge, Exit::Label(label), |st| {
            st.joined(b, label, |st, tail| {
                let (then, else_) = (st.arm(b, x, tail)?, st.arm(b, y, tail)?);
                let yields = then.term == Term::Yield || else_.term == Term::Yield;
                let term = if yields { Term::Yield } else { Term::Unreachable };
                Ok(Tree { nodes: vec![Node::If { cond, then, else_ }], term })
            })
        })?;
        let reaches = self.used(label) || body.term == Term::Yield;
        t.nodes.extend(self.scoped(label, body).nodes);
        Ok(self.merged(reaches, merge, tail, t))
    }

    /// Builds a header's branch with `f`, and places after it the blocks where its arms meet before
    /// the merge block ([`joins`]). Each of these is an exit like a merge block and follows the
    /// scope.
    fn joined(&mut self, b: BlockIx, tail: u32, f: impl FnOnce(&mut Self, u32) -> Result<Tree>) -> Result<Tree> {
        let mut joins = self.joins.remove(&b).unwrap_or_default();
        joins.retain(|&j| self.exits[j as usize].is_none());
        let labels: Vec<u32> = joins.iter().map(|_| self.label()).collect();
        for (&j, &label) in joins.iter().zip(&labels) {
            self.exits[j as usize] = Some(Exit::Label(label));
        }
        let mut body = f(self, labels.first().copied().unwrap_or(tail))?;
        for (k, (&j, &label)) in joins.iter().zip(&labels).enumerate() {
            self.exits[j as usize] = None;
            let reaches = body.term == Term::Yield || self.used(label);
            body = self.scoped(label, body);
            if reaches {
                let rest = self.region(j, false, labels.get(k + 1).copied().unwrap_or(tail))?;
                body.nodes.extend(rest.nodes);
                body.term = rest.term;
            }
        }
        Ok(body)
    }

    /// Places a selection with a single arm. Blocks inside may still break to its merge block.
    fn straight(
        &mut self,
        b: BlockIx,
        to: BlockIx,
        merge: BlockIx,
        tail: u32,
        t: &mut Tree,
    ) -> Result<Option<BlockIx>> {
        let label = self.label();
        let body = self.with_exit(merge, Exit::Label(label), |st| st.arm(b, to, label))?;
        let reaches = self.used(label) || body.term == Term::Yield;
        let body = self.scoped(label, body);
        t.nodes.extend(body.nodes);
        t.term = body.term;
        Ok(if reaches { self.merged(true, merge, tail, t) } else { None })
    }

    /// Continues after a construct, or ends the region if nothing leaves the construct. A merge
    /// block that also ends an enclosing construct (`deviations`) is left by a branch. Its phis
    /// already have their values, from the branches that led to it.
    fn merged(&mut self, reaches: bool, merge: BlockIx, tail: u32, t: &mut Tree) -> Option<BlockIx> {
        if !reaches {
            t.term = Term::Unreachable;
            return None;
        }
        let Some((label, flag)) = self.exit(merge) else { return Some(merge) };
        t.nodes.extend(flag.map(Node::SetFlag));
        t.term = self.leave(label, tail);
        None
    }

    /// Places a conditional branch without a merge instruction, at least one side of which leaves.
    fn branch(
        &mut self,
        b: BlockIx,
        cond: u32,
        (x, y): (BlockIx, BlockIx),
        tail: u32,
        t: &mut Tree,
    ) -> Result<Option<BlockIx>> {
        let (exit_x, exit_y) = (self.exits[x as usize].is_some(), self.exits[y as usize].is_some());
        if exit_x != exit_y {
            // The side that stays continues in this region. `u32::MAX` is not the tail of any
            // region.
            let mut then = Tree::default();
            let mut else_ = Tree::default();
            let stay_x = self.goto(b, x, u32::MAX, &mut then);
            let stay_y = self.goto(b, y, u32::MAX, &mut else_);
            t.nodes.push(Node::If { cond, then, else_ });
            return Ok(stay_x.or(stay_y));
        }
        let then = self.arm(b, x, tail)?;
        let else_ = self.arm(b, y, tail)?;
        let yields = then.term == Term::Yield || else_.term == Term::Yield;
        t.nodes.push(Node::If { cond, then, else_ });
        t.term = if yields { Term::Yield } else { Term::Unreachable };
        Ok(None)
    }

    fn loop_(
        &mut self,
        header: BlockIx,
        (merge, cont): (BlockIx, BlockIx),
        tail: u32,
        t: &mut Tree,
    ) -> Result<Option<BlockIx>> {
        let label = self.label();
        let back = self.label();
        let body = self.with_exit(merge, Exit::Label(label), |st| {
            if cont == header {
                let body = st.with_exit(header, Exit::Label(back), |st| st.region(header, true, back))?;
                return Ok(st.scoped(back, body));
            }
            let next = st.label();
            let body = st.with_exit(cont, Exit::Label(next), |st| st.region(header, true, next))?;
            if body.term != Term::Yield && !st.used(next) {
                return Ok(body);
            }
            let mut body = st.scoped(next, body);
            let construct = st.with_exit(header, Exit::Label(back), |st| st.region(cont, false, back))?;
            let construct = st.scoped(back, construct);
            body.nodes.extend(construct.nodes);
            body.term = construct.term;
            Ok(body)
        })?;
        t.nodes.push(Node::Loop { label, body });
        let reaches = self.used(label);
        Ok(self.merged(reaches, merge, tail, t))
    }

    /// Returns literal and target of each case of an OpSwitch. The default is last and has no
    /// literal.
    fn targets(&self, b: BlockIx, selector: u32) -> Result<Vec<(Option<u64>, BlockIx)>> {
        let v = self.m.view(self.blocks[b as usize].end_inst);
        let ty = self.m.def(selector)?.ty;
        let Type::Int { bits, .. } = *self.s.ty(ty)? else { return Err(self.fail(b, "selector is not an integer")) };
        let width = if bits == 64 { 3 } else { 2 };
        let block = |label: u32| {
            self.m.block_of(self.blocks, label).ok_or_else(|| self.fail(b, "case is not a block of this function"))
        };
        let mut out = Vec::new();
        if !(v.args.len() - 2).is_multiple_of(width) {
            return Err(self.fail(b, "case without a label"));
        }
        for pair in v.args[2..].chunks_exact(width) {
            let high = if width == 3 { u64::from(pair[1]) << 32 } else { 0 };
            out.push((Some((u64::from(pair[0]) | high) & super::types::mask(bits)), block(pair[width - 1])?));
        }
        out.push((None, block(v.arg(1)?)?));
        Ok(out)
    }

    fn switch(&mut self, b: BlockIx, selector: u32, tail: u32, t: &mut Tree) -> Result<Option<BlockIx>> {
        let Merge::Selection(merge) = self.blocks[b as usize].merge else {
            return Err(self.fail(b, "switch without a merge instruction"));
        };
        // There is one case per distinct target, in the order of the operands.
        let mut targets: Vec<BlockIx> = Vec::new();
        let mut cases: Vec<Case> = Vec::new();
        let mut case_of = HashMap::new();
        for (literal, block) in self.targets(b, selector)? {
            let i = *case_of.entry(block).or_insert_with(|| {
                targets.push(block);
                let entry = self.has_phi(block).then_some((b, block));
                cases.push(Case { literals: Vec::new(), default: false, flag: None, entry, body: Tree::default() });
                cases.len() - 1
            });
            match literal {
                Some(bits) => cases[i].literals.push(bits),
                None => cases[i].default = true,
            }
        }
        let label = self.label();
        let flags = vec![None; cases.len()];
        let sw = self.switches.len();
        self.switches.push(OpenSwitch { label, current: 0, falls: Vec::new(), flags });
        let already: Vec<Option<Exit>> = targets.iter().map(|&x| self.exits[x as usize]).collect();
        let merge_before = self.exits[merge as usize].replace(Exit::CaseEnd(sw));
        for (i, &x) in targets.iter().enumerate() {
            if already[i].is_none() && x != merge {
                self.exits[x as usize] = Some(Exit::Case(sw, i as u32));
            }
        }
        let mut reaches = false;
        for (i, &x) in targets.iter().enumerate() {
            let label = self.label();
            self.switches[sw].label = label;
            self.switches[sw].current = i as u32;
            let body = if x == merge {
                Tree::default()
            } else if already[i].is_some() {
                // The case leaves an enclosing construct. The entry has its phi assignments.
                let mut body = Tree::default();
                if let Some((l, flag)) = self.exit(x) {
                    body.nodes.extend(flag.map(Node::SetFlag));
                    body.term = self.leave(l, label);
                }
                body
            } else {
                let own = self.exits[x as usize].take();
                let body = self.region(x, false, label);
                self.exits[x as usize] = own;
                body?
            };
            reaches |= body.term == Term::Yield || self.used(label);
            cases[i].body = self.scoped(label, body);
        }
        for (i, &x) in targets.iter().enumerate() {
            self.exits[x as usize] = already[i];
        }
        self.exits[merge as usize] = merge_before;
        let Some(open) = self.switches.pop() else { return Err(Error::internal("switch stack")) };
        for (case, flag) in cases.iter_mut().zip(&open.flags) {
            case.flag = *flag;
        }
        let cases = order(cases, &open.falls).ok_or_else(|| self.fail(b, "cases fall into each other in a circle"))?;
        t.nodes.push(Node::Switch { selector, cases });
        Ok(self.merged(reaches, merge, tail, t))
    }
}

/// Sorts the cases so that each follows those that fall into it.
fn order(cases: Vec<Case>, falls: &[(u32, u32)]) -> Option<Vec<Case>> {
    if falls.is_empty() {
        return Some(cases);
    }
    let n = cases.len();
    let mut successors = vec![Vec::new(); n];
    let mut waiting = vec![0u32; n];
    for &(from, to) in falls {
        successors[from as usize].push(to);
        waiting[to as usize] += 1;
    }
    let mut ready: Vec<usize> = (0..n).rev().filter(|&i| waiting[i] == 0).collect();
    let mut slots: Vec<Option<Case>> = cases.into_iter().map(Some).collect();
    let mut out = Vec::with_capacity(n);
    while let Some(i) = ready.pop() {
        out.push(slots[i].take()?);
        for &to in &successors[i] {
            waiting[to as usize] -= 1;
            if waiting[to as usize] == 0 {
                ready.push(to as usize);
            }
        }
    }
    (out.len() == n).then_some(out)
}

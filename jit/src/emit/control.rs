//! Structured control flow: branches where all active lanes agree, masks where they may not.
//!
//! The exec mask lives in a variable and is always valid. `full` is true if it is statically all
//! ones, so that no code needs to test it.
//!
//! A divergent `If` runs its arms under `mask & cond` and `mask & !cond`. An arm that is worth
//! skipping lies behind a branch that tests whether any lane is active.
//!
//! A break to a divergent label moves the active lanes into the label's break mask and leaves an
//! empty exec mask. The lanes become active again where the label ends. A break to any other label
//! is a jump.
//!
//! A barrier may stand in a divergent construct. Its condition is then the same for the whole
//! workgroup, or no lane reaches the barrier, but that cannot be proved statically. Such a part is
//! therefore entered if and only if a lane is active in it: a loop or a barrier is never reached
//! with an empty mask. Masks that are used behind it are kept in slots.

use super::Emitter;
use super::cell::Cells;
use super::rep::Rep;
use crate::error::{Error, Result};
use crate::ir::{If, Label, Loop, Node, Region, Scope, Term, Ty, Value};
use crate::lir::{Block, IntCond, Type, Value as C};
use crate::passes::Shape;

/// The way in which a region ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Control falls through; the values are in the cells.
    Yield,
    /// The block is terminated.
    Gone,
    /// All active lanes broke to a divergent label: the mask is empty, and the block continues.
    Empty,
}

/// Destination of the values that a region yields.
#[derive(Clone, Copy)]
pub enum Finish<'c> {
    /// The values replace the contents of the cells.
    Set(&'c [(Value, Cells)]),
    /// The values replace the contents for the lanes of a mask.
    Merge(&'c [(Value, Cells)], C),
    /// The values replace the contents for the lanes that are active at the end.
    MergeActive(&'c [(Value, Cells)]),
}

/// An enclosing scope or loop.
pub struct Target {
    label: Label,
    exit: Block,
    results: Vec<(Value, Cells)>,
    /// Lanes that broke to this label, if it is divergent.
    broke: Option<Cells>,
    /// True if a break to this label was emitted.
    used: bool,
}

/// A mask that is used later: in a slot if a barrier may come in between.
enum Kept {
    Here(C),
    InSlot(Cells),
}

impl Emitter<'_> {
    /// Returns the exec mask.
    pub fn exec_mask(&mut self) -> C {
        if self.full {
            return self.mask(true);
        }
        let cells = self.exec.clone();
        self.cell(&cells)
    }

    /// Sets the exec mask.
    pub fn set_exec(&mut self, mask: C, full: bool) {
        let cells = self.exec.clone();
        self.set_cell(&cells, mask);
        self.full = full;
    }

    /// Returns the mask of all lanes or of none.
    pub fn mask(&mut self, all: bool) -> C {
        self.splat_constant(Ty::B1, u64::from(all))
    }

    fn escapes_node(&self, node: &Node) -> bool {
        match node {
            Node::Inst(_) => false,
            Node::If(n) => self.escapes_if(n),
            Node::Loop(n) => self.facts.escapes(&n.body),
            Node::Scope(n) => self.facts.escapes(&n.body),
        }
    }

    fn escapes_if(&self, n: &If) -> bool {
        [&n.then, &n.else_].into_iter().any(|r| self.facts.escapes(r))
    }

    /// Emits a region. Behind a node that lanes may have left, code that is worth skipping runs
    /// only if a lane is still active. A loop whose last lane has broken out therefore does not run
    /// its body once more.
    pub fn region(&mut self, region: &Region, finish: Finish<'_>) -> Result<End> {
        let mut skip = None;
        let mut early = None;
        for (i, node) in region.nodes.iter().enumerate() {
            let end = match node {
                Node::Inst(inst) => {
                    self.inst(*inst)?;
                    End::Yield
                }
                Node::If(n) => match self.filter(n) {
                    Some(arm) => {
                        let rest = self.facts.nodes_worth_skipping(&region.nodes[i + 1..]);
                        let end = rest.then(|| *skip.get_or_insert_with(|| self.b.create_block()));
                        self.filter_out(n, arm, end)?;
                        continue;
                    }
                    None => self.if_(n)?,
                },
                Node::Loop(n) => self.loop_(n)?,
                Node::Scope(n) => self.scope(n)?,
            };
            if end != End::Yield {
                early = Some(end);
                break;
            }
            let rest = &region.nodes[i + 1..];
            if !self.full && self.escapes_node(node) && self.facts.nodes_worth_skipping(rest) {
                let end = *skip.get_or_insert_with(|| self.b.create_block());
                let (more, exec) = (self.b.create_block(), self.exec_mask());
                let any = self.b.any(exec);
                self.b.branch(any, more, &[], end, &[]);
                self.enter(more);
            }
        }
        let end = match early {
            Some(end) => end,
            None => self.term(region, finish)?,
        };
        let Some(block) = skip else { return Ok(end) };
        // On the path that skipped, the mask is empty; the cells hold that mask too.
        if end != End::Gone {
            self.b.jump(block, &[]);
        }
        self.enter(block);
        self.full = false;
        Ok(if end == End::Yield { End::Yield } else { End::Empty })
    }

    fn term(&mut self, region: &Region, finish: Finish<'_>) -> Result<End> {
        match &region.term {
            Term::Yield(values) => {
                self.finish(finish, values)?;
                Ok(End::Yield)
            }
            Term::Break(label, values) => self.break_(*label, values),
            // No lane reaches this point, but with masks the block may be reached: all lanes have
            // broken to divergent labels before.
            Term::Unreachable if self.full => {
                self.leave();
                Ok(End::Gone)
            }
            Term::Unreachable => {
                let none = self.mask(false);
                self.set_exec(none, false);
                Ok(End::Empty)
            }
        }
    }

    fn finish(&mut self, finish: Finish<'_>, values: &[Value]) -> Result<()> {
        let active;
        let (results, mask) = match finish {
            Finish::Set(results) => return self.set_results(results, values),
            Finish::Merge(results, mask) => (results, mask),
            Finish::MergeActive(results) => {
                active = self.exec_mask();
                (results, active)
            }
        };
        for ((result, cells), &value) in results.iter().zip(values) {
            let rep = self.rep(value)?;
            self.merge_cells(*result, cells, &rep, mask)?;
        }
        Ok(())
    }

    /// Jumps to the function's exit.
    pub fn leave(&mut self) {
        let exit = self.exit;
        self.b.jump(exit, &[]);
    }

    fn break_(&mut self, label: Label, values: &[Value]) -> Result<End> {
        let index = self
            .targets
            .iter()
            .rposition(|t| t.label == label)
            .ok_or_else(|| Error::internal(format!("break to {label:?} outside of it")))?;
        let reps = values.iter().map(|&v| self.rep(v)).collect::<Result<Vec<Rep>>>()?;
        let target = &self.targets[index];
        let (exit, results, broke) = (target.exit, target.results.clone(), target.broke.clone());
        self.targets[index].used = true;
        let Some(broke) = broke else {
            // All active lanes break. If there is none, because lanes wait at a label in between,
            // the jump must not be taken.
            let stay = (!self.full).then(|| {
                let (go, stay) = (self.b.create_block(), self.b.create_block());
                let exec = self.exec_mask();
                let any = self.b.any(exec);
                self.b.branch(any, go, &[], stay, &[]);
                self.enter(go);
                stay
            });
            for ((value, cells), rep) in results.iter().zip(&reps) {
                self.set_cells(*value, cells, rep)?;
            }
            self.b.jump(exit, &[]);
            let Some(stay) = stay else { return Ok(End::Gone) };
            self.enter(stay);
            return Ok(End::Empty);
        };
        let exec = self.exec_mask();
        for ((value, cells), rep) in results.iter().zip(&reps) {
            self.merge_cells(*value, cells, rep, exec)?;
        }
        let old = self.cell(&broke);
        let new = self.b.or(old, exec);
        self.set_cell(&broke, new);
        let none = self.mask(false);
        self.set_exec(none, false);
        Ok(End::Empty)
    }

    fn if_(&mut self, n: &If) -> Result<End> {
        let crosses = self.barriers.crosses(&n.then);
        if let Rep::Uniform(c) = self.rep(n.cond)? {
            return self.uniform_if(n, c, crosses);
        }
        self.divergent_if(n, crosses)
    }

    fn uniform_if(&mut self, n: &If, cond: C, crosses: bool) -> Result<End> {
        let results = self.new_results(&n.results, crosses);
        let (then, else_, merge) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.branch(cond, then, &[], else_, &[]);
        let full = self.full;
        let mut full_after = true;
        let (mut reached, mut yields) = (false, false);
        for (block, region) in [(then, &n.then), (else_, &n.else_)] {
            self.enter(block);
            self.full = full;
            self.begin_segment(region);
            let end = self.region(region, Finish::Set(&results))?;
            if end != End::Gone {
                full_after &= self.full;
                reached = true;
                yields |= end == End::Yield;
                self.b.jump(merge, &[]);
            }
        }
        self.full = full_after && full;
        self.end_segment(&n.then);
        self.enter(merge);
        if !reached {
            self.leave();
            return Ok(End::Gone);
        }
        self.finish_results(&results)?;
        Ok(if yields { End::Yield } else { End::Empty })
    }

    /// Returns the arm by which lanes break to a divergent label, if the `If` does nothing for the
    /// other lanes. Loops usually end in this way.
    fn filter<'n>(&self, n: &'n If) -> Option<&'n Region> {
        let nothing = |r: &Region| r.nodes.is_empty() && matches!(&r.term, Term::Yield(values) if values.is_empty());
        let leaves = |r: &Region| matches!(r.term, Term::Break(label, _) if self.div.is_divergent_label(label));
        let arm = match (nothing(&n.then), nothing(&n.else_)) {
            (true, false) => &n.else_,
            (false, true) => &n.then,
            _ => return None,
        };
        let varying = self.shape(n.cond) != Shape::Uniform && self.constant_bits(n.cond).is_none();
        (varying && leaves(arm) && !self.barriers.crosses(arm)).then_some(arm)
    }

    /// Emits an `If` that [`Emitter::filter`] accepts: only a branch to the arm if a lane takes it,
    /// which is rare in loops. If no lane remains active behind the arm, control continues at
    /// `end`.
    fn filter_out(&mut self, n: &If, arm: &Region, end: Option<Block>) -> Result<()> {
        let cond = self.vector(n.cond)?;
        let saved = self.exec_mask();
        let inverted = core::ptr::eq(arm, &raw const n.else_);
        let leaving = match (self.full, inverted) {
            (true, false) => cond,
            (true, true) => self.b.not(cond),
            (false, false) => self.b.and(saved, cond),
            (false, true) => self.b.and_not(saved, cond),
        };
        let (go, on) = (self.b.create_block(), self.b.create_block());
        let any = self.b.any(leaving);
        self.b.branch(any, go, &[], on, &[]);
        self.enter(go);
        self.set_exec(leaving, false);
        if self.region(arm, Finish::Set(&[]))? == End::Gone {
            let dead = self.b.create_block();
            self.enter(dead);
        }
        let staying = self.b.and_not(saved, leaving);
        self.set_exec(staying, false);
        match end {
            Some(end) => {
                let left = self.b.any(staying);
                self.b.branch(left, on, &[], end, &[]);
            }
            None => self.b.jump(on, &[]),
        }
        self.enter(on);
        Ok(())
    }

    fn keep(&mut self, mask: C, crosses: bool) -> Kept {
        if !crosses {
            return Kept::Here(mask);
        }
        let cells = self.mask_cells(true);
        self.set_cell(&cells, mask);
        Kept::InSlot(cells)
    }

    fn kept(&mut self, mask: &Kept) -> C {
        match mask {
            Kept::Here(mask) => *mask,
            Kept::InSlot(cells) => self.cell(cells),
        }
    }

    fn divergent_if(&mut self, n: &If, crosses: bool) -> Result<End> {
        let cond = self.vector(n.cond)?;
        let full = self.full;
        let saved = self.exec_mask();
        let then_mask = if full { cond } else { self.b.and(saved, cond) };
        let else_mask = self.b.and_not(saved, cond);
        let results = self.new_results(&n.results, crosses);
        let escapes = self.escapes_if(n);
        let after = escapes.then(|| {
            let cells = self.mask_cells(crosses);
            let none = self.mask(false);
            self.set_cell(&cells, none);
            cells
        });
        let (saved, else_mask) = (self.keep(saved, crosses), self.keep(else_mask, crosses));
        let then = self.arm(&n.then, then_mask, Finish::Set(&results), after.as_ref())?;
        let else_mask = self.kept(&else_mask);
        let finish = match then {
            End::Yield if crosses => Finish::MergeActive(&results),
            End::Yield => Finish::Merge(&results, else_mask),
            _ => Finish::Set(&results),
        };
        let else_ = self.arm(&n.else_, else_mask, finish, after.as_ref())?;
        self.end_segment(&n.then);
        if then != End::Yield && else_ != End::Yield {
            let none = self.mask(false);
            self.set_exec(none, false);
            return Ok(End::Empty);
        }
        match after {
            Some(cells) => {
                let mask = self.cell(&cells);
                self.set_exec(mask, false);
                self.release(&cells);
            }
            None => {
                let saved = self.kept(&saved);
                self.set_exec(saved, full);
            }
        }
        self.finish_results(&results)?;
        Ok(End::Yield)
    }

    /// Emits one arm of a divergent `If`. `after` collects the lanes that reach its end.
    fn arm(&mut self, region: &Region, mask: C, finish: Finish<'_>, after: Option<&Cells>) -> Result<End> {
        let skip = self.facts.worth_skipping(region).then(|| {
            let (arm, rest) = (self.b.create_block(), self.b.create_block());
            let any = self.b.any(mask);
            self.b.branch(any, arm, &[], rest, &[]);
            self.enter(arm);
            rest
        });
        self.set_exec(mask, false);
        self.begin_segment(region);
        let end = self.region(region, finish)?;
        let gone = end == End::Gone;
        if let (Some(cells), false) = (after, gone) {
            let exec = self.exec_mask();
            let old = self.cell(cells);
            let new = self.b.or(old, exec);
            self.set_cell(cells, new);
        }
        match skip {
            Some(rest) => {
                if !gone {
                    self.b.jump(rest, &[]);
                }
                self.enter(rest);
            }
            None if gone => {
                let dead = self.b.create_block();
                self.enter(dead);
            }
            None => {}
        }
        Ok(end)
    }

    /// Emits a scope.
    pub fn scope(&mut self, n: &Scope) -> Result<End> {
        let crosses = self.barriers.crosses(&n.body);
        let escapes = self.facts.escapes(&n.body);
        let full = self.full;
        let saved = (!escapes && !crosses).then(|| self.exec_mask());
        self.push_target(n.label, &n.results, crosses)?;
        self.begin_segment(&n.body);
        let results = self.targets.last().map_or(Vec::new(), |t| t.results.clone());
        let divergent = self.div.is_divergent_label(n.label);
        let finish = if divergent { Finish::MergeActive(&results) } else { Finish::Set(&results) };
        let end = self.region(&n.body, finish)?;
        let target = self.pop_target()?;
        if end != End::Gone {
            self.b.jump(target.exit, &[]);
        }
        let live = target.used || end == End::Yield;
        self.end_segment(&n.body);
        self.close(target, saved, full && !escapes, live)
    }

    fn loop_(&mut self, n: &Loop) -> Result<End> {
        let crosses = self.barriers.crosses(&n.body);
        let escapes = self.facts.escapes(&n.body);
        let full = self.full;
        let saved = (!escapes && !crosses).then(|| self.exec_mask());
        for v in self.barriers.loop_uses(&n.body).to_vec() {
            self.rep(v)?;
        }
        let params = self.new_results(&n.params, crosses);
        self.set_results(&params, &n.inits)?;
        self.push_target(n.label, &n.results, crosses)?;
        // Lanes can disappear only through masks; the back edge then tests whether one is left.
        let shrinks = self.div.is_divergent_label(n.label) || escapes;
        self.full = full && !shrinks;
        let header = self.b.create_block();
        self.b.jump(header, &[]);
        match self.barriers.dispatch().filter(|_| crosses) {
            // Back edges come from blocks that the dispatch on resume indices enters.
            Some(dispatch) => self.b.enter_behind(header, dispatch),
            None => self.b.enter_loop(header),
        }
        self.begin_segment(&n.body);
        self.define_results(&params)?;
        let end = self.region(&n.body, Finish::Set(&params))?;
        let target = self.pop_target()?;
        match end {
            End::Yield => {
                self.poll_abort();
                if shrinks {
                    let exec = self.exec_mask();
                    let any = self.b.any(exec);
                    self.b.branch(any, header, &[], target.exit, &[]);
                } else {
                    self.b.jump(header, &[]);
                }
            }
            End::Empty => {
                self.b.jump(target.exit, &[]);
            }
            End::Gone => {}
        }
        self.b.seal_block(header);
        let live = target.used;
        self.end_segment(&n.body);
        let end = self.close(target, saved, full && !escapes, live);
        params.iter().for_each(|(_, cells)| self.release(cells));
        end
    }

    /// Emits the end of a scope or loop, where the lanes that broke to its label become active
    /// again. `full` is true if the mask is known to be full again, and `live` if any lane may
    /// reach this point.
    fn close(&mut self, target: Target, saved: Option<C>, full: bool, live: bool) -> Result<End> {
        self.enter(target.exit);
        if !live {
            let none = self.mask(false);
            self.set_exec(none, false);
            return Ok(End::Empty);
        }
        if let Some(saved) = saved {
            self.set_exec(saved, full);
        } else if let Some(broke) = &target.broke {
            self.full = false;
            let (exec, broke) = (self.exec_mask(), self.cell(broke));
            let mask = self.b.or(exec, broke);
            self.set_exec(mask, full);
        } else {
            // No mask was changed, except by lanes that left for good, so the cells are valid.
            self.full = full;
        }
        if let Some(broke) = &target.broke {
            self.release(broke);
        }
        self.finish_results(&target.results)?;
        Ok(End::Yield)
    }

    fn push_target(&mut self, label: Label, results: &[Value], crosses: bool) -> Result<()> {
        let divergent = self.div.is_divergent_label(label);
        let results = self.new_results(results, crosses);
        let broke = divergent.then(|| {
            let cells = self.mask_cells(crosses);
            let none = self.mask(false);
            self.set_cell(&cells, none);
            cells
        });
        if divergent && crosses {
            results.iter().for_each(|(_, cells)| self.clear_cells(cells));
        }
        let exit = self.b.create_block();
        self.targets.push(Target { label, exit, results, broke, used: false });
        Ok(())
    }

    fn pop_target(&mut self) -> Result<Target> {
        self.targets.pop().ok_or_else(|| Error::internal("unbalanced break targets"))
    }

    /// Seals and enters a block whose predecessors are all known.
    pub fn enter(&mut self, block: Block) {
        self.b.seal_block(block);
        self.b.switch_to_block(block);
    }

    /// Emits a poll of the abort flag, which leaves the function if the device is lost or the
    /// budget is spent.
    pub fn poll_abort(&mut self) {
        let flag = self.abort;
        // The load is atomic, so that it is never merged with an earlier poll.
        let stop = self.b.atomic_load(Type::I32, flag);
        let go_on = self.b.create_block();
        let stop = self.b.icmp_imm(IntCond::Ne, stop, 0);
        let exit = self.exit;
        self.b.branch(stop, exit, &[], go_on, &[]);
        self.enter(go_on);
    }

    /// Makes cells for the results of a node, before the node.
    ///
    /// The cells are set to zero, because not every path through the node sets them all. Otherwise
    /// SSA construction would carry a value from the function's start to this point. A slot of the
    /// scratch memory would hold data of an earlier workgroup or shader.
    fn new_results(&mut self, values: &[Value], crosses: bool) -> Vec<(Value, Cells)> {
        let results: Vec<_> = values.iter().map(|&v| (v, self.new_cells(v, crosses))).collect();
        results.iter().for_each(|(_, cells)| self.clear_cells(cells));
        results
    }

    fn set_results(&mut self, results: &[(Value, Cells)], values: &[Value]) -> Result<()> {
        // All values are read before the first cell is set, because a loop may swap its params.
        let reps = values.iter().map(|&v| self.rep(v)).collect::<Result<Vec<Rep>>>()?;
        for ((result, cells), rep) in results.iter().zip(&reps) {
            self.set_cells(*result, cells, rep)?;
        }
        Ok(())
    }

    fn define_results(&mut self, results: &[(Value, Cells)]) -> Result<()> {
        for (result, cells) in results {
            let rep = self.get_cells(cells);
            self.define(*result, rep)?;
        }
        Ok(())
    }

    /// Defines results and releases their cells.
    fn finish_results(&mut self, results: &[(Value, Cells)]) -> Result<()> {
        self.define_results(results)?;
        results.iter().for_each(|(_, cells)| self.release(cells));
        Ok(())
    }
}

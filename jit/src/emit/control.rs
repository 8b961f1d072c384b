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
//!
//! An operation that suspends single lanes is a break of the active lanes out of everything
//! (`invocation`).

use super::Emitter;
use super::ssa_variable::SsaVariable;
use super::value_rep::ValueRep;
use crate::error::{Error, Result};
use crate::ir::{If, Label, Loop, Node, Region, Scope, Term, Value};
use crate::lir::{Block, Value as C};
use crate::passes::Shape;

/// The way in which a region ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RegionEnd {
    /// Control falls through; the values are in the result variables.
    Yield,
    /// The block is terminated.
    Terminated,
    /// All active lanes broke to a divergent label: the mask is empty, and the block continues.
    Empty,
}

/// Destination of the values that a region yields, and the lanes for which they are stored.
#[derive(Clone, Copy)]
pub enum YieldTarget<'c> {
    /// The values replace the contents of the variables.
    Set(&'c [(Value, SsaVariable)]),
    /// The values replace the contents for the lanes of a mask.
    Merge(&'c [(Value, SsaVariable)], C),
    /// The values replace the contents for the lanes that are active at the end.
    MergeActive(&'c [(Value, SsaVariable)]),
}

/// An enclosing scope or loop.
pub struct BreakTarget {
    label: Label,
    exit: Block,
    results: Vec<(Value, SsaVariable)>,
    /// Lanes that broke to this label, if it is divergent.
    broken_lanes: Option<SsaVariable>,
    /// True if a break to this label was emitted.
    used: bool,
}

/// A mask that is used later: in a variable if a suspension point may come in between.
enum SavedMask {
    InValue(C),
    InVariable(SsaVariable),
}

impl Emitter<'_> {
    fn node_escapes(&self, node: &Node) -> bool {
        match node {
            Node::Inst(_) => false,
            Node::If(n) => self.if_escapes(n),
            Node::Loop(n) => self.region_infos.escapes(&n.body),
            Node::Scope(n) => self.region_infos.escapes(&n.body),
        }
    }

    fn if_escapes(&self, n: &If) -> bool {
        [&n.then, &n.else_].into_iter().any(|r| self.region_infos.escapes(r))
    }

    /// Emits a region. Behind a node that lanes may have left, code that is worth skipping runs
    /// only if a lane is still active. A loop whose last lane has broken out therefore does not run
    /// its body once more.
    pub fn region(&mut self, region: &Region, yield_target: YieldTarget<'_>) -> Result<RegionEnd> {
        let mut skip = None;
        let mut early = None;
        for (i, node) in region.nodes.iter().enumerate() {
            let open = self.open_variables();
            let end = match node {
                Node::Inst(inst) if self.suspends_lanes(*inst) => {
                    let end = *skip.get_or_insert_with(|| self.b.create_block());
                    self.suspend_lanes(*inst, end)?;
                    continue;
                }
                Node::Inst(inst) => {
                    self.inst(*inst)?;
                    RegionEnd::Yield
                }
                Node::If(n) => match self.break_only_arm(n) {
                    Some(arm) => {
                        let rest = self.region_infos.nodes_worth_skipping(&region.nodes[i + 1..]);
                        let end = rest.then(|| *skip.get_or_insert_with(|| self.b.create_block()));
                        self.emit_break_only_arm(n, arm, end)?;
                        continue;
                    }
                    None => self.if_(n)?,
                },
                Node::Loop(n) => self.loop_(n)?,
                Node::Scope(n) => self.scope(n)?,
            };
            self.close_variables(open);
            if end != RegionEnd::Yield {
                early = Some(end);
                break;
            }
            let rest = &region.nodes[i + 1..];
            if !self.lanes.is_full() && self.node_escapes(node) && self.region_infos.nodes_worth_skipping(rest) {
                let end = *skip.get_or_insert_with(|| self.b.create_block());
                let (more, exec) = (self.b.create_block(), self.exec_mask());
                let any = self.b.any(exec);
                self.b.branch(any, more, &[], end, &[]);
                self.enter(more);
            }
        }
        let end = match early {
            Some(end) => end,
            None => self.term(region, yield_target)?,
        };
        let Some(block) = skip else { return Ok(end) };
        // On the path that skipped, the mask is empty; the variables hold that mask too.
        if end != RegionEnd::Terminated {
            self.b.jump(block, &[]);
        }
        self.enter(block);
        self.lanes.set_full(false);
        Ok(if end == RegionEnd::Yield { RegionEnd::Yield } else { RegionEnd::Empty })
    }

    fn term(&mut self, region: &Region, yield_target: YieldTarget<'_>) -> Result<RegionEnd> {
        match &region.term {
            Term::Yield(values) => {
                self.yield_values(yield_target, values)?;
                Ok(RegionEnd::Yield)
            }
            Term::Break(label, values) => self.break_(*label, values),
            // No lane reaches this point, but with masks the block may be reached: all lanes have
            // broken to divergent labels before.
            Term::Unreachable if self.lanes.is_full() => {
                self.leave();
                Ok(RegionEnd::Terminated)
            }
            Term::Unreachable => {
                let none = self.mask(false);
                self.set_exec(none, false);
                Ok(RegionEnd::Empty)
            }
        }
    }

    fn yield_values(&mut self, yield_target: YieldTarget<'_>, values: &[Value]) -> Result<()> {
        let active;
        let (results, mask) = match yield_target {
            YieldTarget::Set(results) => return self.set_results(results, values),
            YieldTarget::Merge(results, mask) => (results, mask),
            YieldTarget::MergeActive(results) => {
                active = self.exec_mask();
                (results, active)
            }
        };
        for ((result, variable), &value) in results.iter().zip(values) {
            let rep = self.value_rep(value)?;
            self.merge_variable(*result, variable, &rep, mask)?;
        }
        Ok(())
    }

    fn break_(&mut self, label: Label, values: &[Value]) -> Result<RegionEnd> {
        let index = self
            .targets
            .iter()
            .rposition(|t| t.label == label)
            .ok_or_else(|| Error::internal(format!("break to {label:?} outside of it")))?;
        let value_reps = values.iter().map(|&v| self.value_rep(v)).collect::<Result<Vec<ValueRep>>>()?;
        let target = &self.targets[index];
        let (exit, results, broken_lanes) = (target.exit, target.results.clone(), target.broken_lanes.clone());
        self.targets[index].used = true;
        let Some(broken_lanes) = broken_lanes else {
            // All active lanes break. If there is none, because lanes wait at a label in between,
            // the jump must not be taken.
            let stay = (!self.lanes.is_full()).then(|| {
                let (go, stay) = (self.b.create_block(), self.b.create_block());
                let exec = self.exec_mask();
                let any = self.b.any(exec);
                self.b.branch(any, go, &[], stay, &[]);
                self.enter(go);
                stay
            });
            for ((value, variable), rep) in results.iter().zip(&value_reps) {
                self.write_variable(*value, variable, rep)?;
            }
            self.b.jump(exit, &[]);
            let Some(stay) = stay else { return Ok(RegionEnd::Terminated) };
            self.enter(stay);
            return Ok(RegionEnd::Empty);
        };
        let exec = self.exec_mask();
        for ((value, variable), rep) in results.iter().zip(&value_reps) {
            self.merge_variable(*value, variable, rep, exec)?;
        }
        let old = self.read_single(&broken_lanes);
        let new = self.b.or(old, exec);
        self.write_single(&broken_lanes, new);
        let none = self.mask(false);
        self.set_exec(none, false);
        Ok(RegionEnd::Empty)
    }

    fn if_(&mut self, n: &If) -> Result<RegionEnd> {
        let spans_point = self.suspension.spans_point(&n.then);
        if let ValueRep::Uniform(c) = self.value_rep(n.cond)? {
            return self.uniform_if(n, c, spans_point);
        }
        self.divergent_if(n, spans_point)
    }

    fn uniform_if(&mut self, n: &If, cond: C, spans_point: bool) -> Result<RegionEnd> {
        let results = self.new_results(&n.results, spans_point);
        let (then, else_, merge) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.branch(cond, then, &[], else_, &[]);
        let full = self.lanes.is_full();
        let mut full_after = true;
        let (mut reached, mut yields) = (false, false);
        for (block, region) in [(then, &n.then), (else_, &n.else_)] {
            self.enter(block);
            self.lanes.set_full(full);
            self.begin_segment(region);
            let end = self.region(region, YieldTarget::Set(&results))?;
            if end != RegionEnd::Terminated {
                full_after &= self.lanes.is_full();
                reached = true;
                yields |= end == RegionEnd::Yield;
                self.b.jump(merge, &[]);
            }
        }
        self.lanes.set_full(full_after && full);
        self.end_segment(&n.then);
        self.enter(merge);
        if !reached {
            self.leave();
            return Ok(RegionEnd::Terminated);
        }
        self.finish_results(&results)?;
        Ok(if yields { RegionEnd::Yield } else { RegionEnd::Empty })
    }

    /// Returns the arm by which lanes break to a divergent label, if the `If` does nothing for the
    /// other lanes. Loops usually end in this way.
    fn break_only_arm<'n>(&self, n: &'n If) -> Option<&'n Region> {
        let nothing = |r: &Region| r.nodes.is_empty() && matches!(&r.term, Term::Yield(values) if values.is_empty());
        let leaves = |r: &Region| matches!(r.term, Term::Break(label, _) if self.div.is_divergent_label(label));
        let arm = match (nothing(&n.then), nothing(&n.else_)) {
            (true, false) => &n.else_,
            (false, true) => &n.then,
            _ => return None,
        };
        let varying = self.shape(n.cond) != Shape::Uniform && self.constant_bits(n.cond).is_none();
        (varying && leaves(arm) && !self.suspension.spans_point(arm)).then_some(arm)
    }

    /// Emits an `If` that [`Emitter::break_only_arm`] accepts: only a branch to the arm if a lane
    /// takes it, which is rare in loops. If no lane remains active behind the arm, control
    /// continues at `end`.
    fn emit_break_only_arm(&mut self, n: &If, arm: &Region, end: Option<Block>) -> Result<()> {
        let cond = self.vector(n.cond)?;
        let saved = self.exec_mask();
        let inverted = core::ptr::eq(arm, &raw const n.else_);
        let leaving = match (self.lanes.is_full(), inverted) {
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
        if self.region(arm, YieldTarget::Set(&[]))? == RegionEnd::Terminated {
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

    fn save_mask(&mut self, mask: C, spans_point: bool) -> SavedMask {
        if !spans_point {
            return SavedMask::InValue(mask);
        }
        let variable = self.new_mask_variable(true);
        self.write_single(&variable, mask);
        SavedMask::InVariable(variable)
    }

    fn restore_mask(&mut self, mask: &SavedMask) -> C {
        match mask {
            SavedMask::InValue(mask) => *mask,
            SavedMask::InVariable(variable) => self.read_single(variable),
        }
    }

    fn divergent_if(&mut self, n: &If, spans_point: bool) -> Result<RegionEnd> {
        let cond = self.vector(n.cond)?;
        let full = self.lanes.is_full();
        let saved = self.exec_mask();
        let then_mask = if full { cond } else { self.b.and(saved, cond) };
        let else_mask = self.b.and_not(saved, cond);
        let results = self.new_results(&n.results, spans_point);
        let escapes = self.if_escapes(n);
        let after = escapes.then(|| {
            let variable = self.new_mask_variable(spans_point);
            let none = self.mask(false);
            self.write_single(&variable, none);
            variable
        });
        let (saved, else_mask) = (self.save_mask(saved, spans_point), self.save_mask(else_mask, spans_point));
        let then = self.arm(&n.then, then_mask, YieldTarget::Set(&results), after.as_ref())?;
        let else_mask = self.restore_mask(&else_mask);
        let yield_target = match then {
            RegionEnd::Yield if spans_point => YieldTarget::MergeActive(&results),
            RegionEnd::Yield => YieldTarget::Merge(&results, else_mask),
            _ => YieldTarget::Set(&results),
        };
        let else_ = self.arm(&n.else_, else_mask, yield_target, after.as_ref())?;
        self.end_segment(&n.then);
        if then != RegionEnd::Yield && else_ != RegionEnd::Yield {
            let none = self.mask(false);
            self.set_exec(none, false);
            return Ok(RegionEnd::Empty);
        }
        match after {
            Some(variable) => {
                let mask = self.read_single(&variable);
                self.set_exec(mask, false);
                self.release_variable(&variable);
            }
            None => {
                let saved = self.restore_mask(&saved);
                self.set_exec(saved, full);
            }
        }
        self.finish_results(&results)?;
        Ok(RegionEnd::Yield)
    }

    /// Emits one arm of a divergent `If`. `after` collects the lanes that reach its end.
    fn arm(
        &mut self,
        region: &Region,
        mask: C,
        yield_target: YieldTarget<'_>,
        after: Option<&SsaVariable>,
    ) -> Result<RegionEnd> {
        let skip = self.region_infos.worth_skipping(region).then(|| {
            let (arm, rest) = (self.b.create_block(), self.b.create_block());
            let any = self.b.any(mask);
            self.b.branch(any, arm, &[], rest, &[]);
            self.enter(arm);
            rest
        });
        self.set_exec(mask, false);
        self.begin_segment(region);
        let end = self.region(region, yield_target)?;
        let terminated = end == RegionEnd::Terminated;
        if let (Some(variable), false) = (after, terminated) {
            let exec = self.exec_mask();
            let old = self.read_single(variable);
            let new = self.b.or(old, exec);
            self.write_single(variable, new);
        }
        match skip {
            Some(rest) => {
                if !terminated {
                    self.b.jump(rest, &[]);
                }
                self.enter(rest);
            }
            None if terminated => {
                let dead = self.b.create_block();
                self.enter(dead);
            }
            None => {}
        }
        Ok(end)
    }

    /// Emits a scope.
    pub fn scope(&mut self, n: &Scope) -> Result<RegionEnd> {
        let spans_point = self.suspension.spans_point(&n.body);
        let escapes = self.region_infos.escapes(&n.body);
        let full = self.lanes.is_full();
        let saved = (!escapes && !spans_point).then(|| self.exec_mask());
        self.push_target(n.label, &n.results, spans_point)?;
        self.begin_segment(&n.body);
        let results = self.targets.last().map_or(Vec::new(), |t| t.results.clone());
        let divergent = self.div.is_divergent_label(n.label);
        let yield_target = if divergent { YieldTarget::MergeActive(&results) } else { YieldTarget::Set(&results) };
        let end = self.region(&n.body, yield_target)?;
        let target = self.pop_target()?;
        if end != RegionEnd::Terminated {
            self.b.jump(target.exit, &[]);
        }
        let live = target.used || end == RegionEnd::Yield;
        self.end_segment(&n.body);
        self.close_label(target, saved, full && !escapes, live)
    }

    fn loop_(&mut self, n: &Loop) -> Result<RegionEnd> {
        let spans_point = self.suspension.spans_point(&n.body);
        let escapes = self.region_infos.escapes(&n.body);
        let full = self.lanes.is_full();
        let saved = (!escapes && !spans_point).then(|| self.exec_mask());
        for v in self.suspension.loop_uses(&n.body).to_vec() {
            self.value_rep(v)?;
        }
        let params = self.new_results(&n.params, spans_point);
        self.set_results(&params, &n.inits)?;
        self.push_target(n.label, &n.results, spans_point)?;
        // Lanes can disappear only through masks; the back edge then tests whether one is left.
        let shrinks = self.div.is_divergent_label(n.label) || escapes;
        self.lanes.set_full(full && !shrinks);
        let header = self.b.create_block();
        self.b.jump(header, &[]);
        match self.suspension.dispatch().filter(|_| spans_point) {
            // Back edges come from blocks that the dispatch on resume indices enters.
            Some(dispatch) => self.b.enter_dominated_by(header, dispatch),
            None => self.b.enter_loop(header),
        }
        self.begin_segment(&n.body);
        self.define_results(&params)?;
        let end = self.region(&n.body, YieldTarget::Set(&params))?;
        let target = self.pop_target()?;
        match end {
            RegionEnd::Yield => {
                self.poll_abort();
                if shrinks {
                    let exec = self.exec_mask();
                    let any = self.b.any(exec);
                    self.b.branch(any, header, &[], target.exit, &[]);
                } else {
                    self.b.jump(header, &[]);
                }
            }
            RegionEnd::Empty => {
                self.b.jump(target.exit, &[]);
            }
            RegionEnd::Terminated => {}
        }
        self.b.seal_block(header);
        let live = target.used;
        self.end_segment(&n.body);
        let end = self.close_label(target, saved, full && !escapes, live);
        params.iter().for_each(|(_, variable)| self.release_variable(variable));
        end
    }

    /// Emits the end of a scope or loop, where the lanes that broke to its label become active
    /// again. `full` is true if the mask is known to be full again, and `live` if any lane may
    /// reach this point.
    fn close_label(&mut self, target: BreakTarget, saved: Option<C>, full: bool, live: bool) -> Result<RegionEnd> {
        self.enter(target.exit);
        if !live {
            let none = self.mask(false);
            self.set_exec(none, false);
            return Ok(RegionEnd::Empty);
        }
        if let Some(saved) = saved {
            self.set_exec(saved, full);
        } else if let Some(broken_lanes) = &target.broken_lanes {
            self.lanes.set_full(false);
            let (exec, broken_lanes) = (self.exec_mask(), self.read_single(broken_lanes));
            let mask = self.b.or(exec, broken_lanes);
            self.set_exec(mask, full);
        } else {
            // No mask was changed, except by lanes that left for good, so the variables are valid.
            self.lanes.set_full(full);
        }
        if let Some(broken_lanes) = &target.broken_lanes {
            self.release_variable(broken_lanes);
        }
        self.finish_results(&target.results)?;
        Ok(RegionEnd::Yield)
    }

    fn push_target(&mut self, label: Label, results: &[Value], spans_point: bool) -> Result<()> {
        let divergent = self.div.is_divergent_label(label);
        let results = self.new_results(results, spans_point);
        let broken_lanes = divergent.then(|| {
            let variable = self.new_mask_variable(spans_point);
            let none = self.mask(false);
            self.write_single(&variable, none);
            variable
        });
        if divergent && spans_point {
            results.iter().for_each(|(_, variable)| self.zero_variable(variable));
        }
        let exit = self.b.create_block();
        self.targets.push(BreakTarget { label, exit, results, broken_lanes, used: false });
        Ok(())
    }

    fn pop_target(&mut self) -> Result<BreakTarget> {
        self.targets.pop().ok_or_else(|| Error::internal("unbalanced break targets"))
    }

    /// Makes variables for the results of a node, before the node.
    ///
    /// The variables are set to zero, because not every path through the node sets them all.
    /// Otherwise SSA construction would carry a value from the function's start to this point. A
    /// slot of the scratch memory would hold data of an earlier workgroup or shader.
    fn new_results(&mut self, values: &[Value], spans_point: bool) -> Vec<(Value, SsaVariable)> {
        let results: Vec<_> = values.iter().map(|&v| (v, self.new_ssa_variable(v, spans_point))).collect();
        results.iter().for_each(|(_, variable)| self.zero_variable(variable));
        results
    }

    fn set_results(&mut self, results: &[(Value, SsaVariable)], values: &[Value]) -> Result<()> {
        // All values are read before the first variable is set, because a loop may swap its params.
        let value_reps = values.iter().map(|&v| self.value_rep(v)).collect::<Result<Vec<ValueRep>>>()?;
        for ((result, variable), rep) in results.iter().zip(&value_reps) {
            self.write_variable(*result, variable, rep)?;
        }
        Ok(())
    }

    fn define_results(&mut self, results: &[(Value, SsaVariable)]) -> Result<()> {
        for (result, variable) in results {
            let rep = self.read_variable(variable);
            self.define(*result, rep)?;
        }
        Ok(())
    }

    /// Defines results and releases their variables.
    fn finish_results(&mut self, results: &[(Value, SsaVariable)]) -> Result<()> {
        self.define_results(results)?;
        results.iter().for_each(|(_, variable)| self.release_variable(variable));
        Ok(())
    }
}

//! Barriers in random programs: exchanges through workgroup memory at points where the whole
//! workgroup is together.
//!
//! The generator knows these points (*together*). They are under conditions that are equal for a
//! workgroup although no analysis can prove it, because each depends on a value that is zero and
//! looks varying. A break that only some lanes take parts the workgroup until its label ends. It
//! never leaves a *kept* loop, so that all lanes go through such a loop equally often. Lanes that
//! returned are gone, and no barrier waits for them.

use super::Generator;
use jit::ir::{Binary, Builtin, Cmp, If, Label, MemFlags, Node, Op, Region, Space, Term, Ty, Value};

/// State of the generator about which lanes are at the current point.
#[derive(Default)]
pub(super) struct Together {
    /// Number of divergent Ifs around the current point.
    pub parted_ifs: u32,
    /// For each enclosing label (as in `Generator::labels`), whether some lanes may wait at it.
    pub waiting: Vec<bool>,
    /// Number of labels outside the innermost kept loop: only all lanes together may break to them.
    pub fenced: usize,
    /// Values that are equal for a workgroup and look varying.
    values: Vec<Value>,
}

const FLAGS: MemFlags = MemFlags { readonly: false, volatile: false, align: 4 };

impl Generator<'_> {
    /// Makes the values that are equal for a workgroup and look varying.
    pub(super) fn start_together(&mut self) {
        // The load is out of bounds and gives zero, at an offset that differs between lanes.
        let far = self.b.i32(0x10_0000);
        let at = self.b.binary(Binary::IAdd, self.id, far);
        let four = self.b.i32(4);
        let at = self.b.binary(Binary::IMul, at, four);
        let zero = self.b.load(self.input, at, Ty::I32);
        let group = self.b.builtin(Builtin::WorkgroupId(0), Ty::I32);
        let at = self.b.binary(Binary::IMul, group, four);
        let word = self.b.load(self.input, at, Ty::I32);
        for v in [group, word, four] {
            let hidden = self.b.binary(Binary::IAdd, v, zero);
            self.together.values.push(hidden);
            self.add(hidden);
        }
    }

    /// Returns true if either all lanes of the workgroup that have not returned are here, or none.
    pub(super) fn is_together(&self) -> bool {
        self.options.barriers && self.together.parted_ifs == 0 && !self.together.waiting.contains(&true)
    }

    /// Returns a value that is equal for the workgroup.
    pub(super) fn common(&mut self) -> Value {
        let pick = self.rng.below(self.together.values.len());
        self.together.values[pick]
    }

    /// Returns a condition that is equal for the workgroup, if the workgroup is together; at
    /// random, none.
    pub(super) fn common_condition(&mut self) -> Option<Value> {
        if !self.is_together() || self.rng.chance(40) {
            return None;
        }
        let (v, bit) = (self.common(), self.rng.below(3) as i32);
        let (bit, zero) = (self.b.i32(1 << bit), self.b.i32(0));
        let v = self.b.binary(Binary::And, v, bit);
        Some(self.b.cmp(Cmp::IEq, v, zero))
    }

    /// Opens a label.
    pub(super) fn push_label(&mut self, label: Label, types: Vec<Ty>, waiting: bool) {
        self.labels.push((label, types));
        self.together.waiting.push(waiting);
    }

    /// Closes the innermost label.
    pub(super) fn pop_label(&mut self) {
        self.labels.pop();
        self.together.waiting.pop();
    }

    /// Returns the label that a break here may target, if any.
    pub(super) fn break_target(&mut self) -> Option<usize> {
        let first = if self.is_together() || !self.options.barriers { 0 } else { self.together.fenced };
        if first >= self.labels.len() {
            return None;
        }
        let target = first + self.rng.below(self.labels.len() - first);
        if !self.is_together() {
            self.together.waiting[target] = true;
        }
        Some(target)
    }

    /// Builds `shared[index] = v; barrier; v' = shared[other]; barrier`.
    pub(super) fn exchange(&mut self) {
        let n = self.options.local_size;
        let (four, size) = (self.b.u32(4), self.b.u32(n));
        let index = self.b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let value = self.value(Ty::I32);
        let at = self.b.binary(Binary::IMul, index, four);
        self.b.inst(Op::Store(Space::Shared, FLAGS), &[at, value], &[]);
        self.b.inst(Op::Barrier, &[], &[]);
        let step = self.rng.below(n as usize) as u32;
        let step = self.b.u32(step);
        let other = self.b.binary(Binary::IAdd, index, step);
        let other = self.b.binary(Binary::UMod, other, size);
        let at = self.b.binary(Binary::IMul, other, four);
        let got = self.b.op(Op::Load(Space::Shared, FLAGS), &[at], Ty::I32);
        self.b.inst(Op::Barrier, &[], &[]);
        self.add(got);
    }

    /// Builds a return of some lanes, which is rare.
    pub(super) fn early_return(&mut self) {
        let cond = self.value(Ty::B1);
        let root = self.b.shader.root.label;
        let then = Region { nodes: Vec::new(), term: Term::Break(root, Vec::new()) };
        self.b.nodes.push(Node::If(Box::new(If { cond, then, else_: Region::default(), results: Vec::new() })));
    }
}

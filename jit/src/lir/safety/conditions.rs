//! Conditions that hold in a block because of dominating branches, and ranges of integers under
//! them.

use super::definitions::{Condition, DEPTH, Definitions, LaneValue};
use crate::lir::verify::Dominators;
use crate::lir::{Block, Def, Elem, Function, Imm, Op, Value};
use base::hash::WordMap;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;

/// A range of unsigned integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Least value.
    pub lo: u64,
    /// Greatest value.
    pub hi: u64,
}

impl Range {
    fn all(elem: Elem) -> Range {
        Range { lo: 0, hi: elem.mask() }
    }
    fn of(bits: u64) -> Range {
        Range { lo: bits, hi: bits }
    }
    fn join(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
}

/// Conditions that hold at a point of a proof.
#[derive(Clone)]
pub struct ProofScope {
    /// Block whose dominating branches contribute conditions.
    pub block: Block,
    /// Further conditions: those of selections that lead to the address, and of edges.
    pub more: SmallVec<[Condition; 8]>,
    /// True if the branches do not count, because the access may be moved across them.
    pub moved: bool,
}

impl ProofScope {
    /// Returns the scope of a block.
    pub fn of(block: Block) -> ProofScope {
        ProofScope { block, more: SmallVec::new(), moved: false }
    }
}

/// A predecessor and the index of its target.
type Edge = (Block, usize);

/// A function with its control flow.
pub struct Flow<'a> {
    /// View of the definitions.
    pub shape: Definitions<'a>,
    dominators: Dominators,
    preds: SecondaryMap<Block, Vec<Edge>>,
    atoms: RefCell<WordMap<Block, Rc<[Condition]>>>,
    /// Ranges of block parameters.
    params: SecondaryMap<Value, Option<Range>>,
    /// Upper bounds that structures guarantee for loaded words.
    loads: SecondaryMap<Value, Option<u64>>,
}

impl<'a> Flow<'a> {
    /// Builds the control flow of a verified function.
    pub fn of(func: &'a Function) -> Result<Flow<'a>, String> {
        let dominators = Dominators::of(func)?;
        let mut preds: SecondaryMap<Block, Vec<Edge>> = SecondaryMap::new();
        for &block in &func.layout {
            for (i, target) in func.blocks[block].targets.iter().enumerate() {
                preds[target.block].push((block, i));
            }
        }
        Ok(Flow {
            shape: Definitions { func },
            dominators,
            preds,
            atoms: RefCell::default(),
            params: SecondaryMap::new(),
            loads: SecondaryMap::new(),
        })
    }

    /// Returns the edges that lead to a block.
    pub fn preds(&self, block: Block) -> &[Edge] {
        &self.preds[block]
    }
    /// Returns true if all paths to `b` go through `a`.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        self.dominators.dominates(a, b)
    }
    /// Returns block and position of an instruction.
    pub fn home(&self, inst: crate::lir::Inst) -> Option<(Block, u32)> {
        self.dominators.home(inst)
    }

    /// Sets an upper bound of a loaded word.
    pub fn limit_load(&mut self, v: Value, most: u64) {
        self.loads[v] = Some(most);
    }

    /// Returns the scope at the end of an edge.
    pub fn edge(&self, (from, number): Edge) -> ProofScope {
        let mut scope = ProofScope::of(from);
        self.edge_atoms((from, number), &mut scope.more);
        scope
    }

    fn edge_atoms(&self, (from, number): Edge, out: &mut SmallVec<[Condition; 8]>) {
        let data = &self.shape.func.blocks[from];
        let Some(&last) = data.insts.last() else { return };
        let last = &self.shape.func.insts[last];
        if let (Op::Branch, [a, b]) = (last.op, &data.targets[..])
            && a.block != b.block
        {
            self.shape.atoms((last.args[0], None), number == 0, out);
        }
    }

    /// Returns the conditions of the branches that dominate a block.
    fn block_atoms(&self, block: Block) -> Rc<[Condition]> {
        if let Some(known) = self.atoms.borrow().get(&block) {
            return known.clone();
        }
        let mut out: SmallVec<[Condition; 8]> = SmallVec::new();
        if let [edge] = self.preds[block][..] {
            self.edge_atoms(edge, &mut out);
        }
        if let Some(parent) = self.dominators.parent(block).filter(|&parent| parent != block) {
            out.extend(self.block_atoms(parent).iter().copied());
        }
        let all: Rc<[Condition]> = out.as_slice().into();
        self.atoms.borrow_mut().insert(block, all.clone());
        all
    }

    /// Returns the conditions of a scope.
    pub fn conditions(&self, scope: &ProofScope) -> SmallVec<[Condition; 8]> {
        let mut all = scope.more.clone();
        if !scope.moved {
            all.extend(self.block_atoms(scope.block).iter().copied());
        }
        all
    }

    /// Returns true if a condition of the scope is a constant that contradicts it. Code there never
    /// runs.
    pub fn is_impossible(&self, scope: &ProofScope) -> bool {
        let holds = |atom: &Condition| self.shape.constant(atom.at).is_none_or(|bits| (bits != 0) == atom.truth);
        !self.conditions(scope).iter().all(holds)
    }

    /// Computes the ranges of parameters. They grow from the values of forward edges until nothing
    /// changes; a range that keeps growing becomes the full range. Then two rounds narrow them,
    /// each of which is sound.
    pub fn find_ranges(&mut self) {
        const ROUNDS: usize = 12;
        const GROWS: usize = 4;
        self.params.clear();
        for round in 0..ROUNDS {
            let mut changed = false;
            for &block in &self.shape.func.layout {
                for (i, param) in self.integers(block) {
                    let Some(new) = self.incoming(block, i, round == 0) else { continue };
                    let joined = self.params[param].map_or(new, |old| old.join(new));
                    if self.params[param] != Some(joined) {
                        changed = true;
                        let elem = self.shape.func.ty(param).elem;
                        self.params[param] = Some(if round >= GROWS { Range::all(elem) } else { joined });
                    }
                }
            }
            if !changed && round > 0 {
                break;
            }
            if round == ROUNDS - 1 {
                self.params.clear();
                return;
            }
        }
        for _ in 0..2 {
            for &block in &self.shape.func.layout {
                for (i, param) in self.integers(block) {
                    self.params[param] = self.incoming(block, i, false);
                }
            }
        }
    }

    /// Returns the integer parameters of a block, with their indices.
    fn integers(&self, block: Block) -> Vec<(usize, Value)> {
        let params = self.shape.func.blocks[block].params.iter().copied().enumerate();
        params.filter(|&(_, param)| self.shape.func.ty(param).elem.is_int()).collect()
    }

    /// Returns the joined range of the arguments of a parameter: from all edges, or only from
    /// forward ones.
    fn incoming(&self, block: Block, param: usize, front: bool) -> Option<Range> {
        let edges = self.preds[block].iter().filter(|edge| !front || !self.dominates(block, edge.0));
        let ranges = edges.map(|&edge| {
            let arg = self.shape.func.blocks[edge.0].targets[edge.1].args[param];
            self.range((arg, None), &self.edge(edge))
        });
        ranges.reduce(Range::join)
    }

    /// Returns the range of an integer.
    pub fn range(&self, at: LaneValue, scope: &ProofScope) -> Range {
        self.range_within(at, scope, &self.conditions(scope), DEPTH)
    }

    fn range_within(&self, at: LaneValue, scope: &ProofScope, atoms: &[Condition], depth: u32) -> Range {
        let at = self.shape.see_through_lane_moves(at);
        let elem = self.shape.func.ty(at.0).elem;
        let mut range = self.range_of_def(at, scope, atoms, depth);
        range.hi = range.hi.min(elem.mask());
        if depth == 0 || self.shape.constant(at).is_some() {
            return range;
        }
        for &atom in atoms {
            for below in self.shape.below(atom) {
                let strict = u64::from(below.strict);
                if below.a == at {
                    let most = self.range_within(below.b, scope, &[], depth / 2).hi;
                    range.hi = range.hi.min(most.saturating_sub(strict));
                } else if below.b == at {
                    let least = self.range_within(below.a, scope, &[], depth / 2).lo;
                    range.lo = range.lo.max(least.saturating_add(strict));
                } else if let Some(most) = self.limit_of_sum(below.a, at, range) {
                    let limit = self.range_within(below.b, scope, &[], depth / 2).hi.saturating_sub(strict);
                    range.hi = range.hi.min(limit.saturating_sub(most));
                }
            }
            if let Some((crate::lir::IntCond::Ne, a, b)) = self.shape.compared(atom)
                && a == at
                && self.shape.constant(b) == Some(0)
            {
                range.lo = range.lo.max(1);
            }
        }
        range
    }

    /// Returns the constant `c` if `sum` is `of + c`, where `of` has this range and the sum does
    /// not wrap.
    fn limit_of_sum(&self, sum: LaneValue, of: LaneValue, range: Range) -> Option<u64> {
        if self.shape.func.ty(sum.0).elem != Elem::I64 {
            return None;
        }
        let terms = self.shape.terms(sum);
        let whole = self.shape.terms(of);
        let plus = u64::try_from(terms.plus).ok()?;
        // The term is the value itself, or the value that it extends with zeros.
        let itself = match terms.list[..] {
            [(term, 1)] => term == of || whole.plus == 0 && whole.list[..] == [(term, 1)],
            _ => false,
        };
        (itself && range.hi.checked_add(plus).is_some()).then_some(plus)
    }

    fn range_of_def(&self, at: LaneValue, scope: &ProofScope, atoms: &[Condition], depth: u32) -> Range {
        let elem = self.shape.func.ty(at.0).elem;
        let all = Range::all(elem);
        if let Some(bits) = self.shape.constant(at) {
            return Range::of(bits);
        }
        if let Def::Lanes(list) = self.shape.func.values[at.0].def {
            let lanes = self.shape.func.lists[list].iter().map(|&bits| Range::of(bits));
            return lanes.reduce(Range::join).unwrap_or(all);
        }
        if let Def::Param(_) = self.shape.func.values[at.0].def {
            return self.params[at.0].unwrap_or(all);
        }
        let Some(data) = self.shape.def(at).filter(|_| depth > 0) else { return all };
        let arg = |i: usize| self.range_within(self.shape.arg(at, data, i), scope, atoms, depth - 1);
        let fixed = |i: usize| self.shape.constant(self.shape.arg(at, data, i));
        let sum = |lo: Option<u64>, hi: Option<u64>| match (lo, hi) {
            (Some(lo), Some(hi)) if hi <= elem.mask() => Range { lo, hi },
            _ => all,
        };
        match data.op {
            Op::Zext => arg(0),
            Op::Narrow => Some(arg(0)).filter(|r| r.hi <= elem.mask()).unwrap_or(all),
            Op::Iadd => {
                let (a, b) = (arg(0), arg(1));
                let less = |r: Range, c: u64| {
                    let by = elem.mask() - c + 1;
                    r.lo.checked_sub(by).map(|lo| Range { lo, hi: r.hi - by })
                };
                let negative = |i: usize| fixed(i).filter(|c| c >> (elem.bits() - 1) == 1);
                match (negative(1), negative(0)) {
                    (Some(c), _) => less(a, c).unwrap_or(all),
                    (_, Some(c)) => less(b, c).unwrap_or(all),
                    _ => sum(a.lo.checked_add(b.lo), a.hi.checked_add(b.hi)),
                }
            }
            Op::Isub => {
                let (a, b) = (arg(0), arg(1));
                sum(a.lo.checked_sub(b.hi), a.hi.checked_sub(b.lo))
            }
            Op::Imul => {
                let (a, b) = (arg(0), arg(1));
                sum(a.lo.checked_mul(b.lo), a.hi.checked_mul(b.hi))
            }
            Op::Shl => match fixed(1) {
                Some(by) => {
                    let (a, factor) = (arg(0), 1u64 << (by as u32 % elem.bits()));
                    sum(a.lo.checked_mul(factor), a.hi.checked_mul(factor))
                }
                None => all,
            },
            Op::Lshr => match fixed(1) {
                Some(by) => {
                    let (a, by) = (arg(0), by as u32 % elem.bits());
                    Range { lo: a.lo >> by, hi: a.hi >> by }
                }
                None => all,
            },
            Op::And => Range { lo: 0, hi: arg(0).hi.min(arg(1).hi) },
            Op::Umin => {
                let (a, b) = (arg(0), arg(1));
                Range { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi) }
            }
            Op::Umax => {
                let (a, b) = (arg(0), arg(1));
                Range { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) }
            }
            Op::Udiv => match fixed(1) {
                Some(by) if by != 0 => {
                    let a = arg(0);
                    Range { lo: a.lo / by, hi: a.hi / by }
                }
                _ => all,
            },
            Op::Urem => match fixed(1) {
                Some(by) if by != 0 => Range { lo: 0, hi: arg(0).hi.min(by - 1) },
                _ => all,
            },
            // The lowest set bit of a number that is not 0 is at most its highest bit.
            Op::Ctz => match arg(0) {
                Range { lo: 1.., hi } => Range { lo: 0, hi: u64::from(hi.ilog2()) },
                _ => Range { lo: 0, hi: elem.bits().into() },
            },
            Op::MaskBits => Range { lo: 0, hi: u64::MAX >> (64 - data.ty.lanes() as u32) },
            Op::Select => arg(1).join(arg(2)),
            Op::LoadU8 => Range { lo: 0, hi: 0xff },
            Op::LoadU16 => Range { lo: 0, hi: 0xffff },
            Op::Load if matches!(data.imm, Imm::Access(_)) => match self.loads[at.0] {
                Some(most) => Range { lo: 0, hi: most },
                None => all,
            },
            _ => all,
        }
    }
}

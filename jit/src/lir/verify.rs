//! Checks that a function has the properties that the back ends rely on. It runs in tests, in debug
//! builds and under `GRUS_VERIFY=1`.

#![forbid(unsafe_code)]

use super::op::{ImmKind, OperandRule, VariadicRule};
use super::{Block, Def, Effect, Function, Imm, Inst, InstData, Op, Type, Value};
use cranelift_entity::SecondaryMap;
use std::collections::HashSet;

/// Checks types, operands and edges, and that a definition dominates every use.
///
/// # Errors
/// Returns a description of the first violation.
pub fn verify(func: &Function) -> Result<(), String> {
    let check = FunctionVerifier { func, dominators: Dominators::of(func)? };
    check.constants()?;
    let mut seen = HashSet::new();
    for &block in &func.layout {
        if !seen.insert(block) {
            return Err(format!("{block} is there twice"));
        }
        check.block(block).map_err(|e| format!("{block}: {e}"))?;
    }
    Ok(())
}

struct FunctionVerifier<'a> {
    func: &'a Function,
    dominators: Dominators,
}

fn ensure(ok: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if ok { Ok(()) } else { Err(what()) }
}

impl FunctionVerifier<'_> {
    fn constants(&self) -> Result<(), String> {
        for (v, data) in self.func.values.iter() {
            ensure(data.ty.is_valid(), || format!("{v} of {}", data.ty))?;
            let Some(lanes) = self.func.constant_lanes(v) else { continue };
            let fits = lanes.len() == data.ty.lanes() && lanes.iter().all(|&bits| bits & !data.ty.elem.mask() == 0);
            ensure(fits, || format!("{v}: bits beside {}", data.ty))?;
        }
        Ok(())
    }

    fn block(&self, block: Block) -> Result<(), String> {
        let data = &self.func.blocks[block];
        for &param in &data.params {
            ensure(self.func.values[param].def == Def::Param(block), || format!("{param} is no parameter of it"))?;
        }
        let last = data.insts.len().checked_sub(1).ok_or("is empty")?;
        for (i, &inst) in data.insts.iter().enumerate() {
            let data = &self.func.insts[inst];
            let at = |e: String| format!("{}: {e}", data.op.row().name);
            let ends = data.op.row().effect == Effect::Control;
            ensure(ends == (i == last), || at("not at its place in the block".into()))?;
            self.inst(data).map_err(at)?;
            data.args.iter().try_for_each(|&v| self.defined(v, block, i)).map_err(at)?;
            self.results(inst).map_err(at)?;
        }
        let op = self.func.insts[data.insts[last]].op;
        let fits = match op {
            Op::Jump => data.targets.len() == 1,
            Op::Branch => data.targets.len() == 2,
            Op::BranchTable => !data.targets.is_empty(),
            _ => data.targets.is_empty(),
        };
        ensure(fits, || format!("{} targets of a {}", data.targets.len(), op.row().name))?;
        let fast_path = data.targets.iter().position(|target| self.func.blocks[target.block].fast_path);
        ensure(fast_path.is_none_or(|i| i == 0 && op == Op::Branch), || {
            "an extra block is not the first of a branch".into()
        })?;
        for target in &data.targets {
            let params = &self.func.blocks[target.block].params;
            ensure(target.block != self.func.layout[0], || "goes to the start".into())?;
            ensure(params.len() == target.args.len(), || format!("wrong number of arguments for {}", target.block))?;
            for (&param, &arg) in params.iter().zip(&target.args) {
                let (want, is) = (self.func.ty(param), self.func.ty(arg));
                ensure(want == is, || format!("{arg}: {is} for {param}: {want}"))?;
                self.defined(arg, block, last)?;
            }
        }
        Ok(())
    }

    /// Checks an instruction against its row.
    fn inst(&self, data: &InstData) -> Result<(), String> {
        let row = data.op.row();
        ensure(row.accepts_type(data.ty), || format!("not of {}", data.ty))?;
        ensure(data.imm.kind() == row.imm, || format!("has {:?}", data.imm))?;
        self.imm(data)?;
        let rest = data.args.len().checked_sub(row.args.len()).ok_or("too few operands")?;
        let (rule, fits) = match (row.variadic, data.imm) {
            (VariadicRule::None, _) => (OperandRule::T, rest == 0),
            (VariadicRule::PerLane, _) => (OperandRule::Lane, rest == data.ty.lanes()),
            (VariadicRule::Count, Imm::Gather(_, n)) => (OperandRule::T, rest == usize::from(n)),
            (VariadicRule::Count, _) => (OperandRule::T, false),
            (VariadicRule::Arguments, _) => (OperandRule::Argument, rest <= 8),
        };
        ensure(fits, || format!("{} operands", data.args.len()))?;
        let rules = row.args.iter().copied().chain(std::iter::repeat(rule));
        for (&arg, rule) in data.args.iter().zip(rules) {
            let ty = self.func.ty(arg);
            ensure(rule.accepts(data.ty, ty), || format!("{arg}: {ty} is not {rule:?} of {}", data.ty))?;
        }
        Ok(())
    }

    fn imm(&self, data: &InstData) -> Result<(), String> {
        let lanes = data.ty.lanes() as u64;
        let ok = match data.imm {
            Imm::Lane(lane) => u64::from(lane) < lanes,
            Imm::Pattern(list) => {
                let list = &self.func.lists[list];
                Type::LANES.contains(&list.len()) && list.iter().all(|&l| l < 2 * lanes)
            }
            Imm::Gather(_, n) => (1..=4).contains(&n) && u32::from(n) * data.ty.lane_bytes() <= 16,
            Imm::Slot(slot, offset) => {
                self.func.slots.get(slot).is_some_and(|s| (0..=i64::from(s.bytes)).contains(&i64::from(offset)))
            }
            Imm::None | Imm::Int(_) | Imm::Float(_) | Imm::Access(_) | Imm::Rmw(_) => true,
        };
        debug_assert_eq!(data.imm.kind() == ImmKind::None, data.imm == Imm::None);
        ensure(ok, || format!("{:?} of {}", data.imm, data.ty))
    }

    fn results(&self, inst: Inst) -> Result<(), String> {
        let data = &self.func.insts[inst];
        let types = self.func.result_types(data.op, data.ty, data.imm);
        ensure(types.len() == usize::from(data.count), || format!("{} results", data.count))?;
        for (v, ty) in data.results().zip(types) {
            let is = self.func.values.get(v).ok_or_else(|| format!("{v} is not there"))?;
            ensure(is.def == Def::Inst(inst) && is.ty == ty, || format!("{v}: {} is not its {ty}", is.ty))?;
        }
        Ok(())
    }

    /// Checks that a value is defined before the instruction `at` of a block.
    fn defined(&self, v: Value, block: Block, at: usize) -> Result<(), String> {
        let data = self.func.values.get(v).ok_or_else(|| format!("{v} is not there"))?;
        let ok = match data.def {
            Def::Const(_) | Def::Lanes(_) => true,
            Def::Alias(_) => false,
            Def::Param(home) => self.dominators.dominates(home, block),
            Def::Inst(inst) => match self.dominators.homes[inst] {
                Some((home, index)) if home == block => (index as usize) < at,
                Some((home, _)) => self.dominators.dominates(home, block),
                None => false,
            },
        };
        ensure(ok, || format!("{v} is used where it is not defined"))
    }
}

/// The dominator tree of a function.
pub(super) struct Dominators {
    /// Position in reverse postorder. An unreachable block has none.
    order: SecondaryMap<Block, Option<u32>>,
    parents: SecondaryMap<Block, Option<Block>>,
    /// Block and position of each instruction.
    homes: SecondaryMap<Inst, Option<(Block, u32)>>,
}

impl Dominators {
    /// Computes the dominators of a function. Returns an error if its control flow is malformed.
    pub(super) fn of(func: &Function) -> Result<Dominators, String> {
        let entry = *func.layout.first().ok_or("no blocks")?;
        let mut d = Dominators { order: SecondaryMap::new(), parents: SecondaryMap::new(), homes: SecondaryMap::new() };
        for &block in &func.layout {
            for (i, &inst) in func.blocks[block].insts.iter().enumerate() {
                let twice = d.homes[inst].replace((block, i as u32)).is_some();
                ensure(!twice, || format!("{inst} is there twice"))?;
            }
        }
        let mut preds: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
        let blocks = postorder(func, entry, &mut preds)?;
        let count = blocks.len();
        for (i, &block) in blocks.iter().enumerate() {
            d.order[block] = Some((count - 1 - i) as u32);
        }
        for &block in &func.layout {
            ensure(d.order[block].is_some(), || format!("nothing comes to {block}"))?;
        }
        ensure(count == func.layout.len(), || "a target is not in the layout".into())?;
        d.parents[entry] = Some(entry);
        let mut changed = true;
        while changed {
            changed = false;
            for &block in blocks.iter().rev().skip(1) {
                let known = preds[block].iter().copied().filter(|&p| d.parents[p].is_some());
                let parent = known.reduce(|a, b| d.common(a, b));
                changed |= parent != d.parents[block];
                d.parents[block] = parent;
            }
        }
        Ok(d)
    }

    /// Returns the nearest common dominator (Cooper, Harvey and Kennedy: A Simple, Fast Dominance
    /// Algorithm).
    fn common(&self, mut a: Block, mut b: Block) -> Block {
        while a != b {
            while self.order[a] > self.order[b] {
                a = self.parents[a].unwrap_or(a);
            }
            while self.order[b] > self.order[a] {
                b = self.parents[b].unwrap_or(b);
            }
        }
        a
    }

    /// Returns the immediate dominator. The entry block is its own.
    pub(super) fn parent(&self, block: Block) -> Option<Block> {
        self.parents[block]
    }

    /// Returns block and position of an instruction.
    pub(super) fn home(&self, inst: Inst) -> Option<(Block, u32)> {
        self.homes[inst]
    }

    /// Returns true if all paths to `b` go through `a`.
    pub(super) fn dominates(&self, a: Block, mut b: Block) -> bool {
        while self.order[b] > self.order[a] {
            match self.parents[b] {
                Some(parent) => b = parent,
                None => return false,
            }
        }
        a == b
    }
}

/// Returns the reachable blocks in postorder, and fills in the predecessors of each one.
fn postorder(func: &Function, entry: Block, preds: &mut SecondaryMap<Block, Vec<Block>>) -> Result<Vec<Block>, String> {
    let (mut out, mut seen, mut stack) = (Vec::new(), HashSet::from([entry]), vec![(entry, 0)]);
    while let Some((block, next)) = stack.last_mut() {
        let data = func.blocks.get(*block).ok_or("a target is not there")?;
        match data.targets.get(*next) {
            Some(target) => {
                *next += 1;
                if !func.blocks.is_valid(target.block) {
                    return Err("a target is not there".into());
                }
                preds[target.block].push(*block);
                if seen.insert(target.block) {
                    stack.push((target.block, 0));
                }
            }
            None => {
                out.push(*block);
                stack.pop();
            }
        }
    }
    Ok(out)
}

//! Physical pointers: addresses at which a table shows live memory.

use super::conditions::ProofScope;
use super::definitions::{Condition, LaneValue, LinearSum};
use super::driver_layout::MemoryRegion;
use super::prover::{Offset, Prover, Root};
use crate::lir::{AccessReason, Block, Def, IntCond, Op};
use base::abi::{ADDRESS_GRANULE_BITS, AddressSpace, ShaderContext};
use core::mem::offset_of;

fn field(field: usize) -> i64 {
    (offset_of!(ShaderContext, addresses) + field) as i64
}

/// Removes the subtraction of the first granule's address from a sum.
pub fn take_base(prover: &Prover<'_>, terms: &mut LinearSum) -> Option<()> {
    let is_base = |&&(at, times): &&(LaneValue, u64)| {
        times == u64::MAX && prover.is_context_word(at, field(offset_of!(AddressSpace, base)))
    };
    let (base, _) = *terms.list.iter().find(is_base)?;
    *terms = terms.without(base);
    Some(())
}

/// Returns the address whose granule has this number. The number may be limited to the table or
/// not.
pub fn granule_of(prover: &Prover<'_>, number: LaneValue) -> Option<LinearSum> {
    let shape = prover.shape();
    let mut number = number;
    if let Some(parts) = shape.operands_of(number, Op::Umin) {
        let last = |at: LaneValue| prover.is_context_word(at, field(offset_of!(AddressSpace, last)));
        number = match (last(parts[0]), last(parts[1])) {
            (false, true) => parts[0],
            (true, false) => parts[1],
            _ => return None,
        };
    }
    let [offset, by] = shape.operands_of(number, Op::Lshr)?[..] else { return None };
    let mut terms = shape.terms(offset);
    take_base(prover, &mut terms)?;
    (shape.constant(by) == Some(ADDRESS_GRANULE_BITS.into())).then_some(terms)
}

impl Prover<'_> {
    /// Returns true if an offset into a table of granules is limited to the table.
    pub fn is_granule(&self, offset: &Offset, bytes: u64) -> bool {
        let last = |at: LaneValue| self.is_context_word(at, field(offset_of!(AddressSpace, last)));
        let [(index, times)] = offset.terms.list[..] else { return false };
        let parts = self.shape().operands_of(index, Op::Umin);
        times == bytes && offset.lo == 0 && offset.hi == 0 && parts.is_some_and(|parts| parts.into_iter().any(last))
    }

    /// Returns the constant of an address that the conditions show to be alive and that differs
    /// from `sum` only in the constant. Both may be constants, as a null pointer is.
    pub fn alive(&self, sum: &LinearSum, scope: &ProofScope) -> Option<i64> {
        self.flow.conditions(scope).iter().find_map(|&atom| {
            let address = self.live_address(atom)?;
            (address.list == sum.list).then_some(address.plus)
        })
    }

    /// Returns the address that an atom shows to be alive.
    fn live_address(&self, atom: Condition) -> Option<LinearSum> {
        match self.shape().func.values[atom.at.0].def {
            Def::Param(block) if atom.truth => self.live_param(atom.at, block),
            _ => granule_of(self, self.live_granule(atom)?),
        }
    }

    /// Returns the granule that an atom shows to be alive.
    fn live_granule(&self, atom: Condition) -> Option<LaneValue> {
        let (cond, byte, zero) = self.shape().compared(atom)?;
        let (from, reason) = self.loaded_from(byte)?;
        if cond != IntCond::Ne || reason != AccessReason::Live || self.shape().constant(zero) != Some(0) {
            return None;
        }
        let (pointer, root) = self.root_of(&from)?;
        let rest = from.without(pointer);
        match (root, &rest.list[..]) {
            (Root::Known(MemoryRegion::Live(1)), &[(granule, 1)]) if rest.plus == 0 => Some(granule),
            _ => None,
        }
    }

    /// Returns the address of a lane for a mask that merges from several blocks. The address must
    /// be alive on each of the edges.
    fn live_param(&self, param: LaneValue, block: Block) -> Option<LinearSum> {
        let func = self.shape().func;
        let number = func.blocks[block].params.iter().position(|&p| p == param.0)?;
        let mut found: Option<LinearSum> = None;
        let edges = self.flow.preds(block);
        // The address comes from the edges whose atom checks the lane's own granule.
        for &(from, target) in edges {
            let arg = self.shape().see_through_lane_moves((func.blocks[from].targets[target].args[number], param.1));
            if self.shape().constant(arg).is_none() {
                let address = granule_of(self, self.live_granule(Condition { at: arg, truth: true })?)?;
                if found.as_ref().is_some_and(|other| *other != address) {
                    return None;
                }
                found = Some(address);
            }
        }
        let address = found?;
        let by_ends = |&(from, target): &(Block, usize)| {
            let arg = self.shape().see_through_lane_moves((func.blocks[from].targets[target].args[number], param.1));
            match self.shape().constant(arg) {
                Some(0) => true,
                Some(_) => self.is_in_live_granules(&address, param.1, &self.flow.edge((from, target))),
                None => true,
            }
        };
        edges.iter().all(by_ends).then_some(address)
    }

    /// Returns true if the conditions show that all lanes are in granules of lanes that are alive.
    fn is_in_live_granules(&self, address: &LinearSum, lane: Option<u8>, scope: &ProofScope) -> bool {
        let shape = self.shape();
        let atoms = self.flow.conditions(scope);
        let live: Vec<LaneValue> = atoms.iter().filter_map(|&atom| self.unlimited(self.live_granule(atom)?)).collect();
        let all = atoms.iter().filter(|atom| atom.truth).filter_map(|atom| shape.operands_of(atom.at, Op::All));
        let mut every = Vec::new();
        for mask in all {
            every.clear();
            self.alternatives((mask[0].0, lane), &mut every);
            let good = |&at: &LaneValue| {
                let Some((IntCond::Eq, a, b)) = shape.compared(Condition { at, truth: true }) else { return false };
                let own = |x: LaneValue| granule_of(self, x).is_some_and(|of| of == *address);
                own(a) && live.contains(&b) || own(b) && live.contains(&a)
            };
            if !every.is_empty() && every.iter().all(good) {
                return true;
            }
        }
        false
    }

    /// Returns a granule's number before it is limited to the table.
    fn unlimited(&self, granule: LaneValue) -> Option<LaneValue> {
        let parts = self.shape().operands_of(granule, Op::Umin)?;
        parts.into_iter().find(|&at| !self.is_context_word(at, field(offset_of!(AddressSpace, last))))
    }

    /// Collects the alternatives of a disjunction.
    fn alternatives(&self, at: LaneValue, out: &mut Vec<LaneValue>) {
        let at = self.shape().see_through_lane_moves(at);
        match self.shape().operands_of(at, Op::Or) {
            Some(parts) => parts.into_iter().for_each(|part| self.alternatives(part, out)),
            None => out.push(at),
        }
    }
}

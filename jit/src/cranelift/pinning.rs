//! Pins values to the blocks where the program computes them.
//!
//! Cranelift's optimisation places an instruction without effects where it is first used, in every
//! block that is not dominated by another such place. A value that two arms of a branch use, or an
//! arm and the code behind it, is computed in each of them, with everything that it depends on.
//! Such values are therefore pinned before the optimisation: an instruction with an effect, a store
//! to an unused address, uses them in a block that dominates all uses. Afterwards these stores are
//! removed ([`unpin`]). A value that only one block uses, or only cold blocks, or some targets of
//! a branch table, is left to Cranelift.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::dominator_tree::DominatorTree;
use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::{
    AliasRegion, AliasRegionData, Block, Function, Inst, InstBuilder, InstructionData, MemFlagsData, Opcode, Value,
    types,
};
use cranelift_entity::SecondaryMap;

/// Number of the alias region that only the pinning stores write to.
const REGION: u32 = 1;
/// Number of dominators that are searched for a block that dominates two uses.
const MAX_DOMINATORS: usize = 64;

/// The block that dominates a value's uses, apart from those in cold blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PinSite {
    /// The block dominates all uses.
    block: Block,
    /// The block itself uses the value, so that it is computed only here.
    used: bool,
}

/// Pins values that would be computed more than once.
pub fn pin(function: &mut Function) -> AliasRegion {
    let region = function.dfg.alias_regions.insert(AliasRegionData { user_id: REGION, description: "pins".into() });
    let pins = find(function);
    let mut flags = MemFlagsData::new();
    flags.set_notrap();
    flags.set_alias_region(Some(region));
    let mut cursor = FuncCursor::new(function);
    for (number, (value, block)) in (0..).zip(pins) {
        cursor.goto_last_inst(block);
        let nowhere = cursor.ins().iconst(types::I64, 0);
        // Each store has its own address, so that none is removed as overwritten.
        cursor.ins().store(flags, value, nowhere, 16 * number);
    }
    region
}

/// Removes the pinning stores.
pub fn unpin(function: &mut Function, region: AliasRegion) {
    let is_pin = |inst: Inst| match function.dfg.insts[inst] {
        InstructionData::Store { flags, .. } => function.dfg.mem_flags[flags].alias_region() == Some(region),
        _ => false,
    };
    let blocks = function.layout.blocks().collect::<Vec<_>>();
    let insts = blocks.into_iter().flat_map(|block| function.layout.block_insts(block));
    let pins: Vec<Inst> = insts.filter(|&inst| is_pin(inst)).collect();
    pins.into_iter().for_each(|inst| function.layout.remove_inst(inst));
}

/// Returns the values to pin, and the blocks at whose ends they are pinned.
fn find(function: &Function) -> Vec<(Value, Block)> {
    let flow = ControlFlowGraph::with_function(function);
    let tree = DominatorTree::with_function(function, &flow);
    let mut sites: SecondaryMap<Value, Option<PinSite>> = SecondaryMap::new();
    let mut pins = Vec::new();
    // Uses are visited before definitions.
    for &block in tree.cfg_postorder() {
        let cold = function.layout.is_cold(block);
        let mut next = function.layout.last_inst(block);
        while let Some(inst) = next {
            next = function.layout.prev_inst(inst);
            let site = if is_movable(function, inst) {
                let value = function.dfg.first_result(inst);
                let site = sites[value];
                if let Some(PinSite { block, used: false }) = site
                    && is_expensive(function, inst)
                    && !is_table(function, block)
                {
                    pins.push((value, block));
                }
                site
            } else {
                (!cold).then_some(PinSite { block, used: true })
            };
            let Some(site) = site else { continue };
            for value in function.dfg.inst_values(inst) {
                let value = function.dfg.resolve_aliases(value);
                sites[value] = Some(sites[value].map_or(site, |known| join(&tree, known, site)));
            }
        }
    }
    pins
}

/// Merges the sites of two uses of a value.
fn join(tree: &DominatorTree, a: PinSite, b: PinSite) -> PinSite {
    if a.block == b.block {
        return PinSite { block: a.block, used: a.used || b.used };
    }
    match common_dominator(tree, a.block, b.block) {
        Some(block) => PinSite { block, used: (block == a.block && a.used) || (block == b.block && b.used) },
        None => PinSite { block: a.block, used: true },
    }
}

/// Returns the last block that dominates both, unless it is too far away, so that the time is in
/// proportion to the function.
fn common_dominator(tree: &DominatorTree, a: Block, b: Block) -> Option<Block> {
    if tree.block_dominates(b, a) {
        return Some(b);
    }
    let before = std::iter::successors(Some(a), |&block| tree.idom(block));
    before.take(MAX_DOMINATORS).find(|&block| tree.block_dominates(block, b))
}

/// Returns true if Cranelift chooses the instruction's place, because it has no effect.
fn is_movable(function: &Function, inst: Inst) -> bool {
    let data = &function.dfg.insts[inst];
    let op = data.opcode();
    let effect = op.is_terminator()
        || op.is_branch()
        || op.is_call()
        || op.can_trap()
        || op.can_store()
        || op.other_side_effects();
    let load = match *data {
        InstructionData::Load { opcode: Opcode::Load, flags, .. } => {
            let flags = function.dfg.mem_flags[flags];
            flags.readonly() && flags.notrap() && flags.can_move()
        }
        _ => !op.can_load(),
    };
    !effect && load && function.dfg.inst_results(inst).len() == 1
}

/// Returns true if a block ends in a branch table. Values that some of its targets compute for
/// themselves are not computed for all of them.
fn is_table(function: &Function, block: Block) -> bool {
    function.layout.last_inst(block).is_some_and(|inst| function.dfg.insts[inst].opcode() == Opcode::BrTable)
}

/// Returns true if an instruction's result is worth a register. Constants, addresses and renamed
/// registers are not.
fn is_expensive(function: &Function, inst: Inst) -> bool {
    use Opcode::*;
    let scalar = function.dfg.value_type(function.dfg.first_result(inst)).is_int();
    match function.dfg.insts[inst].opcode() {
        Iconst | F32const | F64const | Vconst | StackAddr | Bitcast | Splat | ScalarToVector => false,
        Iadd | Isub | Ineg | Band | Bor | Bxor | Bnot | Ishl | Ushr | Sshr | Uextend | Sextend | Ireduce | Icmp
        | Fcmp | Smin | Smax | Umin | Umax => !scalar,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cranelift::isa::{Step, target};
    use cranelift_codegen::Context;
    use cranelift_codegen::control::ControlPlane;
    use cranelift_codegen::ir::{AbiParam, Signature, UserFuncName};
    use cranelift_codegen::isa::CallConv;

    /// Makes a function with an address and a condition as parameters. A product is stored in both
    /// arms of a branch, the second of which may be cold, and optionally behind the branch.
    fn arms(cold: bool, behind: bool) -> Function {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend([types::I64, types::I32].map(AbiParam::new));
        let mut function = Function::with_name_signature(UserFuncName::default(), signature);
        let [entry, left, right, end] = [(); 4].map(|()| function.dfg.make_block());
        let [address, cond] = [types::I64, types::I32].map(|ty| function.dfg.append_block_param(entry, ty));
        let mut cursor = FuncCursor::new(&mut function);
        let flags = MemFlagsData::trusted();
        cursor.insert_block(entry);
        let x = cursor.ins().load(types::F32X4, flags, address, 0);
        let product = cursor.ins().fma(x, x, x);
        let result = cursor.ins().fadd(product, x);
        cursor.ins().brif(cond, left, &[], right, &[]);
        for (block, offset) in [(left, 16), (right, 32)] {
            cursor.insert_block(block);
            cursor.ins().store(flags, result, address, offset);
            cursor.ins().jump(end, &[]);
        }
        cursor.insert_block(end);
        if behind {
            cursor.ins().store(flags, product, address, 48);
        }
        cursor.ins().return_(&[]);
        if cold {
            function.layout.set_cold(right);
        }
        function
    }

    /// Returns the numbers of products and of stores after optimisation.
    fn counts(mut function: Function, pinned: bool) -> [usize; 2] {
        let region = pinned.then(|| pin(&mut function));
        let mut context = Context::for_function(function);
        let isa = target(Step::Optimise).expect("a target");
        context.optimize(&**isa, &mut ControlPlane::default()).expect("optimised");
        if let Some(region) = region {
            unpin(&mut context.func, region);
        }
        let func = &context.func;
        let insts: Vec<Inst> = func.layout.blocks().flat_map(|b| func.layout.block_insts(b)).collect();
        [Opcode::Fma, Opcode::Store].map(|op| insts.iter().filter(|&&i| func.dfg.insts[i].opcode() == op).count())
    }

    #[test]
    fn what_several_blocks_use_is_computed_once() {
        // Without pinning each block computes its own value.
        assert_eq!(counts(arms(false, false), false), [2, 2]);
        assert_eq!(counts(arms(false, true), false), [3, 3]);
        assert_eq!(counts(arms(false, false), true), [1, 2]);
        assert_eq!(counts(arms(false, true), true), [1, 3]);
        assert_eq!(counts(arms(true, true), true), [1, 3]);
        // A value of the hot arm is not computed in front because a cold arm uses it too.
        assert_eq!(counts(arms(true, false), true), [2, 2]);
    }
}

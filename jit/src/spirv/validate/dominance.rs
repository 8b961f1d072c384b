//! Control flow of a function as far as ids need it (2.16.1).
//!
//! The block that defines an id dominates its uses, blocks come behind their dominators, a phi has
//! a value for each predecessor, and headers of constructs dominate their merge blocks. The
//! structuriser (`structure`) checks the other rules of constructs.

use super::super::flow::{BlockIx, FlowGraph};
use super::super::module::{Block, End, Function, Merge, Module, View};
use super::super::opcodes::op;
use super::broken;
use super::ids::each_id;
use crate::error::{Error, Result};

const NONE: u32 = u32::MAX;

pub(super) fn check(m: &Module) -> Result<()> {
    // Within one block, a definition before a use dominates it.
    if let Some(f) = m.functions.iter().find(|f| f.blocks.is_empty()) {
        return Err(Error::invalid("function without a body").with_id(f.id));
    }
    let mut defining_blocks = DefiningBlocks { of: Vec::new() };
    for (number, f) in m.functions.iter().enumerate().filter(|(_, f)| f.blocks.len() > 1) {
        defining_blocks.of.resize(m.def_count(), (NONE, 0));
        defining_blocks.note(m, f, number as u32);
        function(m, number, &defining_blocks)?;
    }
    Ok(())
}

/// Function and block by definition number, for functions with several blocks; nothing for labels
/// and globals. A parameter belongs to the first block.
struct DefiningBlocks {
    of: Vec<(u32, BlockIx)>,
}

impl DefiningBlocks {
    fn note(&mut self, m: &Module, f: &Function, number: u32) {
        let mut set = |id: u32, block: usize| {
            if let Some(n) = m.dense(id) {
                self.of[n] = (number, block as BlockIx);
            }
        };
        f.params.iter().for_each(|&id| set(id, 0));
        for (n, block) in f.blocks.iter().enumerate() {
            for inst in block.body.clone() {
                let v = m.view(inst);
                if v.result != 0 {
                    set(v.result, n);
                }
            }
        }
    }
}

fn function(m: &Module, number: usize, defining_blocks: &DefiningBlocks) -> Result<()> {
    let f = &m.functions[number];
    let flow = flow(m, f)?;
    let mut merges = vec![false; f.blocks.len()];
    for (n, block) in f.blocks.iter().enumerate() {
        let n = n as BlockIx;
        if flow.is_reachable(n) && flow.dominator(n) > n {
            return Err(Error::invalid("block stands before one that dominates it").with_id(block.label));
        }
        construct(f, block, n, flow, &mut merges)?;
        for inst in block.body.start..=block.end_inst {
            let v = m.view(inst);
            if v.op == op::OpPhi {
                phi(m, f, v, n, number as u32, flow, defining_blocks)?;
                continue;
            }
            each_id(m, &v, &mut |id| used(m, &v, id, n, number as u32, flow, defining_blocks))?;
        }
    }
    Ok(())
}

/// Checks a construct. The target of a back edge begins a loop. The header of a construct dominates
/// the blocks that it names, and no other header has its merge block; a loop's continue target may
/// be the header itself (2.11.1).
fn construct(f: &Function, block: &Block, header: BlockIx, flow: &FlowGraph, merges: &mut [bool]) -> Result<()> {
    let broken = |rule: String| Err(Error::invalid(rule).with_id(block.label));
    if !flow.is_reachable(header) {
        return Ok(());
    }
    let (merge, target) = match block.merge {
        Merge::None => (None, None),
        Merge::Selection(merge) => (Some(merge), None),
        Merge::Loop { merge, cont } => (Some(merge), Some(cont)),
    };
    let back = |&from: &BlockIx| flow.is_reachable(from) && flow.dominates(header, from);
    if target.is_none() && flow.predecessors(header).iter().any(back) {
        return broken("is branched back to and begins no loop".into());
    }
    if merge.is_some_and(|merge| std::mem::replace(&mut merges[merge as usize], true)) {
        return broken("its merge block is that of another construct too".into());
    }
    let dominated = |b: BlockIx| !flow.is_reachable(b) || flow.dominates(header, b);
    for named in merge.into_iter().chain(target) {
        if merge == Some(header) || !dominated(named) {
            let label = f.blocks[named as usize].label;
            return broken(format!("header of a construct that does not dominate %{label}"));
        }
    }
    Ok(())
}

/// Checks a use of an id in a block.
fn used(
    m: &Module,
    v: &View<'_>,
    id: u32,
    at: BlockIx,
    number: u32,
    flow: &FlowGraph,
    defining_blocks: &DefiningBlocks,
) -> Result<()> {
    let Some(n) = m.dense(id) else { return Ok(()) };
    let (function, block) = defining_blocks.of[n];
    if function != number || !flow.is_reachable(at) || flow.dominates(block, at) {
        return Ok(());
    }
    broken(*v, format!("%{id} is defined in a block that does not dominate its use"))
}

fn phi(
    m: &Module,
    f: &Function,
    v: View<'_>,
    at: BlockIx,
    number: u32,
    flow: &FlowGraph,
    defining_blocks: &DefiningBlocks,
) -> Result<()> {
    let block = |label: u32| m.block_of(&f.blocks, label).unwrap_or(NONE);
    let mut from: Vec<BlockIx> = v.args.chunks_exact(2).map(|pair| block(pair[1])).collect();
    for (pair, &from) in v.args.chunks_exact(2).zip(&from) {
        used(m, &v, pair[0], from, number, flow, defining_blocks)?;
    }
    from.sort_unstable();
    if from == flow.predecessors(at) {
        Ok(())
    } else {
        broken(v, "its blocks are not those that branch here, each once")
    }
}

/// Returns the graph of a function with blocks, which is made once.
///
/// # Errors
/// Returns an Invalid error if a block branches to the first block.
pub(in crate::spirv) fn flow<'m>(m: &Module, f: &'m Function) -> Result<&'m FlowGraph> {
    if let Some(flow) = f.flow.get() {
        return Ok(flow);
    }
    let mut edges = Vec::new();
    for (n, block) in f.blocks.iter().enumerate() {
        successors(m, f, block, &mut |to| edges.push((to, n as BlockIx)))?;
    }
    if let Some(&(_, from)) = edges.iter().find(|e| e.0 == 0) {
        let label = f.blocks[from as usize].label;
        return Err(Error::invalid("branches to the first block of its function").with_id(label));
    }
    Ok(f.flow.get_or_init(|| FlowGraph::from_edges(f.blocks.len(), &edges)))
}

/// Calls `f` with every target of a block's end.
fn successors(m: &Module, f: &Function, block: &Block, to: &mut dyn FnMut(BlockIx)) -> Result<()> {
    match block.end {
        End::Branch(b) => to(b),
        End::Cond(_, a, b) => {
            to(a);
            to(b);
        }
        End::Switch(selector) => {
            let v = m.view(block.end_inst);
            each_id(m, &v, &mut |id| {
                if id != selector
                    && let Some(b) = m.block_of(&f.blocks, id)
                {
                    to(b);
                }
                Ok(())
            })?;
        }
        End::Return
        | End::ReturnValue(_)
        | End::Kill
        | End::Tasks
        | End::IgnoreIntersection
        | End::TerminateRay
        | End::Unreachable
        | End::Unsupported => {}
    }
    Ok(())
}

//! Facts about all reachable functions that the translation needs before its first instruction.
//! These are the functions' trees, the ids that leave the region that defines them, the globals
//! that are used, and the array levels that are indexed dynamically.

use super::class;
use super::module::{End, Module};
use super::opcodes::op;
use super::structure::{FunctionTree, Node, Tree, structure};
use super::types::{Spec, Type};
use super::validate::each_id;
use crate::budget;
use crate::error::{Error, Result};
use std::collections::HashSet;

/// Neither a function nor a region.
const NOWHERE: (u32, u32) = (u32::MAX, u32::MAX);

/// Results of the analysis of an entry point. Flags are indexed by definition number.
pub(crate) struct Analysis {
    /// Trees by function number; only reachable functions have one.
    pub trees: Vec<Option<FunctionTree>>,
    /// True for an id that is used outside the region that defines it. Its value lives in
    /// variables.
    pub escapes: Vec<bool>,
    /// Number of times that an id occurs as an operand in reachable code. Literals and debug
    /// information do not count.
    pub uses: Vec<u32>,
    /// Array or matrix levels that are indexed with a value that is not constant, as pairs of root
    /// variable and type. Root 0 stands for any variable.
    pub dynamic: HashSet<(u32, u32)>,
    /// Deepest nesting with all calls inlined.
    pub depth: u32,
}

/// Regions of a tree as intervals of a walk. The interval of an ancestor contains those of its
/// descendants.
#[derive(Default)]
struct Regions {
    clock: u32,
    /// Each block with the number of its region. `intervals` has the interval of each region.
    blocks: Vec<(u32, u32)>,
    intervals: Vec<(u32, u32)>,
}

impl Regions {
    fn walk(&mut self, t: &Tree) {
        let me = self.intervals.len();
        self.intervals.push((self.clock, 0));
        self.clock += 1;
        for n in &t.nodes {
            match n {
                Node::Block(b) => self.blocks.push((*b, me as u32)),
                Node::If { then, else_, .. } => {
                    self.walk(then);
                    self.walk(else_);
                }
                Node::Loop { body, .. } | Node::Scope { body, .. } => self.walk(body),
                Node::Switch { cases, .. } => cases.iter().for_each(|c| self.walk(&c.body)),
                Node::Moves { .. } | Node::SetFlag(_) | Node::Return(_) => {}
            }
        }
        self.intervals[me].1 = self.clock;
        self.clock += 1;
    }

    fn contains(&self, outer: u32, inner: u32) -> bool {
        let (o, i) = (self.intervals[outer as usize], self.intervals[inner as usize]);
        o.0 <= i.0 && i.1 <= o.1
    }
}

/// Analyses all functions that are reachable from `entry`.
pub(crate) fn analyse(s: &Spec<'_>, entry: u32) -> Result<Analysis> {
    let m = s.m;
    let count = m.def_count();
    let mut a = Analysis {
        trees: Vec::new(),
        escapes: vec![false; count],
        uses: vec![0; count],
        dynamic: HashSet::new(),
        depth: 0,
    };
    let mut region_of = vec![NOWHERE; count];
    a.trees.resize_with(m.functions.len(), || None);
    let root = m.function(entry).ok_or_else(|| Error::invalid("entry point is not a function").with_id(entry))?;
    // The walk over calls is depth-first. The stack has the function, the calls left to visit, and
    // the depth of the deepest callee.
    let mut depths = vec![0u32; m.functions.len()];
    // Number of translation steps of each function including its callees, as `Translator` counts
    // them.
    let mut steps = vec![0u64; m.functions.len()];
    let mut active = vec![false; m.functions.len()];
    let mut stack = vec![(root, a.function(s, root, &mut region_of)?, 0u32)];
    active[root] = true;
    while let Some((f, calls, deepest)) = stack.last_mut() {
        let f = *f;
        let Some(id) = calls.pop() else {
            depths[f] = *deepest + a.trees[f].as_ref().map_or(0, |t| t.depth) + 2;
            if depths[f] > m.nesting().regions {
                return Err(Error::limit("control flow is nested too deeply over all calls").with_id(m.functions[f].id));
            }
            steps[f] = a.steps(s, f, &steps);
            active[f] = false;
            stack.pop();
            if let Some(top) = stack.last_mut() {
                top.2 = top.2.max(depths[f]);
            }
            continue;
        };
        let callee = m
            .function(id)
            .ok_or_else(|| Error::invalid("callee is not a function").at((op::OpFunctionCall, "OpFunctionCall"), id))?;
        if active[callee] {
            return Err(Error::invalid("recursion").at((op::OpFunctionCall, "OpFunctionCall"), id));
        }
        if a.trees[callee].is_some() {
            *deepest = (*deepest).max(depths[callee]);
            continue;
        }
        active[callee] = true;
        let calls = a.function(s, callee, &mut region_of)?;
        stack.push((callee, calls, 0));
    }
    a.depth = depths[root];
    if steps[root] > budget::TRANSLATED {
        let message = format!("shader is too large with all calls inlined: {} instructions", steps[root]);
        return Err(Error::limit(message).with_id(entry));
    }
    Ok(a)
}

impl Analysis {
    /// Returns a lower bound of the instructions that the translation of a function visits,
    /// including its callees. `steps` has the numbers of the callees.
    fn steps(&self, s: &Spec<'_>, number: usize, steps: &[u64]) -> u64 {
        let f = &s.m.functions[number];
        let Some(tree) = &self.trees[number] else { return 0 };
        let mut all = 1 + f.insts.len() as u64;
        tree.body.each_block(&mut |b| {
            let body = f.blocks[b as usize].body.clone();
            all = all.saturating_add(body.len() as u64);
            for v in body.filter(|&inst| s.m.opcode(inst) == op::OpFunctionCall).map(|inst| s.m.view(inst)) {
                all = all.saturating_add(s.m.function(v.args[0]).map_or(0, |callee| steps[callee]));
            }
        });
        all
    }

    /// Structurises and scans one function, and returns the functions that it calls. `region_of`
    /// maps each definition to its function's number and to the number of its region.
    fn function(&mut self, s: &Spec<'_>, number: usize, region_of: &mut [(u32, u32)]) -> Result<Vec<u32>> {
        let f = &s.m.functions[number];
        let tree = structure(s, f)?;
        let mut regions = Regions::default();
        regions.walk(&tree.body);
        self.trees[number] = Some(tree);
        let mut region_of_block = vec![u32::MAX; f.blocks.len()];
        for &(b, r) in &regions.blocks {
            region_of_block[b as usize] = r;
            for inst in f.blocks[b as usize].body.clone() {
                if let Some(n) = s.m.dense(s.m.view(inst).result) {
                    region_of[n] = (number as u32, r);
                }
            }
        }
        let mut calls = Vec::new();
        for &(b, region) in &regions.blocks {
            let block = &f.blocks[b as usize];
            let mut use_at = |id: u32, region: u32| {
                let Some(n) = s.m.dense(id) else { return };
                self.uses[n] = self.uses[n].saturating_add(1);
                let (function, d) = region_of[n];
                if function == number as u32 && !regions.contains(d, region) {
                    self.escapes[n] = true;
                }
            };
            for inst in block.body.clone() {
                let v = s.m.view(inst);
                match v.op {
                    op::OpPhi => {
                        for pair in v.args.chunks_exact(2) {
                            let from =
                                s.m.block_of(&f.blocks, pair[1]).map_or(u32::MAX, |p| region_of_block[p as usize]);
                            if from != u32::MAX {
                                use_at(pair[0], from);
                            }
                        }
                        continue;
                    }
                    op::OpFunctionCall => calls.push(v.args[0]),
                    op::OpCooperativeMatrixPerElementOpNV => calls.push(v.args[1]),
                    op::OpCooperativeMatrixReduceNV => calls.push(v.args[2]),
                    op::OpAccessChain | op::OpInBoundsAccessChain => scan_chain(s, &mut self.dynamic, v.args),
                    _ => {}
                }
                if s.m.is_ignored(v) {
                    continue;
                }
                each_id(s.m, &v, &mut |id| {
                    use_at(id, region);
                    Ok(())
                })?;
            }
            match block.end {
                End::Cond(id, ..) | End::Switch(id) | End::ReturnValue(id) => use_at(id, region),
                End::Tasks => s.m.view(block.end_inst).args.iter().for_each(|&id| use_at(id, region)),
                _ => {}
            }
        }
        Ok(calls)
    }
}

/// Records the levels of a variable that an access chain indexes dynamically.
fn scan_chain(s: &Spec<'_>, dynamic: &mut HashSet<(u32, u32)>, args: &[u32]) {
    let Ok(Type::Pointer { class, to }) = s.m.def(args[0]).and_then(|v| s.ty(v.ty)) else { return };
    let of_ray = matches!(
        *class,
        class::CALLABLE_DATA
            | class::INCOMING_CALLABLE_DATA
            | class::RAY_PAYLOAD
            | class::HIT_ATTRIBUTE
            | class::INCOMING_RAY_PAYLOAD
            | class::HIT_OBJECT_ATTRIBUTE_NV
            | class::HIT_OBJECT_ATTRIBUTE_EXT
    );
    if !of_ray && !matches!(*class, class::FUNCTION | class::PRIVATE | class::INPUT | class::OUTPUT) {
        return;
    }
    let root = root_variable(s.m, args[0]);
    let mut ty = *to;
    for &index in &args[1..] {
        let constant = s.constant_int(index);
        if constant.is_none() {
            dynamic.insert((root, ty));
        }
        let Ok(part) = s.part(ty, constant.unwrap_or(0).clamp(0, i64::from(u32::MAX)) as u32) else {
            // An index out of range is followed along the first part.
            match s.part(ty, 0) {
                Ok(part) => ty = part,
                Err(_) => return,
            }
            continue;
        };
        ty = part;
    }
}

/// Returns the variable that a chain of access chains begins at, or 0 if it is not known here.
fn root_variable(m: &Module, mut id: u32) -> u32 {
    for _ in 0..64 {
        let Ok(v) = m.def(id) else { return 0 };
        match v.op {
            op::OpVariable => return id,
            op::OpAccessChain | op::OpInBoundsAccessChain | op::OpCopyObject => id = v.args[0],
            _ => return 0,
        }
    }
    0
}

//! The translator, which walks the entry point's tree, inlines calls, and records the value of each
//! id.

use super::analysis::Analysis;
use super::build::Builder;
use super::deco;
use super::flow::BlockIx;
use super::mode::ComputeQuads;
use super::module::{Module, NO_MEMBER, View};
use super::opcodes::op;
use super::structure::{Case, FunctionTree, Node, Term as TreeTerm, Tree};
use super::types::{Const, Spec, Type};
use super::value::{
    EmittedVertices, Flat, Local, MemoryVariable, MeshOutputs, Pointee, Pointer, RayState, Slot, TypeParts, Val,
};
use crate::budget;
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, FloatFlags, Label, Op, Space, Term, Ty, Value, Var};
use base::shader::{PipelineLayoutInfo, SlotKind, Stage};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The FPRoundingMode that rounds to the nearest even number.
const RTE: u32 = 0;

/// State of the translation of one entry point.
pub(crate) struct Translator<'a> {
    pub m: &'a Module,
    pub s: &'a Spec<'a>,
    pub a: &'a Analysis,
    pub layout: &'a PipelineLayoutInfo,
    pub stage: Stage,
    pub b: Builder,
    pub locals: Vec<Local>,
    pub input_slots: HashMap<SlotKind, u32>,
    /// Inputs with an element for each vertex of a primitive, with their types.
    pub arrayed: HashSet<(u32, u32)>,
    /// Indices of the locals of output variables.
    pub outputs: Vec<usize>,
    /// State that a stage of primitives keeps about the vertices it emits.
    pub emitted_vertices: Option<EmittedVertices>,
    /// Output slots that are kept. Slots beyond its end are all kept.
    pub kept_outputs: Vec<bool>,
    /// Private variables that are stored to.
    pub touched: HashSet<Var>,
    slots: Vec<Slot>,
    /// Variables that pass values to phis.
    phis: Vec<Slot>,
    frames: Vec<Frame>,
    /// Null constants of large types, by type.
    nulls: HashMap<u32, Val>,
    /// Position where each phi's operand was found last, because predecessors mostly come in the
    /// order of the operands.
    phi_hints: Vec<u32>,
    /// Number of SPIR-V instructions translated, as `analysis` counts them.
    steps: u64,
    /// Bytes of the variables that hold large values (`large`).
    pub kept_bytes: u64,
    leaves: usize,
    /// Layout of a mesh stage's outputs.
    pub mesh: MeshOutputs,
    /// Arrangement of a compute stage's invocations in quads, if it has one.
    pub compute_quads: Option<ComputeQuads>,
    /// True if phis and returns hold variable pointers in the general form (`variable`).
    pub general: bool,
    /// True if the translation failed because pointers were not in the general form.
    pub pointers_meet: bool,
    /// Variables that variable pointers may point into.
    pub memory_variables: Vec<MemoryVariable>,
    /// Numbers of storage buffers' descriptors, by set and binding. Each range includes one more
    /// number than there are descriptors.
    pub buffer_numbers: HashMap<(u32, u32), std::ops::Range<u32>>,
    /// Lowest number that is not in use.
    pub next_number: u32,
    /// Parts of variables, by type.
    pub parts: HashMap<u32, Rc<TypeParts>>,
    /// Possible pointees, by space and type pointed to.
    pub pointees: HashMap<(Space, u32), Rc<Pointee>>,
    /// State of a stage of ray tracing.
    pub ray: RayState,
}

/// A function that is being inlined.
struct Frame {
    function: usize,
    labels: Vec<Label>,
    flags: Vec<Var>,
    /// Variables that receive the returned value, once the first return was translated.
    ret: Slot,
}

impl<'a> Translator<'a> {
    pub fn new(s: &'a Spec<'a>, a: &'a Analysis, layout: &'a PipelineLayoutInfo, stage: Stage, b: Builder) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(s.m.def_count(), Slot::default);
        let phis = slots.clone();
        let phi_hints = vec![0; slots.len()];
        Translator {
            m: s.m,
            s,
            a,
            layout,
            stage,
            b,
            locals: Vec::new(),
            input_slots: HashMap::new(),
            arrayed: HashSet::new(),
            outputs: Vec::new(),
            emitted_vertices: None,
            kept_outputs: Vec::new(),
            touched: HashSet::new(),
            slots,
            phis,
            frames: Vec::new(),
            nulls: HashMap::new(),
            phi_hints,
            steps: 0,
            kept_bytes: 0,
            mesh: MeshOutputs::default(),
            leaves: 0,
            compute_quads: None,
            general: false,
            pointers_meet: false,
            memory_variables: Vec::new(),
            buffer_numbers: HashMap::new(),
            next_number: 1,
            parts: HashMap::new(),
            pointees: HashMap::new(),
            ray: RayState::default(),
        }
    }

    // Values of ids.

    /// Returns the value of an id.
    pub fn get(&mut self, id: u32) -> Result<Val> {
        let n = self.m.dense(id).ok_or_else(|| Error::invalid("id is not defined").with_id(id))?;
        self.in_scope(id)?;
        match &self.slots[n] {
            Slot::Val(v) => return Ok(v.clone()),
            Slot::Stored(val, _) => {
                let size = val.size();
                self.spend(size)?;
                let slot = self.slots[n].clone();
                return Ok(self.load_slot(&slot));
            }
            Slot::None => {}
        }
        let Some(c) = self.s.constant(id) else {
            let v = self.m.def(id)?;
            return Err(Error::invalid("used where it is not defined (or not implemented)").at(v.opcode(), id));
        };
        let val = match c {
            Const::Null(ty) => self.null(*ty)?,
            Const::Flat(ty, bits) => {
                self.spend(bits.len())?;
                let tys = self.s.leaf_types(*ty)?;
                Val::of(tys.iter().zip(bits.iter()).map(|(&t, &bits)| self.b.konst(t, bits)).collect())
            }
        };
        self.slots[n] = Slot::Val(val.clone());
        Ok(val)
    }

    /// Returns the zero value of a type.
    pub fn null(&mut self, ty: u32) -> Result<Val> {
        if let Some(val) = self.nulls.get(&ty) {
            return Ok(val.clone());
        }
        let tys = self.s.leaf_types(ty)?;
        let val = Val::of(tys.iter().map(|&t| self.b.konst(t, 0)).collect());
        if let Val::Shared(_) = val {
            self.spend(tys.len())?;
            self.nulls.insert(ty, val.clone());
        }
        Ok(val)
    }

    /// Counts leaves of composites that are copied or visited one by one.
    ///
    /// # Errors
    /// Returns a limit error if the total exceeds [`budget::LEAVES`].
    pub fn spend(&mut self, leaves: usize) -> Result<()> {
        self.leaves = self.leaves.saturating_add(leaves);
        if self.leaves > budget::LEAVES {
            return Err(Error::limit("too much is done with large composites"));
        }
        Ok(())
    }

    /// Refuses ids of other functions, because regions are distinguished only inside one function.
    fn in_scope(&self, id: u32) -> Result<()> {
        let (Some(inst), Some(frame)) = (self.m.def_inst(id), self.frames.last()) else { return Ok(()) };
        if inst >= self.m.globals.end && !self.m.functions[frame.function].insts.contains(&inst) {
            return Err(Error::invalid("id belongs to another function").with_id(id));
        }
        Ok(())
    }

    fn load_slot(&mut self, slot: &Slot) -> Val {
        let Slot::Stored(val, vars) = slot else { return Val::Flat(Flat::new()) };
        let mut val = val.clone();
        let mut vars = vars.iter();
        val.each(&mut |v| {
            if let Some(Some(var)) = vars.next() {
                *v = self.b.load_var(*var, None);
            }
        });
        val
    }

    /// Stores a value in variables, which are created unless `slot` has them. With
    /// `keep_constants`, constants are not stored in variables.
    pub fn store_slot(&mut self, slot: &mut Slot, mut val: Val, keep_constants: bool) -> Result<()> {
        if let Slot::Stored(shape, vars) = &*slot {
            if shape.shape() != val.shape() {
                self.pointers_meet = true;
                return Err(Error::unsupported("pointers of different origin meet"));
            }
            let mut at = 0;
            val.each(&mut |v| {
                if let Some(Some(var)) = vars.get(at) {
                    self.b.store_var(*var, None, *v);
                }
                at += 1;
            });
            return Ok(());
        }
        let mut vars = Vec::new();
        val.each(&mut |v| {
            let constant = keep_constants && self.b.shader.as_const(*v).is_some();
            vars.push((!constant).then(|| {
                let var = self.b.var(self.b.ty(*v), 1, "");
                self.b.store_var(var, None, *v);
                var
            }));
        });
        *slot = Slot::Stored(val, vars);
        Ok(())
    }

    /// Sets the value of an id.
    pub fn set(&mut self, id: u32, val: Val) -> Result<()> {
        let n = self.m.dense(id).ok_or_else(|| Error::invalid("id is not defined").with_id(id))?;
        // A kept value is located by constants, or all of its uses are in this block.
        if self.a.escapes[n] && !matches!(val, Val::Kept(_)) {
            self.spend(val.size())?;
            let mut slot = Slot::None;
            self.store_slot(&mut slot, val, true)?;
            // A value that consists only of constants is visible everywhere.
            self.slots[n] = match slot {
                Slot::Stored(val, vars) if vars.iter().all(Option::is_none) => Slot::Val(val),
                slot => slot,
            };
        } else {
            self.slots[n] = Slot::Val(val);
        }
        Ok(())
    }

    /// Returns the leaves of an id's value.
    pub fn flat(&mut self, id: u32) -> Result<Flat> {
        match self.get(id)? {
            Val::Flat(flat) => Ok(flat),
            Val::Kept(p) => match self.load(&p, false)? {
                Val::Flat(flat) => Ok(flat),
                _ => Err(Error::invalid("operand is not a value").with_id(id)),
            },
            Val::Shared(shared) => {
                self.spend(shared.len())?;
                Ok(shared.flat())
            }
            Val::Ptr(p) => {
                let ty = self.type_of(id)?;
                Ok(Flat::from_slice(&[self.pack(p, ty).map_err(|e| e.with_id(id))?]))
            }
            Val::Handle(_) => Err(Error::invalid("operand is not a value").with_id(id)),
        }
    }

    /// Returns a pointer to an id's value if it is a large one that is kept in memory.
    pub fn kept_value(&self, id: u32) -> Option<Pointer> {
        match &self.slots[self.m.dense(id)?] {
            Slot::Val(Val::Kept(p)) if self.in_scope(id).is_ok() => Some(p.clone()),
            _ => None,
        }
    }

    /// Returns the only leaf of an id's value.
    pub fn scalar(&mut self, id: u32) -> Result<Value> {
        let flat = self.flat(id)?;
        match flat[..] {
            [v] => Ok(v),
            _ => Err(Error::invalid("operand is not a scalar").with_id(id)),
        }
    }

    /// Returns the value of an id that is a pointer.
    pub fn pointer(&mut self, id: u32) -> Result<Pointer> {
        match self.get(id)? {
            Val::Ptr(p) => Ok(p),
            Val::Flat(flat) => match flat[..] {
                [v] => {
                    let ty = self.type_of(id)?;
                    self.scalar_pointer(v, ty).map_err(|e| e.with_id(id))
                }
                _ => Err(Error::invalid("operand is not a pointer").with_id(id)),
            },
            Val::Shared(_) | Val::Handle(_) | Val::Kept(_) => {
                Err(Error::invalid("operand is not a pointer").with_id(id))
            }
        }
    }

    /// Returns the type id of an id.
    pub fn type_of(&self, id: u32) -> Result<u32> {
        Ok(self.m.def(id)?.ty)
    }

    // Functions and regions.

    /// Translates a function's body into the current region, and returns its result.
    pub fn inline(&mut self, number: usize, args: &[Val]) -> Result<Option<Val>> {
        let (a, m) = (self.a, self.m);
        let f = &m.functions[number];
        let Some(tree) = &a.trees[number] else { return Err(Error::internal("function was not analysed")) };
        if args.len() != f.params.len() {
            return Err(Error::invalid("wrong number of arguments").with_id(f.id));
        }
        self.steps += 1;
        // A second inlining must not see the ids of the first one.
        for inst in f.insts.clone() {
            if let Some(n) = m.dense(m.view(inst).result) {
                self.slots[n] = Slot::None;
                self.phis[n] = Slot::None;
            }
            self.steps += 1;
        }
        for (&param, arg) in f.params.iter().zip(args) {
            self.set(param, arg.clone())?;
        }
        let labels = tree
            .label_used
            .iter()
            .map(|&used| if used { self.b.shader.new_label() } else { self.b.shader.root.label })
            .collect();
        let flags = (0..tree.flags).map(|_| self.b.var(Ty::B1, 1, "")).collect();
        self.frames.push(Frame { function: number, labels, flags, ret: Slot::None });
        let result =
            self.inlined_body(number, tree).and_then(|()| tree.direct_return.map(|id| self.get(id)).transpose());
        let frame = self.frames.pop();
        match (result?, frame) {
            (Some(val), _) => Ok(Some(val)),
            (None, Some(Frame { ret: slot @ Slot::Stored(..), .. })) => Ok(Some(self.load_slot(&slot))),
            (None, Some(Frame { ret: Slot::Val(val), .. })) => Ok(Some(val)),
            _ if *self.s.ty(f.result_ty)? == Type::Void => Ok(None),
            // No return is reachable, so the value is never used.
            _ => self.null(f.result_ty).map(Some),
        }
    }

    fn inlined_body(&mut self, number: usize, tree: &'a FunctionTree) -> Result<()> {
        if tree.label_used[tree.ret as usize] || tree.body.term != TreeTerm::Yield {
            let body = self.region(number, &tree.body)?;
            let label = self.label(tree.ret);
            // An unused label is represented by the root's label. A scope with its own label keeps
            // the following nodes in a region that yields.
            let label = if label == self.b.shader.root.label { self.b.shader.new_label() } else { label };
            self.b.scope(label, body);
            return Ok(());
        }
        self.nodes(number, &tree.body)
    }

    fn label(&self, label: u32) -> Label {
        self.frames.last().and_then(|f| f.labels.get(label as usize).copied()).unwrap_or(self.b.shader.root.label)
    }

    fn region(&mut self, f: usize, t: &'a Tree) -> Result<crate::ir::Region> {
        self.b.push_region();
        self.nodes(f, t)?;
        let term = match t.term {
            TreeTerm::Yield => Term::Yield(Vec::new()),
            TreeTerm::Break(label) => Term::Break(self.label(label), Vec::new()),
            TreeTerm::Unreachable => Term::Unreachable,
            TreeTerm::Tasks(inst) => {
                let v = self.m.view(inst);
                self.emit_tasks(v).map_err(|e| e.at(v.opcode(), 0))?;
                Term::Break(self.b.shader.root.label, Vec::new())
            }
            TreeTerm::IgnoreIntersection => self.end_any_hit(Op::IgnoreIntersection)?,
            TreeTerm::TerminateRay => self.end_any_hit(Op::TerminateRay)?,
            TreeTerm::Kill => {
                self.b.emit(Op::Demote, &[], &[]);
                self.b.shader.fragment_mut()?.kills = true;
                Term::Break(self.b.shader.root.label, Vec::new())
            }
        };
        Ok(self.b.pop_region(term))
    }

    fn nodes(&mut self, f: usize, t: &'a Tree) -> Result<()> {
        for node in &t.nodes {
            match node {
                Node::Block(b) => self.block(f, *b)?,
                Node::Moves { from, to } => self.moves(f, *from, *to)?,
                Node::If { cond, then, else_ } => {
                    let cond = self.scalar(*cond)?;
                    let then = self.region(f, then)?;
                    let else_ = self.region(f, else_)?;
                    self.b.if_(cond, then, else_);
                }
                Node::Loop { label, body } => {
                    let body = self.region(f, body)?;
                    let label = self.fresh_if_unused(*label);
                    self.b.loop_(label, body);
                }
                Node::Scope { label, body } => {
                    let body = self.region(f, body)?;
                    let label = self.label(*label);
                    self.b.scope(label, body);
                }
                Node::Switch { selector, cases } => self.switch(f, *selector, cases)?,
                Node::SetFlag(flag) => {
                    let one = self.b.bool(true);
                    self.store_flag(*flag, one);
                }
                Node::Return(id) => {
                    let val = self.get(*id)?;
                    let mut slot = self.frames.last_mut().map_or(Slot::None, |f| std::mem::take(&mut f.ret));
                    self.hand_over(&mut slot, self.type_of(*id)?, val)?;
                    if let Some(frame) = self.frames.last_mut() {
                        frame.ret = slot;
                    }
                }
            }
            self.check_fault()?;
        }
        Ok(())
    }

    /// Returns a label for a loop. A loop without breaks needs a new label of its own.
    fn fresh_if_unused(&mut self, label: u32) -> Label {
        let label = self.label(label);
        if label == self.b.shader.root.label { self.b.shader.new_label() } else { label }
    }

    fn store_flag(&mut self, flag: u32, v: Value) {
        let var = self.frames.last().and_then(|f| f.flags.get(flag as usize).copied());
        if let Some(var) = var {
            self.b.store_var(var, None, v);
        }
    }

    fn switch(&mut self, f: usize, selector: u32, cases: &'a [Case]) -> Result<()> {
        let sel = self.scalar(selector)?;
        let (yes, no) = (self.b.bool(true), self.b.bool(false));
        for case in cases {
            if let Some(flag) = case.flag {
                self.store_flag(flag, no);
            }
        }
        // The condition of each case is computed where it is needed. If all were computed before
        // the first case, all would be live through all bodies.
        let mut matched = no;
        let default = cases.iter().position(|c| c.default).unwrap_or(0);
        for (i, case) in cases.iter().enumerate() {
            let trivial = case.body.nodes.is_empty() && case.body.term == TreeTerm::Yield;
            let matches = if case.default {
                // The literals of the default case are not distinguished from it.
                let later = cases[i + 1..].iter().flat_map(|c| &c.literals);
                let any = self.matches(sel, matched, later);
                if any == no { yes } else { self.b.un(crate::ir::Unary::Not, any) }
            } else {
                self.matches(sel, no, case.literals.iter())
            };
            if i < default {
                matched = if matched == no { matches } else { self.b.bin(Binary::Or, matched, matches) };
            }
            if trivial && case.entry.is_none() {
                continue;
            }
            let cond = match case.flag.and_then(|flag| self.frames.last()?.flags.get(flag as usize).copied()) {
                Some(var) => {
                    let fell = self.b.load_var(var, None);
                    self.b.bin(Binary::Or, matches, fell)
                }
                None => matches,
            };
            self.b.push_region();
            if let Some((from, to)) = case.entry {
                self.b.push_region();
                self.moves(f, from, to)?;
                let moves = self.b.pop_region(Term::default());
                self.b.if_(matches, moves, crate::ir::Region::default());
            }
            let body = self.region(f, &case.body)?;
            self.b.append(body);
            let (nodes, term) = self.b.pop_parts();
            self.b.if_(cond, crate::ir::Region { nodes, term }, crate::ir::Region::default());
            self.check_fault()?;
        }
        Ok(())
    }

    /// Returns `before`, or that the selector is one of the literals.
    fn matches<'l>(&mut self, sel: Value, before: Value, literals: impl Iterator<Item = &'l u64>) -> Value {
        let ty = self.b.ty(sel);
        let no = self.b.bool(false);
        literals.fold(before, |cond, &bits| {
            let literal = self.b.konst(ty, bits);
            let eq = self.b.cmp(Cmp::IEq, sel, literal);
            if cond == no { eq } else { self.b.bin(Binary::Or, cond, eq) }
        })
    }

    /// Sets the phis of `to` when control comes from `from`. All values are read before any is
    /// written.
    fn moves(&mut self, f: usize, from: BlockIx, to: BlockIx) -> Result<()> {
        let m = self.m;
        let blocks = &m.functions[f].blocks;
        let label = blocks[from as usize].label;
        let mut taken = Vec::new();
        for inst in blocks[to as usize].body.clone() {
            let v = m.view(inst);
            if v.op != op::OpPhi {
                continue;
            }
            let id = self.phi_operand(v, label);
            let id =
                id.ok_or_else(|| Error::invalid("phi has no operand for a predecessor").at(v.opcode(), v.result))?;
            let val = self.get(id).and_then(|val| self.normal(val)).map_err(|e| e.at(v.opcode(), v.result))?;
            taken.push((v, val));
        }
        let kept = taken.iter().filter(|(_, val)| matches!(val, Val::Kept(_))).count();
        if kept > 1 {
            for (_, val) in &mut taken {
                *val = self.read_kept(std::mem::replace(val, Val::Flat(Flat::new())))?;
            }
        }
        for (v, val) in taken {
            let key = v.result;
            let mut slot = self.phi_slot(key)?;
            self.hand_over(&mut slot, v.ty, val).map_err(|e| e.at(v.opcode(), v.result))?;
            self.set_phi_slot(key, slot);
        }
        Ok(())
    }

    /// Returns the operand of a phi for the predecessor with that label.
    fn phi_operand(&mut self, v: View<'_>, label: u32) -> Option<u32> {
        let hint = self.phi_hints.get_mut(self.m.dense(v.result)?)?;
        let pairs = v.args.len() / 2;
        let found = (0..pairs).map(|i| (*hint as usize + i) % pairs).find(|i| v.args[2 * i + 1] == label)?;
        *hint = found as u32 + 1;
        Some(v.args[2 * found])
    }

    fn phi_slot(&mut self, id: u32) -> Result<Slot> {
        let n = self.m.dense(id).ok_or_else(|| Error::invalid("phi without a result"))?;
        Ok(std::mem::take(&mut self.phis[n]))
    }

    fn set_phi_slot(&mut self, id: u32, slot: Slot) {
        if let Some(n) = self.m.dense(id) {
            self.phis[n] = slot;
        }
    }

    fn block(&mut self, f: usize, b: BlockIx) -> Result<()> {
        let m = self.m;
        let block = &m.functions[f].blocks[b as usize];
        if block.has_phi {
            let phis: Vec<View<'_>> = block.body.clone().map(|i| m.view(i)).filter(|v| v.op == op::OpPhi).collect();
            for v in phis {
                let slot = self.phi_slot(v.result)?;
                let val = match &slot {
                    Slot::Stored(..) => self.load_slot(&slot),
                    Slot::Val(val) => val.clone(),
                    // No predecessor is reachable.
                    Slot::None => self.null(v.ty)?,
                };
                self.set_phi_slot(v.result, slot);
                self.set(v.result, val)?;
            }
        }
        for inst in block.body.clone() {
            let v = m.view(inst);
            self.steps += 1;
            if self.steps > budget::TRANSLATED {
                return Err(Error::limit("shader is too large with all calls inlined").at(v.opcode(), v.result));
            }
            budget::ir(&self.b.shader).map_err(|e| e.at(v.opcode(), v.result))?;
            self.b.source = if v.result != 0 { v.result } else { v.args.first().copied().unwrap_or(0) };
            if v.result != 0 {
                if m.decorated(v.result, deco::NO_CONTRACTION) {
                    self.b.float = FloatFlags::NO_CONTRACTION;
                }
                self.b.nearest = m.decoration_value(v.result, NO_MEMBER, deco::FP_ROUNDING_MODE) == Some(RTE);
                self.b.fast = m.decoration_value(v.result, NO_MEMBER, deco::FP_FAST_MATH_MODE);
            }
            self.instruction(v).map_err(|e| e.at(v.opcode(), v.result))?;
            (self.b.float, self.b.fast, self.b.nearest) = (FloatFlags::NONE, None, false);
            self.check_fault().map_err(|e| e.at(v.opcode(), v.result))?;
        }
        Ok(())
    }

    /// Converts a fault of the builder into an error.
    pub fn check_fault(&mut self) -> Result<()> {
        match self.b.fault.take() {
            Some(message) => Err(Error::invalid(message).with_id(self.b.source)),
            None => Ok(()),
        }
    }
}

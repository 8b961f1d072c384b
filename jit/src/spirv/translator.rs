//! The translator: the state of the translation of one entry point, and the values of ids.
//!
//! Other modules add methods to it in layers. A layer calls itself and those below only:
//!
//! * instructions of one family (`pointer`, `composite`, `image`, `effect`, `subgroup`, `ray`, …);
//! * operands and results (`operand`, `access_chain`), and large values (`large`);
//! * accesses to memory (`memory`, `variable`, `heap`, `address`);
//! * variables and inputs (`locals`, `inputs`, `io_leaf`, `ray_frame`);
//! * the values of ids, here.
//!
//! Above all families are `inst`, which dispatches, and `body`, which walks functions. A call is
//! inlined, so these two and `matrix_elements` call each other. `interface` makes the variables of
//! the module before, and stores the outputs at the end.

use super::analysis::Analysis;
use super::build::Builder;
use super::mode::ComputeQuads;
use super::module::{Module, View};
use super::pointees::Pointees;
use super::types::{Const, Spec};
use super::value::{EmittedVertices, Flat, Local, MeshOutputs, Pointer, RayState, Slot, Val};
use crate::budget::LeafCount;
use crate::error::{Error, Result};
use crate::ir::{Label, Var};
use base::shader::{PipelineLayoutInfo, SlotKind, Stage};
use std::collections::{HashMap, HashSet};

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
    /// Functions that are being inlined, the innermost one last.
    pub frames: Vec<Frame>,
    /// Null constants of large types, by type.
    nulls: HashMap<u32, Val>,
    /// Position where each phi's operand was found last, because predecessors mostly come in the
    /// order of the operands.
    phi_hints: Vec<u32>,
    /// Number of SPIR-V instructions translated, as `analysis` counts them.
    pub steps: u64,
    /// Bytes of the variables that hold large values (`large`).
    pub kept_bytes: u64,
    /// Leaves of composites that were copied or visited one by one.
    pub leaves: LeafCount,
    /// Layout of a mesh stage's outputs.
    pub mesh: MeshOutputs,
    /// Arrangement of a compute stage's invocations in quads, if it has one.
    pub compute_quads: Option<ComputeQuads>,
    /// True if phis and returns hold variable pointers in the general form (`variable`).
    pub general: bool,
    /// True if the translation failed because pointers were not in the general form.
    pub pointers_meet: bool,
    /// Objects that variable pointers may point to.
    pub pointees: Pointees,
    /// State of a stage of ray tracing.
    pub ray: RayState,
}

/// A function that is being inlined.
pub(super) struct Frame {
    pub function: usize,
    pub labels: Vec<Label>,
    pub flags: Vec<Var>,
    /// Variables that receive the returned value, once the first return was translated.
    pub ret: Slot,
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
            leaves: LeafCount::default(),
            compute_quads: None,
            general: false,
            pointers_meet: false,
            pointees: Pointees::new(),
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
    /// Returns a limit error if the total exceeds [`LeafCount`].
    pub fn spend(&mut self, leaves: usize) -> Result<()> {
        self.leaves.spend(leaves)
    }

    /// Refuses ids of other functions, because regions are distinguished only inside one function.
    fn in_scope(&self, id: u32) -> Result<()> {
        let (Some(inst), Some(frame)) = (self.m.def_inst(id), self.frames.last()) else { return Ok(()) };
        if inst >= self.m.globals.end && !self.m.functions[frame.function].insts.contains(&inst) {
            return Err(Error::invalid("id belongs to another function").with_id(id));
        }
        Ok(())
    }

    /// Returns the value that is kept in the variables of a slot.
    pub fn load_slot(&mut self, slot: &Slot) -> Val {
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

    /// Returns a pointer to an id's value if it is a large one that is kept in memory.
    pub fn kept_value(&self, id: u32) -> Option<Pointer> {
        match &self.slots[self.m.dense(id)?] {
            Slot::Val(Val::Kept(p)) if self.in_scope(id).is_ok() => Some(p.clone()),
            _ => None,
        }
    }

    /// Returns the type id of an id.
    pub fn type_of(&self, id: u32) -> Result<u32> {
        Ok(self.m.def(id)?.ty)
    }

    // Phis.

    /// Forgets the value of an id, so that a second inlining does not see it.
    pub fn forget(&mut self, id: u32) {
        if let Some(n) = self.m.dense(id) {
            self.slots[n] = Slot::None;
            self.phis[n] = Slot::None;
        }
    }

    /// Returns the operand of a phi for the predecessor with that label.
    pub fn phi_operand(&mut self, v: View<'_>, label: u32) -> Option<u32> {
        let hint = self.phi_hints.get_mut(self.m.dense(v.result)?)?;
        let pairs = v.args.len() / 2;
        let found = (0..pairs).map(|i| (*hint as usize + i) % pairs).find(|i| v.args[2 * i + 1] == label)?;
        *hint = found as u32 + 1;
        Some(v.args[2 * found])
    }

    /// Removes and returns the slot of a phi.
    pub fn phi_slot(&mut self, id: u32) -> Result<Slot> {
        let n = self.m.dense(id).ok_or_else(|| Error::invalid("phi without a result"))?;
        Ok(std::mem::take(&mut self.phis[n]))
    }

    /// Sets the slot of a phi.
    pub fn set_phi_slot(&mut self, id: u32, slot: Slot) {
        if let Some(n) = self.m.dense(id) {
            self.phis[n] = slot;
        }
    }

    /// Converts a fault of the builder into an error.
    pub fn check_fault(&mut self) -> Result<()> {
        match self.b.fault.take() {
            Some(message) => Err(Error::invalid(message).with_id(self.b.source)),
            None => Ok(()),
        }
    }

    pub fn misplaced(&self, what: &str) -> Error {
        Error::invalid(format!("{what} in a {:?} stage", self.stage))
    }
}

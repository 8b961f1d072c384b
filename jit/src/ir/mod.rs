//! The SIMT SSA IR, which describes in structured form what one invocation computes.
//!
//! * **Scalar.** Every value is one scalar of one invocation ([`Ty`]); composites are taken apart
//!   when SPIR-V is translated. Lanes appear only in `emit`.
//! * **Structured.** A [`Region`] is a list of [`Node`]s and one [`Term`]. There is no other
//!   control flow than `If`, `Loop`, `Scope`, and breaks out of a labelled `Loop` or `Scope`. A
//!   `continue` is a break out of a `Scope` inside the loop body; a return is a break out of the
//!   root scope.
//! * **SSA by regions.** A value is visible after its definition in its region and in regions
//!   nested there. Values leave a region through `Yield` / `Break` arguments, which become the
//!   results of its node; loops carry `params`. Before `mem2reg` all those lists are empty and
//!   [`Var`]s carry state; after it only variables that are indexed dynamically remain.
//! * **Memory.** [`Op::Load`] / [`Op::Store`] / [`Op::Atomic`] access a [`Space`] with byte
//!   offsets; private arrays are `Var`s with `len > 1`.
//! * **Operations.** The properties of an [`Op`] are in its row of one table (`ops`).
//! * **Source.** Every instruction keeps the SPIR-V result id (or the id of its operand) that it
//!   came from, for messages.
//!
//! Results of an instruction are consecutive values starting at `first_result`.

#![forbid(unsafe_code)]

mod build;
pub mod eval;
mod float;
mod inst;
pub mod modes;
mod ops;
mod parse;
mod print;
mod verify;

pub use build::Builder;
pub use float::FloatFlags;
pub use inst::*;
#[cfg(test)]
pub(crate) use ops::examples;
pub use ops::{
    AffineRule, CostClass, Effects, EmissionRule, F16Rule, FloatRule, LaneCountRule, Meaning, OpInfo, RandomForm,
    ShapeRule, Signature, StageRule, TypePattern, TypeSet,
};
pub use parse::parse;
pub use verify::verify;

use crate::error::{Error, Result};
use base::shader::{Capture, FragmentInfo, OutputPlacement, Slot, Stage, StageSpecificInfo, WorkgroupInfo};
use cranelift_entity::{PrimaryMap, entity_impl};
use smallvec::SmallVec;

/// An SSA value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inst(u32);
entity_impl!(Inst, "i");

/// A private variable: an array of `len` scalars per invocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(u32);
entity_impl!(Var, "var");

/// Label of a loop or scope: the target of breaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(u32);
entity_impl!(Label, "label");

/// Scalar types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// Boolean, which is a lane mask if it is varying.
    B1,
    /// Integer of 8 bits. The operation decides whether an integer is signed.
    I8,
    /// Integer of 16 bits.
    I16,
    /// Integer of 32 bits.
    I32,
    /// Integer of 64 bits, also a physical address.
    I64,
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// A buffer: address and range, from [`Op::BufferDesc`].
    Buf,
    /// An image view pointer, from [`Op::ImageDesc`].
    Img,
    /// A sampler pointer, from [`Op::SamplerDesc`].
    Smp,
}

impl Ty {
    /// Returns the number of bytes in memory (0 for booleans and descriptors).
    pub fn bytes(self) -> u32 {
        match self {
            Ty::I8 => 1,
            Ty::I16 | Ty::F16 => 2,
            Ty::I32 | Ty::F32 => 4,
            Ty::I64 | Ty::F64 => 8,
            Ty::B1 | Ty::Buf | Ty::Img | Ty::Smp => 0,
        }
    }
    /// Returns the integer type of the same width, or I32 for types without one.
    pub fn integer(self) -> Ty {
        match self.bytes() {
            1 => Ty::I8,
            2 => Ty::I16,
            8 => Ty::I64,
            _ => Ty::I32,
        }
    }
    /// Returns true for F16, F32 and F64.
    pub fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::F32 | Ty::F64)
    }
    /// Returns true for I8, I16, I32 and I64.
    pub fn is_int(self) -> bool {
        matches!(self, Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64)
    }
}

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// Result `n` of an instruction.
    Inst(Inst, u16),
    /// Parameter of a loop (by label) or result of an If, Loop or Scope.
    Region,
}

/// A value's type and definition.
#[derive(Clone, Copy, Debug)]
pub struct ValueData {
    /// Type of the value.
    pub ty: Ty,
    /// Origin of the value.
    pub def: ValueDef,
}

/// A private variable.
#[derive(Clone, Debug)]
pub struct VarData {
    /// Element type (never a descriptor type).
    pub ty: Ty,
    /// Number of elements; mem2reg can promote variables with 1.
    pub len: u32,
    /// OpName, or empty; for dumps.
    pub name: String,
}

/// A list of nodes and its end.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// Nodes in the order of execution.
    pub nodes: Vec<Node>,
    /// Terminator of the region.
    pub term: Term,
}

impl Region {
    /// Removes instructions for which `keep` returns false, here and in nested regions.
    fn retain(&mut self, keep: &mut impl FnMut(Inst) -> bool) {
        self.nodes.retain_mut(|node| {
            match node {
                Node::Inst(inst) => return keep(*inst),
                Node::If(n) => [&mut n.then, &mut n.else_].into_iter().for_each(|region| region.retain(keep)),
                Node::Loop(n) => n.body.retain(keep),
                Node::Scope(n) => n.body.retain(keep),
            }
            true
        });
    }
}

/// End of a region.
#[derive(Clone, Debug)]
pub enum Term {
    /// Falls out of the region. The values become the results of the If or Scope; in a loop body
    /// this is the back edge, and the values are the next ones of the loop's params.
    Yield(Vec<Value>),
    /// Leaves the enclosing Scope or Loop with that label, giving its results.
    Break(Label, Vec<Value>),
    /// Never reached.
    Unreachable,
}

impl Default for Term {
    fn default() -> Self {
        Term::Yield(Vec::new())
    }
}

/// A node of a region.
#[derive(Clone, Debug)]
pub enum Node {
    /// An instruction.
    Inst(Inst),
    /// Two-way branch.
    If(Box<If>),
    /// Endless loop, left by breaks.
    Loop(Box<Loop>),
    /// Labelled block, executed once.
    Scope(Box<Scope>),
}

/// See [`Node::If`].
#[derive(Clone, Debug)]
pub struct If {
    /// Condition of type B1.
    pub cond: Value,
    /// Region that runs if the condition is true.
    pub then: Region,
    /// Region that runs if the condition is false.
    pub else_: Region,
    /// Results, defined by the arms' Yield.
    pub results: Vec<Value>,
}

/// See [`Node::Loop`].
#[derive(Clone, Debug)]
pub struct Loop {
    /// Target of breaks out of the loop.
    pub label: Label,
    /// Carried values, visible in the body.
    pub params: Vec<Value>,
    /// First values of the params.
    pub inits: Vec<Value>,
    /// Body, whose `Yield` is the back edge.
    pub body: Region,
    /// Results, defined by breaks to `label`.
    pub results: Vec<Value>,
}

/// See [`Node::Scope`].
#[derive(Clone, Debug)]
pub struct Scope {
    /// Target of breaks out of the scope.
    pub label: Label,
    /// Body, whose Yield also gives the results.
    pub body: Region,
    /// Results, defined by the body's Yield and by breaks to `label`.
    pub results: Vec<Value>,
}

/// Iterator over the instructions of a shader's body ([`Shader::live_insts`]). The list of outer
/// regions allocates only if regions are nested.
struct LiveInsts<'a> {
    shader: &'a Shader,
    /// Nodes of the innermost region that are left.
    nodes: std::slice::Iter<'a, Node>,
    /// Nodes that are left of the regions after it.
    outer: Vec<std::slice::Iter<'a, Node>>,
}

impl<'a> LiveInsts<'a> {
    /// Continues with the nodes of a nested region.
    fn enter(&mut self, region: &'a Region) {
        self.outer.push(std::mem::replace(&mut self.nodes, region.nodes.iter()));
    }
}

impl<'a> Iterator for LiveInsts<'a> {
    type Item = &'a InstData;

    fn next(&mut self) -> Option<&'a InstData> {
        loop {
            match self.nodes.next() {
                Some(Node::Inst(inst)) => return Some(&self.shader.insts[*inst]),
                Some(Node::If(n)) => {
                    self.enter(&n.else_);
                    self.enter(&n.then);
                }
                Some(Node::Loop(n)) => self.enter(&n.body),
                Some(Node::Scope(n)) => self.enter(&n.body),
                None => self.nodes = self.outer.pop()?,
            }
        }
    }
}

/// One entry point of a module, specialised and with all calls inlined.
#[derive(Clone, Debug)]
pub struct Shader {
    /// Stage, with the properties that only this kind of stage has.
    pub stage_info: StageSpecificInfo,
    /// Entry point name.
    pub name: String,
    /// All values.
    pub values: PrimaryMap<Value, ValueData>,
    /// All instructions, including dead ones.
    pub insts: PrimaryMap<Inst, InstData>,
    /// Private variables.
    pub vars: PrimaryMap<Var, VarData>,
    /// Number of labels that were created.
    pub labels: u32,
    /// Root scope: the body and the label that a return breaks to. It has no results.
    pub root: Scope,
    /// Input slots, which [`Op::LoadInput`] and [`Op::LoadVertex`] index.
    pub inputs: Vec<Slot>,
    /// Output slots, which [`Op::StoreOutput`] and [`Op::StoreVertex`] index.
    pub outputs: Vec<Slot>,
    /// See [`base::shader::StageInterface::placements`].
    pub placements: Vec<OutputPlacement>,
    /// See [`base::shader::ShaderInfo::capture`].
    pub capture: Option<Capture>,
    /// See [`base::shader::ShaderInfo::side_effects`].
    pub side_effects: bool,
    /// True if a subgroup operation or built-in occurs, so that the result may depend on the
    /// subgroup size.
    pub uses_subgroup: bool,
}

fn misplaced(what: &str, stage: Stage) -> Error {
    Error::invalid(format!("{what} in a {stage:?} stage"))
}

impl Shader {
    /// Creates an empty shader.
    pub fn new(stage: Stage, name: &str) -> Self {
        Shader {
            stage_info: StageSpecificInfo::new(stage),
            name: name.to_owned(),
            values: PrimaryMap::new(),
            insts: PrimaryMap::new(),
            vars: PrimaryMap::new(),
            labels: 1,
            root: Scope { label: Label(0), body: Region::default(), results: Vec::new() },
            inputs: Vec::new(),
            outputs: Vec::new(),
            placements: Vec::new(),
            capture: None,
            side_effects: false,
            uses_subgroup: false,
        }
    }

    /// Returns the stage.
    pub fn stage(&self) -> Stage {
        self.stage_info.stage()
    }

    /// Returns the facts of a stage with workgroups.
    ///
    /// # Errors
    /// Returns an Invalid error for any other stage.
    pub fn workgroup(&self) -> Result<&WorkgroupInfo> {
        self.stage_info.workgroup().ok_or_else(|| misplaced("workgroups", self.stage()))
    }

    /// Returns the facts of a stage with workgroups, to be changed.
    ///
    /// # Errors
    /// Returns an Invalid error for any other stage.
    pub fn workgroup_mut(&mut self) -> Result<&mut WorkgroupInfo> {
        let stage = self.stage();
        self.stage_info.workgroup_mut().ok_or_else(|| misplaced("workgroups", stage))
    }

    /// Returns the facts of a fragment stage, to be changed.
    ///
    /// # Errors
    /// Returns an Invalid error for any other stage.
    pub fn fragment_mut(&mut self) -> Result<&mut FragmentInfo> {
        let stage = self.stage();
        self.stage_info.fragment_mut().ok_or_else(|| misplaced("fragments", stage))
    }

    /// Returns the instructions of the body, in program order. [`Shader::insts`] also has those
    /// that passes have removed or replaced.
    pub fn live_insts(&self) -> impl Iterator<Item = &InstData> {
        LiveInsts { shader: self, nodes: self.root.body.nodes.iter(), outer: Vec::new() }
    }

    /// Creates a label.
    pub fn new_label(&mut self) -> Label {
        let label = Label(self.labels);
        self.labels += 1;
        label
    }

    /// Creates a loop param or region result.
    pub fn region_value(&mut self, ty: Ty) -> Value {
        self.values.push(ValueData { ty, def: ValueDef::Region })
    }

    /// Creates an instruction with results of the given types; the caller puts it into a region.
    pub fn inst(&mut self, op: Op, args: &[Value], results: &[Ty], source: u32) -> Inst {
        let first = Value(self.values.len() as u32);
        let inst = self.insts.push(InstData {
            op,
            args: SmallVec::from_slice(args),
            first_result: first,
            result_count: results.len() as u16,
            float: FloatFlags::NONE,
            source,
        });
        for (i, &ty) in results.iter().enumerate() {
            self.values.push(ValueData { ty, def: ValueDef::Inst(inst, i as u16) });
        }
        inst
    }

    /// Gives an instruction float flags if there is a float among its operands and results.
    pub fn set_float(&mut self, inst: Inst, flags: FloatFlags) {
        self.insts[inst].float = if flags.is_empty() || !self.has_float(inst) { FloatFlags::NONE } else { flags };
    }

    /// Returns true if there is a float among operands and results.
    pub fn has_float(&self, inst: Inst) -> bool {
        let data = &self.insts[inst];
        data.args.iter().copied().chain(data.results()).any(|v| self.ty(v).is_float())
    }

    /// Removes the output slots that `keep` marks with false, and the stores to them. Slots beyond
    /// the end of `keep` stay.
    pub fn keep_outputs(&mut self, keep: &[bool]) {
        let kept = |slot: u32| keep.get(slot as usize) != Some(&false);
        let mut next = 0;
        let numbers: Vec<u32> = (0..self.outputs.len() as u32)
            .map(|slot| {
                next += u32::from(kept(slot));
                next - u32::from(kept(slot))
            })
            .collect();
        let mut slots = 0..;
        self.outputs.retain(|_| slots.next().is_none_or(kept));
        if let Some(capture) = &mut self.capture {
            capture.keep(|slot| kept(slot).then(|| numbers[slot as usize]));
        }
        let insts = &mut self.insts;
        self.root.body.retain(&mut |inst| match &mut insts[inst].op {
            Op::StoreOutput(slot) | Op::StoreVertex(slot) => {
                let stays = kept(*slot);
                *slot = numbers.get(*slot as usize).copied().unwrap_or(*slot);
                stays
            }
            _ => true,
        });
    }

    /// Returns the type of a value.
    pub fn ty(&self, v: Value) -> Ty {
        self.values[v].ty
    }

    /// Returns the bits of a constant, or `None` if the value is not a constant.
    pub fn as_const(&self, v: Value) -> Option<u64> {
        match self.values[v].def {
            ValueDef::Inst(inst, _) => match self.insts[inst].op {
                Op::Const(bits) => Some(bits),
                _ => None,
            },
            ValueDef::Region => None,
        }
    }
}

//! An assembler for modules in any order: types, constants and buffers are made when they are first
//! used.

use super::super::opcodes::op;
use std::collections::{BTreeSet, HashMap};

/// Type of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    Bool,
    Int(u32),
    Uint(u32),
    Float(u32),
}

/// A scalar, a vector (rows), or a matrix (columns of vectors).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ty {
    pub of: Scalar,
    pub rows: u32,
    pub columns: u32,
}

impl Ty {
    pub const fn new(of: Scalar, rows: u32) -> Ty {
        Ty { of, rows, columns: 1 }
    }
    pub const fn of(self, of: Scalar) -> Ty {
        Ty { of, ..self }
    }
    pub const fn element(self) -> Ty {
        Ty::new(self.of, 1)
    }
    pub fn width(self) -> u32 {
        match self.of {
            Scalar::Bool => 1,
            Scalar::Int(w) | Scalar::Uint(w) | Scalar::Float(w) => w,
        }
    }
}

pub const BOOL: Ty = Ty::new(Scalar::Bool, 1);
pub const U32: Ty = Ty::new(Scalar::Uint(32), 1);
pub const I32: Ty = Ty::new(Scalar::Int(32), 1);
pub const F32: Ty = Ty::new(Scalar::Float(32), 1);

/// Numbers of execution models.
pub const VERTEX: u32 = 0;
pub const CONTROL: u32 = 1;
pub const EVALUATION: u32 = 2;
pub const GEOMETRY: u32 = 3;
pub const FRAGMENT: u32 = 4;
pub const COMPUTE: u32 = 5;
pub const TASK: u32 = 5364;
pub const MESH: u32 = 5365;

const MAIN: u32 = 1;
const GLSL: u32 = 2;

pub struct Asm {
    model: u32,
    next: u32,
    pub capabilities: BTreeSet<u32>,
    pub extensions: BTreeSet<&'static str>,
    pub modes: Vec<Vec<u32>>,
    /// Execution modes whose operands are ids.
    pub id_modes: Vec<Vec<u32>>,
    /// Addressing model and memory model.
    pub memory_model: [u32; 2],
    decorations: Vec<u32>,
    globals: Vec<u32>,
    body: Vec<u32>,
    interface: Vec<u32>,
    known: HashMap<Vec<u32>, u32>,
    /// Storage buffers by the type of their block.
    buffers: HashMap<u32, u32>,
    bindings: u32,
    /// Opcodes that were used.
    pub used: BTreeSet<u16>,
}

/// A case: its name, its execution model, and the function that makes it.
pub type Made = (String, u32, Box<dyn FnOnce(&mut Asm)>);

pub fn text(s: &str) -> Vec<u32> {
    let mut bytes = s.as_bytes().to_vec();
    bytes.resize((s.len() / 4 + 1) * 4, 0);
    bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
}

fn put(to: &mut Vec<u32>, opcode: u16, args: &[u32]) {
    to.push((args.len() as u32 + 1) << 16 | u32::from(opcode));
    to.extend_from_slice(args);
}

impl Asm {
    pub fn new(model: u32) -> Asm {
        let modes = match model {
            COMPUTE | TASK => vec![vec![17, 8, 1, 1]],
            // Four vertices, two triangles.
            MESH => vec![vec![17, 8, 1, 1], vec![26, 4], vec![5270, 2], vec![5298]],
            // Two invocations, points to points, at most four vertices.
            GEOMETRY => vec![vec![0, 2], vec![19], vec![27], vec![26, 4]],
            // Three vertices.
            CONTROL => vec![vec![26, 3]],
            EVALUATION => vec![vec![22], vec![1], vec![4]],
            FRAGMENT => vec![vec![7]],
            _ => Vec::new(),
        };
        Asm {
            model,
            next: 10,
            capabilities: BTreeSet::from([1]),
            extensions: BTreeSet::new(),
            modes,
            id_modes: Vec::new(),
            memory_model: [0, 1],
            decorations: Vec::new(),
            globals: Vec::new(),
            body: Vec::new(),
            interface: Vec::new(),
            known: HashMap::new(),
            buffers: HashMap::new(),
            bindings: 0,
            used: BTreeSet::new(),
        }
    }

    pub fn is_fragment(&self) -> bool {
        self.model == FRAGMENT
    }

    pub fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Adds an instruction without a result to the function.
    pub fn i(&mut self, opcode: u16, args: &[u32]) {
        self.used.insert(opcode);
        put(&mut self.body, opcode, args);
    }

    /// Adds an instruction with a result of that type to the function.
    pub fn r(&mut self, opcode: u16, ty: u32, args: &[u32]) -> u32 {
        let id = self.id();
        self.i(opcode, &[&[ty, id], args].concat());
        id
    }

    /// Adds an extended instruction.
    pub fn glsl(&mut self, number: u32, ty: u32, args: &[u32]) -> u32 {
        self.r(op::OpExtInst, ty, &[&[GLSL, number], args].concat())
    }

    pub fn decorate(&mut self, args: &[u32]) {
        put(&mut self.decorations, op::OpDecorate, args);
    }

    pub fn member(&mut self, args: &[u32]) {
        put(&mut self.decorations, op::OpMemberDecorate, args);
    }

    /// Adds a decoration by ids, or by a string.
    pub fn decoration(&mut self, opcode: u16, args: &[u32]) {
        self.used.insert(opcode);
        put(&mut self.decorations, opcode, args);
    }

    /// Returns a type or constant (with its type first), which is made once.
    pub fn global(&mut self, opcode: u16, typed: bool, args: &[u32]) -> u32 {
        let key = [&[u32::from(opcode)], args].concat();
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let id = self.fresh(opcode, typed, args);
        self.known.insert(key, id);
        id
    }

    /// Makes a global as [`Asm::global`] does, but a new one every time.
    pub fn fresh(&mut self, opcode: u16, typed: bool, args: &[u32]) -> u32 {
        self.used.insert(opcode);
        let id = self.id();
        let all = if typed { [&[args[0], id], &args[1..]].concat() } else { [&[id], args].concat() };
        put(&mut self.globals, opcode, &all);
        id
    }

    pub fn void(&mut self) -> u32 {
        self.global(op::OpTypeVoid, false, &[])
    }

    /// Returns a type and adds the capabilities that it requires.
    pub fn ty(&mut self, ty: Ty) -> u32 {
        if ty.columns > 1 {
            let column = self.ty(Ty::new(ty.of, ty.rows));
            return self.global(op::OpTypeMatrix, false, &[column, ty.columns]);
        }
        if ty.rows > 1 {
            let element = self.ty(ty.element());
            return self.global(op::OpTypeVector, false, &[element, ty.rows]);
        }
        let capability = match ty.of {
            Scalar::Int(8) | Scalar::Uint(8) => 39,
            Scalar::Int(16) | Scalar::Uint(16) => 22,
            Scalar::Int(64) | Scalar::Uint(64) => 11,
            Scalar::Float(16) => 9,
            Scalar::Float(64) => 10,
            _ => 1,
        };
        self.capabilities.insert(capability);
        match ty.of {
            Scalar::Bool => self.global(op::OpTypeBool, false, &[]),
            Scalar::Int(w) => self.global(op::OpTypeInt, false, &[w, 1]),
            Scalar::Uint(w) => self.global(op::OpTypeInt, false, &[w, 0]),
            Scalar::Float(w) => self.global(op::OpTypeFloat, false, &[w]),
        }
    }

    pub fn pointer(&mut self, class: u32, ty: u32) -> u32 {
        self.global(op::OpTypePointer, false, &[class, ty])
    }

    pub fn u(&mut self, value: u32) -> u32 {
        let ty = self.ty(U32);
        self.global(op::OpConstant, true, &[ty, value])
    }

    /// Adds a global variable of that type.
    pub fn variable(&mut self, class: u32, ty: u32, rest: &[u32]) -> u32 {
        let pointer = self.pointer(class, ty);
        let id = self.fresh(op::OpVariable, true, &[&[pointer, class], rest].concat());
        self.interface.push(id);
        id
    }

    /// Adds a storage buffer of that type behind an untyped pointer.
    pub fn untyped(&mut self, pointer: u32, ty: u32) -> u32 {
        let id = self.fresh(op::OpUntypedVariableKHR, true, &[pointer, 12, ty]);
        self.interface.push(id);
        self.bindings += 1;
        self.decorate(&[id, 34, 0]);
        self.decorate(&[id, 33, self.bindings]);
        id
    }

    /// Adds a descriptor heap behind an untyped pointer.
    pub fn heap(&mut self, pointer: u32, built_in: u32) -> u32 {
        let id = self.fresh(op::OpUntypedVariableKHR, true, &[pointer, 0]);
        self.interface.push(id);
        self.decorate(&[id, 11, built_in]);
        id
    }

    /// Adds a variable with a binding in a set.
    pub fn bound(&mut self, class: u32, ty: u32, set: u32) -> u32 {
        let id = self.variable(class, ty, &[]);
        self.bindings += 1;
        let binding = self.bindings % 32;
        self.decorate(&[id, 34, set]);
        self.decorate(&[id, 33, binding]);
        id
    }

    /// Adds a variable of the interface with that location or built-in.
    pub fn interface(&mut self, class: u32, ty: u32, decoration: [u32; 2]) -> u32 {
        let id = self.variable(class, ty, &[]);
        self.decorate(&[id, decoration[0], decoration[1]]);
        id
    }

    /// Returns a structure of one member with a layout, decorated as a block.
    pub fn block(&mut self, ty: Ty) -> u32 {
        let inner = self.ty(ty);
        if let Some(&block) = self.known.get(&[u32::MAX, inner][..]) {
            return block;
        }
        match ty.width() {
            8 => _ = self.capabilities.insert(4448),
            16 => _ = self.capabilities.insert(4433),
            _ => {}
        }
        let block = self.fresh(op::OpTypeStruct, false, &[inner]);
        self.known.insert(vec![u32::MAX, inner], block);
        self.decorate(&[block, 2]);
        self.member(&[block, 0, 35, 0]);
        if ty.columns > 1 {
            self.member(&[block, 0, 5]);
            self.member(&[block, 0, 7, 32]);
        }
        block
    }

    /// Returns a pointer to a value of that type in a storage buffer.
    pub fn place(&mut self, ty: Ty) -> u32 {
        let (block, inner, zero) = (self.block(ty), self.ty(ty), self.u(0));
        let buffer = match self.buffers.get(&block) {
            Some(&id) => id,
            None => self.bound(12, block, 0),
        };
        self.buffers.insert(block, buffer);
        let pointer = self.pointer(12, inner);
        self.r(op::OpAccessChain, pointer, &[buffer, zero])
    }

    /// Returns a value about which nothing is known.
    pub fn value(&mut self, ty: Ty) -> u32 {
        let result = self.ty(ty);
        if ty.of == Scalar::Bool {
            let words = ty.of(Scalar::Uint(32));
            let (value, words) = (self.value(words), self.ty(words));
            let null = self.global(op::OpConstantNull, true, &[words]);
            return self.r(op::OpINotEqual, result, &[value, null]);
        }
        let place = self.place(ty);
        self.r(op::OpLoad, result, &[place])
    }

    /// Uses a value, so that it is not dead.
    pub fn keep(&mut self, ty: Ty, value: u32) {
        if ty.of == Scalar::Bool {
            let words = ty.of(Scalar::Uint(32));
            let (kept, result) = (self.value(words), self.ty(words));
            let null = self.global(op::OpConstantNull, true, &[result]);
            let chosen = self.r(op::OpSelect, result, &[value, kept, null]);
            return self.keep(words, chosen);
        }
        let place = self.place(ty);
        self.i(op::OpStore, &[place, value]);
    }

    pub fn label(&mut self, id: u32) {
        self.i(op::OpLabel, &[id]);
    }

    /// Returns the module's words, with the function's body between its label and its return.
    pub fn finish(mut self) -> Vec<u32> {
        let void = self.void();
        let ty = self.global(op::OpTypeFunction, false, &[void]);
        let label = self.id();
        let mut out = vec![0x0723_0203, 0x0001_0600, 0, self.next + 1, 0];
        self.capabilities.iter().for_each(|&c| put(&mut out, op::OpCapability, &[c]));
        self.extensions.iter().for_each(|e| put(&mut out, op::OpExtension, &text(e)));
        put(&mut out, op::OpExtInstImport, &[&[GLSL], &text("GLSL.std.450")[..]].concat());
        put(&mut out, op::OpMemoryModel, &self.memory_model);
        put(&mut out, op::OpEntryPoint, &[&[self.model, MAIN], &text("main")[..], &self.interface].concat());
        self.modes.iter().for_each(|mode| put(&mut out, op::OpExecutionMode, &[&[MAIN], &mode[..]].concat()));
        self.id_modes.iter().for_each(|mode| put(&mut out, op::OpExecutionModeId, &[&[MAIN], &mode[..]].concat()));
        out.append(&mut self.decorations);
        out.append(&mut self.globals);
        put(&mut out, op::OpFunction, &[void, MAIN, 0, ty]);
        put(&mut out, op::OpLabel, &[label]);
        out.append(&mut self.body);
        put(&mut out, op::OpReturn, &[]);
        put(&mut out, op::OpFunctionEnd, &[]);
        out
    }
}

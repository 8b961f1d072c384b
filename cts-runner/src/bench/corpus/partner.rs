//! Makes the partner stage of a pipeline if the corpus has only one stage, from the interface of
//! the existing stage.
//!
//! Idea: a vertex stage gives a value that depends on the vertex to every location that a fragment
//! stage reads. A fragment stage adds up every component that a vertex stage writes. No driver can
//! therefore remove a part of the stage that is measured.

use super::module::{Entry, Module, Type, Variable, instructions, spirv};
use std::collections::HashMap;

/// SPIR-V opcodes.
mod op {
    pub const EXTENSION: u32 = 10;
    pub const CAPABILITY: u32 = 17;
    pub const FUNCTION: u32 = 54;
    pub const VARIABLE: u32 = 59;
    pub const LOAD: u32 = 61;
    pub const STORE: u32 = 62;
    pub const DECORATE: u32 = 71;
    pub const MEMBER_DECORATE: u32 = 72;
    pub const CONSTRUCT: u32 = 80;
    pub const EXTRACT: u32 = 81;
    pub const CONVERT_S_TO_F: u32 = 111;
    pub const CONVERT_U_TO_F: u32 = 112;
    pub const U_CONVERT: u32 = 113;
    pub const S_CONVERT: u32 = 114;
    pub const F_CONVERT: u32 = 115;
    pub const BITCAST: u32 = 124;
    pub const F_ADD: u32 = 129;
    pub const F_MUL: u32 = 133;
    pub const AND: u32 = 199;
}

/// A module that is being assembled.
struct Assembler<'a> {
    source: &'a Module,
    next: u32,
    names: Vec<u32>,
    globals: Vec<u32>,
    body: Vec<u32>,
    /// Ids of types and constants, which may not be declared twice.
    ids: HashMap<Vec<u32>, u32>,
    /// Ids in this module of types of the source.
    copies: HashMap<u32, u32>,
    interface: Vec<u32>,
}

fn instruction(to: &mut Vec<u32>, opcode: u32, operands: &[u32]) {
    to.push((operands.len() as u32 + 1) << 16 | opcode);
    to.extend(operands);
}

impl<'a> Assembler<'a> {
    fn new(source: &'a Module) -> Self {
        let (names, globals, body, interface) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { source, next: 1, names, globals, body, ids: HashMap::new(), copies: HashMap::new(), interface }
    }

    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Returns the id of a type. The operands exclude the result.
    fn kind(&mut self, opcode: u32, operands: &[u32]) -> u32 {
        let key = [&[opcode], operands].concat();
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        let id = self.id();
        instruction(&mut self.globals, opcode, &[&[id], operands].concat());
        self.ids.insert(key, id);
        id
    }

    fn float(&mut self) -> u32 {
        self.kind(22, &[32])
    }

    fn int(&mut self) -> u32 {
        self.kind(21, &[32, 1])
    }

    fn uint(&mut self) -> u32 {
        self.kind(21, &[32, 0])
    }

    fn vec4(&mut self) -> u32 {
        let float = self.float();
        self.kind(23, &[float, 4])
    }

    fn constant(&mut self, kind: u32, word: u32) -> u32 {
        let key = vec![43, kind, word];
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        let id = self.id();
        instruction(&mut self.globals, 43, &[kind, id, word]);
        self.ids.insert(key, id);
        id
    }

    /// Returns the copy of a type of the source, with the decorations of its members.
    fn copy(&mut self, id: u32) -> Option<u32> {
        if let Some(&copy) = self.copies.get(&id) {
            return Some(copy);
        }
        let source = self.source;
        let copy = match source.types.get(&id)? {
            Type::Int(bits, signed) => self.kind(21, &[*bits, u32::from(*signed)]),
            Type::Float(bits) => self.kind(22, &[*bits]),
            Type::Vector(component, count) => {
                let component = self.copy(*component)?;
                self.kind(23, &[component, *count])
            }
            Type::Matrix(column, count) => {
                let column = self.copy(*column)?;
                self.kind(24, &[column, *count])
            }
            Type::Array(element, count) => {
                let (element, uint) = (self.copy(*element)?, self.uint());
                let count = self.constant(uint, source.length(*count)?);
                self.kind(28, &[element, count])
            }
            Type::Struct(members) => {
                let members = members.iter().map(|m| self.copy(*m)).collect::<Option<Vec<_>>>()?;
                let new = self.id();
                instruction(&mut self.globals, 30, &[&[new], &*members].concat());
                for (i, what) in (0..members.len()).flat_map(|i| [spirv::LOCATION, spirv::COMPONENT].map(|w| (i, w))) {
                    if let Some(value) = source.member(id, i, what) {
                        instruction(&mut self.names, op::MEMBER_DECORATE, &[new, i as u32, what, value]);
                    }
                }
                if source.decorated(id, spirv::BLOCK).is_some() {
                    instruction(&mut self.names, op::DECORATE, &[new, spirv::BLOCK]);
                }
                new
            }
            _ => return None,
        };
        self.copies.insert(id, copy);
        Some(copy)
    }

    fn variable(&mut self, class: u32, kind: u32, decorations: &[(u32, Option<u32>)]) -> u32 {
        let pointer = self.kind(32, &[class, kind]);
        let id = self.id();
        instruction(&mut self.globals, op::VARIABLE, &[pointer, id, class]);
        for (what, value) in decorations {
            let operands = [&[id, *what][..], value.as_slice()].concat();
            instruction(&mut self.names, op::DECORATE, &operands);
        }
        self.interface.push(id);
        id
    }

    /// Declares the counterpart of a variable of the other stage.
    fn counterpart(&mut self, class: u32, variable: &Variable, flat: bool) -> Option<(u32, u32)> {
        let kind = self.copy(variable.holds)?;
        let source = self.source;
        let own = [spirv::LOCATION, spirv::COMPONENT].map(|what| (what, source.decorated(variable.id, what)));
        let mut decorations: Vec<_> = own.into_iter().filter(|(_, value)| value.is_some()).collect();
        if flat {
            decorations.push((spirv::FLAT, None));
        }
        Some((self.variable(class, kind, &decorations), kind))
    }

    /// Appends an instruction with a result.
    fn value(&mut self, opcode: u32, kind: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        instruction(&mut self.body, opcode, &[&[kind, id], operands].concat());
        id
    }

    /// Returns a value of a type of the source, made from a number in float and integer form.
    fn splat(&mut self, id: u32, float: u32, int: u32) -> Option<u32> {
        let kind = self.copy(id)?;
        let (parts, count) = match self.source.types.get(&id)? {
            Type::Float(32) => return Some(float),
            Type::Float(_) => return Some(self.value(op::F_CONVERT, kind, &[float])),
            Type::Int(32, true) => return Some(int),
            Type::Int(32, false) => return Some(self.value(op::BITCAST, kind, &[int])),
            Type::Int(_, signed) => {
                let (opcode, uint) = (if *signed { op::S_CONVERT } else { op::U_CONVERT }, self.uint());
                let from = if *signed { int } else { self.value(op::BITCAST, uint, &[int]) };
                return Some(self.value(opcode, kind, &[from]));
            }
            Type::Vector(part, count) | Type::Matrix(part, count) => (vec![*part], *count),
            Type::Array(part, count) => (vec![*part], self.source.length(*count)?),
            Type::Struct(members) => (members.clone(), 1),
            _ => return None,
        };
        let made = parts.into_iter().map(|part| self.splat(part, float, int)).collect::<Option<Vec<_>>>()?;
        Some(self.value(op::CONSTRUCT, kind, &made.repeat(count as usize)))
    }

    /// Adds every component of a value, which has a type of the source, to a sum.
    fn add_up(&mut self, id: u32, value: u32, sum: u32) -> Option<u32> {
        let float = self.float();
        let opcode = match self.source.types.get(&id)? {
            Type::Float(32) => None,
            Type::Float(_) => Some(op::F_CONVERT),
            Type::Int(_, true) => Some(op::CONVERT_S_TO_F),
            Type::Int(_, false) => Some(op::CONVERT_U_TO_F),
            Type::Vector(part, count) | Type::Matrix(part, count) => {
                return self.add_parts(&vec![*part; *count as usize], value, sum);
            }
            Type::Array(part, count) => {
                let count = self.source.length(*count)?;
                return self.add_parts(&vec![*part; count as usize], value, sum);
            }
            Type::Struct(members) => return self.add_parts(&members.clone(), value, sum),
            _ => return None,
        };
        let value = opcode.map_or(value, |opcode| self.value(opcode, float, &[value]));
        Some(self.value(op::F_ADD, float, &[sum, value]))
    }

    fn add_parts(&mut self, parts: &[u32], value: u32, mut sum: u32) -> Option<u32> {
        for (i, &part) in parts.iter().enumerate() {
            let kind = self.copy(part)?;
            let one = self.value(op::EXTRACT, kind, &[value, i as u32]);
            sum = self.add_up(part, one, sum)?;
        }
        Some(sum)
    }

    fn finish(mut self, model: u32) -> Vec<u32> {
        let void = self.kind(19, &[]);
        let signature = self.kind(33, &[void]);
        let (main, label) = (self.id(), self.id());
        let version = self.source.words.get(1).copied().unwrap_or(0x1_0000);
        let mut words = vec![spirv::MAGIC, version, 0, self.next, 0];
        // The types of the interface may need any capability or extension of the source, so all are
        // copied.
        for wanted in [op::CAPABILITY, op::EXTENSION] {
            for (opcode, operands) in instructions(&self.source.words).filter(|(opcode, _)| *opcode == wanted) {
                instruction(&mut words, opcode, operands);
            }
        }
        let memory_model = instructions(&self.source.words).find(|(opcode, _)| *opcode == 14);
        instruction(&mut words, 14, memory_model.map_or(&[0, 1], |(_, operands)| operands));
        let name = u32::from_le_bytes(*b"main");
        instruction(&mut words, 15, &[&[model, main, name, 0], &*self.interface].concat());
        if model == spirv::FRAGMENT {
            // Execution mode OriginUpperLeft.
            instruction(&mut words, 16, &[main, 7]);
        }
        words.extend(self.names);
        words.extend(self.globals);
        instruction(&mut words, op::FUNCTION, &[void, main, 0, signature]);
        instruction(&mut words, 248, &[label]);
        words.extend(self.body);
        instruction(&mut words, 253, &[]);
        instruction(&mut words, 56, &[]);
        words
    }
}

/// Returns the variables of a storage class that are passed between stages.
fn passed(module: &Module, entry: &Entry, class: u32) -> Vec<Variable> {
    let located = |v: &Variable| {
        let count = if let Some(Type::Struct(members)) = module.types.get(&v.holds) { members.len() } else { 0 };
        module.decorated(v.id, spirv::LOCATION).is_some()
            || (0..count).any(|i| module.member(v.holds, i, spirv::LOCATION).is_some())
    };
    module.variables_of(entry).into_iter().filter(|v| v.class == class && located(v)).collect()
}

/// Returns a vertex stage that covers the target with a triangle and writes all inputs of a
/// fragment stage.
pub fn vertex_for(module: &Module, fragment: &Entry) -> Option<Vec<u32>> {
    let mut a = Assembler::new(module);
    let (int, float, vec4) = (a.int(), a.float(), a.vec4());
    let index = a.variable(spirv::INPUT, int, &[(spirv::BUILT_IN, Some(spirv::VERTEX_INDEX))]);
    let position = a.variable(spirv::OUTPUT, vec4, &[(spirv::BUILT_IN, Some(spirv::POSITION))]);
    let outputs = passed(module, fragment, spirv::INPUT);
    let outputs = outputs.iter().map(|v| Some((v.holds, a.counterpart(spirv::OUTPUT, v, false)?.0)));
    let outputs = outputs.collect::<Option<Vec<_>>>()?;
    let index = a.value(op::LOAD, int, &[index]);
    let number = a.value(op::CONVERT_S_TO_F, float, &[index]);
    for (holds, output) in outputs {
        let value = a.splat(holds, number, index)?;
        instruction(&mut a.body, op::STORE, &[output, value]);
    }
    // The corners are (-1, -1), (3, -1) and (-1, 3).
    let zero = a.constant(float, 0);
    let one = a.constant(float, 1.0f32.to_bits());
    let minus = a.constant(float, (-1.0f32).to_bits());
    let mut coordinate = |bit: u32, scale: f32| {
        let (bit, scale) = (a.constant(int, bit), a.constant(float, scale.to_bits()));
        let bit = a.value(op::AND, int, &[index, bit]);
        let bit = a.value(op::CONVERT_S_TO_F, float, &[bit]);
        let scaled = a.value(op::F_MUL, float, &[bit, scale]);
        a.value(op::F_ADD, float, &[scaled, minus])
    };
    let (x, y) = (coordinate(1, 4.0), coordinate(2, 2.0));
    let place = a.value(op::CONSTRUCT, vec4, &[x, y, zero, one]);
    instruction(&mut a.body, op::STORE, &[position, place]);
    Some(a.finish(spirv::VERTEX))
}

/// Returns a fragment stage that reads all outputs of a vertex stage.
pub fn fragment_for(module: &Module, vertex: &Entry) -> Option<Vec<u32>> {
    let mut a = Assembler::new(module);
    let (float, vec4) = (a.float(), a.vec4());
    let color = a.variable(spirv::OUTPUT, vec4, &[(spirv::LOCATION, Some(0))]);
    let inputs = passed(module, vertex, spirv::OUTPUT);
    let inputs = inputs.iter().map(|v| {
        let (input, kind) = a.counterpart(spirv::INPUT, v, is_flat(module, v.holds))?;
        Some((v.holds, input, kind))
    });
    let inputs = inputs.collect::<Option<Vec<_>>>()?;
    let mut sum = a.constant(float, 0);
    for (holds, input, kind) in inputs {
        let value = a.value(op::LOAD, kind, &[input]);
        sum = a.add_up(holds, value, sum)?;
    }
    let value = a.value(op::CONSTRUCT, vec4, &[sum; 4]);
    instruction(&mut a.body, op::STORE, &[color, value]);
    Some(a.finish(spirv::FRAGMENT))
}

/// Returns true if a value cannot be interpolated.
fn is_flat(module: &Module, id: u32) -> bool {
    match module.types.get(&id) {
        Some(Type::Int(..) | Type::Float(64)) => true,
        Some(Type::Vector(part, _) | Type::Matrix(part, _) | Type::Array(part, _)) => is_flat(module, *part),
        Some(Type::Struct(members)) => members.iter().any(|m| is_flat(module, *m)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::interface::Interface;
    use super::*;
    use crate::bench::workload::spirv;

    #[test]
    fn partners_have_the_counterpart_of_every_location() {
        for code in [spirv!("graphics/forward.frag"), spirv!("graphics/gbuffer.frag"), spirv!("create/solid.frag")] {
            let module = Module::read(code).expect("SPIR-V");
            let own = Interface::from_module(&module, &module.entries[0]).expect("resources");
            let partner = Module::read(vertex_for(&module, &module.entries[0]).expect("a partner")).expect("SPIR-V");
            let other = Interface::from_module(&partner, &partner.entries[0]).expect("resources");
            assert_eq!(own.inputs, other.outputs);
            assert_eq!(partner.entries[0].name, "main");
        }
        for code in [spirv!("graphics/forward.vert"), spirv!("create/skinning.vert")] {
            let module = Module::read(code).expect("SPIR-V");
            let own = Interface::from_module(&module, &module.entries[0]).expect("resources");
            let partner = Module::read(fragment_for(&module, &module.entries[0]).expect("a partner")).expect("SPIR-V");
            let other = Interface::from_module(&partner, &partner.entries[0]).expect("resources");
            assert_eq!(own.outputs, other.inputs);
            assert!(!other.outputs.is_empty());
        }
    }
}

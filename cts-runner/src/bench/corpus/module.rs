//! Reads the declarations of a SPIR-V module. Layouts, resources and the partner stage of its
//! pipeline are made from them.
//!
//! Modules of any compiler are accepted. A truncated or incomplete module merely declares less.

use std::collections::{HashMap, HashSet};

/// SPIR-V numbers that are used here.
pub mod spirv {
    pub const MAGIC: u32 = 0x0723_0203;
    pub const VERTEX: u32 = 0;
    pub const FRAGMENT: u32 = 4;
    pub const GL_COMPUTE: u32 = 5;

    pub const UNIFORM_CONSTANT: u32 = 0;
    pub const INPUT: u32 = 1;
    pub const UNIFORM: u32 = 2;
    pub const OUTPUT: u32 = 3;
    pub const PUSH_CONSTANT: u32 = 9;
    pub const STORAGE_BUFFER: u32 = 12;

    pub const BLOCK: u32 = 2;
    pub const BUFFER_BLOCK: u32 = 3;
    pub const ARRAY_STRIDE: u32 = 6;
    pub const BUILT_IN: u32 = 11;
    pub const FLAT: u32 = 14;
    pub const LOCATION: u32 = 30;
    pub const COMPONENT: u32 = 31;
    pub const INDEX: u32 = 32;
    pub const BINDING: u32 = 33;
    pub const DESCRIPTOR_SET: u32 = 34;
    pub const OFFSET: u32 = 35;

    pub const POSITION: u32 = 0;
    pub const WORKGROUP_SIZE: u32 = 25;
    pub const VERTEX_INDEX: u32 = 42;

    pub const LOCAL_SIZE: u32 = 17;
    pub const LOCAL_SIZE_ID: u32 = 38;

    pub const DIM_1D: u32 = 0;
    pub const DIM_3D: u32 = 2;
    pub const DIM_CUBE: u32 = 3;
    pub const DIM_BUFFER: u32 = 5;
    pub const DIM_SUBPASS: u32 = 6;
}

/// A type of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Number of bits, and true for a signed type.
    Int(u32, bool),
    /// Number of bits.
    Float(u32),
    /// Type of a component, and number of components.
    Vector(u32, u32),
    /// Type of a column, and number of columns.
    Matrix(u32, u32),
    /// Type of an element, and the constant with their number; `None` for a run-time array.
    Array(u32, Option<u32>),
    /// Types of the members.
    Struct(Vec<u32>),
    /// An image.
    Image(ImageType),
    /// A sampler.
    Sampler,
    /// Type of the image.
    SampledImage(u32),
    /// Storage class, and type of the pointee.
    Pointer(u32, u32),
    /// Any other type with a descriptor or an address: acceleration structures, forward pointers.
    Other,
}

/// Operands of `OpTypeImage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageType {
    /// Type of a component that is read.
    pub texel: u32,
    /// Value of `Dim`.
    pub dim: u32,
    /// 1 for a depth image, 2 if it may be one.
    pub depth: u32,
    /// True if the image has layers.
    pub arrayed: bool,
    /// True if the image has several samples.
    pub multisampled: bool,
    /// 1 for a sampled image, 2 for a storage image.
    pub sampled: u32,
    /// Value of `ImageFormat`.
    pub format: u32,
}

/// A variable outside of functions.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Id of the variable.
    pub id: u32,
    /// Type of the content.
    pub holds: u32,
    /// Storage class.
    pub class: u32,
}

/// An entry point.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Execution model.
    pub model: u32,
    /// Id of the function.
    pub function: u32,
    /// Name of the entry point.
    pub name: String,
    /// Ids of at least the inputs and outputs.
    pub interface: Vec<u32>,
}

/// Ids to which a function refers.
#[derive(Default)]
struct Function {
    calls: Vec<u32>,
    /// Operand words, which may be ids of variables. A literal may be mistaken for an id, which is
    /// harmless.
    words: HashSet<u32>,
}

/// Declarations of a module.
#[derive(Default)]
pub struct Module {
    /// All words of the module.
    pub words: Vec<u32>,
    /// Types by id.
    pub types: HashMap<u32, Type>,
    /// Values of scalar constants; for specialisation constants, their defaults.
    pub constants: HashMap<u32, u64>,
    /// Numbers of the capabilities.
    pub capabilities: Vec<u32>,
    /// Entry points of the module.
    pub entries: Vec<Entry>,
    /// Variables outside of functions.
    pub variables: Vec<Variable>,
    /// Variables of images and samplers that are read with a comparison.
    pub compared: HashSet<u32>,
    decorations: HashMap<(u32, u32), u32>,
    members: HashMap<(u32, u32, u32), u32>,
    modes: HashMap<(u32, u32), Vec<u32>>,
    composites: HashMap<u32, Vec<u32>>,
    functions: HashMap<u32, Function>,
    current: u32,
    /// For each value, the values that it was loaded from or combined from.
    origins: HashMap<u32, Vec<u32>>,
}

/// Returns the opcodes and operands of all instructions.
pub fn instructions(words: &[u32]) -> impl Iterator<Item = (u32, &[u32])> {
    let mut rest = words.get(5..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (&first, _) = rest.split_first()?;
        let length = (first >> 16).max(1) as usize;
        let operands = rest.get(1..length)?;
        rest = &rest[length..];
        Some((first & 0xffff, operands))
    })
}

impl Module {
    /// Reads a module. Returns `None` if it is not SPIR-V in the byte order of this machine.
    pub fn read(words: Vec<u32>) -> Option<Self> {
        if words.first() != Some(&spirv::MAGIC) {
            return None;
        }
        let mut module = Self::default();
        for (opcode, operands) in instructions(&words) {
            match opcode {
                15..=17 | 331 => module.interface(opcode, operands),
                19..=53 => module.declaration(opcode, operands),
                71 | 72 => module.decoration(opcode, operands),
                59 if module.current == 0 => {
                    if let &[pointer, id, class, ..] = operands
                        && let Some(&Type::Pointer(_, holds)) = module.types.get(&pointer)
                    {
                        module.variables.push(Variable { id, holds, class });
                    }
                }
                _ if module.current != 0 || opcode == 54 => module.body(opcode, operands),
                _ => {}
            }
        }
        module.words = words;
        Some(module)
    }

    fn interface(&mut self, opcode: u32, operands: &[u32]) {
        match (opcode, operands) {
            (15, &[model, function, ref rest @ ..]) => {
                let bytes: Vec<u8> = rest.iter().flat_map(|w| w.to_le_bytes()).take_while(|&b| b != 0).collect();
                let interface = rest.get(bytes.len() / 4 + 1..).unwrap_or_default().into();
                let name = String::from_utf8(bytes).unwrap_or_default();
                self.entries.push(Entry { model, function, name, interface });
            }
            (16 | 331, &[function, mode, ref rest @ ..]) => _ = self.modes.insert((function, mode), rest.into()),
            (17, &[capability]) => self.capabilities.push(capability),
            _ => {}
        }
    }

    fn declaration(&mut self, opcode: u32, operands: &[u32]) {
        let (id, new) = match (opcode, operands) {
            (21, &[id, bits, signed]) => (id, Type::Int(bits, signed != 0)),
            (22, &[id, bits, ..]) => (id, Type::Float(bits)),
            (23, &[id, component, count]) => (id, Type::Vector(component, count)),
            (24, &[id, column, count]) => (id, Type::Matrix(column, count)),
            (25, &[id, texel, dim, depth, arrayed, samples, sampled, format, ..]) => {
                let (arrayed, multisampled) = (arrayed != 0, samples != 0);
                (id, Type::Image(ImageType { texel, dim, depth, arrayed, multisampled, sampled, format }))
            }
            (26, &[id]) => (id, Type::Sampler),
            (27, &[id, image]) => (id, Type::SampledImage(image)),
            (28, &[id, element, count]) => (id, Type::Array(element, Some(count))),
            (29, &[id, element]) => (id, Type::Array(element, None)),
            (30, &[id, ref members @ ..]) => (id, Type::Struct(members.into())),
            (32, &[id, class, to]) => (id, Type::Pointer(class, to)),
            (43 | 50, &[_, id, low, ref high @ ..]) => {
                let value = u64::from(low) | high.first().map_or(0, |&h| u64::from(h) << 32);
                self.constants.insert(id, value);
                return;
            }
            (44 | 51, &[_, id, ref parts @ ..]) => {
                self.composites.insert(id, parts.into());
                return;
            }
            (19..=39, &[id, ..]) => (id, Type::Other),
            _ => return,
        };
        self.types.insert(id, new);
    }

    fn decoration(&mut self, opcode: u32, operands: &[u32]) {
        match (opcode, operands) {
            (71, &[target, what, ref rest @ ..]) => {
                self.decorations.insert((target, what), rest.first().copied().unwrap_or(0));
            }
            (72, &[target, member, what, ref rest @ ..]) => {
                self.members.insert((target, member, what), rest.first().copied().unwrap_or(0));
            }
            _ => {}
        }
    }

    fn body(&mut self, opcode: u32, operands: &[u32]) {
        match (opcode, operands) {
            (54, &[_, id, ..]) => self.current = id,
            (56, _) => self.current = 0,
            // OpLoad, OpAccessChain, OpInBoundsAccessChain, OpCopyObject; OpSampledImage and
            // OpImage.
            (61 | 65 | 66 | 83 | 100, &[_, id, from, ..]) => _ = self.origins.insert(id, vec![from]),
            (86, &[_, id, image, sampler]) => _ = self.origins.insert(id, vec![image, sampler]),
            // Instructions with a `Dref` operand.
            (89 | 90 | 93 | 94 | 97 | 307 | 308 | 311 | 312 | 315, &[_, _, from, ..]) => self.mark_compared(from),
            _ => {}
        }
        let function = self.functions.entry(self.current).or_default();
        if let (57, &[_, _, callee, ..]) = (opcode, operands) {
            function.calls.push(callee);
        }
        function.words.extend(operands);
    }

    fn mark_compared(&mut self, from: u32) {
        match self.origins.get(&from).cloned() {
            Some(origins) => origins.into_iter().for_each(|origin| self.mark_compared(origin)),
            None => _ = self.compared.insert(from),
        }
    }

    /// Returns a decoration of a type or variable.
    pub fn decorated(&self, id: u32, what: u32) -> Option<u32> {
        self.decorations.get(&(id, what)).copied()
    }

    /// Returns a decoration of a member.
    pub fn member(&self, id: u32, member: usize, what: u32) -> Option<u32> {
        self.members.get(&(id, member as u32, what)).copied()
    }

    /// Returns the length of an array; `None` for a run-time array.
    pub fn length(&self, count: Option<u32>) -> Option<u32> {
        count.map(|id| self.constants.get(&id).copied().unwrap_or(1) as u32)
    }

    /// Returns the inputs and outputs of an entry point, and the other variables to which its
    /// functions refer.
    pub fn variables_of(&self, entry: &Entry) -> Vec<Variable> {
        let (mut waiting, mut seen) = (vec![entry.function], HashSet::new());
        while let Some(function) = waiting.pop() {
            if seen.insert(function) {
                waiting.extend(self.functions.get(&function).into_iter().flat_map(|f| &f.calls));
            }
        }
        let mentioned = |id| seen.iter().any(|f| self.functions.get(f).is_some_and(|f| f.words.contains(&id)));
        let wanted = |v: &&Variable| match v.class {
            spirv::INPUT | spirv::OUTPUT => entry.interface.contains(&v.id),
            _ => mentioned(v.id),
        };
        self.variables.iter().filter(wanted).copied().collect()
    }

    /// Returns the workgroup size of an entry point.
    pub fn workgroup(&self, entry: &Entry) -> [u32; 3] {
        let value = |&id: &u32| self.constants.get(&id).copied().unwrap_or(1) as u32;
        let three = |all: &[u32]| <[u32; 3]>::try_from(all).unwrap_or([1; 3]);
        let built_in =
            self.composites.iter().find(|(id, _)| self.decorated(**id, spirv::BUILT_IN) == Some(spirv::WORKGROUP_SIZE));
        if let Some((_, parts)) = built_in {
            return three(&parts.iter().map(value).collect::<Vec<_>>());
        }
        let mode = |mode| self.modes.get(&(entry.function, mode));
        match (mode(spirv::LOCAL_SIZE_ID), mode(spirv::LOCAL_SIZE)) {
            (Some(ids), _) => three(&ids.iter().map(value).collect::<Vec<_>>()),
            (None, Some(size)) => three(size),
            (None, None) => [1; 3],
        }
    }

    /// Returns the minimum number of bytes from the beginning of a type with a layout to its end. A
    /// run-time array counts as one element.
    pub fn bytes(&self, id: u32) -> u64 {
        match self.types.get(&id) {
            Some(Type::Int(bits, _) | Type::Float(bits)) => u64::from(*bits) / 8,
            Some(Type::Vector(component, count)) => self.bytes(*component) * u64::from(*count),
            Some(Type::Matrix(column, count)) => self.bytes(*column).max(16) * u64::from((*count).max(4)),
            Some(Type::Array(element, count)) => {
                let stride = self.decorated(id, spirv::ARRAY_STRIDE).map_or_else(|| self.bytes(*element), u64::from);
                stride * u64::from(self.length(*count).unwrap_or(1))
            }
            Some(Type::Struct(members)) => {
                let end =
                    |(i, m): (usize, &u32)| u64::from(self.member(id, i, spirv::OFFSET).unwrap_or(0)) + self.bytes(*m);
                members.iter().enumerate().map(end).max().unwrap_or(0)
            }
            Some(Type::Pointer(..)) => 8,
            _ => 4,
        }
    }

    /// Writes 1 to every number of a type with a layout that starts at the beginning of `bytes`. A
    /// run-time array fills the rest.
    pub fn write_ones(&self, id: u32, bytes: &mut [u8]) {
        let mut write = |one: &[u8]| {
            if let Some(place) = bytes.get_mut(..one.len()) {
                place.copy_from_slice(one);
            }
        };
        match self.types.get(&id) {
            Some(Type::Int(bits, _)) => write(&1u64.to_le_bytes()[..*bits as usize / 8]),
            Some(Type::Float(16)) => write(&0x3c00u16.to_ne_bytes()),
            Some(Type::Float(32)) => write(&1.0f32.to_ne_bytes()),
            Some(Type::Float(64)) => write(&1.0f64.to_ne_bytes()),
            Some(Type::Vector(part, count)) => self.ones_in(*part, self.bytes(*part), *count, bytes),
            Some(Type::Matrix(column, count)) => {
                self.ones_in(*column, self.bytes(*column).max(16), (*count).max(4), bytes)
            }
            Some(Type::Array(element, count)) => {
                let stride = self.decorated(id, spirv::ARRAY_STRIDE).map_or_else(|| self.bytes(*element), u64::from);
                self.ones_in(*element, stride, self.length(*count).unwrap_or(u32::MAX), bytes);
            }
            Some(Type::Struct(members)) => {
                for (i, member) in members.iter().enumerate() {
                    let offset = self.member(id, i, spirv::OFFSET).unwrap_or(0) as usize;
                    self.write_ones(*member, bytes.get_mut(offset..).unwrap_or_default());
                }
            }
            _ => {}
        }
    }

    fn ones_in(&self, element: u32, stride: u64, count: u32, bytes: &mut [u8]) {
        for place in bytes.chunks_mut(stride.max(1) as usize).take(count as usize) {
            self.write_ones(element, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(instructions: &[&[u32]]) -> Vec<u32> {
        let coded = instructions.iter().flat_map(|i| {
            [(i.len() as u32) << 16 | i[0]].into_iter().chain(i[1..].iter().copied()).collect::<Vec<_>>()
        });
        [spirv::MAGIC, 0x1_0000, 0, 100, 0].into_iter().chain(coded).collect()
    }

    #[test]
    fn a_comparison_is_found_through_loads() {
        // Variables are 5 (image), 6 (sampler), 7 (another image) and 8. The OpSampledImage of 5
        // and 6 is sampled with Dref.
        let body: [&[u32]; 8] = [
            &[54, 1, 20, 0, 2],
            &[61, 3, 30, 5],
            &[61, 3, 31, 6],
            &[61, 3, 32, 7],
            &[86, 4, 33, 30, 31],
            &[89, 4, 34, 33, 50, 51],
            &[87, 4, 35, 32, 50],
            &[56],
        ];
        let module = Module::read(words(&body)).expect("SPIR-V");
        assert_eq!(module.compared, HashSet::from([5, 6]));
    }

    #[test]
    fn only_what_an_entry_point_reaches_counts() {
        let all: [&[u32]; 17] = [
            &[15, spirv::GL_COMPUTE, 20, 0x61, 8],
            &[21, 1, 32, 0],
            &[32, 2, spirv::STORAGE_BUFFER, 1],
            &[59, 2, 5, spirv::STORAGE_BUFFER],
            &[59, 2, 6, spirv::STORAGE_BUFFER],
            &[59, 2, 7, spirv::STORAGE_BUFFER],
            &[32, 3, spirv::INPUT, 1],
            &[59, 3, 8, spirv::INPUT],
            &[59, 3, 9, spirv::INPUT],
            &[54, 1, 20, 0, 3],
            &[57, 1, 40, 21],
            &[56],
            &[54, 1, 21, 0, 3],
            &[61, 1, 41, 6],
            &[56],
            &[54, 1, 22, 0, 3],
            &[61, 1, 42, 7],
        ];
        let module = Module::read(words(&all)).expect("SPIR-V");
        let ids: Vec<_> = module.variables_of(&module.entries[0]).iter().map(|v| v.id).collect();
        assert_eq!((ids, &*module.entries[0].name), (vec![6, 8], "a"));
    }

    #[test]
    fn what_is_cut_off_declares_less() {
        let whole = words(&[&[21, 1, 32, 0], &[28, 2, 1, 3], &[30, 4, 1, 2]]);
        for end in 0..=whole.len() {
            assert_eq!(Module::read(whole[..end].to_vec()).is_some(), end > 0);
        }
        assert!(Module::read(vec![0; 8]).is_none());
    }
}

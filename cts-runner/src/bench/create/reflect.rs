//! Reads the bindings and inputs of a module from its SPIR-V, which suffices to run any shader of
//! the family without a separate table.
//!
//! It supports the output of `glslangValidator` for the sources here: one descriptor set, no arrays
//! of descriptors.

use ash::vk;
use std::collections::HashMap;

/// Resources and inputs of a module.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Binding and type of each descriptor, ordered by binding.
    pub descriptors: Vec<(u32, vk::DescriptorType)>,
    /// True if there are push constants.
    pub push: bool,
    /// Location and number of components of each input that is not a built-in.
    pub inputs: Vec<(u32, u32)>,
}

/// SPIR-V types that are used here.
enum Type {
    Scalar,
    Vector(u32),
    Struct,
    Image { dim: u32, sampled: u32 },
    Sampler,
    SampledImage,
    Pointer(u32),
}

#[derive(Default)]
struct Parsed {
    types: HashMap<u32, Type>,
    decorations: HashMap<(u32, u32), u32>,
    variables: Vec<(u32, u32, u32)>,
}

mod spirv {
    pub const BUFFER_BLOCK: u32 = 3;
    pub const LOCATION: u32 = 30;
    pub const BINDING: u32 = 33;
    pub const DIM_BUFFER: u32 = 5;
    pub const UNIFORM_CONSTANT: u32 = 0;
    pub const INPUT: u32 = 1;
    pub const UNIFORM: u32 = 2;
    pub const PUSH_CONSTANT: u32 = 9;
    pub const STORAGE_BUFFER: u32 = 12;
}

impl Parsed {
    fn new(code: &[u32]) -> Self {
        let mut parsed = Self::default();
        let mut at = 5;
        while at < code.len() {
            let (length, opcode) = ((code[at] >> 16).max(1) as usize, code[at] & 0xffff);
            let end = (at + length).min(code.len());
            parsed.instruction(opcode, &code[at + 1..end]);
            at += length;
        }
        parsed
    }

    fn instruction(&mut self, opcode: u32, operands: &[u32]) {
        let new = match (opcode, operands) {
            (71, &[target, decoration, ref rest @ ..]) => {
                self.decorations.insert((target, decoration), rest.first().copied().unwrap_or(0));
                return;
            }
            (59, &[pointer, id, class, ..]) => return self.variables.push((pointer, id, class)),
            (21 | 22, &[id, ..]) => (id, Type::Scalar),
            (23, &[id, _, count]) => (id, Type::Vector(count)),
            (25, &[id, _, dim, _, _, _, sampled, ..]) => (id, Type::Image { dim, sampled }),
            (26, &[id]) => (id, Type::Sampler),
            (27, &[id, ..]) => (id, Type::SampledImage),
            (30, &[id, ..]) => (id, Type::Struct),
            (32, &[id, _, to]) => (id, Type::Pointer(to)),
            _ => return,
        };
        self.types.insert(new.0, new.1);
    }

    fn pointee(&self, pointer: u32) -> Option<(u32, &Type)> {
        let Type::Pointer(to) = self.types.get(&pointer)? else { return None };
        Some((*to, self.types.get(to)?))
    }

    fn descriptor(&self, pointer: u32, class: u32) -> Option<vk::DescriptorType> {
        use vk::DescriptorType as D;
        let (id, pointee) = self.pointee(pointer)?;
        Some(match (class, pointee) {
            (spirv::STORAGE_BUFFER, _) => D::STORAGE_BUFFER,
            (spirv::UNIFORM, Type::Struct) if self.decorations.contains_key(&(id, spirv::BUFFER_BLOCK)) => {
                D::STORAGE_BUFFER
            }
            (spirv::UNIFORM, Type::Struct) => D::UNIFORM_BUFFER,
            (spirv::UNIFORM_CONSTANT, Type::SampledImage) => D::COMBINED_IMAGE_SAMPLER,
            (spirv::UNIFORM_CONSTANT, Type::Sampler) => D::SAMPLER,
            (spirv::UNIFORM_CONSTANT, Type::Image { dim, sampled }) => match (*dim == spirv::DIM_BUFFER, *sampled) {
                (false, 1) => D::SAMPLED_IMAGE,
                (false, _) => D::STORAGE_IMAGE,
                (true, 1) => D::UNIFORM_TEXEL_BUFFER,
                (true, _) => D::STORAGE_TEXEL_BUFFER,
            },
            _ => return None,
        })
    }
}

impl Interface {
    /// Reads the interface of a module.
    pub fn from_module(code: &[u32]) -> Self {
        let parsed = Parsed::new(code);
        let mut interface = Self::default();
        for &(pointer, id, class) in &parsed.variables {
            let decorated = |decoration| parsed.decorations.get(&(id, decoration)).copied();
            match (class, decorated(spirv::BINDING), decorated(spirv::LOCATION)) {
                (spirv::PUSH_CONSTANT, ..) => interface.push = true,
                (spirv::INPUT, _, Some(location)) => {
                    let count = match parsed.pointee(pointer) {
                        Some((_, Type::Vector(count))) => *count,
                        _ => 1,
                    };
                    interface.inputs.push((location, count));
                }
                (_, Some(binding), _) => {
                    interface.descriptors.extend(parsed.descriptor(pointer, class).map(|kind| (binding, kind)));
                }
                _ => {}
            }
        }
        interface.inputs.sort_unstable();
        interface.sort();
        interface
    }

    /// Adds the bindings of another stage of the same pipeline.
    pub fn join(&mut self, other: &Self) {
        self.descriptors.extend(&other.descriptors);
        self.push |= other.push;
        self.sort();
    }

    fn sort(&mut self) {
        self.descriptors.sort_by_key(|&(binding, _)| binding);
        self.descriptors.dedup_by_key(|&mut (binding, _)| binding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::workload::spirv;
    use vk::DescriptorType as D;

    #[test]
    fn descriptors_and_push_constants_are_found() {
        let interface = Interface::from_module(&spirv!("compute/convolve_sampled.comp"));
        let expected = [(0, D::COMBINED_IMAGE_SAMPLER), (1, D::STORAGE_IMAGE), (2, D::STORAGE_BUFFER)];
        assert_eq!(interface.descriptors, expected);
        assert!(!interface.push);
        assert!(Interface::from_module(&spirv!("compute/saxpy.comp")).push);
    }

    #[test]
    fn vertex_inputs_are_found() {
        let interface = Interface::from_module(&spirv!("create/skinning.vert"));
        assert_eq!(interface.inputs, [(0, 3), (1, 3), (2, 4), (3, 4)]);
        assert_eq!(interface.descriptors, [(0, D::UNIFORM_BUFFER)]);
    }
}

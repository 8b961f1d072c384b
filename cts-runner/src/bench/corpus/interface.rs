//! Requirements of an entry point on its pipeline: descriptors, push constants, attributes,
//! interface between stages, attachments.

use super::module::{Entry, ImageType, Module, Type, Variable, spirv};
use std::collections::BTreeMap;

/// Number type in which formats and stages must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Number {
    /// Floats with this number of bits.
    Float(u32),
    /// Signed integers with this number of bits.
    Signed(u32),
    /// Unsigned integers with this number of bits.
    Unsigned(u32),
}

/// Content of each location and component: number type and number of components.
pub type Slots = BTreeMap<(u32, u32), (Number, u32)>;

/// Kind and content of a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescriptorContent {
    /// A uniform buffer with this content.
    Uniform(Vec<u8>),
    /// A storage buffer with this content.
    Storage(Vec<u8>),
    /// An image, whether it is combined with a sampler, and the number type of its texels.
    Image(ImageType, bool, Number),
    /// A sampler without an image.
    Sampler,
}

/// A descriptor binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Set and binding number.
    pub place: (u32, u32),
    /// Kind of the descriptor.
    pub kind: DescriptorContent,
    /// Number of elements of the array, or 1.
    pub count: u32,
    /// True if the image is sampled with a comparison.
    pub compared: bool,
}

/// Requirements of an entry point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interface {
    /// Descriptors in the order of their set and binding.
    pub descriptors: Vec<Descriptor>,
    /// Content of the push constants.
    pub push: Vec<u8>,
    /// Inputs that are not built-ins.
    pub inputs: Slots,
    /// Outputs that are not built-ins.
    pub outputs: Slots,
}

/// Number of elements that an array of descriptors without a length gets.
const UNBOUNDED: u32 = 4;
/// Minimum number of bytes of a buffer.
const BYTES: u64 = 4 << 10;
/// Maximum number of bytes of a buffer, beyond which a module is refused.
const MAX_BYTES: u64 = 64 << 20;
/// Maximum number of descriptors, beyond which a module is refused.
const MAX_DESCRIPTORS: u32 = 4096;

impl Interface {
    /// Returns the requirements of an entry point. An error names what no resources can be made
    /// for.
    pub fn from_module(module: &Module, entry: &Entry) -> Result<Self, String> {
        let mut interface = Self::default();
        for variable in module.variables_of(entry) {
            match variable.class {
                spirv::INPUT => interface.inputs.extend(slots(module, &variable)?),
                spirv::OUTPUT => interface.outputs.extend(slots(module, &variable)?),
                spirv::PUSH_CONSTANT => {
                    let bytes = module.bytes(variable.holds).next_multiple_of(4);
                    interface.push =
                        longer(std::mem::take(&mut interface.push), content(module, variable.holds, bytes)?);
                }
                spirv::UNIFORM_CONSTANT | spirv::UNIFORM | spirv::STORAGE_BUFFER => {
                    interface.add(descriptor(module, &variable)?)?;
                }
                _ => {}
            }
        }
        Ok(interface)
    }

    fn add(&mut self, new: Descriptor) -> Result<(), String> {
        let Some(old) = self.descriptors.iter_mut().find(|d| d.place == new.place) else {
            self.descriptors.push(new);
            self.descriptors.sort_by_key(|d| d.place);
            return Ok(());
        };
        old.kind = match (old.kind.clone(), new.kind) {
            (DescriptorContent::Uniform(a), DescriptorContent::Uniform(b)) => DescriptorContent::Uniform(longer(a, b)),
            (DescriptorContent::Storage(a), DescriptorContent::Storage(b)) => DescriptorContent::Storage(longer(a, b)),
            // An image and its sampler in one binding are a combined image sampler.
            (DescriptorContent::Image(image, _, texel), DescriptorContent::Sampler)
            | (DescriptorContent::Sampler, DescriptorContent::Image(image, _, texel)) => {
                DescriptorContent::Image(image, true, texel)
            }
            (DescriptorContent::Image(a, one, texel), DescriptorContent::Image(b, other, _)) if a == b => {
                DescriptorContent::Image(a, one || other, texel)
            }
            (a, b) if a == b => a,
            _ => return Err("two kinds of descriptors in one binding".into()),
        };
        old.count = old.count.max(new.count);
        old.compared |= new.compared;
        Ok(())
    }

    /// Adds the descriptors and push constants of another stage.
    pub fn join(&mut self, other: &Self) -> Result<(), String> {
        self.push = longer(std::mem::take(&mut self.push), other.push.clone());
        other.descriptors.iter().try_for_each(|d| self.add(d.clone()))
    }
}

fn longer(a: Vec<u8>, b: Vec<u8>) -> Vec<u8> {
    if a.len() < b.len() { b } else { a }
}

/// Returns at least `least` bytes of a type with a layout, in which every number is 1. Loops over
/// the data are therefore short, and no division is by 0.
fn content(module: &Module, id: u32, least: u64) -> Result<Vec<u8>, String> {
    let bytes = module.bytes(id).max(least);
    if bytes > MAX_BYTES {
        return Err(format!("a buffer of {bytes} bytes"));
    }
    let mut content: Vec<u8> = std::iter::repeat_n(1u32.to_ne_bytes(), bytes.div_ceil(4) as usize).flatten().collect();
    module.write_ones(id, &mut content);
    Ok(content)
}

/// Returns the type of a variable or of the elements of its array, and the length of the array.
fn element(module: &Module, holds: u32) -> (u32, u32) {
    match module.types.get(&holds) {
        Some(&Type::Array(inner, count)) => {
            let (id, inner) = element(module, inner);
            (id, inner.saturating_mul(module.length(count).unwrap_or(UNBOUNDED)))
        }
        _ => (holds, 1),
    }
}

fn descriptor(module: &Module, variable: &Variable) -> Result<Descriptor, String> {
    let (id, count) = element(module, variable.holds);
    let decorated = |what| module.decorated(variable.id, what);
    let place = (decorated(spirv::DESCRIPTOR_SET).unwrap_or(0), decorated(spirv::BINDING).unwrap_or(0));
    if count > MAX_DESCRIPTORS {
        return Err(format!("{count} descriptors in a binding"));
    }
    let image = |id: u32, sampler| match module.types.get(&id) {
        Some(&Type::Image(image)) if image.dim == spirv::DIM_SUBPASS => Err("an input attachment".to_owned()),
        Some(&Type::Image(image)) => {
            let texel = number(module, image.texel).ok_or("an image of unknown texels")?;
            Ok(DescriptorContent::Image(image, sampler, texel))
        }
        _ => Err("an unknown image".into()),
    };
    let is_storage = variable.class == spirv::STORAGE_BUFFER || module.decorated(id, spirv::BUFFER_BLOCK).is_some();
    let kind = match (variable.class, module.types.get(&id)) {
        (spirv::STORAGE_BUFFER | spirv::UNIFORM, _) if is_storage => {
            DescriptorContent::Storage(content(module, id, BYTES)?)
        }
        (spirv::UNIFORM, _) => DescriptorContent::Uniform(content(module, id, BYTES)?),
        (_, Some(Type::Sampler)) => DescriptorContent::Sampler,
        (_, Some(&Type::SampledImage(id))) => image(id, true)?,
        (_, Some(Type::Image(_))) => image(id, false)?,
        _ => return Err("a descriptor of another kind".into()),
    };
    Ok(Descriptor { place, kind, count, compared: module.compared.contains(&variable.id) })
}

/// Returns the number type of a scalar or vector.
pub fn number(module: &Module, id: u32) -> Option<Number> {
    Some(match *module.types.get(&id)? {
        Type::Float(bits) => Number::Float(bits),
        Type::Int(bits, true) => Number::Signed(bits),
        Type::Int(bits, false) => Number::Unsigned(bits),
        Type::Vector(component, _) => return number(module, component),
        _ => return None,
    })
}

/// Returns the locations of an input or output; a built-in has none.
pub fn slots(module: &Module, variable: &Variable) -> Result<Slots, String> {
    let mut found = Slots::new();
    let decorated = |what| module.decorated(variable.id, what);
    if decorated(spirv::INDEX).unwrap_or(0) > 0 {
        return Err("a second source of blending".into());
    }
    let members = match module.types.get(&variable.holds) {
        Some(Type::Struct(members)) => members.clone(),
        _ => Vec::new(),
    };
    if let Some(mut location) = decorated(spirv::LOCATION) {
        place(module, variable.holds, &mut location, decorated(spirv::COMPONENT).unwrap_or(0), &mut found)?;
        return Ok(found);
    }
    for (i, member) in members.iter().enumerate() {
        let decorated = |what| module.member(variable.holds, i, what);
        if let Some(mut location) = decorated(spirv::LOCATION) {
            place(module, *member, &mut location, decorated(spirv::COMPONENT).unwrap_or(0), &mut found)?;
        }
    }
    Ok(found)
}

fn place(module: &Module, id: u32, at: &mut u32, component: u32, found: &mut Slots) -> Result<(), String> {
    match module.types.get(&id) {
        Some(&Type::Array(element, count)) => {
            let count = module.length(count).unwrap_or(0).min(128);
            (0..count).try_for_each(|_| place(module, element, at, component, found))
        }
        Some(&Type::Matrix(column, count)) => (0..count).try_for_each(|_| place(module, column, at, component, found)),
        Some(Type::Struct(members)) => members.iter().try_for_each(|&m| place(module, m, at, 0, found)),
        Some(scalar) => {
            let count = if let Type::Vector(_, count) = *scalar { count } else { 1 };
            let number = number(module, id).ok_or("an input or output of unknown type")?;
            found.insert((*at, component), (number, count));
            let wide = matches!(number, Number::Float(64) | Number::Signed(64) | Number::Unsigned(64));
            *at += if wide && count > 2 { 2 } else { 1 };
            Ok(())
        }
        None => Err("an input or output of unknown type".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::workload::spirv;

    fn interface(code: Vec<u32>) -> (Module, Interface) {
        let module = Module::read(code).expect("SPIR-V");
        let interface = Interface::from_module(&module, &module.entries[0]).expect("resources");
        (module, interface)
    }

    #[test]
    fn descriptors_are_found_with_what_they_are_for() {
        let (module, found) = interface(spirv!("compute/convolve_sampled.comp"));
        let places: Vec<_> = found.descriptors.iter().map(|d| (d.place, d.count)).collect();
        assert_eq!(places, [((0, 0), 1), ((0, 1), 1), ((0, 2), 1)]);
        assert!(matches!(found.descriptors[0].kind, DescriptorContent::Image(_, true, Number::Float(32))));
        assert!(matches!(found.descriptors[1].kind, DescriptorContent::Image(ImageType { sampled: 2, .. }, false, _)));
        assert!(matches!(found.descriptors[2].kind, DescriptorContent::Storage(_)));
        assert!(found.push.is_empty());
        assert_eq!(module.workgroup(&module.entries[0]), [8, 8, 1]);
        // The push constants are a factor and a number of elements.
        let expected = [1.0f32.to_ne_bytes(), 1u32.to_ne_bytes()].concat();
        assert_eq!(interface(spirv!("compute/saxpy.comp")).1.push, expected);
    }

    #[test]
    fn locations_are_found_of_plain_variables() {
        let (_, found) = interface(spirv!("create/skinning.vert"));
        let float = Number::Float(32);
        let expected = [((0, 0), (float, 3)), ((1, 0), (float, 3)), ((2, 0), (float, 4)), ((3, 0), (float, 4))];
        assert_eq!(found.inputs, Slots::from(expected));
        assert!(!found.outputs.is_empty(), "gl_PerVertex alone has none");
        let ones = 1.0f32.to_ne_bytes().repeat(4 * 16);
        assert!(
            matches!(&found.descriptors[..], [Descriptor { kind: DescriptorContent::Uniform(all), .. }] if all.starts_with(&ones))
        );
    }
}

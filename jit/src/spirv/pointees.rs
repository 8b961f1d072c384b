//! Objects that variable pointers may point to: the variables of storage buffers and of workgroup
//! memory, the numbers of their descriptors, and the properties that all objects of a type share.

use super::deco;
use super::layout::member_matrix;
use super::types::{Spec, Type, UNTYPED};
use super::value::{Desc, DriverLayout};
use crate::budget::LeafCount;
use crate::error::{Error, Result};
use crate::ir::Space;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// A variable that variable pointers may point into.
#[derive(Clone, Copy)]
pub(crate) struct MemoryVariable {
    pub space: Space,
    /// Type of the variable, without arrays of descriptors.
    pub ty: u32,
    pub volatile: bool,
    /// Set and binding of a storage buffer.
    pub binding: Option<(u32, u32)>,
}

/// Parts of a type of variables.
#[derive(Default)]
struct TypeParts {
    types: HashSet<u32>,
    /// Matrix types, each with the first layout that it has in the type.
    matrices: Vec<(u32, (u32, bool))>,
    volatile: bool,
}

/// Properties of all objects of a type that a variable pointer may point to.
#[derive(Default)]
pub(crate) struct Pointee {
    /// Set and binding of the storage buffers that contain one.
    pub bindings: Vec<(u32, u32)>,
    pub matrix: Option<(u32, bool)>,
    pub volatile: bool,
    /// The driver's own layout, if the objects have one.
    pub driver_layout: Option<DriverLayout>,
}

/// The objects that variable pointers of an entry point may point to.
pub(crate) struct Pointees {
    variables: Vec<MemoryVariable>,
    /// Numbers of storage buffers' descriptors, by set and binding. Each range includes one more
    /// number than there are descriptors.
    numbers: HashMap<(u32, u32), Range<u32>>,
    /// Lowest number that is not in use.
    next_number: u32,
    /// Parts of variables, by type.
    parts: HashMap<u32, Rc<TypeParts>>,
    /// Possible pointees, by space and type pointed to.
    pointees: HashMap<(Space, u32), Rc<Pointee>>,
}

impl Pointees {
    /// Returns the state before any variable is known. Number 0 is that of null.
    pub fn new() -> Pointees {
        Pointees {
            variables: Vec::new(),
            numbers: HashMap::new(),
            next_number: 1,
            parts: HashMap::new(),
            pointees: HashMap::new(),
        }
    }

    /// Records a variable that variable pointers may point into.
    pub fn add(&mut self, variable: MemoryVariable) {
        self.variables.push(variable);
    }

    /// Returns the numbers of the descriptors of a binding, and one more for null.
    pub fn numbers(&self, binding: (u32, u32)) -> Option<Range<u32>> {
        self.numbers.get(&binding).cloned()
    }

    /// Records a storage buffer's variable and gives its descriptors numbers.
    pub fn number_buffers(&mut self, ty: u32, d: Desc, count: u32, volatile: bool) -> Result<()> {
        let binding = (d.set, d.binding);
        if !self.numbers.contains_key(&binding) {
            let first = self.next_number;
            // Behind a variable count there is a null descriptor.
            let end = count.checked_add(1).and_then(|n| n.checked_add(first));
            self.next_number = end.ok_or_else(|| Error::limit("too many descriptors"))?;
            self.numbers.insert(binding, first..self.next_number);
        }
        self.add(MemoryVariable { space: Space::Buffer, ty, volatile, binding: Some(binding) });
        Ok(())
    }

    /// Returns what is common to all objects of type `to` in a space.
    pub fn pointee(&mut self, s: &Spec<'_>, leaves: &mut LeafCount, space: Space, to: u32) -> Result<Rc<Pointee>> {
        if let Some(about) = self.pointees.get(&(space, to)) {
            return Ok(about.clone());
        }
        // An untyped pointer may point into any variable.
        let matrix_type = if to == UNTYPED { UNTYPED } else { s.without_arrays(to)? };
        let mut about = Pointee::default();
        let mut seen = HashSet::new();
        for i in 0..self.variables.len() {
            let MemoryVariable { space: own, ty, volatile, binding } = self.variables[i];
            let parts = self.parts(s, leaves, ty)?;
            if own != space || (to != UNTYPED && !parts.types.contains(&to)) {
                continue;
            }
            about.volatile |= volatile || parts.volatile;
            if space == Space::Shared && !s.m.decorated(ty, deco::BLOCK) {
                about.driver_layout = Some(DriverLayout::Packed);
            }
            let layout = || parts.matrices.iter().find(|m| m.0 == matrix_type).map(|m| m.1);
            about.matrix = about.matrix.or_else(layout);
            about.bindings.extend(binding.filter(|&binding| seen.insert(binding)));
        }
        let about = Rc::new(about);
        self.pointees.insert((space, to), about.clone());
        Ok(about)
    }

    /// Returns all types in a type.
    fn parts(&mut self, s: &Spec<'_>, leaves: &mut LeafCount, ty: u32) -> Result<Rc<TypeParts>> {
        if let Some(parts) = self.parts.get(&ty) {
            return Ok(parts.clone());
        }
        let mut parts = TypeParts::default();
        let mut open = vec![ty];
        while let Some(t) = open.pop() {
            if !parts.types.insert(t) {
                continue;
            }
            match s.ty(t)? {
                &Type::Vector { elem: part, .. }
                | &Type::Matrix { col: part, .. }
                | &Type::Array { elem: part, .. }
                | &Type::RuntimeArray { elem: part } => open.push(part),
                Type::Struct(members) => {
                    for (i, &member) in (0..).zip(members) {
                        open.push(member);
                        parts.volatile |= s.m.decoration(t, i, deco::VOLATILE).is_some();
                        if let Some(layout) = member_matrix(s, t, i) {
                            parts.matrices.push((s.without_arrays(member)?, layout));
                        }
                    }
                }
                _ => {}
            }
        }
        leaves.spend(parts.types.len())?;
        let parts = Rc::new(parts);
        self.parts.insert(ty, parts.clone());
        Ok(parts)
    }
}

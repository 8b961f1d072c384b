//! Scalars of interface variables: their slots or built-ins, as decorations assign them.

use super::module::NO_MEMBER;
use super::translator::Translator;
use super::types::Type;
use super::value::{IoKind, IoLeaf};
use super::{builtin, deco};
use crate::error::{Error, Result};
use crate::ir::{InterpolateAt, Ty};
use base::shader::{Interpolation, Slot, SlotKind, SlotType, StageIoKind};

/// Largest number of vertices of a primitive that is rasterized.
const MAX_PRIMITIVE_VERTICES: u32 = 3;

/// Decorations collected on the path from a variable to a leaf.
#[derive(Clone, Copy)]
struct IoState {
    side: StageIoKind,
    location: Option<u32>,
    component: u32,
    index: u32,
    builtin: Option<u32>,
    interpolation: Interpolation,
    at: InterpolateAt,
    volatile: bool,
}

impl Translator<'_> {
    /// Returns the interface scalars of a variable, in flat order.
    pub fn io_leaves(&self, var: u32, ty: u32, side: StageIoKind) -> Result<Vec<IoLeaf>> {
        let mut out = Vec::with_capacity(self.s.flat_leaves(ty)?);
        let none = IoState {
            side,
            location: None,
            component: 0,
            index: if self.is_of_patch(var, ty) { SlotKind::NOT_PER_VERTEX.into() } else { 0 },
            builtin: None,
            interpolation: Interpolation::Smooth,
            at: InterpolateAt::Default,
            volatile: false,
        };
        let state = self.io_decorations(none, var, NO_MEMBER);
        match self.s.ty(ty)? {
            &Type::Array { elem, len } if side == StageIoKind::Interpolated && self.is_per_vertex(var, elem) => {
                self.push_vertices(elem, len, state, &mut out)?;
            }
            _ => {
                self.push_io(ty, state, &mut out)?;
            }
        }
        Ok(out)
    }

    /// Returns true if a fragment input, whose elements have a type, is `PerVertexKHR`, or if the
    /// members of its blocks are.
    fn is_per_vertex(&self, var: u32, elem: u32) -> bool {
        self.m.decorated(var, deco::PER_VERTEX) || self.m.decoration(elem, 0, deco::PER_VERTEX).is_some()
    }

    /// Appends the leaves of a `PerVertexKHR` array: values of the primitive's vertices, which all
    /// have the same locations and are not interpolated.
    fn push_vertices(&self, elem: u32, len: u32, st: IoState, out: &mut Vec<IoLeaf>) -> Result<()> {
        if len > MAX_PRIMITIVE_VERTICES {
            return Err(Error::invalid("PerVertexKHR array of more than three vertices"));
        }
        for vertex in 0..len {
            let first = out.len();
            self.push_io(elem, st, out)?;
            for leaf in &mut out[first..] {
                leaf.at = InterpolateAt::Default;
                leaf.slot.interpolation = Interpolation::Flat;
                if let SlotKind::User { index, .. } = &mut leaf.slot.kind {
                    *index = SlotKind::FIRST_VERTEX + vertex as u8;
                }
            }
        }
        Ok(())
    }

    fn io_decorations(&self, before: IoState, target: u32, member: u32) -> IoState {
        let value = |kind| self.m.decoration_value(target, member, kind);
        let has = |kind| self.m.decoration(target, member, kind).is_some();
        IoState {
            side: before.side,
            location: value(deco::LOCATION).or(before.location),
            component: value(deco::COMPONENT).unwrap_or(before.component),
            index: if has(deco::PER_PRIMITIVE) {
                SlotKind::NOT_PER_VERTEX.into()
            } else {
                value(deco::INDEX).unwrap_or(before.index)
            },
            builtin: value(deco::BUILT_IN).or(before.builtin),
            interpolation: match (has(deco::FLAT), has(deco::NO_PERSPECTIVE)) {
                (true, _) => Interpolation::Flat,
                _ if has(deco::PER_PRIMITIVE) => Interpolation::Flat,
                (_, true) => Interpolation::Linear,
                _ => before.interpolation,
            },
            at: match (has(deco::CENTROID), has(deco::SAMPLE)) {
                (_, true) => InterpolateAt::Sample,
                (true, _) => InterpolateAt::Centroid,
                _ => before.at,
            },
            volatile: before.volatile || has(deco::VOLATILE),
        }
    }

    /// Appends the leaves of one type, and returns the location that follows.
    fn push_io(&self, ty: u32, st: IoState, out: &mut Vec<IoLeaf>) -> Result<Option<u32>> {
        match self.s.ty(ty)? {
            Type::Struct(members) => {
                let mut location = st.location;
                for (i, &m) in (0..).zip(members) {
                    let own = self.io_decorations(IoState { location, ..st }, ty, i);
                    location = self.push_io(m, own, out)?;
                }
                Ok(location)
            }
            &Type::Array { elem: part, len: n } | &Type::Matrix { col: part, n } => {
                let mut location = st.location;
                for _ in 0..n {
                    location = self.push_io(part, IoState { location, ..st }, out)?;
                }
                if st.builtin.is_some() {
                    number_builtins(st.side, out, n as usize * self.s.flat_leaves(part)?);
                }
                Ok(location)
            }
            _ => {
                let (elem, n) = self.s.vector(ty)?;
                for c in 0..n {
                    out.push(self.io_leaf(elem, st, c)?);
                }
                let locations = (n * self.s.scalar(elem)?.bytes()).div_ceil(16).max(1);
                Ok(st.location.map(|l| l.saturating_add(locations)))
            }
        }
    }

    fn io_leaf(&self, elem: u32, st: IoState, c: u32) -> Result<IoLeaf> {
        let ty = self.s.scalar(elem)?;
        let class = match ty {
            Ty::F16 | Ty::F32 => SlotType::Float,
            Ty::I16 | Ty::I32 if self.s.is_signed(elem) => SlotType::Sint,
            _ => SlotType::Uint,
        };
        let interpolated = st.side == StageIoKind::Interpolated;
        let interpolation = match st.interpolation {
            _ if !interpolated => Interpolation::Smooth,
            _ if class != SlotType::Float => Interpolation::Flat,
            i => i,
        };
        let at = if interpolated && interpolation != Interpolation::Flat { st.at } else { InterpolateAt::Default };
        // The slot is that of the low word. The high word of 64 bits is in the next component.
        let word = st.component.saturating_add(c * (ty.bytes() / 4).max(1));
        let (location, component) = (st.location.unwrap_or(0).saturating_add(word / 4), word % 4);
        let kind = SlotKind::User { location, component: component as u8, index: st.index as u8 };
        let slot = Slot { kind, ty: class, interpolation };
        let kind = match (st.builtin, st.location) {
            (Some(b), _) => IoKind::Builtin(b, c),
            (None, Some(_)) if matches!(ty, Ty::B1 | Ty::I8) => {
                return Err(Error::invalid("interface variable of a type that has no slot"));
            }
            (None, Some(_)) if ty.bytes() == 8 && component % 2 != 0 => {
                return Err(Error::invalid("Component of a 64-bit interface variable"));
            }
            (None, Some(_)) if word > 3 && ty.bytes() != 8 => {
                return Err(Error::invalid("Component beyond the location"));
            }
            (None, Some(_)) => IoKind::Slot,
            (None, None) => IoKind::Unused,
        };
        let leaf = IoLeaf { kind, ty, slot, at, volatile: st.volatile, capture: None };
        Ok(match kind {
            IoKind::Builtin(b, c) => builtin::slot(st.side, b, c).map_or(leaf, |kind| {
                let interpolation =
                    if b == builtin::BARY_COORD_NO_PERSP { Interpolation::Linear } else { slot.interpolation };
                IoLeaf { slot: Slot { kind, interpolation, ..slot }, ..leaf }
            }),
            _ => leaf,
        })
    }

    /// Returns true if the variable has an element for each vertex of a primitive or patch. All
    /// have, except those of the invocation or of the patch.
    pub fn is_arrayed(&self, var: u32, ty: u32, side: StageIoKind) -> bool {
        let built_in = self.m.decoration_value(var, NO_MEMBER, deco::BUILT_IN);
        let of_vertices = built_in.is_none_or(|number| builtin::slot(StageIoKind::Primitives, number, 0).is_some());
        matches!(side, StageIoKind::Primitives | StageIoKind::Patch) && of_vertices && !self.is_of_patch(var, ty)
    }

    /// Returns true if a patch has the variable once. A block may have the decoration at its
    /// members.
    pub fn is_of_patch(&self, var: u32, ty: u32) -> bool {
        let levels = |number| matches!(number, builtin::TESS_LEVEL_OUTER | builtin::TESS_LEVEL_INNER);
        let member = || {
            let block = self.s.without_arrays(ty).ok()?;
            self.m.decoration(block, 0, deco::PATCH)
        };
        self.m.decorated(var, deco::PATCH)
            || self.m.decoration_value(var, NO_MEMBER, deco::BUILT_IN).is_some_and(levels)
            || member().is_some()
    }
}

/// Returns the slot of a 64-bit scalar's high word.
pub fn high_word(low: Slot) -> Slot {
    let kind = match low.kind {
        SlotKind::User { location, component, index } => SlotKind::User { location, component: component + 1, index },
        builtin @ SlotKind::Builtin(_) => builtin,
    };
    Slot { kind, ..low }
}

/// Returns the slot of an output scalar, or `None` if the stage does not pass it on.
pub fn output_slot(io: &IoLeaf) -> Option<Slot> {
    match io.kind {
        IoKind::Slot => Some(io.slot),
        IoKind::Builtin(..) => matches!(io.slot.kind, SlotKind::Builtin(_)).then_some(io.slot),
        IoKind::Unused => None,
    }
}

/// Slot of a built-in that does not use any slot.
const NO_SLOT: SlotKind = SlotKind::User { location: 0, component: 0, index: 0 };

/// Numbers the components of a built-in array through the whole array.
fn number_builtins(side: StageIoKind, out: &mut [IoLeaf], n: usize) {
    let first = out.len() - n.min(out.len());
    for (i, leaf) in (0..).zip(&mut out[first..]) {
        if let IoKind::Builtin(b, _) = leaf.kind {
            leaf.kind = IoKind::Builtin(b, i);
            leaf.slot.kind = builtin::slot(side, b, i).unwrap_or(NO_SLOT);
        }
    }
}

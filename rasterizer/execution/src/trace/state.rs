//! State of a tile: invocations, rays and their intersections.

#![forbid(unsafe_code)]

use super::launch::TraceError;
use super::traversal::{Intersection, IntersectionKind, RayArguments};
use base::shader::{RayValue, TRIANGLE_HIT_KINDS};

/// An invocation of a shader that is executed or waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Invocation {
    pub shader: u32,
    /// The invocation's frame.
    pub frame: u32,
    /// Number of the launch id in the tile.
    pub launch: u32,
    /// The invocation that has called this one, or whose ray has.
    pub caller: Option<u32>,
    /// Number of invocations that this one is nested in.
    pub depth: u32,
    /// Point at which the invocation waits.
    pub point: u32,
}

/// A shader to be started with a record of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Callee {
    pub shader: u32,
    /// Address of the record's data.
    pub data: u64,
}

/// An invocation to be started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub callee: Callee,
    /// Number of the launch id in the tile.
    pub launch: u32,
    /// The invocation whose data it takes over.
    pub caller: Option<u32>,
    /// The ray, by its number in the wave, that starts it.
    pub ray: Option<u32>,
    /// Number of invocations that it is nested in.
    pub depth: u32,
}

/// Values in a list whose places are used again.
pub(super) struct Slab<V> {
    values: Vec<Option<V>>,
    free: Vec<u32>,
}

impl<V> Default for Slab<V> {
    fn default() -> Self {
        Slab { values: Vec::new(), free: Vec::new() }
    }
}

impl<V> Slab<V> {
    pub fn add(&mut self, value: V) -> u32 {
        if let Some(at) = self.free.pop() {
            self.values[at as usize] = Some(value);
            return at;
        }
        base::alloc::or_unwind(base::alloc::push(&mut self.values, Some(value)));
        self.values.len() as u32 - 1
    }
    /// Frees the place of a value.
    pub fn remove(&mut self, at: u32) -> Result<(), TraceError> {
        *self.values.get_mut(at as usize).filter(|value| value.is_some()).ok_or(TraceError::Internal)? = None;
        base::alloc::or_unwind(base::alloc::push(&mut self.free, at));
        Ok(())
    }
    pub fn clear(&mut self) {
        self.values.clear();
        self.free.clear();
    }
    pub fn get(&self, at: u32) -> Result<&V, TraceError> {
        self.values.get(at as usize).and_then(Option::as_ref).ok_or(TraceError::Internal)
    }
    pub fn get_mut(&mut self, at: u32) -> Result<&mut V, TraceError> {
        self.values.get_mut(at as usize).and_then(Option::as_mut).ok_or(TraceError::Internal)
    }
}

/// Words of a hit attribute.
pub(super) type Attribute = [u32; RayValue::HitAttribute.words() as usize];

/// An intersection, and what an intersection shader has said about it.
#[derive(Clone, Copy)]
pub(super) struct Hit {
    pub intersection: Intersection,
    pub kind: u32,
    pub attribute: Attribute,
}

impl Hit {
    /// Returns the values of a triangle; a box has none yet.
    pub fn new(intersection: Intersection) -> Hit {
        let mut attribute = Attribute::default();
        let triangle = intersection.kind == IntersectionKind::Triangle;
        if triangle {
            attribute[..2].copy_from_slice(&intersection.barycentrics.map(f32::to_bits));
        }
        let kind = if triangle { TRIANGLE_HIT_KINDS[usize::from(intersection.front_facing)] } else { 0 };
        Hit { intersection, kind, attribute }
    }
}

/// A ray that is being traced.
pub(super) struct Trace {
    /// The invocation that waits for the ray, its depth, and its launch id's number in the tile.
    pub caller: u32,
    pub depth: u32,
    pub launch: u32,
    pub ray: RayArguments,
    pub sbt_offset: u32,
    pub sbt_stride: u32,
    pub miss_index: u32,
    /// The intersection about which the current any-hit, closest-hit or intersection shader is.
    pub hit: Option<Hit>,
    /// Hit kind and attribute of the committed intersection, if it is in a box.
    pub reported: Option<(u32, Attribute)>,
}

//! State of a tile: invocations, rays and their intersections.

#![forbid(unsafe_code)]

use super::launch::TraceError;
use super::traversal::{Intersection, IntersectionKind, RayArguments};
use base::shader::{InvocationEnd, LSS_HIT_KIND, RayValue, SPHERE_HIT_KIND, TRIANGLE_HIT_KINDS};

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
    /// Returns the values of a built-in primitive; a box has none yet.
    #[inline]
    pub fn new(intersection: Intersection) -> Hit {
        let mut attribute = Attribute::default();
        if intersection.kind != IntersectionKind::Aabb {
            attribute[..2].copy_from_slice(&intersection.barycentrics.map(f32::to_bits));
        }
        let kind = match intersection.kind {
            IntersectionKind::Triangle => TRIANGLE_HIT_KINDS[usize::from(intersection.front_facing)],
            IntersectionKind::Sphere => SPHERE_HIT_KIND,
            IntersectionKind::Lss => LSS_HIT_KIND,
            IntersectionKind::Aabb => 0,
        };
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
    /// The structure, by its number in the wave, in which the ray is traced.
    pub structure: u32,
    /// Place of the traversal among those about which shaders decide, while it goes on.
    pub place: u32,
    /// End of the remaining interval when the current candidate was found.
    pub t_max: f32,
    pub sbt_offset: u32,
    pub sbt_stride: u32,
    pub miss_index: u32,
    /// The intersection about which the current any-hit, closest-hit or intersection shader is: a
    /// candidate, or the committed one when the traversal has ended.
    pub hit: Option<Hit>,
    /// The end of the any-hit shader for the current intersection; as if it had returned if there
    /// is none. `None` for a reported intersection that lies outside of the ray's interval.
    pub decision: Option<InvocationEnd>,
    /// Hit kind and attribute of the committed intersection, if it is in a box.
    pub reported: Option<(u32, Attribute)>,
}

impl Trace {
    /// Makes a candidate of the traversal the current intersection.
    #[inline]
    pub fn meet(&mut self, candidate: Intersection, t_max: f32) {
        (self.hit, self.t_max) = (Some(Hit::new(candidate)), t_max);
    }

    /// Makes the committed intersection of the traversal, which has ended, the current one.
    #[inline]
    pub fn end(&mut self, committed: Option<Intersection>) {
        self.hit = committed.map(|committed| {
            let mut hit = Hit::new(committed);
            if let (IntersectionKind::Aabb, Some(reported)) = (committed.kind, self.reported) {
                (hit.kind, hit.attribute) = reported;
            }
            hit
        });
    }
}

/// An intersection shader's invocation that begins or waits at a point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reporter {
    pub point: u32,
    /// Place of the reporter among the invocations that have begun together.
    pub place: usize,
}

/// Memory of the lists of any-hit and intersection shaders, which all waves of a tile use.
#[derive(Default)]
pub(super) struct HitMemory {
    /// Any-hit and intersection shaders to be started for candidates.
    pub candidates: (Vec<Start>, Vec<Start>),
    /// Frames and ends of a call of an any-hit shader.
    pub any_hit: (Vec<u32>, Vec<u32>),
    /// Any-hit shaders to be started for reported intersections.
    pub any_hits: Vec<Start>,
    pub reporters: ReporterMemory,
}

/// Memory of the lists of an intersection shader.
#[derive(Default)]
pub(super) struct ReporterMemory {
    /// Frames of all invocations that have begun together.
    pub frames: Vec<u32>,
    /// Invocations that begin or continue.
    pub waiting: Vec<Reporter>,
    /// Invocations that have reported an intersection.
    pub reports: Vec<Reporter>,
    pub called: CalledReporters,
}

/// Invocations of a call of an intersection shader.
#[derive(Default)]
pub(super) struct CalledReporters {
    /// Places among the invocations that have begun together.
    pub places: Vec<usize>,
    pub frames: Vec<u32>,
    pub ends: Vec<u32>,
}

/// Memory of a traversal.
pub(super) struct Slot<R> {
    /// The ray, by its number in the wave, whose traversal goes on.
    pub ray: Option<u32>,
    pub traversal: R,
}

/// Traversals about whose candidates shaders decide. A ray knows the place of its traversal.
pub(super) type Traversals<'a, R> = [Option<&'a mut R>];

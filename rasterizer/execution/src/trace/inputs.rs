//! Inputs of invocations: values of the launch, the ray and the intersection.

#![forbid(unsafe_code)]

use super::launch::TraceError;
use super::state::{Caller, Hit, Invocation, Trace};
use super::tile::Tile;
use super::traversal::{Intersection, Tracer};
use base::shader::{BuiltinSlot, RayValue, RayWord, SlotKind, Stage};

impl<T: Tracer> Tile<'_, T> {
    /// Sets the inputs of an invocation that begins; `data` is the address of its record's data.
    pub fn set_inputs(&mut self, one: Invocation, data: u64) -> Result<(), TraceError> {
        self.set_ray_words(one, data, |_| true)
    }

    /// Sets `RayTmaxKHR` of an intersection shader that continues.
    pub fn update_t_max(&mut self, one: Invocation) -> Result<(), TraceError> {
        self.set_ray_words(one, 0, |value| value == RayValue::RayTmax)
    }

    fn set_ray_words(
        &mut self,
        one: Invocation,
        data: u64,
        selects: impl Fn(RayValue) -> bool,
    ) -> Result<(), TraceError> {
        let stage = self.launch.program.shaders.get(one.shader as usize).ok_or(TraceError::Internal)?;
        let frames = self.frames.get_mut(one.shader as usize).ok_or(TraceError::Internal)?;
        let trace = match one.caller {
            Caller::Trace(trace) => Some(self.traces.get(trace)?),
            Caller::Launch | Caller::Invocation(_) => None,
        };
        let id = *self.ids.get(one.launch as usize).ok_or(TraceError::Internal)?;
        let source =
            Source { tracer: self.launch.tracer, id, size: self.launch.size, data, trace, stage: stage.info.stage() };
        let first = frames.inputs();
        for (word, slot) in (first..).zip(&stage.info.interface.inputs) {
            let SlotKind::Builtin(BuiltinSlot::Ray(input)) = slot.kind else { continue };
            if selects(input.value) {
                frames.set(one.frame, word, source.word(input));
            }
        }
        Ok(())
    }
}

/// Everything that the inputs of an invocation come from.
struct Source<'a, T: Tracer> {
    tracer: &'a T,
    id: [u32; 3],
    size: [u32; 3],
    data: u64,
    trace: Option<&'a Trace<T::Traversal>>,
    stage: Stage,
}

impl<T: Tracer> Source<'_, T> {
    /// Returns a word of a value; 0 if the invocation has no such value.
    fn word(&self, RayWord { value, word }: RayWord) -> u32 {
        let i = usize::from(word);
        let of = |words: &[u32]| words.get(i).copied().unwrap_or(0);
        match value {
            RayValue::LaunchId => of(&self.id),
            RayValue::LaunchSize => of(&self.size),
            RayValue::ShaderRecord => of(&[self.data as u32, (self.data >> 32) as u32]),
            _ => self.trace.map_or(0, |trace| of(&self.ray_words(trace, value))),
        }
    }

    fn ray_words(&self, trace: &Trace<T::Traversal>, value: RayValue) -> Vec<u32> {
        let floats = |words: &[f32]| words.iter().map(|word| word.to_bits()).collect();
        match value {
            RayValue::WorldRayOrigin => floats(&trace.ray.origin),
            RayValue::WorldRayDirection => floats(&trace.ray.direction),
            RayValue::RayTmin => floats(&[trace.ray.t_min]),
            RayValue::IncomingRayFlags => vec![trace.ray.flags],
            RayValue::CullMask => vec![trace.ray.cull_mask],
            RayValue::RayTmax => floats(&[self.t_max(trace)]),
            _ => trace.hit.as_ref().map_or(Vec::new(), |hit| self.hit_words(trace, hit, value)),
        }
    }

    fn t_max(&self, trace: &Trace<T::Traversal>) -> f32 {
        match (self.stage, &trace.hit) {
            (Stage::AnyHit | Stage::ClosestHit, Some(hit)) => hit.intersection.t,
            (Stage::Miss, _) => trace.ray.t_max,
            _ => self.tracer.t_max(&trace.traversal),
        }
    }

    fn hit_words(&self, trace: &Trace<T::Traversal>, hit: &Hit, value: RayValue) -> Vec<u32> {
        let Hit { intersection: at, kind, attribute } = hit;
        let floats = |words: &[f32]| words.iter().map(|word| word.to_bits()).collect();
        match value {
            RayValue::PrimitiveId => vec![at.primitive],
            RayValue::InstanceId => vec![at.instance],
            RayValue::InstanceCustomIndex => vec![at.custom_index],
            RayValue::RayGeometryIndex => vec![at.geometry],
            RayValue::HitKind => vec![*kind],
            RayValue::HitAttribute => attribute.to_vec(),
            RayValue::HitTriangleVertexPositions => floats(at.vertices.as_flattened()),
            RayValue::ObjectToWorld => floats(&columns(&self.tracer.object_to_world(&trace.traversal, at))),
            RayValue::WorldToObject => floats(&columns(&self.to_object(trace, at))),
            RayValue::ObjectRayOrigin => floats(&transform(&self.to_object(trace, at), trace.ray.origin, 1.0)),
            RayValue::ObjectRayDirection => floats(&transform(&self.to_object(trace, at), trace.ray.direction, 0.0)),
            RayValue::LaunchId | RayValue::LaunchSize | RayValue::ShaderRecord => Vec::new(),
            RayValue::WorldRayOrigin | RayValue::WorldRayDirection | RayValue::RayTmin => Vec::new(),
            RayValue::RayTmax | RayValue::IncomingRayFlags | RayValue::CullMask => Vec::new(),
        }
    }

    fn to_object(&self, trace: &Trace<T::Traversal>, at: &Intersection) -> [f32; 12] {
        self.tracer.world_to_object(&trace.traversal, at)
    }
}

/// Returns a matrix of three rows by columns.
fn columns(rows: &[f32; 12]) -> [f32; 12] {
    core::array::from_fn(|i| rows[i % 3 * 4 + i / 3])
}

/// Returns a vector, with its fourth component, transformed by a matrix.
fn transform(rows: &[f32; 12], v: [f32; 3], w: f32) -> [f32; 3] {
    core::array::from_fn(|row| {
        let [x, y, z, offset] = [0, 1, 2, 3].map(|column| rows[row * 4 + column]);
        x * v[0] + y * v[1] + z * v[2] + offset * w
    })
}

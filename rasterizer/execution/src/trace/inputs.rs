//! Inputs of invocations: values of the launch, the ray and the intersection.

#![forbid(unsafe_code)]

use super::launch::TraceError;
use super::state::{Caller, Hit, Invocation, Trace};
use super::tile::Tile;
use super::traversal::{Intersection, Tracer};
use base::shader::{RayValue, Stage, matrix_columns};

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
        let plan = self.plans.get(one.shader as usize).ok_or(TraceError::Internal)?;
        for run in plan.values.iter().filter(|run| selects(run.value)) {
            let words = source.words(run.value);
            let words = words.get(run.first as usize..).and_then(|words| words.get(..run.count as usize));
            frames.write(one.frame, run.own, words.ok_or(TraceError::Internal)?);
        }
        Ok(())
    }
}

/// Number of words of the largest value, which is a matrix.
const WORDS: usize = RayValue::ObjectToWorld.words() as usize;

/// Words of a value; those behind it are 0.
type Words = [u32; WORDS];

fn words(of: &[u32]) -> Words {
    core::array::from_fn(|i| of.get(i).copied().unwrap_or(0))
}

fn floats(of: &[f32]) -> Words {
    core::array::from_fn(|i| of.get(i).map_or(0, |float| float.to_bits()))
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
    /// Returns the words of a value; 0 if the invocation has no such value.
    fn words(&self, value: RayValue) -> Words {
        match value {
            RayValue::LaunchId => words(&self.id),
            RayValue::LaunchSize => words(&self.size),
            RayValue::ShaderRecord => words(&[self.data as u32, (self.data >> 32) as u32]),
            _ => self.trace.map_or([0; WORDS], |trace| self.ray_words(trace, value)),
        }
    }

    fn ray_words(&self, trace: &Trace<T::Traversal>, value: RayValue) -> Words {
        match value {
            RayValue::WorldRayOrigin => floats(&trace.ray.origin),
            RayValue::WorldRayDirection => floats(&trace.ray.direction),
            RayValue::RayTmin => floats(&[trace.ray.t_min]),
            RayValue::IncomingRayFlags => words(&[trace.ray.flags]),
            RayValue::CullMask => words(&[trace.ray.cull_mask]),
            RayValue::RayTmax => floats(&[self.t_max(trace)]),
            _ => trace.hit.as_ref().map_or([0; WORDS], |hit| self.hit_words(trace, hit, value)),
        }
    }

    fn t_max(&self, trace: &Trace<T::Traversal>) -> f32 {
        match (self.stage, &trace.hit) {
            (Stage::AnyHit | Stage::ClosestHit, Some(hit)) => hit.intersection.t,
            (Stage::Miss, _) => trace.ray.t_max,
            _ => self.tracer.t_max(&trace.traversal),
        }
    }

    fn hit_words(&self, trace: &Trace<T::Traversal>, hit: &Hit, value: RayValue) -> Words {
        let Hit { intersection: at, kind, attribute } = hit;
        match value {
            RayValue::PrimitiveId => words(&[at.primitive]),
            RayValue::InstanceId => words(&[at.instance]),
            RayValue::InstanceCustomIndex => words(&[at.custom_index]),
            RayValue::RayGeometryIndex => words(&[at.geometry]),
            RayValue::HitKind => words(&[*kind]),
            RayValue::HitAttribute => words(attribute),
            RayValue::HitTriangleVertexPositions => floats(at.vertices.as_flattened()),
            RayValue::ObjectToWorld => floats(&matrix_columns(&self.tracer.object_to_world(&trace.traversal, at))),
            RayValue::WorldToObject => floats(&matrix_columns(&self.to_object(trace, at))),
            RayValue::ObjectRayOrigin => floats(&transform(&self.to_object(trace, at), trace.ray.origin, 1.0)),
            RayValue::ObjectRayDirection => floats(&transform(&self.to_object(trace, at), trace.ray.direction, 0.0)),
            RayValue::LaunchId | RayValue::LaunchSize | RayValue::ShaderRecord => [0; WORDS],
            RayValue::WorldRayOrigin | RayValue::WorldRayDirection | RayValue::RayTmin => [0; WORDS],
            RayValue::RayTmax | RayValue::IncomingRayFlags | RayValue::CullMask => [0; WORDS],
        }
    }

    fn to_object(&self, trace: &Trace<T::Traversal>, at: &Intersection) -> [f32; 12] {
        self.tracer.world_to_object(&trace.traversal, at)
    }
}

/// Returns a vector, with its fourth component, transformed by a matrix.
fn transform(rows: &[f32; 12], v: [f32; 3], w: f32) -> [f32; 3] {
    core::array::from_fn(|row| {
        let [x, y, z, offset] = [0, 1, 2, 3].map(|column| rows[row * 4 + column]);
        x * v[0] + y * v[1] + z * v[2] + offset * w
    })
}

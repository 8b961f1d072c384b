//! Inputs of invocations: values of the launch, the ray and the intersection.

#![forbid(unsafe_code)]

use super::frames::Frames;
use super::launch::{GROUP_HANDLE_BYTES, ShaderTable, ShaderTables, TraceError};
use super::plan::ValueRun;
use super::state::{Hit, Start, Trace};
use super::tile::Tile;
use super::traversal::{Instance, Intersection, Tracer};
use super::wave::Wave;
use base::shader::{LSS_HIT_KIND, RayValue, SPHERE_HIT_KIND, Stage, matrix_columns};

impl<T: Tracer> Tile<'_, T> {
    /// Sets the inputs of invocations of a shader that begin.
    pub fn set_inputs(&mut self, shader: u32, starts: &[Start], frames: &[u32]) -> Result<(), TraceError> {
        let stage = self.launch.program.shaders.get(shader as usize).ok_or(TraceError::Internal)?;
        let plan = self.plans.get(shader as usize).ok_or(TraceError::Internal)?;
        let to = self.frames.get_mut(shader as usize).ok_or(TraceError::Internal)?;
        plan.zeros.iter().for_each(|&word| to.zero(frames, word..word + 1));
        let source = Source {
            tracer: self.launch.tracer,
            size: self.launch.size,
            tables: &self.launch.tables,
            ids: &self.ids,
            wave: &self.wave,
            stage: stage.info.stage(),
            starts,
        };
        plan.values.iter().try_for_each(|run| source.set(to, frames, run))?;
        self.set_object_inputs(shader, starts, frames)
    }
}

/// Everything that the inputs of invocations come from.
struct Source<'a, T: Tracer> {
    tracer: &'a T,
    size: [u32; 3],
    tables: &'a ShaderTables,
    ids: &'a [[u32; 3]],
    wave: &'a Wave<T>,
    stage: Stage,
    starts: &'a [Start],
}

/// A ray with an intersection.
struct At<'a> {
    trace: &'a Trace,
    hit: &'a Hit,
}

impl<T: Tracer> Source<'_, T> {
    /// Sets the words of a value; they are 0 for invocations that have no such value.
    fn set(&self, to: &mut Frames, frames: &[u32], run: &ValueRun) -> Result<(), TraceError> {
        use RayValue as V;
        let words = (run.own, run.first, run.count);
        match run.value {
            V::LaunchId => to.set_each(frames, words, |i| self.id(i)),
            V::LaunchSize => to.set_each(frames, words, |_| self.size),
            V::ShaderRecord => {
                to.set_each(frames, words, |i| [0, 32].map(|shift| (self.starts[i].callee.data >> shift) as u32))
            }
            V::MissRecords => to.set_each(frames, words, |_| records(&self.tables.miss)),
            V::HitRecords => to.set_each(frames, words, |_| records(&self.tables.hit)),
            V::WorldRayOrigin => to.set_each(frames, words, self.of_ray(|trace| bits(trace.ray.origin))),
            V::WorldRayDirection => to.set_each(frames, words, self.of_ray(|trace| bits(trace.ray.direction))),
            V::RayTmin => to.set_each(frames, words, self.of_ray(|trace| bits([trace.ray.t_min]))),
            V::IncomingRayFlags => to.set_each(frames, words, self.of_ray(|trace| [trace.ray.flags])),
            V::CullMask => to.set_each(frames, words, self.of_ray(|trace| [trace.ray.cull_mask])),
            V::CurrentRayTime => to.set_each(frames, words, self.of_ray(|trace| bits([trace.ray.time]))),
            V::RayTmax => to.set_each(frames, words, |i| [self.t_max(i).to_bits()]),
            V::PrimitiveId => to.set_each(frames, words, self.of_hit(|at| [at.hit.intersection.primitive])),
            V::InstanceId => to.set_each(frames, words, self.of_hit(|at| [at.hit.intersection.instance])),
            V::InstanceCustomIndex => to.set_each(frames, words, self.of_hit(|at| [at.hit.intersection.custom_index])),
            V::RayGeometryIndex => to.set_each(frames, words, self.of_hit(|at| [at.hit.intersection.geometry])),
            V::HitKind => to.set_each(frames, words, self.of_hit(|at| [at.hit.kind])),
            V::HitAttribute => to.set_each(frames, words, self.of_hit(|at| at.hit.attribute)),
            V::HitTriangleVertexPositions | V::HitSpherePosition | V::HitLssPositions => {
                to.set_each(frames, words, self.of_hit(|at| vertices(&at.hit.intersection)))
            }
            V::HitSphereRadius | V::HitLssRadii => {
                to.set_each(frames, words, self.of_hit(|at| bits(at.hit.intersection.vertices[2])))
            }
            V::HitIsSphere => to.set_each(frames, words, self.of_hit(|at| [is(at.hit.kind, SPHERE_HIT_KIND)])),
            V::HitIsLss => to.set_each(frames, words, self.of_hit(|at| [is(at.hit.kind, LSS_HIT_KIND)])),
            V::ObjectToWorld => {
                to.set_each(frames, words, self.of_hit(|at| bits(matrix_columns(&self.instance(&at).object_to_world))))
            }
            V::WorldToObject => {
                to.set_each(frames, words, self.of_hit(|at| bits(matrix_columns(&self.instance(&at).world_to_object))))
            }
            V::ObjectRayOrigin => to.set_each(
                frames,
                words,
                self.of_hit(|at| bits(transform(&self.instance(&at).world_to_object, at.trace.ray.origin, 1.0))),
            ),
            V::ObjectRayDirection => to.set_each(
                frames,
                words,
                self.of_hit(|at| bits(transform(&self.instance(&at).world_to_object, at.trace.ray.direction, 0.0))),
            ),
        }
    }

    /// Returns the launch id of an invocation.
    fn id(&self, i: usize) -> [u32; 3] {
        self.ids.get(self.starts[i].launch as usize).copied().unwrap_or_default()
    }

    /// Returns the ray of an invocation.
    #[inline]
    fn ray(&self, i: usize) -> Option<&Trace> {
        self.wave.rays.get(self.starts[i].ray? as usize)
    }

    fn of_ray<const N: usize>(&self, words: impl Fn(&Trace) -> [u32; N]) -> impl Fn(usize) -> [u32; N] {
        move |i| self.ray(i).map_or([0; N], &words)
    }

    fn of_hit<const N: usize>(&self, words: impl Fn(At<'_>) -> [u32; N]) -> impl Fn(usize) -> [u32; N] {
        move |i| {
            let found = self.ray(i).and_then(|trace| Some(At { trace, hit: trace.hit.as_ref()? }));
            found.map_or([0; N], &words)
        }
    }

    fn t_max(&self, i: usize) -> f32 {
        match (self.stage, self.ray(i)) {
            (_, None) => 0.0,
            (Stage::AnyHit | Stage::ClosestHit, Some(&Trace { hit: Some(hit), .. })) => hit.intersection.t,
            (Stage::Miss, Some(trace)) => trace.ray.t_max,
            (_, Some(trace)) => trace.t_max,
        }
    }

    fn instance(&self, at: &At<'_>) -> Instance {
        instance_of(self.tracer, self.wave, at.trace, at.hit)
    }
}

/// Returns the instance of a ray's intersection; all is 0 if the structure has been overwritten.
pub(super) fn instance_of<T: Tracer>(tracer: &T, wave: &Wave<T>, ray: &Trace, hit: &Hit) -> Instance {
    tracer.instance(wave.opened(ray.structure), hit.intersection.instance, ray.ray.time).unwrap_or_default()
}

/// Returns the words of the address of the first record's data, and of the stride.
fn records(table: &ShaderTable) -> [u32; 4] {
    let data = table.address.wrapping_add(GROUP_HANDLE_BYTES);
    [data as u32, (data >> 32) as u32, table.stride as u32, (table.stride >> 32) as u32]
}

/// Returns the bits of floats.
fn bits<const N: usize>(of: [f32; N]) -> [u32; N] {
    of.map(f32::to_bits)
}

/// Returns the word of a boolean that is true if both hit kinds are equal.
pub(super) fn is(kind: u32, other: u32) -> u32 {
    u32::from(kind == other)
}

/// Returns the words of the primitive that is hit ([`base::shader::PRIMITIVE_WORDS`]).
pub(super) fn vertices(Intersection { vertices, .. }: &Intersection) -> [u32; 9] {
    core::array::from_fn(|i| vertices[i / 3][i % 3].to_bits())
}

/// Returns a vector, with its fourth component, transformed by a matrix.
pub(super) fn transform(rows: &[f32; 12], v: [f32; 3], w: f32) -> [f32; 3] {
    core::array::from_fn(|row| {
        let [x, y, z, offset] = [0, 1, 2, 3].map(|column| rows[row * 4 + column]);
        x * v[0] + y * v[1] + z * v[2] + offset * w
    })
}

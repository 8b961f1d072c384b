//! Hit objects: the words that a traced ray leaves in the frame of its caller, the shaders that run
//! with them, and the order in which they let invocations continue.

#![forbid(unsafe_code)]

use super::inputs::{instance_of, is, transform, vertices};
use super::launch::TraceError;
use super::queues::{Queue, Queued};
use super::state::{Callee, Start, Trace};
use super::tile::Tile;
use super::traversal::{Tracer, ray_flags};
use base::shader::{
    HitObjectField as Field, HitObjectKind as Kind, InstanceWord, LSS_HIT_KIND, RayValue, ReadInstanceOperand,
    ReorderOperand, SPHERE_HIT_KIND, Stage, SuspendReason, matrix_columns, matrix_rows,
};

const WORDS: usize = Field::WORDS as usize;

/// Number of words of the largest value, which is a matrix.
const VALUE_WORDS: usize = RayValue::ObjectToWorld.words() as usize;

/// The words of a hit object.
struct Object([u32; WORDS]);

impl Object {
    fn set(&mut self, field: Field, words: &[u32]) {
        let own = self.0.iter_mut().skip(field.first() as usize).take(field.words() as usize);
        own.zip(words).for_each(|(own, word)| *own = *word);
    }

    fn set_floats<const N: usize>(&mut self, field: Field, floats: [f32; N]) {
        self.set(field, &floats.map(f32::to_bits));
    }

    fn get(&self, field: Field) -> &[u32] {
        &self.0[field.first() as usize..][..field.words() as usize]
    }

    fn word(&self, field: Field) -> u32 {
        self.0[field.first() as usize]
    }

    fn floats<const N: usize>(&self, field: Field) -> [f32; N] {
        let words = self.get(field);
        core::array::from_fn(|i| words.get(i).map_or(0.0, |&word| f32::from_bits(word)))
    }

    /// Returns the words of a value that shaders of the hit object read; those behind it are 0.
    fn value(&self, value: RayValue) -> Option<[u32; VALUE_WORDS]> {
        let pad = |words: &[u32]| core::array::from_fn(|i| words.get(i).copied().unwrap_or(0));
        match value {
            RayValue::ObjectRayOrigin => Some(pad(&self.object_space(Field::WorldRayOrigin, 1.0))),
            RayValue::ObjectRayDirection => Some(pad(&self.object_space(Field::WorldRayDirection, 0.0))),
            RayValue::HitIsSphere => Some(pad(&[is(self.word(Field::HitKind), SPHERE_HIT_KIND)])),
            RayValue::HitIsLss => Some(pad(&[is(self.word(Field::HitKind), LSS_HIT_KIND)])),
            value => Field::words_of_value(value).map(|words| pad(&self.0[words])),
        }
    }

    /// Returns a vector of the ray, with its fourth component, in the space of the instance.
    fn object_space(&self, field: Field, w: f32) -> [u32; 3] {
        let rows = matrix_rows(&self.floats(Field::WorldToObject));
        transform(&rows, self.floats(field), w).map(f32::to_bits)
    }
}

impl<T: Tracer> Tile<'_, T> {
    /// Returns true if a ray only records its end in a hit object.
    pub fn is_recorded(&self, ray: u32) -> Result<bool, TraceError> {
        let one = self.invocations.get(self.wave.rays[ray as usize].caller)?;
        Ok(self.point(one.shader, one.point)?.reason == SuspendReason::TraceHitObject)
    }

    /// Records the end of a ray as the hit object of its caller, which continues.
    pub fn record(&mut self, ray: u32) -> Result<(), TraceError> {
        let caller = self.wave.rays[ray as usize].caller;
        let object = self.object_of(ray);
        self.set_new_words(caller, &object.0)?;
        self.queue(caller)
    }

    /// Sets the results of an invocation that are no operands of its point.
    fn set_new_words<const N: usize>(&mut self, invocation: u32, words: &[u32; N]) -> Result<(), TraceError> {
        let one = *self.invocations.get(invocation)?;
        let point = self.point(one.shader, one.point)?;
        if point.reason.new_words() as usize != N || point.operands < N as u32 {
            return Err(TraceError::Internal);
        }
        let to = self.frames.get_mut(one.shader as usize).ok_or(TraceError::Internal)?;
        to.set_each(&[one.frame], (point.operands - N as u32, 0, N as u32), |_| *words)
    }

    fn object_of(&self, ray: u32) -> Object {
        let trace = &self.wave.rays[ray as usize];
        let Trace { ray: of, hit, miss_index, .. } = trace;
        let mut object = Object([0; WORDS]);
        object.set(Field::RayFlags, &[of.flags]);
        object.set(Field::CullMask, &[of.cull_mask]);
        object.set_floats(Field::WorldRayOrigin, of.origin);
        object.set_floats(Field::RayTmin, [of.t_min]);
        object.set_floats(Field::WorldRayDirection, of.direction);
        object.set_floats(Field::CurrentRayTime, [of.time]);
        let Some(hit) = hit else {
            object.set(Field::Kind, &[Kind::Miss as u32]);
            object.set(Field::RecordIndex, &[*miss_index]);
            object.set_floats(Field::RayTmax, [of.t_max]);
            return object;
        };
        let at = &hit.intersection;
        let instance = instance_of(self.launch.tracer, &self.wave, trace, hit);
        object.set(Field::Kind, &[Kind::Hit as u32]);
        object.set(Field::RecordIndex, &[self.hit_record(ray) as u32]);
        object.set_floats(Field::RayTmax, [at.t]);
        object.set(Field::PrimitiveId, &[at.primitive]);
        object.set(Field::RayGeometryIndex, &[at.geometry]);
        object.set(Field::InstanceId, &[at.instance]);
        object.set(Field::InstanceCustomIndex, &[at.custom_index]);
        object.set(Field::HitKind, &[hit.kind]);
        object.set(Field::HitAttribute, &hit.attribute);
        object.set_floats(Field::ObjectToWorld, matrix_columns(&instance.object_to_world));
        object.set_floats(Field::WorldToObject, matrix_columns(&instance.world_to_object));
        object.set(Field::Primitive, &vertices(at));
        object
    }

    /// Reads the hit object with which an invocation executes a shader.
    fn executed(&mut self, invocation: u32) -> Result<Object, TraceError> {
        let one = *self.invocations.get(invocation)?;
        let point = self.point(one.shader, one.point)?;
        if point.reason != SuspendReason::ExecuteHitObject || point.operands < Field::WORDS {
            return Err(TraceError::Internal);
        }
        let mut object = Object([0; WORDS]);
        self.frames[one.shader as usize].read(one.frame, 0, &mut object.0);
        Ok(object)
    }

    /// Returns the shader of the hit object with which an invocation waits, or continues the
    /// invocation if there is none.
    pub fn execute(&mut self, at: Queued) -> Result<Option<Start>, TraceError> {
        let object = self.executed(at.invocation)?;
        let depth = self.invocations.get(at.invocation)?.depth + 1;
        let skips = object.word(Field::RayFlags) & ray_flags::SKIP_CLOSEST_HIT_SHADER != 0;
        let callee = match Kind::from_word(object.word(Field::Kind)) {
            Kind::Hit if skips => None,
            kind => self.object_shader(kind, object.word(Field::RecordIndex)),
        };
        match callee {
            Some(callee) => {
                Ok(Some(Start { callee, launch: at.launch, caller: Some(at.invocation), ray: None, depth }))
            }
            None => self.queue(at.invocation).map(|()| None),
        }
    }

    /// Returns the closest-hit or miss shader of a hit object.
    fn object_shader(&mut self, kind: Kind, record: u32) -> Option<Callee> {
        match kind {
            Kind::Empty => None,
            Kind::Miss => self.callee(&self.launch.tables.miss, record.into(), Stage::Miss),
            Kind::Hit => self.callee(&self.launch.tables.hit, record.into(), Stage::ClosestHit),
        }
    }

    /// Sets the inputs of invocations that hit objects start.
    pub fn set_object_inputs(&mut self, shader: u32, starts: &[Start], frames: &[u32]) -> Result<(), TraceError> {
        for (start, frame) in starts.iter().zip(frames) {
            let (Some(caller), None) = (start.caller, start.ray) else { continue };
            let one = *self.invocations.get(caller)?;
            if self.point(one.shader, one.point)?.reason != SuspendReason::ExecuteHitObject {
                continue;
            }
            let object = self.executed(caller)?;
            let plan = self.plans.get(shader as usize).ok_or(TraceError::Internal)?;
            let to = self.frames.get_mut(shader as usize).ok_or(TraceError::Internal)?;
            for run in &plan.values {
                if let Some(words) = object.value(run.value) {
                    to.set_each(core::slice::from_ref(frame), (run.own, run.first, run.count), |_| words)?;
                }
            }
        }
        Ok(())
    }

    /// Orders invocations that wait to continue together: by the shader of their hit objects, then
    /// by their hints, then by records. They exchange the numbers of their launch ids, so that they
    /// keep this order behind later points. Only ray generation shaders reorder, so that no other
    /// invocation has one of these numbers.
    pub fn reorder(&mut self, queue: &mut Queue) -> Result<(), TraceError> {
        if queue.point == 0 || self.point(queue.shader, queue.point)?.reason != SuspendReason::Reorder {
            return Ok(());
        }
        let mut keys = Vec::new();
        base::alloc::or_unwind(base::alloc::reserve(&mut keys, queue.invocations.len()));
        for &at in &queue.invocations {
            let one = *self.invocations.get(at.invocation)?;
            let mut words = [0; ReorderOperand::COUNT as usize];
            self.frames[one.shader as usize].read(one.frame, 0, &mut words);
            let [kind, record, hint, bits] = words;
            let shader = self.object_shader(Kind::from_word(kind), record).map(|callee| callee.shader);
            // Without a number of bits there is no hint.
            let hint = hint & u32::MAX.checked_shr(32 - bits.min(32)).unwrap_or(0);
            keys.push((shader, hint, record, at));
        }
        keys.sort_unstable();
        let ids = base::alloc::or_unwind(base::alloc::collect(keys.iter().map(|key| self.ids[key.3.launch as usize])));
        for ((at, (.., one)), id) in queue.invocations.iter_mut().zip(keys).zip(ids) {
            self.invocations.get_mut(one.invocation)?.launch = at.launch;
            self.ids[at.launch as usize] = id;
            at.invocation = one.invocation;
        }
        Ok(())
    }

    /// Answers an invocation that asks for an instance of a structure; all is 0 if there is none.
    pub fn read_instance(&mut self, invocation: u32) -> Result<(), TraceError> {
        let one = *self.invocations.get(invocation)?;
        if self.point(one.shader, one.point)?.operands < ReadInstanceOperand::COUNT + InstanceWord::COUNT {
            return Err(TraceError::Internal);
        }
        let mut operands = [0; ReadInstanceOperand::COUNT as usize];
        self.frames[one.shader as usize].read(one.frame, 0, &mut operands);
        let [low, high, instance, time] = operands;
        let mut words = [0; InstanceWord::COUNT as usize];
        let tracer = self.launch.tracer;
        let structure = tracer.open(u64::from(high) << 32 | u64::from(low));
        if let Some(found) = tracer.instance(&structure, instance, f32::from_bits(time)) {
            words[InstanceWord::CustomIndex as usize] = found.custom_index;
            words[InstanceWord::SbtOffset as usize] = found.sbt_offset;
            let transforms = [
                (InstanceWord::ObjectToWorld, &found.object_to_world),
                (InstanceWord::WorldToObject, &found.world_to_object),
            ];
            for (first, rows) in transforms {
                let columns = matrix_columns(rows).map(f32::to_bits);
                words[first as usize..][..columns.len()].copy_from_slice(&columns);
            }
        }
        self.set_new_words(invocation, &words)?;
        self.queue(invocation)
    }
}

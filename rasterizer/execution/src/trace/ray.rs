//! The loop over the shaders of rays: traversal, any-hit, intersection, closest-hit and miss
//! shaders.

#![forbid(unsafe_code)]

use super::launch::TraceError;
use super::queues::Queued;
use super::state::{Callee, Hit, Start, Trace, Traversals};
use super::tile::Tile;
use super::traversal::{IntersectionKind, RayArguments, Tracer, ray_flags};
use crate::stage::{StageMemory, aborted};
use base::shader::{Stage, TraceRayOperand as Operand};

/// Returns the ray with these operands.
#[inline]
fn ray_of(words: &[u32; Operand::COUNT as usize]) -> RayArguments {
    let word = |operand: Operand| words[operand as usize];
    let float = |operand: Operand| f32::from_bits(word(operand));
    RayArguments {
        structure: u64::from(word(Operand::StructureHigh)) << 32 | u64::from(word(Operand::StructureLow)),
        flags: word(Operand::Flags),
        cull_mask: word(Operand::CullMask) & 0xff,
        origin: [Operand::OriginX, Operand::OriginY, Operand::OriginZ].map(float),
        t_min: float(Operand::TMin),
        direction: [Operand::DirectionX, Operand::DirectionY, Operand::DirectionZ].map(float),
        t_max: float(Operand::TMax),
        time: float(Operand::Time),
    }
}

impl<T: Tracer> Tile<'_, T> {
    /// Traces the rays for which invocations wait, up to their closest-hit or miss shaders.
    pub fn trace_rays(&mut self, memory: &mut StageMemory) -> Result<(), TraceError> {
        let waiting = self.queues.take_rays();
        self.begin_rays(&waiting)?;
        self.queues.keep(waiting);
        self.trace_wave(memory)?;
        if aborted(&self.launch.context) {
            return Ok(());
        }
        self.finish_rays()
    }

    /// Runs the shaders that decide about the candidates of the wave's active rays.
    pub fn decide(
        &mut self,
        traversals: &mut Traversals<'_, T::Traversal>,
        memory: &mut StageMemory,
    ) -> Result<(), TraceError> {
        let (mut any_hits, mut intersections) = core::mem::take(&mut self.hit_memory.candidates);
        any_hits.clear();
        intersections.clear();
        self.sort_candidates(traversals, (&mut any_hits, &mut intersections))?;
        self.decide_candidates(&mut any_hits, traversals, memory)?;
        self.intersect(&mut intersections, traversals, memory)?;
        self.hit_memory.candidates = (any_hits, intersections);
        Ok(())
    }

    /// Makes a wave of the rays of invocations.
    fn begin_rays(&mut self, waiting: &[Queued]) -> Result<(), TraceError> {
        self.wave.clear(waiting.len());
        for at in waiting {
            let one = *self.invocations.get(at.invocation)?;
            if self.point(one.shader, one.point)?.operands < Operand::COUNT {
                return Err(TraceError::Internal);
            }
            let mut words = [0; Operand::COUNT as usize];
            self.frames[one.shader as usize].read(one.frame, 0, &mut words);
            let ray = ray_of(&words);
            let structure = self.wave.structure(self.launch.tracer, ray.structure);
            self.wave.rays.push(Trace {
                caller: at.invocation,
                depth: one.depth,
                launch: one.launch,
                ray,
                structure,
                place: 0,
                t_max: 0.0,
                sbt_offset: words[Operand::SbtOffset as usize] & 0xf,
                sbt_stride: words[Operand::SbtStride as usize] & 0xf,
                miss_index: words[Operand::MissIndex as usize] & 0xffff,
                hit: None,
                decision: None,
                reported: None,
            });
        }
        Ok(())
    }

    /// Sorts the candidates of all rays by what decides about them: any-hit or intersection
    /// shaders. A built-in primitive without such a shader is confirmed.
    fn sort_candidates(
        &mut self,
        traversals: &mut Traversals<'_, T::Traversal>,
        (any_hits, boxes): (&mut Vec<Start>, &mut Vec<Start>),
    ) -> Result<(), TraceError> {
        for i in 0..self.wave.active.len() {
            let ray = self.wave.active[i];
            let hit = self.hit(ray)?;
            let (stage, starts) = match hit.intersection.kind {
                IntersectionKind::Triangle | IntersectionKind::Sphere | IntersectionKind::Lss => {
                    (Stage::AnyHit, &mut *any_hits)
                }
                IntersectionKind::Aabb => (Stage::Intersection, &mut *boxes),
            };
            match self.of_hit_group(ray, stage)? {
                Some(callee) => {
                    let start = self.start_of(ray, callee, 1);
                    base::alloc::or_unwind(base::alloc::push(starts, start));
                }
                None if stage == Stage::AnyHit => self.launch.tracer.confirm(self.traversal(ray, traversals)?),
                None => {}
            }
        }
        Ok(())
    }

    /// Returns the traversal of a ray, which goes on.
    ///
    /// # Errors
    /// [`TraceError::Internal`]: the traversal is not among those about which shaders decide.
    pub fn traversal<'t>(
        &self,
        ray: u32,
        traversals: &'t mut Traversals<'_, T::Traversal>,
    ) -> Result<&'t mut T::Traversal, TraceError> {
        let place = self.wave.rays[ray as usize].place as usize;
        traversals.get_mut(place).and_then(Option::as_deref_mut).ok_or(TraceError::Internal)
    }

    /// Returns a ray.
    pub fn trace(&mut self, ray: u32) -> &mut Trace {
        &mut self.wave.rays[ray as usize]
    }

    /// Returns the current intersection of a ray.
    pub fn hit(&mut self, ray: u32) -> Result<&mut Hit, TraceError> {
        self.trace(ray).hit.as_mut().ok_or(TraceError::Internal)
    }

    /// Returns an invocation of a shader that a ray starts, `nested` levels below its caller.
    pub fn start_of(&self, ray: u32, callee: Callee, nested: u32) -> Start {
        let &Trace { caller, depth, launch, .. } = &self.wave.rays[ray as usize];
        Start { callee, launch, caller: Some(caller), ray: Some(ray), depth: depth + nested }
    }

    /// Returns a shader of the hit group of a ray's current intersection. An any-hit shader does
    /// not run if the intersection is opaque.
    pub fn of_hit_group(&mut self, ray: u32, stage: Stage) -> Result<Option<Callee>, TraceError> {
        let hit = &self.hit(ray)?.intersection;
        if stage == Stage::AnyHit && hit.opaque {
            return Ok(None);
        }
        Ok(self.callee(&self.launch.tables.hit, self.hit_record(ray), stage))
    }

    /// Returns the index of the record of a ray's current intersection.
    pub fn hit_record(&self, ray: u32) -> u64 {
        let &Trace { sbt_offset, sbt_stride, ref hit, .. } = &self.wave.rays[ray as usize];
        hit.as_ref().map_or(0, |Hit { intersection: at, .. }| {
            u64::from(at.sbt_offset) + u64::from(sbt_offset) + u64::from(at.geometry) * u64::from(sbt_stride)
        })
    }

    /// Starts the closest-hit or miss shaders of rays whose traversals have ended, and continues
    /// the callers of those without one.
    fn finish_rays(&mut self) -> Result<(), TraceError> {
        let mut starts = Vec::new();
        base::alloc::or_unwind(base::alloc::reserve(&mut starts, self.wave.rays.len()));
        for ray in 0..self.wave.rays.len() as u32 {
            if self.is_recorded(ray)? {
                self.record(ray)?;
                continue;
            }
            match self.last_shader(ray)? {
                Some(callee) => starts.push(self.start_of(ray, callee, 1)),
                None => self.queue(self.wave.rays[ray as usize].caller)?,
            }
        }
        self.start_all(&mut starts)
    }

    /// Returns the closest-hit or miss shader of a ray whose traversal has ended.
    fn last_shader(&mut self, ray: u32) -> Result<Option<Callee>, TraceError> {
        let trace = self.trace(ray);
        match trace.hit {
            Some(_) if trace.ray.flags & ray_flags::SKIP_CLOSEST_HIT_SHADER != 0 => Ok(None),
            Some(_) => self.of_hit_group(ray, Stage::ClosestHit),
            None => {
                let index = trace.miss_index.into();
                Ok(self.callee(&self.launch.tables.miss, index, Stage::Miss))
            }
        }
    }
}

//! The loop over the shaders of a ray: traversal, any-hit, intersection, closest-hit and miss
//! shaders.

#![forbid(unsafe_code)]

use super::launch::TraceError;
use super::state::{Attribute, Callee, Caller, Hit, Trace};
use super::tile::Tile;
use super::traversal::{IntersectionKind, RayArguments, Tracer, ray_flags};
use base::shader::{InvocationEnd, ReportIntersectionOperand, Stage, TraceRayOperand as Operand};

impl<T: Tracer> Tile<'_, T> {
    /// Begins the ray for which an invocation waits.
    pub fn begin_trace(&mut self, caller: u32) -> Result<(), TraceError> {
        let mut words = [0; Operand::COUNT as usize];
        self.operands(caller, &mut words)?;
        let word = |operand: Operand| words[operand as usize];
        let float = |operand: Operand| f32::from_bits(word(operand));
        let ray = RayArguments {
            structure: u64::from(word(Operand::StructureHigh)) << 32 | u64::from(word(Operand::StructureLow)),
            flags: word(Operand::Flags),
            cull_mask: word(Operand::CullMask) & 0xff,
            origin: [Operand::OriginX, Operand::OriginY, Operand::OriginZ].map(float),
            t_min: float(Operand::TMin),
            direction: [Operand::DirectionX, Operand::DirectionY, Operand::DirectionZ].map(float),
            t_max: float(Operand::TMax),
        };
        let trace = self.traces.add(Trace {
            caller,
            ray,
            sbt_offset: word(Operand::SbtOffset) & 0xf,
            sbt_stride: word(Operand::SbtStride) & 0xf,
            miss_index: word(Operand::MissIndex) & 0xffff,
            traversal: self.launch.tracer.begin(&ray),
            hit: None,
            reported: None,
            reporter: None,
        });
        self.advance(trace)
    }

    /// Continues the traversal of a ray up to the next shader that has to run.
    pub fn advance(&mut self, at: u32) -> Result<(), TraceError> {
        let tracer = self.launch.tracer;
        while let Some(candidate) = tracer.proceed(&mut self.traces.get_mut(at)?.traversal) {
            self.traces.get_mut(at)?.hit = Some(Hit::new(candidate));
            let stage = match candidate.kind {
                IntersectionKind::Triangle => Stage::AnyHit,
                IntersectionKind::Aabb => Stage::Intersection,
            };
            let callee = self.of_hit_group(at, stage)?;
            match (stage, callee) {
                (Stage::AnyHit, None) => tracer.confirm(&mut self.traces.get_mut(at)?.traversal),
                (_, None) => {}
                (_, Some(callee)) => return self.start_for(at, callee),
            }
        }
        self.finish(at)
    }

    /// Returns a shader of the hit group of a ray's current intersection. An any-hit shader does
    /// not run if the intersection is opaque.
    fn of_hit_group(&self, at: u32, stage: Stage) -> Result<Option<Callee>, TraceError> {
        let trace = self.traces.get(at)?;
        let hit = &trace.hit.ok_or(TraceError::Internal)?.intersection;
        if stage == Stage::AnyHit && hit.opaque {
            return Ok(None);
        }
        let geometry = u64::from(hit.geometry) * u64::from(trace.sbt_stride);
        let index = u64::from(hit.sbt_offset) + u64::from(trace.sbt_offset) + geometry;
        Ok(self.callee(&self.launch.tables.hit, index, stage))
    }

    /// Starts a shader for a ray.
    fn start_for(&mut self, at: u32, callee: Callee) -> Result<(), TraceError> {
        let caller = *self.invocations.get(self.traces.get(at)?.caller)?;
        let reports = u32::from(self.traces.get(at)?.reporter.is_some());
        self.start(callee, caller.launch, Caller::Trace(at), caller.depth + 1 + reports)
    }

    /// Runs the closest-hit or miss shader of a ray whose traversal has ended.
    fn finish(&mut self, at: u32) -> Result<(), TraceError> {
        let trace = self.traces.get_mut(at)?;
        let callee = match self.launch.tracer.committed(&trace.traversal) {
            Some(_) if trace.ray.flags & ray_flags::SKIP_CLOSEST_HIT_SHADER != 0 => None,
            Some(committed) => {
                let mut hit = Hit::new(committed);
                if let (IntersectionKind::Aabb, Some(reported)) = (committed.kind, trace.reported) {
                    (hit.kind, hit.attribute) = reported;
                }
                trace.hit = Some(hit);
                self.of_hit_group(at, Stage::ClosestHit)?
            }
            None => {
                trace.hit = None;
                let index = trace.miss_index.into();
                self.callee(&self.launch.tables.miss, index, Stage::Miss)
            }
        };
        match callee {
            Some(callee) => self.start_for(at, callee),
            None => self.end_trace(at),
        }
    }

    /// Ends a ray, and continues the invocation that waits for it.
    pub fn end_trace(&mut self, at: u32) -> Result<(), TraceError> {
        let caller = self.traces.get(at)?.caller;
        self.traces.remove(at)?;
        self.queue(caller)
    }

    /// Handles an intersection that an intersection shader reports.
    pub fn report(&mut self, reporter: u32) -> Result<(), TraceError> {
        let Caller::Trace(at) = self.invocations.get(reporter)?.caller else { return Err(TraceError::Internal) };
        let operands = self.point(reporter)?.operands;
        let words = operands.checked_sub(ReportIntersectionOperand::COUNT).ok_or(TraceError::Internal)?;
        let mut attribute = Attribute::default();
        for (number, word) in (0..words).zip(&mut attribute) {
            *word = self.operand(reporter, number)?;
        }
        let t = f32::from_bits(self.operand(reporter, words + ReportIntersectionOperand::T as u32)?);
        let kind = self.operand(reporter, words + ReportIntersectionOperand::Kind as u32)?;
        let tracer = self.launch.tracer;
        let trace = self.traces.get_mut(at)?;
        if !(t >= trace.ray.t_min && t <= tracer.t_max(&trace.traversal)) {
            return self.answer_report(reporter, false);
        }
        let hit = trace.hit.as_mut().ok_or(TraceError::Internal)?;
        (hit.intersection.t, hit.kind, hit.attribute) = (t, kind, attribute);
        trace.reporter = Some(reporter);
        match self.of_hit_group(at, Stage::AnyHit)? {
            Some(callee) => self.start_for(at, callee),
            None => self.decide(at, InvocationEnd::Returned),
        }
    }

    /// Accepts or ignores the current intersection of a ray, as its any-hit shader has ended.
    pub fn decide(&mut self, at: u32, end: InvocationEnd) -> Result<(), TraceError> {
        let tracer = self.launch.tracer;
        let trace = self.traces.get_mut(at)?;
        let hit = trace.hit.ok_or(TraceError::Internal)?;
        let reporter = trace.reporter.take();
        let accepted = end != InvocationEnd::Ignored
            && match reporter {
                Some(_) => tracer.generate(&mut trace.traversal, hit.intersection.t),
                None => {
                    tracer.confirm(&mut trace.traversal);
                    true
                }
            };
        if accepted && reporter.is_some() {
            trace.reported = Some((hit.kind, hit.attribute));
        }
        let first_ends = accepted && trace.ray.flags & ray_flags::TERMINATE_ON_FIRST_HIT != 0;
        let ends = first_ends || end == InvocationEnd::Terminated;
        if ends {
            tracer.terminate(&mut trace.traversal);
        }
        match reporter {
            Some(reporter) if ends => {
                self.remove(reporter)?;
                self.advance(at)
            }
            Some(reporter) => self.answer_report(reporter, accepted),
            None => self.advance(at),
        }
    }

    /// Continues an intersection shader behind a report.
    fn answer_report(&mut self, reporter: u32, accepted: bool) -> Result<(), TraceError> {
        let result = self.point(reporter)?.operands.checked_sub(1).ok_or(TraceError::Internal)?;
        let one = *self.invocations.get(reporter)?;
        self.frames[one.shader as usize].set(one.frame, result, accepted.into());
        self.update_t_max(one)?;
        self.queue(reporter)
    }
}

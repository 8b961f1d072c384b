//! Any-hit and intersection shaders of rays that are traced together. They neither trace nor call,
//! so that each shader runs once for all candidates that it decides about.

#![forbid(unsafe_code)]

use super::launch::TraceError;
use super::state::{Attribute, CalledReporters, Reporter, ReporterMemory, Start, Traversals};
use super::tile::{Direction, Tile, by_shader};
use super::traversal::{Tracer, ray_flags};
use crate::stage::{StageMemory, aborted};
use base::shader::{InvocationEnd, ReportIntersectionOperand, Stage, SuspendReason};

/// Invocations of an intersection shader that have begun together.
#[derive(Clone, Copy)]
struct Reporters<'a> {
    shader: u32,
    starts: &'a [Start],
    frames: &'a [u32],
}

impl Reporters<'_> {
    /// Returns the ray about which a reporter decides.
    fn ray(&self, of: Reporter) -> Result<u32, TraceError> {
        self.starts[of.place].ray.ok_or(TraceError::Internal)
    }
}

impl<T: Tracer> Tile<'_, T> {
    /// Runs the any-hit shaders of candidates, which accept or ignore them.
    pub fn decide_candidates(
        &mut self,
        starts: &mut [Start],
        traversals: &mut Traversals<'_, T::Traversal>,
        memory: &mut StageMemory,
    ) -> Result<(), TraceError> {
        self.run_any_hits(starts, memory)?;
        for ray in starts.iter().filter_map(|start| start.ray) {
            let Some(end) = self.trace(ray).decision else { continue };
            let accepted = end != InvocationEnd::Ignored;
            if accepted {
                self.launch.tracer.confirm(self.traversal(ray, traversals)?);
            }
            self.ends_ray(ray, traversals, (end, accepted))?;
        }
        Ok(())
    }

    /// Ends a ray's traversal if the decision demands it; returns true if so.
    fn ends_ray(
        &mut self,
        ray: u32,
        traversals: &mut Traversals<'_, T::Traversal>,
        (end, accepted): (InvocationEnd, bool),
    ) -> Result<bool, TraceError> {
        let first = accepted && self.trace(ray).ray.flags & ray_flags::TERMINATE_ON_FIRST_HIT != 0;
        let ends = first || end == InvocationEnd::Terminated;
        if ends {
            self.launch.tracer.terminate(self.traversal(ray, traversals)?);
        }
        Ok(ends)
    }

    /// Runs any-hit shaders, whose ends become the decisions about their rays' intersections.
    fn run_any_hits(&mut self, starts: &mut [Start], memory: &mut StageMemory) -> Result<(), TraceError> {
        let (mut frames, mut ends) = core::mem::take(&mut self.hit_memory.any_hit);
        for starts in by_shader(starts) {
            let shader = starts[0].callee.shader;
            self.begin_together(shader, starts, &mut frames)?;
            self.call(shader, 0, &frames, &mut ends, memory)?;
            if aborted(&self.launch.context) {
                return Ok(());
            }
            self.copy_data(shader, &frames, |i| starts[i].caller, Direction::ToCaller)?;
            for (start, &end) in starts.iter().zip(&ends) {
                let (end, ray) = (InvocationEnd::from_word(end), start.ray.ok_or(TraceError::Internal)?);
                if matches!(end, InvocationEnd::Suspended(_)) {
                    return Err(TraceError::Internal);
                }
                self.trace(ray).decision = Some(end);
            }
        }
        self.hit_memory.any_hit = (frames, ends);
        Ok(())
    }

    /// Prepares invocations of a shader of which no others are executed.
    fn begin_together(&mut self, shader: u32, starts: &[Start], frames: &mut Vec<u32>) -> Result<(), TraceError> {
        let of_shader = self.frames.get_mut(shader as usize).ok_or(TraceError::Internal)?;
        of_shader.take_first(starts.len(), frames)?;
        self.prepare(shader, starts, frames)
    }

    /// Runs intersection shaders of candidates.
    pub fn intersect(
        &mut self,
        starts: &mut [Start],
        traversals: &mut Traversals<'_, T::Traversal>,
        memory: &mut StageMemory,
    ) -> Result<(), TraceError> {
        let ReporterMemory { mut frames, mut waiting, mut reports, mut called } =
            core::mem::take(&mut self.hit_memory.reporters);
        for starts in by_shader(starts) {
            let shader = starts[0].callee.shader;
            self.begin_together(shader, starts, &mut frames)?;
            let all = Reporters { shader, starts, frames: &frames };
            waiting.clear();
            base::alloc::or_unwind(base::alloc::reserve(&mut waiting, starts.len()));
            waiting.extend((0..starts.len()).map(|place| Reporter { point: 0, place }));
            while !waiting.is_empty() && !aborted(&self.launch.context) {
                self.continue_reporters(all, (&mut waiting, &mut reports), &mut called, (&mut *traversals, memory))?;
            }
        }
        self.hit_memory.reporters = ReporterMemory { frames, waiting, reports, called };
        Ok(())
    }

    /// Runs those of the waiting invocations that have come least far, and answers what they
    /// report.
    fn continue_reporters(
        &mut self,
        all: Reporters<'_>,
        (waiting, reports): (&mut Vec<Reporter>, &mut Vec<Reporter>),
        CalledReporters { places, frames, ends }: &mut CalledReporters,
        (traversals, memory): (&mut Traversals<'_, T::Traversal>, &mut StageMemory),
    ) -> Result<(), TraceError> {
        waiting.sort_unstable();
        let point = waiting.first().map_or(0, |first| first.point);
        let count = waiting.iter().take_while(|reporter| reporter.point == point).count();
        places.clear();
        frames.clear();
        reports.clear();
        base::alloc::or_unwind(base::alloc::reserve(places, count));
        base::alloc::or_unwind(base::alloc::reserve(frames, count));
        places.extend(waiting.drain(..count).map(|reporter| reporter.place));
        frames.extend(places.iter().map(|&place| all.frames[place]));
        self.call(all.shader, point, frames, ends, memory)?;
        if aborted(&self.launch.context) {
            return Ok(());
        }
        for (&place, &end) in places.iter().zip(&*ends) {
            if let InvocationEnd::Suspended(point) = InvocationEnd::from_word(end) {
                base::alloc::or_unwind(base::alloc::push(reports, Reporter { point, place }));
            }
        }
        self.answer_reports(all, (reports, waiting), traversals, memory)
    }

    /// Decides about reported intersections, and appends the invocations that continue to those
    /// that wait.
    fn answer_reports(
        &mut self,
        all: Reporters<'_>,
        (reports, waiting): (&[Reporter], &mut Vec<Reporter>),
        traversals: &mut Traversals<'_, T::Traversal>,
        memory: &mut StageMemory,
    ) -> Result<(), TraceError> {
        let mut any_hits = core::mem::take(&mut self.hit_memory.any_hits);
        any_hits.clear();
        for &report in reports {
            let ray = all.ray(report)?;
            let is_inside = self.reported(all, report, traversals)?;
            self.trace(ray).decision = is_inside.then_some(InvocationEnd::Returned);
            if is_inside && let Some(callee) = self.of_hit_group(ray, Stage::AnyHit)? {
                let start = self.start_of(ray, callee, 2);
                base::alloc::or_unwind(base::alloc::push(&mut any_hits, start));
            }
        }
        if !any_hits.is_empty() {
            self.run_any_hits(&mut any_hits, memory)?;
        }
        self.hit_memory.any_hits = any_hits;
        if aborted(&self.launch.context) {
            return Ok(());
        }
        for &report in reports {
            let ray = all.ray(report)?;
            let accepted = match self.trace(ray).decision {
                Some(end) => self.generate(ray, end, traversals)?,
                None => Some(false),
            };
            let point = self.point(all.shader, report.point)?;
            if let Some(accepted) = accepted.filter(|_| !point.is_last) {
                let first = point.operands - ReportIntersectionOperand::COUNT;
                let t_max = self.launch.tracer.t_max(self.traversal(ray, traversals)?);
                let results = [t_max.to_bits(), accepted.into()];
                let to = &mut self.frames[all.shader as usize];
                to.set_each(&[all.frames[report.place]], (first, 0, 2), |_| results)?;
                base::alloc::or_unwind(base::alloc::push(waiting, report));
            }
        }
        Ok(())
    }

    /// Makes a reported intersection the ray's current one; returns false if it lies outside of the
    /// ray's interval.
    fn reported(
        &mut self,
        all: Reporters<'_>,
        report: Reporter,
        traversals: &mut Traversals<'_, T::Traversal>,
    ) -> Result<bool, TraceError> {
        let point = self.point(all.shader, report.point)?;
        let words = point.operands.checked_sub(ReportIntersectionOperand::COUNT).ok_or(TraceError::Internal)?;
        if point.reason != SuspendReason::ReportIntersection {
            return Err(TraceError::Internal);
        }
        let (frame, ray) = (all.frames[report.place], all.ray(report)?);
        let frames = &mut self.frames[all.shader as usize];
        let mut attribute = Attribute::default();
        let count = attribute.len().min(words as usize);
        frames.read(frame, 0, &mut attribute[..count]);
        let t = f32::from_bits(frames.get(frame, words + ReportIntersectionOperand::T as u32));
        let kind = frames.get(frame, words + ReportIntersectionOperand::Kind as u32);
        let t_max = self.launch.tracer.t_max(self.traversal(ray, traversals)?);
        if !(t >= self.trace(ray).ray.t_min && t <= t_max) {
            return Ok(false);
        }
        let hit = self.hit(ray)?;
        (hit.intersection.t, hit.kind, hit.attribute) = (t, kind, attribute);
        Ok(true)
    }

    /// Accepts or ignores a reported intersection. Returns whether it was accepted; `None` if the
    /// ray has ended, and with it the intersection shader.
    fn generate(
        &mut self,
        ray: u32,
        end: InvocationEnd,
        traversals: &mut Traversals<'_, T::Traversal>,
    ) -> Result<Option<bool>, TraceError> {
        let t = self.hit(ray)?.intersection.t;
        let accepted =
            end != InvocationEnd::Ignored && self.launch.tracer.generate(self.traversal(ray, traversals)?, t);
        if accepted {
            let trace = self.trace(ray);
            trace.reported = trace.hit.as_ref().map(|hit| (hit.kind, hit.attribute));
        }
        Ok(if self.ends_ray(ray, traversals, (end, accepted))? { None } else { Some(accepted) })
    }
}

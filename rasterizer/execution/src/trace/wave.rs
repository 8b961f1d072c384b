//! Rays that are traced together: all for which invocations of a tile wait at a time.

#![forbid(unsafe_code)]

use super::state::{Hit, Trace};
use super::traversal::{TOGETHER, Tracer};

/// Rays that are traced together. A ray is known by its number.
pub(super) struct Wave<R> {
    pub rays: Vec<Trace>,
    /// The traversals of the rays, and the memory of further ones.
    pub traversals: Vec<R>,
    /// Numbers of the rays whose traversals go on, in ascending order.
    pub active: Vec<u32>,
}

impl<R> Default for Wave<R> {
    fn default() -> Self {
        Wave { rays: Vec::new(), traversals: Vec::new(), active: Vec::new() }
    }
}

impl<R> Wave<R> {
    /// Begins the traversals of all rays.
    pub fn begin<T: Tracer<Traversal = R>>(&mut self, tracer: &T) {
        let more = self.rays.len().saturating_sub(self.traversals.len());
        base::alloc::or_unwind(base::alloc::reserve(&mut self.traversals, more));
        self.traversals.extend((0..more).map(|_| tracer.ended()));
        tracer.begin(self.traversals.iter_mut().zip(self.rays.iter().map(|trace| &trace.ray)));
        self.active.clear();
        base::alloc::or_unwind(base::alloc::reserve(&mut self.active, self.rays.len()));
        self.active.extend(0..self.rays.len() as u32);
    }

    /// Continues the traversals that go on up to their next candidates, which become the rays'
    /// intersections. Returns false if none goes on.
    pub fn proceed<T: Tracer<Traversal = R>>(&mut self, tracer: &T) -> bool {
        let (mut rest, mut first) = (&mut self.traversals[..], 0);
        for numbers in self.active.chunks(TOGETHER) {
            let mut together = [const { None }; TOGETHER];
            for (place, &number) in together.iter_mut().zip(numbers) {
                // Numbers ascend, so that each traversal is taken once.
                let behind = core::mem::take(&mut rest).get_mut((number - first) as usize..).unwrap_or_default();
                let Some((traversal, others)) = behind.split_first_mut() else { break };
                *place = Some(traversal);
                (rest, first) = (others, number + 1);
            }
            tracer.proceed(&mut together);
        }
        let (rays, traversals) = (&mut self.rays, &self.traversals);
        self.active.retain(|&number| match tracer.candidate(&traversals[number as usize]) {
            Some(candidate) => {
                rays[number as usize].hit = Some(Hit::new(candidate));
                true
            }
            None => false,
        });
        !self.active.is_empty()
    }
}

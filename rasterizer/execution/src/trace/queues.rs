//! Queues of invocations that begin or continue, and of those that wait for rays to be traced.

#![forbid(unsafe_code)]

use core::cmp::Reverse;

/// Invocations of a shader that wait at the same point, or begin.
pub(super) struct Queue {
    pub shader: u32,
    pub point: u32,
    /// Depth of the most deeply nested invocation.
    depth: u32,
    pub invocations: Vec<Queued>,
}

/// An invocation in a queue, which comes before others in the order of launch ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Queued {
    pub launch: u32,
    pub invocation: u32,
}

/// The queues of a tile.
#[derive(Default)]
pub(super) struct Queues {
    /// The queues that have invocations.
    queues: Vec<Queue>,
    /// Number of the queue that was used last.
    last: usize,
    /// Invocations that wait for rays to be traced, and the depth of the most deeply nested one.
    rays: Vec<Queued>,
    rays_depth: u32,
    /// Memory of queues that have become empty.
    spare: Vec<Vec<Queued>>,
}

impl Queues {
    /// Adds an invocation at a depth to the queue of a shader and point.
    #[inline]
    pub fn add(&mut self, (shader, point): (u32, u32), depth: u32, at: Queued) {
        let matches = |queue: &Queue| (queue.shader, queue.point) == (shader, point);
        if !self.queues.get(self.last).is_some_and(matches) {
            self.last = self.queues.iter().position(matches).unwrap_or_else(|| self.add_queue(shader, point));
        }
        let queue = &mut self.queues[self.last];
        queue.depth = queue.depth.max(depth);
        base::alloc::or_unwind(base::alloc::push(&mut queue.invocations, at));
    }

    fn add_queue(&mut self, shader: u32, point: u32) -> usize {
        let invocations = self.spare.pop().unwrap_or_default();
        base::alloc::or_unwind(base::alloc::push(&mut self.queues, Queue { shader, point, depth: 0, invocations }));
        self.queues.len() - 1
    }

    /// Adds an invocation that waits for a ray.
    #[inline]
    pub fn add_ray(&mut self, depth: u32, at: Queued) {
        self.rays_depth = self.rays_depth.max(depth);
        base::alloc::or_unwind(base::alloc::push(&mut self.rays, at));
    }

    /// Returns true if rays are to be traced before a queue runs: no invocation that is nested as
    /// deeply could add another ray.
    pub fn rays_are_next(&self) -> bool {
        !self.rays.is_empty() && self.queues.iter().all(|queue| queue.depth < self.rays_depth)
    }

    /// Takes the invocations that wait for rays.
    pub fn take_rays(&mut self) -> Vec<Queued> {
        self.rays_depth = 0;
        let spare = self.spare.pop().unwrap_or_default();
        sorted(core::mem::replace(&mut self.rays, spare))
    }

    /// Takes the queue with the most deeply nested invocation, so that callers continue together;
    /// among equals the fullest one, and then that of the first shader and point.
    pub fn take(&mut self) -> Option<Queue> {
        let order = |queue: &Queue| (Reverse((queue.depth, queue.invocations.len())), queue.shader, queue.point);
        let at = (0..self.queues.len()).min_by_key(|&i| order(&self.queues[i]))?;
        let queue = self.queues.swap_remove(at);
        Some(Queue { invocations: sorted(queue.invocations), ..queue })
    }

    /// Gives a queue's memory back.
    pub fn give_back(&mut self, queue: Queue) {
        self.keep(queue.invocations);
    }

    /// Keeps the memory of a list.
    pub fn keep(&mut self, mut list: Vec<Queued>) {
        list.clear();
        base::alloc::or_unwind(base::alloc::push(&mut self.spare, list));
    }

    /// Forgets all invocations.
    pub fn clear(&mut self) {
        self.queues.clear();
        self.rays.clear();
        self.rays_depth = 0;
    }
}

fn sorted(mut list: Vec<Queued>) -> Vec<Queued> {
    if !list.is_sorted() {
        list.sort_unstable();
    }
    list
}

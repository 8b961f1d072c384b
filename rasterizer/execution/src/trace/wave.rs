//! Rays that are traced together: all for which invocations of a tile wait at a time.

#![forbid(unsafe_code)]

use super::state::Trace;
use super::traversal::Tracer;

/// Rays that are traced together. A ray is known by its number.
pub(super) struct Wave<T: Tracer> {
    pub rays: Vec<Trace>,
    /// Number of rays that have begun.
    pub begun: usize,
    /// The structures of the rays.
    structures: Vec<(u64, T::Structure)>,
    /// Numbers of the rays about whose candidates shaders decide.
    pub active: Vec<u32>,
}

impl<T: Tracer> Default for Wave<T> {
    fn default() -> Self {
        Wave { rays: Vec::new(), begun: 0, structures: Vec::new(), active: Vec::new() }
    }
}

impl<T: Tracer> Wave<T> {
    /// Forgets all rays, and makes room for `rays` others.
    pub fn clear(&mut self, rays: usize) {
        (self.begun, self.rays) = (0, core::mem::take(&mut self.rays));
        self.rays.clear();
        self.structures.clear();
        self.active.clear();
        base::alloc::or_unwind(base::alloc::reserve(&mut self.rays, rays));
    }

    /// Returns the number of the structure at an address for the rays of the wave.
    pub fn structure(&mut self, tracer: &T, address: u64) -> u32 {
        // The rays of a wave usually have one structure.
        if self.structures.last().is_none_or(|last| last.0 != address) {
            let opened = (address, tracer.open(address));
            base::alloc::or_unwind(base::alloc::push(&mut self.structures, opened));
        }
        self.structures.len() as u32 - 1
    }

    /// Returns a structure of the wave.
    pub fn opened(&self, structure: u32) -> &T::Structure {
        &self.structures[structure as usize].1
    }
}

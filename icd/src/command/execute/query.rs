//! Queries, timestamps and events.

use super::Executor;
use crate::command::CopyQueryPoolResults;
use crate::object::query::{Counters, QueryPool};
use crate::object::sync::Event;
use crate::os::clock::now;
use ash::vk;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Executor<'_> {
    pub(super) fn begin_query(&mut self, pool: &QueryPool, query: u32, stream: u32) {
        let Some(query) = pool.queries.get(query as usize) else { return };
        self.count_in(pool.query_type, &query.counters, stream, true);
    }

    /// Makes subsequent draws count in these counters, or no longer.
    fn count_in(&mut self, query_type: vk::QueryType, counters: &Counters, stream: u32, begins: bool) {
        let sinks = &mut self.queries;
        let stream = stream as usize;
        let active = begins.then_some(counters);
        match query_type {
            vk::QueryType::OCCLUSION => sinks.occlusion = active.and_then(Counters::value),
            vk::QueryType::PIPELINE_STATISTICS => {
                // A query that begins twice counts once.
                let own = counters.statistics();
                sinks.statistics.retain(|other| own.as_ref().is_none_or(|own| !Arc::ptr_eq(own, other)));
                sinks.statistics.extend(own.filter(|_| begins));
            }
            vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT => {
                sinks.feedback.get_mut(stream).into_iter().for_each(|s| *s = active.and_then(Counters::feedback));
            }
            vk::QueryType::PRIMITIVES_GENERATED_EXT => {
                sinks.generated.get_mut(stream).into_iter().for_each(|s| *s = active.and_then(Counters::value));
            }
            vk::QueryType::MESH_PRIMITIVES_GENERATED_EXT => sinks.meshes = active.and_then(Counters::value),
            _ => {}
        }
    }

    pub(super) fn end_query(&mut self, pool: &Arc<QueryPool>, query: u32, stream: u32) {
        if let Some(query) = pool.queries.get(query as usize) {
            self.count_in(pool.query_type, &query.counters, stream, false);
        }
        match &mut self.render {
            // The draws of the query may still be deferred.
            Some(render) => render.ended_queries.push((pool.clone(), query)),
            None => pool.range(query, 1).iter().for_each(|q| self.device.make_available(q)),
        }
    }

    pub(super) fn write_timestamp(&mut self, pool: &QueryPool, query: u32) {
        self.flush();
        // Multiview writes one query per view.
        let views = self.render.as_ref().map_or(1, |r| r.views.len());
        for query in pool.range(query, views as u32) {
            query.counters.all().iter().for_each(|value| value.store(now(), Ordering::Release));
            self.device.make_available(query);
        }
    }

    pub(super) fn copy_query_pool_results(&mut self, c: &CopyQueryPoolResults) {
        let mut outside = false;
        for (i, query) in c.pool.range(c.first, c.count).iter().enumerate() {
            // Everything before is done, except queries that are ended by the host or never: those
            // stay unavailable.
            let at = c.dst.1.saturating_add((i as u64).saturating_mul(c.stride));
            c.pool.write_result(query, c.flags, |offset, bytes| {
                let Some(range) = self.exact(&c.dst.0, at.saturating_add(offset), bytes.len() as u64) else {
                    outside = true;
                    return;
                };
                // SAFETY: `exact` checked the bounds of the range, and the bytes do not overlap it.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), range.address, bytes.len()) };
            });
        }
        if outside {
            self.device.report_invalid_usage("vkCmdCopyQueryPoolResults writes where no memory is");
        }
    }

    pub(super) fn wait_events(&mut self, events: &[Arc<Event>]) {
        self.barrier();
        let (device, queue) = (self.device, self.queue);
        let mut set = false;
        let wait = || {
            set = events.iter().all(|e| e.is_set());
            set || queue.is_stopping() || device.is_losing()
        };
        let _ = device.sync.wait(u64::MAX, wait);
        if !set {
            // The device is lost, or is being destroyed: commands after the wait are not executed.
            device.abort.store(1, Ordering::Release);
        }
    }
}

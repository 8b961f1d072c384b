//! Query pools: one row per type, with the counters of its queries.

use super::sync::Sync;
use crate::fallible;
use ash::vk;
use rasterizer::api::Statistics;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counters of a query. They are shared with draws that are still being executed.
pub enum Counters {
    /// Occlusion: samples. Timestamp: nanoseconds. Generated primitives: their number. Acceleration
    /// structures: the property.
    Value(Arc<AtomicU64>),
    /// Pipeline statistics, in bit order.
    Statistics(Arc<Statistics>),
    /// Transform feedback: primitives written, and those that buffers of unlimited size would have
    /// received.
    Feedback(Arc<[AtomicU64; 2]>),
}

/// A type of queries, and the function that makes the counters of one.
type QueryTypeRow = (vk::QueryType, fn() -> Counters);

const QUERY_TYPES: &[QueryTypeRow] = &[
    (vk::QueryType::OCCLUSION, || Counters::Value(Arc::default())),
    (vk::QueryType::PIPELINE_STATISTICS, || Counters::Statistics(Arc::default())),
    (vk::QueryType::TIMESTAMP, || Counters::Value(Arc::default())),
    (vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, || Counters::Feedback(Arc::default())),
    (vk::QueryType::PRIMITIVES_GENERATED_EXT, || Counters::Value(Arc::default())),
    (vk::QueryType::MESH_PRIMITIVES_GENERATED_EXT, || Counters::Value(Arc::default())),
    (vk::QueryType::ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR, || Counters::Value(Arc::default())),
    (vk::QueryType::ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR, || Counters::Value(Arc::default())),
    (vk::QueryType::ACCELERATION_STRUCTURE_SERIALIZATION_BOTTOM_LEVEL_POINTERS_KHR, || Counters::Value(Arc::default())),
    (vk::QueryType::ACCELERATION_STRUCTURE_SIZE_KHR, || Counters::Value(Arc::default())),
    (vk::QueryType::MICROMAP_SERIALIZATION_SIZE_EXT, || Counters::Value(Arc::default())),
    (vk::QueryType::MICROMAP_COMPACTED_SIZE_EXT, || Counters::Value(Arc::default())),
];

impl Counters {
    /// Returns all counters, in the order of results.
    pub fn all(&self) -> &[AtomicU64] {
        match self {
            Counters::Value(value) => std::slice::from_ref(value),
            Counters::Statistics(statistics) => &**statistics,
            Counters::Feedback(feedback) => &**feedback,
        }
    }

    /// Returns the counter of a query with one.
    pub fn value(&self) -> Option<Arc<AtomicU64>> {
        if let Counters::Value(value) = self { Some(value.clone()) } else { None }
    }

    /// Returns the pipeline statistics.
    pub fn statistics(&self) -> Option<Arc<Statistics>> {
        if let Counters::Statistics(statistics) = self { Some(statistics.clone()) } else { None }
    }

    /// Returns the counters of transform feedback.
    pub fn feedback(&self) -> Option<Arc<[AtomicU64; 2]>> {
        if let Counters::Feedback(feedback) = self { Some(feedback.clone()) } else { None }
    }
}

/// One query.
pub struct Query {
    /// Counters of the query.
    pub counters: Counters,
    available: AtomicBool,
}

/// `VkQueryPool`.
pub struct QueryPool {
    /// Type of its queries.
    pub query_type: vk::QueryType,
    /// Statistics that results contain, in bit order.
    pub statistics: vk::QueryPipelineStatisticFlags,
    /// Queries by number.
    pub queries: Box<[Query]>,
}

impl Query {
    /// Makes the query unavailable and zero.
    pub fn reset(&self) {
        self.available.store(false, Ordering::Release);
        self.counters.all().iter().for_each(|c| c.store(0, Ordering::Relaxed));
    }
    /// Makes the results available, when the commands that they count have completed.
    pub fn make_available(&self, sync: &Sync) {
        sync.notify(|| self.available.store(true, Ordering::Release));
    }
    /// Returns true if results can be read.
    pub fn is_available(&self) -> bool {
        self.available.load(Ordering::Acquire)
    }
}

impl QueryPool {
    /// Creates a query pool; refuses types that the driver does not have.
    pub fn new(info: &vk::QueryPoolCreateInfo<'_>) -> Result<QueryPool, vk::Result> {
        let row = QUERY_TYPES.iter().find(|(query_type, _)| *query_type == info.query_type);
        let counters = row.ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT)?.1;
        let queries = fallible::try_collect((0..info.query_count).map(|_| {
            // Each query needs a small allocation.
            fallible::check()?;
            Ok(Query { counters: counters(), available: AtomicBool::new(false) })
        }))?;
        Ok(QueryPool { query_type: info.query_type, statistics: info.pipeline_statistics, queries: queries.into() })
    }

    /// Returns the queries `[first, first + count)` that exist.
    pub fn range(&self, first: u32, count: u32) -> &[Query] {
        let start = (first as usize).min(self.queries.len());
        let end = start.saturating_add(count as usize).min(self.queries.len());
        &self.queries[start..end]
    }

    /// Returns the values of one query, in result order.
    pub fn values(&self, query: &Query) -> smallvec::SmallVec<[u64; 12]> {
        let of_statistics = self.query_type == vk::QueryType::PIPELINE_STATISTICS;
        let bits = if of_statistics { self.statistics.as_raw() } else { u32::MAX };
        let all = query.counters.all().iter().enumerate();
        all.filter(|(i, _)| bits & (1 << i) != 0).map(|(_, c)| c.load(Ordering::Acquire)).collect()
    }

    /// Writes one query's result under `flags` with `write(byte offset, bytes)`; returns false if
    /// it is unavailable and was not (completely) written.
    pub fn write_result(&self, query: &Query, flags: vk::QueryResultFlags, mut write: impl FnMut(u64, &[u8])) -> bool {
        let available = query.is_available();
        let wide = flags.contains(vk::QueryResultFlags::TYPE_64);
        let step = if wide { 8 } else { 4 };
        let mut put = |index: u64, value: u64| {
            if wide {
                write(index * step, &value.to_ne_bytes());
            } else {
                write(index * step, &(value as u32).to_ne_bytes());
            }
        };
        let values = self.values(query);
        if available || flags.contains(vk::QueryResultFlags::PARTIAL) {
            values.iter().enumerate().for_each(|(i, &v)| put(i as u64, v));
        }
        if flags.contains(vk::QueryResultFlags::WITH_AVAILABILITY) {
            put(values.len() as u64, u64::from(available));
        }
        available
    }
}

//! Query pools: occlusion, timestamp, pipeline statistics.

use super::sync::Sync;
use crate::fallible;
use ash::vk;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One query. Counters are shared with draws that are still under way.
#[derive(Default)]
pub struct Query {
    /// Occlusion: samples. Timestamp: nanoseconds.
    pub value: Arc<AtomicU64>,
    /// Pipeline statistics in bit order.
    pub statistics: Arc<[AtomicU64; 11]>,
    available: AtomicBool,
}

/// `VkQueryPool`.
pub struct QueryPool {
    /// What its queries count.
    pub query_type: vk::QueryType,
    /// Statistics that results contain, in bit order.
    pub statistics: vk::QueryPipelineStatisticFlags,
    /// By number.
    pub queries: Box<[Query]>,
}

impl Query {
    /// Unavailable and zero.
    pub fn reset(&self) {
        self.available.store(false, Ordering::Release);
        self.value.store(0, Ordering::Relaxed);
        self.statistics.iter().for_each(|s| s.store(0, Ordering::Relaxed));
    }
    /// Results can be read: what they count was executed to its end.
    pub fn make_available(&self, sync: &Sync) {
        sync.notify(|| self.available.store(true, Ordering::Release));
    }
    /// Can results be read?
    pub fn is_available(&self) -> bool {
        self.available.load(Ordering::Acquire)
    }
}

impl QueryPool {
    /// Types that the driver does not have are refused.
    pub fn new(info: &vk::QueryPoolCreateInfo<'_>) -> Result<QueryPool, vk::Result> {
        let known = [vk::QueryType::OCCLUSION, vk::QueryType::TIMESTAMP, vk::QueryType::PIPELINE_STATISTICS];
        if !known.contains(&info.query_type) {
            return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT);
        }
        let queries = fallible::try_collect((0..info.query_count).map(|_| {
            // Each brings two small allocations.
            fallible::check()?;
            Ok(Query::default())
        }))?;
        Ok(QueryPool { query_type: info.query_type, statistics: info.pipeline_statistics, queries: queries.into() })
    }

    /// The queries `[first, first + count)` that exist.
    pub fn range(&self, first: u32, count: u32) -> &[Query] {
        let start = (first as usize).min(self.queries.len());
        let end = start.saturating_add(count as usize).min(self.queries.len());
        &self.queries[start..end]
    }

    /// Values of one query, in result order.
    pub fn values(&self, query: &Query) -> smallvec::SmallVec<[u64; 12]> {
        if self.query_type != vk::QueryType::PIPELINE_STATISTICS {
            return smallvec::smallvec![query.value.load(Ordering::Acquire)];
        }
        let bits = self.statistics.as_raw();
        let wanted = (0..11).filter(|i| bits & (1 << i) != 0);
        wanted.map(|i| query.statistics[i].load(Ordering::Acquire)).collect()
    }

    /// The bytes of one query's result under `flags` at `write(byte offset, bytes)`; false when it is unavailable and was not
    /// (wholly) written.
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

//! Transform feedback. Captured primitives are counted when draws are appended, so ending it
//! usually need not wait for them.

#![forbid(unsafe_code)]

use super::Executor;
use super::inheritance::BindingKind;
use crate::command::{BufferOrAddress, DrawIndirectByteCount, FeedbackCounters, FeedbackRange};
use ash::vk;
use base::limits::CAPTURE_BUFFERS;
use base::mem::MemoryRange;
use rasterizer::api::{DrawCounts, Feedback};
use std::sync::Arc;

/// The bound buffers, and the active transform feedback.
#[derive(Default)]
pub(super) struct FeedbackState {
    buffers: FeedbackBuffers,
    pub active: Option<Arc<Feedback>>,
}

impl FeedbackState {
    /// Returns the memory of the bound buffers.
    pub fn buffers_mut(&mut self) -> &mut [MemoryRange] {
        &mut self.buffers.0
    }
}

struct FeedbackBuffers([MemoryRange; CAPTURE_BUFFERS]);

impl Default for FeedbackBuffers {
    fn default() -> Self {
        FeedbackBuffers([MemoryRange::NULL; CAPTURE_BUFFERS])
    }
}

impl Executor<'_> {
    pub(super) fn bind_transform_feedback_buffers(&mut self, first: u32, ranges: &[FeedbackRange]) {
        for (number, r) in (first as usize..CAPTURE_BUFFERS).zip(ranges) {
            let range = self.range(&r.location.0, r.location.1, r.size);
            if matches!(r.location.0, BufferOrAddress::Addresses) && r.size != vk::WHOLE_SIZE && range.size < r.size {
                let (address, size) = (r.location.1, r.size);
                self.device.report_invalid_usage(&format!(
                    "transform feedback buffer {number}: {size} bytes at {address:#x} reach where no memory is"
                ));
            }
            self.state.feedback.buffers.0[number] = range;
            self.record_binding(BindingKind::Feedback(number), &r.location, r.size);
        }
    }

    pub(super) fn begin_transform_feedback(&mut self, c: &FeedbackCounters) {
        let mut starts = [0; CAPTURE_BUFFERS];
        for (start, counter) in starts.iter_mut().skip(c.first as usize).zip(&c.counters) {
            let Some((base, offset)) = counter else { continue };
            match self.read_words::<1>(base, *offset) {
                Some([bytes]) => *start = bytes,
                None => self.device.report_invalid_usage("a transform feedback counter lies outside of its buffer"),
            }
        }
        self.state.feedback.active = Some(Arc::new(Feedback::new(self.state.feedback.buffers.0, starts)));
    }

    pub(super) fn end_transform_feedback(&mut self, c: &FeedbackCounters) {
        let Some(feedback) = self.state.feedback.active.take() else {
            return self.device.report_invalid_usage("transform feedback ends that was not active");
        };
        if !feedback.has_all_spans() {
            self.flush();
        }
        for (bytes, counter) in feedback.bytes().into_iter().skip(c.first as usize).zip(&c.counters) {
            let Some((base, offset)) = counter else { continue };
            if !self.write_word(base, *offset, bytes) {
                self.device.report_invalid_usage("a transform feedback counter lies outside of its buffer");
            }
        }
    }

    pub(super) fn draw_indirect_byte_count(&mut self, c: &DrawIndirectByteCount) {
        let Some([bytes]) = self.read_words::<1>(&c.counter.0, c.counter.1) else {
            return self.device.report_invalid_usage("a draw reads its count outside of the counter buffer");
        };
        let Some(count) = bytes.saturating_sub(c.counter_offset).checked_div(c.vertex_stride) else {
            return self.device.report_invalid_usage("a draw by byte count has no vertex stride");
        };
        let (instances, first_instance) = (c.instance_count, c.first_instance);
        let counts = DrawCounts { count, instances, first: 0, vertex_offset: 0, first_instance };
        self.draw_counts(counts, false, None);
        self.queue.watched.end();
    }
}

//! Pipeline layouts: set layouts in the form that the shader compiler needs.

use super::descriptor::{BindingInfo, SetLayout};
use super::descriptor_pool::DescriptorSet;
use super::sampler::Sampler;
use crate::caps::limits::MAX_DYNAMIC_BUFFERS;
use ash::vk;
use base::alloc::{OutOfMemory, or_unwind};
use base::limits::MAX_DESCRIPTOR_SETS;
use base::shader::{BindingLayout, HeapMapping, PipelineLayoutInfo, Stage};
use std::sync::{Arc, OnceLock};

/// Object behind a `VkPipelineLayout`.
#[derive(Default)]
pub struct PipelineLayout {
    /// Layout in the form that the compiler uses.
    pub info: Arc<PipelineLayoutInfo>,
    /// Set layouts, by set number.
    pub sets: Vec<Option<Arc<SetLayout>>>,
    /// Index of each set's first dynamic buffer among those of all sets, by set number.
    pub dynamic_base: Vec<u32>,
    /// Number of dynamic buffers of all sets.
    pub dynamic_count: u32,
    /// True for a pipeline with VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT: its sets are its own
    /// embedded samplers, and no sets are bound.
    pub uses_heap: bool,
    null_sets: Vec<OnceLock<DescriptorSet>>,
    empty: OnceLock<DescriptorSet>,
}

/// Limit that a refused pipeline layout exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLarge {
    /// More sets than `maxBoundDescriptorSets`.
    Sets(usize),
    /// More dynamic buffers in all sets than the driver has offsets for.
    DynamicBuffers(u32),
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TooLarge::Sets(n) => write!(f, "{n} descriptor sets, more than {MAX_DESCRIPTOR_SETS}"),
            TooLarge::DynamicBuffers(n) => write!(f, "{n} dynamic buffers, more than {MAX_DYNAMIC_BUFFERS}"),
        }
    }
}

impl From<TooLarge> for vk::Result {
    fn from(_: TooLarge) -> vk::Result {
        vk::Result::ERROR_OUT_OF_HOST_MEMORY
    }
}

impl PipelineLayout {
    /// Joins set layouts; a missing set is an empty one.
    ///
    /// # Errors
    /// [`TooLarge`] if a limit is exceeded.
    pub fn new(sets: Vec<Option<Arc<SetLayout>>>) -> Result<PipelineLayout, TooLarge> {
        let mut info = PipelineLayoutInfo::default();
        let mut dynamic_base = Vec::with_capacity(sets.len());
        let mut dynamic = 0u32;
        for set in &sets {
            dynamic_base.push(dynamic);
            let bindings = set.iter().flat_map(|s| &s.bindings);
            let layout = bindings.map(|b| BindingLayout {
                binding: b.binding,
                kind: b.kind,
                offset: b.offset,
                count: b.count,
                variable: b.is_variable(),
                dynamic_index: b.dynamic_index,
            });
            info.sets.push(layout.collect());
            dynamic = set.iter().fold(dynamic, |n, s| n.saturating_add(s.dynamic_count));
        }
        if sets.len() > MAX_DESCRIPTOR_SETS {
            return Err(TooLarge::Sets(sets.len()));
        }
        if dynamic > MAX_DYNAMIC_BUFFERS {
            return Err(TooLarge::DynamicBuffers(dynamic));
        }
        let null_sets = sets.iter().map(|_| OnceLock::new()).collect();
        Ok(PipelineLayout {
            info: Arc::new(info),
            sets,
            dynamic_base,
            dynamic_count: dynamic,
            uses_heap: false,
            null_sets,
            empty: OnceLock::new(),
        })
    }

    /// Creates the layout for stages with these embedded samplers: each stage has those of the set
    /// with its number.
    pub fn for_heap(stages: Vec<(Stage, Vec<Arc<Sampler>>)>) -> Result<PipelineLayout, vk::Result> {
        let mut sets = Vec::new();
        for (stage, immutable_samplers) in stages {
            let number = stage as usize;
            sets.resize(sets.len().max(number + 1), None);
            let binding = BindingInfo {
                binding: 0,
                ty: vk::DescriptorType::SAMPLER,
                count: immutable_samplers.len() as u32,
                immutable_samplers,
                flags: vk::DescriptorBindingFlags::empty(),
                mutable: Vec::new(),
            };
            sets[number] = Some(Arc::new(SetLayout::new(vec![binding])?));
        }
        Ok(PipelineLayout { uses_heap: true, ..PipelineLayout::new(sets)? })
    }

    /// Returns the layout as the compiler uses it for a stage with these mappings to descriptor
    /// heaps, if the stage has some.
    pub fn stage_info(&self, heap: Option<Vec<HeapMapping>>) -> Arc<PipelineLayoutInfo> {
        match heap {
            Some(mappings) => Arc::new(PipelineLayoutInfo { sets: self.info.sets.clone(), heap: Some(mappings) }),
            None => self.info.clone(),
        }
    }

    /// Returns the embedded samplers of a stage, if the pipeline uses descriptor heaps.
    pub fn embedded_samplers(&self, stage: Stage) -> &[Arc<Sampler>] {
        let set = self.sets.get(stage as usize).filter(|_| self.uses_heap).and_then(Option::as_ref);
        set.and_then(|set| set.bindings.first()).map_or(&[], |binding| &binding.immutable_samplers)
    }

    /// Returns a set of null descriptors, for a set number to which nothing compatible is bound.
    /// Unwinds the thread, which is the queue's worker, if there is no memory.
    pub fn null_set(&self, number: usize) -> &DescriptorSet {
        let make = |layout: Option<&Arc<SetLayout>>| {
            let set = DescriptorSet::new(layout.cloned().unwrap_or_default(), 0);
            or_unwind(set.map_err(|_| OutOfMemory))
        };
        match self.null_sets.get(number) {
            Some(slot) => slot.get_or_init(|| make(self.sets[number].as_ref())),
            None => self.empty.get_or_init(|| make(None)),
        }
    }
}

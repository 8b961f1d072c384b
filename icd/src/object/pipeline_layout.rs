//! Pipeline layouts: set layouts in the form that the shader compiler needs.

use super::descriptor::{BindingInfo, SetLayout};
use super::descriptor_pool::DescriptorSet;
use super::sampler::Sampler;
use crate::caps::limits::MAX_DYNAMIC_BUFFERS;
use crate::shader_compiler::compile::StageRequest;
use crate::shader_compiler::heap_resources::HeapResources;
use ash::vk;
use base::abi;
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

/// Reason why layouts have no union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutConflict {
    /// The sets with this number differ.
    Set(usize),
    /// One layout is for descriptor heaps, and the other one for sets.
    Heaps,
    /// The union exceeds a limit.
    Limit(TooLarge),
}

impl std::fmt::Display for LayoutConflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LayoutConflict::Set(number) => write!(f, "sets {number} have different bindings"),
            LayoutConflict::Heaps => write!(f, "only some of them are for descriptor heaps"),
            LayoutConflict::Limit(limit) => write!(f, "together they have {limit}"),
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

    /// Returns the layout with the sets of both layouts, which is one of them if that has all sets.
    /// A set that both have must be the same.
    ///
    /// # Errors
    /// The reasons are those of [`LayoutConflict`].
    pub fn union(self: &Arc<Self>, other: &Arc<Self>) -> Result<Arc<PipelineLayout>, LayoutConflict> {
        if Arc::ptr_eq(self, other) {
            return Ok(self.clone());
        }
        if self.uses_heap != other.uses_heap {
            return Err(LayoutConflict::Heaps);
        }
        let both = self.sets.iter().zip(&other.sets).enumerate();
        let mut both = both.filter_map(|(number, (a, b))| Some((number, a.as_ref()?, b.as_ref()?)));
        if let Some((number, ..)) = both.find(|(_, a, b)| !a.compatible(b)) {
            return Err(LayoutConflict::Set(number));
        }
        let set = |layout: &PipelineLayout, number: usize| layout.sets.get(number).cloned().flatten();
        let has_all = |a: &PipelineLayout, b: &PipelineLayout| {
            (0..b.sets.len()).all(|number| set(a, number).is_some() || set(b, number).is_none())
        };
        if has_all(self, other) {
            return Ok(self.clone());
        }
        if has_all(other, self) {
            return Ok(other.clone());
        }
        let count = self.sets.len().max(other.sets.len());
        let sets = (0..count).map(|number| set(self, number).or_else(|| set(other, number))).collect();
        let union = PipelineLayout::new(sets).map_err(LayoutConflict::Limit)?;
        Ok(Arc::new(PipelineLayout { uses_heap: self.uses_heap, ..union }))
    }

    /// Creates the layout for stages with these embedded samplers: each stage has those of the set
    /// with its number.
    pub fn for_heap(stages: Vec<(Stage, Vec<abi::Sampler>)>) -> Result<PipelineLayout, vk::Result> {
        let mut sets = Vec::new();
        for (stage, samplers) in stages {
            let immutable_samplers: Vec<_> = samplers.into_iter().map(|s| Arc::new(Sampler::new(s))).collect();
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
    pub fn embedded_samplers(&self, stage: Stage) -> Vec<abi::Sampler> {
        let set = self.sets.get(stage as usize).filter(|_| self.uses_heap).and_then(Option::as_ref);
        let binding = set.and_then(|set| set.bindings.first());
        binding.map_or(Vec::new(), |binding| binding.immutable_samplers.iter().map(|s| *s.sampler).collect())
    }

    /// Returns the mappings and embedded samplers of a stage, if it uses descriptor heaps.
    pub fn heap_resources(&self, request: &StageRequest) -> Option<HeapResources> {
        let mappings = request.layout.heap.clone()?;
        Some(HeapResources { mappings, samplers: self.embedded_samplers(request.stage) })
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

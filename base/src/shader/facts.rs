//! What is known of a compiled stage, once for whoever makes, stores, or runs it.

#![forbid(unsafe_code)]

use super::capture::Capture;
use super::interface::StageInterface;
use super::stage::Stage;
use std::sync::Arc;

/// Facts of a fragment stage that fixed-function code acts on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentFacts {
    /// May kill or demote.
    pub kills: bool,
    /// `EarlyFragmentTests`.
    pub early_fragment_tests: bool,
    /// `DepthReplacing`.
    pub writes_depth: bool,
    /// `DepthGreater`.
    pub depth_greater: bool,
    /// `DepthLess`.
    pub depth_less: bool,
    /// Writes the stencil reference.
    pub writes_stencil: bool,
    /// Writes SampleMask.
    pub writes_sample_mask: bool,
    /// Reads SampleId or SamplePosition, or has Sample-decorated inputs: shade per sample.
    pub sample_shading: bool,
    /// Reads input attachments.
    pub reads_input_attachments: bool,
    /// `PostDepthCoverage`.
    pub post_depth_coverage: bool,
    /// It writes colours that are the same for all fragments of a primitive, and does nothing else.
    pub flat: bool,
}

/// Facts of a stage whose invocations come in workgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkgroupFacts {
    /// Size.
    pub local_size: [u32; 3],
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Shared memory must be zero when a workgroup begins (an Initializer of OpConstantNull).
    pub zero_shared: bool,
}

impl Default for WorkgroupFacts {
    fn default() -> Self {
        WorkgroupFacts { local_size: [1; 3], shared_bytes: 0, zero_shared: false }
    }
}

impl WorkgroupFacts {
    /// Invocations of a workgroup.
    pub fn invocations(&self) -> u64 {
        self.local_size.iter().map(|&n| u64::from(n)).product()
    }
}

/// What only one stage has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Vertex.
    Vertex,
    /// Fragment.
    Fragment(FragmentFacts),
    /// Compute.
    Compute(WorkgroupFacts),
}

impl Payload {
    /// Of a stage of which nothing is known yet.
    pub fn new(stage: Stage) -> Payload {
        match stage {
            Stage::Vertex => Payload::Vertex,
            Stage::Fragment => Payload::Fragment(FragmentFacts::default()),
            Stage::Compute => Payload::Compute(WorkgroupFacts::default()),
        }
    }

    /// Whose.
    pub fn stage(&self) -> Stage {
        match self {
            Payload::Vertex => Stage::Vertex,
            Payload::Fragment(_) => Stage::Fragment,
            Payload::Compute(_) => Stage::Compute,
        }
    }

    /// The fragment stage's.
    pub fn fragment(&self) -> Option<&FragmentFacts> {
        match self {
            Payload::Fragment(facts) => Some(facts),
            Payload::Vertex | Payload::Compute(_) => None,
        }
    }

    /// As [`Payload::fragment`].
    pub fn fragment_mut(&mut self) -> Option<&mut FragmentFacts> {
        match self {
            Payload::Fragment(facts) => Some(facts),
            Payload::Vertex | Payload::Compute(_) => None,
        }
    }

    /// Those of a stage with workgroups.
    pub fn workgroup(&self) -> Option<&WorkgroupFacts> {
        match self {
            Payload::Compute(facts) => Some(facts),
            Payload::Vertex | Payload::Fragment(_) => None,
        }
    }

    /// As [`Payload::workgroup`].
    pub fn workgroup_mut(&mut self) -> Option<&mut WorkgroupFacts> {
        match self {
            Payload::Compute(facts) => Some(facts),
            Payload::Vertex | Payload::Fragment(_) => None,
        }
    }
}

/// What is known of a compiled stage beside its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageFacts {
    /// Which stage, and what only that has.
    pub payload: Payload,
    /// Lanes per chunk: 4 or 8.
    pub lanes: u32,
    /// Slots.
    pub interface: Arc<StageInterface>,
    /// What transform feedback takes of its outputs, if it is made for that (`Xfb`).
    pub capture: Option<Arc<Capture>>,
    /// Writes buffers, images or executes atomics.
    pub side_effects: bool,
    /// Scratch bytes a batch needs (with workgroups: of a whole one).
    pub scratch_bytes: u32,
    /// Has loops of its own: the quick tier's code is then much slower than the full tier's, because it keeps nothing in registers
    /// from block to block.
    pub has_loops: bool,
    /// Reads what the context has of a single draw: base vertex and instance, the draw's number.
    pub draw_parameters: bool,
}

impl StageFacts {
    /// Which stage.
    pub fn stage(&self) -> Stage {
        self.payload.stage()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_of_their_stages() {
        for &stage in Stage::ALL {
            let payload = Payload::new(stage);
            assert_eq!(payload.stage(), stage);
            assert_eq!(payload.fragment().is_some(), stage.has_quads());
            assert_eq!(payload.workgroup().is_some(), stage.has_workgroups());
        }
    }
}

//! Divergence analysis: which values are the same for all lanes, or affine in the lane index.
//!
//! *Uniform* means: the same for all lanes that are **active** where the value is defined, of one chunk of lanes. The
//! analysis is optimistic: everything starts uniform and is raised until nothing changes. Shapes only go up, so the number
//! of rounds is bounded by loop nesting in practice.
//!
//! Control flow enters in two ways. An If with a varying condition is divergent: its results are varying. A break
//! is divergent with regard to its target when, between the target and the break, some lanes of the target may be
//! elsewhere: in the other arm of a divergent If, or gone by a divergent break to a label inside the target. Results of a label with a divergent break
//! are varying, because lanes left by different breaks or in different iterations (temporal divergence). The params of such a
//! loop are not: the lanes still in it have done the same number of iterations.
//!
//! Structures with barriers have uniform conditions by construction: see `uniform_barriers`.

use crate::ir::{Label, Shader, Value};
use cranelift_entity::SecondaryMap;

/// How a value depends on the lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// The same for all active lanes.
    #[default]
    Uniform,
    /// I32 only: lane `l` has `base + stride * l`, wrapping; the stride is never 0.
    Affine(i32),
    /// Anything.
    Varying,
}

/// What the analysis found.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// Shape of each value.
    pub shape: SecondaryMap<Value, Shape>,
    /// Labels with a break that some active lanes of the target may not take together with the others. For all other
    /// labels every break is a plain jump of all active lanes.
    pub divergent_labels: SecondaryMap<Label, bool>,
}

impl Divergence {
    /// True when all active lanes agree on the value.
    pub fn is_uniform(&self, v: Value) -> bool {
        self.shape[v] == Shape::Uniform
    }
    /// True when an If with this condition is divergent.
    pub fn is_divergent_if(&self, cond: Value) -> bool {
        !self.is_uniform(cond)
    }
    /// True when lanes may leave the label's node at different breaks.
    pub fn is_divergent_label(&self, label: Label) -> bool {
        self.divergent_labels[label]
    }
}

/// Analyses a shader for chunks of `lanes` lanes.
pub fn divergence(shader: &Shader, lanes: u32) -> Divergence {
    let _ = (shader, lanes);
    Divergence { shape: SecondaryMap::with_default(Shape::Varying), divergent_labels: SecondaryMap::with_default(true) }
}

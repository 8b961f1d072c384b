//! BuiltIn numbers, and which of them are plain inputs of which stage.

use crate::ir::{Builtin, Ty};
use base::shader::Stage;

pub(crate) const POSITION: u32 = 0;
pub(crate) const POINT_SIZE: u32 = 1;
pub(crate) const CLIP_DISTANCE: u32 = 3;
pub(crate) const CULL_DISTANCE: u32 = 4;
pub(crate) const LAYER: u32 = 9;
pub(crate) const VIEWPORT_INDEX: u32 = 10;
pub(crate) const SAMPLE_ID: u32 = 18;
pub(crate) const SAMPLE_POSITION: u32 = 19;
pub(crate) const SAMPLE_MASK: u32 = 20;
pub(crate) const FRAG_DEPTH: u32 = 22;
pub(crate) const HELPER_INVOCATION: u32 = 23;
pub(crate) const WORKGROUP_SIZE: u32 = 25;
pub(crate) const SUBGROUP_EQ_MASK: u32 = 4416;
pub(crate) const SUBGROUP_GE_MASK: u32 = 4417;
pub(crate) const SUBGROUP_LE_MASK: u32 = 4419;
pub(crate) const SUBGROUP_LT_MASK: u32 = 4420;
pub(crate) const FRAG_STENCIL_REF: u32 = 5014;

/// Stages a row is for.
const V: u8 = 1;
const F: u8 = 2;
const C: u8 = 4;

/// (number, stages, components, type, built-in by component)
type Row = (u32, u8, u8, Ty, fn(u8) -> Builtin);

static INPUTS: &[Row] = &[
    (7, F, 1, Ty::I32, |_| Builtin::PrimitiveId),
    (LAYER, F, 1, Ty::I32, |_| Builtin::Layer),
    (VIEWPORT_INDEX, F, 1, Ty::I32, |_| Builtin::ViewportIndex),
    (15, F, 4, Ty::F32, Builtin::FragCoord),
    (16, F, 2, Ty::F32, Builtin::PointCoord),
    (17, F, 1, Ty::B1, |_| Builtin::FrontFacing),
    (SAMPLE_ID, F, 1, Ty::I32, |_| Builtin::SampleId),
    (SAMPLE_POSITION, F, 2, Ty::F32, Builtin::SamplePosition),
    (SAMPLE_MASK, F, 1, Ty::I32, |_| Builtin::SampleMaskIn),
    (HELPER_INVOCATION, F, 1, Ty::B1, |_| Builtin::HelperInvocation),
    (24, C, 3, Ty::I32, Builtin::NumWorkgroups),
    (26, C, 3, Ty::I32, Builtin::WorkgroupId),
    (27, C, 3, Ty::I32, Builtin::LocalInvocationId),
    (28, C, 3, Ty::I32, Builtin::GlobalInvocationId),
    (29, C, 1, Ty::I32, |_| Builtin::LocalInvocationIndex),
    (36, V | F | C, 1, Ty::I32, |_| Builtin::SubgroupSize),
    (38, C, 1, Ty::I32, |_| Builtin::NumSubgroups),
    (40, C, 1, Ty::I32, |_| Builtin::SubgroupId),
    (41, V | F | C, 1, Ty::I32, |_| Builtin::SubgroupInvocation),
    (42, V, 1, Ty::I32, |_| Builtin::VertexIndex),
    (43, V, 1, Ty::I32, |_| Builtin::InstanceIndex),
    (4424, V, 1, Ty::I32, |_| Builtin::BaseVertex),
    (4425, V, 1, Ty::I32, |_| Builtin::BaseInstance),
    (4426, V, 1, Ty::I32, |_| Builtin::DrawIndex),
    (4438, V | F | C, 1, Ty::I32, |_| Builtin::DeviceIndex),
    (4440, V | F, 1, Ty::I32, |_| Builtin::ViewIndex),
];

/// The built-in a stage reads for a component of a BuiltIn variable, and its type.
pub(crate) fn input(stage: Stage, number: u32, component: u32) -> Option<(Builtin, Ty)> {
    let bit = match stage {
        Stage::Vertex => V,
        Stage::Fragment => F,
        Stage::Compute => C,
    };
    let row = &INPUTS[INPUTS.binary_search_by_key(&number, |r| r.0).ok()?];
    (row.1 & bit != 0 && component < u32::from(row.2)).then(|| ((row.4)(component as u8), row.3))
}

/// True when the value depends on the subgroup size.
pub(crate) fn is_subgroup(number: u32) -> bool {
    matches!(number, 36 | 38 | 40 | 41)
}

#[cfg(test)]
mod tests {
    #[test]
    fn inputs_are_sorted() {
        assert!(super::INPUTS.windows(2).all(|w| w[0].0 < w[1].0));
    }
}

//! BuiltIn numbers: which of them are plain inputs (of the stages that read their family), and
//! which go through slots.

use crate::ir::{Builtin, Op, Ty};
use base::limits::MAX_CLIP_DISTANCES;
use base::shader::{BuiltinSlot, RayValue, RayWord, SlotKind, Stage, StageIoKind};

pub(crate) const POSITION: u32 = 0;
pub(crate) const SAMPLER_HEAP: u32 = 5122;
pub(crate) const RESOURCE_HEAP: u32 = 5123;
pub(crate) const POINT_SIZE: u32 = 1;
pub(crate) const CLIP_DISTANCE: u32 = 3;
pub(crate) const CULL_DISTANCE: u32 = 4;
pub(crate) const PRIMITIVE_ID: u32 = 7;
pub(crate) const LAYER: u32 = 9;
pub(crate) const VIEWPORT_INDEX: u32 = 10;
pub(crate) const TESS_LEVEL_OUTER: u32 = 11;
pub(crate) const TESS_LEVEL_INNER: u32 = 12;
pub(crate) const SAMPLE_ID: u32 = 18;
pub(crate) const SAMPLE_POSITION: u32 = 19;
pub(crate) const SAMPLE_MASK: u32 = 20;
pub(crate) const FRAG_DEPTH: u32 = 22;
pub(crate) const HELPER_INVOCATION: u32 = 23;
pub(crate) const WORKGROUP_SIZE: u32 = 25;
pub(crate) const LOCAL_INVOCATION_ID: u32 = 27;
pub(crate) const LOCAL_INVOCATION_INDEX: u32 = 29;
pub(crate) const SUBGROUP_EQ_MASK: u32 = 4416;
pub(crate) const SUBGROUP_GE_MASK: u32 = 4417;
pub(crate) const SUBGROUP_LE_MASK: u32 = 4419;
pub(crate) const SUBGROUP_LT_MASK: u32 = 4420;
pub(crate) const PRIMITIVE_SHADING_RATE: u32 = 4432;
pub(crate) const DEVICE_INDEX: u32 = 4438;
pub(crate) const VIEW_INDEX: u32 = 4440;
pub(crate) const SHADING_RATE: u32 = 4444;
pub(crate) const FRAG_STENCIL_REF: u32 = 5014;
pub(crate) const FULLY_COVERED: u32 = 5264;
pub(crate) const BARY_COORD: u32 = 5286;
pub(crate) const BARY_COORD_NO_PERSP: u32 = 5287;
pub(crate) const PRIMITIVE_POINT_INDICES: u32 = 5294;
pub(crate) const PRIMITIVE_TRIANGLE_INDICES: u32 = 5296;
pub(crate) const CULL_PRIMITIVE: u32 = 5299;

/// Row of an input: number, components, type, and function from component to built-in.
type InputRow = (u32, u8, Ty, fn(u8) -> Builtin);

static INPUTS: &[InputRow] = &[
    (PRIMITIVE_ID, 1, Ty::I32, |_| Builtin::PrimitiveId),
    (8, 1, Ty::I32, |_| Builtin::InvocationId),
    (LAYER, 1, Ty::I32, |_| Builtin::Layer),
    (VIEWPORT_INDEX, 1, Ty::I32, |_| Builtin::ViewportIndex),
    (13, 3, Ty::F32, Builtin::TessCoord),
    (14, 1, Ty::I32, |_| Builtin::PatchVertices),
    (15, 4, Ty::F32, Builtin::FragCoord),
    (16, 2, Ty::F32, Builtin::PointCoord),
    (17, 1, Ty::B1, |_| Builtin::FrontFacing),
    (SAMPLE_ID, 1, Ty::I32, |_| Builtin::SampleId),
    (SAMPLE_POSITION, 2, Ty::F32, Builtin::SamplePosition),
    (SAMPLE_MASK, 1, Ty::I32, |_| Builtin::SampleMaskIn),
    (HELPER_INVOCATION, 1, Ty::B1, |_| Builtin::HelperInvocation),
    (24, 3, Ty::I32, Builtin::NumWorkgroups),
    (26, 3, Ty::I32, Builtin::WorkgroupId),
    (27, 3, Ty::I32, Builtin::LocalInvocationId),
    (28, 3, Ty::I32, Builtin::GlobalInvocationId),
    (29, 1, Ty::I32, |_| Builtin::LocalInvocationIndex),
    (36, 1, Ty::I32, |_| Builtin::SubgroupSize),
    (38, 1, Ty::I32, |_| Builtin::NumSubgroups),
    (40, 1, Ty::I32, |_| Builtin::SubgroupId),
    (41, 1, Ty::I32, |_| Builtin::SubgroupInvocation),
    (42, 1, Ty::I32, |_| Builtin::VertexIndex),
    (43, 1, Ty::I32, |_| Builtin::InstanceIndex),
    (4424, 1, Ty::I32, |_| Builtin::BaseVertex),
    (4425, 1, Ty::I32, |_| Builtin::BaseInstance),
    (4426, 1, Ty::I32, |_| Builtin::DrawIndex),
    (DEVICE_INDEX, 1, Ty::I32, |_| Builtin::DeviceIndex),
    (VIEW_INDEX, 1, Ty::I32, |_| Builtin::ViewIndex),
    (SHADING_RATE, 1, Ty::I32, |_| Builtin::ShadingRate),
    (FULLY_COVERED, 1, Ty::B1, |_| Builtin::FullyCovered),
];

/// Returns the built-in that a stage reads for a component of a BuiltIn variable, and its type.
pub(crate) fn input(stage: Stage, number: u32, component: u32) -> Option<(Builtin, Ty)> {
    let &(_, components, ty, make) = &INPUTS[INPUTS.binary_search_by_key(&number, |r| r.0).ok()?];
    let builtin = make(component as u8);
    (component < u32::from(components) && Op::Builtin(builtin).is_of_stage(stage)).then_some((builtin, ty))
}

/// Returns the slot of a built-in's component, if it crosses this interface of a stage in a slot.
pub(crate) fn slot(side: StageIoKind, number: u32, component: u32) -> Option<SlotKind> {
    let c = component as u8;
    if side == StageIoKind::Frame {
        let value = RayValue::of_builtin(number).filter(|value| component < value.words())?;
        return Some(SlotKind::Builtin(BuiltinSlot::Ray(RayWord { value, word: c })));
    }
    let slot = match number {
        POSITION => BuiltinSlot::Position(c),
        POINT_SIZE => BuiltinSlot::PointSize,
        CLIP_DISTANCE if (component as usize) < MAX_CLIP_DISTANCES => BuiltinSlot::ClipDistance(c),
        CULL_DISTANCE if (component as usize) < MAX_CLIP_DISTANCES => BuiltinSlot::CullDistance(c),
        TESS_LEVEL_OUTER if component < 4 => BuiltinSlot::TessLevelOuter(c),
        TESS_LEVEL_INNER if component < 2 => BuiltinSlot::TessLevelInner(c),
        PRIMITIVE_ID => BuiltinSlot::PrimitiveId,
        LAYER => BuiltinSlot::Layer,
        VIEWPORT_INDEX => BuiltinSlot::ViewportIndex,
        PRIMITIVE_SHADING_RATE => BuiltinSlot::ShadingRate,
        CULL_PRIMITIVE => BuiltinSlot::CullPrimitive,
        PRIMITIVE_POINT_INDICES..=PRIMITIVE_TRIANGLE_INDICES if component < 3 => BuiltinSlot::PrimitiveIndex(c),
        FRAG_DEPTH => BuiltinSlot::FragDepth,
        FRAG_STENCIL_REF => BuiltinSlot::FragStencilRef,
        SAMPLE_MASK if component == 0 => BuiltinSlot::SampleMask,
        BARY_COORD if component < 3 => BuiltinSlot::BaryCoord(c),
        BARY_COORD_NO_PERSP if component < 3 => BuiltinSlot::BaryCoordNoPersp(c),
        _ => return None,
    };
    side.has(slot).then_some(SlotKind::Builtin(slot))
}

/// Returns true if a mesh has the built-in for each of its primitives.
pub(crate) fn is_of_primitive(number: u32) -> bool {
    matches!(number, PRIMITIVE_ID | LAYER | VIEWPORT_INDEX | PRIMITIVE_SHADING_RATE | CULL_PRIMITIVE)
        || (PRIMITIVE_POINT_INDICES..=PRIMITIVE_TRIANGLE_INDICES).contains(&number)
}

/// Returns true if the value depends on the subgroup size.
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

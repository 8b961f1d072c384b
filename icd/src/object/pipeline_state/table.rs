//! The pieces of pipeline state, one row each.
//!
//! A row of `dynamic` has the form
//!
//! ```text
//! Name field: type = default; [VkDynamicStates] subset of a pipeline library that owns it;
//!     structure of the create-info => |it| decoded; |draw state, value| conversion;
//! ```
//!
//! and defines a field of [`Values`], a [`StateRow`] and a variant of [`DynamicState`] (the command
//! of `vkCmdSetName`, whose shim makes it). The field's type defines how a command changes the
//! value ([`DynamicValue`]). A row of `fixed` has no `VkDynamicState`s and no command, because only
//! the create info sets it. State becomes dynamic by moving its row.
//!
//! Sets of rows are masks ([`StateMask`]): those that are dynamic in a pipeline, those that binding
//! a program sets, those of a subset.
//!
//! A value is decoded if its structure is present and it is not dynamic; else it keeps the default.
//! A draw converts the fixed rows first, each list in its order: rows that enable something come
//! behind the rows that they enable.

use super::SubsetFlags;
use super::change::{DynamicValue, List, PerAttachment, PerFace, Strides, VertexLayout};
use super::create_info::CreateInfo;
use super::decode;
use super::unused_attachments::UnusedAttachments;
use ash::vk;
use base::limits::{MAX_COLOR_ATTACHMENTS, MAX_VERTEX_BINDINGS};
use base::pixel::{
    BlendAttachment, Blending, CompareOp, IDENTITY_LOCATIONS, Locations, LogicOp, SampleLocations, StencilOps,
};
use rasterizer::api::{
    AttachmentLoops, ConservativeMode, DepthBias, DrawState, LineMode, PolygonMode, ShadingRate, Stipple, Topology,
    Viewport,
};
use std::sync::Arc;

/// The subset of a pipeline that owns a row: a `VkGraphicsPipelineLibraryFlagBitsEXT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subset {
    VertexInput,
    PreRasterization,
    FragmentShader,
    FragmentOutput,
}

impl Subset {
    /// Returns the subset's flag.
    fn flag(self) -> SubsetFlags {
        match self {
            Subset::VertexInput => SubsetFlags::VERTEX_INPUT_INTERFACE,
            Subset::PreRasterization => SubsetFlags::PRE_RASTERIZATION_SHADERS,
            Subset::FragmentShader => SubsetFlags::FRAGMENT_SHADER,
            Subset::FragmentOutput => SubsetFlags::FRAGMENT_OUTPUT_INTERFACE,
        }
    }
}

macro_rules! pipeline_state {
    (
        dynamic { $(
            $name:ident $field:ident: $ty:ty = $default:expr; [$($vk:ident)+] $subset:ident;
                $part:ident => |$from:ident| $decoded:expr; |$draw:ident, $value:pat_param| $joined:expr;
        )* }
        fixed { $(
            $fixed_name:ident $fixed:ident: $fixed_ty:ty = $fixed_default:expr; $fixed_subset:ident;
                $fixed_part:ident => |$fixed_from:ident| $fixed_decoded:expr;
                |$fixed_draw:ident, $fixed_value:pat_param| $fixed_joined:expr;
        )* }
    ) => {
        /// A piece of state.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names of vkCmdSet…, and of the members of create infos")]
        pub enum StateRow { $($name,)* $($fixed_name),* }

        /// A `vkCmdSet…` command.
        #[allow(missing_docs, reason = "the names of vkCmdSet…")]
        pub enum DynamicState { $($name(<$ty as DynamicValue>::Change)),* }

        /// The values of all state.
        #[derive(Clone)]
        #[allow(missing_docs, reason = "the specification's names")]
        pub struct Values { $(pub $field: $ty,)* $(pub $fixed: $fixed_ty),* }

        /// All rows in the order of their bits in masks, with the subset that owns them and the
        /// `VkDynamicState`s by which they are dynamic.
        const ROWS: &[(StateRow, Subset, &[vk::DynamicState])] = &[
            $((StateRow::$name, Subset::$subset, &[$(vk::DynamicState::$vk),+]),)*
            $((StateRow::$fixed_name, Subset::$fixed_subset, &[])),*
        ];

        impl Default for Values {
            fn default() -> Values {
                Values { $($field: $default,)* $($fixed: $fixed_default),* }
            }
        }

        impl Values {
            /// Decodes these rows, as far as their structures are present.
            pub fn decode(&mut self, info: &CreateInfo<'_>, rows: StateMask) -> Result<(), String> {
                $(if rows.has(StateRow::$name) && let Some($from) = &info.$part {
                    self.$field = $decoded;
                })*
                $(if rows.has(StateRow::$fixed_name) && let Some($fixed_from) = &info.$fixed_part {
                    self.$fixed = $fixed_decoded;
                })*
                Ok(())
            }

            /// Copies the values of these rows.
            pub fn take(&mut self, from: &Values, rows: StateMask) {
                $(if rows.has(StateRow::$name) {
                    self.$field.clone_from(&from.$field);
                })*
                $(if rows.has(StateRow::$fixed_name) {
                    self.$fixed.clone_from(&from.$fixed);
                })*
            }
        }

        impl DynamicState {
            /// Changes the value.
            pub fn apply(&self, values: &mut Values) {
                match self { $(DynamicState::$name(change) => values.$field.change(change)),* }
            }
        }

        /// Converts the values to a draw state.
        pub fn join(values: &Values) -> DrawState {
            let mut draw = DrawState::default();
            $({
                let ($fixed_draw, $fixed_value) = (&mut draw, &values.$fixed);
                $fixed_joined
            })*
            $({
                let ($draw, $value) = (&mut draw, &values.$field);
                $joined
            })*
            values.unused.disable(&mut draw.pixel);
            if let Some(share) = values.min_sample_shading {
                draw.pixel.sample_shading = share * values.samples as f32 > 1.0;
                draw.shading_rate = ShadingRate::PIXEL;
            }
            draw
        }
    };
}

pipeline_state! {
    dynamic {
        Viewport viewports: List<Viewport> = List::new(); [VIEWPORT VIEWPORT_WITH_COUNT] PreRasterization;
            viewport => |v| v.viewports.iter().map(decode::viewport).collect(); |draw, v| draw.viewports.clone_from(v);
        Scissor scissors: List<[i32; 4]> = List::new(); [SCISSOR SCISSOR_WITH_COUNT] PreRasterization;
            viewport => |v| v.scissors.iter().map(decode::scissor).collect(); |draw, v| draw.scissors.clone_from(v);
        LineWidth line_width: f32 = 1.0; [LINE_WIDTH] PreRasterization;
            rasterization => |r| r.line_width; |draw, v| draw.line_width = *v;
        DepthBias depth_bias: DepthBias = DepthBias::default(); [DEPTH_BIAS] PreRasterization;
            depth_bias => |b| *b; |draw, v| draw.depth_bias = Some(*v);
        BlendConstants blend_constants: [f32; 4] = [0.0; 4]; [BLEND_CONSTANTS] FragmentOutput;
            color_blend => |b| b.blend_constants; |draw, v| draw.pixel_values.blend_constants = *v;
        DepthBounds depth_bounds: [f32; 2] = [0.0, 1.0]; [DEPTH_BOUNDS] FragmentShader;
            depth_stencil => |d| [d.min_depth_bounds, d.max_depth_bounds]; |draw, v| draw.pixel_values.depth_bounds = *v;
        StencilCompareMask stencil_compare_mask: PerFace<u32> = PerFace([0; 2]); [STENCIL_COMPARE_MASK] FragmentShader;
            depth_stencil => |d| PerFace([d.front.compare_mask, d.back.compare_mask]);
            |draw, PerFace([front, back])| {
                let [f, b] = &mut draw.pixel_values.stencil;
                (f.compare_mask, b.compare_mask) = (*front, *back);
            };
        StencilWriteMask stencil_write_mask: PerFace<u32> = PerFace([0; 2]); [STENCIL_WRITE_MASK] FragmentShader;
            depth_stencil => |d| PerFace([d.front.write_mask, d.back.write_mask]);
            |draw, PerFace([front, back])| {
                let [f, b] = &mut draw.pixel_values.stencil;
                (f.write_mask, b.write_mask) = (*front, *back);
            };
        StencilReference stencil_reference: PerFace<u32> = PerFace([0; 2]); [STENCIL_REFERENCE] FragmentShader;
            depth_stencil => |d| PerFace([d.front.reference, d.back.reference]);
            |draw, PerFace([front, back])| {
                let [f, b] = &mut draw.pixel_values.stencil;
                (f.reference, b.reference) = (*front, *back);
            };
        CullMode cull_mode: u32 = 0; [CULL_MODE] PreRasterization;
            rasterization => |r| r.cull_mode.as_raw(); |draw, v| draw.cull_mode = *v;
        FrontFace front_clockwise: bool = false; [FRONT_FACE] PreRasterization;
            rasterization => |r| r.front_face == vk::FrontFace::CLOCKWISE; |draw, v| draw.front_clockwise = *v;
        PrimitiveTopology topology: Topology = Topology::TriangleList; [PRIMITIVE_TOPOLOGY] VertexInput;
            input_assembly => |a| decode::topology(a.topology)?; |draw, v| draw.topology = *v;
        PatchControlPoints patch_vertices: u32 = 1; [PATCH_CONTROL_POINTS_EXT] PreRasterization;
            tessellation => |t| t.patch_control_points; |draw, v| draw.patch_vertices = *v;
        TessellationDomainOrigin lower_left: bool = false; [TESSELLATION_DOMAIN_ORIGIN_EXT] PreRasterization;
            lower_left => |on| *on; |draw, v| draw.lower_left = *v;
        VertexInput vertex_input: Arc<VertexLayout> = Arc::default(); [VERTEX_INPUT_EXT] VertexInput;
            vertex_input => |v| Arc::new(VertexLayout { bindings: decode::bindings(v)?, attributes: decode::attributes(v)? });
            |draw, v| {
                draw.bindings.clone_from(&v.bindings);
                draw.attributes.clone_from(&v.attributes);
            };
        VertexInputBindingStride strides: Strides = Strides([0; MAX_VERTEX_BINDINGS]); [VERTEX_INPUT_BINDING_STRIDE VERTEX_INPUT_EXT] VertexInput;
            vertex_input => |v| decode::strides(v);
            |draw, Strides(strides)| for binding in &mut draw.bindings {
                binding.stride = strides.get(binding.binding as usize).copied().unwrap_or(binding.stride);
            };
        DepthTestEnable depth_test: bool = false; [DEPTH_TEST_ENABLE] FragmentShader;
            depth_stencil => |d| d.depth_test_enable != 0; |draw, v| draw.pixel.depth_test = *v;
        DepthWriteEnable depth_write: bool = false; [DEPTH_WRITE_ENABLE] FragmentShader;
            depth_stencil => |d| d.depth_write_enable != 0; |draw, v| draw.pixel.depth_write = *v;
        DepthCompareOp depth_compare: CompareOp = CompareOp::Always; [DEPTH_COMPARE_OP] FragmentShader;
            depth_stencil => |d| decode::compare_op(d.depth_compare_op)?; |draw, v| draw.pixel.depth_compare = *v;
        DepthBoundsTestEnable depth_bounds_test: bool = false; [DEPTH_BOUNDS_TEST_ENABLE] FragmentShader;
            depth_stencil => |d| d.depth_bounds_test_enable != 0; |draw, v| draw.pixel.depth_bounds_test = *v;
        StencilTestEnable stencil_test: bool = false; [STENCIL_TEST_ENABLE] FragmentShader;
            depth_stencil => |d| d.stencil_test_enable != 0; |draw, v| draw.pixel.stencil_test = *v;
        StencilOp stencil_ops: PerFace<StencilOps> = PerFace([StencilOps::PASS_AND_KEEP; 2]); [STENCIL_OP] FragmentShader;
            depth_stencil => |d| PerFace([decode::stencil_ops(&d.front)?, decode::stencil_ops(&d.back)?]);
            |draw, v| draw.pixel.stencil = v.0;
        RasterizerDiscardEnable rasterizer_discard: bool = false; [RASTERIZER_DISCARD_ENABLE] PreRasterization;
            rasterization => |r| r.rasterizer_discard_enable != 0; |draw, v| draw.rasterizer_discard = *v;
        DepthBiasEnable depth_bias_enable: bool = false; [DEPTH_BIAS_ENABLE] PreRasterization;
            rasterization => |r| r.depth_bias_enable != 0; |draw, v| draw.depth_bias = draw.depth_bias.filter(|_| *v);
        PrimitiveRestartEnable primitive_restart: bool = false; [PRIMITIVE_RESTART_ENABLE] VertexInput;
            input_assembly => |a| a.primitive_restart_enable != 0; |draw, v| draw.primitive_restart = *v;
        LogicOpEnable logic_op_enable: bool = false; [LOGIC_OP_ENABLE_EXT] FragmentOutput;
            color_blend => |b| b.logic_op_enable != 0; |draw, v| draw.pixel.logic_op_enable = *v;
        LogicOp logic_op: LogicOp = LogicOp::Copy; [LOGIC_OP_EXT] FragmentOutput;
            color_blend => |b| decode::logic_op(b.logic_op)?;
            |draw, v| draw.pixel.logic_op = if draw.pixel.logic_op_enable { *v } else { LogicOp::Copy };
        LineRasterizationMode line_mode: LineMode = LineMode::Rectangular; [LINE_RASTERIZATION_MODE_EXT] PreRasterization;
            line => |l| decode::line_mode(l.line_rasterization_mode)?; |draw, v| draw.line_mode = *v;
        LineStippleEnable line_stipple_enable: bool = false; [LINE_STIPPLE_ENABLE_EXT] PreRasterization;
            line => |l| l.stippled_line_enable != 0;
            |draw, v| draw.line_stipple = v.then_some(Stipple { factor: 1, pattern: !0 });
        LineStipple line_stipple: Stipple = Stipple { factor: 1, pattern: !0 }; [LINE_STIPPLE_KHR] PreRasterization;
            line => |l| decode::stipple(l.line_stipple_factor, l.line_stipple_pattern);
            |draw, v| draw.line_stipple = draw.line_stipple.map(|_| *v);
        DepthClampEnable depth_clamp: bool = false; [DEPTH_CLAMP_ENABLE_EXT] PreRasterization;
            rasterization => |r| r.depth_clamp_enable != 0; |draw, v| draw.depth_clamp = *v;
        DepthClipEnable depth_clip: Option<bool> = None; [DEPTH_CLIP_ENABLE_EXT] PreRasterization;
            depth_clip => |clip| Some(*clip); |draw, v| draw.depth_clip = v.unwrap_or(!draw.depth_clamp);
        DepthClipNegativeOneToOne negative_one_to_one: bool = false; [DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT] PreRasterization;
            negative_one_to_one => |on| *on; |draw, v| draw.negative_one_to_one = *v;
        ProvokingVertexMode provoking_last: bool = false; [PROVOKING_VERTEX_MODE_EXT] PreRasterization;
            provoking_last => |last| *last; |draw, v| draw.provoking_last = *v;
        ConservativeRasterizationMode conservative: ConservativeMode = ConservativeMode::Disabled; [CONSERVATIVE_RASTERIZATION_MODE_EXT] PreRasterization;
            conservative => |c| decode::conservative_mode(c.conservative_rasterization_mode)?; |draw, v| draw.conservative = *v;
        ExtraPrimitiveOverestimationSize overestimation: f32 = 0.0; [EXTRA_PRIMITIVE_OVERESTIMATION_SIZE_EXT] PreRasterization;
            conservative => |c| c.extra_primitive_overestimation_size;
            |draw, v| if let ConservativeMode::Overestimate { extra } = &mut draw.conservative { *extra = decode::overestimation(*v) };
        FragmentShadingRate shading_rate: ShadingRate = ShadingRate::PIXEL; [FRAGMENT_SHADING_RATE_KHR] PreRasterization;
            shading_rate => |s| decode::shading_rate(s.fragment_size, s.combiner_ops)?; |draw, v| draw.shading_rate = *v;
        RasterizationStream rasterization_stream: u32 = 0; [RASTERIZATION_STREAM_EXT] PreRasterization;
            rasterization_stream => |s| decode::rasterization_stream(*s)?; |draw, v| draw.rasterization_stream = *v;
        PolygonMode polygon_mode: PolygonMode = PolygonMode::Fill; [POLYGON_MODE_EXT] PreRasterization;
            rasterization => |r| decode::polygon_mode(r.polygon_mode)?; |draw, v| draw.polygon_mode = *v;
        RasterizationSamples samples: u32 = 1; [RASTERIZATION_SAMPLES_EXT] FragmentOutput;
            multisample => |m| m.rasterization_samples.as_raw(); |_draw, _| ();
        SampleMask sample_mask: u32 = !0; [SAMPLE_MASK_EXT] FragmentOutput;
            sample_mask => |mask| *mask; |draw, v| draw.pixel_values.sample_mask = *v;
        SampleLocationsEnable sample_locations_enable: bool = false; [SAMPLE_LOCATIONS_ENABLE_EXT] FragmentOutput;
            sample_locations => |s| s.0; |draw, v| draw.pixel_values.sample_locations = v.then_some(decode::CENTRES);
        SampleLocations sample_locations: SampleLocations = decode::CENTRES; [SAMPLE_LOCATIONS_EXT] FragmentOutput;
            sample_locations => |s| s.1;
            |draw, v| draw.pixel_values.sample_locations = draw.pixel_values.sample_locations.map(|_| *v);
        AlphaToCoverageEnable alpha_to_coverage: bool = false; [ALPHA_TO_COVERAGE_ENABLE_EXT] FragmentOutput;
            multisample => |m| m.alpha_to_coverage_enable != 0; |draw, v| draw.pixel.alpha_to_coverage = *v;
        AlphaToOneEnable alpha_to_one: bool = false; [ALPHA_TO_ONE_ENABLE_EXT] FragmentOutput;
            multisample => |m| m.alpha_to_one_enable != 0; |draw, v| draw.pixel.alpha_to_one = *v;
        ColorBlendEnable blend_enable: PerAttachment<bool> = PerAttachment([false; MAX_COLOR_ATTACHMENTS]); [COLOR_BLEND_ENABLE_EXT] FragmentOutput;
            attachments => |all| PerAttachment::from_elements(all.list, false, |a| Ok(a.blend_enable != 0))?;
            |draw, v| v.join(&mut draw.pixel.blend, |to, enable| to.enable = enable);
        ColorBlendEquation blending: PerAttachment<Blending> = PerAttachment([BlendAttachment::DISABLED.blending; MAX_COLOR_ATTACHMENTS]); [COLOR_BLEND_EQUATION_EXT COLOR_BLEND_ADVANCED_EXT] FragmentOutput;
            attachments => |all| PerAttachment::from_elements(all.list, BlendAttachment::DISABLED.blending, |a| decode::blending(a, all.advanced))?;
            |draw, v| v.join(&mut draw.pixel.blend, |to, blending| if to.enable { to.blending = blending });
        ColorWriteMask write_masks: PerAttachment<u8> = PerAttachment([0; MAX_COLOR_ATTACHMENTS]); [COLOR_WRITE_MASK_EXT] FragmentOutput;
            attachments => |all| PerAttachment::from_elements(all.list, 0, |a| Ok(a.color_write_mask.as_raw() as u8))?;
            |draw, v| v.join(&mut draw.pixel.blend, |to, mask| to.write_mask = mask);
        ColorWriteEnable write_enable: PerAttachment<bool> = PerAttachment([true; MAX_COLOR_ATTACHMENTS]); [COLOR_WRITE_ENABLE_EXT] FragmentOutput;
            write_enables => |all| PerAttachment::from_elements(all, true, |enable| Ok(*enable != 0))?;
            |draw, v| v.join(&mut draw.pixel.blend, |to, enable| if !enable { to.write_mask = 0 });
        AttachmentFeedbackLoopEnable loops: AttachmentLoops = AttachmentLoops::default(); [ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT] FragmentOutput;
            loops => |f| *f; |draw, v| draw.loops = *v;
    }
    fixed {
        MinSampleShading min_sample_shading: Option<f32> = None; FragmentOutput;
            multisample => |m| (m.sample_shading_enable != 0).then_some(m.min_sample_shading); |_draw, _| ();
        AttachmentLocations locations: Locations = IDENTITY_LOCATIONS; FragmentOutput;
            locations => |l| decode::locations(l); |draw, l| draw.pixel.locations = *l;
        OrderedColorAccess ordered_color: bool = false; FragmentOutput;
            color_blend => |b| b.flags.contains(vk::PipelineColorBlendStateCreateFlags::RASTERIZATION_ORDER_ATTACHMENT_ACCESS_EXT);
            |draw, v| draw.ordered |= *v;
        OrderedDepthStencilAccess ordered_depth_stencil: bool = false; FragmentShader;
            depth_stencil => |d| d.flags.intersects(decode::ORDERED_DEPTH_STENCIL); |draw, v| draw.ordered |= *v;
        UnusedAttachments unused: UnusedAttachments = UnusedAttachments::default(); FragmentOutput;
            rendering => |r| UnusedAttachments::new(r); |_draw, _| ();
    }
}

/// A set of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateMask(u64);

const _: () = assert!(ROWS.len() < 64);

impl StateMask {
    /// All rows.
    #[cfg(test)]
    pub const ALL: StateMask = StateMask((1 << ROWS.len()) - 1);

    /// Returns the rows that these states make dynamic.
    ///
    /// # Errors
    /// A message that names a state that is not supported.
    pub fn dynamic(states: &[vk::DynamicState]) -> Result<StateMask, String> {
        let mut mask = StateMask::default();
        for state in states {
            let of_state = StateMask::of(|(_, _, dynamic)| dynamic.contains(state));
            if of_state == StateMask::default() {
                return Err(format!("dynamic state {state:?} is not supported"));
            }
            mask = mask.or(of_state);
        }
        Ok(mask)
    }

    /// Returns the rows that are never dynamic.
    pub fn fixed() -> StateMask {
        StateMask::of(|(_, _, dynamic)| dynamic.is_empty())
    }

    /// Returns the rows that the subsets own.
    pub fn of_subsets(subsets: SubsetFlags) -> StateMask {
        StateMask::of(|(_, owner, _)| subsets.contains(owner.flag()))
    }

    fn of(is_in: impl Fn(&(StateRow, Subset, &[vk::DynamicState])) -> bool) -> StateMask {
        let rows = ROWS.iter().filter(|row| is_in(row));
        StateMask(rows.fold(0, |mask, (row, ..)| mask | 1 << *row as u64))
    }

    /// Returns true if the row is in the set.
    pub fn has(self, row: StateRow) -> bool {
        self.0 & (1 << row as u64) != 0
    }

    /// Returns the rows of either set.
    pub fn or(self, other: StateMask) -> StateMask {
        StateMask(self.0 | other.0)
    }

    /// Returns the rows of both sets.
    pub fn and(self, other: StateMask) -> StateMask {
        StateMask(self.0 & other.0)
    }

    /// Returns the rows of this set that are not in the other one.
    pub fn without(self, other: StateMask) -> StateMask {
        StateMask(self.0 & !other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::pixel::{BlendEquations, BlendFactor, BlendOp};

    fn rasterization() -> vk::PipelineRasterizationStateCreateInfo<'static> {
        vk::PipelineRasterizationStateCreateInfo::default().line_width(3.0).depth_bias_enable(true)
    }

    #[test]
    fn dynamic_values_are_neither_decoded_nor_taken() {
        let rasterization = rasterization();
        let bias = DepthBias { clamp: 2.0, ..DepthBias::default() };
        let info = CreateInfo { rasterization: Some(&rasterization), depth_bias: Some(bias), ..CreateInfo::default() };
        let dynamic = StateMask::dynamic(&[vk::DynamicState::LINE_WIDTH]).expect("known");
        let rows = |subset: Subset| StateMask::of_subsets(subset.flag()).without(dynamic);
        let mut values = Values::default();
        values.decode(&info, rows(Subset::FragmentOutput)).expect("supported");
        assert_eq!(values.depth_bias, DepthBias::default());
        values.decode(&info, rows(Subset::PreRasterization)).expect("supported");
        assert_eq!((values.line_width, values.depth_bias), (1.0, bias));
        let mut current = Values::default();
        DynamicState::LineWidth(7.0).apply(&mut current);
        current.take(&values, StateMask::ALL.without(dynamic));
        let draw = join(&current);
        assert_eq!((draw.line_width, draw.depth_bias), (7.0, Some(bias)));
        DynamicState::DepthBiasEnable(false).apply(&mut current);
        assert_eq!(join(&current).depth_bias, None);
        assert!(StateMask::dynamic(&[vk::DynamicState::VIEWPORT_W_SCALING_NV]).is_err());
    }

    #[test]
    fn commands_change_parts_of_a_value() {
        use super::super::{Faces, ListChange};
        let mut values = Values::default();
        let [front, both] = [vk::StencilFaceFlags::FRONT, vk::StencilFaceFlags::FRONT_AND_BACK];
        DynamicState::StencilReference(Faces { faces: both, value: 3 }).apply(&mut values);
        DynamicState::StencilReference(Faces { faces: front, value: 4 }).apply(&mut values);
        assert_eq!(values.stencil_reference.0, [4, 3]);
        DynamicState::Scissor(ListChange::From(1, List::from_elem([1; 4], 1))).apply(&mut values);
        assert_eq!(values.scissors[..], [[1; 4]; 2]);
        DynamicState::Scissor(ListChange::All(List::from_elem([2; 4], 1))).apply(&mut values);
        assert_eq!(values.scissors[..], [[2; 4]]);
    }

    /// Checks that dependencies between states hold in any order of setting them: blending that is
    /// not enabled, a mask that is not written, clipping that is not set, and samples to be shaded.
    #[test]
    fn dependent_states_can_be_set_in_any_order() {
        use super::super::Attachments;
        let mut values = Values::default();
        let max = (BlendFactor::Zero, BlendFactor::One, BlendOp::Max);
        let blending = Blending::Equations(BlendEquations { color: max, alpha: max });
        DynamicState::ColorBlendEquation(Attachments { first: 1, values: List::from_elem(blending, 1) })
            .apply(&mut values);
        DynamicState::ColorWriteMask(Attachments { first: 0, values: List::from_elem(15, 2) }).apply(&mut values);
        DynamicState::ColorWriteEnable(Attachments { first: 0, values: List::from_elem(false, 1) }).apply(&mut values);
        DynamicState::ColorBlendEnable(Attachments {
            first: MAX_COLOR_ATTACHMENTS as u32,
            values: List::from_elem(true, 1),
        })
        .apply(&mut values);
        values.min_sample_shading = Some(0.5);
        let draw = join(&values);
        assert_eq!(draw.pixel.blend[0], BlendAttachment::DISABLED);
        assert_eq!(draw.pixel.blend[1], BlendAttachment { write_mask: 15, ..BlendAttachment::DISABLED });
        assert!(draw.depth_clip && !draw.pixel.sample_shading);
        DynamicState::ColorBlendEnable(Attachments { first: 0, values: List::from_elem(true, 2) }).apply(&mut values);
        DynamicState::DepthClampEnable(true).apply(&mut values);
        DynamicState::RasterizationSamples(4).apply(&mut values);
        let draw = join(&values);
        assert_eq!(draw.pixel.blend[1], BlendAttachment { enable: true, blending, write_mask: 15 });
        assert!(!draw.depth_clip && draw.pixel.sample_shading);
        DynamicState::DepthClipEnable(Some(true)).apply(&mut values);
        assert!(join(&values).depth_clip);
    }

    /// Checks that setting the vertex input as a whole sets its strides.
    #[test]
    fn vertex_input_sets_its_strides() {
        let dynamic = StateMask::dynamic(&[vk::DynamicState::VERTEX_INPUT_EXT]).expect("known");
        assert!(dynamic.has(StateRow::VertexInput) && dynamic.has(StateRow::VertexInputBindingStride));
        let strides = StateMask::dynamic(&[vk::DynamicState::VERTEX_INPUT_BINDING_STRIDE]).expect("known");
        assert!(!strides.has(StateRow::VertexInput) && strides.has(StateRow::VertexInputBindingStride));
    }

    /// Checks that there is no stipple unless it is enabled, and the current one if it is.
    #[test]
    fn stipples_are_enabled_by_the_pipeline() {
        let stipple = Stipple { factor: 2, pattern: 5 };
        let mut values = Values { line_stipple: stipple, ..Values::default() };
        assert_eq!(join(&values).line_stipple, None);
        DynamicState::LineStippleEnable(true).apply(&mut values);
        assert_eq!(join(&values).line_stipple, Some(stipple));
    }

    /// Checks that the subsets own each row once, and that the bit of a row is its position.
    #[test]
    fn each_row_has_one_bit_and_one_subset() {
        for (position, (row, ..)) in ROWS.iter().enumerate() {
            assert_eq!(*row as usize, position, "{row:?}");
        }
        let mut all = StateMask::default();
        let subsets = [Subset::VertexInput, Subset::PreRasterization, Subset::FragmentShader, Subset::FragmentOutput];
        for mask in subsets.map(|subset| StateMask::of_subsets(subset.flag())) {
            assert_eq!(all.without(mask), all, "a row of two subsets");
            all = all.or(mask);
        }
        assert_eq!(all, StateMask::ALL);
    }

    /// Checks that a value is copied exactly if its row is in the mask: with all of them, the draw
    /// state is that of the source, and with none, that of the target.
    #[test]
    fn masks_select_the_values_that_are_taken() {
        let rasterization = rasterization();
        let multisample = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_4)
            .sample_shading_enable(true)
            .min_sample_shading(1.0);
        let info = CreateInfo {
            rasterization: Some(&rasterization),
            multisample: Some(&multisample),
            sample_mask: Some(5),
            ..CreateInfo::default()
        };
        let mut from = Values::default();
        from.decode(&info, StateMask::ALL).expect("supported");
        let draw_state = |rows| {
            let mut values = Values::default();
            values.take(&from, rows);
            format!("{:?}", join(&values))
        };
        let [source, target] = [&from, &Values::default()].map(|values| format!("{:?}", join(values)));
        assert_eq!((draw_state(StateMask::ALL), draw_state(StateMask::default())), (source.clone(), target));
        let own = StateMask::of(|(row, ..)| {
            use StateRow::{DepthBias, DepthBiasEnable, DepthClampEnable, LineWidth};
            use StateRow::{MinSampleShading, RasterizationSamples, SampleMask};
            let rows = [
                LineWidth,
                DepthBias,
                DepthBiasEnable,
                DepthClampEnable,
                MinSampleShading,
                RasterizationSamples,
                SampleMask,
            ];
            rows.contains(row)
        });
        assert_eq!(draw_state(own), source);
        let single = StateMask::of(|(row, ..)| *row == StateRow::SampleMask);
        assert_ne!(draw_state(own.without(single)), source);
        assert!(!own.without(single).has(StateRow::SampleMask) && own.has(StateRow::SampleMask));
    }
}

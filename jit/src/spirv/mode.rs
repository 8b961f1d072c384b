//! Execution modes: one row per mode, with its family, which decides the stages that it may appear
//! in, and its effect.

use super::float_mode::FloatModes;
use super::module::{NO_MEMBER, literal_string};
use super::types::Spec;
use super::{Module, builtin, deco, op};
use crate::error::{Error, Result};
use crate::ir::{FloatFlags, Shader};
use base::limits::{
    MAX_GEOMETRY_INVOCATIONS, MAX_GEOMETRY_VERTICES, MAX_MESH_PRIMITIVES, MAX_MESH_VERTICES, MAX_PATCH_VERTICES,
    MAX_WORKGROUP_INVOCATIONS,
};
use base::shader::{
    Capture, Domain, FragmentInfo, GeometryInfo, InputPrimitive, MeshInfo, MeshPrimitive, ModeFamily, OutputPrimitive,
    Spacing, Stage, TessellationInfo, VertexOrder, WorkgroupInfo,
};

/// Effect of a mode.
enum ModeEffect {
    /// No effect, because it requires what holds anyway or nothing.
    NoEffect,
    /// An error, because Vulkan does not have the mode.
    Refused,
    /// Sets a fact of the fragment stage.
    Fragments(fn(&mut FragmentInfo)),
    /// Requests early tests if the stage writes neither depth nor the stencil reference.
    EarlyAndLate,
    /// Sets a fact of a stage of primitives, patches or meshes, from the mode's literal if it has
    /// one.
    Primitives(fn(&mut Primitives, u32)),
    /// Enables the capture of outputs.
    Captures,
    /// Sets the workgroup's size from literals.
    LocalSize,
    /// Sets the workgroup's size from constants.
    LocalSizeId,
    /// Sets float flags for a width.
    Float(FloatFlags),
    /// Sets the FPFastMathDefault of a type.
    FastMath,
}

use ModeEffect::{
    Captures, EarlyAndLate, FastMath, Float, Fragments, LocalSize, LocalSizeId, NoEffect, Primitives as PrimitiveMode,
    Refused,
};

/// Facts about primitives that modes have set.
#[derive(Default)]
struct Primitives {
    input: Option<InputPrimitive>,
    output: Option<OutputPrimitive>,
    max_vertices: Option<u32>,
    invocations: Option<u32>,
    patches: TessellationInfo,
    mesh: Option<MeshPrimitive>,
    max_primitives: Option<u32>,
}

impl Primitives {
    /// Returns the facts of a geometry stage, for which all but the number of invocations must be
    /// set.
    fn info(&self) -> Result<GeometryInfo> {
        let missing = |what: &str| Error::invalid(format!("geometry shader without {what}"));
        let invocations = self.invocations.unwrap_or(1);
        let max_vertices = self.max_vertices.ok_or_else(|| missing("OutputVertices"))?;
        if max_vertices == 0 || invocations == 0 {
            return Err(Error::invalid("geometry shader that makes nothing"));
        }
        if max_vertices > MAX_GEOMETRY_VERTICES || invocations > MAX_GEOMETRY_INVOCATIONS {
            return Err(Error::limit(format!("geometry shader of {invocations} × {max_vertices} vertices")));
        }
        let input = self.input.ok_or_else(|| missing("an input primitive"))?;
        let output = self.output.ok_or_else(|| missing("an output primitive"))?;
        Ok(GeometryInfo { input, output, max_vertices, invocations })
    }

    /// Returns the facts of a mesh stage, for which all must be set; those of its workgroups are
    /// `group`.
    fn mesh(&self, group: WorkgroupInfo) -> Result<MeshInfo> {
        let missing = |what: &str| Error::invalid(format!("mesh shader without {what}"));
        let output = self.mesh.ok_or_else(|| missing("an output primitive"))?;
        let max_vertices = self.max_vertices.ok_or_else(|| missing("OutputVertices"))?;
        let max_primitives = self.max_primitives.ok_or_else(|| missing("OutputPrimitivesEXT"))?;
        if max_vertices > MAX_MESH_VERTICES || max_primitives > MAX_MESH_PRIMITIVES {
            return Err(Error::limit(format!("mesh of {max_vertices} vertices and {max_primitives} primitives")));
        }
        Ok(MeshInfo { group, output, max_vertices, max_primitives, ..MeshInfo::default() })
    }

    /// Returns the facts of a tessellation stage, for which none need be set.
    fn patches(&self) -> Result<TessellationInfo> {
        let vertices = self.max_vertices.unwrap_or(0);
        if vertices > MAX_PATCH_VERTICES {
            return Err(Error::limit(format!("patch of {vertices} vertices")));
        }
        if self.max_vertices == Some(0) {
            return Err(Error::invalid("patch of no vertices"));
        }
        Ok(TessellationInfo { vertices, ..self.patches })
    }
}

struct ModeRow {
    number: u32,
    name: &'static str,
    family: ModeFamily,
    effect: ModeEffect,
}

macro_rules! modes {
    ($($number:literal $name:ident $family:ident $effect:expr;)*) => {
        static MODES: &[ModeRow] = &[$(ModeRow { number: $number, name: stringify!($name), family: ModeFamily::$family, effect: $effect }),*];
    };
}

const KEEP_SPECIAL: FloatFlags = FloatFlags::KEEP_SIGNED_ZERO.and(FloatFlags::KEEP_INFINITY).and(FloatFlags::KEEP_NAN);

modes! {
    0 Invocations Primitive PrimitiveMode(|p, n| p.invocations = Some(n));
    1 SpacingEqual Patch PrimitiveMode(|p, _| p.patches.spacing = Some(Spacing::Equal));
    2 SpacingFractionalEven Patch PrimitiveMode(|p, _| p.patches.spacing = Some(Spacing::FractionalEven));
    3 SpacingFractionalOdd Patch PrimitiveMode(|p, _| p.patches.spacing = Some(Spacing::FractionalOdd));
    4 VertexOrderCw Patch PrimitiveMode(|p, _| p.patches.order = Some(VertexOrder::Clockwise));
    5 VertexOrderCcw Patch PrimitiveMode(|p, _| p.patches.order = Some(VertexOrder::CounterClockwise));
    7 OriginUpperLeft Fragment NoEffect;
    8 OriginLowerLeft Fragment Refused;
    9 EarlyFragmentTests Fragment Fragments(|f| f.early_fragment_tests = true);
    10 PointMode Patch PrimitiveMode(|p, _| p.patches.points = true);
    11 Xfb Vertex Captures;
    12 DepthReplacing Fragment Fragments(|f| f.writes_depth = true);
    14 DepthGreater Fragment Fragments(|f| f.depth_greater = true);
    15 DepthLess Fragment Fragments(|f| f.depth_less = true);
    // The module may break this promise: written depth counts if DepthReplacing states that depth
    // is written.
    16 DepthUnchanged Fragment NoEffect;
    17 LocalSize Workgroup LocalSize;
    19 InputPoints Primitive PrimitiveMode(|p, _| p.input = Some(InputPrimitive::Points));
    20 InputLines Primitive PrimitiveMode(|p, _| p.input = Some(InputPrimitive::Lines));
    21 InputLinesAdjacency Primitive PrimitiveMode(|p, _| p.input = Some(InputPrimitive::LinesAdjacency));
    22 Triangles GeometryOrTessellation PrimitiveMode(|p, _| {
        p.input = Some(InputPrimitive::Triangles);
        p.patches.domain = Some(Domain::Triangles);
    });
    23 InputTrianglesAdjacency Primitive PrimitiveMode(|p, _| p.input = Some(InputPrimitive::TrianglesAdjacency));
    24 Quads Patch PrimitiveMode(|p, _| p.patches.domain = Some(Domain::Quads));
    25 Isolines Patch PrimitiveMode(|p, _| p.patches.domain = Some(Domain::Isolines));
    26 OutputVertices OutputVertices PrimitiveMode(|p, n| p.max_vertices = Some(n));
    27 OutputPoints OutputPoints PrimitiveMode(|p, _| {
        p.output = Some(OutputPrimitive::Points);
        p.mesh = Some(MeshPrimitive::Points);
    });
    28 OutputLineStrip Primitive PrimitiveMode(|p, _| p.output = Some(OutputPrimitive::LineStrip));
    29 OutputTriangleStrip Primitive PrimitiveMode(|p, _| p.output = Some(OutputPrimitive::TriangleStrip));
    38 LocalSizeId Workgroup LocalSizeId;
    4421 SubgroupUniformControlFlowKHR Any NoEffect;
    4446 PostDepthCoverage Fragment Fragments(|f| f.post_depth_coverage = true);
    4459 DenormPreserve Any Float(FloatFlags::KEEP_DENORMALS);
    4460 DenormFlushToZero Any Float(FloatFlags::FLUSH_DENORMALS);
    4461 SignedZeroInfNanPreserve Any Float(KEEP_SPECIAL);
    4462 RoundingModeRTE Any Float(FloatFlags::ROUND_EVEN);
    4463 RoundingModeRTZ Any Float(FloatFlags::ROUND_ZERO);
    5017 EarlyAndLateFragmentTestsAMD Fragment EarlyAndLate;
    5027 StencilRefReplacingEXT Fragment Fragments(|f| f.writes_stencil = true);
    // Only tests before the stage, which `EarlyAndLateFragmentTestsAMD` permits and does not
    // require, rely on these promises.
    5079 StencilRefUnchangedFrontAMD Fragment NoEffect;
    5080 StencilRefGreaterFrontAMD Fragment NoEffect;
    5081 StencilRefLessFrontAMD Fragment NoEffect;
    5082 StencilRefUnchangedBackAMD Fragment NoEffect;
    5083 StencilRefGreaterBackAMD Fragment NoEffect;
    5084 StencilRefLessBackAMD Fragment NoEffect;
    // Fragments always come in whole quads, and derivatives have their operands in all lanes.
    5088 QuadDerivativesKHR Any NoEffect;
    5089 RequireFullQuadsKHR Fragment NoEffect;
    5269 OutputLinesEXT Mesh PrimitiveMode(|p, _| p.mesh = Some(MeshPrimitive::Lines));
    5270 OutputPrimitivesEXT Mesh PrimitiveMode(|p, n| p.max_primitives = Some(n));
    // `compute_quads` reads these.
    5289 DerivativeGroupQuadsKHR Workgroup NoEffect;
    5290 DerivativeGroupLinearKHR Workgroup NoEffect;
    5298 OutputTrianglesEXT Mesh PrimitiveMode(|p, _| p.mesh = Some(MeshPrimitive::Triangles));
    // The ordered modes satisfy the unordered ones, and order of pixels satisfies order of samples.
    5366 PixelInterlockOrderedEXT Fragment Fragments(|f| f.ordered = true);
    5367 PixelInterlockUnorderedEXT Fragment Fragments(|f| f.ordered = true);
    5368 SampleInterlockOrderedEXT Fragment Fragments(|f| f.ordered = true);
    5369 SampleInterlockUnorderedEXT Fragment Fragments(|f| f.ordered = true);
    6023 MaximallyReconvergesKHR Any NoEffect;
    6028 FPFastMathDefault Any FastMath;
    // All shaders can use opacity micromaps.
    6031 OpacityMicromapIdKHR Any NoEffect;
}

/// Returns the `OutputVertices` of a tessellation stage, which apply to the other stage too if that
/// does not set them (VUID-VkGraphicsPipelineCreateInfo-pStages-00734, 00735). Returns `None` if
/// they are not set, or the words are not a module with the entry point.
///
/// Reads only the modes, because their combination is needed before any stage is made.
pub fn output_vertices(words: &[u32], stage: Stage, entry: &str) -> Option<u32> {
    const OUTPUT_VERTICES: u32 = 26;
    let (mut rest, mut point) = (words.get(5..)?, None);
    while let Some(&first) = rest.first() {
        let (length, opcode) = ((first >> 16) as usize, first as u16);
        let inst = rest.get(..length.max(1))?;
        match (opcode, inst) {
            (op::OpEntryPoint, [_, model, function, name @ ..])
                if point.is_none()
                    && *model == stage.row().execution_model
                    && literal_string(name).is_some_and(|(name, _)| name == entry) =>
            {
                point = Some(*function);
            }
            (op::OpExecutionMode, &[_, function, OUTPUT_VERTICES, count]) if Some(function) == point => {
                return Some(count);
            }
            (op::OpFunction, _) => return None,
            _ => {}
        }
        rest = &rest[inst.len()..];
    }
    None
}

/// Returns a mask of the descriptor sets below 32 that a module's decorations name. No entry point
/// of the module has resources in other sets.
pub fn descriptor_sets(words: &[u32]) -> u32 {
    const DESCRIPTOR_SET: u32 = 34;
    let (mut rest, mut sets) = (words.get(5..).unwrap_or_default(), 0);
    while let Some(&first) = rest.first() {
        let (length, opcode) = ((first >> 16) as usize, first as u16);
        let Some(inst) = rest.get(..length.max(1)) else { break };
        match (opcode, inst) {
            (op::OpDecorate, &[_, _, DESCRIPTOR_SET, set]) => sets |= 1u32.checked_shl(set).unwrap_or(0),
            (op::OpFunction, _) => break,
            _ => {}
        }
        rest = &rest[inst.len()..];
    }
    sets
}

/// Returns the ids of the blocks with which loops begin, in the module's order; none if the words
/// are not a module.
pub fn loop_headers(words: &[u32]) -> Vec<u32> {
    let (mut rest, mut block, mut headers) = (words.get(5..).unwrap_or_default(), 0, Vec::new());
    while let Some(&first) = rest.first() {
        let (length, opcode) = ((first >> 16) as usize, first as u16);
        let Some(inst) = rest.get(..length.max(1)) else { break };
        match (opcode, inst) {
            (op::OpLabel, &[_, id]) => block = id,
            (op::OpLoopMerge, _) => headers.push(block),
            _ => {}
        }
        rest = &rest[inst.len()..];
    }
    headers
}

/// Returns the row of an execution mode's number.
fn row(number: u32) -> Option<&'static ModeRow> {
    MODES.binary_search_by_key(&number, |r| r.number).ok().map(|i| &MODES[i])
}

/// Returns the float modes that an entry point sets without constants.
pub(super) fn float_modes(m: &Module, function: u32) -> Result<FloatModes> {
    let mut float = FloatModes::default();
    for &(_, inst) in m.execution_modes.iter().filter(|e| e.0 == function) {
        let v = m.view(inst);
        if let Some(&ModeRow { effect: Float(flags), .. }) = row(v.arg(1)?) {
            float.add(v.arg(2)?, flags)?;
        }
    }
    Ok(float)
}

/// Arrangement of quads in a compute stage's invocations (`compute_quads`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComputeQuads {
    /// Consecutive invocations (`DerivativeGroupLinearKHR`).
    Linear,
    /// Squares of 2×2 invocations (`DerivativeGroupQuadsKHR`).
    Square,
}

/// Returns the quads that an entry point's modes require; its workgroup size must be known.
pub(super) fn compute_quads(m: &Module, function: u32, shader: &Shader) -> Result<Option<ComputeQuads>> {
    let numbers = m.execution_modes.iter().filter(|e| e.0 == function).map(|e| m.view(e.1).args.get(1).copied());
    let mut found = numbers.filter_map(|number| match number {
        Some(5289) => Some(ComputeQuads::Square),
        Some(5290) => Some(ComputeQuads::Linear),
        _ => None,
    });
    let quads = found.next_back();
    let (Some(quads), Some(workgroup)) = (quads, shader.stage_info.workgroup()) else { return Ok(None) };
    let [x, y, _] = workgroup.local_size;
    let fits = match quads {
        ComputeQuads::Linear => workgroup.invocations().is_multiple_of(4),
        ComputeQuads::Square => x.is_multiple_of(2) && y.is_multiple_of(2),
    };
    if fits { Ok(Some(quads)) } else { Err(Error::invalid("workgroup is not made of quads")) }
}

/// Reads the modes of an entry point into the shader and returns its float modes.
pub(super) fn read(m: &Module, s: &Spec<'_>, function: u32, shader: &mut Shader) -> Result<FloatModes> {
    let (mut size, mut primitives) = (None, Primitives::default());
    let (mut float, mut early_and_late) = (s.float, false);
    for &(_, inst) in m.execution_modes.iter().filter(|e| e.0 == function) {
        let v = m.view(inst);
        let at = |e: Error| e.at(v.opcode(), v.args[0]);
        let number = v.arg(1)?;
        let Some(row) = row(number) else {
            return Err(at(Error::unsupported(format!("execution mode {number}"))));
        };
        if !shader.stage().takes(row.family) {
            return Err(at(Error::invalid(format!("{} in a {:?} stage", row.name, shader.stage()))));
        }
        match row.effect {
            // `float_modes` has already read it.
            NoEffect | Float(_) => {}
            Refused => return Err(at(Error::invalid(row.name))),
            Fragments(set) => set(shader.fragment_mut().map_err(at)?),
            EarlyAndLate => early_and_late = true,
            PrimitiveMode(set) => set(&mut primitives, v.args.get(2).copied().unwrap_or(0)),
            Captures => shader.capture = Some(Capture::default()),
            LocalSize => size = Some([v.arg(2)?, v.arg(3)?, v.arg(4)?]),
            LocalSizeId => {
                let constant = |i: usize| {
                    let id = v.arg(i)?;
                    let bits = s.constant_bits(id);
                    bits.map(|bits| bits as u32)
                        .map_err(|_| Error::invalid("a size of workgroups is not a constant").with_id(id))
                };
                size = Some([constant(2)?, constant(3)?, constant(4)?]);
            }
            FastMath => float.set_fast(s.scalar(v.arg(2)?)?, s.constant_bits(v.arg(3)?)? as u32).map_err(at)?,
        }
    }
    if let Some(info) = shader.stage_info.fragment_mut().filter(|_| early_and_late) {
        // Tests must see the values that the stage writes, so they cannot all come before it.
        info.early_fragment_tests |= !info.writes_depth && !info.writes_stencil;
    }
    if let Some(info) = shader.stage_info.geometry_mut() {
        *info = primitives.info()?;
    }
    if let Some(info) = shader.stage_info.tessellation_mut() {
        *info = primitives.patches()?;
        let vertices = info.vertices;
        if let Ok(patch) = shader.workgroup_mut() {
            let vertices = if vertices == 0 { s.patch_vertices } else { vertices };
            if vertices == 0 {
                return Err(Error::invalid("no tessellation shader declares OutputVertices"));
            }
            if vertices > MAX_PATCH_VERTICES {
                return Err(Error::limit(format!("patch of {vertices} vertices")));
            }
            *patch = WorkgroupInfo { local_size: [vertices, 1, 1], ..WorkgroupInfo::default() };
        }
    } else if let Some(info) = shader.stage_info.workgroup_mut() {
        info.local_size =
            workgroup_size(s)?.or(size).ok_or_else(|| Error::invalid("shader without a workgroup size"))?;
        let product = info.local_size.iter().try_fold(1u32, |p, &n| p.checked_mul(n));
        match product {
            Some(0) => return Err(Error::invalid("workgroup of no invocations")),
            Some(n) if n <= MAX_WORKGROUP_INVOCATIONS => {}
            _ => return Err(Error::limit("workgroup is too large")),
        }
    }
    if let Some(info) = shader.stage_info.mesh_mut() {
        *info = primitives.mesh(info.group)?;
    }
    Ok(float)
}

/// Returns the constant decorated WorkgroupSize, which has precedence over execution modes.
fn workgroup_size(s: &Spec<'_>) -> Result<Option<[u32; 3]>> {
    for inst in s.m.globals.clone() {
        let v = s.m.view(inst);
        let composite = matches!(v.op, op::OpConstantComposite | op::OpSpecConstantComposite);
        if composite && s.m.decoration_value(v.result, NO_MEMBER, deco::BUILT_IN) == Some(builtin::WORKGROUP_SIZE) {
            let bits = s.constant_leaves(v.result)?;
            let [x, y, z] = bits[..] else {
                return Err(Error::invalid("WorkgroupSize is not of three components").with_id(v.result));
            };
            return Ok(Some([x as u32, y as u32, z as u32]));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::MODES;

    #[test]
    fn modes_are_sorted() {
        assert!(MODES.windows(2).all(|w| w[0].number < w[1].number));
    }
}

//! SPV_EXT_shader_invocation_reorder, which is younger than the grammar: instructions on hit
//! objects, a storage class and a decoration.

/// Capability of the instructions.
pub const CAPABILITY: &str = "ShaderInvocationReorderEXT";
/// Second capability of the instructions of moving scenes.
const MOTION: &str = "RayTracingMotionBlurNV";

/// Getters, whose one operand is the hit object.
pub static GETTERS: &[(&str, u32)] = &[
    ("OpHitObjectGetIntersectionTriangleVertexPositionsEXT", 5307),
    ("OpHitObjectGetRayFlagsEXT", 5308),
    ("OpHitObjectGetCurrentTimeEXT", 5320),
    ("OpHitObjectGetHitKindEXT", 5322),
    ("OpHitObjectGetPrimitiveIndexEXT", 5323),
    ("OpHitObjectGetGeometryIndexEXT", 5324),
    ("OpHitObjectGetInstanceIdEXT", 5325),
    ("OpHitObjectGetInstanceCustomIndexEXT", 5326),
    ("OpHitObjectGetObjectRayOriginEXT", 5327),
    ("OpHitObjectGetObjectRayDirectionEXT", 5328),
    ("OpHitObjectGetWorldRayDirectionEXT", 5329),
    ("OpHitObjectGetWorldRayOriginEXT", 5330),
    ("OpHitObjectGetObjectToWorldEXT", 5331),
    ("OpHitObjectGetWorldToObjectEXT", 5332),
    ("OpHitObjectGetRayTMaxEXT", 5333),
    ("OpHitObjectGetRayTMinEXT", 5347),
    ("OpHitObjectGetShaderBindingTableRecordIndexEXT", 5348),
    ("OpHitObjectGetShaderRecordBufferHandleEXT", 5349),
    ("OpHitObjectIsEmptyEXT", 5350),
    ("OpHitObjectIsHitEXT", 5351),
    ("OpHitObjectIsMissEXT", 5352),
];

/// An instruction without a result.
#[derive(Debug)]
pub struct InstructionRow {
    /// Name.
    pub name: &'static str,
    /// Number.
    pub number: u32,
    /// Number of operands, and of further optional ones.
    pub operands: (usize, usize),
    /// True if the instruction also belongs to moving scenes.
    motion: bool,
}

const fn row(number: u32, name: &'static str, operands: (usize, usize), motion: bool) -> InstructionRow {
    InstructionRow { name, number, operands, motion }
}

/// Instructions without a result. All their operands are ids.
pub static INSTRUCTIONS: &[InstructionRow] = &[
    row(5304, "OpHitObjectRecordFromQueryEXT", (4, 1), false),
    row(5305, "OpHitObjectRecordMissEXT", (7, 0), false),
    row(5306, "OpHitObjectRecordMissMotionEXT", (8, 0), true),
    row(5309, "OpHitObjectSetShaderBindingTableRecordIndexEXT", (2, 0), false),
    row(5310, "OpHitObjectReorderExecuteShaderEXT", (2, 2), false),
    row(5311, "OpHitObjectTraceReorderExecuteEXT", (12, 2), false),
    row(5312, "OpHitObjectTraceMotionReorderExecuteEXT", (13, 2), true),
    row(5314, "OpReorderThreadWithHintEXT", (2, 0), false),
    row(5315, "OpReorderThreadWithHitObjectEXT", (1, 2), false),
    row(5316, "OpHitObjectTraceRayEXT", (12, 0), false),
    row(5317, "OpHitObjectTraceRayMotionEXT", (13, 0), true),
    row(5318, "OpHitObjectRecordEmptyEXT", (1, 0), false),
    row(5319, "OpHitObjectExecuteShaderEXT", (2, 0), false),
    row(5321, "OpHitObjectGetAttributesEXT", (2, 0), false),
];

impl InstructionRow {
    /// Returns the capabilities, any of which enables the instruction in the grammar.
    pub fn capabilities(&self) -> &'static [&'static str] {
        if self.motion { &[CAPABILITY, MOTION] } else { &[CAPABILITY] }
    }
}

/// Values of enumerations: the kind of operand, the name and the number.
pub static VALUES: &[(&str, &str, u32)] =
    &[("StorageClass", "HitObjectAttributeEXT", 5411), ("Decoration", "HitObjectShaderRecordBufferEXT", 5389)];

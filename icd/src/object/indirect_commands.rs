//! Indirect commands: structures in device memory that say what to draw or dispatch, and layouts of
//! sequences of tokens that generate commands (`VK_EXT_device_generated_commands`).
//!
//! A token is a row of [`TOKENS`]: its number, the bytes that it takes in a sequence, the bind
//! points that know it, the data that its create info has, and the function that makes the
//! [`Token`] of these data. Execution knows only tokens (`command/execute/generated.rs`). All
//! tokens are aligned to [`TOKEN_ALIGNMENT`].

use super::bind_point::BindPoint;
use crate::caps::limits::{MAX_INDIRECT_STRIDE, MAX_INDIRECT_TOKEN_OFFSET, MAX_INDIRECT_TOKENS};
use crate::caps::newer::IndirectCommandsLayoutEXT;
use crate::fallible;
use ash::vk;
use base::limits::{MAX_PUSH_CONSTANTS, MAX_VERTEX_BINDINGS};
use std::fmt;

/// Number of draws, of all sequences together, that tokens with a count stay below.
pub const MAX_COUNTED_DRAWS: u32 = 1 << 24;
/// Largest number of shader objects that a token binds: those of all graphics stages but mesh ones.
pub const MAX_SHADERS: u32 = 5;
/// Value of VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT.
pub const PIPELINES: i32 = 0;
/// Value of VK_INDIRECT_EXECUTION_SET_INFO_TYPE_SHADER_OBJECTS_EXT.
pub const SHADER_OBJECTS: i32 = 1;
/// Alignment of tokens in bytes.
pub const TOKEN_ALIGNMENT: u32 = 4;

/// Structure that an indirect draw reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndirectKind {
    /// A `VkDrawIndirectCommand`.
    Vertices,
    /// A `VkDrawIndexedIndirectCommand`.
    Indexed,
    /// A `VkDrawMeshTasksIndirectCommandEXT`.
    MeshTasks,
}

impl IndirectKind {
    /// Returns the size of the structure in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            IndirectKind::Vertices => 16,
            IndirectKind::Indexed => 20,
            IndirectKind::MeshTasks => 12,
        }
    }
}

/// Meaning of the word by which a token names the type of indices
/// (`VkIndirectCommandsInputModeFlagBitsEXT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexTypeWords {
    /// The word is a `VkIndexType`.
    Vulkan,
    /// The word is a `DXGI_FORMAT`.
    Dxgi,
}

impl IndexTypeWords {
    fn from_mode(mode: u32) -> Option<IndexTypeWords> {
        match mode {
            1 => Some(IndexTypeWords::Vulkan),
            2 => Some(IndexTypeWords::Dxgi),
            _ => None,
        }
    }

    /// Returns the size of an index in bytes.
    pub fn index_bytes(self, word: u32) -> Option<u32> {
        const UINT8: u32 = vk::IndexType::UINT8_KHR.as_raw() as u32;
        match (self, word) {
            (IndexTypeWords::Vulkan, 0) => Some(2),
            (IndexTypeWords::Vulkan, 1) => Some(4),
            (IndexTypeWords::Vulkan, UINT8) => Some(1),
            // DXGI_FORMAT_R32_UINT, R16_UINT and R8_UINT.
            (IndexTypeWords::Dxgi, 42) => Some(4),
            (IndexTypeWords::Dxgi, 57) => Some(2),
            (IndexTypeWords::Dxgi, 62) => Some(1),
            _ => None,
        }
    }
}

/// Effect of a token, when a sequence is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// Binds a program of the execution set, whose number the sequence has.
    BindProgram,
    /// Binds shader objects of the execution set, whose numbers the sequence has.
    BindShaders {
        /// Number of objects, at most [`MAX_SHADERS`].
        count: u32,
    },
    /// Writes `bytes` bytes of the sequence to the push constants from `to` on.
    PushConstants {
        /// Offset in the push constants.
        to: u32,
        /// Number of bytes.
        bytes: u32,
    },
    /// Writes the number of the sequence to the push constants at `to`.
    PushSequenceIndex {
        /// Offset in the push constants.
        to: u32,
    },
    /// Binds an index buffer: address, size, type.
    BindIndexBuffer(IndexTypeWords),
    /// Binds a vertex buffer: address, size, stride.
    BindVertexBuffer {
        /// Number of the vertex binding.
        binding: u32,
    },
    /// Draws with the structure in the sequence.
    Draw(IndirectKind),
    /// Draws with structures elsewhere: address, stride, count.
    DrawCount(IndirectKind),
    /// Dispatches workgroups in three dimensions.
    Dispatch,
    /// Launches ray tracing with the tables and the size in the sequence.
    TraceRays,
}

impl Token {
    /// Returns true if the token is the command of its sequence.
    pub fn is_action(self) -> bool {
        matches!(self, Token::Draw(_) | Token::DrawCount(_) | Token::Dispatch | Token::TraceRays)
    }

    /// Returns true if the token uses the execution set.
    pub fn is_of_execution_set(self) -> bool {
        matches!(self, Token::BindProgram | Token::BindShaders { .. })
    }
}

/// Data of a token in its create info.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenData {
    /// No data.
    None,
    /// A range of push constants.
    PushConstants {
        /// Offset of the first byte.
        offset: u32,
        /// Number of bytes.
        size: u32,
    },
    /// Number of a vertex binding.
    VertexBuffer(u32),
    /// A `VkIndirectCommandsInputModeFlagBitsEXT`.
    IndexBuffer(u32),
    /// A kind of execution sets.
    ExecutionSet {
        /// A `VkIndirectExecutionSetInfoTypeEXT`.
        ty: i32,
        /// Number of stages that the token changes.
        stages: u32,
    },
}

/// Structure to which the create info of a token points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenDataKind {
    /// None.
    None,
    /// A `VkIndirectCommandsPushConstantTokenEXT`.
    PushConstants,
    /// A `VkIndirectCommandsVertexBufferTokenEXT`.
    VertexBuffer,
    /// A `VkIndirectCommandsIndexBufferTokenEXT`.
    IndexBuffer,
    /// A `VkIndirectCommandsExecutionSetTokenEXT`.
    ExecutionSet,
}

/// A row of the table of tokens.
pub struct TokenRow {
    /// Value of `VkIndirectCommandsTokenTypeEXT`.
    number: i32,
    /// Name of the value, without its prefix.
    name: &'static str,
    /// Number of bytes in a sequence; tokens of push constants have those of their range, those of
    /// shader objects so many for each.
    bytes: u32,
    /// Bind point whose sequences may have the token; `None` if all may.
    point: Option<BindPoint>,
    /// Structure to which the create info points.
    pub data: TokenDataKind,
    /// Makes the token, or gives the reason why its data are refused; in place of the function, the
    /// reason why the driver lacks the token.
    decode: Result<fn(TokenData) -> Decoded, &'static str>,
}

type Decoded = Result<Token, &'static str>;

const NO_NV_MESH: &str = "needs VK_NV_mesh_shader";

macro_rules! tokens {
    ($($number:literal $name:ident, $bytes:expr, $point:expr, $data:ident => $decode:expr;)*) => {
        /// All tokens.
        pub const TOKENS: &[TokenRow] = &[$(TokenRow {
            number: $number,
            name: stringify!($name),
            bytes: $bytes,
            point: $point,
            data: TokenDataKind::$data,
            decode: $decode,
        }),*];
    };
}

const ALL: Option<BindPoint> = None;
const GRAPHICS: Option<BindPoint> = Some(BindPoint::Graphics);
const COMPUTE: Option<BindPoint> = Some(BindPoint::Compute);
const RAYS: Option<BindPoint> = Some(BindPoint::RayTracing);
const VERTICES: IndirectKind = IndirectKind::Vertices;
const INDEXED: IndirectKind = IndirectKind::Indexed;
const MESH_TASKS: IndirectKind = IndirectKind::MeshTasks;

tokens! {
    0 EXECUTION_SET_EXT, 4, ALL, ExecutionSet => Ok(bind_of_set);
    1 PUSH_CONSTANT_EXT, 0, ALL, PushConstants => Ok(push_constants);
    2 SEQUENCE_INDEX_EXT, 0, ALL, PushConstants => Ok(push_sequence_index);
    3 INDEX_BUFFER_EXT, 16, GRAPHICS, IndexBuffer => Ok(bind_index_buffer);
    4 VERTEX_BUFFER_EXT, 16, GRAPHICS, VertexBuffer => Ok(bind_vertex_buffer);
    5 DRAW_INDEXED_EXT, INDEXED.bytes(), GRAPHICS, None => Ok(|_| Ok(Token::Draw(INDEXED)));
    6 DRAW_EXT, VERTICES.bytes(), GRAPHICS, None => Ok(|_| Ok(Token::Draw(VERTICES)));
    7 DRAW_INDEXED_COUNT_EXT, 16, GRAPHICS, None => Ok(|_| Ok(Token::DrawCount(INDEXED)));
    8 DRAW_COUNT_EXT, 16, GRAPHICS, None => Ok(|_| Ok(Token::DrawCount(VERTICES)));
    9 DISPATCH_EXT, 12, COMPUTE, None => Ok(|_| Ok(Token::Dispatch));
    1000135000 PUSH_DATA_EXT, 0, ALL, PushConstants => Ok(push_constants);
    1000135001 PUSH_DATA_SEQUENCE_INDEX_EXT, 0, ALL, PushConstants => Ok(push_sequence_index);
    1000202002 DRAW_MESH_TASKS_NV_EXT, 8, GRAPHICS, None => Err(NO_NV_MESH);
    1000202003 DRAW_MESH_TASKS_COUNT_NV_EXT, 16, GRAPHICS, None => Err(NO_NV_MESH);
    1000328000 DRAW_MESH_TASKS_EXT, MESH_TASKS.bytes(), GRAPHICS, None => Ok(|_| Ok(Token::Draw(MESH_TASKS)));
    1000328001 DRAW_MESH_TASKS_COUNT_EXT, 16, GRAPHICS, None => Ok(|_| Ok(Token::DrawCount(MESH_TASKS)));
    1000386004 TRACE_RAYS2_EXT, 104, RAYS, None => Ok(|_| Ok(Token::TraceRays));
}

fn bind_of_set(data: TokenData) -> Decoded {
    match data {
        TokenData::ExecutionSet { ty: PIPELINES, .. } => Ok(Token::BindProgram),
        TokenData::ExecutionSet { ty: SHADER_OBJECTS, stages: count @ 1..=MAX_SHADERS } => {
            Ok(Token::BindShaders { count })
        }
        _ => Err("is not of a type of execution sets that there is, or has no possible number of stages"),
    }
}

fn push_constants(data: TokenData) -> Decoded {
    let TokenData::PushConstants { offset, size } = data else { return Err("has no range") };
    let inside = offset.checked_add(size).is_some_and(|end| end as usize <= MAX_PUSH_CONSTANTS);
    if !inside || !size.is_multiple_of(4) {
        return Err("has a range that is not one of push constants");
    }
    Ok(Token::PushConstants { to: offset, bytes: size })
}

fn push_sequence_index(data: TokenData) -> Decoded {
    match push_constants(data)? {
        Token::PushConstants { to, bytes: 4 } => Ok(Token::PushSequenceIndex { to }),
        _ => Err("has a range that is not one word"),
    }
}

fn bind_index_buffer(data: TokenData) -> Decoded {
    let TokenData::IndexBuffer(mode) = data else { return Err("has no mode") };
    IndexTypeWords::from_mode(mode).map(Token::BindIndexBuffer).ok_or("has no mode that there is")
}

fn bind_vertex_buffer(data: TokenData) -> Decoded {
    match data {
        TokenData::VertexBuffer(binding) if (binding as usize) < MAX_VERTEX_BINDINGS => {
            Ok(Token::BindVertexBuffer { binding })
        }
        _ => Err("has no vertex binding that there is"),
    }
}

impl TokenRow {
    /// Finds a row by its `VkIndirectCommandsTokenTypeEXT`.
    pub fn find(number: i32) -> Option<&'static TokenRow> {
        TOKENS.iter().find(|row| row.number == number)
    }
}

/// Description of a token.
pub struct TokenCreateInfo {
    /// Value of `VkIndirectCommandsTokenTypeEXT`.
    pub number: i32,
    /// Data, of the kind that the token's row names.
    pub data: TokenData,
    /// Offset in the sequence.
    pub offset: u32,
}

/// Reason why there is no layout.
#[derive(Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// The application describes what no layout can be.
    Invalid(String),
    /// The driver lacks a token.
    Unsupported(String),
    /// There is not enough memory.
    OutOfMemory,
}

impl LayoutError {
    /// Returns the result of the call.
    pub fn result(&self) -> vk::Result {
        match self {
            LayoutError::Invalid(_) => vk::Result::ERROR_UNKNOWN,
            LayoutError::Unsupported(_) => vk::Result::ERROR_FEATURE_NOT_PRESENT,
            LayoutError::OutOfMemory => vk::Result::ERROR_OUT_OF_HOST_MEMORY,
        }
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::Invalid(text) | LayoutError::Unsupported(text) => f.write_str(text),
            LayoutError::OutOfMemory => f.write_str("out of host memory"),
        }
    }
}

/// A token at its offset in a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedToken {
    /// The token.
    pub token: Token,
    /// Offset in bytes.
    pub offset: u32,
}

/// Object behind a `VkIndirectCommandsLayoutEXT`.
#[derive(Debug)]
pub struct IndirectCommandsLayout {
    tokens: Box<[PlacedToken]>,
    action: Token,
    bind_point: BindPoint,
    stride: u32,
    bytes: u32,
}

impl crate::ffi::handle::Object for IndirectCommandsLayout {
    type Handle = IndirectCommandsLayoutEXT;
}

impl IndirectCommandsLayout {
    /// Makes a layout of sequences that are `stride` bytes apart.
    ///
    /// # Errors
    /// The tokens are not a sequence that can be executed.
    pub fn new(infos: &[TokenCreateInfo], stride: u32) -> Result<IndirectCommandsLayout, LayoutError> {
        if infos.len() > MAX_INDIRECT_TOKENS as usize || stride > MAX_INDIRECT_STRIDE {
            let text = format!("{} tokens with a stride of {stride} bytes are more than there can be", infos.len());
            return Err(LayoutError::Invalid(text));
        }
        let mut placed = Vec::new();
        fallible::reserve(&mut placed, infos.len()).map_err(|_| LayoutError::OutOfMemory)?;
        let (mut bytes, mut point) = (0, None);
        for (number, info) in infos.iter().enumerate() {
            let (token, row) = decode(info)?;
            let is_last = number + 1 == infos.len();
            let own = row.point.filter(|own| point.is_some_and(|other| other != *own));
            let is_displaced = token.is_action() != is_last || token.is_of_execution_set() && number != 0;
            if is_displaced || own.is_some() {
                let text = format!("{} cannot be token {number} of {}", row.name, infos.len());
                return Err(LayoutError::Invalid(text));
            }
            point = point.or(row.point);
            let size = match token {
                Token::PushConstants { bytes, .. } => bytes,
                Token::BindShaders { count } => row.bytes * count,
                _ => row.bytes,
            };
            bytes = bytes.max(info.offset + size);
            placed.push(PlacedToken { token, offset: info.offset });
        }
        let (Some(PlacedToken { token, .. }), Some(bind_point)) = (placed.last().copied(), point) else {
            return Err(LayoutError::Invalid("there is no token that draws or dispatches".to_owned()));
        };
        Ok(IndirectCommandsLayout { tokens: placed.into(), action: token, bind_point, stride, bytes })
    }

    /// Returns the tokens in the order of their execution.
    pub fn tokens(&self) -> &[PlacedToken] {
        &self.tokens
    }

    /// Returns the last token, which draws or dispatches.
    pub fn action(&self) -> Token {
        self.action
    }

    /// Returns the bind point of the sequences.
    pub fn bind_point(&self) -> BindPoint {
        self.bind_point
    }

    /// Returns the distance between two sequences in bytes.
    pub fn stride(&self) -> u32 {
        self.stride
    }

    /// Returns the number of bytes of a sequence from its first one to the end of its last token.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Returns the token that binds programs or shader objects of an execution set, if there is
    /// one.
    pub fn execution_set_token(&self) -> Option<Token> {
        self.tokens.first().map(|first| first.token).filter(|token| token.is_of_execution_set())
    }
}

fn decode(info: &TokenCreateInfo) -> Result<(Token, &'static TokenRow), LayoutError> {
    let Some(row) = TokenRow::find(info.number) else {
        return Err(LayoutError::Unsupported(format!("there is no token of type {}", info.number)));
    };
    let refused = |reason: &str| format!("{} {reason}", row.name);
    let decode = row.decode.map_err(|reason| LayoutError::Unsupported(refused(reason)))?;
    let token = decode(info.data).map_err(|reason| LayoutError::Invalid(refused(reason)))?;
    if info.offset > MAX_INDIRECT_TOKEN_OFFSET || !info.offset.is_multiple_of(TOKEN_ALIGNMENT) {
        return Err(LayoutError::Invalid(format!("{} has the offset {}", row.name, info.offset)));
    }
    Ok((token, row))
}

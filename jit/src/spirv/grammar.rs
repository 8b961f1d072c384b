//! Form of the generated tables of instructions: operands, their kinds, and how often they occur.

use super::generated::capabilities::Capability;

/// Kind of an operand.
#[allow(dead_code, reason = "the generated tables need not have every kind")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandKind {
    ResultType,
    Result,
    /// The id of a constant, variable, parameter or result.
    Value,
    /// The id of a value that may be defined later.
    LaterValue,
    Type,
    /// The id of a type that may be declared later.
    LaterType,
    /// The id of a block, which may stand later.
    Label,
    /// The id of a function, which may stand later.
    Function,
    /// The id of an OpString.
    Text,
    /// The id of an extended instruction set.
    Set,
    /// The id of a decoration group.
    Group,
    /// Any id.
    Any,
    /// Any id, which may be defined later.
    Later,
    /// A word that is not an id.
    Literal,
    /// A string with its nul.
    Str,
    /// The words of a number, as many as its type has.
    Number,
    /// The rest of a switch: pairs of a literal, as wide as the selector, and a label.
    Case,
    /// The id of a value that may be defined later, and the id of a block.
    Incoming,
    /// Any id, and the number of a member.
    MemberTarget,
    // Numbers of enumerations (`generated::operands::values`).
    AddressingModel,
    Dim,
    GroupOperation,
    MemoryModel,
    PackedVectorFormat,
    StorageClass,
    // Masks, whose bits add operands (`generated::operands::bits`).
    CooperativeMatrixOperands,
    CooperativeMatrixReduce,
    FunctionControl,
    ImageOperands,
    LoopControl,
    MemoryAccess,
    RawAccessChainOperands,
    SelectionControl,
    TensorAddressingOperands,
    TensorOperands,
}

impl OperandKind {
    /// Returns true for a word that is an id.
    pub const fn is_id(self) -> bool {
        use OperandKind::{Any, Function, Group, Label, Later, LaterType, LaterValue, Set, Text, Type, Value};
        matches!(self, Value | LaterValue | Type | LaterType | Label | Function | Text | Set | Group | Any | Later)
    }
}

/// Bits of a mask and the operands that each of them adds.
#[derive(Debug)]
pub(crate) struct Bit {
    pub mask: u32,
    pub operands: &'static [OperandKind],
}

/// An operand, with the number of its occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    One(OperandKind),
    Optional(OperandKind),
    /// Any number of occurrences.
    Many(OperandKind),
}

/// Part of a module in which an instruction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Types and constants.
    Declarations,
    /// Decorations.
    Annotations,
    /// Another part, which depends on the opcode.
    Other,
}

/// Properties of an opcode.
#[derive(Debug)]
pub(crate) struct Row {
    /// Number in the binary.
    pub number: u16,
    /// Name in the specification.
    pub name: &'static str,
    pub section: Section,
    /// Presence of a result type, and of a result.
    pub has: (bool, bool),
    /// Minimum number of operand words, with those of result type and result.
    pub least: u8,
    /// Number of leading operands after result type and result that are ids or literals. `ids` has
    /// a bit for each of them that is an id.
    pub single: u8,
    pub ids: u16,
    /// Operands after result type and result.
    pub operands: &'static [Operand],
    /// Capabilities, any of which enables the instruction; none if it needs no capability.
    pub capabilities: &'static [Capability],
}

impl Row {
    /// Evaluates the operands at compile time, because every instruction of every module needs the
    /// results.
    pub const fn new(
        number: u16,
        name: &'static str,
        section: Section,
        operands: &'static [Operand],
        capabilities: &'static [Capability],
    ) -> Row {
        let has_type = matches!(operands, [Operand::One(OperandKind::ResultType), ..]);
        let (_, behind) = operands.split_at(has_type as usize);
        let has_result = matches!(behind, [Operand::One(OperandKind::Result), ..]);
        let (_, operands) = behind.split_at(has_result as usize);
        let (mut single, mut ids) = (0, 0);
        while single < operands.len()
            && let Operand::One(kind) = operands[single]
            && (kind.is_id() || matches!(kind, OperandKind::Literal))
        {
            ids |= (kind.is_id() as u16) << single;
            single += 1;
        }
        assert!(single <= 16, "`ids` has 16 bits");
        let (mut least, mut i) = (has_type as u8 + has_result as u8, 0);
        while i < operands.len() {
            least += matches!(operands[i], Operand::One(_)) as u8;
            i += 1;
        }
        let has = (has_type, has_result);
        Row { number, name, section, has, least, single: single as u8, ids, operands, capabilities }
    }

    /// Returns true if the row describes all operands of an instruction with `count` words after
    /// result type and result, each of which is an id or a literal.
    pub fn is_single(&self, count: usize) -> bool {
        count == self.single as usize && count == self.operands.len()
    }
}

/// Defines the opcodes of the rows `number name section(operands) needs capabilities;`. An operand
/// in parentheses is optional, one in brackets occurs any number of times.
macro_rules! opcodes {
    ($($number:literal $name:ident $section:ident($($operand:tt)*) $(needs $($needs:ident)+)?;)*) => {
        /// Opcode numbers by their names in the specification.
        #[allow(non_upper_case_globals, dead_code, reason = "the specification's names; the table is complete, its use need not be")]
        pub(crate) mod op {
            $(pub(crate) const $name: u16 = $number;)*
        }
        /// Rows of the opcodes, sorted by number.
        pub(crate) static TABLE: &[$crate::spirv::grammar::Row] = &[$($crate::spirv::grammar::Row::new(
            $number,
            stringify!($name),
            $crate::spirv::grammar::Section::$section,
            &[$($crate::spirv::grammar::operand!($operand)),*],
            &[$($($crate::spirv::generated::capabilities::Capability::$needs),+)?],
        )),*];
    };
}
pub(crate) use opcodes;

/// Makes an operand of its form in a row of [`opcodes`].
macro_rules! operand {
    (($kind:ident)) => {
        $crate::spirv::grammar::Operand::Optional($crate::spirv::grammar::OperandKind::$kind)
    };
    ([$kind:ident]) => {
        $crate::spirv::grammar::Operand::Many($crate::spirv::grammar::OperandKind::$kind)
    };
    ($kind:ident) => {
        $crate::spirv::grammar::Operand::One($crate::spirv::grammar::OperandKind::$kind)
    };
}
pub(crate) use operand;

//! Writer of the SPIR-V opcodes and of the kinds of their operands.

use crate::Published;
use crate::grammar::{EnumValue, Grammar, Instruction, Operand};
use crate::output::{self, wrapped};
use std::collections::BTreeSet;

/// Upper bound of the opcodes of core SPIR-V, all of which have a row.
const CORE: u32 = 404;

/// Enumerations with a closed list of values, which are checked. All other enumerations are
/// literals, because a value that is younger than the grammar does no harm where it is ignored.
const CLOSED: [&str; 6] =
    ["AddressingModel", "Dim", "GroupOperation", "MemoryModel", "PackedVectorFormat", "StorageClass"];

/// Returns the instructions that have a row: those of core SPIR-V, and those that need no
/// capability or one that Vulkan knows. Graphs have modules of their own.
fn rows(published: &Published) -> Vec<&Instruction> {
    let known: BTreeSet<&str> = published.registry.spirv_capabilities.iter().map(|c| c.name.as_str()).collect();
    let all = published.grammar.instructions.iter().filter(|i| i.class != "Graph");
    all.filter(|i| {
        i.number < CORE || i.capabilities.is_empty() || i.capabilities.iter().any(|c| known.contains(c.as_str()))
    })
    .collect()
}

/// Returns the kind of an id. The grammar has one kind for all of them, and names that say what
/// they are.
fn id_kind(instruction: &Instruction, operand: &Operand) -> &'static str {
    let name = operand.name.as_str();
    let words: Vec<&str> = name.split([' ', ',']).collect();
    match (instruction.name.as_str(), name) {
        (_, "Decoration Group") => return "Group",
        (_, "File") => return "Text",
        (_, "Set") => return "Set",
        // The entry point's function is a function; its interface follows.
        (_, "Entry Point" | "Function" | "Func" | "CombineFunc" | "Invoke") => return "Function",
        ("OpEntryPoint", _) => return "Later",
        ("OpExtInstWithForwardRefsKHR", _) => return "Later",
        ("OpUntypedArrayLengthKHR", "Structure") => return "Type",
        ("OpTypeForwardPointer", _) => return "LaterType",
        (_, "Cache Type") => return "Value",
        // Despite its name, this operand is a pointer in some modules.
        ("OpUntypedPrefetchKHR", "Pointer Type") => return "Any",
        _ => {}
    }
    if matches!(instruction.class.as_str(), "Annotation" | "Debug") {
        return "Later";
    }
    if words.contains(&"Label") || ["Merge Block", "Continue Target", "Default"].contains(&name) {
        return "Label";
    }
    if words.iter().any(|w| ["Type", "Types", "type", "ImageType", "InOutTypes"].contains(w)) {
        return "Type";
    }
    "Value"
}

/// Returns the kinds of an operand, several of which only a decoration and an execution mode have.
fn kinds(grammar: &Grammar, instruction: &Instruction, operand: &Operand) -> Result<Vec<String>, String> {
    let one = |kind: &str| match operand.quantifier.as_str() {
        "?" => format!("({kind})"),
        "*" => format!("[{kind}]"),
        _ => kind.to_owned(),
    };
    Ok(vec![match operand.kind.as_str() {
        "IdResultType" => one("ResultType"),
        "IdResult" => one("Result"),
        "IdRef" => one(id_kind(instruction, operand)),
        "IdScope" | "IdMemorySemantics" => one("Value"),
        "LiteralInteger" | "LiteralExtInstInteger" => one("Literal"),
        "LiteralString" => one("Str"),
        "LiteralContextDependentNumber" => one("Number"),
        "LiteralSpecConstantOpInteger" => return Ok(vec![one("Literal"), "[Value]".into()]),
        "PairLiteralIntegerIdRef" => one("Case"),
        "PairIdRefIdRef" => one("Incoming"),
        "PairIdRefLiteralInteger" => one("MemberTarget"),
        // The operands that follow depend on the decoration or mode.
        "Decoration" | "ExecutionMode" => {
            let named = ["OpDecorateId", "OpMemberDecorateIdEXT", "OpExecutionModeId"].contains(&&*instruction.name);
            return Ok(vec![one("Literal"), if named { "[Later]" } else { "[Literal]" }.into()]);
        }
        kind if CLOSED.contains(&kind) => one(kind),
        kind => match grammar.find(kind) {
            Some(all) if all.is_mask => one(kind),
            Some(_) => one("Literal"),
            None => return Err(format!("{}: operand of the unknown kind {kind}", instruction.name)),
        },
    }])
}

/// Returns the section of a module in which an instruction stands.
fn section(instruction: &Instruction) -> &'static str {
    let is = |prefix: &str| instruction.name.starts_with(prefix);
    if is("OpType") || is("OpConstant") || is("OpSpecConstant") {
        "Declarations"
    } else if instruction.class == "Annotation" {
        "Annotations"
    } else {
        "Other"
    }
}

/// Writes the table of opcodes.
///
/// # Errors
/// Returns a message if the grammar has an operand of an unknown kind.
pub fn write_opcodes(published: &Published) -> Result<String, String> {
    let rows = rows(published);
    let mut text = output::header(
        "The instructions of SPIR-V that a Vulkan driver may meet: those of core SPIR-V, and those of the\n\
         capabilities that Vulkan knows.",
    );
    text += "use super::super::grammar::opcodes;\n\nopcodes! {\n";
    for i in &rows {
        let mut operands = String::new();
        for operand in &i.operands {
            kinds(&published.grammar, i, operand)?.iter().for_each(|kind| operands += &format!(" {kind}"));
        }
        let needs =
            if i.capabilities.is_empty() { String::new() } else { format!(" needs {}", i.capabilities.join(" ")) };
        text += &wrapped(&format!("{} {} {}({}){needs};", i.number, i.name, section(i), operands.trim_start()));
    }
    Ok(text + "}\n")
}

/// Writes the values of operands that are numbers of an enumeration or masks.
///
/// # Errors
/// Returns a message if a bit of a mask adds an operand of an unknown kind.
pub fn write_operands(published: &Published) -> Result<String, String> {
    let used: BTreeSet<&str> =
        rows(published).iter().flat_map(|i| &i.operands).map(|operand| operand.kind.as_str()).collect();
    let enums = || published.grammar.enums.iter().filter(|e| used.contains(e.kind.as_str()));
    let mut text = output::header("The values of operands: the numbers of enumerations, and the bits of masks.");
    text += "use super::super::grammar::{Bit, OperandKind};\n\n\
             /// Returns the bits of a mask, or `None` if the kind is no mask.\n\
             pub(crate) const fn bits(kind: OperandKind) -> Option<&'static [Bit]> {\nSome(match kind {\n";
    for mask in enums().filter(|e| e.is_mask) {
        text += &format!("OperandKind::{} => &[\n", mask.kind);
        for value in mask.values.iter().filter(|v| v.number != 0) {
            text += &bit(value)?;
        }
        text += "],\n";
    }
    text += "_ => return None,\n})\n}\n\n";
    text += "/// Returns the values of an enumeration whose list is closed, or `None` for other kinds.\n";
    text += "pub(crate) const fn values(kind: OperandKind) -> Option<&'static [u32]> {\nSome(match kind {\n";
    for closed in enums().filter(|e| CLOSED.contains(&e.kind.as_str())) {
        let numbers: Vec<String> = closed.values.iter().map(|v| v.number.to_string()).collect();
        text += &format!("OperandKind::{} => &[{}],\n", closed.kind, numbers.join(", "));
    }
    Ok(text + "_ => return None,\n})\n}\n")
}

fn bit(value: &EnumValue) -> Result<String, String> {
    let mut operands = Vec::new();
    for kind in &value.parameters {
        operands.push(match kind.as_str() {
            // A function that decodes is an id of another kind.
            "IdRef" if value.name == "DecodeFunc" => "OperandKind::Function",
            "IdRef" | "IdScope" | "IdMemorySemantics" => "OperandKind::Value",
            "LiteralInteger" => "OperandKind::Literal",
            _ => return Err(format!("{}: operand of the unknown kind {kind}", value.name)),
        });
    }
    Ok(format!("Bit {{ mask: {:#x}, operands: &[{}] }}, // {}\n", value.number, operands.join(", "), value.name))
}

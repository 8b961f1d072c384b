//! Reader of `spirv.core.grammar.json`.

use serde_json::Value;
use std::path::Path;

/// The grammar of SPIR-V.
#[derive(Debug)]
pub struct Grammar {
    /// Instructions, sorted by number.
    pub instructions: Vec<Instruction>,
    /// Enumerations of operands.
    pub enums: Vec<Enum>,
}

/// An instruction.
#[derive(Debug)]
pub struct Instruction {
    /// Name, which begins with `Op`.
    pub name: String,
    /// Number in the binary.
    pub number: u32,
    /// Class, such as `Annotation`.
    pub class: String,
    /// Operands including the result type and the result.
    pub operands: Vec<Operand>,
    /// Capabilities, any of which enables the instruction; none if it needs no capability.
    pub capabilities: Vec<String>,
}

/// An operand of an instruction.
#[derive(Debug)]
pub struct Operand {
    /// Kind, such as `IdRef` or `MemoryAccess`.
    pub kind: String,
    /// Name, such as `Base Type`; may be empty.
    pub name: String,
    /// `""`, `"?"` for an optional operand, or `"*"` for any number of them.
    pub quantifier: String,
}

/// An enumeration, whose values are numbers or bits of a mask.
#[derive(Debug)]
pub struct Enum {
    /// Kind of operand that has these values.
    pub kind: String,
    /// True if the values are bits of a mask.
    pub is_mask: bool,
    /// Values, sorted by number.
    pub values: Vec<EnumValue>,
}

/// A value of an enumeration.
#[derive(Debug)]
pub struct EnumValue {
    /// Name.
    pub name: String,
    /// Number, or bits of the mask.
    pub number: u32,
    /// Kinds of the operands that the value adds.
    pub parameters: Vec<String>,
    /// Capabilities that the value needs; those of a capability are the ones that it declares.
    pub capabilities: Vec<String>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns a number, which masks give as a string of hexadecimal digits.
fn number(value: &Value) -> Option<u32> {
    match value.as_str() {
        Some(digits) => u32::from_str_radix(digits.trim_start_matches("0x"), 16).ok(),
        None => value.as_u64().and_then(|n| n.try_into().ok()),
    }
}

impl Grammar {
    /// Reads the file.
    ///
    /// # Errors
    /// Returns a message if the file is not readable or not a grammar.
    pub fn read(path: &Path) -> Result<Grammar, String> {
        let broken = |what: &str| format!("{}: {what}", path.display());
        let bytes = std::fs::read(path).map_err(|e| broken(&e.to_string()))?;
        let json: Value = serde_json::from_slice(&bytes).map_err(|e| broken(&e.to_string()))?;
        let mut grammar = Grammar { instructions: Vec::new(), enums: Vec::new() };
        for i in list(&json["instructions"]) {
            let operand = |o: &Value| Operand {
                kind: text(&o["kind"]),
                name: text(&o["name"]),
                quantifier: text(&o["quantifier"]),
            };
            grammar.instructions.push(Instruction {
                name: text(&i["opname"]),
                number: number(&i["opcode"]).ok_or_else(|| broken("an instruction without a number"))?,
                class: text(&i["class"]),
                operands: list(&i["operands"]).map(operand).collect(),
                capabilities: list(&i["capabilities"]).map(text).collect(),
            });
        }
        for kind in list(&json["operand_kinds"]).filter(|k| k["enumerants"].is_array()) {
            let mut values: Vec<EnumValue> = Vec::new();
            for e in list(&kind["enumerants"]) {
                let number = number(&e["value"]).ok_or_else(|| broken("a value without a number"))?;
                // Older grammars list aliases as values of their own.
                if values.iter().any(|v| v.number == number) {
                    continue;
                }
                values.push(EnumValue {
                    name: text(&e["enumerant"]),
                    number,
                    parameters: list(&e["parameters"]).map(|p| text(&p["kind"])).collect(),
                    capabilities: list(&e["capabilities"]).map(text).collect(),
                });
            }
            let is_mask = kind["category"] == "BitEnum";
            grammar.enums.push(Enum { kind: text(&kind["kind"]), is_mask, values });
        }
        if grammar.instructions.is_empty() || grammar.find("Capability").is_none() {
            return Err(broken("no grammar of SPIR-V"));
        }
        grammar.sort();
        Ok(grammar)
    }

    /// Sorts all lists by number.
    pub fn sort(&mut self) {
        self.instructions.sort_by_key(|i| i.number);
        self.enums.iter_mut().for_each(|e| e.values.sort_by_key(|v| v.number));
    }

    /// Finds the enumeration of a kind of operand.
    pub fn find(&self, kind: &str) -> Option<&Enum> {
        self.enums.iter().find(|e| e.kind == kind)
    }

    /// Returns the capabilities.
    pub fn capabilities(&self) -> &[EnumValue] {
        self.find("Capability").map_or(&[], |e| &e.values)
    }
}

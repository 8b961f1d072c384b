//! Order of instructions: the sections of a module (SPIR-V 2.4), and the first instructions of a
//! function and of a block.

use super::super::grammar::{Row, Section};
use super::super::module::{Function, Module};
use super::super::opcodes::{self, op};
use super::broken;
use crate::error::{Error, Result};

/// Number of the last section: types, constants and global variables.
const TYPES: u32 = 10;

/// Part of a module in which an instruction may appear.
#[derive(Clone, Copy)]
enum SectionRule {
    Anywhere,
    /// Section with this number, in their order.
    Section(u32),
    Function,
    /// Global scope and functions.
    Both,
}

/// Returns the part of a module for an opcode. Without a row, it may appear anywhere.
fn section_rule(number: u16) -> SectionRule {
    SECTION_RULES
        .get(number as usize)
        .copied()
        .unwrap_or_else(|| opcodes::row(number).map_or(SectionRule::Anywhere, section_rule_of))
}

/// Returns the part of a module for the opcode of a row.
const fn section_rule_of(row: &Row) -> SectionRule {
    match row.number {
        op::OpNop | op::OpLine | op::OpNoLine => SectionRule::Anywhere,
        op::OpVariable | op::OpUntypedVariableKHR | op::OpUndef | op::OpExtInst | op::OpExtInstWithForwardRefsKHR => {
            SectionRule::Both
        }
        op::OpCapability => SectionRule::Section(0),
        op::OpExtension => SectionRule::Section(1),
        op::OpExtInstImport => SectionRule::Section(2),
        op::OpMemoryModel => SectionRule::Section(3),
        op::OpEntryPoint => SectionRule::Section(4),
        op::OpExecutionMode | op::OpExecutionModeId => SectionRule::Section(5),
        op::OpString | op::OpSourceExtension | op::OpSource | op::OpSourceContinued => SectionRule::Section(6),
        op::OpName | op::OpMemberName => SectionRule::Section(7),
        op::OpModuleProcessed => SectionRule::Section(8),
        _ => match row.section {
            Section::Annotations => SectionRule::Section(9),
            Section::Declarations => SectionRule::Section(TYPES),
            Section::Other => SectionRule::Function,
        },
    }
}

/// Parts of a module for the core opcodes.
static SECTION_RULES: [SectionRule; opcodes::CORE] = {
    let mut table = [SectionRule::Anywhere; opcodes::CORE];
    let mut number = 0;
    while number < table.len() {
        if let Some(row) = opcodes::core_row(number) {
            table[number] = section_rule_of(row);
        }
        number += 1;
    }
    table
};

pub(super) fn check(m: &Module) -> Result<()> {
    let (mut section, mut models) = (0, 0);
    for inst in m.globals.clone() {
        let v = m.view(inst);
        match section_rule(v.op) {
            SectionRule::Section(s) if s < section => {
                return broken(v, "stands behind instructions that it must precede");
            }
            SectionRule::Section(s) => section = s,
            SectionRule::Function => return broken(v, "stands outside of functions"),
            // Non-semantic instructions may appear in earlier sections.
            SectionRule::Both if !matches!(v.op, op::OpExtInst | op::OpExtInstWithForwardRefsKHR) => section = TYPES,
            SectionRule::Both | SectionRule::Anywhere => {}
        }
        models += u32::from(v.op == op::OpMemoryModel);
    }
    if models != 1 {
        return Err(Error::invalid(format!("{models} OpMemoryModel instructions")));
    }
    m.functions.iter().try_for_each(|f| function(m, f))
}

fn function(m: &Module, f: &Function) -> Result<()> {
    if let Some(inst) = f.insts.clone().find(|&inst| matches!(section_rule(m.opcode(inst)), SectionRule::Section(_))) {
        return broken(m.view(inst), "stands in a function");
    }
    for (n, block) in f.blocks.iter().enumerate() {
        let (mut variables, mut phis) = (n == 0, true);
        for inst in block.body.clone() {
            match m.opcode(inst) {
                op::OpLine | op::OpNoLine | op::OpNop | op::OpExtInst | op::OpExtInstWithForwardRefsKHR => {}
                op::OpVariable | op::OpUntypedVariableKHR if variables => {}
                op::OpVariable | op::OpUntypedVariableKHR => {
                    return broken(m.view(inst), "variables stand first in the first block of a function");
                }
                op::OpPhi if phis && n > 0 => {}
                op::OpPhi => {
                    return broken(
                        m.view(inst),
                        "phis stand first in a block, and in none that a function begins with",
                    );
                }
                _ => (variables, phis) = (false, false),
            }
        }
    }
    Ok(())
}

//! Where instructions stand: the sections of a module (SPIR-V 2.4), and what stands first in a function and in a block.

use super::super::module::{Function, Module};
use super::super::opcodes::{self, op};
use super::broken;
use crate::error::{Error, Result};

/// Sections in their order. Types, constants and global variables are the last one ([`TYPES`]).
static SECTIONS: &[&[u16]] = &[
    &[op::OpCapability],
    &[op::OpExtension],
    &[op::OpExtInstImport],
    &[op::OpMemoryModel],
    &[op::OpEntryPoint],
    &[op::OpExecutionMode, op::OpExecutionModeId],
    &[op::OpString, op::OpSourceExtension, op::OpSource, op::OpSourceContinued],
    &[op::OpName, op::OpMemberName],
    &[op::OpModuleProcessed],
    &[
        op::OpDecorate,
        op::OpMemberDecorate,
        op::OpGroupDecorate,
        op::OpGroupMemberDecorate,
        op::OpDecorationGroup,
        op::OpDecorateId,
        op::OpDecorateString,
        op::OpMemberDecorateString,
    ],
];
const TYPES: usize = SECTIONS.len();

/// Where an instruction belongs.
enum Home {
    Anywhere,
    Section(usize),
    Function,
    /// Globals and functions both.
    Both,
}

fn home(number: u16) -> Home {
    match number {
        op::OpNop | op::OpLine | op::OpNoLine => Home::Anywhere,
        op::OpVariable | op::OpUntypedVariableKHR | op::OpUndef | op::OpExtInst | op::OpExtInstWithForwardRefsKHR => {
            Home::Both
        }
        op::OpTypeForwardPointer | op::OpConstantTrue..=op::OpSpecConstantOp => Home::Section(TYPES),
        _ => match opcodes::row(number) {
            None => Home::Anywhere,
            Some(row) if row.name.starts_with("OpType") => Home::Section(TYPES),
            Some(row) if row.name.contains("Constant") => Home::Section(TYPES),
            Some(_) => SECTIONS.iter().position(|s| s.contains(&number)).map_or(Home::Function, Home::Section),
        },
    }
}

pub(super) fn check(m: &Module) -> Result<()> {
    let (mut section, mut models) = (0, 0);
    for inst in m.globals.clone() {
        let v = m.view(inst);
        match home(v.op) {
            Home::Section(s) if s < section => return broken(v, "stands behind instructions that it must precede"),
            Home::Section(s) => section = s,
            Home::Function => return broken(v, "stands outside of functions"),
            // Non-semantic instructions may stand further up.
            Home::Both if !matches!(v.op, op::OpExtInst | op::OpExtInstWithForwardRefsKHR) => section = TYPES,
            Home::Both | Home::Anywhere => {}
        }
        models += u32::from(v.op == op::OpMemoryModel);
    }
    if models != 1 {
        return Err(Error::invalid(format!("{models} OpMemoryModel instructions")));
    }
    m.functions.iter().try_for_each(|f| function(m, f))
}

fn function(m: &Module, f: &Function) -> Result<()> {
    for inst in f.insts.clone() {
        let v = m.view(inst);
        if matches!(home(v.op), Home::Section(_)) {
            return broken(v, "stands in a function");
        }
    }
    for (n, block) in f.blocks.iter().enumerate() {
        let (mut variables, mut phis) = (n == 0, true);
        for inst in block.body.clone() {
            let v = m.view(inst);
            match v.op {
                op::OpLine | op::OpNoLine | op::OpNop | op::OpExtInst | op::OpExtInstWithForwardRefsKHR => {}
                op::OpVariable | op::OpUntypedVariableKHR if variables => {}
                op::OpVariable | op::OpUntypedVariableKHR => {
                    return broken(v, "variables stand first in the first block of a function");
                }
                op::OpPhi if phis && n > 0 => {}
                op::OpPhi => return broken(v, "phis stand first in a block, and in none that a function begins with"),
                _ => (variables, phis) = (false, false),
            }
        }
    }
    Ok(())
}

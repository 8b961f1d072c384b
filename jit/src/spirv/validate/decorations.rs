//! Rules for decorations: allowed targets and number of operands (SPIR-V 3.20), with one row per
//! decoration. Decorations without a row are not checked.

use super::super::module::{Module, NO_MEMBER};
use super::super::opcodes::op;
use crate::error::{Error, Result};

/// Allowed target of a decoration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecorationTarget {
    Anything,
    /// A structure type.
    Struct,
    /// An array or pointer type.
    Strided,
    /// A member of a structure, but not the structure.
    Member,
    /// A variable.
    Variable,
    /// A declaration of an object in memory (a variable, a parameter, OpBufferPointerEXT,
    /// OpRawAccessChainNV), or a member.
    Object,
    /// A variable or a member.
    Interface,
    /// A variable, a constant or a member.
    Builtin,
    /// A scalar specialisation constant.
    Spec,
}
use DecorationTarget::*;

/// Rows of decorations: number, name, number of operand words, and allowed target.
static DECORATIONS: &[(u32, &str, usize, DecorationTarget)] = &[
    (0, "RelaxedPrecision", 0, Anything),
    (1, "SpecId", 1, Spec),
    (2, "Block", 0, Struct),
    (3, "BufferBlock", 0, Struct),
    (4, "RowMajor", 0, Member),
    (5, "ColMajor", 0, Member),
    (6, "ArrayStride", 1, Strided),
    (7, "MatrixStride", 1, Member),
    (8, "GLSLShared", 0, Struct),
    (9, "GLSLPacked", 0, Struct),
    (10, "CPacked", 0, Struct),
    (11, "BuiltIn", 1, Builtin),
    (13, "NoPerspective", 0, Object),
    (14, "Flat", 0, Object),
    (15, "Patch", 0, Object),
    (16, "Centroid", 0, Object),
    (17, "Sample", 0, Object),
    (18, "Invariant", 0, Interface),
    (19, "Restrict", 0, Object),
    (20, "Aliased", 0, Object),
    (21, "Volatile", 0, Object),
    (23, "Coherent", 0, Object),
    (24, "NonWritable", 0, Object),
    (25, "NonReadable", 0, Object),
    (29, "Stream", 1, Object),
    (30, "Location", 1, Interface),
    (31, "Component", 1, Object),
    (32, "Index", 1, Variable),
    (33, "Binding", 1, Variable),
    (34, "DescriptorSet", 1, Variable),
    (35, "Offset", 1, Interface),
    (36, "XfbBuffer", 1, Object),
    (37, "XfbStride", 1, Object),
    (39, "FPRoundingMode", 1, Anything),
    (40, "FPFastMathMode", 1, Anything),
    (42, "NoContraction", 0, Anything),
    (43, "InputAttachmentIndex", 1, Variable),
    (4469, "NoSignedWrap", 0, Anything),
    (4470, "NoUnsignedWrap", 0, Anything),
    (5124, "ArrayStrideIdEXT", 1, Strided),
    (5125, "OffsetIdEXT", 1, Member),
    (5271, "PerPrimitiveEXT", 0, Anything),
    (5285, "PerVertexKHR", 0, Object),
    (5300, "NonUniform", 0, Anything),
    (5355, "RestrictPointer", 0, Object),
    (5356, "AliasedPointer", 0, Object),
];

pub(super) fn check(m: &Module) -> Result<()> {
    for (target, member, number, words) in m.decorations() {
        let broken = |rule: &str, name: &str| Err(Error::invalid(format!("decoration {name}: {rule}")).with_id(target));
        if member != NO_MEMBER {
            match m.declared(target, op::OpTypeStruct) {
                Some(members) if (member as usize) < members.len() => {}
                Some(_) => return broken("there is no such member", &number.to_string()),
                None => return broken("a member of something that is no structure", &number.to_string()),
            }
        }
        let Ok(row) = DECORATIONS.binary_search_by_key(&number, |r| r.0) else { continue };
        let (_, name, count, on) = DECORATIONS[row];
        if words.len() != count {
            return broken("wrong number of operands", name);
        }
        if !fits(m, target, member != NO_MEMBER, on) {
            return broken("cannot be put there", name);
        }
    }
    Ok(())
}

fn is_constant(number: u16) -> bool {
    let replicated = [op::OpConstantCompositeReplicateEXT, op::OpSpecConstantCompositeReplicateEXT].contains(&number);
    replicated || matches!(number, op::OpConstantTrue..=op::OpSpecConstantOp)
}

/// Returns true if the target allows a decoration with the rule `on`. Groups allow all decorations.
fn fits(m: &Module, target: u32, member: bool, on: DecorationTarget) -> bool {
    let Ok(v) = m.def(target) else { return false };
    if v.op == op::OpDecorationGroup {
        return true;
    }
    let variable = matches!(v.op, op::OpVariable | op::OpUntypedVariableKHR);
    match on {
        Anything => true,
        Member => member,
        Struct => !member && v.op == op::OpTypeStruct,
        Strided => {
            !member
                && matches!(
                    v.op,
                    op::OpTypeArray | op::OpTypeRuntimeArray | op::OpTypePointer | op::OpTypeUntypedPointerKHR
                )
        }
        Variable => !member && variable,
        Object => {
            let declares = matches!(v.op, op::OpFunctionParameter | op::OpBufferPointerEXT | op::OpRawAccessChainNV);
            member || variable || declares
        }
        Interface => member || variable,
        Builtin => member || variable || is_constant(v.op),
        Spec => {
            let scalar = matches!(v.op, op::OpSpecConstantTrue | op::OpSpecConstantFalse | op::OpSpecConstant);
            !member && scalar
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn decorations_are_sorted() {
        assert!(super::DECORATIONS.windows(2).all(|w| w[0].0 < w[1].0));
    }
}

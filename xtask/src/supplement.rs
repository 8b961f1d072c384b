//! Facts that are younger than the files of [`crate::source`]: names and numbers from the published
//! specifications of extensions.
//!
//! A row is needed until the source has it. A test compares every row with the source and fails
//! when the source has caught up, so that the row can be deleted.

use crate::grammar::{EnumValue, Grammar, Instruction, Operand};
use crate::hit_objects;
use crate::registry::{Condition, Contents, Extension, Member, Registry, Structure, Unlocked, tag};

/// An instruction.
#[derive(Debug)]
pub struct InstructionRow {
    name: &'static str,
    number: u32,
    class: &'static str,
    /// Operands behind result type and result, as kind and name.
    operands: &'static [(&'static str, &'static str)],
    /// Presence of a result type, and of a result.
    has: (bool, bool),
    capabilities: &'static [&'static str],
}

const VECTORS: &[(&str, &str)] = &[("IdRef", "Vector 1"), ("IdRef", "Vector 2"), ("IdRef", "Accumulator")];

/// Instructions, those of SPV_KHR_fma, SPV_EXT_descriptor_heap and
/// SPV_VALVE_mixed_float_dot_product.
pub static INSTRUCTIONS: &[InstructionRow] = &[
    InstructionRow {
        name: "OpFmaKHR",
        number: 4427,
        class: "Arithmetic",
        operands: &[("IdRef", "Operand 1"), ("IdRef", "Operand 2"), ("IdRef", "Operand 3")],
        has: (true, true),
        capabilities: &["FMAKHR"],
    },
    InstructionRow {
        name: "OpTypeBufferEXT",
        number: 5115,
        class: "Type-Declaration",
        operands: &[("StorageClass", "")],
        has: (false, true),
        capabilities: &["DescriptorHeapEXT"],
    },
    InstructionRow {
        name: "OpBufferPointerEXT",
        number: 5119,
        class: "Memory",
        operands: &[("IdRef", "Buffer")],
        has: (true, true),
        capabilities: &["DescriptorHeapEXT"],
    },
    InstructionRow {
        name: "OpUntypedImageTexelPointerEXT",
        number: 5126,
        class: "Memory",
        operands: &[("IdRef", "ImageType"), ("IdRef", "Image"), ("IdRef", "Coordinate"), ("IdRef", "Sample")],
        has: (true, true),
        capabilities: &["DescriptorHeapEXT"],
    },
    InstructionRow {
        name: "OpMemberDecorateIdEXT",
        number: 5127,
        class: "Annotation",
        operands: &[("IdRef", "Structure Type"), ("LiteralInteger", "Member"), ("Decoration", "")],
        has: (false, false),
        capabilities: &["DescriptorHeapEXT"],
    },
    InstructionRow {
        name: "OpConstantSizeOfEXT",
        number: 5129,
        class: "Constant-Creation",
        operands: &[("IdRef", "Type")],
        has: (true, true),
        capabilities: &["DescriptorHeapEXT"],
    },
    InstructionRow {
        name: "OpFDot2MixAcc32VALVE",
        number: 6916,
        class: "Reserved",
        operands: VECTORS,
        has: (true, true),
        capabilities: &["DotProductFloat16AccFloat32VALVE", "DotProductBFloat16AccVALVE"],
    },
    InstructionRow {
        name: "OpFDot2MixAcc16VALVE",
        number: 6917,
        class: "Reserved",
        operands: VECTORS,
        has: (true, true),
        capabilities: &["DotProductFloat16AccFloat16VALVE", "DotProductBFloat16AccVALVE"],
    },
    InstructionRow {
        name: "OpFDot4MixAcc32VALVE",
        number: 6918,
        class: "Reserved",
        operands: VECTORS,
        has: (true, true),
        capabilities: &["DotProductFloat8AccFloat32VALVE"],
    },
];

/// A capability: its number, its name, the capabilities that it declares implicitly, and the
/// features that unlock it, or the extension alone if there are none.
#[derive(Debug)]
pub struct CapabilityRow {
    number: u32,
    name: &'static str,
    implied: &'static [&'static str],
    features: &'static [&'static str],
    /// Extension that provides the features.
    extension: &'static str,
}

/// Capabilities.
#[rustfmt::skip]
pub static CAPABILITIES: &[CapabilityRow] = &[
    CapabilityRow { number: 5128, name: "DescriptorHeapEXT", implied: &["UntypedPointersKHR"], features: &["descriptorHeap"], extension: "VK_EXT_descriptor_heap" },
    CapabilityRow { number: 5388, name: hit_objects::CAPABILITY, implied: &["RayTracingKHR"], features: &[], extension: "VK_EXT_ray_tracing_invocation_reorder" },
    CapabilityRow { number: 5425, name: LONG_VECTOR, implied: &[], features: &["longVector"], extension: "VK_EXT_shader_long_vector" },
    CapabilityRow { number: 6030, name: "FMAKHR", implied: &[], features: &["shaderFmaFloat16", "shaderFmaFloat32", "shaderFmaFloat64"], extension: "VK_KHR_shader_fma" },
    CapabilityRow { number: 6032, name: "RayTracingOpacityMicromapExecutionModeKHR", implied: &["Shader"], features: &["micromap"], extension: "VK_KHR_opacity_micromap" },
    CapabilityRow { number: 6912, name: "DotProductFloat16AccFloat32VALVE", implied: &["Float16"], features: &["shaderMixedFloatDotProductFloat16AccFloat32"], extension: "VK_VALVE_shader_mixed_float_dot_product" },
    CapabilityRow { number: 6913, name: "DotProductFloat16AccFloat16VALVE", implied: &["Float16"], features: &["shaderMixedFloatDotProductFloat16AccFloat16"], extension: "VK_VALVE_shader_mixed_float_dot_product" },
    CapabilityRow { number: 6914, name: "DotProductBFloat16AccVALVE", implied: &["BFloat16TypeKHR"], features: &["shaderMixedFloatDotProductBFloat16Acc"], extension: "VK_VALVE_shader_mixed_float_dot_product" },
    CapabilityRow { number: 6915, name: "DotProductFloat8AccFloat32VALVE", implied: &["Float8EXT"], features: &["shaderMixedFloatDotProductFloat8AccFloat32"], extension: "VK_VALVE_shader_mixed_float_dot_product" },
];

const LONG_VECTOR: &str = "LongVectorEXT";

/// Instructions of the source that a further capability enables.
pub static ENABLED_TOO: &[(&str, &str)] = &[("OpTypeVectorIdEXT", LONG_VECTOR)];

/// SPIR-V extensions, each with the Vulkan extension that unlocks it.
pub static SPIRV_EXTENSIONS: &[(&str, &str)] = &[
    ("SPV_KHR_opacity_micromap", "VK_KHR_opacity_micromap"),
    ("SPV_VALVE_mixed_float_dot_product", "VK_VALVE_shader_mixed_float_dot_product"),
];

/// Instructions and capabilities that were renamed: the name in the source, and the name since.
pub static RENAMED: &[(&str, &str)] = &[
    ("OpGroupNonUniformPartitionNV", "OpGroupNonUniformPartitionEXT"),
    ("GroupNonUniformPartitionedNV", "GroupNonUniformPartitionedEXT"),
    ("OpTypeCooperativeVectorNV", "OpTypeVectorIdEXT"),
];

/// A device extension with one structure of features, the first of which is mandatory.
#[derive(Debug)]
pub struct ExtensionRow {
    name: &'static str,
    number: u32,
    depends: &'static str,
    /// Structure of features, and the offset of its tag.
    structure: (&'static str, u32),
    features: &'static [&'static str],
    /// Commands, with the condition of each group.
    commands: &'static [(&'static str, &'static [&'static str])],
}

/// Vulkan extensions; the version of each is 1.
pub static EXTENSIONS: &[ExtensionRow] = &[
    ExtensionRow {
        name: "VK_KHR_device_address_commands",
        number: 319,
        depends: "((((VK_KHR_get_physical_device_properties2,VK_VERSION_1_1)+VK_KHR_buffer_device_address),\
                  VK_VERSION_1_2)+VK_KHR_synchronization2+VK_EXT_extended_dynamic_state),VK_VERSION_1_3",
        structure: ("VkPhysicalDeviceDeviceAddressCommandsFeaturesKHR", 6),
        features: &["deviceAddressCommands"],
        commands: &[
            (
                "",
                &[
                    "vkCmdBindIndexBuffer3KHR",
                    "vkCmdBindVertexBuffers3KHR",
                    "vkCmdDrawIndirect2KHR",
                    "vkCmdDrawIndexedIndirect2KHR",
                    "vkCmdDispatchIndirect2KHR",
                    "vkCmdCopyMemoryKHR",
                    "vkCmdCopyMemoryToImageKHR",
                    "vkCmdCopyImageToMemoryKHR",
                    "vkCmdUpdateMemoryKHR",
                    "vkCmdFillMemoryKHR",
                    "vkCmdCopyQueryPoolResultsToMemoryKHR",
                ],
            ),
            (
                "VK_KHR_draw_indirect_count,VK_VERSION_1_2",
                &["vkCmdDrawIndirectCount2KHR", "vkCmdDrawIndexedIndirectCount2KHR"],
            ),
            ("VK_EXT_conditional_rendering", &["vkCmdBeginConditionalRendering2EXT"]),
            (
                "VK_EXT_transform_feedback",
                &[
                    "vkCmdBindTransformFeedbackBuffers2EXT",
                    "vkCmdBeginTransformFeedback2EXT",
                    "vkCmdEndTransformFeedback2EXT",
                    "vkCmdDrawIndirectByteCount2EXT",
                ],
            ),
            ("VK_EXT_mesh_shader", &["vkCmdDrawMeshTasksIndirect2EXT"]),
            ("VK_KHR_acceleration_structure", &["vkCreateAccelerationStructure2KHR"]),
            (
                "(VK_KHR_draw_indirect_count,VK_VERSION_1_2)+VK_EXT_mesh_shader",
                &["vkCmdDrawMeshTasksIndirectCount2EXT"],
            ),
        ],
    },
    ExtensionRow {
        name: "VK_KHR_device_fault",
        number: 574,
        depends: "VK_KHR_get_physical_device_properties2,VK_VERSION_1_1",
        structure: ("VkPhysicalDeviceFaultFeaturesKHR", 0),
        features: &[
            "deviceFault",
            "deviceFaultVendorBinary",
            "deviceFaultReportMasked",
            "deviceFaultDeviceLostOnMasked",
        ],
        commands: &[("", &["vkGetDeviceFaultReportsKHR", "vkGetDeviceFaultDebugInfoKHR"])],
    },
    ExtensionRow {
        name: "VK_EXT_multisampled_render_to_swapchain",
        number: 617,
        depends: "VK_KHR_swapchain+VK_EXT_multisampled_render_to_single_sampled",
        structure: ("VkPhysicalDeviceMultisampledRenderToSwapchainFeaturesEXT", 0),
        features: &["multisampledRenderToSwapchain"],
        commands: &[],
    },
    ExtensionRow {
        name: "VK_KHR_opacity_micromap",
        number: 624,
        depends: "VK_KHR_acceleration_structure+VK_KHR_device_address_commands",
        structure: ("VkPhysicalDeviceOpacityMicromapFeaturesKHR", 0),
        features: &["micromap"],
        commands: &[],
    },
    ExtensionRow {
        name: "VK_KHR_maintenance11",
        number: 658,
        depends: "VK_KHR_get_physical_device_properties2,VK_VERSION_1_1",
        structure: ("VkPhysicalDeviceMaintenance11FeaturesKHR", 0),
        features: &["maintenance11"],
        commands: &[],
    },
    ExtensionRow {
        name: "VK_KHR_extended_flags",
        number: 669,
        depends: "VK_KHR_get_physical_device_properties2,VK_VERSION_1_1",
        structure: ("VkPhysicalDeviceExtendedFlagsFeaturesKHR", 4),
        features: &["extendedFlags"],
        commands: &[],
    },
    ExtensionRow {
        name: "VK_VALVE_shader_mixed_float_dot_product",
        number: 674,
        depends: "(VK_KHR_get_physical_device_properties2,VK_VERSION_1_1)+(VK_KHR_shader_float16_int8,VK_VERSION_1_2)",
        structure: ("VkPhysicalDeviceShaderMixedFloatDotProductFeaturesVALVE", 0),
        features: &[
            "shaderMixedFloatDotProductFloat16AccFloat32",
            "shaderMixedFloatDotProductFloat16AccFloat16",
            "shaderMixedFloatDotProductBFloat16Acc",
            "shaderMixedFloatDotProductFloat8AccFloat32",
        ],
        commands: &[],
    },
    ExtensionRow {
        name: "VK_EXT_primitive_restart_index",
        number: 679,
        depends: "VK_KHR_get_physical_device_properties2,VK_VERSION_1_1",
        structure: ("VkPhysicalDevicePrimitiveRestartIndexFeaturesEXT", 0),
        features: &["primitiveRestartIndex"],
        commands: &[("", &["vkCmdSetPrimitiveRestartIndexEXT"])],
    },
];

/// Extensions of the registry that have a newer version, with the version.
pub static NEWER_VERSIONS: &[(&str, u32)] = &[("VK_EXT_ray_tracing_invocation_reorder", 2)];

/// Returns the message for a row that the source has.
fn caught_up(name: &str) -> String {
    format!("the source has {name} now; delete its row in xtask/src/supplement.rs")
}

/// Adds the instructions and capabilities to the grammar.
///
/// # Errors
/// Returns a message if the grammar has one of them already.
pub fn merge_grammar(grammar: &mut Grammar) -> Result<(), String> {
    let rename = |name: &mut String| {
        if let Some((_, new)) = RENAMED.iter().find(|(old, _)| old == name) {
            *name = (*new).to_owned();
        }
    };
    for (old, new) in RENAMED {
        let names =
            || grammar.instructions.iter().map(|i| &i.name).chain(grammar.capabilities().iter().map(|c| &c.name));
        if names().any(|name| name == new) || !names().any(|name| name == old) {
            return Err(caught_up(new));
        }
    }
    for i in &mut grammar.instructions {
        rename(&mut i.name);
        i.capabilities.iter_mut().for_each(rename);
    }
    for &(name, capability) in ENABLED_TOO {
        let instruction = grammar.instructions.iter_mut().find(|i| i.name == name);
        let instruction = instruction.ok_or_else(|| format!("the source has no {name}"))?;
        if instruction.capabilities.iter().any(|c| c == capability) {
            return Err(caught_up(name));
        }
        instruction.capabilities.push(capability.to_owned());
    }
    for row in INSTRUCTIONS {
        if grammar.instructions.iter().any(|i| i.number == row.number || i.name == row.name) {
            return Err(caught_up(row.name));
        }
        let operand = |kind: &str, name: &str| Operand {
            kind: kind.to_owned(),
            name: name.to_owned(),
            quantifier: String::new(),
        };
        let head = [(row.has.0, "IdResultType"), (row.has.1, "IdResult")];
        let head = head.into_iter().filter(|(has, _)| *has).map(|(_, kind)| operand(kind, ""));
        grammar.instructions.push(Instruction {
            name: row.name.to_owned(),
            number: row.number,
            class: row.class.to_owned(),
            operands: head.chain(row.operands.iter().map(|(kind, name)| operand(kind, name))).collect(),
            capabilities: row.capabilities.iter().map(|c| (*c).to_owned()).collect(),
        });
    }
    merge_hit_objects(grammar)?;
    let all = grammar.enums.iter_mut().find(|e| e.kind == "Capability").ok_or("no capabilities")?;
    for c in &mut all.values {
        rename(&mut c.name);
        c.capabilities.iter_mut().for_each(rename);
    }
    for row in CAPABILITIES {
        if all.values.iter().any(|c| c.number == row.number || c.name == row.name) {
            return Err(caught_up(row.name));
        }
        all.values.push(EnumValue {
            name: row.name.to_owned(),
            number: row.number,
            parameters: Vec::new(),
            capabilities: row.implied.iter().map(|c| (*c).to_owned()).collect(),
        });
    }
    grammar.sort();
    Ok(())
}

/// Adds instructions and values of SPV_EXT_shader_invocation_reorder to the grammar.
fn merge_hit_objects(grammar: &mut Grammar) -> Result<(), String> {
    let operand = |kind: &str, quantifier: &str| Operand {
        kind: kind.to_owned(),
        name: String::new(),
        quantifier: quantifier.to_owned(),
    };
    let instruction = |name: &str, number, class: &str, operands, capabilities: &[&str]| Instruction {
        name: name.to_owned(),
        number,
        class: class.to_owned(),
        operands,
        capabilities: capabilities.iter().map(|c| (*c).to_owned()).collect(),
    };
    let own = &[hit_objects::CAPABILITY];
    let result = vec![operand("IdResult", "")];
    let mut added = vec![instruction("OpTypeHitObjectEXT", 5313, "Type-Declaration", result, own)];
    added.extend(hit_objects::GETTERS.iter().map(|&(name, number)| {
        let operands = vec![operand("IdResultType", ""), operand("IdResult", ""), operand("IdRef", "")];
        instruction(name, number, "Reserved", operands, own)
    }));
    added.extend(hit_objects::INSTRUCTIONS.iter().map(|row| {
        let (all, optional) = row.operands;
        let ids = |n, quantifier| std::iter::repeat_with(move || operand("IdRef", quantifier)).take(n);
        let operands = ids(all, "").chain(ids(optional, "?")).collect();
        instruction(row.name, row.number, "Reserved", operands, row.capabilities())
    }));
    for row in &added {
        if grammar.instructions.iter().any(|i| i.number == row.number || i.name == row.name) {
            return Err(caught_up(&row.name));
        }
    }
    grammar.instructions.extend(added);
    for &(kind, name, number) in hit_objects::VALUES {
        let all = grammar.enums.iter_mut().find(|e| e.kind == kind).ok_or("an unknown kind of values")?;
        if all.values.iter().any(|v| v.number == number || v.name == name) {
            return Err(caught_up(name));
        }
        let capabilities = own.map(str::to_owned).to_vec();
        all.values.push(EnumValue { name: name.to_owned(), number, parameters: Vec::new(), capabilities });
    }
    Ok(())
}

/// Adds the conditions of capabilities and extensions to the registry, which may know some of them
/// before the grammar does.
///
/// # Errors
/// Returns a message if the registry has another condition.
pub fn merge_registry(registry: &mut Registry) -> Result<(), String> {
    let capabilities = CAPABILITIES.iter().map(|row| {
        let extension = row.extension.to_owned();
        let feature = |name: &&str| Condition::Feature { name: (*name).to_owned(), providers: vec![extension.clone()] };
        let by: Vec<Condition> = row.features.iter().map(feature).collect();
        (row.name, if by.is_empty() { vec![Condition::Extension(extension)] } else { by })
    });
    add(&mut registry.spirv_capabilities, capabilities, false)?;
    for &(name, version) in NEWER_VERSIONS {
        let extension = registry.extensions.iter_mut().find(|e| e.name == name);
        match extension.filter(|e| e.spec_version < version) {
            Some(extension) => extension.spec_version = version,
            None => return Err(caught_up(name)),
        }
    }
    for row in EXTENSIONS {
        if registry.extensions.iter().any(|e| e.name == row.name) {
            return Err(caught_up(row.name));
        }
        registry.extensions.push(extension(row));
        let tag_name = format!("tag of {}", row.name);
        registry.tags.insert(tag_name.clone(), tag(row.number, row.structure.1));
        let member = |name: &&str| Member {
            name: (*name).to_owned(),
            ty: "VkBool32".to_owned(),
            declaration: format!("VkBool32 {name}"),
            limit_type: String::new(),
        };
        let structure = Structure {
            tag: Some(tag_name),
            extends: vec!["VkPhysicalDeviceFeatures2".to_owned()],
            members: row.features.iter().map(member).collect(),
        };
        registry.structures.insert(row.structure.0.to_owned(), structure);
    }
    let extensions = SPIRV_EXTENSIONS.iter().map(|row| (row.0, vec![Condition::Extension(row.1.to_owned())]));
    add(&mut registry.spirv_extensions, extensions, true)
}

fn extension(row: &ExtensionRow) -> Extension {
    let mut contents = vec![Contents {
        types: vec![row.structure.0.to_owned()],
        features: vec![vec![row.features[0].to_owned()]],
        ..Contents::default()
    }];
    for (depends, commands) in row.commands {
        contents.push(Contents {
            depends: (*depends).to_owned(),
            commands: commands.iter().map(|c| (*c).to_owned()).collect(),
            ..Contents::default()
        });
    }
    Extension {
        name: row.name.to_owned(),
        is_instance: false,
        spec_version: 1,
        promoted_to: String::new(),
        depends: row.depends.to_owned(),
        contents,
    }
}

fn add(
    list: &mut Vec<Unlocked>,
    rows: impl Iterator<Item = (&'static str, Vec<Condition>)>,
    only_new: bool,
) -> Result<(), String> {
    for (name, by) in rows {
        match list.iter().find(|row| row.name == name) {
            Some(_) if only_new => return Err(caught_up(name)),
            Some(row) if row.by != by => return Err(format!("the registry unlocks {name} by {:?}", row.by)),
            Some(_) => {}
            None => list.push(Unlocked { name: name.to_owned(), by }),
        }
    }
    Ok(())
}

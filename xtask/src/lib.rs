//! Generator of the tables of the driver that repeat what Khronos publishes: the grammar of SPIR-V
//! and the registry of Vulkan.
//!
//! [`source`] finds the two files, [`grammar`] and [`registry`] read them, [`supplement`] has the
//! facts that are younger than the files, and the other modules each write a generated file.

#![forbid(unsafe_code)]

pub mod capabilities;
pub mod driver;
pub mod grammar;
pub mod need;
pub mod opcodes;
pub mod output;
pub mod registry;
pub mod source;
pub mod structures;
pub mod supplement;
pub mod unlocks;
pub mod vulkan;

use grammar::Grammar;
use registry::Registry;

/// The published grammar and registry, completed by the supplement.
#[derive(Debug)]
pub struct Published {
    /// The grammar of SPIR-V.
    pub grammar: Grammar,
    /// The registry of Vulkan.
    pub registry: Registry,
}

impl Published {
    /// Reads both files and merges the supplement.
    ///
    /// # Errors
    /// Returns a message if a file is not available or not understood.
    pub fn read() -> Result<Published, String> {
        let files = source::find()?;
        let mut grammar = Grammar::read(&files.grammar)?;
        let mut registry = Registry::read(&files.registry)?;
        supplement::merge_grammar(&mut grammar)?;
        supplement::merge_registry(&mut registry)?;
        Ok(Published { grammar, registry })
    }
}

/// A generated file: its path in the repository, and its contents.
#[derive(Debug)]
pub struct Generated {
    /// Path from the root of the repository.
    pub path: &'static str,
    /// Text of the file, formatted.
    pub text: String,
}

/// Makes all generated files in memory.
///
/// # Errors
/// Returns a message if a source is not available, or if rustfmt fails.
pub fn files() -> Result<Vec<Generated>, String> {
    let published = Published::read()?;
    let make = |path, text: String| output::format(&text).map(|text| Generated { path, text });
    Ok(vec![
        make("jit/src/spirv/generated/capabilities.rs", capabilities::write(&published))?,
        make("jit/src/spirv/generated/opcodes.rs", opcodes::write_opcodes(&published)?)?,
        make("jit/src/spirv/generated/operands.rs", opcodes::write_operands(&published)?)?,
        make("icd/src/caps/generated/spirv.rs", unlocks::write(&published)?)?,
        make("icd/src/caps/generated/extensions.rs", vulkan::write_extensions(&published)?)?,
        make("icd/src/caps/generated/features.rs", vulkan::write_features(&published)?)?,
        make("icd/src/caps/generated/structures.rs", structures::write(&published)?)?,
        make("icd/src/caps/generated/properties.rs", structures::write_properties(&published)?)?,
        make("icd/src/caps/generated/commands.rs", vulkan::write_commands(&published)?)?,
    ])
}

/// Writes all generated files into the repository.
///
/// # Errors
/// Returns a message if a file cannot be made or written.
pub fn generate() -> Result<(), String> {
    for file in files()? {
        let path = source::root().join(file.path);
        let folder = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        std::fs::write(&path, file.text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("{}", file.path);
    }
    Ok(())
}

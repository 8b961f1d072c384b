//! Generator of the tables of the driver and its tools that repeat what Khronos publishes: the
//! grammar of SPIR-V and the registry of Vulkan.
//!
//! [`source`] finds the two files, [`grammar`] and [`registry`] read them, [`supplement`] has the
//! facts that are younger than the files, with the help of [`hit_objects`], and the other modules
//! each write a generated file.

#![forbid(unsafe_code)]

pub mod capabilities;
pub mod dependency;
pub mod driver;
pub mod grammar;
pub mod hit_objects;
pub mod opcodes;
pub mod output;
pub mod registry;
pub mod requirements;
pub mod source;
pub mod structures;
pub mod supplement;
pub mod unlocks;
pub mod vulkan;

use dependency::Dependency;
use driver::Driver;
use grammar::Grammar;
use registry::{Contents, Registry};
use std::path::PathBuf;

/// The published grammar and registry, completed by the supplement, and the names in the driver to
/// which the generated tables refer.
#[derive(Debug)]
pub struct Published {
    /// The grammar of SPIR-V.
    pub grammar: Grammar,
    /// The registry of Vulkan.
    pub registry: Registry,
    /// Names in the hand-written tables of the driver.
    pub driver: Driver,
    /// Folder of the declarations of `ash`.
    pub ash: PathBuf,
}

/// Contents that an extension with a row or a core version provides under a condition that the
/// driver can meet.
#[derive(Debug)]
pub struct Provided<'a> {
    /// The contents.
    pub contents: &'a Contents,
    /// The extension or version, and the further dependencies, all of which must be met. A
    /// condition on a feature is left out.
    pub dependencies: Vec<Dependency>,
}

impl Published {
    /// Reads the files and the tables of the driver, and merges the supplement.
    ///
    /// # Errors
    /// Returns a message if a file is not available or not understood.
    pub fn read() -> Result<Published, String> {
        let files = source::find()?;
        let mut grammar = Grammar::read(&files.grammar)?;
        let mut registry = Registry::read(&files.registry)?;
        supplement::merge_grammar(&mut grammar)?;
        supplement::merge_registry(&mut registry)?;
        Ok(Published { grammar, registry, driver: Driver::read()?, ash: files.ash })
    }

    /// Returns the contents of the extensions that have a row and of the core versions after 1.0.
    ///
    /// # Errors
    /// Returns a message if a condition is not understood.
    pub fn provided(&self) -> Result<Vec<Provided<'_>>, String> {
        let extensions = self.registry.extensions.iter().map(|e| (&e.name, &e.contents));
        let versions = self.registry.versions.iter().map(|v| (&v.name, &v.contents));
        let providers = extensions.chain(versions).filter(|(name, _)| self.driver.provides(name));
        let mut all = Vec::new();
        for (name, contents) in providers.filter(|(name, _)| *name != "VK_VERSION_1_0") {
            for contents in contents {
                let condition = if contents.needs_feature() { "" } else { &contents.depends };
                let further = Dependency::read(condition)?.parts();
                let dependencies = [Dependency::Name(name.clone())].into_iter().chain(further).collect();
                if let Some(known) = Dependency::All(dependencies).known(&self.driver) {
                    all.push(Provided { contents, dependencies: known.parts() });
                }
            }
        }
        Ok(all)
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
        make("cts-runner/src/requirements/generated.rs", requirements::write(&published)?)?,
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

//! The files that Khronos publishes. They are in crates of the registry on which this crate depends
//! for no target: cargo downloads and verifies them, and compiles nothing.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The published files, and the declarations of `ash` that they are compared with.
#[derive(Debug)]
pub struct Files {
    /// `spirv.core.grammar.json` of the unified SPIR-V headers.
    pub grammar: PathBuf,
    /// `vk.xml`.
    pub registry: PathBuf,
    /// Folder of the declarations of `ash`.
    pub ash: PathBuf,
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Finds the files in the crates that `cargo metadata` lists. Cargo downloads missing crates.
///
/// # Errors
/// Returns a message if cargo fails, for example without a network, or if a file is missing.
pub fn find() -> Result<Files, String> {
    let metadata = metadata()?;
    Ok(Files {
        grammar: file(&metadata, "spirv-tools-sys", "spirv-headers/include/spirv/unified1/spirv.core.grammar.json")?,
        registry: file(&metadata, "vulkan-registry", "src/vk.xml")?,
        ash: file(&metadata, "ash", "src/vk")?,
    })
}

fn metadata() -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--locked", "--format-version", "1"]).current_dir(root());
    let output = command.output().map_err(|e| format!("cargo metadata: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "The sources of the generated files are not available: cargo cannot download the crates that contain \
             them (`cargo fetch` with a network does).\n{}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))
}

/// Returns the path of a file of a package.
fn file(metadata: &Value, package: &str, path: &str) -> Result<PathBuf, String> {
    let all = metadata["packages"].as_array().into_iter().flatten();
    let manifest = all.filter(|p| p["name"] == package).find_map(|p| p["manifest_path"].as_str());
    let folder = Path::new(manifest.ok_or_else(|| format!("cargo metadata does not list {package}"))?).parent();
    let path = folder.unwrap_or(Path::new("")).join(path);
    if path.exists() { Ok(path) } else { Err(format!("{} does not exist; run `cargo fetch`", path.display())) }
}

//! The crates that are linked into the binaries of a target.

use crate::Result;
use crate::process::output;
use crate::target::Target;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages of the workspace that binaries are made of.
const ROOTS: [&str; 2] = ["grus-icd", "cts-runner"];

/// A crate of the registry.
#[derive(Clone, Debug)]
pub struct Component {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Licence, as an expression of SPDX.
    pub licence: String,
    /// SHA-256 of the crate's archive.
    pub checksum: String,
    /// Folder of its sources.
    pub folder: PathBuf,
    /// Names and versions of the crates of the registry that it uses.
    pub uses: BTreeSet<String>,
}

impl Component {
    /// Returns `name@version`.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

/// Reads the components of a target from `cargo metadata` and `Cargo.lock`, sorted by name.
///
/// # Errors
/// Returns a message if cargo fails or a crate has no licence.
pub fn read_all(metadata: &Value, checksums: &BTreeMap<String, String>) -> Result<Vec<Component>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|p| (text(&p["id"]), p)).collect();
    let nodes: BTreeMap<String, Value> =
        list(&metadata["resolve"]["nodes"]).into_iter().map(|n| (text(&n["id"]), n)).collect();
    let is_registry = |id: &String| packages.get(id).is_some_and(|p| p["source"].is_string());
    let mut linked = BTreeSet::new();
    let mut open: Vec<String> =
        packages.iter().filter(|(_, p)| ROOTS.contains(&text(&p["name"]).as_str())).map(|(id, _)| id.clone()).collect();
    while let Some(id) = open.pop() {
        if linked.insert(id.clone()) {
            open.extend(nodes.get(&id).into_iter().flat_map(linked_by));
        }
    }
    let name = |p: &Value| format!("{}@{}", text(&p["name"]), text(&p["version"]));
    let component = |id: &String| {
        let package = &packages[id];
        let id_text = name(package);
        let uses = linked_by(&nodes[id]).iter().filter(|id| is_registry(id)).map(|id| name(&packages[id])).collect();
        Ok(Component {
            name: text(&package["name"]),
            version: text(&package["version"]),
            licence: package["license"]
                .as_str()
                .ok_or_else(|| format!("{id_text} has no licence"))?
                .split('/')
                .map(str::trim)
                .collect::<Vec<_>>()
                .join(" OR "),
            checksum: checksums.get(&id_text).ok_or_else(|| format!("{id_text} has no checksum"))?.clone(),
            folder: Path::new(&text(&package["manifest_path"])).parent().unwrap_or(Path::new("")).to_path_buf(),
            uses,
        })
    };
    let mut all: Vec<Component> = linked.iter().filter(|id| is_registry(id)).map(component).collect::<Result<_>>()?;
    all.sort_by_key(Component::id);
    Ok(all)
}

/// Returns the packages that a node of the graph links: normal dependencies, without those of build
/// scripts and tests. A crate of macros runs in the compiler, and is listed too.
fn linked_by(node: &Value) -> Vec<String> {
    let is_normal =
        |dep: &&Value| dep["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k["kind"].is_null()));
    let all = node["deps"].as_array().into_iter().flatten().filter(is_normal);
    all.filter_map(|dep| dep["pkg"].as_str().map(str::to_owned)).collect()
}

/// Reads the components of a target of a repository.
///
/// # Errors
/// Returns a message if cargo fails or a crate has no licence.
pub fn read(root: &Path, target: &Target) -> Result<Vec<Component>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target.rust]);
    let metadata = output(cargo.current_dir(root))?;
    let metadata = serde_json::from_str(&metadata).map_err(|e| format!("cargo metadata: {e}"))?;
    let lock = String::from_utf8_lossy(&crate::read(&root.join("Cargo.lock"))?).into_owned();
    read_all(&metadata, &checksums(&lock))
}

/// Returns the checksums in a `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<String, String> {
    let field = |package: &str, key: &str| {
        let line = package.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(" = "))?;
        Some(line.trim_matches('"').to_owned())
    };
    let row = |package: &str| {
        Some((format!("{}@{}", field(package, "name")?, field(package, "version")?), field(package, "checksum")?))
    };
    lock.split("[[package]]").filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_linked_crates_are_components() {
        let metadata = serde_json::json!({
            "packages": [
                { "id": "a", "name": "grus-icd", "version": "1", "source": null },
                { "id": "b", "name": "used", "version": "2", "source": "r", "license": "MIT/Apache-2.0", "manifest_path": "/x/Cargo.toml" },
                { "id": "c", "name": "builds", "version": "3", "source": "r", "license": "MIT", "manifest_path": "/y/Cargo.toml" },
            ],
            "resolve": { "nodes": [
                { "id": "a", "deps": [
                    { "pkg": "b", "dep_kinds": [{ "kind": null }] },
                    { "pkg": "c", "dep_kinds": [{ "kind": "build" }, { "kind": "dev" }] },
                ] },
                { "id": "b", "deps": [] },
                { "id": "c", "deps": [] },
            ] },
        });
        let lock = "[[package]]\nname = \"used\"\nversion = \"2\"\nchecksum = \"ab\"\n";
        let all = read_all(&metadata, &checksums(lock)).expect("components");
        assert_eq!(all.iter().map(Component::id).collect::<Vec<_>>(), ["used@2"]);
        assert_eq!((all[0].licence.as_str(), all[0].checksum.as_str()), ("MIT OR Apache-2.0", "ab"));
        assert!(read_all(&metadata, &BTreeMap::new()).is_err());
    }
}

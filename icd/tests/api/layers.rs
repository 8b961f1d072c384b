//! Tests of the layers of the crate: a module uses only those below it, and safe modules forbid
//! unsafe code.

use std::path::{Path, PathBuf};

/// Layers from the bottom; `lib.rs` describes them.
const LAYERS: [&str; 10] =
    ["fallible", "os", "ffi", "caps", "shader_compiler", "object", "device", "command", "wsi", "entry"];

fn files(path: &Path, list: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a directory") {
            files(&entry.expect("an entry").path(), list);
        }
    } else if path.extension().is_some_and(|e| e == "rs") {
        list.push(path.to_path_buf());
    }
}

/// Returns the first words of paths that begin with `crate::`, outside comments and the test module
/// at a file's end.
fn used(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| {
        line.split("crate::").skip(1).map(move |path| {
            assert!(!path.starts_with('{'), "one path each, for this test: {line}");
            path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        })
    })
    .collect()
}

#[test]
fn modules_use_only_those_below() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut list = Vec::new();
    files(&root, &mut list);
    let layer = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    let mut seen = 0;
    for path in list {
        let inner = path.strip_prefix(&root).expect("below the root");
        let own = inner.iter().next().and_then(|name| name.to_str()).expect("a name").trim_end_matches(".rs");
        if own == "lib" || inner.to_str().expect("text").contains("tests") {
            continue;
        }
        let at = layer(own).unwrap_or_else(|| panic!("{own} has no layer"));
        for name in used(&std::fs::read_to_string(&path).expect("text")) {
            let below = layer(&name).unwrap_or_else(|| panic!("{}: {name} has no layer", path.display()));
            assert!(below <= at, "{} uses {name}, which is above it", path.display());
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} paths were found");
}

/// Checks that execution knows programs and no pipelines: the command list and the executor name
/// neither the object nor its handle.
#[test]
fn commands_know_programs_and_not_pipelines() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/command");
    let mut list = Vec::new();
    files(&root, &mut list);
    let mut programs = 0;
    for path in list {
        let text = std::fs::read_to_string(&path).expect("text");
        for name in ["object::pipeline::", "vk::Pipeline,", "vk::Pipeline)"] {
            assert!(!text.contains(name), "{} names {name}", path.display());
        }
        programs += text.matches("object::program::").count();
    }
    assert!(programs > 0, "no program is named");
}

#[test]
fn safe_layers_forbid_unsafe_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for layer in ["object", "device"] {
        let text = std::fs::read_to_string(root.join(layer).join("mod.rs")).expect("text");
        assert!(text.contains("#![forbid(unsafe_code)]"), "{layer}");
    }
}

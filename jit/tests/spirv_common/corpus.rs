//! Modules from files.

use std::path::{Path, PathBuf};

/// Returns names and words of every `.spv` below these folders of the repository and below
/// `GRUS_SPIRV_CORPUS`, by path.
pub fn modules(folders: &[&str]) -> Vec<(String, Vec<u32>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("workspace");
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    folders.extend(std::env::var_os("GRUS_SPIRV_CORPUS").map(PathBuf::from));
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "spv") {
                files.push(path);
            }
        }
    }
    files.sort();
    let module = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("module");
        let words = bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect();
        (path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned()), words)
    };
    files.into_iter().map(module).collect()
}

//! Search for the manifest of an installed Grus.

use crate::os;
use crate::vk::{Error, Manifest, Result};
use std::path::{Path, PathBuf};

/// File name of the driver's manifest.
pub const MANIFEST: &str = "grus_icd.json";

/// Folders in which the manifest may be, relative to the program: a tarball has all files in one
/// folder, a package has `bin` and `share` in one prefix, and `cts-runner install` uses the folder
/// that the loader searches.
const FOLDERS: [&str; 3] = ["", "../share/grus", "../share/vulkan/icd.d"];

/// Returns the manifest beside the program or in its prefix.
///
/// # Errors
/// There is none, and the message says where it was searched.
pub fn manifest() -> Result<Manifest> {
    let program = std::env::current_exe().map_err(|e| Error::Io("this program".into(), e))?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    beside(folder).ok_or_else(|| {
        let places: Vec<String> = FOLDERS.iter().map(|f| folder.join(f).join(MANIFEST).display().to_string()).collect();
        Error::Missing(format!("a manifest of Grus at {}; use --icd", places.join(", ")))
    })
}

/// Returns the first manifest in [`FOLDERS`] that names a library that exists. One that was written
/// for another place does not.
fn beside(folder: &Path) -> Option<Manifest> {
    let found = FOLDERS.iter().map(|f| folder.join(f).join(MANIFEST)).filter_map(|path| Manifest::read(&path).ok());
    found.map(clean).find(|manifest| manifest.library.is_file())
}

/// Removes `..` from the path of a manifest.
fn clean(manifest: Manifest) -> Manifest {
    let path: PathBuf = os::clean(&manifest.path).unwrap_or_else(|_| manifest.path.clone());
    Manifest { path, ..manifest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_of_missing_libraries_are_skipped() {
        let root = std::env::temp_dir().join(format!("grus-locate-{}", std::process::id()));
        let (bin, share) = (root.join("bin"), root.join("share/grus"));
        std::fs::create_dir_all(&bin).and_then(|()| std::fs::create_dir_all(&share)).expect("folders");
        let write = |folder: &Path, library: &str| {
            let text = format!(r#"{{"ICD": {{"library_path": "{library}"}}}}"#);
            std::fs::write(folder.join(MANIFEST), text).expect("a manifest");
        };
        write(&bin, "./absent.so");
        write(&share, "../../lib.so");
        assert!(beside(&bin).is_none());
        std::fs::write(root.join("lib.so"), "").expect("a library");
        let found = beside(&bin).expect("the manifest of the prefix");
        assert_eq!(found.path, os::clean(&share.join(MANIFEST)).expect("a path"));
        std::fs::remove_dir_all(&root).expect("removal");
    }
}

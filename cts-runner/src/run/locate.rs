//! Search for the manifest of Grus.

use crate::driver::{self, MANIFEST};
use crate::vk::{Error, Manifest, Result};
use std::path::{Path, PathBuf};

/// Folders in which the manifest may be, relative to the program: a tarball has all files in one
/// folder, a package has `bin` and `share` in one prefix, and `cts-runner install` uses the folder
/// that the loader searches.
const FOLDERS: [&str; 3] = ["", "../share/grus", "../share/vulkan/icd.d"];

/// Returns the manifest beside the program or in its prefix, or that of this checkout, which is
/// built if necessary.
pub(super) fn manifest() -> Result<Manifest> {
    let program = std::env::current_exe().map_err(|e| Error::Io("/proc/self/exe".into(), e))?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    if let Some(found) = beside(folder) {
        return Ok(found);
    }
    if is_checkout() {
        return driver::grus();
    }
    let places: Vec<String> = FOLDERS.iter().map(|f| folder.join(f).join(MANIFEST).display().to_string()).collect();
    Err(Error::Missing(format!("a manifest of Grus at {}; use --icd", places.join(", "))))
}

/// Returns the manifest of the library that an installation copies: this checkout's, which is built
/// in release, or that of the package to which the program belongs.
pub fn installable() -> Result<Manifest> {
    if is_checkout() { driver::grus_up_to_date(true) } else { manifest() }
}

/// Returns true if the checkout from which this program was built exists.
fn is_checkout() -> bool {
    let checkout = driver::workspace();
    !checkout.as_os_str().is_empty() && checkout.join("Cargo.toml").exists()
}

/// Returns the first manifest in [`FOLDERS`] that names a library that exists. One that was written
/// for another place does not.
fn beside(folder: &Path) -> Option<Manifest> {
    let found = FOLDERS.iter().map(|f| folder.join(f).join(MANIFEST)).filter_map(|path| Manifest::read(&path).ok());
    found.map(clean).find(|manifest| manifest.library.is_file())
}

/// Removes `..` from the path of a manifest.
fn clean(manifest: Manifest) -> Manifest {
    let path: PathBuf = manifest.path.canonicalize().unwrap_or_else(|_| manifest.path.clone());
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
        assert_eq!(found.path, share.join(MANIFEST).canonicalize().expect("a path"));
        std::fs::remove_dir_all(&root).expect("removal");
    }
}

//! `install` and `uninstall`: put the library and a manifest with its absolute path where the
//! loader searches, or remove them.

use crate::driver::{LIBRARY, MANIFEST, installable, write_manifest};
use crate::os;
use crate::vk::{Error, Result};
use std::path::{Path, PathBuf};

/// Paths of the two files of an installation.
pub struct InstallPaths {
    /// Path of the library: `PREFIX/lib/libvulkan_grus.so` on Linux.
    pub library: PathBuf,
    /// Path of the manifest: `PREFIX/share/vulkan/icd.d/grus_icd.json` on Linux.
    pub manifest: PathBuf,
}

impl InstallPaths {
    /// Returns the paths under a prefix. The default depends on the system
    /// ([`os::default_prefix`]).
    pub fn under(prefix: Option<&Path>) -> Result<Self> {
        let prefix = match prefix {
            Some(prefix) => std::path::absolute(prefix).map_err(|e| Error::Io(prefix.into(), e))?,
            None => os::default_prefix().ok_or_else(|| Error::Missing("a default; use --prefix".into()))?,
        };
        let manifest = prefix.join(os::MANIFEST_FOLDER).join(MANIFEST);
        Ok(Self { library: prefix.join(os::LIBRARY_FOLDER).join(LIBRARY), manifest })
    }
}

/// Copies the driver's library, writes the manifest, and registers it. In a checkout the library is
/// built in release; a package has it beside the program.
pub fn install(prefix: Option<&Path>) -> Result<InstallPaths> {
    let built = installable()?;
    let paths = InstallPaths::under(prefix)?;
    for file in [&paths.library, &paths.manifest] {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(|e| Error::Io(folder.into(), e))?;
        }
    }
    // A process may have mapped the old library, so the file is replaced and not overwritten.
    let part = paths.library.with_extension("part");
    std::fs::copy(&built.library, &part)
        .and_then(|_| std::fs::rename(&part, &paths.library))
        .map_err(|e| Error::Io(paths.library.clone(), e))?;
    write_manifest(&paths.manifest, &paths.library)?;
    os::register_manifest(&paths.manifest).map_err(|e| Error::Io(paths.manifest.clone(), e))?;
    Ok(paths)
}

/// Removes the files of [`install`]. Returns true if there were any.
pub fn uninstall(prefix: Option<&Path>) -> Result<bool> {
    let paths = InstallPaths::under(prefix)?;
    os::unregister_manifest(&paths.manifest).map_err(|e| Error::Io(paths.manifest.clone(), e))?;
    let mut found = false;
    for file in [&paths.manifest, &paths.library] {
        match std::fs::remove_file(file) {
            Ok(()) => found = true,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::Io(file.clone(), error)),
        }
    }
    Ok(found)
}

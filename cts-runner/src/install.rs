//! `install` and `uninstall`: put the library and a manifest with its absolute path where the
//! loader searches, or remove them.

use crate::driver::{LIBRARY, MANIFEST, grus_up_to_date, write_manifest};
use crate::vk::{Error, Result};
use std::path::{Path, PathBuf};

/// Paths of the two files of an installation.
pub struct InstallPaths {
    /// Path `PREFIX/lib/libvulkan_grus.so`.
    pub library: PathBuf,
    /// Path `PREFIX/share/vulkan/icd.d/grus_icd.json`.
    pub manifest: PathBuf,
}

impl InstallPaths {
    /// Returns the paths under a prefix. The default is `/usr/local` for root and `~/.local` for
    /// other users.
    pub fn under(prefix: Option<&Path>) -> Result<Self> {
        let prefix = match prefix {
            Some(prefix) => std::path::absolute(prefix).map_err(|e| Error::Io(prefix.into(), e))?,
            None if crate::os::is_root() => "/usr/local".into(),
            None => match std::env::var_os("HOME") {
                Some(home) => Path::new(&home).join(".local"),
                None => return Err(Error::Missing("HOME; use --prefix".into())),
            },
        };
        let manifest = prefix.join("share/vulkan/icd.d").join(MANIFEST);
        Ok(Self { library: prefix.join("lib").join(LIBRARY), manifest })
    }
}

/// Builds the driver in release, then copies it and writes the manifest.
pub fn install(prefix: Option<&Path>) -> Result<InstallPaths> {
    let built = grus_up_to_date(true)?;
    let paths = InstallPaths::under(prefix)?;
    for file in [&paths.library, &paths.manifest] {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(|e| Error::Io(folder.into(), e))?;
        }
    }
    // A process may have mapped the old library, so the file is replaced and not overwritten.
    let part = paths.library.with_extension("so.part");
    std::fs::copy(&built.library, &part)
        .and_then(|_| std::fs::rename(&part, &paths.library))
        .map_err(|e| Error::Io(paths.library.clone(), e))?;
    write_manifest(&paths.manifest, &paths.library)?;
    Ok(paths)
}

/// Removes the files of [`install`]. Returns true if there were any.
pub fn uninstall(prefix: Option<&Path>) -> Result<bool> {
    let paths = InstallPaths::under(prefix)?;
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

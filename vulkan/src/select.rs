//! Selection of the driver for libraries that open the Vulkan loader.

use crate::loader_file::{AARCH64, LOADER, X86_64, loader_file};
use libloading::Library;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// File name of the driver's library.
const LIBRARY: &str = "libvulkan_grus.so";
/// Manifest of the repository, which names another path of the library.
const MANIFEST: &str = include_str!("../../manifest/grus_icd.json");
/// Variables by which the Vulkan loader finds drivers; the second is that of old loaders.
const VARIABLES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// Error of [`use_for_tests`].
#[derive(Debug)]
pub enum SelectError {
    /// The folder of the program has no library of the driver.
    NoLibrary(PathBuf),
    /// The path of the library cannot be written in a manifest.
    Path(PathBuf),
    /// A file could not be read or written.
    Io(PathBuf, std::io::Error),
    /// The system has no Vulkan loader, and the driver's library cannot take its place.
    Load(libloading::Error),
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLibrary(folder) => write!(f, "{} has no {LIBRARY}", folder.display()),
            Self::Path(path) => write!(f, "{} cannot be written in a manifest", path.display()),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Load(error) => write!(f, "no {LOADER}, and none that stands for it: {error}"),
        }
    }
}

impl std::error::Error for SelectError {}

/// Selects the driver for libraries that open the Vulkan loader later, and returns the path of its
/// manifest. Later calls return the same path. If the system has no loader, libraries of this
/// process that open it find the driver's library in its place.
///
/// Cargo makes the driver's library together with this crate, in the folder `deps` of the profile,
/// where test programs are too. The manifest is written beside it.
///
/// # Errors
/// Fails if the program has no such folder beside it, for example because it was copied.
///
/// # Safety
/// No other thread may read or change the environment without the lock of the standard library
/// during the first call, because environment variables are set. Tests meet this if each begins
/// with this call, and if the program starts no thread of a C library before.
pub unsafe fn use_for_tests() -> Result<PathBuf, SelectError> {
    static SELECTED: OnceLock<PathBuf> = OnceLock::new();
    if let Some(path) = SELECTED.get() {
        return Ok(path.clone());
    }
    let program = std::env::current_exe().map_err(|e| SelectError::Io("/proc/self/exe".into(), e))?;
    let (library, manifest) = place(program.parent().unwrap_or(Path::new("/")))?;
    provide_loader(&library)?;
    Ok(SELECTED
        .get_or_init(|| {
            for name in VARIABLES {
                // SAFETY: no other thread uses the environment, which the `# Safety` section of
                // this function requires.
                unsafe { std::env::set_var(name, &manifest) };
            }
            manifest
        })
        .clone())
}

/// Makes the loader's name known to this process, if the system has no loader.
fn provide_loader(library: &Path) -> Result<(), SelectError> {
    // SAFETY: the loader's initializers have no requirements.
    let loader = unsafe { Library::new(LOADER) };
    let loader = match loader {
        Ok(loader) => loader,
        Err(_) => {
            let path = library.to_str().filter(|path| !path.contains('$'));
            let path = path.ok_or_else(|| SelectError::Path(library.to_path_buf()))?;
            let folder = library.with_file_name("grus-loader");
            std::fs::create_dir_all(&folder).map_err(|e| SelectError::Io(folder.clone(), e))?;
            let file = folder.join(LOADER);
            let machine = if cfg!(target_arch = "aarch64") { AARCH64 } else { X86_64 };
            replace(&file, &loader_file(machine, path, None))?;
            // SAFETY: the file has no initializers, and those of the driver's library have no
            // requirements.
            unsafe { Library::new(&file) }.map_err(SelectError::Load)?
        }
    };
    // The library stays in the process, because its name is found only as long.
    std::mem::forget(loader);
    Ok(())
}

/// Writes a file, unless it has these bytes. Another test program may read it at this moment, so a
/// temporary file is written and then renamed.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), SelectError> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let part = path.with_extension(format!("part.{}", std::process::id()));
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    written.map_err(|e| SelectError::Io(path.to_path_buf(), e))
}

/// Writes a manifest beside the library, which is in the folder of test programs or beside that of
/// programs and examples. Returns the paths of library and manifest.
fn place(folder: &Path) -> Result<(PathBuf, PathBuf), SelectError> {
    let folders = [folder.to_path_buf(), folder.join("deps"), folder.join("../deps")];
    let library = folders.iter().map(|folder| folder.join(LIBRARY)).find(|path| path.is_file());
    let library = library.ok_or_else(|| SelectError::NoLibrary(folder.to_path_buf()))?;
    let library = library.canonicalize().map_err(|e| SelectError::Io(library, e))?;
    let text = manifest(&library).ok_or_else(|| SelectError::Path(library.clone()))?;
    let path = library.with_file_name("grus_icd.json");
    replace(&path, text.as_bytes())?;
    Ok((library, path))
}

/// Returns the manifest with a path, unless the path would need escapes of JSON.
fn manifest(library: &Path) -> Option<String> {
    let path = library.to_str().filter(|path| !path.contains(['"', '\\']) && !path.contains(char::is_control))?;
    let line = |line: &str| match line.split_once(':') {
        Some((key, _)) if key.trim() == "\"library_path\"" => format!("{key}: \"{path}\",\n"),
        _ => format!("{line}\n"),
    };
    Some(MANIFEST.lines().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_names_the_library() {
        let text = manifest(Path::new("/a b/lib.so")).expect("a manifest");
        assert!(text.contains("\"library_path\": \"/a b/lib.so\",\n"), "{text}");
        assert_eq!(text.lines().count(), MANIFEST.lines().count());
        assert!(manifest(Path::new("/a\"b/lib.so")).is_none());
    }

    #[test]
    fn a_folder_without_the_library_is_an_error() {
        let folder = std::env::temp_dir().join(format!("grus-select-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        assert!(matches!(place(&folder), Err(SelectError::NoLibrary(_))));
        std::fs::remove_dir(&folder).expect("removal");
    }
}

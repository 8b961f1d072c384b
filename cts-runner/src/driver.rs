//! Selects the driver to open: an installed Grus, Grus from this checkout, which is built if it
//! does not exist, or any manifest, through the loader or directly.

pub use crate::locate::MANIFEST;
pub use crate::os::LIBRARY;

use crate::locate;
use crate::vk::{Api, Error, Manifest, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variables that name manifests for the loader. Old loaders know only the second one.
pub const MANIFEST_VARIABLES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// Way in which a driver is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Route {
    /// The loader opens the driver if there is a loader; otherwise it is opened directly.
    #[default]
    Auto,
    /// The Vulkan loader opens the driver.
    Loader,
    /// The driver is opened directly, without the loader.
    Direct,
}

/// A driver and how to open it.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Manifest of the driver; `None` for Grus ([`grus`]).
    pub icd: Option<PathBuf>,
    /// Way in which the driver is opened.
    pub route: Route,
}

impl Target {
    /// Returns the manifest of the driver. Builds Grus if it is selected and does not exist.
    pub fn manifest(&self) -> Result<Manifest> {
        match &self.icd {
            Some(path) => Manifest::read(path),
            None => grus(),
        }
    }

    /// Opens the driver.
    ///
    /// # Safety
    /// No other thread may exist yet, because opening through the loader sets environment
    /// variables.
    pub unsafe fn open(&self) -> Result<Api> {
        let manifest = self.manifest()?;
        if self.route == Route::Direct {
            return Api::open_icd(&manifest);
        }
        let path = std::path::absolute(&manifest.path).map_err(|e| Error::Io(manifest.path.clone(), e))?;
        for variable in MANIFEST_VARIABLES {
            // SAFETY: no other thread exists, which the `# Safety` section of this function
            // requires.
            unsafe { std::env::set_var(variable, &path) };
        }
        match (self.route, Api::open_loader()) {
            (Route::Auto, Err(_)) => Api::open_icd(&manifest),
            (_, opened) => opened,
        }
    }
}

/// Returns the folder of the workspace from which this program was built. A program of a package
/// has an empty path, because its bytes do not depend on the folder in which it was built.
pub fn workspace() -> PathBuf {
    const CRATE: &str = match option_env!("GRUS_PACKAGE") {
        None => env!("CARGO_MANIFEST_DIR"),
        Some(_) => "",
    };
    Path::new(CRATE).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Returns Cargo's target folder.
pub fn target_dir() -> PathBuf {
    let root = workspace();
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir))
}

/// Returns the driver's library of this checkout. The release build is preferred to the debug
/// build.
pub fn built_library() -> Option<PathBuf> {
    ["release", "debug"].iter().map(|p| target_dir().join(p).join(LIBRARY)).find(|p| p.exists())
}

/// Returns the manifest of Grus: that of the package or the installation to which this program
/// belongs, or that of this checkout. Grus is built in release if the checkout has no library yet,
/// and the manifest is written beside the library.
pub fn grus() -> Result<Manifest> {
    let missing = match locate::manifest() {
        Ok(manifest) => return Ok(manifest),
        Err(missing) => missing,
    };
    if !is_checkout() {
        return Err(missing);
    }
    match built_library() {
        Some(library) => beside(library),
        None => grus_up_to_date(true),
    }
}

/// Returns the manifest of the library that an installation copies: this checkout's, which is built
/// in release, or that of the package to which the program belongs.
pub fn installable() -> Result<Manifest> {
    if is_checkout() { grus_up_to_date(true) } else { locate::manifest() }
}

/// Returns true if the checkout from which this program was built exists.
fn is_checkout() -> bool {
    let checkout = workspace();
    !checkout.as_os_str().is_empty() && checkout.join("Cargo.toml").exists()
}

/// Builds Grus from this checkout with cargo, which updates it if necessary, and returns its
/// manifest. The manifest is written beside the library.
pub fn grus_up_to_date(release: bool) -> Result<Manifest> {
    build(release)?;
    let library = target_dir().join(if release { "release" } else { "debug" }).join(LIBRARY);
    if library.exists() { beside(library) } else { Err(Error::Missing(format!("{LIBRARY} after a successful build"))) }
}

fn beside(library: PathBuf) -> Result<Manifest> {
    let path = library.with_file_name(MANIFEST);
    write_manifest(&path, &library)?;
    Ok(Manifest { path, library })
}

fn build(release: bool) -> Result<()> {
    eprintln!("building the driver: cargo build -p grus-icd");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "-p", "grus-icd"]).args(release.then_some("--release"));
    let status = command.current_dir(workspace()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::Missing(format!("the driver: cargo build ended with {status}"))),
        Err(error) => Err(Error::Io("cargo".into(), error)),
    }
}

/// Writes a manifest that names a library. An unchanged file is not written.
pub fn write_manifest(path: &Path, library: &Path) -> Result<()> {
    let source = workspace().join("manifest").join(MANIFEST);
    let read = std::fs::read_to_string(source).ok().and_then(|text| serde_json::from_str(&text).ok());
    let mut json: serde_json::Value = read.unwrap_or_else(
        || serde_json::json!({ "file_format_version": "1.0.0", "ICD": { "library_path": "", "api_version": "1.3.0" } }),
    );
    json["ICD"]["library_path"] = library.display().to_string().into();
    let text = format!("{json:#}\n");
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    // Another process may read the manifest at this moment, so a temporary file is written and then
    // renamed.
    let part = path.with_extension(format!("json.{}", std::process::id()));
    std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path)).map_err(|e| Error::Io(path.into(), e))
}

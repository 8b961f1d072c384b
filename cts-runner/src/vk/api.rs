//! Opens a Vulkan driver, either directly through the loader–driver interface or through the Vulkan
//! loader.
//!
//! Opened libraries are never unloaded, because drivers keep threads and thread-local destructors.
//! Unloading also brings no benefit to a test process.

use super::error::{Error, Result};
use ash::vk;
use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};

/// Newest version of the loader–driver interface that the harness supports.
const INTERFACE_VERSION: u32 = 7;

/// An ICD manifest, which is the JSON file that `VK_DRIVER_FILES` names.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Path of the manifest file.
    pub path: PathBuf,
    /// Path of the driver's library. A relative path is resolved against the manifest, as the
    /// loader does.
    pub library: PathBuf,
}

impl Manifest {
    /// Reads and parses a manifest file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::Io(path.into(), e))?;
        let json: serde_json::Value =
            serde_json::from_str(&text).map_err(|_| Error::Manifest(path.into(), "not a JSON file"))?;
        let library = json["ICD"]["library_path"]
            .as_str()
            .ok_or_else(|| Error::Manifest(path.into(), "has no ICD.library_path"))?;
        // The dynamic linker searches for a bare file name. A name with a separator is a path.
        let library = match (library.contains(std::path::is_separator), path.parent()) {
            (true, Some(folder)) => folder.join(library),
            _ => PathBuf::from(library),
        };
        Ok(Self { path: path.into(), library })
    }
}

/// Entry point of a driver or of the loader, with its global commands.
#[derive(Clone)]
pub struct Api {
    /// Global-level Vulkan commands.
    pub entry: ash::Entry,
    /// Name of the opened library, for messages.
    pub name: String,
    /// True if the Vulkan loader was opened, so that layers can be enabled.
    pub through_loader: bool,
}

type GetInstanceProcAddr = unsafe extern "system" fn(vk::Instance, *const c_char) -> vk::PFN_vkVoidFunction;
type Negotiate = unsafe extern "system" fn(*mut u32) -> vk::Result;

impl Api {
    /// Opens a driver without the loader. Negotiates the interface version and takes
    /// `vk_icdGetInstanceProcAddr`.
    pub fn open_icd(manifest: &Manifest) -> Result<Self> {
        let library = open_library(&manifest.library)?;
        // SAFETY: the loader–driver interface defines this symbol with the type `Negotiate`.
        if let Ok(negotiate) = unsafe { library.get::<Negotiate>(b"vk_icdNegotiateLoaderICDInterfaceVersion") } {
            let mut version = INTERFACE_VERSION;
            // SAFETY: `version` is valid for the call.
            let code = unsafe { negotiate(&mut version) };
            if code != vk::Result::SUCCESS {
                return Err(Error::Vulkan("vk_icdNegotiateLoaderICDInterfaceVersion", code));
            }
        }
        let get = find_get_instance_proc_addr(&library, c"vk_icdGetInstanceProcAddr", &manifest.library)?;
        std::mem::forget(library);
        Ok(Self::from_get(get, manifest.library.display().to_string(), false))
    }

    /// Opens the Vulkan loader. `VK_DRIVER_FILES` and the loader's own search path decide which
    /// drivers it finds.
    pub fn open_loader() -> Result<Self> {
        let path = PathBuf::from(crate::os::LOADER);
        let library = open_library(&path)?;
        let get = find_get_instance_proc_addr(&library, c"vkGetInstanceProcAddr", &path)?;
        std::mem::forget(library);
        Ok(Self::from_get(get, "the Vulkan loader".into(), true))
    }

    /// Reports whether the loader knows a layer with this name.
    pub fn has_layer(&self, name: &CStr) -> bool {
        self.layer_version(name).is_some()
    }

    /// Returns the version of Vulkan for which a layer with this name was written, if the loader
    /// knows it.
    pub fn layer_version(&self, name: &CStr) -> Option<u32> {
        if !self.through_loader {
            return None;
        }
        // SAFETY: the command is a global query without inputs, and the library stays loaded.
        let layers = unsafe { self.entry.enumerate_instance_layer_properties() }.unwrap_or_default();
        layers.iter().find(|l| l.layer_name_as_c_str() == Ok(name)).map(|l| l.spec_version)
    }

    fn from_get(get: GetInstanceProcAddr, name: String, through_loader: bool) -> Self {
        let functions = ash::StaticFn { get_instance_proc_addr: get };
        // SAFETY: `get` came from a library that stays loaded for the life of the process.
        let entry = unsafe { ash::Entry::from_static_fn(functions) };
        Self { entry, name, through_loader }
    }
}

fn open_library(path: &Path) -> Result<libloading::Library> {
    // SAFETY: the path comes from the user; opening a driver means running its initialisers.
    unsafe { libloading::Library::new(path) }.map_err(|e| Error::Library(path.into(), e.to_string()))
}

fn find_get_instance_proc_addr(library: &libloading::Library, name: &CStr, path: &Path) -> Result<GetInstanceProcAddr> {
    let symbol = CString::from(name);
    // SAFETY: the loader–driver interface defines this symbol with this type. The calling functions
    // leak the library, so it outlives the pointer.
    let get = unsafe { library.get::<GetInstanceProcAddr>(symbol.as_bytes_with_nul()) };
    get.map(|g| *g).map_err(|e| Error::Library(path.into(), e.to_string()))
}

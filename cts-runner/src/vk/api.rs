//! Opening a driver: directly, as the loader would do it, or through the loader.
//!
//! Opened libraries are never unloaded: drivers keep threads and thread-local destructors, and a test process that
//! unloads one gains nothing.

use super::error::{Error, Result};
use ash::vk;
use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};

/// Newest loader–driver interface version we speak.
const INTERFACE_VERSION: u32 = 7;

/// An ICD manifest: the JSON file that `VK_DRIVER_FILES` names.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Where the manifest is.
    pub path: PathBuf,
    /// The driver's library; relative paths are resolved against the manifest, as the loader does.
    pub library: PathBuf,
}

impl Manifest {
    /// Reads a manifest.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::Io(path.into(), e))?;
        let json: serde_json::Value =
            serde_json::from_str(&text).map_err(|_| Error::Manifest(path.into(), "not a JSON file"))?;
        let library = json["ICD"]["library_path"]
            .as_str()
            .ok_or_else(|| Error::Manifest(path.into(), "has no ICD.library_path"))?;
        // A bare file name is left to the dynamic linker's search path; anything with a slash is a path.
        let library = match (library.contains('/'), path.parent()) {
            (true, Some(folder)) => folder.join(library),
            _ => PathBuf::from(library),
        };
        Ok(Self { path: path.into(), library })
    }
}

/// The global commands of a driver or of the loader.
#[derive(Clone)]
pub struct Api {
    /// Global-level commands.
    pub entry: ash::Entry,
    /// What was opened, for people.
    pub name: String,
    /// Whether layers can be enabled.
    pub through_loader: bool,
}

type GetInstanceProcAddr = unsafe extern "system" fn(vk::Instance, *const c_char) -> vk::PFN_vkVoidFunction;
type Negotiate = unsafe extern "system" fn(*mut u32) -> vk::Result;

impl Api {
    /// Opens a driver with no loader: negotiates the interface version and takes `vk_icdGetInstanceProcAddr`.
    pub fn open_icd(manifest: &Manifest) -> Result<Self> {
        let library = open_library(&manifest.library)?;
        // SAFETY: the loader–driver interface gives this symbol this type.
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

    /// Opens the Vulkan loader; which drivers it finds is up to `VK_DRIVER_FILES` and its own search path.
    pub fn open_loader() -> Result<Self> {
        let path = PathBuf::from("libvulkan.so.1");
        let library = open_library(&path)?;
        let get = find_get_instance_proc_addr(&library, c"vkGetInstanceProcAddr", &path)?;
        std::mem::forget(library);
        Ok(Self::from_get(get, "the Vulkan loader".into(), true))
    }

    /// Whether the loader knows a layer of this name.
    pub fn has_layer(&self, name: &CStr) -> bool {
        // SAFETY: a plain query without inputs.
        let layers = unsafe { self.entry.enumerate_instance_layer_properties() }.unwrap_or_default();
        self.through_loader && layers.iter().any(|l| l.layer_name_as_c_str() == Ok(name))
    }

    fn from_get(get: GetInstanceProcAddr, name: String, through_loader: bool) -> Self {
        let functions = ash::StaticFn { get_instance_proc_addr: get };
        // SAFETY: `get` came from a library that stays loaded for the life of the process.
        let entry = unsafe { ash::Entry::from_static_fn(functions) };
        Self { entry, name, through_loader }
    }
}

fn open_library(path: &Path) -> Result<libloading::Library> {
    // SAFETY: running a driver's initialisers is what opening a driver means; the path comes from the user.
    unsafe { libloading::Library::new(path) }.map_err(|e| Error::Library(path.into(), e.to_string()))
}

fn find_get_instance_proc_addr(library: &libloading::Library, name: &CStr, path: &Path) -> Result<GetInstanceProcAddr> {
    let symbol = CString::from(name);
    // SAFETY: the interface gives this symbol this type; the library is leaked by the caller, so it outlives the pointer.
    let get = unsafe { library.get::<GetInstanceProcAddr>(symbol.as_bytes_with_nul()) };
    get.map(|g| *g).map_err(|e| Error::Library(path.into(), e.to_string()))
}

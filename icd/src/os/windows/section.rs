//! Sections: memory without a file that can be mapped several times, in several processes.

use super::descriptor::{self, ExportAttributes, OwnedHandle, RawHandle, USED_RIGHTS};
use std::ffi::c_void;
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{
    ERROR_ALREADY_EXISTS, GENERIC_READ, GetLastError, HANDLE, INVALID_HANDLE_VALUE, SetLastError,
};
use windows_sys::Win32::System::Memory::{CreateFileMappingW, PAGE_READWRITE, SEC_COMMIT};

/// `DXGI_SHARED_RESOURCE_WRITE`, an access right of Vulkan's handles.
const SHARED_RESOURCE_WRITE: u32 = 1;

/// `SECTION_BASIC_INFORMATION` of the system's native interface.
#[repr(C)]
struct BasicInformation {
    base: *mut c_void,
    attributes: u32,
    size: i64,
}

#[link(name = "ntdll", kind = "raw-dylib")]
unsafe extern "system" {
    fn NtQuerySection(section: HANDLE, class: i32, out: *mut c_void, bytes: usize, written: *mut usize) -> i32;
}

/// A section, and how it is exported.
#[derive(Debug)]
pub struct Section {
    handle: OwnedHandle,
    /// Access rights of exported handles; `None` stands for those of the handle.
    access: Option<u32>,
    /// True if child processes inherit exported handles.
    is_inherited: bool,
}

impl Section {
    /// Creates a section of `bytes` zeros. Returns `None` if the system refuses, or if an object of
    /// the requested name exists: it may be of another program, with any content.
    pub fn new(bytes: u64, attributes: &ExportAttributes) -> Option<Section> {
        let [low, high] = [bytes as u32, (bytes >> 32) as u32];
        let name = attributes.name.as_ref().map_or(null(), |name| name.as_ptr());
        let security = attributes.security.cast();
        // SAFETY: the attributes are those of the application, which are valid as long as the
        // structure, and the name ends with a zero. Nothing else owns the new handle.
        let (handle, is_new) = unsafe {
            SetLastError(0);
            let handle = CreateFileMappingW(INVALID_HANDLE_VALUE, security, PAGE_READWRITE, high, low, name);
            let is_new = GetLastError() != ERROR_ALREADY_EXISTS;
            ((!handle.is_null()).then(|| OwnedHandle::from_raw_handle(handle)), is_new)
        };
        let handle = handle.filter(|_| is_new)?;
        let (access, is_inherited) = (Some(section_rights(attributes.access)), attributes.is_inherited());
        Some(Section { handle, access, is_inherited })
    }

    /// Duplicates a handle of a section, which may be anything. Returns `None` if it is no handle.
    /// The duplicate has no more rights, though the system might grant some, so that a handle for
    /// reading cannot be mapped.
    pub fn import(handle: RawHandle) -> Option<Section> {
        let handle = descriptor::duplicate(handle)?;
        Some(Section { handle, access: None, is_inherited: false })
    }

    /// Returns the handle.
    pub fn handle(&self) -> HANDLE {
        self.handle.as_raw_handle()
    }

    /// Returns the size in bytes if all pages exist as long as the section, so that no access to a
    /// view ends in an exception. A section of a file may lose its pages with the file's medium; a
    /// reserved one has pages only after they were committed. Returns `None` for those and for
    /// handles of other objects.
    pub fn size(&self) -> Option<u64> {
        let mut facts = BasicInformation { base: null_mut(), attributes: 0, size: 0 };
        // SAFETY: the call writes the structure, whose size it is told.
        let status = unsafe {
            NtQuerySection(self.handle(), 0, (&raw mut facts).cast(), size_of::<BasicInformation>(), null_mut())
        };
        (status >= 0 && facts.attributes == SEC_COMMIT).then(|| u64::try_from(facts.size).ok()).flatten()
    }

    /// Returns a handle for the application, with the rights that it has requested; `None` if the
    /// system refuses one.
    pub fn export(&self) -> Option<OwnedHandle> {
        descriptor::duplicate_with(self.handle(), self.access, self.is_inherited)
    }
}

/// Returns the rights of a section that correspond to an application's `dwAccess`, of which 0
/// stands for reading and writing.
fn section_rights(access: u32) -> u32 {
    match access {
        0 => USED_RIGHTS,
        _ if access & SHARED_RESOURCE_WRITE != 0 => access & !GENERIC_READ | USED_RIGHTS,
        _ => access,
    }
}

//! Handles of the system that come from and go to other processes and programs.

use std::os::windows::io::{FromRawHandle, IntoRawHandle};
use std::ptr::null_mut;
use windows_sys::Win32::Foundation::{DUPLICATE_SAME_ACCESS, DuplicateHandle};
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::System::Memory::{OpenFileMappingW, SECTION_MAP_READ, SECTION_MAP_WRITE, SECTION_QUERY};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// A handle as programs pass it.
pub type RawHandle = std::os::windows::io::RawHandle;
/// A handle that the driver owns.
pub type OwnedHandle = std::os::windows::io::OwnedHandle;

/// Handle that stands for a copy of a signaled state. No type of handle has such copies.
pub const SIGNALED: RawHandle = null_mut();

/// Rights that imports of a section need: for its size, and for mappings.
pub(super) const USED_RIGHTS: u32 = SECTION_QUERY | SECTION_MAP_READ | SECTION_MAP_WRITE;

/// Attributes of handles to be exported, and of the object behind them.
pub struct ExportAttributes {
    /// Security descriptor of the object, and whether child processes inherit its handles. Null
    /// stands for the defaults of the system.
    pub(super) security: *const SECURITY_ATTRIBUTES,
    /// Access rights of the handles; 0 stands for reading and writing.
    pub(super) access: u32,
    /// Name of the object, which ends with a zero.
    pub(super) name: Option<Vec<u16>>,
}

impl ExportAttributes {
    /// Attributes of objects that have no name and are private to the user.
    pub const DEFAULT: ExportAttributes = ExportAttributes { security: std::ptr::null(), access: 0, name: None };

    /// Notes attributes of the application.
    ///
    /// # Safety
    /// `security` is null or valid as long as the result. `name` is null or a text that ends with a
    /// zero.
    pub unsafe fn new(security: *const SECURITY_ATTRIBUTES, access: u32, name: *const u16) -> ExportAttributes {
        // SAFETY: the text is valid, as the `# Safety` section requires.
        let name = unsafe { text(name) };
        ExportAttributes { security, access, name }
    }

    pub(super) fn is_inherited(&self) -> bool {
        // SAFETY: the structure is null or valid as long as these attributes.
        unsafe { self.security.as_ref() }.is_some_and(|security| security.bInheritHandle != 0)
    }
}

/// Copies a text with its final zero; returns `None` for null.
///
/// # Safety
/// `text` is null or ends with a zero.
unsafe fn text(text: *const u16) -> Option<Vec<u16>> {
    // SAFETY: the text ends with a zero, as the `# Safety` section requires.
    let units = |length| unsafe { std::slice::from_raw_parts(text, length) }.to_vec();
    // SAFETY: no unit behind the zero is read.
    (!text.is_null()).then(|| units((0..).position(|at| unsafe { *text.add(at) } == 0).map_or(0, |end| end + 1)))
}

/// Kind of exported or imported memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryHandleKind {
    /// A section of the driver.
    Opaque,
}

/// Duplicates a handle. Child processes do not inherit the new one. Returns `None` if there is no
/// such object.
pub fn duplicate(handle: RawHandle) -> Option<OwnedHandle> {
    duplicate_with(handle, None, false)
}

/// Duplicates a handle as [`duplicate`] does, with other rights or one that child processes
/// inherit. Returns `None` also if the system refuses the rights.
pub(super) fn duplicate_with(handle: RawHandle, access: Option<u32>, is_inherited: bool) -> Option<OwnedHandle> {
    let (mut new, options) = (null_mut(), if access.is_none() { DUPLICATE_SAME_ACCESS } else { 0 });
    // SAFETY: the call makes a handle, which only the result owns, and refuses numbers that are no
    // handles.
    unsafe {
        let process = GetCurrentProcess();
        let access = access.unwrap_or(0);
        let is_made = DuplicateHandle(process, handle, process, &raw mut new, access, is_inherited.into(), options);
        (is_made != 0).then(|| OwnedHandle::from_raw_handle(new))
    }
}

/// Opens the section of a name; returns `None` if there is none that the user may read and write.
///
/// # Safety
/// `name` is a text that ends with a zero.
pub unsafe fn open(name: *const u16) -> Option<OwnedHandle> {
    // SAFETY: the name ends with a zero, as the `# Safety` section requires. Only the result owns
    // the new handle.
    unsafe {
        let handle = OpenFileMappingW(USED_RIGHTS, 0, name);
        (!handle.is_null()).then(|| OwnedHandle::from_raw_handle(handle))
    }
}

/// Transfers a handle to the application.
pub fn into_raw(handle: OwnedHandle) -> RawHandle {
    handle.into_raw_handle()
}

/// Returns true if a sync file is signaled. There is none, and a handle that cannot be polled
/// counts as signaled.
pub fn is_signaled(_handle: &OwnedHandle) -> bool {
    true
}

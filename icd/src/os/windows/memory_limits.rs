//! Memory of the machine. The limits of Linux do not exist here.

use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};

/// Returns the number of bytes of address space that the process may still take; `None` without a
/// limit.
pub fn addresses_left() -> Option<u64> {
    None
}

/// Returns the number of bytes of private writable memory that the process may still take: what
/// the system can still commit.
pub fn data_left() -> Option<u64> {
    status().map(|status| status.ullAvailPageFile)
}

/// Returns free pages of the C library to the system. The heap of Windows does so by itself.
pub fn trim() {}

/// Returns the number of bytes of memory that the machine has; `None` if it is unknown.
pub fn physical_memory() -> Option<u64> {
    status().map(|status| status.ullTotalPhys)
}

/// Returns the number of bytes that are available without swapping.
pub fn memory_available() -> Option<u64> {
    status().map(|status| status.ullAvailPhys)
}

/// Returns the lowest limit of the control groups that contain the process; there are none.
pub fn control_groups() -> Option<u64> {
    None
}

fn status() -> Option<MEMORYSTATUSEX> {
    let mut status = MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..Default::default() };
    // SAFETY: the call writes the structure, whose size it is told.
    let known = unsafe { GlobalMemoryStatusEx(&raw mut status) } != 0;
    known.then_some(status)
}

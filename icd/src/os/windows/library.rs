//! The file from which this library was loaded.

use std::ffi::OsString;
use std::os::windows::ffi::OsStringExt;
use std::path::PathBuf;
use std::ptr::null_mut;
use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, GetModuleFileNameW,
    GetModuleHandleExW,
};

/// Largest number of characters of a path of the library.
const LONGEST_PATH: usize = 4096;

/// Returns bytes that differ between builds: size and modification time of the file. Returns `None`
/// if they are not known.
pub fn identity() -> Option<Vec<u8>> {
    let metadata = std::fs::metadata(path()?).ok()?;
    let time = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some([metadata.len().to_le_bytes(), (time.as_nanos() as u64).to_le_bytes()].concat())
}

fn path() -> Option<PathBuf> {
    let mut module = null_mut();
    let flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    let address = identity as *const () as *const u16;
    let mut text = vec![0u16; LONGEST_PATH];
    // SAFETY: the address lies in this library, and both calls write at most what they are given.
    let length = unsafe {
        if GetModuleHandleExW(flags, address, &raw mut module) == 0 {
            return None;
        }
        GetModuleFileNameW(module, text.as_mut_ptr(), text.len() as u32) as usize
    };
    (length > 0 && length < text.len()).then(|| OsString::from_wide(&text[..length]).into())
}

//! Rights of the user of the process, and random numbers.

use std::ptr::null_mut;
use windows_sys::Win32::Foundation::CloseHandle;
use windows_sys::Win32::Security::Cryptography::ProcessPrng;
use windows_sys::Win32::Security::{GetTokenInformation, TOKEN_ELEVATION, TOKEN_QUERY, TokenElevation};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// Returns true if the process runs with more rights than other programs of its user (an elevated
/// token), or if this is unknown.
pub fn is_secure_execution() -> bool {
    let (mut token, mut elevation, mut length) = (null_mut(), TOKEN_ELEVATION { TokenIsElevated: 0 }, 0);
    // SAFETY: the calls write a handle, which is closed after its last use, and the structure,
    // whose size they are told.
    let known = unsafe {
        OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) != 0 && {
            let size = size_of::<TOKEN_ELEVATION>() as u32;
            let known =
                GetTokenInformation(token, TokenElevation, (&raw mut elevation).cast(), size, &raw mut length) != 0;
            CloseHandle(token);
            known
        }
    };
    !known || elevation.TokenIsElevated != 0
}

/// Returns 32 unpredictable bytes; `None` if the system has none.
pub fn random() -> Option<[u8; 32]> {
    let mut bytes = [0u8; 32];
    // SAFETY: the call writes at most the array.
    let written = unsafe { ProcessPrng(bytes.as_mut_ptr(), bytes.len()) } != 0;
    written.then_some(bytes)
}

//! Identity of processes.

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::sync::OnceLock;
use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, FILETIME, GetLastError, HANDLE, WAIT_OBJECT_0};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE,
    WaitForSingleObject,
};

/// Returns the identity of this process in one word, so that no reader sees parts of two: the
/// process number, and the low bits of the time at which the process began. A number may be reused,
/// but hardly with the same bits of the time, which repeat after 7 minutes.
pub fn identity() -> u64 {
    static IDENTITY: OnceLock<u64> = OnceLock::new();
    *IDENTITY.get_or_init(|| {
        // SAFETY: the function only returns a number, which stands for this process.
        let began = beginning(unsafe { GetCurrentProcess() });
        pack(std::process::id(), began.unwrap_or_default())
    })
}

fn pack(process: u32, began: u32) -> u64 {
    u64::from(process) | u64::from(began) << 32
}

/// Returns the low bits of the time at which a process began, in units of 100 ns.
fn beginning(process: HANDLE) -> Option<u32> {
    let [mut began, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: the call writes the structures; it refuses a handle that is not valid.
    let is_known =
        unsafe { GetProcessTimes(process, &raw mut began, &raw mut ended, &raw mut kernel, &raw mut user) } != 0;
    is_known.then_some(began.dwLowDateTime)
}

/// Returns false if the process is certainly gone.
pub fn is_alive(identity: u64) -> bool {
    let (process, rights) = (identity as u32, PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE);
    // SAFETY: the call makes a handle, which only the object below owns.
    let handle = unsafe { OpenProcess(rights, 0, process) };
    if handle.is_null() {
        // The system may refuse a handle of a process that exists. SAFETY: the function only
        // returns a number.
        return unsafe { GetLastError() } != ERROR_INVALID_PARAMETER;
    }
    // SAFETY: nothing else owns the handle.
    let handle = unsafe { OwnedHandle::from_raw_handle(handle) };
    // SAFETY: the handle is valid, and the call does not sleep.
    let has_ended = unsafe { WaitForSingleObject(handle.as_raw_handle(), 0) } == WAIT_OBJECT_0;
    !has_ended && beginning(handle.as_raw_handle()).is_none_or(|began| pack(process, began) == identity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn ended_processes_are_not_alive() {
        assert!(is_alive(identity()));
        assert!(!is_alive(identity() ^ 1 << 40), "this number began at another time");
        let mut child = Command::new("cmd.exe").args(["/c", "exit 0"]).spawn().expect("a process");
        let number = child.id();
        child.wait().expect("an end");
        // The object of the process exists as long as the test has a handle of it.
        assert!(!is_alive(pack(number, 0)));
        drop(child);
        assert!(!is_alive(pack(number, 0)));
    }
}

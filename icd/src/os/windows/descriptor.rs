//! File descriptors of other processes and programs, of which Windows has none: no extension with
//! such descriptors is advertised (`caps::extensions`), and all requests are refused.

#![forbid(unsafe_code)]

use std::fs::File;

/// Duplicates a descriptor; there is none.
pub fn duplicate(_fd: i32) -> Option<File> {
    None
}

/// Closes a descriptor that the application has given away; there is none.
pub fn close(_fd: i32) {}

/// Transfers a descriptor to the application; there is none.
pub fn into_fd(_file: File) -> i32 {
    -1
}

/// Returns true if a sync file is signaled. There is none, and a file that cannot be polled counts
/// as signaled.
pub fn is_signaled(_file: &File) -> bool {
    true
}

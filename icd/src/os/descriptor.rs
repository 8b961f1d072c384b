//! File descriptors that come from and go to other processes and programs.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};

/// Another descriptor of the same file, which does not go to programs that are executed; None if there is no such file, or no descriptor left.
pub fn duplicate(fd: i32) -> Option<File> {
    // SAFETY: makes a descriptor, which is nobody else's.
    unsafe {
        let new = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0);
        (new >= 0).then(|| File::from_raw_fd(new))
    }
}

/// Closes a descriptor that the application has given away.
pub fn close(fd: i32) {
    // SAFETY: its owner's promise is that nobody uses it any more; a number that is none does nothing.
    unsafe { libc::close(fd) };
}

/// The file has `bytes` bytes or more and is sealed, so that it will: a mapping of it never ends in a signal.
pub fn keeps_its_size(file: &File, bytes: u64) -> bool {
    // SAFETY: asks for the file's seals; a file that cannot have any is an error.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    seals >= 0 && seals & libc::F_SEAL_SHRINK != 0 && file.metadata().is_ok_and(|data| data.len() >= bytes)
}

/// A sync file (or whatever else can be polled) has signaled; one that cannot be asked counts as signaled.
pub fn is_signaled(file: &File) -> bool {
    let mut poll = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure, no time.
    unsafe { libc::poll(&raw mut poll, 1, 0) != 0 }
}

/// What a thread that waits for descriptors can be woken by.
pub struct Wake(File);

impl Wake {
    /// None: no descriptor is left.
    pub fn new() -> Option<Wake> {
        // SAFETY: makes a descriptor, which is nobody else's.
        unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            (fd >= 0).then(|| Wake(File::from_raw_fd(fd)))
        }
    }

    /// Makes the descriptor readable.
    pub fn wake(&self) {
        // It fails only where it has been readable for long.
        let _ = (&self.0).write(&1u64.to_ne_bytes());
    }

    /// Makes it unreadable again.
    pub fn take(&self) {
        // As above: it may be unreadable already.
        let _ = (&self.0).read(&mut [0; 8]);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

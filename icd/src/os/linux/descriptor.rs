//! File descriptors that come from and go to other processes and programs.

use base::os::page_size;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd};

/// A handle as programs pass it: the number of a file descriptor.
pub type RawHandle = i32;
/// A handle that the driver owns.
pub type OwnedHandle = File;

/// Descriptor that stands for a copy of a signaled state.
pub const SIGNALED: RawHandle = -1;

/// Attributes of handles to be exported. File descriptors have none.
pub struct ExportAttributes;

impl ExportAttributes {
    /// Attributes of every handle.
    pub const DEFAULT: ExportAttributes = ExportAttributes;
}

/// Kind of exported or imported memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryHandleKind {
    /// A file of the driver.
    Opaque,
    /// A dma-buf, which other drivers and devices know too.
    DmaBuf,
}

/// Duplicates a descriptor. Executed programs do not inherit the new one. Returns `None` if there
/// is no such file, or no descriptor left.
pub fn duplicate(fd: i32) -> Option<File> {
    // SAFETY: this makes a descriptor, which only the returned file owns.
    unsafe {
        let new = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0);
        (new >= 0).then(|| File::from_raw_fd(new))
    }
}

/// Closes a descriptor that the application has given away.
pub fn close(fd: i32) {
    // SAFETY: the application transferred the descriptor and uses it no longer; closing an invalid
    // number does nothing.
    unsafe { libc::close(fd) };
}

/// Transfers a descriptor to the application.
pub fn into_raw(file: OwnedHandle) -> RawHandle {
    file.into_raw_fd()
}

/// Kind of a file system, and the block size of a file in it.
pub struct FileSystem {
    /// Kind of the file system (`f_type`, a constant of `linux/magic.h`).
    pub magic: u64,
    /// Number of bytes per block, which is the unit of mappings of the file.
    pub block: u64,
}

/// Returns the file system that contains a file; `None` if the kernel does not report it.
pub fn file_system(file: &File) -> Option<FileSystem> {
    // SAFETY: the structure is plain data, for which all-zero bits are valid.
    let mut system: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `fstatfs` fills the structure.
    let known = unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut system) } == 0;
    known.then_some(FileSystem { magic: system.f_type as u64, block: system.f_bsize as u64 })
}

/// Returns the size of a file that can be mapped page by page and never loses a page, so that no
/// access to such a mapping ends in a signal. Returns `None` for every other file.
///
/// Only a memory file (tmpfs) with F_SEAL_SHRINK is one. Its pages are created when they are
/// touched, regardless of what was written. Its size is read after the seal is known, so that it
/// can only grow. A file of huge pages (MFD_HUGETLB) can have the seal too, but the kernel rounds
/// its mappings up to huge pages. They would cover the memory behind them, and the pages need not
/// exist.
pub fn sealed_size(file: &File) -> Option<u64> {
    let in_pages = |system: FileSystem| system.magic == libc::TMPFS_MAGIC as u64 && system.block == page_size() as u64;
    if !file_system(file).is_some_and(in_pages) {
        return None;
    }
    // SAFETY: this queries the seals of the file; a file that cannot have any gives an error.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    let sealed = seals >= 0 && seals & libc::F_SEAL_SHRINK != 0;
    sealed.then(|| file.metadata().ok().map(|data| data.len())).flatten()
}

/// Returns true if a sync file (or any other file that can be polled) is signaled. A file that
/// cannot be polled counts as signaled.
pub fn is_signaled(file: &File) -> bool {
    let mut poll = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure is passed, and the timeout is 0.
    unsafe { libc::poll(&raw mut poll, 1, 0) != 0 }
}

/// A descriptor that wakes a thread which waits for descriptors.
pub struct Wake(File);

impl Wake {
    /// Creates the descriptor; `None` if no descriptor is left.
    pub fn new() -> Option<Wake> {
        // SAFETY: this makes a descriptor, which only the returned object owns.
        unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            (fd >= 0).then(|| Wake(File::from_raw_fd(fd)))
        }
    }

    /// Makes the descriptor readable.
    pub fn wake(&self) {
        // The write fails only if the descriptor is already readable.
        let _ = (&self.0).write(&1u64.to_ne_bytes());
    }

    /// Makes the descriptor unreadable again.
    pub fn take(&self) {
        // The read fails only if the descriptor is already unreadable.
        let _ = (&self.0).read(&mut [0; 8]);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

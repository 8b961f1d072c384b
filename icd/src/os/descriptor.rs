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

/// The kind of a file system (`f_type`, a constant of `linux/magic.h`), and the bytes of a block of a file, which is what mappings of the file consist of.
pub struct FileSystem {
    /// The kind.
    pub magic: u64,
    /// Bytes per block.
    pub block: u64,
}

/// The file system that a file lies in; None where the kernel does not say.
pub fn file_system(file: &File) -> Option<FileSystem> {
    // SAFETY: plain data, any bits of which are valid.
    let mut system: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: fills the structure.
    let known = unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut system) } == 0;
    known.then_some(FileSystem { magic: system.f_type as u64, block: system.f_bsize as u64 })
}

/// Bytes of a page of the machine's memory.
pub fn page_size() -> u64 {
    // SAFETY: sysconf only reads.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Bytes of a file that can be mapped page by page and never lose a page, so that no access to such a mapping ends in a signal. None for every other file.
///
/// Only a memory file (tmpfs) with F_SEAL_SHRINK is one. Its pages exist when they are touched, whatever has been written, and its size is read behind the
/// seal, so that it can only grow. A file of huge pages (MFD_HUGETLB) can have the seal too, but the kernel rounds its mappings up to huge pages, so that they
/// would cover what lies behind them, and its pages need not exist.
pub fn sealed_size(file: &File) -> Option<u64> {
    let in_pages = |system: FileSystem| system.magic == libc::TMPFS_MAGIC as u64 && system.block == page_size();
    if !file_system(file).is_some_and(in_pages) {
        return None;
    }
    // SAFETY: asks for the file's seals; a file that cannot have any is an error.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    let sealed = seals >= 0 && seals & libc::F_SEAL_SHRINK != 0;
    sealed.then(|| file.metadata().ok().map(|data| data.len())).flatten()
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

//! What device memory is made of.
//!
//! Anonymous memory is the rule. What must have a second mapping (a sparse binding), or is to be given to another process, is a file without a name
//! (`memfd_create`): one per allocation, so that who gets its descriptor gets nothing else, the kernel takes the pages back when the last
//! mapping goes, and a forked child that destroys what it inherited takes nothing from its parent. Writes of such a child are seen by its
//! parent, which is what sharing is for; anonymous memory is copied for it.
//!
//! It is not the rule because first touch is dearer, most of all where the kernel has no huge pages for shared memory (the default:
//! `transparent_hugepage/shmem_enabled` is `never`). Milliseconds here, anonymous and memfd: 64 KiB 0.031 and 0.041; 1 MiB 0.41 and 0.67;
//! 16 MiB 0.5 and 16; 256 MiB 30 and 280; written again, 16 MiB 0.16 and 0.6, 256 MiB 11 and 15. Pages of files count for control groups as others do, and not for
//! RLIMIT_DATA; each takes a descriptor of the process.

use super::{descriptor, memory_limits};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::{Arc, OnceLock};

/// What an allocation is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// Private memory of this process.
    Anonymous,
    /// A file without a name: it can be mapped again.
    Memfd,
}

impl Backing {
    /// For what has no reason to be a file. `GRUS_MEMORY=memfd` makes everything one, for tests and measurements.
    pub fn usual() -> Backing {
        static USUAL: OnceLock<Backing> = OnceLock::new();
        *USUAL.get_or_init(|| match std::env::var("GRUS_MEMORY").as_deref() {
            Ok("memfd") => Backing::Memfd,
            _ => Backing::Anonymous,
        })
    }
}

/// Pages of an allocation, to be mapped at an address. All zero at first.
#[derive(Clone, Debug)]
pub enum Pages {
    /// Each mapping has pages of its own.
    Anonymous,
    /// All mappings show the file's.
    Memfd(Arc<File>),
}

impl Pages {
    /// `bytes` bytes; none of them exists before it is touched. None where the kernel refuses: a container without memfd_create, no
    /// descriptor left.
    pub fn new(backing: Backing, bytes: usize) -> Option<Pages> {
        match backing {
            Backing::Anonymous => Some(Pages::Anonymous),
            Backing::Memfd => memfd(bytes as u64).map(|file| Pages::Memfd(Arc::new(file))),
        }
    }

    /// The pages behind a descriptor of another process's (or this one's) file, of which a duplicate is made. None if they are not `bytes`
    /// bytes that stay.
    pub fn import(fd: i32, bytes: usize) -> Option<Pages> {
        let file = descriptor::duplicate(fd).filter(|file| descriptor::keeps_its_size(file, bytes as u64))?;
        Some(Pages::Memfd(Arc::new(file)))
    }

    /// A descriptor of the file: none of anonymous pages, or where the process may have no more.
    pub fn export(&self) -> Option<File> {
        match self {
            Pages::Anonymous => None,
            Pages::Memfd(file) => descriptor::duplicate(file.as_raw_fd()),
        }
    }

    /// Maps `bytes` bytes from `offset` on over the addresses from `address` on, which the caller owns; false if the kernel refuses.
    ///
    /// # Safety
    /// Whole pages of a mapping that is the caller's, where nobody accesses anything.
    #[must_use]
    pub unsafe fn map(&self, address: *mut u8, offset: usize, bytes: usize) -> bool {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (kind, file, offset) = match self {
            Pages::Anonymous => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0),
            Pages::Memfd(file) => (libc::MAP_SHARED, file.as_raw_fd(), offset),
        };
        let flags = kind | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the caller's promise.
        let place = unsafe { libc::mmap(address.cast(), bytes, access, flags, file, offset as libc::off_t) };
        place != libc::MAP_FAILED
    }
}

/// A file of `bytes` zeros that stays as large as it is: nobody who maps it loses a page.
pub(super) fn memfd(bytes: u64) -> Option<File> {
    // A signal would come of it.
    if memory_limits::file_size().is_some_and(|most| bytes > most) {
        return None;
    }
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // Kernels may demand that it is never executable; older ones do not know the flag.
    let file = [flags | libc::MFD_NOEXEC_SEAL, flags].into_iter().find_map(|flags| {
        // SAFETY: makes a descriptor, which is nobody else's.
        unsafe {
            let fd = libc::memfd_create(c"grus".as_ptr(), flags);
            (fd >= 0).then(|| File::from_raw_fd(fd))
        }
    })?;
    file.set_len(bytes).ok()?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: changes the file's seals.
    let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } == 0;
    sealed.then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `limit` leaves of a process; 0 or 1 as [`Pages::new`] finds a file or not.
    fn in_child(resource: libc::__rlimit_resource_t, limit: u64) -> i32 {
        // SAFETY: the child makes a file at the most and ends.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
                libc::setrlimit(resource, &limit);
                libc::_exit(i32::from(Pages::new(Backing::Memfd, 1 << 20).is_none()));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            status
        }
    }

    #[test]
    fn what_the_process_may_not_have_is_refused() {
        let refused = 1 << 8;
        assert_eq!(in_child(libc::RLIMIT_FSIZE, 1 << 20), 0);
        assert_eq!(in_child(libc::RLIMIT_FSIZE, (1 << 20) - 1), refused, "no signal");
        assert_eq!(in_child(libc::RLIMIT_NOFILE, 0), refused);
        assert!(Pages::new(Backing::Memfd, usize::MAX).is_none());
    }

    #[test]
    fn a_file_keeps_its_size() {
        let Some(Pages::Memfd(file)) = Pages::new(Backing::Memfd, 1 << 16) else { panic!("a file") };
        assert!(file.set_len(1).is_err() && file.set_len(1 << 20).is_err());
        assert_eq!(file.metadata().expect("of a file").len(), 1 << 16);
    }
}

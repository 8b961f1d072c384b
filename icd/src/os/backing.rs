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

use super::{descriptor, dma_buf, memory_limits};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::{Arc, OnceLock};

/// Bytes of a page of memory.
const PAGE: usize = 4096;

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
    File(Arc<File>),
    /// All mappings show somebody's, which are so many bytes, and then pages of their own.
    DmaBuf(Arc<File>, usize),
}

/// What kind of descriptor others get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// A file of the driver's.
    File,
    /// What other drivers and devices know too.
    DmaBuf,
}

impl Pages {
    /// `bytes` bytes; none of them exists before it is touched. None where the kernel refuses: a container without memfd_create, no
    /// descriptor left.
    pub fn new(backing: Backing, bytes: usize) -> Option<Pages> {
        match backing {
            Backing::Anonymous => Some(Pages::Anonymous),
            Backing::Memfd => memfd(bytes as u64).map(|file| Pages::File(Arc::new(file))),
        }
    }

    /// The pages behind a descriptor of another process's (or this one's) file, of which a duplicate is made. None if they are not `bytes`
    /// bytes that stay.
    pub fn import(fd: i32, bytes: usize) -> Option<Pages> {
        let file = descriptor::duplicate(fd).filter(|file| descriptor::keeps_its_size(file, bytes as u64))?;
        Some(Pages::File(Arc::new(file)))
    }

    /// The pages behind the descriptor of a dma-buf, or of a file that stays as large as it is, of which a duplicate is made. None if they are not `bytes` bytes.
    pub fn import_dma_buf(fd: i32, bytes: usize) -> Option<Pages> {
        let file = descriptor::duplicate(fd)?;
        let sealed =
            || file.metadata().ok().map(|data| data.len()).filter(|&size| descriptor::keeps_its_size(&file, size));
        let size = dma_buf::size(&file).or_else(sealed)?;
        let size = usize::try_from(size).ok().filter(|&size| size >= bytes && size.is_multiple_of(PAGE))?;
        Some(Pages::DmaBuf(Arc::new(file), size))
    }

    /// A descriptor of the file: none of anonymous pages, of a kind that cannot be had, or where the process may have no more.
    pub fn export(&self, kind: Given) -> Option<File> {
        match (self, kind) {
            (Pages::Anonymous, _) | (Pages::DmaBuf(..), Given::File) => None,
            (Pages::File(file), Given::File) | (Pages::DmaBuf(file, _), Given::DmaBuf) => {
                descriptor::duplicate(file.as_raw_fd())
            }
            (Pages::File(file), Given::DmaBuf) => dma_buf::of_file(file),
        }
    }

    /// Maps `bytes` bytes from `offset` on over the addresses from `address` on, which the caller owns; false if the kernel refuses.
    ///
    /// # Safety
    /// Whole pages of a mapping that is the caller's, where nobody accesses anything.
    #[must_use]
    pub unsafe fn map(&self, address: *mut u8, offset: usize, bytes: usize) -> bool {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (kind, file, offset, bytes) = match self {
            Pages::Anonymous => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0, bytes),
            Pages::File(file) => (libc::MAP_SHARED, file.as_raw_fd(), offset, bytes),
            Pages::DmaBuf(file, size) => {
                // What lies behind it is nobody's, but may be read.
                let shown = bytes.min(size.saturating_sub(offset));
                // SAFETY: the caller's promise.
                if !unsafe { Pages::Anonymous.map(address, 0, bytes) } || shown == 0 {
                    return false;
                }
                (libc::MAP_SHARED, file.as_raw_fd(), offset, shown)
            }
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
    fn pages_of_others_are_shown_as_far_as_they_go() {
        let Some(Pages::File(file)) = Pages::new(Backing::Memfd, PAGE) else { panic!("a file") };
        let all = 4 * PAGE;
        assert!(Pages::import_dma_buf(file.as_raw_fd(), PAGE + 1).is_none() && Pages::import_dma_buf(-1, 1).is_none());
        let pages = Pages::import_dma_buf(file.as_raw_fd(), 100).expect("pages");
        assert!(pages.export(Given::File).is_none() && pages.export(Given::DmaBuf).is_some());
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a mapping of the test's own, which is used as long as it is there.
        unsafe {
            let place = libc::mmap(std::ptr::null_mut(), all, libc::PROT_NONE, flags, -1, 0).cast::<u8>();
            assert!(pages.map(place, 0, all));
            place.write(7);
            place.add(all - 1).write(9);
            let mut seen = [0; 1];
            std::os::unix::fs::FileExt::read_exact_at(&*file, &mut seen, 0).expect("the file's bytes");
            assert_eq!((seen, place.add(PAGE).read()), ([7], 0));
            libc::munmap(place.cast(), all);
        }
        // A file that somebody may make smaller would be a signal.
        let name = c"grus-test".as_ptr();
        // SAFETY: makes a descriptor, which is nobody else's.
        let open = unsafe { File::from_raw_fd(libc::memfd_create(name, libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)) };
        open.set_len(PAGE as u64).expect("bytes");
        assert!(Pages::import_dma_buf(open.as_raw_fd(), PAGE).is_none());
    }

    #[test]
    fn a_file_keeps_its_size() {
        let Some(Pages::File(file)) = Pages::new(Backing::Memfd, 1 << 16) else { panic!("a file") };
        assert!(file.set_len(1).is_err() && file.set_len(1 << 20).is_err());
        assert_eq!(file.metadata().expect("of a file").len(), 1 << 16);
    }
}

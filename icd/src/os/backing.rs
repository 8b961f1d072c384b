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
use base::abi::ADDRESS_GRANULE_BITS;
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
    /// All mappings show the file's, which the driver has made: mapping them does not fail for a reason of the file.
    File(Arc<File>),
    /// All mappings show those of a file of another process or device as far as it goes, and then pages of their own.
    Foreign(Arc<Foreign>),
}

/// A file that the driver did not make and whose pages have been found to be there for good.
#[derive(Debug)]
pub struct Foreign {
    file: File,
    kind: Given,
    /// Whole pages of the machine's memory.
    bytes: usize,
}

/// A mapping that the kernel refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// What was at the addresses is still there.
    Unchanged,
    /// There may be nothing at the addresses any more, or a mapping of another part of the process.
    Lost,
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

    /// The pages behind a descriptor of a file of the driver (of another process or this one), or of a dma-buf or a file that serves as one, of which a
    /// duplicate is made. None if they are not `bytes` bytes that can be mapped page by page and stay.
    pub fn import(fd: i32, kind: Given, bytes: usize) -> Option<Pages> {
        let file = descriptor::duplicate(fd)?;
        let size = match kind {
            // Files of the driver that are no memory, such as semaphores, have a page.
            Given::File => descriptor::sealed_size(&file).filter(|size| size.is_multiple_of(MEMORY_BLOCK)),
            Given::DmaBuf => dma_buf::size(&file).or_else(|| descriptor::sealed_size(&file)),
        };
        let size = usize::try_from(size?).ok()?.checked_next_multiple_of(descriptor::page_size() as usize)?;
        (size >= bytes).then(|| Pages::Foreign(Arc::new(Foreign { file, kind, bytes: size })))
    }

    /// Several mappings show the same bytes of an allocation of the driver.
    pub fn can_be_mapped_twice(&self) -> bool {
        match self {
            Pages::Anonymous => false,
            Pages::File(_) => true,
            Pages::Foreign(foreign) => foreign.kind == Given::File,
        }
    }

    /// A descriptor of the file: none of anonymous pages, of a kind that cannot be had, or where the process may have no more.
    pub fn export(&self, kind: Given) -> Option<File> {
        match self {
            Pages::Anonymous => None,
            Pages::File(file) if kind == Given::File => descriptor::duplicate(file.as_raw_fd()),
            Pages::File(file) => dma_buf::of_file(file),
            Pages::Foreign(foreign) if kind == foreign.kind => descriptor::duplicate(foreign.file.as_raw_fd()),
            Pages::Foreign(foreign) if kind == Given::DmaBuf => dma_buf::of_file(&foreign.file),
            Pages::Foreign(_) => None,
        }
    }

    /// Maps `bytes` bytes from `offset` on over the addresses from `address` on, which the caller owns.
    ///
    /// # Errors
    /// The kernel refuses; [`Refused`] says what that means for the addresses.
    ///
    /// # Safety
    /// Whole pages of a mapping that is the caller's, where nobody accesses anything.
    pub unsafe fn map(&self, address: *mut u8, offset: usize, bytes: usize) -> Result<(), Refused> {
        let (kind, file, offset) = match self {
            Pages::Anonymous => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0),
            Pages::File(file) => (libc::MAP_SHARED, file.as_raw_fd(), offset),
            Pages::Foreign(foreign) => {
                let shown = bytes.min(foreign.bytes.saturating_sub(offset));
                if shown < bytes {
                    // What lies behind the file is not part of it, but may be read.
                    // SAFETY: the caller's promise, of a part of the addresses.
                    unsafe { Pages::Anonymous.map(address.wrapping_add(shown), 0, bytes - shown) }?;
                }
                // SAFETY: as above.
                return unsafe { foreign.map(address, offset, shown) };
            }
        };
        let flags = kind | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the caller's promise.
        let place = unsafe { libc::mmap(address.cast(), bytes, ACCESS, flags, file, offset as libc::off_t) };
        if place == libc::MAP_FAILED { Err(Refused::Unchanged) } else { Ok(()) }
    }
}

/// The sizes of memory's files are multiples of so many bytes.
const MEMORY_BLOCK: u64 = 1 << ADDRESS_GRANULE_BITS;

/// What mappings of memory allow.
const ACCESS: i32 = libc::PROT_READ | libc::PROT_WRITE;

impl Foreign {
    /// Maps `shown` bytes of the file, all of which it has, from `offset` on over the addresses from `address` on.
    ///
    /// The file is first mapped where the kernel likes: a file that refuses (it is sealed against writing, or its device has no mappings) would
    /// otherwise leave nothing at the caller's addresses, where other parts of the process could then map something. The mapping that is
    /// moved from there has exactly `shown` bytes, since [`Pages::import`] takes only files that are mapped page by page.
    ///
    /// # Safety
    /// As for [`Pages::map`].
    unsafe fn map(&self, address: *mut u8, offset: usize, shown: usize) -> Result<(), Refused> {
        if shown == 0 {
            return Ok(());
        }
        let (flags, file) = (libc::MAP_SHARED | libc::MAP_NORESERVE, self.file.as_raw_fd());
        // SAFETY: a new mapping at a place of the kernel's choice.
        let place = unsafe { libc::mmap(std::ptr::null_mut(), shown, ACCESS, flags, file, offset as libc::off_t) };
        if place == libc::MAP_FAILED {
            return Err(Refused::Unchanged);
        }
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: the mapping made above, which has no other user, to addresses of which the caller has promised the same.
        let moved = unsafe { libc::mremap(place, shown, shown, flags, address.cast::<libc::c_void>()) };
        if moved == libc::MAP_FAILED {
            // SAFETY: as above.
            unsafe { libc::munmap(place, shown) };
            return Err(Refused::Lost);
        }
        Ok(())
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

    /// Bytes of a page of the tests' files.
    const PAGE: usize = 1 << 16;

    /// A memory file with flags, a size and seals.
    fn file(flags: u32, bytes: u64, seals: i32) -> Option<File> {
        // SAFETY: makes a descriptor, which is nobody else's, and changes its seals.
        unsafe {
            let fd = libc::memfd_create(c"grus-test".as_ptr(), flags | libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
            let file = (fd >= 0).then(|| File::from_raw_fd(fd))?;
            file.set_len(bytes).expect("bytes");
            assert_eq!(libc::fcntl(fd, libc::F_ADD_SEALS, seals), 0);
            Some(file)
        }
    }

    /// Addresses of the test's own, without access.
    struct Window(*mut u8, usize);

    impl Window {
        fn new(bytes: usize) -> Window {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            // SAFETY: a new mapping.
            let place = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
            assert_ne!(place, libc::MAP_FAILED);
            Window(place.cast(), bytes)
        }

        /// Every page of it is mapped, so that no other part of the process can have it.
        fn is_whole(&self) -> bool {
            let mut there = vec![0; self.1 / 4096];
            // SAFETY: asks about the pages.
            unsafe { libc::mincore(self.0.cast(), self.1, there.as_mut_ptr()) == 0 }
        }
    }

    impl Drop for Window {
        fn drop(&mut self) {
            // SAFETY: the test's addresses.
            unsafe { libc::munmap(self.0.cast(), self.1) };
        }
    }

    #[test]
    fn pages_of_others_are_shown_as_far_as_they_go() {
        for kind in [Given::File, Given::DmaBuf] {
            let file = file(0, PAGE as u64, libc::F_SEAL_SHRINK).expect("a file");
            let fd = file.as_raw_fd();
            assert!(Pages::import(fd, kind, PAGE + 1).is_none() && Pages::import(-1, kind, 1).is_none());
            let pages = Pages::import(fd, kind, 100).expect("pages");
            assert!(pages.export(kind).is_some());
            assert_eq!(pages.export(Given::File).is_some(), kind == Given::File);
            let window = Window::new(4 * PAGE);
            let (place, all) = (window.0, window.1);
            // SAFETY: a mapping of the test's own, which is used as long as it is there.
            unsafe {
                assert_eq!(pages.map(place, 0, all), Ok(()));
                place.write(7);
                place.add(all - 1).write(9);
                let mut seen = [0; 1];
                std::os::unix::fs::FileExt::read_exact_at(&file, &mut seen, 0).expect("the file's bytes");
                assert_eq!((seen, place.add(PAGE).read()), ([7], 0));
                // From an offset on, and behind its end.
                assert_eq!(pages.map(place, PAGE, all), Ok(()));
                assert_eq!(place.read(), 0);
            }
        }
        // A file that can still be made smaller would end accesses in a signal.
        let open = file(0, PAGE as u64, 0).expect("a file");
        assert!([Given::File, Given::DmaBuf].iter().all(|&kind| Pages::import(open.as_raw_fd(), kind, PAGE).is_none()));
    }

    /// The kernel rounds mappings of huge pages up, and has them where it finds some: such a file is refused whatever it says of itself.
    #[test]
    fn huge_pages_are_refused() {
        // Kernels without huge pages have no such files.
        let Some(huge) = file(libc::MFD_HUGETLB, 8 << 20, libc::F_SEAL_SHRINK) else { return };
        for kind in [Given::File, Given::DmaBuf] {
            for bytes in [1, 1 << 16, 2 << 20, 3 << 20, 8 << 20] {
                assert!(Pages::import(huge.as_raw_fd(), kind, bytes).is_none(), "{bytes}");
            }
        }
        assert_eq!(descriptor::sealed_size(&huge), None);
    }

    /// A file can be as large and sealed as it says and still refuse to be mapped for writing; then the addresses stay what they were.
    #[test]
    fn addresses_are_kept_when_a_file_refuses() {
        let seals = [libc::F_SEAL_FUTURE_WRITE, libc::F_SEAL_WRITE].map(|seal| seal | libc::F_SEAL_SHRINK);
        for file in seals.map(|seals| file(0, PAGE as u64, seals).expect("a file")) {
            let pages = Pages::import(file.as_raw_fd(), Given::File, PAGE).expect("as many bytes as it says");
            let window = Window::new(2 * PAGE);
            // SAFETY: addresses of the test's own.
            unsafe { assert_eq!(pages.map(window.0, 0, PAGE), Err(Refused::Unchanged)) };
            assert!(window.is_whole());
        }
    }

    #[test]
    fn a_file_keeps_its_size() {
        let Some(Pages::File(file)) = Pages::new(Backing::Memfd, 1 << 16) else { panic!("a file") };
        assert!(file.set_len(1).is_err() && file.set_len(1 << 20).is_err());
        assert_eq!(file.metadata().expect("of a file").len(), 1 << 16);
    }
}

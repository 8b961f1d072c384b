//! Pages behind device memory.
//!
//! Device memory is anonymous by default. Memory that needs a second mapping (a sparse binding), or
//! that is exported to another process, is a file without a name (`memfd_create`). Each allocation
//! has its own file: the recipient of its descriptor gets nothing else, and the kernel frees the
//! pages with the last mapping. A forked child that destroys what it inherited takes nothing from
//! its parent. The parent sees writes of such a child, which is the purpose of sharing; anonymous
//! memory is copied for it.
//!
//! Files are not the default because the first touch costs more, especially if the kernel has no
//! huge pages for shared memory (the default: `transparent_hugepage/shmem_enabled` is `never`).
//! Milliseconds here, anonymous and memfd: 64 KiB 0.031 and 0.041; 1 MiB 0.41 and 0.67; 16 MiB 0.5
//! and 16; 256 MiB 30 and 280; written again, 16 MiB 0.16 and 0.6, 256 MiB 11 and 15. Pages of
//! files count for control groups as other pages do, and not for RLIMIT_DATA. Each file takes a
//! descriptor of the process.

use super::{descriptor, dma_buf, memory_limits};
use crate::os::backing::{Backing, MapError};
use crate::os::descriptor::{ExportAttributes, MemoryHandleKind};
use base::abi::ADDRESS_GRANULE_BITS;
use base::os::page_size;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Pages of an allocation, which are mapped at an address. All bytes are zero at first.
#[derive(Clone, Debug)]
pub enum Pages {
    /// Separate pages for each mapping.
    Anonymous,
    /// Pages of a file that the driver made, which all mappings show. Mapping them never fails
    /// because of the file.
    File(Arc<File>),
    /// Pages of a file of another process or device, which all mappings show up to its end. Private
    /// pages follow.
    Foreign(Arc<Foreign>),
}

/// A file that the driver did not make, and whose pages were checked to exist for good.
#[derive(Debug)]
pub struct Foreign {
    file: File,
    kind: MemoryHandleKind,
    /// Number of bytes, in whole pages of the machine's memory.
    bytes: usize,
}

impl Pages {
    /// Creates `bytes` bytes, none of which exists before it is touched. Returns `None` if the
    /// kernel refuses: a container without memfd_create, or no descriptor left.
    pub fn new(backing: Backing, bytes: usize) -> Option<Pages> {
        match backing {
            Backing::Anonymous => Some(Pages::Anonymous),
            Backing::Memfd => memfd(bytes as u64).map(|file| Pages::File(Arc::new(file))),
        }
    }

    /// Creates `bytes` bytes that can be exported. Returns `None` as [`Pages::new`] does.
    pub fn for_export(bytes: usize, _attributes: &ExportAttributes) -> Option<Pages> {
        Pages::new(Backing::Memfd, bytes)
    }

    /// Imports the pages behind a descriptor, which is duplicated: of a file of the driver (of this
    /// process or another one), or of a dma-buf or a file that serves as one. Returns `None` unless
    /// they are `bytes` bytes that can be mapped page by page and stay.
    pub fn import(fd: i32, kind: MemoryHandleKind, bytes: usize) -> Option<Pages> {
        let file = descriptor::duplicate(fd)?;
        let size = match kind {
            // Other files of the driver, such as semaphores, have one page.
            MemoryHandleKind::Opaque => descriptor::sealed_size(&file).filter(|size| size.is_multiple_of(MEMORY_BLOCK)),
            MemoryHandleKind::DmaBuf => dma_buf::size(&file).or_else(|| descriptor::sealed_size(&file)),
        };
        let size = usize::try_from(size?).ok()?.checked_next_multiple_of(page_size())?;
        (size >= bytes).then(|| Pages::Foreign(Arc::new(Foreign { file, kind, bytes: size })))
    }

    /// Writes bytes of a file that the driver made; returns false if the kernel refuses.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        matches!(self, Pages::File(file) if file.write_all_at(bytes, offset).is_ok())
    }

    /// Returns true for private pages, of which each mapping has its own.
    pub fn are_anonymous(&self) -> bool {
        matches!(self, Pages::Anonymous)
    }

    /// Returns true if several mappings show the same bytes of an allocation of the driver.
    pub fn can_be_mapped_twice(&self) -> bool {
        match self {
            Pages::Anonymous => false,
            Pages::File(_) => true,
            Pages::Foreign(foreign) => foreign.kind == MemoryHandleKind::Opaque,
        }
    }

    /// Returns a descriptor of the file; `None` for anonymous pages, for a kind that is not
    /// available, or if the process may have no more descriptors.
    pub fn export(&self, kind: MemoryHandleKind) -> Option<File> {
        match self {
            Pages::Anonymous => None,
            Pages::File(file) if kind == MemoryHandleKind::Opaque => descriptor::duplicate(file.as_raw_fd()),
            Pages::File(file) => dma_buf::of_file(file),
            Pages::Foreign(foreign) if kind == foreign.kind => descriptor::duplicate(foreign.file.as_raw_fd()),
            Pages::Foreign(foreign) if kind == MemoryHandleKind::DmaBuf => dma_buf::of_file(&foreign.file),
            Pages::Foreign(_) => None,
        }
    }

    /// Maps `bytes` bytes from `offset` on over the addresses from `address` on, which the caller
    /// owns.
    ///
    /// # Errors
    /// The kernel refuses; [`MapError`] says what that means for the addresses.
    ///
    /// # Safety
    /// The addresses are whole pages of a mapping that the caller owns, and nothing accesses them.
    pub unsafe fn map(&self, address: *mut u8, offset: usize, bytes: usize) -> Result<(), MapError> {
        let (kind, file, offset) = match self {
            Pages::Anonymous => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0),
            Pages::File(file) => (libc::MAP_SHARED, file.as_raw_fd(), offset),
            Pages::Foreign(foreign) => {
                let shown = bytes.min(foreign.bytes.saturating_sub(offset));
                if shown < bytes {
                    // Bytes behind the file are not part of it, but may be read. SAFETY: these are
                    // a part of the addresses that the `# Safety` section of this function covers.
                    unsafe { Pages::Anonymous.map(address.wrapping_add(shown), 0, bytes - shown) }?;
                }
                // SAFETY: these are the other part of the addresses that the `# Safety` section of
                // this function covers.
                return unsafe { foreign.map(address, offset, shown) };
            }
        };
        let flags = kind | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the caller owns the addresses, as the `# Safety` section of this function
        // requires.
        let place = unsafe { libc::mmap(address.cast(), bytes, ACCESS, flags, file, offset as libc::off_t) };
        if place == libc::MAP_FAILED { Err(MapError::Unchanged) } else { Ok(()) }
    }
}

/// Size of the pages that all unbound granules of sparse resources show, in bytes. The kernel
/// merges mappings that follow each other in a file. A range has one mapping for each multiple of
/// this size, and a process may have some 65,000 mappings.
pub const SINK_BYTES: usize = 64 << 20;

impl Pages {
    /// Maps granules as [`Pages::map`] does, so that each can be replaced by other pages while the
    /// others are in use.
    ///
    /// # Errors
    /// The errors are those of [`Pages::map`].
    ///
    /// # Safety
    /// The conditions are those of [`Pages::map`].
    pub unsafe fn map_granules(&self, address: *mut u8, offset: usize, bytes: usize) -> Result<(), MapError> {
        // SAFETY: the conditions are those of `map`, as the `# Safety` section requires. The kernel
        // divides a mapping of which a part is replaced.
        unsafe { self.map(address, offset, bytes) }
    }
}

/// Block size of memory files in bytes: their sizes are multiples of it.
const MEMORY_BLOCK: u64 = 1 << ADDRESS_GRANULE_BITS;

/// Access that mappings of memory allow.
const ACCESS: i32 = libc::PROT_READ | libc::PROT_WRITE;

impl Foreign {
    /// Maps `shown` bytes of the file, all of which exist, from `offset` on over the addresses from
    /// `address` on.
    ///
    /// The file is first mapped at a place of the kernel's choice. A file that refuses to be mapped
    /// (it is sealed against writing, or its device has no mappings) would otherwise leave nothing
    /// at the caller's addresses, and other parts of the process could then map something there.
    /// The mapping that is moved has exactly `shown` bytes, since [`Pages::import`] accepts only
    /// files that are mapped page by page.
    ///
    /// # Safety
    /// The conditions are those of [`Pages::map`].
    unsafe fn map(&self, address: *mut u8, offset: usize, shown: usize) -> Result<(), MapError> {
        if shown == 0 {
            return Ok(());
        }
        let (flags, file) = (libc::MAP_SHARED | libc::MAP_NORESERVE, self.file.as_raw_fd());
        // SAFETY: the mapping is new, at a place of the kernel's choice.
        let place = unsafe { libc::mmap(std::ptr::null_mut(), shown, ACCESS, flags, file, offset as libc::off_t) };
        if place == libc::MAP_FAILED {
            return Err(MapError::Unchanged);
        }
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: the mapping was made above and has no other user. The caller owns the addresses
        // to which it moves, as the `# Safety` section requires.
        let moved = unsafe { libc::mremap(place, shown, shown, flags, address.cast::<libc::c_void>()) };
        if moved == libc::MAP_FAILED {
            // SAFETY: the mapping was made above and has no other user.
            unsafe { libc::munmap(place, shown) };
            return Err(MapError::Lost);
        }
        Ok(())
    }
}

/// Creates a file of `bytes` zeros with a fixed size, so that no mapping of it loses a page.
pub(super) fn memfd(bytes: u64) -> Option<File> {
    // The kernel would send a signal for a larger file.
    if memory_limits::file_size().is_some_and(|most| bytes > most) {
        return None;
    }
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // Kernels may require that the file is never executable; older ones do not know the flag.
    let file = [flags | libc::MFD_NOEXEC_SEAL, flags].into_iter().find_map(|flags| {
        // SAFETY: this makes a descriptor, which only the returned file owns.
        unsafe {
            let fd = libc::memfd_create(c"grus".as_ptr(), flags);
            (fd >= 0).then(|| File::from_raw_fd(fd))
        }
    })?;
    file.set_len(bytes).ok()?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: this changes the seals of the file.
    let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } == 0;
    sealed.then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs [`Pages::new`] in a child process under a limit. Returns the child's wait status: 0 if
    /// a file is created, and the exit code 1 otherwise.
    fn in_child(resource: libc::__rlimit_resource_t, limit: u64) -> i32 {
        // SAFETY: the child at most makes a file, and ends.
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
    fn files_beyond_the_process_limits_are_refused() {
        let refused = 1 << 8;
        assert_eq!(in_child(libc::RLIMIT_FSIZE, 1 << 20), 0);
        assert_eq!(in_child(libc::RLIMIT_FSIZE, (1 << 20) - 1), refused, "no signal");
        assert_eq!(in_child(libc::RLIMIT_NOFILE, 0), refused);
        assert!(Pages::new(Backing::Memfd, usize::MAX).is_none());
    }

    /// Size of the tests' files in bytes.
    const PAGE: usize = 1 << 16;

    /// Creates a memory file with flags, a size and seals.
    fn file(flags: u32, bytes: u64, seals: i32) -> Option<File> {
        // SAFETY: this makes a descriptor, which only the returned file owns, and changes its
        // seals.
        unsafe {
            let fd = libc::memfd_create(c"grus-test".as_ptr(), flags | libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
            let file = (fd >= 0).then(|| File::from_raw_fd(fd))?;
            file.set_len(bytes).expect("bytes");
            assert_eq!(libc::fcntl(fd, libc::F_ADD_SEALS, seals), 0);
            Some(file)
        }
    }

    /// Addresses without access that the test owns.
    struct Window(*mut u8, usize);

    impl Window {
        fn new(bytes: usize) -> Window {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            // SAFETY: the mapping is new.
            let place = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
            assert_ne!(place, libc::MAP_FAILED);
            Window(place.cast(), bytes)
        }

        /// Returns true if every page is mapped, so that no other part of the process can have
        /// mapped something there.
        fn is_whole(&self) -> bool {
            let mut there = vec![0; self.1 / 4096];
            // SAFETY: this queries the pages, and the vector has a byte for each.
            unsafe { libc::mincore(self.0.cast(), self.1, there.as_mut_ptr()) == 0 }
        }
    }

    impl Drop for Window {
        fn drop(&mut self) {
            // SAFETY: the test owns the addresses.
            unsafe { libc::munmap(self.0.cast(), self.1) };
        }
    }

    #[test]
    fn foreign_files_are_mapped_up_to_their_end() {
        for kind in [MemoryHandleKind::Opaque, MemoryHandleKind::DmaBuf] {
            let file = file(0, PAGE as u64, libc::F_SEAL_SHRINK).expect("a file");
            let fd = file.as_raw_fd();
            assert!(Pages::import(fd, kind, PAGE + 1).is_none() && Pages::import(-1, kind, 1).is_none());
            let pages = Pages::import(fd, kind, 100).expect("pages");
            assert!(pages.export(kind).is_some());
            assert_eq!(pages.export(MemoryHandleKind::Opaque).is_some(), kind == MemoryHandleKind::Opaque);
            let window = Window::new(4 * PAGE);
            let (place, all) = (window.0, window.1);
            // SAFETY: the test owns the mapping and uses it only while it exists.
            unsafe {
                assert_eq!(pages.map(place, 0, all), Ok(()));
                place.write(7);
                place.add(all - 1).write(9);
                let mut seen = [0; 1];
                std::os::unix::fs::FileExt::read_exact_at(&file, &mut seen, 0).expect("the file's bytes");
                assert_eq!((seen, place.add(PAGE).read()), ([7], 0));
                // Maps from an offset on, and beyond the end of the file.
                assert_eq!(pages.map(place, PAGE, all), Ok(()));
                assert_eq!(place.read(), 0);
            }
        }
        // A file that can still shrink would end accesses with a signal.
        let open = file(0, PAGE as u64, 0).expect("a file");
        assert!(
            [MemoryHandleKind::Opaque, MemoryHandleKind::DmaBuf].iter().all(|&kind| Pages::import(
                open.as_raw_fd(),
                kind,
                PAGE
            )
            .is_none())
        );
    }

    /// Checks that files of huge pages are refused regardless of their size and seals, because the
    /// kernel rounds their mappings up and provides huge pages only if it finds some.
    #[test]
    fn huge_pages_are_refused() {
        // Kernels without huge pages have no such files.
        let Some(huge) = file(libc::MFD_HUGETLB, 8 << 20, libc::F_SEAL_SHRINK) else { return };
        for kind in [MemoryHandleKind::Opaque, MemoryHandleKind::DmaBuf] {
            for bytes in [1, 1 << 16, 2 << 20, 3 << 20, 8 << 20] {
                assert!(Pages::import(huge.as_raw_fd(), kind, bytes).is_none(), "{bytes}");
            }
        }
        assert_eq!(descriptor::sealed_size(&huge), None);
    }

    /// Checks that addresses stay as they are if a file with the right size and seals still refuses
    /// to be mapped for writing.
    #[test]
    fn a_refused_mapping_keeps_the_addresses() {
        let seals = [libc::F_SEAL_FUTURE_WRITE, libc::F_SEAL_WRITE].map(|seal| seal | libc::F_SEAL_SHRINK);
        for file in seals.map(|seals| file(0, PAGE as u64, seals).expect("a file")) {
            let pages =
                Pages::import(file.as_raw_fd(), MemoryHandleKind::Opaque, PAGE).expect("as many bytes as it says");
            let window = Window::new(2 * PAGE);
            // SAFETY: the test owns the addresses.
            unsafe { assert_eq!(pages.map(window.0, 0, PAGE), Err(MapError::Unchanged)) };
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

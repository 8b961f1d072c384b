//! A page of memory that several processes map: a file without a name ([`super::pages`]), so that
//! one descriptor is all that is exported, and lives as long as any process has it.

use super::descriptor::{self, ExportAttributes, OwnedHandle, RawHandle};
use super::pages::memfd;
use crate::os::counter_page::{CounterPage, PAGE_BYTES};
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// A mapped page.
pub struct SharedPage {
    page: NonNull<CounterPage>,
    file: OwnedHandle,
}

// SAFETY: this object owns the mapping, of which only atomics are used.
unsafe impl Send for SharedPage {}
// SAFETY: all shared access goes through atomics.
unsafe impl Sync for SharedPage {}

impl SharedPage {
    /// Creates a page of zeros. Returns `None` if the kernel refuses a file, a descriptor or a
    /// mapping.
    pub fn new(_attributes: &ExportAttributes) -> Option<SharedPage> {
        SharedPage::map(memfd(PAGE_BYTES as u64)?)
    }

    /// Imports the page behind a descriptor, which is duplicated. Returns `None` if there is none.
    pub fn import(fd: RawHandle) -> Option<SharedPage> {
        let file = descriptor::duplicate(fd)?;
        // The seal guarantees that the page stays under the mapping.
        descriptor::sealed_size(&file).filter(|&size| size >= PAGE_BYTES as u64)?;
        SharedPage::map(file)
    }

    fn map(file: OwnedHandle) -> Option<SharedPage> {
        let (access, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
        // SAFETY: the mapping is new, at a place of the kernel's choice.
        let place = unsafe { libc::mmap(std::ptr::null_mut(), PAGE_BYTES, access, libc::MAP_SHARED, fd, 0) };
        if place == libc::MAP_FAILED {
            return None;
        }
        Some(SharedPage { page: NonNull::new(place.cast())?, file })
    }

    /// Returns a descriptor of the page; `None` if the process may have no more descriptors.
    pub fn export(&self) -> Option<OwnedHandle> {
        descriptor::duplicate(self.file.as_raw_fd())
    }

    /// Wakes the threads of all processes that sleep on a word of the page ([`super::futex`]).
    pub fn wake(word: &AtomicU32) {
        // SAFETY: the kernel looks for waiters at the address; it does not read it.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }
}

impl Deref for SharedPage {
    type Target = CounterPage;

    fn deref(&self) -> &CounterPage {
        // SAFETY: the mapping lives as long as this object, is large enough and aligned, and any
        // bits are valid atomics.
        unsafe { self.page.as_ref() }
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: this object owns the mapping.
        unsafe { libc::munmap(self.page.as_ptr().cast(), PAGE_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn descriptors_of_other_files_are_refused() {
        assert!(SharedPage::import(-1).is_none() && SharedPage::import(1 << 20).is_none(), "no descriptor");
        let small = memfd(64).expect("a file");
        assert!(SharedPage::import(small.as_raw_fd()).is_none());
        let null = File::open("/dev/null").expect("a file");
        assert!(SharedPage::import(null.as_raw_fd()).is_none());
    }
}

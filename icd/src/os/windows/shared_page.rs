//! A page of memory that several processes map: a view of a section of its own. The system has no
//! sleep on words of other processes, so that waiters check the page again and again
//! ([`super::futex::wait_any`]).

use super::descriptor::{ExportAttributes, OwnedHandle, RawHandle};
use super::section::Section;
use crate::os::counter_page::{CounterPage, PAGE_BYTES};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use windows_sys::Win32::System::Memory::{
    FILE_MAP_READ, FILE_MAP_WRITE, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile, UnmapViewOfFile,
};

/// A mapped page.
pub struct SharedPage {
    page: NonNull<CounterPage>,
    section: Section,
}

// SAFETY: this object owns the view, of which only atomics are used.
unsafe impl Send for SharedPage {}
// SAFETY: all shared access goes through atomics.
unsafe impl Sync for SharedPage {}

impl SharedPage {
    /// Creates a page of zeros. Returns `None` if the system refuses, or if the name exists.
    pub fn new(attributes: &ExportAttributes) -> Option<SharedPage> {
        SharedPage::map(Section::new(PAGE_BYTES as u64, attributes)?)
    }

    /// Imports the page behind a handle, which is duplicated. Returns `None` if there is none.
    pub fn import(handle: RawHandle) -> Option<SharedPage> {
        let section = Section::import(handle)?;
        (section.size()? >= PAGE_BYTES as u64).then_some(())?;
        SharedPage::map(section)
    }

    fn map(section: Section) -> Option<SharedPage> {
        // SAFETY: the view is new, at a place of the system's choice.
        let view = unsafe { MapViewOfFile(section.handle(), FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, PAGE_BYTES) };
        Some(SharedPage { page: NonNull::new(view.Value.cast())?, section })
    }

    /// Returns a handle of the page; `None` if the process may have no more handles.
    pub fn export(&self) -> Option<OwnedHandle> {
        self.section.export()
    }

    /// Does nothing, because waiters check the page again and again.
    pub fn wake(_word: &AtomicU32) {}
}

impl Deref for SharedPage {
    type Target = CounterPage;

    fn deref(&self) -> &CounterPage {
        // SAFETY: the view lives as long as this object, is large enough and aligned, and any bits
        // are valid atomics.
        unsafe { self.page.as_ref() }
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: this object owns the view.
        unsafe { UnmapViewOfFile(MEMORY_MAPPED_VIEW_ADDRESS { Value: self.page.as_ptr().cast() }) };
    }
}

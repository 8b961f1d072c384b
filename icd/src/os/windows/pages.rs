//! Pages behind device memory: private memory, or a section (memory that can be mapped several
//! times) of its own for each allocation.

use super::reservation::{replace_with_memory, replace_with_view};
use crate::os::backing::{Backing, MapError, MemoryFdKind};
use base::abi::ADDRESS_GRANULE_BITS;
use std::fs::File;
use std::ptr::{copy_nonoverlapping, null};
use std::sync::Arc;
use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_WRITE, MapViewOfFile, PAGE_READWRITE, UnmapViewOfFile,
};

const GRANULE: usize = 1 << ADDRESS_GRANULE_BITS;

/// Size of the pages that all unbound granules of sparse resources show, in bytes. Each granule is
/// a view of its own, so that a larger size has no advantage.
pub const SINK_BYTES: usize = GRANULE;

/// Pages of an allocation, which are mapped at an address. All bytes are zero at first.
#[derive(Clone, Debug)]
pub enum Pages {
    /// Separate pages for each mapping.
    Anonymous,
    /// Pages that all mappings show.
    Section(Arc<Section>),
}

/// A handle of a section.
#[derive(Debug)]
pub struct Section(HANDLE);

// SAFETY: a handle belongs to the process and not to a thread.
unsafe impl Send for Section {}
// SAFETY: the system's functions on handles may run on several threads at once.
unsafe impl Sync for Section {}

impl Section {
    fn new(bytes: u64) -> Option<Section> {
        let [low, high] = [bytes as u32, (bytes >> 32) as u32];
        // SAFETY: the section is new, and has no name.
        let handle = unsafe { CreateFileMappingW(INVALID_HANDLE_VALUE, null(), PAGE_READWRITE, high, low, null()) };
        (!handle.is_null()).then_some(Section(handle))
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        // SAFETY: the handle is valid, and this is its last use. Views keep the memory.
        unsafe { CloseHandle(self.0) };
    }
}

impl Pages {
    /// Creates `bytes` bytes. Returns `None` if the system refuses.
    pub fn new(backing: Backing, bytes: usize) -> Option<Pages> {
        match backing {
            Backing::Anonymous => Some(Pages::Anonymous),
            Backing::Memfd => Section::new(bytes as u64).map(|section| Pages::Section(Arc::new(section))),
        }
    }

    /// Imports the pages behind a descriptor, of which there are none.
    pub fn import(_fd: i32, _kind: MemoryFdKind, _bytes: usize) -> Option<Pages> {
        None
    }

    /// Writes bytes of a section, which lie in one granule; returns false if the system refuses.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        let Pages::Section(section) = self else { return false };
        let (view_at, at) = (offset & !(GRANULE as u64 - 1), offset as usize % GRANULE);
        if at + bytes.len() > GRANULE {
            return false;
        }
        // SAFETY: the view is new, has a granule of bytes, and is unmapped after its last use.
        unsafe {
            let view = MapViewOfFile(section.0, FILE_MAP_WRITE, (view_at >> 32) as u32, view_at as u32, GRANULE);
            if view.Value.is_null() {
                return false;
            }
            copy_nonoverlapping(bytes.as_ptr(), view.Value.cast::<u8>().add(at), bytes.len());
            UnmapViewOfFile(view);
        }
        true
    }

    /// Returns true for private pages, of which each mapping has its own.
    pub fn are_anonymous(&self) -> bool {
        matches!(self, Pages::Anonymous)
    }

    /// Returns true if several mappings show the same bytes of an allocation of the driver.
    pub fn can_be_mapped_twice(&self) -> bool {
        matches!(self, Pages::Section(_))
    }

    /// Returns a descriptor of the pages, of which there are none.
    pub fn export(&self, _kind: MemoryFdKind) -> Option<File> {
        None
    }

    /// Maps `bytes` bytes from `offset` on over the addresses from `address` on, which the caller
    /// owns. The last granule of private memory is an allocation of its own, because the guard of a
    /// piece stays when its other pages are moved to a section.
    ///
    /// # Errors
    /// The system refuses; the addresses stay reserved.
    ///
    /// # Safety
    /// The addresses are whole granules of a reservation that the caller owns, and nothing accesses
    /// them.
    pub unsafe fn map(&self, address: *mut u8, offset: usize, bytes: usize) -> Result<(), MapError> {
        let mapped = match self {
            Pages::Anonymous => {
                let first = bytes.saturating_sub(GRANULE);
                // SAFETY: both are parts of the addresses that the `# Safety` section covers.
                unsafe {
                    (first == 0 || replace_with_memory(address, first))
                        && replace_with_memory(address.wrapping_add(first), bytes - first)
                }
            }
            // SAFETY: the `# Safety` sections of both functions demand the same.
            Pages::Section(section) => unsafe { replace_with_view(address, section.0, offset, bytes) },
        };
        if mapped { Ok(()) } else { Err(MapError::Unchanged) }
    }

    /// Maps granules as [`Pages::map`] does, so that each can be replaced by other pages while the
    /// others are in use: each is a view of its own.
    ///
    /// # Errors
    /// The errors are those of [`Pages::map`].
    ///
    /// # Safety
    /// The conditions are those of [`Pages::map`].
    pub unsafe fn map_granules(&self, address: *mut u8, offset: usize, bytes: usize) -> Result<(), MapError> {
        (0..bytes).step_by(GRANULE).try_for_each(|at| {
            // SAFETY: this is a part of the addresses that the `# Safety` section covers.
            unsafe { self.map(address.wrapping_add(at), offset + at, GRANULE.min(bytes - at)) }
        })
    }
}

//! Pages behind device memory: private memory, or a section (memory that can be mapped several
//! times) of its own for each allocation.

use super::reservation::{replace_with_memory, replace_with_view};
use super::section::Section;
use crate::os::backing::{Backing, MapError};
use crate::os::descriptor::{ExportAttributes, MemoryHandleKind, OwnedHandle, RawHandle};
use base::abi::ADDRESS_GRANULE_BITS;
use std::ptr::copy_nonoverlapping;
use std::sync::Arc;
use windows_sys::Win32::System::Memory::{FILE_MAP_WRITE, MapViewOfFile, UnmapViewOfFile};

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

impl Pages {
    /// Creates `bytes` bytes. Returns `None` if the system refuses.
    pub fn new(backing: Backing, bytes: usize) -> Option<Pages> {
        match backing {
            Backing::Anonymous => Some(Pages::Anonymous),
            Backing::Memfd => Pages::for_export(bytes, &ExportAttributes::DEFAULT),
        }
    }

    /// Creates `bytes` bytes that can be exported with some attributes. Returns `None` if the
    /// system refuses, or if the name exists.
    pub fn for_export(bytes: usize, attributes: &ExportAttributes) -> Option<Pages> {
        Section::new(bytes as u64, attributes).map(|section| Pages::Section(Arc::new(section)))
    }

    /// Imports the pages behind a handle of a section of the driver (of this process or another
    /// one). The handle is duplicated. Returns `None` unless the section has `bytes` bytes that
    /// stay, and whole granules.
    pub fn import(handle: RawHandle, _kind: MemoryHandleKind, bytes: usize) -> Option<Pages> {
        let section = Section::import(handle)?;
        let size = section.size().filter(|size| size.is_multiple_of(GRANULE as u64))?;
        (size >= bytes as u64).then(|| Pages::Section(Arc::new(section)))
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
            let view = MapViewOfFile(section.handle(), FILE_MAP_WRITE, (view_at >> 32) as u32, view_at as u32, GRANULE);
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

    /// Returns a handle of the section; `None` for private pages, or if the system refuses one.
    pub fn export(&self, _kind: MemoryHandleKind) -> Option<OwnedHandle> {
        match self {
            Pages::Anonymous => None,
            Pages::Section(section) => section.export(),
        }
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
            Pages::Section(section) => unsafe { replace_with_view(address, section.handle(), offset, bytes) },
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

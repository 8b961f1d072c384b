//! Reserved ranges of addresses, and tables.
//!
//! A reservation consists of placeholders: addresses without memory that other parts of the process
//! cannot take. Memory and views replace a placeholder as a whole, and leave a placeholder behind.
//! Placeholders are therefore divided and joined first ([`make_placeholder`]); VirtualQuery says
//! what is where. Windows has placeholders since version 10.0.17134 (2018).

use parking_lot::Mutex;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_MAPPED, MEM_RELEASE, MEM_REPLACE_PLACEHOLDER, MEM_RESERVE, MEMORY_BASIC_INFORMATION,
    MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile3, PAGE_NOACCESS, PAGE_READWRITE, UnmapViewOfFile2, VirtualAlloc,
    VirtualAlloc2, VirtualFree, VirtualQuery,
};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// The flag MEM_RESERVE_PLACEHOLDER of VirtualAlloc2.
const RESERVE_PLACEHOLDER: u32 = 0x4_0000;
/// The flag MEM_COALESCE_PLACEHOLDERS of VirtualFree.
const COALESCE_PLACEHOLDERS: u32 = 1;
/// The flag MEM_PRESERVE_PLACEHOLDER of VirtualFree and UnmapViewOfFile2.
const PRESERVE_PLACEHOLDER: u32 = 2;

/// Lock under which reservations are divided, because each change takes several calls.
static CHANGES: Mutex<()> = Mutex::new(());

fn reserve_placeholder(address: *mut u8, bytes: usize) -> Option<*mut u8> {
    let kind = MEM_RESERVE | RESERVE_PLACEHOLDER;
    // SAFETY: the reservation is new, at a place of the system's choice or at free addresses.
    let place =
        unsafe { VirtualAlloc2(GetCurrentProcess(), address.cast(), bytes, kind, PAGE_NOACCESS, null_mut(), 0) };
    (!place.is_null()).then_some(place.cast())
}

/// Reserves addresses without pages, at a place of the system's choice.
pub fn reserve(bytes: usize) -> Option<*mut u8> {
    reserve_placeholder(null_mut(), bytes)
}

/// Reserves addresses without pages from this address on, if all are free.
pub fn reserve_at(address: usize, bytes: usize) -> Option<*mut u8> {
    reserve_placeholder(address as *mut u8, bytes)
}

/// Pages from an address on with equal properties.
struct Region {
    /// Beginning of the placeholder, the allocation or the view.
    base: usize,
    /// End of the pages.
    end: usize,
    is_placeholder: bool,
    is_view: bool,
}

/// Returns the pages from an address of a reservation on.
fn region(address: usize) -> Option<Region> {
    let mut facts = MEMORY_BASIC_INFORMATION::default();
    // SAFETY: the call writes the structure.
    let written = unsafe { VirtualQuery(address as *const c_void, &raw mut facts, size_of_val(&facts)) };
    (written == size_of_val(&facts)).then(|| Region {
        base: facts.AllocationBase as usize,
        end: facts.BaseAddress as usize + facts.RegionSize,
        is_placeholder: facts.State == MEM_RESERVE,
        is_view: facts.State == MEM_COMMIT && facts.Type == MEM_MAPPED,
    })
}

/// Frees addresses in one of the ways that placeholders have.
///
/// # Safety
/// The caller owns the addresses, and nothing uses them.
unsafe fn free(address: usize, bytes: usize, how: u32) -> bool {
    // SAFETY: the caller owns the addresses, as the `# Safety` section requires.
    unsafe { VirtualFree(address as *mut c_void, bytes, MEM_RELEASE | how) != 0 }
}

/// Makes exactly these addresses one placeholder, whatever they show. Returns false if the system
/// refuses. Must be called under the lock [`CHANGES`].
///
/// # Safety
/// The caller owns the addresses, and nothing uses them. They contain each allocation and each view
/// as a whole or not at all.
unsafe fn make_placeholder(address: usize, bytes: usize) -> bool {
    let end = address + bytes;
    let mut at = address;
    while at < end {
        let Some(found) = region(at) else { return false };
        // SAFETY: allocations and views here belong to the caller, as the `# Safety` section
        // requires.
        let freed = match found {
            Region { is_placeholder: true, end, .. } => {
                at = end;
                true
            }
            Region { is_view: true, base, .. } => unsafe {
                let view = MEMORY_MAPPED_VIEW_ADDRESS { Value: base as *mut c_void };
                UnmapViewOfFile2(GetCurrentProcess(), view, PRESERVE_PLACEHOLDER) != 0
            },
            // All pages of an allocation have equal properties.
            Region { base, end, .. } => unsafe { free(base, end - base, PRESERVE_PLACEHOLDER) },
        };
        if !freed {
            return false;
        }
    }
    let (Some(first), Some(last)) = (region(address), region(end - 1)) else { return false };
    // SAFETY: the addresses are placeholders of the caller.
    unsafe {
        (first.base == address || free(address, end.min(first.end) - address, PRESERVE_PLACEHOLDER))
            && (last.end == end || {
                let start = last.base.max(address);
                // The first division may have made this one.
                region(start).is_some_and(|part| part.base == start && part.end == end)
                    || free(start, end - start, PRESERVE_PLACEHOLDER)
            })
            && region(address).is_some_and(|part| part.end == end || free(address, bytes, COALESCE_PLACEHOLDERS))
    }
}

/// Replaces what some addresses show by new private memory. Returns false if the system refuses.
///
/// # Safety
/// The addresses are whole granules of a reservation that the caller owns, and nothing uses them.
pub unsafe fn replace_with_memory(address: *mut u8, bytes: usize) -> bool {
    let _changes = CHANGES.lock();
    let kind = MEM_RESERVE | MEM_COMMIT | MEM_REPLACE_PLACEHOLDER;
    // SAFETY: the caller owns the addresses, as the `# Safety` section requires.
    unsafe {
        make_placeholder(address as usize, bytes)
            && !VirtualAlloc2(GetCurrentProcess(), address.cast(), bytes, kind, PAGE_READWRITE, null_mut(), 0).is_null()
    }
}

/// Replaces what some addresses show by a view of a section. Returns false if the system refuses.
///
/// # Safety
/// The addresses are whole granules of a reservation that the caller owns, and nothing uses them.
pub unsafe fn replace_with_view(address: *mut u8, section: HANDLE, offset: usize, bytes: usize) -> bool {
    let _changes = CHANGES.lock();
    let (process, kind) = (
        // SAFETY: the function only returns a number.
        unsafe { GetCurrentProcess() },
        MEM_REPLACE_PLACEHOLDER,
    );
    // SAFETY: the caller owns the addresses, as the `# Safety` section requires.
    unsafe {
        make_placeholder(address as usize, bytes)
            && !MapViewOfFile3(
                section,
                process,
                address.cast(),
                offset as u64,
                bytes,
                kind,
                PAGE_READWRITE,
                null_mut(),
                0,
            )
            .Value
            .is_null()
    }
}

/// Makes the pages of a part of a reservation free, whatever it shows. Returns false if the system
/// refuses.
///
/// # Safety
/// The addresses are whole granules of a reservation that the caller owns, and nothing uses them.
pub unsafe fn reset(address: *mut u8, bytes: usize) -> bool {
    let _changes = CHANGES.lock();
    // SAFETY: the caller owns the addresses, as the `# Safety` section requires.
    unsafe { make_placeholder(address as usize, bytes) }
}

/// Ends a reservation.
///
/// # Safety
/// The addresses are a whole reservation, and nothing uses them.
pub unsafe fn release(address: *mut u8, bytes: usize) {
    let _changes = CHANGES.lock();
    // SAFETY: the caller owns the reservation, as the `# Safety` section requires. If its parts
    // cannot be joined, the addresses stay reserved.
    unsafe {
        if make_placeholder(address as usize, bytes) {
            free(address as usize, 0, 0);
        }
    }
}

/// Returns a table of zeros.
pub fn make_table(bytes: usize) -> Option<*mut u8> {
    // SAFETY: the memory is new, at a place of the system's choice.
    let place = unsafe { VirtualAlloc(null(), bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) };
    (!place.is_null()).then_some(place.cast())
}

/// Frees a table.
///
/// # Safety
/// [`make_table`] has made the table, and nothing uses it.
pub unsafe fn release_table(address: *mut u8, _bytes: usize) {
    // SAFETY: the caller owns the table, as the `# Safety` section requires.
    unsafe { free(address as usize, 0, 0) };
}

/// Asks for huge pages, which Windows gives only to programs with a privilege.
///
/// # Safety
/// The addresses are mapped, and the caller owns them.
pub unsafe fn prefer_huge_pages(_address: *mut u8, _bytes: usize) {}

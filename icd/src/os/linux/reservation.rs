//! Reserved ranges of addresses, and tables.

use std::ptr::null_mut;

/// Makes an anonymous mapping, of which the kernel commits pages when they are touched.
fn map(address: *mut u8, bytes: usize, access: i32, fixed: i32) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    // SAFETY: the mapping is a new anonymous one, at a place of the kernel's choice or over a part
    // of a reservation that the caller owns.
    let place = unsafe { libc::mmap(address.cast(), bytes, access, flags, -1, 0) };
    (place != libc::MAP_FAILED).then_some(place.cast())
}

/// Reserves addresses without pages, at a place of the kernel's choice.
pub fn reserve(bytes: usize) -> Option<*mut u8> {
    map(null_mut(), bytes, libc::PROT_NONE, 0)
}

/// Reserves addresses without pages from this address on, if all are free.
pub fn reserve_at(address: usize, bytes: usize) -> Option<*mut u8> {
    let place = map(address as *mut u8, bytes, libc::PROT_NONE, libc::MAP_FIXED_NOREPLACE)?;
    if place as usize == address {
        return Some(place);
    }
    // Kernels that do not know the flag take the address as a hint. SAFETY: the range was mapped
    // just now, and nothing uses it.
    unsafe { release(place, bytes) };
    None
}

/// Makes the pages of a part of a reservation free, whatever it shows. Returns false if the kernel
/// refuses; other parts of the process may then have mapped something there.
///
/// # Safety
/// The addresses are whole pages of a reservation that the caller owns, and nothing uses them.
pub unsafe fn reset(address: *mut u8, bytes: usize) -> bool {
    map(address, bytes, libc::PROT_NONE, libc::MAP_FIXED).is_some()
}

/// Ends a reservation.
///
/// # Safety
/// The addresses are a whole reservation, and nothing uses them.
pub unsafe fn release(address: *mut u8, bytes: usize) {
    // SAFETY: the caller owns the reservation, as the `# Safety` section requires.
    unsafe { libc::munmap(address.cast(), bytes) };
}

/// Returns a table of zeros, which takes memory where it is touched.
pub fn make_table(bytes: usize) -> Option<*mut u8> {
    map(null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, 0)
}

/// Frees a table.
///
/// # Safety
/// [`make_table`] has made the table, and nothing uses it.
pub unsafe fn release_table(address: *mut u8, bytes: usize) {
    // SAFETY: the caller owns the table, as the `# Safety` section requires.
    unsafe { libc::munmap(address.cast(), bytes) };
}

/// Asks for huge pages. It is advice: a kernel without huge pages declines.
///
/// # Safety
/// The addresses are mapped, and the caller owns them.
pub unsafe fn prefer_huge_pages(address: *mut u8, bytes: usize) {
    // SAFETY: the caller owns the addresses, as the `# Safety` section requires; no byte changes.
    unsafe { libc::madvise(address.cast(), bytes, libc::MADV_HUGEPAGE) };
}

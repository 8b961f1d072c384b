//! The file from which this library was loaded.

use std::ffi::{c_int, c_void};

/// Returns bytes that differ between builds: the linker's build id note of this library if there is
/// one, so that the same file installed on two machines has one identity, else the file's size and
/// time. Returns `None` if none of these is known.
pub fn identity() -> Option<Vec<u8>> {
    note().or_else(file_stamp)
}

/// Returns size and modification time of the file that this code was loaded from.
fn file_stamp() -> Option<Vec<u8>> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address lies in this library, `info` has space for the answer, and zeroes are a
    // valid `Dl_info`.
    let name = unsafe {
        if libc::dladdr(identity as *const c_void, info.as_mut_ptr()) == 0 || (*info.as_ptr()).dli_fname.is_null() {
            return None;
        }
        std::ffi::CStr::from_ptr((*info.as_ptr()).dli_fname)
    };
    let metadata = std::fs::metadata(name.to_str().ok()?).ok()?;
    let time = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some([metadata.len().to_le_bytes(), (time.as_nanos() as u64).to_le_bytes()].concat())
}

/// Returns the NT_GNU_BUILD_ID note of the loaded object that holds this code.
fn note() -> Option<Vec<u8>> {
    let mut search = Search { address: identity as *const () as u64, found: None };
    // SAFETY: the callback gets the pointer to `search` during this call only.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

struct Search {
    address: u64,
    found: Option<Vec<u8>>,
}

/// Takes the build id of the loaded object that holds the searched address.
///
/// # Safety
/// Must be called by `dl_iterate_phdr` with a pointer to a [`Search`].
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid `info`; `search` points to a [`Search`], as the
    // `# Safety` section demands.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: `dl_iterate_phdr` gives the address and number of the loaded object's program
    // headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let holds = |h: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr.wrapping_add(h.p_vaddr);
        h.p_type == libc::PT_LOAD && (start..start.wrapping_add(h.p_memsz)).contains(&search.address)
    };
    if !headers.iter().any(holds) {
        return 0;
    }
    for header in headers.iter().filter(|h| h.p_type == libc::PT_NOTE) {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr) as *const u8;
        // SAFETY: a note segment is mapped as long as its object is loaded.
        let bytes = unsafe { std::slice::from_raw_parts(start, header.p_memsz as usize) };
        if let Some(id) = gnu_build_id(bytes) {
            search.found = Some(id.to_vec());
        }
    }
    1
}

/// Finds the build id in a note segment.
fn gnu_build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: u32 = 3;
    loop {
        let word = |i: usize| notes.get(i * 4..i * 4 + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let (name, desc, kind) = (word(0)? as usize, word(1)? as usize, word(2)?);
        let desc_at = 12usize.checked_add(name.checked_next_multiple_of(4)?)?;
        let end = desc_at.checked_add(desc)?;
        if kind == NT_GNU_BUILD_ID && notes.get(12..12 + name)? == b"GNU\0" {
            return notes.get(desc_at..end);
        }
        notes = notes.get(end.checked_next_multiple_of(4)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_parser() {
        let mut notes = Vec::new();
        for (kind, desc) in [(1u32, &b"abcde"[..]), (3, b"0123456789abcdef0123")] {
            notes.extend([4u32, desc.len() as u32, kind].iter().flat_map(|w| w.to_le_bytes()));
            notes.extend(b"GNU\0");
            notes.extend(desc);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        assert_eq!(gnu_build_id(&notes), Some(&b"0123456789abcdef0123"[..]));
        for cut in 0..notes.len() {
            assert_eq!(gnu_build_id(&notes[..cut]), None);
        }
    }
}

//! Executable memory: never writable and executable at once, and freed when the last user of a
//! piece drops it.
//!
//! Pieces are whole pages inside regions of 1 MiB, so that thousands of pipelines need only a few
//! kernel mappings. Pages of a piece are made writable, filled, and made executable before any
//! other thread learns their address; other pieces of the region are not touched. The pages of a
//! freed piece return to the kernel at once; an empty region is unmapped.

use super::coherence;
use parking_lot::Mutex;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const REGION: usize = 1 << 20;

/// Returns the bytes of a page: 4 KiB, or up to 64 KiB on AArch64.
fn page() -> usize {
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    let known = PAGE.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    // SAFETY: `sysconf` only returns a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(REGION);
    PAGE.store(page, Ordering::Relaxed);
    page
}

struct CodeRegion {
    base: usize,
    pages: usize,
    /// One flag per page.
    used: Vec<bool>,
}

static REGIONS: Mutex<Vec<CodeRegion>> = Mutex::new(Vec::new());

impl CodeRegion {
    fn find(&self, pages: usize) -> Option<usize> {
        let mut run = 0;
        for (i, &used) in self.used.iter().enumerate() {
            run = if used { 0 } else { run + 1 };
            if run == pages {
                return Some(i + 1 - pages);
            }
        }
        None
    }
}

/// Returns true if the system lets this process make executable memory. This is a trial that takes
/// some microseconds; it is not repeated once it has succeeded.
pub fn can_execute() -> bool {
    static HAS_SUCCEEDED: AtomicBool = AtomicBool::new(false);
    if HAS_SUCCEEDED.load(Ordering::Relaxed) {
        return true;
    }
    let can = ExecutableCode::new(&[0]).is_some();
    HAS_SUCCEEDED.store(can, Ordering::Relaxed);
    can
}

/// A piece of executable memory.
#[derive(Debug)]
pub struct ExecutableCode {
    start: NonNull<u8>,
    pages: usize,
    length: usize,
}

// SAFETY: the bytes are immutable while the value lives.
unsafe impl Send for ExecutableCode {}
// SAFETY: the bytes are immutable while the value lives.
unsafe impl Sync for ExecutableCode {}

impl ExecutableCode {
    /// Copies code into executable memory; `None` when the kernel gives no memory.
    pub fn new(code: &[u8]) -> Option<ExecutableCode> {
        let pages = code.len().div_ceil(page()).max(1);
        let start = reserve(pages)?;
        let piece = ExecutableCode { start, pages, length: code.len() };
        // SAFETY: the pages are reserved for this piece alone, and no other thread has their
        // address yet; they are mapped and at least `code.len()` long.
        let ready = unsafe {
            protect(start, pages, libc::PROT_READ | libc::PROT_WRITE) && {
                core::ptr::copy_nonoverlapping(code.as_ptr(), start.as_ptr(), code.len());
                protect(start, pages, libc::PROT_READ | libc::PROT_EXEC)
            }
        };
        if !ready {
            return None;
        }
        coherence::publish(piece.bytes());
        Some(piece)
    }

    /// Returns the address of the first byte.
    pub fn address(&self) -> *const u8 {
        self.start.as_ptr()
    }

    /// Returns the bytes of the code.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `length` bytes were copied there; the pages stay readable and unchanged while the
        // value lives.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl Drop for ExecutableCode {
    fn drop(&mut self) {
        let page = page();
        let address = self.start.as_ptr() as usize;
        let mut regions = REGIONS.lock();
        let Some(index) = regions.iter().position(|r| (r.base..r.base + r.pages * page).contains(&address)) else {
            return;
        };
        let region = &mut regions[index];
        let first = (address - region.base) / page;
        region.used[first..first + self.pages].fill(false);
        if region.used.contains(&true) {
            // SAFETY: the pages belong to this piece, which is being dropped, so that no thread
            // runs it.
            unsafe { libc::madvise(self.start.as_ptr().cast(), self.pages * page, libc::MADV_DONTNEED) };
        } else {
            let region = regions.swap_remove(index);
            // SAFETY: `map_region` mapped the region, and no piece of it is left.
            unsafe { libc::munmap(region.base as *mut _, region.pages * page) };
        }
    }
}

/// Sets the protection of whole pages.
///
/// # Safety
/// The pages are mapped; if execution is taken away, no thread runs them.
unsafe fn protect(start: NonNull<u8>, pages: usize, access: i32) -> bool {
    // SAFETY: the pages are mapped and not run if they lose execution, as the `# Safety` section
    // demands.
    unsafe { libc::mprotect(start.as_ptr().cast(), pages * page(), access) == 0 }
}

fn reserve(pages: usize) -> Option<NonNull<u8>> {
    let mut regions = REGIONS.lock();
    let found = regions.iter().enumerate().find_map(|(i, r)| r.find(pages).map(|first| (i, first)));
    let (index, first) = match found {
        Some(found) => found,
        None => {
            regions.push(map_region(pages.max(REGION / page()))?);
            (regions.len() - 1, 0)
        }
    };
    let region = &mut regions[index];
    region.used[first..first + pages].fill(true);
    NonNull::new((region.base + first * page()) as *mut u8)
}

fn map_region(pages: usize) -> Option<CodeRegion> {
    // SAFETY: a new anonymous mapping without access.
    let base = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        libc::mmap(std::ptr::null_mut(), pages * page(), libc::PROT_NONE, flags, -1, 0)
    };
    (base != libc::MAP_FAILED).then(|| CodeRegion { base: base as usize, pages, used: vec![false; pages] })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the code `mov eax, imm32; ret`.
    #[cfg(target_arch = "x86_64")]
    fn returns(value: u32) -> Vec<u8> {
        let mut code = vec![0xb8];
        code.extend(value.to_le_bytes());
        code.push(0xc3);
        code
    }

    /// Returns the code `movz w0, #low; movk w0, #high, lsl 16; ret`.
    #[cfg(target_arch = "aarch64")]
    fn returns(value: u32) -> Vec<u8> {
        let words = [0x5280_0000 | (value & 0xffff) << 5, 0x72a0_0000 | (value >> 16) << 5, 0xd65f_03c0];
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    fn call(code: &ExecutableCode) -> u32 {
        coherence::observe();
        // SAFETY: the bytes are code of a function of this type, which `returns` makes.
        let function: extern "C" fn() -> u32 = unsafe { core::mem::transmute(code.address()) };
        function()
    }

    #[test]
    fn freed_pages_are_reused() {
        let mut alive = Vec::new();
        for i in 0..20_000u32 {
            let code = ExecutableCode::new(&returns(i)).expect("memory");
            assert_eq!(call(&code), i);
            if i % 7 == 0 {
                alive.push((i, code));
            }
            if alive.len() > 300 {
                alive.remove((i as usize * 31) % 300);
            }
        }
        for (i, code) in &alive {
            assert_eq!(call(code), *i);
        }
        assert!(REGIONS.lock().len() <= 6, "pieces were not reused");
    }

    #[test]
    fn memory_is_never_writable_and_executable() {
        let _code = ExecutableCode::new(&vec![0x90; 3 * page()]).expect("memory");
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        assert!(!maps.lines().any(|line| line.contains("rwx")), "{maps}");
    }
}

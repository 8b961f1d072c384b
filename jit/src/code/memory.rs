//! Executable memory: never writable and executable at once, and freed when the last user of a
//! piece drops it.
//!
//! Pieces are whole pages inside regions of 1 MiB, so that thousands of pipelines need only a few
//! kernel mappings. Pages of a piece are made writable, filled, and made executable before any
//! other thread learns their address; other pieces of the region are not touched. The pages of a
//! freed piece return to the kernel at once; an empty region is unmapped.
//!
//! A `cranelift_jit::JITModule` gets the memory of its function through [`CodeSlot`]; all other
//! code is copied by [`ExecutableCode::new`].

use super::coherence;
use base::os::{commit_pages, discard_pages, make_pages_executable, page_size, release_pages, reserve_pages};
use cranelift_jit::{BranchProtection, JITMemoryKind, JITMemoryProvider};
use cranelift_module::{ModuleError, ModuleResult};
use parking_lot::Mutex;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const REGION: usize = 1 << 20;

struct CodeRegion {
    base: NonNull<u8>,
    pages: usize,
    /// One flag per page.
    used: Vec<bool>,
}

static REGIONS: Mutex<Vec<CodeRegion>> = Mutex::new(Vec::new());

// SAFETY: a region is addresses, which belong to no thread.
unsafe impl Send for CodeRegion {}

impl CodeRegion {
    fn start(&self) -> usize {
        self.base.as_ptr() as usize
    }

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

/// Whole pages of a region, which return to it when the value is dropped.
#[derive(Debug)]
struct Pages {
    start: NonNull<u8>,
    count: usize,
}

// SAFETY: `reserve` gives pages to one value only, which may be on any thread.
unsafe impl Send for Pages {}
// SAFETY: a shared reference gives no access but reading.
unsafe impl Sync for Pages {}

impl Pages {
    fn bytes(&self) -> usize {
        self.count * page_size()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let page = page_size();
        let address = self.start.as_ptr() as usize;
        let mut regions = REGIONS.lock();
        let Some(index) = regions.iter().position(|r| (r.start()..r.start() + r.pages * page).contains(&address))
        else {
            return;
        };
        let region = &mut regions[index];
        let first = (address - region.start()) / page;
        region.used[first..first + self.count].fill(false);
        if region.used.contains(&true) {
            // SAFETY: the pages belong to this value, which is being dropped, so that no thread
            // runs or reads them.
            unsafe { discard_pages(self.start, self.bytes()) };
        } else {
            let region = regions.swap_remove(index);
            // SAFETY: `map_region` reserved the region, and no piece of it is left.
            unsafe { release_pages(region.base, region.pages * page) };
        }
    }
}

/// Memory for a piece of code that is being written: writable, and not executable.
#[derive(Debug)]
pub struct WritableCode {
    pages: Pages,
    length: usize,
}

impl WritableCode {
    /// Returns memory for a number of bytes, which are 0; `None` when the kernel gives no memory.
    pub fn new(length: usize) -> Option<WritableCode> {
        let count = length.div_ceil(page_size()).max(1);
        let pages = Pages { start: reserve(count)?, count };
        // SAFETY: the pages are new: there is no reference to their bytes, and no thread runs them.
        unsafe { commit_pages(pages.start, pages.bytes()) }.then_some(WritableCode { pages, length })
    }

    /// Returns the bytes of the code.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the pages are mapped, writable, at least `length` bytes long and initialized,
        // because new pages and those that were discarded are 0; `self` owns them.
        unsafe { core::slice::from_raw_parts_mut(self.pages.start.as_ptr(), self.length) }
    }

    /// Makes the code executable and no longer writable; `None` when the kernel refuses.
    pub fn publish(self) -> Option<ExecutableCode> {
        // SAFETY: `self` is the only value with the address of the pages, so that there is no
        // reference to them, and reading stays allowed.
        if !unsafe { make_pages_executable(self.pages.start, self.pages.bytes()) } {
            return None;
        }
        let code = ExecutableCode { pages: self.pages, length: self.length };
        coherence::publish(code.bytes());
        Some(code)
    }
}

/// A piece of executable memory.
#[derive(Debug)]
pub struct ExecutableCode {
    pages: Pages,
    length: usize,
}

impl ExecutableCode {
    /// Copies code into executable memory; `None` when the kernel gives no memory.
    pub fn new(code: &[u8]) -> Option<ExecutableCode> {
        let mut memory = WritableCode::new(code.len())?;
        memory.bytes().copy_from_slice(code);
        memory.publish()
    }

    /// Returns the address of the first byte.
    pub fn address(&self) -> *const u8 {
        self.pages.start.as_ptr()
    }

    /// Returns the bytes of the code.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the pages have at least `length` bytes, which are initialized (see
        // `WritableCode::bytes`) and stay readable and unchanged while the value lives.
        unsafe { core::slice::from_raw_parts(self.pages.start.as_ptr(), self.length) }
    }
}

/// The memory of the one function that a `cranelift_jit::JITModule` defines. Clones share it: one
/// is the module's memory provider, from the other the finalized code is taken.
#[derive(Clone, Debug, Default)]
pub struct CodeSlot(Arc<Mutex<SlotState>>);

#[derive(Debug, Default)]
enum SlotState {
    #[default]
    Empty,
    /// The function is defined. The module has the address, and writes there before it finalizes.
    Defined(WritableCode),
    Finalized(ExecutableCode),
}

impl CodeSlot {
    /// Takes the code that the module has finalized; `None` if there is none.
    pub fn take(&self) -> Option<ExecutableCode> {
        match std::mem::take(&mut *self.0.lock()) {
            SlotState::Finalized(code) => Some(code),
            SlotState::Empty | SlotState::Defined(_) => None,
        }
    }
}

impl JITMemoryProvider for CodeSlot {
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        let mut state = self.0.lock();
        // A module has one function and no data. Pieces begin with a page.
        if !matches!((&*state, kind), (SlotState::Empty, JITMemoryKind::Executable)) || align > page_size() as u64 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut code = WritableCode::new(size).ok_or(io::ErrorKind::OutOfMemory)?;
        let address = code.bytes().as_mut_ptr();
        *state = SlotState::Defined(code);
        Ok(address)
    }

    unsafe fn free_memory(&mut self) {
        *self.0.lock() = SlotState::Empty;
    }

    fn finalize(&mut self, protection: BranchProtection) -> ModuleResult<()> {
        let refused = |kind: io::ErrorKind| ModuleError::Allocation { err: kind.into() };
        // The targets do not request it (`cranelift::isa`).
        if protection != BranchProtection::None {
            return Err(refused(io::ErrorKind::Unsupported));
        }
        let mut state = self.0.lock();
        *state = match std::mem::take(&mut *state) {
            SlotState::Defined(code) => {
                SlotState::Finalized(code.publish().ok_or_else(|| refused(io::ErrorKind::OutOfMemory))?)
            }
            other => other,
        };
        Ok(())
    }
}

fn reserve(pages: usize) -> Option<NonNull<u8>> {
    let mut regions = REGIONS.lock();
    let found = regions.iter().enumerate().find_map(|(i, r)| r.find(pages).map(|first| (i, first)));
    let (index, first) = match found {
        Some(found) => found,
        None => {
            regions.push(map_region(pages.max(REGION / page_size()))?);
            (regions.len() - 1, 0)
        }
    };
    let region = &mut regions[index];
    region.used[first..first + pages].fill(true);
    NonNull::new((region.start() + first * page_size()) as *mut u8)
}

fn map_region(pages: usize) -> Option<CodeRegion> {
    Some(CodeRegion { base: reserve_pages(pages * page_size())?, pages, used: vec![false; pages] })
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
        unsafe {
            let function: base::code_type!(unsafe extern "code" fn() -> u32) = core::mem::transmute(code.address());
            function()
        }
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
    fn a_slot_has_one_function_that_is_writable_until_it_is_finalized() {
        let slot = CodeSlot::default();
        let mut provider = slot.clone();
        let code = returns(5);
        let address = provider.allocate(code.len(), 16, JITMemoryKind::Executable).expect("memory");
        assert!(provider.allocate(1, 1, JITMemoryKind::Executable).is_err(), "a second function");
        assert!(CodeSlot::default().allocate(1, 1, JITMemoryKind::Writable).is_err(), "data");
        // SAFETY: `allocate` returned writable memory of this length.
        unsafe { core::ptr::copy_nonoverlapping(code.as_ptr(), address, code.len()) };
        provider.finalize(BranchProtection::None).expect("executable memory");
        let code = slot.take().expect("code");
        assert_eq!((code.address(), call(&code)), (address.cast_const(), 5));
        assert!(slot.take().is_none());
        provider.allocate(1, 1, JITMemoryKind::Executable).expect("memory");
        assert!(slot.take().is_none(), "code that is not finalized");
    }

    #[test]
    #[cfg(unix)] // The list of mappings is a file of Linux.
    fn memory_is_never_writable_and_executable() {
        let _written = WritableCode::new(1).expect("memory");
        let _code = ExecutableCode::new(&vec![0x90; 3 * page_size()]).expect("memory");
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        assert!(!maps.lines().any(|line| line.contains("rwx")), "{maps}");
    }
}

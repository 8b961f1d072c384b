//! Services of Windows.

use super::ThreadWork;
use core::ffi::c_void;
use std::io;
use std::ptr::{NonNull, null, null_mut};
use windows_sys::Win32::Foundation::{CloseHandle, HANDLE};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_DECOMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_EXECUTE_READ, PAGE_NOACCESS, PAGE_READWRITE, VirtualAlloc,
    VirtualFree, VirtualProtect,
};
use windows_sys::Win32::System::Threading::{
    CreateThread, GetCurrentProcessorNumber, GetCurrentThread, GetCurrentThreadStackLimits, INFINITE,
    SetThreadDescription, WaitForSingleObject,
};

/// Returns the bytes of a page, which are the same on all processors that Windows runs on.
pub fn page_size() -> usize {
    4096
}

/// Reserves addresses that cannot be accessed; `None` if there are none.
pub fn reserve_pages(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: a new reservation at a place of the system's choice.
    NonNull::new(unsafe { VirtualAlloc(null(), bytes, MEM_RESERVE, PAGE_NOACCESS) }.cast())
}

/// Makes reserved pages readable and writable; their bytes are zero if they are new or were
/// discarded. Returns false if the system refuses.
///
/// # Safety
/// The pages are a part of a reservation that the caller owns; no thread runs code in them.
pub unsafe fn commit_pages(start: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: the caller owns the pages, as the `# Safety` section requires.
    !unsafe { VirtualAlloc(start.as_ptr().cast(), bytes, MEM_COMMIT, PAGE_READWRITE) }.is_null()
}

/// Makes committed pages readable and executable, and no longer writable. Returns false if the
/// system refuses.
///
/// # Safety
/// The pages are a part of a reservation that the caller owns; no reference exists through which
/// they are written.
pub unsafe fn make_pages_executable(start: NonNull<u8>, bytes: usize) -> bool {
    let mut before = 0;
    // SAFETY: the caller owns the pages, as the `# Safety` section requires.
    unsafe { VirtualProtect(start.as_ptr().cast(), bytes, PAGE_EXECUTE_READ, &raw mut before) != 0 }
}

/// Returns the memory of some pages to the system. They are committed again before their next use.
///
/// # Safety
/// The pages are a part of a reservation that the caller owns, and nothing uses them.
pub unsafe fn discard_pages(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller owns the pages, as the `# Safety` section requires.
    unsafe { VirtualFree(start.as_ptr().cast(), bytes, MEM_DECOMMIT) };
}

/// Ends a reservation.
///
/// # Safety
/// The pages are those that [`reserve_pages`] has returned, and nothing uses them.
pub unsafe fn release_pages(start: NonNull<u8>, _bytes: usize) {
    // SAFETY: the caller owns the reservation, as the `# Safety` section requires.
    unsafe { VirtualFree(start.as_ptr().cast(), 0, MEM_RELEASE) };
}

/// Returns the memory of zero-initialized data of the library to the system, where the system
/// can do this; the bytes stay accessible, and have any values. Windows cannot, because such
/// data belongs to the file of the library.
///
/// # Safety
/// The bytes are whole pages of such data, and nothing uses them.
pub unsafe fn discard_data(_start: *mut u8, _bytes: usize) {}

/// Calls a function in every child of the process that is forked from now on. Windows does not
/// fork processes.
pub fn call_in_forked_children(_function: extern "C" fn()) {}

/// Returns the processor on which this thread runs, whose caches have what the thread has just
/// written. The thread may move to another processor at any time.
pub fn current_processor() -> usize {
    // SAFETY: the function has no arguments and no requirements.
    unsafe { GetCurrentProcessorNumber() as usize }
}

/// Names this thread.
pub fn name_thread(name: &str) {
    let text: Vec<u16> = name.encode_utf16().chain([0]).collect();
    // SAFETY: the arguments are this thread and a string, which ends with a zero.
    unsafe { SetThreadDescription(GetCurrentThread(), text.as_ptr()) };
}

/// A thread. If the value is dropped, the thread continues alone.
pub struct Thread(HANDLE);

// SAFETY: a handle belongs to the process and not to a thread.
unsafe impl Send for Thread {}
// SAFETY: a shared reference gives no access to the handle.
unsafe impl Sync for Thread {}

unsafe extern "system" fn run(work: *mut c_void) -> u32 {
    // SAFETY: `start_thread` made the pointer by `Box::into_raw`, for this thread alone.
    let work = unsafe { Box::from_raw(work.cast::<ThreadWork>()) };
    work();
    0
}

/// Starts a thread with `stack` bytes of stack, all of which is committed, so that no access to it
/// can fail later for lack of memory.
///
/// # Errors
/// The system grants no thread (limits, memory).
pub fn start_thread(stack: usize, work: ThreadWork) -> io::Result<Thread> {
    let argument = Box::into_raw(Box::new(work));
    // SAFETY: the argument belongs to the new thread, or to this function if no thread was created.
    unsafe {
        let thread = CreateThread(null(), stack, Some(run), argument.cast(), 0, null_mut());
        if thread.is_null() {
            let error = io::Error::last_os_error();
            drop(Box::from_raw(argument));
            return Err(error);
        }
        Ok(Thread(thread))
    }
}

impl Thread {
    /// Waits for the thread's end.
    pub fn join(self) {
        // SAFETY: the handle is valid until the value is dropped.
        unsafe { WaitForSingleObject(self.0, INFINITE) };
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: the handle is valid, and this is its last use.
        unsafe { CloseHandle(self.0) };
    }
}

/// Number of bytes at the end of a stack that cannot be used: its guard, and what the system
/// needs to report an overflow.
const GUARD: usize = 32 << 10;

/// Returns the lowest usable address of this thread's stack.
pub fn stack_limit() -> usize {
    let (mut lowest, mut highest) = (0, 0);
    // SAFETY: the call writes both numbers.
    unsafe { GetCurrentThreadStackLimits(&raw mut lowest, &raw mut highest) };
    lowest + GUARD
}

/// Returns the usable bits of CPUID leaves if the C library reports them, which none does here.
#[cfg(target_arch = "x86_64")]
pub fn active_cpuid_leaves() -> Option<[[u32; 4]; 3]> {
    None
}

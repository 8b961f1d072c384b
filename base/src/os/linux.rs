//! Services of Linux and its C library.

use super::ThreadWork;
use core::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the bytes of a page: 4 KiB, or up to 64 KiB on AArch64.
pub fn page_size() -> usize {
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    let known = PAGE.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    // SAFETY: `sysconf` only returns a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(64 << 10);
    PAGE.store(page, Ordering::Relaxed);
    page
}

/// Reserves addresses that cannot be accessed; `None` if there are none.
pub fn reserve_pages(bytes: usize) -> Option<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous mapping without access.
    let base = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED)
}

/// Makes reserved pages readable and writable; their bytes are zero if they are new or were
/// discarded. Returns false if the system refuses.
///
/// # Safety
/// The pages are a part of a reservation that the caller owns; no thread runs code in them.
pub unsafe fn commit_pages(start: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: the caller owns the pages, as the `# Safety` section requires.
    unsafe { libc::mprotect(start.as_ptr().cast(), bytes, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}

/// Makes committed pages readable and executable, and no longer writable. Returns false if the
/// system refuses.
///
/// # Safety
/// The pages are a part of a reservation that the caller owns; no reference exists through which
/// they are written.
pub unsafe fn make_pages_executable(start: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: the caller owns the pages, as the `# Safety` section requires.
    unsafe { libc::mprotect(start.as_ptr().cast(), bytes, libc::PROT_READ | libc::PROT_EXEC) == 0 }
}

/// Returns the memory of some pages to the system. They are committed again before their next use.
///
/// # Safety
/// The pages are a part of a reservation that the caller owns, and nothing uses them.
pub unsafe fn discard_pages(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller owns the pages, as the `# Safety` section requires.
    unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_DONTNEED) };
}

/// Ends a reservation.
///
/// # Safety
/// The pages are those that [`reserve_pages`] has returned, and nothing uses them.
pub unsafe fn release_pages(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller owns the pages, as the `# Safety` section requires.
    unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
}

/// Returns the memory of zero-initialized data of the library to the system, where the system
/// can do this; the bytes stay accessible, and have any values.
///
/// # Safety
/// The bytes are whole pages of such data, and nothing uses them.
pub unsafe fn discard_data(start: *mut u8, bytes: usize) {
    // SAFETY: nothing uses the pages, as the `# Safety` section requires.
    unsafe { libc::madvise(start.cast(), bytes, libc::MADV_DONTNEED) };
}

/// Calls a function in every child of the process that is forked from now on. If there is no memory
/// for the registration, it is not called.
pub fn call_in_forked_children(function: extern "C" fn()) {
    // SAFETY: the function needs nothing, and is part of a library that stays loaded.
    unsafe { libc::pthread_atfork(None, None, Some(function)) };
}

/// Returns the processor on which this thread runs, whose caches have what the thread has just
/// written. The thread may move to another processor at any time.
pub fn current_processor() -> usize {
    // SAFETY: the function has no arguments and no requirements.
    usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// Names this thread; the kernel keeps 15 bytes.
pub fn name_thread(name: &str) {
    let mut text = [0u8; 16];
    let length = name.len().min(text.len() - 1);
    text[..length].copy_from_slice(&name.as_bytes()[..length]);
    // SAFETY: the arguments are this thread and a string, which ends with a zero.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), text.as_ptr().cast()) };
}

/// A thread. If the value is dropped, the thread continues alone.
pub struct Thread(libc::pthread_t);

extern "C" fn run(work: *mut c_void) -> *mut c_void {
    // SAFETY: `start_thread` made the pointer by `Box::into_raw`, for this thread alone.
    let work = unsafe { Box::from_raw(work.cast::<ThreadWork>()) };
    work();
    null_mut()
}

/// Starts a thread with `stack` bytes of stack, which receives no signal of the application.
///
/// # Errors
/// The system grants no thread (limits, seccomp, memory).
pub fn start_thread(stack: usize, work: ThreadWork) -> io::Result<Thread> {
    // The new thread inherits the signal mask.
    let _blocked = BlockedSignals::new();
    let argument = Box::into_raw(Box::new(work));
    // SAFETY: attributes are initialised before they are used. The argument belongs to the new
    // thread, or to this function if no thread was created.
    unsafe {
        let (mut attributes, mut thread) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let mut error = libc::pthread_attr_init(attributes.as_mut_ptr());
        if error == 0 {
            error = libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack);
            if error == 0 {
                error = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, argument.cast());
            }
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
        if error != 0 {
            drop(Box::from_raw(argument));
            return Err(io::Error::from_raw_os_error(error));
        }
        Ok(Thread(thread.assume_init()))
    }
}

impl Thread {
    /// Waits for the thread's end.
    pub fn join(self) {
        let thread = std::mem::ManuallyDrop::new(self);
        // SAFETY: the thread is neither joined nor detached yet, and `drop`, which would detach it,
        // does not run.
        unsafe { libc::pthread_join(thread.0, null_mut()) };
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: the thread is not joined, because `join` does not drop the value.
        unsafe { libc::pthread_detach(self.0) };
    }
}

/// Signals that a fault of the thread itself raises; blocking them would end the process without
/// its handlers.
const SYNCHRONOUS: [i32; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];

/// A guard that blocks asynchronous signals in this thread while it is alive.
struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    fn new() -> BlockedSignals {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: `sigfillset` initialises `all` before it is read, and
        // `pthread_sigmask` initialises `before` (it cannot fail with these arguments).
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            SYNCHRONOUS.iter().for_each(|&signal| {
                libc::sigdelset(all.as_mut_ptr(), signal);
            });
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            BlockedSignals { before: before.assume_init() }
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the mask was initialised when signals were blocked.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, null_mut()) };
    }
}

/// Largest number of bytes that is assumed of a main thread's stack, which grows as long as no
/// other mapping is in its way.
const MAX_MAIN_STACK: usize = 8 << 20;
/// Number of bytes at the end of a main thread's stack that are not used.
const MAIN_STACK_MARGIN: usize = 64 << 10;

/// Returns the lowest usable address of this thread's stack; `usize::MAX` if it is unknown.
pub fn stack_limit() -> usize {
    // SAFETY: both calls return a number of this process.
    let is_main = unsafe { libc::gettid() == libc::getpid() };
    if is_main { main_thread_stack_limit() } else { thread_stack_limit() }
}

/// Returns the lowest address of the main thread's stack. Its top is where the kernel has put the
/// program's name, and its size is a limit. (The C library reads all mappings instead.)
fn main_thread_stack_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the first call writes the structure, and the second returns a number.
    let (told, top) =
        unsafe { (libc::getrlimit(libc::RLIMIT_STACK, &mut limit) == 0, libc::getauxval(libc::AT_EXECFN)) };
    let size = usize::try_from(limit.rlim_cur).unwrap_or(MAX_MAIN_STACK).min(MAX_MAIN_STACK);
    if told && top != 0 { (top as usize).saturating_sub(size) + MAIN_STACK_MARGIN } else { usize::MAX }
}

/// Returns the lowest address of another thread's stack, as the C library has created it.
fn thread_stack_limit() -> usize {
    let mut attributes = MaybeUninit::uninit();
    let (mut address, mut size) = (null_mut(), 0);
    // SAFETY: the first call initialises `attributes`, if it succeeds, and they are destroyed after
    // their last use.
    let known = unsafe {
        libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 && {
            let known = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut address, &raw mut size) == 0;
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            known
        }
    };
    if known { address as usize } else { usize::MAX }
}

/// The type `struct cpuid_feature` of glibc: the registers of a leaf, and the bits of them that
/// programs may use.
#[cfg(target_arch = "x86_64")]
#[repr(C)]
struct CpuidLeaf {
    cpuid: [u32; 4],
    active: [u32; 4],
}

/// Returns the usable bits of the leaves 0, 1 and 2 of glibc's `sys/platform/x86.h`, each of four
/// registers (EAX, EBX, ECX, EDX), if the C library is one that reports them.
#[cfg(target_arch = "x86_64")]
pub fn active_cpuid_leaves() -> Option<[[u32; 4]; 3]> {
    // SAFETY: the name is a C string.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__x86_get_cpuid_feature_leaf".as_ptr()) };
    // SAFETY: glibc's function of that name has this type in all versions; a null pointer is
    // `None`.
    let leaf = unsafe {
        core::mem::transmute::<*mut libc::c_void, Option<unsafe extern "C" fn(u32) -> *const CpuidLeaf>>(address)
    }?;
    Some([0, 1, 2].map(|number| {
        // SAFETY: the function accepts any number; its result is null or lives as long as the
        // process.
        unsafe { leaf(number).as_ref() }.map_or([0; 4], |leaf| leaf.active)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::{SMALL_STACK, spawn};

    fn is_blocked(signal: i32) -> bool {
        let mut mask = MaybeUninit::uninit();
        // SAFETY: without a new mask, `pthread_sigmask` only initialises `mask`.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
            libc::sigismember(mask.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn threads_have_a_name_and_take_no_signals() {
        let terminate = is_blocked(libc::SIGTERM);
        let inside = spawn("test", SMALL_STACK, || {
            let mut name = [0u8; 16];
            // SAFETY: the arguments are this thread and a buffer that is large enough for any name.
            unsafe { libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), name.len()) };
            let blocked = [libc::SIGTERM, libc::SIGPROF, libc::SIGSEGV].map(is_blocked);
            (name[..5] == *b"test\0", blocked)
        });
        let inside = inside.expect("a thread").join().expect("no panic");
        assert_eq!(inside, (true, [true, true, false]));
        assert_eq!(is_blocked(libc::SIGTERM), terminate, "the caller's mask is as it was");
    }

    #[test]
    fn a_forked_child_is_another_process() {
        let home = crate::fork::OriginProcess::current();
        assert!(home.is_current());
        // SAFETY: the child only reads a number and exits.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::_exit(if home.is_current() { 1 } else { 7 });
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert_eq!(libc::WEXITSTATUS(status), 7);
        }
        assert!(home.is_current());
    }
}

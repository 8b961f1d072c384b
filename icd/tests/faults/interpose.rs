//! The C library's functions as the driver sees them: any call of the driver can be made to fail.
//!
//! An executable's functions have precedence over the C library's for every library that is loaded
//! later. Each one here is a few instructions that pass on its return address; a call counts if
//! that address is in the driver.

#![allow(non_camel_case_types, reason = "C's names")]

use libc::{c_char, c_int, c_long, c_uint, c_void, off_t, size_t, ssize_t};
use std::arch::naked_asm;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// An operation that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Allocation,
    Mapping,
    Protection,
    Thread,
    File,
    Socket,
}

/// All operations, with their names for the command line.
pub const OPERATIONS: [(Operation, &str); 6] = [
    (Operation::Allocation, "allocation"),
    (Operation::Mapping, "mapping"),
    (Operation::Protection, "protection"),
    (Operation::Thread, "thread"),
    (Operation::File, "file"),
    (Operation::Socket, "socket"),
];

static DRIVER: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
static CALLS: [AtomicU64; OPERATIONS.len()] = [const { AtomicU64::new(0) }; OPERATIONS.len()];
/// First call of each operation that fails, and the first one after it that does not.
static FAILING: [[AtomicU64; 2]; OPERATIONS.len()] = [const { [const { AtomicU64::new(0) }; 2] }; OPERATIONS.len()];
/// Number of allocations that the driver has.
static BLOCKS: AtomicI64 = AtomicI64::new(0);
/// Number of bytes that the driver has mapped.
static MAPPED: AtomicI64 = AtomicI64::new(0);

/// Sets the address range of the driver's code.
pub fn watch(start: usize, end: usize) {
    DRIVER[0].store(start, Relaxed);
    DRIVER[1].store(end, Relaxed);
}

/// Makes calls from `first` (counted from 0) on fail, `count` of them.
pub fn fail(operation: Operation, first: u64, count: u64) {
    let [from, to] = &FAILING[operation as usize];
    from.store(first, Relaxed);
    to.store(first.saturating_add(count), Relaxed);
}

/// Makes all calls work again.
pub fn heal() {
    OPERATIONS.iter().for_each(|(operation, _)| fail(*operation, 0, 0));
}

/// Returns the number of calls so far.
pub fn calls(operation: Operation) -> u64 {
    CALLS[operation as usize].load(Relaxed)
}

/// Returns the number of allocations and mapped bytes that the driver has.
pub fn live() -> [i64; 2] {
    [BLOCKS.load(Relaxed), MAPPED.load(Relaxed)]
}

fn from_driver(caller: usize) -> bool {
    (DRIVER[0].load(Relaxed)..DRIVER[1].load(Relaxed)).contains(&caller)
}

/// Counts a call and returns whether it has to fail.
fn fails(operation: Operation, caller: usize, error: c_int) -> bool {
    if !from_driver(caller) {
        return false;
    }
    let number = CALLS[operation as usize].fetch_add(1, Relaxed);
    let [from, to] = &FAILING[operation as usize];
    let fails = number >= from.load(Relaxed) && number < to.load(Relaxed);
    if fails {
        trace(operation, number);
        // SAFETY: `errno` belongs to the calling thread.
        unsafe { *libc::__errno_location() = error };
    }
    fails
}

/// Prints the stack of a failing call on request.
fn trace(operation: Operation, number: u64) {
    static READS_ENVIRONMENT: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: the name is a constant string.
    if READS_ENVIRONMENT.load(Relaxed) == 1 || unsafe { libc::getenv(c"GRUS_FAULTS_TRACE".as_ptr()) }.is_null() {
        return;
    }
    READS_ENVIRONMENT.store(1, Relaxed);
    eprintln!("{operation:?} {number} fails:\n{}", std::backtrace::Backtrace::force_capture());
    READS_ENVIRONMENT.store(0, Relaxed);
}

unsafe extern "C" {
    fn __libc_malloc(size: size_t) -> *mut c_void;
    fn __libc_calloc(count: size_t, size: size_t) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: size_t) -> *mut c_void;
    fn __libc_memalign(align: size_t, size: size_t) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

fn gained(block: *mut c_void, caller: usize) -> *mut c_void {
    if !block.is_null() && from_driver(caller) {
        BLOCKS.fetch_add(1, Relaxed);
    }
    block
}

/// Defines a function of the C library and its replacement. `$register` is the first argument
/// register that the function does not use (by x86-64's name, `aarch64` has the others): it
/// receives the address of the caller. `stack` means that the function uses all of x86-64's
/// argument registers.
macro_rules! interpose {
    ($($register:tt fn $name:ident => $inner:ident($($arg:ident: $ty:ty),*; $caller:ident) -> $ret:ty $body:block)*) => { $(
        interpose!(@shim $register $name $inner ($($ty),*) $ret);
        unsafe extern "C" fn $inner($($arg: $ty,)* $caller: usize) -> $ret {
            // SAFETY: the arguments are the driver's or this program's, as for the C library's
            // function.
            unsafe { $body }
        }
    )* };
    (@aarch64 rsi) => { "x1" };
    (@aarch64 rdx) => { "x2" };
    (@aarch64 rcx) => { "x3" };
    (@aarch64 r8) => { "x4" };
    (@aarch64 stack) => { "x6" };
    (@shim $register:tt $name:ident $inner:ident ($($ty:ty),*) $ret:ty) => {
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($(_: $ty),*) -> $ret {
            naked_asm!(concat!("mov ", interpose!(@aarch64 $register), ", x30"), "b {inner}", inner = sym $inner)
        }
        #[cfg(target_arch = "x86_64")]
        interpose!(@x86_64 $register $name $inner ($($ty),*) $ret);
    };
    (@x86_64 stack $name:ident $inner:ident ($($ty:ty),*) $ret:ty) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($(_: $ty),*) -> $ret {
            naked_asm!("push qword ptr [rsp]", "call {inner}", "add rsp, 8", "ret", inner = sym $inner)
        }
    };
    (@x86_64 $register:tt $name:ident $inner:ident ($($ty:ty),*) $ret:ty) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($(_: $ty),*) -> $ret {
            naked_asm!(concat!("mov ", stringify!($register), ", [rsp]"), "jmp {inner}", inner = sym $inner)
        }
    };
}

interpose! {
    rsi fn malloc => malloc_for(size: size_t; caller) -> *mut c_void {
        if fails(Operation::Allocation, caller, libc::ENOMEM) { null_mut() } else { gained(__libc_malloc(size), caller) }
    }

    rdx fn calloc => calloc_for(count: size_t, size: size_t; caller) -> *mut c_void {
        if fails(Operation::Allocation, caller, libc::ENOMEM) { null_mut() } else { gained(__libc_calloc(count, size), caller) }
    }

    rdx fn realloc => realloc_for(block: *mut c_void, size: size_t; caller) -> *mut c_void {
        if fails(Operation::Allocation, caller, libc::ENOMEM) {
            return null_mut();
        }
        if block.is_null() { gained(__libc_realloc(block, size), caller) } else { __libc_realloc(block, size) }
    }

    rdx fn aligned_alloc => aligned_alloc_for(align: size_t, size: size_t; caller) -> *mut c_void {
        if fails(Operation::Allocation, caller, libc::ENOMEM) { null_mut() } else { gained(__libc_memalign(align, size), caller) }
    }

    rcx fn posix_memalign => posix_memalign_for(out: *mut *mut c_void, align: size_t, size: size_t; caller) -> c_int {
        if fails(Operation::Allocation, caller, libc::ENOMEM) {
            return libc::ENOMEM;
        }
        *out = gained(__libc_memalign(align, size), caller);
        if (*out).is_null() { libc::ENOMEM } else { 0 }
    }

    rsi fn free => free_for(block: *mut c_void; caller) -> () {
        if !block.is_null() && from_driver(caller) {
            BLOCKS.fetch_sub(1, Relaxed);
        }
        __libc_free(block)
    }

    stack fn mmap => mmap_for(
        address: *mut c_void, length: size_t, access: c_int, flags: c_int, fd: c_int, offset: off_t; caller
    ) -> *mut c_void {
        if fails(Operation::Mapping, caller, libc::ENOMEM) {
            return libc::MAP_FAILED;
        }
        let place = libc::syscall(libc::SYS_mmap, address, length, access, flags, fd, offset) as *mut c_void;
        // A mapping over existing ones adds no bytes.
        if from_driver(caller) && place != libc::MAP_FAILED && flags & libc::MAP_FIXED == 0 {
            MAPPED.fetch_add(length as i64, Relaxed);
        }
        place
    }

    rdx fn munmap => munmap_for(address: *mut c_void, length: size_t; caller) -> c_int {
        let result = libc::syscall(libc::SYS_munmap, address, length) as c_int;
        if from_driver(caller) && result == 0 {
            MAPPED.fetch_sub(length as i64, Relaxed);
        }
        result
    }

    rcx fn mprotect => mprotect_for(address: *mut c_void, length: size_t, access: c_int; caller) -> c_int {
        if fails(Operation::Protection, caller, libc::ENOMEM) { return -1 }
        libc::syscall(libc::SYS_mprotect, address, length, access) as c_int
    }

    r8 fn pthread_create => pthread_create_for(
        thread: *mut c_void, attributes: *const c_void, start: *mut c_void, argument: *mut c_void; caller
    ) -> c_int {
        if fails(Operation::Thread, caller, libc::EAGAIN) { return libc::EAGAIN }
        type Create = unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void, *mut c_void) -> c_int;
        let next = libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr());
        std::mem::transmute::<*mut c_void, Create>(next)(thread, attributes, start, argument)
    }

    rdx fn memfd_create => memfd_create_for(name: *const c_char, flags: c_uint; caller) -> c_int {
        if fails(Operation::File, caller, libc::EMFILE) { return -1 }
        libc::syscall(libc::SYS_memfd_create, name, flags) as c_int
    }

    rdx fn ftruncate64 => ftruncate_for(fd: c_int, length: off_t; caller) -> c_int {
        if fails(Operation::File, caller, libc::ENOSPC) { return -1 }
        libc::syscall(libc::SYS_ftruncate, fd, length) as c_int
    }

    rcx fn open64 => open_for(path: *const c_char, flags: c_int, mode: c_uint; caller) -> c_int {
        if fails(Operation::File, caller, libc::EMFILE) { return -1 }
        libc::syscall(libc::SYS_openat, libc::AT_FDCWD as c_long, path, flags, mode) as c_int
    }

    rcx fn read => read_for(fd: c_int, buffer: *mut c_void, length: size_t; caller) -> ssize_t {
        if fails(Operation::File, caller, libc::EIO) { return -1 }
        libc::syscall(libc::SYS_read, fd, buffer, length) as ssize_t
    }

    rcx fn socket => socket_for(domain: c_int, kind: c_int, protocol: c_int; caller) -> c_int {
        if fails(Operation::Socket, caller, libc::EMFILE) { return -1 }
        libc::syscall(libc::SYS_socket, domain, kind, protocol) as c_int
    }

    rcx fn connect => connect_for(fd: c_int, address: *const c_void, length: c_uint; caller) -> c_int {
        if fails(Operation::Socket, caller, libc::ECONNREFUSED) { return -1 }
        libc::syscall(libc::SYS_connect, fd, address, length) as c_int
    }

    r8 fn send => send_for(fd: c_int, bytes: *const c_void, length: size_t, flags: c_int; caller) -> ssize_t {
        if fails(Operation::Socket, caller, libc::EPIPE) { return -1 }
        libc::syscall(libc::SYS_sendto, fd, bytes, length, flags, 0usize, 0usize) as ssize_t
    }

    rcx fn sendmsg => sendmsg_for(fd: c_int, message: *const c_void, flags: c_int; caller) -> ssize_t {
        if fails(Operation::Socket, caller, libc::EPIPE) { return -1 }
        libc::syscall(libc::SYS_sendmsg, fd, message, flags) as ssize_t
    }

    rcx fn recvmsg => recvmsg_for(fd: c_int, message: *mut c_void, flags: c_int; caller) -> ssize_t {
        if fails(Operation::Socket, caller, libc::ECONNRESET) { return -1 }
        libc::syscall(libc::SYS_recvmsg, fd, message, flags) as ssize_t
    }
}

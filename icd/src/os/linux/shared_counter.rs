//! A number that several processes see, with waits for its change: the payload of a semaphore or a
//! fence that was exported as a file descriptor.
//!
//! The number lies in a file without a name ([`super::pages`]), so that one descriptor is all
//! that is exported, and lives as long as any process has it. A waiter sleeps in the kernel on a
//! word of the file ([`super::futex`]), so a change in one process wakes those of all other
//! processes.
//!
//! Other processes may end at any time. A process that is going to change the number first
//! announces this with its identity ([`SharedCounter::promise`]). A waiter that has slept for
//! [`OWNER_CHECK_PERIOD`] checks whether that process still exists, and otherwise keeps the promise
//! in its place, as kernels do for the fences of ended processes. Other processes may write
//! anything: nothing here is an address, a length or a lock. Processes of another PID namespace
//! cannot be checked, so a wait for them has no bound.

use super::descriptor;
use super::pages::memfd;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Time asleep after which a waiter checks the process that it waits for.
pub const OWNER_CHECK_PERIOD: Duration = Duration::from_millis(100);

const PAGE_BYTES: usize = 4096;
/// The letters "Grus" and the version of [`CounterPage`].
const MAGIC: u64 = u64::from_le_bytes(*b"GrusSem1");

/// Layout of the beginning of the file.
#[repr(C)]
struct CounterPage {
    magic: AtomicU64,
    /// Kind of the number, as its owner defines it.
    kind: AtomicU32,
    /// Number of changes, on which sleepers wait.
    changes: AtomicU32,
    value: AtomicU64,
    /// Value that was promised.
    promised: AtomicU64,
    /// Identity ([`identity`]) of the process that made the last promise, or 0.
    promise_owner: AtomicU64,
    sleepers: AtomicU32,
}

/// A number in memory that several processes map.
pub struct SharedCounter {
    page: NonNull<CounterPage>,
    file: File,
    /// Number of promises of this object that are neither kept nor broken.
    promises: AtomicU32,
}

// SAFETY: this object owns the mapping, of which only atomics are used.
unsafe impl Send for SharedCounter {}
// SAFETY: all shared access goes through atomics.
unsafe impl Sync for SharedCounter {}

impl SharedCounter {
    /// Creates a number of a kind. Returns `None` if the kernel refuses a file, a descriptor or a
    /// mapping.
    pub fn new(kind: u32, value: u64) -> Option<SharedCounter> {
        let shared = SharedCounter::map(memfd(PAGE_BYTES as u64)?)?;
        let page = shared.page();
        page.kind.store(kind, Ordering::Relaxed);
        page.value.store(value, Ordering::Relaxed);
        page.magic.store(MAGIC, Ordering::Release);
        Some(shared)
    }

    /// Imports the number behind a descriptor, which is duplicated. Returns `None` if it is not a
    /// number of this kind.
    pub fn import(fd: i32, kind: u32) -> Option<SharedCounter> {
        let file = descriptor::duplicate(fd)?;
        // The seal guarantees that the page stays under the mapping.
        descriptor::sealed_size(&file).filter(|&size| size >= PAGE_BYTES as u64)?;
        let shared = SharedCounter::map(file)?;
        let page = shared.page();
        let known = page.magic.load(Ordering::Acquire) == MAGIC && page.kind.load(Ordering::Relaxed) == kind;
        known.then_some(shared)
    }

    fn map(file: File) -> Option<SharedCounter> {
        let (access, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
        // SAFETY: the mapping is new, at a place of the kernel's choice.
        let place = unsafe { libc::mmap(std::ptr::null_mut(), PAGE_BYTES, access, libc::MAP_SHARED, fd, 0) };
        if place == libc::MAP_FAILED {
            return None;
        }
        Some(SharedCounter { page: NonNull::new(place.cast())?, file, promises: AtomicU32::new(0) })
    }

    fn page(&self) -> &CounterPage {
        // SAFETY: the mapping lives as long as this object, is large enough and aligned, and any
        // bits are valid atomics.
        unsafe { self.page.as_ref() }
    }

    /// Returns a descriptor of the same number; `None` if the process may have no more descriptors.
    pub fn export(&self) -> Option<File> {
        descriptor::duplicate(self.file.as_raw_fd())
    }

    /// Returns the value of the number.
    pub fn value(&self) -> u64 {
        self.page().value.load(Ordering::SeqCst)
    }

    /// Sets the value and wakes waiters.
    pub fn set(&self, value: u64) {
        self.page().value.store(value, Ordering::SeqCst);
        self.wake();
    }

    /// Changes the value from `from` to `to` if it is `from`. Wakes no waiter, because this takes a
    /// signal away.
    pub fn take(&self, from: u64, to: u64) -> bool {
        self.page().value.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn wake(&self) {
        let page = self.page();
        page.changes.fetch_add(1, Ordering::SeqCst);
        if page.sleepers.load(Ordering::SeqCst) != 0 {
            // SAFETY: the kernel looks for waiters at the address; it does not read it.
            unsafe { libc::syscall(libc::SYS_futex, page.changes.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
        }
    }

    /// Returns the word on which to sleep.
    pub(super) fn futex(&self) -> *mut u32 {
        self.page().changes.as_ptr()
    }

    /// Returns the number of changes. A waiter reads it before it reads the value, and passes it to
    /// the sleep.
    pub fn changes(&self) -> u32 {
        self.page().changes.load(Ordering::SeqCst)
    }

    /// Notes that a thread sleeps, or does not any more. A sleeper that dies stays counted, which
    /// costs later changes a system call.
    pub fn set_sleeping(&self, on: bool) {
        let sleepers = &self.page().sleepers;
        if on {
            sleepers.fetch_add(1, Ordering::SeqCst)
        } else {
            sleepers.fetch_sub(1, Ordering::SeqCst)
        };
    }

    /// Announces that this process is going to set the number to `value` or more.
    pub fn promise(&self, value: u64) {
        self.promises.fetch_add(1, Ordering::SeqCst);
        self.page().promised.fetch_max(value, Ordering::SeqCst);
        self.page().promise_owner.store(identity(), Ordering::SeqCst);
    }

    /// Notes that one promise was kept, or will not be.
    pub fn finish_promise(&self) {
        if self.promises.fetch_sub(1, Ordering::SeqCst) == 1 {
            let _ = self.page().promise_owner.compare_exchange(identity(), 0, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// Checks the process that made the last promise, and keeps the promise if the process is gone.
    pub fn check_promise_owner(&self) {
        let page = self.page();
        let promise_owner = page.promise_owner.load(Ordering::SeqCst);
        if promise_owner == 0 || is_alive(promise_owner) {
            return;
        }
        if page.promise_owner.compare_exchange(promise_owner, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            page.value.fetch_max(page.promised.load(Ordering::SeqCst), Ordering::SeqCst);
            self.wake();
        }
    }
}

impl Drop for SharedCounter {
    fn drop(&mut self) {
        // SAFETY: this object owns the mapping.
        unsafe { libc::munmap(self.page.as_ptr().cast(), PAGE_BYTES) };
    }
}

/// Number of bits of a process number in an identity; the first clock tick and the PID namespace
/// follow.
const PID_BITS: u32 = 22;
const TICK_BITS: u32 = 26;

/// Returns the identity of this process in one word, so that no reader sees parts of two. A process
/// number may be reused, but not in the same tick.
fn identity() -> u64 {
    static IDENTITY: OnceLock<u64> = OnceLock::new();
    *IDENTITY.get_or_init(|| {
        let pid = std::process::id();
        // Without `/proc` the process number is the whole identity.
        let (_, tick) = process_state(pid).unwrap_or_default();
        pack(pid, tick)
    })
}

fn pack(pid: u32, tick: u64) -> u64 {
    u64::from(pid) & ((1 << PID_BITS) - 1)
        | (tick & ((1 << TICK_BITS) - 1)) << PID_BITS
        | namespace() << (PID_BITS + TICK_BITS)
}

/// Returns the low bits of the inode of this process's PID namespace; 0 if it is unknown.
fn namespace() -> u64 {
    static NAMESPACE: OnceLock<u64> = OnceLock::new();
    *NAMESPACE.get_or_init(|| {
        let file = std::fs::metadata("/proc/self/ns/pid");
        file.map_or(0, |file| std::os::unix::fs::MetadataExt::ino(&file) & 0xffff)
    })
}

/// Returns a process's state (a letter of `/proc/PID_BITS/stat`) and the clock tick in which it
/// began.
fn process_state(pid: u32) -> Option<(u8, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the process, in parentheses, may contain any character.
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// Returns false if the process is certainly gone.
fn is_alive(identity: u64) -> bool {
    if identity >> (PID_BITS + TICK_BITS) != namespace() {
        return true;
    }
    let pid = (identity & ((1 << PID_BITS) - 1)) as u32;
    match process_state(pid) {
        // The process has ended, though its parent has not waited for it yet.
        Some((b'Z' | b'X', _)) => false,
        Some((_, tick)) => pack(pid, tick) == identity,
        None => {
            // SAFETY: signal 0 only checks whether the process exists.
            let answer = unsafe { libc::kill(pid as libc::pid_t, 0) };
            answer == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_imports_share_one_counter() {
        let one = SharedCounter::new(3, 7).expect("a file");
        let file = one.export().expect("a descriptor");
        let two = SharedCounter::import(file.as_raw_fd(), 3).expect("the same");
        drop(file);
        assert_eq!(two.value(), 7);
        let seen = one.changes();
        two.set(9);
        assert_eq!((one.value(), one.changes() != seen), (9, true));
        assert!(one.take(9, 0) && !two.take(9, 1));
        drop(one);
        assert_eq!(two.value(), 0);
    }

    #[test]
    fn descriptors_of_other_kinds_are_refused() {
        let one = SharedCounter::new(3, 7).expect("a file");
        assert!(SharedCounter::import(one.file.as_raw_fd(), 4).is_none(), "another kind");
        assert!(SharedCounter::import(-1, 3).is_none() && SharedCounter::import(1 << 20, 3).is_none(), "no descriptor");
        let zeros = memfd(PAGE_BYTES as u64).expect("a file");
        assert!(SharedCounter::import(zeros.as_raw_fd(), 0).is_none(), "a file of zeros");
        let small = memfd(64).expect("a file");
        assert!(SharedCounter::import(small.as_raw_fd(), 0).is_none());
        let null = File::open("/dev/null").expect("a file");
        assert!(SharedCounter::import(null.as_raw_fd(), 0).is_none());
    }

    /// Checks that a promise of an ended child is kept. The child is not waited for before the
    /// check.
    #[test]
    fn promises_of_ended_processes_are_kept() {
        let number = SharedCounter::new(1, 0).expect("a file");
        number.promise(1);
        number.check_promise_owner();
        assert_eq!(number.value(), 0, "this process lives");
        number.finish_promise();
        assert_eq!(number.page().promise_owner.load(Ordering::SeqCst), 0);
        // SAFETY: the child writes a word of the mapping and ends.
        let child = unsafe {
            let child = libc::fork();
            if child == 0 {
                let (_, tick) = process_state(std::process::id()).unwrap_or_default();
                number.page().promised.store(1, Ordering::SeqCst);
                number.page().promise_owner.store(pack(std::process::id(), tick), Ordering::SeqCst);
                libc::_exit(0);
            }
            child
        };
        let began = std::time::Instant::now();
        while number.value() == 0 && began.elapsed() < Duration::from_secs(10) {
            number.check_promise_owner();
        }
        assert_eq!(number.value(), 1);
        // SAFETY: this waits for the child.
        assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
        assert!(!is_alive(pack(child as u32, 0)), "a number without a process");
    }
}

//! A number that several processes see, with waits for its change: what a semaphore or a fence is that was given away by file descriptor.
//!
//! It lies in a file without a name ([`super::backing`]), so that one descriptor is all there is to give, and lives as long as anybody has it.
//! Who waits sleeps in the kernel on a word of the file ([`super::condvar`]), so a change in one process wakes those of all others.
//!
//! Nobody else can be trusted to live. Whoever is going to change the number says so first ([`Shared::promise`]), with the identity of
//! its process; a waiter that has slept for [`LOOK`] looks whether that process is still there, and keeps the promise in its place if not, as kernels
//! do for the fences of processes that end. Other processes may write anything: nothing here is an address, a length or a lock.
//! Processes of another PID namespace cannot be looked for; who waits for those waits as long as they like.

use super::backing::memfd;
use super::descriptor;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Time asleep after which a waiter looks for whom it waits for.
pub const LOOK: Duration = Duration::from_millis(100);

const BYTES: usize = 4096;
/// "Grus" and the version of [`Words`].
const MAGIC: u64 = u64::from_le_bytes(*b"GrusSem1");

/// What the file begins with.
#[repr(C)]
struct Words {
    magic: AtomicU64,
    /// What the number is, in its owner's words.
    kind: AtomicU32,
    /// Changes of the number, for sleepers.
    changes: AtomicU32,
    value: AtomicU64,
    /// The value that has been promised.
    promised: AtomicU64,
    /// Who promised it last ([`identity`]), or 0.
    promiser: AtomicU64,
    sleepers: AtomicU32,
}

/// See the module header.
pub struct Shared {
    words: NonNull<Words>,
    file: File,
    /// Promises of this object that are neither kept nor broken.
    promises: AtomicU32,
}

// SAFETY: a mapping that this object owns, of which only atomics are used.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// A number of a kind. None where the kernel refuses a file, a descriptor or a mapping.
    pub fn new(kind: u32, value: u64) -> Option<Shared> {
        let shared = Shared::map(memfd(BYTES as u64)?)?;
        let words = shared.words();
        words.kind.store(kind, Ordering::Relaxed);
        words.value.store(value, Ordering::Relaxed);
        words.magic.store(MAGIC, Ordering::Release);
        Some(shared)
    }

    /// The number behind a descriptor, of which a duplicate is made. None if it is none of this kind.
    pub fn import(fd: i32, kind: u32) -> Option<Shared> {
        let file = descriptor::duplicate(fd)?;
        // Nobody can take the page away under the mapping.
        descriptor::sealed_size(&file).filter(|&size| size >= BYTES as u64)?;
        let shared = Shared::map(file)?;
        let words = shared.words();
        let known = words.magic.load(Ordering::Acquire) == MAGIC && words.kind.load(Ordering::Relaxed) == kind;
        known.then_some(shared)
    }

    fn map(file: File) -> Option<Shared> {
        let (access, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
        // SAFETY: a new mapping at a place of the kernel's choice.
        let place = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, libc::MAP_SHARED, fd, 0) };
        if place == libc::MAP_FAILED {
            return None;
        }
        Some(Shared { words: NonNull::new(place.cast())?, file, promises: AtomicU32::new(0) })
    }

    fn words(&self) -> &Words {
        // SAFETY: the mapping lives as long as this, is large enough and aligned, and any bits are valid atomics.
        unsafe { self.words.as_ref() }
    }

    /// A descriptor of the same number; None when the process may have no more.
    pub fn export(&self) -> Option<File> {
        descriptor::duplicate(self.file.as_raw_fd())
    }

    /// The number.
    pub fn value(&self) -> u64 {
        self.words().value.load(Ordering::SeqCst)
    }

    /// Another number, and who waits is woken.
    pub fn set(&self, value: u64) {
        self.words().value.store(value, Ordering::SeqCst);
        self.wake();
    }

    /// From one number to another, if it is that one. Wakes nobody: it takes something away.
    pub fn take(&self, from: u64, to: u64) -> bool {
        self.words().value.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn wake(&self) {
        let words = self.words();
        words.changes.fetch_add(1, Ordering::SeqCst);
        if words.sleepers.load(Ordering::SeqCst) != 0 {
            // SAFETY: the kernel looks for waiters at the address; it is not read.
            unsafe { libc::syscall(libc::SYS_futex, words.changes.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
        }
    }

    /// The word on which to sleep.
    pub(super) fn futex(&self) -> *mut u32 {
        self.words().changes.as_ptr()
    }

    /// The number of changes: read before the number is looked at, and given to whoever sleeps.
    pub fn changes(&self) -> u32 {
        self.words().changes.load(Ordering::SeqCst)
    }

    /// Someone sleeps, or does not any more. A sleeper that dies is counted for ever; it costs later changes a system call.
    pub fn sleeps(&self, on: bool) {
        let sleepers = &self.words().sleepers;
        if on {
            sleepers.fetch_add(1, Ordering::SeqCst)
        } else {
            sleepers.fetch_sub(1, Ordering::SeqCst)
        };
    }

    /// This process is going to set the number to `value` or more.
    pub fn promise(&self, value: u64) {
        self.promises.fetch_add(1, Ordering::SeqCst);
        self.words().promised.fetch_max(value, Ordering::SeqCst);
        self.words().promiser.store(identity(), Ordering::SeqCst);
    }

    /// One promise was kept, or will not be.
    pub fn is_done(&self) {
        if self.promises.fetch_sub(1, Ordering::SeqCst) == 1 {
            let _ = self.words().promiser.compare_exchange(identity(), 0, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// Looks for the process that promised something, and keeps its promise if it is gone.
    pub fn look(&self) {
        let words = self.words();
        let promiser = words.promiser.load(Ordering::SeqCst);
        if promiser == 0 || is_alive(promiser) {
            return;
        }
        if words.promiser.compare_exchange(promiser, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            words.value.fetch_max(words.promised.load(Ordering::SeqCst), Ordering::SeqCst);
            self.wake();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: this object's mapping.
        unsafe { libc::munmap(self.words.as_ptr().cast(), BYTES) };
    }
}

/// Bits of a process's number, of its first clock tick and of its PID namespace in an identity.
const PID: u32 = 22;
const TICK: u32 = 26;

/// Who this process is: one word, so that nobody reads parts of two. The number of a process may come again, not in the same tick.
fn identity() -> u64 {
    static IDENTITY: OnceLock<u64> = OnceLock::new();
    *IDENTITY.get_or_init(|| {
        let pid = std::process::id();
        // Without a file system of processes a number is all there is.
        let (_, tick) = state_of(pid).unwrap_or_default();
        pack(pid, tick)
    })
}

fn pack(pid: u32, tick: u64) -> u64 {
    u64::from(pid) & ((1 << PID) - 1) | (tick & ((1 << TICK) - 1)) << PID | namespace() << (PID + TICK)
}

/// The low bits of the inode of this process's PID namespace; 0 if it is not told.
fn namespace() -> u64 {
    static NAMESPACE: OnceLock<u64> = OnceLock::new();
    *NAMESPACE.get_or_init(|| {
        let file = std::fs::metadata("/proc/self/ns/pid");
        file.map_or(0, |file| std::os::unix::fs::MetadataExt::ino(&file) & 0xffff)
    })
}

/// A process's state (a letter of `/proc/PID/stat`) and the clock tick in which it began.
fn state_of(pid: u32) -> Option<(u8, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name, in brackets, may have anything in it.
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// False if the process is certainly gone.
fn is_alive(identity: u64) -> bool {
    if identity >> (PID + TICK) != namespace() {
        return true;
    }
    let pid = (identity & ((1 << PID) - 1)) as u32;
    match state_of(pid) {
        // Dead, though its parent has not been told.
        Some((b'Z' | b'X', _)) => false,
        Some((_, tick)) => pack(pid, tick) == identity,
        None => {
            // SAFETY: asks whether there is such a process.
            let answer = unsafe { libc::kill(pid as libc::pid_t, 0) };
            answer == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_two_ends() {
        let one = Shared::new(3, 7).expect("a file");
        let file = one.export().expect("a descriptor");
        let two = Shared::import(file.as_raw_fd(), 3).expect("the same");
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
    fn what_is_no_number_of_the_kind_is_refused() {
        let one = Shared::new(3, 7).expect("a file");
        assert!(Shared::import(one.file.as_raw_fd(), 4).is_none(), "another kind");
        assert!(Shared::import(-1, 3).is_none() && Shared::import(1 << 20, 3).is_none(), "no descriptor");
        let zeros = memfd(BYTES as u64).expect("a file");
        assert!(Shared::import(zeros.as_raw_fd(), 0).is_none(), "a file of zeros");
        let small = memfd(64).expect("a file");
        assert!(Shared::import(small.as_raw_fd(), 0).is_none());
        let null = File::open("/dev/null").expect("a file");
        assert!(Shared::import(null.as_raw_fd(), 0).is_none());
    }

    /// The child promises and ends; it is not waited for before the look.
    #[test]
    fn promises_of_who_is_gone_are_kept() {
        let number = Shared::new(1, 0).expect("a file");
        number.promise(1);
        number.look();
        assert_eq!(number.value(), 0, "this process lives");
        number.is_done();
        assert_eq!(number.words().promiser.load(Ordering::SeqCst), 0);
        // SAFETY: the child writes a word of the mapping and ends.
        let child = unsafe {
            let child = libc::fork();
            if child == 0 {
                let (_, tick) = state_of(std::process::id()).unwrap_or_default();
                number.words().promised.store(1, Ordering::SeqCst);
                number.words().promiser.store(pack(std::process::id(), tick), Ordering::SeqCst);
                libc::_exit(0);
            }
            child
        };
        let began = std::time::Instant::now();
        while number.value() == 0 && began.elapsed() < Duration::from_secs(10) {
            number.look();
        }
        assert_eq!(number.value(), 1);
        // SAFETY: waits for the child.
        assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
        assert!(!is_alive(pack(child as u32, 0)), "a number without a process");
    }
}

//! Identity of processes.

use std::sync::OnceLock;

/// Number of bits of a process number in an identity; the first clock tick and the PID namespace
/// follow.
const PID_BITS: u32 = 22;
const TICK_BITS: u32 = 26;

/// Returns the identity of this process in one word, so that no reader sees parts of two. A process
/// number may be reused, but not in the same tick.
pub fn identity() -> u64 {
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

/// Returns a process's state (a letter of `/proc/PID/stat`) and the clock tick in which it
/// began.
fn process_state(pid: u32) -> Option<(u8, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the process, in parentheses, may contain any character.
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// Returns false if the process is certainly gone.
pub fn is_alive(identity: u64) -> bool {
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
    use std::time::{Duration, Instant};

    /// Checks that an ended child is gone, though this process has not waited for it yet.
    #[test]
    fn ended_processes_are_not_alive() {
        assert!(is_alive(identity()));
        // SAFETY: the child ends.
        let child = unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::_exit(0);
            }
            child
        };
        let (_, tick) = process_state(child as u32).expect("the process");
        let began = Instant::now();
        while is_alive(pack(child as u32, tick)) {
            assert!(began.elapsed() < Duration::from_secs(10));
        }
        // SAFETY: this waits for the child.
        assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
        assert!(!is_alive(pack(child as u32, 0)), "a number without a process");
    }
}

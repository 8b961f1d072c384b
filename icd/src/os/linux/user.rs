//! Rights of the user of the process, and random numbers.

/// Returns true if the process runs with more rights than its user has (`AT_SECURE`).
pub fn is_secure_execution() -> bool {
    // SAFETY: `getauxval` only returns a number.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Returns 32 unpredictable bytes; `None` if the kernel has none (yet).
pub fn random() -> Option<[u8; 32]> {
    let mut bytes = [0u8; 32];
    // SAFETY: `getrandom` writes at most the array. Requests of up to 256 bytes are fulfilled
    // completely or not at all.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) };
    (got == bytes.len() as isize).then_some(bytes)
}

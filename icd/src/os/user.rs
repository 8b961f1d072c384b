//! Whose process this is, and randomness.

/// The effective user.
pub fn user() -> u32 {
    // SAFETY: geteuid only reads.
    unsafe { libc::geteuid() }
}

/// Does the process run with more rights than its user's (`AT_SECURE`)?
pub fn has_more_rights() -> bool {
    // SAFETY: getauxval only reads.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// 32 bytes that nobody can guess; `None` where the kernel has none (yet).
pub fn random() -> Option<[u8; 32]> {
    let mut bytes = [0u8; 32];
    // SAFETY: writes at most the array. Requests of up to 256 bytes are served whole or not at all.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) };
    (got == bytes.len() as isize).then_some(bytes)
}

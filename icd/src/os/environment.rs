//! Environment variables.

#![forbid(unsafe_code)]

/// Returns the time limit of one draw or dispatch: `GRUS_SHADER_TIMEOUT_MS`, by default 60 s;
/// `None` for 0, no limit.
pub fn shader_timeout() -> Option<std::time::Duration> {
    let ms = number("GRUS_SHADER_TIMEOUT_MS").unwrap_or(60_000);
    (ms != 0).then(|| std::time::Duration::from_millis(ms))
}

/// Returns the number in an environment variable.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

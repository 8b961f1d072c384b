//! What the machine offers: memory and threads.

/// Bytes of the memory heap: `GRUS_HEAP_MB`, or three quarters of the machine's memory or the cgroup's limit.
pub fn heap_size() -> u64 {
    if let Some(mib) = env_number("GRUS_HEAP_MB") {
        return mib.saturating_mul(1 << 20);
    }
    let cgroup = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|s| s.trim().parse::<u64>().ok());
    let total = physical_memory().min(cgroup.unwrap_or(u64::MAX));
    (total / 4 * 3).max(64 << 20)
}

fn physical_memory() -> u64 {
    // SAFETY: no pointers.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(page).unwrap_or(0))
}

/// Worker threads: `GRUS_THREADS`, or 0: what affinity and quota allow.
pub fn thread_count() -> usize {
    env_number("GRUS_THREADS").map_or(0, |n| n.min(1024) as usize)
}

/// `GRUS_SHADER_TIMEOUT_MS`: how long one draw or dispatch may run (default 60 s); `None` for 0, no limit.
pub fn shader_timeout() -> Option<std::time::Duration> {
    let ms = env_number("GRUS_SHADER_TIMEOUT_MS").unwrap_or(60_000);
    (ms != 0).then(|| std::time::Duration::from_millis(ms))
}

fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

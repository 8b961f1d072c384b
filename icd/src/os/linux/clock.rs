//! Clocks.

use ash::vk;

/// Time domains of timestamps (`VkTimeDomainKHR`), each with its clock. The device's clock is one
/// of the host's.
pub const TIME_DOMAINS: [(vk::TimeDomainKHR, fn() -> u64); 3] = [
    (vk::TimeDomainKHR::DEVICE, now),
    (vk::TimeDomainKHR::CLOCK_MONOTONIC, now),
    (vk::TimeDomainKHR::CLOCK_MONOTONIC_RAW, raw),
];

/// Returns a clock's time in nanoseconds.
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns monotonic time in nanoseconds, which timestamps use too.
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Returns monotonic time in nanoseconds without adjustments.
fn raw() -> u64 {
    read(libc::CLOCK_MONOTONIC_RAW)
}

/// Returns the processor time of the process in nanoseconds.
pub fn process_time() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

//! Clocks.

use ash::vk;
use std::sync::OnceLock;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};

/// Time domains of timestamps (`VkTimeDomainKHR`), each with its clock. The device's clock is one
/// of the host's, in nanoseconds.
pub const TIME_DOMAINS: [(vk::TimeDomainKHR, fn() -> u64); 2] =
    [(vk::TimeDomainKHR::DEVICE, now), (vk::TimeDomainKHR::QUERY_PERFORMANCE_COUNTER, counter)];

/// Returns the performance counter.
fn counter() -> u64 {
    let mut count = 0;
    // SAFETY: the call writes the number, and never fails on supported systems.
    unsafe { QueryPerformanceCounter(&raw mut count) };
    count as u64
}

/// Returns the number of ticks of the performance counter in a second.
fn frequency() -> u64 {
    static FREQUENCY: OnceLock<u64> = OnceLock::new();
    *FREQUENCY.get_or_init(|| {
        let mut frequency = 0;
        // SAFETY: the call writes the number, and never fails on supported systems.
        unsafe { QueryPerformanceFrequency(&raw mut frequency) };
        (frequency as u64).max(1)
    })
}

/// Returns monotonic time in nanoseconds, which timestamps use too.
pub fn now() -> u64 {
    const NANOSECONDS: u64 = 1_000_000_000;
    let (count, frequency) = (counter(), frequency());
    count / frequency * NANOSECONDS + count % frequency * NANOSECONDS / frequency
}

/// Returns the processor time of the process in nanoseconds.
pub fn process_time() -> u64 {
    let none = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let [mut created, mut ended, mut kernel, mut user] = [none; 4];
    // SAFETY: the call writes the four times.
    unsafe {
        GetProcessTimes(GetCurrentProcess(), &raw mut created, &raw mut ended, &raw mut kernel, &raw mut user);
    }
    let ticks = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    (ticks(kernel) + ticks(user)) * 100
}

//! Test that a device without work uses no CPU time. It is alone in its binary, because it measures
//! the whole process.
//!
//! Linux only: the test reads the times of the process in /proc.
#![cfg(unix)]

mod common;
use common::Context;
use std::time::Duration;

/// Returns user and system time of the process in clock ticks of 10 ms.
fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("stat");
    // The second field is the name in parentheses and may contain spaces.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime")
}

#[test]
fn an_idle_device_uses_no_cpu() {
    let context = Context::new(&[], &[]);
    // This is enough work to start the queue's thread and the pool.
    let buffer = context.buffer(64 << 20);
    // SAFETY: valid usage.
    unsafe {
        let fill = |c| context.device.cmd_fill_buffer(c, buffer.buffer, 0, ash::vk::WHOLE_SIZE, 5);
        context.run(fill).expect("fill");
    }
    // The pool's threads search for work a little longer before they sleep.
    std::thread::sleep(Duration::from_millis(200));
    let before = ticks();
    std::thread::sleep(Duration::from_secs(1));
    let used = ticks() - before;
    assert!(used <= 1, "{used} ticks of 10 ms in an idle second");
    context.free(buffer);
}

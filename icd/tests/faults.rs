//! Tests that every refusal of the system becomes an error of Vulkan: no abort, no hang, no leak.
//!
//! The driver is loaded as an application would load it. Forked children run a workload of
//! everything in which one call of the driver (or a run of them) fails: the n-th allocation,
//! mapping, thread, file or socket operation. Then nothing fails any more, and the workload has to
//! succeed twice with the same memory, threads and file descriptors as in a child without a fault.
//!
//! `GRUS_FAULTS=all` tests every n; `GRUS_FAULTS=mapping` those of one operation;
//! `GRUS_FAULTS=allocation:17:1` (operation, first call, calls) that one, with
//! `GRUS_FAULTS_TRACE=1` showing the stack. Otherwise the test takes a sample that fits a time
//! limit (longer if `CI` is set), from another starting point every day.

#[path = "common/info.rs"]
mod info;
#[path = "faults/interpose.rs"]
mod interpose;
#[path = "faults/workload.rs"]
mod workload;

use interpose::{OPERATIONS, Operation};
use std::ffi::CString;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Time after which a child is considered to hang.
const HANG_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit of a sample in continuous integration, where a larger share of all faults is worth
/// the time.
const SAMPLE_TIME_IN_CI: Duration = Duration::from_secs(40);
/// Time limit of a sample elsewhere, where a developer waits for the result.
const SAMPLE_TIME: Duration = Duration::from_secs(5);
/// Numbers of consecutive failures: one, as many as a call or two make, and all that follow.
const RUNS: [u64; 3] = [1, 50, u64::MAX];
/// Number of concurrent children.
const CHILDREN: usize = 2;

/// Results that a child without a fault passes to its parent.
#[repr(C)]
struct Reference {
    calls: [AtomicU64; OPERATIONS.len()],
    /// Blocks and mapped bytes after the second and the third run.
    live: [[AtomicI64; 2]; 2],
}

#[derive(Clone, Copy, Debug)]
struct Fault {
    operation: Operation,
    first: u64,
    count: u64,
}

fn main() {
    // SAFETY: the process has only one thread so far.
    unsafe {
        std::env::set_var("GRUS_THREADS", "2");
        std::env::set_var("GRUS_FIFO_HZ", "0");
        std::env::remove_var("DISPLAY");
    }
    // The test harness's protocol includes listing, to which there is nothing to answer.
    if std::env::args().any(|a| a == "--list") {
        return;
    }
    let functions = load();
    let status = wait(fork(|| workload::too_large(&functions)), Instant::now() + HANG_TIMEOUT);
    assert_eq!(status, Some(0), "requests beyond the process's addresses");
    let reference = shared();
    let status = wait(fork(|| measure(&functions, reference)), Instant::now() + HANG_TIMEOUT);
    assert_eq!(status, Some(0), "the workload without a fault");
    let calls: Vec<u64> = reference.calls.iter().map(|c| c.load(Relaxed)).collect();
    println!("calls of the driver: {:?}", OPERATIONS.iter().map(|o| o.1).zip(&calls).collect::<Vec<_>>());
    let faults = match std::env::var("GRUS_FAULTS") {
        Ok(text) if text.contains(':') => vec![parse(&text)],
        Ok(text) => {
            all(&calls).into_iter().filter(|f| text == "all" || text == OPERATIONS[f.operation as usize].1).collect()
        }
        Err(_) => sample(all(&calls)),
    };
    let in_ci = std::env::var_os("CI").is_some();
    let sample_time = if in_ci { SAMPLE_TIME_IN_CI } else { SAMPLE_TIME };
    let limit = std::env::var_os("GRUS_FAULTS").is_none().then_some(sample_time);
    let failed = run_all(&functions, reference, &faults, limit);
    failed.iter().for_each(|(fault, why)| println!("FAILED {fault:?}: {why}"));
    assert!(failed.is_empty(), "{} faults went wrong", failed.len());
}

fn parse(text: &str) -> Fault {
    let mut parts = text.split(':');
    let name = parts.next().expect("operation");
    let (operation, _) = *OPERATIONS.iter().find(|o| o.1 == name).expect("a known operation");
    let mut number = |default| parts.next().map_or(default, |n| n.parse().expect("a number"));
    Fault { operation, first: number(0), count: number(1) }
}

/// Returns every call of every operation, in runs of every length.
fn all(calls: &[u64]) -> Vec<Fault> {
    let runs = |(operation, calls): (Operation, u64)| {
        RUNS.into_iter().flat_map(move |count| (0..calls).map(move |first| Fault { operation, first, count }))
    };
    OPERATIONS.iter().map(|o| o.0).zip(calls.iter().copied()).flat_map(runs).collect()
}

/// Returns all faults of rare operations, followed by allocations in an order that soon covers the
/// whole range, wherever it is cut off.
fn sample(all: Vec<Fault>) -> Vec<Fault> {
    let (many, mut few): (Vec<Fault>, Vec<Fault>) = all.into_iter().partition(|f| f.operation == Operation::Allocation);
    let day = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |d| d.as_secs() / 86400) as usize;
    // The steps follow the golden ratio.
    let step = (many.len() as f64 * 0.618_034) as usize;
    let coprime = (step.max(1)..).find(|s| gcd(*s, many.len()) == 1).unwrap_or(1);
    few.extend((0..many.len()).map(|i| many[(day * 7919 + i * coprime) % many.len()]));
    few
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn run_all(
    functions: &ash::StaticFn,
    reference: &'static Reference,
    faults: &[Fault],
    limit: Option<Duration>,
) -> Vec<(Fault, String)> {
    let began = Instant::now();
    let mut waiting = faults.iter();
    let mut running: Vec<(libc::pid_t, Fault, Instant)> = Vec::new();
    let (mut failed, mut done) = (Vec::new(), 0);
    loop {
        while running.len() < CHILDREN && limit.is_none_or(|l| began.elapsed() < l) {
            let Some(&fault) = waiting.next() else { break };
            let child = fork(|| inject(functions, reference, fault));
            running.push((child, fault, Instant::now() + HANG_TIMEOUT));
        }
        if running.is_empty() {
            println!("{done} of {} faults in {:.1} s", faults.len(), began.elapsed().as_secs_f32());
            return failed;
        }
        std::thread::sleep(Duration::from_millis(1));
        running.retain(|&(child, fault, end)| match wait_once(child, end) {
            None => true,
            Some(status) => {
                done += 1;
                if status != 0 {
                    let why = explain(status);
                    println!("{fault:?}: {why}");
                    failed.push((fault, why));
                }
                false
            }
        });
    }
}

fn explain(status: i32) -> String {
    match status {
        HUNG => "hangs".into(),
        s if libc::WIFSIGNALED(s) => format!("killed by signal {}", libc::WTERMSIG(s)),
        s => format!("exit code {}", libc::WEXITSTATUS(s)),
    }
}

/// Result in place of a status.
const HUNG: i32 = -1;

fn wait_once(child: libc::pid_t, end: Instant) -> Option<i32> {
    let mut status = 0;
    // SAFETY: `child` is a child of this process.
    if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
        return Some(status);
    }
    if Instant::now() < end {
        return None;
    }
    // SAFETY: `child` is a child of this process that has not been waited for.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &raw mut status, 0);
    }
    Some(HUNG)
}

fn wait(child: libc::pid_t, end: Instant) -> Option<i32> {
    loop {
        if let Some(status) = wait_once(child, end) {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Forks a child that only runs `work`. This process has one thread, so that the child may do
/// anything.
fn fork(work: impl FnOnce() -> Result<(), String>) -> libc::pid_t {
    // SAFETY: this process has one thread.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork");
    if child == 0 {
        let result = work();
        if let Err(why) = &result {
            eprintln!("{why}");
        }
        // SAFETY: this ends the child without the parent's exit handlers.
        unsafe { libc::_exit(i32::from(result.is_err())) };
    }
    child
}

/// Loads the driver, which is in this program's directory.
fn load() -> ash::StaticFn {
    let program = std::env::current_exe().expect("path");
    let library = program.parent().expect("directory").join("libvulkan_grus.so");
    let path = CString::new(library.to_str().expect("path")).expect("path");
    // SAFETY: the driver runs no code when it is loaded.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null(), "{}: {:?}", library.display(), std::ffi::CStr::from_ptr(libc::dlerror()));
        let function = libc::dlsym(handle, c"vk_icdGetInstanceProcAddr".as_ptr());
        assert!(!function.is_null(), "vk_icdGetInstanceProcAddr");
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let own = maps.lines().filter(|l| l.ends_with("libvulkan_grus.so"));
        let ranges: Vec<(usize, usize)> = own
            .map(|line| {
                let (from, to) = line.split(' ').next().and_then(|r| r.split_once('-')).expect("range");
                let number = |text| usize::from_str_radix(text, 16).expect("address");
                (number(from), number(to))
            })
            .collect();
        interpose::watch(ranges.first().expect("mapped").0, ranges.last().expect("mapped").1);
        ash::StaticFn {
            get_instance_proc_addr: std::mem::transmute::<*mut libc::c_void, ash::vk::PFN_vkGetInstanceProcAddr>(
                function,
            ),
        }
    }
}

fn shared() -> &'static Reference {
    // SAFETY: the pages are new, zeroed, large enough and never unmapped; zero is valid for
    // atomics.
    unsafe {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let size = size_of::<Reference>();
        let page = libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert!(page != libc::MAP_FAILED);
        &*page.cast::<Reference>()
    }
}

/// Returns the number of entries of a directory of `/proc/self`.
fn count(directory: &str) -> usize {
    std::fs::read_dir(format!("/proc/self/{directory}")).map_or(0, Iterator::count)
}

/// Waits until this thread is alone, because the pool's threads end on their own. While one ends,
/// the list of threads may be cut short behind it, so one check that finds no other thread is not
/// enough.
fn wait_for_threads() {
    let end = Instant::now() + Duration::from_secs(20);
    let mut alone = 0;
    while alone < 3 && Instant::now() < end {
        alone = if count("task") == 1 { alone + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs the workload twice, which must succeed, and returns the driver's memory after each run.
fn twice(functions: &ash::StaticFn) -> Result<[[i64; 2]; 2], String> {
    let descriptors = count("fd");
    let mut live = [[0; 2]; 2];
    for live in &mut live {
        workload::run(functions).map_err(|e| format!("without a fault: {e}"))?;
        wait_for_threads();
        *live = interpose::live();
    }
    match (count("task"), count("fd")) {
        (1, now) if now == descriptors => Ok(live),
        (threads, now) => Err(format!("{threads} threads {:?}, {now} file descriptors after {descriptors}", names())),
    }
}

/// Returns the names of this process's threads, and what they wait for.
fn names() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    tasks.map(|task| format!("{} {}", read(task.path().join("comm")), read(task.path().join("wchan")))).collect()
}

/// Runs the child without a fault.
fn measure(functions: &ash::StaticFn, reference: &Reference) -> Result<(), String> {
    workload::run(functions).map_err(|e| format!("workload: {e}"))?;
    for (calls, (operation, _)) in reference.calls.iter().zip(OPERATIONS) {
        calls.store(interpose::calls(operation), Relaxed);
    }
    for (out, live) in reference.live.iter().zip(twice(functions)?) {
        out.iter().zip(live).for_each(|(out, live)| out.store(live, Relaxed));
    }
    Ok(())
}

/// Runs the child with a fault.
fn inject(functions: &ash::StaticFn, reference: &Reference, fault: Fault) -> Result<(), String> {
    let descriptors = count("fd");
    interpose::fail(fault.operation, fault.first, fault.count);
    let result = workload::run(functions);
    interpose::heal();
    if matches!(result, Err(ash::vk::Result::ERROR_UNKNOWN | ash::vk::Result::ERROR_VALIDATION_FAILED_EXT)) {
        return Err(format!("{fault:?}: {result:?}"));
    }
    let live = twice(functions).map_err(|why| format!("{fault:?}, {result:?}: {why}"))?;
    let expected = reference.live.each_ref().map(|l| l.each_ref().map(|l| l.load(Relaxed)));
    let now = count("fd");
    // The growth of a table of the standard library is random, and memory from the driver's reserve
    // is not counted.
    let near = live[1][0] <= expected[1][0] + SLACK && live[1][1] == expected[1][1];
    if near && now == descriptors {
        return Ok(());
    }
    Err(format!(
        "{fault:?}, {result:?}: blocks and mapped bytes {live:?}, not {expected:?}; {now} files after {descriptors}"
    ))
}

/// Number of blocks by which the result may exceed the reference.
const SLACK: i64 = 6;

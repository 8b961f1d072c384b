//! Tests of the results of waits in every order of work, loss and wait.

use super::*;
use crate::caps::ExtensionSet;
use crate::device::QueueRequest;
use crate::device::instance::Instance;
use crate::object::query::QueryPool;
use crate::object::semaphore::{Fence, Semaphore};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const LOST: vk::Result = vk::Result::ERROR_DEVICE_LOST;
const DONE: vk::Result = vk::Result::SUCCESS;

fn fence() -> Fence {
    Fence::new(false, None).expect("no file is asked for")
}

fn semaphore(timeline: bool) -> Semaphore {
    Semaphore::new(timeline, 0, None).expect("no file is asked for")
}

/// A device that is destroyed as vkDestroyDevice does it.
struct DeviceFixture {
    device: Arc<Device>,
    _instance: Arc<Instance>,
}

impl DeviceFixture {
    fn new() -> DeviceFixture {
        let instance = Instance::new(vk::API_VERSION_1_3, ExtensionSet::default(), None);
        let physical = instance.physical();
        let queues = [(0, 2), (2, 1)].map(|(family, count)| QueueRequest { family, flags: Default::default(), count });
        DeviceFixture {
            device: Device::new(instance.clone(), &physical, ExtensionSet::default(), &queues).expect("device"),
            _instance: instance,
        }
    }

    /// Returns the first queue.
    fn queue(&self) -> &Arc<Queue> {
        &self.device.queues[0]
    }

    /// Submits work and returns the objects that signal its end.
    fn submit(&self, work: impl FnOnce(&Device, &Queue) + Send + 'static) -> Signals {
        let signals = Signals { fence: fence(), timeline: semaphore(true), binary: semaphore(false) };
        let submission = Submission {
            waits: Vec::new(),
            work: vec![Box::new(work)],
            signals: vec![signals.timeline.signal(1), signals.binary.signal(0)],
            fence: Some(signals.fence.signal()),
        };
        self.queue().submit(&self.device, vec![submission]).expect("taken");
        signals
    }

    fn idle(&self) -> vk::Result {
        self.queue().wait_idle(&self.device).err().unwrap_or(DONE)
    }

    /// Waits in another thread, which has begun when this returns.
    fn wait_idle_in_background(&self) -> std::thread::JoinHandle<vk::Result> {
        let (device, begun) = (self.device.clone(), Arc::new(std::sync::Barrier::new(2)));
        let waiter = std::thread::spawn({
            let begun = begun.clone();
            move || {
                begun.wait();
                device.queues[0].wait_idle(&device).err().unwrap_or(DONE)
            }
        });
        begun.wait();
        std::thread::sleep(Duration::from_millis(20));
        waiter
    }
}

impl Drop for DeviceFixture {
    fn drop(&mut self) {
        self.device.stop();
    }
}

struct Signals {
    fence: Fence,
    timeline: Semaphore,
    binary: Semaphore,
}

impl Signals {
    /// Checks that all objects give the same result.
    fn expect(&self, fixture: &DeviceFixture, result: vk::Result, what: &str) {
        let sync = &fixture.device.sync;
        let for_ever = u64::MAX;
        assert_eq!(sync.wait(for_ever, || self.fence.is_signaled()), result, "{what}: the fence");
        assert_eq!(sync.wait(for_ever, || self.timeline.value() >= 1), result, "{what}: the timeline semaphore");
        let never = fence();
        let any = || never.is_signaled() || self.fence.is_signaled();
        assert_eq!(sync.wait(for_ever, any), result, "{what}: any of two fences");
        assert_eq!(self.binary.value(), u64::from(result == DONE), "{what}: the binary semaphore");
    }
}

/// Returns work that reports when it has begun and ends on request.
fn gate() -> (impl FnOnce(&Device, &Queue) + Send + 'static, Receiver<()>, Sender<()>) {
    let (begun, has_begun) = channel();
    let (end, may_end) = channel::<()>();
    let work = move |_: &Device, _: &Queue| {
        let _ = begun.send(());
        // A closed channel ends the work too.
        let _ = may_end.recv();
    };
    (work, has_begun, end)
}

#[test]
fn work_that_was_done_stays_done_after_a_loss() {
    let fixture = DeviceFixture::new();
    let done = fixture.submit(|_, _| ());
    assert_eq!(fixture.idle(), DONE);
    fixture.queue().lose(&fixture.device, Cause::Panic, "lost between submissions");
    done.expect(&fixture, DONE, "before the loss");
    assert_eq!(fixture.queue().submit(&fixture.device, Vec::new()), Err(LOST));
    assert_eq!(fixture.idle(), LOST);
}

#[test]
fn work_that_loses_the_device_is_not_done() {
    let fixture = DeviceFixture::new();
    let before = fixture.submit(|_, _| ());
    let (work, begun, end) = gate();
    let cut = fixture.submit(move |device, queue| {
        work(device, queue);
        queue.lose(device, Cause::Panic, "lost by the work");
    });
    let after = fixture.submit(|_, _| unreachable!("nothing is begun after the loss"));
    begun.recv().expect("begun");
    let waiter = fixture.wait_idle_in_background();
    drop(end);
    assert_eq!(waiter.join().expect("no panic"), LOST, "a wait from before the loss");
    assert_eq!(fixture.idle(), LOST, "a wait from after the loss");
    before.expect(&fixture, DONE, "before");
    cut.expect(&fixture, LOST, "cut");
    after.expect(&fixture, LOST, "after");
}

#[test]
fn a_panic_while_executing_is_not_done() {
    let fixture = DeviceFixture::new();
    let panics = fixture.submit(|_, _| panic!("(expected by the test)"));
    assert_eq!(fixture.idle(), LOST);
    panics.expect(&fixture, LOST, "panic");
}

#[test]
fn a_watchdog_loss_is_reported_before_and_after_the_work_ends() {
    // In the first run the work ends while the watchdog waits for it; in the second it does not.
    for in_time in [true, false] {
        let fixture = DeviceFixture::new();
        let (work, begun, end) = gate();
        let cut = fixture.submit(work);
        begun.recv().expect("begun");
        let waiter = fixture.wait_idle_in_background();
        let (device, mut end) = (fixture.device.clone(), Some(end));
        device.lose_after(Cause::Panic, "lost from outside", &[], || {
            if in_time {
                drop(end.take());
                // The worker has finished and the loss is not yet reported: here a wrong result
                // could be reported.
                while fixture.queue().watched.is_executing() {
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        assert_eq!(waiter.join().expect("no panic"), LOST, "in time: {in_time}");
        assert_eq!(fixture.idle(), LOST, "in time: {in_time}");
        cut.expect(&fixture, LOST, "watchdog");
        drop(end.take());
        fixture.device.stop();
        assert_eq!(fixture.idle(), LOST, "after the worker's end");
        cut.expect(&fixture, LOST, "after the worker's end");
    }
}

#[test]
fn queries_of_aborted_work_never_become_available() {
    let fixture = DeviceFixture::new();
    let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(2);
    let pool = QueryPool::new(&info).expect("pool");
    fixture.device.make_available(&pool.queries[0]);
    fixture
        .device
        .lose_after(Cause::Panic, "between loss and telling", &[], || fixture.device.make_available(&pool.queries[1]));
    assert!(pool.queries[0].is_available() && !pool.queries[1].is_available());
}

#[test]
fn work_behind_an_unsignaled_semaphore_is_not_done() {
    let fixture = DeviceFixture::new();
    let fence = fence();
    let semaphore = semaphore(true);
    let submission = Submission {
        waits: vec![semaphore.wait(1)],
        work: vec![Box::new(|_: &Device, _: &Queue| unreachable!("it waits"))],
        fence: Some(fence.signal()),
        ..Submission::default()
    };
    fixture.queue().submit(&fixture.device, vec![submission]).expect("taken");
    fixture.device.stop();
    assert!(!fence.is_signaled());
    assert_eq!(fixture.queue().completed.load(Ordering::Acquire), 0);
}

/// Submits work to any queue.
fn submit_to(fixture: &DeviceFixture, queue: usize, waits: Vec<Wait>, work: Vec<Work>, signals: Vec<Signal>) {
    let submission = Submission { waits, work, signals, fence: None };
    fixture.device.queues[queue].submit(&fixture.device, vec![submission]).expect("taken");
}

#[test]
fn queues_wait_for_later_submissions_to_other_queues() {
    let fixture = DeviceFixture::new();
    let (timeline, binary, order) = (semaphore(true), semaphore(false), Arc::new(Mutex::new(Vec::new())));
    let note = |number: u32| -> Vec<Work> {
        let order = order.clone();
        vec![Box::new(move |_: &Device, _: &Queue| order.lock().push(number))]
    };
    // Submissions come in reverse order: each waits for the one that is submitted after it.
    submit_to(&fixture, 2, vec![timeline.wait(2)], note(3), vec![timeline.signal(3)]);
    submit_to(&fixture, 1, vec![timeline.wait(1)], note(2), vec![binary.signal(0), timeline.signal(2)]);
    submit_to(&fixture, 0, vec![], note(1), vec![timeline.signal(1)]);
    submit_to(&fixture, 0, vec![timeline.wait(3), binary.wait(0)], note(4), vec![timeline.signal(4)]);
    fixture.device.wait_idle().expect("done");
    assert_eq!((timeline.value(), binary.value(), &order.lock()[..]), (4, 0, &[1, 2, 3, 4][..]));
}

#[test]
fn a_busy_queue_does_not_block_others() {
    let fixture = DeviceFixture::new();
    let (work, begun, end) = gate();
    let long = fixture.submit(work);
    begun.recv().expect("begun");
    // One submission waits for the long work, the other does not.
    submit_to(&fixture, 1, vec![long.timeline.wait(1)], vec![], vec![]);
    let (fence, short) = (fence(), &fixture.device.queues[2]);
    let submission = Submission { fence: Some(fence.signal()), ..Submission::default() };
    short.submit(&fixture.device, vec![submission]).expect("taken");
    assert_eq!(short.wait_idle(&fixture.device), Ok(()));
    assert!(fence.is_signaled() && !long.fence.is_signaled() && !fixture.device.queues[1].has_completed(1));
    drop(end);
    fixture.device.wait_idle().expect("done");
    assert!(fixture.device.queues[1].has_completed(1));
    long.expect(&fixture, DONE, "the long one");
}

#[test]
fn losing_the_device_waits_for_the_work_of_other_queues() {
    let fixture = DeviceFixture::new();
    let (work, begun, end) = gate();
    let ended = Arc::new(AtomicBool::new(false));
    let cut = fixture.submit({
        let ended = ended.clone();
        move |device, queue| {
            work(device, queue);
            ended.store(true, Ordering::Release);
        }
    });
    begun.recv().expect("begun");
    submit_to(&fixture, 2, vec![], vec![Box::new(|_: &Device, _: &Queue| panic!("(expected by the test)"))], vec![]);
    while !fixture.device.is_losing() {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(20));
    assert!(!fixture.device.sync.is_lost(), "a worker is at work");
    drop(end);
    assert_eq!(fixture.device.wait_idle(), Err(LOST));
    assert!(ended.load(Ordering::Acquire));
    cut.expect(&fixture, LOST, "cut short by another queue");
    // An endless wait on the third queue ends with the device.
    assert_eq!(fixture.device.queues[1].submit(&fixture.device, vec![Submission::default()]), Err(LOST));
}

#[test]
fn a_device_with_waiting_queues_can_be_destroyed() {
    let fixture = DeviceFixture::new();
    let never = semaphore(true);
    for queue in 0..3 {
        submit_to(&fixture, queue, vec![never.wait(1)], vec![Box::new(|_: &Device, _: &Queue| unreachable!())], vec![]);
    }
    fixture.device.stop();
    assert!(fixture.device.queues.iter().all(|queue| !queue.has_completed(1)));
}

/// Tests submissions, losses and waits in orders that the scheduler chooses: work that is reported
/// as done was executed to its end.
#[test]
fn random_orders_of_submissions_and_losses_are_consistent() {
    let rounds: u64 = std::env::var("GRUS_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    for seed in 0..rounds {
        let fixture = DeviceFixture::new();
        let mut random = base::random::Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut below = |n: u64| random.next_u64() % n;
        let (count, losing, kind) = (1 + below(8), below(10), below(3));
        let executed = Arc::new(AtomicU64::new(0));
        let mut signals = Vec::new();
        let mut submitted_all = true;
        std::thread::scope(|scope| {
            let spins = below(2000);
            let from_outside = fixture.device.clone();
            if kind == 2 {
                scope.spawn(move || {
                    (0..spins).for_each(|_| std::hint::spin_loop());
                    from_outside.lose_after(Cause::Panic, "outside", &[], std::thread::yield_now);
                });
            }
            let waiter = scope.spawn(|| fixture.idle());
            for i in 0..count {
                let (executed, spins) = (executed.clone(), below(500));
                let work = move |device: &Device, queue: &Queue| {
                    (0..spins).for_each(|_| std::hint::spin_loop());
                    match (i == losing, kind) {
                        (true, 0) => queue.lose(device, Cause::Panic, "inside"),
                        (true, 1) => panic!("(expected by the test)"),
                        // Work notices the loss, as generated code does, and ends without a result.
                        _ if device.is_losing() => {}
                        _ => {
                            executed.fetch_add(1, Ordering::AcqRel);
                        }
                    }
                };
                if fixture.device.sync.is_lost() {
                    submitted_all = false;
                    break;
                }
                let fence = fence();
                let submission =
                    Submission { work: vec![Box::new(work)], fence: Some(fence.signal()), ..Submission::default() };
                match fixture.queue().submit(&fixture.device, vec![submission]) {
                    Ok(()) => signals.push(fence),
                    Err(error) => {
                        assert_eq!(error, LOST);
                        submitted_all = false;
                        break;
                    }
                }
            }
            let result = fixture.idle();
            let all = executed.load(Ordering::Acquire) == signals.len() as u64;
            assert!(result == LOST || (all && submitted_all), "seed {seed}: {result:?}");
            let _ = waiter.join().expect("no panic");
        });
        let signaled = signals.iter().filter(|f| f.is_signaled()).count() as u64;
        assert!(signaled <= executed.load(Ordering::Acquire), "seed {seed}: {signaled} signaled");
        let in_order = signals.iter().skip_while(|f| f.is_signaled()).all(|f| !f.is_signaled());
        assert!(in_order, "seed {seed}");
    }
}

//! Tests the scheduler with simulated processes. Each case must get one result, whatever the
//! processes do.

use super::*;
use std::collections::HashMap;
use std::sync::atomic::AtomicU32;

/// Effect of a simulated case on its process.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Act {
    Pass,
    Fail,
    /// The process crashes in the case.
    Crash,
    /// The case is skipped the first time.
    MissingOnce,
    /// The case is always skipped.
    Missing,
    /// The case has a result, and deqp stops after it (a lost device).
    Stop,
    /// The process dies at start when this case is in its list.
    Poison,
    /// The process dies before the first case, but only the first time.
    PoisonOnce,
    /// The case is reported twice.
    Twice,
}

const ACTS: [Act; 9] = [
    Act::Pass,
    Act::Fail,
    Act::Crash,
    Act::MissingOnce,
    Act::Missing,
    Act::Stop,
    Act::Poison,
    Act::PoisonOnce,
    Act::Twice,
];

struct Model {
    acts: Vec<Act>,
    seen: Mutex<HashMap<(usize, u32), u32>>,
    processes: AtomicU32,
    starts: bool,
}

impl Model {
    fn new(acts: Vec<Act>) -> Self {
        Self { acts, seen: Mutex::default(), processes: AtomicU32::new(0), starts: true }
    }

    fn first_time(&self, driver: usize, case: u32) -> bool {
        let mut seen = self.seen.lock().unwrap();
        let times = seen.entry((driver, case)).or_default();
        *times += 1;
        *times == 1
    }
}

fn case_end(case: u32, status: Status) -> CaseEnd {
    let (code, message, log, output) = (status.name().into(), String::new(), Vec::new(), String::new());
    CaseEnd { name: format!("case {case}"), status, code, message, seconds: 0.0, log, output }
}

impl ShardRunner for Model {
    fn run(
        &self,
        shard: &Shard,
        cancel: &AtomicBool,
        report: &mut dyn FnMut(u32, CaseEnd) -> Result<()>,
    ) -> Result<ShardEnd> {
        self.processes.fetch_add(1, Ordering::Relaxed);
        let end = |outcome| Ok(ShardEnd { outcome, device: None, release: None, note: None });
        let act = |case: u32| self.acts[case as usize];
        let poisoned = |&case: &u32| match act(case) {
            Act::Poison => true,
            Act::PoisonOnce => self.first_time(shard.driver, case),
            _ => false,
        };
        if !self.starts || shard.cases.iter().any(poisoned) {
            return end(ShardOutcome::NotStarted("cannot open display".into()));
        }
        for &case in &shard.cases {
            if cancel.load(Ordering::Relaxed) {
                return end(ShardOutcome::Cancelled);
            }
            match act(case) {
                Act::Fail => report(case, case_end(case, Status::Fail))?,
                Act::Crash => {
                    report(case, case_end(case, Status::Crash))?;
                    return end(ShardOutcome::Interrupted);
                }
                Act::Stop => {
                    report(case, case_end(case, Status::Fail))?;
                    return end(ShardOutcome::Interrupted);
                }
                Act::Missing => {}
                Act::MissingOnce if self.first_time(shard.driver, case) => {}
                Act::Twice => {
                    report(case, case_end(case, Status::Pass))?;
                    report(case, case_end(case, Status::Fail))?;
                }
                _ => report(case, case_end(case, Status::Pass))?,
            }
        }
        end(ShardOutcome::Done)
    }

    fn probe(&self, _: usize) -> Result<()> {
        if self.starts { Ok(()) } else { Err(Error::Start(String::new())) }
    }

    fn name(&self, _: u32) -> &str {
        "case"
    }
}

/// A small random number generator (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

fn expected(act: Act) -> Status {
    match act {
        Act::Pass | Act::MissingOnce | Act::PoisonOnce | Act::Twice => Status::Pass,
        Act::Fail | Act::Stop => Status::Fail,
        Act::Crash | Act::Poison => Status::Crash,
        Act::Missing => Status::Missing,
    }
}

/// Runs the shards and returns the results that the sink received.
fn results(model: &Model, shards: Vec<Shard>, jobs: usize) -> HashMap<(usize, u32), Vec<Status>> {
    let received = Mutex::new(HashMap::<_, Vec<Status>>::new());
    run(shards, jobs, model, &|shard: &Shard, case, end: CaseEnd| {
        received.lock().unwrap().entry((shard.driver, case)).or_default().push(end.status);
        Ok(())
    })
    .unwrap();
    received.into_inner().unwrap()
}

#[test]
fn no_case_is_lost_or_counted_twice() {
    let mut random = Random(3);
    for _ in 0..300 {
        let count = 1 + random.below(60);
        // Most cases pass in most rounds, as in real runs. In some rounds every case misbehaves.
        let calm = random.below(4);
        let pick =
            |random: &mut Random| if random.below(4) < calm { Act::Pass } else { ACTS[random.below(ACTS.len())] };
        let acts: Vec<Act> = (0..count).map(|_| pick(&mut random)).collect();
        let cases: Vec<u32> = (0..count as u32).collect();
        let (jobs, drivers, largest) = (1 + random.below(4), 1 + random.below(2), 1 + random.below(30));
        let plans = (0..drivers).map(|driver| plan(driver, &cases, largest, jobs)).collect();
        let model = Model::new(acts.clone());
        let received = results(&model, interleave(plans), jobs);
        assert_eq!(received.len(), count * drivers);
        for ((driver, case), statuses) in received {
            let act = acts[case as usize];
            assert_eq!(statuses, [expected(act)], "case {case} of driver {driver}: {act:?}");
        }
    }
}

#[test]
fn cases_that_a_process_left_out_go_on_together() {
    let act = |case: usize| if case.is_multiple_of(3) { Act::MissingOnce } else { Act::Pass };
    let model = Model::new((0..300).map(act).collect());
    let cases: Vec<u32> = (0..300).collect();
    let received = results(&model, plan(0, &cases, 300, 1), 1);
    assert!(received.len() == 300 && received.values().all(|statuses| statuses == &[Status::Pass]));
    assert_eq!(model.processes.load(Ordering::Relaxed), 2, "one more process has them all");
}

#[test]
fn a_deqp_that_never_starts_ends_the_run() {
    let model = Model { starts: false, ..Model::new(vec![Act::Pass; 500]) };
    let cases: Vec<u32> = (0..500).collect();
    let error = run(plan(0, &cases, 100, 1), 1, &model, &|_, _, _| Ok(())).unwrap_err();
    assert!(matches!(&error, Error::Start(output) if output.contains("cannot open display")), "{error}");
    assert_eq!(model.processes.load(Ordering::Relaxed), STARTS, "it ends after three starts");
}

#[test]
fn an_error_of_the_sink_ends_the_run() {
    let model = Model::new(vec![Act::Pass; 100]);
    let cases: Vec<u32> = (0..100).collect();
    let sink = |_: &Shard, case, _| if case == 7 { Err(Error::Internal("disk full".into())) } else { Ok(()) };
    let error = run(plan(0, &cases, 10, 2), 2, &model, &sink).unwrap_err();
    assert!(error.to_string().contains("disk full"));
}

#[test]
fn plans_cover_all_cases_and_shrink() {
    let cases: Vec<u32> = (0..1000).collect();
    for jobs in 1..5 {
        let shards = plan(1, &cases, 300, jobs);
        let covered: Vec<u32> = shards.iter().flat_map(|shard| shard.cases.clone()).collect();
        assert_eq!(covered, cases);
        assert!(shards.windows(2).all(|pair| pair[0].cases.len() >= pair[1].cases.len()));
        assert!(shards.iter().all(|shard| shard.driver == 1 && shard.cases.len() <= 300));
    }
    let drivers = |n: usize| (0..2).map(|d| plan(d, &cases, n, 1)).collect::<Vec<_>>();
    let turns: Vec<usize> = interleave(drivers(250)).iter().map(|shard| shard.driver).collect();
    assert_eq!(turns, [0, 1, 1, 0, 0, 1, 1, 0]);
}

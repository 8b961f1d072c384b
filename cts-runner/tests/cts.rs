//! Tests `cts-runner cts` from outside, with a deqp that misbehaves on purpose.
//!
//! Linux only: the mock of deqp is a shell script.
#![cfg(unix)]

mod cts_ledger;
mod cts_mock;

use cts_mock::{ACTS, Bench, act, rows, status};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Runs the mock process; it is not a test.
#[test]
#[ignore = "started by the other tests as the deqp process"]
fn mock_deqp() {
    cts_mock::run();
}

fn case(group: usize, act: &str, number: usize) -> String {
    format!("dEQP-VK.g{group}.{act}_{number:03}")
}

/// Checks that attempt 0 of every case occurs once, with the status of its act.
fn assert_first_attempts(bench: &Bench, file: &str, names: &[String]) {
    let mut first = BTreeMap::new();
    for (name, attempt, status) in bench.rows(file) {
        if attempt == 0 {
            assert_eq!(first.insert(name.clone(), status), None, "{name} is counted twice");
        }
    }
    let expected: BTreeMap<String, String> = names.iter().map(|n| (n.clone(), status(n).to_string())).collect();
    assert_eq!(first, expected);
}

fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z")
}

fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < Duration::from_secs(30), "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn every_misbehaviour_is_attributed_to_its_case() {
    let bench = Bench::new("all");
    let mut names: Vec<String> = ACTS.iter().map(|(act, _)| case(1, act, 0)).collect();
    names.extend((0..40).map(|i| case(i % 3, "pass", i)));
    bench.list(&names);
    let run = bench.run(&["--jobs", "2", "--timeout", "2", "--shard-size", "17"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_first_attempts(&bench, "out/results.csv", &names);
    let sleeper = std::fs::read_to_string(bench.path("state/sleeper")).unwrap();
    assert!(!alive(&sleeper), "what a hanging deqp started lives on");
    // No case with a result runs twice, whatever happened to its process.
    let starts = bench.starts();
    for name in names.iter().filter(|name| !["missing", "poison"].contains(&act(name))) {
        let times = starts.iter().filter(|line| line.ends_with(name.as_str())).count();
        assert_eq!(times, 1, "{name}");
    }
    assert!(run.out.contains("no case is to blame") && run.out.contains("Mock A"), "{}", run.out);
    assert!(!run.out.contains('\x1b') && !run.err.contains('\x1b'), "no colours where there is no terminal");
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    let page = read("out/report.html");
    assert!(page.contains("driver says: &lt;not good&gt;"), "the output of a failing case is in the page");
    assert!(page.contains("data:image/png;base64,iVBORw0="), "and so are its images");
    assert!(page.contains("driver: assertion failed"));
    let junit = read("out/junit.xml");
    let head = junit.lines().nth(1).unwrap();
    assert!(head.contains("tests=\"59\" failures=\"5\" errors=\"5\" skipped=\"1\""), "{head}");
    assert!(read("out/report.md").contains("Missing `dEQP-VK.g1.missing_000`"));
}

#[test]
fn no_case_is_lost_or_counted_twice_in_any_mixture() {
    for seed in 0..6_u64 {
        let bench = Bench::new(&format!("mixture{seed}"));
        let draw = |i: usize, limit: u64| cts_runner::cts::portion::hash(format!("{seed} {i}").as_bytes()) % limit;
        let acts = ACTS.len() as u64 - 1;
        let names: Vec<String> = (0..50)
            .map(|i| {
                let wild = draw(i, 5) < seed;
                let act = if wild { ACTS[draw(i + 1000, acts) as usize].0 } else { "pass" };
                case(draw(i + 2000, 4) as usize, act, i)
            })
            .collect();
        bench.list(&names);
        let (jobs, largest) = ((1 + seed % 3).to_string(), (5 + 11 * seed).to_string());
        let against = bench.path("B.json").display().to_string();
        let run = bench.run(&["--jobs", &jobs, "--shard-size", &largest, "--against", &against, "--json"]);
        assert!(matches!(run.code, Some(0 | 1)), "{run:?}");
        assert_first_attempts(&bench, "out/results.csv", &names);
        assert_first_attempts(&bench, "out/against.csv", &names);
        let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(json["cases"], 50);
        assert_eq!(json["comparisons"][0]["kinds"].as_array().map(Vec::len), Some(0), "both drivers do the same");
    }
}

#[test]
fn expectations_and_repetitions_leave_only_surprises() {
    let bench = Bench::new("expect");
    let names = ["fail", "crash", "flaky", "pass", "warn", "unsupported", "exit"].map(|act| case(1, act, 0));
    bench.list(&names);
    bench.write("expect/fails.txt", "dEQP-VK.g1.fail_*  wrong rounding\ndEQP-VK.g1.crash_000 [Crash] null pointer\n");
    bench.write("expect/skips.txt", "dEQP-VK.g1.exit_000  ends the process\n");
    let run = bench.run(&["--rerun-failures", "2"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    for wanted in ["ExpectedFail 2", "Flake 1", "Skip 1", "as expected"] {
        assert!(run.out.contains(wanted), "{wanted} is not in\n{}", run.out);
    }
    let attempts: Vec<_> = bench.rows("out/results.csv").into_iter().filter(|row| row.1 > 0).collect();
    assert_eq!(attempts, [(case(1, "flaky", 0), 1, "Pass".to_string())], "only what nothing explains is repeated");
    assert!(bench.starts().iter().all(|line| !line.contains("exit")), "a skipped case is not run");

    // Existing results are judged with other expectations, for which no deqp is needed.
    let before = bench.starts().len();
    bench
        .write("expect/fails.txt", "dEQP-VK.g1.fail_*  wrong\ndEQP-VK.g1.crash_000 wrong\ndEQP-VK.g1.pass_000 wrong\n");
    let run = bench.run(&["--rerun-failures", "2", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let surprises = json["surprises"].as_array().unwrap();
    let surprises: BTreeSet<_> = surprises.iter().map(|s| s["outcome"].as_str().unwrap()).collect();
    assert_eq!((run.code, surprises), (Some(1), BTreeSet::from(["Crash", "UnexpectedPass"])));
    let crash = format!("Mock A {}", case(1, "crash", 0));
    assert_eq!(bench.starts()[before..], [crash.clone(), crash], "the crash is no longer explained: two repetitions");
    bench.write("expect/fails.txt", "dEQP-VK.g1.fail_000\n");
    let run = bench.run(&[]);
    assert!(run.code == Some(2) && run.err.contains("fails.txt:1") && run.err.contains("no reason"), "{run:?}");
}

#[test]
fn a_killed_run_is_resumed() {
    let bench = Bench::new("resume");
    let names: Vec<String> = (0..80).map(|i| case(i % 4, if i == 3 { "crash" } else { "slow" }, i)).collect();
    bench.list(&names);
    let mut killed = bench.runner(&["--jobs", "2", "--json"]).spawn().unwrap();
    let results = bench.path("out/results.csv");
    wait_for("some results", || rows(&results).len() >= 12);
    let other = bench.run(&[]);
    assert!(other.code == Some(2) && other.err.contains("another cts-runner"), "{other:?}");
    killed.kill().unwrap();
    killed.wait().unwrap();
    // The processes of the runner end with it, so no further case starts.
    std::thread::sleep(Duration::from_millis(200));
    let (done, starts) = (rows(&results), bench.starts().len());
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(bench.starts().len(), starts, "a deqp outlives its runner");
    assert!((12..80).contains(&done.len()));
    // The file is changed as if the run had been killed in the middle of a line.
    let text = std::fs::read_to_string(&results).unwrap();
    std::fs::write(&results, format!("{text}{},0,Pa", case(0, "slow", 76))).unwrap();
    let run = bench.run(&["--jobs", "2", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, json["resumed"].as_u64()), (Some(1), Some(done.len() as u64)), "{run:?}");
    assert_first_attempts(&bench, "out/results.csv", &names);
    let later = &bench.starts()[starts..];
    for (name, ..) in done {
        assert!(!later.iter().any(|line| line.ends_with(&name)), "{name} runs again");
    }
    let left = std::fs::read_dir(bench.path("out"))
        .unwrap()
        .flatten()
        .filter(|e| e.path().display().to_string().contains("scratch"));
    assert_eq!(left.count(), 0, "files of killed runs are swept away");
    assert_eq!(bench.run(&["--json"]).code, Some(1), "a finished run only reports");
    assert_eq!(bench.starts().len(), starts + later.len());
}

#[test]
fn differences_to_another_driver_and_to_an_earlier_run() {
    let bench = Bench::new("against");
    let mut names: Vec<String> = (0..7).map(|i| case(1, "bdiff", i)).collect();
    bench.write("expect/flakes.txt", "dEQP-VK.g1.bdiff_006  fails now and then: no difference\n");
    names.extend((0..3).map(|i| case(2, "bonly", i)));
    names.extend((0..20).map(|i| case(3, "pass", i)));
    bench.list(&names);
    let against = bench.path("B.json").display().to_string();
    let run = bench.run(&["--against", &against]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let lines: Vec<&str> = run.out.lines().map(str::trim).collect();
    let at = lines.iter().position(|line| *line == "passes on Mock B, fails here (6)").expect(&run.out);
    assert!(
        lines[at + 1].starts_with("6 of 6") && lines[at + 1].contains("dEQP-VK.g1.*  Fail: not here"),
        "{}",
        run.out
    );
    assert_eq!(lines[at + 2], "supported on Mock B, not here (3)");
    assert!(run.out.contains("cases that pass on both sides") && run.out.contains("time there"));
    let drivers: BTreeSet<String> = bench.starts().iter().map(|line| line[..6].to_string()).collect();
    assert_eq!(drivers.len(), 2);

    // Driver B runs with A's results as the baseline.
    let old = bench.path("old.csv").display().to_string();
    std::fs::rename(bench.path("out/results.csv"), &old).unwrap();
    let out = bench.path("out-b").display().to_string();
    let run = bench.run(&["--icd", &against, "--baseline", &old, "--out", &out]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.contains(&format!("fails in {old}, passes here (6)")), "{}", run.out);
    assert!(run.out.contains(&format!("supported here, not in {old} (3)")));
}

#[test]
fn without_proof_of_the_driver_there_is_no_report() {
    let names = [case(1, "pass", 0), case(1, "pass", 1)];
    for (file, wanted) in [
        ("other_library", "was never loaded"),
        ("changes", "ran on \"Mock impostor\" instead of \"Mock A\""),
        ("nameless", "names no device"),
    ] {
        let bench = Bench::new(file);
        bench.list(&names);
        bench.write(&format!("state/{file}"), "");
        let run = bench.run(&[]);
        assert!(run.code == Some(2) && run.err.contains(wanted), "{file}: {run:?}");
        assert!(!bench.path("out/report.html").exists() && run.out.is_empty());
    }
    let bench = Bench::new("pattern");
    bench.list(&names);
    let run = bench.run(&["--device", "Grus*"]);
    assert!(run.code == Some(2) && run.err.contains("--device wants Grus*"), "{run:?}");
    assert_eq!(bench.run(&["--device", "Mock*"]).code, Some(0));
    // A run does not continue the results of another driver.
    let other = bench.path("B.json").display().to_string();
    let run = bench.run(&["--icd", &other]);
    assert!(run.code == Some(2) && run.err.contains("device was \"Mock A\" and is \"Mock B\""), "{run:?}");
    assert_eq!(bench.run(&["--icd", &other, "--fresh"]).code, Some(0));
}

#[test]
fn a_deqp_that_does_not_start_is_an_error_with_its_output() {
    let bench = Bench::new("dead");
    bench.list(&[case(1, "pass", 0)]);
    bench.write("state/dead", "");
    let run = bench.run(&[]);
    assert!(run.code == Some(2) && run.err.contains("cannot find libfoo.so.7"), "{run:?}");
    std::fs::remove_file(bench.path("state/dead")).unwrap();

    // The device starts at first and fails later.
    let names: Vec<String> = (0..60).map(|i| case(1, "slow", i)).collect();
    bench.list(&names);
    let running =
        bench.runner(&["--shard-size", "10", "--jobs", "1"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_for("some results", || bench.rows("out/results.csv").len() >= 12);
    bench.write("state/dead", "");
    let output = running.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && err.contains("three times in a row") && err.contains("libfoo.so.7"),
        "{err}"
    );
    // After the repair the run continues.
    std::fs::remove_file(bench.path("state/dead")).unwrap();
    assert_eq!(bench.run(&[]).code, Some(0));
    assert_first_attempts(&bench, "out/results.csv", &names);
}

#[test]
fn deqp_itself_lists_the_cases_when_there_is_no_list() {
    let bench = Bench::new("listed");
    let names: Vec<String> = (0..12).map(|i| case(i % 3, "pass", i)).collect();
    bench.write("state/all.txt", &(names.join("\n") + "\n"));
    let run = bench.run(&["--group", "g1", "--json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let ran: BTreeSet<String> = bench.rows("out/results.csv").into_iter().map(|row| row.0).collect();
    assert_eq!(ran, (0..12).filter(|i| i % 3 == 1).map(|i| case(1, "pass", i)).collect());
}

#[test]
fn portions_of_a_list_together_are_the_whole() {
    let bench = Bench::new("portion");
    let names: Vec<String> = (0..30).map(|i| case(i % 3, "pass", i)).collect();
    bench.list(&names);
    for part in 1..=3 {
        let portion = format!("{part}/3");
        assert_eq!(bench.run(&["--portion", &portion]).code, Some(0));
    }
    // Results of parts of one selection add up in one folder.
    assert_first_attempts(&bench, "out/results.csv", &names);
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let bench = Bench::new("usage");
    bench.list(&[case(1, "pass", 0)]);
    let help = bench.run(&["--help"]);
    assert_eq!((help.code, help.err.as_str()), (Some(0), ""));
    assert!(help.out.contains("the first run") && help.out.contains("examples"));
    let run = bench.run(&["--caselist", "/nowhere.txt"]);
    assert!(run.code == Some(2) && run.err.contains("/nowhere.txt"), "{run:?}");
    let run = bench.run(&["--case", "*.nothing"]);
    assert!(run.code == Some(2) && run.err.contains("no case is selected"), "{run:?}");
    let run = bench.run(&["--frobnicate"]);
    assert!(run.code == Some(2) && run.err.contains("--frobnicate"), "{run:?}");
}

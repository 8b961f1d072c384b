//! Tests `cts-runner cts --portion --ledger` and `cts-runner ledger` from outside: portions of all
//! cases on several machines are merged.

use crate::cts_mock::{Bench, Run, status};
use crate::{assert_first_attempts, case, wait_for};
use serde_json::Value;
use std::process::Command;

/// Returns all cases of the mock's CTS: mostly harmless ones, and all kinds of failures that do not
/// affect neighbouring cases.
fn all_cases(bench: &Bench) -> Vec<String> {
    const WILD: [&str; 10] =
        ["fail", "crash", "hang", "warn", "missing", "unsupported", "exit", "lost", "unsupported", "poison"];
    let act = |i: usize| if i.is_multiple_of(4) { WILD[i / 4 % WILD.len()] } else { "pass" };
    let names: Vec<String> = (0..40).map(|i| case(i % 3, act(i), i)).collect();
    bench.write("state/all.txt", &(names.join("\n") + "\n"));
    names
}

/// Runs a portion on a simulated machine with its own folder and ledger.
fn portion(bench: &Bench, portion: &str, machine: &str, more: &[&str]) -> Run {
    let mut command = bench.listless();
    command.arg("--out").arg(bench.path(&format!("out-{machine}")));
    command.arg("--ledger").arg(bench.path(&format!("{machine}.ledger")));
    Run::execute(command.args(["--portion", portion, "--timeout", "2"]).args(more))
}

fn ledger(bench: &Bench, machines: &[&str], more: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cts-runner"));
    command.arg("ledger").args(machines.iter().map(|machine| bench.path(&format!("{machine}.ledger"))));
    Run::execute(command.arg("--expect").arg(bench.path("expect")).args(more))
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{run:?}"))
}

/// Returns how many of the names have a status.
fn count(names: &[String], wanted: &str) -> u64 {
    names.iter().filter(|name| status(name) == wanted).count() as u64
}

#[test]
fn portions_of_all_cases_on_several_machines_make_a_complete_ledger() {
    let bench = Bench::new("machines");
    let names = all_cases(&bench);
    for machine in ["1", "2", "3"] {
        // The portion continues after a crash, a hang and a lost device, and its ledger is written.
        let run = portion(&bench, &format!("{machine}/3"), machine, &["--shard-size", "9", "--jobs", "2"]);
        assert_eq!(run.code, Some(1), "{run:?}");
    }
    let rows = |machine: &str| bench.rows(&format!("out-{machine}/results.csv"));
    let mut ran: Vec<String> = ["1", "2", "3"].iter().flat_map(|m| rows(m)).map(|row| row.0).collect();
    ran.sort();
    let mut wanted = names.clone();
    wanted.sort();
    assert_eq!(ran, wanted, "portions are disjoint and complete");

    let some = ledger(&bench, &["1", "3"], &["--json"]);
    assert_eq!(json(&some)["complete"], false, "{some:?}");
    assert_eq!(json(&some)["missing"][0]["portions"], "2/3");
    let out = bench.path("all.ledger").display().to_string();
    let page = bench.path("page.md").display().to_string();
    let whole = ledger(&bench, &["1", "3", "2"], &["--json", "--out", &out, "--markdown", &page]);
    let found = json(&whole);
    assert_eq!((whole.code, &found["complete"], &found["listed"]), (Some(1), &true.into(), &40.into()), "{whole:?}");
    for wanted in ["Pass", "NotSupported", "Warning", "Fail", "Crash", "Timeout", "Missing"] {
        assert_eq!(found["outcomes"][wanted], count(&names, wanted), "{wanted} {whole:?}");
    }
    let failures: Vec<&str> =
        found["failures"].as_array().unwrap().iter().map(|f| f["case"].as_str().unwrap()).collect();
    let failing = |name: &&String| !["Pass", "NotSupported", "Warning"].contains(&status(name));
    assert_eq!(failures.len(), names.iter().filter(failing).count());
    assert_eq!(found["warnings"][0]["text"], "QualityWarning: coarse");
    let page = std::fs::read_to_string(page).unwrap();
    for wanted in ["Complete: all 40 cases were run", "| dEQP-VK.g1 |", "mock-cts-1", "## Runs", "`dEQP-VK.g"] {
        assert!(page.contains(wanted), "{wanted} is not in\n{page}");
    }
    // The merged file is a regular ledger, and no case counts twice.
    let again = ledger(&bench, &["all", "2", "all"], &["--json"]);
    assert_eq!(json(&again), found);
    let text = ledger(&bench, &["1", "3"], &["--complete"]);
    assert!(text.out.contains("2/3 of all groups") && text.out.contains("not complete: "), "{}", text.out);

    // Expected failures are listed with their reasons, so none of them is a surprise.
    bench.write("expect/fails.txt", "dEQP-VK.*fail_* rounding\ndEQP-VK.*lost_* gone\n*missing_* [Missing] why\n");
    bench.write("expect/flakes.txt", "dEQP-VK.* by chance\n");
    let run = ledger(&bench, &["all"], &["--complete"]);
    assert!(run.code == Some(0) && run.out.contains("as expected") && run.out.contains("[by chance]"), "{run:?}");
    assert_eq!(ledger(&bench, &["1"], &["--complete"]).code, Some(1), "a third is not everything");
}

#[test]
fn one_folder_and_one_ledger_take_all_portions_and_list_the_cases_once() {
    let bench = Bench::new("onefolder");
    let names: Vec<String> = (0..30).map(|i| case(i % 3, "pass", i)).collect();
    bench.write("state/all.txt", &(names.join("\n") + "\n"));
    for part in 1..=4 {
        let run = portion(&bench, &format!("{part}/4"), "0", &[]);
        assert_eq!(run.code, Some(0), "{run:?}");
    }
    assert_first_attempts(&bench, "out-0/results.csv", &names);
    let found = json(&ledger(&bench, &["0"], &["--json"]));
    assert_eq!((&found["complete"], &found["runs"], &found["run"]), (&true.into(), &4.into(), &30.into()));
    let listings = || std::fs::read_to_string(bench.path("state/listings")).unwrap().lines().count();
    assert_eq!(listings(), 1);
    // Groups are selected from the stored list. Another deqp has another list.
    assert_eq!(portion(&bench, "1/1", "0", &["--group", "g2"]).code, Some(0));
    assert_eq!(listings(), 1);
    let script = std::fs::read_to_string(bench.path("deqp")).unwrap();
    bench.write("deqp", &(script + "# another build\n"));
    assert_eq!(portion(&bench, "1/2", "0", &[]).code, Some(0));
    assert_eq!(listings(), 2);
    // The whole group was run later than the portions. The half of all cases replaces two of the
    // portions completely.
    let text = std::fs::read_to_string(bench.path("0.ledger")).unwrap();
    let runs = |word: &str| text.lines().filter(|line| line.starts_with(&format!("{word}\t"))).count();
    assert_eq!(runs("run"), 4, "{text}");
    assert_eq!(json(&ledger(&bench, &["0"], &["--json"]))["complete"], true);
}

#[test]
fn a_killed_portion_is_resumed_and_recorded() {
    let bench = Bench::new("killedportion");
    let names: Vec<String> = (0..120).map(|i| case(i % 3, if i == 5 { "crash" } else { "slow" }, i)).collect();
    bench.write("state/all.txt", &(names.join("\n") + "\n"));
    let arguments = ["--portion", "2/2", "--jobs", "2"];
    let command = || {
        let mut command = bench.listless();
        command.args(arguments).arg("--ledger").arg(bench.path("k.ledger"));
        command
    };
    let mut killed = command().spawn().unwrap();
    wait_for("some results", || bench.rows("out/results.csv").len() >= 8);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let refused = ledger(&bench, &["k"], &[]);
    assert!(refused.code == Some(2) && refused.err.contains("k.ledger:1: not a ledger: it is empty"), "{refused:?}");
    let run = Run::execute(&mut command());
    assert!(matches!(run.code, Some(0 | 1)), "{run:?}");
    let found = json(&ledger(&bench, &["k"], &["--json"]));
    let held = bench.rows("out/results.csv").len() as u64;
    assert!((40..80).contains(&held));
    assert_eq!((&found["run"], &found["runs"]), (&held.into(), &1.into()));
    assert_eq!(found["missing"][0]["portions"], "1/2");
    let line = std::fs::read_to_string(bench.path("k.ledger")).unwrap();
    let line = line.lines().find(|line| line.starts_with("run\t")).unwrap().to_string();
    assert!(line.split('\t').nth(7).unwrap().parse::<u64>().unwrap() >= 8, "results of the killed call: {line}");
}

#[test]
fn a_later_run_replaces_an_earlier_one_case_by_case() {
    let bench = Bench::new("overlap");
    // Each flaky case fails in its first run and passes in all later ones.
    let names: Vec<String> = (0..40).map(|i| case(i % 2, if i % 5 == 0 { "flaky" } else { "pass" }, i)).collect();
    bench.write("state/all.txt", &(names.join("\n") + "\n"));
    let outcome = |word: &str| json(&ledger(&bench, &["m"], &["--json"]))["outcomes"][word].as_u64();
    assert_eq!(portion(&bench, "1/1", "m", &[]).code, Some(1));
    assert_eq!((outcome("Pass"), outcome("Fail")), (Some(32), Some(8)));
    let run = portion(&bench, "1/2", "m", &["--fresh"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let again = bench.rows("out-m/results.csv");
    let fixed = again.iter().filter(|row| row.0.contains("flaky")).count() as u64;
    assert!(fixed > 0 && (again.len() as u64) < 40);
    assert_eq!((outcome("Pass"), outcome("Fail")), (Some(32 + fixed), Some(8 - fixed)));
    assert_eq!(json(&ledger(&bench, &["m"], &["--json"]))["run"], 40);
    // The failed cases are run again from a list.
    let failing: Vec<String> = names.iter().filter(|name| name.contains("flaky")).cloned().collect();
    bench.list(&failing);
    let path = bench.path("list.txt").display().to_string();
    assert_eq!(portion(&bench, "1/1", "m", &["--fresh", "--caselist", &path]).code, Some(0));
    assert_eq!((outcome("Pass"), outcome("Fail")), (Some(40), Some(0)));
    assert_eq!(json(&ledger(&bench, &["m"], &["--json"]))["complete"], true);
}

#[test]
fn builds_are_not_mixed() {
    let bench = Bench::new("builds");
    let names: Vec<String> = (0..60).map(|i| case(i % 3, "slow", i)).collect();
    bench.write("state/all.txt", &(names.join("\n") + "\n"));
    assert_eq!(portion(&bench, "1/4", "one", &[]).code, Some(0));
    bench.write("libA.so", "another build");
    let starts = bench.starts().len();
    let run = portion(&bench, "2/4", "one", &[]);
    assert!(run.code == Some(2) && run.err.contains("build was") && run.err.contains("--fresh"), "{run:?}");
    let run = portion(&bench, "2/4", "one", &["--fresh"]);
    assert!(run.code == Some(2) && run.err.contains("a ledger is of one build"), "{run:?}");
    assert_eq!(bench.starts().len(), starts, "hours are not spent on a run that the ledger refuses");
    assert_eq!(portion(&bench, "2/4", "two", &[]).code, Some(0));
    let run = ledger(&bench, &["one", "two"], &[]);
    assert!(run.code == Some(2) && run.err.contains("two.ledger: a ledger is of one build"), "{run:?}");
    // The driver is replaced while the run continues.
    let mut command = bench.listless();
    command.args(["--portion", "1/1", "--jobs", "1"]).arg("--ledger").arg(bench.path("three.ledger"));
    let running = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_for("some results", || bench.rows("out/results.csv").len() >= 3);
    bench.write("libA.so", "a third one");
    let output = running.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && err.contains("was replaced while the run went on"), "{err}");
}

#[test]
fn wrong_usage_of_ledgers_is_exit_code_2() {
    let bench = Bench::new("ledgerusage");
    let help = ledger(&bench, &[], &["--help"]);
    assert!(help.code == Some(0) && help.out.contains("--markdown") && help.out.contains("K/16"), "{help:?}");
    assert_eq!(ledger(&bench, &[], &[]).code, Some(2));
    assert!(ledger(&bench, &["none"], &[]).err.contains("none.ledger"));
    bench.write("x.ledger", "cts-ledger\t9\n");
    let run = ledger(&bench, &["x"], &[]);
    assert!(run.code == Some(2) && run.err.contains("x.ledger:1: version 9 of the format"), "{run:?}");
    bench.write("state/all.txt", "dEQP-VK.g.pass_1\n");
    let run = portion(&bench, "3/2", "y", &[]);
    assert!(run.code == Some(2) && run.err.contains("K/N"), "{run:?}");
}

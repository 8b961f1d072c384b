//! Tests with constructed ledgers: merging, counting, and refused files.

use super::summary::Summary;
use super::*;
use crate::cts::listing::table_group;
use crate::cts::portion::hash;
use std::time::{Duration, UNIX_EPOCH};

/// Returns the cases of a constructed CTS.
fn names() -> Vec<String> {
    (0..600).map(|i| format!("dEQP-VK.g{}.sub.case_{i}", i % 3)).collect()
}

/// Returns the status of a case at an hour. Most cases pass, and cases that fail at first are fixed
/// by hour 100.
fn status(name: &str, hour: u64) -> Status {
    match hash(name.as_bytes()) / 7919 % 20 {
        0..6 => Status::NotSupported,
        6 => Status::Warning,
        7 if hour < 100 => Status::Fail,
        8 if hour >= 100 => Status::Crash,
        _ => Status::Pass,
    }
}

fn build(id: &str) -> Build {
    Build { cts: "mock-1".into(), driver: "Mock 1".into(), api: "1.3.0".into(), id: id.into() }
}

fn run(hour: u64, portion: &str, groups: &[&str]) -> Ledger {
    let scope = Scope { groups: groups.iter().map(|group| group.to_string()).collect(), ..Scope::default() };
    let mut run = Run {
        id: format!("{:016x}", hash(format!("{hour} {portion} {groups:?}").as_bytes())),
        start: UNIX_EPOCH + Duration::from_secs(hour * 3600),
        portion: Portion::exact(portion).unwrap(),
        scope,
        wall: 1000 + hour,
        busy: 2001,
        resumed: 0,
        device: "Mock A".into(),
        host: "Fast CPU, 2 threads".into(),
        deqp: "content-1".into(),
        counts: BTreeMap::new(),
        findings: BTreeMap::new(),
    };
    let mut totals = BTreeMap::new();
    for name in names().iter().filter(|name| run.scope.is_selected(name)) {
        *totals.entry(table_group(name).to_string()).or_default() += 1;
        if run.portion.contains_case(name) {
            let status = status(name, hour);
            run.counts.entry(table_group(name).into()).or_default().0[StatusCounts::index_of(&[status])] += 1;
            if !matches!(status, Status::Pass | Status::NotSupported) {
                let message = format!("{status} after 0x{hour:x} hours at R8_8");
                run.findings.insert(name.clone(), Finding { statuses: vec![status], millis: hour, message });
            }
        }
    }
    Ledger { build: build("b1"), totals, runs: vec![run] }
}

fn merged(ledgers: &[Ledger]) -> Ledger {
    let mut all = ledgers[0].clone();
    ledgers[1..].iter().for_each(|ledger| all.merge(ledger.clone()).unwrap());
    all
}

fn summary(ledger: &Ledger) -> Summary {
    Summary::new(ledger, std::path::Path::new("/nowhere")).unwrap()
}

/// Returns the tally of all cases, each at the hour that `when` returns.
fn truth(when: impl Fn(&str) -> u64) -> StatusCounts {
    let mut tally = StatusCounts::default();
    names().iter().for_each(|name| tally.0[StatusCounts::index_of(&[status(name, when(name))])] += 1);
    tally
}

#[test]
fn text_and_ledger_are_the_same() {
    let mut ledger = merged(&[run(1, "1/2", &[]), run(2, "2/2", &["g1"]), run(3, "3/4", &["g2.sub", "g1"])]);
    let scope = Scope { groups: vec!["a,b%".into()], cases: vec!["*.x y\t".into()], listed: true };
    let mut inconsistencies = run(4, "1/1", &[]).runs.remove(0);
    inconsistencies.findings.values_mut().for_each(|finding| finding.statuses.insert(0, Status::Fail));
    inconsistencies.findings.retain(|name, _| name.contains(".g1."));
    inconsistencies.counts = BTreeMap::from([(
        "dEQP-VK.g1".to_string(),
        StatusCounts([5, 0, 0, inconsistencies.findings.len() as u64, 0, 0, 0, 0]),
    )]);
    inconsistencies.findings.insert("dEQP-VK.g1.skipped".into(), Finding::default());
    inconsistencies.counts.get_mut("dEQP-VK.g1").unwrap().0[7] += 1;
    ledger
        .merge(Ledger {
            runs: vec![Run { scope: Scope { listed: true, ..Scope::default() }, ..inconsistencies }],
            ..ledger.clone()
        })
        .unwrap();
    let text = format::write(&ledger);
    assert_eq!(format::read(text.as_bytes()), Ok(ledger.clone()), "{text}");
    assert_eq!(format::write(&format::read(text.as_bytes()).unwrap()), text);
    ledger.runs[0].scope = scope;
    let hidden = format::write(&ledger);
    assert!(hidden.contains("\tgroup=a%2cb%25,case=*.x%20y%09,list\t"), "{hidden}");
}

#[test]
fn damaged_ledgers_are_refused_or_read_unchanged() {
    let text = format::write(&merged(&[run(1, "1/8", &[]), run(2, "2/8", &["g1"])]));
    let whole = text.trim_end().len();
    for cut in (0..whole).step_by(7) {
        let (line, why) = format::read(&text.as_bytes()[..cut]).unwrap_err();
        assert!(line <= text.lines().count() && !why.is_empty());
    }
    let lines: Vec<&str> = text.lines().collect();
    for gone in (0..lines.len()).filter(|&at| !lines[at].starts_with(['#', 't'])) {
        let rest: Vec<&str> = lines.iter().enumerate().filter(|&(at, _)| at != gone).map(|(_, line)| *line).collect();
        assert!(format::read(rest.join("\n").as_bytes()).is_err(), "without {}", lines[gone]);
    }
    for seed in 0..3000_u64 {
        let mut bytes = text.clone().into_bytes();
        let draw = |i: u64| hash(&(seed * 10 + i).to_le_bytes());
        for i in 0..=seed % 3 {
            let at = draw(i) as usize % bytes.len();
            const PIECES: &[u8] = b"\t\n,%0-9/\xff\x00aZ";
            bytes[at] = PIECES[draw(i + 5) as usize % PIECES.len()];
        }
        if let Ok(ledger) = format::read(&bytes) {
            show::page(&ledger, &summary(&ledger));
        }
    }
}

#[test]
fn format_errors_name_their_line() {
    let text = format::write(&run(1, "1/2", &[]));
    let fault = |from: &str, to: &str| format::read(text.replacen(from, to, 1).as_bytes()).unwrap_err();
    assert_eq!(fault("cts-ledger\t1", "cts-ledger\t2").0, 1);
    assert!(
        fault("cts-ledger\t1", "cts-ledger\t2").1.contains("version 2 of the format; this program reads version 1")
    );
    assert_eq!(format::read(b""), Err((1, "not a ledger: it is empty".into())));
    assert!(format::read(b"case,attempt\n").unwrap_err().1.contains("not a ledger"));
    assert_eq!(
        fault("total\tdEQP-VK.g1\t200", "total\tdEQP-VK.g1\tmany"),
        (9, "\"many\" where a number of cases should be".into())
    );
    assert_eq!(fault("total\tdEQP-VK.g1\t200", "total\tdEQP-VK.g0\t200"), (9, "dEQP-VK.g0 is there twice".into()));
    assert!(fault("\t1/2\t", "\ttoday/2\t").1.contains("no portion"));
    assert!(fault("\t1/2\t", "\t2/2\t").1.contains("not in portion"));
    assert!(fault("1970-01-01T01", "1970-13-01T01").1.contains("no time"));
    assert!(fault("\tFail\t", "\tFails\t").1.contains("no status"));
    assert!(fault("\tFail\t", "\tCrash\t").1.contains("counts"));
    assert!(fault("end\t1", "end\t2").1.contains("2 runs are announced and 1 are here"));
    assert_eq!(format::read(b"cts-ledger\t1\n\xff\n"), Err((2, "not UTF-8".into())));
}

#[test]
fn portions_of_several_machines_complete_a_run() {
    let parts: Vec<Ledger> = (1..=16).map(|part| run(part, &format!("{part}/16"), &[])).collect();
    let almost = summary(&merged(&parts[1..]));
    assert!(!almost.complete());
    assert_eq!(almost.missing(), [("1/16".to_string(), vec!["dEQP-VK.g0", "dEQP-VK.g1", "dEQP-VK.g2"])]);
    assert!(show::verdict(&almost).starts_with("not complete: "), "{}", show::verdict(&almost));
    let all = merged(&parts);
    let whole = summary(&all);
    assert!(whole.complete() && whole.missing().is_empty());
    assert_eq!((whole.total, whole.listed), (truth(|_| 1), Some(600)));
    // The order and the number of repetitions of the merged parts make no difference.
    let mut other = parts.clone();
    other.reverse();
    other.extend_from_slice(&parts[3..9]);
    other.push(merged(&parts[5..12]));
    assert_eq!(merged(&other), all);
    assert_eq!(whole.warnings.len(), 1, "{:?}", whole.warnings);
    assert!(whole.warnings[0].text.starts_with("Warning after N hours at R8_"), "{:?}", whole.warnings);
    let page = show::page(&all, &whole);
    assert!(page.contains("Complete: all 600 cases were run") && page.contains("| total | 600 | 600 |"), "{page}");
    assert!(page.contains("1970-01-01") && page.contains("mock-1") && page.contains("Fast CPU, 2 threads"));
}

#[test]
fn a_later_run_of_a_case_replaces_the_earlier_one() {
    // A later run of the same portion replaces the earlier run completely.
    let both = merged(&[run(1, "1/1", &[]), run(100, "1/1", &[])]);
    assert_eq!(both.runs.len(), 1);
    assert_eq!(summary(&both).total, truth(|_| 100));
    assert_eq!(merged(&[run(100, "1/1", &[]), run(1, "1/1", &[])]), both);
    // A later run of a finer portion or of a group replaces results case by case.
    let third = Portion { part: 3, of: 4 };
    let mixed = merged(&[run(1, "1/1", &[]), run(100, "3/4", &[]), run(101, "1/2", &["g1"])]);
    assert_eq!(mixed.runs.len(), 3);
    let when = |name: &str| {
        let again = Portion { part: 1, of: 2 }.contains_case(name) && name.contains(".g1.");
        if again || third.contains_case(name) { 101 } else { 1 }
    };
    let found = summary(&mixed);
    assert_eq!(found.total, truth(when));
    assert!(found.complete());
    let failing: Vec<&str> = found.failures.iter().map(|named| named.name.as_str()).collect();
    let expected = names().into_iter().filter(|name| status(name, when(name)).failed());
    assert_eq!(failing.len(), expected.clone().count());
    expected.for_each(|name| assert!(failing.contains(&name.as_str()), "{name}"));
    // An early fine portion inside a late coarse one no longer counts.
    assert_eq!(merged(&[run(1, "3/4", &[]), run(100, "1/2", &[])]).runs.len(), 1);
}

#[test]
fn a_group_is_complete_by_itself() {
    let found = summary(&merged(&[run(1, "1/2", &[]), run(2, "2/2", &["g1"])]));
    assert_eq!(found.missing(), [("2/2".to_string(), vec!["dEQP-VK.g0", "dEQP-VK.g2"])]);
    let only = summary(&run(2, "1/1", &["g1"]));
    assert!(!only.complete() && only.missing().is_empty() && only.listed.is_none());
    assert_eq!(only.groups.len(), 1);
    // A part of a group's cases does not make the group complete.
    assert!(!summary(&run(2, "1/1", &["g1.sub"])).groups[0].gaps.is_empty());
}

#[test]
fn builds_and_case_lists_do_not_mix() {
    let mut ledger = run(1, "1/2", &[]);
    let why = ledger.merge(Ledger { build: build("b2"), ..run(2, "2/2", &[]) }).unwrap_err();
    assert!(why.contains("build b1 and build b2 do not mix"), "{why}");
    let mut other = run(2, "2/2", &[]);
    other.build.cts = "mock-2".into();
    assert!(ledger.merge(other).unwrap_err().contains("CTS mock-1 and CTS mock-2"));
    let mut other = run(2, "2/2", &[]);
    other.totals.insert("dEQP-VK.g1".into(), 7);
    assert!(ledger.merge(other).unwrap_err().contains("200 cases in the one and 7 in the other"));
    let mut other = run(1, "1/2", &[]);
    other.runs[0].host = "another".into();
    assert!(ledger.merge(other).unwrap_err().contains("two different runs"));
}

#[test]
fn numbers_that_disagree_with_deqp_are_reported() {
    let mut ledger = run(1, "1/1", &[]);
    ledger.runs[0].counts.get_mut("dEQP-VK.g1").unwrap().0[0] -= 1;
    let found = summary(&ledger);
    assert!(!found.complete());
    assert_eq!(found.inconsistencies, ["dEQP-VK.g1: 199 cases were run and deqp lists 200"]);
}

#[test]
fn known_failures_are_reported_also_when_they_pass() {
    let folder = std::env::temp_dir().join(format!("cts-ledger-expect-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let ledger = run(1, "1/2", &[]);
    let failing = ledger.runs[0].findings.iter().find(|(_, finding)| finding.statuses == [Status::Fail]).unwrap().0;
    let passing =
        names().into_iter().find(|n| ledger.runs[0].portion.contains_case(n) && status(n, 1) == Status::Pass).unwrap();
    let absent = names().into_iter().find(|n| !ledger.runs[0].portion.contains_case(n)).unwrap();
    std::fs::write(folder.join("fails.txt"), format!("{failing} rounds\n{passing} mended\n{absent} not in it\n"))
        .unwrap();
    let found = Summary::new(&ledger, &folder).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let all = summary(&ledger).failures.len();
    assert_eq!(found.fixed, [(passing, "mended".to_string())]);
    assert_eq!(found.surprises(), all - 1 + 1);
    assert_eq!(
        found.failures.last().map(|n| (n.name.as_str(), n.reason.as_deref())),
        Some((failing.as_str(), Some("rounds")))
    );
}

#[test]
fn groups_contain_groups() {
    let of = |groups: &[&str]| Scope { groups: groups.iter().map(|g| g.to_string()).collect(), ..Scope::default() };
    let all = Scope::default();
    assert!(all.contains(&of(&["api"])) && all.contains(&all) && !of(&["api"]).contains(&all));
    assert!(of(&["api", "glsl"]).contains(&of(&["glsl.loops"])) && !of(&["glsl.loops"]).contains(&of(&["glsl"])));
    assert!(of(&["api"]).contains(&of(&["dEQP-VK.api"])) && !of(&["dEQP-VK.api"]).contains(&of(&["api"])));
    assert!(of(&["dEQP-VK.api"]).covers("dEQP-VK.api") && !of(&["api.smoke"]).covers("dEQP-VK.api"));
    assert!(!Scope { listed: true, ..Scope::default() }.covers("dEQP-VK.api"));
}

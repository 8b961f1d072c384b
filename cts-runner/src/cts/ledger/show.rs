//! Shows a ledger on the terminal and as the page `docs/conformance.md`.

use super::summary::{Group, NamedCase, Summary};
use super::{Ledger, Run, StatusCounts};
use crate::cts::progress::clock;
use crate::cts::report::markdown::{self, escape};
use crate::cts::report::table::Table;
use crate::cts::report::terminal;
use std::fmt::Write;
use std::time::Duration;

/// Maximum number of lines of a list on the terminal.
const LINES: usize = 40;

/// Returns a table with a row per group and a column for every outcome that occurred.
fn by_group(summary: &Summary) -> Table {
    let places: Vec<usize> = (0..StatusCounts::NAMES.len()).filter(|&place| summary.total.0[place] > 0).collect();
    let mut header = vec!["group".to_string(), "cases".into(), "run".into()];
    header.extend(places.iter().map(|&place| StatusCounts::NAMES[place].to_string()));
    let number = |count: u64| if count == 0 { String::new() } else { count.to_string() };
    let line = |name: &str, listed: Option<u64>, tally: &StatusCounts| {
        let listed = listed.map_or_else(|| "?".to_string(), |cases| cases.to_string());
        let mut cells = vec![name.to_string(), listed, tally.total().to_string()];
        cells.extend(places.iter().map(|&place| number(tally.0[place])));
        cells
    };
    let of = |group: &Group| line(&group.name, group.listed, &group.tally);
    let mut rows: Vec<Vec<String>> = summary.groups.iter().map(of).collect();
    rows.push(line("total", summary.listed, &summary.total));
    Table { header, rows }
}

fn by_run(ledger: &Ledger) -> Table {
    let header = ["run", "portion", "of", "cases", "time", "device", "host"].map(str::to_owned).to_vec();
    let row = |run: &Run| {
        let start = humantime::format_rfc3339_seconds(run.start).to_string();
        let time = clock(Duration::from_millis(run.wall));
        let time = if run.resumed > 0 { format!("{time} (+{} earlier)", run.resumed) } else { time };
        let (portion, cases) = (run.portion.to_string(), run.cases().to_string());
        vec![start, portion, scope(run), cases, time, run.device.clone(), run.host.clone()]
    };
    Table { header, rows: ledger.runs.iter().map(row).collect() }
}

fn scope(run: &Run) -> String {
    let mut words = [run.scope.groups.as_slice(), run.scope.cases.as_slice()].concat();
    words.extend(run.scope.listed.then(|| "a list".to_string()));
    if words.is_empty() { "all".into() } else { words.join(", ") }
}

/// Summarizes in one sentence how many of all cases were run, and with which result.
pub fn verdict(summary: &Summary) -> String {
    let total = summary.total.total();
    let much = match (summary.complete(), summary.listed) {
        (true, _) => format!("complete: all {total} cases were run"),
        (false, Some(listed)) => format!("not complete: {total} of {listed} cases were run"),
        (false, None) => format!("not complete: {total} cases were run, none of them drawn from all cases"),
    };
    match summary.surprises() {
        0 => format!("{much}; as expected"),
        1 => format!("{much}; 1 surprise"),
        surprises => format!("{much}; {surprises} surprises"),
    }
}

fn failure(named: &NamedCase) -> String {
    let statuses: Vec<&str> = named.finding.statuses.iter().map(|status| status.name()).collect();
    let times = if statuses.len() > 1 { format!(" ({})", statuses.join(", then ")) } else { String::new() };
    let reason = named.reason.as_ref().map(|reason| format!(" [{reason}]")).unwrap_or_default();
    format!("{}{times}{reason}", named.finding.message)
}

/// Returns the text for the terminal.
pub fn text(ledger: &Ledger, summary: &Summary) -> String {
    let mut out = String::new();
    terminal::draw(&mut out, &by_group(summary));
    out.push('\n');
    terminal::draw(&mut out, &by_run(ledger));
    let mut list = |title: &str, lines: Vec<String>| {
        if lines.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n{title} ({})", lines.len());
        for line in lines.iter().take(LINES) {
            let _ = writeln!(out, "  {line}");
        }
        if lines.len() > LINES {
            let _ = writeln!(out, "  ... and {} more in the ledger and in what --markdown writes", lines.len() - LINES);
        }
    };
    let named = |named: &NamedCase| format!("{:14}  {}  {}", named.outcome, named.name, failure(named));
    let (bad, known): (Vec<&NamedCase>, Vec<&NamedCase>) =
        summary.failures.iter().partition(|named| named.outcome.surprise());
    let kind = |kind: &super::summary::WarningKind| format!("{:6}  {}, first {}", kind.cases, kind.text, kind.example);
    list("warnings, by what they say", summary.warnings.iter().map(kind).collect());
    let slow = |named: &NamedCase| format!("{:>9}  {:12}  {}", clock(time(named)), named.outcome, named.name);
    list("slow cases", summary.slow.iter().map(slow).collect());
    list("known", known.into_iter().map(named).collect());
    list(
        "known to fail and did not",
        summary.fixed.iter().map(|(name, reason)| format!("{name}  [{reason}]")).collect(),
    );
    list("surprises", bad.into_iter().map(named).collect());
    list("numbers that disagree", summary.inconsistencies.clone());
    let missing = summary.missing();
    let place = |(gaps, groups): (String, Vec<&str>)| format!("{gaps} of {}", places(summary, &groups));
    list("missing portions", missing.into_iter().map(place).collect());
    let build = &ledger.build;
    let _ = writeln!(out, "\n{}, build {}\n{}", build.driver, build.id, build.cts);
    let _ = writeln!(out, "{}", verdict(summary));
    out
}

fn time(named: &NamedCase) -> Duration {
    Duration::from_millis(named.finding.millis)
}

fn places(summary: &Summary, groups: &[&str]) -> String {
    if groups.len() == summary.groups.len() { "all groups".into() } else { groups.join(", ") }
}

/// Returns the page in Markdown.
pub fn page(ledger: &Ledger, summary: &Summary) -> String {
    let mut out = "# Conformance\n\n".to_string();
    let build = &ledger.build;
    let days: Vec<String> = ledger
        .runs
        .iter()
        .map(|run| humantime::format_rfc3339_seconds(run.start).to_string()[..10].to_string())
        .collect();
    let dates = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first == last => first.clone(),
        (Some(first), Some(last)) => format!("{first} to {last}"),
        _ => "never".into(),
    };
    let mut hosts: Vec<&str> = ledger.runs.iter().map(|run| run.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let _ = writeln!(out, "{}.\n", capital(&verdict(summary)));
    let facts = [
        ("date", dates),
        ("CTS", build.cts.clone()),
        ("driver", format!("{}, Vulkan {}", build.driver, build.api)),
        ("build", build.id.clone()),
        ("host", hosts.join("; ")),
    ];
    out += "| | |\n|---|---|\n";
    for (what, text) in facts {
        let _ = writeln!(out, "| {what} | {} |", escape(&text));
    }
    out += "\n## Outcomes by group\n\n";
    markdown::draw(&mut out, &by_group(summary));
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n## {title} ({})\n\n{}", lines.len(), lines.join("\n"));
        }
    };
    let named = |named: &NamedCase| format!("- {} `{}` {}", named.outcome, named.name, escape(&failure(named)));
    let of = |surprise: bool| -> Vec<String> {
        summary.failures.iter().filter(|named| named.outcome.surprise() == surprise).map(named).collect()
    };
    let place = |(gaps, groups): (String, Vec<&str>)| format!("- {gaps} of {}", places(summary, &groups));
    section("Missing portions", summary.missing().into_iter().map(place).collect());
    section(
        "Numbers that disagree",
        summary.inconsistencies.iter().map(|line| format!("- {}", escape(line))).collect(),
    );
    section("Surprises", of(true));
    section("Known failures, flakes and cases that are not run", of(false));
    let fixed = |(name, reason): &(String, String)| format!("- `{name}` {}", escape(reason));
    section("Known to fail and did not", summary.fixed.iter().map(fixed).collect());
    let kind = |kind: &super::summary::WarningKind| {
        format!("- {}: {} (first: `{}`)", kind.cases, escape(&kind.text), kind.example)
    };
    section("Warnings by what they say", summary.warnings.iter().map(kind).collect());
    let slow = |named: &NamedCase| format!("- {} `{}` {}", clock(time(named)), named.name, named.outcome);
    section("Cases over 5 s", summary.slow.iter().map(slow).collect());
    out += "\n## Runs\n\n";
    markdown::draw(&mut out, &by_run(ledger));
    out
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

//! The report as JUnit XML, which CI systems show. It has a suite per group, and a failure or error
//! for each surprise.
//!
//! The suites contain the rows of the report. If there are very many cases, these are the cases
//! that neither passed nor are unsupported. The numbers at the top include all cases.

use super::{Outcome, Report, Row};
use crate::cts::status::Status;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the XML text.
pub fn render(report: &Report) -> String {
    let mut suites: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &report.rows {
        suites.entry(split(&row.name).0).or_default().push(row);
    }
    // A report of very many cases has rows for only some of them. The others passed or are
    // unsupported.
    let count = |outcome: Outcome| report.counts().get(outcome);
    let unlisted = if report.has_every_row() { 0 } else { count(Outcome::Is(Status::NotSupported)) };
    let listed = Totals::from_rows(&report.rows.iter().collect::<Vec<_>>());
    let total = Totals { tests: report.cases, skipped: listed.skipped + unlisted, seconds: report.seconds(), ..listed };
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"{}\" {}>", escape(&report.device.describe()), total.attributes());
    for (name, rows) in suites {
        let _ = writeln!(out, " <testsuite name=\"{}\" {}>", escape(name), Totals::from_rows(&rows).attributes());
        rows.iter().for_each(|row| case(&mut out, row));
        out.push_str(" </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// Returns the child element of a case, as its name and message; `None` if the case needs none.
fn element(row: &Row) -> Option<(&'static str, String)> {
    let reason = || row.reason.clone().unwrap_or_default();
    match row.outcome {
        Outcome::Is(Status::Pass | Status::Warning) => None,
        Outcome::Is(Status::NotSupported) => Some(("skipped", format!("not supported: {}", row.message))),
        Outcome::Skip => Some(("skipped", format!("not run: {}", reason()))),
        Outcome::ExpectedFail => Some(("skipped", format!("fails as expected: {}", reason()))),
        Outcome::Flake => Some(("skipped", format!("flake: {} {}", row.why(), reason()))),
        Outcome::UnexpectedPass => Some(("failure", format!("passes, but is expected to fail: {}", reason()))),
        Outcome::Is(Status::Fail) => Some(("failure", row.why())),
        Outcome::Is(Status::Crash | Status::Timeout | Status::Missing) => Some(("error", row.why())),
    }
}

fn case(out: &mut String, row: &Row) {
    let (group, name) = split(&row.name);
    let (group, name) = (escape(group), escape(name));
    let _ = write!(out, "  <testcase classname=\"{group}\" name=\"{name}\" time=\"{:.3}\"", row.seconds);
    let _ = match element(row) {
        None => writeln!(out, "/>"),
        Some((element, why)) => {
            let (kind, why) = (row.outcome.name(), escape(why.trim()));
            writeln!(out, "><{element} type=\"{kind}\" message=\"{why}\"/></testcase>")
        }
    };
}

#[derive(Default)]
struct Totals {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    seconds: f64,
}

impl Totals {
    fn from_rows(rows: &[&Row]) -> Self {
        let mut totals = Totals { tests: rows.len(), ..Totals::default() };
        for row in rows {
            totals.seconds += row.seconds;
            match element(row) {
                Some(("failure", _)) => totals.failures += 1,
                Some(("error", _)) => totals.errors += 1,
                Some(_) => totals.skipped += 1,
                None => {}
            }
        }
        totals
    }

    fn attributes(&self) -> String {
        let Totals { tests, failures, errors, skipped, seconds } = self;
        format!(
            "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{seconds:.3}\""
        )
    }
}

/// Splits a name into its group and its last component.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

/// Escapes text for an attribute. Characters that XML 1.0 cannot contain are replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surprises_are_failures_and_errors_and_nothing_else_is() {
        let xml = render(&super::super::tests::sample());
        let head = xml.lines().nth(1).unwrap();
        assert!(head.contains("tests=\"12\" failures=\"2\" errors=\"3\" skipped=\"4\""), "{head}");
        assert_eq!(xml.matches("<testcase ").count(), 12);
        assert_eq!(xml.matches("<failure ").count() + xml.matches("<error ").count(), 5);
        assert!(xml.contains("a &lt; b &amp; &quot;c&quot;"));
    }

    #[test]
    fn text_is_escaped_in_xml() {
        assert_eq!(escape("a\u{1}\n\"<&>"), "a\u{fffd} &quot;&lt;&amp;&gt;");
    }
}

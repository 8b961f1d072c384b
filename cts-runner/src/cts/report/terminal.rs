//! The report as text for the terminal.

use super::table::{self, Table};
use super::{Report, Row};
use crate::cts::diff::Comparison;
use crate::cts::progress::clock;
use std::fmt::Write;
use std::path::Path;

/// Maximum number of surprises that are listed individually.
const SURPRISES: usize = 30;
/// Maximum number of groups per kind of difference.
const GROUPS: usize = 12;

/// Returns the text, with colours if `colour` is set.
pub fn render(report: &Report, folder: &Path, colour: bool) -> String {
    let paint = |code: &str, text: &str| if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() };
    let mut out = String::new();
    let surprises = report.surprises();
    draw(&mut out, &table::by_group(report));
    out.push('\n');
    draw(&mut out, &table::slowest(report));
    let flakes: Vec<&Row> = report.rows.iter().filter(|row| row.outcome == super::Outcome::Flake).collect();
    list(&mut out, "flakes", &flakes);
    for comparison in &report.comparisons {
        compare(&mut out, comparison, &paint);
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    list(&mut out, &paint("1;31", "surprises"), &surprises);
    let _ = writeln!(out, "\n{}", report.device.describe());
    let _ = writeln!(out, "{}", library(report));
    let resumed = match report.resumed {
        0 => String::new(),
        resumed => format!(" ({resumed} results are from an earlier call; --fresh starts over)"),
    };
    let _ = writeln!(out, "{} cases in {}{resumed}: {}", report.cases, clock(report.wall), report.counts());
    out.push_str(&processor(report));
    let verdict = match surprises.len() {
        0 => paint("1;32", "as expected"),
        1 => paint("1;31", "1 surprise"),
        count => paint("1;31", &format!("{count} surprises")),
    };
    let _ = writeln!(out, "{verdict}; details: {}", folder.join("report.html").display());
    out
}

/// Describes the processor time of a call that ran all of its cases. Other load of the machine does
/// not change it much, so it shows what all portions take.
fn processor(report: &Report) -> String {
    if report.resumed > 0 || report.processor.is_zero() {
        return String::new();
    }
    let each = report.processor.as_secs_f64() * 1e3 / report.cases.max(1) as f64;
    let (time, of) = (clock(report.processor), report.portion.of);
    let all = match u32::try_from(of) {
        Ok(2..) if report.other.is_none() => {
            format!("; all {of} portions: about {} on two processors", clock(report.processor * of as u32 / 2))
        }
        _ => String::new(),
    };
    format!("processor time of deqp: {time}, {each:.1} ms per case{all}\n")
}

/// Describes how well it is proven which driver ran.
pub fn library(report: &Report) -> String {
    match &report.device.library {
        Some(path) => format!("proven: deqp loaded {} and logged this device in every process", path.display()),
        None => "deqp logged this device in every process; which library it loaded could not be seen here".into(),
    }
}

fn list(out: &mut String, title: &str, rows: &[&Row]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}");
    for row in rows.iter().take(SURPRISES) {
        let reason = row.reason.as_ref().map(|reason| format!("  [{reason}]")).unwrap_or_default();
        let _ = writeln!(out, "  {:14}  {}  {}{reason}", row.outcome, row.name, short(&row.why()));
    }
    if rows.len() > SURPRISES {
        let _ = writeln!(out, "  ... and {} more in report.md", rows.len() - SURPRISES);
    }
}

fn compare(out: &mut String, comparison: &Comparison, paint: &impl Fn(&str, &str) -> String) {
    let _ = writeln!(out, "\ncompared {}: {} cases", comparison.with, comparison.compared);
    for kind in &comparison.kinds {
        let title = format!("{} ({})", kind.title, kind.cases);
        let _ = writeln!(out, "  {}", paint(if kind.worse { "1;31" } else { "1;32" }, &title));
        for group in kind.groups.iter().take(GROUPS) {
            let _ = writeln!(
                out,
                "    {:>5} of {:<5}  {}  {}",
                group.cases,
                group.of,
                group.pattern,
                short(&group.example)
            );
        }
        if kind.groups.len() > GROUPS {
            let _ = writeln!(out, "    ... and {} more groups in report.md", kind.groups.len() - GROUPS);
        }
    }
    if comparison.kinds.is_empty() {
        let _ = writeln!(out, "  no case differs");
    }
    let _ = writeln!(out, "  {}", times(comparison));
}

/// Returns the total times of both sides.
pub fn times(comparison: &Comparison) -> String {
    let [here, there] = comparison.seconds.map(table::time);
    let ratio = comparison.seconds[1] / comparison.seconds[0];
    let ratio = if ratio.is_finite() { format!(" ({ratio:.2} times the time here)") } else { String::new() };
    format!("cases that pass on both sides: {here} here, {there} {}{ratio}", comparison.with)
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().take(100).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Draws a table in columns.
pub(crate) fn draw(out: &mut String, table: &Table) {
    let all = || std::iter::once(&table.header).chain(&table.rows);
    let widths: Vec<usize> =
        (0..table.header.len()).map(|i| all().map(|row| row[i].chars().count()).max().unwrap_or(0)).collect();
    for row in all() {
        let mut line = format!("{:width$}", row[0], width = widths[0]);
        for (cell, &width) in row.iter().zip(&widths).skip(1) {
            let _ = write!(line, "  {cell:>width$}");
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cts::portion::Portion;

    #[test]
    fn processor_time_of_a_portion_is_scaled_to_all() {
        let mut report = super::super::tests::sample();
        assert_eq!(processor(&report), "", "a resumed call did not run all cases");
        report.resumed = 0;
        report.cases = 1000;
        assert_eq!(processor(&report), "processor time of deqp: 8.0 s, 8.0 ms per case\n");
        report.other = None;
        report.portion = Portion { part: 3, of: 16 };
        let expected =
            "processor time of deqp: 8.0 s, 8.0 ms per case; all 16 portions: about 1:04 min on two processors\n";
        assert_eq!(processor(&report), expected);
    }

    #[test]
    fn the_text_has_what_matters_and_no_colour_when_not_wanted() {
        let report = super::super::tests::sample();
        let text = render(&report, Path::new("out"), false);
        let wanted = [
            "5 surprises",
            "passes on llvmpipe, fails here (1)",
            "note: deqp hung",
            "Crash           dEQP-VK.api.Crash.x",
        ];
        for wanted in wanted {
            assert!(text.contains(wanted), "{wanted} is not in\n{text}");
        }
        assert!(!text.contains('\x1b') && render(&report, Path::new("out"), true).contains("\x1b[1;31m"));
    }
}

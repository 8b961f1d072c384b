//! The report as Markdown, for a comment on a change or a page of a project.

use super::table::{self, Table};
use super::{Outcome, Report, Row, terminal};
use std::fmt::Write;

/// Maximum number of groups per kind of difference.
const GROUPS: usize = 500;

/// Returns the Markdown text.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# CTS on {}\n", escape(&report.device.describe()));
    let _ = writeln!(out, "{}. {}.\n", escape(&report.device.release), escape(&terminal::library(report)));
    let _ = writeln!(out, "{} cases: {}\n", report.cases, report.counts());
    draw(&mut out, &table::by_group(report));
    let section = |out: &mut String, title: &str, pick: &dyn Fn(&Row) -> bool| {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| pick(row)).collect();
        list(out, title, &rows);
    };
    section(&mut out, "Surprises", &|row| row.outcome.surprise());
    section(&mut out, "Flakes", &|row| row.outcome == Outcome::Flake);
    section(&mut out, "Expected failures", &|row| row.outcome == Outcome::ExpectedFail);
    section(&mut out, "Not run", &|row| row.outcome == Outcome::Skip);
    for comparison in &report.comparisons {
        let _ = writeln!(out, "\n## Compared {}\n", escape(&comparison.with));
        let _ = writeln!(out, "{} cases; {}.", comparison.compared, escape(&terminal::times(comparison)));
        for kind in &comparison.kinds {
            let _ = writeln!(out, "\n### {} ({})\n", escape(&kind.title), kind.cases);
            for group in kind.groups.iter().take(GROUPS) {
                let _ =
                    writeln!(out, "- {} of {}: `{}` {}", group.cases, group.of, group.pattern, escape(&group.example));
            }
            if kind.groups.len() > GROUPS {
                let _ = writeln!(out, "- and {} more groups", kind.groups.len() - GROUPS);
            }
        }
    }
    out.push('\n');
    draw(&mut out, &table::slowest(report));
    for note in &report.notes {
        let _ = writeln!(out, "\nNote: {}", escape(note));
    }
    out
}

fn list(out: &mut String, title: &str, rows: &[&Row]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## {title} ({})\n", rows.len());
    for row in rows {
        let reason = row.reason.as_ref().map(|reason| format!(" ({})", escape(reason))).unwrap_or_default();
        let _ = writeln!(out, "- {} `{}` {}{reason}", row.outcome, row.name, escape(&row.why()));
    }
}

/// Writes a table.
pub(crate) fn draw(out: &mut String, table: &Table) {
    let line =
        |cells: &[String]| format!("| {} |", cells.iter().map(|cell| escape(cell)).collect::<Vec<_>>().join(" | "));
    let _ = writeln!(out, "{}", line(&table.header));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(table.header.len().saturating_sub(1)));
    for row in &table.rows {
        let _ = writeln!(out, "{}", line(row));
    }
}

/// Escapes all characters that have a meaning in Markdown.
pub(crate) fn escape(text: &str) -> String {
    let special = |c: char| matches!(c, '|' | '<' | '>' | '*' | '_' | '`' | '[' | ']' | '\\');
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let text = render(&super::super::tests::sample());
        assert!(text.contains("## Surprises (5)") && text.contains("### passes on llvmpipe, fails here (1)"));
        assert!(text.contains("known \\| \\<since\\> 1.0"));
        let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        assert!(table.len() > 12);
        assert!(table[..12].windows(2).all(|pair| bars(pair[0]) == bars(pair[1])), "{table:#?}");
    }
}

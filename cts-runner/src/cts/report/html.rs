//! The report as one HTML page that needs no other file and no network. It shows bars per group,
//! differences, each failing case with its log, output and images, and a search over the rows.
//!
//! All external text is escaped where it is written ([`escape`]). The script of the page inserts
//! text with `textContent` only. The name of a row is stored with the length of the prefix that it
//! shares with the previous one, so a hundred thousand names take a few MB.

use super::table::{self, Table};
use super::{Outcome, Report, Row, image, terminal};
use crate::cts::diff::Comparison;
use crate::cts::progress::clock;
use crate::cts::qpa::{self, Part};
use std::fmt::Write;

/// Maximum number of bytes of a case's text on the page.
const TEXT_LIMIT: usize = 64 << 10;
/// Maximum number of images per case on the page.
const IMAGES: usize = 12;
/// Maximum number of bytes of images on the whole page.
const IMAGE_BUDGET: usize = 48 << 20;
/// Maximum number of cases with their logs.
const CASES: usize = 2000;
/// Maximum number of groups per kind of difference.
const GROUPS: usize = 500;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// Returns the page.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    let device = escape(&report.device.describe());
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>CTS on {device}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\n\
         <h1>CTS on {device}</h1>\n<p>{} cases in {}. {}. {}.</p>\n",
        report.cases,
        clock(report.wall),
        escape(&report.device.release),
        escape(&terminal::library(report))
    );
    legend(&mut out, report);
    out.push_str("<p><input id=\"search\" type=\"search\" placeholder=\"search the cases: words of the name or an outcome\"></p>\n\
                  <ol id=\"found\"></ol>\n");
    if !report.has_every_row() {
        out.push_str("<p>Of so many cases, only those that neither passed nor are unsupported are found here; results.csv has all.</p>\n");
    }
    groups(&mut out, report);
    report.comparisons.iter().for_each(|comparison| compare(&mut out, comparison));
    cases(&mut out, report);
    draw(&mut out, &table::slowest(report));
    for note in &report.notes {
        let _ = writeln!(out, "<p>Note: {}</p>", escape(note));
    }
    let _ = write!(out, "<script type=\"text/plain\" id=\"cases\">\n{}</script>\n", names(report));
    let outcomes: Vec<&str> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
    let _ = write!(out, "<script>const outcomes = {outcomes:?};\n{SCRIPT}</script>\n</body></html>\n");
    out
}

fn legend(out: &mut String, report: &Report) {
    let counts = report.counts();
    out.push_str("<p class=\"legend\">");
    for (outcome, count) in counts.nonzero() {
        let _ = write!(out, "<span class=\"{outcome}\">{outcome} {count}</span> ");
    }
    out.push_str("</p>\n");
}

fn groups(out: &mut String, report: &Report) {
    out.push_str("<h2>Groups</h2>\n<table class=\"groups\">");
    for group in report.groups() {
        let total = group.counts.total();
        let _ = write!(out, "<tr><td>{}</td><td class=\"bar\"><div>", escape(&group.name));
        for (outcome, count) in group.counts.nonzero() {
            let share = 100.0 * count as f64 / total as f64;
            let _ = write!(out, "<i class=\"{outcome}\" style=\"width:{share:.3}%\" title=\"{outcome} {count}\"></i>");
        }
        let _ = writeln!(out, "</div></td><td>{total}</td><td>{}</td></tr>", table::time(group.seconds));
    }
    out.push_str("</table>\n<details><summary>as numbers</summary>");
    draw(out, &table::by_group(report));
    out.push_str("</details>\n");
}

fn compare(out: &mut String, comparison: &Comparison) {
    let _ = writeln!(out, "<h2>Compared {}</h2>", escape(&comparison.with));
    let _ = writeln!(out, "<p>{} cases; {}.</p>", comparison.compared, escape(&terminal::times(comparison)));
    for kind in &comparison.kinds {
        let open = if kind.worse { " open" } else { "" };
        let _ = writeln!(out, "<details{open}><summary>{} ({})</summary><ul>", escape(&kind.title), kind.cases);
        for group in kind.groups.iter().take(GROUPS) {
            let (pattern, example) = (escape(&group.pattern), escape(&group.example));
            let _ = writeln!(out, "<li>{} of {}: <code>{pattern}</code> {example}</li>", group.cases, group.of);
        }
        let more = kind.groups.len().saturating_sub(GROUPS);
        let more = if more > 0 { format!("<li>and {more} more groups</li>") } else { String::new() };
        let _ = writeln!(out, "{more}</ul></details>");
    }
}

/// Writes the cases to inspect: surprises, then flakes, expected failures and warnings.
fn cases(out: &mut String, report: &Report) {
    let mut rows = report.surprises();
    let expected = [Outcome::Flake, Outcome::ExpectedFail, Outcome::Is(super::Status::Warning)];
    for outcome in expected {
        rows.extend(report.rows.iter().filter(|row| row.outcome == outcome));
    }
    let _ = writeln!(out, "<h2>Cases with something to look at ({})</h2>", rows.len());
    let mut budget = IMAGE_BUDGET;
    for row in rows.iter().take(CASES) {
        case(out, row, &mut budget);
    }
    if rows.len() > CASES {
        let _ = writeln!(out, "<p>and {} more; their logs are in the folder <code>logs</code></p>", rows.len() - CASES);
    }
}

fn case(out: &mut String, row: &Row, budget: &mut usize) {
    let (outcome, name, why) = (row.outcome, escape(&row.name), escape(&row.why()));
    let title = format!("<span class=\"{outcome}\">{outcome}</span> <code>{name}</code> {why}");
    let _ = writeln!(out, "<details class=\"case\"><summary>{title}</summary>");
    let attempts: Vec<&str> = row.attempts.iter().map(|status| status.name()).collect();
    let _ = write!(out, "<p>{}, {}", attempts.join(", then "), table::time(row.seconds));
    if let Some(reason) = &row.reason {
        let _ = write!(out, "; known: {}", escape(reason));
    }
    out.push_str("</p>\n");
    if let Some([log, output]) = &row.logs {
        let read =
            |path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        log_parts(out, &qpa::document(&read(log)), budget);
        let output = read(output);
        if !output.trim().is_empty() {
            let _ = writeln!(out, "<h4>printed while it ran</h4><pre>{}</pre>", escape(&output));
        }
    }
    out.push_str("</details>\n");
}

fn log_parts(out: &mut String, parts: &[Part], budget: &mut usize) {
    let (mut text, mut images) = (0, 0);
    for part in parts {
        match part {
            Part::Title(title) if text < TEXT_LIMIT => {
                text += title.len();
                let _ = writeln!(out, "<h4>{}</h4>", escape(title));
            }
            Part::Text(lines) if text < TEXT_LIMIT => {
                let cut = lines.floor_char_boundary(lines.len().min(TEXT_LIMIT - text));
                text += lines.len();
                let more = if cut < lines.len() { "\n… (the rest is in the folder logs)" } else { "" };
                let _ = writeln!(out, "<pre>{}{more}</pre>", escape(&lines[..cut]));
            }
            Part::Image(image) if images < IMAGES => {
                let Some(data) = image::png(image).filter(|data| data.len() <= *budget) else { continue };
                *budget -= data.len();
                images += 1;
                let (title, width, height) = (escape(&image.title), image.width, image.height);
                let _ = writeln!(
                    out,
                    "<figure><img src=\"data:image/png;base64,{data}\" alt=\"{title}\"><figcaption>{title}, {width}×{height}\
                     </figcaption></figure>"
                );
            }
            _ => {}
        }
    }
}

/// Returns the names of the rows: shared length, rest, outcome, milliseconds.
fn names(report: &Report) -> String {
    let mut out = String::new();
    let mut before = "";
    for row in &report.rows {
        let shared = before.bytes().zip(row.name.bytes()).take_while(|(a, b)| a == b).count();
        let shared = row.name.floor_char_boundary(shared);
        let outcome = Outcome::ALL.iter().position(|&o| o == row.outcome).unwrap_or(0);
        // The text must not contain characters that end the HTML element.
        let rest = row.name[shared..].replace(['<', '|'], "_");
        let _ = writeln!(out, "{shared}|{rest}|{outcome}|{:.0}", row.seconds * 1e3);
        before = &row.name;
    }
    out
}

fn draw(out: &mut String, table: &Table) {
    let line = |cell: &str, cells: &[String]| -> String {
        cells.iter().map(|text| format!("<{cell}>{}</{cell}>", escape(text))).collect()
    };
    let _ = writeln!(out, "<table><tr>{}</tr>", line("th", &table.header));
    for row in &table.rows {
        let _ = writeln!(out, "<tr>{}</tr>", line("td", row));
    }
    out.push_str("</table>\n");
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\0' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_complete_and_text_is_escaped() {
        let folder = std::env::temp_dir().join(format!("cts-html-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let logs = [folder.join("a.qpa"), folder.join("a.out")];
        let image = "<Image Name=\"Result\" Width=\"2\" Height=\"1\" Format=\"RGBA8888\" CompressionMode=\"PNG\">iVBORw0=</Image>";
        std::fs::write(&logs[0], format!("<TestCaseResult>\n<Text>x &lt;/pre&gt;</Text>\n{image}")).unwrap();
        std::fs::write(&logs[1], "thread panicked <here>").unwrap();
        let mut report = super::super::tests::sample();
        report.rows[6].logs = Some(logs);
        report.rows[7].message = "</details><script>alert(1)</script>".into();
        let page = render(&report);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(page.contains("<pre>x &lt;/pre&gt;</pre>") && page.contains("thread panicked &lt;here&gt;"));
        assert!(page.contains("src=\"data:image/png;base64,iVBORw0=\" alt=\"Result\""));
        assert!(!page.contains("<script>alert"));
        for (open, close) in
            [("<details", "</details>"), ("<script", "</script>"), ("<table", "</table>"), ("<ul", "</ul>")]
        {
            assert_eq!(page.matches(open).count(), page.matches(close).count(), "{open}");
        }
        // The page loads no file from outside.
        assert!(!page.contains("http") && !page.contains("src=\"/"));
    }

    #[test]
    fn names_can_be_put_together_again() {
        let report = super::super::tests::sample();
        let mut before = String::new();
        for (line, row) in names(&report).lines().zip(&report.rows) {
            let fields: Vec<&str> = line.split('|').collect();
            before = format!("{}{}", &before[..fields[0].parse::<usize>().unwrap()], fields[1]);
            assert_eq!(before, row.name);
            assert_eq!(Outcome::ALL[fields[2].parse::<usize>().unwrap()], row.outcome);
        }
    }
}

//! Tables of the reports, as text in cells. The formats only draw them.

use super::{Group, Report};
use crate::cts::progress::clock;
use crate::cts::status::Outcome;
use std::time::Duration;

/// A table. The first column is text, the others are numbers.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Table {
    /// Titles of the columns.
    pub header: Vec<String>,
    /// Cells by row.
    pub rows: Vec<Vec<String>>,
}

/// Returns a table of the groups with a column per outcome that occurred, times, and the other
/// driver.
pub fn by_group(report: &Report) -> Table {
    let counts = report.counts();
    let outcomes: Vec<Outcome> = counts.nonzero().map(|(outcome, _)| outcome).collect();
    let other = report.other.is_some();
    let mut header: Vec<String> = vec!["group".into(), "cases".into()];
    header.extend(outcomes.iter().map(|outcome| outcome.name().to_string()));
    header.push("time".into());
    if other {
        header.extend(["pass there".to_string(), "time there".to_string()]);
    }
    let line = |group: &Group, name: &str| {
        let mut cells = vec![name.to_string(), group.counts.total().to_string()];
        cells.extend(outcomes.iter().map(|&outcome| number(group.counts.get(outcome))));
        cells.push(time(group.seconds));
        if other {
            cells.extend([group.there.0.to_string(), time(group.there.1)]);
        }
        cells
    };
    let groups = report.groups();
    let mut rows: Vec<Vec<String>> = groups.iter().map(|group| line(group, &group.name)).collect();
    let sum = |pick: fn(&Group) -> f64| groups.iter().map(pick).sum::<f64>();
    let there = (groups.iter().map(|group| group.there.0).sum(), sum(|group| group.there.1));
    let total = Group { name: String::new(), counts: counts.clone(), seconds: sum(|group| group.seconds), there };
    rows.push(line(&total, "total"));
    Table { header, rows }
}

/// Returns a table of the slowest cases.
pub fn slowest(report: &Report) -> Table {
    let mut header: Vec<String> = vec!["slowest cases".into(), "time".into()];
    header.extend(report.other.as_ref().map(|_| "there".to_string()));
    let row = |row: &super::Row| {
        let mut cells = vec![row.name.clone(), time(row.seconds)];
        cells.extend(report.other.as_ref().map(|_| row.there.map_or(String::new(), |(_, seconds)| time(seconds))));
        cells
    };
    Table { header, rows: report.slowest().iter().map(row).collect() }
}

/// Formats a number. Zero is left blank, so that other numbers stand out.
fn number(count: usize) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}

/// Formats a time in seconds for display.
pub fn time(seconds: f64) -> String {
    if seconds < 60.0 { format!("{seconds:.2} s") } else { clock(Duration::from_secs_f64(seconds)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_every_column_and_the_total_adds_up() {
        let report = super::super::tests::sample();
        for table in [by_group(&report), slowest(&report)] {
            assert!(table.rows.iter().all(|row| row.len() == table.header.len()));
        }
        let table = by_group(&report);
        let total = table.rows.last().unwrap();
        assert_eq!((total[0].as_str(), total[1].as_str(), total[2].as_str()), ("total", "12", "2"));
        assert_eq!(&total[total.len() - 2..], ["1", "2.00 s"]);
        assert_eq!(slowest(&report).rows[0][0], "dEQP-VK.api.UnexpectedPass.x");
    }
}

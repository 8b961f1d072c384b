//! The ratios as a bar chart, with one row per workload and one bar per other driver. The axis is
//! logarithmic with 1 in the middle.

use super::results::Results;
use super::stats::{self, FigureRow};
use super::workload::Family;
use std::fmt::Write;

const COLORS: [&str; 6] = ["#2f6f9f", "#c8702a", "#4d8a4d", "#8a5a9f", "#a08030", "#7a7a7a"];
const LEFT: f64 = 250.0;
const WIDTH: f64 = 860.0;
const BAR: f64 = 7.0;
/// Family whose groups are one bar each, namely their mean, because its modules repeat for every
/// figure.
const FOLDED: Family = Family::Create;

struct Line {
    name: String,
    heading: bool,
    ratios: Vec<Option<f64>>,
}

/// Returns the chart; `None` if there is no driver to compare with.
pub fn render(results: &Results) -> Option<String> {
    let rivals = results.drivers.len().checked_sub(1).filter(|&n| n > 0)?;
    let lines = lines(results, rivals);
    let ratios = || lines.iter().flat_map(|l| &l.ratios).flatten().map(|r| r.max(1.0 / r));
    // The axis ends at a power of two that covers the largest ratio, at least 4 and at most 64.
    let reach = ratios().fold(4.0f64, f64::max).min(64.0).log2().ceil();
    let pitch = BAR * rivals as f64 + 6.0;
    let height = 64.0 + lines.len() as f64 * pitch + 24.0;
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let bottom = height - 20.0;
    head(&mut svg, results, reach, bottom);
    for (i, line) in lines.iter().enumerate() {
        bars(&mut svg, line, 60.0 + i as f64 * pitch, pitch, reach);
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

fn lines(results: &Results, rivals: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for group in stats::groups(&results.rows) {
        let mean = |rival| Some(stats::group_mean(&results.rows, group, rival)?.0);
        let ratios: Vec<_> = (1..=rivals).map(mean).collect();
        if ratios.iter().all(Option::is_none) {
            continue;
        }
        lines.push(Line { name: format!("{group} (mean)"), heading: true, ratios });
        let rows: Vec<&FigureRow> = results.rows.iter().filter(|r| r.group == group).collect();
        if !group.starts_with(FOLDED.name()) {
            lines.extend(rows.into_iter().map(|row| Line {
                name: row.name.split_once('/').map_or(row.name.as_str(), |(_, name)| name).into(),
                heading: false,
                ratios: (1..=rivals).map(|rival| Some(row.ratio(rival)?.median)).collect(),
            }));
        }
    }
    lines
}

fn x_of(ratio: f64, reach: f64) -> f64 {
    let middle = (LEFT + WIDTH - 40.0) / 2.0;
    let half = middle - LEFT;
    middle + half * (ratio.log2() / reach).clamp(-1.0, 1.0)
}

fn head(svg: &mut String, results: &Results, reach: f64, bottom: f64) {
    let first = escape(&results.drivers[0].label);
    let _ = writeln!(
        svg,
        "<text x=\"8\" y=\"18\" font-size=\"14\" font-weight=\"bold\">How much longer the same work takes than on {first}</text>"
    );
    let mut x = 8.0;
    for (rival, color) in results.drivers[1..].iter().zip(COLORS.iter().cycle()) {
        let label = escape(&rival.label);
        let _ = writeln!(svg, "<rect x=\"{x}\" y=\"28\" width=\"10\" height=\"10\" fill=\"{color}\"/>");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"37\">{label}</text>", x + 14.0);
        x += 30.0 + 7.0 * label.len() as f64;
    }
    for step in -(reach as i32)..=reach as i32 {
        let at = x_of(f64::from(step).exp2(), reach);
        let name = if step < 0 { format!("1/{}", 1u64 << -step) } else { (1u64 << step).to_string() };
        let (color, width) = if step == 0 { ("#000", 1.2) } else { ("#ddd", 0.8) };
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"54\" y2=\"{bottom}\" stroke=\"{color}\" stroke-width=\"{width}\"/>\
             <text x=\"{at:.1}\" y=\"50\" text-anchor=\"middle\" fill=\"#555\">{name}</text>"
        );
    }
}

fn bars(svg: &mut String, line: &Line, y: f64, pitch: f64, reach: f64) {
    let weight = if line.heading { " font-weight=\"bold\"" } else { "" };
    let text_y = y + (pitch - 6.0) / 2.0 + 4.0;
    let name = escape(&line.name);
    let _ = writeln!(svg, "<text x=\"{}\" y=\"{text_y:.1}\" text-anchor=\"end\"{weight}>{name}</text>", LEFT - 8.0);
    let zero = x_of(1.0, reach);
    for (i, (ratio, color)) in line.ratios.iter().zip(COLORS.iter().cycle()).enumerate() {
        let Some(ratio) = ratio else { continue };
        let end = x_of(*ratio, reach);
        let (x, width) = (zero.min(end), (zero - end).abs().max(1.0));
        let top = y + BAR * i as f64;
        let opacity = if line.heading { 1.0 } else { 0.65 };
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{color}\" fill-opacity=\"{opacity}\">\
             <title>{name}: {ratio:.2}</title></rect>",
            BAR - 1.0
        );
        let at = if *ratio >= 1.0 { end + 3.0 } else { end - 3.0 };
        let anchor = if *ratio >= 1.0 { "start" } else { "end" };
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" font-size=\"8\" fill=\"#333\">{ratio:.2}</text>",
            top + BAR - 0.8
        );
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_centred_on_one_and_clamped() {
        let middle = x_of(1.0, 3.0);
        assert!((x_of(8.0, 3.0) - middle - (middle - x_of(0.125, 3.0))).abs() < 1e-9);
        assert_eq!(x_of(1e9, 3.0), x_of(8.0, 3.0));
        assert_eq!(x_of(1e-9, 3.0), LEFT);
    }
}

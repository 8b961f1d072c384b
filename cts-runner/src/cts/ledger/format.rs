//! The text format of a ledger. Its lines consist of fields between tabs, and the first field
//! states the kind of the line. `#` begins a comment line.
//!
//! - `cts-ledger`: version of the format, [`VERSION`]; the first line.
//! - `cts`, `driver`, `api`, `build`: a text each, see [`Build`].
//! - `total`: group, number of cases that deqp lists in it.
//! - `run`: id, start (RFC 3339, UTC), portion, scope, seconds, seconds of all cases, resumed
//!   cases, device, host, build of deqp.
//! - `count`: id of the run, group, a number for each of [`StatusCounts::NAMES`].
//! - `case`: id of the run, statuses of its executions between commas (`-` when it did not run),
//!   seconds, name, message.
//! - `end`: number of runs; the last line.
//!
//! A scope is `all`, or words between commas: `group=NAME`, `case=PATTERN`, `list`. White space,
//! `,` and `%` in it are written as `%xx`.
//!
//! A ledger may come from any source. Text that is not in this format is an error with its line
//! number. A file that has lost lines is also an error: numbers and names must agree, and the last
//! line must exist.

use super::super::portion::Portion;
use super::super::status::Status;
use super::{Build, Finding, Ledger, Run, Scope, StatusCounts};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Version of the format that is written, which is also the only one that is read.
pub const VERSION: &str = "1";

/// A fault: the number of its line, from 1, and its description.
pub type FormatError = (usize, String);

/// Returns the text of a ledger.
pub fn write(ledger: &Ledger) -> String {
    let mut out = format!("cts-ledger\t{VERSION}\n");
    out += "# What is known of one build of a Vulkan driver from runs of the CTS; cts-runner ledger reads and merges it.\n";
    for (key, text) in header(&ledger.build) {
        let _ = writeln!(out, "{key}\t{}", clean(text));
    }
    out += "# total: group, cases\n";
    for (group, total) in &ledger.totals {
        let _ = writeln!(out, "total\t{group}\t{total}");
    }
    out += "# run: id, start, portion, scope, seconds, seconds of all cases, resumed cases, device, host, deqp\n";
    let _ = writeln!(out, "# count: run, group, {}", StatusCounts::NAMES.join(", "));
    out += "# case: run, statuses, seconds, name, message\n";
    ledger.runs.iter().for_each(|run| write_run(&mut out, run));
    let _ = writeln!(out, "end\t{}", ledger.runs.len());
    out
}

fn header(build: &Build) -> [(&'static str, &String); 4] {
    [("cts", &build.cts), ("driver", &build.driver), ("api", &build.api), ("build", &build.id)]
}

fn write_run(out: &mut String, run: &Run) {
    let Run { id, portion, resumed, .. } = run;
    let (start, scope) = (humantime::format_rfc3339_millis(run.start), write_scope(&run.scope));
    let (wall, busy) = (seconds(run.wall), seconds(run.busy));
    let [device, host, deqp] = [&run.device, &run.host, &run.deqp].map(|text| clean(text));
    let _ =
        writeln!(out, "run\t{id}\t{start}\t{portion}\t{scope}\t{wall}\t{busy}\t{resumed}\t{device}\t{host}\t{deqp}");
    for (group, tally) in &run.counts {
        let numbers = tally.0.map(|count| count.to_string()).join("\t");
        let _ = writeln!(out, "count\t{id}\t{group}\t{numbers}");
    }
    for (name, finding) in &run.findings {
        let statuses: Vec<&str> = finding.statuses.iter().map(|status| status.name()).collect();
        let statuses = if statuses.is_empty() { "-".to_string() } else { statuses.join(",") };
        let _ =
            writeln!(out, "case\t{id}\t{statuses}\t{}\t{name}\t{}", seconds(finding.millis), clean(&finding.message));
    }
}

/// Returns a text without the characters that would end its field.
pub fn clean(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.trim().to_string()
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

fn write_scope(scope: &Scope) -> String {
    let words =
        |key: &str, of: &[String]| -> Vec<String> { of.iter().map(|text| format!("{key}={}", escape(text))).collect() };
    let mut all = words("group", &scope.groups);
    all.extend(words("case", &scope.cases));
    all.extend(scope.listed.then(|| "list".to_string()));
    if all.is_empty() { "all".into() } else { all.join(",") }
}

fn escape(text: &str) -> String {
    let special = |c: char| c.is_whitespace() || c.is_control() || matches!(c, ',' | '%');
    let mut out = String::new();
    for c in text.chars() {
        if special(c) {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| out += &format!("%{byte:02x}"));
        } else {
            out.push(c);
        }
    }
    out
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn read_scope(text: &str) -> Option<Scope> {
    let mut scope = Scope::default();
    if text == "all" {
        return Some(scope);
    }
    for word in text.split(',') {
        match word.split_once('=') {
            Some(("group", group)) => scope.groups.push(unescape(group)?),
            Some(("case", pattern)) => scope.cases.push(unescape(pattern)?),
            None if word == "list" => scope.listed = true,
            _ => return None,
        }
    }
    Some(scope)
}

/// Parses a ledger.
pub fn read(bytes: &[u8]) -> Result<Ledger, FormatError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        (before.iter().filter(|&&byte| byte == b'\n').count() + 1, "not UTF-8".to_string())
    })?;
    let mut reader = Reader::default();
    let mut lines = 0;
    for (number, line) in text.lines().enumerate() {
        lines = number + 1;
        reader.line(line).map_err(|why| (lines, why))?;
    }
    reader.done().map_err(|why| (lines.max(1), why))
}

#[derive(Default)]
struct Reader {
    version: bool,
    header: BTreeMap<&'static str, String>,
    ledger: Ledger,
    places: BTreeMap<String, usize>,
    ended: bool,
}

type ParseResult<T> = Result<T, String>;

impl Reader {
    fn line(&mut self, line: &str) -> ParseResult<()> {
        let fields: Vec<&str> = line.split('\t').collect();
        if !self.version {
            return match fields[..] {
                ["cts-ledger", VERSION] => {
                    self.version = true;
                    Ok(())
                }
                ["cts-ledger", version] => {
                    Err(format!("version {version} of the format; this program reads version {VERSION}"))
                }
                _ => Err("not a ledger: the first line must be cts-ledger and a version".into()),
            };
        }
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if self.ended {
            return Err("a line after the end".into());
        }
        match fields[..] {
            [key @ ("cts" | "driver" | "api" | "build"), text] => self.text(key, text),
            ["total", group, total] => {
                let total = parse_number(total, "a number of cases")?;
                check_new(self.ledger.totals.insert(name(group)?, total), group)
            }
            ["run", id, start, portion, scope, wall, busy, resumed, device, host, deqp] => {
                let texts = [device, host, deqp].map(str::to_owned);
                self.run([id, start, portion, scope], [wall, busy, resumed], texts)
            }
            ["count", id, group, ref numbers @ ..] => self.count(id, group, numbers),
            ["case", id, statuses, seconds, case, message] => {
                let finding =
                    Finding { statuses: read_statuses(statuses)?, millis: millis(seconds)?, message: message.into() };
                let name = name(case)?;
                let run = self.run_mut(id)?;
                if !run.portion.contains_case(&name) || !(run.scope.listed || run.scope.is_selected(&name)) {
                    return Err(format!("{name} is not in portion and scope of run {id}"));
                }
                check_new(run.findings.insert(name, finding), case)
            }
            ["end", runs] => {
                self.ended = true;
                let (announced, found) = (parse_number(runs, "a number of runs")?, self.ledger.runs.len() as u64);
                if announced == found {
                    Ok(())
                } else {
                    Err(format!("{announced} runs are announced and {found} are here"))
                }
            }
            [key, ..] => Err(format!("not a line of a ledger: {key:?} with {} fields", fields.len() - 1)),
            [] => Ok(()),
        }
    }

    fn text(&mut self, key: &str, text: &str) -> ParseResult<()> {
        let known = header(&Build::default()).map(|(key, _)| key);
        let key = known.into_iter().find(|known| *known == key).ok_or("an unknown key")?;
        check_new(self.header.insert(key, text.into()), key)
    }

    fn run(&mut self, words: [&str; 4], numbers: [&str; 3], texts: [String; 3]) -> ParseResult<()> {
        let [id, start, portion, scope] = words;
        let [wall, busy, resumed] = numbers;
        if id.is_empty() || !id.bytes().all(|c| c.is_ascii_alphanumeric()) {
            return Err(format!("{id:?} is no id of a run"));
        }
        check_new(self.places.insert(id.into(), self.ledger.runs.len()), id)?;
        let [device, host, deqp] = texts;
        self.ledger.runs.push(Run {
            id: id.into(),
            start: humantime::parse_rfc3339(start).map_err(|_| format!("{start} is no time in RFC 3339"))?,
            portion: Portion::exact(portion)?,
            scope: read_scope(scope).ok_or_else(|| format!("{scope} is no scope"))?,
            wall: millis(wall)?,
            busy: millis(busy)?,
            resumed: parse_number(resumed, "a number of cases")?,
            device,
            host,
            deqp,
            counts: BTreeMap::new(),
            findings: BTreeMap::new(),
        });
        Ok(())
    }

    fn run_mut(&mut self, id: &str) -> ParseResult<&mut Run> {
        let place = self.places.get(id).ok_or_else(|| format!("no run is called {id} so far"))?;
        self.ledger.runs.get_mut(*place).ok_or_else(|| format!("run {id} is not whole"))
    }

    fn count(&mut self, id: &str, group: &str, numbers: &[&str]) -> ParseResult<()> {
        let wanted = StatusCounts::NAMES.len();
        let numbers: Vec<u64> =
            numbers.iter().map(|text| parse_number(text, "a number of cases")).collect::<ParseResult<_>>()?;
        let tally = StatusCounts(numbers.try_into().map_err(|_| format!("a count has {wanted} numbers"))?);
        let name = name(group)?;
        check_new(self.run_mut(id)?.counts.insert(name, tally), group)
    }

    fn done(mut self) -> ParseResult<Ledger> {
        if !self.version {
            return Err("not a ledger: it is empty".into());
        }
        if !self.ended {
            return Err("the end is missing: lines have been lost".into());
        }
        let mut text = |key: &str| self.header.remove(key).ok_or_else(|| format!("there is no line {key}"));
        self.ledger.build = Build { cts: text("cts")?, driver: text("driver")?, api: text("api")?, id: text("build")? };
        self.ledger.runs.iter().try_for_each(check)?;
        let mut ledger = Ledger { runs: Vec::new(), ..self.ledger.clone() };
        // Merging sorts the runs and removes those that a later run replaces.
        ledger.merge(self.ledger)?;
        Ok(ledger)
    }
}

/// Checks that the numbers and names of a run agree.
fn check(run: &Run) -> ParseResult<()> {
    let mut named: BTreeMap<&str, StatusCounts> = BTreeMap::new();
    for (name, finding) in &run.findings {
        let group = super::super::listing::table_group(name);
        named.entry(group).or_default().0[StatusCounts::index_of(&finding.statuses)] += 1;
    }
    let lost = named.keys().find(|&&group| !run.counts.contains_key(group));
    if let Some(group) = lost {
        return Err(format!("run {} names cases of {group} and does not count it", run.id));
    }
    for (group, tally) in &run.counts {
        let named = named.get(group.as_str()).copied().unwrap_or_default();
        for (place, what) in StatusCounts::NAMES.iter().enumerate() {
            // Among passed and unsupported cases, only the slow ones have names.
            let fits = if place < 2 { named.0[place] <= tally.0[place] } else { named.0[place] == tally.0[place] };
            if !fits {
                let (announced, found) = (tally.0[place], named.0[place]);
                return Err(format!("run {} counts {announced} {what} in {group} and names {found}", run.id));
            }
        }
    }
    Ok(())
}

fn check_new<T>(before: Option<T>, what: &str) -> ParseResult<()> {
    if before.is_none() { Ok(()) } else { Err(format!("{what} is there twice")) }
}

fn name(text: &str) -> ParseResult<String> {
    let sound = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    if sound { Ok(text.into()) } else { Err(format!("{text:?} is no name")) }
}

/// Parses a number below 10⁹, so that no sum of the numbers in a file overflows.
fn parse_number(text: &str, what: &str) -> ParseResult<u64> {
    let digits = !text.is_empty() && text.len() <= 9 && text.bytes().all(|c| c.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| format!("{text:?} where {what} should be"))
}

fn millis(text: &str) -> ParseResult<u64> {
    let wrong = || format!("{text:?} where seconds should be, as 1.250");
    let (seconds, rest) = text.split_once('.').ok_or_else(wrong)?;
    let parts = (
        parse_number(seconds, "seconds").map_err(|_| wrong())?,
        parse_number(rest, "milliseconds").map_err(|_| wrong())?,
    );
    if rest.len() == 3 { Ok(parts.0 * 1000 + parts.1) } else { Err(wrong()) }
}

fn read_statuses(text: &str) -> ParseResult<Vec<Status>> {
    if text == "-" {
        return Ok(Vec::new());
    }
    let status = |word: &str| Status::parse(word).ok_or_else(|| format!("{word:?} is no status"));
    text.split(',').map(status).collect()
}

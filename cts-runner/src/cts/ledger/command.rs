//! `cts-runner ledger`: merges ledgers and shows their content.

use super::summary::Summary;
use super::{Ledger, file, show};
use crate::cts::error::{At, Error, Result};
use lexopt::{Arg, Parser};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
cts-runner ledger: what is known of one build of a driver, from runs on any number of machines and days

  cts-runner ledger FILE [FILE...] [options]

Every FILE is written by cts-runner cts --ledger FILE; several are merged: of two runs of a case the later one counts, files of
another build or another CTS are refused. Prints outcomes by group, what is missing for a complete run, what fails, which warnings there
are, and which cases took over 5 s. Exit code 0: all as expected; 1: a surprise, or a missing portion with --complete; 2: an error.

  --out FILE            write the merged ledger
  --markdown FILE       write the summary as a page
  --expect DIR          known failures, as for cts-runner cts
  --complete            exit code 1 when something is missing for a complete run
  --json                print a JSON summary instead of text

all cases on 16 machines, then what came of it
  machine K:    cts-runner cts --deqp deqp-vk --portion K/16 --ledger K.ledger
  anywhere:     cts-runner ledger *.ledger --out all.ledger --markdown docs/conformance.md --complete
a share a day
  cts-runner cts --deqp deqp-vk --portion today/16 --ledger grus.ledger
";

#[derive(Debug, Default)]
struct Options {
    files: Vec<PathBuf>,
    out: Option<PathBuf>,
    markdown: Option<PathBuf>,
    expect: Option<PathBuf>,
    complete: bool,
    json: bool,
}

/// Runs the command. The exit code is 0 if all results are as expected, 1 for surprises, 2 for an
/// error.
pub fn command(parser: &mut Parser) -> ExitCode {
    let outcome = match read(parser) {
        Ok(Some(options)) => run(&options),
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(Error::Usage(format!("{error}; cts-runner ledger --help says more"))),
    };
    match outcome {
        Ok(fine) => ExitCode::from(u8::from(!fine)),
        Err(error) => {
            eprintln!("cts-runner: {error}");
            ExitCode::from(2)
        }
    }
}

/// Parses the command line. Returns `None` if help was requested.
fn read(parser: &mut Parser) -> std::result::Result<Option<Options>, lexopt::Error> {
    let mut options = Options::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(file) => options.files.push(file.into()),
            Arg::Long("out") => options.out = Some(parser.value()?.into()),
            Arg::Long("markdown") => options.markdown = Some(parser.value()?.into()),
            Arg::Long("expect") => options.expect = Some(parser.value()?.into()),
            Arg::Long("complete") => options.complete = true,
            Arg::Long("json") => options.json = true,
            Arg::Long("help") | Arg::Short('h') => return Ok(None),
            other => return Err(other.unexpected()),
        }
    }
    if options.files.is_empty() {
        return Err("no file is given".into());
    }
    Ok(Some(options))
}

/// Runs the command and returns true if all results are as expected.
fn run(options: &Options) -> Result<bool> {
    let mut ledger: Option<Ledger> = None;
    for path in &options.files {
        let next = file::read(path)?;
        match &mut ledger {
            Some(ledger) => ledger.merge(next).map_err(|why| Error::Ledger(path.clone(), why))?,
            None => ledger = Some(next),
        }
    }
    let ledger = ledger.unwrap_or_default();
    let expect = options.expect.clone().unwrap_or_else(|| crate::cts::options::Options::default().expect);
    let summary = Summary::new(&ledger, &expect)?;
    if let Some(path) = &options.out {
        file::write(path, &ledger)?;
    }
    if let Some(path) = &options.markdown {
        std::fs::write(path, show::page(&ledger, &summary)).at(path)?;
    }
    match options.json {
        true => println!("{:#}", json_of(&ledger, &summary)),
        false => print!("{}", show::text(&ledger, &summary)),
    }
    Ok(summary.surprises() == 0 && (summary.complete() || !options.complete))
}

fn json_of(ledger: &Ledger, summary: &Summary) -> Value {
    let tally = |tally: &super::StatusCounts| {
        let of = |(name, count): (&&str, u64)| (name.to_string(), Value::from(count));
        Value::Object(super::StatusCounts::NAMES.iter().zip(tally.0).map(of).collect())
    };
    let named = |named: &super::summary::NamedCase| json!({ "case": named.name, "outcome": named.outcome.name(), "why": named.finding.message, "reason": named.reason });
    let group = |group: &super::summary::Group| json!({ "group": group.name, "listed": group.listed, "run": group.tally.total(), "outcomes": tally(&group.tally) });
    let missing = |(portions, groups): (String, Vec<&str>)| json!({ "portions": portions, "groups": groups });
    let kind =
        |kind: &super::summary::WarningKind| json!({ "text": kind.text, "cases": kind.cases, "example": kind.example });
    let slow =
        |named: &super::summary::NamedCase| json!({ "case": named.name, "seconds": named.finding.millis as f64 / 1e3 });
    let build = &ledger.build;
    json!({
        "build": { "cts": build.cts, "driver": build.driver, "api": build.api, "build": build.id },
        "runs": ledger.runs.len(), "listed": summary.listed, "run": summary.total.total(), "complete": summary.complete(),
        "outcomes": tally(&summary.total), "surprises": summary.surprises(),
        "groups": summary.groups.iter().map(group).collect::<Vec<_>>(),
        "missing": summary.missing().into_iter().map(missing).collect::<Vec<_>>(),
        "failures": summary.failures.iter().map(named).collect::<Vec<_>>(),
        "mended": summary.fixed.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "warnings": summary.warnings.iter().map(kind).collect::<Vec<_>>(),
        "slow": summary.slow.iter().map(slow).collect::<Vec<_>>(), "odd": summary.inconsistencies,
    })
}

//! Known failures and their reasons: `fails.txt`, `skips.txt` and `flakes.txt` of one folder.
//!
//! A line is `name-or-pattern [Status] reason`. The status in brackets states how the case fails.
//! Without it the status is `Fail`, or any status in `flakes.txt`. A line without a reason is an
//! error, because an unexplained expectation hides a bug. `#` begins a comment. `@device PATTERN`
//! limits the lines below it to devices with a matching name; `@device *` ends the limit.

use super::error::{At, Error, Result};
use super::glob;
use super::status::{Outcome, Status};
use std::collections::HashMap;
use std::path::Path;

/// One line of an expectation file.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Rule {
    device: String,
    pattern: String,
    status: Option<Status>,
    reason: String,
}

/// Lines of one file that apply to the device. Exact names are separate from patterns.
#[derive(Debug, Default)]
struct Rules {
    exact: HashMap<String, Rule>,
    patterns: Vec<Rule>,
}

impl Rules {
    fn new(rules: Vec<Rule>, device: &str) -> Self {
        let applies = rules.into_iter().filter(|rule| glob::matches(&rule.device, device));
        let (patterns, exact): (Vec<_>, Vec<_>) = applies.partition(|rule| glob::is_pattern(&rule.pattern));
        Self { exact: exact.into_iter().map(|rule| (rule.pattern.clone(), rule)).collect(), patterns }
    }

    fn find(&self, name: &str) -> Option<&Rule> {
        self.exact.get(name).or_else(|| self.patterns.iter().find(|rule| glob::matches(&rule.pattern, name)))
    }
}

/// Expectations that apply to one device.
#[derive(Debug, Default)]
pub struct Expectations {
    fails: Rules,
    skips: Rules,
    flakes: Rules,
}

impl Expectations {
    /// Reads the files of a folder for a device. Missing files count as empty.
    pub fn read(folder: &Path, device: &str) -> Result<Self> {
        let rules = |name: &str| -> Result<Rules> {
            let path = folder.join(name);
            if !path.exists() {
                return Ok(Rules::default());
            }
            let text = std::fs::read_to_string(&path).at(&path)?;
            let wrong = |(line, why)| Error::Line { path: path.clone(), line, why };
            Ok(Rules::new(parse(&text).map_err(wrong)?, device))
        };
        Ok(Self { fails: rules("fails.txt")?, skips: rules("skips.txt")?, flakes: rules("flakes.txt")? })
    }

    /// Returns the reason for which a case is skipped, if there is one.
    pub fn skip(&self, name: &str) -> Option<&str> {
        self.skips.find(name).map(|rule| rule.reason.as_str())
    }

    /// Returns the names of expected failures, without patterns, and their reasons.
    pub fn known_failures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fails.exact.values().map(|rule| (rule.pattern.as_str(), rule.reason.as_str()))
    }

    /// Returns the outcome of a case from its executions in order. The reason is given if an
    /// expectation decides the outcome.
    pub fn judge(&self, name: &str, attempts: &[Status]) -> (Outcome, Option<&str>) {
        let Some(&first) = attempts.first() else { return (Outcome::Is(Status::Missing), None) };
        if first.failed() {
            if let Some(rule) = self.flakes.find(name).filter(|rule| rule.status.is_none_or(|status| status == first)) {
                return (Outcome::Flake, Some(&rule.reason));
            }
            if let Some(rule) = self.fails.find(name).filter(|rule| rule.status.unwrap_or(Status::Fail) == first) {
                return (Outcome::ExpectedFail, Some(&rule.reason));
            }
            // The first execution failed. A repetition that passed makes the case a flake.
            let flake = attempts.iter().any(|status| !status.failed());
            return (if flake { Outcome::Flake } else { Outcome::Is(first) }, None);
        }
        match self.fails.find(name) {
            Some(rule) if first.passed() => (Outcome::UnexpectedPass, Some(&rule.reason)),
            _ => (Outcome::Is(first), None),
        }
    }

    /// Returns true if an expectation already explains a failure, so that a repetition gives no new
    /// information.
    pub fn explains(&self, name: &str, status: Status) -> bool {
        !self.judge(name, &[status]).0.surprise()
    }
}

/// Parses the lines of a file. An error is the number and the fault of the first wrong line.
fn parse(text: &str) -> std::result::Result<Vec<Rule>, (usize, String)> {
    let mut device = "*".to_string();
    let mut rules = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(pattern) = line.strip_prefix("@device") {
            device = pattern.trim().to_string();
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: String| (number + 1, why);
        let (pattern, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let (status, reason) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((word, reason)) => {
                let status = Status::parse(word.trim()).filter(|status| status.failed());
                let status =
                    status.ok_or_else(|| wrong(format!("[{word}]: wanted is Fail, Crash, Timeout or Missing")))?;
                (Some(status), reason.trim())
            }
            None => (None, rest),
        };
        if reason.is_empty() {
            return Err(wrong(format!("{pattern} has no reason: write why after the name")));
        }
        rules.push(Rule { device: device.clone(), pattern: pattern.into(), status, reason: reason.into() });
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::{Crash, Fail, NotSupported, Pass};

    fn expectations(device: &str) -> Expectations {
        let rules = |text| Rules::new(parse(text).unwrap(), device);
        Expectations {
            fails: rules("# known\na.one  wrong rounding\na.two [Crash] overflow\n@device Grus*\nb.* not yet\n"),
            skips: rules("c.* takes a day\n"),
            flakes: rules("d.one [Crash] race in the loader\nd.two timing\n"),
        }
    }

    #[test]
    fn outcomes_follow_rules_and_repetitions() {
        let expectations = expectations("Grus (2 threads)");
        let judge = |name: &str, attempts: &[Status]| expectations.judge(name, attempts).0;
        assert_eq!(judge("a.one", &[Fail]), Outcome::ExpectedFail);
        assert_eq!(judge("a.one", &[Crash]), Outcome::Is(Crash), "fails in another way than known");
        assert_eq!(judge("a.one", &[Pass]), Outcome::UnexpectedPass);
        assert_eq!(judge("a.one", &[NotSupported]), Outcome::Is(NotSupported));
        assert_eq!(judge("a.two", &[Crash]), Outcome::ExpectedFail);
        assert_eq!(judge("b.x.y", &[Fail]), Outcome::ExpectedFail);
        assert_eq!(judge("d.one", &[Crash]), Outcome::Flake);
        assert_eq!(judge("d.one", &[Fail]), Outcome::Is(Fail));
        assert_eq!(judge("d.two", &[Fail]), Outcome::Flake);
        assert_eq!(judge("d.two", &[Pass]), Outcome::Is(Pass));
        assert_eq!(judge("e", &[Fail, Fail, Pass]), Outcome::Flake);
        assert_eq!(judge("e", &[Crash, Fail]), Outcome::Is(Crash));
        assert_eq!(judge("e", &[]), Outcome::Is(Status::Missing));
        assert_eq!(expectations.judge("a.one", &[Fail]).1, Some("wrong rounding"));
        assert_eq!(expectations.skip("c.long"), Some("takes a day"));
        assert!(expectations.explains("a.one", Fail) && !expectations.explains("a.one", Crash));
    }

    #[test]
    fn lines_of_another_device_do_not_apply() {
        assert_eq!(expectations("llvmpipe").judge("b.x", &[Fail]).0, Outcome::Is(Fail));
    }

    #[test]
    fn a_line_needs_a_reason_and_a_status_that_fails() {
        assert_eq!(parse("a.b why\n\na.c\n").unwrap_err().0, 3);
        assert_eq!(parse("a.b [Crash]\n").unwrap_err().0, 1);
        assert!(parse("a.b [Pass] it passes\n").unwrap_err().1.contains("[Pass]"));
    }

    #[test]
    fn the_files_of_this_repository_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("expect");
        for file in ["fails.txt", "skips.txt", "flakes.txt"] {
            assert!(folder.join(file).is_file(), "{file}");
        }
        Expectations::read(&folder, "Grus").unwrap();
    }
}

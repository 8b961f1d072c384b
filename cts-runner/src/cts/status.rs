//! Results of a case: the status of one execution, and the outcome after expectations and
//! repetitions.

use std::fmt;

/// Status of one execution of a case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Status {
    /// The case passed.
    Pass,
    /// The driver does not support what the case needs.
    NotSupported,
    /// The case passed with a remark about quality or compatibility, or was waived.
    Warning,
    /// The case failed, which includes an error inside the CTS and a lost device.
    Fail,
    /// The process died while the case ran.
    Crash,
    /// The case ran longer than the time limit.
    Timeout,
    /// The case was listed and deqp never reported it.
    Missing,
}

impl Status {
    /// All statuses, in the order of tables.
    pub const ALL: [Status; 7] = [
        Status::Pass,
        Status::NotSupported,
        Status::Warning,
        Status::Fail,
        Status::Crash,
        Status::Timeout,
        Status::Missing,
    ];

    /// Converts a result code of deqp (`qpTestResult`); `None` for an unknown word.
    pub fn from_deqp(code: &str) -> Option<Status> {
        const CODES: [(&str, Status); 15] = [
            ("Pass", Status::Pass),
            ("Fail", Status::Fail),
            ("NotSupported", Status::NotSupported),
            ("QualityWarning", Status::Warning),
            ("CompatibilityWarning", Status::Warning),
            ("CapabilityWarning", Status::Warning),
            ("Waiver", Status::Warning),
            ("ResourceError", Status::Fail),
            ("InternalError", Status::Fail),
            ("DeviceLost", Status::Fail),
            ("Pending", Status::Fail),
            ("EnforceDefaultContext", Status::Fail),
            ("EnforceDefaultInstance", Status::Fail),
            ("Crash", Status::Crash),
            ("Timeout", Status::Timeout),
        ];
        CODES.iter().find(|(name, _)| *name == code).map(|&(_, status)| status)
    }

    /// Returns the name of the status, as in the CSV.
    pub fn name(self) -> &'static str {
        match self {
            Status::Pass => "Pass",
            Status::NotSupported => "NotSupported",
            Status::Warning => "Warning",
            Status::Fail => "Fail",
            Status::Crash => "Crash",
            Status::Timeout => "Timeout",
            Status::Missing => "Missing",
        }
    }

    /// Parses the name of a status in the CSV, or in brackets in an expectation.
    pub fn parse(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Returns true if the case failed in any way.
    pub fn failed(self) -> bool {
        matches!(self, Status::Fail | Status::Crash | Status::Timeout | Status::Missing)
    }

    /// Returns true if the case ran to its end and succeeded.
    pub fn passed(self) -> bool {
        matches!(self, Status::Pass | Status::Warning)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Final outcome of a case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// The outcome equals the status.
    Is(Status),
    /// The case failed in the way that the expectations name.
    ExpectedFail,
    /// The case passed although the expectations state that it fails.
    UnexpectedPass,
    /// The case both failed and passed, or failed and is a known flake.
    Flake,
    /// The case was not run, because the expectations exclude it.
    Skip,
}

impl Outcome {
    /// All outcomes, in the order of tables.
    pub const ALL: [Outcome; 11] = [
        Outcome::Is(Status::Pass),
        Outcome::Is(Status::NotSupported),
        Outcome::Is(Status::Warning),
        Outcome::ExpectedFail,
        Outcome::Flake,
        Outcome::Skip,
        Outcome::Is(Status::Fail),
        Outcome::Is(Status::Crash),
        Outcome::Is(Status::Timeout),
        Outcome::Is(Status::Missing),
        Outcome::UnexpectedPass,
    ];

    /// Returns the name of the outcome.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Is(status) => status.name(),
            Outcome::ExpectedFail => "ExpectedFail",
            Outcome::UnexpectedPass => "UnexpectedPass",
            Outcome::Flake => "Flake",
            Outcome::Skip => "Skip",
        }
    }

    /// Returns true if the outcome was not expected. One surprise makes the exit code 1.
    pub fn surprise(self) -> bool {
        match self {
            Outcome::Is(status) => status.failed(),
            other => other == Outcome::UnexpectedPass,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Number of cases per outcome.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts([usize; Outcome::ALL.len()]);

impl Counts {
    /// Counts one case.
    pub fn add(&mut self, outcome: Outcome) {
        if let Some(place) = Outcome::ALL.iter().position(|&o| o == outcome) {
            self.0[place] += 1;
        }
    }

    /// Returns the number of cases with an outcome.
    pub fn get(&self, outcome: Outcome) -> usize {
        Outcome::ALL.iter().zip(self.0).find(|(o, _)| **o == outcome).map_or(0, |(_, count)| count)
    }

    /// Returns the number of cases whose outcome is this status.
    pub fn with_status(&self, status: Status) -> usize {
        self.get(Outcome::Is(status))
    }

    /// Returns the number of all counted cases.
    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }

    /// Returns the number of cases that are surprises.
    pub fn surprises(&self) -> usize {
        Outcome::ALL.iter().zip(self.0).filter(|(o, _)| o.surprise()).map(|(_, count)| count).sum()
    }

    /// Returns the outcomes that occurred, with their numbers.
    pub fn nonzero(&self) -> impl Iterator<Item = (Outcome, usize)> + '_ {
        Outcome::ALL.into_iter().zip(self.0).filter(|&(_, count)| count > 0)
    }
}

impl FromIterator<Outcome> for Counts {
    fn from_iter<I: IntoIterator<Item = Outcome>>(outcomes: I) -> Self {
        let mut counts = Counts::default();
        outcomes.into_iter().for_each(|outcome| counts.add(outcome));
        counts
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (outcome, count)) in self.nonzero().enumerate() {
            write!(f, "{}{outcome} {count}", if i > 0 { "  " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_statuses_round_trip() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.name()), Some(status));
        }
        assert_eq!(Status::parse("Flake"), None);
        assert_eq!(Status::from_deqp("QualityWarning"), Some(Status::Warning));
        assert_eq!(Status::from_deqp("DeviceLost"), Some(Status::Fail));
        assert_eq!(Status::from_deqp("Passed"), None);
    }

    #[test]
    fn counts_have_totals_and_surprises() {
        let counts: Counts = [
            Outcome::Is(Status::Pass),
            Outcome::Is(Status::Pass),
            Outcome::Is(Status::Crash),
            Outcome::ExpectedFail,
            Outcome::UnexpectedPass,
            Outcome::Flake,
        ]
        .into_iter()
        .collect();
        assert_eq!((counts.total(), counts.surprises(), counts.with_status(Status::Pass)), (6, 2, 2));
        assert_eq!(counts.to_string(), "Pass 2  ExpectedFail 1  Flake 1  Crash 1  UnexpectedPass 1");
    }
}

//! Report from a child to its parent: one JSON object on the last line of the child's output.

use super::figure::{Amount, Figure, MakeError, Unit, Wrong};
use crate::vk::Error;
use serde_json::{Value, json};

/// Outcome of a workload on a driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The output was correct and there are figures.
    Ok,
    /// The driver reports that it lacks something.
    Unsupported,
    /// The output was wrong.
    Wrong,
    /// A command returned an error.
    Failed,
    /// The validation layer reported messages.
    Invalid,
    /// The process died.
    Crashed,
    /// The process exceeded the time limit and was ended.
    TimedOut,
}

impl Outcome {
    const NAMES: [(Outcome, &'static str); 7] = [
        (Outcome::Ok, "ok"),
        (Outcome::Unsupported, "unsupported"),
        (Outcome::Wrong, "wrong"),
        (Outcome::Failed, "failed"),
        (Outcome::Invalid, "invalid"),
        (Outcome::Crashed, "crashed"),
        (Outcome::TimedOut, "timed out"),
    ];

    /// Returns the name of the outcome.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(o, _)| *o == self).map_or("", |(_, name)| name)
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, n)| *n == name).map(|(o, _)| *o)
    }

    /// Returns true if the result is neither correct nor reported as unsupported.
    pub fn is_bad(self) -> bool {
        !matches!(self, Outcome::Ok | Outcome::Unsupported)
    }
}

/// Results of one child.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Outcome of the workload.
    pub outcome: Outcome,
    /// Reason for the outcome; empty for `Ok`.
    pub why: String,
    /// Figures of the workload; empty unless the outcome is `Ok`.
    pub figures: Vec<Figure>,
    /// Peak resident memory of the process, in bytes.
    pub peak_memory: u64,
}

impl Report {
    /// Creates a report without figures.
    pub fn without(outcome: Outcome, why: impl Into<String>) -> Self {
        Self { outcome, why: why.into(), figures: Vec::new(), peak_memory: 0 }
    }

    /// Creates a report of messages of the validation layer.
    pub fn invalid(messages: usize) -> Self {
        Self::without(Outcome::Invalid, format!("{messages} messages of the validation layer"))
    }

    /// Creates a report of a correct workload.
    pub fn ok(figures: Vec<Figure>) -> Self {
        Self { figures, ..Self::without(Outcome::Ok, "") }
    }

    /// Creates a report with the single figure of a steady workload.
    pub fn steady(seconds: f64, amount: Amount) -> Self {
        Self::ok(vec![Figure { name: String::new(), value: seconds, bytes: false, amount: Some(amount) }])
    }

    /// Returns the report as JSON for one line.
    pub fn to_json(&self) -> Value {
        let figures: Vec<Value> = self
            .figures
            .iter()
            .map(|m| {
                let amount = m.amount.map(|a| json!({ "value": a.value, "unit": a.unit.name() }));
                json!({ "name": m.name, "value": m.value, "bytes": m.bytes, "amount": amount })
            })
            .collect();
        json!({ "outcome": self.outcome.name(), "why": self.why, "figures": figures, "peak_memory": self.peak_memory })
    }

    /// Returns the last line of a child's output that is a report.
    pub fn from_output(output: &str) -> Option<Self> {
        output.lines().rev().find_map(|line| Self::from_json(&serde_json::from_str(line).ok()?))
    }

    fn from_json(json: &Value) -> Option<Self> {
        let figures = json["figures"].as_array()?.iter().map(figure_from).collect::<Option<Vec<_>>>()?;
        Some(Self {
            outcome: Outcome::from_name(json["outcome"].as_str()?)?,
            why: json["why"].as_str()?.into(),
            figures,
            peak_memory: json["peak_memory"].as_u64()?,
        })
    }
}

fn figure_from(json: &Value) -> Option<Figure> {
    let amount = match &json["amount"] {
        Value::Null => None,
        amount => Some(Amount { value: amount["value"].as_f64()?, unit: Unit::from_name(amount["unit"].as_str()?)? }),
    };
    Some(Figure {
        name: json["name"].as_str()?.into(),
        value: json["value"].as_f64()?,
        bytes: json["bytes"].as_bool()?,
        amount,
    })
}

impl From<Error> for Report {
    fn from(error: Error) -> Self {
        Self::without(Outcome::Failed, error.to_string())
    }
}

impl From<MakeError> for Report {
    fn from(error: MakeError) -> Self {
        match error {
            MakeError::Unsupported(what) => Self::without(Outcome::Unsupported, what),
            MakeError::Failed(error) => error.into(),
        }
    }
}

impl From<Wrong> for Report {
    fn from(wrong: Wrong) -> Self {
        match wrong {
            Wrong::Output(what) => Self::without(Outcome::Wrong, what),
            Wrong::Failed(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_noise_around_it() {
        let mut report = Report::steady(1.5e-3, Amount::new(64.0, Unit::Flop));
        report.figures.push(Figure { name: "cold".into(), value: 7.0, bytes: true, amount: None });
        report.peak_memory = 12;
        let output = format!("a driver's greeting\n{{}}\n{}\nWARNING: bye\n", report.to_json());
        assert_eq!(Report::from_output(&output), Some(report));
        assert_eq!(Report::from_output("Segmentation fault"), None);
    }

    #[test]
    fn a_missing_feature_is_not_a_failure() {
        let report = Report::from(MakeError::from(Error::Missing("shaderFloat64".into())));
        assert_eq!(report.outcome, Outcome::Unsupported);
        let failed = Error::Vulkan("vkCreateDevice", ash::vk::Result::ERROR_DEVICE_LOST);
        assert!(Report::from(MakeError::from(failed)).outcome.is_bad());
    }
}

//! Report from a child to its parent: one JSON object on the last line of the child's output.

use super::figure::{Amount, CheckError, Figure, SetupError, Unit};
use crate::vk::Error;
use serde_json::{Value, json};

/// Outcome of a workload on a driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkloadOutcome {
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

impl WorkloadOutcome {
    const NAMES: [(WorkloadOutcome, &'static str); 7] = [
        (WorkloadOutcome::Ok, "ok"),
        (WorkloadOutcome::Unsupported, "unsupported"),
        (WorkloadOutcome::Wrong, "wrong"),
        (WorkloadOutcome::Failed, "failed"),
        (WorkloadOutcome::Invalid, "invalid"),
        (WorkloadOutcome::Crashed, "crashed"),
        (WorkloadOutcome::TimedOut, "timed out"),
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
        !matches!(self, WorkloadOutcome::Ok | WorkloadOutcome::Unsupported)
    }
}

/// Results of one child.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildReport {
    /// Outcome of the workload.
    pub outcome: WorkloadOutcome,
    /// Reason for the outcome; empty for `Ok`.
    pub why: String,
    /// Figures of the workload; empty unless the outcome is `Ok`.
    pub figures: Vec<Figure>,
    /// Peak resident memory of the process, in bytes.
    pub peak_memory: u64,
}

impl ChildReport {
    /// Creates a report without figures.
    pub fn without(outcome: WorkloadOutcome, why: impl Into<String>) -> Self {
        Self { outcome, why: why.into(), figures: Vec::new(), peak_memory: 0 }
    }

    /// Creates a report of messages of the validation layer.
    pub fn invalid(messages: usize) -> Self {
        Self::without(WorkloadOutcome::Invalid, format!("{messages} messages of the validation layer"))
    }

    /// Creates a report of a correct workload.
    pub fn ok(figures: Vec<Figure>) -> Self {
        Self { figures, ..Self::without(WorkloadOutcome::Ok, "") }
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
            outcome: WorkloadOutcome::from_name(json["outcome"].as_str()?)?,
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

impl From<Error> for ChildReport {
    fn from(error: Error) -> Self {
        Self::without(WorkloadOutcome::Failed, error.to_string())
    }
}

impl From<SetupError> for ChildReport {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Unsupported(what) => Self::without(WorkloadOutcome::Unsupported, what),
            SetupError::Failed(error) => error.into(),
        }
    }
}

impl From<CheckError> for ChildReport {
    fn from(wrong: CheckError) -> Self {
        match wrong {
            CheckError::Output(what) => Self::without(WorkloadOutcome::Wrong, what),
            CheckError::Failed(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_noise_around_it() {
        let mut report = ChildReport::steady(1.5e-3, Amount::new(64.0, Unit::Flop));
        report.figures.push(Figure { name: "cold".into(), value: 7.0, bytes: true, amount: None });
        report.peak_memory = 12;
        let output = format!("a driver's greeting\n{{}}\n{}\nWARNING: bye\n", report.to_json());
        assert_eq!(ChildReport::from_output(&output), Some(report));
        assert_eq!(ChildReport::from_output("Segmentation fault"), None);
    }

    #[test]
    fn a_missing_feature_is_not_a_failure() {
        let report = ChildReport::from(SetupError::from(Error::Missing("shaderFloat64".into())));
        assert_eq!(report.outcome, WorkloadOutcome::Unsupported);
        let failed = Error::Vulkan("vkCreateDevice", ash::vk::Result::ERROR_DEVICE_LOST);
        assert!(ChildReport::from(SetupError::from(failed)).outcome.is_bad());
    }
}

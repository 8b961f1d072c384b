//! Comparison of requirements with a driver.

use super::tables::{self, CORE_FEATURES, FEATURE_STRUCTURES, Limit, LimitStructure, Numbers, Rule};
use super::{Bound, FORMAT_KINDS, FormatRequirement, Requirements};
use crate::vk::{DeviceReport, version_text};
use ash::vk;
use std::fmt::Write;

/// Returns one line for each requirement that the driver does not meet.
pub fn missing(requirements: &Requirements, device: &DeviceReport) -> Vec<String> {
    let mut lines = Vec::new();
    if device.version() < requirements.api_version {
        let (has, needs) = (version_text(device.version()), version_text(requirements.api_version));
        lines.push(format!("apiVersion {needs}: the driver has {has}"));
    }
    let extensions = requirements.extensions.iter().filter(|name| !device.has_extension(name));
    lines.extend(extensions.map(|name| format!("extension {name}")));
    let features = requirements.features.iter().filter(|name| !has_feature(device, name));
    lines.extend(features.map(|name| format!("feature {name}")));
    lines.extend(requirements.limits.iter().filter_map(|(name, bound)| limit(device, name, bound)));
    lines.extend(requirements.formats.iter().flat_map(|requirement| format(device, requirement)));
    lines
}

/// Reports whether one of the extensions or core versions of a structure is there.
fn is_provided(device: &DeviceReport, providers: &[&str]) -> bool {
    device.version() >= vk::API_VERSION_1_1
        && providers.iter().any(|name| match name.strip_prefix("VK_VERSION_1_").map(str::parse) {
            Some(Ok(minor)) => device.version() >= vk::make_api_version(0, 1, minor, 0),
            _ => device.has_extension(name),
        })
}

/// Reports whether the driver sets a feature in any structure that has it.
fn has_feature(device: &DeviceReport, name: &str) -> bool {
    let position = |members: &[&str]| members.iter().position(|member| *member == name);
    if position(CORE_FEATURES).is_some_and(|at| device.core_features()[at] == vk::TRUE) {
        return true;
    }
    let structures = FEATURE_STRUCTURES.iter().filter(|s| is_provided(device, s.providers));
    let mut found = structures.filter_map(|s| Some((s, position(s.members)?)));
    found.any(|(s, at)| device.features(s.tag, s.members.len())[at] == vk::TRUE)
}

/// Returns a line if no structure of the driver has the limit with a sufficient value.
fn limit(device: &DeviceReport, name: &str, bound: &Bound) -> Option<String> {
    let mut values = Vec::new();
    for (structure, limit) in tables::limits(name) {
        if let Some(bytes) = bytes(device, structure) {
            let value = Limited::read(limit, &bytes);
            if value.meets(limit.rule, bound) {
                return None;
            }
            values.push(value.text());
        }
    }
    values.dedup();
    let has = if values.is_empty() { "does not report it".to_owned() } else { format!("has {}", values.join(" and ")) };
    Some(format!("limit {name} {}: the driver {has}", text(bound)))
}

fn bytes(device: &DeviceReport, structure: &LimitStructure) -> Option<Vec<u8>> {
    match structure.tag {
        0 => Some(device.limits()),
        tag => is_provided(device, structure.providers).then(|| device.properties(tag, structure.size)),
    }
}

/// Value of a limit of a driver.
struct Limited {
    numbers: Vec<f64>,
    /// Value of a mask.
    bits: u64,
    is_mask: bool,
}

impl Limited {
    fn read(limit: &Limit, bytes: &[u8]) -> Self {
        let word = |at: usize| <[u8; 4]>::try_from(&bytes[at..at + 4]).unwrap_or_default();
        let long = |at: usize| <[u8; 8]>::try_from(&bytes[at..at + 8]).unwrap_or_default();
        let number = |index: usize| match limit.numbers {
            Numbers::Bool | Numbers::U32 => f64::from(u32::from_ne_bytes(word(limit.offset + 4 * index))),
            Numbers::I32 => f64::from(i32::from_ne_bytes(word(limit.offset + 4 * index))),
            Numbers::F32 => f64::from(f32::from_ne_bytes(word(limit.offset + 4 * index))),
            Numbers::U64 => u64::from_ne_bytes(long(limit.offset + 8 * index)) as f64,
        };
        let bits = match limit.numbers {
            Numbers::U64 => u64::from_ne_bytes(long(limit.offset)),
            _ => u32::from_ne_bytes(word(limit.offset)).into(),
        };
        let numbers = (0..limit.count).map(number).collect();
        Self { numbers, bits, is_mask: matches!(limit.rule, Rule::Contains(_)) }
    }

    fn meets(&self, rule: Rule, bound: &Bound) -> bool {
        match bound {
            Bound::Bool(value) => self.numbers == [f64::from(u8::from(*value))],
            Bound::Bits(bits) => bits.iter().all(|(_, bit)| self.bits & bit == *bit),
            Bound::Numbers(needs) => {
                let all = |meets: fn(f64, f64) -> bool| {
                    self.numbers.len() == needs.len() && self.numbers.iter().zip(needs).all(|(h, n)| meets(*h, *n))
                };
                match (rule, &self.numbers[..], &needs[..]) {
                    (Rule::AtLeast, ..) => all(|has, needs| has >= needs),
                    (Rule::AtMost, ..) => all(|has, needs| has <= needs),
                    (Rule::Equal, ..) => all(|has, needs| has == needs),
                    (Rule::Covers, [low, high], [from, to]) => low <= from && high >= to,
                    (Rule::Covers | Rule::Contains(_), ..) => false,
                }
            }
        }
    }

    fn text(&self) -> String {
        if self.is_mask { format!("{:#x}", self.bits) } else { join(&self.numbers) }
    }
}

fn join(numbers: &[f64]) -> String {
    match numbers {
        [one] => one.to_string(),
        all => format!("{all:?}").replace(".0,", ",").replace(".0]", "]"),
    }
}

fn text(bound: &Bound) -> String {
    match bound {
        Bound::Bool(value) => u8::from(*value).to_string(),
        Bound::Numbers(numbers) => join(numbers),
        Bound::Bits(bits) => bits.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" "),
    }
}

/// Returns a line for each kind of features of a format that lacks some.
fn format(device: &DeviceReport, requirement: &FormatRequirement) -> Vec<String> {
    let has = device.format(requirement.format);
    let mut lines = Vec::new();
    for ((kind, needs), has) in FORMAT_KINDS.iter().zip(&requirement.bits).zip([has.optimal, has.linear, has.buffer]) {
        let mut line = format!("format {} {kind}:", requirement.name);
        let begin = line.len();
        for (name, _) in needs.iter().filter(|(_, bit)| has & bit != *bit) {
            // Writing to a string cannot fail.
            let _ = write!(line, " {name}");
        }
        if line.len() > begin {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_compare_in_their_direction() {
        let value = |numbers: &[f64]| Limited { numbers: numbers.to_vec(), bits: 6, is_mask: false };
        let needs = |numbers: &[f64]| Bound::Numbers(numbers.to_vec());
        assert!(value(&[4.0]).meets(Rule::AtLeast, &needs(&[4.0])));
        assert!(!value(&[3.0]).meets(Rule::AtLeast, &needs(&[4.0])));
        assert!(!value(&[9.0, 1.0]).meets(Rule::AtLeast, &needs(&[1.0, 2.0])));
        assert!(value(&[3.0]).meets(Rule::AtMost, &needs(&[4.0])));
        assert!(!value(&[5.0]).meets(Rule::AtMost, &needs(&[4.0])));
        assert!(!value(&[5.0]).meets(Rule::Equal, &needs(&[4.0])));
        assert!(value(&[1.0, 9.0]).meets(Rule::Covers, &needs(&[1.0, 8.0])));
        assert!(!value(&[1.0, 9.0]).meets(Rule::Covers, &needs(&[0.5, 8.0])));
        assert!(value(&[0.0]).meets(Rule::Equal, &Bound::Bool(false)));
        let bits = |bits: &[u64]| Bound::Bits(bits.iter().map(|bit| (String::new(), *bit)).collect());
        assert!(value(&[]).meets(Rule::Contains(""), &bits(&[2, 4])));
        assert!(!value(&[]).meets(Rule::Contains(""), &bits(&[2, 8])));
    }
}

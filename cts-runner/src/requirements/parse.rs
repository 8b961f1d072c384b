//! Reader of requirements. Unknown keys and names are errors, because a requirement that is
//! misspelt must not pass.

use super::tables::{self, CORE_FEATURES, FEATURE_STRUCTURES, FORMATS, Limit, Numbers, Rule};
use super::{Bound, FORMAT_KINDS, FormatRequirement, Requirements};
use ash::vk;
use serde_json::{Map, Value};

/// Masks with the features of formats, in both generations of names.
const FORMAT_MASKS: [&str; 2] = ["VkFormatFeatureFlagBits", "VkFormatFeatureFlagBits2"];

impl Requirements {
    /// Reads a JSON text.
    ///
    /// # Errors
    /// Returns a message that names the key or value that is not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let json: Value = serde_json::from_str(text).map_err(|e| format!("not JSON: {e}"))?;
        let mut requirements = Self::default();
        for (key, value) in object(&json, "the file")? {
            match key.as_str() {
                "apiVersion" => requirements.api_version = version(value)?,
                "extensions" => requirements.extensions = extensions(value)?,
                "features" => requirements.features = features(value)?,
                "limits" => {
                    let all = object(value, "limits")?.iter();
                    requirements.limits =
                        all.map(|(n, v)| Ok((n.clone(), limit(n, v)?))).collect::<Result<_, String>>()?;
                }
                "formats" => {
                    let all = object(value, "formats")?.iter();
                    requirements.formats = all.map(|(n, v)| format(n, v)).collect::<Result<_, _>>()?;
                }
                _ => return Err(format!("unknown key `{key}`")),
            }
        }
        Ok(requirements)
    }
}

fn object<'a>(value: &'a Value, place: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{place}: expected an object"))
}

fn strings(value: &Value, place: &str) -> Result<Vec<String>, String> {
    let all = value.as_array().ok_or_else(|| format!("{place}: expected an array of names"))?;
    let name = |v: &Value| v.as_str().map(str::to_owned).ok_or_else(|| format!("{place}: {v} is no name"));
    all.iter().map(name).collect()
}

/// Reads a version such as "1.3" or "1.3.250".
fn version(value: &Value) -> Result<u32, String> {
    let wrong = || format!("apiVersion: expected a string such as \"1.3\", found {value}");
    let parts = value.as_str().ok_or_else(wrong)?.split('.').map(|p| p.parse::<u32>().map_err(|_| wrong()));
    match parts.collect::<Result<Vec<_>, _>>()?[..] {
        [major, minor] if major < 128 && minor < 1024 => Ok(vk::make_api_version(0, major, minor, 0)),
        [major, minor, patch] if major < 128 && minor < 1024 && patch < 4096 => {
            Ok(vk::make_api_version(0, major, minor, patch))
        }
        _ => Err(wrong()),
    }
}

fn extensions(value: &Value) -> Result<Vec<String>, String> {
    let names = strings(value, "extensions")?;
    match names.iter().find(|name| !name.starts_with("VK_")) {
        Some(name) => Err(format!("extensions: `{name}` is no name of an extension")),
        None => Ok(names),
    }
}

fn features(value: &Value) -> Result<Vec<String>, String> {
    let names = strings(value, "features")?;
    let is_known =
        |name: &str| CORE_FEATURES.contains(&name) || FEATURE_STRUCTURES.iter().any(|s| s.members.contains(&name));
    match names.iter().find(|name| !is_known(name)) {
        Some(name) => Err(format!("features: `{name}` is no member of a structure of features")),
        None => Ok(names),
    }
}

/// Reads the required value of a limit. Structures that have a limit of one name have it with one
/// type.
fn limit(name: &str, value: &Value) -> Result<Bound, String> {
    let (_, limit) = tables::limits(name).next().ok_or_else(|| format!("limits: unknown limit `{name}`"))?;
    let Limit { numbers, count, rule, .. } = *limit;
    if let Rule::Contains(mask) = rule {
        return Ok(Bound::Bits(bits(value, &[mask], &format!("limits: {name}"))?));
    }
    if numbers == Numbers::Bool {
        return value.as_bool().map(Bound::Bool).ok_or_else(|| format!("limits: {name}: expected true or false"));
    }
    let number = |v: &Value| if numbers == Numbers::F32 { v.as_f64() } else { v.as_i64().map(|n| n as f64) };
    let all = match value {
        Value::Array(all) => all.iter().map(number).collect(),
        one => number(one).map(|n| vec![n]),
    };
    let expected = || match count {
        1 => format!("limits: {name}: expected a number"),
        n => format!("limits: {name}: expected an array of {n} numbers"),
    };
    all.filter(|all| all.len() == count).map(Bound::Numbers).ok_or_else(expected)
}

fn bits(value: &Value, masks: &[&str], place: &str) -> Result<Vec<(String, u64)>, String> {
    let find = |name: String| match tables::bit(masks, &name) {
        Some(bit) => Ok((name, bit)),
        None => Err(format!("{place}: `{name}` is no bit of {}", masks[0])),
    };
    strings(value, place)?.into_iter().map(find).collect()
}

fn format(name: &str, value: &Value) -> Result<FormatRequirement, String> {
    let known = FORMATS.iter().find(|(n, _)| *n == name);
    let &(_, format) = known.ok_or_else(|| format!("formats: unknown format `{name}`"))?;
    let mut requirement = FormatRequirement { name: name.to_owned(), format, bits: Default::default() };
    for (key, value) in object(value, &format!("formats: {name}"))? {
        let kind = FORMAT_KINDS.iter().position(|kind| kind == key);
        let kind = kind.ok_or_else(|| format!("formats: {name}: unknown key `{key}`"))?;
        requirement.bits[kind] = bits(value, &FORMAT_MASKS, &format!("formats: {name}: {key}"))?;
    }
    Ok(requirement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_every_key_is_read() {
        let text = r#"{
            "apiVersion": "1.2.3",
            "extensions": ["VK_KHR_swapchain"],
            "features": ["geometryShader", "bufferDeviceAddress"],
            "limits": {
                "maxImageDimension2D": 4096, "maxComputeWorkGroupSize": [1, 2, 3], "pointSizeRange": [1, 2.5],
                "framebufferColorSampleCounts": ["VK_SAMPLE_COUNT_4_BIT"], "strictLines": true
            },
            "formats": { "VK_FORMAT_R8_UNORM": { "optimal": ["VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT"] } }
        }"#;
        let all = Requirements::parse(text).expect("a valid file");
        assert_eq!(all.api_version, vk::make_api_version(0, 1, 2, 3));
        assert_eq!((all.extensions.len(), all.features.len(), all.formats.len()), (1, 2, 1));
        let bound = |name: &str| all.limits.iter().find(|(n, _)| n == name).map(|(_, bound)| bound.clone());
        assert_eq!(bound("maxComputeWorkGroupSize"), Some(Bound::Numbers(vec![1.0, 2.0, 3.0])));
        assert_eq!(bound("strictLines"), Some(Bound::Bool(true)));
        assert_eq!(bound("framebufferColorSampleCounts"), Some(Bound::Bits(vec![("VK_SAMPLE_COUNT_4_BIT".into(), 4)])));
        assert_eq!(all.formats[0].format, vk::Format::R8_UNORM.as_raw());
        assert_eq!(all.formats[0].bits[0][0].1, 1);
    }

    /// Each of these files has a mistake that must not pass, and the message names it.
    #[test]
    fn mistakes_are_refused() {
        let files = [
            ("[]", "expected an object"),
            ("{", "not JSON"),
            (r#"{"feature": []}"#, "unknown key `feature`"),
            (r#"{"apiVersion": 1.3}"#, "apiVersion"),
            (r#"{"apiVersion": "1"}"#, "apiVersion"),
            (r#"{"extensions": ["swapchain"]}"#, "`swapchain`"),
            (r#"{"extensions": "VK_KHR_swapchain"}"#, "expected an array"),
            (r#"{"features": ["geometryShaders"]}"#, "`geometryShaders`"),
            (r#"{"features": [1]}"#, "1 is no name"),
            (r#"{"limits": {"maxImages": 1}}"#, "`maxImages`"),
            (r#"{"limits": {"maxImageDimension2D": "1"}}"#, "expected a number"),
            (r#"{"limits": {"maxImageDimension2D": 1.5}}"#, "expected a number"),
            (r#"{"limits": {"maxComputeWorkGroupSize": [1, 2]}}"#, "array of 3"),
            (r#"{"limits": {"strictLines": 1}}"#, "true or false"),
            (r#"{"limits": {"framebufferColorSampleCounts": ["VK_SHADER_STAGE_ALL"]}}"#, "VK_SHADER_STAGE_ALL"),
            (r#"{"formats": {"R8": {}}}"#, "`R8`"),
            (r#"{"formats": {"VK_FORMAT_R8_UNORM": {"optimal_": []}}}"#, "`optimal_`"),
            (r#"{"formats": {"VK_FORMAT_R8_UNORM": {"buffer": ["SAMPLED"]}}}"#, "`SAMPLED`"),
        ];
        for (text, part) in files {
            let message = Requirements::parse(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}

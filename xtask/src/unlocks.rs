//! Writer of the conditions under which shaders may declare SPIR-V capabilities and extensions.

use crate::driver::Driver;
use crate::registry::{Condition, Unlocked};
use crate::{Published, output};

/// Properties of floating-point controls: the beginning of their names, and the constants of the
/// driver that have their values.
const FLOAT_CONTROLS: [(&str, &str); 5] = [
    ("shaderDenormPreserve", "DENORM_PRESERVE"),
    ("shaderDenormFlushToZero", "DENORM_FLUSH_TO_ZERO"),
    ("shaderSignedZeroInfNanPreserve", "SIGNED_ZERO_INF_NAN_PRESERVE"),
    ("shaderRoundingModeRTE", "ROUNDING_MODE_RTE"),
    ("shaderRoundingModeRTZ", "ROUNDING_MODE_RTZ"),
];

/// Returns a condition as an expression; `None` if it names something that the driver has no row
/// for, and which is therefore never advertised.
fn expression(condition: &Condition, driver: &Driver) -> Option<String> {
    match condition {
        Condition::Version(version) => Some(format!("Core(V{})", version.strip_prefix("VK_VERSION_")?)),
        Condition::Extension(name) => driver.extensions.contains(name).then(|| format!("Ext(Extension::{name})")),
        Condition::Feature { name, providers } => {
            let is_known = driver.features.contains(name) && providers.iter().any(|p| driver.provides(p));
            is_known.then(|| format!("Has(Feature::{name})"))
        }
        Condition::Property { member, value } if member == "subgroupSupportedOperations" => {
            let bit = value.strip_prefix("VK_SUBGROUP_FEATURE_")?;
            let bit = ["_BIT_KHR", "_BIT_NV", "_BIT_EXT", "_BIT"].iter().find_map(|end| bit.strip_suffix(end))?;
            const CORE: [&str; 8] =
                ["BASIC", "VOTE", "ARITHMETIC", "BALLOT", "SHUFFLE", "SHUFFLE_RELATIVE", "CLUSTERED", "QUAD"];
            CORE.contains(&bit).then(|| format!("Subgroup(vk::SubgroupFeatureFlags::{bit})"))
        }
        Condition::Property { member, .. } => FLOAT_CONTROLS
            .iter()
            .find(|(prefix, _)| member.starts_with(prefix))
            .map(|(_, constant)| format!("FloatControls({constant})")),
    }
}

fn conditions(row: &Unlocked, driver: &Driver) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    for text in row.by.iter().filter_map(|condition| expression(condition, driver)) {
        if !list.contains(&text) {
            list.push(text);
        }
    }
    list
}

/// Writes both tables. They omit what no extension, feature or version of the driver unlocks.
///
/// # Errors
/// Returns a message if the tables of the driver are not found.
pub fn write(published: &Published) -> Result<String, String> {
    let driver = &published.driver;
    let mut text = output::header(
        "SPIR-V capabilities and extensions with the versions, extensions and features that unlock them.",
    );
    text += "use super::super::extensions::Extension;\nuse super::super::features::Feature;\n\
             use super::super::properties::{DENORM_FLUSH_TO_ZERO, DENORM_PRESERVE, ROUNDING_MODE_RTE, ROUNDING_MODE_RTZ, SIGNED_ZERO_INF_NAN_PRESERVE};\n\
             use super::super::unlock::Unlock::{self, Core, Ext, FloatControls, Has, Subgroup};\n\
             use super::super::{V1_0, V1_1, V1_2, V1_3, V1_4};\n\
             use ash::vk;\nuse jit::spirv::Capability;\n\n\
             /// Capabilities, and the conditions any of which unlocks them.\n\
             pub static CAPABILITIES: &[(Capability, &[Unlock])] = &[\n";
    let grammar = published.grammar.capabilities();
    let mut rows: Vec<(u32, String)> = Vec::new();
    for row in &published.registry.spirv_capabilities {
        let by = conditions(row, driver);
        if let Some(capability) = grammar.iter().find(|c| c.name == row.name)
            && !by.is_empty()
        {
            rows.push((capability.number, format!("(Capability::{}, &[{}]),\n", row.name, by.join(", "))));
        }
    }
    rows.sort();
    rows.dedup_by_key(|row| row.0);
    text.extend(rows.into_iter().map(|row| row.1));
    text += "];\n\n/// Extensions, and the conditions any of which unlocks them.\n\
             pub static EXTENSIONS: &[(&str, &[Unlock])] = &[\n";
    let mut rows: Vec<String> = Vec::new();
    for row in &published.registry.spirv_extensions {
        let by = conditions(row, driver);
        if !by.is_empty() {
            rows.push(format!("(\"{}\", &[{}]),\n", row.name, by.join(", ")));
        }
    }
    rows.sort();
    text.extend(rows);
    Ok(text + "];\n")
}

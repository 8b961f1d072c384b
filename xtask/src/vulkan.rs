//! Writer of the tables of Vulkan extensions and features.

use crate::dependency::{Dependency, texts};
use crate::driver::Driver;
use crate::output::{self, wrapped};
use crate::registry::Structure;
use crate::{Provided, Published};
use std::collections::BTreeMap;

/// Features with the name of another feature: their structures, and the names of their rows.
const HOMONYMS: [(&str, &str, &str); 2] = [
    (
        "VkPhysicalDeviceBufferDeviceAddressFeaturesEXT",
        "bufferDeviceAddressCaptureReplay",
        "bufferDeviceAddressCaptureReplayEXT",
    ),
    (
        "VkPhysicalDeviceRayTracingInvocationReorderFeaturesNV",
        "rayTracingInvocationReorder",
        "rayTracingInvocationReorderNV",
    ),
];

/// Returns a core version as the driver names it.
fn version(name: &str) -> Option<String> {
    name.strip_prefix("VK_VERSION_").map(|numbers| format!("V{numbers}"))
}

/// Writes what the registry says of the extensions that have a row.
///
/// # Errors
/// Returns a message if the registry does not have one of the extensions.
pub fn write_extensions(published: &Published) -> Result<String, String> {
    let driver = &published.driver;
    let mut text = output::comment(
        "Extensions: name, value of `specVersion`, scope, core version that absorbed the extension, and \n\
         dependencies. The rows of `extensions.rs` say which extensions there are.",
    );
    text += "registry_facts! {\n";
    for name in &driver.extensions {
        let extension = published.registry.extensions.iter().find(|e| e.name == *name);
        let extension = extension.ok_or_else(|| format!("the registry has no extension {name}"))?;
        let needs = Dependency::read(&extension.depends)?.known(driver);
        let needs =
            needs.ok_or_else(|| format!("{name} depends on extensions that have no row: {}", extension.depends))?;
        text += &wrapped(&format!(
            "{name} {} {} {} [{}];",
            extension.spec_version,
            if extension.is_instance { "Instance" } else { "Device" },
            version(&extension.promoted_to).map_or("None".to_owned(), |v| format!("Some({v})")),
            texts(&needs.parts())
        ));
    }
    Ok(text + "}\n")
}

/// Structures of features, with the conditions under which the driver provides them.
fn feature_structures(published: &Published) -> Result<BTreeMap<&str, (&Structure, Vec<String>)>, String> {
    let registry = &published.registry;
    let mut all: BTreeMap<&str, (&Structure, Vec<String>)> = BTreeMap::new();
    for provided in published.provided()? {
        let text = match &provided.dependencies[..] {
            [one] => one.text(),
            _ => Dependency::All(provided.dependencies).text(),
        };
        for name in provided.contents.types.iter().map(|name| registry.resolved(name)) {
            if let Some(structure) = registry.structures.get(name)
                && structure.extends.iter().any(|e| e == "VkPhysicalDeviceFeatures2")
            {
                let from = &mut all.entry(name).or_insert((structure, Vec::new())).1;
                if !from.contains(&text) {
                    from.push(text.clone());
                }
            }
        }
    }
    Ok(all)
}

/// Returns the features of a structure, in the order of its members.
fn members<'a>(name: &'a str, structure: &'a Structure, driver: &Driver) -> Result<Vec<&'a str>, String> {
    let mut list = Vec::new();
    for member in structure.members.iter().filter(|m| m.ty == "VkBool32") {
        let homonym = HOMONYMS.iter().find(|(of, feature, _)| *of == name && *feature == member.name);
        let feature = homonym.map_or(member.name.as_str(), |(.., own)| own);
        if !driver.features.contains(feature) {
            return Err(format!("feature {feature} of {name} has no row in icd/src/caps/feature_table.rs"));
        }
        list.push(feature);
    }
    Ok(list)
}

/// Writes the structures of features and the mandatory features.
///
/// # Errors
/// Returns a message if a feature has no row.
pub fn write_features(published: &Published) -> Result<String, String> {
    let driver = &published.driver;
    let registry = &published.registry;
    let mut text = output::comment("The members of VkPhysicalDeviceFeatures, in order.");
    let core = registry.structures.get("VkPhysicalDeviceFeatures").ok_or("no VkPhysicalDeviceFeatures")?;
    text += "core! {\n";
    text += &wrapped(&(members("VkPhysicalDeviceFeatures", core, driver)?.join(" ") + ";"));
    text += "}\n\n// Structures: name, tag, extensions and versions that provide them, and features in the order of\n\
             // their members.\nstructures! {\n";
    for (name, (structure, from)) in feature_structures(published)? {
        let tag = structure.tag.as_ref().and_then(|tag| registry.tags.get(tag));
        let tag = tag.ok_or_else(|| format!("{name} has no tag"))?;
        let members = members(name, structure, driver)?;
        let short = name.trim_start_matches("Vk");
        text += &wrapped(&format!("{short} {tag} [{}]: {};", from.join(", "), members.join(" ")));
    }
    text += "}\n\n// Features that an extension or a version requires, any one of each row.\nmandatory! {\n";
    mandatory(published)?.iter().for_each(|row| text += &wrapped(row));
    Ok(text + "}\n")
}

/// Returns the rows of the mandatory features. Features that another feature makes mandatory are
/// left out.
fn mandatory(published: &Published) -> Result<Vec<String>, String> {
    let features = &published.driver.features;
    let mut rows = Vec::new();
    for Provided { contents, dependencies } in published.provided()?.iter().filter(|p| !p.contents.needs_feature()) {
        for set in &contents.features {
            let known: Vec<&str> = set.iter().map(String::as_str).filter(|f| features.contains(*f)).collect();
            if known.is_empty() {
                return Err(format!("{} requires {}, which has no row", texts(dependencies), set.join(" or ")));
            }
            let row = format!("[{}]: {};", texts(dependencies), known.join(" "));
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// Writes the commands of the extensions that have a row and of the core versions.
///
/// # Errors
/// Returns a message if a condition is not understood.
pub fn write_commands(published: &Published) -> Result<String, String> {
    let mut text = output::comment("Commands of extensions and of core versions after 1.0, with their conditions.");
    text += "commands! {\n";
    for Provided { contents, dependencies } in published.provided()?.iter().filter(|p| !p.contents.needs_feature()) {
        if !contents.commands.is_empty() {
            text += &wrapped(&format!("[{}]: {};", texts(dependencies), contents.commands.join(" ")));
        }
    }
    Ok(text + "}\n")
}

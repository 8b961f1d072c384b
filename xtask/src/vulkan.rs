//! Writer of the tables of Vulkan extensions and features.

use crate::driver::Driver;
use crate::need::Dependency;
use crate::output::{self, wrapped};
use crate::registry::{Contents, Structure};
use crate::{Published, registry};
use std::collections::BTreeMap;

/// Features with the name of another feature: their structures, and the names of their rows.
const HOMONYMS: [(&str, &str, &str); 1] = [(
    "VkPhysicalDeviceBufferDeviceAddressFeaturesEXT",
    "bufferDeviceAddressCaptureReplay",
    "bufferDeviceAddressCaptureReplayEXT",
)];

/// Returns a core version as the driver names it.
fn version(name: &str) -> Option<String> {
    name.strip_prefix("VK_VERSION_").map(|numbers| format!("V{numbers}"))
}

/// Writes what the registry says of the extensions that have a row.
///
/// # Errors
/// Returns a message if the registry does not have one of the extensions.
pub fn write_extensions(published: &Published) -> Result<String, String> {
    let driver = Driver::read()?;
    let mut text = output::comment(
        "Extensions: name, value of `specVersion`, scope, core version that absorbed the extension, and \n\
         dependencies. The rows of `extensions.rs` say which extensions there are.",
    );
    text += "registry_facts! {\n";
    for name in &driver.extensions {
        let extension = published.registry.extensions.iter().find(|e| e.name == *name);
        let extension = extension.ok_or_else(|| format!("the registry has no extension {name}"))?;
        let needs = Dependency::read(&extension.depends)?.known(&driver);
        let needs =
            needs.ok_or_else(|| format!("{name} depends on extensions that have no row: {}", extension.depends))?;
        let needs: Vec<String> = needs.parts().iter().map(Dependency::text).collect();
        text += &wrapped(&format!(
            "{name} {} {} {} [{}];",
            extension.spec_version,
            if extension.is_instance { "Instance" } else { "Device" },
            version(&extension.promoted_to).map_or("None".to_owned(), |v| format!("Some({v})")),
            needs.join(", ")
        ));
    }
    Ok(text + "}\n")
}

/// Structures of features, with the conditions under which the driver provides them.
fn feature_structures<'a>(
    published: &'a Published,
    driver: &Driver,
) -> Result<BTreeMap<&'a str, (&'a Structure, Vec<String>)>, String> {
    let registry = &published.registry;
    let mut all: BTreeMap<&str, (&Structure, Vec<String>)> = BTreeMap::new();
    let mut add = |contents: &'a Contents, provider: Dependency| {
        let condition = if contents.depends.contains("::") { String::new() } else { contents.depends.clone() };
        let needs: Vec<Dependency> = Dependency::read(&condition)?.parts().into_iter().chain([provider]).collect();
        let Some(need) = Dependency::All(needs).known(driver) else { return Ok(()) };
        let parts = need.clone().parts();
        let text = if let [one] = &parts[..] { one.text() } else { need.text() };
        for name in contents.types.iter().map(|name| registry.resolved(name)) {
            if let Some(structure) = registry.structures.get(name)
                && structure.extends.iter().any(|e| e == "VkPhysicalDeviceFeatures2")
            {
                let from = &mut all.entry(name).or_insert((structure, Vec::new())).1;
                if !from.contains(&text) {
                    from.push(text.clone());
                }
            }
        }
        Ok::<(), String>(())
    };
    for extension in registry.extensions.iter().filter(|e| driver.extensions.contains(&e.name)) {
        for contents in &extension.contents {
            add(contents, Dependency::Name(extension.name.clone()))?;
        }
    }
    for version in registry.versions.iter().filter(|v| v.name != "VK_VERSION_1_0") {
        for contents in &version.contents {
            add(contents, Dependency::Name(version.name.clone()))?;
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
    let driver = Driver::read()?;
    let registry = &published.registry;
    let mut text = output::comment("The members of VkPhysicalDeviceFeatures, in order.");
    let core = registry.structures.get("VkPhysicalDeviceFeatures").ok_or("no VkPhysicalDeviceFeatures")?;
    text += "core! {\n";
    text += &wrapped(&(members("VkPhysicalDeviceFeatures", core, &driver)?.join(" ") + ";"));
    text += "}\n\n// Structures: name, tag, extensions and versions that provide them, and features in the order of\n\
             // their members.\nstructures! {\n";
    for (name, (structure, from)) in feature_structures(published, &driver)? {
        let tag = structure.tag.as_ref().and_then(|tag| registry.tags.get(tag));
        let tag = tag.ok_or_else(|| format!("{name} has no tag"))?;
        let members = members(name, structure, &driver)?;
        let short = name.trim_start_matches("Vk");
        text += &wrapped(&format!("{short} {tag} [{}]: {};", from.join(", "), members.join(" ")));
    }
    text += "}\n\n// Features that an extension or a version requires, any one of each row.\nmandatory! {\n";
    let mut rows = Vec::new();
    for extension in registry.extensions.iter().filter(|e| driver.extensions.contains(&e.name)) {
        rows.extend(mandatory(&Dependency::Name(extension.name.clone()), &extension.contents, &driver)?);
    }
    for version in registry.versions.iter().filter(|v| v.name != "VK_VERSION_1_0") {
        rows.extend(mandatory(&Dependency::Name(version.name.clone()), &version.contents, &driver)?);
    }
    rows.iter().for_each(|row| text += &wrapped(row));
    Ok(text + "}\n")
}

/// Returns the rows of the mandatory features of an extension or version. Features that another
/// feature makes mandatory are left out.
fn mandatory(provider: &Dependency, contents: &[Contents], driver: &Driver) -> Result<Vec<String>, String> {
    let mut rows = Vec::new();
    for contents in contents.iter().filter(|c| !c.depends.contains("::")) {
        let needs = [provider.clone()].into_iter().chain(Dependency::read(&contents.depends)?.parts()).collect();
        let Some(need) = Dependency::All(needs).known(driver) else { continue };
        for set in &contents.features {
            let known: Vec<&str> = set.iter().map(String::as_str).filter(|f| driver.features.contains(*f)).collect();
            if known.is_empty() {
                return Err(format!("{} requires {}, which has no row", provider.text(), set.join(" or ")));
            }
            let needs: Vec<String> = need.clone().parts().iter().map(Dependency::text).collect();
            let row = format!("[{}]: {};", needs.join(", "), known.join(" "));
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
    let driver = Driver::read()?;
    let registry: &registry::Registry = &published.registry;
    let mut text = output::comment("Commands of extensions and of core versions after 1.0, with their conditions.");
    text += "commands! {\n";
    let extensions = registry.extensions.iter().filter(|e| driver.extensions.contains(&e.name));
    let extensions = extensions.map(|e| (&e.name, &e.contents));
    let versions = registry.versions.iter().filter(|v| v.name != "VK_VERSION_1_0").map(|v| (&v.name, &v.contents));
    for (name, contents) in extensions.chain(versions) {
        for contents in contents.iter().filter(|c| !c.commands.is_empty()) {
            let needs = [Dependency::Name(name.clone())]
                .into_iter()
                .chain(Dependency::read(&contents.depends)?.parts())
                .collect();
            let Some(need) = Dependency::All(needs).known(&driver) else { continue };
            let needs: Vec<String> = need.parts().iter().map(Dependency::text).collect();
            text += &wrapped(&format!("[{}]: {};", needs.join(", "), contents.commands.join(" ")));
        }
    }
    Ok(text + "}\n")
}

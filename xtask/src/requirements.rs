//! Writer of the tables from which `cts-runner run --require` finds features, limits and formats by
//! name. They have all of the registry, because the tool runs on any driver.

use crate::Published;
use crate::output::{self, wrapped};
use crate::registry::{Member, Registry, Structure};
use std::collections::{BTreeMap, BTreeSet};

/// Sizes of arrays that the registry gives by name.
const SIZES: [(&str, usize); 5] = [
    ("VK_LUID_SIZE", 8),
    ("VK_MAX_DRIVER_INFO_SIZE", 256),
    ("VK_MAX_DRIVER_NAME_SIZE", 256),
    ("VK_MAX_GLOBAL_PRIORITY_SIZE", 16),
    ("VK_UUID_SIZE", 16),
];

/// Masks of the features of a format, with the names of both generations.
const FORMAT_MASKS: [&str; 2] = ["VkFormatFeatureFlagBits", "VkFormatFeatureFlagBits2"];

/// Type of a member in memory: the name of its numbers in the table, their bytes and their count,
/// or bytes without numbers.
struct Layout {
    /// Type of the numbers, or nothing for members that are no limits.
    numbers: Option<&'static str>,
    /// Bytes of a number, which are also its alignment.
    size: usize,
    /// Number of numbers.
    count: usize,
}

/// Returns the layout of a member on targets with pointers of 64 bits.
fn layout(registry: &Registry, member: &Member) -> Option<Layout> {
    let (_, behind) = member.declaration.split_once(&member.ty)?;
    if behind.contains('*') {
        return Some(Layout { numbers: None, size: 8, count: 1 });
    }
    let (numbers, size, of_type) = match registry.resolved(&member.ty) {
        "VkBool32" => (Some("Bool"), 4, 1),
        "uint32_t" => (Some("U32"), 4, 1),
        "int32_t" => (Some("I32"), 4, 1),
        "float" => (Some("F32"), 4, 1),
        "uint64_t" | "size_t" | "VkDeviceSize" => (Some("U64"), 8, 1),
        "VkExtent2D" => (Some("U32"), 4, 2),
        "VkExtent3D" => (Some("U32"), 4, 3),
        "uint8_t" | "char" => (None, 1, 1),
        "VkConformanceVersion" => (None, 1, 4),
        ty => match registry.scalars.get(ty)? {
            &"u64" => (Some("U64"), 8, 1),
            _ => (Some("U32"), 4, 1),
        },
    };
    let count = match behind.split_once('[') {
        None => 1,
        Some((_, size)) => {
            let size = size.split(']').next()?.trim();
            let named = SIZES.iter().find(|(name, _)| *name == size);
            named.map(|(_, size)| *size).or_else(|| size.parse().ok())?
        }
    };
    Some(Layout { numbers, size, count: of_type * count })
}

/// Returns the rule by which a value of a device meets a requirement, or nothing for a member that
/// is not comparable.
fn rule(registry: &Registry, member: &Member, numbers: &str) -> Option<String> {
    let kind = member.limit_type.split(',').next()?;
    let is_number = !registry.scalars.contains_key(registry.resolved(&member.ty));
    match kind {
        _ if numbers == "Bool" => Some("Equal".to_owned()),
        "max" | "bits" if is_number => Some("AtLeast".to_owned()),
        "min" if is_number => Some("AtMost".to_owned()),
        "exact" if is_number => Some("Equal".to_owned()),
        "range" if is_number => Some("Covers".to_owned()),
        "bitmask" => {
            let bits = registry.bits.get(registry.resolved(&member.ty)).map_or(member.ty.as_str(), String::as_str);
            registry.values.contains_key(bits).then(|| format!("Contains({bits})"))
        }
        _ => None,
    }
}

/// Returns the extensions and core versions that provide each structure.
fn providers(registry: &Registry) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let extensions = registry.extensions.iter().map(|e| (&e.name, &e.contents));
    for (name, contents) in extensions.chain(registry.versions.iter().map(|v| (&v.name, &v.contents))) {
        for ty in contents.iter().flat_map(|c| &c.types) {
            all.entry(registry.resolved(ty)).or_default().insert(name);
        }
    }
    all
}

/// Returns the beginning of the row of a structure: its name, tag and providers.
fn begin(registry: &Registry, name: &str, structure: &Structure, from: &BTreeSet<&str>) -> Option<String> {
    let tag = registry.tags.get(structure.tag.as_ref()?)?;
    Some(format!("{name} {tag} [{}]", from.iter().copied().collect::<Vec<_>>().join(" ")))
}

fn write_features(registry: &Registry) -> Result<String, String> {
    let mut text = String::from("core_features! {\n");
    let names = |s: &Structure| -> Vec<String> {
        s.members.iter().filter(|m| m.ty == "VkBool32").map(|m| m.name.clone()).collect()
    };
    let core = registry.structures.get("VkPhysicalDeviceFeatures").ok_or("no VkPhysicalDeviceFeatures")?;
    text += &(wrapped(&(names(core).join(" ") + ";")) + "}\n\n");
    text += "// Structures of features: name, tag, providers, members in order.\nfeature_structures! {\n";
    let from = providers(registry);
    for (name, structure) in &registry.structures {
        let Some(from) = from.get(name.as_str()) else { continue };
        if structure.extends.iter().any(|e| e == "VkPhysicalDeviceFeatures2") {
            let row = begin(registry, name, structure, from).ok_or_else(|| format!("{name} has no tag"))?;
            text += &wrapped(&format!("{row}: {};", names(structure).join(" ")));
        }
    }
    Ok(text + "}\n")
}

/// Returns the row of a structure of limits, and adds the masks that it uses. A structure without
/// comparable members, or with members of an unknown size, has no row.
fn limits(registry: &Registry, begin: &str, structure: &Structure) -> Option<String> {
    let (mut offset, mut alignment, mut rows) = (0usize, 1, Vec::new());
    for member in &structure.members {
        let layout = match member.name.as_str() {
            "sType" => Layout { numbers: None, size: 4, count: 1 },
            _ => layout(registry, member)?,
        };
        alignment = alignment.max(layout.size);
        offset = offset.next_multiple_of(layout.size);
        if let Some(numbers) = layout.numbers
            && let Some(rule) = rule(registry, member, numbers)
        {
            rows.push(format!("{} {offset} {numbers} {} {rule}", member.name, layout.count));
        }
        offset += layout.size * layout.count;
    }
    let size = offset.next_multiple_of(alignment);
    (!rows.is_empty()).then(|| format!("{begin} {size}: {};", rows.join(", ")))
}

fn write_limits(registry: &Registry) -> Result<String, String> {
    let mut text = String::from(
        "// Structures of limits: name, tag, providers, bytes, and members with their offsets, types, counts\n\
         // and rules. VkPhysicalDeviceLimits has no tag.\nlimit_structures! {\n",
    );
    let core = registry.structures.get("VkPhysicalDeviceLimits").ok_or("no VkPhysicalDeviceLimits")?;
    let row = limits(registry, "VkPhysicalDeviceLimits 0 []", core);
    text += &wrapped(&row.ok_or("VkPhysicalDeviceLimits has a member of an unknown type")?);
    let from = providers(registry);
    for (name, structure) in &registry.structures {
        let Some(from) = from.get(name.as_str()) else { continue };
        if structure.extends.iter().any(|e| e == "VkPhysicalDeviceProperties2") {
            let begin = begin(registry, name, structure, from).ok_or_else(|| format!("{name} has no tag"))?;
            text += &limits(registry, &begin, structure).map_or(String::new(), |row| wrapped(&row));
        }
    }
    Ok(text + "}\n")
}

/// Writes the values of the masks that a text refers to, and of the features of formats.
fn write_masks(registry: &Registry, limits: &str) -> String {
    let used = |name: &str| limits.contains(&format!("Contains({name})")) || FORMAT_MASKS.contains(&name);
    let mut text = String::from("// Masks: name, and bits with their values.\nmasks! {\n");
    for (name, values) in registry.values.iter().filter(|(name, _)| used(name)) {
        let bits: Vec<String> = values.iter().map(|(name, value)| format!("{name} {value:#x}")).collect();
        text += &wrapped(&format!("{name}: {};", bits.join(", ")));
    }
    text + "}\n"
}

/// Writes the tables.
///
/// # Errors
/// Returns a message if the registry lacks a structure or a tag.
pub fn write(published: &Published) -> Result<String, String> {
    let registry = &published.registry;
    let limits = write_limits(registry)?;
    let formats = registry.values.get("VkFormat").ok_or("no VkFormat")?;
    let formats: Vec<String> = formats.iter().map(|(name, value)| format!("{name} {value}")).collect();
    Ok([
        output::comment("Features of VkPhysicalDeviceFeatures, in order."),
        write_features(registry)?,
        "\n".to_owned(),
        write_masks(registry, &limits),
        "\n".to_owned(),
        limits,
        "\n// Formats and their values.\nformats! {\n".to_owned(),
        wrapped(&(formats.join(", ") + ";")),
        "}\n".to_owned(),
    ]
    .concat())
}

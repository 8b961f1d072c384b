//! Writer of the structures and types of commands that `ash` does not know yet.

use crate::Published;
use crate::output::{self, SPACE, whole, wrapped};
use crate::registry::{Contents, Member, Registry};
use std::collections::BTreeSet;
use std::path::Path;

/// Types that the driver declares itself: handles, types without a tag, and unions, which it
/// declares as what has their size.
const OWN: [(&str, &str); 15] = [
    ("VkDescriptorMappingSourceDataEXT", "[u64; 7]"),
    ("VkDeviceAddressRangeEXT", "DeviceAddressRangeKHR"),
    ("VkDeviceAddressRangeKHR", "DeviceAddressRangeKHR"),
    ("VkDeviceOrHostAddressConstKHR", "DeviceAddress"),
    ("VkDeviceOrHostAddressKHR", "DeviceAddress"),
    ("VkHostAddressRangeConstEXT", "HostAddressRangeEXT"),
    ("VkHostAddressRangeEXT", "HostAddressRangeEXT"),
    ("VkIndirectCommandsLayoutEXT", "IndirectCommandsLayoutEXT"),
    ("VkIndirectCommandsTokenDataEXT", "*const c_void"),
    ("VkIndirectExecutionSetEXT", "IndirectExecutionSetEXT"),
    ("VkIndirectExecutionSetInfoEXT", "*const c_void"),
    ("VkPipelineBinaryKHR", "PipelineBinaryKHR"),
    ("VkPipelineBinaryKeysAndDataKHR", "PipelineBinaryKeysAndDataKHR"),
    ("VkResourceDescriptorDataEXT", "*const c_void"),
    ("VkStridedDeviceAddressRangeKHR", "StridedDeviceAddressRangeKHR"),
];

/// Types of C.
const BASIC: [(&str, &str); 11] = [
    ("char", "c_char"),
    ("float", "f32"),
    ("int", "i32"),
    ("int32_t", "i32"),
    ("int64_t", "i64"),
    ("size_t", "usize"),
    ("uint16_t", "u16"),
    ("uint32_t", "u32"),
    ("uint64_t", "u64"),
    ("uint8_t", "u8"),
    ("void", "c_void"),
];

/// The names that `ash` declares.
struct Ash {
    names: BTreeSet<String>,
    /// Structures with a lifetime.
    lifetimes: BTreeSet<String>,
}

impl Ash {
    fn read(folder: &Path) -> Result<Ash, String> {
        let mut ash = Ash { names: BTreeSet::new(), lifetimes: BTreeSet::new() };
        for file in ["aliases", "bitflags", "definitions", "enums", "extensions", "features", "native"] {
            let path = folder.join(format!("{file}.rs"));
            let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            for (i, line) in text.lines().enumerate() {
                let start = ["pub struct ", "pub type ", "pub union "].iter().find_map(|s| line.trim().strip_prefix(s));
                // The first argument of a macro that declares a handle stands behind its
                // parenthesis, or in the next line if the macro has several.
                let handle = line.starts_with("handle_nondispatchable") || line.starts_with("define_handle");
                let same_line = || line.split_once('(').map(|(_, argument)| argument).filter(|a| !a.is_empty());
                let argument = || same_line().or_else(|| text.lines().nth(i + 1).map(str::trim));
                let Some(text) = (if handle { argument() } else { start }) else { continue };
                let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
                ash.names.insert(text[..end].to_owned());
                if text[end..].starts_with("<'a>") {
                    ash.lifetimes.insert(text[..end].to_owned());
                }
            }
        }
        Ok(ash)
    }
}

/// Structures to write, and what is needed to name types.
struct Writer<'a> {
    registry: &'a Registry,
    ash: Ash,
    /// Contents that the driver may provide.
    contents: Vec<&'a Contents>,
    structures: BTreeSet<&'a str>,
}

impl<'a> Writer<'a> {
    fn new(published: &'a Published) -> Result<Writer<'a>, String> {
        let registry = &published.registry;
        let contents = published.provided()?.iter().map(|p| p.contents).filter(|c| !c.needs_feature()).collect();
        let ash = Ash::read(&published.ash)?;
        let mut writer = Writer { registry, ash, contents, structures: BTreeSet::new() };
        let types = writer.contents.iter().flat_map(|c| &c.types);
        // A command may be provided without another extension that its parameters belong to.
        let commands = writer.contents.iter().flat_map(|c| &c.commands).filter_map(|name| registry.commands.get(name));
        let parameters = commands.flat_map(|command| &command.parameters).map(|parameter| &parameter.ty);
        for name in types.chain(parameters) {
            let name = registry.resolved(name);
            let Some(structure) = registry.structures.get(name) else { continue };
            // Structures of features have no fields of their own here (`feature_table`).
            let features = structure.extends.iter().any(|e| e == "VkPhysicalDeviceFeatures2");
            // An object that neither `ash` nor the driver declares is one that the driver does not
            // have.
            let own = |ty: &str| OWN.iter().any(|(own, _)| *own == ty);
            let foreign = |m: &Member| registry.handles.contains(&m.ty) && !own(&m.ty) && !writer.is_in_ash(&m.ty);
            let foreign = structure.members.iter().any(foreign);
            if structure.tag.is_some() && !features && !foreign && !writer.is_in_ash(name) {
                writer.structures.insert(name);
            }
        }
        Ok(writer)
    }

    /// Returns true if `ash` has the structure under one of its names.
    fn is_in_ash(&self, name: &str) -> bool {
        let has = |name: &str| self.ash.names.contains(name.trim_start_matches("Vk"));
        has(name) || self.registry.aliases.keys().any(|other| self.registry.resolved(other) == name && has(other))
    }

    /// Returns a type without pointers, as the driver names it.
    fn name(&self, ty: &str, lifetime: &str) -> Result<String, String> {
        if let Some((_, own)) = OWN.iter().chain(&BASIC).find(|(c, _)| *c == ty) {
            return Ok((*own).to_owned());
        }
        // `ash` has one type for a mask and for its bits.
        let mask = ty.replace("FlagBits", "Flags");
        if self.ash.names.contains(mask.trim_start_matches("Vk")) && mask != ty {
            return Ok(mask.trim_start_matches("Vk").to_owned());
        }
        let name = self.registry.resolved(ty);
        let short = name.trim_start_matches("Vk");
        let others = self.registry.aliases.keys().filter(|other| self.registry.resolved(other) == name);
        let mut known = [name].into_iter().chain(others.map(String::as_str)).map(|n| n.trim_start_matches("Vk"));
        if let Some(known) = known.find(|n| self.ash.names.contains(*n)) {
            let generic = if self.ash.lifetimes.contains(known) { lifetime } else { "" };
            return Ok(format!("{known}{generic}"));
        }
        if self.structures.contains(name) {
            return Ok(format!("{short}{lifetime}"));
        }
        match self.registry.scalars.get(name) {
            Some(scalar) => Ok((*scalar).to_owned()),
            None => Err(format!("type {ty}")),
        }
    }

    /// Returns the type of a member or parameter.
    fn ty(&self, member: &Member, lifetime: &str) -> Result<String, String> {
        let mut ty = self.name(&member.ty, lifetime)?;
        let (before, behind) = member.declaration.split_once(&member.ty).unwrap_or((&member.declaration, ""));
        let pointers = behind.matches('*').count();
        for level in 0..pointers {
            // A `const` before the type belongs to the first pointer, one behind it to the next.
            let constant = if level == 0 { before.contains("const") } else { behind.contains("const") };
            ty = format!("*{} {ty}", if constant { "const" } else { "mut" });
        }
        if let Some((_, size)) = behind.split_once('[') {
            let size = size.split(']').next().unwrap_or_default().trim_start_matches("VK_");
            ty = format!("[{ty}; {size}]");
        }
        Ok(ty)
    }
}

/// Returns a name in snake case, as `ash` writes it.
pub fn snake(name: &str) -> String {
    let (chars, mut text): (Vec<char>, String) = (name.chars().collect(), String::new());
    for (i, &c) in chars.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| chars[i]);
        let behind = chars.get(i + 1);
        let word = before.is_some_and(|b| b.is_lowercase() || b.is_ascii_digit())
            || before.is_some_and(char::is_uppercase) && behind.is_some_and(|b| b.is_lowercase());
        if c.is_uppercase() && word && !text.ends_with('_') {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    if text == "type" { "ty".to_owned() } else { text }
}

/// Writes the structures and types of commands.
///
/// # Errors
/// Returns a message if a type is not known.
pub fn write(published: &Published) -> Result<String, String> {
    let registry = &published.registry;
    let writer = Writer::new(published)?;
    let mut text = output::comment("Structures that `ash` lacks, with their tags.");
    text += "structures! {\n";
    for name in &writer.structures {
        let structure = &registry.structures[*name];
        let tag = structure.tag.as_ref().and_then(|tag| registry.tags.get(tag));
        let tag = tag.ok_or_else(|| format!("{name} has no tag"))?;
        let mut row = format!("{} = {tag} {{", name.trim_start_matches("Vk"));
        for member in structure.members.iter().filter(|m| m.name != "sType" && m.name != "pNext") {
            let ty = writer.ty(member, "<'a>").map_err(|e| format!("{name}: {e}"))?;
            let field = snake(&member.name);
            row += &if ty == "Bool32" { format!(" {field},") } else { format!(" {field}:{SPACE}{},", whole(&ty)) };
        }
        text += &wrapped(&(row + " }"));
    }
    text += "}\n\n// Types of commands that `ash` lacks.\npointers! {\n";
    let mut written = BTreeSet::new();
    for name in writer.contents.iter().flat_map(|c| &c.commands) {
        let name = registry.command_aliases.get(name).unwrap_or(name);
        let has = |name: &str| writer.ash.names.contains(&format!("PFN_{name}"));
        let other = registry.command_aliases.iter().any(|(other, of)| of == name && has(other));
        let Some(command) = registry.commands.get(name).filter(|_| !has(name) && !other && written.insert(name)) else {
            continue;
        };
        let types = command.parameters.iter().map(|p| writer.ty(p, "<'_>")).collect::<Result<Vec<_>, _>>();
        let types: Vec<String> = types.map_err(|e| format!("{name}: {e}"))?.iter().map(|ty| whole(ty)).collect();
        let result = match command.result.ty.as_str() {
            "void" => String::new(),
            ty => format!(" -> {}", writer.name(ty, "")?),
        };
        text += &wrapped(&format!("PFN_{name}: ({}){result};", types.join(", ")));
    }
    Ok(text + "}\n")
}

/// Structures of properties that became core, and the functions of the driver that fill them.
const CORE: [(&str, &str); 4] = [
    ("VkPhysicalDeviceVulkan11Properties", "vulkan11"),
    ("VkPhysicalDeviceVulkan12Properties", "vulkan12"),
    ("VkPhysicalDeviceVulkan13Properties", "vulkan13"),
    ("VkPhysicalDeviceVulkan14Properties", "vulkan14"),
];

/// Writes the structures of properties all of whose members are those of a structure of [`CORE`].
///
/// # Errors
/// Returns a message if a type is not known.
pub fn write_properties(published: &Published) -> Result<String, String> {
    let registry = &published.registry;
    let writer = Writer::new(published)?;
    let mut text = output::comment(
        "Structures of properties, with the function that has their values and the fields, all of which \n\
         have the same names in both.",
    );
    text += "promoted! {\n";
    let names = writer.contents.iter().flat_map(|c| &c.types).map(|name| registry.resolved(name));
    for name in names.collect::<BTreeSet<_>>() {
        let Some(structure) = registry.structures.get(name) else { continue };
        let own: Vec<&Member> = structure.members.iter().filter(|m| m.name != "sType" && m.name != "pNext").collect();
        let plain = own.iter().all(|m| !m.declaration.contains('*')) && !CORE.iter().any(|(core, _)| *core == name);
        if !plain || !structure.extends.iter().any(|e| e == "VkPhysicalDeviceProperties2") {
            continue;
        }
        let has = |core: &str| {
            let all = registry.structures.get(core).map_or(&[][..], |s| &s.members);
            own.iter()
                .all(|m| all.iter().any(|c| c.name == m.name && registry.resolved(&c.ty) == registry.resolved(&m.ty)))
        };
        let Some((_, function)) = CORE.iter().find(|(core, _)| has(core)) else { continue };
        let fields: Vec<String> = own.iter().map(|m| snake(&m.name)).collect();
        text += &wrapped(&format!("{} {function}: {};", writer.name(name, "")?, fields.join(" ")));
    }
    Ok(text + "}\n")
}

#[cfg(test)]
mod tests {
    use super::snake;

    #[test]
    fn names_are_those_of_ash() {
        let pairs = [
            ("image2DViewOf3DSparse", "image2_d_view_of3_d_sparse"),
            ("shaderBFloat16Type", "shader_b_float16_type"),
            ("pCopySrcLayouts", "p_copy_src_layouts"),
            ("optimalTilingLayoutUUID", "optimal_tiling_layout_uuid"),
            ("resolveSRGBFormatAppliesTransferFunction", "resolve_srgb_format_applies_transfer_function"),
            ("type", "ty"),
        ];
        assert!(pairs.iter().all(|(name, expected)| snake(name) == *expected));
    }
}

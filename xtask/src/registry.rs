//! Reader of `vk.xml`.

use roxmltree::{Document, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The registry of Vulkan, as far as the driver needs it.
#[derive(Debug, Default)]
pub struct Registry {
    /// Conditions of the SPIR-V capabilities.
    pub spirv_capabilities: Vec<Unlocked>,
    /// Conditions of the SPIR-V extensions.
    pub spirv_extensions: Vec<Unlocked>,
    /// Extensions of Vulkan, in the order of the file.
    pub extensions: Vec<Extension>,
    /// Contents of the core versions after 1.0.
    pub versions: Vec<Version>,
    /// Structures, by name.
    pub structures: BTreeMap<String, Structure>,
    /// Other names of types.
    pub aliases: BTreeMap<String, String>,
    /// Numbers of `VkStructureType`, by name.
    pub tags: BTreeMap<String, u32>,
    /// Enumerations and masks, by name, with the type of their values.
    pub scalars: BTreeMap<String, &'static str>,
    /// Enumerations that have the bits of a mask, by the name of the mask.
    pub bits: BTreeMap<String, String>,
    /// Names and values of enumerations and bits, by the name of the enumeration.
    pub values: BTreeMap<String, Vec<(String, u64)>>,
    /// Types of objects.
    pub handles: BTreeSet<String>,
    /// Commands, by name.
    pub commands: BTreeMap<String, Command>,
    /// Other names of commands.
    pub command_aliases: BTreeMap<String, String>,
}

/// A command.
#[derive(Debug)]
pub struct Command {
    /// Result, as a member without a name.
    pub result: Member,
    /// Parameters.
    pub parameters: Vec<Member>,
}

/// An extension.
#[derive(Debug)]
pub struct Extension {
    /// Name.
    pub name: String,
    /// True for an instance extension.
    pub is_instance: bool,
    /// Value of `specVersion`.
    pub spec_version: u32,
    /// Core version or extension that absorbed the extension; may be empty.
    pub promoted_to: String,
    /// Dependencies, as an expression.
    pub depends: String,
    /// Contents.
    pub contents: Vec<Contents>,
}

/// A core version.
#[derive(Debug)]
pub struct Version {
    /// Name, such as `VK_VERSION_1_1`.
    pub name: String,
    /// Contents, of all the parts that make up the version.
    pub contents: Vec<Contents>,
}

/// Features that an extension or a version provides under one condition.
#[derive(Debug, Default)]
pub struct Contents {
    /// Condition, as an expression; may be empty.
    pub depends: String,
    /// Types.
    pub types: Vec<String>,
    /// Commands.
    pub commands: Vec<String>,
    /// Sets of features, one of each of which is mandatory.
    pub features: Vec<Vec<String>>,
}

impl Contents {
    /// Returns true if the condition names a feature (`structure::member`).
    pub fn needs_feature(&self) -> bool {
        self.depends.contains("::")
    }
}

/// A structure.
#[derive(Debug)]
pub struct Structure {
    /// Name of its tag, if it has one.
    pub tag: Option<String>,
    /// Structures whose chains may have it.
    pub extends: Vec<String>,
    /// Members including the tag and the pointer of the chain.
    pub members: Vec<Member>,
}

/// A member of a structure.
#[derive(Debug)]
pub struct Member {
    /// Name.
    pub name: String,
    /// Name of the type without pointers.
    pub ty: String,
    /// Text of the declaration.
    pub declaration: String,
    /// Value of `limittype`: how values of the member compare; may be empty.
    pub limit_type: String,
}

/// A SPIR-V capability or extension with its conditions.
#[derive(Debug)]
pub struct Unlocked {
    /// Name in SPIR-V.
    pub name: String,
    /// Conditions, any of which suffices.
    pub by: Vec<Condition>,
}

/// Condition that enables a SPIR-V capability or extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A core version, such as `VK_VERSION_1_1`.
    Version(String),
    /// An extension.
    Extension(String),
    /// A feature of a structure. Structures of several extensions may have features of one name.
    Feature {
        /// Name of the feature.
        name: String,
        /// Core versions and extensions, any of which provides the structure.
        providers: Vec<String>,
    },
    /// A property that has a value.
    Property {
        /// Member of a structure of properties.
        member: String,
        /// Value or bit.
        value: String,
    },
}

impl Registry {
    /// Reads the file.
    ///
    /// # Errors
    /// Returns a message if the file is not readable or not a registry.
    pub fn read(path: &Path) -> Result<Registry, String> {
        let broken = |what: &str| format!("{}: {what}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| broken(&e.to_string()))?;
        let document = Document::parse(&text).map_err(|e| broken(&e.to_string()))?;
        let mut registry = Registry::default();
        for node in document.root_element().children() {
            match node.tag_name().name() {
                "spirvcapabilities" => registry.spirv_capabilities = unlocked(node, "spirvcapability"),
                "spirvextensions" => registry.spirv_extensions = unlocked(node, "spirvextension"),
                "types" => registry.types(node),
                "commands" => registry.commands(node),
                "enums" if attribute(node, "name") == "VkStructureType" => {
                    let numbers = children(node, "enum").filter_map(|e| Some((attribute(e, "name"), number(e)?)));
                    registry.tags.extend(numbers);
                }
                "enums" => children(node, "enum").for_each(|e| registry.value(&attribute(node, "name"), e, 0)),
                "feature" if is_vulkan(node) => registry.version(node),
                "extensions" => {
                    let all = children(node, "extension")
                        .filter(|e| list(&attribute(*e, "supported")).any(|s| s == "vulkan"));
                    all.for_each(|extension| registry.extension(extension));
                }
                _ => {}
            }
        }
        let parts = [registry.spirv_capabilities.len(), registry.spirv_extensions.len(), registry.extensions.len()];
        if parts.contains(&0) || registry.structures.is_empty() || registry.tags.is_empty() {
            return Err(broken("no registry of Vulkan"));
        }
        Ok(registry)
    }

    fn commands(&mut self, node: Node<'_, '_>) {
        for command in children(node, "command").filter(|c| is_vulkan(*c)) {
            if let Some(of) = command.attribute("alias") {
                self.command_aliases.insert(attribute(command, "name"), of.to_owned());
            } else if let Some(result) = children(command, "proto").next() {
                let parameters = children(command, "param").filter(|p| is_vulkan(*p)).map(member).collect();
                let result = member(result);
                self.commands.insert(result.name.clone(), Command { result, parameters });
            }
        }
    }

    fn types(&mut self, node: Node<'_, '_>) {
        for ty in children(node, "type").filter(|t| is_vulkan(*t)) {
            if let Some(of) = ty.attribute("alias") {
                self.aliases.insert(attribute(ty, "name"), of.to_owned());
                continue;
            }
            match ty.attribute("category") {
                Some("enum") => _ = self.scalars.insert(attribute(ty, "name"), "i32"),
                Some("handle") => _ = self.handles.insert(member(ty).name),
                Some("bitmask") => {
                    let wide = member(ty).ty == "VkFlags64";
                    let name = if ty.has_attribute("name") { attribute(ty, "name") } else { member(ty).name };
                    let bits = ty.attribute("requires").or(ty.attribute("bitvalues"));
                    self.bits.extend(bits.map(|bits| (name.clone(), bits.to_owned())));
                    self.scalars.insert(name, if wide { "u64" } else { "u32" });
                }
                _ => {}
            }
        }
        for ty in children(node, "type").filter(|t| is_structure(*t) && is_vulkan(*t)) {
            let name = attribute(ty, "name");
            let mut structure = Structure {
                tag: None,
                extends: list(&attribute(ty, "structextends")).map(str::to_owned).collect(),
                members: Vec::new(),
            };
            for node in children(ty, "member").filter(|m| is_vulkan(*m)) {
                let member = member(node);
                if member.name == "sType" {
                    structure.tag = node.attribute("values").map(str::to_owned);
                }
                structure.members.push(member);
            }
            self.structures.insert(name, structure);
        }
    }

    /// Reads a core version or a part of one, which has a name of its own.
    fn version(&mut self, node: Node<'_, '_>) {
        let name = format!("VK_VERSION_{}", attribute(node, "number").replace('.', "_"));
        let contents = self.contents(node, 0);
        match self.versions.iter_mut().find(|v| v.name == name) {
            Some(version) => version.contents.extend(contents),
            None => self.versions.push(Version { name, contents }),
        }
    }

    fn extension(&mut self, node: Node<'_, '_>) {
        let name = attribute(node, "name");
        let requires = || children(node, "require").flat_map(|r| children(r, "enum"));
        let version = requires().find(|e| attribute(*e, "name").ends_with("_SPEC_VERSION"));
        let contents = self.contents(node, attribute(node, "number").parse().unwrap_or(0));
        self.extensions.push(Extension {
            is_instance: attribute(node, "type") == "instance",
            spec_version: version.and_then(|e| attribute(e, "value").parse().ok()).unwrap_or(0),
            promoted_to: attribute(node, "promotedto"),
            depends: attribute(node, "depends"),
            name,
            contents,
        });
    }

    /// Reads the contents of an extension with this number or of a version, and the tags that they
    /// define.
    fn contents(&mut self, node: Node<'_, '_>, extension: u32) -> Vec<Contents> {
        let mut all = Vec::new();
        for require in children(node, "require").filter(|r| is_vulkan(*r)) {
            let mut contents = Contents { depends: attribute(require, "depends"), ..Contents::default() };
            for child in require.children() {
                let name = attribute(child, "name");
                match child.tag_name().name() {
                    "type" => contents.types.push(name),
                    "command" => contents.commands.push(name),
                    "feature" => contents.features.push(list(&name).map(str::to_owned).collect()),
                    "enum" if attribute(child, "extends") == "VkStructureType" => {
                        let number = number(child).or_else(|| {
                            let offset: u32 = attribute(child, "offset").parse().ok()?;
                            let extension = attribute(child, "extnumber").parse().unwrap_or(extension);
                            Some(tag(extension, offset))
                        });
                        self.tags.extend(number.map(|number| (name, number)));
                    }
                    "enum" if child.has_attribute("extends") => {
                        self.value(&attribute(child, "extends"), child, extension);
                    }
                    _ => {}
                }
            }
            all.push(contents);
        }
        all
    }

    /// Reads a value of an enumeration or a bit, which may be defined by an extension with this
    /// number. A value that another extension has defined already is left out, as are negative
    /// ones.
    fn value(&mut self, of: &str, node: Node<'_, '_>, extension: u32) {
        let values = self.values.entry(of.to_owned()).or_default();
        let name = attribute(node, "name");
        let literal = |text: &str| match text.trim_end_matches("ULL").strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.trim_end_matches("ULL").parse().ok(),
        };
        let offset = || {
            let extension = attribute(node, "extnumber").parse().unwrap_or(extension);
            Some(u64::from(tag(extension, attribute(node, "offset").parse().ok()?)))
        };
        let bit = || Some(1 << attribute(node, "bitpos").parse::<u32>().ok()?);
        let alias = || {
            let of = node.attribute("alias")?;
            values.iter().find(|(name, _)| name == of).map(|(_, value)| *value)
        };
        let value = literal(&attribute(node, "value")).or_else(bit).or_else(alias).or_else(offset);
        if let Some(value) = value.filter(|_| values.iter().all(|(other, _)| *other != name)) {
            values.push((name, value));
        }
    }

    /// Returns the structure that a name stands for.
    pub fn resolved<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, |of| self.resolved(of))
    }
}

/// Reads a member, a parameter or a result: an element with a type and a name in its text.
fn member(node: Node<'_, '_>) -> Member {
    let part = |tag| children(node, tag).next().and_then(|n| n.text()).unwrap_or_default().to_owned();
    let text = node.descendants().filter(|n| n.is_text() && !n.parent().is_some_and(|p| p.has_tag_name("comment")));
    Member {
        name: part("name"),
        ty: part("type"),
        declaration: text.filter_map(|n| n.text()).collect(),
        limit_type: attribute(node, "limittype"),
    }
}

/// Returns the number of a tag that an extension defines.
pub fn tag(extension: u32, offset: u32) -> u32 {
    1_000_000_000 + (extension - 1) * 1000 + offset
}

/// Returns true for the declaration of a structure, and not for another name of one.
fn is_structure(node: Node<'_, '_>) -> bool {
    node.attribute("category") == Some("struct") && !node.has_attribute("alias")
}

fn number(node: Node<'_, '_>) -> Option<u32> {
    attribute(node, "value").parse().ok()
}

/// Returns true for a part of Vulkan, but not of Vulkan SC alone.
fn is_vulkan(node: Node<'_, '_>) -> bool {
    node.attribute("api").is_none_or(|api| list(api).any(|a| a == "vulkan"))
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|t| !t.is_empty())
}

fn attribute(node: Node<'_, '_>, name: &str) -> String {
    node.attribute(name).unwrap_or_default().to_owned()
}

fn children<'a, 'i>(node: Node<'a, 'i>, tag: &str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |n| n.has_tag_name(tag))
}

fn unlocked(node: Node<'_, '_>, tag: &str) -> Vec<Unlocked> {
    let row = |node: Node<'_, '_>| {
        let mut by = Vec::new();
        for enable in children(node, "enable") {
            let condition = if let Some(version) = enable.attribute("version") {
                Condition::Version(version.to_owned())
            } else if let Some(extension) = enable.attribute("extension") {
                Condition::Extension(extension.to_owned())
            } else if let Some(feature) = enable.attribute("feature") {
                let providers = enable.attribute("requires").unwrap_or_default().split(',');
                Condition::Feature { name: feature.to_owned(), providers: providers.map(str::to_owned).collect() }
            } else {
                Condition::Property { member: attribute(enable, "member"), value: attribute(enable, "value") }
            };
            by.push(condition);
        }
        Unlocked { name: attribute(node, "name"), by }
    };
    children(node, tag).map(row).collect()
}

//! Writer of the SPIR-V capabilities.

use crate::{Published, output};

/// Writes the enumeration of all capabilities, with their names and the capabilities that each
/// declares implicitly.
pub fn write(published: &Published) -> String {
    let all = published.grammar.capabilities();
    let mut text = output::header("The capabilities of SPIR-V.");
    text += "/// A capability, with its number in the binary.\n\
             #[allow(missing_docs, clippy::upper_case_acronyms, reason = \"the names are the specification's\")]\n\
             #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n\
             pub enum Capability {\n";
    for c in all {
        text += &format!("{} = {},\n", c.name, c.number);
    }
    text += "}\n\n/// All capabilities, sorted by number.\npub static CAPABILITIES: &[Capability] = &[\n";
    for c in all {
        text += &format!("Capability::{},\n", c.name);
    }
    text += "];\n\nimpl Capability {\n\
             /// Returns the capabilities that the capability declares implicitly.\n\
             pub fn implied(self) -> &'static [Capability] {\nmatch self {\n";
    for c in all.iter().filter(|c| !c.capabilities.is_empty()) {
        let implied: Vec<String> = c.capabilities.iter().map(|name| format!("Capability::{name}")).collect();
        text += &format!("Capability::{} => &[{}],\n", c.name, implied.join(", "));
    }
    text + "_ => &[],\n}\n}\n}\n"
}

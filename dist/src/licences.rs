//! The licences of what is linked into the binaries.

use crate::components::Component;
use crate::system::Part;
use crate::{Result, read};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Beginnings of the names of files with licences.
const NAMES: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// Returns the list of components with their licences, followed by each text once. Parts that are
/// no crates stand first.
///
/// # Errors
/// Returns a message if a file cannot be read.
pub fn text(parts: &[Part], components: &[Component]) -> Result<String> {
    let mut list = String::from("Grus contains these parts:\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, licence, file) in parts {
        list += &format!("  {name}: {licence}\n");
        if let Some(file) = file {
            let text = String::from_utf8_lossy(&read(Path::new(file))?).into_owned();
            texts.entry(text).or_default().push((*name).to_owned());
        }
    }
    for component in components {
        list += &format!("  {}: {}\n", component.id(), component.licence);
        for text in files(component)? {
            texts.entry(text).or_default().push(component.id());
        }
    }
    // Texts are ordered by the first component that has them.
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (text, of) in texts {
        let rule = "-".repeat(78);
        // Writing to a string cannot fail.
        let _ = write!(list, "\n{rule}\n{}:\n\n{}\n", of.join(", "), text.trim_end());
    }
    Ok(list)
}

/// Returns the texts of the files with licences in a component's folder.
fn files(component: &Component) -> Result<Vec<String>> {
    let broken = |e: std::io::Error| format!("{}: {e}", component.folder.display());
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(&component.folder).map_err(broken)? {
        let entry = entry.map_err(broken)?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if NAMES.iter().any(|begin| name.starts_with(begin)) && entry.path().is_file() {
            texts.push(String::from_utf8_lossy(&read(&entry.path())?).replace("\r\n", "\n"));
        }
    }
    texts.sort();
    Ok(texts)
}

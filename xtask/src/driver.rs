//! Names in the hand-written tables of the driver, to which the generated tables refer.

use crate::source::root;
use std::collections::BTreeSet;

/// The names.
#[derive(Debug)]
pub struct Driver {
    /// Extensions with a row, in table order.
    pub extensions: Vec<String>,
    /// Features with a row.
    pub features: BTreeSet<String>,
}

impl Driver {
    /// Reads the tables.
    ///
    /// # Errors
    /// Returns a message if a table is not found.
    pub fn read() -> Result<Driver, String> {
        let extensions = first_words("icd/src/caps/extensions.rs", "extensions! {")?;
        let features = first_words("icd/src/caps/feature_table.rs", "features! {")?;
        let named = |list: Vec<String>, what: &str| match list.is_empty() {
            true => Err(format!("no {what} found")),
            false => Ok(list),
        };
        Ok(Driver {
            extensions: named(extensions.into_iter().filter(|n| n.starts_with("VK_")).collect(), "extension")?,
            features: named(features, "feature")?.into_iter().collect(),
        })
    }

    /// Returns true for a core version, and for an extension with a row. Nothing that another
    /// extension provides is ever advertised.
    pub fn provides(&self, provider: &str) -> bool {
        provider.starts_with("VK_VERSION_") || self.extensions.iter().any(|name| name == provider)
    }
}

/// Returns the first words of the rows of a macro: those of its lines that end with a semicolon.
fn first_words(path: &str, macro_call: &str) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(root().join(path)).map_err(|e| format!("{path}: {e}"))?;
    let (mut words, mut depth) = (Vec::new(), 0);
    for line in text.lines().skip_while(|line| line.trim_end() != macro_call) {
        let row = line.trim();
        if row.ends_with('{') {
            depth += 1;
        } else if row == "}" {
            depth -= 1;
            if depth == 0 {
                break;
            }
        } else if row.ends_with(';') {
            words.extend(row.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned));
        }
    }
    Ok(words)
}

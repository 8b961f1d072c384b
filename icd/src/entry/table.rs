//! The command table: all rows.

#![forbid(unsafe_code)]

use super::*;
use crate::ffi::table::{CommandRow, Need};

/// All tables.
pub fn tables() -> [&'static [CommandRow]; 13] {
    [
        instance::COMMANDS,
        physical_device::COMMANDS,
        device::COMMANDS,
        resource::COMMANDS,
        descriptor::COMMANDS,
        pipeline::COMMANDS,
        render_pass::COMMANDS,
        sync::COMMANDS,
        command_buffer::COMMANDS,
        cmd_state::COMMANDS,
        cmd_draw::COMMANDS,
        cmd_transfer::COMMANDS,
        WSI,
    ]
}

/// Window system commands.
const WSI: &[CommandRow] = crate::wsi::COMMANDS;

/// Finds a row by any of its names.
pub fn find(name: &str) -> Option<(&'static CommandRow, Need)> {
    use std::collections::HashMap;
    use std::sync::OnceLock;
    static INDEX: OnceLock<HashMap<&'static str, (&'static CommandRow, Need)>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let rows = tables().into_iter().flatten();
        rows.flat_map(|row| row.names.iter().map(move |(name, need)| (*name, (row, *need)))).collect()
    });
    index.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_well_formed() {
        let mut seen = std::collections::HashSet::new();
        for row in tables().into_iter().flatten() {
            assert!(!row.names.is_empty());
            for (name, need) in row.names {
                assert!(name.starts_with("vk"), "{name}");
                assert!(seen.insert(*name), "{name} has two rows");
                if let Need::Extension(extension) = need {
                    assert!(extension.starts_with("VK_"), "{name}: {extension}");
                }
            }
        }
    }
}

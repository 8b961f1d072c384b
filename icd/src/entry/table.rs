//! The command table: one row per command, with every name it goes by and what has to be enabled for that name.

use ash::vk;

/// Which handle a command is dispatched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// None: available from a null instance.
    Global,
    /// `VkInstance`.
    Instance,
    /// `VkPhysicalDevice`.
    PhysicalDevice,
    /// `VkDevice` and its children.
    Device,
}

/// What a name needs to be visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A core version.
    Core(u32),
    /// An extension.
    Extension(&'static str),
}

/// Vulkan 1.0.
pub const V1_0: Need = Need::Core(vk::API_VERSION_1_0);
/// Vulkan 1.1.
pub const V1_1: Need = Need::Core(vk::API_VERSION_1_1);
/// Vulkan 1.2.
pub const V1_2: Need = Need::Core(vk::API_VERSION_1_2);
/// Vulkan 1.3.
pub const V1_3: Need = Need::Core(vk::API_VERSION_1_3);
/// An extension.
pub const fn ext(name: &'static str) -> Need {
    Need::Extension(name)
}

/// Any command, before a caller casts it to its type.
pub type Function = unsafe extern "system" fn();

/// A row.
pub struct CommandRow {
    /// Dispatch level.
    pub level: Level,
    /// Core name and aliases.
    pub names: &'static [(&'static str, Need)],
    /// The shim.
    pub function: Function,
}

/// A row: `row!(Device, cmd_copy_buffer as vk::PFN_vkCmdCopyBuffer, vkCmdCopyBuffer: V1_0)`. The cast checks the signature.
macro_rules! row {
    ($level:ident, $shim:path as $ty:ty, $($name:ident: $need:expr),+ $(,)?) => {
        $crate::entry::table::CommandRow {
            level: $crate::entry::table::Level::$level,
            names: &[$((stringify!($name), $need)),+],
            // SAFETY: function pointers have one representation; callers cast back to the command's type.
            function: unsafe { core::mem::transmute::<$ty, $crate::entry::table::Function>($shim as $ty) },
        }
    };
}
pub(crate) use row;

/// All tables.
pub fn tables() -> [&'static [CommandRow]; 13] {
    use super::*;
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

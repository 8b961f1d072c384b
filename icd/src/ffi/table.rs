//! Rows of the command table: a command, with every name it goes by and what has to be enabled for that name.

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
/// Vulkan 1.4, which ash does not know.
pub const V1_4: Need = Need::Core(vk::make_api_version(0, 1, 4, 0));
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
        $crate::ffi::table::CommandRow {
            level: $crate::ffi::table::Level::$level,
            names: &[$((stringify!($name), $need)),+],
            // SAFETY: function pointers have one representation; callers cast back to the command's type.
            function: unsafe { core::mem::transmute::<$ty, $crate::ffi::table::Function>($shim as $ty) },
        }
    };
}
pub(crate) use row;

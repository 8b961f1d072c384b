//! Rows of the command table: a command, with all its names and what has to be enabled for each
//! name.

use ash::vk;

/// Handle on which a command is dispatched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DispatchLevel {
    /// No handle: available from a null instance.
    Global,
    /// A `VkInstance`.
    Instance,
    /// A `VkPhysicalDevice`.
    PhysicalDevice,
    /// A `VkDevice` or one of its children.
    Device,
}

/// Requirement for a name to be visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// A core version.
    Core(u32),
    /// An extension.
    Extension(&'static str),
    /// One of these extensions.
    AnyExtension(&'static [&'static str]),
}

impl Requirement {
    /// Returns the extensions, each of which makes the name visible.
    pub fn extensions(&self) -> &[&'static str] {
        match self {
            Requirement::Core(_) => &[],
            Requirement::Extension(name) => std::slice::from_ref(name),
            Requirement::AnyExtension(names) => names,
        }
    }
}

/// Requirement of Vulkan 1.0.
pub const V1_0: Requirement = Requirement::Core(vk::API_VERSION_1_0);
/// Requirement of Vulkan 1.1.
pub const V1_1: Requirement = Requirement::Core(vk::API_VERSION_1_1);
/// Requirement of Vulkan 1.2.
pub const V1_2: Requirement = Requirement::Core(vk::API_VERSION_1_2);
/// Requirement of Vulkan 1.3.
pub const V1_3: Requirement = Requirement::Core(vk::API_VERSION_1_3);
/// Requirement of Vulkan 1.4, which ash does not know.
pub const V1_4: Requirement = Requirement::Core(vk::make_api_version(0, 1, 4, 0));
/// Returns the requirement of an extension.
pub const fn ext(name: &'static str) -> Requirement {
    Requirement::Extension(name)
}

/// Returns the requirement of a name that several extensions provide.
pub const fn any(names: &'static [&'static str]) -> Requirement {
    Requirement::AnyExtension(names)
}

/// Pointer to any command, before a caller casts it to its type.
pub type Function = unsafe extern "system" fn();

/// A command.
pub struct CommandRow {
    /// Dispatch level of the command.
    pub level: DispatchLevel,
    /// Core name and aliases, each with its requirement.
    pub names: &'static [(&'static str, Requirement)],
    /// Shim of the command.
    pub function: Function,
}

/// Makes a row: `row!(Device, cmd_copy_buffer as vk::PFN_vkCmdCopyBuffer, vkCmdCopyBuffer: V1_0)`.
/// The cast checks the signature.
macro_rules! row {
    ($level:ident, $shim:path as $ty:ty, $($name:ident: $need:expr),+ $(,)?) => {
        $crate::ffi::table::CommandRow {
            level: $crate::ffi::table::DispatchLevel::$level,
            names: &[$((stringify!($name), $need)),+],
            // SAFETY: function pointers have one representation; callers cast back to the command's
            // type.
            function: unsafe { core::mem::transmute::<$ty, $crate::ffi::table::Function>($shim as $ty) },
        }
    };
}
pub(crate) use row;

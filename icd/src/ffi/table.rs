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
/// The cast checks the signature. The library exports the names that [`export!`] selects.
macro_rules! row {
    ($level:ident, $shim:path as $ty:ty, $($name:ident: $need:ident $(($($extension:tt)*))?),+ $(,)?) => {{
        $($crate::ffi::table::export!($shim, $name, $need $(($($extension)*))?);)+
        $crate::ffi::table::CommandRow {
            level: $crate::ffi::table::DispatchLevel::$level,
            names: &[$((stringify!($name), $need $(($($extension)*))?)),+],
            // SAFETY: function pointers have one representation; callers cast back to the command's
            // type.
            function: unsafe { core::mem::transmute::<$ty, $crate::ffi::table::Function>($shim as $ty) },
        }
    }};
}
pub(crate) use row;

/// Exports a name if the Vulkan loader exports it too: those of core versions, and those of the
/// system's surfaces and of swapchains. A program without layers can therefore use the library in
/// place of the loader (`libvulkan.so.1`).
macro_rules! export {
    ($shim:path, $name:ident, V1_0) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, V1_1) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, V1_2) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, V1_3) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, V1_4) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, SURFACE) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, SWAPCHAIN) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, CAPABILITIES2) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, ext("VK_EXT_headless_surface")) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, ext("VK_KHR_wayland_surface")) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, ext("VK_KHR_win32_surface")) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, ext("VK_KHR_xcb_surface")) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, ext("VK_KHR_xlib_surface")) => {
        $crate::ffi::table::symbol!($shim, $name);
    };
    ($shim:path, $name:ident, $($other:tt)+) => {};
}
pub(crate) use export;

/// Defines an exported symbol that jumps to a command's shim. The driver itself never refers to the
/// symbol, because the loader of a process that has both may define it too.
macro_rules! symbol {
    ($shim:path, $name:ident) => {
        // SAFETY: (the attributes) the loader's symbol of this name means the same command. The
        // jump leaves the arguments, the stack and the return address as the caller has set them.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[allow(non_snake_case, reason = "programs look for this name")]
        unsafe extern "system" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("jmp {shim}", shim = sym $shim);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("b {shim}", shim = sym $shim);
        }
    };
}
pub(crate) use symbol;

//! SPIR-V capabilities and extensions that shaders may declare: exactly those that the versions,
//! extensions and features of the driver unlock, by the tables of the "Vulkan Environment for
//! SPIR-V" appendix (`generated::spirv`).

#![forbid(unsafe_code)]

use super::extensions::Extension;
use super::generated::spirv::{CAPABILITIES, EXTENSIONS};
use super::{API_VERSION, V1_1, V1_2, V1_3};

/// Returns the numbers of the capabilities that shaders may declare.
pub fn capabilities() -> Vec<u32> {
    let met = CAPABILITIES.iter().filter(|(_, by)| by.iter().any(|by| by.is_met()));
    met.map(|(capability, _)| *capability as u32).collect()
}

/// Returns the names of the SPIR-V extensions that shaders may declare.
pub fn extensions() -> Vec<String> {
    let met = EXTENSIONS.iter().filter(|(_, by)| by.iter().any(|by| by.is_met()));
    met.map(|(name, _)| (*name).to_owned()).collect()
}

/// Returns the highest SPIR-V version that modules may have, as in the second word of a module (1.0
/// is 0x10000).
pub fn version() -> u32 {
    let minor = match API_VERSION {
        version if version >= V1_3 => 6,
        version if version >= V1_2 => 5,
        _ if Extension::VK_KHR_spirv_1_4.is_advertised() => 4,
        version if version >= V1_1 => 3,
        _ => 0,
    };
    0x1_0000 | minor << 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use jit::spirv::Capability;

    #[test]
    fn advertised_is_accepted() {
        let accepted = capabilities();
        let has = |capability: Capability| accepted.contains(&(capability as u32));
        use Capability as C;
        assert!(has(C::Matrix) && has(C::Shader) && has(C::ImageGatherExtended) && has(C::ClipDistance));
        assert!(has(C::Geometry) && has(C::GeometryStreams) && has(C::Tessellation) && has(C::Float16));
        assert!(has(C::Float64) && has(C::DescriptorHeapEXT) && has(C::DotProductFloat8AccFloat32VALVE));
        assert!(!has(C::Kernel) && has(C::RayTracingKHR));
        assert_eq!(has(C::GroupNonUniform), API_VERSION >= V1_1);
        assert_eq!(version() >= 0x1_0300, API_VERSION >= V1_1);
        assert!(extensions().iter().any(|e| e == "SPV_KHR_storage_buffer_storage_class"));
    }

    /// Checks that the front end translates exactly what is advertised.
    #[test]
    fn accepted_is_implemented() {
        let implemented = jit::spirv::Accept::all_implemented().capabilities;
        let mut accepted = capabilities();
        accepted.sort_unstable();
        assert_eq!(accepted, implemented, "each is listed once");
    }
}

//! Shader modules: their words, which are parsed when a pipeline uses them.

use std::sync::Arc;

/// `VkShaderModule`.
pub struct ShaderModule {
    /// SPIR-V words.
    pub words: Arc<[u32]>,
    /// True if a validation cache has the verdict that the module is valid.
    pub is_validated: bool,
}

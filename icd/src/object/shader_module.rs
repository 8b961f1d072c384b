//! Shader modules: the words, parsed when a pipeline uses them.

use std::sync::Arc;

/// `VkShaderModule`.
pub struct ShaderModule {
    /// SPIR-V.
    pub words: Arc<[u32]>,
}

//! Shader modules: the words, parsed when a pipeline uses them.

/// `VkShaderModule`.
pub struct ShaderModule {
    /// SPIR-V.
    pub words: Box<[u32]>,
}

//! From SPIR-V words to a compiled stage.

use super::hash::hash128;
use base::shader::{CompiledStage, PipelineLayoutInfo, Stage};
use std::sync::OnceLock;

/// What to compile.
pub struct StageRequest<'a> {
    /// SPIR-V.
    pub words: &'a [u32],
    /// Stage.
    pub stage: Stage,
    /// Entry point.
    pub entry: &'a str,
    /// Specialisation: id, bytes.
    pub specialization: Vec<(u32, Vec<u8>)>,
    /// Layout.
    pub layout: &'a PipelineLayoutInfo,
}

/// A stage and its bytes for pipeline caches (empty when it cannot be stored).
pub struct Compiled {
    /// Stage.
    pub stage: CompiledStage,
    /// Bytes.
    pub blob: Vec<u8>,
}

impl StageRequest<'_> {
    /// Everything the code depends on, hashed.
    pub fn key(&self) -> [u8; 16] {
        let words: Vec<u8> = self.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let rest = format!("{:?} {:?} {:?}", self.stage, self.specialization, self.layout);
        hash128(&[&words, self.entry.as_bytes(), rest.as_bytes(), env!("CARGO_PKG_VERSION").as_bytes()])
    }
}

/// Compiles; the error is the message for the application.
pub fn compile(request: &StageRequest<'_>) -> Result<Compiled, String> {
    let module = jit::spirv::Module::parse(request.words).map_err(|e| e.to_string())?;
    let specialization = jit::spirv::Specialization { entries: request.specialization.clone() };
    let compiled = jit::compile(&jit::CompileRequest {
        module: &module,
        stage: request.stage,
        entry: request.entry,
        specialization: &specialization,
        layout: request.layout,
        accept: accepted(),
        options: jit::emit::EmitOptions::default(),
    })
    .map_err(|e| e.to_string())?;
    Ok(Compiled { stage: compiled.stage, blob: compiled.blob.to_bytes() })
}

/// What modules may declare: exactly what the device advertises.
fn accepted() -> &'static jit::spirv::Accept {
    static ACCEPT: OnceLock<jit::spirv::Accept> = OnceLock::new();
    ACCEPT.get_or_init(|| jit::spirv::Accept {
        capabilities: crate::caps::spirv::capabilities(),
        extensions: Some(crate::caps::spirv::extensions()),
    })
}

/// A stage from cached bytes, if they are intact and of this build and machine.
pub fn load(blob: &[u8]) -> Option<CompiledStage> {
    jit::load(blob)
}

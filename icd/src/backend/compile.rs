//! From SPIR-V words to a stage without code, and to code.

use super::hash::hash128;
use crate::object::pipeline_layout::PipelineLayout;
use base::shader::Stage;
use jit::code::CodeBlob;
use jit::spirv::{Accept, Module, Specialization};
use jit::{CompileRequest, Prepared};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// A stage's key: 128 bits over everything the code depends on.
pub type Key = [u8; 16];

/// What to compile. Owned: it may be compiled again later, by a better tier.
pub struct StageRequest {
    /// SPIR-V.
    pub words: Arc<[u32]>,
    /// Stage.
    pub stage: Stage,
    /// Entry point.
    pub entry: String,
    /// Specialisation.
    pub specialization: Specialization,
    /// Layout.
    pub layout: Arc<PipelineLayout>,
}

impl StageRequest {
    /// Everything the code depends on, hashed; the same in every process.
    pub fn key(&self) -> Key {
        let mut bytes = Bytes::default();
        self.words.hash(&mut bytes);
        (self.stage, &self.entry, &self.specialization, &self.layout.info).hash(&mut bytes);
        hash128(&[&bytes.0, env!("CARGO_PKG_VERSION").as_bytes()])
    }

    /// All but the code.
    ///
    /// # Errors
    /// For the application: see [`jit::prepare`].
    pub fn prepare(&self) -> Result<Prepared, jit::error::Error> {
        self.with_jit(jit::prepare)
    }

    /// The whole road, by the better tier; `None` when that is not worth it, or not `wanted` any more.
    ///
    /// # Errors
    /// Internal ones.
    pub fn improve(&self, wanted: &dyn Fn() -> bool) -> Result<Option<CodeBlob>, jit::error::Error> {
        let prepared = self.prepare()?;
        if wanted() { prepared.improve(wanted) } else { Ok(None) }
    }

    fn with_jit<T>(
        &self,
        f: impl FnOnce(&CompileRequest<'_>) -> Result<T, jit::error::Error>,
    ) -> Result<T, jit::error::Error> {
        let module = Module::parse(&self.words)?;
        f(&CompileRequest {
            module: &module,
            stage: self.stage,
            entry: &self.entry,
            specialization: &self.specialization,
            layout: &self.layout.info,
            accept: accepted(),
            options: jit::emit::EmitOptions::default(),
        })
    }
}

/// Collects what is hashed into it.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
    fn finish(&self) -> u64 {
        0
    }
}

/// What modules may declare: exactly what the device advertises.
fn accepted() -> &'static Accept {
    static ACCEPT: OnceLock<Accept> = OnceLock::new();
    ACCEPT.get_or_init(|| Accept {
        capabilities: crate::caps::spirv::capabilities(),
        extensions: Some(crate::caps::spirv::extensions()),
    })
}

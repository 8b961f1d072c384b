//! Warm-up of the compiler with a stage that is never run, and with code before it.
//!
//! The first pipeline of a process waits for the compiler itself. The compiler's pages, some eighty
//! of 64 KiB, are loaded one by one as they are touched, its tables are made, and threads are
//! started. That takes longer than compiling a small stage. The pool therefore makes the code of a
//! function ([`jit::warm_up`]), and then a typical stage. It starts when an object is created
//! that only pipelines need, or else while the application's thread reads and translates the first
//! module. (In that order, so that both threads do not do the same work if the module comes early.)
//! The warm-up ends when a real stage is to be compiled, or when stages are likely to come from a
//! cache.

#![forbid(unsafe_code)]

use super::compile::StageRequest;
use base::shader::{BindingLayout, DescriptorKind, PipelineLayoutInfo, Stage};
use jit::cancel::CancelToken;
use jit::code::CodeBlob;
use jit::error::Error;
use jit::spirv::Module;
use jit::tier::Tier;
use std::sync::Arc;

/// A fragment stage with the features of most stages (the GLSL source lies beside it).
const SHADER: &[u8] = include_bytes!("warm_up/fragment.frag.spv");

/// Makes the code of a tier and discards it. It stops between two steps if the token is cancelled.
pub fn warm_up(tier: Tier, token: &CancelToken) {
    if !token.is_cancelled() {
        jit::warm_up::warm_up(tier);
    }
    // An error would occur again for a stage that needs the code, and is reported then.
    let _ = compile_sample_stage(tier, token);
}

/// Makes the code; returns `None` if the token is cancelled.
fn compile_sample_stage(tier: Tier, token: &CancelToken) -> Result<Option<CodeBlob>, Error> {
    if token.is_cancelled() {
        return Ok(None);
    }
    let words: Vec<u32> = SHADER.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let uniforms = BindingLayout {
        binding: 0,
        kind: DescriptorKind::UniformBuffer,
        offset: 0,
        count: 1,
        variable: false,
        dynamic_index: 0,
    };
    let request = StageRequest {
        words: words.into(),
        stage: Stage::Fragment,
        entry: "main".into(),
        specialization: Default::default(),
        layout: Arc::new(PipelineLayoutInfo { sets: vec![vec![uniforms]], heap: None }),
        is_validated: false,
    };
    let prepared = request.prepare(&Module::parse_shared(request.words.clone())?)?;
    if token.is_cancelled() { Ok(None) } else { prepared.generate(tier).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jit::tier::ROWS;

    #[test]
    fn every_tier_warms_up() {
        for row in &ROWS {
            let code = compile_sample_stage(row.tier, &CancelToken::NEVER).expect("a stage").expect("it is wanted");
            assert!(code.code.len() > 64, "{}", row.name);
        }
    }
}

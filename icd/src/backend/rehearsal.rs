//! A stage that nobody runs, and code before it.
//!
//! The first pipeline that a process makes waits for the compiler itself: its pages, some eighty of 64 KiB, come in one by one as they are
//! touched, its tables are made, threads are started. That takes longer than what there is to do for a small stage. So the pool makes code of
//! a function ([`jit::rehearsal`]), and then a stage that has what most have, as soon as something is created that only pipelines need, or else
//! while the first module is read and translated by who creates it. (In that order: when that one comes early, nobody does what another one is at.)
//! It ends where a real stage's turn comes, or stages are likely to be stored ones.

#![forbid(unsafe_code)]

use super::compile::StageRequest;
use base::shader::{BindingLayout, DescriptorKind, PipelineLayoutInfo, Stage};
use jit::code::CodeBlob;
use jit::error::Error;
use jit::tier::Tier;
use std::sync::Arc;

/// A fragment stage that has what most stages have (GLSL beside it).
const SHADER: &[u8] = include_bytes!("rehearsal/fragment.frag.spv");

/// Makes the code of a tier for nothing, as long as `wanted` says so, which is asked between the steps.
pub fn rehearse(tier: Tier, wanted: &dyn Fn() -> bool) {
    if wanted() {
        jit::rehearsal::rehearse(tier);
    }
    // Whatever is wrong will be wrong again, for who has use for the code.
    let _ = perform(tier, wanted);
}

/// The code; none when it is not wanted any more.
fn perform(tier: Tier, wanted: &dyn Fn() -> bool) -> Result<Option<CodeBlob>, Error> {
    if !wanted() {
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
    };
    let prepared = request.prepare()?;
    if wanted() { prepared.generate(tier).map(Some) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jit::tier::ROWS;

    #[test]
    fn every_tier_can_rehearse() {
        for row in &ROWS {
            let code = perform(row.tier, &|| true).expect("a stage").expect("it is wanted");
            assert!(code.code.len() > 64, "{}", row.name);
        }
    }
}

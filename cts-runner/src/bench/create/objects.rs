//! Creation times of shader objects beside those of pipelines with the same stages. Each kind is
//! measured cold and warm, in a new process each.

use super::fixture::PipelineFixture;
use super::{MODULES, one, picture};
use crate::bench::figure::Figure;
use crate::bench::workload::{Fresh, FreshError};
use crate::vk::{Error, Gpu, ShaderBinary};
use std::path::PathBuf;
use std::time::Instant;

/// Stages of the workload after the first one, which makes the objects from SPIR-V.
const SHADERS_WARM: &str = "shaders-warm";
const PIPELINE_COLD: &str = "pipeline-cold";
const PIPELINE_WARM: &str = "pipeline-warm";

/// Measures one module: shader objects from SPIR-V and their first use, objects from binaries, the
/// pipeline and its first use, the pipeline with a cache.
pub fn measure(fresh: &Fresh<'_>, index: usize) -> Result<Vec<Figure>, FreshError> {
    let gpu = Gpu::new(fresh.api, &fresh.options)?;
    let figures = match fresh.stage {
        PIPELINE_COLD | PIPELINE_WARM => pipeline(fresh, &gpu, index)?,
        _ => shaders(fresh, &gpu, index)?,
    };
    fresh.close(gpu)?;
    let mut all = figures;
    if fresh.stage.is_empty() {
        for stage in [SHADERS_WARM, PIPELINE_COLD, PIPELINE_WARM] {
            all.extend((fresh.again)(stage)?);
        }
    }
    Ok(all)
}

/// Returns the file with the binary of a stage.
fn file(fresh: &Fresh<'_>, stage: usize) -> PathBuf {
    fresh.scratch.join(format!("stage-{stage}"))
}

fn shaders(fresh: &Fresh<'_>, gpu: &Gpu, index: usize) -> Result<Vec<Figure>, FreshError> {
    gpu.shader_objects()?;
    let program = MODULES[index].program();
    let fixture = PipelineFixture::new(gpu, &program).map_err(FreshError::Make)?;
    let is_warm = fresh.stage == SHADERS_WARM;
    let read = |path: PathBuf| match std::fs::read(&path) {
        Ok(bytes) => Ok(ShaderBinary::new(&bytes)),
        Err(error) => Err(Error::Io(path, error)),
    };
    let files = (0..program.stages.len()).map(|stage| file(fresh, stage));
    let binaries = if is_warm { files.map(read).collect::<Result<Vec<_>, _>>()? } else { Vec::new() };
    let start = Instant::now();
    let shaders = fixture.shaders(&binaries)?;
    let created = start.elapsed();
    let found = fixture.picture_of_shaders(&shaders)?;
    let used = start.elapsed();
    picture::check(&found, index)?;
    if is_warm {
        return Ok(vec![Figure::seconds(SHADERS_WARM, created)]);
    }
    for (stage, shader) in shaders.iter().enumerate() {
        let (path, data) = (file(fresh, stage), gpu.shader_binary(*shader)?);
        std::fs::write(&path, data).map_err(|e| Error::Io(path, e))?;
    }
    Ok(vec![Figure::seconds("shaders-cold", created), Figure::seconds("shaders-first-use", used)])
}

fn pipeline(fresh: &Fresh<'_>, gpu: &Gpu, index: usize) -> Result<Vec<Figure>, FreshError> {
    let program = MODULES[index].program();
    let saved = fresh.scratch.join("cache");
    let is_warm = fresh.stage == PIPELINE_WARM;
    let data = if is_warm { std::fs::read(&saved).map_err(|e| Error::Io(saved.clone(), e))? } else { Vec::new() };
    let (mut figures, data) = one(gpu, &program, index, &data, [fresh.stage, "pipeline-first-use"])?;
    if is_warm {
        figures.truncate(1);
    } else {
        std::fs::write(&saved, data).map_err(|e| Error::Io(saved, e))?;
    }
    Ok(figures)
}

//! Family `create`: creation times of pipelines. Each module is measured in new processes.
//!
//! `cold` is the time for shader modules and pipeline with an empty cache. `first-use` adds the
//! first draw or dispatch up to its fence, where drivers that compile late spend their time. `warm`
//! is measured in a second process with the data of a `VkPipelineCache`.
//!
//! Each pipeline draws a picture, which is compared with the committed one (`expected.png`, a
//! contact sheet).

mod fixture;
mod modules;
mod objects;
mod picture;
mod reflect;

use super::figure::Figure;
use super::workload::{Fresh, FreshError, Spec};
use crate::vk::{Error, Gpu};
use fixture::{PipelineFixture, Program};
pub use modules::{MODULES, Module};
use std::time::Instant;

/// Workloads of the family.
pub const SPECS: &[Spec] = modules::SPECS;
/// Workloads of the family `programs` with the same modules.
pub const OBJECT_SPECS: &[Spec] = modules::OBJECT_SPECS;

const WARM: &str = "warm";

/// Measures one module: cold and first use in this process, warm in a second process.
fn measure(fresh: &Fresh<'_>, index: usize) -> Result<Vec<Figure>, FreshError> {
    let module = &MODULES[index];
    let program = module.program();
    let gpu = Gpu::new(fresh.api, &fresh.options)?;
    let saved = fresh.scratch.join("cache");
    if fresh.stage == WARM {
        let data = std::fs::read(&saved).map_err(|e| Error::Io(saved, e))?;
        let (mut figures, _) = one(&gpu, &program, index, &data, [WARM, ""])?;
        fresh.close(gpu)?;
        figures.truncate(1);
        return Ok(figures);
    }
    let (mut figures, data) = one(&gpu, &program, index, &[], ["cold", "first-use"])?;
    fresh.close(gpu)?;
    std::fs::write(&saved, data).map_err(|e| Error::Io(saved, e))?;
    figures.extend((fresh.again)(WARM)?);
    Ok(figures)
}

/// Measures one module as shader objects and as a pipeline.
fn measure_objects(fresh: &Fresh<'_>, index: usize) -> Result<Vec<Figure>, FreshError> {
    objects::measure(fresh, index)
}

/// Creates, uses and checks a pipeline. Returns the times and the data of the cache.
fn one(
    gpu: &Gpu,
    program: &Program,
    index: usize,
    data: &[u8],
    names: [&str; 2],
) -> Result<(Vec<Figure>, Vec<u8>), FreshError> {
    // The cache is made first, as engines do when they make their device.
    let cache = gpu.pipeline_cache(data)?;
    let fixture = PipelineFixture::new(gpu, program).map_err(FreshError::Make)?;
    let start = Instant::now();
    let pipeline = fixture.pipeline(cache)?;
    let created = start.elapsed();
    let picture = fixture.picture(pipeline)?;
    let used = start.elapsed();
    picture::check(&picture, index)?;
    let data = gpu.pipeline_cache_data(cache)?;
    Ok((vec![Figure::seconds(names[0], created), Figure::seconds(names[1], used)], data))
}

/// Draws the picture of a module on a device. It is used to record the contact sheet and by
/// programs that use many pipelines.
pub fn draw(gpu: &Gpu, module: &Module) -> Result<Vec<u8>, super::SetupError> {
    let program = module.program();
    let fixture = PipelineFixture::new(gpu, &program)?;
    let pipeline = fixture.pipeline(ash::vk::PipelineCache::null())?;
    Ok(fixture.picture(pipeline)?)
}

pub use fixture::{PICTURE, SIDE};
pub use picture::{check, write_sheet};

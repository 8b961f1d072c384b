//! Family `corpus`: first use of every pipeline of a folder of SPIR-V modules, from any compiler
//! and of any size (`--corpus DIR`).
//!
//! Each entry point of a vertex, fragment or compute stage is measured in a process of its own.
//! `create` is the time for shader modules and pipeline, without a cache. `first-use` adds the
//! smallest draw or dispatch up to its fence. The driver has made and used another pipeline before,
//! so that its one-time work in a process is not measured.
//!
//! Layouts and resources follow from the module (`interface.rs`, `fixture.rs`). `NAME.vert.spv` and
//! `NAME.frag.spv` form one pipeline if they match. Otherwise a stage gets a partner that is made
//! for its interface (`partner.rs`).
//!
//! The only check is that the pipeline works, because the results of a module with such resources
//! have no meaning.

mod capability;
mod fixture;
mod interface;
mod module;
mod partner;

use super::figure::{Figure, SetupError};
use super::workload::{Case, Family, Fresh, FreshError, Make, Spec, spirv};
use crate::vk::{Error, Gpu, GpuOptions, Result, spirv_words};
use ash::vk::ShaderStageFlags as Flags;
use fixture::{PipelineFixture, Stage};
use interface::Interface;
use module::{Entry, Module};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Returns a workload for each pipeline of the modules in a folder, in the order of names. A child
/// passes the name in `wanted`, and then only modules that may match it are read. The list lives as
/// long as the process.
pub fn specs(folder: &Path, wanted: Option<&str>) -> Result<Vec<Spec>> {
    let entries = std::fs::read_dir(folder).map_err(|e| Error::Io(folder.into(), e))?;
    let mut files: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "spv"));
    if let Some(name) = wanted.and_then(|name| name.strip_prefix("corpus/")) {
        files.retain(|path| name.starts_with(&stem(path)));
    }
    files.sort();
    let spec = |(name, case): (String, Case)| Spec {
        name: String::leak(format!("corpus/{name}")),
        family: Family::Corpus,
        quick: true,
        make: Make::Module(Box::leak(Box::new(case))),
    };
    Ok(cases(&files)?.into_iter().map(spec).collect())
}

fn read(path: &Path) -> Result<Module> {
    let bytes = std::fs::read(path).map_err(|e| Error::Io(path.into(), e))?;
    Module::read(spirv_words(&bytes)).ok_or_else(|| Error::Missing(format!("SPIR-V in {}", path.display())))
}

/// Returns the name of a file.
fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().replace(char::is_whitespace, "_")
}

/// Returns the name of a file without its stage, which is the first part of the names of a pair.
fn stem(path: &Path) -> String {
    let name = name(path);
    let stage = [".vert", ".frag", ".comp"].into_iter().find_map(|stage| name.strip_suffix(stage));
    stage.unwrap_or(&name).to_owned()
}

/// Returns the pairs that match, and every other entry point alone.
fn cases(files: &[PathBuf]) -> Result<BTreeMap<String, Case>> {
    let mut cases = BTreeMap::new();
    let mut previous: Option<(&PathBuf, Module)> = None;
    for path in files {
        let module = read(path)?;
        let one = |module: &Module| matches!(&module.entries[..], [_]);
        if let Some((other, before)) =
            previous.take_if(|(other, m)| stem(other) == stem(path) && one(m) && one(&module))
            && fit(&module, &before)
        {
            cases.remove(&name(other));
            cases.insert(stem(path), Case { stages: vec![(path.clone(), 0), (other.clone(), 0)] });
            continue;
        }
        for (i, entry) in module.entries.iter().enumerate().filter(|(_, e)| flags(e).is_some()) {
            let of_entry = || format!("{}:{}", name(path), entry.name.replace(char::is_whitespace, "_"));
            let name = if one(&module) { name(path) } else { of_entry() };
            cases.insert(name, Case { stages: vec![(path.clone(), i)] });
        }
        previous = Some((path, module));
    }
    Ok(cases)
}

fn flags(entry: &Entry) -> Option<Flags> {
    match entry.model {
        module::spirv::VERTEX => Some(Flags::VERTEX),
        module::spirv::FRAGMENT => Some(Flags::FRAGMENT),
        module::spirv::GL_COMPUTE => Some(Flags::COMPUTE),
        _ => None,
    }
}

/// Returns true if a fragment stage reads only outputs of a vertex stage, and both are the only
/// ones of their modules.
fn fit(vertex: &Module, fragment: &Module) -> bool {
    let stages = [vertex, fragment].map(|m| flags(&m.entries[0]));
    let (Ok(from), Ok(to)) =
        (Interface::from_module(vertex, &vertex.entries[0]), Interface::from_module(fragment, &fragment.entries[0]))
    else {
        return false;
    };
    let written = |(place, (number, count)): (_, &(_, u32))| {
        from.outputs.get(place).is_some_and(|(other, others)| other == number && others >= count)
    };
    let mut both = from.clone();
    stages == [Some(Flags::VERTEX), Some(Flags::FRAGMENT)] && to.inputs.iter().all(written) && both.join(&to).is_ok()
}

/// Returns the stages of a pipeline. A single graphics stage gets a partner.
fn stages(gpu: &Gpu, case: &Case) -> std::result::Result<Vec<Stage>, SetupError> {
    let mut stages = Vec::new();
    for (path, index) in &case.stages {
        let module = read(path)?;
        let entry = module.entries.get(*index).ok_or_else(|| Error::Missing("the entry point".into()))?.clone();
        capability::check(gpu, &module)?;
        if entry.model == module::spirv::GL_COMPUTE {
            check_size(gpu, module.workgroup(&entry))?;
        }
        let partner = match (case.stages.len(), flags(&entry)) {
            (1, Some(Flags::VERTEX)) => partner::fragment_for(&module, &entry),
            (1, Some(Flags::FRAGMENT)) => partner::vertex_for(&module, &entry),
            _ => None,
        };
        stages.push(stage(module, &entry)?);
        if let Some(partner) = partner.and_then(Module::read) {
            let entry = partner.entries[0].clone();
            stages.push(stage(partner, &entry)?);
        }
    }
    stages.sort_by_key(|s| s.stage.as_raw());
    let lone = stages.len() == 1 && stages[0].stage != Flags::COMPUTE;
    if lone { Err(SetupError::Unsupported("no partner for this stage".into())) } else { Ok(stages) }
}

fn stage(module: Module, entry: &Entry) -> std::result::Result<Stage, SetupError> {
    let interface = Interface::from_module(&module, entry).map_err(SetupError::Unsupported)?;
    let name = CString::new(entry.name.clone()).unwrap_or_default();
    let stage = flags(entry).ok_or_else(|| SetupError::Unsupported("a stage of another kind".into()))?;
    Ok(Stage { stage, code: module.words, name, interface })
}

fn check_size(gpu: &Gpu, size: [u32; 3]) -> std::result::Result<(), SetupError> {
    let limits = &gpu.properties.limits;
    let fits = size.iter().zip(limits.max_compute_work_group_size).all(|(s, most)| *s <= most)
        && size.iter().product::<u32>() <= limits.max_compute_work_group_invocations;
    if fits { Ok(()) } else { Err(SetupError::Unsupported(format!("a workgroup of {size:?}"))) }
}

/// Returns a stage from a shader of the benchmark itself.
fn builtin_stage(stage: Flags, code: Vec<u32>) -> std::result::Result<Stage, SetupError> {
    let module = Module::read(code).ok_or_else(|| Error::Missing("SPIR-V".into()))?;
    let entry = module.entries.first().ok_or_else(|| Error::Missing("an entry point".into()))?.clone();
    debug_assert_eq!(flags(&entry), Some(stage));
    self::stage(module, &entry)
}

/// Makes and uses a graphics and a compute pipeline that do not belong to the corpus.
fn warm_up(gpu: &Gpu) -> std::result::Result<(), SetupError> {
    let draw = [
        builtin_stage(Flags::VERTEX, spirv!("create/screen.vert"))?,
        builtin_stage(Flags::FRAGMENT, spirv!("create/solid.frag"))?,
    ];
    for stages in [&draw[..], &[builtin_stage(Flags::COMPUTE, spirv!("compute/empty.comp"))?]] {
        let fixture = PipelineFixture::new(gpu, stages)?;
        fixture.run(fixture.pipeline()?)?;
    }
    Ok(())
}

/// Measures one pipeline in this process.
pub fn measure(fresh: &Fresh<'_>, case: &Case) -> std::result::Result<Vec<Figure>, FreshError> {
    let gpu = Gpu::new(fresh.api, &GpuOptions { core: true, ..fresh.options.robust() })?;
    warm_up(&gpu).map_err(FreshError::Make)?;
    let stages = stages(&gpu, case).map_err(FreshError::Make)?;
    let fixture = PipelineFixture::new(&gpu, &stages).map_err(FreshError::Make)?;
    let start = Instant::now();
    let pipeline = fixture.pipeline()?;
    let created = start.elapsed();
    fixture.run(pipeline)?;
    let used = start.elapsed();
    fresh.close(gpu)?;
    Ok(vec![Figure::seconds("create", created), Figure::seconds("first-use", used)])
}

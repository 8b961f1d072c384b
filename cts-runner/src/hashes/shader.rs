//! Shaders with the data to run them: their directives, SPIR-V and input.

use crate::driver;
use crate::vk::raw as vk;
use crate::vk::{Error, Result, spirv_words};
use std::path::{Path, PathBuf};

const WORDS: usize = 4096;

/// Kind of the input words.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// Words with random bits.
    Uint,
    /// Floats between two values.
    Float(f32, f32),
}

/// Comparison of output words.
#[derive(Clone, Copy, Debug)]
pub enum Compare {
    /// All bits must be equal.
    Exact,
    /// Floats are compared with a tolerance.
    Float(f32),
    /// Bytes are compared with a tolerance.
    Bytes(u8),
}

/// A shader, or the shaders of a draw in the order of the pipeline, and its directives.
#[derive(Debug)]
pub struct Shader {
    /// Name of the file without its extension.
    pub name: String,
    pub(super) modules: Vec<Vec<u32>>,
    input: Input,
    /// Comparison of two drivers' outputs.
    pub compare: Compare,
    /// Share of the words that may differ.
    pub outliers: f64,
    pub(super) topology: vk::PrimitiveTopology,
    /// Number of control points of a patch.
    pub(super) patch: u32,
    pub(super) stages: Vec<&'static str>,
    resources: Vec<String>,
    pub(super) push: Vec<u32>,
    pub(super) spec: Vec<(u32, u32)>,
    /// True if the shader has subgroup operations.
    pub subgroups: bool,
}

/// Returns the folder of the shaders in the workspace.
pub fn folder() -> PathBuf {
    driver::workspace().join("cts-runner/tests/glsl")
}

fn read(name: &str) -> Result<Vec<u8>> {
    let path = folder().join(name);
    std::fs::read(&path).map_err(|e| Error::Io(path, e))
}

/// Returns all GLSL sources of a folder.
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|e| Error::Io(folder.into(), e))?;
    const STAGES: [&str; 14] = [
        "comp", "vert", "tesc", "tese", "geom", "task", "mesh", "frag", "rgen", "rint", "rahit", "rchit", "rmiss",
        "rcall",
    ];
    let is_source = |p: &PathBuf| p.extension().is_some_and(|e| STAGES.iter().any(|s| e == *s));
    Ok(entries.flatten().map(|e| e.path()).filter(is_source).collect())
}

/// Returns the sorted names of all shaders and draws.
///
/// # Errors
/// Returns the errors of [`sources`].
pub fn names() -> Result<Vec<String>> {
    let is_last = |p: &PathBuf| p.extension().is_some_and(|e| e == "comp" || e == "frag");
    let found = sources(&folder())?.into_iter().filter(is_last);
    let mut names: Vec<String> = found.filter_map(|p| Some(p.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    Ok(names)
}

impl Shader {
    /// Reads a shader's directives and its SPIR-V.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read.
    ///
    /// # Panics
    /// Panics if the shader has an unknown directive.
    pub fn read(name: &str) -> Result<Self> {
        let compute = folder().join(format!("{name}.comp"));
        let has = |stage: &&str| folder().join(format!("{name}.{stage}")).exists();
        let drawing = ["task", "mesh", "vert", "tesc", "tese", "geom", "frag"].into_iter();
        let stages: Vec<&str> = if compute.exists() { vec!["comp"] } else { drawing.filter(has).collect() };
        let module = |stage: &&str| read(&format!("{name}.{stage}.spv")).map(|bytes| spirv_words(&bytes));
        let mut shader = Self {
            name: name.into(),
            modules: stages.iter().map(module).collect::<Result<_>>()?,
            input: Input::Uint,
            compare: Compare::Exact,
            outliers: 0.0,
            topology: vk::PrimitiveTopology::TRIANGLE_LIST,
            patch: 0,
            stages: stages.clone(),
            resources: Vec::new(),
            push: Vec::new(),
            spec: Vec::new(),
            subgroups: false,
        };
        let last = stages.last().ok_or_else(|| Error::Missing(format!("{name}: a shader of that name")))?;
        let text = read(&format!("{name}.{last}"))?;
        let text = String::from_utf8_lossy(&text);
        for line in text.lines().filter_map(|l| l.strip_prefix("//! ")) {
            shader.directive(&line.split_whitespace().collect::<Vec<_>>());
        }
        Ok(shader)
    }

    fn directive(&mut self, words: &[&str]) {
        let number = |text: &str| text.parse::<f32>().expect("a number");
        match *words {
            ["input", "uint"] => self.input = Input::Uint,
            ["input", "float", low, high] => self.input = Input::Float(number(low), number(high)),
            ["output", "uint"] => self.compare = Compare::Exact,
            ["output", "float", tolerance] => self.compare = Compare::Float(number(tolerance)),
            ["output", "bytes", tolerance] => self.compare = Compare::Bytes(tolerance.parse().expect("a byte")),
            ["outliers", share] => self.outliers = share.parse().expect("a share"),
            ["patch", points] => {
                self.topology = vk::PrimitiveTopology::PATCH_LIST;
                self.patch = points.parse().expect("control points");
            }
            ["topology", name] => self.topology = topology(name),
            ["bind", ref names @ ..] => self.resources = names.iter().map(|n| n.to_string()).collect(),
            ["push", ref values @ ..] => self.push = values.iter().map(|v| v.parse().expect("a word")).collect(),
            ["spec", ref pairs @ ..] => {
                let pair = |p: &&str| p.split_once('=').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                self.spec = pairs.iter().map(|p| pair(p).expect("ID=VALUE")).collect();
            }
            ["api", "1.1"] => self.subgroups = true,
            // Only the compiler uses this version.
            ["api", "1.2"] => {}
            _ => panic!("{}: unknown directive {words:?}", self.name),
        }
    }

    /// Returns input words that are equal in every run.
    pub fn random_input(&self) -> Vec<u32> {
        let seed = self.name.bytes().fold(0x1234_5678u32, |h, b| (h ^ u32::from(b)).wrapping_mul(16_777_619));
        Random(seed | 1).words(self.input, WORDS)
    }

    pub(super) fn has_meshes(&self) -> bool {
        self.stages.contains(&"mesh")
    }

    pub(super) fn binds(&self, class: &str) -> bool {
        self.resources.iter().any(|r| r == class)
    }
}

/// Returns a topology by its name in the specification.
fn topology(name: &str) -> vk::PrimitiveTopology {
    match name {
        "points" => vk::PrimitiveTopology::POINT_LIST,
        "line_strip_with_adjacency" => vk::PrimitiveTopology::LINE_STRIP_WITH_ADJACENCY,
        "triangle_strip_with_adjacency" => vk::PrimitiveTopology::TRIANGLE_STRIP_WITH_ADJACENCY,
        _ => panic!("unknown topology {name}"),
    }
}

/// xorshift32 random number generator.
pub(super) struct Random(pub(super) u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    pub(super) fn float(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.next() >> 8) as f32 / 16_777_216.0)
    }

    pub(super) fn words(&mut self, input: Input, count: usize) -> Vec<u32> {
        let mut word = || match input {
            Input::Uint => self.next(),
            Input::Float(low, high) => self.float(low, high).to_bits(),
        };
        (0..count).map(|_| word()).collect()
    }
}

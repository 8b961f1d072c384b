//! Front end that translates SPIR-V into [`ir::Shader`](crate::ir::Shader), without unsafe code.
//!
//! [`Module::parse`] reads a binary once. [`translate`] translates one of its entry points into IR.
//! Types and constants are built under a specialisation (`types`), control flow becomes a tree
//! (`structure`), and facts about all reachable functions are collected (`analysis`). Then one walk
//! inlines every call (`body`) and splits composites into scalars (`value`, `inst`, `memory`, …),
//! except large ones (`large`).
//!
//! Invariants: nothing in a module is trusted, and every failure is an [`Error`]. Nothing that is
//! not implemented is ignored. Depth (regions, types) and work (instructions after inlining,
//! scalars of composites) are bounded.

#![forbid(unsafe_code)]

mod accept;
mod access_chain;
mod address;
mod alu;
mod analysis;
mod ballot;
mod body;
mod build;
mod builtin;
mod capability;
mod capture;
mod composite;
mod compute_quads;
mod cooperative;
mod cooperative_vector;
#[cfg(test)]
mod coverage;
mod declare;
mod deviations;
mod dot;
mod effect;
mod encoding;
mod float_mode;
mod flow;
mod fold;
mod generated;
mod glsl;
mod grammar;
mod heap;
mod hit_object;
mod image;
mod inputs;
mod inst;
mod interface;
mod io_leaf;
mod large;
mod layout;
mod locals;
mod matrix;
mod matrix_elements;
mod memory;
mod mesh;
mod mode;
mod module;
mod nesting;
mod opcodes;
mod operand;
mod outputs;
mod partition;
mod patch;
mod pointees;
mod pointer;
mod private_variable;
mod raw_chain;
mod ray;
mod ray_frame;
mod ray_query;
mod small_float;
mod structure;
mod subgroup;
mod translator;
mod types;
mod untyped;
mod validate;
mod value;
mod variable;
mod vertices;

pub use accept::Accept;
pub use capability::is_subgroup_visible;
pub use deviations::Deviation;
pub use generated::capabilities::Capability;
pub use mode::{descriptor_sets, loop_headers, output_vertices};
pub use module::{EntryPoint, Module};

use crate::error::{Error, Result};
use crate::ir::Shader;
use base::limits::DEFAULT_SUBGROUP_SIZE;
use base::shader::{PipelineLayoutInfo, Stage};
use opcodes::op;
use std::sync::Arc;
use translator::Translator;
use types::Spec;

/// Properties of a stage that its pipeline defines: values of specialisation constants, the size of
/// subgroups, and a property that another stage declares for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Specialization {
    /// Values of specialisation constants, as pairs of SpecId and little-endian bytes.
    pub entries: Vec<(u32, Vec<u8>)>,
    /// Number of lanes of a subgroup and of a chunk, one of
    /// [`SUBGROUP_SIZES`](base::limits::SUBGROUP_SIZES). Vertex stages use
    /// [`DEFAULT_SUBGROUP_SIZE`].
    pub subgroup_size: u32,
    /// Number of vertices of a tessellation control stage's patch, if the evaluation stage declares
    /// it ([`output_vertices`]). 0 if the control stage declares it itself.
    pub patch_vertices: u32,
    /// True if `ViewIndex` has the value of `DeviceIndex`
    /// (VK_PIPELINE_CREATE_VIEW_INDEX_FROM_DEVICE_INDEX_BIT).
    pub view_index_from_device_index: bool,
}

impl Default for Specialization {
    fn default() -> Self {
        Specialization {
            entries: Vec::new(),
            subgroup_size: DEFAULT_SUBGROUP_SIZE,
            patch_vertices: 0,
            view_index_from_device_index: false,
        }
    }
}

/// Numbers of storage classes.
mod class {
    pub(crate) const UNIFORM_CONSTANT: u32 = 0;
    pub(crate) const INPUT: u32 = 1;
    pub(crate) const UNIFORM: u32 = 2;
    pub(crate) const OUTPUT: u32 = 3;
    pub(crate) const WORKGROUP: u32 = 4;
    pub(crate) const PRIVATE: u32 = 6;
    pub(crate) const FUNCTION: u32 = 7;
    pub(crate) const PUSH_CONSTANT: u32 = 9;
    pub(crate) const STORAGE_BUFFER: u32 = 12;
    pub(crate) const CALLABLE_DATA: u32 = 5328;
    pub(crate) const INCOMING_CALLABLE_DATA: u32 = 5329;
    pub(crate) const RAY_PAYLOAD: u32 = 5338;
    pub(crate) const HIT_ATTRIBUTE: u32 = 5339;
    pub(crate) const INCOMING_RAY_PAYLOAD: u32 = 5342;
    pub(crate) const SHADER_RECORD_BUFFER: u32 = 5343;
    pub(crate) const PHYSICAL_STORAGE_BUFFER: u32 = 5349;
    pub(crate) const HIT_OBJECT_ATTRIBUTE_NV: u32 = 5385;
    pub(crate) const TASK_PAYLOAD: u32 = 5402;
    pub(crate) const HIT_OBJECT_ATTRIBUTE_EXT: u32 = 5411;
}

/// Numbers of decorations.
mod deco {
    pub(crate) const SPEC_ID: u32 = 1;
    pub(crate) const BLOCK: u32 = 2;
    pub(crate) const BUFFER_BLOCK: u32 = 3;
    pub(crate) const ROW_MAJOR: u32 = 4;
    pub(crate) const ARRAY_STRIDE: u32 = 6;
    pub(crate) const MATRIX_STRIDE: u32 = 7;
    pub(crate) const BUILT_IN: u32 = 11;
    pub(crate) const NO_PERSPECTIVE: u32 = 13;
    pub(crate) const FLAT: u32 = 14;
    pub(crate) const PATCH: u32 = 15;
    pub(crate) const CENTROID: u32 = 16;
    pub(crate) const SAMPLE: u32 = 17;
    pub(crate) const RESTRICT: u32 = 19;
    pub(crate) const ALIASED: u32 = 20;
    pub(crate) const VOLATILE: u32 = 21;
    pub(crate) const NON_WRITABLE: u32 = 24;
    pub(crate) const STREAM: u32 = 29;
    pub(crate) const LOCATION: u32 = 30;
    pub(crate) const COMPONENT: u32 = 31;
    pub(crate) const INDEX: u32 = 32;
    pub(crate) const BINDING: u32 = 33;
    pub(crate) const DESCRIPTOR_SET: u32 = 34;
    pub(crate) const OFFSET: u32 = 35;
    pub(crate) const XFB_BUFFER: u32 = 36;
    pub(crate) const XFB_STRIDE: u32 = 37;
    pub(crate) const FP_ROUNDING_MODE: u32 = 39;
    pub(crate) const FP_FAST_MATH_MODE: u32 = 40;
    pub(crate) const NO_CONTRACTION: u32 = 42;
    pub(crate) const SATURATED_TO_LARGEST_FLOAT8: u32 = 4216;
    pub(crate) const ARRAY_STRIDE_ID: u32 = 5124;
    pub(crate) const OFFSET_ID: u32 = 5125;
    pub(crate) const PER_PRIMITIVE: u32 = 5271;
    pub(crate) const PER_VERTEX: u32 = 5285;
}

/// Translates one entry point. Only the reachable part of the module is examined, so unused parts
/// may be unsupported.
pub fn translate(
    module: &Module,
    stage: Stage,
    entry: &str,
    spec: &Specialization,
    layout: &PipelineLayoutInfo,
    accept: &Accept,
) -> Result<Shader> {
    accept.check(module)?;
    if !matches!(module.memory_model.0, 0 | 5348) {
        return Err(Error::unsupported("addressing model").at((14, "OpMemoryModel"), 0));
    }
    let point = module.entry_points().iter().find(|e| e.model == stage.row().execution_model && e.name == entry);
    let point = point.ok_or_else(|| Error::invalid(format!("no entry point \"{entry}\" for the {stage:?} stage")))?;
    let request = TranslationRequest { module, stage, point, layout };
    let run = || {
        let s = Spec::new(module, spec, mode::float_modes(module, point.function)?)?;
        let a = analysis::analyse(&s, point.function)?;
        request.run(&s, &a)
    };
    base::stack::with(module.stack(), run).map_err(Error::no_stack)?
}

/// Stack in bytes for a compilation without nesting. `LEVEL_STACK` is the stack for each level of
/// nesting (regions, types). Both are several times the stack that an unoptimised build needs.
const FLAT_STACK: usize = 1 << 20;
/// Nesting of types that [`FLAT_STACK`] covers.
const FLAT_TYPES: u32 = 16;
const LEVEL_STACK: usize = 32 << 10;

impl Module {
    /// Reads a module and checks the universal rules (`validate`). Rules that depend on an entry
    /// point or on a specialisation are checked at translation.
    ///
    /// # Errors
    /// Returns an Invalid error at the first instruction that breaks a rule. Returns an Unsupported
    /// or Limit error for versions and sizes that are not accepted.
    pub fn parse(words: &[u32]) -> Result<Module> {
        Module::parse_shared(words.into())
    }

    /// Does the same as [`Module::parse`] without copying the words.
    ///
    /// # Errors
    /// Returns the errors of [`Module::parse`].
    pub fn parse_shared(words: Arc<[u32]>) -> Result<Module> {
        let m = Module::read(words)?;
        validate::check(&m)?;
        Ok(m)
    }

    /// Reads a module that was parsed before, without checking it again.
    ///
    /// # Errors
    /// Returns the errors of [`Module::parse`] if the words are not those of a module.
    pub fn parse_again(words: Arc<[u32]>) -> Result<Module> {
        Module::read(words)
    }

    /// Returns the stack in bytes for all recursion over the module's regions and types, and over
    /// the IR made of them. It is reserved, and committed as far as it is used.
    pub(crate) fn stack(&self) -> usize {
        // A copy of nested arrays is as many loops, each of which has two regions.
        let nesting = self.nesting();
        let types = nesting.types.saturating_sub(FLAT_TYPES);
        FLAT_STACK + LEVEL_STACK * (nesting.regions + 2 * types) as usize
    }
}

/// An entry point to translate.
struct TranslationRequest<'a> {
    module: &'a Module,
    stage: Stage,
    point: &'a EntryPoint,
    layout: &'a PipelineLayoutInfo,
}

impl TranslationRequest<'_> {
    fn run(&self, s: &Spec<'_>, a: &analysis::Analysis) -> Result<Shader> {
        let mut pointers_meet = false;
        let first = self.translate_once(s, a, false, &mut pointers_meet);
        if pointers_meet { self.translate_once(s, a, true, &mut pointers_meet) } else { first }
    }

    /// Translates the entry point once. With `general`, pointers are in the general form of
    /// `variable`. `pointers_meet` is set if the translation fails because they are not.
    fn translate_once(
        &self,
        s: &Spec<'_>,
        a: &analysis::Analysis,
        general: bool,
        pointers_meet: &mut bool,
    ) -> Result<Shader> {
        let m = self.module;
        let mut shader = Shader::new(self.stage, &self.point.name);
        let float_modes = mode::read(m, s, self.point.function, &mut shader)?;
        let builder = build::Builder::new(shader, float_modes);
        let mut t = Translator::new(s, a, self.layout, self.stage, builder);
        t.general = general;
        t.compute_quads = mode::compute_quads(m, self.point.function, &t.b.shader)?;
        t.globals(self.point)?;
        t.check_fault()?;
        let root = m.function(self.point.function).ok_or_else(|| Error::invalid("entry point is not a function"))?;
        if !m.functions[root].params.is_empty() {
            return Err(Error::invalid("entry point has parameters").with_id(self.point.function));
        }
        let inlined = t.entry_point(root);
        *pointers_meet = t.pointers_meet;
        inlined?;
        t.store_outputs()?;
        let keep = std::mem::take(&mut t.kept_outputs);
        let mut shader = t.b.finish();
        shader.keep_outputs(&keep);
        Ok(shader)
    }
}

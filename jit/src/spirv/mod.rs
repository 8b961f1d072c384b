//! SPIR-V in, [`ir::Shader`](crate::ir::Shader) out. No unsafe code.
//!
//! [`Module::parse`] reads a binary once; [`translate`] makes one entry point of it into IR: types and constants under a
//! specialisation (`types`), control flow into a tree (`structure`), facts over all reachable functions (`analysis`), then one
//! walk that inlines every call (`body`) and takes composites apart (`value`, `inst`, `memory`, …), large ones aside (`large`).
//!
//! Invariants: nothing in a module is trusted, every failure is an [`Error`]; nothing that is not implemented is ignored; depth
//! (regions, types) and work (instructions after inlining, scalars of composites) are bounded.

#![forbid(unsafe_code)]

mod accept;
mod alu;
mod analysis;
mod body;
mod build;
mod builtin;
mod declare;
mod dot;
mod effect;
mod fold;
mod glsl;
mod image;
mod inst;
mod interface;
mod large;
mod layout;
mod matrix;
mod memory;
mod module;
mod opcodes;
mod structure;
mod types;
mod value;
mod variable;

pub use accept::Accept;
pub use module::{EntryPoint, Module};

use crate::error::{Error, Result};
use crate::ir::Shader;
use base::shader::{PipelineLayoutInfo, Stage};
use body::Translator;
use module::NO_MEMBER;
use opcodes::op;
use types::Spec;

/// Values of specialisation constants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Specialization {
    /// (SpecId, little-endian bytes).
    pub entries: Vec<(u32, Vec<u8>)>,
}

/// Storage classes.
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
    pub(crate) const PHYSICAL_STORAGE_BUFFER: u32 = 5349;
}

/// Decorations.
mod deco {
    pub(crate) const SPEC_ID: u32 = 1;
    pub(crate) const BUFFER_BLOCK: u32 = 3;
    pub(crate) const ROW_MAJOR: u32 = 4;
    pub(crate) const ARRAY_STRIDE: u32 = 6;
    pub(crate) const MATRIX_STRIDE: u32 = 7;
    pub(crate) const BUILT_IN: u32 = 11;
    pub(crate) const NO_PERSPECTIVE: u32 = 13;
    pub(crate) const FLAT: u32 = 14;
    pub(crate) const CENTROID: u32 = 16;
    pub(crate) const SAMPLE: u32 = 17;
    pub(crate) const RESTRICT: u32 = 19;
    pub(crate) const VOLATILE: u32 = 21;
    pub(crate) const NON_WRITABLE: u32 = 24;
    pub(crate) const LOCATION: u32 = 30;
    pub(crate) const COMPONENT: u32 = 31;
    pub(crate) const INDEX: u32 = 32;
    pub(crate) const BINDING: u32 = 33;
    pub(crate) const DESCRIPTOR_SET: u32 = 34;
    pub(crate) const OFFSET: u32 = 35;
    pub(crate) const NO_CONTRACTION: u32 = 42;
}

/// Translates one entry point. Nothing but the module's reachable part is looked at, so unused parts may be unsupported.
pub fn translate(
    module: &Module,
    stage: Stage,
    entry: &str,
    spec: &Specialization,
    layout: &PipelineLayoutInfo,
    accept: &Accept,
) -> Result<Shader> {
    let model = match stage {
        Stage::Vertex => 0,
        Stage::Fragment => 4,
        Stage::Compute => 5,
    };
    accept.check(module)?;
    if !matches!(module.memory_model.0, 0 | 5348) {
        return Err(Error::unsupported("addressing model").at((14, "OpMemoryModel"), 0));
    }
    let point = module.entry_points().iter().find(|e| e.model == model && e.name == entry);
    let point = point.ok_or_else(|| Error::invalid(format!("no entry point \"{entry}\" for the {stage:?} stage")))?;
    let request = Request { module, stage, point, layout };
    let run = || {
        let s = Spec::new(module, spec)?;
        let a = analysis::analyse(&s, point.function)?;
        request.run(&s, &a)
    };
    base::stack::with(module.stack(), run).map_err(|e| Error::limit(e.to_string()))?
}

/// Stack of a compilation without nesting, and for each level of it (regions, types): several times of what an unoptimised build takes.
const FLAT_STACK: usize = 1 << 20;
const LEVEL_STACK: usize = 32 << 10;

impl Module {
    /// Stack for everything that is recursive over the module's regions, and over the IR made of them. Reserved, committed as far as it
    /// is used.
    pub(crate) fn stack(&self) -> usize {
        // A block can open a loop, a scope and a selection; a function adds its own. What is deeper than the limit is refused there.
        let blocks: usize = self.functions.iter().map(|f| 3 * f.blocks.len() + 2).sum();
        FLAT_STACK + LEVEL_STACK * blocks.min(structure::MAX_DEPTH as usize)
    }
}

/// What is to be translated.
struct Request<'a> {
    module: &'a Module,
    stage: Stage,
    point: &'a EntryPoint,
    layout: &'a PipelineLayoutInfo,
}

impl Request<'_> {
    fn run(&self, s: &Spec<'_>, a: &analysis::Analysis) -> Result<Shader> {
        let mut pointers_meet = false;
        let first = self.attempt(s, a, false, &mut pointers_meet);
        if pointers_meet { self.attempt(s, a, true, &mut pointers_meet) } else { first }
    }

    /// `general`: pointers as `variable` says; `pointers_meet`: why it fails without.
    fn attempt(&self, s: &Spec<'_>, a: &analysis::Analysis, general: bool, pointers_meet: &mut bool) -> Result<Shader> {
        let m = self.module;
        let mut shader = Shader::new(self.stage, &self.point.name);
        self.modes(s, &mut shader)?;
        let mut t = Translator::new(s, a, self.layout, self.stage, build::Builder::new(shader));
        t.general = general;
        t.globals(self.point)?;
        t.check_fault()?;
        let root = m.function(self.point.function).ok_or_else(|| Error::invalid("entry point is not a function"))?;
        if !m.functions[root].params.is_empty() {
            return Err(Error::invalid("entry point has parameters").with_id(self.point.function));
        }
        let inlined = t.inline(root, &[]);
        *pointers_meet = t.pointers_meet;
        inlined?;
        t.store_outputs()?;
        Ok(t.b.finish())
    }

    /// Execution modes.
    fn modes(&self, s: &Spec<'_>, sh: &mut Shader) -> Result<()> {
        let m = self.module;
        let mut size = None;
        for &(_, inst) in m.execution_modes.iter().filter(|e| e.0 == self.point.function) {
            let v = m.view(inst);
            let f = &mut sh.flags;
            match v.arg(1)? {
                7 | 5 | 4421 | 6023 | 4459 | 4461 | 4462 => {}
                8 => return Err(Error::invalid("OriginLowerLeft").at(v.opcode(), v.args[0])),
                9 => f.early_fragment_tests = true,
                12 => f.writes_depth = true,
                14 => f.depth_greater = true,
                15 => f.depth_less = true,
                // A promise that may be broken: what is written counts, if DepthReplacing says that something is.
                16 => {}
                17 => size = Some([v.arg(2)?, v.arg(3)?, v.arg(4)?]),
                38 => {
                    let mut own = [0; 3];
                    for (o, at) in own.iter_mut().zip(2..) {
                        *o = s.constant_bits(v.arg(at)?)? as u32;
                    }
                    size = Some(own);
                }
                4446 => f.post_depth_coverage = true,
                5027 => f.writes_stencil = true,
                mode => return Err(Error::unsupported(format!("execution mode {mode}")).at(v.opcode(), v.args[0])),
            }
        }
        if self.stage == Stage::Compute {
            sh.local_size =
                workgroup_size(s)?.or(size).ok_or_else(|| Error::invalid("compute shader without a workgroup size"))?;
            let product = sh.local_size.iter().try_fold(1u32, |p, &n| p.checked_mul(n));
            match product {
                Some(0) => return Err(Error::invalid("workgroup of no invocations")),
                Some(n) if n <= 1 << 16 => {}
                _ => return Err(Error::limit("workgroup is too large")),
            }
        }
        Ok(())
    }
}

/// The constant decorated WorkgroupSize, which goes before execution modes.
fn workgroup_size(s: &Spec<'_>) -> Result<Option<[u32; 3]>> {
    for inst in s.m.globals.clone() {
        let v = s.m.view(inst);
        let composite = matches!(v.op, op::OpConstantComposite | op::OpSpecConstantComposite);
        if composite && s.m.decoration_value(v.result, NO_MEMBER, deco::BUILT_IN) == Some(builtin::WORKGROUP_SIZE) {
            let bits = s.constant_leaves(v.result)?;
            let [x, y, z] = bits[..] else {
                return Err(Error::invalid("WorkgroupSize is not of three components").with_id(v.result));
            };
            return Ok(Some([x as u32, y as u32, z as u32]));
        }
    }
    Ok(None)
}

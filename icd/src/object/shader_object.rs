//! Shader objects: single stages, which commands bind to a bind point one by one
//! ([`BoundShaders`](super::bound_shaders::BoundShaders)).

use super::pipeline::{PipelineBuilder, PipelineError, StageCreateInfo, join_patches};
use super::pipeline_layout::PipelineLayout;
use super::program::{BoundProgram, Linker};
use super::shared_layouts::SharedLayouts;
use crate::shader_compiler::compiler::Compiler;
use crate::shader_compiler::shader_binary::{BinaryStage, ShaderBinary};
use crate::shader_compiler::tiered::TieredCode;
use ash::vk;
use base::shader::Stage;
use base::swept_map::{SweptEntry, SweptMap};
use jit::spirv::descriptor_sets;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;
use std::sync::{Arc, Weak};

/// Object behind a `VkShaderEXT`.
pub struct ShaderObject {
    code: Arc<TieredCode>,
    layout: Arc<PipelineLayout>,
    /// Mask of the descriptor sets that the stage may use.
    used_sets: u32,
    /// Programs whose first stage is the object.
    pub(super) programs: ProgramTable,
    /// The binary, once it has been queried.
    binary: Mutex<Option<Arc<[u8]>>>,
}

impl ShaderObject {
    /// Returns the kind of the stage.
    #[inline]
    pub fn stage(&self) -> Stage {
        self.code.request().stage
    }

    /// Returns the stage and its code.
    #[inline]
    pub fn code(&self) -> &Arc<TieredCode> {
        &self.code
    }

    /// Returns the layout of the set layouts with which the object was created.
    #[inline]
    pub fn layout(&self) -> &Arc<PipelineLayout> {
        &self.layout
    }

    /// Returns the binary, which is the same in every call; waits for the code. `None` means that
    /// there is no memory, no code, or no key to seal it with.
    pub fn binary(&self) -> Option<Arc<[u8]>> {
        let mut binary = self.binary.lock();
        if binary.is_none() {
            let heap = self.layout.heap_resources(self.code.request());
            *binary = ShaderBinary::of(&self.code, heap).map(Arc::from);
        }
        binary.clone()
    }

    /// Returns true if the stage may use the descriptor set.
    pub fn uses_set(&self, number: usize) -> bool {
        u32::try_from(number).is_ok_and(|number| self.used_sets.checked_shr(number).unwrap_or(0) & 1 == 1)
    }
}

/// Code of which a shader object is made.
pub enum ShaderSource {
    /// A stage of a SPIR-V module.
    Spirv(StageCreateInfo),
    /// The binary of an object of this stage.
    Binary(ShaderBinary, Stage),
}

/// Parameters of a shader object.
pub struct ShaderCreateInfo {
    /// Code of the object.
    pub source: ShaderSource,
    /// Layout of the object's set layouts, or of its embedded samplers.
    pub layout: PipelineLayout,
    /// True if the object is linked with the others of the call that are.
    pub is_linked: bool,
}

/// Joins what linked stages of one call declare for each other. Stages that are not linked have to
/// declare everything themselves.
pub fn join_linked(infos: &mut [Result<ShaderCreateInfo, PipelineError>]) {
    let linked = infos.iter_mut().flatten().filter(|info| info.is_linked);
    join_patches(linked.filter_map(|info| match &mut info.source {
        ShaderSource::Spirv(stage) => Some(stage),
        // The object of the binary was joined when it was created.
        ShaderSource::Binary(..) => None,
    }));
}

/// Creates shader objects.
pub struct ShaderBuilder<'a> {
    /// Compiler of the device.
    pub compiler: &'a Arc<Compiler>,
    /// Linker of the device.
    pub linker: &'a Linker,
    /// Layouts of the device's programs of shader objects.
    pub layouts: &'a SharedLayouts,
}

impl ShaderBuilder<'_> {
    /// Creates a shader object. The code of a SPIR-V module is made in the background.
    pub fn create(&self, info: ShaderCreateInfo) -> Result<Arc<ShaderObject>, PipelineError> {
        let code = match info.source {
            ShaderSource::Spirv(stage) => {
                let flags = Default::default();
                let builder = PipelineBuilder { compiler: self.compiler, linker: self.linker, cache: None, flags };
                builder.compile(stage, &info.layout)?.0
            }
            ShaderSource::Binary(binary, stage) => {
                let mappings = binary.heap().map(|heap| heap.mappings.clone());
                let stage = binary.into_stage(stage, info.layout.stage_info(mappings));
                let code = stage
                    .and_then(|BinaryStage { key, request, code }| self.compiler.stored_stage(key, request, &code));
                code.ok_or(vk::Result::INCOMPATIBLE_SHADER_BINARY_EXT)?
            }
        };
        let used_sets = if info.layout.uses_heap { !0 } else { descriptor_sets(&code.request().words) };
        let layout = self.layouts.share(info.layout);
        let (programs, binary) = (ProgramTable::default(), Mutex::default());
        Ok(Arc::new(ShaderObject { code, layout, used_sets, programs, binary }))
    }
}

/// Addresses of the objects of a program but the first, in the order of their stages, and zeros. An
/// address identifies an object as long as there is a reference to it, which an entry has.
type ProgramKey = [usize; MAX_LATER_OBJECTS];

/// Largest number of objects of a program after the first: those of the stages from tessellation
/// control to fragment.
const MAX_LATER_OBJECTS: usize = 4;

/// The programs whose first stage is a shader object. The keys are addresses, which an application
/// does not choose, so that a fast hash is safe.
#[derive(Default)]
pub(super) struct ProgramTable(Mutex<SweptMap<ProgramKey, LinkedProgram, SWEEP, FxBuildHasher>>);

/// A program of a [`ProgramTable`]. With its key it fits into a cache line, since draws that take
/// turns with many programs find none of them in the caches.
struct LinkedProgram {
    /// References to the objects of the key, which keep their addresses.
    objects: Box<[Weak<ShaderObject>]>,
    program: Arc<BoundProgram>,
}

impl SweptEntry for LinkedProgram {
    fn is_live(&self) -> bool {
        self.objects.iter().all(SweptEntry::is_live)
    }
}

/// Least number of entries at which a table is swept.
pub(super) const SWEEP: usize = 16;

impl ProgramTable {
    /// Returns the program of the table's object with these objects of later stages. If there is
    /// none, `link` makes it.
    ///
    /// # Errors
    /// The error is that of `link`.
    pub(super) fn find_or_link<'a, E>(
        &self,
        objects: impl Iterator<Item = &'a Arc<ShaderObject>> + Clone,
        link: impl FnOnce() -> Result<Arc<BoundProgram>, E>,
    ) -> Result<Arc<BoundProgram>, E> {
        let mut key: ProgramKey = [0; MAX_LATER_OBJECTS];
        for (i, object) in objects.clone().enumerate() {
            match key.get_mut(i) {
                Some(address) => *address = Arc::as_ptr(object) as usize,
                // So many stages do not form a program, which `link` reports.
                None => return link(),
            }
        }
        let mut programs = self.0.lock();
        if let Some(linked) = programs.get(&key) {
            return Ok(linked.program.clone());
        }
        let program = link()?;
        let linked = LinkedProgram { objects: objects.map(Arc::downgrade).collect(), program: program.clone() };
        programs.insert(key, linked);
        Ok(program)
    }

    /// Returns the number of programs.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }
}

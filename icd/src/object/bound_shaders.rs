//! The shader objects that are bound to a bind point, and the programs that they form.
//!
//! A program of shader objects is linked when it is needed first ([`BoundShaders::program`]) and
//! kept by the object of its first stage, so that it is found again by the identities of the other
//! objects. It refers to the objects weakly: it owns their stages, not them.

use super::descriptor::SetLayout;
use super::pipeline_layout::{PipelineLayout, TooLarge};
use super::program::{BoundProgram, Linker, NamedObject, ProgramParts};
use super::shader_object::ShaderObject;
use super::shared_layouts::SharedLayouts;
use base::shader::Stage;
use rasterizer::api::LinkError;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// Reason why the bound shader objects do not form a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// The stages cannot be linked.
    Link(LinkError),
    /// These two stages use this descriptor set, and were created with different layouts of it.
    Set(usize, Stage, Stage),
    /// Some objects find descriptors in heaps, and others in sets.
    Heap,
    /// The layouts together exceed a limit.
    Layout(TooLarge),
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramError::Link(error) => error.fmt(f),
            ProgramError::Set(number, a, b) => {
                write!(f, "the {a:?} stage and the {b:?} stage have different layouts of descriptor set {number}")
            }
            ProgramError::Heap => write!(f, "only some of the shader objects use descriptor heaps"),
            ProgramError::Layout(error) => error.fmt(f),
        }
    }
}

/// The shader objects that are bound to a bind point, by stage.
#[derive(Default)]
pub struct BoundShaders([Option<Arc<ShaderObject>>; Stage::ALL.len()]);

impl BoundShaders {
    /// Binds an object, or unbinds that of the stage. Returns true if this changes anything.
    pub fn bind(&mut self, stage: Stage, object: Option<&Arc<ShaderObject>>) -> bool {
        // An object of another stage would be used as one of this stage.
        let object = object.filter(|object| object.stage() == stage);
        let slot = &mut self.0[stage as usize];
        let changes = slot.as_ref().map(Arc::as_ptr) != object.map(Arc::as_ptr);
        if changes {
            *slot = object.cloned();
        }
        changes
    }

    /// Unbinds all objects.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|slot| *slot = None);
    }

    /// Returns true if no object is bound.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Returns the bound objects in the order of their stages.
    fn objects(&self) -> impl Iterator<Item = &Arc<ShaderObject>> + Clone {
        self.0.iter().flatten()
    }

    /// Returns the program of the bound objects, or `None` if no object is bound.
    ///
    /// # Errors
    /// The objects do not form a program; [`ProgramError`] gives the reason.
    pub fn program(&self, linker: &Linker, layouts: &SharedLayouts) -> Option<Result<Arc<BoundProgram>, ProgramError>> {
        let first = self.objects().next()?;
        Some(first.programs.find_or_link(self.objects().skip(1), || self.link(linker, layouts)))
    }

    fn link(&self, linker: &Linker, layouts: &SharedLayouts) -> Result<Arc<BoundProgram>, ProgramError> {
        let layout = self.layout(layouts)?;
        let code = self.objects().map(|object| object.code().clone()).collect();
        let stages = linker.link(code).map_err(ProgramError::Link)?;
        let named = self.objects().next().map(|first| NamedObject::new("shader object", Arc::downgrade(first) as _));
        let named = named.ok_or(ProgramError::Link(LinkError::NoVertices))?;
        Ok(Arc::new(BoundProgram::new(ProgramParts { stages, layout, state: None }, named)))
    }

    /// Returns the union of the objects' layouts.
    fn layout(&self, layouts: &SharedLayouts) -> Result<Arc<PipelineLayout>, ProgramError> {
        let all: SmallVec<[&Arc<PipelineLayout>; 5]> = self.objects().map(|object| object.layout()).collect();
        if let Some((first, rest)) = all.split_first()
            && rest.iter().all(|layout| Arc::ptr_eq(first, layout))
        {
            return Ok((*first).clone());
        }
        let uses_heap = all.iter().any(|layout| layout.uses_heap);
        if all.iter().any(|layout| layout.uses_heap != uses_heap && !layout.sets.is_empty()) {
            return Err(ProgramError::Heap);
        }
        let count = all.iter().map(|layout| layout.sets.len()).max().unwrap_or(0);
        let sets = (0..count).map(|number| self.set_layout(number)).collect::<Result<Vec<_>, _>>()?;
        let mut joined = PipelineLayout::new(sets).map_err(ProgramError::Layout)?;
        joined.uses_heap = uses_heap;
        Ok(layouts.share(joined))
    }

    /// Returns the layout of a set by which all stages that use the set find its descriptors.
    fn set_layout(&self, number: usize) -> Result<Option<Arc<SetLayout>>, ProgramError> {
        let having = || self.objects().filter_map(|object| Some((object, object.layout().sets.get(number)?.as_ref()?)));
        let mut using = having().filter(|(object, _)| object.uses_set(number));
        let Some((first, layout)) = using.next() else {
            // No stage reads the set, so any layout of it is as good as another.
            return Ok(having().next().map(|(_, layout)| layout.clone()));
        };
        match using.find(|(_, other)| !layout.compatible(other)) {
            Some((other, _)) => Err(ProgramError::Set(number, first.stage(), other.stage())),
            None => Ok(Some(layout.clone())),
        }
    }
}

//! The shader objects that are bound to a bind point, and the programs that they form.
//!
//! A program of shader objects is linked when it is needed first ([`BoundShaders::program`]) and
//! kept by the object of its first stage, so that it is found again by the identities of the other
//! objects. It refers to the objects weakly: it owns their stages, not them.

use super::descriptor::SetLayout;
use super::pipeline_layout::{PipelineLayout, TooLarge};
use super::program::{BoundProgram, Linker, NamedObject, ProgramParts};
use super::shader_object::ShaderObject;
use base::shader::Stage;
use parking_lot::Mutex;
use rasterizer::api::LinkError;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

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
    fn objects(&self) -> impl Iterator<Item = &Arc<ShaderObject>> {
        self.0.iter().flatten()
    }

    /// Returns the program of the bound objects, or `None` if no object is bound.
    ///
    /// # Errors
    /// The objects do not form a program; [`ProgramError`] gives the reason.
    pub fn program(&self, linker: &Linker, layouts: &SharedLayouts) -> Option<Result<Arc<BoundProgram>, ProgramError>> {
        let first = self.objects().next()?;
        let others: Key = self.objects().skip(1).map(|object| Arc::as_ptr(object) as usize).collect();
        let mut table = first.programs.0.lock();
        if let Some(program) = table.find(&others) {
            return Some(Ok(program));
        }
        Some(self.link(linker, layouts).inspect(|program| {
            let others = others.into_iter().zip(self.objects().skip(1).map(Arc::downgrade)).unzip();
            table.insert(others, program);
        }))
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

/// Addresses of the objects of a program but the first, in the order of their stages. An address
/// identifies an object as long as there is a reference to it, which an entry has.
type Key = SmallVec<[usize; 5]>;
/// Weak references to these objects.
type Others = SmallVec<[Weak<ShaderObject>; 5]>;

/// The programs whose first stage is a shader object.
#[derive(Default)]
pub struct ProgramTable(Mutex<Programs>);

impl ProgramTable {
    /// Returns the number of programs.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.lock().by_others.len()
    }
}

#[derive(Default)]
struct Programs {
    by_others: HashMap<Key, (Others, Arc<BoundProgram>)>,
    /// Number of entries at which those of destroyed objects are removed.
    sweep_at: usize,
}

/// Least number of entries at which a table is swept.
pub(super) const SWEEP: usize = 16;

impl Programs {
    fn find(&self, others: &Key) -> Option<Arc<BoundProgram>> {
        self.by_others.get(others).map(|(_, program)| program.clone())
    }

    fn insert(&mut self, (key, others): (Key, Others), program: &Arc<BoundProgram>) {
        if self.by_others.len() >= self.sweep_at.max(SWEEP) {
            self.by_others.retain(|_, (others, _)| others.iter().all(|other| other.strong_count() > 0));
            self.sweep_at = 2 * self.by_others.len();
        }
        self.by_others.insert(key, (others, program.clone()));
    }
}

/// Layouts of shader objects and of their programs. Equal lists of set layouts share one, so that
/// draws with different objects share the context that is built for it.
#[derive(Default)]
pub struct SharedLayouts(Mutex<Layouts>);

#[derive(Default)]
struct Layouts {
    by_sets: HashMap<LayoutKey, Weak<PipelineLayout>>,
    /// Number of entries at which those of dropped layouts are removed.
    sweep_at: usize,
}

/// Whether a layout uses heaps, and the addresses of its set layouts (0 where there is none). An
/// address identifies a set layout as long as an entry's layout lives, because it owns them.
type LayoutKey = (bool, SmallVec<[usize; 4]>);

impl SharedLayouts {
    /// Returns the living layout with the same set layouts, or this one.
    pub fn share(&self, layout: PipelineLayout) -> Arc<PipelineLayout> {
        let address = |set: &Option<Arc<SetLayout>>| set.as_ref().map_or(0, |set| Arc::as_ptr(set) as usize);
        let key = (layout.uses_heap, layout.sets.iter().map(address).collect());
        let mut layouts = self.0.lock();
        if let Some(living) = layouts.by_sets.get(&key).and_then(Weak::upgrade) {
            return living;
        }
        if layouts.by_sets.len() >= layouts.sweep_at.max(SWEEP) {
            layouts.by_sets.retain(|_, layout| layout.strong_count() > 0);
            layouts.sweep_at = 2 * layouts.by_sets.len();
        }
        let layout = Arc::new(layout);
        layouts.by_sets.insert(key, Arc::downgrade(&layout));
        layout
    }
}

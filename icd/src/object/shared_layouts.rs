//! Layouts of shader objects, one for each list of set layouts.

use super::descriptor::SetLayout;
use super::pipeline_layout::PipelineLayout;
use base::swept_map::SweptMap;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::{Arc, Weak};

/// Layouts of shader objects and of their programs. Equal lists of set layouts share one, so that
/// draws with different objects share the context that is built for it.
#[derive(Default)]
pub struct SharedLayouts(Mutex<SweptMap<LayoutKey, Weak<PipelineLayout>, SWEEP>>);

/// Key of a layout.
#[derive(PartialEq, Eq, Hash)]
struct LayoutKey {
    uses_heap: bool,
    /// Addresses of the set layouts, 0 where there is none. An address identifies a set layout as
    /// long as the layout of an entry lives, because the layout owns its set layouts.
    sets: SmallVec<[usize; 4]>,
}

/// Least number of entries at which those of dropped layouts are removed.
const SWEEP: usize = 16;

impl SharedLayouts {
    /// Returns the live layout with the same set layouts, or this one.
    pub fn share(&self, layout: PipelineLayout) -> Arc<PipelineLayout> {
        let address = |set: &Option<Arc<SetLayout>>| set.as_ref().map_or(0, |set| Arc::as_ptr(set) as usize);
        let key = LayoutKey { uses_heap: layout.uses_heap, sets: layout.sets.iter().map(address).collect() };
        let mut layouts = self.0.lock();
        if let Some(live) = layouts.get(&key).and_then(Weak::upgrade) {
            return live;
        }
        let layout = Arc::new(layout);
        layouts.insert(key, Arc::downgrade(&layout));
        layout
    }
}

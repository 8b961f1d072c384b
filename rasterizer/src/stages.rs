//! The stages of a graphics pipeline and their links.
//!
//! Linking is a function of a list of compiled stages ([`GraphicsStages::new`]). It knows no state,
//! makes no code and takes a few microseconds, so that it can be done wherever stages come
//! together: when a pipeline is created or linked from libraries, or before a draw.

#![forbid(unsafe_code)]

mod linkage;
mod list;

pub use linkage::{GeometryLink, InputLink, LinkSource, Linkage, MeshLink, NO_SLOT, RectanglePairs, TessellationLink};
pub use list::{LinkError, StageList, Tessellation, link_compute};

use base::shader::CompiledStage;
use core::ops::Deref;
use core::sync::atomic::{AtomicU32, Ordering};
use list::PRIMITIVES_PER_PATCH;

/// Linked stages: a [`StageList`], and the connections between its interfaces.
#[derive(Clone, Debug)]
pub struct GraphicsStages {
    list: StageList,
    linkage: Linkage,
    /// True if one of the stages reads values of a single draw from the context.
    draw_parameters: bool,
    amplification: Amplification,
}

/// The recent number of primitives that stages make of one. It determines how draws are cut, but
/// never what they draw.
#[derive(Debug)]
struct Amplification(AtomicU32);

impl Amplification {
    /// Fixed-point unit, so that fractions can be represented.
    const ONE: u32 = 16;
}

impl Clone for Amplification {
    fn clone(&self) -> Amplification {
        Amplification(AtomicU32::new(self.0.load(Ordering::Relaxed)))
    }
}

/// Linking adds to a list of stages and changes nothing of it.
impl Deref for GraphicsStages {
    type Target = StageList;

    #[inline]
    fn deref(&self) -> &StageList {
        &self.list
    }
}

impl GraphicsStages {
    /// Links stages, which may be in any order.
    ///
    /// # Errors
    /// The stages do not form a pipeline; [`LinkError`] gives the reason.
    pub fn new(stages: impl IntoIterator<Item = CompiledStage>) -> Result<GraphicsStages, LinkError> {
        let list = StageList::new(stages)?;
        let linkage = Linkage::new(&list);
        let draw_parameters = list.iter().any(|stage| stage.info.draw_parameters);
        // Until a measurement exists, a patch counts as a large one.
        let amplification = Amplification(AtomicU32::new(
            list.max_primitives_per_input().min(PRIMITIVES_PER_PATCH) * Amplification::ONE,
        ));
        Ok(GraphicsStages { list, linkage, draw_parameters, amplification })
    }

    /// Returns the connections between the interfaces of the stages.
    #[inline]
    pub fn linkage(&self) -> &Linkage {
        &self.linkage
    }

    /// Returns true if any stage reads a draw's base vertex or instance, or its number.
    pub fn read_draw_parameters(&self) -> bool {
        self.draw_parameters
    }

    /// Records how many primitives were made of some of the draw's.
    pub fn record_amplification(&self, taken: u32, made: u32) {
        if !self.is_amplification_measured() {
            return;
        }
        let now = (u64::from(made) * u64::from(Amplification::ONE)).div_ceil(u64::from(taken.max(1)));
        let now = now.min(u64::from(u32::MAX / 4)) as u32;
        let before = self.amplification.0.load(Ordering::Relaxed);
        // Larger values apply at once, smaller ones gradually. (Of concurrent updates, one is
        // lost.)
        self.amplification.0.store(now.max((3 * before + now) / 4), Ordering::Relaxed);
    }

    /// Returns how many primitives will probably be made of `taken` ones of the draw; the same
    /// number if no stage makes primitives.
    pub fn estimate_primitives(&self, taken: u32) -> u32 {
        if !self.is_amplification_measured() {
            return taken;
        }
        let made =
            u64::from(taken) * u64::from(self.amplification.0.load(Ordering::Relaxed)) / u64::from(Amplification::ONE);
        made.min(u32::MAX.into()) as u32
    }

    /// Returns true if the number of resulting primitives is known only afterwards. (For mesh
    /// workgroups, the maximum is a good estimate.)
    fn is_amplification_measured(&self) -> bool {
        !self.has_known_primitive_count() && self.mesh().is_none()
    }
}

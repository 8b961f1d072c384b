//! The lanes that may write memory.

use super::Emitter;
use super::memory::read_only;
use crate::error::{Error, Result};
use crate::ir::Ty;
use crate::lir::{AccessReason, IntCond, Type, Value as C, Variable};
use crate::passes::Steps;
use smallvec::SmallVec;

/// Limits of the lanes that may write memory, beside the exec mask.
#[derive(Default)]
pub struct EffectLanes {
    /// Mask of the lanes whose index is below the batch's count, in chunks of vertices and in those
    /// of a stage that takes primitives.
    valid: Option<C>,
    /// Mask of the fragments with coverage, and that of those that are neither killed nor demoted.
    fragments: Option<(C, Variable)>,
}

impl EffectLanes {
    /// Ends the chunks of fragments.
    pub fn end_fragments(&mut self) {
        self.fragments = None;
    }

    /// Returns the mask of the fragments with coverage.
    ///
    /// # Errors
    /// Invalid: the stage is none of fragments.
    pub fn covered(&self) -> Result<C> {
        self.fragments().map(|(covered, _)| covered)
    }

    fn fragments(&self) -> Result<(C, Variable)> {
        self.fragments.ok_or_else(|| Error::invalid("a fragment operation outside of a fragment stage"))
    }
}

impl Emitter<'_> {
    /// Returns the mask of the lanes whose index in the batch is below `count`.
    pub fn lanes_below(&mut self, count: C) -> C {
        let first = self.first_lane();
        let index = self.ramp(first, Steps::even(1, self.lanes.count()));
        let words = self.vector_type(Ty::I32);
        let count = self.b.splat(words, count);
        self.b.icmp(IntCond::Ult, index, count)
    }

    /// Sets up the lanes of a chunk; `field` is the offset of the number of invocations in the
    /// batch. Lanes behind the last invocation execute the same code but write no memory. If
    /// invocations see each other through subgroup operations, these lanes are inactive.
    pub fn start_lanes(&mut self, field: usize, ones: C) -> Result<()> {
        let count = self.b.load(Type::I32, read_only(AccessReason::Field, field as i32), self.function.batch());
        let valid = self.lanes_below(count);
        if self.shader.uses_subgroup {
            self.set_exec(valid, false);
        } else {
            self.set_exec(ones, true);
            self.effects.valid = Some(valid);
        }
        Ok(())
    }

    /// Returns the mask of lanes that may write memory, or `None` for all lanes.
    pub fn side_effect_mask(&mut self) -> Option<C> {
        let mut mask = (!self.lanes.is_full()).then(|| self.exec_mask());
        let mut limit = |e: &mut Self, m: C| {
            mask = Some(match mask {
                Some(old) => e.b.and(old, m),
                None => m,
            });
        };
        if let Some(valid) = self.effects.valid {
            limit(self, valid);
        }
        if let Some((covered, alive)) = self.effects.fragments {
            let alive = self.b.use_var(alive);
            limit(self, covered);
            limit(self, alive);
        }
        mask
    }

    /// Returns the mask of lanes with side effects, lane by lane (I8), or `None` for all lanes.
    pub fn effect_lanes(&mut self) -> Option<SmallVec<[C; 8]>> {
        let mask = self.side_effect_mask()?;
        Some((0..self.lanes.count() as usize).map(|lane| self.b.extract(mask, lane)).collect())
    }

    /// Starts a chunk of fragments, all of which are alive.
    pub fn start_effects(&mut self, covered: C, ones: C) {
        let alive = self.new_mask();
        self.b.def_var(alive, ones);
        self.effects.fragments = Some((covered, alive));
    }

    /// Returns the mask of the fragments that are neither killed nor demoted.
    ///
    /// # Errors
    /// Invalid: the stage is none of fragments.
    pub fn alive(&mut self) -> Result<C> {
        let (_, alive) = self.effects.fragments()?;
        Ok(self.b.use_var(alive))
    }

    /// Kills or demotes the active lanes.
    ///
    /// # Errors
    /// Invalid: the stage is none of fragments.
    pub fn demote(&mut self) -> Result<()> {
        let (_, variable) = self.effects.fragments()?;
        let exec = self.exec_mask();
        let old = self.b.use_var(variable);
        let new = self.b.and_not(old, exec);
        self.b.def_var(variable, new);
        Ok(())
    }
}

//! The plans of a pass's draws, by the stages of the draws.
//!
//! Programs with few stages and state alternate in most passes, so a plan of every program is kept
//! and not only that of the last draw.

#![forbid(unsafe_code)]

use crate::api::{Draw, DrawState, GraphicsStages};
use crate::front::{self, FetchPlan, Transform};
use crate::tile::{RenderPass, TilePlan, TileState};
use base::hash::WordMap;
use std::sync::Arc;

/// Largest number of programs whose plans are kept.
const MAX_PROGRAMS: usize = 256;

/// The plans that a draw keeps.
#[derive(Clone)]
pub struct DrawPlans {
    /// Vertex attributes to fetch.
    pub fetch: Arc<FetchPlan>,
    /// Processing of the draw by tiles.
    pub tile: Arc<TilePlan>,
    /// Viewports by index.
    pub viewports: Arc<[Transform]>,
}

/// The plans of the last draw of some stages, with the state of that draw.
struct LastPlans {
    /// Owner of the stages, so that no other stages get their address.
    _stages: Arc<GraphicsStages>,
    state: Arc<DrawState>,
    tile_state: TileState,
    plans: DrawPlans,
}

/// Plans by the address of their stages, which the entry keeps alive.
#[derive(Default)]
pub struct PlanTable(WordMap<usize, LastPlans>);

impl PlanTable {
    /// Returns the plans of a draw in a pass. Each plan of the last draw with these stages is
    /// reused if all that the plan depends on is equal.
    pub fn find(&mut self, draw: &Draw, pass: &RenderPass) -> DrawPlans {
        let key = Arc::as_ptr(&draw.stages).addr();
        let last = self.0.get_mut(&key);
        if let Some(last) = last.as_ref().filter(|last| Arc::ptr_eq(&last.state, &draw.state)) {
            return last.plans.clone();
        }
        let state = &*draw.state;
        let tile_state = TileState::new(state, draw.stages.topology(state.topology), pass);
        let make_fetch = || Arc::new(FetchPlan::new(&draw.stages.first().info.interface, state));
        let make_tile = || Arc::new(TilePlan::new(&draw.stages, &tile_state, pass));
        let make_viewports = || front::viewports(state, pass.area, pass.grid.samples);
        if let Some(last) = last {
            if last.state.attributes != state.attributes || last.state.bindings != state.bindings {
                last.plans.fetch = make_fetch();
            }
            if last.tile_state != tile_state {
                last.plans.tile = make_tile();
                last.tile_state = tile_state;
            }
            if !Transform::are_equal(&last.state, state) {
                last.plans.viewports = make_viewports();
            }
            last.state = draw.state.clone();
            return last.plans.clone();
        }
        let plans = DrawPlans { fetch: make_fetch(), tile: make_tile(), viewports: make_viewports() };
        if self.0.len() >= MAX_PROGRAMS {
            self.0.clear();
        }
        let (_stages, state) = (draw.stages.clone(), draw.state.clone());
        self.0.insert(key, LastPlans { _stages, state, tile_state, plans: plans.clone() });
        plans
    }
}

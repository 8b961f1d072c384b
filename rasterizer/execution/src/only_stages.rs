//! The state of workers that call stages and do nothing else, for tests.

use crate::stage::StageMemory;
use crate::worker_pool::WorkerScratch;

/// State that a worker keeps.
#[derive(Default)]
pub struct OnlyStages(StageMemory);

impl WorkerScratch for OnlyStages {
    fn trim(&mut self, bytes: usize) {
        self.0.trim(bytes);
    }
}

impl AsMut<StageMemory> for OnlyStages {
    fn as_mut(&mut self) -> &mut StageMemory {
        &mut self.0
    }
}

//! Shaders, groups and shader binding tables of a launch.

#![forbid(unsafe_code)]

use crate::worker_pool::RunningCommand;
use base::abi::ShaderContext;
use base::shader::{CompiledStage, Stage};
use std::sync::Arc;

/// Number of bytes of a shader group's handle, at the beginning of each record of a table.
pub const GROUP_HANDLE_BYTES: u64 = 32;

/// A shader group: numbers of shaders of its program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShaderGroup {
    /// Ray generation, miss or callable shader.
    pub general: Option<u32>,
    /// Closest-hit shader.
    pub closest_hit: Option<u32>,
    /// Any-hit shader.
    pub any_hit: Option<u32>,
    /// Intersection shader.
    pub intersection: Option<u32>,
}

/// The shaders and groups of a pipeline.
#[derive(Clone, Debug, Default)]
pub struct TraceProgram {
    /// The shaders, which all have frames.
    pub shaders: Vec<CompiledStage>,
    /// The groups.
    pub groups: Vec<ShaderGroup>,
}

impl TraceProgram {
    /// Returns the number of a shader of a group, if it is of this stage.
    pub(super) fn shader(&self, group: Option<u32>, stage: Stage) -> Option<u32> {
        let group = self.groups.get(group? as usize)?;
        let shader = match stage {
            Stage::ClosestHit => group.closest_hit,
            Stage::AnyHit => group.any_hit,
            Stage::Intersection => group.intersection,
            _ => group.general,
        }?;
        self.shaders.get(shader as usize).filter(|found| found.info.stage() == stage).map(|_| shader)
    }
}

/// A shader binding table (`VkStridedDeviceAddressRegionKHR`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShaderTable {
    /// Device address of the first record.
    pub address: u64,
    /// Number of bytes from record to record.
    pub stride: u64,
    /// Number of bytes of the table.
    pub size: u64,
}

impl ShaderTable {
    /// Returns the address of a record; `None` if its handle is not inside of the table.
    pub fn record(&self, index: u64) -> Option<u64> {
        let offset = self.stride.checked_mul(index)?;
        let end = offset.checked_add(GROUP_HANDLE_BYTES)?;
        if self.address == 0 || end > self.size {
            return None;
        }
        self.address.checked_add(offset)
    }
}

/// The tables of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShaderTables {
    /// The record of the ray generation shader.
    pub ray_generation: ShaderTable,
    /// Miss shaders.
    pub miss: ShaderTable,
    /// Hit groups.
    pub hit: ShaderTable,
    /// Callable shaders.
    pub callable: ShaderTable,
}

/// The meaning of group handles in device memory.
pub trait GroupHandles: Sync {
    /// Returns the number of the group of the launch's program whose handle is at an address;
    /// `None` if the handle is zero, is of no such group, or cannot be read.
    fn group(&self, address: u64) -> Option<u32>;
}

/// A launch (`vkCmdTraceRaysKHR`).
pub struct Launch<'a, T> {
    /// Identity for reports of running work.
    pub running: RunningCommand,
    /// Shaders and groups.
    pub program: &'a TraceProgram,
    /// Context of all shaders.
    pub context: Arc<ShaderContext>,
    /// Shader binding tables.
    pub tables: ShaderTables,
    /// Handles in the tables.
    pub handles: &'a dyn GroupHandles,
    /// Traversal of rays.
    pub tracer: &'a T,
    /// Number of launch ids per dimension.
    pub size: [u32; 3],
    /// Largest number of nested invocations of a launch id.
    pub max_depth: u32,
}

/// Reason why a launch has not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// Shaders are nested more deeply than the launch allows. This is an error of the application.
    TooDeep,
    /// The frames of a tile need too much memory. This is an error of the application.
    FrameMemory,
    /// The shaders contradict their description. This is an error of the driver.
    Internal,
}

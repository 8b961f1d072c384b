//! Builds, copies and properties of acceleration structures and micromaps on a queue.

use super::Executor;
use crate::command::WriteAccelerationStructuresProperties;
use crate::command::structures::{AddressPlace, StructureAccess, StructureBuild, StructureError, StructureProperty};
use crate::object::acceleration_structure::AccelerationStructure;
use base::alloc::{OutOfMemory, or_unwind};
use rays::BuildError;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Executor<'_> {
    fn structure_access(&self) -> StructureAccess<'_> {
        // SAFETY: a submission executes this command.
        unsafe { StructureAccess::new(self.device, AddressPlace::Device) }
    }

    /// Reports why an operation has failed. Unwinds the thread, which is the queue's worker, if
    /// there is no memory.
    fn report_structure(&self, command: &str, result: Result<(), StructureError>) {
        match result {
            Ok(()) => {}
            Err(StructureError::Build(BuildError::OutOfMemory)) => or_unwind(Err(OutOfMemory)),
            // The loss of the device has been reported.
            Err(StructureError::Build(BuildError::Aborted)) => {}
            Err(error) => self.device.report_invalid_usage(&format!("{command}: {error}")),
        }
    }

    pub(super) fn build_acceleration_structures(&mut self, builds: &[StructureBuild]) {
        const COMMAND: &str = "vkCmdBuildAccelerationStructuresKHR or vkCmdBuildMicromapsEXT";
        match self.structure_access().build_all(&self.queue.builders, builds) {
            Ok(errors) => errors.for_each(|error| self.report_structure(COMMAND, Err(error))),
            Err(error) => self.report_structure(COMMAND, Err(error)),
        }
    }

    pub(super) fn copy_acceleration_structure(
        &mut self,
        src: &Arc<AccelerationStructure>,
        dst: &Arc<AccelerationStructure>,
    ) {
        let copied = self.structure_access().copy(src, dst);
        self.report_structure("vkCmdCopyAccelerationStructureKHR or vkCmdCopyMicromapEXT", copied);
    }

    pub(super) fn copy_acceleration_structure_to_memory(&mut self, src: &Arc<AccelerationStructure>, dst: u64) {
        let copied = self.structure_access().serialize(src, dst);
        self.report_structure("vkCmdCopyAccelerationStructureToMemoryKHR or vkCmdCopyMicromapToMemoryEXT", copied);
    }

    pub(super) fn copy_memory_to_acceleration_structure(&mut self, src: u64, dst: &Arc<AccelerationStructure>) {
        let copied = self.structure_access().deserialize(src, dst);
        self.report_structure("vkCmdCopyMemoryToAccelerationStructureKHR or vkCmdCopyMemoryToMicromapEXT", copied);
    }

    pub(super) fn write_acceleration_structures_properties(&mut self, c: &WriteAccelerationStructuresProperties) {
        let property = StructureProperty::of(c.pool.query_type);
        for (query, structure) in c.pool.range(c.first, c.structures.len() as u32).iter().zip(&c.structures) {
            let value = property.map_or(Ok(0), |property| self.structure_access().property(structure, property));
            let all = query.counters.all();
            all.iter().for_each(|counter| counter.store(value.unwrap_or(0), Ordering::Release));
            self.report_structure(
                "vkCmdWriteAccelerationStructuresPropertiesKHR or vkCmdWriteMicromapsPropertiesEXT",
                value.map(|_| ()),
            );
            self.device.make_available(query);
        }
    }
}

//! Shaders of records of shader binding tables that were read.

#![forbid(unsafe_code)]

use base::shader::Stage;

/// Number of records that are kept.
const RECORDS: usize = 64;

/// A record that was read, and its shader of a stage.
#[derive(Clone, Copy)]
struct Record {
    address: u64,
    stage: Stage,
    shader: Option<u32>,
}

/// The records that were read last, by address. Tables do not change during a launch.
pub(super) struct Records([Record; RECORDS]);

impl Default for Records {
    fn default() -> Self {
        // No record is at address 0.
        Records([Record { address: 0, stage: Stage::RayGeneration, shader: None }; RECORDS])
    }
}

impl Records {
    /// Returns the shader of a stage of the record at an address, which a function reads if the
    /// record is not kept.
    #[inline]
    pub fn shader(&mut self, address: u64, stage: Stage, read: impl FnOnce() -> Option<u32>) -> Option<u32> {
        // Records are at multiples of 32 bytes.
        let record = &mut self.0[((address >> 5) as usize ^ (stage as usize) << 3) % RECORDS];
        if (record.address, record.stage) != (address, stage) {
            *record = Record { address, stage, shader: read() };
        }
        record.shader
    }
}

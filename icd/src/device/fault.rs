//! Reports why a device was lost (VK_EXT_device_fault, VK_KHR_device_fault): the cause, the
//! pipelines that were running, their stages, and the loops of their SPIR-V.
//!
//! There are no addresses to report: generated code cannot trap, and accesses outside of all memory
//! read 0 and write nothing. The possible causes are work that takes too long, memory that the
//! system does not give, and the driver's own errors. Execution reports a program only by its
//! number, so each program is noted when it is made if the application enables one of the
//! extensions.

use crate::caps::properties::MAX_FAULT_REPORTS;
use crate::ffi::object_data;
use crate::object::program::BoundProgram;
use base::swept_map::SweptMap;
use parking_lot::Mutex;
use std::fmt::Write;
use std::sync::{Arc, Weak};

/// Largest number of loops that a report names.
const MAX_LOOPS: usize = 8;

/// Cause of a device loss. The number is `vendorFaultCode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A command ran longer than `GRUS_SHADER_TIMEOUT_MS`.
    Timeout = 1,
    /// There is no memory for a sparse resource, or for the samples of a render pass.
    Memory = 2,
    /// Code could not be made after its pipeline's creation.
    NoCode = 3,
    /// The driver panicked.
    Panic = 4,
    /// Shaders of ray tracing are nested too deeply.
    Nesting = 5,
}

impl Cause {
    /// Returns the message's identifier.
    pub fn id(self) -> &'static str {
        match self {
            Cause::Timeout => "GRUS-shader-timeout",
            Cause::NoCode => "GRUS-internal",
            Cause::Memory | Cause::Panic | Cause::Nesting => "GRUS-device-lost",
        }
    }
}

/// A report about one running pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultReport {
    /// Description of the pipeline, stage and loops.
    pub description: String,
    /// Handle of the pipeline; 0 if none was running.
    pub pipeline: u64,
}

/// The reason why the device was lost.
#[derive(Debug)]
pub struct Fault {
    /// Cause.
    pub cause: Cause,
    /// Message that the application received.
    pub message: String,
    /// Reports, at least one.
    pub reports: Vec<FaultReport>,
}

/// Collects the facts for fault reports.
#[derive(Default)]
pub struct Faults {
    is_enabled: bool,
    /// Programs by their numbers.
    programs: Mutex<SweptMap<u64, Weak<BoundProgram>, 64>>,
    state: Mutex<FaultState>,
}

#[derive(Default)]
struct FaultState {
    fault: Option<Arc<Fault>>,
    /// Number of reports that vkGetDeviceFaultReportsKHR has returned.
    taken: usize,
}

impl Faults {
    /// Makes an empty collection; without `is_enabled`, nothing is recorded.
    pub fn new(is_enabled: bool) -> Faults {
        Faults { is_enabled, ..Faults::default() }
    }

    /// Notes a program that may cause a loss later.
    pub fn register(&self, program: &Arc<BoundProgram>) {
        if !self.is_enabled {
            return;
        }
        self.programs.lock().insert(program.number(), Arc::downgrade(program));
    }

    /// Records that the device is lost while these pipelines run. Only the first loss counts.
    pub fn record(&self, cause: Cause, message: &str, pipelines: &[u64]) {
        if !self.is_enabled {
            return;
        }
        let mut reports = Vec::new();
        for &handle in pipelines.iter().filter(|&&handle| handle != 0) {
            let program = self.programs.lock().get(&handle).and_then(Weak::upgrade);
            describe(handle, program.as_deref(), cause, &mut reports);
        }
        reports.truncate(MAX_FAULT_REPORTS as usize);
        if reports.is_empty() {
            reports.push(FaultReport { description: message.to_owned(), pipeline: 0 });
        }
        let fault = Arc::new(Fault { cause, message: message.to_owned(), reports });
        self.state.lock().fault.get_or_insert(fault);
    }

    /// Returns why the device was lost; `None` while it is not.
    pub fn fault(&self) -> Option<Arc<Fault>> {
        self.state.lock().fault.clone()
    }

    /// Returns the number of reports that have not been taken.
    pub fn pending(&self) -> usize {
        let state = self.state.lock();
        state.fault.as_ref().map_or(0, |fault| fault.reports.len() - state.taken)
    }

    /// Takes up to `most` reports; returns the fault and the range of their indices.
    pub fn take(&self, most: usize) -> Option<(Arc<Fault>, std::ops::Range<usize>)> {
        let mut state = self.state.lock();
        let fault = state.fault.clone()?;
        let from = state.taken;
        state.taken = fault.reports.len().min(from + most);
        Some((fault, from..state.taken))
    }
}

/// Adds a report for each stage that may be the cause.
fn describe(handle: u64, program: Option<&BoundProgram>, cause: Cause, out: &mut Vec<FaultReport>) {
    let name = program.map_or_else(|| object_data::name(handle), BoundProgram::name);
    let code = program.map_or(&[][..], |program| program.stages().code());
    // Only a loop can run for long; a shader without one was slow because of the driver's loops
    // over its invocations.
    let loops = cause == Cause::Timeout && code.iter().any(|code| code.stage().info.has_loops);
    let before = out.len();
    for code in code.iter().filter(|code| !loops || code.stage().info.has_loops) {
        let request = code.request();
        let mut description = format!("{name}: {:?} stage, entry point \"{}\"", request.stage, request.entry);
        let headers = if loops { jit::spirv::loop_headers(&request.words) } else { Vec::new() };
        for (i, id) in headers.iter().take(MAX_LOOPS).enumerate() {
            let before = if i == 0 { ", in a loop of its module: %" } else { ", %" };
            let _ = write!(description, "{before}{id}");
        }
        if headers.len() > MAX_LOOPS {
            let _ = write!(description, " or {} others", headers.len() - MAX_LOOPS);
        }
        out.push(FaultReport { description, pipeline: handle });
    }
    if out.len() == before {
        out.push(FaultReport { description: name, pipeline: handle });
    }
}

//! Why a device was lost, for who asks (VK_EXT_device_fault, VK_KHR_device_fault): what happened, and which pipelines were at work, in which of
//! their stages, at which loops of their SPIR-V.
//!
//! There are no addresses to tell: generated code cannot trap, and what lies outside of all memory is read as 0 and written nowhere. What is
//! left are work that takes too long, memory that the system does not give, and mistakes of the driver's own. A pipeline is found by its handle, which is
//! all that executing it says; so who wants to ask later has each one noted when it is created.

use crate::caps::properties::MAX_FAULT_REPORTS;
use crate::ffi::{handle, known};
use crate::object::pipeline::Pipeline;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Weak};

/// Loops that a report names.
const MAX_LOOPS: usize = 8;

/// What a device is lost by. The number is `vendorFaultCode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A command ran longer than `GRUS_SHADER_TIMEOUT_MS`.
    Timeout = 1,
    /// There is no memory for a sparse resource, or for the samples of a render pass.
    Memory = 2,
    /// Code could not be made after its pipeline's creation.
    NoCode = 3,
    /// A panic.
    Panic = 4,
}

impl Cause {
    /// The message's id.
    pub fn id(self) -> &'static str {
        match self {
            Cause::Timeout => "GRUS-shader-timeout",
            Cause::NoCode => "GRUS-internal",
            Cause::Memory | Cause::Panic => "GRUS-device-lost",
        }
    }
}

/// What is told about one of those that were at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Which pipeline, stage and loops.
    pub description: String,
    /// The pipeline's handle; 0: none was at work.
    pub pipeline: u64,
}

/// Why the device was lost.
#[derive(Debug)]
pub struct Fault {
    /// What happened.
    pub cause: Cause,
    /// The message that the application was given.
    pub message: String,
    /// At least one.
    pub reports: Vec<Report>,
}

/// See the module.
#[derive(Default)]
pub struct Faults {
    wanted: bool,
    pipelines: Mutex<HashMap<u64, Weak<Pipeline>>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    fault: Option<Arc<Fault>>,
    /// Reports that vkGetDeviceFaultReportsKHR has given away.
    taken: usize,
}

impl Faults {
    /// `wanted`: somebody may ask.
    pub fn new(wanted: bool) -> Faults {
        Faults { wanted, ..Faults::default() }
    }

    /// A pipeline that may be to blame some day.
    pub fn note(&self, pipeline: &Arc<Pipeline>) {
        if !self.wanted {
            return;
        }
        let mut pipelines = self.pipelines.lock();
        // Those that are gone go now and then.
        if pipelines.len() >= 64 && pipelines.len().is_power_of_two() {
            pipelines.retain(|_, pipeline| pipeline.strong_count() > 0);
        }
        pipelines.insert(handle::raw(pipeline), Arc::downgrade(pipeline));
    }

    /// The device is lost while these pipelines are at work. The first loss counts.
    pub fn keep(&self, cause: Cause, message: &str, pipelines: &[u64]) {
        if !self.wanted {
            return;
        }
        let mut reports = Vec::new();
        for &handle in pipelines.iter().filter(|&&handle| handle != 0) {
            let pipeline = self.pipelines.lock().get(&handle).and_then(Weak::upgrade);
            describe(handle, pipeline.as_deref(), cause, &mut reports);
        }
        reports.truncate(MAX_FAULT_REPORTS as usize);
        if reports.is_empty() {
            reports.push(Report { description: message.to_owned(), pipeline: 0 });
        }
        let fault = Arc::new(Fault { cause, message: message.to_owned(), reports });
        self.state.lock().fault.get_or_insert(fault);
    }

    /// Why the device was lost; `None` while it is not.
    pub fn fault(&self) -> Option<Arc<Fault>> {
        self.state.lock().fault.clone()
    }

    /// The number of reports that nobody has taken.
    pub fn pending(&self) -> usize {
        let state = self.state.lock();
        state.fault.as_ref().map_or(0, |fault| fault.reports.len() - state.taken)
    }

    /// Takes up to so many of them: the fault, and the range of their numbers.
    pub fn take(&self, most: usize) -> Option<(Arc<Fault>, std::ops::Range<usize>)> {
        let mut state = self.state.lock();
        let fault = state.fault.clone()?;
        let from = state.taken;
        state.taken = fault.reports.len().min(from + most);
        Some((fault, from..state.taken))
    }
}

/// A report for each stage that may be to blame.
fn describe(handle: u64, pipeline: Option<&Pipeline>, cause: Cause, out: &mut Vec<Report>) {
    let name = known::name(handle);
    let code = pipeline.map_or(&[][..], Pipeline::code);
    // Only a loop runs for long; where there is none it is the driver's, over what the stages ask for.
    let loops = cause == Cause::Timeout && code.iter().any(|code| code.stage().facts.has_loops);
    let before = out.len();
    for code in code.iter().filter(|code| !loops || code.stage().facts.has_loops) {
        let request = code.request();
        let mut description = format!("pipeline {name}: {:?} stage, entry point \"{}\"", request.stage, request.entry);
        let headers = if loops { jit::spirv::loop_headers(&request.words) } else { Vec::new() };
        for (i, id) in headers.iter().take(MAX_LOOPS).enumerate() {
            let before = if i == 0 { ", in a loop of its module: %" } else { ", %" };
            let _ = write!(description, "{before}{id}");
        }
        if headers.len() > MAX_LOOPS {
            let _ = write!(description, " or {} others", headers.len() - MAX_LOOPS);
        }
        out.push(Report { description, pipeline: handle });
    }
    if out.len() == before {
        out.push(Report { description: format!("pipeline {name}"), pipeline: handle });
    }
}

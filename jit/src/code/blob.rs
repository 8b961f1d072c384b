//! Compiled stages as bytes for pipeline caches, which hold the code and the facts about it; and
//! loaded code.
//!
//! A blob comes from outside, because an application stores pipeline cache data where it likes.
//! Nothing in it is therefore trusted. Length, a 128-bit checksum over everything, the build that
//! made it, and the CPU features of its code must match before a field is read.
//!
//! The checksum guards against damage, not against forgery. Data that may come from elsewhere is
//! authenticated before it gets here (the icd's pipeline caches do that).

use super::bytes::CodeBytes;
use super::memory::ExecutableCode;
use super::serialize::{Serialize, read_bytes, write_bytes};
use crate::tier::Tier;
use base::abi::{self, BatchHeader, ShaderContext, StageFn};
use base::shader::{ShaderInfo, StageCode};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// Identifies the release; the structs that code takes offsets from have a version of their own
/// ([`abi::VERSION`]).
const BUILD: &str = concat!("grus-jit ", env!("CARGO_PKG_VERSION"));
const CHECKSUM: usize = 16;

/// A compiled stage, as it is stored. Its code may already be in executable memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeBlob {
    /// Properties of the stage. They are identical for all code of the stage, so that one piece of
    /// code may replace another, even between two calls for the same workgroup.
    pub info: ShaderInfo,
    /// Machine code, with the entry at offset 0.
    pub code: CodeBytes,
    /// Number of bytes of stack that the code takes; [`super::call`] provides them.
    pub frame: u32,
    /// Number of bytes of scratch memory that a batch needs, which is identical for all code of a
    /// stage.
    pub scratch: u32,
    /// The tier that made the code.
    pub tier: Tier,
    /// CPU features that emission was allowed to use, one bit each.
    pub cpu_features: u64,
}

impl CodeBlob {
    /// Copies the code into executable memory, unless it is there; returns `None` if there is no
    /// memory.
    pub fn load(&self) -> Option<LoadedCode> {
        let memory = self.code.place()?;
        // SAFETY: `code` starts with a function of type `StageFn`: `emit` has made it, or
        // `from_bytes` has verified by checksum and build that it is unchanged since then.
        let entry = unsafe { core::mem::transmute::<*const u8, StageFn>(memory.address()) };
        let CodeBlob { frame, scratch, tier, cpu_features, .. } = *self;
        Some(LoadedCode { memory, entry, frame, scratch, tier, cpu_features })
    }

    /// Returns the blob of loaded code, which shares its memory.
    pub fn from_loaded(info: ShaderInfo, code: &LoadedCode) -> CodeBlob {
        let LoadedCode { frame, scratch, tier, cpu_features, .. } = *code;
        CodeBlob { info, code: CodeBytes::Placed(code.memory.clone()), frame, scratch, tier, cpu_features }
    }

    /// Returns the stored form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let CodeBlob { info, code, frame, scratch, tier, cpu_features } = self;
        let mut to = vec![0; CHECKSUM];
        write_bytes(BUILD.as_bytes(), &mut to);
        abi::VERSION.write(&mut to);
        cpu_features.write(&mut to);
        info.write(&mut to);
        (*tier as u32).write(&mut to);
        frame.write(&mut to);
        scratch.write(&mut to);
        write_bytes(code, &mut to);
        let sum = xxh3_128(&to[CHECKSUM..]);
        to[..CHECKSUM].copy_from_slice(&sum.to_le_bytes());
        to
    }

    /// Reads the stored form. Returns `None` if it is damaged, of another build, or its code may
    /// use CPU features that are not in `cpu_features`.
    pub fn from_bytes(bytes: &[u8], cpu_features: u64) -> Option<CodeBlob> {
        let (sum, mut from) = bytes.split_at_checked(CHECKSUM)?;
        if xxh3_128(from).to_le_bytes() != sum {
            return None;
        }
        let from = &mut from;
        if read_bytes(from)? != BUILD.as_bytes() || u64::read(from)? != abi::VERSION {
            return None;
        }
        let used = u64::read(from)?;
        if used & !cpu_features != 0 {
            return None;
        }
        let info = ShaderInfo::read(from)?;
        let tier = Tier::from_number(u32::read(from)?)?;
        let frame = u32::read(from)?;
        let scratch = u32::read(from)?;
        let code = read_bytes(from)?.to_vec().into();
        Some(CodeBlob { info, code, frame, scratch, tier, cpu_features: used })
    }
}

/// Code in executable memory.
#[derive(Debug)]
pub struct LoadedCode {
    memory: Arc<ExecutableCode>,
    entry: StageFn,
    frame: u32,
    scratch: u32,
    tier: Tier,
    cpu_features: u64,
}

impl LoadedCode {
    /// Returns the function, which is valid as long as this value lives.
    pub fn entry(&self) -> StageFn {
        self.entry
    }

    /// Returns the number of bytes of stack that the code takes.
    pub fn frame(&self) -> u32 {
        self.frame
    }

    /// Returns the tier that made the code.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Returns the number of bytes of scratch memory that a batch needs.
    pub fn scratch(&self) -> u32 {
        self.scratch
    }
}

impl StageCode for LoadedCode {
    unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader) {
        // SAFETY: the requirements of `StageFn` hold, as the `# Safety` section of `StageCode::run`
        // demands; `self.frame` is the frame of this code.
        unsafe { super::call(self.entry, self.frame, context, batch) }
    }

    fn scratch_bytes(&self) -> usize {
        self.scratch as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::shader::{
        BuiltinSlot, Capture, Captured, Domain, FragmentInfo, FrameInfo, Interpolation, MeshInfo, MeshPrimitive,
        OutputPlacement, Slot, SlotKind, SlotType, StageInterface, StageSpecificInfo, SuspendReason, SuspensionPoint,
        TaskInfo, TessellationControlInfo, TessellationInfo, WorkgroupInfo,
    };

    fn blob(stage_info: StageSpecificInfo) -> CodeBlob {
        let slot = |kind| Slot { kind, ty: SlotType::Uint, interpolation: Interpolation::Flat };
        let user = slot(SlotKind::User { location: 3, component: 2, index: 1 });
        let outputs = [BuiltinSlot::FragDepth, BuiltinSlot::SampleMask, BuiltinSlot::ClipDistance(5)];
        let outputs = outputs.map(|b| slot(SlotKind::Builtin(b))).to_vec();
        let captured = Captured { buffer: 2, offset: 12, slot: 1, words: 2 };
        let capture = Capture { strides: [0, 0, 32, 8], streams: [0, 1, 2, 3], outputs: vec![captured; 2] };
        let reason = SuspendReason::ExecuteCallable;
        let point = SuspensionPoint { reason, operands: 2, results: 1, is_last: true };
        let info = ShaderInfo {
            stage_info,
            lanes: 8,
            interface: Arc::new(StageInterface {
                inputs: vec![user],
                outputs,
                placements: vec![OutputPlacement { offset: 4, stride: 8 }],
            }),
            capture: Some(Arc::new(capture)),
            side_effects: true,
            has_loops: true,
            draw_parameters: true,
            frame: Some(Arc::new(FrameInfo { words: 7, inputs: 2, queries: 6, points: vec![point] })),
        };
        CodeBlob {
            info,
            code: vec![0xc3; 100].into(),
            frame: 9_400_000,
            scratch: 1024,
            tier: Tier::Full,
            cpu_features: 0b101,
        }
    }

    fn fragment() -> CodeBlob {
        blob(StageSpecificInfo::Fragment(FragmentInfo { kills: true, writes_stencil: true, ..FragmentInfo::default() }))
    }

    #[test]
    fn round_trip() {
        let workgroup = WorkgroupInfo { local_size: [4, 5, 6], shared_bytes: 77, reserved_bytes: 16 };
        let modes = TessellationInfo { domain: Some(Domain::Quads), vertices: 3, ..TessellationInfo::default() };
        let patches = [
            StageSpecificInfo::TessellationControl(TessellationControlInfo { patch: workgroup, modes }),
            StageSpecificInfo::TessellationEvaluation(modes),
            StageSpecificInfo::Task(TaskInfo { group: workgroup, payload_bytes: 9 }),
            StageSpecificInfo::Mesh(MeshInfo {
                group: workgroup,
                output: MeshPrimitive::Lines,
                max_vertices: 7,
                ..MeshInfo::default()
            }),
        ];
        let others = [fragment(), blob(StageSpecificInfo::Vertex), blob(StageSpecificInfo::Compute(workgroup))];
        for blob in patches.map(blob).into_iter().chain(others) {
            let bytes = blob.to_bytes();
            assert_eq!(CodeBlob::from_bytes(&bytes, 0b111), Some(blob));
            assert_eq!(CodeBlob::from_bytes(&bytes, 0b011), None, "code for a CPU with more features");
        }
    }

    #[test]
    fn another_version_is_refused() {
        let mut bytes = fragment().to_bytes();
        let version = abi::VERSION.to_le_bytes();
        let at = bytes.windows(8).position(|w| w == version).expect("the version is stored");
        bytes[at] ^= 1;
        let sum = xxh3_128(&bytes[CHECKSUM..]);
        bytes[..CHECKSUM].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(CodeBlob::from_bytes(&bytes, u64::MAX), None);
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_refused() {
        let bytes = fragment().to_bytes();
        for len in 0..bytes.len() {
            assert_eq!(CodeBlob::from_bytes(&bytes[..len], u64::MAX), None);
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(CodeBlob::from_bytes(&damaged, u64::MAX), None, "bit {bit}");
        }
    }
}

//! Compiled stages as bytes, for pipeline caches: the code and every fact of [`CompiledStage`]; and code that is loaded.
//!
//! A blob comes back from outside (an application stores pipeline cache data where it likes), so nothing in it is
//! believed: length and a 128-bit checksum over everything, the build that made it, and the CPU features its code uses must match before
//! a single field is read. The checksum guards against damage, not against who can forge it: what may come from elsewhere is authenticated
//! before it gets here (the icd's pipeline caches do).

use super::memory::ExecutableCode;
use crate::tier::Tier;
use base::abi::{BatchHeader, ShaderContext, StageFn};
use base::shader::{
    BuiltinSlot, CompiledStage, Interpolation, Slot, SlotKind, SlotType, Stage, StageCode, StageFlags, StageInterface,
};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// Changes with every release and with the layout of the structs that code takes offsets from.
const BUILD: &str = concat!("grus-jit ", env!("CARGO_PKG_VERSION"), " abi 6");
const CHECKSUM: usize = 16;

/// A compiled stage without its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeBlob {
    /// Machine code; entry at offset 0.
    pub code: Vec<u8>,
    /// Bytes of stack that the code takes; 0 without code. Who runs it has as many ([`super::call`]).
    pub frame: u32,
    /// How it was made.
    pub tier: Tier,
    /// Bits of CPU features that emission was allowed to use.
    pub cpu_features: u64,
    /// Facts.
    pub stage: Stage,
    /// Lanes.
    pub lanes: u32,
    /// Slots.
    pub interface: Arc<StageInterface>,
    /// Facts.
    pub flags: StageFlags,
    /// Compute.
    pub local_size: [u32; 3],
    /// Compute.
    pub shared_bytes: u32,
    /// Compute.
    pub zero_shared: bool,
    /// See [`CompiledStage::scratch_bytes`].
    pub scratch_bytes: u32,
    /// See [`CompiledStage::has_barriers`].
    pub has_barriers: bool,
    /// Has loops of its own: the quick tier's code is then much slower than the full tier's, because it keeps nothing in registers
    /// from block to block.
    pub has_loops: bool,
}

impl CodeBlob {
    /// Puts the code into executable memory; `None` when there is none.
    pub fn load(&self) -> Option<LoadedCode> {
        let memory = ExecutableCode::new(&self.code)?;
        // SAFETY: the bytes are a function of this type by construction (`emit`), or checked to be what `emit` made.
        let entry = unsafe { core::mem::transmute::<*const u8, StageFn>(memory.address()) };
        Some(LoadedCode { memory, entry, frame: self.frame })
    }

    /// The stage that these facts describe, with its code, wherever that comes from.
    pub fn stage(&self, code: Arc<dyn StageCode>) -> CompiledStage {
        CompiledStage {
            stage: self.stage,
            lanes: self.lanes,
            interface: self.interface.clone(),
            flags: self.flags,
            local_size: self.local_size,
            shared_bytes: self.shared_bytes,
            zero_shared: self.zero_shared,
            scratch_bytes: self.scratch_bytes,
            has_barriers: self.has_barriers,
            code,
        }
    }

    /// The same facts about other code.
    pub fn with_code(&self, code: &LoadedCode, tier: Tier) -> CodeBlob {
        CodeBlob { code: code.bytes().to_vec(), frame: code.frame, tier, ..self.without_code() }
    }

    /// The facts alone.
    pub fn without_code(&self) -> CodeBlob {
        CodeBlob { code: Vec::new(), frame: 0, tier: Tier::FIRST, interface: self.interface.clone(), ..*self }
    }

    /// All but code, its frame and tier are the same: one may run instead of the other, even from one call to the next of a workgroup.
    pub fn same_facts(&self, other: &CodeBlob) -> bool {
        self.without_code() == other.without_code()
    }

    /// The stored form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer(vec![0; CHECKSUM]);
        w.bytes(BUILD.as_bytes());
        w.u64(self.cpu_features);
        w.u32(match self.stage {
            Stage::Vertex => 0,
            Stage::Fragment => 1,
            Stage::Compute => 2,
        });
        w.u32(self.lanes);
        for slots in [&self.interface.inputs, &self.interface.outputs] {
            w.u32(slots.len() as u32);
            slots.iter().for_each(|slot| w.slot(slot));
        }
        w.u32(flag_bits(&self.flags));
        self.local_size.iter().for_each(|&n| w.u32(n));
        w.u32(self.shared_bytes);
        w.u32(self.tier as u32);
        let bits = [self.zero_shared, self.has_barriers, self.has_loops];
        w.u32(bits.iter().enumerate().fold(0, |word, (i, &bit)| word | u32::from(bit) << i));
        w.u32(self.scratch_bytes);
        w.u32(self.frame);
        w.bytes(&self.code);
        let sum = xxh3_128(&w.0[CHECKSUM..]);
        w.0[..CHECKSUM].copy_from_slice(&sum.to_le_bytes());
        w.0
    }

    /// Reads the stored form; `None` when it is damaged, of another build, or its code may use CPU features that are not
    /// in `cpu_features`.
    pub fn from_bytes(bytes: &[u8], cpu_features: u64) -> Option<CodeBlob> {
        let (sum, body) = bytes.split_at_checked(CHECKSUM)?;
        if xxh3_128(body).to_le_bytes() != sum {
            return None;
        }
        let mut r = Reader(body);
        if r.bytes()? != BUILD.as_bytes() {
            return None;
        }
        let used = r.u64()?;
        if used & !cpu_features != 0 {
            return None;
        }
        let stage = *[Stage::Vertex, Stage::Fragment, Stage::Compute].get(r.u32()? as usize)?;
        let lanes = r.u32()?;
        let mut slots = || -> Option<Vec<Slot>> { (0..r.u32()?).map(|_| r.slot()).collect() };
        let interface = Arc::new(StageInterface { inputs: slots()?, outputs: slots()? });
        let flags = flags_of(r.u32()?);
        let local_size = [r.u32()?, r.u32()?, r.u32()?];
        let shared_bytes = r.u32()?;
        let tier = Tier::numbered(r.u32()?)?;
        let bits = r.u32()?;
        let scratch_bytes = r.u32()?;
        let frame = r.u32()?;
        let code = r.bytes()?.to_vec();
        Some(CodeBlob {
            code,
            frame,
            tier,
            cpu_features: used,
            stage,
            lanes,
            interface,
            flags,
            local_size,
            shared_bytes,
            zero_shared: bits & 1 != 0,
            scratch_bytes,
            has_barriers: bits & 2 != 0,
            has_loops: bits & 4 != 0,
        })
    }
}

/// Code in executable memory.
#[derive(Debug)]
pub struct LoadedCode {
    memory: ExecutableCode,
    entry: StageFn,
    frame: u32,
}

impl LoadedCode {
    /// The function, as long as this value lives.
    pub fn entry(&self) -> StageFn {
        self.entry
    }

    /// Bytes of stack that it takes.
    pub fn frame(&self) -> u32 {
        self.frame
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }
}

impl StageCode for LoadedCode {
    unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader) {
        // SAFETY: the caller's promise; the frame is the code's.
        unsafe { super::call(self.entry, self.frame, context, batch) }
    }
}

/// The flags in a fixed order: the one list that writing and reading share.
fn flag_fields(flags: &mut StageFlags) -> [&mut bool; 11] {
    [
        &mut flags.side_effects,
        &mut flags.kills,
        &mut flags.early_fragment_tests,
        &mut flags.writes_depth,
        &mut flags.depth_greater,
        &mut flags.depth_less,
        &mut flags.writes_stencil,
        &mut flags.writes_sample_mask,
        &mut flags.sample_shading,
        &mut flags.reads_input_attachments,
        &mut flags.post_depth_coverage,
    ]
}

fn flag_bits(flags: &StageFlags) -> u32 {
    let mut copy = *flags;
    flag_fields(&mut copy).iter().enumerate().fold(0, |bits, (i, flag)| bits | u32::from(**flag) << i)
}

fn flags_of(bits: u32) -> StageFlags {
    let mut flags = StageFlags::default();
    flag_fields(&mut flags).into_iter().enumerate().for_each(|(i, flag)| *flag = bits >> i & 1 != 0);
    flags
}

struct Writer(Vec<u8>);

impl Writer {
    fn u32(&mut self, v: u32) {
        self.0.extend(v.to_le_bytes());
    }
    fn u64(&mut self, v: u64) {
        self.0.extend(v.to_le_bytes());
    }
    fn bytes(&mut self, bytes: &[u8]) {
        self.u32(bytes.len() as u32);
        self.0.extend(bytes);
    }
    fn slot(&mut self, slot: &Slot) {
        let (tag, a, b, c) = match slot.kind {
            SlotKind::User { location, component, index } => (0, location, u32::from(component), u32::from(index)),
            SlotKind::Builtin(builtin) => {
                let (number, index) = builtin_number(builtin);
                (1, number, u32::from(index), 0)
            }
        };
        let ty = SLOT_TYPES.iter().position(|&t| t == slot.ty).unwrap_or(0) as u32;
        let interpolation = INTERPOLATIONS.iter().position(|&i| i == slot.interpolation).unwrap_or(0) as u32;
        [tag, a, b, c, ty, interpolation].into_iter().for_each(|v| self.u32(v));
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn u32(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*word))
    }
    fn u64(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }
    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()? as usize;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }
    fn slot(&mut self) -> Option<Slot> {
        let [tag, a, b, c, ty, interpolation] =
            [self.u32()?, self.u32()?, self.u32()?, self.u32()?, self.u32()?, self.u32()?];
        let kind = if tag == 0 {
            SlotKind::User { location: a, component: b as u8, index: c as u8 }
        } else {
            SlotKind::Builtin(builtin_of(a, b as u8)?)
        };
        let ty = *SLOT_TYPES.get(ty as usize)?;
        let interpolation = *INTERPOLATIONS.get(interpolation as usize)?;
        Some(Slot { kind, ty, interpolation })
    }
}

const SLOT_TYPES: [SlotType; 3] = [SlotType::Float, SlotType::Sint, SlotType::Uint];
const INTERPOLATIONS: [Interpolation; 3] = [Interpolation::Smooth, Interpolation::Linear, Interpolation::Flat];
/// Built-ins with their index at 0, by number.
const BUILTINS: [BuiltinSlot; 9] = [
    BuiltinSlot::Position(0),
    BuiltinSlot::PointSize,
    BuiltinSlot::ClipDistance(0),
    BuiltinSlot::CullDistance(0),
    BuiltinSlot::Layer,
    BuiltinSlot::ViewportIndex,
    BuiltinSlot::FragDepth,
    BuiltinSlot::FragStencilRef,
    BuiltinSlot::SampleMask,
];

fn builtin_number(builtin: BuiltinSlot) -> (u32, u8) {
    let (base, index) = match builtin {
        BuiltinSlot::Position(i) => (BuiltinSlot::Position(0), i),
        BuiltinSlot::ClipDistance(i) => (BuiltinSlot::ClipDistance(0), i),
        BuiltinSlot::CullDistance(i) => (BuiltinSlot::CullDistance(0), i),
        other => (other, 0),
    };
    (BUILTINS.iter().position(|&b| b == base).unwrap_or(0) as u32, index)
}

fn builtin_of(number: u32, index: u8) -> Option<BuiltinSlot> {
    Some(match *BUILTINS.get(number as usize)? {
        BuiltinSlot::Position(_) => BuiltinSlot::Position(index),
        BuiltinSlot::ClipDistance(_) => BuiltinSlot::ClipDistance(index),
        BuiltinSlot::CullDistance(_) => BuiltinSlot::CullDistance(index),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob() -> CodeBlob {
        let slot = |kind| Slot { kind, ty: SlotType::Uint, interpolation: Interpolation::Flat };
        let user = slot(SlotKind::User { location: 3, component: 2, index: 1 });
        let outputs = BUILTINS.map(|b| slot(SlotKind::Builtin(b))).into_iter();
        let clip = slot(SlotKind::Builtin(BuiltinSlot::ClipDistance(5)));
        let flags = StageFlags { side_effects: true, writes_stencil: true, ..StageFlags::default() };
        CodeBlob {
            code: vec![0xc3; 100],
            frame: 9_400_000,
            tier: Tier::Full,
            cpu_features: 0b101,
            stage: Stage::Fragment,
            lanes: 8,
            interface: Arc::new(StageInterface { inputs: vec![user], outputs: outputs.chain([clip]).collect() }),
            flags,
            local_size: [4, 5, 6],
            shared_bytes: 77,
            zero_shared: true,
            scratch_bytes: 1024,
            has_barriers: true,
            has_loops: true,
        }
    }

    #[test]
    fn round_trip() {
        let blob = blob();
        let bytes = blob.to_bytes();
        assert_eq!(CodeBlob::from_bytes(&bytes, 0b111), Some(blob));
        assert_eq!(CodeBlob::from_bytes(&bytes, 0b011), None, "code for a CPU with more features");
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_refused() {
        let bytes = blob().to_bytes();
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

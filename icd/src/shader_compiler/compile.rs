//! Compilation of a stage request: from SPIR-V words to a prepared stage without code, and to code.

#![forbid(unsafe_code)]

use crate::caps::limits::LIMITS;
use base::limits::MAX_TASK_PAYLOAD;
use base::shader::{PipelineLayoutInfo, Stage, StageSpecificInfo};
use jit::spirv::{Accept, Module, Specialization};
use jit::{CompileRequest, Prepared, PreparedIr};
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, LazyLock, OnceLock};
use xxhash_rust::xxh3::Xxh3;

/// Key of a stage: everything on which its code depends, compared in full. A forged shader cannot
/// be taken for another one by a hash collision, because the hash only distributes keys in tables,
/// with a seed of the process.
#[derive(Clone, Debug)]
pub struct StageKey {
    /// SPIR-V words; shared with the request, as keys live as long as their stages.
    words: Arc<[u32]>,
    /// Everything else on which the code depends, as bytes.
    parameters: Arc<[u8]>,
    hash: u64,
}

impl StageKey {
    /// Creates a key of [`StageKey::words`] and [`StageKey::parameters`].
    pub fn new(words: Arc<[u32]>, parameters: Arc<[u8]>) -> StageKey {
        static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
        let mut hasher = Xxh3::with_seed(*SEED);
        (&words, &parameters).hash(&mut hasher);
        StageKey { words, parameters, hash: hasher.finish() }
    }

    /// Returns the SPIR-V words.
    pub fn words(&self) -> &Arc<[u32]> {
        &self.words
    }

    /// Returns everything but the SPIR-V; the bytes are the same in every process.
    pub fn parameters(&self) -> &[u8] {
        &self.parameters
    }
}

impl PartialEq for StageKey {
    fn eq(&self, other: &StageKey) -> bool {
        self.hash == other.hash
            && self.parameters == other.parameters
            && (Arc::ptr_eq(&self.words, &other.words) || self.words == other.words)
    }
}
impl Eq for StageKey {}
impl Hash for StageKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}
impl Ord for StageKey {
    fn cmp(&self, other: &StageKey) -> Ordering {
        (&self.words, &self.parameters).cmp(&(&other.words, &other.parameters))
    }
}
impl PartialOrd for StageKey {
    fn partial_cmp(&self, other: &StageKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A stage to compile. The request owns its data, because a better tier may compile the stage again
/// later.
#[derive(Clone)]
pub struct StageRequest {
    /// SPIR-V words of the module.
    pub words: Arc<[u32]>,
    /// Stage of the module.
    pub stage: Stage,
    /// Name of the entry point.
    pub entry: String,
    /// Values of specialization constants, and the size of subgroups.
    pub specialization: Specialization,
    /// Locations of its descriptors.
    pub layout: Arc<PipelineLayoutInfo>,
    /// True if the module is known to be valid SPIR-V, so that it is not validated again.
    pub is_validated: bool,
}

impl StageRequest {
    /// Returns the key of the stage. Implementations of [`Hash`] write lengths before contents, so
    /// that different requests give different bytes.
    pub fn key(&self) -> StageKey {
        let mut bytes = Vec::with_capacity(512);
        let mut hasher = ForwardingHasher::into_bytes(&mut bytes);
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        (self.stage, &self.entry, &self.specialization, &self.layout).hash(&mut hasher);
        StageKey::new(self.words.clone(), bytes.into())
    }

    /// Prepares the stage of the parsed module: does everything but code generation.
    ///
    /// # Errors
    /// The errors are for the application, as those of [`jit::prepare`]. More workgroup memory than
    /// the device reports is invalid.
    pub fn prepare(&self, module: &Module) -> Result<Prepared, jit::error::Error> {
        let prepared = jit::prepare(&self.compile_request(module))?;
        check_limits(&prepared.info().stage_info).map_err(jit::error::Error::invalid)?;
        Ok(prepared)
    }

    /// Prepares a stage that has been prepared before, and passes its IR to `f`
    /// ([`jit::with_prepared_ir`]).
    ///
    /// # Errors
    /// The errors of `f`; otherwise internal ones only, and `Memory` without a stack.
    pub fn with_prepared_ir<T>(
        &self,
        f: impl FnOnce(&PreparedIr) -> Result<T, jit::error::Error>,
    ) -> Result<T, jit::error::Error> {
        jit::with_prepared_ir(&self.compile_request(&Module::parse_again(self.words.clone())?), f)
    }

    fn compile_request<'a>(&'a self, module: &'a Module) -> CompileRequest<'a> {
        CompileRequest {
            module,
            stage: self.stage,
            entry: &self.entry,
            specialization: &self.specialization,
            layout: &self.layout,
            accept: accepted(),
        }
    }
}

/// Checks that a stage's memory is within the limits that the device reports.
fn check_limits(stage_info: &StageSpecificInfo) -> Result<(), String> {
    // The shared memory of a tessellation stage consists of its outputs, which have limits of their
    // own.
    let shared = stage_info.workgroup().filter(|_| stage_info.tessellation().is_none());
    let shared = shared.map_or(0, |info| info.shared_bytes - info.reserved_bytes);
    let most = LIMITS.max_compute_shared_memory_size;
    if shared > most {
        return Err(format!("{shared} bytes of workgroup memory, maxComputeSharedMemorySize is {most}"));
    }
    let task = stage_info.task().map(|info| info.payload_bytes);
    let bytes = task.or_else(|| stage_info.mesh().map(|info| info.payload_bytes)).unwrap_or(0);
    if bytes > MAX_TASK_PAYLOAD {
        return Err(format!("{bytes} bytes of payload, maxTaskPayloadSize is {MAX_TASK_PAYLOAD}"));
    }
    Ok(())
}

/// A [`Hasher`](std::hash::Hasher) that passes on the hashed bytes.
pub struct ForwardingHasher<T>(pub T, pub fn(&mut T, &[u8]));

impl<'a> ForwardingHasher<&'a mut Vec<u8>> {
    /// Creates a hasher that appends the bytes to a list.
    pub fn into_bytes(bytes: &'a mut Vec<u8>) -> ForwardingHasher<&'a mut Vec<u8>> {
        ForwardingHasher(bytes, |all, part| all.extend_from_slice(part))
    }
}

impl<T> Hasher for ForwardingHasher<T> {
    fn write(&mut self, bytes: &[u8]) {
        (self.1)(&mut self.0, bytes);
    }
    /// This value is never used.
    fn finish(&self) -> u64 {
        0
    }
}

/// Returns the capabilities and extensions that modules may declare: exactly those that the device
/// advertises.
fn accepted() -> &'static Accept {
    static ACCEPT: OnceLock<Accept> = OnceLock::new();
    ACCEPT.get_or_init(|| Accept {
        capabilities: crate::caps::spirv::capabilities(),
        extensions: Some(crate::caps::spirv::extensions()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_requests_have_different_keys() {
        let request = |words: &[u32], entry: &str, entries: &[(u32, &[u8])]| StageRequest {
            words: words.into(),
            stage: Stage::Compute,
            entry: entry.into(),
            specialization: Specialization {
                entries: entries.iter().map(|(id, data)| (*id, data.to_vec())).collect(),
                ..Specialization::default()
            },
            layout: Arc::default(),
            is_validated: false,
        };
        let all = || {
            [
                request(&[1, 2], "main", &[]),
                request(&[1], "main", &[]),
                request(&[1, 2], "mai", &[]),
                request(&[1, 2], "main", &[(1, &[2, 3])]),
                request(&[1, 2], "main", &[(1, &[2]), (3, &[])]),
                request(&[1, 2], "main", &[(1, &[]), (2, &[3])]),
                StageRequest { stage: Stage::Fragment, ..request(&[1, 2], "main", &[]) },
                StageRequest {
                    specialization: Specialization { subgroup_size: 16, ..Specialization::default() },
                    ..request(&[1, 2], "main", &[])
                },
            ]
            .map(|r| r.key())
        };
        let keys: std::collections::HashSet<StageKey> = all().into();
        assert_eq!(keys.len(), 8);
        assert!(all().iter().all(|key| keys.contains(key)));
        let bytes: std::collections::HashSet<_> = keys.iter().map(|key| (key.words(), key.parameters())).collect();
        assert_eq!(bytes.len(), 8);
    }

    /// Makes keys with equal hashes, as a collision would.
    #[test]
    fn equal_hashes_do_not_make_keys_equal() {
        let a = StageKey::new([1, 2, 3].into(), [4].into());
        let b = StageKey { words: [1, 2, 4].into(), ..a.clone() };
        let c = StageKey { parameters: [5].into(), ..a.clone() };
        assert!(a != b && a != c && a < b && a < c);
        assert_eq!(a, StageKey::new([1, 2, 3].into(), [4].into()));
        assert_eq!(std::collections::HashSet::from([a, b, c]).len(), 3);
    }
}

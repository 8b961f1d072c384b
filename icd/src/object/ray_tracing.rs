//! Shaders and shader groups of ray tracing pipelines, and the handles of groups.
//!
//! A handle is a hash of the stages of its group, or what the application has captured of another
//! one. Device memory with handles may contain anything. A handle means what the table of the
//! pipeline says, and one that the table does not have is the handle of nothing.

#![forbid(unsafe_code)]

use super::pipeline_layout::{LayoutConflict, PipelineLayout};
use crate::shader_compiler::identifier::Identifier;
use crate::shader_compiler::tiered::TieredCode;
use base::shader::Stage;
use execution::trace::{GROUP_HANDLE_BYTES, ShaderGroup, TraceProgram};
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Handle of a shader group, in the table of a pipeline and in shader binding tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupHandle(pub [u8; GROUP_HANDLE_BYTES as usize]);

impl GroupHandle {
    /// Handle of no group.
    pub const NULL: GroupHandle = GroupHandle([0; GROUP_HANDLE_BYTES as usize]);
}

/// A group of a pipeline that is being created.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupCreateInfo {
    /// Numbers of the group's stages in the create info.
    pub group: ShaderGroup,
    /// Handle that the group had when it was captured.
    pub captured: Option<GroupHandle>,
}

/// A group with its handle.
#[derive(Clone, Copy, Debug)]
pub struct GroupWithHandle {
    /// Numbers of the group's shaders.
    pub group: ShaderGroup,
    /// The handle.
    pub handle: GroupHandle,
}

/// Shaders and groups of a library or of a pipeline.
pub struct RayTracingPart {
    /// Code of the shaders, by their numbers.
    pub code: Vec<Arc<TieredCode>>,
    /// The groups.
    pub groups: Vec<GroupWithHandle>,
    /// Layout by which the shaders find descriptors.
    pub layout: Arc<PipelineLayout>,
}

/// Reason why shaders and groups are not a pipeline. All of them are the application's errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupError {
    /// A group has a stage that does not exist, or that is not of the kind that is required there.
    Stage {
        /// Number of the group.
        group: usize,
        /// Number of the stage.
        stage: u32,
    },
    /// The layouts of the pipeline and of a library contradict each other.
    Layout(LayoutConflict),
    /// There are more shaders or groups than numbers.
    Count,
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupError::Stage { group, stage } => {
                write!(f, "group {group} has stage {stage}, which does not exist or is of another kind")
            }
            GroupError::Layout(conflict) => write!(f, "the layouts of the pipeline and a library differ: {conflict}"),
            GroupError::Count => f.write_str("there are too many shaders or groups"),
        }
    }
}

/// A member of a group, and the stages that may be there.
struct Member {
    get: fn(&ShaderGroup) -> Option<u32>,
    set: fn(&mut ShaderGroup, Option<u32>),
    stages: &'static [Stage],
}

const MEMBERS: [Member; 4] = [
    Member {
        get: |group| group.general,
        set: |group, shader| group.general = shader,
        stages: &[Stage::RayGeneration, Stage::Miss, Stage::Callable],
    },
    Member {
        get: |group| group.closest_hit,
        set: |group, shader| group.closest_hit = shader,
        stages: &[Stage::ClosestHit],
    },
    Member { get: |group| group.any_hit, set: |group, shader| group.any_hit = shader, stages: &[Stage::AnyHit] },
    Member {
        get: |group| group.intersection,
        set: |group, shader| group.intersection = shader,
        stages: &[Stage::Intersection],
    },
];

impl RayTracingPart {
    /// Makes the part of a create info's own shaders, without groups.
    pub fn new(code: Vec<Arc<TieredCode>>, layout: Arc<PipelineLayout>) -> RayTracingPart {
        RayTracingPart { groups: Vec::new(), code, layout }
    }

    /// Inserts the groups of a create info before those of its libraries. The groups may name
    /// shaders of the libraries, whose indices follow those of the create info's own stages.
    ///
    /// # Errors
    /// A group names a stage that it cannot have.
    pub fn add_groups(&mut self, groups: &[GroupCreateInfo]) -> Result<(), GroupError> {
        let digests: Vec<Identifier> = self.code.iter().map(|code| digest(code)).collect();
        let stages: Vec<Stage> = self.code.iter().map(|code| code.request().stage).collect();
        let own = (0..).zip(groups).map(|(number, info)| {
            check(number, &info.group, &stages)?;
            let handle = info.captured.unwrap_or_else(|| handle_of(&info.group, &digests));
            Ok(GroupWithHandle { group: info.group, handle })
        });
        let own = own.collect::<Result<Vec<_>, _>>()?;
        self.groups.splice(..0, own);
        Ok(())
    }

    /// Adds the shaders and groups of a library, which keep their handles.
    ///
    /// # Errors
    /// The layouts contradict each other, or there are too many shaders.
    pub fn add(&mut self, library: &RayTracingPart) -> Result<(), GroupError> {
        self.layout = self.layout.union(&library.layout).map_err(GroupError::Layout)?;
        let first = self.code.len();
        if u32::try_from(first + library.code.len()).is_err() {
            return Err(GroupError::Count);
        }
        self.code.extend(library.code.iter().cloned());
        for GroupWithHandle { group, handle } in &library.groups {
            let mut group = *group;
            for Member { get, set, .. } in &MEMBERS {
                let moved = get(&group).map(|shader| shader + first as u32);
                set(&mut group, moved);
            }
            self.groups.push(GroupWithHandle { group, handle: *handle });
        }
        Ok(())
    }

    /// Returns the number of bytes of stack that a shader of a group takes: those of its frame.
    pub fn stack_size(&self, group: usize, shader: impl Fn(&ShaderGroup) -> Option<u32>) -> Option<u64> {
        let shader = shader(&self.groups.get(group)?.group)?;
        let stage = self.code.get(shader as usize)?.stage();
        let words = stage.info.frame.as_ref().map_or(0, |frame| frame.words);
        Some(u64::from(words.max(1)) * size_of::<u32>() as u64)
    }
}

fn check(group: usize, members: &ShaderGroup, stages: &[Stage]) -> Result<(), GroupError> {
    for member in &MEMBERS {
        let Some(stage) = (member.get)(members) else { continue };
        if !stages.get(stage as usize).is_some_and(|kind| member.stages.contains(kind)) {
            return Err(GroupError::Stage { group, stage });
        }
    }
    Ok(())
}

/// Returns the hash of all on which a stage's code depends.
fn digest(code: &TieredCode) -> Identifier {
    let key = code.key();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&Identifier::of(key.words()).0).update(key.parameters());
    Identifier(*hasher.finalize().as_bytes())
}

/// Returns the handle of a group of stages with these hashes.
fn handle_of(group: &ShaderGroup, digests: &[Identifier]) -> GroupHandle {
    let mut hasher = blake3::Hasher::new();
    for member in &MEMBERS {
        let digest = (member.get)(group).and_then(|shader| digests.get(shader as usize));
        hasher.update(&[u8::from(digest.is_some())]).update(&digest.map_or([0; Identifier::SIZE], |digest| digest.0));
    }
    GroupHandle(*hasher.finalize().as_bytes())
}

/// Hasher of handles, of which the first bytes are as random as any.
#[derive(Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_ne_bytes(*first);
        }
    }
    fn write_usize(&mut self, _: usize) {}
    fn finish(&self) -> u64 {
        self.0
    }
}

/// The shaders and groups of a pipeline that launches execute.
pub struct RayTracingStages {
    program: TraceProgram,
    numbers: HashMap<[u8; GROUP_HANDLE_BYTES as usize], u32, BuildHasherDefault<FirstBytes>>,
    flags: u32,
}

impl RayTracingStages {
    /// Makes the executable form of a complete pipeline; `flags` are `RayFlags` that it adds to
    /// those of each ray.
    pub fn new(part: &RayTracingPart, flags: u32) -> RayTracingStages {
        let mut numbers = HashMap::default();
        // Groups with equal handles have equal stages, unless the application gives both a captured
        // handle.
        for (number, group) in (0..).zip(&part.groups) {
            if group.handle != GroupHandle::NULL {
                numbers.entry(group.handle.0).or_insert(number);
            }
        }
        let shaders = part.code.iter().map(TieredCode::stage).collect();
        let groups = part.groups.iter().map(|group| group.group).collect();
        RayTracingStages { program: TraceProgram { shaders, groups }, numbers, flags }
    }

    /// Returns the shaders and groups.
    pub fn program(&self) -> &TraceProgram {
        &self.program
    }

    /// Returns the number of the group that has a handle.
    pub fn group(&self, handle: &GroupHandle) -> Option<u32> {
        self.numbers.get(&handle.0).copied()
    }

    /// Returns `RayFlags` that apply to all rays.
    pub fn flags(&self) -> u32 {
        self.flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(handles: &[GroupHandle]) -> RayTracingStages {
        let group = |handle: &GroupHandle| GroupWithHandle { group: ShaderGroup::default(), handle: *handle };
        let groups = handles.iter().map(group).collect();
        RayTracingStages::new(&RayTracingPart { code: Vec::new(), groups, layout: Arc::default() }, 0)
    }

    #[test]
    fn only_handles_of_the_table_are_found() {
        let handle = |first, last| GroupHandle(std::array::from_fn(|i| if i < 31 { first } else { last }));
        let stages = table(&[handle(1, 1), GroupHandle::NULL, handle(1, 2), handle(1, 1)]);
        let found = [handle(1, 1), handle(1, 2), handle(1, 3), GroupHandle::NULL].map(|handle| stages.group(&handle));
        assert_eq!(found, [Some(0), Some(2), None, None]);
    }

    #[test]
    fn groups_have_existing_stages_of_the_right_kind() {
        let stages = [Stage::RayGeneration, Stage::ClosestHit];
        let general = |shader| ShaderGroup { general: Some(shader), ..ShaderGroup::default() };
        assert_eq!(check(0, &general(0), &stages), Ok(()));
        assert_eq!(check(0, &ShaderGroup { closest_hit: Some(1), ..ShaderGroup::default() }, &stages), Ok(()));
        for shader in [1, 2, u32::MAX] {
            assert_eq!(check(7, &general(shader), &stages), Err(GroupError::Stage { group: 7, stage: shader }));
        }
    }

    #[test]
    fn handles_follow_from_stages() {
        let digests = [1, 2].map(|byte| Identifier([byte; Identifier::SIZE]));
        let handle =
            |general, closest_hit| handle_of(&ShaderGroup { general, closest_hit, ..ShaderGroup::default() }, &digests);
        let handles = [(Some(0), None), (Some(1), None), (None, Some(0)), (None, None)].map(|(a, b)| handle(a, b));
        for (i, a) in handles.iter().enumerate() {
            assert_ne!(*a, GroupHandle::NULL);
            assert!(handles[..i].iter().all(|b| a != b));
        }
        assert_eq!(handles[0], handle(Some(0), None));
    }
}

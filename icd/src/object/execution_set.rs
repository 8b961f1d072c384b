//! Execution sets (`VkIndirectExecutionSetEXT`): programs, or shader objects, that sequences of
//! generated commands choose by number.
//!
//! A set may change while commands execute that use other numbers of it, so a lock guards it. It is
//! held only while members are looked up or one is replaced.

use super::bind_point::BindPoint;
use super::program::BoundProgram;
use super::shader_object::ShaderObject;
use crate::caps::limits::{MAX_INDIRECT_PIPELINES, MAX_INDIRECT_SHADERS};
use crate::caps::newer::IndirectExecutionSetEXT;
use crate::fallible;
use ash::vk;
use parking_lot::RwLock;
use std::fmt;
use std::sync::Arc;

/// Object behind a `VkIndirectExecutionSetEXT`.
pub struct ExecutionSet {
    bind_point: BindPoint,
    members: Members,
}

/// Members of a set by number; `None` for numbers that were not set.
type List<T> = RwLock<Box<[Option<Arc<T>>]>>;

enum Members {
    Programs(List<BoundProgram>),
    Shaders(List<ShaderObject>),
}

impl crate::ffi::handle::Object for ExecutionSet {
    type Handle = IndirectExecutionSetEXT;
}

/// Reason why a set does not take a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateError {
    /// The set has no member of this number.
    Number {
        /// The number.
        number: u32,
        /// Number of members of the set.
        count: usize,
    },
    /// The member belongs to another bind point than the set.
    BindPoint(BindPoint),
    /// The set has members of the other kind: pipelines, or shader objects.
    Kind,
}

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UpdateError::Number { number, count } => {
                write!(f, "index {number} is not one of the {count} of the execution set")
            }
            UpdateError::BindPoint(point) => write!(f, "the execution set is not of the bind point {point:?}"),
            UpdateError::Kind => f.write_str("the execution set has members of another kind"),
        }
    }
}

/// Makes a list of `count` members, the first of which are given.
fn list<T>(initial: impl Iterator<Item = Arc<T>>, count: u32, limit: u32) -> Result<List<T>, vk::Result> {
    if count > limit {
        return Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY);
    }
    let mut members = fallible::filled(None, count.max(1) as usize)?;
    members.iter_mut().zip(initial).for_each(|(member, initial)| *member = Some(initial));
    Ok(RwLock::new(members.into()))
}

/// Replaces a member.
fn replace<T>(list: &List<T>, number: u32, member: Arc<T>) -> Result<(), UpdateError> {
    let mut members = list.write();
    let count = members.len();
    let slot = members.get_mut(number as usize).ok_or(UpdateError::Number { number, count })?;
    let old = slot.replace(member);
    // The last reference to a member is dropped without the lock.
    drop(members);
    drop(old);
    Ok(())
}

impl ExecutionSet {
    /// Makes a set of `count` programs, the first of which is `initial`.
    ///
    /// # Errors
    /// `count` is more than a set can have, or there is not enough memory.
    pub fn of_programs(initial: Arc<BoundProgram>, count: u32) -> Result<ExecutionSet, vk::Result> {
        let bind_point = initial.stages().bind_point();
        let programs = list(std::iter::once(initial), count, MAX_INDIRECT_PIPELINES)?;
        Ok(ExecutionSet { bind_point, members: Members::Programs(programs) })
    }

    /// Makes a set of `count` shader objects, the first of which are given.
    ///
    /// # Errors
    /// `count` is more than a set can have, or there is not enough memory.
    pub fn of_shaders(
        initial: impl Iterator<Item = Arc<ShaderObject>>,
        count: u32,
    ) -> Result<ExecutionSet, vk::Result> {
        let mut bind_point = BindPoint::Graphics;
        let initial = initial.inspect(|shader| bind_point = BindPoint::of_stage(shader.stage()));
        let shaders = list(initial, count, MAX_INDIRECT_SHADERS)?;
        Ok(ExecutionSet { bind_point, members: Members::Shaders(shaders) })
    }

    /// Returns the bind point of the members.
    pub fn bind_point(&self) -> BindPoint {
        self.bind_point
    }

    /// Replaces a program.
    ///
    /// # Errors
    /// There is no such number, or the program is of another kind.
    pub fn update_program(&self, number: u32, program: Arc<BoundProgram>) -> Result<(), UpdateError> {
        let Members::Programs(programs) = &self.members else { return Err(UpdateError::Kind) };
        if program.stages().bind_point() != self.bind_point {
            return Err(UpdateError::BindPoint(program.stages().bind_point()));
        }
        replace(programs, number, program)
    }

    /// Replaces a shader object.
    ///
    /// # Errors
    /// There is no such number, or the shader object is of another kind.
    pub fn update_shader(&self, number: u32, shader: Arc<ShaderObject>) -> Result<(), UpdateError> {
        let Members::Shaders(shaders) = &self.members else { return Err(UpdateError::Kind) };
        if BindPoint::of_stage(shader.stage()) != self.bind_point {
            return Err(UpdateError::BindPoint(BindPoint::of_stage(shader.stage())));
        }
        replace(shaders, number, shader)
    }

    /// Returns a program by its number, if the set has one there.
    pub fn program(&self, number: u32) -> Option<Arc<BoundProgram>> {
        let Members::Programs(programs) = &self.members else { return None };
        programs.read().get(number as usize).cloned().flatten()
    }

    /// Returns a shader object by its number, if the set has one there.
    pub fn shader(&self, number: u32) -> Option<Arc<ShaderObject>> {
        let Members::Shaders(shaders) = &self.members else { return None };
        shaders.read().get(number as usize).cloned().flatten()
    }
}

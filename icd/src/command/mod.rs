//! Commands are recorded as a typed list that owns references to the objects that they use, and are
//! executed later by [`execute`]. The memory of buffers and images is released in spite of these
//! references (`object::memory`).
//!
//! Recording copies everything out of the application's memory. A command has the name of its
//! `vkCmd…`; commands with a second form (`2`, indirect) share a variant.

#[cfg(test)]
mod aliasing_tests;
pub mod bounds;
pub mod cooperative_vector;
pub mod execute;
mod implicit;
mod list;
pub mod structures;
pub mod transfer;

pub use list::*;

use crate::caps::properties::MAX_NESTING;
use crate::fallible;
use crate::ffi::allocator::Callbacks;
use crate::ffi::handle::objects;
use crate::object::bind_point::BindPoint;
use crate::object::descriptor_pool::DescriptorSet;
use ash::vk;
use parking_lot::Mutex;
use std::sync::Arc;

/// A recorded command buffer.
#[derive(Default)]
pub struct CommandList {
    /// Commands in the order of recording.
    pub commands: Vec<Command>,
    /// Nesting depth of the lists that this list executes; 0 if it executes none.
    pub depth: u32,
}

/// State of a command buffer while it is recorded.
#[derive(Default)]
pub struct Recorder {
    list: CommandList,
    error: Option<vk::Result>,
    /// Descriptor sets pushed so far, by bind point and set number.
    pushed: Vec<(BindPoint, u32, Arc<DescriptorSet>)>,
}

impl Recorder {
    /// Appends a command; after an error nothing more is recorded.
    pub fn push(&mut self, command: Command) {
        if self.error.is_none()
            && let Err(error) = fallible::push(&mut self.list.commands, command)
        {
            self.fail(error);
        }
    }

    /// Records `vkCmdExecuteCommands`. Lists that lie deeper than [`MAX_NESTING`] allows are
    /// refused, because executing and freeing them takes a stack frame each.
    pub fn execute(&mut self, lists: Vec<Arc<CommandList>>) {
        let below = lists.iter().map(|list| list.depth + 1).max().unwrap_or(0);
        // The first level is that of the primary command buffer.
        if below > MAX_NESTING + 1 {
            return self.fail(vk::Result::ERROR_OUT_OF_HOST_MEMORY);
        }
        self.list.depth = self.list.depth.max(below);
        self.push(Command::ExecuteCommands(lists));
    }

    /// Notes that recording failed; vkEndCommandBuffer returns the first error.
    pub fn fail(&mut self, error: vk::Result) {
        self.error.get_or_insert(error);
    }

    /// Creates a push descriptor set that begins with the descriptors pushed before; `None` if
    /// there is not enough memory.
    pub fn push_set(
        &mut self,
        bind_point: BindPoint,
        number: u32,
        layout: &Arc<crate::object::descriptor::SetLayout>,
    ) -> Result<Arc<DescriptorSet>, vk::Result> {
        let set = Arc::new(DescriptorSet::new(layout.clone(), 0)?);
        let slot = self.pushed.iter_mut().find(|(point, n, _)| *point == bind_point && *n == number);
        match slot {
            Some((_, _, old)) => {
                if Arc::ptr_eq(&old.layout, layout) {
                    set.copy_all(old);
                }
                *old = set.clone();
            }
            None => self.pushed.push((bind_point, number, set.clone())),
        }
        Ok(set)
    }
}

/// Object behind a `VkCommandBuffer`.
#[derive(Default)]
pub struct CommandBuffer {
    /// Recorder of the commands that are being recorded.
    pub recorder: Mutex<Recorder>,
    recorded: Mutex<Arc<CommandList>>,
    /// True for a secondary command buffer, which other command buffers execute.
    pub is_secondary: bool,
}

impl CommandBuffer {
    /// Creates a command buffer in the initial state.
    pub fn new(is_secondary: bool) -> CommandBuffer {
        CommandBuffer { is_secondary, ..CommandBuffer::default() }
    }

    /// Implements `vkBeginCommandBuffer` and `vkResetCommandBuffer`: discards all recorded
    /// commands.
    pub fn reset(&self) {
        let old = (std::mem::take(&mut *self.recorder.lock()), std::mem::take(&mut *self.recorded.lock()));
        drop(old);
    }

    /// Implements `vkEndCommandBuffer`.
    pub fn end(&self) -> Result<(), vk::Result> {
        let Recorder { list, error, .. } = std::mem::take(&mut *self.recorder.lock());
        match error {
            Some(error) => Err(error),
            None => {
                *self.recorded.lock() = Arc::new(list);
                Ok(())
            }
        }
    }

    /// Returns the recorded list.
    pub fn list(&self) -> Arc<CommandList> {
        self.recorded.lock().clone()
    }
}

/// Object behind a `VkCommandPool`.
pub struct CommandPool {
    /// Handles of the command buffers that were allocated from the pool.
    pub buffers: Mutex<Vec<vk::CommandBuffer>>,
    /// Allocator of their handles.
    pub memory: Option<Callbacks>,
}

impl CommandPool {
    /// Creates a pool without command buffers.
    pub fn new(memory: Option<Callbacks>) -> CommandPool {
        CommandPool { buffers: Mutex::default(), memory }
    }
}

objects! { DispatchableObject: CommandBuffer => CommandBuffer }
objects! { Object: CommandPool => CommandPool }

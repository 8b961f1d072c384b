//! Allocations whose size the application determines, with failures as Vulkan's errors. Small
//! allocations use the reserve of [`base::alloc`]; code that makes an object for the application
//! calls [`check`] (mostly in `entry::handle::create`).

#![forbid(unsafe_code)]

use ash::vk;
use base::alloc::{self, OutOfMemory};
use std::collections::VecDeque;
use std::sync::Arc;

/// The driver's allocator, described in [`base::alloc`].
#[global_allocator]
static ALLOCATOR: alloc::Allocator = alloc::Allocator;

fn out_of_memory(_: impl Into<OutOfMemory>) -> vk::Result {
    vk::Result::ERROR_OUT_OF_HOST_MEMORY
}

/// Returns VK_ERROR_OUT_OF_HOST_MEMORY if the system refused an allocation during this call of the
/// application.
pub fn check() -> Result<(), vk::Result> {
    alloc::check().map_err(out_of_memory)
}

/// Returns the error that a caught panic means to the application.
pub fn error_of(payload: &(dyn std::any::Any + Send)) -> vk::Result {
    if payload.is::<OutOfMemory>() { vk::Result::ERROR_OUT_OF_HOST_MEMORY } else { vk::Result::ERROR_UNKNOWN }
}

/// Returns the message of a caught panic.
pub fn text_of(payload: &(dyn std::any::Any + Send)) -> &str {
    if payload.is::<OutOfMemory>() {
        return "out of host memory";
    }
    let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
    text.unwrap_or("unknown")
}

/// Checks that the system has this number of bytes, for code that cannot report a failed allocation
/// itself.
pub fn available(bytes: usize) -> Result<(), vk::Result> {
    alloc::available(bytes).map_err(out_of_memory)
}

/// Appends a value to a list.
pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<(), vk::Result> {
    alloc::push(list, value).map_err(out_of_memory)
}

/// Reserves capacity for `more` further elements.
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), vk::Result> {
    alloc::reserve(list, more).map_err(out_of_memory)
}

/// Reserves capacity in a queue for `more` further elements.
pub fn reserve_queue<T>(list: &mut VecDeque<T>, more: usize) -> Result<(), vk::Result> {
    alloc::without_reserve(|| list.try_reserve(more)).map_err(out_of_memory)
}

/// Copies a slice.
pub fn to_vec<T: Clone>(slice: &[T]) -> Result<Vec<T>, vk::Result> {
    alloc::to_vec(slice).map_err(out_of_memory)
}

/// Copies a slice to shared memory.
pub fn shared<T: Copy>(slice: &[T]) -> Result<Arc<[T]>, vk::Result> {
    available(size_of_val(slice))?;
    Ok(slice.into())
}

/// Collects the values of an iterator of known length.
pub fn collect<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, vk::Result> {
    alloc::collect(values).map_err(out_of_memory)
}

/// Collects the values of an iterator of known length whose items may be errors.
pub fn try_collect<T>(values: impl ExactSizeIterator<Item = Result<T, vk::Result>>) -> Result<Vec<T>, vk::Result> {
    let mut list = Vec::new();
    reserve(&mut list, values.len())?;
    for value in values {
        list.push(value?);
    }
    Ok(list)
}

/// Returns a list of `count` copies of a value.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, vk::Result> {
    alloc::filled(value, count).map_err(out_of_memory)
}

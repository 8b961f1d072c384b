//! Allocations that are as large as the application likes, as Vulkan's errors. What is small has the reserve of [`base::alloc`]; who
//! makes an object for the application asks [`check`] (most in `entry::handle::create`).

#![forbid(unsafe_code)]

use ash::vk;
use base::alloc::{self, OutOfMemory};
use std::collections::VecDeque;
use std::sync::Arc;

/// The driver's allocator: see [`base::alloc`].
#[global_allocator]
static ALLOCATOR: alloc::Allocator = alloc::Allocator;

fn out_of_memory(_: impl Into<OutOfMemory>) -> vk::Result {
    vk::Result::ERROR_OUT_OF_HOST_MEMORY
}

/// VK_ERROR_OUT_OF_HOST_MEMORY when the system refused this call of the application something.
pub fn check() -> Result<(), vk::Result> {
    alloc::check().map_err(out_of_memory)
}

/// What a panic that was caught means to the application.
pub fn error_of(payload: &(dyn std::any::Any + Send)) -> vk::Result {
    if payload.is::<OutOfMemory>() { vk::Result::ERROR_OUT_OF_HOST_MEMORY } else { vk::Result::ERROR_UNKNOWN }
}

/// What a panic that was caught says.
pub fn text_of(payload: &(dyn std::any::Any + Send)) -> &str {
    if payload.is::<OutOfMemory>() {
        return "out of host memory";
    }
    let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
    text.unwrap_or("unknown")
}

/// Asks whether the system has this much, for what has no way to fail itself.
pub fn available(bytes: usize) -> Result<(), vk::Result> {
    alloc::available(bytes).map_err(out_of_memory)
}

/// Appends a value.
pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<(), vk::Result> {
    alloc::push(list, value).map_err(out_of_memory)
}

/// Makes room.
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), vk::Result> {
    alloc::reserve(list, more).map_err(out_of_memory)
}

/// Makes room in a queue.
pub fn reserve_queue<T>(list: &mut VecDeque<T>, more: usize) -> Result<(), vk::Result> {
    alloc::optional(|| list.try_reserve(more)).map_err(out_of_memory)
}

/// A copy of a slice.
pub fn to_vec<T: Clone>(slice: &[T]) -> Result<Vec<T>, vk::Result> {
    alloc::to_vec(slice).map_err(out_of_memory)
}

/// A shared copy of a slice.
pub fn shared<T: Copy>(slice: &[T]) -> Result<Arc<[T]>, vk::Result> {
    available(size_of_val(slice))?;
    Ok(slice.into())
}

/// What an iterator gives that knows how much that is.
pub fn collect<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, vk::Result> {
    alloc::collect(values).map_err(out_of_memory)
}

/// As [`collect`], of what can fail itself.
pub fn try_collect<T>(values: impl ExactSizeIterator<Item = Result<T, vk::Result>>) -> Result<Vec<T>, vk::Result> {
    let mut list = Vec::new();
    reserve(&mut list, values.len())?;
    for value in values {
        list.push(value?);
    }
    Ok(list)
}

/// `count` times a value.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, vk::Result> {
    alloc::filled(value, count).map_err(out_of_memory)
}

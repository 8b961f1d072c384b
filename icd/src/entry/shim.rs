//! What every entry point has around it: the driver's floating-point environment, catching panics, slices from pointers, pNext chains, the
//! two-call idiom.

use super::handle;
use crate::command::CommandBuffer;
use crate::fallible;
use ash::vk;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Value an entry point returns when its body panicked: an internal error must not unwind into the application.
pub trait OnPanic {
    /// The value, for what the panic means.
    fn on_panic(error: vk::Result) -> Self;
}
macro_rules! on_panic {
    ($($ty:ty => $value:expr),*) => { $(impl OnPanic for $ty { fn on_panic(_: vk::Result) -> Self { $value } })* };
}
on_panic!(() => (), u32 => 0, u64 => 0, vk::PFN_vkVoidFunction => None);
impl OnPanic for vk::Result {
    fn on_panic(error: vk::Result) -> Self {
        error
    }
}

/// Runs the body of an entry point that returns its value directly, in the driver's floating-point environment.
pub fn guard<R: OnPanic>(body: impl FnOnce() -> R) -> R {
    let _environment = base::fp::Environment::enter();
    base::alloc::begin();
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| R::on_panic(panicked(payload)))
}

/// Once for all entry points, whose code is to stay small.
#[cold]
#[inline(never)]
fn panicked(payload: Box<dyn Any + Send>) -> vk::Result {
    fallible::error_of(&*payload)
}

/// Runs the body of an entry point that returns a `VkResult`.
pub fn guard_result(body: impl FnOnce() -> Result<(), vk::Result>) -> vk::Result {
    guard(|| match body() {
        Ok(()) => vk::Result::SUCCESS,
        Err(result) => result,
    })
}

/// Runs the body of a command that is recorded: an error is the command buffer's, for vkEndCommandBuffer.
///
/// # Safety
/// The handle is live.
pub unsafe fn guard_command(buffer: vk::CommandBuffer, body: impl FnOnce() -> Result<(), vk::Result>) {
    let result = guard_result(|| body().and_then(|()| fallible::check()));
    if result != vk::Result::SUCCESS {
        // SAFETY: the caller's promise.
        unsafe { fail(buffer, result) };
    }
}

/// Leaves an error with the command buffer.
///
/// # Safety
/// The handle is live.
#[cold]
#[inline(never)]
unsafe fn fail(buffer: vk::CommandBuffer, result: vk::Result) {
    // SAFETY: the caller's promise.
    guard(|| unsafe { handle::dispatchable::<CommandBuffer>(buffer) }.recorder.lock().fail(result));
}

/// Defines entry points: `extern "system"` functions whose bodies run under [`guard`]. `-> VkResult` bodies are
/// `Result<(), vk::Result>`; so may be those of recorded commands, which begin with a `vk::CommandBuffer`.
///
/// The bodies are unsafe code resting on one promise, the valid usage of the command (handles are live and of their type, pointers
/// and counts are as the specification says); so they do not repeat it at each dereference.
macro_rules! shims {
    () => {};
    (fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> VkResult $body:block $($rest:tt)*) => {
        #[allow(unused_unsafe, reason = "some bodies need no promise")]
        pub unsafe extern "system" fn $name($($arg: $ty),*) -> ash::vk::Result {
            // SAFETY: the valid usage of the command.
            $crate::entry::shim::guard_result(move || unsafe { $body })
        }
        $crate::entry::shim::shims! { $($rest)* }
    };
    (fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block $($rest:tt)*) => {
        #[allow(unused_unsafe, reason = "some bodies need no promise")]
        pub unsafe extern "system" fn $name($($arg: $ty),*) -> $ret {
            // SAFETY: the valid usage of the command.
            $crate::entry::shim::guard(move || -> $ret { unsafe { $body } })
        }
        $crate::entry::shim::shims! { $($rest)* }
    };
    (fn $name:ident($buffer:ident: vk::CommandBuffer $(, $arg:ident: $ty:ty)* $(,)?) $body:block $($rest:tt)*) => {
        #[allow(unused_unsafe, reason = "some bodies need no promise")]
        pub unsafe extern "system" fn $name($buffer: vk::CommandBuffer $(, $arg: $ty)*) {
            // SAFETY: the valid usage of the command.
            unsafe {
                $crate::entry::shim::guard_command($buffer, move || {
                    $body
                    Ok(())
                });
            }
        }
        $crate::entry::shim::shims! { $($rest)* }
    };
    (fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        #[allow(unused_unsafe, reason = "some bodies need no promise")]
        pub unsafe extern "system" fn $name($($arg: $ty),*) {
            // SAFETY: the valid usage of the command.
            $crate::entry::shim::guard(move || unsafe { $body })
        }
        $crate::entry::shim::shims! { $($rest)* }
    };
}
pub(crate) use shims;

/// A slice from a count and a pointer, empty when either is 0.
///
/// # Safety
/// `pointer` is null or points to `count` values that live for `'a`.
pub unsafe fn slice<'a, T>(pointer: *const T, count: u32) -> &'a [T] {
    if pointer.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(pointer, count as usize) }
}

/// As [`slice`], mutable.
///
/// # Safety
/// As [`slice`], and nobody else uses the memory during `'a`.
pub unsafe fn slice_mut<'a, T>(pointer: *mut T, count: u32) -> &'a mut [T] {
    if pointer.is_null() || count == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(pointer, count as usize) }
}

/// The structure of type `T` in a pNext chain.
///
/// # Safety
/// `p_next` is a valid chain that lives for `'a`.
pub unsafe fn find<'a, T: vk::TaggedStructure>(p_next: *const core::ffi::c_void) -> Option<&'a T> {
    let mut next = p_next.cast::<vk::BaseInStructure>();
    while !next.is_null() {
        // SAFETY: an element of the chain.
        let element = unsafe { &*next };
        if element.s_type == T::STRUCTURE_TYPE {
            // SAFETY: the tag says so.
            return Some(unsafe { &*next.cast::<T>() });
        }
        next = element.p_next;
    }
    None
}

/// As [`find`], mutable.
///
/// # Safety
/// As [`find`], and nobody else uses the structure during `'a`.
pub unsafe fn find_mut<'a, T: vk::TaggedStructure>(p_next: *mut core::ffi::c_void) -> Option<&'a mut T> {
    let mut next = p_next.cast::<vk::BaseOutStructure<'_>>();
    while !next.is_null() {
        // SAFETY: an element of the chain.
        let (s_type, following) = unsafe { ((*next).s_type, (*next).p_next) };
        if s_type == T::STRUCTURE_TYPE {
            // SAFETY: the tag says so.
            return Some(unsafe { &mut *next.cast::<T>() });
        }
        next = following;
    }
    None
}

/// The two-call idiom: without `data` stores the count, with `data` stores what fits and answers VK_INCOMPLETE when not all does.
///
/// # Safety
/// `count` is valid; `data` is null or has room for `*count` values.
pub unsafe fn write_array<T: Clone>(items: &[T], count: *mut u32, data: *mut T) -> Result<(), vk::Result> {
    // SAFETY: the caller's promise.
    unsafe {
        if data.is_null() {
            *count = items.len() as u32;
            return Ok(());
        }
        let fits = items.len().min(*count as usize);
        for (i, item) in items[..fits].iter().enumerate() {
            data.add(i).write(item.clone());
        }
        *count = fits as u32;
        if fits < items.len() { Err(vk::Result::INCOMPLETE) } else { Ok(()) }
    }
}

/// A C string as UTF-8, replacing what is not; `None` for null.
///
/// # Safety
/// `pointer` is null or a nul-terminated string.
pub unsafe fn string(pointer: *const core::ffi::c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    (!pointer.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

//! The frame of every entry point: the driver's floating-point environment, and catching panics.

use crate::fallible;
use ash::vk;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Value that an entry point returns if its body panicked: an internal error must not unwind into
/// the application.
pub trait OnPanic {
    /// Returns the value; `error` is the meaning of the panic.
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

/// Runs the body of an entry point that returns its value directly, in the driver's floating-point
/// environment.
///
/// It is inlined, because a separate function would be on another page, which a program's first
/// calls would have to wait for.
#[inline(always)]
pub fn guard<R: OnPanic>(body: impl FnOnce() -> R) -> R {
    let _environment = base::fp::FpEnvironment::enter();
    base::alloc::begin();
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| R::on_panic(panicked(payload)))
}

/// Handles a panic. There is one copy for all entry points, whose code has to stay small.
#[cold]
#[inline(never)]
fn panicked(payload: Box<dyn Any + Send>) -> vk::Result {
    fallible::error_of(&*payload)
}

/// Runs the body of an entry point that returns a `VkResult`.
#[inline(always)]
pub fn guard_result(body: impl FnOnce() -> Result<(), vk::Result>) -> vk::Result {
    guard(|| match body() {
        Ok(()) => vk::Result::SUCCESS,
        Err(result) => result,
    })
}

/// A handle of an object into which commands are recorded.
pub trait Recording: Copy {
    /// Stores an error in the object.
    ///
    /// # Safety
    /// The handle is live.
    unsafe fn fail(self, error: vk::Result);
}

/// Runs the body of a command that is recorded. An error is stored in the command buffer, for
/// vkEndCommandBuffer.
///
/// # Safety
/// The handle is live.
pub unsafe fn guard_command(buffer: impl Recording, body: impl FnOnce() -> Result<(), vk::Result>) {
    let result = guard_result(|| body().and_then(|()| fallible::check()));
    if result != vk::Result::SUCCESS {
        // SAFETY: the handle is live, as the `# Safety` section demands.
        unsafe { fail(buffer, result) };
    }
}

/// Stores an error, apart from the commands' own code.
///
/// # Safety
/// The handle is live.
#[cold]
#[inline(never)]
unsafe fn fail(buffer: impl Recording, error: vk::Result) {
    // SAFETY: the handle is live, as the `# Safety` section demands.
    guard(|| unsafe { buffer.fail(error) });
}

/// Defines entry points: `extern "system"` functions whose bodies run under [`guard`]. Bodies with
/// `-> VkResult` are `Result<(), vk::Result>`. Bodies of recorded commands, which begin with a
/// `vk::CommandBuffer`, may use `?` likewise.
///
/// The bodies are unsafe code that relies on one requirement, the valid usage of the command:
/// handles are live and of their type, pointers and counts are as the specification says. They
/// therefore do not repeat it at each dereference.
macro_rules! shims {
    () => {};
    ($(#[$attribute:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> VkResult $body:block $($rest:tt)*) => {
        $(#[$attribute])*
        #[allow(unused_unsafe, reason = "some bodies need no promise")]
        pub unsafe extern "system" fn $name($($arg: $ty),*) -> ash::vk::Result {
            // SAFETY: the body relies on the valid usage of the command only.
            $crate::ffi::shim::guard_result(move || unsafe { $body })
        }
        $crate::ffi::shim::shims! { $($rest)* }
    };
    (fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block $($rest:tt)*) => {
        #[allow(unused_unsafe, reason = "some bodies need no promise")]
        pub unsafe extern "system" fn $name($($arg: $ty),*) -> $ret {
            // SAFETY: the body relies on the valid usage of the command only.
            $crate::ffi::shim::guard(move || -> $ret { unsafe { $body } })
        }
        $crate::ffi::shim::shims! { $($rest)* }
    };
    (fn $name:ident($buffer:ident: vk::CommandBuffer $(, $arg:ident: $ty:ty)* $(,)?) $body:block $($rest:tt)*) => {
        #[allow(unused_unsafe, reason = "some bodies need no promise")]
        pub unsafe extern "system" fn $name($buffer: vk::CommandBuffer $(, $arg: $ty)*) {
            // SAFETY: the body relies on the valid usage of the command only, which makes the
            // handle live.
            unsafe {
                $crate::ffi::shim::guard_command($buffer, move || {
                    $body
                    Ok(())
                });
            }
        }
        $crate::ffi::shim::shims! { $($rest)* }
    };
    (fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        #[allow(unused_unsafe, reason = "some bodies need no promise")]
        pub unsafe extern "system" fn $name($($arg: $ty),*) {
            // SAFETY: the body relies on the valid usage of the command only.
            $crate::ffi::shim::guard(move || unsafe { $body })
        }
        $crate::ffi::shim::shims! { $($rest)* }
    };
}
pub(crate) use shims;

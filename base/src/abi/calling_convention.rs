//! The calling convention of generated code, which is the same on every system of an architecture:
//! that of the System V ABI on x86-64, and of the procedure call standard on AArch64.
//!
//! Windows has another convention for C on x86-64 (four arguments in registers, and registers that
//! a function preserves, among them vectors). Functions that generated code calls, and types of
//! functions through which it is called, are therefore written as `extern "code"` inside of these
//! macros. The compiler preserves the registers of the system's convention where both meet.
//!
//! On x86-64, such a function has another type than an `extern "C"` function on every system, so
//! that the compiler finds a mismatch on Linux too.

/// Defines functions that generated code calls: `unsafe extern "code" fn name(arguments) { … }`.
/// Without `extern "code"` a function has the convention of Rust.
#[macro_export]
macro_rules! code_fn {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis unsafe extern "code" fn $name:ident $($rest:tt)*) => {
        #[cfg(target_arch = "x86_64")]
        $crate::code_fn!(@item [$(#[$attribute])* $visibility unsafe extern "sysv64" fn $name] $($rest)*);
        #[cfg(not(target_arch = "x86_64"))]
        $crate::code_fn!(@item [$(#[$attribute])* $visibility unsafe extern "C" fn $name] $($rest)*);
        $crate::code_fn!(@others $($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis unsafe fn $name:ident $($rest:tt)*) => {
        $crate::code_fn!(@item [$(#[$attribute])* $visibility unsafe fn $name] $($rest)*);
        $crate::code_fn!(@others $($rest)*);
    };
    (@item [$($head:tt)*] $body:block $($rest:tt)*) => { $($head)* $body };
    (@item [$($head:tt)*] $next:tt $($rest:tt)*) => { $crate::code_fn!(@item [$($head)* $next] $($rest)*); };
    (@others $body:block $($rest:tt)*) => { $crate::code_fn!($($rest)*); };
    (@others $next:tt $($rest:tt)*) => { $crate::code_fn!(@others $($rest)*); };
}

/// Expands to the type of a function that [`code_fn!`] defines: `unsafe extern "code" fn(types)`.
#[cfg(target_arch = "x86_64")]
#[macro_export]
macro_rules! code_type {
    (unsafe fn $($rest:tt)*) => { unsafe fn $($rest)* };
    (unsafe extern "code" fn $($rest:tt)*) => { unsafe extern "sysv64" fn $($rest)* };
}

/// Expands to the type of a function that [`code_fn!`] defines: `unsafe extern "code" fn(types)`.
#[cfg(not(target_arch = "x86_64"))]
#[macro_export]
macro_rules! code_type {
    (unsafe fn $($rest:tt)*) => { unsafe fn $($rest)* };
    (unsafe extern "code" fn $($rest:tt)*) => { unsafe extern "C" fn $($rest)* };
}

//! The calling convention of generated code, which is the same on every system of an architecture:
//! that of the System V ABI on x86-64, and of the procedure call standard on AArch64.
//!
//! Windows has another convention for C on x86-64 (four arguments in registers, and registers that
//! a function preserves, among them vectors). Functions that generated code calls are therefore
//! written as `unsafe extern "code" fn` below the attribute `#[code_fn]`, and types of functions
//! through which it is called inside of [`code_type!`](crate::code_type). The compiler preserves
//! the registers of the system's convention where both meet.
//!
//! On x86-64, such a function has another type than an `extern "C"` function on every system, so
//! that the compiler finds a mismatch on Linux too.

/// Expands to the type of a function with the attribute `#[code_fn]`, which is written as
/// `unsafe extern "code" fn(types)`.
#[cfg(target_arch = "x86_64")]
#[macro_export]
macro_rules! code_type {
    (unsafe fn $($rest:tt)*) => { unsafe fn $($rest)* };
    (unsafe extern "code" fn $($rest:tt)*) => { unsafe extern "sysv64" fn $($rest)* };
}

/// Expands to the type of a function with the attribute `#[code_fn]`, which is written as
/// `unsafe extern "code" fn(types)`.
#[cfg(not(target_arch = "x86_64"))]
#[macro_export]
macro_rules! code_type {
    (unsafe fn $($rest:tt)*) => { unsafe fn $($rest)* };
    (unsafe extern "code" fn $($rest:tt)*) => { unsafe extern "C" fn $($rest)* };
}

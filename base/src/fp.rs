//! The floating-point environment. Rounding mode, flush-to-zero and unmasked exceptions belong to
//! the thread, so an application's would affect the driver's arithmetic. Exact bits are part of the
//! contract, so every thread and every entry point runs in [`DEFAULT`].

use std::cell::Cell;

/// Environment that Rust assumes: round to nearest even, denormals kept, all exceptions masked, no
/// exception flag raised.
#[cfg(target_arch = "x86_64")]
pub const DEFAULT: Control = 0x1f80;
/// Environment that Rust assumes: round to nearest even, denormals and NaNs kept, nothing trapped.
#[cfg(not(target_arch = "x86_64"))]
pub const DEFAULT: Control = 0;

/// Exception flags among the bits of [`Control`]: arithmetic raises them, and no code reads them.
#[cfg(target_arch = "x86_64")]
pub const FLAGS: Control = 0x3f;
/// No bits, because the exception flags are in a separate register.
#[cfg(not(target_arch = "x86_64"))]
pub const FLAGS: Control = 0;

/// Value of the control and status register MXCSR.
#[cfg(target_arch = "x86_64")]
pub type Control = u32;
/// Value of the control register, which is FPCR on AArch64.
#[cfg(not(target_arch = "x86_64"))]
pub type Control = u64;

thread_local! {
    /// Environment that [`with_caller_environment`] restores: the one that the thread's outermost
    /// [`FpEnvironment`] found, or [`DEFAULT`] without one.
    static CALLER_CONTROL: Cell<Control> = const { Cell::new(DEFAULT) };
}

/// A guard that holds the caller's environment while the driver's is in force; dropping it restores
/// the former, exception flags included.
#[must_use = "the environment lasts as long as this value"]
#[derive(Debug)]
pub struct FpEnvironment {
    caller: Control,
    /// Marker that makes the type not `Send`, because an environment belongs to a thread.
    _not_send: core::marker::PhantomData<*const ()>,
}

impl FpEnvironment {
    /// Puts the driver's environment in force until the value is dropped. (The compiler does not
    /// know about environments: arithmetic that must not move across this call must be in functions
    /// that are not inlined here.)
    #[inline]
    pub fn enter() -> FpEnvironment {
        let caller = control();
        // Most callers differ by flags at most. (Reading takes some nanoseconds, writing next to
        // nothing.)
        if differs(caller) {
            replace(caller);
        }
        FpEnvironment { caller, _not_send: core::marker::PhantomData }
    }
}

/// Returns true if this environment would change a result.
#[inline]
fn differs(control: Control) -> bool {
    (control ^ DEFAULT) & !FLAGS != 0
}

/// Replaces another environment by the driver's.
#[cold]
#[inline(never)]
fn replace(caller: Control) {
    CALLER_CONTROL.set(caller);
    set_control(DEFAULT);
}

impl Drop for FpEnvironment {
    #[inline]
    fn drop(&mut self) {
        if differs(self.caller) {
            restore(self.caller);
        } else {
            // Exception flags that were raised meanwhile are discarded.
            set_control(self.caller);
        }
    }
}

#[cold]
#[inline(never)]
fn restore(caller: Control) {
    CALLER_CONTROL.set(DEFAULT);
    set_control(caller);
}

/// Runs `f` in the environment of this thread's caller, because the application's callbacks are its
/// own code.
pub fn with_caller_environment<R>(f: impl FnOnce() -> R) -> R {
    let callers = CALLER_CONTROL.replace(DEFAULT);
    let _inside = RestoreDefault { control: control(), callers };
    set_control(callers);
    f()
}

/// A guard that restores the driver's environment after [`with_caller_environment`].
struct RestoreDefault {
    control: Control,
    callers: Control,
}

impl Drop for RestoreDefault {
    fn drop(&mut self) {
        set_control(self.control);
        CALLER_CONTROL.set(self.callers);
    }
}

/// Reads the thread's control register.
#[inline]
pub fn control() -> Control {
    #[cfg(target_arch = "x86_64")]
    {
        let mut value: u32 = 0;
        // SAFETY: the instruction stores four bytes to `value`.
        unsafe { core::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
        value
    }
    #[cfg(target_arch = "aarch64")]
    {
        let value: u64;
        // SAFETY: the instruction only reads a register.
        unsafe { core::arch::asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    0
}

/// Writes the thread's control register. Only [`DEFAULT`] may be in force while Rust code computes.
#[inline]
pub fn set_control(value: Control) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction loads four bytes, and every value that [`control`] returned is valid.
    unsafe {
        core::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the instruction writes a register of the thread.
    unsafe {
        core::arch::asm!("msr fpcr, {}", in(reg) value, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = value;
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;

    /// An environment with flush-to-zero, denormals-are-zero and rounding up.
    #[cfg(target_arch = "x86_64")]
    const HOSTILE: Control = 0x1f80 | 0x8040 | 0x4000;
    /// An environment with flush-to-zero of both kinds, and rounding up.
    #[cfg(target_arch = "aarch64")]
    const HOSTILE: Control = 1 << 24 | 1 << 22;

    /// Returns half of the smallest normal number, in a way that the compiler can neither evaluate
    /// nor move across the change of environment.
    #[inline(never)]
    fn halved() -> f32 {
        std::hint::black_box(f32::MIN_POSITIVE) * std::hint::black_box(0.5)
    }

    #[test]
    fn the_caller_environment_is_replaced_inside_and_restored_outside() {
        set_control(HOSTILE);
        assert_eq!(halved(), 0.0, "the hostile environment is one");
        let before = control();
        let inside = {
            let _environment = FpEnvironment::enter();
            // A callback may call the driver again.
            let nested = with_caller_environment(|| {
                let outer = halved();
                let _environment = FpEnvironment::enter();
                (outer, halved(), with_caller_environment(halved))
            });
            (halved(), nested, with_caller_environment(halved), control() & !FLAGS)
        };
        let after = control();
        let without = with_caller_environment(|| control() & !FLAGS);
        set_control(DEFAULT);
        let kept = f32::MIN_POSITIVE / 2.0;
        assert_eq!(inside, (kept, (0.0, kept, 0.0), 0.0, DEFAULT));
        assert_eq!(after, before);
        assert_eq!(without, DEFAULT, "a thread of the driver has no caller");
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn exception_flags_alone_are_restored_unchanged() {
        set_control(DEFAULT | 0x1);
        let inside = {
            let _environment = FpEnvironment::enter();
            (halved() / std::hint::black_box(3.0), control() & !FLAGS, with_caller_environment(|| control() & !FLAGS))
        };
        let after = control();
        set_control(DEFAULT);
        assert_eq!((inside.1, inside.2, after), (DEFAULT, DEFAULT, DEFAULT | 0x1));
    }
}

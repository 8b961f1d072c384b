//! The floating-point environment: rounding mode, flush-to-zero and unmasked exceptions belong to the thread, so an application's would
//! reach the driver's arithmetic. Bits are part of the contract, so every thread and every entry that computes runs in [`DEFAULT`].

/// Round to nearest even, denormals kept, all exceptions masked, no exception flag raised: what Rust assumes.
#[cfg(target_arch = "x86_64")]
pub const DEFAULT: Control = 0x1f80;
#[cfg(not(target_arch = "x86_64"))]
pub const DEFAULT: Control = 0;

/// The control (and status) register: MXCSR on x86-64, FPCR on AArch64.
#[cfg(target_arch = "x86_64")]
pub type Control = u32;
#[cfg(not(target_arch = "x86_64"))]
pub type Control = u64;

/// The caller's environment, kept while the driver's is in place; put back on drop, exception flags included.
#[must_use = "the environment lasts as long as this value"]
#[derive(Debug)]
pub struct Environment {
    caller: Control,
    /// An environment is a thread's.
    _not_send: core::marker::PhantomData<*const ()>,
}

impl Environment {
    /// The driver's environment until the value is dropped. (The compiler does not know of environments: arithmetic that must not move
    /// across this stands in functions that are not inlined here.)
    #[inline]
    pub fn enter() -> Environment {
        let caller = control();
        if caller != DEFAULT {
            set_control(DEFAULT);
        }
        Environment { caller, _not_send: core::marker::PhantomData }
    }

    /// Runs `f` in the caller's environment (its callbacks are its own code).
    pub fn outside<R>(caller: Control, f: impl FnOnce() -> R) -> R {
        let inside = Environment { caller: control(), _not_send: core::marker::PhantomData };
        set_control(caller);
        let result = f();
        drop(inside);
        result
    }
}

impl Drop for Environment {
    #[inline]
    fn drop(&mut self) {
        if control() != self.caller {
            set_control(self.caller);
        }
    }
}

/// Reads the thread's control register.
#[inline]
pub fn control() -> Control {
    #[cfg(target_arch = "x86_64")]
    {
        let mut value: u32 = 0;
        // SAFETY: stores four bytes to `value`.
        unsafe { core::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
        value
    }
    #[cfg(target_arch = "aarch64")]
    {
        let value: u64;
        // SAFETY: reads a register.
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
    // SAFETY: loads four bytes; every value that [`control`] gave is valid.
    unsafe {
        core::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: writes a register of the thread.
    unsafe {
        core::arch::asm!("msr fpcr, {}", in(reg) value, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = value;
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Flush-to-zero, denormals-are-zero, rounding up.
    const HOSTILE: Control = 0x1f80 | 0x8040 | 0x4000;

    /// Half of the smallest normal number, where the compiler can't know it nor move it across the change of environment.
    #[inline(never)]
    fn halved() -> f32 {
        std::hint::black_box(f32::MIN_POSITIVE) * std::hint::black_box(0.5)
    }

    #[test]
    fn the_callers_environment_is_away_inside_and_back_outside() {
        set_control(HOSTILE);
        assert_eq!(halved(), 0.0, "the hostile environment is one");
        let before = control();
        let inside = {
            let _environment = Environment::enter();
            let outside = Environment::outside(HOSTILE, halved);
            (halved(), outside, control() & !0x3f)
        };
        let after = control();
        set_control(DEFAULT);
        assert_eq!(inside, (f32::MIN_POSITIVE / 2.0, 0.0, DEFAULT));
        assert_eq!(after, before);
    }
}

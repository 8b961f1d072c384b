//! Work that is compiled for each processor level ([`base::multiversion!`]).

use crate::level::HostLevel;
use base::host::Host;
use core::marker::PhantomData;

/// Work that is compiled for each processor level.
pub trait Kernel {
    /// The result.
    type Output;
    /// Does the work with the vectors of a level. Implementations are inlined, and so are the
    /// functions that they call, so that all of it is compiled for the level.
    fn run<H: Host>(self) -> Self::Output;
}

base::multiversion! {
    unsafe fn run_variant[K: Kernel] [K](kernel: K, output: &mut Option<K::Output>) {
        *output = Some(kernel.run::<H>());
    }
}

/// Does the work with the vectors of the level.
#[inline(always)]
pub fn run<K: Kernel>(level: HostLevel, kernel: K) -> K::Output {
    let mut output = None;
    // SAFETY: the host has the level, because `HostLevel` names no other.
    unsafe { run_variant::<K>(level.get())(kernel, &mut output) };
    match output {
        Some(output) => output,
        None => unreachable!("every variant sets the output"),
    }
}

/// A way to do work: with a call of the variant of a level, or inside of a kernel.
pub trait Runner {
    /// Does the work.
    fn run<K: Kernel>(&self, kernel: K) -> K::Output;
}

impl Runner for HostLevel {
    #[inline(always)]
    fn run<K: Kernel>(&self, kernel: K) -> K::Output {
        run(*self, kernel)
    }
}

/// Does work inside of a kernel, with the vectors of its level and without a call.
pub struct Inline<H>(PhantomData<H>);

impl<H: Host> Inline<H> {
    /// Returns the way to do work inside of a kernel of the host.
    #[inline(always)]
    pub fn new() -> Inline<H> {
        Inline(PhantomData)
    }
}

impl<H: Host> Runner for Inline<H> {
    #[inline(always)]
    fn run<K: Kernel>(&self, kernel: K) -> K::Output {
        kernel.run::<H>()
    }
}

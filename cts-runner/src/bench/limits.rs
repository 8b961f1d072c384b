//! Measures the limits of the machine: multiply-adds, bytes copied and bytes filled per second,
//! over all CPUs that a child may use.
//!
//! The limits are the denominators of the shares. They are measured with code that any driver could
//! contain. It uses AVX2 and FMA if the CPU has them (the peak of a CPU without them is its peak
//! with SSE), and the standard library's copy and fill.

use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Number of bytes that each thread copies or fills at a time, which exceeds the caches of the
/// known machines.
const BLOCK: usize = 64 << 20;
/// Duration of each measurement.
const SPAN: Duration = Duration::from_millis(200);

/// Limits of the machine, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Number of f32 operations, where a multiply-add counts as two.
    pub flops: f64,
    /// Number of bytes read plus bytes written by a copy.
    pub copy: f64,
    /// Number of bytes written by a fill.
    pub fill: f64,
    /// Number of threads that were used.
    pub threads: usize,
}

impl Limits {
    /// Measures the limits of this machine.
    pub fn measure() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let (flops, _) = run_on_all_threads(threads, || (), |()| fma_block());
        let (copy, fill) = (
            run_on_all_threads(
                threads,
                || (vec![1u8; BLOCK], vec![2u8; BLOCK]),
                |(from, to)| {
                    black_box(&mut *to).copy_from_slice(black_box(&*from));
                    2.0 * BLOCK as f64
                },
            ),
            run_on_all_threads(
                threads,
                || vec![1u8; BLOCK],
                |to| {
                    black_box(&mut *to).fill(black_box(3));
                    BLOCK as f64
                },
            ),
        );
        Self { flops, copy: copy.0, fill: fill.0, threads }
    }

    /// Returns the limits as JSON for the parent.
    pub fn to_json(self) -> Value {
        json!({ "flops": self.flops, "copy": self.copy, "fill": self.fill, "threads": self.threads })
    }

    /// Parses the limits from the JSON of a child.
    pub fn from_json(json: &Value) -> Option<Self> {
        let field = |name: &str| json[name].as_f64();
        let threads = json["threads"].as_u64()? as usize;
        Some(Self { flops: field("flops")?, copy: field("copy")?, fill: field("fill")?, threads })
    }
}

/// Runs `work` on all threads at once for a while. Returns the sum of its results per second, and
/// the longest time of a thread.
fn run_on_all_threads<S>(
    threads: usize,
    make: impl Fn() -> S + Sync,
    work: impl Fn(&mut S) -> f64 + Sync,
) -> (f64, Duration) {
    let barrier = Barrier::new(threads);
    let one = || {
        let mut state = make();
        work(&mut state);
        barrier.wait();
        let (start, mut done) = (Instant::now(), 0.0);
        while start.elapsed() < SPAN {
            done += work(&mut state);
        }
        (done / start.elapsed().as_secs_f64(), start.elapsed())
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        let rates = running.into_iter().map(|t| t.join().unwrap_or_default());
        rates.fold((0.0, Duration::ZERO), |(rate, longest), (r, time)| (rate + r, longest.max(time)))
    })
}

/// Computes multiply-adds on registers and returns the number of operations.
fn fma_block() -> f64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the CPU has AVX2 and FMA.
        return unsafe { x86::fma_block() };
    }
    portable_block()
}

const ROUNDS: usize = 20_000;

/// Computes separate multiplies and adds on 4 lanes, which every 64-bit machine has.
fn portable_block() -> f64 {
    const CHAINS: usize = 8;
    let (a, b) = (black_box([0.999_9f32; 4]), black_box([1e-4f32; 4]));
    let mut sums = [[1.0f32; 4]; CHAINS];
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            for lane in 0..4 {
                sum[lane] = sum[lane] * a[lane] + b[lane];
            }
        }
    }
    black_box(sums);
    (ROUNDS * CHAINS * 4 * 2) as f64
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::ROUNDS;
    use std::arch::x86_64::*;
    use std::hint::black_box;

    /// Number of independent chains, which is enough for two units with a latency of four or five
    /// cycles.
    const CHAINS: usize = 12;

    /// Computes fused multiply-adds on 8 lanes.
    #[target_feature(enable = "avx2,fma")]
    pub fn fma_block() -> f64 {
        let (a, b) = (_mm256_set1_ps(black_box(0.999_9)), _mm256_set1_ps(black_box(1e-4)));
        let mut sums = [_mm256_set1_ps(1.0); CHAINS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, a, b);
            }
        }
        black_box(sums);
        (ROUNDS * CHAINS * 8 * 2) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_survive_json() {
        let limits = Limits { flops: 1e11, copy: 2e10, fill: 1.5e10, threads: 2 };
        assert_eq!(Limits::from_json(&limits.to_json()), Some(limits));
        assert_eq!(Limits::from_json(&json!({})), None);
    }

    #[test]
    fn every_thread_counts() {
        let (rate, time) = run_on_all_threads(
            2,
            || (),
            |()| {
                std::thread::sleep(Duration::from_millis(1));
                1.0
            },
        );
        assert!(time >= SPAN);
        assert!(rate > 0.0 && rate < 2000.0, "two threads at no more than one per ms each: {rate}");
    }
}

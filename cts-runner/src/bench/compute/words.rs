//! Integer work: histograms, SHA-256, bitonic sort.

use super::{Kernel, SetupResult, Unit, between, job, spirv, storage, storage_of};
use crate::bench::check::{Random, equal};
use crate::vk::{Gpu, Resource};

const COUNTED: usize = 4 << 20;
const MESSAGES: usize = 1 << 15;
const SORTED: usize = 1 << 17;
/// Number of elements that one workgroup sorts by itself.
const LOCAL: u32 = 512;

/// Makes a histogram with atomics in shared memory first.
pub fn histogram_shared(gpu: &Gpu) -> SetupResult {
    histogram(gpu, &spirv!("compute/histogram_shared.comp"), COUNTED / 4096)
}

/// Makes a histogram with atomics in device memory only. It uses 65535 workgroups, which is the
/// maximum per dimension that every device supports.
pub fn histogram_global(gpu: &Gpu) -> SetupResult {
    histogram(gpu, &spirv!("compute/histogram_global.comp"), COUNTED / 256)
}

fn histogram(gpu: &Gpu, code: &[u32], groups: usize) -> SetupResult {
    let x = Random::new(12).words(COUNTED);
    let (input, bins) = (storage_of(gpu, &x)?, storage(gpu, 256 * 4)?);
    let kernel = Kernel::new(gpu, code, &[input.handle, bins.handle].map(Resource::Storage), 0)?;
    let work = |d: &ash::Device, cmd| {
        // SAFETY: the buffer has the usage and lives as long as the device.
        unsafe { d.cmd_fill_buffer(cmd, bins.handle, 0, ash::vk::WHOLE_SIZE, 0) };
        between(d, cmd);
        kernel.dispatch(d, cmd, &[], [groups as u32, 1, 1]);
    };
    job(gpu, (COUNTED as f64, Unit::Element), work, move |_| {
        let mut expected = vec![0u32; 256];
        x.iter().for_each(|v| expected[(v >> 24) as usize] += 1);
        equal(&bins.read(), &expected)
    })
}

/// Makes one SHA-256 digest per invocation.
pub fn sha256(gpu: &Gpu) -> SetupResult {
    let messages = Random::new(13).words(MESSAGES * 16);
    let (input, output) = (storage_of(gpu, &messages)?, storage(gpu, MESSAGES * 32)?);
    let resources = [input.handle, output.handle].map(Resource::Storage);
    let kernel = Kernel::new(gpu, &spirv!("compute/sha256.comp"), &resources, 0)?;
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[], [MESSAGES as u32 / 64, 1, 1]);
    job(gpu, (MESSAGES as f64, Unit::Element), work, move |_| {
        let all = output.read();
        let picks = (0..MESSAGES).step_by(997);
        let actual: Vec<u32> = picks.clone().flat_map(|i| all[i * 8..i * 8 + 8].to_vec()).collect();
        equal(&actual, &picks.flat_map(|i| digest(&messages[i * 16..i * 16 + 16])).collect::<Vec<_>>())
    })
}

/// Returns the first 32 bits of the fractional parts of `root` of the first primes. These are the
/// constants of FIPS 180-4 by their definition.
fn constants(count: usize, root: fn(f64) -> f64) -> Vec<u32> {
    let primes = (2u32..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0));
    primes.take(count).map(|p| (root(f64::from(p)).fract() * 4_294_967_296.0) as u32).collect()
}

/// Returns the SHA-256 digest of a message of 16 words.
fn digest(message: &[u32]) -> Vec<u32> {
    let (k, mut h) = (constants(64, f64::cbrt), constants(8, f64::sqrt));
    let mut padding = [0; 16];
    (padding[0], padding[15]) = (0x8000_0000, 512);
    for block in [message, &padding] {
        let mut w = block.to_vec();
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
            w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
        }
        let mut v: Vec<u32> = h.clone();
        for i in 0..64 {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let t1 = v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(k[i]).wrapping_add(w[i]);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let t2 = s0.wrapping_add((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            v.rotate_right(1);
            (v[0], v[4]) = (t1.wrapping_add(t2), v[4].wrapping_add(t1));
        }
        h.iter_mut().zip(v).for_each(|(h, v)| *h = h.wrapping_add(v));
    }
    h
}

/// Makes a bitonic sort. It copies the unsorted words, sorts steps of small distance in shared
/// memory, and uses one dispatch for each other step.
pub fn bitonic_sort(gpu: &Gpu) -> SetupResult {
    let x = Random::new(14).words(SORTED);
    let (input, data) = (storage_of(gpu, &x)?, storage(gpu, SORTED * 4)?);
    let resources = [Resource::Storage(data.handle)];
    let local = Kernel::new(gpu, &spirv!("compute/bitonic_local.comp"), &resources, 2)?;
    let global = Kernel::new(gpu, &spirv!("compute/bitonic_global.comp"), &resources, 2)?;
    let groups = [SORTED as u32 / LOCAL, 1, 1];
    let work = |d: &ash::Device, cmd| {
        let region = [ash::vk::BufferCopy::default().size(SORTED as u64 * 4)];
        // SAFETY: both buffers have the size and the usage.
        unsafe { d.cmd_copy_buffer(cmd, input.handle, data.handle, &region) };
        between(d, cmd);
        local.dispatch(d, cmd, &[2, LOCAL], groups);
        let mut size = LOCAL * 2;
        while size <= SORTED as u32 {
            let mut reach = size / 2;
            while reach > LOCAL / 2 {
                between(d, cmd);
                global.dispatch(d, cmd, &[size, reach], groups);
                reach /= 2;
            }
            between(d, cmd);
            local.dispatch(d, cmd, &[size, size], groups);
            size *= 2;
        }
    };
    job(gpu, (SORTED as f64, Unit::Element), work, move |_| {
        let mut expected = x.clone();
        expected.sort_unstable();
        equal(&data.read(), &expected)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_sha_256() {
        // The message is 64 times the letter `a`.
        let expected =
            [0xffe0_54fe, 0x7ae0_cb6d, 0xc65c_3af9, 0xb61d_5209, 0xf439_851d, 0xb43d_0ba5, 0x9973_37df, 0x1546_68eb];
        assert_eq!(digest(&[0x6161_6161; 16]), expected);
    }
}

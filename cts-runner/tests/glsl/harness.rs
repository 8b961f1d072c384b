//! Runs one shader on the driver under test and on the reference driver, and compares the outputs.

use crate::support;
use cts_runner::hashes::{Compare, Driver, Shader};
use cts_runner::vk::raw as vk;
use std::sync::{LazyLock, Mutex, PoisonError};

type Pair = std::result::Result<[Driver; 2], String>;

/// The driver under test and the reference driver.
static DRIVERS: LazyLock<std::result::Result<Mutex<[Driver; 2]>, String>> =
    LazyLock::new(|| open_pair().map(Mutex::new));

fn open_pair() -> Pair {
    let reference = Driver::open(&support::reference()?).map_err(|e| e.to_string())?;
    Ok([Driver::open(&support::driver()).expect("the driver under test opens"), reference])
}

/// Runs a shader on both drivers and compares the outputs.
pub fn run_on_both(shader: &Shader) {
    let drivers = match &*DRIVERS {
        Ok(drivers) => drivers,
        Err(why) => return support::skip(why),
    };
    // A failed test poisons the lock, but each run leaves the drivers usable.
    let mut drivers = drivers.lock().unwrap_or_else(PoisonError::into_inner);
    let input = shader.random_input();
    let [tested, reference] = &mut *drivers;
    if !reference.knows(shader) {
        // The reference driver is older than these stages, so only the hash of the shader
        // (`hashes.rs`) checks the result.
        let output = tested.run(shader, &input).unwrap_or_else(|e| panic!("{}: {e}", shader.name));
        return assert!(output.iter().any(|w| *w != 0), "{}: nothing is drawn", shader.name);
    }
    let expected = reference.run(shader, &input).unwrap_or_else(|e| panic!("{} on the reference: {e}", shader.name));
    let actual = tested.run(shader, &input);
    if shader.subgroups && tested.api_version < vk::API_VERSION_1_1 {
        // A device refuses features that it does not advertise, and only a device of Vulkan 1.1 has
        // subgroup operations.
        return assert!(actual.is_err(), "{} is accepted by a device of Vulkan 1.0", shader.name);
    }
    let actual = actual.unwrap_or_else(|e| panic!("{}: {e}", shader.name));
    compare(shader, &expected, &actual);
}

fn compare(shader: &Shader, expected: &[u32], actual: &[u32]) {
    assert_eq!(expected.len(), actual.len());
    assert!(expected.iter().any(|w| *w != 0), "{}: the reference wrote nothing", shader.name);
    let pairs = expected.iter().zip(actual).enumerate();
    let bad: Vec<_> = pairs.filter(|(_, (e, a))| !close(shader.compare, **e, **a)).collect();
    let allowed = (shader.outliers * expected.len() as f64) as usize;
    let show = |w: u32| format!("{w:#010x} ({})", f32::from_bits(w));
    let lines: Vec<String> = bad
        .iter()
        .take(8)
        .map(|(i, (e, a))| format!("  word {i}: expected {}, got {}", show(**e), show(**a)))
        .collect();
    assert!(
        bad.len() <= allowed,
        "{}: {} of {} words differ ({allowed} may)\n{}",
        shader.name,
        bad.len(),
        expected.len(),
        lines.join("\n")
    );
}

fn close(compare: Compare, expected: u32, actual: u32) -> bool {
    match compare {
        Compare::Exact => expected == actual,
        Compare::Bytes(tolerance) => {
            let pairs = expected.to_le_bytes().into_iter().zip(actual.to_le_bytes());
            pairs.into_iter().all(|(e, a)| e.abs_diff(a) <= tolerance || (e ^ a == 0x80 && e & 0x7f == 0))
        }
        Compare::Float(tolerance) => {
            let (e, a) = (f32::from_bits(expected), f32::from_bits(actual));
            e == a || e.is_nan() && a.is_nan() || (e - a).abs() <= tolerance * e.abs().max(1.0)
        }
    }
}

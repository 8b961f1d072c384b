//! Proves which driver ran.
//!
//! Before any measurement, a probe runs deqp on cases that write the device's properties into the
//! log. The dynamic linker lists the libraries that it loads. The proof consists of two facts: the
//! log names a device, and the process loaded the library of the manifest. Each later process must
//! name the same device in the header of its log. Without a proof there is no report.
//!
//! `LD_DEBUG=libs` produces the linker's list, which only glibc supports. If the linker lists
//! nothing at all, the report states that the library was not checked.

use super::error::{At, Error, Result};
use super::identity;
use super::scheduler::STARTS;
use super::shard::{Launch, ShardEnd, ShardOutcome};
use crate::vk::Manifest;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Cases that log the name of the device, and the name and version of its driver
/// (`VkPhysicalDeviceDriverProperties`).
const PROBES: [&str; 2] = ["dEQP-VK.info.device", "dEQP-VK.api.info.get_physical_device_properties2.properties.basic"];

/// The driver that ran, as read from deqp's log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Device {
    /// `VkPhysicalDeviceProperties::deviceName`.
    pub name: String,
    /// `driverName`; empty if the CTS does not log it.
    pub driver_name: String,
    /// `driverInfo`; empty if the CTS does not log it.
    pub driver_info: String,
    /// `apiVersion`, as `1.3.0`.
    pub api_version: String,
    /// Library of the manifest, if the process was seen to load it.
    pub library: Option<PathBuf>,
    /// Identity of the library's file, see [`super::identity`]; empty if the library was not seen.
    pub build: String,
    /// Release of the CTS.
    pub release: String,
}

impl Device {
    /// Returns a description of the device in one line.
    pub fn describe(&self) -> String {
        let driver = [self.driver_name.as_str(), self.driver_info.as_str()].join(" ");
        match driver.trim() {
            "" => self.name.clone(),
            driver => format!("{} [{driver}]", self.name),
        }
    }

    /// Returns the form that is stored beside the results, so that a resumed run can detect another
    /// driver.
    pub fn json(&self) -> Value {
        json!({
            "device": self.name, "driver_name": self.driver_name, "driver_info": self.driver_info,
            "api_version": self.api_version, "library": self.library, "build": self.build, "cts": self.release,
        })
    }
}

/// Runs the probe and proves which driver it ran on.
pub fn prove(launch: &Launch, manifest: &Manifest) -> Result<Device> {
    // Each probe has a folder of its own, because two jobs may run probes at the same time.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let traces = launch.scratch.join(format!("probe-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    std::fs::create_dir_all(&traces).at(&traces)?;
    let mut probe = launch.clone();
    let trace = traces.join("linker").display().to_string();
    probe.environment.extend([("LD_DEBUG".into(), "libs".into()), ("LD_DEBUG_OUTPUT".into(), trace)]);
    let mut log = String::new();
    let end = start(&probe, &mut log);
    let loaded = loaded_libraries(&traces);
    let _ = std::fs::remove_dir_all(&traces);
    let end = end?;
    let mut device = read_properties(&log);
    device.release = end.release.unwrap_or_default();
    match (end.device, device.name.is_empty()) {
        (Some(header), true) => device.name = header,
        (Some(header), false) if header != device.name => {
            return Err(Error::Unproven(format!("the log names two devices, {header} and {}", device.name)));
        }
        _ => {}
    }
    if device.name.is_empty() {
        let why = format!("deqp's log names no device; does {} run {} at all?", launch.deqp.display(), PROBES[0]);
        return Err(Error::Unproven(why));
    }
    device.library = check_library(&manifest.library, &loaded, &device.name)?;
    device.build = device.library.as_deref().map(identity::of_file).transpose()?.unwrap_or_default();
    Ok(device)
}

/// Runs the cases of the probe and collects their logs. Up to two consecutive starts may fail.
fn start(probe: &Launch, log: &mut String) -> Result<ShardEnd> {
    let mut printed = String::new();
    for _ in 0..STARTS {
        let end = probe.run(&PROBES, &AtomicBool::new(false), &mut |end| {
            log.push_str(&String::from_utf8_lossy(&end.log));
            Ok(())
        })?;
        match end.outcome {
            ShardOutcome::NotStarted(output) => printed = output,
            _ => return Ok(end),
        }
    }
    Err(Error::Start(printed))
}

/// Returns the libraries that were initialised, from the linker's traces in a folder.
fn loaded_libraries(traces: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(traces).into_iter().flatten().flatten();
    let texts = entries.filter_map(|entry| std::fs::read(entry.path()).ok());
    let of_text = |bytes: Vec<u8>| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let path = |line: &str| line.split_once("calling init: ").map(|(_, path)| PathBuf::from(path.trim()));
        text.lines().filter_map(path).collect::<Vec<_>>()
    };
    texts.flat_map(of_text).collect()
}

/// Returns the manifest's library if it is among the loaded ones; `None` if the linker listed
/// nothing.
fn check_library(library: &Path, loaded: &[PathBuf], device: &str) -> Result<Option<PathBuf>> {
    if loaded.is_empty() {
        return Ok(None);
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
    let wanted = real(library);
    let same = |path: &&PathBuf| match library.parent() {
        // The linker's search path finds a bare name in any folder, so only the file names are
        // compared.
        Some(folder) if folder.as_os_str().is_empty() => path.file_name() == library.file_name(),
        _ => real(path) == wanted,
    };
    match loaded.iter().find(same) {
        Some(path) => Ok(Some(real(path))),
        None => Err(Error::Unproven(format!(
            "deqp reports the device \"{device}\", but {} was never loaded; is another driver installed as a layer, or is \
             deqp linked to a loader that ignores VK_DRIVER_FILES?",
            library.display()
        ))),
    }
}

/// Reads the device's properties from the logs of the probe's cases. A property is `key: value`, or
/// `key = value` with a text as bytes in the next line.
fn read_properties(log: &str) -> Device {
    let lines: Vec<&str> = log.lines().map(|line| line.trim().trim_start_matches("<Text>")).collect();
    let plain = |key: &str| {
        let value =
            |line: &&str| Some(line.strip_prefix(key)?.trim_start().strip_prefix(['=', ':'])?.trim().to_string());
        lines.iter().find_map(value).filter(|value| !value.is_empty())
    };
    let bytes = |key: &str| {
        let at = lines.iter().position(|line| line.strip_prefix(key).is_some_and(|rest| rest.trim() == "="))?;
        let bytes = lines.get(at + 1)?.trim_matches(['{', '}', ' ']).split(',');
        let number = |text: &str| u8::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok();
        let text: Vec<u8> = bytes.map_while(number).take_while(|&byte| byte != 0).collect();
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    let text = |key: &str| plain(key).or_else(|| bytes(key)).unwrap_or_default();
    Device {
        name: text("deviceName"),
        driver_name: text("driverName"),
        driver_info: text("driverInfo"),
        api_version: version(text("apiVersion")),
        ..Device::default()
    }
}

/// Formats a version as `1.3.0`. Some logs contain the number of `VK_MAKE_API_VERSION` instead.
fn version(text: String) -> String {
    match text.parse::<u32>() {
        Ok(number) => format!("{}.{}.{}", number >> 22 & 0x7f, number >> 12 & 0x3ff, number & 0xfff),
        Err(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_come_from_both_ways_of_logging() {
        let log = " <Text>Using --deqp-vk-device-id=1</Text>\n <Text>apiVersion: 1.3.0\ndeviceName: Grus (2 threads)\nvendorID: 0\n</Text>\n\
                   \tdeviceName = Grus (2 threads)\n\tdriverName = \n{ 0x47, 0x72, 0x75, 0x73, 0x00, 0x41 }\n\tdriverInfo = \n\
                   { 0x30, 0x2e, 0x31, 0x00 }\n";
        let device = read_properties(log);
        assert_eq!(device.describe(), "Grus (2 threads) [Grus 0.1]");
        assert_eq!(device.api_version, "1.3.0");
        assert_eq!(read_properties("apiVersion: 4206822\n").api_version, "1.3.230");
        assert_eq!(read_properties("").describe(), "");
    }

    #[test]
    fn the_library_must_have_been_loaded() {
        let loaded = [PathBuf::from("/lib/libc.so.6"), PathBuf::from("/usr/lib/libvulkan_lvp.so")];
        let check = |library: &str, loaded: &[PathBuf]| check_library(Path::new(library), loaded, "some device");
        assert_eq!(check("/usr/lib/libvulkan_lvp.so", &loaded).unwrap(), Some(loaded[1].clone()));
        assert_eq!(check("libvulkan_lvp.so", &loaded).unwrap(), Some(loaded[1].clone()));
        assert!(matches!(check("/opt/libvulkan_lvp.so", &loaded), Err(Error::Unproven(_))));
        assert_eq!(check("/opt/libvulkan_lvp.so", &[]).unwrap(), None);
    }
}

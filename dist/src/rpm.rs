//! rpm packages, with the files of the Debian packages.
//!
//! A package is a lead that only `file` reads, a header with the size and the digest of what
//! follows, a header that describes the package, and an archive of `cpio` compressed by xz. The
//! crate `rpm` has 45 dependencies, compresses by gzip or by libraries in C, and would select an
//! encoder for the zip files whose output depends on the processor.

mod files;
mod header;
mod tag;

use crate::layout::{self, Contents, DEFAULT, DRIVER};
use crate::release::Release;
use crate::tree::Tree;
use crate::{Package, Result, hex};
use files::Files;
use header::{IMMUTABLE, SIGNATURES, Value, header};
use lzma_rust2::{XzOptions, XzWriter};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Number of SHA-256 in headers.
const SHA256: u32 = 8;

/// Release of a version, which changes only if a package of the same version is made differently.
const RELEASE: &str = "1";

/// Properties in which the packages differ.
struct About<'a> {
    name: &'a str,
    architecture: &'a str,
    summary: &'a str,
    description: &'a str,
    /// A package that this one needs, with its version.
    needs: (String, String),
    /// A package that is useful with this one.
    suggests: Option<&'a str>,
}

/// Makes the package with the driver for an architecture.
///
/// # Errors
/// Returns a message if a file of the repository is missing, or if the binaries are not for Linux.
pub fn driver(contents: &Contents<'_>, architecture: &str) -> Result<Package> {
    let glibc = contents.glibc.ok_or("an rpm package needs binaries for Linux")?;
    let about = About {
        name: DRIVER,
        architecture,
        summary: "Vulkan driver that runs on the CPU",
        description: "Programs find it by `cts-runner run` or VK_DRIVER_FILES=/usr/share/grus/grus_icd.json.\n\
                      The package grus-vulkan-default makes the Vulkan loader find it without.",
        needs: (format!("libc.so.6(GLIBC_{glibc})(64bit)"), String::new()),
        suggests: Some("vulkan-loader"),
    };
    package(contents.release, &about, &layout::system(contents, "usr/lib64")?)
}

/// Makes the package that lets the loader find the driver.
///
/// # Errors
/// Returns a message if a file of the repository is missing.
pub fn default(release: &Release) -> Result<Package> {
    let about = About {
        name: DEFAULT,
        architecture: "noarch",
        summary: "Vulkan driver that runs on the CPU, for all programs",
        description: "The Vulkan loader finds Grus without any variable.",
        needs: (DRIVER.to_owned(), format!("{}-{RELEASE}", version(release))),
        suggests: None,
    };
    package(release, &about, &layout::default(release)?)
}

/// Returns the version for rpm, which separates the release by `-`.
fn version(release: &Release) -> String {
    release.version.replace('-', "~")
}

fn package(release: &Release, about: &About<'_>, tree: &Tree) -> Result<Package> {
    let name = format!("{}-{}-{RELEASE}", about.name, version(release));
    let file = format!("{name}.{}.rpm", about.architecture);
    let bytes = assemble(release, about, &name, tree).map_err(|e| format!("{file}: {e}"))?;
    Ok(Package { name: file, bytes })
}

/// Returns the four parts of a package. The first header ends at a multiple of eight bytes.
fn assemble(release: &Release, about: &About<'_>, name: &str, tree: &Tree) -> io::Result<Vec<u8>> {
    let time = u32::try_from(release.epoch).map_err(io::Error::other)?;
    let files = Files::of(tree);
    let archive = files.archive(time);
    let mut xz = XzWriter::new(Vec::new(), XzOptions::with_preset(6))?;
    xz.write_all(&archive)?;
    let payload = xz.finish()?;
    let mut values = files.values(time);
    values.extend(description(release, about, time));
    values.insert(tag::PAYLOAD_DIGESTS, Value::Texts(vec![hex(&Sha256::digest(&payload))]));
    let description = header(IMMUTABLE, &values);
    let digests = BTreeMap::from([
        (tag::SIGNATURE_SHA256, Value::Text(hex(&Sha256::digest(&description)))),
        (tag::SIGNATURE_SIZE, Value::from((description.len() + payload.len()) as u32)),
        (tag::SIGNATURE_PAYLOAD_SIZE, Value::from(archive.len() as u32)),
    ]);
    let mut package = [lead(name), header(SIGNATURES, &digests)].concat();
    package.resize(package.len().next_multiple_of(8), 0);
    Ok([package, description, payload].concat())
}

/// Returns the lead: magic number, version 3.0, a binary package for some machine and Linux, its
/// name, and headers in place of a signature.
fn lead(name: &str) -> Vec<u8> {
    let mut lead = vec![0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0, 0, 1];
    lead.extend(name.bytes().take(65));
    lead.resize(76, 0);
    lead.extend([0, 1, 0, 5]);
    lead.resize(96, 0);
    lead
}

/// Returns the values that do not depend on the files.
fn description(release: &Release, about: &About<'_>, time: u32) -> BTreeMap<u32, Value> {
    let texts = |all: &[&str]| Value::Texts(all.iter().map(|&text| text.to_owned()).collect());
    let version = version(release);
    let full = format!("{version}-{RELEASE}");
    let (needed, needed_version) = (about.needs.0.as_str(), about.needs.1.as_str());
    let needed_flags = if needed_version.is_empty() { 0 } else { EQUAL };
    let names: Vec<_> = [needed].into_iter().chain(FORMAT.map(|(name, _)| name)).collect();
    let versions: Vec<_> = [needed_version].into_iter().chain(FORMAT.map(|(_, version)| version)).collect();
    let flags = [needed_flags].into_iter().chain(FORMAT.map(|_| OF_RPM | LESS | EQUAL)).collect();
    let mut values = BTreeMap::from([
        (tag::LANGUAGES, texts(&["C"])),
        (tag::NAME, about.name.into()),
        (tag::VERSION, version.as_str().into()),
        (tag::RELEASE, RELEASE.into()),
        (tag::SUMMARY, Value::Localized(about.summary.to_owned())),
        (tag::DESCRIPTION, Value::Localized(about.description.to_owned())),
        (tag::BUILD_TIME, time.into()),
        (tag::BUILD_HOST, "localhost".into()),
        (tag::LICENCE, "MIT OR Apache-2.0".into()),
        (tag::PACKAGER, "The Grus authors <grus@localhost>".into()),
        (tag::GROUP, Value::Localized("System Environment/Libraries".to_owned())),
        (tag::SYSTEM, "linux".into()),
        (tag::ARCHITECTURE, about.architecture.into()),
        // Without a source package, rpm takes a package for one.
        (tag::SOURCE_PACKAGE, format!("{DRIVER}-{full}.src.rpm").as_str().into()),
        (tag::PROVIDED_NAMES, texts(&[about.name])),
        (tag::REQUIRED_FLAGS, Value::Words(flags)),
        (tag::REQUIRED_NAMES, texts(&names)),
        (tag::REQUIRED_VERSIONS, texts(&versions)),
        (tag::WRITER, "grus-dist".into()),
        (tag::PROVIDED_FLAGS, EQUAL.into()),
        (tag::PROVIDED_VERSIONS, texts(&[&full])),
        (tag::PAYLOAD_FORMAT, "cpio".into()),
        (tag::PAYLOAD_COMPRESSOR, "xz".into()),
        (tag::PAYLOAD_LEVEL, "6".into()),
        (tag::ENCODING, "utf-8".into()),
        (tag::PAYLOAD_DIGEST_ALGORITHM, SHA256.into()),
    ]);
    if let Some(name) = about.suggests {
        values.extend([
            (tag::SUGGESTED_NAMES, texts(&[name])),
            (tag::SUGGESTED_VERSIONS, texts(&[""])),
            (tag::SUGGESTED_FLAGS, 0.into()),
        ]);
    }
    values
}

/// Properties of the format that rpm has to know, with the versions since which it does.
const FORMAT: [(&str, &str); 4] = [
    ("rpmlib(CompressedFileNames)", "3.0.4-1"),
    ("rpmlib(FileDigests)", "4.6.0-1"),
    ("rpmlib(PayloadFilesHavePrefix)", "4.0-1"),
    ("rpmlib(PayloadIsXz)", "5.2-1"),
];

// Flags of dependencies (`RPMSENSE_*`).
const LESS: u32 = 1 << 1;
const EQUAL: u32 = 1 << 3;
const OF_RPM: u32 = 1 << 24;

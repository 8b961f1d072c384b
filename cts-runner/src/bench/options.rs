//! The command line of `bench`.

use super::workload::{Family, Spec};
use lexopt::{Arg, Parser, ValueExt};
use std::path::PathBuf;
use std::time::Duration;

/// Text that `cts-runner bench --help` prints.
pub const HELP: &str = "\
cts-runner bench: the same Vulkan programs on several drivers, timed in turns

  cts-runner bench --quick                       a first look: about 6 minutes for three drivers
  cts-runner bench --json all.json --svg all.svg the full run: all workloads, 5 rounds
  cts-runner bench --root DIR --icd grus --icd /usr/share/vulkan/icd.d/lvp_icd.json    rivals from another root
  cts-runner bench --filter compute/ --icd grus --icd /usr/share/vulkan/icd.d/lvp_icd.x86_64.json
  cts-runner bench --list                        the names of the workloads

Which drivers
      --icd WHAT        repeatable, the first one is what the others are compared with: 'grus' (this checkout, built when
                        it is not there), a manifest (JSON), or a driver's library (.so; a manifest is made for it).
                        ',NAME=VALUE' behind it, as often as wanted, are variables of this driver's children: 'grus,GRUS_THREADS=1'.
                        Default: Grus, and every driver that the Vulkan loader would find and that has a device, and
                        Chromium's SwiftShader
      --root DIR        measure inside of another root, all drivers (needs the rights of root, for chroot): a folder with a
                        system of its own, where a newer distribution's drivers can be. Manifests are looked for in there;
                        --icd takes one from inside, or a driver of this machine, which is copied in, as Grus is by default
Which workloads
      --quick           a part of them, 3 rounds, shorter samples
      --filter PATTERN  repeatable; a part of the name, or with * a pattern for all of it ('create/*', 'matmul')
      --corpus DIR      instead of them: creation and first use of every pipeline that the modules (*.spv) of a folder make
      --list            print the names and stop
How
      --rounds N        rounds; in each, every driver runs every workload once, in turns (5, quick 3)
      --sample-ms N     how long one sample is (150, quick 30)
      --timeout S       a child that takes longer is stopped and reported (120)
      --pin N           run on the first N of the allowed CPUs (all of them)
      --validate        run every workload once under VK_LAYER_KHRONOS_validation; a message is an error, no times
What comes out
      --json FILE       everything, with the figures of each round; written after each round
      --svg FILE        a chart of the ratios
      --details         a line for each pipeline of the create family (otherwise their mean)

How to read it: a ratio is the rival's time divided by the first driver's, so 2.00 means that the first driver takes half
as long. Beside it stand the smallest and the largest ratio of a round; an interval that contains 1 is no difference.
'%' is the share of the machine's limit (FMA peak, bandwidth of a copy or a fill), measured in the same run.
'wrong' means that the output was checked and is not right, 'unsupported' that the driver does not have what the workload
needs. The exit code is 1 when the first driver was wrong, crashed, hung or failed somewhere.
";

/// Kind of process, which is the parent or one of the hidden children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The command that the user started.
    Parent,
    /// A child that prints name and version of the driver.
    Probe,
    /// A child that prints the machine's limits.
    Limits,
    /// A child that runs the workload with this name.
    Child(String),
    /// A child that records the contact sheet of the create family.
    Sheet(PathBuf),
}

/// Parsed options of `bench`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Drivers as given on the command line; empty for the default.
    pub icds: Vec<String>,
    /// Root folder in which children run, if it is not that of this process.
    pub root: Option<PathBuf>,
    /// Folder of modules to measure instead of the built-in workloads.
    pub corpus: Option<PathBuf>,
    /// Patterns of workload names; empty for all.
    pub filter: Vec<String>,
    /// True for the quick run.
    pub quick: bool,
    /// True if only the names are printed.
    pub list: bool,
    /// Number of rounds, if given.
    pub rounds: Option<u32>,
    /// Length of a sample, if given.
    pub sample: Option<Duration>,
    /// Time limit of a child.
    pub timeout: Duration,
    /// Number of CPUs that a child may use; `None` for all.
    pub pin: Option<usize>,
    /// True if workloads run under the validation layer and are not timed.
    pub validate: bool,
    /// Path of the JSON output.
    pub json: Option<PathBuf>,
    /// Path of the chart.
    pub svg: Option<PathBuf>,
    /// True if each pipeline is shown.
    pub details: bool,
    /// Additional environment variables of the children.
    pub environment: Vec<(String, String)>,
    /// Kind of this process.
    pub role: Role,
    /// In a child, the folder that it may use.
    pub scratch: PathBuf,
    /// In a child, the stage of [`super::workload::Fresh::stage`].
    pub stage: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            icds: Vec::new(),
            root: None,
            corpus: None,
            filter: Vec::new(),
            quick: false,
            list: false,
            rounds: None,
            sample: None,
            timeout: Duration::from_secs(120),
            pin: None,
            validate: false,
            json: None,
            svg: None,
            details: false,
            environment: Vec::new(),
            role: Role::Parent,
            scratch: PathBuf::new(),
            stage: String::new(),
        }
    }
}

impl Options {
    /// Parses the arguments after `bench`. Returns `None` if help was requested.
    pub fn parse(parser: &mut Parser) -> Result<Option<Self>, lexopt::Error> {
        let mut options = Self::default();
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("icd") => options.icds.push(parser.value()?.string()?),
                Arg::Long("root") => options.root = Some(parser.value()?.into()),
                Arg::Long("corpus") => options.corpus = Some(parser.value()?.into()),
                Arg::Long("filter") => options.filter.push(parser.value()?.string()?),
                Arg::Long("quick") => options.quick = true,
                Arg::Long("list") => options.list = true,
                Arg::Long("rounds") => options.rounds = Some(parser.value()?.parse_with(at_least_one)?),
                Arg::Long("sample-ms") => {
                    options.sample = Some(Duration::from_millis(parser.value()?.parse_with(at_least_one)?.into()));
                }
                Arg::Long("timeout") => {
                    options.timeout = Duration::from_secs(parser.value()?.parse_with(at_least_one)?.into());
                }
                Arg::Long("pin") => options.pin = Some(parser.value()?.parse_with(at_least_one)? as usize),
                Arg::Long("validate") => options.validate = true,
                Arg::Long("json") => options.json = Some(parser.value()?.into()),
                Arg::Long("svg") => options.svg = Some(parser.value()?.into()),
                Arg::Long("details") => options.details = true,
                Arg::Long("help") | Arg::Short('h') => return Ok(None),
                // The following arguments are hidden. The parent uses them to start its children.
                Arg::Long("probe") => options.role = Role::Probe,
                Arg::Long("limits") => options.role = Role::Limits,
                Arg::Long("child") => options.role = Role::Child(parser.value()?.string()?),
                Arg::Long("record-sheet") => options.role = Role::Sheet(parser.value()?.into()),
                Arg::Long("scratch") => options.scratch = parser.value()?.into(),
                Arg::Long("stage") => options.stage = parser.value()?.string()?,
                other => return Err(other.unexpected()),
            }
        }
        Ok(Some(options))
    }

    /// Returns the number of rounds.
    pub fn rounds(&self) -> u32 {
        if self.validate { 1 } else { self.rounds.unwrap_or(if self.quick { 3 } else { 5 }) }
    }

    /// Returns the length of a sample.
    pub fn sample(&self) -> Duration {
        self.sample.unwrap_or(Duration::from_millis(if self.quick { 30 } else { 150 }))
    }

    /// Returns true if a workload is selected.
    pub fn wants(&self, spec: &Spec) -> bool {
        let named = self.filter.is_empty() || self.filter.iter().any(|pattern| matches(pattern, spec.name));
        named && (spec.quick || !self.quick)
    }

    /// Returns the selected workloads, ordered by family.
    pub fn select(&self, specs: &[Spec]) -> Vec<Spec> {
        let of = |family: Family| specs.iter().filter(move |s| s.family == family && self.wants(s)).copied();
        Family::ALL.into_iter().flat_map(of).collect()
    }
}

fn at_least_one(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "expected a number above 0".into())
}

/// Returns true if a name contains the pattern. A pattern with `*` must match the whole name.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return name.contains(pattern) };
    let Some(mut left) = name.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Option<Options>, lexopt::Error> {
        Options::parse(&mut Parser::from_args(args))
    }

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("matmul", "compute/matmul-tiled", true),
            ("create/*", "create/pbr", true),
            ("create/*", "compute/create/x", false),
            ("*tiled", "compute/matmul-tiled", true),
            ("*tiled", "compute/matmul-tiled-2", false),
            ("c*m*d", "compute/matmul-tiled", true),
            ("c*q*d", "compute/matmul-tiled", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn options_are_read_and_refused() {
        let options =
            parse(&["--quick", "--icd", "grus", "--icd", "x.json", "--pin", "1"]).expect("good").expect("no help");
        assert_eq!((options.rounds(), options.sample(), options.pin), (3, Duration::from_millis(30), Some(1)));
        assert_eq!(options.icds, ["grus", "x.json"]);
        assert_eq!(parse(&[]).expect("good").expect("no help").rounds(), 5);
        assert!(parse(&["--help"]).expect("good").is_none());
        assert!(parse(&["--rounds", "0"]).is_err());
        assert!(parse(&["--nonsense"]).is_err());
    }
}

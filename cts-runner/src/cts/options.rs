//! The command line of `cts-runner cts`.

use super::caselist::Selection;
use super::error::{Error, Result};
use super::portion::Portion;
use lexopt::{Arg, Parser, ValueExt};
use std::path::PathBuf;
use std::time::Duration;

/// Help text of the command.
pub const HELP: &str = "\
cts-runner cts: runs the Vulkan CTS on a driver, survives what the driver does to it, and says what is new

  cts-runner cts --deqp PATH [--icd JSON] [selection] [options]

the first run
  Build deqp-vk from github.com/KhronosGroup/VK-GL-CTS, then, from anywhere:
      cts-runner cts --deqp build/external/vulkancts/modules/vulkan/deqp-vk --group api.smoke
  It prints a table, what failed, and where report.html is. Exit code 0: all as expected; 1: a surprise; 2: wrong usage or no proof
  of which driver ran.

what runs
  --deqp PATH           the deqp-vk binary (or the variable DEQP_VK)
  --icd JSON            manifest of the driver (default: Grus of this package or checkout, built if missing)
  --device PATTERN      refuse to run when the device's name does not match (CI: the wrong driver is an error, not a result)
  --deqp-arg ARG        pass ARG to deqp; may be repeated
  --deqp-dir DIR        folder to run deqp in (default: the binary's; deqp looks for its data there)

which cases (all filters are case-sensitive; lists are read in order, names that come twice run once)
  --caselist FILE       a list, one full name per line; a list of lists as mustpass/main/vk-default.txt; a quoted pattern of
                        files; may be repeated. Without it, deqp itself is asked: for the groups and cases below, or for all
                        its cases when only --portion is given (asked once, then kept in DIR by the build of deqp)
  --group NAME          a group, as api, glsl.loops or dEQP-VK.glsl.loops; may be repeated
  --case PATTERN        a name, * and ? allowed; may be repeated
  --portion K/N         part K of N (from 1 to N) of the selection, drawn by a hash of the name: the same cases every time, on every
                        machine, in every version. today/N: another part each day (UTC) until all had their turn. 1/1: everything
                        (--fraction is the same)

how
  --jobs N              processes at a time (default: the number of CPUs)
  --timeout SECONDS     per case (60)
  --shard-size N        most cases per process (5000: deqp-vk makes the groups of its cases before it runs them)
  --rerun-failures N    run unexplained failures up to N times more, one at a time; one that passes then is a Flake
  --no-images           do not keep the images that deqp logs
  --out DIR             where results go (cts-results). A killed run goes on where it was when called again with the same DIR
  --fresh               delete what is in DIR and start over

for how long
  --ledger FILE         add what this run found to a ledger: a small table of one build that portions and machines are merged in.
                        cts-runner ledger --help explains

what is expected
  --expect DIR          folder with fails.txt, skips.txt, flakes.txt (default: cts-runner/expect of this checkout). A line is
                        'name-or-pattern [Crash|Timeout|Missing] reason'; '@device PATTERN' limits the lines below it

comparing
  --against JSON        run the same cases on a second driver, shards taking turns, and print what differs and both times
  --baseline CSV        compare with the results.csv of an earlier run

what comes out, in DIR: results.csv (grows while it runs; one line per execution), report.md, junit.xml, report.html
  --json                print a JSON summary instead of text

examples
  cts-runner cts --deqp deqp-vk --caselist mustpass/main/vk-default.txt --portion 1/50 --jobs 8
  cts-runner cts --deqp deqp-vk --portion today/16 --ledger grus.ledger
  cts-runner cts --deqp deqp-vk --group glsl --against /usr/share/vulkan/icd.d/lvp_icd.x86_64.json
  cts-runner cts --deqp deqp-vk --case '*.branch_past_barrier' --rerun-failures 3 --fresh
";

/// Parsed command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// Path of the deqp binary.
    pub deqp: PathBuf,
    /// Working folder of deqp; `None` for the folder of the binary.
    pub deqp_dir: Option<PathBuf>,
    /// Further arguments for deqp.
    pub deqp_args: Vec<String>,
    /// Manifest of the driver; `None` for Grus from this checkout.
    pub icd: Option<PathBuf>,
    /// Pattern that the device's name must match.
    pub device: Option<String>,
    /// Manifest of a second driver to compare with.
    pub against: Option<PathBuf>,
    /// Results of an earlier run to compare with.
    pub baseline: Option<PathBuf>,
    /// Selection of the cases.
    pub selection: Selection,
    /// Number of deqp processes that run at the same time.
    pub jobs: usize,
    /// Time limit per case.
    pub timeout: Duration,
    /// Maximum number of cases per process.
    pub shard_size: usize,
    /// Maximum number of repetitions of a failed case.
    pub reruns: u32,
    /// True if images are kept.
    pub images: bool,
    /// Folder of the results.
    pub out: PathBuf,
    /// True if earlier results in the folder are deleted.
    pub fresh: bool,
    /// Ledger to which the run is added.
    pub ledger: Option<PathBuf>,
    /// Folder of the expectations.
    pub expect: PathBuf,
    /// True if the summary is JSON instead of text.
    pub json: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            deqp: PathBuf::new(),
            deqp_dir: None,
            deqp_args: Vec::new(),
            icd: None,
            device: None,
            against: None,
            baseline: None,
            selection: Selection::default(),
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            timeout: Duration::from_secs(60),
            shard_size: 5000,
            reruns: 0,
            images: true,
            out: "cts-results".into(),
            fresh: false,
            ledger: None,
            expect: crate::driver::workspace().join("cts-runner/expect"),
            json: false,
        }
    }
}

/// Parses the rest of the command line. Returns `None` if help was requested.
pub fn parse(parser: &mut Parser) -> Result<Option<Options>> {
    let mut options = Options::default();
    match read(parser, &mut options) {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(error) => return Err(Error::Usage(format!("{error}; cts-runner cts --help says more"))),
    }
    let usage = |what: &str| Err(Error::Usage(format!("{what}; cts-runner cts --help says more")));
    if options.deqp.as_os_str().is_empty() {
        match std::env::var_os("DEQP_VK") {
            Some(path) => options.deqp = path.into(),
            None => return usage("--deqp is missing: the path of a deqp-vk binary"),
        }
    }
    if !options.deqp.is_file() {
        return Err(Error::Usage(format!(
            "{} is not there; --deqp is the path of a deqp-vk binary",
            options.deqp.display()
        )));
    }
    if options.jobs == 0 || options.shard_size == 0 || options.timeout.is_zero() {
        return usage("--jobs, --shard-size and --timeout must be more than 0");
    }
    let selection = &options.selection;
    if selection.is_empty() {
        return usage("nothing is selected: give --caselist, --group or --case, or --portion (1/1 is everything)");
    }
    Ok(Some(options))
}

/// Parses the arguments into `options`. Returns false if help was requested.
fn read(parser: &mut Parser, options: &mut Options) -> std::result::Result<bool, lexopt::Error> {
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("deqp") => options.deqp = parser.value()?.into(),
            Arg::Long("deqp-dir") => options.deqp_dir = Some(parser.value()?.into()),
            Arg::Long("deqp-arg") => options.deqp_args.push(parser.value()?.string()?),
            Arg::Long("icd") => options.icd = Some(parser.value()?).filter(|name| name != "grus").map(PathBuf::from),
            Arg::Long("device") => options.device = Some(parser.value()?.string()?),
            Arg::Long("against") => options.against = Some(parser.value()?.into()),
            Arg::Long("baseline") => options.baseline = Some(parser.value()?.into()),
            Arg::Long("caselist") => options.selection.lists.push(parser.value()?.string()?),
            Arg::Long("group") => options.selection.groups.push(parser.value()?.string()?),
            Arg::Long("case") => options.selection.cases.push(parser.value()?.string()?),
            Arg::Long("portion") | Arg::Long("fraction") => {
                options.selection.portion = Some(parser.value()?.parse_with(Portion::parse)?);
            }
            Arg::Long("jobs") | Arg::Short('j') => options.jobs = parser.value()?.parse()?,
            Arg::Long("timeout") => options.timeout = parser.value()?.parse_with(parse_seconds)?,
            Arg::Long("shard-size") => options.shard_size = parser.value()?.parse()?,
            Arg::Long("rerun-failures") => options.reruns = parser.value()?.parse()?,
            Arg::Long("no-images") => options.images = false,
            Arg::Long("out") => options.out = parser.value()?.into(),
            Arg::Long("fresh") => options.fresh = true,
            Arg::Long("ledger") => options.ledger = Some(parser.value()?.into()),
            Arg::Long("expect") => options.expect = parser.value()?.into(),
            Arg::Long("json") => options.json = true,
            Arg::Long("help") | Arg::Short('h') => return Ok(false),
            other => return Err(other.unexpected()),
        }
    }
    Ok(true)
}

fn parse_seconds(text: &str) -> std::result::Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "expected a number of seconds".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(args: &[&str]) -> Result<Option<Options>> {
        parse(&mut Parser::from_args(args))
    }

    #[test]
    fn wrong_usage_says_what_to_do() {
        let message = |args: &[&str]| of(args).unwrap_err().to_string();
        assert!(message(&["--deqp", "/nowhere/deqp-vk"]).contains("/nowhere/deqp-vk is not there"));
        assert!(message(&["--deqp", "/bin/sh"]).contains("--caselist, --group or --case"));
        assert!(message(&["--deqp", "/bin/sh", "--group", "api", "--jobs", "0"]).contains("more than 0"));
        assert!(message(&["--portion", "3/2"]).contains("K/N"));
        assert!(message(&["--timeout", "-1"]).contains("seconds"));
        assert!(message(&["--frobnicate"]).contains("--frobnicate"));
        assert!(of(&["--help"]).unwrap().is_none());
    }

    #[test]
    fn help_names_every_option() {
        let source = include_str!("options.rs");
        let names = source.split("Arg::Long(\"").skip(1).filter_map(|rest| rest.split_once('"'));
        let names: Vec<&str> = names.map(|(name, _)| name).filter(|name| name.chars().all(|c| c != '\\')).collect();
        assert!(names.len() > 15);
        for name in names.iter().filter(|name| **name != "help") {
            assert!(HELP.contains(&format!("--{name}")), "--{name}");
        }
    }
}

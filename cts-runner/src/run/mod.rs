//! `cts-runner run`: starts a command on Grus, if the driver has what the command needs.

use crate::driver::{MANIFEST_VARIABLES, grus};
use crate::requirements::{Requirements, check};
use crate::vk::{Api, DeviceReport, Error, Manifest};
use lexopt::{Arg, Parser};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Help of the command.
pub const HELP: &str = "\
cts-runner run [options] [--] COMMAND [ARGUMENT...]
                                     start a command on Grus: VK_DRIVER_FILES and VK_ICD_FILENAMES name its
                                     manifest; the exit code is the command's
      --require FILE    JSON with extensions, features, limits and formats (docs/ci.md); if the driver
                        lacks some, the command is not started, and the exit code is 125
      --icd JSON        driver manifest (default: beside this program, in its prefix, in this checkout)
      --print-icd       print the path of the manifest; without a command, only that
";

/// Exit code if the command is not started because of this program or of a requirement.
const REFUSED: u8 = 125;
/// Exit code if the command cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// Exit code if the command does not exist.
const NOT_FOUND: u8 = 127;

/// Options of the command line.
#[derive(Debug, Default, PartialEq)]
struct Options {
    icd: Option<PathBuf>,
    require: Option<PathBuf>,
    print_icd: bool,
    /// Command with its arguments; may be empty.
    command: Vec<OsString>,
}

impl Options {
    /// Reads the rest of a command line. Returns `None` if help is requested.
    fn parse(parser: &mut Parser) -> Result<Option<Self>, lexopt::Error> {
        let mut options = Self::default();
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("icd") => options.icd = Some(parser.value()?.into()),
                Arg::Long("require") => options.require = Some(parser.value()?.into()),
                Arg::Long("print-icd") => options.print_icd = true,
                Arg::Long("help") | Arg::Short('h') => return Ok(None),
                Arg::Value(program) => {
                    options.command.push(program);
                    // The arguments behind the program belong to it, even those that begin with
                    // `-`.
                    options.command.extend(parser.raw_args()?);
                }
                other => return Err(other.unexpected()),
            }
        }
        if options.command.is_empty() && !options.print_icd && options.require.is_none() {
            return Err("run: no command".into());
        }
        Ok(Some(options))
    }
}

/// Runs the command line behind `cts-runner run`. Returns only if no command is started.
pub fn command(parser: &mut Parser) -> ExitCode {
    let options = match Options::parse(parser) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => return refuse(&error.to_string()),
    };
    match start(&options) {
        Ok(code) => code,
        Err(message) => refuse(&message),
    }
}

fn refuse(message: &str) -> ExitCode {
    eprintln!("cts-runner: {message}");
    ExitCode::from(REFUSED)
}

fn start(options: &Options) -> Result<ExitCode, String> {
    let manifest = match &options.icd {
        Some(path) => Manifest::read(path),
        None => grus(),
    };
    let manifest = manifest.map_err(|e| e.to_string())?;
    let path = std::path::absolute(&manifest.path).map_err(|e| Error::Io(manifest.path.clone(), e).to_string())?;
    if let Some(file) = &options.require {
        require(file, &manifest)?;
    }
    if options.print_icd {
        println!("{}", path.display());
    }
    let Some((program, arguments)) = options.command.split_first() else { return Ok(ExitCode::SUCCESS) };
    let mut command = Command::new(program);
    command.args(arguments).envs(MANIFEST_VARIABLES.map(|variable| (variable, &path)));
    let error = crate::os::execute(&mut command);
    eprintln!("cts-runner: {}: {error}", program.display());
    let is_missing = error.kind() == std::io::ErrorKind::NotFound;
    Ok(ExitCode::from(if is_missing { NOT_FOUND } else { NOT_EXECUTABLE }))
}

/// Fails with a list of what the driver lacks.
fn require(file: &Path, manifest: &Manifest) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let requirements = Requirements::parse(&text).map_err(|e| format!("{}: {e}", file.display()))?;
    let device = Api::open_icd(manifest).and_then(|api| DeviceReport::new(&api)).map_err(|e| e.to_string())?;
    let missing = check::missing(&requirements, &device);
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("the driver lacks {} of {}:\n  {}", missing.len(), file.display(), missing.join("\n  ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Option<Options>, lexopt::Error> {
        Options::parse(&mut Parser::from_args(arguments))
    }

    #[test]
    fn arguments_behind_the_program_are_its_own() {
        for separator in [&["--"][..], &[]] {
            let line = [&["--require", "f.json"][..], separator, &["sh", "-c", "--icd", "x"]].concat();
            let options = parse(&line).expect("valid").expect("no help");
            assert_eq!(options.require.as_deref(), Some(Path::new("f.json")));
            assert_eq!((options.icd, options.command), (None, ["sh", "-c", "--icd", "x"].map(Into::into).to_vec()));
        }
    }

    #[test]
    fn a_command_is_needed() {
        assert!(parse(&[]).is_err() && parse(&["--"]).is_err() && parse(&["--jobs", "2", "true"]).is_err());
        assert!(parse(&["--print-icd"]).is_ok_and(|options| options.is_some()));
    }
}

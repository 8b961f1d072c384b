//! The command line of `cts-runner`.

use cts_runner::driver::{Route, Target};
use cts_runner::{bench, compare, cts, demo, hashes, install, run, vk};
use lexopt::{Arg, Parser, ValueExt};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
cts-runner: runs a Vulkan driver from outside

  cts-runner demo [options]          compute and draw; writes demo.png, prints figures
      --icd JSON        driver manifest (default: Grus of this package or checkout, built if missing)
      --loader          go through the Vulkan loader (default: when there is one)
      --no-loader       open the driver's library directly
      --rays            trace the scene of the ray tracing pipeline instead
      --frames N        number of frames (60)
      --size WxH        size of the picture (1280x720)
      --out FILE        where the last frame goes (demo.png)
      --json            print JSON instead of text
      --validate        enable VK_LAYER_KHRONOS_validation; a message makes the run fail
  cts-runner compare --icd A --icd B [--runs N] [--frames N] [--json]
                                     interleaved runs of the demo on two drivers ('grus': this checkout)
  cts-runner bench [options]         compute, draws, copies, pipelines on several drivers, timed in turns;
                                     `cts-runner bench --help` explains
  cts-runner cts --deqp PATH ...     the Vulkan CTS on a driver; `cts-runner cts --help` explains
  cts-runner ledger FILE...          what runs of the CTS on several days and machines found together;
                                     `cts-runner ledger --help` explains
  cts-runner hashes [--icd JSON] [--print]
                                     compute, draw and trace, and compare with the committed hashes, which are the
                                     same on every machine (cts-runner/tests/data/hashes.txt); --print: print hashes
  cts-runner run [--require FILE] [--] COMMAND...
                                     start a command on Grus, if the driver has what FILE names;
                                     `cts-runner run --help` explains
  cts-runner install [--prefix DIR]  put library and manifest where the loader looks
                                     (/usr/local for root, else ~/.local; Windows: %ProgramFiles%\\Grus and
                                     the registry, which needs an administrator)
  cts-runner uninstall [--prefix DIR]
";

type Outcome = Result<ExitCode, Box<dyn Error>>;

fn main() -> ExitCode {
    let mut parser = Parser::from_env();
    let command = match parser.next() {
        Ok(Some(Arg::Value(name))) => name.to_string_lossy().into_owned(),
        Ok(Some(Arg::Long("help") | Arg::Short('h'))) => "help".into(),
        Ok(None) => String::new(),
        Ok(Some(other)) => return fail(&other.unexpected()),
        Err(error) => return fail(&error),
    };
    let outcome = match command.as_str() {
        "demo" => run_demo(&mut parser),
        "bench" => run_bench(&mut parser),
        "compare" => run_compare(&mut parser),
        "hashes" => hashes::command(&mut parser),
        "cts" => Ok(cts::command(&mut parser)),
        "ledger" => Ok(cts::ledger::command::command(&mut parser)),
        "run" => Ok(run::command(&mut parser)),
        "install" => run_install(&mut parser),
        "uninstall" => run_uninstall(&mut parser),
        "help" => help(),
        _ => {
            eprint!("{HELP}");
            Ok(ExitCode::from(2))
        }
    };
    outcome.unwrap_or_else(|error| fail(&*error))
}

fn fail(error: &dyn Error) -> ExitCode {
    eprintln!("cts-runner: {error}");
    ExitCode::FAILURE
}

fn help() -> Outcome {
    print!("{HELP}");
    Ok(ExitCode::SUCCESS)
}

fn run_demo(parser: &mut Parser) -> Outcome {
    let mut options = demo::Options::default();
    let (mut json, mut rays) = (false, false);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("rays") => rays = true,
            Arg::Long("icd") => options.target.icd = Some(PathBuf::from(parser.value()?)),
            Arg::Long("loader") => options.target.route = Route::Loader,
            Arg::Long("no-loader") => options.target.route = Route::Direct,
            Arg::Long("frames") => options.frames = parser.value()?.parse()?,
            Arg::Long("size") => options.size = parser.value()?.parse_with(parse_size)?,
            Arg::Long("out") => options.out = Some(PathBuf::from(parser.value()?)),
            Arg::Long("json") => json = true,
            Arg::Long("validate") => options.validation = true,
            Arg::Long("help") | Arg::Short('h') => return help(),
            other => return Err(other.unexpected().into()),
        }
    }
    if options.validation && options.target.route == Route::Auto {
        options.target.route = Route::Loader;
    }
    options.progress = !json;
    let messages = if rays {
        // SAFETY: no other thread has been started yet.
        let report = unsafe { demo::rays::run(&options)? };
        if json {
            println!("{:#}", report.json())
        } else {
            report.print()
        }
        report.validation_messages
    } else {
        // SAFETY: no other thread has been started yet.
        let report = unsafe { demo::run(&options)? };
        if json {
            println!("{:#}", report.json())
        } else {
            report.print()
        }
        report.validation_messages
    };
    if let (Some(out), false) = (&options.out, json) {
        println!("wrote             {}", out.display());
    }
    if messages > 0 {
        eprintln!("cts-runner: {messages} messages of the validation layer");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let parsed = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    parsed.filter(|&(w, h)| (1..=16384).contains(&w) && (1..=16384).contains(&h)).ok_or("expected WxH".into())
}

fn run_compare(parser: &mut Parser) -> Outcome {
    let mut options = compare::Options::default();
    let mut json = false;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("icd") => {
                let name = parser.value()?;
                let icd = (name != "grus").then(|| PathBuf::from(name));
                options.targets.push(Target { icd, ..Target::default() });
            }
            Arg::Long("runs") => options.runs = parser.value()?.parse()?,
            Arg::Long("frames") => options.frames = parser.value()?.parse()?,
            Arg::Long("json") => json = true,
            Arg::Long("help") | Arg::Short('h') => return help(),
            other => return Err(other.unexpected().into()),
        }
    }
    compare::run(&options, json)?;
    Ok(ExitCode::SUCCESS)
}

fn run_bench(parser: &mut Parser) -> Outcome {
    match bench::Options::parse(parser)? {
        Some(options) => Ok(bench::run(&options)?),
        None => {
            print!("{}", bench::HELP);
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn parse_prefix(parser: &mut Parser) -> Result<Option<PathBuf>, lexopt::Error> {
    let mut prefix = None;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("prefix") => prefix = Some(PathBuf::from(parser.value()?)),
            other => return Err(other.unexpected()),
        }
    }
    Ok(prefix)
}

fn run_install(parser: &mut Parser) -> Outcome {
    let prefix = parse_prefix(parser)?;
    let places = install::install(prefix.as_deref())?;
    println!("{}\n{}", places.library.display(), places.manifest.display());
    // Checks that the manifest leads to a library that can be opened.
    vk::Api::open_icd(&vk::Manifest::read(&places.manifest)?)?;
    Ok(ExitCode::SUCCESS)
}

fn run_uninstall(parser: &mut Parser) -> Outcome {
    let prefix = parse_prefix(parser)?;
    let found = install::uninstall(prefix.as_deref())?;
    println!("{}", if found { "removed" } else { "nothing was installed there" });
    Ok(ExitCode::SUCCESS)
}

//! The command line of `cargo xtask dist`.

use grus_dist::options::{HELP, Options};
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = match Options::parse(lexopt::Parser::from_env()) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("dist: {error}");
            return ExitCode::from(2);
        }
    };
    match grus_dist::run(&options) {
        Ok(paths) => {
            for path in paths {
                let bytes = std::fs::metadata(&path).map_or(0, |m| m.len());
                println!("{bytes:>9}  {}", path.display());
            }
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("dist: {message}");
            ExitCode::FAILURE
        }
    }
}

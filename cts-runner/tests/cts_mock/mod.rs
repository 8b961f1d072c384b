//! A mock of deqp that misbehaves towards its runner as real ones do. The last component of a
//! case's name, up to `_`, selects what happens in the case.
//!
//! The process is the test's own executable. A shell script starts it with the name of one ignored
//! test. Drivers are manifests that name empty libraries, and the "device" of `libX.so` is `Mock
//! X`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Possible events in a case, and the status that the runner must give it without repetitions.
pub const ACTS: [(&str, &str); 19] = [
    ("pass", "Pass"),
    ("fail", "Fail"),
    ("image", "Fail"),
    ("warn", "Warning"),
    ("unsupported", "NotSupported"),
    ("resource", "Fail"),
    ("lost", "Fail"),
    ("crash", "Crash"),
    ("exit", "Crash"),
    ("garbage", "Pass"),
    ("silent", "Pass"),
    ("nolog", "Pass"),
    ("twice", "Pass"),
    ("missing", "Missing"),
    ("missonce", "Pass"),
    ("flaky", "Fail"),
    ("poison", "Crash"),
    ("late", "Pass"),
    ("hang", "Timeout"),
];

/// Returns the event that a case's name selects.
pub fn act(name: &str) -> &str {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.split('_').next().unwrap_or(last)
}

/// Returns the status that the runner must give a case.
pub fn status(name: &str) -> &'static str {
    ACTS.iter().find(|(act_name, _)| *act_name == act(name)).map_or("Pass", |(_, status)| status)
}

struct Mock {
    state: PathBuf,
    device: String,
    log: Option<std::fs::File>,
}

/// Runs the mock process. Its arguments are in `MOCK_ARGS`, one per line.
pub fn run() {
    let arguments = std::env::var("MOCK_ARGS").expect("started by the script");
    let option = |name: &str| arguments.lines().find_map(|line| line.strip_prefix(&format!("--deqp-{name}=")));
    let state = PathBuf::from(std::env::var_os("MOCK_STATE").expect("the test says where"));
    if state.join("dead").exists() {
        eprintln!("mock: cannot find libfoo.so.7");
        std::process::exit(127);
    }
    if option("runmode") == Some("stdout-caselist") {
        let all = std::fs::read_to_string(state.join("all.txt")).expect("a list");
        all.lines().for_each(|name| print(&format!("TEST: {name}\n")));
        let mut listings = OpenOptions::new().create(true).append(true).open(state.join("listings")).expect("a file");
        listings.write_all(b"listed\n").expect("a line");
        std::process::exit(0);
    }
    let manifest = std::fs::read_to_string(std::env::var_os("VK_DRIVER_FILES").expect("a driver")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    let library = PathBuf::from(manifest["ICD"]["library_path"].as_str().expect("a library"));
    if let Some(trace) = std::env::var_os("LD_DEBUG_OUTPUT").filter(|_| !state.join("other_library").exists()) {
        let trace = format!("{}.{}", trace.display(), std::process::id());
        std::fs::write(trace, format!("     7:\tcalling init: {}\n", library.display())).expect("a trace");
    } else if let Some(trace) = std::env::var_os("LD_DEBUG_OUTPUT") {
        std::fs::write(trace, "     7:\tcalling init: /usr/lib/libother.so\n").expect("a trace");
    }
    let letter = library.file_stem().map(|stem| stem.to_string_lossy().trim_start_matches("lib").to_string());
    let device = format!("Mock {}", letter.expect("a name"));
    let log = std::fs::File::create(option("log-filename").expect("a log")).expect("the log is made");
    let list = std::fs::read_to_string(option("caselist-file").expect("a list")).expect("the list is there");
    Mock { state, device, log: Some(log) }.session(&list);
}

fn print(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).expect("standard output");
    std::io::stdout().flush().expect("standard output");
}

impl Mock {
    fn session(&mut self, list: &str) {
        let mut names: Vec<&str> = list.lines().collect();
        if names.iter().any(|name| act(name) == "poison") {
            eprintln!("mock: this list makes me ill");
            std::process::abort();
        }
        let device = match self.state.join("changes").exists() && !names[0].contains(".info.") {
            true => "Mock impostor".to_string(),
            false => self.device.clone(),
        };
        if !self.state.join("nameless").exists() {
            self.write(&format!("#sessionInfo releaseName mock-cts-1\n#sessionInfo deviceName {device}\n"));
        }
        self.write("\n#beginSession\n");
        // deqp runs cases in the order of its own tree.
        names.sort();
        for name in &names {
            let once = |kind: &str| act(name) == kind && self.first_time(name);
            if act(name) == "missing" || once("missonce") {
                continue;
            }
            self.case(name);
        }
        print("\nDONE!\n");
        self.write("\n#endSession\n");
        if names.iter().any(|name| act(name) == "late") {
            std::process::abort();
        }
        std::process::exit(0);
    }

    fn write(&mut self, text: &str) {
        if let Some(log) = &mut self.log {
            log.write_all(text.as_bytes()).expect("the log");
        }
    }

    /// Returns true if the driver runs the case for the first time.
    fn first_time(&self, name: &str) -> bool {
        let path = self.state.join(format!("{}-{name}", self.device));
        OpenOptions::new().create_new(true).write(true).open(path).is_ok()
    }

    fn case(&mut self, name: &str) {
        let mut starts = OpenOptions::new().create(true).append(true).open(self.state.join("starts")).expect("a file");
        // A single write is used, because several processes append to the file, and `writeln!`
        // would write the line in pieces.
        starts.write_all(format!("{} {name}\n", self.device).as_bytes()).expect("a line");
        print(&format!("\nTest case '{name}'..\n"));
        if act(name) != "nolog" {
            self.write(&format!("\n#beginTestCaseResult {name}\n<?xml version=\"1.0\"?>\n<TestCaseResult>\n"));
        }
        if name.contains(".info.") && !self.state.join("nameless").exists() {
            let device = self.device.clone();
            self.write(&format!(" <Text>apiVersion: 1.3.0\ndeviceName: {device}\n</Text>\n"));
        }
        let (code, message) = self.act(name);
        let image = "<Image Name=\"Result\" Width=\"1\" Height=\"1\" Format=\"RGBA8888\" CompressionMode=\"PNG\">\n iVBO\n Rw0=\n</Image>";
        let image = if act(name) == "image" { image } else { "" };
        if act(name) != "nolog" {
            self.write(&format!(
                "{image} <Result StatusCode=\"{code}\">{message}</Result>\n</TestCaseResult>\n\n#endTestCaseResult\n"
            ));
        }
        if act(name) != "silent" {
            print(&format!("  {code} ({message})\n"));
        }
        if act(name) == "twice" {
            print(&format!("\nTest case '{name}'..\n  Fail (again)\n"));
        }
        if matches!(code, "ResourceError" | "DeviceLost") {
            print("\nABORTED!\n");
            std::process::exit(1);
        }
    }

    fn act(&mut self, name: &str) -> (&'static str, &'static str) {
        match act(name) {
            "fail" => eprintln!("driver says: <not good>"),
            "crash" => {
                eprintln!("driver: assertion failed");
                std::process::abort();
            }
            "exit" => std::process::exit(0),
            "hang" => self.hang(),
            "slow" => std::thread::sleep(Duration::from_millis(30)),
            "garbage" => garbage(),
            _ => {}
        }
        match act(name) {
            "fail" | "image" => ("Fail", "got 3, expected \"4\""),
            "warn" => ("QualityWarning", "coarse"),
            "unsupported" => ("NotSupported", "no feature"),
            "resource" => ("ResourceError", "out of memory"),
            "lost" => ("DeviceLost", "device lost"),
            "flaky" if self.first_time(name) => ("Fail", "this time"),
            "bdiff" if self.device != "Mock B" => ("Fail", "not here"),
            "bonly" if self.device != "Mock B" => ("NotSupported", "not here"),
            _ => ("Pass", "fine"),
        }
    }

    /// Hangs forever, together with a process that it starts.
    fn hang(&self) -> ! {
        let mut child = std::process::Command::new("/bin/sleep").arg("1000").spawn().expect("sleep");
        std::fs::write(self.state.join("sleeper"), child.id().to_string()).expect("a file");
        loop {
            let _ = child.wait();
        }
    }
}

/// Prints long output that is not text.
fn garbage() {
    let mut out = std::io::stdout();
    let _ = out.write_all(b"\xff\xfe\x00Test case 'dEQP-VK.not.asked'..\n  Pass (for)\n\xf0\x28");
    let _ = out.write_all(&vec![b'x'; 3 << 20]);
    let _ = std::io::stderr().write_all(&vec![0xfe; 1 << 20]);
    let _ = out.flush();
}

/// A folder with the mock, two drivers and the results.
pub struct Bench {
    /// Path of the folder.
    pub folder: PathBuf,
}

impl Bench {
    /// Makes the folder.
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("cts-mock-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("state")).expect("a folder");
        std::fs::create_dir_all(folder.join("expect")).expect("a folder");
        let this = std::env::current_exe().expect("the test's executable");
        // `exec` replaces the shell, because the process that the runner starts must be the one
        // that hangs.
        let script = format!(
            "#!/bin/sh\nMOCK_ARGS=$(printf '%s\\n' \"$@\")\nexport MOCK_ARGS\nexec '{}' --exact mock_deqp --ignored --nocapture -q\n",
            this.display()
        );
        let bench = Self { folder };
        bench.write("deqp", &script);
        let mut mode = std::fs::metadata(bench.path("deqp")).expect("the script").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        std::fs::set_permissions(bench.path("deqp"), mode).expect("the script can be started");
        for letter in ["A", "B"] {
            let library = bench.path(&format!("lib{letter}.so"));
            bench.write(&format!("lib{letter}.so"), "");
            let manifest = serde_json::json!({ "ICD": { "library_path": library, "api_version": "1.3.0" } });
            bench.write(&format!("{letter}.json"), &manifest.to_string());
        }
        bench
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file in the folder.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    /// Writes the case list.
    pub fn list(&self, names: &[String]) {
        self.write("list.txt", &(names.join("\n") + "\n"));
    }

    /// Returns the command of the runner on driver A, with the case list of the folder unless
    /// `--group` is given.
    pub fn runner(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = self.listless();
        if !arguments.contains(&"--group") {
            command.arg("--caselist").arg(self.path("list.txt"));
        }
        command.args(arguments);
        command
    }

    /// Returns the command of the runner on driver A without a case list, so that it asks deqp for
    /// the cases.
    pub fn listless(&self) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cts-runner"));
        command.arg("cts").arg("--deqp").arg(self.path("deqp")).arg("--icd").arg(self.path("A.json"));
        command.arg("--out").arg(self.path("out")).arg("--expect").arg(self.path("expect"));
        command.env("MOCK_STATE", self.path("state")).env_remove("DEQP_VK");
        command
    }

    /// Runs the runner to its end.
    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::execute(&mut self.runner(arguments))
    }

    /// Returns the rows of a CSV: case, attempt, status.
    pub fn rows(&self, name: &str) -> Vec<(String, u32, String)> {
        rows(&self.path(name))
    }

    /// Returns the cases that mock processes started, with their driver.
    pub fn starts(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("state/starts")).unwrap_or_default();
        text.lines().filter(|line| !line.contains(".info.")).map(str::to_owned).collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Result of a run of the runner.
#[derive(Debug)]
pub struct Run {
    /// Exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Run {
    /// Runs a command to its end.
    pub fn execute(command: &mut std::process::Command) -> Run {
        let output = command.output().expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Run { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

/// Returns the complete rows of a CSV.
pub fn rows(path: &Path) -> Vec<(String, u32, String)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let row = |line: &str| {
        let mut fields = line.split(',');
        let mut next = || fields.next().unwrap_or("").to_string();
        let (case, attempt, status) = (next(), next(), next());
        (case, attempt.parse().unwrap_or_else(|_| panic!("{line}")), status)
    };
    text[..whole].lines().skip(1).map(row).collect()
}

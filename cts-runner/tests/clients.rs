//! Tests of external programs: unmodified vulkaninfo and vkcube, through the loader, on X11 and on
//! Wayland, and glmark2 on Mesa's OpenGL (zink).
//!
//! The picture of a fixed frame is captured as follows, because the test is an X client too. It
//! redirects the windows of a private Xvfb into pixmaps (the Composite extension). It keeps the
//! pixmap of vkcube's window, which outlives the window. vkcube turns by a fixed angle per frame,
//! so after `--c N` the pixmap holds frame N, regardless of the driver's speed.
//!
//! Linux only: the programs are those of Linux.
#![cfg(unix)]

mod support;

use cts_runner::vk::Manifest;
use std::io::{BufRead, BufReader, IoSlice};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{assert_silent, command, driver, example, layer, loader, reference, skip, succeed, tool};
use x11rb::connection::{Connection, RequestConnection};
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{ChangeWindowAttributesAux, ConnectionExt as _, EventMask, ImageFormat, Window};
use x11rb::rust_connection::RustConnection;

const LAYER: (&str, &str) = ("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation");
/// Number of the frame that is compared with lavapipe's.
const FRAME: &str = "40";

/// A private X server, which ends when it is dropped.
struct Xvfb {
    process: Child,
    display: String,
}

impl Xvfb {
    fn start() -> Result<Self, String> {
        let program = tool("Xvfb")?;
        // A server resets when its last client disconnects and refuses connections meanwhile, and
        // vulkaninfo opens one connection after another.
        let mut process = Command::new(program)
            .args(["-displayfd", "1", "-noreset", "-screen", "0", "800x800x24", "-nolisten", "tcp"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("Xvfb does not start: {e}"))?;
        let mut number = String::new();
        if let Some(out) = process.stdout.take() {
            // The server prints its number when it is ready.
            BufReader::new(out).read_line(&mut number).map_err(|e| e.to_string())?;
        }
        let display = format!(":{}", number.trim());
        let server = Self { process, display };
        if server.display.len() < 2 { Err("Xvfb gives no display".into()) } else { Ok(server) }
    }
}

impl Drop for Xvfb {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A private Wayland compositor without output, which ends when it is dropped.
struct Weston {
    process: Child,
    /// Value of `XDG_RUNTIME_DIR`, the folder that contains its socket.
    runtime: PathBuf,
}

impl Weston {
    fn start() -> Result<Self, String> {
        const SOCKET: &str = "grus";
        let program = tool("weston")?;
        let runtime = std::env::temp_dir().join(format!("grus-wayland-{}", std::process::id()));
        let made = std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&runtime);
        made.map_err(|e| format!("{}: {e}", runtime.display()))?;
        let process = Command::new(program)
            .args(["--backend=headless-backend.so", "--no-config", "--idle-time=0", "--socket", SOCKET])
            .env("XDG_RUNTIME_DIR", &runtime)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("weston does not start: {e}"))?;
        let server = Self { process, runtime };
        let start = Instant::now();
        while !server.runtime.join(SOCKET).exists() {
            if start.elapsed() > Duration::from_secs(60) {
                return Err("weston makes no socket".into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(server)
    }

    /// Returns the command of a program that finds this compositor and no X server.
    fn client(&self, program: &str) -> Command {
        let mut command = command(program, &driver());
        command.env("XDG_RUNTIME_DIR", &self.runtime).env("WAYLAND_DISPLAY", "grus").env_remove("DISPLAY");
        command
    }
}

impl Drop for Weston {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.runtime);
    }
}

/// Checks the tools that most tests here need. The error names a missing tool.
fn tools(names: &[&str]) -> Result<(), String> {
    loader()?;
    names.iter().try_for_each(|name| tool(name).map(drop))
}

fn vulkaninfo(args: &[&str]) {
    if let Err(why) = tools(&["vulkaninfo"]).and_then(|()| layer()) {
        return skip(&why);
    }
    // With a display, vulkaninfo makes an xcb and an xlib surface and queries them.
    let server = match Xvfb::start() {
        Ok(server) => server,
        Err(why) => return skip(&why),
    };
    let mut command = command("vulkaninfo", &driver());
    let output = succeed(command.args(args).env("DISPLAY", &server.display).env(LAYER.0, LAYER.1));
    assert_silent(&output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("deviceName"), "{text}");
}

#[test]
fn vulkaninfo_reports_everything() {
    vulkaninfo(&[]);
}

#[test]
fn vulkaninfo_reports_a_summary() {
    vulkaninfo(&["--summary"]);
}

/// Runs vkcube for 300 frames under the validation layer.
fn vkcube(extra: &[&str]) {
    if let Err(why) = tools(&["vkcube"]).and_then(|()| layer()) {
        return skip(&why);
    }
    let server = match Xvfb::start() {
        Ok(server) => server,
        Err(why) => return skip(&why),
    };
    let mut command = command("vkcube", &driver());
    command.args(["--c", "300", "--suppress_popups"]).args(extra).env("DISPLAY", &server.display);
    assert_silent(&succeed(command.env(LAYER.0, LAYER.1)));
}

/// Returns a folder in which the driver's library has the name of the Vulkan loader.
fn library_as_loader() -> PathBuf {
    let folder = support::scratch("library-as-loader");
    let library = Manifest::read(&driver()).expect("a manifest").library.canonicalize().expect("a library");
    std::os::unix::fs::symlink(library, folder.join("libvulkan.so.1")).expect("a link");
    folder
}

/// Runs programs that are linked to the Vulkan loader on the driver's library in its place. They
/// get no manifest, so that no loader of the system can find the driver.
#[test]
fn programs_run_on_the_library_in_place_of_the_loader() {
    if let Err(why) = tools(&["vulkaninfo", "vkcube"]) {
        return skip(&why);
    }
    let server = match Xvfb::start() {
        Ok(server) => server,
        Err(why) => return skip(&why),
    };
    let folder = library_as_loader();
    let client = |program: &str, arguments: &[&str]| {
        let mut command = command(program, Path::new("/no/manifest"));
        command.args(arguments).env("LD_LIBRARY_PATH", &folder).env("LD_BIND_NOW", "1");
        let output = succeed(command.env("DISPLAY", &server.display));
        // vkcube names the device on standard error.
        [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
    };
    let summary = client("vulkaninfo", &["--summary"]);
    assert!(summary.contains("Grus") && !summary.contains("GPU1:"), "{summary}");
    let frames = client("vkcube", &["--c", "50", "--suppress_popups"]);
    assert!(frames.contains("Grus"), "{frames}");
}

/// Compares the symbols of the library with those of the installed loader, whatever its version.
#[test]
fn the_library_exports_what_the_loader_exports() {
    if let Err(why) = tools(&["nm"]) {
        return skip(&why);
    }
    let symbols = |path: &Path| -> std::collections::BTreeSet<String> {
        let output = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(path));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines()
            .filter_map(|line| line.split(" T ").nth(1))
            .filter(|s| s.starts_with("vk"))
            .map(String::from)
            .collect()
    };
    let folders = [format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH), "/usr/lib64".into(), "/usr/lib".into()];
    let loader = folders.iter().map(|folder| Path::new(folder).join("libvulkan.so.1")).find(|path| path.is_file());
    let Some(loader) = loader else { return skip("libvulkan.so.1 is in no usual folder (libvulkan1)") };
    let expected = symbols(&loader);
    assert!(expected.len() > 200, "{}: {expected:?}", loader.display());
    let exported = symbols(&Manifest::read(&driver()).expect("a manifest").library);
    let missing: Vec<_> = expected.difference(&exported).collect();
    assert!(missing.is_empty(), "the loader exports {missing:?}");
}

#[test]
fn vkcube_runs_on_xcb() {
    vkcube(if vkcube_selects_window_system() { &["--wsi", "xcb"] } else { &[] });
}

#[test]
fn vkcube_runs_on_xlib() {
    if !vkcube_selects_window_system() {
        // vkcube of Debian 12 only supports xcb. `xlib_present` covers presentation through Xlib
        // there.
        println!("this vkcube has no --wsi option");
        return;
    }
    vkcube(&["--wsi", "xlib"]);
}

#[test]
fn xlib_surface_presents() {
    if let Err(why) = layer() {
        return skip(&why);
    }
    let server = match Xvfb::start() {
        Ok(server) => server,
        Err(why) => return skip(&why),
    };
    let mut command = command(example("xlib_present"), &driver());
    assert_silent(&succeed(command.env("DISPLAY", &server.display).env(LAYER.0, LAYER.1)));
}

#[test]
fn vkcube_and_vulkaninfo_run_on_wayland() {
    // Each vkcube of Debian 12 supports one window system, and there is a program for each system.
    let (cube, wsi): (_, &[&str]) =
        if vkcube_selects_window_system() { ("vkcube", &["--wsi", "wayland"]) } else { ("vkcube-wayland", &[]) };
    if let Err(why) = tools(&[cube, "vulkaninfo"]).and_then(|()| layer()) {
        return skip(&why);
    }
    let weston = match Weston::start() {
        Ok(weston) => weston,
        Err(why) => return skip(&why),
    };
    let output = succeed(weston.client("vulkaninfo").env(LAYER.0, LAYER.1));
    assert_silent(&output);
    assert!(String::from_utf8_lossy(&output.stdout).contains("Surface type = VK_KHR_wayland_surface"));
    // The modes are FIFO, at the pace of the compositor, and MAILBOX, without a pace.
    for (frames, mode) in [("30", "2"), ("300", "1")] {
        let mut cube = weston.client(cube);
        cube.args(["--c", frames, "--suppress_popups", "--incremental_present", "--present_mode", mode]).args(wsi);
        assert_silent(&succeed(cube.env(LAYER.0, LAYER.1)));
    }
}

fn vkcube_selects_window_system() -> bool {
    let help = Command::new("vkcube").arg("--help").output();
    help.is_ok_and(|h| [h.stdout, h.stderr].iter().any(|t| String::from_utf8_lossy(t).contains("--wsi")))
}

#[test]
fn vkcube_draws_what_lavapipe_draws() {
    if let Err(why) = tools(&["vkcube", "Xvfb"]) {
        return skip(&why);
    }
    let reference = match reference() {
        Ok(reference) => reference,
        Err(why) => return skip(&why),
    };
    // A late ConfigureNotify makes vkcube resize and draw one frame more or less, which shifts its
    // animation on a busy machine. The test therefore makes a few attempts until both drivers show
    // the same frame. A wrong picture cannot become right by repetition.
    let mut least = usize::MAX;
    for _ in 0..4 {
        let (expected, actual) = (frame_of_vkcube(&reference), frame_of_vkcube(&driver()));
        assert_eq!(expected.len(), actual.len());
        assert!(expected.iter().any(|b| *b != expected[0]), "lavapipe's picture is empty");
        let pixels = expected.chunks_exact(4).zip(actual.chunks_exact(4));
        let far = pixels.filter(|(e, a)| (0..3).any(|i| e[i].abs_diff(a[i]) > 2)).count();
        let allowed = expected.len() / 4 / 1000;
        if far <= allowed {
            return;
        }
        least = least.min(far);
    }
    panic!("at least {least} pixels differ by more than 2/255 in every attempt");
}

/// Returns the pixels of frame [`FRAME`] of vkcube.
fn frame_of_vkcube(icd: &Path) -> Vec<u8> {
    let server = Xvfb::start().expect("Xvfb starts");
    let (connection, screen) = RustConnection::connect(Some(&server.display)).expect("Xvfb answers");
    let root = connection.setup().roots[screen].root;
    let composite = Composite::new(&connection);
    composite.redirect_subwindows(root);
    let events = ChangeWindowAttributesAux::new().event_mask(EventMask::SUBSTRUCTURE_NOTIFY);
    connection.change_window_attributes(root, &events).expect("events").check().expect("events");
    let mut cube = command("vkcube", icd)
        .args(["--c", FRAME, "--suppress_popups"])
        .env("DISPLAY", &server.display)
        .stdout(Stdio::null())
        .spawn()
        .expect("vkcube starts");
    let window = mapped_window(&connection);
    let pixmap = connection.generate_id().expect("an id");
    composite.name_window_pixmap(window, pixmap);
    assert!(cube.wait().expect("vkcube ends").success());
    let size = connection.get_geometry(pixmap).expect("a size").reply().expect("a size");
    let image = connection
        .get_image(ImageFormat::Z_PIXMAP, pixmap, 0, 0, size.width, size.height, !0)
        .expect("a picture")
        .reply()
        .expect("a picture");
    image.data
}

/// The requests of the X extension Composite that keep the content of windows. They are encoded
/// here, because the feature of x11rb that does this would compile x11rb, and with it the driver,
/// once more for the tests (`builds_and_tests_select_equal_features` in `dependencies.rs`).
struct Composite<'a> {
    connection: &'a RustConnection,
    opcode: u8,
}

impl Composite<'_> {
    /// Announces version 0.4 of the extension to the server, which other requests require.
    fn new(connection: &RustConnection) -> Composite<'_> {
        let information = connection.extension_information("Composite").expect("the server answers");
        let composite = Composite { connection, opcode: information.expect("Composite").major_opcode };
        let request = composite.request(0, [0, 4]);
        let slices = [IoSlice::new(&request)];
        let version = connection.send_request_with_reply::<()>(&slices, Vec::new()).expect("Composite");
        version.raw_reply().expect("Composite");
        composite
    }

    /// Encodes a request of two words.
    fn request(&self, minor: u8, words: [u32; 2]) -> Vec<u8> {
        let mut bytes = vec![self.opcode, minor];
        bytes.extend(3u16.to_ne_bytes());
        bytes.extend(words.into_iter().flat_map(u32::to_ne_bytes));
        bytes
    }

    /// Sends a request without a reply, and waits until the server has executed it.
    fn send(&self, minor: u8, words: [u32; 2]) {
        let request = self.request(minor, words);
        let sent = self.connection.send_request_without_reply(&[IoSlice::new(&request)], Vec::new());
        sent.expect("the request is sent").check().expect("the request is valid");
    }

    /// Redirects the children of a window to memory, and lets the server draw them (an update mode
    /// of 0, which is automatic).
    fn redirect_subwindows(&self, window: Window) {
        self.send(2, [window, 0]);
    }

    /// Gives the content of a redirected window an identifier.
    fn name_window_pixmap(&self, window: Window, pixmap: u32) {
        self.send(6, [window, pixmap]);
    }
}

fn mapped_window(connection: &RustConnection) -> Window {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        match connection.poll_for_event().expect("the server answers") {
            Some(Event::MapNotify(event)) => return event.window,
            Some(_) => {}
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    panic!("vkcube shows no window");
}

/// Checks OpenGL on the driver, with each kind of program that zink can be told to use: shader
/// objects (its default where the driver has them and all dynamic state), pipeline libraries, and
/// whole pipelines. A Mesa that does not know a word of `ZINK_DEBUG` ignores it. glmark2 examines
/// the pixels of its scenes itself.
#[test]
fn glmark2_runs_on_zink_with_each_kind_of_program() {
    if let Err(why) = tools(&["glmark2", "Xvfb"]) {
        return skip(&why);
    }
    let server = match Xvfb::start() {
        Ok(server) => server,
        Err(why) => return skip(&why),
    };
    for selection in ["", "noshobj,gpl", "noshobj"] {
        let mut command = command("glmark2", &driver());
        command.args(["--validate", "--size", "320x240"]).env("DISPLAY", &server.display);
        command.env("MESA_LOADER_DRIVER_OVERRIDE", "zink").env("LIBGL_ALWAYS_SOFTWARE", "1");
        let output = succeed(command.env("ZINK_DEBUG", selection));
        let text = String::from_utf8_lossy(&output.stdout);
        let passed = text.matches("Validation: Success").count();
        assert!(text.contains("GL_RENDERER:    zink"), "ZINK_DEBUG={selection}: {text}");
        assert!(passed >= 5 && !text.contains("Validation: Failure"), "ZINK_DEBUG={selection}: {text}");
    }
}

/// Vector operations are only fast if the intrinsics are inlined. A closure lacks the target
/// features of the function around it. If it is not inlined, each vector operation in it becomes a
/// call.
#[test]
#[cfg_attr(debug_assertions, ignore = "without optimisation everything is a call")]
fn no_operation_on_vectors_is_a_call() {
    if let Err(why) = tool("readelf") {
        return skip(&why);
    }
    let manifest = cts_runner::vk::Manifest::read(&driver()).expect("the driver's manifest");
    let output = succeed(Command::new("readelf").arg("--symbols").arg("--wide").arg(&manifest.library));
    let symbols = String::from_utf8_lossy(&output.stdout);
    assert!(symbols.contains("planar_kernel"), "the library has been stripped: {} symbols", symbols.lines().count());
    let calls: Vec<&str> = symbols.lines().filter(|l| l.contains("core_arch") && l.contains("__mm")).collect();
    assert!(
        calls.is_empty(),
        "find their callers (objdump -d) and make closures there inline functions:\n{}",
        calls.join("\n")
    );
}

#[test]
fn the_library_needs_nothing_but_libc() {
    if let Err(why) = tool("readelf") {
        return skip(&why);
    }
    let manifest = cts_runner::vk::Manifest::read(&driver()).expect("the driver's manifest");
    let output = succeed(Command::new("readelf").arg("-d").arg(&manifest.library));
    let text = String::from_utf8_lossy(&output.stdout);
    let needed: Vec<&str> =
        text.lines().filter(|l| l.contains("(NEEDED)")).filter_map(|l| l.split(['[', ']']).nth(1)).collect();
    assert!(needed.contains(&"libc.so.6"), "{text}");
    // libm is not allowed, because its functions give other bits in another C library. The loader
    // is allowed, because it supports thread-local variables.
    let others: Vec<_> = needed.iter().filter(|name| !name.starts_with("ld-linux") && **name != "libc.so.6").collect();
    assert!(others.is_empty(), "{others:?}");
}

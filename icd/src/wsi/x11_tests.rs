//! Tests of the presenter with a real X server: Xvfb, started for the test. They are skipped with a
//! message if there is none.

use super::*;
use crate::wsi::x11_stream::BoundedStream;
use std::io::{BufRead, BufReader, IoSlice, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use x11rb::protocol::xproto::{ConfigureWindowAux, CreateWindowAux, WindowClass};
use x11rb::rust_connection::{DefaultStream, RustConnection, Stream};

/// A server of the test, on a display number that it chose.
struct Xvfb {
    child: Child,
    display: String,
}

impl Xvfb {
    fn start(screen: &str, extra: &[&str]) -> Option<Xvfb> {
        let arguments = ["-noreset", "-displayfd", "1", "-screen", "0", screen, "-nolisten", "tcp"];
        let mut command = Command::new("Xvfb");
        command.args(arguments).args(extra).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else {
            eprintln!("skipped: no Xvfb");
            return None;
        };
        let mut line = String::new();
        BufReader::new(child.stdout.take()?).read_line(&mut line).ok()?;
        Some(Xvfb { child, display: format!(":{}", line.trim()) })
    }

    fn window(&self, window: Window) -> WindowId {
        WindowId { display: Some(self.display.clone()), window }
    }
}

impl Drop for Xvfb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a window by another client, as an application would.
fn window(server: &Xvfb, width: u16, height: u16) -> (RustConnection, Window) {
    let (client, screen) = x11rb::connect(Some(&server.display)).unwrap();
    let root = &client.setup().roots[screen];
    let window = client.generate_id().unwrap();
    let aux = CreateWindowAux::new().background_pixel(0);
    client
        .create_window(root.root_depth, window, root.root, 0, 0, width, height, 0, WindowClass::INPUT_OUTPUT, 0, &aux)
        .unwrap()
        .check()
        .unwrap();
    client.map_window(window).unwrap().check().unwrap();
    (client, window)
}

/// Returns blue, green and red of a pixel of the test picture.
fn pixel(frame: u32, x: u32, y: u32) -> [u8; 4] {
    [(x + frame) as u8, (y * 3) as u8, (x ^ y) as u8, 0xff]
}

fn show_and_compare(presenter: &mut X11Window, client: &RustConnection, window: Window, frame: u32, size: (u16, u16)) {
    presenter
        .present([0, 0], [size.0, size.1], |y, out| {
            for (x, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                *out = pixel(frame, x as u32, y);
            }
        })
        .unwrap();
    // The answer shows that the server has taken the frame.
    presenter.extent().unwrap();
    let image =
        client.get_image(ImageFormat::Z_PIXMAP, window, 0, 0, size.0, size.1, u32::MAX).unwrap().reply().unwrap();
    for (i, got) in image.data.as_chunks::<4>().0.iter().enumerate() {
        let (x, y) = (i as u32 % u32::from(size.0), i as u32 / u32::from(size.0));
        assert_eq!(got[..3], pixel(frame, x, y)[..3], "frame {frame}, pixel {x}, {y}");
    }
    assert_eq!(image.data.len(), usize::from(size.0) * usize::from(size.1) * 4);
}

fn frames_arrive(extra: &[&str], shared: bool) {
    let Some(server) = Xvfb::start("1100x900x24", extra) else { return };
    let (client, id) = window(&server, 320, 200);
    let mut presenter = X11Window::open(&server.window(id)).unwrap();
    assert_eq!(presenter.pixel_order(), PixelOrder::Bgra);
    assert_eq!(presenter.extent().unwrap(), [320, 200]);
    show_and_compare(&mut presenter, &client, id, 1, (320, 200));
    show_and_compare(&mut presenter, &client, id, 2, (320, 200));
    assert_eq!(presenter.segments.each_ref().map(Option::is_some), [shared; 2]);
    // A bigger window needs a bigger segment, or more than one request.
    client.configure_window(id, &ConfigureWindowAux::new().width(1024).height(801)).unwrap().check().unwrap();
    assert_eq!(presenter.extent().unwrap(), [1024, 801]);
    presenter.max_data = presenter.max_data.min(1 << 18);
    show_and_compare(&mut presenter, &client, id, 3, (1024, 801));
    presenter.present([0, 0], [0, 0], |_, _| unreachable!("nothing to draw")).unwrap();
}

#[test]
fn frames_arrive_through_shared_memory() {
    frames_arrive(&[], true);
}

#[test]
fn frames_arrive_without_shared_memory() {
    frames_arrive(&["-extension", "MIT-SHM"], false);
}

/// Shows a picture of four quarters in a window of another size.
#[test]
fn pictures_are_placed_and_scaled_in_windows_of_another_size() {
    use ash::vk::{self, PresentGravityFlagsEXT as Gravity, PresentScalingFlagsEXT as Behavior};
    let Some(server) = Xvfb::start("640x480x24", &[]) else { return };
    let (client, id) = window(&server, 90, 60);
    let surface = crate::wsi::surface::Surface::of_window(std::sync::Arc::default(), server.window(id));
    let picture = vk::Extent2D { width: 30, height: 30 };
    let quarter = |x: u32, y: u32| [1 + u8::from(x >= 15) + 2 * u8::from(y >= 15), 7, 9, 0];
    // Positions of pixels of the first, second and third quarter, and a position that the picture
    // does not cover.
    type Case = (Behavior, Gravity, [[i16; 2]; 3], Option<[i16; 2]>);
    let cases: [Case; 4] = [
        (Behavior::ONE_TO_ONE, Gravity::MIN, [[0, 0], [29, 0], [14, 29]], Some([30, 29])),
        (Behavior::ONE_TO_ONE, Gravity::MAX, [[60, 30], [89, 30], [60, 59]], Some([59, 59])),
        (Behavior::ASPECT_RATIO_STRETCH, Gravity::CENTERED, [[44, 29], [45, 0], [15, 59]], Some([14, 0])),
        (Behavior::STRETCH, Gravity::MIN, [[44, 29], [89, 0], [0, 59]], None),
    ];
    for (behavior, gravity, places, nothing) in cases {
        client.clear_area(false, id, 0, 0, 0, 0).unwrap().check().unwrap();
        let info = vk::SwapchainPresentScalingCreateInfoEXT::default().scaling_behavior(behavior);
        let info = info.present_gravity_x(gravity).present_gravity_y(gravity);
        let scaling = crate::wsi::scaling::Scaling::new(&info).unwrap();
        let row = |_, y, out: &mut [u8]| {
            (0..).zip(out.as_chunks_mut::<4>().0).for_each(|(x, pixel)| *pixel = quarter(x, y));
        };
        surface.present(picture, scaling.as_ref(), row).unwrap();
        surface.extent().unwrap();
        let blue = |[x, y]: [i16; 2]| {
            client.get_image(ImageFormat::Z_PIXMAP, id, x, y, 1, 1, u32::MAX).unwrap().reply().unwrap().data[0]
        };
        assert_eq!(places.map(blue), [1, 2, 3], "{behavior:?} {gravity:?}");
        assert!(nothing.is_none_or(|place| blue(place) == 0), "{behavior:?} {gravity:?}");
    }
}

/// The window's size is known without a query.
#[test]
fn a_window_reports_its_size() {
    let Some(server) = Xvfb::start("640x480x24", &[]) else { return };
    let (client, id) = window(&server, 64, 48);
    let mut presenter = X11Window::open(&server.window(id)).unwrap();
    assert_eq!(presenter.known_extent().unwrap(), [64, 48]);
    client.configure_window(id, &ConfigureWindowAux::new().width(100)).unwrap().check().unwrap();
    let end = std::time::Instant::now() + Duration::from_secs(10);
    while presenter.known_extent().unwrap() != [100, 48] {
        assert!(std::time::Instant::now() < end);
        std::thread::yield_now();
    }
    client.destroy_window(id).unwrap().check().unwrap();
    while presenter.known_extent().is_ok() {
        assert!(std::time::Instant::now() < end);
    }
}

/// The server may read the application's request to create a window after the driver's requests.
#[test]
fn a_window_that_is_created_a_little_later_is_found() {
    let Some(server) = Xvfb::start("640x480x24", &[]) else { return };
    let (client, id) = window(&server, 64, 48);
    let later = client.generate_id().unwrap();
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| X11Window::open(&server.window(later)).map(|mut window| window.extent().ok()));
        std::thread::sleep(Duration::from_millis(20));
        let (aux, geometry) = (CreateWindowAux::new(), client.get_geometry(id).unwrap().reply().unwrap());
        let (depth, class) = (geometry.depth, WindowClass::INPUT_OUTPUT);
        let cookie = client.create_window(depth, later, geometry.root, 0, 0, 32, 16, 0, class, 0, &aux).unwrap();
        cookie.check().unwrap();
        assert_eq!(opened.join().unwrap().unwrap(), Some([32, 16]));
    });
}

#[test]
fn a_window_that_goes_away_is_an_error() {
    let Some(server) = Xvfb::start("640x480x24", &[]) else { return };
    let (client, id) = window(&server, 64, 64);
    assert!(matches!(X11Window::open(&server.window(id + 1)), Err(X11Error::Lost(_))));
    let mut presenter = X11Window::open(&server.window(id)).unwrap();
    client.destroy_window(id).unwrap().check().unwrap();
    // Possibly only the answer reports the error.
    let shown = presenter.present([0, 0], [64, 64], |_, out| out.fill(1));
    assert!(matches!(shown, Ok(()) | Err(X11Error::Lost(_))));
    assert!(matches!(presenter.extent(), Err(X11Error::Lost(_))));
}

#[test]
fn a_server_that_dies_is_an_error_and_not_a_hang() {
    let Some(server) = Xvfb::start("640x480x24", &[]) else { return };
    let (_client, id) = window(&server, 64, 64);
    let mut presenter = X11Window::open(&server.window(id)).unwrap();
    presenter.present([0, 0], [64, 64], |_, out| out.fill(1)).unwrap();
    drop(server);
    // The next request reports errors of the last one.
    let shown = [1, 2].map(|value| presenter.present([0, 0], [64, 64], |_, out| out.fill(value)).is_err());
    assert!(shown[1] && presenter.extent().is_err(), "{shown:?}");
}

#[test]
fn no_server_is_an_error() {
    assert!(matches!(
        X11Window::open(&WindowId { display: Some(":4094".to_owned()), window: 1 }),
        Err(X11Error::Connect(_))
    ));
}

/// A server that has only an abstract name is found, as the host's server is in a container. This
/// one refuses all connections with a reason, which identifies it; the application gets that reason
/// in a message.
#[test]
fn a_server_with_an_abstract_name_is_found() {
    use crate::ffi::messages::{DebugReportCallback, Messages};
    use ash::vk;
    use std::ffi::{CStr, c_char, c_void};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    use std::sync::{Arc, Mutex};
    static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    unsafe extern "system" fn record_message(
        _: vk::DebugReportFlagsEXT,
        _: vk::DebugReportObjectTypeEXT,
        _: u64,
        _: usize,
        _: i32,
        _: *const c_char,
        message: *const c_char,
        _: *mut c_void,
    ) -> vk::Bool32 {
        // SAFETY: the message is a C string.
        MESSAGES.lock().unwrap().push(unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned());
        vk::FALSE
    }
    let number = 30_000 + std::process::id() % 30_000;
    let name = SocketAddr::from_abstract_name(format!("/tmp/.X11-unix/X{number}")).unwrap();
    let listener = UnixListener::bind_addr(&name).unwrap();
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut setup = [0; 12];
        client.read_exact(&mut setup).unwrap();
        client.write_all(&[0, 12, 11, 0, 0, 0, 3, 0]).unwrap();
        client.write_all(b"not for you!").unwrap();
        // All other requests are read before the connection ends.
        client.shutdown(std::net::Shutdown::Write).unwrap();
        client.read_to_end(&mut Vec::new()).unwrap();
    });
    let messages = Arc::new(Messages::default());
    let info = vk::DebugReportCallbackCreateInfoEXT::default().flags(vk::DebugReportFlagsEXT::ERROR);
    messages.add_report_callback(Arc::new(DebugReportCallback::new(&info.pfn_callback(Some(record_message)))));
    let surface =
        crate::wsi::surface::Surface::of_window(messages, WindowId { display: Some(format!(":{number}")), window: 1 });
    assert_eq!(surface.extent(), Err(vk::Result::ERROR_SURFACE_LOST_KHR));
    server.join().unwrap();
    // Now there is no server, and the message names the address.
    assert_eq!(surface.extent(), Err(vk::Result::ERROR_SURFACE_LOST_KHR));
    let reported = MESSAGES.lock().unwrap();
    assert!(reported.len() == 2 && reported[0].contains("not for you!"), "{reported:?}");
    assert!(reported[1].contains(&format!("/tmp/.X11-unix/X{number}")), "{reported:?}");
}

/// A stopped server (by a debugger, or in a suspended session) loses the surface after a bounded
/// time, and blocks no thread for ever.
#[test]
fn waits_for_a_stopped_server_are_bounded() {
    for extra in [&[][..], &["-extension", "MIT-SHM"]] {
        let Some(server) = Xvfb::start("640x480x24", extra) else { return };
        let (_client, window) = window(&server, 320, 240);
        let timeout = Duration::from_millis(400);
        let mut presenter = X11Window::open_within(&server.window(window), timeout).unwrap();
        presenter.present([0, 0], [320, 240], |_, out| out.fill(1)).unwrap();
        let pid = server.child.id() as libc::pid_t;
        // SAFETY: signals a child of this process.
        unsafe { libc::kill(pid, libc::SIGSTOP) };
        let start = std::time::Instant::now();
        let results: Vec<_> = (0..3).map(|_| presenter.present([0, 0], [320, 240], |_, out| out.fill(2))).collect();
        drop(presenter);
        let waited = start.elapsed();
        // SAFETY: signals a child of this process.
        unsafe { libc::kill(pid, libc::SIGCONT) };
        assert!(results[1..].iter().all(|r| matches!(r, Err(X11Error::Lost(_)))), "{results:?}");
        assert!(waited >= timeout && waited < timeout * 8, "{waited:?}");
    }
}

/// Runs a test in a process where SIGPIPE has its default disposition: Rust's programs ignore it,
/// C's are killed by it.
pub(in crate::wsi) fn where_sigpipe_kills(test: &str, body: impl FnOnce()) {
    const CHILD: &str = "GRUS_TEST_SIGPIPE";
    if std::env::var_os(CHILD).is_some() {
        // SAFETY: this process runs only one test.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        return body();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let status = child.args(["--exact", test, "--nocapture"]).env(CHILD, "1").status().unwrap();
    assert!(status.success(), "{status}");
}

#[test]
fn writing_to_a_closed_connection_raises_no_signal() {
    where_sigpipe_kills("wsi::x11::tests::writing_to_a_closed_connection_raises_no_signal", || {
        let (ours, servers) = UnixStream::pair().unwrap();
        let stream = BoundedStream::new(DefaultStream::from_unix_stream(ours).unwrap().0, Duration::from_secs(1));
        let mut fds = Vec::new();
        assert_eq!(stream.write(b"request", &mut fds).unwrap(), 7);
        assert_eq!(stream.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"c")], &mut fds).unwrap(), 3);
        let mut arrived = [0; 16];
        assert_eq!((&servers).read(&mut arrived).unwrap(), 10);
        assert_eq!(arrived[..10], *b"requestabc");
        drop(servers);
        assert_eq!(stream.write(b"request", &mut fds).unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
        let vectored = stream.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"c")], &mut fds);
        assert_eq!(vectored.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
        // A descriptor is refused, not lost.
        fds.push(std::fs::File::open("/dev/null").unwrap().into());
        assert_eq!(stream.write(b"request", &mut fds).unwrap_err().kind(), std::io::ErrorKind::Unsupported);
        assert_eq!(fds.len(), 1);
    });
}

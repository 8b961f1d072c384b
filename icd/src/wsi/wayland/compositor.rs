//! A compositor for tests on one end of a pair of sockets. It implements as much of Wayland as the
//! driver uses, shows nothing, and behaves as a test demands. The other end is a client of
//! libwayland-client, as an application is.

use super::library::{Argument, Interface, Library, Proxy, library};
use parking_lot::{Condvar, Mutex};
use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, c_int, c_void};
use std::fs::File;
use std::io::Write;
use std::mem::{transmute, zeroed};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// `wl_shm.format`s that the compositor accepts.
pub const FORMATS: [u32; 4] = [0, 1, u32::from_le_bytes(*b"AB24"), u32::from_le_bytes(*b"XB24")];

/// A committed state of the surface.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Number of the buffer's object.
    pub buffer: u32,
    /// Width and height.
    pub extent: [u32; 2],
    /// `wl_shm.format`.
    pub format: u32,
    /// Pixels of all rows, without padding.
    pub pixels: Vec<u8>,
    /// Rectangles of `damage_buffer`.
    pub damage: Vec<[u32; 4]>,
}

#[derive(Clone)]
struct Buffer {
    file: Arc<File>,
    offset: u32,
    extent: [u32; 2],
    stride: u32,
    format: u32,
}

#[derive(Clone)]
enum Kind {
    Display,
    Registry,
    Compositor,
    Shm,
    Pool(Arc<File>),
    Buffer(Buffer),
    Surface,
}

/// Requests that the compositor has received, and its behaviour.
#[derive(Default)]
pub struct CompositorLog {
    /// Commits in order.
    pub commits: Vec<Commit>,
    /// Frame callbacks that have not been answered.
    frames: Vec<u32>,
    attached: Option<u32>,
    damage: Vec<[u32; 4]>,
    /// Number of existing buffers.
    pub buffers: usize,
    /// The compositor answers nothing.
    pub is_silent: bool,
    /// The compositor requests the next frame at each commit.
    pub answers_frames_at_once: bool,
    /// The compositor releases the previous buffer at each commit.
    pub releases_previous_buffer: bool,
}

/// A compositor for tests.
pub struct Compositor {
    socket: UnixStream,
    log: Mutex<CompositorLog>,
    changed: Condvar,
}

impl Compositor {
    /// Begins to serve `socket`.
    fn start(socket: UnixStream) -> Arc<Compositor> {
        let log = CompositorLog { releases_previous_buffer: true, ..CompositorLog::default() };
        let compositor = Arc::new(Compositor { socket, log: Mutex::new(log), changed: Condvar::new() });
        let served = compositor.clone();
        std::thread::spawn(move || served.serve());
        compositor
    }

    /// Changes the compositor's behaviour.
    pub fn set(&self, change: impl FnOnce(&mut CompositorLog)) {
        change(&mut self.log.lock());
    }

    /// Waits until `ready` returns a value, for some seconds at most.
    pub fn wait<R>(&self, mut ready: impl FnMut(&CompositorLog) -> Option<R>) -> R {
        let end = Instant::now() + Duration::from_secs(20);
        let mut log = self.log.lock();
        loop {
            if let Some(found) = ready(&log) {
                return found;
            }
            assert!(!self.changed.wait_until(&mut log, end).timed_out(), "it does not come");
        }
    }

    /// Waits for the given number of commits, and returns the last of them.
    pub fn commit(&self, count: usize) -> Commit {
        self.wait(|log| (log.commits.len() >= count).then(|| log.commits[count - 1].clone()))
    }

    /// Returns the number of commits so far.
    pub fn commits(&self) -> usize {
        self.log.lock().commits.len()
    }

    /// Answers all frame callbacks, which requests the next frame.
    pub fn tick(&self) {
        let frames = std::mem::take(&mut self.log.lock().frames);
        frames.iter().for_each(|id| self.done(*id));
    }

    /// Releases a buffer.
    pub fn release(&self, buffer: u32) {
        self.send(buffer, 0, &[]);
    }

    /// Closes the connection.
    pub fn disconnect(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    fn done(&self, callback: u32) {
        self.send(callback, 0, &[0]);
        self.send(1, 1, &[callback]);
    }

    fn send(&self, object: u32, opcode: u32, arguments: &[u32]) {
        let head = [object, ((arguments.len() as u32 * 4 + 8) << 16) | opcode];
        let bytes: Vec<u8> = head.iter().chain(arguments).flat_map(|word| word.to_ne_bytes()).collect();
        // The client may be gone.
        let _ = (&self.socket).write_all(&bytes);
    }

    fn announce(&self, registry: u32, name: u32, interface: &CStr, version: u32) {
        let mut text = interface.to_bytes_with_nul().to_vec();
        let length = text.len() as u32;
        text.resize(text.len().next_multiple_of(4), 0);
        let words = text.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word));
        let arguments: Vec<u32> = [name, length].into_iter().chain(words).chain([version]).collect();
        self.send(registry, 0, &arguments);
    }

    fn serve(&self) {
        let mut objects = HashMap::from([(1, Kind::Display)]);
        let (mut bytes, mut files) = (Vec::new(), VecDeque::new());
        while receive(&self.socket, &mut bytes, &mut files) {
            if self.log.lock().is_silent {
                continue;
            }
            while let Some(words) = message(&mut bytes) {
                let (object, opcode) = (words[0], words[1] & 0xffff);
                let kind = objects.get(&object).cloned().expect("an object that exists");
                self.request(&mut objects, (object, &kind), opcode, &words[2..], &mut files);
                self.changed.notify_all();
            }
        }
    }

    fn request(
        &self,
        objects: &mut HashMap<u32, Kind>,
        (object, kind): (u32, &Kind),
        opcode: u32,
        arguments: &[u32],
        files: &mut VecDeque<File>,
    ) {
        let mut destroy = || {
            objects.remove(&object);
            self.send(1, 1, &[object]);
        };
        match (kind, opcode, arguments) {
            (Kind::Display, 0, [id]) => self.done(*id),
            (Kind::Display, 1, [id]) => {
                objects.insert(*id, Kind::Registry);
                self.announce(*id, 1, c"wl_compositor", 4);
                self.announce(*id, 2, c"wl_shm", 1);
            }
            (Kind::Registry, 0, [name, .., id]) => {
                objects.insert(*id, if *name == 1 { Kind::Compositor } else { Kind::Shm });
                if *name == 2 {
                    FORMATS.iter().for_each(|format| self.send(*id, 0, &[*format]));
                }
            }
            (Kind::Compositor, 0, [id]) => {
                objects.insert(*id, Kind::Surface);
            }
            (Kind::Shm, 0, [id, size]) => {
                let file = files.pop_front().expect("a descriptor");
                assert!(file.metadata().expect("of a file").len() >= u64::from(*size), "a pool is inside of its file");
                objects.insert(*id, Kind::Pool(Arc::new(file)));
            }
            (Kind::Pool(file), 0, [id, offset, width, height, stride, format]) => {
                let (file, extent) = (file.clone(), [*width, *height]);
                let buffer = Buffer { file, offset: *offset, extent, stride: *stride, format: *format };
                objects.insert(*id, Kind::Buffer(buffer));
                self.log.lock().buffers += 1;
            }
            (Kind::Pool(_), 1, []) => destroy(),
            (Kind::Buffer(_), 0, []) => {
                destroy();
                self.log.lock().buffers -= 1;
            }
            (Kind::Surface, 1, [buffer, 0, 0]) => self.log.lock().attached = Some(*buffer),
            (Kind::Surface, 3, [id]) => self.log.lock().frames.push(*id),
            (Kind::Surface, 9, [x, y, width, height]) => self.log.lock().damage.push([*x, *y, *width, *height]),
            (Kind::Surface, 6, []) => self.commit_buffer(objects),
            (_, opcode, arguments) => panic!("a request that is not expected: {opcode} {arguments:?}"),
        }
    }

    fn commit_buffer(&self, objects: &HashMap<u32, Kind>) {
        let mut log = self.log.lock();
        let Some(id) = log.attached.take() else { return };
        let Some(Kind::Buffer(buffer)) = objects.get(&id) else { panic!("no buffer") };
        let [width, height] = buffer.extent;
        let mut pixels = vec![0; (width * height * 4) as usize];
        for (y, row) in (0..).zip(pixels.chunks_exact_mut(width as usize * 4)) {
            buffer.file.read_exact_at(row, u64::from(buffer.offset + y * buffer.stride)).expect("pixels");
        }
        let damage = std::mem::take(&mut log.damage);
        let before = log.commits.last().map(|commit| commit.buffer).filter(|before| *before != id);
        log.commits.push(Commit { buffer: id, extent: buffer.extent, format: buffer.format, pixels, damage });
        let (answers_frames_at_once, releases_previous_buffer) =
            (log.answers_frames_at_once, log.releases_previous_buffer);
        drop(log);
        if let Some(before) = before.filter(|_| releases_previous_buffer) {
            // (The client ignores events of a buffer that it has destroyed.)
            self.release(before);
        }
        if answers_frames_at_once {
            self.tick();
        }
    }
}

/// Returns the words of a message; `None` if there is no complete one.
fn message(bytes: &mut Vec<u8>) -> Option<Vec<u32>> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let size = (word(4)? >> 16) as usize;
    let words = (0..size / 4).map(|i| word(4 * i)).collect::<Option<Vec<u32>>>()?;
    bytes.drain(..size);
    Some(words)
}

/// Receives bytes and their files; returns false at the end of the connection.
fn receive(socket: &UnixStream, bytes: &mut Vec<u8>, files: &mut VecDeque<File>) -> bool {
    let (mut data, mut control) = ([0u8; 4096], [0u64; 64]);
    // SAFETY: the message's parts live during the call; this process owns the descriptors that
    // arrive.
    unsafe {
        let mut part = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
        let mut head: libc::msghdr = zeroed();
        (head.msg_iov, head.msg_iovlen) = (&raw mut part, 1);
        (head.msg_control, head.msg_controllen) = (control.as_mut_ptr().cast(), size_of_val(&control));
        let count = libc::recvmsg(socket.as_raw_fd(), &raw mut head, libc::MSG_CMSG_CLOEXEC);
        if count <= 0 {
            return false;
        }
        bytes.extend(&data[..count as usize]);
        let mut at = libc::CMSG_FIRSTHDR(&raw const head);
        while !at.is_null() {
            let fds = ((*at).cmsg_len - libc::CMSG_LEN(0) as usize) / 4;
            let first = libc::CMSG_DATA(at).cast::<c_int>();
            files.extend((0..fds).map(|i| File::from_raw_fd(first.add(i).read_unaligned())));
            at = libc::CMSG_NXTHDR(&raw const head, at);
        }
    }
    true
}

/// An application's connection and surface. It disconnects when dropped, which must be after
/// everything that uses them.
pub struct Client {
    /// The compositor at the other end.
    pub compositor: Arc<Compositor>,
    /// `wl_display`.
    pub display: *mut c_void,
    /// `wl_surface`.
    pub surface: *mut c_void,
    disconnect: unsafe extern "C" fn(*mut Proxy),
    proxies: Vec<*mut Proxy>,
    library: &'static Library,
}

impl Client {
    /// Connects to a new compositor; returns `None` with a message if there is no
    /// libwayland-client.
    pub fn new() -> Option<Client> {
        let Some(library) = library() else {
            eprintln!("skipped: no libwayland-client");
            return None;
        };
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let compositor = Compositor::start(theirs);
        let create = library.wl_proxy_marshal_array_constructor_versioned;
        let nothing = Argument { object: null_mut() };
        // SAFETY: the functions have their types, and requests are as in `wayland.xml`; the
        // compositor above knows the global's name.
        unsafe {
            let open = libc::dlopen(c"libwayland-client.so.0".as_ptr(), libc::RTLD_NOW);
            let connect = libc::dlsym(open, c"wl_display_connect_to_fd".as_ptr());
            let connect: unsafe extern "C" fn(c_int) -> *mut Proxy = transmute(connect);
            let disconnect = libc::dlsym(open, c"wl_display_disconnect".as_ptr());
            let interface = |name: &CStr| libc::dlsym(open, name.as_ptr()).cast_const().cast::<Interface>();
            let display = connect(ours.into_raw_fd());
            let registry = create(display, 1, [nothing].as_mut_ptr(), library.wl_registry_interface, 1);
            let string = c"wl_compositor".as_ptr();
            let mut bind = [Argument { uint: 1 }, Argument { string }, Argument { uint: 4 }, nothing];
            let global = create(registry, 0, bind.as_mut_ptr(), interface(c"wl_compositor_interface"), 4);
            let surface = create(global, 0, [nothing].as_mut_ptr(), interface(c"wl_surface_interface"), 4);
            Some(Client {
                compositor,
                display: display.cast(),
                surface: surface.cast(),
                disconnect: transmute::<*mut c_void, unsafe extern "C" fn(*mut Proxy)>(disconnect),
                proxies: vec![surface, global, registry],
                library,
            })
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: these are the last uses of the objects.
        unsafe {
            self.proxies.iter().for_each(|proxy| (self.library.wl_proxy_destroy)(*proxy));
            (self.disconnect)(self.display.cast());
        }
        self.compositor.disconnect();
    }
}

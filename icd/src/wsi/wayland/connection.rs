//! The application's connection to its compositor, as the driver uses it: a queue of events of our own, on which nothing of the application's
//! arrives, and the few requests that show shared memory on a surface.
//!
//! The application's display and surface are only used through wrappers, whose objects' events come to our queue. Requests and reads may be made by any
//! thread (libwayland locks); events are dispatched by one at a time, and only noted ([`Event`]). Nothing waits without an end,
//! but for [`Connection::read`]: libwayland lets those who prepared a read go on together. Its writes raise no signal (MSG_NOSIGNAL).

use super::library::{Argument, Interface, Library, Proxy, Queue, library};
use crate::fallible;
use parking_lot::Mutex;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Why a surface is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// There is no libwayland-client, or no connection was given.
    Nothing,
    /// The compositor has no shared memory.
    Shm,
    /// The compositor does not answer.
    Silent,
    /// The connection has ended: the compositor is gone, or said that somebody had made a mistake.
    Ended,
    /// There is no memory for an event, or a number is larger than Wayland's.
    Room,
    /// The application destroyed it.
    Closed,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lost::Nothing => "there is no libwayland-client, or no connection",
            Lost::Shm => "the compositor has no wl_shm",
            Lost::Silent => "the compositor does not answer",
            Lost::Ended => "the connection to the compositor has ended",
            Lost::Room => "there is no room for an event, or for a picture",
            Lost::Closed => "the surface has been destroyed",
        })
    }
}

impl std::error::Error for Lost {}

/// A surface of the application's, and the display that it belongs to.
pub struct Target {
    display: *mut c_void,
    surface: *mut c_void,
}

// SAFETY: libwayland's functions may be called by any thread.
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

impl Target {
    /// # Safety
    /// Both are null, or the application's (`wl_display`, `wl_surface`) and live as long as what is made of this.
    pub unsafe fn new(display: *mut c_void, surface: *mut c_void) -> Target {
        Target { display, surface }
    }
}

/// What came on our queue. Objects are known by [`Object::id`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `wl_buffer.release`: the compositor reads it no more.
    Release(usize),
    /// `wl_callback.done`.
    Done(usize),
}

/// Where listeners leave what they were told; at one address as long as the connection lives.
#[derive(Default)]
struct Inbox {
    events: Mutex<Vec<Event>>,
    /// Name of the `wl_shm` global.
    shm: Mutex<Option<u32>>,
    formats: Mutex<Vec<u32>>,
    /// There was no memory for an event.
    overflow: AtomicBool,
}

impl Inbox {
    fn keep<T>(&self, list: &Mutex<Vec<T>>, value: T) {
        if fallible::push(&mut list.lock(), value).is_err() {
            self.overflow.store(true, Ordering::Relaxed);
        }
    }
}

/// See the module header.
pub struct Connection {
    library: &'static Library,
    display: *mut Proxy,
    queue: *mut Queue,
    /// Wrappers.
    on_queue: *mut Proxy,
    surface: *mut Proxy,
    surface_version: u32,
    shm: *mut Proxy,
    inbox: Box<Inbox>,
}

// SAFETY: proxies and queues may be used by any thread; only their destruction must be the last use, which ownership says.
unsafe impl Send for Connection {}
// SAFETY: as above.
unsafe impl Sync for Connection {}

/// A `wl_buffer` or a `wl_callback` of ours. Dropped, it is destroyed.
pub struct Object {
    connection: Arc<Connection>,
    proxy: NonNull<Proxy>,
    /// Number of its request `destroy`, which a callback has not.
    destructor: Option<u32>,
}

// SAFETY: as of the connection.
unsafe impl Send for Object {}
// SAFETY: as of the connection.
unsafe impl Sync for Object {}

impl Object {
    /// What events call it.
    pub fn id(&self) -> usize {
        self.proxy.as_ptr() as usize
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let library = self.connection.library;
        // SAFETY: the last use of this object's proxy; the connection lives.
        unsafe {
            if let Some(opcode) = self.destructor {
                (library.wl_proxy_marshal_array)(self.proxy.as_ptr(), opcode, null_mut());
            }
            (library.wl_proxy_destroy)(self.proxy.as_ptr());
        }
    }
}

/// Pixels in a file: what `wl_shm_pool.create_buffer` is told.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    /// Bytes of the file.
    pub size: u64,
    /// Byte of its first pixel.
    pub offset: u64,
    /// Bytes between rows.
    pub stride: u64,
    /// Pixels.
    pub extent: [u32; 2],
    /// `wl_shm.format`.
    pub format: u32,
}

/// A rectangle of a picture: x, y, width, height.
pub type Rectangle = [i32; 4];

// Requests' and events' numbers are those of `wayland.xml`.
const DISPLAY_SYNC: u32 = 0;
const DISPLAY_GET_REGISTRY: u32 = 1;
const REGISTRY_BIND: u32 = 0;
const SHM_CREATE_POOL: u32 = 0;
const POOL_CREATE_BUFFER: u32 = 0;
const POOL_DESTROY: u32 = 1;
const BUFFER_DESTROY: u32 = 0;
const SURFACE_ATTACH: u32 = 1;
const SURFACE_DAMAGE: u32 = 2;
const SURFACE_FRAME: u32 = 3;
const SURFACE_COMMIT: u32 = 6;
const SURFACE_DAMAGE_BUFFER: u32 = 9;
/// Version of `wl_surface` that has `damage_buffer`.
const DAMAGE_BUFFER_VERSION: u32 = 4;

/// Functions of a listener, in the order of the interface's events.
type Listener<const N: usize> = [*const c_void; N];
/// A listener is a constant.
struct Constant<T>(T);
// SAFETY: addresses of functions.
unsafe impl<T> Sync for Constant<T> {}

static REGISTRY: Constant<Listener<2>> = Constant([global as *const c_void, global_remove as *const c_void]);
static SHM: Constant<Listener<1>> = Constant([format as *const c_void]);
static BUFFER: Constant<Listener<1>> = Constant([release as *const c_void]);
static CALLBACK: Constant<Listener<1>> = Constant([done as *const c_void]);

unsafe extern "C" fn global(inbox: *const Inbox, _registry: *mut Proxy, name: u32, of: *const c_char, _version: u32) {
    // SAFETY: a listener's data is the connection's inbox; libwayland passes a string.
    unsafe {
        if CStr::from_ptr(of) == c"wl_shm" {
            (*inbox).shm.lock().get_or_insert(name);
        }
    }
}

unsafe extern "C" fn global_remove(_inbox: *const Inbox, _registry: *mut Proxy, _name: u32) {}

unsafe extern "C" fn format(inbox: *const Inbox, _shm: *mut Proxy, format: u32) {
    // SAFETY: as above.
    let inbox = unsafe { &*inbox };
    inbox.keep(&inbox.formats, format);
}

unsafe extern "C" fn release(inbox: *const Inbox, buffer: *mut Proxy) {
    // SAFETY: as above.
    let inbox = unsafe { &*inbox };
    inbox.keep(&inbox.events, Event::Release(buffer as usize));
}

unsafe extern "C" fn done(inbox: *const Inbox, callback: *mut Proxy, _data: u32) {
    // SAFETY: as above.
    let inbox = unsafe { &*inbox };
    inbox.keep(&inbox.events, Event::Done(callback as usize));
}

const NOTHING: Argument = Argument { object: null_mut() };

impl Connection {
    /// A queue on the application's connection, and what its compositor offers; waits for two answers, each no longer than `patience`.
    ///
    /// # Errors
    /// No libwayland-client, no connection, no `wl_shm`, or no answer.
    pub fn open(target: &Target, patience: Duration) -> Result<Arc<Connection>, Lost> {
        let Target { display, surface } = *target;
        let library = library().filter(|_| !display.is_null() && !surface.is_null()).ok_or(Lost::Nothing)?;
        let (display, surface) = (display.cast::<Proxy>(), surface.cast::<Proxy>());
        let mut connection = Connection {
            library,
            display,
            queue: null_mut(),
            on_queue: null_mut(),
            surface: null_mut(),
            surface_version: 0,
            shm: null_mut(),
            inbox: Box::default(),
        };
        // SAFETY: the promise of `Target::new`; what is null is used by nothing, and `drop` knows.
        unsafe {
            connection.queue = (library.wl_display_create_queue)(display);
            if connection.queue.is_null() {
                return Err(Lost::Ended);
            }
            connection.on_queue = connection.wrapper(display)?;
            connection.surface = connection.wrapper(surface)?;
            connection.surface_version = (library.wl_proxy_get_version)(surface);
        }
        connection.bind(patience)?;
        Ok(Arc::new(connection))
    }

    /// # Safety
    /// The queue and the proxy live.
    unsafe fn wrapper(&self, of: *mut Proxy) -> Result<*mut Proxy, Lost> {
        // SAFETY: the caller's promise.
        unsafe {
            let wrapper = (self.library.wl_proxy_create_wrapper)(of);
            if wrapper.is_null() {
                return Err(Lost::Ended);
            }
            (self.library.wl_proxy_set_queue)(wrapper, self.queue);
            Ok(wrapper)
        }
    }

    /// Finds `wl_shm` and its formats.
    fn bind(&mut self, patience: Duration) -> Result<(), Lost> {
        let l = self.library;
        // SAFETY: requests as `wayland.xml` has them, on live proxies.
        unsafe {
            let registry =
                self.create(self.on_queue, DISPLAY_GET_REGISTRY, &mut [NOTHING], l.wl_registry_interface, 1)?;
            self.listen(registry, &REGISTRY);
            let answered = self.round_trip(patience);
            let name = *self.inbox.shm.lock();
            if let (Ok(()), Some(uint)) = (answered, name) {
                let string = c"wl_shm".as_ptr();
                let mut arguments = [Argument { uint }, Argument { string }, Argument { uint: 1 }, NOTHING];
                let shm = self.create(registry.as_ptr(), REGISTRY_BIND, &mut arguments, l.wl_shm_interface, 1);
                self.shm = shm.map_or(null_mut(), NonNull::as_ptr);
            }
            (l.wl_proxy_destroy)(registry.as_ptr());
            self.listen(NonNull::new(self.shm).ok_or(Lost::Shm)?, &SHM);
        }
        self.round_trip(patience)
    }

    /// A request that makes an object; its number among the arguments is any.
    ///
    /// # Safety
    /// The proxy lives, and has such a request.
    unsafe fn create(
        &self,
        on: *mut Proxy,
        opcode: u32,
        arguments: &mut [Argument],
        interface: *const Interface,
        version: u32,
    ) -> Result<NonNull<Proxy>, Lost> {
        let create = self.library.wl_proxy_marshal_array_constructor_versioned;
        // SAFETY: the caller's promise.
        let proxy = unsafe { create(on, opcode, arguments.as_mut_ptr(), interface, version) };
        NonNull::new(proxy).ok_or(Lost::Ended)
    }

    /// # Safety
    /// The proxy is new, and of the listener's interface.
    unsafe fn listen<const N: usize>(&self, proxy: NonNull<Proxy>, listener: &'static Constant<Listener<N>>) {
        let inbox = (&raw const *self.inbox).cast_mut();
        // SAFETY: the caller's promise; the inbox outlives every proxy.
        unsafe { (self.library.wl_proxy_add_listener)(proxy.as_ptr(), listener.0.as_ptr().cast(), inbox.cast()) };
    }

    /// Waits until the compositor has answered everything so far.
    fn round_trip(&self, patience: Duration) -> Result<(), Lost> {
        // SAFETY: as in `sync`; the callback is destroyed below.
        let callback = unsafe {
            let interface = self.library.wl_callback_interface;
            let callback = self.create(self.on_queue, DISPLAY_SYNC, &mut [NOTHING], interface, 1)?;
            self.listen(callback, &CALLBACK);
            callback
        };
        let done = Event::Done(callback.as_ptr() as usize);
        let answered = self.wait_for(done, Instant::now() + patience);
        // SAFETY: its last use.
        unsafe { (self.library.wl_proxy_destroy)(callback.as_ptr()) };
        answered
    }

    fn wait_for(&self, event: Event, end: Instant) -> Result<(), Lost> {
        loop {
            if self.dispatch()?.contains(&event) {
                return Ok(());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Lost::Silent);
            }
            let write = !self.flush()?;
            if let Some(read) = self.prepare_read() {
                read.wait(None, write, Some(left))?;
            }
        }
    }

    /// Formats that the compositor takes.
    pub fn formats(&self) -> Vec<u32> {
        self.inbox.formats.lock().clone()
    }

    /// Has the connection ended?
    pub fn check(&self) -> Result<(), Lost> {
        // SAFETY: the display lives.
        let error = unsafe { (self.library.wl_display_get_error)(self.display) };
        match error {
            0 if self.inbox.overflow.load(Ordering::Relaxed) => Err(Lost::Room),
            0 => Ok(()),
            _ => Err(Lost::Ended),
        }
    }

    /// A buffer of the pixels in a file, of which libwayland makes a duplicate.
    ///
    /// # Errors
    /// The connection has ended, or the picture is larger than Wayland's numbers (2 GiB).
    pub fn create_buffer(self: &Arc<Self>, file: BorrowedFd<'_>, picture: &Picture) -> Result<Object, Lost> {
        let l = self.library;
        let number = |n: u64| i32::try_from(n).map(|int| Argument { int }).map_err(|_| Lost::Room);
        let size = number(picture.size)?;
        let [width, height] = picture.extent.map(u64::from);
        let mut shape = [
            NOTHING,
            number(picture.offset)?,
            number(width)?,
            number(height)?,
            number(picture.stride)?,
            Argument { uint: picture.format },
        ];
        // SAFETY: requests as `wayland.xml` has them, on live proxies.
        let buffer = unsafe {
            let mut file = [NOTHING, Argument { int: file.as_raw_fd() }, size];
            let pool = self.create(self.shm, SHM_CREATE_POOL, &mut file, l.wl_shm_pool_interface, 1)?;
            let buffer = self.create(pool.as_ptr(), POOL_CREATE_BUFFER, &mut shape, l.wl_buffer_interface, 1);
            (l.wl_proxy_marshal_array)(pool.as_ptr(), POOL_DESTROY, null_mut());
            (l.wl_proxy_destroy)(pool.as_ptr());
            let buffer = buffer?;
            self.listen(buffer, &BUFFER);
            buffer
        };
        self.check()?;
        Ok(Object { connection: self.clone(), proxy: buffer, destructor: Some(BUFFER_DESTROY) })
    }

    fn callback(self: &Arc<Self>, on: *mut Proxy, opcode: u32) -> Result<Object, Lost> {
        // SAFETY: both requests that are used with this make a callback, on live proxies.
        let proxy = unsafe {
            let callback = self.create(on, opcode, &mut [NOTHING], self.library.wl_callback_interface, 1)?;
            self.listen(callback, &CALLBACK);
            callback
        };
        Ok(Object { connection: self.clone(), proxy, destructor: None })
    }

    /// `wl_display.sync`: done when the compositor has answered.
    pub fn sync(self: &Arc<Self>) -> Result<Object, Lost> {
        self.callback(self.on_queue, DISPLAY_SYNC)
    }

    /// `wl_surface.frame`, for the next commit: done when it is time for another.
    pub fn frame(self: &Arc<Self>) -> Result<Object, Lost> {
        self.callback(self.surface, SURFACE_FRAME)
    }

    fn request(&self, opcode: u32, arguments: &mut [Argument]) {
        // SAFETY: the requests of a surface that are used with this, on a live proxy.
        unsafe { (self.library.wl_proxy_marshal_array)(self.surface, opcode, arguments.as_mut_ptr()) };
    }

    /// The surface shows this buffer from the next commit on, which differs from what it showed in these rectangles; none: anywhere.
    pub fn attach(&self, buffer: &Object, damage: &[Rectangle]) {
        let zero = Argument { int: 0 };
        self.request(SURFACE_ATTACH, &mut [Argument { object: buffer.proxy.as_ptr() }, zero, zero]);
        let by_pixel = self.surface_version >= DAMAGE_BUFFER_VERSION;
        // Rectangles of the surface are not those of the buffer where the application has scaled or turned it.
        let opcode = if by_pixel { SURFACE_DAMAGE_BUFFER } else { SURFACE_DAMAGE };
        let everything = [[0, 0, i32::MAX, i32::MAX]];
        let rectangles = if by_pixel && !damage.is_empty() { damage } else { &everything };
        rectangles.iter().for_each(|rectangle| self.request(opcode, &mut rectangle.map(|int| Argument { int })));
    }

    /// `wl_surface.commit`.
    pub fn commit(&self) {
        self.request(SURFACE_COMMIT, &mut []);
    }

    /// Sends what has been requested. False: the compositor takes no more at the moment.
    pub fn flush(&self) -> Result<bool, Lost> {
        // SAFETY: the display lives.
        if unsafe { (self.library.wl_display_flush)(self.display) } >= 0 {
            return Ok(true);
        }
        let full = std::io::Error::last_os_error().kind() == std::io::ErrorKind::WouldBlock;
        // Who has closed its end may have said why before: reading finds that out.
        if full { self.check().map(|()| false) } else { Err(Lost::Ended) }
    }

    /// Takes what has been read for our queue.
    pub fn dispatch(&self) -> Result<Vec<Event>, Lost> {
        // SAFETY: display and queue live.
        let dispatched = unsafe { (self.library.wl_display_dispatch_queue_pending)(self.display, self.queue) };
        let events = std::mem::take(&mut *self.inbox.events.lock());
        if dispatched < 0 { Err(Lost::Ended) } else { self.check().map(|()| events) }
    }

    /// Announces a read; None when there is something to dispatch first.
    pub fn prepare_read(&self) -> Option<Read<'_>> {
        // SAFETY: display and queue live.
        let prepared = unsafe { (self.library.wl_display_prepare_read_queue)(self.display, self.queue) } == 0;
        // (Not `then_some`: a read that was not announced must not be cancelled.)
        prepared.then(|| Read { connection: self, pending: true })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let l = self.library;
        // SAFETY: all of it is ours; no object is left, each of which owns a reference to this.
        unsafe {
            if !self.shm.is_null() {
                (l.wl_proxy_destroy)(self.shm);
            }
            [self.surface, self.on_queue]
                .iter()
                .filter(|w| !w.is_null())
                .for_each(|w| (l.wl_proxy_wrapper_destroy)(*w));
            if !self.queue.is_null() {
                (l.wl_event_queue_destroy)(self.queue);
            }
        }
    }
}

/// A read that other threads' reads wait for.
pub struct Read<'a> {
    connection: &'a Connection,
    pending: bool,
}

impl Read<'_> {
    /// Waits for events, room to write if asked, a byte in `wake`, or the time to be over, and reads what there is.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn wait(mut self, wake: Option<BorrowedFd<'_>>, write: bool, time: Option<Duration>) -> Result<(), Lost> {
        let (library, display) = (self.connection.library, self.connection.display);
        // SAFETY: the display lives.
        let fd = unsafe { (library.wl_display_get_fd)(display) };
        let events = if write { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
        let wake = wake.map_or(-1, |wake| wake.as_raw_fd());
        let mut fds =
            [libc::pollfd { fd, events, revents: 0 }, libc::pollfd { fd: wake, events: libc::POLLIN, revents: 0 }];
        // Rounded up: who waits for an instant is not to come too early.
        let time = time.map_or(-1, |time| time.as_millis().saturating_add(1).min(i32::MAX as u128) as i32);
        // SAFETY: two valid structures.
        let found = unsafe { libc::poll(fds.as_mut_ptr(), 2, time) };
        if found > 0 && fds[0].revents & !libc::POLLOUT != 0 {
            self.pending = false;
            // SAFETY: announced.
            if unsafe { (library.wl_display_read_events)(display) } < 0 {
                return Err(Lost::Ended);
            }
        }
        Ok(())
    }
}

impl Drop for Read<'_> {
    fn drop(&mut self) {
        if self.pending {
            // SAFETY: announced and not done.
            unsafe { (self.connection.library.wl_display_cancel_read)(self.connection.display) };
        }
    }
}

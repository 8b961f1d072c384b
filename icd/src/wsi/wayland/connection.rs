//! The driver's use of the application's connection to its compositor: a separate queue of events,
//! and the few requests that show shared memory on a surface. None of the application's events
//! arrive on that queue.
//!
//! The application's display and surface are only used through wrappers, whose objects' events come
//! to the driver's queue. Any thread may make requests and read, because libwayland locks. One
//! thread at a time dispatches events, which are only recorded ([`Event`]). No wait is unbounded
//! except [`Read::wait`]: libwayland lets all threads that prepared a read continue together.
//! Writes of the connection raise no signal, because libwayland sets MSG_NOSIGNAL.

use super::library::{Argument, Interface, Library, Proxy, Queue, library};
use crate::fallible;
use crate::wsi::frame::{Rectangle, ShmBufferInfo};
use parking_lot::Mutex;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The reason why a surface is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaylandError {
    /// There is no libwayland-client, or no connection was given.
    NoLibrary,
    /// The compositor has no shared memory.
    NoSharedMemory,
    /// The compositor does not answer.
    NotResponding,
    /// The connection has ended: the compositor is gone, or reported a protocol error.
    Disconnected,
    /// There is no memory for an event, or a number is larger than Wayland's.
    OutOfMemory,
    /// The application destroyed the surface.
    SurfaceDestroyed,
}

impl fmt::Display for WaylandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WaylandError::NoLibrary => "there is no libwayland-client, or no connection",
            WaylandError::NoSharedMemory => "the compositor has no wl_shm",
            WaylandError::NotResponding => "the compositor does not answer",
            WaylandError::Disconnected => "the connection to the compositor has ended",
            WaylandError::OutOfMemory => "there is no room for an event, or for a picture",
            WaylandError::SurfaceDestroyed => "the surface has been destroyed",
        })
    }
}

impl std::error::Error for WaylandError {}

/// An application's surface and the display that it belongs to.
pub struct WaylandTarget {
    display: *mut c_void,
    surface: *mut c_void,
}

// SAFETY: libwayland's functions may be called by any thread.
unsafe impl Send for WaylandTarget {}
// SAFETY: libwayland's functions may be called by any thread.
unsafe impl Sync for WaylandTarget {}

impl WaylandTarget {
    /// Makes a target of an application's display and surface.
    ///
    /// # Safety
    /// Both are null, or the application's `wl_display` and `wl_surface`, which outlive everything
    /// that is made of this target.
    pub unsafe fn new(display: *mut c_void, surface: *mut c_void) -> WaylandTarget {
        WaylandTarget { display, surface }
    }
}

/// An event on the driver's queue. [`WaylandObject::id`] identifies its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `wl_buffer.release`: the compositor does not read the buffer any more.
    Release(usize),
    /// `wl_callback.done`.
    Done(usize),
}

/// Storage for the data of events, at a fixed address as long as the connection lives.
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
    fn store<T>(&self, list: &Mutex<Vec<T>>, value: T) {
        if fallible::push(&mut list.lock(), value).is_err() {
            self.overflow.store(true, Ordering::Relaxed);
        }
    }
}

/// A queue of events and the requests on the application's connection.
pub struct WaylandConnection {
    library: &'static Library,
    display: *mut Proxy,
    queue: *mut Queue,
    /// Wrapper of the display on the queue.
    on_queue: *mut Proxy,
    surface: *mut Proxy,
    surface_version: u32,
    shm: *mut Proxy,
    inbox: Box<Inbox>,
}

// SAFETY: proxies and queues may be used by any thread; ownership ensures that their destruction is
// the last use.
unsafe impl Send for WaylandConnection {}
// SAFETY: proxies and queues may be used by any thread; ownership ensures that their destruction is
// the last use.
unsafe impl Sync for WaylandConnection {}

/// A `wl_buffer` or a `wl_callback` of the driver, which is destroyed when it is dropped.
pub struct WaylandObject {
    connection: Arc<WaylandConnection>,
    proxy: NonNull<Proxy>,
    /// Number of the request `destroy`, which a callback does not have.
    destructor: Option<u32>,
}

// SAFETY: the proxy may be used by any thread, as those of the connection.
unsafe impl Send for WaylandObject {}
// SAFETY: the proxy may be used by any thread, as those of the connection.
unsafe impl Sync for WaylandObject {}

impl WaylandObject {
    /// Returns the object's identifier in events.
    pub fn id(&self) -> usize {
        self.proxy.as_ptr() as usize
    }
}

impl Drop for WaylandObject {
    fn drop(&mut self) {
        let library = self.connection.library;
        // SAFETY: this is the last use of the object's proxy, and the connection lives.
        unsafe {
            if let Some(opcode) = self.destructor {
                (library.wl_proxy_marshal_array)(self.proxy.as_ptr(), opcode, null_mut());
            }
            (library.wl_proxy_destroy)(self.proxy.as_ptr());
        }
    }
}

// The numbers of requests and events are those of `wayland.xml`.
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
/// A constant that threads share, for listeners.
struct Constant<T>(T);
// SAFETY: the values are addresses of functions.
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
    // SAFETY: a listener's data is the connection's inbox.
    let inbox = unsafe { &*inbox };
    inbox.store(&inbox.formats, format);
}

unsafe extern "C" fn release(inbox: *const Inbox, buffer: *mut Proxy) {
    // SAFETY: a listener's data is the connection's inbox.
    let inbox = unsafe { &*inbox };
    inbox.store(&inbox.events, Event::Release(buffer as usize));
}

unsafe extern "C" fn done(inbox: *const Inbox, callback: *mut Proxy, _data: u32) {
    // SAFETY: a listener's data is the connection's inbox.
    let inbox = unsafe { &*inbox };
    inbox.store(&inbox.events, Event::Done(callback as usize));
}

const NULL_ARGUMENT: Argument = Argument { object: null_mut() };

impl WaylandConnection {
    /// Makes a queue on the application's connection and reads what its compositor offers; waits
    /// for two answers, each no longer than `timeout`.
    ///
    /// # Errors
    /// There is no libwayland-client, no connection, no `wl_shm`, or no answer.
    pub fn open(target: &WaylandTarget, timeout: Duration) -> Result<Arc<WaylandConnection>, WaylandError> {
        let WaylandTarget { display, surface } = *target;
        let library = library().filter(|_| !display.is_null() && !surface.is_null()).ok_or(WaylandError::NoLibrary)?;
        let (display, surface) = (display.cast::<Proxy>(), surface.cast::<Proxy>());
        let mut connection = WaylandConnection {
            library,
            display,
            queue: null_mut(),
            on_queue: null_mut(),
            surface: null_mut(),
            surface_version: 0,
            shm: null_mut(),
            inbox: Box::default(),
        };
        // SAFETY: display and surface live, as `WaylandTarget::new` demands; `drop` ignores null
        // pointers.
        unsafe {
            connection.queue = (library.wl_display_create_queue)(display);
            if connection.queue.is_null() {
                return Err(WaylandError::Disconnected);
            }
            connection.on_queue = connection.wrapper(display)?;
            connection.surface = connection.wrapper(surface)?;
            connection.surface_version = (library.wl_proxy_get_version)(surface);
        }
        connection.bind(timeout)?;
        Ok(Arc::new(connection))
    }

    /// Makes a wrapper of a proxy on the driver's queue.
    ///
    /// # Safety
    /// The queue and the proxy live.
    unsafe fn wrapper(&self, of: *mut Proxy) -> Result<*mut Proxy, WaylandError> {
        // SAFETY: queue and proxy live, as the `# Safety` section of this function demands.
        unsafe {
            let wrapper = (self.library.wl_proxy_create_wrapper)(of);
            if wrapper.is_null() {
                return Err(WaylandError::Disconnected);
            }
            (self.library.wl_proxy_set_queue)(wrapper, self.queue);
            Ok(wrapper)
        }
    }

    /// Finds `wl_shm` and its formats.
    fn bind(&mut self, timeout: Duration) -> Result<(), WaylandError> {
        let l = self.library;
        // SAFETY: requests are as in `wayland.xml`, on live proxies.
        unsafe {
            let registry =
                self.create(self.on_queue, DISPLAY_GET_REGISTRY, &mut [NULL_ARGUMENT], l.wl_registry_interface, 1)?;
            self.listen(registry, &REGISTRY);
            let answered = self.round_trip(timeout);
            let name = *self.inbox.shm.lock();
            if let (Ok(()), Some(uint)) = (answered, name) {
                let string = c"wl_shm".as_ptr();
                let mut arguments = [Argument { uint }, Argument { string }, Argument { uint: 1 }, NULL_ARGUMENT];
                let shm = self.create(registry.as_ptr(), REGISTRY_BIND, &mut arguments, l.wl_shm_interface, 1);
                self.shm = shm.map_or(null_mut(), NonNull::as_ptr);
            }
            (l.wl_proxy_destroy)(registry.as_ptr());
            self.listen(NonNull::new(self.shm).ok_or(WaylandError::NoSharedMemory)?, &SHM);
        }
        self.round_trip(timeout)
    }

    /// Makes a request that creates an object; the object's own argument may have any value.
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
    ) -> Result<NonNull<Proxy>, WaylandError> {
        let create = self.library.wl_proxy_marshal_array_constructor_versioned;
        // SAFETY: the proxy lives and has the request, as the `# Safety` section of this function
        // demands.
        let proxy = unsafe { create(on, opcode, arguments.as_mut_ptr(), interface, version) };
        NonNull::new(proxy).ok_or(WaylandError::Disconnected)
    }

    /// Sets a proxy's listener.
    ///
    /// # Safety
    /// The proxy is new, and of the listener's interface.
    unsafe fn listen<const N: usize>(&self, proxy: NonNull<Proxy>, listener: &'static Constant<Listener<N>>) {
        let inbox = (&raw const *self.inbox).cast_mut();
        // SAFETY: the proxy is new and of the listener's interface, as the `# Safety` section of
        // this function demands; the inbox outlives every proxy.
        unsafe { (self.library.wl_proxy_add_listener)(proxy.as_ptr(), listener.0.as_ptr().cast(), inbox.cast()) };
    }

    /// Waits until the compositor has answered everything so far.
    fn round_trip(&self, timeout: Duration) -> Result<(), WaylandError> {
        // SAFETY: `wl_display.sync` creates a callback on a live proxy; it is destroyed below.
        let callback = unsafe {
            let interface = self.library.wl_callback_interface;
            let callback = self.create(self.on_queue, DISPLAY_SYNC, &mut [NULL_ARGUMENT], interface, 1)?;
            self.listen(callback, &CALLBACK);
            callback
        };
        let done = Event::Done(callback.as_ptr() as usize);
        let answered = self.wait_for(done, Instant::now() + timeout);
        // SAFETY: this is the callback's last use.
        unsafe { (self.library.wl_proxy_destroy)(callback.as_ptr()) };
        answered
    }

    fn wait_for(&self, event: Event, end: Instant) -> Result<(), WaylandError> {
        loop {
            if self.dispatch()?.contains(&event) {
                return Ok(());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(WaylandError::NotResponding);
            }
            let write = !self.flush()?;
            if let Some(read) = self.prepare_read() {
                read.wait(None, write, Some(left))?;
            }
        }
    }

    /// Returns the formats that the compositor accepts.
    pub fn formats(&self) -> Vec<u32> {
        self.inbox.formats.lock().clone()
    }

    /// Returns an error if the connection has ended.
    pub fn check(&self) -> Result<(), WaylandError> {
        // SAFETY: the display lives.
        let error = unsafe { (self.library.wl_display_get_error)(self.display) };
        match error {
            0 if self.inbox.overflow.load(Ordering::Relaxed) => Err(WaylandError::OutOfMemory),
            0 => Ok(()),
            _ => Err(WaylandError::Disconnected),
        }
    }

    /// Makes a buffer of the pixels in a file, of which libwayland makes a duplicate.
    ///
    /// # Errors
    /// The connection has ended, or the picture is larger than Wayland's numbers (2 GiB).
    pub fn create_buffer(
        self: &Arc<Self>,
        file: BorrowedFd<'_>,
        picture: &ShmBufferInfo,
    ) -> Result<WaylandObject, WaylandError> {
        let l = self.library;
        let number = |n: u64| i32::try_from(n).map(|int| Argument { int }).map_err(|_| WaylandError::OutOfMemory);
        let size = number(picture.size)?;
        let [width, height] = picture.extent.map(u64::from);
        let mut shape = [
            NULL_ARGUMENT,
            number(picture.offset)?,
            number(width)?,
            number(height)?,
            number(picture.stride)?,
            Argument { uint: picture.format },
        ];
        // SAFETY: requests are as in `wayland.xml`, on live proxies.
        let buffer = unsafe {
            let mut file = [NULL_ARGUMENT, Argument { int: file.as_raw_fd() }, size];
            let pool = self.create(self.shm, SHM_CREATE_POOL, &mut file, l.wl_shm_pool_interface, 1)?;
            let buffer = self.create(pool.as_ptr(), POOL_CREATE_BUFFER, &mut shape, l.wl_buffer_interface, 1);
            (l.wl_proxy_marshal_array)(pool.as_ptr(), POOL_DESTROY, null_mut());
            (l.wl_proxy_destroy)(pool.as_ptr());
            let buffer = buffer?;
            self.listen(buffer, &BUFFER);
            buffer
        };
        self.check()?;
        Ok(WaylandObject { connection: self.clone(), proxy: buffer, destructor: Some(BUFFER_DESTROY) })
    }

    fn callback(self: &Arc<Self>, on: *mut Proxy, opcode: u32) -> Result<WaylandObject, WaylandError> {
        // SAFETY: both requests that are used with this create a callback, on live proxies.
        let proxy = unsafe {
            let callback = self.create(on, opcode, &mut [NULL_ARGUMENT], self.library.wl_callback_interface, 1)?;
            self.listen(callback, &CALLBACK);
            callback
        };
        Ok(WaylandObject { connection: self.clone(), proxy, destructor: None })
    }

    /// `wl_display.sync`: done when the compositor has answered.
    pub fn sync(self: &Arc<Self>) -> Result<WaylandObject, WaylandError> {
        self.callback(self.on_queue, DISPLAY_SYNC)
    }

    /// `wl_surface.frame`, for the next commit: done when it is time for another frame.
    pub fn frame(self: &Arc<Self>) -> Result<WaylandObject, WaylandError> {
        self.callback(self.surface, SURFACE_FRAME)
    }

    fn request(&self, opcode: u32, arguments: &mut [Argument]) {
        // SAFETY: only requests of a surface are used with this, on a live proxy.
        unsafe { (self.library.wl_proxy_marshal_array)(self.surface, opcode, arguments.as_mut_ptr()) };
    }

    /// Attaches a buffer for the next commit. It differs from the previous one in the given
    /// rectangles, or anywhere if there are none.
    pub fn attach(&self, buffer: &WaylandObject, damage: &[Rectangle]) {
        let zero = Argument { int: 0 };
        self.request(SURFACE_ATTACH, &mut [Argument { object: buffer.proxy.as_ptr() }, zero, zero]);
        let by_pixel = self.surface_version >= DAMAGE_BUFFER_VERSION;
        // If the application has scaled or turned the surface, its rectangles differ from those of
        // the buffer.
        let opcode = if by_pixel { SURFACE_DAMAGE_BUFFER } else { SURFACE_DAMAGE };
        let everything = [[0, 0, i32::MAX, i32::MAX]];
        let rectangles = if by_pixel && !damage.is_empty() { damage } else { &everything };
        rectangles.iter().for_each(|rectangle| self.request(opcode, &mut rectangle.map(|int| Argument { int })));
    }

    /// `wl_surface.commit`.
    pub fn commit(&self) {
        self.request(SURFACE_COMMIT, &mut []);
    }

    /// Sends the requests. Returns false if the compositor takes no more at the moment.
    pub fn flush(&self) -> Result<bool, WaylandError> {
        // SAFETY: the display lives.
        if unsafe { (self.library.wl_display_flush)(self.display) } >= 0 {
            return Ok(true);
        }
        let full = std::io::Error::last_os_error().kind() == std::io::ErrorKind::WouldBlock;
        // A compositor that has closed its end may have sent the reason before, which reading
        // finds.
        if full { self.check().map(|()| false) } else { Err(WaylandError::Disconnected) }
    }

    /// Dispatches and returns the events that have been read for the driver's queue.
    pub fn dispatch(&self) -> Result<Vec<Event>, WaylandError> {
        // SAFETY: display and queue live.
        let dispatched = unsafe { (self.library.wl_display_dispatch_queue_pending)(self.display, self.queue) };
        let events = std::mem::take(&mut *self.inbox.events.lock());
        if dispatched < 0 { Err(WaylandError::Disconnected) } else { self.check().map(|()| events) }
    }

    /// Prepares a read; returns `None` if there are events to dispatch first.
    pub fn prepare_read(&self) -> Option<Read<'_>> {
        // SAFETY: display and queue live.
        let prepared = unsafe { (self.library.wl_display_prepare_read_queue)(self.display, self.queue) } == 0;
        // (`then_some` would be wrong: a read that was not prepared must not be cancelled.)
        prepared.then(|| Read { connection: self, pending: true })
    }
}

impl Drop for WaylandConnection {
    fn drop(&mut self) {
        let l = self.library;
        // SAFETY: all proxies belong to this connection, and no object is left, because each owns a
        // reference to it.
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

/// A prepared read, which the reads of other threads wait for.
pub struct Read<'a> {
    connection: &'a WaylandConnection,
    pending: bool,
}

impl Read<'_> {
    /// Waits for events, for space to write if `write` is set, for a byte in `wake`, or until
    /// `time` is over, and reads the available events.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn wait(
        mut self,
        wake: Option<BorrowedFd<'_>>,
        write: bool,
        time: Option<Duration>,
    ) -> Result<(), WaylandError> {
        let (library, display) = (self.connection.library, self.connection.display);
        // SAFETY: the display lives.
        let fd = unsafe { (library.wl_display_get_fd)(display) };
        let events = if write { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
        let wake = wake.map_or(-1, |wake| wake.as_raw_fd());
        let mut fds =
            [libc::pollfd { fd, events, revents: 0 }, libc::pollfd { fd: wake, events: libc::POLLIN, revents: 0 }];
        // The time is rounded up, so that a wait for an instant does not end too early.
        let time = time.map_or(-1, |time| time.as_millis().saturating_add(1).min(i32::MAX as u128) as i32);
        // SAFETY: both structures are valid.
        let found = unsafe { libc::poll(fds.as_mut_ptr(), 2, time) };
        if found > 0 && fds[0].revents & !libc::POLLOUT != 0 {
            self.pending = false;
            // SAFETY: the read was prepared.
            if unsafe { (library.wl_display_read_events)(display) } < 0 {
                return Err(WaylandError::Disconnected);
            }
        }
        Ok(())
    }
}

impl Drop for Read<'_> {
    fn drop(&mut self) {
        if self.pending {
            // SAFETY: the read was prepared and not done.
            unsafe { (self.connection.library.wl_display_cancel_read)(self.connection.display) };
        }
    }
}

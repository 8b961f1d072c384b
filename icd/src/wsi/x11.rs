//! Puts pixels into an X11 window, over the driver's own connection.
//!
//! x11rb implements the protocol in Rust, so the library needs no libX11 or libxcb. None of this
//! runs before a surface is made. With MIT-SHM (server on this machine) a frame is one copy into
//! one of two shared segments; otherwise `PutImage` in bands no larger than the server's maximum
//! request. Each frame is followed by a query, which the server answers when it has taken the
//! frame. The driver waits for the answer after it has sent the next frame, so that the next frame
//! is drawn meanwhile. That paces the client and reports a server that is gone (or silent for too
//! long: `x11_stream`). Changes of the window arrive as events.

use super::frame::PixelOrder;
use super::x11_stream::{BoundedConnection, SERVER_TIMEOUT, connect};
use std::fmt;
use std::time::{Duration, Instant};
use x11rb::connection::{Connection, RequestConnection, SequenceNumber};
use x11rb::errors::ReplyError;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    ChangeWindowAttributesAux, ConnectionExt as _, CreateGCAux, EventMask, Gcontext, ImageFormat, Window,
};
use x11rb::protocol::{ErrorKind, Event};

/// Bytes of a `PutImage` request before its data.
const PUT_IMAGE_HEADER: usize = 24;
/// Bytes per pixel: X11 windows of this driver have 32 bits per pixel.
const PIXEL_BYTES: usize = 4;

/// Time for which a window is awaited that the server does not have. An application that has just
/// created the window has sent that request over its own connection, which a busy server may read
/// after the driver's.
const CREATION_TIMEOUT: Duration = Duration::from_millis(100);
/// Time between two requests for such a window.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// The reason why presenting failed; any of them means that the surface is lost.
#[derive(Debug)]
pub enum X11Error {
    /// There is no server at `$DISPLAY`.
    Connect(String),
    /// The window is gone, the server is gone, or it refused a request.
    Lost(String),
    /// The window's visual is not 24 or 32 bits deep with 8-bit channels.
    Visual,
}

impl fmt::Display for X11Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            X11Error::Connect(e) => write!(f, "cannot connect to the X server: {e}"),
            X11Error::Lost(e) => write!(f, "the window or the X server is gone: {e}"),
            X11Error::Visual => write!(f, "the window's visual has no 8-bit red, green and blue"),
        }
    }
}

impl std::error::Error for X11Error {}

fn lost(e: impl fmt::Display) -> X11Error {
    X11Error::Lost(e.to_string())
}

/// Requests events about a window, and waits for the window if the server does not have it yet.
fn request_events(connection: &BoundedConnection, window: Window) -> Result<(), X11Error> {
    // Several clients may request events of this kind.
    let events = ChangeWindowAttributesAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
    let start = Instant::now();
    loop {
        match connection.change_window_attributes(window, &events).map_err(lost)?.check() {
            Err(ReplyError::X11Error(e)) if e.error_kind == ErrorKind::Window && start.elapsed() < CREATION_TIMEOUT => {
                std::thread::sleep(RETRY_INTERVAL);
            }
            result => return result.map_err(lost),
        }
    }
}

/// Identity of a window.
pub struct WindowId {
    /// Name of the X server; `None` stands for `$DISPLAY`.
    pub display: Option<String>,
    /// Number of the window on its server.
    pub window: Window,
}

/// A window on an X server.
pub struct X11Window {
    connection: BoundedConnection,
    window: Window,
    gc: Gcontext,
    depth: u8,
    order: PixelOrder,
    max_data: usize,
    has_shm: bool,
    /// The segment that the server may still read, and the next frame's.
    segments: [Option<Segment>; 2],
    turn: usize,
    band: Vec<u8>,
    /// Size of the window as events last reported it.
    extent: [u32; 2],
    /// The query behind the last frame, if it has not been answered.
    pending_query: Option<SequenceNumber>,
}

impl X11Window {
    /// Connects to the server and queries the window.
    ///
    /// # Errors
    /// There is no server or no such window, or the visual is not true colour with 8-bit channels.
    pub fn open(id: &WindowId) -> Result<X11Window, X11Error> {
        Self::open_within(id, SERVER_TIMEOUT)
    }

    /// Opens a window as [`open`](Self::open) does, with a bound on the server's silence, then and
    /// later.
    fn open_within(id: &WindowId, timeout: Duration) -> Result<X11Window, X11Error> {
        let window = id.window;
        let connection = connect(id.display.as_deref(), timeout).map_err(|e| X11Error::Connect(e.to_string()))?;
        request_events(&connection, window)?;
        let visual = connection.get_window_attributes(window).map_err(lost)?.reply().map_err(lost)?.visual;
        let geometry = connection.get_geometry(window).map_err(lost)?.reply().map_err(lost)?;
        let (depth, extent) = (geometry.depth, [geometry.width.into(), geometry.height.into()]);
        let order = pixel_order(&connection, depth, visual).ok_or(X11Error::Visual)?;
        let gc = connection.generate_id().map_err(lost)?;
        connection
            .create_gc(gc, window, &CreateGCAux::new().graphics_exposures(0))
            .map_err(lost)?
            .check()
            .map_err(lost)?;
        let max_data = connection.maximum_request_bytes().saturating_sub(PUT_IMAGE_HEADER);
        let has_shm = connection.extension_information(shm::X11_EXTENSION_NAME).map_err(lost)?.is_some();
        let segments = [const { None }; 2];
        let (turn, band, pending_query) = (0, Vec::new(), None);
        Ok(X11Window {
            connection,
            window,
            gc,
            depth,
            order,
            max_data,
            has_shm,
            segments,
            turn,
            band,
            extent,
            pending_query,
        })
    }

    /// Returns the channel order that [`present`](Self::present) expects.
    pub fn pixel_order(&self) -> PixelOrder {
        self.order
    }

    /// Queries the current size of the window in pixels; the server has then taken all frames.
    ///
    /// # Errors
    /// The window or the server is gone.
    pub fn extent(&mut self) -> Result<[u32; 2], X11Error> {
        let before = self.send_query()?;
        self.wait_for_reply(before)?;
        let pending_query = self.pending_query.take();
        self.wait_for_reply(pending_query)?;
        self.known_extent()
    }

    /// Returns the size of the window in pixels, as far as the server has reported it without a
    /// query.
    ///
    /// # Errors
    /// The server has reported that the window is gone, or that a request failed.
    pub fn known_extent(&mut self) -> Result<[u32; 2], X11Error> {
        while let Some(event) = self.connection.poll_for_event().map_err(lost)? {
            match event {
                Event::ConfigureNotify(now) if now.window == self.window => {
                    self.extent = [now.width.into(), now.height.into()];
                }
                Event::DestroyNotify(gone) if gone.window == self.window => return Err(lost("it was destroyed")),
                Event::Error(error) => return Err(lost(format_args!("{error:?}"))),
                _ => {}
            }
        }
        Ok(self.extent)
    }

    /// Sends the pending requests followed by a query; returns the previous query if it has not
    /// been answered.
    fn send_query(&mut self) -> Result<Option<SequenceNumber>, X11Error> {
        let query = self.connection.get_geometry(self.window).map_err(lost)?;
        let number = query.sequence_number();
        // Dropping the cookie would discard the answer.
        std::mem::forget(query);
        self.connection.flush().map_err(lost)?;
        Ok(self.pending_query.replace(number))
    }

    /// Waits for the answer to a query.
    fn wait_for_reply(&mut self, query: Option<SequenceNumber>) -> Result<(), X11Error> {
        if let Some(number) = query {
            // (The answer may be older than the events.)
            self.connection.wait_for_reply_or_error(number).map_err(lost)?;
        }
        Ok(())
    }

    /// Shows a frame of the given size in pixels with its upper left corner at `at`, which may lie
    /// outside of the window. `row(y, out)` writes row `y` in [`PixelOrder`]. Returns when the rows
    /// have been read and the server has taken the frame before. An error of this frame is reported
    /// with the next one, or when the extent is queried.
    ///
    /// # Errors
    /// The window or the server is gone.
    pub fn present(
        &mut self,
        at: [i16; 2],
        [width, height]: [u16; 2],
        mut row: impl FnMut(u32, &mut [u8]),
    ) -> Result<(), X11Error> {
        if width == 0 || height == 0 {
            return Ok(());
        }
        self.known_extent()?;
        let bytes = usize::from(width) * usize::from(height) * PIXEL_BYTES;
        if self.shm_segment(bytes) {
            self.present_shm(at, [width, height], &mut row)?;
        } else {
            self.present_bands(at, [width, height], &mut row)?;
        }
        let before = self.send_query()?;
        self.wait_for_reply(before)
    }

    /// Returns true if the next shared segment, which the server does not read, has at least
    /// `bytes` and is attached on both sides. After a server could not attach (another machine or
    /// container), this is not tried again.
    fn shm_segment(&mut self, bytes: usize) -> bool {
        if !self.has_shm {
            return false;
        }
        self.turn ^= 1;
        if self.segments[self.turn].as_ref().is_some_and(|s| s.bytes >= bytes) {
            return true;
        }
        self.drop_segment(self.turn);
        let attached = Segment::new(bytes).and_then(|mut segment| {
            segment.id = self.connection.generate_id().ok()?;
            self.connection.shm_attach(segment.id, segment.shmid as u32, true).ok()?.check().ok()?;
            Some(segment)
        });
        self.has_shm = attached.is_some();
        self.segments[self.turn] = attached;
        self.has_shm
    }

    fn present_shm(
        &mut self,
        at: [i16; 2],
        [width, height]: [u16; 2],
        row: &mut dyn FnMut(u32, &mut [u8]),
    ) -> Result<(), X11Error> {
        let Some(segment) = &mut self.segments[self.turn] else {
            return Err(X11Error::Lost("no shared segment".to_owned()));
        };
        for (y, out) in
            segment.pixels().chunks_exact_mut(usize::from(width) * PIXEL_BYTES).take(height.into()).enumerate()
        {
            row(y as u32, out);
        }
        let format = u8::from(ImageFormat::Z_PIXMAP);
        let id = segment.id;
        self.connection
            .shm_put_image(
                self.window,
                self.gc,
                width,
                height,
                0,
                0,
                width,
                height,
                at[0],
                at[1],
                self.depth,
                format,
                false,
                id,
                0,
            )
            // An error arrives as an event.
            .map(drop)
            .map_err(lost)
    }

    fn present_bands(
        &mut self,
        at: [i16; 2],
        [width, height]: [u16; 2],
        row: &mut dyn FnMut(u32, &mut [u8]),
    ) -> Result<(), X11Error> {
        let row_bytes = usize::from(width) * PIXEL_BYTES;
        let rows = (self.max_data / row_bytes).clamp(1, usize::from(height));
        let mut band = std::mem::take(&mut self.band);
        band.resize(rows * row_bytes, 0);
        for top in (0..usize::from(height)).step_by(rows) {
            let count = rows.min(usize::from(height) - top);
            for (y, out) in band.chunks_exact_mut(row_bytes).take(count).enumerate() {
                row((top + y) as u32, out);
            }
            let data = &band[..count * row_bytes];
            let request = self.connection.put_image(
                ImageFormat::Z_PIXMAP,
                self.window,
                self.gc,
                width,
                count as u16,
                at[0],
                at[1].saturating_add(top as i16),
                0,
                self.depth,
                data,
            );
            // An error arrives as an event.
            request.map(drop).map_err(lost)?;
        }
        self.band = band;
        Ok(())
    }

    fn drop_segment(&mut self, number: usize) {
        if let Some(segment) = self.segments[number].take() {
            // A failure means that the server is gone, and its attachment with it.
            if let Ok(cookie) = self.connection.shm_detach(segment.id) {
                cookie.ignore_error();
            }
        }
    }
}

impl Drop for X11Window {
    fn drop(&mut self) {
        (0..2).for_each(|number| self.drop_segment(number));
        if let Ok(cookie) = self.connection.free_gc(self.gc) {
            cookie.ignore_error();
        }
        // A failure means that the connection is gone, which needs no action.
        let _ = self.connection.flush();
    }
}

fn pixel_order(connection: &BoundedConnection, depth: u8, visual: u32) -> Option<PixelOrder> {
    let setup = connection.setup();
    let visual = setup
        .roots
        .iter()
        .flat_map(|screen| &screen.allowed_depths)
        .filter(|d| d.depth == depth && matches!(depth, 24 | 32))
        .flat_map(|d| &d.visuals)
        .find(|v| v.visual_id == visual)?;
    let little_endian = setup.image_byte_order == x11rb::protocol::xproto::ImageOrder::LSB_FIRST;
    match (visual.red_mask, visual.green_mask, visual.blue_mask) {
        (0xff_0000, 0xff00, 0xff) if little_endian => Some(PixelOrder::Bgra),
        (0xff, 0xff00, 0xff_0000) if little_endian => Some(PixelOrder::Rgba),
        _ => None,
    }
}

/// A System V shared memory segment, attached here. It is marked for removal at once, so that it is
/// freed when both sides have detached, also when a process dies.
struct Segment {
    id: shm::Seg,
    shmid: i32,
    address: *mut u8,
    bytes: usize,
}

// SAFETY: this object owns the address range.
unsafe impl Send for Segment {}
// SAFETY: all access goes through `&mut self`.
unsafe impl Sync for Segment {}

impl Segment {
    fn new(bytes: usize) -> Option<Segment> {
        // SAFETY: creates a new private segment, which involves no existing memory.
        let shmid = unsafe { libc::shmget(libc::IPC_PRIVATE, bytes, libc::IPC_CREAT | 0o600) };
        if shmid < 0 {
            return None;
        }
        // SAFETY: maps the new segment at an address that the kernel chooses.
        let address = unsafe { libc::shmat(shmid, std::ptr::null(), 0) };
        // Linux lets other processes attach to a segment that is marked for removal while it is
        // attached. SAFETY: only marks the segment; no buffer is passed.
        unsafe { libc::shmctl(shmid, libc::IPC_RMID, std::ptr::null_mut()) };
        if address as isize == -1 {
            return None;
        }
        Some(Segment { id: 0, shmid, address: address.cast(), bytes })
    }

    fn pixels(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is `bytes` long and writable by this process; the server only reads
        // it, and not before the frame is sent.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.bytes) }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: `new` attached the segment, and no slice of it is alive.
        unsafe { libc::shmdt(self.address.cast()) };
    }
}

#[cfg(test)]
#[path = "x11_tests.rs"]
pub(super) mod tests;

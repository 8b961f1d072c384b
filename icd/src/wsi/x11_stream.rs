//! The socket to an X server, with bounded patience: x11rb waits as long as the server likes, also for one that was
//! stopped; a driver may not. The bound is on silence, not on work: whoever takes or sends a byte has all of it again. A server that
//! is gone is an error here and no signal.
//!
//! A server on this machine is looked for as libxcb does it: by its abstract name, which is there whatever part of the file system a container shows, then
//! by its path.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use x11rb::errors::ConnectError;
use x11rb::reexports::x11rb_protocol::parse_display::{ConnectAddress, parse_display};
use x11rb::reexports::x11rb_protocol::xauth::{Family, get_auth};
use x11rb::rust_connection::{DefaultStream, PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

/// Silence after which a server counts as gone.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// See the module header.
pub struct BoundedStream {
    inner: DefaultStream,
    patience: Duration,
    /// The server was silent for too long: nobody waits for it again.
    gone: AtomicBool,
}

/// What cookies are found by.
type PeerAddress = (Family, Vec<u8>);

/// A connection that gives up.
pub type BoundedConnection = RustConnection<BoundedStream>;

/// Connects to a display (`None`: `$DISPLAY`), as `x11rb::connect` does.
///
/// # Errors
/// No server, or a silent one.
pub fn connect(display: Option<&str>, patience: Duration) -> std::result::Result<BoundedConnection, ConnectError> {
    let display = parse_display(display)?;
    let mut errors = Vec::new();
    for address in display.connect_instruction() {
        match connect_to(&address) {
            Ok((inner, (family, peer))) => {
                // Without a cookie the server decides.
                let (name, data) = get_auth(family, &peer, display.display).ok().flatten().unwrap_or_default();
                let stream = BoundedStream::new(inner, patience);
                return RustConnection::connect_to_stream_with_auth_info(stream, display.screen.into(), name, data);
            }
            Err(e) => errors.push(e.to_string()),
        }
    }
    Err(ConnectError::IoError(Error::other(errors.join("; "))))
}

/// Connects to an address of a display.
fn connect_to(address: &ConnectAddress<'_>) -> Result<(DefaultStream, PeerAddress)> {
    if let ConnectAddress::Socket(path) = address
        && let Ok(name) = SocketAddr::from_abstract_name(path.as_bytes())
        && let Ok(stream) = UnixStream::connect_addr(&name)
    {
        return DefaultStream::from_unix_stream(stream);
    }
    DefaultStream::connect(address).map_err(|e| Error::new(e.kind(), format!("{address:?}: {e}")))
}

impl BoundedStream {
    /// Around a connected socket.
    pub fn new(inner: DefaultStream, patience: Duration) -> BoundedStream {
        BoundedStream { inner, patience, gone: AtomicBool::new(false) }
    }

    fn silence(&self) -> Error {
        self.gone.store(true, Ordering::Relaxed);
        Error::new(ErrorKind::TimedOut, format!("the X server did not answer for {:?}", self.patience))
    }
}

impl Stream for BoundedStream {
    fn poll(&self, mode: PollMode) -> Result<()> {
        if self.gone.load(Ordering::Relaxed) {
            return Err(self.silence());
        }
        let wanted = if mode.readable() { libc::POLLIN } else { 0 } | if mode.writable() { libc::POLLOUT } else { 0 };
        let mut fd = libc::pollfd { fd: self.inner.as_raw_fd(), events: wanted, revents: 0 };
        let end = Instant::now() + self.patience;
        loop {
            let left = end.saturating_duration_since(Instant::now()).as_millis() as i32 + 1;
            // SAFETY: one valid pollfd.
            match unsafe { libc::poll(&raw mut fd, 1, left) } {
                0 => return Err(self.silence()),
                n if n > 0 => return Ok(()),
                _ => {
                    let error = Error::last_os_error();
                    if error.kind() != ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
    }

    fn read(&self, buf: &mut [u8], fd_storage: &mut Vec<RawFdContainer>) -> Result<usize> {
        self.inner.read(buf, fd_storage)
    }

    fn write(&self, buf: &[u8], fds: &mut Vec<RawFdContainer>) -> Result<usize> {
        self.write_vectored(&[IoSlice::new(buf)], fds)
    }

    /// Of its own, for MSG_NOSIGNAL: x11rb's raises SIGPIPE when the server is gone, which kills programs that do not ignore it.
    fn write_vectored(&self, bufs: &[IoSlice<'_>], fds: &mut Vec<RawFdContainer>) -> Result<usize> {
        if !fds.is_empty() {
            return Err(Error::new(ErrorKind::Unsupported, "the presenter sends no file descriptors"));
        }
        // SAFETY: a message of nothing; every field may be zero.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        // IoSlice is an iovec ("guaranteed to be ABI compatible"), which sendmsg only reads.
        message.msg_iov = bufs.as_ptr().cast_mut().cast();
        message.msg_iovlen = bufs.len().min(libc::UIO_MAXIOV as usize);
        loop {
            // SAFETY: the message and the slices behind it live during the call.
            let sent = unsafe { libc::sendmsg(self.inner.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
            if sent >= 0 {
                return Ok(sent as usize);
            }
            let error = Error::last_os_error();
            if error.kind() != ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

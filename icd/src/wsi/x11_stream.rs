//! The socket to an X server, with bounded waits. x11rb waits as long as the server likes, even if
//! that was stopped, which a driver must not do. The bound is on silence, not on work: each
//! transferred byte restarts it. A server that is gone causes an error and no signal.
//!
//! A server on this machine is found as libxcb does it: by its abstract name, which exists whatever
//! part of the file system a container shows, then by its path.

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

/// Time of silence after which a server counts as gone.
pub const SERVER_TIMEOUT: Duration = Duration::from_secs(5);

/// A socket whose operations end after a time of silence.
pub struct BoundedStream {
    inner: DefaultStream,
    timeout: Duration,
    /// The server was silent for too long; later operations fail at once.
    is_gone: AtomicBool,
}

/// The key that authentication cookies are found by.
type PeerAddress = (Family, Vec<u8>);

/// A connection with bounded waits.
pub type BoundedConnection = RustConnection<BoundedStream>;

/// Connects to a display (`None`: `$DISPLAY`), as `x11rb::connect` does.
///
/// # Errors
/// There is no server, or it is silent.
pub fn connect(display: Option<&str>, timeout: Duration) -> std::result::Result<BoundedConnection, ConnectError> {
    let display = parse_display(display)?;
    let mut errors = Vec::new();
    for address in display.connect_instruction() {
        match connect_to(&address) {
            Ok((inner, (family, peer))) => {
                // Without a cookie the server decides.
                let (name, data) = get_auth(family, &peer, display.display).ok().flatten().unwrap_or_default();
                let stream = BoundedStream::new(inner, timeout);
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
    /// Wraps a connected socket.
    pub fn new(inner: DefaultStream, timeout: Duration) -> BoundedStream {
        BoundedStream { inner, timeout, is_gone: AtomicBool::new(false) }
    }

    fn timeout_error(&self) -> Error {
        self.is_gone.store(true, Ordering::Relaxed);
        Error::new(ErrorKind::TimedOut, format!("the X server did not answer for {:?}", self.timeout))
    }
}

impl Stream for BoundedStream {
    fn poll(&self, mode: PollMode) -> Result<()> {
        if self.is_gone.load(Ordering::Relaxed) {
            return Err(self.timeout_error());
        }
        let wanted = if mode.readable() { libc::POLLIN } else { 0 } | if mode.writable() { libc::POLLOUT } else { 0 };
        let mut fd = libc::pollfd { fd: self.inner.as_raw_fd(), events: wanted, revents: 0 };
        let end = Instant::now() + self.timeout;
        loop {
            let left = end.saturating_duration_since(Instant::now()).as_millis() as i32 + 1;
            // SAFETY: `fd` is one valid pollfd.
            match unsafe { libc::poll(&raw mut fd, 1, left) } {
                0 => return Err(self.timeout_error()),
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

    /// Replaces x11rb's implementation to pass MSG_NOSIGNAL: that one raises SIGPIPE when the
    /// server is gone, which kills programs that do not ignore it.
    fn write_vectored(&self, bufs: &[IoSlice<'_>], fds: &mut Vec<RawFdContainer>) -> Result<usize> {
        if !fds.is_empty() {
            return Err(Error::new(ErrorKind::Unsupported, "the presenter sends no file descriptors"));
        }
        // SAFETY: an empty message, whose every field may be zero.
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

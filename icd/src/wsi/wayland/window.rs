//! A Wayland surface: the buffers of its swapchains, the frames that wait, and the thread that
//! listens to the compositor.
//!
//! The queue's worker shows a frame at once if it is due ([`Window::present`]); otherwise the
//! thread does when the compositor requests it. The thread begins with the first swapchain and ends
//! with the surface. [`Window::close`] destroys all objects of the surface, after which nothing
//! uses the application's display. A thread that waits for an image regularly [checks](Window::ask)
//! that the compositor still answers. A compositor that is silent for [`SERVER_TIMEOUT`] counts as
//! gone.
//!
//! Listeners are called without the lock.

#![forbid(unsafe_code)]

use super::connection::{Event, WaylandConnection, WaylandError, WaylandObject, WaylandTarget};
use super::frame_queue::FrameQueue;
use crate::fallible;
use crate::os::descriptor::Wake;
use crate::wsi::frame::{Frame, Listener, ShmBufferInfo};
use crate::wsi::x11_stream::SERVER_TIMEOUT;
use base::fork::OriginProcess;
use base::thread::{JoinHandle, SMALL_STACK, spawn};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Largest number of unanswered callbacks; the compositor answers none for an invisible surface.
const MAX_CALLBACKS: usize = 16;

struct SwapchainBuffers {
    buffers: Vec<WaylandObject>,
    listener: Arc<dyn Listener>,
}

/// A callback that the compositor answers when a frame has been shown.
struct Callback {
    object: WaylandObject,
    swapchain: u64,
    id: u64,
}

#[derive(Default)]
struct WindowState {
    connection: Option<Arc<WaylandConnection>>,
    swapchains: HashMap<u64, SwapchainBuffers>,
    queue: FrameQueue<Frame>,
    callbacks: Vec<Callback>,
    /// A request whose answer is pending, and the instant since which it is.
    pending_sync: Option<(WaylandObject, Instant)>,
    /// There are requests that the compositor has no space for.
    unsent: bool,
}

struct SharedWindow {
    target: WaylandTarget,
    timeout: Duration,
    state: Mutex<WindowState>,
    lost: AtomicBool,
    closing: AtomicBool,
    wake: Wake,
}

/// A Wayland surface.
pub struct Window {
    shared: Arc<SharedWindow>,
    thread: Mutex<Option<JoinHandle<()>>>,
    home: OriginProcess,
}

/// A call of a listener.
enum ListenerCall {
    Released(Arc<dyn Listener>, usize),
    Shown(Arc<dyn Listener>, u64),
}

impl ListenerCall {
    fn call(self) {
        match self {
            ListenerCall::Released(listener, image) => listener.image_released(image),
            ListenerCall::Shown(listener, id) => listener.frame_shown(id),
        }
    }
}

impl WindowState {
    /// Handles an event; returns the listener's call that it causes.
    fn handle_event(&mut self, event: Event) -> Option<ListenerCall> {
        match event {
            Event::Release(id) => self.swapchains.values().find_map(|swapchain| {
                let image = swapchain.buffers.iter().position(|buffer| buffer.id() == id)?;
                Some(ListenerCall::Released(swapchain.listener.clone(), image))
            }),
            Event::Done(id) if self.pending_sync.as_ref().is_some_and(|(object, _)| object.id() == id) => {
                self.pending_sync = None;
                None
            }
            Event::Done(id) => {
                let at = self.callbacks.iter().position(|callback| callback.object.id() == id)?;
                let Callback { swapchain, id, .. } = self.callbacks.remove(at);
                self.queue.done();
                let listener = self.swapchains.get(&swapchain).filter(|_| id != 0)?.listener.clone();
                Some(ListenerCall::Shown(listener, id))
            }
        }
    }

    /// Shows the frames that are due.
    fn show(&mut self, connection: &Arc<WaylandConnection>) -> Result<(), WaylandError> {
        while let Some((frame, is_fifo)) = self.queue.next(Instant::now()) {
            let buffer = self.swapchains.get(&frame.swapchain).and_then(|swapchain| swapchain.buffers.get(frame.image));
            let Some(buffer) = buffer else { continue };
            connection.attach(buffer, &frame.damage);
            if (is_fifo || frame.id != 0) && self.callbacks.len() < MAX_CALLBACKS {
                let callback = Callback { object: connection.frame()?, swapchain: frame.swapchain, id: frame.id };
                self.callbacks.push(callback);
            }
            connection.commit();
        }
        self.unsent = !connection.flush()?;
        Ok(())
    }
}

impl SharedWindow {
    fn connection(&self, state: &mut WindowState) -> Result<Arc<WaylandConnection>, WaylandError> {
        if self.lost.load(Ordering::Acquire) {
            return Err(WaylandError::SurfaceDestroyed);
        }
        if let Some(connection) = &state.connection {
            connection.check()?;
            return Ok(connection.clone());
        }
        let connection = WaylandConnection::open(&self.target, self.timeout)?;
        state.connection = Some(connection.clone());
        Ok(connection)
    }

    /// Runs `f` on the connection; an error loses the surface.
    fn with<R>(
        &self,
        f: impl FnOnce(&mut WindowState, &Arc<WaylandConnection>) -> Result<R, WaylandError>,
    ) -> Result<R, WaylandError> {
        let result = {
            let mut state = self.state.lock();
            self.connection(&mut state).and_then(|connection| f(&mut state, &connection))
        };
        result.inspect_err(|_| self.lose())
    }

    fn lose(&self) {
        if !self.lost.swap(true, Ordering::AcqRel) {
            let listeners: Vec<_> =
                self.state.lock().swapchains.values().map(|swapchain| swapchain.listener.clone()).collect();
            listeners.iter().for_each(|listener| listener.surface_lost());
            self.wake.wake();
        }
    }

    /// Listens to the compositor until the window is closed or lost; this is the thread's work.
    fn listen(&self) -> Result<(), WaylandError> {
        loop {
            let (connection, calls, due, unsent) = self.with(|state, connection| {
                let calls: Vec<ListenerCall> =
                    connection.dispatch()?.into_iter().filter_map(|event| state.handle_event(event)).collect();
                state.show(connection)?;
                Ok((connection.clone(), calls, state.queue.due(), state.unsent))
            })?;
            calls.into_iter().for_each(ListenerCall::call);
            if self.closing.load(Ordering::Acquire) {
                return Ok(());
            }
            if let Some(read) = connection.prepare_read() {
                let time = due.map(|due| due.saturating_duration_since(Instant::now()));
                read.wait(Some(self.wake.as_fd()), unsent, time)?;
                self.wake.take();
            }
        }
    }
}

/// Loses the surface when the thread ends for any reason, so that no thread waits for it.
struct LoseOnExit<'a>(&'a SharedWindow);

impl Drop for LoseOnExit<'_> {
    fn drop(&mut self) {
        self.0.lose();
    }
}

impl Window {
    /// Makes a window without using the connection. Returns `None` if the process has too many
    /// descriptors.
    pub fn new(target: WaylandTarget) -> Option<Window> {
        Window::with_timeout(target, SERVER_TIMEOUT)
    }

    /// Makes a window as [`new`](Self::new) does, with a bound on the compositor's silence.
    pub(super) fn with_timeout(target: WaylandTarget, timeout: Duration) -> Option<Window> {
        let shared = SharedWindow {
            target,
            timeout,
            state: Mutex::default(),
            lost: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            wake: Wake::new()?,
        };
        Some(Window { shared: Arc::new(shared), thread: Mutex::new(None), home: OriginProcess::current() })
    }

    /// Returns the formats that the compositor accepts (`wl_shm.format`).
    ///
    /// # Errors
    /// The connection has ended, or there is no answer.
    pub fn formats(&self) -> Result<Vec<u32>, WaylandError> {
        self.shared.with(|_, connection| Ok(connection.formats()))
    }

    /// Checks that the compositor can be reached.
    ///
    /// # Errors
    /// The connection has ended, or there is no answer.
    pub fn ping(&self) -> Result<(), WaylandError> {
        self.shared.with(|_, _| Ok(()))
    }

    /// Checks that the surface is not known to be lost.
    ///
    /// # Errors
    /// The surface is lost.
    pub fn check(&self) -> Result<(), WaylandError> {
        if self.shared.lost.load(Ordering::Acquire) { Err(WaylandError::SurfaceDestroyed) } else { Ok(()) }
    }

    /// Gives the compositor the images of a swapchain. Returns false if there is no memory or
    /// thread for it.
    ///
    /// # Errors
    /// The connection has ended, or there is no answer.
    pub fn add(
        &self,
        swapchain: u64,
        images: &[(File, ShmBufferInfo)],
        listener: Arc<dyn Listener>,
    ) -> Result<bool, WaylandError> {
        let mut buffers = Vec::new();
        if fallible::reserve(&mut buffers, images.len()).is_err() {
            return Ok(false);
        }
        self.shared.with(|state, connection| {
            for (file, picture) in images {
                buffers.push(connection.create_buffer(file.as_fd(), picture)?);
            }
            state.unsent = !connection.flush()?;
            state.swapchains.insert(swapchain, SwapchainBuffers { buffers, listener });
            Ok(())
        })?;
        let started = self.start();
        if !started {
            self.remove(swapchain);
        }
        Ok(started)
    }

    /// Starts the thread if it does not run yet.
    fn start(&self) -> bool {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let shared = self.shared.clone();
            let listen = move || {
                let end = LoseOnExit(&shared);
                // `LoseOnExit` reports the failure.
                let _ = end.0.listen();
            };
            *thread = spawn("grus-wayland", SMALL_STACK, listen).ok();
        }
        thread.is_some()
    }

    /// Removes a swapchain with its frames and buffers.
    pub fn remove(&self, swapchain: u64) {
        if !self.home.is_current() {
            return;
        }
        let mut state = self.shared.state.lock();
        state.queue.retain(|frame| frame.swapchain != swapchain);
        if state.swapchains.remove(&swapchain).is_some()
            && let Some(connection) = &state.connection
        {
            // The next request finds out if the compositor is gone.
            let _ = connection.flush();
        }
    }

    /// Shows a frame when it is due. With `is_fifo`, it is shown until its time is over.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn present(&self, frame: Frame, is_fifo: bool) -> Result<(), WaylandError> {
        let wake = self.shared.with(|state, connection| {
            state.queue.push(frame, is_fifo);
            state.show(connection)?;
            Ok(state.unsent || state.queue.due().is_some())
        })?;
        if wake {
            self.shared.wake.wake();
        }
        Ok(())
    }

    /// Sends a request to the compositor, if it has answered the last one; a surface whose
    /// compositor takes too long is lost.
    pub fn check_responding(&self) {
        let timeout = self.shared.timeout;
        // The listener has received the error.
        let _ = self.shared.with(|state, connection| {
            match &state.pending_sync {
                Some((_, since)) if since.elapsed() >= timeout => return Err(WaylandError::NotResponding),
                Some(_) => {}
                None => state.pending_sync = Some((connection.sync()?, Instant::now())),
            }
            state.unsent = !connection.flush()?;
            Ok(())
        });
    }

    /// Returns the time between calls of [`check_responding`](Self::check_responding) by a waiting
    /// thread.
    pub fn interval(&self) -> Duration {
        self.shared.timeout / 8
    }

    /// Ends the thread and destroys all objects.
    pub fn close(&self) {
        if !self.home.is_current() {
            // After a fork the thread does not exist in this process, and the connection belongs to
            // the parent.
            std::mem::forget(self.shared.clone());
            return;
        }
        self.shared.closing.store(true, Ordering::Release);
        self.shared.lose();
        self.shared.wake.wake();
        if let Some(thread) = self.thread.lock().take() {
            // A panic of the thread has lost the surface and has no effect here.
            let _ = thread.join();
        }
        drop(std::mem::take(&mut *self.shared.state.lock()));
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.close();
    }
}

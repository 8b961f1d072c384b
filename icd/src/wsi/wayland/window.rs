//! A Wayland surface: the buffers of its swapchains, the frames that wait, and the thread that
//! listens to the compositor.
//!
//! The queue's worker shows a frame at once if it is due ([`Window::present`]); otherwise the
//! thread does when the compositor requests it. The thread begins with the first swapchain and ends
//! with the surface. [`Window::close`] destroys all objects of the surface, after which nothing
//! uses the application's display. A thread that waits for an image regularly [checks](Window::ask)
//! that the compositor still answers. A compositor that is silent for [`PATIENCE`] counts as gone.
//!
//! Listeners are called without the lock.

#![forbid(unsafe_code)]

use super::connection::{Connection, Event, Lost, Object, Picture, Rectangle, Target};
use super::line::Line;
use crate::fallible;
use crate::os::descriptor::Wake;
use crate::wsi::x11_stream::PATIENCE;
use base::fork::Home;
use base::thread::{JoinHandle, SMALL_STACK, spawn};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Largest number of unanswered callbacks; the compositor answers none for an invisible surface.
const MOST_CALLBACKS: usize = 16;

/// Receives the events of a swapchain's images.
pub trait Listener: Send + Sync {
    /// Reports that the compositor does not read the image any more.
    fn released(&self, image: usize);
    /// Reports that the frame with this number, and all before it, have been shown.
    fn seen(&self, id: u64);
    /// Reports that the surface is lost.
    fn lost(&self);
}

/// A frame to show.
#[derive(Debug)]
pub struct Frame {
    /// Number of the swapchain.
    pub chain: u64,
    /// Index of its image.
    pub image: usize,
    /// Rectangles that differ from the frame before; an empty list means anywhere.
    pub damage: Vec<Rectangle>,
    /// Number that is passed to the listener when the frame has been shown; 0 for none.
    pub id: u64,
}

struct Chain {
    buffers: Vec<Object>,
    listener: Arc<dyn Listener>,
}

/// A callback that the compositor answers when a frame has been shown.
struct Callback {
    object: Object,
    chain: u64,
    id: u64,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    chains: HashMap<u64, Chain>,
    line: Line<Frame>,
    callbacks: Vec<Callback>,
    /// A request whose answer is pending, and the instant since which it is.
    question: Option<(Object, Instant)>,
    /// There are requests that the compositor has no space for.
    unsent: bool,
}

struct Shared {
    target: Target,
    patience: Duration,
    state: Mutex<State>,
    lost: AtomicBool,
    closing: AtomicBool,
    wake: Wake,
}

/// A Wayland surface.
pub struct Window {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    home: Home,
}

/// A call of a listener.
enum News {
    Released(Arc<dyn Listener>, usize),
    Seen(Arc<dyn Listener>, u64),
}

impl News {
    fn tell(self) {
        match self {
            News::Released(listener, image) => listener.released(image),
            News::Seen(listener, id) => listener.seen(id),
        }
    }
}

impl State {
    /// Handles an event; returns the listener's call that it causes.
    fn take(&mut self, event: Event) -> Option<News> {
        match event {
            Event::Release(id) => self.chains.values().find_map(|chain| {
                let image = chain.buffers.iter().position(|buffer| buffer.id() == id)?;
                Some(News::Released(chain.listener.clone(), image))
            }),
            Event::Done(id) if self.question.as_ref().is_some_and(|(object, _)| object.id() == id) => {
                self.question = None;
                None
            }
            Event::Done(id) => {
                let at = self.callbacks.iter().position(|callback| callback.object.id() == id)?;
                let Callback { chain, id, .. } = self.callbacks.remove(at);
                self.line.done();
                let listener = self.chains.get(&chain).filter(|_| id != 0)?.listener.clone();
                Some(News::Seen(listener, id))
            }
        }
    }

    /// Shows the frames that are due.
    fn show(&mut self, connection: &Arc<Connection>) -> Result<(), Lost> {
        while let Some((frame, stays)) = self.line.next(Instant::now()) {
            let buffer = self.chains.get(&frame.chain).and_then(|chain| chain.buffers.get(frame.image));
            let Some(buffer) = buffer else { continue };
            connection.attach(buffer, &frame.damage);
            if (stays || frame.id != 0) && self.callbacks.len() < MOST_CALLBACKS {
                let callback = Callback { object: connection.frame()?, chain: frame.chain, id: frame.id };
                self.callbacks.push(callback);
            }
            connection.commit();
        }
        self.unsent = !connection.flush()?;
        Ok(())
    }
}

impl Shared {
    fn connection(&self, state: &mut State) -> Result<Arc<Connection>, Lost> {
        if self.lost.load(Ordering::Acquire) {
            return Err(Lost::Closed);
        }
        if let Some(connection) = &state.connection {
            connection.check()?;
            return Ok(connection.clone());
        }
        let connection = Connection::open(&self.target, self.patience)?;
        state.connection = Some(connection.clone());
        Ok(connection)
    }

    /// Runs `f` on the connection; an error loses the surface.
    fn with<R>(&self, f: impl FnOnce(&mut State, &Arc<Connection>) -> Result<R, Lost>) -> Result<R, Lost> {
        let result = {
            let mut state = self.state.lock();
            self.connection(&mut state).and_then(|connection| f(&mut state, &connection))
        };
        result.inspect_err(|_| self.lose())
    }

    fn lose(&self) {
        if !self.lost.swap(true, Ordering::AcqRel) {
            let listeners: Vec<_> = self.state.lock().chains.values().map(|chain| chain.listener.clone()).collect();
            listeners.iter().for_each(|listener| listener.lost());
            self.wake.wake();
        }
    }

    /// Listens to the compositor until the window is closed or lost; this is the thread's work.
    fn listen(&self) -> Result<(), Lost> {
        loop {
            let (connection, news, due, unsent) = self.with(|state, connection| {
                let news: Vec<News> =
                    connection.dispatch()?.into_iter().filter_map(|event| state.take(event)).collect();
                state.show(connection)?;
                Ok((connection.clone(), news, state.line.due(), state.unsent))
            })?;
            news.into_iter().for_each(News::tell);
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
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.lose();
    }
}

impl Window {
    /// Makes a window without using the connection. Returns `None` if the process has too many
    /// descriptors.
    pub fn new(target: Target) -> Option<Window> {
        Window::within(target, PATIENCE)
    }

    /// Makes a window as [`new`](Self::new) does, with a bound on the compositor's silence.
    pub(super) fn within(target: Target, patience: Duration) -> Option<Window> {
        let shared = Shared {
            target,
            patience,
            state: Mutex::default(),
            lost: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            wake: Wake::new()?,
        };
        Some(Window { shared: Arc::new(shared), thread: Mutex::new(None), home: Home::here() })
    }

    /// Returns the formats that the compositor accepts (`wl_shm.format`).
    ///
    /// # Errors
    /// The connection has ended, or there is no answer.
    pub fn formats(&self) -> Result<Vec<u32>, Lost> {
        self.shared.with(|_, connection| Ok(connection.formats()))
    }

    /// Checks that the compositor can be reached.
    ///
    /// # Errors
    /// The connection has ended, or there is no answer.
    pub fn touch(&self) -> Result<(), Lost> {
        self.shared.with(|_, _| Ok(()))
    }

    /// Checks that the surface is not known to be lost.
    ///
    /// # Errors
    /// The surface is lost.
    pub fn check(&self) -> Result<(), Lost> {
        if self.shared.lost.load(Ordering::Acquire) { Err(Lost::Closed) } else { Ok(()) }
    }

    /// Gives the compositor the images of a swapchain. Returns false if there is no memory or
    /// thread for it.
    ///
    /// # Errors
    /// The connection has ended, or there is no answer.
    pub fn add(&self, chain: u64, images: &[(File, Picture)], listener: Arc<dyn Listener>) -> Result<bool, Lost> {
        let mut buffers = Vec::new();
        if fallible::reserve(&mut buffers, images.len()).is_err() {
            return Ok(false);
        }
        self.shared.with(|state, connection| {
            for (file, picture) in images {
                buffers.push(connection.create_buffer(file.as_fd(), picture)?);
            }
            state.unsent = !connection.flush()?;
            state.chains.insert(chain, Chain { buffers, listener });
            Ok(())
        })?;
        let started = self.start();
        if !started {
            self.remove(chain);
        }
        Ok(started)
    }

    /// Starts the thread if it does not run yet.
    fn start(&self) -> bool {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let shared = self.shared.clone();
            let listen = move || {
                let end = End(&shared);
                // `End` reports the failure.
                let _ = end.0.listen();
            };
            *thread = spawn("grus-wayland", SMALL_STACK, listen).ok();
        }
        thread.is_some()
    }

    /// Removes a swapchain with its frames and buffers.
    pub fn remove(&self, chain: u64) {
        if !self.home.is_here() {
            return;
        }
        let mut state = self.shared.state.lock();
        state.line.retain(|frame| frame.chain != chain);
        if state.chains.remove(&chain).is_some()
            && let Some(connection) = &state.connection
        {
            // The next request finds out if the compositor is gone.
            let _ = connection.flush();
        }
    }

    /// Shows a frame when it is due. With `stays`, it is shown until its time is over.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn present(&self, frame: Frame, stays: bool) -> Result<(), Lost> {
        let wake = self.shared.with(|state, connection| {
            state.line.push(frame, stays);
            state.show(connection)?;
            Ok(state.unsent || state.line.due().is_some())
        })?;
        if wake {
            self.shared.wake.wake();
        }
        Ok(())
    }

    /// Sends a request to the compositor, if it has answered the last one; a surface whose
    /// compositor takes too long is lost.
    pub fn ask(&self) {
        let patience = self.shared.patience;
        // The listener has received the error.
        let _ = self.shared.with(|state, connection| {
            match &state.question {
                Some((_, since)) if since.elapsed() >= patience => return Err(Lost::Silent),
                Some(_) => {}
                None => state.question = Some((connection.sync()?, Instant::now())),
            }
            state.unsent = !connection.flush()?;
            Ok(())
        });
    }

    /// Returns the time between calls of [`ask`](Self::ask) by a waiting thread.
    pub fn interval(&self) -> Duration {
        self.shared.patience / 8
    }

    /// Ends the thread and destroys all objects.
    pub fn close(&self) {
        if !self.home.is_here() {
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

//! A Wayland surface: the buffers of its swapchains, the frames that wait, and the thread that listens to the compositor.
//!
//! The queue's worker shows a frame at once where it is due ([`Window::present`]); else the thread does when the compositor says so. The thread begins with the first swapchain and
//! ends with the surface, all of whose objects [`Window::close`] destroys: nothing touches the application's display afterwards. Whoever waits for an image
//! [asks](Window::ask) now and then whether the compositor still answers: one that does not for [`PATIENCE`] is as good as gone.
//!
//! Listeners are told without the lock.

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

/// Callbacks that the compositor has not answered; it answers none of a surface that nobody sees.
const MOST_CALLBACKS: usize = 16;

/// Who is told what becomes of the images of a swapchain.
pub trait Listener: Send + Sync {
    /// The compositor reads the image no more.
    fn released(&self, image: usize);
    /// The frame with this number, and all before, have been seen.
    fn seen(&self, id: u64);
    /// The surface is lost.
    fn lost(&self);
}

/// What a frame shows.
#[derive(Debug)]
pub struct Frame {
    /// Number of the swapchain.
    pub chain: u64,
    /// Number of its image.
    pub image: usize,
    /// What differs from the frame before; nothing: anything.
    pub damage: Vec<Rectangle>,
    /// Its number, of whose being seen the listener is told; or 0.
    pub id: u64,
}

struct Chain {
    buffers: Vec<Object>,
    listener: Arc<dyn Listener>,
}

/// What is answered when a frame has been seen.
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
    /// A question to the compositor, and since when.
    question: Option<(Object, Instant)>,
    /// There are requests that the compositor has no room for.
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

/// See the module header.
pub struct Window {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    home: Home,
}

/// Something to tell a listener.
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
    /// What a released or answered object means.
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

    /// Shows the frames whose turn it is.
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

    /// The thread's work, until the window is closed or lost.
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

/// However the thread ends, nobody waits for it.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.lose();
    }
}

impl Window {
    /// Touches nothing yet. None: the process may have no more descriptors.
    pub fn new(target: Target) -> Option<Window> {
        Window::within(target, PATIENCE)
    }

    /// As [`new`](Self::new), with a bound on how long the compositor may be silent.
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

    /// Formats that the compositor takes (`wl_shm.format`).
    ///
    /// # Errors
    /// The connection has ended, or there is no answer.
    pub fn formats(&self) -> Result<Vec<u32>, Lost> {
        self.shared.with(|_, connection| Ok(connection.formats()))
    }

    /// Is it there?
    ///
    /// # Errors
    /// The connection has ended, or there is no answer.
    pub fn touch(&self) -> Result<(), Lost> {
        self.shared.with(|_, _| Ok(()))
    }

    /// Is it there, as far as is known?
    ///
    /// # Errors
    /// It is not.
    pub fn check(&self) -> Result<(), Lost> {
        if self.shared.lost.load(Ordering::Acquire) { Err(Lost::Closed) } else { Ok(()) }
    }

    /// Gives the compositor the images of a swapchain. False: there is no memory or thread for it.
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

    /// Starts the thread, if it does not run yet.
    fn start(&self) -> bool {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let shared = self.shared.clone();
            let listen = move || {
                let end = End(&shared);
                // The end says it.
                let _ = end.0.listen();
            };
            *thread = spawn("grus-wayland", SMALL_STACK, listen).ok();
        }
        thread.is_some()
    }

    /// A swapchain is gone: so are its frames and buffers.
    pub fn remove(&self, chain: u64) {
        if !self.home.is_here() {
            return;
        }
        let mut state = self.shared.state.lock();
        state.line.retain(|frame| frame.chain != chain);
        if state.chains.remove(&chain).is_some()
            && let Some(connection) = &state.connection
        {
            // Who is gone is found by the next that has something to say.
            let _ = connection.flush();
        }
    }

    /// Shows a frame when its turn comes. With `stays`, it is shown until its time is over.
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

    /// Asks the compositor something, if it has answered the last question; a surface whose compositor takes too long is lost.
    pub fn ask(&self) {
        let patience = self.shared.patience;
        // An error has been told to the listener.
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

    /// Time between questions of who waits.
    pub fn interval(&self) -> Duration {
        self.shared.patience / 8
    }

    /// Ends the thread and destroys all objects.
    pub fn close(&self) {
        if !self.home.is_here() {
            // The thread is not in this process, and the connection is the other's.
            std::mem::forget(self.shared.clone());
            return;
        }
        self.shared.closing.store(true, Ordering::Release);
        self.shared.lose();
        self.shared.wake.wake();
        if let Some(thread) = self.thread.lock().take() {
            // A panic there has lost the surface, and is no matter here.
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

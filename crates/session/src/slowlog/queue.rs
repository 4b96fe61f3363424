//! Entries on their way to the file.
//!
//! Entries are appended to a buffer of bounded size. The writer takes the whole buffer, writes it, and rests for a moment
//! before it looks again, so that under load it writes a few times a second and nobody has to wake it; when
//! nothing came it sleeps until somebody logs.
//!
//! Changing files goes through the writer: it first writes what was logged before into the old one.

use parking_lot::{Condvar, Mutex};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes that may wait to be written; an entry that is larger by itself is taken when nothing else waits.
const MOST_BYTES: usize = 8 << 20;
/// A buffer this full wakes a resting writer.
const WAKE_BYTES: usize = 256 << 10;
/// A buffer that grew beyond this is not kept.
const KEEP_BYTES: usize = 1 << 20;
/// How long the writer rests after writing.
const REST: Duration = Duration::from_millis(50);
/// Between two complaints about lost entries.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);

/// A file and what is written to it first; `None` closes the file.
type Switch = Option<(File, String)>;

/// See the module.
#[derive(Default)]
pub(super) struct Queue {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// The writer waits here.
    work: Condvar,
    /// Those who switch files wait here.
    switched: Condvar,
    lost: AtomicU64,
}

#[derive(Default)]
struct State {
    buffer: Vec<u8>,
    /// Entries in it.
    entries: u64,
    /// The database that the last entry's reader is in.
    database: Option<String>,
    /// The writer sleeps until woken.
    asleep: bool,
    /// The file to turn to, and the number of that order.
    switch: Option<Switch>,
    ordered: u64,
    done: u64,
    stop: bool,
}

impl Queue {
    /// Appends an entry: `before`, a USE if the database is another than the last entry's, `after`.
    pub fn push(&self, before: &[u8], database: Option<&str>, after: &[u8]) {
        let mut s = self.shared.state.lock();
        let len = before.len() + after.len();
        if !s.buffer.is_empty() && s.buffer.len() + len > MOST_BYTES {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        s.buffer.extend_from_slice(before);
        if let Some(name) = database
            && s.database.as_deref() != Some(name)
        {
            s.buffer.extend_from_slice(b"use ");
            s.buffer.extend_from_slice(name.as_bytes());
            s.buffer.extend_from_slice(b";\n");
            s.database = Some(name.to_string());
        }
        s.buffer.extend_from_slice(after);
        s.entries += 1;
        let full = s.buffer.len() >= WAKE_BYTES && s.buffer.len() - len < WAKE_BYTES;
        if s.asleep || full {
            s.asleep = false;
            self.shared.work.notify_one();
        }
    }

    /// Has the writer finish the open file and turn to another; returns when it has. Fails if there is no writer and none
    /// can be started.
    pub fn switch(&self, to: Switch) -> io::Result<()> {
        self.start_writer()?;
        let mut s = self.shared.state.lock();
        // The last order counts; callers come one at a time.
        s.switch = Some(to);
        s.ordered += 1;
        let mine = s.ordered;
        s.asleep = false;
        self.shared.work.notify_one();
        while s.done < mine {
            self.shared.switched.wait(&mut s);
        }
        Ok(())
    }

    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    fn start_writer(&self) -> io::Result<()> {
        let mut writer = self.writer.lock();
        if writer.is_none() {
            let shared = self.shared.clone();
            let run = move || Writer::new(&shared).run();
            *writer = Some(
                std::thread::Builder::new()
                    .name("slow-log".into())
                    .spawn(run)?,
            );
        }
        Ok(())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shared.state.lock().stop = true;
        self.shared.work.notify_one();
        if let Some(writer) = self.writer.lock().take() {
            // It has nothing to say but what it has logged.
            let _ = writer.join();
        }
    }
}

/// The thread's own.
struct Writer<'s> {
    shared: &'s Shared,
    file: Option<File>,
    failing: bool,
    complained: Option<Instant>,
    told: u64,
}

/// What the writer found to do.
struct Work {
    buffer: Vec<u8>,
    entries: u64,
    switch: Option<(Switch, u64)>,
    stop: bool,
}

impl<'s> Writer<'s> {
    fn new(shared: &'s Shared) -> Writer<'s> {
        Writer {
            shared,
            file: None,
            failing: false,
            complained: None,
            told: 0,
        }
    }

    fn run(mut self) {
        let mut spare = Vec::new();
        loop {
            let mut work = self.next(std::mem::take(&mut spare));
            self.write(&work.buffer, work.entries);
            if let Some((to, order)) = work.switch {
                self.turn_to(to);
                self.shared.state.lock().done = order;
                self.shared.switched.notify_all();
            }
            self.complain();
            if work.stop {
                return;
            }
            if work.buffer.capacity() <= KEEP_BYTES {
                work.buffer.clear();
                spare = work.buffer;
            }
        }
    }

    /// Waits for work and takes all there is.
    fn next(&self, spare: Vec<u8>) -> Work {
        let mut s = self.shared.state.lock();
        // Entries that come now and then go out at once; those that come all the time, together.
        if s.switch.is_none() && !s.stop && s.buffer.len() < WAKE_BYTES {
            self.shared.work.wait_for(&mut s, REST);
        }
        while s.buffer.is_empty() && s.switch.is_none() && !s.stop {
            s.asleep = true;
            self.shared.work.wait(&mut s);
        }
        s.asleep = false;
        let switch = s.switch.take().map(|to| (to, s.ordered));
        if switch.is_some() {
            // A new file's reader is in no database.
            s.database = None;
        }
        Work {
            buffer: std::mem::replace(&mut s.buffer, spare),
            entries: std::mem::take(&mut s.entries),
            switch,
            stop: s.stop,
        }
    }

    fn write(&mut self, bytes: &[u8], entries: u64) {
        let Some(file) = &mut self.file else {
            // Logged by a statement that began before the log was turned off.
            return;
        };
        if bytes.is_empty() {
            return;
        }
        // What was cut off by the last failure ends here.
        let begun = if self.failing { &b"\n"[..] } else { b"" };
        let written = file.write_all(begun).and_then(|()| file.write_all(bytes));
        match written {
            Ok(()) => {
                if std::mem::take(&mut self.failing) {
                    tracing::info!("the slow query log is being written again");
                }
            }
            Err(e) => {
                self.shared.lost.fetch_add(entries, Ordering::Relaxed);
                self.shared.state.lock().database = None;
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::error!(error = %e, "cannot write the slow query log");
                }
            }
        }
    }

    fn turn_to(&mut self, to: Switch) {
        self.file = None;
        self.failing = false;
        if let Some((file, head)) = to {
            self.file = Some(file);
            self.write(head.as_bytes(), 0);
        }
    }

    fn complain(&mut self) {
        let lost = self.shared.lost.load(Ordering::Relaxed);
        let lately = |at: Instant| at.elapsed() < COMPLAIN_EVERY;
        if lost > self.told && !self.complained.is_some_and(lately) {
            tracing::warn!(
                lost = lost - self.told,
                "entries of the slow query log were lost"
            );
            self.told = lost;
            self.complained = Some(Instant::now());
        }
    }
}

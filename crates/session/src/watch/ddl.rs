//! The last DDL statements, with their start and end.

use super::StatementKind;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// Events kept.
const KEPT: usize = 4096;
/// Characters of a statement's text, and of its list of tables, that are kept.
const TEXT: usize = 256;

/// A DDL statement that runs or has run.
#[derive(Clone, Debug)]
pub struct DdlEvent {
    /// Number, from 1.
    pub id: u64,
    /// What it is.
    pub kind: StatementKind,
    /// Database.
    pub database: Option<String>,
    /// Table; several with commas between.
    pub table: Option<String>,
    /// Connection.
    pub connection: u32,
    /// The start of its text.
    pub text: String,
    /// When it began, in nanoseconds of [`super::Watch::now_ns`].
    pub start_ns: u64,
    /// When it ended; `None` while it runs.
    pub end_ns: Option<u64>,
    /// Error code, 0 for none.
    pub error: u16,
    /// From when to when it worked on cached pages of what it dropped; `None` if it dropped nothing, or runs.
    pub pages_ns: Option<(u64, u64)>,
}

#[derive(Default)]
struct Events {
    /// By id, without gaps.
    list: VecDeque<DdlEvent>,
    count: u64,
}

#[derive(Default)]
pub(super) struct DdlLog(Mutex<Events>);

fn cut(text: &mut String) {
    if let Some((at, _)) = text.char_indices().nth(TEXT) {
        text.truncate(at);
        text.shrink_to_fit();
    }
}

impl DdlLog {
    pub fn begin(&self, mut event: DdlEvent) -> u64 {
        cut(&mut event.text);
        if let Some(t) = &mut event.table {
            cut(t);
        }
        let mut events = self.0.lock();
        events.count += 1;
        event.id = events.count;
        if events.list.len() == KEPT {
            events.list.pop_front();
        }
        let id = event.id;
        events.list.push_back(event);
        id
    }

    pub fn end(&self, id: u64, end_ns: u64, error: u16, pages_ns: Option<(u64, u64)>) {
        let mut events = self.0.lock();
        // It may have been crowded out by those that began after it.
        if let Ok(at) = events.list.binary_search_by_key(&id, |e| e.id) {
            let event = &mut events.list[at];
            event.end_ns = Some(end_ns);
            event.error = error;
            event.pages_ns = pages_ns;
        }
    }

    pub fn read(&self) -> Vec<DdlEvent> {
        self.0.lock().list.iter().cloned().collect()
    }

    pub fn count(&self) -> u64 {
        self.0.lock().count
    }

    pub fn reset(&self) {
        self.0.lock().list.retain(|e| e.end_ns.is_none());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> DdlEvent {
        DdlEvent {
            id: 0,
            kind: StatementKind::DropTable,
            database: None,
            table: None,
            connection: 1,
            text: text.into(),
            start_ns: 1,
            end_ns: None,
            error: 0,
            pages_ns: None,
        }
    }

    #[test]
    fn events_end_and_are_forgotten() {
        let log = DdlLog::default();
        let a = log.begin(event(&"ä".repeat(1000)));
        let b = log.begin(event("b"));
        log.end(a, 7, 1051, None);
        let read = log.read();
        assert_eq!((read[0].end_ns, read[0].error), (Some(7), 1051));
        assert_eq!(read[0].text.chars().count(), TEXT);
        assert_eq!(read[1].end_ns, None);
        log.reset();
        assert_eq!(log.read().len(), 1, "what runs stays");
        log.end(b, 8, 0, Some((2, 3)));
        assert_eq!(log.read()[0].pages_ns, Some((2, 3)));
        for _ in 0..KEPT {
            log.begin(event(""));
        }
        log.end(b, 9, 0, None);
        assert_eq!((log.read().len(), log.count()), (KEPT, KEPT as u64 + 2));
    }
}

//! Which event is due next.

use std::collections::{BTreeSet, HashMap};

use millpond_store::ObjectKey;

/// Events that are to run, by when.
#[derive(Default)]
pub(super) struct Queue {
    order: BTreeSet<(i64, ObjectKey)>,
    /// When each is due, and the bytes of the definition that says so.
    events: HashMap<ObjectKey, (i64, Vec<u8>)>,
}

/// An event that is due.
pub(super) struct Due {
    pub key: ObjectKey,
    /// The bytes of its definition, as it was when it was put into the queue.
    pub body: Vec<u8>,
}

impl Queue {
    /// An event is due then. It may have been before.
    pub fn put(&mut self, due: i64, key: ObjectKey, body: Vec<u8>) {
        self.remove(&key);
        self.order.insert((due, key.clone()));
        self.events.insert(key, (due, body));
    }
    /// It is not due any more.
    pub fn remove(&mut self, key: &ObjectKey) {
        if let Some((due, _)) = self.events.remove(key) {
            self.order.remove(&(due, key.clone()));
        }
    }
    /// When the first is due.
    pub fn next(&self) -> Option<i64> {
        self.order.first().map(|(due, _)| *due)
    }
    /// Takes the first out.
    pub fn pop(&mut self) -> Option<Due> {
        let (_, key) = self.order.pop_first()?;
        let (_, body) = self.events.remove(&key)?;
        Some(Due { key, body })
    }
    pub fn len(&self) -> usize {
        self.events.len()
    }
    pub fn clear(&mut self) {
        self.order.clear();
        self.events.clear();
    }
    /// Those of a database.
    pub fn of_database(&self, database: &str) -> Vec<ObjectKey> {
        let keys = self.events.keys();
        keys.filter(|k| k.database == database).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_their_times() {
        let key = |name: &str| ObjectKey {
            database: "d".into(),
            kind: 4,
            name: name.into(),
        };
        let mut q = Queue::default();
        q.put(5, key("a"), vec![1]);
        q.put(3, key("b"), vec![2]);
        q.put(9, key("c"), vec![3]);
        q.put(7, key("b"), vec![4]);
        q.remove(&key("c"));
        q.remove(&key("never"));
        assert_eq!((q.len(), q.next()), (2, Some(5)));
        assert_eq!(q.of_database("d").len(), 2);
        assert!(q.of_database("e").is_empty());
        let first = q.pop().unwrap();
        assert_eq!((first.key, first.body), (key("a"), vec![1]));
        assert_eq!(q.pop().unwrap().body, vec![4]);
        assert!(q.pop().is_none() && q.next().is_none() && q.len() == 0);
    }
}

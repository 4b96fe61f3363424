//! Merging runs: a binary heap of readers, the least record on top.

use super::file::TempFile;
use super::head_of;
use super::run::{Run, RunReader};
use crate::error::Result;
use std::cmp::Ordering;

/// A merge under way.
pub(super) struct Merge {
    readers: Vec<RunReader>,
    /// The readers that have a record, as a heap.
    heap: Vec<Source>,
    /// Whether the top's record has been handed out.
    taken: bool,
}

/// A reader by number, and the first eight bytes of its key as a number.
#[derive(Clone, Copy)]
struct Source {
    head: u64,
    reader: usize,
}

impl Merge {
    /// Starts a merge of runs; each reader gets a buffer of this size.
    pub fn new(files: &[Option<TempFile>], runs: &[Run], buffer: usize) -> Result<Merge> {
        let mut merge = Merge {
            readers: Vec::with_capacity(runs.len()),
            heap: Vec::with_capacity(runs.len()),
            taken: false,
        };
        for (number, run) in runs.iter().enumerate() {
            let file = files[run.file].as_ref().expect("kept while runs lie in it");
            let mut reader = RunReader::new(file, *run, buffer);
            if reader.advance()? {
                let head = head_of(reader.record().0);
                merge.heap.push(Source {
                    head,
                    reader: number,
                });
            }
            merge.readers.push(reader);
        }
        for i in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(i);
        }
        Ok(merge)
    }

    /// The next record in order.
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.taken {
            let top = &mut self.heap[0];
            let reader = &mut self.readers[top.reader];
            if reader.advance()? {
                top.head = head_of(reader.record().0);
            } else {
                self.heap.swap_remove(0);
            }
            self.sift_down(0);
        }
        self.taken = !self.heap.is_empty();
        Ok(self
            .heap
            .first()
            .map(|top| self.readers[top.reader].record()))
    }

    fn sift_down(&mut self, mut i: usize) {
        loop {
            let mut least = i;
            for child in [2 * i + 1, 2 * i + 2] {
                if child < self.heap.len() && self.less(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == i {
                return;
            }
            self.heap.swap(i, least);
            i = least;
        }
    }

    /// Equal keys come from the earlier run first.
    #[inline]
    fn less(&self, a: Source, b: Source) -> bool {
        let by_key = a.head.cmp(&b.head).then_with(|| {
            let key = |s: Source| self.readers[s.reader].record().0;
            key(a).cmp(key(b))
        });
        by_key.then(a.reader.cmp(&b.reader)) == Ordering::Less
    }
}

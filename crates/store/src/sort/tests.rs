use super::*;
use crate::io::{File, SimStorage};
use std::sync::mpsc;
use std::thread::ThreadId;

const GO_ON: &GoOn<'_> = &|| Ok(());

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn collect(mut sorted: Sorted) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut out = Vec::new();
    while let Some((k, v)) = sorted.next().unwrap() {
        out.push((k.to_vec(), v.to_vec()));
    }
    assert!(sorted.next().unwrap().is_none());
    out
}

/// Keys repeat often, so that stability shows; the value is the order of arrival.
fn records(n: usize, seed: u64, longest: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut state = seed;
    (0..n)
        .map(|i| {
            let mut key = b"shared prefix "[..(random(&mut state) % 15) as usize].to_vec();
            key.extend_from_slice(&(random(&mut state) % 500).to_be_bytes()[6..]);
            let mut value = (i as u64).to_be_bytes().to_vec();
            value.resize(8 + (random(&mut state) as usize) % longest, b'v');
            (key, value)
        })
        .collect()
}

fn sort(storage: &SimStorage, budget: usize, input: &[(Vec<u8>, Vec<u8>)]) -> Sorted {
    let mut sorter = Sorter::new(Arc::new(storage.clone()), budget);
    for (k, v) in input {
        sorter.add(k, v, GO_ON).unwrap();
    }
    assert_eq!(sorter.len(), input.len() as u64);
    sorter.finish(GO_ON).unwrap()
}

fn temporary_files(storage: &SimStorage) -> usize {
    storage.list(FOLDER).map_or(0, |names| names.len())
}

#[test]
fn sorts_stably_in_memory_and_out_of_it() {
    let storage = SimStorage::new();
    // (records, longest value, passes expected): in memory, one merge, and more runs than one merge takes.
    let cases = [
        (0, 1, 0),
        (1, 1, 0),
        (2000, 20, 0),
        (3500, 300, 1),
        (9000, 900, 2),
        (60_000, 400, 2),
    ];
    for (n, longest, passes) in cases {
        let input = records(n, 0x1234_5678_9abc_def1 + n as u64, longest);
        let sorted = sort(&storage, 1, &input);
        assert_eq!(sorted.merge_passes(), passes, "{n} records");
        assert_eq!(sorted.spilled_bytes() > 0, passes > 0);
        assert!(temporary_files(&storage) <= passes as usize);
        let mut expected = input;
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(collect(sorted), expected);
        assert_eq!(temporary_files(&storage), 0);
    }
}

#[test]
fn no_more_is_merged_twice_than_must_be() {
    let storage = SimStorage::new();
    // Eighteen runs, of which sixteen can be merged at once.
    let input = records(9000, 7, 930);
    let size: usize = input.iter().map(|(k, v)| 8 + k.len() + v.len()).sum();
    let sorted = sort(&storage, 1, &input);
    assert_eq!(sorted.merge_passes(), 2);
    let written = sorted.spilled_bytes() as usize;
    assert!(
        written > size && written < size + size / 4,
        "{written} of {size}"
    );
    assert_eq!(temporary_files(&storage), 2);
    let mut expected = input;
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(collect(sorted), expected);
}

#[test]
fn runs_may_have_to_be_merged_again_and_again() {
    let storage = SimStorage::new();
    // A run each, of which four are merged at once, for each takes a buffer as long as a record.
    let input: Vec<(Vec<u8>, Vec<u8>)> = (0..300u32)
        .map(|n| (vec![(n * 7 % 100) as u8], vec![(n % 251) as u8; 140_000]))
        .collect();
    let sorted = sort(&storage, 1, &input);
    assert_eq!(sorted.merge_passes(), 5);
    let mut expected = input;
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(collect(sorted) == expected);
    assert_eq!(temporary_files(&storage), 0);
}

#[test]
fn records_larger_than_the_budget_pass() {
    let storage = SimStorage::new();
    let big = |b: u8| (vec![b; 300_000], vec![b; 2_000_000]);
    let input = [big(3), big(1), (vec![2], vec![]), big(2), (vec![], vec![9])];
    let mut expected = input.to_vec();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(collect(sort(&storage, 1, &input)), expected);
}

#[test]
fn damage_on_disk_is_noticed() {
    let storage = SimStorage::new();
    for at in [8, 100_000, 600_000] {
        let mut sorter = Sorter::new(Arc::new(storage.clone()), 1);
        for (k, v) in records(6000, 77, 300) {
            sorter.add(&k, &v, GO_ON).unwrap();
        }
        let name = format!("{FOLDER}/{}", storage.list(FOLDER).unwrap()[0]);
        let mut byte = [0];
        storage
            .open(&name, false)
            .unwrap()
            .read_at(&mut byte, at)
            .unwrap();
        storage.corrupt(&name, at, &[byte[0] ^ 0x10]);
        let read = |sorter: Sorter| -> Result<()> {
            let mut sorted = sorter.finish(GO_ON)?;
            while sorted.next()?.is_some() {}
            Ok(())
        };
        assert!(matches!(read(sorter), Err(Error::Corrupt(_))), "byte {at}");
    }
}

#[test]
fn failures_surface_and_leave_no_file() {
    use crate::io::sim::{OpKind, Step};
    let storage = SimStorage::new();
    let input = records(6000, 77, 300);
    for failing in [OpKind::Create, OpKind::Write, OpKind::Read] {
        let mut left = 3usize;
        storage.on_step(move |kind, _| {
            left = left.saturating_sub(usize::from(kind == failing));
            let fails = left == 0 || failing == OpKind::Create;
            if kind == failing && fails {
                Step::Full
            } else {
                Step::Go
            }
        });
        let run = || -> Result<()> {
            let mut sorter = Sorter::new(Arc::new(storage.clone()), 1);
            for (k, v) in &input {
                sorter.add(k, v, GO_ON)?;
            }
            let mut sorted = sorter.finish(GO_ON)?;
            while sorted.next()?.is_some() {}
            Ok(())
        };
        assert!(matches!(run(), Err(Error::Io { .. })), "{failing:?}");
        storage.clear_hook();
        assert_eq!(temporary_files(&storage), 0);
    }
}

#[test]
fn leftovers_are_cleaned() {
    let storage = SimStorage::new();
    clean(&storage).unwrap();
    storage.open("tmp/sort-17", true).unwrap();
    storage.open("keep", true).unwrap();
    clean(&storage).unwrap();
    assert_eq!(temporary_files(&storage), 0);
    assert!(storage.exists("keep"));
}

#[test]
fn pieces_of_a_temporary_file_are_read_in_any_order() {
    let simulated = SimStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(simulated.clone());
    let mut file = TempFile::create(&storage).unwrap();
    let pieces: Vec<Piece> = (0..5u8)
        .map(|n| file.add(&vec![n; usize::from(n) * 1000]).unwrap())
        .collect();
    let mut out = Vec::new();
    for n in [3, 0, 4, 3, 1] {
        file.read(pieces[n], &mut out).unwrap();
        assert_eq!(out, vec![n as u8; n * 1000]);
        assert_eq!(pieces[n].len(), n * 1000);
    }
    let name = format!("{FOLDER}/{}", simulated.list(FOLDER).unwrap()[0]);
    simulated.corrupt(&name, 1500, &[9]);
    assert!(matches!(
        file.read(pieces[2], &mut out),
        Err(Error::Corrupt(_))
    ));
    file.read(pieces[3], &mut out).unwrap();
    drop(file);
    assert_eq!(temporary_files(&simulated), 0);
}

#[test]
fn whatever_takes_long_can_be_ended() {
    let storage = SimStorage::new();
    let input = records(60_000, 99, 300);
    // How often it is asked: while records are added, and until the sort is ready to be read; in memory and out of it.
    for budget in [64 << 20, 1] {
        let asked = std::cell::Cell::new(0usize);
        let end_at = std::cell::Cell::new(usize::MAX);
        let go_on = || {
            asked.set(asked.get() + 1);
            match asked.get() < end_at.get() {
                true => Ok(()),
                false => Err(Error::Interrupted),
            }
        };
        let added = std::cell::Cell::new(0usize);
        let run = || -> Result<Sorted> {
            asked.set(0);
            let mut sorter = Sorter::new(Arc::new(storage.clone()), budget);
            for (k, v) in &input {
                sorter.add(k, v, &go_on)?;
            }
            added.set(asked.get());
            sorter.finish(&go_on)
        };
        drop(run().unwrap());
        let (adding, all) = (added.get(), asked.get());
        assert_eq!(adding > 0, budget == 1);
        assert!(all > adding + 10, "{all} {adding}");
        for at in [1, adding, adding + 1, (adding + all) / 2, all] {
            if at > 0 {
                end_at.set(at);
                assert!(matches!(run(), Err(Error::Interrupted)), "{at} of {all}");
                assert_eq!(temporary_files(&storage), 0);
            }
        }
    }
}

/// Tells which thread closes its files.
struct Watched {
    inner: SimStorage,
    closed_by: mpsc::Sender<ThreadId>,
}

struct WatchedFile {
    inner: Arc<dyn File>,
    closed_by: mpsc::Sender<ThreadId>,
}

impl Drop for WatchedFile {
    fn drop(&mut self) {
        let _ = self.closed_by.send(std::thread::current().id());
    }
}

impl File for WatchedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<()> {
        self.inner.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> std::io::Result<()> {
        self.inner.write_at(buf, offset)
    }
    fn sync(&self) -> std::io::Result<()> {
        self.inner.sync()
    }
    fn len(&self) -> std::io::Result<u64> {
        self.inner.len()
    }
    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.inner.set_len(len)
    }
}

impl Storage for Watched {
    fn open(&self, name: &str, create: bool) -> std::io::Result<Arc<dyn File>> {
        Ok(Arc::new(WatchedFile {
            inner: self.inner.open(name, create)?,
            closed_by: self.closed_by.clone(),
        }))
    }
    fn remove(&self, name: &str) -> std::io::Result<()> {
        self.inner.remove(name)
    }
    fn exists(&self, name: &str) -> bool {
        self.inner.exists(name)
    }
    fn list(&self, folder: &str) -> std::io::Result<Vec<String>> {
        self.inner.list(folder)
    }
    fn sync_folder(&self, folder: &str) -> std::io::Result<()> {
        self.inner.sync_folder(folder)
    }
    fn lock(&self) -> std::io::Result<()> {
        self.inner.lock()
    }
}

#[test]
fn nobody_waits_until_a_large_file_is_closed() {
    let storage = SimStorage::new();
    let (closed_by, closed) = mpsc::channel();
    let watched: Arc<dyn Storage> = Arc::new(Watched {
        inner: storage.clone(),
        closed_by,
    });
    for (rows, here) in [(3, true), (15, false)] {
        let mut sorter = Sorter::new(watched.clone(), 1);
        for n in 0..rows {
            sorter.add(&[n], &[7; 300_000], GO_ON).unwrap();
        }
        let mut sorted = sorter.finish(GO_ON).unwrap();
        assert!(sorted.next().unwrap().is_some());
        assert_eq!(temporary_files(&storage), 1);
        drop(sorted);
        assert_eq!(temporary_files(&storage), 0);
        let by = closed.recv().unwrap();
        assert_eq!(by == std::thread::current().id(), here, "{rows} rows");
    }
}

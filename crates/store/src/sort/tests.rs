use super::*;
use crate::io::SimStorage;

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
        sorter.add(k, v).unwrap();
    }
    assert_eq!(sorter.len(), input.len() as u64);
    sorter.finish().unwrap()
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
        (9000, 900, 3),
    ];
    for (n, longest, passes) in cases {
        let input = records(n, 0x1234_5678_9abc_def1 + n as u64, longest);
        let sorted = sort(&storage, 1, &input);
        assert_eq!(sorted.merge_passes(), passes, "{n} records");
        assert_eq!(sorted.spilled_bytes() > 0, passes > 0);
        assert_eq!(temporary_files(&storage), usize::from(passes > 0));
        let mut expected = input;
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(collect(sorted), expected);
        assert_eq!(temporary_files(&storage), 0);
    }
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
            sorter.add(&k, &v).unwrap();
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
            let mut sorted = sorter.finish()?;
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
                sorter.add(k, v)?;
            }
            let mut sorted = sorter.finish()?;
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

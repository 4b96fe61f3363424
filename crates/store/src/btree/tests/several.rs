//! Several small indexes put into the tree that they share, and removed, at once.

use super::model::Model;
use super::small::Sharing;
use super::*;
use crate::btree::NewEntries;
use crate::btree::several::MOST_PUT;
use std::collections::BTreeMap;

const FIRST: u64 = 7000;

/// Entries of an index, in all no more than can be put.
fn some_entries(rng: &mut Rng) -> Model {
    let mut entries = Model::new();
    let longest = [10, 60, 900][rng.below(3)];
    let most = [200, 1000, MOST_PUT][rng.below(3)];
    let mut left = rng.below(most);
    loop {
        let length = 1 + rng.below(12);
        let key = rng.bytes(length);
        // An edit with an empty value would promise to add nothing.
        let length = 1 + rng.below(longest);
        let value = rng.bytes(length);
        let bytes = 8 + key.len() + value.len() + slotted::RECORD_OVERHEAD;
        if bytes > left {
            return entries;
        }
        left -= bytes;
        entries.entry(key).or_insert(value);
    }
}

/// Runs of indexes come at the tree's end and between others, which change meanwhile, and go again, some of a run at a time.
#[test]
fn runs_of_indexes_come_and_go() {
    for seed in 0..2 {
        let pager = new_pager();
        let sharing = Sharing::new(&pager);
        let shared = &sharing.shared;
        let mut rng = Rng::new(seed);
        let mut model: BTreeMap<u64, Model> = BTreeMap::new();
        let mut next = FIRST;
        // Ids that were taken for a run that is to come.
        let mut waiting: Vec<std::ops::Range<u64>> = Vec::new();
        for n in 0..600 {
            let run = next..next + 1 + rng.below(70) as u64;
            next = run.end + rng.below(3) as u64;
            waiting.push(run);
            if n % 3 == 0 {
                // One by itself, which grows as any other.
                let tree = sharing.tree(next);
                for (key, value) in some_entries(&mut rng) {
                    put(&tree, &key, &value);
                    model.entry(next).or_default().insert(key, value);
                }
                next += 1;
            }
            if waiting.len() > rng.below(4) {
                let at = rng.below(waiting.len());
                let run = waiting.swap_remove(at);
                let mut new = NewEntries::default();
                for id in run {
                    new.begin(SpaceId(id));
                    let entries = some_entries(&mut rng);
                    for (key, value) in &entries {
                        assert!(new.add(key, value));
                    }
                    if rng.below(9) == 0 {
                        new.take_back();
                    } else if !entries.is_empty() {
                        model.insert(id, entries);
                    }
                }
                shared.put(&new).unwrap();
            }
            if n % 4 == 0 && !model.is_empty() {
                let keys: Vec<u64> = model.keys().copied().collect();
                let first = keys[rng.below(keys.len())] - rng.below(3) as u64;
                let last = first + rng.below(120) as u64;
                let (from, to) = (SpaceId(first), SpaceId(last));
                let bytes = shared.bytes_of_several(from, to).unwrap();
                assert_eq!(shared.has_any(from, to).unwrap(), bytes > 0);
                let mut removed = 0;
                loop {
                    match shared.remove_some(from, to).unwrap() {
                        0 => break,
                        some => removed += some as u64,
                    }
                }
                assert_eq!(removed, bytes);
                assert!(!shared.has_any(from, to).unwrap());
                model.retain(|id, _| !(first..=last).contains(id));
            }
            if n % 50 == 0 {
                assert_eq!(sharing.contents(), model, "seed {seed}, turn {n}");
            }
        }
        assert_eq!(sharing.contents(), model, "seed {seed}");
        // Those that were put live on as any others.
        for (id, entries) in model.iter().take(200) {
            let tree = sharing.tree(*id);
            for (key, value) in entries {
                assert_eq!(get(&tree, key).as_ref(), Some(value));
            }
            put(&tree, b"one more", &[7; 2000]);
            assert_eq!(get(&tree, b"one more").unwrap(), [7; 2000]);
        }
    }
}

#[test]
fn what_is_too_much_is_said() {
    let mut new = NewEntries::default();
    new.begin(SpaceId(FIRST));
    assert!(new.add(b"a", &[1; 100]));
    assert!(!new.add(b"b", &[1; MOST_PUT]));
    new.take_back();
    assert_eq!(new.bytes(), 0);
}

//! The index by itself, over pages that are in no pool.

use super::*;
use crate::page::{PAGE_SIZE, put_u16};
use std::sync::atomic::AtomicU64;

/// Frames below this number have pages of space `n % 10`; none beyond.
struct Fake(u32);

impl Frames for Fake {
    fn serves(&self, frame: u32, space: u64) -> bool {
        frame < self.0 && u64::from(frame) % 10 == space
    }
}

const MANY: Fake = Fake(u32::MAX);

fn leaf(keys: &[&[u8]], value: &[u8]) -> Vec<u8> {
    let mut page = vec![0; PAGE_SIZE];
    put_u16(&mut page, 24, PageType::Leaf as u16);
    slotted::init(&mut page, 0);
    for key in keys {
        assert!(slotted::pack(&mut page, key, value, 0));
    }
    slotted::packed(&mut page);
    page
}

fn numbered(from: u64, n: u64) -> Vec<u8> {
    let keys: Vec<_> = (from..from + n).map(u64::to_be_bytes).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|k| &k[..]).collect();
    leaf(&keys, b"value")
}

fn index(bytes: usize) -> HashIndex {
    HashIndex::new(HashOptions::EAGER, bytes * MEMORY_SHARE).unwrap()
}

fn at<'a>(frame: u32, page: &'a [u8], part: KeyPart, state: &'a PageHash) -> Leaf<'a> {
    Leaf {
        space: u64::from(frame) % 10,
        frame,
        page,
        part,
        state,
    }
}

/// Looks a key up as a tree does, the descent leading to `slot` of this leaf.
fn look(index: &HashIndex, frames: &impl Frames, leaf: Leaf<'_>, slot: u16) -> Option<Guess> {
    let tree = TreeHash::default();
    let key = leaf.part.of_record(leaf.page, slot);
    let probe = index.probe(&tree, leaf.space, key);
    let guess = index.find(leaf.space, probe.hash()?);
    if guess.is_none() {
        index.learn(frames, probe, &tree, leaf, slot);
    }
    guess
}

#[test]
fn a_page_gets_entries_for_all_its_records_and_loses_them_again() {
    let index = index(1 << 20);
    let page = numbered(1000, 200);
    let state = PageHash::default();
    let leaf = at(7, &page, KeyPart::Whole, &state);
    assert_eq!(look(&index, &MANY, leaf, 5), None);
    assert_eq!((index.entries(), index.entries_of(&state)), (200, 200));
    for slot in 0..200 {
        let expected = Guess {
            frame: 7,
            slot,
            offset: slotted::offset(&page, slot),
        };
        assert_eq!(look(&index, &MANY, leaf, slot), Some(expected));
    }
    let other = PageHash::default();
    assert_eq!(
        look(&index, &MANY, at(9, &page, KeyPart::Whole, &other), 5),
        None
    );
    assert_eq!(index.entries(), 400);
    assert_eq!(index.drop_page(7, 7, &page, &state), 200);
    assert_eq!((index.entries(), index.entries_of(&state)), (200, 0));
    assert_eq!(index.drop_page(7, 7, &page, &state), 0);
    let parts: Vec<_> = index.parts().collect();
    assert_eq!(parts.len(), 3);
    assert!(parts.iter().all(|p| p.entries > 30 && p.size > 20_000));
}

#[test]
fn pages_must_be_hot() {
    let thresholds = Thresholds { tree: 3, page: 10 };
    let options = HashOptions {
        thresholds,
        ..HashOptions::default()
    };
    let index = HashIndex::new(options, 16 << 20).unwrap();
    let (tree, state) = (TreeHash::default(), PageHash::default());
    let page = numbered(0, 100);
    let leaf = at(1, &page, KeyPart::Whole, &state);
    let mut lookups = 0;
    while index.entries() == 0 {
        let probe = index.probe(&tree, 1, leaf.part.of_record(&page, 9));
        index.learn(&MANY, probe, &tree, leaf, 9);
        lookups += 1;
    }
    // Three for the tree, ten for the page, and the one that builds.
    assert_eq!(lookups, 14);
    assert_eq!(index.entries(), 100);
}

#[test]
fn off_empties_it_for_good() {
    let index = index(1 << 20);
    let page = numbered(0, 100);
    let state = PageHash::default();
    let leaf = at(1, &page, KeyPart::Whole, &state);
    look(&index, &MANY, leaf, 0);
    index.set_on(true);
    assert_eq!(index.entries(), 100);
    index.set_on(false);
    assert_eq!((index.entries(), index.entries_of(&state)), (0, 0));
    look(&index, &MANY, leaf, 0);
    assert_eq!(index.entries(), 0);
    assert_eq!(index.find(1, key::hash(1, &0u64.to_be_bytes())), None);
    index.set_on(true);
    assert_eq!(look(&index, &MANY, leaf, 0), None);
    assert_eq!((index.entries(), index.entries_of(&state)), (100, 100));
}

#[test]
fn memory_is_bounded_and_the_dead_make_way() {
    // 256 entries.
    let index = index(4096);
    let room: u64 = index.parts().map(|p| p.size).sum();
    assert!((200..=256).contains(&room));
    let pages: Vec<_> = (0..50).map(|n| numbered(n * 100, 100)).collect();
    let states: Vec<_> = (0..50).map(|_| PageHash::default()).collect();
    for n in 0..50 {
        let leaf = at(
            10 * n + 1,
            &pages[n as usize],
            KeyPart::Whole,
            &states[n as usize],
        );
        look(&index, &MANY, leaf, 3);
        assert!(index.entries() as u64 <= room);
    }
    let found = |n: u32, frames: &Fake| {
        let leaf = at(
            10 * n + 1,
            &pages[n as usize],
            KeyPart::Whole,
            &states[n as usize],
        );
        let mine =
            |slot: &u16| look(&index, frames, leaf, *slot).is_some_and(|g| g.frame == leaf.frame);
        (0..100).filter(mine).count()
    };
    // All the others are gone: the first page's records find a place at the second attempt, but for those whose
    // bucket is full of their own kind.
    let frames = Fake(2);
    found(0, &frames);
    assert!(found(0, &frames) > 85, "{}", found(0, &frames));
    // Among the living it takes a few attempts more.
    let before = found(1, &MANY);
    for _ in 0..40 {
        found(1, &MANY);
    }
    assert!(found(1, &MANY) > before + 20);
}

#[test]
fn secondary_entries_stand_for_the_first_of_their_key() {
    // Own key of one byte, clustered key of one byte.
    let keys: Vec<[u8; 2]> = vec![[1, 1], [1, 2], [2, 1], [3, 1], [3, 2], [3, 3], [5, 0]];
    let refs: Vec<&[u8]> = keys.iter().map(|k| &k[..]).collect();
    let page = leaf(&refs, &[0, 0, 1, 0]);
    let part = KeyPart::LengthAt(2);
    let state = PageHash::default();
    let index = index(1 << 20);
    let leaf = at(1, &page, part, &state);
    look(&index, &MANY, leaf, 2);
    // The first record may have equals on the page before.
    assert_eq!(index.entries(), 3);
    for (own, slot) in [(2, 2), (3, 3), (5, 6)] {
        let guess = index.find(1, key::hash(1, &[own])).unwrap();
        assert_eq!(guess.slot, slot);
        assert_eq!(part.locate(&page, &[own], slot), Some(Err(slot)));
        assert_eq!(part.locate(&page, &[own], 0), Some(Err(slot)));
    }
    assert_eq!(index.find(1, key::hash(1, &[1])), None);
    assert_eq!(part.locate(&page, &[1], 0), None);
    assert_eq!(part.locate(&page, &[4], 0), Some(Err(6)));
    assert_eq!(part.locate(&page, &[6], 6), None);
    assert_eq!(index.drop_page(1, 1, &page, &state), 3);
    assert_eq!(index.entries(), 0);
}

#[test]
fn a_leaf_answers_only_for_what_lies_in_it() {
    let page = numbered(100, 50);
    let locate = |n: u64, guess| KeyPart::Whole.locate(&page, &n.to_be_bytes(), guess);
    for guess in [0, 7, 49, 50, 2000] {
        assert_eq!(locate(107, guess), Some(Ok(7)));
        assert_eq!(locate(100, guess), Some(Ok(0)));
        assert_eq!(locate(99, guess), None);
        assert_eq!(locate(150, guess), None);
        // Between two keys: surely absent.
        let between = [&120u64.to_be_bytes()[..], &[0]].concat();
        assert_eq!(KeyPart::Whole.locate(&page, &between, guess), Some(Err(21)));
    }
    assert_eq!(KeyPart::Whole.locate(&leaf(&[], b""), b"x", 0), None);
}

#[test]
fn hashes_of_like_keys_are_spread() {
    use std::collections::HashSet;
    // What tells entries apart: bucket and tag.
    let number = |n: u64| key::hash(1000, &(n | 1 << 63).to_be_bytes()) & !SLOT_MASK;
    let numbers: HashSet<u64> = (0..100_000)
        .map(|n| number(n) >> 11 & 0x7FF | number(n) >> 42 << 11)
        .collect();
    assert!(numbers.len() > 99_990);
    for len in 1..40usize {
        let mut upper = HashSet::new();
        let mut lower = HashSet::new();
        for n in 0..200u8 {
            let mut key = vec![7; len];
            key[len / 2] = n;
            let h = key::hash(5, &key);
            assert_ne!(h, key::hash(6, &key));
            upper.insert(h >> 48);
            lower.insert(h & 0xFFFF);
        }
        assert!(upper.len() > 190 && lower.len() > 190, "{len}");
    }
}

#[test]
fn threads_may_do_anything_at_once() {
    let index = index(16 << 10);
    let page = numbered(0, 150);
    let state = PageHash::default();
    std::thread::scope(|s| {
        for thread in 0..4u64 {
            let (index, page, state) = (&index, &page, &state);
            s.spawn(move || {
                let leaf = at(1, page, KeyPart::Whole, state);
                for n in 0..3000u64 {
                    let slot = (n * 7 + thread * 31) as u16 % 150;
                    if let Some(guess) = look(index, &MANY, leaf, slot) {
                        assert_eq!((guess.frame, guess.slot), (1, slot));
                    }
                    match (thread, n % 100) {
                        (0, 0) => {
                            index.drop_page(1, 1, page, state);
                        }
                        (1, 50) => index.set_on(n % 200 == 50),
                        _ => {}
                    }
                }
            });
        }
    });
    index.set_on(true);
    index.set_on(false);
    assert_eq!(index.entries(), 0);
}

/// A large table is not looked at before its memory is there, for which a hot tree's first lookup asks; giving it up begins anew.
#[test]
fn a_large_table_is_populated_before_its_use() {
    let thresholds = Thresholds { tree: 1, page: 1 };
    let options = HashOptions {
        thresholds,
        ..HashOptions::default()
    };
    let index = HashIndex::new(options, (64 << 20) * MEMORY_SHARE).unwrap();
    let asked = std::sync::Arc::<AtomicU64>::default();
    let count = asked.clone();
    index.on_want(Box::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    let tree = TreeHash::default();
    tree.looked_up(1);
    for turn in 1..=2 {
        index.populate(&|| false);
        assert_eq!(asked.load(Ordering::Relaxed), turn - 1);
        for _ in 0..3 {
            assert!(
                index.probe(&tree, 1, b"key").hash().is_none(),
                "turn {turn}"
            );
        }
        assert_eq!(asked.load(Ordering::Relaxed), turn);
        index.populate(&|| true);
        assert!(index.probe(&tree, 1, b"key").hash().is_none());
        index.populate(&|| false);
        assert!(index.probe(&tree, 1, b"key").hash().is_some());
        index.set_on(false);
        index.set_on(true);
    }
}

//! Random edits and scans compared with a `BTreeMap`.

use super::*;
use std::collections::BTreeMap;

pub(super) type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// What keys and values of a run are like.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub keys: Keys,
    pub longest_value: usize,
    /// Distinct keys, roughly.
    pub range: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Keys {
    /// Eight bytes, as of a BIGINT.
    Numbers,
    /// Short strings with much in common.
    Strings,
    /// Up to the longest possible, sharing long prefixes.
    Long,
}

fn key(rng: &mut Rng, shape: Shape) -> Vec<u8> {
    let n = rng.below(shape.range);
    match shape.keys {
        Keys::Numbers => (n as u64 | 1 << 63).to_be_bytes().to_vec(),
        Keys::Strings => {
            let prefix = ["", "user/", "user/name/"][n % 3];
            format!("{prefix}{}", n * 7 % 1000).into_bytes()
        }
        Keys::Long => {
            let len = [4, 40, 400, MAX_KEY][n % 4];
            let mut key = vec![b'x'; len - 4];
            key.extend_from_slice(&(n as u32).to_be_bytes());
            key
        }
    }
}

fn value(rng: &mut Rng, shape: Shape, key: &[u8]) -> Vec<u8> {
    // Mostly short, now and then as long as it may be.
    let most = shape.longest_value.min(MAX_ENTRY - key.len());
    let n = match rng.below(10) {
        0 => most,
        1..=3 => rng.below(most + 1),
        _ => rng.below(most / 10 + 1),
    };
    rng.bytes(n)
}

fn range<'m>(model: &'m Model, from: &Bound<&[u8]>, dir: Dir) -> Vec<(&'m Vec<u8>, &'m Vec<u8>)> {
    let beyond: Bound<&[u8]> = Bound::Unbounded;
    match dir {
        Dir::Forward => model.range::<[u8], _>((*from, beyond)).collect(),
        Dir::Backward => model.range::<[u8], _>((beyond, *from)).rev().collect(),
    }
}

/// Scans from a random bound, by leaves or by a cursor that stops now and then.
pub(super) fn compare_scan(tree: &Tree, model: &Model, rng: &mut Rng, shape: Shape) {
    let k = key(rng, shape);
    let from = [
        Bound::Included(&k[..]),
        Bound::Excluded(&k[..]),
        Bound::Unbounded,
    ][rng.below(3)];
    let dir = [Dir::Forward, Dir::Backward][rng.below(2)];
    let most = 1 + rng.below(60);
    let mut expected = range(model, &from, dir);
    expected.truncate(most);
    let found = if rng.below(2) == 0 {
        scan_from(tree, from, dir, most)
    } else {
        let mut out = Vec::new();
        let mut cursor = Cursor::new(from, dir);
        loop {
            let end = cursor.scan(tree, &mut |k, v| {
                out.push((k.to_vec(), v.to_vec()));
                if out.len() == most || rng.below(4) == 0 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            if end.unwrap() == ScanEnd::End || out.len() >= most {
                break;
            }
        }
        out
    };
    let found: Vec<_> = found.iter().map(|(k, v)| (k, v)).collect();
    assert_eq!(found, expected, "{dir:?} from {from:?}");
}

pub(super) fn step(tree: &Tree, model: &mut Model, rng: &mut Rng, shape: Shape, removals: usize) {
    let key = key(rng, shape);
    let (old, hint) = tree.get_with_hint(&key, <[u8]>::to_vec).unwrap();
    assert_eq!(old.as_ref(), model.get(&key));
    let hint = hint.filter(|_| rng.below(2) == 0);
    match (old, rng.below(10)) {
        (Some(_), n) if n < removals => {
            let edit = tree.edit_at(hint, &key, 0, |e| {
                e.remove();
                assert_eq!(e.value(), None);
                Ok(())
            });
            edit.unwrap();
            model.remove(&key);
        }
        (Some(old), 5..=6) if !old.is_empty() => {
            let at = rng.below(old.len());
            let n = rng.below(old.len() - at + 1);
            let data = rng.bytes(n);
            let edit = tree.edit_at(hint, &key, 0, |e| {
                e.patch(at, &data);
                Ok(())
            });
            edit.unwrap();
            model.get_mut(&key).unwrap()[at..at + n].copy_from_slice(&data);
        }
        (Some(old), _) => {
            // A new middle between kept ends.
            let new = value(rng, shape, &key);
            let keep = rng.below(old.len().min(new.len()) + 1);
            let mut new = [&old[..keep], &new[keep..]].concat();
            if rng.below(2) == 0 {
                let n = old.len().min(new.len()) - keep;
                let (at, from) = (new.len() - n, old.len() - n);
                new[at..].copy_from_slice(&old[from..]);
            }
            let edit = tree.edit_at(hint, &key, new.len(), |e| {
                assert_eq!(e.value(), Some(&old[..]));
                e.replace(&new);
                assert_eq!(e.value(), Some(&new[..]));
                Ok(())
            });
            edit.unwrap();
            model.insert(key, new);
        }
        (None, n) if n >= removals => {
            let new = value(rng, shape, &key);
            // An edit that promises nothing adds nothing.
            let edit = tree.edit_at(hint, &key, new.len().max(1), |e| {
                assert_eq!(e.value(), None);
                e.insert(&new);
                Ok(())
            });
            edit.unwrap();
            model.insert(key, new);
        }
        (None, _) => assert!(!delete(tree, &key)),
    }
}

pub(super) fn compare(tree: &Tree, model: &Model) {
    assert_eq!(checked(tree).records, model.len() as u64);
    let pairs = |entries: Vec<(Vec<u8>, Vec<u8>)>| entries.into_iter();
    assert!(pairs(scan(tree, Dir::Forward)).eq(model.clone()));
    assert!(pairs(scan(tree, Dir::Backward)).eq(model.clone().into_iter().rev()));
    assert_eq!(tree.first_key().unwrap().as_ref(), model.keys().next());
    assert_eq!(tree.last_key().unwrap().as_ref(), model.keys().next_back());
}

fn run(seed: u64, shape: Shape, steps: usize) {
    let pager = new_pager();
    run_on(&new_tree(&pager, 2000), seed, shape, steps);
    // The same for one that begins without a root, beside others.
    let sharing = small::Sharing::new(&pager);
    let neighbours = [2999, 3001].map(|id| sharing.tree(id));
    for tree in &neighbours {
        (0..90).for_each(|n| put(tree, &[n], &[n; 20]));
    }
    run_on(&sharing.tree(3000), seed, shape, steps);
    for tree in &neighbours {
        assert_eq!((checked(tree).records, tree.root()), (90, 0));
    }
}

fn run_on(tree: &Tree, seed: u64, shape: Shape, steps: usize) {
    let mut rng = Rng::new(seed);
    let mut model = Model::new();
    // Growing, churning, shrinking.
    for (phase, removals) in [2, 4, 8].into_iter().enumerate() {
        for n in 0..steps {
            step(tree, &mut model, &mut rng, shape, removals);
            if n % 16 == 0 {
                compare_scan(tree, &model, &mut rng, shape);
            }
        }
        compare(tree, &model);
        if phase == 1 {
            let depth = checked(tree).depth;
            assert!(depth > 1, "seed {seed}: the tree stayed a leaf");
        }
    }
    // To nothing: the root is a leaf again.
    for key in model.keys() {
        assert!(delete(tree, key));
    }
    let empty = checked(tree);
    assert_eq!((empty.records, empty.leaves, empty.depth), (0, 1, 1));
    assert!(scan(tree, Dir::Forward).is_empty());
}

#[test]
fn numbers() {
    for seed in 0..2 {
        let shape = Shape {
            keys: Keys::Numbers,
            longest_value: 300,
            range: 4000,
        };
        run(seed, shape, 4000);
    }
}

#[test]
fn strings() {
    for seed in 10..12 {
        let shape = Shape {
            keys: Keys::Strings,
            longest_value: 600,
            range: 3000,
        };
        run(seed, shape, 3000);
    }
}

#[test]
fn the_longest_keys_and_entries() {
    for seed in 20..22 {
        let shape = Shape {
            keys: Keys::Long,
            longest_value: MAX_ENTRY,
            range: 600,
        };
        run(seed, shape, 1500);
    }
}

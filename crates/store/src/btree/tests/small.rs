//! Indexes that share a tree while they have no root.

use super::model::{Keys, Model, Shape, compare, compare_scan, step};
use super::*;
use crate::btree::{MakeRoot, Missing, Roots, Shared};
use crate::space::Space;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// A shared tree, and a tree that says which roots indexes have.
pub(super) struct Sharing {
    pager: Arc<Pager>,
    pub shared: Arc<Shared>,
    registry: Arc<Tree>,
}

struct Registry(Arc<Tree>);

impl Roots for Registry {
    fn record(
        &self,
        table: u64,
        space: &Arc<Space>,
        make: &mut MakeRoot<'_>,
    ) -> Result<std::result::Result<PageNo, Missing>> {
        let key = table.to_be_bytes();
        self.0.edit_allocating(&key, 4, space, |leaf| {
            let there = leaf.value().expect("a known index");
            let there = PageNo::from_le_bytes(there.try_into().unwrap());
            if there != 0 {
                return Ok(Ok(there));
            }
            let made = make(leaf.mtr())?;
            if let Ok(root) = &made {
                leaf.patch(0, &root.to_le_bytes());
            }
            Ok(made)
        })
    }
}

impl Sharing {
    pub fn new(pager: &Arc<Pager>) -> Sharing {
        let registry = Arc::new(new_tree(pager, 1999));
        Sharing::with(pager, registry)
    }

    fn with(pager: &Arc<Pager>, registry: Arc<Tree>) -> Sharing {
        let shared = Shared::open(pager).unwrap();
        shared.set_roots(Box::new(Registry(registry.clone())));
        Sharing {
            pager: pager.clone(),
            shared,
            registry,
        }
    }

    /// The index with this space, a new one if it is not known.
    pub fn tree(&self, id: u64) -> Tree {
        let key = id.to_be_bytes();
        let root = get(&self.registry, &key);
        if root.is_none() {
            put(&self.registry, &key, &[0; 4]);
        }
        let root = root.map_or(0, |r| PageNo::from_le_bytes(r.try_into().unwrap()));
        let space = self.pager.space(SpaceId(id), FileId::SHARED);
        Tree::new(&self.pager, space, root).sharing(&self.shared, id)
    }

    /// The entries of the shared tree, which is in order, by index.
    pub fn contents(&self) -> BTreeMap<u64, Model> {
        let mut all: BTreeMap<u64, Model> = BTreeMap::new();
        if let Some(tree) = self.shared.tree() {
            checked(tree);
            for (key, value) in scan(tree, Dir::Forward) {
                let id = owner_of(&key).unwrap().0;
                all.entry(id).or_default().insert(key[8..].to_vec(), value);
            }
        }
        all
    }
}

const FIRST: u64 = 5000;

fn shape(n: u64) -> Shape {
    Shape {
        keys: [Keys::Numbers, Keys::Strings, Keys::Long][n as usize % 3],
        longest_value: [30, 300, 3000][n as usize / 3 % 3],
        range: [4, 30, 300][n as usize / 9 % 3],
    }
}

/// Many indexes that come, grow, shrink, move out and go, and the power fails now and then.
#[test]
fn many_indexes_share_leaves() {
    for seed in 0..3 {
        let disk = SimStorage::new();
        let mut pager = Pager::create(Arc::new(disk.clone()), options(64 << 20)).unwrap();
        let mut sharing = Sharing::new(&pager);
        let registry = sharing.registry.root();
        let mut rng = Rng::new(seed);
        let mut trees: BTreeMap<u64, (Tree, Model)> = BTreeMap::new();
        let (mut moved, mut emptied) = (0, 0);
        for n in 0..30_000 {
            // Indexes of ten come by turns, and older ones are changed too.
            let newest = FIRST + n / 100;
            let id = newest
                - rng
                    .below(if n % 10 == 0 { 150 } else { 12 })
                    .min((newest - FIRST) as usize) as u64;
            let (tree, model) = trees
                .entry(id)
                .or_insert_with(|| (sharing.tree(id), Model::new()));
            let small = tree.root() == 0;
            let removals = if rng.below(3) == 0 { 8 } else { 1 };
            step(tree, model, &mut rng, shape(id), removals);
            if n % 8 == 0 {
                compare_scan(tree, model, &mut rng, shape(id));
            }
            moved += u64::from(small && tree.root() != 0);
            assert_eq!(
                tree.is_unwritten().unwrap(),
                tree.root() == 0 && model.is_empty()
            );
            if n % 97 == 0 && tree.root() == 0 {
                let had = !model.is_empty();
                assert_eq!(sharing.shared.has(SpaceId(id)).unwrap(), had);
                assert_eq!(sharing.shared.remove(SpaceId(id)).unwrap() > 0, had);
                assert!(!sharing.shared.has(SpaceId(id)).unwrap());
                model.clear();
                emptied += 1;
            }
            if n % 5000 == 4999 {
                let old: Vec<(u64, Model)> =
                    trees.into_iter().map(|(id, (_, m))| (id, m)).collect();
                pager.log().sync_to(pager.log().end_lsn()).unwrap();
                disk.cut();
                drop((sharing, pager));
                disk.restart(|| rng.below(2) == 0);
                pager = Pager::open(Arc::new(disk.clone()), options(64 << 20)).unwrap();
                let space = pager.space(SpaceId(1999), FileId::SHARED);
                let tree = Tree::new(&pager, space, registry);
                sharing = Sharing::with(&pager, Arc::new(tree));
                trees = old
                    .into_iter()
                    .map(|(id, m)| (id, (sharing.tree(id), m)))
                    .collect();
            }
        }
        let shared = sharing.contents();
        for (id, (tree, model)) in &trees {
            compare(tree, model);
            assert_eq!(tree.estimate_total().unwrap() == 0, model.is_empty());
            let there = shared.get(id).cloned().unwrap_or_default();
            match tree.root() {
                0 => assert_eq!(&there, model, "{id}"),
                _ => assert!(there.is_empty(), "{id} is in both"),
            }
        }
        let leaves = checked(sharing.shared.tree().unwrap()).leaves;
        assert!(
            moved > 20 && emptied > 50 && leaves > 10,
            "{moved} {emptied} {leaves}"
        );
    }
}

/// Rows of tables that are made one after the other fill the leaves.
#[test]
fn one_row_each_fills_the_leaves() {
    let pager = new_pager();
    let sharing = Sharing::new(&pager);
    // Clients that take turns have their ids not quite in order.
    for n in 0..5000u64 {
        let id = FIRST + (n ^ 3);
        put(&sharing.tree(id), &1u64.to_be_bytes(), &[7; 40]);
    }
    let found = checked(sharing.shared.tree().unwrap());
    assert_eq!(found.records, 5000);
    let each = found.leaves * crate::page::PAGE_SIZE as u64 / 5000;
    assert!(each < 80, "{each} bytes for an entry of 66");
}

/// An index leaves when a full leaf has a quarter of a page of it, and takes everything along, whatever its entries look like.
#[test]
fn an_index_that_grows_moves_out() {
    let pager = new_pager();
    let sharing = Sharing::new(&pager);
    let (a, b, c) = (
        sharing.tree(FIRST),
        sharing.tree(FIRST + 1),
        sharing.tree(FIRST + 2),
    );
    let key = |n: u32| n.to_be_bytes();
    (0..10).for_each(|n| put(&a, &key(n), &[1; 30]));
    (0..10).for_each(|n| put(&c, &key(n), &[3; 30]));
    let mut n = 0;
    while b.root() == 0 {
        put(&b, &key(n), &[2; 50]);
        n += 1;
    }
    assert!((100..400).contains(&n), "{n}");
    assert_eq!(scan(&b, Dir::Forward).len(), n as usize);
    assert_eq!(sharing.contents().len(), 2);
    for (tree, value) in [(&a, 1), (&c, 3)] {
        assert_eq!((checked(tree).records, tree.root()), (10, 0));
        assert_eq!(get(tree, &key(9)), Some(vec![value; 30]));
    }
    // One long entry does as well, or a long key.
    put(&a, b"long", &[1; 5000]);
    assert_eq!((a.root() != 0, checked(&a).records), (true, 11));
    put(&c, &[9; MAX_KEY], &[1; 5]);
    assert_eq!((c.root() != 0, checked(&c).records), (true, 11));
    assert!(sharing.contents().is_empty());
    // What is not there is not found, however long.
    let d = sharing.tree(FIRST + 3);
    assert_eq!((get(&d, &[9; MAX_KEY]), d.root()), (None, 0));
    assert!(!delete(&d, &[9; 100]) && d.is_unwritten().unwrap());
}

/// A cursor and a hint go on where they were when the index has moved out.
#[test]
fn cursors_and_hints_outlive_a_move() {
    let pager = new_pager();
    let sharing = Sharing::new(&pager);
    for dir in [Dir::Forward, Dir::Backward] {
        let tree = sharing.tree(FIRST + dir as u64);
        (0..9u8).for_each(|n| put(&tree, &[n], &[n; 9]));
        let mut seen = Vec::new();
        let mut cursor = Cursor::new(Bound::Unbounded, dir);
        let mut one = |cursor: &mut Cursor| {
            let visit = &mut |k: &[u8], _: &[u8]| {
                seen.push(k[0]);
                ControlFlow::Break(())
            };
            cursor.scan(&tree, visit).unwrap()
        };
        (0..4).for_each(|_| assert_eq!(one(&mut cursor), ScanEnd::Stopped));
        let (_, hint) = tree.get_with_hint(&[4], |_| ()).unwrap();
        tree.give_root().unwrap();
        assert_ne!(tree.root(), 0);
        while one(&mut cursor) == ScanEnd::Stopped {}
        let mut expected: Vec<u8> = (0..9).collect();
        if dir == Dir::Backward {
            expected.reverse();
        }
        assert_eq!(seen, expected);
        let edit = tree.edit_at(hint, &[4], 9, |e| {
            e.replace(&[44; 9]);
            Ok(())
        });
        edit.unwrap();
        assert_eq!(get(&tree, &[4]), Some(vec![44; 9]));
        let root = tree.root();
        tree.give_root().unwrap();
        assert_eq!(tree.root(), root);
    }
}

/// Writers and readers of several indexes in the same leaves, while these move out.
#[test]
fn threads_beside_moves() {
    for round in 0..12 {
        let pager = new_pager();
        let sharing = Sharing::new(&pager);
        let trees: Vec<Tree> = (0..6).map(|n| sharing.tree(FIRST + n)).collect();
        for tree in &trees {
            put(tree, b"fixed", &[1; 10]);
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|s| {
            let writers: Vec<_> = (0..4u8)
                .map(|writer| {
                    let trees = &trees;
                    s.spawn(move || {
                        let mut rng = Rng::new(round * 10 + u64::from(writer));
                        let mut mine: BTreeMap<(usize, u8), Vec<u8>> = BTreeMap::new();
                        for _ in 0..1500 {
                            // The later ones grow less.
                            let at = rng.below(trees.len());
                            let n = rng.below(60 / (at + 1)) as u8;
                            let (tree, key) = (&trees[at], [n, writer]);
                            assert_eq!(get(tree, &key), mine.get(&(at, n)).cloned());
                            if rng.below(3) == 0 {
                                assert_eq!(delete(tree, &key), mine.remove(&(at, n)).is_some());
                            } else {
                                let len = 1 + rng.below(400);
                                let value = rng.bytes(len);
                                put(tree, &key, &value);
                                mine.insert((at, n), value);
                            }
                        }
                        mine
                    })
                })
                .collect();
            for dir in [Dir::Forward, Dir::Backward] {
                let (trees, stop) = (&trees, &stop);
                s.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        for tree in trees {
                            let mut keys: Vec<Vec<u8>> =
                                scan(tree, dir).into_iter().map(|e| e.0).collect();
                            if dir == Dir::Backward {
                                keys.reverse();
                            }
                            assert!(keys.is_sorted());
                            assert_eq!(keys.last().map(|k| &k[..]), Some(&b"fixed"[..]));
                        }
                    }
                });
            }
            let mut all: Vec<Model> = vec![Model::new(); trees.len()];
            for (writer, done) in (0..4u8).zip(writers) {
                for ((at, n), value) in done.join().unwrap() {
                    all[at].insert(vec![n, writer], value);
                }
            }
            stop.store(true, Ordering::Relaxed);
            for (tree, model) in trees.iter().zip(&mut all) {
                model.insert(b"fixed".to_vec(), vec![1; 10]);
                compare(tree, model);
            }
        });
        assert!(trees[0].root() != 0, "the first one moves out");
        sharing.contents();
    }
}

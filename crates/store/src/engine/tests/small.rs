//! The tree that small indexes share: what a check finds in it, and databases that are older than it.

use super::*;
use crate::btree::Tree;
use crate::io::sim::SimStorage;
use crate::space::layout;

fn options() -> Options {
    Options {
        pool_bytes: 5 << 20,
        log_bytes: 1 << 20,
        reclaim_bytes_per_sec: 0,
        ..Options::default()
    }
}

fn problems(engine: &Engine) -> String {
    engine.check().unwrap().join("\n")
}

fn put(tree: &Tree, key: &[u8]) {
    let edit = tree.edit(key, 9, |leaf| {
        leaf.insert(&[0; 9]);
        Ok(())
    });
    edit.unwrap();
}

fn remove(tree: &Tree, key: &[u8]) {
    let edit = tree.edit(key, 0, |leaf| {
        leaf.remove();
        Ok(())
    });
    edit.unwrap();
}

fn insert(engine: &Engine, name: &str, row: &[u8]) {
    let owner = engine.owner();
    let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
    let t = engine.open_table(&mut txn, "d", name).unwrap();
    t.insert(&mut txn, row).unwrap();
    engine.commit(txn).unwrap();
}

fn full(space: SpaceId, key: &[u8]) -> Vec<u8> {
    [&space.0.to_be_bytes(), key].concat()
}

#[test]
fn a_check_finds_what_is_wrong_in_the_shared_tree() {
    let (engine, owner) = engine(false);
    let inner = &engine.0;
    let tree = inner.ctx.shared.tree().unwrap();
    assert_eq!(problems(&engine), "");
    // Entries of nobody, or of no index at all.
    let nobody = full(SpaceId(99_999), b"k");
    put(tree, &nobody);
    assert!(problems(&engine).contains("entries of space 99999, which nobody knows"));
    remove(tree, &nobody);
    put(tree, b"short");
    assert!(problems(&engine).contains("a key says nothing of an index"));
    remove(tree, b"short");
    assert_eq!(problems(&engine), "");
    // A row that an index has and the table has not.
    let mut two = new_table("two", false);
    two.indexes.push(("x".into(), false, Vec::new()));
    engine.create_table(&owner, two).unwrap();
    insert(&engine, "two", b"its row");
    assert_eq!(problems(&engine), "");
    let two = inner.catalog.open_table("d", "two").unwrap();
    remove(tree, &full(two.indexes[0].space, b"its row"));
    assert!(problems(&engine).contains("table d.two, index x"));
    let t = inner.catalog.open_table("d", "t").unwrap();
    let key = full(t.indexes[0].space, b"row");
    engine
        .drop_tables(&owner, &[("d".into(), "two".into())])
        .unwrap();
    wait_until(|| counter(&engine, "Millpond_graveyard_spaces") == 0);
    // An index with a root has none there.
    t.give_root(0).unwrap();
    assert_eq!(problems(&engine), "");
    put(tree, &key);
    assert!(problems(&engine).contains("d.t has a root and entries here"));
    remove(tree, &key);
    // The tree's own order.
    let whole = Tree::new(&inner.pager, tree.space().clone(), tree.root());
    engine.create_table(&owner, new_table("u", false)).unwrap();
    let u = inner.catalog.open_table("d", "u").unwrap();
    (0..2000u32).for_each(|n| put(&whole, &full(u.indexes[0].space, &n.to_be_bytes())));
    let found = tree.check().problems.join("\n");
    assert!(found.contains("the index it begins with is in the leaf before it too"));
    assert!(found.contains("the separator before it is longer than an index's number"));
}

/// Format version and root of the shared tree in the header as it lies on the disk.
fn header(disk: &SimStorage) -> (u32, u32) {
    let file = crate::io::Storage::open(disk, "data", false).unwrap();
    let mut page = vec![0; crate::page::PAGE_SIZE];
    file.read_at(&mut page, 0).unwrap();
    let at = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().unwrap());
    (at(layout::VERSION_AT), at(layout::SHARED_ROOT_AT))
}

/// The database as it is on the disk.
fn reopened(disk: &SimStorage) -> Engine {
    disk.kill();
    Engine::open(Arc::new(disk.clone()), options(), Arc::new(Whole)).unwrap()
}

/// A database that has no shared tree is as it was until something small is written to it.
#[test]
fn a_database_without_a_shared_tree() {
    let disk = SimStorage::new();
    let open = || reopened(&disk);
    let engine = open();
    let owner = engine.owner();
    engine.create_database(&owner, "d", b"").unwrap();
    engine
        .create_table(&owner, new_table("small", false))
        .unwrap();
    engine.create_table(&owner, new_table("own", true)).unwrap();
    engine
        .create_table(&owner, new_table("rooted", false))
        .unwrap();
    // As all tables had one with their first row.
    let t = engine.0.catalog.open_table("d", "rooted").unwrap();
    let root = {
        let tables = &engine.0.catalog.tables.indexes[0].tree;
        let key = crate::catalog::row::table_key("d", "rooted").unwrap();
        let tree = &t.indexes[0].tree;
        let root = tables.edit_allocating(&key, 0, tree.space(), |leaf| {
            let fixed = crate::catalog::row::Fixed::locate(leaf.value().unwrap(), t.def.id)?;
            let (at, _) = fixed.root(leaf.value().unwrap(), 0)?;
            let root = tree.alloc_root(leaf.mtr())?;
            leaf.patch(at, &root.to_le_bytes());
            Ok(root)
        });
        root.unwrap()
    };
    t.indexes[0].tree.set_root(root);
    insert(&engine, "rooted", b"a row");
    insert(&engine, "own", b"a row");
    assert!(engine.0.ctx.shared.tree().is_none());
    drop(t);
    engine.close().unwrap();
    drop(engine);
    assert_eq!(header(&disk), (layout::FORMAT_VERSION, 0));

    let engine = open();
    assert_eq!(problems(&engine), "");
    let t = engine.0.catalog.open_table("d", "rooted").unwrap();
    assert_eq!((t.indexes[0].tree.root(), t.estimate_rows()), (root, 1));
    drop(t);
    // Nothing is made for those who look.
    let owner = engine.owner();
    engine.truncate_table(&owner, "d", "small").unwrap();
    assert!(engine.0.ctx.shared.tree().is_none());
    insert(&engine, "small", b"a row");
    let shared = engine.0.ctx.shared.tree().unwrap().root();
    assert_eq!(problems(&engine), "");
    engine.close().unwrap();
    drop(engine);
    assert_eq!(header(&disk), (layout::FORMAT_VERSION, shared));

    let engine = open();
    assert_eq!(problems(&engine), "");
    for name in ["small", "own", "rooted"] {
        assert_eq!(
            engine
                .0
                .catalog
                .open_table("d", name)
                .unwrap()
                .estimate_rows(),
            1
        );
    }
}

/// The power goes between a drop and the removal of what was small, or between that and the end of the grave.
#[test]
fn a_crash_while_entries_of_the_dead_are_removed() {
    for removed in [false, true] {
        let disk = SimStorage::new();
        let open = || reopened(&disk);
        let engine = open();
        let owner = engine.owner();
        engine.create_database(&owner, "d", b"").unwrap();
        for name in ["t", "u"] {
            engine.create_table(&owner, new_table(name, false)).unwrap();
            insert(&engine, name, b"a row");
        }
        let inner = &engine.0;
        let space = inner.catalog.open_table("d", "t").unwrap().indexes[0].space;
        let mut held = inner.reclaimer.hold();
        held.add(space);
        engine
            .drop_tables(&owner, &[("d".into(), "t".into())])
            .unwrap();
        // The drop's own hold has ended; ours has not.
        held.add(space);
        let shared = &inner.ctx.shared;
        if removed {
            shared.remove(space).unwrap();
            assert!(!shared.has(space).unwrap());
        }
        inner
            .pager
            .log()
            .sync_to(inner.pager.log().end_lsn())
            .unwrap();
        assert_eq!(problems(&engine), "");
        drop(held);
        drop(owner);
        drop(engine);

        let engine = open();
        wait_until(|| counter(&engine, "Millpond_graveyard_spaces") == 0);
        assert!(!engine.0.ctx.shared.has(space).unwrap());
        assert_eq!(problems(&engine), "");
        let u = engine.0.catalog.open_table("d", "u").unwrap();
        assert_eq!(u.estimate_rows(), 1);
    }
}

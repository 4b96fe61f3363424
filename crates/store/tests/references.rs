//! The index of which tables refer to which: kept by DDL, atomic with it through crashes, and who must be locked for it.

mod common;

use millpond_store::engine::{NewTable, Redefinition};
use millpond_store::io::Storage;
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Definitions whose bodies are lists of names: `+parent` refers to a table of the same database, `+other.parent` to one of another, `!name` is a foreign key's, `?name` a
/// condition's.
struct Listed(common::ToyCodecs);

impl CodecFactory for Listed {
    fn codec(&self, def: &TableDef) -> Result<Arc<dyn KeyCodec>> {
        self.0.codec(def)
    }
    fn references(&self, def: &TableDef) -> References {
        let text = String::from_utf8_lossy(&def.body).into_owned();
        let named = |mark: char| {
            let words = text.split(' ').filter_map(move |w| w.strip_prefix(mark));
            words.map(str::to_string).collect::<Vec<_>>()
        };
        References {
            parents: named('+')
                .into_iter()
                .map(|p| match p.split_once('.') {
                    Some((other, parent)) => (other.into(), parent.into()),
                    None => (def.database.clone(), p),
                })
                .collect(),
            constraints: [
                ('!', ConstraintKind::ForeignKey),
                ('?', ConstraintKind::Check),
            ]
            .into_iter()
            .flat_map(|(mark, kind)| named(mark).into_iter().map(move |n| (n, kind)))
            .map(|(name, kind)| Constraint {
                kind,
                compared: name.to_lowercase(),
                name,
            })
            .collect(),
        }
    }
}

fn name(table: &str) -> (String, String) {
    ("d".into(), table.into())
}

fn table(name: &str, body: &str) -> NewTable {
    NewTable {
        database: "d".into(),
        name: name.into(),
        hidden_row_id: false,
        place: None,
        indexes: vec![("PRIMARY".into(), true, Vec::new())],
        body: body.into(),
        auto_increment: 0,
    }
}

fn open(sim: &SimStorage) -> Engine {
    open_with(sim, common::options())
}

fn open_with(sim: &SimStorage, options: Options) -> Engine {
    let codecs = Arc::new(Listed(common::ToyCodecs));
    Engine::open(Arc::new(sim.clone()) as Arc<dyn Storage>, options, codecs).unwrap()
}

/// Whether all that was dropped has gone.
fn is_at_rest(e: &Engine) -> bool {
    let counters = e.status().counters;
    let active = |c: &&(&str, u64)| c.0 == "Millpond_reclaimer_active";
    counters.iter().find(active).unwrap().1 == 0
}

/// The names of the tables that refer to one.
fn children(e: &Engine, table: &str) -> Vec<String> {
    let list = e.children_of("d", table).unwrap();
    list.into_iter().map(|(_, name)| name).collect()
}

/// Runs DDL with the names held that it asks for.
fn ddl(e: &Engine, o: &Arc<Owner>, run: &dyn Fn() -> Result<()>) -> Result<()> {
    match run() {
        Err(Error::Related(names)) => {
            let _held = e.hold_names(o, &names)?;
            run()
        }
        done => done,
    }
}

#[test]
fn ddl_keeps_the_index() {
    let sim = SimStorage::new();
    let e = open(&sim);
    let o = e.owner();
    e.create_database(&o, "d", &[]).unwrap();
    e.create_table(&o, table("p", "")).unwrap();
    // No table of them before the first.
    assert_eq!(children(&e, "p"), Vec::<String>::new());
    e.prepare_references(&o).unwrap();
    let child = || e.create_table(&o, table("c", "+p +c !one"));
    assert!(matches!(child(), Err(Error::Related(names)) if names == [name("p")]));
    assert_eq!(e.tables("d").unwrap(), ["p"]);

    // An object that was open learns of it.
    let reader = e.owner();
    let opened = || {
        let mut txn = e.begin(&reader, Isolation::RepeatableRead);
        let p = e.open_table(&mut txn, "d", "p").unwrap();
        let known = e.children(&p).unwrap().to_vec();
        let valid = p.pin(&mut txn).unwrap();
        e.commit(txn).unwrap();
        (p, known, valid)
    };
    let (before, known, _) = opened();
    assert_eq!(known, []);
    ddl(&e, &o, &child).unwrap();
    let mut txn = e.begin(&reader, Isolation::RepeatableRead);
    assert!(!before.pin(&mut txn).unwrap());
    e.commit(txn).unwrap();
    assert_eq!(opened().1, [name("c")]);
    assert_eq!(
        (children(&e, "p"), children(&e, "c")),
        (vec!["c".to_string()], vec!["c".to_string()])
    );

    // Names of constraints are the database's.
    let second = || e.create_table(&o, table("b", "+p !one"));
    let refused =
        |e: Result<()>, n: &str| matches!(e, Err(Error::DuplicateConstraint(c)) if c.name == n);
    assert!(refused(ddl(&e, &o, &second), "one"));
    // Each kind has names of its own.
    let third = |body: &str| e.create_table(&o, table("a", body));
    assert!(refused(third("!ONE ?one"), "ONE"));
    third("?one").unwrap();
    let same = || e.create_table(&o, table("f", "?One"));
    assert!(refused(same(), "One"));
    e.drop_tables(&o, &[name("a")]).unwrap();
    same().unwrap();
    e.drop_tables(&o, &[name("f")]).unwrap();
    let second = || e.create_table(&o, table("b", "+p !two"));
    ddl(&e, &o, &second).unwrap();
    assert_eq!(children(&e, "p"), ["b", "c"]);

    // Who is referred to stays, but with those that refer to it.
    let refused = e.drop_unreferenced(&o, &[name("p"), name("b")]);
    assert!(
        matches!(refused, Err(Error::Referenced { table, by }) if table == name("p") && by == name("c"))
    );
    assert!(matches!(
        e.truncate_unreferenced(&o, "d", "p"),
        Err(Error::Referenced { .. })
    ));
    e.truncate_table(&o, "d", "p").unwrap();
    assert_eq!(children(&e, "p"), ["b", "c"]);

    // A rename takes other bodies along.
    let pairs = [(name("p"), name("q"))];
    let bodies = [
        (name("c"), b"+q +c !one".to_vec()),
        (name("b"), b"+q !two".to_vec()),
    ];
    ddl(&e, &o, &|| e.rename_tables_with(&o, &pairs, &bodies)).unwrap();
    assert_eq!(
        (children(&e, "p"), children(&e, "q")),
        (vec![], vec!["b".to_string(), "c".to_string()])
    );
    ddl(&e, &o, &|| {
        e.redefine_table(
            &o,
            ("d", "b"),
            &Redefinition::of_body(b"!two".to_vec()),
            None,
            &[],
        )
    })
    .unwrap();
    assert_eq!(children(&e, "q"), ["c"]);

    // What comes to a name that is referred to has to be locked with who refers to it.
    e.drop_tables(&o, &[name("q")]).unwrap_err();
    ddl(&e, &o, &|| e.drop_tables(&o, &[name("q")])).unwrap();
    let again = || e.create_table(&o, table("q", ""));
    assert!(matches!(again(), Err(Error::Related(names)) if names == [name("c")]));
    ddl(&e, &o, &again).unwrap();
    ddl(&e, &o, &|| e.drop_unreferenced_database(&o, "d").map(drop)).unwrap();
    e.create_database(&o, "d", &[]).unwrap();
    assert_eq!(children(&e, "q"), Vec::<String>::new());
    assert_eq!(e.check().unwrap(), Vec::<String>::new());
}

/// A database whose tables follow in the background: what it has to do with others ends with the statement, and names of constraints are free.
#[test]
fn references_go_with_the_database() {
    let sim = SimStorage::new();
    let options = Options {
        drop_at_once: 0,
        ..common::options()
    };
    let e = open_with(&sim, options);
    let o = e.owner();
    for database in ["d", "e"] {
        e.create_database(&o, database, &[]).unwrap();
    }
    e.prepare_references(&o).unwrap();
    let make = |database: &str, name: &str, body: &str| {
        let new = || {
            e.create_table(
                &o,
                NewTable {
                    database: database.into(),
                    ..table(name, body)
                },
            )
        };
        ddl(&e, &o, &new).unwrap();
    };
    make("d", "p", "");
    make("d", "c", "+p !one");
    make("e", "x", "+d.p !two");
    make("e", "z", "");
    make("d", "y", "+e.z !four ?three");
    let opened = || {
        let reader = e.owner();
        let mut txn = e.begin(&reader, Isolation::RepeatableRead);
        let z = e.open_table(&mut txn, "e", "z").unwrap();
        let known = e.children(&z).unwrap().to_vec();
        e.commit(txn).unwrap();
        (z, known)
    };
    let (before, known) = opened();
    assert_eq!(known, [name("y")]);

    let other = |name: &str| ("e".to_string(), name.to_string());
    let refused = e.drop_unreferenced_database(&o, "d");
    assert!(
        matches!(&refused, Err(Error::Referenced { table, by }) if *table == name("p") && *by == other("x")),
        "{refused:?}"
    );
    let asked = e.drop_database(&o, "d");
    assert!(
        matches!(&asked, Err(Error::Related(names)) if *names == [other("x"), other("z")]),
        "{asked:?}"
    );
    assert_eq!(e.tables("d").unwrap(), ["c", "p", "y"]);
    ddl(&e, &o, &|| e.drop_database(&o, "d").map(drop)).unwrap();

    assert_eq!(e.children_of("d", "p").unwrap(), [other("x")]);
    assert_eq!(opened().1, []);
    let reader = e.owner();
    let mut txn = e.begin(&reader, Isolation::RepeatableRead);
    assert!(!before.pin(&mut txn).unwrap());
    e.commit(txn).unwrap();
    e.create_database(&o, "d", &[]).unwrap();
    make("d", "k", "!one !four ?three");
    make("d", "p", "");
    let alone = e.drop_unreferenced_database(&o, "d");
    assert!(matches!(alone, Err(Error::Referenced { .. })));
    common::wait_until(|| is_at_rest(&e));
    assert_eq!(e.tables("d").unwrap(), ["k", "p"]);
    assert_eq!(e.check().unwrap(), Vec::<String>::new());
}

/// After a power cut at any write the index says what the definitions do.
#[test]
fn a_crash_leaves_index_and_definitions_alike() {
    let mut at = 0;
    loop {
        let sim = SimStorage::new();
        let steps = Arc::new(AtomicU64::new(0));
        {
            let e = open(&sim);
            let o = e.owner();
            e.create_database(&o, "d", &[]).unwrap();
            e.create_table(&o, table("p", "")).unwrap();
            e.prepare_references(&o).unwrap();
            let count = steps.clone();
            sim.on_step(move |kind, _| {
                let cut = kind != OpKind::Read && count.fetch_add(1, Ordering::Relaxed) == at;
                if cut { Step::Cut } else { Step::Go }
            });
            for n in 0..4 {
                let (own, body) = (format!("c{n}"), format!("+p !k{n}"));
                let made = ddl(&e, &o, &|| e.create_table(&o, table(&own, &body)));
                let gone = match n {
                    2 => ddl(&e, &o, &|| e.drop_tables(&o, &[name("c0"), name("c1")])),
                    _ => Ok(()),
                };
                if made.and(gone).is_err() {
                    break;
                }
            }
        }
        sim.clear_hook();
        if !sim.is_cut() {
            break;
        }
        let mut coin = at;
        sim.restart(|| {
            coin = coin.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            coin >> 63 == 1
        });
        let e = open(&sim);
        let mut named = e.tables("d").unwrap();
        named.retain(|n| n != "p");
        assert_eq!(children(&e, "p"), named, "cut at step {at}");
        assert_eq!(e.check().unwrap(), Vec::<String>::new(), "cut at step {at}");
        at += 1;
    }
    assert!(at >= 8, "{at} steps");
}

/// A database goes with its references and objects wholly or not at all, whenever the power is cut, and what is left of its tables
/// goes after the next opening.
#[test]
fn a_crash_drops_a_database_wholly_or_not() {
    let lazy = || Options {
        drop_at_once: 0,
        ..common::options()
    };
    let procedure = ObjectKey {
        database: "d".into(),
        kind: 1,
        name: "p".into(),
    };
    let mut at = 0;
    loop {
        let sim = SimStorage::new();
        let steps = Arc::new(AtomicU64::new(0));
        let mut done = 0;
        {
            let e = open_with(&sim, lazy());
            let o = e.owner();
            for database in ["d", "e"] {
                e.create_database(&o, database, &[]).unwrap();
            }
            e.prepare_references(&o).unwrap();
            e.prepare_statistics(&o).unwrap();
            let z = NewTable {
                database: "e".into(),
                ..table("z", "")
            };
            e.create_table(&o, z).unwrap();
            for (name, body) in [("a", "?one"), ("p", ""), ("y", "+p +e.z !two")] {
                ddl(&e, &o, &|| e.create_table(&o, table(name, body))).unwrap();
            }
            e.change_object(&o, &procedure, &mut |_| Some(b"body".to_vec()))
                .unwrap();
            let mut txn = e.begin(&o, Isolation::ReadCommitted);
            let p = e.open_table(&mut txn, "d", "p").unwrap();
            e.change_statistics(&mut txn, &p, &mut |_| Some(b"known".to_vec()))
                .unwrap();
            e.commit(txn).unwrap();
            drop(p);
            let count = steps.clone();
            sim.on_step(move |kind, _| {
                let cut = kind != OpKind::Read && count.fetch_add(1, Ordering::Relaxed) == at;
                if cut { Step::Cut } else { Step::Go }
            });
            let changes: [&dyn Fn() -> Result<()>; 3] = [
                &|| ddl(&e, &o, &|| e.drop_database(&o, "d").map(drop)),
                &|| e.create_database(&o, "d", &[]),
                &|| e.create_table(&o, table("p", "!two ?one")),
            ];
            for change in changes {
                if change().is_err() {
                    break;
                }
                done += 1;
            }
            if done == 3 {
                common::wait_until(|| sim.is_cut() || is_at_rest(&e));
            }
        }
        sim.clear_hook();
        if !sim.is_cut() {
            break;
        }
        let mut coin = at;
        sim.restart(|| {
            coin = coin.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            coin >> 63 == 1
        });
        let e = open_with(&sim, lazy());
        let there = e.databases().unwrap().contains(&"d".into());
        let tables = e.tables("d").unwrap_or_default();
        let old = ["a", "p", "y"];
        match done {
            0 => assert!(tables == old || !there, "cut at step {at}: {tables:?}"),
            1 => assert!(tables.is_empty(), "cut at step {at}: {tables:?}"),
            2 => assert!(
                there && (tables.is_empty() || tables == ["p"]),
                "cut at step {at}: {tables:?}"
            ),
            _ => assert_eq!(tables, ["p"], "cut at step {at}"),
        }
        let is_old = tables == old;
        let refer = e.children_of("e", "z").unwrap();
        assert_eq!(!refer.is_empty(), is_old, "cut at step {at}");
        assert_eq!(
            e.object(&procedure).unwrap().is_some(),
            is_old,
            "cut at step {at}"
        );
        common::wait_until(|| is_at_rest(&e));
        assert_eq!(e.tables("d").unwrap_or_default(), tables);
        if !is_old && tables.is_empty() {
            let o = e.owner();
            if !there {
                e.create_database(&o, "d", &[]).unwrap();
            }
            e.create_table(&o, table("k", "!two ?one")).unwrap();
        }
        assert_eq!(e.check().unwrap(), Vec::<String>::new(), "cut at step {at}");
        at += 1;
    }
    assert!(at >= 8, "{at} steps");
}

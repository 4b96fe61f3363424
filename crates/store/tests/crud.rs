//! Rows in and out, one transaction at a time.

mod common;
use common::*;
use millpond_store::*;

fn people() -> engine::NewTable {
    table(
        "t",
        &[
            ("PRIMARY", true, &[0]),
            ("b", false, &[1]),
            ("c", true, &[2]),
        ],
    )
}

#[test]
fn rows_come_back() {
    let db = Db::new();
    let mut s = db.session();
    s.create(people());
    let t = s.open("t");
    for i in 0..1000 {
        s.insert(&t, &ints(&[i, i % 10, 10_000 - i])).unwrap();
    }
    s.commit();
    assert_eq!(ints_of(&s.get(&t, 0, &int_key(7)).unwrap()), [7, 7, 9993]);
    assert_eq!(
        ints_of(&s.get(&t, 2, &int_key(9001)).unwrap()),
        [999, 9, 9001]
    );
    assert!(s.get(&t, 0, &int_key(1000)).is_none());
    assert_eq!(s.rows(&t, 0).len(), 1000);
    s.commit();
    db.check();
}

//! How much memory trees take, at the most while they are built, for texts chosen to take much.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use millpond_syntax::{LexMode, parse_statement};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is the system's allocator; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes taken at the most per byte of text, a realloc counting both blocks; whether it parses.
fn per_byte(text: &str) -> (f64, bool) {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let ok = parse_statement(text, LexMode::default()).is_ok();
    let most = MOST.load(Ordering::Relaxed) - before;
    (most as f64 / text.len() as f64, ok)
}

#[test]
fn trees_are_small() {
    let n = 1 << 18;
    let list = |item: &str| vec![item; n].join(",");
    // The text, whether it is a statement, and the bound in bytes per byte.
    let cases: Vec<(&str, String, bool, f64)> = vec![
        (
            "IN list of numbers",
            format!("select 1 from t where a in ({})", list("1")),
            true,
            2.0,
        ),
        (
            "IN list of columns",
            format!("select 1 from t where a in ({})", list("a")),
            true,
            2.0,
        ),
        (
            "IN list of rows",
            format!("select 1 from t where a in ({})", list("(1,1)")),
            true,
            2.0,
        ),
        (
            "rows of VALUES",
            format!("insert into t values {}", list("(1,'a',NULL)")),
            true,
            2.0,
        ),
        (
            "rows of calls",
            format!("insert into t values {}", list("(f(1),a+b)")),
            true,
            2.0,
        ),
        (
            "one row of empty texts",
            format!("insert into t values ({})", list("''")),
            true,
            50.0,
        ),
        ("commas", format!("select {}", ",".repeat(n)), false, 1.0),
        (
            "parentheses",
            format!("select {}", "(".repeat(n)),
            false,
            1.0,
        ),
        ("quotes", format!("select {}", "'".repeat(n)), true, 8.0),
        ("blanks", " ".repeat(n), false, 1.0),
        ("NOT", format!("select {} 1", "not ".repeat(n)), false, 1.0),
        ("minus", format!("select {} 1", "- ".repeat(n)), false, 1.0),
        ("select list", format!("select {}", list("1")), false, 1.0),
        ("OR", format!("select {} 1", "a or ".repeat(n)), true, 12.0),
        ("sum", format!("select {} 1", "1+".repeat(n)), true, 40.0),
        (
            "GROUP BY",
            format!("select 1 from t group by {}", list("a")),
            true,
            50.0,
        ),
        (
            "UNION",
            format!("select 1 {}", "union select 1 ".repeat(n)),
            true,
            30.0,
        ),
    ];
    for (name, text, is_statement, bound) in cases {
        let (bytes, ok) = per_byte(&text);
        println!("{name}: {bytes:.2} bytes per byte");
        assert_eq!(ok, is_statement, "{name}");
        assert!(bytes <= bound, "{name}: {bytes:.2} > {bound}");
    }
}

//! A prepared, autocommitted point read allocates nothing, however often it runs.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use millpond_sql::result::{ColumnMeta, Completion, ResultSink};
use millpond_sql::{Session, Value};
use support::TestDb;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system's allocator as it came; counting touches no allocated memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is ending has no counter any more; what it allocates then does not matter.
        let _ = ALLOCATIONS.try_with(|a| a.set(a.get() + 1));
        // SAFETY: the caller keeps `GlobalAlloc`'s contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `GlobalAlloc`'s contract.
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|a| a.set(a.get() + 1));
        // SAFETY: the caller keeps `GlobalAlloc`'s contract.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Adds up the first column.
#[derive(Default)]
struct Sum(i64);

impl ResultSink for Sum {
    fn columns(&mut self, _columns: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        self.0 += row[0].to_i64();
        Ok(())
    }
    fn finish(&mut self, _done: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

/// Allocations per run of `work`, once everything has its size.
fn allocations(mut work: impl FnMut()) -> u64 {
    for _ in 0..100 {
        work();
    }
    let before = ALLOCATIONS.get();
    for _ in 0..100 {
        work();
    }
    ALLOCATIONS.get() - before
}

#[test]
fn point_reads_allocate_nothing() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, k INT, pad CHAR(60))");
    c.ok("INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b')");
    let session: &mut Session = &mut c.0;
    let statement = session
        .prepare("SELECT k, pad FROM t WHERE id = ?")
        .unwrap();
    let mut sum = Sum::default();
    let prepared = allocations(|| {
        let params = [Value::Int(2)];
        session
            .execute_prepared(&statement, &params, &mut sum)
            .unwrap();
    });
    let text = allocations(|| {
        session
            .execute("SELECT k, pad FROM t WHERE id = 1", &mut sum)
            .unwrap();
    });
    assert_eq!((prepared, text), (0, 0));
    assert_eq!(sum.0, 200 * 20 + 200 * 10);
}

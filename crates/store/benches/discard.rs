//! What each DROP algorithm costs for a table that never had a page, by how much is cached and how much of it is dirty, without
//! the catalog, the log's sync and SQL around it: `cargo bench -p millpond-store --bench discard`.
//!
//! The pool holds other tables' pages, clean or dirty, in memory only. Each figure is the best of three rounds: the
//! `cleaner`'s work is done on another thread, so wall time is measured and a busy machine shows.

use millpond_store::hash_index::HashOptions;
use millpond_store::io::SimStorage;
use millpond_store::log::FlushAtCommit;
use millpond_store::log::op::Op;
use millpond_store::page::PageType;
use millpond_store::pool::{DropAlgorithm, Pager, PagerOptions};
use millpond_store::space::{AllocKind, FileId};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Dirty pages beyond a tenth of the pool are written soon, so it is this much larger than what it holds.
const ROOM: u64 = 12;
const DROPS: u32 = 50;
const INIT: Op<'static> = Op::Init {
    kind: PageType::Leaf,
    level: 0,
};

fn pager(pages: u64) -> Arc<Pager> {
    let options = PagerOptions {
        pool_bytes: (pages * ROOM).max(1024) as usize * 16_384,
        instances: 1,
        log_bytes: 1 << 30,
        flush_at_commit: FlushAtCommit::EverySecond,
        hash_index: HashOptions::default(),
    };
    let pager = Pager::create(Arc::new(SimStorage::new()), options).expect("a pager");
    let id = pager.new_space_id().expect("a space");
    let space = pager.space(id, FileId::SHARED);
    for _ in 0..pages {
        let mut mtr = pager.mtr_in(&space, 1).expect("a mini-transaction");
        mtr.alloc(&space, AllocKind::Extent, 0, INIT)
            .expect("a page");
        mtr.commit();
    }
    pager
}

fn drops(pager: &Pager) -> Duration {
    let round = |_| {
        let start = Instant::now();
        for _ in 0..DROPS {
            pager.drop_empty();
        }
        start.elapsed() / DROPS
    };
    (0..3).map(round).min().unwrap_or_default()
}

fn main() {
    println!("algorithm        cached     dirty   µs a drop");
    for pages in [0, 4_096, 16_384] {
        let pager = pager(pages);
        for flushed in [false, true] {
            if flushed {
                pager.flush().expect("flushed");
            }
            for algorithm in DropAlgorithm::ALL {
                pager.set_drop_algorithm(algorithm);
                let took = drops(&pager);
                let stats = pager.stats();
                println!(
                    "{:12} {:6} MiB {:5} MiB {:11.2}",
                    algorithm.name(),
                    (stats.young + stats.old) / 64,
                    stats.dirty / 64,
                    took.as_nanos() as f64 / 1000.0
                );
            }
        }
    }
}

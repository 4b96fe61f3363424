//! What every algorithm of `discard` must keep, and what each of them does beyond that.

use super::*;
use crate::io::{File, Storage};
use crate::page::PAGE_SIZE;
use crate::pool::cleaner::Failing;
use crate::pool::frame::{DIRTY, DOOMED, FREE};
use parking_lot::{Condvar, RwLock};
use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Instant;

/// A disk that looks into the pages written in place.
#[derive(Clone)]
struct Watched {
    disk: SimStorage,
    watch: Arc<Watch>,
}

#[derive(Default)]
struct Watch {
    /// Spaces of which nothing may be written any more.
    dead: RwLock<HashSet<u64>>,
    written: RwLock<Vec<(String, u64)>>,
    gate: Gate,
}

/// Holds up whoever comes by while it is shut.
#[derive(Default)]
struct Gate {
    shut: Mutex<bool>,
    waiting: AtomicUsize,
    changed: Condvar,
}

impl Gate {
    fn shut(&self) {
        *self.shut.lock() = true;
    }
    fn open(&self) {
        *self.shut.lock() = false;
        self.changed.notify_all();
    }
    fn pass(&self) {
        let mut shut = self.shut.lock();
        while *shut {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            self.changed.notify_all();
            self.changed.wait(&mut shut);
        }
    }
    /// Until somebody waits.
    fn wait_for_one(&self) {
        let mut shut = self.shut.lock();
        while self.waiting.load(Ordering::SeqCst) == 0 {
            self.changed.wait(&mut shut);
        }
    }
}

impl Watched {
    fn new() -> Watched {
        Watched {
            disk: SimStorage::new(),
            watch: Arc::default(),
        }
    }
    fn pager(&self, instances: usize) -> Arc<Pager> {
        let options = PagerOptions {
            instances,
            ..options()
        };
        Pager::create(Arc::new(self.clone()), options).unwrap()
    }
}

impl Storage for Watched {
    fn open(&self, name: &str, create: bool) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(WatchedFile {
            name: name.into(),
            file: self.disk.open(name, create)?,
            watch: self.watch.clone(),
        }))
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }
    fn exists(&self, name: &str) -> bool {
        self.disk.exists(name)
    }
    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.disk.list(folder)
    }
    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.disk.sync_folder(folder)
    }
    fn lock(&self) -> io::Result<()> {
        self.disk.lock()
    }
}

struct WatchedFile {
    name: String,
    file: Arc<dyn File>,
    watch: Arc<Watch>,
}

impl File for WatchedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        if self.name == "data" || self.name.starts_with("tables/") {
            let dead = self.watch.dead.read();
            for page in buf.chunks_exact(PAGE_SIZE) {
                if dead.contains(&page_space(page)) {
                    let what = (self.name.clone(), page_space(page));
                    self.watch.written.write().push(what);
                }
            }
            drop(dead);
            self.watch.gate.pass();
        }
        self.file.write_at(buf, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
}

/// Frames that hold pages of these spaces, and how many of them are dirty and marked.
fn frames_of(pager: &Pager, ids: &HashSet<u64>) -> (usize, usize, usize) {
    let core = pager.core();
    let mut found = (0, 0, 0);
    for n in core.instances.iter().flat_map(|i| i.initialised()) {
        let f = core.arena.frame(n);
        let word = f.word.load(Ordering::Acquire);
        if word & FREE == 0 && ids.contains(&f.space_id.load(Ordering::Acquire)) {
            found.0 += 1;
            found.1 += usize::from(word & DIRTY != 0);
            found.2 += usize::from(word & DOOMED != 0);
        }
    }
    found
}

fn check_lists(pager: &Pager) {
    let core = pager.core();
    for instance in &core.instances {
        instance.check(&core.arena);
    }
}

/// Brings so many new pages in that everything else must go.
fn fill(pager: &Pager) {
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    for i in 0..3 * pager.stats().total {
        new_page(pager, &space, AllocKind::Extent, i);
    }
}

/// A space that will be dropped.
struct Doomed {
    space: Arc<Space>,
    root: PageNo,
    pages: Vec<PageNo>,
    hints: Vec<AtomicU32>,
    /// Set when the drop has returned.
    gone: AtomicBool,
}

impl Doomed {
    fn new(pager: &Pager, pages: u64) -> Doomed {
        let id = pager.new_space_id().unwrap();
        let file = if id.0.is_multiple_of(3) {
            pager.new_file_id().unwrap()
        } else {
            FileId::SHARED
        };
        let space = pager.space(id, file);
        let root = new_page(pager, &space, AllocKind::Root, id.0);
        let pages: Vec<_> = (0..pages)
            .map(|_| new_page(pager, &space, AllocKind::Extent, id.0))
            .collect();
        Doomed {
            root,
            hints: pages.iter().map(|_| AtomicU32::new(0)).collect(),
            pages,
            gone: AtomicBool::new(false),
            space,
        }
    }

    /// Asks for a page in one of the ways there are, or changes it.
    fn visit(&self, pager: &Pager, rng: &mut Rng) {
        let gone = self.gone.load(Ordering::Acquire);
        let i = rng.below(self.pages.len());
        let (space, page) = (&self.space, self.pages[i]);
        let hint = FrameHint::from_bits(self.hints[i].load(Ordering::Relaxed));
        let read = match rng.below(6) {
            0 => pager.try_fetch_hint(hint, space, page),
            1 => pager.try_fetch_cached(hint, space, page),
            2 => pager.try_fetch(space, page),
            3 => pager.fetch(space, page).ok(),
            4 => pager.pin(space, page).ok().map(|p| p.read()),
            _ => {
                let mut m = pager.mtr(0).unwrap();
                if let Some(h) = m.try_latch(space, page) {
                    assert!(!gone, "a page of a dead space was given out to be changed");
                    put(&mut m, h, space.id.0);
                    m.commit();
                }
                None
            }
        };
        if let Some(read) = read {
            assert!(!gone, "a page of a dead space was served");
            self.hints[i].store(read.hint().to_bits(), Ordering::Relaxed);
            assert_eq!(page_space(&read), space.id.0);
            // A page that was freed when the drop came in between shows as free.
            if page_type(&read) != Some(PageType::Free) {
                assert_eq!(get_u64(&read, 100), space.id.0);
            }
        }
    }
}

/// One round: the two are dropped together, as a table's two indexes are, under the eyes of everybody.
fn live_and_die(
    pager: &Pager,
    watch: &Watch,
    live: &RwLock<Vec<Arc<Doomed>>>,
    dead: &Mutex<HashSet<u64>>,
    rng: &mut Rng,
) {
    let two = [Doomed::new(pager, 20), Doomed::new(pager, 5)].map(Arc::new);
    live.write().extend(two.iter().cloned());
    for _ in 0..50 {
        two[0].visit(pager, rng);
    }
    pager.drop_spaces(&two.each_ref().map(|d| d.space.clone()));
    for d in &two {
        d.gone.store(true, Ordering::Release);
    }
    // What was on its way may arrive; nothing may set out.
    drop(pager.core().writing.lock());
    watch.dead.write().extend(two.iter().map(|d| d.space.id.0));
    for d in &two {
        if d.space.file == FileId::SHARED {
            pager.free_space(&d.space, d.root).unwrap();
        } else {
            pager.delete_file(d.space.file, &mut AtOnce).unwrap();
        }
        pager.ensure_dropped(&d.space);
        dead.lock().insert(d.space.id.0);
    }
    // Some go on being asked for.
    let mut live = live.write();
    if live.len() > 12 {
        live.drain(..6);
    }
}

/// Drops beside lookups, misses, changes, flushes and checkpoints; `choose` picks the algorithm before each drop.
fn conforms(choose: &(dyn Fn(&mut Rng) -> DropAlgorithm + Sync), instances: usize) {
    const ROUNDS: u64 = 8;
    let storage = Watched::new();
    let pager = storage.pager(instances);
    let stay = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let pages: Vec<_> = (0..350)
        .map(|i| new_page(&pager, &stay, AllocKind::Extent, i))
        .collect();
    let (live, dead) = (RwLock::default(), Mutex::default());
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        let (pager, watch) = (&*pager, &*storage.watch);
        let (stay, pages, live, dead, done) = (&stay, &pages, &live, &dead, &done);
        for t in 0..2 {
            s.spawn(move || {
                let mut rng = Rng::new(t + 10);
                while !done.load(Ordering::Relaxed) {
                    let i = rng.below(pages.len());
                    if rng.one_in(3) {
                        set(pager, stay, pages[i], i as u64);
                    } else {
                        assert_eq!(get(pager, stay, pages[i]), i as u64);
                    }
                }
            });
            s.spawn(move || {
                let mut rng = Rng::new(t + 20);
                while !done.load(Ordering::Relaxed) {
                    let one = {
                        let live: parking_lot::RwLockReadGuard<'_, Vec<Arc<Doomed>>> = live.read();
                        (!live.is_empty()).then(|| live[rng.below(live.len())].clone())
                    };
                    match one {
                        Some(d) => d.visit(pager, &mut rng),
                        None => std::thread::yield_now(),
                    }
                }
            });
        }
        s.spawn(move || {
            let core = pager.core();
            while !done.load(Ordering::Relaxed) {
                core.write_oldest(core.log.end_lsn(), 32, &mut Failing::default())
                    .unwrap();
                core.advance_checkpoint(true).unwrap();
            }
        });
        let droppers: Vec<_> = (0..2)
            .map(|t| {
                s.spawn(move || {
                    let mut rng = Rng::new(t + 30);
                    for _ in 0..ROUNDS {
                        pager.set_drop_algorithm(choose(&mut rng));
                        live_and_die(pager, watch, live, dead, &mut rng);
                    }
                })
            })
            .collect();
        let ended: Vec<_> = droppers.into_iter().map(|d| d.join()).collect();
        done.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|e| e.unwrap());
    });
    assert_eq!(
        *storage.watch.written.read(),
        [],
        "written after their death"
    );
    check_lists(&pager);
    drop(live);
    fill(&pager);
    let dead = dead.into_inner();
    assert_eq!(frames_of(&pager, &dead).0, 0, "frames of the dead are left");
    let stats = pager.stats();
    assert_eq!(stats.stale, 0, "{stats:?}");
    check_lists(&pager);
    for (i, p) in pages.iter().enumerate() {
        assert_eq!(get(&pager, &stay, *p), i as u64);
    }
    pager.flush().unwrap();
    assert_eq!(*storage.watch.written.read(), []);
    assert_eq!(problems(&pager, FileId::SHARED), []);
    assert_eq!(pager.space_pages(&stay).unwrap(), pages.len() as u64);
}

macro_rules! conformance {
    ($($name:ident: $algorithm:ident,)*) => {
        mod conformance {
            use super::*;
            $(#[test]
            fn $name() {
                for instances in [1, 3] {
                    conforms(&|_| DropAlgorithm::$algorithm, instances);
                }
            })*
        }
    };
}

conformance! {
    full_scan: FullScan,
    lazy_mark: LazyMark,
    cleaner: Cleaner,
    flush_list: FlushList,
    stale: Stale,
    millpond: Millpond,
}

#[test]
fn the_choice_may_change_at_any_moment() {
    conforms(&|rng| DropAlgorithm::ALL[rng.below(6)], 2);
}

/// What is left of a space right after its drop, with nothing else going on.
#[test]
fn each_does_what_its_name_says() {
    for algorithm in DropAlgorithm::ALL {
        let storage = Watched::new();
        let pager = storage.pager(2);
        let gone = Doomed::new(&pager, 60);
        let stay = Doomed::new(&pager, 60);
        let ids = HashSet::from([gone.space.id.0]);
        pager.flush().unwrap();
        for d in [&gone, &stay] {
            for page in &d.pages[..40] {
                set(&pager, &d.space, *page, 1);
            }
        }
        if algorithm != DropAlgorithm::Cleaner {
            // Nobody else has pages pinned or comes by.
            pager.stop_cleaner();
        }
        pager.set_drop_algorithm(algorithm);
        assert_eq!(pager.drop_algorithm(), algorithm);
        let before = pager.stats();
        assert_eq!(PageWork::take(), None);
        let sent = Instant::now();
        pager.drop_space(&gone.space);
        let work = PageWork::take().unwrap();
        assert!(sent <= work.began && work.began <= work.ended && work.ended <= Instant::now());
        assert_eq!(PageWork::take(), None, "it is told once");
        let left = frames_of(&pager, &ids);
        let after = pager.stats();
        use DropAlgorithm::*;
        match algorithm {
            FullScan | Cleaner => {
                assert_eq!(left.0, 0, "{algorithm:?}");
                assert_eq!(after.free, before.free + 61, "{algorithm:?}");
                assert_eq!(after.stale, 0);
            }
            LazyMark => assert_eq!((left.0, left.2, after.stale), (61, 61, 61)),
            FlushList => assert_eq!((left.0, left.1, after.stale), (61, 0, 61)),
            Stale | Millpond => assert_eq!((left.0, after.stale), (61, 61), "{algorithm:?}"),
        }
        assert!(pager.try_fetch(&gone.space, gone.pages[0]).is_none());
        check_lists(&pager);
        // What stays is as it was.
        assert_eq!(frames_of(&pager, &HashSet::from([stay.space.id.0])).0, 61);
    }
}

/// Stale frames go before live ones that nobody has used for longer. Before the search reaches them, some others may go: it
/// takes a bounded number of steps at a time.
#[test]
fn stale_frames_are_reused_first() {
    let pager = Watched::new().pager(1);
    let old = Doomed::new(&pager, 60);
    let gone = Doomed::new(&pager, 60);
    let rest = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    while pager.stats().free > 40 {
        new_page(&pager, &rest, AllocKind::Extent, 1);
    }
    pager.flush().unwrap();
    pager.drop_space(&gone.space);
    let free = pager.stats().free;
    for _ in 0..free + 50 {
        new_page(&pager, &rest, AllocKind::Extent, 1);
    }
    let of = |d: &Doomed| frames_of(&pager, &HashSet::from([d.space.id.0])).0;
    assert!(of(&old) >= 50, "only {} are left", of(&old));
    assert!(of(&gone) <= 20, "{} are left", of(&gone));
}

/// The drop comes while a batch with the space's pages is on its way to the disk.
#[test]
fn a_drop_beside_the_batch_that_writes_it() {
    for algorithm in DropAlgorithm::ALL {
        let storage = Watched::new();
        let pager = storage.pager(1);
        pager.set_drop_algorithm(algorithm);
        let doomed = Doomed::new(&pager, 30);
        let watch = &storage.watch;
        watch.gate.shut();
        std::thread::scope(|s| {
            let (pager, doomed) = (&pager, &doomed);
            s.spawn(|| {
                let core = pager.core();
                core.write_oldest(core.log.end_lsn(), 100, &mut Failing::default())
                    .unwrap()
            });
            watch.gate.wait_for_one();
            let drop = s.spawn(|| pager.drop_space(&doomed.space));
            let waits = [DropAlgorithm::FullScan, DropAlgorithm::Cleaner];
            if !waits.contains(&algorithm) {
                // Whoever has no use for the frames at once does not wait for the disk.
                drop.join().unwrap();
            }
            watch.gate.open();
        });
        let core = pager.core();
        drop(core.writing.lock());
        watch.dead.write().insert(doomed.space.id.0);
        core.advance_checkpoint(true).unwrap();
        fill(&pager);
        let ids = HashSet::from([doomed.space.id.0]);
        assert_eq!(frames_of(&pager, &ids).0, 0, "{algorithm:?}");
        assert_eq!(*watch.written.read(), []);
        check_lists(&pager);
    }
}

/// After the cleaner has ended, nobody waits for it in vain.
#[test]
fn a_drop_without_a_cleaner() {
    let pager = Watched::new().pager(1);
    let doomed = Doomed::new(&pager, 10);
    pager.set_drop_algorithm(DropAlgorithm::Cleaner);
    pager.close().unwrap();
    pager.drop_space(&doomed.space);
    assert!(pager.try_fetch(&doomed.space, doomed.root).is_none());
}

#[test]
fn names_lead_back() {
    for a in DropAlgorithm::ALL {
        assert_eq!(DropAlgorithm::by_name(a.name()), Some(a));
        assert_eq!(DropAlgorithm::by_name(&a.name().to_uppercase()), Some(a));
    }
    assert_eq!(DropAlgorithm::by_name("eager"), None);
    assert_eq!(DropAlgorithm::default().name(), "millpond");
}

//! Random mini-transactions, a power cut or kill at a random moment, recovery, and a comparison with a model of what
//! the recovered log holds.

use super::*;
use crate::io::sim::{OpKind, Step};
use crate::page::Lsn;
use crate::pool::cleaner::Failing;
use std::collections::{BTreeMap, BTreeSet};

/// What happened, with the end of the group that made it so.
#[derive(Clone, Debug)]
enum Event {
    Set {
        space: u64,
        page: PageNo,
        value: u64,
    },
    Root {
        space: u64,
        page: PageNo,
    },
    Free {
        space: u64,
        page: PageNo,
    },
    Drop {
        space: u64,
    },
    RootFreed {
        space: u64,
    },
}

#[derive(Clone, Default, Debug, PartialEq)]
struct SpaceModel {
    file: u64,
    root: PageNo,
    pages: BTreeMap<PageNo, u64>,
    dropped: bool,
}

type Model = BTreeMap<u64, SpaceModel>;

fn apply(model: &mut Model, event: &Event) {
    match *event {
        Event::Set { space, page, value } => {
            let s = model.get_mut(&space).unwrap();
            s.pages.insert(page, value);
        }
        Event::Root { space, page } => model.get_mut(&space).unwrap().root = page,
        Event::Free { space, page } => {
            model.get_mut(&space).unwrap().pages.remove(&page);
        }
        Event::Drop { space } => model.get_mut(&space).unwrap().dropped = true,
        Event::RootFreed { space } => model.get_mut(&space).unwrap().root = 0,
    }
}

/// The block a value stands for.
fn block(value: u64) -> Vec<u8> {
    let len = 100 + value as usize * 37 % 900;
    let mut b = value.to_le_bytes().to_vec();
    b.extend((0..len).map(|i| (value as usize * 31 + i) as u8));
    b
}

fn write(m: &mut Mtr<'_>, h: PageH, value: u64) {
    m.apply(
        h,
        Op::Bytes {
            offset: 100,
            data: &block(value),
        },
    );
}

struct Run {
    rng: Rng,
    now: Model,
    /// The model at the start of the run, and what came since.
    base: Model,
    history: Vec<(Lsn, Event)>,
    synced: Lsn,
    next_value: u64,
}

impl Run {
    fn did(&mut self, end: Lsn, event: Event) {
        apply(&mut self.now, &event);
        self.history.push((end, event));
    }

    fn pick_space(&mut self) -> Option<u64> {
        let live: Vec<u64> = self
            .now
            .iter()
            .filter(|(_, s)| !s.dropped)
            .map(|(id, _)| *id)
            .collect();
        (!live.is_empty()).then(|| live[self.rng.below(live.len())])
    }

    fn value(&mut self) -> u64 {
        self.next_value += 1;
        self.next_value
    }

    /// One random step; an error means that the power is gone.
    fn step(&mut self, pager: &Pager) -> Result<()> {
        let live = self.now.values().filter(|s| !s.dropped).count();
        if live == 0 || live < 6 && self.rng.one_in(100) {
            let id = pager.new_space_id()?.0;
            let file = if self.rng.one_in(3) {
                pager.new_file_id()?.0
            } else {
                self.rng.below(2) as u64
            };
            let s = SpaceModel {
                file,
                ..SpaceModel::default()
            };
            self.base.insert(id, s.clone());
            self.now.insert(id, s);
            return Ok(());
        }
        let id = self.pick_space().unwrap();
        let s = self.now[&id].clone();
        let space = pager.space(SpaceId(id), FileId(s.file));
        if s.root == 0 {
            let value = self.value();
            let mut m = pager.mtr_in(&space, 1)?;
            let h = m.alloc(&space, AllocKind::Root, 0, INIT)?;
            write(&mut m, h, value);
            let page = m.page_no(h);
            let end = m.commit();
            self.did(end, Event::Root { space: id, page });
            self.did(
                end,
                Event::Set {
                    space: id,
                    page,
                    value,
                },
            );
            return Ok(());
        }
        let random_page = {
            let at = self.rng.below(s.pages.len());
            *s.pages.keys().nth(at).unwrap()
        };
        match self.rng.below(100) {
            0..40 => {
                // Some new pages and a change, as a split does.
                let n = 1 + self.rng.below(3);
                let mut m = self.latch(pager, &space, random_page, n)?;
                let mut done = Vec::new();
                for _ in 0..n {
                    let value = self.value();
                    let kind = AllocKind::Extent;
                    let h = match m.0.alloc(&space, kind, random_page, INIT) {
                        Ok(h) => h,
                        Err(e) => {
                            // What was done so far is whole by itself.
                            let end = m.0.commit();
                            done.drain(..).for_each(|ev| self.did(end, ev));
                            return Err(e);
                        }
                    };
                    write(&mut m.0, h, value);
                    let page = m.0.page_no(h);
                    done.push(Event::Set {
                        space: id,
                        page,
                        value,
                    });
                }
                let value = self.value();
                write(&mut m.0, m.1, value);
                done.push(Event::Set {
                    space: id,
                    page: random_page,
                    value,
                });
                let end = m.0.commit();
                done.drain(..).for_each(|ev| self.did(end, ev));
            }
            40..80 => {
                let value = self.value();
                let mut m = self.latch(pager, &space, random_page, 0)?;
                write(&mut m.0, m.1, value);
                let end = m.0.commit();
                let page = random_page;
                self.did(
                    end,
                    Event::Set {
                        space: id,
                        page,
                        value,
                    },
                );
            }
            80..92 if random_page != s.root => {
                let mut m = self.latch(pager, &space, random_page, 0)?;
                m.0.free(m.1)?;
                let end = m.0.commit();
                let page = random_page;
                self.did(end, Event::Free { space: id, page });
            }
            92..95 => {
                let end = pager.log().end_lsn();
                pager.log().sync_to(end)?;
                self.synced = end;
            }
            95 if self.rng.one_in(4) => {
                pager.drop_space(&space);
                self.did(pager.log().end_lsn(), Event::Drop { space: id });
                if self.rng.one_in(2) {
                    self.reclaim(pager, id)?;
                }
            }
            _ => {
                let page = pager.fetch(&space, random_page)?;
                assert_holds(&page, s.pages[&random_page], random_page);
            }
        }
        Ok(())
    }

    fn reclaim(&mut self, pager: &Pager, id: u64) -> Result<()> {
        let s = self.now[&id].clone();
        let space = pager.space(SpaceId(id), FileId(s.file));
        pager.drop_space(&space);
        if s.file > 1 {
            return pager.delete_file(space.file, &mut AtOnce).map(drop);
        }
        pager.free_extents(&space, &mut AtOnce)?;
        if s.root != 0 {
            let mut m = pager.mtr(0)?;
            m.free_root(space.file, s.root)?;
            let end = m.commit();
            self.did(end, Event::RootFreed { space: id });
        }
        Ok(())
    }

    fn latch<'a>(
        &mut self,
        pager: &'a Pager,
        space: &Arc<Space>,
        page: PageNo,
        new_pages: usize,
    ) -> Result<(Mtr<'a>, PageH)> {
        loop {
            let _pin = pager.pin(space, page)?;
            let mut m = pager.mtr_in(space, new_pages)?;
            if let Some(h) = m.try_latch(space, page) {
                return Ok((m, h));
            }
        }
    }
}

fn assert_holds(page: &[u8], value: u64, no: PageNo) {
    let want = block(value);
    assert!(
        page[100..100 + want.len()] == want,
        "page {no} holds {} instead of {value}",
        get_u64(page, 100)
    );
}

/// Compares the database with the model, to the last page.
fn verify(pager: &Pager, model: &Model, what: &str) {
    let mut files: BTreeMap<u64, BTreeSet<(PageNo, u64)>> = BTreeMap::new();
    for file in [0, 1] {
        files.insert(file, BTreeSet::new());
    }
    for (id, s) in model {
        if s.dropped {
            continue;
        }
        let space = pager.space(SpaceId(*id), FileId(s.file));
        let expected = files.entry(s.file).or_default();
        for (no, value) in &s.pages {
            let page = pager
                .fetch(&space, *no)
                .unwrap_or_else(|e| panic!("{what}: space {id}: {e}"));
            assert_holds(&page, *value, *no);
            expected.insert((*no, if *no == s.root { 1 } else { *id }));
        }
    }
    for (file, expected) in files {
        if file > 1 && expected.is_empty() {
            continue;
        }
        let bad = problems(pager, FileId(file));
        assert!(bad.is_empty(), "{what}: file {file}: {bad:?}");
        let used: BTreeSet<_> = pager
            .used_pages(FileId(file))
            .unwrap()
            .into_iter()
            .filter(|(no, _)| !crate::space::layout::is_bookkeeping(*no))
            .collect();
        assert_eq!(used, expected, "{what}: used pages of file {file}");
    }
}

fn small_log() -> PagerOptions {
    PagerOptions {
        log_bytes: 1 << 20,
        ..options()
    }
}

/// What ends a life of the database.
#[derive(Clone, Copy, PartialEq)]
enum End {
    PowerCut,
    Kill,
    /// Now the one, now the other.
    Either,
}

impl End {
    fn restart(self, disk: &SimStorage, coin: &mut Rng) {
        let kill = match self {
            End::PowerCut => false,
            End::Kill => true,
            End::Either => coin.one_in(2),
        };
        match kill {
            true => disk.kill(),
            false => disk.restart(|| coin.one_in(2)),
        }
    }
}

fn run(seed: u64, how: End) {
    let disk = SimStorage::new();
    let mut run = Run {
        rng: Rng::new(seed),
        now: Model::new(),
        base: Model::new(),
        history: Vec::new(),
        synced: 0,
        next_value: 0,
    };
    let mut pager = Pager::create(Arc::new(disk.clone()), small_log()).unwrap();
    for round in 0..6 {
        let what = format!("seed {seed} round {round}");
        let mut left = 20 + run.rng.below(400) as i64;
        let every_op = run.rng.one_in(2);
        disk.on_step(move |kind, _| {
            let counts = every_op || matches!(kind, OpKind::Write | OpKind::Sync);
            left -= i64::from(counts && kind != OpKind::Read);
            if left < 0 { Step::Cut } else { Step::Go }
        });
        let mut steps = 0;
        while !disk.is_cut() && steps < 4000 {
            steps += 1;
            if let Err(e) = run.step(&pager) {
                assert!(disk.is_cut(), "{what}: {e}");
            }
        }
        drop(pager);
        let mut coin = Rng::new(seed * 1000 + round);
        // A cut while recovering must not matter either.
        for _ in 0..run.rng.below(3) {
            how.restart(&disk, &mut coin);
            let mut left = coin.below(60) as i64;
            disk.on_step(move |kind, _| {
                left -= i64::from(kind != OpKind::Read);
                if left < 0 { Step::Cut } else { Step::Go }
            });
            let _ = Pager::open(Arc::new(disk.clone()), small_log());
        }
        how.restart(&disk, &mut coin);
        pager = Pager::open(Arc::new(disk.clone()), small_log())
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(pager.recovery().broken, [], "{what}");
        let to = if pager.recovery().groups > 0 {
            pager.recovery().to
        } else {
            pager.log().end_lsn()
        };
        assert!(
            to >= run.synced,
            "{what}: the log ends at {to}, before {}",
            run.synced
        );
        let mut model = run.base.clone();
        for (end, event) in &run.history {
            if *end <= to {
                apply(&mut model, event);
            }
        }
        // As a reclaimer would after a restart.
        run.base = model.clone();
        run.now = model;
        run.history.clear();
        run.synced = to;
        let dropped: Vec<u64> = run
            .now
            .iter()
            .filter(|(_, s)| s.dropped)
            .map(|(id, _)| *id)
            .collect();
        for id in dropped {
            run.reclaim(&pager, id).unwrap();
            run.base.remove(&id);
            run.now.remove(&id);
        }
        run.history.clear();
        run.base = run.now.clone();
        verify(&pager, &run.now, &what);
    }
}

#[test]
fn power_cuts_lose_nothing_that_was_synced() {
    for seed in 1..=crash_seeds() {
        run(seed, End::PowerCut);
    }
}

#[test]
fn kills_lose_nothing_that_was_synced() {
    for seed in 1001..=1000 + crash_seeds() {
        run(seed, End::Kill);
    }
}

/// What a killed process wrote but did not sync is for recovery to make durable before it relies on it.
#[test]
fn kills_and_power_cuts_lose_nothing_that_was_synced() {
    for seed in 2001..=2000 + crash_seeds() {
        run(seed, End::Either);
    }
}

/// Cuts the power when this is about to be done to the file.
fn cut_before(disk: &SimStorage, what: OpKind, of: &'static str) {
    disk.on_step(move |kind, name| match kind == what && name == of {
        true => Step::Cut,
        false => Step::Go,
    });
}

/// A page that a killed process wrote in place and did not sync is not redone, for it is there; the power goes after recovery.
#[test]
fn a_page_that_was_written_but_not_synced_is_durable_when_its_redo_is_given_up() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let page = new_page(&pager, &space, AllocKind::Extent, 1);
    pager.flush().unwrap();
    set(&pager, &space, page, 2);
    cut_before(&disk, OpKind::Sync, "data");
    pager.flush().unwrap_err();
    drop(pager);
    disk.kill();
    let pager = reopen(&disk);
    assert_eq!(pager.recovery().pages_written, 0);
    drop(pager);
    disk.restart(|| false);
    let pager = reopen(&disk);
    let space = pager.space(space.id, FileId::SHARED);
    assert_eq!(get(&pager, &space, page), 2);
}

/// A killed process made a file, but did not come to say so in its log. The next one writes to it.
#[test]
fn a_file_that_a_killed_process_made_does_not_go_with_the_power() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let space = pager.space(pager.new_space_id().unwrap(), pager.new_file_id().unwrap());
    new_page(&pager, &space, AllocKind::Root, 1);
    disk.cut();
    drop(pager);
    disk.kill();
    let pager = reopen(&disk);
    let space = pager.space(space.id, space.file);
    let page = new_page(&pager, &space, AllocKind::Root, 2);
    pager.flush().unwrap();
    drop(pager);
    disk.restart(|| false);
    let pager = reopen(&disk);
    let space = pager.space(space.id, space.file);
    assert_eq!(get(&pager, &space, page), 2);
}

/// A killed process logged changes without a sync. Before recovery writes anything, pages with such changes above all, the
/// log is durable as far as it can be read.
#[test]
fn redo_that_was_written_but_not_synced_is_durable_before_anything_is_written() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let page = new_page(&pager, &space, AllocKind::Extent, 1);
    pager.flush().unwrap();
    pager.log().set_flush_at_commit(FlushAtCommit::Write);
    let end = set(&pager, &space, page, 2);
    pager.log().commit_wait(end).unwrap();
    disk.cut();
    drop(pager);
    disk.kill();
    cut_before(&disk, OpKind::Write, "redo");
    assert!(Pager::open(Arc::new(disk.clone()), options()).is_err());
    disk.restart(|| false);
    let pager = reopen(&disk);
    let space = pager.space(space.id, FileId::SHARED);
    assert_eq!(get(&pager, &space, page), 2);
}

/// More seeds by `MILLPOND_CRASH_SEEDS`.
fn crash_seeds() -> u64 {
    let n = std::env::var("MILLPOND_CRASH_SEEDS").ok();
    n.and_then(|n| n.parse().ok()).unwrap_or(4)
}

/// Gives a dirty page up by `discard`, whose record is not durable yet, and moves the checkpoint past the page's changes:
/// the record must be durable then, for the page is not.
fn discard_and_checkpoint(discard: impl FnOnce(&Pager, &Arc<Space>, PageNo)) {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let other = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let page = new_page(&pager, &space, AllocKind::Extent, 5);
    let between = pager.log().end_lsn();
    new_page(&pager, &other, AllocKind::Extent, 6);
    pager.log().sync_to(pager.log().end_lsn()).unwrap();
    discard(&pager, &space, page);
    let discarded = pager.log().end_lsn();
    pager
        .core()
        .write_oldest(between, 100, &mut Failing::default())
        .unwrap();
    pager.core().advance_checkpoint(true).unwrap();
    assert_eq!(pager.stats().discarded, 1);
    assert!(pager.log().checkpoint_lsn() >= between);
    assert!(pager.log().durable_lsn() >= discarded);
    drop((pager, space, other));
    disk.restart(|| false);
    assert_eq!(reopen(&disk).recovery().broken, []);
}

#[test]
fn a_freed_page_is_not_forgotten_before_its_record_is_durable() {
    discard_and_checkpoint(|pager, space, page| {
        set(pager, space, page, 7);
        free(pager, space, page);
    });
}

#[test]
fn a_dropped_page_is_not_forgotten_before_its_record_is_durable() {
    discard_and_checkpoint(|pager, space, page| {
        set(pager, space, page, 7);
        pager.drop_space(space);
    });
}

//! Files cut at their end, allocation maps and all, and made longer again.

use super::*;
use crate::io::sim::{OpKind, Step};
use crate::space::{EXTENT_PAGES, MAP_PAGES};
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages that reach into the part of the file that the second map describes.
const MANY: u32 = MAP_PAGES + 600;
const KEPT: u64 = 20;

fn length(disk: &SimStorage) -> u64 {
    let files = disk.files();
    files.iter().find(|(n, _)| n == "data").unwrap().1
}

fn many(pager: &Pager, space: &Arc<Space>) -> PageNo {
    let pages = (0..MANY).map(|i| new_page(pager, space, AllocKind::Extent, u64::from(i)));
    pages.max().unwrap()
}

/// Drops the space and cuts off what it leaves at the end.
fn bury(pager: &Pager, space: &Arc<Space>) -> Result<()> {
    pager.drop_space(space);
    pager.free_space(space, 0)?;
    assert!(pager.shrink_file(FileId::SHARED, 0, &mut AtOnce)?);
    Ok(())
}

/// A closed database whose file is long because of one space, and the pages of another.
fn image() -> (SimStorage, SpaceId, SpaceId, Vec<PageNo>) {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let kept = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let long = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let pages = (0..KEPT)
        .map(|i| new_page(&pager, &kept, AllocKind::Extent, i))
        .collect();
    assert!(many(&pager, &long) > MAP_PAGES);
    pager.close().unwrap();
    (disk, kept.id, long.id, pages)
}

fn verify(pager: &Pager, kept: &Arc<Space>, pages: &[PageNo]) {
    for (i, page) in pages.iter().enumerate() {
        assert_eq!(get(pager, kept, *page), i as u64);
    }
    assert_eq!(problems(pager, FileId::SHARED), []);
}

#[test]
fn a_file_is_cut_whatever_step_the_power_goes_at() {
    let (image, kept, long, pages) = image();
    let before = length(&image);
    for at in 0.. {
        let disk = image.copy();
        let pager = reopen(&disk);
        let left = Arc::new(AtomicU64::new(at));
        disk.on_step(move |kind, _| {
            let less = |n: u64| n.checked_sub(1);
            let over = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
            match kind {
                OpKind::Read => Step::Go,
                _ if over.is_err() => Step::Cut,
                _ => Step::Go,
            }
        });
        let done = bury(&pager, &pager.space(long, FileId::SHARED));
        let done = done.and_then(|()| pager.flush());
        drop(pager);
        let mut bits = at.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        disk.restart(|| {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            bits >> 40 & 1 == 0
        });
        let pager = reopen(&disk);
        let kept = pager.space(kept, FileId::SHARED);
        verify(&pager, &kept, &pages);
        bury(&pager, &pager.space(long, FileId::SHARED)).unwrap();
        verify(&pager, &kept, &pages);
        assert!(length(&disk) < before / 100, "{}", length(&disk));
        if done.is_ok() {
            assert!(at > 5, "{at} steps");
            break;
        }
    }
}

/// A part of a file that was cut off means nothing when the file gets as long again, whether or not what has happened in
/// it is still in the log, and whatever of it a disk may bring back.
#[test]
fn a_file_grows_again_after_a_cut() {
    let (image, kept, long, pages) = image();
    for survives in [false, true] {
        let disk = image.copy();
        let pager = reopen(&disk);
        bury(&pager, &pager.space(long, FileId::SHARED)).unwrap();
        // Twice in one life: both incarnations of the second map are in the log.
        let second = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
        many(&pager, &second);
        bury(&pager, &second).unwrap();
        let third = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
        let last = many(&pager, &third);
        let id = third.id;
        pager.log().sync_to(pager.log().end_lsn()).unwrap();
        drop((second, third, pager));
        disk.restart(|| survives);
        let pager = reopen(&disk);
        assert_eq!(pager.recovery().broken, []);
        let third = pager.space(id, FileId::SHARED);
        assert_eq!(get(&pager, &third, last), u64::from(MANY - 1));
        assert_eq!(pager.space_pages(&third).unwrap(), u64::from(MANY));
        verify(&pager, &pager.space(kept, FileId::SHARED), &pages);
        bury(&pager, &third).unwrap();
        drop((third, pager));
        // Nothing of the maps that went is believed, even if the file is long.
        disk.restart(|| survives);
        let pager = reopen(&disk);
        let used = pager.used_pages(FileId::SHARED).unwrap();
        let bookkeeping = |p: PageNo| p < 2 || p % MAP_PAGES < EXTENT_PAGES;
        let others = used.iter().filter(|(p, _)| !bookkeeping(*p));
        assert_eq!(others.count() as u64, KEPT);
        verify(&pager, &pager.space(kept, FileId::SHARED), &pages);
    }
}

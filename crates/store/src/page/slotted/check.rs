//! Validation of a slotted page, total on any bytes.

use super::*;

/// Says what is wrong with the page's body, if anything. The page header is not looked at.
pub fn check(page: &[u8]) -> Result<(), String> {
    if page.len() != PAGE_SIZE {
        return Err(format!("{} bytes instead of {PAGE_SIZE}", page.len()));
    }
    let n = usize::from(count(page));
    if n > MAX_SLOTS {
        return Err(format!("{n} slots exceed a page"));
    }
    let heap = heap_start(page);
    if heap > PAGE_SIZE || heap < SLOTS + n * SLOT {
        return Err(format!("heap starts at {heap} with {n} slots"));
    }
    let mut extents = Vec::with_capacity(n);
    for slot in 0..n {
        let w = slot_word(page, slot);
        let at = word_offset(w);
        let end = at + VALUE_LEN + word_key_len(w);
        if at < heap || end > PAGE_SIZE {
            return Err(format!("record {slot} at {at} lies outside the heap"));
        }
        let end = end + usize::from(get_u16(page, at));
        if end > PAGE_SIZE {
            return Err(format!("record {slot} ends at {end}"));
        }
        extents.push((at, end));
    }
    let used: usize = extents.iter().map(|(at, end)| end - at + SLOT).sum();
    if used + free(page) != CAPACITY {
        return Err(format!(
            "{used} bytes used and {} free do not make {CAPACITY}",
            free(page)
        ));
    }
    extents.sort_unstable();
    if let Some(w) = extents.windows(2).find(|w| w[0].1 > w[1].0) {
        return Err(format!("records at {} and {} overlap", w[0].0, w[1].0));
    }
    keys(page, n)
}

/// Order, skip, heads, and what inner pages ask besides. Records are known to lie within the page.
fn keys(page: &[u8], n: usize) -> Result<(), String> {
    let first = first_keyed(page);
    let skip = skip(page);
    if n <= first && skip != 0 {
        return Err(format!("{skip} bytes skipped of {n} keys"));
    }
    if first == 1 {
        if n == 0 {
            return Err("an inner page without children".into());
        }
        if !key_at(page, 0).is_empty() {
            return Err("the first separator is not empty".into());
        }
        if let Some(slot) = (0..n).find(|&s| value(page, s as u16).len() != 4) {
            return Err(format!("the child pointer at slot {slot} has not 4 bytes"));
        }
    }
    for slot in first..n {
        let key = key_at(page, slot);
        if slot > first && key_at(page, slot - 1) >= key {
            return Err(format!(
                "the keys of slots {} and {slot} are out of order",
                slot - 1
            ));
        }
        if key.len() < skip || key[..skip] != key_at(page, first)[..skip] {
            return Err(format!("the key of slot {slot} lacks the common prefix"));
        }
        if (slot_word(page, slot) >> 32) as u32 != head_of(&key[skip..]) {
            return Err(format!("the head of slot {slot} is not its key's"));
        }
    }
    Ok(())
}

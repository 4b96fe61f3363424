//! Slotted page: sorted records of (key, value) in one page, used by B+tree leaves and inner nodes.
//!
//! Pure functions over a page's bytes; they are called at run time and, with the same arguments,
//! by recovery, so their effect on the bytes is a function of the page and the arguments only.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 32 | 1 | level (0 = leaf) |
//! | 33 | 1 | reserved, zero |
//! | 34 | 2 | number of slots |
//! | 36 | 2 | heap start: lowest byte used by records |
//! | 38 | 2 | free bytes: between slots and heap, and holes in the heap |
//! | 40 | 4 | left sibling's page number (0: none) |
//! | 44 | 4 | right sibling's page number (0: none) |
//! | 48 | 8 | a number of the tree's own, on its root |
//! | 56 | 2 | skip: key bytes that all keys share and heads leave out |
//! | 58 | 6 | reserved, zero |
//! | 64 | 8 each | slots in key order: record offset u16, key length u16, head u32 |
//!
//! Records grow down from the page's end: `value length u16, key, value`. A slot's **head** is the
//! big-endian number formed by the four key bytes after the skipped ones (zero-padded), so that a
//! binary search reads slots only, and records just for ties. `skip` is at most the common
//! prefix of the keys; it is raised when the page is rebuilt or reaches certain sizes and
//! lowered when a key without the prefix arrives.
//!
//! On an inner page each value is a child's page number (u32) and slot 0 stands for "less than every key":
//! its key is empty and takes no part in skipping or searching.
//!
//! Nothing here is undefined on damaged bytes; the mutators and accessors may panic on a page that is not [sound](is_sound), which the
//! pool does not let in. [`check`] is total and says all that is wrong. No locks, no I/O, no allocation (except in `check`).

mod check;
#[cfg(test)]
mod tests;

pub use check::check;

use super::{PAGE_SIZE, get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};
use std::cmp::Ordering;

/// Where the slots start.
pub const SLOTS: usize = 64;
/// Bytes of a slot.
pub const SLOT: usize = 8;
/// Bytes a record takes beyond its key and value (slot included).
pub const RECORD_OVERHEAD: usize = SLOT + VALUE_LEN;
/// Bytes that slots and records of one page may take together.
pub const CAPACITY: usize = PAGE_SIZE - SLOTS;
/// Most slots that a page may have.
pub const MAX_SLOTS: usize = CAPACITY / SLOT;

/// Offset of the left sibling's number, for `Op::Bytes`.
pub const LEFT_AT: usize = 40;
/// Offset of the right sibling's number, for `Op::Bytes`.
pub const RIGHT_AT: usize = 44;
/// Offset of the tree's own number, for `Op::Bytes`.
pub const NUMBER_AT: usize = 48;

const LEVEL_AT: usize = 32;
const COUNT_AT: usize = 34;
const HEAP_AT: usize = 36;
const FREE_AT: usize = 38;
const SKIP_AT: usize = 56;
const VALUE_LEN: usize = 2;

/// Slot counts at which an insert looks for a longer common prefix to skip.
const REHEAD_COUNTS: [usize; 3] = [8, 32, 128];

const _: () = assert!(
    cfg!(target_endian = "little"),
    "slots are read as little-endian words"
);

/// Whether every slot and record lies where it may, so that the accessors do not panic: about a nanosecond per record.
pub fn is_sound(page: &[u8]) -> bool {
    let (slots, inner) = (usize::from(count(page)), level(page) > 0);
    let end = SLOTS + slots * SLOT;
    if page.len() != PAGE_SIZE
        || slots > MAX_SLOTS
        || free(page) > CAPACITY
        || heap_start(page) > PAGE_SIZE
        || inner && slots == 0
    {
        return false;
    }
    (0..slots).all(|slot| {
        let word = slot_word(page, slot);
        let (at, key_len) = (word_offset(word), word_key_len(word));
        if at < end.max(heap_start(page)) || at + VALUE_LEN > PAGE_SIZE {
            return false;
        }
        let value_len = usize::from(get_u16(page, at));
        let skipped = inner && slot == 0 || key_len >= skip(page);
        let value = !inner || value_len == size_of::<u32>();
        at + VALUE_LEN + key_len + value_len <= PAGE_SIZE && skipped && value
    })
}

/// Level of a page (0 = leaf).
#[inline]
pub fn level(page: &[u8]) -> u8 {
    page[LEVEL_AT]
}
/// Number of records.
#[inline]
pub fn count(page: &[u8]) -> u16 {
    get_u16(page, COUNT_AT)
}
/// Bytes free in total; a record takes `RECORD_OVERHEAD` besides its key and value.
#[inline]
pub fn free(page: &[u8]) -> usize {
    usize::from(get_u16(page, FREE_AT))
}
/// Left sibling (0: none).
#[inline]
pub fn left(page: &[u8]) -> u32 {
    get_u32(page, LEFT_AT)
}
/// Right sibling (0: none).
#[inline]
pub fn right(page: &[u8]) -> u32 {
    get_u32(page, RIGHT_AT)
}
/// The tree's own number (meaningful on its root).
#[inline]
pub fn number(page: &[u8]) -> u64 {
    get_u64(page, NUMBER_AT)
}
/// Sets the left sibling on a page not yet in the pool (elsewhere: `Op::Bytes` at [`LEFT_AT`]).
pub fn set_left(page: &mut [u8], to: u32) {
    put_u32(page, LEFT_AT, to);
}
/// Sets the right sibling on a page not yet in the pool (elsewhere: `Op::Bytes` at [`RIGHT_AT`]).
pub fn set_right(page: &mut [u8], to: u32) {
    put_u32(page, RIGHT_AT, to);
}

#[inline]
fn slot_word(page: &[u8], slot: usize) -> u64 {
    get_u64(page, SLOTS + slot * SLOT)
}
#[inline]
fn set_slot_word(page: &mut [u8], slot: usize, word: u64) {
    put_u64(page, SLOTS + slot * SLOT, word);
}
#[inline]
fn word_offset(word: u64) -> usize {
    usize::from(word as u16)
}
#[inline]
fn word_key_len(word: u64) -> usize {
    usize::from((word >> 16) as u16)
}
#[inline]
fn word_of(offset: usize, key_len: usize, head: u32) -> u64 {
    offset as u64 | (key_len as u64) << 16 | u64::from(head) << 32
}

/// The number formed by up to four bytes of `suffix`.
#[inline]
fn head_of(suffix: &[u8]) -> u32 {
    if let Some(four) = suffix.first_chunk::<4>() {
        return u32::from_be_bytes(*four);
    }
    let mut b = [0; 4];
    b[..suffix.len()].copy_from_slice(suffix);
    u32::from_be_bytes(b)
}

#[inline]
fn skip(page: &[u8]) -> usize {
    usize::from(get_u16(page, SKIP_AT))
}

/// First slot whose key takes part in skipping and searching.
#[inline]
fn first_keyed(page: &[u8]) -> usize {
    usize::from(level(page) > 0)
}

/// Key of the record at `slot`.
#[inline]
pub fn key(page: &[u8], slot: u16) -> &[u8] {
    debug_assert!(slot < count(page));
    key_at(page, usize::from(slot))
}

#[inline]
fn key_at(page: &[u8], slot: usize) -> &[u8] {
    let w = slot_word(page, slot);
    let at = word_offset(w) + VALUE_LEN;
    &page[at..at + word_key_len(w)]
}

/// Where the record at `slot` starts in the page.
#[inline]
pub fn offset(page: &[u8], slot: u16) -> u16 {
    debug_assert!(slot < count(page));
    word_offset(slot_word(page, usize::from(slot))) as u16
}

/// Where the key of the record at `slot` starts in the page; its value follows it.
#[inline]
pub fn key_offset(page: &[u8], slot: u16) -> usize {
    debug_assert!(slot < count(page));
    word_offset(slot_word(page, usize::from(slot))) + VALUE_LEN
}

/// Value of the record at `slot`.
#[inline]
pub fn value(page: &[u8], slot: u16) -> &[u8] {
    entry(page, slot).1
}

/// Key and value of the record at `slot`.
#[inline]
pub fn entry(page: &[u8], slot: u16) -> (&[u8], &[u8]) {
    debug_assert!(slot < count(page));
    let w = slot_word(page, usize::from(slot));
    let at = word_offset(w);
    let value_len = usize::from(get_u16(page, at));
    page[at + VALUE_LEN..][..word_key_len(w) + value_len].split_at(word_key_len(w))
}

/// Child page number at `slot` of an inner page.
#[inline]
pub fn child(page: &[u8], slot: u16) -> u32 {
    debug_assert!(slot < count(page) && level(page) > 0);
    let w = slot_word(page, usize::from(slot));
    get_u32(page, word_offset(w) + VALUE_LEN + word_key_len(w))
}

/// Bytes the record at `slot` takes, slot included.
#[inline]
pub fn footprint(page: &[u8], slot: u16) -> usize {
    SLOT + record_len(page, usize::from(slot))
}

/// Bytes the record takes in the heap.
#[inline]
fn record_len(page: &[u8], slot: usize) -> usize {
    let w = slot_word(page, slot);
    VALUE_LEN + word_key_len(w) + usize::from(get_u16(page, word_offset(w)))
}

/// Finds `key` on a leaf: `Ok(slot)` of the record, or `Err(slot)` where it belongs.
#[inline]
pub fn search(page: &[u8], key: &[u8]) -> Result<u16, u16> {
    search_from(page, key, 0)
}

/// The slot of an inner page whose subtree covers `key`.
#[inline]
pub fn search_child(page: &[u8], key: &[u8]) -> u16 {
    match search_from(page, key, 1) {
        Ok(slot) => slot,
        Err(slot) => slot - 1,
    }
}

/// Searches slots `first..count`.
#[inline(always)]
fn search_from(page: &[u8], key: &[u8], first: usize) -> Result<u16, u16> {
    let page: &[u8; PAGE_SIZE] = page.try_into().expect("a page");
    // A damaged count must not lead outside the page.
    let n = usize::from(get_u16(page, COUNT_AT)).min(MAX_SLOTS);
    if n <= first {
        return Err(first as u16);
    }
    let skip = skip(page);
    let Some(suffix) = key.get(skip..) else {
        // Shorter than the common prefix: before or after everything.
        let prefix = &key_at(page, first)[..skip];
        return Err(if key < prefix { first as u16 } else { n as u16 });
    };
    let head = head_of(suffix);
    let slots = page[SLOTS..].as_ptr();
    let head_at = |slot: usize| -> u32 {
        debug_assert!(slot < n);
        // SAFETY: every caller passes `slot < n <= MAX_SLOTS`, so these four bytes lie within the page.
        let raw = unsafe { slots.add(slot * SLOT + 4).cast::<u32>().read_unaligned() };
        u32::from_le(raw)
    };
    // First slot whose head is not less. Arithmetic instead of a branch: half of them would be mispredicted.
    let mut lo = first;
    let mut len = n - first;
    while len > 1 {
        let half = len / 2;
        lo += usize::from(head_at(lo + half - 1) < head) * half;
        len -= half;
    }
    lo += usize::from(head_at(lo) < head);
    if lo < n && head_at(lo) == head {
        // The one found, most often; its bytes speak for the skipped ones too.
        if compare(key, key_at(page, lo)) == Ordering::Equal {
            return Ok(lo as u16);
        }
    }
    // Heads say nothing of the skipped bytes; any record can vouch for them, and the one before is the one that a
    // descent reads next.
    if skip > 0 {
        match compare_first(key, key_at(page, lo.saturating_sub(1).max(first)), skip) {
            Ordering::Less => return Err(first as u16),
            Ordering::Greater => return Err(n as u16),
            Ordering::Equal => {}
        }
    }
    if lo == n || head_at(lo) != head {
        return Err(lo as u16);
    }
    // More records with this head: bisect them by their bytes.
    let mut hi = n;
    while lo < hi {
        let mid = lo + (hi - lo) / 2;
        let h = head_at(mid);
        let order = if h != head {
            head.cmp(&h)
        } else {
            compare(suffix, &key_at(page, mid)[skip..])
        };
        match order {
            Ordering::Equal => return Ok(mid as u16),
            Ordering::Less => hi = mid,
            Ordering::Greater => lo = mid + 1,
        }
    }
    Err(lo as u16)
}

/// As `a.cmp(b)`, without a call where the first eight bytes decide.
#[inline(always)]
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let (Some(x), Some(y)) = (a.first_chunk::<8>(), b.first_chunk::<8>()) else {
        return a.cmp(b);
    };
    let (x, y) = (u64::from_be_bytes(*x), u64::from_be_bytes(*y));
    if x != y {
        return x.cmp(&y);
    }
    if a.len() == 8 || b.len() == 8 {
        return a.len().cmp(&b.len());
    }
    a[8..].cmp(&b[8..])
}

/// Compares the first `n` bytes; both have them.
#[inline(always)]
fn compare_first(a: &[u8], b: &[u8], n: usize) -> Ordering {
    if let (1..=8, Some(x), Some(y)) = (n, a.first_chunk::<8>(), b.first_chunk::<8>()) {
        let shift = 64 - 8 * n as u32;
        return (u64::from_be_bytes(*x) >> shift).cmp(&(u64::from_be_bytes(*y) >> shift));
    }
    a[..n].cmp(&b[..n])
}

/// Copies a page's headers, slots and records to another's memory, leaving out what is free between slots and records. There is one copy of
/// each, in ascending order of addresses, rather than one of each record.
#[inline]
pub fn copy(page: &[u8], to: &mut [u8]) {
    let slots = SLOTS + usize::from(count(page)) * SLOT;
    let heap = heap_start(page);
    to[..slots].copy_from_slice(&page[..slots]);
    to[heap..].copy_from_slice(&page[heap..]);
}

/// Formats an empty slotted page of this level (0 = leaf); the page header is the caller's.
pub fn init(page: &mut [u8], level: u8) {
    page[super::PAGE_HEADER..].fill(0);
    page[LEVEL_AT] = level;
    put_u16(page, HEAP_AT, PAGE_SIZE as u16);
    put_u16(page, FREE_AT, CAPACITY as u16);
}

/// Inserts a record at `slot`. The caller has checked that it fits.
pub fn insert(page: &mut [u8], slot: u16, key: &[u8], value: &[u8]) {
    let slot = usize::from(slot);
    let n = usize::from(count(page));
    let first = first_keyed(page);
    debug_assert!(slot <= n && (slot >= first || n == 0));
    if slot >= first && n > first {
        // Only a key at either end can lack the common prefix.
        let skip = skip(page);
        if skip > 0 && (slot == first || slot == n) {
            let common = common_prefix(key, &key_at(page, first)[..skip]);
            if common < skip {
                set_skip(page, common);
            }
        }
    }
    let compacted = place(page, slot, key, value);
    if compacted || REHEAD_COUNTS.contains(&(n + 1)) {
        rehead(page);
    }
}

/// Makes the slot and the record; the skip in force suits the key. Returns whether it had to compact.
fn place(page: &mut [u8], slot: usize, key: &[u8], value: &[u8]) -> bool {
    let n = usize::from(count(page));
    let len = VALUE_LEN + key.len() + value.len();
    assert!(
        len + SLOT <= free(page),
        "a record that does not fit its page"
    );
    let compacted = contiguous(page) < len + SLOT;
    if compacted {
        compact(page, None);
    }
    let at = heap_start(page) - len;
    write_record(page, at, key, value);
    put_u16(page, HEAP_AT, at as u16);
    let slot_at = SLOTS + slot * SLOT;
    page.copy_within(slot_at..SLOTS + n * SLOT, slot_at + SLOT);
    let head = if slot < first_keyed(page) {
        0
    } else {
        head_of(&key[skip(page)..])
    };
    set_slot_word(page, slot, word_of(at, key.len(), head));
    put_u16(page, COUNT_AT, (n + 1) as u16);
    add_free(page, -((len + SLOT) as isize));
    compacted
}

/// Removes the record at `slot`. Slot 0 of an inner page goes last: whoever drops the leftmost child
/// patches slot 0 with its neighbour's child and removes the neighbour.
pub fn remove(page: &mut [u8], slot: u16) {
    let slot = usize::from(slot);
    let n = usize::from(count(page));
    debug_assert!(slot < n && (slot >= first_keyed(page) || n == 1));
    let at = word_offset(slot_word(page, slot));
    let len = record_len(page, slot);
    let slot_at = SLOTS + slot * SLOT;
    page.copy_within(slot_at + SLOT..SLOTS + n * SLOT, slot_at);
    put_u16(page, COUNT_AT, (n - 1) as u16);
    add_free(page, (len + SLOT) as isize);
    if n == 1 {
        put_u16(page, HEAP_AT, PAGE_SIZE as u16);
    } else if at == heap_start(page) {
        put_u16(page, HEAP_AT, (at + len) as u16);
    }
    if n - 1 <= first_keyed(page) {
        set_skip(page, 0);
    }
}

/// Overwrites `data.len()` bytes of the value at `slot`, from `offset`.
pub fn patch(page: &mut [u8], slot: u16, offset: u16, data: &[u8]) {
    let w = slot_word(page, usize::from(slot));
    let at = word_offset(w);
    let value_len = usize::from(get_u16(page, at));
    let offset = usize::from(offset);
    assert!(offset + data.len() <= value_len, "a patch beyond its value");
    let from = at + VALUE_LEN + word_key_len(w) + offset;
    page[from..from + data.len()].copy_from_slice(data);
}

/// Replaces the middle of the value at `slot`: keeps its first `prefix` and last `suffix` bytes. The caller
/// has checked that the page has room for the growth.
pub fn splice(page: &mut [u8], slot: u16, prefix: u16, suffix: u16, data: &[u8]) {
    let slot = usize::from(slot);
    let (prefix, suffix) = (usize::from(prefix), usize::from(suffix));
    let w = slot_word(page, slot);
    let (at, key_len) = (word_offset(w), word_key_len(w));
    let old_len = usize::from(get_u16(page, at));
    assert!(prefix + suffix <= old_len, "a splice beyond its value");
    let new_len = prefix + data.len() + suffix;
    let value_at = at + VALUE_LEN + key_len;
    let growth = new_len as isize - old_len as isize;
    if growth <= 0 {
        let tail = value_at + old_len - suffix..value_at + old_len;
        page.copy_within(tail, value_at + prefix + data.len());
        page[value_at + prefix..][..data.len()].copy_from_slice(data);
        put_u16(page, at, new_len as u16);
        add_free(page, -growth);
        return;
    }
    assert!(
        growth as usize <= free(page),
        "a splice that does not fit its page"
    );
    let old = page[at..][..VALUE_LEN + key_len + old_len].to_vec();
    let new_record_len = VALUE_LEN + key_len + new_len;
    if contiguous(page) < new_record_len {
        compact(page, Some(slot));
    }
    let new_at = heap_start(page) - new_record_len;
    let new_value_at = new_at + VALUE_LEN + key_len;
    put_u16(page, new_at, new_len as u16);
    let (old_key, old_value) = old[VALUE_LEN..].split_at(key_len);
    page[new_at + VALUE_LEN..new_value_at].copy_from_slice(old_key);
    page[new_value_at..][..prefix].copy_from_slice(&old_value[..prefix]);
    page[new_value_at + prefix..][..data.len()].copy_from_slice(data);
    page[new_value_at + prefix + data.len()..][..suffix]
        .copy_from_slice(&old_value[old_len - suffix..]);
    set_slot_word(page, slot, word_of(new_at, key_len, (w >> 32) as u32));
    put_u16(page, HEAP_AT, new_at as u16);
    add_free(page, -growth);
}

/// Removes the records from `slot` on.
pub fn truncate(page: &mut [u8], slot: u16) {
    let slot = usize::from(slot);
    let n = usize::from(count(page));
    debug_assert!(slot <= n);
    let removed: usize = (slot..n).map(|s| record_len(page, s) + SLOT).sum();
    put_u16(page, COUNT_AT, slot as u16);
    add_free(page, removed as isize);
    compact(page, None);
    rehead(page);
}

/// Appends records encoded by [`encode_record`]. The caller has checked that they fit.
pub fn append(page: &mut [u8], records: &[u8]) {
    // Neither the old prefix nor any other is known to suit the new keys until all are there.
    set_skip(page, 0);
    for (key, value) in decode_records(records) {
        let n = usize::from(count(page));
        place(page, n, key, value);
    }
    rehead(page);
}

/// The records encoded by [`encode_record`], one behind the other.
pub fn decode_records(records: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = records;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let key_len = usize::from(get_u16(rest, 0));
        let value_len = usize::from(get_u16(rest, 2));
        let (record, after) = rest[4..].split_at(key_len + value_len);
        rest = after;
        Some(record.split_at(key_len))
    })
}

/// Encodes a record for [`append`].
pub fn encode_record(key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(key.len() as u16).to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

/// Adds a record behind the last on a page that is being packed (not yet in the pool); call [`packed`] after
/// the last one. Returns whether it fitted, leaving `reserve` bytes free.
pub fn pack(page: &mut [u8], key: &[u8], value: &[u8], reserve: usize) -> bool {
    let n = usize::from(count(page));
    if key.len() + value.len() + RECORD_OVERHEAD + reserve > free(page) {
        return false;
    }
    debug_assert_eq!(skip(page), 0);
    place(page, n, key, value);
    true
}

/// Finishes a page filled by [`pack`].
pub fn packed(page: &mut [u8]) {
    rehead(page);
}

#[inline]
fn heap_start(page: &[u8]) -> usize {
    usize::from(get_u16(page, HEAP_AT))
}

/// Bytes between the last slot and the heap.
#[inline]
fn contiguous(page: &[u8]) -> usize {
    heap_start(page) - SLOTS - SLOT * usize::from(count(page))
}

#[inline]
fn add_free(page: &mut [u8], by: isize) {
    let now = free(page) as isize + by;
    debug_assert!((0..=CAPACITY as isize).contains(&now));
    put_u16(page, FREE_AT, now as u16);
}

fn write_record(page: &mut [u8], at: usize, key: &[u8], value: &[u8]) {
    put_u16(page, at, value.len() as u16);
    page[at + VALUE_LEN..][..key.len()].copy_from_slice(key);
    page[at + VALUE_LEN + key.len()..][..value.len()].copy_from_slice(value);
}

/// Moves the records together at the page's end, in slot order from there. The record of slot `without` is
/// left out: its slot names nothing afterwards.
fn compact(page: &mut [u8], without: Option<usize>) {
    // Not on the stack: every thread's would keep the memory for good.
    let old = page.to_vec();
    let mut at = PAGE_SIZE;
    for slot in 0..usize::from(count(page)) {
        if Some(slot) == without {
            continue;
        }
        let w = slot_word(&old, slot);
        let len = record_len(&old, slot);
        at -= len;
        page[at..at + len].copy_from_slice(&old[word_offset(w)..][..len]);
        set_slot_word(page, slot, word_of(at, word_key_len(w), (w >> 32) as u32));
    }
    put_u16(page, HEAP_AT, at as u16);
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Skips as much as the keys allow.
fn rehead(page: &mut [u8]) {
    let (first, n) = (first_keyed(page), usize::from(count(page)));
    // Of a single key everything is common, which the next key would only have to take back.
    let common = if n < first + 2 {
        0
    } else {
        common_prefix(key_at(page, first), key_at(page, n - 1))
    };
    set_skip(page, common);
}

/// Sets the number of skipped bytes and recomputes the heads.
fn set_skip(page: &mut [u8], to: usize) {
    if skip(page) == to {
        return;
    }
    put_u16(page, SKIP_AT, to as u16);
    for slot in first_keyed(page)..usize::from(count(page)) {
        let w = slot_word(page, slot);
        let head = head_of(&key_at(page, slot)[to..]);
        set_slot_word(page, slot, word_of(word_offset(w), word_key_len(w), head));
    }
}

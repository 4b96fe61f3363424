use super::*;
use std::collections::BTreeMap;

/// A small generator of reproducible pseudo-random numbers (xorshift64*).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

fn new_page(level: u8) -> Vec<u8> {
    let mut p = vec![0; PAGE_SIZE];
    init(&mut p, level);
    p
}

fn compare(page: &[u8], model: &BTreeMap<Vec<u8>, Vec<u8>>) {
    check(page).unwrap();
    assert_eq!(usize::from(count(page)), model.len());
    for (slot, (k, v)) in model.iter().enumerate() {
        assert_eq!(entry(page, slot as u16), (&k[..], &v[..]));
        assert_eq!(search(page, k), Ok(slot as u16));
    }
}

/// Keys that often share prefixes, are prefixes of each other, or tie in their heads.
fn random_key(rng: &mut Rng, shape: usize) -> Vec<u8> {
    let mut key = match shape {
        0 => Vec::new(),
        1 => b"common/prefix/".to_vec(),
        _ => vec![0; rng.below(7)],
    };
    let n = rng.below(6);
    key.extend((0..n).map(|_| b"\0\0ab\xff"[rng.below(5)]));
    if rng.below(40) == 0 {
        let n = rng.below(900);
        key.extend(rng.bytes(n));
    }
    key
}

#[test]
fn agrees_with_a_map() {
    for seed in 1..60u64 {
        let mut rng = Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let shape = seed as usize % 3;
        let mut page = new_page(0);
        let mut model = BTreeMap::new();
        for step in 0..1500 {
            let key = random_key(&mut rng, shape);
            let found = search(&page, &key);
            assert_eq!(found.is_ok(), model.contains_key(&key));
            match (found, rng.below(10)) {
                (Err(slot), 0..=6) => {
                    let n = [3, 40, 600][rng.below(3)];
                    let n = rng.below(n);
                    let value = rng.bytes(n);
                    if key.len() + value.len() + RECORD_OVERHEAD <= free(&page) {
                        insert(&mut page, slot, &key, &value);
                        model.insert(key, value);
                    }
                }
                (Ok(slot), 0..=2) => {
                    remove(&mut page, slot);
                    model.remove(&key);
                }
                (Ok(slot), 3..=4) => {
                    let v = model.get_mut(&key).unwrap();
                    let at = rng.below(v.len() + 1);
                    let n = rng.below(v.len() - at + 1);
                    let data = rng.bytes(n);
                    patch(&mut page, slot, at as u16, &data);
                    v[at..at + data.len()].copy_from_slice(&data);
                }
                (Ok(slot), _) => {
                    let v = model.get_mut(&key).unwrap();
                    let prefix = rng.below(v.len() + 1);
                    let suffix = rng.below(v.len() - prefix + 1);
                    let n = rng.below(300);
                    let data = rng.bytes(n);
                    if data.len() + prefix + suffix <= free(&page) + v.len() {
                        splice(&mut page, slot, prefix as u16, suffix as u16, &data);
                        let end = v.len() - suffix;
                        v.splice(prefix..end, data);
                    }
                }
                _ => {}
            }
            if step % 50 == 0 {
                compare(&page, &model);
            }
        }
        compare(&page, &model);
    }
}

#[test]
fn halves_move_to_another_page() {
    for seed in 1..80u64 {
        let mut rng = Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut page = new_page(0);
        let mut model = BTreeMap::new();
        for _ in 0..400 {
            let key = random_key(&mut rng, seed as usize % 3);
            let n = rng.below(60);
            let value = rng.bytes(n);
            if key.len() + value.len() + RECORD_OVERHEAD > free(&page) {
                break;
            }
            if let Err(slot) = search(&page, &key) {
                insert(&mut page, slot, &key, &value);
                model.insert(key, value);
            }
        }
        let at = rng.below(model.len() + 1);
        let mut records = Vec::new();
        for slot in at..model.len() {
            let (k, v) = entry(&page, slot as u16);
            encode_record(k, v, &mut records);
        }
        truncate(&mut page, at as u16);
        let mut right = new_page(0);
        append(&mut right, &records);
        let split_key = model.keys().nth(at).cloned();
        let right_model = split_key.map_or_else(BTreeMap::new, |k| model.split_off(&k));
        compare(&page, &model);
        compare(&right, &right_model);
        append(&mut page, &records);
        model.extend(right_model);
        compare(&page, &model);
    }
}

#[test]
fn inner_pages_route() {
    for prefix in ["", "a long common prefix "] {
        let mut page = new_page(3);
        insert(&mut page, 0, b"", &7u32.to_le_bytes());
        for i in 1..200u32 {
            let k = format!("{prefix}{:05}", i * 10);
            insert(&mut page, i as u16, k.as_bytes(), &(1000 + i).to_le_bytes());
        }
        check(&page).unwrap();
        assert_eq!(level(&page), 3);
        for i in 0..2000u32 {
            let k = format!("{prefix}{i:05}");
            assert_eq!(u32::from(search_child(&page, k.as_bytes())), i / 10);
        }
        assert_eq!(search_child(&page, b""), 0);
        assert_eq!(child(&page, 0), 7);
        assert_eq!(search_child(&page, b"\xff"), 199);
        assert_eq!(child(&page, 199), 1199);
        // Dropping the leftmost child.
        let second = child(&page, 1).to_le_bytes();
        patch(&mut page, 0, 0, &second);
        remove(&mut page, 1);
        check(&page).unwrap();
        assert_eq!(child(&page, search_child(&page, b"")), 1001);
    }
}

#[test]
fn a_full_page_holds_two_largest_entries_and_four_largest_keys() {
    let mut page = new_page(0);
    insert(&mut page, 0, &[1; 3500], &[0; 4500]);
    insert(&mut page, 1, &[2; 3500], &[0; 4500]);
    check(&page).unwrap();
    let mut page = new_page(1);
    insert(&mut page, 0, b"", &[0; 4]);
    for i in 1..5u8 {
        insert(&mut page, u16::from(i), &[i; 3500], &[0; 4]);
    }
    check(&page).unwrap();
}

#[test]
fn check_is_total_and_notices_damage() {
    let mut rng = Rng(4711);
    let mut page = new_page(0);
    for i in 0..100u32 {
        let n = count(&page);
        insert(&mut page, n, &i.to_be_bytes(), b"value");
    }
    check(&page).unwrap();
    for at in [34, 36, 38, 56, SLOTS, SLOTS + 2, SLOTS + 4, SLOTS + 9] {
        let mut damaged = page.clone();
        damaged[at] ^= 0x41;
        assert!(check(&damaged).is_err(), "byte {at}");
    }
    for _ in 0..3000 {
        let mut damaged = page.clone();
        for _ in 0..1 + rng.below(8) {
            let at = if rng.below(2) == 0 {
                rng.below(900)
            } else {
                rng.below(PAGE_SIZE)
            };
            damaged[at] = rng.next() as u8;
        }
        let _ = check(&damaged);
        assert!(check(&rng.bytes(PAGE_SIZE)).is_err());
    }
}

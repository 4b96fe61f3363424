//! Sorting in memory so that it can be ended: a quicksort down to pieces that the standard library sorts within a few milliseconds.
//!
//! The standard library's sort cannot be stopped, and one of a gigabyte takes many seconds. Elements must all differ (records do,
//! by their places); a piece that splits badly again and again is left to the standard library, whose bound is n log n.

use super::GoOn;
use crate::error::Result;
use std::cmp::Ordering;

/// Elements of a piece that is sorted in one go.
const PIECE: usize = 8 << 10;
/// Elements looked at between two questions whether to go on.
const LOOK_EVERY: usize = 32 << 10;

/// Sorts, unless `go_on` says otherwise; what was sorted is then in some order.
pub(super) fn sort<T: Copy>(
    all: &mut [T],
    by: impl Fn(&T, &T) -> Ordering,
    go_on: &GoOn<'_>,
) -> Result<()> {
    let depth = 2 * all.len().max(1).ilog2();
    let mut pieces = vec![(all, depth)];
    while let Some((piece, depth)) = pieces.pop() {
        if piece.len() <= PIECE || depth == 0 {
            piece.sort_unstable_by(&by);
            go_on()?;
            continue;
        }
        let at = split(piece, &by, go_on)?;
        let (low, high) = piece.split_at_mut(at);
        pieces.push((&mut high[1..], depth - 1));
        pieces.push((low, depth - 1));
    }
    Ok(())
}

/// Moves what is less than some element before it, and the rest behind it; where that is.
fn split<T: Copy>(
    piece: &mut [T],
    by: &impl Fn(&T, &T) -> Ordering,
    go_on: &GoOn<'_>,
) -> Result<usize> {
    let last = piece.len() - 1;
    let step = last / 9;
    let of_three = |n: usize| median(piece, [n, n + step, n + 2 * step], by);
    let middle = [of_three(0), of_three(3 * step), of_three(6 * step)];
    let middle = median(piece, middle, by);
    piece.swap(middle, last);
    let pivot = piece[last];
    let mut low = 0;
    for at in 0..last {
        if at.is_multiple_of(LOOK_EVERY) {
            go_on()?;
        }
        // No branch that could be predicted wrongly: what is not less changes places with its like.
        let is_less = by(&piece[at], &pivot) == Ordering::Less;
        piece.swap(at, low);
        low += usize::from(is_less);
    }
    piece.swap(low, last);
    Ok(low)
}

/// Which of three is between the others.
fn median<T>(piece: &[T], [a, b, c]: [usize; 3], by: &impl Fn(&T, &T) -> Ordering) -> usize {
    let less = |x: usize, y: usize| by(&piece[x], &piece[y]) == Ordering::Less;
    match (less(a, b), less(b, c), less(a, c)) {
        (true, true, _) | (false, false, _) => b,
        (true, false, true) | (false, true, false) => c,
        _ => a,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::cell::Cell;

    #[test]
    fn sorts_whatever_the_order_was() {
        let n = 100_000u64;
        let orders: [&dyn Fn(u64) -> u64; 4] = [
            &|i| i,
            &|i| n - i,
            &|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            // An organ pipe.
            &|i| if i < n / 2 { 2 * i } else { 2 * (n - i) - 1 },
        ];
        for order in orders {
            let mut list: Vec<u64> = (0..n).map(order).collect();
            let mut want = list.clone();
            want.sort_unstable();
            sort(&mut list, u64::cmp, &|| Ok(())).unwrap();
            assert_eq!(list, want);
        }
        sort(&mut [0u8; 0], u8::cmp, &|| Ok(())).unwrap();
    }

    #[test]
    fn asks_often_whether_to_go_on() {
        let compared = Cell::new(0usize);
        let longest = Cell::new(0usize);
        let asked = Cell::new(0usize);
        let count = |a: &u64, b: &u64| {
            compared.set(compared.get() + 1);
            a.cmp(b)
        };
        let mixed = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut list: Vec<u64> = (0..1 << 20).map(mixed).collect();
        sort(&mut list, count, &|| {
            longest.set(longest.get().max(compared.take()));
            asked.set(asked.get() + 1);
            Ok(())
        })
        .unwrap();
        // A piece of 8,192 takes some 13 comparisons each.
        assert!(longest.get() < 250_000, "{}", longest.get());
        // It ends when it is told to.
        let mut list: Vec<u64> = (0..1 << 20).map(mixed).collect();
        compared.set(0);
        let left = Cell::new(asked.get() / 2);
        let ended = sort(&mut list, count, &|| {
            left.set(left.get() - 1);
            match left.get() {
                0 => Err(Error::Interrupted),
                _ => Ok(()),
            }
        });
        assert!(matches!(ended, Err(Error::Interrupted)));
        assert_eq!(left.get(), 0);
    }
}

//! How a run of slots tells remainders and how often each is in.
//!
//! A run holds the remainders of one home in ascending order. With symbols of r bits, a remainder x > 0 that is in
//!
//! - once is `x`, twice `x x`;
//! - C > 2 times `x`, the digits of C - 3 in base 2^r - 2, `x`. Digits are the symbols other than 0 and x, in order. A first
//!   digit above x has a `0` before it, so that what follows x is always less than x: in a list of ascending remainders
//!   that announces a counter, and the next x ends it.
//!
//! The remainder 0 comes first in its run and has nothing below it. It is one to three times that many `0`, and C > 3 times
//! `0`, the digits of C - 4 in base 2^r - 1 (all symbols but 0), `0 0`: no other code has two `0` in a row.
//!
//! Every content of a run has one code, so that equal filters are equal bits.

/// The longest code: 64 digits in base 2, with a prefix and an `x` on either side.
const LONGEST: usize = 68;

/// The symbols of one remainder.
pub(super) struct Code {
    symbols: [u64; LONGEST],
    len: usize,
}

impl Code {
    /// The code of a remainder of r bits (at least 2) that is in `count` times (at least once).
    pub(super) fn new(x: u64, count: u64, r: u32) -> Self {
        let mut code = Code { symbols: [0; LONGEST], len: 0 };
        let few = if x == 0 { 3 } else { 2 };
        if count <= few {
            (0..count).for_each(|_| code.push(x));
            return code;
        }
        code.push(x);
        code.push_digits(x, count - few - 1, r);
        code.push(x);
        if x == 0 {
            code.push(0);
        }
        code
    }

    fn push(&mut self, symbol: u64) {
        self.symbols[self.len] = symbol;
        self.len += 1;
    }

    fn push_digits(&mut self, x: u64, mut value: u64, r: u32) {
        let base = base(x, r);
        let begin = self.len;
        loop {
            // The symbols 1, 2, ... without x.
            let symbol = value % base + 1;
            self.push(if x != 0 && symbol >= x { symbol + 1 } else { symbol });
            value /= base;
            if value == 0 {
                break;
            }
        }
        if x != 0 && self.symbols[self.len - 1] > x {
            self.push(0);
        }
        self.symbols[begin..self.len].reverse();
    }

    pub(super) fn symbols(&self) -> &[u64] {
        &self.symbols[..self.len]
    }
}

fn base(x: u64, r: u32) -> u64 {
    (1 << r) - if x == 0 { 1 } else { 2 }
}

/// A remainder in a run: what, how often, and where its code ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) remainder: u64,
    pub(super) count: u64,
    pub(super) end: u64,
}

/// The entry whose code begins at slot `begin` of a run that ends before slot `end`; `is_first` of the run. A run that no
/// code has gives some entry, which ends behind `begin` and at `end` at the latest.
#[inline]
pub(super) fn entry(get: impl Fn(u64) -> u64, begin: u64, end: u64, is_first: bool, r: u32) -> Entry {
    let x = get(begin);
    let next = begin + 1;
    let once = Entry { remainder: x, count: 1, end: next };
    if next >= end {
        return once;
    }
    let second = get(next);
    if x != 0 && second > x {
        return once;
    }
    if x != 0 && second == x {
        return Entry { count: 2, end: next + 1, ..once };
    }
    if x == 0 && !is_first {
        return once;
    }
    long_entry(get, begin, end, r)
}

/// The same, for codes that are not a remainder once or twice.
fn long_entry(get: impl Fn(u64) -> u64, begin: u64, end: u64, r: u32) -> Entry {
    let x = get(begin);
    if x == 0 {
        let zeros = (begin..end.min(begin + 3)).take_while(|&slot| get(slot) == 0).count() as u64;
        let pair = (begin + 1..end.saturating_sub(1)).find(|&slot| get(slot) == 0 && get(slot + 1) == 0);
        return match pair {
            Some(pair) if zeros == 1 => {
                let count = digits(&get, begin + 1..pair, 0, r).saturating_add(4);
                Entry { remainder: 0, count, end: pair + 2 }
            }
            _ => Entry { remainder: 0, count: zeros, end: begin + zeros },
        };
    }
    match (begin + 1..end).find(|&slot| get(slot) == x) {
        Some(last) => {
            let first = begin + 1 + u64::from(get(begin + 1) == 0);
            Entry { remainder: x, count: digits(&get, first..last, x, r).saturating_add(3), end: last + 1 }
        }
        None => Entry { remainder: x, count: 1, end: begin + 1 },
    }
}

fn digits(get: impl Fn(u64) -> u64, slots: std::ops::Range<u64>, x: u64, r: u32) -> u64 {
    slots.fold(0, |value: u64, slot| {
        let symbol = get(slot);
        let digit = symbol.saturating_sub(if x != 0 && symbol > x { 2 } else { 1 });
        value.wrapping_mul(base(x, r)).wrapping_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(of: &[(u64, u64)], r: u32) -> Vec<u64> {
        of.iter().flat_map(|&(x, count)| Code::new(x, count, r).symbols().to_vec()).collect()
    }

    fn entries(run: &[u64], r: u32) -> Vec<(u64, u64)> {
        let (mut at, mut found) = (0, Vec::new());
        while at < run.len() as u64 {
            let entry = entry(|slot| run[slot as usize], at, run.len() as u64, at == 0, r);
            found.push((entry.remainder, entry.count));
            assert!(entry.end > at);
            at = entry.end;
        }
        found
    }

    #[test]
    fn codes_are_those_of_the_definition() {
        assert_eq!(run(&[(5, 1)], 4), [5]);
        assert_eq!(run(&[(5, 2)], 4), [5, 5]);
        assert_eq!(run(&[(5, 3)], 4), [5, 1, 5]);
        assert_eq!(run(&[(5, 7)], 4), [5, 0, 6, 5], "the fifth digit is 6, which is above 5");
        assert_eq!(run(&[(1, 3)], 4), [1, 0, 2, 1]);
        assert_eq!(run(&[(5, 3 + 14)], 4), [5, 2, 1, 5]);
        assert_eq!(run(&[(0, 3)], 4), [0, 0, 0]);
        assert_eq!(run(&[(0, 4)], 4), [0, 1, 0, 0]);
        assert_eq!(run(&[(0, 4 + 15)], 4), [0, 2, 1, 0, 0]);
    }

    #[test]
    fn every_pair_of_remainders_and_counts_reads_back() {
        for r in [2, 3, 4] {
            let counts = [1, 2, 3, 4, 5, 6, 7, 10, 63, 64, 10_000, u64::MAX];
            for (x, y) in (0..1 << r).flat_map(|x| (x + 1..1 << r).map(move |y| (x, y))) {
                for (a, b) in counts.iter().flat_map(|&a| counts.map(|b| (a, b))) {
                    let of = [(x, a), (y, b)];
                    assert_eq!(entries(&run(&of, r), r), of, "r = {r}");
                    let three: Vec<_> = of.into_iter().chain((y + 1 < 1 << r).then_some((y + 1, 3))).collect();
                    assert_eq!(entries(&run(&three, r), r), three, "r = {r}");
                }
            }
        }
    }

    #[test]
    fn a_counter_takes_the_logarithm_of_its_value() {
        assert_eq!(Code::new(200, 1_000_000, 8).symbols().len(), 2 + 3);
        assert_eq!(Code::new(3, u64::MAX, 2).symbols().len(), 2 + 64);
    }
}

//! Where a key lies in tables that are peeled: one cell in each of k slices, chosen by k independent hash words.
//!
//! The index families of [`hash`](crate::hash) make k positions of two words. That serves membership, but two keys that
//! agree in two cells then agree in the others with constant probability, and one such pair stops peeling for good:
//! among n keys in m = 1.23 n cells about one is expected, whatever n. With independent words they are rarer the more
//! keys there are.

use crate::hash::{Digest, fastrange};

/// An endless stream of hash words of one digest: its two halves, those of a digest derived from it, and so on.
#[derive(Clone, Debug)]
pub(crate) struct HashWords {
    digest: Digest,
    drawn: u64,
}

impl HashWords {
    /// The words of a digest.
    #[inline]
    pub(crate) fn new(digest: Digest) -> Self {
        HashWords { digest, drawn: 0 }
    }

    /// The next word.
    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        let drawn = self.drawn;
        self.drawn += 1;
        if drawn % 2 == 1 {
            return self.digest.h2;
        }
        if drawn > 0 {
            self.digest = self.digest.derive(drawn);
        }
        self.digest.h1
    }

    /// The cell of the next word in this one of the slices of `slice_len` cells.
    #[inline]
    pub(crate) fn cell(&mut self, slice: u64, slice_len: u64) -> u64 {
        slice * slice_len + fastrange(self.draw(), slice_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hashing;

    #[test]
    fn each_slice_has_one_cell_and_words_do_not_repeat() {
        for key in 0..100u64 {
            let mut words = HashWords::new(Hashing::seeded(1).digest(&key.to_le_bytes()));
            let cells: Vec<_> = {
                let mut words = words.clone();
                (0..8).map(|slice| words.cell(slice, 100)).collect()
            };
            assert!(cells.iter().enumerate().all(|(slice, &cell)| cell / 100 == slice as u64));
            let mut drawn: Vec<_> = (0..64).map(|_| words.draw()).collect();
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), 64);
        }
    }

    #[test]
    fn keys_that_agree_in_two_cells_agree_in_a_third_no_more_often_than_others() {
        // 4,000 keys in slices of 40 cells: 5,000 pairs agree in two given cells, of which 1/40 agree in the third.
        let hashing = Hashing::seeded(2);
        let cells = |key: u64| {
            let mut words = HashWords::new(hashing.digest(&key.to_le_bytes()));
            (0..4).map(|slice| words.cell(slice, 40)).collect::<Vec<_>>()
        };
        let keys: Vec<_> = (0..4_000).map(cells).collect();
        for (a, b, c) in [(0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3)] {
            let (mut two, mut three) = (0.0, 0.0);
            for (i, x) in keys.iter().enumerate() {
                for y in keys[..i].iter().filter(|y| x[a] == y[a] && x[b] == y[b]) {
                    two += 1.0;
                    three += f64::from(u8::from(x[c] == y[c]));
                }
            }
            let sigma = f64::sqrt(1.0 / 40.0 * (39.0 / 40.0) / two);
            assert!((three / two - 1.0 / 40.0).abs() < 5.0 * sigma, "{three} of {two}");
        }
    }
}

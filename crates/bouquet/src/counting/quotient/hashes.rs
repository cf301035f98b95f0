//! The content as a list of hashes: read from the slots, joined with another, written to new slots.

use super::code::{Code, entry};
use super::settings::Shape;
use super::slots::{Slots, with_table};
use super::table::Table;
use super::{Quotient, QuotientTable};
use crate::error::{Error, Result};

impl Quotient {
    /// The hashes in the filter, ascending, with the number of times that each is in: all that is left of the keys.
    ///
    /// ```
    /// use bouquet::Quotient;
    /// let mut filter = Quotient::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose", "rose", "lily"])?;
    /// let mut counts: Vec<_> = filter.fingerprints().map(|(_, count)| count).collect();
    /// counts.sort_unstable();
    /// assert_eq!(counts, [1, 2]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn fingerprints(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.mechanism.fingerprints()
    }
}

impl QuotientTable {
    /// The hashes, ascending, with their counts.
    pub(super) fn fingerprints(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let r = self.shape.remainder;
        let mut home = with_table!(&self.slots, table => table.next_home(0));
        let (mut run, mut at) = (0..0, 0);
        std::iter::from_fn(move || {
            with_table!(&self.slots, table => {
                while at >= run.end {
                    let own = home?;
                    // A run that is not empty takes us forward, so that no home is seen twice.
                    if run.end > run.start {
                        home = table.next_home(own + 1);
                    }
                    run = table.run(home?);
                    at = run.start;
                }
                let found = entry(|slot| table.get(slot), at, run.end, at == run.start, r);
                at = found.end;
                Some((home? << r | found.remainder, found.count))
            })
        })
    }

    /// A mechanism of this shape with these hashes, which must ascend and be as long as the shape says.
    pub(super) fn rebuilt(shape: Shape, hashes: impl Iterator<Item = (u64, u64)>) -> Result<Self> {
        let mut built = Self::zeroed(shape)?;
        for (hash, count) in hashes {
            built.add_at(shape.split(hash), count)?;
        }
        Ok(built)
    }

    /// Counts what the slots hold, and refuses runs that no content has; also the number of items.
    pub(super) fn counted(mut self) -> Result<(Self, u64)> {
        let mut items = 0u64;
        let (shape, r) = (self.shape, self.shape.remainder);
        let corrupt =
            |home: u64| Error::corrupt("slots", "runs of remainders and counters", format!("other at {home}"));
        with_table!(&self.slots, table => {
            for (home, run) in table.runs() {
                if home >= shape.homes() {
                    return Err(corrupt(home));
                }
                self.used += run.end - run.start;
                // Any remainder alone is one that is in once.
                if run.end - run.start == 1 {
                    self.distinct += 1;
                    items = items.saturating_add(1);
                    continue;
                }
                let (mut at, mut least) = (run.start, 0);
                while at < run.end {
                    let found = entry(|slot| table.get(slot), at, run.end, at == run.start, r);
                    let code = Code::new(found.remainder, found.count, r);
                    let same = code.symbols().iter().copied().eq((at..found.end).map(|slot| table.get(slot)));
                    if !same || found.remainder < least {
                        return Err(corrupt(home));
                    }
                    (at, least) = (found.end, found.remainder + 1);
                    self.distinct += 1;
                    items = items.saturating_add(found.count);
                }
            }
        });
        if self.used > shape.capacity {
            return Err(Error::corrupt("slots in use", format!("at most {}", shape.capacity), self.used));
        }
        Ok((self, items))
    }
}

/// The hashes of two ascending lists, ascending, with the count in each.
pub(super) fn joined(
    left: impl Iterator<Item = (u64, u64)>,
    right: impl Iterator<Item = (u64, u64)>,
) -> impl Iterator<Item = (u64, u64, u64)> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    std::iter::from_fn(move || {
        let least = [left.peek(), right.peek()].into_iter().flatten().map(|&(hash, _)| hash).min()?;
        let count = |next: Option<(u64, u64)>| next.map_or(0, |(_, count)| count);
        let mine = count(left.next_if(|&(hash, _)| hash == least));
        Some((least, mine, count(right.next_if(|&(hash, _)| hash == least))))
    })
}

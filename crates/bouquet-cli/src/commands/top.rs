//! `bouquet top`: the most frequent keys.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use bouquet::AnyFilter;
use bouquet::kind::Verb;
use clap::Args;

use super::ask::refuse_stdin_twice;
use crate::failure::{Failure, Found, Outcome, about};
use crate::filters::Opening;
use crate::keys::Input;
use crate::output::Output;

/// Print the N keys that are in a filter most often, each with a TAB and its count, the most frequent first
///
/// A filter that keeps the names of its frequent keys (`bouquet kinds --can top`; it must have been told to when it was made), or
/// whose kind can list its keys (`bouquet kinds --can list`), needs nothing else. Any other that counts is asked for candidates,
/// the keys of files or of standard input, in which duplicates do no harm: the counts are the filter's. They are as
/// wrong as the kind's counts may be; a number followed by `+` is where a counter has reached its end. Keys of equal count are
/// in the order of their bytes. Exit code 1 when no key is in the filter.
#[derive(Args)]
pub struct Top {
    /// How many keys to print
    #[arg(value_name = "N")]
    number: usize,

    /// The filter; `-` is standard input
    filter: PathBuf,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    opening: Opening,
}

/// The most frequent keys so far.
struct Leaders {
    most: usize,
    /// In ascending order of the count; of equal ones the last key first, so that the first is the first to go.
    ranked: BTreeSet<(u64, bool, Reverse<Vec<u8>>)>,
    keys: HashSet<Vec<u8>>,
}

impl Leaders {
    fn new(most: usize) -> Self {
        Leaders { most, ranked: BTreeSet::new(), keys: HashSet::new() }
    }

    /// Takes a key that occurs so often; `open` if that is a lower bound.
    fn take(&mut self, key: &[u8], count: u64, open: bool) {
        if count == 0 || self.most == 0 || self.keys.contains(key) {
            return;
        }
        if self.ranked.len() >= self.most {
            let entry = (count, open, Reverse(key.to_vec()));
            if self.ranked.first().is_some_and(|last| *last > entry) {
                return;
            }
            if let Some((_, _, Reverse(gone))) = self.ranked.pop_first() {
                self.keys.remove(&gone);
            }
        }
        self.keys.insert(key.to_vec());
        self.ranked.insert((count, open, Reverse(key.to_vec())));
    }

    fn print(&self, end: &[u8]) -> Result<(), Failure> {
        let mut out = Output::stdout();
        for (count, open, Reverse(key)) in self.ranked.iter().rev() {
            let count = format!("{count}{}", if *open { "+" } else { "" });
            let key = out.shown(key);
            out.write(&[&key, b"\t", count.as_bytes(), end])?;
        }
        out.flush()
    }
}

impl Top {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let listed = self.input.files.is_empty();
        if !listed {
            refuse_stdin_twice(&self.filter, &self.input)?;
        }
        let filter = self.opening.open(&self.filter)?;
        let mut leaders = Leaders::new(self.number);
        let mut incomplete = None;
        let named =
            if listed && filter.can(Verb::Top) { filter.top().map_err(about(&self.filter))?.top() } else { Vec::new() };
        if !named.is_empty() {
            named
                .iter()
                .for_each(|frequent| leaders.take(&frequent.key, frequent.count.count, frequent.count.at_least));
        } else if listed && filter.can(Verb::List) {
            incomplete = list(&filter, &mut leaders).map_err(about(&self.filter))?;
        } else {
            refuse_stdin_twice(&self.filter, &self.input)?;
            self.count(&filter, &mut leaders)?;
        }
        leaders.print(&[self.input.delimiter()])?;
        if let Some(undecoded) = incomplete {
            let path = self.filter.display();
            return Err(Failure::new(format!(
                "{path}: the listing is not complete, {undecoded} cells were not decoded; name files of candidate keys"
            )));
        }
        Ok(Found::when(!leaders.ranked.is_empty()))
    }

    /// Counts the candidates.
    fn count(&self, filter: &AnyFilter, leaders: &mut Leaders) -> Result<(), Failure> {
        let counts = filter.count().map_err(about(&self.filter))?;
        let note = filter.note();
        let mut reader = self.input.read("counting");
        while let Some(batch) = reader.next_batch()? {
            for key in batch.keys(note) {
                let answer = counts.count(key);
                leaders.take(key, answer.count, answer.at_least);
            }
        }
        Ok(())
    }
}

/// Takes what the filter lists; tells how many cells it could not decode, if any.
fn list(filter: &AnyFilter, leaders: &mut Leaders) -> bouquet::Result<Option<u64>> {
    let listing = filter.list()?.list();
    // A key may be listed with several values.
    let mut counts: HashMap<&[u8], i64> = HashMap::new();
    for entry in &listing.entries {
        let count = counts.entry(&entry.key).or_default();
        *count = count.saturating_add(entry.count);
    }
    for (key, count) in counts {
        leaders.take(key, u64::try_from(count).unwrap_or(0), false);
    }
    Ok(Some(listing.undecoded).filter(|undecoded| *undecoded > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaders_are_the_most_frequent_whatever_the_order() {
        let counts = [(b"a", 3), (b"b", 1), (b"c", 7), (b"d", 3), (b"e", 0), (b"a", 3), (b"c", 7)];
        for turn in 0..counts.len() {
            let mut leaders = Leaders::new(3);
            for (key, count) in counts.iter().cycle().skip(turn).take(counts.len()) {
                leaders.take(*key, *count, false);
            }
            let found: Vec<_> = leaders.ranked.iter().rev().map(|(count, _, key)| (key.0.as_slice(), *count)).collect();
            assert_eq!(found, [(b"c".as_slice(), 7), (b"a", 3), (b"d", 3)], "from {turn}");
        }
    }

    #[test]
    fn an_open_count_is_above_an_equal_one() {
        let mut leaders = Leaders::new(1);
        leaders.take(b"a", 15, false);
        leaders.take(b"b", 15, true);
        assert_eq!(leaders.ranked.first().unwrap().2.0, b"b");
    }
}

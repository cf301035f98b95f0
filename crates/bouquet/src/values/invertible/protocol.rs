//! Two hosts that look for their difference by messages of bytes.
//!
//! ```text
//! seeker    1: estimator of its keys              ->   answerer
//!           <-   2: filter of its keys, sized by the estimate
//!           3: not enough: twice the cells, another seed  ->
//!           <-   2: filter ...
//! ```
//!
//! The traffic grows with the difference, not with the sets. Messages in the wrong order, of the wrong sort or for another session are
//! refused.

use super::{Decoded, End, Invertible, InvertibleSettings};
use crate::error::{Error, Result, same};
use crate::hash::Hashing;
use crate::key::Key;

/// The filters that one difference may take; each has twice the cells of the one before.
const ROUNDS: u32 = 12;

/// The most cells that an answerer makes because another host says so.
const MOST_CELLS: u64 = 1 << 26;

const ESTIMATOR: u8 = 1;
const FILTER: u8 = 2;
const AGAIN: u8 = 3;

/// A message begins with its sort.
fn message(sort: u8, bytes: &[u8]) -> Vec<u8> {
    [&[sort], bytes].concat()
}

fn opened(message: &[u8], expected: u8) -> Result<&[u8]> {
    match message.split_first() {
        Some((&sort, rest)) if sort == expected => Ok(rest),
        Some((sort, _)) => Err(Error::corrupt("sort of a message", expected, sort)),
        None => Err(Error::corrupt("message", format!("one of sort {expected}"), "nothing")),
    }
}

/// A filter of these keys.
fn filter_of<K: Key>(settings: InvertibleSettings, hashing: Hashing, keys: &[K]) -> Result<Invertible> {
    let mut filter = Invertible::hashed(settings, hashing)?;
    for key in keys {
        filter.insert(key)?;
    }
    Ok(filter)
}

/// What has become of a session.
///
/// ```
/// use bouquet::values::invertible::{Answerer, Progress, Seeker};
/// let (here, there) = ([1u64, 2, 3], [2u64, 3, 4]);
/// let (mut seeker, mut answerer) = (Seeker::new(&here, 8, 1), Answerer::new(&there, 8));
/// let answer = answerer.answer(&seeker.hello()?)?;
/// let Progress::Done(difference) = seeker.receive(&answer)? else { panic!("a small difference") };
/// assert_eq!((difference.here.len(), difference.there.len()), (1, 1));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The difference is known.
    Done(Decoded),
    /// The filter was too small: send this message and receive another answer.
    Again(Vec<u8>),
}

/// The host that wants to know the difference. Its keys must be distinct.
#[derive(Debug)]
pub struct Seeker<'a, K> {
    keys: &'a [K],
    key_bytes: u32,
    seed: u64,
    round: u32,
    /// The cells that the next answer must have at least; none before it has asked.
    cells: Option<u64>,
}

impl<'a, K: Key> Seeker<'a, K> {
    /// A host with these keys of at most `key_bytes` bytes; `seed` should be another for every session.
    #[must_use]
    pub fn new(keys: &'a [K], key_bytes: u32, seed: u64) -> Self {
        Seeker { keys, key_bytes, seed, round: 0, cells: None }
    }

    /// The first message.
    pub fn hello(&mut self) -> Result<Vec<u8>> {
        let settings = InvertibleSettings {
            cells: Some(4),
            key_bytes: Some(self.key_bytes),
            strata: Some(true),
            ..InvertibleSettings::default()
        };
        let estimator = filter_of(settings, Hashing::seeded(self.seed), self.keys)?;
        (self.round, self.cells) = (0, Some(1));
        Ok(message(ESTIMATOR, &estimator.to_bytes()))
    }

    /// Takes an answer: the difference, or the next message.
    pub fn receive(&mut self, answer: &[u8]) -> Result<Progress> {
        let least = self.cells.ok_or_else(|| Error::corrupt("answer", "none before `hello`", "one"))?;
        let theirs = Invertible::from_bytes(opened(answer, FILTER)?)?;
        let settings = theirs.settings();
        same("key-bytes", Some(self.key_bytes), settings.key_bytes)?;
        same("hashing", &Hashing::seeded(self.seed.wrapping_add(self.round.into())), theirs.hashing())?;
        let cells = settings.cells.unwrap_or(0);
        if cells < least {
            return Err(Error::corrupt("cells of an answer", format!("at least {least}"), cells));
        }
        let decoded = filter_of(settings, theirs.hashing().clone(), self.keys)?.difference(&theirs)?;
        match decoded.end {
            End::Complete => {
                self.cells = None;
                Ok(Progress::Done(decoded))
            }
            End::Malformed => Err(Error::corrupt("filter", "one that insertions make", "another")),
            End::Incomplete { .. } if self.round + 1 == ROUNDS => Err(Error::Full {
                what: format!("the difference did not fit in {ROUNDS} filters"),
                remedy: "exchange the sets".into(),
            }),
            End::Incomplete { .. } => {
                self.round += 1;
                self.cells = Some(cells.saturating_mul(2));
                let seed = self.seed.wrapping_add(self.round.into());
                let numbers = [cells.saturating_mul(2), seed].map(u64::to_le_bytes);
                Ok(Progress::Again(message(AGAIN, &numbers.concat())))
            }
        }
    }
}

/// The host that is asked. Its keys must be distinct.
#[derive(Debug)]
pub struct Answerer<'a, K> {
    keys: &'a [K],
    key_bytes: u32,
    /// The cells and the seed of its last filter.
    last: Option<(u64, u64)>,
}

impl<'a, K: Key> Answerer<'a, K> {
    /// A host with these keys of at most `key_bytes` bytes.
    #[must_use]
    pub fn new(keys: &'a [K], key_bytes: u32) -> Self {
        Answerer { keys, key_bytes, last: None }
    }

    /// The answer to a message.
    pub fn answer(&mut self, asked: &[u8]) -> Result<Vec<u8>> {
        let (settings, seed) = match self.last {
            Some((cells, seed)) if asked.first() == Some(&AGAIN) => {
                let numbers = opened(asked, AGAIN)?.as_chunks::<8>();
                let ([more, next], []) = numbers else {
                    return Err(Error::corrupt("message", "two numbers", format!("{} bytes", asked.len())));
                };
                let (more, next) = (u64::from_le_bytes(*more), u64::from_le_bytes(*next));
                if more != cells.saturating_mul(2) || more > MOST_CELLS || next != seed.wrapping_add(1) {
                    let expected = format!("twice {cells} cells, at most {MOST_CELLS}, and the next seed");
                    return Err(Error::corrupt("message", expected, format!("{more} cells, seed {next}")));
                }
                (InvertibleSettings { cells: Some(more), ..self.settings() }, next)
            }
            _ => {
                let theirs = Invertible::from_bytes(opened(asked, ESTIMATOR)?)?;
                same("key-bytes", Some(self.key_bytes), theirs.settings().key_bytes)?;
                let mine = filter_of(theirs.settings(), theirs.hashing().clone(), self.keys)?;
                let items = mine.items_for(&theirs)?.min(MOST_CELLS / 2);
                (InvertibleSettings { items: Some(items), ..self.settings() }, theirs.hashing().seed())
            }
        };
        let filter = filter_of(settings, Hashing::seeded(seed), self.keys)?;
        self.last = Some((filter.settings().cells.unwrap_or(0), seed));
        Ok(message(FILTER, &filter.to_bytes()))
    }

    fn settings(&self) -> InvertibleSettings {
        InvertibleSettings { key_bytes: Some(self.key_bytes), ..InvertibleSettings::default() }
    }
}

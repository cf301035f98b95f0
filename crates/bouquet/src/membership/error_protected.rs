#![doc = include_str!("error_protected.md")]

use crate::capability::{Estimate, NoteType, Overlap};
use crate::codec::{Decoder, Encoder};
use crate::error::Result;
use crate::hash::{Digest, Hashing};
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Made, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, kind,
};
use crate::parts::bit_array::{BitArray, flat_places};
use crate::parts::counter_array::{Placement, Places};
use crate::shell::{Code, Far, Filter, Gauge, Hashed, Mechanism, Meet, Put, Test, Unite};
use crate::store::BitStore;
use crate::theory;

mod memory;
mod methods;
mod settings;

pub use memory::{Memory, Sound};
use settings::Shape;
pub use settings::{ErrorProtectedSettings, ParityWord};

/// A Bloom filter whose words have parity bits.
///
/// ```
/// use bouquet::ErrorProtected;
/// let mut filter = ErrorProtected::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// for position in 0..filter.bits().len() {
///     let mut damaged = filter.clone();
///     damaged.flip(position)?;
///     assert!(damaged.contains("rose"), "whichever bit it is");
/// }
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type ErrorProtected = Filter<ProtectedBits>;

/// The registry's row.
pub const KIND: Kind = kind!(ErrorProtected);

/// Bits, and a parity bit for each word of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtectedBits {
    array: BitArray,
    /// For each word whether its number of ones is odd.
    parities: BitStore,
    /// Bits of a word: a divisor of 64.
    width: u32,
    recheck: bool,
    /// Insertions between two sweeps; none by itself when 0.
    interval: u64,
    /// Insertions since the last sweep.
    since: u64,
    /// Words that were found damaged and have been all ones since.
    repaired: u64,
}

impl ProtectedBits {
    fn of(shape: &Shape, bits: BitStore, parities: BitStore) -> Self {
        let Shape { places, width, recheck, interval } = *shape;
        ProtectedBits { array: BitArray { places, bits }, parities, width, recheck, interval, since: 0, repaired: 0 }
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// Where a word lies: which of 64 bits, and how far up.
    #[inline]
    fn place(&self, word: u64) -> (usize, u32) {
        let bit = word * u64::from(self.width);
        ((bit / 64) as usize, (bit % 64) as u32)
    }

    /// What memory has as this word.
    #[inline]
    fn stored(&self, word: u64) -> u64 {
        let (at, shift) = self.place(word);
        self.array.bits.words().get(at).map_or(0, |bits| bits >> shift) & self.mask()
    }

    #[inline]
    fn is_sound(&self, word: u64, read: u64) -> bool {
        (read.count_ones() % 2 == 1) == self.parities.get(word)
    }

    /// A word as it is taken: all ones when its parity is wrong.
    #[inline]
    fn trusted(&self, word: u64, memory: &mut impl Memory) -> u64 {
        let read = memory.word(word, self.stored(word));
        if self.is_sound(word, read) { read } else { self.mask() }
    }

    #[inline]
    fn probe(&self, position: u64, memory: &mut impl Memory) -> bool {
        let (word, bit) = (position / u64::from(self.width), position % u64::from(self.width));
        let read = self.trusted(word, memory) >> bit & 1 == 1;
        memory.probe(position, read)
    }

    /// Whether all bits of a digest are one. A single zero is looked at again, if the settings say so.
    #[inline]
    fn all_set(&self, digest: Digest, memory: &mut impl Memory) -> bool {
        let (mut zeros, mut last, mut i) = (0, 0, 0);
        self.array.places.all(digest, |position| {
            if !self.probe(position, memory) {
                zeros += 1;
                last = i;
            }
            i += 1;
            zeros == 0 || self.recheck && zeros == 1
        });
        if zeros != 1 || !self.recheck {
            return zeros == 0;
        }
        // Its hash too is computed again: a fault may have been there.
        self.array.places.of(digest).nth(last).is_some_and(|position| self.probe(position, memory))
    }

    /// Makes a damaged word all ones, with the right parity, and says whether it was one.
    #[inline]
    fn repair(&mut self, word: u64) -> bool {
        if self.is_sound(word, self.stored(word)) {
            return false;
        }
        let ((at, shift), mask) = (self.place(word), self.mask());
        if let Some(bits) = self.array.bits.words_mut().get_mut(at) {
            *bits |= mask << shift;
        }
        // The width is even.
        self.parities.clear(word);
        self.repaired = self.repaired.saturating_add(1);
        true
    }

    /// Repairs every damaged word and says how many there were.
    fn sweep(&mut self) -> u64 {
        self.since = 0;
        (0..self.parities.len()).map(|word| u64::from(self.repair(word))).sum()
    }

    fn damaged(&self) -> u64 {
        (0..self.parities.len()).filter(|&word| !self.is_sound(word, self.stored(word))).count() as u64
    }

    /// The bits as they are taken, damaged words as ones.
    fn taken(&self) -> BitStore {
        let mut bits = self.array.bits.clone();
        let words = bits.words_mut();
        for word in (0..self.parities.len()).filter(|&word| !self.is_sound(word, self.stored(word))) {
            let (at, shift) = self.place(word);
            words[at] |= self.mask() << shift;
        }
        bits
    }

    /// Combines with the content of another filter, both as they are taken, and makes the parities anew: those of the inputs
    /// say nothing about what comes out.
    fn combine(&mut self, other: &Self, with: fn(&mut BitStore, &BitStore) -> Result<()>) -> Result<()> {
        let (theirs, damaged) = (other.taken(), other.damaged());
        self.sweep();
        self.repaired = self.repaired.saturating_add(damaged);
        with(&mut self.array.bits, &theirs)?;
        for word in 0..self.parities.len() {
            if self.stored(word).count_ones() % 2 == 1 {
                self.parities.set(word);
            } else {
                self.parities.clear(word);
            }
        }
        Ok(())
    }

    /// The share of words that are all ones because of faults.
    fn saturated(&self) -> f64 {
        (self.repaired.saturating_add(self.damaged()) as f64 / self.parities.len() as f64).min(1.0)
    }

    /// The keys in this content, of which the words that faults have filled say nothing.
    fn keys_in(&self, bits: &BitStore, saturated: f64) -> Estimate {
        let (zeros, places) = (bits.len() - bits.count_ones(), &self.array.places);
        let alike = zeros as f64 / (1.0 - saturated).max(f64::MIN_POSITIVE);
        Estimate::from_zeros((alike.round() as u64).min(bits.len()), bits.len(), places.hashes())
    }
}

impl Mechanism for ProtectedBits {
    const FACTS: Facts = Facts {
        id: "error-protected",
        number: 20,
        aliases: &["parity", "soft-error"],
        family: "membership",
        text: Text::new(include_str!("error_protected.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const SPECIALS: &'static [Special<ErrorProtected>] = &[
        Special::act("scrub", Takes::Nothing, "makes every damaged word all ones and tells how many", |filter, _| {
            Ok(filter.scrub().into())
        }),
        Special::act(
            "check",
            Takes::Key,
            "whether the key is in; damaged words on the way are repaired",
            |filter, key| Ok(Reply::Truth(filter.check(key.key()?))),
        ),
        Special::ask(
            "faults",
            Takes::Nothing,
            "words in all, damaged ones, and those that were repaired",
            |filter, _| {
                let bits = &filter.mechanism;
                let row = [bits.parities.len(), bits.damaged(), bits.repaired];
                Ok(Reply::Table(&["words", "damaged", "repaired"], vec![row.map(Reply::from).into()]))
            },
        ),
        Special::ask(
            "glitches",
            Takes::Share,
            "the share of present keys that are lost when every probe fails with this probability",
            |filter, share| Ok(Reply::Real(filter.expected_lost(share.share()?))),
        ),
        Special::ask(
            "glitched",
            Takes::Pair,
            "the share of 1,000 queries that lose the key while every probe fails with the probability that comes with it",
            |filter, pair| {
                let item = pair.item()?;
                let text = std::str::from_utf8(item.bytes()?).unwrap_or_default();
                let glitch = Takes::Share.parse(text)?.share()?;
                Ok(Reply::Real(filter.measured_lost(item.key, glitch, 1_000)))
            },
        ),
        Special::ask(
            "bits",
            Takes::Nothing,
            "the plain filter of the same keys, damaged words as ones",
            |filter, _| Ok(Made::reply(filter.to_bloom()?)),
        ),
        Special::act(
            "flip",
            Takes::Number,
            "flips this bit, to try what happens; parity bits come last",
            |filter, at| filter.flip(at.number()?).map(|()| Reply::Done),
        ),
        Special::act("strike", Takes::Number, "flips a random bit in each of NUMBER random words", |filter, words| {
            filter.strike(words.number()?, 0).map(|()| Reply::Done)
        }),
    ];

    type Settings = ErrorProtectedSettings;

    fn resolve(asked: &ErrorProtectedSettings) -> Result<ErrorProtectedSettings> {
        let Shape { places, width, recheck, interval } = Shape::plan(asked)?;
        Ok(ErrorProtectedSettings {
            bits: Some(places.counters()),
            hashes: Some(places.hashes()),
            word: Some(ParityWord(width)),
            recheck: Some(recheck),
            scrub: Some(interval),
            ..*asked
        })
    }

    fn plan(settings: &ErrorProtectedSettings) -> Result<Plan> {
        let (shape, items) = (Shape::plan(settings)?, settings.items);
        let fpr = items.map(|items| shape.places.expected_rate(items));
        Ok(Plan { bits: shape.places.counters() + shape.words(), hashes: shape.places.hashes(), items, fpr })
    }

    fn empty(settings: &ErrorProtectedSettings, _: &Hashing) -> Result<Self> {
        let shape = Shape::plan(settings)?;
        Ok(Self::of(&shape, BitStore::zeroed(shape.places.counters())?, BitStore::zeroed(shape.words())?))
    }

    /// That of the plain filter with these positions, which can be made of it.
    fn domain(settings: &ErrorProtectedSettings) -> String {
        let places = flat_places(settings.bits.unwrap_or(1), settings.hashes.unwrap_or(1));
        places.as_ref().map_or_else(|_| String::new(), Places::domain)
    }

    fn stats(&self, items: u64) -> Stats {
        let (places, ones) = (&self.array.places, self.taken().count_ones());
        Stats {
            items,
            bits: places.counters() + self.parities.len(),
            hashes: places.hashes(),
            fill: Some(ones as f64 / places.counters() as f64),
            fpr: Some(places.rate_of(&[ones])),
            // A word that a fault has filled is as honest as one that keys have.
            honest_fill: Some(places.honest_fill(items) + self.saturated()),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let figure = |name, value| Figure { name, value: Setting::Count(value) };
        vec![figure("damaged words", self.damaged()), figure("repaired words", self.repaired)]
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: Some(self.array.places.expected_rate(items)), ..Rates::default() }
    }

    /// State: items, insertions since the last sweep, repaired words. Stores: the bits, the parities.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        for number in [items, self.since, self.repaired] {
            encoder.state().u64(number);
        }
        encoder.bits(&self.array.bits);
        encoder.bits(&self.parities);
    }

    fn decode(settings: &ErrorProtectedSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = Shape::plan(settings)?;
        let [items, since, repaired] = [decoder.state().u64()?, decoder.state().u64()?, decoder.state().u64()?];
        let (bits, parities) = (decoder.bits(shape.places.counters())?, decoder.bits(shape.words())?);
        Ok((ProtectedBits { since, repaired, ..Self::of(&shape, bits, parities) }, items))
    }

    #[inline(always)]
    fn far(&self) -> Option<&dyn Far> {
        Some(&self.array)
    }
}

impl Test for ProtectedBits {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.all_set(key.digest, &mut Sound)
    }
}

impl Put for ProtectedBits {
    type Note<'a> = ();
    type Outcome = bool;

    /// Every word is checked before a bit of it is set: a parity that was made of a damaged word would bless the damage.
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        let mut fresh = false;
        let places = self.array.places;
        places.all(key.digest, |position| {
            let word = position / u64::from(self.width);
            self.repair(word);
            if self.array.bits.set(position) {
                fresh = true;
                if !self.parities.set(word) {
                    self.parities.clear(word);
                }
            }
            true
        });
        self.since = self.since.saturating_add(1);
        if self.interval > 0 && self.since >= self.interval {
            self.sweep();
        }
        fresh
    }
}

impl Unite for ProtectedBits {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.combine(other, BitStore::or)
    }
}

impl Meet for ProtectedBits {
    fn meet(&mut self, other: &Self) -> Result<()> {
        self.combine(other, BitStore::and)
    }
}

impl Gauge for ProtectedBits {
    fn gauge(&self) -> Estimate {
        self.keys_in(&self.taken(), self.saturated())
    }

    fn compare(&self, other: &Self) -> Result<Overlap> {
        let mut both = self.taken();
        both.or(&other.taken())?;
        // Faults hit the two filters independently.
        let saturated = 1.0 - (1.0 - self.saturated()) * (1.0 - other.saturated());
        let union = self.keys_in(&both, saturated);
        Ok(Overlap::of(self.gauge(), other.gauge(), union, |keys| self.array.places.cardinality_error(keys)))
    }
}

impl Code for ProtectedBits {
    fn entropy_bits(&self) -> f64 {
        let bits = &self.array.bits;
        bits.len() as f64 * theory::special::entropy(bits.fill()) + self.parities.len() as f64
    }
}

#[cfg(test)]
mod tests;

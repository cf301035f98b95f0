#![doc = include_str!("retouched.md")]

mod counts;
mod settings;

use crate::capability::{Dataset, Note, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::coder::counters_entropy;
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, SplitMix, mix};
use crate::key::Key;
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, common, kind,
};
use crate::parts::bit_array::{self, BitArray, flat_places};
use crate::parts::counter_array::{CounterStore, Places};
use crate::shell::{Assemble, Code, Far, Filter, FromNote, Hashed, Implied, Mechanism, Put, Test};
use crate::store::Counters;
use crate::theory::{retouched, special};
use counts::{Counts, Weighted};
use settings::{ANY, CELLS, MOST_CLEARED, MOST_LOST, SCHEME, WEIGHTS};
pub use settings::{Memory, RetouchedSettings, Scheme};

/// The registry's row.
pub const KIND: Kind = kind!(Retouched);

/// A filter in which bits are cleared to be rid of troublesome false positives.
///
/// ```
/// use bouquet::{Retouched, RetouchedSettings, capability::{Dataset, Item}, hash::Hashing};
/// let (members, others): (Vec<_>, Vec<_>) = ((0..1_000u64).map(u64::to_le_bytes).collect(), (5_000..15_000u64).map(u64::to_le_bytes).collect());
/// let items: Vec<_> = members.iter().map(|key| Item::from(key.as_slice())).collect();
/// let absent: Vec<_> = others.iter().map(|key| Item::from(key.as_slice())).collect();
/// let settings = RetouchedSettings { items: Some(1_000), ..Default::default() };
/// let filter = Retouched::build(&settings, &Hashing::default(), &Dataset { items: &items, absent: &absent })?;
/// assert!(others.iter().all(|key| !filter.contains(key.as_slice())), "not one is left");
/// let lost = members.iter().filter(|key| !filter.contains(key.as_slice())).count();
/// assert!(lost > 0 && lost < 300, "at this price: {lost}");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Retouched = Filter<RetouchedBits>;

/// Bits of a counter.
const WIDTH: u32 = 8;

/// How much a key matters: 1 unless it comes with a weight.
///
/// ```
/// use bouquet::accuracy::retouched::Importance;
/// assert_eq!((Importance::default().weight(), Importance(Some(2.5)).weight()), (1.0, 2.5));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Importance(pub Option<f64>);

impl Importance {
    /// The weight.
    #[must_use]
    pub fn weight(self) -> f64 {
        self.0.unwrap_or(1.0)
    }
}

impl Implied for Importance {}

impl<'a> FromNote<'a> for Importance {
    fn from_note(note: Note<'a>) -> Result<Self> {
        match note {
            Note::None => Ok(Importance(None)),
            Note::Weight(weight) if weight >= 0.0 && weight.is_finite() => Ok(Importance(Some(weight))),
            note => Err(Error::Item {
                expected: "a key, or one with a weight of at least 0".into(),
                found: note.to_string(),
            }),
        }
    }
}

/// What retouching has done.
///
/// ```
/// use bouquet::accuracy::retouched::Report;
/// assert_eq!(Report::default(), Report { removed: 0, cleared: 0, lost: 0.0, stopped: false });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Troublesome keys that are no longer found.
    pub removed: u64,
    /// Bits that were cleared.
    pub cleared: u64,
    /// The members, or their weight, that are no longer found: exactly where they were at hand, or what counters say.
    pub lost: f64,
    /// Whether a budget ended it.
    pub stopped: bool,
}

/// Bits of which some are cleared, and what is kept for clearing more.
#[derive(Clone, Debug, PartialEq)]
pub struct RetouchedBits {
    array: BitArray,
    /// How many members use each bit, roughly.
    users: Option<Counters>,
    /// The troublesome keys, as they came, until the filter is sealed.
    trouble: Vec<Weighted>,
    cleared: u64,
    lost: f64,
    rules: Rules,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Rules {
    scheme: Scheme,
    weights: bool,
    most_lost: u64,
    most_cleared: u64,
}

fn places(settings: &RetouchedSettings) -> Result<Places> {
    let RetouchedSettings { items, fpr, bits, hashes, .. } = settings;
    let size = common::size_of(*items, *fpr, *bits, *hashes, "bits")?;
    flat_places(size.bits, size.hashes)
}

impl Rules {
    fn of(settings: &RetouchedSettings) -> Result<Self> {
        Ok(Rules {
            scheme: SCHEME.need(settings.scheme)?,
            weights: WEIGHTS.need(settings.weights)?,
            most_lost: MOST_LOST.need(settings.most_lost)?,
            most_cleared: MOST_CLEARED.need(settings.most_cleared)?,
        })
    }
}

impl Mechanism for RetouchedBits {
    const FACTS: Facts = Facts {
        id: "retouched",
        number: 161,
        aliases: &["RBF", "retouched Bloom filter"],
        family: "accuracy",
        text: Text::new(include_str!("retouched.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative],
        note: NoteType::None,
        parameters: &[],
    };

    const BUILT_WHOLE: bool = true;

    const KNOWS_ABSENT: bool = true;

    const SPECIALS: &'static [Special<Retouched>] = &[
        Special::act(
            "trouble",
            Takes::Item,
            "puts a key on the list of those that must not be found",
            |filter, item| {
                let item = item.item()?;
                filter.trouble(item.key, Importance::from_note(item.note)?.weight()).map(|()| Reply::Done)
            },
        ),
        Special::act(
            "retouch",
            Takes::Nothing,
            "clears bits until no key of the list is found; again after insertions that brought some back",
            |filter, _| {
                let report = filter.retouch()?;
                let row = vec![
                    report.removed.into(),
                    report.cleared.into(),
                    Reply::Real(report.lost),
                    Reply::Truth(report.stopped),
                ];
                Ok(Reply::Table(&["removed", "cleared", "lost", "stopped"], vec![row]))
            },
        ),
        Special::act(
            "clear-random",
            Takes::Number,
            "clears this many of the ones, chosen at random",
            |filter, number| Ok(filter.clear_random(number.number()?).into()),
        ),
        Special::act(
            "seal",
            Takes::Nothing,
            "drops the list and the counters: what is left is the bits",
            |filter, _| {
                filter.seal();
                Ok(Reply::Done)
            },
        ),
        Special::ask(
            "returned",
            Takes::Nothing,
            "keys of the list that are found, since insertions set bits again",
            |filter, _| Ok(filter.returned().into()),
        ),
    ];

    type Settings = RetouchedSettings;

    fn resolve(asked: &RetouchedSettings) -> Result<RetouchedSettings> {
        let (places, rules) = (places(asked)?, Rules::of(asked)?);
        Ok(RetouchedSettings {
            bits: Some(places.counters()),
            hashes: Some(places.hashes()),
            scheme: Some(rules.scheme),
            cells: Some(CELLS.need(asked.cells)?),
            weights: Some(rules.weights),
            most_lost: Some(rules.most_lost),
            most_cleared: Some(rules.most_cleared),
            ..asked.clone()
        })
    }

    fn plan(settings: &RetouchedSettings) -> Result<Plan> {
        let (places, items) = (places(settings)?, settings.items);
        let beside = match CELLS.need(settings.cells)? {
            Memory::Bits => 0,
            Memory::Counters => Counters::bits_needed(places.counters(), WIDTH)?,
        };
        let fpr = items.map(|items| places.expected_rate(items));
        Ok(Plan { bits: places.counters() + beside, hashes: places.hashes(), items, fpr })
    }

    fn empty(settings: &RetouchedSettings, _: &Hashing) -> Result<Self> {
        let (places, rules) = (places(settings)?, Rules::of(settings)?);
        let users = match CELLS.need(settings.cells)? {
            Memory::Bits => None,
            Memory::Counters => Some(Counters::zeroed(places.counters(), WIDTH)?),
        };
        Ok(RetouchedBits { array: BitArray::zeroed(places)?, users, trouble: Vec::new(), cleared: 0, lost: 0.0, rules })
    }

    fn domain(settings: &RetouchedSettings) -> String {
        bit_array::domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    /// A sealed filter has no counters.
    fn settings(&self, resolved: &RetouchedSettings) -> RetouchedSettings {
        let cells = if self.users.is_some() { Memory::Counters } else { Memory::Bits };
        RetouchedSettings { cells: Some(cells), ..resolved.clone() }
    }

    fn note(settings: &RetouchedSettings) -> NoteType {
        if settings.weights == Some(true) { NoteType::Weight } else { NoteType::None }
    }

    /// Nothing is missed before a bit is cleared.
    fn errors(&self) -> &'static [ErrorClass] {
        if self.cleared == 0 { &[ErrorClass::FalsePositive] } else { Self::FACTS.errors }
    }

    fn stats(&self, items: u64) -> Stats {
        let (fill, places) = (self.array.bits.fill(), self.array.places);
        Stats {
            items,
            bits: self.array.bits.len() + self.users.as_ref().map_or(0, Counters::bits) + self.trouble_bytes() * 8,
            hashes: places.hashes(),
            fill: Some(fill),
            fpr: Some(fill.powi(places.hashes() as i32)),
            honest_fill: Some(places.honest_fill(items)),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        vec![
            Figure { name: "cleared bits", value: Setting::Count(self.cleared) },
            Figure { name: "lost members", value: Setting::Real(self.lost) },
            Figure { name: "troublesome keys", value: Setting::Count(self.trouble.len() as u64) },
        ]
    }

    /// What is missed is told as if the bits had been cleared at random, unless retouching knew better.
    fn expected(&self, items: u64) -> Rates {
        let places = self.array.places;
        let rate = retouched::rate_after(places.counters(), items, places.hashes(), self.cleared);
        let blind = retouched::lost_share(self.array.bits.count_ones() + self.cleared, self.cleared, places.hashes());
        let missed = if self.lost > 0.0 && items > 0 { (self.lost / items as f64).min(1.0) } else { blind };
        Rates { false_positive: Some(rate), false_negative: Some(missed), ..Rates::default() }
    }

    /// State: items, cleared bits, f64 lost members, u64 troublesome keys. Stores: the bits; the counters if there are any; the
    /// troublesome keys, if there are any, as bytes: of each h1, h2 and f64 weight.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        state.u64(items);
        state.u64(self.cleared);
        state.f64(self.lost);
        state.u64(self.trouble.len() as u64);
        encoder.bits(&self.array.bits);
        if let Some(users) = &self.users {
            encoder.counters(users);
        }
        if !self.trouble.is_empty() {
            let fields = self.trouble.iter().flat_map(|key| [key.digest.h1, key.digest.h2, key.weight.to_bits()]);
            encoder.bytes(fields.flat_map(u64::to_le_bytes).collect());
        }
    }

    fn decode(settings: &RetouchedSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (places, rules) = (places(settings)?, Rules::of(settings)?);
        let state = decoder.state();
        let [items, cleared] = [state.u64()?, state.u64()?];
        let (lost, listed) = (state.f64()?, state.u64()?);
        if !(lost >= 0.0 && lost.is_finite()) {
            return Err(Error::corrupt("lost members", "a number of at least 0", lost));
        }
        let array = BitArray { places, bits: decoder.bits(places.counters())? };
        let users = match CELLS.need(settings.cells)? {
            Memory::Bits => None,
            Memory::Counters => Some(decoder.counters(places.counters(), WIDTH)?),
        };
        let bytes = if listed > 0 { decoder.bytes()? } else { &[] };
        let trouble = bytes.chunks(ENTRY).map(Weighted::read).collect::<Option<Vec<_>>>();
        let trouble = trouble.filter(|trouble| trouble.len() as u64 == listed);
        let trouble =
            trouble.ok_or_else(|| Error::corrupt("troublesome keys", format!("{listed} of 24 bytes"), bytes.len()))?;
        Ok((RetouchedBits { array, users, trouble, cleared: cleared.min(ANY), lost, rules }, items))
    }

    fn far(&self) -> Option<&dyn Far> {
        Some(&self.array)
    }
}

/// Bytes of a troublesome key in a frame.
const ENTRY: usize = 24;

impl Test for RetouchedBits {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.array.all_set(key.digest)
    }
}

impl Put for RetouchedBits {
    type Note<'a> = Importance;
    type Outcome = Result<bool>;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, importance: Importance) -> Result<bool> {
        match importance.0 {
            Some(weight) if !self.rules.weights => {
                let expected = "a key without a note (weights=yes takes weights)".into();
                Err(Error::Item { expected, found: Note::Weight(weight).to_string() })
            }
            _ => Ok(self.add(key.digest, importance.weight())),
        }
    }
}

impl Assemble for RetouchedBits {
    /// Retouches the filter of the members for those of the known strangers that it accepts.
    fn assemble(
        asked: &RetouchedSettings,
        hashing: &Hashing,
        data: &Dataset<'_>,
    ) -> Result<(RetouchedSettings, Self, u64)> {
        let mut asked = asked.clone();
        if asked.items.is_none() && asked.bits.is_none() {
            asked.items = Some(data.items.len().max(1) as u64);
        }
        let settings = Self::resolve(&asked)?;
        let (mut filter, own) = (Self::empty(&settings, hashing)?, Self::hashing(&settings, hashing));
        let mut members = Vec::with_capacity(data.items.len());
        for item in data.items {
            let importance = Importance::from_note(item.note)?;
            let key = Hashed { digest: own.digest(item.key), bytes: &[] };
            filter.put(key, importance)?;
            members.push(Weighted { digest: key.digest, weight: importance.weight() });
        }
        let mut known: Vec<Digest> = members.iter().map(|member| member.digest).collect();
        known.sort_unstable();
        for item in data.absent {
            let digest = own.digest(item.key);
            let weight = Importance::from_note(item.note)?.weight();
            if filter.array.all_set(digest) && known.binary_search(&digest).is_err() {
                filter.trouble.push(Weighted { digest, weight });
            }
        }
        filter.retouch(Some(&members), hashing.seed())?;
        Ok((settings, filter, data.items.len() as u64))
    }
}

impl Code for RetouchedBits {
    fn entropy_bits(&self) -> f64 {
        let users = self.users.iter().flat_map(Counters::iter).map(|counter| counter as u32);
        let beside = if self.users.is_some() { counters_entropy(users) } else { 0.0 };
        self.array.bits.len() as f64 * special::entropy(self.array.bits.fill()) + beside
    }
}

impl RetouchedBits {
    fn trouble_bytes(&self) -> u64 {
        (self.trouble.len() * ENTRY) as u64
    }

    fn add(&mut self, digest: Digest, weight: f64) -> bool {
        if let Some(users) = &mut self.users {
            let amount = (weight.round() as u64).max(1);
            self.array.places.distinct(digest).iter().for_each(|&place| _ = CounterStore::add(users, place, amount));
        }
        self.array.set_all(digest)
    }

    /// Clears bits for the troublesome keys that are found, in their order. Without members, counters or nothing tell who uses a bit.
    fn retouch(&mut self, members: Option<&[Weighted]>, seed: u64) -> Result<Report> {
        let blind = matches!(self.rules.scheme, Scheme::Random | Scheme::MaxFp);
        if members.is_none() && self.users.is_none() && !blind && self.returned() > 0 {
            return Err(Error::Build {
                what: "nothing is known of the members that would lose a bit".into(),
                remedy: "build it with the known strangers (absent keys), with cells=counters, or with scheme=max-fp or random".into(),
            });
        }
        let mut counts = Counts::new(&self.array, members.unwrap_or_default(), &self.trouble);
        let mut random = SplitMix::new(mix(seed ^ mix(self.cleared)));
        let mut report = Report::default();
        for key in 0..self.trouble.len() {
            if !counts.is_found(key) {
                continue;
            }
            let users = self.users.as_ref().filter(|_| members.is_none());
            let place = counts.choose(key, self.rules.scheme, users, &mut random);
            let lost = users.map_or_else(|| counts.users(place), |users| users.get(place) as f64);
            let spent = report.lost + lost > self.rules.most_lost as f64 || report.cleared >= self.rules.most_cleared;
            if spent {
                report.stopped = true;
                break;
            }
            report.removed += counts.clear(place);
            report.cleared += 1;
            report.lost += lost;
            self.array.bits.clear(place);
            if let Some(users) = &mut self.users {
                users.set(place, 0);
            }
        }
        self.cleared = self.cleared.saturating_add(report.cleared).min(ANY);
        self.lost += report.lost;
        Ok(report)
    }

    fn returned(&self) -> u64 {
        self.trouble.iter().filter(|key| self.array.all_set(key.digest)).count() as u64
    }
}

impl Retouched {
    /// A filter of `bits` bits and `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::Retouched;
    /// assert_eq!(Retouched::with_size(1_000, 5)?.stats().bits, 1_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(RetouchedSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }

    /// Puts a key with its weight on the list of those that must not be found; [`retouch`](Self::retouch) sees to it.
    pub fn trouble<K: Key + ?Sized>(&mut self, key: &K, weight: f64) -> Result<()> {
        let weight = Importance::from_note(Note::Weight(weight))?.weight();
        let digest = key.digest(&self.hashing);
        self.mechanism.trouble.push(Weighted { digest, weight });
        Ok(())
    }

    /// Clears bits until no key of the list is found, by the scheme, within the budgets. What it knows of members is what the
    /// counters say. An error leaves the filter as it was.
    pub fn retouch(&mut self) -> Result<Report> {
        let seed = self.hashing.seed();
        self.mechanism.retouch(None, seed)
    }

    /// The same with all members at hand, and their weights.
    ///
    /// ```
    /// use bouquet::Retouched;
    /// let mut filter = Retouched::with_size(1_000, 3)?;
    /// filter.insert_batch(&(0..100u64).collect::<Vec<_>>())?;
    /// let troublesome: Vec<u64> = (1_000..2_000).filter(|key| filter.contains(key)).collect();
    /// for key in &troublesome {
    ///     filter.trouble(key, 1.0)?;
    /// }
    /// let report = filter.retouch_knowing((0..100u64).map(|key| (key, 1.0)))?;
    /// assert_eq!(report.removed, troublesome.len() as u64);
    /// assert_eq!(report.lost as usize, (0..100u64).filter(|key| !filter.contains(key)).count());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn retouch_knowing<K: Key>(&mut self, members: impl IntoIterator<Item = (K, f64)>) -> Result<Report> {
        let weighted = |(key, weight): (K, f64)| Weighted { digest: key.digest(&self.hashing), weight };
        let members: Vec<Weighted> = members.into_iter().map(weighted).collect();
        let seed = self.hashing.seed();
        self.mechanism.retouch(Some(&members), seed)
    }

    /// Clears this many of the ones, chosen at random, or all; says how many.
    ///
    /// ```
    /// use bouquet::Retouched;
    /// let mut filter = Retouched::with_size(1_000, 3)?;
    /// filter.insert_batch(&(0..100u64).collect::<Vec<_>>())?;
    /// let ones = filter.bits().count_ones();
    /// assert_eq!((filter.clear_random(50), filter.bits().count_ones()), (50, ones - 50));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear_random(&mut self, count: u64) -> u64 {
        let filter = &mut self.mechanism;
        let (mut left, mut wanted) = (filter.array.bits.count_ones(), count);
        wanted = wanted.min(left);
        let done = wanted;
        let mut random = SplitMix::new(mix(self.hashing.seed() ^ mix(filter.cleared)));
        // Each of the ones that are left is taken with the same chance.
        let ones: Vec<u64> = filter.array.bits.ones().collect();
        for place in ones {
            if random.below(left) < wanted {
                filter.array.bits.clear(place);
                if let Some(users) = &mut filter.users {
                    users.set(place, 0);
                }
                wanted -= 1;
            }
            left -= 1;
            if wanted == 0 {
                break;
            }
        }
        filter.cleared = filter.cleared.saturating_add(done).min(ANY);
        done
    }

    /// Keys of the list that are found: those that wait, and those that insertions brought back.
    ///
    /// ```
    /// use bouquet::Retouched;
    /// let mut filter = Retouched::with_size(1_000, 3)?;
    /// filter.trouble("rose", 1.0)?;
    /// assert_eq!(filter.returned(), 0);
    /// filter.insert("rose")?;
    /// assert_eq!(filter.returned(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn returned(&self) -> u64 {
        self.mechanism.returned()
    }

    /// Drops the list and the counters: what is left is the bits.
    ///
    /// ```
    /// use bouquet::{Retouched, RetouchedSettings, accuracy::retouched::Memory};
    /// let counting = RetouchedSettings { bits: Some(1_000), hashes: Some(3), cells: Some(Memory::Counters), ..Default::default() };
    /// let mut filter = Retouched::with(counting)?;
    /// filter.trouble("rose", 1.0)?;
    /// filter.seal();
    /// assert_eq!((filter.stats().bits, filter.settings().cells), (1_000, Some(Memory::Bits)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn seal(&mut self) {
        self.mechanism.users = None;
        self.mechanism.trouble = Vec::new();
        self.settings = self.settings();
    }

    /// The bits.
    #[must_use]
    pub fn bits(&self) -> &crate::store::BitStore {
        &self.mechanism.array.bits
    }
}

#[cfg(test)]
mod tests;

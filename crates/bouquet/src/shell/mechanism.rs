//! What a kind writes: a mechanism that works on digests. The shell makes a filter of it.

use crate::capability::{
    Answer, Dataset, Decoding, Estimate, Frequent, Item, Listing, Multiplicity, Note, NoteType, Overlap, Verdict,
};
use crate::codec::{Decoder, Encoder, Grain};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::{self, Key};
use crate::kind::{ErrorClass, Facts, Figure, Need, Plan, Rates, Setting, Special, Stats};

use super::batch;
use super::filter::Filter;
use super::settings::Settings;

/// A key as a mechanism gets it.
#[derive(Clone, Copy)]
pub struct Hashed<'a> {
    /// The key's digest under the filter's hashing.
    pub digest: Digest,
    /// The key's bytes; empty unless the mechanism [asks for them](Mechanism::NEEDS_BYTES).
    pub bytes: &'a [u8],
}

/// Hands a key to a mechanism.
#[inline(always)]
pub(crate) fn hashed<M: Mechanism, K: Key + ?Sized, R>(
    hashing: &Hashing,
    key: &K,
    f: impl FnOnce(Hashed<'_>) -> R,
) -> R {
    with_digest::<M, K, R>(key, key.digest(hashing), f)
}

/// The same when the digest is known already.
#[inline(always)]
pub(crate) fn with_digest<M: Mechanism, K: Key + ?Sized, R>(
    key: &K,
    digest: Digest,
    f: impl FnOnce(Hashed<'_>) -> R,
) -> R {
    if M::NEEDS_BYTES { key.with_bytes(|bytes| f(Hashed { digest, bytes })) } else { f(Hashed { digest, bytes: &[] }) }
}

/// The mechanism of a kind: its store, what its settings mean, its theory and its part of a frame.
///
/// Its operations are the traits [`Test`], [`Put`], [`Take`], [`Tally`] and so on; whatever it implements of them,
/// [`Filter`](super::Filter) has as methods, batch forms and verbs.
pub trait Mechanism: Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The facts of the kind. Its parameters are those of the settings.
    const FACTS: Facts;

    /// Whether frames are arithmetic-coded unless asked otherwise.
    const CODED: bool = false;

    /// Whether filters can be changed in their file: see [`Structure::IN_PLACE`](crate::kind::Structure::IN_PLACE).
    const IN_PLACE: bool = false;

    /// Which verbs need settings other than the defaults.
    const NEEDS: &'static [Need] = &[];

    /// The questions and actions that only this kind has.
    const SPECIALS: &'static [Special<Filter<Self>>] = &[];

    /// Whether operations look at the bytes of a key, not only at its digest.
    const NEEDS_BYTES: bool = false;

    /// Whether the mechanism counts its items itself, by [`items`](Self::items): the shell then keeps no count.
    const OWN_ITEMS: bool = false;

    /// Whether the size follows the data: the bits of a plan are an expectation.
    const SIZE_FOLLOWS_DATA: bool = false;

    /// Whether a filter is to be built of all its keys at once even where more can be inserted later.
    const BUILT_WHOLE: bool = false;

    /// Whether a filter is built better when keys are known that are no members and will be asked for.
    const KNOWS_ABSENT: bool = false;

    /// Whether keys are hashed. Where they are not, a secret vouches for a filter and hides nothing.
    const HASHES_KEYS: bool = true;

    /// Whether there is a form that many threads change at once, in [`shared`](crate::shared).
    const SHARED: bool = false;

    /// Stores up to this many bits are near: prefetching them does not pay. The default is the second-level cache's
    /// size, for mechanisms that read a place or two per key; those that read more, or find them later, take
    /// 2^25 bits, the size of the last-level cache.
    const NEAR: u64 = key::CACHED_BITS;

    /// The settings of the kind.
    type Settings: Settings;

    /// What was asked for, with what this hashing decides where nothing was said.
    fn suited(asked: Self::Settings, _hashing: &Hashing) -> Self::Settings {
        asked
    }

    /// The settings with every size filled in: of a filter of these settings nothing else need be known to make an
    /// equal one. Refuses settings that cannot be had. Resolving what is resolved changes nothing.
    fn resolve(asked: &Self::Settings) -> Result<Self::Settings>;

    /// What a filter of these resolved settings takes, without making it.
    fn plan(settings: &Self::Settings) -> Result<Plan>;

    /// The empty mechanism of resolved settings; a kind that is built once gives that of no keys. The hashing is for
    /// those that draw random numbers of their own from its seed.
    fn empty(settings: &Self::Settings, hashing: &Hashing) -> Result<Self>;

    /// The same without its keys.
    fn emptied(&self, settings: &Self::Settings, hashing: &Hashing) -> Result<Self> {
        Self::empty(settings, hashing)
    }

    /// Forgets its keys, in place if it can; an error leaves it as it was.
    fn clear(&mut self, settings: &Self::Settings, hashing: &Hashing) -> Result<()> {
        *self = self.emptied(settings, hashing)?;
        Ok(())
    }

    /// What separates the digests of a secret: filters of another kind or shape get unrelated ones.
    fn domain(settings: &Self::Settings) -> String;

    /// The hashing of a filter of these resolved settings that was asked to hash so.
    fn hashing(settings: &Self::Settings, asked: &Hashing) -> Hashing {
        asked.clone().bind(&Self::domain(settings))
    }

    /// The hashing of this very filter: that of its settings, unless a frame says more than they do.
    fn bound(&self, settings: &Self::Settings, asked: &Hashing) -> Hashing {
        Self::hashing(settings, asked)
    }

    /// The settings that make an equal empty filter now: `resolved` unless operations change them.
    fn settings(&self, resolved: &Self::Settings) -> Self::Settings {
        resolved.clone()
    }

    /// What a key carries with these settings.
    fn note(_settings: &Self::Settings) -> NoteType {
        Self::FACTS.note
    }

    /// What someone who makes a filter of these resolved settings should know beforehand, as a sentence without its end.
    fn advice(_settings: &Self::Settings) -> Option<String> {
        None
    }

    /// How answers can be wrong: as the kind declares, unless settings allow more.
    fn errors(&self) -> &'static [ErrorClass] {
        Self::FACTS.errors
    }

    /// Whether [`IN_PLACE`](Self::IN_PLACE) holds with these settings.
    fn is_in_place(&self) -> bool {
        Self::IN_PLACE
    }

    /// The number of items, given insertions less removals as the shell has counted them.
    fn items(&self, tally: u64) -> u64 {
        tally
    }

    /// Its present state.
    fn stats(&self, items: u64) -> Stats;

    /// What else there is to tell of its present state.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// What the cells of its stores are, store by store, where their types do not say it: see [`Grain`].
    fn grains(&self) -> Vec<Option<Grain>> {
        Vec::new()
    }

    /// The rates that theory expects after `items` distinct items.
    fn expected(&self, items: u64) -> Rates;

    /// Writes its state and stores.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>);

    /// Reads what [`encode`](Self::encode) wrote, trusting nothing; also the number of items.
    fn decode(settings: &Self::Settings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)>;

    /// The store whose places of a key are prefetched, if there is one and nothing more to it.
    #[inline(always)]
    fn far(&self) -> Option<&dyn Far> {
        None
    }

    /// The bits that prefetching can reach: 0 for a mechanism that does not prefetch.
    #[inline(always)]
    fn reach(&self) -> u64 {
        self.far().map_or(0, Far::reach)
    }

    /// Prefetches what belongs to a key.
    #[inline(always)]
    fn prefetch(&self, digest: Digest) {
        if let Some(store) = self.far() {
            store.prefetch(digest);
        }
    }

    /// Prefetches what a query of the key looks at first.
    #[inline(always)]
    fn prefetch_to_test(&self, digest: Digest) {
        self.prefetch(digest);
    }
}

/// A store that knows the places of a key.
pub trait Far {
    /// Its bits.
    fn reach(&self) -> u64;

    /// Prefetches the places of a digest.
    fn prefetch(&self, digest: Digest);
}

/// The largest number of items that a filter tells of. More can only be forged or added up; from here on, no number of
/// single insertions overflows.
pub(crate) const MOST_ITEMS: u64 = u64::MAX / 2;

/// The number of items after an insertion that counts for `weight`, at most [`MOST_ITEMS`] after one that counts for many.
#[inline(always)]
pub(crate) fn more(items: u64, weight: u64) -> u64 {
    if weight == 1 { items + 1 } else { items.saturating_add(weight).min(MOST_ITEMS) }
}

/// Whether an operation was done, and what it says of the key: `bool`, or `Result<bool>` for those that can refuse.
pub trait Outcome: Sized {
    /// What a batch gives: `u64`, or `Result<u64>`.
    type Many;

    /// What every outcome is to a trait object.
    fn checked(self) -> Result<bool>;

    /// Whether the operation was done.
    fn is_done(&self) -> bool;

    /// The sum of a batch, which stopped at this error if there is one.
    fn many(sum: u64, stopped: Option<Error>) -> Self::Many;
}

impl Outcome for bool {
    type Many = u64;

    #[inline(always)]
    fn checked(self) -> Result<bool> {
        Ok(self)
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        true
    }

    #[inline(always)]
    fn many(sum: u64, _: Option<Error>) -> u64 {
        sum
    }
}

impl Outcome for Result<bool> {
    type Many = Result<u64>;

    #[inline(always)]
    fn checked(self) -> Result<bool> {
        self
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.is_ok()
    }

    #[inline(always)]
    fn many(sum: u64, stopped: Option<Error>) -> Result<u64> {
        stopped.map_or(Ok(sum), Err)
    }
}

/// What a mechanism takes with a key.
pub trait FromNote<'a>: Copy {
    /// Reads the note of an item; refuses one of another sort.
    fn from_note(note: Note<'a>) -> Result<Self>;
}

#[cold]
fn refuse<T>(expected: &str, note: Note<'_>) -> Result<T> {
    Err(Error::Item { expected: expected.into(), found: note.to_string() })
}

/// Nothing.
impl<'a> FromNote<'a> for () {
    #[inline(always)]
    fn from_note(note: Note<'a>) -> Result<Self> {
        match note {
            Note::None => Ok(()),
            note => refuse("a key without a note", note),
        }
    }
}

/// A number as value.
impl<'a> FromNote<'a> for u64 {
    fn from_note(note: Note<'a>) -> Result<Self> {
        match note {
            Note::Integer(value) => Ok(value),
            note => refuse("a key with a whole number", note),
        }
    }
}

/// Bytes as value; a key without note has the empty value.
impl<'a> FromNote<'a> for &'a [u8] {
    fn from_note(note: Note<'a>) -> Result<Self> {
        Item { key: b"", note }.bytes()
    }
}

/// The number of the key's set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group(pub u64);

impl<'a> FromNote<'a> for Group {
    fn from_note(note: Note<'a>) -> Result<Self> {
        Item { key: b"", note }.group().map(Group)
    }
}

/// How often the key comes at once; a key without note comes once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(pub u64);

impl<'a> FromNote<'a> for Amount {
    #[inline(always)]
    fn from_note(note: Note<'a>) -> Result<Self> {
        Item { key: b"", note }.amount().map(Amount)
    }
}

/// What is known of the key, in one number or two; nothing of a key without note.
///
/// ```
/// use bouquet::{capability::Note, shell::{FromNote, Known}};
/// assert_eq!(Known::<2>::from_note(Note::Weights(20.0, 0.5))?, Known(Some([20.0, 0.5])));
/// assert_eq!(Known::<1>::from_note(Note::None)?, Known(None));
/// assert!(Known::<1>::from_note(Note::Weights(20.0, 0.5)).is_err() && Known::<1>::from_note(Note::Weight(f64::NAN)).is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known<const N: usize>(pub Option<[f64; N]>);

impl<const N: usize> Default for Known<N> {
    #[inline(always)]
    fn default() -> Self {
        Known(None)
    }
}

impl<const N: usize> Implied for Known<N> {}

impl<const N: usize> From<[f64; N]> for Known<N> {
    fn from(weights: [f64; N]) -> Self {
        Known(Some(weights))
    }
}

impl From<Known<1>> for Note<'_> {
    fn from(known: Known<1>) -> Self {
        known.0.map_or(Note::None, |[weight]| Note::Weight(weight))
    }
}

impl From<Known<2>> for Note<'_> {
    fn from(known: Known<2>) -> Self {
        known.0.map_or(Note::None, |[first, second]| Note::Weights(first, second))
    }
}

impl<'a> FromNote<'a> for Known<1> {
    fn from_note(note: Note<'a>) -> Result<Self> {
        match note {
            Note::None => Ok(Known(None)),
            Note::Weight(weight) if weight.is_finite() => Ok(Known(Some([weight]))),
            note => refuse("a key with a weight, or none", note),
        }
    }
}

impl<'a> FromNote<'a> for Known<2> {
    fn from_note(note: Note<'a>) -> Result<Self> {
        match note {
            Note::None => Ok(Known(None)),
            Note::Weights(first, second) if first.is_finite() && second.is_finite() => Ok(Known(Some([first, second]))),
            note => refuse("a key with two weights, or none", note),
        }
    }
}

/// A note that can be left out: `insert(&key)` gives its default.
///
/// ```
/// use bouquet::shell::Amount;
/// assert_eq!(Amount::default(), Amount(1), "a key comes once unless more is said");
/// ```
pub trait Implied: Default {}

impl Implied for () {}

impl Implied for Amount {}

impl Default for Amount {
    #[inline(always)]
    fn default() -> Self {
        Amount(1)
    }
}

/// Whatever the settings make of it.
impl<'a> FromNote<'a> for Note<'a> {
    fn from_note(note: Note<'a>) -> Result<Self> {
        Ok(note)
    }
}

/// Is the key in the set? Makes [`Contains`](crate::capability::Contains).
pub trait Test: Mechanism {
    /// Whether the key may be in the set.
    fn test(&self, key: Hashed<'_>) -> bool;

    /// The same before the key is hashed, for mechanisms with a faster way.
    #[inline(always)]
    fn test_key<K: Key + ?Sized>(&self, hashing: &Hashing, key: &K) -> bool {
        hashed::<Self, K, bool>(hashing, key, |key| self.test(key))
    }

    /// The answers for many keys.
    #[inline(always)]
    fn test_batch<K: Key>(&self, hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        batch::answer(self, hashing, keys, answers, |key| self.test(key));
    }
}

/// Put an item in. Makes [`Insert`](crate::capability::Insert).
pub trait Put: Mechanism {
    /// What comes with a key: `()`, a value, a [`Group`], an [`Amount`].
    type Note<'a>: FromNote<'a>;

    /// `bool`, or `Result<bool>` if an item can be refused; nothing has changed then.
    type Outcome: Outcome;

    /// Puts the item in and says whether it was certainly new.
    fn put(&mut self, key: Hashed<'_>, note: Self::Note<'_>) -> Self::Outcome;

    /// How many items it counts for.
    #[inline(always)]
    fn weight(_note: &Self::Note<'_>) -> u64 {
        1
    }

    /// The same before the key is hashed, for mechanisms with a faster way.
    #[inline(always)]
    fn put_key<K: Key + ?Sized>(&mut self, hashing: &Hashing, key: &K, note: Self::Note<'_>) -> Self::Outcome {
        hashed::<Self, K, Self::Outcome>(hashing, key, |key| self.put(key, note))
    }

    /// Puts many keys without notes in, adding those that went in to `items`, and says how many were certainly new. An
    /// error stops at the key that caused it.
    #[inline(always)]
    fn put_batch<K: Key>(
        &mut self,
        hashing: &Hashing,
        keys: &[K],
        items: &mut u64,
    ) -> <Self::Outcome as Outcome>::Many {
        batch::put::<Self, K, Self::Outcome>(self, hashing, keys, |mechanism, _, key| {
            let note = FromNote::from_note(Note::None)?;
            let fresh = mechanism.put(key, note).checked()?;
            *items = more(*items, Self::weight(&note));
            Ok(fresh)
        })
    }

    /// The same for items with their notes.
    fn put_items(&mut self, hashing: &Hashing, batch: &[Item<'_>], items: &mut u64) -> Result<u64> {
        batch::put::<Self, Item<'_>, Result<bool>>(self, hashing, batch, |mechanism, item, key| {
            let note = FromNote::from_note(item.note)?;
            let fresh = mechanism.put(key, note).checked()?;
            *items = more(*items, Self::weight(&note));
            Ok(fresh)
        })
    }
}

/// Take an item out. Makes [`Remove`](crate::capability::Remove).
pub trait Take: Mechanism {
    /// What comes with a key, as with [`Put`].
    type Note<'a>: FromNote<'a>;

    /// Takes one occurrence out, or says why not; nothing has changed then.
    fn take(&mut self, key: Hashed<'_>, note: Self::Note<'_>) -> Result<()>;

    /// How many items it counts for.
    #[inline(always)]
    fn taken(_note: &Self::Note<'_>) -> u64 {
        1
    }
}

/// How often did the key come? Makes [`Count`](crate::capability::Count).
pub trait Tally: Mechanism {
    /// The number of occurrences.
    fn tally(&self, key: Hashed<'_>) -> Multiplicity;
}

/// Which value belongs to the key? Makes [`Get`](crate::capability::Get).
pub trait Lookup: Mechanism {
    /// [`Answer`], or `Option<u64>` for numbers that are always known.
    type Answer: Into<Answer>;

    /// The key's value.
    fn lookup(&self, key: Hashed<'_>) -> Self::Answer;
}

/// Give a member another value. Makes [`Set`](crate::capability::Set).
pub trait Assign: Mechanism {
    /// What comes with a key.
    type Note<'a>: FromNote<'a>;

    /// Replaces the value of a member, or says why not; nothing has changed then.
    fn assign(&mut self, key: Hashed<'_>, note: Self::Note<'_>) -> Result<()>;
}

/// Which sets hold the key? Makes [`Classify`](crate::capability::Classify).
pub trait Sort: Mechanism {
    /// The numbers of the sets, ascending.
    fn sort(&self, key: Hashed<'_>) -> Vec<u64>;
}

/// Is the key in, out, to be looked up or foreign? Makes [`Judge`](crate::capability::Judge).
pub trait Decide: Mechanism {
    /// The verdict on the key.
    fn decide(&self, key: Hashed<'_>) -> Verdict;
}

/// What is in it? Makes [`List`](crate::capability::List).
pub trait Enumerate: Mechanism {
    /// Everything that can be decoded; the hashing is that of the filter.
    fn enumerate(&self, hashing: &Hashing) -> Listing;
}

/// How likely is the key a member? Makes [`Weigh`](crate::capability::Weigh).
pub trait Believe: Mechanism {
    /// The share of the cells in use, from which the rates follow: found once for many keys.
    fn in_use(&self) -> f64;

    /// The probability that the key is a member, if it was `prior` before; without one that of the mechanism's own model. This share of
    /// the cells is [in use](Self::in_use).
    fn believe(&self, in_use: f64, key: Hashed<'_>, prior: Option<f64>) -> Option<f64>;
}

/// Which keys came most often? Makes [`Top`](crate::capability::Top).
pub trait Rank: Mechanism {
    /// The keys that are kept by name, the most frequent first.
    fn rank(&self) -> Vec<Frequent>;
}

/// How often did each of these keys come? Makes [`Decode`](crate::capability::Decode).
pub trait Solve: Mechanism {
    /// The counts of these keys, which must be all that were inserted.
    fn solve(&self, hashing: &Hashing, keys: &[&[u8]]) -> Result<Decoding>;
}

/// Let time pass. Makes [`Advance`](crate::capability::Advance).
pub trait Age: Mechanism {
    /// Moves the clock forward.
    fn age(&mut self, ticks: u64);
}

/// Make room. Makes [`Grow`](crate::capability::Grow).
pub trait Expand: Mechanism {
    /// The number of keys that fit before it grows by itself.
    fn capacity(&self) -> u64;

    /// Makes room for more keys now.
    fn expand(&mut self) -> Result<()>;
}

/// The union with another mechanism of the same settings and hashing, which the shell has compared. Makes
/// [`Merge`](crate::capability::Merge) and `|`.
pub trait Unite: Mechanism {
    /// Takes in everything that `other` holds; an error leaves it as it was.
    fn unite(&mut self, other: &Self) -> Result<()>;

    /// Whether filters of these settings can be combined: they must be alike but for what they were made for, unless
    /// the mechanism knows better.
    fn alike(settings: &Self::Settings, other: &Self::Settings) -> Result<()> {
        settings.alike(other)
    }
}

/// The intersection with another mechanism of the same settings and hashing. Makes
/// [`Intersect`](crate::capability::Intersect) and `&`.
pub trait Meet: Mechanism {
    /// Keeps what `other` also holds.
    fn meet(&mut self, other: &Self) -> Result<()>;

    /// The number of items afterwards, when the smaller of the two had `least`.
    fn items_met(&self, least: u64) -> u64 {
        least
    }
}

/// The difference to another mechanism of the same settings and hashing. Makes
/// [`Subtract`](crate::capability::Subtract).
pub trait Deduct: Mechanism {
    /// Takes away everything that `other` holds; an error leaves it as it was.
    fn deduct(&mut self, other: &Self) -> Result<()>;
}

/// How many distinct keys? Makes [`Cardinality`](crate::capability::Cardinality).
pub trait Gauge: Mechanism {
    /// The number of distinct keys.
    fn gauge(&self) -> Estimate;

    /// How this set and another of the same settings and hashing overlap.
    fn compare(&self, other: &Self) -> Result<Overlap>;

    /// Whether filters of these settings can be compared, as with [`Unite::alike`].
    fn alike(settings: &Self::Settings, other: &Self::Settings) -> Result<()> {
        settings.alike(other)
    }
}

/// Coded for transmission. Makes [`Compress`](crate::capability::Compress).
pub trait Code: Mechanism {
    /// The bits that the coded stores need in theory.
    fn entropy_bits(&self) -> f64;
}

/// Built once from a data set. Makes [`BuildFrom`](crate::capability::BuildFrom).
pub trait Assemble: Mechanism {
    /// The mechanism of this data set, with its resolved settings and the number of items. `hashing` is the one that
    /// was asked for; [`Mechanism::hashing`] gives the filter's own.
    fn assemble(asked: &Self::Settings, hashing: &Hashing, data: &Dataset<'_>) -> Result<(Self::Settings, Self, u64)>;
}

/// Built once from keys that carry nothing. Makes `from_keys` and, with it, [`BuildFrom`](crate::capability::BuildFrom).
pub trait Gather: Mechanism {
    /// Parameters that say the size: with one of them the number of items may be left open.
    const SIZES: &'static [&'static str] = &["bits"];

    /// What was asked for, with the number of keys as items where neither these nor the size were said.
    ///
    /// ```
    /// use bouquet::{BestOfNSettings, membership::best_of_n::BestBits, shell::Gather};
    /// assert_eq!(BestBits::counted(&BestOfNSettings::default(), 7).items, Some(7));
    /// let sized = BestOfNSettings { bits: Some(64), ..Default::default() };
    /// assert_eq!(BestBits::counted(&sized, 7).items, None);
    /// ```
    fn counted(asked: &Self::Settings, keys: usize) -> Self::Settings {
        let mut settings = asked.clone();
        if !settings.gives("items") && !Self::SIZES.iter().any(|size| settings.gives(size)) {
            settings.put("items", Setting::Count(keys.max(1) as u64));
        }
        settings
    }

    /// The mechanism of these keys, with its resolved settings and the number of items, as with [`Assemble`]; what was asked for is
    /// [counted](Self::counted). Those of `absent` are known not to be members.
    fn gather<K: Key>(
        asked: &Self::Settings,
        hashing: &Hashing,
        keys: &[K],
        absent: &[K],
    ) -> Result<(Self::Settings, Self, u64)>;
}

impl<M: Gather> Assemble for M {
    fn assemble(asked: &Self::Settings, hashing: &Hashing, data: &Dataset<'_>) -> Result<(Self::Settings, Self, u64)> {
        let keys = data.items.iter().map(|item| item.bare()).collect::<Result<Vec<_>>>()?;
        let absent = data.absent.iter().map(|item| item.bare()).collect::<Result<Vec<_>>>()?;
        Self::gather(&Self::counted(asked, keys.len()), hashing, &keys, &absent)
    }
}

//! The engine of the family: bits at positions that depend on the key alone.

use crate::capability::{Estimate, Item, Overlap};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::kind::{Facts, Figure, Made, Plan, Rates, Special, Stats, Takes};
use crate::membership::{Access, BitSettings};
use crate::shell::{Code, Filter, Gauge, Hashed, Mechanism, Meet, Put, Test, Unite};
use crate::store::BitStore;
use crate::theory;

/// A filter of bits whose positions a [`Layout`](crate::membership::Layout) gives.
///
/// See the layouts for what it is in each case: [`Bloom`](crate::Bloom) is the standard one.
///
/// ```
/// use bouquet::membership::{BitFilter, blocked::BlockedKind, Blocks, standard::Flat};
/// let mut anywhere = BitFilter::<Flat>::with_size(4_096, 5)?;
/// let mut in_one_block = BitFilter::<Blocks<BlockedKind>>::with_size(4_096, 5)?;
/// assert!(anywhere.insert("rose") && in_one_block.insert("rose"));
/// assert!(anywhere.contains("rose") && in_one_block.contains("rose"));
/// assert_ne!(anywhere.bits(), in_one_block.bits());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type BitFilter<L> = Filter<Bits<L>>;

/// Bits, and the layout that gives a key's positions among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Bits<L> {
    pub(crate) layout: L,
    pub(crate) bits: BitStore,
}

impl<L: Access> Bits<L> {
    /// Folding: its keys are the same, its rate is that of the smaller size.
    const HALVE: Special<BitFilter<L>> = Special::ask(
        "halve",
        Takes::Nothing,
        "the filter of the same keys folded to half the size: as if it had been built so, with as many hashes",
        |filter, _| {
            let refused = || Error::Build {
                what: if filter.hashing.id().is_keyed() {
                    "the positions of a keyed filter depend on its size, so that it cannot be folded".into()
                } else {
                    format!("{} bits in this layout cannot be folded in two", filter.bits().len())
                },
                remedy: "build it from its keys at the size that you want".into(),
            };
            Ok(Made::reply(filter.halved()?.ok_or_else(refused)?))
        },
    );

    const POSITIONS: Special<BitFilter<L>> = Special::ask(
        "positions",
        Takes::Key,
        "the bits that the key sets, in the order of its probes",
        |filter, key| {
            let (key, layout, mut positions) = (key.key()?, filter.layout(), Vec::new());
            let visit = |position| {
                positions.push(position);
                true
            };
            if layout.needs_key() {
                layout.all_of_key(&filter.hashing, key, visit);
            } else {
                layout.all(key.digest(&filter.hashing), visit);
            }
            Ok(positions.into())
        },
    );

    #[inline(never)]
    fn test_called<K: Key + ?Sized>(&self, hashing: &Hashing, key: &K) -> bool {
        if self.layout.needs_key() {
            return key.with_bytes(|key| self.layout.all_of_key(hashing, key, |position| self.bits.get(position)));
        }
        self.layout.test(self.bits.words(), key.digest(hashing))
    }
}

impl<L: Access> Mechanism for Bits<L> {
    const FACTS: Facts = L::FACTS;
    const CODED: bool = L::CODED;
    // A coded store has no fixed size.
    const IN_PLACE: bool = !L::CODED;
    const SHARED: bool = true;

    const SPECIALS: &'static [Special<BitFilter<L>>] =
        if L::HALVES { &[Self::POSITIONS, Self::HALVE] } else { &[Self::POSITIONS] };

    type Settings = L::Settings;

    fn suited(asked: L::Settings, hashing: &Hashing) -> L::Settings {
        L::suited(asked, hashing)
    }

    fn resolve(asked: &L::Settings) -> Result<L::Settings> {
        Ok(L::plan(asked)?.settings(asked.clone()))
    }

    fn plan(settings: &L::Settings) -> Result<Plan> {
        let (layout, items) = (L::plan(settings)?, settings.sizes().items);
        let fpr = items.map(|items| layout.expected_rate(items));
        Ok(Plan { bits: layout.bits(), hashes: layout.hashes(), items, fpr })
    }

    fn empty(settings: &L::Settings, hashing: &Hashing) -> Result<Self> {
        L::check_hashing(settings, hashing)?;
        let layout = L::plan(settings)?;
        let bits = BitStore::zeroed(layout.bits())?;
        Ok(Bits { layout, bits })
    }

    fn domain(settings: &L::Settings) -> String {
        let sizes = settings.sizes();
        format!("{} {} {}", L::FACTS.id, sizes.bits.unwrap_or_default(), sizes.hashes.unwrap_or_default())
    }

    fn hashing(settings: &L::Settings, asked: &Hashing) -> Hashing {
        L::hashing(settings, asked).bind(&Self::domain(settings))
    }

    fn clear(&mut self, _: &L::Settings, _: &Hashing) -> Result<()> {
        self.bits.words_mut().fill(0);
        Ok(())
    }

    fn stats(&self, items: u64) -> Stats {
        let (mean, deviation) = self.layout.expected_fill(items);
        Stats {
            items,
            bits: self.bits.len(),
            hashes: self.layout.hashes(),
            fill: Some(self.bits.fill()),
            fpr: Some(self.layout.rate_now(&self.bits)),
            honest_fill: Some(mean + 8.0 * deviation),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        self.layout.figures(&self.bits)
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: Some(self.layout.expected_rate(items)), ..Rates::default() }
    }

    /// State: the items. Store: the bits.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.bits(&self.bits);
    }

    fn decode(settings: &L::Settings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        L::check_hashing(settings, decoder.config().hashing())?;
        let layout = L::plan(settings)?;
        let items = decoder.state().u64()?;
        let bits = decoder.bits(layout.bits())?;
        Ok((Bits { layout, bits }, items))
    }
}

impl<L: Access> Test for Bits<L> {
    #[inline(always)]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.layout.test(self.bits.words(), key.digest)
    }

    #[inline(always)]
    fn test_key<K: Key + ?Sized>(&self, hashing: &Hashing, key: &K) -> bool {
        // What a loop over keys asks once.
        if self.layout.is_inline() && hashing.is_folded() {
            return self.layout.test(self.bits.words(), key.digest(hashing));
        }
        self.test_called(hashing, key)
    }

    #[inline(always)]
    fn test_batch<K: Key>(&self, hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        if self.layout.needs_key() {
            keys.iter().zip(answers).for_each(|(key, answer)| *answer = self.test_called(hashing, key));
            return;
        }
        self.layout.test_batch(self.bits.words(), hashing, keys, answers);
    }
}

impl<L: Access> Put for Bits<L> {
    type Note<'a> = ();
    type Outcome = bool;

    #[inline(always)]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        self.layout.set(self.bits.words_mut(), key.digest)
    }

    #[inline(always)]
    fn put_key<K: Key + ?Sized>(&mut self, hashing: &Hashing, key: &K, (): ()) -> bool {
        let words = self.bits.words_in_place();
        // One condition that no key changes: a loop over keys asks it once and then only sets bits.
        if self.layout.is_set_inline(words) & hashing.is_folded() {
            return self.layout.set(words, key.digest(hashing));
        }
        // What is called gets the parts of the filter by value, and what is in place stays so: a loop over keys need not read again what
        // no call can have changed.
        if self.layout.needs_key() {
            return key
                .with_bytes(|key| set_by_key(self.layout.clone(), hashing.clone(), self.bits.words_or_copy(), key));
        }
        set_called(self.layout.clone(), self.bits.words_or_copy(), key.digest(hashing))
    }

    #[inline(always)]
    fn put_batch<K: Key>(&mut self, hashing: &Hashing, keys: &[K], items: &mut u64) -> u64 {
        *items = items.saturating_add(keys.len() as u64);
        if self.layout.needs_key() {
            return keys.iter().map(|key| u64::from(self.put_key(hashing, key, ()))).sum();
        }
        self.layout.set_batch(self.bits.words_mut(), hashing, keys)
    }

    fn put_items(&mut self, hashing: &Hashing, batch: &[Item<'_>], items: &mut u64) -> Result<u64> {
        let good = batch.iter().take_while(|item| item.bare().is_ok()).count();
        let fresh = self.put_batch(hashing, &batch[..good], items);
        // The first item that is not bare is the error; those before it are in.
        batch.get(good).map_or(Ok(fresh), |item| item.bare().map(|_| fresh))
    }
}

/// [`Access::set`] where that is not inlined.
#[cold]
#[inline(never)]
fn set_called<L: Access>(layout: L, words: &mut [u64], digest: Digest) -> bool {
    layout.set(words, digest)
}

/// The same where the layout [needs the key](crate::membership::Layout::needs_key).
#[cold]
#[inline(never)]
fn set_by_key<L: Access>(layout: L, hashing: Hashing, words: &mut [u64], key: &[u8]) -> bool {
    let mut fresh = false;
    layout.all_of_key(&hashing, key, |position| {
        if let Some(word) = words.get_mut((position / 64) as usize) {
            fresh |= *word >> (position % 64) & 1 == 0;
            *word |= 1 << (position % 64);
        }
        true
    });
    fresh
}

/// Bit for bit the filter of the union.
impl<L: Access> Unite for Bits<L> {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.bits.or(&other.bits)
    }
}

/// The result has no more bits than either and every common key, but perhaps more than the filter of the common keys alone.
impl<L: Access> Meet for Bits<L> {
    fn meet(&mut self, other: &Self) -> Result<()> {
        self.bits.and(&other.bits)
    }
}

impl<L: Access> Gauge for Bits<L> {
    fn gauge(&self) -> Estimate {
        self.layout.cardinality(&self.bits)
    }

    fn compare(&self, other: &Self) -> Result<Overlap> {
        let mut both = self.bits.clone();
        both.or(&other.bits)?;
        let [a, b, union] = [&self.bits, &other.bits, &both].map(|bits| self.layout.cardinality(bits));
        Ok(Overlap::of(a, b, union, |keys| self.layout.cardinality_error(keys)))
    }
}

impl<L: Access> Code for Bits<L> {
    fn entropy_bits(&self) -> f64 {
        self.bits.len() as f64 * theory::special::entropy(self.bits.fill())
    }
}

impl<L: Access> BitFilter<L> {
    /// A filter of `bits` bits and `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// assert_eq!(Bloom::with_size(1 << 20, 5)?.bits().len(), 1 << 20);
    /// assert!(Bloom::with_size(0, 5).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(L::Settings::default().sized(bits, hashes))
    }

    /// A filter of these settings with this content, whose size must be theirs.
    pub(crate) fn with_bits(settings: L::Settings, bits: BitStore) -> Result<Self> {
        let layout = L::plan(&settings)?;
        same("bits", layout.bits(), bits.len())?;
        Ok(Self::of_layout(layout, settings, &Hashing::default(), bits, 0))
    }

    /// A filter of this layout and content, which must be of its size; `asked` says what it was made for.
    pub(crate) fn of_layout(layout: L, asked: L::Settings, hashing: &Hashing, bits: BitStore, items: u64) -> Self {
        let settings = layout.settings(asked);
        Self::of_parts(Bits { layout, bits }, settings, hashing, items)
    }

    /// The store alone.
    pub(crate) fn into_bits(self) -> BitStore {
        self.mechanism.bits
    }

    /// The layout.
    ///
    /// ```
    /// use bouquet::{Blocked, membership::Layout};
    /// let filter = Blocked::with_rate(100_000, 0.01)?;
    /// let rate = filter.layout().expected_rate(100_000);
    /// assert!((0.009..=0.01).contains(&rate), "{rate}");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn layout(&self) -> &L {
        &self.mechanism.layout
    }

    /// The store.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_size(1_000, 1)?;
    /// filter.insert("rose");
    /// assert_eq!((filter.bits().len(), filter.bits().count_ones()), (1_000, 1));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.mechanism.bits
    }

    /// Positions per key.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// assert_eq!(Bloom::with_rate(1_000, 0.01)?.hashes(), 7);
    /// assert_eq!(Bloom::with_rate(1_000, 0.001)?.hashes(), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.layout().hashes()
    }

    /// The share of ones.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(10_000, 0.01)?;
    /// filter.insert_batch(&(0..10_000u64).collect::<Vec<_>>());
    /// assert!((filter.fill() - 0.5).abs() < 0.03, "full as planned, about half of the bits are one");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.bits().fill()
    }

    /// The false-positive rate of this very content.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(10_000, 0.01)?;
    /// assert_eq!(filter.rate_now(), 0.0);
    /// filter.insert_batch(&(0..10_000u64).collect::<Vec<_>>());
    /// assert!((filter.rate_now() / 0.01 - 1.0).abs() < 0.1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rate_now(&self) -> f64 {
        self.layout().rate_now(self.bits())
    }

    /// Whether the rate has passed twice the one that the filter was made for. A filter that was made by size without
    /// a rate is never saturated.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&(0..1_000u64).collect::<Vec<_>>());
    /// assert!(!filter.saturated());
    /// filter.insert_batch(&(1_000..2_000u64).collect::<Vec<_>>());
    /// assert!(filter.saturated());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn saturated(&self) -> bool {
        self.settings.sizes().fpr.is_some_and(|fpr| self.rate_now() > 2.0 * fpr)
    }

    /// The filter of half the size; its keys are the same, its rate is that of the smaller size. `None` when the size
    /// (of a slice) is odd, the scheme cannot be folded or the filter is keyed.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_size(1 << 10, 4)?;
    /// filter.insert("rose");
    /// let half = filter.halved()?.expect("1,024 is even");
    /// assert!(half.bits().len() == 512 && half.contains("rose"));
    /// assert!(Bloom::with_size(999, 4)?.halved()?.is_none());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn halved(&self) -> Result<Option<Self>> {
        let Some(layout) = self.layout().halved() else { return Ok(None) };
        // The domain of a keyed filter depends on its size, so folding cannot serve one.
        if self.hashing.id().is_keyed() {
            return Ok(None);
        }
        let bits = self.bits().folded(layout.bits(), |position| self.layout().fold(position))?;
        Ok(Some(Self::of_layout(layout, self.settings.clone(), &self.hashing, bits, self.items)))
    }
}

#[cfg(test)]
mod tests;

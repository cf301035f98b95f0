//! Plain filters that are asked together: the parts of a composite whose answers are read by a truth table.
//!
//! | kind | filters | yes |
//! |---|---|---|
//! | `cross-checking` | of the set, and of each of its parts | the first, and one of the others |
//! | `complement` | of the set, and of the rest of the universe | the first, and not the second; both: look it up |
//! | `trie-checked` | of all nodes, asked for a key and for its ancestors | all of them |
//!
//! A witness has positions of its own: its number is mixed into the key's digest. With the same positions a second filter would
//! repeat the errors of the first instead of contradicting them.

use crate::codec::{Decoder, Encoder};
use crate::coder::counters_entropy;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::parts::bit_array::BitArray;
use crate::parts::counter_array::{CounterArray, Places};
use crate::shell::{Far, choices};
use crate::store::Counters;
use crate::theory::special;

/// What a filter is made of.
///
/// ```
/// use bouquet::{Complement, ComplementSettings, accuracy::complement::Component, capability::Verdict};
/// let counters = ComplementSettings { items: Some(100), cells: Some(Component::Counters), ..Default::default() };
/// let mut filter = Complement::with(counters)?;
/// filter.exclude("rose");
/// filter.admit("rose")?;
/// assert_eq!(filter.judge("rose"), Verdict::In);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// Bits, which give nothing back.
    Bits,
    /// Counters of 4 bits: keys can be removed. One at its end stays there.
    Counters,
}

choices!(Component { Bits = "bits", Counters = "counters" });

/// Bits of a counter.
const WIDTH: u32 = 4;

/// One filter of a composite, of bits or of counters that give keys back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Witness {
    /// Mixed into digests.
    number: u64,
    /// Insertions less removals.
    pub(crate) items: u64,
    cells: Cells,
}

#[derive(Clone, Debug, PartialEq)]
enum Cells {
    Bits(BitArray),
    Counters(CounterArray<Counters>),
}

impl Witness {
    pub(crate) fn empty(number: u64, places: Places, counters: bool) -> Result<Self> {
        let cells = if counters {
            Cells::Counters(CounterArray { places, store: Counters::zeroed(places.counters(), WIDTH)? })
        } else {
            Cells::Bits(BitArray::zeroed(places)?)
        };
        Ok(Witness { number, items: 0, cells })
    }

    /// The bits of such a filter.
    pub(crate) fn bits_of(places: &Places, counters: bool) -> Result<u64> {
        if counters { Counters::bits_needed(places.counters(), WIDTH) } else { Ok(places.counters()) }
    }

    fn places(&self) -> &Places {
        match &self.cells {
            Cells::Bits(array) => &array.places,
            Cells::Counters(array) => &array.places,
        }
    }

    pub(crate) fn hashes(&self) -> u32 {
        self.places().hashes()
    }

    /// Whether the key may be among those of this filter.
    #[inline]
    pub(crate) fn accepts(&self, digest: Digest) -> bool {
        let digest = digest.derive(self.number);
        match &self.cells {
            Cells::Bits(array) => array.all_set(digest),
            Cells::Counters(array) => array.places.all_nonzero(&array.store, digest),
        }
    }

    /// Puts a key in and says whether it was certainly new.
    #[inline]
    pub(crate) fn put(&mut self, digest: Digest) -> bool {
        self.items = self.items.saturating_add(1);
        let digest = digest.derive(self.number);
        match &mut self.cells {
            Cells::Bits(array) => array.set_all(digest),
            Cells::Counters(array) => array.places.increment(&mut array.store, digest).0,
        }
    }

    /// Takes a key out; a counter at its end stays there. Bits do not give keys back.
    pub(crate) fn take(&mut self, digest: Digest) -> Result<()> {
        if !self.accepts(digest) {
            return Err(Error::NotPresent);
        }
        let Cells::Counters(array) = &mut self.cells else {
            return Err(Error::parameter("cells", "counters, to take keys out", "bits"));
        };
        let frozen = array.store.max();
        array.sub_from_all(digest.derive(self.number), 1, frozen);
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// Takes in what the other holds.
    pub(crate) fn unite(&mut self, other: &Self) -> Result<()> {
        match (&mut self.cells, &other.cells) {
            (Cells::Bits(own), Cells::Bits(other)) => own.bits.or(&other.bits)?,
            (Cells::Counters(own), Cells::Counters(other)) => {
                let most = own.store.max();
                own.store.combine(&other.store, |a, b| a.saturating_add(b).min(most))?;
            }
            _ => return Err(Error::parameter("cells", "the same in both filters", "bits and counters")),
        }
        self.items = self.items.saturating_add(other.items);
        Ok(())
    }

    pub(crate) fn bits(&self) -> u64 {
        match &self.cells {
            Cells::Bits(array) => array.bits.len(),
            Cells::Counters(array) => array.store.bits(),
        }
    }

    /// Bits that are one, or counters that are not zero.
    pub(crate) fn ones(&self) -> u64 {
        match &self.cells {
            Cells::Bits(array) => array.bits.count_ones(),
            Cells::Counters(array) => array.store.count_nonzero(),
        }
    }

    /// The number of bits or counters.
    pub(crate) fn cells(&self) -> u64 {
        self.places().counters()
    }

    /// The share of them in use.
    pub(crate) fn fill(&self) -> f64 {
        self.ones() as f64 / self.cells() as f64
    }

    /// The largest share that this many keys account for.
    pub(crate) fn honest_fill(&self, items: u64) -> f64 {
        self.places().honest_fill(items)
    }

    /// The rate of this very content.
    pub(crate) fn rate_now(&self) -> f64 {
        self.places().rate_of(&[self.ones()])
    }

    /// The rate that is expected with this many keys.
    pub(crate) fn expected_rate(&self, items: u64) -> f64 {
        self.places().expected_rate(items)
    }

    pub(crate) fn entropy_bits(&self) -> f64 {
        match &self.cells {
            Cells::Bits(array) => array.bits.len() as f64 * special::entropy(array.bits.fill()),
            Cells::Counters(array) => counters_entropy(array.store.iter().map(|counter| counter as u32)),
        }
    }

    /// State: the items. Store: the bits or the counters.
    pub(crate) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        match &self.cells {
            Cells::Bits(array) => encoder.bits(&array.bits),
            Cells::Counters(array) => encoder.counters(&array.store),
        }
    }

    pub(crate) fn decode(number: u64, places: Places, counters: bool, decoder: &mut Decoder<'_>) -> Result<Self> {
        let items = decoder.state().u64()?;
        let cells = if counters {
            Cells::Counters(CounterArray { places, store: decoder.counters(places.counters(), WIDTH)? })
        } else {
            Cells::Bits(BitArray { places, bits: decoder.bits(places.counters())? })
        };
        Ok(Witness { number, items, cells })
    }

    #[inline]
    pub(crate) fn prefetch(&self, digest: Digest) {
        let digest = digest.derive(self.number);
        match &self.cells {
            Cells::Bits(array) => array.prefetch(digest),
            Cells::Counters(array) => array.prefetch(digest),
        }
    }
}

/// The share of cells in use of several filters, and the largest that their items account for.
pub(crate) fn fill<'a>(witnesses: impl Iterator<Item = &'a Witness>) -> (f64, f64) {
    let (mut cells, mut ones, mut honest) = (0.0, 0.0, 0.0);
    for witness in witnesses {
        let own = witness.cells() as f64;
        cells += own;
        ones += witness.ones() as f64;
        honest += own * witness.honest_fill(witness.items);
    }
    (ones / cells, honest / cells)
}

//! Who uses which bit, while bits are being cleared.

use std::collections::HashMap;

use super::{BitArray, Scheme};
use crate::hash::{Digest, Positions, SplitMix};
use crate::store::Counters;

/// A key by its digest, with how much it matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weighted {
    pub(super) digest: Digest,
    pub(super) weight: f64,
}

impl Weighted {
    /// Reads h1, h2 and the weight.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let field = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let weight = f64::from_bits(field(16)?);
        let fits = weight >= 0.0 && weight.is_finite();
        fits.then_some(Weighted { digest: Digest { h1: field(0)?, h2: field(8)? }, weight })
    }
}

/// A bit that troublesome keys use: VA and VB, and the inverted lists.
#[derive(Default)]
struct Spot {
    users: f64,
    trouble: f64,
    of_members: Vec<u32>,
    of_trouble: Vec<u32>,
}

/// Keys that are found, with their bits.
struct Found {
    keys: Vec<(Positions, f64)>,
    is_found: Vec<bool>,
}

impl Found {
    fn of(array: &BitArray, keys: &[Weighted]) -> Self {
        let keys_and_places = keys.iter().map(|key| (array.places.distinct(key.digest), key.weight)).collect();
        Found { keys: keys_and_places, is_found: keys.iter().map(|key| array.all_set(key.digest)).collect() }
    }
}

/// The counts of all bits that troublesome keys use.
pub(super) struct Counts {
    spots: HashMap<u64, Spot>,
    members: Found,
    trouble: Found,
}

impl Counts {
    /// Those of keys that are found now.
    pub(super) fn new(array: &BitArray, members: &[Weighted], trouble: &[Weighted]) -> Self {
        let (members, trouble) = (Found::of(array, members), Found::of(array, trouble));
        let mut spots: HashMap<u64, Spot> = HashMap::new();
        for (number, (places, weight)) in (0..).zip(&trouble.keys) {
            if trouble.is_found[number as usize] {
                for &place in places.iter() {
                    let spot = spots.entry(place).or_default();
                    spot.trouble += weight;
                    spot.of_trouble.push(number);
                }
            }
        }
        for (number, (places, weight)) in (0..).zip(&members.keys) {
            if members.is_found[number as usize] {
                for place in places.iter() {
                    if let Some(spot) = spots.get_mut(place) {
                        spot.users += weight;
                        spot.of_members.push(number);
                    }
                }
            }
        }
        Counts { spots, members, trouble }
    }

    /// Whether this troublesome key is still found.
    pub(super) fn is_found(&self, key: usize) -> bool {
        self.trouble.is_found[key]
    }

    /// VA: the members, or their weight, that use a bit.
    pub(super) fn users(&self, place: u64) -> f64 {
        self.spots.get(&place).map_or(0.0, |spot| spot.users)
    }

    /// The bit of this key that the scheme clears; of equals the one with the lowest index. `counters` say who uses a bit where the members are not
    /// at hand.
    pub(super) fn choose(&self, key: usize, scheme: Scheme, counters: Option<&Counters>, random: &mut SplitMix) -> u64 {
        let (places, _) = &self.trouble.keys[key];
        if scheme == Scheme::Random {
            return places[random.below(places.len() as u64) as usize];
        }
        let cost = |place: u64| {
            let users = counters.map_or_else(|| self.users(place), |counters| counters.get(place) as f64);
            let trouble = self.spots.get(&place).map_or(0.0, |spot| spot.trouble);
            match scheme {
                Scheme::MinFn => users,
                Scheme::MaxFp => -trouble,
                _ if trouble > 0.0 => users / trouble,
                _ => f64::INFINITY,
            }
        };
        let mut best = (f64::INFINITY, places[0]);
        for &place in places.iter() {
            // Places ascend, so that the first of equals has the lowest index.
            let cost = cost(place);
            if cost < best.0 {
                best = (cost, place);
            }
        }
        best.1
    }

    /// Clears a bit: whoever uses it is found no longer and leaves all counts. Says how many troublesome keys that were.
    pub(super) fn clear(&mut self, place: u64) -> u64 {
        let Some(spot) = self.spots.get_mut(&place) else { return 0 };
        let (members, trouble) = (std::mem::take(&mut spot.of_members), std::mem::take(&mut spot.of_trouble));
        for number in members {
            if std::mem::take(&mut self.members.is_found[number as usize]) {
                let (places, weight) = &self.members.keys[number as usize];
                for place in places.iter() {
                    if let Some(spot) = self.spots.get_mut(place) {
                        spot.users -= weight;
                    }
                }
            }
        }
        let mut removed = 0;
        for number in trouble {
            if std::mem::take(&mut self.trouble.is_found[number as usize]) {
                removed += 1;
                let (places, weight) = &self.trouble.keys[number as usize];
                for place in places.iter() {
                    if let Some(spot) = self.spots.get_mut(place) {
                        spot.trouble -= weight;
                    }
                }
            }
        }
        removed
    }
}

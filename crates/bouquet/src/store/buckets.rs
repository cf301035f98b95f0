//! Buckets of a few slots, packed: the table under filters that keep fingerprints.
//!
//! A slot holds an entry of up to 64 bits, of which the low ones are its *key* (the fingerprint) and the others what
//! belongs to it (a counter). The entry 0 is the empty slot. The order of the entries of a bucket means nothing, so every
//! operation goes by entries, and a bucket may be stored sorted.
//!
//! ```text
//! plain    | key counter | key counter | key counter | key counter |    slots x width bits
//! sorted   | 12 bits for four sorted nibbles | rest | rest | rest | rest |    4 x width - 4 bits
//! ```
//!
//! A plain bucket is compared as a whole: the slots that fit in a word are looked at with a handful of instructions,
//! without a loop over them. A sorted one has the low four bits of its four entries in one code: there are 3876 sorted
//! quadruples of sixteen values, which 12 bits number instead of 16.

use crate::error::{Error, Result};
use crate::simd::{ones::Ones, prefetch};
use crate::store::lanes::Lanes;
use crate::store::{BitStore, Grain, field_max, invert_window, read_field, read_window, write_field};

/// The most slots of a bucket.
pub(crate) const MAX_SLOTS: u32 = 8;

/// What all buckets of a table have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    slots: u32,
    width: u32,
    sorted: bool,
    /// The bits of a bucket. Its slots are compared in groups, whose number this is, as lanes of a word.
    bucket_bits: u32,
    groups: u32,
    lanes: Lanes,
    /// The bits of the keys.
    keys: u64,
}

impl Shape {
    /// Buckets of this many slots with entries of `width` bits, the low `key` of which are the key.
    pub fn new(slots: u32, width: u32, key: u32, sorted: bool) -> Result<Self> {
        if !(1..=MAX_SLOTS).contains(&slots) {
            return Err(Error::parameter("slots", format!("1 to {MAX_SLOTS}"), slots));
        }
        if !(1..=64).contains(&width) || !(1..=width).contains(&key) {
            return Err(Error::parameter("width", "1 to 64 bits, the key's among them", width));
        }
        if sorted && (slots != 4 || width <= NIBBLE) {
            return Err(Error::parameter("semisort", "no unless buckets have 4 slots of over 4 bits", "yes"));
        }
        let mut count = slots;
        while count * width > 64 || !slots.is_multiple_of(count) {
            count -= 1;
        }
        let lanes = Lanes::new(count, width);
        Ok(Shape {
            slots,
            width,
            sorted,
            bucket_bits: slots * width - if sorted { NIBBLE } else { 0 },
            groups: slots / count,
            lanes,
            keys: lanes.spread(field_max(key)),
        })
    }

    /// The bits of one bucket.
    #[inline]
    pub(crate) fn bucket_bits(&self) -> u64 {
        self.bucket_bits.into()
    }

    pub(crate) fn slots(&self) -> u32 {
        self.slots
    }

    /// The bits of this many buckets.
    pub(crate) fn bits(&self, buckets: u64) -> Result<u64> {
        buckets.checked_mul(self.bucket_bits()).ok_or_else(|| Error::TooLarge {
            what: "the table".into(),
            bytes: u128::from(buckets) * u128::from(self.bucket_bits()) / 8,
        })
    }

    /// The highest bit of every lane in use whose key is this one.
    #[inline]
    fn lanes_with(&self, lanes: u64, key: u64) -> u64 {
        self.lanes.zero((lanes ^ self.lanes.spread(key)) & self.keys) & !self.lanes.zero(lanes)
    }
}

/// A table of buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buckets {
    bits: BitStore,
    buckets: u64,
    shape: Shape,
    ones: Ones,
}

impl Buckets {
    /// Empty buckets.
    pub fn zeroed(buckets: u64, shape: Shape) -> Result<Self> {
        // Zeros are empty slots in a sorted bucket as well: four nibbles 0 have the code 0.
        Ok(Buckets { bits: BitStore::zeroed(shape.bits(buckets)?)?, buckets, shape, ones: Ones::detect() })
    }

    /// The buckets in these bits, which must be as many as the shape takes.
    pub(crate) fn from_bits(bits: BitStore, buckets: u64, shape: Shape) -> Option<Self> {
        let is_whole = shape.bits(buckets).ok()? == bits.len();
        is_whole.then(|| Buckets { bits, buckets, shape, ones: Ones::detect() })
    }

    pub(crate) fn bits(&self) -> &BitStore {
        &self.bits
    }

    pub(crate) fn len(&self) -> u64 {
        self.buckets
    }

    /// What its cells are: entries, or whole buckets where these are coded.
    pub(crate) fn grain(&self) -> Grain {
        let (bits, slots) = (self.shape.bucket_bits() as u32, self.shape.slots());
        match bits.is_multiple_of(slots) && !self.shape.sorted {
            true => Grain { name: "fingerprints", width: bits / slots, group: slots },
            false => Grain { name: "buckets of fingerprints", width: bits, group: 1 },
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// Prefetches a bucket.
    #[inline]
    pub(crate) fn prefetch(&self, bucket: u64) {
        prefetch(self.bits.words(), (bucket * self.shape.bucket_bits() / 64) as usize);
    }

    /// The places of the groups of lanes of a bucket. Most have one, which takes no loop.
    #[inline]
    fn groups(&self, bucket: u64) -> impl Iterator<Item = u64> + use<> {
        let Shape { groups, lanes, .. } = self.shape;
        let begin = bucket * self.shape.bucket_bits();
        std::iter::once(begin).chain((1..groups).map(move |group| begin + u64::from(group * lanes.bits())))
    }

    /// The lanes at a place.
    #[inline]
    fn lanes(&self, place: u64) -> u64 {
        self.shape.lanes.of(read_window(self.bits.words(), place))
    }

    /// An entry of the bucket with this key, if there is one.
    #[inline]
    pub fn find(&self, bucket: u64, key: u64) -> Option<u64> {
        if self.shape.sorted {
            let max = self.shape.keys & field_max(self.shape.width);
            return self.unpacked(bucket).into_iter().find(|&entry| entry != 0 && entry & max == key);
        }
        self.groups(bucket).find_map(|place| {
            let lanes = self.lanes(place);
            let found = self.shape.lanes_with(lanes, key);
            (found != 0).then(|| lanes >> self.shape.lanes.begin(found) & field_max(self.shape.width))
        })
    }

    /// Whether the bucket has an entry with this key.
    #[inline]
    pub(crate) fn contains(&self, bucket: u64, key: u64) -> bool {
        if self.shape.sorted {
            return self.find(bucket, key).is_some();
        }
        self.groups(bucket).fold(0, |found, place| found | self.shape.lanes_with(self.lanes(place), key)) != 0
    }

    /// Whether a slot is empty.
    #[inline]
    pub(crate) fn has_room(&self, bucket: u64) -> bool {
        if self.shape.sorted {
            return self.unpacked(bucket).contains(&0);
        }
        self.groups(bucket).any(|place| self.shape.lanes.zero(self.lanes(place)) != 0)
    }

    /// The number of empty slots.
    #[inline]
    pub(crate) fn free(&self, bucket: u64) -> u32 {
        if self.shape.sorted {
            return self.unpacked(bucket).iter().filter(|&&entry| entry == 0).count() as u32;
        }
        self.groups(bucket).map(|place| self.ones.count(self.shape.lanes.zero(self.lanes(place)))).sum()
    }

    /// Whether the bucket has an entry with this key, and the number of empty slots, for the price of one of them.
    #[inline]
    pub(crate) fn survey(&self, bucket: u64, key: u64) -> (bool, u32) {
        if self.shape.sorted {
            return (self.contains(bucket, key), self.free(bucket));
        }
        let (found, free) = self.groups(bucket).fold((0, 0), |(found, free), place| {
            let lanes = self.lanes(place);
            let empty = self.ones.count(self.shape.lanes.zero(lanes));
            (found | self.shape.lanes_with(lanes, key), free + empty)
        });
        (found != 0, free)
    }

    /// Puts `new` in the place of one entry that equals `old`, and says whether there was one. The entry 0 is an empty
    /// slot, so that this also inserts and removes.
    #[inline]
    pub fn replace(&mut self, bucket: u64, old: u64, new: u64) -> bool {
        if self.shape.sorted {
            let mut entries = self.unpacked(bucket);
            let Some(slot) = entries.iter().position(|&entry| entry == old) else { return false };
            entries[slot] = new;
            self.pack(bucket, entries);
            return true;
        }
        let found = self.groups(bucket).find_map(|place| {
            let equal = self.shape.lanes.zero(self.lanes(place) ^ self.shape.lanes.spread(old));
            (equal != 0).then(|| place + u64::from(self.shape.lanes.begin(equal)))
        });
        let Some(place) = found else { return false };
        invert_window(self.bits.words_mut(), place, old ^ new);
        true
    }

    /// Puts `new` in a slot, which must be below the number of slots, and gives back what was there.
    #[inline]
    pub(crate) fn swap(&mut self, bucket: u64, slot: u32, new: u64) -> u64 {
        let old = self.get(bucket, slot);
        if self.shape.sorted {
            // Equal entries are one as good as the other.
            self.replace(bucket, old, new);
        } else {
            let place = bucket * self.shape.bucket_bits() + u64::from(slot * self.shape.width);
            invert_window(self.bits.words_mut(), place, old ^ new);
        }
        old
    }

    /// The entry of a slot, which must be below the number of slots.
    #[inline]
    pub(crate) fn get(&self, bucket: u64, slot: u32) -> u64 {
        if self.shape.sorted {
            return self.unpacked(bucket)[slot as usize % 4];
        }
        let place = bucket * self.shape.bucket_bits() + u64::from(slot * self.shape.width);
        read_window(self.bits.words(), place) & field_max(self.shape.width)
    }

    /// The entries in use.
    pub(crate) fn entries(&self, bucket: u64) -> impl Iterator<Item = u64> + '_ {
        (0..self.shape.slots).map(move |slot| self.get(bucket, slot)).filter(|&entry| entry != 0)
    }

    /// Where a sorted bucket and the rest of its slot begin.
    fn sorted_places(&self, bucket: u64) -> (u64, impl Fn(u32) -> u64 + use<>) {
        let (begin, rest) = (bucket * self.shape.bucket_bits(), self.shape.width - NIBBLE);
        (begin, move |slot: u32| begin + u64::from(CODE_BITS + slot * rest))
    }

    /// The entries of a sorted bucket.
    #[inline]
    fn unpacked(&self, bucket: u64) -> [u64; 4] {
        let (begin, rest) = self.sorted_places(bucket);
        let words = self.bits.words();
        // Only codes below the number of quadruples are written; others, in a forged frame, mean no nibbles.
        let code = read_field(words, begin, CODE_BITS) as usize;
        let nibbles = QUADRUPLES.get(code).copied().unwrap_or(0);
        let mut slot = 0;
        [(); 4].map(|()| {
            let high = read_field(words, rest(slot), self.shape.width - NIBBLE) << NIBBLE;
            let entry = high | u64::from(nibbles >> (slot * NIBBLE) & 15);
            slot += 1;
            entry
        })
    }

    fn pack(&mut self, bucket: u64, mut entries: [u64; 4]) {
        // Equal nibbles are put in the order of the rest, so that equal contents are equal bits.
        entries.sort_unstable_by_key(|&entry| (entry & 15, entry));
        let (begin, rest) = self.sorted_places(bucket);
        let width = self.shape.width - NIBBLE;
        let words = self.bits.words_mut();
        write_field(words, begin, CODE_BITS, code_of(entries.map(|entry| entry as usize & 15)));
        for (slot, entry) in (0..).zip(entries) {
            write_field(words, rest(slot), width, entry >> NIBBLE);
        }
    }
}

const NIBBLE: u32 = 4;
const CODE_BITS: u32 = 12;

/// Sorted quadruples of sixteen values: C(19, 4).
const QUADRUPLE_COUNT: usize = 3876;

const fn choose(n: usize, k: usize) -> u64 {
    let (mut product, mut i) = (1, 0);
    while i < k {
        product = product * (n as u64 - i as u64) / (i as u64 + 1);
        i += 1;
    }
    product
}

/// `TERMS[i][a]` = C(a + i, i + 1).
const TERMS: [[u64; 16]; 4] = {
    let mut terms = [[0; 16]; 4];
    let mut i = 0;
    while i < 4 {
        let mut a = 1;
        while a < 16 {
            terms[i][a] = choose(a + i, i + 1);
            a += 1;
        }
        i += 1;
    }
    terms
};

/// The number of a sorted quadruple. With a_i + i they become four distinct numbers below 19, which the combinatorial
/// number system numbers as the sum of C(a_i + i, i + 1).
const fn code_of(nibbles: [usize; 4]) -> u64 {
    TERMS[0][nibbles[0]] + TERMS[1][nibbles[1]] + TERMS[2][nibbles[2]] + TERMS[3][nibbles[3]]
}

/// The quadruples by their number, the least in the low bits.
static QUADRUPLES: [u16; QUADRUPLE_COUNT] = {
    let mut quadruples = [0; QUADRUPLE_COUNT];
    let mut d = 0;
    while d < 16 {
        let mut c = 0;
        while c <= d {
            let mut b = 0;
            while b <= c {
                let mut a = 0;
                while a <= b {
                    quadruples[code_of([a, b, c, d]) as usize] = (a | b << 4 | c << 8 | d << 12) as u16;
                    a += 1;
                }
                b += 1;
            }
            c += 1;
        }
        d += 1;
    }
    quadruples
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    /// Random replacements beside vectors of entries, for every shape that the kinds use and some that none does.
    #[test]
    fn buckets_agree_with_lists_of_entries_for_every_shape() {
        let mut random = SplitMix::new(1);
        for slots in 1..=MAX_SLOTS {
            for width in [1u32, 2, 5, 8, 10, 12, 13, 16, 17, 21, 31, 32, 33, 63, 64] {
                for sorted in [false, true] {
                    let key = width.div_ceil(2);
                    let Ok(shape) = Shape::new(slots, width, key, sorted) else { continue };
                    agree_with_lists(shape, key, &mut random);
                }
            }
        }
    }

    fn agree_with_lists(shape: Shape, key: u32, random: &mut SplitMix) {
        const BUCKETS: u64 = 5;
        let mut table = Buckets::zeroed(BUCKETS, shape).unwrap();
        let mut lists = vec![vec![0u64; shape.slots as usize]; BUCKETS as usize];
        let few = |random: &mut SplitMix| (random.next_u64() & field_max(shape.width)) & random.next_u64();
        for _ in 0..200 {
            let bucket = random.below(BUCKETS);
            let list = &mut lists[bucket as usize];
            let old = if random.below(2) == 0 { 0 } else { list[random.below(shape.slots.into()) as usize] };
            let (new, absent) = (few(random), few(random));
            if !list.contains(&absent) {
                assert!(!table.replace(bucket, absent, new));
            }
            let slot = list.iter().position(|&entry| entry == old);
            assert_eq!(table.replace(bucket, old, new), slot.is_some());
            if let Some(slot) = slot {
                list[slot] = new;
            }
            for (bucket, list) in (0..).zip(&lists) {
                let mut found: Vec<_> = (0..shape.slots).map(|slot| table.get(bucket, slot)).collect();
                let mut expected = list.clone();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{shape:?}");
                assert_eq!(u64::from(table.free(bucket)), expected.iter().filter(|&&e| e == 0).count() as u64);
                assert_eq!(table.has_room(bucket), table.free(bucket) > 0, "{shape:?}");
                for asked in expected.iter().map(|entry| entry & field_max(key)).chain([absent & field_max(key)]) {
                    let in_list = expected.iter().any(|&e| e != 0 && e & field_max(key) == asked);
                    assert_eq!(table.contains(bucket, asked), in_list, "{shape:?} {asked}");
                    assert_eq!(table.survey(bucket, asked), (in_list, table.free(bucket)), "{shape:?} {asked}");
                    let entry = table.find(bucket, asked);
                    assert_eq!(entry.is_some(), in_list);
                    assert!(entry.is_none_or(|e| expected.contains(&e) && e & field_max(key) == asked));
                }
            }
        }
    }

    #[test]
    fn equal_contents_of_sorted_buckets_are_equal_bits() {
        let shape = Shape::new(4, 9, 9, true).unwrap();
        let fill = |entries: [u64; 4]| {
            let mut table = Buckets::zeroed(3, shape).unwrap();
            entries.iter().for_each(|&entry| assert!(table.replace(1, 0, entry)));
            table
        };
        assert_eq!(fill([0x101, 0x1F, 0x55, 0x01]), fill([0x01, 0x55, 0x101, 0x1F]));
        assert_eq!(shape.bucket_bits(), 4 * 9 - 4);
    }

    #[test]
    fn every_sorted_quadruple_has_a_code_of_its_own() {
        let numbered: std::collections::BTreeSet<u16> = QUADRUPLES.iter().copied().collect();
        assert_eq!(numbered.len(), QUADRUPLE_COUNT);
        for (code, quadruple) in (0..).zip(QUADRUPLES) {
            let nibbles = [0, 4, 8, 12].map(|shift| usize::from(quadruple >> shift & 15));
            assert!(nibbles.is_sorted());
            assert_eq!(code_of(nibbles), code);
        }
    }

    #[test]
    fn impossible_shapes_and_sizes_are_refused() {
        for (slots, width, key, sorted) in
            [(0, 8, 8, false), (9, 8, 8, false), (4, 0, 0, false), (4, 65, 8, false), (4, 8, 9, false), (8, 8, 8, true)]
        {
            assert!(Shape::new(slots, width, key, sorted).is_err());
        }
        let shape = Shape::new(4, 12, 12, false).unwrap();
        assert!(shape.bits(u64::MAX / 8).is_err());
        assert!(Buckets::from_bits(BitStore::zeroed(47).unwrap(), 1, shape).is_none());
    }
}

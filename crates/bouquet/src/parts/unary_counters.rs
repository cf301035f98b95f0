//! Counters as columns of ones: layers of bits, each addressed by counting the ones of the layer above.
//!
//! A counter of value c is c ones and then a zero, read downwards. Layer 0 has a bit for every counter; layer i+1 has
//! one bit for each one of layer i, in order, and nothing for the zeros.
//!
//! ```text
//! counters  0 2 0 1 3 0
//! layer 0   0 1 0 1 1 0
//! layer 1     1   0 1        the bit below the j-th one of a layer is the j-th of the next
//! layer 2     0     1
//! layer 3           0
//! ```
//!
//! The bits below layer 0 are as many as the sum of the counters. Adding one to a counter turns its zero into a one and
//! inserts a zero below it; subtracting one takes both back. Either moves the bits behind it by one, so the layers are
//! kept in short strings: one for each block of counters ([`UnaryCounters`]), or inside a machine word.

use std::collections::BTreeMap;

use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::simd::prefetch;
use crate::store::BitStore;

/// How many of the bits `start..end` are one.
#[inline]
pub(crate) fn ones_between(words: &[u64], start: usize, end: usize) -> usize {
    if start >= end {
        return 0;
    }
    let (first, last) = (start / 64, (end - 1) / 64);
    let (from, to) = (u64::MAX << (start % 64), u64::MAX >> (63 - (end - 1) % 64));
    if first == last {
        return (words[first] & from & to).count_ones() as usize;
    }
    let inner: u32 = words[first + 1..last].iter().map(|word| word.count_ones()).sum();
    ((words[first] & from).count_ones() + inner + (words[last] & to).count_ones()) as usize
}

#[inline]
pub(crate) fn bit(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

/// Moves the bits `at..end` up by one and puts a zero at `at`. Bit `end` must be there, and is zero.
#[inline]
pub(crate) fn insert_zero(words: &mut [u64], at: usize, end: usize) {
    let (first, last) = (at / 64, end / 64);
    let below = (1 << (at % 64)) - 1;
    let mut carry = words[first] >> 63;
    words[first] = words[first] & below | (words[first] & !below) << 1;
    for word in &mut words[first + 1..=last] {
        let out = *word >> 63;
        *word = *word << 1 | carry;
        carry = out;
    }
}

/// Takes the bit at `at` out and moves the bits behind it, up to `end`, down by one; bit `end - 1` becomes zero.
#[inline]
pub(crate) fn delete_bit(words: &mut [u64], at: usize, end: usize) {
    let (first, last) = (at / 64, (end - 1) / 64);
    let mut carry = 0;
    for word in words[first + 1..=last].iter_mut().rev() {
        let out = *word & 1;
        *word = *word >> 1 | carry << 63;
        carry = out;
    }
    let below = (1 << (at % 64)) - 1;
    words[first] = words[first] & below | words[first] >> 1 & !below | carry << 63;
}

/// A place in one layer of a string of layers below layer 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    /// The layer's first bit in the string.
    pub(crate) begin: usize,
    /// The layer's bits.
    pub(crate) len: usize,
    /// The place in the layer.
    pub(crate) place: usize,
}

impl Cursor {
    #[inline]
    fn index(self) -> usize {
        self.begin + self.place
    }

    /// The place below this one, which is meaningful below a one, and where a bit belongs if this becomes a one.
    #[inline]
    fn below(self, words: &[u64]) -> Cursor {
        let (begin, end) = (self.begin, self.begin + self.len);
        Cursor {
            begin: end,
            len: ones_between(words, begin, end),
            place: ones_between(words, begin, begin + self.place),
        }
    }

    /// The ones from here downwards.
    #[inline]
    pub(crate) fn depth(mut self, words: &[u64]) -> u64 {
        let mut depth = 0;
        while bit(words, self.index()) {
            depth += 1;
            self = self.below(words);
        }
        depth
    }

    /// Makes the column one longer, unless it has `most` ones from here downwards, and says how many it had. The string
    /// ends at `end` and has room for one bit more.
    #[inline]
    pub(crate) fn raise(mut self, words: &mut [u64], end: usize, most: u64) -> u64 {
        let mut depth = 0;
        while bit(words, self.index()) {
            depth += 1;
            self = self.below(words);
        }
        if depth < most {
            let below = self.below(words);
            words[self.index() / 64] |= 1 << (self.index() % 64);
            insert_zero(words, below.index(), end);
        }
        depth
    }

    /// Makes the column one shorter: the string loses a bit. Says whether the one that goes is the one above this place.
    #[inline]
    pub(crate) fn lower(mut self, words: &mut [u64], end: usize) -> bool {
        if !bit(words, self.index()) {
            delete_bit(words, self.index(), end);
            return true;
        }
        loop {
            let below = self.below(words);
            if !bit(words, below.index()) {
                delete_bit(words, below.index(), end);
                words[self.index() / 64] &= !(1 << (self.index() % 64));
                return false;
            }
            self = below;
        }
    }
}

/// Whether the string of layers from `begin` on, below a layer of `ones` ones, is whole: each layer has its bits, none
/// lies at or beyond `end`, and the last has no ones. Gives its end.
pub(crate) fn layers_end(words: &[u64], begin: usize, ones: usize, end: usize, most: u64) -> Option<usize> {
    let (mut begin, mut len) = (begin, ones);
    for _ in 0..most {
        let next = begin.checked_add(len).filter(|&next| next <= end)?;
        if len == 0 {
            return Some(begin);
        }
        (begin, len) = (next, ones_between(words, begin, next));
    }
    (len == 0).then_some(begin)
}

/// Counters inside one word of up to a few machine words: the first bits are layer 0, the other layers follow at once.
///
/// The bits in use are those of layer 0 and as many as the sum of the counters, which is the number of ones. Every counter
/// ends in a zero, so a word of ones alone is no code: it marks a word that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordCode {
    /// Bits of a word.
    pub(crate) bits: usize,
    /// Bits of layer 0, one for each counter.
    pub(crate) first: usize,
}

impl WordCode {
    #[inline]
    fn cursor(self, word: &[u64], index: usize) -> Cursor {
        let place = ones_between(word, 0, index);
        Cursor { begin: self.first, len: place + ones_between(word, index, self.first), place }
    }

    /// The bits in use; meaningless for a word that was given up.
    #[inline]
    pub(crate) fn used(self, word: &[u64]) -> usize {
        self.first + ones_between(word, 0, self.bits)
    }

    #[inline]
    pub(crate) fn is_given_up(self, word: &[u64]) -> bool {
        ones_between(word, 0, self.bits) == self.bits
    }

    /// Fills the word with ones.
    pub(crate) fn give_up(self, word: &mut [u64]) {
        for index in 0..self.bits {
            word[index / 64] |= 1 << (index % 64);
        }
    }

    /// The counter at `index`.
    #[inline]
    pub(crate) fn get(self, word: &[u64], index: usize) -> u64 {
        if bit(word, index) { 1 + self.cursor(word, index).depth(word) } else { 0 }
    }

    /// Adds one to the counter at `index` of a word that has a bit left, and says whether it was zero.
    #[inline]
    pub(crate) fn raise(self, word: &mut [u64], index: usize) -> bool {
        let (end, cursor) = (self.used(word), self.cursor(word, index));
        let fresh = !bit(word, index);
        if fresh {
            word[index / 64] |= 1 << (index % 64);
            insert_zero(word, self.first + cursor.place, end);
        } else {
            cursor.raise(word, end, u64::MAX);
        }
        fresh
    }

    /// Subtracts one from the counter at `index`, which is not zero.
    #[inline]
    pub(crate) fn lower(self, word: &mut [u64], index: usize) {
        let end = self.used(word);
        if self.cursor(word, index).lower(word, end) {
            word[index / 64] &= !(1 << (index % 64));
        }
    }

    /// Whether the word is a code or was given up.
    pub(crate) fn is_sound(self, word: &[u64]) -> bool {
        let ones = ones_between(word, 0, self.first);
        let end = layers_end(word, self.first, ones, self.bits, self.bits as u64);
        self.is_given_up(word) || end.is_some_and(|end| ones_between(word, end, self.bits) == 0)
    }
}

/// Blocks that share a memory of their own.
const BLOCKS: usize = 16;

/// The longest column in the layers; what is beyond it is counted aside.
pub(crate) const MAX_DEPTH: u64 = 15;

/// The words of a superblock in a frame's index: start and length of its memory, then two blocks in each.
const INDEX_WORDS: usize = 2 + BLOCKS / 2;

/// The most that an entry of the map of deep columns takes: a node of a B-tree has 11 places of 16 bytes and at least 5
/// entries, with pointers 192 bytes in a leaf and 288 elsewhere, so 6 leaves and their parent hold 35 entries in 1440.
const DEEP_BITS: u64 = 42 * 8;

/// Where the lower layers of a block lie in the memory of its superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Block {
    /// Its first word.
    offset: u16,
    /// Its bits.
    used: u16,
}

impl Block {
    fn words(self) -> usize {
        usize::from(self.used).div_ceil(64)
    }
}

/// 16 blocks: their lower layers one behind the other, each beginning at a word, with spare words between them.
///
/// Invariant: offsets ascend, and what is behind the bits of a block, up to the next, is zero.
#[derive(Clone, Debug)]
struct Superblock {
    memory: Box<[u64]>,
    blocks: [Block; BLOCKS],
}

impl Superblock {
    fn empty(blocks: usize, words: usize) -> Self {
        let mut superblock = Superblock { memory: Box::default(), blocks: [Block::default(); BLOCKS] };
        superblock.spread(blocks, words);
        superblock
    }

    #[inline]
    fn range(&self, block: usize) -> std::ops::Range<usize> {
        let end = self.blocks.get(block + 1).map_or(self.memory.len(), |next| next.offset.into());
        self.blocks[block].offset.into()..end
    }

    /// The words of a block and its bits in use.
    #[inline]
    fn string(&self, block: usize) -> (&[u64], usize) {
        (&self.memory[self.range(block)], self.blocks[block].used.into())
    }

    #[inline]
    fn string_mut(&mut self, block: usize) -> &mut [u64] {
        let range = self.range(block);
        &mut self.memory[range]
    }

    /// Sees to it that a block has room for one bit more, among this many blocks.
    #[inline]
    fn make_room(&mut self, block: usize, blocks: usize) {
        if usize::from(self.blocks[block].used) == 64 * self.range(block).len() {
            self.make_room_slowly(block, blocks);
        }
    }

    /// Takes a spare word from the nearest block that has one, or grows by an eighth.
    #[cold]
    fn make_room_slowly(&mut self, block: usize, blocks: usize) {
        let spare = |other: usize| self.range(other).len() > self.blocks[other].words();
        let behind = (block + 1..blocks).find(|&other| spare(other));
        let before = (0..block).rev().find(|&other| spare(other));
        match (before, behind) {
            (before, Some(behind)) if before.is_none_or(|before| behind - block <= block - before) => {
                let (from, to) = (self.range(block).end, self.range(behind).end - 1);
                self.memory.copy_within(from..to, from + 1);
                self.memory[from] = 0;
                self.blocks[block + 1..=behind].iter_mut().for_each(|moved| moved.offset += 1);
            }
            (Some(before), _) => {
                let (from, to) = (self.range(before).end, self.range(block).end);
                self.memory.copy_within(from..to, from - 1);
                self.memory[to - 1] = 0;
                self.blocks[before + 1..=block].iter_mut().for_each(|moved| moved.offset -= 1);
            }
            (None, _) => self.spread(blocks, self.memory.len() + (self.memory.len() / 8).max(blocks)),
        }
    }

    /// Moves the blocks to a memory of this many words, the spare ones spread evenly among them.
    fn spread(&mut self, blocks: usize, words: usize) {
        let needed: usize = self.blocks[..blocks].iter().map(|block| block.words()).sum();
        let spare = words.saturating_sub(needed);
        let mut memory = vec![0; needed + spare].into_boxed_slice();
        let mut offset = 0;
        for block in 0..BLOCKS {
            let len = self.blocks[block].words();
            let from = usize::from(self.blocks[block].offset);
            memory[offset..offset + len].copy_from_slice(&self.memory[from..from + len]);
            // At most `most_words(16, 512)`, 2160.
            self.blocks[block].offset = offset as u16;
            if block < blocks {
                offset += len + spare * (block + 1) / blocks - spare * block / blocks;
            }
        }
        self.memory = memory;
    }
}

/// A vector of counters without a largest value, in the space of their sum and a little.
///
/// Layer 0 is a plain vector of bits, one for each counter that is not zero. The layers below are kept block by block
/// and never looked at to tell zero from another value. Columns deeper than `MAX_DEPTH` go on in a map, so that one
/// counter cannot inflate its block.
#[derive(Clone, Debug)]
pub struct UnaryCounters {
    first: BitStore,
    superblocks: Vec<Superblock>,
    /// Counters of a block: 64, 128, 256 or 512.
    block: u64,
    /// For each counter above [`MAX_DEPTH`], by how much.
    deep: BTreeMap<u64, u64>,
}

/// Equal counters are equal, however their spare words lie.
impl PartialEq for UnaryCounters {
    fn eq(&self, other: &Self) -> bool {
        let same_string = |(mine, theirs): (&Superblock, &Superblock), block| {
            let ((mine, used), (theirs, also)) = (mine.string(block), theirs.string(block));
            let words = used.div_ceil(64);
            used == also && mine[..words] == theirs[..words]
        };
        let mut pairs = self.superblocks.iter().zip(&other.superblocks);
        self.first == other.first
            && self.block == other.block
            && self.deep == other.deep
            && pairs.all(|pair| (0..BLOCKS).all(|block| same_string(pair, block)))
    }
}

/// The most words that the memory of a superblock of this many blocks ever has: it grows by an eighth, or by a word for each
/// block, when every word is in use, and columns are no deeper than [`MAX_DEPTH`].
fn most_words(blocks: usize, block: u64) -> usize {
    let used = blocks * (block * MAX_DEPTH).div_ceil(64) as usize;
    used + (used / 8).max(blocks)
}

/// What a superblock is made of: its blocks, and the words for its lower layers when the counters have a given sum. Those
/// are for the mean and 8 standard deviations, with a word more for each block, whose last is in part unused.
fn shape(len: u64, block: u64, sum: u64, superblock: u64) -> (usize, usize) {
    let most = block * BLOCKS as u64;
    let counters = most.min(len - superblock * most);
    let mean = sum as f64 / len as f64 * counters as f64;
    let bits = ((mean + 8.0 * mean.sqrt()).ceil() as u64).min(sum).min(MAX_DEPTH * counters);
    let blocks = counters.div_ceil(block) as usize;
    (blocks, bits.div_ceil(64) as usize + blocks)
}

impl UnaryCounters {
    /// The bits that `len` counters in blocks of `block` take until their sum is about `sum`.
    pub(crate) fn planned_bits(len: u64, block: u64, sum: u64) -> u64 {
        let last = len.div_ceil(block * BLOCKS as u64).saturating_sub(1);
        let words = |superblock| (shape(len, block, sum, superblock).1 + INDEX_WORDS) as u64;
        // All superblocks but the last are alike.
        let lower = last.saturating_mul(words(0)).saturating_add(words(last));
        len.saturating_add(lower.saturating_mul(64))
    }

    /// `len` zeros in blocks of `block`, with room until their sum is about `sum`.
    pub fn zeroed(len: u64, block: u64, sum: u64) -> Result<Self> {
        let first = BitStore::zeroed(len)?;
        let count = len.div_ceil(block * BLOCKS as u64);
        let mut superblocks = Vec::new();
        superblocks.try_reserve_exact(count as usize).map_err(|_| Error::TooLarge {
            what: "the counters".into(),
            bytes: u128::from(count) * size_of::<Superblock>() as u128,
        })?;
        superblocks.extend((0..count).map(|i| {
            let (blocks, words) = shape(len, block, sum, i);
            Superblock::empty(blocks, words)
        }));
        Ok(UnaryCounters { first, superblocks, block, deep: BTreeMap::new() })
    }

    /// Layer 0: a bit for each counter, set where it is not zero.
    #[inline]
    pub(crate) fn first_layer(&self) -> &BitStore {
        &self.first
    }

    /// All memory that is allocated: layer 0, index, lower layers with what is spare in them, deep columns.
    pub(crate) fn bits(&self) -> u64 {
        let words: usize = self.superblocks.iter().map(|superblock| superblock.memory.len() + INDEX_WORDS).sum();
        self.first.len() + 64 * words as u64 + DEEP_BITS * self.deep.len() as u64
    }

    /// The bits that hold something: one for each counter, and their sum up to [`MAX_DEPTH`] each.
    #[cfg(test)]
    fn code_bits(&self) -> u64 {
        let blocks = self.superblocks.iter().flat_map(|superblock| superblock.blocks);
        self.first.len() + blocks.map(|block| u64::from(block.used)).sum::<u64>()
    }

    fn blocks_of(&self, superblock: usize) -> usize {
        let blocks = self.first.len().div_ceil(self.block) as usize;
        BLOCKS.min(blocks - superblock * BLOCKS)
    }

    /// Superblock, block and bits of the block in layer 0 of a counter that exists.
    #[inline]
    fn locate(&self, index: u64) -> (usize, usize, std::ops::Range<usize>) {
        let block = index / self.block;
        let begin = block * self.block;
        let end = (begin + self.block).min(self.first.len());
        ((block / BLOCKS as u64) as usize, (block % BLOCKS as u64) as usize, begin as usize..end as usize)
    }

    /// The place below a counter's bit of layer 0.
    #[inline]
    fn cursor(&self, index: u64, bits: std::ops::Range<usize>) -> Cursor {
        let words = self.first.words();
        let place = ones_between(words, bits.start, index as usize);
        Cursor { begin: 0, len: place + ones_between(words, index as usize, bits.end), place }
    }

    /// Whether the counter is not zero, by layer 0 alone.
    #[inline]
    pub(crate) fn is_nonzero(&self, index: u64) -> bool {
        self.first.get(index)
    }

    /// The counter at `index`; zero beyond the end.
    #[inline]
    pub fn get(&self, index: u64) -> u64 {
        let column = self.column(index);
        if column < MAX_DEPTH { column } else { column.saturating_add(self.deep.get(&index).copied().unwrap_or(0)) }
    }

    /// The part of a counter that is in the layers.
    #[inline]
    fn column(&self, index: u64) -> u64 {
        if !self.first.get(index) {
            return 0;
        }
        let (superblock, block, bits) = self.locate(index);
        1 + self.cursor(index, bits).depth(self.superblocks[superblock].string(block).0)
    }

    /// Adds to a counter and gives back what it was; nothing happens beyond the end.
    #[inline]
    pub fn add(&mut self, index: u64, amount: u64) -> u64 {
        if index >= self.first.len() || amount == 0 {
            return self.get(index);
        }
        let mut before = self.raise(index);
        // A column in the layers is raised step by step; what is beyond them is one addition.
        let raised = amount.min(MAX_DEPTH - before);
        (1..raised).for_each(|_| {
            self.raise(index);
        });
        if amount > raised {
            let deep = self.deep.entry(index).or_insert(0);
            before = before.saturating_add(*deep);
            *deep = deep.saturating_add(amount - raised);
        }
        before
    }

    /// Subtracts from a counter, which stops at zero.
    #[inline]
    pub(crate) fn sub(&mut self, index: u64, mut amount: u64) {
        if let Some(deep) = self.deep.get_mut(&index) {
            let taken = amount.min(*deep);
            *deep -= taken;
            amount -= taken;
            if *deep == 0 {
                self.deep.remove(&index);
            }
        }
        while amount > 0 && self.first.get(index) {
            self.lower(index);
            amount -= 1;
        }
    }

    /// Makes a column longer by one, unless it has [`MAX_DEPTH`] ones, and says how many it had.
    #[inline]
    fn raise(&mut self, index: u64) -> u64 {
        let (superblock, block, bits) = self.locate(index);
        let blocks = self.blocks_of(superblock);
        let cursor = self.cursor(index, bits);
        let fresh = self.first.set(index);
        let lower = &mut self.superblocks[superblock];
        lower.make_room(block, blocks);
        let end = usize::from(lower.blocks[block].used);
        let before = if fresh {
            insert_zero(lower.string_mut(block), cursor.place, end);
            0
        } else {
            1 + cursor.raise(lower.string_mut(block), end, MAX_DEPTH - 1)
        };
        lower.blocks[block].used += u16::from(before < MAX_DEPTH);
        before
    }

    /// Makes a column that has a one shorter by one.
    #[inline]
    fn lower(&mut self, index: u64) {
        let (superblock, block, bits) = self.locate(index);
        let cursor = self.cursor(index, bits);
        let lower = &mut self.superblocks[superblock];
        let end = usize::from(lower.blocks[block].used);
        if cursor.lower(lower.string_mut(block), end) {
            self.first.clear(index);
        }
        lower.blocks[block].used -= 1;
    }

    /// Prefetches what tells whether the counter is zero.
    #[inline]
    pub(crate) fn prefetch(&self, index: u64) {
        prefetch(self.first.words(), (index / 64) as usize);
    }

    /// Stores: layer 0 as bits; the index; the memory of the superblocks, one behind the other; deep columns.
    pub(crate) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.bits(&self.first);
        let (mut index, mut memory) = (Vec::new(), Vec::new());
        for superblock in &self.superblocks {
            index.extend([memory.len() as u64, superblock.memory.len() as u64]);
            index.extend(superblock.blocks.chunks(2).map(|pair| {
                let words = pair.iter().map(|block| u64::from(block.offset) | u64::from(block.used) << 16);
                words.rev().fold(0, |word, block| word << 32 | block)
            }));
            memory.extend_from_slice(&superblock.memory);
        }
        let deep: Vec<u64> = self.deep.iter().flat_map(|(&index, &more)| [index, more]).collect();
        encoder.state().u64(self.deep.len() as u64);
        for words in [index, memory, deep] {
            encoder.bytes(words.iter().flat_map(|word| word.to_le_bytes()).collect());
        }
    }

    /// Reads what [`encode`](Self::encode) wrote: `len` counters in blocks of `block`.
    pub(crate) fn decode(decoder: &mut Decoder<'_>, len: u64, block: u64) -> Result<Self> {
        let deep_columns = decoder.state().u64()?;
        let first = decoder.bits(len)?;
        let count = len.div_ceil(block * BLOCKS as u64);
        let index = decoder.words(count * INDEX_WORDS as u64)?;
        let index = index.as_slice().chunks_exact(INDEX_WORDS);
        let words = index.clone().map(|row| row[1]).try_fold(0, u64::checked_add);
        let memory = decoder.words(words.ok_or_else(|| Error::corrupt("words of the layers", "fewer", "too many"))?)?;
        let deep = decoder
            .words(deep_columns.checked_mul(2).ok_or_else(|| Error::corrupt("deep columns", "fewer", deep_columns))?)?;
        let mut counters = UnaryCounters { first, superblocks: Vec::new(), block, deep: BTreeMap::new() };
        let mut rest = memory.as_slice();
        for row in index {
            let start = (memory.as_slice().len() - rest.len()) as u64;
            // The sum of the lengths is that of the memory, so there is as much left.
            let (own, behind) = rest.split_at(row[1] as usize);
            rest = behind;
            // More could not be told by the offsets of blocks, once words move.
            let most = most_words(counters.blocks_of(counters.superblocks.len()), block);
            if own.len() > most {
                return Err(Error::corrupt("words of 16 blocks of counters", format!("at most {most}"), own.len()));
            }
            let blocks: Vec<Block> = row[2..]
                .iter()
                .flat_map(|&word| [word, word >> 32])
                .map(|word| Block { offset: word as u16, used: (word >> 16) as u16 })
                .collect();
            let superblock = Superblock { memory: own.into(), blocks: std::array::from_fn(|i| blocks[i]) };
            if row[0] != start || !counters.fits(&superblock) {
                return Err(Error::corrupt("layers of counters", "whole columns", "something else"));
            }
            counters.superblocks.push(superblock);
        }
        for pair in deep.as_slice().chunks_exact(2) {
            let last = counters.deep.last_key_value().map(|(&index, _)| index);
            if last.is_some_and(|last| last >= pair[0]) || pair[1] == 0 || counters.column(pair[0]) != MAX_DEPTH {
                return Err(Error::corrupt("a deep column", "above the others", format!("{pair:?}")));
            }
            counters.deep.insert(pair[0], pair[1]);
        }
        Ok(counters)
    }

    /// Whether the next superblock can be this: every block has the columns that its bits of layer 0 begin, none of
    /// them deeper than allowed, and nothing else.
    fn fits(&self, superblock: &Superblock) -> bool {
        let number = self.superblocks.len();
        let offsets = superblock.blocks.map(|block| usize::from(block.offset));
        let ascend = offsets.is_sorted() && offsets[BLOCKS - 1] <= superblock.memory.len() && offsets[0] == 0;
        ascend
            && (0..BLOCKS).all(|block| {
                let (words, used) = superblock.string(block);
                let ones = if block < self.blocks_of(number) {
                    let (_, _, bits) = self.locate((number * BLOCKS + block) as u64 * self.block);
                    ones_between(self.first.words(), bits.start, bits.end)
                } else {
                    0
                };
                used <= 64 * words.len()
                    && layers_end(words, 0, ones, used, MAX_DEPTH) == Some(used)
                    && ones_between(words, used, 64 * words.len()) == 0
            })
    }
}

#[cfg(test)]
impl UnaryCounters {
    /// Leaves nothing but layer 0.
    pub(crate) fn drop_lower_layers(&mut self) {
        self.superblocks.clear();
        self.deep.clear();
    }

    /// Changes something that makes the content contradict itself.
    pub(crate) fn damage(&mut self, random: &mut crate::hash::SplitMix) {
        let superblock = random.below(self.superblocks.len() as u64) as usize;
        let superblock = &mut self.superblocks[superblock];
        match random.below(5) {
            0 => superblock.blocks[random.below(BLOCKS as u64) as usize].used += 1 + random.below(100) as u16,
            1 => superblock.blocks[1 + random.below(15) as usize].offset += 300 + random.below(60_000) as u16,
            2 => {
                let bit = random.below(64 * superblock.memory.len() as u64) as usize;
                superblock.memory[bit / 64] ^= 1 << (bit % 64);
            }
            3 => {
                let index = random.below(self.first.len());
                if !self.first.set(index) {
                    self.first.clear(index);
                }
            }
            _ => {
                let shallow = (0..self.first.len()).find(|&index| self.column(index) < MAX_DEPTH);
                self.deep.insert(shallow.unwrap_or(u64::MAX), 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn no_superblock_outgrows_the_words_that_a_frame_may_give_it() {
        for (block, len) in [(512, 8192), (512, 700), (64, 1024), (64, 100), (128, 1)] {
            for sum in [0, len, 20 * len] {
                let mut counters = UnaryCounters::zeroed(len, block, sum).unwrap();
                let most = most_words(counters.blocks_of(0), block);
                let words = |counters: &UnaryCounters| counters.superblocks[0].memory.len();
                assert!(words(&counters) <= most, "{len} counters in blocks of {block}: {} > {most}", words(&counters));
                // Evenly, and then one block before the others.
                for index in (0..len).map(|index| index * 7919 % len).chain(0..len) {
                    counters.add(index, if index % 2 == 0 { MAX_DEPTH + 1 } else { 3 });
                    assert!(
                        words(&counters) <= most,
                        "{len} counters in blocks of {block}: {} > {most}",
                        words(&counters)
                    );
                }
            }
        }
    }

    #[test]
    fn inserting_and_deleting_bits_is_what_a_vector_does() {
        let mut random = SplitMix::new(1);
        let (mut words, mut model) = ([0u64; 5], Vec::new());
        let at = |model: &[bool], random: &mut SplitMix| random.below(model.len() as u64 + 1) as usize;
        for step in 0..20_000 {
            let full = model.len() == 320 || (step / 700 % 2 == 1 && !model.is_empty());
            if full || (random.below(3) == 0 && !model.is_empty()) {
                let index = at(&model[1..], &mut random);
                delete_bit(&mut words, index, model.len());
                model.remove(index);
            } else {
                let index = at(&model, &mut random);
                insert_zero(&mut words, index, model.len());
                model.insert(index, false);
                if random.below(2) == 0 {
                    words[index / 64] |= 1 << (index % 64);
                    model[index] = true;
                }
            }
            assert!((0..320).all(|i| bit(&words, i) == model.get(i).copied().unwrap_or(false)), "step {step}");
            let (a, b) = (at(&model, &mut random), at(&model, &mut random));
            let ones = model.get(a..b).map_or(0, |range| range.iter().filter(|&&one| one).count());
            assert_eq!(ones_between(&words, a, b), ones);
        }
    }

    fn agrees(counters: &UnaryCounters, model: &[u64]) {
        for (index, &value) in (0..).zip(model) {
            assert_eq!(counters.get(index), value, "counter {index}");
            assert_eq!(counters.is_nonzero(index), value != 0);
        }
        let code: u64 = model.iter().map(|&value| 1 + value.min(MAX_DEPTH)).sum();
        assert_eq!(counters.code_bits(), code, "one bit for each counter and each one in it");
        assert_eq!(
            counters.deep.values().sum::<u64>(),
            model.iter().map(|&v| v.saturating_sub(MAX_DEPTH)).sum::<u64>()
        );
        assert!(counters.bits() >= code);
    }

    #[test]
    fn counters_agree_with_an_array_of_integers() {
        for (len, block, sum) in [(1, 64, 0), (63, 64, 40), (700, 64, 490), (5_000, 128, 1_000), (20_001, 512, 14_000)]
        {
            let mut counters = UnaryCounters::zeroed(len, block, sum).unwrap();
            assert_eq!(counters.bits(), UnaryCounters::planned_bits(len, block, sum));
            let mut model = vec![0u64; len as usize];
            let mut random = SplitMix::new(len);
            for step in 0..60_000u64 {
                // Some counters are favoured, so that columns become deep; phases of filling and emptying.
                let index = if random.below(4) == 0 { random.below(len.min(5)) } else { random.below(len) };
                let amount = [1, 1, 1, 2, 17][random.below(5) as usize];
                let value = &mut model[index as usize];
                if random.below(10) < [7, 3][(step / 10_000 % 2) as usize] {
                    assert_eq!(counters.add(index, amount), *value);
                    *value += amount;
                } else {
                    counters.sub(index, amount);
                    *value = value.saturating_sub(amount);
                }
                if step % 5_000 == 0 {
                    agrees(&counters, &model);
                }
            }
            agrees(&counters, &model);
            assert_eq!(counters.add(len, 1), 0, "nothing is beyond the end");
            counters.sub(len, 1);
            agrees(&counters, &model);
            for (index, &value) in (0..).zip(&model) {
                counters.sub(index, value);
            }
            let empty = UnaryCounters::zeroed(len, block, 0).unwrap();
            assert_eq!(counters, empty);
        }
    }

    #[test]
    fn any_block_can_be_full_of_deep_columns() {
        let mut counters = UnaryCounters::zeroed(8_192 + 100, 512, 0).unwrap();
        for round in 0..MAX_DEPTH {
            // From both ends, so that spare words come from either side.
            (0..8_192).for_each(|index| {
                counters.add(if round % 2 == 0 { index } else { 8_191 - index }, 1);
            });
        }
        agrees(&counters, &[vec![MAX_DEPTH; 8_192], vec![0; 100]].concat());
        (0..8_192).for_each(|index| counters.sub(index, MAX_DEPTH));
        assert_eq!(counters, UnaryCounters::zeroed(8_192 + 100, 512, 0).unwrap());
    }

    #[test]
    fn counters_in_a_word_agree_with_an_array_of_integers_and_take_their_sum_in_bits() {
        for (bits, first) in [(16, 8), (64, 38), (128, 90), (256, 172), (512, 400), (512, 65)] {
            let code = WordCode { bits, first };
            let (mut word, mut model) = (vec![0; bits.div_ceil(64)], vec![0u64; first]);
            let (mut random, mut found) = (SplitMix::new(bits as u64), 0);
            for step in 0..4_000 {
                let index = random.below(first as u64) as usize;
                if random.below(10) < [6, 4][step / 500 % 2] {
                    if code.used(&word) < bits {
                        assert_eq!(code.raise(&mut word, index), model[index] == 0);
                        model[index] += 1;
                    }
                } else if model[index] > 0 {
                    code.lower(&mut word, index);
                    model[index] -= 1;
                }
                assert!((0..first).all(|i| code.get(&word, i) == model[i]), "step {step}");
                assert_eq!(code.used(&word), first + model.iter().sum::<u64>() as usize);
                assert!(code.is_sound(&word) && !code.is_given_up(&word));
                // Damage is found, or has left the code of other counters.
                let damaged = flipped(&word, random.below(bits as u64) as usize);
                if code.is_sound(&damaged) {
                    let sum: u64 = (0..first).map(|i| code.get(&damaged, i)).sum();
                    assert_eq!(code.used(&damaged), first + sum as usize);
                } else {
                    found += 1;
                }
            }
            assert!(found > 1_000, "{found}");
            code.give_up(&mut word);
            assert!(code.is_given_up(&word) && code.is_sound(&word));
        }
    }

    fn flipped(word: &[u64], index: usize) -> Vec<u64> {
        let mut word = word.to_vec();
        word[index / 64] ^= 1 << (index % 64);
        word
    }

    #[test]
    fn the_published_word_of_16_bits_takes_two_keys_of_three_places() {
        let code = WordCode { bits: 16, first: 8 };
        let mut word = [0];
        let mut takes = |places: [usize; 3]| {
            let fits = code.used(&word) + places.len() <= code.bits;
            places.iter().filter(|_| fits).for_each(|&place| {
                code.raise(&mut word, place);
            });
            fits
        };
        assert!(takes([1, 4, 6]) && takes([1, 3, 6]) && !takes([0, 2, 5]));
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|place| code.get(&word, place)), [0, 2, 0, 1, 1, 0, 2, 0]);
        // Level 1: 01011010; level 2, below its four ones: 1001; level 3, below two: 00.
        assert_eq!(word, [0b00_1001_0101_1010]);
    }
}

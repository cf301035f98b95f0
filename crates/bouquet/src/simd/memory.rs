//! Words that are owned or mapped, behind one pointer: whoever asks for them pays two loads, whatever owns them.

use std::fs::File;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytemuck::Zeroable;
use memmap2::{Mmap, MmapMut};

/// Some bytes of a file that is open for writing.
pub(crate) struct WritableMap {
    map: MmapMut,
    opening: Opening,
    offset: u64,
}

/// Tells one opening of a file for writing from every other.
#[derive(Clone, Default)]
pub(crate) struct Opening(Arc<()>);

impl WritableMap {
    /// `bytes` bytes of a file from `offset` on. The caller holds the file's lock and gives the same bytes to one map at a time.
    pub(crate) fn new(file: &File, opening: &Opening, offset: u64, bytes: usize) -> std::io::Result<Self> {
        let map = super::map_file_for_writing(file, offset, bytes)?;
        Ok(WritableMap { map, opening: opening.clone(), offset })
    }

    /// Whether these are the bytes from `offset` on of the file of this opening.
    pub(crate) fn is_at(&self, opening: &Opening, offset: u64) -> bool {
        Arc::ptr_eq(&self.opening.0, &opening.0) && self.offset == offset
    }

    /// Waits until the disk has the changes.
    pub(crate) fn sync(&self) -> std::io::Result<()> {
        self.map.flush()
    }
}

/// One cache line, so that the allocator aligns words to it.
#[derive(Clone, Copy, Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// Some words and what owns their memory, and which of them may be written at once.
pub(crate) struct Memory {
    held: Held,
    /// The words that may be written without a look at their owner: all, or none if it is a map for reading, or was one when this was
    /// last [settled](Memory::settled).
    in_place: NonNull<[u64]>,
}

/// Some words and what owns their memory.
struct Held {
    /// The first word. Valid for reads of `len` words as long as `owner` lives and is not used otherwise, and for
    /// writes unless the owner is a map for reading.
    words: NonNull<u64>,
    len: usize,
    owner: Owner,
}

/// Whether large stores come from the allocator too.
static FROM_ALLOCATOR: AtomicBool = AtomicBool::new(false);

/// From now on, stores of every size come from the program's allocator.
pub(crate) fn keep_to_allocator() {
    FROM_ALLOCATOR.store(true, Ordering::Relaxed);
}

/// The bytes of a large page. From one on, memory comes from the system in large pages.
const LARGE_PAGE: usize = 1 << 21;

enum Owner {
    /// Leaked from a box, of this many lines; freed on drop. A box itself would claim its memory anew each time it is
    /// moved, and the pointer above would be void.
    Lines(usize),
    /// Pages that no file has; freed with it.
    Pages {
        _map: MmapMut,
    },
    Mapped(Arc<Mmap>),
    /// In one place only: changes go to the file.
    Writable(Box<WritableMap>),
}

// SAFETY: a box of lines, an `Arc<Mmap>` and an `MmapMut` can all be sent and shared; the pointer is only used through
// `&self` and `&mut self`, like that of a box.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// This many zeros; `None` when the memory cannot be had.
    pub(crate) fn zeroed(len: usize) -> Option<Self> {
        // The allocation multiplies the number of lines by their size; keep the product in range.
        if len > isize::MAX as usize / 16 {
            return None;
        }
        if let Some(memory) = Self::pages(len) {
            return Some(memory);
        }
        let lines: Box<[Line]> = bytemuck::allocation::try_zeroed_slice_box(len.div_ceil(8)).ok()?;
        let count = lines.len();
        let words = NonNull::from(Box::leak(lines)).cast();
        Some(Held { words, len, owner: Owner::Lines(count) }.into())
    }

    /// A copy of these words. Where the memory cannot be had, the program ends as with every copy of the standard library: the caller
    /// has no way to hear of it.
    pub(crate) fn copy_of(source: &[u64]) -> Self {
        let mut memory = Self::for_copy(source.len());
        memory.words_or_copy().copy_from_slice(source);
        memory
    }

    /// Zeros for a copy of as many words, which fails in the same way.
    pub(crate) fn for_copy(len: usize) -> Self {
        Self::zeroed(len).unwrap_or_else(|| {
            let layout = std::alloc::Layout::array::<u64>(len).unwrap_or(std::alloc::Layout::new::<u64>());
            std::alloc::handle_alloc_error(layout)
        })
    }

    /// Zeros in large pages, if there is one to be filled: a filter is read all over, and the processor has the addresses of few
    /// pages at hand. What does not fill a large page lies in small ones.
    fn pages(len: usize) -> Option<Self> {
        let (bytes, filled) = (len * 8, len * 8 / LARGE_PAGE * LARGE_PAGE);
        if filled == 0 || FROM_ALLOCATOR.load(Ordering::Relaxed) {
            return None;
        }
        // Whole large pages are asked for, because only such maps begin where one can; what is not touched is not there.
        let mut map = MmapMut::map_anon(bytes.next_multiple_of(LARGE_PAGE)).ok()?;
        // It is advice: memory in small pages is as good, but for the time.
        #[cfg(target_os = "linux")]
        let _ = map.advise_range(memmap2::Advice::HugePage, 0, filled);
        // A page begins at a multiple of a cache line.
        let words: &mut [u64] = bytemuck::try_cast_slice_mut(&mut map).ok()?;
        let words = NonNull::from(words).cast();
        Some(Held { words, len, owner: Owner::Pages { _map: map } }.into())
    }

    /// `len` words of a map from byte `offset` on, read in place; `None` when they are not in it or do not begin at a
    /// multiple of eight bytes.
    pub(crate) fn mapped(map: &Arc<Mmap>, offset: usize, len: usize) -> Option<Self> {
        let bytes = map.get(offset..offset.checked_add(len.checked_mul(8)?)?)?;
        // The view of all bytes as words exists only if they are aligned and whole.
        let words: &[u64] = bytemuck::try_cast_slice(bytes).ok()?;
        let words = NonNull::from(words).cast();
        Some(Held { words, len, owner: Owner::Mapped(Arc::clone(map)) }.into())
    }

    /// All of a map, which begins at a page and so at a multiple of eight bytes.
    pub(crate) fn writable(mut map: WritableMap) -> Self {
        let words: &mut [u64] = bytemuck::try_cast_slice_mut(&mut map.map).unwrap_or_default();
        let (len, words) = (words.len(), NonNull::from(words).cast());
        Held { words, len, owner: Owner::Writable(Box::new(map)) }.into()
    }

    /// The words.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[u64] {
        // SAFETY: the pointer is valid for this many words (see the field), and changes need `&mut self`.
        unsafe { std::slice::from_raw_parts(self.held.words.as_ptr(), self.held.len) }
    }

    /// The words, to be changed; none of them when they are mapped for reading, or were when this was last
    /// [settled](Self::settled). Who takes a word out of these has asked both whether it exists and whether it may be written.
    #[inline(always)]
    pub(crate) fn words_in_place(&mut self) -> &mut [u64] {
        // SAFETY: the words are those of `held`, whose pointer is valid for reads and writes of them, since it is no map for reading
        // (see the fields); and `&mut self` is the only way to them.
        unsafe { self.in_place.as_mut() }
    }

    /// Whether all words are [in place](Self::words_in_place).
    #[inline(always)]
    pub(crate) fn is_settled(&self) -> bool {
        self.in_place.len() == self.held.len
    }

    /// The words, to be changed; those of a map for reading are copied before. What is [in place](Self::words_in_place) stays what it
    /// is: a loop that has asked for that keeps it in registers.
    #[inline(always)]
    pub(crate) fn words_or_copy(&mut self) -> &mut [u64] {
        if self.held.is_read_only() {
            // By value, and dropped elsewhere: no call knows where this lies.
            let copied = std::mem::take(&mut self.held).copied();
            drop(std::mem::replace(&mut self.held, copied));
        }
        // SAFETY: the pointer is valid for reads and writes of this many words (see the field), and `&mut self` is the only way to them.
        unsafe { std::slice::from_raw_parts_mut(self.held.words.as_ptr(), self.held.len) }
    }

    /// The same words, all [in place](Self::words_in_place); those of a map for reading are copied.
    #[cold]
    #[inline(never)]
    pub(crate) fn settled(mut self) -> Self {
        self.words_or_copy();
        std::mem::take(&mut self.held).into()
    }

    /// Whether the words are in a file.
    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.held.owner, Owner::Mapped(_) | Owner::Writable(_))
    }

    /// The same words once more, where they cannot change.
    pub(crate) fn shared(&self) -> Option<Self> {
        let Held { words, len, owner: Owner::Mapped(map) } = &self.held else { return None };
        Some(Held { words: *words, len: *len, owner: Owner::Mapped(Arc::clone(map)) }.into())
    }

    /// Where the words change in a file, if they do.
    pub(crate) fn writable_map(&self) -> Option<&WritableMap> {
        match &self.held.owner {
            Owner::Writable(map) => Some(map),
            _ => None,
        }
    }
}

impl Held {
    #[inline(always)]
    fn is_read_only(&self) -> bool {
        matches!(self.owner, Owner::Mapped(_))
    }

    /// The same words in memory of their own.
    #[cold]
    #[inline(never)]
    fn copied(self) -> Self {
        let memory = Memory::from(self);
        std::mem::take(&mut Memory::copy_of(memory.words()).held)
    }
}

impl From<Held> for Memory {
    fn from(held: Held) -> Self {
        let len = if held.is_read_only() { 0 } else { held.len };
        Memory { in_place: NonNull::slice_from_raw_parts(held.words, len), held }
    }
}

impl Default for Memory {
    /// No words.
    fn default() -> Self {
        Held::default().into()
    }
}

impl Default for Held {
    fn default() -> Self {
        Held { words: NonNull::<Line>::dangling().cast(), len: 0, owner: Owner::Lines(0) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Owner::Lines(count) = self.owner {
            let lines = NonNull::slice_from_raw_parts(self.words.cast::<Line>(), count);
            // SAFETY: the pointer came from a box of this many lines (for none it is any aligned one), which is made anew
            // once, here.
            drop(unsafe { Box::from_raw(lines.as_ptr()) });
        }
    }
}

/// Words that threads share: the same memory, seen through atomic words alone.
pub(crate) struct SharedMemory(Memory);

impl SharedMemory {
    /// Gives memory over to be shared; no words when it is mapped for reading.
    pub(crate) fn new(memory: Memory) -> Self {
        SharedMemory(if memory.held.is_read_only() { Memory::default() } else { memory })
    }

    /// Takes back what nobody shares any more.
    pub(crate) fn into_memory(self) -> Memory {
        self.0
    }

    /// The words.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the memory is valid for reads and writes (`new` has seen to it) and aligned to cache lines, or to pages; an
        // atomic word has the size and the bit patterns of a plain one; and as long as it is in here, nobody sees it as
        // plain words.
        unsafe { std::slice::from_raw_parts(self.0.held.words.as_ptr().cast(), self.0.held.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_and_aligned_to_cache_lines_in_lines_and_in_pages() {
        let pages = LARGE_PAGE / 8;
        for (len, in_pages) in [(0, false), (1, false), (pages - 1, false), (pages, true), (pages + 3, true)] {
            let mut memory = Memory::zeroed(len).expect("some megabytes");
            assert_eq!(matches!(memory.held.owner, Owner::Pages { .. }), in_pages, "{len}");
            assert!(!memory.is_mapped() && memory.words().as_ptr().cast::<Line>().is_aligned());
            assert_eq!((memory.words().len(), memory.words().iter().any(|&word| word != 0)), (len, false));
            assert!(memory.is_settled());
            memory.words_in_place().fill(7);
            assert!(memory.words().iter().all(|&word| word == 7));
        }
    }

    #[test]
    fn words_mapped_for_reading_are_copied_when_they_are_changed_and_in_place_when_that_is_settled() {
        let mut map = MmapMut::map_anon(64).unwrap();
        map.fill(1);
        let map = Arc::new(map.make_read_only().unwrap());
        let mut memory = Memory::mapped(&map, 8, 7).expect("56 of the 64 bytes");
        let shared = memory.shared().expect("nothing can change there");
        assert!(memory.words_in_place().is_empty() && !memory.is_settled() && memory.is_mapped());
        memory.words_or_copy()[6] = 5;
        assert!(memory.words_in_place().is_empty() && !memory.is_settled() && !memory.is_mapped());
        assert!(memory.shared().is_none() && memory.words()[6] == 5 && memory.words()[..6] == shared.words()[..6]);
        memory.words_or_copy()[5] = 4;
        let mut memory = memory.settled();
        assert!(memory.is_settled() && memory.words_in_place()[5..] == [4, 5]);
        assert_eq!(shared.settled().words_in_place(), [0x0101_0101_0101_0101; 7], "the map is what it was");
    }
}

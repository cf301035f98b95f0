//! Words that are owned or mapped, behind one pointer: whoever asks for them pays two loads, whatever owns them.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::Mmap;

use crate::store::{Line, WORDS_PER_LINE, WritableMap};

/// Some words and what owns their memory.
pub(crate) struct Memory {
    /// The first word. Valid for reads of `len` words as long as `owner` lives and is not used otherwise, and for
    /// writes unless the owner is a map for reading.
    words: NonNull<u64>,
    len: usize,
    owner: Owner,
}

enum Owner {
    /// Leaked from a box, of this many lines; freed on drop. A box itself would claim its memory anew each time it is
    /// moved, and the pointer above would be void.
    Lines(usize),
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
    /// The first `len` words of these lines, fewer if there are not so many.
    pub(crate) fn owned(lines: Box<[Line]>, len: usize) -> Self {
        let (count, len) = (lines.len(), len.min(lines.len() * WORDS_PER_LINE));
        let words = NonNull::from(Box::leak(lines)).cast();
        Memory { words, len, owner: Owner::Lines(count) }
    }

    /// `len` words of a map from byte `offset` on, read in place; `None` when they are not in it or do not begin at a
    /// multiple of eight bytes.
    pub(crate) fn mapped(map: &Arc<Mmap>, offset: usize, len: usize) -> Option<Self> {
        let bytes = map.get(offset..offset.checked_add(len.checked_mul(8)?)?)?;
        // The view of all bytes as words exists only if they are aligned and whole.
        let words: &[u64] = bytemuck::try_cast_slice(bytes).ok()?;
        Some(Memory { words: NonNull::from(words).cast(), len, owner: Owner::Mapped(Arc::clone(map)) })
    }

    /// All of a map, which begins at a page and so at a multiple of eight bytes.
    pub(crate) fn writable(mut map: WritableMap) -> Self {
        let words: &mut [u64] = bytemuck::try_cast_slice_mut(&mut map.map).unwrap_or_default();
        Memory { len: words.len(), words: NonNull::from(words).cast(), owner: Owner::Writable(Box::new(map)) }
    }

    /// The words.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[u64] {
        // SAFETY: the pointer is valid for so many words (see the field), and changes need `&mut self`.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.len) }
    }

    /// The words, to be changed; `None` when they are mapped for reading.
    #[inline(always)]
    pub(crate) fn words_mut(&mut self) -> Option<&mut [u64]> {
        if let Owner::Mapped(_) = self.owner {
            return None;
        }
        // SAFETY: the pointer is valid for reads and writes of so many words (see the field), and `&mut self` is the
        // only way to them.
        Some(unsafe { std::slice::from_raw_parts_mut(self.words.as_ptr(), self.len) })
    }

    /// The lines; `None` unless the memory is owned.
    pub(crate) fn into_lines(self) -> Option<Box<[Line]>> {
        // What is not dropped is not freed below: the lines have one owner again.
        let memory = match self.owner {
            Owner::Lines(_) => ManuallyDrop::new(self),
            _ => return None,
        };
        memory.lines()
    }

    /// The box that the lines were leaked from. The caller lets it be freed once.
    fn lines(&self) -> Option<Box<[Line]>> {
        let Owner::Lines(count) = self.owner else { return None };
        let lines = NonNull::slice_from_raw_parts(self.words.cast::<Line>(), count);
        // SAFETY: the pointer came from a box of so many lines. Both callers are the end of this value.
        Some(unsafe { Box::from_raw(lines.as_ptr()) })
    }

    /// Whether the words are in a file.
    pub(crate) fn is_mapped(&self) -> bool {
        !matches!(self.owner, Owner::Lines(_))
    }

    /// The same words once more, where they cannot change.
    pub(crate) fn shared(&self) -> Option<Self> {
        let Owner::Mapped(map) = &self.owner else { return None };
        Some(Memory { words: self.words, len: self.len, owner: Owner::Mapped(Arc::clone(map)) })
    }

    /// Where the words change in a file, if they do.
    pub(crate) fn writable_map(&self) -> Option<&WritableMap> {
        match &self.owner {
            Owner::Writable(map) => Some(map),
            _ => None,
        }
    }
}

impl Default for Memory {
    /// No words.
    fn default() -> Self {
        Memory { words: NonNull::<Line>::dangling().cast(), len: 0, owner: Owner::Lines(0) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        drop(self.lines());
    }
}

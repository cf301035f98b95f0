//! Memory from the server, so that it counts in `used_memory` and `maxmemory` holds for filters too.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;

use super::{API, Api};

/// What the server's allocator aligns to in every build. The one over the C library puts a word before each block in old
/// servers, and so leaves 8 of 16.
const SERVER_ALIGN: usize = 8;

/// The server's allocator once the module is loaded, the system's before.
///
/// Nothing is allocated before loading, because no code of this library runs before, and loading sets the functions first of all: no
/// block changes hands between the two allocators. In the tests of this crate, which no server loads, all blocks are the system's.
struct Server;

#[global_allocator]
static SERVER: Server = Server;

/// Blocks aligned to more than the server gives begin a little further in, with the distance in the word before them.
fn padded(layout: Layout) -> Option<usize> {
    layout.size().checked_add(layout.align())?.checked_add(size_of::<usize>())
}

/// # Safety
///
/// `block` is null or a block of [`padded`] bytes, aligned to a word.
unsafe fn aligned(block: *mut c_void, layout: Layout) -> *mut u8 {
    if block.is_null() {
        return std::ptr::null_mut();
    }
    let block = block.cast::<u8>();
    let distance = size_of::<usize>();
    let distance = distance + (block as usize + distance).wrapping_neg() % layout.align();
    // SAFETY: the distance is below a word and the alignment, so that the layout's size is left of the block; the word before lies in
    // the block and is aligned, because block and distance are multiples of a word (alignments above 8 are).
    unsafe {
        let start = block.add(distance);
        start.cast::<usize>().sub(1).write(distance);
        start
    }
}

impl Api {
    /// A block, or null; old servers end when they have none.
    unsafe fn block(&self, bytes: usize) -> *mut c_void {
        // SAFETY: both take any size.
        unsafe { self.TryAlloc.unwrap_or(self.Alloc)(bytes) }
    }
}

// SAFETY: the functions of the server are those of a general allocator and may be called from any thread; sizes and alignments are
// kept as described. `dealloc` and `realloc` get blocks of the allocator that made them, as argued at `Server`.
unsafe impl GlobalAlloc for Server {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(api) = API.get() else {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        };
        if layout.align() <= SERVER_ALIGN {
            // SAFETY: any size is taken.
            return unsafe { api.block(layout.size()) }.cast();
        }
        let Some(bytes) = padded(layout) else { return std::ptr::null_mut() };
        // SAFETY: the block has the padded size.
        unsafe { aligned(api.block(bytes), layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(api) = API.get() else {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        };
        if layout.align() <= SERVER_ALIGN {
            // SAFETY: any size is taken.
            return unsafe { (api.Calloc)(1, layout.size()) }.cast();
        }
        let Some(bytes) = padded(layout) else { return std::ptr::null_mut() };
        // SAFETY: the block has the padded size.
        unsafe { aligned((api.Calloc)(1, bytes), layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        let Some(api) = API.get() else {
            // SAFETY: the caller's promise.
            return unsafe { System.dealloc(start, layout) };
        };
        let distance = if layout.align() <= SERVER_ALIGN {
            0
        } else {
            // SAFETY: `aligned` has written the distance there.
            unsafe { start.cast::<usize>().sub(1).read() }
        };
        // SAFETY: this is where the block begins.
        unsafe { (api.Free)(start.sub(distance).cast()) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(api) = API.get() else {
            // SAFETY: the caller's promise.
            return unsafe { System.realloc(start, layout, size) };
        };
        if layout.align() <= SERVER_ALIGN {
            // SAFETY: a block of the server; any size is taken.
            return unsafe { (api.Realloc)(start.cast(), size) }.cast();
        }
        // SAFETY: the caller has checked that the new size is one of a layout; both blocks hold the lesser size.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(start, new, size.min(layout.size()));
                self.dealloc(start, layout);
            }
            new
        }
    }
}

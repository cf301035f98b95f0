//! Values of the module's types, and their ways into snapshots and append-only files.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{Ctx, DefragHandle, DigestHandle, Io, ModuleType, Opaque, RedisString, api, c_text, guarded};

/// What a key can hold.
pub trait Value: Clone + Send + Sync + 'static {
    /// The name of the type in snapshots: nine letters.
    const NAME: &'static CStr;

    /// The version of what [`save`](Value::save) writes.
    const VERSION: u32;

    /// Where the server's handle of the type is kept.
    const SLOT: &'static TypeSlot;

    /// Reads what `save` of this or an older version wrote.
    fn load(load: &mut Load, version: u32) -> Result<Self, String>;

    /// Writes the value to a snapshot.
    fn save(&self, save: &mut Save);

    /// Writes the commands that make the value.
    fn rewrite(&self, rewrite: &mut Rewrite);

    /// Tells the value to a digest.
    fn digest(&self, digest: &mut Digest);

    /// The bytes that it takes.
    fn memory(&self) -> u64;

    /// Gives its arrays to where the server wants them, as far as it can.
    fn rehouse(&mut self, _: &Mover<'_>) {}
}

/// The server's handle of a type.
pub struct TypeSlot(AtomicPtr<Opaque>);

impl TypeSlot {
    /// Not known yet.
    pub const fn new() -> Self {
        TypeSlot(AtomicPtr::new(std::ptr::null_mut()))
    }

    pub(super) fn of<T: Value>() -> &'static TypeSlot {
        T::SLOT
    }

    pub(super) fn get(&self) -> ModuleType {
        self.0.load(Ordering::Acquire)
    }

    pub(super) fn is(&self, handle: ModuleType) -> bool {
        !handle.is_null() && self.get() == handle
    }
}

/// A snapshot that is written.
pub struct Save(Io);

impl Save {
    /// Writes a number.
    pub fn unsigned(&mut self, number: u64) {
        // SAFETY: the stream that the server gave to `save`, as in the next two.
        unsafe { (api().SaveUnsigned)(self.0, number) }
    }

    /// Writes a number with a fraction.
    pub fn double(&mut self, number: f64) {
        // SAFETY: as above.
        unsafe { (api().SaveDouble)(self.0, number) }
    }

    /// Writes bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        // SAFETY: as above.
        unsafe { (api().SaveStringBuffer)(self.0, bytes.as_ptr().cast(), bytes.len()) }
    }
}

/// A snapshot that is read. After an error nothing of it counts.
pub struct Load(Io);

impl Load {
    fn checked<T>(&self, value: T) -> Result<T, String> {
        // SAFETY: the stream that the server gave to `load`.
        if unsafe { (api().IsIOError)(self.0) } == 0 { Ok(value) } else { Err("the snapshot is cut short".into()) }
    }

    /// Reads a number.
    pub fn unsigned(&mut self) -> Result<u64, String> {
        // SAFETY: as above; with HANDLE_IO_ERRORS a failed read gives something and sets the error, as in the next.
        let number = unsafe { (api().LoadUnsigned)(self.0) };
        self.checked(number)
    }

    /// Reads a number that must be below 2^32.
    pub fn small(&mut self) -> Result<u32, String> {
        let number = self.unsigned()?;
        u32::try_from(number).map_err(|_| format!("{number} is too large"))
    }

    /// Reads a number with a fraction.
    pub fn double(&mut self) -> Result<f64, String> {
        // SAFETY: as above.
        let number = unsafe { (api().LoadDouble)(self.0) };
        self.checked(number)
    }

    /// Reads bytes.
    pub fn bytes(&mut self) -> Result<Vec<u8>, String> {
        let mut len = 0;
        // SAFETY: the stream of `load`, and room for a length.
        let start = unsafe { (api().LoadStringBuffer)(self.0, &raw mut len) };
        if start.is_null() {
            return Err("the snapshot is cut short".into());
        }
        if len == 0 {
            // SAFETY: the server has left an empty block to us, which an empty vector would not free.
            unsafe { (api().Free)(start.cast()) };
            return self.checked(Vec::new());
        }
        // SAFETY: the server has allocated `len` bytes and left them to us. A vector of bytes is freed by our allocator, which gives
        // blocks of an alignment up to 8 back to the server as they are; the capacity is not used for that.
        let bytes = unsafe { Vec::from_raw_parts(start.cast::<u8>(), len, len) };
        self.checked(bytes)
    }
}

/// An append-only file that is written anew, at one key.
pub struct Rewrite {
    io: Io,
    key: RedisString,
}

impl Rewrite {
    /// Writes a command of the key and some bytes.
    pub fn with_bytes(&mut self, command: &CStr, bytes: &[u8]) {
        // SAFETY: the stream and the key that the server gave to `rewrite`; the format names a string of the server and a buffer
        // with its length.
        unsafe {
            (api().EmitAOF)(
                self.io,
                command.as_ptr(),
                c"sb".as_ptr(),
                self.key,
                bytes.as_ptr().cast::<c_char>(),
                bytes.len(),
            );
        }
    }

    /// Writes a command of the key, a number and some bytes.
    pub fn with_chunk(&mut self, command: &CStr, number: u64, bytes: &[u8]) {
        let number = number as std::ffi::c_longlong;
        // SAFETY: as above, with a number before the buffer.
        unsafe {
            let start = bytes.as_ptr().cast::<c_char>();
            (api().EmitAOF)(self.io, command.as_ptr(), c"slb".as_ptr(), self.key, number, start, bytes.len());
        }
    }
}

/// What `DEBUG DIGEST` makes of a value.
pub struct Digest(DigestHandle);

impl Digest {
    /// Adds bytes, in order.
    pub fn bytes(&mut self, bytes: &[u8]) {
        // SAFETY: the digest that the server gave to `digest`.
        unsafe { (api().DigestAddStringBuffer)(self.0, bytes.as_ptr().cast(), bytes.len()) }
    }
}

/// The methods of a type as the server takes them, in their third version, which every server since 6.2 reads.
#[repr(C)]
pub(super) struct Methods {
    version: u64,
    load: unsafe extern "C" fn(Io, c_int) -> *mut c_void,
    save: unsafe extern "C" fn(Io, *mut c_void),
    rewrite: unsafe extern "C" fn(Io, RedisString, *mut c_void),
    memory: unsafe extern "C" fn(*const c_void) -> usize,
    digest: unsafe extern "C" fn(DigestHandle, *mut c_void),
    free: unsafe extern "C" fn(*mut c_void),
    aux_load: Option<unsafe extern "C" fn()>,
    aux_save: Option<unsafe extern "C" fn()>,
    aux_save_triggers: c_int,
    free_effort: unsafe extern "C" fn(RedisString, *const c_void) -> usize,
    unlink: Option<unsafe extern "C" fn()>,
    copy: unsafe extern "C" fn(RedisString, RedisString, *const c_void) -> *mut c_void,
    defrag: unsafe extern "C" fn(DefragHandle, RedisString, *mut *mut c_void) -> c_int,
}

/// # Safety
///
/// Called by the server with the stream of a snapshot.
unsafe extern "C" fn load<T: Value>(io: Io, version: c_int) -> *mut c_void {
    let refuse = |why: &str| {
        let text = c_text(why);
        // SAFETY: the server's stream, and a format with two texts.
        unsafe {
            let format = c"a value of type %s was refused: %s".as_ptr();
            (api().LogIOError)(io, c"warning".as_ptr(), format, T::NAME.as_ptr(), text.as_ptr());
        }
        std::ptr::null_mut()
    };
    let read = || match u32::try_from(version).ok().filter(|version| *version <= T::VERSION) {
        None => refuse("it was written by a newer version"),
        Some(version) => T::load(&mut Load(io), version)
            .map_or_else(|why| refuse(&why), |value| Box::into_raw(Box::new(value)).cast()),
    };
    guarded(read, refuse)
}

/// # Safety
///
/// Called by the server with a value of this type, as all of the next.
unsafe extern "C" fn save<T: Value>(io: Io, value: *mut c_void) {
    // SAFETY: values of the type are boxes of `T`, as `load`, `copy` and `Call::create` made them; so below.
    guarded(|| unsafe { &*value.cast::<T>() }.save(&mut Save(io)), |_| ());
}

unsafe extern "C" fn rewrite<T: Value>(io: Io, key: RedisString, value: *mut c_void) {
    // SAFETY: as above.
    guarded(|| unsafe { &*value.cast::<T>() }.rewrite(&mut Rewrite { io, key }), |_| ());
}

unsafe extern "C" fn memory<T: Value>(value: *const c_void) -> usize {
    // SAFETY: as above.
    guarded(|| unsafe { &*value.cast::<T>() }.memory() as usize, |_| 0)
}

unsafe extern "C" fn digest<T: Value>(handle: DigestHandle, value: *mut c_void) {
    // SAFETY: as above, and the server's digest.
    guarded(
        || unsafe {
            (*value.cast::<T>()).digest(&mut Digest(handle));
            (api().DigestEndSequence)(handle);
        },
        |_| (),
    );
}

/// Any thread frees values: nothing of them belongs to one.
unsafe extern "C" fn free<T: Value>(value: *mut c_void) {
    // SAFETY: the server gives up the value, which was made from a box.
    guarded(|| drop(unsafe { Box::from_raw(value.cast::<T>()) }), |_| ());
}

/// Large values are freed in the background: the server compares this with 64.
unsafe extern "C" fn free_effort<T: Value>(_: RedisString, value: *const c_void) -> usize {
    const PAGE: u64 = 4_096;
    // SAFETY: as above.
    guarded(|| (unsafe { &*value.cast::<T>() }.memory() / PAGE) as usize + 1, |_| 1)
}

unsafe extern "C" fn copy<T: Value>(_: RedisString, _: RedisString, value: *const c_void) -> *mut c_void {
    // SAFETY: as above.
    guarded(|| Box::into_raw(Box::new(unsafe { &*value.cast::<T>() }.clone())).cast(), |_| std::ptr::null_mut())
}

/// Moves arrays to where the server wants them.
pub struct Mover<'a> {
    /// Copies a block to a better place and frees the old one, or gives null and leaves it.
    move_block: &'a dyn Fn(*mut c_void) -> *mut c_void,
}

impl Mover<'_> {
    /// The same array, perhaps at another place.
    pub fn array<T: Copy>(&self, array: Vec<T>) -> Vec<T> {
        const { assert!(align_of::<T>() <= 8, "the block begins where the array does") }
        if array.capacity() == 0 || size_of::<T>() == 0 {
            return array;
        }
        let mut array = std::mem::ManuallyDrop::new(array);
        let (start, len, capacity) = (array.as_mut_ptr(), array.len(), array.capacity());
        let moved = (self.move_block)(start.cast()).cast::<T>();
        let start = if moved.is_null() { start } else { moved };
        // SAFETY: the array's own block, which nobody else knows, or a copy of it of the same size from the same allocator, which has freed
        // the old one; blocks of such alignments begin where arrays do, and the server aligns them to 8.
        unsafe { Vec::from_raw_parts(start, len, capacity) }
    }
}

/// Moves a value and its arrays to better places.
///
/// What stays is what begins inside of its block: the stores of `BQ.*` lie at cache lines, the distance to the block's beginning before them, and
/// a copy of the block at another address would have another distance. The server moves blocks of small classes only (up to 14 KiB), so
/// that few of those stores would be moved at all.
unsafe extern "C" fn defrag<T: Value>(handle: DefragHandle, _: RedisString, value: *mut *mut c_void) -> c_int {
    const { assert!(align_of::<T>() <= 8, "the block begins where the value does") }
    if let Some(move_block) = api().DefragAlloc {
        // SAFETY: the server's handle, and blocks of its allocator.
        let move_block = |block: *mut c_void| unsafe { move_block(handle, block) };
        // SAFETY: the value's own block, which the server has copied and freed if it gives another; values move as bytes. Nobody else
        // reads or changes the value meanwhile: the server calls its module from one thread at a time.
        unsafe {
            let moved = move_block(*value);
            if !moved.is_null() {
                *value = moved;
            }
            let value = &mut *(*value).cast::<T>();
            guarded(|| value.rehouse(&Mover { move_block: &move_block }), |_| ());
        }
    }
    0
}

/// Registers a type with the server.
pub(super) fn register<T: Value>(ctx: Ctx) -> bool {
    let mut methods = Methods {
        version: 3,
        load: load::<T>,
        save: save::<T>,
        rewrite: rewrite::<T>,
        memory: memory::<T>,
        digest: digest::<T>,
        free: free::<T>,
        aux_load: None,
        aux_save: None,
        aux_save_triggers: 0,
        free_effort: free_effort::<T>,
        unlink: None,
        copy: copy::<T>,
        defrag: defrag::<T>,
    };
    // SAFETY: during loading, with a name of nine letters; the server copies the methods.
    let handle = unsafe { (api().CreateDataType)(ctx, T::NAME.as_ptr(), T::VERSION as c_int, &raw mut methods) };
    T::SLOT.0.store(handle, Ordering::Release);
    !handle.is_null()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bouquet::foreign::{BloomShape, CuckooShape, RedisBloomChain, RedisCountMinSketch, RedisCuckooChain};
    use std::cell::Cell;

    unsafe extern "C" {
        fn malloc(bytes: usize) -> *mut c_void;
        fn free(block: *mut c_void);
        fn malloc_usable_size(block: *mut c_void) -> usize;
    }

    /// Arrays that are all moved hold what they held, grow and are freed as before. Without a server, blocks are the C library's.
    #[test]
    fn filters_whose_arrays_have_moved_are_the_same() {
        let moves = Cell::new(0);
        let move_block = |block: *mut c_void| {
            moves.set(moves.get() + 1);
            // SAFETY: a block of the C library, which is copied whole and freed.
            unsafe {
                let bytes = malloc_usable_size(block);
                let new = malloc(bytes);
                std::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), bytes);
                free(block);
                new
            }
        };
        let mover = Mover { move_block: &move_block };
        let mut bloom = RedisBloomChain::new(&BloomShape::default(), u64::MAX).expect("a chain");
        let mut cuckoo = RedisCuckooChain::new(&CuckooShape::default(), u64::MAX).expect("a chain");
        let mut sketch = RedisCountMinSketch::new(100, 4, u64::MAX).expect("a sketch");
        for number in 0..3_000u32 {
            let key = number.to_le_bytes();
            bloom.insert(&key).expect("it grows");
            cuckoo.insert(&key, u64::MAX).expect("it grows");
            sketch.add(&key, 3);
            if number % 100 == 0 {
                let before = (bloom.clone(), cuckoo.clone(), sketch.clone());
                bloom.rehouse(|array| mover.array(array));
                cuckoo.rehouse(|array| mover.array(array));
                sketch.rehouse(|array| mover.array(array));
                assert!(before == (bloom.clone(), cuckoo.clone(), sketch.clone()), "after {number}");
            }
        }
        assert!(moves.get() > 90, "{} arrays were moved", moves.get());
        let stay = |_: *mut c_void| std::ptr::null_mut();
        let mover = Mover { move_block: &stay };
        assert_eq!((mover.array(vec![1u8, 2]), mover.array(Vec::<u8>::new())), (vec![1, 2], vec![]));
    }
}

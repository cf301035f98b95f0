//! Ends that the program does not choose: signals, memory that runs out, a file that vanishes under its map.
//!
//! Whatever it is, files are left as they should be, and what is said is one line.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::failure::{Failure, say};

/// What the program is at, for those who end it.
struct Task {
    /// The file concerned, as it is told: its name and a colon, or nothing.
    about: String,
    /// What a user can do who lacks the memory for it.
    remedy: &'static str,
}

/// What the program is at. Never freed: a signal handler may look at it at any time.
static TASK: AtomicPtr<Task> = AtomicPtr::new(std::ptr::null_mut());

/// Tells what the program turns to now: a file, and what helps if its memory does not suffice for it.
pub fn now_at(path: Option<&Path>, remedy: &'static str) {
    let about = path.map_or(String::new(), |path| crate::output::plain(&format!("{}: ", path.display())));
    TASK.store(Box::into_raw(Box::new(Task { about, remedy })), Ordering::Release);
}

fn task() -> (&'static str, &'static str) {
    // SAFETY: the pointer is null or that of a box that was leaked above and is never changed or freed.
    #[allow(unsafe_code)]
    let task = unsafe { TASK.load(Ordering::Acquire).as_ref() };
    task.map_or(("", "give it more memory"), |task| (task.about.as_str(), task.remedy))
}

/// Writes one line to standard error and ends the program at once, without allocating.
fn end_with(line: std::fmt::Arguments<'_>) -> ! {
    let mut buffer = [0; 1024];
    let mut rest = &mut buffer[..];
    // What does not fit is cut.
    let _ = writeln!(rest, "bouquet: {line}");
    let left = rest.len();
    let len = buffer.len() - left;
    if left == 0 {
        buffer[len - 1] = b'\n';
    }
    #[cfg(unix)]
    {
        let _ = rustix::io::write(std::io::stderr(), &buffer[..len]);
        signal_hook::low_level::exit(2)
    }
    #[cfg(not(unix))]
    {
        let _ = std::io::stderr().write_all(&buffer[..len]);
        std::process::exit(2)
    }
}

/// Memory that runs out ends the program with one line, wherever it happens. What the standard library does instead, on
/// a stable compiler without a choice, is to print several lines and abort.
mod memory {
    #![allow(unsafe_code)]

    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, Ordering};

    struct Told;

    #[global_allocator]
    static ALLOCATOR: Told = Told;

    thread_local! {
        /// Whether somebody looks at the outcome of an allocation. No destructor: it can be read at any time.
        static EXPECTED: Cell<bool> = const { Cell::new(false) };
    }

    /// Does something that can do without the memory that it asks for.
    pub fn unless_refused<T>(what: impl FnOnce() -> T) -> T {
        let before = EXPECTED.replace(true);
        let done = what();
        EXPECTED.set(before);
        done
    }

    impl Told {
        /// Passes on what was allocated; ends the program if it was nothing.
        #[inline]
        fn checked(self, memory: *mut u8, bytes: usize) -> *mut u8 {
            if memory.is_null() && !EXPECTED.get() {
                ran_out(bytes)
            }
            memory
        }
    }

    impl Clone for Told {
        fn clone(&self) -> Self {
            *self
        }
    }

    impl Copy for Told {}

    #[cold]
    fn ran_out(bytes: usize) -> ! {
        static ENDING: AtomicBool = AtomicBool::new(false);
        // Removing the files below may allocate, in vain.
        if !ENDING.swap(true, Ordering::Relaxed) {
            bouquet::abandon_saves();
        }
        let (about, remedy) = super::task();
        super::end_with(format_args!("{about}out of memory: {bytes} bytes more cannot be had; {remedy}"))
    }

    // SAFETY: every call is handed to the system's allocator with the arguments as they came, so that its promises and
    // its demands are those of this one; what it gives is passed on unchanged, or the process ends.
    unsafe impl GlobalAlloc for Told {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: the caller's promise on `layout` is the one that `System` wants.
            self.checked(unsafe { System.alloc(layout) }, layout.size())
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            // SAFETY: as in `alloc`.
            self.checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
        }

        unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            // SAFETY: as in `alloc`; `memory` came from `System` through the functions above.
            self.checked(unsafe { System.realloc(memory, layout, size) }, size)
        }

        unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
            // SAFETY: as in `realloc`.
            unsafe { System.dealloc(memory, layout) }
        }
    }
}

pub use memory::unless_refused;

/// What must be done before the program ends by a signal.
type LastAct = Box<dyn FnOnce() + Send>;

static LAST_ACT: Mutex<Option<LastAct>> = Mutex::new(None);

/// Whether a signal ends the program.
static ENDING: AtomicBool = AtomicBool::new(false);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A value that is put in order when a signal ends the program. Who works on it keeps the signal waiting, so that work
/// is done in small steps, and nothing that may take long is awaited meanwhile.
pub struct Kept<T>(Arc<Mutex<Option<T>>>);

impl<T: Send + 'static> Kept<T> {
    /// Nothing yet. `put_in_order` is called by a signal that comes while there is something.
    pub fn new(put_in_order: impl FnOnce(T) + Send + 'static) -> Result<Self, Failure> {
        let shared = Arc::new(Mutex::new(None));
        let kept = Kept(Arc::clone(&shared));
        *locked(&LAST_ACT) = Some(Box::new(move || {
            // Waits for the step that is under way.
            if let Some(value) = locked(&shared).take() {
                put_in_order(value);
            }
        }));
        catch_signals()?;
        Ok(kept)
    }

    /// Takes a step with the value, if there is one.
    pub fn step<R>(&self, step: impl FnOnce(&mut Option<T>) -> R) -> R {
        let mut value = locked(&self.0);
        if ENDING.load(Ordering::Acquire) {
            drop(value);
            stop_if_ending();
            value = locked(&self.0);
        }
        step(&mut value)
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        *locked(&LAST_ACT) = None;
    }
}

/// Waits for the end if a signal has come: another thread sees to it, and says what is to be said.
pub fn stop_if_ending() {
    while ENDING.load(Ordering::Acquire) {
        std::thread::park();
    }
}

#[cfg(unix)]
mod signals {
    #![allow(unsafe_code)]

    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    use signal_hook::consts::{SIGBUS, SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level;

    use super::{ENDING, LAST_ACT, end_with, locked, task};
    use crate::failure::Failure;

    /// Sees to it that signals which end programs find the files in order: temporary ones are removed, and what is
    /// [kept](super::Kept) is put in order. Before this is called they end the program at once.
    pub fn catch_signals() -> Result<(), Failure> {
        static CAUGHT: OnceLock<Result<(), String>> = OnceLock::new();
        let caught = CAUGHT.get_or_init(|| {
            let signals: Vec<_> = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)).collect();
            let mut signals = Signals::new(signals).map_err(|error| error.to_string())?;
            let wait = move || {
                let Some(signal) = signals.forever().next() else { return };
                ENDING.store(true, Ordering::Release);
                let act = locked(&LAST_ACT).take();
                if let Some(act) = act {
                    act();
                }
                bouquet::abandon_saves();
                let _ = low_level::emulate_default_handler(signal);
                low_level::exit(2)
            };
            std::thread::Builder::new().stack_size(1 << 18).spawn(wait).map(drop).map_err(|error| error.to_string())
        });
        caught.clone().map_err(|error| Failure::new(format!("signals cannot be caught: {error}; give it more memory")))
    }

    /// Whether the program was started with the signal ignored, as `nohup` does: then it stays so.
    fn is_ignored(signal: i32) -> bool {
        let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: without a new action this only writes the present one to `now`, which is as large as it must be; all
        // zeros are a valid value of that plain structure if it fails.
        let now = unsafe {
            libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr());
            now.assume_init()
        };
        now.sa_sigaction == libc::SIG_IGN
    }

    /// Sees to it that a mapped file that is cut short, or whose disk fails, ends the program with one line.
    pub fn catch_bus_errors() {
        let act = || {
            let (about, _) = task();
            end_with(format_args!(
                "{about}the file was cut short, or its disk is full or fails, while the filter was used in it; \
                 restore it and leave it alone meanwhile"
            ))
        };
        // SAFETY: the action reads an atomic pointer and what it leads to, formats into memory on the stack, writes to
        // standard error and ends the process: all of which a signal handler may do.
        let _ = unsafe { low_level::register(SIGBUS, act) };
    }

    /// Whether standard input and output were closed when the program started.
    static CLOSED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

    /// The standard library opens what is closed as the null device before `main` begins: what is printed would vanish
    /// without a word, and a filter be built of no keys. The loader calls this before.
    #[cfg(target_os = "linux")]
    #[used]
    // SAFETY: the loader calls the functions whose addresses are in this section with three arguments that none needs to
    // take; this one is such a function, makes two system calls without side effects and stores two flags.
    #[unsafe(link_section = ".init_array")]
    static LOOK_AT_STREAMS: extern "C" fn() = {
        extern "C" fn look() {
            for (closed, stream) in CLOSED.iter().zip([libc::STDIN_FILENO, libc::STDOUT_FILENO]) {
                // SAFETY: a question about a number; it need not be an open file.
                closed.store(unsafe { libc::fcntl(stream, libc::F_GETFD) } == -1, Ordering::Relaxed);
            }
        }
        look
    };

    /// Whether standard input was closed when the program started.
    pub fn is_stdin_closed() -> bool {
        CLOSED[0].load(Ordering::Relaxed)
    }

    /// Whether standard output was closed when the program started.
    pub fn is_stdout_closed() -> bool {
        CLOSED[1].load(Ordering::Relaxed)
    }
}

#[cfg(not(unix))]
mod signals {
    use crate::failure::Failure;

    pub fn catch_signals() -> Result<(), Failure> {
        Ok(())
    }

    pub fn catch_bus_errors() {}

    pub fn is_stdin_closed() -> bool {
        false
    }

    pub fn is_stdout_closed() -> bool {
        false
    }
}

pub use signals::{catch_bus_errors, catch_signals, is_stdin_closed, is_stdout_closed};

/// A fault of the program itself is told in one line, too.
pub fn tell_of_panics() {
    std::panic::set_hook(Box::new(|panic| {
        bouquet::abandon_saves();
        say(&format!("a fault of the program: {panic}; please report it"));
        std::process::exit(2)
    }));
}

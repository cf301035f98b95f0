//! Loading: what the module registers with the server.

use std::ffi::{CStr, CString, c_char, c_int, c_longlong, c_void};
use std::sync::atomic::{AtomicI64, Ordering};

use super::call::Entry;
use super::value::{Value, register};
use super::{API, Api, Ctx, ERR, OK, RedisString, api, c_text, guarded};
use crate::command::usage::{self, Argument, Sort};

/// The module reads damaged snapshots itself.
const HANDLE_IO_ERRORS: c_int = 1;

/// The number may be given as `64mb`.
const CONFIG_MEMORY: std::ffi::c_uint = 1 << 7;

/// A number that the server's configuration has, under the module's name.
pub struct Setting {
    /// Its name.
    pub name: &'static CStr,
    /// Its value; what it holds when the module is loaded is the default.
    pub value: &'static AtomicI64,
    /// The least value.
    pub least: i64,
    /// The greatest value.
    pub most: i64,
    /// Whether it is a number of bytes.
    pub is_memory: bool,
}

/// The versions of structures that the server checks.
#[repr(C)]
struct InfoVersion {
    version: c_int,
    history_entry: usize,
    key_spec: usize,
    argument: usize,
}

/// What `COMMAND DOCS` and cluster routing know of a command.
#[repr(C)]
pub(super) struct CommandInfo {
    version: *const InfoVersion,
    summary: *const c_char,
    complexity: *const c_char,
    since: *const c_char,
    history: *const c_void,
    tips: *const c_char,
    arity: c_int,
    key_specs: *const KeySpec,
    arguments: *const CommandArg,
}

/// What a command takes.
#[repr(C)]
struct CommandArg {
    name: *const c_char,
    sort: c_int,
    key_spec: c_int,
    token: *const c_char,
    summary: *const c_char,
    since: *const c_char,
    flags: c_int,
    deprecated_since: *const c_char,
    parts: *const CommandArg,
    display: *const c_char,
}

const ARG_OPTIONAL: c_int = 1;
const ARG_MULTIPLE: c_int = 2;

/// The sorts of arguments, by the server's numbers.
fn arg_sort(sort: Sort) -> c_int {
    match sort {
        Sort::Text => 0,
        Sort::Int => 1,
        Sort::Double => 2,
        Sort::Key => 3,
        Sort::Token => 6,
        Sort::Block => 8,
    }
}

/// The arguments of a command and everything that they point at.
#[derive(Default)]
struct Args {
    texts: Vec<Vec<u8>>,
    lists: Vec<Vec<CommandArg>>,
}

impl Args {
    fn text(&mut self, text: &str) -> *const c_char {
        self.texts.push(c_text(text));
        // The bytes stay where they are when the list grows.
        self.texts.last().map_or(std::ptr::null(), |text| text.as_ptr().cast())
    }

    /// The list of these arguments, ended by one of zeros; null for none. `keys` counts those that are keys, whose specifications are in
    /// the same order; there may be fewer.
    fn list(&mut self, arguments: &[Argument], keys: &mut c_int, specs: c_int) -> *const CommandArg {
        if arguments.is_empty() {
            return std::ptr::null();
        }
        let null = std::ptr::null::<c_char>;
        let mut list: Vec<CommandArg> = Vec::with_capacity(arguments.len() + 1);
        for argument in arguments {
            let key_spec = if argument.sort == Sort::Key { (*keys).min(specs - 1) } else { -1 };
            *keys += c_int::from(argument.sort == Sort::Key);
            let optional = if argument.optional { ARG_OPTIONAL } else { 0 };
            let multiple = if argument.multiple { ARG_MULTIPLE } else { 0 };
            list.push(CommandArg {
                name: self.text(&argument.name),
                sort: arg_sort(argument.sort),
                key_spec,
                token: argument.token.as_ref().map_or(null(), |token| self.text(token)),
                summary: null(),
                since: null(),
                flags: optional | multiple,
                deprecated_since: null(),
                parts: self.list(&argument.parts, keys, specs),
                display: null(),
            });
        }
        list.push(CommandArg {
            name: null(),
            sort: 0,
            key_spec: 0,
            token: null(),
            summary: null(),
            since: null(),
            flags: 0,
            deprecated_since: null(),
            parts: std::ptr::null(),
            display: null(),
        });
        self.lists.push(list);
        self.lists.last().map_or(std::ptr::null(), Vec::as_ptr)
    }
}

/// Where the keys of a command are. Of the two unions of the server's structure, the larger members are named: `begin` is a
/// position (with room for the keyword's pointer and start), `find` three numbers.
#[repr(C)]
#[derive(Clone, Copy)]
struct KeySpec {
    notes: *const c_char,
    flags: u64,
    begin_type: c_int,
    begin: Begin,
    find_type: c_int,
    find: [c_int; 3],
}

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Begin {
    position: c_int,
    room: [c_int; 3],
}

const BEGIN_INDEX: c_int = 2;
const FIND_RANGE: c_int = 2;
const FIND_COUNTED: c_int = 3;

const KEY_RO: u64 = 1;
const KEY_RW: u64 = 2;
const KEY_ACCESS: u64 = 1 << 4;
const KEY_UPDATE: u64 = 1 << 5;

/// The whole sizes of the server's structures, which it steps by.
static VERSION: InfoVersion = InfoVersion {
    version: 1,
    history_entry: 2 * size_of::<usize>(),
    key_spec: size_of::<KeySpec>(),
    argument: size_of::<CommandArg>(),
};

/// The module while it is loaded.
pub struct Module {
    ctx: Ctx,
}

impl Module {
    /// Registers a type.
    pub fn value<T: Value>(&mut self) -> Result<(), String> {
        if register::<T>(self.ctx) { Ok(()) } else { Err(format!("the type {:?} is taken", T::NAME)) }
    }

    /// Registers a command.
    pub fn command(&mut self, command: &crate::command::Command) -> Result<(), String> {
        use crate::command::Keys;
        let [name, flags] = [command.name, command.flags].map(c_text);
        let (first, last, step) = match command.keys {
            Keys::None => (0, 0, 0),
            Keys::First { .. } | Keys::Counted => (1, 1, 1),
            Keys::All { .. } => (1, -1, 1),
            Keys::Two => (1, 2, 1),
        };
        let Entry(function) = command.run;
        // SAFETY: the context of loading; texts end with NUL, and the server copies them; so below.
        let created = unsafe {
            (api().CreateCommand)(self.ctx, name.as_ptr().cast(), function, flags.as_ptr().cast(), first, last, step)
        };
        if created != OK {
            return Err(format!("the command {} is taken", command.name));
        }
        self.describe(command);
        Ok(())
    }

    /// Tells newer servers more.
    fn describe(&mut self, command: &crate::command::Command) {
        let (Some(get), Some(set)) = (api().GetCommand, api().SetCommandInfo) else { return };
        let name = c_text(command.name);
        // SAFETY: as above.
        let handle = unsafe { get(self.ctx, name.as_ptr().cast()) };
        if handle.is_null() {
            return;
        }
        let [summary, complexity, since] = [command.summary, command.complexity, "1.0.0"].map(c_text);
        let specs = key_specs(command);
        let mut args = Args::default();
        // The last specification is their end.
        let arguments = args.list(&usage::parse(command.usage), &mut 0, specs.len() as c_int - 1);
        let info = CommandInfo {
            version: &raw const VERSION,
            summary: summary.as_ptr().cast(),
            complexity: complexity.as_ptr().cast(),
            since: since.as_ptr().cast(),
            history: std::ptr::null(),
            tips: std::ptr::null(),
            arity: command.arity,
            key_specs: specs.as_ptr(),
            arguments,
        };
        // SAFETY: the structures are those of the server's interface, of the sizes that `VERSION` says; specifications and
        // arguments end with one of zeros, and `args` holds what the latter point at. The server copies everything.
        unsafe { set(handle, &raw const info) };
        if let Some(set) = api().SetCommandACLCategories {
            let is_write = command.flags.starts_with("write");
            let speed = if command.flags.contains("fast") { "fast" } else { "slow" };
            let category = command.name.split('.').next().and_then(category);
            let own = category.filter(|_| api().AddACLCategory.is_some()).unwrap_or("");
            let categories = c_text(format!("{} {speed} {own}", if is_write { "write" } else { "read" }).trim_end());
            // SAFETY: as above.
            unsafe { set(handle, categories.as_ptr().cast()) };
        }
    }

    /// Makes the module's ACL categories known to servers that have such.
    pub fn categories(&mut self) {
        if let Some(add) = api().AddACLCategory {
            for prefix in ["bf", "cf", "cms", "topk", "bq"] {
                let name = c_text(category(prefix).unwrap_or(prefix));
                // SAFETY: the context of loading. A category that exists already is the one that is meant.
                unsafe { add(self.ctx, name.as_ptr().cast()) };
            }
        }
    }

    /// Registers numbers with the server's configuration, where it has one for modules, and reads them from it.
    pub fn settings(&mut self, settings: &'static [Setting]) -> Result<(), String> {
        let (Some(number), Some(load)) = (api().RegisterNumericConfig, api().LoadConfigs) else { return Ok(()) };
        for setting in settings {
            let flags = if setting.is_memory { CONFIG_MEMORY } else { 0 };
            let (now, data) = (setting.value.load(Ordering::Relaxed), std::ptr::from_ref(setting.value));
            // SAFETY: the context of loading; the private data is a static, which `get_number` and `set_number` read it as.
            let registered = unsafe {
                number(
                    self.ctx,
                    setting.name.as_ptr(),
                    now,
                    flags,
                    setting.least,
                    setting.most,
                    get_number,
                    set_number,
                    None,
                    data.cast_mut().cast(),
                )
            };
            if registered != OK {
                return Err(format!("the setting {:?} is taken", setting.name));
            }
        }
        // SAFETY: the context of loading.
        if unsafe { load(self.ctx) } == OK { Ok(()) } else { Err("the settings could not be read".into()) }
    }
}

fn category(prefix: &str) -> Option<&'static str> {
    Some(match prefix {
        "bf" => "bloom",
        "cf" => "cuckoo",
        "cms" => "cms",
        "topk" => "topk",
        "bq" => "bouquet",
        _ => return None,
    })
}

/// Where a command's keys are, ended by an empty specification.
fn key_specs(command: &crate::command::Command) -> Vec<KeySpec> {
    use crate::command::Keys;
    let spec = |position: c_int, flags: u64, find_type: c_int, find: [c_int; 3]| KeySpec {
        notes: std::ptr::null(),
        flags,
        begin_type: BEGIN_INDEX,
        begin: Begin { position, room: [0; 3] },
        find_type,
        find,
    };
    let changed = KEY_RW | KEY_ACCESS | KEY_UPDATE;
    let read = KEY_RO | KEY_ACCESS;
    let mut specs = match command.keys {
        Keys::None => Vec::new(),
        Keys::First { write } => vec![spec(1, if write { changed } else { read }, FIND_RANGE, [0, 1, 0])],
        Keys::All { write: true } => {
            vec![spec(1, changed, FIND_RANGE, [0, 1, 0]), spec(2, read, FIND_RANGE, [-1, 1, 0])]
        }
        Keys::All { write: false } => vec![spec(1, read, FIND_RANGE, [-1, 1, 0])],
        Keys::Two => vec![spec(1, read, FIND_RANGE, [1, 1, 0])],
        Keys::Counted => vec![spec(1, changed, FIND_RANGE, [0, 1, 0]), spec(2, read, FIND_COUNTED, [0, 1, 1])],
    };
    let mut end = spec(0, 0, 0, [0; 3]);
    end.begin_type = 0;
    specs.push(end);
    specs
}

/// # Safety
///
/// Called by the server with the private data of a setting, as the next.
unsafe extern "C" fn get_number(_: *const c_char, data: *mut c_void) -> c_longlong {
    // SAFETY: a static, as `settings` has registered it.
    unsafe { &*data.cast::<AtomicI64>() }.load(Ordering::Relaxed)
}

unsafe extern "C" fn set_number(_: *const c_char, value: c_longlong, data: *mut c_void, _: *mut RedisString) -> c_int {
    // SAFETY: as above.
    unsafe { &*data.cast::<AtomicI64>() }.store(value, Ordering::Relaxed);
    OK
}

/// What the server calls first.
///
/// # Safety
///
/// The server calls it once, with the context of loading and `count` arguments.
#[unsafe(no_mangle)]
unsafe extern "C" fn RedisModule_OnLoad(ctx: Ctx, args: *const RedisString, count: c_int) -> c_int {
    // SAFETY: the context of loading. Nothing has been allocated yet.
    let Some(api) = (unsafe { Api::of(ctx) }) else { return ERR };
    let _ = API.set(api);
    // A backtrace would free what the server's allocator does not know; the message is in the log all the same.
    std::panic::set_hook(Box::new(|_| ()));
    // SAFETY: the context of loading, and a name that ends with NUL.
    unsafe {
        (self::api().SetModuleAttribs)(ctx, c"bf".as_ptr(), crate::VERSION, 1);
        (self::api().SetModuleOptions)(ctx, HANDLE_IO_ERRORS);
    }
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the server's arguments, which live until this returns; without any there need be no pointer.
    let args = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(args, count) } };
    let words = args.iter().map(|arg| {
        let mut len = 0;
        // SAFETY: an argument of the server.
        let bytes = unsafe {
            let start = (self::api().StringPtrLen)(*arg, &raw mut len);
            std::slice::from_raw_parts(start.cast::<u8>(), len)
        };
        String::from_utf8_lossy(bytes).into_owned()
    });
    let words: Vec<String> = words.collect();
    let loaded = guarded(|| crate::load(&mut Module { ctx }, &words), |panic| Err(panic.to_owned()));
    let Err(why) = loaded else { return OK };
    let why = CString::new(why).unwrap_or_default();
    // SAFETY: the context of loading, and a format with one text.
    unsafe { (self::api().Log)(ctx, c"warning".as_ptr(), c"bouquet was not loaded: %s".as_ptr(), why.as_ptr()) };
    ERR
}

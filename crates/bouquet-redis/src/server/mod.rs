//! The server's interface: the only place with `unsafe` code.
//!
//! # Why by hand
//!
//! The crate `redis-module` needs libclang to build, its command wrapper lets a panic unwind into the server, which kills it, and its
//! allocator does not honour alignments above 16, while our stores want 64. What the module needs of the interface is the list in
//! [`Api`]: function pointers that the server gives out by name. One and the same library so loads in every server, and a function
//! that an older server lacks is `None`.
//!
//! # What is promised
//!
//! The server calls its module from one thread at a time, but for [freeing](value) and for the allocator, which it calls from any.
//! Every callback goes through [`guarded`]: a panic becomes an error reply or a failed load, and never unwinds into the server.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_double, c_int, c_longlong, c_void};
use std::sync::OnceLock;

mod alloc;
mod call;
mod load;
mod value;

pub use call::{Call, Entry, Failure, Outcome, Reply, Slot, entry};
pub use load::{Module, Setting};
pub use value::{Digest, Load, Mover, Rewrite, Save, TypeSlot, Value};

/// Things of the server that are only pointed at.
#[repr(C)]
struct Opaque([u8; 0]);

type Ctx = *mut Opaque;
type RedisString = *mut Opaque;
type RedisKey = *mut Opaque;
type Io = *mut Opaque;
type ModuleType = *mut Opaque;
type CommandHandle = *mut Opaque;
type DigestHandle = *mut Opaque;
type DefragHandle = *mut Opaque;

const OK: c_int = 0;
const ERR: c_int = 1;

type CommandFn = unsafe extern "C" fn(Ctx, *const RedisString, c_int) -> c_int;
type GetNumber = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_longlong;
type SetNumber = unsafe extern "C" fn(*const c_char, c_longlong, *mut c_void, *mut RedisString) -> c_int;
type Apply = unsafe extern "C" fn(Ctx, *mut c_void, *mut RedisString) -> c_int;

/// The functions of the server, by their names without `RedisModule_`.
macro_rules! api {
    (needed { $($needed:ident: $needed_type:ty,)* } newer { $($newer:ident: $newer_type:ty,)* }) => {
        #[allow(non_snake_case, reason = "the server's names")]
        struct Api {
            $($needed: $needed_type,)*
            $($newer: Option<$newer_type>,)*
        }

        impl Api {
            /// Asks the server for every function; `None` if it lacks one that is needed.
            ///
            /// # Safety
            ///
            /// `ctx` is what the server called `RedisModule_OnLoad` with.
            unsafe fn of(ctx: Ctx) -> Option<Self> {
                // SAFETY: a context begins with a pointer to the function that gives out the others; all modules find it there.
                let get_api = unsafe { *ctx.cast::<unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int>() };
                let find = |name: &CStr| {
                    let mut function: *mut c_void = std::ptr::null_mut();
                    // SAFETY: the function writes a pointer to where its second argument points, or nothing.
                    let found = unsafe { get_api(name.as_ptr(), (&raw mut function).cast()) };
                    (found == OK && !function.is_null()).then_some(function)
                };
                const fn name(text: &'static str) -> &'static CStr {
                    match CStr::from_bytes_with_nul(text.as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name ends with its only NUL"),
                    }
                }
                Some(Api {
                    $($needed: {
                        let function = find(const { name(concat!("RedisModule_", stringify!($needed), "\0")) })?;
                        // SAFETY: a pointer to the function of this name, whose type the server keeps for ever.
                        unsafe { std::mem::transmute::<*mut c_void, $needed_type>(function) }
                    },)*
                    $($newer: find(const { name(concat!("RedisModule_", stringify!($newer), "\0")) }).map(|function| {
                        // SAFETY: as above.
                        unsafe { std::mem::transmute::<*mut c_void, $newer_type>(function) }
                    }),)*
                })
            }
        }
    };
}

api! {
    needed {
        Alloc: unsafe extern "C" fn(usize) -> *mut c_void,
        Calloc: unsafe extern "C" fn(usize, usize) -> *mut c_void,
        Realloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
        Free: unsafe extern "C" fn(*mut c_void),
        SetModuleAttribs: unsafe extern "C" fn(Ctx, *const c_char, c_int, c_int),
        SetModuleOptions: unsafe extern "C" fn(Ctx, c_int),
        CreateCommand: unsafe extern "C" fn(Ctx, *const c_char, CommandFn, *const c_char, c_int, c_int, c_int) -> c_int,
        CreateDataType: unsafe extern "C" fn(Ctx, *const c_char, c_int, *mut value::Methods) -> ModuleType,
        AutoMemory: unsafe extern "C" fn(Ctx),
        Log: unsafe extern "C" fn(Ctx, *const c_char, *const c_char, ...),
        GetContextFlags: unsafe extern "C" fn(Ctx) -> c_int,
        WrongArity: unsafe extern "C" fn(Ctx) -> c_int,
        ReplyWithLongLong: unsafe extern "C" fn(Ctx, c_longlong) -> c_int,
        ReplyWithDouble: unsafe extern "C" fn(Ctx, c_double) -> c_int,
        ReplyWithError: unsafe extern "C" fn(Ctx, *const c_char) -> c_int,
        ReplyWithSimpleString: unsafe extern "C" fn(Ctx, *const c_char) -> c_int,
        ReplyWithStringBuffer: unsafe extern "C" fn(Ctx, *const c_char, usize) -> c_int,
        ReplyWithNull: unsafe extern "C" fn(Ctx) -> c_int,
        ReplyWithArray: unsafe extern "C" fn(Ctx, std::ffi::c_long) -> c_int,
        ReplicateVerbatim: unsafe extern "C" fn(Ctx) -> c_int,
        NotifyKeyspaceEvent: unsafe extern "C" fn(Ctx, c_int, *const c_char, RedisString) -> c_int,
        StringPtrLen: unsafe extern "C" fn(RedisString, *mut usize) -> *const c_char,
        StringToLongLong: unsafe extern "C" fn(RedisString, *mut c_longlong) -> c_int,
        StringToDouble: unsafe extern "C" fn(RedisString, *mut c_double) -> c_int,
        OpenKey: unsafe extern "C" fn(Ctx, RedisString, c_int) -> RedisKey,
        KeyType: unsafe extern "C" fn(RedisKey) -> c_int,
        ModuleTypeGetType: unsafe extern "C" fn(RedisKey) -> ModuleType,
        ModuleTypeGetValue: unsafe extern "C" fn(RedisKey) -> *mut c_void,
        ModuleTypeSetValue: unsafe extern "C" fn(RedisKey, ModuleType, *mut c_void) -> c_int,
        IsIOError: unsafe extern "C" fn(Io) -> c_int,
        LogIOError: unsafe extern "C" fn(Io, *const c_char, *const c_char, ...),
        SaveUnsigned: unsafe extern "C" fn(Io, u64),
        SaveDouble: unsafe extern "C" fn(Io, c_double),
        SaveStringBuffer: unsafe extern "C" fn(Io, *const c_char, usize),
        LoadUnsigned: unsafe extern "C" fn(Io) -> u64,
        LoadDouble: unsafe extern "C" fn(Io) -> c_double,
        LoadStringBuffer: unsafe extern "C" fn(Io, *mut usize) -> *mut c_char,
        EmitAOF: unsafe extern "C" fn(Io, *const c_char, *const c_char, ...),
        DigestAddStringBuffer: unsafe extern "C" fn(DigestHandle, *const c_char, usize),
        DigestEndSequence: unsafe extern "C" fn(DigestHandle),
    }
    newer {
        TryAlloc: unsafe extern "C" fn(usize) -> *mut c_void,
        ReplyWithMap: unsafe extern "C" fn(Ctx, std::ffi::c_long) -> c_int,
        ReplyWithBool: unsafe extern "C" fn(Ctx, c_int) -> c_int,
        ReplyWithVerbatimString: unsafe extern "C" fn(Ctx, *const c_char, usize) -> c_int,
        GetCommand: unsafe extern "C" fn(Ctx, *const c_char) -> CommandHandle,
        SetCommandInfo: unsafe extern "C" fn(CommandHandle, *const load::CommandInfo) -> c_int,
        AddACLCategory: unsafe extern "C" fn(Ctx, *const c_char) -> c_int,
        SetCommandACLCategories: unsafe extern "C" fn(CommandHandle, *const c_char) -> c_int,
        RegisterNumericConfig: unsafe extern "C" fn(
            Ctx, *const c_char, c_longlong, std::ffi::c_uint, c_longlong, c_longlong, GetNumber, SetNumber, Option<Apply>, *mut c_void,
        ) -> c_int,
        LoadConfigs: unsafe extern "C" fn(Ctx) -> c_int,
        DefragAlloc: unsafe extern "C" fn(DefragHandle, *mut c_void) -> *mut c_void,
    }
}

/// Set once, when the module is loaded, before anything else is done.
static API: OnceLock<Api> = OnceLock::new();

/// The server's functions. Callbacks run only after the module is loaded.
fn api() -> &'static Api {
    API.get().expect("the server calls a module that it has loaded")
}

/// Runs a callback; a panic becomes what `otherwise` makes of its message.
///
/// Unwinding leaves no value in a state that a later call could suffer from: a command that panics may have changed its filter
/// in part, as any error in the middle of it could, and every state of a filter's bytes is one that its methods take.
fn guarded<R>(body: impl FnOnce() -> R, otherwise: impl FnOnce(&str) -> R) -> R {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        otherwise(text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message"))
    })
}

/// Text as the server takes it; a NUL in it ends it.
fn c_text(text: &str) -> Vec<u8> {
    text.bytes().take_while(|byte| *byte != 0).chain([0]).collect()
}

//! One call of a command: its arguments, its keys, its reply.

use std::borrow::Cow;
use std::ffi::{CStr, c_int, c_long};

use super::value::{TypeSlot, Value};
use super::{CommandFn, Ctx, ERR, OK, RedisString, api, c_text, guarded};

const READ: c_int = 1;
const WRITE: c_int = 2;
const KEYTYPE_EMPTY: c_int = 0;
const KEYTYPE_MODULE: c_int = 6;
const NOTIFY_MODULE: c_int = 1 << 13;
const FLAG_REPLICATED: c_int = 1 << 12;
const FLAG_LOADING: c_int = 1 << 13;

/// What a command replies.
#[derive(Debug)]
pub enum Reply {
    /// `OK`.
    Done,
    /// A number.
    Int(i64),
    /// Many numbers.
    Ints(Vec<i64>),
    /// A number with a fraction.
    Double(f64),
    /// True or false; 1 or 0 to clients of the old protocol.
    Bool(bool),
    /// Nothing.
    Null,
    /// A short word.
    Word(Cow<'static, str>),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Text to be read by people.
    Text(String),
    /// An error among other replies.
    Error(Cow<'static, str>),
    /// Some replies.
    Array(Vec<Reply>),
    /// Names with replies; one flat array to clients of the old protocol.
    Map(Vec<(Cow<'static, str>, Reply)>),
}

/// Why a command was not done.
#[derive(Debug)]
pub enum Failure {
    /// The number of its arguments.
    Arity,
    /// The text of the error, code first.
    Text(Cow<'static, str>),
}

impl From<&'static str> for Failure {
    fn from(text: &'static str) -> Self {
        Failure::Text(text.into())
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Failure::Text(text.into())
    }
}

impl From<bouquet::Error> for Failure {
    fn from(error: bouquet::Error) -> Self {
        Failure::Text(format!("ERR {error}").into())
    }
}

/// What became of a command.
pub type Outcome = Result<Reply, Failure>;

/// What a key holds.
pub enum Slot<T> {
    /// There is no such key.
    Missing,
    /// A value of this type.
    Found(T),
    /// A value of another type.
    Other,
}

impl<T> Slot<T> {
    /// The value; a missing key is this failure.
    pub fn or(self, missing: &'static str) -> Result<T, Failure> {
        match self {
            Slot::Found(value) => Ok(value),
            Slot::Missing => Err(missing.into()),
            Slot::Other => Err(WRONG_TYPE.into()),
        }
    }
}

/// The error that every server has for a value of another type.
pub const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

/// One call of a command.
pub struct Call<'a> {
    ctx: Ctx,
    args: &'a [RedisString],
    /// Arguments whose keys were changed, each with the name of what happened.
    events: Vec<(usize, &'static CStr)>,
}

impl<'a> Call<'a> {
    /// The number of arguments, the command's name included.
    pub fn len(&self) -> usize {
        self.args.len()
    }

    /// Refuses calls with fewer arguments than this.
    pub fn at_least(&self, len: usize) -> Result<(), Failure> {
        if self.len() >= len { Ok(()) } else { Err(Failure::Arity) }
    }

    /// Refuses calls with another number of arguments.
    pub fn exactly(&self, len: usize) -> Result<(), Failure> {
        if self.len() == len { Ok(()) } else { Err(Failure::Arity) }
    }

    /// The bytes of an argument.
    pub fn arg(&self, at: usize) -> &'a [u8] {
        let mut len = 0;
        // SAFETY: an argument of this call, which lives as long as it.
        unsafe {
            let start = (api().StringPtrLen)(self.args[at], &raw mut len);
            if start.is_null() { &[] } else { std::slice::from_raw_parts(start.cast(), len) }
        }
    }

    /// The bytes of the arguments from this one on.
    pub fn args_from(&self, at: usize) -> impl ExactSizeIterator<Item = &'a [u8]> + '_ {
        (at..self.len()).map(|at| self.arg(at))
    }

    /// Whether an argument is this word, whatever the case.
    pub fn is(&self, at: usize, word: &str) -> bool {
        self.arg(at).eq_ignore_ascii_case(word.as_bytes())
    }

    /// The first argument that is this word.
    pub fn position(&self, word: &str) -> Option<usize> {
        (0..self.len()).find(|at| self.is(*at, word))
    }

    /// An argument as text.
    pub fn text(&self, at: usize) -> Result<&'a str, Failure> {
        std::str::from_utf8(self.arg(at)).map_err(|_| "ERR an argument is not UTF-8 text".into())
    }

    /// An argument as the whole number that the server takes it for.
    pub fn int(&self, at: usize) -> Option<i64> {
        let mut number = 0;
        // SAFETY: an argument of this call, and room for a number.
        (unsafe { (api().StringToLongLong)(self.args[at], &raw mut number) } == OK).then_some(number)
    }

    /// An argument as the number that the server takes it for.
    pub fn double(&self, at: usize) -> Option<f64> {
        let mut number = 0.0;
        // SAFETY: as above.
        (unsafe { (api().StringToDouble)(self.args[at], &raw mut number) } == OK).then_some(number)
    }

    /// Whether the call comes from a master or from a file, which have decided already.
    pub fn is_decided(&self) -> bool {
        // SAFETY: the context of this call.
        unsafe { (api().GetContextFlags)(self.ctx) & (FLAG_REPLICATED | FLAG_LOADING) != 0 }
    }

    /// The value of the key that an argument names, to be written if `mode` says so.
    fn value<T: Value>(&self, at: usize, mode: c_int) -> Slot<*mut T> {
        // SAFETY: the key is closed by the server when the command is done, as `AutoMemory` has asked for. A value of our type is a
        // pointer that `create`, `copy` or `load` made from a box of this type.
        unsafe {
            let key = (api().OpenKey)(self.ctx, self.args[at], mode);
            if key.is_null() || (api().KeyType)(key) == KEYTYPE_EMPTY {
                return Slot::Missing;
            }
            let own = (api().KeyType)(key) == KEYTYPE_MODULE && TypeSlot::of::<T>().is((api().ModuleTypeGetType)(key));
            if own { Slot::Found((api().ModuleTypeGetValue)(key).cast()) } else { Slot::Other }
        }
    }

    /// The value of the key that an argument names, to be read.
    pub fn read<T: Value>(&self, at: usize) -> Slot<&T> {
        match self.value::<T>(at, READ) {
            // SAFETY: nobody changes values during the call but through `write` and `create`, which take the call for themselves.
            Slot::Found(value) => Slot::Found(unsafe { &*value }),
            Slot::Missing => Slot::Missing,
            Slot::Other => Slot::Other,
        }
    }

    /// The value of the key that an argument names, to be changed.
    pub fn write<T: Value>(&mut self, at: usize) -> Slot<&mut T> {
        match self.value::<T>(at, READ | WRITE) {
            // SAFETY: as above; while it lives, the call gives out no other.
            Slot::Found(value) => Slot::Found(unsafe { &mut *value }),
            Slot::Missing => Slot::Missing,
            Slot::Other => Slot::Other,
        }
    }

    /// Gives the key that an argument names this value, instead of what it has.
    pub fn create<T: Value>(&mut self, at: usize, value: T) -> Result<&mut T, Failure> {
        let value = Box::into_raw(Box::new(value));
        // SAFETY: the key is open for writing; the server owns the value from here on and frees it by the type's `free`. Where it
        // refuses, the box is still ours.
        unsafe {
            let key = (api().OpenKey)(self.ctx, self.args[at], READ | WRITE);
            if key.is_null() || (api().ModuleTypeSetValue)(key, TypeSlot::of::<T>().get(), value.cast()) != OK {
                drop(Box::from_raw(value));
                return Err("ERR the server did not take the value".into());
            }
            Ok(&mut *value)
        }
    }

    /// The key of an argument was changed: the command goes to replicas and to the append-only file as it came, and clients hear of
    /// it under this name. What a filter draws at random comes from a generator that is part of it, so that the same command has the
    /// same effect wherever it is applied.
    pub fn changed(&mut self, at: usize, event: &'static CStr) {
        self.events.push((at, event));
    }

    fn settle(&self) {
        if self.events.is_empty() {
            return;
        }
        // SAFETY: the context and the arguments of this call; event names end with NUL.
        unsafe {
            (api().ReplicateVerbatim)(self.ctx);
            for (at, event) in &self.events {
                (api().NotifyKeyspaceEvent)(self.ctx, NOTIFY_MODULE, event.as_ptr(), self.args[*at]);
            }
        }
    }

    fn reply(&self, reply: &Reply) {
        let api = api();
        let ctx = self.ctx;
        // SAFETY: the context of this call; text ends with NUL, buffers come with their length, arrays with that of their content.
        unsafe {
            match reply {
                Reply::Done => (api.ReplyWithSimpleString)(ctx, c"OK".as_ptr()),
                Reply::Int(number) => (api.ReplyWithLongLong)(ctx, *number),
                Reply::Ints(numbers) => {
                    (api.ReplyWithArray)(ctx, numbers.len() as c_long);
                    numbers.iter().fold(OK, |_, number| (api.ReplyWithLongLong)(ctx, *number))
                }
                Reply::Double(number) => (api.ReplyWithDouble)(ctx, *number),
                Reply::Bool(truth) => match api.ReplyWithBool {
                    Some(reply) => reply(ctx, (*truth).into()),
                    None => (api.ReplyWithLongLong)(ctx, (*truth).into()),
                },
                Reply::Null => (api.ReplyWithNull)(ctx),
                // A line break would end the reply too early.
                Reply::Word(word) if word.bytes().all(|byte| byte >= b' ') => {
                    (api.ReplyWithSimpleString)(ctx, c_text(word).as_ptr().cast())
                }
                Reply::Word(word) => (api.ReplyWithStringBuffer)(ctx, word.as_ptr().cast(), word.len()),
                Reply::Bytes(bytes) => (api.ReplyWithStringBuffer)(ctx, bytes.as_ptr().cast(), bytes.len()),
                Reply::Text(text) => {
                    let reply = api.ReplyWithVerbatimString.unwrap_or(api.ReplyWithStringBuffer);
                    reply(ctx, text.as_ptr().cast(), text.len())
                }
                Reply::Error(text) => {
                    (api.ReplyWithError)(ctx, c_text(&text.replace(['\r', '\n'], " ")).as_ptr().cast())
                }
                Reply::Array(replies) => {
                    (api.ReplyWithArray)(ctx, replies.len() as c_long);
                    replies.iter().for_each(|reply| self.reply(reply));
                    OK
                }
                Reply::Map(pairs) => {
                    match api.ReplyWithMap {
                        Some(reply) => reply(ctx, pairs.len() as c_long),
                        None => (api.ReplyWithArray)(ctx, 2 * pairs.len() as c_long),
                    };
                    for (name, reply) in pairs {
                        self.reply(&Reply::Bytes(name.as_bytes().to_vec()));
                        self.reply(reply);
                    }
                    OK
                }
            }
        };
    }
}

/// A command's function as the server calls it.
#[derive(Clone, Copy)]
pub struct Entry(pub(super) CommandFn);

/// Makes a command's function one that the server can call.
pub const fn entry<F: Fn(&mut Call<'_>) -> Outcome + Copy + 'static>(_: F) -> Entry {
    const { assert!(size_of::<F>() == 0, "a function, not a closure that holds something") }
    Entry(enter::<F>)
}

/// # Safety
///
/// The server calls it with a context and `count` arguments.
unsafe extern "C" fn enter<F: Fn(&mut Call<'_>) -> Outcome + Copy>(
    ctx: Ctx,
    args: *const RedisString,
    count: c_int,
) -> c_int {
    // SAFETY: `F` is a function's own type, of which there is one value; it exists, for `entry` was given it, and has no bytes, so that
    // any aligned address is its place.
    let run = unsafe { std::ptr::NonNull::<F>::dangling().as_ref() };
    // SAFETY: the server's arguments live until this returns.
    let args = unsafe { std::slice::from_raw_parts(args, usize::try_from(count).unwrap_or(0)) };
    let mut call = Call { ctx, args, events: Vec::new() };
    // SAFETY: the context of this call.
    unsafe { (api().AutoMemory)(ctx) };
    let outcome = guarded(|| run(&mut call), |panic| Err(panicked(ctx, panic)));
    guarded(
        || {
            match &outcome {
                Ok(reply) => {
                    call.settle();
                    call.reply(reply);
                }
                Err(Failure::Text(text)) => call.reply(&Reply::Error(text.clone())),
                Err(Failure::Arity) => {
                    // SAFETY: the context of this call.
                    unsafe { (api().WrongArity)(ctx) };
                }
            }
            OK
        },
        |_| ERR,
    )
}

fn panicked(ctx: Ctx, message: &str) -> Failure {
    let text = c_text(message);
    // SAFETY: the context of the call, and a format with one text.
    unsafe { (api().Log)(ctx, c"warning".as_ptr(), c"a command failed inside: %s".as_ptr(), text.as_ptr()) };
    Failure::Text("ERR the command failed inside the module; the server's log says where".into())
}

//! The table of commands.

use crate::server::Entry;

pub mod usage;

/// Where a command's keys are.
#[derive(Clone, Copy)]
pub enum Keys {
    /// Nowhere.
    None,
    /// The first argument.
    First {
        /// Whether it may be changed.
        write: bool,
    },
    /// All arguments.
    All {
        /// Whether the first may be changed.
        write: bool,
    },
    /// The first two arguments, which are read.
    Two,
    /// The first argument, which may be changed, and as many after the second as that says.
    Counted,
}

/// A command: what the server is told of it, and its function.
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// The server's flags.
    pub flags: &'static str,
    /// The number of its arguments with the name, or less the least number.
    pub arity: i32,
    /// Where its keys are.
    pub keys: Keys,
    /// What it takes, as [`usage`] reads it.
    pub usage: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// The time that it takes.
    pub complexity: &'static str,
    /// What it does.
    pub run: Entry,
}

/// May take memory.
pub const GROWS: &str = "write deny-oom";
/// Takes no memory.
pub const CHANGES: &str = "write fast";
/// As long as the filter is large.
pub const READS: &str = "readonly";
/// As long as there are items.
pub const READS_FAST: &str = "readonly fast";

/// What a command of this arity takes unless it says more.
const fn usual(arity: i32) -> &'static str {
    match arity {
        2 => "key",
        -2 => "key [item...]",
        3 => "key item",
        -3 => "key item...",
        4 => "key item value",
        _ => "",
    }
}

impl Command {
    /// A command that may change the key of its first argument.
    pub const fn write(name: &'static str, flags: &'static str, arity: i32, run: Entry) -> Self {
        Command {
            name,
            flags,
            arity,
            keys: Keys::First { write: true },
            usage: usual(arity),
            summary: "",
            complexity: "O(N) in the items",
            run,
        }
    }

    /// A command that reads the key of its first argument.
    pub const fn read(name: &'static str, flags: &'static str, arity: i32, run: Entry) -> Self {
        Command {
            name,
            flags,
            arity,
            keys: Keys::First { write: false },
            usage: usual(arity),
            summary: "",
            complexity: "O(N) in the items",
            run,
        }
    }

    /// With other keys.
    pub const fn keys(self, keys: Keys) -> Self {
        Command { keys, ..self }
    }

    /// That takes these arguments.
    pub const fn usage(self, usage: &'static str) -> Self {
        Command { usage, ..self }
    }

    /// With this line of help.
    pub const fn about(self, summary: &'static str) -> Self {
        Command { summary, ..self }
    }

    /// That takes this time.
    pub const fn takes(self, complexity: &'static str) -> Self {
        Command { complexity, ..self }
    }
}

/// Every command.
pub fn all() -> impl Iterator<Item = &'static Command> {
    [crate::bf::COMMANDS, crate::cf::COMMANDS, crate::cms::COMMANDS, crate::topk::COMMANDS, crate::bq::COMMANDS]
        .into_iter()
        .flatten()
}

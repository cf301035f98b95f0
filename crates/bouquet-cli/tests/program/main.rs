//! Runs the program as a user does.
//!
//! No test names a kind that it needs: kinds are chosen by what `bouquet kinds` says of them, so that a new kind is
//! put through every command it takes part in. What only certain settings of one kind can do has a file of its own.

mod advise;
mod bad_input;
mod commands;
mod convert;
mod external;
mod files;
mod frequencies;
mod growing;
mod guide;
mod limits;
mod messages;
mod pace;
mod place;
mod secrets;
mod shifting;
mod signals;
mod sketches;
mod special;
mod store;
mod verbs;
mod witnesses;
mod writers;

//! Runs the program as a user does.
#![cfg(unix)]

mod dedup;
mod place;

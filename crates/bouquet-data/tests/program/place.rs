//! A temporary directory to run the program in.

use bouquet_tool::testing;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_bouquet-data");

/// A directory of its own for each test.
pub fn place() -> testing::Place {
    testing::Place::new(PROGRAM)
}

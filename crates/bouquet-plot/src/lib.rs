//! Charts as SVG, one look for all: linear and logarithmic axes, lines, marks with error bars, a legend.
//!
//! A [`Plot`] is the whole chart of some series. A program with a layout of its own draws on a [`Picture`] and lets a
//! [`Frame`] place its values:
//!
//! ```
//! use bouquet_plot::{Axis, Colour, Frame, Mark, Picture};
//! let mut picture = Picture::new(400.0, 300.0);
//! let (x, y) = (Axis::log("keys").range(1e3, 1e6), Axis::linear("time in ns").range(0.0, 50.0));
//! let frame = Frame::new([60.0, 20.0, 380.0, 250.0], &x, &y, std::iter::empty());
//! frame.draw(&mut picture);
//! let at = frame.at(1e6, 50.0).ok_or("outside the frame")?;
//! assert_eq!(at, (380.0, 20.0));
//! picture.mark(at, Mark::Disc, Colour::BLACK);
//! assert!(picture.svg().contains("time in ns"));
//! # Ok::<(), &str>(())
//! ```

pub mod number;

mod axis;
mod frame;
mod picture;
mod plot;

pub use axis::Axis;
pub use frame::Frame;
pub use picture::{Anchor, Colour, Mark, Picture, Place, Stroke, Text, text_width};
pub use plot::{Form, Plot, Point, Series, Value, svg};

//! Plots of the lab: theory as lines, simulation as points with error bars, drawn by [`bouquet_plot`].

pub use bouquet_plot::{Axis, Form, Plot, Point, Value, svg};

use crate::simulate::Mean;
use crate::table::Table;

impl From<Mean> for Value {
    fn from(mean: Mean) -> Self {
        Value { value: mean.value, error: mean.error }
    }
}

/// The points of all series in one table: chart, series, kind, x, y, standard error. A chart is known by its letter, where
/// its title has one.
///
/// ```
/// use bouquet_lab::{Axis, Mean, Plot};
/// let plot = Plot::new(Axis::linear("x"), Axis::linear("y"))
///     .titled("(a) one")
///     .line("f", [(1.0, 2.0)])
///     .points("f", [(1.0, Mean { value: 2.1, error: 0.1, rounds: 9 })]);
/// assert_eq!(
///     bouquet_lab::plot::data(&[plot]).csv(),
///     "chart,series,kind,x,y,error\n(a),f,theory,1,2,0\n(a),f,simulation,1,2.1,0.1\n"
/// );
/// ```
#[must_use]
pub fn data(plots: &[Plot]) -> Table {
    let mut table = Table::new(["chart", "series", "kind", "x", "y", "error"]);
    for plot in plots {
        let title = plot.title();
        let letter = title.split(' ').next().filter(|word| word.starts_with('(')).unwrap_or(title);
        for series in plot.series() {
            let kind = match series.form {
                Form::Line | Form::Dashed => "theory",
                Form::Reference => "reference",
                Form::Points => "simulation",
            };
            for point in &series.points {
                let [chart, label] = [letter, &series.label].map(Into::into);
                table.row([chart, label, kind.into(), point.x.into(), point.y.into(), point.error.into()]);
            }
        }
    }
    table
}

/// This many values from low to high, evenly spaced.
///
/// ```
/// assert!(bouquet_lab::plot::even(0.0, 1.0, 5).eq([0.0, 0.25, 0.5, 0.75, 1.0]));
/// ```
pub fn even(low: f64, high: f64, count: u32) -> impl Iterator<Item = f64> + Clone {
    let steps = f64::from(count.saturating_sub(1).max(1));
    (0..count).map(move |i| low + (high - low) * f64::from(i) / steps)
}

/// This many values from low to high, each the same factor above the one before.
///
/// ```
/// let powers: Vec<f64> = bouquet_lab::plot::even_log(1.0, 8.0, 4).map(f64::round).collect();
/// assert_eq!(powers, [1.0, 2.0, 4.0, 8.0]);
/// ```
pub fn even_log(low: f64, high: f64, count: u32) -> impl Iterator<Item = f64> + Clone {
    even(low.ln(), high.ln(), count).map(f64::exp)
}

//! Axes: what they are called, which range they show, where they are marked.

use crate::number::{percent, tick};

/// An axis with its label, which should name the unit where there is one.
///
/// ```
/// use bouquet_plot::Axis;
/// let axis = Axis::log("bits per key, m/n").range(16.0, 1024.0).ticks([16.0, 64.0, 256.0, 1024.0]);
/// assert_ne!(axis, Axis::linear("bits per key, m/n"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    label: String,
    log: bool,
    percent: bool,
    range: Option<(f64, f64)>,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// A linear axis.
    ///
    /// ```
    /// assert_ne!(bouquet_plot::Axis::linear("k"), bouquet_plot::Axis::log("k"));
    /// ```
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), log: false, percent: false, range: None, ticks: Vec::new() }
    }

    /// A logarithmic axis.
    ///
    /// ```
    /// assert_ne!(bouquet_plot::Axis::log("f"), bouquet_plot::Axis::linear("f"));
    /// ```
    #[must_use]
    pub fn log(label: impl Into<String>) -> Self {
        Axis { log: true, ..Axis::linear(label) }
    }

    /// Shows this range instead of what the data need.
    ///
    /// ```
    /// # use bouquet_plot::Axis;
    /// assert_ne!(Axis::linear("p").range(0.0, 1.0), Axis::linear("p"));
    /// ```
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// Names its marks in percent.
    ///
    /// ```
    /// # use bouquet_plot::Axis;
    /// assert_ne!(Axis::log("f").in_percent(), Axis::log("f"));
    /// ```
    #[must_use]
    pub fn in_percent(mut self) -> Self {
        self.percent = true;
        self
    }

    /// Marks these values.
    ///
    /// ```
    /// # use bouquet_plot::Axis;
    /// assert_ne!(Axis::linear("k").ticks([1.0, 2.0]), Axis::linear("k"));
    /// ```
    #[must_use]
    pub fn ticks(self, values: impl IntoIterator<Item = f64>) -> Self {
        let name = self.naming();
        self.named(values.into_iter().map(|value| (value, name(value))))
    }

    /// Marks these values by these names.
    ///
    /// ```
    /// # use bouquet_plot::Axis;
    /// assert_ne!(Axis::linear("key").named([(0.0, "a"), (1.0, "b")]), Axis::linear("key"));
    /// ```
    #[must_use]
    pub fn named<S: Into<String>>(mut self, names: impl IntoIterator<Item = (f64, S)>) -> Self {
        self.ticks = names.into_iter().map(|(value, name)| (value, name.into())).collect();
        self
    }

    /// What the axis is called.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// How a mark is named that was given no name.
    fn naming(&self) -> fn(f64) -> String {
        if self.percent { percent } else { tick }
    }

    /// Where on the axis a value stands: its logarithm, on a logarithmic one. `None` where it has no place.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let place = if self.log { value.log10() } else { value };
        place.is_finite().then_some(place)
    }

    /// The places that the axis shows: the range asked for, or what the values need and some room.
    pub(crate) fn span(&self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        if let Some((low, high)) = self.range
            && let (Some(low), Some(high)) = (self.place(low), self.place(high))
            && low < high
        {
            return (low, high);
        }
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for place in values.filter_map(|value| self.place(value)) {
            (low, high) = (low.min(place), high.max(place));
        }
        if low > high {
            return (0.0, 1.0);
        }
        if !self.log && low >= 0.0 && low < 0.4 * high {
            low = 0.0;
        }
        let room = if high > low { 0.04 * (high - low) } else { 0.5 };
        (if !self.log && low == 0.0 { 0.0 } else { low - room }, high + room)
    }

    /// The marks within a span: place and name.
    pub(crate) fn marks(&self, (low, high): (f64, f64)) -> Vec<(f64, String)> {
        let within = |place: &f64| *place >= low - 1e-9 * (high - low) && *place <= high + 1e-9 * (high - low);
        if !self.ticks.is_empty() {
            let placed = self.ticks.iter().filter_map(|(value, name)| Some((self.place(*value)?, name.clone())));
            return placed.filter(|(place, _)| within(place)).collect();
        }
        let name = self.naming();
        if self.log {
            let named = log_values(low, high).into_iter().map(|value| (value.log10(), name(value)));
            return named.filter(|(place, _)| within(place)).collect();
        }
        let step = step(high - low);
        let first = (low / step).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        // Parsed from few digits, for 3 times 0.1 is not 0.3.
        (first..=last.min(first + 50)).map(|i| (i as f64 * step, name(rounded(i as f64 * step)))).collect()
    }
}

fn rounded(value: f64) -> f64 {
    format!("{value:.10e}").parse().unwrap_or(value)
}

/// 1, 2 or 5 times a power of ten, so that some six steps fill the span.
fn step(span: f64) -> f64 {
    let rough = span / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough).unwrap_or(10.0);
    factor * power
}

/// Powers of ten, thinned where they are many; 1, 2, 5 where they are few, and every digit where those are.
fn log_values(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.floor().max(-300.0) as i32, high.ceil().min(300.0) as i32);
    let digits = |digits: &[i32]| -> Vec<f64> {
        // Parsed, for 10^-3 computed is not 0.001.
        let all = (first..=last).flat_map(|exponent| digits.iter().map(move |digit| format!("{digit}e{exponent}")));
        let within = |value: &f64| (low..=high).contains(&value.log10());
        all.filter_map(|text| text.parse().ok()).filter(within).collect()
    };
    if high - low < 2.5 {
        let few = digits(&[1, 2, 5]);
        return if few.len() >= 3 { few } else { digits(&[1, 2, 3, 4, 5, 6, 7, 8, 9]) };
    }
    let every = ((last - first) as usize).div_ceil(9).max(1) as i32;
    let whole = (first..=last).filter(|exponent| exponent % every == 0);
    whole.filter_map(|exponent| format!("1e{exponent}").parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(axis: &Axis, span: (f64, f64)) -> Vec<String> {
        axis.marks(span).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(names(&Axis::linear("x"), (0.0, 1.0)), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(names(&Axis::linear("x"), (0.0, 0.3)), ["0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3"]);
        assert_eq!(names(&Axis::log("x"), (-4.0, -1.0)), ["10⁻⁴", "0.001", "0.01", "0.1"]);
        assert_eq!(names(&Axis::log("x"), (0.0, 1.0)), ["1", "2", "5", "10"]);
        assert_eq!(names(&Axis::log("x"), (-40.0, 0.0)).len(), 9);
        assert_eq!(names(&Axis::log("x"), (0.95, 1.12)), ["9", "10"]);
        assert_eq!(names(&Axis::log("x").in_percent(), (-3.1, -1.9)), ["0.1 %", "0.2 %", "0.5 %", "1 %"]);
    }

    #[test]
    fn spans_begin_at_zero_where_the_data_come_near_it() {
        assert_eq!(Axis::linear("x").span([1.0, 10.0].into_iter()).0, 0.0);
        assert!(Axis::linear("x").span([9.0, 10.0].into_iter()).0 > 8.0);
        assert_eq!(Axis::linear("x").range(0.0, 1.0).span([5.0].into_iter()), (0.0, 1.0));
        let (low, high) = Axis::log("x").span([0.0, 1.0, 100.0, f64::NAN].into_iter());
        assert!(low < 0.0 && low > -0.1 && high > 2.0 && high < 2.1);
    }
}

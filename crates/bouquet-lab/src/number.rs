//! Numbers as people read them: few digits, no tail of zeros, powers of ten where they are needed.

pub use bouquet_plot::number::{raised, significant, tick};

/// A number for text and tables: four significant digits.
///
/// ```
/// assert_eq!(bouquet_lab::number::short(0.000_459_12), "0.0004591");
/// ```
#[must_use]
pub fn short(value: f64) -> String {
    significant(value, 4)
}

/// A printed number: its value and half a unit of its last digit. A percent sign divides by a hundred.
///
/// ```
/// use bouquet_lab::number::printed;
/// assert_eq!(printed("0.25"), Some((0.25, 0.005)));
/// let (value, half_unit) = printed("6.3 %").unwrap();
/// assert!((value - 0.063).abs() < 1e-12 && (half_unit - 0.0005).abs() < 1e-12);
/// assert_eq!(printed("about 4"), None);
/// ```
#[must_use]
pub fn printed(text: &str) -> Option<(f64, f64)> {
    let text = text.trim();
    let (text, scale) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 0.01),
        None => (text, 1.0),
    };
    let value: f64 = text.parse().ok()?;
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    let unit = 10f64.powi(exponent.parse::<i32>().ok()?.checked_sub(decimals)?);
    Some((value * scale, 0.5 * unit * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_numbers_know_their_last_digit() {
        let (value, half) = printed("1.37e-15").unwrap();
        assert!((value - 1.37e-15).abs() < 1e-25 && (half - 0.005e-15).abs() < 1e-25);
        assert_eq!(printed("133"), Some((133.0, 0.5)));
        assert_eq!(printed(""), None);
    }
}

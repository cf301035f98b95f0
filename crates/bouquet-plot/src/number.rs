//! Numbers as people read them: few digits, no tail of zeros, powers of ten where they are needed.

/// A number with this many significant digits, without a tail of zeros.
///
/// ```
/// use bouquet_plot::number::significant;
/// assert_eq!(significant(0.0216_1, 3), "0.0216");
/// assert_eq!(significant(1.3654e-15, 3), "1.37e-15");
/// assert_eq!(significant(24_115.3, 4), "24115");
/// assert_eq!(significant(16.0, 6), "16");
/// ```
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return format!("{value}");
    }
    let digits = digits.max(1);
    if !(1e-4..1e9).contains(&size) {
        let text = format!("{value:.*e}", digits - 1);
        return match text.split_once('e') {
            Some((mantissa, exponent)) => format!("{}e{exponent}", trimmed(mantissa)),
            None => text,
        };
    }
    // The exponent after rounding: 9.996 to three digits is 10.0.
    let exponent = format!("{value:.*e}", digits - 1);
    let exponent: i32 = exponent.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{value:.decimals$}")).into()
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// A power of ten as it stands at an axis.
///
/// ```
/// use bouquet_plot::number::tick;
/// assert_eq!([0.01, 1e-6, 5e-7, 1e6].map(tick), ["0.01", "10⁻⁶", "5·10⁻⁷", "10⁶"]);
/// ```
#[must_use]
pub fn tick(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (9.99e-4..1e5).contains(&size) {
        return significant(value, 6);
    }
    let text = format!("{value:.2e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    match trimmed(mantissa) {
        "1" => format!("10{}", raised(exponent)),
        mantissa => format!("{mantissa}·10{}", raised(exponent)),
    }
}

/// Digits as they stand in an exponent.
///
/// ```
/// assert_eq!(format!("2{}", bouquet_plot::number::raised("-10")), "2⁻¹⁰");
/// ```
#[must_use]
pub fn raised(digits: &str) -> String {
    digits.chars().map(superscript).collect()
}

fn superscript(digit: char) -> char {
    match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    }
}

/// A rate in percent, with two significant digits at most and no tail of zeros.
///
/// ```
/// use bouquet_plot::number::percent;
/// assert_eq!([0.01, 0.002, 0.0005, 0.5].map(percent), ["1 %", "0.2 %", "0.05 %", "50 %"]);
/// ```
#[must_use]
pub fn percent(rate: f64) -> String {
    format!("{} %", significant(100.0 * rate, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_may_add_a_digit_before_the_point() {
        assert_eq!(significant(9.996, 3), "10");
        assert_eq!(significant(0.099_96, 3), "0.1");
        assert_eq!(significant(9.9999e-5, 3), "1e-4");
    }

    #[test]
    fn signs_zeros_and_infinities_are_written() {
        assert_eq!(
            ["-0.5", "0", "inf"],
            [-0.5, 0.0, f64::INFINITY].map(|value| significant(value, 3)).each_ref().map(String::as_str)
        );
    }
}

//! Claims of papers and what became of them.

use crate::number::{printed, short, significant};
use crate::simulate::Mean;
use crate::table::Table;

/// How many standard errors a simulation may lie from a formula.
pub const SIGMAS: f64 = 5.0;

/// How a claim says that points lie near enough only with those standard errors.
pub const ADDED: &str = "with 5 σ added";

/// What became of a claim.
///
/// ```
/// assert_eq!(bouquet_lab::Verdict::Corrected.name(), "corrected");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The claim holds.
    Agrees,
    /// The claim as printed fails, and the correction beside it holds.
    Corrected,
    /// The claim fails.
    Differs,
}

impl Verdict {
    /// One word.
    ///
    /// ```
    /// assert_eq!(bouquet_lab::Verdict::Agrees.name(), "agrees");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Corrected => "corrected",
            Verdict::Differs => "differs",
        }
    }
}

/// A claim of a paper beside what was computed or measured here.
///
/// ```
/// use bouquet_lab::{Claim, Verdict};
/// let rate = bouquet::theory::standard::limit_rate(16.0, 11);
/// assert_eq!(Claim::printed("rate at 16 bits", "0.000459", rate).verdict(), Verdict::Agrees);
/// assert_eq!(Claim::printed("rate at 16 bits", "0.000460", rate).verdict(), Verdict::Differs);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// What is claimed. It names no result, so that it stays the same from run to run.
    pub what: String,
    /// What the paper says.
    pub paper: String,
    /// What came out here.
    pub found: String,
    /// How far the two are apart.
    pub deviation: String,
    /// Whether that is near enough.
    pub agrees: bool,
    /// What is true instead, where the paper errs.
    pub correction: Option<Box<Claim>>,
}

impl Claim {
    /// A number that the paper prints. It agrees when the value rounds to the digits that are printed; a percent sign
    /// is understood.
    ///
    /// ```
    /// assert!(bouquet_lab::Claim::printed("F_p", "6.3 %", 0.0625).agrees);
    /// ```
    #[must_use]
    pub fn printed(what: impl Into<String>, paper: &str, found: f64) -> Self {
        // A printed 6.3 may stand for 6.25, whose binary neighbours lie on either side.
        const SLACK: f64 = 1.0 + 1e-9;
        let (agrees, deviation) = match printed(paper) {
            Some((value, half_unit)) => ((found - value).abs() <= half_unit * SLACK, relative(found, value)),
            None => (false, "no number".into()),
        };
        // A digit more than the paper has.
        let digits = paper.split('e').next().unwrap_or(paper).chars().filter(char::is_ascii_digit).count();
        let digits = digits.max(3) + 1;
        let found = match paper.contains('%') {
            true => format!("{} %", significant(100.0 * found, digits)),
            false => significant(found, digits),
        };
        Claim { what: what.into(), paper: paper.into(), found, deviation, agrees, correction: None }
    }

    /// A number that the paper gives roughly: it agrees within a part of itself.
    ///
    /// ```
    /// assert!(bouquet_lab::Claim::roughly("the factor", 2.0, 0.05, 2.07).agrees);
    /// ```
    #[must_use]
    pub fn roughly(what: impl Into<String>, paper: f64, part: f64, found: f64) -> Self {
        Claim {
            what: what.into(),
            paper: format!("about {}", short(paper)),
            found: significant(found, 5),
            deviation: relative(found, paper),
            agrees: (found - paper).abs() <= part * paper.abs(),
            correction: None,
        }
    }

    /// A formula's value beside a simulation: they agree within five standard errors.
    ///
    /// ```
    /// use bouquet_lab::{Claim, Mean};
    /// let mean = Mean { value: 0.0113, error: 0.0003, rounds: 100 };
    /// assert!(Claim::simulated("the rate", 0.0100, mean).agrees);
    /// assert!(!Claim::simulated("the rate", 0.0097, mean).agrees);
    /// ```
    #[must_use]
    pub fn simulated(what: impl Into<String>, formula: f64, mean: Mean) -> Self {
        let deviations = mean.deviations(formula);
        Claim {
            what: what.into(),
            paper: significant(formula, 5),
            found: mean.to_string(),
            deviation: format!("{deviations:+.1} σ"),
            agrees: deviations.abs() <= SIGMAS,
            correction: None,
        }
    }

    /// A formula's curve beside simulated points: every point agrees within five standard errors.
    ///
    /// ```
    /// use bouquet_lab::{Claim, Mean};
    /// let point = Mean { value: 0.5, error: 0.01, rounds: 9 };
    /// assert!(Claim::curve("the curve", [(0.49, point), (0.53, point)]).agrees);
    /// assert!(!Claim::curve("the curve", [(0.49, point), (0.56, point)]).agrees);
    /// assert!(!Claim::curve("no point, no curve", []).agrees);
    /// ```
    #[must_use]
    pub fn curve(what: impl Into<String>, points: impl IntoIterator<Item = (f64, Mean)>) -> Self {
        let deviations: Vec<f64> = points.into_iter().map(|(formula, mean)| mean.deviations(formula)).collect();
        let near = deviations.iter().filter(|deviation| deviation.abs() <= SIGMAS).count();
        let worst = deviations.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(f64::NAN);
        Claim {
            what: what.into(),
            paper: "the points lie on the curve".into(),
            found: format!("{near} of {} within {SIGMAS} σ", deviations.len()),
            deviation: format!("at most {worst:+.1} σ"),
            agrees: !deviations.is_empty() && near == deviations.len(),
            correction: None,
        }
    }

    /// A formula's curve beside simulated points, where the formula is an approximation: every point lies within a
    /// distance of the curve, to which five standard errors are added. How much that is, and how many points need it, is part of
    /// what is found.
    ///
    /// ```
    /// use bouquet_lab::{Claim, Mean};
    /// let point = Mean { value: 0.5, error: 0.001, rounds: 9 };
    /// let near = Claim::near("the curve", 0.01, [(0.492, point), (0.486, point)]);
    /// assert!(near.agrees && near.found == "1 of 2, 2 with 5 σ added");
    /// assert_eq!(near.deviation, "at most 0.014, 5 σ at most 0.005");
    /// assert!(!Claim::near("the curve", 0.01, [(0.484, point)]).agrees);
    /// ```
    #[must_use]
    pub fn near(what: impl Into<String>, distance: f64, points: impl IntoIterator<Item = (f64, Mean)>) -> Self {
        let points: Vec<(f64, Mean)> = points.into_iter().collect();
        let off = |&(formula, mean): &(f64, Mean)| (mean.value - formula).abs();
        let within = |added: f64| points.iter().filter(|point| off(point) <= distance + added * point.1.error).count();
        let (plain, near) = (within(0.0), within(SIGMAS));
        let worst = |of: &dyn Fn(&(f64, Mean)) -> f64| significant(points.iter().map(of).fold(0.0, f64::max), 2);
        let with_more = if near > plain { format!(", {near} {ADDED}") } else { String::new() };
        Claim {
            what: what.into(),
            paper: format!("the points lie within {} of the curve", short(distance)),
            found: format!("{plain} of {}{with_more}", points.len()),
            deviation: format!(
                "at most {}, {SIGMAS} σ at most {}",
                worst(&off),
                worst(&|point| SIGMAS * point.1.error)
            ),
            agrees: !points.is_empty() && near == points.len(),
            correction: None,
        }
    }

    /// An approximation beside an exact formula, at some points: the two are never further apart than a distance. Nothing is
    /// simulated, so nothing is added.
    ///
    /// ```
    /// use bouquet_lab::Claim;
    /// assert!(Claim::apart("e^x by 1 + x", 0.006, [(1.1, 0.1_f64.exp())]).agrees);
    /// assert!(!Claim::apart("e^x by 1 + x", 0.006, [(1.2, 0.2_f64.exp())]).agrees);
    /// ```
    #[must_use]
    pub fn apart(what: impl Into<String>, distance: f64, pairs: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let off: Vec<f64> = pairs.into_iter().map(|(rough, exact)| (rough - exact).abs()).collect();
        let near = off.iter().filter(|&&off| off <= distance).count();
        Claim {
            what: what.into(),
            paper: format!("within {} of the exact formula", short(distance)),
            found: format!("{near} of {}", off.len()),
            deviation: format!("at most {}", significant(off.iter().copied().fold(0.0, f64::max), 2)),
            agrees: !off.is_empty() && near == off.len(),
            correction: None,
        }
    }

    /// A claim in words.
    ///
    /// ```
    /// let claim = bouquet_lab::Claim::holds("more bits", "f falls as m grows", "0.3, 0.2, 0.1", true);
    /// assert!(claim.agrees);
    /// ```
    #[must_use]
    pub fn holds(what: impl Into<String>, paper: impl Into<String>, found: impl Into<String>, agrees: bool) -> Self {
        let deviation = if agrees { "none" } else { "fails" };
        let (what, paper, found) = (what.into(), paper.into(), found.into());
        Claim { what, paper, found, deviation: deviation.into(), agrees, correction: None }
    }

    /// Puts the true claim beside one in which the paper errs.
    ///
    /// ```
    /// use bouquet_lab::{Claim, Verdict};
    /// let true_one = Claim::printed("with 0.6185", "133", 133.2);
    /// let claim = Claim::printed("capacity", "133", 136.1).corrected(true_one);
    /// assert_eq!(claim.verdict(), Verdict::Corrected);
    /// ```
    #[must_use]
    pub fn corrected(mut self, correction: Claim) -> Self {
        self.correction = Some(Box::new(correction));
        self
    }

    /// What became of it.
    ///
    /// ```
    /// use bouquet_lab::{Claim, Verdict};
    /// assert_eq!(Claim::printed("ln 2", "0.69", 0.693).verdict(), Verdict::Agrees);
    /// ```
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match &self.correction {
            _ if self.agrees => Verdict::Agrees,
            Some(correction) if correction.agrees => Verdict::Corrected,
            _ => Verdict::Differs,
        }
    }
}

fn relative(found: f64, paper: f64) -> String {
    if paper == 0.0 {
        return format!("{:+}", found);
    }
    let percent = 100.0 * (found / paper - 1.0);
    // Below this it is the paper's rounding, or ours.
    if percent.abs() < 5e-3 { "none".into() } else { format!("{percent:+.2} %") }
}

/// The claims as a table: claim, paper, found here, deviation, verdict. A correction is a row of its own.
///
/// ```
/// let claims = [bouquet_lab::Claim::printed("ln 2", "0.69", 0.693)];
/// assert!(bouquet_lab::claim::table(&claims).csv().ends_with("ln 2,0.69,0.693,+0.43 %,agrees\n"));
/// ```
#[must_use]
pub fn table(claims: &[Claim]) -> Table {
    let mut table = Table::new(["claim", "paper", "here", "deviation", "verdict"]);
    let mut add = |what: String, claim: &Claim, verdict: &str| {
        let [paper, found, deviation] = [&claim.paper, &claim.found, &claim.deviation].map(|text| text.as_str().into());
        table.row([what.into(), paper, found, deviation, verdict.into()]);
    };
    for claim in claims {
        add(claim.what.clone(), claim, claim.verdict().name());
        if let Some(correction) = &claim.correction {
            let verdict = if correction.agrees { "agrees" } else { "differs" };
            add(format!("↳ corrected: {}", correction.what), correction, verdict);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_holds_needs_no_correction() {
        let good = Claim::printed("a", "1.0", 1.0);
        let bad = Claim::printed("b", "1.0", 2.0);
        assert_eq!(good.clone().corrected(bad.clone()).verdict(), Verdict::Agrees);
        assert_eq!(bad.clone().corrected(good).verdict(), Verdict::Corrected);
        assert_eq!(bad.clone().corrected(bad).verdict(), Verdict::Differs);
    }

    #[test]
    fn half_a_unit_of_the_last_digit_still_rounds_to_it() {
        assert!(Claim::printed("a", "6.3 %", 0.0625).agrees);
        assert!(Claim::printed("a", "6.2 %", 0.0625).agrees);
        assert!(!Claim::printed("a", "6.2 %", 0.06251).agrees);
        assert!(!Claim::printed("a", "six", 6.0).agrees);
    }

    #[test]
    fn not_a_number_never_agrees() {
        let mean = Mean { value: f64::NAN, error: 0.1, rounds: 3 };
        assert!(!Claim::simulated("a", 0.5, mean).agrees);
        assert!(!Claim::curve("a", [(0.5, mean)]).agrees);
        assert!(!Claim::roughly("a", 0.5, 0.1, f64::NAN).agrees);
    }
}

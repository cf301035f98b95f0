//! Nodes of a trie, and what the parent of a node is.

use std::borrow::Cow;

use crate::hash::{Digest, Hashing};
use crate::shell::choices;

/// A node: a string of bytes, or of bits where the last byte may be filled up with zeros.
///
/// ```
/// use bouquet::accuracy::trie_checked::Node;
/// let node = Node::prefix(&[0xAB, 0xCD], 12).expect("it has 16 bits");
/// assert_eq!((node.bytes(), node.bits()), ([0xAB, 0xC0].as_slice(), 12));
/// assert!(Node::prefix(&[0xAB], 9).is_none() && Node::prefix(&[0xAB], 0).is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    bytes: Cow<'a, [u8]>,
    bits: u64,
}

impl<'a> Node<'a> {
    /// The node of a whole key.
    #[must_use]
    pub fn of(key: &'a [u8]) -> Self {
        Node { bytes: Cow::Borrowed(key), bits: 8 * key.len() as u64 }
    }

    /// The node of the first bits of a key; `None` without a bit, or with more than the key has.
    #[must_use]
    pub fn prefix(key: &'a [u8], bits: u64) -> Option<Self> {
        if bits == 0 || bits > 8 * key.len() as u64 {
            return None;
        }
        let mut bytes = Cow::Borrowed(&key[..bits.div_ceil(8) as usize]);
        let spare = (8 - bits % 8) % 8;
        if spare > 0
            && bytes.last().is_some_and(|last| last & !(0xFF << spare) != 0)
            && let Some(last) = bytes.to_mut().last_mut()
        {
            *last &= 0xFF << spare;
        }
        Some(Node { bytes, bits })
    }

    /// The node of the first `length` bytes of this one; `None` without a byte, or with more than it has.
    #[must_use]
    pub fn cut(&self, length: usize) -> Option<Self> {
        self.slice(0..length)
    }

    /// The node of these bytes of this one, `None` if they are none or too many.
    ///
    /// ```
    /// use bouquet::accuracy::trie_checked::Node;
    /// assert_eq!(Node::of(b"www.org").slice(4..7), Some(Node::of(b"org")));
    /// assert_eq!(Node::of(b"www").slice(2..9), None);
    /// ```
    #[must_use]
    pub fn slice(&self, range: std::ops::Range<usize>) -> Option<Self> {
        let bytes = match &self.bytes {
            Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(range)?),
            Cow::Owned(bytes) => Cow::Owned(bytes.get(range)?.to_vec()),
        };
        let bits = 8 * bytes.len() as u64;
        (bits > 0).then_some(Node { bytes, bits })
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its length in bits.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Its digest: of the bytes, with the length mixed in.
    pub(super) fn digest(&self, hashing: &Hashing) -> Digest {
        hashing.digest(&self.bytes).derive(self.bits)
    }

    /// The same for a whole key whose digest is known.
    pub(super) fn digest_of(digest: Digest, key: &[u8]) -> Digest {
        digest.derive(8 * key.len() as u64)
    }

    /// All bits but the last.
    fn shorter(&self) -> Option<Self> {
        let bits = self.bits.checked_sub(1).filter(|&bits| bits > 0)?;
        match &self.bytes {
            Cow::Borrowed(bytes) => Node::prefix(bytes, bits),
            Cow::Owned(bytes) => Node::prefix(bytes, bits).map(Node::into_owned),
        }
    }

    fn into_owned<'b>(self) -> Node<'b> {
        Node { bytes: Cow::Owned(self.bytes.into_owned()), bits: self.bits }
    }
}

/// The dependency between the nodes of a trie: a node is there only if its parent is.
///
/// Law: a parent is shorter than its child.
///
/// ```
/// use bouquet::accuracy::trie_checked::{Node, Parent, Rule};
/// let parent = |rule: Rule, key: &'static str| rule.parent(&Node::of(key.as_bytes())).map(|node| node.bytes().to_vec());
/// assert_eq!(parent(Rule::Path, "/usr/bin/"), Some(b"/usr".to_vec()));
/// assert_eq!(parent(Rule::Domain, "www.example.com"), Some(b"example.com".to_vec()));
/// assert_eq!(parent(Rule::Date, "2024-05-17"), Some(b"2024-05".to_vec()));
/// assert_eq!(parent(Rule::Path, "usr"), None, "the root is not stored");
/// ```
pub trait Parent {
    /// The parent of a node; `None` where that is the root, which is always there.
    fn parent<'a>(&self, node: &Node<'a>) -> Option<Node<'a>>;
}

/// The rules that a setting names.
///
/// ```
/// use bouquet::{accuracy::trie_checked::Rule, shell::Choice};
/// assert_eq!(Rule::WORDS, ["path", "domain", "date", "bits"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Names with `/` between them: all but the last.
    Path,
    /// Labels with dots between them: all but the first. What is no name of letters, digits, `-` and `_` has no parent.
    Domain,
    /// Numbers with `-`, `:`, `.`, `T` or a space between them: all but the last. What is none has no parent.
    Date,
    /// Bits: all but the last.
    Bits,
}

choices!(Rule { Path = "path", Domain = "domain", Date = "date", Bits = "bits" });

impl Rule {
    /// The levels that any key has above it: without end where each bit is one, or none for certain.
    pub(super) fn levels(self) -> u64 {
        if self == Rule::Bits { u64::MAX } else { 1 }
    }
}

impl Parent for Rule {
    fn parent<'a>(&self, node: &Node<'a>) -> Option<Node<'a>> {
        let bytes = node.bytes();
        match self {
            Rule::Bits => node.shorter(),
            Rule::Path => {
                let own = bytes.iter().rposition(|&byte| byte != b'/')?;
                let slash = bytes[..own].iter().rposition(|&byte| byte == b'/')?;
                let end = bytes[..slash].iter().rposition(|&byte| byte != b'/')?;
                node.cut(end + 1)
            }
            Rule::Domain => {
                let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte) || *byte >= 0x80;
                let dot = bytes.iter().position(|&byte| byte == b'.').filter(|_| std::str::from_utf8(bytes).is_ok())?;
                if bytes.iter().all(is_name) { node.slice(dot + 1..bytes.len()) } else { None }
            }
            Rule::Date => {
                let is_between = |byte: &u8| b"-:.T ".contains(byte);
                let is_date = |byte: &u8| byte.is_ascii_digit() || is_between(byte) || *byte == b'Z';
                let last = bytes.iter().rposition(is_between)?;
                if bytes.iter().all(is_date) { node.cut(last) } else { None }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ancestors(rule: Rule, key: &str) -> Vec<String> {
        let way = std::iter::successors(rule.parent(&Node::of(key.as_bytes())), |node| rule.parent(node));
        way.map(|node| String::from_utf8_lossy(node.bytes()).into_owned()).collect()
    }

    #[test]
    fn ancestors_are_those_of_the_rule_up_to_the_root() {
        assert_eq!(ancestors(Rule::Path, "/usr//share/doc/"), ["/usr//share", "/usr"]);
        assert_eq!(ancestors(Rule::Path, "///"), [""; 0]);
        assert_eq!(ancestors(Rule::Domain, "a.b.example.com"), ["b.example.com", "example.com", "com"]);
        assert_eq!(ancestors(Rule::Domain, "a b.com"), [""; 0], "no name");
        assert_eq!(ancestors(Rule::Date, "2024-05-17T10:22"), ["2024-05-17T10", "2024-05-17", "2024-05", "2024"]);
        assert_eq!(ancestors(Rule::Date, "-"), [""; 0]);
        let bits: Vec<u64> = {
            let key = [0xFF, 0xFF];
            let way = std::iter::successors(Some(Node::of(&key)), |node| Rule::Bits.parent(node));
            way.map(|node| node.bits()).collect()
        };
        assert_eq!(bits, (1..=16).rev().collect::<Vec<_>>());
    }

    #[test]
    fn prefixes_of_bits_are_the_same_whichever_way_they_are_reached() {
        let key = [0b1010_1011, 0b1100_1101];
        let mut node = Node::of(&key);
        for bits in (1..16).rev() {
            node = Rule::Bits.parent(&node).unwrap();
            assert_eq!(node, Node::prefix(&key, bits).unwrap());
        }
    }
}

//! Lines that carry their own hash.

use sha2::{Digest as _, Sha256};

/// What the hash of a line stands behind, at its end.
const SEAL: &str = ",\"hash\":\"";

/// Hexadecimal digits of a hash.
const DIGITS: usize = 64;

/// The text of an object with its hash as the last field, and the hash.
pub(crate) fn seal(mut text: String) -> (String, String) {
    // Without its closing brace, which comes behind the hash.
    text.pop();
    let hash = hash(&text);
    text.push_str(SEAL);
    text.push_str(&hash);
    text.push_str("\"}");
    (text, hash)
}

/// What a hash covers, and the hash.
pub(crate) fn unseal(text: &str) -> Option<(&str, &str)> {
    let open = text.strip_suffix("\"}")?;
    let (sealed, hash) = open.split_at_checked(open.len().checked_sub(DIGITS)?)?;
    Some((sealed.strip_suffix(SEAL)?, hash))
}

/// The SHA-256 of a text, in hexadecimal.
pub(crate) fn hash(text: &str) -> String {
    hexadecimal(&Sha256::digest(text.as_bytes()))
}

/// Bytes as small hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        for digit in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(u32::from(digit), 16));
        }
        text
    })
}

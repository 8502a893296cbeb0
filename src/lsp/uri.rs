//! Addresses of documents and paths of files.

use std::str::FromStr as _;

use lsp_types::Uri;

/// The name of a document: the path of a `file:` address, else the address.
pub(crate) fn name(uri: &str) -> String {
    let Some(rest) = uri.strip_prefix("file://") else { return uri.to_owned() };
    // What stands before the first slash is a host: empty, or this one.
    let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or(rest);
    let path = decode(path);
    match path.strip_prefix('/') {
        Some(bare) if has_drive(bare) => bare.to_owned(),
        Some(_) | None => path,
    }
}

/// The address of a name.
pub(crate) fn of_name(name: &str) -> Option<Uri> {
    let path = name.replace('\\', "/");
    let text = if path.starts_with('/') {
        format!("file://{}", encode(&path))
    } else if has_drive(&path) {
        format!("file:///{}", encode(&path))
    } else {
        name.to_owned()
    };
    Uri::from_str(&text).ok()
}

/// Whether the path starts with `C:` or its like.
fn has_drive(path: &str) -> bool {
    let mut letters = path.bytes();
    letters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
        && letters.next() == Some(b':')
        && letters.next().is_none_or(|next| matches!(next, b'/' | b'\\'))
}

/// Without `%20` and its like. What cannot be decoded stays as it is.
fn decode(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            Some(_) | None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

fn encode(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~');
        if plain {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths() {
        let rows = [
            ("file:///x/a.dl", "/x/a.dl", "file:///x/a.dl"),
            ("file:///x/a%20b%C3%A9.dl", "/x/a bé.dl", "file:///x/a%20b%C3%A9.dl"),
            ("file://localhost/x/a.dl", "/x/a.dl", "file:///x/a.dl"),
            ("file:///c%3A/x/a.dl", "c:/x/a.dl", "file:///c%3A/x/a.dl"),
            ("file:///x/100%.dl", "/x/100%.dl", "file:///x/100%25.dl"),
            ("file:///x/%FF.dl", "/x/%FF.dl", "file:///x/%25FF.dl"),
            ("untitled:Untitled-1", "untitled:Untitled-1", "untitled:Untitled-1"),
        ];
        for (uri, path, back) in rows {
            assert_eq!(name(uri), path, "{uri}");
            assert_eq!(of_name(path).map(|uri| uri.as_str().to_owned()).as_deref(), Some(back), "{uri}");
        }
    }
}

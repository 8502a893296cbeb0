//! Values as Python writes them: one library words the calls and answers of other agents so.

use crate::json::Json;
use crate::json::MAX_DEPTH;

/// Reads a text that is one literal of dictionaries with text keys, lists, texts, numbers and constants; none for
/// anything else.
pub(crate) fn parse(text: &str) -> Option<Json> {
    let mut reader = Reader { rest: text };
    let value = reader.value(0)?;
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.eat("{") {
            return self.fields(depth);
        }
        if self.eat("[") {
            return self.items(depth);
        }
        if self.rest.starts_with(['\'', '"']) {
            return self.text().map(|text| Json::Text(text.into()));
        }
        for (word, value) in [("None", Json::Null), ("True", Json::Bool(true)), ("False", Json::Bool(false))]
        {
            if self.eat(word) {
                return Some(value);
            }
        }
        self.number()
    }

    fn fields(&mut self, depth: usize) -> Option<Json> {
        let mut fields = Vec::new();
        while !self.eat("}") {
            if !fields.is_empty() && !self.eat(", ") {
                return None;
            }
            let key = self.text()?;
            if !self.eat(": ") {
                return None;
            }
            fields.push((key.into(), self.value(depth + 1)?));
        }
        Some(Json::Object(fields))
    }

    fn items(&mut self, depth: usize) -> Option<Json> {
        let mut items = Vec::new();
        while !self.eat("]") {
            if !items.is_empty() && !self.eat(", ") {
                return None;
            }
            items.push(self.value(depth + 1)?);
        }
        Some(Json::Array(items))
    }

    fn number(&mut self) -> Option<Json> {
        let end = self.rest.find(|letter: char| !matches!(letter, '0'..='9' | '+' | '-' | '.' | 'e'));
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let number = crate::json::parse(digits).ok().filter(|value| matches!(value, Json::Number(_)))?;
        self.rest = rest;
        Some(number)
    }

    fn text(&mut self) -> Option<String> {
        let quote = if self.eat("'") { '\'' } else { self.eat("\"").then_some('"')? };
        let mut text = String::new();
        loop {
            let mut letters = self.rest.chars();
            let letter = letters.next()?;
            self.rest = letters.as_str();
            match letter {
                '\\' => text.push(self.escape()?),
                letter if letter == quote => return Some(text),
                letter => text.push(letter),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let mut letters = self.rest.chars();
        let letter = letters.next()?;
        self.rest = letters.as_str();
        let digits = match letter {
            'n' => return Some('\n'),
            'r' => return Some('\r'),
            't' => return Some('\t'),
            '\\' | '\'' | '"' => return Some(letter),
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => return None,
        };
        let code = self.rest.get(..digits)?;
        self.rest = self.rest.get(digits..)?;
        u32::from_str_radix(code, 16).ok().and_then(char::from_u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read_whole_or_not_at_all() {
        let rows = [
            (
                "{'a': 1, 'b': [True, None, -1.5e+16], \"it's\": 'x'}",
                r#"{"a":1,"b":[true,null,-1.5e+16],"it's":"x"}"#,
            ),
            (r"'\n\t\\\'\x1b\u2028\U0001f600'", "\"\\n\\t\\\\'\\u001b\u{2028}\u{1f600}\""),
            ("{}", "{}"),
            ("[]", "[]"),
        ];
        for (text, json) in rows {
            assert_eq!(parse(text), Some(crate::json::parse(json).unwrap()), "{text}");
        }
        for text in ["", "{'a' 1}", "{'a': 1", "{1: 2}", "(1,)", "nan", "b'x'", "'x' y", r"'\ud800'", "[1 2]"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"[".repeat(100_000)), None);
    }
}

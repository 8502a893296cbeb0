//! `gatelog lsp` as an editor meets it: frames on standard input and output.

use serde_json::{Value, json};

use crate::editor::{Editor, apply, at, folder, marked, uri_of};

const URI: &str = "untitled:policy";

/// Opens a text with a mark, and asks about that place.
fn ask_at(text: &str, method: &str) -> Value {
    let (bare, position) = marked(text);
    let mut editor = Editor::greeted();
    editor.open(URI, &bare);
    editor.result(method, at(URI, &position))
}

fn labels(text: &str) -> Vec<String> {
    let items = ask_at(text, "textDocument/completion");
    let items = items.as_array().unwrap().iter();
    items.map(|item| item["label"].as_str().unwrap_or_default().to_owned()).collect()
}

const POLICY: &str = "// Who may pay.\n.decl Payer(agent: symbol)\nPayer(\"ann\").\n\
    // @id: pay\n// @deny_message: {a} may not\nUnauthorized(i) :- Actions(i, a), IsTool(a, \"pay\"), !Payer(\"x\").\n";

#[test]
fn findings_come_as_one_types() {
    let mut editor = Editor::greeted();
    editor.open(URI, POLICY);
    assert_eq!(editor.codes(URI), [""; 0]);
    editor.change(URI, 2, "Unauthorized(i) :- Actions(i, a), Nope(a).");
    assert_eq!(editor.codes(URI), ["E0010"]);
    editor.change(URI, 3, "Unauthorized(i) :- Actions(i, ");
    assert_eq!(editor.codes(URI), ["E0001"]);
    editor.change(URI, 4, POLICY);
    assert_eq!(editor.codes(URI), [""; 0]);
    editor.change(URI, 5, "R(1).");
    editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(editor.codes(URI), [""; 0]);
}

#[test]
fn places_are_counted_in_utf_16() {
    let mut editor = Editor::greeted();
    editor.open(URI, "\u{feff}// ß𝄞\r\n/* 𝄞 */ Nope(\"𝄞\", 1).\r\n");
    let findings = editor.findings(URI);
    let range = json!({ "start": { "line": 1, "character": 9 }, "end": { "line": 1, "character": 13 } });
    assert_eq!(findings[0]["range"], range);
    editor.change(URI, 2, "\u{feff}Nope(1).");
    let findings = editor.findings(URI);
    assert_eq!(findings[0]["range"]["start"], json!({ "line": 0, "character": 1 }));
}

#[test]
fn hovering_tells_what_a_name_means() {
    let rows = [
        ("Payer(agent", ".decl Payer(agent: symbol)", "Who may pay"),
        ("Payer(\"ann", "Filled by `untitled:policy:3`", ""),
        ("Actions(i", ".decl Actions(idx: unsigned, action: Action)", "Filled by the host."),
        ("IsTool(a", "IsTool(action: Action, name: symbol)", "Filled by the prelude."),
        ("a, \"pay", "a: Action", ""),
        ("i) :-", "i: unsigned", ""),
        ("a} may not", "a: Action", ""),
        ("symbol)\nPayer", "symbol", "A text."),
        ("deny_message", "@deny_message: text with placeholders", "The reason that is shown"),
    ];
    for (place, first, second) in rows {
        let text = POLICY.replacen(place, &format!("‸{place}"), 1);
        let hover = ask_at(&text, "textDocument/hover");
        let value = hover["contents"]["value"].as_str().unwrap_or_default();
        assert!(value.contains(first) && value.contains(second), "{place}: {value}");
    }
    let calls = [
        ("R(x) :- S(t), x = @js‸on_str(t, \"a\").", "@json_str("),
        (".decl M(m: Message)\n.decl R(x: symbol)\nR(m.con‸tents) :- M(m).", "contents: symbol"),
        ("R(a) :- Actions(_, a), a = $Call‸Tool(_, _).", "$CallTool(fn_name: symbol, args: symbol): Action"),
        (".decl R(a: Act‸ion)", ".type Action ="),
        ("R(b) :- SentMessage(b, _), contains(\"x\", ‸b).", "b: symbol"),
        ("R(a) :- Actions(_, a), cont‸ains(\"a\", \"x\").", "contains(part: symbol"),
    ];
    for (text, expected) in calls {
        let hover = ask_at(text, "textDocument/hover");
        let value = hover["contents"]["value"].as_str().unwrap_or_default();
        assert!(value.contains(expected), "{text}: {value}");
    }
    assert_eq!(ask_at("‸  // nothing", "textDocument/hover"), Value::Null);
}

#[test]
fn a_broken_policy_still_tells() {
    let broken = format!("{POLICY}Unauthorized(i) :- Actions(i,\n\nNope(\n.decl Last(x: Missing)\n");
    let text = broken.replacen("Payer(agent", "Pay‸er(agent", 1);
    let hover = ask_at(&text, "textDocument/hover");
    assert!(hover["contents"]["value"].as_str().unwrap_or_default().contains("Who may pay"), "{hover}");
    let mut editor = Editor::greeted();
    editor.open(URI, &broken);
    let symbols = editor.result("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    let names: Vec<_> = symbols.as_array().unwrap().iter().map(|symbol| symbol["name"].clone()).collect();
    assert_eq!(names, ["Payer", "Payer", "Unauthorized", "Last"]);
    assert!(!editor.codes(URI).is_empty());
}

#[test]
fn completion_knows_the_place() {
    let rows = [
        ("Unauthorized(i) :- Act‸", vec!["Actions", "i", "strlen"]),
        ("Unauthorized(i) :- Actions(i, a), IsTool(‸", vec!["a", "i"]),
        ("R(x) :- x = @js‸", vec!["json_str", "url_host"]),
        ("R(x) :- x = $‸", vec!["CallTool", "Assistant"]),
        ("// @‸\nR(1).", vec!["deny_message", "ask"]),
        ("R(x) :- SentMessage(x, m), m.‸", vec!["contents", "agent_role"]),
        ("R(x) :- SentMessage(x, m), m.con‸, x != \"\".\nS(1).", vec!["contents"]),
        ("R(x) :- x = m.‸, SentMessage(_, m).", vec!["contents"]),
        ("R(x) :- EdgeData(_, x, p), 1 < count : { EdgeData(_, _, q), q.‸ }.", vec!["proximal"]),
        (".type A = [m: Message]\n.decl As(a: A)\nR(1) :- As(a), a.m.‸", vec!["entity"]),
        (
            "S(i) :- Actions(i, a), IsTool(a, \"pay\"), ToolResult(_, \"read-mail\", _), R(\"‸\").",
            vec!["pay", "read-mail"],
        ),
        (".decl R(x: ‸", vec!["symbol", "Action"]),
        (".‸", vec!["decl", "include"]),
        (".output ‸", vec!["IsAuthorized"]),
    ];
    for (text, expected) in rows {
        let labels = labels(text);
        for label in expected {
            assert!(labels.iter().any(|known| known == label), "{text}: no {label} in {labels:?}");
        }
    }
    for text in
        ["R(\"pay‸\").", "R(x) :- x = 1.‸", "R(x) :- Actions(_, x), x.‸", "// words‸", ".include \"‸\""]
    {
        assert_eq!(labels(text), [""; 0], "{text}");
    }
}

#[test]
fn completion_replaces_the_word() {
    let items = ask_at("R(x) :- IsTool(x, \"𝄞pa‸y\"), IsTool(x, \"read\\\"it\").", "textDocument/completion");
    let edits: Vec<_> = items.as_array().unwrap().iter().map(|item| &item["textEdit"]).collect();
    let range = json!({ "start": { "line": 0, "character": 19 }, "end": { "line": 0, "character": 24 } });
    assert_eq!(edits.len(), 2);
    assert_eq!(*edits[0], json!({ "range": range, "newText": "read\\\"it" }));
    // No name is completed to nothing, and line ends stay inside the quotes.
    let items = ask_at("R(x) :- IsTool(x, \"‸\"), IsTool(x, \"a\\nb\").", "textDocument/completion");
    let edits: Vec<_> = items.as_array().unwrap().iter().map(|item| &item["textEdit"]["newText"]).collect();
    assert_eq!(edits, ["a\\nb"]);
}

#[test]
fn signatures_follow_the_commas() {
    let help = ask_at("R(x) :- x = @json_str(a, ‸", "textDocument/signatureHelp");
    assert_eq!(help["activeParameter"], 1);
    let label = help["signatures"][0]["label"].as_str().unwrap_or_default();
    assert!(label.starts_with("@json_str("), "{label}");
    let help = ask_at("R(x) :- IsTool(‸x)", "textDocument/signatureHelp");
    assert_eq!(help["signatures"][0]["label"], "IsTool(action: Action, name: symbol)");
    assert_eq!(ask_at("‸R(1).", "textDocument/signatureHelp"), Value::Null);
}

#[test]
fn definitions_cross_files() {
    let folder = folder("definitions");
    let inner = folder.join("inner/list.dl");
    let list = ".type Name <: symbol\n.type Sort = Good {} | Bad {}\n.decl Payer(agent: Name)\n";
    std::fs::write(&inner, list).unwrap();
    let main = folder.join("main.dl");
    let text = ".include \"inner/list.dl\"\n.decl R(n: Name, s: Sort)\nR(n, $Good()) :- Payer(n).\n";
    let (uri, inner_uri) = (uri_of(&main), uri_of(&inner));
    let mut editor = Editor::greeted();
    editor.open(&uri, text);
    let rows = [
        ((2, 18), Some((&inner_uri, 2, 6))),
        ((1, 12), Some((&inner_uri, 0, 6))),
        ((2, 7), Some((&inner_uri, 1, 13))),
        ((0, 14), Some((&inner_uri, 0, 0))),
        ((2, 0), Some((&uri, 1, 6))),
        ((2, 3), None),
    ];
    for ((line, character), expected) in rows {
        let place = json!({ "line": line, "character": character });
        let found = editor.result("textDocument/definition", at(&uri, &place));
        match expected {
            Some((uri, line, character)) => {
                assert_eq!(found["uri"], **uri, "{place}");
                assert_eq!(found["range"]["start"], json!({ "line": line, "character": character }));
            }
            None => assert_eq!(found, Value::Null, "{place}"),
        }
    }
    assert_eq!(editor.codes(&uri), [""; 0]);
    assert_eq!(ask_at("R(i) :- Act‸ions(i, _).", "textDocument/definition"), Value::Null);
}

/// The findings of an included file stand in that file, and its open text goes before the one on disk.
#[test]
fn open_texts_go_first() {
    let folder = folder("open");
    let (main, list) = (folder.join("main.dl"), folder.join("inner/list.dl"));
    std::fs::write(&list, ".decl Nothing(x: symbol)\n").unwrap();
    let (uri, list_uri) = (uri_of(&main), uri_of(&list));
    let mut editor = Editor::greeted();
    editor.open(&uri, ".include \"inner/list.dl\"\n.decl R(x: symbol)\nR(x) :- Payer(x).\n");
    assert_eq!(editor.codes(&uri), ["E0010"]);
    editor.open(&list_uri, ".decl Payer(x: symbol)\nPayer(\"a\").\n");
    assert_eq!(editor.codes(&uri), [""; 0]);
    // Alone, it would miss what the including file declares.
    editor.change(&list_uri, 2, ".decl Payer(x: symbol)\nPayer(x) :- R(x), Nope(x).\n");
    assert_eq!(editor.codes(&list_uri), ["E0010"]);
    assert_eq!(editor.codes(&uri), [""; 0]);
    editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": list_uri } }));
    assert_eq!(editor.codes(&uri), ["E0010"]);
    assert_eq!(editor.codes(&list_uri), [""; 0]);
    editor.change(&uri, 2, ".include \"../outside.dl\"\n.include \"/etc/passwd\"\n");
    assert_eq!(editor.codes(&uri), ["E0050", "E0050"]);
}

#[test]
fn files_that_include_each_other_are_told_so() {
    let folder = folder("circle");
    let (one, two) = (folder.join("one.dl"), folder.join("two.dl"));
    std::fs::write(&one, ".include \"two.dl\"\n").unwrap();
    std::fs::write(&two, ".include \"one.dl\"\n").unwrap();
    let mut editor = Editor::greeted();
    for path in [&one, &two] {
        let text = std::fs::read_to_string(path).unwrap();
        editor.open(&uri_of(path), &text);
    }
    let codes = [editor.codes(&uri_of(&one)), editor.codes(&uri_of(&two))].concat();
    assert_eq!(codes, ["E0051"]);
}

#[test]
fn references_are_every_use() {
    let (text, position) = marked(&POLICY.replacen("Payer(agent", "Pa‸yer(agent", 1));
    let mut editor = Editor::greeted();
    editor.open(URI, &text);
    let mut params = at(URI, &position);
    let mut lines = |declaration: bool| {
        params["context"] = json!({ "includeDeclaration": declaration });
        let found = editor.result("textDocument/references", params.clone());
        let found = found.as_array().unwrap().clone();
        found.iter().map(|place| place["range"]["start"]["line"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(lines(true), [1, 2, 5]);
    assert_eq!(lines(false), [2, 5]);
}

/// The text after the edits that a rename answers with.
fn renamed(text: &str, new: &str) -> Result<String, String> {
    let (bare, position) = marked(text);
    let mut editor = Editor::greeted();
    editor.open(URI, &bare);
    let mut params = at(URI, &position);
    params["newName"] = json!(new);
    let answer = editor.ask("textDocument/rename", params);
    if let Some(why) = answer["error"]["message"].as_str() {
        return Err(why.to_owned());
    }
    let edits = answer["result"]["changes"][URI].as_array().cloned().unwrap_or_default();
    Ok(edits.iter().rev().fold(bare, |text, edit| apply(&text, edit)))
}

#[test]
fn renaming_changes_every_use() {
    let all = POLICY.replace("Payer", "Cashier");
    assert_eq!(renamed(&POLICY.replacen("!Payer", "!Pa‸yer", 1), "Cashier"), Ok(all));
    let variable = POLICY.replace("(i, a)", "(i, act)").replace("(a, ", "(act, ").replace("{a}", "{act}");
    assert_eq!(renamed(&POLICY.replacen("IsTool(a", "IsTool(‸a", 1), "act"), Ok(variable));
    let types =
        "\u{feff}.type 𝄞\r\n.type A <: symbol\r\n.decl R(x: ‸A, y: A)\r\n".replace('𝄞', "Z <: symbol // 𝄞");
    let after = types.replace('‸', "").replace("type A", "type B").replace(": A", ": B");
    assert_eq!(renamed(&types, "B"), Ok(after));
}

#[test]
fn renaming_is_refused_in_words() {
    let rows = [
        (POLICY.replacen("Actions(i", "Act‸ions(i", 1), "Deeds", "`Actions` belongs to the prelude"),
        (".decl R(x: sym‸bol)".to_owned(), "text", "`symbol` is built in"),
        (POLICY.replacen("Payer(agent", "Pa‸yer(agent", 1), "no name", "`no name` is no name"),
        (POLICY.replacen("Payer(agent", "Pa‸yer(agent", 1), "count", "`count` is no name"),
        (POLICY.replacen("Payer(agent", "Pa‸yer(agent", 1), "__P", "`__P` is reserved"),
        (POLICY.replacen("Payer(agent", "Pa‸yer(agent", 1), "IsTool", "`IsTool` is a relation already"),
        (POLICY.replacen("Payer(agent", "Pa‸yer(agent", 1), "Action", "`Action` is a type already"),
        (POLICY.replacen("(i, a)", "(i, ‸a)", 1), "i", "`i` is a variable of the rule already"),
        ("R(x) :- x = @json_‸str(\"\", \"\").".to_owned(), "y", "`json_str` is built in"),
        (".decl P‸(a: symbol)\nR(x :- P(x).".to_owned(), "Q", "`untitled:policy` has faults of syntax"),
        ("‸ // words".to_owned(), "y", "no name stands here"),
        ("Un‸known(1).".to_owned(), "y", "`Unknown` is not declared"),
    ];
    for (text, new, expected) in rows {
        let refusal = renamed(&text, new);
        let words = refusal.as_ref().err().map_or("", String::as_str);
        assert!(words.starts_with(expected), "{text}: {refusal:?}");
    }
    let (text, position) = marked(&POLICY.replacen("Actions(i", "Act‸ions(i", 1));
    let mut editor = Editor::greeted();
    editor.open(URI, &text);
    let words = editor.refusal("textDocument/prepareRename", at(URI, &position));
    assert!(words.contains("prelude"), "{words}");
}

#[test]
fn symbols_are_the_statements() {
    let mut editor = Editor::greeted();
    editor.open(
        URI,
        &format!(".type P = [a: symbol, b: number]\n.type V = X {{}} | Y {{ c: symbol }}\n{POLICY}"),
    );
    let symbols = editor.result("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    let shown = |symbol: &Value| {
        let text = |key: &str| symbol[key].as_str().unwrap_or_default().to_owned();
        let inside = symbol["children"].as_array().cloned().unwrap_or_default();
        let inside: Vec<_> = inside.iter().map(|child| child["name"].as_str().unwrap_or_default()).collect();
        format!("{} {} {}", text("name"), text("detail"), inside.join(","))
    };
    let shown: Vec<_> = symbols.as_array().unwrap().iter().map(shown).collect();
    assert_eq!(shown, ["P  a,b", "V  X,Y", "Payer (agent: symbol) agent", "Payer  ", "Unauthorized pay "]);
}

#[test]
fn documents_are_laid_out() {
    let mut editor = Editor::greeted();
    editor.open(URI, "Payer( \"𝄞\" ) .  // words\n.decl   Payer(a:symbol)");
    let params = json!({ "textDocument": { "uri": URI }, "options": { "tabSize": 4, "insertSpaces": true } });
    let edits = editor.result("textDocument/formatting", params.clone());
    let text = apply("Payer( \"𝄞\" ) .  // words\n.decl   Payer(a:symbol)", &edits[0]);
    assert_eq!(text, "Payer(\"𝄞\"). // words\n.decl Payer(a: symbol)\n");
    editor.change(URI, 2, &text);
    assert_eq!(editor.result("textDocument/formatting", params.clone()), json!([]));
    editor.change(URI, 3, "Payer(");
    assert_eq!(editor.refusal("textDocument/formatting", params), "the text has faults of syntax");
}

#[test]
fn fixes_are_offered() {
    let text = ".decl R(x: symbol)\nR(x) :- ToolOutput(x, 𝄞tool, _).\n".replace('𝄞', "/* 𝄞 */ ");
    let mut editor = Editor::greeted();
    editor.open(URI, &text);
    let mut params = json!({ "textDocument": { "uri": URI }, "context": { "diagnostics": [] } });
    let place = |character: u32| json!({ "line": 1, "character": character });
    params["range"] = json!({ "start": place(34), "end": place(34) });
    let actions = editor.result("textDocument/codeAction", params.clone());
    let action = &actions[0];
    assert_eq!((&action["title"], &action["kind"]), (&json!("name it `_tool`"), &json!("quickfix")));
    assert_eq!(action["diagnostics"][0]["code"], "W0001");
    let known = editor.findings(URI);
    assert!(known.contains(&action["diagnostics"][0]), "{known:?}");
    let mended = apply(&text, &action["edit"]["changes"][URI][0]);
    assert_eq!(mended, text.replace(" tool", " _tool"));
    params["context"] = json!({ "diagnostics": [], "only": ["refactor"] });
    assert_eq!(editor.result("textDocument/codeAction", params.clone()), json!([]));
    params["context"] = json!({ "diagnostics": [] });
    params["range"] = json!({ "start": { "line": 0, "character": 0 }, "end": place(2) });
    assert_eq!(editor.result("textDocument/codeAction", params), json!([]));
}

#[test]
fn a_conversation_has_an_order() {
    let mut editor = Editor::silent();
    assert_eq!(editor.ask("textDocument/hover", json!({}))["error"]["code"], -32002);
    editor.open(URI, "Nope(1).");
    editor.ask("initialize", json!({ "capabilities": {} }));
    assert_eq!(editor.ask("initialize", json!({}))["error"]["code"], -32600);
    let place = at(URI, &json!({ "line": 0, "character": 0 }));
    let words = editor.refusal("textDocument/hover", place.clone());
    assert_eq!(words, format!("`{URI}` is not open"));
    assert_eq!(editor.ask("textDocument/hover", json!({ "position": 1 }))["error"]["code"], -32602);
    assert_eq!(editor.ask("textDocument/hover", Value::Null)["error"]["code"], -32602);
    assert_eq!(editor.ask("no/such", json!({}))["error"]["code"], -32601);
    editor.change("untitled:other", 1, "R(1).");
    editor.tell("textDocument/didChange", json!([]));
    editor.tell("$/whatever", json!({ "id": 1 }));
    editor.open(URI, "Nope(1).");
    assert_eq!(editor.codes(URI), ["E0010"]);
    let logged = editor.notes.iter().filter(|note| note["method"] == "window/logMessage").count();
    assert_eq!(logged, 2);
    // A place far outside is the end of the text.
    let far = at(URI, &json!({ "line": u32::MAX, "character": u32::MAX }));
    assert_eq!(editor.result("textDocument/hover", far), Value::Null);
    assert_eq!(editor.result("shutdown", Value::Null), Value::Null);
    assert_eq!(editor.ask("textDocument/hover", place)["error"]["code"], -32600);
    editor.tell("exit", Value::Null);
    assert_eq!(editor.ended(), Some(0));
    let mut editor = Editor::greeted();
    editor.tell("exit", Value::Null);
    assert_eq!(editor.ended(), Some(1));
    assert_eq!(Editor::greeted().ended(), Some(1));
}

#[test]
fn malformed_messages_are_answered() {
    let mut editor = Editor::greeted();
    let deep = "[".repeat(100_000);
    let rows = [
        ("{", -32700),
        ("", -32700),
        ("\u{0}", -32700),
        ("nonsense", -32700),
        (deep.as_str(), -32700),
        ("{}", -32600),
        ("[]", -32600),
        ("null", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}x", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600),
    ];
    for (body, code) in rows {
        editor.frame(body);
        let answer = editor.message();
        assert_eq!(answer["error"]["code"], code, "{body:.40}: {answer}");
        assert_eq!(answer["id"], Value::Null);
    }
    editor.raw(b"Content-Length: 2\r\n\r\n\xff\xfe");
    assert_eq!(editor.message()["error"]["code"], -32700);
    for header in
        ["X: 1\r\n\r\n", "Content-Length: -1\r\n\r\n", "Content-Length: many\r\n\r\n", "\u{1}\u{2}\r\n\r\n"]
    {
        editor.raw(header.as_bytes());
        assert_eq!(editor.message()["error"]["code"], -32700, "{header}");
    }
    // Still there.
    editor.raw(b"\r\n");
    editor.open(URI, "Nope(1).");
    assert_eq!(editor.codes(URI), ["E0010"]);
}

#[test]
fn what_cannot_be_told_apart_ends_it() {
    for bytes in [
        "Content-Length: 18446744073709551615\r\n\r\n".to_owned(),
        "Content-Length: 99999999999\r\n\r\n{}".to_owned(),
        "x".repeat(100_000),
    ] {
        let mut editor = Editor::greeted();
        editor.raw(bytes.as_bytes());
        assert_eq!(editor.message()["error"]["code"], -32700);
        assert_eq!(editor.ended(), Some(2));
    }
    // A message that is cut off is the end of the input.
    let mut editor = Editor::greeted();
    editor.raw(b"Content-Length: 100\r\n\r\n{\"json");
    assert_eq!(editor.ended(), Some(1));
}

/// Every request at every place of texts that are cut off anywhere is answered.
#[test]
fn no_place_is_too_odd() {
    let text = ".include \"x\"\n.type A = [b: symbol]\n// @message: {x} ß\nR(x, \"𝄞\") :- S(x), x = @f(m.a.b, $V(1)), \
                1 < count : { T(x) }, match(\"a\", x).\n";
    let mut editor = Editor::greeted();
    editor.open(URI, "");
    let methods = ["hover", "completion", "definition", "signatureHelp", "prepareRename"];
    let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(5).collect();
    for (version, cut) in cuts.into_iter().enumerate() {
        let cut = &text[..cut];
        editor.change(URI, i32::try_from(version).unwrap(), cut);
        let line = cut.matches('\n').count();
        let column = cut.rsplit('\n').next().unwrap_or("").encode_utf16().count();
        for column in [column, column / 2] {
            for method in methods {
                let place = at(URI, &json!({ "line": line, "character": column }));
                let answer = editor.ask(&format!("textDocument/{method}"), place);
                let refused = method == "prepareRename" && answer["error"]["code"] == -32803;
                assert!(refused || answer["error"] == Value::Null, "{method} {cut}: {answer}");
            }
        }
    }
}

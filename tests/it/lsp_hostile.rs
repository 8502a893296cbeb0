//! An editor that `gatelog lsp` cannot rely on: each message is answered or ignored, and the next one is heard.

use serde_json::{Value, json};

use crate::editor::{Editor, at, folder, marked, uri_of};

const URI: &str = "untitled:hostile";

/// That the server still reads what is sent.
fn still_there(editor: &mut Editor) {
    editor.open("untitled:alive", "Nope(1).");
    assert_eq!(editor.codes("untitled:alive"), ["E0010"]);
    editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": "untitled:alive" } }));
}

#[test]
fn headers_in_any_form() {
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "none" }).to_string();
    let length = body.len();
    let rows = [
        format!("content-length: {length}\r\n\r\n"),
        format!("Content-Length:{length}\n\n"),
        format!(
            "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {length}\r\n\r\n"
        ),
        format!("X: \u{1}\r\nContent-Length: {length}\r\n\r\n"),
        format!("Content-Length: 99999\r\nContent-Length: {length}\r\n\r\n"),
        format!("\r\n\r\nContent-Length: {length}\r\n\r\n"),
    ];
    let mut editor = Editor::greeted();
    for header in rows {
        editor.raw(header.as_bytes());
        editor.raw(body.as_bytes());
        assert_eq!(editor.message()["id"], 7, "{header}");
    }
    // Byte by byte.
    for byte in format!("Content-Length: {length}\r\n\r\n{body}").bytes() {
        editor.raw(&[byte]);
    }
    assert_eq!(editor.message()["id"], 7);
    still_there(&mut editor);
}

#[test]
fn ids_and_parameters_in_any_form() {
    let mut editor = Editor::greeted();
    for id in [json!("text"), json!(-1), json!(0), json!("")] {
        editor.frame(&json!({ "jsonrpc": "2.0", "id": id, "method": "none" }).to_string());
        assert_eq!(editor.message()["id"], id);
    }
    for id in [json!(1.5), json!(null), json!({}), json!([]), json!(9_223_372_036_854_775_807_i64)] {
        editor.frame(&json!({ "jsonrpc": "2.0", "id": id, "method": "none" }).to_string());
        assert_eq!(editor.message()["error"]["code"], -32600, "{id}");
    }
    let methods = [
        "hover",
        "completion",
        "definition",
        "references",
        "rename",
        "prepareRename",
        "signatureHelp",
        "documentSymbol",
        "formatting",
        "codeAction",
    ];
    editor.open(URI, "R(1).");
    let place = json!({ "line": 0, "character": 0 });
    for method in methods {
        for params in [
            json!(null),
            json!([]),
            json!("text"),
            json!({}),
            json!({ "textDocument": URI }),
            json!({ "textDocument": { "uri": "" }, "position": place }),
            json!({ "textDocument": { "uri": "::" }, "position": place }),
            json!({ "textDocument": { "uri": URI }, "position": { "line": -1, "character": 0 } }),
            json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": -1 } }),
            json!({ "textDocument": { "uri": URI }, "position": { "line": 4_294_967_296_u64, "character": 0 } }),
            json!({ "textDocument": { "uri": URI }, "position": { "line": 1.5, "character": "x" } }),
        ] {
            let answer = editor.ask(&format!("textDocument/{method}"), params.clone());
            let code = &answer["error"]["code"];
            let is_answered = method == "documentSymbol" && params["textDocument"]["uri"] == URI;
            assert!(is_answered || *code == -32602, "{method} {params}: {answer}");
        }
    }
    still_there(&mut editor);
}

/// A column inside a pair of surrogates is the place before the letter.
#[test]
fn columns_inside_letters() {
    let text = "// 𝄞𝄞𝄞\nR(\"𝄞é\", x) :- S(x, \"𝄞\"). // 👩‍👩‍👧\n";
    let mut editor = Editor::greeted();
    editor.open(URI, text);
    for method in ["hover", "completion", "definition", "signatureHelp"] {
        for line in 0..4 {
            for column in 0..60 {
                let place = json!({ "line": line, "character": column });
                let answer = editor.ask(&format!("textDocument/{method}"), at(URI, &place));
                assert_eq!(answer["error"], Value::Null, "{method} {place}");
            }
        }
    }
    let mut params = json!({ "textDocument": { "uri": URI }, "context": { "diagnostics": [] } });
    let (first, last) = (json!({ "line": 0, "character": 0 }), json!({ "line": 9, "character": 9 }));
    for (start, end) in [(&first, &last), (&last, &first)] {
        params["range"] = json!({ "start": start, "end": end });
        assert!(editor.result("textDocument/codeAction", params.clone()).is_array());
    }
    still_there(&mut editor);
}

#[test]
fn documents_that_come_and_go_twice() {
    let mut editor = Editor::greeted();
    editor.open(URI, "Nope(1).");
    editor.open(URI, "// nothing");
    assert_eq!(editor.codes(URI), [""; 0], "the last text holds");
    let closed = json!({ "textDocument": { "uri": URI } });
    editor.tell("textDocument/didClose", closed.clone());
    editor.tell("textDocument/didClose", closed);
    editor.change(URI, 9, "Nope(1).");
    editor.ask("none", Value::Null);
    let logged = editor.notes.iter().filter(|note| note["method"] == "window/logMessage").count();
    assert_eq!(logged, 2, "the second closing and the change of what is closed");
    let place = at(URI, &json!({ "line": 0, "character": 0 }));
    assert_eq!(editor.refusal("textDocument/hover", place), format!("`{URI}` is not open"));
    still_there(&mut editor);
}

/// Texts are exchanged whole: a change of a part is refused, and what was there stands.
#[test]
fn changes_of_parts_are_refused() {
    let mut editor = Editor::greeted();
    editor.open(URI, "Nope(1).");
    let range = json!({ "start": { "line": 5, "character": 0 }, "end": { "line": 0, "character": 0 } });
    for changes in [
        json!([{ "range": range, "text": "x" }]),
        json!([{ "text": "// sound" }, { "range": range, "text": "x" }]),
        json!([{ "range": range, "rangeLength": 4, "text": "" }, { "text": "// sound" }]),
    ] {
        let params = json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": changes });
        editor.tell("textDocument/didChange", params);
        assert_eq!(editor.codes(URI), ["E0010"]);
    }
    let params = json!({ "textDocument": { "uri": URI, "version": 3 }, "contentChanges": [] });
    editor.tell("textDocument/didChange", params);
    assert_eq!(editor.codes(URI), ["E0010"]);
    // Older than what is open, and nevertheless the last that came.
    editor.change(URI, -5, "// sound");
    assert_eq!(editor.codes(URI), [""; 0]);
}

#[test]
fn large_and_deep_documents() {
    let mut editor = Editor::greeted();
    let words = "𝄞 words ".repeat(300);
    let large: String =
        (0..400).map(|at| format!("IsAuthorized({at}) :- Nope{at}(x). // {words}\n")).collect();
    assert!(large.len() > 900_000);
    let deep = format!("A({}1{}).", "(".repeat(50_000), ")".repeat(50_000));
    let open = "(".repeat(50_000);
    let line = format!("// {}", "𝄞".repeat(300_000));
    for (version, text) in [deep, open, line, large].into_iter().enumerate() {
        if version == 0 {
            editor.open(URI, &text);
        } else {
            editor.change(URI, i32::try_from(version).unwrap(), &text);
        }
        let place = json!({ "line": 0, "character": text.len() / 2 });
        for method in ["hover", "completion", "signatureHelp"] {
            let answer = editor.ask(&format!("textDocument/{method}"), at(URI, &place));
            assert_eq!(answer["error"], Value::Null, "{method} {version}");
        }
    }
    still_there(&mut editor);
}

#[test]
fn renaming_crosses_files() {
    let folder = folder("renames");
    let (main, list) = (folder.join("main.dl"), folder.join("inner/list.dl"));
    let inside = ".decl Payer(agent: symbol)\nPayer(\"ann\").\n";
    std::fs::write(&list, inside).unwrap();
    let text = ".include \"inner/list.dl\"\n.decl R(x: symbol)\nR(x) :- Pay‸er(x), !Payer(\"b\").\n";
    let (text, position) = marked(text);
    let (uri, list_uri) = (uri_of(&main), uri_of(&list));
    let mut editor = Editor::greeted();
    editor.open(&uri, &text);
    let mut params = at(&uri, &position);
    params["newName"] = json!("Cashier");
    let changes = editor.result("textDocument/rename", params.clone())["changes"].clone();
    let count = |uri: &str| changes[uri].as_array().map_or(0, Vec::len);
    assert_eq!((count(&uri), count(&list_uri)), (2, 2), "{changes}");
    for (name, why) in [
        ("", "`` is no name"),
        (" Cashier", "` Cashier` is no name"),
        ("Cash\nier", "`Cash\nier` is no name"),
        ("Cäshier", "`Cäshier` is no name"),
        ("a.b", "`a.b` is no name"),
        ("_", "`_` is no name"),
        ("R", "`R` is a relation already"),
        ("symbol", "`symbol` is a type already"),
        ("IsAuthorized", "`IsAuthorized` is a relation already"),
        ("__fired_0", "`__fired_0` is reserved"),
    ] {
        params["newName"] = json!(name);
        let words = editor.refusal("textDocument/rename", params.clone());
        assert!(words.starts_with(why), "{name:?}: {words}");
    }
    // The included file has other text in the editor, and is gone from the disk.
    editor.open(&list_uri, "\n\n.decl Payer(agent: symbol)\n");
    std::fs::remove_file(&list).unwrap();
    params["newName"] = json!("Cashier");
    let answer = editor.ask("textDocument/rename", params);
    let lines =
        answer["result"]["changes"][&list_uri].as_array().map(|edits| edits[0]["range"]["start"].clone());
    let is_refused = answer["error"]["message"].is_string();
    assert!(is_refused || lines == Some(json!({ "line": 2, "character": 6 })), "{answer}");
    still_there(&mut editor);
}

/// A file that is there when the document is opened, and not any more when it is changed.
#[test]
fn files_that_vanish() {
    let folder = folder("vanishing");
    let (main, list) = (folder.join("main.dl"), folder.join("inner/list.dl"));
    std::fs::write(&list, ".decl Payer(agent: symbol)\n").unwrap();
    let text = ".include \"inner/list.dl\"\n.decl R(x: symbol)\nR(x) :- Payer(x).\n";
    let uri = uri_of(&main);
    let mut editor = Editor::greeted();
    editor.open(&uri, text);
    assert_eq!(editor.codes(&uri), [""; 0]);
    std::fs::remove_file(&list).unwrap();
    editor.change(&uri, 2, &format!("{text}\n"));
    assert_eq!(editor.codes(&uri), ["E0050", "E0010"]);
    let place = json!({ "line": 2, "character": 9 });
    assert_eq!(editor.result("textDocument/definition", at(&uri, &place)), Value::Null);
    std::fs::create_dir(&list).unwrap();
    editor.change(&uri, 3, text);
    assert_eq!(editor.codes(&uri), ["E0050", "E0010"]);
    std::fs::remove_dir(&list).unwrap();
    std::fs::write(&list, ".decl Payer(agent: symbol)\n").unwrap();
    editor.change(&uri, 4, text);
    assert_eq!(editor.codes(&uri), [""; 0]);
}

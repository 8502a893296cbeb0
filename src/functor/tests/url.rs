use super::*;

#[test]
fn hosts_of_urls() {
    check_texts(
        "url_host",
        &[
            ("https://h.example#f", "h.example"),
            ("https://h.example?x=@evil.example/", "h.example"),
            ("https://a@b@c.example/", "c.example"),
            ("https://u:p@h.example:8443/x", "h.example"),
            ("https://[::1]:80/", "::1"),
            ("https://[2001:DB8::7]/", "2001:db8::7"),
            ("https://[::ffff:127.0.0.1]/", "::ffff:7f00:1"),
            ("https://API.Example.com", "api.example.com"),
            ("http://h.example\\@evil.example/", "h.example"),
            ("https://2130706433/", "127.0.0.1"),
            ("https://0x7f.1/", "127.0.0.1"),
            ("https://h%2Eexample/", "h.example"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
            ("https://h.example./x", "h.example"),
            ("https://h.example../x", "h.example"),
            ("https://h。example/", "h.example"),
            (" https://h.example ", "h.example"),
            ("ht\ttps:\n//h.example", "h.example"),
            ("https://", ""),
            ("https://[::1/", ""),
            ("https://h.example:99999/", ""),
            ("https://a b.example/", ""),
            ("", ""),
            (" ", ""),
            // Other schemes with a host.
            ("ssh://git@H.Example:22/x", "h.example"),
            ("redis://127.1:6379", "127.0.0.1"),
            ("foo://[::1]/", "::1"),
            ("foo:///x", ""),
            ("file:///etc/passwd", ""),
            ("file://Server/share", "server"),
        ],
    );
}

#[test]
fn texts_of_the_form_scheme_and_rest() {
    check_texts(
        "url_host",
        &[
            // No scheme: `https://` goes before.
            ("h.example", "h.example"),
            ("h.example/path", "h.example"),
            ("h.example:8443/x", "h.example"),
            ("localhost:80", "localhost"),
            ("localhost:80/?u=https://evil.example", "localhost"),
            ("h.example/?u=https://evil.example", "h.example"),
            ("//h.example/x", "h.example"),
            ("user:word@h.example/x", "h.example"),
            ("[::1]:80/x", "::1"),
            ("1.2.3.4:80", "1.2.3.4"),
            ("unknown:rest", ""),
            ("::1", ""),
            ("?x", ""),
            (":80", ""),
            // Schemes of the URL standard with a host need no slashes.
            ("http:169.254.169.254/x", "169.254.169.254"),
            ("HTTP:169.254.169.254", "169.254.169.254"),
            ("https:h.example/x", "h.example"),
            ("http:/h.example/x", "h.example"),
            ("http:\\\\h.example\\x", "h.example"),
            ("https:///h.example/x", "h.example"),
            ("ws:h.example", "h.example"),
            ("ftp:h.example", "h.example"),
            ("file:/etc/passwd", ""),
            ("http:", ""),
            // Schemes without a host, whatever follows.
            ("mailto:a@b.example", ""),
            ("MailTo:a@b.example", ""),
            ("data:text/plain,hi", ""),
            ("data:8080", ""),
            ("javascript:alert(1)", ""),
            ("javascript://h.example/%0aalert(1)", ""),
            ("tel:+123", ""),
            ("blob:https://h.example/1", ""),
            ("about:blank", ""),
            ("urn:isbn:1", ""),
            ("cid:a@b.example", ""),
        ],
    );
}

#[test]
fn other_parts_of_urls() {
    check_texts(
        "url_scheme",
        &[
            ("HTTP://h.example/", "http"),
            ("h.example/x", "https"),
            ("mailto:a@b.example", "mailto"),
            ("", ""),
        ],
    );
    check_texts(
        "url_port",
        &[
            ("https://h.example:8443/x", "8443"),
            ("https://h.example/x", "-1"),
            ("https://h.example:443", "-1"),
            ("", "-1"),
        ],
    );
    check_texts(
        "url_path",
        &[("https://h.example/a/./b/../c?d=e#f", "/a/c"), ("https://h.example", "/"), ("https://", "")],
    );
}

const PRIVATE: &[&str] = &[
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "localhost:80",
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0X7F.1",
    "017700000001",
    "10.20.30.40",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "0xA9FEA9FE",
    "100.100.100.200",
    "100.64.0.1",
    "0.0.0.0",
    "0",
    "224.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "010.0.0.1",
    "127。0。0。1",
    "１２７.0.0.1",
    "127.0.0.1:8080",
    "http://127.0.0.1/",
    "user@127.0.0.1",
    "[::1]:80",
    " 10.0.0.1 ",
    "::",
    "::1",
    "[::1]",
    "0:0:0:0:0:0:0:1",
    "fe80::1",
    "fe80::1%eth0",
    "[FE80::1%25eth0]",
    "fec0::1",
    "fd12:3456::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::127.0.0.1",
    "::ffff:0:10.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::808:808",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2001:0:1:2:3:4:80ff:fffe",
    "2606::5efe:10.0.0.1",
    "metadata.google.internal",
    "Metadata.Google.Internal.",
];

const PUBLIC: &[&str] = &[
    "",
    "8.8.8.8",
    "172.32.0.1",
    "172.15.0.1",
    "11.0.0.1",
    "100.63.0.1",
    "100.128.0.1",
    "192.169.0.1",
    "134744072",
    "example.com",
    "10.example.com",
    "localhost.example.com",
    "notlocalhost",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::",
    "not a host",
    "https://8.8.8.8/",
];

#[test]
fn private_hosts() {
    check_flag("host_is_private", "1", PRIVATE);
    check_flag("host_is_private", "0", PUBLIC);
}

#[test]
fn hosts_in_domains() {
    let rows = [
        ("example.com", "example.com", "1"),
        ("a.b.example.com", "example.com", "1"),
        ("A.Example.COM.", "example.com", "1"),
        ("a.example.com", "Example.com.", "1"),
        ("a.example.com", ".example.com", "1"),
        ("bücher.example", "xn--bcher-kva.example", "1"),
        ("10.0.0.1", "10.0.0.1", "1"),
        ("0x0a000001", "10.0.0.1", "1"),
        ("notexample.com", "example.com", "0"),
        ("example.com", "a.example.com", "0"),
        ("example.com.evil.example", "example.com", "0"),
        ("10.0.0.1", "0.0.1", "0"),
        ("a.10.0.0.1", "10.0.0.1", "0"),
        ("example.com", "", "0"),
        ("example.com", ".", "0"),
        ("", "", "0"),
        ("", "example.com", "0"),
        ("example.com:80", "example.com", "0"),
        ("evil.example/example.com", "example.com", "0"),
    ];
    for (host, domain, expected) in rows {
        assert_eq!(shown("host_in_domain", &[T(host), T(domain)]), expected, "{host} in {domain}");
    }
}

#[test]
fn registrable_domains() {
    check_texts(
        "registrable_domain",
        &[
            ("https://a.b.example.com/x", "example.com"),
            ("https://shop.example.co.uk", "example.co.uk"),
            ("https://me.github.io/x", "me.github.io"),
            ("a.b.example.org", "example.org"),
            ("A.B.Example.ORG.", "example.org"),
            ("a.b.example.org:8443/x", "example.org"),
            ("fetch https://x.example.com now", "example.com"),
            ("see, e.g., a.example.com, then https://b.example.org", "example.com"),
            ("see https://b.example.org, then a.example.com", "example.org"),
            ("version 1.2.3.4 of https://b.example.org", "example.org"),
            ("a.example.com,b.example.org", "example.com"),
            ("nothing here", ""),
            ("https://1.2.3.4/", ""),
            ("https://[2001:db8::1]/", ""),
            ("localhost", ""),
            ("co.uk", ""),
            ("github.io", ""),
            ("", ""),
            ("mailto:a@example.com", ""),
            ("公司.cn", ""),
            ("x.公司.cn", "x.xn--55qx5d.cn"),
        ],
    );
}

#[test]
fn urls_in_texts() {
    check_texts(
        "urls_in",
        &[
            (
                "see https://a.example/x, and (http://b.example/y).",
                "|https://a.example/x|http://b.example/y|",
            ),
            ("![x](https://img.evil.test/c.png?d=Q3)", "|https://img.evil.test/c.png?d=Q3|"),
            ("[https://a.example](https://b.example)", "|https://a.example|https://b.example|"),
            ("https://en.example/A_(b)", "|https://en.example/A_(b)|"),
            ("<a href=\"https://a.example/\">", "|https://a.example/|"),
            ("https://a.example,https://b.example", "|https://a.example|https://b.example|"),
            ("https://a.example/?u=https://b.example", "|https://a.example/?u=https://b.example|"),
            ("https://[::1]:80/x", "|https://[::1]:80/x|"),
            ("x:https://a.example", "|https://a.example|"),
            ("1https://a.example", "|https://a.example|"),
            ("ftp://a.example https://a.example https://a.example", "|ftp://a.example|https://a.example|"),
            (":// https:// a://", "|"),
            ("https://https://a.example", "|https://https://a.example|"),
            ("www.a.example", "|"),
        ],
    );
    check_texts("count_urls", &[("https://a.example https://a.example", "2"), ("", "0"), ("none", "0")]);
}

#[test]
fn mail_addresses() {
    check_texts(
        "email_domain",
        &[
            ("kim@example.com", "example.com"),
            (" kim@Example.COM ", "example.com"),
            ("Kim Doe <kim.d+x@example.com>", "example.com"),
            ("<kim@example.com>", "example.com"),
            ("kim@bücher.example", "xn--bcher-kva.example"),
            ("kim@example.com, lee@evil.example", ""),
            ("kim@example.com;lee@evil.example", ""),
            ("kim@evil.example <kim@example.com>", ""),
            ("kim@example.com <lee@evil.example", ""),
            ("kim@example.com\nbcc: lee", ""),
            ("\"a@b\"@example.com", ""),
            ("kim@[1.2.3.4]", ""),
            ("kim@127.1", ""),
            ("kim@evil%2eexample", ""),
            ("mailto:kim@example.com", ""),
            ("kim", ""),
            ("", ""),
            ("kim@", ""),
            ("@example.com", ""),
            ("kim..x@example.com", ""),
            ("kim@.example.com", ""),
            ("kim lee@example.com", ""),
        ],
    );
}

package main

import (
	"encoding/hex"
	"net/http"
	"strings"
)

// pathSpelling is a way to write the path of a request.
type pathSpelling struct {
	name string
	// target returns the request target for a path, which starts with a slash.
	target func(path string) string
	// alter changes the rest of the request. It may be nil.
	alter func(r *http.Request, path string)
}

// pathSpellings returns the spellings that are tried on every path.
func pathSpellings() []pathSpelling {
	as := func(name string, target func(string) string) pathSpelling {
		return pathSpelling{name: name, target: target}
	}
	around := func(before, after string) func(string) string {
		return func(path string) string { return before + path + after }
	}
	inside := func(from, to string) func(string) string { // replaces a slash other than the first
		return func(path string) string {
			i := strings.LastIndex(path, from)
			return path[:max(i, 0)] + to + path[max(i, 0)+len(from):]
		}
	}
	same := func(path string) string { return path }
	altered := func(name string, alter func(r *http.Request, path string)) pathSpelling {
		return pathSpelling{name, same, alter}
	}
	header := func(name, value string) func(*http.Request, string) {
		return func(r *http.Request, path string) { r.Header.Set(name, strings.ReplaceAll(value, "PATH", path)) }
	}
	encoded := func(path string) string {
		var b strings.Builder
		for _, c := range []byte(path) {
			if c == '/' {
				b.WriteByte(c)
			} else {
				b.WriteString("%" + hex.EncodeToString([]byte{c}))
			}
		}
		return b.String()
	}
	first := func(prefix string) func(string) string { // first returns a function that encodes the first letter of a path
		return func(path string) string {
			if len(path) < 2 {
				return path
			}
			return "/" + prefix + strings.ToUpper(hex.EncodeToString([]byte{path[1]})) + path[2:]
		}
	}
	return []pathSpelling{
		as("as it is", same),
		as("in capitals", strings.ToUpper),
		as("in small letters", strings.ToLower),
		as("two slashes first", around("/", "")),
		as("three slashes first", around("//", "")),
		as("two slashes inside", inside("/", "//")),
		as("a slash at the end", around("", "/")),
		as("two slashes at the end", around("", "//")),
		as("a dot first", around("/.", "")),
		as("a dot inside", inside("/", "/./")),
		as("a dot at the end", around("", "/.")),
		as("up from nothing", around("/..", "")),
		as("up from a name", around("/x/..", "")),
		as("up from a probe", around("/health/live/../..", "")),
		as("up from the assets", around("/assets/..", "")),
		as("up from an encoded name", around("/assets/%2e%2e", "")),
		as("down to a probe", around("", "/../../../../health/live")),
		as("an encoded slash first", around("/%2f", "")),
		as("an encoded slash inside", inside("/", "%2f")),
		as("an encoded slash at the end", around("", "%2F")),
		as("all slashes inside encoded", func(path string) string { return "/" + strings.ReplaceAll(path[1:], "/", "%2F") }),
		as("an encoded letter", first("%")),
		as("a letter encoded twice", first("%25")),
		as("all letters encoded", encoded),
		as("an encoded dot at the end", around("", "/%2e")),
		as("an encoded backslash inside", inside("/", "%5c")),
		as("a backslash inside", inside("/", `\`)),
		as("a zero byte at the end", around("", "%00")),
		as("a blank at the end", around("", "%20")),
		as("a line's end", around("", "%0d%0a")),
		as("an overlong slash", inside("/", "%c0%af")),
		as("a fullwidth letter", func(path string) string { return strings.Replace(path, "o", "%ef%bd%8f", 1) }),
		as("a semicolon at the end", around("", ";a=b")),
		as("a semicolon first", around("/;a=b", "")),
		as("an empty query", around("", "?")),
		as("a query", around("", "?a=b&c")),
		as("a query like an open path", around("", "?/health/live")),
		as("an encoded question mark", around("", "%3f")),
		as("a fragment", around("", "#/health/live")),
		as("an encoded fragment", around("", "%23")),
		as("a colon", around("", ":predict")),
		as("below openai", around("/openai", "")),
		as("without the version", func(path string) string { return strings.TrimPrefix(path, "/v1") }),
		as("absolute", around("http://localhost:9000", "")),
		as("absolute, of another host", around("http://other.example", "")),
		as("absolute, with a user", around("http://health:live@localhost", "")),
		altered("another authority", func(r *http.Request, _ string) { r.Host = "other.example" }),
		altered("an authority like a path", func(r *http.Request, _ string) { r.Host = "health.localhost:80" }),
		altered("a method in small letters", func(r *http.Request, _ string) { r.Method = strings.ToLower(r.Method) }),
		altered("HEAD", func(r *http.Request, _ string) { r.Method = http.MethodHead }),
		altered("another method", func(r *http.Request, _ string) { r.Method = http.MethodPut }),
		altered("a method in a header", header("X-Http-Method-Override", "GET")),
		altered("an open path in a header", header("X-Original-Url", "/health/live")),
		{"an open path with this one in a header", func(string) string { return "/health/live" }, header("X-Original-Url", "PATH")},
		{"an open path with this one's prefix in a header", func(string) string { return "/health/live" }, header("X-Forwarded-Prefix", "PATH")},
	}
}

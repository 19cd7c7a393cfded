package triton

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	const stack = "Traceback (most recent call last):\n  File \"/models/m/1/model.py\", line 8, in execute\n    raise ValueError(\"no\")\n    ~~~~~^^^\n"
	tests := []struct{ name, text, want string }{
		{"host and port of a Python client", "HTTPConnectionPool(host='10.0.3.7', port=8000): Max retries exceeded", "HTTPConnectionPool(host=(address)): Max retries exceeded"},
		{"host in double quotes", `connect(host="db.internal") failed`, "connect(host=(address)) failed"},
		{"host without quotes", "host=db.internal port=5432", "host=(address) port=5432"},
		{"hostname as a URL", "hostname = http://a/b, next", "hostname=(address), next"},
		{"a word that ends in host", "ghost=1", "ghost=1"},
		{"URL of redis", "can't reach redis://10.0.3.7:6379/0.", "can't reach (address)."},
		{"URL of http", "GET http://internal.host:9000/models/a/b: 404", "GET (address): 404"},
		{"URL in parentheses", "no answer (http://user:key@internal/x?y=1)", "no answer ((address))"},
		{"URL with IPv6", "see https://[2001:db8::1]:8443/x, please", "see (address), please"},
		{"URL of a file", "file:///srv/models/secret/1/model.py isn't there", "(address) isn't there"},
		{"URL of a bucket, quoted", "'s3://bucket/models/m'", "'(address)'"},
		{"path of one segment", "no space on /tmp", "no space on (path)"},
		{"path and nothing else", "/srv/models/m/1", "(path)"},
		{"path before a full stop", "Can't open /srv/models/m.bin.", "Can't open (path)."},
		{"path before a line", "/srv/m/model.py:8: in execute", "(path):8: in execute"},
		{"path in square brackets", "[/srv/x/y]", "[(path)]"},
		{"path in backticks", "`/etc/x/y`", "`(path)`"},
		{"path in angle brackets", "</etc/passwd/x>", "<(path)>"},
		{"path in single quotes with a space", "open '/srv/models/a b/c.bin' failed", "open '(path)' failed"},
		{"path in double quotes with a space", `open "/srv/models/a b/c.bin" failed`, `open "(path)" failed`},
		{"paths side by side", "'/data/m/vocab.json' or /data/m/", "'(path)' or (path)"},
		{"paths in a list", "PATH=/usr/bin:/bin,/opt/x", "PATH=(path):(path),(path)"},
		{"path with letters of the world", "/srv/modèles/été", "(path)"},
		{"path after a colon", "failed to load:/srv/x", "failed to load:(path)"},
		{"path on a line of its own", "failed\n/srv/x\nend", "failed\n(path)\nend"},
		{"path with two slashes", "//srv//x/", "(path)"},
		{"path of a version", "unable to stat /models/m/1.2.3.4/x", "unable to stat (path)"},
		{"IPv4", "dial tcp 10.0.3.7: no route", "dial tcp (address): no route"},
		{"IPv4 and port", "ipv4:10.0.3.7:8001: refused", "ipv4:(address): refused"},
		{"IPv4 at the end", "refused by 10.0.3.7.", "refused by (address)."},
		{"IPv6", "dial 2001:db8::7: no route", "dial (address): no route"},
		{"IPv6, shortest", "bound to ::1", "bound to (address)"},
		{"IPv6 with a zone", "from fe80::1%eth0.", "from (address)."},
		{"IPv6 with IPv4 in it", "from ::ffff:10.0.3.7", "from (address)"},
		{"IPv6 in brackets", "from [::1], late", "from (address), late"},
		{"IPv6 and port", "dial tcp [2001:db8::7]:8001: refused", "dial tcp (address): refused"},
		{"this machine", "dial localhost:8001: refused", "dial (address): refused"},

		{"stack of pybind", "message: ValueError: no\n\nAt:\n  /models/m/1/model.py(8): execute\n", "message: ValueError: no"},
		{"traceback", "Failed, message: " + stack + "ValueError: no\n", "Failed, message: ValueError: no"},
		{"traceback alone", stack + "ValueError: no", "ValueError: no"},
		{"traceback of an exception without a text", stack + "KeyboardInterrupt", "KeyboardInterrupt"},
		{"traceback of a long exception", stack + "ValueError: no\n  because of\n/srv/x\n", "ValueError: no"},
		{
			"tracebacks in a chain",
			"x: " + stack + "ValueError: no\n\nDuring handling of the above exception, another exception occurred:\n\n" + stack + "KeyError: '/srv/x'\n",
			"x: KeyError: '(path)'",
		},
		{"traceback cut short", "x: " + stack, "x:"},
		{"traceback on one line", `x: Traceback (most recent call last):\n  File "/models/m.py"\nValueError: no`, "x:"},

		{"request id", "[request id: a-1] wrong", "wrong"},
		{"model with a slash", "the model 'org/name' isn't there", "the model 'org/name' isn't there"},
		{"model with slashes in backticks", "`org/name/part`, org/name", "`org/name/part`, org/name"},
		{"ratio", "3/4 of 1.5/2 (a)/2, [3]/4, 50%/50%", "3/4 of 1.5/2 (a)/2, [3]/4, 50%/50%"},
		{"words", "and/or, text/plain, */*, N/A, +/- 1, a / b, '/'", "and/or, text/plain, */*, N/A, +/- 1, a / b, '/'"},
		{"date and time", "2024/01/02 12:30:45 and 00:01:02.123", "2024/01/02 12:30:45 and 00:01:02.123"},
		{"relative path", "m/1/model.py is missing", "m/1/model.py is missing"},
		{"shapes", "Expected [-1,2], got [1,2] [1:2].", "Expected [-1,2], got [1,2] [1:2]."},
		{"tensors", "unexpected inference input 'decoder/x:0' for model 'm'", "unexpected inference input 'decoder/x:0' for model 'm'"},
		{"tensors of ONNX", "unexpected inference output '/model/Add_output_0' for model 'm'", "unexpected inference output '/model/Add_output_0' for model 'm'"},
		{
			"tensors of ONNX in a list", "Got input(s) ['/a/x','/b'], but missing required input(s) ['/c/y z'].",
			"Got input(s) ['/a/x','/b'], but missing required input(s) ['/c/y z'].",
		},
		{"input that is a file", "can't open input '/srv/x'", "can't open input '(path)'"},
		{"tags", "stop at '</s>', </think> or [/INST]", "stop at '</s>', </think> or [/INST]"},
		{"versions", "Triton 2.51.0, CUDA 12.8", "Triton 2.51.0, CUDA 12.8"},
		{"names of C++", "std::bad_alloc in torch::cuda, a: b", "std::bad_alloc in torch::cuda, a: b"},
		{"nothing", " \n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := clean(test.text); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestLongErrors checks that clean and forTritonsClients shorten long error messages of Triton.
// Long request ids and Python stacks don't hide the error itself.
func TestLongErrors(t *testing.T) {
	long := strings.Repeat("a ", 2<<20)
	for _, test := range []struct{ name, text, prefix string }{
		{"a name", "/opt/model.py: unexpected inference output '" + long + "'", "(path): unexpected inference output 'a a a"},
		{"an id", "[request id: " + long + "] unexpected '" + long + "'", "unexpected 'a a a"},
		{"a stack", traceback + "\n  " + long + "\nValueError: at 10.0.0.1: " + long, "ValueError: at (address): " + long[:8]},
	} {
		got := clean(test.text)
		if !strings.HasPrefix(got, test.prefix) || !strings.HasSuffix(got, " ...") || len(got) > maxText+100 {
			t.Errorf("%s: %d bytes, %.60s", test.name, len(got), got)
		}
	}
	if got, want := forTritonsClients("[request id: a]b] /opt/x"), "[request id: a]b] (path)"; got != want {
		t.Errorf("got %q", got)
	}
	if got := forTritonsClients("[request id: " + long + "] no"); got != "[request id: "+long+"] no" {
		t.Errorf("an id is %d bytes", len(got))
	}
}

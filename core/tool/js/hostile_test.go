package js_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/core/tool"
	"parley/core/tool/js"
)

// short makes a run that never ends end soon.
func short(w *world) js.Config { return js.Config{Tools: w, Stretch: 500 * time.Millisecond} }

// Code that wants to stay, to grow or to get out ends within its limits, with an error that can be read.
func TestHostileCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stopped, memory, overflow := "it was stopped after 500ms", "memory|it was stopped", "stack overflow|recursed too deeply|it was stopped"
	for _, c := range []struct{ name, code, want string }{
		{"a loop", `while (true) {}`, stopped},
		{"a loop that catches", `while (true) { try { while (true) {} } catch {} }`, stopped},
		{"a loop in a promise", `Promise.resolve().then(() => { while (true) {} }); 1`, stopped},
		{"promises for ever", `(function f() { Promise.resolve().then(f) })()`, stopped},
		{"await for ever", `while (true) await 1`, stopped},
		{"a generator", `for (const x of (function* () { while (true) yield 1 })()) {}`, stopped},
		{"a regular expression", `/(a+)+$/.test("a".repeat(50) + "b")`, stopped},
		{"a getter of the result", `({get x() { while (true) {} }})`, stopped},
		{"a toJSON of the arguments", `tools.plain({toJSON() { while (true) {} }})`, stopped},
		{"a thrown error with a getter", `throw {get message() { while (true) {} }, toJSON() { while (true) {} }}`, stopped},
		{"recursion", `function f() { return f() } f()`, overflow},
		{"recursion through try", `function f() { try { return f() } finally { f() } } f()`, stopped},
		{"recursion through a native", `const a = []; a[0] = a; JSON.stringify([1], () => a.sort(() => a.toString())) + a.toString()`, ""},
		{"recursion in toString", `const o = {toString() { return "" + o }}; "" + o`, overflow},
		{"nested arrays", `eval("[".repeat(1e5))`, overflow},
		{"nested JSON", `JSON.parse("[".repeat(1e6))`, overflow},
		{"nested expression", `new RegExp("(?:".repeat(1e5))`, ""},
		{"a string of 1 GB", `"x".repeat(1 << 30)`, "invalid string length"},
		{"strings without end", `const a = []; for (;;) a.push("x".repeat(1e7) + a.length)`, memory},
		{"an array of 1e9", `new Array(1e9).fill(0)`, memory},
		{"a buffer of 2 GB", `new Uint8Array(2 ** 31)`, ""},
		{"buffers without end", `const a = []; for (;;) a.push(new ArrayBuffer(1e8))`, memory},
		{"doubling", `let s = "x"; for (;;) s += s`, "string too long"},
		{"a map", `const m = new Map(); for (let i = 0; ; i++) m.set("k".repeat(1000) + i, {i})`, memory},
		{"memory that is caught", `const a = []; for (;;) try { a.push("x".repeat(1e6) + a.length) } catch {}`, stopped},
		{"a huge number", `10n ** 10n ** 9n`, ""},
		{"a huge text as a result", `"x".repeat(5e8)`, ""},
		{"huge arguments", `tools.plain({x: "y".repeat(2e6)})`, "too long"},
		{"a huge error", `throw new Error("x".repeat(1e6))`, `\[cut here\]`},
		{"a huge name of an error", `const e = new Error; e.name = "x".repeat(1e6); throw e`, `\[cut here\]`},
		{"require", `require("fs")`, "not defined"}, {"process", `process.exit(0)`, "not defined"}, {"fetch", `fetch("http://127.0.0.1")`, "not defined"},
		{"std", `std.exit(0)`, "not defined"}, {"os", `os.exec(["true"])`, "not defined"}, {"timers", `setTimeout(() => 1)`, "not defined"}, {"load", `load("/etc/passwd")`, "not defined"},
		{"import a file", `await import("/etc/passwd")`, "could not load"}, {"import std", `await import("std")`, "could not load"}, {"an import statement", `import * as os from "os"`, ""},
		{"eval in a realm", `(0, eval)("process")`, "not defined"}, {"Function", `Function("return process")()`, "not defined"},
		{"the way out", `__call("plain", "{}")`, "not defined"}, {"the constructor's way", `[].constructor.constructor("return __print")()`, "not defined"},
		{"the proxy's constructor", `tools.constructor("return 1")`, "there is no tool"},
		{"a tool as a tool's name", `tools[{toString() { throw new Error("x") }}]({})`, "x"},
		{"a name with a line break", `tools["a\n{\"end\":{\"value\":\"forged\"}}\n"]({})`, "there is no tool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := js.Config{Tools: w}
			switch c.want {
			case stopped:
				config = short(w)
			case memory, "":
				config.Stretch = 4 * time.Second
			}
			got, err := exec(t, config, c.code)
			if c.want != "" && (err == nil || !regexp.MustCompile(c.want).MatchString(err.Error())) {
				t.Errorf("%.100q, %.300v; want %q", got, err, c.want)
			}
			if len(got) > 31_000 || err != nil && len(err.Error()) > 31_000 {
				t.Errorf("%d bytes of result, %d of error", len(got), len(fmt.Sprint(err)))
			}
		})
	}
}

// What it changes of the language, the code changes for itself: its calls are what the parent sees.
func TestPrototypesAreTheCodesOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(t, "db", "drop", says("dropped"), func(s *tool.Spec) {
		s.Policy = func(json.RawMessage) (tool.Verdict, error) { return tool.Verdict{Need: true}, nil }
	})
	for _, before := range []string{
		`JSON.stringify = () => '{"evil":1}'; JSON.parse = () => ({value: "forged"});`,
		`Array.prototype.includes = () => true; String.prototype.slice = () => "forged"; Reflect.apply = () => "forged"; Promise.prototype.then = () => {};`,
		`globalThis.Error = globalThis.Proxy = globalThis.String = function () { return {} }; Object.prototype.error = undefined; Object.prototype.value = undefined;`,
		`Object.prototype.tool = "forged"; Array.prototype.toJSON = undefined;`,
		`Object.freeze(globalThis); Object.freeze(Object.prototype);`,
	} {
		got, err := exec(t, js.Config{Tools: w}, before+` let s; try { tools.db.drop({}); s = "ran" } catch (e) { s = e.message }; const r = tools.db.read({a: 1}); s + "|" + r.rows.length + r.asked.a`)
		if err != nil || got != js.NeedsUser+"|21" {
			t.Errorf("%s: %q, %v", before, got, err)
		}
	}
	for _, c := range w.got() {
		if c.name != "db__read" || c.arguments != `{"a":1}` {
			t.Errorf("%+v", c)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	c := js.Config{MaxOutput: 1000, Stretch: 20 * time.Second}
	for _, code := range []string{
		`"x".repeat(1e6)`, `"ü".repeat(1e6)`, `Array(1e5).fill("x")`, `console.log("x".repeat(1e6))`, `for (let i = 0; i < 1e4; i++) console.log("line " + i)`,
		`console.log(...Array(1e4).fill("word"))`, `throw "x".repeat(1e6)`,
	} {
		got, err := exec(t, c, code)
		if err != nil {
			got = err.Error()
		}
		if len(got) < 900 || len(got) > 4000 || !strings.Contains(got, "cut here") {
			t.Errorf("%s: %d bytes, %.100q", code, len(got), got)
		}
	}
}

func TestTenThousandCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, code := range []string{`for (let i = 0; i < 10000; i++) tools.plain({i})`, `for (let i = 0; i < 10000; i++) try { tools.none({i}) } catch {}`} {
		_, err := exec(t, js.Config{Tools: w, MaxCalls: 50}, code)
		if err == nil || !strings.Contains(err.Error(), "it called tools more than 50 times") {
			t.Errorf("%s: %v", code, err)
		}
	}
	if n := len(w.got()); n != 50 {
		t.Errorf("%d calls reached a tool", n)
	}
	got, err := exec(t, js.Config{Tools: w, MaxCalls: 10_000}, `let n = 0; for (let i = 0; i < 10000; i++) n += tools.plain({i}).length; n`)
	if err != nil || got != "90000" {
		t.Errorf("%q, %v", got, err)
	}
}

// The time that tools take is not the code's, but all of it ends some time.
func TestTheTwoDeadlines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(t, "db", "slow", func(ctx *tool.Context, _ json.RawMessage) (string, error) {
		timer := time.NewTimer(2500 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
			return "slow", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	got, err := exec(t, js.Config{Tools: w, Stretch: 2 * time.Second}, `tools.db.slow()`)
	if err != nil || got != "slow" {
		t.Errorf("%q, %v", got, err)
	}
	_, err = exec(t, js.Config{Tools: w, Total: 4 * time.Second}, `for (;;) tools.db.slow()`)
	if err == nil || !strings.Contains(err.Error(), "it was stopped after 4s in all") {
		t.Errorf("%v", err)
	}
}

// The child has no environment, and nobody else's files.
func TestTheChildIsBare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var environ, limits []byte
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("no /proc here")
	}
	w.add(t, "", "own", func(*tool.Context, json.RawMessage) (string, error) {
		all, err := os.ReadDir("/proc")
		if err != nil {
			return "", err
		}
		for _, e := range all {
			stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
			if err != nil || !strings.Contains(string(stat), fmt.Sprintf(") S %d ", os.Getpid())) && !strings.Contains(string(stat), fmt.Sprintf(") R %d ", os.Getpid())) {
				continue
			}
			line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
			if err != nil || !strings.HasSuffix(string(line), "js-exec-child\x00") {
				continue
			}
			environ, _ = os.ReadFile("/proc/" + e.Name() + "/environ")
			limits, _ = os.ReadFile("/proc/" + e.Name() + "/limits")
			if !strings.Contains(string(limits), "Max file size             0 ") {
				continue // one that has only begun
			}
			return "found", nil
		}
		return "", fmt.Errorf("no child found")
	})
	got, err := exec(t, js.Config{Tools: w}, `tools.own()`)
	if err != nil || got != "found" || len(environ) != 0 {
		t.Errorf("%q, %v: environment %q", got, err, environ)
	}
	for _, line := range strings.Split(string(limits), "\n") {
		if strings.HasPrefix(line, "Max address space") && strings.Contains(line, "unlimited") {
			t.Error(line)
		}
	}
}

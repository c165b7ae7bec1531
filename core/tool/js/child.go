package js

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"modernc.org/quickjs"
)

// childArgument is the only argument of the child.
const childArgument = "js-exec-child"

// IsChild reports whether this process was started to run JavaScript.
func IsChild() bool { return len(os.Args) == 2 && os.Args[1] == childArgument }

// The child's memory: of the engine, and of the process beyond what it has at its start.
const (
	engineMemory  = 256 << 20
	spareMemory   = 32 << 20 // to say how it ended, for code that used all
	processMemory = 1 << 30
	goStack       = 400 << 20
)

// Main runs the child, and does not return.
func Main() {
	debug.SetMaxStack(goStack)
	if err := limit(processMemory); err != nil {
		fmt.Fprintln(os.Stderr, "limit the process:", err)
		os.Exit(1)
	}
	in := bufio.NewReader(os.Stdin)
	var s start
	if err := readLine(in, &s); err != nil {
		os.Exit(1)
	}
	c := &child{replies: make(chan reply)}
	go c.listen(in)
	if err := writeLine(os.Stdout, message{End: c.run(s)}); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

type child struct{ replies chan reply }

// listen hands replies on. The end of input is the end of the parent, and so of us, whatever the code does.
func (c *child) listen(in *bufio.Reader) {
	for {
		var r reply
		if readLine(in, &r) != nil {
			os.Exit(1)
		}
		c.replies <- r
	}
}

//go:embed prelude.js
var prelude string

// run evaluates the code.
func (c *child) run(s start) *end {
	vm, err := quickjs.NewVM()
	if err != nil {
		return &end{Error: err.Error()}
	}
	vm.SetMemoryLimit(engineMemory)
	settle, state, err := c.prepare(vm, s)
	if err != nil {
		return &end{Error: "prepare the engine: " + err.Error()}
	}
	value, wrapped, err := eval(vm, s.Code)
	if err != nil {
		return &end{Error: explain(err, s.Most)}
	}
	vm.SetMemoryLimit(engineMemory + spareMemory)
	if _, err := settle.Call(quickjs.UndefinedValue, value, wrapped); err != nil {
		return &end{Error: explain(err, s.Most)}
	}
	for {
		n, err := vm.ExecutePendingJobs()
		if err != nil {
			return &end{Error: explain(err, s.Most)}
		}
		if n == 0 {
			break
		}
	}
	out, err := state.Call(quickjs.UndefinedValue)
	if err != nil {
		return &end{Error: explain(err, s.Most)}
	}
	text, _ := out.(string)
	if text == "" {
		return &end{Error: "the code awaits a promise that nothing will settle"}
	}
	var e end
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return &end{Error: err.Error()}
	}
	return &e
}

// prepare gives the engine its three ways out, which the prelude takes away from the code again.
func (c *child) prepare(vm *quickjs.VM, s start) (settle, state quickjs.Value, err error) {
	names, err := json.Marshal(map[string]any{"most": s.Most, "names": s.Names})
	if err != nil {
		return settle, state, err
	}
	for name, f := range map[string]quickjs.HostFunc{
		"__start": func([]any) (any, error) { return string(names), nil },
		"__call":  c.call,
		"__print": func(args []any) (any, error) {
			line, err := first(args)
			if err != nil {
				return nil, err
			}
			return nil, writeLine(os.Stdout, message{Print: &line})
		},
	} {
		if err := vm.RegisterHostFunc(name, f); err != nil {
			return settle, state, err
		}
	}
	pair, err := vm.EvalValue(strings.Replace(prelude, "MAX_ARGUMENTS", strconv.Itoa(maxArguments), 1), quickjs.EvalGlobal)
	if err != nil {
		return settle, state, err
	}
	for i, to := range []*quickjs.Value{&settle, &state} {
		at, err := vm.NewAtom(strconv.Itoa(i))
		if err != nil {
			return settle, state, err
		}
		if *to, err = pair.GetPropertyValue(at); err != nil {
			return settle, state, err
		}
	}
	return settle, state, nil
}

var errArguments = errors.New("want a string")

func first(args []any) (string, error) {
	if len(args) == 0 {
		return "", errArguments
	}
	s, ok := args[0].(string)
	if !ok {
		return "", errArguments
	}
	return s, nil
}

// call has the parent run a tool.
func (c *child) call(args []any) (any, error) {
	name, err := first(args)
	if err != nil {
		return nil, err
	}
	arguments, err := first(args[1:])
	if err != nil {
		return nil, err
	}
	if err := writeLine(os.Stdout, message{Call: &call{name, arguments}}); err != nil {
		return nil, err
	}
	b, err := json.Marshal(<-c.replies)
	return string(b), err
}

// asyncFlag lets a script await at its top level; its value is then a promise of {value}.
const asyncFlag = 1 << 7

// eval runs the code as a script; where it returns at the top level, which a script may not, as the body of
// a function.
func eval(vm *quickjs.VM, code string) (value quickjs.Value, wrapped bool, err error) {
	value, err = vm.EvalValue(code, quickjs.EvalGlobal|asyncFlag)
	if err == nil {
		return value, true, nil
	}
	var e *quickjs.Error
	if !errors.As(err, &e) || e.Name != "SyntaxError" || !strings.Contains(code, "return") {
		return value, false, err
	}
	inner, innerErr := vm.EvalValue("(async () => {\n"+code+"\n})()", quickjs.EvalGlobal)
	if errors.As(innerErr, &e) && e.Name == "SyntaxError" {
		return value, false, err
	}
	return inner, false, innerErr
}

// explain says what the engine threw.
func explain(err error, most int) string {
	text := err.Error()
	var e *quickjs.Error
	if errors.As(err, &e) && e.Stack != "" {
		text += "\n" + e.Stack
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "\n[cut here]"
	}
	return text
}

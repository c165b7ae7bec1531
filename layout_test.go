package parley_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A file of Go, read once for all rules.
type file struct {
	path  string // from the root, with slashes
	pkg   string // its folder
	test  bool
	lines int
	set   *token.FileSet
	ast   *ast.File
}

func (f file) at(p token.Pos) string { return f.path + ":" + strconv.Itoa(f.set.Position(p).Line) }

func (f file) imports() []string {
	var out []string
	for _, i := range f.ast.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		out = append(out, p)
	}
	return out
}

func files(t *testing.T) []file {
	t.Helper()
	var out []file
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(name)
		out = append(out, file{path: slash, pkg: path.Dir(slash), test: strings.HasSuffix(slash, "_test.go"),
			lines: set.File(parsed.FileStart).LineCount(), set: set, ast: parsed})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("only %d files of Go were found: the walk is broken", len(out))
	}
	return out
}

// layer says what the packages of a folder may import of this module, and whether third-party modules are
// allowed. Tests may import more: the folders in tests.
type layer struct {
	prefix string
	may    []string // "core" is that package, "core/..." all below it too
	third  []string // prefixes of modules; "*" is any
	tests  []string
}

// tracingAPI is what spans are made with; who exports them is the program's word.
var tracingAPI = []string{"go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes"}

var textLibraries = []string{"golang.org/x/text", "github.com/clipperhouse/uax29"}

// layers from the most to the least special: the first whose prefix fits rules.
var layers = []layer{
	{prefix: "core/journal", may: []string{"core"}},
	{prefix: "core/turn", may: []string{"core", "core/journal", "core/model", "core/tool"}, third: tracingAPI, tests: []string{"..."}},
	{prefix: "core/model", may: []string{"core", "core/model", "core/model/wire"}, third: []string{"*"}, tests: []string{"core/..."}},
	{prefix: "core/tool", may: []string{"core", "core/tool", "core/tool/schema", "core/tool/outbound", "core/tool/oauth", "core/model"}, third: []string{"*"}, tests: []string{"core/..."}},
	{prefix: "core", may: []string{"core"}, tests: []string{"core/..."}},
	{prefix: "render", may: []string{"core", "core/turn", "core/words"}, third: textLibraries, tests: []string{"core/...", "parse"}},
	{prefix: "parse", may: []string{"core", "core/words"}, third: textLibraries, tests: []string{"core/...", "render"}},
	{prefix: "store", may: []string{"core", "core/turn", "store"}, third: []string{"*"}, tests: []string{"core/...", "store/..."}},
	{prefix: "channels", may: []string{"core", "core/turn", "render", "parse", "channels"}, third: []string{"*"}, tests: []string{"..."}},
}

func fits(pkg string, allowed []string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		below, all := strings.CutSuffix(a, "...")
		return pkg == a || all && (strings.HasPrefix(pkg+"/", below) || below == "")
	})
}

func inFolder(pkg, prefix string) bool { return pkg == prefix || strings.HasPrefix(pkg, prefix+"/") }

// TestImportDirection holds the arrows of the architecture: only cmd knows everybody, siblings do not see
// each other, parents do not see their children, the core knows the standard library alone.
func TestImportDirection(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if f.pkg == "." || inFolder(f.pkg, "cmd") {
			continue
		}
		i := slices.IndexFunc(layers, func(l layer) bool { return inFolder(f.pkg, l.prefix) })
		if i < 0 {
			t.Errorf("%s: no layer is known for this folder: add it to layers", f.path)
			continue
		}
		for _, imported := range f.imports() {
			if reason := layers[i].refuses(f, imported); reason != "" {
				t.Errorf("%s imports %s: %s", f.path, imported, reason)
			}
		}
	}
}

func (l layer) refuses(f file, imported string) string {
	local, ours := strings.CutPrefix(imported, "parley/")
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case inFolder(local, "cmd") && ours:
		return "nobody imports the program"
	case ours && inFolder(local, f.pkg), ours && fits(local, l.may):
		return "" // a package's own folder, and what lies below it
	case ours && support(f.pkg) && inFolder(f.pkg, local):
		return "" // a fake beside the real thing
	case ours && (f.test || support(f.pkg)) && (fits(local, l.tests) || inFolder(f.pkg, local)):
		return ""
	case ours:
		return l.prefix + " may import " + strings.Join(l.may, ", ") + " of this module"
	case !strings.Contains(first, "."), f.test, support(f.pkg):
		return ""
	case fits(imported, l.third), slices.Contains(l.third, "*"),
		slices.ContainsFunc(l.third, func(m string) bool { return inFolder(imported, m) || strings.HasPrefix(imported, m+"/") }):
		return ""
	default:
		return "third-party packages are not for this folder"
	}
}

// support says that a package exists for tests: channeltest, storetest, telegramtest.
func support(pkg string) bool { return strings.HasSuffix(pkg, "test") }

// TestEveryPackageSaysWhatItIs asks for a package comment of two lines at least, once.
func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	docs := map[string]string{}
	for _, f := range files(t) {
		if f.test {
			continue
		}
		if _, seen := docs[f.pkg]; !seen {
			docs[f.pkg] = ""
		}
		text := f.ast.Doc.Text()
		if text == "" {
			continue
		}
		if docs[f.pkg] != "" {
			t.Errorf("%s: a second package comment, the first is in %s", f.path, docs[f.pkg])
		}
		docs[f.pkg] = f.path
		want := "Package " + f.ast.Name.Name + " "
		if f.ast.Name.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s: the package comment begins %.30q, want %q", f.path, text, want)
		}
	}
	for pkg, where := range docs {
		if where == "" {
			t.Errorf("%s: no package comment", pkg)
		}
	}
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if f.lines > 500 {
			t.Errorf("%s has %d lines: more than 500 are more than one idea", f.path, f.lines)
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || f.test {
				continue
			}
			if n := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1; n > 80 {
				t.Errorf("%s: %s has %d lines, more than 80", f.at(fn.Pos()), fn.Name.Name, n)
			}
		}
	}
}

var platformWord = regexp.MustCompile(`(?i)slack|telegram|discord`)

// TestPlatformsStayInTheirFolders: what differs between platforms is data, so their names occur in code
// only under channels/<platform> and in the program. Comments may give examples.
func TestPlatformsStayInTheirFolders(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if f.test || support(f.pkg) || f.pkg == "." || inFolder(f.pkg, "cmd") {
			continue
		}
		word := func(at token.Pos, s string) {
			for _, w := range platformWord.FindAllString(s, -1) {
				if !inFolder(f.pkg, "channels/"+strings.ToLower(w)) && !example(f, s) {
					t.Errorf("%s: %q belongs to channels/%s", f.at(at), s, strings.ToLower(w))
				}
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				word(n.Pos(), n.Name)
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					word(n.Pos(), n.Value)
				}
			}
			return true
		})
	}
}

// example lets an error of core show the expected form of a person.
func example(f file, s string) bool {
	return f.pkg == "core" && strings.Contains(s, "such as telegram:42")
}

// TestTheCoreHasNoClock (I13): every rule takes the time it judges by.
func TestTheCoreHasNoClock(t *testing.T) {
	t.Parallel()
	forbidden := map[string][]string{
		"time": {"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer", "NewTicker", "AfterFunc"},
		"os":   {"Getenv", "LookupEnv", "Environ"}, "rand": {"*"},
	}
	for _, f := range files(t) {
		if f.test || !slices.Contains([]string{"core", "core/journal", "render", "parse"}, f.pkg) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && (slices.Contains(forbidden[x.Name], s.Sel.Name) || slices.Contains(forbidden[x.Name], "*")) {
					t.Errorf("%s: %s.%s: pass it in", f.at(s.Pos()), x.Name, s.Sel.Name)
				}
			}
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: starts a goroutine", f.at(g.Pos()))
			}
			return true
		})
	}
}

var (
	leftOver = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	idle     = "Sleep"
)

func TestNothingIsLeftForLater(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if leftOver.MatchString(c.Text) {
					t.Errorf("%s: %s", f.at(c.Pos()), c.Text)
				}
			}
		}
		if !f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == idle {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
					t.Errorf("%s: a test sleeps", f.at(s.Pos()))
				}
			}
			return true
		})
	}
}

// TestTheProgramNeedsNoTestLibrary: what only tests use is not linked into the binary.
func TestTheProgramNeedsNoTestLibrary(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard", "./cmd/parley").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	n := 0
	for d.More() {
		var p struct {
			ImportPath string
			Standard   bool
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		n++
		last := path.Base(p.ImportPath)
		if !p.Standard && (strings.HasPrefix(p.ImportPath, "parley/") && support(last) ||
			slices.Contains([]string{"pgregory.net/rapid", "go.uber.org/goleak", "github.com/google/go-cmp/cmp", "github.com/rogpeppe/go-internal/testscript"}, p.ImportPath)) {
			t.Errorf("the program links %s", p.ImportPath)
		}
	}
	if n < 50 {
		t.Errorf("only %d packages listed: the listing is broken", n)
	}
}

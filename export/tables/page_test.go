package tables

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/tables.md anew")

const (
	tablesPage = "../../docs/tables.md"
	pageBegin  = "<!-- begin: go test ./export/tables -update -->\n"
	pageEnd    = "<!-- end -->\n"
)

// structs are the rows' structs by name, with their comments.
func structs(t *testing.T) map[string]*ast.TypeSpec {
	t.Helper()
	out := map[string]*ast.TypeSpec{}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					s.Doc = g.Doc
					out[s.Name.Name] = s
				}
			}
		}
	}
	return out
}

// tableOf writes the columns of a struct, and notes the groups that it has in common with others.
func tableOf(t *testing.T, s *ast.TypeSpec, group func(string)) string {
	t.Helper()
	var rows, shared []string
	for _, f := range s.Type.(*ast.StructType).Fields.List {
		if len(f.Names) == 0 {
			name := f.Type.(*ast.Ident).Name
			group(name)
			shared = append(shared, fmt.Sprintf("[%s](#shared-%s)", strings.ToLower(name), strings.ToLower(name)))
			continue
		}
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("parquet")
		name, how, _ := strings.Cut(tag, ",")
		kind, null := f.Type, ""
		if p, ok := kind.(*ast.StarExpr); ok {
			kind, null = p.X, "?"
		}
		of := kind.(*ast.Ident).Name
		if strings.HasPrefix(how, "timestamp") {
			of = "timestamp"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s%s | %s |\n", name, of, null, strings.ReplaceAll(strings.TrimSpace(f.Comment.Text()), "|", `\|`)))
	}
	var b strings.Builder
	if len(shared) > 0 {
		fmt.Fprintf(&b, "With the columns of %s.\n\n", strings.Join(shared, ", "))
	}
	if len(rows) > 0 {
		b.WriteString("| column | type | |\n|---|---|---|\n" + strings.Join(rows, "") + "\n")
	}
	return b.String()
}

// about is a struct's comment as a sentence on its rows.
func about(s *ast.TypeSpec) string {
	text := strings.Join(strings.Fields(s.Doc.Text()), " ")
	text = strings.TrimPrefix(strings.TrimPrefix(text, s.Name.Name+" is "), s.Name.Name+" ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// The page names every column of every table, with its comment in the code, and every question.
func TestTablesPage(t *testing.T) {
	all, groups, seen := structs(t), []string{}, map[string]bool{}
	group := func(name string) {
		if !seen[name] {
			seen[name] = true
			groups = append(groups, name)
		}
	}
	var b strings.Builder
	for _, table := range Names {
		s := all[rowTypes[table].Name()]
		require.NotNil(t, s, table)
		fmt.Fprintf(&b, "### %s\n\n%s\n\n%s", table, about(s), tableOf(t, s, group))
	}
	b.WriteString("## Columns that tables have in common\n\n")
	for i := 0; i < len(groups); i++ {
		s := all[groups[i]]
		require.NotNil(t, s, groups[i])
		fmt.Fprintf(&b, "### shared: %s\n\n%s\n\n%s", strings.ToLower(s.Name.Name), about(s), tableOf(t, s, group))
	}
	b.WriteString("## Ready questions\n\n| file | asks |\n|---|---|\n")
	names, err := queryFiles()
	require.NoError(t, err)
	for _, n := range names {
		text, err := queries.ReadFile(n)
		require.NoError(t, err)
		var asks []string
		for line := range strings.Lines(string(text)) {
			said, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
			if !ok {
				break
			}
			if !strings.HasPrefix(said, "Run it in this folder") {
				asks = append(asks, said)
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", n, strings.Join(asks, " "))
	}
	page, err := os.ReadFile(tablesPage)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(page), pageBegin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, pageEnd)
	require.True(t, ok)
	want := before + pageBegin + "\n" + b.String() + "\n" + pageEnd + after
	if *update {
		require.NoError(t, os.WriteFile(tablesPage, []byte(want), 0o666))
		return
	}
	assert.Equal(t, want, string(page))
	assert.Contains(t, before, fmt.Sprintf("schema %d", Schema))
}

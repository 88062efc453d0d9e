package command

import (
	"bytes"
	"regexp"
	"sort"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// line is one source line that a reader sees.
type line struct {
	number int
	text   string // HTML comments removed
	where  string // why it is not eligible, "in a quote"; "" when it is
}

// lines returns the visible lines of a body in order. Eligible are lines of
// paragraphs that stand in no quote, list, table, heading or HTML element and
// hold nothing but plain text. Lines of HTML comments are not returned: nobody
// sees them.
func lines(src []byte) []line {
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Footnote))
	doc := md.Parser().Parse(text.NewReader(src))
	c := collector{src: src, starts: lineStarts(src)}
	_ = ast.Walk(doc, c.visit)
	sort.SliceStable(c.found, func(i, j int) bool { return c.found[i].number < c.found[j].number })
	return c.found
}

type collector struct {
	src    []byte
	starts []int // byte offset of each line
	open   int   // HTML elements opened and not closed so far
	found  []line
}

func (c *collector) visit(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering || n.Type() != ast.TypeBlock {
		return ast.WalkContinue, nil
	}
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
		c.paragraph(n)
		return ast.WalkSkipChildren, nil
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		c.raw(n, "in a code block")
	case *ast.HTMLBlock:
		c.html(n)
	}
	if n.Kind().String() == "TableHeader" || n.Kind().String() == "TableRow" {
		c.row(n)
		return ast.WalkSkipChildren, nil
	}
	return ast.WalkContinue, nil
}

// paragraph yields the lines of a block of inline text.
func (c *collector) paragraph(n ast.Node) {
	where := container(n)
	if where == "" && c.open > 0 {
		where = "inside an HTML element"
	}
	plain, comments, opened := c.inlines(n)
	segments := n.Lines()
	for i := range segments.Len() {
		s := segments.At(i)
		l := line{number: c.lineOf(s.Start), where: where}
		formatted := false
		var b strings.Builder
		for at := s.Start; at < s.Stop; at++ {
			if comments.covers(at) {
				continue
			}
			b.WriteByte(c.src[at])
			if !plain.covers(at) && !isSpace(c.src[at]) && c.src[at] != '\\' {
				formatted = true
			}
		}
		l.text = b.String()
		if formatted && l.where == "" {
			l.where = "in formatted text"
		}
		c.found = append(c.found, l)
	}
	c.open = max(0, c.open+opened)
}

// inlines maps which bytes of a paragraph are plain text and which belong to
// HTML comments, and how many HTML elements it leaves open.
func (c *collector) inlines(n ast.Node) (plain, comments spans, opened int) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Text:
			plain = append(plain, span{child.Segment.Start, child.Segment.Stop})
		case *ast.RawHTML:
			var all []byte
			var at spans
			for i := range child.Segments.Len() {
				s := child.Segments.At(i)
				all = append(all, s.Value(c.src)...)
				at = append(at, span{s.Start, s.Stop})
			}
			if bytes.HasPrefix(all, []byte("<!--")) {
				comments = append(comments, at...)
				continue
			}
			opened += tags(all)
		}
	}
	return plain, comments, opened
}

// raw yields the lines of a block that holds no inline text.
func (c *collector) raw(n ast.Node, where string) {
	segments := n.Lines()
	for i := range segments.Len() {
		s := segments.At(i)
		c.found = append(c.found, line{number: c.lineOf(s.Start), text: string(s.Value(c.src)), where: where})
	}
}

var htmlComment = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)

func (c *collector) html(n *ast.HTMLBlock) {
	var all []byte
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		all = append(all, s.Value(c.src)...)
	}
	if n.HasClosure() {
		all = append(all, n.ClosureLine.Value(c.src)...)
	}
	visible := htmlComment.ReplaceAllFunc(all, func(m []byte) []byte {
		return bytes.Repeat([]byte("\n"), bytes.Count(m, []byte("\n")))
	})
	c.open = max(0, c.open+tags(visible))
	if n.Lines().Len() == 0 {
		return
	}
	first := c.lineOf(n.Lines().At(0).Start)
	for i, s := range strings.Split(string(visible), "\n") {
		if strings.TrimSpace(s) != "" {
			c.found = append(c.found, line{number: first + i, text: s, where: "inside an HTML element"})
		}
	}
}

// row yields a table row as one line.
func (c *collector) row(n ast.Node) {
	var b strings.Builder
	number := 0
	for cell := n.FirstChild(); cell != nil; cell = cell.NextSibling() {
		segments := cell.Lines()
		for i := range segments.Len() {
			s := segments.At(i)
			if number == 0 {
				number = c.lineOf(s.Start)
			}
			b.Write(s.Value(c.src))
			b.WriteByte(' ')
		}
	}
	if number > 0 {
		c.found = append(c.found, line{number: number, text: b.String(), where: "in a table"})
	}
}

// container names what a block stands in, "" for the body itself.
func container(n ast.Node) string {
	if n.Kind() == ast.KindHeading {
		return "in a heading"
	}
	for p := n.Parent(); p != nil; p = p.Parent() {
		switch p.Kind() {
		case ast.KindDocument:
			return ""
		case ast.KindBlockquote:
			return "in a quote"
		case ast.KindListItem:
			return "in a list"
		}
	}
	return "in another block"
}

var htmlTag = regexp.MustCompile(`<(/?)([A-Za-z][A-Za-z0-9-]*)[^<>]*?(/?)>`)

// tags returns how many elements a piece of HTML opens, minus those it closes.
func tags(html []byte) int {
	depth := 0
	for _, m := range htmlTag.FindAllSubmatch(html, -1) {
		switch {
		case len(m[1]) > 0:
			depth--
		case len(m[3]) > 0 || void(strings.ToLower(string(m[2]))):
		default:
			depth++
		}
	}
	return depth
}

func void(name string) bool {
	switch name {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr":
		return true
	}
	return false
}

type span struct{ start, stop int }

// spans are in ascending order and do not overlap.
type spans []span

func (s spans) covers(at int) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].stop > at })
	return i < len(s) && s[i].start <= at
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' }

func lineStarts(src []byte) []int {
	starts := []int{0}
	for i, b := range src {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func (c *collector) lineOf(offset int) int {
	return sort.Search(len(c.starts), func(i int) bool { return c.starts[i] > offset })
}

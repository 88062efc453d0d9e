package composed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// selection is what a lock file holds of one provider.
type selection struct {
	version string
	member  string // that it is first of
	hashes  []string
}

// LockFile is one member's selection of providers.
type LockFile struct {
	Member string
	Text   []byte
}

// MergeLocks is the lock file of a root that uses the providers of all members.
// Two that select different versions of one can't be in one root: the error names
// them.
func MergeLocks(files []LockFile) ([]byte, error) {
	all := map[string]*selection{}
	for _, file := range files {
		own, err := selections(file)
		if err != nil {
			return nil, err
		}
		for address, s := range own {
			merged, ok := all[address]
			switch {
			case !ok:
				all[address] = s
			case merged.version != s.version:
				return nil, fmt.Errorf("%s has version %s of the provider %s and %s has version %s", merged.member, merged.version, address, file.Member, s.version)
			default:
				merged.hashes = append(merged.hashes, s.hashes...)
			}
		}
	}
	var b strings.Builder
	for _, address := range slices.Sorted(maps.Keys(all)) {
		hashes := all[address].hashes
		slices.Sort(hashes)
		fmt.Fprintf(&b, "provider %s {\n  version = %s\n  hashes = [\n", quote(address), quote(all[address].version))
		for _, hash := range slices.Compact(hashes) {
			fmt.Fprintf(&b, "    %s,\n", quote(hash))
		}
		b.WriteString("  ]\n}\n")
	}
	return []byte(b.String()), nil
}

func selections(file LockFile) (map[string]*selection, error) {
	parsed, diags := hclsyntax.ParseConfig(file.Text, ".terraform.lock.hcl", startOf)
	body, ok := parsed.Body.(*hclsyntax.Body)
	if diags.HasErrors() || !ok {
		return nil, fmt.Errorf("reading the lock file of %s: %w", file.Member, diags)
	}
	found := map[string]*selection{}
	for _, b := range body.Blocks {
		if b.Type != "provider" || len(b.Labels) != 1 {
			return nil, fmt.Errorf("the lock file of %s has a block %q, which this version does not know", file.Member, b.Type)
		}
		s := &selection{member: file.Member}
		if a := b.Body.Attributes["version"]; a != nil {
			s.version, _ = plainText(a.Expr)
		}
		if a := b.Body.Attributes["hashes"]; a != nil {
			list, _ := a.Expr.(*hclsyntax.TupleConsExpr)
			for _, e := range exprsOf(list) {
				if hash, ok := plainText(e); ok {
					s.hashes = append(s.hashes, hash)
				}
			}
		}
		found[b.Labels[0]] = s
	}
	return found, nil
}

func exprsOf(list *hclsyntax.TupleConsExpr) []hclsyntax.Expression {
	if list == nil {
		return nil
	}
	return list.Exprs
}

package project

// Projects answers which projects a workspace has, the root first: its members
// of kind chant, and the root itself where nothing else is a project, where it is
// declared as the member ".", or where it holds a configuration or components of
// its own. rootHolds is asked only where the declaration leaves that open. The
// root's Name is empty however it is declared, since it keeps its files at the
// top of the ledger (pr-loop §1.1).
func (d *Declaration) Projects(rootHolds func() (bool, error)) ([]WorkspaceMember, error) {
	root := WorkspaceMember{Dir: ".", Kind: "chant"}
	declared := false
	var members []WorkspaceMember
	for _, m := range d.Members {
		switch {
		case m.Kind != "chant":
		case m.Dir == ".":
			declared, root.Line = true, m.Line
		default:
			members = append(members, m)
		}
	}
	if !declared && len(members) > 0 {
		holds, err := rootHolds()
		if err != nil || !holds {
			return members, err
		}
	}
	return append([]WorkspaceMember{root}, members...), nil
}

package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/chant-bot/chant/app/config"
)

func TestTheServerKnowsTheVariablesOfEveryCommand(t *testing.T) {
	t.Parallel()
	known := config.ProgramVariables()
	for _, f := range config.Fields() {
		known = append(known, f.Env)
	}
	var all commands
	parser, err := newParser(&all, t.Output(), t.Output(), nil)
	if err != nil {
		t.Fatal(err)
	}
	checked, named := 0, regexp.MustCompile(`CHANT_[A-Z_]*[A-Z]`)
	err = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			for _, name := range append(named.FindAllString(flag.Help, -1), flag.Envs...) {
				if strings.HasPrefix(name, "CHANT_") {
					checked++
					if !slices.Contains(known, name) {
						t.Errorf("%s of --%s would keep a server from starting, and the command where it is nearly another", name, flag.Name)
					}
				}
			}
		}
		return next(nil)
	})
	if err != nil || checked < 5 {
		t.Errorf("%d variables checked: %v", checked, err)
	}
}

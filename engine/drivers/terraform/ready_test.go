package terraform

import (
	"context"
	"errors"
	"testing"
)

func TestAnApplyThatIsNotReadyStartsNothingAndMayStartLater(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": `terraform {
  backend "local" {}
}
resource "terraform_data" "t" {}
`})
	d := s.driver()
	p := s.plan(d)
	lost := errors.New("the lease is lost")
	p.Target.Ready = func() error { return lost }
	if _, err := d.Apply(context.Background(), p, nil); !errors.Is(err, lost) {
		t.Fatalf("got %v", err)
	}
	if _, found, err := d.Recover(context.Background(), p); found || err != nil {
		t.Errorf("something was started: %v, %v", found, err)
	}
	p.Target.Ready = nil
	s.apply(d, p)
}

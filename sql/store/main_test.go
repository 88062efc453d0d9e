package store_test

import (
	"os"
	"testing"

	"github.com/chant-bot/chant/sql/sqltest"
)

func TestMain(m *testing.M) { os.Exit(sqltest.Main(m)) }

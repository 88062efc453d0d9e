package config

import (
	"encoding"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// Field is one setting that is a single text, number or list of texts.
type Field struct {
	Key  string // "github.appId", also the name of its flag
	Env  string // "CHANT_GITHUB_APP_ID"
	Help string
}

// Fields lists the settings the environment and flags can give, in the order of
// the file. A list is separated by commas there.
func Fields() []Field {
	var c Config
	var out []Field
	for _, leaf := range c.leaves() {
		out = append(out, leaf.Field)
	}
	return out
}

type leaf struct {
	Field
	value reflect.Value
}

func (c *Config) leaves() []leaf { return appendLeaves(nil, "", reflect.ValueOf(c).Elem()) }

func appendLeaves(out []leaf, prefix string, v reflect.Value) []leaf {
	for field, value := range v.Fields() {
		key := field.Tag.Get("yaml")
		if key == "" {
			continue
		}
		key = prefix + key
		_, text := reflect.TypeAssert[encoding.TextUnmarshaler](value.Addr())
		switch {
		case !text && field.Type.Kind() == reflect.Struct:
			out = appendLeaves(out, key+".", value)
		case field.Type.Kind() == reflect.Slice && field.Type.Elem().Kind() == reflect.Struct && !isText(field.Type.Elem()):
			// A list of structs is for the file alone.
		default:
			out = append(out, leaf{Field{Key: key, Env: envName(key), Help: field.Tag.Get("help")}, value})
		}
	}
	return out
}

func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// envName turns github.appId into CHANT_GITHUB_APP_ID.
func envName(key string) string {
	var b strings.Builder
	b.WriteString("CHANT_")
	for i, r := range strings.ReplaceAll(key, ".", "_") {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// set reads text as the field's kind. It does not quote the text in an error,
// which may be a secret.
func (l leaf) set(text string) error { return setValue(l.value, text) }

func setValue(v reflect.Value, text string) error {
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return errors.New("want a whole number")
		}
		v.SetInt(n)
	case reflect.Slice:
		list := reflect.MakeSlice(v.Type(), 0, 0)
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			item := reflect.New(v.Type().Elem()).Elem()
			if err := setValue(item, part); err != nil {
				return err
			}
			list = reflect.Append(list, item)
		}
		v.Set(list)
	default:
		return errors.New("cannot be given as text")
	}
	return nil
}

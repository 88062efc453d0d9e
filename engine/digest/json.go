package digest

import "errors"

// MarshalJSON writes v with its keys sorted and its numbers as they were
// written. An absent v is null; leave it out with omitzero.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.IsAbsent() {
		return []byte("null"), nil
	}
	w := writer{exact: true}
	if !w.value(v) {
		return nil, w.err()
	}
	return w.buf, nil
}

// UnmarshalJSON is Decode. JSON null is the null value, not an absent one.
func (v *Value) UnmarshalJSON(data []byte) error {
	if v == nil {
		return errors.New("decoding JSON into no Value")
	}
	decoded, err := Decode(data)
	if err != nil {
		return err
	}
	*v = decoded
	return nil
}

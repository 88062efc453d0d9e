package forgetest

import (
	"encoding/json"
	"net/http"
	"time"
)

func (f *GitHub) handler() http.Handler                          { return http.NotFoundHandler() }
func limitHeaders(h http.Header, remaining int, reset time.Time) {}
func writeError(w http.ResponseWriter, e *APIError)              { _ = json.NewEncoder(w).Encode(e) }

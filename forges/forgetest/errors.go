package forgetest

import (
	"fmt"
	"net/http"
)

// APIError is a refusal as the API words it. Go methods return it too, so a
// test can look at Status.
type APIError struct {
	Status  int
	Message string
	// Errors are the details of a 422; a string or a FieldError each, for
	// GitHub sends both shapes.
	Errors []any
	// Accepted names the permissions that would have allowed the call.
	Accepted string
}

// FieldError is one detail of a 422.
type FieldError struct {
	Resource string `json:"resource"`
	Code     string `json:"code"`
	Field    string `json:"field"`
	Message  string `json:"message,omitempty"`
}

func (e *APIError) Error() string { return fmt.Sprintf("%d %s %v", e.Status, e.Message, e.Errors) }

func notFound() *APIError { return &APIError{Status: http.StatusNotFound, Message: "Not Found"} }

func invalid(details ...any) *APIError {
	return &APIError{Status: http.StatusUnprocessableEntity, Message: "Validation Failed", Errors: details}
}

func unprocessable(message string) *APIError {
	return &APIError{Status: http.StatusUnprocessableEntity, Message: message}
}

func conflict(message string) *APIError {
	return &APIError{Status: http.StatusConflict, Message: message}
}

// Package transport holds the round trippers between a forge adapter and the
// network: bounded bodies, conditional reads, rate limits as a typed error,
// credentials for one host only, and redirects that cannot lose a write or
// leak a token. Each is one small layer; an adapter stacks those it needs.
//
// Nothing here retries: a job is retried, a request is not.
package transport

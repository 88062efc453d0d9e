package config

import "net"

// OnLoopback tells whether only this machine can reach the server.
func (c *Config) OnLoopback() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	return err == nil && isLoopback(host)
}

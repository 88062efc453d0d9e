package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"

	"github.com/chant-bot/chant/engine/digest"
)

// digests compares the digest of a plan's text with canonicalising it by
// gowebpki/jcs and hashing that, each once in a process of its own.
func digests(ctx context.Context, b *bench) error {
	dir, err := b.tempDir("digest")
	if err != nil {
		return err
	}
	for _, megabytes := range []int{10, b.of(50, 20)} {
		path := filepath.Join(dir, fmt.Sprintf("%d.json", megabytes))
		if err := os.WriteFile(path, planText(megabytes*1_000_000), 0o600); err != nil {
			return err
		}
		var cost [3][]digestCost
		for range b.of(7, 2) {
			for i, by := range []string{"ours", "jcs", "jsontext"} {
				c, err := b.digestIn(ctx, by, path)
				if err != nil {
					return err
				}
				cost[i] = append(cost[i], c)
			}
		}
		seconds := func(c digestCost) float64 { return c.Seconds }
		allocated := func(c digestCost) float64 { return c.Allocated }
		peak := func(c digestCost) float64 { return c.Peak }
		of := func(get func(digestCost) float64, a, b int) []float64 {
			return over(each(cost[a], get), each(cost[b], get))
		}
		const us, jcs, text = 0, 1, 2
		b.atLeast(fmt.Sprintf("%d MB: speed, of jcs", megabytes), of(seconds, jcs, us), 4, ratio)
		b.atMost(fmt.Sprintf("%d MB: bytes allocated, of jcs", megabytes), of(allocated, us, jcs), 0.35, ratio)
		b.atMost(fmt.Sprintf("%d MB: peak memory, of jcs", megabytes), of(peak, us, jcs), 0.35, ratio)
		b.note(fmt.Sprintf("%d MB: speed, of jsontext", megabytes), of(seconds, text, us), ratio)
		b.note(fmt.Sprintf("%d MB: bytes allocated, of jsontext", megabytes), of(allocated, us, text), ratio)
		b.note(fmt.Sprintf("%d MB: time", megabytes), each(cost[us], seconds), " s")
	}
	return nil
}

func each(costs []digestCost, get func(digestCost) float64) []float64 {
	out := make([]float64, len(costs))
	for i, c := range costs {
		out[i] = get(c)
	}
	return out
}

// digestCost is what one digest cost: bytes allocated, and the peak resident
// set of its process, the input included.
type digestCost struct{ Seconds, Allocated, Peak float64 }

func (b *bench) digestIn(ctx context.Context, by, path string) (c digestCost, err error) {
	cmd := osexec.CommandContext(ctx, b.self, "digest-once", by, path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return c, fmt.Errorf("digesting by %s: %w", by, err)
	}
	return c, json.Unmarshal(out, &c)
}

// digestOnce is such a process.
func digestOnce(args []string) error {
	plan, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	by := map[string]func([]byte) error{
		"ours": func(plan []byte) error {
			_, err := digest.OfBytes("terraform-plan", plan)
			return err
		},
		"jcs": func(plan []byte) error {
			text, err := jcs.Transform(plan)
			sha256.Sum256(text)
			return err
		},
		"jsontext": func(plan []byte) error {
			text := jsontext.Value(plan) // in place: nobody needs the plan again
			err := text.Canonicalize()
			sha256.Sum256(text)
			return err
		},
	}[args[0]]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	if err := by(plan); err != nil {
		return err
	}
	c := digestCost{Seconds: time.Since(begin).Seconds()}
	runtime.ReadMemStats(&after)
	c.Allocated = float64(after.TotalAlloc - before.TotalAlloc)
	if c.Peak, err = statusField("/proc/self/status", "VmHWM:"); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(c)
}

// planText makes the text of a plan of about that many bytes: objects in the
// tool's field order, policies as quoted JSON, names beyond ASCII.
func planText(size int) []byte {
	var b strings.Builder
	b.Grow(size + 4096)
	b.WriteString(`{"format_version":"1.2","terraform_version":"1.11.4","resource_changes":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		values := fmt.Sprintf(`{"ami":"ami-0c55b159cbfafe1f%d","arn":"arn:aws:ec2:eu-west-1:123456789012:instance/i-%08x",`+
			`"cpu_core_count":%d,"ebs_optimized":true,"id":"i-%08x","monitoring":null,"price":%d.%d,`+
			`"policy":"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"s3:*\"}]}",`+
			`"tags":{"Name":"web-%d","Team":"Käse","env":"prod"},"volumes":[{"size":%d,"type":"gp3"},{"size":8,"type":"gp2"}]}`,
			i%10, i, i%64, i, i%900, i%89+10, i, i%1000)
		fmt.Fprintf(&b, `{"address":"module.app[\"eu-%d\"].aws_instance.web[%d]","mode":"managed","type":"aws_instance","name":"web",`+
			`"index":%d,"provider_name":"registry.terraform.io/hashicorp/aws","change":{"actions":["update"],"before":%s,"after":%s,`+
			`"after_unknown":{"tags":{},"volumes":[{},{}]},"before_sensitive":{"tags":{}},"after_sensitive":{"tags":{}}}}`,
			i%20, i, i, values, values)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

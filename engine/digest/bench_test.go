package digest_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"

	"github.com/chant-bot/chant/engine/digest"
)

// planOf makes the text of a plan-like document of about size bytes: objects
// in the tool's field order, sorted attribute maps, policies as quoted JSON.
func planOf(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"resource_changes":[`)
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

func benchmarkDigest(b *testing.B, size int) {
	b.Helper()
	plan := planOf(size)
	run := func(name string, digestOf func([]byte) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(plan)))
			b.ReportAllocs()
			for b.Loop() {
				if err := digestOf(plan); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("ours", func(plan []byte) error {
		_, err := digest.OfBytes("terraform-plan", plan)
		return err
	})
	run("jcs", func(plan []byte) error {
		text, err := jcs.Transform(plan)
		sha256.Sum256(text)
		return err
	})
	run("jsontext", func(plan []byte) error {
		// Canonicalize works in place.
		text := jsontext.Value(append([]byte(nil), plan...))
		err := text.Canonicalize()
		sha256.Sum256(text)
		return err
	})
}

func BenchmarkDigest10MB(b *testing.B) { benchmarkDigest(b, 10_000_000) }
func BenchmarkDigest50MB(b *testing.B) { benchmarkDigest(b, 50_000_000) }

package lambda

import "testing"

// BenchmarkKey is the header Idempotency-Key, read.
func BenchmarkKey(b *testing.B) {
	for name, value := range map[string]string{
		"quoted": `"8e03978e-40d5-43e8-bc93-6894a57f9324"`,
		"bare":   `8e03978e-40d5-43e8-bc93-6894a57f9324`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parseKey([]string{value}, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

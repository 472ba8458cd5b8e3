//go:build race

package lambda_test

const raceDetector = true

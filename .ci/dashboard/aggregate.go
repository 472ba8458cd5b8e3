package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// measured are the values of each metric, by the minute.
type measured struct {
	first, last int                             // minutes of the Unix epoch
	values      map[[4]string]map[int][]float64 // by namespace, name, dimension and its value
}

// emf is a line, of whose dimensions those with one name count.
type emf struct {
	AWS struct {
		Timestamp         int
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name string }
		}
	} `json:"_aws"`
}

func aggregate(lines []byte) (measured, error) {
	data := measured{math.MaxInt, 0, map[[4]string]map[int][]float64{}}
	for text := range bytes.Lines(lines) {
		var l emf
		var all map[string]any
		for _, into := range []any{&l, &all} {
			if err := json.Unmarshal(text, into); err != nil {
				return data, fmt.Errorf("%s: %w", text, err)
			}
		}
		minute := l.AWS.Timestamp / 60_000
		data.first, data.last = min(data.first, minute), max(data.last, minute)
		for _, c := range l.AWS.CloudWatchMetrics {
			for _, dimensions := range c.Dimensions {
				if len(dimensions) != 1 {
					continue
				}
				of, _ := all[dimensions[0]].(string)
				for _, m := range c.Metrics {
					id := [4]string{c.Namespace, m.Name, dimensions[0], of}
					if data.values[id] == nil {
						data.values[id] = map[int][]float64{}
					}
					values, several := all[m.Name].([]any)
					if !several {
						values = []any{all[m.Name]}
					}
					for _, v := range values {
						n, ok := v.(float64)
						if !ok {
							return data, fmt.Errorf("%s: %s is no number", text, m.Name)
						}
						data.values[id][minute] = append(data.values[id][minute], n)
					}
				}
			}
		}
	}
	return data, nil
}

// of returns a line's value in each minute, NaN where there is none.
func (d measured) of(l line) (out []float64, err error) {
	byMinute, ok := d.values[l.metric]
	if !ok {
		return nil, fmt.Errorf("nothing has written %q", l.metric)
	}
	for minute := d.first; minute <= d.last; minute++ {
		values := slices.Sorted(slices.Values(byMinute[minute])) // a sum is the same whatever the order was
		percent, isPercentile := strings.CutPrefix(l.stat, "p")
		p, err := strconv.ParseFloat(percent, 64)
		v := math.NaN()
		switch {
		case l.stat == "Sum":
			v = 0
			for _, one := range values {
				v += one
			}
		case l.stat != "Maximum" && (!isPercentile || err != nil):
			return nil, fmt.Errorf("%q: the statistic is %q, must be Sum, Maximum or a percentile", l.metric, l.stat)
		case len(values) > 0 && isPercentile:
			v = values[int(math.Ceil(p/100*float64(len(values))))-1]
		case len(values) > 0:
			v = values[len(values)-1]
		}
		out = append(out, v)
	}
	return out, nil
}

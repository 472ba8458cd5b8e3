package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// size is that of an answer, in bytes as JSON.
type size int

var sizes = []size{500, 2_000, 10_000, 100_000, 1_000_000}

func (s size) String() string {
	if s >= 1_000_000 {
		return fmt.Sprintf("%g MB", float64(s)/1_000_000)
	}
	return fmt.Sprintf("%g KB", float64(s)/1000)
}

// content makes the same bytes each time.
func content(seed uint64) *rand.ChaCha8 {
	return rand.NewChaCha8([32]byte{byte(seed)})
}

// order is what a shop's list answers: names that come again and again, ids and amounts that do not.
type order struct {
	ID       string    `json:"id"`
	Created  time.Time `json:"created"`
	Customer customer  `json:"customer"`
	Amount   int64     `json:"amount"`
	Currency string    `json:"currency"`
	Status   string    `json:"status"`
	Note     string    `json:"note"`
}

type customer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

var (
	firsts = []string{"Ada", "Bruno", "Chidi", "Dana", "Elif", "Farid", "Greta", "Hana", "Ivo", "Jun", "Kofi", "Lucía", "Mei", "Noor", "Olga", "Pedro"}
	lasts  = []string{"Adeyemi", "Berg", "Costa", "Dubois", "Eriksen", "Fischer", "García", "Haddad", "Ivanova", "Jensen", "Kumar", "Lang", "Moreau", "Novak", "Okafor", "Park"}
	states = []string{"paid", "paid", "paid", "shipped", "refunded", "pending"}
	words  = strings.Fields("please leave the parcel with a neighbour at number behind gate ring twice deliver after before noon gift wrap blue red small large two three no receipt inside call first")
)

// ordersOf is a list whose JSON has the size: the last order's note is as long as it takes.
func ordersOf(s size) ([]order, error) {
	source := content(1)
	r := rand.New(source)
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var list []order
	for length := len("[]"); ; {
		var id [16]byte
		_, _ = source.Read(id[:])
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
		o := order{
			ID:       fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]),
			Created:  day.Add(time.Duration(r.IntN(30*24*3600)) * time.Second),
			Customer: customer{Name: pick(firsts) + " " + pick(lasts)},
			Amount:   int64(100 + r.IntN(50_000)),
			Currency: pick([]string{"EUR", "EUR", "USD", "GBP"}),
			Status:   pick(states),
		}
		o.Customer.Email = strings.ToLower(strings.ReplaceAll(o.Customer.Name, " ", ".")) + "@example.com"
		if r.IntN(3) == 0 {
			o.Note = note(pick, 20+r.IntN(60))
		}
		b, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		more := len(b) + len(",")
		if missing := int(s) - length; more > missing && len(list) > 0 {
			last := &list[len(list)-1]
			last.Note += note(pick, missing+len(",")) // there is no comma after the last
			return list, nil
		}
		length += more
		list = append(list, o)
	}
}

// note is text of that many bytes.
func note(pick func([]string) string, length int) string {
	var b strings.Builder
	for b.Len() < length {
		b.WriteString(pick(words) + " ")
	}
	return b.String()[:length]
}

// randomOf is a text of the size of which nothing comes again; that of a picture, or of something encrypted.
func randomOf(s size) string {
	b := make([]byte, s)
	_, _ = content(2).Read(b)
	return base64.StdEncoding.EncodeToString(b)[:int(s)-len(`""`)]
}

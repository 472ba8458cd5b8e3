package main

// event is the request, answer the handler's answer: workload.json has their values.
type event struct {
	ID    string `json:"id"`
	Order order  `json:"order"`
}

type order struct {
	Customer string  `json:"customer"`
	Currency string  `json:"currency"`
	Amount   int64   `json:"amount"`
	Lines    []line  `json:"lines"`
	Shipping address `json:"shipping"`
	Billing  address `json:"billing"`
	Card     card    `json:"card"`
	Note     string  `json:"note"`
}

type line struct {
	SKU      string `json:"sku"`
	Name     string `json:"name"`
	Quantity int    `json:"quantity"`
	Price    int64  `json:"price"`
}

type address struct {
	Name     string `json:"name"`
	Street   string `json:"street"`
	City     string `json:"city"`
	Postcode string `json:"postcode"`
	Country  string `json:"country"`
	Method   string `json:"method,omitempty"`
	VAT      string `json:"vat,omitempty"`
}

type card struct {
	Token         string `json:"token,omitempty"`
	Brand         string `json:"brand"`
	Last4         string `json:"last4"`
	Network       string `json:"network,omitempty"`
	Authorization string `json:"authorization,omitempty"`
}

type answer struct {
	Charge    string  `json:"charge"`
	Status    string  `json:"status"`
	Amount    int64   `json:"amount"`
	Currency  string  `json:"currency"`
	Customer  string  `json:"customer"`
	Order     string  `json:"order"`
	CreatedAt string  `json:"createdAt"`
	Card      card    `json:"card"`
	Receipt   receipt `json:"receipt"`
	Message   string  `json:"message"`
}

type receipt struct {
	Number string `json:"number"`
	URL    string `json:"url"`
	Email  string `json:"email"`
}

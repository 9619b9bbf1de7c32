package keys_test

import (
	"fmt"
	"log"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// From two keys to a charter in force.
func Example() {
	bankKey, err := keys.GenerateKey()
	if err != nil {
		log.Fatal(err)
	}
	telcoKey, err := keys.GenerateKey()
	if err != nil {
		log.Fatal(err)
	}

	// The bank writes the charter from both cards and signs it.
	charter, err := keys.NewCharter(keys.Charter{
		Name:    "credit",
		Version: 1,
		Created: time.Now(),
		Rules:   keys.Rules{MinContributors: 2},
		Members: []keys.Member{
			{Name: "bank", ID: bankKey.ID(), Addresses: []string{"/dns4/bank.example/tcp/4001"}},
			{Name: "telco", ID: telcoKey.ID()},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := charter.Sign(bankKey); err != nil {
		log.Fatal(err)
	}

	// The telco reads the text and signs it too.
	received, err := keys.ParseCharter(charter.Text())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(received.Complete())
	if err := received.Sign(telcoKey); err != nil {
		log.Fatal(err)
	}
	fmt.Println(received.Complete(), received.Digest() == charter.Digest())

	// Output:
	// charter "credit" is not in force: telco has not signed it
	// <nil> true
}

package charterfile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/ids"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/keys"
)

// What --ids wants, in its errors.
const identifierForm = "want NAME=COLUMN:HOW, as in phone=phone:trim,e164=+31 or person=surname:trim,casefold;born"

// SetIdentifiers gives a draft what identifies a row. Words are NAME=COLUMN:HOW,HOW;COLUMN:HOW, where HOW is nfkc,
// trim, casefold, number, digits, e164=CODE or date=LAYOUT; NAME= takes the identifier away. A word that was cut at its
// commas is put together again. Names of columns with any of ",:;" in them do not go in here: a draft's text may be
// edited for them.
func SetIdentifiers(draft *keys.Charter, words []string) error {
	var whole []string
	for _, part := range words {
		name, _, begins := strings.Cut(part, "=")
		if begins = begins && keys.CheckName(name) == nil && name != "e164" && name != "date"; begins || whole == nil {
			whole = append(whole, part)
		} else {
			whole[len(whole)-1] += "," + part
		}
	}
	var given []string
	for _, word := range whole {
		id, err := parseIdentifier(word)
		if err != nil {
			return err
		}
		if slices.Contains(given, id.Name) {
			return usage.Errorf("--ids has %s twice", id.Name)
		}
		given = append(given, id.Name)
		others := slices.DeleteFunc(slices.Clone(draft.Identifiers), func(k keys.Identifier) bool {
			return k.Name == id.Name
		})
		if id.Columns == nil {
			if len(others) == len(draft.Identifiers) {
				return usage.Errorf("--ids %s: charter %q has no ids.%s to take away", word, draft.Name, id.Name)
			}
			draft.Identifiers = others
			continue
		}
		if _, err := ids.New(keys.Hash{}, *id, 0); err != nil { // a charter's text may have more than can be made
			return usage.Errorf("--ids: %w", err)
		}
		draft.Identifiers = append(others, *id)
	}
	slices.SortFunc(draft.Identifiers, func(a, b keys.Identifier) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// parseIdentifier reads one word of SetIdentifiers. Without columns it is to be taken away.
func parseIdentifier(word string) (*keys.Identifier, error) {
	name, columns, ok := strings.Cut(word, "=")
	if !ok || keys.CheckName(name) != nil {
		return nil, usage.Errorf("--ids %s: %s", word, identifierForm)
	}
	id := &keys.Identifier{Name: name}
	if columns == "" {
		return id, nil
	}
	for _, text := range strings.Split(columns, ";") {
		column, recipe, has := strings.Cut(text, ":")
		c := keys.IDColumn{Name: strings.TrimSpace(column)}
		if c.Name == "" || strings.Contains(c.Name, ",") || has && recipe == "" {
			return nil, usage.Errorf("--ids %s: %s", word, identifierForm)
		}
		for _, how := range strings.Split(recipe, ",") {
			key, value, valued := strings.Cut(strings.TrimSpace(how), "=")
			var flag *bool
			var with *string
			switch key {
			case "nfkc":
				flag = &c.NFKC
			case "trim":
				flag = &c.Trim
			case "casefold":
				flag = &c.Casefold
			case "number":
				flag = &c.Number
			case "digits":
				flag = &c.Digits
			case "e164":
				with = &c.E164
			case "date":
				with = &c.Date
			}
			switch {
			case !has:
			case flag != nil && !valued:
				*flag = true
			case with != nil && value != "":
				*with = value
			default:
				return nil, usage.Errorf("--ids %s: column %s: there is no %q, want some of nfkc, trim, casefold, number, "+
					"digits, e164=+31, date=02.01.2006", word, c.Name, how)
			}
		}
		id.Columns = append(id.Columns, c)
	}
	return id, nil
}

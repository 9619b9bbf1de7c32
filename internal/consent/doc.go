// Package consent is a member's policy: a file of rules that says which jobs its node consents to or refuses without
// asking, and which tables and label columns other members may ask about. What no rule decides waits for a person.
//
// A policy is the member's own. Nobody else sees it, and a rule that is misspelt is an error, never a wider rule.
package consent
